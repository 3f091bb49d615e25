//! Model counts, plain and weighted, exact and in floats; the circuit need not be smooth.
//!
//! A node's count is over ALL variables of the circuit, so an or-gate adds its children whatever they mention. The
//! children of an and-gate share no variables, and each leaves the variables of the others free: the count is the
//! product of their counts, each except the first divided by 2^n; the divisions are exact. The count of a decision is
//! half the sum of its children's, neither of which mentions its variable. With weights w and 1 - w, a variable that a
//! branch does not mention contributes the factor 1, so the same holds for weighted counts. Cost: one sweep with
//! numbers of n bits.

use super::{Circuit, CircuitError, Node, NodeId};
use dashu_int::UBig;
use dashu_ratio::RBig;

impl Circuit {
    /// The number of assignments to all variables that make the circuit true.
    pub fn model_count(&self) -> UBig {
        // Leaves one bit for the sum of two counts.
        if self.variables() < 63 { self.count_in_words().into() } else { self.count_in_big_numbers() }
    }

    fn count_in_words(&self) -> u64 {
        let variables = self.variables();
        let all = 1u64 << variables;
        let mut counts: Vec<u64> = Vec::with_capacity(self.root().index() + 1);
        for (_, node) in self.nodes().take(self.root().index() + 1) {
            let count = |id: &NodeId| counts[id.index()];
            let here = match node {
                Node::Constant(value) => {
                    if value {
                        all
                    } else {
                        0
                    }
                }
                Node::Literal(_) => all / 2,
                Node::Decision { lo, hi, .. } => (count(&lo) + count(&hi)) / 2,
                Node::And(children) => children
                    .iter()
                    .map(count)
                    .fold(all, |product, count| ((u128::from(product) * u128::from(count)) >> variables) as u64),
                // Wrapping, because unreachable nodes need not be deterministic.
                Node::Or(children) => children.iter().map(count).fold(0, u64::wrapping_add),
            };
            counts.push(here);
        }
        counts[self.root().index()]
    }

    fn count_in_big_numbers(&self) -> UBig {
        let variables = self.variables();
        let all = UBig::ONE << variables;
        self.sweep(|node, counts: &[UBig]| match node {
            Node::Constant(true) => all.clone(),
            Node::Constant(false) => UBig::ZERO,
            Node::Literal(_) => &all >> 1,
            Node::Decision { lo, hi, .. } => (&counts[lo.index()] + &counts[hi.index()]) >> 1,
            Node::And(children) => {
                children.iter().fold(all.clone(), |product, child| (product * &counts[child.index()]) >> variables)
            }
            Node::Or(children) => children.iter().fold(UBig::ZERO, |sum, child| sum + &counts[child.index()]),
        })
    }

    /// The probability that the circuit is true if each variable `v` is independently true with probability
    /// `weights[v]`. Weights outside [0, 1] are allowed: the count is a polynomial in them.
    pub fn weighted_count(&self, weights: &[f64]) -> Result<f64, CircuitError> {
        self.check_weights(weights.len())?;
        Ok(self.sweep(|node, values: &[f64]| match node {
            Node::Constant(value) => f64::from(u8::from(value)),
            Node::Literal(lit) if lit.is_negative() => 1.0 - weights[lit.var().index()],
            Node::Literal(lit) => weights[lit.var().index()],
            Node::Decision { var, lo, hi } => {
                let (lo, hi) = (values[lo.index()], values[hi.index()]);
                lo + weights[var.index()] * (hi - lo)
            }
            Node::And(children) => children.iter().map(|child| values[child.index()]).product(),
            Node::Or(children) => children.iter().map(|child| values[child.index()]).sum(),
        }))
    }

    /// [`Circuit::weighted_count`] as a fraction.
    pub fn weighted_count_exact(&self, weights: &[RBig]) -> Result<RBig, CircuitError> {
        self.check_weights(weights.len())?;
        Ok(self.sweep(|node, values: &[RBig]| match node {
            Node::Constant(value) => RBig::from(u8::from(value)),
            Node::Literal(lit) if lit.is_negative() => RBig::ONE - &weights[lit.var().index()],
            Node::Literal(lit) => weights[lit.var().index()].clone(),
            Node::Decision { var, lo, hi } => {
                let (lo, hi) = (&values[lo.index()], &values[hi.index()]);
                lo + &weights[var.index()] * (hi - lo)
            }
            Node::And(children) => children.iter().fold(RBig::ONE, |product, child| product * &values[child.index()]),
            Node::Or(children) => children.iter().fold(RBig::ZERO, |sum, child| sum + &values[child.index()]),
        }))
    }

    fn check_weights(&self, found: usize) -> Result<(), CircuitError> {
        match self.variables() {
            expected if expected == found => Ok(()),
            expected => Err(CircuitError::WrongLength { expected, found }),
        }
    }

    /// Computes a value for every reachable node from its children's values, and returns the root's. A value is dropped
    /// after its last use, to limit how many big numbers are alive.
    pub(super) fn sweep<T: Clone + Default>(&self, mut value_of: impl FnMut(Node<'_>, &[T]) -> T) -> T {
        let mut uses = self.uses();
        let mut values = vec![T::default(); self.root().index() + 1];
        for (id, node) in self.nodes().take(self.root().index() + 1) {
            if uses[id.index()] == 0 {
                continue;
            }
            values[id.index()] = value_of(node, &values);
            for child in node.children() {
                let left = &mut uses[child.index()];
                // For a capped number of uses the last use is unknown.
                if *left != u32::MAX {
                    *left -= 1;
                    if *left == 0 {
                        values[child.index()] = T::default();
                    }
                }
            }
        }
        std::mem::take(&mut values[self.root().index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::{random_circuit, table_bit, widened};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_agree_with_the_truth_table((circuit, table) in random_circuit(7), seed in any::<u64>()) {
            let models: u32 = table.iter().map(|word| word.count_ones()).sum();
            prop_assert_eq!(circuit.model_count(), UBig::from(models));
            // The same nodes among 100 variables: takes the other path, and every unused variable doubles the count.
            let wide = widened(&circuit, 100);
            prop_assert_eq!(wide.model_count(), UBig::from(models) << (100 - circuit.variables()));

            let variables = circuit.variables();
            let weights: Vec<RBig> =
                (0..variables).map(|v| RBig::from_parts((seed >> (8 * v) & 255).into(), 255u8.into())).collect();
            let mut expected = RBig::ZERO;
            for index in (0..1usize << variables).filter(|&index| table_bit(&table, index)) {
                let factor = |v: usize| if index >> v & 1 == 1 { weights[v].clone() } else { RBig::ONE - &weights[v] };
                expected += (0..variables).fold(RBig::ONE, |product, v| product * factor(v));
            }
            prop_assert_eq!(&circuit.weighted_count_exact(&weights).unwrap(), &expected);
            let floats: Vec<f64> = weights.iter().map(|weight| weight.to_f64().value()).collect();
            let difference = circuit.weighted_count(&floats).unwrap() - expected.to_f64().value();
            prop_assert!(difference.abs() < 1e-14);
        }
    }
}
