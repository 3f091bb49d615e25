//! What can be wrong with a request for scores.

use crate::circuit::check::Violation;
use crate::circuit::{CircuitError, NodeId};
use crate::data::DataError;
use crate::lit::Stopped;
use std::path::PathBuf;

/// An error of the explain stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// An entity that has not one value for each feature.
    #[error("entity {entity} has {found} values, but there are {expected} features")]
    EntityLength {
        /// The position of the entity, counted from 0.
        entity: usize,
        /// The number of features.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A distribution that has not one probability for each feature.
    #[error("the distribution has {found} probabilities, but there are {expected} features")]
    DistributionLength {
        /// The number of features.
        expected: usize,
        /// The number of probabilities.
        found: usize,
    },
    /// A probability that is none.
    #[error("the probability of feature {feature} is {value}, which is not between 0 and 1")]
    Probability {
        /// The position of the feature, counted from 0.
        feature: usize,
        /// What was given.
        value: String,
    },
    /// A table of labels that has not one word for each 64 entities.
    #[error("the labels of {features} features take {expected} words, {found} were given")]
    LabelsLength {
        /// The number of features.
        features: usize,
        /// The number of words that hold their labels.
        expected: usize,
        /// The number of words.
        found: usize,
    },
    /// More features than an engine takes.
    #[error("{features} features are too many for {engine}: the limit is {limit}")]
    TooManyFeatures {
        /// How many there are.
        features: usize,
        /// The engine.
        engine: &'static str,
        /// How many it takes.
        limit: usize,
    },
    /// A circuit that the open-box algorithm cannot take.
    #[error("the open-box algorithm needs a smooth circuit of fan-in 2: {0}")]
    NotPaperForm(#[from] Violation),
    /// A circuit that no sweep can be right on.
    #[error("scores need a decomposable circuit: {0}")]
    NotDecomposable(#[source] Violation),
    /// A decision node, where the open-box algorithm takes only gates.
    #[error("the open-box algorithm needs a smooth circuit of fan-in 2 made of gates: node {0} is a decision")]
    DecisionNode(NodeId),
    /// Scores that do not add up: a defect of the engine or a circuit that is not deterministic.
    #[error(
        "entity {entity}: the base value {base} and the scores, {sum} in all, do not add up to the prediction {prediction}"
    )]
    DoesNotAddUp {
        /// The position of the entity, counted from 0.
        entity: usize,
        /// The base value.
        base: String,
        /// The sum of the scores.
        sum: String,
        /// The prediction.
        prediction: u8,
    },
    /// The same of a row of a file.
    #[error(
        "{}, row {row}: the base value {base} and the scores, {sum} in all, do not add up to the prediction {prediction}",
        path.display()
    )]
    RowDoesNotAddUp {
        /// The file.
        path: PathBuf,
        /// The first of the rows that have these bits, counted from 1.
        row: u64,
        /// The base value.
        base: String,
        /// The sum of the scores.
        sum: String,
        /// The prediction.
        prediction: u8,
    },
    /// Rows could not be read, or scores not be written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The computation was stopped before it was done.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
