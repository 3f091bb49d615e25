//! What is served: a circuit with its rows, and every game that can be chosen on it.
//!
//! A game is a class, a distribution and players. There are few of them, and each is prepared once, when it is first asked
//! for: the engine first, the survey of all rows for its page when somebody looks at that page.

use crate::error::ApiError;
use boolshap::circuit::{Circuit, CircuitError, Evaluator, NamedCircuit};
use boolshap::data::Bits;
use boolshap::explain::{ExplainError, FloatGame, Game, Players, Population};
use boolshap::lit::Watch;
use boolshap::report::{Page, Rows, Subject, Survey};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What a request may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Entities of a request.
    pub rows: usize,
    /// Numbers of an answer: more than anybody reads are not begun.
    pub numbers: usize,
    /// Time for a request.
    pub time: Duration,
    /// Requests that compute at the same time; as many again may wait, times eight.
    pub workers: usize,
    /// Open connections.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Limits {
            body_bytes: 16 << 20,
            rows: 100_000,
            numbers: 1 << 25,
            time: Duration::from_secs(30),
            workers,
            connections: 1024,
        }
    }
}

/// A population that can be chosen by its name.
pub struct NamedPopulation {
    /// Its name in requests.
    pub name: String,
    /// What it is, for people.
    pub words: String,
    /// What absent features are.
    pub population: Population,
}

/// Why a site cannot be.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The circuit cannot be used.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The game that is served first cannot be played.
    #[error(transparent)]
    Explain(#[from] ExplainError),
}

/// A circuit to be served.
pub struct Site {
    pub(crate) named: NamedCircuit,
    /// One, or one for each class.
    pub(crate) labels: Vec<Label>,
    /// Which bits belong together.
    pub(crate) columns: Players,
    pub(crate) rows: Rows,
    pub(crate) populations: Vec<NamedPopulation>,
    pub(crate) players: Vec<Players>,
    pub(crate) limits: Limits,
    facts: Vec<(String, String)>,
    games: Vec<OnceLock<Arc<Prepared>>>,
}

/// One label of the circuit.
pub(crate) struct Label {
    pub(crate) circuit: Circuit,
    pub(crate) subject: Subject,
    predictions: OnceLock<Vec<bool>>,
}

impl Label {
    /// The label of each kind of rows, computed once.
    pub(crate) fn predictions(&self, kinds: &Bits, watch: &Watch<'_>) -> Result<&[bool], ExplainError> {
        if let Some(known) = self.predictions.get() {
            return Ok(known);
        }
        let mut evaluator = Evaluator::new(&self.circuit);
        let mut predictions = Vec::with_capacity(kinds.rows());
        for block in 0..kinds.blocks() {
            watch.check()?;
            let word = evaluator.words(&kinds.block(block))?;
            predictions.extend((0..64.min(kinds.rows() - 64 * block)).map(|lane| word >> lane & 1 == 1));
        }
        Ok(self.predictions.get_or_init(|| predictions))
    }
}

/// A game made ready.
pub(crate) struct Prepared {
    pub(crate) game: FloatGame,
    page: OnceLock<Value>,
}

/// Which game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) class: usize,
    pub(crate) population: usize,
    pub(crate) players: usize,
}

impl Site {
    /// A site whose first population and players are served unless others are asked for. That first game is prepared here.
    pub fn new(
        named: NamedCircuit,
        rows: Rows,
        populations: Vec<NamedPopulation>,
        players: Vec<Players>,
        limits: Limits,
        watch: &Watch<'_>,
    ) -> Result<Self, SiteError> {
        let classes: Vec<Option<usize>> = match named.classes.len() {
            0 => vec![None],
            several => (0..several).map(Some).collect(),
        };
        let label = |class: Option<usize>| -> Result<Label, CircuitError> {
            let circuit = class.map_or_else(|| Ok(named.circuit.clone()), |class| named.class(class))?;
            Ok(Label { circuit, subject: Subject::new(&named, class)?, predictions: OnceLock::new() })
        };
        let labels = classes.into_iter().map(label).collect::<Result<Vec<_>, _>>()?;
        let games = (0..labels.len() * populations.len() * players.len()).map(|_| OnceLock::new()).collect();
        let columns = Players::columns(&named.features, named.binariser.as_ref());
        let facts = Vec::new();
        let site = Site { named, labels, columns, rows, populations, players, limits, facts, games };
        site.prepare(Choice { class: 0, population: 0, players: 0 }, watch)?;
        Ok(site)
    }

    /// The game of a choice, if it has been prepared.
    pub(crate) fn ready(&self, choice: Choice) -> Option<&Arc<Prepared>> {
        self.place(choice).get()
    }

    /// The game of a choice; two requests may both prepare it, the first to be done is kept.
    pub(crate) fn prepare(&self, choice: Choice, watch: &Watch<'_>) -> Result<&Arc<Prepared>, ExplainError> {
        let place = self.place(choice);
        if let Some(prepared) = place.get() {
            return Ok(prepared);
        }
        let population = self.populations[choice.population].population.clone();
        let players = self.players[choice.players].clone();
        let game = Game::new(&self.labels[choice.class].circuit, players, population, watch)?;
        Ok(place.get_or_init(|| Arc::new(Prepared { game: FloatGame::new(&game), page: OnceLock::new() })))
    }

    fn place(&self, choice: Choice) -> &OnceLock<Arc<Prepared>> {
        &self.games[(choice.class * self.populations.len() + choice.population) * self.players.len() + choice.players]
    }

    /// What the page of a choice shows.
    pub(crate) fn page(&self, choice: Choice, watch: &Watch<'_>) -> Result<Value, ExplainError> {
        let prepared = self.prepare(choice, watch)?;
        if let Some(page) = prepared.page.get() {
            return Ok(page.clone());
        }
        let page = self.with_page(choice, prepared, watch, |page| page.json())?;
        Ok(prepared.page.get_or_init(|| page).clone())
    }

    /// The page itself, of the first choice.
    pub(crate) fn html(&self, watch: &Watch<'_>) -> Result<String, ExplainError> {
        let choice = Choice { class: 0, population: 0, players: 0 };
        let data = self.page(choice, watch)?;
        Ok(boolshap::report::served_html(&self.labels[0].subject.title, &data))
    }

    fn with_page<T>(
        &self,
        choice: Choice,
        prepared: &Prepared,
        watch: &Watch<'_>,
        make: impl FnOnce(&Page<'_>) -> T,
    ) -> Result<T, ExplainError> {
        let label = &self.labels[choice.class];
        let named = &self.populations[choice.population];
        let survey = Survey::new(&prepared.game, &self.rows, watch)?;
        let survey = survey.with_interactions(&prepared.game, &self.rows, watch)?;
        Ok(make(&Page {
            subject: &label.subject,
            circuit: &label.circuit,
            rows: &self.rows,
            players: &self.players[choice.players],
            population: &named.population,
            distribution: &named.name,
            class: (self.labels.len() > 1).then_some(choice.class),
            survey: &survey,
            facts: self.facts.clone(),
            timing: None,
            choices: Some(self.choices()),
        }))
    }

    fn choices(&self) -> Value {
        let distributions = self.populations.iter().map(|one| json!({"value": one.name, "words": one.words}));
        let players = self.players.iter().map(|one| json!({"value": one.kind(), "words": one.kind()}));
        let class = |(class, (name, _)): (usize, &(String, _))| json!({"value": class, "words": name});
        json!({
            "distributions": distributions.collect::<Vec<_>>(),
            "players": players.collect::<Vec<_>>(),
            "classes": self.named.classes.iter().enumerate().map(class).collect::<Vec<_>>(),
        })
    }

    /// The choice of these names; those that are not given are the first.
    pub(crate) fn choose(
        &self,
        distribution: Option<&str>,
        players: Option<&str>,
        class: Option<u64>,
    ) -> Result<Choice, ApiError> {
        let find = |field: &str, names: Vec<&str>, wanted: Option<&str>| match wanted {
            None => Ok(0),
            Some(wanted) => names
                .iter()
                .position(|name| *name == wanted)
                .ok_or_else(|| ApiError::bad(field, format!("'{wanted}' is none of {}", names.join(", ")))),
        };
        let names = self.populations.iter().map(|one| one.name.as_str()).collect();
        let population = find("distribution", names, distribution)?;
        let players = find("players", self.players.iter().map(Players::kind).collect(), players)?;
        let class = match class {
            None => 0,
            Some(class) if class < self.labels.len() as u64 => class as usize,
            Some(class) => {
                let classes = self.labels.len();
                return Err(ApiError::bad(
                    "class",
                    format!("{class} is not one of the {classes} classes, counted from 0"),
                ));
            }
        };
        Ok(Choice { class, population, players })
    }

    /// About how many nodes are looked at to find the switches that change a decision.
    pub(crate) fn switch_visits(&self, choice: Choice) -> u128 {
        let features = self.named.features.len();
        (features.div_ceil(64) * (self.labels[choice.class].circuit.stored_nodes() + features * features)) as u128
    }
}
