//! Coefficient vectors of the open-box algorithm, over two kinds of numbers.
//!
//! In floats, several sweeps share the lanes of one number: their vectors are computed by the same steps on the same
//! circuit, and the compiler turns a loop over lanes into vector instructions. In fractions, a number is an integer
//! over the common denominator of all vectors of a node.

use dashu_int::IBig;

/// How many sweeps the float engine makes at once.
pub(super) const LANES: usize = 8;

/// The numbers in coefficient vectors.
pub(super) trait Coefficient: Clone {
    /// Zero.
    fn zero() -> Self;
    /// The sum.
    fn plus(&self, other: &Self) -> Self;
    /// The product.
    fn times(&self, other: &Self) -> Self;
    /// Adds the product of two others.
    fn add_product(&mut self, one: &Self, other: &Self);
}

/// The same coefficient in eight sweeps.
#[derive(Clone, Copy)]
pub(super) struct Lanes(pub(super) [f64; LANES]);

impl Coefficient for Lanes {
    fn zero() -> Self {
        Lanes([0.0; LANES])
    }

    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        Lanes(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }

    #[inline(always)]
    fn times(&self, other: &Self) -> Self {
        Lanes(std::array::from_fn(|lane| self.0[lane] * other.0[lane]))
    }

    #[inline(always)]
    fn add_product(&mut self, one: &Self, other: &Self) {
        for lane in 0..LANES {
            self.0[lane] += one.0[lane] * other.0[lane];
        }
    }
}

/// Exact coefficients.
pub(super) trait Integer: Coefficient {
    /// The number, which must fit.
    fn from_big(number: &IBig) -> Self;
    /// The number.
    fn to_big(&self) -> IBig;
}

impl Coefficient for IBig {
    fn zero() -> Self {
        IBig::ZERO
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn add_product(&mut self, one: &Self, other: &Self) {
        *self += one * other;
    }
}

impl Integer for IBig {
    fn from_big(number: &IBig) -> Self {
        number.clone()
    }

    fn to_big(&self) -> IBig {
        self.clone()
    }
}

/// Machine integers with wrapping arithmetic, which never overflows on a deterministic circuit: the caller knows that
/// the numbers fit.
macro_rules! machine_integer {
    ($type:ty) => {
        impl Coefficient for $type {
            fn zero() -> Self {
                0
            }

            #[inline(always)]
            fn plus(&self, other: &Self) -> Self {
                self.wrapping_add(*other)
            }

            #[inline(always)]
            fn times(&self, other: &Self) -> Self {
                self.wrapping_mul(*other)
            }

            #[inline(always)]
            fn add_product(&mut self, one: &Self, other: &Self) {
                *self = self.wrapping_add(one.wrapping_mul(*other));
            }
        }

        impl Integer for $type {
            fn from_big(number: &IBig) -> Self {
                number.try_into().expect("the bound on the bits holds for every probability")
            }

            fn to_big(&self) -> IBig {
                (*self).into()
            }
        }
    };
}

machine_integer!(i64);
machine_integer!(i128);

/// The vector of an or-gate: its children are exclusive, so their expectations add up.
pub(super) fn add<T: Coefficient>(one: &[T], other: &[T], sum: &mut Vec<T>) {
    sum.clear();
    sum.extend(one.iter().zip(other).map(|(a, b)| a.plus(b)));
}

/// The vector of an and-gate: its children are independent, so it is the product of their polynomials.
pub(super) fn multiply<T: Coefficient>(one: &[T], other: &[T], product: &mut Vec<T>) {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    product.clear();
    match short {
        // Most and-gates have a literal or a tautology on one side.
        [a] => product.extend(long.iter().map(|b| a.times(b))),
        [a, b] => {
            product.push(a.times(&long[0]));
            product.extend(long.windows(2).map(|pair| {
                let mut sum = b.times(&pair[0]);
                sum.add_product(a, &pair[1]);
                sum
            }));
            product.push(b.times(&long[long.len() - 1]));
        }
        _ => {
            for degree in 0..short.len() + long.len() - 1 {
                let first = (degree + 1).saturating_sub(long.len());
                let last = degree.min(short.len() - 1);
                let mut sum = T::zero();
                // The partners of short[first..=last] are long[degree - first], ..., long[degree - last].
                let partners = long[degree - last..=degree - first].iter().rev();
                for (a, b) in short[first..=last].iter().zip(partners) {
                    sum.add_product(a, b);
                }
                product.push(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_multiply_and_add() {
        let big = |numbers: &[i32]| -> Vec<IBig> { numbers.iter().map(|&number| number.into()).collect() };
        let mut out = big(&[9, 9, 9, 9]);
        for (one, other, expected) in [
            (&[1, 2, 3][..], &[4, -5][..], &[4, 3, 2, -15][..]),
            (&[7], &[-1], &[-7]),
            (&[3], &[1, -2, 5], &[3, -6, 15]),
            (&[1, 1], &[1, 1], &[1, 2, 1]),
            (&[1, 2, 3], &[1, 10, 100, 1000], &[1, 12, 123, 1230, 2300, 3000]),
        ] {
            multiply(&big(one), &big(other), &mut out);
            assert_eq!(out, big(expected));
            multiply(&big(other), &big(one), &mut out);
            assert_eq!(out, big(expected));
        }
        add(&big(&[1, 2]), &big(&[3, -4]), &mut out);
        assert_eq!(out, big(&[4, -2]));
        let lanes = |number: f64| Lanes(std::array::from_fn(|lane| number + lane as f64));
        let mut out = Vec::new();
        multiply(&[lanes(1.0), lanes(2.0)], &[lanes(3.0), lanes(4.0)], &mut out);
        // (1 + 2z)(3 + 4z) in lane 0 and (2 + 3z)(4 + 5z) in lane 1.
        assert_eq!(out.iter().map(|c| c.0[0]).collect::<Vec<_>>(), [3.0, 10.0, 8.0]);
        assert_eq!(out.iter().map(|c| c.0[1]).collect::<Vec<_>>(), [8.0, 22.0, 15.0]);
    }
}
