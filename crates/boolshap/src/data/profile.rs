//! A first pass over a table: the kind of each column, and the numbers that its code needs.
//!
//! A column without a declared kind is boolean if every value is 0, 1, true or false; numeric if more than half of its
//! values are numbers (then any other cell is an error, not a category); otherwise categorical, with at most
//! [`MAX_CATEGORIES`] different texts. A column without any value is ignored, with a note.
//!
//! Means and quantiles are rounded once ([`ExactSum`]): they do not depend on the order of the rows, and never are all rows
//! above a column's mean.

use super::exact_mean::quantile;
use super::{Cells, Code, Cut, DataError, ExactSum, Kind, Kinds, Misfit, Table};
use crate::lit::Watch;
use std::collections::BTreeSet;

/// The most categories of a column that is recognised as categorical.
pub const MAX_CATEGORIES: usize = 100;
/// The most categories of a column that is declared categorical.
const MAX_DECLARED_CATEGORIES: usize = 10_000;

/// What was seen in each column, in the order of the header.
pub(crate) struct Profile {
    columns: Vec<Seen>,
}

#[derive(Default)]
struct Seen {
    present: u64,
    numbers: u64,
    truths: u64,
    sum: ExactSum,
    /// All numbers, if quantiles are needed.
    values: Option<Vec<f64>>,
    /// All texts, until there are too many.
    texts: BTreeSet<String>,
    first_misfit: Option<(u64, String)>,
}

impl Seen {
    fn add(&mut self, cells: &Cells, row: usize, number: u64) {
        let Some(text) = cells.text(row) else { return };
        self.present += 1;
        match cells.number(row) {
            // The text NaN means missing among numbers, but may be a name among names.
            Ok(None) => self.present -= 1,
            Ok(Some(value)) => {
                self.numbers += 1;
                self.sum.add(value, 1);
                if let Some(values) = &mut self.values {
                    values.push(value);
                }
            }
            Err(Misfit) if self.first_misfit.is_none() => self.first_misfit = Some((number, text.to_string())),
            Err(Misfit) => {}
        }
        self.truths += u64::from(matches!(cells.truth(row), Ok(Some(_))));
        if self.texts.len() <= MAX_DECLARED_CATEGORIES && !self.texts.contains(text.as_ref()) {
            self.texts.insert(text.into_owned());
        }
    }

    fn mean(&self) -> f64 {
        self.sum.mean(self.numbers)
    }
}

impl Profile {
    /// Reads all rows, or those for which `keep` holds.
    pub(crate) fn read(
        table: &Table,
        kinds: &Kinds,
        keep: impl Fn(usize) -> bool,
        watch: &Watch<'_>,
    ) -> Result<Self, DataError> {
        let mut columns: Vec<Seen> = table.columns().iter().map(|_| Seen::default()).collect();
        for (seen, name) in columns.iter_mut().zip(table.columns()) {
            if matches!(kinds.get(name), Some(Kind::Numeric(Cut::Median | Cut::Bins(_)))) {
                seen.values = Some(Vec::new());
            }
        }
        // Ignored columns need not even be readable.
        let is_wanted = |name: &String| kinds.get(name) != Some(&Kind::Ignored);
        let wanted: Vec<usize> = (0..columns.len()).filter(|&index| is_wanted(&table.columns()[index])).collect();
        for chunk in table.chunks(&wanted)? {
            let chunk = chunk?;
            watch.check()?;
            for (&index, cells) in wanted.iter().zip(&chunk.columns) {
                let seen = &mut columns[index];
                for row in 0..chunk.rows {
                    let number = chunk.first_row + row as u64;
                    if keep(number as usize - 1) {
                        seen.add(cells, row, number);
                    }
                }
            }
        }
        Ok(Profile { columns })
    }

    /// The kind of a column: the declared one, otherwise recognised from its values.
    pub(crate) fn kind(&self, table: &Table, column: usize, kinds: &Kinds) -> Result<Kind, DataError> {
        let name = &table.columns()[column];
        let seen = &self.columns[column];
        if let Some(kind) = kinds.get(name) {
            return Ok(kind.clone());
        }
        if seen.present == 0 {
            Ok(Kind::Ignored)
        } else if seen.truths == seen.present {
            Ok(Kind::Boolean)
        } else if seen.numbers * 2 > seen.present {
            Ok(Kind::Numeric(Cut::Mean))
        } else if seen.texts.len() <= MAX_CATEGORIES {
            Ok(Kind::Categorical)
        } else {
            let (path, column) = (table.path().into(), name.clone());
            Err(DataError::TooManyCategories { path, column, limit: MAX_CATEGORIES })
        }
    }

    /// Whether a column has no value in any row.
    pub(crate) fn is_blank(&self, column: usize) -> bool {
        self.columns[column].present == 0
    }

    /// The fitted code of a column of a given kind; `None` if it is ignored.
    pub(crate) fn code(&self, table: &Table, column: usize, kind: &Kind) -> Result<Option<Code>, DataError> {
        let name = &table.columns()[column];
        let seen = &self.columns[column];
        let wrong = |problem: String| DataError::Column { path: table.path().into(), column: name.clone(), problem };
        if let (Kind::Numeric(_), Some((row, value))) = (kind, &seen.first_misfit) {
            return Err(DataError::Cell {
                path: table.path().into(),
                row: *row,
                column: name.clone(),
                value: value.clone(),
                problem: "is not a finite number".into(),
            });
        }
        if let Kind::Numeric(Cut::Mean | Cut::Median | Cut::Bins(_)) = kind
            && seen.numbers == 0
        {
            return Err(wrong("has no number to cut at".into()));
        }
        Ok(Some(match kind {
            Kind::Ignored => return Ok(None),
            Kind::Boolean => Code::Boolean,
            Kind::Categorical if seen.texts.is_empty() => return Err(wrong("has no value".into())),
            Kind::Categorical if seen.texts.len() > MAX_DECLARED_CATEGORIES => {
                return Err(wrong(format!("has more than {MAX_DECLARED_CATEGORIES} categories")));
            }
            Kind::Categorical => Code::Categories(seen.texts.iter().cloned().collect()),
            Kind::Numeric(Cut::Mean) => Code::Above(seen.mean()),
            Kind::Numeric(Cut::Median) => Code::Above(quantile(&self.sorted(column), 1, 2).unwrap_or(0.0)),
            Kind::Numeric(Cut::At(edges)) if edges.len() == 1 => Code::Above(edges[0]),
            Kind::Numeric(Cut::At(edges)) => Code::Bins(edges.clone()),
            Kind::Numeric(Cut::Bins(count)) => {
                let values = self.sorted(column);
                let mut edges: Vec<f64> = (1..*count).filter_map(|part| quantile(&values, part, *count)).collect();
                edges.dedup();
                // An edge at the maximum would leave the last bin empty.
                edges.retain(|edge| Some(edge) < values.last());
                if edges.is_empty() {
                    return Err(wrong(format!("has the value {} too often to be cut into bins", values[0])));
                }
                Code::Bins(edges)
            }
        }))
    }

    fn sorted(&self, column: usize) -> Vec<f64> {
        let mut values = self.columns[column].values.clone().unwrap_or_default();
        values.sort_by(f64::total_cmp);
        values
    }
}
