//! Explanations as JSON or as an Arrow stream.

use crate::error::ApiError;
use crate::request::Asked;
use crate::site::Site;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt8Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use axum::http::StatusCode;
use boolshap::explain::{ExactGame, FloatGame};
use boolshap::lit::Watch;
use boolshap::query::deciding_switches;
use serde::Serialize;
use std::sync::Arc;

/// What is told of some entities. Numbers are floats, or texts of fractions.
#[derive(Serialize)]
pub(crate) struct Answer {
    players: Vec<String>,
    base_value: Number,
    explanations: Vec<Explained>,
}

#[derive(Serialize)]
struct Explained {
    prediction: u8,
    scores: Vec<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flips: Option<Vec<usize>>,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Number {
    Float(f64),
    Fraction(String),
}

/// Explains the entities.
pub(crate) fn answer(site: &Site, game: &FloatGame, asked: &Asked, watch: &Watch<'_>) -> Result<Answer, ApiError> {
    let (players, mut explanations) = (asked.index.columns(game.game().players().names()), Vec::new());
    let base_value;
    if asked.exact {
        let exact = ExactGame::new(game.game()).map_err(ApiError::of_explain)?;
        let rows: Vec<Vec<bool>> = (0..asked.entities.rows()).map(|row| asked.entities.row(row)).collect();
        let answers = exact.explain(&rows, asked.index, watch).map_err(ApiError::of_explain)?;
        base_value = Number::Fraction(answers.first().map_or(String::new(), |first| first.base_value.to_string()));
        for one in answers {
            let scores = one.scores.iter().map(|score| Number::Fraction(score.to_string())).collect();
            explanations.push(Explained { prediction: one.prediction.into(), scores, flips: None });
        }
    } else {
        let table = game.explain(&asked.entities, asked.index, watch).map_err(ApiError::of_explain)?;
        base_value = Number::Float(game.base_value());
        for row in 0..table.rows() {
            let scores = table.scores(row).iter().map(|score| Number::Float(*score)).collect();
            explanations.push(Explained { prediction: table.prediction(row).into(), scores, flips: None });
        }
    }
    if asked.switches {
        for (row, explained) in explanations.iter_mut().enumerate() {
            watch.check()?;
            let circuit = &site.labels[asked.choice.class].circuit;
            let flips = deciding_switches(circuit, &asked.entities.row(row), &site.columns);
            explained.flips = Some(flips.map_err(|error| ApiError::of_explain(error.into()))?);
        }
    }
    Ok(Answer { players, base_value, explanations })
}

impl Answer {
    /// `prediction`, `base_value`, and a column for each player.
    pub(crate) fn arrow(&self) -> Result<Vec<u8>, ApiError> {
        let wrong = |e: ArrowError| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string());
        let predictions: UInt8Array = self.explanations.iter().map(|one| Some(one.prediction)).collect();
        let base = vec![self.base_value.clone(); self.explanations.len()];
        let mut columns: Vec<(&str, ArrayRef, bool)> =
            vec![("prediction", Arc::new(predictions), false), ("base_value", array(base.iter()), false)];
        for (player, name) in self.players.iter().enumerate() {
            columns.push((name, array(self.explanations.iter().map(|one| &one.scores[player])), false));
        }
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(wrong)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(wrong)?;
        writer.write(&batch).map_err(wrong)?;
        writer.into_inner().map_err(wrong)
    }
}

fn array<'a>(numbers: impl Iterator<Item = &'a Number> + Clone) -> ArrayRef {
    let texts = numbers.clone().any(|number| matches!(number, Number::Fraction(_)));
    if texts {
        return Arc::new(StringArray::from_iter_values(numbers.map(|number| match number {
            Number::Float(float) => float.to_string(),
            Number::Fraction(text) => text.clone(),
        })));
    }
    let floats = numbers.map(|number| match number {
        Number::Float(float) => *float,
        Number::Fraction(_) => f64::NAN,
    });
    Arc::new(Float64Array::from_iter_values(floats))
}
