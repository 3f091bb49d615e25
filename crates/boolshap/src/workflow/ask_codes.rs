//! Reason codes for letters: the main reasons of an unfavourable decision, and the smallest change that helps.
//!
//! A player speaks against an entity if its exact score lowers the favourable class, compared with the rows of a chosen
//! group (or with all inputs). The strongest come first, equal ones in the order of the players. Nothing depends on time,
//! threads or chance: the same files give the same bytes.

use super::ask::class_names;
use super::ask_answers::bit_text;
use super::records::Record;
use super::resolve::read_rows;
use super::{AskRequest, Asker, ClassChoice, DistributionFrom, Error, Explainer, Question, RecordsFrom, RowsFrom};
use crate::data::Bits;
use crate::lit::{Digest, Watch};
use crate::query::{self, Counterfactual, Entity, GroupRow, Wish};
use dashu_ratio::RBig;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The default for the most codes of a letter.
const TOP: usize = 4;

/// The codes and sentences of players, and the explainer that gives their scores.
pub(super) struct CodeBook {
    /// For each player its code and text.
    entries: Vec<Option<(String, String)>>,
    explainer: Explainer,
    favourable: usize,
    /// Whether the explained label is that of the favourable class, or of the other of two.
    is_direct: bool,
    top: usize,
    /// The rows that scores compare with.
    group: Option<Bits>,
    /// The digests of model, circuit and background, computed on first use.
    digests: std::sync::OnceLock<[String; 3]>,
}

/// What a letter says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Letter {
    /// The players that speak against the entity, the strongest first, with their scores.
    pub reasons: Vec<(usize, RBig)>,
    /// The smallest change of actionable players; nothing if none helps, or if the decision is favourable.
    pub change: Option<Counterfactual>,
}

impl Asker {
    pub(super) fn prepare_codes(&mut self, watch: &Watch<'_>) -> Result<(), Error> {
        let (Question::Codes, Some(codes)) = (self.request.question, self.request.codes.clone()) else { return Ok(()) };
        let classes = self.classifier.classes();
        let names = class_names(&self.circuit, &self.request);
        let favourable = match (&self.request.to, classes) {
            (Some(choice), _) => choice.number(classes, &names)?,
            (None, 2) => 1,
            (None, _) => return Err(Error::setting("to", "must be given: which of the classes is favourable")),
        };
        let several = !self.circuit.classes.is_empty();
        let group = self.group_of_rows(favourable)?;
        let distribution = match (&group, &self.request.against) {
            (Some(rows), _) if self.request.approved => DistributionFrom::Background(RowsFrom::Bits(rows.clone())),
            (_, Some(rows)) => DistributionFrom::Background(rows.clone()),
            (_, None) => DistributionFrom::Uniform,
        };
        let mut request = self.request.scores(distribution);
        request.exact = true;
        request.class = match (&self.request.class, several) {
            (Some(class), _) => Some(class.clone()),
            (None, true) => Some(ClassChoice::Number(favourable)),
            (None, false) => None,
        };
        let is_direct = favourable == 1 || several && self.request.class.is_none();
        let explainer = Explainer::prepare(self.circuit.clone(), &request, watch)?;
        let entries = read_codes(&codes, self)?;
        let top = self.request.top.unwrap_or(TOP);
        self.parts.wish = Wish { class: Some(favourable), limit: Some(1), ..self.parts.wish.clone() };
        self.parts.codes =
            Some(CodeBook { entries, explainer, favourable, is_direct, top, group, digests: Default::default() });
        Ok(())
    }

    /// The rows that scores compare with: all that were given, or those of them that are decided favourably.
    fn group_of_rows(&self, favourable: usize) -> Result<Option<Bits>, Error> {
        let (rows, place) = match &self.request.against {
            None => return Ok(None),
            Some(RowsFrom::Bits(bits)) => (bits.clone(), "against".to_string()),
            Some(RowsFrom::File(path)) => {
                (read_rows(path, &self.circuit, self.request.input)?, path.display().to_string())
            }
        };
        if !self.request.approved {
            return Ok(Some(rows));
        }
        let mut approved = Bits::new(rows.features());
        for row in 0..rows.rows() {
            let bits = rows.row(row);
            let entity = self.entity(row as u64 + 1, &bits);
            if entity.map_err(|error| error.at(&place))?.class == favourable {
                approved.push(&bits);
            }
        }
        match approved.rows() {
            0 => Err(Error::input("no row is decided favourably, so that there is nothing to compare with").at(&place)),
            _ => Ok(Some(approved)),
        }
    }

    /// The favourable class of letters.
    pub(super) fn favourable(&self) -> Option<usize> {
        self.parts.codes.as_ref().map(|book| book.favourable)
    }

    /// The most reasons of a letter.
    pub(super) fn letter_top(&self) -> usize {
        self.parts.codes.as_ref().map_or(TOP, |book| book.top)
    }

    /// The rows that letters compare with, each input once.
    pub(super) fn letter_group(&self) -> Option<Vec<GroupRow>> {
        let group = self.parts.codes.as_ref()?.group.as_ref()?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        (0..group.rows()).for_each(|row| *counts.entry(bit_text(&group.row(row))).or_default() += 1);
        Some(counts.into_iter().map(|(input, rows)| GroupRow { input, rows }).collect())
    }

    /// The letter for an entity.
    pub(super) fn codes(&self, entity: &Entity, watch: &Watch<'_>) -> Result<Letter, Error> {
        let Some(book) = self.parts.codes.as_ref().filter(|book| book.favourable != entity.class) else {
            return Ok(Letter::default());
        };
        let scores = book.explainer.explain_row(&entity.bits)?;
        // The first number of a row is the base value.
        let numbers = scores.fractions(0).unwrap_or_default();
        let mut reasons: Vec<(usize, RBig)> = numbers.iter().skip(1).cloned().enumerate().collect();
        if !book.is_direct {
            reasons.iter_mut().for_each(|(_, score)| *score = -std::mem::take(score));
        }
        reasons.retain(|(_, score)| *score < RBig::ZERO);
        reasons.sort_by(|(a, x), (b, y)| x.cmp(y).then(a.cmp(b)));
        reasons.truncate(book.top);
        let found = query::counterfactuals(&self.classifier, entity, &self.wish(entity), watch)?;
        Ok(Letter { reasons, change: found.listed.into_iter().next() })
    }

    pub(super) fn letter_json(&self, entity: &Entity, letter: &Letter) -> Value {
        let names = self.space().players().names();
        let entries = self.parts.codes.as_ref().map(|book| &book.entries[..]).unwrap_or_default();
        let reason = |(player, score): &(usize, RBig)| {
            let entry = entries[*player].as_ref();
            json!({
                "player": names[*player], "code": entry.map(|(code, _)| code), "text": entry.map(|(_, text)| text),
                "value": self.words.short(*player, &entity.bits), "score": score.to_string(),
            })
        };
        json!({
            "codes": letter.reasons.iter().map(reason).collect::<Vec<_>>(),
            "change": letter.change.as_ref().map(|one| self.changes(entity, one)),
            "change_words": letter.change.as_ref().map(|one| self.change_words(entity, one)),
        })
    }

    /// The digests of what letters were made from: the circuit, the model it was compiled from, the codes, and the group as
    /// it was read and as it was given.
    pub(super) fn digests(&self) -> Result<Value, Error> {
        let mut digests = Map::new();
        let mut put = |key: &str, digest: Option<Digest>| {
            digest.map(|digest| digests.insert(key.into(), digest.to_string().into()));
        };
        put("circuit", Some(self.circuit.content_digest()));
        put("model", self.circuit.facts.network());
        let AskRequest { codes, against, .. } = &self.request;
        put("codes", codes.as_ref().map(|codes| codes.digest()).transpose()?);
        put(
            "against",
            match against {
                None => None,
                Some(RowsFrom::File(path)) => Some(Digest::of(&std::fs::read(path).map_err(Error::file(path))?)),
                Some(RowsFrom::Bits(bits)) => Some(digest_of_bits(bits)),
            },
        );
        put("background", self.background_digest());
        Ok(Value::Object(digests))
    }

    /// The digest of the rows that scores compare with, as bits.
    fn background_digest(&self) -> Option<Digest> {
        self.parts.codes.as_ref()?.group.as_ref().map(digest_of_bits)
    }

    /// The digests that every line of a table of letters repeats: of the model, the circuit and the background.
    pub(super) fn letter_digests(&self) -> [String; 3] {
        let text = |digest: Option<Digest>| digest.map_or(String::new(), |digest| digest.to_string());
        let find =
            || [self.circuit.facts.network(), Some(self.circuit.content_digest()), self.background_digest()].map(text);
        self.parts.codes.as_ref().map_or_else(find, |book| book.digests.get_or_init(find).clone())
    }
}

/// The digest of rows in memory: of a line of 0 and 1 for each.
fn digest_of_bits(bits: &Bits) -> Digest {
    let line = |row: usize| format!("{}\n", bit_text(&bits.row(row)));
    Digest::of((0..bits.rows()).map(line).collect::<String>().as_bytes())
}

/// A table of players, codes and texts.
fn read_codes(from: &RecordsFrom, asker: &Asker) -> Result<Vec<Option<(String, String)>>, Error> {
    let mut entries = vec![None; asker.space().players().len()];
    for Record { place, cells } in from.read("codes", &["player", "code", "text"])? {
        let [name, code, text] = &cells[..] else { continue };
        let player = asker.space().players().names().iter().position(|known| known == name);
        let player = player.ok_or_else(|| Error::input(format!("there is no player '{name}'")).at(&place))?;
        if entries[player].replace((code.clone(), text.clone())).is_some() {
            return Err(Error::input(format!("the player '{name}' is there twice")).at(&place));
        }
    }
    Ok(entries)
}
