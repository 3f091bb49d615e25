//! Scores: a circuit, who plays, and what absent players are, made ready once for any number of rows.

use crate::arrays::rows_of;
use crate::circuit::{Circuit, integer};
use crate::errors::Failure;
use crate::work::work;
use boolshap::explain::{Distribution, ExactGame, FloatGame, Game, Index, Players, Probabilities};
use boolshap::formula::read_dimacs;
use dashu::rational::RBig;
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::OnceLock;

#[pyclass(frozen, module = "boolshap._native")]
pub(crate) struct Engine {
    features: Vec<String>,
    game: Game,
    floats: FloatGame,
    /// Made when fractions are first asked for.
    fractions: OnceLock<ExactGame>,
}

/// Who plays: `features`, `columns`, or a player for each feature.
#[derive(FromPyObject)]
enum PlayersOf {
    Named(String),
    Each(HashMap<String, String>),
}

/// Scores, base values and predictions.
type Arrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u8>>);
/// A numerator and a denominator.
type Fraction<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);
type Fractions<'py> = (Vec<Vec<Fraction<'py>>>, Vec<Fraction<'py>>, Vec<u32>);

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (circuit, class_, kind, probabilities, rows, constraint, players))]
    #[expect(clippy::too_many_arguments, reason = "the facade gives them their names")]
    fn new(
        py: Python<'_>,
        circuit: &Circuit,
        class_: Option<usize>,
        kind: &str,
        probabilities: Option<PyReadonlyArray1<'_, f64>>,
        rows: Option<PyReadonlyArray2<'_, u8>>,
        constraint: Option<&str>,
        players: PlayersOf,
    ) -> PyResult<Self> {
        let named = &circuit.0;
        let players = match players {
            PlayersOf::Named(name) if name == "features" => Players::features(&named.features),
            PlayersOf::Named(name) if name == "columns" => Players::columns(&named.features, named.binariser.as_ref()),
            PlayersOf::Named(name) => {
                let message = format!("players is '{name}': it is 'features', 'columns' or a dict");
                return Err(Failure::input(message).into());
            }
            PlayersOf::Each(player_of) => {
                if let Some(unknown) = player_of.keys().find(|name| !named.features.contains(name)) {
                    return Err(Failure::input(format!("players: the circuit has no feature '{unknown}'")).into());
                }
                Players::named(&named.features, &player_of).map_err(Failure::from)?
            }
        };
        let given_rows = |rows: Option<PyReadonlyArray2<'_, u8>>| match rows {
            Some(rows) => rows_of(&rows, &named.features).map_err(|failure| failure.at("background")),
            None => Err(Failure::input(format!("the distribution '{kind}' needs rows"))),
        };
        let population = match kind {
            "uniform" => Distribution::Product(Probabilities::uniform(named.features.len())),
            "product" => Distribution::Product(match probabilities {
                Some(given) => {
                    let given: Vec<f64> = given.as_array().iter().copied().collect();
                    Probabilities::from_floats(&given).map_err(Failure::from)?
                }
                None => marginals(named)?,
            }),
            "background" => Distribution::Background(given_rows(rows)?),
            "empirical" => Distribution::Empirical(given_rows(rows)?),
            other => {
                let known = "uniform, product, background or empirical";
                return Err(Failure::input(format!("the distribution is '{other}', not {known}")).into());
            }
        };
        let population = match (constraint, population) {
            (None, population) => population,
            (Some(text), Distribution::Product(distribution)) => {
                let formula = read_dimacs(text.as_bytes(), "the constraint").map_err(Failure::from)?;
                Distribution::Constrained(distribution, formula)
            }
            _ => {
                let message = "a constraint goes with the distributions uniform and product, not with rows";
                return Err(Failure::input(message).into());
            }
        };
        work(py, None, |watch| {
            let circuit = match (class_, named.classes.is_empty()) {
                (None, true) => named.circuit.clone(),
                (Some(class), false) => named.class(class)?,
                (Some(_), true) => return Err(Failure::input("the circuit has no classes to choose from")),
                (None, false) => return Err(Failure::input("the circuit has several classes: choose one")),
            };
            let game = Game::new(&circuit, players, population, watch)?;
            let floats = FloatGame::new(&game);
            Ok(Engine { features: named.features.clone(), game, floats, fractions: OnceLock::new() })
        })
    }

    #[getter]
    fn players(&self) -> Vec<String> {
        self.game.players().names().to_vec()
    }

    #[pyo3(signature = (bits, index, threads))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        bits: PyReadonlyArray2<'_, u8>,
        index: &str,
        threads: Option<usize>,
    ) -> PyResult<Arrays<'py>> {
        let index = index_of(index)?;
        let rows = rows_of(&bits, &self.features)?;
        let (width, scores, base_values, predictions) = work(py, None, |watch| {
            let explain = || self.floats.explain(&rows, index, watch);
            let table = match threads {
                None => explain()?,
                Some(threads) => {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    pool.map_err(|e| Failure::input(format!("threads is {threads}: {e}")))?.install(explain)?
                }
            };
            let mut scores = Vec::with_capacity(table.rows() * table.width());
            (0..table.rows()).for_each(|row| scores.extend_from_slice(table.scores(row)));
            let base_values: Vec<f64> = (0..table.rows()).map(|row| table.base_value(row)).collect();
            let predictions: Vec<u8> = (0..table.rows()).map(|row| u8::from(table.prediction(row))).collect();
            Ok((table.width(), scores, base_values, predictions))
        })?;
        let scores = Array2::from_shape_vec((base_values.len(), width), scores).expect("whole rows");
        Ok((
            PyArray2::from_owned_array(py, scores),
            PyArray1::from_vec(py, base_values),
            PyArray1::from_vec(py, predictions),
        ))
    }

    fn explain_exact<'py>(
        &self,
        py: Python<'py>,
        bits: PyReadonlyArray2<'_, u8>,
        index: &str,
    ) -> PyResult<Fractions<'py>> {
        let index = index_of(index)?;
        let rows = rows_of(&bits, &self.features)?;
        let explanations = work(py, None, |watch| {
            let game = match self.fractions.get() {
                Some(game) => game,
                None => {
                    let game = ExactGame::new(&self.game)?;
                    self.fractions.get_or_init(|| game)
                }
            };
            let entities: Vec<Vec<bool>> = (0..rows.rows()).map(|row| rows.row(row)).collect();
            Ok(game.explain(&entities, index, watch)?)
        })?;
        let fraction = |value: &RBig| -> PyResult<Fraction<'py>> {
            Ok((integer(py, value.numerator())?, integer(py, value.denominator())?))
        };
        let (mut scores, mut base_values, mut predictions) = (Vec::new(), Vec::new(), Vec::new());
        for explanation in &explanations {
            scores.push(explanation.scores.iter().map(fraction).collect::<PyResult<_>>()?);
            base_values.push(fraction(&explanation.base_value)?);
            predictions.push(u32::from(explanation.prediction));
        }
        Ok((scores, base_values, predictions))
    }
}

fn index_of(name: &str) -> Result<Index, Failure> {
    match name {
        "shapley" => Ok(Index::Shapley),
        "banzhaf" => Ok(Index::Banzhaf),
        "interaction" => Ok(Index::Interaction),
        other => Err(Failure::input(format!("the index is '{other}', not shapley, banzhaf or interaction"))),
    }
}

/// How often each feature was 1 in training.
fn marginals(named: &boolshap::circuit::NamedCircuit) -> Result<Probabilities, Failure> {
    let Some(marginals) = named.marginals.as_ref().filter(|marginals| marginals.rows > 0) else {
        return Err(Failure::input("the circuit holds no marginals of training: give probabilities"));
    };
    let fraction = |&ones: &u64| RBig::from_parts(ones.into(), marginals.rows.into());
    Ok(Probabilities::product(marginals.ones.iter().map(fraction).collect())?)
}
