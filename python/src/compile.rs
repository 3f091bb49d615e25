//! From sources to circuits: the options of `boolshap.compile`, and what can be compiled.

use crate::circuit::Circuit;
use crate::errors::Failure;
use crate::explainer::{Players, players_of};
use crate::model::Model;
use crate::real_model::RealModel;
use crate::work::{work, work_reporting};
use boolshap::circuit::Rule;
use boolshap::model::{Forest, TreeNode};
use boolshap::workflow::{self, ClassChoice, FixedRow, FreeInputs, NumberForm, NumberSource, Source, compile_watched};
use boolshap::{CompileRequest, Error};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::path::PathBuf;
use std::sync::Arc;

/// The options besides the source, as the attributes of `_sources.Options`.
#[derive(FromPyObject)]
pub(crate) struct Options<'py> {
    features: Option<Features>,
    class_: Option<Bound<'py, PyAny>>,
    model_output: String,
    players: Option<Players>,
    via: String,
    max_nodes: Option<usize>,
    timeout: Option<f64>,
    verify: bool,
    in_passing: bool,
    free: Option<Vec<String>>,
    at: Option<Vec<u8>>,
    report: Option<Bound<'py, PyAny>>,
}

#[derive(FromPyObject)]
enum Features {
    Count(usize),
    Names(Vec<String>),
}

/// Feature, children where it is 0 and 1, and class weights, of each node.
type Tree<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f64>);

/// A source. Tables hold the class of every input; tables and trees come with the names of features and classes.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Model(Bound<'py, Model>),
    Real(Bound<'py, RealModel>),
    Table(PyReadonlyArray1<'py, u8>, Vec<String>, Vec<String>),
    Trees(Vec<Tree<'py>>, Vec<String>, Vec<String>),
    /// Numbers of all inputs; features, outputs and rule.
    Numbers(PyReadonlyArray2<'py, f64>, Vec<String>, Vec<String>, String),
    /// Weights and constants of a linear model; features, outputs and rule.
    Linear(PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, Vec<String>, Vec<String>, String),
    /// Trees, constants, factor and divisor; features, outputs and rule.
    Sum(Vec<Tree<'py>>, PyReadonlyArray1<'py, f64>, (f64, u32), Vec<String>, Vec<String>, String),
    File(PathBuf),
}

impl Options<'_> {
    fn free_inputs(&self) -> Option<FreeInputs> {
        let at = self.at.as_ref()?.iter().map(|&bit| bit == 1).collect();
        Some(FreeInputs { free: self.free.clone()?, at: FixedRow::Bits(at) })
    }

    fn compile(&self, py: Python<'_>, source: Source<'_>) -> PyResult<Circuit> {
        let mut request = CompileRequest {
            via: self.via.parse().map_err(Failure::from)?,
            model_output: self.model_output.parse().map_err(Failure::from)?,
            class: self.class_.as_ref().map(class_choice),
            // An array has room for all classes.
            each_of_several: true,
            in_passing: self.in_passing,
            // Without a circuit, an explainer can still answer against background rows.
            or_network: self.in_passing,
            free: self.free_inputs(),
            players: self.players.clone().map(players_of).transpose().map_err(Failure::from)?,
            max_nodes: self.max_nodes,
            verify: self.verify,
            ..CompileRequest::default()
        };
        match &self.features {
            None => {}
            Some(Features::Count(count)) => request.variables = Some(*count),
            Some(Features::Names(names)) => request.features = Some(names.clone()),
        }
        let report = self.report.as_ref();
        let compiled = work_reporting(py, self.timeout, report, |watch| compile_watched(source, &request, watch))?;
        Ok(Circuit(Arc::new(compiled.circuit)))
    }
}

/// A number, `each`, `predicted` or a name; anything else is passed on as its text, and the library refuses it.
pub(crate) fn class_choice(given: &Bound<'_, PyAny>) -> ClassChoice {
    match (given.is_instance_of::<PyBool>(), given.extract()) {
        (false, Ok(number)) => ClassChoice::Number(number),
        _ => match given.to_string().as_str() {
            "each" => ClassChoice::Each,
            "predicted" => ClassChoice::Predicted,
            name => ClassChoice::Name(name.into()),
        },
    }
}

#[pyfunction]
pub(crate) fn compile(py: Python<'_>, source: Given<'_>, options: Options<'_>) -> PyResult<Circuit> {
    match source {
        Given::Model(model) => options.compile(py, Source::Model(&model.get().0)),
        Given::Real(model) => options.compile(py, Source::Real(&model.get().0)),
        Given::File(path) => options.compile(py, Source::File(&path)),
        Given::Table(values, features, classes) => {
            let values = values.as_array().to_vec();
            options.compile(py, Source::Table { values: &values, features: &features, classes: &classes })
        }
        Given::Numbers(values, features, outputs, rule) => {
            let values: Vec<f64> = values.as_array().iter().copied().collect();
            let form = NumberForm::Table(&values);
            options.compile(py, numbers(&features, &outputs, form, &rule)?)
        }
        Given::Linear(weights, constants, features, outputs, rule) => {
            let weights: Vec<f64> = weights.as_array().iter().copied().collect();
            let constants = constants.as_array().to_vec();
            let form = NumberForm::Linear { weights: &weights, constants: &constants };
            options.compile(py, numbers(&features, &outputs, form, &rule)?)
        }
        Given::Sum(trees, constants, (factor, divisor), features, outputs, rule) => {
            let at = |number: usize| move |error: Error| error.at(format!("tree {}", number + 1));
            let nodes = trees.iter().enumerate().map(|(number, tree)| nodes_of(tree).map_err(at(number)));
            let trees = nodes.collect::<Result<Vec<_>, _>>().map_err(Failure::from)?;
            let constants = constants.as_array().to_vec();
            let form = NumberForm::Trees { trees: &trees, constants: &constants, factor, divisor };
            options.compile(py, numbers(&features, &outputs, form, &rule)?)
        }
        Given::Trees(trees, features, classes) => {
            let at = |number: usize| move |error: Error| error.at(format!("tree {}", number + 1));
            let nodes = trees.iter().enumerate().map(|(number, tree)| nodes_of(tree).map_err(at(number)));
            let nodes = nodes.collect::<Result<Vec<_>, _>>().map_err(Failure::from)?;
            let forest = Forest::new(features.len(), classes.len(), nodes).map_err(Failure::from)?;
            options.compile(py, Source::Forest { forest: &forest, features: &features, classes: &classes })
        }
    }
}

/// The circuit, if it equals its source, whose class on every input is given; the circuit then says that this was
/// proved.
#[pyfunction]
pub(crate) fn verify_table(py: Python<'_>, circuit: &Circuit, values: PyReadonlyArray1<'_, u8>) -> PyResult<Circuit> {
    let values = values.as_array().to_vec();
    let mut named = circuit.0.as_ref().clone();
    work(py, None, |_| workflow::verify_table(&mut named, &values))?;
    Ok(Circuit(Arc::new(named)))
}

/// Numbers as a source.
fn numbers<'a>(
    features: &'a [String],
    outputs: &'a [String],
    form: NumberForm<'a>,
    rule: &str,
) -> PyResult<Source<'a>> {
    let rule = match rule {
        "largest" => Rule::Largest,
        "sign" => Rule::Sign,
        _ => Rule::Number,
    };
    Ok(Source::Numbers(NumberSource { features, outputs, form, rule }))
}

fn nodes_of((feature, lo, hi, weights): &Tree<'_>) -> Result<Vec<TreeNode>, Error> {
    let (feature, lo, hi, weights) = (feature.as_array(), lo.as_array(), hi.as_array(), weights.as_array());
    let nodes = feature.len();
    if [lo.len(), hi.len(), weights.nrows()] != [nodes; 3] {
        return Err(Error::input("its arrays are not equally long"));
    }
    let wrong = |value: i64| Error::input(format!("there is no node or feature of the number {value}"));
    let index = |value: i64| usize::try_from(value).map_err(|_| wrong(value));
    let node = |at: usize| match feature[at] {
        -1 => Ok(TreeNode::Leaf(weights.row(at).to_vec())),
        feature => Ok(TreeNode::Split { feature: index(feature)?, children: [index(lo[at])?, index(hi[at])?] }),
    };
    (0..nodes).map(node).collect()
}
