//! The live page and the HTTP API of a circuit.
//!
//! [`Site`] is what is served: a circuit, its rows, and the games that can be chosen, each prepared when it is first asked
//! for. [`app`] is the routes, [`Server`] listens, keeps the limits and ends in good order. Nothing here computes: all
//! answers are the library's.

mod answers;
mod asked;
mod body;
mod connections;
mod error;
mod guard;
mod memory;
mod metrics;
mod openapi;
mod openapi_ask;
mod patience;
mod quiet;
mod request;
mod routes;
mod server;
mod site;

pub use guard::Access;
pub use routes::app;
pub use server::{ServeError, Server};
pub use site::{ServerLimits, Site};
