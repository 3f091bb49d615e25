//! How raw values become bits. The fitted codes are stored with a model, so that raw rows can be explained later.
//!
//! | code | a bit for | a value has the bit when |
//! | --- | --- | --- |
//! | `Above(t)` | the numbers above | it is strictly above `t` |
//! | `Boolean` | the truth | it is 1 or true |
//! | `Categories` | each text, in alphabetical order | it is that text; an unseen one is an error |
//! | `Common` | each frequent text, and one for all others | it is that text, or none of them |
//! | `Values` | each number, ascending | it is that number; an unseen one is an error |
//! | `Bins` | each interval between edges and beyond | it lies in it, upper end included |
//!
//! If the column says so, a separate bit marks missing values; a column of one bit then has two for its answers, and
//! exactly one of the column's bits is always 1. Otherwise all bits of a missing value are 0. In files of the previous
//! version, which say nothing about missing values, a missing value lies in the lowest bin. Names are in `bit_names`.
//!
//! The paper's rule is `Above(mean)`.

use super::dates::parse_date;
use super::missing::Markers;
use super::{Bits, Cells, Chunk, DataError, DatePart, MISSING, Missing, OTHER, Table};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;

/// The fitted code of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// One bit: strictly above the threshold.
    Above(f64),
    /// One bit: the value itself.
    Boolean,
    /// One-hot: a bit for each of these values, which are in alphabetical order.
    Categories(Vec<String>),
    /// One-hot: a bit for each of these values, which are in alphabetical order, and one for all others.
    Common(Vec<String>),
    /// One-hot: a bit for each of these ascending numbers.
    Values(Vec<f64>),
    /// One-hot: a bit for each interval between these ascending edges and beyond them.
    Bins(Vec<f64>),
}

/// A column and its code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodedColumn {
    /// The column's name.
    pub column: String,
    /// Which part of a date it encodes, if it holds dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<DatePart>,
    /// How its values become bits.
    pub code: Code,
    /// How missing values are read; `None` in files of the previous version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// The codes of a whole row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Binariser {
    columns: Vec<CodedColumn>,
}

impl Code {
    /// How many values the code distinguishes: the classes of a target, without missing values.
    pub fn values(&self) -> usize {
        match self {
            Code::Above(_) | Code::Boolean => 2,
            Code::Categories(values) => values.len(),
            Code::Common(values) => values.len() + 1,
            Code::Values(values) => values.len(),
            Code::Bins(edges) => edges.len() + 1,
        }
    }

    /// The number of classes of a target with this code.
    pub fn classes(&self) -> usize {
        self.values().max(2)
    }

    /// Why a code from a file is invalid, if it is.
    fn flaw(&self) -> Option<&'static str> {
        let ascending = |values: &[f64]| !values.is_empty() && values.windows(2).all(|pair| pair[0] < pair[1]);
        match self {
            Code::Categories(values) | Code::Common(values) if values.is_empty() => Some("has no categories"),
            Code::Categories(values) | Code::Common(values) if !values.windows(2).all(|pair| pair[0] < pair[1]) => {
                Some("has categories that are not in alphabetical order")
            }
            Code::Bins(edges) if !ascending(edges) => Some("has edges that are not ascending"),
            Code::Values(values) if !ascending(values) => Some("has values that are not ascending"),
            _ => None,
        }
    }
}

impl CodedColumn {
    /// A column with the default markers of missing values and no bit for them.
    pub fn new(column: impl Into<String>, code: Code) -> Self {
        CodedColumn { column: column.into(), part: None, code, missing: Some(Missing::default()) }
    }

    /// Whether exactly one of its bits is 1 for every value that is not missing.
    pub fn is_one_hot(&self) -> bool {
        self.has_missing_bit() || !matches!(self.code, Code::Above(_) | Code::Boolean)
    }

    /// Whether a separate bit marks missing values.
    pub fn has_missing_bit(&self) -> bool {
        self.missing.as_ref().is_some_and(|missing| missing.bit)
    }

    /// The number of bits.
    pub fn bits(&self) -> usize {
        if self.is_one_hot() { self.code.values() + usize::from(self.has_missing_bit()) } else { 1 }
    }

    /// The index of a cell's value among the code's values; `None` if it is missing.
    fn value(&self, cells: &Cells, row: usize) -> Result<Option<usize>, Cow<'static, str>> {
        let number = || self.number(cells, row);
        let find = |values: &[String], text: &str| values.binary_search_by(|value| value.as_str().cmp(text));
        Ok(match &self.code {
            Code::Above(threshold) => number()?.map(|value| usize::from(value > *threshold)),
            Code::Bins(edges) => number()?.map(|value| edges.partition_point(|edge| value > *edge)),
            Code::Boolean => cells.truth(row).map_err(|_| Cow::from("is not 0, 1, true or false"))?.map(usize::from),
            Code::Values(values) => match number()? {
                None => None,
                Some(number) => {
                    Some(values.binary_search_by(|value| value.total_cmp(&(number + 0.0))).map_err(|_| {
                        let known: Vec<String> = values.iter().map(f64::to_string).collect();
                        Cow::from(format!("is not one of the known values ({})", known.join(", ")))
                    })?)
                }
            },
            Code::Categories(values) => {
                match cells.text(row) {
                    None => None,
                    Some(text) => Some(find(values, &text).map_err(|_| {
                        Cow::from(format!("is not one of the known categories ({})", values.join(", ")))
                    })?),
                }
            }
            Code::Common(values) => cells.text(row).map(|text| find(values, &text).unwrap_or(values.len())),
        })
    }

    fn number(&self, cells: &Cells, row: usize) -> Result<Option<f64>, Cow<'static, str>> {
        let Some(part) = self.part else { return cells.number(row).map_err(|_| Cow::from("is not a finite number")) };
        let Some(text) = cells.text(row) else { return Ok(None) };
        match parse_date(&text) {
            Some(days) => Ok(Some(part.of(days))),
            None => Err(Cow::from("is not a date such as 2024-12-31")),
        }
    }

    /// The cells with markers replaced by missing values.
    fn without_markers<'c>(&self, cells: &'c Cells) -> Readable<'c> {
        let removed = self.missing.as_ref().and_then(|missing| Markers::new(&missing.markers).removed(cells));
        removed.map_or(Readable::Given(cells), Readable::Changed)
    }

    /// The class in a target's cell; `None` if the cell is missing or invalid.
    pub fn class_of(&self, cells: &Cells, row: usize) -> Option<u32> {
        let text = cells.text(row)?;
        let is_marker = |missing: &Missing| missing.markers.iter().any(|marker| *marker == text);
        if self.missing.as_ref().is_some_and(is_marker) {
            return None;
        }
        self.value(cells, row).ok().flatten().map(|class| class as u32)
    }

    /// The classes of a chunk's rows, with the target in column `index`; a missing target is an error.
    pub fn labels(&self, table: &Table, chunk: &Chunk, index: usize) -> Result<Vec<u32>, DataError> {
        let cells = self.without_markers(&chunk.columns[index]);
        let label = |row| {
            let class = self.value(cells.get(), row);
            let class = class.and_then(|class| class.ok_or(Cow::from("is missing, but it is the target")));
            class
                .map(|class| class as u32)
                .map_err(|problem| self.misfit(&Place::of(table, chunk), &chunk.columns[index], row, problem))
        };
        (0..chunk.rows).map(label).collect()
    }

    /// The column's bits, as words of 64 rows.
    fn encode(&self, place: &Place<'_>, given: &Cells) -> Result<Vec<Vec<u64>>, DataError> {
        let cells = self.without_markers(given);
        let mut features = vec![vec![0; place.rows.div_ceil(64)]; self.bits()];
        let one_hot = self.is_one_hot();
        let of_missing = match (&self.missing, &self.code) {
            (Some(missing), _) => missing.bit.then(|| features.len() - 1),
            (None, Code::Bins(_)) => Some(0),
            (None, _) => None,
        };
        for row in 0..place.rows {
            let value = self.value(cells.get(), row).map_err(|problem| self.misfit(place, given, row, problem))?;
            let bit = match value {
                Some(value) if one_hot => Some(value),
                Some(value) => (value == 1).then_some(0),
                None => of_missing,
            };
            if let Some(bit) = bit {
                features[bit][row / 64] |= 1 << (row % 64);
            }
        }
        Ok(features)
    }

    fn misfit(&self, place: &Place<'_>, cells: &Cells, row: usize, problem: Cow<'_, str>) -> DataError {
        DataError::Cell {
            path: place.path.into(),
            row: place.first_row + row as u64,
            column: self.column.clone(),
            value: cells.text(row).unwrap_or_default().into_owned(),
            problem: problem.into_owned(),
        }
    }

    /// Why a column is invalid, whether it comes from a file or was fitted, if it is.
    fn flaw(&self) -> Option<String> {
        if let Some(flaw) = self.code.flaw() {
            return Some(flaw.into());
        }
        let (Code::Categories(values) | Code::Common(values)) = &self.code else { return None };
        let takes = |name: &str| values.iter().any(|value| value == name);
        let other = matches!(self.code, Code::Common(_)) && takes(OTHER);
        let taken = if other { Some(OTHER) } else { (self.has_missing_bit() && takes(MISSING)).then_some(MISSING) };
        taken.map(|name| format!("holds the text '{name}', which is the name of a bit for other values"))
    }
}

/// Cells as given, or with markers removed.
enum Readable<'c> {
    Given(&'c Cells),
    Changed(Cells),
}

impl Readable<'_> {
    fn get(&self) -> &Cells {
        match self {
            Readable::Given(cells) => cells,
            Readable::Changed(cells) => cells,
        }
    }
}

/// Where cells come from, for error messages.
struct Place<'a> {
    path: &'a Path,
    first_row: u64,
    rows: usize,
}

impl<'a> Place<'a> {
    fn of(table: &'a Table, chunk: &Chunk) -> Self {
        Place { path: table.path(), first_row: chunk.first_row, rows: chunk.rows }
    }
}

impl Binariser {
    /// A binariser of these columns, in this order; the error names the invalid column.
    pub fn new(columns: Vec<CodedColumn>) -> Result<Self, String> {
        for column in &columns {
            if let Some(flaw) = column.flaw() {
                return Err(format!("column '{}' {flaw}", column.column));
            }
        }
        Ok(Binariser { columns })
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[CodedColumn] {
        &self.columns
    }

    /// The raw columns that are read, each once.
    pub fn raw_columns(&self) -> Vec<&String> {
        let mut names: Vec<&String> = self.columns.iter().map(|column| &column.column).collect();
        // The parts of a date are next to each other.
        names.dedup();
        names
    }

    /// The names of all bits, in order.
    pub fn features(&self) -> Vec<String> {
        self.columns.iter().flat_map(CodedColumn::features).collect()
    }

    /// Turns a chunk into bits, columns in parallel; its columns must be those of the binariser, in order.
    pub fn encode(&self, table: &Table, chunk: &Chunk) -> Result<Bits, DataError> {
        self.encode_columns(&Place::of(table, chunk), &chunk.columns.iter().collect::<Vec<_>>())
    }

    /// The same for columns that are not in a file; error messages call the source `name`.
    pub fn encode_cells(&self, name: &str, rows: usize, columns: &[&Cells]) -> Result<Bits, DataError> {
        self.encode_columns(&Place { path: Path::new(name), first_row: 1, rows }, columns)
    }

    fn encode_columns(&self, place: &Place<'_>, columns: &[&Cells]) -> Result<Bits, DataError> {
        let columns: Vec<(&CodedColumn, &Cells)> = self.columns.iter().zip(columns.iter().copied()).collect();
        let encoded: Vec<_> = columns.into_par_iter().map(|(column, cells)| column.encode(place, cells)).collect();
        // If several columns fail, return the error of the first column, whichever thread finished first.
        let features = encoded.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Bits::of_features(place.rows, features.into_iter().flatten().collect()))
    }
}
