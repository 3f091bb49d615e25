//! A network with everything needed to use it on raw rows, and the versioned JSON file format for it.
//!
//! A gate is written as its weights and its `need`. Weights +-1 are a text of signs (`"-+-"`), others are numbers
//! separated by spaces, so that integers of any size survive every JSON reader. Equal models give identical files, byte
//! for byte.

use super::network::{Gate, Network, Output, OutputScale, Score};
use super::{ModelError, Problem};
use crate::data::{Binariser, Code, GRID, Grid, WholeFile};
use crate::lit::Digest;
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The format name in the file.
pub(crate) const FORMAT: &str = "boolshap model";
const VERSION: u32 = 1;
/// The longest fraction; a float has at most about a thousand digits.
const MAX_FRACTION: usize = 1 << 13;

/// A network with the data needed to use it on raw rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The names of the inputs.
    pub features: Vec<String>,
    /// The names of the classes, if they have any.
    pub classes: Option<Vec<String>>,
    /// How raw rows become bits, if the model was trained from such rows.
    pub binariser: Option<Binariser>,
    /// How often each feature was 1 in training, if known.
    pub marginals: Option<Marginals>,
    /// The network.
    pub network: Network,
    /// Where it comes from, as free facts by name.
    pub provenance: BTreeMap<String, serde_json::Value>,
}

/// How often each feature is 1 in a number of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marginals {
    /// The number of rows.
    pub rows: u64,
    /// For each feature, the number of rows in which it is 1.
    pub ones: Vec<u64>,
}

impl Marginals {
    /// Why these cannot be counts of rows with the features of this schema, if they cannot.
    pub(crate) fn flaw(&self, features: usize, schema: Option<&Binariser>) -> Option<String> {
        if self.ones.len() != features || self.ones.iter().any(|&ones| ones > self.rows) {
            return Some("the marginals do not fit the features".into());
        }
        let mut ones = self.ones.iter().map(|&ones| u128::from(ones));
        schema?.columns().iter().find_map(|column| {
            let sum: u128 = ones.by_ref().take(column.bits()).sum();
            // A missing value sets no bit, unless there is a bit for missing values; in the previous version it was in
            // the lowest bin.
            let old_bins = column.missing.is_none() && matches!(column.code, Code::Bins(_));
            let fits = match column.is_one_hot() {
                false => true,
                true if column.has_missing_bit() || old_bins => sum == u128::from(self.rows),
                true => sum <= u128::from(self.rows),
            };
            (!fits).then(|| format!("the marginals of '{}' are not those of one value a row", column.column))
        })
    }
}

impl Model {
    /// A model with names only.
    pub fn new(network: Network, features: Vec<String>) -> Result<Self, ModelError> {
        let model =
            Model { features, classes: None, binariser: None, marginals: None, network, provenance: BTreeMap::new() };
        model.flaw().map_or(Ok(model), |flaw| Err(ModelError::Inconsistent(flaw)))
    }

    /// The names of the classes, or their numbers.
    pub fn class_names(&self) -> Vec<String> {
        let numbers = || (0..self.network.classes()).map(|class| class.to_string()).collect();
        self.classes.clone().unwrap_or_else(numbers)
    }

    /// The layout of the features, if they are pixels of an image.
    pub fn grid(&self) -> Result<Option<Grid>, String> {
        Grid::of_facts(&self.provenance, self.features.len(), self.binariser.as_ref())
    }

    /// Sets the layout of the features; an error if the sizes do not fit.
    pub fn with_grid(mut self, grid: Grid) -> Result<Self, String> {
        grid.pixels(self.features.len(), self.binariser.as_ref())?;
        self.provenance.insert(GRID.into(), grid.to_string().into());
        Ok(self)
    }

    /// The names `x1` to `xN`, for a network without names.
    pub fn default_features(inputs: usize) -> Vec<String> {
        (1..=inputs).map(|number| format!("x{number}")).collect()
    }

    /// Reads a model file.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
        Self::from_json(&text).map_err(|message| ModelError::Format { path: path.into(), message })
    }

    /// Writes the model file, completely or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        WholeFile::write(path, self.to_json().as_bytes()).map_err(|source| ModelError::Io { path: path.into(), source })
    }

    /// The digest of the model's file, which identifies the model that something was proved about.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_json().as_bytes())
    }

    /// The content of a model file.
    pub fn to_json(&self) -> String {
        let layer = |gates: &Vec<Gate>| gates.iter().map(GateText::of_gate).collect();
        let output = match self.network.output() {
            Output::Step(gate) => OutputText::Step(GateText::of_gate(gate)),
            Output::Argmax(scores) => OutputText::Argmax(scores.iter().map(ScoreText::of_score).collect()),
        };
        let file = FileText {
            format: FORMAT.into(),
            version: VERSION,
            features: self.features.clone(),
            classes: self.classes.clone(),
            schema: self.binariser.clone(),
            marginals: self.marginals.clone(),
            hidden: self.network.hidden().iter().map(layer).collect(),
            output,
            scales: self.network.scales().iter().map(ScaleText::of_scale).collect(),
            provenance: self.provenance.clone(),
        };
        let mut text = serde_json::to_string_pretty(&file).expect("numbers and texts are always JSON");
        text.push('\n');
        text
    }

    /// Reads the content of a model file; the error says what is wrong and in which layer.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let head: Head = serde_json::from_str(text).map_err(|e| match e.classify() {
            serde_json::error::Category::Eof => format!("the model is cut off: {e}"),
            _ => format!("this is no boolshap model: {e}"),
        })?;
        if head.format != FORMAT {
            return Err(format!("this is no boolshap model: its format is '{}'", head.format));
        }
        if head.version == super::real_file::REAL_VERSION {
            return Err("this is a network of real weights and not of gates: it is compiled first".into());
        }
        if head.version != VERSION {
            return Err(format!("version {} of the model format is not known (known: {VERSION})", head.version));
        }
        let file: FileText = serde_json::from_str(text).map_err(|e| format!("the model is damaged: {e}"))?;
        let mut hidden = Vec::new();
        for (index, gates) in file.hidden.iter().enumerate() {
            let gates = gates.iter().enumerate();
            let gates =
                gates.map(|(g, gate)| gate.gate().map_err(|e| format!("layer {}, neuron {}: {e}", index + 1, g + 1)));
            hidden.push(gates.collect::<Result<Vec<_>, _>>()?);
        }
        let at = |neuron: usize| {
            let layer = hidden.len() + 1;
            move |e: String| format!("layer {layer} (output), neuron {}: {e}", neuron + 1)
        };
        let output = match &file.output {
            OutputText::Step(gate) => Output::Step(gate.gate().map_err(at(0))?),
            OutputText::Argmax(scores) => Output::Argmax(
                scores.iter().enumerate().map(|(k, score)| score.score().map_err(at(k))).collect::<Result<_, _>>()?,
            ),
        };
        let network = Network::new(file.features.len(), hidden, output).map_err(|e| e.to_string())?;
        let scales = file.scales.iter().map(ScaleText::scale).collect::<Result<_, _>>()?;
        let network = network.with_scales(scales)?;
        let binariser = file.schema.map(|schema| Binariser::new(schema.columns().to_vec())).transpose()?;
        let model = Model {
            features: file.features,
            classes: file.classes,
            binariser,
            marginals: file.marginals,
            network,
            provenance: file.provenance,
        };
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
        if let Some(classes) = self.classes.as_ref().filter(|classes| classes.len() != self.network.classes()) {
            return Some(format!("there are {} class names for {} classes", classes.len(), self.network.classes()));
        }
        if self.binariser.as_ref().is_some_and(|binariser| binariser.features() != self.features) {
            return Some("the schema makes other features than the model has".into());
        }
        self.marginals.as_ref().and_then(|marginals| marginals.flaw(inputs, self.binariser.as_ref()))
    }
}

#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) format: String,
    pub(super) version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    format: String,
    version: u32,
    features: Vec<String>,
    classes: Option<Vec<String>>,
    schema: Option<Binariser>,
    marginals: Option<Marginals>,
    hidden: Vec<Vec<GateText>>,
    output: OutputText,
    /// The units of the output's numbers; omitted if the whole weights themselves are the units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scales: Vec<ScaleText>,
    provenance: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputText {
    Step(GateText),
    Argmax(Vec<ScoreText>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScaleText {
    unit: String,
    bias: String,
}

impl ScaleText {
    fn of_scale(scale: &OutputScale) -> Self {
        ScaleText { unit: scale.unit.to_string(), bias: scale.bias.to_string() }
    }

    fn scale(&self) -> Result<OutputScale, String> {
        Ok(OutputScale { unit: parse_fraction(&self.unit)?, bias: parse_fraction(&self.bias)? })
    }
}

/// Parses a fraction as written in files, `a` or `a/b`, and bounds its length.
pub(crate) fn parse_fraction(text: &str) -> Result<RBig, String> {
    let wrong = || format!("'{}' is not a fraction", &text[..text.floor_char_boundary(40)]);
    let is_zero = |digits: &str| digits.bytes().all(|digit| digit == b'0');
    match text.split_once('/') {
        _ if text.len() > MAX_FRACTION => Err(wrong()),
        Some((_, below)) if is_zero(below) => Err(wrong()),
        _ => text.parse().map_err(|_| wrong()),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateText {
    weights: String,
    need: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoreText {
    weights: String,
    bias: String,
}

impl GateText {
    pub(crate) fn of_gate(gate: &Gate) -> Self {
        GateText { weights: weights_text(gate.weights()), need: gate.need().to_string() }
    }

    pub(crate) fn gate(&self) -> Result<Gate, String> {
        let need = self.need.parse().map_err(|_| format!("need '{}' is no whole number", self.need))?;
        Gate::new(parse_weights(&self.weights)?, need).ok_or_else(|| Problem::TooWide { neuron: 1 }.to_string())
    }
}

impl ScoreText {
    fn of_score(score: &Score) -> Self {
        ScoreText { weights: weights_text(score.weights()), bias: score.bias().to_string() }
    }

    fn score(&self) -> Result<Score, String> {
        let bias = self.bias.parse().map_err(|_| format!("bias '{}' is no whole number", self.bias))?;
        Score::new(parse_weights(&self.weights)?, bias).ok_or_else(|| Problem::TooWide { neuron: 1 }.to_string())
    }
}

fn weights_text(weights: &[i128]) -> String {
    if weights.iter().all(|w| w.unsigned_abs() == 1) {
        return weights.iter().map(|&w| if w > 0 { '+' } else { '-' }).collect();
    }
    weights.iter().map(i128::to_string).collect::<Vec<_>>().join(" ")
}

fn parse_weights(text: &str) -> Result<Vec<i128>, String> {
    if text.bytes().all(|c| c == b'+' || c == b'-') {
        return Ok(text.bytes().map(|c| if c == b'+' { 1 } else { -1 }).collect());
    }
    let number = |word: &str| word.parse().map_err(|_| format!("weight '{word}' is no whole number"));
    text.split_whitespace().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_file_reads_back_as_the_same_model(network in network_strategy(7), rows in 0u64..9) {
            let features = Model::default_features(network.inputs());
            let mut model = Model::new(network, features).unwrap();
            model.marginals = Some(Marginals { rows, ones: vec![rows / 2; model.features.len()] });
            model.provenance.insert("seed".into(), 7.into());
            let text = model.to_json();
            let back = Model::from_json(&text).unwrap();
            prop_assert_eq!(&back, &model);
            prop_assert_eq!(back.to_json(), text);
        }

        #[test]
        fn a_file_cut_anywhere_is_refused(network in network_strategy(4), share in 0.0f64..1.0) {
            let features = Model::default_features(network.inputs());
            let text = Model::new(network, features).unwrap().to_json();
            let cut = (text.trim_end().len() as f64 * share) as usize;
            prop_assert!(Model::from_json(&text[..cut]).unwrap_err().contains("cut off"));
        }
    }

    #[test]
    fn marginals_are_counts_of_rows() {
        let schema: Binariser = serde_json::from_str(
            r#"[{"column":"k","code":{"categories":["u","v"]}},{"column":"n","code":{"bins":[1]}}]"#,
        )
        .unwrap();
        let flaw = |ones: [u64; 4]| Marginals { rows: 9, ones: ones.to_vec() }.flaw(4, Some(&schema));
        assert_eq!(flaw([4, 5, 0, 9]), None);
        assert_eq!(flaw([4, 4, 3, 6]), None);
        let wrong = |column: &str| Some(format!("the marginals of '{column}' are not those of one value a row"));
        assert_eq!(flaw([5, 5, 3, 6]), wrong("k"));
        assert_eq!(flaw([4, 5, 3, 5]), wrong("n"));
        assert_eq!(flaw([10, 0, 3, 6]).unwrap(), "the marginals do not fit the features");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let gate = Gate::new(vec![1, -1], 1).unwrap();
        let network = Network::new(2, vec![], Output::Step(gate)).unwrap();
        let good = Model::new(network, vec!["a".into(), "b".into()]).unwrap().to_json();
        let cases = [
            ("\"version\": 1", "\"version\": 9", "version 9 of the model format is not known (known: 1)"),
            ("boolshap model", "something", "this is no boolshap model: its format is 'something'"),
            ("\"+-\"", "\"+\"", "layer 1 (output) has weights for 1 inputs where 2 arrive"),
            ("\"+-\"", "\"1 x\"", "layer 1 (output), neuron 1: weight 'x' is no whole number"),
            ("\"b\"", "\"a\"", "the feature 'a' is there twice"),
            ("\"classes\": null", "\"classes\": [\"only\"]", "there are 1 class names for 2 classes"),
        ];
        for (old, new, expected) in cases {
            assert!(good.contains(old), "{old}");
            assert_eq!(Model::from_json(&good.replace(old, new)).unwrap_err(), expected);
        }
    }
}
