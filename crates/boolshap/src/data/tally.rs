//! Rows collapsed: each distinct row once, with how often each class occurs in it. Binarised tables repeat themselves a
//! lot (20,640 blocks of houses are 454 distinct rows), and neither training nor scoring needs the order of rows.

use super::Bits;
use std::collections::BTreeMap;

/// Distinct rows in ascending order (as numbers whose lowest bit is the first feature), with class counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    rows: Bits,
    counts: Vec<Vec<u64>>,
}

impl Tally {
    /// Collapses the rows for which `keep` holds.
    pub fn new(bits: &Bits, labels: &[u32], classes: usize, keep: impl Fn(usize) -> bool) -> Self {
        let mut groups: BTreeMap<Vec<u64>, Vec<u64>> = BTreeMap::new();
        let words = bits.features().div_ceil(64);
        for row in (0..bits.rows()).filter(|&row| keep(row)) {
            // Highest word first, so that vectors compare as the numbers they spell.
            let mut key = vec![0u64; words];
            for feature in 0..bits.features() {
                key[words - 1 - feature / 64] |= u64::from(bits.get(row, feature)) << (feature % 64);
            }
            groups.entry(key).or_insert_with(|| vec![0; classes])[labels[row] as usize] += 1;
        }
        let mut rows = Bits::new(bits.features());
        let mut counts = Vec::with_capacity(groups.len());
        for (key, count) in groups {
            let bit = |feature: usize| key[words - 1 - feature / 64] >> (feature % 64) & 1 == 1;
            rows.push(&(0..bits.features()).map(bit).collect::<Vec<_>>());
            counts.push(count);
        }
        Tally { rows, counts }
    }

    /// A tally of given rows and counts; the rows must be distinct and ascending.
    pub fn from_counts(rows: Bits, counts: Vec<Vec<u64>>) -> Self {
        assert_eq!(rows.rows(), counts.len(), "one vector of counts a row");
        Tally { rows, counts }
    }

    /// The distinct rows.
    pub fn rows(&self) -> &Bits {
        &self.rows
    }

    /// How often each class occurs, for each distinct row.
    pub fn counts(&self) -> &[Vec<u64>] {
        &self.counts
    }

    /// How many rows there were.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// How many of the rows have each feature.
    pub fn ones(&self) -> Vec<u64> {
        let weight = |row: usize| self.counts[row].iter().sum::<u64>();
        let ones = |feature| (0..self.rows.rows()).filter(|&row| self.rows.get(row, feature)).map(weight).sum();
        (0..self.rows.features()).map(ones).collect()
    }

    /// The most rows that any function of the features can label right.
    pub fn ceiling(&self) -> u64 {
        self.counts.iter().filter_map(|counts| counts.iter().max()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_counted_by_class() {
        let mut bits = Bits::new(2);
        for row in [[true, false], [false, true], [true, false], [true, false], [false, false]] {
            bits.push(&row);
        }
        let tally = Tally::new(&bits, &[1, 0, 1, 0, 1], 2, |row| row != 4);
        assert_eq!((0..2).map(|row| tally.rows().row(row)).collect::<Vec<_>>(), [[true, false], [false, true]]);
        assert_eq!(tally.counts(), [[1, 2], [1, 0]]);
        assert_eq!((tally.total(), tally.ceiling(), tally.ones()), (4, 3, vec![3, 1]));
    }
}
