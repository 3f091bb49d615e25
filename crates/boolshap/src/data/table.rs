//! Tables read in chunks: CSV as text, Parquet with its own types; one file or several that have the same columns.
//!
//! A CSV file has a header line and cells separated by commas, semicolons or tabs (`delimiter`), may be packed by gzip or zstd
//! and written in UTF-8 or Latin-1 (`csv_source`). A ragged row, a repeated column name, a quote that is not closed and an
//! empty file are errors. An empty cell is missing. A blank line is no row and is passed over, but an error where there is
//! one column only: there it could be a missing value, which is written `""`. Parquet's nulls are missing; numbers of every
//! width become f64.
//!
//! `-` is standard input. A pipe of CSV can be read once unless it is copied, one of Parquet is copied; a regular file is read
//! any number of times. A name such as `part-*.parquet` means all files that have it, one after another in the order of their
//! names; rows are counted over all of them.

use super::csv_rows::CsvRows;
use super::csv_source::CsvSource;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use super::csv_source::copy_of_pipe;
use super::csv_text::CsvText;
use super::{Cells, DataError, csv_rows};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of rows in a chunk, except for the last one and in very wide tables.
pub const CHUNK_ROWS: usize = 8192;
/// The most cells in a chunk, unless 64 rows have more.
const CHUNK_CELLS: usize = 1 << 21;

/// A table on disk whose header has been read.
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    columns: Vec<String>,
    /// The index of each column: wide tables are asked for thousands of them.
    places: Arc<HashMap<String, usize>>,
    schema: SchemaRef,
    /// The files, in order.
    parts: Arc<Vec<Part>>,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    schema: SchemaRef,
    source: Source,
}

#[derive(Debug)]
#[cfg_attr(all(target_family = "wasm", target_os = "unknown"), expect(dead_code, reason = "files cannot be opened"))]
enum Source {
    Csv(CsvSource),
    Parquet {
        rows: u64,
        /// A pipe, copied: the footer, which comes first in reading, is at the end.
        copy: Option<Arc<File>>,
    },
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
        Self::open_as(path, false)
    }

    /// The same for a table that is read several times: a pipe is copied first.
    pub fn open_to_reread(path: &Path) -> Result<Self, DataError> {
        Self::open_as(path, true)
    }

    /// In a browser there are no files; what would read them is left out there.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    #[inline(always)]
    fn open_as(path: &Path, _: bool) -> Result<Self, DataError> {
        Err(DataError::Io { path: path.into(), source: std::io::ErrorKind::Unsupported.into() })
    }

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    fn open_as(path: &Path, reread: bool) -> Result<Self, DataError> {
        let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
        let files = super::matching_files(path).map_err(|source| DataError::Io { path: path.into(), source })?;
        let parts = files.iter().map(|file| Part::open(file, reread)).collect::<Result<Vec<_>, _>>()?;
        Self::of_parts(path, parts)
    }

    /// A CSV table whose content is in memory, under the name of its file.
    pub fn of_content(name: &Path, content: Vec<u8>) -> Result<Self, DataError> {
        if content.starts_with(b"PAR1") {
            let message = "Parquet is read from files only, and this is its content".into();
            return Err(DataError::Format { path: name.into(), message });
        }
        let (source, start) =
            CsvSource::of_content(content).map_err(|source| DataError::Io { path: name.into(), source })?;
        let schema = csv_columns(name, &start, source.delimiter)?;
        Self::of_parts(name, vec![Part { path: name.into(), schema, source: Source::Csv(source) }])
    }

    fn of_parts(path: &Path, parts: Vec<Part>) -> Result<Self, DataError> {
        let schema = parts[0].schema.clone();
        if let Some(other) = parts.iter().find(|part| part.schema.fields() != schema.fields()) {
            let message = format!("has other columns, or columns of other types, than {}", parts[0].path.display());
            return Err(DataError::Format { path: other.path.clone(), message });
        }
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        check_names(path, columns.iter())?;
        let places = Arc::new(columns.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect());
        Ok(Table { path: path.into(), columns, places, schema, parts: parts.into() })
    }

    /// Whether it can be read only once.
    pub fn is_pipe(&self) -> bool {
        self.parts.iter().any(|part| matches!(&part.source, Source::Csv(csv) if csv.is_pipe()))
    }

    /// What a person should know of how it is read, once it was.
    pub fn notes(&self) -> Vec<String> {
        let is_latin = |part: &&Part| matches!(&part.source, Source::Csv(csv) if csv.is_latin.load(Ordering::Relaxed));
        let note = |part: &Part| format!("{} is not UTF-8 and was read as Latin-1", part.path.display());
        self.parts.iter().filter(is_latin).map(note).collect()
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
        self.schema.fields()[index].clone()
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
        let expected = self.expected();
        let mut chunks = Chunks {
            table: self.clone(),
            part: 0,
            batches: Box::new(std::iter::empty()),
            sorted,
            rows,
            ranks,
            kept_ranks,
            next_row: 1,
            expected,
        };
        chunks.open_part()?;
        Ok(chunks)
    }

    fn expected(&self) -> Expected {
        let rows = |part: &Part| if let Source::Parquet { rows, .. } = part.source { Some(rows) } else { None };
        if let Some(rows) = self.parts.iter().map(rows).sum() {
            return Expected::Rows(rows);
        }
        let bytes = |part: &Part| if let Source::Csv(csv) = &part.source { csv.bytes(&part.path) } else { None };
        match self.parts.iter().map(bytes).sum() {
            Some(size) => Expected::Bytes { size, read: Arc::new(AtomicU64::new(0)) },
            None => Expected::Unknown,
        }
    }
}

impl Part {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    fn open(path: &Path, reread: bool) -> Result<Self, DataError> {
        let io = |source| DataError::Io { path: path.into(), source };
        use std::io::Read;
        let mut file = File::open(path).map_err(io)?;
        let is_pipe = !file.metadata().map_err(io)?.is_file();
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start).map_err(io)?;
        if start == b"PAR1" {
            let copy = if is_pipe { Some(Arc::new(copy_of_pipe(&mut file, &start).map_err(io)?)) } else { None };
            let (schema, rows) =
                parquet_header(&place_of(path, copy.as_deref())).map_err(|error| error.about_file(path))?;
            return Ok(Part { path: path.into(), schema, source: Source::Parquet { rows, copy } });
        }
        let (source, start) = CsvSource::open(file, start, is_pipe, reread).map_err(io)?;
        let schema = csv_columns(path, &start, source.delimiter)?;
        Ok(Part { path: path.into(), schema, source: Source::Csv(source) })
    }

    fn batches(&self, sorted: &[usize], rows: usize, read: &Arc<AtomicU64>) -> Result<Batches, DataError> {
        let csv = match &self.source {
            Source::Parquet { copy, .. } => {
                let place = place_of(&self.path, copy.as_deref());
                return parquet_batches(&place, sorted.to_vec(), rows).map_err(|error| error.about_file(&self.path));
            }
            Source::Csv(csv) => csv,
        };
        let text = csv.text(&self.path, read).map_err(|source| DataError::Io { path: self.path.clone(), source })?;
        let text = CsvText::new(text, self.schema.fields().len(), csv.delimiters());
        let batches = CsvRows::new(text, &self.schema, csv.delimiter, sorted, rows);
        Ok(Box::new(batches.map_err(|error| format_error(&self.path, error))?))
    }
}

/// Where a Parquet file is read: a copy has no name, and is opened by its number among this program's files.
#[cfg(unix)]
fn place_of(path: &Path, copy: Option<&File>) -> PathBuf {
    use std::os::fd::AsRawFd;
    copy.map_or(path.into(), |copy| format!("/proc/self/fd/{}", copy.as_raw_fd()).into())
}

/// Elsewhere a pipe of Parquet cannot be read.
#[cfg(not(unix))]
fn place_of(path: &Path, _: Option<&File>) -> PathBuf {
    path.into()
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The chunks of a table, in order.
pub struct Chunks {
    table: Table,
    /// The number of the file that is read.
    part: usize,
    batches: Batches,
    /// The columns to read, in the order of the file, and how many rows at a time.
    sorted: Vec<usize>,
    rows: usize,
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

impl Chunks {
    fn open_part(&mut self) -> Result<(), DataError> {
        let unread = Arc::new(AtomicU64::new(0));
        let read = if let Expected::Bytes { read, .. } = &self.expected { read } else { &unread };
        self.batches = self.table.parts[self.part].batches(&self.sorted, self.rows, read)?;
        Ok(())
    }

    fn next_batch(&mut self) -> Option<Result<RecordBatch, DataError>> {
        loop {
            match self.batches.next() {
                Some(batch) => {
                    return Some(batch.map_err(|error| format_error(&self.table.parts[self.part].path, error)));
                }
                None if self.part + 1 == self.table.parts.len() => return None,
                None => {
                    self.part += 1;
                    if let Err(error) = self.open_part() {
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.next_batch()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
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

fn csv_columns(path: &Path, start: &[u8], delimiter: u8) -> Result<SchemaRef, DataError> {
    let names = csv_rows::header(start, delimiter).map_err(|error| format_error(path, error))?;
    let fields: Vec<Field> = names.into_iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    if fields.is_empty() {
        return Err(DataError::Format { path: path.into(), message: "is empty: a header line is expected".into() });
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Fails if a name is there twice.
pub(super) fn check_names<'n>(path: &Path, names: impl Iterator<Item = &'n String>) -> Result<(), DataError> {
    let mut names: Vec<&String> = names.collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(DataError::DuplicateColumn { path: path.into(), column: pair[0].clone() }),
        None => Ok(()),
    }
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
