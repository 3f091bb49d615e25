//! One cell of a neuron's matrix: "at least t of the first k inputs are convenient", as a CNF.
//!
//! With the k-th input's formula l, the cell above-left a ("t-1 of k-1") and the cell above b ("t of k-1"), the paper
//! writes (l and a) or b. Since b implies a, this is a and (l or b): the clauses of a, and the disjunction of every
//! clause of l with every clause of b. There are two ways to compute it:
//! - by product: all disjunctions are made and the subsumed ones removed. This is best if l is a literal, as in the
//!   first layer. There the cell comes out as all (k-t+1)-subsets of the inputs, which are prime and irredundant
//!   without further work;
//! - by counterexample, if the three formulas together mention few enough variables for a table: for each assignment
//!   that falsifies the cell but none of its clauses so far, a clause of l and a clause of b that it falsifies are
//!   joined (or a clause is taken from a), and the result is shortened to a prime implicate of the cell. This makes
//!   about as many clauses as the cell needs, whereas the product of two formulas of a thousand clauses has a million.

use super::cnf::Cnf;
use super::error::FormulaError;
use super::simplify::simplify;
use super::table::{Numbering, Table, TableClause};
use crate::lit::{Stopped, Watch};

/// From this many disjunctions on, building a table pays off, or calling the SAT solver if there are too many variables
/// for a table.
const MANY: usize = 256;
/// A product is reduced by subsumption each time it has grown by this much.
const SURGE: usize = 1 << 16;
/// The watch is checked each time this many clauses are done.
const STRIDE: usize = 256;

/// Why a cell could not be finished.
pub(super) enum Halt {
    /// It has more clauses than allowed.
    TooMany,
    /// The watch stopped it.
    Stopped(Stopped),
}

impl From<Stopped> for Halt {
    fn from(why: Stopped) -> Self {
        Halt::Stopped(why)
    }
}

/// The CNF of `(input and left) or above`, where `above` implies `left`.
pub(super) fn cell(input: &Cnf, left: &Cnf, above: &Cnf, max_clauses: usize, watch: &Watch<'_>) -> Result<Cnf, Halt> {
    if input.len() <= 1 || input.len() * above.len() < MANY {
        return product(input, left, above, max_clauses, watch);
    }
    if let Some(numbering) = Numbering::of([input, left, above]) {
        return by_counterexample(input, left, above, &numbering, max_clauses, watch);
    }
    let joined = product(input, left, above, max_clauses, watch)?;
    simplify(&joined, watch).map_err(|error| match error {
        FormulaError::Stopped { why, .. } => Halt::Stopped(why),
        other => unreachable!("simplification can only be stopped: {other}"),
    })
}

fn product(input: &Cnf, left: &Cnf, above: &Cnf, max_clauses: usize, watch: &Watch<'_>) -> Result<Cnf, Halt> {
    let mut joined = left.clone();
    let mut reduce_at = max_clauses.saturating_add(1).max(SURGE);
    for (done, mine) in input.clauses().enumerate() {
        if done % STRIDE == 0 {
            watch.check()?;
        }
        above.clauses().filter_map(|theirs| mine.or(theirs)).for_each(|clause| joined.push(clause));
        if joined.len() > reduce_at {
            joined.remove_subsumed(watch)?;
            if joined.len() > max_clauses {
                return Err(Halt::TooMany);
            }
            reduce_at = joined.len() + SURGE;
        }
    }
    joined.remove_subsumed(watch)?;
    if joined.len() > max_clauses { Err(Halt::TooMany) } else { Ok(joined) }
}

fn by_counterexample(
    input: &Cnf,
    left: &Cnf,
    above: &Cnf,
    numbering: &Numbering,
    max_clauses: usize,
    watch: &Watch<'_>,
) -> Result<Cnf, Halt> {
    let (n, variables) = (numbering.len(), input.variables());
    let [input, left, above] =
        [input, left, above].map(|cnf| cnf.clauses().map(|clause| numbering.narrow(clause)).collect::<Vec<_>>());
    let (of_input, of_above) = (Witnesses::new(n, &input), Witnesses::new(n, &above));
    let mut falsified = Table::of(n, left.iter().copied());
    (0..1 << n).filter(|&a| of_input.get(a).is_some() && of_above.get(a).is_some()).for_each(|a| falsified.add(a));

    let mut open = falsified.clone();
    let mut chosen = Vec::new();
    let mut take = |clause: TableClause, open: &mut Table| {
        let prime = falsified.shorten(clause, chosen.len() % n.max(1));
        open.remove(prime);
        chosen.push(prime);
        if chosen.len() > max_clauses {
            return Err(Halt::TooMany);
        }
        if chosen.len().is_multiple_of(STRIDE) { watch.check().map_err(Halt::from) } else { Ok(()) }
    };
    for &clause in &left {
        if open.count(clause) > 0 {
            take(clause, &mut open)?;
        }
    }
    for assignment in 0..1 << n {
        if open.contains(assignment) {
            let (mine, theirs) = (of_input.get(assignment), of_above.get(assignment));
            let joined = mine.zip(theirs).map(|(mine, theirs)| mine.or(theirs));
            take(joined.expect("left is covered, so both others are false here"), &mut open)?;
        }
    }
    Ok(Cnf::from_clauses(variables, chosen.into_iter().map(|clause| numbering.widen(clause))))
}

/// For each assignment, one of the clauses that it falsifies.
struct Witnesses<'a> {
    clauses: &'a [TableClause],
    /// The clause's index plus one; 0 if the assignment falsifies none.
    place: Vec<u32>,
}

impl<'a> Witnesses<'a> {
    fn new(variables: usize, clauses: &'a [TableClause]) -> Self {
        let mut place = vec![0; 1 << variables];
        for (number, clause) in (1..).zip(clauses) {
            let free = ((1 << variables) - 1) & !clause.mask();
            let mut subset = 0u32;
            loop {
                place[(clause.negative | subset) as usize] = number;
                subset = subset.wrapping_sub(free) & free;
                if subset == 0 {
                    break;
                }
            }
        }
        Witnesses { clauses, place }
    }

    fn get(&self, assignment: usize) -> Option<TableClause> {
        (self.place[assignment] as usize).checked_sub(1).map(|place| self.clauses[place])
    }
}
