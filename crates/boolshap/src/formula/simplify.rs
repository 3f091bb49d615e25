//! Makes a CNF prime, irredundant and small.
//!
//! Prime: no literal of a clause can be dropped, because the formula does not imply the shorter clause. Irredundant: no
//! clause is implied by the others. Both are decided by a SAT solver, for formulas of any width:
//! - a clause is implied if the formula has no model under the negations of its literals; the solver's failed
//!   assumptions immediately give an implied part of it, and each remaining literal is tried alone, so a clause of k
//!   literals takes at most k + 1 calls. Whether a clause is prime depends only on the function, so the next step does
//!   not change it;
//! - a clause is redundant if the others have no model under the negations of its literals. Clauses are tried from the
//!   last to the first, that is, the longest or the least useful ones first. For each batch of about sqrt(m) clauses, a
//!   solver holds all other clauses permanently and each clause of the batch with a switch literal, which keeps the
//!   number of loaded clauses and of assumptions at O(m sqrt(m)).
//!
//! Every assignment that the solver finds is also used on other clauses (see `necessity`), which saves most of the
//! calls.
//!
//! The choice of primes decides how small the result gets. With at most 20 mentioned variables they come from a greedy
//! cover of the truth table instead (see `cover`), which finds primes itself, and the solver only removes clauses.

use super::clause::Clause;
use super::cnf::Cnf;
use super::cover::cover;
use super::error::{FormulaError, Phase, Place};
use super::necessity::{Clauses, Literals};
use super::sat::Solver;
use super::table::{Numbering, Table, TableClause};
use crate::lit::{Lit, Stopped, Var, Watch};

/// How many of the models found while shortening are kept to prove clauses necessary.
const MODELS: usize = 64;

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
    // The solver's tables are as long as its largest variable, so the mentioned ones are renumbered from 0.
    let mentioned = cnf.mentioned();
    let mut reduced =
        renumbered(cnf, mentioned.len(), |var| Var::new(mentioned.binary_search(&var).expect("a mentioned variable")));
    reduced.remove_subsumed(watch).map_err(stopped(Phase::Subsumption, 0))?;
    let (primes, models) = match Numbering::of([&reduced]) {
        Some(numbering) => cover_by_table(&reduced, &numbering, watch).map_err(stopped(Phase::Cover, 0))?,
        None => shorten(&reduced, watch).map_err(|(why, done)| stopped(Phase::Shortening, done)(why))?,
    };
    let simple = remove_implied(&primes, models, watch).map_err(|(why, done)| stopped(Phase::Removal, done)(why))?;
    Ok(renumbered(&simple, cnf.variables(), |var| mentioned[var.index()]))
}

fn renumbered(cnf: &Cnf, variables: usize, rename: impl Fn(Var) -> Var) -> Cnf {
    let clauses = cnf.clauses().map(|clause| {
        let lits = clause.lits().map(|lit| rename(lit.var()).literal(!lit.is_negative()));
        Clause::new(lits).expect("different variables have different numbers")
    });
    Cnf::from_clauses(variables, clauses)
}

/// A value for each variable.
type Model = Vec<bool>;

/// Replaces the clauses by prime implicates chosen from the truth table. Also returns some models of the formula.
fn cover_by_table(cnf: &Cnf, numbering: &Numbering, watch: &Watch<'_>) -> Result<(Cnf, Vec<Model>), Stopped> {
    let narrow: Vec<TableClause> = cnf.clauses().map(|clause| numbering.narrow(clause)).collect();
    let table = Table::of(numbering.len(), narrow.iter().copied());
    let chosen = cover(&table, &narrow, watch)?;
    // Variables that only subsumed clauses mentioned are not in the table: they may have any value.
    let spread = (1usize << numbering.len()).div_ceil(MODELS);
    let models = (0..1 << numbering.len()).step_by(spread).filter(|&row| !table.contains(row));
    let models = models.map(|row| (0..cnf.variables()).map(|var| numbering.value(row, Var::new(var))).collect());
    let primes = Cnf::from_clauses(cnf.variables(), chosen.into_iter().map(|clause| numbering.widen(clause)));
    Ok((primes, models.collect()))
}

/// Replaces every clause by a prime implicate within it. Also returns some models of the formula.
fn shorten(cnf: &Cnf, watch: &Watch<'_>) -> Result<(Cnf, Vec<Model>), (Stopped, usize)> {
    let mut solver = Solver::new();
    let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
    clauses.iter().for_each(|lits| solver.add(lits.iter().copied()));
    let mut necessary = Literals::new(&clauses);
    let mut models: Vec<Model> = Vec::new();
    let mut primes = Cnf::new(cnf.variables());
    for (done, lits) in clauses.iter().enumerate() {
        let (proved, open): (Vec<_>, Vec<_>) =
            lits.iter().zip(necessary.proved(done)).partition(|(_, proved)| **proved);
        let mut known = proved.len();
        // The negations of the literals proved necessary, which are in every core, then of those not tried yet.
        let mut against: Vec<Lit> = proved.into_iter().chain(open).map(|(&lit, _)| !lit).collect();
        while known < against.len() {
            let tried = against.pop().expect("not all are known yet");
            if solver.solve(&against, watch).map_err(|why| (why, done))? {
                against.insert(known, tried);
                known += 1;
                let model = solver.model(cnf.variables());
                necessary.learn(&clauses, done + 1, &model);
                models.truncate(MODELS - 1);
                models.insert(0, model);
            } else {
                against.retain(|&lit| solver.failed(lit));
            }
        }
        if against.len() < lits.len() {
            solver.add(against.iter().map(|&lit| !lit));
        }
        primes.push(Clause::new(against.into_iter().map(|lit| !lit)).expect("part of a clause"));
    }
    primes.remove_subsumed(watch).map_err(|why| (why, cnf.len()))?;
    Ok((primes, models))
}

/// Removes every clause implied by the remaining ones, trying the last ones first. `models` of the formula save calls
/// to the solver.
fn remove_implied(cnf: &Cnf, models: Vec<Model>, watch: &Watch<'_>) -> Result<Cnf, (Stopped, usize)> {
    let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
    let mut state = Clauses::new(&clauses, cnf.variables());
    for mut model in models {
        watch.check().map_err(|why| (why, 0))?;
        state.learn_from_model(&mut model);
    }
    let batch = clauses.len().isqrt().max(16);
    let mut end = clauses.len();
    while end > 0 {
        // Everything from `end` on is decided. The batch is the last undecided clauses before it.
        let open: Vec<usize> = (0..end).rev().filter(|&place| !state.is_proved(place)).take(batch).collect();
        let Some(&start) = open.last() else { break };
        let mut solver = Solver::new();
        for (place, lits) in clauses.iter().enumerate().filter(|(place, _)| state.is_present(*place)) {
            // `open` is descending.
            let slot = open.binary_search_by(|other| place.cmp(other)).ok();
            let switch = slot.map(|slot| !switch(cnf, slot));
            solver.add(lits.iter().copied().chain(switch));
        }
        for &place in open.iter() {
            if state.is_proved(place) {
                continue;
            }
            let others = (0..).zip(&open).filter(|&(_, &other)| other != place && state.is_present(other));
            let mut assumptions: Vec<Lit> = clauses[place].iter().map(|&lit| !lit).collect();
            assumptions.extend(others.map(|(slot, _)| switch(cnf, slot)));
            if solver.solve(&assumptions, watch).map_err(|why| (why, clauses.len() - place - 1))? {
                state.learn_from_counterexample(place, &mut solver.model(cnf.variables()));
            } else {
                state.remove(place);
            }
        }
        end = start;
    }
    let kept = cnf.clauses().enumerate().filter(|(place, _)| state.is_present(*place));
    Ok(Cnf::from_clauses(cnf.variables(), kept.map(|(_, clause)| clause.clone())))
}

/// The literal, beyond the formula's variables, that enables a clause of the batch.
fn switch(cnf: &Cnf, place: usize) -> Lit {
    Var::new(cnf.variables() + place).positive()
}

#[cfg(test)]
mod tests {
    use super::super::cnf::tests::formulas;
    use super::*;
    use proptest::prelude::*;

    fn table(cnf: &Cnf) -> Vec<bool> {
        (0..64u32).map(|row| cnf.holds(&[0, 1, 2, 3, 4, 5].map(|bit| row >> bit & 1 == 1))).collect()
    }

    proptest! {
        /// The steps for wide formulas, on formulas small enough for a truth table.
        #[test]
        fn sat_alone_makes_prime_and_irredundant(cnf in formulas(6, 60, 1)) {
            let mut reduced = cnf.clone();
            reduced.remove_subsumed(&Watch::unlimited()).unwrap();
            let (primes, models) = shorten(&reduced, &Watch::unlimited()).unwrap();
            let simple = remove_implied(&primes, models, &Watch::unlimited()).unwrap();
            let expected = table(&cnf);
            prop_assert_eq!(&table(&simple), &expected);
            let clauses: Vec<Clause> = simple.clauses().cloned().collect();
            for (place, clause) in clauses.iter().enumerate() {
                let with = |part: Option<Clause>| {
                    let others = clauses.iter().enumerate().filter(|(other, _)| *other != place);
                    table(&Cnf::from_clauses(6, others.map(|(_, clause)| clause.clone()).chain(part)))
                };
                prop_assert_ne!(&with(None), &expected, "{:?} is redundant", clause);
                for lit in clause.lits() {
                    prop_assert_ne!(&with(Some(clause.without(lit))), &expected, "{:?} is not prime", clause);
                }
            }
        }
    }
}
