//! Step (a) of the paper: a binary network as a formula in conjunctive normal form over its inputs.
//!
//! [`Cnf`] and [`Clause`] hold formulas, [`read_dimacs`] and [`write_dimacs`] exchange them with other programs,
//! `encode` makes them from networks, `simplify` makes them prime and irredundant, and [`tree_width_bound`] estimates
//! how hard they are to compile. `encode`, `simplify` and the `Solver` they use need the cargo feature `sat`.

mod clause;
mod cnf;
mod dimacs;
mod error;
mod treewidth;

#[cfg(feature = "sat")]
mod cell;
#[cfg(feature = "sat")]
mod cover;
#[cfg(feature = "sat")]
mod encode;
#[cfg(feature = "sat")]
mod encode_network;
#[cfg(feature = "sat")]
mod necessity;
#[cfg(feature = "sat")]
mod sat;
#[cfg(feature = "sat")]
mod simplify;
#[cfg(feature = "sat")]
mod table;

pub use clause::Clause;
pub use cnf::Cnf;
pub use dimacs::{read_dimacs, write_dimacs};
#[cfg(feature = "sat")]
pub use encode::{GateSpec, encode};
#[cfg(feature = "sat")]
pub use encode_network::encode_network;
pub use error::{FormulaError, Phase, Place};
#[cfg(feature = "sat")]
pub use sat::Solver;
#[cfg(feature = "sat")]
pub(crate) use sat::slice_of;
#[cfg(feature = "sat")]
pub use simplify::simplify;
pub use treewidth::tree_width_bound;
