//! Missing values: which texts mean one, and how it is encoded.
//!
//! A blank cell, a null and a NaN among numbers are always missing. [`MARKERS`] are texts that mean the same in most
//! tables; others can be given instead. The markers are stored with each column, so that rows to explain are read like
//! the training rows.

use super::Cells;
use arrow_array::Array;
use serde::{Deserialize, Serialize};

/// The default texts that mean a missing value.
pub const MARKERS: [&str; 7] = ["NA", "N/A", "NaN", "nan", "null", "NULL", "?"];

/// The name of missing values in the names of a column's bits.
pub const MISSING: &str = "(missing)";

/// How a column's missing values are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// Whether a bit marks missing values; otherwise all bits of the column are 0.
    pub bit: bool,
    /// The texts that mean a missing value, besides blank ones.
    pub markers: Vec<String>,
}

impl Default for Missing {
    fn default() -> Self {
        Missing { bit: false, markers: MARKERS.map(String::from).into() }
    }
}

/// How missing numbers are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingNumbers {
    /// As 0, as if they were not above the threshold.
    #[default]
    Zero,
    /// With a separate bit, in columns that have missing values in training.
    Bit,
}

impl MissingNumbers {
    /// Its name: `zero` or `bit`.
    pub fn name(self) -> &'static str {
        match self {
            MissingNumbers::Zero => "zero",
            MissingNumbers::Bit => "bit",
        }
    }
}

impl std::str::FromStr for MissingNumbers {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = [MissingNumbers::Zero, MissingNumbers::Bit].into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| format!("'{name}' is not one of zero, bit"))
    }
}

/// The markers of a column, ready to be compared with cells.
pub(super) struct Markers<'a> {
    texts: Vec<&'a str>,
    /// The markers that are numbers: -999 is also written -999.0.
    numbers: Vec<f64>,
    /// The bytes with which a marker begins: few cells begin with one, so few are compared.
    first_bytes: [bool; 256],
}

impl<'a> Markers<'a> {
    pub(super) fn new(texts: &'a [String]) -> Self {
        let texts: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
        let numbers = texts.iter().filter_map(|text| text.parse().ok()).filter(|number: &f64| number.is_finite());
        let mut first_bytes = [false; 256];
        texts.iter().filter_map(|text| text.bytes().next()).for_each(|byte| first_bytes[usize::from(byte)] = true);
        Markers { numbers: numbers.collect(), first_bytes, texts }
    }

    fn means_missing(&self, text: &str) -> bool {
        let text = text.trim();
        let may_be_text = text.bytes().next().is_some_and(|byte| self.first_bytes[usize::from(byte)]);
        may_be_text && self.texts.contains(&text)
            || !self.numbers.is_empty() && text.parse().is_ok_and(|number: f64| self.numbers.contains(&number))
    }

    /// The cells with markers replaced by missing values; `None` if there are no markers among them.
    pub(super) fn removed(&self, cells: &Cells) -> Option<Cells> {
        match cells {
            Cells::Text(texts) => {
                let is_marker = |text: &str| self.means_missing(text);
                texts
                    .iter()
                    .flatten()
                    .any(is_marker)
                    .then(|| Cells::Text(texts.iter().map(|text| text.filter(|text| !is_marker(text))).collect()))
            }
            Cells::Number(numbers) if !self.numbers.is_empty() => {
                let is_marker = |number: f64| self.numbers.contains(&number);
                numbers.iter().flatten().any(is_marker).then(|| {
                    Cells::Number(numbers.iter().map(|number| number.filter(|number| !is_marker(*number))).collect())
                })
            }
            _ => None,
        }
        .filter(|cells| !cells.is_empty())
    }
}

impl Cells {
    fn is_empty(&self) -> bool {
        match self {
            Cells::Text(cells) => cells.is_empty(),
            Cells::Number(cells) => cells.is_empty(),
            Cells::Truth(cells) => cells.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_texts_or_numbers_in_any_spelling() {
        let markers = ["NA", "-999", " x "].map(String::from);
        let markers = Markers::new(&markers);
        let texts = ["NA", " NA ", "na", "-999", "-999.0", "-9.99e2", "x", "xx", "", "1"];
        let cells = Cells::of_texts(&texts.map(|text| Some(text.to_string())));
        let found = markers.removed(&cells).unwrap();
        let left: Vec<_> = (0..texts.len()).filter_map(|row| found.text(row)).collect();
        assert_eq!(left, ["na", "xx", "1"]);
        let found = markers.removed(&Cells::of_numbers(vec![1.0, -999.0, f64::NAN])).unwrap();
        assert_eq!([0, 1, 2].map(|row| found.number(row)), [Ok(Some(1.0)), Ok(None), Ok(None)]);
        assert!(markers.removed(&Cells::of_numbers(vec![1.0])).is_none());
    }
}
