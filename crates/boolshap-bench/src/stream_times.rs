//! Explaining a long raw table, CSV to CSV, compared with reading it and writing the finished scores with the same
//! reader and the same writer, which every program needs.
//!
//! The rows resemble the housing data: each has the bits of one of its rows, drawn by frequency, and raw values on the
//! right sides of the thresholds.

use crate::{embedded_model, embedded_rows};
use anyhow::{Context, ensure};
use boolshap::circuit::lower_obdd;
use boolshap::data::{
    Binariser, Bits, CHUNK_ROWS, Code, CodedColumn, DataError, Entities, KeptCells, Reading, ScoreColumns, ScoreFile,
};
use boolshap::data::{ScoreSink, Scores, Seeded, SpareFolder, Tally, WholeFile, quote_csv};
use boolshap::diagram::{DirectOptions, compile_direct};
use boolshap::explain::{FastEngine, Probabilities, Streamed, explain_stream};
use boolshap::lit::{Watch, thousands};
use boolshap::model::Label;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

const SEED: u64 = 7;
/// Each time is the median of this many interleaved rounds.
const ROUNDS: usize = 3;

/// The measurements; times in seconds.
pub(crate) struct StreamTimes {
    streamed: Streamed,
    input_bytes: u64,
    output_bytes: u64,
    read: f64,
    write: f64,
    write_anew: f64,
    explain: f64,
    /// The peak memory of the process so far, if the system reports it.
    peak_bytes: Option<u64>,
}

impl StreamTimes {
    pub(crate) fn measure(rows: u64, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let folder = SpareFolder::new()?;
        Self::measure_in(folder.path(), rows, watch)
    }

    fn measure_in(folder: &Path, rows: u64, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let model = embedded_model()?;
        let binariser = model.binariser.as_ref().context("the embedded model reads raw values")?;
        let label = Label::of_class(&model.network, 1)?;
        let circuit = lower_obdd(&compile_direct(&label, &DirectOptions::default(), &watch.silent())?.diagram)?;
        let engine = FastEngine::new(&circuit)?;
        let uniform = Probabilities::uniform(circuit.variables());
        let score = |rows: &Bits, watch: &Watch<'_>| engine.explain(rows, &uniform, watch);

        let (input, output) = (folder.join("rows.csv"), folder.join("scores.csv"));
        let (training, testing) = embedded_rows(model.features.len())?;
        write_rows(&input, binariser, &[training, testing], rows, watch)?;
        let open = || Entities::open(&input, &model.features, Some(binariser), Reading::Raw);
        let columns = ScoreColumns::of_scores(&model.features, false);
        let explain = |sink: &mut dyn ScoreSink| explain_stream(open()?, score, sink, &watch.silent());

        let mut times = [const { Vec::new() }; 4];
        let mut measured = |kind: usize, work: &mut dyn FnMut() -> anyhow::Result<()>| {
            let start = Instant::now();
            work()?;
            times[kind].push(start.elapsed().as_secs_f64());
            anyhow::Ok(())
        };
        let mut streamed = None;
        let to_file = &mut || {
            let mut file = ScoreFile::create(&output, &columns)?;
            streamed = Some(explain(&mut file)?);
            Ok(file.finish()?)
        };
        measured(0, to_file)?;
        // Measured before anything else takes memory.
        let peak_bytes = peak_memory();
        let mut finished = Finished { learned: Scores::empty(columns.numbers.len() - 1, false), numbers: Vec::new() };
        explain(&mut finished)?;
        for round in 0..ROUNDS as u64 {
            watch.step(round, ROUNDS as u64)?;
            if round > 0 {
                measured(0, to_file)?;
            }
            measured(1, &mut || {
                let read = open()?.try_fold(0, |sum, bits| bits.map(|bits| sum + bits.rows() as u64))?;
                ensure!(read == rows, "{read} rows were read");
                Ok(())
            })?;
            let written = folder.join("written.csv");
            measured(2, &mut || finished.write(ScoreFile::create(&written, &columns)?, false))?;
            ensure!(same_content(&written, &output)?, "what was written is not what was explained");
            measured(3, &mut || finished.write(ScoreFile::create(&written, &columns)?, true))?;
            ensure!(same_content(&written, &output)?, "what was written is not what was explained");
        }
        let streamed = streamed.context("there was a round")?;
        ensure!(streamed.rows == rows, "{} rows were explained", streamed.rows);
        let [explain, read, write, write_anew] = times.map(median);
        let size = |path: &Path| std::fs::metadata(path).map(|meta| meta.len());
        let (input_bytes, output_bytes) = (size(&input)?, size(&output)?);
        Ok(StreamTimes { streamed, input_bytes, output_bytes, read, write, write_anew, explain, peak_bytes })
    }

    /// The time for explaining relative to that for reading and writing alone.
    fn ratio(&self) -> f64 {
        self.explain / (self.read + self.write)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "rows": self.streamed.rows,
            "distinct_rows": self.streamed.distinct_rows,
            "input_bytes": self.input_bytes,
            "output_bytes": self.output_bytes,
            "read_seconds": self.read,
            "write_seconds": self.write,
            "write_anew_seconds": self.write_anew,
            "explain_seconds": self.explain,
            "ratio": self.ratio(),
            "peak_memory_bytes": self.peak_bytes,
        })
    }

    pub(crate) fn table(&self) -> String {
        let rate = |seconds: f64| thousands((self.streamed.rows as f64 / seconds) as u64);
        let megabytes = |bytes: u64| format!("{} MB", thousands(bytes / 1_000_000));
        let line = |what: &str, seconds: f64, more: &str| {
            format!("  {what:<34}{seconds:>8.3} s {:>12}  {more}", rate(seconds))
        };
        [
            format!(
                "{} raw rows, {} distinct as bits; medians of {ROUNDS}",
                thousands(self.streamed.rows),
                self.streamed.distinct_rows.map_or("too many".into(), thousands)
            ),
            format!("  {:<34}{:>10} {:>12}", "", "seconds", "rows/s"),
            line("read the input", self.read, &megabytes(self.input_bytes)),
            line("write the finished scores", self.write, &megabytes(self.output_bytes)),
            line("  every number turned to text anew", self.write_anew, ""),
            line("explain: read, score, write", self.explain, ""),
            format!("  explain / (read + write) = {:.2}", self.ratio()),
            match self.peak_bytes {
                Some(bytes) => format!("  peak memory {}", megabytes(bytes)),
                None => "  peak memory: this system does not tell".into(),
            },
        ]
        .join("\n")
    }
}

/// A table of scores in memory: the distinct rows, and the number of each row.
struct Finished {
    learned: Scores,
    numbers: Vec<u32>,
}

impl Finished {
    /// Writes all rows; distinct rows are learned once in advance, or anew each time that they occur.
    fn write(&self, mut file: ScoreFile, anew: bool) -> anyhow::Result<()> {
        if !anew {
            file.learn(&self.learned);
        }
        let count: Vec<u32> = (0..CHUNK_ROWS as u32).collect();
        for numbers in self.numbers.chunks(CHUNK_ROWS) {
            if anew {
                file.forget();
                file.learn(&self.learned.clone().select(numbers));
                file.write(&count[..numbers.len()], &[])?;
            } else {
                file.write(numbers, &[])?;
            }
        }
        Ok(file.finish()?)
    }
}

impl ScoreSink for Finished {
    fn learn(&mut self, rows: &Scores) {
        self.learned.append(rows.clone());
    }

    fn write(&mut self, numbers: &[u32], _: &[KeptCells]) -> Result<(), DataError> {
        self.numbers.extend_from_slice(numbers);
        Ok(())
    }

    fn learned_bytes(&self) -> usize {
        0
    }

    fn forget(&mut self) {
        // 13 bits have few distinct rows: nothing is forgotten before the end.
        unreachable!("it holds no bytes that could be too many");
    }
}

/// Whether two files are equal, without reading all of them into memory.
fn same_content(one: &Path, other: &Path) -> std::io::Result<bool> {
    let open = |path| std::fs::File::open(path).map(|file| BufReader::with_capacity(1 << 20, file));
    let (mut one, mut other) = (open(one)?, open(other)?);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let count = a.len().min(b.len());
        if count == 0 || a[..count] != b[..count] {
            return Ok(a.is_empty() && b.is_empty());
        }
        one.consume(count);
        other.consume(count);
    }
}

pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The process's peak resident memory, from Linux.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Writes raw rows whose bits are drawn from counted rows, after a column that no model uses.
fn write_rows(
    path: &Path,
    binariser: &Binariser,
    counted: &[Tally],
    rows: u64,
    watch: &Watch<'_>,
) -> anyhow::Result<()> {
    let place = || path.display().to_string();
    let mut drawn: Vec<Vec<bool>> = Vec::new();
    // The cumulative counts: the end of each row's range of drawn numbers.
    let mut ends = Vec::new();
    let mut total = 0;
    for tally in counted {
        for (row, counts) in tally.counts().iter().enumerate() {
            total += counts.iter().sum::<u64>();
            drawn.push(tally.rows().row(row));
            ends.push(total);
        }
    }
    let mut chance = Seeded::new(SEED, 0);
    let mut file = WholeFile::create(path).with_context(place)?;
    let names: Vec<String> = binariser.columns().iter().map(|column| quote_csv(&column.column).into_owned()).collect();
    writeln!(file, "row,{}", names.join(",")).with_context(place)?;
    for row in 1..=rows {
        if row % CHUNK_ROWS as u64 == 0 {
            watch.check()?;
        }
        let number = chance.below(total as usize) as u64;
        let mut bits = drawn[ends.partition_point(|&end| end <= number)].as_slice();
        write!(file, "{row}").with_context(place)?;
        for column in binariser.columns() {
            let (own, others) = bits.split_at(column.bits());
            write!(file, ",{}", quote_csv(&raw_value(column, own, &mut chance))).with_context(place)?;
            bits = others;
        }
        writeln!(file).with_context(place)?;
    }
    file.finish().with_context(place)
}

/// A raw value that binarises to these bits.
fn raw_value(column: &CodedColumn, bits: &[bool], chance: &mut Seeded) -> String {
    // Far enough from a threshold for four decimals.
    let mut apart =
        |from: f64, sign: f64| format!("{:.4}", from + sign * from.abs().max(1.0) * (0.001 + chance.unit()));
    let one = bits.iter().position(|&bit| bit);
    // The index of the column's value; a missing value has its own bit or none.
    let value = if column.is_one_hot() { one } else { Some(usize::from(one.is_some())) };
    match (&column.code, value.filter(|value| *value < column.code.values())) {
        (_, None) => String::new(),
        (Code::Above(threshold), Some(1)) => apart(*threshold, 1.0),
        (Code::Above(threshold), Some(_)) => apart(*threshold, -1.0),
        (Code::Boolean, Some(value)) => value.to_string(),
        (Code::Categories(values) | Code::Common(values), Some(index)) => {
            values.get(index).cloned().unwrap_or_else(|| "another value".into())
        }
        (Code::Values(values), Some(index)) => values[index].to_string(),
        (Code::Bins(edges), Some(0)) => apart(edges[0], -1.0),
        // The upper end belongs to a bin.
        (Code::Bins(edges), Some(index)) if index < edges.len() => edges[index].to_string(),
        (Code::Bins(edges), Some(_)) => apart(edges[edges.len() - 1], 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_values_become_the_bits_that_they_were_made_from() {
        let column = |column: &str, code| CodedColumn::new(column, code);
        let binariser = Binariser::new(vec![
            column("negative", Code::Above(-119.5)),
            column("small", Code::Above(0.0)),
            column("flag", Code::Boolean),
            column("place", Code::Categories(vec!["a, b".into(), "c".into()])),
            column("size", Code::Bins(vec![-1.5, 2.0])),
        ])
        .unwrap();
        let mut chance = Seeded::new(1, 1);
        let row = |number: usize| {
            let mut row: Vec<bool> = (0..3).map(|bit| number >> bit & 1 == 1).collect();
            row.extend((0..2).map(|place| number % 3 == place));
            row.extend((0..3).map(|size| number % 5 % 3 == size));
            row
        };
        let counted = (0..120).map(|number| (row(number), vec![1 + chance.below(3) as u64]));
        let tally = Tally::from_counts(8, counted);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        write_rows(&path, &binariser, std::slice::from_ref(&tally), 20_000, &Watch::unlimited()).unwrap();
        let mut all = Bits::new(8);
        let entities = Entities::open(&path, &binariser.features(), Some(&binariser), Reading::Raw).unwrap();
        entities.for_each(|bits| all.append(&bits.unwrap()));
        let seen = Tally::new(&all, &vec![0; all.rows()], 1, |_| true);
        assert_eq!(seen.rows(), tally.rows());
        for (seen, meant) in seen.counts().iter().zip(tally.counts()) {
            let expected = 20_000.0 * meant[0] as f64 / tally.total() as f64;
            assert!((seen[0] as f64 - expected).abs() < 0.5 * expected, "{seen:?} instead of {expected}");
        }
    }
}
