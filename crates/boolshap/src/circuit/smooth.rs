//! Smoothness: all children of an or-gate mention the same variables.
//!
//! Second half of Algorithm 1 of Bertossi and León, "Efficient Computation of Shap Explanation Scores for Neural
//! Network Classifiers via Knowledge Compilation": a child that does not mention v becomes `child and (v or not v)`.
//! The paper recurses into a tree; here a shared node is smoothed once, each `v or not v` exists once, and equal chains
//! are shared, so the cost is at most edges times variables. Missing variables are added in ascending order, each with
//! an and-gate of two children, so that a circuit of fan-in 2 keeps this fan-in.
//!
//! A decision node is kept, and its branches are extended to the same variables; a false branch is not extended,
//! because it disappears when the node is written as gates. Variables that the root does not mention are not added.

use super::fan_in::{Complements, fold_gates};
use super::mentioned::MAX_SET_WORDS;
use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId, VariableSets};
use crate::lit::{Var, Watch};

/// The watch is checked each time this many nodes are done.
const WATCHED: usize = 256;

/// The paper's Algorithm 1: an equivalent circuit that is smooth, has at most two children per gate and no decision
/// nodes (dDBCSFi(2)).
///
/// ```
/// use boolshap::circuit::{CircuitBuilder, check, paper_form};
/// use boolshap::lit::Var;
/// // The paper's own example: (x1 and x2 and x3) or (x2 and not x3).
/// let mut builder = CircuitBuilder::new(3)?;
/// let [x1, x2, x3] = [0, 1, 2].map(|v| builder.literal(Var::new(v).positive()));
/// let (x1, x2, x3) = (x1?, x2?, x3?);
/// let not_x3 = builder.literal(Var::new(2).negative())?;
/// let left = builder.and(&[x1, x2, x3])?;
/// let right = builder.and(&[x2, not_x3])?;
/// let root = builder.or(&[left, right])?;
/// let smooth = paper_form(&builder.finish(root)?)?;
/// assert_eq!((check::smoothness(&smooth), check::fan_in(&smooth, 2)), (Ok(()), Ok(())));
/// // ((x1 and x2) and x3) or ((x2 and not x3) and (x1 or not x1))
/// assert_eq!(smooth.counts().tree_nodes, 13u8.into());
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub fn paper_form(circuit: &Circuit) -> Result<Circuit, CircuitError> {
    paper_form_within(circuit, usize::MAX, &Watch::unlimited())
}

/// The same with limits: smoothing can multiply the number of nodes by the number of variables.
pub fn paper_form_within(circuit: &Circuit, max_nodes: usize, watch: &Watch<'_>) -> Result<Circuit, CircuitError> {
    smooth_within(&fold_gates(circuit, Complements::Merge)?, max_nodes, watch)
}

/// An equivalent circuit in which all children of an or-gate, and both branches of a decision unless one is false,
/// mention the same variables. Constants are simplified: only the root or a branch of a decision can be one.
pub fn smooth(circuit: &Circuit) -> Result<Circuit, CircuitError> {
    smooth_within(circuit, usize::MAX, &Watch::unlimited())
}

/// The same with limits.
pub fn smooth_within(circuit: &Circuit, max_nodes: usize, watch: &Watch<'_>) -> Result<Circuit, CircuitError> {
    smooth_over(circuit, |_| true, max_nodes, watch)
}

/// The same for some of the variables only.
pub(crate) fn smooth_over(
    circuit: &Circuit,
    counts: impl Fn(Var) -> bool,
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Circuit, CircuitError> {
    let uses = circuit.uses();
    let mut filler = Filler {
        builder: CircuitBuilder::new(circuit.variables())?,
        sets: VariableSets::new(circuit.variables()),
        counts: (0..circuit.variables()).map(|var| counts(Var::new(var))).collect(),
    };
    let limit = max_nodes.min(MAX_SET_WORDS / filler.sets.stride());
    let mut smoothed = vec![circuit.root(); circuit.stored_nodes()];
    let mut children = Vec::new();
    for (id, node) in circuit.nodes().filter(|(id, _)| uses[id.index()] > 0) {
        children.clear();
        children.extend(node.children().map(|child| smoothed[child.index()]));
        smoothed[id.index()] = match node {
            Node::Constant(value) => filler.builder.constant(value)?,
            Node::Literal(lit) => filler.builder.literal(lit)?,
            Node::And(_) => filler.builder.conjoin(&children)?,
            Node::Or(_) => {
                // A true child makes the gate true, and false ones are dropped: neither is extended.
                if children.iter().any(|&child| filler.is_constant(child, true)) {
                    filler.builder.constant(true)?
                } else {
                    children.retain(|&child| !filler.is_constant(child, false));
                    filler.level(&mut children)?;
                    filler.builder.disjoin(&children)?
                }
            }
            Node::Decision { var, .. } => {
                if children.iter().all(|&child| filler.is_constant(child, false)) {
                    children[0]
                } else {
                    if !children.iter().any(|&child| filler.is_constant(child, false)) {
                        filler.level(&mut children)?;
                    }
                    filler.builder.decision(var, children[0], children[1])?
                }
            }
        };
        filler.take_in();
        if filler.builder.len() > limit {
            let (done, total) = (id.index() + 1, circuit.stored_nodes());
            return Err(CircuitError::NodeLimit { doing: "smoothing", limit, done, total });
        }
        if id.index().is_multiple_of(WATCHED) {
            watch.stage("smoothing").step(id.index() as u64, circuit.stored_nodes() as u64)?;
        }
    }
    filler.builder.finish(smoothed[circuit.root().index()])?.compacted()
}

/// A builder that tracks the variables of each node.
struct Filler {
    builder: CircuitBuilder,
    sets: VariableSets,
    /// Which variables are added where they are missing.
    counts: Vec<bool>,
}

impl Filler {
    fn is_constant(&self, id: NodeId, value: bool) -> bool {
        self.builder.node(id) == Node::Constant(value)
    }

    /// Records the variables of the nodes built since the last call.
    fn take_in(&mut self) {
        for index in self.sets.len()..self.builder.len() {
            self.sets.push(self.builder.node(NodeId::new(index)));
        }
    }

    /// Makes all these nodes mention the same variables, by adding a tautology for each missing one.
    fn level(&mut self, nodes: &mut [NodeId]) -> Result<(), CircuitError> {
        let mut union = vec![0; self.sets.stride()];
        for &node in nodes.iter() {
            for (word, &mentioned) in union.iter_mut().zip(self.sets.words(node)) {
                *word |= mentioned;
            }
        }
        for node in nodes {
            let missing = self.sets.missing_of(*node, &union);
            let missing: Vec<Var> = missing.filter(|var| self.counts[var.index()]).collect();
            for var in missing {
                let (yes, no) = (self.builder.literal(var.positive())?, self.builder.literal(var.negative())?);
                let either = self.builder.or(&[yes, no])?;
                *node = self.builder.conjoin(&[*node, either])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::check;
    use crate::circuit::samples::{from_table, random_circuit};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_steps_keep_the_function_and_reach_the_form((circuit, table) in random_circuit(7)) {
            let alone = smooth(&circuit).unwrap();
            prop_assert_eq!(alone.truth_table().unwrap(), table.clone());
            prop_assert_eq!(check::smoothness(&alone), Ok(()));
            prop_assert_eq!(check::decomposability(&alone), Ok(()));
            let narrowed = super::super::fan_in_two(&alone).unwrap();
            prop_assert_eq!(check::smoothness(&narrowed), Ok(()));

            let paper = paper_form(&circuit).unwrap();
            prop_assert_eq!(paper.truth_table().unwrap(), table);
            prop_assert_eq!(check::smoothness(&paper), Ok(()));
            prop_assert_eq!(check::fan_in(&paper, 2), Ok(()));
            prop_assert_eq!(check::decomposability(&paper), Ok(()));
            let determinism = check::determinism(&paper, check::Effort::default(), &Watch::unlimited());
            prop_assert_eq!(determinism.unwrap().verdict(), Some(true));
            let decisions = paper.nodes().filter(|(_, node)| matches!(node, Node::Decision { .. })).count();
            prop_assert_eq!(decisions, 0);
            prop_assert!(paper_form(&paper).unwrap().counts().tree_nodes <= paper.counts().tree_nodes);
        }
    }

    #[test]
    fn constants_literals_and_unused_variables() {
        for value in [false, true] {
            let constant = paper_form(&from_table(3, &[if value { 255 } else { 0 }])).unwrap();
            assert_eq!((constant.node(constant.root()), constant.variables()), (Node::Constant(value), 3));
            assert_eq!(constant.stored_nodes(), 1);
        }
        let literal = paper_form(&from_table(3, &[0b0011_0011])).unwrap();
        assert_eq!(literal.node(literal.root()), Node::Literal(Var::new(1).negative()));
        assert_eq!(literal.model_count(), 4u8.into());
    }

    #[test]
    fn a_limit_error_reports_the_progress() {
        // A chain of decisions, each with a branch that lacks all the variables below.
        let mut builder = CircuitBuilder::new(600).unwrap();
        let yes = builder.constant(true).unwrap();
        let chain = |root: Result<NodeId, CircuitError>, v| builder.decision(Var::new(v), yes, root?);
        let root = (0..600).rev().fold(Ok(yes), chain).unwrap();
        let circuit = builder.finish(root).unwrap();
        let whole = smooth(&circuit).unwrap().stored_nodes();
        let watch = Watch::unlimited();
        let error = smooth_within(&circuit, whole / 2, &watch).unwrap_err();
        let stated = matches!(error, CircuitError::NodeLimit { done, total: 601, .. } if (300..601).contains(&done));
        assert!(stated, "{error}");
        let late = watch.timeout(std::time::Duration::ZERO);
        assert!(matches!(paper_form_within(&circuit, whole, &late), Err(CircuitError::Stopped(_))));
    }

    #[test]
    fn an_or_gate_over_true_is_true() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let (no, yes) = (builder.constant(false).unwrap(), builder.constant(true).unwrap());
        let x = builder.literal(Var::new(0).positive()).unwrap();
        let root = builder.or(&[no, x, yes]).unwrap();
        let circuit = smooth(&builder.finish(root).unwrap()).unwrap();
        assert_eq!(circuit.node(circuit.root()), Node::Constant(true));
    }
}
