//! The cells of a column, stored as texts, numbers or truth values, and readable as each of these.

use super::arrow_texts;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, StringArray};
use arrow_schema::{ArrowError, DataType};
use std::borrow::Cow;

/// A column's cells.
pub enum Cells {
    /// Texts, as in CSV.
    Text(StringArray),
    /// Numbers.
    Number(Float64Array),
    /// Truth values.
    Truth(BooleanArray),
}

/// The error for a cell that does not have the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfit;

impl Cells {
    /// Numbers; NaN marks a missing one.
    pub fn of_numbers(numbers: Vec<f64>) -> Self {
        Cells::Number(numbers.into())
    }

    /// Texts, some of them missing.
    pub fn of_texts(texts: &[Option<String>]) -> Self {
        Cells::Text(texts.iter().map(Option::as_deref).collect())
    }

    /// The cells of an array.
    pub fn of_array(array: &ArrayRef) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Boolean => Cells::Truth(array.as_boolean().clone()),
            DataType::Utf8 => Cells::Text(array.as_string::<i32>().clone()),
            numeric if numeric.is_numeric() => Cells::Number(arrow_texts::numbers(array)?),
            _ => Cells::Text(arrow_texts::texts(array)?),
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
                let text = cells.value(row);
                // Few numbers have spaces around them, so parsing trims only after a failure.
                match text.parse() {
                    Ok(value) => value,
                    Err(_) if text.trim().is_empty() => return Ok(None),
                    Err(_) => text.trim().parse().map_err(|_| Misfit)?,
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn cells_are_read_as_texts_numbers_and_truth_values() {
        let texts =
            vec![Some(" 1 "), Some("1e3"), Some("  "), None, Some("NaN"), Some("inf"), Some("TRUE"), Some("x 1")];
        let cells = Cells::of_array(&(Arc::new(StringArray::from(texts)) as ArrayRef)).unwrap();
        let numbers: Vec<_> = (0..8).map(|row| cells.number(row)).collect();
        let (one, none, misfit) = (Ok(Some(1.0)), Ok(None), Err(Misfit));
        assert_eq!(numbers, [one, Ok(Some(1e3)), none, none, none, misfit, misfit, misfit]);
        let truths: Vec<_> = (0..8).map(|row| cells.truth(row)).collect();
        assert_eq!(truths[..4], [Ok(Some(true)), Err(Misfit), Ok(None), Ok(None)]);
        assert_eq!(truths[4..], [Ok(None), Err(Misfit), Ok(Some(true)), Err(Misfit)]);
        let texts: Vec<_> = (0..4).map(|row| cells.text(row)).collect();
        assert_eq!(texts, [Some(" 1 ".into()), Some("1e3".into()), None, None]);
    }
}
