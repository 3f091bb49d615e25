//! Folds the stored parameters of a layer into integer gates, exactly.
//!
//! A file stores real numbers: f32 and f64 are dyadic fractions, text is decimal. Both are rationals, and are kept as
//! rationals here. The weights of a gate are scaled to integers by their common denominator. Its threshold is then the
//! smallest total weight `C` of conveniently instantiated inputs for which the stored condition holds. The condition is
//! monotone in `C`, so bisection with an exact predicate finds the threshold.
//!
//! The condition with batch normalisation is `gamma (w.s + b - mean) / sqrt(variance + epsilon) + beta >= 0`.
//! Multiplied by the root it reads `A + beta sqrt(V) >= 0` with `A` and `V` rational, whose sign can be found without a
//! root: compare the signs of `A` and `beta` first, then `A^2` with `beta^2 V`. So ties are decided exactly, never by
//! rounding. A negative gamma reverses the comparison, which flips every weight; gamma 0 makes the gate constant.
//!
//! Scores of an argmax have no threshold but must keep their order. With integer weights, a comparison of two scores
//! depends on the integer parts of the biases and, if these tie, on the order of their fractional parts. So a bias
//! becomes `floor * ranks + rank`, a small integer however many digits it has. After batch normalisation the roots are
//! replaced first (`normalised_scores`).

use super::network::{Gate, Network, Output, OutputScale, Score};
use super::normalised_scores::without_roots;
use super::{ModelError, Problem};
use dashu_base::{Gcd, Signed, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// A dense layer as stored in a file: exact numbers, not yet gates.
#[derive(Debug, Clone)]
pub struct DenseLayer {
    /// Its name in the file, for messages.
    pub name: String,
    /// One row of weights for each output.
    pub weights: Vec<Vec<RBig>>,
    /// One value for each output.
    pub bias: Vec<RBig>,
    /// Batch normalisation of the outputs, if there is one.
    pub norm: Option<BatchNorm>,
}

/// The parameters of batch normalisation, one of each per output.
#[derive(Debug, Clone)]
pub struct BatchNorm {
    /// Its name in the file, for messages.
    pub name: String,
    /// Scale.
    pub gamma: Vec<RBig>,
    /// Shift.
    pub beta: Vec<RBig>,
    /// Moving mean.
    pub mean: Vec<RBig>,
    /// Moving variance.
    pub variance: Vec<RBig>,
    /// A constant added to the variance.
    pub epsilon: RBig,
}

/// Folds a stack of dense layers into a network: signs between the layers, then a step for a single output or an argmax
/// for several.
pub fn fold_network(layers: &[DenseLayer]) -> Result<Network, ModelError> {
    check_shapes(layers)?;
    let (last, before) = layers.split_last().expect("there is a layer");
    let inputs = layers[0].weights[0].len();
    let hidden = before.iter().map(fold_gates).collect::<Result<Vec<_>, _>>()?;
    let (output, scales) = match last.weights.len() {
        1 => (Output::Step(fold_gates(last)?.remove(0)), step_scale(last).into_iter().collect()),
        _ => {
            let (scores, scales) = fold_scores(last)?;
            (Output::Argmax(scores), scales)
        }
    };
    let network = Network::new(inputs, hidden, output)?;
    // A root is rounded; if that could change a decision, the values are given in whole weights instead.
    Ok(network.clone().with_scales(scales).unwrap_or(network))
}

/// The number that the step compares with 0, `unit * (w . s) + bias`. With batch normalisation, the root of the
/// variance is rounded to the nearest float, unless it is rational.
fn step_scale(layer: &DenseLayer) -> Option<OutputScale> {
    let (unit, _) = scale(layer.weights[0].iter())?;
    let Some(norm) = &layer.norm else { return Some(OutputScale { unit, bias: layer.bias[0].clone() }) };
    let variance = &norm.variance[0] + &norm.epsilon;
    let root = |number: &UBig| (number.sqrt().sqr() == *number).then(|| RBig::from(number.sqrt()));
    let numerator: UBig = variance.numerator().clone().try_into().ok()?;
    let inverse = match (root(&numerator), root(variance.denominator())) {
        (Some(above), Some(below)) => below / above,
        _ => RBig::try_from(1.0 / variance.to_f64().value().sqrt()).ok()?,
    };
    let gamma = &norm.gamma[0] * inverse;
    let bias = &gamma * (&layer.bias[0] - &norm.mean[0]) + &norm.beta[0];
    let unit = unit * if gamma.is_negative() { -gamma } else { gamma };
    Some(OutputScale { unit, bias })
}

/// Checks that there is at least one layer and that the widths fit.
pub(crate) fn check_shapes(layers: &[DenseLayer]) -> Result<(), ModelError> {
    let mut width = None;
    for layer in layers {
        check_shape(layer, width)?;
        width = Some(layer.weights.len());
    }
    width.map_or(Err(ModelError::Empty { layer: "the network".into() }), |_| Ok(()))
}

fn check_shape(layer: &DenseLayer, width: Option<usize>) -> Result<(), ModelError> {
    let name = || layer.name.clone();
    let outputs = layer.weights.len();
    if outputs == 0 || layer.weights[0].is_empty() {
        return Err(ModelError::Empty { layer: name() });
    }
    let expected = width.unwrap_or(layer.weights[0].len());
    for row in &layer.weights {
        if row.len() != expected {
            return Err(ModelError::Width { layer: name(), expected, found: row.len() });
        }
    }
    let vectors = layer.norm.iter().flat_map(|norm| {
        [("gamma", &norm.gamma), ("beta", &norm.beta), ("mean", &norm.mean), ("variance", &norm.variance)]
    });
    for (what, vector) in vectors.chain([("bias", &layer.bias)]) {
        if vector.len() != outputs {
            let problem = Problem::Length { what, expected: outputs, found: vector.len() };
            return Err(ModelError::Parameter { layer: name(), problem });
        }
    }
    Ok(())
}

fn fold_gates(layer: &DenseLayer) -> Result<Vec<Gate>, ModelError> {
    (0..layer.weights.len()).map(|neuron| fold_gate(layer, neuron)).collect()
}

fn fold_gate(layer: &DenseLayer, neuron: usize) -> Result<Gate, ModelError> {
    let wrong = |problem| ModelError::Parameter { layer: layer.name.clone(), problem };
    let too_wide = || wrong(Problem::TooWide { neuron: neuron + 1 });
    let (unit, mut weights) = scale(layer.weights[neuron].iter()).ok_or_else(too_wide)?;
    let bias = &layer.bias[neuron];
    let mut holds: Box<dyn Fn(RBig) -> bool> = Box::new(move |sum| !(sum + bias).is_negative());
    if let Some(norm) = &layer.norm {
        let (gamma, beta) = (&norm.gamma[neuron], &norm.beta[neuron]);
        let variance = &norm.variance[neuron] + &norm.epsilon;
        if variance <= RBig::ZERO {
            return Err(wrong(Problem::Variance { neuron: neuron + 1 }));
        }
        let centre = bias - &norm.mean[neuron];
        // A negative gamma asks for small sums: flip the weights, which flips the sign of the sum.
        let flip = gamma.is_negative();
        if flip {
            weights.iter_mut().for_each(|w| *w = -*w);
        }
        holds = Box::new(move |sum| {
            let sum = if flip { -sum } else { sum };
            surd_is_nonnegative(&(gamma * (sum + &centre)), beta, &variance)
        });
    }
    let total: IBig = weights.iter().map(|w| IBig::from(w.unsigned_abs())).sum();
    let never: i128 = (&total + 1u8).try_into().map_err(|_| too_wide())?;
    let sum_at = |convenient: i128| RBig::from(2 * IBig::from(convenient) - &total) * &unit;
    let need = least(never, |convenient| holds(sum_at(convenient)));
    Gate::new(weights, need).ok_or_else(too_wide)
}

/// The smallest weight for which `holds` is true, given that it stays true for all larger ones; `never`, which cannot
/// be reached, if there is none.
pub(super) fn least(never: i128, holds: impl Fn(i128) -> bool) -> i128 {
    // Invariant: every weight below `low` fails, and `high` holds or is `never`.
    let (mut low, mut high) = (0, never);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

pub(super) fn fold_scores(layer: &DenseLayer) -> Result<(Vec<Score>, Vec<OutputScale>), ModelError> {
    if let Some(norm) = &layer.norm {
        return fold_scores(&without_roots(layer, norm)?);
    }
    let wrong = |problem| ModelError::Parameter { layer: layer.name.clone(), problem };
    let too_wide = || wrong(Problem::ScoresTooWide);
    let (unit, weights) = scale(layer.weights.iter().flatten()).ok_or_else(too_wide)?;
    let parts: Vec<(IBig, RBig)> = layer
        .bias
        .iter()
        .map(|bias| {
            let scaled = bias / &unit;
            let whole = scaled.floor();
            (whole.clone(), scaled - RBig::from(whole))
        })
        .collect();
    let mut fractions: Vec<&RBig> = parts.iter().map(|(_, fraction)| fraction).collect();
    fractions.sort();
    fractions.dedup();
    let ranks = fractions.len() as i128;
    let own = &unit / RBig::from(ranks);
    let scales = layer.bias.iter().map(|bias| OutputScale { unit: own.clone(), bias: bias.clone() }).collect();
    let scores = weights
        .chunks(layer.weights[0].len())
        .zip(&parts)
        .map(|(row, (whole, fraction))| {
            let rank = fractions.partition_point(|other| *other < fraction) as i128;
            let bias = i128::try_from(whole).ok()?.checked_mul(ranks)?.checked_add(rank)?;
            let weights = row.iter().map(|w| w.checked_mul(ranks)).collect::<Option<Vec<_>>>()?;
            Score::new(weights, bias)
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(too_wide)?;
    Ok((scores, scales))
}

/// The weights as integer multiples of their largest common unit; `None` if they do not fit into 128 bits.
pub(crate) fn scale<'a>(weights: impl Iterator<Item = &'a RBig> + Clone) -> Option<(RBig, Vec<i128>)> {
    let mut denominator = UBig::ONE;
    for weight in weights.clone() {
        let common = (&denominator).gcd(weight.denominator());
        denominator *= weight.denominator() / common;
    }
    let whole: Vec<IBig> =
        weights.map(|weight| weight.numerator() * IBig::from(&denominator / weight.denominator())).collect();
    let nonzero = whole.iter().filter(|w| !w.is_zero());
    let factor = nonzero.fold(None, |g: Option<UBig>, w| Some(g.map_or_else(|| w.unsigned_abs(), |g| g.gcd(w))));
    let factor = factor.unwrap_or(UBig::ONE);
    // The smallest i128 is excluded because it cannot be negated, and a later step may flip signs.
    let fits = |w: i128| (w != i128::MIN).then_some(w);
    let integers = whole
        .iter()
        .map(|w| i128::try_from(w / IBig::from(factor.clone())).ok().and_then(fits))
        .collect::<Option<_>>()?;
    Some((RBig::from_parts(factor.into(), denominator), integers))
}

/// Whether `a + b sqrt(v) >= 0`, for `v > 0`.
pub(super) fn surd_is_nonnegative(a: &RBig, b: &RBig, v: &RBig) -> bool {
    match (a.is_negative(), b.is_negative()) {
        (false, false) => true,
        (true, true) => false,
        // a >= |b| sqrt(v), or |a| <= b sqrt(v).
        (false, true) => a.sqr() >= b.sqr() * v,
        (true, false) => a.sqr() <= b.sqr() * v,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> RBig {
        RBig::from_str_decimal(text).unwrap()
    }

    fn numbers(text: &str) -> Vec<RBig> {
        text.split(' ').map(number).collect()
    }

    fn dense(rows: &[&str], bias: &str) -> DenseLayer {
        let weights = rows.iter().map(|row| numbers(row)).collect();
        DenseLayer { name: "dense".into(), weights, bias: numbers(bias), norm: None }
    }

    fn normalised(weights: &str, gamma: &str, beta: &str, mean: &str, variance: &str) -> DenseLayer {
        let one = |text| vec![number(text)];
        let (gamma, beta, mean, variance) = (one(gamma), one(beta), one(mean), one(variance));
        let norm = BatchNorm { name: "bn".into(), gamma, beta, mean, variance, epsilon: RBig::ZERO };
        DenseLayer { norm: Some(norm), ..dense(&[weights], "0") }
    }

    fn step(layer: &DenseLayer) -> Gate {
        fold_gate(layer, 0).unwrap()
    }

    #[test]
    fn equation_4_of_the_paper() {
        // Examples 1 and 2: every gate of the running example has d = 2.
        for (weights, bias) in [("-1 -1 1", "0.16"), ("-1 -1 -1", "-0.3"), ("1 1 1", "0"), ("1 1 -1", "-0.01")] {
            assert_eq!(step(&dense(&[weights], bias)).need(), 2, "{weights} {bias}");
        }
    }

    #[test]
    fn a_tie_fires_and_just_below_it_does_not() {
        // x1 + x2 + b >= 0 with b = -2 needs both inputs; with the next f64 below -2 it is impossible.
        assert_eq!(step(&dense(&["1 1"], "-2")).need(), 2);
        let mut layer = dense(&["1 1"], "0");
        layer.bias = vec![RBig::try_from(-2.0f64 - f64::EPSILON * 2.0).unwrap()];
        assert_eq!(step(&layer).need(), 3);
    }

    #[test]
    fn real_weights_are_scaled_to_integers() {
        let gate = step(&dense(&["0.5 -0.25 0.75"], "-0.1"));
        assert_eq!(gate.weights(), [2, -1, 3]);
        // (2 s1 - s2 + 3 s3) / 4 >= 0.1 means a sum of at least 0.4, so 2 C - 6 >= 0.4 and C >= 4.
        assert_eq!(gate.need(), 4);
    }

    #[test]
    fn batch_normalisation_on_an_exact_tie() {
        // (s - 0) / sqrt(4) * 1 - 0.5 >= 0 exactly if s >= 1: a tie fires.
        assert_eq!(step(&normalised("1 1 1", "1", "-0.5", "0", "4")).need(), 2);
        // An irrational root: s >= sqrt(2) is s >= 3.
        assert_eq!(step(&normalised("1 1 1", "1", "-1", "0", "2")).need(), 3);
        // gamma < 0: -s - sqrt(2) >= 0 is s <= -3, with flipped weights again C >= 3.
        let flipped = step(&normalised("1 1 1", "-1", "-1", "0", "2"));
        assert_eq!((flipped.weights(), flipped.need()), ([-1, -1, -1].as_slice(), 3));
        // gamma 0: only the sign of beta counts.
        assert_eq!(step(&normalised("1 1 1", "0", "0", "5", "2")).need(), 0);
        assert_eq!(step(&normalised("1 1 1", "0", "-0.1", "5", "2")).need(), 4);
        let error = fold_gate(&normalised("1", "1", "1", "1", "0"), 0).unwrap_err();
        assert_eq!(error.to_string(), "dense: neuron 1 has a variance plus epsilon that is not positive");
    }

    #[test]
    fn argmax_keeps_the_order_of_real_biases() {
        // Biases 0.3 and 0.1 + 0.2 are equal decimals; 0.30000000000000004 is above them.
        let layer = dense(&["1 1", "1 1", "1 1"], "0.3 0.30000000000000004 -1.7");
        let (scores, _) = fold_scores(&layer).unwrap();
        assert_eq!(scores.iter().map(Score::bias).collect::<Vec<_>>(), [0, 1, -4]);
        assert_eq!(scores[0].weights(), [2, 2]);
        let network = fold_network(&[layer]).unwrap();
        assert_eq!(network.classify(&[true, true]), 1);
    }

    #[test]
    fn weights_of_too_many_sizes_are_refused() {
        let error = fold_network(&[dense(&["1e60 1e-60"], "0")]).unwrap_err();
        assert_eq!(error.to_string(), "dense: the weights of neuron 1 span too many sizes to be scaled to integers");
    }

    #[test]
    fn a_vector_of_the_wrong_length_is_named() {
        let error = fold_network(&[dense(&["1 1", "1 -1"], "0")]).unwrap_err();
        assert_eq!(error.to_string(), "dense: bias has 1 values where 2 are expected");
    }
}
