//! Entities as bits, stored by feature: word `w` of a feature holds rows `64 w` to `64 w + 63`, as the evaluator
//! expects.

/// A table of bits; rows are appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bits {
    rows: usize,
    features: Vec<Vec<u64>>,
}

impl Bits {
    /// An empty table.
    pub fn new(features: usize) -> Self {
        Bits { rows: 0, features: vec![Vec::new(); features] }
    }

    /// A table of this many rows, all false.
    pub fn zeros(features: usize, rows: usize) -> Self {
        Bits { rows, features: vec![vec![0; rows.div_ceil(64)]; features] }
    }

    /// A table made of these words, feature by feature; bits beyond the last row must be 0.
    pub(super) fn of_features(rows: usize, features: Vec<Vec<u64>>) -> Self {
        debug_assert!(features.iter().all(|words| words.len() == rows.div_ceil(64)));
        Bits { rows, features }
    }

    /// Reads rows of one byte per feature; the error is the position of the first byte that is neither 0 nor 1.
    ///
    /// # Panics
    /// If the bytes are not whole rows.
    pub fn from_bytes(features: usize, rows: usize, bytes: &[u8]) -> Result<Self, usize> {
        assert_eq!(bytes.len(), rows * features, "whole rows");
        let mut bits = Self::zeros(features, rows);
        // Eight features of a row are read as one number. Eight such rows, each shifted by one more bit, add up to a
        // byte for each feature.
        let mut eights = vec![0u64; features.div_ceil(8)];
        let mut others = 0;
        for (group, bytes) in bytes.chunks(8 * features.max(1)).enumerate() {
            eights.fill(0);
            for (row, bytes) in bytes.chunks_exact(features).enumerate() {
                let (whole, rest) = bytes.as_chunks::<8>();
                let mut last = [0; 8];
                last[..rest.len()].copy_from_slice(rest);
                for (eight, bytes) in eights.iter_mut().zip(whole.iter().chain([&last])) {
                    let number = u64::from_le_bytes(*bytes);
                    others |= number;
                    *eight |= number << row;
                }
            }
            let found = eights.iter().flat_map(|eight| eight.to_le_bytes());
            for (feature, byte) in bits.features.iter_mut().zip(found) {
                feature[group / 8] |= u64::from(byte) << (group % 8 * 8);
            }
        }
        if others & !0x0101_0101_0101_0101 != 0 {
            return Err(bytes.iter().position(|&byte| byte > 1).expect("there is such a byte"));
        }
        Ok(bits)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features.len()
    }

    /// The number of words per feature.
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(64)
    }

    /// A feature's words; bits beyond the last row are 0.
    #[inline]
    pub fn feature(&self, feature: usize) -> &[u64] {
        &self.features[feature]
    }

    /// The words of 64 rows, one for each feature.
    pub fn block(&self, block: usize) -> Vec<u64> {
        self.features.iter().map(|words| words[block]).collect()
    }

    /// One bit.
    #[inline]
    pub fn get(&self, row: usize, feature: usize) -> bool {
        self.features[feature][row / 64] >> (row % 64) & 1 == 1
    }

    /// Sets a bit to 1.
    pub fn set(&mut self, row: usize, feature: usize) {
        debug_assert!(row < self.rows);
        self.features[feature][row / 64] |= 1 << (row % 64);
    }

    /// Sets a feature's values in 64 rows; bits beyond the last row must be 0.
    pub(super) fn set_word(&mut self, feature: usize, block: usize, word: u64) {
        self.features[feature][block] = word;
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[bool]) {
        assert_eq!(row.len(), self.features.len(), "one value per feature");
        let lane = self.rows % 64;
        for (words, &value) in self.features.iter_mut().zip(row) {
            if lane == 0 {
                words.push(0);
            }
            *words.last_mut().expect("a word was pushed") |= u64::from(value) << lane;
        }
        self.rows += 1;
    }

    /// Adds all rows of another table with the same number of features.
    pub fn append(&mut self, other: &Bits) {
        assert_eq!(other.features.len(), self.features.len(), "same number of features");
        let shift = self.rows % 64;
        self.rows += other.rows;
        let blocks = self.blocks();
        for (words, more) in self.features.iter_mut().zip(&other.features) {
            for &word in more {
                if shift > 0 {
                    *words.last_mut().expect("a word is begun") |= word << shift;
                    words.push(word >> (64 - shift));
                } else {
                    words.push(word);
                }
            }
            words.truncate(blocks);
        }
    }

    /// The rows at these positions, in this order.
    pub fn select(&self, rows: &[usize]) -> Bits {
        let word = |feature: &[u64], rows: &[usize]| {
            let bit = |(lane, &row): (usize, &usize)| (feature[row / 64] >> (row % 64) & 1) << lane;
            rows.iter().enumerate().map(bit).fold(0, |word, bit| word | bit)
        };
        let select = |feature: &Vec<u64>| rows.chunks(64).map(|rows| word(feature, rows)).collect();
        Bits { rows: rows.len(), features: self.features.iter().map(select).collect() }
    }

    /// One row.
    #[inline]
    pub fn row(&self, row: usize) -> Vec<bool> {
        (0..self.features.len()).map(|feature| self.get(row, feature)).collect()
    }

    /// For each feature, the number of rows in which it is 1.
    pub fn ones(&self) -> Vec<u64> {
        self.features.iter().map(|words| words.iter().map(|word| u64::from(word.count_ones())).sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_bits() {
        for (features, rows) in [(0, 5), (3, 0), (1, 64), (5, 130)] {
            let byte = |row: usize, feature: usize| (row * 7 + feature * 3) % 5 % 2;
            let cells = (0..rows).flat_map(|row| (0..features).map(move |feature| byte(row, feature) as u8));
            let mut bytes: Vec<u8> = cells.collect();
            let bits = Bits::from_bytes(features, rows, &bytes).unwrap();
            assert_eq!((bits.rows(), bits.features()), (rows, features));
            for row in 0..rows {
                assert!((0..features).all(|feature| bits.get(row, feature) == (byte(row, feature) == 1)));
            }
            if let Some(last) = bytes.last_mut() {
                *last = 2;
                assert_eq!(Bits::from_bytes(features, rows, &bytes), Err(features * rows - 1));
            }
        }
    }

    #[test]
    fn appending_equals_pushing_row_by_row() {
        let row = |i: usize| [2, 3, 7].map(|n| i.is_multiple_of(n));
        for (first, second) in [(0, 5), (5, 0), (64, 64), (63, 2), (70, 130), (1, 64)] {
            let mut all = Bits::new(3);
            (0..first + second).for_each(|i| all.push(&row(i)));
            let (mut a, mut b) = (Bits::new(3), Bits::new(3));
            (0..first).for_each(|i| a.push(&row(i)));
            (first..first + second).for_each(|i| b.push(&row(i)));
            a.append(&b);
            assert_eq!(a, all, "{first} + {second}");
            let odd: Vec<usize> = (0..all.rows()).rev().step_by(3).collect();
            let mut picked = Bits::new(3);
            odd.iter().for_each(|&i| picked.push(&row(i)));
            assert_eq!(all.select(&odd), picked);
            assert_eq!(all.ones()[0], (first + second).div_ceil(2) as u64);
        }
    }
}
