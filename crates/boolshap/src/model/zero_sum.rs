//! Decides whether the argument of a neuron's sign can be exactly 0, where programs differ: +1, -1 or 0.
//!
//! The argument is 0 at one value of the weighted sum, so the question is whether some signs of the inputs give this
//! value: a subset-sum problem. It is solved in whole numbers by meeting in the middle, and left open if there are too
//! many sums.

use super::fold::{DenseLayer, scale};
use dashu_base::{SquareRootRem, UnsignedAbs};
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::HashSet;

/// Whether a neuron is exactly 0 for some signs of its inputs; `None` if that takes more than `most` sums for half of
/// the weights.
pub(crate) fn reaches_zero(layer: &DenseLayer, neuron: usize, most: usize) -> Option<bool> {
    let mut sum = -&layer.bias[neuron];
    if let Some(norm) = &layer.norm {
        let part = |vector: &[RBig]| vector.get(neuron).cloned().unwrap_or(RBig::ZERO);
        let [gamma, beta] = [part(&norm.gamma), part(&norm.beta)];
        if gamma.is_zero() {
            return Some(beta.is_zero());
        }
        sum += part(&norm.mean);
        if !beta.is_zero() {
            // gamma (sum - mean) + beta root = 0 has a rational solution only if the root is rational.
            let Some(root) = root(&(part(&norm.variance) + &norm.epsilon)) else { return Some(false) };
            sum -= beta / gamma * root;
        }
    }
    let (unit, weights) = scale(layer.weights[neuron].iter())?;
    let target = sum / unit;
    if target.denominator() != &UBig::ONE {
        return Some(false);
    }
    let sizes: Vec<i128> = weights.into_iter().map(i128::abs).filter(|&size| size > 0).collect();
    let total = sizes.iter().try_fold(0i128, |total, size| total.checked_add(*size))?;
    match i128::try_from(target.numerator()) {
        Ok(target) if target.abs() <= total => signed_sum(&sizes, total, target, most),
        _ => Some(false),
    }
}

/// Whether the weights, each with some sign, add up to a target that is at most their total.
fn signed_sum(weights: &[i128], total: i128, target: i128, most: usize) -> Option<bool> {
    if (target ^ total) & 1 == 1 {
        return Some(false);
    }
    if weights.iter().all(|&weight| weight == 1) {
        return Some(true);
    }
    let sums_of = |start: usize| {
        let mut sums = HashSet::from([0]);
        for weight in weights[start..].iter().step_by(2) {
            sums = sums.iter().flat_map(|sum: &i128| [sum + weight, sum - weight]).collect();
            if sums.len() > most {
                return None;
            }
        }
        Some(sums)
    };
    let [one, other] = [sums_of(0)?, sums_of(1)?];
    Some(one.iter().any(|sum| other.contains(&(target - sum))))
}

/// The square root, if it is rational.
fn root(square: &RBig) -> Option<RBig> {
    if *square < RBig::ZERO {
        return None;
    }
    let whole = |number: &UBig| Some(number.sqrt_rem()).filter(|(_, rest)| rest.is_zero()).map(|(root, _)| root);
    // A fraction in lowest terms is a square if its numerator and denominator are.
    Some(RBig::from_parts(whole(&square.numerator().unsigned_abs())?.into(), whole(square.denominator())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fold::BatchNorm;

    fn numbers(text: &str) -> Vec<RBig> {
        text.split(' ').map(|number| RBig::from_str_decimal(number).unwrap()).collect()
    }

    #[test]
    fn zero_sums_agree_with_enumeration() {
        let norm = |gamma: &str, beta: &str, mean: &str, variance: &str| BatchNorm {
            name: "n".into(),
            gamma: numbers(gamma),
            beta: numbers(beta),
            mean: numbers(mean),
            variance: numbers(variance),
            epsilon: RBig::ZERO,
        };
        let norms = [
            None,
            // s - 1 + 2 b = 0 with a rational root, and one with an irrational root.
            Some((norm("1", "-1", "1", "4"), 2.0, 1.0)),
            Some((norm("-2", "3", "0", "2.25"), 1.5, 0.0)),
            Some((norm("1", "1", "0", "2"), 2f64.sqrt(), 0.0)),
            Some((norm("1", "0", "1", "2"), 1.0, 1.0)),
            Some((norm("0", "0", "1", "2"), 1.0, 1.0)),
            Some((norm("0", "0.5", "1", "2"), 1.0, 1.0)),
        ];
        for weights in ["1 -1 1", "1 1", "0.5 0.5 -0.5", "1 -1 1 -1", "2 1 0", "1.5 -1 3 0.5"] {
            for bias in ["0", "1", "-2", "0.5", "-1.5", "9"] {
                for parameters in &norms {
                    let weights = numbers(weights);
                    let sums = (0..1 << weights.len()).map(|input: u32| {
                        let term = |(j, w): (usize, &RBig)| if input >> j & 1 == 1 { w.clone() } else { -w };
                        let sum = weights.iter().enumerate().map(term).fold(numbers(bias).remove(0), |a, b| a + b);
                        let sum = sum.to_f64().value();
                        parameters.as_ref().map_or(sum, |(norm, root, mean)| {
                            let part = |vector: &[RBig]| vector[0].to_f64().value();
                            part(&norm.gamma) * (sum - mean) / root + part(&norm.beta)
                        })
                    });
                    let expected = sums.map(|sum| sum.abs()).any(|sum| sum < 1e-9);
                    let (name, norm) = ("l".into(), parameters.as_ref().map(|(norm, ..)| norm.clone()));
                    let layer = DenseLayer { name, weights: vec![weights], bias: numbers(bias), norm };
                    assert_eq!(reaches_zero(&layer, 0, 1 << 10), Some(expected), "{layer:?}");
                }
            }
        }
    }
}
