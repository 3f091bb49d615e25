//! Questions: a circuit, or a network that is too large for one, and a request, prepared once for any number of rows.
//! Settings and answers are the library's JSON, which the Python facade converts to and from objects.

use crate::arrays::rows_of;
use crate::circuit::Circuit;
use crate::errors::Failure;
use crate::model::Model;
use crate::work::work;
use boolshap::workflow::{self, AskRequest, Certificates, NetworkAsker, RowsFrom};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct Asker {
    asked: Asked,
    features: Vec<String>,
    /// The model that certificates are about.
    model: Option<boolshap::Model>,
    /// The second model of the question `difference`.
    other: Option<boolshap::Model>,
}

enum Asked {
    Circuit(Box<workflow::Asker>),
    Network(Box<NetworkAsker>),
}

#[pymethods]
impl Asker {
    /// With `network`, rows are read with the names of the circuit, and the model is asked.
    #[new]
    #[pyo3(signature = (circuit, question, settings, against, other, model, other_model, network, timeout))]
    #[expect(clippy::too_many_arguments, reason = "the facade's settings, in one call")]
    fn new(
        py: Python<'_>,
        circuit: &Circuit,
        question: &str,
        settings: Vec<(String, String)>,
        against: Option<PyReadonlyArray2<'_, u8>>,
        other: Option<Bound<'_, Circuit>>,
        model: Option<&Model>,
        other_model: Option<&Model>,
        network: bool,
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
        let [model, second] = [model, other_model].map(|model| model.map(|model| model.0.clone()));
        let asked = match model.as_ref().filter(|_| network) {
            Some(model) => {
                Asked::Network(Box::new(NetworkAsker::prepare(model.clone(), &request).map_err(Failure::from)?))
            }
            None => {
                let other = other.map(|other| Arc::clone(&other.get().0));
                let prepare = |watch: &boolshap::lit::Watch<'_>| {
                    workflow::Asker::prepare(named.clone(), other.as_deref(), &request, watch)
                };
                Asked::Circuit(Box::new(work(py, timeout, prepare)?))
            }
        };
        Ok(Asker { asked, features: named.features.clone(), model, other: second })
    }

    /// All answers as one JSON object, in which rows are counted from 1; with certificates in a folder, if one is given.
    #[pyo3(signature = (bits, certificates, timeout))]
    fn ask(
        &self,
        py: Python<'_>,
        bits: Option<PyReadonlyArray2<'_, u8>>,
        certificates: Option<PathBuf>,
        timeout: Option<f64>,
    ) -> PyResult<String> {
        let rows = bits.map(|bits| rows_of(&bits, &self.features)).transpose()?;
        work(py, timeout, |watch| {
            let folder = certificates.map(Some);
            match &self.asked {
                Asked::Circuit(asker) => {
                    let made = folder.map(|folder| Certificates::new(folder, asker, self.model.clone())).transpose()?;
                    let mut made = made.map(|made| made.with_other(self.other.clone()));
                    asker.json_of_rows(rows.as_ref(), made.as_mut(), watch)
                }
                Asked::Network(asker) => {
                    let mut made = folder.map(|folder| asker.certificates(folder)).transpose()?;
                    Ok(asker.json_of_rows(rows.as_ref(), made.as_mut(), watch)?.to_string())
                }
            }
        })
    }
}

/// What the certificates in files and folders prove of a model: one JSON object.
#[pyfunction]
#[pyo3(signature = (paths, model, timeout))]
pub(crate) fn check(py: Python<'_>, paths: Vec<PathBuf>, model: &Model, timeout: Option<f64>) -> PyResult<String> {
    work(py, timeout, |watch| Ok(workflow::check(&paths, &model.0, watch)?.json().to_string()))
}

/// A placeholder circuit for reading the rows of a network that is too large to be compiled; nothing for others.
#[pyfunction]
pub(crate) fn names_of_network(model: &Model) -> Result<Option<Circuit>, Failure> {
    match NetworkAsker::is_for(&model.0) {
        true => Ok(Some(Circuit(Arc::new(NetworkAsker::names(&model.0)?)))),
        false => Ok(None),
    }
}
