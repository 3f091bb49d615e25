//! Tables of any length explained in bounded memory.
//!
//! A thread reads, binarises and packs batches of rows, a few ahead. This thread finds the rows that are new, has an
//! engine score them, and passes all rows in order to the sink. A row seen before costs an index lookup and a copy of
//! what was written for it.
//!
//! Memory is bounded, however long and wide the table is. Finished rows and their index are cached up to
//! [`REMEMBERED_BYTES`], after which the cache is cleared. All distinct rows are kept for counting up to
//! [`COUNTED_ROWS`] and [`COUNTED_BYTES`], after which their number is unknown. Rows are scored in pieces of at most
//! [`PIECE_CELLS`] scores.

use super::ExplainError;
use crate::data::{Bits, DataError, Entities, EntityBatch, PackedRows, RowIndex, ScoreSink, Scores};
use crate::lit::{Progress, Watch};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most memory for finished rows and their index before they are forgotten.
const REMEMBERED_BYTES: usize = 64 << 20;
/// The most distinct rows to count.
const COUNTED_ROWS: usize = 1 << 22;
/// The most memory for counting distinct rows.
const COUNTED_BYTES: usize = 128 << 20;
/// The most scores to compute and keep as numbers at a time, unless 64 rows have more.
const PIECE_CELLS: usize = 1 << 19;
/// How many batches are read ahead.
const READ_AHEAD: usize = 3;

/// Scores distinct rows, in order; whole batches at a time, so that all cores can be used.
pub(super) type Score<'a> = dyn Fn(&Bits, &Watch<'_>) -> Result<Scores, ExplainError> + 'a;

/// The numbers of streamed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streamed {
    /// The number of rows.
    pub rows: u64,
    /// The number of distinct rows; `None` if there were more than are counted.
    pub distinct_rows: Option<u64>,
}

/// Reads, explains and writes all entities in order. Progress counts rows.
pub fn explain_stream(
    entities: Entities,
    score: impl Fn(&Bits, &Watch<'_>) -> Result<Scores, ExplainError>,
    sink: &mut dyn ScoreSink,
    watch: &Watch<'_>,
) -> Result<Streamed, ExplainError> {
    let memory = Memory { remembered: REMEMBERED_BYTES, counted_rows: COUNTED_ROWS, counted_bytes: COUNTED_BYTES };
    stream(entities, &score, sink, watch, &memory)
}

/// The limits on memory.
pub(super) struct Memory {
    pub(super) remembered: usize,
    pub(super) counted_rows: usize,
    pub(super) counted_bytes: usize,
}

/// A batch with its rows packed.
type Packed = (EntityBatch, PackedRows);

pub(super) fn stream(
    entities: Entities,
    score: &Score<'_>,
    sink: &mut dyn ScoreSink,
    watch: &Watch<'_>,
    memory: &Memory,
) -> Result<Streamed, ExplainError> {
    let table = entities.table().clone();
    let reader = Reader::start(entities)?;
    let mut met: Option<Met> = None;
    let mut rows = 0;
    while let Some((batch, packed)) = reader.next(watch)? {
        let met = met.get_or_insert_with(|| Met::new(&packed));
        let expected = batch.expected_rows.map(|rows| rows as f64);
        let piece = (PIECE_CELLS / batch.bits.features().max(1)).max(64);
        for first in (0..packed.rows()).step_by(piece) {
            let count = piece.min(packed.rows() - first);
            if met.bytes() + sink.learned_bytes() > memory.remembered {
                met.forget();
                sink.forget();
            }
            let fresh = met.look(&packed, first..first + count);
            if !fresh.is_empty() {
                // The engine reports progress on its own rows, which are only some of the piece.
                let report = |progress: Progress| {
                    let part = progress.share().unwrap_or(0.0) * count as f64;
                    // The engine checks its own watch for a stop.
                    watch.report(rows as f64 + part, expected, "rows");
                };
                let scored = score(&batch.bits.select(&fresh), &watch.progress(&report));
                let row_of = |entity: usize| batch.first_row + fresh[entity] as u64;
                let scored = scored.map_err(|error| error.in_file(table.path(), row_of))?;
                assert_eq!(scored.len(), fresh.len(), "the engine scores every row");
                sink.learn(&scored);
                met.count(&packed, &fresh, memory);
            }
            let kept: Vec<_> = batch.kept.iter().map(|column| column.slice(first, count)).collect();
            sink.write(&met.numbers, &kept)?;
            rows += count as u64;
            watch.report(rows as f64, expected, "rows");
            watch.check()?;
        }
    }
    reader.finish();
    let distinct_rows = met.map_or(Some(0), |met| met.counted.map(|rows| rows.len() as u64));
    Ok(Streamed { rows, distinct_rows })
}

/// A thread that reads until the receiver is gone.
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

    /// Waits for a batch, checking for a stop request meanwhile: a pipe may stay silent for ever.
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

    /// Makes sure that the thread has read everything: its panic must not pass for the end of the file.
    fn finish(self) {
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The rows seen so far, or since all were last forgotten.
struct Met {
    index: RowIndex,
    /// The numbers of the rows in the last lookup.
    numbers: Vec<u32>,
    /// All distinct rows, while they are few enough.
    counted: Option<RowIndex>,
}

impl Met {
    fn new(rows: &PackedRows) -> Self {
        let index = RowIndex::new(rows.row_words());
        Met { counted: Some(index.clone()), index, numbers: Vec::new() }
    }

    /// Numbers some rows; returns those seen for the first time.
    fn look(&mut self, rows: &PackedRows, range: std::ops::Range<usize>) -> Vec<usize> {
        self.numbers.clear();
        let mut fresh = Vec::new();
        for row in range {
            let (number, is_new) = self.index.insert(rows.row(row));
            self.numbers.push(number);
            if is_new {
                fresh.push(row);
            }
        }
        fresh
    }

    /// Counts fresh rows; a row is fresh again after all were forgotten.
    fn count(&mut self, rows: &PackedRows, fresh: &[usize], memory: &Memory) {
        if let Some(counted) = &mut self.counted {
            for &row in fresh {
                counted.insert(rows.row(row));
            }
            if counted.len() > memory.counted_rows || counted.bytes() > memory.counted_bytes {
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
