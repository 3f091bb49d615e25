//! The words that every stage speaks: variables, literals, words of assignments, and the watch over a long computation.

mod literal;
mod remedy;
mod thousands;
mod watch;
mod words;

pub use literal::{Lit, Var};
pub use remedy::Remedy;
pub use thousands::thousands;
pub use watch::{Stopped, Watch};
pub use words::LOW_VARIABLES;
