//! The mean of the absolute scores over all rows that pass, on their way to where they go.
//!
//! Rows are written by number, so it is enough to count how often each number was written; the counts become sums when
//! the learned rows are forgotten, and at the end. Fractions stay fractions.

use super::score_rows::Numbers;
use super::{DataError, KeptCells, ScoreRows, ScoreSink};
use dashu::rational::RBig;

/// A sink that passes everything on, and keeps the sums.
pub struct ScoreMeans<'s> {
    inner: &'s mut dyn ScoreSink,
    exact: bool,
    learned: ScoreRows,
    counts: Vec<u64>,
    /// The bytes of the learned texts.
    text_bytes: usize,
    floats: Vec<f64>,
    fractions: Vec<RBig>,
    rows: u64,
}

impl<'s> ScoreMeans<'s> {
    /// In front of a sink, for rows of so many numbers, which are exact or not.
    pub fn new(inner: &'s mut dyn ScoreSink, numbers: usize, exact: bool) -> Self {
        let learned = if exact { ScoreRows::of_texts(numbers - 1) } else { ScoreRows::of_floats(numbers - 1) };
        let (floats, fractions) = (vec![0.0; numbers], vec![RBig::ZERO; if exact { numbers } else { 0 }]);
        ScoreMeans { inner, exact, learned, counts: Vec::new(), text_bytes: 0, floats, fractions, rows: 0 }
    }

    fn sum_up(&mut self) {
        let width = self.learned.width();
        for (row, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let cells = row * width..(row + 1) * width;
            match &self.learned.numbers {
                Numbers::Floats(numbers) => {
                    self.floats.iter_mut().zip(&numbers[cells]).for_each(|(sum, x)| *sum += count as f64 * x.abs());
                }
                Numbers::Texts(texts) => {
                    for (sum, text) in self.fractions.iter_mut().zip(&texts[cells]) {
                        let number: RBig = text.trim_start_matches('-').parse().expect("a fraction that was written");
                        *sum += number * RBig::from(count);
                    }
                }
            }
        }
        self.counts.clear();
    }

    /// The means of all numbers of a row, base value first, as texts if they are exact; nothing if there were no rows.
    pub fn finish(mut self) -> Option<Means> {
        self.sum_up();
        if self.rows == 0 {
            return None;
        }
        Some(match self.exact {
            true => Means::Exact(self.fractions.iter().map(|sum| sum / RBig::from(self.rows)).collect()),
            false => Means::Floats(self.floats.iter().map(|sum| sum / self.rows as f64).collect()),
        })
    }
}

/// Means in floats or in fractions.
#[derive(Debug, Clone, PartialEq)]
pub enum Means {
    /// As floats.
    Floats(Vec<f64>),
    /// As fractions.
    Exact(Vec<RBig>),
}

impl ScoreSink for ScoreMeans<'_> {
    fn learn(&mut self, rows: &ScoreRows) {
        if let Numbers::Texts(texts) = &rows.numbers {
            self.text_bytes += texts.iter().map(String::len).sum::<usize>();
        }
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
        let numbers = match &self.learned.numbers {
            Numbers::Floats(numbers) => numbers.len() * size_of::<f64>(),
            Numbers::Texts(texts) => texts.len() * size_of::<String>() + self.text_bytes,
        };
        numbers + self.counts.len() * size_of::<u64>() + self.inner.learned_bytes()
    }

    fn forget(&mut self) {
        self.sum_up();
        self.learned.clear();
        self.text_bytes = 0;
        self.inner.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere(usize);

    impl ScoreSink for Nowhere {
        fn learn(&mut self, rows: &ScoreRows) {
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
        let mut rows = ScoreRows::of_floats(1);
        rows.push(true, 0.5, &[-0.25]);
        rows.push(false, 0.5, &[0.75]);
        means.learn(&rows);
        assert!(means.learned_bytes() > 7);
        means.write(&[0, 0, 1], &[]).unwrap();
        means.forget();
        means.learn(&rows.select(&[1]));
        means.write(&[0], &[]).unwrap();
        assert_eq!(means.finish(), Some(Means::Floats(vec![0.5, 0.5])));
        assert_eq!(nowhere.0, 1);
        let mut means = ScoreMeans::new(&mut nowhere, 2, true);
        let mut rows = ScoreRows::of_texts(1);
        rows.push_texts(true, "1".into(), ["-1/3".to_string()]);
        rows.push_texts(true, "0".into(), ["1/2".to_string()]);
        means.learn(&rows);
        means.write(&[0, 1], &[]).unwrap();
        let fraction = |a: u8, b: u8| RBig::from_parts(a.into(), b.into());
        assert_eq!(means.finish(), Some(Means::Exact(vec![fraction(1, 2), fraction(5, 12)])));
        assert_eq!(ScoreMeans::new(&mut nowhere, 1, false).finish(), None);
    }
}
