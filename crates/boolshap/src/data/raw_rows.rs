//! Rows of numbers, stored by column, for models that take raw columns. A missing value is NaN.

use super::DataError;
use std::path::Path;

/// Rows of numbers.
///
/// ```
/// use boolshap::data::RawRows;
/// let rows = RawRows::of_rows(2, &[1.5, 2.0, 3.0, f64::NAN]);
/// assert_eq!((rows.len(), rows.column(0)), (2, &[1.5, 3.0][..]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RawRows {
    rows: usize,
    columns: Vec<Vec<f64>>,
}

impl RawRows {
    /// Rows of this many columns, given one row after another.
    pub fn of_rows(columns: usize, numbers: &[f64]) -> Self {
        let column = |at: usize| numbers.iter().skip(at).step_by(columns).copied().collect();
        RawRows { rows: numbers.len().checked_div(columns).unwrap_or(0), columns: (0..columns).map(column).collect() }
    }

    /// Rows given by columns, all of the same length.
    pub fn of_columns(rows: usize, columns: Vec<Vec<f64>>) -> Self {
        debug_assert!(columns.iter().all(|column| column.len() == rows));
        RawRows { rows, columns }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The numbers of a column.
    pub fn column(&self, column: usize) -> &[f64] {
        &self.columns[column]
    }

    /// The rows from `from` up to but not including `to`.
    pub fn part(&self, from: usize, to: usize) -> RawRows {
        let columns = self.columns.iter().map(|column| column[from..to].to_vec()).collect();
        RawRows { rows: to - from, columns }
    }

    /// Rounds every number to the precision in which a model compares: single or double. A number that the model cannot
    /// compare is an error.
    pub fn prepared(
        &self,
        source: &str,
        names: &[String],
        is_single: bool,
        takes_missing: bool,
    ) -> Result<Self, DataError> {
        let mut prepared = self.clone();
        for (name, column) in names.iter().zip(&mut prepared.columns) {
            for (row, number) in column.iter_mut().enumerate() {
                let given = *number;
                if is_single {
                    *number = f64::from(given as f32);
                }
                let problem = match (number.is_nan(), number.is_finite()) {
                    (true, _) if !takes_missing => "is missing, and the model takes no missing values",
                    (false, false) => "is not a finite number that the model could compare",
                    _ => continue,
                };
                return Err(DataError::Cell {
                    path: Path::new(source).into(),
                    row: row as u64 + 1,
                    column: name.clone(),
                    value: given.to_string(),
                    problem: problem.into(),
                });
            }
        }
        Ok(prepared)
    }
}
