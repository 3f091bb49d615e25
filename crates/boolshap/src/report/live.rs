//! The report of a server: every game and class that can be chosen; each page is drawn on first use and cached.

use super::carried::{Carried, carried, fixed_note};
#[cfg(feature = "report")]
use super::served_html;
use super::{Beside, Page, RowSearch, Rows, Subject, Survey};
use crate::circuit::NamedCircuit;
use crate::data::Bits;
use crate::explain::Index;
use crate::lit::Watch;
use crate::workflow::{Ask, Choice, ClassChoice, Error, Menu, Request, Scope, opening_class};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A circuit with its rows, and the games on it.
pub struct LiveReport {
    menu: Menu,
    /// The game that a page opens with.
    opening: Choice,
    /// One subject, or one for each class.
    subjects: Vec<Subject>,
    rows: Rows,
    /// A second model to compare with.
    beside: Option<Beside>,
    /// The class of each kind of rows, or its label; `None` if the model gives scores.
    predicted: Option<Vec<u32>>,
    /// The kind of each row of bits.
    kinds: OnceLock<HashMap<Vec<bool>, u32>>,
    /// The scores of all kinds of rows, by class and game.
    surveys: Mutex<Vec<Option<Arc<Survey>>>>,
    /// The JSON of pages, by class and game, and as the last entry the document with the first page.
    pages: Mutex<Vec<Option<Arc<str>>>>,
}

/// One page: a game and a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageChoice {
    /// The game.
    pub game: Choice,
    /// The class, for a circuit with several.
    pub class: Option<usize>,
}

impl LiveReport {
    /// A report that shows the requested game first. This prepares that game.
    pub fn new(circuit: Arc<NamedCircuit>, rows: Rows, request: &Request, watch: &Watch<'_>) -> Result<Self, Error> {
        let background = (rows.total() > 0).then(|| rows.expanded());
        let menu = Menu::new(circuit, request, background.as_ref(), watch)?;
        Self::of_menu(menu, rows, watch)
    }

    /// The report of a page that carries its circuit; nothing is prepared.
    pub fn of_carried(circuit: Arc<NamedCircuit>, carried: Carried) -> Result<Self, Error> {
        let Carried { request, rows, .. } = carried;
        let rows = rows.rows(circuit.features.len())?;
        let background = (rows.total() > 0).then(|| rows.expanded());
        let own = background.clone().unwrap_or_else(|| Bits::new(circuit.features.len()));
        let (name, request) = (&request.name, request.request(&circuit.features, own)?);
        let menu = Menu::offered(circuit, &request, Some(name), background.as_ref())?;
        Self::of_menu(menu, rows, &Watch::unlimited())
    }

    fn of_menu(menu: Menu, rows: Rows, watch: &Watch<'_>) -> Result<Self, Error> {
        let circuit = menu.circuit();
        let classes: Vec<Option<usize>> = match circuit.classes.len() {
            0 => vec![None],
            several => (0..several).map(Some).collect(),
        };
        let subjects = classes.iter().map(|class| Subject::new(circuit, *class)).collect::<Result<Vec<_>, _>>()?;
        let predicted = rows.predicted(menu.circuit(), watch)?;
        let games = subjects.len() * menu.distributions().len() * menu.players().len();
        let (pages, surveys) = (Mutex::new(vec![None; games + 1]), Mutex::new(vec![None; games]));
        let opening = menu.choose(None, None)?;
        Ok(LiveReport {
            menu,
            opening,
            subjects,
            rows,
            beside: None,
            predicted,
            kinds: OnceLock::new(),
            surveys,
            pages,
        })
    }

    /// Makes pages open with the game of this request, which must be on the menu.
    pub fn open_with(&mut self, request: &Request) -> Result<(), Error> {
        let players = request.players(self.menu.circuit())?;
        self.opening = self.menu.choose(Some(&request.distribution.name()), Some(players.kind()))?;
        Ok(())
    }

    /// Makes pages compare with this model.
    pub fn put_beside(&mut self, beside: Beside) {
        self.beside = Some(beside);
    }

    /// The second model to compare with.
    pub fn beside(&self) -> Option<&Beside> {
        self.beside.as_ref()
    }

    /// The games.
    pub fn menu(&self) -> &Menu {
        &self.menu
    }

    /// The circuit in words, for its label or for each class.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The page with these names; anything not given is taken from the opening page.
    pub fn choose(
        &self,
        distribution: Option<&str>,
        players: Option<&str>,
        class: Option<&ClassChoice>,
    ) -> Result<PageChoice, Error> {
        let first_row = self.rows.first_class(self.predicted.as_deref());
        let class = opening_class(self.menu.circuit(), class, first_row)?;
        let chosen = self.menu.choose(distribution, players)?;
        let game = Choice {
            distribution: if distribution.is_some() { chosen.distribution } else { self.opening.distribution },
            players: if players.is_some() { chosen.players } else { self.opening.players },
        };
        Ok(PageChoice { game, class })
    }

    /// The index of a page among all pages.
    fn place(&self, PageChoice { game, class }: PageChoice) -> usize {
        let of_class = class.unwrap_or(0) * self.menu.distributions().len() + game.distribution;
        of_class * self.menu.players().len() + game.players
    }

    /// The JSON of a page.
    pub fn page(&self, choice: PageChoice, watch: &Watch<'_>) -> Result<Arc<str>, Error> {
        self.keep(self.place(choice), || self.draw(choice, watch))
    }

    /// The scores of all kinds of rows on a page, computed once.
    pub(super) fn survey(&self, choice: PageChoice, watch: &Watch<'_>) -> Result<Arc<Survey>, Error> {
        let (place, kept) = (self.place(choice), |all: &Mutex<Vec<Option<Arc<Survey>>>>, place: usize| {
            all.lock().unwrap_or_else(PoisonError::into_inner)[place].clone()
        });
        if let Some(survey) = kept(&self.surveys, place) {
            return Ok(survey);
        }
        let explainer = self.menu.explainer(choice.game)?;
        let scope = choice.class.map_or(Scope::Label, Scope::Class);
        let survey = Survey::new(explainer, scope, &self.rows, watch)?;
        let survey = Arc::new(survey.with_interactions(explainer, scope, &self.rows, watch)?);
        self.surveys.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(survey.clone());
        Ok(survey)
    }

    /// The cached text at this place, made on first use.
    fn keep(&self, place: usize, make: impl FnOnce() -> Result<String, Error>) -> Result<Arc<str>, Error> {
        let kept = self.pages()[place].clone();
        if let Some(text) = kept {
            return Ok(text);
        }
        let text: Arc<str> = make()?.into();
        self.pages()[place] = Some(text.clone());
        Ok(text)
    }

    fn pages(&self) -> MutexGuard<'_, Vec<Option<Arc<str>>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, choice: PageChoice, watch: &Watch<'_>) -> Result<String, Error> {
        Ok(self.data(choice, Some(self.choices()), watch)?.to_string())
    }

    /// The data from which a page makes a report: the first page, and the carried bytes in Base64 (null if it can carry
    /// none).
    pub fn standing(&self, watch: &Watch<'_>) -> Result<Value, Error> {
        let first = self.choose(None, None, None)?;
        let mut data = self.data(first, None, watch)?;
        let carried = carried(self.menu.explainer(first.game)?, &self.rows);
        if let Err(reason) = &carried {
            data["notes"]["fixed"] = fixed_note(reason).into();
        }
        Ok(json!({"page": data, "carried": carried.ok().map(|bytes| BASE64_STANDARD.encode(bytes))}))
    }

    /// The data of a page.
    fn data(&self, choice: PageChoice, choices: Option<Value>, watch: &Watch<'_>) -> Result<Value, Error> {
        let survey = self.survey(choice, watch)?;
        let page = Page {
            subject: self.subject(choice),
            explainer: self.menu.explainer(choice.game)?,
            rows: &self.rows,
            class: choice.class,
            survey: &survey,
            predicted: self.predicted.as_deref(),
            facts: Vec::new(),
            timing: None,
            choices,
            beside: self.beside.as_ref(),
        };
        let mut data = page.json();
        data["game"]["distribution"] = self.menu.distributions()[choice.game.distribution].name.as_str().into();
        Ok(data)
    }

    /// The subject of a page.
    pub(super) fn subject(&self, choice: PageChoice) -> &Subject {
        &self.subjects[choice.class.unwrap_or(0)]
    }

    /// Clears the cache of pages to free memory; they are drawn again on demand.
    pub fn forget_pages(&self) {
        self.pages().fill(None);
        self.surveys.lock().unwrap_or_else(PoisonError::into_inner).fill(None);
    }

    /// The words shown with an input's scores: its main reasons, and the number of rows like it, as a JSON object.
    pub fn words(&self, game: Choice, scope: Scope, input: &[bool], watch: &Watch<'_>) -> Result<Value, Error> {
        let explainer = self.menu.explainer(game)?;
        let mut rows = Bits::new(input.len());
        rows.push(input);
        let scores = explainer.explain_as(&rows, Ask { scope, index: Index::Shapley, exact: false }, watch)?;
        let is_label = match scope {
            Scope::Label => scores.prediction(0) == 1,
            Scope::Class(class) => scores.prediction(0) == class as u32,
            Scope::Predicted => true,
            Scope::Each | Scope::Difference(..) => {
                return Err(Error::setting("class", "is missing: words are about one"));
            }
        };
        let decided = f64::from(u8::from(is_label));
        let value = scores.value_floats(0).map_or(decided, |values| values[0]);
        let why = explainer.main_reasons(input, scores.base_value(0), value, scores.scores(0))?;
        let number = |kind: usize| (self.rows.kinds.row(kind), kind as u32);
        let kinds = self.kinds.get_or_init(|| (0..self.rows.kinds.rows()).map(number).collect());
        let alike = kinds.get(input).map_or(0, |&kind| self.rows.counts[kind as usize]);
        Ok(json!({"why": why, "rows_alike": alike}))
    }

    /// The document with the first page.
    #[cfg(feature = "report")]
    pub fn html(&self, watch: &Watch<'_>) -> Result<Arc<str>, Error> {
        let last = self.pages().len() - 1;
        self.keep(last, || {
            let first = self.choose(None, None, None)?;
            Ok(served_html(&self.subject(first).title, &self.page(first, watch)?))
        })
    }

    /// The rows found by a search: at most `limit`, from `offset` on.
    pub fn find(
        &self,
        search: &RowSearch,
        class: Option<usize>,
        offset: usize,
        limit: usize,
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        let (table, subject) = (&self.rows.table, &self.subjects[class.unwrap_or(0)]);
        let predicted = self.predicted.as_deref();
        let of_label = class.map_or(1, |class| class as u32);
        let label = |kind: usize| predicted.is_some_and(|predicted| predicted[kind] == of_label);
        let predictions: Vec<bool> = (0..self.rows.kinds.rows()).map(label).collect();
        let (labels, known) = (table.labels(subject.class), table.known(subject));
        let known = |row: usize| known.as_ref().and_then(|known| known[row]);
        let class_of = |row: usize| predicted.map(|predicted| predicted[table.kinds[row] as usize]);
        let is_wrong = |row: usize| known(row).zip(class_of(row)).is_some_and(|(known, class)| known != class as usize);
        let found = table.find(search, &predictions, labels.as_deref(), is_wrong, watch)?;
        let shown = found.iter().skip(offset).take(limit).map(|&row| {
            let kind = table.kinds[row] as usize;
            json!({
                "row": row + 1,
                "bits": self.rows.bits_text(kind),
                "cells": table.columns.iter().map(|column| &column.cells[row]).collect::<Vec<_>>(),
                "prediction": u8::from(predictions[kind]),
                "label": labels.as_ref().and_then(|labels| labels[row]),
                "class": class_of(row),
                "known": known(row),
            })
        });
        let columns = table.columns.iter().map(|column| json!({"name": column.name, "numeric": column.numeric}));
        Ok(json!({
            "total": found.len(),
            "offset": offset,
            "rows": shown.collect::<Vec<_>>(),
            "columns": columns.collect::<Vec<_>>(),
        }))
    }

    /// The choices that a page offers.
    pub fn choices(&self) -> Value {
        let distributions = self
            .menu
            .distributions()
            .iter()
            .map(|one| json!({"value": one.name, "words": one.words, "term": one.term}));
        let player_words = |kind: &str| match kind {
            "features" => "bit",
            "columns" => "column",
            _ => "named player",
        };
        let players = self.menu.players().iter();
        let players =
            players.map(|one| json!({"value": one.kind(), "words": player_words(one.kind()), "term": one.kind()}));
        let class = |(class, (name, _)): (usize, &(String, _))| json!({"value": class, "words": name});
        json!({
            "distributions": distributions.collect::<Vec<_>>(),
            "players": players.collect::<Vec<_>>(),
            "classes": self.menu.circuit().classes.iter().enumerate().map(class).collect::<Vec<_>>(),
        })
    }
}
