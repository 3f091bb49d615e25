//! Values given what is known: the mean over the rows of a sample that agree, or the expectation given a formula.
//!
//! A value is a weighted sum of parts, and so is v of every set. But all sets are needed anyway, so the value itself is
//! tabulated once, for every row of the sample or every input, and `conditional` computes v. The parts are kept, packed
//! 64 bits to a word, so that any sum of them can be requested.
//!
//! Floats are divided by the size of the value, so that they are in [-1, 1]. The values of all sets, their indices and
//! bounds are those of `subsets` and `error_bound` for numbers of twice the range.

use super::conditional::{MAX_INPUTS, Population, Quantity, common_denominator, times_scale};
use super::error_bound;
use super::game::{check_players, check_width};
use super::game_floats::spread;
use super::starts::{Sample, Starts};
use super::subsets::{SubsetTable, Value};
use super::{Distribution, EntityProblem, ExplainError, Index, Players};
use crate::circuit::{NamedCircuit, Part, ValueEvaluator, Values, WeightedSum};
use crate::data::Bits;
use crate::lit::{Remedy, Var, Watch};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::sync::{Arc, Mutex, PoisonError};

/// How many rows are evaluated at a time.
const TOGETHER: usize = 1 << 13;

/// The values of all rows or inputs, in terms of their parts.
pub(super) struct ConditionalValues {
    players: Players,
    playing: Vec<usize>,
    population: Population,
    parts: Vec<PartColumn>,
    floats: Known<FloatColumn>,
    whole: Known<WholeColumn>,
}

/// The values of a part on every row or input.
enum PartColumn {
    Bits(Vec<u64>),
    Numbers(Vec<f64>),
}

/// A cache of columns.
type Known<T> = Mutex<Vec<(WeightedSum, Arc<T>)>>;

/// A sum on every row, divided by its size.
struct FloatColumn {
    numbers: Vec<f64>,
    size: f64,
    /// The expectation when nothing is known.
    base: f64,
}

/// A sum on every row, times the scale.
struct WholeColumn {
    numbers: Vec<IBig>,
    scale: UBig,
    base: RBig,
}

impl ConditionalValues {
    /// `None` for distributions that are not conditional, or if a circuit has too many inputs to tabulate.
    pub(super) fn new(
        named: &NamedCircuit,
        values: &Values,
        players: &Players,
        distribution: &Distribution,
        watch: &Watch<'_>,
    ) -> Result<Option<Self>, ExplainError> {
        let features = named.features.len();
        let population = match distribution {
            Distribution::Product(_) | Distribution::Background(_) => return Ok(None),
            Distribution::Empirical(rows) => {
                check_width(rows, features)?;
                players.check_rows(rows)?;
                let why = "an expectation given what is known has no shorter way";
                check_players(players.len(), why, Remedy::FewerPlayersOrBackground)?;
                Population::Sample(Sample::new(rows, "empirical distribution")?)
            }
            Distribution::Constrained(probabilities, formula) => {
                probabilities.check(features)?;
                if formula.variables() > features {
                    let found = formula.variables();
                    return Err(ExplainError::ConstraintVariables { expected: features, found });
                }
                let mut mentioned: Vec<usize> = formula.mentioned().iter().map(|var| var.index()).collect();
                for part in values.parts() {
                    mentioned.extend(features_of(named, part)?);
                }
                mentioned.sort_unstable();
                mentioned.dedup();
                let vars: Vec<Var> = mentioned.iter().copied().map(Var::new).collect();
                let why = "an expectation given a constraint has no shorter way";
                check_players(super::game::playing(players, &vars).len(), why, Remedy::FewerPlayers)?;
                let starts = Starts::product(probabilities, players)?;
                match Population::inputs(players, &mentioned, &starts, formula)? {
                    Some(inputs) => inputs,
                    None if values.parts().iter().all(|part| matches!(part, Part::Circuit(_))) => return Ok(None),
                    None => return Err(ExplainError::TooManyInputs { limit: MAX_INPUTS }),
                }
            }
        };
        let parts = part_columns(named, values, &population, watch)?;
        let (floats, whole) = Default::default();
        let playing = population.playing(players);
        Ok(Some(ConditionalValues { players: players.clone(), playing, population, parts, floats, whole }))
    }

    /// The expected value when nothing is known.
    pub(super) fn base_value(&self, sum: &WeightedSum) -> f64 {
        let column = self.float_column(sum);
        column.base * column.size
    }

    /// The same as a fraction.
    pub(super) fn exact_base_value(&self, sum: &WeightedSum) -> RBig {
        self.whole_column(sum).base.clone()
    }

    /// Bounds the error of the base value and scores of a sum.
    pub(super) fn error_bound(&self, sum: &WeightedSum, index: Index) -> f64 {
        let players = self.playing.len();
        let own = match self.population.needs_fractions() {
            true => 1.0,
            // The weights divided by the size, their products and sums; both sums of the quotient, and the quotient.
            false => self.parts.len() as f64 + 4.0 + 2.0 * self.population.roundings(&self.players) + 1.0,
        };
        // Times the size, which is rounded, as is the product.
        let of_scores = 2.0 * error_bound::of_sets(own, players, index) + error_bound::in_all(8.0);
        1.01 * of_scores * size_of(sum)
    }

    /// The approximate number of steps per row.
    pub(super) fn visits(&self) -> u128 {
        (self.population.len() as u128).max(1 << self.playing.len()) * (self.playing.len() as u128 + 1)
    }

    /// Fails if a row is outside the population, or if the index needs groups and there are none.
    pub(super) fn check(&self, rows: &Bits, index: Index) -> Result<(), ExplainError> {
        if index == Index::Owen && !self.players.has_groups() {
            return Err(ExplainError::NoGroups);
        }
        match (0..rows.rows()).find(|&row| !self.population.has(&rows.row(row))) {
            Some(entity) => Err(ExplainError::Entity { entity, problem: EntityProblem::BreaksConstraint }),
            None => Ok(()),
        }
    }

    /// The scores of sums on a row, with the values that the sums have there; errors name entity 0.
    pub(super) fn floats(
        &self,
        entity: &[bool],
        sums: &[(&WeightedSum, RBig)],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<f64>>, ExplainError> {
        if self.population.needs_fractions() {
            let exact = self.fractions(entity, sums, index, watch)?;
            return Ok(exact.iter().map(|scores| scores.iter().map(float).collect()).collect());
        }
        let below = self.population.sums(&self.players, entity, &self.population.weights::<f64>());
        let of_sum = |(sum, value): &(&WeightedSum, RBig)| {
            watch.check()?;
            let column = self.float_column(sum);
            let above = self.population.sums(&self.players, entity, &column.numbers);
            let own = float(&(value / RBig::try_from(column.size).unwrap_or(RBig::ONE)));
            let v = self.quotients(above, &below, column.base, own, |above, below| above / below)?;
            let scores = self.scores_of(v, index, watch)?;
            Ok(scores.into_iter().map(|score| score * column.size).collect())
        };
        sums.iter().map(of_sum).collect()
    }

    /// The same in fractions.
    pub(super) fn fractions(
        &self,
        entity: &[bool],
        sums: &[(&WeightedSum, RBig)],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<RBig>>, ExplainError> {
        let below = self.population.sums(&self.players, entity, &self.population.weights::<IBig>());
        let of_sum = |(sum, value): &(&WeightedSum, RBig)| {
            watch.check()?;
            let column = self.whole_column(sum);
            let above = self.population.sums(&self.players, entity, &column.numbers);
            let quotient = |above: IBig, below: &IBig| {
                RBig::from(above) / (RBig::from(below.clone()) * RBig::from(column.scale.clone()))
            };
            let v = self.quotients(above, &below, column.base.clone(), value.clone(), quotient)?;
            self.scores_of(v, index, watch)
        };
        sums.iter().map(of_sum).collect()
    }

    /// v of all sets: for the set of all players the row's own value, and the base value where no row agrees.
    fn quotients<Q: Quantity, T: Value>(
        &self,
        above: Vec<Q>,
        below: &[Q],
        base: T,
        own: T,
        quotient: impl Fn(Q, &Q) -> T,
    ) -> Result<Vec<T>, ExplainError> {
        let nothing = Q::of_count(0);
        let mut v = Vec::with_capacity(above.len());
        for (above, below) in above.into_iter().zip(below) {
            v.push(match (*below == nothing, &self.population) {
                (false, _) => quotient(above, below),
                (true, Population::Sample(_)) => base.clone(),
                (true, Population::Inputs { .. }) => {
                    return Err(ExplainError::Entity { entity: 0, problem: EntityProblem::ZeroProbability });
                }
            });
        }
        v[0] = base;
        if let Some(all) = v.last_mut() {
            *all = own;
        }
        Ok(v)
    }

    fn scores_of<T: Value>(&self, v: Vec<T>, index: Index, watch: &Watch<'_>) -> Result<Vec<T>, ExplainError> {
        let group = |player: &usize| self.players.group_of(*player).unwrap_or(0);
        let table = SubsetTable::new(self.playing.iter().map(group).collect(), v);
        let scores = table.values_of(index, watch)?;
        let scores = scores.map_err(|problem| ExplainError::Entity { entity: 0, problem })?;
        Ok(spread(index, &self.playing, self.players.len(), scores, T::zero()))
    }

    fn float_column(&self, sum: &WeightedSum) -> Arc<FloatColumn> {
        known(&self.floats, sum, || {
            let size = Some(size_of(sum)).filter(|size| *size > 0.0).unwrap_or(1.0);
            let exact_size = RBig::try_from(size).unwrap_or(RBig::ONE);
            let share = |number: &RBig| float(&(number / &exact_size));
            let mut numbers = vec![share(&sum.constant); self.population.len()];
            for (weight, part) in sum.weights.iter().map(share).zip(&self.parts).filter(|(weight, _)| *weight != 0.0) {
                let number_of = |place: usize| part.number(place) * weight;
                numbers.iter_mut().enumerate().for_each(|(place, number)| *number += number_of(place));
            }
            let counts = |place: usize| self.population.counts(place);
            numbers.iter_mut().enumerate().filter(|(place, _)| !counts(*place)).for_each(|(_, number)| *number = 0.0);
            let base = match self.population.needs_fractions() {
                true => share(&self.exact_base_value(sum)),
                false => {
                    self.population.all_together(&numbers)
                        / self.population.all_together(&self.population.weights::<f64>())
                }
            };
            FloatColumn { numbers, size, base }
        })
    }

    fn whole_column(&self, sum: &WeightedSum) -> Arc<WholeColumn> {
        known(&self.whole, sum, || {
            let of_numbers = self.parts.iter().map(PartColumn::scale).max().unwrap_or(UBig::ONE);
            let scale = common_denominator(sum.weights.iter().chain([&sum.constant])) * &of_numbers;
            let mut numbers = vec![times_scale(&sum.constant, &scale); self.population.len()];
            for (weight, part) in sum.weights.iter().zip(&self.parts).filter(|(weight, _)| **weight != RBig::ZERO) {
                // A multiple of the scale of the part's own numbers.
                let whole = times_scale(weight, &scale);
                let weighted = |number: f64| match number {
                    0.0 => IBig::ZERO,
                    1.0 => whole.clone(),
                    number => {
                        times_scale(&RBig::try_from(number).unwrap_or_default(), &of_numbers) * &whole / &of_numbers
                    }
                };
                numbers.iter_mut().enumerate().for_each(|(place, number)| *number += weighted(part.number(place)));
            }
            let counts = |place: usize| self.population.counts(place);
            let outside = numbers.iter_mut().enumerate().filter(|(place, _)| !counts(*place));
            outside.for_each(|(_, number)| *number = IBig::ZERO);
            let below = self.population.all_together(&self.population.weights::<IBig>());
            let above = self.population.all_together(&numbers);
            let base = RBig::from(above) / (RBig::from(below) * RBig::from(scale.clone()));
            WholeColumn { numbers, scale, base }
        })
    }
}

impl PartColumn {
    fn number(&self, place: usize) -> f64 {
        match self {
            PartColumn::Bits(words) => f64::from((words[place / 64] >> (place % 64) & 1) as u8),
            PartColumn::Numbers(numbers) => numbers[place],
        }
    }

    /// The power of two that makes its numbers whole.
    fn scale(&self) -> UBig {
        match self {
            PartColumn::Bits(_) => UBig::ONE,
            PartColumn::Numbers(numbers) => {
                let mut different = numbers.clone();
                different.sort_unstable_by(f64::total_cmp);
                different.dedup();
                let exact = different.into_iter().map(|number| RBig::try_from(number).unwrap_or_default());
                exact.map(|number| number.denominator().clone()).max().unwrap_or(UBig::ONE)
            }
        }
    }
}

/// The column of a sum, computed on first use.
fn known<T>(columns: &Known<T>, sum: &WeightedSum, make: impl FnOnce() -> T) -> Arc<T> {
    let find = || {
        let known = columns.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(one, _)| one == sum).map(|(_, column)| column.clone())
    };
    find().unwrap_or_else(|| {
        let made = Arc::new(make());
        columns.lock().unwrap_or_else(PoisonError::into_inner).push((sum.clone(), made.clone()));
        made
    })
}

/// The values of the parts on all rows or inputs.
fn part_columns(
    named: &NamedCircuit,
    values: &Values,
    population: &Population,
    watch: &Watch<'_>,
) -> Result<Vec<PartColumn>, ExplainError> {
    let column = |part: &Part| match part {
        Part::Diagram(_) => PartColumn::Numbers(Vec::with_capacity(population.len())),
        _ => PartColumn::Bits(vec![0; population.len().div_ceil(64)]),
    };
    let mut columns: Vec<PartColumn> = values.parts().iter().map(column).collect();
    let evaluator = ValueEvaluator::new(named).ok_or(ExplainError::NoValues)?;
    for first in (0..population.len()).step_by(TOGETHER) {
        let rows = population.rows(first..population.len().min(first + TOGETHER), named.features.len());
        for (place, parts) in (first..).zip(evaluator.parts(&rows, &watch.silent())?) {
            for (column, number) in columns.iter_mut().zip(parts) {
                match column {
                    PartColumn::Bits(words) => words[place / 64] |= u64::from(number != 0.0) << (place % 64),
                    PartColumn::Numbers(numbers) => numbers.push(number),
                }
            }
        }
    }
    Ok(columns)
}

/// The features that a part depends on.
fn features_of(named: &NamedCircuit, part: &Part) -> Result<Vec<usize>, ExplainError> {
    let places = |vars: Vec<Var>| vars.into_iter().map(|var| var.index()).collect();
    Ok(match part {
        Part::Feature(var) => vec![var.index()],
        Part::Gate(gate) => (0..gate.weights().len()).filter(|&feature| gate.weights()[feature] != 0).collect(),
        Part::Circuit(root) => places(named.circuit.with_root(*root)?.mentioned()),
        Part::Diagram(diagram) => places(diagram.mentioned()),
    })
}

fn size_of(sum: &WeightedSum) -> f64 {
    float(&sum.size())
}

fn float(number: &RBig) -> f64 {
    number.to_f64().value()
}
