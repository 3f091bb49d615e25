//! How raw values become bits, once fitted. It is stored with a model, so that raw rows can be explained later.
//!
//! | code | bits | a value is 1 when | missing |
//! | --- | --- | --- | --- |
//! | `Above(t)` | `COLUMN` | it is strictly above `t` | 0 |
//! | `Boolean` | `COLUMN` | it is 1 or true | 0 |
//! | `Categories` | `COLUMN=VALUE` for each, in alphabetical order | it is that value; an unseen one is an error | all 0 |
//! | `Bins` | `COLUMN=..A`, `COLUMN=A..B`, ..., `COLUMN=Z..` | it lies in that bin, upper end included | the lowest bin |
//!
//! The paper's rule is `Above(mean)`.

use super::{Bits, Cells, Chunk, DataError, Table};
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
    /// One-hot: a bit for each interval between these ascending edges and beyond them.
    Bins(Vec<f64>),
}

/// A column and its code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodedColumn {
    /// The column's name.
    pub column: String,
    /// How its values become bits.
    pub code: Code,
}

/// How a whole row becomes bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Binariser {
    columns: Vec<CodedColumn>,
}

impl Code {
    /// The number of bits.
    pub fn bits(&self) -> usize {
        match self {
            Code::Above(_) | Code::Boolean => 1,
            Code::Categories(values) => values.len(),
            Code::Bins(edges) => edges.len() + 1,
        }
    }

    /// The number of classes of a target with this code.
    pub fn classes(&self) -> usize {
        self.bits().max(2)
    }

    /// The value of a single bit, or the index of the bit that is 1 in a one-hot code; `None` for a missing category.
    fn index(&self, cells: &Cells, row: usize) -> Result<Option<usize>, Cow<'static, str>> {
        let number = || cells.number(row).map_err(|_| Cow::from("is not a finite number"));
        Ok(match self {
            Code::Above(threshold) => Some(usize::from(number()?.is_some_and(|value| value > *threshold))),
            Code::Bins(edges) => Some(number()?.map_or(0, |value| edges.partition_point(|edge| value > *edge))),
            Code::Boolean => {
                let truth = cells.truth(row).map_err(|_| Cow::from("is not 0, 1, true or false"))?;
                Some(usize::from(truth.unwrap_or(false)))
            }
            Code::Categories(values) => {
                match cells.text(row) {
                    None => None,
                    Some(text) => Some(values.binary_search_by(|value| value.as_str().cmp(&text)).map_err(|_| {
                        Cow::from(format!("is not one of the known categories ({})", values.join(", ")))
                    })?),
                }
            }
        })
    }

    /// Checks a code from a file; returns what is wrong.
    fn flaw(&self) -> Option<&'static str> {
        match self {
            Code::Categories(values) if values.is_empty() => Some("has no categories"),
            Code::Categories(values) if !values.windows(2).all(|pair| pair[0] < pair[1]) => {
                Some("has categories that are not in alphabetical order")
            }
            Code::Bins(edges) if edges.is_empty() || !edges.windows(2).all(|pair| pair[0] < pair[1]) => {
                Some("has edges that are not ascending")
            }
            _ => None,
        }
    }
}

impl CodedColumn {
    /// The names of the column's bits.
    pub fn features(&self) -> Vec<String> {
        let name = &self.column;
        match &self.code {
            Code::Above(_) | Code::Boolean => vec![name.clone()],
            Code::Categories(values) => values.iter().map(|value| format!("{name}={value}")).collect(),
            Code::Bins(edges) => bin_names(edges).map(|bin| format!("{name}={bin}")).collect(),
        }
    }

    /// The names of a target's classes.
    pub fn classes(&self) -> Vec<String> {
        match &self.code {
            Code::Above(threshold) => vec![format!("at most {threshold}"), format!("above {threshold}")],
            Code::Boolean => vec!["false".into(), "true".into()],
            Code::Categories(values) => values.clone(),
            Code::Bins(edges) => bin_names(edges).collect(),
        }
    }

    /// The class in a target's cell; `None` if the cell is missing or invalid.
    pub fn class_of(&self, cells: &Cells, row: usize) -> Option<u32> {
        cells.text(row)?;
        self.code.index(cells, row).ok().flatten().map(|class| class as u32)
    }

    /// The classes of a chunk's rows, with the target in column `index`; a missing target is an error.
    pub fn labels(&self, table: &Table, chunk: &Chunk, index: usize) -> Result<Vec<u32>, DataError> {
        let cells = &chunk.columns[index];
        let label = |row| {
            let missing = matches!(cells.number(row), Ok(None)) && !matches!(self.code, Code::Categories(_));
            let index = if missing { Ok(None) } else { self.code.index(cells, row) };
            let class = index.and_then(|index| index.ok_or(Cow::from("is missing, but it is the target")));
            class
                .map(|class| class as u32)
                .map_err(|problem| self.misfit(&Place::of(table, chunk), cells, row, problem))
        };
        (0..chunk.rows).map(label).collect()
    }

    /// The column's bits, 64 rows to a word.
    fn encode(&self, place: &Place<'_>, cells: &Cells) -> Result<Vec<Vec<u64>>, DataError> {
        let mut features = vec![vec![0; place.rows.div_ceil(64)]; self.code.bits()];
        let one_hot = matches!(self.code, Code::Categories(_) | Code::Bins(_));
        for row in 0..place.rows {
            let index = self.code.index(cells, row);
            let (word, bit) = (row / 64, row % 64);
            match index.map_err(|problem| self.misfit(place, cells, row, problem))? {
                Some(index) if one_hot => features[index][word] |= 1 << bit,
                Some(value) => features[0][word] |= (value as u64) << bit,
                None => {}
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

fn bin_names(edges: &[f64]) -> impl Iterator<Item = String> + '_ {
    (0..=edges.len()).map(|bin| {
        let end = |index: usize| edges.get(index).map(f64::to_string).unwrap_or_default();
        format!("{}..{}", if bin == 0 { String::new() } else { end(bin - 1) }, end(bin))
    })
}

impl Binariser {
    /// A binariser of these columns, in this order; the error names the invalid column.
    pub fn new(columns: Vec<CodedColumn>) -> Result<Self, String> {
        for column in &columns {
            if let Some(flaw) = column.code.flaw() {
                return Err(format!("column '{}' {flaw}", column.column));
            }
        }
        Ok(Binariser { columns })
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[CodedColumn] {
        &self.columns
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
        // If several columns fail, the error of the first is returned, whichever thread was first.
        let features = encoded.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Bits::of_features(place.rows, features.into_iter().flatten().collect()))
    }
}
