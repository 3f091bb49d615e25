//! Factorials and expressions of them, as floats with unlimited exponents, each rounded once.
//!
//! The n! of hundreds of features exceeds every float, while quotients of such numbers are probabilities. A [`Wide`]
//! number is a float near 1 and a power of two, so that each product or quotient loses only one rounding.

use dashu_base::BitTest;
use dashu_int::UBig;

/// `mantissa * 2^exponent`, for a few multiplications only: the mantissa is not normalised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    mantissa: f64,
    exponent: i64,
}

impl Wide {
    /// The number nearest to a positive whole number over a power of two.
    pub(super) fn of(number: &UBig, halvings: usize) -> Self {
        let bits = number.bit_len();
        if bits == 0 {
            return Wide { mantissa: 0.0, exponent: 0 };
        }
        // 64 bits are more than a float has, so cutting off the rest adds no significant second rounding.
        let shift = bits.saturating_sub(64);
        let top = u64::try_from(number >> shift).expect("64 bits");
        let mantissa = top as f64 * power(-(bits.min(64) as i64 - 1));
        Wide { mantissa, exponent: bits as i64 - 1 - halvings as i64 }
    }

    pub(super) fn times(self, other: Wide) -> Self {
        Wide { mantissa: self.mantissa * other.mantissa, exponent: self.exponent + other.exponent }
    }

    /// Its mantissa and its exponent, which is clamped to a safe range.
    pub(super) fn split(self) -> (f64, i32) {
        (self.mantissa, self.exponent.clamp(i64::from(i32::MIN) / 8, i64::from(i32::MAX) / 8) as i32)
    }

    /// As a float; numbers too small for one become 0.
    pub(super) fn float(self) -> f64 {
        match self.exponent {
            -1000..=1000 => self.mantissa * power(self.exponent),
            ..-1000 => 0.0,
            _ => f64::INFINITY,
        }
    }
}

/// 2 to a power in the range of floats.
fn power(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The factorials up to some number.
pub(super) struct Factorials {
    factorials: Vec<Wide>,
    inverses: Vec<f64>,
}

impl Factorials {
    pub(super) fn up_to(most: usize) -> Self {
        let mut product = UBig::ONE;
        let factorials: Vec<Wide> = (0..=most)
            .map(|k| {
                product *= UBig::from(k.max(1));
                Wide::of(&product, 0)
            })
            .collect();
        let inverses = factorials.iter().map(|number| 1.0 / number.mantissa).collect();
        Factorials { factorials, inverses }
    }

    pub(super) fn factorial(&self, n: usize) -> Wide {
        self.factorials[n]
    }

    /// One over a factorial.
    pub(super) fn over(&self, n: usize) -> Wide {
        Wide { mantissa: self.inverses[n], exponent: -self.factorials[n].exponent }
    }

    /// The binomial coefficient: n choose k.
    #[inline]
    pub(super) fn choose(&self, n: usize, k: usize) -> Wide {
        let [all, one, other] = [n, k, n - k].map(|m| self.factorials[m]);
        Wide {
            mantissa: all.mantissa * (self.inverses[k] * self.inverses[n - k]),
            exponent: all.exponent - one.exponent - other.exponent,
        }
    }

    /// One over the binomial coefficient.
    #[inline]
    pub(super) fn over_choose(&self, n: usize, k: usize) -> Wide {
        let [all, one, other] = [n, k, n - k].map(|m| self.factorials[m]);
        Wide {
            mantissa: self.inverses[n] * (one.mantissa * other.mantissa),
            exponent: one.exponent + other.exponent - all.exponent,
        }
    }
}
