//! A network of real weights with names, its file format, and model files of either kind.
//!
//! The file is a model file of version 2: JSON with every number as a fraction, so that nothing is rounded.

use super::ModelError;
use super::file::{FORMAT, Head, Model, parse_fraction};
use super::real_network::{Ending, RealNetwork, RealStep};
use crate::data::{GRID, Grid, WholeFile};
use crate::lit::Digest;
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The version of model files with real weights.
pub(super) const REAL_VERSION: u32 = 2;

/// A network of real weights with the data needed to use it.
#[derive(Debug, Clone, PartialEq)]
pub struct RealModel {
    /// The names of the inputs.
    pub features: Vec<String>,
    /// The names of the classes, if they have any.
    pub classes: Option<Vec<String>>,
    /// The network.
    pub network: RealNetwork,
    /// Where it comes from, as free facts by name.
    pub provenance: BTreeMap<String, serde_json::Value>,
}

/// Explains why a tree model on raw columns is not accepted here.
const BOOSTER: &str =
    "this is a booster of XGBoost or LightGBM: it is explained as it is, against background rows, and not compiled";

/// Whether a text is a tree model of another library.
fn is_booster(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Learner {
        #[serde(rename = "learner")]
        _learner: serde::de::IgnoredAny,
    }
    text.starts_with("tree\n") || serde_json::from_str::<Learner>(text).is_ok()
}

/// A model of either kind.
#[derive(Debug, Clone)]
pub enum AnyModel {
    /// A network of gates.
    Gates(Box<Model>),
    /// A network of real weights.
    Real(Box<RealModel>),
}

impl AnyModel {
    /// Reads a model file of either kind.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
        Self::from_json(&text).map_err(|message| ModelError::Format { path: path.into(), message })
    }

    /// Reads the content of a model file of either kind.
    pub fn from_json(text: &str) -> Result<Self, String> {
        match serde_json::from_str::<Head>(text) {
            Ok(head) if head.format == FORMAT && head.version == REAL_VERSION => {
                Ok(AnyModel::Real(Box::new(RealModel::from_json(text)?)))
            }
            _ => match Model::from_json(text) {
                Ok(model) => Ok(AnyModel::Gates(Box::new(model))),
                Err(_) if is_booster(text) => Err(BOOSTER.into()),
                Err(message) => Err(message),
            },
        }
    }

    /// The network of gates; an error if the model has real weights.
    pub fn gates(self) -> Result<Model, ModelError> {
        match self {
            AnyModel::Gates(model) => Ok(*model),
            AnyModel::Real(_) => Err(ModelError::Inconsistent(
                "this is a network of real weights, where one of gates is expected: compile it first".into(),
            )),
        }
    }

    /// Writes the model file, completely or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        match self {
            AnyModel::Gates(model) => model.save(path),
            AnyModel::Real(model) => model.save(path),
        }
    }

    /// Sets the layout of the features; an error if the sizes do not fit.
    pub fn with_grid(self, grid: Grid) -> Result<Self, String> {
        match self {
            AnyModel::Gates(model) => Ok(AnyModel::Gates(Box::new(model.with_grid(grid)?))),
            AnyModel::Real(mut model) => {
                grid.pixels(model.features.len(), None)?;
                model.provenance.insert(GRID.into(), grid.to_string().into());
                Ok(AnyModel::Real(model))
            }
        }
    }
}

impl RealModel {
    /// A model with names only.
    pub fn new(network: RealNetwork, features: Vec<String>, classes: Option<Vec<String>>) -> Result<Self, ModelError> {
        let model = RealModel { features, classes, network, provenance: BTreeMap::new() };
        model.flaw().map_or(Ok(model), |flaw| Err(ModelError::Inconsistent(flaw)))
    }

    /// The names of the classes, or their numbers; for a network that does not decide, of its outputs.
    pub fn class_names(&self) -> Vec<String> {
        let count = self.network.classes().unwrap_or(self.network.outputs());
        self.classes.clone().unwrap_or_else(|| (0..count).map(|class| class.to_string()).collect())
    }

    /// Writes the model file, completely or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        WholeFile::write(path, self.to_json().as_bytes()).map_err(|source| ModelError::Io { path: path.into(), source })
    }

    /// The digest of the model's file.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_json().as_bytes())
    }

    /// The content of a model file.
    pub fn to_json(&self) -> String {
        let file = FileText {
            format: FORMAT.into(),
            version: REAL_VERSION,
            features: self.features.clone(),
            classes: self.classes.clone(),
            steps: self.network.steps().iter().map(StepText::of_step).collect(),
            ending: self.network.ending().name().into(),
            provenance: self.provenance.clone(),
        };
        let mut text = serde_json::to_string_pretty(&file).expect("numbers and texts are always JSON");
        text.push('\n');
        text
    }

    /// Reads the content of a model file.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let file: FileText = serde_json::from_str(text).map_err(|e| format!("the model is damaged: {e}"))?;
        if file.format != FORMAT || file.version != REAL_VERSION {
            return Err("this is no boolshap model of real weights".into());
        }
        let steps = file.steps.iter().enumerate();
        let steps = steps.map(|(at, step)| step.step().map_err(|e| format!("step {}: {e}", at + 1)));
        let ending =
            Ending::of_name(&file.ending).ok_or_else(|| format!("the ending '{}' is not known", file.ending))?;
        let network = RealNetwork::new(steps.collect::<Result<_, _>>()?, ending).map_err(|e| e.to_string())?;
        let model = RealModel { features: file.features, classes: file.classes, network, provenance: file.provenance };
        model.flaw().map_or(Ok(model), Err)
    }

    /// Which parts do not fit together, if any.
    fn flaw(&self) -> Option<String> {
        let inputs = self.network.inputs();
        if self.features.len() != inputs {
            return Some(format!("there are {} feature names for {inputs} inputs", self.features.len()));
        }
        let mut names = BTreeSet::new();
        if let Some(name) = self.features.iter().find(|name| !names.insert(*name)) {
            return Some(format!("the feature '{name}' is there twice"));
        }
        let classes = self.network.classes().unwrap_or(self.network.outputs());
        let given = self.classes.as_ref().map(Vec::len).filter(|given| *given != classes)?;
        Some(format!("there are {given} class names for {classes} classes"))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    format: String,
    version: u32,
    features: Vec<String>,
    classes: Option<Vec<String>>,
    steps: Vec<StepText>,
    ending: String,
    provenance: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StepText {
    Dense { weights: Vec<String>, bias: String },
    Norm { gamma: String, beta: String, mean: String, variance: String },
    Each(String),
}

fn texts(numbers: &[RBig]) -> String {
    numbers.iter().map(RBig::to_string).collect::<Vec<_>>().join(" ")
}

fn numbers(text: &str) -> Result<Vec<RBig>, String> {
    text.split_whitespace().map(parse_fraction).collect()
}

impl StepText {
    fn of_step(step: &RealStep) -> Self {
        match step {
            RealStep::Dense { weights, bias } => {
                StepText::Dense { weights: weights.iter().map(|row| texts(row)).collect(), bias: texts(bias) }
            }
            RealStep::Norm { gamma, beta, mean, variance } => {
                let [gamma, beta, mean, variance] = [gamma, beta, mean, variance].map(|vector| texts(vector));
                StepText::Norm { gamma, beta, mean, variance }
            }
            RealStep::Each(activation) => StepText::Each(activation.to_string()),
        }
    }

    fn step(&self) -> Result<RealStep, String> {
        Ok(match self {
            StepText::Dense { weights, bias } => {
                let weights = weights.iter().map(|row| numbers(row)).collect::<Result<_, _>>()?;
                RealStep::Dense { weights, bias: numbers(bias)? }
            }
            StepText::Norm { gamma, beta, mean, variance } => RealStep::Norm {
                gamma: numbers(gamma)?,
                beta: numbers(beta)?,
                mean: numbers(mean)?,
                variance: numbers(variance)?,
            },
            StepText::Each(activation) => RealStep::Each(activation.parse()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reads_back_as_the_same_model_and_damage_is_named() {
        let third = || RBig::from_parts(1.into(), 3u8.into());
        let steps = vec![
            RealStep::Dense {
                weights: vec![vec![third(), -third()], vec![RBig::ONE, RBig::ZERO]],
                bias: vec![third(), RBig::ONE],
            },
            RealStep::Norm {
                gamma: vec![third(); 2],
                beta: vec![RBig::ZERO; 2],
                mean: vec![RBig::ONE; 2],
                variance: vec![third(); 2],
            },
            RealStep::Each("leaky 1/100".parse().unwrap()),
            RealStep::Each("clip -1 5/2".parse().unwrap()),
            RealStep::Dense { weights: vec![vec![third(), RBig::ONE]], bias: vec![RBig::ZERO] },
        ];
        let network = RealNetwork::new(steps, Ending::AtLeastZero).unwrap();
        let model = RealModel::new(network, vec!["a".into(), "b".into()], None).unwrap();
        let text = model.to_json();
        assert_eq!(RealModel::from_json(&text).unwrap(), model);
        assert!(Model::from_json(&text).unwrap_err().contains("a network of real weights"));
        for (old, new, expected) in [
            ("\"b\"", "\"a\"", "the feature 'a' is there twice"),
            ("at-least-zero", "largest", "1 numbers at the end cannot decide by 'largest'"),
            ("leaky 1/100", "leaky x", "step 3: 'x' is not a number"),
            ("\"1 0\"", "\"1\"", "step 1 has weights for 1 inputs where 2 arrive"),
            (
                "\"variance\": \"1/3 1/3\"",
                "\"variance\": \"1/3 0\"",
                "step 2: neuron 2 has a variance plus epsilon that is not positive",
            ),
            ("\"classes\": null", "\"classes\": [\"x\"]", "there are 1 class names for 2 classes"),
        ] {
            assert!(text.contains(old), "{old}");
            assert_eq!(RealModel::from_json(&text.replace(old, new)).unwrap_err(), expected);
        }
    }
}
