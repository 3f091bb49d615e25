//! Numbers instead of labels: the values by which a network decides, before the last step or argmax.
//!
//! A value is a constant plus a weighted sum of parts, in fractions. A part is a bit of the input, a gate (a step
//! function of an integer-weighted sum of bits), a circuit, or a diagram with numbers at its leaves, such as a tree; an
//! activation with several levels is several gates over one sum. SHAP is linear in the function that is explained, so
//! each part is explained separately: one hidden layer of any width over hundreds of inputs needs no circuit at all.
//!
//! The values of all classes share their parts. [`Rule`] says how they decide, so that the values are enough to
//! predict.

use super::{CircuitBuilder, CircuitError, CircuitEvaluator, NamedCircuit, NodeId, NumberDiagram};
use crate::data::{Bits, PackedRows};
use crate::lit::{Var, Watch};
use crate::model::{Gate, Model, Output};
use dashu_base::Gcd;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::sync::Arc;

/// Values that share their parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    pub(super) parts: Vec<Part>,
    pub(super) values: Vec<WeightedSum>,
    pub(super) rule: Rule,
}

/// A summand of values: 0 or 1 on every input, or a number from -1 to 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A bit of the input.
    Feature(Var),
    /// A gate over the input.
    Gate(Gate),
    /// The circuit below a node of the arena.
    Circuit(NodeId),
    /// A diagram with numbers from -1 to 1 at its leaves.
    Diagram(Arc<NumberDiagram>),
}

/// A constant plus a weighted sum of all parts.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedSum {
    /// The constant.
    pub constant: RBig,
    /// The weight of each part.
    pub weights: Vec<RBig>,
}

impl WeightedSum {
    /// This sum minus another.
    pub fn less(&self, other: &WeightedSum) -> WeightedSum {
        let weights = self.weights.iter().zip(&other.weights).map(|(a, b)| a - b).collect();
        WeightedSum { constant: &self.constant - &other.constant, weights }
    }

    /// An upper bound on its absolute value: the sum of those of the constant and all weights.
    pub fn size(&self) -> RBig {
        let add = |sum: RBig, number: &RBig| if *number < RBig::ZERO { sum - number } else { sum + number };
        self.weights.iter().chain([&self.constant]).fold(RBig::ZERO, add)
    }
}

/// How the values decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The label is 1 where the only value is at least 0.
    Sign,
    /// The class of the largest value, the first one in a tie.
    Largest,
    /// They do not decide: each is just a number.
    Number,
}

impl Rule {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Sign => "sign",
            Rule::Largest => "largest",
            Rule::Number => "number",
        }
    }
}

impl Values {
    /// Values of these parts; each must have a weight for every part.
    pub fn new(parts: Vec<Part>, values: Vec<WeightedSum>, rule: Rule) -> Result<Self, CircuitError> {
        let flaw = |problem: &str| Err(CircuitError::Damaged { problem: problem.into() });
        if values.iter().any(|value| value.weights.len() != parts.len()) {
            return flaw("a value has not one weight for each part");
        }
        match (values.len(), rule) {
            (0, _) => flaw("there is no value"),
            (1, Rule::Largest) | (2.., Rule::Sign) => flaw("the values cannot decide in the way they are said to"),
            _ => Ok(Values { parts, values, rule }),
        }
    }

    /// The values by which a network decides, with these parts for the bits of its last hidden layer, or of its input.
    pub(crate) fn of_last_layer(model: &Model, parts: Vec<Part>) -> Self {
        let values = model.network.values().into_iter();
        let values = values.map(|(constant, weights)| WeightedSum { constant, weights }).collect();
        let rule = if matches!(model.network.output(), Output::Step(_)) { Rule::Sign } else { Rule::Largest };
        Values { parts, values, rule }.without_idle()
    }

    /// Removes the parts whose weight is 0 in every value.
    fn without_idle(self) -> Self {
        let weighed = |part: &usize| self.values.iter().any(|value| value.weights[*part] != RBig::ZERO);
        let kept: Vec<usize> = (0..self.parts.len()).filter(weighed).collect();
        let values = self.values.iter().map(|value| WeightedSum {
            constant: value.constant.clone(),
            weights: kept.iter().map(|&part| value.weights[part].clone()).collect(),
        });
        Values {
            values: values.collect(),
            parts: kept.iter().map(|&part| self.parts[part].clone()).collect(),
            rule: self.rule,
        }
    }

    /// One of the values alone, which cannot decide.
    pub fn only(&self, value: usize) -> Self {
        let alone = Values { parts: self.parts.clone(), values: vec![self.values[value].clone()], rule: Rule::Number };
        alone.without_idle()
    }

    /// The parts that are added up.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The values.
    pub fn sums(&self) -> &[WeightedSum] {
        &self.values
    }

    /// How they decide.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// How many parts are bits, gates, circuits and diagrams of numbers.
    pub fn kinds(&self) -> [usize; 4] {
        let count = |is: fn(&Part) -> bool| self.parts.iter().filter(|part| is(part)).count();
        [
            count(|part| matches!(part, Part::Feature(_))),
            count(|part| matches!(part, Part::Gate(_))),
            count(|part| matches!(part, Part::Circuit(_))),
            count(|part| matches!(part, Part::Diagram(_))),
        ]
    }

    /// The roots of the parts that are circuits.
    pub(super) fn roots(&self) -> Vec<NodeId> {
        let root = |part: &Part| if let Part::Circuit(root) = part { Some(*root) } else { None };
        self.parts.iter().filter_map(root).collect()
    }

    /// The decision for these values, if the rule decides.
    pub fn decide(&self, values: &[RBig]) -> Option<usize> {
        match self.rule {
            Rule::Sign => Some(usize::from(values[0] >= RBig::ZERO)),
            Rule::Largest => {
                let better = |best: usize, class: usize| if values[class] > values[best] { class } else { best };
                Some((1..values.len()).fold(0, better))
            }
            Rule::Number => None,
        }
    }
}

impl NamedCircuit {
    /// Values without a circuit, with their names if there are several.
    pub(crate) fn of_values(values: Values, features: Vec<String>, names: Vec<String>) -> Result<Self, CircuitError> {
        let mut builder = CircuitBuilder::new(features.len())?;
        let root = builder.constant(false)?;
        Self::unchecked(builder.finish(root)?, features)?.with_values(values, names)
    }

    /// Values whose parts are circuits of this arena, with their names if there are several.
    pub(crate) fn with_values(mut self, values: Values, names: Vec<String>) -> Result<Self, CircuitError> {
        super::named::once_each("class", &names)?;
        let root = self.circuit.root();
        self.classes = names.into_iter().map(|name| (name, root)).collect();
        self.values = Some(Arc::new(values));
        Ok(self)
    }
}

/// A gate prepared for packed rows.
#[derive(Debug, Clone)]
pub(crate) enum PackedGate {
    /// Weights +1, -1 and 0: the features with a weight, and those of them whose weight is +1.
    Signs { support: Vec<u64>, positive: Vec<u64>, need: u64 },
    /// Features with their weights, and the total weight needed.
    Weights { weights: Vec<(usize, i128)>, need: u128 },
}

impl PackedGate {
    pub(crate) fn new(gate: &Gate) -> Self {
        let weights = gate.weights();
        if weights.iter().any(|weight| weight.unsigned_abs() > 1) {
            let weights = weights.iter().copied().enumerate().filter(|(_, weight)| *weight != 0).collect();
            return PackedGate::Weights { weights, need: gate.need() };
        }
        let mask = |is: fn(i128) -> bool| {
            let mut words = vec![0u64; weights.len().div_ceil(64).max(1)];
            let some = weights.iter().enumerate().filter(|(_, weight)| is(**weight));
            some.for_each(|(feature, _)| words[feature / 64] |= 1 << (feature % 64));
            words
        };
        // A need beyond the number of inputs is never met.
        PackedGate::Signs { support: mask(|w| w != 0), positive: mask(|w| w > 0), need: gate.need() as u64 }
    }

    /// Whether it is true on a row.
    pub(crate) fn holds(&self, row: &[u64]) -> bool {
        match self {
            PackedGate::Signs { support, positive, need } => {
                let words = support.iter().zip(positive).zip(row);
                words.map(|((s, p), x)| u64::from((!(p ^ x) & s).count_ones())).sum::<u64>() >= *need
            }
            PackedGate::Weights { weights, need } => {
                let bit = |feature: usize| row[feature / 64] >> (feature % 64) & 1 == 1;
                let convenient = weights.iter().filter(|(feature, weight)| bit(*feature) == (*weight > 0));
                convenient.map(|(_, weight)| weight.unsigned_abs()).sum::<u128>() >= *need
            }
        }
    }
}

/// Computes the exact values of rows.
pub struct ValueEvaluator<'c> {
    named: &'c NamedCircuit,
    values: &'c Values,
    gates: Arc<PackedGates>,
    whole: Vec<WholeSum>,
}

/// The gates among the parts, ready to be evaluated.
pub(crate) type PackedGates = Vec<Option<PackedGate>>;

/// A weighted sum times its common denominator, so that all its numbers are integers and adding them up needs no
/// fractions.
#[derive(Debug, Clone)]
pub(crate) struct WholeSum {
    constant: IBig,
    weights: Vec<IBig>,
    scale: UBig,
}

impl WholeSum {
    pub(crate) fn of(sum: &WeightedSum) -> Self {
        let scale = sum.weights.iter().chain([&sum.constant]).fold(UBig::ONE, |scale, number| {
            let common = (&scale).gcd(number.denominator());
            scale * (number.denominator() / common)
        });
        let times = |number: &RBig| number.numerator() * IBig::from(&scale / number.denominator());
        WholeSum { constant: times(&sum.constant), weights: sum.weights.iter().map(times).collect(), scale }
    }

    /// The sum on an input for which the parts have these values.
    pub(crate) fn value(&self, parts: &[f64]) -> RBig {
        let (mut whole, mut rest) = (self.constant.clone(), RBig::ZERO);
        for (weight, part) in self.weights.iter().zip(parts).filter(|(_, part)| **part != 0.0) {
            match part {
                1.0 => whole += weight,
                part => rest += RBig::try_from(*part).unwrap_or_default() * RBig::from(weight.clone()),
            }
        }
        (RBig::from(whole) + rest) / RBig::from(self.scale.clone())
    }
}

impl<'c> ValueEvaluator<'c> {
    /// An evaluator of a file that holds values; `None` for any other.
    pub fn new(named: &'c NamedCircuit) -> Option<Self> {
        let values = named.values.as_deref()?;
        let gate = |part: &Part| if let Part::Gate(gate) = part { Some(PackedGate::new(gate)) } else { None };
        Self::with_gates(named, Arc::new(values.parts.iter().map(gate).collect()))
    }

    /// Reuses the gates of an evaluator of the same file, since preparing them takes longer than evaluating a row.
    pub(crate) fn with_gates(named: &'c NamedCircuit, gates: Arc<PackedGates>) -> Option<Self> {
        let values = named.values.as_deref()?;
        Some(ValueEvaluator { named, values, gates, whole: values.values.iter().map(WholeSum::of).collect() })
    }

    /// The prepared gates.
    pub(crate) fn gates(&self) -> Arc<PackedGates> {
        self.gates.clone()
    }

    /// The values of the parts on each row.
    pub fn parts(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<Vec<f64>>, CircuitError> {
        let packed = PackedRows::from_bits(rows);
        let circuits = self.circuit_words(rows, watch)?;
        let mut all = Vec::with_capacity(rows.rows());
        for row in 0..rows.rows() {
            if row % 1024 == 0 {
                watch.check()?;
            }
            let words = packed.row(row);
            let bit = |feature: usize| words[feature / 64] >> (feature % 64) & 1 == 1;
            let number = |is_true: bool| f64::from(u8::from(is_true));
            let value = |(place, part): (usize, &Part)| match part {
                Part::Feature(var) => number(bit(var.index())),
                Part::Gate(_) => number(self.gates[place].as_ref().is_some_and(|gate| gate.holds(words))),
                Part::Circuit(_) => number(circuits[place][row / 64] >> (row % 64) & 1 == 1),
                Part::Diagram(diagram) => diagram.value(bit),
            };
            all.push(self.values.parts.iter().enumerate().map(value).collect());
        }
        Ok(all)
    }

    /// The values of each row.
    pub fn rows(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<Vec<RBig>>, CircuitError> {
        let values = |parts: &Vec<f64>| self.whole.iter().map(|whole| whole.value(parts)).collect();
        Ok(self.parts(rows, watch)?.iter().map(values).collect())
    }

    /// For each part that is a circuit, its labels in words of 64 rows.
    fn circuit_words(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<Vec<u64>>, CircuitError> {
        let of = |part: &Part| -> Result<Vec<u64>, CircuitError> {
            let Part::Circuit(root) = part else { return Ok(Vec::new()) };
            let circuit = self.named.circuit.with_root(*root)?;
            let mut evaluator = CircuitEvaluator::new(&circuit);
            (0..rows.blocks())
                .map(|block| {
                    watch.check()?;
                    evaluator.words(&rows.block(block))
                })
                .collect()
        };
        self.values.parts.iter().map(of).collect()
    }

    /// The decision of each row, if the values decide.
    pub fn decisions(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Option<Vec<u32>>, CircuitError> {
        if self.values.rule == Rule::Number {
            return Ok(None);
        }
        let decide = |values: &Vec<RBig>| self.values.decide(values).unwrap_or(0) as u32;
        Ok(Some(self.rows(rows, watch)?.iter().map(decide).collect()))
    }
}
