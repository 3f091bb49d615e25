//! The SAT solver CaDiCaL, with this library's literals and limits.
//!
//! The solver runs in slices of a few thousand conflicts, or fewer if there are many clauses, because each conflict
//! then takes longer. Between slices the watch may stop it. Learned clauses are kept, so slicing loses little. On a
//! large formula, many seconds of decisions can pass between two conflicts, so a time limit is also enforced within a
//! slice.
//!
//! A. Biere, T. Faller, K. Fazekas, M. Fleury, N. Froleyks, F. Pollitt, CaDiCaL 2.0, CAV 2024.

use cadical_sys::{CaDiCal, Status, Terminator};

use std::time::Duration;

use crate::lit::{Instant, Lit, Stopped, Var, Watch};

/// The largest and the smallest number of conflicts between two checks of the watch.
const SLICE: i32 = 5_000;
const LEAST_SLICE: i32 = 20;
/// Conflicts times clauses: this much work takes a fraction of a second.
const SLICE_WORK: usize = 100_000_000;

/// The number of conflicts between two checks of the watch, for a solver with this many clauses.
pub(crate) fn slice_of(clauses: usize, most: i32) -> i32 {
    i32::try_from(SLICE_WORK / clauses.max(1)).unwrap_or(most).clamp(LEAST_SLICE, most)
}

/// An incremental solver: clauses stay, assumptions apply to one call.
///
/// ```
/// use boolshap::formula::Solver;
/// use boolshap::lit::{Var, Watch};
/// let (x, y) = (Var::new(0).positive(), Var::new(1).positive());
/// let mut solver = Solver::new();
/// solver.add([x, y]);
/// assert_eq!(solver.solve(&[!x], &Watch::unlimited()), Ok(true));
/// assert!(solver.holds(y));
/// assert_eq!(solver.solve(&[!x, !y], &Watch::unlimited()), Ok(false));
/// assert!(solver.failed(!x) && solver.failed(!y));
/// ```
pub struct Solver {
    inner: CaDiCal,
    clauses: usize,
}

/// Ends a search at the time limit; the next check of the watch reports it.
struct Deadline(Instant, Duration);

impl Terminator for Deadline {
    fn terminated(&mut self) -> bool {
        self.0.elapsed() > self.1
    }
}

impl Default for Solver {
    fn default() -> Self {
        Self::new()
    }
}

impl Solver {
    /// A solver without clauses.
    pub fn new() -> Self {
        let mut inner = CaDiCal::new();
        // For thousands of small problems, preprocessing or lucky guesses would cost more than the search.
        inner.configure("plain");
        inner.set("lucky", 0);
        Solver { inner, clauses: 0 }
    }

    /// Adds a clause.
    pub fn add(&mut self, lits: impl IntoIterator<Item = Lit>) {
        lits.into_iter().for_each(|lit| self.inner.add(lit.to_dimacs()));
        self.inner.add(0);
        self.clauses += 1;
    }

    /// Whether the clauses can be satisfied together with the assumptions.
    pub fn solve(&mut self, assumptions: &[Lit], watch: &Watch<'_>) -> Result<bool, Stopped> {
        let mut no_limit = u64::MAX;
        let answer = self.solve_within(assumptions, &mut no_limit, watch)?;
        Ok(answer.expect("there is no limit"))
    }

    /// The same within a budget of conflicts, from which the conflicts used are subtracted; `None` if it runs out.
    pub fn solve_within(
        &mut self,
        assumptions: &[Lit],
        conflicts_left: &mut u64,
        watch: &Watch<'_>,
    ) -> Result<Option<bool>, Stopped> {
        let most = slice_of(self.clauses, SLICE);
        match watch.limit() {
            Some((begin, limit)) => self.inner.connect_terminator(Deadline(begin, limit)),
            None => self.inner.disconnect_terminator(),
        }
        while *conflicts_left > 0 {
            watch.check()?;
            let slice = most.min(i32::try_from(*conflicts_left).unwrap_or(most));
            let before = self.inner.get_statistic_value("conflicts");
            assumptions.iter().for_each(|lit| self.inner.assume(lit.to_dimacs()));
            self.inner.limit("conflicts", slice);
            let status = self.inner.solve();
            let needed = match status {
                Status::UNKNOWN => slice as u64,
                _ => self.inner.get_statistic_value("conflicts").abs_diff(before),
            };
            if *conflicts_left != u64::MAX {
                *conflicts_left = conflicts_left.saturating_sub(needed);
            }
            match status {
                Status::SATISFIABLE => return Ok(Some(true)),
                Status::UNSATISFIABLE => return Ok(Some(false)),
                Status::UNKNOWN => {}
            }
        }
        Ok(None)
    }

    /// After [`Solver::solve`] returned true: whether the literal is true in the model found.
    pub fn holds(&mut self, lit: Lit) -> bool {
        // `val` returns the literal that is true, so pass the positive literal: the sign of the result is then the
        // variable's value.
        lit.holds(self.inner.val(lit.var().positive().to_dimacs()) > 0)
    }

    /// After [`Solver::solve`] returned true: the values of the first `variables` variables.
    pub fn model(&mut self, variables: usize) -> Vec<bool> {
        (0..variables).map(|var| self.holds(Var::new(var).positive())).collect()
    }

    /// After [`Solver::solve`] returned false: whether the assumption is part of the conflict.
    pub fn failed(&mut self, assumption: Lit) -> bool {
        self.inner.failed(assumption.to_dimacs())
    }
}
