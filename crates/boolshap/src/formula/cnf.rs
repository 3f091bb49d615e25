//! A formula in conjunctive normal form: a number of variables and a list of clauses.
//!
//! Subsumption: a clause whose literals include those of another is redundant. A clause can only be subsumed by a
//! shorter one or by an equal one, so the clauses are processed by length and each is compared with the strictly
//! shorter ones that were kept. In formulas of at most 64 variables a comparison takes two word operations, so every
//! pair is compared; in wider ones a kept clause is stored under its rarest literal, and each clause only searches the
//! lists of its own literals.

use std::collections::HashMap;

use super::clause::Clause;
use crate::lit::{Lit, Stopped, Var, Watch};

/// Up to this many variables every pair of clauses is compared.
const INLINE: usize = 64;
/// The watch is checked each time this many clauses are done.
const STRIDE: usize = 1024;

/// A conjunction of [clauses](Clause) over the variables 0 up to [`Cnf::variables`]. Without clauses it is true.
///
/// ```
/// use boolshap::formula::{Clause, Cnf};
/// let mut cnf = Cnf::new(2);
/// cnf.push(Clause::from_dimacs(&[1, 2]).unwrap());
/// assert!(cnf.holds(&[false, true]) && !cnf.holds(&[false, false]));
/// assert_eq!((cnf.len(), cnf.literals()), (1, 2));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cnf {
    variables: usize,
    clauses: Vec<Clause>,
}

impl Cnf {
    /// The formula without clauses, which is true.
    pub fn new(variables: usize) -> Self {
        Cnf { variables, clauses: Vec::new() }
    }

    /// The formula with the empty clause, which is false.
    pub fn falsum(variables: usize) -> Self {
        Cnf { variables, clauses: vec![Clause::empty()] }
    }

    /// The formula of these clauses; the number of variables is raised if a clause mentions a higher one.
    pub fn from_clauses(variables: usize, clauses: impl IntoIterator<Item = Clause>) -> Self {
        let mut cnf = Cnf::new(variables);
        clauses.into_iter().for_each(|clause| cnf.push(clause));
        cnf
    }

    /// Adds a clause, raising the number of variables if necessary.
    pub fn push(&mut self, clause: Clause) {
        if let Some(last) = clause.lits().last() {
            self.variables = self.variables.max(last.var().index() + 1);
        }
        self.clauses.push(clause);
    }

    /// The number of variables, whether clauses mention them or not.
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// The clauses in their order.
    pub fn clauses(&self) -> std::slice::Iter<'_, Clause> {
        self.clauses.iter()
    }

    /// The number of clauses.
    pub fn len(&self) -> usize {
        self.clauses.len()
    }

    /// Whether it has no clauses and is true.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The total number of literals.
    pub fn literals(&self) -> usize {
        self.clauses.iter().map(Clause::len).sum()
    }

    /// The variables that clauses mention, ascending.
    pub fn mentioned(&self) -> Vec<Var> {
        let mut vars: Vec<Var> = Vec::new();
        for clause in &self.clauses {
            vars.extend(clause.lits().map(Lit::var));
            if vars.len() > 4 * STRIDE && vars.len() > 2 * self.variables {
                vars.sort_unstable();
                vars.dedup();
            }
        }
        vars.sort_unstable();
        vars.dedup();
        vars
    }

    /// Whether an assignment, with one value per variable, makes every clause true.
    ///
    /// # Panics
    /// If a clause mentions a variable without a value.
    pub fn holds(&self, values: &[bool]) -> bool {
        self.clauses.iter().all(|clause| clause.holds(values))
    }

    /// Removes every clause that another one subsumes, and repetitions; the rest is sorted by length.
    pub fn remove_subsumed(&mut self, watch: &Watch<'_>) -> Result<(), Stopped> {
        self.clauses.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        self.clauses.dedup();
        self.clauses = if self.variables <= INLINE {
            keep_by_comparing(std::mem::take(&mut self.clauses), watch)?
        } else {
            keep_by_lookup(std::mem::take(&mut self.clauses), watch)?
        };
        Ok(())
    }
}

/// The clauses must be distinct and sorted by length.
fn keep_by_comparing(clauses: Vec<Clause>, watch: &Watch<'_>) -> Result<Vec<Clause>, Stopped> {
    let mut kept: Vec<Clause> = Vec::new();
    let (mut length, mut shorter) = (0, 0);
    for (done, clause) in clauses.into_iter().enumerate() {
        if done % STRIDE == 0 {
            watch.check()?;
        }
        if clause.len() > length {
            (length, shorter) = (clause.len(), kept.len());
        }
        if !kept[..shorter].iter().any(|short| short.subsumes(&clause)) {
            kept.push(clause);
        }
    }
    Ok(kept)
}

/// The clauses must be distinct and sorted by length.
fn keep_by_lookup(clauses: Vec<Clause>, watch: &Watch<'_>) -> Result<Vec<Clause>, Stopped> {
    let mut frequency: HashMap<Lit, usize> = HashMap::new();
    for lit in clauses.iter().flat_map(Clause::lits) {
        *frequency.entry(lit).or_default() += 1;
    }
    let mut kept: Vec<Clause> = Vec::new();
    let mut under: HashMap<Lit, Vec<usize>> = HashMap::new();
    for (done, clause) in clauses.into_iter().enumerate() {
        if done % STRIDE == 0 {
            watch.check()?;
        }
        if kept.first().is_some_and(Clause::is_empty) {
            break;
        }
        let candidates = clause.lits().filter_map(|lit| under.get(&lit)).flatten();
        if !candidates.into_iter().any(|&place| kept[place].subsumes(&clause)) {
            if let Some(rarest) = clause.lits().min_by_key(|lit| frequency[lit]) {
                under.entry(rarest).or_default().push(kept.len());
            }
            kept.push(clause);
        }
    }
    Ok(kept)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Random formulas with few enough variables for truth tables; every variable index is multiplied by `spread`.
    pub(crate) fn formulas(variables: usize, clauses: usize, spread: usize) -> impl Strategy<Value = Cnf> {
        let lit = (0..variables, any::<bool>()).prop_map(move |(var, sign)| Var::new(var * spread).literal(sign));
        let clause = prop::collection::vec(lit, 0..6);
        prop::collection::vec(clause, 0..clauses).prop_map(move |lists| {
            // Empty clauses make a formula trivial: allow one only in first place.
            let some = lists.iter().enumerate().filter(|(place, list)| *place == 0 || !list.is_empty());
            Cnf::from_clauses((variables - 1) * spread + 1, some.filter_map(|(_, list)| Clause::new(list.clone())))
        })
    }

    fn subsumption_is_complete_and_keeps_the_rest(cnf: Cnf) {
        let mut reduced = cnf.clone();
        reduced.remove_subsumed(&Watch::unlimited()).unwrap();
        for clause in cnf.clauses() {
            assert_eq!(reduced.clauses().filter(|kept| *kept == clause).count() == 1, {
                !cnf.clauses().any(|other| other != clause && other.subsumes(clause))
            });
        }
        assert!(reduced.clauses().all(|kept| cnf.clauses().any(|clause| clause == kept)));
    }

    proptest! {
        #[test]
        fn subsumption_in_narrow_formulas(cnf in formulas(5, 20, 1)) {
            subsumption_is_complete_and_keeps_the_rest(cnf);
        }

        #[test]
        fn subsumption_in_wide_formulas(cnf in formulas(5, 20, 50)) {
            subsumption_is_complete_and_keeps_the_rest(cnf);
        }
    }

    #[test]
    fn constants() {
        assert!(Cnf::new(0).holds(&[]) && !Cnf::falsum(0).holds(&[]));
        let mut cnf = Cnf::falsum(100);
        cnf.push(Clause::from_dimacs(&[3]).unwrap());
        cnf.remove_subsumed(&Watch::unlimited()).unwrap();
        assert_eq!(cnf, Cnf::falsum(100));
        assert_eq!(Cnf::from_clauses(1, [Clause::from_dimacs(&[-70]).unwrap()]).variables(), 70);
    }
}
