//! Keeps variables that no clause mentions out of the search for a vtree.
//!
//! The search takes time for every variable of the vtree: a swap renumbers the whole subtree, and exchanges are tried
//! for all pairs. A variable that no clause mentions cannot make a diagram smaller. So the clauses are compiled over
//! the variables that they mention, and the others join the vtree at its root when it is finished: decisions stay at
//! their nodes, and the time is linear in the number of other variables.

use super::vtree::{Vtree, VtreeId, VtreeNode};
use crate::lit::{Lit, Var};

/// The variables that clauses mention, ascending.
pub(super) struct Mentioned(Vec<Var>);

impl Mentioned {
    /// The variables that these clauses mention, out of this many.
    pub(super) fn of(variables: usize, clauses: &[Vec<Lit>]) -> Self {
        let mut is_mentioned = vec![false; variables];
        clauses.iter().flatten().for_each(|literal| is_mentioned[literal.var().index()] = true);
        Mentioned((0..variables).filter(|&index| is_mentioned[index]).map(Var::new).collect())
    }

    /// The number of mentioned variables.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The mentioned variable with this rank.
    pub(super) fn var(&self, rank: Var) -> Var {
        self.0[rank.index()]
    }

    /// Replaces every variable in the clauses by its rank.
    pub(super) fn rank(&self, clauses: &mut [Vec<Lit>]) {
        for literal in clauses.iter_mut().flatten() {
            let rank = self.0.partition_point(|var| *var < literal.var());
            *literal = Var::new(rank).literal(!literal.is_negative());
        }
    }

    /// The vtree without the leaves of unmentioned variables, with every other variable replaced by its rank.
    pub(super) fn restrict(&self, vtree: &Vtree) -> Vtree {
        let mut nodes = Vec::with_capacity(2 * self.0.len());
        let mut kept: Vec<Option<VtreeId>> = vec![None; vtree.node_count()];
        for id in vtree.post_order() {
            let node = match vtree.node(id) {
                VtreeNode::Leaf(var) => self.0.binary_search(&var).ok().map(|rank| VtreeNode::Leaf(Var::new(rank))),
                VtreeNode::Inner(left, right) => match (kept[left.index()], kept[right.index()]) {
                    (Some(left), Some(right)) => Some(VtreeNode::Inner(left, right)),
                    (one, other) => {
                        kept[id.index()] = one.or(other);
                        None
                    }
                },
            };
            if let Some(node) = node {
                kept[id.index()] = Some(VtreeId(nodes.len() as u32));
                nodes.push(node);
            }
        }
        let root = vtree.root().and_then(|root| kept[root.index()]);
        Vtree::from_nodes(nodes, root)
    }

    /// Converts a vtree over ranks to one over all variables: every node keeps its id, and the other variables are
    /// added above the root.
    pub(super) fn widen(&self, vtree: &Vtree, variables: usize) -> Vtree {
        let named = |index: usize| match vtree.node(VtreeId(index as u32)) {
            VtreeNode::Leaf(rank) => VtreeNode::Leaf(self.var(rank)),
            inner => inner,
        };
        let mut nodes: Vec<VtreeNode> = (0..vtree.node_count()).map(named).collect();
        let mut top = vtree.root();
        let mut rest = self.0.iter().rev().peekable();
        for var in (0..variables).rev().map(Var::new) {
            if rest.next_if_eq(&&var).is_some() {
                continue;
            }
            let leaf = VtreeId(nodes.len() as u32);
            nodes.push(VtreeNode::Leaf(var));
            top = Some(match top {
                None => leaf,
                Some(below) => {
                    nodes.push(VtreeNode::Inner(leaf, below));
                    VtreeId(leaf.0 + 1)
                }
            });
        }
        Vtree::from_nodes(nodes, top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restricting_and_widening_keep_the_shape() {
        let vars = |indices: &[usize]| indices.iter().map(|&index| Var::new(index)).collect::<Vec<_>>();
        for seed in 0..40 {
            let whole = Vtree::random(9, seed);
            for kept in [vars(&[4]), vars(&[0, 8]), vars(&[1, 2, 5, 7]), vars(&[0, 1, 2, 3, 4, 5, 6, 7, 8])] {
                let mentioned = Mentioned(kept.clone());
                let narrow = mentioned.restrict(&whole);
                assert_eq!(narrow.variables(), kept.len());
                // The order of the leaves and their lowest common ancestors are those of the whole vtree.
                let order: Vec<Var> = narrow.variable_order().into_iter().map(|rank| mentioned.var(rank)).collect();
                let expected: Vec<Var> = whole.variable_order().into_iter().filter(|var| kept.contains(var)).collect();
                assert_eq!(order, expected);
                let wide = mentioned.widen(&narrow, 9);
                assert_eq!((wide.variables(), wide.node_count()), (9, 17));
                let below = |vtree: &Vtree, names: &dyn Fn(Var) -> Var, [x, y, z]: [Var; 3]| {
                    let meeting = vtree.lowest_common_ancestor(vtree.leaf(names(x)), vtree.leaf(names(y)));
                    vtree.is_below(vtree.leaf(names(z)), meeting)
                };
                for triple in
                    (0..kept.len().pow(3)).map(|i| [i % kept.len(), i / kept.len() % kept.len(), i / kept.len().pow(2)])
                {
                    let ranks = triple.map(Var::new);
                    let in_narrow = below(&narrow, &|rank| rank, ranks);
                    assert_eq!(below(&whole, &|rank| mentioned.var(rank), ranks), in_narrow);
                    assert_eq!(below(&wide, &|rank| mentioned.var(rank), ranks), in_narrow);
                }
            }
        }
    }
}
