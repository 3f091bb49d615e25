//! Sentential decision diagrams: a package of its own for vtrees and SDDs, and the compiler from clauses to them.
//!
//! [`Vtree`] says how the variables are split, [`SddManager`] holds the diagrams over one vtree and all that can be
//! done with them, [`SddFile`] and [`Vtree::parse`] speak libsdd's file formats, and [`compile_clauses`] is step (b) of
//! the paper: from a CNF to an SDD.

mod apply;
#[cfg(feature = "apply")]
mod compile_apply;
mod compile_clauses;
mod count;
mod error;
mod exchange;
mod manager;
mod minimise;
mod obdd;
mod order;
mod rotate;
mod sdd_file;
#[cfg(feature = "apply")]
mod threshold;
mod transform;
mod view;
mod vtree;
mod vtree_file;

#[cfg(test)]
mod tests;

#[cfg(feature = "apply")]
pub use compile_apply::{ApplyOptions, compile_apply};
pub use compile_clauses::{CompileOptions, Compiled, StartVtree, compile_clauses};
pub use count::Weight;
pub use error::DiagramError;
pub use manager::{Element, Sdd, SddManager};
pub use minimise::{MinimiseOptions, Minimised};
pub use obdd::Obdd;
pub use order::candidate_orders;
pub use sdd_file::{FileNode, SddFile};
pub use view::SddNode;
pub use vtree::{Vtree, VtreeId, VtreeNode};
