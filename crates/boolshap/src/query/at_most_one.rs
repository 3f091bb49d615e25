//! Determinism by SAT: for every or-gate, that no child is true together with one before it.

use super::QueryError;
use super::clauses::Clauses;
use crate::circuit::{Circuit, Node};
use crate::formula::Solver;
use crate::lit::{Lit, Watch};

/// Fails with an entity on which two children of an or-gate are true.
pub(super) fn check(circuit: &Circuit, max_clauses: usize, watch: &Watch<'_>) -> Result<(), QueryError> {
    let mut clauses = Clauses::new(circuit.variables(), max_clauses, watch);
    let literals = clauses.circuit(circuit)?;
    let mut questions = Vec::new();
    for id in circuit.reachable() {
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
    for (done, (id, own, before)) in questions.iter().enumerate() {
        watch.step(done as u64, questions.len() as u64)?;
        if solver.solve(&[lit(*own), lit(*before)], &watch.silent())? {
            let bits = solver.model(circuit.variables());
            let entity = bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
            return Err(QueryError::NotDeterministic { node: id.index(), entity });
        }
    }
    Ok(())
}
