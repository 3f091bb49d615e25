//! Finds the distinct keys among many: gives equal keys the same number and marks keys that occur more than once.
//!
//! One large hash table would miss the cache at every key. So the keys are first distributed into piles by the top bits
//! of their hash, a pass that writes a few hundred sequential streams, and each pile then gets a small hash table that
//! stays in cache. Equal keys are in the same pile, so the distinct keys are those of all piles in sequence. The
//! results are returned by a second distribution: visited in their original order, the keys of each pile find their
//! results in sequence, so that no pass needs to store positions or jump about in memory.
//!
//! Threads distribute parts of the keys and share the piles. Cost: O(keys), four sequential passes. The numbering
//! depends on the keys alone, not on the number of threads.

use rayon::prelude::*;
use std::ops::Range;

/// The table of a pile with about this many keys fits into the nearer caches.
const PILE: usize = 1 << 12;
/// With more streams than this, distributing misses the translation lookaside buffer at every key.
const MAX_PILES: usize = 1 << 10;
/// Parts for threads are at least this large; an even number.
const MIN_PART: usize = 1 << 16;

/// Set in the number of a key that occurs more than once.
pub(super) const SHARED: u32 = 1 << 31;

/// Flags used while piles are processed: the number is already known; the key occurs more than once.
const KNOWN: u32 = 1 << 31;
const SEVERAL: u32 = 1 << 30;

pub(super) trait Key: Copy + Default + Eq + Send + Sync {
    /// All bits of the key must influence the top bits of the hash: the first of these choose the pile, the next the
    /// slot in its table.
    fn hash(self) -> u64;
}

impl Key for u32 {
    #[inline]
    fn hash(self) -> u64 {
        u64::from(self).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl Key for u64 {
    #[inline]
    fn hash(self) -> u64 {
        (self ^ self >> 32 ^ self << 29).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// A sequence of keys.
pub(super) trait Keys: Sync {
    type Key: Key;

    fn len(&self) -> usize;

    /// Visits the keys of a range that starts at an even position.
    fn each(&self, range: Range<usize>, visit: impl FnMut(Self::Key));
}

impl Keys for [u64] {
    type Key = u64;

    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn each(&self, range: Range<usize>, visit: impl FnMut(u64)) {
        self[range].iter().copied().for_each(visit);
    }
}

/// The lower and the upper half of each word.
pub(super) struct Halves<'a>(pub(super) &'a [u64]);

impl Keys for Halves<'_> {
    type Key = u32;

    fn len(&self) -> usize {
        2 * self.0.len()
    }

    #[inline]
    fn each(&self, range: Range<usize>, mut visit: impl FnMut(u32)) {
        // A single call site, so that it is inlined into the loop.
        for &word in &self.0[range.start / 2..range.end / 2] {
            for half in [word as u32, (word >> 32) as u32] {
                visit(half);
            }
        }
    }
}

/// The lower half of each word.
pub(super) struct LowHalves<'a>(pub(super) &'a [u64]);

impl Keys for LowHalves<'_> {
    type Key = u32;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn each(&self, range: Range<usize>, visit: impl FnMut(u32)) {
        self.0[range].iter().map(|&word| word as u32).for_each(visit);
    }
}

/// Working memory, kept for the next keys because fresh pages cost more than the work done in them.
#[derive(Default)]
pub(super) struct Distinct<K> {
    parts: Vec<Part<K>>,
    /// For the last keys: the size of a part, and the number of bits that choose a pile.
    size: usize,
    pile_bits: u32,
    /// For each pile, the number of distinct keys in the piles before it.
    offsets: Vec<u32>,
}

/// The distinct keys, in piles.
pub(super) struct Found<K>(Vec<Vec<K>>);

impl<K: Copy> Found<K> {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = K> {
        self.0.iter().flatten().copied()
    }
}

impl<K: Key> Found<K> {
    /// Visits each key, on all threads.
    pub(super) fn each(&self, visit: impl Fn(K) + Sync) {
        self.0.par_iter().with_min_len(8).flatten_iter().for_each(|&key| visit(key));
    }

    /// Converts each key and writes the result to its place, on all threads.
    pub(super) fn write<T: Send>(&self, mut places: &mut [T], make: impl Fn(K) -> T + Sync) {
        let mut piles = Vec::with_capacity(self.0.len());
        for pile in &self.0 {
            let own;
            (own, places) = places.split_at_mut(pile.len());
            piles.push((pile, own));
        }
        piles.into_par_iter().with_min_len(8).for_each(|(pile, own)| {
            own.iter_mut().zip(pile).for_each(|(place, &key)| *place = make(key));
        });
    }
}

/// Sets the length of a list, whose content is then arbitrary. A new list consists of the system's zero pages, which
/// saves writing them twice.
pub(super) fn make_room<T: Copy + Default>(list: &mut Vec<T>, length: usize) {
    match length > list.capacity() {
        true => *list = vec![T::default(); length],
        false => list.resize(length, T::default()),
    }
}

/// A part of the keys, distributed into piles.
#[derive(Default)]
struct Part<K> {
    keys: Vec<K>,
    numbers: Vec<u32>,
    /// Where each pile starts.
    starts: Vec<u32>,
}

#[inline]
fn pile<K: Key>(key: K, bits: u32) -> usize {
    // Two shifts, since a shift by 64 is not allowed when `bits` is 0.
    (key.hash() >> 1 >> (63 - bits)) as usize
}

impl<K: Key> Distinct<K> {
    /// The distinct keys, except those for which `known` returns a number, which must be below 2^30. Must be followed
    /// by [`Distinct::hand_back`] with the same keys.
    pub(super) fn find<Q: Keys<Key = K> + ?Sized>(
        &mut self,
        keys: &Q,
        known: impl Fn(K) -> Option<u32> + Sync,
    ) -> Found<K> {
        let count = keys.len();
        debug_assert!(count < SEVERAL as usize);
        let bits = count.div_ceil(PILE).next_power_of_two().min(MAX_PILES).ilog2();
        let threads = rayon::current_num_threads().min(count.div_ceil(MIN_PART)).max(1);
        (self.pile_bits, self.size) = (bits, count.div_ceil(threads).next_multiple_of(2).max(2));
        self.parts.resize_with(count.div_ceil(self.size), Part::default);
        let size = self.size;
        let range = |part: usize| part * size..count.min((part + 1) * size);
        self.parts.par_iter_mut().enumerate().for_each(|(at, part)| part.deal(keys, range(at), bits));

        // For each pile, its keys and the space for its results in all parts.
        let mut piles: Vec<Vec<(&[K], &mut [u32])>> = (0..1 << bits).map(|_| Vec::new()).collect();
        for part in &mut self.parts {
            let mut room = part.numbers.as_mut_slice();
            for (pile, range) in piles.iter_mut().zip(part.starts.windows(2)) {
                let (mine, rest) = room.split_at_mut((range[1] - range[0]) as usize);
                room = rest;
                pile.push((&part.keys[range[0] as usize..range[1] as usize], mine));
            }
        }
        let found: Vec<Vec<K>> = piles
            .into_par_iter()
            .with_min_len(8)
            .map_init(Table::default, |table, pile| table.take(pile, bits, &known))
            .collect();
        self.offsets.clear();
        let mut total = 0;
        for pile in &found {
            self.offsets.push(total);
            total += pile.len() as u32;
        }
        Found(found)
    }

    /// Writes to `numbers`, for each key, `base` plus its position among the distinct keys, with [`SHARED`] if it
    /// occurs more than once; a known number is passed through `resolve` and counts as shared.
    pub(super) fn hand_back<Q: Keys<Key = K> + ?Sized>(
        &mut self,
        keys: &Q,
        base: u32,
        resolve: impl Fn(u32) -> u32 + Sync,
        numbers: &mut Vec<u32>,
    ) {
        make_room(numbers, keys.len());
        let (bits, size, offsets) = (self.pile_bits, self.size, &self.offsets);
        numbers.par_chunks_mut(size).zip(&mut self.parts).enumerate().for_each(|(at, (numbers, part))| {
            let range = at * size..at * size + numbers.len();
            let mut numbers = numbers.iter_mut();
            keys.each(range, |key| {
                let pile = pile(key, bits);
                let start = &mut part.starts[pile];
                let found = part.numbers[*start as usize];
                *start += 1;
                let number = numbers.next().expect("a number for each key");
                *number = match found & KNOWN {
                    0 => (base + offsets[pile] + (found & !SEVERAL)) | ((found & SEVERAL) << 1),
                    _ => resolve(found & !KNOWN) | SHARED,
                };
            });
        });
    }
}

impl<K: Key> Part<K> {
    /// Sorts keys by pile; within a pile they keep their order.
    fn deal<Q: Keys<Key = K> + ?Sized>(&mut self, keys: &Q, range: Range<usize>, bits: u32) {
        self.starts.clear();
        self.starts.resize((1 << bits) + 1, 0);
        let starts = &mut self.starts[1..];
        keys.each(range.clone(), |key| starts[pile(key, bits)] += 1);
        for pile in 1..self.starts.len() {
            self.starts[pile] += self.starts[pile - 1];
        }
        make_room(&mut self.keys, range.len());
        make_room(&mut self.numbers, range.len());
        let mut next = self.starts.clone();
        let dealt = self.keys.as_mut_slice();
        keys.each(range, |key| {
            let at = &mut next[pile(key, bits)];
            dealt[*at as usize] = key;
            *at += 1;
        });
    }
}

/// A hash table from keys to their positions among the distinct keys, counted from 1; 0 marks a free place.
#[derive(Default)]
struct Table<K> {
    places: Vec<(K, u32)>,
    /// Which of the distinct keys have occurred again.
    again: Vec<bool>,
}

impl<K: Key> Table<K> {
    /// The distinct unknown keys of a pile in the order of their first appearance; numbers all keys.
    #[inline]
    fn take(&mut self, pile: Vec<(&[K], &mut [u32])>, pile_bits: u32, known: &impl Fn(K) -> Option<u32>) -> Vec<K> {
        let count: usize = pile.iter().map(|(keys, _)| keys.len()).sum();
        self.places.clear();
        self.places.resize((2 * count.max(1)).next_power_of_two(), (K::default(), 0));
        self.again.resize(self.again.len().max(count), false);
        let mut found = vec![K::default(); count + 1];
        let mut next = 0u32;
        let places = self.places.as_mut_slice();
        let mask = places.len() - 1;
        let shift = 64 - pile_bits - places.len().ilog2();
        let mut rooms = Vec::with_capacity(pile.len());
        for (keys, numbers) in pile {
            for (number, &key) in numbers.iter_mut().zip(keys) {
                if let Some(value) = known(key) {
                    *number = KNOWN | value;
                    continue;
                }
                let mut at = (key.hash() >> shift) as usize & mask;
                while (places[at].1 != 0) & (places[at].0 != key) {
                    at = (at + 1) & mask;
                }
                // No branch on `new`: it would be unpredictable.
                let new = places[at].1 == 0;
                let position = if new { next } else { places[at].1 - 1 };
                places[at] = (key, position + 1);
                self.again[position as usize] = !new;
                found[next as usize] = key;
                next += u32::from(new);
                *number = position;
            }
            rooms.push(numbers);
        }
        for number in rooms.into_iter().flatten().filter(|number| **number & KNOWN == 0) {
            *number |= u32::from(self.again[*number as usize]) * SEVERAL;
        }
        found.truncate(next as usize);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn check(keys: &[u64]) {
        let known = |key: u64| (key % 7 == 3).then_some((key % 1000) as u32);
        let mut distinct = Distinct::default();
        let found = distinct.find(keys, known);
        let mut numbers = Vec::new();
        distinct.hand_back(keys, 5, |value| value + 1, &mut numbers);
        let found: Vec<u64> = found.iter().collect();
        let mut counts: HashMap<u64, usize> = HashMap::new();
        keys.iter().for_each(|&key| *counts.entry(key).or_default() += 1);
        assert_eq!(found.len(), counts.keys().filter(|key| *key % 7 != 3).count(), "each key once");
        assert_eq!(numbers.len(), keys.len());
        for (&key, &number) in keys.iter().zip(&numbers) {
            let (number, shared) = (number & !SHARED, number & SHARED != 0);
            match known(key) {
                Some(value) => assert_eq!((number, shared), (value + 1, true)),
                None => assert_eq!((found[number as usize - 5], shared), (key, counts[&key] > 1)),
            }
        }
    }

    #[test]
    fn many_keys_with_repetitions_and_patterns() {
        check(&[]);
        check(&[9]);
        let keys: Vec<u64> = (0..100_001u64).map(|k| k * k % 30_011).collect();
        check(&keys);
        check(&keys.iter().map(|key| key << 32 | key).collect::<Vec<_>>());
        check(&vec![7; PILE + 1]);
    }

    #[test]
    fn halves_come_in_the_order_of_their_bits() {
        let words: Vec<u64> = (0..70_000u64).map(|k| ((k % 97) << 32) | (k % 89)).collect();
        let (mut both, mut low) = (Vec::new(), Vec::new());
        let mut distinct = Distinct::default();
        let found: Vec<u32> = distinct.find(&Halves(&words), |_| None).iter().collect();
        distinct.hand_back(&Halves(&words), 0, |value| value, &mut both);
        let whole = |number: u32| u64::from(found[(number & !SHARED) as usize]);
        let again: Vec<u64> = both.chunks_exact(2).map(|pair| whole(pair[1]) << 32 | whole(pair[0])).collect();
        assert_eq!(again, words);
        let found: Vec<u32> = distinct.find(&LowHalves(&words), |_| None).iter().collect();
        distinct.hand_back(&LowHalves(&words), 0, |value| value, &mut low);
        assert_eq!(found.len(), 89);
        assert!(low.iter().zip(&words).all(|(number, word)| found[(number & !SHARED) as usize] == *word as u32));
    }

    proptest! {
        #[test]
        fn few_keys(keys in proptest::collection::vec(0u64..50, 0..200)) {
            check(&keys);
        }
    }
}
