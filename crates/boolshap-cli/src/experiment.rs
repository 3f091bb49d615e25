//! The paper's experiment: for 20, 40, ..., 100 entities, the time that SHAP scores take (a) from the network as a black
//! box, (b) from the circuit as a black box, (c) by the open-box algorithm on the circuit, beside the one-time costs.
//!
//! Black boxes have all labels computed before, as in the paper. All three must give the same scores, which is checked.

use crate::compile::compile_cnf;
use crate::encode::{MAX_CLAUSES, encode_model};
use anyhow::ensure;
use boolshap::circuit::{Circuit, Lowering, lower_sdd, paper_form};
use boolshap::data::Tally;
use boolshap::explain::{BruteForce, Distribution, Explanation, Labels, OpenBox};
use boolshap::lit::Watch;
use boolshap::model::{Evaluator, Model};
use boolshap::report::{Series, timing_figure};
use serde_json::{Value, json};
use std::time::Instant;

const COUNTS: [usize; 5] = [20, 40, 60, 80, 100];
const METHODS: [&str; 3] = ["black-box network", "black-box circuit", "open-box circuit"];
/// Scores of two methods may differ by rounding alone.
const TOLERANCE: f64 = 1e-12;

/// What was measured, and what came out.
pub(crate) struct Experiment {
    /// The paper's dDBCSFi(2).
    pub(crate) circuit: Circuit,
    /// The entities: the most frequent distinct rows.
    pub(crate) entities: Vec<Vec<bool>>,
    /// Their scores.
    pub(crate) explanations: Vec<Explanation<f64>>,
    /// (what, its size in words, seconds)
    once: Vec<(&'static str, String, f64)>,
    /// For each method the seconds for each count.
    times: [Vec<f64>; 3],
}

impl Experiment {
    pub(crate) fn run(model: &Model, rows: &Tally, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let mut once = Vec::new();
        let start = Instant::now();
        let cnf = encode_model(model, None, MAX_CLAUSES, watch)?;
        once.push(("network to CNF", format!("{} clauses", cnf.len()), start.elapsed().as_secs_f64()));
        let start = Instant::now();
        let compiled = compile_cnf(&cnf, None, watch)?;
        let size = compiled.manager.size(compiled.root);
        once.push(("CNF to SDD", format!("size {size}"), start.elapsed().as_secs_f64()));
        let start = Instant::now();
        let circuit = paper_form(&lower_sdd(&compiled.manager, compiled.root, Lowering::Gates)?)?;
        let counts = circuit.counts();
        let nodes = format!("{} nodes, {} as a tree", counts.nodes, counts.tree_nodes);
        once.push(("SDD to dDBCSFi(2)", nodes, start.elapsed().as_secs_f64()));
        let start = Instant::now();
        let network_labels = network_labels(model)?;
        once.push(("labels of the network", "all inputs".into(), start.elapsed().as_secs_f64()));
        let start = Instant::now();
        let circuit_labels = Labels::of_circuit(&circuit)?;
        once.push(("labels of the circuit", "all inputs".into(), start.elapsed().as_secs_f64()));
        ensure!(network_labels == circuit_labels, "the circuit is not the network");

        let mut order: Vec<usize> = (0..rows.counts().len()).collect();
        order.sort_by_key(|&row| std::cmp::Reverse(rows.counts()[row].iter().sum::<u64>()));
        let most = COUNTS[COUNTS.len() - 1];
        let entities: Vec<Vec<bool>> = order.iter().take(most).map(|&row| rows.rows().row(row)).collect();
        ensure!(entities.len() == most, "{} distinct rows are fewer than {most}", entities.len());
        let uniform = Distribution::uniform(circuit.variables());
        let open_box = OpenBox::new(&circuit)?;
        let (black_network, black_circuit) = (BruteForce::new(&network_labels), BruteForce::new(&circuit_labels));
        let mut times = [const { Vec::new() }; 3];
        let mut explanations = Vec::new();
        for count in COUNTS {
            let part = &entities[..count];
            let (first, seconds) = timed(|| black_network.explain(part, &uniform, watch))?;
            times[0].push(seconds);
            let (second, seconds) = timed(|| black_circuit.explain(part, &uniform, watch))?;
            times[1].push(seconds);
            let (third, seconds) = timed(|| open_box.explain(part, &uniform, watch))?;
            times[2].push(seconds);
            for other in [&second, &third] {
                ensure!(agree(&first, other), "two methods give different scores");
            }
            explanations = third;
        }
        Ok(Experiment { circuit, entities, explanations, once, times })
    }

    /// The figure of the paper.
    pub(crate) fn figure(&self) -> String {
        let counts = COUNTS.map(|count| count as u64);
        let series = METHODS.iter().zip(&self.times).map(|(name, seconds)| Series {
            name: name.to_string(),
            points: counts.into_iter().zip(seconds.iter().copied()).collect(),
        });
        timing_figure(&series.collect::<Vec<_>>())
    }

    pub(crate) fn json(&self) -> Value {
        let once =
            self.once.iter().map(|(what, size, seconds)| json!({"what": what, "size": size, "seconds": seconds}));
        let times = METHODS.iter().zip(&self.times).map(|(name, seconds)| json!({"method": name, "seconds": seconds}));
        json!({"once": once.collect::<Vec<_>>(), "entities": COUNTS, "times": times.collect::<Vec<_>>()})
    }

    /// Both tables as text.
    pub(crate) fn table(&self) -> String {
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

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}

fn network_labels(model: &Model) -> anyhow::Result<Labels> {
    let mut words = Vec::new();
    Evaluator::new(&model.network).enumerate(|_, classes| words.push(classes[1]));
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

/// A time in the unit that people would use.
pub(crate) fn in_units(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} \u{b5}s", seconds * 1e6),
    }
}
