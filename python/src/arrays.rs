//! Arrays of numpy as the library's rows, and back.

use crate::errors::Failure;
use boolshap::data::Bits;
use numpy::PyReadonlyArray2;

/// Rows of bits, checked; `names` are those of the columns, for messages.
pub(crate) fn rows_of(array: &PyReadonlyArray2<'_, u8>, names: &[String]) -> Result<Bits, Failure> {
    let view = array.as_array();
    let (rows, features) = view.dim();
    if features != names.len() {
        return Err(Failure::input(format!(
            "the array has {features} columns, but there are {} features",
            names.len()
        )));
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
        Failure::input(format!("row {row}, column '{}': {} is neither 0 nor 1", names[feature], bytes[place]))
    })
}
