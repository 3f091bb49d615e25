//! Reduced ordered binary decision diagrams, as the direct compilers deliver them.
//!
//! Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions on Computers, 1986
//! (doi 10.1109/TC.1986.1676819). A diagram here is finished: one flat array of pairs of children, grouped by level with
//! the deepest level first, so that children stand before parents and no node needs to name its variable. A node takes
//! eight bytes. The diagrams that are still being worked on live in the compilers, or in OxiDD.

use crate::lit::Var;
use std::ops::Range;

/// A reduced ordered diagram of one function.
///
/// Nodes are numbered from 2; 0 and 1 are the constants false and true.
///
/// ```
/// use boolshap::diagram::Obdd;
/// use boolshap::lit::Var;
/// // x1 and x2, tested in this order: the node of x2, then that of x1.
/// let levels = vec![vec![[0, 1]], vec![[0, 2]]];
/// let diagram = Obdd::from_levels(vec![Var::new(0), Var::new(1)], levels, 3);
/// assert_eq!(diagram.len(), 2);
/// assert!(diagram.evaluate(&[true, true]) && !diagram.evaluate(&[true, false]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obdd {
    order: Vec<Var>,
    /// Where the nodes of each level end, deepest level first.
    ends: Vec<u32>,
    nodes: Vec<[u32; 2]>,
    root: u32,
}

impl Obdd {
    /// A diagram over all variables of `order`, root variable first, from the nodes of each level, deepest level first.
    ///
    /// # Panics
    /// If there are not as many levels as variables, or a child or the root does not stand before.
    pub fn from_levels(order: Vec<Var>, levels: Vec<Vec<[u32; 2]>>, root: u32) -> Self {
        assert_eq!(order.len(), levels.len(), "one level a variable");
        let mut nodes = Vec::with_capacity(levels.iter().map(Vec::len).sum());
        let mut ends = Vec::with_capacity(levels.len());
        for level in levels {
            let known = nodes.len() as u32 + 2;
            assert!(level.iter().flatten().all(|&child| child < known), "children stand before parents");
            nodes.extend_from_slice(&level);
            ends.push(nodes.len() as u32);
        }
        assert!((root as usize) < nodes.len() + 2, "the root is a node");
        Obdd { order, ends, nodes, root }
    }

    /// The variables from the root on; deeper levels come later.
    pub fn order(&self) -> &[Var] {
        &self.order
    }

    /// How many inner nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the function is constant.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The root: 0 and 1 are the constants, `k + 2` is node `k`.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The inner nodes as `[lo, hi]`, children before parents.
    pub fn nodes(&self) -> &[[u32; 2]] {
        &self.nodes
    }

    /// The levels, deepest first: the variable, and which of the inner nodes test it.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = (Var, Range<usize>)> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).map(|(start, &end)| start as usize..end as usize);
        self.order.iter().rev().copied().zip(ranges.collect::<Vec<_>>())
    }

    /// The value on one assignment, indexed by variable.
    pub fn evaluate(&self, assignment: &[bool]) -> bool {
        let mut at = self.root;
        while at >= 2 {
            let index = at - 2;
            let level = self.ends.partition_point(|&end| end <= index);
            let var = self.order[self.order.len() - 1 - level];
            at = self.nodes[index as usize][usize::from(assignment[var.index()])];
        }
        at == 1
    }
}
