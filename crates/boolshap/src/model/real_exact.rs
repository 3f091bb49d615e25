//! Evaluates a network of real weights without floats: in exact rationals if the network has only rational numbers,
//! otherwise in intervals of rationals as narrow as requested.
//!
//! A number is an interval of rationals. Sums and products are exact; roots, tanh and sigmoid are not, and give an
//! interval of about 2^-bits. After each step, intervals are rounded outwards to that many binary places, so that
//! numbers do not grow with depth.

use super::real_network::{Activation, RealNetwork, RealStep};
use dashu_base::{Abs, BitTest, Signed, SquareRoot};
use dashu_float::{Context, FBig, round::mode::HalfEven};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Beyond this, tanh and sigmoid equal their limits at any precision used here.
const FAR: i32 = 1 << 14;

/// An interval: two rationals that enclose a number.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    pub(super) low: RBig,
    pub(super) high: RBig,
}

impl Interval {
    fn point(number: RBig) -> Self {
        Interval { low: number.clone(), high: number }
    }

    /// Applies a non-decreasing function, which itself returns an interval.
    fn rising(&self, function: impl Fn(&RBig) -> Interval) -> Self {
        Interval { low: function(&self.low).low, high: function(&self.high).high }
    }

    fn times(&self, factor: &RBig) -> Self {
        let ends = [&self.low * factor, &self.high * factor];
        let [one, other] = ends;
        if factor.is_negative() { Interval { low: other, high: one } } else { Interval { low: one, high: other } }
    }

    fn plus(&self, other: &Interval) -> Self {
        Interval { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    /// Rounded outwards to this many binary places.
    fn rounded(&self, bits: usize) -> Self {
        if self.low == self.high && self.low.denominator().bit_len() <= bits {
            return self.clone();
        }
        let scale = RBig::from(UBig::ONE << bits);
        let low = RBig::from((&self.low * &scale).floor()) / &scale;
        let high = RBig::from((&self.high * &scale).ceil()) / &scale;
        Interval { low, high }
    }

    /// The float nearest to its middle.
    pub(super) fn to_f64(&self) -> f64 {
        ((&self.low + &self.high) / RBig::from(2)).to_f64().value()
    }
}

/// The outputs for an input, whose bit j is input j. Without `bits` the network must be rational.
pub(super) fn evaluate(network: &RealNetwork, input: u64, bits: Option<usize>) -> Vec<Interval> {
    let mut values: Vec<Interval> =
        (0..network.inputs()).map(|bit| Interval::point(RBig::from(input >> bit & 1))).collect();
    let places = bits.unwrap_or(64);
    for step in network.steps() {
        values = match step {
            RealStep::Dense { weights, bias } => {
                let sum = |(row, bias): (&Vec<RBig>, &RBig)| {
                    let terms = row.iter().zip(&values).filter(|(weight, _)| !weight.is_zero());
                    terms.fold(Interval::point(bias.clone()), |sum, (weight, value)| sum.plus(&value.times(weight)))
                };
                weights.iter().zip(bias).map(sum).collect()
            }
            RealStep::Norm { gamma, beta, mean, variance } => {
                let norm = |(at, value): (usize, &Interval)| {
                    let root = root(&variance[at], places);
                    let centred = value.plus(&Interval::point(-&mean[at])).times(&gamma[at]);
                    over_positive(&centred, &root).plus(&Interval::point(beta[at].clone()))
                };
                values.iter().enumerate().map(norm).collect()
            }
            RealStep::Each(activation) => values.iter().map(|value| activation.of(value, places)).collect(),
        };
        if let Some(bits) = bits {
            values.iter_mut().for_each(|value| *value = value.rounded(bits));
        }
    }
    values
}

/// An interval divided by a positive one.
fn over_positive(number: &Interval, by: &Interval) -> Interval {
    let low = &number.low / if number.low.is_negative() { &by.low } else { &by.high };
    let high = &number.high / if number.high.is_negative() { &by.high } else { &by.low };
    Interval { low, high }
}

/// The root of a positive number, if it is rational.
pub(super) fn exact_root(number: &RBig) -> Option<RBig> {
    let of = |square: &UBig| Some(square.sqrt()).filter(|root| root.sqr() == *square);
    let above: UBig = number.numerator().clone().try_into().ok()?;
    Some(RBig::from(of(&above)?) / RBig::from(of(number.denominator())?))
}

/// The root of a positive number.
pub(super) fn root(number: &RBig, bits: usize) -> Interval {
    if let Some(root) = exact_root(number) {
        return Interval::point(root);
    }
    let above: UBig = number.numerator().clone().try_into().unwrap_or_default();
    let below = number.denominator();
    // sqrt(a / b) = sqrt(a b) / b
    let root = ((above * below) << (2 * bits)).sqrt();
    let scale = RBig::from(below.clone() << bits);
    Interval { low: RBig::from(root.clone()) / &scale, high: RBig::from(root + UBig::ONE) / scale }
}

impl Activation {
    fn of(&self, value: &Interval, bits: usize) -> Interval {
        match self {
            Activation::Relu => value.rising(|x| Interval::point(x.clone().max(RBig::ZERO))),
            Activation::Clip(low, high) => {
                value.rising(|x| Interval::point(x.clone().max(low.clone()).min(high.clone())))
            }
            Activation::Leaky(slope) => leaky(value, slope),
            Activation::Sigmoid => value.rising(|x| sigmoid(x, bits)),
            // tanh(x) = 2 sigmoid(2 x) - 1
            Activation::Tanh => value.rising(|x| {
                let two = RBig::from(2);
                sigmoid(&(x * &two), bits).times(&two).plus(&Interval::point(-RBig::ONE))
            }),
        }
    }
}

/// With a negative slope it is decreasing below 0.
fn leaky(value: &Interval, slope: &RBig) -> Interval {
    let of = |x: &RBig| if x.is_negative() { x * slope } else { x.clone() };
    let (one, other) = (of(&value.low), of(&value.high));
    let (mut low, mut high) = (one.clone().min(other.clone()), one.max(other));
    if value.low.is_negative() && value.high.is_positive() {
        (low, high) = (low.min(RBig::ZERO), high.max(RBig::ZERO));
    }
    Interval { low, high }
}

fn sigmoid(x: &RBig, bits: usize) -> Interval {
    if x.is_zero() {
        return Interval::point(RBig::from_parts(1.into(), 2u8.into()));
    }
    if x.clone().abs() > RBig::from(FAR) {
        // exp(-2^14) is below 2^-20000.
        let tiny = RBig::from_parts(1.into(), UBig::ONE << 20_000);
        return match x.is_negative() {
            true => Interval { low: RBig::ZERO, high: tiny },
            false => Interval { low: RBig::ONE - tiny, high: RBig::ONE },
        };
    }
    let power = exponential(&-x, bits);
    let of = |power: &RBig| RBig::ONE / (RBig::ONE + power);
    Interval { low: of(&power.high), high: of(&power.low) }
}

/// exp of a rational that is not huge, to about this many binary places. It works with 64 more places; rounding the
/// argument and the result affects only the last of these, and the interval leaves a margin of 48 of them on both
/// sides.
fn exponential(x: &RBig, bits: usize) -> Interval {
    let precision = bits + 64;
    let scale = UBig::ONE << precision;
    let cut: IBig = (x * RBig::from(scale)).round();
    let float: FBig<HalfEven, 2> = FBig::from_parts(cut, -(precision as isize));
    let power = match Context::<HalfEven>::new(precision).exp(float.repr(), None) {
        Ok(power) => RBig::try_from(power.value()).unwrap_or(RBig::ONE),
        // Cannot happen for finite numbers; an interval that says nothing is safe.
        Err(_) => return Interval { low: RBig::ZERO, high: RBig::from(UBig::ONE << 30_000) },
    };
    let slack = &power * RBig::from_parts(1.into(), UBig::ONE << (bits + 16));
    Interval { low: &power - &slack, high: power + slack }
}
