//! A game written out: v of every set of players, and the indices from their definitions.
//!
//! For games that have no polynomial, because v is a conditional expectation or a player is a block of features. Numbers
//! are floats or fractions. Cost: O(n 2^n) for the values of all n players, O(n^2 2^n) for all pairs.

use super::index::pairs;
use super::{EntityProblem, Explanation, Index};
use dashu::integer::UBig;
use dashu::rational::RBig;

/// What a table is made of.
pub(super) trait Value: Clone + Sized + ToString {
    fn zero() -> Self;
    fn add(&mut self, other: &Self);
    fn minus(&self, other: &Self) -> Self;
    /// Times a fraction.
    fn scaled(&self, numerator: &UBig, denominator: &UBig) -> Self;
    /// Whether it is nothing, but for rounding.
    fn vanishes(&self) -> bool;
}

impl Value for f64 {
    fn zero() -> Self {
        0.0
    }

    fn add(&mut self, other: &Self) {
        *self += other;
    }

    fn minus(&self, other: &Self) -> Self {
        self - other
    }

    fn scaled(&self, numerator: &UBig, denominator: &UBig) -> Self {
        self * RBig::from_parts(numerator.clone().into(), denominator.clone()).to_f64().value()
    }

    fn vanishes(&self) -> bool {
        self.abs() <= Explanation::TOLERANCE
    }
}

impl Value for RBig {
    fn zero() -> Self {
        RBig::ZERO
    }

    fn add(&mut self, other: &Self) {
        *self += other;
    }

    fn minus(&self, other: &Self) -> Self {
        self - other
    }

    fn scaled(&self, numerator: &UBig, denominator: &UBig) -> Self {
        self * RBig::from_parts(numerator.clone().into(), denominator.clone())
    }

    fn vanishes(&self) -> bool {
        self.is_zero()
    }
}

/// v of each set of players; player i is bit i of the place.
pub(super) struct SubsetTable<T> {
    players: usize,
    pub(super) values: Vec<T>,
}

impl<T: Value> SubsetTable<T> {
    pub(super) fn new(players: usize, values: Vec<T>) -> Self {
        debug_assert_eq!(values.len(), 1 << players);
        SubsetTable { players, values }
    }

    /// The numbers of an index; interactions are checked here.
    pub(super) fn values_of(&self, index: Index) -> Result<Vec<T>, EntityProblem> {
        match index {
            Index::Shapley => Ok(self.shapley()),
            Index::Banzhaf => Ok(self.banzhaf()),
            Index::Interaction => {
                let interactions = self.interactions();
                self.check_interactions(&interactions)?;
                Ok(interactions)
            }
        }
    }

    /// Those of a player add up to its contribution as the last to come, less that as the first.
    fn check_interactions(&self, interactions: &[T]) -> Result<(), EntityProblem> {
        let mut sums = vec![T::zero(); self.players];
        for ((i, j), score) in pairs(self.players).zip(interactions) {
            sums[i].add(score);
            sums[j].add(score);
        }
        let all = self.values.len() - 1;
        for (player, sum) in sums.iter().enumerate() {
            let last = self.values[all].minus(&self.values[all & !(1 << player)]);
            let gain = last.minus(&self.values[1 << player].minus(&self.values[0]));
            if !sum.minus(&gain).vanishes() {
                let (sum, gain) = (sum.to_string(), gain.to_string());
                return Err(EntityProblem::InteractionsDoNotAddUp { player, sum, gain });
            }
        }
        Ok(())
    }

    /// The Shapley value of each player.
    pub(super) fn shapley(&self) -> Vec<T> {
        let n = self.players;
        (0..n)
            .map(|player| {
                // Contributions to coalitions of the same size count alike.
                let mut by_size = vec![T::zero(); n];
                for set in sets_without(n, 1 << player) {
                    by_size[set.count_ones() as usize].add(&self.values[set | 1 << player].minus(&self.values[set]));
                }
                weighted(&by_size, n)
            })
            .collect()
    }

    /// The Banzhaf value of each player.
    pub(super) fn banzhaf(&self) -> Vec<T> {
        let n = self.players;
        let sets = UBig::ONE << n.saturating_sub(1);
        (0..n)
            .map(|player| {
                let mut sum = T::zero();
                for set in sets_without(n, 1 << player) {
                    sum.add(&self.values[set | 1 << player].minus(&self.values[set]));
                }
                sum.scaled(&UBig::ONE, &sets)
            })
            .collect()
    }

    /// The interaction of each pair of players.
    pub(super) fn interactions(&self) -> Vec<T> {
        let n = self.players;
        pairs(n)
            .map(|(i, j)| {
                let (i, j) = (1 << i, 1 << j);
                let mut by_size = vec![T::zero(); n - 1];
                for set in sets_without(n, i | j) {
                    let with = self.values[set | i | j].minus(&self.values[set | j]);
                    let without = self.values[set | i].minus(&self.values[set]);
                    by_size[set.count_ones() as usize].add(&with.minus(&without));
                }
                weighted(&by_size, n - 1)
            })
            .collect()
    }
}

/// The sum over the sizes k below n of k! (n-k-1)! / n! times what is there.
fn weighted<T: Value>(by_size: &[T], n: usize) -> T {
    let factorial = |k: usize| (1..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor));
    let all = factorial(n);
    let mut sum = T::zero();
    for (size, contribution) in by_size.iter().enumerate() {
        sum.add(&contribution.scaled(&(factorial(size) * factorial(n - size - 1)), &all));
    }
    sum
}

/// All sets without these players.
fn sets_without(players: usize, without: usize) -> impl Iterator<Item = usize> {
    (0..1usize << players).filter(move |set| set & without == 0)
}
