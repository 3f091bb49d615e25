//! Decision nodes as gates: `if v then hi else lo` becomes `(v and hi) or (not v and lo)`.
//!
//! A false branch is left out, a true branch leaves only the literal, and a decision with two false branches is false.
//! `if v then true else true` becomes `v or not v`, which is how a smooth diagram mentions a variable that does not
//! matter. Gates are unchanged. Cost: one sweep; at most three gates per decision.

use super::{Circuit, CircuitBuilder, CircuitError, Node};

/// The same circuit without decision nodes and without unreachable nodes.
pub fn expand_decisions(circuit: &Circuit) -> Result<Circuit, CircuitError> {
    let uses = circuit.uses();
    let mut builder = CircuitBuilder::new(circuit.variables())?;
    let mut expanded = vec![circuit.root(); circuit.stored_nodes()];
    let mut children = Vec::new();
    for (id, node) in circuit.nodes().filter(|(id, _)| uses[id.index()] > 0) {
        children.clear();
        children.extend(node.children().map(|child| expanded[child.index()]));
        expanded[id.index()] = match node {
            Node::Constant(value) => builder.constant(value)?,
            Node::Literal(lit) => builder.literal(lit)?,
            Node::Decision { var, .. } => {
                let (yes, no) = (builder.literal(var.positive())?, builder.literal(var.negative())?);
                let hi = builder.conjoin(&[yes, children[1]])?;
                let lo = builder.conjoin(&[no, children[0]])?;
                builder.disjoin(&[hi, lo])?
            }
            Node::And(_) => builder.and(&children)?,
            Node::Or(_) => builder.or(&children)?,
        };
    }
    builder.finish(expanded[circuit.root().index()])?.compacted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::random_circuit;
    use crate::lit::Var;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_function_is_kept_and_decisions_are_gone((circuit, table) in random_circuit(7)) {
            let expanded = expand_decisions(&circuit).unwrap();
            prop_assert_eq!(expanded.truth_table().unwrap(), table);
            let decisions = expanded.nodes().filter(|(_, node)| matches!(node, Node::Decision { .. })).count();
            prop_assert_eq!(decisions, 0);
        }
    }

    #[test]
    fn decisions_on_constants() {
        for (lo, hi, nodes) in [(false, false, 1), (false, true, 1), (true, false, 1), (true, true, 3)] {
            let mut builder = CircuitBuilder::new(1).unwrap();
            let [lo_node, hi_node] = [lo, hi].map(|value| builder.constant(value).unwrap());
            let root = builder.decision(Var::new(0), lo_node, hi_node).unwrap();
            let expanded = expand_decisions(&builder.finish(root).unwrap()).unwrap();
            assert_eq!(expanded.truth_table().unwrap(), [u64::from(lo) | u64::from(hi) << 1]);
            assert_eq!(expanded.counts().nodes, nodes);
        }
    }
}
