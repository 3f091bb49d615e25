//! The words that every stage speaks: variables, literals, and the watch over a long computation.

mod literal;
mod watch;

pub use literal::{Lit, Var};
pub use watch::{Stopped, Watch};
