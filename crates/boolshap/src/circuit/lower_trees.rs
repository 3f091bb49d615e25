//! Trees and forests as circuits. A tree that tests each feature at most once on a path becomes a circuit node by node,
//! with any number of features; a forest is first compiled to a diagram of its sums.

use super::{Circuit, CircuitBuilder, CircuitError, lower_obdd};
use crate::diagram::compile_trees;
use crate::lit::{Var, Watch};
use crate::model::{Forest, TreeNode};

/// For each of these classes, the circuit of "the answer is class k".
///
/// ```
/// use boolshap::circuit::lower_forest;
/// use boolshap::lit::Watch;
/// use boolshap::model::{Forest, TreeNode};
/// let leaf = |a, b| TreeNode::Leaf(vec![a, b]);
/// let stump = |feature| vec![TreeNode::Split { feature, children: [1, 2] }, leaf(0.75, 0.25), leaf(0.25, 0.75)];
/// let forest = Forest::new(3, 2, vec![stump(0), stump(1), stump(2)])?;
/// let majority = &lower_forest(&forest, &[1], usize::MAX, &Watch::unlimited())?[0];
/// assert_eq!(majority.model_count(), 4u8.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lower_forest(
    forest: &Forest,
    classes: &[usize],
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Vec<Circuit>, CircuitError> {
    if let [_] = forest.trees() {
        return classes.iter().map(|&class| lower_tree(forest, class)).collect();
    }
    let diagrams = compile_trees(forest, classes, max_nodes, watch).map_err(CircuitError::Trees)?;
    diagrams.iter().map(lower_obdd).collect()
}

/// The circuit of a forest with a single tree.
fn lower_tree(forest: &Forest, class: usize) -> Result<Circuit, CircuitError> {
    let nodes = forest.trees()[0].nodes();
    let mut builder = CircuitBuilder::new(forest.features())?;
    let mut lowered = vec![None; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let here = match node {
            TreeNode::Leaf(weights) => builder.constant(forest.winner(weights) == class)?,
            TreeNode::Split { feature, children } => {
                let [lo, hi] = children.map(|child| lowered[child].expect("children come after their parents"));
                if lo == hi { lo } else { builder.decision(Var::new(*feature), lo, hi)? }
            }
        };
        lowered[at] = Some(here);
    }
    builder.finish(lowered[0].expect("a tree has a root"))?.compacted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_a_circuit_of_any_width() {
        // A chain of 300 tests: class 1 if an odd number of leading features are 1.
        let mut nodes = Vec::new();
        for feature in 0..300 {
            nodes.push(TreeNode::Split { feature, children: [2 * feature + 1, 2 * feature + 2] });
            let odd = f64::from(feature as u32 % 2);
            nodes.push(TreeNode::Leaf(vec![1.0 - odd, odd]));
        }
        nodes.push(TreeNode::Leaf(vec![0.5, 0.5]));
        let forest = Forest::new(300, 2, vec![nodes]).unwrap();
        let circuits = lower_forest(&forest, &[0, 1], usize::MAX, &Watch::unlimited()).unwrap();
        for leading in 0..=300 {
            let entity: Vec<bool> = (0..300).map(|feature| feature < leading).collect();
            let answers: Vec<bool> = circuits.iter().map(|circuit| circuit.evaluate(&entity).unwrap()).collect();
            let class = forest.classify(&entity);
            assert_eq!(
                (class, answers),
                (usize::from(leading % 2 == 1 && leading < 300), vec![class == 0, class == 1])
            );
        }
    }
}
