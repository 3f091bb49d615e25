//! Positive floats with an unlimited exponent: for products of many rare probabilities that are too small for `f64`.
//!
//! A number is `mantissa * 2^exponent` with a mantissa in [1, 2), or zero. A product, a sum and the conversion from a
//! fraction each have a relative error of at most one unit of rounding ([`UNIT`](super::error_bound::UNIT)), as those
//! of `f64` do between its smallest and largest numbers.

use super::value_sweep::Positive;
use dashu_base::BitTest;
use dashu_int::UBig;
use dashu_ratio::RBig;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WideFloat {
    mantissa: f64,
    exponent: i64,
}

impl WideFloat {
    /// From a mantissa in [1, 4).
    fn normal(mantissa: f64, exponent: i64) -> Self {
        match mantissa < 2.0 {
            true => WideFloat { mantissa, exponent },
            false => WideFloat { mantissa: mantissa / 2.0, exponent: exponent + 1 },
        }
    }

    /// The power of two at or below the number.
    pub(super) fn exponent(self) -> i64 {
        self.exponent
    }

    /// The fraction, which must not be negative, rounded.
    pub(super) fn from_fraction(fraction: &RBig) -> Self {
        let numerator: UBig = fraction.numerator().clone().try_into().expect("probabilities are not negative");
        if numerator == UBig::ZERO {
            return Self::ZERO;
        }
        // The quotient gets 64 or 65 bits; what is cut off matters only if the rest is midway between two floats.
        let shift = 64 + fraction.denominator().bit_len() as i64 - numerator.bit_len() as i64;
        let [over, under] = [shift.max(0), (-shift).max(0)].map(|bits| bits as usize);
        let (above, below) = (numerator << over, fraction.denominator() << under);
        let quotient = &above / &below;
        // A sticky bit says whether something was cut off, so that the whole is rounded correctly.
        let exact = &quotient * &below == above;
        let bits = (u128::try_from(quotient).expect("65 bits") << 1) | u128::from(!exact);
        let (mantissa, scale) = (bits as f64, 127 - i64::from(bits.leading_zeros()));
        Self::normal(mantissa / (2.0f64).powi(scale as i32), scale - 1 - shift)
    }
}

impl Positive for WideFloat {
    const ZERO: Self = WideFloat { mantissa: 0.0, exponent: 0 };
    const ONE: Self = WideFloat { mantissa: 1.0, exponent: 0 };

    fn times(self, other: Self) -> Self {
        match self.is_zero() || other.is_zero() {
            true => Self::ZERO,
            false => Self::normal(self.mantissa * other.mantissa, self.exponent + other.exponent),
        }
    }

    fn plus(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other } else { self };
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        match large.exponent - small.exponent {
            // Too small to affect the other's 53 bits.
            100.. => large,
            behind => Self::normal(large.mantissa + small.mantissa / (2.0f64).powi(behind as i32), large.exponent),
        }
    }

    fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    fn over(self, other: Self) -> f64 {
        match (self.mantissa / other.mantissa, self.exponent - other.exponent) {
            // Taken as zero: less than 1e-300.
            (0.0, _) | (_, ..-1000) => 0.0,
            (quotient, exponent) => quotient * (2.0f64).powi(exponent as i32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    fn to_fraction(number: WideFloat) -> RBig {
        let power = RBig::from(UBig::ONE << number.exponent.unsigned_abs() as usize);
        let mantissa = RBig::try_from(number.mantissa).unwrap();
        if number.exponent < 0 { mantissa / power } else { mantissa * power }
    }

    fn assert_rounded(found: WideFloat, exact: &RBig) {
        let error = (to_fraction(found) - exact) / exact;
        assert!(error.to_f64().value().abs() <= super::super::error_bound::UNIT, "{found:?} is not {exact}");
        assert!((1.0..2.0).contains(&found.mantissa));
    }

    /// A fraction of the order of 2^exponent, with odd digits.
    fn random_fraction(random: &mut Seeded) -> RBig {
        let digits =
            |random: &mut Seeded| UBig::from(1 + random.below(1 << 40)) * UBig::from(1 + random.below(1 << 40));
        let fraction = RBig::from_parts(digits(random).into(), digits(random));
        let power = RBig::from(UBig::ONE << random.below(3000));
        if random.below(4) == 0 { fraction * power } else { fraction / power }
    }

    #[test]
    fn every_operation_rounds_once() {
        let mut random = Seeded::new(11, 0);
        for _ in 0..2000 {
            let [a, b] = [0, 1].map(|_| random_fraction(&mut random));
            let [x, y] = [&a, &b].map(WideFloat::from_fraction);
            assert_rounded(x, &a);
            let [a, b] = [x, y].map(to_fraction);
            assert_rounded(x.times(y), &(&a * &b));
            assert_rounded(x.plus(y), &(&a + &b));
            // Of the same order, so that the digits of both count.
            let near = WideFloat { exponent: x.exponent - random.below(60) as i64, ..y };
            assert_rounded(x.plus(near), &(&a + to_fraction(near)));
            let quotient = near.over(x);
            let exact = to_fraction(near) / &a;
            let error = (RBig::try_from(quotient).unwrap() / exact - RBig::ONE).to_f64().value();
            assert!(error.abs() <= super::super::error_bound::UNIT);
        }
        let tie = RBig::from((UBig::ONE << 53) + UBig::ONE);
        assert_eq!(to_fraction(WideFloat::from_fraction(&tie)), RBig::from(UBig::ONE << 53));
        assert_eq!(WideFloat::from_fraction(&RBig::ZERO), WideFloat::ZERO);
        assert_eq!(WideFloat::from_fraction(&RBig::ONE), WideFloat::ONE);
        let two = WideFloat::ONE.plus(WideFloat::ONE);
        assert_eq!((two.over(WideFloat::ONE), WideFloat::ZERO.over(two)), (2.0, 0.0));
        assert_eq!(two.times(WideFloat::ZERO), WideFloat::ZERO);
        assert_eq!(two.plus(WideFloat::ZERO), two);
    }
}
