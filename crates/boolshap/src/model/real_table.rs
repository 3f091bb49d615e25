//! Evaluates a network of real weights on all inputs: the class of each, or its numbers.
//!
//! Three methods, each used only if the previous one cannot decide. First floats, 64 inputs at a time, with one error
//! bound for all inputs; then floats with an error bound for the given input, where inactive units have no error; then
//! rationals, which are exact for ReLU networks and increasingly precise for tanh, sigmoid and batch normalisation. Two
//! scores that are equal only in the limit (a tie of tanh values) cannot be decided by any number of digits: that is an
//! error, not a guess.
//!
//! Cost: 2^n times the multiply-adds of all layers but the first, whose sums are made from two parts.

use super::ModelError;
use super::real_exact::{Interval, evaluate};
use super::real_floats::{Bounded, LANES, RealFloats};
use super::real_network::{Ending, RealNetwork};
use crate::data::Bits;
use crate::lit::{Meter, Watch};
use dashu_ratio::RBig;
use rayon::prelude::*;

/// How many blocks of `LANES` inputs a thread takes at a time.
const BLOCKS: usize = 64;
/// The precisions, in binary places, that are tried for irrational numbers.
const PLACES: [usize; 3] = [160, 640, 2560];
/// The largest error of a number besides its rounding to a float, relative to the largest number if that is above 1.
const TOLERANCE: f64 = 1e-12;

/// A value for every input; entry k belongs to the input whose bit j is input j of the network.
#[derive(Debug, Clone)]
pub struct RealTable<T> {
    /// The entries; several numbers of an input are side by side.
    pub entries: Vec<T>,
    /// How many inputs floats could not decide.
    pub close: u64,
}

/// Decides inputs by increasingly precise methods.
struct Judge<'n> {
    network: &'n RealNetwork,
    floats: RealFloats,
    /// The precisions that are tried, in binary places; `None` means exact.
    places: Vec<Option<usize>>,
}

/// A class, and the numbers behind it if floats did not suffice.
struct Verdict {
    class: u8,
    numbers: Option<Vec<f64>>,
}

impl RealNetwork {
    /// The class of every input.
    pub fn classes_of_all(&self, watch: &Watch<'_>) -> Result<RealTable<u8>, ModelError> {
        let judge = Judge::new(self)?;
        judge.table(1, watch, |input, numbers, entry| {
            let verdict = judge.verdict(input, numbers)?;
            entry[0] = verdict.class;
            Ok(verdict.numbers.is_some())
        })
    }

    /// The numbers of every input, within 1e-12 (relative to the largest, if that is above 1); they give the network's
    /// decisions.
    pub fn numbers_of_all(&self, watch: &Watch<'_>) -> Result<RealTable<f64>, ModelError> {
        let judge = Judge::new(self)?;
        let tolerance = TOLERANCE * judge.floats.size.max(1.0);
        judge.table(self.outputs(), watch, |input, numbers, entry| {
            entry.copy_from_slice(numbers);
            let mut is_close = judge.floats.bound > tolerance;
            if is_close {
                entry.copy_from_slice(&judge.rounded(input, tolerance)?);
            }
            if self.ending() != Ending::Number {
                let verdict = judge.verdict(input, numbers)?;
                if let Some(numbers) = verdict.numbers {
                    entry.copy_from_slice(&numbers);
                    is_close = true;
                }
                judge.agree(entry, verdict.class);
            }
            Ok(is_close)
        })
    }

    /// The class of every row; `None` if the network's numbers decide nothing.
    pub fn classes_of(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Option<Vec<u32>>, ModelError> {
        if self.ending() == Ending::Number {
            return Ok(None);
        }
        let judge = Judge::new(self)?;
        let class = |row: usize| {
            watch.check()?;
            judge.close_verdict(number_of(rows, row)).map(|verdict| u32::from(verdict.class))
        };
        (0..rows.rows()).map(class).collect::<Result<_, _>>().map(Some)
    }

    /// The first number of every row, as precise as in [`RealNetwork::numbers_of_all`].
    pub fn numbers_of(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<f64>, ModelError> {
        let judge = Judge::new(self)?;
        let tolerance = TOLERANCE * judge.floats.size.max(1.0);
        let number = |row: usize| {
            watch.check()?;
            judge.rounded(number_of(rows, row), tolerance).map(|numbers| numbers[0])
        };
        (0..rows.rows()).map(number).collect()
    }
}

/// A row as the number of its input: bit j is input j.
fn number_of(rows: &Bits, row: usize) -> u64 {
    rows.row(row).iter().enumerate().fold(0, |input, (place, &bit)| input | u64::from(bit) << place)
}

impl<'n> Judge<'n> {
    fn new(network: &'n RealNetwork) -> Result<Self, ModelError> {
        let places = if network.is_rational() { vec![None] } else { PLACES.map(Some).to_vec() };
        Ok(Judge { network, floats: RealFloats::new(network)?, places })
    }

    /// Applies a function to the numbers of every input; it returns whether floats could not decide the input.
    fn table<T: Copy + Default + Send>(
        &self,
        width: usize,
        watch: &Watch<'_>,
        entry: impl Fn(u64, &[f64], &mut [T]) -> Result<bool, ModelError> + Sync,
    ) -> Result<RealTable<T>, ModelError> {
        let inputs = 1usize << self.network.inputs();
        let mut entries = vec![T::default(); inputs * width];
        let chunk = LANES * BLOCKS;
        let meter = Meter::new(watch, inputs.div_ceil(chunk) as u64);
        let fill = |(number, entries): (usize, &mut [T])| -> Result<u64, ModelError> {
            let (mut values, mut next, mut close) = (Vec::new(), Vec::new(), 0);
            let mut one = vec![0.0; self.network.outputs()];
            for (block, entries) in entries.chunks_mut(LANES * width).enumerate() {
                let block = (number * BLOCKS + block) as u64;
                pulp::Arch::new().dispatch(|| self.floats.block(block, &mut values, &mut next));
                for (lane, place) in entries.chunks_mut(width).enumerate() {
                    one.iter_mut().enumerate().for_each(|(output, one)| *one = values[output * LANES + lane]);
                    let input = block * LANES as u64 + lane as u64;
                    if entry(input, &one, place)? {
                        close += 1;
                        // Rational arithmetic is slow, so check the limits often.
                        if close % 64 == 0 {
                            watch.check()?;
                        }
                    }
                }
            }
            meter.add(1)?;
            Ok(close)
        };
        let close = entries.par_chunks_mut(chunk * width).enumerate().map(fill).try_reduce(|| 0, |a, b| Ok(a + b))?;
        Ok(RealTable { entries, close })
    }

    /// The class of an input with these numbers, whose error is at most the bound for all inputs.
    fn verdict(&self, input: u64, numbers: &[f64]) -> Result<Verdict, ModelError> {
        let bound = self.floats.bound;
        match self.class_by(numbers.len(), |place| (numbers[place], bound)) {
            Some(class) => Ok(Verdict { class, numbers: None }),
            None => self.close_verdict(input),
        }
    }

    fn close_verdict(&self, input: u64) -> Result<Verdict, ModelError> {
        let found = self.floats.input(input);
        if let Some(class) = self.class_by(found.len(), |place| found[place]) {
            return Ok(Verdict { class, numbers: Some(found.iter().map(|(value, _)| *value).collect()) });
        }
        for &places in &self.places {
            let found = evaluate(self.network, input, places);
            if let Some(class) = self.class_between(&found) {
                return Ok(Verdict { class, numbers: Some(found.iter().map(Interval::to_f64).collect()) });
            }
        }
        let bits: String =
            (0..self.network.inputs()).map(|bit| if input >> bit & 1 == 1 { '1' } else { '0' }).collect();
        let most = PLACES[PLACES.len() - 1];
        Err(ModelError::Step(format!(
            "for the input {bits} the network is so near to a tie that {most} binary places do not decide"
        )))
    }

    /// The numbers of an input, rounded to floats.
    fn rounded(&self, input: u64, tolerance: f64) -> Result<Vec<f64>, ModelError> {
        let found = self.floats.input(input);
        if found.iter().all(|(_, error)| *error <= tolerance) {
            return Ok(found.iter().map(|(value, _)| *value).collect());
        }
        Ok(evaluate(self.network, input, self.places[0]).iter().map(Interval::to_f64).collect())
    }

    /// The class that numbers with error bounds decide for, if they do. Without errors, equal numbers tie.
    fn class_by(&self, count: usize, number: impl Fn(usize) -> Bounded) -> Option<u8> {
        let above = |(value, error): Bounded, (other, own): Bounded| {
            let all = error + own;
            // The difference of two floats is itself rounded.
            value - other > all * (1.0 + f64::EPSILON * 4.0) && (all == 0.0 || value - other > f64::MIN_POSITIVE)
        };
        let equal = |(value, error): Bounded, (other, own): Bounded| value == other && error == 0.0 && own == 0.0;
        let zero = (0.0, 0.0);
        match self.network.ending() {
            Ending::Largest => {
                let best =
                    (1..count).fold(0, |best, other| if number(other).0 > number(best).0 { other } else { best });
                let beats = |other: usize| {
                    other == best
                        || above(number(best), number(other))
                        || (other > best && equal(number(best), number(other)))
                };
                (0..count).all(beats).then_some(best as u8)
            }
            _ if above(number(0), zero) => Some(1),
            _ if above(zero, number(0)) => Some(0),
            ending if equal(number(0), zero) => Some(u8::from(ending != Ending::AboveZero)),
            _ => None,
        }
    }

    /// The same for rational intervals.
    fn class_between(&self, found: &[Interval]) -> Option<u8> {
        let is_point = |number: &Interval| number.low == number.high;
        match self.network.ending() {
            Ending::Largest => (0..found.len())
                .find(|&best| {
                    let beats = |other: usize| {
                        let (own, others) = (&found[best], &found[other]);
                        let tie = is_point(own) && is_point(others) && own.low == others.low && best < other;
                        other == best || own.low > others.high || tie
                    };
                    (0..found.len()).all(beats)
                })
                .map(|best| best as u8),
            ending => match &found[0] {
                number if number.low > RBig::ZERO => Some(1),
                number if number.high < RBig::ZERO => Some(0),
                number if is_point(number) => Some(u8::from(ending != Ending::AboveZero)),
                _ => None,
            },
        }
    }

    /// Adjusts rounded numbers, by less than their rounding error, so that they decide for the class.
    fn agree(&self, numbers: &mut [f64], class: u8) {
        let class = usize::from(class);
        match self.network.ending() {
            Ending::Number => return,
            Ending::Largest => {}
            ending => {
                let smallest = f64::MIN_POSITIVE;
                let least = if ending == Ending::AtLeastZero { [-smallest, 0.0] } else { [0.0, smallest] };
                numbers[0] = if class == 1 { numbers[0].max(least[1]) } else { numbers[0].min(least[0]) };
                return;
            }
        }
        let other = (0..numbers.len()).filter(|&other| other != class);
        let least = other.map(|other| if other < class { numbers[other].next_up() } else { numbers[other] });
        numbers[class] = least.fold(numbers[class], f64::max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;
    use crate::model::real_network::{Activation, RealStep};

    /// Layers with small numbers, so that many sums are equal or 0.
    fn random_network(
        random: &mut Seeded,
        inputs: usize,
        outputs: usize,
        activation: &Activation,
        part: u32,
    ) -> RealNetwork {
        let mut steps = Vec::new();
        let widths = [inputs, 1 + random.below(4), 1 + random.below(3), outputs];
        for layer in 0..3 {
            let mut number = || RBig::from_parts((random.below(9) as i64 - 4).into(), part.into());
            let weights = (0..widths[layer + 1]).map(|_| (0..widths[layer]).map(|_| number()).collect()).collect();
            let bias = (0..widths[layer + 1]).map(|_| number()).collect();
            steps.push(RealStep::Dense { weights, bias });
            if layer < 2 {
                steps.push(RealStep::Each(activation.clone()));
            }
        }
        let ending = match outputs {
            1 if random.below(2) == 0 => Ending::AtLeastZero,
            1 => Ending::AboveZero,
            _ => Ending::Largest,
        };
        RealNetwork::new(steps, ending).unwrap()
    }

    /// The definition, layer by layer in rationals.
    fn by_definition(network: &RealNetwork, input: usize) -> Vec<RBig> {
        let mut values: Vec<RBig> = (0..network.inputs()).map(|bit| RBig::from(input >> bit & 1)).collect();
        for step in network.steps() {
            match step {
                RealStep::Dense { weights, bias } => {
                    let sum = |(row, bias): (&Vec<RBig>, &RBig)| {
                        row.iter().zip(&values).fold(bias.clone(), |sum, (w, v)| sum + w * v)
                    };
                    values = weights.iter().zip(bias).map(sum).collect();
                }
                RealStep::Each(Activation::Relu) => {
                    values.iter_mut().filter(|value| **value < RBig::ZERO).for_each(|value| *value = RBig::ZERO);
                }
                RealStep::Each(Activation::Leaky(slope)) => {
                    values.iter_mut().filter(|value| **value < RBig::ZERO).for_each(|value| *value *= slope);
                }
                other => panic!("{other:?}"),
            }
        }
        values
    }

    #[test]
    fn classes_and_numbers_are_those_of_rationals() {
        let mut random = Seeded::new(20, 0);
        let (mut ties, mut close) = (0, 0);
        for case in 0..240 {
            // Thirds are not floats: numbers near 0 must be decided without them.
            let part = [1, 4, 3, 7][case % 4];
            let activation = if case % 5 == 0 {
                Activation::Leaky(RBig::from_parts(1.into(), 3u8.into()))
            } else {
                Activation::Relu
            };
            let (inputs, outputs) = (1 + random.below(8), 1 + random.below(3));
            let network = random_network(&mut random, inputs, outputs, &activation, part);
            let classes = network.classes_of_all(&Watch::unlimited()).unwrap();
            let numbers = network.numbers_of_all(&Watch::unlimited()).unwrap();
            close += classes.close;
            for input in 0..1 << inputs {
                let values = by_definition(&network, input);
                let class = match network.ending() {
                    Ending::AboveZero => usize::from(values[0] > RBig::ZERO),
                    Ending::AtLeastZero => usize::from(values[0] >= RBig::ZERO),
                    _ => {
                        let largest = values.iter().max().unwrap();
                        ties += usize::from(values.iter().filter(|value| *value == largest).count() > 1);
                        values.iter().position(|value| value == largest).unwrap()
                    }
                };
                assert_eq!(usize::from(classes.entries[input]), class, "case {case}, input {input}: {values:?}");
                for (output, value) in values.iter().enumerate() {
                    let found = numbers.entries[input * outputs + output];
                    let error = (value - RBig::try_from(found).unwrap()).to_f64().value().abs();
                    assert!(error <= 1e-12, "case {case}, input {input}: {found} is not {value}");
                }
            }
        }
        assert!(ties > 200 && close > 200, "{ties} {close}");
    }

    /// Networks whose two scores are the same function in different forms: no number of digits separates tanh from
    /// itself.
    #[test]
    fn a_tie_of_curves_is_an_error_and_a_near_one_is_decided() {
        let number = |text: &str| crate::model::parse_decimal(text).unwrap();
        let network = |small: &str| {
            let first = RealStep::Dense {
                weights: vec![vec![number("0.3"), number("-0.7")], vec![number("0.3"), number("-0.7")]],
                bias: vec![number("0.1"), number("0.1") + number(small)],
            };
            let last = RealStep::Dense { weights: vec![vec![RBig::ONE, -RBig::ONE]], bias: vec![RBig::ZERO] };
            RealNetwork::new(vec![first, RealStep::Each(Activation::Tanh), last], Ending::AtLeastZero).unwrap()
        };
        let decided = |small| network(small).classes_of_all(&Watch::unlimited()).map(|table| table.entries);
        assert_eq!(decided("1e-40").unwrap(), [0, 0, 0, 0]);
        assert_eq!(decided("-1e-100").unwrap(), [1, 1, 1, 1]);
        assert!(decided("0").unwrap_err().to_string().contains("for the input 00 the network is so near to a tie"));
    }

    /// tanh, sigmoid and batch normalisation against the system's library.
    #[test]
    fn slow_curves_are_near_the_library() {
        let mut random = Seeded::new(21, 0);
        for case in 0..20 {
            let mut number = || RBig::try_from(random.below(2000) as f64 / 500.0 - 2.0).unwrap();
            let activation = if case % 2 == 0 { Activation::Tanh } else { Activation::Sigmoid };
            let weights: Vec<Vec<RBig>> = (0..3).map(|_| (0..7).map(|_| number()).collect()).collect();
            let [bias, gamma, beta, mean] = [(); 4].map(|()| (0..3).map(|_| number()).collect::<Vec<_>>());
            let variance: Vec<RBig> = (0..3).map(|_| number() + RBig::from(3)).collect();
            let out: Vec<RBig> = (0..3).map(|_| number()).collect();
            let float = |numbers: &[RBig]| numbers.iter().map(|n| n.to_f64().value()).collect::<Vec<f64>>();
            let steps = vec![
                RealStep::Dense { weights: weights.clone(), bias: bias.clone() },
                RealStep::Norm {
                    gamma: gamma.clone(),
                    beta: beta.clone(),
                    mean: mean.clone(),
                    variance: variance.clone(),
                },
                RealStep::Each(activation.clone()),
                RealStep::Dense { weights: vec![out.clone()], bias: vec![RBig::ONE] },
            ];
            let network = RealNetwork::new(steps, Ending::Number).unwrap();
            let found = network.numbers_of_all(&Watch::unlimited()).unwrap().entries;
            for (input, found) in found.iter().enumerate() {
                let mut sum = 1.0;
                for (unit, weights) in weights.iter().enumerate() {
                    let row = float(weights);
                    let z: f64 = row.iter().enumerate().filter(|(bit, _)| input >> bit & 1 == 1).map(|(_, w)| w).sum();
                    let [b, g, s, m, v] = [&bias, &gamma, &beta, &mean, &variance].map(|n| float(n)[unit]);
                    let x = g * (z + b - m) / v.sqrt() + s;
                    sum += float(&out)[unit] * if case % 2 == 0 { x.tanh() } else { 1.0 / (1.0 + (-x).exp()) };
                }
                assert!((found - sum).abs() < 1e-12, "case {case}, input {input}: {found} {sum}");
                for places in [160, 640] {
                    let exact = evaluate(&network, input as u64, Some(places))[0].to_f64();
                    assert!((exact - sum).abs() < 1e-12, "case {case}, input {input}: {exact} {sum}");
                }
            }
        }
    }
}
