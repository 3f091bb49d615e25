//! Networks of threshold gates: the exact function that is compiled, evaluated and explained.
//!
//! Inputs and hidden outputs are bits that mean +1 (true) and -1 (false). A gate with integer weights `w` is true if `w
//! . s >= t`. Call an input *conveniently instantiated* if its sign is that of its weight, and let `C` be the sum of
//! `|w|` over those inputs and `W` the sum over all. Then `w . s = 2 C - W`, so the gate is true exactly if `C >=
//! need`, where `need` is an integer between 0 (always true) and `W + 1` (never). For weights +-1 this is equation (4)
//! of Bertossi and Leon: `need` is their `d`, the number of inputs to instantiate conveniently.
//!
//! Weights are `i128`, so that f64 weights with a wide range of magnitudes can be scaled to integers without loss.

use super::ModelError;
use dashu_ratio::RBig;

/// The total weight of a gate stays below this, so that no sum of its weights can overflow.
const MAX_TOTAL: u128 = 1 << 120;
/// A score's weights and bias stay below this, so that the difference of two scores is still a gate.
const MAX_SCORE: u128 = 1 << 117;

/// A threshold gate: true when its conveniently instantiated inputs weigh at least `need`.
///
/// ```
/// use boolshap::model::Gate;
/// // h1 of the paper's running example: -x1 - x2 + x3 + 0.16 >= 0, so d = 2.
/// let h1 = Gate::new(vec![-1, -1, 1], 2).unwrap();
/// assert!(h1.evaluate(&[false, false, false]));
/// assert!(!h1.evaluate(&[true, true, true]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    weights: Vec<i128>,
    need: u128,
}

impl Gate {
    /// A gate in lowest terms: a common factor of the weights is divided out and `need` is clamped to `0..=W+1`. `None`
    /// if the weights are too large for their sum to be computed safely.
    pub fn new(mut weights: Vec<i128>, need: i128) -> Option<Self> {
        let mut total = total_weight(&weights)?;
        let factor = weights.iter().fold(0, |g, w| gcd(g, w.unsigned_abs()));
        let mut need = need.max(0) as u128;
        if factor > 1 {
            weights.iter_mut().for_each(|w| *w /= factor as i128);
            need = need.div_ceil(factor);
            total /= factor;
        }
        Some(Gate { weights, need: need.min(total + 1) })
    }

    /// The weights, one for each input; 0 means that the gate does not depend on it.
    pub fn weights(&self) -> &[i128] {
        &self.weights
    }

    /// The weight that the conveniently instantiated inputs must reach: at 0 the gate is always true, at `total() + 1`
    /// never.
    pub fn need(&self) -> u128 {
        self.need
    }

    /// The sum of the weights' absolute values.
    pub fn total(&self) -> u128 {
        self.weights.iter().map(|w| w.unsigned_abs()).sum()
    }

    /// Whether every weight is +1 or -1.
    pub fn is_binary(&self) -> bool {
        self.weights.iter().all(|w| w.unsigned_abs() == 1)
    }

    /// The gate that is true if this one is false: at least `W - need + 1` of the weight on the other side.
    pub fn negated(&self) -> Self {
        let weights = self.weights.iter().map(|w| -w).collect();
        Gate { weights, need: self.total() + 1 - self.need }
    }

    /// The value on one input, by the definition. The evaluator computes 64 inputs at a time.
    pub fn evaluate(&self, inputs: &[bool]) -> bool {
        convenient_weight(&self.weights, inputs) >= self.need
    }
}

/// A class's score in a network with argmax output: `w . s + bias`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Score {
    weights: Vec<i128>,
    bias: i128,
}

impl Score {
    /// A score; `None` if its largest absolute value could overflow.
    pub fn new(weights: Vec<i128>, bias: i128) -> Option<Self> {
        let total = total_weight(&weights)?;
        (total < MAX_SCORE && bias.unsigned_abs() < MAX_SCORE).then_some(Score { weights, bias })
    }

    /// The weights, one for each input.
    pub fn weights(&self) -> &[i128] {
        &self.weights
    }

    /// The constant term.
    pub fn bias(&self) -> i128 {
        self.bias
    }

    /// The sum of the weights' absolute values.
    pub fn total(&self) -> u128 {
        self.weights.iter().map(|w| w.unsigned_abs()).sum()
    }

    /// The gate "this score is at least (or, if `strictly`, above) the other". The bounds on scores keep the difference
    /// in range.
    fn beats(&self, other: &Score, strictly: bool) -> Gate {
        let weights: Vec<i128> = self.weights.iter().zip(&other.weights).map(|(a, b)| a - b).collect();
        let total: i128 = weights.iter().map(|w| w.abs()).sum();
        // 2 C - total + bias >= 0
        let bias = self.bias - other.bias - i128::from(strictly);
        let need = (total - bias).div_euclid(2) + (total - bias).rem_euclid(2);
        Gate::new(weights, need).expect("differences of scores stay in range")
    }

    fn evaluate(&self, inputs: &[bool]) -> i128 {
        2 * convenient_weight(&self.weights, inputs) as i128 - self.total() as i128 + self.bias
    }
}

/// Whether two differences of biases give the same decisions between two classes. The sums are `-total`, `-total + 2
/// factor` and so on, so it is enough that the first winning sum is the same.
fn same_decisions(apart: &RBig, whole: &RBig, score: &Score, other: &Score) -> bool {
    let differences = || score.weights.iter().zip(&other.weights).map(|(a, b)| a - b);
    let factor = differences().fold(0, |factor, weight| gcd(factor, weight.unsigned_abs())).max(1);
    let total: u128 = differences().map(i128::unsigned_abs).sum();
    let first = |bias: &RBig| -> RBig {
        let steps = RBig::from(((RBig::from(total) - bias) / RBig::from(2 * factor)).ceil());
        steps.max(RBig::ZERO).min(RBig::from(total / factor + 1))
    };
    first(apart) == first(whole)
}

fn convenient_weight(weights: &[i128], inputs: &[bool]) -> u128 {
    weights.iter().zip(inputs).filter(|&(&w, &x)| (w > 0) == x).map(|(w, _)| w.unsigned_abs()).sum()
}

fn total_weight(weights: &[i128]) -> Option<u128> {
    let total = weights.iter().try_fold(0u128, |sum, w| sum.checked_add(w.unsigned_abs()))?;
    (total < MAX_TOTAL).then_some(total)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What the last layer computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Two classes: label 1 if the gate is true, otherwise 0.
    Step(Gate),
    /// One class per score: the class with the largest score, the first one in a tie.
    Argmax(Vec<Score>),
}

/// The number that an output decides by, in the units of the program that made the network: `unit * (w . s) + bias`,
/// where w are the whole weights of its gate or score. Decisions never need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputScale {
    /// The value of a whole weight of 1.
    pub unit: RBig,
    /// The constant term.
    pub bias: RBig,
}

/// A dense feed-forward network of threshold gates, of any depth and width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    inputs: usize,
    hidden: Vec<Vec<Gate>>,
    output: Output,
    /// One for each output; empty if the whole weights themselves are the units.
    scales: Vec<OutputScale>,
}

impl Network {
    /// A network, after checking that the widths of all layers match. Layers are numbered from 1.
    pub fn new(inputs: usize, hidden: Vec<Vec<Gate>>, output: Output) -> Result<Self, ModelError> {
        let mut width = inputs;
        let expect = |layer: String, width: usize, found: usize| {
            (width == found).then_some(()).ok_or(ModelError::Width { layer, expected: width, found })
        };
        if inputs == 0 {
            return Err(ModelError::Empty { layer: "the input".into() });
        }
        for (index, gates) in hidden.iter().enumerate() {
            let layer = format!("layer {}", index + 1);
            if gates.is_empty() {
                return Err(ModelError::Empty { layer });
            }
            for gate in gates {
                expect(layer.clone(), width, gate.weights.len())?;
            }
            width = gates.len();
        }
        let layer = || format!("layer {} (output)", hidden.len() + 1);
        match &output {
            Output::Step(gate) => expect(layer(), width, gate.weights.len())?,
            Output::Argmax(scores) if scores.len() < 2 => return Err(ModelError::Empty { layer: layer() }),
            Output::Argmax(scores) => {
                scores.iter().try_for_each(|score| expect(layer(), width, score.weights.len()))?;
            }
        }
        Ok(Network { inputs, hidden, output, scales: Vec::new() })
    }

    /// The network with the units of its outputs, one scale for each; an error if they do not fit the network.
    pub fn with_scales(mut self, scales: Vec<OutputScale>) -> Result<Self, String> {
        self.scales = scales;
        match self.scales_fit() {
            true => Ok(self),
            false => Err("the scales of the outputs do not decide as the network does".into()),
        }
    }

    /// The units of its outputs; empty if the whole weights themselves are the units.
    pub fn scales(&self) -> &[OutputScale] {
        &self.scales
    }

    /// Whether the scaled numbers give the same decisions as the gates and scores.
    fn scales_fit(&self) -> bool {
        let outputs = match &self.output {
            Output::Step(_) => 1,
            Output::Argmax(scores) => scores.len(),
        };
        if self.scales.is_empty() || self.scales.len() != outputs {
            return self.scales.is_empty();
        }
        match &self.output {
            Output::Step(gate) => {
                let OutputScale { unit, bias } = &self.scales[0];
                let total = gate.total();
                let holds =
                    |convenient: u128| unit * RBig::from(2 * convenient as i128 - total as i128) + bias >= RBig::ZERO;
                let last_false = gate.need.checked_sub(1).is_none_or(|before| !holds(before));
                *unit >= RBig::ZERO && last_false && (gate.need > total || holds(gate.need))
            }
            // All classes share one unit, so the biases in whole weights decide.
            Output::Argmax(scores) => {
                let unit = &self.scales[0].unit;
                *unit > RBig::ZERO
                    && self.scales.iter().all(|scale| scale.unit == *unit)
                    && scores.iter().zip(&self.scales).enumerate().all(|(one, (score, scale))| {
                        scores.iter().zip(&self.scales).skip(one + 1).all(|(other, others)| {
                            let apart = (&scale.bias - &others.bias) / unit;
                            let whole = RBig::from(score.bias - other.bias);
                            same_decisions(&apart, &whole, score, other)
                        })
                    })
            }
        }
    }

    /// The numbers that decide, each as a constant and a weight for every bit of the last hidden layer, or of the input
    /// if there is none: the score of each class, or for a step the number that is at least 0 if the label is 1.
    pub fn values(&self) -> Vec<(RBig, Vec<RBig>)> {
        let of = |weights: &[i128], natural: i128, output: usize| {
            let scale = match self.scales.get(output) {
                Some(scale) => scale.clone(),
                None => OutputScale { unit: RBig::ONE, bias: natural.into() },
            };
            // A bit h is the sign 2 h - 1.
            let weights: Vec<RBig> = weights.iter().map(|&weight| &scale.unit * RBig::from(weight)).collect();
            let constant = weights.iter().fold(scale.bias, |sum, weight| sum - weight);
            (constant, weights.into_iter().map(|weight| weight * RBig::from(2u8)).collect())
        };
        match &self.output {
            Output::Step(gate) => {
                vec![of(&gate.weights, gate.total() as i128 - 2 * gate.need as i128, 0)]
            }
            Output::Argmax(scores) => {
                scores.iter().enumerate().map(|(class, score)| of(&score.weights, score.bias, class)).collect()
            }
        }
    }

    /// The number of features.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The hidden layers, from the input on.
    pub fn hidden(&self) -> &[Vec<Gate>] {
        &self.hidden
    }

    /// The last layer.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// The number of classes: 2 for a step output.
    pub fn classes(&self) -> usize {
        match &self.output {
            Output::Step(_) => 2,
            Output::Argmax(scores) => scores.len(),
        }
    }

    /// The widths from input to output, such as `13-13-1`.
    pub fn shape(&self) -> String {
        let output = match &self.output {
            Output::Step(_) => 1,
            Output::Argmax(scores) => scores.len(),
        };
        let widths = self.hidden.iter().map(Vec::len).chain([output]);
        widths.fold(self.inputs.to_string(), |shape, width| format!("{shape}-{width}"))
    }

    /// "The answer is this class" as gates over the last hidden layer (or the inputs), all of which must be true.
    ///
    /// For a step output it is the gate itself, or its negation for class 0. For an argmax there is one gate for each
    /// other class: the difference of the two scores is at least 0, or above 0 if the other class would win a tie.
    ///
    /// ```
    /// use boolshap::model::{Network, Output, Score};
    /// let scores = vec![Score::new(vec![1, 1], 0).unwrap(), Score::new(vec![1, -1], 0).unwrap()];
    /// let network = Network::new(2, vec![], Output::Argmax(scores)).unwrap();
    /// let gates = network.class_gates(1).unwrap();
    /// // Class 1 wins when -2 s2 > 0: the first input has weight 0.
    /// assert_eq!((gates[0].weights(), gates[0].need()), ([0, -1].as_slice(), 1));
    /// ```
    pub fn class_gates(&self, class: usize) -> Result<Vec<Gate>, ModelError> {
        let unknown = || ModelError::UnknownClass { class, classes: self.classes() };
        match &self.output {
            Output::Step(gate) => match class {
                0 => Ok(vec![gate.negated()]),
                1 => Ok(vec![gate.clone()]),
                _ => Err(unknown()),
            },
            Output::Argmax(scores) => {
                let mine = scores.get(class).ok_or_else(unknown)?;
                let rivals = scores.iter().enumerate().filter(|(other, _)| *other != class);
                Ok(rivals.map(|(other, score)| mine.beats(score, other < class)).collect())
            }
        }
    }

    /// The class of one entity, by the definition: slow, used to test [`super::NetworkEvaluator`].
    pub fn classify(&self, entity: &[bool]) -> usize {
        let mut values = entity.to_vec();
        for gates in &self.hidden {
            values = gates.iter().map(|gate| gate.evaluate(&values)).collect();
        }
        match &self.output {
            Output::Step(gate) => usize::from(gate.evaluate(&values)),
            Output::Argmax(scores) => {
                let mut best = 0;
                for (class, score) in scores.iter().enumerate() {
                    if score.evaluate(&values) > scores[best].evaluate(&values) {
                        best = class;
                    }
                }
                best
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    #[test]
    fn lowest_terms_keep_the_function() {
        // 6 C >= 7 with C a multiple of 6 is C' >= 2.
        let gate = Gate::new(vec![6, -6, 12], 7).unwrap();
        assert_eq!((gate.weights(), gate.need()), ([1, -1, 2].as_slice(), 2));
        assert_eq!(Gate::new(vec![1, 1], -5).unwrap().need(), 0);
        assert_eq!(Gate::new(vec![1, 1], 99).unwrap().need(), 3);
        assert_eq!(Gate::new(vec![i128::MAX, i128::MAX - 1], 0), None);
        assert_eq!(Gate::new(vec![i128::MIN], 1), None);
    }

    #[test]
    fn widths_that_do_not_fit_name_the_layer() {
        let gate = |n: usize| Gate::new(vec![1; n], 1).unwrap();
        let error = Network::new(3, vec![vec![gate(3), gate(3)]], Output::Step(gate(3))).unwrap_err();
        assert_eq!(error.to_string(), "layer 2 (output) has weights for 3 inputs where 2 arrive");
        let error = Network::new(3, vec![vec![gate(3), gate(2)]], Output::Step(gate(2))).unwrap_err();
        assert_eq!(error.to_string(), "layer 1 has weights for 2 inputs where 3 arrive");
    }

    proptest! {
        #[test]
        fn class_gates_all_hold_for_the_class_alone(network in network_strategy(6)) {
            let n = network.inputs();
            for number in 0..1usize << n {
                let entity: Vec<bool> = (0..n).map(|j| number >> j & 1 == 1).collect();
                let mut values = entity.clone();
                for gates in network.hidden() {
                    values = gates.iter().map(|gate| gate.evaluate(&values)).collect();
                }
                for class in 0..network.classes() {
                    let gates = network.class_gates(class).unwrap();
                    let all = gates.iter().all(|gate| gate.evaluate(&values));
                    prop_assert_eq!(all, network.classify(&entity) == class, "class {}", class);
                }
            }
            prop_assert!(network.class_gates(network.classes()).is_err());
        }
    }

    #[test]
    fn the_first_of_equal_scores_wins() {
        let score = |w: i128, b| Score::new(vec![w], b).unwrap();
        let network = Network::new(1, vec![], Output::Argmax(vec![score(0, 1), score(1, 0), score(-1, 0)])).unwrap();
        assert_eq!((network.classify(&[true]), network.classify(&[false])), (0, 0));
    }
}
