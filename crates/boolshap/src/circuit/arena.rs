//! The circuit itself: one flat arena of nodes, children before parents.
//!
//! A node takes twelve bytes: a head and two words. A decision node stores its variable in the head and its two
//! children in the words, so that tens of millions of them stay cheap; a gate stores a range of the edge array. The
//! arena is in topological order, so every computation on a circuit is a loop over it, and deep circuits cannot
//! overflow the stack.

use super::CircuitError;
use super::mentioned::{MAX_SET_WORDS, words_of};
use crate::lit::{Lit, Var};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// The index of a node in its circuit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The id of the node at this position.
    ///
    /// # Panics
    /// If the position does not fit 32 bits; no circuit has that many nodes.
    pub fn new(index: usize) -> Self {
        NodeId(u32::try_from(index).expect("node index out of range"))
    }

    /// The position, counted from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node<'a> {
    /// True or false.
    Constant(bool),
    /// A variable or its negation.
    Literal(Lit),
    /// If `var` then `hi` else `lo`; neither child mentions `var`.
    Decision {
        /// The variable that decides.
        var: Var,
        /// What remains when it is false.
        lo: NodeId,
        /// What remains when it is true.
        hi: NodeId,
    },
    /// True when all children are; no two of them share a variable.
    And(&'a [NodeId]),
    /// True when a child is; no two of them are true together.
    Or(&'a [NodeId]),
}

/// From this many nodes in a level on, several threads pay off.
const MANY: usize = 1 << 15;

/// Heads of nodes other than decisions; a decision's head is its variable, which is below all of these.
const CONSTANT: u32 = 1 << 31;
const LITERAL: u32 = CONSTANT + 1;
const AND: u32 = CONSTANT + 2;
const OR: u32 = CONSTANT + 3;

/// Head, then: the value; the literal's code; lo and hi; or the first edge and the number of edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Packed {
    head: u32,
    a: u32,
    b: u32,
}

/// The nodes and edges alone, which both a circuit and its builder have.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Arena {
    nodes: Vec<Packed>,
    edges: Vec<NodeId>,
}

impl Arena {
    pub(super) fn with_capacity(nodes: usize) -> Self {
        Arena { nodes: Vec::with_capacity(nodes), edges: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, id: NodeId) -> Node<'_> {
        let Packed { head, a, b } = self.nodes[id.index()];
        match head {
            CONSTANT => Node::Constant(a == 1),
            LITERAL => Node::Literal(Lit::from_code(a as usize)),
            AND => Node::And(&self.edges[a as usize..][..b as usize]),
            OR => Node::Or(&self.edges[a as usize..][..b as usize]),
            var => Node::Decision { var: Var::new(var as usize), lo: NodeId(a), hi: NodeId(b) },
        }
    }

    /// Appends a node that has been checked; a gate without children becomes a constant.
    pub(super) fn push(&mut self, node: Node<'_>) -> Result<NodeId, CircuitError> {
        let id = u32::try_from(self.nodes.len())
            .map_err(|_| CircuitError::TooLarge { what: "nodes", limit: u32::MAX as usize })?;
        let packed = match node {
            Node::Constant(value) => Packed { head: CONSTANT, a: u32::from(value), b: 0 },
            Node::And([]) => Packed { head: CONSTANT, a: 1, b: 0 },
            Node::Or([]) => Packed { head: CONSTANT, a: 0, b: 0 },
            Node::Literal(lit) => Packed { head: LITERAL, a: lit.code() as u32, b: 0 },
            Node::Decision { var, lo, hi } => Packed { head: var.index() as u32, a: lo.0, b: hi.0 },
            Node::And(children) => self.gate(AND, children)?,
            Node::Or(children) => self.gate(OR, children)?,
        };
        self.nodes.push(packed);
        Ok(NodeId(id))
    }

    /// Appends a level of a diagram: decisions on one variable, whose children are stored already. Decisions between
    /// the two constants, nodes 0 and 1, become literals.
    pub(super) fn extend_level(&mut self, var: Var, nodes: &[[u32; 2]]) {
        let head = var.index() as u32;
        let (positive, negative) = (var.positive().code() as u32, var.negative().code() as u32);
        let packed = |&[lo, hi]: &[u32; 2]| match [lo, hi] {
            [0, 1] => Packed { head: LITERAL, a: positive, b: 0 },
            [1, 0] => Packed { head: LITERAL, a: negative, b: 0 },
            _ => Packed { head, a: lo, b: hi },
        };
        match nodes.len() < MANY {
            true => self.nodes.extend(nodes.iter().map(packed)),
            false => self.nodes.par_extend(nodes.par_iter().with_min_len(MANY / 2).map(packed)),
        }
    }

    fn gate(&mut self, head: u32, children: &[NodeId]) -> Result<Packed, CircuitError> {
        let start = self.edges.len();
        if start + children.len() > u32::MAX as usize {
            return Err(CircuitError::TooLarge { what: "edges", limit: u32::MAX as usize });
        }
        self.edges.extend_from_slice(children);
        Ok(Packed { head, a: start as u32, b: children.len() as u32 })
    }
}

/// A deterministic and decomposable Boolean circuit over `variables` variables; it need not mention all of them.
///
/// The type guarantees a sound arena: children come before parents and every variable is in range. That and-gates are
/// decomposable and or-gates deterministic is up to the builder of the circuit; [`check`](super::check) proves it.
///
/// ```
/// use boolshap::circuit::{CircuitBuilder, Node};
/// use boolshap::lit::Var;
/// // x1 and not x2, over three variables
/// let mut builder = CircuitBuilder::new(3)?;
/// let x = builder.literal(Var::new(0).positive())?;
/// let y = builder.literal(Var::new(1).negative())?;
/// let root = builder.and(&[x, y])?;
/// let circuit = builder.finish(root)?;
/// assert_eq!(circuit.node(circuit.root()), Node::And(&[x, y]));
/// assert_eq!(circuit.model_count(), 2u8.into());
/// assert!(circuit.evaluate(&[true, false, true])?);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Circuit {
    arena: Arena,
    variables: usize,
    root: NodeId,
}

impl Circuit {
    pub(super) fn from_arena(arena: Arena, variables: usize, root: NodeId) -> Result<Self, CircuitError> {
        if root.index() >= arena.len() {
            return Err(CircuitError::UnknownRoot { root, nodes: arena.len() });
        }
        if arena.len().saturating_mul(words_of(variables)) > MAX_SET_WORDS {
            return Err(CircuitError::TooWide { nodes: arena.len(), variables });
        }
        Ok(Circuit { arena, variables, root })
    }

    /// The same nodes with another root.
    pub(crate) fn with_root(&self, root: NodeId) -> Result<Self, CircuitError> {
        Self::from_arena(self.arena.clone(), self.variables, root)
    }

    /// The number of variables, including those that no node mentions.
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// The node whose value is the circuit's value.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The node of this id, which must be one of this circuit's.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        self.arena.node(id)
    }

    /// The number of stored nodes, reachable or not; [`Circuit::counts`] returns the circuit's size.
    pub fn stored_nodes(&self) -> usize {
        self.arena.len()
    }

    /// All stored nodes with their ids, children before parents.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, Node<'_>)> + ExactSizeIterator {
        (0..self.stored_nodes()).map(|index| {
            let id = NodeId::new(index);
            (id, self.node(id))
        })
    }
}

/// Lets functions that take a shared circuit also take a borrowed one, which is copied.
impl From<&Circuit> for Arc<Circuit> {
    fn from(circuit: &Circuit) -> Self {
        Arc::new(circuit.clone())
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Circuit of {} variables, root {:?}", self.variables, self.root)?;
        f.debug_map().entries(self.nodes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_takes_twelve_bytes() {
        assert_eq!(std::mem::size_of::<Packed>(), 12);
    }

    #[test]
    fn nodes_are_read_back_unchanged() {
        let mut arena = Arena::default();
        let children = [NodeId(0), NodeId(1)];
        let nodes = [
            Node::Constant(true),
            Node::Literal(Var::new(Var::MAX_INDEX).negative()),
            Node::Decision { var: Var::new(Var::MAX_INDEX), lo: NodeId(0), hi: NodeId(1) },
            Node::And(&children),
            Node::Or(&children[..1]),
            Node::Constant(false),
        ];
        for (index, &node) in nodes.iter().enumerate() {
            assert_eq!(arena.push(node).unwrap(), NodeId::new(index));
        }
        for (index, &node) in nodes.iter().enumerate() {
            assert_eq!(arena.node(NodeId::new(index)), node);
        }
    }
}
