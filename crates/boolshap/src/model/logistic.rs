//! Logistic regression on bits: the baseline for every network, and the source of single neurons with whole weights.
//!
//! The model: class 1 has the log-odds `z = w . x + b` of bits x; with more than two classes there is a `z` for each,
//! and the probabilities are their softmax. Fitting minimises the sum of the rows' cross entropies plus `|w|^2 / (2
//! C)`, without a penalty on biases, as scikit-learn's `LogisticRegression(C=C)` does.
//!
//! The method is Newton's with a line search. The loss is convex, so the result does not depend on the start. The
//! linear equations of a step are solved by Cholesky decomposition or, with very many parameters, by conjugate
//! gradients. Rows are lists of the bits that are 1, so a step with Cholesky costs about (rows x ones^2 x outputs^2)
//! / 4. Everything runs on one thread in a fixed order: the same rows give the same numbers.

use super::linear_equations::{conjugate_gradients, solve};
use crate::data::{Bits, Tally};
use crate::lit::{Stopped, Watch};

/// Up to this many parameters the equations are solved directly.
const MAX_DIRECT: usize = 1000;
/// Newton's method takes about ten steps; more indicate that floating-point precision is exhausted.
const MAX_STEPS: usize = 60;
/// Stop once a step promises a smaller decrease of the loss per row than this: the result is as precise as floats
/// allow.
pub(super) const PRECISE: f64 = 1e-17;
/// The same, if settings are only compared.
pub(super) const ROUGH: f64 = 1e-9;

/// Rows as ascending lists of the columns that are 1.
#[derive(Debug, Clone)]
pub(super) struct Design {
    pub(super) columns: usize,
    pub(super) rows: Vec<Vec<u32>>,
}

impl Design {
    pub(super) fn new(bits: &Bits) -> Self {
        let ones = |row| (0..bits.features() as u32).filter(|&feature| bits.get(row, feature as usize)).collect();
        Design { columns: bits.features(), rows: (0..bits.rows()).map(ones).collect() }
    }

    /// The same with an additional column for each pair of columns, 1 if both are 1.
    pub(super) fn with_pairs(&self, pairs: &[[u32; 2]]) -> Self {
        let mut result = self.clone();
        for (place, [a, b]) in pairs.iter().enumerate() {
            let column = (self.columns + place) as u32;
            for row in &mut result.rows {
                if row.binary_search(a).is_ok() && row.binary_search(b).is_ok() {
                    row.push(column);
                }
            }
        }
        result.columns += pairs.len();
        result
    }

    /// The number of pairs of ones in all rows: the cost of visiting them all.
    pub(super) fn pairs_of_ones(&self) -> f64 {
        self.rows.iter().map(|row| (row.len() as f64 + 1.0).powi(2)).sum()
    }

    /// The cost of a Newton step, roughly in nanoseconds.
    pub(super) fn step_cost(&self, classes: usize) -> f64 {
        let outputs = if classes == 2 { 1.0 } else { classes as f64 };
        let parameters = outputs * (self.columns + 1) as f64;
        if parameters <= MAX_DIRECT as f64 {
            return self.pairs_of_ones() * outputs * outputs / 4.0 + parameters.powi(3) / 6.0;
        }
        // Two passes over all ones in each of some 200 iterations.
        self.rows.iter().map(|row| row.len() as f64).sum::<f64>() * outputs * 400.0
    }
}

/// How much each class counts in each row: row by row, a number for each class.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    pub(super) classes: usize,
    pub(super) values: Vec<f64>,
}

impl Shares {
    /// The counts of a tally, multiplied by the weights of the classes.
    pub(super) fn new(tally: &Tally, class_weights: &[f64]) -> Self {
        let of_row = |counts: &Vec<u64>| {
            counts.iter().zip(class_weights).map(|(&count, weight)| count as f64 * weight).collect::<Vec<f64>>()
        };
        Shares { classes: class_weights.len(), values: tally.counts().iter().flat_map(of_row).collect() }
    }

    pub(super) fn of_row(&self, row: usize) -> &[f64] {
        &self.values[row * self.classes..][..self.classes]
    }

    pub(super) fn total(&self) -> f64 {
        self.values.iter().sum()
    }
}

/// A fitted regression: for each output the weights of the columns, then the bias. Two classes share one output.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Logistic {
    pub(super) columns: usize,
    pub(super) outputs: usize,
    pub(super) parameters: Vec<f64>,
}

impl Logistic {
    pub(super) fn zero(columns: usize, classes: usize) -> Self {
        let outputs = if classes == 2 { 1 } else { classes };
        Logistic { columns, outputs, parameters: vec![0.0; outputs * (columns + 1)] }
    }

    /// The weights of an output, and its bias.
    pub(super) fn output(&self, output: usize) -> (&[f64], f64) {
        let all = &self.parameters[output * (self.columns + 1)..][..self.columns + 1];
        (&all[..self.columns], all[self.columns])
    }

    /// The same model with biases centred around 0. Adding a number to all biases of a softmax changes nothing.
    fn centred(mut self) -> Self {
        if self.outputs > 1 {
            let width = self.columns + 1;
            let mean = (0..self.outputs).map(|output| self.output(output).1).sum::<f64>() / self.outputs as f64;
            self.parameters.iter_mut().skip(width - 1).step_by(width).for_each(|bias| *bias -= mean);
        }
        self
    }

    /// The same with additional columns of weight 0.
    pub(super) fn widened(&self, columns: usize) -> Self {
        let mut parameters = Vec::with_capacity(self.outputs * (columns + 1));
        for output in 0..self.outputs {
            let (weights, bias) = self.output(output);
            parameters.extend_from_slice(weights);
            parameters.resize(output * (columns + 1) + columns, 0.0);
            parameters.push(bias);
        }
        Logistic { columns, outputs: self.outputs, parameters }
    }

    /// The scores of a row.
    pub(super) fn scores(&self, ones: &[u32], scores: &mut Vec<f64>) {
        scores.clear();
        for output in 0..self.outputs {
            let (weights, bias) = self.output(output);
            scores.push(ones.iter().fold(bias, |sum, &column| sum + weights[column as usize]));
        }
    }

    /// How many rows the regression labels correctly: the class with the largest score wins, the first one in a tie, as
    /// in a network.
    pub(super) fn correct(&self, design: &Design, tally: &Tally) -> u64 {
        let mut scores = Vec::new();
        let mut right = 0;
        for (ones, counts) in design.rows.iter().zip(tally.counts()) {
            self.scores(ones, &mut scores);
            right += counts[answer(&scores)];
        }
        right
    }
}

/// The class chosen by the scores. Log-odds of exactly 0 give class 0, as in scikit-learn.
pub(super) fn answer(scores: &[f64]) -> usize {
    match scores {
        &[score] => usize::from(score > 0.0),
        _ => (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best }),
    }
}

/// The cross entropy of a row with these class shares.
pub(super) fn cross_entropy(scores: &[f64], shares: &[f64]) -> f64 {
    if let &[z] = scores {
        let soft = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        return shares[0] * soft(z) + shares[1] * soft(-z);
    }
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + scores.iter().map(|z| (z - largest).exp()).sum::<f64>().ln();
    scores.iter().zip(shares).map(|(z, share)| share * (total - z)).sum()
}

/// Turns scores into the probabilities of the outputs: of class 1, or of each class.
pub(super) fn probabilities(scores: &mut [f64]) {
    if let [z] = scores {
        *z = 1.0 / (1.0 + (-*z).exp());
        return;
    }
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|z| *z = (*z - largest).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|z| *z /= total);
}

/// Fits the regression of strength `c` to these rows, from `start` until the precision is reached.
pub(super) fn fit(
    design: &Design,
    shares: &Shares,
    c: f64,
    start: Logistic,
    precision: f64,
    watch: &Watch<'_>,
) -> Result<Logistic, Stopped> {
    let total = shares.total().max(1.0);
    let mut problem = Problem { design, shares, c, model: start, total };
    let enough = precision * total;
    let mut loss = problem.loss();
    for _ in 0..MAX_STEPS {
        watch.check()?;
        let (slopes, curvature) = problem.slopes();
        let step = problem.newton_step(&slopes, &curvature, watch)?;
        let promise: f64 = step.iter().zip(&slopes).map(|(step, slope)| step * slope).sum();
        if promise.is_nan() || promise <= enough {
            break;
        }
        let before = problem.model.parameters.clone();
        let mut length = 1.0;
        loop {
            let moved = before.iter().zip(&step).map(|(at, step)| at - length * step);
            problem.model.parameters.iter_mut().zip(moved).for_each(|(parameter, moved)| *parameter = moved);
            let reached = problem.loss();
            if reached <= loss - 1e-4 * length * promise {
                loss = reached;
                break;
            }
            length /= 2.0;
            if length < 1e-6 {
                // Floats can no longer tell the losses apart.
                problem.model.parameters = before;
                return Ok(problem.model.centred());
            }
        }
    }
    Ok(problem.model.centred())
}

/// A fitted logistic regression, for comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression(Logistic);

impl Regression {
    /// How many rows it labels correctly.
    pub fn correct(&self, rows: &Tally) -> u64 {
        self.0.correct(&Design::new(rows.rows()), rows)
    }

    /// The weights and biases, of class 1 or of each of several classes.
    pub fn parameters(&self) -> Vec<(&[f64], f64)> {
        (0..self.0.outputs).map(|output| self.0.output(output)).collect()
    }
}

/// The most elementary steps of a regression for comparison, roughly a nanosecond each.
const MAX_WORK: f64 = 2e10;

/// Logistic regression of strength 1 on the bits of these rows, with every row counting the same; `None` if the table
/// is too large for a comparison to be worth the time.
pub fn regress(rows: &Tally, watch: &Watch<'_>) -> Result<Option<Regression>, Stopped> {
    let classes = rows.counts().first().map_or(0, Vec::len);
    if classes < 2 {
        return Ok(None);
    }
    let design = Design::new(rows.rows());
    if design.step_cost(classes) * 12.0 > MAX_WORK {
        return Ok(None);
    }
    let shares = Shares::new(rows, &vec![1.0; classes]);
    let start = Logistic::zero(design.columns, classes);
    fit(&design, &shares, 1.0, start, PRECISE, watch).map(|model| Some(Regression(model)))
}

struct Problem<'a> {
    design: &'a Design,
    shares: &'a Shares,
    c: f64,
    model: Logistic,
    /// The total count of all rows.
    total: f64,
}

impl Problem<'_> {
    fn loss(&self) -> f64 {
        let mut scores = Vec::new();
        let mut loss = 0.0;
        for (row, ones) in self.design.rows.iter().enumerate() {
            let shares = self.shares.of_row(row);
            if shares.iter().any(|&share| share > 0.0) {
                self.model.scores(ones, &mut scores);
                loss += cross_entropy(&scores, shares);
            }
        }
        let squares = (0..self.model.outputs).map(|o| self.model.output(o).0.iter().map(|w| w * w).sum::<f64>());
        loss + squares.sum::<f64>() / (2.0 * self.c)
    }

    /// The gradient of the loss, and for each row the factors `p_a p_b` of its second derivatives: total share and
    /// probabilities.
    fn slopes(&self) -> (Vec<f64>, Vec<Vec<f64>>) {
        let (outputs, width) = (self.model.outputs, self.model.columns + 1);
        let mut slopes = vec![0.0; outputs * width];
        let mut curvature = Vec::with_capacity(self.design.rows.len());
        let mut scores = Vec::new();
        for (row, ones) in self.design.rows.iter().enumerate() {
            let shares = self.shares.of_row(row);
            let total: f64 = shares.iter().sum();
            self.model.scores(ones, &mut scores);
            probabilities(&mut scores);
            for (output, &p) in scores.iter().enumerate() {
                let truth = if outputs == 1 { shares[1] } else { shares[output] };
                let residual = total * p - truth;
                let slopes = &mut slopes[output * width..][..width];
                ones.iter().for_each(|&column| slopes[column as usize] += residual);
                slopes[width - 1] += residual;
            }
            let pairs = (0..outputs).flat_map(|a| (0..=a).map(move |b| (a, b)));
            let part = |(a, b): (usize, usize)| total * scores[a] * (f64::from(u8::from(a == b)) - scores[b]);
            curvature.push(pairs.map(part).collect());
        }
        for output in 0..outputs {
            let weights = self.model.output(output).0;
            slopes[output * width..].iter_mut().zip(weights).for_each(|(slope, weight)| *slope += weight / self.c);
        }
        (slopes, curvature)
    }

    /// The Newton step: the inverse Hessian times the gradient.
    fn newton_step(&self, slopes: &[f64], curvature: &[Vec<f64>], watch: &Watch<'_>) -> Result<Vec<f64>, Stopped> {
        if slopes.len() > MAX_DIRECT {
            return conjugate_gradients(slopes, |direction| self.times_hessian(curvature, direction), watch);
        }
        let (outputs, width) = (self.model.outputs, self.model.columns + 1);
        let size = slopes.len();
        let mut matrix = vec![0.0; size * size];
        for (ones, parts) in self.design.rows.iter().zip(curvature) {
            let columns = || ones.iter().map(|&column| column as usize).chain([width - 1]);
            let mut parts = parts.iter();
            for a in 0..outputs {
                for b in 0..=a {
                    let &part = parts.next().expect("a part for each pair of outputs");
                    if part == 0.0 {
                        continue;
                    }
                    for i in columns() {
                        let line = &mut matrix[(a * width + i) * size + b * width..][..width];
                        for j in columns().take_while(|&j| a != b || j <= i) {
                            line[j] += part;
                        }
                    }
                }
            }
        }
        for place in 0..size {
            matrix[place * size + place] += self.ridge(place % width);
        }
        Ok(solve(matrix, slopes))
    }

    /// What the penalty adds to the second derivative. All biases of a softmax can shift together without any effect; a
    /// penalty too tiny to slow the search down keeps the equations solvable.
    fn ridge(&self, column: usize) -> f64 {
        if column < self.model.columns { 1.0 / self.c } else { 1e-9 * self.total }
    }

    fn times_hessian(&self, curvature: &[Vec<f64>], direction: &[f64]) -> Vec<f64> {
        let (outputs, width) = (self.model.outputs, self.model.columns + 1);
        let along = Logistic { columns: self.model.columns, outputs, parameters: direction.to_vec() };
        let mut result: Vec<f64> =
            direction.iter().enumerate().map(|(place, value)| value * self.ridge(place % width)).collect();
        let (mut sums, mut effects) = (Vec::new(), vec![0.0; outputs]);
        for (ones, parts) in self.design.rows.iter().zip(curvature) {
            along.scores(ones, &mut sums);
            effects.fill(0.0);
            let pairs = (0..outputs).flat_map(|a| (0..=a).map(move |b| (a, b)));
            for ((a, b), part) in pairs.zip(parts) {
                effects[a] += part * sums[b];
                if a != b {
                    effects[b] += part * sums[a];
                }
            }
            for (effect, result) in effects.iter().zip(result.chunks_exact_mut(width)) {
                ones.iter().for_each(|&column| result[column as usize] += effect);
                result[width - 1] += effect;
            }
        }
        result
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::Seeded;

    /// Random rows whose classes follow a random linear rule with noise.
    pub(in crate::model) fn noisy_rows(features: usize, classes: usize, rows: usize, seed: u64) -> Tally {
        let mut chance = Seeded::new(seed, 0);
        let weights: Vec<Vec<f64>> =
            (0..classes).map(|_| (0..features).map(|_| chance.unit() * 4.0 - 2.0).collect()).collect();
        let mut bits = Bits::new(features);
        let mut labels = Vec::new();
        for _ in 0..rows {
            let row: Vec<bool> = (0..features).map(|_| chance.below(3) == 0).collect();
            let noise: Vec<f64> = (0..classes).map(|_| chance.unit() * 2.0).collect();
            let score = |class: usize| {
                weights[class].iter().zip(&row).filter(|(_, x)| **x).map(|(w, _)| w).sum::<f64>() + noise[class]
            };
            labels.push((0..classes).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap() as u32);
            bits.push(&row);
        }
        Tally::new(&bits, &labels, classes, |_| true)
    }

    fn fitted(tally: &Tally, c: f64) -> (Design, Shares, Logistic) {
        let classes = tally.counts()[0].len();
        let (design, shares) = (Design::new(tally.rows()), Shares::new(tally, &vec![1.0; classes]));
        let zero = Logistic::zero(design.columns, classes);
        let model = fit(&design, &shares, c, zero, PRECISE, &Watch::unlimited()).unwrap();
        (design, shares, model)
    }

    /// The penalised loss by its definition: each row separately, class by class.
    fn plain_loss(tally: &Tally, c: f64, model: &Logistic) -> f64 {
        let mut loss = 0.0;
        for (row, counts) in tally.counts().iter().enumerate() {
            let bits = tally.rows().row(row);
            let z = |output: usize| {
                let (weights, bias) = model.output(output);
                bias + (0..bits.len()).map(|i| weights[i] * f64::from(u8::from(bits[i]))).sum::<f64>()
            };
            let z: Vec<f64> = if model.outputs == 1 { vec![0.0, z(0)] } else { (0..model.outputs).map(z).collect() };
            let all: f64 = z.iter().map(|z| z.exp()).sum();
            loss -= (0..counts.len()).map(|class| counts[class] as f64 * (z[class].exp() / all).ln()).sum::<f64>();
        }
        let weights = (0..model.outputs).flat_map(|output| model.output(output).0);
        loss + weights.map(|w| w * w).sum::<f64>() / (2.0 * c)
    }

    #[test]
    fn the_result_is_a_minimum_by_finite_differences() {
        for (classes, c) in [(2, 1.0), (2, 0.03), (3, 1.0), (5, 10.0)] {
            let tally = noisy_rows(7, classes, 300, classes as u64);
            let (.., model) = fitted(&tally, c);
            for place in 0..model.parameters.len() {
                let moved = |by: f64| {
                    let mut model = model.clone();
                    model.parameters[place] += by;
                    plain_loss(&tally, c, &model)
                };
                let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                assert!(slope.abs() < 1e-6, "{classes} classes, parameter {place}: slope {slope}");
            }
        }
    }

    #[test]
    fn conjugate_gradients_give_the_same_step() {
        for classes in [2, 4] {
            let tally = noisy_rows(6, classes, 200, 3);
            let (design, shares, model) = fitted(&tally, 0.5);
            let away = model.parameters.iter().map(|value| value + 0.1).collect();
            let model = Logistic { parameters: away, ..model };
            let problem = Problem { design: &design, shares: &shares, c: 0.5, model, total: 200.0 };
            let (slopes, curvature) = problem.slopes();
            let watch = Watch::unlimited();
            let direct = problem.newton_step(&slopes, &curvature, &watch).unwrap();
            let steps = conjugate_gradients(&slopes, |d| problem.times_hessian(&curvature, d), &watch).unwrap();
            let width = model_width(&problem);
            for (place, (a, b)) in direct.iter().zip(&steps).enumerate() {
                // Biases of a softmax are defined up to a common constant.
                assert!(place % width == width - 1 || (a - b).abs() < 1e-6, "{place}: {a} {b}");
            }
        }
    }

    fn model_width(problem: &Problem<'_>) -> usize {
        problem.model.columns + 1
    }

    #[test]
    fn pairs_are_columns_that_hold_if_both_do() {
        let tally = noisy_rows(5, 2, 100, 1);
        let design = Design::new(tally.rows()).with_pairs(&[[0, 3], [1, 2]]);
        for (row, ones) in design.rows.iter().enumerate() {
            let bits = tally.rows().row(row);
            let held = [bits[0] && bits[3], bits[1] && bits[2]];
            let expected = bits.iter().chain(&held).enumerate().filter(|(_, bit)| **bit).map(|(i, _)| i as u32);
            assert_eq!(*ones, expected.collect::<Vec<_>>());
        }
    }
}
