//! The clock. WebAssembly in a browser has none: elapsed time is always 0 there, so times are reported as 0 and time
//! limits never expire. The caller must end such a run from outside.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;

/// The only instant on a platform without a clock.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Instant {
    /// The current instant.
    pub fn now() -> Self {
        Instant
    }

    /// Always zero.
    pub fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
