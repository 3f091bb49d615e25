//! The library inside a page: what `boolshap serve` answers, without a server.
//!
//! A page has no files and no network: it carries the data that it shows ([`Engine::open_carried`]), or the user drops
//! files on it (feature `playground`). Then [`Engine::ask`] takes the paths and bodies of the HTTP API and gives its
//! answers, word for word. [`exports`] is the interface to JavaScript.

mod engine;
pub mod exports;
#[cfg(feature = "playground")]
mod files;

pub use engine::{Engine, Reply};
