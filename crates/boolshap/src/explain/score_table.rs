//! The scores of many entities in one piece of memory.

use super::distinct_rows::DistinctRows;
use super::{ExplainError, Explanation};

/// A base value, a prediction and a score for each player, row by row. Rows that are the same are held once.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreTable {
    width: usize,
    base_value: f64,
    /// For each row, where its scores are.
    kinds: Vec<u32>,
    predictions: Vec<bool>,
    scores: Vec<f64>,
}

impl ScoreTable {
    pub(super) fn new(
        width: usize,
        base_value: f64,
        rows: DistinctRows,
        predictions: Vec<bool>,
        scores: Vec<f64>,
    ) -> Self {
        ScoreTable { width, base_value, kinds: rows.kinds, predictions, scores }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.kinds.len()
    }

    /// How many of them were computed.
    pub fn distinct_rows(&self) -> usize {
        self.predictions.len()
    }

    /// How many scores a row has.
    pub fn width(&self) -> usize {
        self.width
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

    /// The score of each player.
    pub fn scores(&self, row: usize) -> &[f64] {
        &self.scores[self.kinds[row] as usize * self.width..][..self.width]
    }

    /// Fails unless base value and scores of every row add up to the prediction (the efficiency axiom).
    pub(super) fn check_sums(&self) -> Result<(), ExplainError> {
        let mut checked = 0;
        // Kinds are numbered as they first appear.
        for (row, &kind) in self.kinds.iter().enumerate() {
            if kind == checked {
                checked += 1;
                let sum: f64 = self.scores(row).iter().sum();
                Explanation::check_sum_of(row, self.base_value, sum, self.prediction(row))?;
            }
        }
        Ok(())
    }
}
