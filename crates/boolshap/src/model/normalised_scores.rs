//! Turns the scores of an argmax after batch normalisation into whole numbers, although each class has its own square
//! root.
//!
//! The score of class j is `(a_j k_j + d_j) / sqrt(v_j) + beta_j`, where `k_j` is a whole number: the sum of its
//! integer weights. The roots are replaced by fractions of more and more bits, until every comparison of two classes
//! gives the same result as with the roots, for all sums that the weights can produce. So nothing is lost, or the
//! scores are refused. For each sum of one class there is one threshold in the sums of the other; it is found by
//! bisection with exact roots, and the fractions are tested on both sides of it. Cost: pairs of classes, times sums,
//! times the logarithm of the number of sums.

use super::fold::{BatchNorm, DenseLayer, scale};
use super::{ModelError, Problem};
use dashu_base::{Signed, SquareRootRem};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::cmp::Ordering;

/// The precisions, in bits, that are tried for the fractions.
const BITS: [usize; 5] = [24, 32, 40, 48, 60];
/// The most sums of a class that are examined.
const MAX_SUMS: i128 = 1 << 16;

/// A class: its score is `(step * k + start) / sqrt(variance) + beta` for every second `k` from `-most` to `most`.
struct Class {
    step: RBig,
    start: RBig,
    variance: RBig,
    beta: RBig,
    most: i128,
}

/// A layer without normalisation that orders all classes as this one does.
pub(super) fn without_roots(layer: &DenseLayer, norm: &BatchNorm) -> Result<DenseLayer, ModelError> {
    let refused = || ModelError::Parameter { layer: layer.name.clone(), problem: Problem::NormalisedScores };
    let mut classes = Vec::new();
    for (unit, weights) in layer.weights.iter().enumerate() {
        let variance = &norm.variance[unit] + &norm.epsilon;
        if !variance.is_positive() {
            let problem = Problem::Variance { neuron: unit + 1 };
            return Err(ModelError::Parameter { layer: layer.name.clone(), problem });
        }
        let (size, whole) = scale(weights.iter()).ok_or_else(refused)?;
        let most = whole.iter().try_fold(0i128, |sum, weight| sum.checked_add(weight.abs()));
        let most = most.filter(|most| *most <= MAX_SUMS).ok_or_else(refused)?;
        let step = &norm.gamma[unit] * size;
        let start = (&layer.bias[unit] - &norm.mean[unit]) * &norm.gamma[unit];
        classes.push(Class { step, start, variance, beta: norm.beta[unit].clone(), most });
    }
    for bits in BITS {
        let roots: Vec<RBig> = classes.iter().map(|class| inverse_root(&class.variance, bits)).collect();
        if keeps_order(&classes, &roots) {
            let row = |unit: usize| {
                let factor = &norm.gamma[unit] * &roots[unit];
                layer.weights[unit].iter().map(|weight| weight * &factor).collect()
            };
            let weights = (0..classes.len()).map(row).collect();
            let bias = classes.iter().zip(&roots).map(|(class, root)| &class.start * root + &class.beta).collect();
            return Ok(DenseLayer { name: layer.name.clone(), weights, bias, norm: None });
        }
    }
    Err(refused())
}

/// `1 / sqrt(square)`, rounded down to a fraction of this many bits.
fn inverse_root(square: &RBig, bits: usize) -> RBig {
    let size = square.to_f64().value().log2() / 2.0;
    let shift = usize::try_from(bits as i64 + size.ceil() as i64).unwrap_or(0);
    let scaled = (IBig::ONE << (2 * shift)) * IBig::from(square.denominator().clone()) / square.numerator();
    let scaled: UBig = scaled.try_into().unwrap_or(UBig::ZERO);
    RBig::from_parts(scaled.sqrt_rem().0.into(), UBig::ONE << shift)
}

fn keeps_order(classes: &[Class], roots: &[RBig]) -> bool {
    let pairs = (0..classes.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    pairs.into_iter().all(|(i, j)| {
        let ((one, other), (one_root, other_root)) = ((&classes[i], &classes[j]), (&roots[i], &roots[j]));
        (0..=one.most).all(|c| {
            let a = &one.step * RBig::from(2 * c - one.most) + &one.start;
            // In the direction in which the other score grows.
            let direction = if other.step.is_negative() { -1 } else { 1 };
            let b = |c: i128| &other.step * RBig::from(direction * (2 * c - other.most)) + &other.start;
            let wins = |c: i128| difference(&a, one, &b(c), other) != Ordering::Less;
            let (mut low, mut high) = (0, other.most + 1);
            while low < high {
                let middle = low + (high - low) / 2;
                if wins(middle) { low = middle + 1 } else { high = middle }
            }
            let rounded = |c: i128| &a * one_root + &one.beta >= b(c) * other_root + &other.beta;
            (low == 0 || rounded(low - 1)) && (low > other.most || !rounded(low))
        })
    })
}

/// Compares `a / sqrt(v) + beta` of one class with that of another.
fn difference(a: &RBig, one: &Class, b: &RBig, other: &Class) -> Ordering {
    let (x, y) = (a / &one.variance, -(b / &other.variance));
    sign_of_two_roots(&x, &one.variance, &y, &other.variance, &(&one.beta - &other.beta))
}

fn sign(number: &RBig) -> Ordering {
    number.cmp(&RBig::ZERO)
}

/// The sign of `x sqrt(u) + z`, for positive u: compares the squares of both terms if their signs differ.
fn sign_of_root(x: &RBig, u: &RBig, z: &RBig) -> Ordering {
    match (sign(x), sign(z)) {
        (Ordering::Equal, other) | (other, Ordering::Equal) => other,
        (one, other) if one == other => one,
        (one, other) => match (x.sqr() * u).cmp(&z.sqr()) {
            Ordering::Greater => one,
            Ordering::Equal => Ordering::Equal,
            Ordering::Less => other,
        },
    }
}

/// The sign of `x sqrt(u) + y sqrt(w) + z`, for positive u and w.
fn sign_of_two_roots(x: &RBig, u: &RBig, y: &RBig, w: &RBig, z: &RBig) -> Ordering {
    let (one, other) = (x.sqr() * u, y.sqr() * w);
    let roots = match (sign(x), sign(y)) {
        (a, b) if a == b => a,
        (a, b) => match one.cmp(&other) {
            Ordering::Greater => a,
            Ordering::Equal => Ordering::Equal,
            Ordering::Less => b,
        },
    };
    match (roots, sign(z)) {
        (Ordering::Equal, rest) | (rest, Ordering::Equal) => rest,
        (roots, rest) if roots == rest => roots,
        // The square of the sum of both roots is `one + other + 2 x y sqrt(u w)`.
        (roots, rest) => match sign_of_root(&(x * y * RBig::from(2)), &(u * w), &(one + other - z.sqr())) {
            Ordering::Greater => roots,
            Ordering::Equal => Ordering::Equal,
            Ordering::Less => rest,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;
    use crate::model::fold_network;

    #[test]
    fn signs_of_sums_of_roots() {
        let mut random = Seeded::new(5, 0);
        let mut zeros = 0;
        for _ in 0..5000 {
            let mut whole = |size: usize| random.below(2 * size + 1) as i64 - size as i64;
            let [x, y, z] = [whole(4), whole(4), whole(9)];
            let [u, w] = [1 + whole(4).abs(), 1 + whole(4).abs()];
            let float = x as f64 * (u as f64).sqrt() + y as f64 * (w as f64).sqrt() + z as f64;
            let expected = if float.abs() < 1e-9 { Ordering::Equal } else { float.total_cmp(&0.0) };
            zeros += usize::from(expected.is_eq());
            let [x, y, z, u, w] = [x, y, z, u, w].map(RBig::from);
            assert_eq!(sign_of_two_roots(&x, &u, &y, &w, &z), expected, "{x} {u} {y} {w} {z}");
        }
        assert!(zeros > 10, "{zeros}");
    }

    /// Whole parameters make ties frequent, and variances 1 and 4 give rational roots; random floats would rarely tie.
    #[test]
    fn normalised_scores_keep_their_order() {
        let mut random = Seeded::new(6, 0);
        let (mut ties, mut kept) = (0, 0);
        for _ in 0..60 {
            let mut whole = |size: usize| random.below(2 * size + 1) as i64 - size as i64;
            let (units, inputs) = (3, 5);
            let mut vector = |size: usize| -> Vec<i64> { (0..units).map(|_| whole(size)).collect() };
            let rows: Vec<Vec<i64>> =
                (0..inputs).map(|_| vector(1).iter().map(|w| 2 * w.abs() - 1).collect()).collect();
            let (gamma, beta, mean) = (vector(2), vector(2), vector(2));
            let variance: Vec<i64> = vector(3).iter().map(|v| 1 + v.abs()).collect();
            let exact = |numbers: &[i64]| numbers.iter().map(|&number| RBig::from(number)).collect::<Vec<_>>();
            let weights = (0..units).map(|unit| rows.iter().map(|row| RBig::from(row[unit])).collect()).collect();
            let norm = BatchNorm {
                name: "n".into(),
                gamma: exact(&gamma),
                beta: exact(&beta),
                mean: exact(&mean),
                variance: exact(&variance),
                epsilon: RBig::ZERO,
            };
            let layer = DenseLayer { name: "l".into(), weights, bias: vec![RBig::ZERO; units], norm: Some(norm) };
            let Ok(network) = fold_network(&[layer]) else { continue };
            kept += 1;
            for input in 0..1 << inputs {
                let sign = |at: usize| if input >> at & 1 == 1 { 1 } else { -1 };
                let score = |unit: usize| {
                    let sum: i64 = (0..inputs).map(|at| sign(at) * rows[at][unit]).sum();
                    gamma[unit] as f64 * (sum - mean[unit]) as f64 / (variance[unit] as f64).sqrt() + beta[unit] as f64
                };
                let best = (0..units).map(score).fold(f64::MIN, f64::max);
                let winners: Vec<usize> = (0..units).filter(|&unit| score(unit) > best - 1e-9).collect();
                ties += usize::from(winners.len() > 1);
                let bits: Vec<bool> = (0..inputs).map(|at| sign(at) == 1).collect();
                assert_eq!(network.classify(&bits), winners[0], "{gamma:?} {beta:?} {mean:?} {variance:?} {input}");
            }
        }
        assert!(ties > 20 && kept > 20, "{ties} {kept}");
    }
}
