//! The value of a circuit: for one assignment, for 64 at once, and for all of them.
//!
//! Each variable has a word with its values in 64 assignments, and a gate takes one machine operation for all of them.
//! A truth table numbers the assignments so that variable `v` is bit `v` of the number: the words of the first six
//! variables are then constants, and those of the others are all ones or all zeros.

use super::{Circuit, CircuitError, Node, NodeId};
use crate::lit::LOW_VARIABLES;

/// Evaluates one circuit many times, 64 assignments at once.
///
/// ```
/// # use boolshap::circuit::{CircuitBuilder, CircuitEvaluator};
/// # use boolshap::lit::Var;
/// # let mut builder = CircuitBuilder::new(2)?;
/// # let x = builder.literal(Var::new(0).positive())?;
/// # let y = builder.literal(Var::new(1).positive())?;
/// # let root = builder.and(&[x, y])?;
/// # let x_and_y = builder.finish(root)?;
/// let mut evaluator = CircuitEvaluator::new(&x_and_y);
/// assert_eq!(evaluator.words(&[0b1010, 0b1100])?, 0b1000);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub struct CircuitEvaluator<'c> {
    circuit: &'c Circuit,
    order: Vec<NodeId>,
    values: Vec<u64>,
}

impl<'c> CircuitEvaluator<'c> {
    /// An evaluator of this circuit.
    pub fn new(circuit: &'c Circuit) -> Self {
        CircuitEvaluator { circuit, order: circuit.reachable(), values: vec![0; circuit.stored_nodes()] }
    }

    /// The circuit's value for 64 assignments: bit `k` of each word belongs to assignment `k`.
    pub fn words(&mut self, inputs: &[u64]) -> Result<u64, CircuitError> {
        check_length(self.circuit, inputs.len())?;
        for &id in &self.order {
            let values = &self.values;
            let value = |id: &NodeId| values[id.index()];
            self.values[id.index()] = match self.circuit.node(id) {
                Node::Constant(value) => u64::from(value).wrapping_neg(),
                Node::Literal(lit) => inputs[lit.var().index()] ^ u64::from(lit.is_negative()).wrapping_neg(),
                Node::Decision { var, lo, hi } => {
                    let (choice, lo, hi) = (inputs[var.index()], value(&lo), value(&hi));
                    lo ^ (choice & (lo ^ hi))
                }
                Node::And(children) => children.iter().map(value).fold(!0, |all, child| all & child),
                Node::Or(children) => children.iter().map(value).fold(0, |any, child| any | child),
            };
        }
        Ok(self.values[self.circuit.root().index()])
    }
}

impl Circuit {
    /// The most variables of a [truth table](Circuit::truth_table): it then takes 128 megabytes.
    pub const TABLE_VARIABLES: usize = 30;

    /// The circuit's value for one assignment, from the root down, evaluating only what is needed: a decision follows
    /// one branch, an and-gate stops at its first false child and an or-gate at its first true one, and leaves are
    /// tested first. No node is evaluated twice.
    pub fn evaluate(&self, assignment: &[bool]) -> Result<bool, CircuitError> {
        check_length(self, assignment.len())?;
        let at_once = |id: NodeId| match self.node(id) {
            Node::Constant(value) => Some(value),
            Node::Literal(lit) => Some(lit.holds(assignment[lit.var().index()])),
            _ => None,
        };
        let mut top = self.root();
        while let Node::Decision { var, lo, hi } = self.node(top) {
            top = if assignment[var.index()] { hi } else { lo };
        }
        if let Some(value) = at_once(top) {
            return Ok(value);
        }
        let mut known: Vec<Option<bool>> = vec![None; top.index() + 1];
        // Nodes being evaluated, each for the entry before it, with the number of children already evaluated.
        let mut wanted = vec![(top, 0)];
        while let Some(frame) = wanted.last_mut() {
            let (id, done) = *frame;
            let value = |child: &NodeId| known[child.index()].or_else(|| at_once(*child));
            // The children, and the value of a child that decides the gate.
            let (children, settles) = match self.node(id) {
                Node::Decision { var, lo, hi } => {
                    let branch = if assignment[var.index()] { hi } else { lo };
                    match value(&branch) {
                        Some(value) => {
                            known[id.index()] = Some(value);
                            wanted.pop();
                        }
                        None => wanted.push((branch, 0)),
                    }
                    continue;
                }
                Node::And(children) => (children, false),
                Node::Or(children) => (children, true),
                Node::Constant(_) | Node::Literal(_) => unreachable!("leaves are never pushed"),
            };
            let settled = done == 0 && children.iter().any(|child| at_once(*child) == Some(settles));
            let open = children[done..].iter().position(|child| value(child) != Some(!settles));
            match open.map(|place| (done + place, value(&children[done + place]))) {
                Some((place, None)) if !settled => {
                    // When this frame continues, the child's value is known and is read again.
                    frame.1 = place;
                    wanted.push((children[place], 0));
                }
                open => {
                    let any = settled || open.is_some();
                    known[id.index()] = Some(if any { settles } else { !settles });
                    wanted.pop();
                }
            }
        }
        Ok(known[top.index()] == Some(true))
    }

    /// The values of all assignments: assignment number `i`, in which variable `v` is bit `v` of `i`, is bit `i % 64`
    /// of word `i / 64`; bits past the last assignment are 0.
    pub fn truth_table(&self) -> Result<Vec<u64>, CircuitError> {
        let variables = self.variables();
        if variables > Self::TABLE_VARIABLES {
            return Err(CircuitError::TableTooLarge { variables, limit: Self::TABLE_VARIABLES });
        }
        let mut evaluator = CircuitEvaluator::new(self);
        let mut inputs: Vec<u64> = LOW_VARIABLES.into_iter().chain(std::iter::repeat(0)).take(variables).collect();
        let used = if variables < 6 { (1u64 << (1 << variables)) - 1 } else { !0 };
        let mut table = Vec::with_capacity(1 << variables.saturating_sub(6));
        for word in 0..1usize << variables.saturating_sub(6) {
            for (bit, input) in inputs.iter_mut().skip(6).enumerate() {
                *input = (word as u64 >> bit & 1).wrapping_neg();
            }
            table.push(evaluator.words(&inputs)? & used);
        }
        Ok(table)
    }
}

fn check_length(circuit: &Circuit, found: usize) -> Result<(), CircuitError> {
    match circuit.variables() {
        expected if expected == found => Ok(()),
        expected => Err(CircuitError::WrongLength { expected, found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::{assignment, random_circuit, table_bit};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_at_a_time_agrees_with_all_at_once((circuit, table) in random_circuit(8)) {
            let words = circuit.truth_table().unwrap();
            for index in 0..1usize << circuit.variables() {
                let expected = table_bit(&table, index);
                prop_assert_eq!(table_bit(&words, index), expected);
                prop_assert_eq!(circuit.evaluate(&assignment(circuit.variables(), index)).unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_wrong_number_of_values_is_an_error() {
        let circuit = crate::circuit::samples::from_table(3, &[0b1010_0110]);
        let error = circuit.evaluate(&[true, false]).unwrap_err();
        assert_eq!(error.to_string(), "2 values were given, but the circuit has 3 variables");
        assert!(CircuitEvaluator::new(&circuit).words(&[0; 4]).is_err());
    }
}
