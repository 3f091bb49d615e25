//! Independent checks of a circuit's properties: decomposability, determinism, smoothness, fan-in.
//!
//! The checks share no code with the circuit builders and only read nodes, so that they also find mistakes in a
//! builder. Only reachable nodes are checked, and a violation names the node. A circuit from a file has to pass
//! [`soundness`].

use super::{Circuit, Node, NodeId};
use crate::lit::Var;

pub use super::determinism::{Determinism, Effort, determinism, nodes_below};
pub use super::soundness::soundness;

/// A violated property.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Two children of an and-gate, or a decision and its branch, share a variable.
    #[error("node {node} is not decomposable: variable {variable} occurs in more than one of its parts")]
    SharedVariable {
        /// The and-gate or decision node.
        node: NodeId,
        /// A shared variable.
        variable: Var,
    },
    /// Two children of an or-gate are true together.
    #[error("or-gate {node} is not deterministic: its children {} and {} are true together", .children.0, .children.1)]
    Overlap {
        /// The or-gate.
        node: NodeId,
        /// The two children.
        children: (NodeId, NodeId),
        /// An assignment of all variables that makes both true.
        witness: Vec<bool>,
    },
    /// Children of an or-gate, or branches of a decision that are not false, mention different variables.
    #[error("node {node} is not smooth: variable {variable} occurs in some of its children but not in child {child}")]
    MissingVariable {
        /// The or-gate or decision node.
        node: NodeId,
        /// The child that lacks a variable.
        child: NodeId,
        /// The variable it lacks.
        variable: Var,
    },
    /// A gate has more children than allowed.
    #[error("gate {node} has {children} children, more than {limit}")]
    TooWide {
        /// The gate.
        node: NodeId,
        /// How many children it has.
        children: usize,
        /// The most it may have.
        limit: usize,
    },
}

/// Checks that no two children of an and-gate share a variable, and that no branch of a decision mentions its variable.
pub fn decomposability(circuit: &Circuit) -> Result<(), Violation> {
    decomposable(circuit, &Below::of(circuit, &[circuit.root()]))
}

pub(super) fn decomposable(circuit: &Circuit, below: &Below) -> Result<(), Violation> {
    let mut seen = vec![0u64; below.stride];
    for node in below.reached() {
        seen.fill(0);
        let parts: &[NodeId] = match circuit.node(node) {
            Node::And(children) => children,
            Node::Decision { var, lo, hi } => {
                let mentions = |id| below.set(id)[var.index() / 64] >> (var.index() % 64) & 1 == 1;
                if mentions(lo) || mentions(hi) {
                    return Err(Violation::SharedVariable { node, variable: var });
                }
                continue;
            }
            _ => continue,
        };
        for &part in parts {
            for (index, (seen, &new)) in seen.iter_mut().zip(below.set(part)).enumerate() {
                if *seen & new != 0 {
                    return Err(Violation::SharedVariable { node, variable: lowest(index, *seen & new) });
                }
                *seen |= new;
            }
        }
    }
    Ok(())
}

/// Checks that all children of an or-gate mention the same variables, and so do both branches of a decision unless one
/// is the constant false.
pub fn smoothness(circuit: &Circuit) -> Result<(), Violation> {
    smooth(circuit, &Below::of(circuit, &[circuit.root()]))
}

pub(super) fn smooth(circuit: &Circuit, below: &Below) -> Result<(), Violation> {
    for node in below.reached() {
        let pair;
        let children = match circuit.node(node) {
            Node::Or(children) => children,
            Node::Decision { lo, hi, .. } => {
                if [lo, hi].iter().any(|&branch| circuit.node(branch) == Node::Constant(false)) {
                    continue;
                }
                pair = [lo, hi];
                &pair
            }
            _ => continue,
        };
        for index in 0..below.stride {
            let union = children.iter().fold(0, |union, &child| union | below.set(child)[index]);
            for &child in children {
                let lacking = union & !below.set(child)[index];
                if lacking != 0 {
                    return Err(Violation::MissingVariable { node, child, variable: lowest(index, lacking) });
                }
            }
        }
    }
    Ok(())
}

/// Checks that no gate has more than `limit` children.
pub fn fan_in(circuit: &Circuit, limit: usize) -> Result<(), Violation> {
    let reached = reached(circuit, &[circuit.root()]);
    for node in (0..reached.len()).filter(|&index| reached[index]).map(NodeId::new) {
        let children = match circuit.node(node) {
            Node::And(children) | Node::Or(children) => children.len(),
            Node::Decision { .. } => 2,
            _ => 0,
        };
        if children > limit {
            return Err(Violation::TooWide { node, children, limit });
        }
    }
    Ok(())
}

/// The nodes that some roots reach, and the variables that each node mentions.
pub(super) struct Below {
    sets: Vec<u64>,
    stride: usize,
    reached: Vec<bool>,
}

impl Below {
    pub(super) fn of(circuit: &Circuit, roots: &[NodeId]) -> Self {
        let stride = circuit.variables() / 64 + 1;
        let mut sets = vec![0u64; circuit.stored_nodes() * stride];
        for (id, node) in circuit.nodes() {
            let start = id.index() * stride;
            let mut include = |child: NodeId| {
                for offset in 0..stride {
                    sets[start + offset] |= sets[child.index() * stride + offset];
                }
            };
            let own = match node {
                Node::Constant(_) => continue,
                Node::Literal(lit) => lit.var(),
                Node::Decision { var, lo, hi } => {
                    [lo, hi].into_iter().for_each(include);
                    var
                }
                Node::And(children) | Node::Or(children) => {
                    children.iter().for_each(|&child| include(child));
                    continue;
                }
            };
            sets[start + own.index() / 64] |= 1 << (own.index() % 64);
        }
        let reached = reached(circuit, roots);
        Below { sets, stride, reached }
    }

    pub(super) fn reached(&self) -> impl Iterator<Item = NodeId> {
        (0..self.reached.len()).filter(|&index| self.reached[index]).map(NodeId::new)
    }

    pub(super) fn set(&self, id: NodeId) -> &[u64] {
        &self.sets[id.index() * self.stride..][..self.stride]
    }

    /// The number of variables that a node mentions.
    pub(super) fn count(&self, id: NodeId) -> usize {
        self.set(id).iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Which nodes these roots reach.
pub(super) fn reached(circuit: &Circuit, roots: &[NodeId]) -> Vec<bool> {
    let mut reached = vec![false; circuit.stored_nodes()];
    roots.iter().for_each(|root| reached[root.index()] = true);
    for (id, node) in circuit.nodes().rev() {
        if reached[id.index()] {
            match node {
                Node::And(children) | Node::Or(children) => {
                    children.iter().for_each(|child| reached[child.index()] = true);
                }
                Node::Decision { lo, hi, .. } => [lo, hi].iter().for_each(|child| reached[child.index()] = true),
                Node::Constant(_) | Node::Literal(_) => {}
            }
        }
    }
    reached
}

/// The lowest variable of a word of a set.
fn lowest(index: usize, word: u64) -> Var {
    Var::new(index * 64 + word.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::circuit::samples::random_circuit;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sound_circuits_pass((circuit, _) in random_circuit(8)) {
            prop_assert_eq!(decomposability(&circuit), Ok(()));
        }
    }

    #[test]
    fn violations_name_the_node() {
        let mut builder = CircuitBuilder::new(70).unwrap();
        let x = builder.literal(Var::new(68).positive()).unwrap();
        let not_x = builder.literal(Var::new(68).negative()).unwrap();
        let y = builder.literal(Var::new(3).positive()).unwrap();
        let shared = builder.and(&[y, x, not_x]).unwrap();
        let unsmooth = builder.or(&[x, y]).unwrap();
        let own = builder.decision(Var::new(3), x, y).unwrap();
        let uneven = builder.decision(Var::new(3), x, shared).unwrap();
        let lopsided = builder.decision(Var::new(0), x, y).unwrap();
        let with = |root| builder.clone().finish(root).unwrap();
        assert_eq!(
            decomposability(&with(shared)),
            Err(Violation::SharedVariable { node: shared, variable: Var::new(68) })
        );
        assert_eq!(decomposability(&with(own)), Err(Violation::SharedVariable { node: own, variable: Var::new(3) }));
        assert!(decomposability(&with(uneven)).is_err());
        let missing = |node, child, v| Err(Violation::MissingVariable { node, child, variable: Var::new(v) });
        assert_eq!(smoothness(&with(unsmooth)), missing(unsmooth, x, 3));
        assert_eq!(smoothness(&with(lopsided)), missing(lopsided, x, 3));
        assert_eq!(fan_in(&with(shared), 2), Err(Violation::TooWide { node: shared, children: 3, limit: 2 }));
    }

    #[test]
    fn a_false_branch_does_not_violate_smoothness() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let no = builder.constant(false).unwrap();
        let y = builder.literal(Var::new(1).positive()).unwrap();
        let root = builder.decision(Var::new(0), no, y).unwrap();
        assert_eq!(smoothness(&builder.finish(root).unwrap()), Ok(()));
    }
}
