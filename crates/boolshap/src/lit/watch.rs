//! Time limit, stop request and progress reports of a long computation. The library never prints; a front end that
//! wants a progress bar passes a callback.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
    progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
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

    /// Stop soon after the flag becomes true.
    pub fn stop_flag(self, flag: &'a AtomicBool) -> Self {
        Self { stop: Some(flag), ..self }
    }

    /// Stop soon after the flag becomes true because memory is running out. The caller watches the memory: the library
    /// does not know how much it may use.
    pub fn memory_flag(self, flag: &'a AtomicBool) -> Self {
        Self { memory: Some(flag), ..self }
    }

    /// Report progress as (done, total); a total of 0 means unknown.
    pub fn progress(self, report: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self { progress: Some(report), ..self }
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

    /// Reports progress, then [checks](Watch::check) the limits.
    pub fn step(&self, done: u64, total: u64) -> Result<(), Stopped> {
        if let Some(report) = self.progress {
            report(done, total);
        }
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn the_flag_stops_and_progress_is_reported() {
        let flag = AtomicBool::new(false);
        let seen = Mutex::new(Vec::new());
        let report = |done, total| seen.lock().unwrap().push((done, total));
        let watch = Watch::unlimited().stop_flag(&flag).progress(&report);
        assert_eq!(watch.step(1, 2), Ok(()));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(watch.step(2, 2), Err(Stopped::Interrupted));
        assert_eq!(watch.silent().step(3, 3), Err(Stopped::Interrupted));
        assert_eq!(Watch::unlimited().memory_flag(&flag).check(), Err(Stopped::OutOfMemory));
        assert_eq!(*seen.lock().unwrap(), [(1, 2), (2, 2)]);
    }
}
