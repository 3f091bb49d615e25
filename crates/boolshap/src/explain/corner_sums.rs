//! Sums over the corners between an entity and background rows: scores and interactions, as whole numbers over the
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

/// The contributions of all cubes, over the common denominator of an index.
#[derive(Clone)]
pub(super) struct Sums {
    scores: Vec<IBig>,
    /// For interactions: each player's contribution as the last to come, less that as the first.
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

    /// Adds the counts between an entity and a row that occurs `times` times.
    pub(super) fn add(&mut self, counts: &CornerCounts, cube: &Cube, times: u64, index: Index, players: usize) {
        let weights = weights(cube.differing.len(), index);
        let all = counts.all();
        let with: Vec<Vec<u64>> = (0..cube.differing.len()).map(|place| counts.with(place)).collect();
        let signed = |count: u64| IBig::from(count);
        if index != Index::Interaction {
            for (place, &player) in cube.differing.iter().enumerate() {
                // Over the sets of k others: the ones with the player, so k + 1 present, less the ones without it.
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
            // Over the sets of k others: the ones with both, less those with one of the two, plus those with neither.
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

    /// Checks that each player's interactions add up to its contribution as the last to come, less that as the first.
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

/// The index of a pair among all pairs, in order.
fn pair_place(i: usize, j: usize, players: usize) -> usize {
    i * players - i * (i + 1) / 2 + j - i - 1
}

pub(super) fn factorial(k: usize) -> UBig {
    (2..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor))
}

/// A common denominator of all weights of an index.
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
