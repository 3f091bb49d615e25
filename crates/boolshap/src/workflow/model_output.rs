//! Which output of a model is explained: its decision, or the number that decides.

use super::Error;
use std::str::FromStr;

/// Which output of a model is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelOutput {
    /// The label, 0 or 1: whether the answer is a class.
    #[default]
    Label,
    /// The number before the last step or argmax: of each class, or of the only output.
    Score,
}

impl ModelOutput {
    /// Both by name.
    pub const NAMES: [&'static str; 2] = ["label", "score"];

    /// Its name: `label` or `score`.
    pub fn name(self) -> &'static str {
        match self {
            ModelOutput::Label => "label",
            ModelOutput::Score => "score",
        }
    }
}

impl FromStr for ModelOutput {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "label" => Ok(ModelOutput::Label),
            "score" => Ok(ModelOutput::Score),
            _ => Err(Error::setting("model_output", format!("'{name}' is not one of label, score"))),
        }
    }
}
