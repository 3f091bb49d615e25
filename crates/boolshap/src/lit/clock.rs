//! The clock. In a browser, WebAssembly has none of its own: there no time passes, so that times are reported as 0 and a
//! limit of time is never reached. Who runs the library there ends it from outside.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;

/// The only moment there is.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Instant {
    /// This moment.
    pub fn now() -> Self {
        Instant
    }

    /// No time.
    pub fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
