//! How compile time grows with the inputs and with the hidden layer, from a network in memory to a circuit in memory,
//! compared with evaluating the network on all its inputs.

use crate::stream_times::{median, peak_memory};
use anyhow::ensure;
use boolshap::circuit::{Circuit, lower_obdd};
use boolshap::data::{Bits, Seeded};
use boolshap::diagram::{Direct, DirectOptions, Route, compile_direct};
use boolshap::explain::{FastEngine, Probabilities};
use boolshap::lit::{Var, Watch, thousands};
use boolshap::model::{AllInputs, Gate, Label, Network, Output};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SEED: u64 = 7;
/// Each time is the median of this many interleaved rounds.
const ROUNDS: usize = 3;
/// Gates are combined one by one for comparison up to this many inputs.
const MAX_APPLY: usize = 20;
const INPUTS: [usize; 8] = [8, 12, 16, 20, 22, 24, 28, 30];
/// Inputs of the networks of several widths; skipped if even the first exceeds the requested maximum.
const WIDE: [usize; 2] = [20, 40];
const WIDTHS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// The limits for each network in the table over hidden widths: states and time.
const LIMITS: (usize, Duration) = (1 << 23, Duration::from_secs(20));

/// The number of node visits for each point in a measurement of the engine.
const WORK: usize = 1 << 23;

/// One network with as many hidden neurons as inputs.
struct Square {
    inputs: usize,
    evaluate: f64,
    compile: f64,
    apply: Option<f64>,
    nodes: usize,
    peak_bytes: Option<u64>,
}

/// One network of a given width.
struct Wide {
    inputs: usize,
    hidden: usize,
    outcome: Result<(Route, f64, usize, f64), String>,
}

/// The measurements; times in seconds.
pub(crate) struct CompileTimes {
    square: Vec<Square>,
    wide: Vec<Wide>,
}

/// A dense network with weights +-1, its thresholds in the middle.
pub(crate) fn dense(inputs: usize, hidden: usize) -> anyhow::Result<Network> {
    let mut random = Seeded::new(SEED, (inputs << 16 | hidden) as u64);
    let mut gate = |width: usize| {
        let weights = (0..width).map(|_| if random.below(2) == 1 { 1 } else { -1 }).collect();
        Gate::new(weights, (width / 2 + random.below(2)) as i128).expect("small weights")
    };
    let neurons = (0..hidden).map(|_| gate(inputs)).collect();
    let output = gate(hidden);
    Ok(Network::new(inputs, vec![neurons], Output::Step(output))?)
}

/// Some random rows.
pub(crate) fn random_rows(features: usize, rows: usize) -> Bits {
    let mut random = Seeded::new(SEED, features as u64);
    let mut bits = Bits::new(features);
    for _ in 0..rows {
        bits.push(&(0..features).map(|_| random.below(2) == 1).collect::<Vec<bool>>());
    }
    bits
}

/// Compiles by the given route, or by the best.
pub(crate) fn compile(
    network: &Network,
    options: &DirectOptions,
    watch: &Watch<'_>,
) -> anyhow::Result<(Route, Circuit)> {
    let label = Label::of_class(network, 1)?;
    let Direct { diagram, route, .. } = compile_direct(&label, options, watch)?;
    Ok((route, lower_obdd(&diagram)?))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

impl CompileTimes {
    pub(crate) fn measure(max_inputs: usize, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let sizes: Vec<usize> = INPUTS.into_iter().filter(|&inputs| inputs <= max_inputs).collect();
        let wide: Vec<usize> = WIDE.into_iter().filter(|_| max_inputs >= WIDE[0]).collect();
        let steps = (sizes.len() + wide.len() * WIDTHS.len()) as u64;
        let mut times = CompileTimes { square: Vec::new(), wide: Vec::new() };
        for inputs in sizes {
            watch.step(times.square.len() as u64, steps)?;
            times.square.push(Square::measure(inputs, &watch.silent())?);
        }
        for inputs in wide {
            for hidden in WIDTHS {
                watch.step((times.square.len() + times.wide.len()) as u64, steps)?;
                times.wide.push(Wide::measure(inputs, hidden, &watch.silent())?);
            }
        }
        Ok(times)
    }

    pub(crate) fn json(&self) -> Value {
        let square = |s: &Square| {
            json!({
                "inputs": s.inputs, "evaluate_seconds": s.evaluate, "compile_seconds": s.compile,
                "ratio": s.compile / s.evaluate, "apply_seconds": s.apply, "nodes": s.nodes,
                "evaluated_per_second": (1u64 << s.inputs) as f64 / s.evaluate, "peak_memory_bytes": s.peak_bytes,
            })
        };
        let wide = |w: &Wide| match &w.outcome {
            Ok((route, seconds, nodes, scores)) => json!({
                "inputs": w.inputs, "hidden": w.hidden, "route": route.name(), "seconds": seconds, "nodes": nodes,
                "scores_per_second": scores,
            }),
            Err(limit) => json!({"inputs": w.inputs, "hidden": w.hidden, "limit": limit}),
        };
        json!({
            "threads": rayon::current_num_threads(),
            "square": self.square.iter().map(square).collect::<Vec<_>>(),
            "wide": self.wide.iter().map(wide).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![
            format!(
                "dense networks n-n-1, weights +-1, {} threads, medians of {ROUNDS}: all 2^n inputs evaluated; compiled",
                rayon::current_num_threads()
            ),
            format!(
                "  {:>3} {:>11} {:>8} {:>11} {:>6} {:>11} {:>11} {:>9}",
                "n", "evaluate s", "10^9/s", "compile s", "ratio", "apply s", "nodes", "peak MB"
            ),
        ];
        for s in &self.square {
            lines.push(format!(
                "  {:>3} {:>11.6} {:>8.2} {:>11.6} {:>6.2} {:>11} {:>11} {:>9}",
                s.inputs,
                s.evaluate,
                (1u64 << s.inputs) as f64 / s.evaluate / 1e9,
                s.compile,
                s.compile / s.evaluate,
                s.apply.map_or(String::new(), |seconds| format!("{seconds:.4}")),
                thousands(s.nodes as u64),
                s.peak_bytes.map_or("?".into(), |bytes| thousands(bytes / 1_000_000)),
            ));
        }
        let (states, time) = LIMITS;
        lines.push(format!(
            "by width of the hidden layer (limits: {} states, {} s)",
            thousands(states as u64),
            time.as_secs()
        ));
        let header = ["inputs", "hidden", "route", "compile s", "nodes", "scores/s"];
        lines.push(format!(
            "  {:>6} {:>6} {:>13} {:>10} {:>11} {:>12}",
            header[0], header[1], header[2], header[3], header[4], header[5]
        ));
        for w in &self.wide {
            lines.push(match &w.outcome {
                Ok((route, seconds, nodes, scores)) => format!(
                    "  {:>6} {:>6} {:>13} {seconds:>10.4} {:>11} {:>12}",
                    w.inputs,
                    w.hidden,
                    route.name(),
                    thousands(*nodes as u64),
                    thousands(*scores as u64)
                ),
                Err(limit) => format!("  {:>6} {:>6} {limit}", w.inputs, w.hidden),
            });
        }
        lines.join("\n")
    }
}

impl Square {
    fn measure(inputs: usize, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let network = dense(inputs, inputs)?;
        let order: Vec<Var> = (0..inputs).map(Var::new).collect();
        let options = DirectOptions { route: Some(Route::TruthTable), ..DirectOptions::default() };
        let (mut evaluate, mut compiled, mut apply) = (Vec::new(), Vec::new(), Vec::new());
        let mut nodes = 0;
        for _ in 0..ROUNDS {
            let (words, seconds) = timed(|| {
                let label = Label::of_class(&network, 1)?;
                anyhow::Ok(AllInputs::new(&label, &order).table(watch)?)
            });
            evaluate.push(seconds);
            drop(words?);
            let (circuit, seconds) = timed(|| compile(&network, &options, watch));
            compiled.push(seconds);
            nodes = circuit?.1.stored_nodes();
            if inputs <= MAX_APPLY {
                let options = DirectOptions { route: Some(Route::Apply), ..DirectOptions::default() };
                let (circuit, seconds) = timed(|| compile(&network, &options, watch));
                apply.push(seconds);
                ensure!(circuit?.1.stored_nodes() >= nodes, "the kept order is the smallest");
            }
        }
        Ok(Square {
            inputs,
            evaluate: median(evaluate),
            compile: median(compiled),
            apply: (!apply.is_empty()).then(|| median(apply)),
            nodes,
            peak_bytes: peak_memory(),
        })
    }
}

impl Wide {
    fn measure(inputs: usize, hidden: usize, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let network = dense(inputs, hidden)?;
        let options = DirectOptions { max_states: LIMITS.0, ..DirectOptions::default() };
        let (compiled, seconds) = timed(|| compile(&network, &options, &watch.timeout(LIMITS.1)));
        watch.check()?;
        let outcome = match compiled {
            Err(error) => Err(error.to_string()),
            Ok((route, circuit)) => {
                let engine = FastEngine::new(&circuit)?.merge_rows(false);
                // Enough rows to take about a second, in whole blocks of lanes.
                let rows = random_rows(inputs, (WORK / engine.nodes().max(1)).clamp(8, 256));
                let uniform = Probabilities::uniform(inputs);
                let (table, explained) = timed(|| engine.explain(&rows, &uniform, watch));
                Ok((route, seconds, circuit.stored_nodes(), (table?.len() * inputs) as f64 / explained))
            }
        };
        Ok(Wide { inputs, hidden, outcome })
    }
}
