//! What the corners between an entity and background rows add up to: scores and interactions, in whole numbers over the
//! common denominator of an index.

use super::corner_counts::CornerCounts;
use super::index::pairs;
use super::network_game::MAX_DIFFERING;
use super::{EntityProblem, ExplainError, Index};
use crate::model::Wire;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The corners between an entity and a background row.
pub(super) struct Cube {
    pub(super) row: usize,
    /// The players on which the two differ: bit d of a corner is the d-th.
    pub(super) differing: Vec<usize>,
    pub(super) wires: Vec<Wire>,
}

/// What all cubes contribute, over the common denominator of an index.
#[derive(Clone)]
pub(super) struct Sums {
    scores: Vec<IBig>,
    /// For interactions, what each player gains from first to last.
    gains: Vec<IBig>,
}

impl Sums {
    pub(super) fn new(index: Index, players: usize) -> Self {
        let gains = if index == Index::Interaction { players } else { 0 };
        Sums { scores: vec![IBig::ZERO; index.width(players)], gains: vec![IBig::ZERO; gains] }
    }

    pub(super) fn merge(&mut self, other: &Sums) {
        self.scores.iter_mut().zip(&other.scores).for_each(|(one, more)| *one += more);
        self.gains.iter_mut().zip(&other.gains).for_each(|(one, more)| *one += more);
    }

    /// Adds what was counted between an entity and a row that occurs this often.
    pub(super) fn add(&mut self, counts: &CornerCounts, cube: &Cube, times: u64, index: Index, players: usize) {
        let weights = weights(cube.differing.len(), index);
        let all = counts.all();
        let with: Vec<Vec<u64>> = (0..cube.differing.len()).map(|place| counts.with(place)).collect();
        let signed = |count: u64| IBig::from(count);
        if index != Index::Interaction {
            for (place, &player) in cube.differing.iter().enumerate() {
                // A set of k others contributes with the player what it has with k + 1 present, less what it has without.
                let gain = |k: usize| signed(with[place][k + 1]) - signed(all[k] - with[place][k]);
                let sum = weights.iter().enumerate().fold(IBig::ZERO, |sum, (k, weight)| sum + gain(k) * weight);
                self.scores[player] += sum * times;
            }
            return;
        }
        let last = cube.differing.len();
        let whole = IBig::from(denominator(index));
        for (place, &player) in cube.differing.iter().enumerate() {
            let last_to_come = signed(with[place][last]) - signed(all[last - 1] - with[place][last - 1]);
            let first_to_come = signed(with[place][1]) - signed(all[0]);
            self.gains[player] += (last_to_come - first_to_come) * &whole * times;
        }
        for (i, j) in pairs(cube.differing.len()) {
            let both = counts.with_both(i, j);
            // Of sets of k others: with both, less with one of the two, plus with neither.
            let joint = |k: usize| {
                let one = with[i][k + 1] - both[k + 1] + with[j][k + 1] - both[k + 1];
                let neither = all[k] + both[k] - with[i][k] - with[j][k];
                signed(both[k + 2]) - signed(one) + signed(neither)
            };
            let sum = weights.iter().enumerate().fold(IBig::ZERO, |sum, (k, weight)| sum + joint(k) * weight);
            let (one, other) = (cube.differing[i], cube.differing[j]);
            self.scores[pair_place(one.min(other), one.max(other), players)] += sum * times;
        }
    }

    /// The interactions of each player add up to what it gains from first to last.
    pub(super) fn check(&self, index: Index, players: usize) -> Result<(), ExplainError> {
        if index != Index::Interaction {
            return Ok(());
        }
        let mut sums = vec![IBig::ZERO; players];
        for ((i, j), score) in pairs(players).zip(&self.scores) {
            sums[i] += score;
            sums[j] += score;
        }
        match (0..players).find(|&player| sums[player] != self.gains[player]) {
            None => Ok(()),
            Some(player) => {
                let (sum, gain) = (sums[player].to_string(), self.gains[player].to_string());
                let problem = EntityProblem::InteractionsDoNotAddUp { player, sum, gain };
                Err(ExplainError::Entity { entity: 0, problem })
            }
        }
    }

    pub(super) fn scores(self, index: Index, rows: u64) -> Vec<RBig> {
        let below = denominator(index) * UBig::from(rows);
        self.scores.into_iter().map(|sum| RBig::from_parts(sum, below.clone())).collect()
    }
}

/// The place of a pair among all pairs, in order.
fn pair_place(i: usize, j: usize, players: usize) -> usize {
    i * players - i * (i + 1) / 2 + j - i - 1
}

pub(super) fn factorial(k: usize) -> UBig {
    (2..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor))
}

/// What all weights of an index can be written over.
fn denominator(index: Index) -> UBig {
    match index {
        Index::Banzhaf => UBig::ONE << (MAX_DIFFERING - 1),
        _ => factorial(MAX_DIFFERING),
    }
}

/// The weight of a set of k others among D players, by k, over the common denominator.
fn weights(players: usize, index: Index) -> Vec<UBig> {
    let shapley = |players: usize| -> Vec<UBig> {
        let all = factorial(MAX_DIFFERING) / factorial(players);
        (0..players).map(|k| factorial(k) * factorial(players - k - 1) * &all).collect()
    };
    match index {
        Index::Interaction => shapley(players - 1),
        Index::Banzhaf => vec![UBig::ONE << (MAX_DIFFERING - players); players],
        _ => shapley(players),
    }
}
