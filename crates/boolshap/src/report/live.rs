//! The report of a server: every game and class that can be chosen, each page drawn when it is first looked at and kept.

use super::carried::{Carried, carried, fixed_note};
#[cfg(feature = "report")]
use super::served_html;
use super::{Page, RowSearch, Rows, Subject, Survey};
use crate::circuit::NamedCircuit;
use crate::lit::Watch;
use crate::workflow::{Choice, ClassChoice, Error, Menu, Predictor, Request, Scope};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A circuit with its rows, and the games on it.
pub struct LiveReport {
    menu: Menu,
    /// One, or one for each class.
    subjects: Vec<Subject>,
    rows: Rows,
    /// The label of each kind of rows, by class.
    predictions: Vec<OnceLock<Vec<bool>>>,
    /// The JSON of pages, by class and game, and behind them the document with the first.
    pages: Mutex<Vec<Option<Arc<str>>>>,
}

/// One page: a game and a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageChoice {
    /// The game.
    pub game: Choice,
    /// The class, of a circuit of several.
    pub class: Option<usize>,
}

impl LiveReport {
    /// A report on which the requested game is shown first. That game is prepared here.
    pub fn new(circuit: Arc<NamedCircuit>, rows: Rows, request: &Request, watch: &Watch<'_>) -> Result<Self, Error> {
        let background = (rows.total() > 0).then(|| rows.expanded());
        let menu = Menu::new(circuit, request, background.as_ref(), watch)?;
        Self::of_menu(menu, rows)
    }

    /// The report of a page that carries its circuit; nothing is prepared.
    pub fn of_carried(circuit: Arc<NamedCircuit>, carried: Carried) -> Result<Self, Error> {
        let Carried { request, rows } = carried;
        let rows = rows.rows(circuit.features.len())?;
        let background = (rows.total() > 0).then(|| rows.expanded());
        let (name, request) = (&request.name, request.request(&circuit.features)?);
        Self::of_menu(Menu::offered(circuit, &request, Some(name), background.as_ref())?, rows)
    }

    fn of_menu(menu: Menu, rows: Rows) -> Result<Self, Error> {
        let circuit = menu.circuit();
        let classes: Vec<Option<usize>> = match circuit.classes.len() {
            0 => vec![None],
            several => (0..several).map(Some).collect(),
        };
        let subjects = classes.iter().map(|class| Subject::new(circuit, *class)).collect::<Result<Vec<_>, _>>()?;
        let predictions = subjects.iter().map(|_| OnceLock::new()).collect();
        let pages = subjects.len() * menu.distributions().len() * menu.players().len();
        Ok(LiveReport { menu, subjects, rows, predictions, pages: Mutex::new(vec![None; pages + 1]) })
    }

    /// The games.
    pub fn menu(&self) -> &Menu {
        &self.menu
    }

    /// The circuit in words, one label or each class.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The page of these names; of what is not given, the first.
    pub fn choose(
        &self,
        distribution: Option<&str>,
        players: Option<&str>,
        class: Option<&ClassChoice>,
    ) -> Result<PageChoice, Error> {
        Ok(PageChoice { game: self.menu.choose(distribution, players)?, class: self.menu.class(class)? })
    }

    /// The JSON of a page.
    pub fn page(&self, choice: PageChoice, watch: &Watch<'_>) -> Result<Arc<str>, Error> {
        let PageChoice { game, class } = choice;
        let of_class = class.unwrap_or(0) * self.menu.distributions().len() + game.distribution;
        self.keep(of_class * self.menu.players().len() + game.players, || self.draw(choice, watch))
    }

    /// The text at this place, made if it is not there.
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

    /// The first page as a report has it, and what that carries in Base64, or why it cannot: of this, a page makes a report.
    pub fn standing(&self, watch: &Watch<'_>) -> Result<Value, Error> {
        let first = self.choose(None, None, None)?;
        let mut data = self.data(first, None, watch)?;
        let carried = carried(self.menu.explainer(first.game)?, &self.rows);
        if let Err(reason) = &carried {
            data["notes"]["fixed"] = fixed_note(reason).into();
        }
        Ok(json!({"page": data, "carried": carried.ok().map(|bytes| BASE64_STANDARD.encode(bytes))}))
    }

    /// What a page shows.
    fn data(&self, choice: PageChoice, choices: Option<Value>, watch: &Watch<'_>) -> Result<Value, Error> {
        let PageChoice { game, class } = choice;
        let explainer = self.menu.explainer(game)?;
        let scope = class.map_or(Scope::Label, Scope::Class);
        let survey = Survey::new(explainer, scope, &self.rows, watch)?;
        let survey = survey.with_interactions(explainer, scope, &self.rows, watch)?;
        let page = Page {
            subject: &self.subjects[class.unwrap_or(0)],
            explainer,
            rows: &self.rows,
            class,
            survey: &survey,
            facts: Vec::new(),
            timing: None,
            choices,
        };
        let mut data = page.json();
        data["game"]["distribution"] = self.menu.distributions()[game.distribution].name.as_str().into();
        Ok(data)
    }

    /// Forgets the pages drawn so far, to make room; they are drawn again when they are asked for.
    pub fn forget_pages(&self) {
        self.pages().fill(None);
    }

    /// The document with the first page.
    #[cfg(feature = "report")]
    pub fn html(&self, watch: &Watch<'_>) -> Result<Arc<str>, Error> {
        let last = self.pages().len() - 1;
        self.keep(last, || {
            let first = self.choose(None, None, None)?;
            Ok(served_html(&self.subjects[0].title, &self.page(first, watch)?))
        })
    }

    /// The rows that are found, from the one at `offset` on at most `limit`.
    pub fn find(
        &self,
        search: &RowSearch,
        class: Option<usize>,
        offset: usize,
        limit: usize,
        watch: &Watch<'_>,
    ) -> Result<Value, Error> {
        let table = &self.rows.table;
        let predictions = self.predictions(class, watch)?;
        let labels = table.labels(self.subjects[class.unwrap_or(0)].class);
        let found = table.find(search, predictions, labels.as_deref(), watch)?;
        let shown = found.iter().skip(offset).take(limit).map(|&row| {
            let kind = table.kinds[row] as usize;
            json!({
                "row": row + 1,
                "bits": self.rows.bits_text(kind),
                "cells": table.columns.iter().map(|column| &column.cells[row]).collect::<Vec<_>>(),
                "prediction": u8::from(predictions[kind]),
                "label": labels.as_ref().and_then(|labels| labels[row]),
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

    /// The label of each kind of rows, computed once.
    fn predictions(&self, class: Option<usize>, watch: &Watch<'_>) -> Result<&[bool], Error> {
        let place = &self.predictions[class.unwrap_or(0)];
        if let Some(known) = place.get() {
            return Ok(known);
        }
        let circuit = self.menu.circuit();
        if circuit.values.is_some() {
            let wanted = class.unwrap_or(1) as u32;
            let decided = Predictor::of_circuit(circuit)?.classes(&self.rows.kinds, watch)?;
            return Ok(place.get_or_init(|| decided.into_iter().map(|found| found == wanted).collect()));
        }
        let circuit = NamedCircuit::new(circuit.label(class)?, circuit.features.clone())?;
        let labels = Predictor::of_circuit(&circuit)?.classes(&self.rows.kinds, watch)?;
        Ok(place.get_or_init(|| labels.into_iter().map(|label| label == 1).collect()))
    }

    /// What can be chosen.
    pub fn choices(&self) -> Value {
        let distributions = self.menu.distributions().iter().map(|one| json!({"value": one.name, "words": one.words}));
        let players = self.menu.players().iter().map(|one| json!({"value": one.kind(), "words": one.kind()}));
        let class = |(class, (name, _)): (usize, &(String, _))| json!({"value": class, "words": name});
        json!({
            "distributions": distributions.collect::<Vec<_>>(),
            "players": players.collect::<Vec<_>>(),
            "classes": self.menu.circuit().classes.iter().enumerate().map(class).collect::<Vec<_>>(),
        })
    }
}
