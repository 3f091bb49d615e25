//! The live page and the HTTP API of a circuit.
//!
//! [`Site`] is what is served: a circuit, its rows, and the games that can be chosen, each prepared on first use.
//! `RawSite` is a model of raw columns with its background. [`answer`] is the API without HTTP, for a page that has the
//! library inside. [`app`] is the routes. [`Server`] listens, enforces the limits and shuts down gracefully (feature
//! `server`). Nothing here computes: all answers are the library's.

mod answers;
#[cfg(feature = "server")]
mod answers_arrow;
mod asked;
#[cfg(feature = "server")]
mod body;
#[cfg(feature = "server")]
mod connections;
mod desk;
mod error;
#[cfg(feature = "server")]
mod guard;
#[cfg(feature = "server")]
mod memory;
#[cfg(feature = "server")]
mod metrics;
#[cfg(feature = "server")]
mod openapi;
#[cfg(feature = "server")]
mod openapi_ask;
#[cfg(feature = "server")]
mod patience;
#[cfg(feature = "server")]
mod quiet;
#[cfg(feature = "server")]
mod raw_site;
mod request;
#[cfg(feature = "server")]
mod routes;
#[cfg(feature = "server")]
mod server;
mod site;

pub use desk::answer;
pub use error::ApiError;
#[cfg(feature = "server")]
pub use guard::Access;
#[cfg(feature = "server")]
pub use raw_site::RawSite;
#[cfg(feature = "server")]
pub use routes::{Served, app};
#[cfg(feature = "server")]
pub use server::{ServeError, Server};
pub use site::{ServerLimits, Site};
