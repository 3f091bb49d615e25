//! Networks as other libraries run them: a sequence of steps, which is folded into gates.
//!
//! Libraries differ in the sign of 0: Larq gives +1, `torch.sign` and `tf.sign` give 0. Gates give +1. A sign with -1
//! at 0 is computed by negating the sum, taking the sign with +1 at 0, and negating the result. A sign with 0 at 0, or
//! with unknown behaviour there, is accepted only if no input makes its argument 0.

use super::ModelError;
use super::fold::{BatchNorm, DenseLayer, check_shapes, fold_network};
use super::network::Network;
use super::real_network::{Activation, RealNetwork};
use super::zero_sum::reaches_zero;
use dashu_ratio::RBig;

/// The most sums for half of a neuron's weights.
const MAX_SUMS: usize = 1 << 18;

/// A step of a network.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sums, with weights and biases.
    Dense(DenseLayer),
    /// Batch normalisation of the preceding sums.
    Norm(BatchNorm),
    /// +1 above 0 and -1 below.
    Sign {
        /// Its name, for messages.
        name: String,
        /// Its value at 0: 1, -1 or 0; `None` if unknown.
        at_zero: Option<i8>,
    },
    /// A function of each value (or a softmax).
    Function {
        /// Its name, for messages.
        name: String,
        /// Whether positive values stay positive and negative ones negative.
        keeps_signs: bool,
        /// Whether it preserves the order of values.
        keeps_order: bool,
        /// The function itself, if known.
        real: Option<Activation>,
    },
}

impl Step {
    /// The step for a known function.
    pub(crate) fn function_of(activation: Activation) -> Self {
        let is_curve = !activation.is_rational();
        let keeps_order = is_curve || matches!(&activation, Activation::Leaky(slope) if *slope > RBig::ZERO);
        let keeps_signs = keeps_order && activation != Activation::Sigmoid;
        Step::Function { name: activation.to_string(), keeps_signs, keeps_order, real: Some(activation) }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Step::Dense(DenseLayer { name, .. }) | Step::Norm(BatchNorm { name, .. }) => name,
            Step::Sign { name, .. } | Step::Function { name, .. } => name,
        }
    }

    /// Why this step has no exact counterpart.
    fn refused<T>(&self, why: impl std::fmt::Display) -> Result<T, ModelError> {
        Err(ModelError::Step(format!("{}: {why}", self.name())))
    }
}

/// A network of gates or of real weights.
#[derive(Debug, Clone)]
pub enum AnyNetwork {
    /// Gates with whole weights.
    Gates(Network),
    /// Real weights, with functions other than signs between the layers.
    Real(RealNetwork),
}

/// Takes steps as gates if there are signs between the layers, otherwise as a network of real weights; `bits` says that
/// the inputs are 0 and 1 rather than -1 and +1.
pub fn take_steps(steps: Vec<Step>, bits: bool) -> Result<AnyNetwork, ModelError> {
    match has_real_weights(&steps) {
        true => RealNetwork::of_steps(steps, bits).map(AnyNetwork::Real),
        false => fold_steps(steps, bits).map(AnyNetwork::Gates),
    }
}

/// Whether there are several layers without signs between them.
pub(super) fn has_real_weights(steps: &[Step]) -> bool {
    let places: Vec<usize> = (0..steps.len()).filter(|&at| matches!(steps[at], Step::Dense(_))).collect();
    let has_sign = |pair: &[usize]| steps[pair[0]..pair[1]].iter().any(|step| matches!(step, Step::Sign { .. }));
    places.len() > 1 && !places.windows(2).any(has_sign)
}

/// Folds steps into a network; `bits` says that the inputs are 0 and 1 rather than -1 and +1.
pub fn fold_steps(steps: Vec<Step>, mut bits: bool) -> Result<Network, ModelError> {
    let mut layers: Vec<DenseLayer> = Vec::new();
    // The signs and functions that follow each layer.
    let mut followers: Vec<Vec<Step>> = Vec::new();
    for step in steps {
        match (step, layers.last_mut(), followers.last_mut()) {
            (Step::Dense(layer), ..) => {
                layers.push(layer);
                followers.push(Vec::new());
            }
            (Step::Norm(norm), Some(layer), Some(after)) if layer.norm.is_none() && after.is_empty() => {
                layer.norm = Some(norm);
            }
            (step @ Step::Norm(_), Some(layer), Some(after)) => {
                let norm = layer.norm.as_ref().map_or("", |norm| &norm.name);
                let before = after.last().map_or(norm, Step::name);
                return step.refused(format!("a batch normalisation follows a dense layer, not {before}"));
            }
            (step, _, Some(after)) => after.push(step),
            (step, ..) => bits = stays_bits(&step, bits)?,
        }
    }
    if layers.is_empty() {
        return Err(ModelError::Step("there is no dense layer".into()));
    }
    check_shapes(&layers)?;
    if bits {
        take_bits(&mut layers[0]);
    }
    for at in 1..layers.len() {
        let (front, back) = layers.split_at_mut(at);
        let (layer, next) = (&mut front[at - 1], &mut back[0]);
        if is_negated(sign_between(layer, &followers[at - 1], next)?, layer)? {
            negate(layer);
            next.weights.iter_mut().flatten().for_each(|weight| *weight = -&*weight);
        }
    }
    if let (Some(last), Some(after)) = (layers.last_mut(), followers.last()) {
        end(last, after)?;
    }
    fold_network(&layers)
}

/// Whether the inputs are still bits after a step in front of the first layer. A sign function leaves +1 and -1 as they
/// are, and may turn bits into signs.
fn stays_bits(step: &Step, bits: bool) -> Result<bool, ModelError> {
    match step {
        Step::Sign { at_zero, .. } if !bits || *at_zero == Some(0) => Ok(bits),
        Step::Sign { at_zero: Some(-1), .. } => Ok(false),
        Step::Sign { at_zero, .. } => {
            let makes = if at_zero.is_some() { "makes +1 of both 0 and 1" } else { "was not seen at 0" };
            step.refused(format!("this sign of the inputs {makes}; should bits enter as signs?"))
        }
        _ => step.refused("this is before the first dense layer, where only bits or signs can be"),
    }
}

/// Rewrites a layer on bits as a layer on signs with the same sums: a bit b is (s + 1) / 2 for the sign s.
pub(super) fn take_bits(layer: &mut DenseLayer) {
    let half = RBig::from_parts(1.into(), 2u8.into());
    for (weights, bias) in layer.weights.iter_mut().zip(&mut layer.bias) {
        weights.iter_mut().for_each(|weight| *weight *= &half);
        *bias = weights.iter().fold(bias.clone(), |sum, weight| sum + weight);
    }
}

/// The first sign after a layer; functions that keep signs may precede it, and further signs may follow.
fn sign_between<'a>(layer: &DenseLayer, after: &'a [Step], next: &DenseLayer) -> Result<&'a Step, ModelError> {
    let mut sign = None;
    for step in after {
        match step {
            Step::Sign { .. } => sign = sign.or(Some(step)),
            Step::Function { keeps_signs: true, .. } if sign.is_none() => {}
            _ => {
                return step.refused(format!("between {} and {} there may be a sign only", layer.name, next.name));
            }
        }
    }
    sign.ok_or_else(|| {
        let found = after.first().map_or(String::new(), |step| format!(" but {}", step.name()));
        let places = format!("between {} and {}", layer.name, next.name);
        ModelError::Step(format!("{places} there is no sign{found}: no Boolean function"))
    })
}

/// Whether the layer must be negated so that its sign gives -1 at 0; an error if its sign at 0 is neither +1 nor -1 and
/// the sum may be 0.
fn is_negated(sign: &Step, layer: &DenseLayer) -> Result<bool, ModelError> {
    let gives = match sign {
        Step::Sign { at_zero: Some(0), .. } => "gives 0 at 0",
        Step::Sign { at_zero: Some(value), .. } => return Ok(*value < 0),
        _ => "was not seen at 0",
    };
    for neuron in 0..layer.weights.len() {
        let what = match reaches_zero(layer, neuron, MAX_SUMS) {
            Some(false) => continue,
            Some(true) => "may add up",
            None => "is too wide to tell whether it adds up",
        };
        let unit = format!("unit {} of {}", neuron + 1, layer.name);
        return sign.refused(format!("this sign {gives}, and {unit} {what} to 0 exactly; a bit needs +1 or -1 there"));
    }
    Ok(false)
}

fn negate(layer: &mut DenseLayer) {
    let negate = |numbers: &mut Vec<RBig>| numbers.iter_mut().for_each(|number| *number = -&*number);
    match &mut layer.norm {
        Some(norm) => [&mut norm.gamma, &mut norm.beta].into_iter().for_each(negate),
        None => layer.weights.iter_mut().chain([&mut layer.bias]).for_each(negate),
    }
}

/// Handles the steps after the last layer, which gives a single score compared with 0, or several scores of which the
/// largest wins.
fn end(layer: &mut DenseLayer, after: &[Step]) -> Result<(), ModelError> {
    let units = layer.weights.len();
    for step in after {
        let keeps_order = matches!(step, Step::Function { keeps_order: true, .. });
        if units > 1 && !keeps_order {
            return step.refused(format!("at the end of {units} units this makes ties of different scores"));
        }
        if units == 1 && matches!(step, Step::Function { keeps_signs: false, keeps_order: false, .. }) {
            return step.refused("at the end of a single unit this changes its sign");
        }
        if units == 1 && keeps_order && step.name().to_lowercase().contains("softmax") {
            return step.refused("of a single unit this is 1 whatever the score");
        }
    }
    let Some(at) = after.iter().position(|step| matches!(step, Step::Sign { .. })) else { return Ok(()) };
    let (sign, before) = (&after[at], &after[..at]);
    if before.iter().any(|step| matches!(step, Step::Function { keeps_signs: false, .. })) {
        return sign.refused(format!("the sign of what {} gives", before[at - 1].name()));
    }
    match sign {
        Step::Sign { at_zero: Some(-1), .. } if layer.norm.is_none() => {
            // The answer is 1 only above 0: add a first score of 0, which wins ties.
            layer.weights.insert(0, vec![RBig::ZERO; layer.weights[0].len()]);
            layer.bias.insert(0, RBig::ZERO);
        }
        Step::Sign { name, at_zero: Some(-1) } => {
            is_negated(&Step::Sign { name: name.clone(), at_zero: None }, layer)?;
        }
        _ => drop(is_negated(sign, layer)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    fn exact(numbers: &[f64]) -> Vec<RBig> {
        numbers.iter().map(|&number| RBig::try_from(number).unwrap()).collect()
    }

    fn dense(name: &str, weights: &[Vec<f64>], bias: &[f64]) -> Step {
        let weights = weights.iter().map(|row| exact(row)).collect();
        Step::Dense(DenseLayer { name: name.into(), weights, bias: exact(bias), norm: None })
    }

    fn sign(name: &str, at_zero: Option<i8>) -> Step {
        Step::Sign { name: name.into(), at_zero }
    }

    /// Two layers of small whole numbers, so that sums of 0 are frequent, compared with running the steps in floats.
    #[test]
    fn signs_of_zero_are_what_they_were() {
        let mut random = Seeded::new(3, 0);
        let mut zeros = 0;
        for case in 0..200 {
            let mut number = |size: usize| random.below(2 * size + 1) as f64 - size as f64;
            let rows = |inputs: usize, units: usize, number: &mut dyn FnMut(usize) -> f64| -> Vec<Vec<f64>> {
                (0..units).map(|_| (0..inputs).map(|_| number(2)).collect()).collect()
            };
            let (first, last) = (rows(4, 3, &mut number), rows(3, 1, &mut number));
            let bias = [0; 4].map(|_| number(2));
            let at_zero = [1i8, -1].map(|value| if number(1) > 0.0 { value } else { -value });
            let bits = case % 2 == 1;
            let steps = vec![
                dense("one", &first, &bias[..3]),
                sign("sign", Some(at_zero[0])),
                dense("two", &last, &bias[3..]),
                sign("end", Some(at_zero[1])),
            ];
            let network = fold_steps(steps, bits).unwrap();
            for input in 0..16u32 {
                let set: Vec<bool> = (0..4).map(|bit| input >> bit & 1 == 1).collect();
                let low = if bits { 0.0 } else { -1.0 };
                let mut values: Vec<f64> = set.iter().map(|&set| if set { 1.0 } else { low }).collect();
                for ((weights, bias), at_zero) in [(&first, &bias[..3]), (&last, &bias[3..])].into_iter().zip(at_zero) {
                    let sums = weights.iter().zip(bias).map(|(row, bias)| {
                        row.iter().zip(&values).map(|(weight, value)| weight * value).sum::<f64>() + bias
                    });
                    zeros += sums.clone().filter(|sum| *sum == 0.0).count();
                    values = sums.map(|sum| if sum == 0.0 { f64::from(at_zero) } else { sum.signum() }).collect();
                }
                assert_eq!(network.classify(&set), usize::from(values[0] > 0.0), "case {case}, input {input}");
            }
        }
        assert!(zeros > 1000, "{zeros}");
    }

    #[test]
    fn steps_without_a_counterpart_are_named() {
        let one = || dense("one", &[vec![1.0, 1.0]], &[0.0]);
        let function =
            |keeps_signs, keeps_order| Step::Function { name: "f".into(), keeps_signs, keeps_order, real: None };
        let end = || dense("end", &[vec![1.0]], &[0.0]);
        for (steps, expected) in [
            (vec![], "there is no dense layer"),
            (vec![function(true, true), one()], "f: this is before the first dense layer"),
            (vec![one(), end()], "between one and end there is no sign: no Boolean function"),
            (vec![one(), function(true, false), end()], "between one and end there is no sign but f"),
            (vec![one(), function(false, true), end()], "f: between one and end there may be a sign only"),
            (vec![one(), sign("s", None), end()], "s: this sign was not seen at 0, and unit 1 of one may add up to 0"),
            (vec![one(), function(false, true), sign("s", Some(1))], "s: the sign of what f gives"),
            (
                vec![dense("two", &[vec![1.0], vec![2.0]], &[0.0, 1.0]), function(true, false)],
                "f: at the end of 2 units this makes ties of different scores",
            ),
        ] {
            let error = fold_steps(steps, false).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
