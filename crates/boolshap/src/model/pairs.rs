//! Finds pairs of bits that interact: together they say more than one by one.
//!
//! A logistic regression adds up the effects of its bits. If two bits interact, a further column "both are 1" helps;
//! with the single bits it covers every function of the two. Columns are added one at a time, always the most promising
//! one, and the regression is refitted after each.
//!
//! A pair's promise is the score test (Rao 1948) of the interaction, all else being equal. Rows fall into four cells by
//! the values of the two bits. In each cell, let `v` be the sum of the variances p (1 - p) and `r` that of the
//! residuals (truth minus p). Main effects cannot explain the contrast `r11/v11 - r10/v10 - r01/v01 + r00/v00`. Its
//! variance is `1/D = 1/v11 + 1/v10 + 1/v01 + 1/v00`; the test's statistic is `contrast^2 D`, damped if D is small, and
//! summed over the outputs. All pairs together take one pass over the pairs of ones of each row, rather than one pass
//! per candidate.
//!
//! Bits of one category are never both 1, so they are not candidates.

use super::logistic::{Design, Logistic, ROUGH, Shares, fit, probabilities};
use crate::lit::{Stopped, Watch};

/// Dampens evidence from fewer than about this many uncertain rows.
const DAMPING: f64 = 0.5;

/// A regression on bits and pairs of them.
#[derive(Debug, Clone)]
pub(super) struct Paired {
    pub(super) pairs: Vec<[u32; 2]>,
    pub(super) model: Logistic,
}

/// Regressions with 0 pairs and with the number of pairs of each step, as long as there are candidates.
pub(super) fn grow(
    design: &Design,
    shares: &Shares,
    c: f64,
    steps: &[usize],
    watch: &Watch<'_>,
) -> Result<Vec<Paired>, Stopped> {
    let zero = Logistic::zero(design.columns, shares.classes);
    let mut now = Paired { pairs: Vec::new(), model: fit(design, shares, c, zero, ROUGH, watch)? };
    let mut wide = design.clone();
    let mut result = vec![now.clone()];
    for &step in steps {
        while now.pairs.len() < step {
            let Some(pair) = most_promising(design, &wide, shares, &now) else {
                return Ok(result);
            };
            now.pairs.push(pair);
            wide = design.with_pairs(&now.pairs);
            let start = now.model.widened(wide.columns);
            now.model = fit(&wide, shares, c, start, ROUGH, watch)?;
        }
        result.push(now.clone());
    }
    Ok(result)
}

/// Sums over rows by bits: over all rows, over those where a bit is 1 (on the diagonal), and over those where two
/// are 1.
struct Sums {
    all: f64,
    size: usize,
    ones: Vec<f64>,
}

impl Sums {
    fn new(size: usize) -> Self {
        Sums { all: 0.0, size, ones: vec![0.0; size * size] }
    }

    fn add(&mut self, ones: &[u32], value: f64) {
        self.all += value;
        for (place, &a) in ones.iter().enumerate() {
            let line = &mut self.ones[a as usize * self.size..][..self.size];
            ones[..=place].iter().for_each(|&b| line[b as usize] += value);
        }
    }

    /// The four cells of a pair with `a > b`: both, only a, only b, neither.
    fn cells(&self, a: usize, b: usize) -> [f64; 4] {
        let at = |row: usize, column: usize| self.ones[row * self.size + column];
        let both = at(a, b);
        [both, at(a, a) - both, at(b, b) - both, self.all - at(a, a) - at(b, b) + both]
    }
}

fn most_promising(design: &Design, wide: &Design, shares: &Shares, now: &Paired) -> Option<[u32; 2]> {
    let size = design.columns;
    let outputs = now.model.outputs;
    let mut residuals: Vec<Sums> = (0..outputs).map(|_| Sums::new(size)).collect();
    let mut variances: Vec<Sums> = (0..outputs).map(|_| Sums::new(size)).collect();
    let mut scores = Vec::new();
    for (row, ones) in design.rows.iter().enumerate() {
        let counts = shares.of_row(row);
        let total: f64 = counts.iter().sum();
        if total == 0.0 {
            continue;
        }
        now.model.scores(&wide.rows[row], &mut scores);
        probabilities(&mut scores);
        for (output, &p) in scores.iter().enumerate() {
            let truth = if outputs == 1 { counts[1] } else { counts[output] };
            residuals[output].add(ones, truth - total * p);
            variances[output].add(ones, total * p * (1.0 - p));
        }
    }
    let mut best: Option<(f64, [u32; 2])> = None;
    for a in 1..size {
        for b in 0..a {
            let pair = [b as u32, a as u32];
            let promise: f64 =
                residuals.iter().zip(&variances).map(|(r, v)| promise(r.cells(a, b), v.cells(a, b))).sum();
            if promise > best.map_or(1e-9, |(most, _)| most) && !now.pairs.contains(&pair) {
                best = Some((promise, pair));
            }
        }
    }
    best.map(|(_, pair)| pair)
}

fn promise(residuals: [f64; 4], variances: [f64; 4]) -> f64 {
    // Sums that should be 0 may be slightly off.
    if variances.iter().any(|&variance| variance < 1e-6) {
        return 0.0;
    }
    let contrast: f64 = [1.0, -1.0, -1.0, 1.0].iter().zip(residuals).zip(variances).map(|((s, r), v)| s * r / v).sum();
    let precision = 1.0 / variances.iter().map(|variance| 1.0 / variance).sum::<f64>();
    (contrast * precision).powi(2) / (precision + DAMPING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Bits, Seeded, Tally};

    /// Random rows of bits whose class is a function of them.
    fn rows_of(features: usize, rows: usize, class: impl Fn(&[bool]) -> bool) -> Tally {
        let mut chance = Seeded::new(3, 0);
        let (mut bits, mut labels) = (Bits::new(features), Vec::new());
        for _ in 0..rows {
            let row: Vec<bool> = (0..features).map(|_| chance.below(2) == 1).collect();
            labels.push(u32::from(class(&row)));
            bits.push(&row);
        }
        Tally::new(&bits, &labels, 2, |_| true)
    }

    #[test]
    fn the_pairs_that_matter_are_found() {
        let tally = rows_of(8, 500, |row| (row[1] != row[6]) && (row[2] || row[3] || row[4]));
        let (design, shares) = (Design::new(tally.rows()), Shares::new(&tally, &[1.0, 1.0]));
        let grown = grow(&design, &shares, 1.0, &[1, 3], &Watch::unlimited()).unwrap();
        assert_eq!(grown.iter().map(|paired| paired.pairs.len()).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(grown[1].pairs, [[1, 6]]);
        let correct = |paired: &Paired| paired.model.correct(&design.with_pairs(&paired.pairs), &tally);
        assert!(correct(&grown[1]) > correct(&grown[0]) + 50);
    }

    #[test]
    fn candidates_can_run_out() {
        // Bits of one category, and a constant.
        let mut bits = Bits::new(3);
        (0..40).for_each(|row| bits.push(&[row % 2 == 0, row % 2 == 1, true]));
        let labels: Vec<u32> = (0..40).map(|row| u32::from(row % 3 == 0)).collect();
        let tally = Tally::new(&bits, &labels, 2, |_| true);
        let (design, shares) = (Design::new(tally.rows()), Shares::new(&tally, &[1.0, 1.0]));
        assert_eq!(grow(&design, &shares, 1.0, &[1, 2], &Watch::unlimited()).unwrap().len(), 1);
    }

    /// The statistic by weighted least squares: regress the product on 1 and both bits, then the residuals on what is
    /// left of the product.
    #[test]
    fn the_promise_is_that_of_the_score_test() {
        let mut chance = Seeded::new(9, 0);
        let rows: Vec<[f64; 4]> = (0..60)
            .map(|_| [chance.below(2) as f64, chance.below(2) as f64, chance.unit() - 0.5, 0.1 + chance.unit()])
            .collect();
        let mut sums = [Sums::new(2), Sums::new(2)];
        for [a, b, residual, variance] in rows.iter().copied() {
            let ones: Vec<u32> = [(b, 0), (a, 1)].iter().filter(|(bit, _)| *bit == 1.0).map(|(_, i)| *i).collect();
            sums[0].add(&ones, residual);
            sums[1].add(&ones, variance);
        }
        let columns = |row: &[f64; 4]| [1.0, row[0], row[1]];
        let mut matrix = vec![0.0; 9];
        let mut right = vec![0.0; 3];
        for row in &rows {
            let (x, product) = (columns(row), row[0] * row[1]);
            (0..9).for_each(|place| matrix[place] += row[3] * x[place / 3] * x[place % 3]);
            (0..3).for_each(|place| right[place] += row[3] * x[place] * product);
        }
        let fitted = super::super::linear_equations::solve(matrix, &right);
        let (mut slope, mut information) = (0.0, 0.0);
        for row in &rows {
            let explained: f64 = columns(row).iter().zip(&fitted).map(|(x, f)| x * f).sum();
            let left = row[0] * row[1] - explained;
            slope += row[2] * left;
            information += row[3] * left * left;
        }
        let expected = slope * slope / (information + DAMPING);
        let found = promise(sums[0].cells(1, 0), sums[1].cells(1, 0));
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }
}
