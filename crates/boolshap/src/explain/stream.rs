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

use super::{ExplainError, Explanation};
use crate::data::{Bits, DataError, Entities, EntityBatch, PackedRows, RowIndex, ScoreRows, ScoreSink, Table};
use crate::lit::Watch;
use dashu::rational::RBig;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
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

struct Limits {
    remembered: usize,
    counted_rows: usize,
    counted_bytes: usize,
}

/// A batch with its rows packed.
type Packed = (EntityBatch, PackedRows);

fn stream(
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
                let scored = scored.map_err(|error| in_file(error, &table, row_of))?;
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

/// An error that names an entity of a batch, with the row of the file instead.
fn in_file(error: ExplainError, table: &Table, row_of: impl Fn(usize) -> u64) -> ExplainError {
    match error {
        ExplainError::DoesNotAddUp { entity, base, sum, prediction } => {
            ExplainError::RowDoesNotAddUp { path: table.path().into(), row: row_of(entity), base, sum, prediction }
        }
        other => other,
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
    let done = AtomicUsize::new(0);
    let part = |(number, part): (usize, &[Vec<bool>])| {
        let explanations = explain(part, &watch.silent()).map_err(|error| match error {
            ExplainError::DoesNotAddUp { entity, base, sum, prediction } => {
                ExplainError::DoesNotAddUp { entity: number * TOGETHER + entity, base, sum, prediction }
            }
            other => other,
        })?;
        let done = done.fetch_add(part.len(), Ordering::Relaxed) + part.len();
        watch.step(done as u64, entities.len() as u64)?;
        Ok(explanations)
    };
    let parts: Vec<Result<Vec<Explanation<T>>, ExplainError>> =
        entities.par_chunks(TOGETHER).enumerate().map(part).collect();
    // Of several errors the one of the first row is told, whichever thread came first.
    let explanations = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(explanations.into_iter().flatten().collect::<Vec<_>>().into())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{KeptCells, Reading, Seeded, kept_text};
    use crate::lit::Stopped;
    use std::cell::{Cell, RefCell};
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;

    const LIMITS: Limits = Limits { remembered: usize::MAX, counted_rows: usize::MAX, counted_bytes: usize::MAX };

    /// A file of bits with a name for each row, and the same in memory.
    struct Sample {
        folder: tempfile::TempDir,
        features: Vec<String>,
        rows: Vec<Vec<bool>>,
    }

    impl Sample {
        fn new(features: usize, rows: usize, ones: usize) -> Self {
            let mut chance = Seeded::new(11, rows as u64);
            let mut row = || (0..features).map(|_| chance.below(100) < ones).collect::<Vec<bool>>();
            let rows: Vec<Vec<bool>> = (0..rows).map(|_| row()).collect();
            let names: Vec<String> = (0..features).map(|feature| format!("f{feature}")).collect();
            let mut text = format!("name,{}\n", names.join(","));
            for (number, row) in rows.iter().enumerate() {
                let bits: String = row.iter().map(|&bit| if bit { ",1" } else { ",0" }).collect();
                text += &format!("row {number}{bits}\n");
            }
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("rows.csv"), text).unwrap();
            Sample { folder, features: names, rows }
        }

        fn entities(&self) -> Entities {
            let path = self.folder.path().join("rows.csv");
            let mut entities = Entities::open(&path, &self.features, None, Reading::Bits).unwrap();
            entities.keep(&["name".into()]).unwrap();
            entities
        }
    }

    /// Every score is a number that tells the row, so that no row can stand for another.
    fn scores(row: &[bool]) -> Vec<f64> {
        (0..row.len())
            .map(|end| row[..=end].iter().fold(1.0, |sum, &bit| sum * 1.5 + f64::from(u8::from(bit))))
            .collect()
    }

    fn score(rows: &Bits, _: &Watch<'_>) -> Result<ScoreRows, ExplainError> {
        let mut scored = ScoreRows::of_floats(rows.features());
        for row in (0..rows.rows()).map(|row| rows.row(row)) {
            scored.push(row[0], 0.25, &scores(&row));
        }
        Ok(scored)
    }

    #[derive(Default)]
    struct Collected {
        learned: Vec<Vec<String>>,
        rows: Vec<Vec<String>>,
        forgotten: usize,
    }

    impl ScoreSink for Collected {
        fn learn(&mut self, rows: &ScoreRows) {
            self.learned.extend((0..rows.len()).map(|row| rows.texts(row)));
        }

        fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
            for (row, &number) in numbers.iter().enumerate() {
                let name = kept_text(&kept[0], row).unwrap();
                self.rows.push([&[name], self.learned[number as usize].as_slice()].concat());
            }
            Ok(())
        }

        fn learned_bytes(&self) -> usize {
            self.learned.len() * 100
        }

        fn forget(&mut self) {
            self.learned.clear();
            self.forgotten += 1;
        }
    }

    #[test]
    fn rows_come_out_in_order_whatever_is_forgotten() {
        for (features, rows, ones, remembered) in [
            (9, 20_000, 50, usize::MAX),
            (9, 20_000, 50, 5_000),
            (70, 9_000, 5, 0),
            (3, 8_192, 50, usize::MAX),
            (2, 0, 50, 0),
        ] {
            let sample = Sample::new(features, rows, ones);
            let mut sink = Collected::default();
            let limits = Limits { remembered, ..LIMITS };
            let streamed = stream(sample.entities(), &score, &mut sink, &Watch::unlimited(), &limits).unwrap();
            let distinct: HashSet<&Vec<bool>> = sample.rows.iter().collect();
            assert_eq!(streamed, Streamed { rows: rows as u64, distinct_rows: Some(distinct.len() as u64) });
            assert_eq!(sink.rows.len(), rows);
            assert_eq!(sink.forgotten > 1, remembered < usize::MAX && rows > 0, "{features} features");
            for (number, (found, row)) in sink.rows.iter().zip(&sample.rows).enumerate() {
                let mut expected = vec![format!("row {number}"), u8::from(row[0]).to_string(), "0.25".into()];
                expected.extend(scores(row).iter().map(f64::to_string));
                assert_eq!(*found, expected);
            }
        }
    }

    #[test]
    fn each_distinct_row_is_scored_once_while_it_is_remembered() {
        let sample = Sample::new(10, 20_000, 50);
        let scored = RefCell::new(Vec::new());
        let counting = |rows: &Bits, watch: &Watch<'_>| {
            scored.borrow_mut().extend((0..rows.rows()).map(|row| rows.row(row)));
            score(rows, watch)
        };
        explain_stream(sample.entities(), &counting, &mut Collected::default(), &Watch::unlimited()).unwrap();
        let scored = scored.into_inner();
        let distinct: HashSet<&Vec<bool>> = scored.iter().collect();
        assert_eq!((scored.len(), distinct.len()), (1024, 1024));
    }

    #[test]
    fn more_distinct_rows_than_are_counted_have_no_number() {
        let sample = Sample::new(10, 20_000, 50);
        for (counted_rows, counted_bytes, expected) in
            [(1024, usize::MAX, Some(1024)), (1023, usize::MAX, None), (1024, 8_192, None)]
        {
            let limits = Limits { counted_rows, counted_bytes, ..LIMITS };
            let sink = &mut Collected::default();
            let streamed = stream(sample.entities(), &score, sink, &Watch::unlimited(), &limits).unwrap();
            assert_eq!(streamed.distinct_rows, expected);
            assert_eq!(sink.rows.len(), 20_000);
        }
    }

    #[test]
    fn a_sum_that_is_wrong_names_the_row_of_the_file() {
        let mut sample = Sample::new(12, 9_999, 10);
        // A row like no other, twice.
        sample.rows.extend([vec![true; 12], vec![true; 12]]);
        let path = sample.folder.path().join("rows.csv");
        let more = format!("bad{}\n", ",1".repeat(12));
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + &more + &more).unwrap();
        let explain = |rows: &[Vec<bool>], _: &Watch<'_>| {
            let explanation = |(entity, row): (usize, &Vec<bool>)| {
                let good = row.iter().any(|bit| !bit);
                let explanation = Explanation { base_value: 0.5, prediction: good, scores: vec![1.0 / 24.0; 12] };
                explanation.check_sum(entity).map(|()| explanation)
            };
            rows.iter().enumerate().map(explanation).collect()
        };
        let engine = |rows: &Bits, watch: &Watch<'_>| score_in_parallel(rows, watch, explain);
        let error = explain_stream(sample.entities(), &engine, &mut Collected::default(), &Watch::unlimited());
        let text = error.unwrap_err().to_string();
        let expected = "rows.csv, row 10000: the base value 0.5 and the scores, ";
        assert!(text.contains(expected) && text.ends_with("do not add up to the prediction 0"), "{text}");
    }

    #[test]
    fn a_bad_cell_names_its_row_and_a_stop_stops() {
        let sample = Sample::new(3, 10_000, 50);
        let stop = AtomicBool::new(false);
        let calls = Cell::new(0);
        let stopping = |rows: &Bits, watch: &Watch<'_>| {
            calls.set(calls.get() + 1);
            stop.store(true, Ordering::Relaxed);
            score(rows, watch)
        };
        let watch = Watch::unlimited().stop_flag(&stop);
        let error = explain_stream(sample.entities(), &stopping, &mut Collected::default(), &watch).unwrap_err();
        assert!(matches!(error, ExplainError::Stopped(Stopped::Interrupted)), "{error}");
        assert_eq!(calls.get(), 1);
        let path = sample.folder.path().join("rows.csv");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "bad,1,0,2\n").unwrap();
        let error = explain_stream(sample.entities(), &score, &mut Collected::default(), &Watch::unlimited());
        let text = error.unwrap_err().to_string();
        assert!(text.ends_with("rows.csv, row 10001, column 'f2': '2' is neither 0 nor 1"), "{text}");
    }

    #[test]
    fn progress_rises_in_rows_to_the_end() {
        let sample = Sample::new(10, 20_000, 50);
        let told = std::sync::Mutex::new(Vec::new());
        let report = |done, total| told.lock().unwrap().push((done, total));
        let telling = |rows: &Bits, watch: &Watch<'_>| {
            watch.step(rows.rows() as u64 / 2, rows.rows() as u64)?;
            score(rows, watch)
        };
        let watch = Watch::unlimited().progress(&report);
        explain_stream(sample.entities(), &telling, &mut Collected::default(), &watch).unwrap();
        let told = told.into_inner().unwrap();
        assert!(told.is_sorted_by_key(|(done, _)| done), "{told:?}");
        assert_eq!((told[0].0, told.last().unwrap().0), (4_096, 20_000));
        assert!(told.iter().all(|(_, total)| (17_000..22_000).contains(total)), "{told:?}");
    }
}
