//! Scores of a value: each part is explained separately, and the scores are added up like the parts.
//!
//! SHAP is linear in the explained function, so the scores of `constant + sum of weight * part` are the weighted sums
//! of the parts' scores. Several values (the scores of all classes) share their parts, so they are explained together,
//! and a difference of two is one more weighted sum. The cost of a part depends on its kind:
//!
//! - a **feature**: its value less the expected one;
//! - a **gate** with weights +-1 and features as players, uniform or against background rows: two numbers from
//!   `gate_forms`, by popcounts over packed rows, cached in tables;
//! - any other **gate**: the distribution of its sum along the path, `gate_sums`;
//! - a **diagram** with numbers at its leaves, such as a tree: `value_diagrams`;
//! - a **circuit**: the games of labels, [`FloatGame`] and [`ExactGame`].
//!
//! For conditional distributions (a sample, or given a formula), v of every set of players is needed, and the value is
//! tabulated as a whole: `conditional_values`.
//!
//! Every row is checked: base value and scores add up to the value, exactly in fractions, and in floats to 1e-9 of the
//! value's size, which is that of the constant and all weights. Limits on error bounds are relative to that size too,
//! since a value, unlike a label, can be of any size; the errors themselves are absolute.

use super::conditional_values::ConditionalValues;
use super::error_bound::{self, GUARANTEED};
use super::gate_chances::Chances;
use super::gate_sums::Scalar;
use super::starts::{Sample, Starts};
use super::subsets::Value;
use super::value_diagrams::DiagramPart;
use super::value_gates::Gates;
use super::{
    Distribution, Engine, EntityProblem, ExactGame, ExplainError, Explanation, FloatGame, Game, Index, Players,
};
use crate::circuit::{NamedCircuit, PackedGates, Part, ValueEvaluator, Values, WeightedSum, WholeSum};
use crate::data::{Bits, Numbers, Scores};
use crate::lit::{Meter, Watch};
use dashu_ratio::RBig;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How many rows are explained at a time, so that the scores of all their parts fit into memory.
const TOGETHER: usize = 64;

/// The game of values, for floats and fractions.
pub struct ValueGame {
    named: Arc<NamedCircuit>,
    values: Arc<Values>,
    players: Players,
    starts: Option<Starts>,
    gates: Gates,
    circuits: Vec<CircuitPart>,
    diagrams: Vec<DiagramPart>,
    /// For conditional distributions; then the four above are empty.
    conditional: Option<ConditionalValues>,
    /// The expected value of each part when nothing is known.
    base_values: Vec<f64>,
    exact_base_values: OnceLock<Vec<RBig>>,
    /// The gates in the form that an evaluator uses, cached from the first rows on.
    packed: OnceLock<Arc<PackedGates>>,
}

/// A part that is a circuit.
struct CircuitPart {
    part: usize,
    game: Game,
    floats: FloatGame,
    fractions: OnceLock<ExactGame>,
}

/// The range of sums wanted for a row, among those given.
pub type WantedSums<'a> = dyn Fn(usize) -> Range<usize> + Sync + 'a;

impl ValueGame {
    /// The game of the values that a file holds. Fails if it holds none, or if its parts cannot be explained this way.
    pub fn new(
        named: Arc<NamedCircuit>,
        players: Players,
        distribution: &Distribution,
        watch: &Watch<'_>,
    ) -> Result<Self, ExplainError> {
        let values = named.values.clone().ok_or(ExplainError::NoValues)?;
        let features = named.features.len();
        if players.feature_count() != features {
            return Err(ExplainError::PlayersLength { expected: features, found: players.feature_count() });
        }
        let starts = match distribution {
            Distribution::Product(probabilities) => {
                probabilities.check(features)?;
                Some(Starts::product(probabilities, &players)?)
            }
            Distribution::Background(rows) => {
                super::game::check_width(rows, features)?;
                players.check_rows(rows)?;
                Some(Starts::Rows(Sample::new(rows, "background")?))
            }
            Distribution::Empirical(_) | Distribution::Constrained(..) => None,
        };
        let conditional = ConditionalValues::new(&named, &values, &players, distribution, watch)?;
        let parts = if conditional.is_some() { &[][..] } else { values.parts() };
        let mut circuits = Vec::new();
        for (part, kind) in parts.iter().enumerate() {
            let Part::Circuit(root) = kind else { continue };
            let circuit = named.circuit.with_root(*root)?.compacted()?;
            let game = Game::new(circuit, players.clone(), distribution.clone(), watch)?;
            circuits.push(CircuitPart { part, floats: FloatGame::new(&game), game, fractions: OnceLock::new() });
        }
        let diagram = |(part, kind): (usize, &Part)| match kind {
            Part::Diagram(diagram) => Some(DiagramPart::new(part, diagram, &players)),
            _ => None,
        };
        let diagrams = parts.iter().enumerate().filter_map(diagram).collect::<Result<Vec<_>, _>>()?;
        let gates = Gates::new(parts, &players, starts.as_ref())?;
        let mut base_values = vec![0.0; values.parts().len()];
        circuits.iter().for_each(|circuit| base_values[circuit.part] = circuit.floats.base_value());
        if let Some(starts) = &starts {
            base_values_of(values.parts(), &gates, &diagrams, starts, &mut base_values);
        }
        Ok(ValueGame {
            named,
            values,
            players,
            starts,
            gates,
            circuits,
            diagrams,
            conditional,
            base_values,
            exact_base_values: OnceLock::new(),
            packed: OnceLock::new(),
        })
    }

    /// The values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The expected value of a sum when nothing is known.
    pub fn base_value(&self, sum: &WeightedSum) -> f64 {
        if let Some(conditional) = &self.conditional {
            return conditional.base_value(sum);
        }
        add_up(&float(&sum.constant), sum.weights.iter().map(float).zip(self.base_values.iter().copied()))
    }

    /// Bounds the error of base value and scores of a sum; see the module.
    pub fn error_bound(&self, sum: &WeightedSum, index: Index, exact: bool) -> f64 {
        if exact { 0.0 } else { self.bound_of(sum, index, &self.part_bounds(index)) }
    }

    /// Bounds the error of the scores of each part.
    fn part_bounds(&self, index: Index) -> Vec<f64> {
        let starts = self.starts.as_ref().map_or(1, Starts::len);
        let mut bounds = vec![0.0; self.values.parts().len()];
        self.gates.error_bounds(index, &mut bounds);
        self.diagrams.iter().for_each(|diagram| bounds[diagram.part] = diagram.error_bound(index, starts));
        self.circuits.iter().for_each(|circuit| bounds[circuit.part] = circuit.floats.error_bound(index));
        bounds
    }

    fn bound_of(&self, sum: &WeightedSum, index: Index, bounds: &[f64]) -> f64 {
        if let Some(conditional) = &self.conditional {
            return conditional.error_bound(sum, index);
        }
        // A weight and its product are rounded, and so is every addition; an interaction is at most 2.
        let adding = 2.0 * error_bound::in_all(sum.weights.len() as f64 + 3.0);
        let size = |number: &RBig| float(number).abs();
        let parts = sum.weights.iter().zip(bounds).map(|(weight, bound)| size(weight) * (bound + adding));
        1.01 * (parts.sum::<f64>() + size(&sum.constant) * adding)
    }

    /// The approximate number of steps per row.
    pub fn visits(&self, index: Index) -> u128 {
        if let Some(conditional) = &self.conditional {
            return conditional.visits();
        }
        let circuits: u128 = self.circuits.iter().map(|circuit| circuit.floats.visits(index)).sum();
        let starts = self.starts.as_ref().map_or(1, Starts::len);
        let diagrams: u128 = self.diagrams.iter().map(|diagram| diagram.steps(index, starts)).sum();
        circuits + diagrams + self.gates.steps(index)
    }

    /// The scores of rows: for each row those of the wanted sums, side by side, and the values of these sums. The
    /// predictions are stored as given.
    pub fn explain(
        &self,
        rows: &Bits,
        sums: &[WeightedSum],
        wanted: &WantedSums<'_>,
        predictions: Vec<u32>,
        ask: (Index, bool),
        watch: &Watch<'_>,
    ) -> Result<Scores, ExplainError> {
        let (index, exact) = ask;
        super::game::check_width(rows, self.named.features.len())?;
        self.players.check_rows(rows)?;
        match &self.conditional {
            Some(conditional) => conditional.check(rows, index)?,
            None if matches!(index, Index::Shapley | Index::Banzhaf | Index::Interaction) => {}
            None => return Err(ExplainError::IndexOfScores { index: index.name() }),
        }
        let sizes = if exact { vec![0.0; sums.len()] } else { self.precise_sizes(sums, index)? };
        let evaluator = match self.packed.get() {
            Some(gates) => ValueEvaluator::with_gates(&self.named, gates.clone()),
            None => ValueEvaluator::new(&self.named),
        };
        let evaluator = evaluator.ok_or(ExplainError::NoValues)?;
        self.packed.get_or_init(|| evaluator.gates());
        let whole: Vec<WholeSum> = sums.iter().map(WholeSum::of).collect();
        let meter = Meter::new(watch, rows.rows() as u64);
        let (mut numbers, mut values) = match exact {
            true => (Numbers::Exact(Vec::new()), Numbers::Exact(Vec::new())),
            false => (Numbers::Floats(Vec::new()), Numbers::Floats(Vec::new())),
        };
        for first in (0..rows.rows()).step_by(TOGETHER) {
            let chunk: Vec<usize> = (first..rows.rows().min(first + TOGETHER)).collect();
            let chunk_rows = rows.select(&chunk);
            let parts = evaluator.parts(&chunk_rows, &watch.silent())?;
            let work = Chunk {
                game: self,
                rows: &chunk_rows,
                sums,
                sizes: &sizes,
                whole: &whole,
                first,
                wanted,
                index,
                parts: &parts,
            };
            match (&mut numbers, &mut values) {
                (Numbers::Floats(numbers), Numbers::Floats(values)) => {
                    work.add::<f64>(numbers, values, &meter, watch)?;
                }
                (Numbers::Exact(numbers), Numbers::Exact(values)) => {
                    work.add::<RBig>(numbers, values, &meter, watch)?;
                }
                _ => unreachable!("both are of one kind"),
            }
        }
        let groups = (0..rows.rows()).next().map_or(1, |row| wanted(row).len());
        let width = groups * (1 + index.width(self.players.len()));
        Ok(Scores::of_values(width, predictions, numbers, values))
    }

    /// The sizes of sums; fails if floats could be too inaccurate.
    fn precise_sizes(&self, sums: &[WeightedSum], index: Index) -> Result<Vec<f64>, ExplainError> {
        let bounds = self.part_bounds(index);
        let size_of = |sum: &WeightedSum| {
            let (bound, size) = (self.bound_of(sum, index, &bounds), float(&sum.size()));
            match bound > GUARANTEED * size || !size.is_finite() {
                true => Err(ExplainError::Imprecise { bound }),
                false => Ok(size),
            }
        };
        sums.iter().map(size_of).collect()
    }

    fn exact_base_values(&self) -> Result<&[RBig], ExplainError> {
        if let Some(known) = self.exact_base_values.get() {
            return Ok(known);
        }
        let mut exact = vec![RBig::ZERO; self.values.parts().len()];
        if let Some(starts) = &self.starts {
            base_values_of(self.values.parts(), &self.gates, &self.diagrams, starts, &mut exact);
        }
        for circuit in &self.circuits {
            exact[circuit.part] = circuit.fractions()?.base_value();
        }
        Ok(self.exact_base_values.get_or_init(|| exact))
    }
}

impl CircuitPart {
    fn fractions(&self) -> Result<&ExactGame, ExplainError> {
        if let Some(known) = self.fractions.get() {
            return Ok(known);
        }
        let made = ExactGame::new(&self.game)?;
        Ok(self.fractions.get_or_init(|| made))
    }
}

/// Some rows, and the request for them.
struct Chunk<'a> {
    game: &'a ValueGame,
    rows: &'a Bits,
    sums: &'a [WeightedSum],
    /// The largest possible absolute value of each sum.
    sizes: &'a [f64],
    whole: &'a [WholeSum],
    /// The index of the first row.
    first: usize,
    wanted: &'a WantedSums<'a>,
    index: Index,
    /// For each row, the values of the parts.
    parts: &'a [Vec<f64>],
}

impl Chunk<'_> {
    /// Adds the scores of all rows, and the values of their sums.
    fn add<T: ValueNumber>(
        &self,
        numbers: &mut Vec<T>,
        values: &mut Vec<T>,
        meter: &Meter<'_>,
        watch: &Watch<'_>,
    ) -> Result<(), ExplainError> {
        let (game, silent) = (self.game, watch.silent());
        let tables: Vec<(usize, Scores)> = (game.circuits.iter())
            .map(|circuit| Ok((circuit.part, T::of_circuit(circuit, self.rows, self.index, &silent)?)))
            .collect::<Result<_, ExplainError>>()?;
        let weights: Vec<Vec<T>> = self.sums.iter().map(|sum| sum.weights.iter().map(T::rounded).collect()).collect();
        let bases: Vec<T> = self.sums.iter().map(|sum| T::base_of(game, sum)).collect::<Result<_, _>>()?;
        let of_row = |row: usize| -> Result<Vec<(T, Vec<T>)>, ExplainError> {
            silent.check()?;
            let wanted = (self.wanted)(self.first + row);
            let scores = match &game.conditional {
                Some(conditional) => {
                    let of_sum = |sum: usize| (&self.sums[sum], self.whole[sum].value(&self.parts[row]));
                    let asked: Vec<(&WeightedSum, RBig)> = wanted.clone().map(of_sum).collect();
                    T::conditional(conditional, &self.rows.row(row), &asked, self.index, &silent)
                        .map_err(|error| error.with_entity(|_| self.first + row))?
                }
                None => self.by_parts(row, wanted.clone(), &weights, &tables, &silent)?,
            };
            let mut found = Vec::with_capacity(scores.len());
            for (own, sum) in scores.into_iter().zip(wanted) {
                let value = self.whole[sum].value(&self.parts[row]);
                if self.index.is_efficient() {
                    T::check_sum(&bases[sum], &own, &value, self.sizes[sum], self.first + row)?;
                }
                found.push((T::rounded(&value), std::iter::once(bases[sum].clone()).chain(own).collect()));
            }
            meter.add(1)?;
            Ok(found)
        };
        let rows: Vec<Result<_, ExplainError>> = (0..self.rows.rows()).into_par_iter().map(of_row).collect();
        for row in rows {
            for (value, own) in row? {
                values.push(value);
                numbers.extend(own);
            }
        }
        Ok(())
    }

    /// The scores of a row, from those of all parts.
    fn by_parts<T: ValueNumber>(
        &self,
        row: usize,
        wanted: Range<usize>,
        weights: &[Vec<T>],
        tables: &[(usize, Scores)],
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<T>>, ExplainError> {
        let game = self.game;
        let mut scores = game.gates.scores(self.rows, row, self.index, &weights[wanted.clone()], watch)?;
        let entity = self.rows.row(row);
        for diagram in &game.diagrams {
            let Some(starts) = &game.starts else { break };
            let found = diagram.scores::<T>(&entity, starts, self.index, &game.gates.rules, watch)?;
            for (own, sum) in scores.iter_mut().zip(wanted.clone()) {
                let weight = &weights[sum][diagram.part];
                own.iter_mut().zip(&found).for_each(|(sum, score)| *sum = sum.plus(&weight.times(score)));
            }
        }
        for (part, table) in tables {
            for (own, sum) in scores.iter_mut().zip(wanted.clone()) {
                T::add_row(own, table, row, &weights[sum][*part]);
            }
        }
        Ok(scores)
    }
}

/// Floats or fractions, with the operations that differ between them.
trait ValueNumber: Chances + Value {
    fn rounded(exact: &RBig) -> Self;
    fn base_of(game: &ValueGame, sum: &WeightedSum) -> Result<Self, ExplainError>;
    fn of_circuit(circuit: &CircuitPart, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError>;
    fn conditional(
        conditional: &ConditionalValues,
        entity: &[bool],
        sums: &[(&WeightedSum, RBig)],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<Self>>, ExplainError>;
    /// Adds a row of scores, weighted.
    fn add_row(own: &mut [Self], table: &Scores, row: usize, weight: &Self);
    fn check_sum(base: &Self, scores: &[Self], value: &RBig, size: f64, entity: usize) -> Result<(), ExplainError>;
}

impl ValueNumber for f64 {
    fn rounded(exact: &RBig) -> Self {
        float(exact)
    }

    fn base_of(game: &ValueGame, sum: &WeightedSum) -> Result<Self, ExplainError> {
        Ok(game.base_value(sum))
    }

    fn of_circuit(circuit: &CircuitPart, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        circuit.floats.explain(rows, index, watch)
    }

    fn conditional(
        conditional: &ConditionalValues,
        entity: &[bool],
        sums: &[(&WeightedSum, RBig)],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<Self>>, ExplainError> {
        conditional.floats(entity, sums, index, watch)
    }

    fn add_row(own: &mut [Self], table: &Scores, row: usize, weight: &Self) {
        own.iter_mut().zip(table.scores(row)).for_each(|(sum, score)| *sum += weight * score);
    }

    fn check_sum(base: &Self, scores: &[Self], value: &RBig, size: f64, entity: usize) -> Result<(), ExplainError> {
        let all: f64 = scores.iter().sum();
        // So that a NaN fails as well.
        if (base + all - float(value)).abs() <= Explanation::TOLERANCE * size {
            return Ok(());
        }
        Err(does_not_add_up(entity, base.to_string(), all.to_string(), float(value).to_string()))
    }
}

impl ValueNumber for RBig {
    fn rounded(exact: &RBig) -> Self {
        exact.clone()
    }

    fn base_of(game: &ValueGame, sum: &WeightedSum) -> Result<Self, ExplainError> {
        if let Some(conditional) = &game.conditional {
            return Ok(conditional.exact_base_value(sum));
        }
        Ok(add_up(&sum.constant, sum.weights.iter().cloned().zip(game.exact_base_values()?.iter().cloned())))
    }

    fn of_circuit(circuit: &CircuitPart, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        Engine::explain(circuit.fractions()?, rows, index, watch)
    }

    fn conditional(
        conditional: &ConditionalValues,
        entity: &[bool],
        sums: &[(&WeightedSum, RBig)],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<Self>>, ExplainError> {
        conditional.fractions(entity, sums, index, watch)
    }

    fn add_row(own: &mut [Self], table: &Scores, row: usize, weight: &Self) {
        let scores = table.fractions(row).expect("a table of fractions");
        own.iter_mut().zip(&scores[1..]).for_each(|(sum, score)| *sum += weight * score);
    }

    fn check_sum(base: &Self, scores: &[Self], value: &RBig, _: f64, entity: usize) -> Result<(), ExplainError> {
        let all = scores.iter().fold(RBig::ZERO, |sum, score| sum + score);
        match base + &all == *value {
            true => Ok(()),
            false => Err(does_not_add_up(entity, base.to_string(), all.to_string(), value.to_string())),
        }
    }
}

/// The expected values of the parts that are not circuits.
fn base_values_of<T: Chances + Value>(
    parts: &[Part],
    gates: &Gates,
    diagrams: &[DiagramPart],
    starts: &Starts,
    base_values: &mut [T],
) {
    diagrams.iter().for_each(|diagram| base_values[diagram.part] = diagram.base_value(starts));
    for (number, part) in parts.iter().enumerate() {
        match part {
            Part::Feature(var) => {
                let mean = |start: usize| T::share(starts, start).times(&T::both(starts, start, var.index())[0]);
                base_values[number] = (0..starts.len()).map(mean).fold(Scalar::zero(), |sum: T, part| sum.plus(&part));
            }
            Part::Gate(_) => base_values[number] = gates.base_value(number, starts),
            Part::Circuit(_) | Part::Diagram(_) => {}
        }
    }
}

fn add_up<T: Scalar>(constant: &T, terms: impl Iterator<Item = (T, T)>) -> T {
    terms.fold(constant.clone(), |sum, (weight, value)| sum.plus(&weight.times(&value)))
}

fn float(number: &RBig) -> f64 {
    // Most weights are small whole numbers, which need no division.
    let whole = number.denominator().is_one().then(|| i32::try_from(number.numerator()).ok()).flatten();
    whole.map_or_else(|| number.to_f64().value(), f64::from)
}

fn does_not_add_up(entity: usize, base: String, sum: String, prediction: String) -> ExplainError {
    ExplainError::Entity { entity, problem: EntityProblem::DoesNotAddUp { base, sum, prediction } }
}
