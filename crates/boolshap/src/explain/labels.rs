//! The labels of all entities of the population, computed once: all that a black-box method may use.

use super::ExplainError;
use crate::circuit::Circuit;

/// One bit for each of the 2^N entities; in entity number `i`, feature `v` is bit `v` of `i`.
///
/// ```
/// use boolshap::explain::Labels;
/// let majority = Labels::from_fn(3, |entity| entity.iter().filter(|&&bit| bit).count() >= 2)?;
/// assert!(majority.label(0b110) && !majority.label(0b100));
/// # Ok::<(), boolshap::explain::ExplainError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    words: Vec<u64>,
    features: usize,
}

impl Labels {
    /// The most features of such a population.
    pub const MAX_FEATURES: usize = 30;

    /// Asks a classifier for the label of every entity.
    pub fn from_fn(features: usize, mut classifier: impl FnMut(&[bool]) -> bool) -> Result<Self, ExplainError> {
        let mut words = vec![0u64; words_for(features)?];
        let mut entity = vec![false; features];
        for index in 0..1usize << features {
            for (v, value) in entity.iter_mut().enumerate() {
                *value = index >> v & 1 == 1;
            }
            words[index / 64] |= u64::from(classifier(&entity)) << (index % 64);
        }
        Ok(Labels { words, features })
    }

    /// Takes labels computed elsewhere: entity `i` in bit `i % 64` of word `i / 64`.
    pub fn from_words(features: usize, words: Vec<u64>) -> Result<Self, ExplainError> {
        match words_for(features)? {
            expected if expected == words.len() => Ok(Labels { words, features }),
            expected => Err(ExplainError::LabelsLength { features, expected, found: words.len() }),
        }
    }

    /// Evaluates a circuit on every entity.
    pub fn of_circuit(circuit: &Circuit) -> Result<Self, ExplainError> {
        words_for(circuit.variables())?;
        Ok(Labels { words: circuit.truth_table()?, features: circuit.variables() })
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The label of the entity of this number.
    pub fn label(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }
}

fn words_for(features: usize) -> Result<usize, ExplainError> {
    if features > Labels::MAX_FEATURES {
        let (engine, limit) = ("a table of all labels", Labels::MAX_FEATURES);
        return Err(ExplainError::TooManyFeatures { features, engine, limit });
    }
    Ok((1usize << features).div_ceil(64))
}
