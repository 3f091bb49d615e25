//! `boolshap bench background`: a whole data set as background, for every one of its rows.
//!
//! Explains the embedded housing rows against all of them, on the embedded network, by counting and by sweeps over the
//! circuit in the same run; and very many rows against a thousand on a tree, by tables of its paths. One thread.

use crate::compile_times::compile;
use crate::{embedded_model, embedded_rows};
use boolshap::circuit::{Circuit, CircuitBuilder, NodeId};
use boolshap::data::{Bits, Seeded};
use boolshap::diagram::DirectOptions;
use boolshap::explain::{Distribution, FloatGame, Game, Index, Players};
use boolshap::lit::{Var, Watch, thousands};
use serde_json::{Value, json};
use std::time::Instant;

const SEED: u64 = 7;
/// The tree's features and depth, and the numbers of rows.
const FEATURES: usize = 30;
const DEPTH: usize = 6;
const ROWS: usize = 100_000;
const BACKGROUND: usize = 1_000;

/// Times for all rows, in seconds.
pub(crate) struct BackgroundTimes {
    cases: Vec<Case>,
}

struct Case {
    name: String,
    rows: usize,
    background: u64,
    seconds: f64,
    by_sweeps: Option<f64>,
    /// The largest difference between both methods.
    difference: Option<f64>,
}

impl BackgroundTimes {
    pub(crate) fn measure(watch: &Watch<'_>) -> anyhow::Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        pool.install(|| Ok(BackgroundTimes { cases: vec![housing(watch)?, tree(watch)?] }))
    }

    pub(crate) fn json(&self) -> Value {
        let case = |case: &Case| {
            json!({
                "case": case.name, "distinct_rows": case.rows, "background": case.background, "seconds": case.seconds,
                "by_sweeps": case.by_sweeps, "difference": case.difference,
            })
        };
        json!({"cases": self.cases.iter().map(case).collect::<Vec<_>>()})
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec!["all scores of all rows against all background rows, one thread".to_string()];
        for case in &self.cases {
            let [rows, background] = [case.rows as u64, case.background].map(thousands);
            let sweeps = case.by_sweeps.map_or(String::new(), |sweeps| {
                format!("; by sweeps {sweeps:.2} s, {:.0} times as long", sweeps / case.seconds)
            });
            lines.push(format!(
                "  {}: {rows} rows, {background} background rows: {:.3} s{sweeps}",
                case.name, case.seconds
            ));
        }
        lines.join("\n")
    }
}

fn timed(floats: &FloatGame, rows: &Bits, watch: &Watch<'_>) -> anyhow::Result<(f64, Vec<f64>)> {
    let start = Instant::now();
    let scores = floats.explain(rows, Index::Shapley, watch)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((seconds, (0..scores.len()).flat_map(|row| scores.scores(row).to_vec()).collect()))
}

/// Explains every distinct row once, against all rows with their frequencies.
fn housing(watch: &Watch<'_>) -> anyhow::Result<Case> {
    let model = embedded_model()?;
    let (_, circuit) = compile(&model.network, &DirectOptions::default(), &watch.silent())?;
    let (training, testing) = embedded_rows(model.features.len())?;
    let mut all = Bits::new(model.features.len());
    for tally in [&training, &testing] {
        for row in 0..tally.rows().rows() {
            let times: u64 = tally.counts()[row].iter().sum();
            (0..times).for_each(|_| all.push(&tally.rows().row(row)));
        }
    }
    let background = all.rows() as u64;
    let players = Players::features(&model.features);
    let game = Game::new(&circuit, players, Distribution::Background(all), &watch.silent())?;
    let rows = training.rows();
    let (seconds, counted) = timed(&FloatGame::new(&game), rows, &watch.silent())?;
    let (by_sweeps, swept) = timed(&FloatGame::new(&game).by_sweeps(), rows, &watch.silent())?;
    let apart = counted.iter().zip(&swept).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    let name = format!("housing, {} bits", model.features.len());
    let (by_sweeps, difference) = (Some(by_sweeps), Some(apart));
    Ok(Case { name, rows: rows.rows(), background, seconds, by_sweeps, difference })
}

/// A full tree that tests random features.
fn tree(watch: &Watch<'_>) -> anyhow::Result<Case> {
    let mut chance = Seeded::new(SEED, 0);
    let circuit = random_tree(&mut chance)?;
    let mut rows = |count: usize| {
        let mut rows = Bits::new(FEATURES);
        (0..count).for_each(|_| rows.push(&(0..FEATURES).map(|_| chance.below(2) == 1).collect::<Vec<_>>()));
        rows
    };
    let (background, entities) = (rows(BACKGROUND), rows(ROWS));
    let names: Vec<String> = (0..FEATURES).map(|feature| format!("x{feature}")).collect();
    let start = Instant::now();
    let population = Distribution::Background(background);
    let game = Game::new(&circuit, Players::features(&names), population, &watch.silent())?;
    let floats = FloatGame::new(&game);
    let prepared = start.elapsed().as_secs_f64();
    let (seconds, _) = timed(&floats, &entities, &watch.silent())?;
    let name = format!("tree of depth {DEPTH}, {FEATURES} features");
    let background = BACKGROUND as u64;
    Ok(Case { name, rows: ROWS, background, seconds: prepared + seconds, by_sweeps: None, difference: None })
}

fn random_tree(chance: &mut Seeded) -> anyhow::Result<Circuit> {
    fn grown(builder: &mut CircuitBuilder, asked: &[usize], chance: &mut Seeded) -> anyhow::Result<NodeId> {
        if asked.len() == DEPTH {
            return Ok(builder.constant(chance.below(2) == 1)?);
        }
        let feature = loop {
            let feature = chance.below(FEATURES);
            if !asked.contains(&feature) {
                break feature;
            }
        };
        let below = [asked, &[feature]].concat();
        let (lo, hi) = (grown(builder, &below, chance)?, grown(builder, &below, chance)?);
        Ok(builder.decision(Var::new(feature), lo, hi)?)
    }
    let mut builder = CircuitBuilder::new(FEATURES)?;
    let root = grown(&mut builder, &[], chance)?;
    Ok(builder.finish(root)?)
}
