//! Figures that a page requests on demand: narrow ones for phones, a player's score over its values, all rows as a heat
//! map, an input as an image.

use super::live::{LiveReport, PageChoice};
use super::survey::value_of;
use super::{DependencePoint, HeatRow, RawValue, Subject, Survey, SwarmValue, dependence_figure, short_names};
use super::{image_figure, narrow_beeswarm_figure, narrow_importance_figure, picture, rows_figure};
use crate::data::Code;
use crate::explain::Players;
use crate::lit::Watch;
use crate::workflow::Error;

/// A request for a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureAsked {
    /// One of [`FigureAsked::NAMES`].
    pub name: String,
    /// The player of a dependence.
    pub player: Option<String>,
    /// The input of an image.
    pub input: Option<Vec<bool>>,
    /// Whether it is for a narrow window.
    pub narrow: bool,
}

impl FigureAsked {
    /// The figures that can be requested.
    pub const NAMES: [&'static str; 5] = ["importance", "beeswarm", "dependence", "rows", "image"];
}

impl LiveReport {
    /// One figure of a page, as SVG.
    pub fn figure(&self, choice: PageChoice, asked: &FigureAsked, watch: &Watch<'_>) -> Result<String, Error> {
        let explainer = self.menu().explainer(choice.game)?;
        let players = explainer.players();
        if asked.name == "image" {
            let input =
                asked.input.as_deref().ok_or_else(|| Error::setting("bits", "are missing: an image is of an input"))?;
            return Ok(image_figure(&picture(explainer, input, "this input".into(), watch)?));
        }
        let (subject, rows) = (self.subject(choice), self.rows());
        if rows.total() == 0 {
            return Err(Error::input("there are no rows to draw"));
        }
        let survey = self.survey(choice, watch)?;
        let names = short_names(players.names());
        match asked.name.as_str() {
            "importance" => {
                let named: Vec<_> = names.into_iter().zip(survey.importance.iter().copied()).collect();
                Ok(narrow_importance_figure(&named))
            }
            "beeswarm" => Ok(narrow_beeswarm_figure(&survey.swarm(subject, players, rows))),
            "rows" => {
                let row = |kind: usize| HeatRow {
                    prediction: survey.predictions[kind],
                    scores: survey.scores_of(kind).to_vec(),
                    count: rows.counts[kind],
                    row: rows.first[kind],
                };
                let all: Vec<HeatRow> = (0..rows.kinds.rows()).map(row).collect();
                Ok(rows_figure(&names, &survey.importance, &all, asked.narrow))
            }
            "dependence" => {
                let wanted = asked.player.as_deref().unwrap_or_default();
                let player = players.names().iter().position(|name| name == wanted);
                let player =
                    player.ok_or_else(|| Error::setting("player", format!("'{wanted}' is not one of the players")))?;
                let points = self.points(subject, players, player, &survey);
                Ok(dependence_figure(&names[player], &points, &self.cuts(players, player), asked.narrow))
            }
            other => {
                let known = FigureAsked::NAMES.join(", ");
                Err(Error::setting("name", format!("'{other}' is not one of {known}")))
            }
        }
    }

    /// The raw value and score of a player in each row of the table, or in each kind of rows if no raw values are
    /// known.
    fn points(&self, subject: &Subject, players: &Players, player: usize, survey: &Survey) -> Vec<DependencePoint> {
        let rows = self.rows();
        let first = players.members(player).next();
        let column = first.and_then(|first| subject.columns.iter().find(|column| column.features.contains(&first)));
        let holds_all =
            |column: &&super::ColumnWords| players.members(player).all(|feature| column.features.contains(&feature));
        let raw =
            column.filter(holds_all).and_then(|column| rows.table.columns.iter().find(|raw| raw.name == column.name));
        let bits = |kind: usize| value_of(subject, players, player, |feature| rows.kinds.get(kind, feature));
        match raw {
            Some(raw) => {
                let point = |(row, &kind): (usize, &u32)| DependencePoint {
                    value: raw.cells[row].clone(),
                    bits: bits(kind as usize),
                    score: survey.scores_of(kind as usize)[player],
                    count: 1,
                    row: row as u64 + 1,
                };
                rows.table.kinds.iter().enumerate().map(point).collect()
            }
            None => {
                let text = |bits: &SwarmValue| match (bits, first) {
                    (SwarmValue::Other(text), _) => text.clone(),
                    (bits, Some(first)) => subject.meaning(first, *bits == SwarmValue::One).to_string(),
                    (_, None) => String::new(),
                };
                let point = |kind: usize| DependencePoint {
                    value: RawValue::Text(text(&bits(kind)).into()),
                    bits: bits(kind),
                    score: survey.scores_of(kind)[player],
                    count: rows.counts[kind],
                    row: rows.first[kind],
                };
                (0..rows.kinds.rows()).map(point).collect()
            }
        }
    }

    /// The numbers at which the bits of a player change.
    fn cuts(&self, players: &Players, player: usize) -> Vec<f64> {
        let schema = self.menu().circuit().binariser.as_ref();
        let mut feature = 0;
        for column in schema.iter().flat_map(|schema| schema.columns()) {
            let own = feature..feature + column.bits();
            if players.members(player).any(|member| own.contains(&member)) {
                return match &column.code {
                    Code::Above(threshold) => vec![*threshold],
                    Code::Bins(cuts) => cuts.clone(),
                    _ => Vec::new(),
                };
            }
            feature = own.end;
        }
        Vec::new()
    }
}
