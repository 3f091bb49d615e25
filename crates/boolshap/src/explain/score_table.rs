//! The scores of many entities in one piece of memory.

use super::distinct_rows::DistinctRows;

/// A base value, a prediction and a score for each feature, row by row. Rows that are the same are held once.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreTable {
    features: usize,
    base_value: f64,
    /// For each row, where its scores are.
    kinds: Vec<u32>,
    predictions: Vec<bool>,
    scores: Vec<f64>,
}

impl ScoreTable {
    pub(super) fn new(
        features: usize,
        base_value: f64,
        rows: DistinctRows,
        predictions: Vec<bool>,
        scores: Vec<f64>,
    ) -> Self {
        ScoreTable { features, base_value, kinds: rows.kinds, predictions, scores }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.kinds.len()
    }

    /// How many of them were computed.
    pub fn distinct_rows(&self) -> usize {
        self.predictions.len()
    }

    /// How many features there are.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The expected label when nothing is known of the entity.
    pub fn base_value(&self, row: usize) -> f64 {
        debug_assert!(row < self.rows());
        self.base_value
    }

    /// The label of the entity.
    pub fn prediction(&self, row: usize) -> bool {
        self.predictions[self.kinds[row] as usize]
    }

    /// The SHAP score of each feature.
    pub fn scores(&self, row: usize) -> &[f64] {
        &self.scores[self.kinds[row] as usize * self.features..][..self.features]
    }
}
