//! How large a circuit is: as a graph, and as the tree that the paper counts.
//!
//! In the graph, each literal and constant counts once, a decision node counts as one, and only reachable nodes count.
//! The paper's authors count the tree instead, in which a shared node counts once for each use; that number can be
//! exponential in the depth, so it is a big integer. In the tree, a decision node counts as the two and-gates under an
//! or-gate that [`expand_decisions`](super::expand_decisions) makes of it.

use super::{Circuit, Node, NodeId};
use dashu_int::UBig;
use std::collections::HashSet;

/// The sizes of a circuit; see [`Circuit::counts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Nodes of the graph: each literal and constant once, a decision node as one.
    pub nodes: usize,
    /// Edges of the graph: two for a decision node, the number of children for a gate.
    pub edges: usize,
    /// Nodes of the tree: decision nodes expanded into gates, shared nodes once for each use.
    pub tree_nodes: UBig,
    /// The largest number of children of a node; a decision node has two.
    pub fan_in: usize,
}

impl Circuit {
    /// The sizes of the reachable part.
    pub fn counts(&self) -> Counts {
        let (nodes, edges, fan_in) = self.graph_size();
        Counts { nodes, edges, tree_nodes: self.tree_nodes(), fan_in }
    }

    /// Nodes, edges and fan-in of the reachable part, without the tree size, which takes longer.
    pub fn graph_size(&self) -> (usize, usize, usize) {
        self.graph_size_from(&[self.root()])
    }

    /// The same for everything that these roots reach; shared nodes count once.
    pub(super) fn graph_size_from(&self, roots: &[NodeId]) -> (usize, usize, usize) {
        let uses = self.uses_from(roots);
        let (mut nodes, mut edges, mut fan_in) = (0, 0, 0);
        let mut leaves = HashSet::new();
        for (_, node) in self.nodes().filter(|(id, _)| uses[id.index()] > 0) {
            let children = match node {
                Node::Constant(_) | Node::Literal(_) => {
                    nodes += usize::from(leaves.insert(node));
                    continue;
                }
                Node::Decision { .. } => 2,
                Node::And(children) | Node::Or(children) => children.len(),
            };
            nodes += 1;
            edges += children;
            fan_in = fan_in.max(children);
        }
        (nodes, edges, fan_in)
    }

    /// The size of the tree, in machine words if possible, otherwise as a big integer.
    fn tree_nodes(&self) -> UBig {
        let mut sizes: Vec<u128> = Vec::with_capacity(self.root().index() + 1);
        let mut fits = true;
        for (_, node) in self.nodes().take(self.root().index() + 1) {
            let size = self.tree_size(
                node,
                |id| sizes[id.index()] == 0,
                0u128,
                |total, part| match part {
                    Part::New(count) => total.saturating_add(count.into()),
                    Part::Below(id) => total.saturating_add(sizes[id.index()]),
                },
            );
            fits &= size < u128::MAX;
            sizes.push(size);
        }
        if fits {
            return sizes[self.root().index()].max(1).into();
        }
        let size = self.sweep(|node, sizes: &[UBig]| {
            self.tree_size(
                node,
                |id| sizes[id.index()].is_zero(),
                UBig::ZERO,
                |total, part| match part {
                    Part::New(count) => total + count,
                    Part::Below(id) => total + &sizes[id.index()],
                },
            )
        });
        size.max(UBig::ONE)
    }

    /// Adds up the tree below one node. A decision with two false branches, which expands into the constant false, is
    /// marked by the size 0; every parent except a decision counts it as one node.
    fn tree_size<T>(
        &self,
        node: Node<'_>,
        is_false: impl Fn(NodeId) -> bool,
        zero: T,
        add: impl Fn(T, Part) -> T,
    ) -> T {
        match node {
            Node::Constant(false) => zero,
            Node::Constant(true) | Node::Literal(_) => add(zero, Part::New(1)),
            Node::Decision { lo, hi, .. } => {
                let branches = [lo, hi].into_iter().filter(|&branch| !is_false(branch));
                let or_gate = u8::from(branches.clone().count() == 2);
                branches.fold(add(zero, Part::New(or_gate)), |total, branch| {
                    // Only the literal if the branch is true, otherwise an and-gate over the literal and the branch.
                    match self.node(branch) {
                        Node::Constant(_) => add(total, Part::New(1)),
                        _ => add(add(total, Part::New(2)), Part::Below(branch)),
                    }
                })
            }
            Node::And(children) | Node::Or(children) => {
                children.iter().fold(add(zero, Part::New(1)), |total, &child| match is_false(child) {
                    true => add(total, Part::New(1)),
                    false => add(total, Part::Below(child)),
                })
            }
        }
    }
}

/// The parts of a tree size: new nodes, or the whole tree of a child.
enum Part {
    New(u8),
    Below(NodeId),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::{from_table, random_circuit};
    use crate::circuit::{CircuitBuilder, expand_decisions};
    use crate::lit::Var;
    use proptest::prelude::*;

    /// Walks the whole tree, node by node.
    fn walk(circuit: &Circuit) -> usize {
        let (mut stack, mut seen) = (vec![circuit.root()], 0);
        while let Some(id) = stack.pop() {
            seen += 1;
            stack.extend(circuit.node(id).children());
        }
        seen
    }

    proptest! {
        #[test]
        fn the_tree_size_agrees_with_a_walk((circuit, _) in random_circuit(6)) {
            let expanded = expand_decisions(&circuit).unwrap();
            let tree = circuit.counts().tree_nodes;
            prop_assert_eq!(&tree, &UBig::from(walk(&expanded)));
            prop_assert_eq!(&tree, &expanded.counts().tree_nodes);
        }
    }

    #[test]
    fn leaves_count_once_and_unreachable_nodes_not_at_all() {
        let mut builder = CircuitBuilder::new(3).unwrap();
        let x = builder.push(Node::Literal(Var::new(0).positive())).unwrap();
        let x_again = builder.push(Node::Literal(Var::new(0).positive())).unwrap();
        let y = builder.literal(Var::new(1).positive()).unwrap();
        let yes = builder.constant(true).unwrap();
        let left = builder.and(&[x, y]).unwrap();
        let right = builder.and(&[x_again, y, yes]).unwrap();
        builder.literal(Var::new(1).negative()).unwrap();
        let root = builder.decision(Var::new(2), left, right).unwrap();
        let counts = builder.finish(root).unwrap().counts();
        assert_eq!(counts, Counts { nodes: 6, edges: 7, tree_nodes: 12u8.into(), fan_in: 3 });
    }

    #[test]
    fn a_tree_size_may_exceed_a_word() {
        let mut builder = CircuitBuilder::new(400).unwrap();
        let mut below = [false, true].map(|value| builder.constant(value).unwrap());
        for v in 0..400 {
            let [even, odd] = below;
            below = [(even, odd), (odd, even)].map(|(lo, hi)| builder.decision(Var::new(v), lo, hi).unwrap());
        }
        let parity = builder.finish(below[0]).unwrap();
        // One variable: a literal. Each further one: an or-gate, two and-gates, two literals, two subtrees.
        let expected = (1..400).fold(UBig::ONE, |size, _| size * 2u8 + 5u8);
        assert_eq!(parity.counts().tree_nodes, expected);
        assert_eq!(from_table(2, &[0]).counts().tree_nodes, UBig::ONE);
    }
}
