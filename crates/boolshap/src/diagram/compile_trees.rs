//! A forest as diagrams: the sums of the trees as one ordered diagram with sums at its leaves, then one diagram per
//! label.
//!
//! A tree is an ordered diagram once its tests are in the variable order; two diagrams are added leaf by leaf with the
//! apply of Bahar et al., "Algebraic Decision Diagrams and Their Applications" (ICCAD 1993). Leaves hold the
//! floating-point sums of all classes, added in the order of the trees, so that two inputs share a leaf only if a
//! program that adds up the trees gets bitwise equal sums for both. At the end each sum is replaced by "class k wins",
//! and the diagram is reduced again. Cost: at worst the product of the sizes, so a node limit applies at every step.

use super::reduce::Reducer;
use super::{DiagramError, Obdd};
use crate::lit::{Var, Watch};
use crate::model::{DecisionTree, Forest, TreeNode};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Ids from here on are leaves.
const LEAF: u32 = 1 << 31;
/// The watch is checked each time this many nodes have been made.
const WATCHED: usize = 1 << 12;

/// For each of these classes, the diagram of "the answer is class k".
pub fn compile_trees(
    forest: &Forest,
    classes: &[usize],
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Vec<Obdd>, DiagramError> {
    let order = order(forest);
    let mut levels = vec![0; forest.features()];
    order.iter().enumerate().for_each(|(level, var)| levels[var.index()] = level as u32);
    let mut sums = Sums { max_nodes: max_nodes.min(LEAF as usize - 1), ..Sums::default() };
    let mut all = sums.leaf(vec![0.0; forest.classes()]);
    for (number, tree) in forest.trees().iter().enumerate() {
        watch.count(number as u64, "trees")?;
        let stated = |cause| DiagramError::Trees { done: number, total: forest.trees().len(), cause: Box::new(cause) };
        let tree = sums.tree(tree, &levels, watch).map_err(stated)?;
        all = sums.add(all, tree, &mut HashMap::new(), watch).map_err(stated)?;
        all = sums.compact(all, watch).map_err(stated)?;
    }
    classes.iter().map(|&class| sums.label(all, &order, max_nodes, |sums| forest.winner(sums) == class)).collect()
}

/// The features that are tested most often come first.
fn order(forest: &Forest) -> Vec<Var> {
    let mut looks = vec![0usize; forest.features()];
    for node in forest.trees().iter().flat_map(DecisionTree::nodes) {
        if let TreeNode::Split { feature, .. } = node {
            looks[*feature] += 1;
        }
    }
    let mut order: Vec<Var> = (0..forest.features()).map(Var::new).collect();
    order.sort_by_key(|var| Reverse(looks[var.index()]));
    order
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Inner {
    level: u32,
    children: [u32; 2],
}

/// Diagrams with sums at their leaves.
#[derive(Default)]
struct Sums {
    nodes: Vec<Inner>,
    numbers: HashMap<Inner, u32>,
    leaves: Vec<Vec<f64>>,
    /// Keyed by the bits of the sums: leaves are merged only if they are bitwise equal.
    leaf_numbers: HashMap<Vec<u64>, u32>,
    max_nodes: usize,
}

impl Sums {
    fn leaf(&mut self, sums: Vec<f64>) -> u32 {
        let bits = sums.iter().map(|sum| sum.to_bits()).collect();
        *self.leaf_numbers.entry(bits).or_insert_with(|| {
            self.leaves.push(sums);
            LEAF | (self.leaves.len() - 1) as u32
        })
    }

    fn node(&mut self, level: u32, children: [u32; 2], watch: &Watch<'_>) -> Result<u32, DiagramError> {
        if children[0] == children[1] {
            return Ok(children[0]);
        }
        let node = Inner { level, children };
        if let Some(&number) = self.numbers.get(&node) {
            return Ok(number);
        }
        if self.nodes.len() + self.leaves.len() >= self.max_nodes {
            return Err(DiagramError::TooManyNodes { limit: self.max_nodes });
        }
        if self.nodes.len().is_multiple_of(WATCHED) {
            watch.check()?;
        }
        self.nodes.push(node);
        self.numbers.insert(node, (self.nodes.len() - 1) as u32);
        Ok((self.nodes.len() - 1) as u32)
    }

    /// The level of a node; leaves are below every variable.
    fn level(&self, id: u32) -> u32 {
        if id & LEAF == 0 { self.nodes[id as usize].level } else { u32::MAX }
    }

    /// The cofactors of a diagram for the variable of `level`, for diagrams that begin at this level or below.
    fn given(&self, id: u32, level: u32) -> [u32; 2] {
        if self.level(id) == level { self.nodes[id as usize].children } else { [id, id] }
    }

    fn tree(&mut self, tree: &DecisionTree, levels: &[u32], watch: &Watch<'_>) -> Result<u32, DiagramError> {
        let mut built = vec![0; tree.nodes().len()];
        for (at, node) in tree.nodes().iter().enumerate().rev() {
            built[at] = match node {
                TreeNode::Leaf(weights) => self.leaf(weights.clone()),
                TreeNode::Split { feature, children } => {
                    let children = children.map(|child| built[child]);
                    self.select(levels[*feature], children, &mut HashMap::new(), watch)?
                }
            };
        }
        Ok(built[0])
    }

    /// The diagram that tests the variable of this level: the second branch if it is true, else the first. Neither
    /// branch depends on that variable.
    fn select(
        &mut self,
        level: u32,
        branches: [u32; 2],
        known: &mut HashMap<[u32; 2], u32>,
        watch: &Watch<'_>,
    ) -> Result<u32, DiagramError> {
        if let Some(&found) = known.get(&branches) {
            return Ok(found);
        }
        let top = self.level(branches[0]).min(self.level(branches[1]));
        let selected = if top > level {
            self.node(level, branches, watch)?
        } else {
            let [lo, hi] = branches.map(|branch| self.given(branch, top));
            let children =
                [self.select(level, [lo[0], hi[0]], known, watch)?, self.select(level, [lo[1], hi[1]], known, watch)?];
            self.node(top, children, watch)?
        };
        known.insert(branches, selected);
        Ok(selected)
    }

    fn add(
        &mut self,
        sum: u32,
        more: u32,
        known: &mut HashMap<(u32, u32), u32>,
        watch: &Watch<'_>,
    ) -> Result<u32, DiagramError> {
        if sum & more & LEAF != 0 {
            let (sum, more) = (&self.leaves[(sum & !LEAF) as usize], &self.leaves[(more & !LEAF) as usize]);
            let added = sum.iter().zip(more).map(|(sum, more)| sum + more).collect();
            return Ok(self.leaf(added));
        }
        if let Some(&found) = known.get(&(sum, more)) {
            return Ok(found);
        }
        let top = self.level(sum).min(self.level(more));
        let (sums, mores) = (self.given(sum, top), self.given(more, top));
        let children = [self.add(sums[0], mores[0], known, watch)?, self.add(sums[1], mores[1], known, watch)?];
        let added = self.node(top, children, watch)?;
        known.insert((sum, more), added);
        Ok(added)
    }

    /// Keeps only the nodes that this diagram reaches, and returns its new id.
    fn compact(&mut self, root: u32, watch: &Watch<'_>) -> Result<u32, DiagramError> {
        let old = std::mem::take(self);
        self.max_nodes = old.max_nodes;
        let mut reached = vec![false; old.nodes.len()];
        let (mut stack, mut seen) = (vec![root], 0usize);
        while let Some(id) = stack.pop() {
            if id & LEAF == 0 && !std::mem::replace(&mut reached[id as usize], true) {
                stack.extend(old.nodes[id as usize].children);
                seen += 1;
                if seen.is_multiple_of(WATCHED) {
                    watch.check()?;
                }
            }
        }
        let mut moved = vec![0; old.nodes.len()];
        let move_to = |sums: &mut Sums, moved: &[u32], id: u32| match id & LEAF {
            0 => moved[id as usize],
            _ => sums.leaf(old.leaves[(id & !LEAF) as usize].clone()),
        };
        // Children were made before their parents.
        for at in (0..old.nodes.len()).filter(|&at| reached[at]) {
            let Inner { level, children } = old.nodes[at];
            let node = Inner { level, children: children.map(|child| move_to(self, &moved, child)) };
            if self.nodes.len().is_multiple_of(WATCHED) {
                watch.check()?;
            }
            moved[at] = self.nodes.len() as u32;
            self.numbers.insert(node, moved[at]);
            self.nodes.push(node);
        }
        Ok(move_to(self, &moved, root))
    }

    /// The diagram of a predicate on the sums.
    fn label(
        &self,
        root: u32,
        order: &[Var],
        max_nodes: usize,
        holds: impl Fn(&[f64]) -> bool,
    ) -> Result<Obdd, DiagramError> {
        let mut by_level: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        self.nodes.iter().enumerate().for_each(|(at, node)| by_level[node.level as usize].push(at));
        let mut reduced = vec![0; self.nodes.len()];
        let labels: Vec<u32> = self.leaves.iter().map(|sums| u32::from(holds(sums))).collect();
        let number = |reduced: &[u32], id: u32| match id & LEAF {
            0 => reduced[id as usize],
            _ => labels[(id & !LEAF) as usize],
        };
        let mut reducer = Reducer::new(order.len(), max_nodes);
        for level in by_level.iter().rev() {
            let pair = |at: &usize| {
                let [lo, hi] = self.nodes[*at].children.map(|child| u64::from(number(&reduced, child)));
                lo << 32 | hi
            };
            let pairs: Vec<u64> = level.iter().map(pair).collect();
            let nodes = reducer.level(&pairs)?;
            level.iter().zip(nodes).for_each(|(&at, node)| reduced[at] = node);
        }
        Ok(reducer.finish(order, |_| true, number(&reduced, root)).reached())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    /// A random tree over the features in `free`.
    fn random_tree(free: &[usize], classes: usize, random: &mut Seeded) -> Vec<TreeNode> {
        let mut nodes = Vec::new();
        grow(free.to_vec(), classes, random, &mut nodes);
        nodes
    }

    fn grow(mut free: Vec<usize>, classes: usize, random: &mut Seeded, nodes: &mut Vec<TreeNode>) -> usize {
        let at = nodes.len();
        nodes.push(TreeNode::Leaf((0..classes).map(|_| (random.below(8) as f64) / 7.0).collect()));
        if !free.is_empty() && random.below(6) > 0 {
            let feature = free.swap_remove(random.below(free.len()));
            let lo = grow(free.clone(), classes, random, nodes);
            let hi = grow(free, classes, random, nodes);
            nodes[at] = TreeNode::Split { feature, children: [lo, hi] };
        }
        at
    }

    #[test]
    fn compiled_forests_agree_with_the_forest() {
        let mut random = Seeded::new(7, 2);
        for features in 0..8 {
            for trees in [1, 2, 5, 12] {
                let classes = 2 + random.below(3);
                let free: Vec<usize> = (0..features).collect();
                let trees = (0..trees).map(|_| random_tree(&free, classes, &mut random)).collect();
                let forest = Forest::new(features, classes, trees).unwrap();
                let every: Vec<usize> = (0..classes).collect();
                let diagrams = compile_trees(&forest, &every, usize::MAX, &Watch::unlimited()).unwrap();
                for input in 0..1usize << features {
                    let entity: Vec<bool> = (0..features).map(|v| input >> v & 1 == 1).collect();
                    let answers: Vec<bool> = diagrams.iter().map(|diagram| diagram.evaluate(&entity)).collect();
                    let expected: Vec<bool> = every.iter().map(|&class| class == forest.classify(&entity)).collect();
                    assert_eq!(answers, expected);
                }
            }
        }
    }

    #[test]
    fn a_limit_error_reports_how_many_trees_were_added() {
        let mut random = Seeded::new(7, 3);
        let free: Vec<usize> = (0..14).collect();
        let trees = (0..9).map(|_| random_tree(&free, 2, &mut random)).collect();
        let forest = Forest::new(14, 2, trees).unwrap();
        let error = compile_trees(&forest, &[1], 2000, &Watch::unlimited()).unwrap_err();
        assert!(error.to_string().contains(" of 9 trees"), "{error}");
    }
}
