//! Finds a model of clauses, or a proof that they have none, by CaDiCaL within limits.
//!
//! A proof is trimmed: it keeps only the learned clauses that the contradiction depends on, in their order and without
//! deletions.

use super::QueryError;
use super::miter::write_formula;
use crate::data::SpareFolder;
use crate::formula::slice_of;
use crate::lit::Watch;
use cadical_sys::{CaDiCal, Status};
use std::collections::HashSet;

/// The most conflicts between two checks of the watch.
const SLICE: i32 = 500;

/// The solver's result.
pub(super) enum Found {
    /// Values of the first variables.
    Values(Vec<bool>),
    /// No model exists, with the proof if requested.
    Contradiction(Option<String>),
}

/// The values of the first variables in a model of the clauses, or a proof that they have no model.
pub(super) fn solve(
    clauses: &[Vec<i32>],
    variables: usize,
    prove: bool,
    conflicts: u64,
    watch: &Watch<'_>,
) -> Result<Found, QueryError> {
    let wrong = |problem: String| QueryError::ProofFile { path: "the proof".into(), problem };
    let mut solver = CaDiCal::new();
    let mut kept = None;
    if prove {
        let folder = SpareFolder::new().map_err(|error| wrong(error.to_string()))?;
        let (formula, proof) = (folder.path().join("f.cnf"), folder.path().join("f.lrat"));
        write_formula(clauses, &formula).map_err(|error| wrong(error.to_string()))?;
        let text = |path: &std::path::Path| {
            path.to_str().map(str::to_string).ok_or_else(|| wrong("its name is not UTF-8".into()))
        };
        solver.set("lrat", 1);
        solver.set("binary", 0);
        if !solver.trace_proof2(&text(&proof)?) {
            return Err(wrong("it cannot be written".into()));
        }
        // Only clauses read from a file have the numbers 1, 2, 3, ... in the proof.
        solver.read_dimacs2(&text(&formula)?, &mut 0, 2).map_err(wrong)?;
        kept = Some((folder, proof));
    } else {
        for clause in clauses {
            clause.iter().for_each(|&literal| solver.add(literal));
            solver.add(0);
        }
    }
    let mut spent = 0;
    let slice = slice_of(clauses.len(), SLICE);
    loop {
        watch.check()?;
        solver.limit("conflicts", slice);
        match solver.solve() {
            Status::SATISFIABLE => {
                let value = |variable: usize| solver.val(variable as i32 + 1) > 0;
                return Ok(Found::Values((0..variables).map(value).collect()));
            }
            Status::UNSATISFIABLE => break,
            Status::UNKNOWN => {
                spent += slice as u64;
                if spent > conflicts {
                    return Err(QueryError::TooManyConflicts { conflicts });
                }
            }
        }
    }
    let Some((_folder, path)) = kept else { return Ok(Found::Contradiction(None)) };
    solver.close_proof_trace(false);
    let proof = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    Ok(Found::Contradiction(Some(trimmed(&proof))))
}

/// The lines of a proof that its contradiction depends on.
fn trimmed(proof: &str) -> String {
    let mut needed: HashSet<&str> = HashSet::new();
    let mut kept: Vec<&str> = Vec::new();
    for line in proof.lines().rev() {
        let mut words = line.split_ascii_whitespace();
        let (Some(id), Some(next)) = (words.next(), words.clone().next()) else { continue };
        let is_last = kept.is_empty() && next == "0";
        if next == "d" || !(is_last || needed.contains(id)) {
            continue;
        }
        kept.push(line);
        needed.extend(words.skip_while(|word| *word != "0").skip(1).filter(|word| *word != "0"));
    }
    kept.reverse();
    kept.iter().flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::check_lrat;

    #[test]
    fn a_trimmed_proof_is_still_one() {
        let proof = "5 3 0 1 0\n6 2 0 1 2 0\n6 d 5 0\n7 0 6 3 0\n";
        assert_eq!(trimmed(proof), "6 2 0 1 2 0\n7 0 6 3 0\n");
    }

    #[test]
    fn pigeons_do_not_fit() {
        let watch = &Watch::unlimited();
        let place = |pigeon: i32, hole: i32| 4 * pigeon + hole + 1;
        let mut clauses: Vec<Vec<i32>> = (0..5).map(|p| (0..4).map(|h| place(p, h)).collect()).collect();
        for hole in 0..4 {
            for pigeon in 0..5 {
                clauses.extend((0..pigeon).map(|other| vec![-place(pigeon, hole), -place(other, hole)]));
            }
        }
        let Found::Contradiction(Some(proof)) = solve(&clauses, 20, true, u64::MAX, watch).unwrap() else { panic!() };
        check_lrat(&clauses, proof.as_bytes(), watch).unwrap();
        clauses.remove(0);
        assert!(check_lrat(&clauses, proof.as_bytes(), watch).is_err());
        let Found::Values(values) = solve(&clauses, 20, true, u64::MAX, watch).unwrap() else { panic!() };
        let holds = |&literal: &i32| values[literal.unsigned_abs() as usize - 1] == (literal > 0);
        assert!(clauses.iter().all(|clause| clause.iter().any(holds)));
    }
}
