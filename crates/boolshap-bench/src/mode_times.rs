//! `boolshap bench modes`: the cost of each meaning of a score relative to the plainest, on the embedded housing
//! network.

use crate::compile_times::compile;
use crate::stream_times::median;
use crate::{embedded_model, embedded_rows};
use boolshap::data::Bits;
use boolshap::diagram::DirectOptions;
use boolshap::explain::{Distribution, Engine, ExactGame, FloatGame, Game, Index, Order, Players, Probabilities};
use boolshap::lit::{Watch, thousands};
use serde_json::{Value, json};
use std::time::Instant;

/// Each time is the median of this many interleaved rounds.
const ROUNDS: usize = 9;
/// How many entities the slower modes explain.
const FEW: usize = 32;
const BACKGROUNDS: [usize; 3] = [100, 200, 400];

/// Seconds per entity by mode, the plain one first.
pub(crate) struct ModeTimes {
    entities: usize,
    modes: Vec<(String, f64)>,
}

impl ModeTimes {
    pub(crate) fn measure(watch: &Watch<'_>) -> anyhow::Result<Self> {
        let model = embedded_model()?;
        let (_, circuit) = compile(&model.network, &DirectOptions::default(), &watch.silent())?;
        let (_, rows) = embedded_rows(model.features.len())?;
        let columns = Players::columns(&model.features, model.binariser.as_ref());
        let all = rows.rows();
        // Rows without a category are invalid if columns are players.
        let one_hot: Vec<usize> =
            (0..all.rows()).filter(|&row| columns.check_rows(&all.select(&[row])).is_ok()).collect();
        let entities = all.select(&one_hot);
        let few = entities.select(&(0..FEW.min(entities.rows())).collect::<Vec<_>>());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        pool.install(|| {
            let quiet = &watch.silent();
            let mut engines = Vec::new();
            for (name, players, distribution, index, exact) in
                modes(&Players::features(&model.features), &columns, &pairs(&model.features)?, &entities)
            {
                let game = Game::new(&circuit, players, distribution, quiet)?;
                let engine: Box<dyn Engine> =
                    if exact { Box::new(ExactGame::new(&game)?) } else { Box::new(FloatGame::new(&game)) };
                // The first three are compared with each other, over many rows.
                let rows = if engines.len() < 3 { &entities } else { &few };
                engines.push((name, engine, index, rows));
            }
            let mut times = vec![Vec::new(); engines.len()];
            for round in 0..ROUNDS {
                watch.step(round as u64, ROUNDS as u64)?;
                for ((_, engine, index, rows), times) in engines.iter().zip(&mut times) {
                    let start = Instant::now();
                    let done = engine.explain(rows, *index, quiet)?.len();
                    times.push(start.elapsed().as_secs_f64() / done as f64);
                }
            }
            let names = engines.into_iter().map(|(name, ..)| name);
            let modes = names.zip(times.into_iter().map(median)).collect();
            Ok(ModeTimes { entities: entities.rows(), modes })
        })
    }

    pub(crate) fn json(&self) -> Value {
        let mode = |(name, seconds): &(String, f64)| json!({"mode": name, "seconds": seconds, "ratio": seconds / self.modes[0].1});
        json!({"entities": self.entities, "modes": self.modes.iter().map(mode).collect::<Vec<_>>()})
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![format!(
            "housing network, {} distinct rows; one thread, medians of {ROUNDS}: all numbers of an entity",
            thousands(self.entities as u64)
        )];
        for (name, seconds) in &self.modes {
            lines.push(format!("  {name:<32}{:>12.2} us {:>10.1}", 1e6 * seconds, seconds / self.modes[0].1));
        }
        lines.join("\n")
    }
}

/// Players of two features each, half of all features apart.
fn pairs(features: &[String]) -> anyhow::Result<Players> {
    let half = features.len().div_ceil(2);
    let of = features.iter().enumerate().map(|(place, name)| (name.clone(), format!("pair {}", place % half)));
    Ok(Players::named(features, &of.collect())?)
}

type Mode = (String, Players, Distribution, Index, bool);

/// Every mode by name, the plain one first.
fn modes(features: &Players, columns: &Players, pairs: &Players, entities: &Bits) -> Vec<Mode> {
    let uniform = || Distribution::Product(Probabilities::uniform(entities.features()));
    let background = |count: usize| {
        let rows: Vec<usize> = (0..count).map(|k| k % entities.rows()).collect();
        Distribution::Background(entities.select(&rows))
    };
    let mode = |name: &str, players: &Players, distribution, index, exact| -> Mode {
        (name.to_string(), players.clone(), distribution, index, exact)
    };
    let mut modes = vec![
        mode("features, uniform", features, uniform(), Index::Shapley, false),
        mode("columns, uniform", columns, uniform(), Index::Shapley, false),
        mode("blocks of two, uniform", pairs, uniform(), Index::Shapley, false),
        mode("features, Banzhaf", features, uniform(), Index::Banzhaf, false),
        mode("features, interactions", features, uniform(), Index::Interaction, false),
    ];
    let group_of = (0..features.len()).map(|player| (features.names()[player].clone(), pairs.of(player).to_string()));
    let grouped = features.clone().in_groups(&group_of.collect()).expect("every player has a group");
    for count in BACKGROUNDS {
        modes.push(mode(&format!("background of {count}"), features, background(count), Index::Shapley, false));
    }
    modes.push(mode("features, Owen values of pairs", &grouped, uniform(), Index::Owen, false));
    modes.push(mode("features, k-SII of three", features, uniform(), Index::Ksii(Order::Three), false));
    modes.push(mode("columns, background of 100", columns, background(100), Index::Shapley, false));
    modes.push(mode("empirical", features, Distribution::Empirical(entities.clone()), Index::Shapley, false));
    modes.push(mode("features, uniform, exact", features, uniform(), Index::Shapley, true));
    modes
}
