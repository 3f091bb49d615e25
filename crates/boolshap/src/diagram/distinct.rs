//! The distinct ones among many 64-bit keys, and for each key which of them it is.
//!
//! One large hash table would miss the cache at every key. So the keys are first dealt into piles by the top bits of
//! their hash, a pass that writes a few hundred streams in order, and each pile then has a small table of its own that
//! stays in cache. Equal keys land in one pile, so the distinct keys of all piles one after another are the distinct
//! keys. What was found is handed back by dealing once more: the keys in their first order find their results one after
//! another on each pile, so that nothing needs to remember where a key came from and no pass jumps about in memory.
//!
//! Threads deal parts of the keys each, and share the piles. Cost: O(keys), four sequential passes. The numbering depends
//! on the keys alone, not on the number of threads.

use rayon::prelude::*;

/// A pile of about this many keys has its table in the nearer caches.
const PILE: usize = 1 << 12;
/// More streams than this and dealing misses the translation buffer at every key.
const MAX_PILES: usize = 1 << 10;
/// Parts for threads are at least this large.
const MIN_PART: usize = 1 << 16;
/// Marks a number that is not a position among the distinct keys.
const KNOWN: u32 = 1 << 31;

/// Memory that is used again for the next keys: fresh pages cost more than the work done in them.
#[derive(Default)]
pub(super) struct Distinct {
    parts: Vec<Part>,
}

/// The distinct keys, in piles.
pub(super) struct Found(Vec<Vec<u64>>);

impl Found {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flatten().copied()
    }
}

/// A stretch of the keys, dealt.
#[derive(Default)]
struct Part {
    keys: Vec<u64>,
    numbers: Vec<u32>,
    /// Where each pile starts.
    starts: Vec<u32>,
}

impl Distinct {
    /// The distinct keys, and into `numbers` for each key `base` plus the position of its like among them. A key for
    /// which `known` has a number, below 2^31, gets that number and is not among the distinct.
    pub(super) fn find(
        &mut self,
        keys: &[u64],
        base: u32,
        known: impl Fn(u64) -> Option<u32> + Sync,
        numbers: &mut Vec<u32>,
    ) -> Found {
        debug_assert!(keys.len() < KNOWN as usize);
        // What was there is written over.
        numbers.resize(keys.len(), 0);
        let bits = keys.len().div_ceil(PILE).next_power_of_two().min(MAX_PILES).ilog2();
        if bits == 0 {
            let mut found = Vec::new();
            let mut table = Table::new(keys.len());
            table.take(keys, bits, &known, &mut found, numbers);
            numbers.iter_mut().for_each(|number| *number = shifted(*number, base));
            return Found(vec![found]);
        }
        let threads = rayon::current_num_threads().min(keys.len().div_ceil(MIN_PART));
        let size = keys.len().div_ceil(threads);
        self.parts.resize_with(threads.max(self.parts.len()), Part::default);
        let parts = &mut self.parts[..keys.len().div_ceil(size)];
        parts.par_iter_mut().zip(keys.par_chunks(size)).for_each(|(part, keys)| part.deal(keys, bits));

        // For each pile its keys and its room for results in all parts.
        let mut piles: Vec<Vec<(&[u64], &mut [u32])>> = (0..1 << bits).map(|_| Vec::new()).collect();
        for part in parts.iter_mut() {
            let mut room = part.numbers.as_mut_slice();
            for (pile, range) in piles.iter_mut().zip(part.starts.windows(2)) {
                let (mine, rest) = room.split_at_mut((range[1] - range[0]) as usize);
                room = rest;
                pile.push((&part.keys[range[0] as usize..range[1] as usize], mine));
            }
        }
        let found: Vec<Vec<u64>> = piles
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || Table::new(0),
                |table, pile| {
                    let count = pile.iter().map(|(keys, _)| keys.len()).sum();
                    table.clear(count);
                    let mut found = Vec::with_capacity(count);
                    for (keys, numbers) in pile {
                        table.take(keys, bits, &known, &mut found, numbers);
                    }
                    found
                },
            )
            .collect();
        // From positions inside a pile to positions among all.
        let mut offsets = Vec::with_capacity(found.len());
        let mut total = base;
        for pile in &found {
            offsets.push(total);
            total += pile.len() as u32;
        }
        let handed = numbers.par_chunks_mut(size).zip(keys.par_chunks(size)).zip(self.parts.par_iter_mut());
        handed.for_each(|((numbers, keys), part)| part.hand_back(keys, bits, &offsets, numbers));
        Found(found)
    }
}

impl Part {
    /// Sorts keys by the top bits of their hash, those of a pile in their first order.
    fn deal(&mut self, keys: &[u64], bits: u32) {
        let shift = 64 - bits;
        self.starts.clear();
        self.starts.resize((1 << bits) + 1, 0);
        for &key in keys {
            self.starts[(hash(key) >> shift) as usize + 1] += 1;
        }
        for pile in 1..self.starts.len() {
            self.starts[pile] += self.starts[pile - 1];
        }
        self.keys.resize(keys.len(), 0);
        self.numbers.resize(keys.len(), 0);
        let mut next = self.starts.clone();
        for &key in keys {
            let at = &mut next[(hash(key) >> shift) as usize];
            self.keys[*at as usize] = key;
            *at += 1;
        }
    }

    /// Gives each key of the first order its number. Uses up where the piles start.
    fn hand_back(&mut self, keys: &[u64], bits: u32, offsets: &[u32], numbers: &mut [u32]) {
        for (number, &key) in numbers.iter_mut().zip(keys) {
            let pile = (hash(key) >> (64 - bits)) as usize;
            *number = shifted(self.numbers[self.starts[pile] as usize], offsets[pile]);
            self.starts[pile] += 1;
        }
    }
}

/// A position moved by `base`, a known number as it is.
fn shifted(number: u32, base: u32) -> u32 {
    if number & KNOWN != 0 { number & !KNOWN } else { base + number }
}

#[inline]
fn hash(key: u64) -> u64 {
    // Both halves reach the top bits, of which the first choose the pile and the next the place.
    (key ^ key >> 32 ^ key << 29).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A hash table of the positions of found keys: numbers from 1, with 0 for a free place.
struct Table {
    places: Vec<u32>,
}

impl Table {
    fn new(keys: usize) -> Self {
        let mut table = Table { places: Vec::new() };
        table.clear(keys);
        table
    }

    /// Empties it and makes room for so many keys.
    fn clear(&mut self, keys: usize) {
        self.places.clear();
        self.places.resize((2 * keys.max(1)).next_power_of_two(), 0);
    }

    /// Adds the distinct unknown keys to `found` in the order of their first appearance, and numbers all.
    #[inline]
    fn take(
        &mut self,
        keys: &[u64],
        pile_bits: u32,
        known: &impl Fn(u64) -> Option<u32>,
        found: &mut Vec<u64>,
        numbers: &mut [u32],
    ) {
        let mask = self.places.len() - 1;
        let shift = 64 - pile_bits - self.places.len().ilog2();
        for (number, &key) in numbers.iter_mut().zip(keys) {
            if let Some(value) = known(key) {
                *number = KNOWN | value;
                continue;
            }
            let mut place = (hash(key) >> shift) as usize & mask;
            *number = loop {
                match self.places[place] {
                    0 => {
                        found.push(key);
                        self.places[place] = found.len() as u32;
                        break found.len() as u32 - 1;
                    }
                    number if found[number as usize - 1] == key => break number - 1,
                    _ => place = (place + 1) & mask,
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn check(keys: &[u64]) {
        let mut numbers = Vec::new();
        let known = |key: u64| (key % 7 == 3).then_some((key % 1000) as u32);
        let found: Vec<u64> = Distinct::default().find(keys, 5, known, &mut numbers).iter().collect();
        let unknown: HashSet<u64> = keys.iter().copied().filter(|key| key % 7 != 3).collect();
        assert_eq!(found.iter().copied().collect::<HashSet<_>>(), unknown);
        assert_eq!(found.len(), unknown.len(), "no key twice");
        assert_eq!(numbers.len(), keys.len());
        for (&key, &number) in keys.iter().zip(&numbers) {
            match known(key) {
                Some(value) => assert_eq!(number, value),
                None => assert_eq!(found[number as usize - 5], key),
            }
        }
    }

    #[test]
    fn many_keys_with_repetitions_and_patterns() {
        check(&[]);
        let keys: Vec<u64> = (0..100_000u64).map(|k| k * k % 30_011).collect();
        check(&keys);
        check(&keys.iter().map(|key| key << 32 | key).collect::<Vec<_>>());
        check(&vec![7; PILE + 1]);
    }

    proptest! {
        #[test]
        fn few_keys(keys in proptest::collection::vec(0u64..50, 0..200)) {
            check(&keys);
        }
    }
}
