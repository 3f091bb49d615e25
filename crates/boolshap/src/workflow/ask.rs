//! Questions about decisions and classifiers: a circuit and a question, made ready for any number of rows.
//!
//! An asker resolves a request for a circuit once: it turns names into players, reads files, and computes what all rows
//! share. Then it answers row by row, or a table of any length in bounded memory: equal rows are answered once while
//! their answer is in the cache, and new rows are answered in parallel.

use super::ask_answers::{Found, RowAnswer, Summary};
use super::ask_parts::Parts;
use super::player_names::ordered_players;
use super::value_words::ValueWords;
use super::{AskRequest, ClassChoice, DistributionFrom, Error, Question};
use crate::circuit::{Circuit, NamedCircuit};
use crate::data::{Bits, Entities, PackedRows, RowIndex};
use crate::lit::Watch;
use crate::query::{self, Bias, Classifier, Entity, QueryError, ReasonsWanted, Space, Wish};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// The most answers, and sets and inputs in them, that are cached before the cache is cleared.
const REMEMBERED: usize = 1 << 18;
/// How many rows are answered in parallel at a time.
const AT_ONCE: usize = 512;

/// A question, ready to be asked of rows.
///
/// ```
/// use boolshap::workflow::{AskRequest, Asker, Question};
/// use boolshap::{CompileRequest, Model};
/// let model = Model::from_json(r#"{"format": "boolshap model", "version": 1, "features": ["rain", "wind", "roof"],
///     "classes": null, "schema": null, "marginals": null, "hidden": [],
///     "output": {"step": {"weights": "++-", "need": "2"}}, "provenance": {}}"#)?;
/// let compiled = boolshap::compile(&model, &CompileRequest::default())?;
/// let asker = Asker::new(&compiled.circuit, &AskRequest::new(Question::Reason))?;
/// let answer = asker.answer(1, &[true, true, true])?;
/// assert_eq!(asker.json(&answer)["reasons"], serde_json::json!([["rain", "wind"]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Asker {
    pub(super) circuit: Arc<NamedCircuit>,
    pub(super) classifier: Classifier,
    pub(super) request: AskRequest,
    pub(super) words: ValueWords,
    pub(super) parts: Parts,
}

impl Asker {
    /// Makes a circuit ready for a question.
    pub fn new(circuit: &NamedCircuit, request: &AskRequest) -> Result<Self, Error> {
        Self::prepare(Arc::new(circuit.clone()), None, request, &Watch::unlimited())
    }

    /// The same with limits, for a shared circuit; `other` is the second circuit of the question `difference`.
    pub fn prepare(
        circuit: Arc<NamedCircuit>,
        other: Option<&NamedCircuit>,
        request: &AskRequest,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        request.check()?;
        let players = request.scores(DistributionFrom::Uniform).players(&circuit)?;
        let space = Space::new(players, request.formula()?)?;
        let words = ValueWords::new(&circuit, &space);
        let labels = labels_of(&circuit, request.class.as_ref())?;
        let mut parts = Parts { ordered: ordered_players(&circuit, &space), ..Parts::default() };
        parts.resolve(&circuit, &space, request, watch)?;
        let classifier = Classifier::new(&labels, space, watch)?;
        parts.wish.class = match &request.to {
            None => None,
            Some(choice) => Some(choice.number(classifier.classes(), &class_names(&circuit, request))?),
        };
        if request.question == Question::Bias {
            parts.bias = Some(Bias::new(&classifier, &parts.protected, watch)?);
        }
        if let Some(other) = other {
            if other.features != circuit.features {
                return Err(Error::input("the two do not have the same features in the same order"));
            }
            parts.other = Some(labels_of(other, request.class.as_ref())?);
        }
        if request.question == Question::Difference && parts.other.is_none() {
            return Err(Error::setting("question", "difference needs two circuits or models"));
        }
        let mut asker = Asker { circuit, classifier, request: request.clone(), words, parts };
        asker.prepare_codes(watch)?;
        Ok(asker)
    }

    /// The request.
    pub fn request(&self) -> &AskRequest {
        &self.request
    }

    /// The circuit that is asked.
    pub fn circuit(&self) -> &Arc<NamedCircuit> {
        &self.circuit
    }

    /// The inputs and players.
    pub fn space(&self) -> &Space {
        self.classifier.space()
    }

    /// The classifier that is asked.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The wish for one entity, with the limits that depend on its values.
    pub fn wish(&self, entity: &Entity) -> Wish {
        let mut wish = self.parts.wish.clone();
        let mut keep_out = |players: &[usize], is_out: fn(usize, usize) -> bool| {
            for &player in players {
                let members = self.space().members(player);
                let values = self.parts.ordered[player].unwrap_or(members.len());
                let now = members.iter().position(|&feature| entity.bits[feature]).unwrap_or(0);
                // A missing value may become anything, and nothing becomes missing.
                let is_out = |at: &usize| now < values && (*at >= values || is_out(*at, now));
                wish.not_up.extend((0..members.len()).filter(is_out).map(|at| members[at]));
            }
        };
        keep_out(&self.parts.rising, |at, now| at < now);
        keep_out(&self.parts.falling, |at, now| at > now);
        wish
    }

    /// A row as the classifier reads it.
    pub(super) fn entity(&self, row: u64, bits: &[bool]) -> Result<Entity, Error> {
        self.classifier.entity(bits, "").map_err(|error| match error {
            QueryError::Misplaced { flaw, .. } => Error::row(row, flaw),
            other => other.into(),
        })
    }

    /// The answer for one row; errors refer to it by this number.
    pub fn answer(&self, row: u64, bits: &[bool]) -> Result<RowAnswer, Error> {
        self.answer_watched(row, bits, &Watch::unlimited())
    }

    /// The same with limits.
    pub fn answer_watched(&self, row: u64, bits: &[bool], watch: &Watch<'_>) -> Result<RowAnswer, Error> {
        let entity = self.entity(row, bits)?;
        let (classifier, parts) = (&self.classifier, &self.parts);
        let found = match self.request.question {
            Question::Reason | Question::Contrast => {
                let wanted = self.reasons_wanted(bits)?;
                let ask = match self.request.question {
                    Question::Reason => query::sufficient,
                    _ => query::contrastive,
                };
                Found::Reasons(ask(classifier, &entity, &wanted, watch)?)
            }
            Question::Attribution => Found::Attribution(query::attribution(classifier, &entity, watch)?),
            Question::Counterfactual => {
                Found::Counterfactuals(query::counterfactuals(classifier, &entity, &self.wish(&entity), watch)?)
            }
            Question::Robustness => {
                Found::Robustness(query::robustness(classifier, &entity, self.request.radius, watch)?)
            }
            Question::Bias => Found::Bias(match &parts.bias {
                Some(bias) => bias.other(classifier, &entity, watch)?,
                None => None,
            }),
            Question::Difference => Found::OtherClass(self.other_class(bits)?),
            Question::Judge => Found::Verdicts(self.judge(row, &entity, watch)?),
            Question::Codes => Found::Codes(self.codes(&entity, watch)?),
            Question::Properties => Found::Nothing,
        };
        Ok(RowAnswer { row, entity, found })
    }

    fn reasons_wanted(&self, bits: &[bool]) -> Result<ReasonsWanted, Error> {
        let mut wanted = self.parts.reasons.clone();
        if let Some(explainer) = &self.parts.scores {
            let scores = explainer.explain_row(bits)?;
            let scores = scores.scores(0);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&a, &b| scores[b].abs().total_cmp(&scores[a].abs()).then(a.cmp(&b)));
            wanted.prefer = order;
        }
        Ok(wanted)
    }

    /// The protected values of an entity; all other features are 0.
    fn group_of(&self, entity: &Entity) -> Vec<bool> {
        let is_protected = |feature: usize| self.parts.protected.contains(&self.space().players().of(feature));
        entity.bits.iter().enumerate().map(|(feature, &bit)| bit && is_protected(feature)).collect()
    }

    fn other_class(&self, bits: &[bool]) -> Result<usize, Error> {
        let labels = self.parts.other.as_deref().unwrap_or_default();
        if let [label] = labels {
            return Ok(usize::from(label.evaluate(bits)?));
        }
        for (class, label) in labels.iter().enumerate() {
            if label.evaluate(bits)? {
                return Ok(class);
            }
        }
        Err(Error::input("a row is of no class of the second circuit"))
    }

    /// Opens a file of rows for this circuit.
    pub fn open(&self, path: &Path) -> Result<Entities, Error> {
        Ok(Entities::open(path, &self.circuit.features, self.circuit.binariser.as_ref(), self.request.input)?)
    }

    /// Answers the wanted rows of a table, in their order. Progress counts rows.
    pub fn ask_table(
        &self,
        mut entities: Entities,
        sink: &mut dyn FnMut(&RowAnswer) -> Result<(), Error>,
        watch: &Watch<'_>,
    ) -> Result<Summary, Error> {
        let place = entities.table().path().display().to_string();
        let mut table = AskedTable::new(self);
        let last = self.request.rows.iter().max().copied();
        let mut next = 1;
        while last.is_none_or(|last| next <= last) {
            let Some(batch) = entities.next_batch()? else { break };
            watch.step(next - 1, batch.expected_rows.unwrap_or(0))?;
            table.batch(batch.first_row, &batch.bits, sink, watch).map_err(|error| in_place(error, &place))?;
            next = batch.first_row + batch.bits.rows() as u64;
        }
        match last.filter(|&last| last >= next) {
            Some(last) => Err(Error::row(last, format!("is not there: {place} has {} rows", next - 1))),
            None => self.check_claims(next - 1).map(|()| table.summary),
        }
    }

    /// The same for rows in memory.
    pub fn ask_rows(
        &self,
        rows: &Bits,
        sink: &mut dyn FnMut(&RowAnswer) -> Result<(), Error>,
        watch: &Watch<'_>,
    ) -> Result<Summary, Error> {
        let mut table = AskedTable::new(self);
        table.batch(1, rows, sink, watch)?;
        match self.request.rows.iter().find(|&&row| row > rows.rows() as u64) {
            Some(row) => Err(Error::row(*row, format!("is not there: there are {} rows", rows.rows()))),
            None => self.check_claims(rows.rows() as u64).map(|()| table.summary),
        }
    }
}

/// An error about a row, with the file it is in; other errors are not about the file.
fn in_place(error: Error, place: &str) -> Error {
    match &error {
        Error::Row { .. } => error.at(place),
        _ => error,
    }
}

/// The state of answering a table.
struct AskedTable<'a> {
    asker: &'a Asker,
    index: Option<RowIndex>,
    answers: Vec<RowAnswer>,
    weight: usize,
    summary: Summary,
}

impl<'a> AskedTable<'a> {
    fn new(asker: &'a Asker) -> Self {
        AskedTable { asker, index: None, answers: Vec::new(), weight: 0, summary: Summary::default() }
    }

    fn batch(
        &mut self,
        first_row: u64,
        bits: &Bits,
        sink: &mut dyn FnMut(&RowAnswer) -> Result<(), Error>,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let packed = PackedRows::from_bits(bits);
        let wanted = &self.asker.request.rows;
        let is_wanted = |row: &usize| wanted.is_empty() || wanted.contains(&(first_row + *row as u64));
        let rows: Vec<usize> = (0..bits.rows()).filter(is_wanted).collect();
        for rows in rows.chunks(AT_ONCE) {
            watch.check()?;
            if self.weight > REMEMBERED {
                self.index = None;
                self.answers.clear();
                self.weight = 0;
            }
            let index = self.index.get_or_insert_with(|| RowIndex::new(packed.row_words()));
            let mut fresh = Vec::new();
            let mut numbers = Vec::with_capacity(rows.len());
            for &row in rows {
                let (number, is_new) = index.insert(packed.row(row));
                numbers.push(number as usize);
                if is_new {
                    fresh.push(row);
                }
            }
            // Claims are about a row and not about its values, so they are judged again for each row below.
            let answer = |&row: &usize| self.asker.answer_watched(first_row + row as u64, &bits.row(row), watch);
            let answered: Vec<_> = fresh.par_iter().map(answer).collect();
            for answer in answered {
                let answer = answer?;
                self.weight += 1 + answer.found.weight();
                self.answers.push(answer);
            }
            for (&row, number) in rows.iter().zip(numbers) {
                let answer = &mut self.answers[number];
                answer.row = first_row + row as u64;
                if self.asker.request.question == Question::Judge {
                    *answer = self.asker.answer_watched(answer.row, &bits.row(row), watch)?;
                }
                self.summary.add(answer);
                if self.asker.request.question == Question::Bias {
                    self.summary.add_to_group(self.asker.group_of(&answer.entity), answer.entity.class);
                }
                sink(answer)?;
            }
        }
        Ok(())
    }
}

/// The circuits of the classes, or of one class as a label.
pub(super) fn labels_of(circuit: &NamedCircuit, class: Option<&ClassChoice>) -> Result<Vec<Arc<Circuit>>, Error> {
    match class {
        None => Ok(circuit.labels()?),
        Some(_) if circuit.classes.is_empty() => {
            Err(Error::setting("class", "is for circuits of several classes, and this one has a single label"))
        }
        Some(choice) => {
            let names: Vec<String> = circuit.classes.iter().map(|(name, _)| name.clone()).collect();
            Ok(vec![circuit.label(Some(choice.number(names.len(), &names)?))?])
        }
    }
}

/// The names of the classes; those of a label are 0 and 1.
pub(super) fn class_names(circuit: &NamedCircuit, request: &AskRequest) -> Vec<String> {
    match circuit.classes.is_empty() || request.class.is_some() {
        true => vec!["0".into(), "1".into()],
        false => circuit.classes.iter().map(|(name, _)| name.clone()).collect(),
    }
}
