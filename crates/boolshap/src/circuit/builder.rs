//! Building a circuit node by node.
//!
//! [`CircuitBuilder::push`] appends any node, for file readers and for callers with nodes that are already distinct.
//! The other methods look a node up first, so that equal nodes are stored once (hash-consing). Both reject children
//! that do not come before their parent and variables out of range, so a finished circuit is sound for any input.

use super::arena::Arena;
use super::{Circuit, CircuitError, Node, NodeId};
use crate::lit::{Lit, Var};
use std::collections::HashMap;

/// The most variables of a circuit: bounds what the header of a small file can make a reader allocate.
pub(super) const MAX_VARIABLES: usize = 10_000_000;

/// Builds a [`Circuit`].
///
/// ```
/// use boolshap::circuit::CircuitBuilder;
/// use boolshap::lit::Var;
/// let mut builder = CircuitBuilder::new(2)?;
/// let (no, yes) = (builder.constant(false)?, builder.constant(true)?);
/// let y = builder.decision(Var::new(1), no, yes)?;
/// assert_eq!(builder.decision(Var::new(1), no, yes)?, y);
/// let both = builder.decision(Var::new(0), no, y)?;
/// assert_eq!(builder.finish(both)?.model_count(), 1u8.into());
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
#[derive(Clone)]
pub struct CircuitBuilder {
    arena: Arena,
    variables: usize,
    decisions: HashMap<(Var, NodeId, NodeId), NodeId>,
    literals: HashMap<Lit, NodeId>,
    constants: [Option<NodeId>; 2],
    ands: HashMap<Box<[NodeId]>, NodeId>,
    ors: HashMap<Box<[NodeId]>, NodeId>,
}

impl CircuitBuilder {
    /// A builder of circuits over this many variables.
    pub fn new(variables: usize) -> Result<Self, CircuitError> {
        Self::with_capacity(variables, 0)
    }

    /// The same, with memory reserved for this many nodes.
    pub fn with_capacity(variables: usize, nodes: usize) -> Result<Self, CircuitError> {
        if variables > MAX_VARIABLES {
            return Err(CircuitError::TooManyVariables { variables });
        }
        Ok(CircuitBuilder {
            arena: Arena::with_capacity(nodes),
            variables,
            decisions: HashMap::new(),
            literals: HashMap::new(),
            constants: [None; 2],
            ands: HashMap::new(),
            ors: HashMap::new(),
        })
    }

    /// The number of nodes so far, which is the id of the next new one.
    pub fn len(&self) -> usize {
        self.arena.len()
    }

    /// Whether there is no node yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node with this id, which must come from this builder.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        self.arena.node(id)
    }

    /// Appends the node without looking for an equal one; a gate without children becomes a constant.
    pub fn push(&mut self, node: Node<'_>) -> Result<NodeId, CircuitError> {
        match node {
            Node::Constant(_) => {}
            Node::Literal(lit) => self.check_variable(lit.var())?,
            Node::Decision { var, lo, hi } => {
                self.check_variable(var)?;
                self.check_children(&[lo, hi])?;
            }
            Node::And(children) | Node::Or(children) => self.check_children(children)?,
        }
        self.arena.push(node)
    }

    /// The constant.
    pub fn constant(&mut self, value: bool) -> Result<NodeId, CircuitError> {
        if let Some(id) = self.constants[usize::from(value)] {
            return Ok(id);
        }
        let id = self.push(Node::Constant(value))?;
        self.constants[usize::from(value)] = Some(id);
        Ok(id)
    }

    /// The literal.
    pub fn literal(&mut self, lit: Lit) -> Result<NodeId, CircuitError> {
        if let Some(&id) = self.literals.get(&lit) {
            return Ok(id);
        }
        let id = self.push(Node::Literal(lit))?;
        self.literals.insert(lit, id);
        Ok(id)
    }

    /// The decision node: if `var` then `hi` else `lo`.
    pub fn decision(&mut self, var: Var, lo: NodeId, hi: NodeId) -> Result<NodeId, CircuitError> {
        if let Some(&id) = self.decisions.get(&(var, lo, hi)) {
            return Ok(id);
        }
        let id = self.push(Node::Decision { var, lo, hi })?;
        self.decisions.insert((var, lo, hi), id);
        Ok(id)
    }

    /// The and-gate over these children in this order. Only a gate without children is simplified.
    pub fn and(&mut self, children: &[NodeId]) -> Result<NodeId, CircuitError> {
        if children.is_empty() {
            return self.constant(true);
        }
        if let Some(&id) = self.ands.get(children) {
            return Ok(id);
        }
        let id = self.push(Node::And(children))?;
        self.ands.insert(children.into(), id);
        Ok(id)
    }

    /// The or-gate over these children in this order. Only a gate without children is simplified.
    pub fn or(&mut self, children: &[NodeId]) -> Result<NodeId, CircuitError> {
        if children.is_empty() {
            return self.constant(false);
        }
        if let Some(&id) = self.ors.get(children) {
            return Ok(id);
        }
        let id = self.push(Node::Or(children))?;
        self.ors.insert(children.into(), id);
        Ok(id)
    }

    /// The conjunction with constants simplified: false if a child is false, and true children are dropped. A single
    /// child is returned as it is.
    pub fn conjoin(&mut self, children: &[NodeId]) -> Result<NodeId, CircuitError> {
        self.simplified(children, true)
    }

    /// The disjunction with constants simplified: true if a child is true, and false children are dropped. A single
    /// child is returned as it is.
    pub fn disjoin(&mut self, children: &[NodeId]) -> Result<NodeId, CircuitError> {
        self.simplified(children, false)
    }

    fn simplified(&mut self, children: &[NodeId], neutral: bool) -> Result<NodeId, CircuitError> {
        self.check_children(children)?;
        let mut kept = Vec::with_capacity(children.len());
        for &child in children {
            match self.node(child) {
                Node::Constant(value) if value == neutral => {}
                Node::Constant(value) => return self.constant(value),
                _ => kept.push(child),
            }
        }
        match kept[..] {
            [] => self.constant(neutral),
            [child] => Ok(child),
            _ if neutral => self.and(&kept),
            _ => self.or(&kept),
        }
    }

    /// The circuit with this root.
    pub fn finish(self, root: NodeId) -> Result<Circuit, CircuitError> {
        Circuit::from_arena(self.arena, self.variables, root)
    }

    fn check_variable(&self, variable: Var) -> Result<(), CircuitError> {
        if variable.index() < self.variables {
            return Ok(());
        }
        Err(CircuitError::UnknownVariable { node: self.len(), variable, variables: self.variables })
    }

    fn check_children(&self, children: &[NodeId]) -> Result<(), CircuitError> {
        match children.iter().find(|child| child.index() >= self.len()) {
            Some(&child) => Err(CircuitError::ChildNotBefore { node: self.len(), child }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsound_nodes_are_refused() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let ghost = NodeId::new(7);
        let x = builder.literal(Var::new(0).positive()).unwrap();
        let error = builder.push(Node::And(&[x, ghost])).unwrap_err();
        assert_eq!(error.to_string(), "node 1 has the child 7, which does not stand before it");
        let own = NodeId::new(1);
        assert!(matches!(builder.push(Node::Or(&[own])), Err(CircuitError::ChildNotBefore { .. })));
        assert!(builder.decision(Var::new(0), ghost, x).is_err());
        assert!(builder.conjoin(&[ghost]).is_err());
        let error = builder.literal(Var::new(2).negative()).unwrap_err();
        assert_eq!(error.to_string(), "node 1 speaks of variable x3, but the circuit has 2 variables");
        assert!(builder.decision(Var::new(2), x, x).is_err());
        assert!(matches!(builder.finish(ghost), Err(CircuitError::UnknownRoot { .. })));
        assert!(CircuitBuilder::new(usize::MAX).is_err());
    }

    #[test]
    fn a_circuit_can_be_rebuilt_from_its_nodes() {
        let mut builder = CircuitBuilder::new(3).unwrap();
        let x = builder.literal(Var::new(0).positive()).unwrap();
        let z = builder.push(Node::Literal(Var::new(0).positive())).unwrap();
        assert_ne!(x, z);
        let yes = builder.and(&[]).unwrap();
        let d = builder.decision(Var::new(1), x, yes).unwrap();
        let root = builder.or(&[d]).unwrap();
        let circuit = builder.finish(root).unwrap();

        let mut again = CircuitBuilder::with_capacity(circuit.variables(), circuit.stored_nodes()).unwrap();
        for (id, node) in circuit.nodes() {
            assert_eq!(again.push(node).unwrap(), id);
        }
        assert!(again.finish(circuit.root()).unwrap() == circuit);
    }

    #[test]
    fn constants_are_simplified_away() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let (no, yes) = (builder.constant(false).unwrap(), builder.constant(true).unwrap());
        let x = builder.literal(Var::new(0).positive()).unwrap();
        let y = builder.literal(Var::new(1).positive()).unwrap();
        assert_eq!(builder.conjoin(&[]).unwrap(), yes);
        assert_eq!(builder.disjoin(&[]).unwrap(), no);
        assert_eq!(builder.conjoin(&[x, no]).unwrap(), no);
        assert_eq!(builder.conjoin(&[yes, x, yes]).unwrap(), x);
        assert_eq!(builder.disjoin(&[x, yes]).unwrap(), yes);
        assert_eq!(builder.disjoin(&[no, x]).unwrap(), x);
        let both = builder.conjoin(&[x, yes, y]).unwrap();
        assert_eq!(builder.node(both), Node::And(&[x, y]));
        let either = builder.disjoin(&[x, y]).unwrap();
        assert_eq!(builder.node(either), Node::Or(&[x, y]));
    }
}
