//! The integral from 0 to 1 of a polynomial, from its values at 0, 1, 2, ...: Lagrange's polynomials, integrated exactly.

use super::numerators::least_common;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The weights of the values at 0, 1, ... in the integral from 0 to 1, over a common denominator.
pub(super) struct Rule {
    pub(super) weights: Vec<IBig>,
    pub(super) denominator: UBig,
}

impl Rule {
    /// The rule for k (1-t)^(k-1) times a polynomial, whose degree must be lower by k - 1.
    pub(super) fn towards_the_start(&self, k: usize) -> Self {
        let factor = |t: usize| IBig::from(k) * (IBig::ONE - IBig::from(t)).pow(k - 1);
        let weights = self.weights.iter().enumerate().map(|(t, weight)| weight * factor(t)).collect();
        Rule { weights, denominator: self.denominator.clone() }
    }

    /// For the values at 0, ..., count - 1: the integrals from 0 to 1 of Lagrange's polynomials.
    pub(super) fn new(count: usize) -> Self {
        // The coefficients of t (t-1) ... (t-count+1), that of t^0 first.
        let mut product = vec![IBig::ONE];
        for root in 0..count {
            let mut next = vec![IBig::ZERO; product.len() + 1];
            for (power, coefficient) in product.iter().enumerate() {
                next[power + 1] += coefficient;
                next[power] -= coefficient * IBig::from(root);
            }
            product = next;
        }
        let weights: Vec<RBig> = (0..count)
            .map(|point| {
                // Divides by the factor (t - point), by synthetic division from the top.
                let (mut integral, mut quotient) = (RBig::ZERO, IBig::ZERO);
                for power in (1..=count).rev() {
                    quotient = &product[power] + quotient * IBig::from(point);
                    integral += RBig::from_parts(quotient.clone(), power.into());
                }
                let others = (0..count).filter(|&other| other != point);
                let scale = others.fold(IBig::ONE, |scale, other| scale * (IBig::from(point) - IBig::from(other)));
                integral / RBig::from(scale)
            })
            .collect();
        let denominator = weights.iter().fold(UBig::ONE, |common, weight| least_common(&common, weight.denominator()));
        let whole = |weight: &RBig| (weight * RBig::from(denominator.clone())).numerator().clone();
        Rule { weights: weights.iter().map(whole).collect(), denominator }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_integrate_all_powers_that_they_should() {
        for count in 1..=30usize {
            let rule = Rule::new(count);
            for power in 0..count {
                let terms =
                    rule.weights.iter().enumerate().map(|(point, weight)| weight * IBig::from(point).pow(power));
                let sum = terms.fold(IBig::ZERO, |sum, term| sum + term);
                assert_eq!(
                    RBig::from_parts(sum, rule.denominator.clone()),
                    RBig::from_parts(1.into(), (power + 1).into())
                );
            }
        }
    }
}
