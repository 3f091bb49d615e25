//! Models of raw columns and their scores: trees, forests, boosting, linear models.

use crate::arrays::integer;
use crate::compile::class_choice;
use crate::errors::Failure;
use crate::explainer::index_of;
use crate::work::work;
use boolshap::Error;
use boolshap::data::RawRows;
use boolshap::model::{self, Decision, RawNode, RawTest, RawTree, import_lightgbm, import_xgboost};
use boolshap::workflow::{self, ModelOutput};
use dashu_ratio::RBig;
use numpy::ndarray::{Array2, Array3};
use numpy::{PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// The scores of rows, players and outputs, and the explained values of rows and outputs.
type ScoresAndValues<'py> = (Bound<'py, PyArray3<f64>>, Bound<'py, PyArray2<f64>>);

/// A model of raw columns.
#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct RawModel(Arc<model::RawModel>);

/// For each node: column (-1 at a leaf), threshold, children, whether missing values go to the first; numbers at leaves; output.
type Tree<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, bool>,
    PyReadonlyArray2<'py, f64>,
    Option<usize>,
);

#[pymethods]
impl RawModel {
    /// The names of columns and outputs, constants, slopes, trees, factor and divisor, whether it compares in single precision and
    /// takes missing values, and how it decides.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the facade gives them their names")]
    fn of_parts(
        columns: Vec<String>,
        outputs: Vec<String>,
        constants: Vec<f64>,
        slopes: Vec<Vec<f64>>,
        trees: Vec<Tree<'_>>,
        scale: (f64, u32),
        is_single: bool,
        takes_missing: bool,
        decision: &str,
    ) -> Result<Self, Failure> {
        let mut made = model::RawModel::new(columns, outputs);
        (made.constants, made.slopes, made.factor, made.divisor) = (constants, slopes, scale.0, scale.1);
        (made.is_single, made.takes_missing, made.decision) = (is_single, takes_missing, decision_of(decision)?);
        for (number, tree) in trees.iter().enumerate() {
            made.trees.push(tree_of(tree).map_err(|error| error.at(format!("tree {}", number + 1)))?);
        }
        Ok(RawModel(Arc::new(made.checked()?)))
    }

    /// A booster of XGBoost, from its JSON; with a limit, its first rounds only.
    #[staticmethod]
    fn of_xgboost(py: Python<'_>, text: &str, rounds: Option<usize>) -> PyResult<Self> {
        Ok(RawModel(Arc::new(work(py, None, |_| Ok(import_xgboost(text, rounds)?))?)))
    }

    /// A booster of LightGBM, from its text.
    #[staticmethod]
    fn of_lightgbm(py: Python<'_>, text: &str) -> PyResult<Self> {
        Ok(RawModel(Arc::new(work(py, None, |_| Ok(import_lightgbm(text)?))?)))
    }

    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Failure> {
        Ok(RawModel(Arc::new(model::RawModel::from_json(text)?)))
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The same with other names for columns and outputs.
    fn renamed(&self, columns: Vec<String>, outputs: Vec<String>) -> Result<Self, Failure> {
        let mut renamed = self.0.as_ref().clone();
        (renamed.columns, renamed.outputs) = (columns, outputs);
        Ok(RawModel(Arc::new(renamed.checked()?)))
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns.clone()
    }

    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.0.outputs.clone()
    }

    /// How many numbers a row has.
    #[getter]
    fn width(&self) -> usize {
        self.0.width()
    }

    #[getter]
    fn takes_missing(&self) -> bool {
        self.0.takes_missing
    }

    /// The numbers of rows, a column for each output.
    fn numbers<'py>(&self, py: Python<'py>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = raw_rows(&rows);
        let numbers = work(py, None, |_| Ok(self.0.numbers(&self.0.prepared("the rows", &rows)?)))?;
        let array = Array2::from_shape_vec((rows.len(), self.0.width()), numbers).expect("whole rows");
        Ok(PyArray2::from_owned_array(py, array))
    }
}

/// A model of raw columns against background rows.
#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct RawExplainer(workflow::RawExplainer);

/// A numerator and a denominator.
type Fraction<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl RawExplainer {
    #[new]
    #[pyo3(signature = (model, background, owners, model_output, class_, max_nodes, timeout))]
    #[expect(clippy::too_many_arguments, reason = "the facade gives them their names")]
    fn new(
        py: Python<'_>,
        model: &RawModel,
        background: PyReadonlyArray2<'_, f64>,
        owners: Option<Vec<String>>,
        model_output: &str,
        class_: Option<Bound<'_, PyAny>>,
        max_nodes: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let output: ModelOutput = model_output.parse().map_err(Failure::from)?;
        let class = class_.as_ref().map(class_choice);
        let (model, background) = (model.0.as_ref().clone(), raw_rows(&background));
        let made = work(py, timeout, |watch| {
            let owners = owners.as_deref();
            workflow::RawExplainer::prepare(model, &background, owners, output, class.as_ref(), max_nodes, watch)
        })?;
        Ok(RawExplainer(made))
    }

    #[getter]
    fn players(&self) -> Vec<String> {
        self.0.players().to_vec()
    }

    #[getter]
    fn outputs(&self) -> Vec<String> {
        if self.0.width() > 1 { self.0.outputs().to_vec() } else { Vec::new() }
    }

    #[getter]
    fn model_output(&self) -> &'static str {
        self.0.model_output().name()
    }

    fn base_values(&self) -> Vec<f64> {
        self.0.base_values()
    }

    fn error_bound(&self) -> f64 {
        self.0.error_bound()
    }

    /// Scores, (rows, sets of players, outputs), and what they add up to, (rows, outputs).
    #[pyo3(signature = (rows, index, threads))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'_, f64>,
        index: &str,
        threads: Option<usize>,
    ) -> PyResult<ScoresAndValues<'py>> {
        let (index, rows) = (index_of(index)?, raw_rows(&rows));
        let (scores, sums) = work(py, None, |watch| {
            let explain = || Ok::<_, Error>((self.0.explain(&rows, index, watch)?, self.0.predictions(&rows, watch)?));
            let Some(threads) = threads else { return explain() };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map_err(|e| Error::setting("threads", format!("is {threads}: {e}")))?.install(explain)
        })?;
        let (players, width) = (self.0.players().len(), self.0.width());
        let shape = (rows.len(), index.width(players), width);
        let scores = Array3::from_shape_vec(shape, scores).expect("whole rows");
        let sums = Array2::from_shape_vec((rows.len(), width), sums).expect("whole rows");
        Ok((PyArray3::from_owned_array(py, scores), PyArray2::from_owned_array(py, sums)))
    }

    /// Scores and base values in fractions: for each row, each set of players, and each output.
    fn explain_exact<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'_, f64>,
        index: &str,
    ) -> PyResult<(Vec<Fraction<'py>>, Vec<Fraction<'py>>)> {
        let (index, rows) = (index_of(index)?, raw_rows(&rows));
        let scores = work(py, None, |watch| self.0.explain_exact(&rows, index, watch))?;
        let fraction = |value: &RBig| -> PyResult<Fraction<'py>> {
            Ok((integer(py, value.numerator())?, integer(py, value.denominator())?))
        };
        let base = self.0.exact_base_values().iter().map(fraction).collect::<PyResult<_>>()?;
        Ok((scores.iter().map(fraction).collect::<PyResult<_>>()?, base))
    }

    /// The players of each number of an index, by their positions.
    fn sets(&self, index: &str) -> PyResult<Vec<Vec<usize>>> {
        Ok(index_of(index)?.sets(self.0.players().len()).collect())
    }
}

fn raw_rows(rows: &PyReadonlyArray2<'_, f64>) -> RawRows {
    let view = rows.as_array();
    let numbers: Vec<f64> = view.iter().copied().collect();
    RawRows::of_rows(view.ncols(), &numbers)
}

fn decision_of(name: &str) -> Result<Decision, Error> {
    Ok(match name {
        "number" => Decision::Number,
        "largest" => Decision::Largest,
        "at least 0" => Decision::AtLeastZero,
        "above 0" => Decision::AboveZero,
        other => return Err(Error::input(format!("'{other}' is no way to decide"))),
    })
}

fn tree_of((columns, thresholds, first, second, missing, numbers, output): &Tree<'_>) -> Result<RawTree, Error> {
    let (columns, thresholds) = (columns.as_array(), thresholds.as_array());
    let (first, second, missing, numbers) =
        (first.as_array(), second.as_array(), missing.as_array(), numbers.as_array());
    let count = columns.len();
    if [thresholds.len(), first.len(), second.len(), missing.len(), numbers.nrows()] != [count; 5] {
        return Err(Error::input("its arrays are not equally long"));
    }
    let wrong = |value: i64| Error::input(format!("there is no node or column of the number {value}"));
    let place = |value: i64| usize::try_from(value).map_err(|_| wrong(value));
    let node = |at: usize| -> Result<RawNode, Error> {
        if columns[at] < 0 {
            return Ok(RawNode::Leaf(numbers.row(at).to_vec()));
        }
        Ok(RawNode::Split {
            column: place(columns[at])?,
            // Every number is at most infinity, and at most the largest number: clamping does not change the test.
            test: RawTest::AtMost(thresholds[at].clamp(f64::MIN, f64::MAX)),
            missing_first: missing[at],
            zero_is_missing: false,
            children: [place(first[at])?, place(second[at])?],
        })
    };
    let nodes = (0..count).map(node).collect::<Result<Vec<_>, _>>()?;
    Ok(RawTree::new(0, &nodes, *output)?)
}
