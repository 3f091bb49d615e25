//! A network of real weights in floats, with an error bound that holds for all inputs.
//!
//! | step | error of the result, where the numbers before have the errors e and are at most m in size, u = 2^-53 |
//! | --- | --- |
//! | sum of n products | sum of |w| e, plus (n + 3) u times the sum of |w| (m + e) and the bias |
//! | scale of a norm | |f| e, plus 4 u (|f| (m + e) + |s|) |
//! | ReLU, clip | e; leaky ReLU: e times the slope if that is above 1, and a rounding |
//! | tanh, sigmoid | e, plus 2^-48 for their own evaluation |
//!
//! Sums are exact if all numbers are multiples of a power of two and 53 bits suffice for them: networks of small whole
//! or dyadic weights have the bound 0, and ties in them are ties. `exp` is computed here rather than by the system's
//! library, whose error is not documented: argument reduction by ln 2 in two parts and 14 terms of the series, with a
//! relative error below 2^-50.

use super::ModelError;
use super::real_exact::root;
use super::real_network::{Activation, RealNetwork, RealStep};
use dashu_ratio::RBig;

/// How many inputs are evaluated side by side.
pub(super) const LANES: usize = 64;
/// The number of bits that distinguish the inputs side by side.
const LANE_BITS: usize = LANES.trailing_zeros() as usize;
/// Half the distance from 1 to the next float.
const ROUNDING: f64 = f64::EPSILON / 2.0;
/// The error of tanh and sigmoid in addition to that of their argument.
const CURVE: f64 = f64::EPSILON * 16.0;
/// A margin that covers rounding in the computation of the bounds themselves.
const SLACK: f64 = 1.0 + 1e-9;

/// A float, and the largest distance between it and the true number.
pub(super) type Bounded = (f64, f64);

#[derive(Debug, Clone)]
enum FloatStep {
    Dense { weights: Vec<Vec<f64>>, bias: Vec<f64> },
    Scale { factor: Vec<f64>, shift: Vec<f64> },
    Each(FloatActivation),
}

#[derive(Debug, Clone, Copy)]
enum FloatActivation {
    Relu,
    Leaky(f64),
    Clip(f64, f64),
    Tanh,
    Sigmoid,
}

/// The same network in floats.
pub(super) struct RealFloats {
    steps: Vec<FloatStep>,
    inputs: usize,
    /// For each unit, the sums of the first layer over the bits that number the lanes.
    lanes: Vec<[f64; LANES]>,
    /// The largest error of an output, for any input.
    pub(super) bound: f64,
    /// The largest absolute value of an output.
    pub(super) size: f64,
}

/// What is known about all numbers after a step.
struct Reach {
    size: Vec<f64>,
    error: Vec<f64>,
    /// A power of two, as its exponent, of which all numbers are multiples, if known.
    unit: Option<i32>,
}

impl RealFloats {
    pub(super) fn new(network: &RealNetwork) -> Result<Self, ModelError> {
        let inputs = network.inputs();
        let mut reach = Reach { size: vec![1.0; inputs], error: vec![0.0; inputs], unit: Some(0) };
        let mut steps = Vec::new();
        for step in network.steps() {
            let (step, after) = FloatStep::of(step, &reach);
            let finite = after.size.iter().chain(&after.error).all(|number| number.is_finite() && *number < 1e300);
            if !finite {
                return Err(ModelError::Step("the numbers of the network grow beyond what floats hold".into()));
            }
            steps.push(step);
            reach = after;
        }
        let largest = |numbers: &[f64]| numbers.iter().copied().fold(0.0, f64::max);
        let lanes = match steps.first() {
            Some(FloatStep::Dense { weights, .. }) => weights.iter().map(|row| lane_sums(row)).collect(),
            _ => Vec::new(),
        };
        Ok(RealFloats { steps, inputs, lanes, bound: largest(&reach.error), size: largest(&reach.size) })
    }

    /// The outputs for the inputs from `LANES * block` on: the first output for all lanes, then the next output.
    #[inline(always)]
    pub(super) fn block(&self, block: u64, values: &mut Vec<f64>, next: &mut Vec<f64>) {
        for (place, step) in self.steps.iter().enumerate() {
            match step {
                FloatStep::Dense { weights, bias } if place == 0 => {
                    next.clear();
                    for ((row, bias), lanes) in weights.iter().zip(bias).zip(&self.lanes) {
                        let high = row.iter().skip(LANE_BITS).enumerate();
                        let high = high.filter(|(bit, _)| block >> bit & 1 == 1).fold(*bias, |sum, (_, w)| sum + w);
                        next.extend(lanes.iter().map(|low| high + low));
                    }
                    std::mem::swap(values, next);
                }
                FloatStep::Dense { weights, bias } => {
                    next.clear();
                    for (row, bias) in weights.iter().zip(bias) {
                        let mut sums = [*bias; LANES];
                        for (weight, values) in row.iter().zip(values.chunks_exact(LANES)) {
                            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
                        }
                        next.extend_from_slice(&sums);
                    }
                    std::mem::swap(values, next);
                }
                FloatStep::Scale { factor, shift } => {
                    for ((values, factor), shift) in values.chunks_exact_mut(LANES).zip(factor).zip(shift) {
                        values.iter_mut().for_each(|value| *value = *value * factor + shift);
                    }
                }
                FloatStep::Each(activation) => values.iter_mut().for_each(|value| *value = activation.of(*value)),
            }
        }
    }

    /// The outputs for one input, each with its own error bound: a number that a ReLU has certainly set to 0 has no
    /// error.
    pub(super) fn input(&self, input: u64) -> Vec<Bounded> {
        let mut values: Vec<Bounded> = (0..self.inputs).map(|bit| (f64::from((input >> bit & 1) as u8), 0.0)).collect();
        for step in &self.steps {
            values = match step {
                FloatStep::Dense { weights, bias } => {
                    weights.iter().zip(bias).map(|(row, bias)| bounded_sum(row, *bias, &values)).collect()
                }
                FloatStep::Scale { factor, shift } => {
                    let scaled = |((value, error), (factor, shift)): (&Bounded, (&f64, &f64))| {
                        let size = factor.abs() * (value.abs() + error) + shift.abs();
                        (value * factor + shift, (factor.abs() * error + 4.0 * ROUNDING * size) * SLACK)
                    };
                    values.iter().zip(factor.iter().zip(shift)).map(scaled).collect()
                }
                FloatStep::Each(activation) => values.iter().map(|value| activation.bounded(*value)).collect(),
            };
        }
        values
    }
}

/// A sum of products; zero terms add nothing to its error.
fn bounded_sum(row: &[f64], bias: f64, values: &[Bounded]) -> Bounded {
    let terms =
        row.iter().zip(values).filter(|(weight, (value, error))| **weight != 0.0 && (*value != 0.0 || *error != 0.0));
    let (mut sum, mut size, mut error, mut count) = (bias, bias.abs(), 0.0, 0.0);
    for (weight, (value, own)) in terms {
        sum += weight * value;
        size += weight.abs() * (value.abs() + own);
        error += weight.abs() * own;
        count += 1.0;
    }
    (sum, (error + (count + 3.0) * ROUNDING * size + count * f64::MIN_POSITIVE) * SLACK)
}

/// For each lane, the sum over the first weights.
fn lane_sums(row: &[f64]) -> [f64; LANES] {
    std::array::from_fn(|lane| {
        let low = row.iter().take(LANE_BITS).enumerate();
        low.filter(|(bit, _)| lane >> bit & 1 == 1).map(|(_, weight)| weight).sum()
    })
}

fn float(number: &RBig) -> f64 {
    number.to_f64().value()
}

/// The exponent of the largest power of two that divides a number; `None` if the number is not exactly a float.
fn unit_of(number: &RBig) -> Option<i32> {
    let float = float(number);
    if float == 0.0 {
        return number.is_zero().then_some(i32::MAX);
    }
    if RBig::try_from(float).ok()? != *number {
        return None;
    }
    let (bits, exponent) = (float.to_bits() & ((1 << 52) - 1), (float.to_bits() >> 52 & 0x7ff) as i32);
    let (whole, exponent) = if exponent == 0 { (bits, -1074) } else { (bits | 1 << 52, exponent - 1075) };
    Some(exponent + whole.trailing_zeros() as i32)
}

/// The exponent of the largest power of two that divides all numbers.
fn unit_of_all<'a>(numbers: impl IntoIterator<Item = &'a RBig>) -> Option<i32> {
    numbers.into_iter().try_fold(i32::MAX, |least, number| Some(least.min(unit_of(number)?)))
}

/// Whether all multiples of a power of two up to this size are floats.
fn fits(size: f64, unit: i32) -> bool {
    unit > -1000 && (unit >= 1000 || size * 2f64.powi(-unit) <= 2f64.powi(53))
}

impl FloatStep {
    fn of(step: &RealStep, before: &Reach) -> (Self, Reach) {
        match step {
            RealStep::Dense { weights, bias } => {
                let after = Reach::of_sums(weights, bias, before);
                let weights = weights.iter().map(|row| row.iter().map(float).collect()).collect();
                (FloatStep::Dense { weights, bias: bias.iter().map(float).collect() }, after)
            }
            RealStep::Norm { gamma, beta, mean, variance } => {
                let factor: Vec<RBig> = gamma.iter().zip(variance).map(|(g, v)| g / root(v, 200).low).collect();
                let shift = factor.iter().zip(beta.iter().zip(mean)).map(|(f, (b, m))| float(&(b - m * f))).collect();
                let step = FloatStep::Scale { factor: factor.iter().map(float).collect(), shift };
                let after = Reach::of_scale(&step, before);
                (step, after)
            }
            RealStep::Each(activation) => {
                let own = match activation {
                    Activation::Relu => FloatActivation::Relu,
                    Activation::Leaky(slope) => FloatActivation::Leaky(float(slope)),
                    Activation::Clip(low, high) => FloatActivation::Clip(float(low), float(high)),
                    Activation::Tanh => FloatActivation::Tanh,
                    Activation::Sigmoid => FloatActivation::Sigmoid,
                };
                (FloatStep::Each(own), Reach::of_each(activation, own, before))
            }
        }
    }
}

impl Reach {
    fn of_sums(weights: &[Vec<RBig>], bias: &[RBig], before: &Reach) -> Self {
        let (mut size, mut error) = (Vec::new(), Vec::new());
        for (row, bias) in weights.iter().zip(bias) {
            let row: Vec<f64> = row.iter().map(|weight| float(weight).abs()).collect();
            let sum = |numbers: &mut dyn Iterator<Item = f64>| row.iter().zip(numbers).map(|(w, n)| w * n).sum::<f64>();
            let own = sum(&mut before.error.iter().copied());
            let all = sum(&mut before.size.iter().zip(&before.error).map(|(m, e)| m + e)) + float(bias).abs();
            size.push(all * SLACK);
            // The error of a product that underflows is less than the smallest normal float.
            let tiny = row.len() as f64 * f64::MIN_POSITIVE;
            error.push((own + (row.len() as f64 + 3.0) * ROUNDING * all + tiny) * SLACK);
        }
        let weight = unit_of_all(weights.iter().flatten());
        let unit = match (before.unit, weight, unit_of_all(bias)) {
            (Some(unit), Some(weight), Some(bias)) => Some(unit.saturating_add(weight).min(bias)),
            _ => None,
        };
        let unit = unit.filter(|unit| size.iter().all(|size| fits(*size, *unit)));
        if unit.is_some() {
            error.fill(0.0);
        }
        Reach { size, error, unit }
    }

    fn of_scale(step: &FloatStep, before: &Reach) -> Self {
        let FloatStep::Scale { factor, shift } = step else { unreachable!("a scale") };
        let parts = factor.iter().zip(shift).zip(before.size.iter().zip(&before.error));
        let both = parts.map(|((factor, shift), (size, error))| {
            let all = factor.abs() * (size + error) + shift.abs();
            (all * SLACK, (factor.abs() * error + 4.0 * ROUNDING * all) * SLACK)
        });
        let (size, error) = both.unzip();
        Reach { size, error, unit: None }
    }

    fn of_each(exact: &Activation, activation: FloatActivation, before: &Reach) -> Self {
        let both = before.size.iter().zip(&before.error).map(|(&size, &error)| match activation {
            FloatActivation::Relu => (size, error),
            FloatActivation::Leaky(slope) => {
                let all = size * slope.abs().max(1.0);
                (all, (error * slope.abs().max(1.0) + 4.0 * ROUNDING * all) * SLACK)
            }
            FloatActivation::Clip(low, high) => {
                let all = size.min(low.abs().max(high.abs()));
                (all, error + 2.0 * ROUNDING * low.abs().max(high.abs()))
            }
            FloatActivation::Tanh | FloatActivation::Sigmoid => (1.0, error + CURVE),
        });
        let (size, mut error): (Vec<f64>, Vec<f64>) = both.unzip();
        let unit = before.unit.and_then(|unit| match exact {
            Activation::Relu => Some(unit),
            Activation::Leaky(slope) => Some(unit.saturating_add(unit_of(slope)?).min(unit)),
            Activation::Clip(low, high) => Some(unit.min(unit_of_all([low, high])?)),
            Activation::Tanh | Activation::Sigmoid => None,
        });
        let unit = unit.filter(|unit| size.iter().all(|size| fits(*size, *unit)));
        if unit.is_some() {
            error.fill(0.0);
        }
        Reach { size, error, unit }
    }
}

impl FloatActivation {
    #[inline(always)]
    fn of(self, x: f64) -> f64 {
        match self {
            FloatActivation::Relu => x.max(0.0),
            FloatActivation::Leaky(slope) => {
                if x < 0.0 {
                    x * slope
                } else {
                    x
                }
            }
            FloatActivation::Clip(low, high) => x.max(low).min(high),
            FloatActivation::Tanh => 1.0 - 2.0 / (exp(2.0 * x) + 1.0),
            FloatActivation::Sigmoid => 1.0 / (1.0 + exp(-x)),
        }
    }

    fn bounded(self, (value, error): Bounded) -> Bounded {
        let found = self.of(value);
        match self {
            FloatActivation::Relu if value < -error => (0.0, 0.0),
            FloatActivation::Relu => (found, error),
            FloatActivation::Clip(low, high) => (found, error + 2.0 * ROUNDING * low.abs().max(high.abs())),
            FloatActivation::Leaky(slope) => {
                let steep = slope.abs().max(1.0);
                (found, (error * steep + 4.0 * ROUNDING * (value.abs() + error) * steep) * SLACK)
            }
            FloatActivation::Tanh | FloatActivation::Sigmoid => (found, error + CURVE),
        }
    }
}

/// The first terms of the series of exp: 1 / k!.
const SERIES: [f64; 14] = {
    let (mut terms, mut k) = ([1.0; 14], 1);
    while k < 14 {
        terms[k] = terms[k - 1] / k as f64;
        k += 1;
    }
    terms
};

/// The exponential of a number, with a relative error below 2^-50; beyond the range where tanh and sigmoid still
/// change, 0 or a huge number.
#[inline(always)]
fn exp(x: f64) -> f64 {
    /// ln 2 in two parts; the first is short enough for exact products with whole numbers.
    const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    let x = x.clamp(-700.0, 700.0);
    // Adding and subtracting 1.5 * 2^52 rounds to a whole number, which the last bits of the sum hold.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    let rest = (x - whole * LN2[0]) - whole * LN2[1];
    let sum = SERIES.iter().rev().fold(0.0, |sum, term| sum * rest + term);
    let power = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    sum * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_as_near_as_is_said() {
        let mut worst: f64 = 0.0;
        for step in -70_000..70_000 {
            let x = f64::from(step) * 0.009_97;
            let expected = x.exp();
            if x.abs() < 699.0 {
                worst = worst.max(((exp(x) - expected) / expected).abs());
            }
        }
        // The system's own function is within one or two ulps of the true value.
        assert!(worst < 2f64.powi(-50) - 2f64.powi(-52), "{worst:e}");
        assert_eq!(FloatActivation::Sigmoid.of(-1e9), exp(-700.0));
        assert_eq!(FloatActivation::Tanh.of(1e9), 1.0);
    }
}
