//! The distinct ones among many 64-bit keys, and for each key which of them it is.
//!
//! One large hash table would miss the cache at every key. So the keys are first dealt into piles by the top bits of
//! their hash, a pass that writes a few hundred streams in order, and each pile then has a small table of its own that
//! stays in cache; piles are shared among threads. Equal keys land in one pile, so the distinct keys of all piles one
//! after another are the distinct keys. Cost: O(keys), about three sequential passes; the numbering depends only on the
//! keys, not on the number of threads.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A pile of about this many keys has its table in the nearer caches.
const PILE: usize = 1 << 12;
/// More streams than this and dealing misses the translation buffer at every key.
const MAX_PILES: usize = 1 << 10;
/// Marks a number that is not a position among the distinct keys.
const KNOWN: u32 = 1 << 31;

/// Memory that is used again for the next keys: fresh pages cost more than the work done in them.
#[derive(Default)]
pub(super) struct Distinct {
    dealt: Vec<Dealt>,
}

/// A key and where it came from, in twelve bytes.
#[derive(Clone, Copy, Default)]
struct Dealt {
    key: [u32; 2],
    origin: u32,
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
    ) -> Vec<u64> {
        debug_assert!(keys.len() < KNOWN as usize);
        numbers.clear();
        numbers.resize(keys.len(), 0);
        let bits = keys.len().div_ceil(PILE).next_power_of_two().min(MAX_PILES).ilog2();
        if bits == 0 {
            let mut found = Vec::new();
            let mut table = Vec::new();
            let keys = keys.iter().copied();
            distinct_in_pile(keys, &known, &mut table, &mut found, |at, number| numbers[at] = number);
            numbers.iter_mut().for_each(|number| *number = shifted(*number, base));
            return found;
        }
        let starts = self.deal(keys, bits);
        let shared = as_atomics(numbers);
        let found: Vec<Vec<u64>> = (0..1usize << bits)
            .into_par_iter()
            .with_min_len(8)
            .map_init(Vec::new, |table, pile| {
                let dealt = &self.dealt[starts[pile] as usize..starts[pile + 1] as usize];
                let put = |at: usize, number| shared[dealt[at].origin as usize].store(number, Ordering::Relaxed);
                let mut found = Vec::with_capacity(dealt.len());
                let keys = dealt.iter().map(|dealt| u64::from(dealt.key[0]) << 32 | u64::from(dealt.key[1]));
                distinct_in_pile(keys, &known, table, &mut found, put);
                found
            })
            .collect();
        // From positions inside a pile to positions among all.
        let mut offsets = Vec::with_capacity(found.len());
        let mut total = base;
        for pile in &found {
            offsets.push(total);
            total += pile.len() as u32;
        }
        *numbers = from_atomics(shared);
        numbers.par_iter_mut().zip(keys.par_iter()).with_min_len(1 << 14).for_each(|(number, &key)| {
            *number = shifted(*number, offsets[(hash(key) >> (64 - bits)) as usize]);
        });
        found.concat()
    }

    /// Sorts keys and where they came from by the top bits of the hash; tells where each pile starts.
    fn deal(&mut self, keys: &[u64], bits: u32) -> Vec<u32> {
        let shift = 64 - bits;
        let mut starts = vec![0u32; (1 << bits) + 1];
        for &key in keys {
            starts[(hash(key) >> shift) as usize + 1] += 1;
        }
        for pile in 1..starts.len() {
            starts[pile] += starts[pile - 1];
        }
        if self.dealt.len() < keys.len() {
            self.dealt = vec![Dealt::default(); keys.len()];
        }
        let mut next = starts.clone();
        for (origin, &key) in keys.iter().enumerate() {
            let at = &mut next[(hash(key) >> shift) as usize];
            self.dealt[*at as usize] = Dealt { key: [(key >> 32) as u32, key as u32], origin: origin as u32 };
            *at += 1;
        }
        starts
    }
}

/// A position moved by `base`, a known number as it is.
fn shifted(number: u32, base: u32) -> u32 {
    if number & KNOWN != 0 { number & !KNOWN } else { base + number }
}

/// Threads write disjoint places of one array; relaxed stores are plain stores.
fn as_atomics(numbers: &mut Vec<u32>) -> Vec<AtomicU32> {
    std::mem::take(numbers).into_iter().map(AtomicU32::new).collect()
}

fn from_atomics(shared: Vec<AtomicU32>) -> Vec<u32> {
    shared.into_iter().map(AtomicU32::into_inner).collect()
}

#[inline]
fn hash(key: u64) -> u64 {
    // Both halves reach the top bits, which choose the pile, and the middle ones, which choose the place.
    let mixed = (key ^ key >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Adds the distinct unknown keys to `found` in the order of their first appearance; `put` is told the number of each
/// key.
#[inline]
fn distinct_in_pile(
    keys: impl ExactSizeIterator<Item = u64>,
    known: &impl Fn(u64) -> Option<u32>,
    table: &mut Vec<u32>,
    found: &mut Vec<u64>,
    mut put: impl FnMut(usize, u32),
) {
    let size = (2 * keys.len().max(1)).next_power_of_two();
    // Numbers from 1; 0 is a free place.
    table.clear();
    table.resize(size, 0);
    for (at, key) in keys.enumerate() {
        if let Some(number) = known(key) {
            put(at, KNOWN | number);
            continue;
        }
        let mut place = (hash(key) >> 20) as usize & (size - 1);
        let number = loop {
            match table[place] {
                0 => {
                    found.push(key);
                    table[place] = found.len() as u32;
                    break found.len() as u32 - 1;
                }
                number if found[number as usize - 1] == key => break number - 1,
                _ => place = (place + 1) & (size - 1),
            }
        };
        put(at, number);
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
        let found = Distinct::default().find(keys, 5, known, &mut numbers);
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
