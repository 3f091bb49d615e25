//! The interface of every engine: scores for rows of bits.

use super::{ExplainError, Explanation, Index};
use crate::data::{Bits, Scores};
use crate::lit::Watch;
use dashu_ratio::RBig;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// A game prepared for one kind of arithmetic: [`FloatGame`](super::FloatGame) and [`ExactGame`](super::ExactGame)
/// compute every game, [`ScoreTable`](super::ScoreTable) has the scores of all inputs of the simplest game, and
/// [`Reference`](super::Reference) has the slower methods that check them.
pub trait Engine: Send + Sync {
    /// The scores of these rows, in order, on all threads of the current pool. Each row has passed the index's check.
    fn explain(&self, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError>;

    /// Bounds the error of base value and scores for any row: 0 for fractions, and for floats a proved bound
    /// (`error_bound`). If it exceeds [`GUARANTEED`](super::GUARANTEED), no scores are given.
    fn error_bound(&self, index: Index) -> f64;

    /// The approximate number of nodes visited per row.
    fn visits(&self, index: Index) -> u128;
}

/// An explanation of one row as a row of [`Scores`].
pub(super) trait RowNumber: Sized {
    const EXACT: bool;
    fn push(scores: &mut Scores, explanation: Explanation<Self>);
}

impl RowNumber for f64 {
    const EXACT: bool = false;

    fn push(scores: &mut Scores, explanation: Explanation<f64>) {
        scores.push(explanation.prediction, explanation.base_value, &explanation.scores);
    }
}

impl RowNumber for RBig {
    const EXACT: bool = true;

    fn push(scores: &mut Scores, explanation: Explanation<RBig>) {
        scores.push_exact(explanation.prediction, explanation.base_value, explanation.scores);
    }
}

/// Explains a few rows at a time on all cores, with an engine that takes them one by one.
pub(super) fn in_parallel<T: Send + RowNumber>(
    rows: &Bits,
    width: usize,
    watch: &Watch<'_>,
    explain: impl Fn(&[Vec<bool>], &Watch<'_>) -> Result<Vec<Explanation<T>>, ExplainError> + Sync,
) -> Result<Scores, ExplainError> {
    /// Few rows keep an engine's vectors in cache and all cores busy.
    const TOGETHER: usize = 16;
    let entities: Vec<Vec<bool>> = (0..rows.rows()).map(|row| rows.row(row)).collect();
    let done = Mutex::new(0);
    let part = |(number, part): (usize, &[Vec<bool>])| {
        let explanations =
            explain(part, &watch.silent()).map_err(|error| error.with_entity(|entity| number * TOGETHER + entity))?;
        // Locked while it is reported, so that progress never goes back.
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += part.len();
        watch.step(*done as u64, entities.len() as u64)?;
        Ok(explanations)
    };
    let parts: Vec<Result<Vec<Explanation<T>>, ExplainError>> =
        entities.par_chunks(TOGETHER).enumerate().map(part).collect();
    let mut scores = Scores::empty(width, T::EXACT);
    // Of several errors, the first row's is returned, whichever thread failed first.
    for part in parts {
        part?.into_iter().for_each(|explanation| T::push(&mut scores, explanation));
    }
    Ok(scores)
}
