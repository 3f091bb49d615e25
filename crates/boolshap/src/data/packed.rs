//! Entities stored by row: feature `f` of a row is bit `f % 64` of its word `f / 64`, so equal rows have equal words.
//!
//! [`Bits`] stores the same bits by feature. A block of 64 rows and 64 features is a square of bits, so converting
//! between the layouts means transposing such squares: six rounds swap ever smaller quarters, 64 words per round
//! (Warren, "Hacker's Delight", 2nd edition, 2012, section 7-3).

use super::Bits;

/// Rows of bits, with the words of a row side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedRows {
    features: usize,
    rows: usize,
    words: Vec<u64>,
}

impl PackedRows {
    /// An empty table.
    pub fn new(features: usize) -> Self {
        PackedRows { features, rows: 0, words: Vec::new() }
    }

    /// Converts from the layout by feature.
    pub fn from_bits(bits: &Bits) -> Self {
        let (features, rows) = (bits.features(), bits.rows());
        let stride = stride(features);
        let mut words = vec![0; rows * stride];
        for block in 0..bits.blocks() {
            for word in 0..stride {
                let mut square = [0; 64];
                for (line, feature) in square.iter_mut().zip(64 * word..features) {
                    *line = bits.feature(feature)[block];
                }
                transpose(&mut square);
                for (line, row) in square.into_iter().zip(64 * block..rows) {
                    words[row * stride + word] = line;
                }
            }
        }
        PackedRows { features, rows, words }
    }

    /// Converts to the layout by feature.
    pub fn to_bits(&self) -> Bits {
        let stride = stride(self.features);
        let mut bits = Bits::zeros(self.features, self.rows);
        for block in 0..bits.blocks() {
            for word in 0..stride {
                let mut square = [0; 64];
                for (line, row) in square.iter_mut().zip(64 * block..self.rows) {
                    *line = self.words[row * stride + word];
                }
                transpose(&mut square);
                for (line, feature) in square.into_iter().zip(64 * word..self.features) {
                    bits.set_word(feature, block, line);
                }
            }
        }
        bits
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many words a row takes.
    pub fn row_words(&self) -> usize {
        stride(self.features)
    }

    /// The words of a row.
    pub fn row(&self, row: usize) -> &[u64] {
        let stride = self.row_words();
        &self.words[row * stride..(row + 1) * stride]
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[u64]) {
        assert_eq!(row.len(), self.row_words(), "as many words");
        self.words.extend_from_slice(row);
        self.rows += 1;
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.words.clear();
        self.rows = 0;
    }
}

fn stride(features: usize) -> usize {
    features.div_ceil(64)
}

/// Transposes a square of bits: bit `j` of line `i` becomes bit `i` of line `j`.
fn transpose(square: &mut [u64; 64]) {
    let mut half = 32;
    let mut mask = u64::MAX >> 32;
    while half > 0 {
        for line in (0..64).filter(|line| line & half == 0) {
            let swapped = (square[line] >> half ^ square[line + half]) & mask;
            square[line + half] ^= swapped;
            square[line] ^= swapped << half;
        }
        half /= 2;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    #[test]
    fn packing_moves_every_bit_to_its_place() {
        let mut chance = Seeded::new(3, 0);
        for (features, rows) in [(0, 3), (1, 1), (13, 64), (13, 65), (63, 5), (64, 200), (65, 63), (784, 130), (7, 0)] {
            let mut bits = Bits::zeros(features, rows);
            for row in 0..rows {
                (0..features).filter(|_| chance.below(2) == 1).for_each(|feature| bits.set(row, feature));
            }
            let packed = PackedRows::from_bits(&bits);
            assert_eq!((packed.rows(), packed.row_words()), (rows, features.div_ceil(64)));
            for row in 0..rows {
                for feature in 0..features {
                    let bit = packed.row(row)[feature / 64] >> (feature % 64) & 1 == 1;
                    assert_eq!(bit, bits.get(row, feature), "row {row}, feature {feature} of {features}");
                }
            }
            assert_eq!(packed.to_bits(), bits);
        }
    }
}
