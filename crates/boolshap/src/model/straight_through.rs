//! A network of sign functions with a usable gradient: the straight-through estimator.
//!
//! Each layer takes signs `s` and gives sums `z = sign(W) s / sqrt(inputs) + b`. The signs of the sums enter the next
//! layer; the last sums are logits. A single logit is that of class 1 against a constant 0. The loss is the mean cross
//! entropy of a batch, weighted by class.
//!
//! With weights from -K to K, `round(K W) / K` takes the place of `sign(W)`.
//!
//! The sign function is flat everywhere but at 0, so the backward pass uses the gradient of x clipped to +-1 instead: 1
//! where |x| <= 1, else 0 (the straight-through estimator of Bengio, Leonard and Courville 2013). Writing d for
//! gradients of the loss:
//!
//! ```text
//! dz = (softmax(z) - 1 at the label) * the class's weight / rows     at the last layer
//! dW = dz^T s / sqrt(inputs)      db = the sum of dz over the rows
//! ds = dz sign(W) / sqrt(inputs)      dz of the layer before = ds where |z| <= 1, else 0
//! ```
//!
//! Weights must lie within +-1, so that their own sign functions always pass the gradient on. A batch costs about 6
//! operations for each weight and row. Every sum is taken in one fixed order, so the result does not depend on threads
//! or vector units.

use super::train_options::Weights;
use std::ops::Range;

/// The layers, and the buffers of one forward and backward pass. The parameters are one vector: each layer's weights, a
/// row for each output, then its biases.
pub(super) struct StraightThrough {
    layers: Vec<Layer>,
    /// The rounded parameters: signs or whole numbers.
    signs: Vec<f32>,
    gradient: Vec<f32>,
    weights: Weights,
    class_weights: Vec<f32>,
}

/// A layer, and the data it last worked on, row by row.
pub(super) struct Layer {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    start: usize,
    /// The whole number that a weight of 1 is rounded to.
    unit: f32,
    entering: Vec<f32>,
    sums: Vec<f32>,
    /// The gradient with respect to the sums.
    slopes: Vec<f32>,
}

impl StraightThrough {
    /// The layers between neighbouring widths; there must be at least two widths.
    pub(super) fn new(widths: &[usize], weights: Weights, class_weights: &[f64]) -> Self {
        let mut start = 0;
        let layer = |pair: &[usize]| {
            let layer = Layer {
                inputs: pair[0],
                outputs: pair[1],
                start,
                unit: weights.largest() as f32,
                entering: Vec::new(),
                sums: Vec::new(),
                slopes: Vec::new(),
            };
            start = layer.bias().end;
            layer
        };
        let layers = widths.windows(2).map(layer).collect();
        let class_weights = class_weights.iter().map(|&weight| weight as f32).collect();
        StraightThrough { layers, signs: Vec::new(), gradient: vec![0.0; start], weights, class_weights }
    }

    /// The whole number that a latent weight of 1 is rounded to.
    pub(super) fn unit(&self) -> u32 {
        self.weights.largest()
    }

    /// Rounds a latent weight: to a sign, or to a whole number up to [`unit`](Self::unit).
    pub(super) fn rounded(&self, weight: f32) -> f32 {
        match self.weights {
            Weights::Binary => sign(weight),
            _ => (weight * self.unit() as f32).round(),
        }
    }

    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The gradient of the mean loss over these rows, which are signs, one row after another.
    pub(super) fn gradient(&mut self, parameters: &[f32], rows: &[f32], labels: &[u32]) -> &[f32] {
        self.signs = parameters.iter().map(|&value| self.rounded(value)).collect();
        self.forward(parameters, rows);
        self.backward(labels);
        &self.gradient
    }

    fn forward(&mut self, parameters: &[f32], rows: &[f32]) {
        for index in 0..self.layers.len() {
            let (before, rest) = self.layers.split_at_mut(index);
            let layer = &mut rest[0];
            layer.entering.clear();
            match before.last() {
                None => layer.entering.extend_from_slice(rows),
                Some(before) => layer.entering.extend(before.sums.iter().map(|&sum| sign(sum))),
            }
            layer.add_up(&self.signs[layer.weights()], &parameters[layer.bias()]);
        }
    }

    fn backward(&mut self, labels: &[u32]) {
        let last = self.layers.last_mut().expect("there are two widths");
        loss_slopes(&last.sums, last.outputs, labels, &self.class_weights, &mut last.slopes);
        for index in (0..self.layers.len()).rev() {
            let (before, rest) = self.layers.split_at_mut(index);
            let layer = &rest[0];
            let (weights, bias) = self.gradient[layer.start..layer.bias().end].split_at_mut(layer.weights().len());
            layer.weight_slopes(weights);
            bias.fill(0.0);
            layer.slopes.chunks_exact(layer.outputs).for_each(|slopes| add_multiple(bias, 1.0, slopes));
            if let Some(before) = before.last_mut() {
                layer.entering_slopes(&self.signs[layer.weights()], &mut before.slopes);
                let through = |(slope, sum): (&mut f32, &f32)| *slope = if sum.abs() <= 1.0 { *slope } else { 0.0 };
                before.slopes.iter_mut().zip(&before.sums).for_each(through);
            }
        }
    }
}

impl Layer {
    /// The range of its weights among the parameters.
    pub(super) fn weights(&self) -> Range<usize> {
        self.start..self.start + self.inputs * self.outputs
    }

    /// The range of its biases among the parameters.
    pub(super) fn bias(&self) -> Range<usize> {
        let start = self.weights().end;
        start..start + self.outputs
    }

    /// Scales a sum of signs to a moderate size.
    fn scale(&self) -> f32 {
        1.0 / (self.inputs as f32).sqrt()
    }

    /// The same for sums with rounded weights.
    fn rounded_scale(&self) -> f32 {
        self.scale() / self.unit
    }

    fn add_up(&mut self, signs: &[f32], bias: &[f32]) {
        let scale = self.rounded_scale();
        self.sums.clear();
        for entering in self.entering.chunks_exact(self.inputs) {
            let neurons = signs.chunks_exact(self.inputs).zip(bias);
            self.sums.extend(neurons.map(|(signs, bias)| dot(signs, entering) * scale + bias));
        }
    }

    fn weight_slopes(&self, weights: &mut [f32]) {
        let scale = self.scale();
        for (output, weights) in weights.chunks_exact_mut(self.inputs).enumerate() {
            weights.fill(0.0);
            for (entering, slopes) in self.rows() {
                add_multiple(weights, slopes[output] * scale, entering);
            }
        }
    }

    fn entering_slopes(&self, signs: &[f32], result: &mut Vec<f32>) {
        let scale = self.rounded_scale();
        result.clear();
        result.resize(self.entering.len(), 0.0);
        for (result, slopes) in result.chunks_exact_mut(self.inputs).zip(self.slopes.chunks_exact(self.outputs)) {
            for (signs, slope) in signs.chunks_exact(self.inputs).zip(slopes) {
                add_multiple(result, slope * scale, signs);
            }
        }
    }

    /// The inputs and the gradients of the sums, for each row.
    fn rows(&self) -> impl Iterator<Item = (&[f32], &[f32])> {
        self.entering.chunks_exact(self.inputs).zip(self.slopes.chunks_exact(self.outputs))
    }
}

/// 0 counts as +1, like a gate's sum that just reaches its need.
fn sign(value: f32) -> f32 {
    if value >= 0.0 { 1.0 } else { -1.0 }
}

/// The gradient of the mean cross entropy: probabilities minus the truth, divided by the number of rows.
fn loss_slopes(logits: &[f32], outputs: usize, labels: &[u32], class_weights: &[f32], slopes: &mut Vec<f32>) {
    slopes.clear();
    let mean = 1.0 / labels.len() as f32;
    for (logits, &label) in logits.chunks_exact(outputs).zip(labels) {
        let share = mean * class_weights[label as usize];
        if let &[logit] = logits {
            slopes.push((1.0 / (1.0 + (-logit).exp()) - label as f32) * share);
            continue;
        }
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
        slopes.extend(logits.iter().enumerate().map(|(class, logit)| {
            let truth = if class == label as usize { 1.0 } else { 0.0 };
            ((logit - largest).exp() / total - truth) * share
        }));
    }
}

/// The dot product of signs and whole weights. It is a whole number, so splitting it into partial sums is exact.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut lanes = [0f32; 16];
    for (a, b) in a.iter().zip(b) {
        (0..16).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

fn add_multiple(sums: &mut [f32], factor: f32, values: &[f32]) {
    if factor != 0.0 {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    /// The same network in f64, straight from the definition, with every sign(x) replaced by clip(x) + sign(x0) -
    /// clip(x0): at x = x0 it has the value of the sign and the gradient of the clip. The first run records sign(x0) -
    /// clip(x0) for each sign taken.
    struct Surrogate {
        offsets: Vec<f64>,
        next: usize,
    }

    impl Surrogate {
        fn sign(&mut self, x: f64) -> f64 {
            let clip = x.clamp(-1.0, 1.0);
            if self.next == self.offsets.len() {
                self.offsets.push(if x >= 0.0 { 1.0 } else { -1.0 } - clip);
            }
            self.next += 1;
            clip + self.offsets[self.next - 1]
        }

        fn loss(&mut self, widths: &[usize], parameters: &[f64], rows: &[Vec<f64>], labels: &[u32]) -> f64 {
            self.next = 0;
            let mut loss = 0.0;
            for (row, &label) in rows.iter().zip(labels) {
                let mut values = row.clone();
                let mut at = 0;
                for layer in 1..widths.len() {
                    let (inputs, outputs) = (widths[layer - 1], widths[layer]);
                    let mut sums = vec![0.0; outputs];
                    for j in 0..outputs {
                        for i in 0..inputs {
                            sums[j] += self.sign(parameters[at + j * inputs + i]) * values[i];
                        }
                        sums[j] = sums[j] / (inputs as f64).sqrt() + parameters[at + inputs * outputs + j];
                    }
                    at += (inputs + 1) * outputs;
                    let is_last = layer + 1 == widths.len();
                    values = if is_last { sums } else { sums.into_iter().map(|sum| self.sign(sum)).collect() };
                }
                if values.len() == 1 {
                    values.insert(0, 0.0);
                }
                let own = values.iter().map(|value| value.exp()).sum::<f64>().ln() - values[label as usize];
                loss += own * (1.0 + f64::from(label) / 2.0);
            }
            loss / rows.len() as f64
        }
    }

    #[test]
    fn slopes_are_those_of_a_surrogate_by_finite_differences() {
        let mut chance = Seeded::new(5, 0);
        for widths in [&[3, 1][..], &[5, 4], &[4, 3, 1], &[6, 5, 3], &[20, 17, 4, 1], &[3, 1, 2, 3]] {
            let classes = widths[widths.len() - 1].max(2);
            let class_weights: Vec<f64> = (0..classes).map(|class| 1.0 + class as f64 / 2.0).collect();
            let mut pass = StraightThrough::new(widths, Weights::Binary, &class_weights);
            let count = pass.gradient.len();
            // Biases beyond +-1 too, so that some sums block the gradient.
            let mut parameters: Vec<f32> = (0..count).map(|_| (chance.unit() * 2.0 - 1.0) as f32).collect();
            for layer in pass.layers() {
                parameters[layer.bias()].iter_mut().for_each(|bias| *bias *= 1.5);
            }
            let labels: Vec<u32> = (0..9).map(|_| chance.below(classes) as u32).collect();
            let rows: Vec<f32> = (0..9 * widths[0]).map(|_| sign(chance.unit() as f32 - 0.5)).collect();
            let slopes = pass.gradient(&parameters, &rows, &labels).to_vec();

            let rows: Vec<Vec<f64>> =
                rows.chunks(widths[0]).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
            let parameters: Vec<f64> = parameters.iter().map(|&x| f64::from(x)).collect();
            let mut surrogate = Surrogate { offsets: Vec::new(), next: 0 };
            surrogate.loss(widths, &parameters, &rows, &labels);
            let mut moved = |index: usize, by: f64| {
                let mut parameters = parameters.clone();
                parameters[index] += by;
                surrogate.loss(widths, &parameters, &rows, &labels)
            };
            for (index, &slope) in slopes.iter().enumerate() {
                let expected = (moved(index, 1e-5) - moved(index, -1e-5)) / 2e-5;
                assert!((f64::from(slope) - expected).abs() < 1e-6, "{widths:?}, {index}: {slope}, not {expected}");
            }
            assert!(slopes.iter().any(|slope| slope.abs() > 1e-3));
        }
    }

    #[test]
    fn extreme_logits_have_finite_slopes() {
        let mut slopes = Vec::new();
        let equal = [1.0; 3];
        loss_slopes(&[1e30, -1e30, 0.0], 1, &[0, 1, 1], &equal, &mut slopes);
        assert_eq!(slopes, [1.0, -1.0, -0.5].map(|slope: f32| slope * (1.0 / 3.0)));
        loss_slopes(&[1e30, -1e30, 0.0], 3, &[1], &equal, &mut slopes);
        assert_eq!(slopes, [1.0, -1.0, 0.0]);
        loss_slopes(&[-300.0, -500.0], 2, &[1], &equal, &mut slopes);
        assert_eq!(slopes, [1.0, -1.0]);
    }
}
