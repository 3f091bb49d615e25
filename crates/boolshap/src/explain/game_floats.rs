//! Games in floating-point lanes.
//!
//! For paths, everything is an integral along a path in each lane; the methods differ in what the lanes are. With a
//! single start, the lanes are entities ([`FastEngine`]); otherwise they belong to one entity (`float_paths`). Shapley
//! values integrate from 0 to 1 by Gauss-Legendre points. Banzhaf values take the one point 1/2, where every player is
//! present in half of the coalitions.
//!
//! Against background rows, `cube` counts instead of sweeping wherever that is cheaper. Values at all vertices come
//! from `vertices`, error bounds from `error_bound`.
//!
//! Cost for an entity, with n moving players and s starts: s n / 2 pairs of sweeps for Shapley, s for Banzhaf, s n^2 for
//! all interactions and s n^3 for those of three, s n m / 4 for Owen values of m groups; 2^n sweeps, eight at a time, for
//! the values at all vertices.

use super::conjunctions::Conjunctions;
use super::cube::Cubes;
use super::distinct_rows::DistinctRows;
use super::error_bound;
use super::fast::{check_sums, predictions};
use super::float_paths::{FloatPaths, HALF, Tell, value_at_start};
use super::game::{Form, agreements};
use super::starts::{Sample, Starts};
use super::subsets::SubsetTable;
use super::tape::Tape;
use super::vertices::Vertices;
use super::ways::{Ways, Weighted};
use super::{Engine, ExplainError, FastEngine, Game, Index};
use crate::data::{Bits, Numbers, Scores};
use crate::lit::{Meter, Var, Watch};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// A game prepared for floats (engine `fast`).
///
/// ```
/// use boolshap::circuit::read_nnf;
/// use boolshap::data::Bits;
/// use boolshap::explain::{FloatGame, Game, Index, Players, Distribution};
/// use boolshap::lit::Watch;
/// let circuit = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let (mut background, mut entities) = (Bits::new(2), Bits::new(2));
/// background.push(&[false, false]);
/// entities.push(&[true, true]);
/// let players = Players::features(&["x".into(), "y".into()]);
/// let game = Game::new(&circuit, players, Distribution::Background(background), &Watch::unlimited())?;
/// let table = FloatGame::new(&game).explain(&entities, Index::Shapley, &Watch::unlimited())?;
/// assert_eq!(table.scores(0), [0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FloatGame {
    game: Game,
    form: FloatForm,
    /// Against background rows, if the circuit has a table: made on first use.
    cubes: OnceLock<Option<Cubes>>,
    /// Against background rows, if the circuit has few paths.
    conjunctions: Option<Conjunctions>,
    /// v of the empty set.
    base_value: f64,
}

enum FloatForm {
    Paths { engine: Box<FastEngine>, starts: Arc<Starts> },
    Vertices(Box<Vertices>),
    Empirical,
}

impl FloatGame {
    /// Prepares a game.
    pub fn new(game: &Game) -> Self {
        let engine = |weighted: &Weighted| {
            let tape = Tape::new(&weighted.circuit, |var| weighted.one_hot[var.index()]);
            let ways = Ways::new(tape.players.iter().map(|var| weighted.roles[var.index()]), &game.players);
            Box::new(FastEngine::of_ways(&game.labels, tape, ways))
        };
        let form = match &game.form {
            Form::Paths { circuit, starts } => FloatForm::Paths { engine: engine(circuit), starts: starts.clone() },
            Form::Vertices { above, below, starts } => {
                FloatForm::Vertices(Box::new(Vertices::new(above, below.as_ref(), starts, &game.players)))
            }
            Form::Empirical { .. } => FloatForm::Empirical,
        };
        let (conjunctions, cubes) = (game.conjunctions(), OnceLock::new());
        let mut prepared = FloatGame { game: game.clone(), form, cubes, conjunctions, base_value: 0.0 };
        prepared.base_value = prepared.value_of_nobody();
        // Prepares what Shapley values need.
        prepared.cubes(Index::Shapley);
        prepared
    }

    /// The same without tables of paths, so that cubes are used where they are cheaper than sweeps.
    #[cfg(test)]
    pub(super) fn without_conjunctions(self) -> Self {
        FloatGame { conjunctions: None, ..self }
    }

    /// The same by sweeps over the circuit alone, for comparison.
    #[doc(hidden)]
    pub fn by_sweeps(self) -> Self {
        FloatGame { cubes: OnceLock::from(None), conjunctions: None, ..self }
    }

    /// The expected label when nothing is known of the entity: v of the empty set.
    pub fn base_value(&self) -> f64 {
        self.base_value
    }

    /// The approximate number of nodes visited for the values of one entity.
    pub fn visits(&self, index: Index) -> u128 {
        match &self.form {
            FloatForm::Paths { engine, starts } => {
                let moving = engine.movers() as u128;
                let sweeps = match index {
                    Index::Shapley => moving,
                    Index::Banzhaf => 2,
                    // About half a pair of sweeps for each point of both integrals.
                    Index::Owen => moving * moving / 2,
                    Index::Interaction | Index::Taylor(_) | Index::Ksii(_) => moving.pow(*index.sizes().end() as u32),
                };
                starts.len() as u128 * sweeps * engine.tape.nodes() as u128
            }
            FloatForm::Vertices(vertices) => vertices.visits(),
            FloatForm::Empirical => (self.game.players.len() as u128) << self.game.players.len(),
        }
    }

    /// Bounds the error of base value and scores for any row.
    pub fn error_bound(&self, index: Index) -> f64 {
        let counted = self.cubes(index).map_or(0.0, Cubes::error_bound);
        let tabulated = self.paths(index).map_or(0.0, Conjunctions::error_bound);
        counted.max(tabulated).max(match &self.form {
            FloatForm::Paths { engine, starts } => engine.error_bound_of(index, starts.len()),
            FloatForm::Vertices(vertices) => error_bound::of_sets(vertices.roundings(), vertices.playing.len(), index),
            FloatForm::Empirical => error_bound::of_sets(1.0, self.game.players.len(), index),
        })
    }

    /// The game.
    pub fn game(&self) -> &Game {
        &self.game
    }

    fn value_of_nobody(&self) -> f64 {
        // The count of rows is exact below 2^53, so only the quotient is rounded.
        let mean = |sample: &Sample, is_positive: &dyn Fn(usize) -> bool| {
            let positive = (0..sample.counts.len()).filter(|&row| is_positive(row)).map(|row| sample.counts[row]);
            positive.sum::<u64>() as f64 / sample.total as f64
        };
        match (&self.form, &self.game.form) {
            (FloatForm::Paths { engine, starts }, _) => match &**starts {
                Starts::One(_) => value_at_start(engine, starts, 0),
                Starts::Rows(sample) => mean(sample, &|row| value_at_start(engine, starts, row) > 0.5),
            },
            (FloatForm::Vertices(vertices), _) => vertices.of_nobody().expect("the constraint can be met"),
            (FloatForm::Empirical, Form::Empirical { sample, labels }) => mean(sample, &|row| labels[row]),
            _ => unreachable!("prepared from the same form"),
        }
    }

    /// The values of these entities, on all threads of the current pool. Each row has passed the index's check.
    pub fn explain(&self, entities: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        self.game.check_entities(entities)?;
        self.game.check_index(index)?;
        error_bound::check(self.error_bound(index))?;
        if let FloatForm::Paths { engine, starts } = &self.form
            && let Starts::One(probabilities) = &**starts
        {
            let from = probabilities.floats();
            match index {
                Index::Shapley => return engine.explain_from(from, entities, watch),
                Index::Banzhaf => return engine.explain_at(&[HALF], from, entities, watch),
                _ => {}
            }
        }
        match self.paths(index) {
            Some(paths) => self.look_up(paths, entities, watch),
            None => self.explain_each(entities, index, watch),
        }
    }

    /// The Shapley values by the tables of paths.
    fn look_up(&self, paths: &Conjunctions, entities: &Bits, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        /// How many blocks of 64 rows a thread takes at a time.
        const BLOCKS: usize = 16;
        let distinct = match paths.is_short() {
            true => DistinctRows::all(entities.rows()),
            false => DistinctRows::of(entities, &self.features()),
        };
        let chosen;
        let rows = match distinct.first.len() == entities.rows() {
            true => entities,
            false => {
                chosen = entities.select(&distinct.first);
                &chosen
            }
        };
        let width = self.game.players.len() + 1;
        let mut numbers = vec![0.0; rows.rows() * width];
        let meter = Meter::new(watch, rows.rows() as u64);
        numbers.par_chunks_mut(BLOCKS * 64 * width).enumerate().try_for_each(|(part, numbers)| {
            for (block, numbers) in numbers.chunks_mut(64 * width).enumerate() {
                numbers.iter_mut().step_by(width).for_each(|base| *base = self.base_value);
                paths.add_scores(rows, part * BLOCKS + block, width, numbers);
            }
            meter.add((numbers.len() / width) as u64)
        })?;
        self.checked(entities, distinct, Index::Shapley, numbers)
    }

    /// Base value, scores and prediction of each distinct row; checks that they add up if the index is efficient.
    fn checked(
        &self,
        entities: &Bits,
        distinct: DistinctRows,
        index: Index,
        numbers: Vec<f64>,
    ) -> Result<Scores, ExplainError> {
        let predictions = predictions(&self.game.labels, entities, &distinct.first)?;
        let predictions = predictions.into_iter().map(u32::from).collect();
        let width = index.width(self.game.players.len()) + 1;
        let table = Scores::new(width, distinct.kinds, predictions, Numbers::Floats(numbers));
        if index.is_efficient() {
            check_sums(&table)?;
        }
        Ok(table)
    }

    fn explain_each(&self, entities: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        // A row against a large background may take minutes, so progress counts each start.
        let starts = match &self.form {
            FloatForm::Paths { starts, .. } => starts.len(),
            FloatForm::Vertices(_) | FloatForm::Empirical => 1,
        };
        // Deduplicates rows that agree in all that matters.
        let distinct = DistinctRows::of(entities, &self.features());
        let meter = Meter::new(watch, distinct.first.len() as u64 * starts as u64);
        let one = |row: usize| -> Result<Vec<f64>, ExplainError> {
            watch.check()?;
            let (entity, silent) = (entities.row(row), watch.silent());
            let mut done = 0;
            let mut tell = |more: usize| {
                done += more;
                meter.add(more as u64)
            };
            let scores =
                self.numbers_of(&entity, index, &silent, &mut tell).map_err(|error| error.with_entity(|_| row))?;
            // Starts from which nothing moves took no time.
            if done < starts {
                meter.add((starts - done) as u64)?;
            }
            Ok(scores)
        };
        let rows: Vec<Vec<f64>> = match distinct.first[..] {
            [] => Vec::new(),
            [only] => vec![one(only)?],
            ref rows => rows.par_iter().map(|&row| one(row)).collect::<Result<_, _>>()?,
        };
        let numbers = rows.iter().flat_map(|scores| [self.base_value].into_iter().chain(scores.iter().copied()));
        self.checked(entities, distinct, index, numbers.collect())
    }

    /// The scores of one entity by the cheapest method; errors name entity 0.
    fn numbers_of(
        &self,
        entity: &[bool],
        index: Index,
        watch: &Watch<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<Vec<f64>, ExplainError> {
        let players = &self.game.players;
        if let Some(cubes) = self.counted(entity, index) {
            return Ok(cubes.floats(entity, index, players.len(), watch)?);
        }
        let numbers = match &self.form {
            FloatForm::Paths { engine, starts } => {
                let paths = FloatPaths { engine, starts, entity };
                match index {
                    Index::Shapley | Index::Banzhaf => Ok(paths.of_players(index == Index::Banzhaf, watch, tell)?),
                    Index::Owen => Ok(paths.owen(players, watch, tell)?),
                    _ => paths.of_sets(index, watch, tell)?,
                }
            }
            _ => self.table(entity, watch)?.values_of(index, watch)?.map(|scores| self.all_players(index, scores)),
        };
        numbers.map_err(|problem| ExplainError::Entity { entity: 0, problem })
    }

    /// The features that results depend on.
    fn features(&self) -> Vec<Var> {
        match self.game.form {
            // Rows are compared in all features, and a constraint may mention any of them.
            Form::Empirical { .. } | Form::Vertices { below: Some(_), .. } => {
                (0..self.game.labels.variables()).map(Var::new).collect()
            }
            _ => self.game.labels.mentioned(),
        }
    }

    /// The tables of paths, if they serve this index.
    fn paths(&self, index: Index) -> Option<&Conjunctions> {
        self.conjunctions.as_ref().filter(|_| index == Index::Shapley)
    }

    /// The cubes, if they serve this index and it has no faster method.
    fn cubes(&self, index: Index) -> Option<&Cubes> {
        let is_counted = matches!(index, Index::Shapley | Index::Banzhaf) && self.paths(index).is_none();
        is_counted.then(|| self.cubes.get_or_init(|| self.game.cubes()).as_ref())?
    }

    /// The cubes, where counting on them is cheaper than sweeps.
    fn counted(&self, entity: &[bool], index: Index) -> Option<&Cubes> {
        let cubes = self.cubes(index)?;
        match &self.form {
            FloatForm::Paths { engine, .. } => cubes.is_cheaper(entity, engine.tape.nodes()).then_some(cubes),
            _ => Some(cubes),
        }
    }

    /// v of all sets of the players that matter.
    fn table(&self, entity: &[bool], watch: &Watch<'_>) -> Result<SubsetTable<f64>, ExplainError> {
        match (&self.form, &self.game.form) {
            (FloatForm::Vertices(vertices), _) => {
                let groups = self.game.groups_of(vertices.playing.iter().copied());
                Ok(SubsetTable::new(groups, vertices.of_all_sets(entity, watch)?))
            }
            (FloatForm::Empirical, Form::Empirical { sample, labels }) => {
                let [agreeing, positive] = agreements(&self.game.players, sample, labels, entity);
                let mean =
                    |(&all, &ones): (&u64, &u64)| if all > 0 { ones as f64 / all as f64 } else { self.base_value };
                let mut values: Vec<f64> = agreeing.iter().zip(&positive).map(mean).collect();
                *values.last_mut().expect("at least the empty set") =
                    f64::from(u8::from(self.game.labels.evaluate(entity)?));
                Ok(SubsetTable::new(self.game.groups_of(0..self.game.players.len()), values))
            }
            _ => unreachable!("paths have no table"),
        }
    }

    /// Adds zeros for the players that do not matter.
    fn all_players(&self, index: Index, scores: Vec<f64>) -> Vec<f64> {
        match &self.form {
            FloatForm::Vertices(vertices) => spread(index, &vertices.playing, self.game.players.len(), scores, 0.0),
            _ => scores,
        }
    }
}

impl Engine for FloatGame {
    fn explain(&self, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        FloatGame::explain(self, rows, index, watch)
    }

    fn error_bound(&self, index: Index) -> f64 {
        FloatGame::error_bound(self, index)
    }

    fn visits(&self, index: Index) -> u128 {
        FloatGame::visits(self, index)
    }
}

/// Spreads the scores of some players, or of their sets, among those of all.
pub(super) fn spread<T: Clone>(index: Index, some: &[usize], all: usize, scores: Vec<T>, zero: T) -> Vec<T> {
    let mut spread = vec![zero; index.width(all)];
    for (set, score) in index.sets(some.len()).zip(scores) {
        let set: Vec<usize> = set.into_iter().map(|place| some[place]).collect();
        spread[index.place(all, &set)] = score;
    }
    spread
}
