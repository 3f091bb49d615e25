//! Rounds a regression to a network with whole weights: one neuron, or one for each class, after a layer for the pairs
//! it uses.
//!
//! Weights are multiplied by a common factor, rounded, and limited to K. There are two ways to choose the factor:
//! - [`Whole::faithful`] preserves the regression's own answers: it takes the factor that changes the answers of the
//!   fewest training rows, which is almost none for fine weights. A few rows are not a sufficient test, so the share of
//!   changes that rounding is expected to cause, given the rows' margins, counts as well. It counts tenfold, because
//!   rows that were not learned from have smaller margins.
//! - [`Whole::best`] makes the most of coarse weights: it takes the factor with the least cross entropy on the training
//!   rows after scale and biases are refitted; then single weights move by 1 as long as that helps.
//!
//! An output sees only the last hidden layer. So a network with pairs has a hidden layer with a gate that passes on
//! each used bit, and a gate for each pair that is true if both are 1.

use super::ModelError;
use super::logistic::{Design, Logistic, Shares, answer, cross_entropy};
use super::network::{Gate, Network, Output, Score};
use crate::lit::Watch;

/// How much the expected share of changed answers counts compared with the counted share.
const CAUTION: f64 = 10.0;
/// The number of factors tried.
const FACTORS: usize = 24;
/// The most sweeps over all weights that move them by 1.
const MAX_SWEEPS: usize = 8;

/// Whole weights, with the real scale and biases that fit them: log-odds are `scale * (w . x) + bias`.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    columns: usize,
    outputs: usize,
    weights: Vec<i32>,
    scale: f64,
    biases: Vec<f64>,
}

impl Whole {
    /// Weights of at most `largest` that agree best with the regression, and the share of rows on which they disagree:
    /// as counted, or ten times as expected, whichever is more.
    pub(super) fn faithful(model: &Logistic, design: &Design, shares: &Shares, largest: u32) -> (Self, f64) {
        let judged = Self::rounded(model, largest).map(|whole| {
            let [counted, expected] = whole.differs(model, design, shares);
            (whole, counted.max(CAUTION * expected), expected)
        });
        let best = judged.min_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)));
        let (whole, differs, _) = best.expect("there are factors");
        (whole, differs)
    }

    /// The best weights of at most `largest` found by a search around the regression's.
    pub(super) fn best(
        model: &Logistic,
        design: &Design,
        shares: &Shares,
        largest: u32,
        watch: &Watch<'_>,
    ) -> Result<Self, ModelError> {
        let judged = Self::rounded(model, largest).map(|mut whole| {
            let loss = whole.fit_scale(design, shares);
            (whole, loss)
        });
        let (mut whole, loss) = judged.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are factors");
        whole.move_weights(loss, design, shares, largest, watch)?;
        Ok(whole)
    }

    /// The regression multiplied by each factor and rounded: the first factor cuts off no weight, the last one cuts off
    /// all weights above a third of the largest.
    fn rounded(model: &Logistic, largest: u32) -> impl Iterator<Item = Self> {
        let weights = || (0..model.outputs).flat_map(|output| model.output(output).0.iter().copied());
        let most = weights().fold(0.0, |most: f64, weight| most.max(weight.abs()));
        let largest = f64::from(largest);
        (0..FACTORS).map(move |step| {
            let cut = 1.0 - step as f64 / FACTORS as f64 * 2.0 / 3.0;
            let factor = if most > 0.0 { largest / (most * cut) } else { 1.0 };
            Whole {
                columns: model.columns,
                outputs: model.outputs,
                weights: weights().map(|w| (w * factor).round().clamp(-largest, largest) as i32).collect(),
                scale: 1.0 / factor,
                biases: (0..model.outputs).map(|output| model.output(output).1).collect(),
            }
        })
    }

    fn line(&self, output: usize) -> &[i32] {
        &self.weights[output * self.columns..][..self.columns]
    }

    /// The whole sums of a row, one for each output.
    fn sums(&self, ones: &[u32]) -> impl Iterator<Item = i32> {
        (0..self.outputs).map(|output| {
            let line = self.line(output);
            ones.iter().map(|&column| line[column as usize]).sum()
        })
    }

    fn scores(&self, ones: &[u32], scores: &mut Vec<f64>) {
        scores.clear();
        scores.extend(self.sums(ones).zip(&self.biases).map(|(sum, bias)| self.scale * f64::from(sum) + bias));
    }

    /// The cross entropy of all rows.
    fn loss(&self, design: &Design, shares: &Shares) -> f64 {
        let mut scores = Vec::new();
        let mut loss = 0.0;
        for (row, ones) in design.rows.iter().enumerate() {
            self.scores(ones, &mut scores);
            loss += cross_entropy(&scores, shares.of_row(row));
        }
        loss
    }

    /// Fits scale and biases to the weights by a small regression with the sums as columns; returns the loss.
    fn fit_scale(&mut self, design: &Design, shares: &Shares) -> f64 {
        let mut loss = self.loss(design, shares);
        for _ in 0..6 {
            let (slopes, matrix) = self.scale_slopes(design, shares);
            let step = super::linear_equations::solve(matrix, &slopes);
            let before = self.clone();
            self.scale -= step[0];
            self.biases.iter_mut().zip(&step[1..]).for_each(|(bias, step)| *bias -= step);
            let reached = self.loss(design, shares);
            if reached.is_nan() || reached >= loss || self.scale <= 0.0 {
                *self = before;
                break;
            }
            let gained = loss - reached;
            loss = reached;
            if gained < 1e-7 * loss {
                break;
            }
        }
        loss
    }

    /// The first and second derivatives of the loss with respect to the scale and the biases.
    fn scale_slopes(&self, design: &Design, shares: &Shares) -> (Vec<f64>, Vec<f64>) {
        let size = self.outputs + 1;
        let (mut slopes, mut matrix) = (vec![0.0; size], vec![0.0; size * size]);
        let mut p = Vec::new();
        for (row, ones) in design.rows.iter().enumerate() {
            let counts = shares.of_row(row);
            let total: f64 = counts.iter().sum();
            self.scores(ones, &mut p);
            super::logistic::probabilities(&mut p);
            let sums: Vec<f64> = self.sums(ones).map(f64::from).collect();
            let mean: f64 = sums.iter().zip(&p).map(|(sum, p)| sum * p).sum();
            for output in 0..self.outputs {
                let truth = if self.outputs == 1 { counts[1] } else { counts[output] };
                let residual = total * p[output] - truth;
                slopes[0] += residual * sums[output];
                slopes[output + 1] += residual;
                // The derivative of p with respect to the scale.
                let by_scale = total * p[output] * (sums[output] - mean);
                matrix[0] += by_scale * sums[output];
                matrix[(output + 1) * size] += by_scale;
                for other in 0..=output {
                    let same = f64::from(u8::from(output == other));
                    matrix[(output + 1) * size + other + 1] += total * p[output] * (same - p[other]);
                }
            }
        }
        (0..size).for_each(|place| matrix[place * size + place] += 1e-9);
        (slopes, matrix)
    }

    /// Moves weights by 1 up or down where that lowers the loss, until nothing does.
    fn move_weights(
        &mut self,
        mut loss: f64,
        design: &Design,
        shares: &Shares,
        largest: u32,
        watch: &Watch<'_>,
    ) -> Result<(), ModelError> {
        for _ in 0..MAX_SWEEPS {
            let mut moved = false;
            for place in 0..self.weights.len() {
                watch.check()?;
                for by in [-1, 1] {
                    if (self.weights[place] + by).unsigned_abs() > largest {
                        continue;
                    }
                    let mut changed = self.clone();
                    changed.weights[place] += by;
                    let reached = changed.fit_scale(design, shares);
                    if reached < loss - 1e-9 {
                        (*self, loss, moved) = (changed, reached, true);
                    }
                }
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// The share of rows whose answer differs from the regression's, and the expected share: the rounding error of a
    /// weight is uniform within half a unit, so the error of their sum is about normal.
    fn differs(&self, model: &Logistic, design: &Design, shares: &Shares) -> [f64; 2] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut counted, mut expected, mut all) = (0.0, 0.0, 0.0);
        for (row, ones) in design.rows.iter().enumerate() {
            let total: f64 = shares.of_row(row).iter().sum();
            self.scores(ones, &mut ours);
            model.scores(ones, &mut theirs);
            all += total;
            counted += if answer(&ours) == answer(&theirs) { 0.0 } else { total };
            let sides = if self.outputs == 1 { 1.0 } else { 2.0 };
            let variance = self.scale * self.scale * sides * (ones.len() as f64 + 1.0) / 12.0;
            expected += total * 0.5 * (-margin(&theirs).powi(2) / (2.0 * variance)).exp();
        }
        [counted / all, expected / all]
    }

    /// The network of these weights; columns after the first `inputs` are pairs.
    pub(super) fn network(&self, inputs: usize, pairs: &[[u32; 2]]) -> Result<Network, ModelError> {
        if pairs.is_empty() {
            return Network::new(inputs, Vec::new(), self.output(&(0..inputs).collect::<Vec<_>>()));
        }
        let used = |&column: &usize| (0..self.outputs).any(|output| self.line(output)[column] != 0);
        let mut columns: Vec<usize> = (0..self.columns).filter(used).collect();
        if columns.is_empty() {
            columns.push(0);
        }
        let gate = |&column: &usize| {
            let mut weights = vec![0; inputs];
            let looks_at = match column.checked_sub(inputs) {
                None => vec![column],
                Some(pair) => pairs[pair].iter().map(|&bit| bit as usize).collect(),
            };
            looks_at.iter().for_each(|&bit| weights[bit] = 1);
            Gate::new(weights, looks_at.len() as i128).expect("two inputs")
        };
        Network::new(inputs, vec![columns.iter().map(gate).collect()], self.output(&columns))
    }

    /// The last layer over these columns.
    fn output(&self, columns: &[usize]) -> Output {
        let weights = |output: usize| -> Vec<i128> {
            columns.iter().map(|&column| i128::from(self.line(output)[column])).collect()
        };
        // A bias beyond every possible sum decides alone, whatever its size.
        let bound = f64::from(u32::MAX) * 1e6;
        let bias = |output: usize| (self.biases[output] / self.scale).clamp(-bound, bound);
        if self.outputs == 1 {
            // w . x + bias > 0 means that w . x is at least the next whole number above -bias; turning the negative
            // weights around adds their sizes to both sides.
            let weights = weights(0);
            let least = (-bias(0)).floor() as i128 + 1;
            let turned: i128 = weights.iter().map(|weight| (-weight).max(0)).sum();
            return Output::Step(Gate::new(weights, least + turned).expect("small weights"));
        }
        // Scores are sums over signs, s = 2 x - 1: w . s + (sum of w + 2 bias) = 2 (w . x + bias).
        let score = |output: usize| {
            let weights = weights(output);
            let shift = weights.iter().sum::<i128>() + (2.0 * bias(output)).round() as i128;
            Score::new(weights, shift).expect("small weights")
        };
        Output::Argmax((0..self.outputs).map(score).collect())
    }
}

/// By how much the answer leads the next one.
fn margin(scores: &[f64]) -> f64 {
    if let &[score] = scores {
        return score.abs();
    }
    let best = answer(scores);
    let others = scores.iter().enumerate().filter(|(class, _)| *class != best).map(|(_, score)| *score);
    scores[best] - others.fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::logistic::{PRECISE, fit, tests::noisy_rows};
    use super::*;

    fn fitted(classes: usize) -> (crate::data::Tally, Design, Shares, Logistic) {
        let tally = noisy_rows(8, classes, 400, 2);
        let design = Design::new(tally.rows());
        let shares = Shares::new(&tally, &vec![1.0; classes]);
        let model = fit(&design, &shares, 1.0, Logistic::zero(8, classes), PRECISE, &Watch::unlimited()).unwrap();
        (tally, design, shares, model)
    }

    /// The whole scores by their definition: weights times bits, and the biases in units of a weight.
    #[test]
    fn networks_answer_as_the_sums_do() {
        for classes in [2, 3, 5] {
            let (tally, design, shares, model) = fitted(classes);
            for (largest, pairs) in [(1, vec![]), (3, vec![[0, 1]]), (31, vec![[2, 5], [1, 7]])] {
                let wide = design.with_pairs(&pairs);
                let model =
                    fit(&wide, &shares, 1.0, model.widened(wide.columns), PRECISE, &Watch::unlimited()).unwrap();
                let best = Whole::best(&model, &wide, &shares, largest, &Watch::unlimited()).unwrap();
                for whole in [Whole::faithful(&model, &wide, &shares, largest).0, best] {
                    assert!(whole.weights.iter().all(|weight| weight.unsigned_abs() <= largest));
                    let network = whole.network(8, &pairs).unwrap();
                    assert_eq!(network.hidden().len(), usize::from(!pairs.is_empty()));
                    for row in 0..tally.rows().rows() {
                        let mut bits: Vec<i32> = tally.rows().row(row).into_iter().map(i32::from).collect();
                        let held: Vec<i32> = pairs.iter().map(|[a, b]| bits[*a as usize] * bits[*b as usize]).collect();
                        bits.extend(held);
                        let score = |output: usize| {
                            let sum: i32 = whole.line(output).iter().zip(&bits).map(|(w, x)| w * x).sum();
                            let bias = whole.biases[output] / whole.scale;
                            if classes == 2 { f64::from(sum) + bias } else { f64::from(2 * sum) + (2.0 * bias).round() }
                        };
                        let scores: Vec<f64> = (0..whole.outputs).map(score).collect();
                        assert_eq!(network.classify(&tally.rows().row(row)), answer(&scores), "{classes} {largest}");
                    }
                }
            }
        }
    }

    #[test]
    fn fine_weights_answer_as_the_regression_and_coarse_ones_are_improved() {
        for classes in [2, 3] {
            let (_, design, shares, model) = fitted(classes);
            let (_, differs) = Whole::faithful(&model, &design, &shares, 10_000);
            assert!(differs < 0.002, "{differs}");
            let best = Whole::best(&model, &design, &shares, 2, &Watch::unlimited()).unwrap();
            let least = Whole::rounded(&model, 2).map(|mut whole| whole.fit_scale(&design, &shares));
            assert!(best.loss(&design, &shares) <= least.fold(f64::INFINITY, f64::min));
        }
    }
}
