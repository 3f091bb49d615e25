//! Distinct rows with their class counts. Binarised tables have many equal rows (20,640 blocks of houses give 454
//! distinct rows), and neither training nor scoring depends on the order of rows.

use super::Bits;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Distinct rows in ascending order, compared from the first feature on, with class counts. Every row has a nonzero
/// count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    rows: Bits,
    counts: Vec<Vec<u64>>,
}

impl Tally {
    /// Counts the rows for which `keep` holds.
    pub fn new(bits: &Bits, labels: &[u32], classes: usize, keep: impl Fn(usize) -> bool) -> Self {
        let kept = (0..bits.rows()).filter(|&row| keep(row));
        Self::from_counts(
            bits.features(),
            kept.map(|row| {
                let mut counts = vec![0; classes];
                counts[labels[row] as usize] = 1;
                (bits.row(row), counts)
            }),
        )
    }

    /// Merges rows that already have counts.
    pub fn from_counts(features: usize, counted: impl Iterator<Item = (Vec<bool>, Vec<u64>)>) -> Self {
        let mut groups: BTreeMap<Vec<bool>, Vec<u64>> = BTreeMap::new();
        for (row, counts) in counted.filter(|(_, counts)| counts.iter().any(|&count| count > 0)) {
            let group = groups.entry(row).or_insert_with(|| vec![0; counts.len()]);
            group.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let mut rows = Bits::new(features);
        groups.keys().for_each(|row| rows.push(row));
        Tally { rows, counts: groups.into_values().collect() }
    }

    /// The rows of both tallies.
    pub fn merged(&self, other: &Self) -> Self {
        let counted = |tally: &Self| -> Vec<_> {
            tally.counts.iter().enumerate().map(|(row, counts)| (tally.rows.row(row), counts.clone())).collect()
        };
        Self::from_counts(self.rows.features(), counted(self).into_iter().chain(counted(other)))
    }

    /// The indices of the distinct rows, the most frequent first.
    pub fn by_frequency(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.counts.len()).collect();
        order.sort_by_key(|&row| Reverse(self.counts[row].iter().sum::<u64>()));
        order
    }

    /// The distinct rows.
    pub fn rows(&self) -> &Bits {
        &self.rows
    }

    /// For each distinct row, how often each class occurs.
    pub fn counts(&self) -> &[Vec<u64>] {
        &self.counts
    }

    /// The total number of rows.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// For each feature, the number of rows in which it is 1.
    pub fn ones(&self) -> Vec<u64> {
        let weight = |row: usize| self.counts[row].iter().sum::<u64>();
        let ones = |feature| (0..self.rows.rows()).filter(|&row| self.rows.get(row, feature)).map(weight).sum();
        (0..self.rows.features()).map(ones).collect()
    }

    /// The most rows that any function of the features can label correctly.
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
        assert_eq!((0..2).map(|row| tally.rows().row(row)).collect::<Vec<_>>(), [[false, true], [true, false]]);
        assert_eq!(tally.counts(), [[1, 0], [1, 2]]);
        assert_eq!((tally.total(), tally.ceiling(), tally.ones()), (4, 3, vec![3, 1]));
        assert_eq!(tally.by_frequency(), [1, 0]);
        let all = tally.merged(&Tally::new(&bits, &[1, 0, 1, 0, 1], 2, |row| row >= 3));
        assert_eq!(all.counts(), [[0, 1], [1, 0], [2, 2]]);
    }
}
