//! Rows to predict or explain, matched to a model's features by name, never by position.
//!
//! A file may hold raw columns, which the model's binariser turns into bits, or the bits themselves. Which of the two is
//! decided from the header alone: bits if it has every feature by name and there is no binariser, or some feature is not a
//! raw column; raw where both readings fit. Other columns are ignored.

use super::table::Chunks;
use super::{Binariser, Bits, DataError, Table};
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

/// Entities read in chunks.
pub struct Entities<'a> {
    table: Table,
    chunks: Chunks,
    features: &'a [String],
    binariser: Option<&'a Binariser>,
}

impl<'a> Entities<'a> {
    /// Opens a file for a model with these features and, if it has one, this binariser.
    pub fn open(
        path: &Path,
        features: &'a [String],
        binariser: Option<&'a Binariser>,
        reading: Reading,
    ) -> Result<Self, DataError> {
        let table = Table::open(path)?;
        let has = |name: &String| table.columns().contains(name);
        let raw_fits = binariser.is_some_and(|b| b.columns().iter().all(|column| has(&column.column)));
        let bits_fit = features.iter().all(has)
            && binariser.is_none_or(|b| !features.iter().all(|f| b.columns().iter().any(|column| &column.column == f)));
        let binariser = match reading {
            Reading::Raw if binariser.is_none() => {
                let message = "raw values cannot be read: the model does not say how they become bits".into();
                return Err(DataError::Format { path: path.into(), message });
            }
            Reading::Raw => binariser,
            Reading::Bits => None,
            Reading::Auto if raw_fits || !bits_fit => binariser,
            Reading::Auto => None,
        };
        let wanted = match binariser {
            Some(binariser) => binariser.columns().iter().map(|column| table.position(&column.column)).collect(),
            None => features.iter().map(|feature| table.position(feature)).collect::<Result<Vec<_>, _>>(),
        };
        let chunks = table.chunks(&wanted?)?;
        Ok(Entities { table, chunks, features, binariser })
    }

    /// Whether the file is read as raw values.
    pub fn is_raw(&self) -> bool {
        self.binariser.is_some()
    }
}

impl Iterator for Entities<'_> {
    type Item = Result<Bits, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = match self.chunks.next()? {
            Ok(chunk) => chunk,
            Err(error) => return Some(Err(error)),
        };
        if let Some(binariser) = self.binariser {
            return Some(binariser.encode(&self.table, &chunk));
        }
        let mut bits = Bits::zeros(self.features.len(), chunk.rows);
        for (feature, cells) in chunk.columns.iter().enumerate() {
            for row in 0..chunk.rows {
                match cells.number(row) {
                    Ok(Some(1.0)) => bits.set(row, feature),
                    Ok(Some(0.0)) => {}
                    _ => {
                        return Some(Err(DataError::Cell {
                            path: self.table.path().into(),
                            row: chunk.first_row + row as u64,
                            column: self.features[feature].clone(),
                            value: cells.text(row).unwrap_or_default().into_owned(),
                            problem: "is neither 0 nor 1".into(),
                        }));
                    }
                }
            }
        }
        Some(Ok(bits))
    }
}
