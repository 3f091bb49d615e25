//! A tabulated game: v of every set of players, and the indices computed from their definitions.
//!
//! For games that have no polynomial, because v is a conditional expectation, or none of a reasonable size. Numbers are
//! floats or fractions. Cost: O(n 2^n) for the values of all n players, O(n^2 2^n) for all pairs, and so on.

use super::index::{pairs, sets};
use super::{EntityProblem, Explanation, Index, Order};
use crate::lit::{Stopped, Watch};
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::BTreeMap;

/// The numbers of a table.
pub(super) trait Value: Clone + Sized + ToString {
    fn zero() -> Self;
    fn add(&mut self, other: &Self);
    fn minus(&self, other: &Self) -> Self;
    /// Times a fraction.
    fn scaled(&self, numerator: &UBig, denominator: &UBig) -> Self;
    /// Whether it is zero up to rounding.
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

/// v of each set of players; player i is bit i of the index.
pub(super) struct SubsetTable<T> {
    players: usize,
    /// The group of each player.
    groups: Vec<usize>,
    pub(super) values: Vec<T>,
}

impl<T: Value> SubsetTable<T> {
    /// For players in these groups.
    pub(super) fn new(groups: Vec<usize>, values: Vec<T>) -> Self {
        debug_assert_eq!(values.len(), 1 << groups.len());
        SubsetTable { players: groups.len(), groups, values }
    }

    /// The scores of an index; interactions are checked here.
    pub(super) fn values_of(&self, index: Index, watch: &Watch<'_>) -> Result<Result<Vec<T>, EntityProblem>, Stopped> {
        watch.check()?;
        Ok(match index {
            Index::Shapley => Ok(self.shapley()),
            Index::Banzhaf => Ok(self.banzhaf()),
            Index::Owen => Ok((0..self.players).map(|player| self.owen(player)).collect()),
            Index::Interaction => {
                let interactions = self.interactions(2, watch)?;
                self.check_interactions(&interactions).map(|()| interactions)
            }
            Index::Ksii(order) => {
                let all = index.sizes().map(|size| self.interactions(size, watch)).collect::<Result<Vec<_>, _>>()?;
                Ok(gathered(order, self.players, all.concat()))
            }
            Index::Taylor(order) => {
                let all = index.sizes().map(|size| self.taylor(size, order, watch)).collect::<Result<Vec<_>, _>>()?;
                Ok(all.concat())
            }
        })
    }

    /// Checks that a player's interactions add up to its contribution as the last to come, less that as the first.
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
                // Contributions to coalitions of the same size have the same weight.
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

    /// The interaction index of each set of this many players: the mean, over the sizes of coalitions of the others, of
    /// the set's joint gain.
    fn interactions(&self, size: usize, watch: &Watch<'_>) -> Result<Vec<T>, Stopped> {
        let mut found = Vec::new();
        self.each_gain(size, watch, &mut |gains| {
            let by_size = by_size(gains);
            found.push(weighted(&by_size, by_size.len()));
        })?;
        Ok(found)
    }

    /// The Shapley-Taylor index: a set's gain without others; for the largest size, the mean over all orders of its
    /// gain with the players before its last player: k (n-1-t)! t! / n! for each coalition of size t.
    fn taylor(&self, size: usize, order: Order, watch: &Watch<'_>) -> Result<Vec<T>, Stopped> {
        let (mut found, n) = (Vec::new(), self.players);
        self.each_gain(size, watch, &mut |gains| {
            found.push(match size < order.size() {
                true => gains[0].clone(),
                false => {
                    let mut sum = T::zero();
                    for (count, gain) in by_size(gains).iter().enumerate() {
                        let orders = UBig::from(size) * factorial(count) * factorial(n - 1 - count);
                        sum.add(&gain.scaled(&orders, &factorial(n)));
                    }
                    sum
                }
            });
        })?;
        Ok(found)
    }

    /// For each set of this many players, its joint gain with each coalition of the others.
    fn each_gain(&self, size: usize, watch: &Watch<'_>, found: &mut dyn FnMut(&[T])) -> Result<(), Stopped> {
        // Starts from the last player, so that the bits of earlier players stay in place.
        for set in sets(self.players, size) {
            watch.check()?;
            let gains = set.iter().rev().fold(None, |gains: Option<Vec<T>>, &player| {
                Some(differences(gains.as_deref().unwrap_or(&self.values), player))
            });
            found(gains.as_deref().unwrap_or(&self.values));
        }
        Ok(())
    }

    /// The Owen value of a player: other groups are in a coalition as a whole or not at all.
    fn owen(&self, player: usize) -> T {
        let mut others: BTreeMap<usize, usize> = BTreeMap::new();
        let mut fellows = Vec::new();
        for (other, &group) in self.groups.iter().enumerate().filter(|(other, _)| *other != player) {
            match group == self.groups[player] {
                true => fellows.push(1usize << other),
                false => *others.entry(group).or_default() |= 1 << other,
            }
        }
        let others: Vec<usize> = others.into_values().collect();
        let (m, n) = (others.len() + 1, fellows.len() + 1);
        let union = |masks: &[usize], choice: usize| {
            (0..masks.len()).filter(|place| choice >> place & 1 == 1).fold(0, |set, place| set | masks[place])
        };
        let mut by_sizes = vec![T::zero(); m * n];
        for groups in 0..1usize << others.len() {
            let outside = union(&others, groups);
            for inside in 0..1usize << fellows.len() {
                let set = outside | union(&fellows, inside);
                let gain = self.values[set | 1 << player].minus(&self.values[set]);
                by_sizes[groups.count_ones() as usize * n + inside.count_ones() as usize].add(&gain);
            }
        }
        let mut sum = T::zero();
        for (place, gain) in by_sizes.iter().enumerate() {
            let (outer, inner) = (place / n, place % n);
            let orders = factorial(outer) * factorial(m - outer - 1) * factorial(inner) * factorial(n - inner - 1);
            sum.add(&gain.scaled(&orders, &(factorial(m) * factorial(n))));
        }
        sum
    }
}

/// The differences that a player makes, in the order of the sets of the others.
fn differences<T: Value>(values: &[T], player: usize) -> Vec<T> {
    let pairs = values.chunks_exact(2 << player).map(|block| block.split_at(1 << player));
    pairs.flat_map(|(without, with)| with.iter().zip(without).map(|(with, without)| with.minus(without))).collect()
}

/// The sums over the sets of each size.
fn by_size<T: Value>(values: &[T]) -> Vec<T> {
    let mut sums = vec![T::zero(); values.len().ilog2() as usize + 1];
    values.iter().enumerate().for_each(|(set, value)| sums[set.count_ones() as usize].add(value));
    sums
}

/// The k-Shapley values from the interaction indices of all sets up to the order. Each set also gets the indices of its
/// supersets with one or two more players, times a Bernoulli number: B_1 = -1/2 for one, B_2 = 1/6 for two.
pub(super) fn gathered<T: Value>(order: Order, players: usize, interactions: Vec<T>) -> Vec<T> {
    let index = Index::Ksii(order);
    let mut around = [vec![T::zero(); interactions.len()], vec![T::zero(); interactions.len()]];
    for (set, value) in index.sets(players).zip(&interactions) {
        for choice in 1..(1usize << set.len()) - 1 {
            let chosen = (0..set.len()).filter(|place| choice >> place & 1 == 1);
            let part: Vec<usize> = chosen.map(|place| set[place]).collect();
            around[set.len() - part.len() - 1][index.place(players, &part)].add(value);
        }
    }
    let [one_more, two_more] = around;
    let mut all = interactions;
    for ((value, one_more), two_more) in all.iter_mut().zip(one_more).zip(two_more) {
        *value = value.minus(&one_more.scaled(&UBig::ONE, &2u8.into()));
        value.add(&two_more.scaled(&UBig::ONE, &6u8.into()));
    }
    all
}

fn factorial(k: usize) -> UBig {
    (1..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor))
}

/// The sum over the sizes k below n of k! (n-k-1)! / n! times the entry for k.
fn weighted<T: Value>(by_size: &[T], n: usize) -> T {
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
