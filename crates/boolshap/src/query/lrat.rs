//! A checker of LRAT proofs, small enough to be trusted.
//!
//! Each line adds a clause with the numbers of the clauses that it follows from (hints), or deletes clauses. The
//! checker assumes that the new clause is false. Each hint must then have at most one literal that is not false, which
//! becomes true; the last hint must have none. Step by step, this shows that every added clause follows from the
//! original ones (reverse unit propagation); the empty clause shows that they are contradictory. Steps that only
//! preserve satisfiability (RAT) are refused. Cruz-Filipe, Heule, Hunt, Kaufmann and Schneider-Kamp, "Efficient
//! Certified RAT Verification", CADE 2017.

use super::QueryError;
use crate::lit::Watch;
use std::collections::HashMap;
use std::io::BufRead;

/// The number of lines between two checks of the watch.
const LOOK_AFTER: usize = 1 << 12;

/// Checks that a proof in LRAT format shows these clauses, numbered from 1, to be contradictory.
///
/// ```
/// use boolshap::lit::Watch;
/// use boolshap::query::check_lrat;
/// let clauses = [vec![1, 2], vec![-1, 2], vec![-2]];
/// let watch = &Watch::unlimited();
/// assert!(check_lrat(&clauses, "4 2 0 1 2 0\n5 0 4 3 0\n".as_bytes(), watch).is_ok());
/// assert!(check_lrat(&clauses, "5 0 4 3 0\n".as_bytes(), watch).is_err());
/// ```
pub fn check_lrat(clauses: &[Vec<i32>], proof: impl BufRead, watch: &Watch<'_>) -> Result<(), QueryError> {
    let mut known: HashMap<u64, Vec<i32>> =
        clauses.iter().enumerate().map(|(index, clause)| (index as u64 + 1, clause.clone())).collect();
    let variables = clauses.iter().flatten().map(|literal| literal.unsigned_abs()).max().unwrap_or(0) as usize;
    let mut values = Values { truth: vec![0; variables + 1], assigned: Vec::new() };
    let mut last = 0;
    for (index, line) in proof.lines().enumerate() {
        if index % LOOK_AFTER == 0 {
            watch.check()?;
        }
        let number = index + 1;
        last = number;
        let wrong = |problem: String| QueryError::Proof { line: number, problem };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        let mut words = line.split_ascii_whitespace();
        let Some(id) = words.next() else { continue };
        let id: u64 = id.parse().map_err(|_| wrong(format!("'{id}' is not the number of a clause")))?;
        let mut rest = words.clone();
        if rest.next() == Some("d") {
            for word in rest.take_while(|word| *word != "0") {
                let gone: u64 = word.parse().map_err(|_| wrong(format!("'{word}' is not the number of a clause")))?;
                known.remove(&gone).ok_or_else(|| wrong(format!("clause {gone} is deleted, but does not exist")))?;
            }
            continue;
        }
        let numbers = words.map(|word| word.parse::<i64>().map_err(|_| wrong(format!("'{word}' is not a number"))));
        let numbers = numbers.collect::<Result<Vec<i64>, _>>()?;
        let Some(end) = numbers.iter().position(|&literal| literal == 0) else {
            return Err(wrong("the clause has no end".into()));
        };
        let (literals, hints) = (&numbers[..end], &numbers[end + 1..]);
        let Some((0, hints)) = hints.split_last() else {
            return Err(wrong("the line has no end".into()));
        };
        let mut clause = Vec::with_capacity(literals.len());
        for &literal in literals {
            if literal.unsigned_abs() as usize > variables {
                return Err(wrong(format!("there is no variable {}", literal.unsigned_abs())));
            }
            clause.push(literal as i32);
        }
        let follows = propagate(&clause, hints, &known, &mut values);
        values.forget();
        follows.map_err(wrong)?;
        if clause.is_empty() {
            return Ok(());
        }
        if known.insert(id, clause).is_some() {
            return Err(wrong(format!("there is a clause {id} already")));
        }
    }
    Err(QueryError::Proof { line: last, problem: "it ends without a contradiction".into() })
}

/// The assumed values of the variables: 1, -1, or 0 if unassigned.
struct Values {
    truth: Vec<i8>,
    assigned: Vec<usize>,
}

impl Values {
    /// 1 if the literal is true, -1 if it is false, 0 if it is unassigned.
    fn of(&self, literal: i32) -> i8 {
        self.truth[literal.unsigned_abs() as usize] * literal.signum() as i8
    }

    fn assume(&mut self, literal: i32) {
        let variable = literal.unsigned_abs() as usize;
        self.truth[variable] = literal.signum() as i8;
        self.assigned.push(variable);
    }

    fn forget(&mut self) {
        self.assigned.drain(..).for_each(|variable| self.truth[variable] = 0);
    }
}

/// Checks that the hints lead from the negation of a clause to a contradiction.
fn propagate(clause: &[i32], hints: &[i64], known: &HashMap<u64, Vec<i32>>, values: &mut Values) -> Result<(), String> {
    for &literal in clause {
        if values.of(literal) == 1 {
            // The clause contains a literal and its negation.
            return Ok(());
        }
        values.assume(-literal);
    }
    for &hint in hints {
        let id = u64::try_from(hint).map_err(|_| "it uses more than unit propagation (RAT)".to_string())?;
        let used = known.get(&id).ok_or_else(|| format!("there is no clause {id}"))?;
        let mut open = used.iter().filter(|&&literal| values.of(literal) != -1);
        match (open.next(), open.next()) {
            (None, _) => return Ok(()),
            (Some(&unit), None) => values.assume(unit),
            (Some(_), Some(_)) => return Err(format!("clause {id} is not a unit there")),
        }
    }
    Err("the clauses named do not lead to a contradiction".into())
}
