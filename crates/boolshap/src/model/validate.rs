//! Cross-validation on the training rows: how much better one way of learning is than another, and how certain that is.
//!
//! Rows are distributed over folds, class by class. Each method learns on all folds but one and is evaluated on that
//! one, so every row is evaluated once by a model that has not seen it. Two methods are compared row by row: the
//! standard error of the mean difference is much smaller than that of either accuracy, because both get most rows right
//! or both get them wrong.

use super::logistic::Shares;
use crate::data::{Seeded, Tally};

/// The folds of a tally's rows.
pub(super) struct Folds {
    /// For each fold, the rows to learn from and the rows to evaluate on.
    pub(super) shares: Vec<[Shares; 2]>,
    /// For each fold, the evaluated rows by class: (row, class, count, weight of each).
    pub(super) cells: Vec<Vec<(u32, u32, u64, f64)>>,
}

impl Folds {
    /// Distributes the rows over folds at random.
    pub(super) fn new(tally: &Tally, class_weights: &[f64], folds: usize, seed: u64) -> Self {
        let (classes, rows) = (class_weights.len(), tally.counts().len());
        let mut judged = vec![vec![0u64; rows * classes]; folds];
        let mut chance = Seeded::new(seed, 5);
        let mut next = 0;
        for class in 0..classes {
            let counts = tally.counts().iter().enumerate();
            let mut units: Vec<usize> =
                counts.flat_map(|(row, counts)| std::iter::repeat_n(row, counts[class] as usize)).collect();
            chance.shuffle(&mut units);
            for row in units {
                judged[next % folds][row * classes + class] += 1;
                next += 1;
            }
        }
        let of_fold = |counts: &Vec<u64>| {
            let all = tally.counts().iter().flatten();
            let weight = |place: usize| class_weights[place % classes];
            let weighted = |values: Vec<u64>| {
                let values = values.into_iter().enumerate().map(|(place, n)| n as f64 * weight(place)).collect();
                Shares { classes, values }
            };
            [weighted(all.zip(counts).map(|(all, judged)| all - judged).collect()), weighted(counts.clone())]
        };
        let cells_of = |counts: &Vec<u64>| {
            let held = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            let cell = |(place, &count): (usize, &u64)| {
                ((place / classes) as u32, (place % classes) as u32, count, class_weights[place % classes])
            };
            held.map(cell).collect()
        };
        Folds { shares: judged.iter().map(of_fold).collect(), cells: judged.iter().map(cells_of).collect() }
    }

    /// Evaluates a fold's model on its rows, given a function from a row to scores.
    pub(super) fn judge(&self, fold: usize, mut scores: impl FnMut(u32, &mut Vec<f64>)) -> Judged {
        let mut result = Judged::default();
        let mut row_scores = Vec::new();
        let mut last = None;
        for &(row, class, count, weight) in &self.cells[fold] {
            if last != Some(row) {
                scores(row, &mut row_scores);
                last = Some(row);
            }
            let mut truth = vec![0.0; self.shares[fold][0].classes];
            truth[class as usize] = 1.0;
            result.right.push(f64::from(u8::from(super::logistic::answer(&row_scores) == class as usize)));
            result.loss.push(super::logistic::cross_entropy(&row_scores, &truth));
            result.counts.push((count, weight));
        }
        result
    }
}

impl Folds {
    /// The rows of a tally that a fold learns from.
    pub(super) fn learned(&self, tally: &Tally, fold: usize) -> Tally {
        let mut counts = tally.counts().to_vec();
        for &(row, class, count, _) in &self.cells[fold] {
            counts[row as usize][class as usize] -= count;
        }
        let counted = counts.into_iter().enumerate().map(|(row, counts)| (tally.rows().row(row), counts));
        Tally::from_counts(tally.rows().features(), counted)
    }

    /// Evaluates a fold's model on its rows, given a function from a row to a class; there is no cross entropy.
    pub(super) fn judge_answers(&self, fold: usize, answer: impl Fn(u32) -> usize) -> Judged {
        let mut result = Judged::default();
        for &(row, class, count, weight) in &self.cells[fold] {
            result.right.push(f64::from(u8::from(answer(row) == class as usize)));
            result.loss.push(0.0);
            result.counts.push((count, weight));
        }
        result
    }
}

/// The evaluated cells of one method: whether they are right, and their cross entropies.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Judged {
    pub(super) right: Vec<f64>,
    pub(super) loss: Vec<f64>,
    counts: Vec<(u64, f64)>,
}

/// A mean over rows, and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) error: f64,
}

impl Mean {
    /// Whether it is above 0 by more than two standard errors: among several methods tried, one is often better by one
    /// standard error by chance.
    pub(super) fn is_beyond_chance(self) -> bool {
        self.mean > 2.0 * self.error
    }

    /// Whether it is above 0 by more than a standard error.
    pub(super) fn is_clear(self) -> bool {
        self.mean > self.error
    }
}

impl Judged {
    /// Joins all folds.
    pub(super) fn joined(folds: impl IntoIterator<Item = Judged>) -> Self {
        folds.into_iter().fold(Judged::default(), |mut all, fold| {
            all.right.extend(fold.right);
            all.loss.extend(fold.loss);
            all.counts.extend(fold.counts);
            all
        })
    }

    /// The accuracy: the share of right answers.
    pub(super) fn accuracy(&self) -> Mean {
        self.mean(self.right.iter().copied())
    }

    /// How much higher the accuracy is than that of another method.
    pub(super) fn more_right(&self, other: &Judged) -> Mean {
        self.mean(self.right.iter().zip(&other.right).map(|(ours, theirs)| ours - theirs))
    }

    /// How much lower the cross entropy is than that of another method.
    pub(super) fn less_loss(&self, other: &Judged) -> Mean {
        self.mean(self.loss.iter().zip(&other.loss).map(|(ours, theirs)| theirs - ours))
    }

    fn mean(&self, values: impl Iterator<Item = f64> + Clone) -> Mean {
        let cells = || values.clone().zip(&self.counts).map(|(value, &(count, weight))| (value, count as f64, weight));
        let total: f64 = cells().map(|(_, count, weight)| count * weight).sum();
        let mean = cells().map(|(value, count, weight)| value * count * weight).sum::<f64>() / total;
        let squares: f64 = cells().map(|(value, count, weight)| count * (weight * (value - mean)).powi(2)).sum();
        Mean { mean, error: squares.sqrt() / total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Bits;

    fn tally() -> Tally {
        let mut bits = Bits::new(2);
        let labels: Vec<u32> = (0..103).map(|row| u32::from(row % 5 == 0)).collect();
        (0..103).for_each(|row| bits.push(&[row % 2 == 0, row % 3 == 0]));
        Tally::new(&bits, &labels, 2, |_| true)
    }

    #[test]
    fn every_row_is_judged_once_and_learned_otherwise() {
        let tally = tally();
        let folds = Folds::new(&tally, &[1.0, 2.0], 5, 7);
        let mut sum = vec![0.0; 8];
        for [learned, judged] in &folds.shares {
            for (place, (a, b)) in learned.values.iter().zip(&judged.values).enumerate() {
                let count = tally.counts()[place / 2][place % 2] as f64;
                assert_eq!(a + b, count * [1.0, 2.0][place % 2]);
                sum[place] += b;
            }
            let ones: f64 = judged.values.iter().skip(1).step_by(2).sum();
            assert!((8.0..=10.0).contains(&ones), "21 rows of class 1 in 5 folds: {ones}");
        }
        let counts = tally.counts().iter().flat_map(|counts| [counts[0] as f64, counts[1] as f64 * 2.0]);
        assert_eq!(sum, counts.collect::<Vec<_>>());
    }

    #[test]
    fn means_and_errors_are_those_of_single_rows() {
        let judged = Judged {
            right: vec![1.0, 0.0, 1.0],
            loss: vec![0.1, 2.0, 0.4],
            counts: vec![(3, 1.0), (2, 1.0), (5, 1.0)],
        };
        let rows = [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let mean: f64 = rows.iter().sum::<f64>() / 10.0;
        let variance: f64 = rows.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 10.0;
        let found = judged.accuracy();
        assert!((found.mean - mean).abs() < 1e-12 && (found.error - (variance / 10.0).sqrt()).abs() < 1e-12);
    }
}
