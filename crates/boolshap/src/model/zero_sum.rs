//! Whether the argument of a neuron's sign can be exactly 0, where programs differ: +1, -1 or 0.
//!
//! A neuron is 0 at one value of its weighted sum, so the question is whether some signs of the inputs give that value: a
//! subset sum. It is decided in whole numbers, by meeting in the middle, and left open where the sums become too many.

use super::fold::{DenseLayer, scale};
use dashu::base::{SquareRootRem, UnsignedAbs};
use dashu::integer::UBig;
use dashu::rational::RBig;
use std::collections::HashSet;

/// Whether a neuron is exactly 0 for some signs of its inputs; nothing if that takes more than `most` sums of a half of the
/// weights.
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

/// Whether the weights, each with some sign, add up to a target of at most their total.
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
    // A fraction in lowest terms is a square if both of its parts are.
    Some(RBig::from_parts(whole(&square.numerator().unsigned_abs())?.into(), whole(square.denominator())?))
}
