//! The content of a page as JSON; the page's script (`page_file`) draws it, in a report or on a server's live page.

use super::figure_text::counted;
use super::{Beside, MAX_DRAWN_NODES, Performance, Rows, Subject, Survey, base_words, beeswarm_figure, circuit_figure};
use super::{game_words, heat_map_figure, image_figure, importance_figure, picture, short_names};
use super::{thousands, waterfall_figure};
use crate::explain::Players;
use crate::lit::Watch;
use crate::workflow::{AskRequest, Asker, Error, Explainer, RowAnswer};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::str::FromStr;

/// The most kinds of rows for which a report stores sentences.
const MOST_SENTENCES: usize = 5_000;
/// Everything that a page shows.
pub struct Page<'a> {
    /// The subject of the page.
    pub subject: &'a Subject,
    /// The explainer that computes the scores.
    pub explainer: &'a Explainer,
    /// The rows, if there are any.
    pub rows: &'a Rows,
    /// The class, if there are several.
    pub class: Option<usize>,
    /// The scores.
    pub survey: &'a Survey,
    /// The class of each kind of rows, or its label ([`Rows::predicted`]).
    pub predicted: Option<&'a [u32]>,
    /// More facts, each with its name.
    pub facts: Vec<(String, String)>,
    /// A figure of times.
    pub timing: Option<String>,
    /// The other choices on offer, if a server answers.
    pub choices: Option<Value>,
    /// A second model to compare with.
    pub beside: Option<&'a Beside>,
}

/// A drawing of the page that is also available separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// The mean absolute score of each player.
    Importance,
    /// The scores of all rows.
    Beeswarm,
    /// From the base value to the decision of one row.
    Waterfall,
    /// The mean absolute interaction of each pair.
    Interactions,
    /// The circuit itself, if it is small.
    Circuit,
    /// One row as an image, with its scores over the pixels or regions.
    Image,
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "importance" => Ok(Figure::Importance),
            "beeswarm" => Ok(Figure::Beeswarm),
            "waterfall" => Ok(Figure::Waterfall),
            "interactions" => Ok(Figure::Interactions),
            "circuit" => Ok(Figure::Circuit),
            "image" => Ok(Figure::Image),
            other => {
                Err(format!("'{other}' is not one of importance, beeswarm, waterfall, interactions, circuit, image"))
            }
        }
    }
}

impl Page<'_> {
    /// The players.
    pub fn players(&self) -> &Players {
        self.explainer.players()
    }

    /// The data from which the script draws the page.
    pub fn json(&self) -> Value {
        let Page { subject, rows, survey, explainer, .. } = self;
        let players = self.players();
        let live = self.choices.is_some();
        let total = rows.total();
        let mut facts = subject.facts.clone();
        if total > 0 {
            let kinds = counted(rows.kinds.rows() as u64, "kind", "kinds");
            facts.push(("Rows".into(), format!("{}, of {kinds} (distinct rows of bits)", thousands(total))));
        }
        let performance = self.predicted.and_then(|predicted| Performance::new(subject, rows, predicted));
        if let Some(performance) = &performance {
            facts.push(("Accuracy".into(), performance.words()));
        }
        facts.extend(self.facts.iter().cloned());
        let none = json!({"distributions": [], "players": [], "classes": []});
        json!({
            "live": live,
            "title": subject.title,
            "facts": facts,
            "features": subject.features,
            "columns": subject.columns,
            "labels": subject.labels,
            "classes": subject.classes,
            "shares": self.shares(),
            "performance": performance.as_ref().map(Performance::json),
            "grid": self.grid(),
            "compiled": explainer.circuit().network.is_none(),
            "output": if explainer.is_of_scores() { "score" } else { "label" },
            "game": {
                "distribution": explainer.request().distribution.name(),
                "players": players.kind(),
                "class": self.class,
                "words": game_words(players, explainer.distribution()),
                "base": base_words(players, explainer.distribution(), explainer.is_of_scores()),
            },
            "choices": self.choices.clone().unwrap_or(none),
            "players": players.names(),
            "short": short_names(players.names()),
            "player_of": (0..players.feature_count()).map(|feature| players.of(feature)).collect::<Vec<_>>(),
            "beside": self.beside.map(|beside| beside.json(rows)),
            "base_value": survey.base_value,
            "importance": survey.importance,
            "figures": self.figures(),
            "notes": self.notes(),
            "rows": total,
            "shown": rows.table.kinds.len(),
            "kinds": if live { Value::Null } else { self.kinds() },
            "table": if live || rows.table.kinds.is_empty() { Value::Null } else { self.table() },
        })
    }

    /// For several classes, the share of the rows for which each is predicted.
    fn shares(&self) -> Option<Vec<f64>> {
        let several = self.subject.classes.len() > 2;
        let total = self.rows.total();
        let predicted = self.predicted.filter(|_| several && total > 0)?;
        let mut counts = vec![0u64; self.subject.classes.len()];
        for (&class, &count) in predicted.iter().zip(&self.rows.counts) {
            counts[class as usize] += count;
        }
        Some(counts.into_iter().map(|count| count as f64 / total as f64).collect())
    }

    /// If features are pixels: the layout, and the pixel of each feature.
    fn grid(&self) -> Option<Value> {
        let circuit = self.explainer.circuit();
        let grid = circuit.grid().ok()??;
        let pixels = grid.pixels(circuit.features.len(), circuit.binariser.as_ref()).ok()?;
        Some(json!({"height": grid.height, "width": grid.width, "pixels": pixels}))
    }

    fn figures(&self) -> Value {
        json!({
            "importance": self.figure(Figure::Importance, 0).ok(),
            "beeswarm": self.figure(Figure::Beeswarm, 0).ok(),
            "interactions": self.heat_map(None).ok(),
            "image": self.figure(Figure::Image, 0).ok(),
            "circuit": self.figure(Figure::Circuit, 0).ok(),
            "timing": self.timing,
        })
    }

    /// One figure, or why it cannot be drawn. A waterfall or an image shows this row, counted from 0.
    pub fn figure(&self, figure: Figure, row: usize) -> Result<String, Error> {
        let Page { subject, rows, survey, .. } = self;
        let players = self.players();
        if rows.total() == 0 && figure != Figure::Circuit {
            return Err(Error::input("there are no rows to draw"));
        }
        match figure {
            Figure::Importance => {
                let named = short_names(players.names()).into_iter().zip(survey.importance.iter().copied());
                Ok(importance_figure(&named.collect::<Vec<_>>()))
            }
            Figure::Beeswarm => Ok(beeswarm_figure(&survey.swarm(subject, players, rows))),
            Figure::Waterfall => {
                let kind = self.kind_of(row)?;
                Ok(waterfall_figure(&self.waterfall(kind, Some(row), format!("row {}", row + 1))))
            }
            Figure::Image => {
                let entity = rows.kinds.row(self.kind_of(row)?);
                let picture = picture(self.explainer, &entity, format!("row {}", row + 1), &Watch::unlimited())?;
                Ok(image_figure(&picture))
            }
            Figure::Interactions => self.heat_map(self.interaction_part().as_deref()),
            Figure::Circuit => {
                let names: Vec<String> = subject.features.iter().map(|feature| feature.name.clone()).collect();
                circuit_figure(self.explainer.label(self.class)?, &names).ok_or_else(|| {
                    let problem = format!("the circuit is too large to be drawn: more than {MAX_DRAWN_NODES} nodes");
                    Error::input(problem)
                })
            }
        }
    }

    /// The kind of a row, counted from 0.
    fn kind_of(&self, row: usize) -> Result<usize, Error> {
        let none = || Error::input(format!("there is no row {} ({} rows)", row + 1, thousands(self.rows.total())));
        self.rows.table.kinds.get(row).map(|kind| *kind as usize).ok_or_else(none)
    }

    fn heat_map(&self, part: Option<&str>) -> Result<String, Error> {
        let (players, interactions) = (self.players(), &self.survey.interactions);
        match interactions.is_empty() {
            true => Err(Error::input(format!("there are no interactions of {} players to draw", players.len()))),
            false => {
                let (names, means) = (short_names(players.names()), &self.survey.interaction_means);
                Ok(heat_map_figure(&names, interactions, means, part))
            }
        }
    }

    fn notes(&self) -> Value {
        let Page { rows, survey, .. } = self;
        let interactions = match survey.interaction_kinds {
            0 => String::new(),
            _ => {
                let of = self.interaction_part().unwrap_or_else(|| "all rows".into());
                format!("Mean absolute Shapley interaction over {of}.")
            }
        };
        let shown = rows.table.kinds.len() as u64;
        let table = match shown < rows.total() && shown > 0 && !rows.table.of_kinds {
            true => format!(
                "The first {} of {} rows can be chosen; the figures are of all rows unless they say otherwise.",
                thousands(shown),
                thousands(rows.total())
            ),
            false => String::new(),
        };
        json!({"interactions": interactions, "table": table})
    }

    /// The rows that the interactions cover, if not all.
    pub fn interaction_part(&self) -> Option<String> {
        let Page { rows, survey, .. } = self;
        let looked_at = survey.interaction_kinds;
        (0 < looked_at && looked_at < rows.kinds.rows()).then(|| {
            let mut counts = rows.counts.clone();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let covered: u64 = counts[..looked_at].iter().sum();
            let share = 100.0 * covered as f64 / rows.total() as f64;
            format!("the {} most frequent kinds of rows ({share:.1} % of all rows)", thousands(looked_at as u64))
        })
    }

    fn kinds(&self) -> Value {
        let Page { rows, survey, .. } = self;
        let bytes: Vec<u8> = survey.scores.iter().flat_map(|score| score.to_le_bytes()).collect();
        let [why, change] = self.sentences();
        json!({
            "why": why,
            "change": change,
            "bits": (0..rows.kinds.rows()).map(|kind| rows.bits_text(kind)).collect::<Vec<_>>(),
            "count": rows.counts,
            "score": survey.values,
            "prediction": survey.predictions.iter().map(|&label| u8::from(label)).collect::<Vec<_>>(),
            "class": self.predicted,
            "scores": BASE64_STANDARD.encode(bytes),
        })
    }

    /// The sentences about each kind of rows: its main reasons, and the smallest change; `None` if there are too many
    /// kinds, or if the circuit is too large to find the changes.
    fn sentences(&self) -> [Option<Vec<String>>; 2] {
        let Page { rows, survey, explainer, .. } = self;
        let kinds = rows.kinds.rows();
        if kinds > MOST_SENTENCES {
            return [None, None];
        }
        let why = |kind: usize| {
            let decided = f64::from(u8::from(survey.predictions[kind]));
            let value = survey.values.as_ref().map_or(decided, |values| values[kind]);
            explainer.main_reasons(&rows.kinds.row(kind), survey.base_value, value, survey.scores_of(kind)).ok()
        };
        [(0..kinds).map(why).collect(), self.changes()]
    }

    /// The smallest change of each kind in a sentence, if it can be found.
    fn changes(&self) -> Option<Vec<String>> {
        let circuit = self.explainer.circuit();
        if circuit.features.len() > AskRequest::MOST_ASKED_FEATURES || self.explainer.is_of_scores() {
            return None;
        }
        let request = AskRequest::smallest_change(circuit);
        let watch = Watch::unlimited();
        let asker = Asker::prepare(circuit.clone(), None, &request, &watch).ok()?;
        let mut said = Vec::new();
        let mut add = |answer: &RowAnswer| {
            said.push(asker.sentence(answer).unwrap_or_default());
            Ok(())
        };
        asker.ask_rows(&self.rows.kinds, &mut add, &watch).ok()?;
        Some(said)
    }

    fn table(&self) -> Value {
        let table = &self.rows.table;
        json!({
            "shown": table.kinds.len(),
            "columns": table.columns,
            "kind": table.kinds,
            "label": table.labels(self.subject.class),
            "known": table.known(self.subject),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::circuit::{CircuitBuilder, NamedCircuit};
    use crate::data::Tally;
    use crate::lit::{Var, Watch};
    use crate::workflow::{Request, Scope};

    pub(in crate::report) fn page_of(feature: &str, make: impl FnOnce(&Page<'_>)) {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let root = builder.literal(Var::new(0).positive()).unwrap();
        let circuit = builder.finish(root).unwrap();
        let named = NamedCircuit::new(circuit, vec![feature.into(), "y".into()]).unwrap();
        let subject = Subject::new(&named, None).unwrap();
        let counted = [(vec![true, false], vec![0, 3]), (vec![false, false], vec![1, 1])];
        let rows = Rows::of_tally(&Tally::from_counts(2, counted.into_iter()), "rows");
        let watch = Watch::unlimited();
        let explainer = Explainer::new(&named, &Request::default()).unwrap();
        let survey = Survey::new(&explainer, Scope::Label, &rows, &watch).unwrap();
        let survey = survey.with_interactions(&explainer, Scope::Label, &rows, &watch).unwrap();
        let predicted = rows.predicted(&named, &watch).unwrap();
        make(&Page {
            predicted: predicted.as_deref(),
            subject: &subject,
            explainer: &explainer,
            rows: &rows,
            class: None,
            survey: &survey,
            facts: Vec::new(),
            timing: None,
            choices: None,
            beside: None,
        });
    }

    #[test]
    fn interactions_of_some_rows_say_of_which() {
        page_of("x", |page| {
            assert_eq!(page.json()["notes"]["interactions"], "Mean absolute Shapley interaction over all rows.");
            let mut survey = page.survey.clone();
            survey.interaction_kinds = 1;
            let some = Page { survey: &survey, facts: Vec::new(), timing: None, choices: None, ..*page };
            let part = "the 1 most frequent kinds of rows (60.0 % of all rows)";
            assert_eq!(some.interaction_part().as_deref(), Some(part));
            assert_eq!(some.json()["notes"]["interactions"], format!("Mean absolute Shapley interaction over {part}."));
        });
    }

    #[test]
    fn a_waterfall_leads_to_the_decision() {
        page_of("x", |page| {
            let shown = page.waterfall(1, None, "second".into());
            let sum: f64 = shown.steps.iter().map(|step| step.score).sum();
            assert_eq!((shown.base_value + sum, shown.prediction, shown.label.as_str()), (0.0, false, "0"));
            assert_eq!((shown.steps[0].name.as_str(), shown.steps[0].detail.as_str()), ("x", "0"));
        });
    }
}
