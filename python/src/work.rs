//! Runs long work without the interpreter's lock, with limits of time and memory and with progress; Ctrl-C stops it.

use crate::errors::Failure;
use boolshap::Error;
use boolshap::lit::{Progress, Watch};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are checked.
const LOOK: Duration = Duration::from_millis(50);

/// The threads of this process. A forked process has none of its parent's threads, and would wait for them for ever.
fn pool() -> Result<&'static ThreadPool, Error> {
    static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *pool {
        Some((process, threads)) if process == std::process::id() => Ok(threads),
        _ => {
            let threads = ThreadPoolBuilder::new().build().map_err(|e| Error::input(format!("no threads: {e}")))?;
            // Never freed: there is one for each process.
            let threads: &'static ThreadPool = Box::leak(Box::new(threads));
            *pool = Some((std::process::id(), threads));
            Ok(threads)
        }
    }
}

/// Runs on this many threads, or on those of the process.
pub(crate) fn on_threads<T: Send>(threads: Option<usize>, job: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let Some(threads) = threads else { return Ok(job()) };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    Ok(pool.map_err(|e| Error::input(format!("no threads: {e}")))?.install(job))
}

fn limit_of_time(seconds: f64) -> Result<Duration, Error> {
    let wrong = |_| Error::setting("timeout", format!("is {seconds}, which is not a number of seconds"));
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// Runs work on a separate thread, while this one checks for signals, which only the main thread of Python gets.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    job: impl FnOnce(&Watch<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    work_reporting(py, timeout, None, job)
}

/// The same with a callable that receives how much is done, and of how much if that is known, while the work goes on.
pub(crate) fn work_reporting<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    report: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Watch<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let report = report.map(|report| report.clone().unbind());
    let seen: Mutex<Option<Progress>> = Mutex::new(None);
    let is_full = AtomicBool::new(false);
    let allowed = allowed_memory();
    let timeout = timeout.map(limit_of_time).transpose().map_err(Failure::from)?;
    let stop = AtomicBool::new(false);
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let (stop, seen, is_full) = (&stop, &seen, &is_full);
            scope.spawn(move || {
                let note = |progress: Progress| *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
                let watch = Watch::unlimited().stop_flag(stop).memory_flag(is_full).progress(&note);
                let watch = timeout.map_or(watch, |limit| watch.timeout(limit));
                // The receiver is gone only if the interpreter is shutting down.
                let _ = sender.send(pool().and_then(|pool| pool.install(|| job(&watch))));
            });
            let mut signal = None;
            loop {
                match receiver.recv_timeout(LOOK) {
                    // A signal counts even if the job was done before it noticed.
                    Ok(done) => return signal.map_or(done.map_err(|error| Failure::from(error).into()), Err),
                    Err(RecvTimeoutError::Timeout) => {
                        if allowed.is_some_and(|allowed| held_memory() > allowed) {
                            is_full.store(true, Ordering::Relaxed);
                        }
                        let look = |py: Python<'_>| {
                            py.check_signals()?;
                            let progress = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
                            match (&report, progress) {
                                (Some(report), Some(Progress { done, total, .. })) => {
                                    report.call1(py, (done, total)).map(|_| ())
                                }
                                _ => Ok(()),
                            }
                        };
                        // Once the work is to stop, signals are no longer checked.
                        if signal.is_none()
                            && let Err(error) = Python::attach(look)
                        {
                            stop.store(true, Ordering::Relaxed);
                            signal = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        let message = "the work ended without a result: this is a mistake in boolshap";
                        return Err(Failure::from(Error::input(message)).into());
                    }
                }
            }
        })
    })
}

/// The most memory that the process may hold before work stops, in bytes: nine tenths of what it holds and what the
/// machine has left. Nothing if the system does not say.
fn allowed_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some((kibibytes * 1024 + held_memory()) / 10 * 9)
}

/// The memory that the process holds, in bytes; 0 if the system does not say.
fn held_memory() -> u64 {
    let pages = || std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse::<u64>().ok();
    pages().unwrap_or(0) * 4096
}
