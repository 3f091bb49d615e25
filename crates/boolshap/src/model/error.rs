//! Errors in a network or in a file that holds one.

use crate::lit::Stopped;
use std::path::PathBuf;

/// Why a model could not be read, built or trained.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A layer expects another number of inputs than the layer before has outputs.
    #[error("{layer} has weights for {found} inputs where {expected} arrive")]
    Width {
        /// The layer.
        layer: String,
        /// How wide the layer before it is.
        expected: usize,
        /// How many weights it has.
        found: usize,
    },
    /// A layer without neurons or inputs, or an argmax over fewer than two classes.
    #[error("{layer} is empty")]
    Empty {
        /// The layer.
        layer: String,
    },
    /// A parameter from which no network can be built.
    #[error("{layer}: {problem}")]
    Parameter {
        /// The layer it belongs to.
        layer: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A class that the network does not have.
    #[error("there is no class {class}: the network has {classes} classes, counted from 0")]
    UnknownClass {
        /// The class that was requested.
        class: usize,
        /// How many there are.
        classes: usize,
    },
    /// A file that could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file whose content is not what it should be.
    #[error("{}: {message}", path.display())]
    Format {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// A step that cannot be expressed in gates.
    #[error("{0}")]
    Step(String),
    /// Names, classes or marginals that do not fit the network.
    #[error("{0}")]
    Inconsistent(String),
    /// Training data from which nothing can be learned.
    #[error("{0}")]
    Training(String),
    /// Stopped before finishing.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What is wrong with a layer's parameters. Neurons are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A vector of another length than the layer has outputs.
    #[error("{what} has {found} values where {expected} are expected")]
    Length {
        /// Which vector.
        what: &'static str,
        /// The number of outputs.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// Weights whose common denominator makes them too large.
    #[error("the weights of neuron {neuron} span too many sizes to be scaled to integers")]
    TooWide {
        /// The neuron.
        neuron: usize,
    },
    /// Scores whose common denominator makes them too large.
    #[error("the weights and biases of the scores span too many sizes to be scaled to integers")]
    ScoresTooWide,
    /// Batch normalisation that would divide by zero or take the root of a negative number.
    #[error("neuron {neuron} has a variance plus epsilon that is not positive")]
    Variance {
        /// The neuron.
        neuron: usize,
    },
    /// Scores that are compared with each other after different irrational scalings.
    #[error(
        "batch normalisation after the scores of an argmax scales each class by another square root, and no whole numbers \
         were found that keep their order"
    )]
    NormalisedScores,
    /// A number that is NaN or infinite.
    #[error("{what} of neuron {neuron} is {value}, not a finite number")]
    NotFinite {
        /// Which parameter.
        what: &'static str,
        /// The neuron.
        neuron: usize,
        /// Its value.
        value: String,
    },
    /// A latent weight without a sign.
    #[error(
        "the weight of neuron {neuron} for input {input} is 0, whose sign is ambiguous (+1 for Larq's ste_sign, -1 where \
         only weights > 0 count as +1)"
    )]
    ZeroWeight {
        /// The neuron.
        neuron: usize,
        /// The input, counted from 1.
        input: usize,
    },
    /// Batch normalisation with an unknown epsilon.
    #[error(
        "batch normalisation needs the epsilon it was trained with, which this file does not hold (0.001 is Keras' \
         default, 0.00001 PyTorch's)"
    )]
    EpsilonUnknown,
    /// Inputs without a quantiser, in a network with numbers of several bits.
    #[error(
        "the inputs reach this layer as real numbers: the file neither quantises them nor says which numbers they can be"
    )]
    InputsUnknown,
}
