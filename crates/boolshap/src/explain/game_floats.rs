//! Games in floating-point lanes.
//!
//! For paths, everything is [`Workspace::integrate`]: a lane follows one path, and what differs is which. From one start,
//! the lanes are entities ([`FastEngine`]); from many, they are the starts of one entity, of which only the players that
//! differ move, so that few points suffice. For the interactions of an entity they are "player i is in" and "player i is
//! out": the second derivative by the weights of i and j is the difference of the first derivatives by that of j. Shapley
//! values integrate from 0 to 1 by Gauss-Legendre points, Banzhaf values take the one point 1/2, where every player is in
//! half of the coalitions.
//!
//! Against background rows, `cube` counts instead of sweeping wherever that is cheaper. Values at all vertices are those of
//! `vertices`. How far a result can be off is in `error_bound`.
//!
//! Cost for an entity, with n moving players and s starts: s n / 2 pairs of sweeps for Shapley, s for Banzhaf, s n^2 for
//! all interactions; 2^n sweeps, eight at a time, for the values at all vertices.

use super::cube::Cubes;
use super::error_bound::{self, BLOCK};
use super::fast::{check_sums, count_distinct};
use super::game::{Form, Weighted, agreements};
use super::index::pairs;
use super::lanes::LANES;
use super::path_integral::lane_of_last;
use super::quadrature::Point;
use super::starts::{Sample, Starts};
use super::subsets::SubsetTable;
use super::tape::Tape;
use super::vertices::Vertices;
use super::{Engine, EntityProblem, ExplainError, Explanation, FastEngine, Game, Index};
use crate::data::{Bits, Scores};
use crate::lit::{Meter, Stopped, Watch};
use rayon::prelude::*;
use std::sync::Arc;

/// A game made ready for floats (engine `fast`).
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
    /// Against background rows, where the circuit has a table.
    cubes: Option<Cubes>,
    /// v of no player.
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
            let player_of = tape.players.iter().map(|var| game.players.of(var.index())).collect();
            Box::new(FastEngine::of_players(&game.labels, tape, player_of, game.players.len()))
        };
        let form = match &game.form {
            Form::Paths { circuit, starts } => FloatForm::Paths { engine: engine(circuit), starts: starts.clone() },
            Form::Vertices { above, below, starts } => {
                FloatForm::Vertices(Box::new(Vertices::new(above, below.as_ref(), starts, &game.players)))
            }
            Form::Empirical { .. } => FloatForm::Empirical,
        };
        let mut prepared = FloatGame { game: game.clone(), form, cubes: game.cubes(), base_value: 0.0 };
        prepared.base_value = prepared.value_of_nobody();
        prepared
    }

    /// By sweeps only.
    #[cfg(test)]
    pub(super) fn without_cubes(self) -> Self {
        FloatGame { cubes: None, ..self }
    }

    /// The expected label when nothing is known of the entity: v of no player.
    pub fn base_value(&self) -> f64 {
        self.base_value
    }

    /// About how many nodes are visited for the values of one entity.
    pub fn visits(&self, index: Index) -> u128 {
        match &self.form {
            FloatForm::Paths { engine, starts } => {
                let moving = engine.tape.players.len() as u128;
                let sweeps = match index {
                    Index::Shapley => moving,
                    Index::Banzhaf => 2,
                    Index::Interaction => moving * moving,
                };
                starts.len() as u128 * sweeps * engine.tape.nodes() as u128
            }
            FloatForm::Vertices(vertices) => vertices.visits(),
            FloatForm::Empirical => (self.game.players.len() as u128) << self.game.players.len(),
        }
    }

    /// How far base value and scores can be from the true ones, whatever the row.
    pub fn error_bound(&self, index: Index) -> f64 {
        let counted = self.cubes.as_ref().map_or(0.0, Cubes::error_bound);
        counted.max(match &self.form {
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
        // A whole number of rows, as long as it is below 2^53, so that only the quotient is rounded.
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

    /// The values of these entities, on all threads of the current pool. Each row has passed the check of its index.
    pub fn explain(&self, entities: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        self.game.check_entities(entities)?;
        error_bound::check(self.error_bound(index))?;
        if let FloatForm::Paths { engine, starts } = &self.form
            && let Starts::One(probabilities) = &**starts
        {
            let from = probabilities.floats();
            match index {
                Index::Shapley => return engine.explain_from(from, entities, watch),
                Index::Banzhaf => return engine.explain_at(&[HALF], from, entities, watch),
                Index::Interaction => {}
            }
        }
        self.explain_each(entities, index, watch)
    }

    fn explain_each(&self, entities: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        // A row of a large background may take minutes, so each start counts.
        let starts = match &self.form {
            FloatForm::Paths { starts, .. } => starts.len(),
            FloatForm::Vertices(_) | FloatForm::Empirical => 1,
        };
        let meter = Meter::new(watch, entities.rows() as u64 * starts as u64);
        let one = |row: usize| -> Result<Vec<f64>, ExplainError> {
            watch.check()?;
            let (entity, silent) = (entities.row(row), watch.silent());
            let mut done = 0;
            let mut tell = |more: usize| {
                done += more;
                meter.add(more as u64)
            };
            let scores = match (self.counted(&entity, index), &self.form) {
                (Some(cubes), _) => Ok(cubes.floats(&entity, index, self.game.players.len(), &silent)?),
                (None, FloatForm::Paths { engine, starts }) => match index {
                    Index::Shapley => Ok(along_paths(engine, starts, &entity, Points::Gauss, &silent, &mut tell)?),
                    Index::Banzhaf => Ok(along_paths(engine, starts, &entity, Points::Half, &silent, &mut tell)?),
                    Index::Interaction => interactions(engine, starts, &entity, &silent, &mut tell)?,
                },
                _ => {
                    let table = self.table(&entity, &silent).map_err(|error| error.with_entity(|_| row))?;
                    silent.check()?;
                    table.values_of(index).map(|scores| self.all_players(index, scores))
                }
            };
            // Starts from which nothing moves took no time.
            if done < starts {
                meter.add((starts - done) as u64)?;
            }
            scores.map_err(|problem| ExplainError::Entity { entity: row, problem })
        };
        let rows: Vec<Vec<f64>> = match entities.rows() {
            0 => Vec::new(),
            1 => vec![one(0)?],
            rows => (0..rows).into_par_iter().map(one).collect::<Result<_, _>>()?,
        };
        let mut table = Scores::empty(index.width(self.game.players.len()), false);
        for (row, scores) in rows.iter().enumerate() {
            table.push(self.game.labels.evaluate(&entities.row(row))?, self.base_value, scores);
        }
        if index == Index::Shapley {
            check_sums(&table)?;
        }
        Ok(table)
    }

    /// The cubes, where they are made for what is asked, and counting on them is cheaper than sweeps.
    fn counted(&self, entity: &[bool], index: Index) -> Option<&Cubes> {
        let cubes = self.cubes.as_ref().filter(|_| index != Index::Interaction)?;
        match &self.form {
            FloatForm::Paths { engine, .. } => cubes.is_cheaper(entity, engine.tape.nodes()).then_some(cubes),
            _ => Some(cubes),
        }
    }

    /// v of all sets of the players that matter.
    fn table(&self, entity: &[bool], watch: &Watch<'_>) -> Result<SubsetTable<f64>, ExplainError> {
        match (&self.form, &self.game.form) {
            (FloatForm::Vertices(vertices), _) => {
                Ok(SubsetTable::new(vertices.playing.len(), vertices.of_all_sets(entity, watch)?))
            }
            (FloatForm::Empirical, Form::Empirical { sample, labels }) => {
                let [agreeing, positive] = agreements(&self.game.players, sample, labels, entity);
                let mean =
                    |(&all, &ones): (&u64, &u64)| if all > 0 { ones as f64 / all as f64 } else { self.base_value };
                let mut values: Vec<f64> = agreeing.iter().zip(&positive).map(mean).collect();
                *values.last_mut().expect("at least the empty set") =
                    f64::from(u8::from(self.game.labels.evaluate(entity)?));
                Ok(SubsetTable::new(self.game.players.len(), values))
            }
            _ => unreachable!("paths have no table"),
        }
    }

    /// Zeros for the players that do not matter.
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

/// The scores of some players, or their pairs, among those of all.
pub(super) fn spread<T: Clone>(index: Index, some: &[usize], all: usize, scores: Vec<T>, zero: T) -> Vec<T> {
    match index {
        Index::Shapley | Index::Banzhaf => {
            let mut spread = vec![zero; all];
            some.iter().zip(scores).for_each(|(&player, score)| spread[player] = score);
            spread
        }
        Index::Interaction => {
            let mut spread = vec![zero; all * all.saturating_sub(1) / 2];
            for ((i, j), score) in pairs(some.len()).zip(scores) {
                spread[pair_place(all, some[i], some[j])] = score;
            }
            spread
        }
    }
}

/// The place of the pair i < j among all pairs.
pub(super) fn pair_place(players: usize, i: usize, j: usize) -> usize {
    i * (2 * players - i - 1) / 2 + j - i - 1
}

/// The middle of the path, where every player is in half of the coalitions.
const HALF: Point = Point { at: 0.5, weight: 1.0 };

#[derive(Clone, Copy)]
enum Points {
    Gauss,
    Half,
}

/// F at the weights of a start.
fn value_at_start(engine: &FastEngine, starts: &Starts, start: usize) -> f64 {
    if let Some(value) = engine.tape.constant() {
        return f64::from(u8::from(value));
    }
    let still = [Point { at: 0.0, weight: 0.0 }];
    let path = |_: usize, place: usize| (starts.float(start, engine.tape.players[place].index()), 0.0);
    let (tape, watch) = (&engine.tape, Watch::unlimited());
    let values = engine.with_workspace(|workspace| workspace.integrate(engine.arch, tape, &still, 1, path, &watch));
    values.expect("nothing stops this")[lane_of_last(1, 1, 0)]
}

/// Where a start's path leads from, and how far, for each variable of the tape; and how many players move.
struct StartPath {
    share: f64,
    path: Vec<(f64, f64)>,
    moving: usize,
}

/// The paths from all starts from which something moves, those of few moving players first.
fn start_paths(engine: &FastEngine, starts: &Starts, entity: &[bool]) -> Vec<StartPath> {
    let mut paths: Vec<StartPath> = (0..starts.len())
        .map(|start| {
            let path: Vec<(f64, f64)> = engine
                .tape
                .players
                .iter()
                .map(|var| {
                    let from = starts.float(start, var.index());
                    (from, f64::from(u8::from(entity[var.index()])) - from)
                })
                .collect();
            let moved = path.iter().zip(&engine.player_of).filter(|((_, by), _)| *by != 0.0).map(|(_, &player)| player);
            let moving = count_distinct(moved, engine.width);
            StartPath { share: starts.share(start), path, moving }
        })
        .filter(|path| path.moving > 0)
        .collect();
    paths.sort_by_key(|path| path.moving);
    paths
}

/// Takes how many more starts are done.
type Tell<'t> = dyn FnMut(usize) -> Result<(), Stopped> + 't;

/// Shapley or Banzhaf values: the lanes are starts.
fn along_paths(
    engine: &FastEngine,
    starts: &Starts,
    entity: &[bool],
    points: Points,
    watch: &Watch<'_>,
    tell: &mut Tell<'_>,
) -> Result<Vec<f64>, Stopped> {
    let mut scores = vec![0.0; engine.width];
    if engine.tape.constant().is_some() {
        return Ok(scores);
    }
    let mut part = vec![0.0; engine.width];
    for (number, block) in start_paths(engine, starts, entity).chunks(LANES).enumerate() {
        watch.check()?;
        if number % (BLOCK / LANES) == 0 {
            scores.iter_mut().zip(&mut part).for_each(|(score, part)| *score += std::mem::take(part));
        }
        let gauss;
        let points = match points {
            Points::Gauss => {
                gauss = engine.rule(block[block.len() - 1].moving.div_ceil(2));
                &gauss[..]
            }
            Points::Half => &[HALF],
        };
        engine.with_workspace(|workspace| {
            let path = |row: usize, var: usize| block[row].path[var];
            workspace.integrate(engine.arch, &engine.tape, points, block.len(), path, watch)?;
            for (row, StartPath { share, path, .. }) in block.iter().enumerate() {
                for (var, &player) in engine.player_of.iter().enumerate() {
                    part[player] += share * path[var].1 * workspace.integral(row, var);
                }
            }
            Ok::<(), Stopped>(())
        })?;
        tell(block.len())?;
    }
    scores.iter_mut().zip(part).for_each(|(score, part)| *score += part);
    Ok(scores)
}

/// The interactions of all pairs: the lanes are players that are in, or out.
fn interactions(
    engine: &FastEngine,
    starts: &Starts,
    entity: &[bool],
    watch: &Watch<'_>,
    tell: &mut Tell<'_>,
) -> Result<Result<Vec<f64>, EntityProblem>, Stopped> {
    let players = engine.width;
    let mut scores = vec![0.0; players * players.saturating_sub(1) / 2];
    if engine.tape.constant().is_some() {
        return Ok(Ok(scores));
    }
    // What each player's contribution gains between coming first and coming last.
    let mut gains = vec![0.0; players];
    for StartPath { share, path, moving } in start_paths(engine, starts, entity) {
        engine.with_workspace(|workspace| {
            for (at, sign) in [(0.0, -1.0), (1.0, 1.0)] {
                let end = [Point { at, weight: 1.0 }];
                workspace.integrate(engine.arch, &engine.tape, &end, 1, |_, var| path[var], watch)?;
                for (var, &player) in engine.player_of.iter().enumerate() {
                    gains[player] += sign * share * path[var].1 * workspace.integral(0, var);
                }
            }
            Ok::<(), Stopped>(())
        })?;
        let mut movers: Vec<usize> =
            engine.player_of.iter().zip(&path).filter(|(_, (_, by))| *by != 0.0).map(|(&player, _)| player).collect();
        movers.sort_unstable();
        movers.dedup();
        let points = engine.rule((moving - 1).div_ceil(2).max(1));
        for block in movers.chunks(LANES / 2) {
            watch.check()?;
            engine.with_workspace(|workspace| {
                let path_of = |row: usize, var: usize| {
                    let (from, by) = path[var];
                    match engine.player_of[var] == block[row / 2] {
                        true => (from + by * (row % 2) as f64, 0.0),
                        false => (from, by),
                    }
                };
                workspace.integrate(engine.arch, &engine.tape, &points, 2 * block.len(), path_of, watch)?;
                for (row, &one) in block.iter().enumerate() {
                    for (var, &other) in engine.player_of.iter().enumerate().filter(|(_, other)| **other > one) {
                        let gain = workspace.integral(2 * row + 1, var) - workspace.integral(2 * row, var);
                        scores[pair_place(players, one, other)] += share * path[var].1 * gain;
                    }
                }
                Ok::<(), Stopped>(())
            })?;
        }
        tell(1)?;
    }
    Ok(check_gains(&scores, &gains).map(|()| scores))
}

/// The interactions of each player add up to what its contribution gains.
fn check_gains(scores: &[f64], gains: &[f64]) -> Result<(), EntityProblem> {
    let mut sums = vec![0.0; gains.len()];
    for ((i, j), score) in pairs(gains.len()).zip(scores) {
        sums[i] += score;
        sums[j] += score;
    }
    for (player, (sum, gain)) in sums.iter().zip(gains).enumerate() {
        let difference: f64 = sum - gain;
        // So that a NaN fails as well.
        if difference.abs() > Explanation::TOLERANCE || difference.is_nan() {
            let (sum, gain) = (sum.to_string(), gain.to_string());
            return Err(EntityProblem::InteractionsDoNotAddUp { player, sum, gain });
        }
    }
    Ok(())
}
