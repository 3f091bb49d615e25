//! Dynamic vtree search: makes all live diagrams smaller by changing the vtree under them.
//!
//! Idea. A fragment is an inner vtree node together with one inner child: two nodes over three subtrees a, b, c, which
//! can be arranged in 12 ways. Alternately swapping the child and rotating the root visits all twelve and returns to
//! the start. A pass goes over the vtree bottom up, walks both fragments of each node, and leaves each in the
//! arrangement with the smallest diagrams; passes are repeated while they are worthwhile. If the diagrams grow too
//! much, a walk returns and tries the other direction round the circle. Handles of live nodes stay valid throughout.
//!
//! Cost: at most 24 moves per vtree node and pass; each move costs time proportional to the decisions at the two vtree
//! nodes.
//!
//! Choi & Darwiche, "Dynamic Minimization of Sentential Decision Diagrams", AAAI 2013.

use super::error::{DiagramError, Halt};
use super::manager::SddManager;
use super::rotate::{ElementLimit, Move};
use super::vtree::VtreeId;
use crate::lit::Watch;

/// Limits on the search.
#[derive(Debug, Clone, Copy)]
pub struct MinimiseOptions {
    /// A walk turns round when the live size exceeds this many times the size at its start.
    pub max_growth: f64,
    /// Another pass is made if the last one reduced the size by at least this fraction.
    pub worthwhile: f64,
    /// At most this many passes.
    pub max_passes: usize,
}

impl Default for MinimiseOptions {
    fn default() -> Self {
        MinimiseOptions { max_growth: 1.5, worthwhile: 0.01, max_passes: usize::MAX }
    }
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minimised {
    /// The live size before.
    pub size_before: usize,
    /// The live size after.
    pub size_after: usize,
    /// How many passes were made.
    pub passes: usize,
}

/// The two nodes of a fragment that is being walked.
#[derive(Debug, Clone, Copy)]
struct Fragment {
    root: VtreeId,
    child: VtreeId,
    /// Its position on the circle: steps forward from the initial arrangement.
    place: isize,
}

const ARRANGEMENTS: isize = 12;

impl Fragment {
    /// The move to the next arrangement. Forward, odd positions are left by rotating; backward, even ones.
    fn next(&self, sdds: &SddManager, direction: isize) -> (Move, Fragment) {
        let rotates = (self.place.rem_euclid(2) == 1) == (direction > 0);
        let place = self.place + direction;
        if !rotates {
            return (Move::Swap(self.child), Fragment { place, ..*self });
        }
        let is_left = sdds.vtree.children(self.root).is_some_and(|(left, _)| left == self.child);
        let step = if is_left { Move::RotateRight(self.root) } else { Move::RotateLeft(self.root) };
        (step, Fragment { root: self.child, child: self.root, place })
    }
}

impl SddManager {
    /// Searches for a vtree on which the live diagrams are smaller. If the watch stops it, the manager is still valid
    /// and no larger than before.
    pub fn minimise(&mut self, options: &MinimiseOptions, watch: &Watch<'_>) -> Result<Minimised, DiagramError> {
        let size_before = self.live_size();
        let mut passes = 0;
        while passes < options.max_passes && self.live_size() > 0 {
            let at_start = self.live_size();
            passes += 1;
            for vtree in self.vtree.post_order() {
                self.improve(vtree, true, options.max_growth, watch)?;
                self.improve(vtree, false, options.max_growth, watch)?;
            }
            let gained = at_start - self.live_size();
            if gained == 0 || (gained as f64) < options.worthwhile * at_start as f64 {
                break;
            }
        }
        Ok(Minimised { size_before, size_after: self.live_size(), passes })
    }

    /// Walks one fragment of a vtree node and leaves it in its best arrangement.
    fn improve(&mut self, root: VtreeId, left: bool, max_growth: f64, watch: &Watch<'_>) -> Result<(), Halt> {
        let Some((left_child, right_child)) = self.vtree.children(root) else { return Ok(()) };
        let child = if left { left_child } else { right_child };
        if self.vtree.children(child).is_none() {
            return Ok(());
        }
        self.collect_garbage();
        let start_size = self.live_size();
        let most = (start_size as f64 * max_growth) as usize;
        let mut here = Fragment { root, child, place: 0 };
        let (mut best_size, mut best_place) = (start_size, 0);
        let (mut forward, mut backward) = (0, 0);
        let mut outcome = Ok(());
        for direction in [1, -1] {
            here = self.walk_to(here, 0, false);
            while forward + backward < ARRANGEMENTS - 1 {
                let (step, next) = here.next(self, direction);
                outcome = self.try_move(step, most, watch);
                if outcome.is_err() {
                    break;
                }
                here = next;
                *(if direction > 0 { &mut forward } else { &mut backward }) += 1;
                if self.live_size() < best_size {
                    (best_size, best_place) = (self.live_size(), here.place);
                }
                if self.live_size() > most {
                    break;
                }
            }
            if matches!(outcome, Err(Halt::Stopped(_))) || forward + backward == ARRANGEMENTS - 1 {
                break;
            }
        }
        let whole_circle = forward == ARRANGEMENTS - 1 || backward == ARRANGEMENTS - 1;
        self.walk_to(here, best_place, whole_circle);
        match outcome {
            Err(Halt::Stopped(stopped)) => Err(Halt::Stopped(stopped)),
            _ => Ok(()),
        }
    }

    /// Makes a move within limits on the elements of the changed nodes and on dead nodes.
    fn try_move(&mut self, step: Move, most: usize, watch: &Watch<'_>) -> Result<(), Halt> {
        watch.check()?;
        let limit = self.max_nodes;
        self.max_nodes = limit.min(self.decision_count() + 4 * most + 1000);
        let outcome = self.make(step, ElementLimit(most), watch);
        self.max_nodes = limit;
        outcome
    }

    /// Returns to a visited arrangement: the way it came or, if the whole circle was visited, the shorter way.
    fn walk_to(&mut self, mut here: Fragment, place: isize, whole_circle: bool) -> Fragment {
        let mut distance = place - here.place;
        if whole_circle && distance.abs() > ARRANGEMENTS / 2 {
            distance -= ARRANGEMENTS * distance.signum();
        }
        let limit = std::mem::replace(&mut self.max_nodes, Self::MOST_NODES);
        for _ in 0..distance.abs() {
            let (step, next) = here.next(self, distance.signum());
            // Without limits only the 32-bit id space could end this, and these nodes have fitted into it before.
            if self.make(step, ElementLimit(usize::MAX), &Watch::unlimited()).is_err() {
                break;
            }
            here = next;
        }
        self.max_nodes = limit;
        here
    }
}
