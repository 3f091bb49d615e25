//! The populations over which conditional expectations are taken: the rows of a sample, or all inputs that a formula
//! allows.
//!
//! v(S) is a quotient: the sum of weight times number over the rows or inputs that agree with the entity on S, divided
//! by the sum of their weights. Both sums are needed for all sets at once.
//!
//! - **A sample.** A row counts for all sets on whose players it agrees with the entity. It is added at the largest
//!   such set; then each set adds the sums of its supersets, one player at a time.
//! - **Inputs.** The numbers are tabulated over the joint values of the players that matter. A player's axis becomes
//!   two entries: absent, the mean over its values weighted by probability, and present, the entity's own value. The
//!   probability of the present values is a factor of both sums, so it is left out; even a value of probability 0 can
//!   be known.
//!
//! Cost: O(n 2^n) for n players, and for inputs also one addition per input and player.

use super::error_bound;
use super::starts::{Sample, Starts};
use super::{ExplainError, Players};
use crate::data::Bits;
use crate::formula::Cnf;
use dashu_base::Gcd;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The most inputs to tabulate.
pub(super) const MAX_INPUTS: usize = 1 << 22;

/// The population over which expectations are taken.
pub(super) enum Population {
    /// The rows of a sample that agree with the entity.
    Sample(Sample),
    /// The inputs that satisfy a formula, weighted by their probabilities.
    Inputs { axes: Vec<Axis>, formula: Cnf, holds: Vec<bool> },
}

/// A player that matters, and its values.
pub(super) struct Axis {
    player: usize,
    /// The features that determine its value.
    features: Vec<usize>,
    one_hot: bool,
    /// The probability of each value.
    floats: Vec<f64>,
    /// The same, scaled to whole numbers.
    whole: Vec<IBig>,
}

/// A type of numbers that can be added up.
pub(super) trait Quantity: Clone + Send + Sync + PartialEq {
    fn of_count(count: u64) -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn chances(axis: &Axis) -> &[Self];
}

impl Quantity for f64 {
    fn of_count(count: u64) -> Self {
        count as f64
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn chances(axis: &Axis) -> &[Self] {
        &axis.floats
    }
}

impl Quantity for IBig {
    fn of_count(count: u64) -> Self {
        count.into()
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn chances(axis: &Axis) -> &[Self] {
        &axis.whole
    }
}

impl Axis {
    /// The axis of a player; `mentioned` are those of its features that matter.
    fn new(player: usize, players: &Players, mentioned: Vec<usize>, starts: &Starts) -> Self {
        let one_hot = players.is_one_hot(player);
        let features = if one_hot { players.members(player).collect() } else { mentioned };
        let values = if one_hot { features.len() } else { 1 << features.len() };
        let chance = |value: usize| match one_hot {
            true => starts.exact(0, features[value]),
            false => features.iter().enumerate().fold(RBig::ONE, |product, (place, &feature)| {
                let is_one = starts.exact(0, feature);
                product * if value >> place & 1 == 1 { is_one } else { RBig::ONE - is_one }
            }),
        };
        let exact: Vec<RBig> = (0..values).map(chance).collect();
        let scale = common_denominator(&exact);
        let whole = exact.iter().map(|chance| times_scale(chance, &scale)).collect();
        Axis { player, features, one_hot, floats: exact.iter().map(|chance| chance.to_f64().value()).collect(), whole }
    }

    /// The number of values, or `None` if it overflows.
    fn values(one_hot: bool, features: usize) -> Option<usize> {
        if one_hot { Some(features) } else { 1usize.checked_shl(features as u32).filter(|values| *values > 0) }
    }

    fn write(&self, value: usize, row: &mut [bool]) {
        for (place, &feature) in self.features.iter().enumerate() {
            row[feature] = if self.one_hot { value == place } else { value >> place & 1 == 1 };
        }
    }

    fn value_of(&self, row: &[bool]) -> usize {
        let ones = self.features.iter().enumerate().filter(|(_, feature)| row[**feature]);
        if self.one_hot { ones.map(|(place, _)| place).sum() } else { ones.map(|(place, _)| 1 << place).sum() }
    }
}

impl Population {
    /// All inputs over the players that have one of these features; `None` if there are more than [`MAX_INPUTS`].
    pub(super) fn inputs(
        players: &Players,
        mentioned: &[usize],
        starts: &Starts,
        formula: &Cnf,
    ) -> Result<Option<Self>, ExplainError> {
        let mut of_player: Vec<Vec<usize>> = vec![Vec::new(); players.len()];
        mentioned.iter().for_each(|&feature| of_player[players.of(feature)].push(feature));
        let playing: Vec<usize> = (0..players.len()).filter(|&player| !of_player[player].is_empty()).collect();
        let values = |player: usize| match players.is_one_hot(player) {
            true => Axis::values(true, players.members(player).count()),
            false => Axis::values(false, of_player[player].len()),
        };
        let count = playing.iter().try_fold(1usize, |product, &player| product.checked_mul(values(player)?));
        if count.is_none_or(|count| count > MAX_INPUTS) {
            return Ok(None);
        }
        let axis = |player: usize| Axis::new(player, players, std::mem::take(&mut of_player[player]), starts);
        let axes: Vec<Axis> = playing.into_iter().map(axis).collect();
        let mut all = Population::Inputs { axes, formula: formula.clone(), holds: Vec::new() };
        let rows = all.rows(0..count.unwrap_or(0), players.feature_count());
        let satisfying: Vec<bool> = (0..rows.rows()).map(|row| formula.holds(&rows.row(row))).collect();
        if !satisfying.contains(&true) {
            return Err(ExplainError::Unsatisfiable);
        }
        if let Population::Inputs { holds, .. } = &mut all {
            *holds = satisfying;
        }
        match all.all_together(&all.weights::<IBig>()) == IBig::ZERO {
            true => Err(ExplainError::ImpossibleConstraint),
            false => Ok(Some(all)),
        }
    }

    /// How many rows or inputs there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Population::Sample(sample) => sample.counts.len(),
            Population::Inputs { axes, .. } => axes.iter().map(|axis| axis.floats.len()).product(),
        }
    }

    /// A range of them, with 0 for features that do not matter.
    pub(super) fn rows(&self, some: std::ops::Range<usize>, features: usize) -> Bits {
        match self {
            Population::Sample(sample) => sample.rows.select(&some.collect::<Vec<_>>()),
            Population::Inputs { axes, .. } => {
                let mut rows = Bits::new(features);
                let mut row = vec![false; features];
                for mut input in some {
                    for axis in axes {
                        axis.write(input % axis.floats.len(), &mut row);
                        input /= axis.floats.len();
                    }
                    rows.push(&row);
                }
                rows
            }
        }
    }

    /// Whether an input counts.
    pub(super) fn counts(&self, place: usize) -> bool {
        match self {
            Population::Sample(_) => true,
            Population::Inputs { holds, .. } => holds[place],
        }
    }

    /// Whether a row belongs to the population.
    pub(super) fn has(&self, row: &[bool]) -> bool {
        match self {
            Population::Sample(_) => true,
            Population::Inputs { formula, .. } => formula.holds(row),
        }
    }

    /// The weight of each row or input: 1 if it counts, otherwise 0.
    pub(super) fn weights<Q: Quantity>(&self) -> Vec<Q> {
        (0..self.len()).map(|place| Q::of_count(u64::from(self.counts(place)))).collect()
    }

    /// The players that matter.
    pub(super) fn playing(&self, players: &Players) -> Vec<usize> {
        match self {
            Population::Sample(_) => (0..players.len()).collect(),
            Population::Inputs { axes, .. } => axes.iter().map(|axis| axis.player).collect(),
        }
    }

    /// The weighted sum of these numbers over the whole population, where nothing is known.
    pub(super) fn all_together<Q: Quantity>(&self, numbers: &[Q]) -> Q {
        match self {
            Population::Sample(sample) => {
                let weighted = numbers.iter().zip(&sample.counts);
                weighted.fold(Q::of_count(0), |sum, (number, &count)| sum.plus(&number.times(&Q::of_count(count))))
            }
            Population::Inputs { axes, .. } => {
                let mean = |numbers: Vec<Q>, axis: &Axis| {
                    let values = numbers.chunks_exact(axis.floats.len());
                    values.map(|values| expected(values.iter(), axis)).collect()
                };
                let all: Vec<Q> = axes.iter().fold(numbers.to_vec(), mean);
                all.into_iter().next().unwrap_or_else(|| Q::of_count(0))
            }
        }
    }

    /// For each set of players that matter, the weighted sum of these numbers over all that agree with the entity on
    /// it.
    pub(super) fn sums<Q: Quantity>(&self, players: &Players, entity: &[bool], numbers: &[Q]) -> Vec<Q> {
        match self {
            Population::Sample(sample) => {
                let mut sums = vec![Q::of_count(0); 1 << players.len()];
                for (row, (number, &count)) in numbers.iter().zip(&sample.counts).enumerate() {
                    let set = agreement(players, sample, row, entity);
                    sums[set] = sums[set].plus(&number.times(&Q::of_count(count)));
                }
                for player in 0..players.len() {
                    for block in sums.chunks_exact_mut(2 << player) {
                        let (without, with) = block.split_at_mut(1 << player);
                        without.iter_mut().zip(with).for_each(|(sum, more)| *sum = sum.plus(more));
                    }
                }
                sums
            }
            Population::Inputs { axes, .. } => {
                let mut table = numbers.to_vec();
                for (done, axis) in axes.iter().enumerate() {
                    // Earlier axes already have two entries each.
                    let (inner, own) = (1usize << done, axis.value_of(entity));
                    let mut next = Vec::with_capacity(2 * table.len() / axis.floats.len());
                    for block in table.chunks_exact(inner * axis.floats.len()) {
                        let absent = (0..inner).map(|at| expected(block[at..].iter().step_by(inner), axis));
                        next.extend(absent);
                        next.extend_from_slice(&block[own * inner..(own + 1) * inner]);
                    }
                    table = next;
                }
                table
            }
        }
    }

    /// The number of roundings in a sum of floats, relative to the sum of their absolute values.
    pub(super) fn roundings(&self, players: &Players) -> f64 {
        match self {
            // A product, the sum of rows in a set, and one addition per player.
            Population::Sample(sample) => (sample.counts.len() + players.len() + 1) as f64,
            // A probability, a product, and the sum over an axis.
            Population::Inputs { axes, .. } => axes.iter().map(|axis| axis.floats.len() as f64 + 2.0).sum(),
        }
    }

    /// Whether products of probabilities could underflow, so that the sums need fractions.
    pub(super) fn needs_fractions(&self) -> bool {
        let Population::Inputs { axes, .. } = self else { return false };
        let smallest = |axis: &Axis| {
            let possible = axis.whole.iter().zip(&axis.floats).filter(|(whole, _)| **whole != IBig::ZERO);
            possible.map(|(_, float)| float.log2()).fold(0.0, f64::min)
        };
        axes.iter().map(smallest).sum::<f64>() < error_bound::SMALLEST_EXPONENT
    }
}

/// The mean of the numbers of an axis, weighted by probability.
fn expected<'a, Q: Quantity + 'a>(numbers: impl Iterator<Item = &'a Q>, axis: &'a Axis) -> Q {
    let weighted = numbers.zip(Q::chances(axis)).map(|(number, chance)| number.times(chance));
    weighted.reduce(|sum, more| sum.plus(&more)).unwrap_or_else(|| Q::of_count(0))
}

/// The set of players whose features all have the entity's values in a row.
fn agreement(players: &Players, sample: &Sample, row: usize, entity: &[bool]) -> usize {
    let differing = entity.iter().enumerate().filter(|(feature, value)| sample.rows.get(row, *feature) != **value);
    differing.fold((1 << players.len()) - 1, |set, (feature, _)| set & !(1 << players.of(feature)))
}

/// The least common denominator.
pub(super) fn common_denominator<'a>(numbers: impl IntoIterator<Item = &'a RBig>) -> UBig {
    numbers.into_iter().fold(UBig::ONE, |scale, number| {
        let common = (&scale).gcd(number.denominator());
        scale / common * number.denominator()
    })
}

/// A fraction times a multiple of its denominator.
pub(super) fn times_scale(number: &RBig, scale: &UBig) -> IBig {
    number.numerator() * IBig::from(scale / number.denominator())
}
