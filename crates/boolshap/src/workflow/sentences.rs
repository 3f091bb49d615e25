//! Sentences that answer a person's first questions: why was this decided, what would change it, what is enough for it,
//! how far is it from another decision, do protected values matter. Page, report and command line show the same
//! sentences.

use super::value_words::ValueWords;
use super::{AskRequest, Asker, Error, Explainer, Found, PlayersFrom, Question, RowAnswer, Scope};
use crate::circuit::NamedCircuit;
use crate::data::{Bits, short_number};
use crate::explain::{Index, Players};
use crate::lit::{Watch, thousands};
use crate::query::{Counterfactuals, Space};
use dashu_int::UBig;

/// The most players that a sentence names.
const NAMED: usize = 3;
/// The most changes that a sentence lists one by one.
const MOST_CHANGES: usize = 4;
/// A sentence names players until they make up this share of all scores in their direction.
const MAIN_SHARE: f64 = 0.6;
/// Scores below this are not worth a sentence; the error of floats is smaller.
const NOTHING: f64 = 1e-9;

/// Words with commas between them and "and" before the last.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A score with its sign: two decimals, or more where these would be zeros.
fn signed(score: f64) -> String {
    let digits = if score.abs() >= 0.005 { format!("{:.2}", score.abs()) } else { format!("{:.1e}", score.abs()) };
    format!("{}{digits}", if score < 0.0 { '\u{2212}' } else { '+' })
}

impl Explainer {
    /// What was decided for a row, why, and the smallest change that flips it if that is quick to find, in sentences.
    /// Nothing for scores other than the Shapley values of one label in floats.
    pub fn in_words(&self, row: &[bool], watch: &Watch<'_>) -> Result<Option<String>, Error> {
        let ask = self.ask();
        if ask.exact || ask.index != Index::Shapley || matches!(ask.scope, Scope::Each | Scope::Difference(..)) {
            return Ok(None);
        }
        let mut rows = Bits::new(row.len());
        rows.push(row);
        let scores = self.explain_as(&rows, ask, watch)?;
        let predicted = scores.prediction(0);
        let label = match ask.scope {
            Scope::Class(class) => u8::from(predicted == class as u32),
            Scope::Predicted => 1,
            _ => u8::from(predicted == 1),
        };
        let value = scores.value_floats(0).map(|values| values[0]);
        let decided = match value {
            Some(value) => format!("It scores {}.", short_number(value)),
            None => {
                let name = self.circuit().prediction_names().and_then(|names| names.get(predicted as usize).cloned());
                let name = name.filter(|name| *name != predicted.to_string());
                format!("It is decided {predicted}{}.", name.map_or(String::new(), |name| format!(" ({name})")))
            }
        };
        let why = self.main_reasons(row, scores.base_value(0), value.unwrap_or(label.into()), scores.scores(0))?;
        let change = self.smallest_change(row, watch)?.map_or(String::new(), |change| format!(" {change}"));
        Ok(Some(format!("{decided} {why}{change}")))
    }

    /// The smallest change of columns that flips a decision, for circuits small enough for a table of all inputs.
    fn smallest_change(&self, row: &[bool], watch: &Watch<'_>) -> Result<Option<String>, Error> {
        let circuit = self.circuit();
        let is_small = circuit.features.len() <= AskRequest::MOST_ASKED_FEATURES && !self.is_of_scores();
        if !is_small || circuit.check_compiled().is_err() {
            return Ok(None);
        }
        let columns = Players::columns(&circuit.features, circuit.binariser.as_ref());
        let has_value = |column: usize| columns.members(column).filter(|&feature| row[feature]).count() == 1;
        if (0..columns.len()).any(|column| columns.is_one_hot(column) && !has_value(column)) {
            return Ok(None);
        }
        let request = AskRequest::smallest_change(circuit);
        let asker = Asker::prepare(circuit.clone(), None, &request, watch)?;
        Ok(asker.sentence(&asker.answer_watched(1, row, watch)?))
    }

    /// Which players lead from the base value to this value, the decision or the score of a row: those with the largest
    /// scores in that direction.
    pub fn main_reasons(&self, row: &[bool], base_value: f64, value: f64, scores: &[f64]) -> Result<String, Error> {
        let space = Space::new(self.players().clone(), None)?;
        let words = ValueWords::new(self.circuit(), &space);
        let way = if value >= base_value { 1.0 } else { -1.0 };
        let mut order: Vec<usize> = (0..scores.len()).filter(|&player| way * scores[player] > NOTHING).collect();
        order.sort_by(|&a, &b| scores[b].abs().total_cmp(&scores[a].abs()).then(a.cmp(&b)));
        let total: f64 = order.iter().map(|&player| scores[player].abs()).sum();
        let mut sum = 0.0;
        let mut main = Vec::new();
        for &player in order.iter().take(NAMED) {
            if sum >= MAIN_SHARE * total {
                break;
            }
            sum += scores[player].abs();
            main.push(format!("{} ({})", words.say_short(player, row), signed(scores[player])));
        }
        Ok(match main.len() {
            0 => "Nothing that is known of it moves this decision.".into(),
            _ => format!("Mainly because {}.", listed(&main)),
        })
    }
}

impl AskRequest {
    /// The most features of a circuit that is asked in passing.
    pub const MOST_ASKED_FEATURES: usize = 16;

    /// The question that most people ask: the smallest change that flips a decision. Columns are the players if a
    /// column has several features.
    pub fn smallest_change(circuit: &NamedCircuit) -> Self {
        let columns = Players::columns(&circuit.features, circuit.binariser.as_ref());
        let has_several = columns.len() < circuit.features.len();
        let players = if has_several { PlayersFrom::Columns } else { PlayersFrom::Features };
        AskRequest { players, limit: Some(1), ..AskRequest::new(Question::Counterfactual) }
    }
}

impl Asker {
    /// The answer for a row in a sentence or two; nothing for questions whose answers are lists and tables.
    pub fn sentence(&self, answer: &RowAnswer) -> Option<String> {
        let bits = &answer.entity.bits;
        let noun = if self.space().players().kind() == "columns" { "column" } else { "player" };
        match &answer.found {
            Found::Counterfactuals(found) => Some(self.change_sentence(answer, found)),
            Found::Reasons(found) if self.request().question == Question::Reason => Some(match &found.sets[..] {
                [] => "There is no such reason.".into(),
                [only, ..] if only.is_empty() => "Nothing is needed for it: every input is decided so.".into(),
                [first, ..] => {
                    let said: Vec<String> = first.iter().map(|&player| self.words.say_short(player, bits)).collect();
                    let all = first.len() == self.space().players().len();
                    let rest = if all { "all of it is needed" } else { "whatever the rest is" };
                    format!("It is enough that {}: {rest}.", listed(&said))
                }
            }),
            Found::Robustness(found) => Some(match found.radius {
                None => "No change leads to another decision.".into(),
                Some(1) => format!("One {noun} is enough to change it."),
                Some(radius) => format!("It changes only if at least {radius} {noun}s change."),
            }),
            Found::Bias(None) => Some("Other protected values alone never change this decision.".into()),
            Found::Bias(Some(other)) => {
                let said = self.short_change(bits, other);
                Some(format!("It would be decided otherwise with {said}, all else equal."))
            }
            _ => None,
        }
    }

    /// Whether protected values matter for any input, in a sentence.
    pub(super) fn bias_sentence(&self, inputs: &UBig) -> String {
        match inputs {
            none if *none == UBig::ZERO => "No decision at all hangs on them.".into(),
            count => {
                let count = count.to_string();
                let many = count.parse().map_or(count, thousands);
                format!("Of all possible inputs, {many} are decided otherwise with other protected values.")
            }
        }
    }

    /// What changes between two inputs, numbers with few digits.
    pub(super) fn short_change(&self, from: &[bool], to: &[bool]) -> String {
        let changed = self.space().changed(from, to);
        let said: Vec<String> = changed.iter().map(|&player| self.words.say_change_short(player, from, to)).collect();
        listed(&said)
    }

    fn change_sentence(&self, answer: &RowAnswer, found: &Counterfactuals) -> String {
        let (Some(distance), Some(first)) = (&found.distance, found.listed.first()) else {
            return "No change that is allowed leads to another decision.".into();
        };
        let changed = self.space().changed(&answer.entity.bits, &first.input);
        let one = |&player: &usize| self.words.say_change_short(player, &answer.entity.bits, &first.input);
        let mut said: Vec<String> = changed.iter().take(MOST_CHANGES).map(one).collect();
        if changed.len() > MOST_CHANGES {
            said.push(format!("{} more changes", changed.len() - MOST_CHANGES));
        }
        let said = listed(&said);
        let to = match self.circuit.prediction_names().filter(|names| names.len() > 2 && self.request.class.is_none()) {
            Some(names) => {
                let class = self.classifier.entity(&first.input, "it").map(|entity| entity.class).ok();
                class.and_then(|class| names.get(class).cloned()).map_or(String::new(), |name| format!(" to {name}"))
            }
            None => String::new(),
        };
        let kind = match self.request.costs {
            Some(_) => format!("cheapest change that flips it{to} (cost {})", super::ask_answers::number(distance)),
            None => format!("smallest change that flips it{to}"),
        };
        let others = match &found.count {
            count if *count <= UBig::ONE => String::new(),
            count if *count == UBig::from(2u8) => " (Another is as small.)".into(),
            count => {
                let others = (count - UBig::ONE).to_string();
                format!(" ({} others are as small.)", others.parse().map_or(others, thousands))
            }
        };
        format!("The {kind}: {said}.{others}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{CompileRequest, Request, compile};

    fn circuit() -> crate::NamedCircuit {
        let model = crate::Model::from_json(
            r#"{"format": "boolshap model", "version": 1, "features": ["rain", "wind", "roof"],
            "classes": null, "schema": null, "marginals": null, "hidden": [],
            "output": {"step": {"weights": "++-", "need": "2"}}, "provenance": {}}"#,
        )
        .unwrap();
        compile(&model, &CompileRequest::default()).unwrap().circuit
    }

    #[test]
    fn the_main_reasons_are_the_largest_scores_of_the_direction() {
        let circuit = circuit();
        let explainer = Explainer::new(&circuit, &Request::default()).unwrap();
        let row = [true, true, false];
        let said = |value, scores: &[f64]| explainer.main_reasons(&row, 0.5, value, scores).unwrap();
        assert_eq!(said(1.0, &[0.5, 0.1, -0.1]), "Mainly because rain is 1 (+0.50).");
        assert_eq!(said(1.0, &[0.2, 0.25, 0.05]), "Mainly because wind is 1 (+0.25) and rain is 1 (+0.20).");
        assert_eq!(said(0.0, &[0.2, 0.0, -0.7]), "Mainly because roof is 0 (\u{2212}0.70).");
        assert_eq!(said(0.0, &[0.5, 0.5, 0.0]), "Nothing that is known of it moves this decision.");
        assert_eq!(said(1.0, &[0.001, 0.0, 0.0]), "Mainly because rain is 1 (+1.0e-3).");
        let words = explainer.in_words(&[true, true, true], &Watch::unlimited()).unwrap().unwrap();
        assert_eq!(
            words,
            "It is decided 1. Mainly because rain is 1 (+0.33) and wind is 1 (+0.33). The smallest change that flips it: \
             rain 0 instead of 1. (Another is as small.)"
        );
        let exact = Explainer::new(&circuit, &Request { exact: true, ..Request::default() }).unwrap();
        assert_eq!(exact.in_words(&row, &Watch::unlimited()).unwrap(), None);
    }

    #[test]
    fn questions_are_answered_in_a_sentence() {
        let circuit = circuit();
        let said = |question: Question, row: &[bool], set: &[(&str, &str)]| {
            let mut request = AskRequest::new(question);
            set.iter().for_each(|(name, text)| request.set(name, text).unwrap());
            let asker = Asker::new(&circuit, &request).unwrap();
            asker.sentence(&asker.answer(1, row).unwrap()).unwrap()
        };
        let row = [true, true, true];
        assert_eq!(
            said(Question::Reason, &row, &[]),
            "It is enough that rain is 1 and wind is 1: whatever the rest is."
        );
        let change = said(Question::Counterfactual, &row, &[]);
        assert_eq!(change, "The smallest change that flips it: rain 0 instead of 1. (Another is as small.)");
        let frozen = said(Question::Counterfactual, &row, &[("freeze", "rain,wind")]);
        assert_eq!(frozen, "No change that is allowed leads to another decision.");
        assert_eq!(
            said(Question::Robustness, &[true, true, false], &[]),
            "It changes only if at least 2 players change."
        );
        assert_eq!(said(Question::Robustness, &row, &[]), "One player is enough to change it.");
        let fair = said(Question::Bias, &row, &[("protected", "roof")]);
        assert_eq!(fair, "Other protected values alone never change this decision.");
        let biased = said(Question::Bias, &row, &[("protected", "wind")]);
        assert_eq!(biased, "It would be decided otherwise with wind 0 instead of 1, all else equal.");
    }
}
