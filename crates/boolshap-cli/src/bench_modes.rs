//! `boolshap bench modes`: what each meaning of a score costs beside the plainest one, on the embedded housing network.

use crate::bench_compile::compile;
use crate::bench_stream::median;
use crate::demo::{embedded_model, embedded_rows};
use crate::terminal::{thousands, with_progress};
use boolshap::data::Bits;
use boolshap::diagram::DirectOptions;
use boolshap::explain::{Distribution, ExactGame, FloatGame, Game, Index, Players, Population};
use boolshap::lit::Watch;
use serde_json::{Value, json};
use std::time::Instant;

/// Each time is the median of this many, taken in turns.
const ROUNDS: usize = 9;
/// How many entities the slower modes explain.
const FEW: usize = 32;
const BACKGROUNDS: [usize; 3] = [100, 200, 400];

/// Seconds an entity by mode, the plain one first.
pub(crate) struct ModeTimes {
    entities: usize,
    modes: Vec<(String, f64)>,
}

impl ModeTimes {
    pub(crate) fn measure() -> anyhow::Result<Self> {
        let model = embedded_model()?;
        let (_, circuit) = compile(&model.network, &DirectOptions::default(), &Watch::unlimited())?;
        let (_, rows) = embedded_rows(&model.features)?;
        let features = || Players::features(&model.features);
        let columns = || Players::columns(&model.features, model.binariser.as_ref());
        let all = rows.rows();
        // Rows without a category have no place among columns.
        let one_hot = |row: &usize| columns().check_rows(&part(all, [*row])).is_ok();
        let entities = part(all, (0..all.rows()).filter(one_hot));
        let uniform = || Population::Product(Distribution::uniform(model.features.len()));
        let background =
            |count: usize| Population::Background(part(&entities, (0..count).map(|k| k % entities.rows())));
        let mut asked = vec![
            ("features, uniform".to_string(), features(), uniform(), Index::Shapley, false),
            ("columns, uniform".into(), columns(), uniform(), Index::Shapley, false),
            ("features, Banzhaf".into(), features(), uniform(), Index::Banzhaf, false),
            ("features, interactions".into(), features(), uniform(), Index::Interaction, false),
        ];
        for count in BACKGROUNDS {
            asked.push((format!("background of {count}"), features(), background(count), Index::Shapley, false));
        }
        asked.push(("columns, background of 100".into(), columns(), background(100), Index::Shapley, false));
        asked.push(("empirical".into(), features(), Population::Sample(entities.clone()), Index::Shapley, false));
        asked.push(("features, uniform, exact".into(), features(), uniform(), Index::Shapley, true));
        let few = part(&entities, 0..FEW.min(entities.rows()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        with_progress("measuring", |watch| {
            pool.install(|| {
                let quiet = &watch.silent();
                let mut games = Vec::new();
                for (name, players, population, index, exact) in asked {
                    games.push((name, Game::new(&circuit, players, population, quiet)?, index, exact));
                }
                let mut prepared = Vec::new();
                for (_, game, index, exact) in &games {
                    // The first two are compared with each other, over many rows.
                    let rows = if prepared.len() < 2 { &entities } else { &few };
                    let exact = if *exact { Some(ExactGame::new(game)?) } else { None };
                    prepared.push((FloatGame::new(game), exact, *index, rows));
                }
                let list: Vec<Vec<bool>> = (0..few.rows()).map(|row| few.row(row)).collect();
                let mut times = vec![Vec::new(); prepared.len()];
                for round in 0..ROUNDS {
                    watch.step(round as u64, ROUNDS as u64)?;
                    for ((floats, exact, index, rows), times) in prepared.iter().zip(&mut times) {
                        let start = Instant::now();
                        let done = match exact {
                            Some(exact) => exact.explain(&list, *index, quiet)?.len(),
                            None => floats.explain(rows, *index, quiet)?.rows(),
                        };
                        times.push(start.elapsed().as_secs_f64() / done as f64);
                    }
                }
                let names = games.into_iter().map(|(name, ..)| name);
                anyhow::Ok(ModeTimes {
                    entities: entities.rows(),
                    modes: names.zip(times.into_iter().map(median)).collect(),
                })
            })
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

fn part(bits: &Bits, rows: impl IntoIterator<Item = usize>) -> Bits {
    let mut part = Bits::new(bits.features());
    rows.into_iter().for_each(|row| part.push(&bits.row(row)));
    part
}
