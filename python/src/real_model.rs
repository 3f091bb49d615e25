//! Networks of real weights: read, saved and evaluated.

use crate::arrays::{read, rows_of};
use crate::errors::Failure;
use crate::work::work;
use boolshap::Error;
use boolshap::model;
use boolshap::workflow::ModelOrCircuit;
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::path::PathBuf;

/// A network of real weights (ReLU, tanh, sigmoid between its layers) of up to 24 binary features.
///
/// It comes from `boolshap.load`, or from a PyTorch, Keras or scikit-learn network by way of `boolshap.compile`, which tries all
/// its inputs. Classes are decided in exact arithmetic where floats are too close to tell.
#[pyclass(frozen, module = "boolshap")]
pub(crate) struct RealModel(pub(crate) model::RealModel);

#[pymethods]
impl RealModel {
    #[new]
    fn new() -> PyResult<Self> {
        Err(PyTypeError::new_err("a RealModel comes from boolshap.load or RealModel.from_json"))
    }

    /// The model in the content of a file.
    #[classmethod]
    fn from_json(_cls: &Bound<'_, PyType>, text: &str) -> Result<Self, Failure> {
        Ok(RealModel(model::RealModel::from_json(text).map_err(Error::input)?))
    }

    fn _with_classes(&self, names: Vec<String>) -> Result<Self, Failure> {
        let model = self.0.clone();
        let mut named = model::RealModel::new(model.network, model.features, Some(names))?;
        named.provenance = model.provenance;
        Ok(RealModel(named))
    }

    /// Writes a model file, completely or not at all.
    fn save(&self, path: PathBuf) -> Result<(), Failure> {
        Ok(self.0.save(&path)?)
    }

    /// The content of the model's file.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The names of the inputs.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.features.clone()
    }

    /// The names of the classes; their numbers, if they have no names.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.class_names()
    }

    /// The widths of the layers from the inputs on, such as `13-13-1`.
    #[getter]
    fn shape(&self) -> String {
        self.0.network.shape()
    }

    /// The class of every row of bits: 0 or 1, or the index of the class.
    #[expect(non_snake_case, reason = "scikit-learn's name for rows")]
    fn predict<'py>(&self, py: Python<'py>, X: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let bits = read(py, "read_bits", (X, self.features()))?;
        let rows = rows_of(&bits.extract()?, &self.0.features)?;
        let model = ModelOrCircuit::Real(Box::new(self.0.clone()));
        let classes = work(py, None, |watch| model.predictor()?.classes(&rows, watch))?;
        Ok(PyArray1::from_vec(py, classes))
    }

    fn __repr__(&self) -> String {
        let features = self.0.features.len();
        format!("RealModel({features} feature{}, {})", if features == 1 { "" } else { "s" }, self.shape())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, &self.to_json()).hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json(),)))
    }
}
