//! Answers to questions: what was found for a row, with all that a certificate needs, as JSON and in words; and the
//! summary of all rows.

use super::ask_claims::Verdict;
use super::ask_codes::Letter;
use super::{Asker, Error, Question};
use crate::explain::Distribution;
use crate::lit::Watch;
use crate::query::{Attribution, Counterfactual, Counterfactuals, Entity, Reasons, Robustness};
use crate::query::{GroupAcceptance, acceptance, differences, mean_over_inputs, properties};
use dashu_int::UBig;
use dashu_ratio::RBig;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The largest whole number that every reader of JSON keeps exact.
const EXACT_IN_JSON: u64 = 1 << 53;
/// The most inputs for which the mean radius is computed without being asked for.
const MEAN_INPUTS: usize = 1 << 22;

/// The answer for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowAnswer {
    /// The row, counted from 1.
    pub row: u64,
    /// Its bits and class.
    pub entity: Entity,
    /// What was found.
    pub found: Found,
}

/// What was found for a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Sufficient or contrastive reasons.
    Reasons(Reasons),
    /// Each player's part in the reasons.
    Attribution(Vec<Attribution>),
    /// The nearest inputs of another class.
    Counterfactuals(Counterfactuals),
    /// The radius.
    Robustness(Robustness),
    /// An input that differs in protected players only and is of another class.
    Bias(Option<Vec<bool>>),
    /// The class that the second classifier gives.
    OtherClass(usize),
    /// The verdicts on others' claims about the row.
    Verdicts(Vec<Verdict>),
    /// Reason codes and a change.
    Codes(Letter),
    /// The question is not about rows.
    Nothing,
}

impl Found {
    /// Its approximate size in the cache, in small parts.
    pub(super) fn weight(&self) -> usize {
        match self {
            Found::Reasons(reasons) => reasons.sets.len(),
            Found::Counterfactuals(found) => found.listed.len(),
            Found::Attribution(all) => all.len(),
            _ => 1,
        }
    }
}

/// The summary of all rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many rows were answered.
    pub rows: u64,
    /// How many rows have each radius.
    pub radii: BTreeMap<usize, u64>,
    /// How many rows are biased.
    pub biased: u64,
    /// The rows on which two classifiers differ.
    pub differing: Vec<u64>,
    /// For each group of values of protected players, the rows of each class.
    pub groups: BTreeMap<Vec<bool>, BTreeMap<usize, u64>>,
}

impl Summary {
    pub(super) fn add(&mut self, answer: &RowAnswer) {
        self.rows += 1;
        match &answer.found {
            Found::Robustness(Robustness { radius: Some(radius), .. }) => *self.radii.entry(*radius).or_default() += 1,
            Found::Bias(other) => self.biased += u64::from(other.is_some()),
            Found::OtherClass(class) if *class != answer.entity.class => self.differing.push(answer.row),
            _ => {}
        }
    }

    /// Counts a row of a group.
    pub(super) fn add_to_group(&mut self, group: Vec<bool>, class: usize) {
        *self.groups.entry(group).or_default().entry(class).or_default() += 1;
    }

    /// The radii of the rows: their mean, and how many rows have each.
    pub(super) fn put_radii(&self, all: &mut Map<String, Value>) {
        all.insert("mean_radius".into(), self.mean_radius().map_or(Value::Null, |mean| number(&mean)));
        let bars = self.radii.iter().map(|(radius, rows)| (radius.to_string(), Value::from(*rows)));
        all.insert("histogram".into(), Value::Object(bars.collect()));
    }

    /// The mean radius of the rows that have one.
    pub fn mean_radius(&self) -> Option<RBig> {
        let rows: u64 = self.radii.values().sum();
        let sum = self.radii.iter().fold(UBig::ZERO, |sum, (&radius, &rows)| sum + UBig::from(radius) * rows);
        (rows > 0).then(|| RBig::from_parts(sum.into(), rows.into()))
    }
}

impl Asker {
    /// A row's answer as a JSON object.
    pub fn json(&self, answer: &RowAnswer) -> Value {
        let mut object = json!({"row": answer.row, "prediction": answer.entity.class});
        let mut put = |key: &str, value: Value| object[key] = value;
        match &answer.found {
            Found::Reasons(reasons) => {
                put("reasons", reasons.sets.iter().map(|set| self.names(set)).collect());
                put("count", reasons.count.as_ref().map_or(Value::Null, big));
                put("complete", reasons.is_complete().into());
            }
            Found::Attribution(all) => put("players", self.attribution_json(all)),
            Found::Counterfactuals(found) => {
                put("distance", found.distance.as_ref().map_or(Value::Null, number));
                put("count", big(&found.count));
                put("counterfactuals", found.listed.iter().map(|one| self.changes(&answer.entity, one)).collect());
                put("inputs", found.listed.iter().map(|one| Value::from(bit_text(&one.input))).collect());
                let words = |one: &Counterfactual| Value::from(self.change_words(&answer.entity, one));
                put("words", found.listed.iter().map(words).collect());
                if self.request.sentences {
                    let short = |one: &Counterfactual| Value::from(self.short_change(&answer.entity.bits, &one.input));
                    put("changes", found.listed.iter().map(short).collect());
                }
                if self.request.beyond {
                    put("distances", found.listed.iter().map(|one| number(&one.distance)).collect());
                }
            }
            Found::Robustness(found) => {
                put("radius", found.radius.map_or(Value::Null, Value::from));
                if self.request.radius.is_some() {
                    put("others", big(&found.others.iter().fold(UBig::ZERO, |sum, count| sum + count)));
                    put("others_at", found.others.iter().map(big).collect());
                }
            }
            Found::Bias(other) => {
                put("biased", other.is_some().into());
                put("other", other.as_ref().map_or(Value::Null, |input| bit_text(input).into()));
            }
            Found::OtherClass(class) => put("other", (*class).into()),
            Found::Verdicts(verdicts) => {
                put("claims", verdicts.iter().map(|verdict| self.verdict_json(&answer.entity, verdict)).collect());
            }
            Found::Codes(letter) => {
                let Value::Object(parts) = self.letter_json(&answer.entity, letter) else { unreachable!("an object") };
                parts.into_iter().for_each(|(key, value)| put(&key, value));
            }
            Found::Nothing => {}
        }
        if let Some(sentence) = self.sentence(answer).filter(|_| self.request.sentences) {
            object["sentence"] = sentence.into();
        }
        object
    }

    /// The names of players.
    pub(super) fn names(&self, players: &[usize]) -> Value {
        let names = self.space().players().names();
        players.iter().map(|&player| Value::from(names[player].as_str())).collect()
    }

    fn attribution_json(&self, all: &[Attribution]) -> Value {
        let names = self.space().players().names();
        let one = |(name, part): (&String, &Attribution)| {
            json!({
                "name": name, "necessary": part.is_necessary(), "relevant": part.is_relevant(),
                "share": part.share().to_string(), "shapley": part.shapley.to_string(),
                "banzhaf": part.banzhaf.to_string(),
            })
        };
        names.iter().zip(all).map(one).collect()
    }

    /// What a counterfactual changes, as objects.
    pub(super) fn changes(&self, entity: &Entity, one: &Counterfactual) -> Value {
        let names = self.space().players().names();
        let change = |&player: &usize| {
            let [from, to] = [&entity.bits, &one.input].map(|input| self.words.value(player, input));
            json!({"player": names[player], "from": from, "to": to})
        };
        one.changed.iter().map(change).collect()
    }

    /// The same in words.
    pub fn change_words(&self, entity: &Entity, one: &Counterfactual) -> String {
        let change = |&player: &usize| self.words.say_change(player, &entity.bits, &one.input);
        one.changed.iter().map(change).collect::<Vec<_>>().join("; ")
    }

    /// The values of a set of players of an entity, in words.
    pub fn reason_words(&self, entity: &Entity, set: &[usize]) -> String {
        set.iter().map(|&player| self.words.say(player, &entity.bits)).collect::<Vec<_>>().join("; ")
    }

    /// The fields of the answer besides the rows.
    pub fn overall(&self, summary: &Summary, watch: &Watch<'_>) -> Result<Map<String, Value>, Error> {
        let mut all = Map::new();
        let mut put = |key: &str, value: Value| drop(all.insert(key.into(), value));
        match self.request.question {
            Question::Robustness => {
                summary.put_radii(&mut all);
                if let Some(mean) = self.mean_radius_of_inputs(watch)? {
                    let mean = mean.map_or(Value::Null, |mean| mean.to_string().into());
                    all.insert("mean_radius_of_inputs".into(), mean);
                }
                return Ok(all);
            }
            Question::Bias => {
                if let Some(bias) = &self.parts.bias {
                    let pair = bias.witness(&self.classifier, watch)?;
                    put("classifier_biased", pair.is_some().into());
                    if self.request.sentences {
                        put("sentence", self.bias_sentence(bias.inputs()).into());
                    }
                    put("inputs", big(bias.inputs()));
                    put("witness", pair.map_or(Value::Null, |pair| pair.map(|input| bit_text(&input)).to_vec().into()));
                    put("biased_rows", summary.biased.into());
                    put("groups", self.groups_json(summary));
                    put("acceptance", self.acceptance_json(watch)?);
                }
            }
            Question::Properties => put("features", self.properties_json(watch)?),
            Question::Difference => {
                let others = self.parts.other.as_deref().unwrap_or_default();
                let found = differences(&self.classifier, others, watch)?;
                put("inputs", big(&found.inputs));
                put("share", found.share.to_string().into());
                put("example", found.example.map_or(Value::Null, |input| bit_text(&input).into()));
                put("rows", summary.differing.clone().into());
            }
            Question::Codes => put("digests", self.digests()?),
            _ => {}
        }
        Ok(all)
    }

    /// The mean radius of all inputs, if it was asked for or is quick to compute.
    pub(super) fn mean_radius_of_inputs(&self, watch: &Watch<'_>) -> Result<Option<Option<RBig>>, Error> {
        let is_quick = self.classifier.table_inputs().is_some_and(|inputs| inputs <= MEAN_INPUTS);
        match is_quick || self.request.mean {
            true => Ok(Some(mean_over_inputs(&self.classifier, watch)?)),
            false => Ok(None),
        }
    }

    fn properties_json(&self, watch: &Watch<'_>) -> Result<Value, Error> {
        let names = self.space().players().names();
        let found = properties(&self.classifier, &self.parts.all_ordered(self.space()), watch)?;
        let one = |(player, property): (usize, &crate::query::Property)| {
            let mandatory = |&(class, value): &(usize, u64)| {
                let members = self.space().members(player);
                let mut input = vec![false; self.space().features()];
                match self.space().players().is_one_hot(player) {
                    true => input[members[value as usize]] = true,
                    false => {
                        members.iter().enumerate().for_each(|(bit, &feature)| input[feature] = value >> bit & 1 == 1);
                    }
                }
                json!({"class": class, "value": self.words.value(player, &input)})
            };
            json!({
                "name": names[player], "used": property.is_used(),
                "monotone": property.monotone.map(|monotone| monotone.name()),
                "influence": property.influence.to_string(),
                "mandatory": property.mandatory.iter().map(mandatory).collect::<Vec<_>>(),
            })
        };
        Ok(found.iter().enumerate().map(one).collect())
    }

    /// For each group of protected values the probability of each class, under the distribution that was asked for.
    fn acceptance_json(&self, watch: &Watch<'_>) -> Result<Value, Error> {
        let Some(from) = &self.request.distribution else { return Ok(Value::Null) };
        let mut request = self.request.scores(from.clone());
        // The classifier already applies the constraint.
        request.constraint = None;
        let players = self.space().players();
        let Distribution::Product(probabilities) = request.distribution(&self.circuit, players)? else {
            return Err(Error::setting("distribution", "of groups is uniform or product"));
        };
        let names = players.names();
        let found = acceptance(&self.classifier, &self.parts.protected, probabilities.exact(), watch)?;
        let group = |group: &GroupAcceptance| {
            let protected = self.parts.protected.iter();
            let values = protected.map(|&player| (names[player].clone(), self.words.value(player, &group.values)));
            let shares =
                group.classes.iter().enumerate().map(|(class, share)| (class.to_string(), share.to_string().into()));
            json!({
                "group": Value::Object(values.collect()), "probability": group.probability.to_string(),
                "shares": Value::Object(shares.collect()),
            })
        };
        Ok(found.iter().map(group).collect())
    }

    /// For each group of protected values its rows, those of each class, and their shares.
    fn groups_json(&self, summary: &Summary) -> Value {
        let names = self.space().players().names();
        let group = |(bits, classes): (&Vec<bool>, &BTreeMap<usize, u64>)| {
            let rows: u64 = classes.values().sum();
            let values =
                self.parts.protected.iter().map(|&player| (names[player].clone(), self.words.value(player, bits)));
            let shares = classes.iter().map(|(class, &count)| {
                (class.to_string(), Value::from(RBig::from_parts(count.into(), rows.into()).to_string()))
            });
            let counts = classes.iter().map(|(class, &count)| (class.to_string(), Value::from(count)));
            json!({
                "group": Value::Object(values.collect()), "rows": rows,
                "classes": Value::Object(counts.collect()), "shares": Value::Object(shares.collect()),
            })
        };
        summary.groups.iter().map(group).collect()
    }
}

/// A count: a number where every reader keeps it exact, else its decimal digits as a text.
pub(super) fn big(count: &UBig) -> Value {
    match u64::try_from(count) {
        Ok(small) if small <= EXACT_IN_JSON => small.into(),
        _ => count.to_string().into(),
    }
}

/// A distance: a whole number, or the float nearest to it.
pub(super) fn number(value: &RBig) -> Value {
    match (value.denominator() == &UBig::ONE, u64::try_from(value.numerator().clone())) {
        (true, Ok(whole)) if whole <= EXACT_IN_JSON => whole.into(),
        _ => value.to_f64().value().into(),
    }
}

/// An input as a text of 0 and 1.
pub(super) fn bit_text(bits: &[bool]) -> String {
    bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect()
}
