//! Trees and linear models on raw columns, made ready to explain rows against a background: no bits, no circuit.
//!
//! A score is explained directly. For a label the trees are merged into one tree; if that would be too large, the label
//! is refused, and only the score can be explained.

use super::{ClassChoice, Error, ModelOutput};
use crate::data::RawRows;
use crate::explain::{Index, TreeGame};
use crate::lit::Watch;
use crate::model::{Decision, RawModel};
use dashu_ratio::RBig;
use std::sync::Arc;

/// The default limit on the nodes of the tree that a label is merged into.
pub const MAX_MERGED_NODES: usize = 1 << 20;

/// How many rows are predicted between two checks of the watch.
const PART: usize = 1024;

/// A model of raw columns and its background.
pub struct RawExplainer {
    game: TreeGame,
    players: Vec<String>,
    output: ModelOutput,
}

impl RawExplainer {
    /// Explains this model against these rows: its scores, or the labels that they lead to. A class picks one of
    /// several. Players are the columns, or the player given for each column.
    pub fn prepare(
        model: RawModel,
        background: &RawRows,
        owners: Option<&[String]>,
        output: ModelOutput,
        class: Option<&ClassChoice>,
        max_nodes: Option<usize>,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let model = match output {
            ModelOutput::Score => of_score(model, class)?,
            ModelOutput::Label => of_label(&model, class, max_nodes.unwrap_or(MAX_MERGED_NODES), watch)?,
        };
        if model.columns.is_empty() || background.width() != model.columns.len() {
            let (found, expected) = (background.width(), model.columns.len());
            return Err(Error::input(format!("the background has {found} columns, and the model {expected}")));
        }
        let mut players: Vec<String> = Vec::new();
        let mut owner = Vec::with_capacity(model.columns.len());
        for name in owners.unwrap_or(&model.columns) {
            let place = players.iter().position(|known| known == name).unwrap_or(players.len());
            if place == players.len() {
                players.push(name.clone());
            }
            owner.push(place);
        }
        Ok(RawExplainer { game: TreeGame::of_players(Arc::new(model), background, owner)?, players, output })
    }

    /// The names of the players.
    pub fn players(&self) -> &[String] {
        &self.players
    }

    /// The names of the outputs that are explained, if there are several.
    pub fn outputs(&self) -> &[String] {
        &self.game.model().outputs
    }

    /// How many numbers are explained for each row.
    pub fn width(&self) -> usize {
        self.game.model().width()
    }

    /// Which output is explained.
    pub fn model_output(&self) -> ModelOutput {
        self.output
    }

    /// What the scores start from, one for each output.
    pub fn base_values(&self) -> Vec<f64> {
        self.game.base_values()
    }

    /// The same in fractions.
    pub fn exact_base_values(&self) -> Vec<RBig> {
        self.game.exact_base_values()
    }

    /// The sums of base values and scores: the outputs of rows, those of a row side by side.
    pub fn predictions(&self, rows: &RawRows, watch: &Watch<'_>) -> Result<Vec<f64>, Error> {
        let model = self.game.model();
        let prepared = model.prepared("the rows", rows)?;
        let mut numbers = Vec::with_capacity(rows.len() * model.width());
        for start in (0..rows.len()).step_by(PART) {
            watch.check()?;
            numbers.extend(model.numbers(&prepared.part(start, (start + PART).min(rows.len()))));
        }
        Ok(numbers)
    }

    /// A bound on the error of scores in floats.
    pub fn error_bound(&self) -> f64 {
        self.game.error_bound()
    }

    /// The scores of rows: for each row, each set of players, and each output.
    pub fn explain(&self, rows: &RawRows, index: Index, watch: &Watch<'_>) -> Result<Vec<f64>, Error> {
        Ok(self.game.explain(rows, index, watch)?)
    }

    /// The same in fractions.
    pub fn explain_exact(&self, rows: &RawRows, index: Index, watch: &Watch<'_>) -> Result<Vec<RBig>, Error> {
        Ok(self.game.explain_exact(rows, index, watch)?)
    }
}

fn of_score(mut model: RawModel, class: Option<&ClassChoice>) -> Result<RawModel, Error> {
    let Some(class) = class.filter(|class| **class != ClassChoice::Each) else { return Ok(model) };
    if model.width() == 1 {
        return Err(Error::setting("class", "picks one of several outputs, and there is one"));
    }
    let chosen = class.number(model.width(), &model.outputs)?;
    model = model.only(chosen)?;
    Ok(model)
}

fn of_label(model: &RawModel, class: Option<&ClassChoice>, limit: usize, watch: &Watch<'_>) -> Result<RawModel, Error> {
    if model.decision == Decision::Number {
        return Err(Error::setting(
            "model_output",
            "is 'label', but the model gives numbers and no labels: explain its score",
        ));
    }
    if !model.slopes.is_empty() {
        let why = "is 'label', but the labels of a linear model on raw columns have no tree: explain its score, or fit it on bits";
        return Err(Error::setting("model_output", why));
    }
    let classes = model.outputs.len().max(2);
    let names: Vec<String> = match model.outputs.is_empty() {
        true => vec!["0".into(), "1".into()],
        false => model.outputs.clone(),
    };
    let chosen: Vec<usize> = match class {
        Some(ClassChoice::Each) => (0..classes).collect(),
        Some(one) => vec![one.number(classes, &names)?],
        None if classes == 2 => vec![1],
        None => (0..classes).collect(),
    };
    let names = if chosen.len() > 1 { names } else { Vec::new() };
    model.decisions(&chosen, names, limit, watch)?.ok_or_else(|| Error::Limit {
        message: format!(
            "the labels of {} trees on raw columns take one tree of more than {limit} nodes: explain the score, which needs none",
            model.trees.len()
        ),
        remedy: None,
    })
}
