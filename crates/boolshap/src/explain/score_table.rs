//! A lookup table of the scores of all inputs, for tables with a million distinct rows.
//!
//! Let F(T) = sum over all inputs x of f(x) (-1)^|x and T|, the Walsh-Hadamard transform of the labels. If absent
//! features are 0 or 1 with equal probability, the expected label of a row e, of which the features in S are known, is
//! the sum of F(T) (-1)^|e and T| / 2^n over the sets T within S. Every such term is a game in which the features of T
//! contribute only together, so Shapley shares it evenly:
//!
//! ```text
//! score(i) = sum over T with i of F(T) (-1)^|e and T| / (|T| 2^n)
//! ```
//!
//! (Banzhaf: over 2^(|T|-1) instead of |T|.) For each i this is a transform again, over the sets without i; the value
//! of e at i only gives the sign. Everything is in whole numbers: with L the least common multiple of 1 to n, the sums
//! for one score are at most L times the sum of all |F(T)|, which is at most 2^(3n/2) by Parseval's identity. This is
//! below 2^63 up to [`ScoreTable::MAX_FEATURES`]. A score is rounded twice, when it becomes a float and when it is
//! divided by L 2^n.
//!
//! Cost: n transforms of 2^(n-1) numbers and n 2^(n-1) floats of memory, 84 MB for 20 features, however many rows there
//! are; then n lookups per row.

use super::engine::Engine;
use super::error_bound;
use super::fast::check_sums;
use super::{ExplainError, Index};
use crate::circuit::{Circuit, CircuitEvaluator};
use crate::data::{Bits, Numbers, Scores};
use crate::lit::{LOW_VARIABLES, Meter, Stopped, Watch};
use rayon::prelude::*;
use std::ops::{Add, Sub};
use std::sync::OnceLock;

/// Shapley and Banzhaf values if absent features are 0 or 1 with equal probability (engine `table`).
pub struct ScoreTable {
    /// The features that the circuit mentions: bit `k` of an input's number is feature `features[k]`.
    features: Vec<usize>,
    /// The label of every input, by its number, as the circuit gives it.
    labels: Vec<u64>,
    /// F(T) by the number of T.
    spectrum: Vec<i32>,
    shapley: OnceLock<Halves>,
    banzhaf: OnceLock<Halves>,
}

/// For each feature that matters, its scores for the inputs that are 0 there, by their number without that bit.
type Halves = Vec<Vec<f64>>;

impl ScoreTable {
    /// The most features that a circuit may mention.
    pub const MAX_FEATURES: usize = 22;

    /// Transforms the labels of all inputs.
    pub fn new(circuit: &Circuit, watch: &Watch<'_>) -> Result<Self, ExplainError> {
        let features: Vec<usize> = circuit.mentioned().iter().map(|var| var.index()).collect();
        if features.len() > Self::MAX_FEATURES {
            let (features, engine, limit) = (features.len(), "a table of the scores of all inputs", Self::MAX_FEATURES);
            return Err(ExplainError::TooManyFeatures { features, engine, limit });
        }
        let labels = labels(circuit, &features, watch)?;
        let mut spectrum: Vec<i32> = (0..1 << features.len()).map(|code| i32::from(label(&labels, code))).collect();
        transform(&mut spectrum);
        let (shapley, banzhaf) = (OnceLock::new(), OnceLock::new());
        Ok(ScoreTable { features, labels, spectrum, shapley, banzhaf })
    }

    /// The expected label of an input.
    pub fn base_value(&self) -> f64 {
        f64::from(self.spectrum[0]) / (1u64 << self.features.len()) as f64
    }

    /// The table of an index, made on first use.
    fn halves(&self, index: Index, watch: &Watch<'_>) -> Result<&Halves, ExplainError> {
        let n = self.features.len();
        let (place, denominator): (_, i64) = match index {
            Index::Shapley => (&self.shapley, common_multiple(n) << n),
            Index::Banzhaf => (&self.banzhaf, 1 << (2 * n).saturating_sub(1)),
            _ => return Err(ExplainError::IndexOfTable),
        };
        if let Some(halves) = place.get() {
            return Ok(halves);
        }
        let scale = denominator >> n;
        let share = |size: u32| if index == Index::Shapley { scale / i64::from(size) } else { scale >> (size - 1) };
        let shares: Vec<i64> = (1..=n as u32).map(share).collect();
        let meter = Meter::new(watch, n as u64);
        let of_feature = |bit: usize| -> Result<Vec<f64>, Stopped> {
            watch.check()?;
            let mut sums: Vec<i64> = (0..self.spectrum.len() / 2)
                .map(|set| i64::from(self.spectrum[with_bit(set, bit)]) * shares[set.count_ones() as usize])
                .collect();
            transform(&mut sums);
            meter.add(1)?;
            Ok(sums.into_iter().map(|sum| sum as f64 / denominator as f64).collect())
        };
        let halves = (0..n).into_par_iter().map(of_feature).collect::<Result<Halves, Stopped>>()?;
        Ok(place.get_or_init(|| halves))
    }

    /// Fills in label, base value and scores of consecutive rows, from this one on.
    fn look_up(&self, rows: &Bits, first: usize, halves: &Halves, predictions: &mut [u32], numbers: &mut [f64]) {
        let width = 1 + rows.features();
        let mut codes = vec![0usize; predictions.len()];
        for (bit, &feature) in self.features.iter().enumerate() {
            let words = rows.feature(feature);
            for (code, row) in codes.iter_mut().zip(first..) {
                *code |= ((words[row / 64] >> (row % 64) & 1) as usize) << bit;
            }
        }
        for (&code, prediction) in codes.iter().zip(predictions) {
            *prediction = label(&self.labels, code).into();
        }
        numbers.iter_mut().step_by(width).for_each(|base| *base = self.base_value());
        for (bit, (&feature, half)) in self.features.iter().zip(halves).enumerate() {
            for (&code, row) in codes.iter().zip(numbers.chunks_exact_mut(width)) {
                let score = half[without_bit(code, bit)];
                // Subtracting from zero avoids minus zero.
                row[1 + feature] = if code >> bit & 1 == 1 { 0.0 - score } else { score };
            }
        }
    }
}

impl Engine for ScoreTable {
    fn explain(&self, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        /// Few enough that their numbers stay in the cache while the features are filled in one by one.
        const TOGETHER: usize = 1 << 12;
        let (halves, width) = (self.halves(index, &watch.silent())?, 1 + rows.features());
        let (mut numbers, mut predictions) = (vec![0.0; rows.rows() * width], vec![0; rows.rows()]);
        let meter = Meter::new(watch, rows.rows() as u64);
        let parts = numbers.par_chunks_mut(TOGETHER * width).zip(predictions.par_chunks_mut(TOGETHER));
        parts.enumerate().try_for_each(|(part, (numbers, predictions))| {
            watch.check()?;
            self.look_up(rows, part * TOGETHER, halves, predictions, numbers);
            meter.add(predictions.len() as u64)
        })?;
        let table = Scores::new(width, (0..rows.rows() as u32).collect(), predictions, Numbers::Floats(numbers));
        if index == Index::Shapley {
            check_sums(&table)?;
        }
        Ok(table)
    }

    fn error_bound(&self, _: Index) -> f64 {
        error_bound::in_all(2.0)
    }

    fn visits(&self, _: Index) -> u128 {
        self.features.len() as u128
    }
}

/// The label of every input, by its number, one bit each; features that are not mentioned are 0.
fn labels(circuit: &Circuit, features: &[usize], watch: &Watch<'_>) -> Result<Vec<u64>, ExplainError> {
    /// An evaluator takes a while to make, so each does many words.
    const WORDS: usize = 256;
    let mut labels = vec![0; (1usize << features.len()).div_ceil(64)];
    labels.par_chunks_mut(WORDS).enumerate().try_for_each(|(part, labels)| {
        watch.check()?;
        let mut evaluator = CircuitEvaluator::new(circuit);
        let mut inputs = vec![0; circuit.variables()];
        for (labels, word) in labels.iter_mut().zip(part * WORDS..) {
            for (bit, &feature) in features.iter().enumerate() {
                let high = || (word as u64 >> (bit - LOW_VARIABLES.len()) & 1).wrapping_neg();
                inputs[feature] = LOW_VARIABLES.get(bit).copied().unwrap_or_else(high);
            }
            *labels = evaluator.words(&inputs)?;
        }
        Ok::<(), ExplainError>(())
    })?;
    Ok(labels)
}

/// The label of the input of this number.
fn label(labels: &[u64], code: usize) -> bool {
    labels[code / 64] >> (code % 64) & 1 == 1
}

/// The Walsh-Hadamard transform, in place: recursive by halves, so that the parts soon fit into the cache.
fn transform<T: Copy + Add<Output = T> + Sub<Output = T>>(values: &mut [T]) {
    if values.len() < 2 {
        return;
    }
    let (low, high) = values.split_at_mut(values.len() / 2);
    for (one, other) in low.iter_mut().zip(&mut *high) {
        (*one, *other) = (*one + *other, *one - *other);
    }
    transform(low);
    transform(high);
}

/// The number of a set with a 1 inserted at this bit.
fn with_bit(set: usize, bit: usize) -> usize {
    let low = (1 << bit) - 1;
    (set & !low) << 1 | 1 << bit | set & low
}

/// The number of an input with this bit removed.
fn without_bit(code: usize, bit: usize) -> usize {
    let low = (1 << bit) - 1;
    code >> 1 & !low | code & low
}

/// The least common multiple of 1 to n.
fn common_multiple(n: usize) -> i64 {
    fn divisor(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    (1..=n as i64).fold(1, |multiple, k| multiple / divisor(multiple, k) * k)
}

#[cfg(test)]
mod tests {
    use super::super::{Definition, Distribution, Labels, Players, Probabilities};
    use super::*;
    use crate::circuit::samples::{assignment, random_circuit};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_row_has_the_scores_of_the_definition((circuit, _) in random_circuit(6)) {
            let n = circuit.variables();
            let players = Players::features(&(0..n).map(|i| format!("x{i}")).collect::<Vec<_>>());
            let uniform = Distribution::Product(Probabilities::uniform(n));
            let judge = Definition::new(Labels::of_circuit(&circuit).unwrap(), players, uniform).unwrap();
            let table = ScoreTable::new(&circuit, &Watch::unlimited()).unwrap();
            let mut rows = Bits::new(n);
            let entities: Vec<Vec<bool>> = (0..1 << n).map(|index| assignment(n, index)).collect();
            entities.iter().for_each(|entity| rows.push(entity));
            for index in [Index::Shapley, Index::Banzhaf] {
                let found = table.explain(&rows, index, &Watch::unlimited()).unwrap();
                let wanted = judge.explain(&entities, index, &Watch::unlimited()).unwrap();
                for (row, wanted) in wanted.iter().map(|one| one.to_floats()).enumerate() {
                    prop_assert_eq!(found.prediction(row), u32::from(wanted.prediction));
                    prop_assert_eq!(found.base_value(row), wanted.base_value);
                    for (one, other) in found.scores(row).iter().zip(&wanted.scores) {
                        prop_assert!((one - other).abs() <= table.error_bound(index), "{one} {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_sums_fit() {
        let n = ScoreTable::MAX_FEATURES;
        // L times the bound of Parseval's identity.
        assert!((common_multiple(n) as f64) * 2f64.powf(1.5 * n as f64) < 2f64.powi(63));
        assert!((common_multiple(n + 1) as f64) * 2f64.powf(1.5 * (n + 1) as f64) > 2f64.powi(63));
        assert_eq!((with_bit(0b1010, 1), without_bit(0b10110, 2)), (0b10110, 0b1010));
    }
}
