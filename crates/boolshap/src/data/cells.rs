//! The cells of a column, stored as texts, numbers or truth values, and readable as each of these.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, StringArray};
#[cfg(any(feature = "arrow-stream", feature = "parquet"))]
use arrow_cast::{CastOptions, cast_with_options, display::FormatOptions};
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

/// An array of another type; a value that cannot be cast is an error, not a missing value.
#[cfg(any(feature = "arrow-stream", feature = "parquet"))]
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let strict = CastOptions { safe: false, format_options: FormatOptions::new() };
    cast_with_options(array, to, &strict)
}

/// Where tables are texts there is nothing to cast, and no need for a package that casts everything.
#[cfg(not(any(feature = "arrow-stream", feature = "parquet")))]
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    Err(ArrowError::CastError(format!("this build does not read {} as {to}", array.data_type())))
}

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
            numeric if numeric.is_numeric() => Cells::Number(match usual_numbers(array) {
                Some(numbers) => numbers,
                None => cast(array, &DataType::Float64)?.as_primitive().clone(),
            }),
            _ => Cells::Text(cast(array, &DataType::Utf8)?.as_string::<i32>().clone()),
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

/// Numbers of the usual types as floats. The package that casts every type is compiled for a short build and not for
/// speed, so those that tables are full of are not left to it.
fn usual_numbers(array: &ArrayRef) -> Option<Float64Array> {
    Some(match array.data_type() {
        DataType::Float64 => array.as_primitive().clone(),
        DataType::Float32 => array.as_primitive::<Float32Type>().unary::<_, Float64Type>(f64::from),
        DataType::Int64 => array.as_primitive::<Int64Type>().unary::<_, Float64Type>(|value| value as f64),
        DataType::Int32 => array.as_primitive::<Int32Type>().unary::<_, Float64Type>(f64::from),
        DataType::Int16 => array.as_primitive::<Int16Type>().unary::<_, Float64Type>(f64::from),
        DataType::Int8 => array.as_primitive::<Int8Type>().unary::<_, Float64Type>(f64::from),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary::<_, Float64Type>(|value| value as f64),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().unary::<_, Float64Type>(f64::from),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().unary::<_, Float64Type>(f64::from),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().unary::<_, Float64Type>(f64::from),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        Float32Array, Int8Array, Int16Array, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    };
    use std::sync::Arc;

    #[test]
    fn the_usual_numbers_are_what_the_package_casts_them_to() {
        let arrays: [ArrayRef; 10] = [
            Arc::new(Float64Array::from(vec![Some(0.1), None, Some(f64::NAN), Some(f64::INFINITY)])),
            Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::MIN), Some(-0.0)])),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX), Some((1 << 53) + 1)])),
            Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)])),
            Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)])),
            Arc::new(Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX)])),
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some((1 << 53) + 1)])),
            Arc::new(UInt32Array::from(vec![Some(u32::MAX), None, Some(7)])),
            Arc::new(UInt16Array::from(vec![Some(u16::MAX), None, Some(7)])),
            Arc::new(UInt8Array::from(vec![Some(u8::MAX), None, Some(7)])),
        ];
        for array in arrays {
            let cast = cast(&array, &DataType::Float64).unwrap();
            let bits = |numbers: &Float64Array| numbers.iter().map(|value| value.map(f64::to_bits)).collect::<Vec<_>>();
            let usual = usual_numbers(&array).unwrap();
            assert_eq!(bits(&usual), bits(cast.as_primitive()), "{}", array.data_type());
        }
    }

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
