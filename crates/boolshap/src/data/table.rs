//! Tables read in chunks: CSV as text, Parquet as what it holds.
//!
//! A CSV file has a header line and comma-separated cells; a ragged row, a header with one name twice and an empty file
//! are errors. An empty cell is missing. Parquet's nulls are missing; numbers of every width become f64.

use super::DataError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use arrow_cast::display::FormatOptions;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many rows a chunk has, the last one excepted.
pub const CHUNK_ROWS: usize = 8192;

/// A table on disk whose header has been read.
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    columns: Vec<String>,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Csv { schema: SchemaRef, start: u64 },
    Parquet,
}

/// The wanted columns of some consecutive rows.
pub struct Chunk {
    /// The number of the first row, counted from 1.
    pub first_row: u64,
    /// How many rows there are.
    pub rows: usize,
    /// The columns, in the order in which they were asked for.
    pub columns: Vec<Cells>,
}

/// A column's cells.
pub enum Cells {
    /// Texts, as CSV has them.
    Text(StringArray),
    /// Numbers.
    Number(Float64Array),
    /// Truth values.
    Truth(BooleanArray),
}

impl Table {
    /// Opens a table and reads its header; Parquet is recognised by its first bytes.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let io = |source| DataError::Io { path: path.into(), source };
        let mut file = File::open(path).map_err(io)?;
        let mut magic = Vec::new();
        file.by_ref().take(4).read_to_end(&mut magic).map_err(io)?;
        let (columns, source) = match magic.as_slice() {
            b"PAR1" => (parquet_columns(path)?, Source::Parquet),
            // A byte order mark, as spreadsheets write it, is no part of the first name.
            [0xEF, 0xBB, 0xBF, ..] => csv_columns(path, file, 3)?,
            _ => csv_columns(path, file, 0)?,
        };
        let mut names: Vec<&String> = columns.iter().collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(DataError::DuplicateColumn { path: path.into(), column: pair[0].clone() });
        }
        Ok(Table { path: path.into(), columns, source })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in the header, in order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The index of a column.
    pub fn position(&self, column: &str) -> Result<usize, DataError> {
        self.columns.iter().position(|name| name == column).ok_or_else(|| DataError::MissingColumn {
            path: self.path.clone(),
            column: column.into(),
            present: self.columns.clone(),
        })
    }

    /// Reads the columns of these indices from the first row on.
    pub fn chunks(&self, wanted: &[usize]) -> Result<Chunks, DataError> {
        let io = |source| DataError::Io { path: self.path.clone(), source };
        let mut file = File::open(&self.path).map_err(io)?;
        // Readers give columns in the file's order: each wanted one is found at its rank.
        let mut sorted = wanted.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let ranks = wanted.iter().map(|column| sorted.partition_point(|other| other < column)).collect();
        let batches: Batches = match &self.source {
            Source::Csv { schema, start } => {
                file.seek(SeekFrom::Start(*start)).map_err(io)?;
                let builder = ReaderBuilder::new(schema.clone()).with_header(true).with_batch_size(CHUNK_ROWS);
                Box::new(builder.with_projection(sorted).build(file).map_err(|e| self.wrong(e))?)
            }
            Source::Parquet => parquet_batches(self, file, sorted)?,
        };
        Ok(Chunks { table: self.clone(), batches, ranks, next_row: 1 })
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
    next_row: u64,
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
            Cells::new(batch.column(rank)).map_err(|error| DataError::Column {
                path: self.table.path.clone(),
                column: batch.schema().field(rank).name().clone(),
                problem: format!("cannot be read: {error}"),
            })
        };
        let columns = self.ranks.iter().map(cells).collect::<Result<_, _>>();
        Some(columns.map(|columns| Chunk { first_row, rows: batch.num_rows(), columns }))
    }
}

/// A cell that is not what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfit;

/// What cannot be cast is an error, not a missing value.
const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

impl Cells {
    fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Boolean => Cells::Truth(array.as_boolean().clone()),
            numeric if numeric.is_numeric() => {
                Cells::Number(cast_with_options(array, &DataType::Float64, &STRICT)?.as_primitive().clone())
            }
            _ => Cells::Text(cast_with_options(array, &DataType::Utf8, &STRICT)?.as_string::<i32>().clone()),
        })
    }

    /// The cell as a text; `None` if it is missing: null, blank, or NaN in a column of numbers.
    pub fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Cells::Text(cells) if cells.is_valid(row) => {
                Some(cells.value(row).into()).filter(|text: &Cow<'_, str>| !text.trim().is_empty())
            }
            Cells::Number(cells) if cells.is_valid(row) => {
                Some(cells.value(row)).filter(|value| !value.is_nan()).map(|value| value.to_string().into())
            }
            Cells::Truth(cells) if cells.is_valid(row) => Some(cells.value(row).to_string().into()),
            _ => None,
        }
    }

    /// The cell as a finite number; `Ok(None)` if it is missing or NaN, [`Misfit`] if it is anything else.
    pub fn number(&self, row: usize) -> Result<Option<f64>, Misfit> {
        let value = match self {
            Cells::Text(cells) if cells.is_valid(row) => {
                let text = cells.value(row).trim();
                if text.is_empty() {
                    return Ok(None);
                }
                text.parse().map_err(|_| Misfit)?
            }
            Cells::Number(cells) if cells.is_valid(row) => cells.value(row),
            Cells::Truth(cells) if cells.is_valid(row) => f64::from(u8::from(cells.value(row))),
            _ => return Ok(None),
        };
        if value.is_infinite() { Err(Misfit) } else { Ok((!value.is_nan()).then_some(value)) }
    }

    /// The cell as a truth value, from 0, 1, 0.0, 1.0, true or false in any case; as in [`Cells::number`] otherwise.
    pub fn truth(&self, row: usize) -> Result<Option<bool>, Misfit> {
        if let Cells::Text(cells) = self
            && cells.is_valid(row)
        {
            match cells.value(row).trim() {
                "0" => return Ok(Some(false)),
                "1" => return Ok(Some(true)),
                word if word.eq_ignore_ascii_case("true") => return Ok(Some(true)),
                word if word.eq_ignore_ascii_case("false") => return Ok(Some(false)),
                _ => {}
            }
        }
        match self.number(row)? {
            None => Ok(None),
            Some(0.0) => Ok(Some(false)),
            Some(1.0) => Ok(Some(true)),
            Some(_) => Err(Misfit),
        }
    }
}

/// A text as a CSV cell, in quotes where it needs them.
pub fn quote_csv(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

fn csv_columns(path: &Path, mut file: File, start: u64) -> Result<(Vec<String>, Source), DataError> {
    file.seek(SeekFrom::Start(start)).map_err(|source| DataError::Io { path: path.into(), source })?;
    let (header, _) = Format::default()
        .with_header(true)
        .infer_schema(BufReader::new(file), Some(0))
        .map_err(|error| format_error(path, error))?;
    let columns: Vec<String> = header.fields().iter().map(|field| field.name().clone()).collect();
    if columns.is_empty() {
        return Err(DataError::Format { path: path.into(), message: "is empty: a header line is expected".into() });
    }
    let fields: Vec<Field> = columns.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    Ok((columns, Source::Csv { schema: Arc::new(Schema::new(fields)), start }))
}

#[cfg(feature = "parquet")]
fn parquet_columns(path: &Path) -> Result<Vec<String>, DataError> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let file = File::open(path).map_err(|source| DataError::Io { path: path.into(), source })?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|e| DataError::Format { path: path.into(), message: e.to_string() })?;
    Ok(builder.schema().fields().iter().map(|field| field.name().clone()).collect())
}

#[cfg(feature = "parquet")]
fn parquet_batches(table: &Table, file: File, sorted: Vec<usize>) -> Result<Batches, DataError> {
    use parquet::arrow::ProjectionMask;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let wrong =
        |e: parquet::errors::ParquetError| DataError::Format { path: table.path.clone(), message: e.to_string() };
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(wrong)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), sorted);
    let reader = builder.with_batch_size(CHUNK_ROWS).with_projection(mask).build().map_err(wrong)?;
    Ok(Box::new(reader))
}

#[cfg(not(feature = "parquet"))]
fn parquet_columns(path: &Path) -> Result<Vec<String>, DataError> {
    let message = "a Parquet file, which this build cannot read (cargo feature `parquet` is off)".into();
    Err(DataError::Format { path: path.into(), message })
}

#[cfg(not(feature = "parquet"))]
fn parquet_batches(table: &Table, _: File, _: Vec<usize>) -> Result<Batches, DataError> {
    parquet_columns(&table.path).map(|_| Box::new(std::iter::empty()) as Batches)
}

fn format_error(path: &Path, error: ArrowError) -> DataError {
    let message = match error {
        ArrowError::CsvError(message) | ArrowError::ParseError(message) | ArrowError::CastError(message) => message,
        other => other.to_string(),
    };
    DataError::Format { path: path.into(), message }
}
