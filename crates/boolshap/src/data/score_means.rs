//! The mean absolute scores over all rows written to a sink.
//!
//! Rows are written by number, so it is enough to count how often each number is written; the counts become sums when
//! the learned rows are forgotten, and at the end. Fractions stay fractions, and sums of floats are exact until the
//! mean is rounded, so means do not depend on the order of the rows.

use super::{DataError, ExactSum, KeptCells, Numbers, ScoreSink, Scores};
use dashu_base::Abs;
use dashu_ratio::RBig;

/// A sink that passes everything on and keeps the sums.
pub struct ScoreMeans<'s> {
    inner: &'s mut dyn ScoreSink,
    exact: bool,
    learned: Scores,
    counts: Vec<u64>,
    floats: Vec<ExactSum>,
    fractions: Vec<RBig>,
    rows: u64,
}

impl<'s> ScoreMeans<'s> {
    /// Wraps a sink for rows of this many numbers, exact or not.
    pub fn new(inner: &'s mut dyn ScoreSink, numbers: usize, exact: bool) -> Self {
        let learned = Scores::empty(numbers - 1, exact);
        let (in_floats, in_fractions) = if exact { (0, numbers) } else { (numbers, 0) };
        let (floats, fractions) = (vec![ExactSum::default(); in_floats], vec![RBig::ZERO; in_fractions]);
        ScoreMeans { inner, exact, learned, counts: Vec::new(), floats, fractions, rows: 0 }
    }

    fn sum_up(&mut self) {
        for (row, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let cells = self.learned.cells(row);
            match &self.learned.numbers {
                Numbers::Floats(numbers) => {
                    self.floats.iter_mut().zip(&numbers[cells]).for_each(|(sum, x)| sum.add(x.abs(), count));
                }
                Numbers::Exact(numbers) => {
                    for (sum, number) in self.fractions.iter_mut().zip(&numbers[cells]) {
                        *sum += Abs::abs(number.clone()) * RBig::from(count);
                    }
                }
            }
        }
        self.counts.clear();
    }

    /// The means of all numbers of a row, base value first, as fractions if they are exact; `None` if there were no
    /// rows.
    pub fn finish(mut self) -> Option<Means> {
        self.sum_up();
        if self.rows == 0 {
            return None;
        }
        Some(match self.exact {
            true => Means::Exact(self.fractions.iter().map(|sum| sum / RBig::from(self.rows)).collect()),
            false => Means::Floats(self.floats.iter().map(|sum| sum.mean(self.rows)).collect()),
        })
    }
}

/// Means as floats or fractions.
#[derive(Debug, Clone, PartialEq)]
pub enum Means {
    /// As floats.
    Floats(Vec<f64>),
    /// As fractions.
    Exact(Vec<RBig>),
}

impl ScoreSink for ScoreMeans<'_> {
    fn learn(&mut self, rows: &Scores) {
        self.learned.append(rows.clone());
        self.counts.resize(self.learned.len(), 0);
        self.inner.learn(rows);
    }

    fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        numbers.iter().for_each(|&number| self.counts[number as usize] += 1);
        self.rows += numbers.len() as u64;
        self.inner.write(numbers, kept)
    }

    fn learned_bytes(&self) -> usize {
        self.learned.numbers.bytes() + self.counts.len() * size_of::<u64>() + self.inner.learned_bytes()
    }

    fn forget(&mut self) {
        self.sum_up();
        self.learned.clear();
        self.inner.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere(usize);

    impl ScoreSink for Nowhere {
        fn learn(&mut self, rows: &Scores) {
            self.0 += rows.len();
        }

        fn write(&mut self, _: &[u32], _: &[KeptCells]) -> Result<(), DataError> {
            Ok(())
        }

        fn learned_bytes(&self) -> usize {
            7
        }

        fn forget(&mut self) {
            self.0 = 0;
        }
    }

    #[test]
    fn every_written_row_counts_also_after_forgetting() {
        let mut nowhere = Nowhere(0);
        let mut means = ScoreMeans::new(&mut nowhere, 2, false);
        let mut rows = Scores::empty(1, false);
        rows.push(true, 0.5, &[-0.25]);
        rows.push(false, 0.5, &[0.75]);
        means.learn(&rows);
        assert!(means.learned_bytes() > 7);
        means.write(&[0, 0, 1], &[]).unwrap();
        means.forget();
        means.learn(&rows.clone().select(&[1]));
        means.write(&[0], &[]).unwrap();
        assert_eq!(means.finish(), Some(Means::Floats(vec![0.5, 0.5])));
        assert_eq!(nowhere.0, 1);
        let fraction = |a: u8, b: u8| RBig::from_parts(a.into(), b.into());
        let mut means = ScoreMeans::new(&mut nowhere, 2, true);
        let mut rows = Scores::empty(1, true);
        rows.push_exact(true, RBig::ONE, vec![-fraction(1, 3)]);
        rows.push_exact(true, RBig::ZERO, vec![fraction(1, 2)]);
        means.learn(&rows);
        means.write(&[0, 1], &[]).unwrap();
        assert_eq!(means.finish(), Some(Means::Exact(vec![fraction(1, 2), fraction(5, 12)])));
        assert_eq!(ScoreMeans::new(&mut nowhere, 1, false).finish(), None);
    }
}
