//! What a single assignment proves about many clauses, which saves calls to the SAT solver.
//!
//! - A model of the formula that makes exactly one literal of a clause true falsifies the clause without that literal:
//!   the literal cannot be dropped.
//! - An assignment that falsifies exactly one clause would be a model without it: the clause cannot be removed, now or
//!   after others have been. If, in a model, a variable is the only true literal of exactly one clause, flipping it
//!   gives such an assignment. Likewise, flipping a variable of the false clause in such an assignment gives another
//!   one if it makes exactly one other clause false. This is model rotation, repeated as long as it proves something
//!   new.
//!
//! A. Belov, J. Marques-Silva, Accelerating MUS Extraction with Recursive Model Rotation, FMCAD 2011.

use crate::lit::Lit;

fn is_true(lit: Lit, values: &[bool]) -> bool {
    lit.holds(values[lit.var().index()])
}

/// The index of the only true literal, if there is exactly one.
fn only_true(lits: &[Lit], values: &[bool]) -> Option<usize> {
    let mut places = (0..lits.len()).filter(|&place| is_true(lits[place], values));
    places.next().filter(|_| places.next().is_none())
}

/// For each clause and literal, whether the literal is proved necessary.
pub(super) struct Literals {
    proved: Vec<Vec<bool>>,
}

impl Literals {
    pub(super) fn new(clauses: &[Vec<Lit>]) -> Self {
        Literals { proved: clauses.iter().map(|lits| vec![false; lits.len()]).collect() }
    }

    pub(super) fn proved(&self, clause: usize) -> &[bool] {
        &self.proved[clause]
    }

    /// Marks the literals that a model of all clauses proves necessary, in the clauses from `from` on. This is less
    /// work than finding the model was.
    pub(super) fn learn(&mut self, clauses: &[Vec<Lit>], from: usize, model: &[bool]) {
        for (lits, proved) in clauses.iter().zip(&mut self.proved).skip(from) {
            if let Some(place) = only_true(lits, model) {
                proved[place] = true;
            }
        }
    }
}

/// Which clauses are still present, and which of them are proved necessary.
pub(super) struct Clauses<'a> {
    clauses: &'a [Vec<Lit>],
    /// The clauses of each literal, by its code.
    of_literal: Vec<Vec<usize>>,
    present: Vec<bool>,
    proved: Vec<bool>,
}

impl<'a> Clauses<'a> {
    pub(super) fn new(clauses: &'a [Vec<Lit>], variables: usize) -> Self {
        let mut of_literal = vec![Vec::new(); 2 * variables];
        for (place, lits) in clauses.iter().enumerate() {
            lits.iter().for_each(|lit| of_literal[lit.code()].push(place));
        }
        Clauses { clauses, of_literal, present: vec![true; clauses.len()], proved: vec![false; clauses.len()] }
    }

    pub(super) fn is_present(&self, clause: usize) -> bool {
        self.present[clause]
    }

    pub(super) fn is_proved(&self, clause: usize) -> bool {
        self.proved[clause]
    }

    pub(super) fn remove(&mut self, clause: usize) {
        debug_assert!(!self.proved[clause], "a necessary clause is never removed");
        self.present[clause] = false;
    }

    /// Marks the clauses that a model of all clauses proves necessary.
    pub(super) fn learn_from_model(&mut self, model: &mut [bool]) {
        let mut alone: Vec<Option<(Lit, usize)>> = vec![None; model.len()];
        let mut several = vec![false; model.len()];
        for (clause, lits) in self.clauses.iter().enumerate() {
            if let Some(place) = only_true(lits, model) {
                let var = lits[place].var().index();
                several[var] |= alone[var].replace((lits[place], clause)).is_some();
            }
        }
        for (lit, clause) in alone.into_iter().zip(several).filter_map(|(found, several)| found.filter(|_| !several)) {
            model[lit.var().index()] = lit.is_negative();
            self.learn_from_counterexample(clause, model);
            model[lit.var().index()] = !lit.is_negative();
        }
    }

    /// Marks the clauses proved necessary by an assignment that falsifies only this clause; `values` is unchanged
    /// afterwards.
    pub(super) fn learn_from_counterexample(&mut self, clause: usize, values: &mut [bool]) {
        if std::mem::replace(&mut self.proved[clause], true) {
            return;
        }
        // A clause that is false now, its next literal to make true, and the literal that was made true to get here.
        let mut path: Vec<(usize, usize, Option<Lit>)> = vec![(clause, 0, None)];
        while let Some((clause, next, entered)) = path.last_mut() {
            let Some(&lit) = self.clauses[*clause].get(*next) else {
                if let Some(lit) = entered {
                    values[lit.var().index()] = lit.is_negative();
                }
                path.pop();
                continue;
            };
            *next += 1;
            values[lit.var().index()] = !lit.is_negative();
            match self.only_falsified(!lit, values) {
                Some(other) if !self.proved[other] => {
                    self.proved[other] = true;
                    path.push((other, 0, Some(lit)));
                }
                _ => values[lit.var().index()] = lit.is_negative(),
            }
        }
    }

    /// The only present clause that contains this literal and is false; `None` unless there is exactly one.
    fn only_falsified(&self, lit: Lit, values: &[bool]) -> Option<usize> {
        let is_false =
            |&place: &usize| self.present[place] && !self.clauses[place].iter().any(|&lit| is_true(lit, values));
        let mut places = self.of_literal[lit.code()].iter().copied().filter(is_false);
        places.next().filter(|_| places.next().is_none())
    }
}
