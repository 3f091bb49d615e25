//! Decision trees over binary features, and forests of them, which add up the values at their leaves.
//!
//! A forest's answer is the class with the largest sum, the first one in a tie. The sums are floating-point sums in the
//! order of the trees, divided by their number, as in programs that train forests. So the compiled function is exactly
//! what such a program answers, including ties and rounding.

use super::ModelError;

/// A tree; its root is its first node.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionTree {
    nodes: Vec<TreeNode>,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeNode {
    /// The value for each class.
    Leaf(Vec<f64>),
    /// Continues at a later node, depending on a feature.
    Split {
        /// The feature.
        feature: usize,
        /// The next nodes if it is 0 and if it is 1.
        children: [usize; 2],
    },
}

impl DecisionTree {
    /// The nodes, parents before children.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// The values of the leaf that an entity reaches.
    pub fn says(&self, entity: &[bool]) -> &[f64] {
        let mut node = 0;
        loop {
            match &self.nodes[node] {
                TreeNode::Leaf(weights) => return weights,
                TreeNode::Split { feature, children } => node = children[usize::from(entity[*feature])],
            }
        }
    }
}

/// Trees over the same features, for the same classes.
///
/// ```
/// use boolshap::model::{Forest, TreeNode};
/// let stump = vec![
///     TreeNode::Split { feature: 1, children: [1, 2] },
///     TreeNode::Leaf(vec![1.0, 0.0]),
///     TreeNode::Leaf(vec![0.25, 0.75]),
/// ];
/// let forest = Forest::new(2, 2, vec![stump])?;
/// assert_eq!((forest.classify(&[true, false]), forest.classify(&[false, true])), (0, 1));
/// # Ok::<(), boolshap::model::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    features: usize,
    classes: usize,
    trees: Vec<DecisionTree>,
}

impl Forest {
    /// A forest of trees given by their nodes; the error names the invalid tree and node.
    pub fn new(features: usize, classes: usize, trees: Vec<Vec<TreeNode>>) -> Result<Self, ModelError> {
        if trees.is_empty() || classes < 2 {
            return Err(ModelError::Empty { layer: "the forest".into() });
        }
        for (number, nodes) in trees.iter().enumerate() {
            if let Some(flaw) = flaw(nodes, features, classes) {
                return Err(ModelError::Inconsistent(format!("tree {}: {flaw}", number + 1)));
            }
        }
        Ok(Forest { features, classes, trees: trees.into_iter().map(|nodes| DecisionTree { nodes }).collect() })
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The trees, in the order in which they are added up.
    pub fn trees(&self) -> &[DecisionTree] {
        &self.trees
    }

    /// The class of an entity.
    pub fn classify(&self, entity: &[bool]) -> usize {
        let mut sums = vec![0.0; self.classes];
        for tree in &self.trees {
            sums.iter_mut().zip(tree.says(entity)).for_each(|(sum, weight)| *sum += weight);
        }
        self.winner(&sums)
    }

    /// The class with the largest of these sums over all trees.
    pub(crate) fn winner(&self, sums: &[f64]) -> usize {
        // Division can make unequal sums equal.
        let mean = |class: usize| sums[class] / self.trees.len() as f64;
        (1..sums.len()).fold(0, |best, class| if mean(class) > mean(best) { class } else { best })
    }
}

/// Why these nodes are not a valid tree, if they are not.
fn flaw(nodes: &[TreeNode], features: usize, classes: usize) -> Option<String> {
    let mut parents = vec![0; nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        match node {
            TreeNode::Leaf(weights) if weights.len() != classes => {
                return Some(format!("leaf {at} has {} weights for {classes} classes", weights.len()));
            }
            TreeNode::Leaf(weights) => {
                if let Some(bad) = weights.iter().find(|weight| !weight.is_finite()) {
                    return Some(format!("leaf {at} has the weight {bad}"));
                }
            }
            TreeNode::Split { feature, .. } if *feature >= features => {
                return Some(format!("node {at} tests feature {feature} of {features}"));
            }
            TreeNode::Split { children, .. } => {
                for &child in children {
                    if child <= at || child >= nodes.len() {
                        return Some(format!("node {at} has the child {child}, which does not come after it"));
                    }
                    parents[child] += 1;
                }
            }
        }
    }
    if nodes.is_empty() {
        return Some("it has no nodes".into());
    }
    if let Some(at) = (1..nodes.len()).find(|&at| parents[at] != 1) {
        return Some(format!("node {at} has {} parents", parents[at]));
    }
    repeated(nodes, features).map(|(at, feature)| format!("node {at} tests feature {feature} a second time"))
}

/// A node and the feature it tests that was already tested above it.
fn repeated(nodes: &[TreeNode], features: usize) -> Option<(usize, usize)> {
    let mut above = vec![false; features];
    // Each node is popped twice: on the way down, and when everything below it is done.
    let mut stack = vec![(0, false)];
    while let Some((at, done)) = stack.pop() {
        let TreeNode::Split { feature, children } = &nodes[at] else { continue };
        if done {
            above[*feature] = false;
            continue;
        }
        if above[*feature] {
            return Some((at, *feature));
        }
        above[*feature] = true;
        stack.push((at, true));
        stack.extend(children.map(|child| (child, false)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(feature: usize, lo: usize, hi: usize) -> TreeNode {
        TreeNode::Split { feature, children: [lo, hi] }
    }

    #[test]
    fn invalid_trees_are_refused_by_name() {
        let leaf = || TreeNode::Leaf(vec![1.0, 0.0]);
        for (nodes, expected) in [
            (vec![], "tree 1: it has no nodes"),
            (vec![split(2, 1, 2), leaf(), leaf()], "tree 1: node 0 tests feature 2 of 2"),
            (vec![split(0, 0, 2), leaf(), leaf()], "tree 1: node 0 has the child 0, which does not come after it"),
            (vec![split(0, 1, 1), leaf()], "tree 1: node 1 has 2 parents"),
            (vec![split(0, 1, 2), leaf(), leaf(), leaf()], "tree 1: node 3 has 0 parents"),
            (vec![TreeNode::Leaf(vec![1.0])], "tree 1: leaf 0 has 1 weights for 2 classes"),
            (vec![TreeNode::Leaf(vec![f64::NAN, 1.0])], "tree 1: leaf 0 has the weight NaN"),
            (
                vec![split(0, 1, 2), split(1, 3, 4), leaf(), leaf(), split(0, 5, 6), leaf(), leaf()],
                "tree 1: node 4 tests feature 0 a second time",
            ),
        ] {
            assert_eq!(Forest::new(2, 2, vec![nodes]).unwrap_err().to_string(), expected);
        }
        // Repeating a feature in separate branches is allowed.
        let nodes = vec![split(0, 1, 2), split(1, 3, 4), split(1, 5, 6), leaf(), leaf(), leaf(), leaf()];
        assert!(Forest::new(2, 2, vec![nodes]).is_ok());
    }

    #[test]
    fn the_first_class_wins_a_tie_after_dividing() {
        let leaf = |a, b| vec![TreeNode::Leaf(vec![a, b])];
        assert_eq!(Forest::new(0, 2, vec![leaf(0.5, 0.5)]).unwrap().classify(&[]), 0);
        assert_eq!(Forest::new(0, 2, vec![leaf(0.1, 0.2), leaf(0.2, 0.1)]).unwrap().classify(&[]), 0);
        // 0.1 + 0.2 + 0.3 is a little more than 0.3 + 0.2 + 0.1, also after division by 3.
        let three = vec![leaf(0.3, 0.1), leaf(0.2, 0.2), leaf(0.1, 0.3)];
        assert_eq!(
            Forest::new(0, 2, three).unwrap().classify(&[]),
            usize::from((0.1 + 0.2 + 0.3) / 3.0 > (0.3 + 0.2 + 0.1) / 3.0)
        );
    }
}
