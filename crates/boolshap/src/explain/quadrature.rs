//! Gauss-Legendre points on [0, 1]: m of them integrate every polynomial of degree up to 2m - 1 without error.
//!
//! The points are the roots of the Legendre polynomial P_m, moved from [-1, 1]; with P_m and P_(m-1) from the three-term
//! recurrence, P_m'(x) = m (x P_m - P_(m-1)) / (x^2 - 1), and the weight of a root on [-1, 1] is
//! 2 / ((1 - x^2) P_m'(x)^2) (Golub and Welsch, "Calculation of Gauss Quadrature Rules", 1969, for the theory). Newton's
//! iteration from cos(pi (i - 1/4) / (m + 1/2)) finds each root in floats; the recurrence loses digits as m grows, so a
//! last step and the weight are computed in pairs of floats (T. J. Dekker, "A floating-point technique for extending the
//! available precision", 1971), some 30 digits. Cost: O(m^2), once for each m.

use std::ops::{Add, Div, Mul, Sub};

/// A point of the path and the weight of its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) weight: f64,
}

/// The `count` points in ascending order, their weights adding up to 1.
pub(super) fn gauss_legendre(count: usize) -> Vec<Point> {
    let mut points = vec![Point { at: 0.5, weight: 1.0 }; count];
    for index in 0..count.div_ceil(2) {
        let mut root = (std::f64::consts::PI * (index as f64 + 0.75) / (count as f64 + 0.5)).cos();
        // It converges quadratically from this start; a fourth step changes nothing any more.
        for _ in 0..4 {
            let (value, slope) = legendre(count, root);
            root -= value / slope;
        }
        if 2 * index + 1 == count {
            root = 0.0;
        }
        let start = Pair::new(root);
        let (value, slope) = legendre(count, start);
        let root = start - value / slope;
        let (_, slope) = legendre(count, root);
        let one = Pair::new(1.0);
        // On [0, 1] the weights are half of those on [-1, 1].
        let weight = (one / ((one - root * root) * slope * slope)).high;
        let half = Pair::new(0.5);
        points[index] = Point { at: (half * (one - root)).high, weight };
        points[count - 1 - index] = Point { at: (half * (one + root)).high, weight };
    }
    points
}

/// The Legendre polynomial of this degree, at least 1, and its derivative.
fn legendre<T: Number>(degree: usize, x: T) -> (T, T) {
    let number = |value: usize| T::from(value as f64);
    let (mut before, mut value) = (number(1), x);
    for k in 2..=degree {
        let next = (number(2 * k - 1) * x * value - number(k - 1) * before) / number(k);
        (before, value) = (value, next);
    }
    let slope = number(degree) * (x * value - before) / (x * x - number(1));
    (value, slope)
}

trait Number: Copy + From<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {}

impl Number for f64 {}
impl Number for Pair {}

/// An unevaluated sum of two floats, the second no more than half a unit in the last place of the first.
#[derive(Clone, Copy)]
struct Pair {
    high: f64,
    low: f64,
}

impl Pair {
    fn new(value: f64) -> Self {
        Pair { high: value, low: 0.0 }
    }

    /// The exact sum of two floats.
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let of_b = high - a;
        Pair { high, low: (a - (high - of_b)) + (b - of_b) }
    }

    /// The exact product of two floats.
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Pair { high, low: a.mul_add(b, -high) }
    }
}

impl From<f64> for Pair {
    fn from(value: f64) -> Self {
        Pair::new(value)
    }
}

impl Add for Pair {
    type Output = Pair;

    fn add(self, other: Pair) -> Pair {
        let Pair { high, low } = Pair::sum(self.high, other.high);
        Pair::sum(high, low + self.low + other.low)
    }
}

impl Sub for Pair {
    type Output = Pair;

    fn sub(self, other: Pair) -> Pair {
        self + Pair { high: -other.high, low: -other.low }
    }
}

impl Mul for Pair {
    type Output = Pair;

    fn mul(self, other: Pair) -> Pair {
        let Pair { high, low } = Pair::product(self.high, other.high);
        Pair::sum(high, low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Pair {
    type Output = Pair;

    fn div(self, other: Pair) -> Pair {
        let first = self.high / other.high;
        let rest = self - other * Pair::new(first);
        Pair::sum(first, rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_base::BitTest;
    use dashu_int::IBig;
    use dashu_ratio::RBig;

    fn fraction(value: f64) -> RBig {
        RBig::try_from(value).unwrap()
    }

    /// The integral of t^k is 1 / (k + 1), with the sum in exact fractions.
    #[test]
    fn powers_are_integrated_up_to_twice_the_points() {
        for count in (1..=20).chain([50, 51, 150, 400]) {
            let points = gauss_legendre(count);
            assert!(points.is_sorted_by(|a, b| a.at < b.at));
            let exact: Vec<(RBig, RBig)> = points.iter().map(|p| (fraction(p.at), fraction(p.weight))).collect();
            let powers = [0, 1, 2, count, 2 * count - 2, 2 * count - 1];
            for power in powers.into_iter().filter(|&power| power < 2 * count && (count < 60 || power < 60)) {
                let sum = exact.iter().fold(RBig::ZERO, |sum, (at, weight)| sum + weight * at.pow(power as isize));
                let error = (sum - RBig::from_parts(1.into(), (power as u64 + 1).into())).to_f64().value();
                assert!(error.abs() < 1e-15, "{count} points, power {power}: {error:e}");
            }
            let power = 2 * count as i32 - 1;
            let sum: f64 = points.iter().map(|point| point.weight * point.at.powi(power)).sum();
            assert!((sum - 1.0 / f64::from(power + 1)).abs() < 1e-15, "{count} points");
        }
    }

    /// The scale, as a power of two, of fractions in [0, 2): far more digits than any float has.
    const BITS: usize = 400;

    fn fixed(value: f64) -> IBig {
        (fraction(value) * RBig::from(IBig::ONE << BITS)).trunc()
    }

    /// The Legendre polynomial and its derivative again, in whole numbers.
    fn fixed_legendre(degree: usize, x: &IBig) -> (IBig, IBig) {
        let one = IBig::ONE << BITS;
        let (mut before, mut value) = (one.clone(), x.clone());
        for k in 2..=degree {
            let next = (IBig::from(2 * k - 1) * ((x * &value) >> BITS) - IBig::from(k - 1) * &before) / IBig::from(k);
            (before, value) = (value, next);
        }
        let slope = IBig::from(degree) * (((x * &value) >> BITS) - before);
        let slope = (slope << BITS) / (((x * x) >> BITS) - one);
        (value, slope)
    }

    /// Each point and weight is within 1.001 roundings of the true one, for numbers of points that cover the largest
    /// circuits.
    #[test]
    fn points_and_weights_are_rounded_once() {
        let one = IBig::ONE << BITS;
        for (count, every) in [(1, 1), (2, 1), (3, 1), (10, 1), (51, 1), (500, 7), (4000, 400)] {
            let points = gauss_legendre(count);
            for point in points.iter().step_by(every).chain(points.last()) {
                // Newton's iteration from the float itself.
                let mut x = fixed(point.at) * 2 - &one;
                for _ in 0..5 {
                    let (value, slope) = fixed_legendre(count, &x);
                    x -= (value << BITS) / slope;
                }
                let (value, slope) = fixed_legendre(count, &x);
                assert!(value.bit_len() < 40, "a root");
                let square = (&slope * &slope) >> BITS;
                let weight = (&one << (2 * BITS)) / ((&one - ((&x * &x) >> BITS)) * square);
                for (float, exact) in [(point.at, (x + &one) / 2), (point.weight, weight)] {
                    let error = RBig::from_parts(fixed(float) - &exact, exact.clone().try_into().unwrap());
                    let error = error.to_f64().value().abs() / crate::explain::error_bound::UNIT;
                    assert!(error < 1.001, "{count} points: {float} is off by {error} roundings");
                }
            }
        }
    }

    /// The error of t^2m is (m!)^4 / ((2m + 1) ((2m)!)^2): the rule is exact only up to the power before.
    #[test]
    fn one_power_more_is_wrong_by_as_much_as_it_must_be() {
        for count in 1..=6 {
            let power = 2 * count;
            let sum: f64 = gauss_legendre(count).iter().map(|p| p.weight * p.at.powi(power as i32)).sum();
            let ratio: f64 = (1..=count).map(|k| k as f64 / (count + k) as f64).product();
            let expected = ratio * ratio / (power + 1) as f64;
            let error = 1.0 / (power + 1) as f64 - sum;
            assert!((error - expected).abs() < 1e-15, "{count} points: {error:e}, not {expected:e}");
        }
    }
}
