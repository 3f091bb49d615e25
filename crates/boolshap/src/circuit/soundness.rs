//! What every count and score relies on, checked of a circuit that comes from a file or from somebody else's code.
//!
//! Ordered diagrams, which are most of all files, need no sets of variables: where no variable is asked above and below
//! another one at the same time, no path asks one twice. Everything else is checked node by node.

use super::check::{Below, Violation, decomposable, reached, smooth};
use super::determinism::{Determinism, Effort, deterministic};
use super::{Circuit, Node, NodeId};
use crate::lit::Watch;

/// The most variables of which all pairs are looked at: 8 MB.
const MAX_ORDERED: usize = 1 << 13;

/// Checks that a circuit with these roots is decomposable and deterministic, and smooth if it is said to be. Returns the
/// or-gates that are too large to be decided within the effort.
pub fn soundness(
    circuit: &Circuit,
    roots: &[NodeId],
    is_smooth: bool,
    effort: Effort,
) -> Result<Vec<NodeId>, Violation> {
    if !is_smooth && is_ordered(circuit, roots) {
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

/// Whether these are diagrams without gates in which all paths ask their variables in one order.
fn is_ordered(circuit: &Circuit, roots: &[NodeId]) -> bool {
    let variables = circuit.variables();
    if variables > MAX_ORDERED {
        return false;
    }
    // Bit b of row a: variable b is asked right below a.
    let stride = variables.div_ceil(64);
    let mut after = vec![0u64; variables * stride];
    let reached = reached(circuit, roots);
    for (_, node) in circuit.nodes().filter(|(id, _)| reached[id.index()]) {
        match node {
            Node::Constant(_) | Node::Literal(_) => {}
            Node::Decision { var, lo, hi } => {
                for child in [lo, hi] {
                    let next = match circuit.node(child) {
                        Node::Decision { var, .. } => var.index(),
                        Node::Literal(lit) => lit.var().index(),
                        _ => continue,
                    };
                    after[var.index() * stride + next / 64] |= 1 << (next % 64);
                }
            }
            Node::And(_) | Node::Or(_) => return false,
        }
    }
    // Takes away, again and again, a variable that is below no other.
    let below = |var: usize| {
        let row = &after[var * stride..][..stride];
        (0..variables).filter(move |next| row[next / 64] >> (next % 64) & 1 == 1)
    };
    let mut above = vec![0usize; variables];
    (0..variables).for_each(|var| below(var).for_each(|next| above[next] += 1));
    let mut free: Vec<usize> = (0..variables).filter(|&var| above[var] == 0).collect();
    let mut taken = 0;
    while let Some(var) = free.pop() {
        taken += 1;
        for next in below(var) {
            above[next] -= 1;
            if above[next] == 0 {
                free.push(next);
            }
        }
    }
    taken == variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::circuit::check::{decomposability, determinism, smoothness};
    use crate::circuit::samples::{from_table, random_circuit};
    use crate::lit::Var;
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
            prop_assert!(is_ordered(&diagram, &[diagram.root()]));
            // An order is never found where there is none.
            if is_ordered(&circuit, &[circuit.root()]) {
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
