//! The paper's experiment: for 20, 40, ..., 100 entities, the time that SHAP scores take (a) from the network as a black
//! box, (b) from the circuit as a black box, (c) by the open-box algorithm on the circuit, beside the one-time costs.
//!
//! Black boxes use precomputed labels, as in the paper. All three must give the same scores, which is checked.

use anyhow::{Context, ensure};
use boolshap::data::Tally;
use boolshap::explain::{BruteForce, Explanation, Labels, OpenBox, Probabilities};
use boolshap::lit::Watch;
use boolshap::model::{Model, NetworkEvaluator};
use boolshap::report::{Series, timing_figure};
use boolshap::workflow::{Compilation, CompileRequest, Shape, Via, compile_watched};
use serde_json::{Value, json};
use std::time::Instant;

const COUNTS: [usize; 5] = [20, 40, 60, 80, 100];
const METHODS: [&str; 3] = ["black-box network", "black-box circuit", "open-box circuit"];
/// Scores of two methods may differ only by rounding.
const TOLERANCE: f64 = 1e-12;

/// The measurements and results.
pub struct Experiment {
    /// The paper's dDBCSFi(2).
    pub compiled: Compilation,
    /// The entities: the most frequent distinct rows.
    pub entities: Vec<Vec<bool>>,
    /// (what, its size as text, seconds)
    once: Vec<(&'static str, String, f64)>,
    /// For each method the seconds for each count.
    times: [Vec<f64>; 3],
}

impl Experiment {
    /// Compiles the network by the paper's path and explains the most frequent rows by all three methods.
    pub fn run(model: &Model, rows: &Tally, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let shape = Shape { smooth: true, fan_in_2: true };
        let request = CompileRequest { via: Via::Cnf, shape, ..CompileRequest::default() };
        let compiled = compile_watched(model, &request, watch)?;
        let circuit = &compiled.circuit.circuit;
        let mut once = one_time_costs(&compiled)?;
        let start = Instant::now();
        let network_labels = network_labels(model)?;
        once.push(("labels of the network", "all inputs".into(), start.elapsed().as_secs_f64()));
        let start = Instant::now();
        let circuit_labels = Labels::of_circuit(circuit)?;
        once.push(("labels of the circuit", "all inputs".into(), start.elapsed().as_secs_f64()));
        ensure!(network_labels == circuit_labels, "the circuit is not the network");

        let entities = most_frequent(rows, COUNTS[COUNTS.len() - 1])?;
        let uniform = Probabilities::uniform(circuit.variables());
        let open_box = OpenBox::new(circuit)?;
        let (black_network, black_circuit) = (BruteForce::new(&network_labels), BruteForce::new(&circuit_labels));
        let mut times = [const { Vec::new() }; 3];
        for count in COUNTS {
            let part = &entities[..count];
            let (first, seconds) = timed(|| black_network.explain(part, &uniform, watch))?;
            times[0].push(seconds);
            let (second, seconds) = timed(|| black_circuit.explain(part, &uniform, watch))?;
            times[1].push(seconds);
            let (third, seconds) = timed(|| open_box.explain(part, &uniform, watch))?;
            times[2].push(seconds);
            ensure!(agree(&first, &second) && agree(&first, &third), "two methods give different scores");
        }
        Ok(Experiment { compiled, entities, once, times })
    }

    /// The figure of the paper.
    pub fn figure(&self) -> String {
        let counts = COUNTS.map(|count| count as u64);
        let series = METHODS.iter().zip(&self.times).map(|(name, seconds)| Series {
            name: name.to_string(),
            points: counts.into_iter().zip(seconds.iter().copied()).collect(),
        });
        timing_figure(&series.collect::<Vec<_>>())
    }

    /// Both tables as JSON.
    pub fn json(&self) -> Value {
        let once =
            self.once.iter().map(|(what, size, seconds)| json!({"what": what, "size": size, "seconds": seconds}));
        let times = METHODS.iter().zip(&self.times).map(|(name, seconds)| json!({"method": name, "seconds": seconds}));
        json!({"once": once.collect::<Vec<_>>(), "entities": COUNTS, "times": times.collect::<Vec<_>>()})
    }

    /// Both tables as text.
    pub fn table(&self) -> String {
        let mut lines = vec!["once:".to_string()];
        for (what, size, seconds) in &self.once {
            lines.push(format!("  {what:<24}{:>12}  {size}", in_units(*seconds)));
        }
        let header = METHODS.map(|name| format!("{name:>20}")).concat();
        lines.push(format!("entities{header}"));
        for (index, count) in COUNTS.iter().enumerate() {
            let cells: String = self.times.iter().map(|seconds| format!("{:>20}", in_units(seconds[index]))).collect();
            lines.push(format!("{count:>8}{cells}"));
        }
        lines.join("\n")
    }
}

/// The result and the time of each compilation step.
fn one_time_costs(compiled: &Compilation) -> anyhow::Result<Vec<(&'static str, String, f64)>> {
    let stages = compiled.stages.totals();
    let counts = compiled.circuit.circuit.counts();
    let steps = [
        ("network to CNF", "cnf", format!("{} clauses", stages["cnf"]["clauses"])),
        ("CNF to SDD", "sdd", format!("size {}", stages["sdd"]["size"])),
        ("SDD to dDBCSFi(2)", "circuit", format!("{} nodes, {} as a tree", counts.nodes, counts.tree_nodes)),
    ];
    let cost = |(what, stage, size): (&'static str, &str, String)| {
        Ok((what, size, stages[stage]["seconds"].as_f64().context("every stage has its time")?))
    };
    steps.into_iter().map(cost).collect()
}

/// The most frequent distinct rows.
fn most_frequent(rows: &Tally, count: usize) -> anyhow::Result<Vec<Vec<bool>>> {
    let order = rows.by_frequency();
    ensure!(order.len() >= count, "{} distinct rows are fewer than {count}", order.len());
    Ok(order[..count].iter().map(|&row| rows.rows().row(row)).collect())
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}

fn network_labels(model: &Model) -> anyhow::Result<Labels> {
    let mut words = Vec::new();
    NetworkEvaluator::new(&model.network).enumerate(|_, classes| words.push(classes[1]));
    if model.network.inputs() < 6 {
        words[0] &= (1 << (1 << model.network.inputs())) - 1;
    }
    Ok(Labels::from_words(model.network.inputs(), words)?)
}

fn agree(one: &[Explanation<f64>], other: &[Explanation<f64>]) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= TOLERANCE;
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| {
            let scores = a.scores.len() == b.scores.len() && a.scores.iter().zip(&b.scores).all(|(a, b)| close(*a, *b));
            a.prediction == b.prediction && close(a.base_value, b.base_value) && scores
        })
}

/// A time in a convenient unit.
pub fn in_units(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} \u{b5}s", seconds * 1e6),
    }
}
