//! The class of every row, by a model or by a circuit.

use super::{Error, load_circuit};
use crate::circuit::{self, Circuit, NamedCircuit, Rule, ValueEvaluator};
use crate::data::{Binariser, Bits};
use crate::lit::Watch;
use crate::model::{self, AnyModel, Model, RealModel};
use std::path::Path;
use std::sync::Arc;

/// A model or circuit file, whichever it is.
#[derive(Debug, Clone)]
pub enum ModelOrCircuit {
    /// A network.
    Model(Box<Model>),
    /// A network of real weights.
    Real(Box<RealModel>),
    /// A circuit.
    Circuit(Box<NamedCircuit>),
}

impl ModelOrCircuit {
    /// Reads a file and recognises what it is by its beginning.
    pub fn load(path: &Path) -> Result<Self, Error> {
        match NamedCircuit::recognises(path).map_err(Error::file(path))? {
            true => Ok(ModelOrCircuit::Circuit(Box::new(load_circuit(path)?))),
            false => Ok(match AnyModel::load(path)? {
                AnyModel::Gates(model) => ModelOrCircuit::Model(model),
                AnyModel::Real(model) => ModelOrCircuit::Real(model),
            }),
        }
    }

    /// The names of the features.
    pub fn features(&self) -> &[String] {
        match self {
            ModelOrCircuit::Model(model) => &model.features,
            ModelOrCircuit::Real(model) => &model.features,
            ModelOrCircuit::Circuit(named) => &named.features,
        }
    }

    /// How raw rows become bits, if that is known.
    pub fn binariser(&self) -> Option<&Binariser> {
        match self {
            ModelOrCircuit::Model(model) => model.binariser.as_ref(),
            ModelOrCircuit::Real(_) => None,
            ModelOrCircuit::Circuit(named) => named.binariser.as_ref(),
        }
    }

    /// What the predictions mean, by number, if that is known.
    pub fn prediction_names(&self) -> Option<Vec<String>> {
        match self {
            ModelOrCircuit::Model(model) => model.classes.clone(),
            ModelOrCircuit::Real(model) => model.classes.clone(),
            ModelOrCircuit::Circuit(named) => named.prediction_names(),
        }
    }

    /// The predictor.
    pub fn predictor(&self) -> Result<Predictor<'_>, Error> {
        match self {
            ModelOrCircuit::Model(model) => Ok(Predictor::of_model(model)),
            ModelOrCircuit::Real(model) => Ok(Predictor(Way::Real(model))),
            ModelOrCircuit::Circuit(named) => Predictor::of_circuit(named),
        }
    }
}

/// Takes a word for each feature of 64 rows, and gives a word for each class.
type Words<'a> = Box<dyn FnMut(&[u64]) -> Result<Vec<u64>, Error> + 'a>;

/// Predicts rows of bits: 0 or 1, or the number of the class.
pub struct Predictor<'a>(Way<'a>);

enum Way<'a> {
    Model(&'a Model),
    Real(&'a RealModel),
    Label(Arc<Circuit>),
    /// A circuit for each class.
    Classes(Vec<Arc<Circuit>>),
    /// The numbers that decide.
    Scores(Box<NamedCircuit>),
}

impl<'a> Predictor<'a> {
    /// By a network.
    pub fn of_model(model: &'a Model) -> Self {
        Predictor(Way::Model(model))
    }

    /// By a circuit, or by a network that was not compiled.
    pub fn of_circuit(circuit: &'a NamedCircuit) -> Result<Self, Error> {
        match (&circuit.network, &circuit.values) {
            (Some(network), _) => Ok(Self::of_model(&network.model)),
            (None, Some(_)) => Ok(Predictor(Way::Scores(Box::new(circuit.clone())))),
            (None, None) => Ok(Self::of_labels(&circuit.labels()?, !circuit.classes.is_empty())),
        }
    }

    pub(super) fn of_labels(labels: &[Arc<Circuit>], several: bool) -> Self {
        match (several, labels) {
            (false, [only]) => Predictor(Way::Label(only.clone())),
            _ => Predictor(Way::Classes(labels.to_vec())),
        }
    }

    /// The class of every row.
    pub fn classes(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<u32>, Error> {
        if let Way::Scores(named) = &self.0 {
            let decided = ValueEvaluator::new(named).map(|values| values.decisions(rows, watch)).transpose()?.flatten();
            return decided.ok_or_else(|| Error::input("the file holds a number of each row, which decides nothing"));
        }
        if let Way::Real(model) = &self.0 {
            let none = || Error::input("the network gives numbers, which decide nothing");
            return model.network.classes_of(rows, watch)?.ok_or_else(none);
        }
        let mut found = Vec::with_capacity(rows.rows());
        let mut words = self.words();
        for block in 0..rows.blocks() {
            watch.check()?;
            let answers = words(&rows.block(block))?;
            for lane in 0..(rows.rows() - block * 64).min(64) {
                let mut classes = (0..answers.len()).filter(|&class| answers[class] >> lane & 1 == 1);
                let row = block * 64 + lane + 1;
                match (classes.next(), classes.next()) {
                    (Some(class), None) => found.push(class as u32),
                    (None, _) => return Err(Error::input(format!("row {row} is of no class: the circuit is wrong"))),
                    (Some(one), Some(other)) => {
                        let both = format!("row {row} is of class {one} and of class {other}: the circuit is wrong");
                        return Err(Error::input(both));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The number of every row, if the file holds one number and no decision; else nothing.
    pub fn numbers(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Option<Vec<f64>>, Error> {
        if let Way::Real(model) = &self.0
            && model.network.classes().is_none()
            && model.network.outputs() == 1
        {
            return Ok(Some(model.network.numbers_of(rows, watch)?));
        }
        let Way::Scores(named) = &self.0 else { return Ok(None) };
        let is_number = named.classes.is_empty() && named.values.as_ref().is_some_and(|v| v.rule() == Rule::Number);
        match ValueEvaluator::new(named).filter(|_| is_number) {
            None => Ok(None),
            Some(values) => Ok(Some(values.rows(rows, watch)?.iter().map(|of| of[0].to_f64().value()).collect())),
        }
    }

    fn words(&self) -> Words<'_> {
        match &self.0 {
            Way::Scores(_) | Way::Real(_) => Box::new(|_| Err(circuit::CircuitError::OnlyScores.into())),
            Way::Model(model) => {
                let mut evaluator = model::NetworkEvaluator::new(&model.network);
                Box::new(move |words| Ok(evaluator.classes(words).to_vec()))
            }
            Way::Label(circuit) => {
                let mut evaluator = circuit::CircuitEvaluator::new(circuit);
                Box::new(move |words| Ok(evaluator.words(words).map(|label| vec![!label, label])?))
            }
            Way::Classes(circuits) => {
                let mut evaluators: Vec<_> =
                    circuits.iter().map(|circuit| circuit::CircuitEvaluator::new(circuit)).collect();
                Box::new(move |words| {
                    Ok(evaluators.iter_mut().map(|one| one.words(words)).collect::<Result<Vec<_>, _>>()?)
                })
            }
        }
    }
}
