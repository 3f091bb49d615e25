//! Exact SHAP scores for neural networks, by compiling them into Boolean circuits.
//!
//! The folders are the stages of the pipeline and data moves through them from left to right:
//! [`lit`], [`diagram`]. A stage uses only stages to its left; a test reads the `use` lines and keeps it so.

pub mod diagram;
pub mod lit;
