//! Deterministic and decomposable Boolean circuits: one flat arena, and the operations that transform, count and check
//! it.
//!
//! [`Circuit`] is the arena, [`CircuitBuilder`] fills it, [`lower`] converts a decision diagram. [`fan_in_two`],
//! [`smooth`], and both together as [`paper_form`], are the paper's Algorithm 1. [`check`] proves a circuit's
//! properties without using any of the builders' code. [`read_nnf`], [`write_nnf`], [`read_d4`], [`write_d4`] and
//! [`write_dot`] are for files of other programs. [`conjoin`] restricts a circuit to the models of a formula.
//!
//! **Variables that the root does not mention** are counted in the circuit's number of variables, but have no nodes.
//! Smoothness is about or-gates only, so no step adds gates for them; each of them doubles the model count; their SHAP
//! score is 0.

mod arena;
mod builder;
pub mod check;
mod conjoin;
mod count;
mod d4;
mod determinism;
mod dot;
mod error;
mod evaluate;
mod exclusion;
mod expand;
mod facts;
mod fan_in;
mod file;
mod lower;
mod lower_obdd;
mod lower_sdd;
mod lower_trees;
mod mentioned;
mod named;
mod nnf;
mod number_diagram;
mod ordered_table;
mod reach;
mod size;
mod smooth;
mod soundness;
mod together;
mod values;
mod values_file;

#[cfg(test)]
mod file_tests;
#[cfg(test)]
pub(crate) mod samples;

pub use arena::{Circuit, Node, NodeId};
pub use builder::CircuitBuilder;
pub use conjoin::{conjoin, exactly_one};
pub use d4::{read_d4, write_d4};
pub use dot::write_dot;
pub use error::CircuitError;
pub use evaluate::CircuitEvaluator;
pub use expand::expand_decisions;
pub use facts::{Facts, Proof, ProofOf, Verified};
pub use fan_in::fan_in_two;
pub use lower::{Lowering, SddItem, lower};
pub use lower_obdd::lower_obdd;
pub use lower_sdd::{lower_sdd, lower_sdd_file};
pub use lower_trees::lower_forest;
pub use mentioned::VariableSets;
pub use named::{NamedCircuit, Uncompiled};
pub use nnf::{read_nnf, write_nnf};
pub use number_diagram::{NumberDiagram, NumberNode};
pub use size::Counts;
pub(crate) use smooth::smooth_over;
pub use smooth::{paper_form, paper_form_within, smooth, smooth_within};
pub(crate) use together::{Together, diagram_together, together};
pub(crate) use values::{PackedGate, PackedGates, WholeSum};
pub use values::{Part, Rule, ValueEvaluator, Values, WeightedSum};
