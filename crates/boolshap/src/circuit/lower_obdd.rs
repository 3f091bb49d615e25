//! Ordered diagrams as circuits: a node for a node, in the diagram's own order.

use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};
use crate::diagram::Obdd;

/// The circuit of an ordered diagram: its nodes as decision nodes, and as literals those that tell true from false.
///
/// ```
/// use boolshap::circuit::lower_obdd;
/// use boolshap::diagram::Obdd;
/// use boolshap::lit::Var;
/// let diagram = Obdd::from_levels(vec![Var::new(1), Var::new(0)], vec![vec![[0, 1]], vec![[2, 1]]], 3);
/// let circuit = lower_obdd(&diagram)?;
/// assert_eq!(circuit.truth_table()?, [0b1110]);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub fn lower_obdd(diagram: &Obdd) -> Result<Circuit, CircuitError> {
    let mut builder = CircuitBuilder::with_capacity(diagram.order().len(), diagram.len() + 2)?;
    // The constants come first, so every node keeps its number.
    builder.push(Node::Constant(false))?;
    builder.push(Node::Constant(true))?;
    for (var, nodes) in diagram.levels() {
        for &[lo, hi] in nodes {
            builder.push(match [lo, hi] {
                [0, 1] => Node::Literal(var.positive()),
                [1, 0] => Node::Literal(var.negative()),
                _ => Node::Decision { var, lo: NodeId::new(lo as usize), hi: NodeId::new(hi as usize) },
            })?;
        }
    }
    builder.finish(NodeId::new(diagram.root() as usize))
}
