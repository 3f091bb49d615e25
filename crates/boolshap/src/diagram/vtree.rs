//! Vtrees: full binary trees whose leaves are the variables.
//!
//! A vtree defines how a diagram splits its variables: a decision at an inner node splits them into those of the left
//! subtree (primes) and those of the right (subs). Nodes store their in-order position, so that a subtree is an
//! interval of positions: "is u below v" takes two comparisons, and "left or right of v" takes one.
//!
//! Pipatsrisawat & Darwiche, "New Compilation Languages Based on Structured Decomposability", AAAI 2008.

use super::error::DiagramError;
use crate::lit::Var;

/// A node of a [`Vtree`]. Rotations and swaps move nodes but keep their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VtreeId(pub(super) u32);

impl VtreeId {
    /// The id as an index, less than [`Vtree::node_count`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The content of a vtree node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VtreeNode {
    /// A variable.
    Leaf(Var),
    /// A split into a left and a right subtree.
    Inner(VtreeId, VtreeId),
}

#[derive(Debug, Clone)]
struct Slot {
    node: VtreeNode,
    parent: Option<VtreeId>,
    position: u32,
    first: u32,
    last: u32,
}

/// A vtree over the variables 0 .. n, possibly none.
///
/// ```
/// use boolshap::diagram::{Vtree, VtreeNode};
/// use boolshap::lit::Var;
/// let vtree = Vtree::right_linear(3);
/// let (first, third) = (vtree.leaf(Var::new(0)), vtree.leaf(Var::new(2)));
/// assert_eq!(Some(vtree.lowest_common_ancestor(first, third)), vtree.root());
/// assert_eq!(vtree.node(third), VtreeNode::Leaf(Var::new(2)));
/// ```
#[derive(Debug, Clone)]
pub struct Vtree {
    slots: Vec<Slot>,
    leaves: Vec<VtreeId>,
    root: Option<VtreeId>,
}

/// SplitMix64 (Steele, Lea & Flood 2014): random enough for shuffles and splits, the same on every machine.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn identity(variables: usize) -> Vec<Var> {
    (0..variables).map(Var::new).collect()
}

impl Vtree {
    /// Splits the variables in halves recursively: depth log n.
    pub fn balanced(variables: usize) -> Self {
        Self::split(&identity(variables), |length| length / 2)
    }

    /// Every right child is a leaf.
    pub fn left_linear(variables: usize) -> Self {
        Self::split(&identity(variables), |length| length - 1)
    }

    /// Every left child is a leaf: diagrams are then ordered binary decision diagrams.
    pub fn right_linear(variables: usize) -> Self {
        Self::split(&identity(variables), |_| 1)
    }

    /// A random order of the variables, split at random places; the same for the same seed.
    pub fn random(variables: usize, seed: u64) -> Self {
        let mut random = SplitMix(seed);
        let mut order = identity(variables);
        for i in (1..variables).rev() {
            order.swap(i, random.below(i + 1));
        }
        Self::split(&order, |length| 1 + random.below(length - 1))
    }

    /// [`Vtree::balanced`] with its leaves in this order, which must contain each variable once.
    pub fn balanced_over(order: &[Var]) -> Result<Self, DiagramError> {
        check_permutation(order)?;
        Ok(Self::split(order, |length| length / 2))
    }

    /// [`Vtree::right_linear`] with its leaves in this order, which must contain each variable once.
    pub fn right_linear_over(order: &[Var]) -> Result<Self, DiagramError> {
        check_permutation(order)?;
        Ok(Self::split(order, |_| 1))
    }

    /// Builds top-down; `left_part(length)` is how many of `length` leaves go left.
    fn split(order: &[Var], mut left_part: impl FnMut(usize) -> usize) -> Self {
        let mut nodes = Vec::with_capacity((2 * order.len()).saturating_sub(1));
        // (start and end of the interval of the order, the parent that waits for this id, and whether on its right
        // side)
        let mut waiting = vec![(0, order.len(), None::<(usize, bool)>)];
        while let Some((from, to, parent)) = waiting.pop() {
            if from == to {
                break;
            }
            let id = VtreeId(nodes.len() as u32);
            if let Some((parent, right)) = parent
                && let VtreeNode::Inner(l, r) = &mut nodes[parent]
            {
                *(if right { r } else { l }) = id;
            }
            if to - from == 1 {
                nodes.push(VtreeNode::Leaf(order[from]));
            } else {
                let middle = from + left_part(to - from);
                nodes.push(VtreeNode::Inner(id, id));
                waiting.push((middle, to, Some((id.index(), true))));
                waiting.push((from, middle, Some((id.index(), false))));
            }
        }
        let root = (!nodes.is_empty()).then_some(VtreeId(0));
        Self::from_nodes(nodes, root)
    }

    /// Builds a vtree from nodes that form one tree under `root` with variables 0 .. n.
    pub(super) fn from_nodes(nodes: Vec<VtreeNode>, root: Option<VtreeId>) -> Self {
        let mut leaves = vec![VtreeId(0); nodes.len().div_ceil(2)];
        let mut slots: Vec<Slot> =
            nodes.into_iter().map(|node| Slot { node, parent: None, position: 0, first: 0, last: 0 }).collect();
        for index in 0..slots.len() {
            let id = VtreeId(index as u32);
            match slots[index].node {
                VtreeNode::Leaf(var) => leaves[var.index()] = id,
                VtreeNode::Inner(left, right) => {
                    slots[left.index()].parent = Some(id);
                    slots[right.index()].parent = Some(id);
                }
            }
        }
        let mut vtree = Vtree { slots, leaves, root };
        if let Some(root) = root {
            vtree.number(root, 0);
        }
        vtree
    }

    /// Sets the in-order positions of the subtree under `top`, starting at `start`.
    fn number(&mut self, top: VtreeId, start: u32) {
        let mut next = start;
        let mut stack = vec![(top, 0)];
        while let Some((id, stage)) = stack.pop() {
            match (self.slots[id.index()].node, stage) {
                (VtreeNode::Leaf(_), _) => {
                    let slot = &mut self.slots[id.index()];
                    (slot.position, slot.first, slot.last) = (next, next, next);
                    next += 1;
                }
                (VtreeNode::Inner(left, _), 0) => {
                    self.slots[id.index()].first = next;
                    stack.push((id, 1));
                    stack.push((left, 0));
                }
                (VtreeNode::Inner(_, right), 1) => {
                    self.slots[id.index()].position = next;
                    next += 1;
                    stack.push((id, 2));
                    stack.push((right, 0));
                }
                _ => self.slots[id.index()].last = next - 1,
            }
        }
    }

    /// The root; `None` if there are no variables.
    pub fn root(&self) -> Option<VtreeId> {
        self.root
    }

    /// The number of variables.
    pub fn variables(&self) -> usize {
        if self.root.is_some() { self.leaves.len() } else { 0 }
    }

    /// The number of nodes: one less than twice the number of variables.
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// The content of a node.
    pub fn node(&self, id: VtreeId) -> VtreeNode {
        self.slots[id.index()].node
    }

    /// The two subtrees of an inner node.
    pub fn children(&self, id: VtreeId) -> Option<(VtreeId, VtreeId)> {
        match self.node(id) {
            VtreeNode::Leaf(_) => None,
            VtreeNode::Inner(left, right) => Some((left, right)),
        }
    }

    /// The parent; `None` at the root.
    pub fn parent(&self, id: VtreeId) -> Option<VtreeId> {
        self.slots[id.index()].parent
    }

    /// The leaf of a variable.
    pub fn leaf(&self, var: Var) -> VtreeId {
        self.leaves[var.index()]
    }

    /// The node's in-order position; leaves have even positions. libsdd calls this the node's id.
    pub fn position(&self, id: VtreeId) -> usize {
        self.slots[id.index()].position as usize
    }

    /// The positions of the leftmost and the rightmost leaf below (or at) the node.
    pub fn span(&self, id: VtreeId) -> (usize, usize) {
        let slot = &self.slots[id.index()];
        (slot.first as usize, slot.last as usize)
    }

    /// The number of variables below (or at) the node.
    pub fn variables_below(&self, id: VtreeId) -> usize {
        let (first, last) = self.span(id);
        (last - first) / 2 + 1
    }

    /// Whether `low` is `high` or below it.
    pub fn is_below(&self, low: VtreeId, high: VtreeId) -> bool {
        let (position, slot) = (self.slots[low.index()].position, &self.slots[high.index()]);
        slot.first <= position && position <= slot.last
    }

    /// The lowest node above (or at) both. Climbs from both in turn, so that linear vtrees of any depth take only a
    /// step or two.
    pub fn lowest_common_ancestor(&self, one: VtreeId, other: VtreeId) -> VtreeId {
        let (mut u, mut v) = (one, other);
        loop {
            if self.is_below(other, u) {
                return u;
            }
            if self.is_below(one, v) {
                return v;
            }
            // Neither is the root here, since every node is below the root.
            u = self.parent(u).unwrap_or(u);
            v = self.parent(v).unwrap_or(v);
        }
    }

    /// All nodes, children before parents, left before right.
    pub fn post_order(&self) -> Vec<VtreeId> {
        let mut order = Vec::with_capacity(self.slots.len());
        let mut stack: Vec<VtreeId> = self.root.into_iter().collect();
        while let Some(id) = stack.pop() {
            order.push(id);
            if let Some((left, right)) = self.children(id) {
                stack.push(left);
                stack.push(right);
            }
        }
        order.reverse();
        order
    }

    /// The variables in the order of their leaves, left to right.
    pub fn variable_order(&self) -> Vec<Var> {
        let mut order = identity(self.variables());
        order.sort_by_key(|&var| self.position(self.leaf(var)));
        order
    }

    fn replace_child(&mut self, parent: Option<VtreeId>, old: VtreeId, new: VtreeId) {
        self.slots[new.index()].parent = parent;
        match parent {
            None => self.root = Some(new),
            Some(parent) => {
                if let VtreeNode::Inner(left, right) = &mut self.slots[parent.index()].node {
                    *(if *left == old { left } else { right }) = new;
                }
            }
        }
    }

    fn set_children(&mut self, id: VtreeId, left: VtreeId, right: VtreeId) {
        self.slots[left.index()].parent = Some(id);
        self.slots[right.index()].parent = Some(id);
        let (first, last) = (self.slots[left.index()].first, self.slots[right.index()].last);
        let slot = &mut self.slots[id.index()];
        (slot.node, slot.first, slot.last) = (VtreeNode::Inner(left, right), first, last);
    }

    /// Exchanges the leaves of two variables.
    pub(super) fn exchange_leaves(&mut self, x: Var, y: Var) {
        let (at_x, at_y) = (self.leaf(x), self.leaf(y));
        self.slots[at_x.index()].node = VtreeNode::Leaf(y);
        self.slots[at_y.index()].node = VtreeNode::Leaf(x);
        self.leaves.swap(x.index(), y.index());
    }

    /// x = (a, w = (b, c)) becomes w = (x = (a, b), c). In-order positions do not change.
    pub(super) fn rotate_left(&mut self, x: VtreeId) {
        if let Some((a, w)) = self.children(x)
            && let Some((b, c)) = self.children(w)
        {
            self.replace_child(self.parent(x), x, w);
            self.set_children(x, a, b);
            self.set_children(w, x, c);
        }
    }

    /// w = (x = (a, b), c) becomes x = (a, w = (b, c)). In-order positions do not change.
    pub(super) fn rotate_right(&mut self, w: VtreeId) {
        if let Some((x, c)) = self.children(w)
            && let Some((a, b)) = self.children(x)
        {
            self.replace_child(self.parent(w), w, x);
            self.set_children(w, b, c);
            self.set_children(x, a, w);
        }
    }

    /// v = (a, b) becomes v = (b, a).
    pub(super) fn swap(&mut self, v: VtreeId) {
        if let Some((a, b)) = self.children(v) {
            let start = self.slots[v.index()].first;
            self.slots[v.index()].node = VtreeNode::Inner(b, a);
            self.number(v, start);
        }
    }
}

fn check_permutation(order: &[Var]) -> Result<(), DiagramError> {
    let mut seen = vec![false; order.len()];
    for var in order {
        match seen.get_mut(var.index()) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                let (variables, variable) = (order.len(), var.index() + 1);
                return Err(DiagramError::NotAPermutation { variables, variable });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simple way: climb to the root from both and take the first common node.
    fn ancestor_by_paths(vtree: &Vtree, one: VtreeId, other: VtreeId) -> VtreeId {
        let path = |from| std::iter::successors(Some(from), |&id| vtree.parent(id)).collect::<Vec<_>>();
        let others = path(other);
        path(one).into_iter().find(|id| others.contains(id)).unwrap()
    }

    fn shapes(variables: usize) -> Vec<Vtree> {
        let mut shapes =
            vec![Vtree::balanced(variables), Vtree::left_linear(variables), Vtree::right_linear(variables)];
        shapes.extend((0..5).map(|seed| Vtree::random(variables, seed)));
        shapes
    }

    fn check(vtree: &Vtree) {
        let ids: Vec<VtreeId> = (0..vtree.node_count() as u32).map(VtreeId).collect();
        let mut positions: Vec<usize> = ids.iter().map(|&id| vtree.position(id)).collect();
        positions.sort_unstable();
        assert!(positions.into_iter().eq(0..ids.len()));
        for &u in &ids {
            for &v in &ids {
                let ancestor = ancestor_by_paths(vtree, u, v);
                assert_eq!(vtree.lowest_common_ancestor(u, v), ancestor);
                assert_eq!(vtree.is_below(u, v), ancestor == v);
            }
            if let Some((left, right)) = vtree.children(u) {
                assert!(vtree.position(left) < vtree.position(u) && vtree.position(u) < vtree.position(right));
                assert_eq!((vtree.parent(left), vtree.parent(right)), (Some(u), Some(u)));
                let below = vtree.variables_below(left) + vtree.variables_below(right);
                assert_eq!(vtree.variables_below(u), below);
            }
        }
    }

    #[test]
    fn ancestors_and_intervals_agree_with_paths() {
        for variables in [1, 2, 3, 7, 12] {
            for vtree in shapes(variables) {
                assert_eq!((vtree.variables(), vtree.node_count()), (variables, 2 * variables - 1));
                check(&vtree);
            }
        }
        for vtree in shapes(0) {
            assert_eq!((vtree.variables(), vtree.root()), (0, None));
        }
    }

    #[test]
    fn rotations_and_swaps_keep_a_vtree() {
        let mut random = SplitMix(3);
        let mut vtree = Vtree::random(9, 1);
        for _ in 0..300 {
            let id = VtreeId(random.below(vtree.node_count()) as u32);
            match random.below(3) {
                0 => vtree.rotate_left(id),
                1 => vtree.rotate_right(id),
                _ => vtree.swap(id),
            }
            check(&vtree);
            assert_eq!(vtree.post_order().len(), 17);
        }
    }

    #[test]
    fn an_order_that_is_not_a_permutation_is_refused() {
        let (x, y) = (Var::new(0), Var::new(1));
        assert!(Vtree::balanced_over(&[y, x]).is_ok());
        let twice = Vtree::right_linear_over(&[x, x]).unwrap_err();
        assert_eq!(twice, DiagramError::NotAPermutation { variables: 2, variable: 1 });
        assert!(Vtree::balanced_over(&[x, Var::new(2)]).is_err());
    }
}
