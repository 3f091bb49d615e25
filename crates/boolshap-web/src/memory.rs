//! One memory budget for the whole server: bodies as they arrive, requests that compute, and answers until they are
//! sent. Each reserves its share first, and a request that would exceed the limit gets an error. Memory that shares
//! cannot foresee (games that are prepared, fractions of any length) is found by polling what the process holds: while
//! that exceeds the limit, work is stopped and cached pages are dropped.

use crate::error::ApiError;
use crate::routes::{App, Served};
use crate::site::{CONNECTION, ServerLimits};
use axum::http::StatusCode;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

/// Shares up to this size count as part of the connection's memory.
const SMALL: usize = CONNECTION / 4;
/// With less room for shares than this, a server would refuse nearly everything.
const LEAST: usize = 8 << 20;
/// The polling interval of the memory that the process holds.
const LOOK: Duration = Duration::from_millis(20);
/// The polling interval while nothing computes.
const IDLE: Duration = Duration::from_secs(1);

/// The memory of the server.
pub(crate) struct Memory {
    /// What the process may hold.
    limit: u64,
    /// What shares may take together.
    room: usize,
    taken: AtomicUsize,
    /// What the process held at the last poll.
    held: AtomicU64,
    /// Whether that was more than the limit.
    pub(crate) is_full: AtomicBool,
    /// The polling thread.
    looker: OnceLock<Thread>,
}

impl Memory {
    /// Gives requests two thirds of what the limit leaves; the rest is for what the allocator keeps and what is not
    /// counted.
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let limit = limits.memory.unwrap_or(u64::MAX);
        let held = limits.memory.and_then(|_| held(&status_file()?)).unwrap_or(0);
        let fixed = held.saturating_add((limits.connections * CONNECTION) as u64);
        let room = usize::try_from(limit.saturating_sub(fixed) / 3 * 2).unwrap_or(usize::MAX);
        let (taken, is_full) = (AtomicUsize::new(0), AtomicBool::new(false));
        Memory { limit, room, taken, held: AtomicU64::new(held), is_full, looker: OnceLock::new() }
    }

    /// If shares have next to no room, an error with the least limit that would do.
    pub(crate) fn check(&self) -> Result<(), u64> {
        let least = 3 * LEAST as u64 / 2;
        match self.room < LEAST {
            // Connections may have a quarter of the limit.
            true => Err((self.held.load(Relaxed) + least) / 3 * 4),
            false => Ok(()),
        }
    }

    /// Polls what the process holds, for as long as the server exists.
    pub(crate) fn watch<S: Served>(app: &Arc<App<S>>) {
        // Open the file once: with too many connections, the server could not open it later.
        let Some(status) = status_file() else { return };
        let server = Arc::downgrade(app);
        let looker = std::thread::spawn(move || {
            while let Some(app) = server.upgrade() {
                let memory = &app.memory;
                // A failed poll is no reason to stop the work.
                if let Some(held) = held(&status) {
                    let is_full = held > memory.limit;
                    memory.held.store(held, Relaxed);
                    memory.is_full.store(is_full, Relaxed);
                    if is_full {
                        app.site.forget();
                    }
                }
                let is_idle = memory.taken.load(Relaxed) == 0 && app.metrics.computing.now() == 0;
                drop(app);
                std::thread::sleep(LOOK);
                if is_idle {
                    std::thread::park_timeout(IDLE);
                }
            }
        });
        // There is one server, and one thread that looks.
        let _ = app.memory.looker.set(looker.thread().clone());
    }

    /// Polls from now on, because work begins that takes memory.
    pub(crate) fn wake(&self) {
        self.looker.get().into_iter().for_each(Thread::unpark);
    }

    fn take(&self, bytes: usize) -> Result<(), ApiError> {
        let after = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.room);
        self.wake();
        // Memory that is not counted grows between two polls.
        let fits = self.held.load(Relaxed).saturating_add(bytes as u64) <= self.limit / 16 * 15;
        match fits && self.taken.fetch_update(Relaxed, Relaxed, after).is_ok() {
            true => Ok(()),
            false => {
                let message = "the server has no memory left for this request: try again, or with fewer entities";
                Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message))
            }
        }
    }
}

/// The memory that a request has reserved, until it is dropped.
pub(crate) struct Share {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Share {
    /// An empty share.
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Share { memory: memory.clone(), bytes: 0 }
    }

    /// The size of the share.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the share to this size, larger or smaller.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), ApiError> {
        let bytes = if bytes > SMALL { bytes } else { 0 };
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => self.memory.take(more)?,
            None => drop(self.memory.taken.fetch_sub(self.bytes - bytes, Relaxed)),
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.taken.fetch_sub(self.bytes, Relaxed);
    }
}

fn status_file() -> Option<File> {
    File::open("/proc/self/status").ok()
}

/// What this process holds now, from a line such as `VmRSS:  1234 kB`.
fn held(status: &File) -> Option<u64> {
    // Reading from the start gives current values.
    let mut text = [0; 4096];
    let length = status.read_at(&mut text, 0).ok()?;
    let text = String::from_utf8_lossy(&text[..length]);
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_the_room_and_are_given_back() {
        let limits = ServerLimits { memory: Some(1 << 40), connections: 0, ..ServerLimits::default() };
        let memory = Arc::new(Memory { room: 100 << 10, ..Memory::new(&limits) });
        let (mut first, mut second) = (Share::new(&memory), Share::new(&memory));
        first.resize(60 << 10).unwrap();
        assert_eq!(second.resize(41 << 10).unwrap_err().status, 503);
        second.resize(SMALL).unwrap();
        second.resize(40 << 10).unwrap();
        first.resize(20 << 10).unwrap();
        second.resize(80 << 10).unwrap();
        assert!(first.resize(21 << 10).is_err());
        drop(second);
        first.resize(100 << 10).unwrap();
        drop(first);
        assert_eq!(memory.taken.load(Relaxed), 0);
        memory.held.store((15 << 36) - (30 << 10), Relaxed);
        assert!(Share::new(&memory).resize(31 << 10).is_err() && Share::new(&memory).resize(30 << 10).is_ok());
    }

    #[test]
    fn what_the_process_holds_can_be_read() {
        let status = status_file().unwrap();
        let before = held(&status).unwrap();
        let more = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(held(&status).unwrap() > before + more.len() as u64 / 2);
    }
}
