//! The measurements of the README, by name, and the paper's experiment on the embedded data.
//!
//! Each measurement gives a readable table and a JSON object, and compares with a peer or a physical limit in the same
//! run.

mod background_times;
mod compile_times;
mod embedded;
mod experiment;
mod mode_times;
mod question_times;
mod reach;
mod shap_times;
mod stream_times;
mod value_times;

pub use embedded::{embedded_model, embedded_rows, embedded_table};
pub use experiment::{Experiment, in_units};

use boolshap::lit::Watch;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// What to measure.
#[derive(Debug, Clone)]
pub enum Bench {
    /// From networks to circuits: growth with the inputs and the hidden layer, compared with evaluating all inputs.
    Compile {
        /// The most inputs of a network.
        inputs: usize,
    },
    /// The cost of an entity's scores, by engine, and compared with the machine's multiply-add rate.
    Shap {
        /// A circuit file to measure on instead of the embedded network's.
        circuit: Option<PathBuf>,
    },
    /// The cost of each meaning of a score: columns as players, background rows, interactions, fractions.
    Modes,
    /// A whole data set as background, for every one of its rows.
    Background,
    /// The cost of answers to questions: reasons, counterfactuals, radii.
    Questions,
    /// The cost of explaining a model's scores, on a network with one hidden layer.
    Values {
        /// A file of scores to measure on instead of a random network's.
        circuit: Option<PathBuf>,
    },
    /// How far each method of explaining goes, network by network.
    Reach {
        /// Files or folders of networks, besides random families.
        networks: Vec<PathBuf>,
        /// The time limit for each question.
        limit: Duration,
    },
    /// Explaining a table of raw rows against reading it and writing the scores.
    Stream {
        /// The number of rows to explain.
        rows: u64,
    },
}

impl Bench {
    /// Measures; returns the result as JSON and as text.
    pub fn run(&self, watch: &Watch<'_>) -> anyhow::Result<(Value, String)> {
        Ok(match self {
            Bench::Compile { inputs } => {
                let times = compile_times::CompileTimes::measure(*inputs, watch)?;
                (times.json(), times.table())
            }
            Bench::Shap { circuit } => {
                let times = shap_times::ShapTimes::measure(circuit.as_deref(), watch)?;
                (times.json(), times.table())
            }
            Bench::Modes => {
                let times = mode_times::ModeTimes::measure(watch)?;
                (times.json(), times.table())
            }
            Bench::Background => {
                let times = background_times::BackgroundTimes::measure(watch)?;
                (times.json(), times.table())
            }
            Bench::Values { circuit } => {
                let times = value_times::ValueTimes::measure(circuit.as_deref(), watch)?;
                (times.json(), times.table())
            }
            Bench::Questions => {
                let times = question_times::QuestionTimes::measure(watch)?;
                (times.json(), times.table())
            }
            Bench::Reach { networks, limit } => {
                let reach = reach::Reach::measure(networks, *limit, watch)?;
                (reach.json(), reach.table())
            }
            Bench::Stream { rows } => {
                let times = stream_times::StreamTimes::measure(*rows, watch)?;
                (times.json(), times.table())
            }
        })
    }
}
