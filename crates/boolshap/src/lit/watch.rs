//! The watch over a long computation: how long it may take, whether someone wants it stopped, and whom to tell how far
//! it has got. The library never prints; a front end that wants a progress bar hands in a callback.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits and reporting that every long computation takes and consults now and then.
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

/// Why a computation was stopped before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The time limit has passed.
    #[error("the time limit of {} seconds has passed", (.limit.as_secs_f64() * 1e3).round() / 1e3)]
    OutOfTime {
        /// The limit that was set.
        limit: Duration,
    },
    /// The program holds as much memory as it may.
    #[error("the memory limit is reached")]
    OutOfMemory,
    /// Someone asked for it, by Ctrl-C for instance.
    #[error("interrupted")]
    Interrupted,
}

impl<'a> Watch<'a> {
    /// No limit, nobody to tell.
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

    /// Stop soon after the flag becomes true, which tells that memory runs out. It is for whoever started the program to
    /// look at its memory: the library does not know how much it may take.
    pub fn memory_flag(self, flag: &'a AtomicBool) -> Self {
        Self { memory: Some(flag), ..self }
    }

    /// Report progress as (done, of how many); a total of 0 means that it is not known.
    pub fn progress(self, report: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self { progress: Some(report), ..self }
    }

    /// The same limits with nobody to tell: for a part of the work that does not know the whole.
    pub fn silent(self) -> Self {
        Self { progress: None, ..self }
    }

    /// Fails if the computation has to stop now.
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

    /// Tells how far the work has got, then [checks](Watch::check).
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
    fn the_flag_stops_and_progress_is_told() {
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
