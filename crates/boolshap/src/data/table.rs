//! Tables read in chunks: CSV as text, Parquet with its own types.
//!
//! A CSV file has a header line and comma-separated cells; a ragged row, a repeated column name, a quote that is not
//! closed and an empty file are errors. An empty cell is missing. A blank line is no row and is passed over, but an error
//! where there is one column only: there it could be a missing value, which is written `""`. Parquet's nulls are missing;
//! numbers of every width become f64.
//!
//! A pipe can be read as CSV, once; a regular file any number of times.

use super::csv_text::CsvText;
use super::quotes::{Quotes, line_ends};
use super::{Cells, DataError};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The number of rows in a chunk, except for the last one and in very wide tables.
pub const CHUNK_ROWS: usize = 8192;
/// The most cells in a chunk, unless 64 rows have more.
const CHUNK_CELLS: usize = 1 << 21;
/// How much of a CSV file is read at once.
const READ_BYTES: usize = 64 << 10;

/// A table on disk whose header has been read.
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    columns: Vec<String>,
    /// The index of each column: wide tables are asked for thousands of them.
    places: Arc<HashMap<String, usize>>,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Csv { schema: SchemaRef, input: Input },
    Parquet { schema: SchemaRef, rows: u64 },
}

#[derive(Debug, Clone)]
enum Input {
    /// A regular file, from this byte on.
    File { start: u64 },
    /// A pipe with the bytes already read for the header; `None` once it is being read.
    Pipe(Arc<Mutex<Option<Pipe>>>),
}

#[derive(Debug)]
struct Pipe {
    start: Vec<u8>,
    rest: File,
}

/// The wanted columns of some consecutive rows.
pub struct Chunk {
    /// The number of the first row, counted from 1.
    pub first_row: u64,
    /// How many rows there are.
    pub rows: usize,
    /// The columns, in the order they were requested.
    pub columns: Vec<Cells>,
    /// Further columns, with their original types.
    pub kept: Vec<ArrayRef>,
    /// The number of rows in the table: for CSV an estimate from the sizes of the file and of the rows so far; unknown
    /// for a pipe.
    pub expected_rows: Option<u64>,
}

impl Table {
    /// Opens a table and reads its header; Parquet is recognised by its first bytes.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let io = |source| DataError::Io { path: path.into(), source };
        let mut file = File::open(path).map_err(io)?;
        let is_pipe = !file.metadata().map_err(io)?.is_file();
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start).map_err(io)?;
        let (columns, source) = if start == b"PAR1" {
            if is_pipe {
                let message = "Parquet cannot be read from a pipe: its footer is at the end".into();
                return Err(DataError::Format { path: path.into(), message });
            }
            let (schema, rows) = parquet_header(path)?;
            let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
            (columns, Source::Parquet { schema, rows })
        } else {
            // A byte order mark, as spreadsheets write it, does not belong to the first name.
            let mark = if start.starts_with(&[0xEF, 0xBB, 0xBF]) { 3 } else { 0 };
            start.drain(..mark);
            read_header(&mut file, &mut start).map_err(io)?;
            let (columns, schema) = csv_columns(path, &start)?;
            let input = match is_pipe {
                true => Input::Pipe(Arc::new(Mutex::new(Some(Pipe { start, rest: file })))),
                false => Input::File { start: mark as u64 },
            };
            (columns, Source::Csv { schema, input })
        };
        let mut places = HashMap::with_capacity(columns.len());
        for (place, name) in columns.iter().enumerate() {
            if places.insert(name.clone(), place).is_some() {
                return Err(DataError::DuplicateColumn { path: path.into(), column: name.clone() });
            }
        }
        Ok(Table { path: path.into(), columns, places: Arc::new(places), source })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in the header, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Whether there is such a column.
    pub fn has(&self, column: &str) -> bool {
        self.places.contains_key(column)
    }

    /// The index of a column.
    pub fn position(&self, column: &str) -> Result<usize, DataError> {
        self.places.get(column).copied().ok_or_else(|| DataError::MissingColumn {
            path: self.path.clone(),
            column: column.into(),
            present: self.columns.clone(),
        })
    }

    /// A column's name and type: text in CSV.
    pub fn field(&self, index: usize) -> FieldRef {
        match &self.source {
            Source::Csv { schema, .. } | Source::Parquet { schema, .. } => schema.fields()[index].clone(),
        }
    }

    /// Reads the columns with these indices from the first row on.
    pub fn chunks(&self, wanted: &[usize]) -> Result<Chunks, DataError> {
        self.chunks_keeping(wanted, &[])
    }

    /// Reads the `wanted` columns as [`Cells`] and the `kept` ones with their original types, from the first row on.
    pub fn chunks_keeping(&self, wanted: &[usize], kept: &[usize]) -> Result<Chunks, DataError> {
        // Readers return columns in the file's order: each wanted one is at its rank.
        let mut sorted = [wanted, kept].concat();
        sorted.sort_unstable();
        sorted.dedup();
        let ranks = |columns: &[usize]| columns.iter().map(|c| sorted.partition_point(|other| other < c)).collect();
        let (ranks, kept_ranks) = (ranks(wanted), ranks(kept));
        let rows = (CHUNK_CELLS / sorted.len().max(1)).clamp(64, CHUNK_ROWS);
        let (batches, expected) = match &self.source {
            Source::Csv { schema, input } => {
                let (reader, expected) = self.csv_input(input)?;
                let builder = ReaderBuilder::new(schema.clone()).with_header(true).with_batch_size(rows);
                let reader = BufReader::with_capacity(READ_BYTES, CsvText::new(reader, self.columns.len()));
                let batches = builder.with_projection(sorted).build_buffered(reader).map_err(|e| self.wrong(e))?;
                (Box::new(batches) as Batches, expected)
            }
            Source::Parquet { rows: all, .. } => (parquet_batches(&self.path, sorted, rows)?, Expected::Rows(*all)),
        };
        Ok(Chunks { table: self.clone(), batches, ranks, kept_ranks, next_row: 1, expected })
    }

    fn csv_input(&self, input: &Input) -> Result<(Box<dyn Read + Send>, Expected), DataError> {
        let io = |source| DataError::Io { path: self.path.clone(), source };
        match input {
            Input::File { start } => {
                let mut file = File::open(&self.path).map_err(io)?;
                file.seek(SeekFrom::Start(*start)).map_err(io)?;
                let (size, read) = (file.metadata().map_err(io)?.len(), Arc::new(AtomicU64::new(0)));
                Ok((Box::new(Counted { file, read: read.clone() }), Expected::Bytes { size, read }))
            }
            Input::Pipe(pipe) => {
                let taken = pipe.lock().ok().and_then(|mut pipe| pipe.take());
                let again = || io(io::Error::other("a pipe can be read only once"));
                let Pipe { start, rest } = taken.ok_or_else(again)?;
                Ok((Box::new(io::Cursor::new(start).chain(rest)), Expected::Unknown))
            }
        }
    }

    fn wrong(&self, error: ArrowError) -> DataError {
        format_error(&self.path, error)
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The chunks of a table, in order.
pub struct Chunks {
    table: Table,
    batches: Batches,
    ranks: Vec<usize>,
    kept_ranks: Vec<usize>,
    next_row: u64,
    expected: Expected,
}

/// What is known about the number of rows.
enum Expected {
    Rows(u64),
    /// The size of the file, and how much of it has been read.
    Bytes {
        size: u64,
        read: Arc<AtomicU64>,
    },
    Unknown,
}

impl Expected {
    /// The total number of rows, if the remaining rows are like those so far.
    fn rows(&self, so_far: u64) -> Option<u64> {
        match self {
            Expected::Rows(rows) => Some(*rows),
            Expected::Bytes { size, read } => {
                let share = *size as f64 / read.load(Ordering::Relaxed).max(1) as f64;
                Some((so_far as f64 * share.max(1.0)) as u64)
            }
            Expected::Unknown => None,
        }
    }
}

/// A file that counts the bytes read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.batches.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(self.table.wrong(error))),
        };
        let first_row = self.next_row;
        self.next_row += batch.num_rows() as u64;
        let cells = |&rank: &usize| {
            Cells::of_array(batch.column(rank)).map_err(|error| DataError::Column {
                path: self.table.path.clone(),
                column: batch.schema().field(rank).name().clone(),
                problem: format!("cannot be read: {error}"),
            })
        };
        let columns = self.ranks.iter().map(cells).collect::<Result<_, _>>();
        let kept = self.kept_ranks.iter().map(|&rank| batch.column(rank).clone()).collect();
        let expected_rows = self.expected.rows(self.next_row - 1);
        Some(columns.map(|columns| Chunk { first_row, rows: batch.num_rows(), columns, kept, expected_rows }))
    }
}

/// A text as a CSV cell, quoted if necessary.
pub fn quote_csv(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

/// Reads until there is a complete header line: a line end outside quotes, after some name.
fn read_header(file: &mut File, start: &mut Vec<u8>) -> io::Result<()> {
    let (mut quotes, mut scanned, mut lines, mut named, mut complete) = (Quotes::new(), 0, 0, false, false);
    loop {
        let block = &start[scanned..];
        let seen = quotes.scan(lines, block, |before, _, piece| {
            for (&byte, before) in piece.iter().zip(std::iter::once(before).chain(piece.iter().copied())) {
                let is_end = matches!(byte, b'\n' | b'\r');
                // Of a name in quotes, only the closing one is in front of what is outside.
                named |= !is_end || before == b'"';
                complete |= byte == b'\n' && named;
            }
        });
        if complete {
            return Ok(());
        }
        seen.map_err(io::Error::other)?;
        (lines, scanned) = (lines + line_ends(block), start.len());
        if file.by_ref().take(READ_BYTES as u64).read_to_end(start)? == 0 {
            return quotes.end().map_err(io::Error::other);
        }
    }
}

fn csv_columns(path: &Path, start: &[u8]) -> Result<(Vec<String>, SchemaRef), DataError> {
    let (header, _) =
        Format::default().with_header(true).infer_schema(start, Some(0)).map_err(|error| format_error(path, error))?;
    let columns: Vec<String> = header.fields().iter().map(|field| field.name().clone()).collect();
    if columns.is_empty() {
        return Err(DataError::Format { path: path.into(), message: "is empty: a header line is expected".into() });
    }
    let fields: Vec<Field> = columns.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    Ok((columns, Arc::new(Schema::new(fields))))
}

/// The columns, and the number of rows.
#[cfg(feature = "parquet")]
fn parquet_header(path: &Path) -> Result<(SchemaRef, u64), DataError> {
    let builder = parquet_reader(path)?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    Ok((builder.schema().clone(), rows))
}

#[cfg(feature = "parquet")]
fn parquet_batches(path: &Path, sorted: Vec<usize>, rows: usize) -> Result<Batches, DataError> {
    let builder = parquet_reader(path)?;
    let mask = parquet::arrow::ProjectionMask::roots(builder.parquet_schema(), sorted);
    super::parquet_pages::check_pages(path, builder.metadata(), &mask)?;
    let reader = builder.with_batch_size(rows).with_projection(mask).build();
    let mut reader = reader.map_err(|e| DataError::Format { path: path.into(), message: e.to_string() })?;
    let mut gone_wrong = false;
    Ok(Box::new(std::iter::from_fn(move || {
        if gone_wrong {
            return None;
        }
        // The `parquet` crate panics on some damaged files.
        let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reader.next()));
        next.unwrap_or_else(|_| {
            gone_wrong = true;
            Some(Err(ArrowError::ParquetError("the file is damaged: a page is not what its header says".into())))
        })
    })))
}

#[cfg(feature = "parquet")]
fn parquet_reader(
    path: &Path,
) -> Result<parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder<File>, DataError> {
    super::parquet_pages::check_footer(path)?;
    let file = File::open(path).map_err(|source| DataError::Io { path: path.into(), source })?;
    parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|e| DataError::Format { path: path.into(), message: e.to_string() })
}

#[cfg(not(feature = "parquet"))]
fn parquet_header(path: &Path) -> Result<(SchemaRef, u64), DataError> {
    let message = "a Parquet file, which this build cannot read (cargo feature `parquet` is off)".into();
    Err(DataError::Format { path: path.into(), message })
}

#[cfg(not(feature = "parquet"))]
fn parquet_batches(path: &Path, _: Vec<usize>, _: usize) -> Result<Batches, DataError> {
    parquet_header(path).map(|_| Box::new(std::iter::empty()) as Batches)
}

fn format_error(path: &Path, error: ArrowError) -> DataError {
    let message = match error {
        ArrowError::CsvError(message) | ArrowError::ParseError(message) | ArrowError::CastError(message) => message,
        ArrowError::IoError(message, _) => message,
        other => other.to_string(),
    };
    DataError::Format { path: path.into(), message }
}
