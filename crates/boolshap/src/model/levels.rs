//! The values of a quantised network during import, as functions of the bits of the layer before.
//!
//! A value is a raw number of the table, a weighted sum of values of the previous layer, or one of a few levels.
//! Constants are added and multiplied exactly; a quantiser turns a raw number or a sum into levels. A unit with levels
//! `l_0, ..., l_m` and conditions `c_1, ..., c_m`, each of which implies the previous one, has the value `l_0 + sum of
//! (l_k - l_(k-1)) [c_k]`. A condition compares a sum with a bound. Operations between the sum and the quantiser
//! (constants, a ReLU, batch normalisation) are inverted and applied to the bound, so nothing is rounded.
//!
//! Raw numbers are the exception: they are computed in float32, as in programs that execute such files, and the cuts of
//! a column are found by bisection over the floats. A table value that is not a float32 is rounded to the nearest one.

use super::quantiser::{Quantiser, rational};
use dashu_base::Signed;
use dashu_ratio::RBig;
use std::rc::Rc;

/// The most levels of a column.
const MAX_COLUMN_LEVELS: usize = 256;
/// Raw numbers are clamped to this size.
const LARGEST_RAW: f32 = 1e30;

/// A value of the network.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Raw(Raw),
    Sum(Rc<Sum>),
    Unit(Unit),
}

/// A number of the table and the operations applied to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Raw {
    /// The index of the column.
    pub(crate) column: u32,
    steps: Vec<RawStep>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum RawStep {
    Add(f32),
    Multiply(f32),
    Divide(f32),
    AtLeast(f32),
    AtMost(f32),
}

/// Indices of values in the previous layer, with weights; shared by sums that differ only in their constants.
pub(crate) type Terms = Rc<[(u32, f64)]>;

/// `(scale * terms + shift) / sqrt(variance) + after`, followed by the operations of `then`.
#[derive(Debug, Clone)]
pub(crate) struct Sum {
    /// Indices of values in the previous layer, with weights.
    pub(crate) terms: Terms,
    pub(crate) scale: RBig,
    pub(crate) shift: RBig,
    pub(crate) variance: Option<RBig>,
    pub(crate) after: RBig,
    pub(crate) then: Vec<Then>,
}

/// Operations on a sum from its first limit on.
#[derive(Debug, Clone)]
pub(crate) enum Then {
    Add(RBig),
    Multiply(RBig),
    AtLeast(RBig),
    AtMost(RBig),
}

/// A value with a few levels.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) source: Source,
    /// One more than the number of cuts or conditions.
    pub(crate) levels: Vec<RBig>,
}

/// What determines the level.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A column of the table.
    Column { column: u32, cut: Cut },
    /// Conditions, each of which implies the previous one.
    Conditions(Vec<(Rc<Sum>, Condition)>),
}

/// How the numbers of a column become levels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cut {
    /// The column has two values and is read as a bit.
    Bit,
    /// Thresholds; a value passes those that it is strictly above.
    Above(Rc<[f64]>),
}

/// A comparison of a sum, before its `then` operations, with a bound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Always(bool),
    /// The value is at least the bound if `above`, else at most; equality counts only if `closed`.
    Compare {
        bound: RBig,
        closed: bool,
        above: bool,
    },
}

/// An operation on a value, with a constant from the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    Add(f64),
    /// Subtracts the value from a constant.
    SubtractFrom(f64),
    Multiply(f64),
    Divide(f64),
    /// The maximum of the value and a constant.
    AtLeast(f64),
    /// The minimum of the value and a constant.
    AtMost(f64),
}

impl Change {
    /// Whether the operation is decreasing.
    pub(crate) fn falls(self) -> bool {
        match self {
            Change::SubtractFrom(_) => true,
            Change::Multiply(number) | Change::Divide(number) => number < 0.0,
            Change::Add(_) | Change::AtLeast(_) | Change::AtMost(_) => false,
        }
    }
}

impl Value {
    pub(crate) fn raw(column: u32) -> Self {
        Value::Raw(Raw { column, steps: Vec::new() })
    }

    /// A column whose values are these ascending numbers.
    pub(crate) fn of_domain(column: u32, domain: &[f64], is_bit: bool) -> Self {
        let between = domain.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        let cut = if is_bit { Cut::Bit } else { Cut::Above(between) };
        let levels = domain.iter().map(|number| rational(*number)).collect();
        Value::Unit(Unit { source: Source::Column { column, cut }, levels })
    }

    /// Applies an operation with a finite constant.
    pub(crate) fn change(&mut self, change: Change) -> Result<(), String> {
        if let Change::Divide(0.0) = change {
            return Err("divides by 0".into());
        }
        match self {
            Value::Raw(raw) => raw.change(change),
            Value::Sum(sum) => Rc::make_mut(sum).change(change),
            Value::Unit(unit) => unit.levels.iter_mut().for_each(|level| {
                *level = match change {
                    Change::Add(number) => &*level + rational(number),
                    Change::SubtractFrom(number) => rational(number) - &*level,
                    Change::Multiply(number) => &*level * rational(number),
                    Change::Divide(number) => &*level / rational(number),
                    Change::AtLeast(number) => level.clone().max(rational(number)),
                    Change::AtMost(number) => level.clone().min(rational(number)),
                }
            }),
        }
        Ok(())
    }

    /// Quantises the value; `reach` gives the range of a sum.
    pub(crate) fn quantise(&mut self, quantiser: &Quantiser, reach: impl Fn(&Sum) -> (f64, f64)) -> Result<(), String> {
        let unit = match self {
            Value::Raw(raw) => raw.quantise(quantiser)?,
            Value::Sum(sum) => {
                let (low, high) = reach(sum);
                let (base, rises) = quantiser.rises(low, high)?;
                let mut conditions = Vec::new();
                let mut levels = vec![base];
                for rise in rises {
                    let condition = Condition::Compare { bound: rise.at, closed: rise.closed, above: true };
                    conditions.push((sum.clone(), condition.before(&sum.then)));
                    levels.push(rise.to);
                }
                Unit { source: Source::Conditions(conditions), levels }
            }
            Value::Unit(unit) => {
                for level in &mut unit.levels {
                    *level = quantiser.exact_level(level)?;
                }
                unit.merge();
                return Ok(());
            }
        };
        *self = Value::Unit(unit);
        Ok(())
    }
}

impl Unit {
    /// Merges neighbouring intervals of a column with the same level.
    fn merge(&mut self) {
        let Source::Column { cut: Cut::Above(cuts), .. } = &mut self.source else { return };
        let differ = |at: &usize| self.levels[*at] != self.levels[at + 1];
        let kept: Vec<usize> = (0..cuts.len()).filter(differ).collect();
        *cuts = kept.iter().map(|&at| cuts[at]).collect();
        let last = self.levels.len() - 1;
        self.levels = kept.iter().chain([&last]).map(|&at| self.levels[at].clone()).collect();
    }
}

impl Raw {
    fn change(&mut self, change: Change) {
        match change {
            Change::Add(number) => self.steps.push(RawStep::Add(number as f32)),
            Change::SubtractFrom(number) => self.steps.extend([RawStep::Multiply(-1.0), RawStep::Add(number as f32)]),
            Change::Multiply(number) => self.steps.push(RawStep::Multiply(number as f32)),
            Change::Divide(number) => self.steps.push(RawStep::Divide(number as f32)),
            Change::AtLeast(number) => self.steps.push(RawStep::AtLeast(number as f32)),
            Change::AtMost(number) => self.steps.push(RawStep::AtMost(number as f32)),
        }
    }

    /// Whether the same operations are applied to another column.
    pub(crate) fn is_like(&self, other: &Raw) -> bool {
        self.steps == other.steps
    }

    /// The same value for a column that can only hold these numbers.
    pub(crate) fn of_domain(&self, domain: &[f64], is_bit: bool) -> Result<Value, String> {
        let mut value = Value::of_domain(self.column, domain, is_bit);
        for step in &self.steps {
            value.change(match *step {
                RawStep::Add(number) => Change::Add(number.into()),
                RawStep::Multiply(number) => Change::Multiply(number.into()),
                RawStep::Divide(number) => Change::Divide(number.into()),
                RawStep::AtLeast(number) => Change::AtLeast(number.into()),
                RawStep::AtMost(number) => Change::AtMost(number.into()),
            })?;
        }
        Ok(value)
    }

    fn at(&self, x: f32) -> f32 {
        self.steps.iter().fold(x, |x, step| match step {
            RawStep::Add(number) => x + number,
            RawStep::Multiply(number) => x * number,
            RawStep::Divide(number) => x / number,
            RawStep::AtLeast(number) => x.max(*number),
            RawStep::AtMost(number) => x.min(*number),
        })
    }

    /// Every operation is monotone in float32 too, so all numbers between two numbers of equal level have that level.
    fn quantise(&self, quantiser: &Quantiser) -> Result<Unit, String> {
        let level = |place: i32| quantiser.level(self.at(float_at(place)));
        let ends = [-LARGEST_RAW, LARGEST_RAW].map(place_of);
        let last = level(ends[1])?;
        let (mut cuts, mut levels) = (Vec::new(), vec![level(ends[0])?]);
        while levels[levels.len() - 1] != last {
            let current = &levels[levels.len() - 1];
            // Invariant: `low` has this level, `high` a different one.
            let (mut low, mut high) = (cuts.last().copied().unwrap_or(ends[0]), ends[1]);
            while i64::from(high) - i64::from(low) > 1 {
                let middle = ((i64::from(low) + i64::from(high)) / 2) as i32;
                if level(middle)? == *current { low = middle } else { high = middle }
            }
            levels.push(level(high)?);
            cuts.push(high);
            if levels.len() > MAX_COLUMN_LEVELS {
                return Err(format!("the inputs take more than {MAX_COLUMN_LEVELS} levels"));
            }
        }
        let cuts = cuts.into_iter().map(|high| threshold(float_at(high - 1), float_at(high))).collect();
        Ok(Unit { source: Source::Column { column: self.column, cut: Cut::Above(cuts) }, levels })
    }
}

/// The rank of a float in the order of all floats; both zeros have the same rank.
fn place_of(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    if bits < 0 { -(bits & i32::MAX) } else { bits }
}

fn float_at(place: i32) -> f32 {
    if place < 0 { -f32::from_bits(place.unsigned_abs()) } else { f32::from_bits(place as u32) }
}

/// The largest double that rounds to the first of two neighbouring floats rather than the second.
fn threshold(low: f32, high: f32) -> f64 {
    let middle = (f64::from(low) + f64::from(high)) / 2.0;
    if middle as f32 == high { middle.next_down() } else { middle }
}

impl Sum {
    pub(crate) fn of(terms: Terms) -> Self {
        let (scale, shift, after) = (RBig::ONE, RBig::ZERO, RBig::ZERO);
        Sum { terms, scale, shift, variance: None, after, then: Vec::new() }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Add(number) => self.add(rational(number)),
            Change::SubtractFrom(number) => {
                self.multiply(-RBig::ONE);
                self.add(rational(number));
            }
            Change::Multiply(number) => self.multiply(rational(number)),
            Change::Divide(number) => self.multiply(RBig::ONE / rational(number)),
            Change::AtLeast(number) => self.then.push(Then::AtLeast(rational(number))),
            Change::AtMost(number) => self.then.push(Then::AtMost(rational(number))),
        }
    }

    pub(crate) fn add(&mut self, number: RBig) {
        match (self.then.is_empty(), &self.variance) {
            (true, None) => self.shift += number,
            (true, Some(_)) => self.after += number,
            (false, _) => self.then.push(Then::Add(number)),
        }
    }

    pub(crate) fn multiply(&mut self, number: RBig) {
        if self.then.is_empty() {
            [&mut self.scale, &mut self.shift, &mut self.after].into_iter().for_each(|part| *part *= &number);
        } else {
            self.then.push(Then::Multiply(number));
        }
    }

    /// Batch normalisation: `gamma * (x - mean) / sqrt(variance) + beta`. Returns false if it cannot be applied
    /// exactly: only the first one of a sum can.
    pub(crate) fn normalise(&mut self, gamma: &RBig, beta: &RBig, mean: &RBig, variance: RBig) -> bool {
        if !self.then.is_empty() || self.variance.is_some() {
            return false;
        }
        self.scale *= gamma;
        self.shift = (&self.shift - mean) * gamma;
        self.after = beta.clone();
        self.variance = Some(variance);
        true
    }

    /// The range of the value in floats, given the range of its terms.
    pub(crate) fn reach(&self, terms: (f64, f64)) -> (f64, f64) {
        let float = |number: &RBig| number.to_f64().value();
        let root = self.variance.as_ref().map_or(1.0, |variance| float(variance).sqrt());
        let line = |x: f64| (float(&self.scale) * x + float(&self.shift)) / root + float(&self.after);
        let ends = |a: f64, b: f64| (a.min(b), a.max(b));
        self.then.iter().fold(ends(line(terms.0), line(terms.1)), |(low, high), then| match then {
            Then::Add(number) => (low + float(number), high + float(number)),
            Then::Multiply(number) => ends(low * float(number), high * float(number)),
            Then::AtLeast(number) => (low.max(float(number)), high.max(float(number))),
            Then::AtMost(number) => (low.min(float(number)), high.min(float(number))),
        })
    }
}

impl Condition {
    fn holds(&self, x: &RBig) -> bool {
        match self {
            Condition::Always(always) => *always,
            Condition::Compare { bound, closed, above } => match x.cmp(bound) {
                std::cmp::Ordering::Equal => *closed,
                order => order.is_gt() == *above,
            },
        }
    }

    /// The equivalent condition on the value before some operations.
    pub(crate) fn before(self, steps: &[Then]) -> Self {
        steps.iter().rev().fold(self, |condition, step| {
            let Condition::Compare { bound, closed, above } = &condition else { return condition };
            let moved = |bound: RBig, above: bool| Condition::Compare { bound, closed: *closed, above };
            match step {
                Then::Add(number) => moved(bound - number, *above),
                Then::Multiply(number) if number.is_zero() => Condition::Always(condition.holds(&RBig::ZERO)),
                Then::Multiply(number) => moved(bound / number, *above != number.is_negative()),
                // The maximum of x and a number is above a bound if the number is, or if x is.
                Then::AtLeast(number) if condition.holds(number) == *above => Condition::Always(*above),
                Then::AtMost(number) if condition.holds(number) != *above => Condition::Always(!*above),
                Then::AtLeast(_) | Then::AtMost(_) => condition,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::quantiser::Rounding;

    fn quantiser(scale: f64, least: i64, most: i64) -> Quantiser {
        Quantiser::Whole { scale, zero: 0.0, least, most, rounding: Rounding::HalfEven }
    }

    #[test]
    fn pixels_are_cut_as_float32_does() {
        // 2 (x / 255 - 1/2) in two bits, as FINN prepares its images.
        let mut value = Value::raw(7);
        for change in [Change::Divide(255.0), Change::Add(-0.5), Change::Multiply(2.0)] {
            value.change(change).unwrap();
        }
        let Value::Raw(raw) = value.clone() else { panic!("raw") };
        value.quantise(&quantiser(1.0, -1, 1), |_| (0.0, 0.0)).unwrap();
        let Value::Unit(Unit { source: Source::Column { column: 7, cut: Cut::Above(cuts) }, levels }) = value else {
            panic!("a column")
        };
        assert_eq!(levels, [-1, 0, 1].map(RBig::from));
        assert!((cuts[0] - 63.75).abs() < 1e-4 && (cuts[1] - 191.25).abs() < 1e-4, "{cuts:?}");
        for tenth in 0..2550 {
            let x = f64::from(tenth) / 10.0;
            let expected = quantiser(1.0, -1, 1).level(raw.at(x as f32)).unwrap();
            assert_eq!(levels[cuts.partition_point(|cut| x > *cut)], expected, "{x}");
        }
    }

    #[test]
    fn a_falling_chain_and_a_bound_in_both_directions() {
        let mut value = Value::raw(0);
        value.change(Change::SubtractFrom(1.0)).unwrap();
        value.quantise(&Quantiser::Bipolar { scale: 1.0, zero: 0.0 }, |_| (0.0, 0.0)).unwrap();
        let Value::Unit(Unit { source: Source::Column { cut: Cut::Above(cuts), .. }, levels }) = value else {
            panic!("a column")
        };
        // The level 1 - x >= 0 holds up to x = 1, and also for a double above 1 that rounds to 1.
        assert_eq!(levels, [1, -1].map(RBig::from));
        assert!(cuts[0] > 1.0 && cuts[0] < 1.0 + 1e-7, "{cuts:?}");
        let too_many = quantiser(0.001, 0, 1 << 20);
        assert!(Value::raw(0).quantise(&too_many, |_| (0.0, 0.0)).unwrap_err().contains("more than 256 levels"));
    }

    /// A condition after some operations equals the condition before them on the original value, for all of these.
    #[test]
    fn conditions_are_taken_back() {
        let numbers = [-3, -1, 0, 1, 2].map(RBig::from);
        let step = |kind: usize, number: &RBig| match kind {
            0 => Then::Add(number.clone()),
            1 => Then::Multiply(number.clone()),
            2 => Then::AtLeast(number.clone()),
            _ => Then::AtMost(number.clone()),
        };
        let run = |x: &RBig, steps: &[Then]| {
            steps.iter().fold(x.clone(), |x, step| match step {
                Then::Add(number) => x + number,
                Then::Multiply(number) => x * number,
                Then::AtLeast(number) => x.max(number.clone()),
                Then::AtMost(number) => x.min(number.clone()),
            })
        };
        for case in 0..4 * 4 * 4 * 25 {
            let kinds = [case % 4, case / 4 % 4, case / 16 % 4];
            let steps: Vec<Then> =
                kinds.iter().enumerate().map(|(i, kind)| step(*kind, &numbers[(case / 64 + 2 * i) % 5])).collect();
            let (bound, closed, above) = (numbers[case / 320 % 5].clone(), case % 3 == 0, case % 7 < 4);
            let condition = Condition::Compare { bound, closed, above };
            let before = condition.clone().before(&steps);
            for half in -9..9 {
                let x = RBig::from_parts(half.into(), 2u8.into());
                assert_eq!(before.holds(&x), condition.holds(&run(&x, &steps)), "{condition:?} {steps:?} {x}");
            }
        }
    }
}
