//! Checks determinism by SAT: in each given or-gate, no child is true together with an earlier one.

use super::QueryError;
use super::clauses::Clauses;
use super::verify::SolverLimits;
use crate::circuit::check::nodes_below;
use crate::circuit::{Circuit, Node, NodeId};
use crate::formula::Solver;
use crate::lit::{Lit, Watch};

/// Fails with an entity on which two children of one of these gates are true; returns those that are still undecided.
pub(super) fn check(
    circuit: &Circuit,
    gates: &[NodeId],
    limits: &SolverLimits,
    watch: &Watch<'_>,
) -> Result<Vec<NodeId>, QueryError> {
    let mut clauses = Clauses::new(circuit.variables(), limits.clauses, watch);
    let literals = clauses.nodes(circuit, &nodes_below(circuit, gates))?;
    let mut questions = Vec::new();
    for &id in gates {
        if let Node::Or(children) = circuit.node(id) {
            let mut before: Option<i32> = None;
            for child in children {
                let own = literals[child];
                if let Some(before) = before {
                    questions.push((id, own, before));
                }
                before = Some(before.map_or(own, |before| clauses.either(before, own)));
            }
        }
    }
    let mut solver = Solver::new();
    let lit = |number: i32| Lit::from_dimacs(number).expect("not zero");
    clauses.list.iter().for_each(|clause| solver.add(clause.iter().map(|&number| lit(number))));
    let (mut conflicts_left, mut undecided) = (limits.conflicts, Vec::new());
    for (done, (id, own, before)) in questions.iter().enumerate() {
        watch.stage("proving the gates").count(done as u64, "gates")?;
        if done as u64 * clauses.list.len() as u64 >= limits.visits {
            undecided.push(*id);
            continue;
        }
        match solver.solve_within(&[lit(*own), lit(*before)], &mut conflicts_left, &watch.silent())? {
            Some(false) => {}
            None => undecided.push(*id),
            Some(true) => {
                let bits = solver.model(circuit.variables());
                let entity = bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
                return Err(QueryError::NotDeterministic { node: id.index(), entity });
            }
        }
    }
    undecided.dedup();
    Ok(undecided)
}
