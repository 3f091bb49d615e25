//! Networks: read, imported, folded from layers, trained, and compiled.

use crate::arrays::rows_of;
use crate::circuit::Circuit;
use crate::errors::{Failure, Kind};
use crate::work::work;
use boolshap::circuit::{Lowering, NamedCircuit, lower_obdd, lower_sdd};
use boolshap::data::Tally;
use boolshap::diagram::{CompileOptions, DirectOptions, Route, compile_clauses, compile_direct};
use boolshap::formula::encode_network;
use boolshap::lit::{Lit, Watch};
use boolshap::model::{
    self, BatchNorm, DenseLayer, Evaluator, ImportOptions, Kernels, Label, Marginals, TrainOptions, fold_network,
};
use boolshap::query::{VerifyOptions, verify};
use dashu::rational::RBig;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::path::Path;

/// Encoding ends here, as on the command line.
const MAX_CLAUSES: usize = 1_000_000;

#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct Model(pub(crate) model::Model);

/// gamma, beta, mean, variance, epsilon.
type Norm<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    f64,
);
/// Name, weights, bias, batch normalisation.
type Layer<'py> = (String, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, Option<Norm<'py>>);

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(path: &str) -> Result<Self, Failure> {
        Ok(Model(model::Model::load(Path::new(path))?))
    }

    #[staticmethod]
    fn from_json(text: &str) -> Result<Self, Failure> {
        model::Model::from_json(text).map(Model).map_err(Failure::input)
    }

    /// The model, and what the importer had to decide.
    #[staticmethod]
    #[pyo3(signature = (path, features, bn_epsilon, kernels, zero_weight))]
    fn import_file(
        py: Python<'_>,
        path: &str,
        features: Option<Vec<String>>,
        bn_epsilon: Option<f64>,
        kernels: &str,
        zero_weight: Option<i64>,
    ) -> PyResult<(Self, Vec<String>)> {
        let options = ImportOptions {
            bn_epsilon: bn_epsilon.map(|value| exact(value, || "bn_epsilon".into())).transpose()?,
            kernels: match kernels {
                "auto" => Kernels::Auto,
                "sign" => Kernels::Sign,
                "real" => Kernels::Real,
                other => return Err(Failure::input(format!("kernels is '{other}', not auto, sign or real")).into()),
            },
            zero_weight: match zero_weight {
                None => None,
                Some(1) => Some(true),
                Some(-1) => Some(false),
                Some(other) => return Err(Failure::input(format!("zero_weight is {other}, not -1 or 1")).into()),
            },
        };
        let imported = work(py, None, |_| Ok(model::import(Path::new(path), &options)?))?;
        let inputs = imported.network.inputs();
        let features = features.unwrap_or_else(|| model::Model::default_features(inputs));
        let model = model::Model::new(imported.network, features).map_err(Failure::from)?;
        Ok((Model(model), imported.notes))
    }

    #[staticmethod]
    #[pyo3(signature = (layers, inputs, features, classes))]
    fn of_layers(
        layers: Vec<Layer<'_>>,
        inputs: &str,
        features: Option<Vec<String>>,
        classes: Option<Vec<String>>,
    ) -> Result<Self, Failure> {
        let mut dense = layers.iter().map(dense_layer).collect::<Result<Vec<_>, _>>()?;
        match inputs {
            "signs" => {}
            // A bit b is (s + 1) / 2 of the sign s.
            "bits" => {
                let half = RBig::from_parts(1.into(), 2u8.into());
                if let Some(first) = dense.first_mut() {
                    for (weights, bias) in first.weights.iter_mut().zip(&mut first.bias) {
                        weights.iter_mut().for_each(|weight| *weight *= &half);
                        *bias = weights.iter().fold(bias.clone(), |sum, weight| sum + weight);
                    }
                }
            }
            other => return Err(Failure::input(format!("inputs is '{other}', not signs or bits"))),
        }
        let network = fold_network(&dense)?;
        let features = features.unwrap_or_else(|| model::Model::default_features(network.inputs()));
        let mut model = model::Model::new(network, features)?;
        if let Some(names) = &classes
            && names.len() != model.network.classes()
        {
            let (names, classes) = (names.len(), model.network.classes());
            return Err(Failure::input(format!("there are {names} names for {classes} classes")));
        }
        model.classes = classes;
        Ok(Model(model))
    }

    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the facade gives them their names")]
    fn train(
        py: Python<'_>,
        bits: PyReadonlyArray2<'_, u8>,
        labels: PyReadonlyArray1<'_, u32>,
        features: Vec<String>,
        classes: Vec<String>,
        hidden: Vec<usize>,
        seed: u64,
        epochs: usize,
        patience: usize,
        batch: usize,
        learning_rate: f64,
    ) -> PyResult<Self> {
        let rows = rows_of(&bits, &features)?;
        let labels: Vec<u32> = labels.as_array().iter().copied().collect();
        if labels.len() != rows.rows() {
            let (labels, rows) = (labels.len(), rows.rows());
            return Err(Failure::input(format!("there are {labels} labels for {rows} rows")).into());
        }
        if let Some(label) = labels.iter().find(|&&label| label as usize >= classes.len()) {
            return Err(Failure::input(format!("label {label} is none of the {} classes", classes.len())).into());
        }
        let options = TrainOptions { hidden, seed, epochs, patience, batch, learning_rate };
        let model = work(py, None, |watch| {
            let tally = Tally::new(&rows, &labels, classes.len(), |_| true);
            let network = model::train(&tally, &options, watch)?;
            let mut model = model::Model::new(network, features)?;
            model.marginals = Some(Marginals { rows: tally.total(), ones: tally.ones() });
            model.classes = Some(classes);
            Ok(model)
        })?;
        Ok(Model(model))
    }

    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.features.clone()
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        let number = |class: usize| class.to_string();
        self.0.classes.clone().unwrap_or_else(|| (0..self.0.network.classes()).map(number).collect())
    }

    #[getter]
    fn shape(&self) -> String {
        self.0.network.shape()
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    fn predict<'py>(&self, py: Python<'py>, bits: PyReadonlyArray2<'_, u8>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let rows = rows_of(&bits, &self.0.features)?;
        let classes = work(py, None, |watch| {
            let mut evaluator = Evaluator::new(&self.0.network);
            let mut classes = Vec::with_capacity(rows.rows());
            for block in 0..rows.blocks() {
                watch.check()?;
                let words = evaluator.classes(&rows.block(block));
                for lane in 0..(rows.rows() - block * 64).min(64) {
                    let class = words.iter().position(|word| word >> lane & 1 == 1);
                    classes.push(class.expect("every row has a class") as u32);
                }
            }
            Ok(classes)
        })?;
        Ok(PyArray1::from_vec(py, classes))
    }

    #[pyo3(signature = (via, class_, all_classes, max_nodes, timeout, verify))]
    #[expect(clippy::too_many_arguments, reason = "the facade gives them their names")]
    fn compile(
        &self,
        py: Python<'_>,
        via: &str,
        class_: Option<usize>,
        all_classes: bool,
        max_nodes: Option<usize>,
        timeout: Option<f64>,
        verify: bool,
    ) -> PyResult<Circuit> {
        let classes: Vec<usize> = match (all_classes, class_) {
            (true, _) => (0..self.0.network.classes()).collect(),
            (false, Some(class)) => vec![class],
            (false, None) => vec![1],
        };
        let mut named = work(py, timeout, |watch| {
            let compiled = classes.iter().map(|&class| {
                let circuit = compile_class(&self.0, class, via, max_nodes, watch)?;
                if verify {
                    check(&self.0, class, &circuit, watch)?;
                }
                Ok(circuit)
            });
            let circuits = compiled.collect::<Result<Vec<_>, Failure>>()?;
            Ok(match &circuits[..] {
                [circuit] if !all_classes => NamedCircuit::of_model(circuit.clone(), &self.0)?,
                circuits => NamedCircuit::of_classes(circuits, &self.0)?,
            })
        })?;
        if let (false, Some(class)) = (all_classes, class_) {
            named.provenance.insert("class".into(), class.into());
        }
        Ok(Circuit(named))
    }
}

/// One class by the route asked for.
fn compile_class(
    model: &model::Model,
    class: usize,
    via: &str,
    max_nodes: Option<usize>,
    watch: &Watch<'_>,
) -> Result<boolshap::circuit::Circuit, Failure> {
    let route = match via {
        "auto" => None,
        "truth-table" => Some(Route::TruthTable),
        "partial-sums" => Some(Route::PartialSums),
        "apply" => Some(Route::Apply),
        "cnf" => {
            let cnf = encode_network(&model.network, class, MAX_CLAUSES, watch)?;
            let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
            let mut options = CompileOptions::default();
            options.max_nodes = max_nodes.unwrap_or(options.max_nodes);
            let clauses = clauses.iter().map(Vec::as_slice);
            let compiled = compile_clauses(cnf.variables(), clauses, &options, watch)?;
            return Ok(lower_sdd(&compiled.manager, compiled.root, Lowering::Decisions)?);
        }
        other => {
            let known = "auto, cnf, truth-table, partial-sums or apply";
            return Err(Failure::input(format!("via is '{other}', not {known}")));
        }
    };
    let label = Label::of_class(&model.network, class)?;
    let mut options = DirectOptions { route, ..DirectOptions::default() };
    options.max_nodes = max_nodes.unwrap_or(options.max_nodes);
    Ok(lower_obdd(&compile_direct(&label, &options, watch)?.diagram)?.compacted()?)
}

/// A proof that the circuit is the network's.
fn check(
    model: &model::Model,
    class: usize,
    circuit: &boolshap::circuit::Circuit,
    watch: &Watch<'_>,
) -> Result<(), Failure> {
    let verdict = verify(&model.network, class, circuit, &VerifyOptions::default(), watch)?;
    match verdict.counterexample {
        None => Ok(()),
        Some(found) => {
            let entity: String = found.entity.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
            Err(Failure::input(format!("the circuit and the network part on the entity {entity}")))
        }
    }
}

fn exact(value: f64, what: impl Fn() -> String) -> Result<RBig, Failure> {
    RBig::try_from(value).map_err(|_| Failure::new(Kind::Input, format!("{}: {value} is no finite number", what())))
}

fn dense_layer((name, weights, bias, norm): &Layer<'_>) -> Result<DenseLayer, Failure> {
    let vector = |what: &str, values: &PyReadonlyArray1<'_, f64>| -> Result<Vec<RBig>, Failure> {
        let values = values.as_array();
        values.iter().enumerate().map(|(at, &value)| exact(value, || format!("{name}: {what}[{at}]"))).collect()
    };
    let rows = weights.as_array();
    let weights = rows.rows().into_iter().enumerate().map(|(row, values)| {
        let weight = |(column, &value): (usize, &f64)| exact(value, || format!("{name}: weights[{row}, {column}]"));
        values.iter().enumerate().map(weight).collect()
    });
    let norm = match norm {
        None => None,
        Some((gamma, beta, mean, variance, epsilon)) => Some(BatchNorm {
            name: name.clone(),
            gamma: vector("gamma", gamma)?,
            beta: vector("beta", beta)?,
            mean: vector("mean", mean)?,
            variance: vector("variance", variance)?,
            epsilon: exact(*epsilon, || format!("{name}: epsilon"))?,
        }),
    };
    let weights = weights.collect::<Result<Vec<_>, Failure>>()?;
    Ok(DenseLayer { name: name.clone(), weights, bias: vector("bias", bias)?, norm })
}
