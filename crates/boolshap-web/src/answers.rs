//! Explanations as JSON, written piece by piece.

use crate::error::ApiError;
#[cfg(feature = "server")]
use crate::request::EXACT_BYTES;
use crate::request::ExplainQuestion;
use crate::site::Site;
use boolshap::Scores;
use boolshap::data::ExplainedClass;
use boolshap::lit::Watch;
use boolshap::workflow::Scope;
#[cfg(feature = "server")]
use boolshap::{Error, Request, data::RawRows, workflow::RawExplainer};
use serde::Serialize;
use serde_json::{Value, json};

/// About how many bytes are written at a time.
pub(crate) const PIECE: usize = 32 << 10;

/// The answer for some entities. Numbers are floats, or texts of fractions.
pub(crate) struct Answer {
    pub(crate) players: Vec<String>,
    /// A bound on the error of every number.
    error_bound: f64,
    /// Why the numbers may be wrong.
    cautions: Vec<String>,
    pub(crate) scores: Scores,
    pub(crate) scope: Scope,
    pub(crate) explained: Vec<ExplainedClass>,
    /// Whether each row's class is given with its scores.
    pub(crate) decides: bool,
    /// Whether base values differ between rows.
    own_bases: bool,
    flips: Option<Vec<Vec<usize>>>,
}

#[derive(Serialize)]
struct Explained<'a> {
    /// The label or class; for scores the explained value; a list if each class is explained.
    prediction: Value,
    /// For the scores of several classes: the class that they decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<u32>,
    /// For several classes: the sum of base value and scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained_value: Option<Value>,
    /// Given if it differs between entities.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_value: Option<Value>,
    scores: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    flips: Option<&'a Vec<usize>>,
}

impl Answer {
    /// Explains the entities.
    pub(crate) fn new(site: &Site, question: &ExplainQuestion, watch: &Watch<'_>) -> Result<Self, ApiError> {
        let menu = site.menu(question.beside);
        let (offered, ask) = (menu.explainer(question.game)?, question.ask);
        let grouped = question.groups.as_ref().map(|groups| offered.in_groups(groups)).transpose()?;
        let explainer = grouped.as_ref().unwrap_or(offered);
        let scores = explainer.explain_as(&question.entities, ask, watch)?;
        let flips = || menu.flips(&question.entities, ask.scope, &scores, watch);
        let flips = question.flips.then(flips).transpose()?;
        let players = ask.index.columns(explainer.players().names());
        let (error_bound, cautions) = (explainer.error_bound(ask)?, explainer.notes());
        let (classes, is_score) = (site.circuit().classes.len(), scores.has_values());
        let decides = is_score && explainer.decides();
        let explained = if is_score { Vec::new() } else { ask.scope.explained(classes) };
        let decides = decides && matches!(ask.scope, Scope::Each | Scope::Predicted);
        let own_bases = ask.scope == Scope::Predicted || explainer.has_own_bases();
        Ok(Answer { players, error_bound, cautions, scores, scope: ask.scope, explained, decides, own_bases, flips })
    }

    /// Explains rows of a model of raw columns: with several outputs, each of them.
    #[cfg(feature = "server")]
    pub(crate) fn of_raw(
        explainer: &RawExplainer,
        rows: &RawRows,
        request: &Request,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let scores = explainer.scores(rows, request, watch)?;
        Ok(Answer {
            players: request.index.columns(explainer.players()),
            error_bound: if request.exact { 0.0 } else { explainer.error_bound() },
            cautions: Vec::new(),
            scores,
            scope: if explainer.width() > 1 { Scope::Each } else { Scope::Label },
            explained: Vec::new(),
            decides: false,
            own_bases: false,
            flips: None,
        })
    }

    /// About how many bytes it takes in memory.
    #[cfg(feature = "server")]
    pub(crate) fn bytes(&self) -> usize {
        let number = if self.scores.floats(0).is_some() { 8 } else { EXACT_BYTES };
        let flips = self.flips.iter().flatten().map(|flips| 24 + 8 * flips.len()).sum::<usize>();
        self.scores.distinct_rows() * self.scores.width() * number + self.scores.len() * 8 + flips
    }

    /// The base value and the scores of a row; each is a list if each class is explained.
    fn numbers(&self, row: usize) -> (Value, Value) {
        let numbers: Vec<Value> = match self.scores.floats(row) {
            Some(floats) => floats.iter().map(|&float| float.into()).collect(),
            None => self.scores.fractions(row).into_iter().flatten().map(|number| number.to_string().into()).collect(),
        };
        let of_class = |numbers: &[Value]| (numbers[0].clone(), Value::from(&numbers[1..]));
        if self.scope != Scope::Each {
            return of_class(&numbers);
        }
        let (bases, scores): (Vec<Value>, Vec<Value>) = numbers.chunks(self.players.len() + 1).map(of_class).unzip();
        (bases.into(), scores.into())
    }

    /// The sum of base value and scores of a row; a list if each class is explained; nothing for a single label.
    fn explained_value(&self, row: usize) -> Option<Value> {
        let values: Vec<u8> = self.explained.iter().map(|class| class.value(self.scores.prediction(row))).collect();
        match (&values[..], self.scope) {
            ([], _) => None,
            (values, Scope::Each) => Some(values.into()),
            (values, _) => Some(values[0].into()),
        }
    }

    /// The prediction for a row: the label or class, or the score; a list of scores if each class is explained.
    fn prediction(&self, row: usize) -> Value {
        let values: Vec<Value> = match (self.scores.value_floats(row), self.scores.value_fractions(row)) {
            (Some(values), _) => values.iter().map(|&value| value.into()).collect(),
            (_, Some(values)) => values.iter().map(|value| value.to_string().into()).collect(),
            _ => return self.scores.prediction(row).into(),
        };
        if self.scope == Scope::Each { values.into() } else { values[0].clone() }
    }

    /// The beginning of the JSON object, up to the first explanation.
    fn head(&self, base_value: Option<Value>) -> String {
        let mut head = json!({"players": self.players, "base_value": base_value, "error_bound": self.error_bound});
        if !self.cautions.is_empty() {
            head["cautions"] = json!(self.cautions);
        }
        let head = head.to_string();
        format!("{},\"explanations\":[", &head[..head.len() - 1])
    }

    /// A JSON object: the players, the base value if all entities share it, the error bound, and an object for each
    /// entity.
    pub(crate) fn json(self) -> impl Iterator<Item = Vec<u8>> {
        let (mut row, rows) = (0, self.scores.len());
        std::iter::from_fn(move || {
            (row < rows).then(|| {
                let mut text = Vec::with_capacity(if rows == 1 { 1 << 10 } else { PIECE + PIECE / 4 });
                if row == 0 {
                    let base_value = (!self.own_bases).then(|| self.numbers(0).0);
                    text.extend_from_slice(self.head(base_value).as_bytes());
                }
                // Write at least one row, even after a long head.
                loop {
                    let (base_value, scores) = self.numbers(row);
                    let base_value = Some(base_value).filter(|_| self.own_bases);
                    let flips = self.flips.as_ref().map(|flips| &flips[row]);
                    let (prediction, explained_value) = (self.prediction(row), self.explained_value(row));
                    let class = self.decides.then(|| self.scores.prediction(row));
                    let one = Explained { prediction, class, explained_value, base_value, scores, flips };
                    serde_json::to_writer(&mut text, &one).expect("a text takes everything");
                    row += 1;
                    if row == rows {
                        text.extend_from_slice(b"]}");
                        return text;
                    }
                    text.push(b',');
                    if text.len() >= PIECE {
                        return text;
                    }
                }
            })
        })
    }
}
