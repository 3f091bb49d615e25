//! Counts the ones of a function of D players by the number of players present: in all, with each player and with each
//! pair.
//!
//! *Idea.* The 2^D corners come as words of 64; bit d of a corner's number says whether player d is present. Six
//! players vary inside a word and are counted with masks. The others are constant within a word: its counts are added
//! to those of each of them that is present. *Invariant.* Whole numbers only, so several threads can count parts in any
//! order. *Cost.* About 50 population counts and D / 2 additions of a vector for each word.

use crate::lit::LOW_VARIABLES;

/// The players that vary inside a word.
const LOW: usize = LOW_VARIABLES.len();

/// A mask of the bit positions in a word whose number has this many ones; the eighth mask is empty.
const OF_SIZE: [u64; 8] = {
    let mut masks = [0; 8];
    let mut number = 0u64;
    while number < 64 {
        masks[number.count_ones() as usize] |= 1 << number;
        number += 1;
    }
    masks
};

/// Counts by the number of present players inside words.
type Sizes = [u32; 8];

/// The ones of one function.
#[derive(Clone, Debug)]
pub(super) struct CornerCounts {
    players: usize,
    /// By the number of present players outside words.
    all: Vec<Sizes>,
    /// The same for each player, those inside words first.
    with: Vec<Vec<Sizes>>,
    /// The same for each pair i < j at index j (j - 1) / 2 + i, if pairs are counted.
    with_both: Vec<Vec<Sizes>>,
}

fn pair(i: usize, j: usize) -> usize {
    let (i, j) = (i.min(j), i.max(j));
    j * (j - 1) / 2 + i
}

#[inline(always)]
fn by_size(ones: u64) -> Sizes {
    std::array::from_fn(|size| (ones & OF_SIZE[size]).count_ones())
}

#[inline(always)]
fn add(sum: &mut Sizes, more: &Sizes) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl CornerCounts {
    /// Empty counts for this many players, at most 31.
    pub(super) fn new(players: usize, pairs: bool) -> Self {
        let sizes = vec![[0; 8]; players.saturating_sub(LOW) + 1];
        let pairs = if pairs { players * players.saturating_sub(1) / 2 } else { 0 };
        CornerCounts { players, all: sizes.clone(), with: vec![sizes.clone(); players], with_both: vec![sizes; pairs] }
    }

    /// Adds the corners of these words; `first` is the number of the first word.
    pub(super) fn add_words(&mut self, first: usize, words: &[u64]) {
        let inside = if self.players < LOW { (1u64 << (1 << self.players)) - 1 } else { !0 };
        pulp::Arch::new().dispatch(|| {
            for (number, word) in (first..).zip(words) {
                let ones = word & inside;
                if ones != 0 {
                    self.add_word(number, ones);
                }
            }
        });
    }

    #[inline(always)]
    fn add_word(&mut self, number: usize, ones: u64) {
        let size = number.count_ones() as usize;
        let all = by_size(ones);
        add(&mut self.all[size], &all);
        let low = self.players.min(LOW);
        for (player, counts) in self.with[..low].iter_mut().enumerate() {
            add(&mut counts[size], &by_size(ones & LOW_VARIABLES[player]));
        }
        let mut present = number;
        while present != 0 {
            add(&mut self.with[LOW + present.trailing_zeros() as usize][size], &all);
            present &= present - 1;
        }
        if !self.with_both.is_empty() {
            self.add_pairs(number, ones, &all);
        }
    }

    fn add_pairs(&mut self, number: usize, ones: u64, all: &Sizes) {
        let size = number.count_ones() as usize;
        let high: Vec<usize> = (0..self.players.saturating_sub(LOW)).filter(|bit| number >> bit & 1 == 1).collect();
        for (j, variable) in LOW_VARIABLES.iter().enumerate().take(self.players) {
            let with = ones & variable;
            (0..j).for_each(|i| add(&mut self.with_both[pair(i, j)][size], &by_size(with & LOW_VARIABLES[i])));
            let with = by_size(with);
            high.iter().for_each(|&bit| add(&mut self.with_both[pair(j, LOW + bit)][size], &with));
        }
        for (place, &j) in high.iter().enumerate() {
            high[..place].iter().for_each(|&i| add(&mut self.with_both[pair(LOW + i, LOW + j)][size], all));
        }
    }

    /// Adds the counts of other corners of the same function.
    pub(super) fn merge(&mut self, other: &CornerCounts) {
        let parts = |counts: &CornerCounts| counts.all.len() + counts.with.len() + counts.with_both.len();
        debug_assert_eq!(parts(self), parts(other));
        let join = |own: &mut [Sizes], more: &[Sizes]| own.iter_mut().zip(more).for_each(|(own, more)| add(own, more));
        join(&mut self.all, &other.all);
        self.with.iter_mut().zip(&other.with).for_each(|(own, more)| join(own, more));
        self.with_both.iter_mut().zip(&other.with_both).for_each(|(own, more)| join(own, more));
    }

    /// By size, the ones among all sets.
    pub(super) fn all(&self) -> Vec<u64> {
        self.by_present(&self.all)
    }

    /// By size, the ones among the sets with a player.
    pub(super) fn with(&self, player: usize) -> Vec<u64> {
        self.by_present(&self.with[player])
    }

    /// By size, the ones among the sets with two players.
    pub(super) fn with_both(&self, i: usize, j: usize) -> Vec<u64> {
        self.by_present(&self.with_both[pair(i, j)])
    }

    fn by_present(&self, counts: &[Sizes]) -> Vec<u64> {
        let mut sums = vec![0; self.players + 1];
        for (outside, sizes) in counts.iter().enumerate() {
            for (inside, &count) in sizes.iter().enumerate().filter(|(_, count)| **count > 0) {
                sums[outside + inside] += u64::from(count);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_those_of_the_definition(players in 0usize..10, words in proptest::collection::vec(any::<u64>(), 16)) {
            let words = &words[..1 << players.saturating_sub(6)];
            let mut counts = CornerCounts::new(players, true);
            let (one, other) = words.split_at(words.len() / 2);
            counts.add_words(0, one);
            let mut rest = CornerCounts::new(players, true);
            rest.add_words(one.len(), other);
            counts.merge(&rest);
            let ones = |needed: usize| {
                let mut sums = vec![0u64; players + 1];
                for set in (0..1usize << players).filter(|set| set & needed == needed) {
                    sums[set.count_ones() as usize] += words[set / 64] >> (set % 64) & 1;
                }
                sums
            };
            prop_assert_eq!(counts.all(), ones(0));
            for j in 0..players {
                prop_assert_eq!(counts.with(j), ones(1 << j));
                for i in 0..j {
                    prop_assert_eq!(counts.with_both(i, j), ones(1 << i | 1 << j));
                }
            }
        }
    }
}
