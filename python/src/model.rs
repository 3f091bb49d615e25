//! Networks: read, imported, folded from layers, and trained.

use crate::arrays::{read, rows_of};
use crate::errors::Failure;
use crate::real_model::RealModel;
use crate::work::{on_threads, work, work_reporting};
use boolshap::Error;
use boolshap::data::{Binariser, Code, CodedColumn, Tally};
use boolshap::model::{
    self, AnyNetwork, BatchNorm, ClassWeights, DenseLayer, ImportOptions, Marginals, Network, TrainOptions, fold_steps,
    take_steps,
};
use boolshap::workflow::{self, Predictor, learn};
use dashu_ratio::RBig;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::ffi::CString;
use std::path::PathBuf;

/// The hidden layers, the weights, the weights of rows, the seed, passes, patience, rows in a batch, and the step size.
type TrainSettings = (String, Option<String>, RowWeights, u64, usize, usize, usize, f64);

/// The weight of a row: by a rule, or by its class.
#[derive(FromPyObject)]
enum RowWeights {
    Rule(String),
    Classes(Vec<f64>),
}

/// A binary network, its feature names, and its origin.
///
/// Models come from files, from `BnnClassifier`, and from other tools by way of `boolshap.compile`. They are equal when
/// their files are.
///
/// >>> import boolshap
/// >>> model = boolshap.Model.from_json('''{"format": "boolshap model", "version": 1, "features": ["rain", "wind"],
/// ...     "classes": null, "schema": null, "marginals": null, "hidden": [],
/// ...     "output": {"step": {"weights": "++", "need": "1"}}, "provenance": {}}''')
/// >>> model
/// Model(2 features, 2-1)
/// >>> model.predict([[0, 0], [0, 1], [1, 1]]).tolist()
/// [0, 1, 1]
#[pyclass(frozen, module = "boolshap")]
pub(crate) struct Model(pub(crate) model::Model);

type Vector<'py> = PyReadonlyArray1<'py, f64>;
/// A step of a network, as the dataclasses of `_layers` hold it.
#[derive(FromPyObject)]
pub(crate) enum Step<'py> {
    Dense { name: String, weights: PyReadonlyArray2<'py, f64>, bias: Vector<'py> },
    Norm { name: String, gamma: Vector<'py>, beta: Vector<'py>, mean: Vector<'py>, variance: Vector<'py>, epsilon: f64 },
    Sign { name: String, at_zero: Option<i8> },
    Function { name: String, keeps_signs: bool, keeps_order: bool, real: Option<String> },
}

#[pymethods]
impl Model {
    #[new]
    fn new() -> PyResult<Self> {
        Err(PyTypeError::new_err("a Model comes from Model.load, Model.from_json or BnnClassifier.model_"))
    }

    /// Reads a model file, as `boolshap train` and `Model.save` write it.
    #[classmethod]
    fn load(_cls: &Bound<'_, PyType>, path: PathBuf) -> Result<Self, Failure> {
        Ok(Model(model::Model::load(&path)?))
    }

    /// The model in the content of a file.
    #[classmethod]
    fn from_json(_cls: &Bound<'_, PyType>, text: &str) -> Result<Self, Failure> {
        Ok(Model(model::Model::from_json(text).map_err(Error::input)?))
    }

    /// Reads a network from another tool's file: HDF5 weights, safetensors, ONNX, QONNX, .neuron or a folder of layers in CSV.
    ///
    /// `bn_epsilon` is the epsilon of batch normalisation, if the file does not hold it. `kernels` says whether kernels
    /// hold the weights (`"real"`) or numbers of which only the sign counts (`"sign"`); `"auto"` takes what is usual
    /// for the kind of file. `zero_weight` is the sign of a latent weight of exactly 0, which is refused otherwise.
    /// `inputs` says which values the inputs can have, if the file does not: `"bits"`, `"signs"`, `"UINT2"`, `"INT4"`,
    /// `"FIXED<6,2>"` and the like. The importer's own decisions are issued as a warning.
    #[classmethod]
    #[pyo3(signature = (path, *, features = None, bn_epsilon = None, kernels = "auto", zero_weight = None, inputs = None))]
    #[allow(clippy::too_many_arguments)]
    fn import_file(
        cls: &Bound<'_, PyType>,
        path: PathBuf,
        features: Option<Vec<String>>,
        bn_epsilon: Option<f64>,
        kernels: &str,
        zero_weight: Option<i64>,
        inputs: Option<&str>,
    ) -> PyResult<Self> {
        let options = import_options(bn_epsilon, kernels, zero_weight, inputs).map_err(Failure::from)?;
        let model = imported(cls.py(), path, &options, features)?;
        Ok(Model(model.gates().map_err(Failure::from)?))
    }

    #[staticmethod]
    #[pyo3(signature = (steps, inputs, features, classes))]
    fn _of_steps(
        steps: Vec<Step<'_>>,
        inputs: &str,
        features: Option<Vec<String>>,
        classes: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        let steps = steps.into_iter().map(Step::exact).collect::<Result<_, _>>()?;
        Model::of_network(fold_steps(steps, inputs == "bits")?, features, classes)
    }

    /// The network of one seed for rows of bits, each with its count; with thresholds, it knows where raw columns are
    /// cut.
    #[staticmethod]
    #[pyo3(signature = (bits, labels, counts, features, classes, thresholds, options, threads, report))]
    #[expect(clippy::too_many_arguments, reason = "called by the estimator alone")]
    fn _train(
        py: Python<'_>,
        bits: PyReadonlyArray2<'_, u8>,
        labels: PyReadonlyArray1<'_, u32>,
        counts: PyReadonlyArray1<'_, u64>,
        features: Vec<String>,
        classes: Vec<String>,
        thresholds: Option<Vec<f64>>,
        options: TrainSettings,
        threads: Option<usize>,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let rows = rows_of(&bits, &features)?;
        let (labels, counts) = (labels.as_array().to_vec(), counts.as_array().to_vec());
        let fits = labels.len() == rows.rows() && counts.len() == rows.rows();
        if !fits || labels.iter().any(|&label| label as usize >= classes.len()) {
            return Err(Failure::from(Error::input("not every row has a label that is one of the classes")).into());
        }
        let (hidden, weights, class_weights, seed, epochs, patience, batch, learning_rate) = options;
        let wrong = |setting| move |problem: String| Failure::from(Error::setting(setting, problem));
        let options = TrainOptions {
            hidden: hidden.parse().map_err(wrong("hidden"))?,
            weights: weights.map(|text| text.parse()).transpose().map_err(wrong("weights"))?,
            class_weights: match class_weights {
                RowWeights::Rule(name) => name.parse().map_err(wrong("class_weight"))?,
                RowWeights::Classes(weights) => ClassWeights::Given(weights),
            },
            seed,
            epochs,
            patience,
            batch,
            learning_rate,
        };
        let column = |(name, threshold): (&String, f64)| CodedColumn::new(name.clone(), Code::Above(threshold));
        let columns = thresholds.map(|thresholds| features.iter().zip(thresholds).map(column).collect());
        let schema = columns.map(Binariser::new).transpose().map_err(|error| Failure::from(Error::input(error)))?;
        // A feature that is a cut column has the test in its name.
        let features = schema.as_ref().map_or(features, Binariser::features);
        work_reporting(py, None, report, |watch| {
            let counted = |row: usize| {
                let mut of_classes = vec![0; classes.len()];
                of_classes[labels[row] as usize] = counts[row];
                (rows.row(row), of_classes)
            };
            let tally = Tally::from_counts(rows.features(), (0..rows.rows()).map(counted));
            let learned = on_threads(threads, || learn(&tally, tally.rows().rows(), &options, watch))??;
            let mut model = model::Model::new(learned.network, features)?;
            model.provenance.insert("weights".into(), learned.weights.to_string().into());
            model.provenance.extend(learned.choice.map(|choice| ("choice".into(), choice.words.into())));
            model.marginals = Some(Marginals { rows: tally.total(), ones: tally.ones() });
            model.classes = Some(classes);
            model.binariser = schema;
            Ok(Model(model))
        })
    }

    /// The same with other names for the classes.
    fn _with_classes(&self, names: Vec<String>) -> Result<Self, Failure> {
        let (found, classes) = (names.len(), self.0.network.classes());
        if found != classes {
            return Err(Error::setting("classes", format!("gives {found} names for {classes} classes")).into());
        }
        Ok(Model(model::Model { classes: Some(names), ..self.0.clone() }))
    }

    /// The same model with its features laid out as the pixels of an image, row by row; kept in its file and its circuits.
    ///
    /// >>> import boolshap
    /// >>> model = boolshap.Model.from_json('''{"format": "boolshap model", "version": 1, "features": ["a", "b"],
    /// ...     "classes": null, "schema": null, "marginals": null, "hidden": [],
    /// ...     "output": {"step": {"weights": "++", "need": "1"}}, "provenance": {}}''')
    /// >>> model.with_grid(1, 2).grid
    /// (1, 2)
    fn with_grid(&self, height: usize, width: usize) -> Result<Self, Failure> {
        let wrong = |why: String| Error::setting("grid", format!("does not fit: {why}"));
        let grid = format!("{height}x{width}").parse().map_err(wrong)?;
        Ok(Model(self.0.clone().with_grid(grid).map_err(wrong)?))
    }

    /// How the features are laid out as an image, if that is known: height and width.
    #[getter]
    fn grid(&self) -> Result<Option<(usize, usize)>, Failure> {
        Ok(self.0.grid().map_err(Error::input)?.map(|grid| (grid.height, grid.width)))
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
        let classes = work(py, None, |watch| Predictor::of_model(&self.0).classes(&rows, watch))?;
        Ok(PyArray1::from_vec(py, classes))
    }

    fn __repr__(&self) -> String {
        let features = self.0.features.len();
        format!("Model({features} feature{}, {})", if features == 1 { "" } else { "s" }, self.shape())
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

impl Model {
    fn of_network(
        network: Network,
        features: Option<Vec<String>>,
        classes: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        let features = features.unwrap_or_else(|| model::Model::default_features(network.inputs()));
        let model = Model(model::Model::new(network, features)?);
        match classes {
            None => Ok(model),
            Some(names) => model._with_classes(names),
        }
    }
}

/// Another tool's network; the importer's own decisions are issued as a warning.
fn imported(
    py: Python<'_>,
    path: PathBuf,
    options: &ImportOptions,
    features: Option<Vec<String>>,
) -> PyResult<model::AnyModel> {
    let imported = work(py, None, |_| workflow::import(&path, options, features))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    for note in imported.notes {
        let note = CString::new(format!("{file}: {note}")).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 1)?;
    }
    Ok(imported.model)
}

fn any_model(py: Python<'_>, model: model::AnyModel) -> PyResult<Bound<'_, PyAny>> {
    Ok(match model {
        model::AnyModel::Gates(model) => Bound::new(py, Model(*model))?.into_any(),
        model::AnyModel::Real(model) => Bound::new(py, RealModel(*model))?.into_any(),
    })
}

/// A network from another tool's file, of gates or of real weights.
#[pyfunction]
pub(crate) fn import_network<'py>(py: Python<'py>, path: PathBuf, inputs: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let options = import_options(None, "auto", None, inputs).map_err(Failure::from)?;
    any_model(py, imported(py, path, &options, None)?)
}

/// A network of steps: of gates if signs are between its layers, else of real weights.
#[pyfunction]
pub(crate) fn network_of_steps<'py>(
    py: Python<'py>,
    steps: Vec<Step<'py>>,
    inputs: &str,
    is_number: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let steps = steps.into_iter().map(Step::exact).collect::<Result<_, _>>().map_err(Failure::from)?;
    any_model(
        py,
        match take_steps(steps, inputs == "bits").map_err(Failure::from)? {
            AnyNetwork::Gates(network) => model::AnyModel::Gates(Box::new(Model::of_network(network, None, None)?.0)),
            AnyNetwork::Real(network) => {
                let network = if is_number { network.as_number() } else { network };
                let features = model::Model::default_features(network.inputs());
                model::AnyModel::Real(Box::new(model::RealModel::new(network, features, None).map_err(Failure::from)?))
            }
        },
    )
}

fn import_options(
    bn_epsilon: Option<f64>,
    kernels: &str,
    zero_weight: Option<i64>,
    inputs: Option<&str>,
) -> Result<ImportOptions, Error> {
    Ok(ImportOptions {
        bn_epsilon: bn_epsilon.map(|value| exact(value, || "bn_epsilon".into())).transpose()?,
        kernels: kernels.parse().map_err(|problem| Error::setting("kernels", problem))?,
        zero_weight: match zero_weight {
            None => None,
            Some(1) => Some(true),
            Some(-1) => Some(false),
            Some(other) => return Err(Error::setting("zero_weight", format!("is {other}, not -1 or 1"))),
        },
        inputs: inputs.map(str::parse).transpose().map_err(|problem| Error::setting("inputs", problem))?,
        activation: None,
    })
}

fn exact(value: f64, what: impl Fn() -> String) -> Result<RBig, Error> {
    RBig::try_from(value).map_err(|_| Error::input(format!("{}: {value} is not a finite number", what())))
}

fn exact_vector(name: &str, what: &str, values: &Vector<'_>) -> Result<Vec<RBig>, Error> {
    let values = values.as_array();
    values.iter().enumerate().map(|(at, &value)| exact(value, || format!("{name}: {what}[{at}]"))).collect()
}

impl Step<'_> {
    /// The step in exact numbers.
    fn exact(self) -> Result<model::Step, Error> {
        Ok(match self {
            Step::Sign { name, at_zero } => model::Step::Sign { name, at_zero },
            Step::Function { name, keeps_signs, keeps_order, real } => {
                let real = real.map(|text| text.parse()).transpose().map_err(Error::input)?;
                model::Step::Function { name, keeps_signs, keeps_order, real }
            }
            Step::Dense { name, weights, bias } => {
                let bias = exact_vector(&name, "bias", &bias)?;
                let row = |(row, values): (usize, ArrayView1<'_, f64>)| {
                    let at = |column: usize| format!("{name}: weights[{row}, {column}]");
                    values.iter().enumerate().map(|(column, &value)| exact(value, || at(column))).collect()
                };
                let weights = weights.as_array().rows().into_iter().enumerate().map(row).collect::<Result<_, _>>()?;
                model::Step::Dense(DenseLayer { name, weights, bias, norm: None })
            }
            Step::Norm { name, gamma, beta, mean, variance, epsilon } => model::Step::Norm(BatchNorm {
                gamma: exact_vector(&name, "gamma", &gamma)?,
                beta: exact_vector(&name, "beta", &beta)?,
                mean: exact_vector(&name, "mean", &mean)?,
                variance: exact_vector(&name, "variance", &variance)?,
                epsilon: exact(epsilon, || format!("{name}: epsilon"))?,
                name,
            }),
        })
    }
}
