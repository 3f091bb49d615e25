//! Makes a CNF prime and irredundant, and as small as it can.
//!
//! Prime: no literal of a clause can be dropped, i.e. the formula does not imply the shorter clause. Irredundant: no
//! clause is implied by the others. Both are decided by a SAT solver, on formulas of any width:
//! - a clause is implied if the formula has no model under the negations of its literals; the solver's failed
//!   assumptions are an implied part of it at once, and each literal left is tried alone, so a clause of k literals takes
//!   at most k + 1 questions. Being prime depends only on what the formula says, so it survives the next step;
//! - a clause is redundant if the others have no model under the negations of its literals. Clauses are tried from the
//!   longest to the shortest. A solver per batch of about sqrt(m) clauses holds all other clauses outright and those of
//!   the batch behind a switch, which keeps both the clauses loaded and the assumptions made at O(m sqrt(m)).
//!
//! Which primes are chosen decides how small the result gets. With at most 20 mentioned variables the clauses are first
//! replaced by a greedy cover of the truth table (see `cover`), and the solver then guarantees the two properties.

use super::clause::Clause;
use super::cnf::Cnf;
use super::cover::cover;
use super::error::{FormulaError, Phase, Place};
use super::sat::Solver;
use super::table::{Numbering, Table, TableClause};
use crate::lit::{Lit, Stopped, Var, Watch};

/// An equivalent formula over the same variables whose clauses are prime implicates, none implied by the others.
///
/// ```
/// use boolshap::formula::{Clause, Cnf, simplify};
/// use boolshap::lit::Watch;
/// let clauses = [[1, 2], [-1, 2]].map(|numbers| Clause::from_dimacs(&numbers).unwrap());
/// let simple = simplify(&Cnf::from_clauses(2, clauses), &Watch::unlimited()).unwrap();
/// assert_eq!(simple, Cnf::from_clauses(2, [Clause::from_dimacs(&[2]).unwrap()]));
/// ```
pub fn simplify(cnf: &Cnf, watch: &Watch<'_>) -> Result<Cnf, FormulaError> {
    let clauses = cnf.len();
    let stopped =
        |phase, done| move |why| FormulaError::Stopped { why, place: Place::Simplify { clauses, phase, done } };
    // The solver's tables are as long as its largest variable: number the mentioned ones 0, 1, 2...
    let mentioned = cnf.mentioned();
    let mut reduced =
        renumbered(cnf, mentioned.len(), |var| Var::new(mentioned.binary_search(&var).expect("a mentioned variable")));
    reduced.remove_subsumed(watch).map_err(stopped(Phase::Subsumption, 0))?;
    if let Some(numbering) = Numbering::of([&reduced]) {
        reduced = cover_by_table(&reduced, &numbering, watch).map_err(stopped(Phase::Cover, 0))?;
    }
    let reduced = shorten(&reduced, watch).map_err(|(why, done)| stopped(Phase::Shortening, done)(why))?;
    let simple = remove_implied(&reduced, watch).map_err(|(why, done)| stopped(Phase::Removal, done)(why))?;
    Ok(renumbered(&simple, cnf.variables(), |var| mentioned[var.index()]))
}

fn renumbered(cnf: &Cnf, variables: usize, rename: impl Fn(Var) -> Var) -> Cnf {
    let clauses = cnf.clauses().map(|clause| {
        let lits = clause.lits().map(|lit| rename(lit.var()).literal(!lit.is_negative()));
        Clause::new(lits).expect("different variables have different numbers")
    });
    Cnf::from_clauses(variables, clauses)
}

fn cover_by_table(cnf: &Cnf, numbering: &Numbering, watch: &Watch<'_>) -> Result<Cnf, Stopped> {
    let narrow: Vec<TableClause> = cnf.clauses().map(|clause| numbering.narrow(clause)).collect();
    let table = Table::of(numbering.len(), narrow.iter().copied());
    let chosen = cover(&table, &narrow, watch)?;
    Ok(Cnf::from_clauses(cnf.variables(), chosen.into_iter().map(|clause| numbering.widen(clause))))
}

/// Replaces every clause by a prime implicate within it.
fn shorten(cnf: &Cnf, watch: &Watch<'_>) -> Result<Cnf, (Stopped, usize)> {
    let mut solver = Solver::new();
    cnf.clauses().for_each(|clause| solver.add(clause.lits()));
    let mut primes = Cnf::new(cnf.variables());
    for (done, clause) in cnf.clauses().enumerate() {
        let prime = prime_within(clause, &mut solver, watch).map_err(|why| (why, done))?;
        if prime.len() < clause.len() {
            solver.add(prime.lits());
        }
        primes.push(prime);
    }
    primes.remove_subsumed(watch).map_err(|why| (why, cnf.len()))?;
    Ok(primes)
}

fn prime_within(clause: &Clause, solver: &mut Solver, watch: &Watch<'_>) -> Result<Clause, Stopped> {
    // Literals proved necessary are at the front, those not tried yet at the back. The former are in every core.
    let mut against: Vec<Lit> = clause.lits().map(|lit| !lit).collect();
    let mut necessary = 0;
    while necessary < against.len() {
        let tried = against.pop().expect("not all are necessary yet");
        if solver.solve(&against, watch)? {
            against.insert(necessary, tried);
            necessary += 1;
        } else {
            against.retain(|&lit| solver.failed(lit));
        }
    }
    Ok(Clause::new(against.into_iter().map(|lit| !lit)).expect("part of a clause"))
}

/// Removes every clause that those left imply. Takes clauses sorted by length.
fn remove_implied(cnf: &Cnf, watch: &Watch<'_>) -> Result<Cnf, (Stopped, usize)> {
    let clauses: Vec<&Clause> = cnf.clauses().collect();
    let mut keep = vec![true; clauses.len()];
    let batch = clauses.len().isqrt().max(16);
    let mut end = clauses.len();
    while end > 0 {
        let start = end.saturating_sub(batch);
        let mut solver = Solver::new();
        for place in (0..clauses.len()).filter(|&place| keep[place]) {
            let switch = (start..end).contains(&place).then(|| !switch(cnf, place - start));
            solver.add(clauses[place].lits().chain(switch));
        }
        for place in (start..end).rev() {
            let others = (start..end).filter(|&other| other != place && keep[other]);
            let mut assumptions: Vec<Lit> = clauses[place].lits().map(|lit| !lit).collect();
            assumptions.extend(others.map(|other| switch(cnf, other - start)));
            keep[place] = solver.solve(&assumptions, watch).map_err(|why| (why, clauses.len() - place - 1))?;
        }
        end = start;
    }
    let kept = clauses.into_iter().zip(keep).filter(|(_, keep)| *keep);
    Ok(Cnf::from_clauses(cnf.variables(), kept.map(|(clause, _)| clause.clone())))
}

/// The literal beyond the formula's variables that turns a clause of the batch on.
fn switch(cnf: &Cnf, place: usize) -> Lit {
    Var::new(cnf.variables() + place).positive()
}

#[cfg(test)]
mod tests {
    use super::super::cnf::tests::formulas;
    use super::*;
    use proptest::prelude::*;

    fn models(cnf: &Cnf) -> Vec<bool> {
        (0..64u32).map(|row| cnf.holds(&[0, 1, 2, 3, 4, 5].map(|bit| row >> bit & 1 == 1))).collect()
    }

    proptest! {
        /// What wide formulas go through, on formulas small enough for a truth table.
        #[test]
        fn sat_alone_makes_prime_and_irredundant(cnf in formulas(6, 60, 1)) {
            let mut reduced = cnf.clone();
            reduced.remove_subsumed(&Watch::unlimited()).unwrap();
            let primes = shorten(&reduced, &Watch::unlimited()).unwrap();
            let simple = remove_implied(&primes, &Watch::unlimited()).unwrap();
            let expected = models(&cnf);
            prop_assert_eq!(&models(&simple), &expected);
            let clauses: Vec<Clause> = simple.clauses().cloned().collect();
            for (place, clause) in clauses.iter().enumerate() {
                let with = |part: Option<Clause>| {
                    let others = clauses.iter().enumerate().filter(|(other, _)| *other != place);
                    models(&Cnf::from_clauses(6, others.map(|(_, clause)| clause.clone()).chain(part)))
                };
                prop_assert_ne!(&with(None), &expected, "{:?} is redundant", clause);
                for lit in clause.lits() {
                    prop_assert_ne!(&with(Some(clause.without(lit))), &expected, "{:?} is not prime", clause);
                }
            }
        }
    }
}
