//! Arrays of numpy as the library's rows, and numbers that are too long for arrays.

use crate::errors::Failure;
use boolshap::Error;
use boolshap::data::Bits;
use numpy::PyReadonlyArray2;
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
    // What is not contiguous is copied once.
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

/// What `boolshap._tables` makes of rows in any form: bits.
pub(crate) fn read<'py>(py: Python<'py>, reader: &str, arguments: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    py.import("boolshap._tables")?.getattr(reader)?.call1(arguments)
}

/// A whole number of any size. In hexadecimal, because Python refuses long decimals.
pub(crate) fn integer<'py>(py: Python<'py>, number: &impl LowerHex) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((PyString::new(py, &format!("{number:x}")), 16))
}
