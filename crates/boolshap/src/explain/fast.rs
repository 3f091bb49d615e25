//! The default engine: all scores of an entity from sweeps over the circuit, one pair per quadrature point.
//!
//! Fix feature i to the entity's value e_i with probability t, and draw it from the population otherwise: it is 1 with
//! probability w_i(t) = t e_i + (1-t) p_i. With F(w) the expected label when the features are 1 with the probabilities w,
//!
//! ```text
//! score(i) = (e_i - p_i) * integral over t from 0 to 1 of dF/dw_i (w(t)) dt
//! ```
//!
//! (Owen, "Multilinear Extensions of Games", Management Science 18(5), 1972). F is multilinear, so the integrand is a
//! polynomial in t of a degree below the number n of features that have an influence and e_i != p_i. Gauss-Legendre
//! quadrature at ceil(n/2) points integrates it without error: the only approximation is the rounding of floats. One
//! pair of sweeps gives dF/dw_i of ALL features at a point. The two weights of a variable add up to 1, so a variable
//! that a branch does not mention contributes a factor of 1, and the circuit need not be smooth.
//!
//! Everything computed lies in [0, 1] and the quadrature weights are positive, so the error stays near 1e-15 whatever n
//! is, and `error_bound` proves a bound for the circuit at hand; a score near 0 has no relative guarantee.
//! Cost: O(|C| n / 2) for all scores of an entity.

use super::distinct_rows::DistinctRows;
use super::error_bound;
use super::lanes::LANES;
use super::path_integral::{Workspace, lane_of_last};
use super::quadrature::{Point, gauss_legendre};
use super::tape::Tape;
use super::ways::Ways;
use super::{ExplainError, Explanation, Index, Probabilities};
use crate::circuit::{Circuit, CircuitEvaluator, check};
use crate::data::{Bits, Numbers, Scores};
use crate::lit::{Meter, Var, Watch};
use pulp::Arch;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// SHAP scores of any deterministic and decomposable circuit (engine `fast`).
///
/// ```
/// use boolshap::circuit::read_nnf;
/// use boolshap::data::Bits;
/// use boolshap::explain::{FastEngine, Probabilities};
/// use boolshap::lit::Watch;
/// // x1 or (not x1 and x2)
/// let circuit = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let engine = FastEngine::new(&circuit)?;
/// let mut entities = Bits::new(2);
/// entities.push(&[true, false]);
/// let table = engine.explain(&entities, &Probabilities::uniform(2), &Watch::unlimited())?;
/// assert!((table.base_value(0) - 0.75).abs() < 1e-15 && table.prediction(0) == 1);
/// assert!((table.scores(0)[0] - 0.375).abs() < 1e-15 && (table.scores(0)[1] + 0.125).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FastEngine {
    /// For the predictions, which must be independent of the tape.
    pub(super) circuit: Arc<Circuit>,
    pub(super) tape: Tape,
    /// The quantities that determine the error bound for one start.
    bound: error_bound::Paths,
    /// The path of each variable of the tape.
    pub(super) ways: Ways,
    /// How many scores there are.
    pub(super) width: usize,
    /// The features that matter.
    features: Vec<Var>,
    pub(super) arch: Arch,
    merge_rows: bool,
    workspaces: Mutex<Vec<Workspace>>,
    rules: Mutex<HashMap<usize, Arc<[Point]>>>,
}

impl FastEngine {
    /// Prepares a circuit. Fails, naming the node, if it is not decomposable. Determinism is assumed; `explain` checks
    /// that the scores add up.
    pub fn new(circuit: &Circuit) -> Result<Self, ExplainError> {
        check::decomposability(circuit).map_err(ExplainError::NotDecomposable)?;
        Ok(Self::with_tape(circuit, Tape::new(circuit, |_| false)))
    }

    pub(super) fn with_tape(circuit: &Circuit, tape: Tape) -> Self {
        let ways = Ways::of_features(tape.players.iter().map(|var| var.index()), circuit.variables());
        Self::of_ways(&Arc::new(circuit.clone()), tape, ways)
    }

    /// With this circuit for the predictions, and variables that follow these paths.
    pub(super) fn of_ways(circuit: &Arc<Circuit>, tape: Tape, ways: Ways) -> Self {
        let width = ways.width();
        FastEngine {
            circuit: circuit.clone(),
            bound: error_bound::Paths::new(&tape, &ways.player_of, width),
            tape,
            features: ways.features().into_iter().map(Var::new).collect(),
            ways,
            width,
            arch: Arch::new(),
            merge_rows: true,
            workspaces: Mutex::default(),
            rules: Mutex::default(),
        }
    }

    /// Merges equal rows (default: true). The scores are the same to the last bit.
    pub fn merge_rows(self, merge: bool) -> Self {
        FastEngine { merge_rows: merge, ..self }
    }

    /// Uses these registers instead of the best available.
    #[cfg(test)]
    pub(super) fn on(self, arch: Arch) -> Self {
        FastEngine { arch, ..self }
    }

    /// Pretends that the sweeps have these rounding errors.
    #[cfg(test)]
    pub(super) fn with_roundings(self, roundings: error_bound::SweepRoundings) -> Self {
        FastEngine { bound: error_bound::Paths { sweep: roundings, ..self.bound }, ..self }
    }

    /// How many nodes a sweep visits: those of the circuit after folding gates into decisions.
    pub fn nodes(&self) -> usize {
        self.tape.nodes()
    }

    /// The most pairs of sweeps that an entity takes: half the number of features with an influence.
    pub fn points(&self) -> usize {
        self.movers().div_ceil(2)
    }

    /// How many variables move.
    pub(super) fn movers(&self) -> usize {
        self.ways.player_of.iter().flatten().count()
    }

    /// Bounds the error of base value and scores for any probabilities and any row.
    pub fn error_bound(&self) -> f64 {
        self.error_bound_of(Index::Shapley, 1)
    }

    /// The same for an index and this many starts.
    pub(super) fn error_bound_of(&self, index: Index, starts: usize) -> f64 {
        self.bound.error_bound(index, starts)
    }

    /// The scores of these entities, on all threads of the current pool. Each row is checked to add up to the
    /// prediction of the circuit. Progress counts distinct rows.
    pub fn explain(
        &self,
        entities: &Bits,
        distribution: &Probabilities,
        watch: &Watch<'_>,
    ) -> Result<Scores, ExplainError> {
        let features = self.circuit.variables();
        if entities.features() != features {
            return Err(ExplainError::EntityLength { entity: 0, expected: features, found: entities.features() });
        }
        distribution.check(features)?;
        self.explain_from(distribution.floats(), entities, watch)
    }

    /// The Shapley values when every path starts from these weights.
    pub(super) fn explain_from(
        &self,
        weights: &[f64],
        entities: &Bits,
        watch: &Watch<'_>,
    ) -> Result<Scores, ExplainError> {
        let points = self.moved_players(entities, weights).div_ceil(2);
        let table = self.explain_at(&self.rule(points.max(1)), weights, entities, watch)?;
        check_sums(&table)?;
        Ok(table)
    }

    /// The sums over these points of the path, unchecked.
    pub(super) fn explain_at(
        &self,
        points: &[Point],
        weights: &[f64],
        entities: &Bits,
        watch: &Watch<'_>,
    ) -> Result<Scores, ExplainError> {
        watch.check()?;
        error_bound::check(self.error_bound())?;
        let rows = match self.merge_rows {
            true => DistinctRows::of(entities, &self.features),
            false => DistinctRows::all(entities.rows()),
        };
        // A base value in front of the scores of each row.
        let width = self.width + 1;
        let mut numbers = vec![0.0; rows.first.len() * width];
        let base_value = match self.tape.constant() {
            Some(value) => f64::from(u8::from(value)),
            None => self.integrate(entities, weights, points, &rows.first, &mut numbers, watch)?,
        };
        numbers.iter_mut().step_by(width).for_each(|base| *base = base_value);
        let predictions = predictions(&self.circuit, entities, &rows.first)?.into_iter().map(u32::from).collect();
        Ok(Scores::new(width, rows.kinds, predictions, Numbers::Floats(numbers)))
    }

    /// The number of players that differ from their probability in some entity: an upper bound for each single entity.
    fn moved_players(&self, entities: &Bits, probabilities: &[f64]) -> usize {
        let differs = |&feature: &usize| {
            let ones = entities.feature(feature);
            match probabilities[feature] {
                0.0 => ones.iter().any(|&word| word != 0),
                1.0 => ones.iter().map(|word| word.count_ones() as usize).sum::<usize>() < entities.rows(),
                _ => true,
            }
        };
        let moves = |place: usize| self.ways.features_of(place).iter().any(differs);
        let players = self.ways.player_of.iter().enumerate();
        let moved = players.filter_map(|(place, player)| player.filter(|_| moves(place)));
        count_distinct(moved, self.width)
    }

    /// The quadrature rule of this many points, computed once.
    pub(super) fn rule(&self, count: usize) -> Arc<[Point]> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.entry(count).or_insert_with(|| gauss_legendre(count).into()).clone()
    }

    /// Fills in the scores of these rows, each after a place for the base value, and returns the base value.
    fn integrate(
        &self,
        entities: &Bits,
        probabilities: &[f64],
        points: &[Point],
        rows: &[usize],
        scores: &mut [f64],
        watch: &Watch<'_>,
    ) -> Result<f64, ExplainError> {
        // The first block continues to the start of the path, where F is the base value.
        let mut with_base = points.to_vec();
        with_base.push(Point { at: 0.0, weight: 0.0 });
        let base = AtomicU64::new(0);
        let meter = Meter::new(watch, rows.len() as u64);
        let (width, silent) = (self.width + 1, watch.silent());
        let block = |workspace: &mut Workspace, index: usize, rows: &[usize], scores: &mut [f64]| {
            watch.check()?;
            let points = if index == 0 { &with_base } else { points };
            let path = |row: usize, place: usize| {
                self.ways.floats(place, |feature| probabilities[feature], |feature| entities.get(rows[row], feature))
            };
            let last = workspace.integrate(self.arch, &self.tape, points, rows.len(), path, &silent)?;
            if index == 0 {
                base.store(last[lane_of_last(points.len(), rows.len(), 0)].to_bits(), Ordering::Relaxed);
            }
            for (row, scores) in scores.chunks_exact_mut(width).enumerate() {
                for (place, player) in self.ways.player_of.iter().enumerate() {
                    let Some(player) = player else { continue };
                    // Adding to 0 turns minus zero into plain zero.
                    scores[1 + player] += path(row, place).1 * workspace.integral(row, place);
                }
            }
            meter.add(rows.len() as u64)?;
            Ok::<(), ExplainError>(())
        };
        if rows.len() <= LANES || rayon::current_num_threads() == 1 {
            self.with_workspace(|workspace| {
                let blocks = rows.chunks(LANES).zip(scores.chunks_mut(LANES * width)).enumerate();
                blocks.into_iter().try_for_each(|(index, (rows, scores))| block(workspace, index, rows, scores))
            })?;
        } else {
            let blocks = rows.par_chunks(LANES).zip(scores.par_chunks_mut(LANES * width)).enumerate();
            blocks.try_for_each(|(index, (rows, scores))| {
                self.with_workspace(|workspace| block(workspace, index, rows, scores))
            })?;
        }
        Ok(f64::from_bits(base.into_inner()))
    }

    /// Lends a free workspace.
    #[inline]
    pub(super) fn with_workspace<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let lock = || self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lock().pop();
        let mut workspace = free.unwrap_or_else(|| Workspace::new(&self.tape));
        let result = work(&mut workspace);
        lock().push(workspace);
        result
    }
}

/// The labels of these rows, by plain evaluation of the circuit.
pub(super) fn predictions(circuit: &Circuit, entities: &Bits, rows: &[usize]) -> Result<Vec<bool>, ExplainError> {
    const FEW: usize = 8;
    if rows.len() <= FEW {
        return rows.iter().map(|&row| Ok(circuit.evaluate(&entities.row(row))?)).collect();
    }
    // An evaluator takes a while to make, so each does many words.
    const ROWS: usize = 64 * 64;
    let labels = rows.par_chunks(ROWS).map(|rows| -> Result<Vec<bool>, ExplainError> {
        let mut evaluator = CircuitEvaluator::new(circuit);
        let mut labels = Vec::with_capacity(rows.len());
        for rows in rows.chunks(64) {
            let bit = |place: usize, feature: usize| u64::from(entities.get(rows[place], feature)) << place;
            let word = |feature| (0..rows.len()).fold(0, |word, place| word | bit(place, feature));
            // Consecutive rows, as where all are distinct, are already stored as words.
            let is_block = rows[0] % 64 == 0 && rows[rows.len() - 1] - rows[0] == rows.len() - 1;
            let inputs: Vec<u64> = match is_block {
                true => entities.block(rows[0] / 64),
                false => (0..circuit.variables()).map(word).collect(),
            };
            let word = evaluator.words(&inputs)?;
            labels.extend((0..rows.len()).map(|place| word >> place & 1 == 1));
        }
        Ok(labels)
    });
    Ok(labels.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Fails unless base value and scores of every row add up to the prediction (the efficiency axiom).
pub(super) fn check_sums(table: &Scores) -> Result<(), ExplainError> {
    table.each_distinct(|row| {
        let sum: f64 = table.scores(row).iter().sum();
        Explanation::check_sum_of(row, table.base_value(row), sum, table.prediction(row) == 1)
    })
}

/// The number of distinct numbers; all are below the bound.
pub(super) fn count_distinct(numbers: impl Iterator<Item = usize>, bound: usize) -> usize {
    let mut seen = vec![false; bound];
    numbers.filter(|&number| !std::mem::replace(&mut seen[number], true)).count()
}
