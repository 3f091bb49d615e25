//! The variables that each node, or the whole circuit, mentions: one bit set per node, filled in one sweep.

use super::{Circuit, Node, NodeId};
use crate::lit::Var;

/// The most words for the sets of all nodes, 4 GiB. Larger circuits are rejected, because smoothing, counting and
/// checking take a bit or more for each node and variable.
pub(super) const MAX_SET_WORDS: usize = 1 << 29;

/// The number of words in a set of variables.
pub(super) fn words_of(variables: usize) -> usize {
    variables.div_ceil(64).max(1)
}

/// The variables mentioned at or below each node of a circuit.
///
/// ```
/// use boolshap::circuit::{CircuitBuilder, VariableSets};
/// use boolshap::lit::Var;
/// let mut builder = CircuitBuilder::new(3)?;
/// let z = builder.literal(Var::new(2).positive())?;
/// let yes = builder.constant(true)?;
/// let root = builder.decision(Var::new(0), yes, z)?;
/// let circuit = builder.finish(root)?;
/// let sets = VariableSets::of(&circuit);
/// assert_eq!(sets.missing(z, root).collect::<Vec<_>>(), [Var::new(0)]);
/// assert_eq!(circuit.mentioned(), [Var::new(0), Var::new(2)]);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
#[derive(Clone, Default)]
pub struct VariableSets {
    words: Vec<u64>,
    stride: usize,
}

impl VariableSets {
    /// The sets of all stored nodes.
    pub fn of(circuit: &Circuit) -> Self {
        let mut sets = VariableSets::new(circuit.variables());
        sets.words.reserve_exact(circuit.stored_nodes() * sets.stride);
        for (_, node) in circuit.nodes() {
            sets.push(node);
        }
        sets
    }

    /// An empty list of sets over this many variables.
    pub(super) fn new(variables: usize) -> Self {
        VariableSets { words: Vec::new(), stride: words_of(variables) }
    }

    /// The number of nodes with a set.
    pub(super) fn len(&self) -> usize {
        self.words.len() / self.stride
    }

    /// Adds the set of the next node, whose children already have theirs.
    pub(super) fn push(&mut self, node: Node<'_>) {
        let start = self.words.len();
        self.words.resize(start + self.stride, 0);
        if let Node::Literal(lit) = node {
            self.words[start + lit.var().index() / 64] |= 1 << (lit.var().index() % 64);
        }
        if let Node::Decision { var, .. } = node {
            self.words[start + var.index() / 64] |= 1 << (var.index() % 64);
        }
        let (done, new) = self.words.split_at_mut(start);
        for child in node.children() {
            for (word, &below) in new.iter_mut().zip(&done[child.index() * self.stride..]) {
                *word |= below;
            }
        }
    }

    /// The set of a node, one bit per variable.
    pub fn words(&self, id: NodeId) -> &[u64] {
        &self.words[id.index() * self.stride..][..self.stride]
    }

    /// The number of variables that the node mentions.
    pub fn count(&self, id: NodeId) -> usize {
        self.words(id).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The variables that `whole` mentions and `part` does not, in ascending order.
    pub fn missing(&self, part: NodeId, whole: NodeId) -> impl Iterator<Item = Var> {
        self.missing_of(part, self.words(whole))
    }

    /// The variables of the set `whole` that `part` does not mention, in ascending order.
    pub(super) fn missing_of(&self, part: NodeId, whole: &[u64]) -> impl Iterator<Item = Var> {
        ones(whole.iter().zip(self.words(part)).map(|(whole, part)| whole & !part))
    }

    /// The number of words in a set.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }
}

/// The variables whose bits are set, in ascending order.
fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = Var> {
    words.enumerate().flat_map(|(index, word)| {
        std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)))
            .take_while(|&rest| rest != 0)
            .map(move |rest| Var::new(index * 64 + rest.trailing_zeros() as usize))
    })
}

impl Circuit {
    /// The variables that some reachable node mentions, in ascending order.
    pub fn mentioned(&self) -> Vec<Var> {
        let uses = self.uses();
        let mut words = vec![0u64; self.variables().div_ceil(64)];
        for (_, node) in self.nodes().filter(|(id, _)| uses[id.index()] > 0) {
            let var = match node {
                Node::Literal(lit) => lit.var(),
                Node::Decision { var, .. } => var,
                _ => continue,
            };
            words[var.index() / 64] |= 1 << (var.index() % 64);
        }
        ones(words.into_iter()).collect()
    }
}
