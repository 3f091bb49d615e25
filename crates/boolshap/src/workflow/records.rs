//! The data of a request besides names and numbers: small tables of costs and codes, and others' claims. A person has
//! them in files, a program passes them with the request; either way they are read here.

use super::Error;
use crate::data::Table;
use crate::lit::Digest;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A small table of texts with known columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordsFrom {
    /// A CSV or Parquet file.
    File(PathBuf),
    /// Rows with a text for each column.
    Given(Vec<Vec<String>>),
}

/// Others' claims about rows, as JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimsFrom {
    /// A file.
    File(PathBuf),
    /// The list itself.
    Given(Value),
}

/// A row of a small table, and its place.
pub(super) struct Record {
    pub(super) place: String,
    pub(super) cells: Vec<String>,
}

impl RecordsFrom {
    /// The file that it is read from.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            RecordsFrom::File(path) => Some(path),
            RecordsFrom::Given(_) => None,
        }
    }

    /// All rows, with the cells of these columns. The place of rows that were passed with the request is
    /// `setting`.
    pub(super) fn read(&self, setting: &str, columns: &[&str]) -> Result<Vec<Record>, Error> {
        let path = match self {
            RecordsFrom::File(path) => path,
            RecordsFrom::Given(rows) => {
                let record = |cells: &Vec<String>| Record { place: setting.into(), cells: cells.clone() };
                return Ok(rows.iter().map(record).collect());
            }
        };
        let table = Table::open(path)?;
        let positions = columns.iter().map(|column| table.position(column)).collect::<Result<Vec<_>, _>>()?;
        let mut records = Vec::new();
        for chunk in table.chunks(&positions)? {
            let chunk = chunk?;
            for row in 0..chunk.rows {
                let place = format!("{}, row {}", path.display(), chunk.first_row + row as u64);
                let text = |column: usize| chunk.columns[column].text(row).unwrap_or_default().into_owned();
                records.push(Record { place, cells: (0..columns.len()).map(text).collect() });
            }
        }
        Ok(records)
    }

    /// The digest of the file, or of what was given.
    pub(super) fn digest(&self) -> Result<Digest, Error> {
        match self {
            RecordsFrom::File(path) => Ok(Digest::of(&std::fs::read(path).map_err(Error::file(path))?)),
            RecordsFrom::Given(rows) => Ok(Digest::of(serde_json::json!(rows).to_string().as_bytes())),
        }
    }
}

impl ClaimsFrom {
    /// The file that they are read from.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            ClaimsFrom::File(path) => Some(path),
            ClaimsFrom::Given(_) => None,
        }
    }

    /// The JSON, and its place.
    pub(super) fn read(&self) -> Result<(Value, String), Error> {
        match self {
            ClaimsFrom::Given(all) => Ok((all.clone(), "claims".into())),
            ClaimsFrom::File(path) => {
                let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
                let all = serde_json::from_str(&text).map_err(|error| Error::input(error).in_file(path))?;
                Ok((all, path.display().to_string()))
            }
        }
    }
}
