//! Rows to predict or explain, matched to a model's features by name, never by position.
//!
//! A file may hold raw columns, which the model's binariser turns into bits, or the bits themselves. The header
//! decides: bits if it has every feature by name, raw if it has every raw column. The name of a bit includes its test,
//! so both fit only for models of the previous version, or if a table holds both. Then the values decide: the file is
//! raw if one of the first [`LOOKED_AT`] rows holds a value other than 0 and 1 in a column named like a bit; otherwise
//! it is an error that asks the user. Other columns are ignored, unless they are to be kept beside the results.

use super::{Binariser, Bits, Cells, Chunk, Chunks, Code, DataError, Table, check_names};
use arrow_array::ArrayRef;
use arrow_schema::FieldRef;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// How many rows are examined if names do not tell raw values from bits.
pub const LOOKED_AT: usize = 8192;

/// How to read a file of entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// Decide from the header.
    #[default]
    Auto,
    /// Raw values, to be binarised.
    Raw,
    /// Bits: 0 or 1 in a column for each feature.
    Bits,
}

impl std::str::FromStr for Reading {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Reading::Auto),
            "raw" => Ok(Reading::Raw),
            "bits" => Ok(Reading::Bits),
            other => Err(format!("'{other}' is not one of auto, raw, bits")),
        }
    }
}

/// Entities read in chunks.
pub struct Entities {
    table: Table,
    features: Vec<String>,
    binariser: Option<Binariser>,
    /// The columns to be turned into bits.
    wanted: Vec<usize>,
    kept: Vec<usize>,
    /// Opened when the first rows are requested.
    chunks: Option<Chunks>,
}

/// Some consecutive entities.
pub struct EntityBatch {
    /// The number of the first row, counted from 1.
    pub first_row: u64,
    /// The entities.
    pub bits: Bits,
    /// The cells of the kept columns.
    pub kept: Vec<ArrayRef>,
    /// The expected total number of rows, if known.
    pub expected_rows: Option<u64>,
}

impl Entities {
    /// Opens a file for a model with these features and, if it has one, this binariser.
    pub fn open(
        path: &Path,
        features: &[String],
        binariser: Option<&Binariser>,
        reading: Reading,
    ) -> Result<Self, DataError> {
        Self::of_table(Table::open(path)?, features, binariser, reading)
    }

    /// The same for a table that is already open.
    pub fn of_table(
        table: Table,
        features: &[String],
        binariser: Option<&Binariser>,
        reading: Reading,
    ) -> Result<Self, DataError> {
        let look = || holds_others(&table, features);
        let binariser = choose(table.path(), |name| table.has(name), features, binariser, reading, look)?;
        let wanted = match binariser {
            Some(binariser) => binariser.columns().iter().map(|column| table.position(&column.column)).collect(),
            None => features.iter().map(|feature| table.position(feature)).collect::<Result<Vec<_>, _>>(),
        };
        let (features, binariser) = (features.to_vec(), binariser.cloned());
        Ok(Entities { wanted: wanted?, table, features, binariser, kept: Vec::new(), chunks: None })
    }

    /// Keeps these columns of the file beside the bits.
    pub fn keep(&mut self, columns: &[String]) -> Result<(), DataError> {
        self.kept = columns.iter().map(|column| self.table.position(column)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The names and types of the kept columns.
    pub fn kept(&self) -> Vec<FieldRef> {
        self.kept.iter().map(|&column| self.table.field(column)).collect()
    }

    /// The table that the entities are read from.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Whether the file is read as raw values.
    pub fn is_raw(&self) -> bool {
        self.binariser.is_some()
    }

    /// The next entities with their row number and kept cells.
    pub fn next_batch(&mut self) -> Result<Option<EntityBatch>, DataError> {
        let chunks = match &mut self.chunks {
            Some(chunks) => chunks,
            None => self.chunks.insert(self.table.chunks_keeping(&self.wanted, &self.kept)?),
        };
        let Some(chunk) = chunks.next().transpose()? else { return Ok(None) };
        let bits = match &self.binariser {
            Some(binariser) => binariser.encode(&self.table, &chunk)?,
            None => self.read_bits(&chunk)?,
        };
        let Chunk { first_row, kept, expected_rows, .. } = chunk;
        Ok(Some(EntityBatch { first_row, bits, kept, expected_rows }))
    }

    fn read_bits(&self, chunk: &Chunk) -> Result<Bits, DataError> {
        let columns: Vec<(&String, &Cells)> = self.features.iter().zip(&chunk.columns).collect();
        let (path, first) = (self.table.path(), chunk.first_row);
        let read = |(name, cells): (&String, &Cells)| read_bits(path, first, chunk.rows, name, cells);
        let read: Vec<_> = columns.into_par_iter().map(read).collect();
        Ok(Bits::of_features(chunk.rows, read.into_iter().collect::<Result<_, _>>()?))
    }
}

impl Iterator for Entities {
    type Item = Result<Bits, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map(|batch| batch.map(|batch| batch.bits)).transpose()
    }
}

/// Whether rows with these columns are read as raw values rather than bits. If the names leave it open, `look` says
/// whether one of the first [`LOOKED_AT`] rows holds a value other than 0 and 1 in a feature column.
pub fn reads_raw(
    source: &str,
    columns: &[String],
    features: &[String],
    binariser: Option<&Binariser>,
    reading: Reading,
    look: impl FnOnce() -> Result<bool, DataError>,
) -> Result<bool, DataError> {
    let columns: HashSet<&String> = columns.iter().collect();
    let has = |name: &String| columns.contains(name);
    choose(Path::new(source), has, features, binariser, reading, look).map(|chosen| chosen.is_some())
}

/// The binariser for rows with these columns; `None` if they are bits.
fn choose<'b>(
    path: &Path,
    has: impl Fn(&String) -> bool,
    features: &[String],
    binariser: Option<&'b Binariser>,
    reading: Reading,
    look: impl FnOnce() -> Result<bool, DataError>,
) -> Result<Option<&'b Binariser>, DataError> {
    let Some(schema) = binariser else {
        return match reading {
            Reading::Raw => Err(DataError::NoSchema { path: path.into() }),
            Reading::Auto | Reading::Bits => Ok(None),
        };
    };
    let raw_fits = || schema.columns().iter().all(|column| has(&column.column));
    match reading {
        Reading::Raw => Ok(binariser),
        Reading::Bits => Ok(None),
        Reading::Auto => match (features.iter().all(&has), raw_fits()) {
            (true, false) => Ok(None),
            (false, true) => Ok(binariser),
            (true, true) => match is_same(schema) || !look()? {
                false => Ok(binariser),
                true if is_same(schema) => Ok(None),
                true => Err(DataError::RawOrBits { path: path.into() }),
            },
            // A column is missing: the columns that exist tell which kind of table was meant.
            (false, false) => {
                let raw: HashSet<&String> = schema.columns().iter().map(|column| &column.column).collect();
                let is_bit = |name: &&String| has(name) && !raw.contains(name);
                Ok(if features.iter().any(|name| is_bit(&name)) { None } else { binariser })
            }
        },
    }
}

/// Whether 0 and 1 mean the same as raw values and as bits.
fn is_same(schema: &Binariser) -> bool {
    schema.columns().iter().all(|column| column.code == Code::Boolean && column.bits() == 1)
}

/// Whether one of the first rows of a table holds a value other than 0 and 1 in one of these columns.
fn holds_others(table: &Table, columns: &[String]) -> Result<bool, DataError> {
    if table.is_pipe() {
        // Rows of a pipe cannot be read a second time.
        return Ok(false);
    }
    let places = columns.iter().map(|name| table.position(name)).collect::<Result<Vec<_>, _>>()?;
    for chunk in table.chunks(&places)? {
        let chunk = chunk?;
        let before = chunk.first_row as usize - 1;
        let rows = chunk.rows.min(LOOKED_AT.saturating_sub(before));
        if chunk.columns.iter().any(|cells| has_other(cells, rows)) {
            return Ok(true);
        }
        if before + chunk.rows >= LOOKED_AT {
            break;
        }
    }
    Ok(false)
}

pub(super) fn has_other(cells: &Cells, rows: usize) -> bool {
    (0..rows).any(|row| !matches!(cells.number(row), Ok(Some(0.0 | 1.0))))
}

/// Reads rows in memory like those of a file; messages call them `source`.
pub fn bits_of_columns(
    source: &str,
    rows: usize,
    columns: &[(String, Cells)],
    features: &[String],
    binariser: Option<&Binariser>,
    reading: Reading,
) -> Result<Bits, DataError> {
    // If two columns have the same name, the first one counts.
    let places: HashMap<&String, &Cells> = columns.iter().rev().map(|(name, cells)| (name, cells)).collect();
    let find = |name: &String| places.get(name).copied();
    let path = Path::new(source);
    check_names(path, columns.iter().map(|(name, _)| name))?;
    let wanted = |name: &String| {
        find(name).ok_or_else(|| DataError::MissingColumn {
            path: path.into(),
            column: name.clone(),
            present: columns.iter().map(|(name, _)| name.clone()).collect(),
        })
    };
    let has_others = |name: &String| find(name).is_some_and(|cells| has_other(cells, rows.min(LOOKED_AT)));
    let look = || Ok(features.iter().any(has_others));
    let chosen = choose(path, |name| find(name).is_some(), features, binariser, reading, look)?;
    match chosen {
        Some(binariser) => {
            let cells =
                binariser.columns().iter().map(|column| wanted(&column.column)).collect::<Result<Vec<_>, _>>()?;
            binariser.encode_cells(source, rows, &cells)
        }
        None => {
            let read = |name: &String| read_bits(path, 1, rows, name, wanted(name)?);
            Ok(Bits::of_features(rows, features.iter().map(read).collect::<Result<_, _>>()?))
        }
    }
}

/// A feature that is a column of bits in a table, as words of 64 rows.
fn read_bits(path: &Path, first_row: u64, rows: usize, name: &str, cells: &Cells) -> Result<Vec<u64>, DataError> {
    let mut words = vec![0; rows.div_ceil(64)];
    for row in 0..rows {
        match cells.number(row) {
            Ok(Some(1.0)) => words[row / 64] |= 1 << (row % 64),
            Ok(Some(0.0)) => {}
            _ => {
                return Err(DataError::Cell {
                    path: path.into(),
                    row: first_row + row as u64,
                    column: name.into(),
                    value: cells.text(row).unwrap_or_default().into_owned(),
                    problem: "is neither 0 nor 1".into(),
                });
            }
        }
    }
    Ok(words)
}
