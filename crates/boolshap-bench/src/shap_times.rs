//! The cost of an entity's scores on one thread, with every row computed: by the fast engine in batches and one by one,
//! by the other engines, and compared with the peak rate of the machine's registers.

use crate::compile_times::{compile, dense, random_rows};
use crate::embedded_model;
use crate::stream_times::median;
use boolshap::circuit::{Circuit, paper_form};
use boolshap::data::Bits;
use boolshap::diagram::DirectOptions;
use boolshap::explain::{BruteForce, FastEngine, Labels, OpenBox, Probabilities, USEFUL_OPERATIONS, multiply_add_rate};
use boolshap::lit::{Watch, thousands};
use boolshap::workflow::load_circuit;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Each time is the median of this many interleaved rounds.
const ROUNDS: usize = 9;
/// Up to this many features, all entities of a circuit are explained, otherwise random ones.
const MAX_ALL: usize = 13;
/// How many entities the slow engines explain.
const FEW: usize = 16;
/// The definition is measured up to this many features.
const MAX_DEFINITION: usize = 16;
/// Networks n-n-1 of about a thousand and a million nodes.
const SIZES: [(usize, usize); 2] = [(13, 1024), (25, 32)];

/// The measurements; times in seconds per entity.
pub(crate) struct ShapTimes {
    features: usize,
    nodes: usize,
    entities: usize,
    fast: f64,
    alone: f64,
    paper: f64,
    definition: Option<f64>,
    /// Floating-point operations per second in registers.
    machine: f64,
    /// Nodes, seconds per entity, operations per second.
    sizes: Vec<(usize, f64, f64)>,
}

impl ShapTimes {
    pub(crate) fn measure(circuit: Option<&Path>, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let circuit = match circuit {
            Some(path) => load_circuit(path)?.circuit,
            None => compile(&embedded_model()?.network, &DirectOptions::default(), &watch.silent())?.1.into(),
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        pool.install(|| Self::measure_one(&circuit, watch))
    }

    fn measure_one(circuit: &Circuit, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let features = circuit.variables();
        let entities = if features <= MAX_ALL { all_rows(features) } else { random_rows(features, 1 << 12) };
        let uniform = Probabilities::uniform(features);
        let engine = FastEngine::new(circuit)?.merge_rows(false);
        let few: Vec<Vec<bool>> = (0..FEW.min(entities.rows())).map(|row| entities.row(row)).collect();
        let single: Vec<Bits> = few.iter().map(|row| one_row(row)).collect();
        let smooth = paper_form(circuit)?;
        let open_box = OpenBox::new(&smooth)?;
        let labels = if features <= MAX_DEFINITION { Some(Labels::of_circuit(circuit)?) } else { None };
        let quiet = watch.silent();
        let mut times = [const { Vec::new() }; 4];
        for round in 0..ROUNDS {
            watch.step(round as u64, (ROUNDS + SIZES.len()) as u64)?;
            let mut measured = |kind: usize, rows: usize, work: &mut dyn FnMut() -> anyhow::Result<usize>| {
                let start = Instant::now();
                let done = work()?;
                times[kind].push(start.elapsed().as_secs_f64() / rows as f64);
                anyhow::ensure!(done == rows, "{done} of {rows} rows were explained");
                Ok(())
            };
            measured(0, entities.rows(), &mut || Ok(engine.explain(&entities, &uniform, &quiet)?.len()))?;
            measured(1, FEW.min(single.len()), &mut || {
                single.iter().try_fold(0, |done, row| Ok(done + engine.explain(row, &uniform, &quiet)?.len()))
            })?;
            measured(2, few.len(), &mut || Ok(open_box.explain(&few, &uniform, &quiet)?.len()))?;
            if let Some(labels) = &labels {
                let definition = BruteForce::new(labels);
                measured(3, few.len(), &mut || Ok(definition.explain(&few, &uniform, &quiet)?.len()))?;
            }
        }
        let machine = multiply_add_rate();
        let mut sizes = Vec::new();
        for (done, (inputs, rows)) in SIZES.into_iter().enumerate() {
            watch.step((ROUNDS + done) as u64, (ROUNDS + SIZES.len()) as u64)?;
            sizes.push(rate_of(inputs, rows, &quiet)?);
        }
        let [fast, alone, paper, definition] = times;
        Ok(ShapTimes {
            features,
            nodes: engine.nodes(),
            entities: entities.rows(),
            fast: median(fast),
            alone: median(alone),
            paper: median(paper),
            definition: labels.map(|_| median(definition)),
            machine,
            sizes,
        })
    }

    pub(crate) fn json(&self) -> Value {
        let size = |&(nodes, seconds, rate): &(usize, f64, f64)| json!({"nodes": nodes, "seconds": seconds, "flops": rate, "fraction": rate / self.machine});
        json!({
            "features": self.features,
            "nodes": self.nodes,
            "entities": self.entities,
            "fast_seconds": self.fast,
            "fast_single_seconds": self.alone,
            "paper_seconds": self.paper,
            "brute_force_seconds": self.definition,
            "machine_flops": self.machine,
            "sizes": self.sizes.iter().map(size).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn table(&self) -> String {
        let line = |what: &str, seconds: f64| {
            format!("  {what:<44}{:>12.2} us  {:>10}", 1e6 * seconds, thousands((1.0 / seconds) as u64))
        };
        let mut lines = vec![
            format!(
                "circuit of {} nodes, {} features; one thread, every row computed, medians of {ROUNDS}",
                thousands(self.nodes as u64),
                self.features
            ),
            format!("  {:<44}{:>12}     {:>10}", "all scores of an entity", "", "entities/s"),
            line(&format!("fast, {} entities", thousands(self.entities as u64)), self.fast),
            line("fast, one entity at a time", self.alone),
            line("paper (open box)", self.paper),
        ];
        lines.extend(self.definition.map(|seconds| line("brute-force (the definition)", seconds)));
        lines.push(format!("multiply-adds in registers: {:.1} GFLOP/s a thread", self.machine / 1e9));
        for &(nodes, seconds, rate) in &self.sizes {
            lines.push(format!(
                "  {:>10} nodes: {:>12.1} us an entity, {:>5.1} GFLOP/s, {:.0} % of it",
                thousands(nodes as u64),
                1e6 * seconds,
                rate / 1e9,
                100.0 * rate / self.machine
            ));
        }
        lines.join("\n")
    }
}

/// Nodes, seconds per entity and useful operations per second on a dense network's circuit.
fn rate_of(inputs: usize, rows: usize, watch: &Watch<'_>) -> anyhow::Result<(usize, f64, f64)> {
    let (_, circuit) = compile(&dense(inputs, inputs)?, &DirectOptions::default(), watch)?;
    let engine = FastEngine::new(&circuit)?.merge_rows(false);
    let (rows, uniform) = (random_rows(inputs, rows), Probabilities::uniform(inputs));
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        engine.explain(&rows, &uniform, watch)?;
        times.push(start.elapsed().as_secs_f64() / rows.rows() as f64);
    }
    let seconds = median(times);
    let operations = engine.nodes() as u64 * engine.points() as u64 * USEFUL_OPERATIONS;
    Ok((engine.nodes(), seconds, operations as f64 / seconds))
}

fn all_rows(features: usize) -> Bits {
    let mut bits = Bits::new(features);
    for number in 0..1usize << features {
        bits.push(&(0..features).map(|feature| number >> feature & 1 == 1).collect::<Vec<bool>>());
    }
    bits
}

fn one_row(row: &[bool]) -> Bits {
    let mut bits = Bits::new(row.len());
    bits.push(row);
    bits
}
