//! Families of sets, one bit for each set of up to 28 things: closures, minimal sets and sizes, 64 sets at a time.
//!
//! Set number `s` contains thing `j` exactly if bit `j` of `s` is 1. A transform processes one thing at a time: in each
//! pair of sets that differ in it only, the set without it passes its bit to the set with it. For the first six things
//! both sets of a pair are in the same word, for the others in two words. Cost: n 2^n / 64 word operations.

use crate::lit::LOW_VARIABLES;

/// A family of sets of `things` things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetFamily {
    things: u32,
    pub(super) words: Vec<u64>,
}

/// For each count of ones, a mask of the numbers below 64 with that count.
const LOW_SIZES: [u64; 7] = {
    let mut masks = [0u64; 7];
    let mut number = 0usize;
    while number < 64 {
        masks[number.count_ones() as usize] |= 1 << number;
        number += 1;
    }
    masks
};

impl SetFamily {
    /// The most things of a family: its bits then take 32 megabytes.
    pub(super) const MOST_THINGS: u32 = 28;

    /// The empty family.
    pub(super) fn empty(things: u32) -> Self {
        SetFamily { things, words: vec![0; words_for(things)] }
    }

    /// The family with these words; bits past the last set must be 0.
    pub(super) fn of_words(things: u32, words: Vec<u64>) -> Self {
        debug_assert_eq!(words.len(), words_for(things));
        debug_assert_eq!(words[0] & !used(things), 0);
        SetFamily { things, words }
    }

    pub(super) fn things(&self) -> u32 {
        self.things
    }

    pub(super) fn has(&self, set: u64) -> bool {
        self.words[(set / 64) as usize] >> (set % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, set: u64) {
        self.words[(set / 64) as usize] |= 1 << (set % 64);
    }

    /// The number of sets.
    pub(super) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The sets in ascending order of their numbers.
    pub(super) fn sets(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| ones(word).map(move |bit| index as u64 * 64 + bit))
    }

    /// Adds all sets that contain one of the sets.
    pub(super) fn close_upwards(&mut self) {
        for (thing, low) in LOW_VARIABLES.iter().enumerate().take(self.things as usize) {
            self.words.iter_mut().for_each(|word| *word |= *word << (1 << thing) & low);
        }
        for thing in 6..self.things {
            let stride = 1usize << (thing - 6);
            for pair in self.words.chunks_exact_mut(2 * stride) {
                let (without, with) = pair.split_at_mut(stride);
                with.iter_mut().zip(without).for_each(|(with, without)| *with |= *without);
            }
        }
    }

    /// The minimal sets of an upward-closed family.
    pub(super) fn minimal_of_closed(&self) -> Self {
        // The sets that stay in the family when some single thing is removed.
        let mut more = vec![0u64; self.words.len()];
        for (thing, low) in LOW_VARIABLES.iter().enumerate().take(self.things as usize) {
            more.iter_mut().zip(&self.words).for_each(|(more, word)| *more |= word << (1 << thing) & low);
        }
        for thing in 6..self.things {
            let stride = 1usize << (thing - 6);
            for (more, pair) in more.chunks_exact_mut(2 * stride).zip(self.words.chunks_exact(2 * stride)) {
                more[stride..].iter_mut().zip(&pair[..stride]).for_each(|(more, without)| *more |= without);
            }
        }
        more.iter_mut().zip(&self.words).for_each(|(more, word)| *more = word & !*more);
        SetFamily { things: self.things, words: more }
    }

    /// The family of all sets `s ^ by` for `s` in the family with these words.
    pub(super) fn shifted(words: impl Fn(usize) -> u64, things: u32, by: u64) -> Self {
        let mut moved: Vec<u64> = (0..words_for(things)).map(|index| words(index ^ (by >> 6) as usize)).collect();
        for (thing, low) in LOW_VARIABLES.iter().enumerate().filter(|(thing, _)| by >> thing & 1 == 1) {
            let shift = 1 << thing;
            moved.iter_mut().for_each(|word| *word = (*word & low) >> shift | (*word & !low) << shift);
        }
        Self::of_words(things, moved)
    }

    /// The sets whose complement is not in the family.
    pub(super) fn dual(&self) -> Self {
        let used = used(self.things);
        let shift = used.leading_zeros();
        let words = self.words.iter().rev().map(|word| !(word.reverse_bits() >> shift) & used).collect();
        SetFamily { things: self.things, words }
    }

    /// Keeps the sets that contain none of these things.
    pub(super) fn keep_without(&mut self, things: u64) {
        let low = LOW_VARIABLES.iter().enumerate().filter(|(thing, _)| things >> thing & 1 == 1);
        let mask = low.fold(!0, |mask, (_, word)| mask & !word);
        for (index, word) in self.words.iter_mut().enumerate() {
            *word = if index as u64 & things >> 6 == 0 { *word & mask } else { 0 };
        }
    }

    /// How many sets there are of each size.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let mut sizes = vec![0; self.things as usize + 1];
        for (index, &word) in self.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            for (low, mask) in LOW_SIZES.iter().enumerate() {
                let count = u64::from((word & mask).count_ones());
                if count > 0 {
                    sizes[low + index.count_ones() as usize] += count;
                }
            }
        }
        sizes
    }

    /// The sets of one size, ascending.
    pub(super) fn of_size(&self, size: usize) -> Vec<u64> {
        let mut found = Vec::new();
        for (index, &word) in self.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            if let Some(mask) = size.checked_sub(index.count_ones() as usize).and_then(|low| LOW_SIZES.get(low)) {
                found.extend(ones(word & mask).map(|bit| index as u64 * 64 + bit));
            }
        }
        found
    }

    /// The number of sets that contain a thing.
    pub(super) fn count_with(&self, thing: u32) -> u64 {
        let of = |(index, &word): (usize, &u64)| match thing.checked_sub(6) {
            None => u64::from((word & LOW_VARIABLES[thing as usize]).count_ones()),
            Some(high) => (index as u64 >> high & 1) * u64::from(word.count_ones()),
        };
        self.words.iter().enumerate().map(of).sum()
    }

    /// For each size, the number of sets of that size without `thing` that are outside the family but enter it with
    /// `thing`.
    pub(super) fn swings(&self, thing: u32) -> Vec<u64> {
        let swing = |index: usize, word: u64| match thing.checked_sub(6) {
            None => (word & LOW_VARIABLES[thing as usize]) >> (1 << thing) & !word,
            Some(high) if index >> high & 1 == 0 => self.words[index | 1 << high] & !word,
            Some(_) => 0,
        };
        let words = self.words.iter().enumerate().map(|(index, &word)| swing(index, word)).collect();
        SetFamily { things: self.things, words }.sizes()
    }
}

/// A word of the family of all sets `s ^ by` with `s` in a family of these words.
pub(super) fn shifted_word(words: &[u64], index: usize, by: u64) -> u64 {
    let mut word = words[index ^ (by >> 6) as usize];
    for (thing, low) in LOW_VARIABLES.iter().enumerate() {
        if by >> thing & 1 == 1 {
            word = (word & low) >> (1 << thing) | (word & !low) << (1 << thing);
        }
    }
    word
}

/// The positions of the ones of a word, ascending.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| u64::from(word.trailing_zeros()))?;
        word &= word - 1;
        Some(bit)
    })
}

/// How many words a family of this many things takes.
pub(super) fn words_for(things: u32) -> usize {
    1 << things.saturating_sub(6)
}

/// A mask of the bits of a word that represent sets.
pub(super) fn used(things: u32) -> u64 {
    if things >= 6 { !0 } else { (1 << (1 << things)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    fn random(things: u32, chance: &mut Seeded) -> SetFamily {
        let mut family = SetFamily::empty(things);
        (0..1u64 << things).filter(|_| chance.below(9) == 0).for_each(|set| family.insert(set));
        family
    }

    #[test]
    fn transforms_are_what_their_definitions_say() {
        let mut chance = Seeded::new(11, 0);
        for things in [0, 1, 3, 5, 6, 7, 9] {
            let family = random(things, &mut chance);
            let all = || 0..1u64 << things;
            let mut closed = family.clone();
            closed.close_upwards();
            let minimal = closed.minimal_of_closed();
            let (dual, sizes) = (family.dual(), family.sizes());
            for set in all() {
                assert_eq!(closed.has(set), family.sets().any(|inside| inside & !set == 0));
                let is_minimal = family.has(set) && !family.sets().any(|other| other != set && other & !set == 0);
                assert_eq!(minimal.has(set), is_minimal, "{set:b} of {things}");
                assert_eq!(dual.has(set), !family.has(!set & ((1 << things) - 1)));
            }
            for (size, &count) in sizes.iter().enumerate() {
                let expected: Vec<u64> = family.sets().filter(|set| set.count_ones() as usize == size).collect();
                assert_eq!((count, family.of_size(size)), (expected.len() as u64, expected));
            }
            let shift = chance.below(1 << things) as u64;
            let words = (0..family.words.len()).map(|index| shifted_word(&family.words, index, shift)).collect();
            let shifted = SetFamily::of_words(things, words);
            assert!(all().all(|set| shifted.has(set ^ shift) == family.has(set)));
            assert_eq!(SetFamily::shifted(|index| family.words[index], things, shift), shifted);
            for thing in 0..things {
                assert_eq!(family.count_with(thing), family.sets().filter(|set| set >> thing & 1 == 1).count() as u64);
                let swing = |set: &u64| set >> thing & 1 == 0 && !family.has(*set) && family.has(set | 1 << thing);
                let swings = family.swings(thing);
                for (size, count) in swings.iter().enumerate() {
                    let found = all().filter(swing).filter(|set| set.count_ones() as usize == size).count();
                    assert_eq!(*count, found as u64);
                }
            }
            let without = chance.below(1 << things) as u64;
            let mut kept = family.clone();
            kept.keep_without(without);
            assert!(all().all(|set| kept.has(set) == (family.has(set) && set & without == 0)));
        }
    }
}
