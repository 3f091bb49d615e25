//! Circuits: read, stored and evaluated.

use crate::arrays::{integer, read, rows_of};
use crate::errors::Failure;
use crate::model::Model;
use crate::work::work;
use boolshap::data::{Cells, CodedColumn, LOOKED_AT, reads_raw};
use boolshap::workflow::{Predictor, VerifyRequest, load_circuit, read_circuit, verify_watched};
use boolshap::{Error, NamedCircuit};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyType};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A compiled model: a deterministic and decomposable circuit, with all that is needed to explain rows.
///
/// Circuits come from `boolshap.compile` and from files. They are equal when their files are.
///
/// >>> import boolshap
/// >>> circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
/// >>> circuit.features, circuit.models
/// (['rain', 'wind', 'roof'], 4)
/// >>> circuit.predict([[1, 1, 0], [0, 1, 1]]).tolist()
/// [1, 0]
/// >>> boolshap.Circuit.from_bytes(circuit.to_bytes()) == circuit
/// True
#[pyclass(frozen, module = "boolshap")]
pub(crate) struct Circuit(pub(crate) Arc<NamedCircuit>);

/// A raw column.
#[derive(FromPyObject)]
enum Column<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Texts(Vec<Option<String>>),
}

#[pymethods]
impl Circuit {
    #[new]
    fn new() -> PyResult<Self> {
        Err(PyTypeError::new_err("a Circuit comes from boolshap.compile, Circuit.load or Circuit.from_bytes"))
    }

    /// Reads a circuit file, as `boolshap compile` and `Circuit.save` write it.
    #[classmethod]
    fn load(cls: &Bound<'_, PyType>, path: PathBuf) -> PyResult<Self> {
        Ok(Circuit(Arc::new(work(cls.py(), None, |_| load_circuit(&path))?)))
    }

    /// The circuit in the content of a file.
    #[classmethod]
    fn from_bytes(_cls: &Bound<'_, PyType>, content: &[u8]) -> Result<Self, Failure> {
        Ok(Circuit(Arc::new(read_circuit(content)?)))
    }

    /// Writes a circuit file, completely or not at all.
    fn save(&self, path: PathBuf) -> Result<(), Failure> {
        Ok(self.0.save(&path).map_err(Error::file(&path))?)
    }

    /// The content of the circuit's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut content = Vec::new();
        self.0.write(&mut content)?;
        Ok(PyBytes::new(py, &content))
    }

    /// The names of the features, in order.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.features.clone()
    }

    /// The names of the classes, if there is a circuit for each; empty for one circuit that says 0 or 1.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes.iter().map(|(name, _)| name.clone()).collect()
    }

    /// How the features are laid out as an image, if that is known: height and width.
    #[getter]
    fn grid(&self) -> Result<Option<(usize, usize)>, Failure> {
        Ok(self.0.grid().map_err(Error::input)?.map(|grid| (grid.height, grid.width)))
    }

    /// The pixel of each feature, if they are laid out as an image.
    fn _pixels(&self) -> Result<Option<Vec<usize>>, Failure> {
        let Some(grid) = self.0.grid().map_err(Error::input)? else { return Ok(None) };
        let pixels = grid.pixels(self.0.features.len(), self.0.binariser.as_ref());
        Ok(Some(pixels.map_err(Error::input)?))
    }

    /// What it holds: `label`, circuits of decisions, or `score`, the numbers before them.
    #[getter]
    fn model_output(&self) -> &'static str {
        if self.0.is_of_scores() { "score" } else { "label" }
    }

    /// The number of nodes of all classes: each literal and constant once, a decision node as one.
    #[getter]
    fn nodes(&self) -> usize {
        self.0.graph_size().0
    }

    /// The number of edges of all classes.
    #[getter]
    fn edges(&self) -> usize {
        self.0.graph_size().1
    }

    /// The number of inputs to which it answers 1; for several classes a list of these numbers.
    #[getter]
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counts =
            work(py, None, |_| Ok(self.0.labels()?.iter().map(|label| label.model_count()).collect::<Vec<_>>()))?;
        let counts = counts.iter().map(|count| integer(py, count)).collect::<PyResult<Vec<_>>>()?;
        match (&counts[..], self.0.classes.is_empty()) {
            ([only], true) => Ok(only.clone()),
            _ => Ok(PyList::new(py, counts)?.into_any()),
        }
    }

    /// Whether it was proved equal to its model, and who claims that: `standing` is `no`, `proved` (in this process),
    /// `claimed` (by the file it was read from), `claimed without digest` or `refuted` (the file claims a proof of
    /// another content), `words` says it in a sentence; `method`, `of`, `digest` and `circuit` are what was proved, or
    /// None.
    #[getter]
    fn verified(&self) -> BTreeMap<String, Option<String>> {
        let said = self.0.facts.verified.json();
        let text = |value: &serde_json::Value| value.as_str().map(String::from);
        said.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
    }

    /// Why counts and scores may be wrong: what could not be decided about the circuit. Nearly always empty.
    #[getter]
    fn cautions(&self) -> Vec<String> {
        self.0.facts.cautions()
    }

    /// The same circuit, after a proof that it is sound and equal to the model, and that everything else that came from
    /// the model is unchanged; an error says what differs.
    ///
    /// >>> import boolshap
    /// >>> model = boolshap.Model.from_json(
    /// ...     '{"format": "boolshap model", "version": 1, "features": ["rain", "wind"], "hidden": [], '
    /// ...     '"output": {"step": {"weights": "++", "need": "2"}}, "provenance": {}}'
    /// ... )
    /// >>> boolshap.compile(model).verify(model).verified["standing"]
    /// 'proved'
    #[pyo3(signature = (model, *, timeout = None))]
    fn verify(&self, py: Python<'_>, model: &Model, timeout: Option<f64>) -> PyResult<Self> {
        let mut named = self.0.as_ref().clone();
        let found = work(py, timeout, |watch| verify_watched(&model.0, &named, &VerifyRequest::default(), watch))?;
        if let Some(difference) = &found.difference {
            return Err(Failure::from(Error::input(format!("it is not the network: {}", difference.words))).into());
        }
        found.record(&model.0, &mut named);
        Ok(Circuit(Arc::new(named)))
    }

    /// The columns of raw rows, if the circuit knows how they become bits.
    #[getter]
    fn raw_columns(&self) -> Option<Vec<String>> {
        Some(self.0.binariser.as_ref()?.raw_columns().into_iter().cloned().collect())
    }

    /// How often each feature was 1 in training, as a fraction of the rows, if that is known.
    #[getter]
    fn marginals(&self) -> Option<Vec<f64>> {
        let marginals = self.0.marginals.as_ref().filter(|marginals| marginals.rows > 0)?;
        Some(marginals.ones.iter().map(|&ones| ones as f64 / marginals.rows as f64).collect())
    }

    /// The model of a network that was not compiled, as JSON.
    #[getter]
    fn _network(&self) -> Option<String> {
        self.0.network.as_ref().map(|network| network.model.to_json())
    }

    /// Where the circuit comes from and what was proved of it, as JSON.
    #[getter]
    fn provenance(&self) -> String {
        serde_json::to_string(&self.0.all_facts()).expect("texts and numbers are always JSON")
    }

    /// The answer for every row: 0 or 1, or the index of the class; a number if the file holds one without a decision.
    /// Rows are what `Explainer` takes.
    #[pyo3(signature = (X, *, input = "auto"))]
    #[expect(non_snake_case, reason = "scikit-learn's name for rows")]
    fn predict<'py>(slf: &Bound<'py, Self>, X: Bound<'py, PyAny>, input: &str) -> PyResult<Bound<'py, PyAny>> {
        let bits = read(slf.py(), "read_rows", (X, slf, input))?.getattr("bits")?;
        let circuit = slf.get();
        let rows = rows_of(&bits.extract()?, &circuit.0.features)?;
        let predictor = Predictor::of_circuit(&circuit.0).map_err(Failure::from)?;
        if let Some(numbers) = work(slf.py(), None, |watch| predictor.numbers(&rows, watch))? {
            return Ok(PyArray1::from_vec(slf.py(), numbers).into_any());
        }
        let classes = work(slf.py(), None, |watch| predictor.classes(&rows, watch))?;
        Ok(PyArray1::from_vec(slf.py(), classes).into_any())
    }

    /// The rows as bits, a column for each feature.
    #[pyo3(signature = (X, *, input = "auto"))]
    #[expect(non_snake_case, reason = "scikit-learn's name for rows")]
    fn binarise<'py>(slf: &Bound<'py, Self>, X: Bound<'py, PyAny>, input: &str) -> PyResult<Bound<'py, PyAny>> {
        read(slf.py(), "read_rows", (X, slf, input))?.getattr("bits")
    }

    /// Whether a table with these columns is read as raw values; otherwise it holds bits. If the names fit both, `look`
    /// is called with a number of rows and returns whether one of the first holds another value than 0 and 1 where bits
    /// would be.
    fn _reads_raw(&self, columns: Vec<String>, input: &str, look: &Bound<'_, PyAny>) -> PyResult<bool> {
        let reading = input.parse().map_err(|message| Failure::from(Error::setting("input", message)))?;
        let (features, schema) = (&self.0.features, self.0.binariser.as_ref());
        let mut failed = None;
        let looked = || match look.call1((LOOKED_AT,)).and_then(|found| found.extract()) {
            Ok(found) => Ok(found),
            Err(error) => {
                failed = Some(error);
                Ok(true)
            }
        };
        let found = reads_raw("the rows", &columns, features, schema, reading, looked);
        match failed {
            Some(error) => Err(error),
            None => Ok(found.map_err(Failure::from)?),
        }
    }

    /// For each feature, the raw column of which it is the only bit, if there is one.
    fn _only_bits(&self) -> Vec<Option<String>> {
        let columns = self.0.binariser.iter().flat_map(|schema| schema.columns());
        let of_column = |column: &CodedColumn| {
            let only = (column.bits() == 1 && column.part.is_none()).then(|| column.column.clone());
            vec![only; column.bits()]
        };
        let found: Vec<_> = columns.flat_map(of_column).collect();
        if found.is_empty() { vec![None; self.0.features.len()] } else { found }
    }

    /// Raw columns as bits.
    fn _encode<'py>(&self, py: Python<'py>, columns: Vec<Column<'_>>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let wrong = |message: &str| Failure::from(Error::input(message));
        let binariser = self.0.binariser.as_ref().ok_or_else(|| wrong("there are no raw columns"))?;
        let length = |column: &Column<'_>| match column {
            Column::Numbers(numbers) => numbers.as_array().len(),
            Column::Texts(texts) => texts.len(),
        };
        let rows = columns.first().map_or(0, length);
        let names = binariser.raw_columns();
        if columns.len() != names.len() || columns.iter().any(|column| length(column) != rows) {
            return Err(wrong("the raw columns are not all there, or not equally long").into());
        }
        let cells = columns.into_iter().map(|column| match column {
            Column::Numbers(numbers) => Cells::of_numbers(numbers.as_array().to_vec()),
            Column::Texts(texts) => Cells::of_texts(&texts),
        });
        let cells: Vec<Cells> = cells.collect();
        // The parts of a date are read from one column.
        let place = |name: &String| names.iter().position(|known| *known == name).unwrap_or(0);
        let cells: Vec<&Cells> = binariser.columns().iter().map(|column| &cells[place(&column.column)]).collect();
        let bits = work(py, None, |_| Ok(binariser.encode_cells("the rows", rows, &cells)?))?;
        let array = Array2::from_shape_fn((rows, bits.features()), |(row, feature)| u8::from(bits.get(row, feature)));
        Ok(PyArray2::from_owned_array(py, array))
    }

    fn __repr__(&self) -> String {
        let count = |number: usize, one: &str, several: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {several}"),
        };
        let classes = match self.0.classes.len() {
            0 => String::new(),
            classes => format!(", {}", count(classes, "class", "classes")),
        };
        let features = count(self.0.features.len(), "feature", "features");
        format!("Circuit({features}{classes}, {})", count(self.nodes(), "node", "nodes"))
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(Arc::ptr_eq(&self.0, &other.0) || self.to_bytes(py)?.as_bytes() == other.to_bytes(py)?.as_bytes())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_bytes(py)?.hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}
