//! Converts ordered diagrams to circuits: one circuit node for each diagram node, in the diagram's order.

use super::arena::Arena;
use super::{Circuit, CircuitError, Node, NodeId};
use crate::diagram::Obdd;
use crate::lit::Var;

/// The circuit of an ordered diagram: its nodes become decision nodes, or literals if both children are constants.
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
    let variables = diagram.order().len();
    if variables > Var::MAX_INDEX + 1 {
        return Err(CircuitError::TooManyVariables { variables });
    }
    // The constants come first, so every node keeps its number. A diagram's children are already checked.
    let mut arena = Arena::with_capacity(diagram.len() + 2);
    arena.push(Node::Constant(false))?;
    arena.push(Node::Constant(true))?;
    for (var, nodes) in diagram.levels() {
        arena.extend_level(var, nodes);
    }
    Circuit::from_arena(arena, variables, NodeId::new(diagram.root() as usize))
}
