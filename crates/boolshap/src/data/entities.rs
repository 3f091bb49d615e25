//! Rows to predict or explain, matched to a model's features by name, never by position.
//!
//! A file may hold raw columns, which the model's binariser turns into bits, or the bits themselves. Which of the two is
//! decided from the header alone: bits if it has every feature by name and there is no binariser, or some feature is not a
//! raw column; raw where both readings fit. Other columns are ignored, unless they are to be kept beside the
//! results.

use super::{Binariser, Bits, Cells, Chunk, Chunks, DataError, Table};
use arrow_array::ArrayRef;
use arrow_schema::FieldRef;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;

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
    /// The columns that become bits.
    wanted: Vec<usize>,
    kept: Vec<usize>,
    /// Opened when the first rows are asked for.
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
    /// How many rows there are in all, as far as one can tell.
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

    /// The same for a table that is open already.
    pub fn of_table(
        table: Table,
        features: &[String],
        binariser: Option<&Binariser>,
        reading: Reading,
    ) -> Result<Self, DataError> {
        let binariser = choose(|name| table.has(name), features, binariser, reading).map_err(|message| {
            let path = table.path().into();
            DataError::Format { path, message: message.into() }
        })?;
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

    /// The table they are read from.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Whether the file is read as raw values.
    pub fn is_raw(&self) -> bool {
        self.binariser.is_some()
    }

    /// The next entities with what else is known of them.
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

/// Whether rows with these columns are read as raw values, and not as bits; the message says why they cannot be.
pub fn reads_raw(
    columns: &[String],
    features: &[String],
    binariser: Option<&Binariser>,
    reading: Reading,
) -> Result<bool, &'static str> {
    let columns: HashSet<&String> = columns.iter().collect();
    choose(|name| columns.contains(name), features, binariser, reading).map(|chosen| chosen.is_some())
}

/// The binariser that rows with these columns go through; none if they are bits.
fn choose<'b>(
    has: impl Fn(&String) -> bool,
    features: &[String],
    binariser: Option<&'b Binariser>,
    reading: Reading,
) -> Result<Option<&'b Binariser>, &'static str> {
    let raw_fits = binariser.is_some_and(|b| b.columns().iter().all(|column| has(&column.column)));
    let is_raw = |names: &Binariser| {
        let columns: HashSet<&String> = names.columns().iter().map(|column| &column.column).collect();
        features.iter().all(|feature| columns.contains(feature))
    };
    let bits_fit = features.iter().all(&has) && binariser.is_none_or(|binariser| !is_raw(binariser));
    match reading {
        Reading::Raw if binariser.is_none() => {
            Err("raw values cannot be read: the model does not say how they become bits")
        }
        Reading::Raw => Ok(binariser),
        Reading::Bits => Ok(None),
        Reading::Auto if raw_fits || !bits_fit => Ok(binariser),
        Reading::Auto => Ok(None),
    }
}

/// Rows in memory, read like those of a file; messages call them `source`.
pub fn bits_of_columns(
    source: &str,
    rows: usize,
    columns: &[(String, Cells)],
    features: &[String],
    binariser: Option<&Binariser>,
) -> Result<Bits, DataError> {
    // Of two columns with one name, the first.
    let places: HashMap<&String, &Cells> = columns.iter().rev().map(|(name, cells)| (name, cells)).collect();
    let find = |name: &String| places.get(name).copied();
    let path = Path::new(source);
    let wanted = |name: &String| {
        find(name).ok_or_else(|| DataError::MissingColumn {
            path: path.into(),
            column: name.clone(),
            present: columns.iter().map(|(name, _)| name.clone()).collect(),
        })
    };
    let chosen = choose(|name| find(name).is_some(), features, binariser, Reading::Auto)
        .map_err(|message| DataError::Format { path: path.into(), message: message.into() })?;
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

/// A feature that is a column of bits in a table, 64 rows to a word.
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
