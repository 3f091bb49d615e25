//! The waterfall of a row, with raw values next to the meaning of its bits.

use super::{Page, Subject, Waterfall, WaterfallStep, short_names};
use crate::explain::Players;

impl Page<'_> {
    /// The steps from the base value to the decision for a kind of rows, with the raw values of a row.
    pub fn waterfall(&self, kind: usize, row: Option<usize>, title: String) -> Waterfall {
        let Page { subject, rows, survey, .. } = self;
        let players = self.players();
        let bits = rows.kinds.row(kind);
        let raw = |column: &str| {
            let column = rows.table.columns.iter().find(|raw| raw.name == column)?;
            column.cells.get(row?)?.text()
        };
        let detail = |player: usize| detail_of(subject, players, player, &bits, &raw);
        let names = short_names(players.names());
        let step = |(player, &score): (usize, &f64)| WaterfallStep {
            name: names[player].clone(),
            detail: detail(player),
            score,
        };
        let prediction = survey.predictions[kind];
        Waterfall {
            title,
            base_value: survey.base_value,
            prediction,
            score: survey.values.as_ref().map(|values| values[kind]),
            label: subject.labels[usize::from(prediction)].clone(),
            steps: survey.scores_of(kind).iter().enumerate().map(step).collect(),
        }
    }
}

/// The meaning of a player's bits, with the raw value if it is known.
fn detail_of(
    subject: &Subject,
    players: &Players,
    player: usize,
    bits: &[bool],
    raw: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut members = players.members(player);
    let (first, second) = (members.next(), members.next());
    match (first, second) {
        (Some(feature), None) => {
            let meaning = subject.meaning(feature, bits[feature]);
            let column = subject.columns.iter().find(|column| column.features.contains(&feature));
            match column.filter(|column| !column.one_hot).and_then(|column| raw(&column.name)) {
                Some(value) if value != meaning => format!("{value}, {meaning}"),
                _ => meaning.to_string(),
            }
        }
        _ => {
            let ones = players.members(player).filter(|&feature| bits[feature]);
            let said: Vec<&str> = match players.is_one_hot(player) {
                true => ones.map(|feature| subject.meaning(feature, true)).collect(),
                false => ones.map(|feature| subject.features[feature].name.as_str()).collect(),
            };
            said.join(", ")
        }
    }
}
