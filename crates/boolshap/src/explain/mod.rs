//! SHAP scores of Boolean classifiers: the paper's two ways to compute them.
//!
//! [`BruteForce`] is formula (1) of the paper over the labels of all entities, whoever computed them: the black box.
//! [`OpenBox`] is the algorithm of Arenas, Barceló, Bertossi and Monet on a smooth circuit of fan-in 2. Both give floats
//! and exact fractions, for the uniform and for any product [`Distribution`], and every [`Explanation`] has passed the
//! test that base value and scores add up to the prediction.

mod brute_force;
mod distribution;
mod error;
mod explanation;
mod labels;
mod open_box;
mod open_box_floats;
mod open_box_fractions;
mod polynomial;
mod stream;

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod stream_tests;

pub use brute_force::BruteForce;
pub use distribution::Distribution;
pub use error::ExplainError;
pub use explanation::Explanation;
pub use labels::Labels;
pub use open_box::OpenBox;
pub use stream::{Scorer, Streamed, explain_stream, score_in_parallel};
