//! Checks the properties that every count and score relies on, for circuits from files or from other code.
//!
//! Ordered diagrams, which most files hold, need no sets of variables: if no variable is tested both above and below
//! another one, no path tests a variable twice. Everything else is checked node by node.

use super::check::{Below, Violation, decomposable, reached, smooth};
use super::determinism::{Determinism, Effort, deterministic};
use super::{Circuit, Node, NodeId};
use crate::lit::{Var, Watch};
use std::collections::HashSet;

/// Up to this many variables, every pair has a bit: 8 MB.
const MAX_BITS: usize = 1 << 13;

/// Checks that a circuit with these roots is decomposable and deterministic, and smooth if it is said to be. Returns the
/// or-gates that are too large to be decided within the effort.
pub fn soundness(
    circuit: &Circuit,
    roots: &[NodeId],
    is_smooth: bool,
    effort: Effort,
) -> Result<Vec<NodeId>, Violation> {
    // Each class may have a different order.
    if !is_smooth && roots.iter().all(|root| is_ordered(circuit, *root)) {
        return Ok(Vec::new());
    }
    let below = Below::of(circuit, roots);
    decomposable(circuit, &below)?;
    if is_smooth {
        smooth(circuit, &below)?;
    }
    match deterministic(circuit, &below, effort, &Watch::unlimited()) {
        Ok(Determinism::Holds) => Ok(Vec::new()),
        Ok(Determinism::Fails(violation)) => Err(violation),
        Ok(Determinism::Undecided(gates)) => Ok(gates),
        Err(_) => unreachable!("nothing stops an unlimited watch"),
    }
}

/// Whether this is a diagram without gates in which all paths test their variables in one common order.
fn is_ordered(circuit: &Circuit, root: NodeId) -> bool {
    let mut after = Pairs::new(circuit.variables());
    let reached = reached(circuit, &[root]);
    for (_, node) in circuit.nodes().filter(|(id, _)| reached[id.index()]) {
        match node {
            Node::Constant(_) | Node::Literal(_) => {}
            Node::Decision { var, lo, hi } => {
                for child in [lo, hi] {
                    match circuit.node(child) {
                        Node::Decision { var: next, .. } => after.insert(var, next),
                        Node::Literal(lit) => after.insert(var, lit.var()),
                        _ => {}
                    }
                }
            }
            Node::And(_) | Node::Or(_) => return false,
        }
    }
    // Topological sort: repeatedly removes a variable that is below no other.
    let variables = circuit.variables();
    let mut above = vec![0usize; variables];
    after.below.iter().flatten().for_each(|&next| above[next as usize] += 1);
    let mut free: Vec<usize> = (0..variables).filter(|&var| above[var] == 0).collect();
    let mut taken = 0;
    while let Some(var) = free.pop() {
        taken += 1;
        for &next in &after.below[var] {
            above[next as usize] -= 1;
            if above[next as usize] == 0 {
                free.push(next as usize);
            }
        }
    }
    taken == variables
}

/// For each variable, the variables tested directly below it, without repetition.
struct Pairs {
    below: Vec<Vec<u32>>,
    /// The pairs already recorded: one bit per pair if there are few variables, otherwise a set of pairs.
    bits: Vec<u64>,
    pairs: HashSet<(usize, usize)>,
}

impl Pairs {
    fn new(variables: usize) -> Self {
        let bits = if variables <= MAX_BITS { variables * variables.div_ceil(64) } else { 0 };
        Pairs { below: vec![Vec::new(); variables], bits: vec![0; bits], pairs: HashSet::new() }
    }

    fn insert(&mut self, var: Var, next: Var) {
        let (var, next) = (var.index(), next.index());
        let is_new = match self.bits.is_empty() {
            true => self.pairs.insert((var, next)),
            false => {
                let word = &mut self.bits[var * self.below.len().div_ceil(64) + next / 64];
                let old = std::mem::replace(word, *word | 1 << (next % 64));
                old != *word
            }
        };
        if is_new {
            self.below[var].push(next as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::circuit::check::{decomposability, determinism, smoothness};
    use crate::circuit::samples::{from_table, random_circuit, widened};
    use proptest::prelude::*;

    proptest! {
        /// Random nodes, sound or not: the same verdict as the checks one by one.
        #[test]
        fn the_verdict_is_that_of_all_checks(
            nodes in proptest::collection::vec((0..6u8, 0..4usize, any::<[u8; 3]>()), 1..14), is_smooth in any::<bool>()
        ) {
            let mut builder = CircuitBuilder::new(4).unwrap();
            for (kind, v, children) in nodes {
                let id = |child: u8| NodeId::new(child as usize % builder.len().max(1));
                let children = children.map(id);
                let node = match kind {
                    2..6 if builder.is_empty() => Node::Constant(true),
                    0 => Node::Constant(v % 2 == 0),
                    1 => Node::Literal(Var::new(v).literal(children[0].index() % 2 == 0)),
                    2 | 3 => Node::Decision { var: Var::new(v), lo: children[0], hi: children[1] },
                    4 => Node::And(&children[..1 + v % 3]),
                    _ => Node::Or(&children[..1 + v % 3]),
                };
                builder.push(node).unwrap();
            }
            let root = NodeId::new(builder.len() - 1);
            let circuit = builder.finish(root).unwrap();
            let found = soundness(&circuit, &[root], is_smooth, Effort::default());
            let decided = determinism(&circuit, Effort::default(), &Watch::unlimited()).unwrap().verdict();
            let holds = decomposability(&circuit).is_ok() && decided == Some(true);
            let holds = holds && (!is_smooth || smoothness(&circuit).is_ok());
            prop_assert_eq!(found.is_ok(), holds, "{:?}", found);
        }

        #[test]
        fn ordered_diagrams_need_no_sets(seed in any::<u64>(), (circuit, _) in random_circuit(6)) {
            let diagram = from_table(6, &[seed]);
            prop_assert!(is_ordered(&diagram, diagram.root()));
            let wide = widened(&diagram, MAX_BITS + 1);
            prop_assert!(is_ordered(&wide, wide.root()));
            // No order is reported where none exists.
            if is_ordered(&circuit, circuit.root()) {
                prop_assert_eq!(decomposability(&circuit), Ok(()));
            }
        }
    }

    #[test]
    fn every_root_is_checked() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let [x, y] = [0, 1].map(|v| builder.literal(Var::new(v).positive()).unwrap());
        let overlapping = builder.or(&[x, y]).unwrap();
        let twice = builder.decision(Var::new(0), x, y).unwrap();
        let circuit = builder.finish(x).unwrap();
        let check = |roots: &[NodeId]| soundness(&circuit, roots, false, Effort::READING);
        assert_eq!(check(&[x, y]), Ok(Vec::new()));
        assert!(matches!(check(&[x, overlapping]), Err(Violation::Overlap { .. })));
        assert!(matches!(check(&[x, twice]), Err(Violation::SharedVariable { .. })));
    }
}
