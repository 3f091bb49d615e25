//! The engines behind one face: from distinct rows to rows of a result, for one circuit or for one of each class.

use crate::compile::MAX_SMOOTH_NODES;
use crate::terminal::usage;
use boolshap::circuit::{Circuit, Evaluator, paper_form_within};
use boolshap::data::{Bits, ScoreRows};
use boolshap::explain::{BruteForce, Definition, Distribution, ExactGame, ExplainError, Explanation, FloatGame};
use boolshap::explain::{Game, Index, Labels, OpenBox, Players, Population, Scorer, score_in_parallel};
use boolshap::lit::Watch;
use clap::ValueEnum;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Engine {
    /// All scores of a row from a few sweeps over the circuit, in floats
    Fast,
    /// The open-box algorithm of Arenas et al.
    Paper,
    /// The definition, over all subsets of players
    BruteForce,
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) engine: Option<Engine>,
    pub(crate) index: Index,
    pub(crate) exact: bool,
}

impl Asked {
    /// The name of the engine that answers.
    pub(crate) fn engine_name(self) -> &'static str {
        match (self.engine, self.exact) {
            (Some(Engine::Paper), _) => "paper",
            (Some(Engine::BruteForce), _) => "brute-force",
            (_, true) => "exact",
            (_, false) => "fast",
        }
    }
}

/// A circuit made ready for an engine.
pub(crate) enum Prepared {
    Paper(Circuit, Distribution),
    Subsets(Labels, Distribution),
    Definition(Definition),
    Game(Game),
}

impl Prepared {
    /// Errors of rows of the population go through `in_file`.
    pub(crate) fn new(
        circuit: &Circuit,
        players: &Players,
        population: &Population,
        asked: Asked,
        in_file: impl Fn(ExplainError) -> anyhow::Error,
        watch: &Watch<'_>,
    ) -> anyhow::Result<Self> {
        let simple = players.kind() == "features" && asked.index == Index::Shapley;
        Ok(match (asked.engine, population) {
            (Some(Engine::Paper), Population::Product(distribution)) if simple => {
                Prepared::Paper(paper_form_within(circuit, MAX_SMOOTH_NODES, watch)?, distribution.clone())
            }
            (Some(Engine::Paper), _) => {
                return usage("--engine paper is for features as players, Shapley values, and uniform or product");
            }
            (Some(Engine::BruteForce), Population::Product(distribution)) if simple => {
                Prepared::Subsets(Labels::of_circuit(circuit)?, distribution.clone())
            }
            (Some(Engine::BruteForce), _) => {
                let labels = Labels::of_circuit(circuit)?;
                Prepared::Definition(Definition::new(labels, players.clone(), population.clone()).map_err(in_file)?)
            }
            _ => Prepared::Game(Game::new(circuit, players.clone(), population.clone(), watch).map_err(in_file)?),
        })
    }

    /// What scores rows.
    pub(crate) fn scorer(&self, Asked { index, exact, .. }: Asked) -> Result<Box<Scorer<'_>>, ExplainError> {
        Ok(match self {
            Prepared::Paper(smooth, given) => {
                let engine = OpenBox::new(smooth)?;
                Box::new(move |rows, watch| match exact {
                    false => score_in_parallel(rows, watch, |part, watch| engine.explain(part, given, watch)),
                    true => score_in_parallel(rows, watch, |part, watch| engine.explain_exact(part, given, watch)),
                })
            }
            Prepared::Subsets(labels, given) => {
                let engine = BruteForce::new(labels);
                Box::new(move |rows, watch| match exact {
                    false => score_in_parallel(rows, watch, |part, watch| engine.explain(part, given, watch)),
                    true => score_in_parallel(rows, watch, |part, watch| engine.explain_exact(part, given, watch)),
                })
            }
            Prepared::Definition(judge) => Box::new(move |rows, watch| match exact {
                false => score_in_parallel(rows, watch, |part, watch| {
                    Ok(judge.explain(part, index, watch)?.iter().map(Explanation::to_floats).collect())
                }),
                true => score_in_parallel(rows, watch, |part, watch| judge.explain(part, index, watch)),
            }),
            Prepared::Game(game) if exact => {
                let game = ExactGame::new(game)?;
                Box::new(move |rows, watch| {
                    score_in_parallel(rows, watch, |part, watch| game.explain(part, index, watch))
                })
            }
            Prepared::Game(game) => {
                let game = FloatGame::new(game);
                Box::new(move |rows, watch| Ok(game.explain(rows, index, watch)?.into()))
            }
        })
    }
}

/// The class of each row, by the circuits of all classes.
pub(crate) fn classes_of(circuits: &[Circuit], rows: &Bits) -> Result<Vec<u32>, ExplainError> {
    let mut classes = vec![0; rows.rows()];
    for (class, circuit) in circuits.iter().enumerate() {
        let mut evaluator = Evaluator::new(circuit);
        for block in 0..rows.blocks() {
            let word = evaluator.words(&rows.block(block))?;
            for (lane, of_row) in classes[64 * block..].iter_mut().take(64).enumerate() {
                if word >> lane & 1 == 1 {
                    *of_row = class as u32;
                }
            }
        }
    }
    Ok(classes)
}

/// The numbers of all classes side by side.
pub(crate) fn each_class(
    circuits: &[Circuit],
    scorers: &[Box<Scorer<'_>>],
    rows: &Bits,
    watch: &Watch<'_>,
) -> Result<ScoreRows, ExplainError> {
    let tables = scorers.iter().map(|score| score(rows, &watch.silent())).collect::<Result<Vec<_>, _>>()?;
    Ok(ScoreRows::side_by_side(classes_of(circuits, rows)?, &tables))
}

/// The numbers of each row's own class.
pub(crate) fn predicted_class(
    circuits: &[Circuit],
    scorers: &[Box<Scorer<'_>>],
    rows: &Bits,
    watch: &Watch<'_>,
) -> Result<ScoreRows, ExplainError> {
    let classes = classes_of(circuits, rows)?;
    let mut place_of = vec![0; rows.rows()];
    let (mut scored, mut count) = (None::<ScoreRows>, 0);
    for (class, score) in scorers.iter().enumerate() {
        let mine: Vec<usize> = (0..rows.rows()).filter(|&row| classes[row] as usize == class).collect();
        if mine.is_empty() {
            continue;
        }
        let mut part = Bits::new(rows.features());
        mine.iter().for_each(|&row| part.push(&rows.row(row)));
        let table = score(&part, &watch.silent()).map_err(|error| error.with_entity(|entity| mine[entity]))?;
        mine.iter().for_each(|&row| {
            place_of[row] = count;
            count += 1;
        });
        match &mut scored {
            Some(scored) => scored.append(table),
            None => scored = Some(table),
        }
    }
    let scored = scored.expect("there are rows to score");
    Ok(scored.select(&place_of).with_predictions(classes))
}
