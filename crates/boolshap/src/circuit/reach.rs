//! Which nodes the root reaches, and the number of edges to each: the first step of every sweep over a circuit.

use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};

impl<'a> Node<'a> {
    /// The children in order; a decision's are lo, then hi.
    pub fn children(self) -> impl Iterator<Item = NodeId> + use<'a> {
        let (pair, gate): (_, &[NodeId]) = match self {
            Node::Constant(_) | Node::Literal(_) => (None, &[]),
            Node::Decision { lo, hi, .. } => (Some([lo, hi]), &[]),
            Node::And(children) | Node::Or(children) => (None, children),
        };
        pair.into_iter().flatten().chain(gate.iter().copied())
    }
}

impl Circuit {
    /// For each stored node, the number of edges from reachable nodes to it (capped at `u32::MAX`), plus one for the
    /// root. A node is reachable exactly if its number is not 0.
    pub fn uses(&self) -> Vec<u32> {
        self.uses_from(&[self.root()])
    }

    /// The same with several roots.
    pub(super) fn uses_from(&self, roots: &[NodeId]) -> Vec<u32> {
        let mut uses = vec![0u32; self.stored_nodes()];
        roots.iter().for_each(|root| uses[root.index()] += 1);
        let end = roots.iter().map(|root| root.index() + 1).max().unwrap_or(0);
        for index in (0..end).rev() {
            if uses[index] > 0 {
                for child in self.node(NodeId::new(index)).children() {
                    uses[child.index()] = uses[child.index()].saturating_add(1);
                }
            }
        }
        uses
    }

    /// The nodes that the root reaches, children before parents, the root last.
    pub fn reachable(&self) -> Vec<NodeId> {
        // One bit per node: even for many millions of nodes, bits stay in the processor's cache, while counts would
        // not.
        let mut reached = vec![0u64; self.root().index() / 64 + 1];
        let reach = |id: NodeId, reached: &mut [u64]| reached[id.index() / 64] |= 1 << (id.index() % 64);
        reach(self.root(), &mut reached);
        for index in (0..=self.root().index()).rev() {
            if reached[index / 64] >> (index % 64) & 1 == 1 {
                self.node(NodeId::new(index)).children().for_each(|child| reach(child, &mut reached));
            }
        }
        let is_reached = |index: &usize| reached[index / 64] >> (index % 64) & 1 == 1;
        (0..=self.root().index()).filter(is_reached).map(NodeId::new).collect()
    }

    /// The same circuit without unreachable nodes, so that the root is the last node.
    pub fn compacted(&self) -> Result<Circuit, CircuitError> {
        let uses = self.uses();
        if self.root().index() + 1 == self.stored_nodes() && uses.iter().all(|&uses| uses > 0) {
            return Ok(self.clone());
        }
        let mut builder = CircuitBuilder::new(self.variables())?;
        let mut moved = vec![self.root(); self.stored_nodes()];
        let mut children = Vec::new();
        for (id, node) in self.nodes().filter(|(id, _)| uses[id.index()] > 0) {
            children.clear();
            children.extend(node.children().map(|child| moved[child.index()]));
            moved[id.index()] = builder.push(match node {
                Node::Decision { var, .. } => Node::Decision { var, lo: children[0], hi: children[1] },
                Node::And(_) => Node::And(&children),
                Node::Or(_) => Node::Or(&children),
                leaf => leaf,
            })?;
        }
        builder.finish(moved[self.root().index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lit::Var;

    #[test]
    fn unreachable_nodes_are_not_counted_and_can_be_dropped() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let x = builder.literal(Var::new(0).positive()).unwrap();
        let stray = builder.literal(Var::new(0).negative()).unwrap();
        let y = builder.literal(Var::new(1).positive()).unwrap();
        let root = builder.decision(Var::new(1), x, x).unwrap();
        let above = builder.and(&[root, y, stray]).unwrap();
        let circuit = builder.finish(root).unwrap();
        assert_eq!(circuit.uses(), [2, 0, 0, 1, 0]);
        assert_eq!(circuit.reachable(), [x, root]);
        assert!(above > root);
        let compact = circuit.compacted().unwrap();
        assert_eq!((compact.stored_nodes(), compact.root()), (2, NodeId::new(1)));
        assert_eq!(compact.truth_table().unwrap(), circuit.truth_table().unwrap());
    }
}
