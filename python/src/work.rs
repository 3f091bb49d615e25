//! Long work: without the interpreter's lock, with a limit of time, and stopped by Ctrl-C.

use crate::errors::Failure;
use boolshap::Error;
use boolshap::lit::Watch;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The threads of this process. A process that was forked has none of its parent's, and would wait for them for ever.
fn pool() -> Result<&'static ThreadPool, Error> {
    static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *pool {
        Some((process, threads)) if process == std::process::id() => Ok(threads),
        _ => {
            let threads = ThreadPoolBuilder::new().build().map_err(|e| Error::input(format!("no threads: {e}")))?;
            // Never given back: one for each process.
            let threads: &'static ThreadPool = Box::leak(Box::new(threads));
            *pool = Some((std::process::id(), threads));
            Ok(threads)
        }
    }
}

/// Runs work on a thread of its own, while this one looks for signals, which only the main thread of Python gets.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    job: impl FnOnce(&Watch<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let seconds = |seconds: f64| {
        let wrong = |_| Error::setting("timeout", format!("is {seconds}, which is not a number of seconds"));
        Duration::try_from_secs_f64(seconds).map_err(wrong)
    };
    let timeout = timeout.map(seconds).transpose().map_err(Failure::from)?;
    let stop = AtomicBool::new(false);
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let stop = &stop;
            scope.spawn(move || {
                let watch = Watch::unlimited().stop_flag(stop);
                let watch = timeout.map_or(watch, |limit| watch.timeout(limit));
                // Whoever waits has gone away only if the interpreter is going down.
                let _ = sender.send(pool().and_then(|pool| pool.install(|| job(&watch))));
            });
            let mut signal = None;
            loop {
                match receiver.recv_timeout(LOOK) {
                    // A job that was done before it noticed is not taken back.
                    Ok(done) => return signal.map_or(done.map_err(|error| Failure::from(error).into()), Err),
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
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
