//! Turns values with levels into layers of gates, exactly.
//!
//! Each condition of a unit compares a weighted sum with a bound, and becomes a gate. Conditions that always or never
//! hold are folded into the unit's first level, and equal conditions share a gate. A column of several levels has a bit
//! for each level, exactly one of which is 1; a column of two levels has one bit. The next layer weighs each bit with
//! the step between levels that it stands for, so a unit's value is a constant plus a weighted sum of bits.
//!
//! Thresholds are found as in `fold`: weights are scaled to whole numbers, then bisection with an exact predicate
//! follows. All gates of a unit have the same weights.

use super::fold::{DenseLayer, fold_scores, least, scale, surd_is_nonnegative};
use super::levels::{Condition, Cut, Source, Sum, Terms, Unit, Value};
use super::network::{Gate, Network, Output, OutputScale};
use super::{ModelError, Problem};
use dashu_base::Signed;
use dashu_int::IBig;
use dashu_ratio::RBig;
use std::rc::Rc;

/// The most weights in all gates together: a quarter of a gigabyte.
const MAX_WEIGHTS: usize = 1 << 24;
/// In float32, a sum this close to its bound, relative to the size of its terms, may end up on the other side.
const NEAR: f64 = 1e-6;

/// The completed layers, and the values of the last one.
#[derive(Default)]
pub(crate) struct Layers {
    /// How each column of the table becomes bits.
    pub(crate) columns: Vec<Cut>,
    hidden: Vec<Vec<Gate>>,
    /// The number of bits of the last layer.
    bits: usize,
    values: Vec<BitSum>,
    weights: usize,
    /// How many thresholds are so close to a sum that float32 may decide differently.
    pub(crate) near: usize,
}

/// A constant plus weighted bits.
#[derive(Debug, Clone)]
struct BitSum {
    base: RBig,
    bits: Vec<(u32, RBig)>,
    range: (f64, f64),
}

/// The integer weights of a sum, with the bits as signs: `sum = unit * weights + constant`.
struct Weighed {
    weights: Vec<i128>,
    unit: RBig,
    constant: RBig,
}

impl Layers {
    /// Completes a layer with these values; later sums refer to them by index. `columns` is the number of columns.
    pub(crate) fn close(&mut self, name: &str, values: &[Value], columns: usize) -> Result<(), ModelError> {
        let units = values.iter().map(|value| match value {
            Value::Unit(unit) => Ok(unit),
            _ => Err(ModelError::Step(format!("{name}: what it reads has not been quantised"))),
        });
        let units = units.collect::<Result<Vec<&Unit>, _>>()?;
        if self.hidden.is_empty() && self.columns.is_empty() {
            self.close_columns(&units, columns);
            return Ok(());
        }
        let (mut gates, mut sums): (Vec<Gate>, Vec<BitSum>) = (Vec::new(), Vec::new());
        let mut last: Option<(Terms, Weighed)> = None;
        for (place, unit) in units.into_iter().enumerate() {
            let Source::Conditions(conditions) = &unit.source else {
                return Err(ModelError::Step(format!("{name}: reads inputs beside hidden units")));
            };
            let mut sum = BitSum { base: unit.levels[0].clone(), bits: Vec::new(), range: (0.0, 0.0) };
            let first = gates.len();
            for ((source, condition), pair) in conditions.iter().zip(unit.levels.windows(2)) {
                let step = &pair[1] - &pair[0];
                if step.is_zero() {
                    continue;
                }
                if last.as_ref().is_none_or(|(terms, _)| !Rc::ptr_eq(terms, &source.terms)) {
                    last = Some((source.terms.clone(), self.weigh(name, place, &source.terms)?));
                }
                let (_, weighed) = last.as_ref().expect("one was made");
                let gate = self.gate(name, place, source, condition, weighed)?;
                if gate.need() == 0 {
                    sum.base += step;
                } else if gate.need() <= gate.total() {
                    let known = gates[first..].iter().position(|other| *other == gate);
                    match known.and_then(|known| sum.bits.iter_mut().find(|(bit, _)| *bit as usize == first + known)) {
                        Some((_, sum)) => *sum += step,
                        None => {
                            sum.bits.push((gates.len() as u32, step));
                            gates.push(gate);
                            self.spend(name)?;
                        }
                    }
                }
            }
            sums.push(sum.with_range());
        }
        if gates.is_empty() {
            // Nothing depends on the inputs any more, but a layer must not be empty.
            gates.push(Gate::new(vec![0; self.bits], 1).expect("no weight is too large"));
        }
        (self.bits, self.values) = (gates.len(), sums);
        self.hidden.push(gates);
        Ok(())
    }

    fn close_columns(&mut self, units: &[&Unit], columns: usize) {
        self.columns = vec![Cut::Above([f64::MAX].into()); columns];
        for unit in units {
            if let Source::Column { column, cut } = &unit.source
                && unit.levels.len() > 1
            {
                self.columns[*column as usize] = cut.clone();
            }
        }
        let mut starts = vec![0u32];
        for column in &self.columns {
            starts.push(starts[starts.len() - 1] + column.bits() as u32);
        }
        self.bits = starts[columns] as usize;
        let value = |unit: &&Unit| {
            let (base, bits) = match &unit.source {
                Source::Column { column, .. } => {
                    let start = starts[*column as usize];
                    match unit.levels.as_slice() {
                        [only] => (only.clone(), Vec::new()),
                        [low, high] => (low.clone(), vec![(start, high - low)]),
                        many => (RBig::ZERO, (start..).zip(many.iter().cloned()).collect()),
                    }
                }
                Source::Conditions(_) => (unit.levels[0].clone(), Vec::new()),
            };
            let float = |level: &RBig| level.to_f64().value();
            let low = unit.levels.iter().map(float).fold(f64::INFINITY, f64::min);
            let high = unit.levels.iter().map(float).fold(f64::NEG_INFINITY, f64::max);
            BitSum { base, bits, range: (low, high) }
        };
        self.values = units.iter().map(value).collect();
    }

    /// The range of a sum of the last layer's values.
    pub(crate) fn reach(&self, sum: &Sum) -> (f64, f64) {
        let terms = sum.terms.iter().fold((0.0, 0.0), |(low, high), (place, weight)| {
            let (least, most) = self.values[*place as usize].range;
            let ends = (weight * least, weight * most);
            (low + f64::min(ends.0, ends.1), high + f64::max(ends.0, ends.1))
        });
        sum.reach(terms)
    }

    /// Computes the weight of every bit of the last layer.
    fn weigh(&self, name: &str, neuron: usize, terms: &[(u32, f64)]) -> Result<Weighed, ModelError> {
        let (bits, mut constant) = self.spread(terms);
        let half = RBig::from_parts(1.into(), 2u8.into());
        let signs: Vec<RBig> = bits.iter().map(|weight| weight * &half).collect();
        constant = signs.iter().fold(constant, |sum, weight| sum + weight);
        let problem = Problem::TooWide { neuron: neuron + 1 };
        let too_wide = || ModelError::Parameter { layer: name.into(), problem };
        let (unit, weights) = scale(signs.iter()).ok_or_else(too_wide)?;
        Ok(Weighed { weights, unit, constant })
    }

    /// Expands a sum of values into a sum of bits: the weight of each bit, and the constant.
    fn spread(&self, terms: &[(u32, f64)]) -> (Vec<RBig>, RBig) {
        let (mut bits, mut constant) = (vec![RBig::ZERO; self.bits], RBig::ZERO);
        for (place, weight) in terms {
            let (value, weight) = (&self.values[*place as usize], super::quantiser::rational(*weight));
            constant += &value.base * &weight;
            for (bit, step) in &value.bits {
                bits[*bit as usize] += step * &weight;
            }
        }
        (bits, constant)
    }

    /// The gate of a condition on a sum with these weights.
    fn gate(
        &mut self,
        name: &str,
        neuron: usize,
        sum: &Sum,
        condition: &Condition,
        weighed: &Weighed,
    ) -> Result<Gate, ModelError> {
        let wrong = |problem| ModelError::Parameter { layer: name.into(), problem };
        let too_wide = || wrong(Problem::TooWide { neuron: neuron + 1 });
        let one = RBig::ONE;
        let variance = sum.variance.as_ref().unwrap_or(&one);
        if !variance.is_positive() {
            return Err(wrong(Problem::Variance { neuron: neuron + 1 }));
        }
        let (bound, closed, above) = match condition {
            Condition::Always(always) => {
                let need = i128::from(!always);
                return Gate::new(vec![0; self.bits], need).ok_or_else(too_wide);
            }
            Condition::Compare { bound, closed, above } => (bound, *closed, *above),
        };
        // The condition: toward * (line(x) + rest sqrt(variance)) is at least 0, or strictly above 0.
        let rest = &sum.after - bound;
        let line = |x: &RBig| (x + &weighed.constant) * &sum.scale + &sum.shift;
        let holds = |x: &RBig| {
            let (a, b) = (line(x), rest.clone());
            match (above, closed) {
                (true, true) => surd_is_nonnegative(&a, &b, variance),
                (true, false) => !surd_is_nonnegative(&-a, &-b, variance),
                (false, true) => surd_is_nonnegative(&-a, &-b, variance),
                (false, false) => !surd_is_nonnegative(&a, &b, variance),
            }
        };
        let flip = above == sum.scale.is_negative();
        let mut weights = weighed.weights.clone();
        if flip {
            weights.iter_mut().for_each(|weight| *weight = -*weight);
        }
        let total: IBig = weights.iter().map(|w| IBig::from(w.unsigned_abs())).sum();
        let never: i128 = (&total + 1u8).try_into().map_err(|_| too_wide())?;
        let sum_at = |convenient: i128| {
            let sum = RBig::from(2 * IBig::from(convenient) - &total) * &weighed.unit;
            if flip { -sum } else { sum }
        };
        let low = least(never, |convenient| holds(&sum_at(convenient)));
        let is_near = |x: RBig| {
            let float = |number: &RBig| number.to_f64().value();
            let root = float(variance).sqrt() * float(&rest);
            let (line, parts) = (float(&line(&x)), [&x * &sum.scale, sum.shift.clone()]);
            let size = parts.iter().map(|part| float(part).abs()).sum::<f64>() + root.abs();
            let distance = (line + root).abs();
            distance > 0.0 && distance < NEAR * size
        };
        let sides = [low - 1, low].into_iter().filter(|&weight| weight >= 0 && weight < never);
        self.near += usize::from(sides.map(sum_at).any(is_near));
        Gate::new(weights, low).ok_or_else(too_wide)
    }

    fn spend(&mut self, name: &str) -> Result<(), ModelError> {
        self.weights += self.bits.max(1);
        if self.weights <= MAX_WEIGHTS {
            return Ok(());
        }
        Err(ModelError::Step(format!("{name}: the gates up to here would have more than {MAX_WEIGHTS} weights")))
    }

    /// The network that ends with these values: a single value is compared with 0, otherwise the largest one wins.
    pub(crate) fn finish(mut self, name: &str, values: Vec<Value>) -> Result<Network, ModelError> {
        let inputs = match self.hidden.first() {
            Some(layer) => layer[0].weights().len(),
            None => self.bits,
        };
        let (output, scales) = match <[Value; 1]>::try_from(values) {
            Ok([value]) => {
                let (gate, scale) = self.step(name, value)?;
                (Output::Step(gate), scale.into_iter().collect())
            }
            Err(values) => {
                let (scores, scales) = self.scores(name, values)?;
                (Output::Argmax(scores), scales)
            }
        };
        let network = Network::new(inputs, self.hidden, output)?;
        // As in `fold`: if the rounded root could change a decision, the values are given in whole weights instead.
        Ok(network.clone().with_scales(scales).unwrap_or(network))
    }

    /// The gate for "the upper of two levels", or else for "at least 0".
    fn step(&mut self, name: &str, value: Value) -> Result<(Gate, Option<OutputScale>), ModelError> {
        let is_number = matches!(&value, Value::Sum(sum) if sum.then.is_empty());
        let (sum, condition) = match value {
            Value::Sum(sum) => {
                let condition = Condition::Compare { bound: RBig::ZERO, closed: true, above: true };
                let condition = condition.before(&sum.then);
                (sum, condition)
            }
            Value::Unit(Unit { source: Source::Conditions(mut conditions), levels }) => {
                let at = match levels.as_slice() {
                    [low, high] if low < high => Some(1),
                    levels if levels.is_sorted() => levels.iter().position(|level| !level.is_negative()),
                    _ => None,
                };
                match at {
                    Some(at) if at > 0 => conditions.swap_remove(at - 1),
                    _ => {
                        return Err(ModelError::Step(format!("{name}: its output has no level below 0 and one above")));
                    }
                }
            }
            _ => return Err(ModelError::Step(format!("{name}: its output is no function of several inputs"))),
        };
        let weighed = self.weigh(name, 0, &sum.terms)?;
        let gate = self.gate(name, 0, &sum, &condition, &weighed)?;
        // A gate that asks for small sums has flipped weights.
        let unit = if sum.scale.is_negative() { -&weighed.unit } else { weighed.unit.clone() };
        let scale = OutputScale { unit: unit * &sum.scale, bias: &weighed.constant * &sum.scale + &sum.shift };
        Ok((gate, is_number.then(|| sum.normalised(scale))))
    }

    fn scores(&mut self, name: &str, values: Vec<Value>) -> Result<(Vec<super::Score>, Vec<OutputScale>), ModelError> {
        let step = |message: &str| Err(ModelError::Step(format!("{name}: {message}")));
        let are_sums = values.iter().all(|value| matches!(value, Value::Sum(_)));
        let sums: Vec<Rc<Sum>> = if are_sums {
            values.into_iter().filter_map(|value| if let Value::Sum(sum) = value { Some(sum) } else { None }).collect()
        } else {
            let is_sign = |value: &Value| matches!(value, Value::Unit(unit) if unit.levels.len() < 4);
            if values.iter().all(is_sign) {
                let count = values.len();
                return Err(ModelError::Step(format!("gives {count} signs where one, or scores, are expected")));
            }
            self.close(name, &values, values.len())?;
            (0..values.len()).map(|place| Rc::new(Sum::of([(place as u32, 1.0)].into()))).collect()
        };
        if sums.iter().any(|sum| !sum.then.is_empty()) {
            return step("a limit on the scores makes ties of different scores");
        }
        let bias: Vec<RBig> = sums.iter().map(|sum| sum.shift.clone()).collect();
        let mut layer = DenseLayer { name: name.into(), weights: Vec::new(), bias, norm: None };
        let half = RBig::from_parts(1.into(), 2u8.into());
        for (sum, bias) in sums.iter().zip(&mut layer.bias) {
            let (bits, constant) = self.spread(&sum.terms);
            self.spend(name)?;
            let weights: Vec<RBig> = bits.iter().map(|weight| weight * &sum.scale * &half).collect();
            *bias += weights.iter().fold(constant * &sum.scale, |total, weight| total + weight);
            layer.weights.push(weights);
        }
        let first = &sums[0];
        let alike = |sum: &Rc<Sum>| sum.variance == first.variance && sum.after == first.after;
        let are_alike = sums.iter().all(alike);
        if !are_alike {
            let one = |number: RBig| vec![number; sums.len()];
            let variance = sums.iter().map(|sum| sum.variance.clone().unwrap_or(RBig::ONE)).collect();
            let beta = sums.iter().map(|sum| sum.after.clone()).collect();
            let (gamma, mean, epsilon) = (one(RBig::ONE), one(RBig::ZERO), RBig::ZERO);
            layer.norm = Some(super::fold::BatchNorm { name: name.into(), gamma, beta, mean, variance, epsilon });
        }
        let (scores, mut scales) = fold_scores(&layer)?;
        if are_alike {
            scales = scales.into_iter().map(|scale| first.normalised(scale)).collect();
        }
        Ok((scores, scales))
    }
}

impl Sum {
    /// The scale of a sum after its normalisation, whose root is rounded to the nearest float.
    fn normalised(&self, scale: OutputScale) -> OutputScale {
        let root = self.variance.as_ref().map(|variance| variance.to_f64().value().sqrt());
        let factor = root.and_then(|root| RBig::try_from(root).ok()).filter(Signed::is_positive).unwrap_or(RBig::ONE);
        OutputScale { unit: scale.unit / &factor, bias: scale.bias / factor + &self.after }
    }
}

impl BitSum {
    fn with_range(mut self) -> Self {
        let float = |number: &RBig| number.to_f64().value();
        let base = float(&self.base);
        let below: f64 = self.bits.iter().map(|(_, step)| float(step).min(0.0)).sum();
        let above: f64 = self.bits.iter().map(|(_, step)| float(step).max(0.0)).sum();
        self.range = (base + below, base + above);
        self
    }
}

impl Cut {
    /// The number of bits of a column.
    pub(crate) fn bits(&self) -> usize {
        match self {
            Cut::Above(cuts) if cuts.len() > 1 => cuts.len() + 1,
            _ => 1,
        }
    }
}
