//! Decision diagrams: an SDD package, and direct compilers to ordered diagrams.
//!
//! [`Vtree`] defines how the variables are split, [`SddManager`] holds the diagrams over one vtree with all operations,
//! [`SddFile`] and [`Vtree::parse`] read libsdd's file formats, and [`compile_clauses`] is step (b) of the paper: from
//! a CNF to an SDD. The direct compilers do without a CNF: [`compile_direct`] compiles a network's label to an [`Obdd`]
//! by truth table, by partial sums, or by applying gate after gate, whichever fits.

mod apply;
mod bdd;
mod compile_apply;
mod compile_clauses;
mod compile_direct;
mod compile_sums;
mod compile_table;
mod compile_trees;
mod count;
mod distinct;
mod error;
mod estimate;
mod exchange;
mod functions;
mod manager;
mod mentioned;
mod minimise;
mod obdd;
mod order;
mod reduce;
mod reorder;
mod rotate;
mod sdd_file;
mod sum_state;
mod threshold;
mod transform;
mod view;
mod vtree;
mod vtree_file;

#[cfg(test)]
mod direct_tests;
#[cfg(test)]
mod tests;

pub use compile_apply::{ApplyOptions, compile_apply};
pub use compile_clauses::{CompileOptions, Compiled, StartVtree, compile_clauses};
pub use compile_direct::{Direct, DirectOptions, Route, compile_direct};
pub use compile_sums::{SumsLimits, compile_sums};
pub use compile_table::{MAX_TABLE_INPUTS, compile_table, reduce_table};
pub use compile_trees::compile_trees;
pub use count::Weight;
pub use error::DiagramError;
pub use estimate::{Estimate, Size, estimate};
pub use functions::{Exported, Function, Functions};
pub use manager::{Element, Sdd, SddManager};
pub use minimise::{MinimiseOptions, Minimised};
pub use obdd::Obdd;
pub use order::candidate_orders;
pub use reorder::reorder;
pub use sdd_file::{FileNode, SddFile};
pub use view::SddNode;
pub use vtree::{Vtree, VtreeId, VtreeNode};
