//! Networks of real weights: ReLU, tanh and sigmoid between dense layers, on bits.
//!
//! Such a network cannot be turned into gates, but its inputs are bits: with at most 24 of them, every input can be
//! tried (`real_table`). Parameters are exact rationals, as stored in files, and the network is defined in real
//! arithmetic: floats find most answers, and where they are too close to decide, rationals do (`real_exact`).

use super::fold::BatchNorm;
use super::real_exact::exact_root;
use super::steps::Step;
use super::{ModelError, Problem};
use dashu_base::Signed;
use dashu_ratio::RBig;
use std::fmt;
use std::str::FromStr;

/// The most inputs: all 16,777,216 of their values are tried.
pub const MAX_REAL_INPUTS: usize = 24;
/// The most classes: a class number is one byte.
const MAX_CLASSES: usize = 256;

/// A function applied to each number between layers.
#[derive(Debug, Clone, PartialEq)]
pub enum Activation {
    /// Replaces negative numbers by 0.
    Relu,
    /// Multiplies negative numbers by a slope.
    Leaky(RBig),
    /// Clamps numbers to two limits.
    Clip(RBig, RBig),
    /// The hyperbolic tangent.
    Tanh,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
}

impl Activation {
    /// Whether it maps rationals to rationals.
    pub(super) fn is_rational(&self) -> bool {
        !matches!(self, Activation::Tanh | Activation::Sigmoid)
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Activation::Relu => f.write_str("relu"),
            Activation::Leaky(slope) => write!(f, "leaky {slope}"),
            Activation::Clip(low, high) => write!(f, "clip {low} {high}"),
            Activation::Tanh => f.write_str("tanh"),
            Activation::Sigmoid => f.write_str("sigmoid"),
        }
    }
}

impl FromStr for Activation {
    type Err = String;

    /// `relu`, `leaky SLOPE`, `clip LOW HIGH`, `tanh` or `sigmoid`; numbers are fractions `a/b` or decimals.
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split([' ', ':', ',']).filter(|word| !word.is_empty()).collect();
        let number = |word: &str| {
            let decimal = || super::parse_decimal(word).ok_or_else(|| format!("'{word}' is not a number"));
            super::file::parse_fraction(word).or_else(|_| decimal())
        };
        match words[..] {
            ["relu"] => Ok(Activation::Relu),
            ["tanh"] => Ok(Activation::Tanh),
            ["sigmoid" | "logistic"] => Ok(Activation::Sigmoid),
            ["leaky", slope] => Ok(Activation::Leaky(number(slope)?)),
            ["clip", low, high] => {
                let (low, high) = (number(low)?, number(high)?);
                if low > high {
                    Err("the limits of a clip are reversed".into())
                } else {
                    Ok(Activation::Clip(low, high))
                }
            }
            _ => Err(format!("'{text}' is not one of relu, tanh, sigmoid, leaky SLOPE, clip LOW HIGH")),
        }
    }
}

/// A step of a network of real weights.
#[derive(Debug, Clone, PartialEq)]
pub enum RealStep {
    /// Sums: a row of weights and a bias for each output.
    Dense {
        /// The weights, a row for each output.
        weights: Vec<Vec<RBig>>,
        /// The biases.
        bias: Vec<RBig>,
    },
    /// `gamma (x - mean) / sqrt(variance) + beta`, with separate parameters for each number. The variance is positive.
    Norm {
        /// Scales.
        gamma: Vec<RBig>,
        /// Shifts.
        beta: Vec<RBig>,
        /// Means.
        mean: Vec<RBig>,
        /// Variances, including the epsilon.
        variance: Vec<RBig>,
    },
    /// Applies the same function to each number.
    Each(Activation),
}

/// How the last numbers decide the label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The label is 1 if the only number is at least 0.
    AtLeastZero,
    /// The label is 1 if the only number is above 0.
    AboveZero,
    /// The class of the largest number, the first one in a tie.
    Largest,
    /// They do not decide.
    Number,
}

impl Ending {
    const ALL: [Ending; 4] = [Ending::AtLeastZero, Ending::AboveZero, Ending::Largest, Ending::Number];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Ending::AtLeastZero => "at-least-zero",
            Ending::AboveZero => "above-zero",
            Ending::Largest => "largest",
            Ending::Number => "number",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.name() == name)
    }
}

/// A network of real weights on bits.
#[derive(Debug, Clone, PartialEq)]
pub struct RealNetwork {
    inputs: usize,
    outputs: usize,
    steps: Vec<RealStep>,
    ending: Ending,
}

impl RealNetwork {
    /// A network whose inputs are 0 and 1; an error if its steps do not fit each other.
    pub fn new(steps: Vec<RealStep>, ending: Ending) -> Result<Self, ModelError> {
        let wrong = |message: String| Err(ModelError::Step(message));
        let Some(RealStep::Dense { weights, .. }) = steps.first() else {
            return wrong("a network of real weights begins with a dense layer".into());
        };
        let inputs = weights.first().map_or(0, Vec::len);
        if !(1..=MAX_REAL_INPUTS).contains(&inputs) {
            return wrong(format!(
                "the network has real weights and {inputs} inputs: all of them are tried, which ends at {MAX_REAL_INPUTS}"
            ));
        }
        if steps.iter().flat_map(RealStep::numbers).any(is_out_of_reach) {
            return wrong("a weight or bias is smaller than 1e-290 or larger than 1e290 in size".into());
        }
        let mut width = inputs;
        for (place, step) in steps.iter().enumerate() {
            width = step.width_after(width, place + 1)?;
        }
        let fits = match ending {
            Ending::AtLeastZero | Ending::AboveZero => width == 1,
            Ending::Largest => (2..=MAX_CLASSES).contains(&width),
            Ending::Number => width >= 1,
        };
        match fits {
            true => Ok(RealNetwork { inputs, outputs: width, steps, ending }),
            false => wrong(format!("{width} numbers at the end cannot decide by '{}'", ending.name())),
        }
    }

    /// The number of input bits.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[RealStep] {
        &self.steps
    }

    /// How the numbers decide.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// The number of classes; `None` if the numbers do not decide.
    pub fn classes(&self) -> Option<usize> {
        match self.ending {
            Ending::AtLeastZero | Ending::AboveZero => Some(2),
            Ending::Largest => Some(self.outputs),
            Ending::Number => None,
        }
    }

    /// The widths of the layers, such as `8-16-1`.
    pub fn shape(&self) -> String {
        let widths = self.steps.iter().filter_map(|step| match step {
            RealStep::Dense { weights, .. } => Some(weights.len()),
            _ => None,
        });
        std::iter::once(self.inputs).chain(widths).map(|width| width.to_string()).collect::<Vec<_>>().join("-")
    }

    /// Whether rational inputs give rational outputs, so that every sign can be decided exactly.
    pub(super) fn is_rational(&self) -> bool {
        self.steps.iter().all(|step| match step {
            RealStep::Dense { .. } => true,
            RealStep::Norm { variance, .. } => variance.iter().all(|variance| exact_root(variance).is_some()),
            RealStep::Each(activation) => activation.is_rational(),
        })
    }

    /// The network made of another library's steps; `bits` says that the inputs are 0 and 1 rather than -1 and +1.
    pub(super) fn of_steps(steps: Vec<Step>, bits: bool) -> Result<Self, ModelError> {
        let last = steps.iter().rposition(|step| matches!(step, Step::Dense(_) | Step::Norm(_)));
        let Some(last) = last else { return Err(ModelError::Step("there is no dense layer".into())) };
        let mut taken = Vec::new();
        let mut ending = None;
        let units = steps[..=last].iter().rev().find_map(|step| match step {
            Step::Dense(layer) => Some(layer.weights.len()),
            _ => None,
        });
        for (place, step) in steps.into_iter().enumerate() {
            match step {
                Step::Dense(mut layer) => {
                    if taken.is_empty() && !bits {
                        take_signs(&mut layer.weights, &mut layer.bias);
                    }
                    taken.push(RealStep::Dense { weights: layer.weights, bias: layer.bias });
                }
                Step::Norm(norm) => taken.push(RealStep::of_norm(norm)?),
                step if place < last => taken.push(RealStep::Each(between(&step)?)),
                step => end(&step, units == Some(1), &mut taken, &mut ending)?,
            }
        }
        let usual = if units == Some(1) { Ending::AtLeastZero } else { Ending::Largest };
        RealNetwork::new(taken, ending.unwrap_or(usual))
    }

    /// The same network, whose outputs are then plain numbers that decide nothing.
    pub fn as_number(self) -> Self {
        RealNetwork { ending: Ending::Number, ..self }
    }
}

/// Whether a number that is not 0 is too small or too large for floats.
fn is_out_of_reach(number: &RBig) -> bool {
    let size = number.to_f64().value().abs();
    !number.is_zero() && !(1e-290..1e290).contains(&size)
}

/// Rewrites weights for -1 and +1 as weights for the bits 0 and 1: a sign is 2 b - 1.
fn take_signs(weights: &mut [Vec<RBig>], bias: &mut [RBig]) {
    for (row, bias) in weights.iter_mut().zip(bias) {
        for weight in row {
            *bias -= &*weight;
            *weight *= RBig::from(2);
        }
    }
}

/// The function between two layers.
fn between(step: &Step) -> Result<Activation, ModelError> {
    match step {
        Step::Function { real: Some(activation), .. } => Ok(activation.clone()),
        Step::Function { name, .. } => {
            Err(ModelError::Step(format!("{name}: between layers of real weights this function is not read")))
        }
        step => Err(ModelError::Step(format!("{}: a sign among layers of real weights is not read", step.name()))),
    }
}

/// Handles a step after the last layer; functions that only preserve the order of scores are dropped.
fn end(step: &Step, single: bool, taken: &mut Vec<RealStep>, ending: &mut Option<Ending>) -> Result<(), ModelError> {
    let refused = |why: &str| Err(ModelError::Step(format!("{}: {why}", step.name())));
    match step {
        _ if ending.is_some() => refused("follows the end of a network"),
        Step::Function { name, keeps_order: true, .. } => match single && name.to_lowercase().contains("softmax") {
            true => refused("of a single unit this is 1 whatever the score"),
            false => Ok(()),
        },
        Step::Function { real: Some(activation), .. } => {
            taken.push(RealStep::Each(activation.clone()));
            Ok(())
        }
        Step::Sign { at_zero: Some(at_zero @ (1 | -1)), .. } if single => {
            *ending = Some(if *at_zero == 1 { Ending::AtLeastZero } else { Ending::AboveZero });
            Ok(())
        }
        _ => refused("at the end of a network of real weights this is not read"),
    }
}

impl RealStep {
    fn of_norm(norm: BatchNorm) -> Result<Self, ModelError> {
        let BatchNorm { name, gamma, beta, mean, variance, epsilon } = norm;
        let variance: Vec<RBig> = variance.into_iter().map(|variance| variance + &epsilon).collect();
        match variance.iter().position(|variance| *variance <= RBig::ZERO) {
            Some(at) => Err(ModelError::Parameter { layer: name, problem: Problem::Variance { neuron: at + 1 } }),
            None => Ok(RealStep::Norm { gamma, beta, mean, variance }),
        }
    }

    /// All its parameters.
    fn numbers(&self) -> Box<dyn Iterator<Item = &RBig> + '_> {
        match self {
            RealStep::Dense { weights, bias } => Box::new(weights.iter().flatten().chain(bias)),
            RealStep::Norm { gamma, beta, mean, variance } => {
                Box::new([gamma, beta, mean, variance].into_iter().flatten())
            }
            RealStep::Each(Activation::Clip(low, high)) => Box::new([low, high].into_iter()),
            RealStep::Each(Activation::Leaky(slope)) => Box::new(std::iter::once(slope)),
            RealStep::Each(_) => Box::new(std::iter::empty()),
        }
    }

    /// The number of outputs of step `number` when it has `width` inputs.
    fn width_after(&self, width: usize, number: usize) -> Result<usize, ModelError> {
        let layer = || format!("step {number}");
        let length = |what, expected, found: usize| match expected == found {
            true => Ok(()),
            false => {
                let problem = Problem::Length { what, expected, found };
                Err(ModelError::Parameter { layer: layer(), problem })
            }
        };
        match self {
            RealStep::Each(_) => Ok(width),
            RealStep::Dense { weights, bias } => {
                if weights.is_empty() {
                    return Err(ModelError::Empty { layer: layer() });
                }
                if let Some(row) = weights.iter().find(|row| row.len() != width) {
                    return Err(ModelError::Width { layer: layer(), expected: width, found: row.len() });
                }
                length("bias", weights.len(), bias.len())?;
                Ok(weights.len())
            }
            RealStep::Norm { gamma, beta, mean, variance } => {
                length("gamma", width, gamma.len())?;
                length("beta", width, beta.len())?;
                length("mean", width, mean.len())?;
                length("variance", width, variance.len())?;
                if let Some(at) = variance.iter().position(|variance| !variance.is_positive() || variance.is_zero()) {
                    return Err(ModelError::Parameter {
                        layer: layer(),
                        problem: Problem::Variance { neuron: at + 1 },
                    });
                }
                Ok(width)
            }
        }
    }
}
