//! The native module of the Python package. It fills in the library's requests, calls the library and returns the
//! results: arrays come in without copies where their memory fits, long work runs without the interpreter's lock, and
//! Ctrl-C stops it.

mod arrays;
mod ask;
mod circuit;
mod compile;
mod errors;
mod explainer;
mod model;
mod raw;
mod real_model;
mod work;

use crate::errors::Failure;
use boolshap::Error;
use boolshap::data::{Binariser, Code, CodedColumn, Cut, Kind, WholeFile, mean, quantile, quantile_cuts, tree_cuts};
use boolshap::workflow::ModelOrCircuit;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads a model or circuit file; its beginning says which of the two it is.
///
/// >>> import boolshap, pathlib, tempfile
/// >>> circuit = boolshap.compile([([[1, 1, -1]], [0])])
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     circuit.save(pathlib.Path(folder, "vote.bsc"))
/// ...     boolshap.load(pathlib.Path(folder, "vote.bsc")) == circuit
/// True
#[pyfunction]
fn load(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    Ok(match work::work(py, None, |_| ModelOrCircuit::load(&path))? {
        ModelOrCircuit::Model(model) => Bound::new(py, model::Model(*model))?.into_any(),
        ModelOrCircuit::Real(model) => Bound::new(py, real_model::RealModel(*model))?.into_any(),
        ModelOrCircuit::Circuit(circuit) => Bound::new(py, circuit::Circuit(Arc::new(*circuit)))?.into_any(),
    })
}

/// Writes a file completely or not at all.
#[pyfunction]
fn write_whole(path: PathBuf, content: &[u8]) -> Result<(), errors::Failure> {
    Ok(WholeFile::write(&path, content).map_err(Error::file(&path))?)
}

/// The mean of each column of numbers, or its median, as the nearest float; NaN are missing.
#[pyfunction]
fn centres<'py>(py: Python<'py>, numbers: PyReadonlyArray2<'py, f64>, median: bool) -> Bound<'py, PyArray1<f64>> {
    let centre = |column: ArrayView1<'_, f64>| {
        let there = column.iter().copied().filter(|number| !number.is_nan());
        if !median {
            return mean(there);
        }
        let mut sorted: Vec<f64> = there.collect();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, 1, 2)
    };
    let view = numbers.as_array();
    let found = view.columns().into_iter().map(|column| centre(column).unwrap_or(f64::NAN));
    PyArray1::from_iter(py, found)
}

/// Where a column of numbers is cut: `bins=K` or `supervised=K`, which looks at the labels. NaN are missing.
#[pyfunction]
fn cuts(
    numbers: PyReadonlyArray1<'_, f64>,
    how: &str,
    labels: Option<PyReadonlyArray1<'_, u32>>,
) -> Result<Vec<f64>, Failure> {
    let wrong = |problem: String| Failure::from(Error::setting("threshold", problem));
    let there = |number: &f64| !number.is_nan();
    match (format!("numeric:{how}").parse().map_err(wrong)?, labels) {
        (Kind::Numeric(Cut::Bins(count)), _) => {
            let mut sorted: Vec<f64> = numbers.as_array().iter().copied().filter(there).collect();
            sorted.sort_by(f64::total_cmp);
            Ok(quantile_cuts(&sorted, count))
        }
        (Kind::Numeric(Cut::Supervised(leaves)), Some(labels)) => {
            let rows = numbers.as_array().iter().copied().zip(labels.as_array().iter().copied()).collect::<Vec<_>>();
            Ok(tree_cuts(rows.into_iter().filter(|(number, _)| there(number)).collect(), leaves))
        }
        _ => Err(wrong(format!("'{how}' is neither bins=K nor supervised=K with labels"))),
    }
}

/// The names of the bits of a column of numbers with these edges between its bins.
#[pyfunction]
fn bin_names(column: String, edges: Vec<f64>) -> Result<Vec<String>, Failure> {
    let bins = Binariser::new(vec![CodedColumn::new(column, Code::Bins(edges))]);
    Ok(bins.map_err(|error| Failure::from(Error::input(error)))?.features())
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::arrays::bits_of;
    #[pymodule_export]
    use super::ask::{Asker, check, names_of_network};
    #[pymodule_export]
    use super::circuit::Circuit;
    #[pymodule_export]
    use super::compile::{compile, verify_table};
    #[pymodule_export]
    use super::explainer::Explainer;
    #[pymodule_export]
    use super::model::{Model, import_network, network_of_steps};
    #[pymodule_export]
    use super::raw::{RawExplainer, RawModel};
    #[pymodule_export]
    use super::real_model::RealModel;
    #[pymodule_export]
    use super::{bin_names, centres, cuts, load, write_whole};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
