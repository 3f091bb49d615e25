//! Starts of the paths to an entity: the values of absent players, as weighted points.
//!
//! A start gives each feature the weight of being 1 while its player is absent. The weight moves on a straight line to
//! the entity's own value as the player becomes present. A population of independent features is one start, its
//! probabilities; a set of background rows is one start per distinct row, with all weights 0 or 1.

use super::value_sweep::Positive;
use super::{ExplainError, Players, Probabilities};
use crate::data::{Bits, PackedRows, RowIndex};
use dashu_ratio::RBig;

/// Weighted starts.
#[derive(Clone, Debug)]
pub(super) enum Starts {
    One(Probabilities),
    Rows(Sample),
}

/// Distinct rows, and how often each occurs.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) rows: Bits,
    pub(super) counts: Vec<u64>,
    pub(super) total: u64,
}

impl Sample {
    /// The distinct rows in the order of their first appearance; fails if there are no rows.
    pub(super) fn new(rows: &Bits, what: &'static str) -> Result<Self, ExplainError> {
        if rows.rows() == 0 {
            return Err(ExplainError::NoRows { what });
        }
        let packed = PackedRows::from_bits(rows);
        let mut index = RowIndex::new(packed.row_words());
        let mut distinct = PackedRows::new(rows.features());
        let mut counts: Vec<u64> = Vec::new();
        for row in 0..packed.rows() {
            let (number, is_new) = index.insert(packed.row(row));
            if is_new {
                distinct.push(packed.row(row));
                counts.push(0);
            }
            counts[number as usize] += 1;
        }
        Ok(Sample { rows: distinct.to_bits(), counts, total: rows.rows() as u64 })
    }
}

impl Starts {
    /// One start: independent features, where those of a one-hot player are the values of a categorical variable. For
    /// these, uniform means that all values are equally likely; otherwise the probabilities are proportional to the
    /// features'.
    pub(super) fn product(distribution: &Probabilities, players: &Players) -> Result<Self, ExplainError> {
        let mut exact = distribution.exact().to_vec();
        for player in (0..players.len()).filter(|&player| players.is_one_hot(player)) {
            let members: Vec<usize> = players.members(player).collect();
            let sum = members.iter().fold(RBig::ZERO, |sum, &feature| sum + &exact[feature]);
            if sum == RBig::ZERO {
                return Err(ExplainError::NoValue { player: players.names()[player].clone() });
            }
            members.iter().for_each(|&feature| exact[feature] = &exact[feature] / &sum);
        }
        Ok(Starts::One(Probabilities::product(exact)?))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Starts::One(_) => 1,
            Starts::Rows(sample) => sample.counts.len(),
        }
    }

    /// The share of a start in the whole.
    pub(super) fn share(&self, start: usize) -> f64 {
        match self {
            Starts::One(_) => 1.0,
            Starts::Rows(sample) => sample.counts[start] as f64 / sample.total as f64,
        }
    }

    pub(super) fn exact_share(&self, start: usize) -> RBig {
        match self {
            Starts::One(_) => RBig::ONE,
            Starts::Rows(sample) => RBig::from_parts(sample.counts[start].into(), sample.total.into()),
        }
    }

    /// The weight of a feature.
    pub(super) fn float(&self, start: usize, feature: usize) -> f64 {
        match self {
            Starts::One(probabilities) => probabilities.floats()[feature],
            Starts::Rows(sample) => f64::from(u8::from(sample.rows.get(start, feature))),
        }
    }

    /// The weights of a feature being 1 and 0.
    pub(super) fn both(&self, start: usize, feature: usize) -> [f64; 2] {
        match self {
            Starts::One(probabilities) => [probabilities.floats()[feature], probabilities.complements()[feature]],
            Starts::Rows(sample) => is(sample.rows.get(start, feature)),
        }
    }

    pub(super) fn exact(&self, start: usize, feature: usize) -> RBig {
        match self {
            Starts::One(probabilities) => probabilities.exact()[feature].clone(),
            Starts::Rows(sample) => RBig::from(u8::from(sample.rows.get(start, feature))),
        }
    }
}

/// The weights of being 1 and 0 for a bit with this value.
pub(super) fn is<T: Positive>(value: bool) -> [T; 2] {
    if value { [T::ONE, T::ZERO] } else { [T::ZERO, T::ONE] }
}
