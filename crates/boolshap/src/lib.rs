//! Exact SHAP scores for neural networks, by compiling them into Boolean circuits.
//!
//! The modules are the stages of the pipeline, and data flows through them from left to right: [`lit`], [`data`],
//! [`model`], [`formula`], [`diagram`], [`circuit`], [`explain`], [`query`], [`workflow`], [`report`]. A stage uses
//! only stages to its left; a test enforces this by reading the `use` lines. The names re-exported at the root are the
//! main entry points, all from [`workflow`] and the types it works on:
//!
//! ```no_run
//! use boolshap::{CompileRequest, Explainer, Request, TrainRequest, compile, train};
//!
//! let trained = train("housing.csv", &TrainRequest::new("median_house_value"))?;
//! let compiled = compile(&trained.model, &CompileRequest { verify: true, ..CompileRequest::default() })?;
//! compiled.save("circuit.bsc")?;
//! let explainer = Explainer::new(&compiled.circuit, &Request::default())?;
//! explainer.explain_file("housing.csv", "scores.csv")?;
//! println!("{}", explainer.describe());
//! # Ok::<(), boolshap::Error>(())
//! ```

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
pub mod workflow;

pub use circuit::NamedCircuit;
pub use data::Scores;
pub use model::Model;
pub use workflow::{Compilation, CompileRequest, Error, Explainer, Request, VerifyRequest, compile, import, verify};
#[cfg(feature = "train")]
pub use workflow::{TrainRequest, train};

#[cfg(test)]
#[path = "../tests/shared_data/mod.rs"]
mod shared_data;
