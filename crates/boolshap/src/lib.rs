//! Exact SHAP scores for neural networks, by compiling them into Boolean circuits.
//!
//! The folders are the stages of the pipeline and data moves through them from left to right: [`lit`], [`data`],
//! [`model`], [`formula`], [`diagram`], [`circuit`], [`explain`], [`query`], [`report`]. A stage uses only stages to its left; a test
//! reads the `use` lines and keeps it so.

pub mod circuit;
pub mod data;
pub mod diagram;
pub mod explain;
pub mod formula;
pub mod lit;
pub mod model;
pub mod query;
pub mod report;
pub mod tutorial;

#[cfg(test)]
#[path = "../tests/shared_data/mod.rs"]
mod shared_data;
