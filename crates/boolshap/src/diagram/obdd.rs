//! Reduced ordered binary decision diagrams, the result of the direct compilers.
//!
//! Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions on Computers, 1986 (doi
//! 10.1109/TC.1986.1676819). An [`Obdd`] is immutable: for each level an array of pairs of children, deepest level
//! first, so that children come before parents and nodes need not store their variable. A node takes eight bytes.
//! Diagrams under construction are in the compilers.

use crate::lit::Var;
use rayon::prelude::*;

/// How many nodes a thread checks at a time.
const CHECKED: usize = 1 << 15;

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
    /// The nodes of each level, deepest level first, and the number of its first node.
    levels: Vec<(u32, Vec<[u32; 2]>)>,
    root: u32,
}

impl Obdd {
    /// A diagram over all variables of `order`, root variable first, from the nodes of each level, deepest level first.
    ///
    /// # Panics
    /// If the number of levels differs from that of variables, or a child or root refers to a later node.
    pub fn from_levels(order: Vec<Var>, levels: Vec<Vec<[u32; 2]>>, root: u32) -> Self {
        assert_eq!(order.len(), levels.len(), "one level per variable");
        let mut next = 2;
        let mut numbered = Vec::with_capacity(levels.len());
        for level in levels {
            let is_before = |pairs: &[[u32; 2]]| pairs.iter().flatten().fold(0, |most, &child| most.max(child)) < next;
            assert!(level.par_chunks(CHECKED).all(is_before), "children come before parents");
            let first = next;
            next += u32::try_from(level.len()).expect("nodes have 32-bit numbers");
            numbered.push((first, level));
        }
        assert!(root < next, "the root is an existing node");
        Obdd { order, levels: numbered, root }
    }

    /// Removes the nodes that the root does not reach.
    pub(super) fn reached(self) -> Self {
        let count = self.len() + 2;
        let mut reached = vec![false; count];
        reached[self.root as usize] = true;
        for (first, nodes) in self.levels.iter().rev() {
            for (at, pair) in nodes.iter().enumerate() {
                if reached[*first as usize + at] {
                    pair.iter().for_each(|&child| reached[child as usize] = true);
                }
            }
        }
        if reached[2..].iter().all(|&reached| reached) {
            return self;
        }
        let mut numbers = vec![0, 1];
        let mut next = 2;
        let mut levels = Vec::with_capacity(self.levels.len());
        for (first, nodes) in self.levels {
            let mut level = Vec::new();
            for (at, pair) in nodes.into_iter().enumerate() {
                numbers.push(next);
                if reached[first as usize + at] {
                    level.push(pair.map(|child| numbers[child as usize]));
                    next += 1;
                }
            }
            levels.push(level);
        }
        Obdd::from_levels(self.order, levels, numbers[self.root as usize])
    }

    /// The variables in the order they are tested, root first.
    pub fn order(&self) -> &[Var] {
        &self.order
    }

    /// The number of inner nodes.
    pub fn len(&self) -> usize {
        self.levels.iter().map(|(_, nodes)| nodes.len()).sum()
    }

    /// Whether the function is constant.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The root: 0 and 1 are the constants, inner nodes are numbered from 2 in the order of the levels.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The levels, deepest first: the variable and the nodes that test it, as `[lo, hi]`.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = (Var, &[[u32; 2]])> {
        self.order.iter().rev().copied().zip(self.levels.iter().map(|(_, nodes)| nodes.as_slice()))
    }

    /// The value on one assignment, indexed by variable.
    pub fn evaluate(&self, assignment: &[bool]) -> bool {
        let mut at = self.root;
        while at >= 2 {
            let level = self.levels.partition_point(|&(first, _)| first <= at) - 1;
            let (first, nodes) = &self.levels[level];
            let var = self.order[self.order.len() - 1 - level];
            at = nodes[(at - first) as usize][usize::from(assignment[var.index()])];
        }
        at == 1
    }
}
