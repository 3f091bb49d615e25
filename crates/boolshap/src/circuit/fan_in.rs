//! Fan-in 2: every gate with m children becomes a chain of m - 1 gates with two.
//!
//! First half of Algorithm 1 of Bertossi and León, "Efficient Computation of Shap Explanation Scores for Neural Network
//! Classifiers via Knowledge Compilation", after Arenas, Barceló, Bertossi and Monet, "On the Complexity of SHAP-Score-
//! Based Explanations: Tractability via Knowledge Compilation and Non-Approximability Results" (2023), section 3.1.2.
//! The children are folded from the left in their order. Constants are simplified, so that at most the root is a
//! constant. The paper recurses into a tree; here a shared node is rewritten once, so the cost is linear in the number
//! of edges.

use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};

/// The same circuit with at most two children per gate, decision nodes expanded and constants simplified. `v or not v`
/// is kept, so a smooth circuit stays smooth.
pub fn fan_in_two(circuit: &Circuit) -> Result<Circuit, CircuitError> {
    fold_gates(circuit, Complements::Keep)
}

/// What to do if a gate has a literal and its complement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Complements {
    /// Keep both.
    Keep,
    /// Replace `l or not l` by true and `l and not l` by false, as Algorithm 1 does.
    Merge,
}

pub(super) fn fold_gates(circuit: &Circuit, complements: Complements) -> Result<Circuit, CircuitError> {
    let uses = circuit.uses();
    let mut folder = Folder { builder: CircuitBuilder::new(circuit.variables())?, complements };
    let mut folded = vec![circuit.root(); circuit.stored_nodes()];
    let mut children = Vec::new();
    for (id, node) in circuit.nodes().filter(|(id, _)| uses[id.index()] > 0) {
        children.clear();
        children.extend(node.children().map(|child| folded[child.index()]));
        folded[id.index()] = match node {
            Node::Constant(value) => folder.builder.constant(value)?,
            Node::Literal(lit) => folder.builder.literal(lit)?,
            Node::Decision { var, .. } => {
                let yes = folder.builder.literal(var.positive())?;
                let no = folder.builder.literal(var.negative())?;
                let hi = folder.fold(&[yes, children[1]], Gate::And)?;
                let lo = folder.fold(&[no, children[0]], Gate::And)?;
                folder.fold(&[hi, lo], Gate::Or)?
            }
            Node::And(_) => folder.fold(&children, Gate::And)?,
            Node::Or(_) => folder.fold(&children, Gate::Or)?,
        };
    }
    folder.builder.finish(folded[circuit.root().index()])?.compacted()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    And,
    Or,
}

struct Folder {
    builder: CircuitBuilder,
    complements: Complements,
}

impl Folder {
    /// The loop body of FIX_NODE: `folded` is the paper's c_new; `None` means the gate's neutral constant.
    fn fold(&mut self, children: &[NodeId], gate: Gate) -> Result<NodeId, CircuitError> {
        let neutral = gate == Gate::And;
        let mut folded: Option<NodeId> = None;
        for &child in children {
            match self.builder.node(child) {
                Node::Constant(value) if value == neutral => continue,
                Node::Constant(value) => return self.builder.constant(value),
                _ => {}
            }
            folded = Some(match folded {
                None => child,
                Some(before) if self.complements == Complements::Merge && self.are_complements(before, child) => {
                    return self.builder.constant(!neutral);
                }
                Some(before) if gate == Gate::And => self.builder.and(&[before, child])?,
                Some(before) => self.builder.or(&[before, child])?,
            });
        }
        folded.map_or_else(|| self.builder.constant(neutral), Ok)
    }

    /// Without negation gates, only literals can be complements.
    fn are_complements(&self, one: NodeId, other: NodeId) -> bool {
        matches!((self.builder.node(one), self.builder.node(other)), (Node::Literal(a), Node::Literal(b)) if a == !b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::check;
    use crate::circuit::samples::random_circuit;
    use crate::lit::Var;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_function_is_kept_and_gates_have_two_children((circuit, table) in random_circuit(7)) {
            let narrow = fan_in_two(&circuit).unwrap();
            prop_assert_eq!(narrow.truth_table().unwrap(), table);
            prop_assert_eq!(check::fan_in(&narrow, 2), Ok(()));
            prop_assert_eq!(check::decomposability(&narrow), Ok(()));
            let constants = narrow.nodes().filter(|(_, node)| matches!(node, Node::Constant(_))).count();
            prop_assert!(constants == 0 || narrow.stored_nodes() == 1);
        }
    }

    #[test]
    fn children_are_folded_from_the_left() {
        let mut builder = CircuitBuilder::new(4).unwrap();
        let x: Vec<NodeId> = (0..4).map(|v| builder.literal(Var::new(v).positive()).unwrap()).collect();
        let root = builder.and(&[x[2], x[0], x[3], x[1]]).unwrap();
        let narrow = fan_in_two(&builder.finish(root).unwrap()).unwrap();
        let mut names = Vec::new();
        let mut at = narrow.root();
        while let Node::And(&[left, right]) = narrow.node(at) {
            names.push(narrow.node(right));
            at = left;
        }
        names.push(narrow.node(at));
        assert_eq!(names, [1, 3, 0, 2].map(|v| Node::Literal(Var::new(v).positive())));
    }

    #[test]
    fn complements_are_kept_or_merged() {
        let mut builder = CircuitBuilder::new(1).unwrap();
        let x = builder.literal(Var::new(0).positive()).unwrap();
        let not_x = builder.literal(Var::new(0).negative()).unwrap();
        let root = builder.or(&[x, not_x]).unwrap();
        let circuit = builder.finish(root).unwrap();
        assert_eq!(fan_in_two(&circuit).unwrap().counts().nodes, 3);
        let merged = fold_gates(&circuit, Complements::Merge).unwrap();
        assert_eq!(merged.node(merged.root()), Node::Constant(true));
    }
}
