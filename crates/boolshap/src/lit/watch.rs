//! Time limit, stop request and progress reports of a long computation. The library never prints; a front end that
//! wants a progress bar passes a callback.
//!
//! Progress is the share done of the work that dominates the run time, such as words filled or rows explained. Levels
//! or gates would not do, because the last one may take longer than all others. If the total is unknown, progress is a
//! count without a share.

use super::Instant;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How far a computation has got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The part of the work this is about, for example "proving"; empty for the work that was requested. Each part
    /// begins at 0.
    pub stage: &'static str,
    /// How much is done.
    pub done: f64,
    /// The total amount; `None` if it is unknown.
    pub total: Option<f64>,
    /// The unit of the counts if it means something to a user: "rows", "states".
    pub unit: &'static str,
}

impl Progress {
    /// The share that is done, if the total is known.
    pub fn share(&self) -> Option<f64> {
        self.total.map(|total| if total > 0.0 { (self.done / total).min(1.0) } else { 0.0 })
    }
}

/// A callback for progress reports.
type Report<'a> = dyn Fn(Progress) + Sync + 'a;

/// Limits and progress reporting. Every long computation takes one and checks it regularly.
///
/// ```
/// use boolshap::lit::{Stopped, Watch};
/// use std::time::Duration;
/// assert_eq!(Watch::unlimited().check(), Ok(()));
/// let late = Watch::unlimited().timeout(Duration::ZERO);
/// assert!(matches!(late.check(), Err(Stopped::OutOfTime { .. })));
/// ```
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    limit: Option<(Instant, Duration)>,
    stop: Option<&'a AtomicBool>,
    memory: Option<&'a AtomicBool>,
    progress: Option<&'a Report<'a>>,
    stage: &'static str,
}

/// Why a computation was stopped before it finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The time limit has passed.
    #[error("the time limit of {} seconds has passed", (.limit.as_secs_f64() * 1e3).round() / 1e3)]
    OutOfTime {
        /// The limit that was set.
        limit: Duration,
    },
    /// The memory limit is reached.
    #[error("the memory limit is reached")]
    OutOfMemory,
    /// A stop was requested, for example by Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl<'a> Watch<'a> {
    /// No limits and no progress reports.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Stop when this much time has passed from now.
    pub fn timeout(self, limit: Duration) -> Self {
        Self { limit: Some((Instant::now(), limit)), ..self }
    }

    /// The start and length of the time limit, if there is one.
    pub fn limit(&self) -> Option<(Instant, Duration)> {
        self.limit
    }

    /// Stop soon after the flag becomes true.
    pub fn stop_flag(self, flag: &'a AtomicBool) -> Self {
        Self { stop: Some(flag), ..self }
    }

    /// Stop soon after the flag becomes true because memory is running out. The caller watches the memory: the library
    /// does not know how much it may use.
    pub fn memory_flag(self, flag: &'a AtomicBool) -> Self {
        Self { memory: Some(flag), ..self }
    }

    /// Report progress.
    pub fn progress(self, report: &'a Report<'a>) -> Self {
        Self { progress: Some(report), ..self }
    }

    /// The same watch for a part of the work with its own progress.
    pub fn stage(self, stage: &'static str) -> Self {
        Self { stage, ..self }
    }

    /// The same limits without progress reports, for one part of a larger computation.
    pub fn silent(self) -> Self {
        Self { progress: None, ..self }
    }

    /// Returns an error if the computation has to stop now.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stopped::Interrupted);
        }
        if self.memory.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stopped::OutOfMemory);
        }
        match self.limit {
            Some((start, limit)) if start.elapsed() >= limit => Err(Stopped::OutOfTime { limit }),
            _ => Ok(()),
        }
    }

    /// Reports that this much of a known amount is done, then [checks](Watch::check) the limits.
    pub fn step(&self, done: u64, total: u64) -> Result<(), Stopped> {
        self.report(done as f64, (total > 0).then_some(total as f64), "");
        self.check()
    }

    /// Reports that this share of the work is done, then [checks](Watch::check) the limits.
    pub fn share(&self, done: f64) -> Result<(), Stopped> {
        self.report(done, Some(1.0), "");
        self.check()
    }

    /// Reports a count where the total is unknown, then [checks](Watch::check) the limits.
    pub fn count(&self, done: u64, unit: &'static str) -> Result<(), Stopped> {
        self.report(done as f64, None, unit);
        self.check()
    }

    /// Reports progress without checking the limits.
    pub fn report(&self, done: f64, total: Option<f64>, unit: &'static str) {
        if let Some(report) = self.progress {
            report(Progress { stage: self.stage, done, total, unit });
        }
    }
}

/// Work shared by several threads, in units that take about the same time. Reported progress never decreases.
pub struct Meter<'w> {
    watch: &'w Watch<'w>,
    done: Mutex<f64>,
    total: f64,
}

impl<'w> Meter<'w> {
    /// A meter for this many units.
    pub fn new(watch: &'w Watch<'w>, total: u64) -> Self {
        Meter { watch, done: Mutex::new(0.0), total: total as f64 }
    }

    /// Reports that more units are done; fails if the work has to stop.
    pub fn add(&self, units: u64) -> Result<(), Stopped> {
        {
            // Hold the lock while reporting, so that reported progress never decreases.
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += units as f64;
            self.watch.report(*done, Some(self.total), "");
        }
        self.watch.check()
    }
}

/// Consecutive pieces of work reported as one whole: the share of each piece becomes a share of the whole, with all
/// pieces equal, and each piece continues the counts of the previous one.
///
/// ```
/// use boolshap::lit::{Pieces, Watch};
/// let seen = std::sync::Mutex::new(Vec::new());
/// let report = |progress: boolshap::lit::Progress| seen.lock().unwrap().push(progress.share().unwrap());
/// let watch = Watch::unlimited().progress(&report);
/// let pieces = Pieces::new(&watch, 2);
/// for _ in 0..2 {
///     pieces.next(|watch| watch.step(1, 2))?;
/// }
/// assert_eq!(*seen.lock().unwrap(), [0.25, 0.75]);
/// # Ok::<(), boolshap::lit::Stopped>(())
/// ```
pub struct Pieces<'w> {
    watch: Watch<'w>,
    number: f64,
    /// How many pieces are done, the count over them, and the latest count in the current piece.
    behind: Mutex<[f64; 3]>,
}

impl<'w> Pieces<'w> {
    /// A whole of this many pieces.
    pub fn new(watch: &Watch<'w>, number: usize) -> Self {
        Pieces { watch: *watch, number: number.max(1) as f64, behind: Mutex::default() }
    }

    /// Runs the next piece.
    pub fn next<T>(&self, work: impl FnOnce(&Watch<'_>) -> T) -> T {
        let report = |progress: Progress| {
            let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
            let watch = self.watch.stage(progress.stage);
            match progress.share() {
                // A stage that a piece opens itself is not part of the whole.
                _ if progress.stage != self.watch.stage => watch.report(progress.done, progress.total, progress.unit),
                Some(share) => watch.report((behind[0] + share) / self.number, Some(1.0), ""),
                None => {
                    behind[2] = progress.done;
                    watch.report(behind[1] + progress.done, None, progress.unit);
                }
            }
        };
        let result = work(&self.watch.progress(&report));
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        *behind = [behind[0] + 1.0, behind[1] + behind[2], 0.0];
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_stops_and_progress_is_reported() {
        let flag = AtomicBool::new(false);
        let seen = Mutex::new(Vec::new());
        let report = |progress: Progress| seen.lock().unwrap().push((progress.done, progress.total));
        let watch = Watch::unlimited().stop_flag(&flag).progress(&report);
        assert_eq!(watch.step(1, 2), Ok(()));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(watch.step(2, 2), Err(Stopped::Interrupted));
        assert_eq!(watch.silent().step(3, 3), Err(Stopped::Interrupted));
        assert_eq!(watch.count(5, "states"), Err(Stopped::Interrupted));
        assert_eq!(Watch::unlimited().memory_flag(&flag).check(), Err(Stopped::OutOfMemory));
        assert_eq!(*seen.lock().unwrap(), [(1.0, Some(2.0)), (2.0, Some(2.0)), (5.0, None)]);
    }

    #[test]
    fn counts_of_pieces_go_on_where_the_last_has_ended() {
        let seen = Mutex::new(Vec::new());
        let report = |progress: Progress| seen.lock().unwrap().push((progress.stage, progress.done));
        let watch = Watch::unlimited().progress(&report);
        let pieces = Pieces::new(&watch, 3);
        for counts in [[3, 7], [1, 4]] {
            pieces.next(|watch| counts.map(|count| watch.count(count, "nodes").unwrap()));
        }
        pieces.next(|watch| watch.stage("proving").count(1, "steps").unwrap());
        pieces.next(|watch| watch.count(1, "nodes").unwrap());
        assert_eq!(*seen.lock().unwrap(), [("", 3.0), ("", 7.0), ("", 8.0), ("", 11.0), ("proving", 1.0), ("", 12.0)]);
    }
}
