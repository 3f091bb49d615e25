//! What is served: a circuit with its rows, and every game that can be chosen on it, each prepared when it is first asked
//! for; the survey of all rows for a page when that page is first looked at.

use boolshap::data::Bits;
use boolshap::explain::Players;
use boolshap::lit::Watch;
use boolshap::report::{Page, Rows, Subject, Survey, served_html};
use boolshap::workflow::{Choice, ClassChoice, Explainer, Menu, Predictor, Scope};
use boolshap::{Error, NamedCircuit, Request};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a request may cost.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Entities of a request.
    pub rows: usize,
    /// Numbers of an answer; larger ones are not begun.
    pub numbers: usize,
    /// Time for a request.
    pub time: Duration,
    /// Requests that compute at the same time; up to eight times as many may wait.
    pub workers: usize,
    /// Open connections.
    pub connections: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        ServerLimits {
            body_bytes: 16 << 20,
            rows: 100_000,
            numbers: 1 << 25,
            time: Duration::from_secs(30),
            workers,
            connections: 1024,
        }
    }
}

/// A circuit to be served.
pub struct Site {
    pub(crate) menu: Menu,
    /// One, or one for each class.
    pub(crate) subjects: Vec<Subject>,
    /// Which bits belong together.
    pub(crate) columns: Players,
    pub(crate) rows: Rows,
    pub(crate) limits: ServerLimits,
    /// The label of each kind of rows, by class.
    labels: Vec<OnceLock<Vec<bool>>>,
    /// What the pages show, by class and game.
    pages: Vec<OnceLock<Value>>,
}

/// One page: a game and a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageChoice {
    pub(crate) game: Choice,
    pub(crate) class: Option<usize>,
}

impl Site {
    /// A site on which the requested game is shown first. That game is prepared here.
    pub fn new(
        circuit: Arc<NamedCircuit>,
        rows: Rows,
        request: &Request,
        limits: ServerLimits,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let classes: Vec<Option<usize>> = match circuit.classes.len() {
            0 => vec![None],
            several => (0..several).map(Some).collect(),
        };
        let subjects = classes.iter().map(|class| Subject::new(&circuit, *class)).collect::<Result<Vec<_>, _>>()?;
        let columns = Players::columns(&circuit.features, circuit.binariser.as_ref());
        let background = (rows.total() > 0).then(|| rows.expanded());
        let menu = Menu::new(circuit, request, background.as_ref(), watch)?;
        let pages = subjects.len() * menu.distributions().len() * menu.players().len();
        let labels = subjects.iter().map(|_| OnceLock::new()).collect();
        let pages = (0..pages).map(|_| OnceLock::new()).collect();
        Ok(Site { menu, subjects, columns, rows, limits, labels, pages })
    }

    pub(crate) fn circuit(&self) -> &NamedCircuit {
        self.menu.circuit()
    }

    /// The page of these names; of what is not given, the first.
    pub(crate) fn choose(
        &self,
        distribution: Option<&str>,
        players: Option<&str>,
        class: Option<&ClassChoice>,
    ) -> Result<PageChoice, Error> {
        Ok(PageChoice { game: self.menu.choose(distribution, players)?, class: self.menu.class(class)? })
    }

    /// The label of each kind of rows, computed once.
    pub(crate) fn labels(&self, class: Option<usize>, watch: &Watch<'_>) -> Result<&[bool], Error> {
        let place = &self.labels[class.unwrap_or(0)];
        if let Some(known) = place.get() {
            return Ok(known);
        }
        let kinds: &Bits = &self.rows.kinds;
        let circuit = NamedCircuit::new(self.circuit().label(class)?, self.circuit().features.clone())?;
        let labels = Predictor::of_circuit(&circuit)?.classes(kinds, watch)?;
        Ok(place.get_or_init(|| labels.into_iter().map(|label| label == 1).collect()))
    }

    /// What a page shows.
    pub(crate) fn page(&self, choice: PageChoice, watch: &Watch<'_>) -> Result<Value, Error> {
        let PageChoice { game, class } = choice;
        let games = self.menu.distributions().len() * self.menu.players().len();
        let of_game = game.distribution * self.menu.players().len() + game.players;
        let place = &self.pages[class.unwrap_or(0) * games + of_game];
        if let Some(page) = place.get() {
            return Ok(page.clone());
        }
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
            choices: Some(self.choices()),
        };
        let page = page.json();
        Ok(place.get_or_init(|| page).clone())
    }

    /// The page itself, of the first choice.
    pub(crate) fn html(&self, watch: &Watch<'_>) -> Result<String, Error> {
        let first = self.choose(None, None, None)?;
        Ok(served_html(&self.subjects[0].title, &self.page(first, watch)?))
    }

    fn choices(&self) -> Value {
        let distributions = self.menu.distributions().iter().map(|one| json!({"value": one.name, "words": one.words}));
        let players = self.menu.players().iter().map(|one| json!({"value": one.kind(), "words": one.kind()}));
        let class = |(class, (name, _)): (usize, &(String, _))| json!({"value": class, "words": name});
        json!({
            "distributions": distributions.collect::<Vec<_>>(),
            "players": players.collect::<Vec<_>>(),
            "classes": self.circuit().classes.iter().enumerate().map(class).collect::<Vec<_>>(),
        })
    }

    /// About how many nodes are visited to find the switches that change one decision.
    pub(crate) fn switch_visits(&self, explainer: &Explainer) -> u128 {
        let features = self.circuit().features.len();
        let nodes = explainer.circuit().circuit.stored_nodes();
        (features.div_ceil(64) * (nodes + features * features)) as u128
    }
}
