//! Questions: a circuit and a request made ready once, for any number of rows. Settings come in the JSON that the library
//! reads, answers go in the JSON that it writes; the facade makes objects of them.

use crate::arrays::rows_of;
use crate::circuit::Circuit;
use crate::errors::Failure;
use crate::work::work;
use boolshap::workflow::{self, AskRequest, RowsFrom};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use std::sync::Arc;

#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct Asker(workflow::Asker);

#[pymethods]
impl Asker {
    #[new]
    #[pyo3(signature = (circuit, question, settings, against, other, timeout))]
    fn new(
        py: Python<'_>,
        circuit: &Circuit,
        question: &str,
        settings: Vec<(String, String)>,
        against: Option<PyReadonlyArray2<'_, u8>>,
        other: Option<Bound<'_, Circuit>>,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let named = &circuit.0;
        let mut request = AskRequest::new(question.parse().map_err(Failure::from)?);
        for (setting, text) in &settings {
            request.set_json(setting, text, named).map_err(Failure::from)?;
        }
        if let Some(rows) = against {
            request.against = Some(RowsFrom::Bits(rows_of(&rows, &named.features)?));
        }
        let other = other.map(|other| Arc::clone(&other.get().0));
        let asker =
            work(py, timeout, |watch| workflow::Asker::prepare(named.clone(), other.as_deref(), &request, watch))?;
        Ok(Asker(asker))
    }

    /// The names of the players.
    #[getter]
    fn players(&self) -> Vec<String> {
        self.0.space().players().names().to_vec()
    }

    /// All answers as one JSON object, in which rows are counted from 1.
    #[pyo3(signature = (bits, timeout))]
    fn ask(&self, py: Python<'_>, bits: Option<PyReadonlyArray2<'_, u8>>, timeout: Option<f64>) -> PyResult<String> {
        let rows = bits.map(|bits| rows_of(&bits, &self.0.circuit().features)).transpose()?;
        work(py, timeout, |watch| self.0.json_of_rows(rows.as_ref(), watch))
    }
}
