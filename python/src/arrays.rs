//! Arrays of numpy as the library's rows, and numbers that are too long for arrays.

use crate::errors::Failure;
use boolshap::Error;
use boolshap::data::Bits;
use numpy::ndarray::{Array2, Axis};
use numpy::{Element, PyArray2, PyReadonlyArray2};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use std::fmt::LowerHex;

/// Rows of bits, checked; `names` are those of the columns, for messages.
pub(crate) fn rows_of(array: &PyReadonlyArray2<'_, u8>, names: &[String]) -> Result<Bits, Failure> {
    let view = array.as_array();
    let (rows, features) = view.dim();
    if features != names.len() {
        let message = format!("the array has {features} columns, but there are {} features", names.len());
        return Err(Error::input(message).into());
    }
    // An array that is not contiguous is copied once.
    let owned;
    let bytes = match view.as_slice() {
        Some(bytes) => bytes,
        None => {
            owned = view.iter().copied().collect::<Vec<u8>>();
            &owned
        }
    };
    Bits::from_bytes(features, rows, bytes).map_err(|place| {
        let (row, feature) = (place / features, place % features);
        Error::input(format!("column '{}', row {row}: {} is neither 0 nor 1", names[feature], bytes[place])).into()
    })
}

/// Numbers that are all 0 or 1 as bytes; nothing if one is not, or if their type is not a native one.
#[pyfunction]
pub(crate) fn bits_of<'py>(array: &Bound<'py, PyAny>) -> Option<Bound<'py, PyArray2<u8>>> {
    /// Zero where the number is 0 or 1.
    fn other(is_bit: bool) -> u64 {
        u64::from(!is_bit)
    }
    bytes_of(array, |number: i64| (number as u8, number as u64 >> 1))
        .or_else(|| bytes_of(array, |number: f64| (u8::from(number == 1.0), other(number == 0.0 || number == 1.0))))
        .or_else(|| bytes_of(array, |number: i32| (number as u8, u64::from(number as u32 >> 1))))
        .or_else(|| bytes_of(array, |number: f32| (u8::from(number == 1.0), other(number == 0.0 || number == 1.0))))
        .or_else(|| bytes_of(array, |number: i8| (number as u8, u64::from(number as u8 >> 1))))
        .or_else(|| bytes_of(array, |number: u64| (number as u8, number >> 1)))
}

/// The same for numbers of one type; `byte` returns a number as a byte, and a value other than 0 if the number is not a
/// bit.
fn bytes_of<'py, T: Element + Copy>(
    array: &Bound<'py, PyAny>,
    byte: impl Fn(T) -> (u8, u64),
) -> Option<Bound<'py, PyArray2<u8>>> {
    let array: PyReadonlyArray2<'py, T> = array.extract().ok()?;
    let view = array.as_array();
    let mut others = 0;
    let mut byte = |number: T| {
        let (byte, other) = byte(number);
        others |= other;
        byte
    };
    let bytes = match view.as_slice() {
        Some(numbers) => numbers.iter().map(|&number| byte(number)).collect(),
        None => {
            /// Few rows at a time, so that what is written column by column stays in the cache.
            const ROWS: usize = 256;
            let mut bytes = vec![0; view.len()];
            let width = view.ncols();
            let parts = view.axis_chunks_iter(Axis(0), ROWS).zip(bytes.chunks_mut((ROWS * width).max(1)));
            for (part, bytes) in parts {
                for (place, column) in part.columns().into_iter().enumerate() {
                    let cells = bytes[place..].iter_mut().step_by(width);
                    cells.zip(column).for_each(|(cell, &number)| *cell = byte(number));
                }
            }
            bytes
        }
    };
    let bytes = Array2::from_shape_vec(view.dim(), bytes).expect("as many bytes as numbers");
    (others == 0).then(|| PyArray2::from_owned_array(array.py(), bytes))
}

/// The bits that `boolshap._tables` makes of rows in any form.
pub(crate) fn read<'py>(py: Python<'py>, reader: &str, arguments: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    py.import("boolshap._tables")?.getattr(reader)?.call1(arguments)
}

/// A whole number of any size. In hexadecimal, because Python refuses long decimals.
pub(crate) fn integer<'py>(py: Python<'py>, number: &impl LowerHex) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((PyString::new(py, &format!("{number:x}")), 16))
}
