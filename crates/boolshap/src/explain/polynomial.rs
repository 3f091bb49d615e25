//! Coefficient vectors of the open-box algorithm, over numbers of two kinds.
//!
//! In floats, eight entities ride in the lanes of one number: their vectors are made by the same steps on the same
//! circuit, and the compiler turns a loop over lanes into vector instructions. In fractions, a number is a big integer
//! over a denominator that all vectors of a node have in common.

use dashu::integer::IBig;

/// How many entities the float engine explains at once.
pub(super) const LANES: usize = 8;

/// What coefficients are made of.
pub(super) trait Coefficient: Clone {
    /// Nothing.
    fn zero() -> Self;
    /// The sum.
    fn plus(&self, other: &Self) -> Self;
    /// Adds the product of two others.
    fn add_product(&mut self, one: &Self, other: &Self);
}

/// The same coefficient for eight entities.
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
    fn add_product(&mut self, one: &Self, other: &Self) {
        for lane in 0..LANES {
            self.0[lane] += one.0[lane] * other.0[lane];
        }
    }
}

impl Coefficient for IBig {
    fn zero() -> Self {
        IBig::ZERO
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn add_product(&mut self, one: &Self, other: &Self) {
        *self += one * other;
    }
}

/// The vector of an or-gate: its children are exclusive, so their expectations add up.
pub(super) fn add<T: Coefficient>(one: &[T], other: &[T], sum: &mut Vec<T>) {
    sum.clear();
    sum.extend(one.iter().zip(other).map(|(a, b)| a.plus(b)));
}

/// The vector of an and-gate: its children are independent, so it is the product of their polynomials.
pub(super) fn multiply<T: Coefficient>(one: &[T], other: &[T], product: &mut Vec<T>) {
    product.clear();
    for degree in 0..one.len() + other.len() - 1 {
        let first = (degree + 1).saturating_sub(other.len());
        let last = degree.min(one.len() - 1);
        let mut sum = T::zero();
        // The partners of one[first..=last] are other[degree - first], ..., other[degree - last].
        for (a, b) in one[first..=last].iter().zip(other[degree - last..=degree - first].iter().rev()) {
            sum.add_product(a, b);
        }
        product.push(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_multiply_and_add() {
        let big = |numbers: &[i32]| -> Vec<IBig> { numbers.iter().map(|&number| number.into()).collect() };
        let mut out = big(&[9, 9, 9, 9]);
        multiply(&big(&[1, 2, 3]), &big(&[4, -5]), &mut out);
        assert_eq!(out, big(&[4, 3, 2, -15]));
        multiply(&big(&[4, -5]), &big(&[1, 2, 3]), &mut out);
        assert_eq!(out, big(&[4, 3, 2, -15]));
        multiply(&big(&[7]), &big(&[-1]), &mut out);
        assert_eq!(out, big(&[-7]));
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
