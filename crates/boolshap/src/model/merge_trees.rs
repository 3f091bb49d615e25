//! Merges the trees of a sum into one decision tree: it gives the forest's answer, not the number behind it.
//!
//! The second tree is hung below every leaf of the first, the third below those, and so on, omitting branches that
//! contradict the tests above; at the end the sums decide. A branch ends as soon as the remaining trees cannot change
//! the decision. The sums are computed in floats in the forest's own order, so ties and rounding are the same. The tree
//! can be exponentially large in the number of trees, so its size is limited.

use super::{Decision, ModelError, RawModel, RawNode, RawTest, RawTree};
use crate::lit::Watch;

/// What is known about a column on a path: above `low`, at most `high`, or missing.
#[derive(Clone, Copy)]
struct Known {
    low: f64,
    high: f64,
    may_be_missing: bool,
}

/// Where to attach the next node: below a node, on one of its sides.
type Below = Option<(usize, usize)>;

/// An unfinished branch: the next node and its tree, what is known, and the sums so far.
struct Branch {
    below: Below,
    tree: usize,
    node: usize,
    known: Vec<Known>,
    sums: Vec<f64>,
}

/// A branch is decided early only if the sums differ by more than the rounding error of floats.
const APART: f64 = 1e-9;
/// Sums in single precision that are closer than this could be rounded to either side.
const SINGLE: f64 = 1e-5;

impl RawModel {
    /// "The answer is this class", 1 or 0, for each of these classes, as a model of one tree; `None` if it has more
    /// nodes than the limit.
    pub fn decisions(
        &self,
        classes: &[usize],
        names: Vec<String>,
        limit: usize,
        watch: &Watch<'_>,
    ) -> Result<Option<RawModel>, ModelError> {
        if self.decision == Decision::Number || !self.slopes.is_empty() {
            return Err(ModelError::Inconsistent("it gives numbers of which no trees decide".into()));
        }
        let merge = Merge::new(self);
        let mut nodes: Vec<RawNode> = Vec::new();
        let known = Known { low: f64::NEG_INFINITY, high: f64::INFINITY, may_be_missing: self.takes_missing };
        let start = Branch {
            below: None,
            tree: 0,
            node: 0,
            known: vec![known; self.columns.len()],
            sums: self.constants.clone(),
        };
        let mut branches = vec![start];
        while let Some(mut branch) = branches.pop() {
            if nodes.len().is_multiple_of(1024) {
                watch.check()?;
            }
            let here = nodes.len();
            let node = match merge.next(&mut branch)? {
                Err(class) => RawNode::Leaf(classes.iter().map(|&one| f64::from(u8::from(one == class))).collect()),
                Ok(split) => {
                    branches.extend(merge.sides(&branch, split, here));
                    split.clone()
                }
            };
            if here >= limit {
                return Ok(None);
            }
            if let Some((parent, side)) = branch.below
                && let RawNode::Split { children, .. } = &mut nodes[parent]
            {
                children[side] = here;
            }
            nodes.push(node);
        }
        let mut model = RawModel::new(self.columns.clone(), names);
        model.constants = vec![0.0; classes.len()];
        model.trees = vec![RawTree::new(0, &without_idle(nodes), None)?];
        (model.is_single, model.takes_missing) = (self.is_single, self.takes_missing);
        model.checked().map(Some)
    }
}

/// A model whose trees are being merged.
struct Merge<'m> {
    model: &'m RawModel,
    /// For each tree, the range that it and all later trees can add to each output.
    bounds: Vec<Vec<(f64, f64)>>,
}

impl<'m> Merge<'m> {
    fn new(model: &'m RawModel) -> Self {
        let mut bounds = vec![vec![(0.0, 0.0); model.width()]];
        for tree in model.trees.iter().rev() {
            let after = bounds.last().cloned().unwrap_or_default();
            let extremes = |output: usize| {
                let place = match tree.output() {
                    None => output,
                    Some(own) if own == output => 0,
                    Some(_) => return (0.0, 0.0),
                };
                tree.nodes().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), node| match node {
                    RawNode::Leaf(numbers) => {
                        let number = model.factor * numbers[place];
                        (low.min(number), high.max(number))
                    }
                    RawNode::Split { .. } => (low, high),
                })
            };
            let add = |(output, (low, high)): (usize, &(f64, f64))| {
                let (least, most) = extremes(output);
                (low + least, high + most)
            };
            bounds.push(after.iter().enumerate().map(add).collect());
        }
        bounds.reverse();
        Merge { model, bounds }
    }

    /// Follows a branch as far as it is determined: to the next open split, or to the class that is decided.
    fn next(&self, branch: &mut Branch) -> Result<Result<&'m RawNode, usize>, ModelError> {
        loop {
            if branch.node == 0
                && let Some(class) = self.decided(&branch.sums, branch.tree)
            {
                return Ok(Err(class));
            }
            let Some(tree) = self.model.trees.get(branch.tree) else { return self.last(&branch.sums).map(Err) };
            match &tree.nodes()[branch.node] {
                RawNode::Leaf(numbers) => {
                    self.model.add(&mut branch.sums, tree, numbers);
                    (branch.tree, branch.node) = (branch.tree + 1, 0);
                }
                split @ RawNode::Split { column, children, .. } => {
                    let known = &branch.known[*column];
                    match [0, 1].map(|side| narrowed(known, split, side)) {
                        [Some(_), None] => branch.node = children[0],
                        [None, Some(_)] => branch.node = children[1],
                        _ => return Ok(Ok(split)),
                    }
                }
            }
        }
    }

    /// The class, if none of the trees from this one on can change it.
    fn decided(&self, sums: &[f64], tree: usize) -> Option<usize> {
        if tree >= self.model.trees.len() {
            return None;
        }
        let bounds: Vec<(f64, f64)> = sums.iter().zip(&self.bounds[tree]).map(|(s, (l, h))| (s + l, s + h)).collect();
        let size = bounds.iter().fold(1.0, |size: f64, (low, high)| size.max(low.abs()).max(high.abs()));
        let apart = size * if self.model.adds_in_single { SINGLE } else { APART };
        if self.model.decision != Decision::Largest {
            let (low, high) = bounds[0];
            return if low > apart { Some(1) } else { (high < -apart).then_some(0) };
        }
        let best = (0..bounds.len()).max_by(|&a, &b| bounds[a].0.total_cmp(&bounds[b].0))?;
        let beaten = |class: usize| class == best || bounds[class].1 + apart < bounds[best].0;
        (0..bounds.len()).all(beaten).then_some(best)
    }

    /// The class for the complete sums.
    fn last(&self, sums: &[f64]) -> Result<usize, ModelError> {
        let numbers: Vec<f64> = sums.iter().map(|sum| sum / f64::from(self.model.divisor)).collect();
        let class = self.model.decide(&numbers).unwrap_or(0);
        let rival = match self.model.decision {
            Decision::Largest => {
                let others = numbers.iter().enumerate().filter(|(other, _)| *other != class);
                others.fold(f64::INFINITY, |least, (_, other)| least.min(numbers[class] - other))
            }
            _ => numbers[0].abs(),
        };
        let size = numbers.iter().fold(1.0, |size: f64, number| size.max(number.abs()));
        if self.model.adds_in_single && rival < SINGLE * size {
            return Err(ModelError::Inconsistent(format!(
                "some rows have a margin of {rival:.1e}, which its floats of single precision could round to either side"
            )));
        }
        Ok(class)
    }

    /// The two branches below a split.
    fn sides(&self, branch: &Branch, split: &RawNode, here: usize) -> Vec<Branch> {
        let RawNode::Split { column, children, .. } = split else { return Vec::new() };
        let side = |side: usize| {
            let mut known = branch.known.clone();
            known[*column] = narrowed(&known[*column], split, side)?;
            let sums = branch.sums.clone();
            Some(Branch { below: Some((here, side)), tree: branch.tree, node: children[side], known, sums })
        };
        [1, 0].into_iter().filter_map(side).collect()
    }
}

/// What is known after a column goes to one side of a split; `None` if it cannot.
fn narrowed(known: &Known, split: &RawNode, side: usize) -> Option<Known> {
    let RawNode::Split { test, missing_first, zero_is_missing, .. } = split else { return None };
    let RawTest::AtMost(threshold) = test else { return Some(*known) };
    if *zero_is_missing {
        return Some(*known);
    }
    let mut narrow = Known { may_be_missing: known.may_be_missing && (side == 0) == *missing_first, ..*known };
    match side {
        0 => narrow.high = narrow.high.min(*threshold),
        _ => narrow.low = narrow.low.max(*threshold),
    }
    (narrow.low < narrow.high || narrow.may_be_missing).then_some(narrow)
}

/// The tree without splits whose two sides are the same leaf.
fn without_idle(mut nodes: Vec<RawNode>) -> Vec<RawNode> {
    for at in (0..nodes.len()).rev() {
        let RawNode::Split { children: [first, second], .. } = nodes[at] else { continue };
        if matches!(nodes[first], RawNode::Leaf(_)) && nodes[first] == nodes[second] {
            nodes[at] = nodes[first].clone();
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RawRows, Seeded};

    /// A random tree of this depth.
    fn random_tree(
        random: &mut Seeded,
        depth: usize,
        columns: usize,
        outputs: usize,
        output: Option<usize>,
    ) -> RawTree {
        let mut nodes = Vec::new();
        grow(random, depth, columns, output.map_or(outputs, |_| 1), &mut nodes);
        RawTree::new(0, &nodes, output).unwrap()
    }

    fn grow(random: &mut Seeded, depth: usize, columns: usize, width: usize, nodes: &mut Vec<RawNode>) -> usize {
        let here = nodes.len();
        if depth == 0 {
            nodes.push(RawNode::Leaf((0..width).map(|_| random.below(9) as f64 / 4.0 - 1.0).collect()));
            return here;
        }
        nodes.push(RawNode::Leaf(Vec::new()));
        let children = [0, 1].map(|_| grow(random, depth - 1, columns, width, nodes));
        nodes[here] = RawNode::Split {
            column: random.below(columns),
            test: RawTest::AtMost(random.below(4) as f64),
            missing_first: random.below(2) == 0,
            zero_is_missing: false,
            children,
        };
        here
    }

    #[test]
    fn the_merged_tree_decides_as_the_sum_does() {
        let mut random = Seeded::new(5, 0);
        for round in 0..40 {
            let outputs = 1 + round % 3;
            let names = if outputs > 1 { (0..outputs).map(|o| o.to_string()).collect() } else { Vec::new() };
            let mut model = RawModel::new(vec!["a".into(), "b".into(), "c".into()], names);
            model.takes_missing = true;
            model.decision = if outputs > 1 { Decision::Largest } else { Decision::AtLeastZero };
            for tree in 0..4 {
                let output = (tree % 2 == 0).then_some(tree % outputs);
                model.trees.push(random_tree(&mut random, 3, 3, outputs, output));
            }
            let classes: Vec<usize> = (0..outputs.max(2)).collect();
            let names = classes.iter().map(usize::to_string).collect();
            let label = model.decisions(&classes, names, 1 << 16, &Watch::unlimited()).unwrap().unwrap();
            let values = [-1.0, 0.0, 0.5, 1.5, 2.5, 3.5, f64::NAN];
            let numbers: Vec<f64> = (0..300).map(|_| values[random.below(7)]).collect();
            let rows = RawRows::of_rows(3, &numbers);
            let (sums, labels) = (model.numbers(&rows), label.numbers(&rows));
            for (sums, labels) in sums.chunks(model.width()).zip(labels.chunks(classes.len())) {
                let class = model.decide(sums).unwrap();
                let expected: Vec<f64> = classes.iter().map(|&one| f64::from(u8::from(one == class))).collect();
                assert_eq!(labels, expected);
            }
        }
    }
}
