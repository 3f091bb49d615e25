//! Scores: a circuit and a request, prepared once for any number of rows.

use crate::arrays::{integer, rows_of};
use crate::circuit::Circuit;
use crate::compile::class_choice;
use crate::errors::Failure;
use crate::work::work;
use boolshap::data::Bits;
use boolshap::explain::Index;
use boolshap::formula::read_dimacs;
use boolshap::workflow::{
    self, Ask, ClassChoice, ConstraintFrom, DistributionFrom, GroupsFrom, PlayersFrom, ReferenceFrom, RowsFrom, Scope,
};
use boolshap::{Error, Request, Scores};
use dashu_ratio::RBig;
use numpy::ndarray::{ArrayD, IxDyn};
use numpy::{PyArray1, PyArrayDyn, PyReadonlyArray2};
use pyo3::prelude::*;
use std::collections::HashMap;

#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct Explainer(workflow::Explainer);

/// The players: `features`, `columns`, or a player for each feature.
#[derive(Clone, FromPyObject)]
pub(crate) enum Players {
    Text(String),
    Each(HashMap<String, String>),
}

/// Scores, base values and predictions; of each class along a last axis.
type Arrays<'py> = (Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArray1<u32>>);
/// A numerator and a denominator.
type Fraction<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);
/// Scores, base values, and their sums: labels or classes as fractions too.
type Fractions<'py> = (Vec<Vec<Fraction<'py>>>, Vec<Fraction<'py>>, Vec<Fraction<'py>>);

#[pymethods]
impl Explainer {
    #[new]
    #[pyo3(signature = (circuit, distribution, probabilities, rows, constraint, players, groups, class_, model_output, engine))]
    #[expect(clippy::too_many_arguments, reason = "the facade gives them their names")]
    fn new(
        py: Python<'_>,
        circuit: &Circuit,
        distribution: Option<&str>,
        probabilities: Option<Vec<f64>>,
        rows: Option<PyReadonlyArray2<'_, u8>>,
        constraint: Option<&str>,
        players: Players,
        groups: Option<HashMap<String, String>>,
        class_: Option<Bound<'_, PyAny>>,
        model_output: Option<&str>,
        engine: Option<&str>,
    ) -> PyResult<Self> {
        let named = &circuit.0;
        let rows = rows.map(|rows| rows_of(&rows, &named.features)).transpose()?;
        let formula = |text: &str| read_dimacs(text.as_bytes(), "the constraint").map(ConstraintFrom::Formula);
        let several = (!named.classes.is_empty()).then_some(ClassChoice::Each);
        let class = class_.as_ref().map(class_choice).or(several);
        work(py, None, |watch| {
            let request = Request {
                distribution: distribution_of(distribution, probabilities, rows)?,
                constraint: constraint.map(formula).transpose()?,
                players: players_of(players)?,
                groups: groups.map(GroupsFrom::Named),
                class,
                model_output: model_output.map(str::parse).transpose()?,
                engine: engine.map(str::parse).transpose()?,
                ..Request::default()
            };
            Ok(Explainer(workflow::Explainer::prepare(named.clone(), &request, watch)?))
        })
    }

    #[getter]
    fn distribution(&self) -> String {
        self.0.request().distribution.name()
    }

    #[getter]
    fn players(&self) -> Vec<String> {
        self.0.players().names().to_vec()
    }

    /// The features of each player, by their positions.
    #[getter]
    fn members(&self) -> Vec<Vec<usize>> {
        let players = self.0.players();
        (0..players.len()).map(|player| players.members(player).collect()).collect()
    }

    /// Whether the features of each player are the values of one column.
    #[getter]
    fn one_hot(&self) -> Vec<bool> {
        let players = self.0.players();
        (0..players.len()).map(|player| players.is_one_hot(player)).collect()
    }

    /// The number of the class that is explained, `each` or `predicted`; nothing for a single label.
    #[getter]
    fn scope(&self) -> Option<String> {
        self.0.ask().scope.name()
    }

    /// Notes on how the circuit changed for its players, and on what is unknown about it.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    /// The players of each number of an index, by their positions.
    fn sets(&self, index: &str) -> PyResult<Vec<Vec<usize>>> {
        Ok(index_of(index)?.sets(self.0.players().len()).collect())
    }

    /// What is explained: `label` or `score`.
    #[getter]
    fn model_output(&self) -> &'static str {
        if self.0.is_of_scores() { "score" } else { "label" }
    }

    /// The expected label when nothing is known of a row: one for each class that is explained.
    fn base_values(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        work(py, None, |watch| self.0.base_values(self.0.ask().scope, watch))
    }

    /// A bound on the error of base values and scores.
    fn error_bound(&self, index: &str) -> PyResult<f64> {
        let ask = Ask { index: index_of(index)?, ..self.0.ask() };
        Ok(self.0.error_bound(ask).map_err(Failure::from)?)
    }

    #[pyo3(signature = (bits, index, threads))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        bits: PyReadonlyArray2<'_, u8>,
        index: &str,
        threads: Option<usize>,
    ) -> PyResult<Arrays<'py>> {
        let ask = Ask { index: index_of(index)?, ..self.0.ask() };
        let rows = rows_of(&bits, &self.0.circuit().features)?;
        let scores = work(py, None, |watch| {
            let explain = || self.0.explain_as(&rows, ask, watch);
            let Some(threads) = threads else { return explain() };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.map_err(|e| Error::setting("threads", format!("is {threads}: {e}")))?.install(explain)
        })?;
        Ok(self.arrays(py, &scores))
    }

    #[pyo3(signature = (bits, index, class_))]
    fn explain_exact<'py>(
        &self,
        py: Python<'py>,
        bits: PyReadonlyArray2<'_, u8>,
        index: &str,
        class_: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Fractions<'py>> {
        let scope = match class_.as_ref().map(class_choice) {
            None => self.0.ask().scope,
            chosen => self.0.scope(chosen.as_ref()).map_err(Failure::from)?,
        };
        if scope == Scope::Each {
            let why = "must name one class, or be \"predicted\": exact scores are those of one";
            return Err(Failure::from(Error::setting("class", why)).into());
        }
        let ask = Ask { scope, index: index_of(index)?, exact: true };
        let rows = rows_of(&bits, &self.0.circuit().features)?;
        let scores = work(py, None, |watch| self.0.explain_as(&rows, ask, watch))?;
        let fraction = |value: &RBig| -> PyResult<Fraction<'py>> {
            Ok((integer(py, value.numerator())?, integer(py, value.denominator())?))
        };
        let (mut values, mut base_values, mut predictions) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..scores.len() {
            let numbers = scores.fractions(row).expect("fractions were asked for");
            base_values.push(fraction(&numbers[0])?);
            values.push(numbers[1..].iter().map(fraction).collect::<PyResult<_>>()?);
            let label = RBig::from(scores.prediction(row));
            predictions.push(fraction(scores.value_fractions(row).map_or(&label, |values| &values[0]))?);
        }
        Ok((values, base_values, predictions))
    }
}

impl Explainer {
    fn arrays<'py>(&self, py: Python<'py>, scores: &Scores) -> Arrays<'py> {
        let each = self.0.ask().scope == Scope::Each;
        let classes = if each { self.0.circuit().classes.len() } else { 1 };
        // Base value and scores of a class.
        let width = scores.width() / classes;
        let (mut values, mut base_values) = (Vec::with_capacity(scores.len() * scores.width()), Vec::new());
        for row in 0..scores.len() {
            let numbers = scores.floats(row).expect("floats were asked for");
            base_values.extend(numbers.iter().step_by(width));
            match classes {
                1 => values.extend_from_slice(&numbers[1..]),
                _ => (1..width).for_each(|score| values.extend(numbers[score..].iter().step_by(width))),
            }
        }
        let array = |values: Vec<f64>, shape: &[usize]| {
            let shape = &shape[..shape.len() - usize::from(!each)];
            PyArrayDyn::from_owned_array(py, ArrayD::from_shape_vec(IxDyn(shape), values).expect("whole rows"))
        };
        let predictions = (0..scores.len()).map(|row| scores.prediction(row)).collect();
        (
            array(values, &[scores.len(), width - 1, classes]),
            array(base_values, &[scores.len(), classes]),
            PyArray1::from_vec(py, predictions),
        )
    }
}

pub(crate) fn index_of(name: &str) -> Result<Index, Failure> {
    Ok(name.parse().map_err(|message| Error::setting("index", message))?)
}

pub(crate) fn players_of(players: Players) -> Result<PlayersFrom, Error> {
    match players {
        Players::Each(player_of) => Ok(PlayersFrom::Named(player_of)),
        // A text that the library would take for a file name.
        Players::Text(name) if !is_players_text(&name) => {
            Err(Error::setting("players", format!("'{name}' is not one of features, columns, a PNG file, or a dict")))
        }
        Players::Text(name) => name.parse(),
    }
}

/// Whether a text names players, rather than something else by mistake.
fn is_players_text(name: &str) -> bool {
    ["features", "columns"].contains(&name) || name.starts_with("regions:") || name.ends_with(".png")
}

/// The distribution of this name, or the one that fits what is given.
fn distribution_of(
    name: Option<&str>,
    probabilities: Option<Vec<f64>>,
    rows: Option<Bits>,
) -> Result<DistributionFrom, Error> {
    let fitting = match (&probabilities, &rows) {
        (_, Some(_)) => "background",
        (Some(_), None) => "product",
        (None, None) => "uniform",
    };
    let name = name.unwrap_or(fitting);
    let wrong = |message: &str| Err(Error::setting("distribution", format!("'{name}' {message}")));
    match (name, probabilities, rows) {
        ("product", Some(given), None) => {
            let exact = |value: f64| RBig::try_from(value).map_err(|_| Error::input(format!("{value} is not finite")));
            Ok(DistributionFrom::Probabilities(given.into_iter().map(exact).collect::<Result<_, _>>()?))
        }
        ("background", None, Some(rows)) => Ok(DistributionFrom::Background(RowsFrom::Bits(rows))),
        ("empirical", None, Some(rows)) => Ok(DistributionFrom::Empirical(RowsFrom::Bits(rows))),
        ("reference", None, Some(rows)) => Ok(DistributionFrom::Reference(ReferenceFrom::Bits(rows))),
        (name, None, None) if name.starts_with("reference:blur") => name.parse(),
        ("reference", None, None) => wrong("needs a row: give it as reference"),
        ("background" | "empirical", None, None) => wrong("needs rows: give them as background"),
        ("uniform" | "product", None, None) => name.parse(),
        ("uniform" | "background" | "empirical" | "reference", Some(_), _) => wrong("takes no probabilities"),
        ("uniform" | "product", _, Some(_)) => wrong("takes no background"),
        _ => wrong("is not one of uniform, product, background, empirical, reference"),
    }
}
