//! Tables of any length explained in bounded memory.
//!
//! A thread reads, binarises and packs batches of rows, a few ahead; this one finds out which rows it has not met, has
//! an engine score those, and hands all rows in their order to what writes them. Rows that were met before cost a look
//! into an index and a copy of what was written for them.
//!
//! What is remembered is bounded, however long and however wide the table is: finished rows and their index up to
//! [`REMEMBERED_BYTES`], after which all are forgotten at once; and, to tell how many distinct rows there were, all of
//! them up to [`COUNTED_ROWS`] and [`COUNTED_BYTES`], after which the number is not known. Rows are scored in pieces of
//! at most [`PIECE_CELLS`] scores.

use super::{ExplainError, Explanation, ScoreTable};
use crate::data::{Bits, DataError, Entities, EntityBatch, PackedRows, RowIndex, ScoreRows, ScoreSink};
use crate::lit::Watch;
use dashu::rational::RBig;
use rayon::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much memory finished rows and their index take before they are forgotten.
const REMEMBERED_BYTES: usize = 64 << 20;
/// How many distinct rows are counted.
const COUNTED_ROWS: usize = 1 << 22;
/// How much memory the counting of distinct rows takes.
const COUNTED_BYTES: usize = 128 << 20;
/// How many scores are computed and kept as numbers at a time, unless 64 rows have more.
const PIECE_CELLS: usize = 1 << 19;
/// How many batches are read ahead.
const READ_AHEAD: usize = 3;

/// Scores some distinct rows, in order; whole batches at a time, so that it can use all cores.
pub type Scorer<'a> = dyn Fn(&Bits, &Watch<'_>) -> Result<ScoreRows, ExplainError> + 'a;

/// What came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streamed {
    /// How many rows.
    pub rows: u64,
    /// How many of them are distinct; `None` if there were more than are counted.
    pub distinct_rows: Option<u64>,
}

/// Reads, explains and writes all entities in order. Progress is told in rows.
pub fn explain_stream(
    entities: Entities,
    score: &Scorer<'_>,
    sink: &mut dyn ScoreSink,
    watch: &Watch<'_>,
) -> Result<Streamed, ExplainError> {
    let limits = Limits { remembered: REMEMBERED_BYTES, counted_rows: COUNTED_ROWS, counted_bytes: COUNTED_BYTES };
    stream(entities, score, sink, watch, &limits)
}

/// What may be remembered.
pub(super) struct Limits {
    pub(super) remembered: usize,
    pub(super) counted_rows: usize,
    pub(super) counted_bytes: usize,
}

/// A batch with its rows packed.
type Packed = (EntityBatch, PackedRows);

pub(super) fn stream(
    entities: Entities,
    score: &Scorer<'_>,
    sink: &mut dyn ScoreSink,
    watch: &Watch<'_>,
    limits: &Limits,
) -> Result<Streamed, ExplainError> {
    let table = entities.table().clone();
    let reader = Reader::start(entities)?;
    let mut met: Option<Met> = None;
    let mut rows = 0;
    while let Some((batch, packed)) = reader.next(watch)? {
        let met = met.get_or_insert_with(|| Met::new(&packed));
        let expected = batch.expected_rows.unwrap_or(0);
        let piece = (PIECE_CELLS / batch.bits.features().max(1)).max(64);
        for first in (0..packed.rows()).step_by(piece) {
            let count = piece.min(packed.rows() - first);
            if met.bytes() + sink.learned_bytes() > limits.remembered {
                met.forget();
                sink.forget();
            }
            let fresh = met.look(&packed, first..first + count);
            if !fresh.is_empty() {
                // The engine knows how far it is with its rows, which are some of the piece.
                let report = |done: u64, of: u64| {
                    let part = (count as u64 * done).checked_div(of).unwrap_or(0);
                    // Whether to stop is the engine's to find out, from its own watch.
                    let _ = watch.step(rows + part.min(count as u64), expected);
                };
                let scored = score(&met.fresh.to_bits(), &watch.progress(&report));
                let row_of = |entity: usize| batch.first_row + fresh[entity] as u64;
                let scored = scored.map_err(|error| error.in_file(table.path(), row_of))?;
                assert_eq!(scored.len(), fresh.len(), "the engine scores every row");
                sink.learn(&scored);
                met.count(limits);
            }
            let kept: Vec<_> = batch.kept.iter().map(|column| column.slice(first, count)).collect();
            sink.write(&met.numbers, &kept)?;
            rows += count as u64;
            watch.step(rows, expected)?;
        }
    }
    reader.finish();
    let distinct_rows = met.map_or(Some(0), |met| met.counted.map(|rows| rows.len() as u64));
    Ok(Streamed { rows, distinct_rows })
}

/// A thread that reads, and ends when nobody listens any more.
struct Reader {
    batches: Receiver<Result<Packed, DataError>>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn start(mut entities: Entities) -> Result<Self, DataError> {
        let path = entities.table().path().to_path_buf();
        let (sender, batches) = sync_channel(READ_AHEAD);
        let read = move || {
            loop {
                let batch = match entities.next_batch() {
                    Ok(None) => break,
                    Ok(Some(batch)) => {
                        let packed = PackedRows::from_bits(&batch.bits);
                        Ok((batch, packed))
                    }
                    Err(error) => Err(error),
                };
                let failed = batch.is_err();
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("reader".into()).spawn(read);
        Ok(Reader { batches, thread: thread.map_err(|source| DataError::Io { path, source })? })
    }

    /// Waits for a batch, but not longer than it takes to be told to stop: a pipe may be silent for ever.
    fn next(&self, watch: &Watch<'_>) -> Result<Option<Packed>, ExplainError> {
        loop {
            watch.check()?;
            match self.batches.recv_timeout(Duration::from_millis(50)) {
                Ok(batch) => return Ok(Some(batch?)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Makes sure that there was nothing more to read: a panic of the thread is not the end of the file.
    fn finish(self) {
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The rows met so far, or since the last time that all were forgotten.
struct Met {
    index: RowIndex,
    /// The numbers of the rows looked at last.
    numbers: Vec<u32>,
    /// Those of them that came for the first time.
    fresh: PackedRows,
    /// All distinct rows, while they are few enough.
    counted: Option<RowIndex>,
}

impl Met {
    fn new(rows: &PackedRows) -> Self {
        let index = RowIndex::new(rows.row_words());
        let mut fresh = rows.clone();
        fresh.clear();
        Met { counted: Some(index.clone()), index, numbers: Vec::new(), fresh }
    }

    /// Numbers some rows; returns those that came for the first time.
    fn look(&mut self, rows: &PackedRows, range: std::ops::Range<usize>) -> Vec<usize> {
        self.numbers.clear();
        self.fresh.clear();
        let mut fresh = Vec::new();
        for row in range {
            let (number, is_new) = self.index.insert(rows.row(row));
            self.numbers.push(number);
            if is_new {
                self.fresh.push(rows.row(row));
                fresh.push(row);
            }
        }
        fresh
    }

    /// Counts the fresh rows: a row is fresh again after all were forgotten.
    fn count(&mut self, limits: &Limits) {
        if let Some(counted) = &mut self.counted {
            for row in 0..self.fresh.rows() {
                counted.insert(self.fresh.row(row));
            }
            if counted.len() > limits.counted_rows || counted.bytes() > limits.counted_bytes {
                self.counted = None;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.index.bytes()
    }

    fn forget(&mut self) {
        self.index.clear();
    }
}

/// Scores rows a few at a time on all cores, by an engine that takes rows one by one.
pub fn score_in_parallel<T: Send>(
    rows: &Bits,
    watch: &Watch<'_>,
    explain: impl Fn(&[Vec<bool>], &Watch<'_>) -> Result<Vec<Explanation<T>>, ExplainError> + Sync,
) -> Result<ScoreRows, ExplainError>
where
    ScoreRows: From<Vec<Explanation<T>>>,
{
    /// Few rows keep an engine's vectors in cache and all cores busy.
    const TOGETHER: usize = 16;
    let entities: Vec<Vec<bool>> = (0..rows.rows()).map(|row| rows.row(row)).collect();
    let done = Mutex::new(0);
    let part = |(number, part): (usize, &[Vec<bool>])| {
        let explanations =
            explain(part, &watch.silent()).map_err(|error| error.with_entity(|entity| number * TOGETHER + entity))?;
        // Locked while it is told, so that progress never goes back.
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += part.len();
        watch.step(*done as u64, entities.len() as u64)?;
        Ok(explanations)
    };
    let parts: Vec<Result<Vec<Explanation<T>>, ExplainError>> =
        entities.par_chunks(TOGETHER).enumerate().map(part).collect();
    // Of several errors the one of the first row is told, whichever thread came first.
    let explanations = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(explanations.into_iter().flatten().collect::<Vec<_>>().into())
}

impl From<ScoreTable> for ScoreRows {
    fn from(table: ScoreTable) -> Self {
        let mut rows = ScoreRows::of_floats(table.width());
        for row in 0..table.rows() {
            rows.push(table.prediction(row), table.base_value(row), table.scores(row));
        }
        rows
    }
}

impl From<Vec<Explanation<f64>>> for ScoreRows {
    fn from(explanations: Vec<Explanation<f64>>) -> Self {
        let mut rows = ScoreRows::of_floats(explanations.first().map_or(0, |first| first.scores.len()));
        explanations.iter().for_each(|e| rows.push(e.prediction, e.base_value, &e.scores));
        rows
    }
}

impl From<Vec<Explanation<RBig>>> for ScoreRows {
    fn from(explanations: Vec<Explanation<RBig>>) -> Self {
        let mut rows = ScoreRows::of_texts(explanations.first().map_or(0, |first| first.scores.len()));
        for e in &explanations {
            rows.push_texts(e.prediction, e.base_value.to_string(), e.scores.iter().map(RBig::to_string));
        }
        rows
    }
}
