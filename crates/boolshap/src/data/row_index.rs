//! Distinct rows, numbered in order of first occurrence.
//!
//! The words of all rows lie side by side in one vector; an open-addressing hash table of row numbers, at most half
//! full, finds them. A row of up to 64 features takes 8 bytes for itself and 8 to 16 in the table.

use std::hash::{BuildHasher, RandomState};

/// A set of packed rows of equal width.
#[derive(Debug, Clone)]
pub struct RowIndex {
    row_words: usize,
    words: Vec<u64>,
    rows: u32,
    /// Row numbers, or [`FREE`]; the length is a power of two.
    slots: Vec<u32>,
    seed: u64,
}

const FREE: u32 = u32::MAX;
const FEWEST_SLOTS: usize = 1024;

impl RowIndex {
    /// An empty set of rows of this many words.
    pub fn new(row_words: usize) -> Self {
        // A random seed, so that no file can be crafted to make all of its rows collide.
        let seed = RandomState::new().hash_one(row_words);
        RowIndex { row_words, words: Vec::new(), rows: 0, slots: vec![FREE; FEWEST_SLOTS], seed }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The approximate memory use.
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() + self.slots.len() * size_of::<u32>()
    }

    /// The number of a row, and whether it is new.
    pub fn insert(&mut self, row: &[u64]) -> (u32, bool) {
        debug_assert_eq!(row.len(), self.row_words);
        if 2 * self.len() >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = self.hash(row) as usize & mask;
        loop {
            match self.slots[slot] {
                FREE => break,
                number if self.row(number) == row => return (number, false),
                _ => slot = (slot + 1) & mask,
            }
        }
        let number = self.rows;
        assert!(number < FREE - 1, "rows have numbers of 32 bits");
        self.slots[slot] = number;
        self.words.extend_from_slice(row);
        self.rows += 1;
        (number, true)
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.words.clear();
        self.rows = 0;
        self.slots.truncate(FEWEST_SLOTS);
        self.slots.fill(FREE);
    }

    fn row(&self, number: u32) -> &[u64] {
        let start = number as usize * self.row_words;
        &self.words[start..start + self.row_words]
    }

    fn grow(&mut self) {
        let mask = 2 * self.slots.len() - 1;
        let mut slots = vec![FREE; mask + 1];
        for number in 0..self.rows {
            let mut slot = self.hash(self.row(number)) as usize & mask;
            while slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            slots[slot] = number;
        }
        self.slots = slots;
    }

    /// Mixes in every word with a 128-bit product whose halves are added, so that all bits of the words affect the low
    /// bits.
    fn hash(&self, row: &[u64]) -> u64 {
        row.iter().fold(self.seed, |hash, word| {
            let product = u128::from(hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
            (product >> 64) as u64 ^ product as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;
    use std::collections::HashMap;

    #[test]
    fn rows_are_numbered_as_a_map_numbers_them() {
        let mut chance = Seeded::new(5, 0);
        for (row_words, values) in [(0, 1), (1, 3), (1, 100_000), (3, 20), (13, 2)] {
            let mut index = RowIndex::new(row_words);
            for round in 0..2 {
                let mut map: HashMap<Vec<u64>, u32> = HashMap::new();
                for _ in 0..20_000 {
                    // Rows that differ only in high bits must neither be confused nor all collide.
                    let row: Vec<u64> = (0..row_words).map(|_| (chance.below(values) as u64) << 40).collect();
                    let next = map.len() as u32;
                    let new = !map.contains_key(&row);
                    let number = *map.entry(row.clone()).or_insert(next);
                    assert_eq!(index.insert(&row), (number, new), "round {round}");
                }
                assert_eq!(index.len(), map.len());
                index.clear();
                assert!(index.is_empty());
            }
        }
    }
}
