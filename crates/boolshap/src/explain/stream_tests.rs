//! Streams of rows: their order, what is forgotten, what is counted, and which row an error names.

use super::engine::in_parallel;
use super::stream::{Memory, stream};
use super::{ExplainError, Explanation, Streamed, explain_stream};
use crate::data::{Bits, DataError, Entities, KeptCells, Reading, ScoreSink, Scores, Seeded, kept_text};
use crate::lit::{Progress, Stopped, Watch};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

const MEMORY: Memory = Memory { remembered: usize::MAX, counted_rows: usize::MAX, counted_bytes: usize::MAX };

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

/// Every score encodes its row, so that no row can pass for another.
fn scores(row: &[bool]) -> Vec<f64> {
    (0..row.len()).map(|end| row[..=end].iter().fold(1.0, |sum, &bit| sum * 1.5 + f64::from(u8::from(bit)))).collect()
}

fn score(rows: &Bits, _: &Watch<'_>) -> Result<Scores, ExplainError> {
    let mut scored = Scores::empty(rows.features(), false);
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
    fn learn(&mut self, rows: &Scores) {
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
        let limits = Memory { remembered, ..MEMORY };
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
    explain_stream(sample.entities(), counting, &mut Collected::default(), &Watch::unlimited()).unwrap();
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
        let limits = Memory { counted_rows, counted_bytes, ..MEMORY };
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
    let engine = |rows: &Bits, watch: &Watch<'_>| in_parallel(rows, 12, watch, explain);
    let error = explain_stream(sample.entities(), engine, &mut Collected::default(), &Watch::unlimited());
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
    let error = explain_stream(sample.entities(), stopping, &mut Collected::default(), &watch).unwrap_err();
    assert!(matches!(error, ExplainError::Stopped(Stopped::Interrupted)), "{error}");
    assert_eq!(calls.get(), 1);
    let path = sample.folder.path().join("rows.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "bad,1,0,2\n").unwrap();
    let error = explain_stream(sample.entities(), score, &mut Collected::default(), &Watch::unlimited());
    let text = error.unwrap_err().to_string();
    assert!(text.ends_with("rows.csv, row 10001, column 'f2': '2' is neither 0 nor 1"), "{text}");
}

#[test]
fn progress_rises_in_rows_to_the_end() {
    let sample = Sample::new(10, 20_000, 50);
    let stated = std::sync::Mutex::new(Vec::new());
    let report = |progress: Progress| {
        assert_eq!((progress.stage, progress.unit), ("", "rows"));
        stated.lock().unwrap().push((progress.done as u64, progress.total.unwrap() as u64));
    };
    let telling = |rows: &Bits, watch: &Watch<'_>| {
        watch.step(rows.rows() as u64 / 2, rows.rows() as u64)?;
        score(rows, watch)
    };
    let watch = Watch::unlimited().progress(&report);
    explain_stream(sample.entities(), telling, &mut Collected::default(), &watch).unwrap();
    let stated = stated.into_inner().unwrap();
    assert!(stated.is_sorted_by_key(|(done, _)| done), "{stated:?}");
    assert_eq!((stated[0].0, stated.last().unwrap().0), (4_096, 20_000));
    assert!(stated.iter().all(|(_, total)| (17_000..22_000).contains(total)), "{stated:?}");
}
