//! Explanations as JSON or as an Arrow stream.

use crate::error::ApiError;
use crate::request::ExplainQuestion;
use crate::site::Site;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use axum::http::StatusCode;
use boolshap::Scores;
use boolshap::lit::Watch;
use boolshap::query::deciding_switches;
use boolshap::workflow::Scope;
use serde::Serialize;
use std::sync::Arc;

/// The answer for some entities. Numbers are floats, or texts of fractions.
#[derive(Serialize)]
pub(crate) struct Answer {
    players: Vec<String>,
    /// That of all entities; with each class one for each; nothing where it differs between entities.
    base_value: Option<Numbers>,
    explanations: Vec<Explained>,
    /// Why the numbers may be wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cautions: Vec<String>,
    #[serde(skip)]
    scores: Scores,
    #[serde(skip)]
    classes: usize,
}

#[derive(Serialize)]
struct Explained {
    prediction: u32,
    /// Where it differs between entities.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_value: Option<Numbers>,
    scores: Numbers,
    #[serde(skip_serializing_if = "Option::is_none")]
    flips: Option<Vec<usize>>,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Numbers {
    Float(f64),
    Fraction(String),
    List(Vec<Numbers>),
}

/// Explains the entities.
pub(crate) fn answer(site: &Site, question: &ExplainQuestion, watch: &Watch<'_>) -> Result<Answer, ApiError> {
    let explainer = site.menu.explainer(question.game)?;
    let ask = question.ask;
    let scores = explainer.explain_as(&question.entities, ask, watch)?;
    let players = ask.index.columns(explainer.players().names());
    let classes = if ask.scope == Scope::Each { scores.width() / (players.len() + 1) } else { 1 };
    let width = players.len() + 1;
    let mut base_value = None;
    let mut explanations = Vec::with_capacity(scores.len());
    for row in 0..scores.len() {
        let numbers = numbers_of(&scores, row);
        let of_class = |class: usize| numbers[class * width..(class + 1) * width].to_vec();
        let several = |part: &dyn Fn(Vec<Numbers>) -> Numbers| match classes {
            1 => part(of_class(0)),
            _ => Numbers::List((0..classes).map(|class| part(of_class(class))).collect()),
        };
        let base = several(&|numbers| numbers[0].clone());
        let scored = several(&|mut numbers| Numbers::List(numbers.split_off(1)));
        let prediction = scores.prediction(row);
        let flips = question.switches.then(|| flips_of(site, question, row, prediction, watch)).transpose()?;
        let own_base = (ask.scope == Scope::Predicted).then(|| base.clone());
        base_value.get_or_insert(base);
        explanations.push(Explained {
            prediction: scores.prediction(row),
            base_value: own_base,
            scores: scored,
            flips,
        });
    }
    let base_value = base_value.filter(|_| ask.scope != Scope::Predicted);
    let cautions = site.circuit().facts.cautions();
    Ok(Answer { players, base_value, explanations, cautions, scores, classes })
}

/// The features whose switch alone changes the label that is explained.
fn flips_of(
    site: &Site,
    question: &ExplainQuestion,
    row: usize,
    prediction: u32,
    watch: &Watch<'_>,
) -> Result<Vec<usize>, ApiError> {
    watch.check()?;
    let explainer = site.menu.explainer(question.game)?;
    let entity = question.entities.row(row);
    let label = match question.ask.scope {
        Scope::Label => None,
        Scope::Class(class) => Some(class),
        Scope::Predicted => Some(prediction as usize),
        Scope::Each => {
            return Err(ApiError::bad("flips", "are those of one class: choose one with class"));
        }
    };
    Ok(deciding_switches(explainer.label(label), &entity, &site.columns).map_err(boolshap::Error::from)?)
}

fn numbers_of(scores: &Scores, row: usize) -> Vec<Numbers> {
    match (scores.floats(row), scores.fractions(row)) {
        (Some(floats), _) => floats.iter().map(|&float| Numbers::Float(float)).collect(),
        (None, fractions) => {
            fractions.into_iter().flatten().map(|number| Numbers::Fraction(number.to_string())).collect()
        }
    }
}

impl Answer {
    /// `prediction`, `base_value`, and a column for each player; with each class, the class behind a colon.
    pub(crate) fn arrow(&self) -> Result<Vec<u8>, ApiError> {
        let wrong = |e: ArrowError| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string());
        let rows = || 0..self.scores.len();
        let predictions: UInt32Array = rows().map(|row| Some(self.scores.prediction(row))).collect();
        let mut columns: Vec<(String, ArrayRef, bool)> = vec![("prediction".into(), Arc::new(predictions), false)];
        for place in 0..self.scores.width() {
            let (class, place_in_class) = (place / (self.players.len() + 1), place % (self.players.len() + 1));
            let name = if place_in_class == 0 { "base_value" } else { &self.players[place_in_class - 1] };
            let name = if self.classes > 1 { format!("{name}:{class}") } else { name.to_string() };
            let array: ArrayRef = match rows().all(|row| self.scores.floats(row).is_some()) {
                true => Arc::new(Float64Array::from_iter(rows().map(|row| Some(self.scores.floats(row)?[place])))),
                false => Arc::new(StringArray::from_iter(
                    rows().map(|row| Some(self.scores.fractions(row)?[place].to_string())),
                )),
            };
            columns.push((name, array, false));
        }
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(wrong)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(wrong)?;
        writer.write(&batch).map_err(wrong)?;
        writer.into_inner().map_err(wrong)
    }
}
