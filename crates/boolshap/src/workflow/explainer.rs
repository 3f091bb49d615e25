//! A circuit and a request, made ready for any number of rows.
//!
//! An explainer holds one game for each class and builds the engines of a game on first use, so that one explainer
//! serves a file of a million rows, a server's requests and an array alike. A call can ask for another index, class or
//! arithmetic than the request ([`Ask`]); distribution and players are fixed.

use super::resolve::in_groups;
use super::scope::{scope_of, scope_sums};
use super::{
    Ask, ClassChoice, DistributionFrom, EngineName, Error, GroupsFrom, MAX_SMOOTH_NODES, ModelOutput, Predictor,
    Request, RowsFrom, Scope,
};
use crate::circuit::{Circuit, CircuitError, NamedCircuit, Rule, WeightedSum};
use crate::data::{Bits, Blur, Scores};
use crate::explain::{
    ClassOfNetwork, Distribution, Engine, ExactGame, ExplainError, FloatGame, Game, Index, NetworkGame, Players,
    Reference, ScoreTable, ValueGame,
};
use crate::lit::{Pieces, Progress, Remedy, Watch, thousands};
use std::sync::{Arc, OnceLock};

/// Exact scores of rows.
///
/// ```
/// use boolshap::{CompileRequest, Explainer, Model, Request};
/// let model = Model::from_json(r#"{"format": "boolshap model", "version": 1, "features": ["rain", "wind", "roof"],
///     "classes": null, "schema": null, "marginals": null, "hidden": [],
///     "output": {"step": {"weights": "++-", "need": "2"}}, "provenance": {}}"#)?;
/// let compiled = boolshap::compile(&model, &CompileRequest::default())?;
/// let scores = Explainer::new(&compiled.circuit, &Request::default())?.explain_row(&[true, true, false])?;
/// assert_eq!((scores.prediction(0), scores.base_value(0)), (1, 0.5));
/// assert!(scores.scores(0).iter().all(|score| (score - 1.0 / 6.0).abs() < 1e-15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Explainer {
    pub(super) circuit: Arc<NamedCircuit>,
    /// The circuits of the classes, or of the only label; empty without a circuit, or if numbers are explained.
    labels: Vec<Arc<Circuit>>,
    /// Without a circuit, the network against its background.
    network: Option<Arc<NetworkGame>>,
    values: OnceLock<ValueGame>,
    pub(super) outputs: Vec<Output>,
    pub(super) players: Players,
    /// If each row has its own reference, this holds a placeholder row.
    distribution: Distribution,
    blur: Option<Blur>,
    pub(super) request: Request,
    pub(super) ask: Ask,
}

/// One label's game, and the engines made of it so far.
#[derive(Default)]
pub(super) struct Output {
    game: OnceLock<Game>,
    floats: OnceLock<FloatGame>,
    fractions: OnceLock<ExactGame>,
    table: OnceLock<ScoreTable>,
    reference: OnceLock<Reference>,
    /// For a network, in floats and in fractions.
    network: [OnceLock<ClassOfNetwork>; 2],
}

impl Explainer {
    /// Makes a circuit ready for a request.
    pub fn new(circuit: &NamedCircuit, request: &Request) -> Result<Self, Error> {
        Self::prepare(Arc::new(circuit.clone()), request, &Watch::unlimited())
    }

    /// The same with limits of time and memory and a stop request, for a shared circuit.
    pub fn prepare(circuit: Arc<NamedCircuit>, request: &Request, watch: &Watch<'_>) -> Result<Self, Error> {
        request.check()?;
        let scope = scope_of(request.class.as_ref(), &circuit)?;
        let players = request.players(&circuit)?;
        let distribution = request.distribution(&circuit, &players)?;
        let explainer = Self::of_parts(circuit, players, distribution, request)?;
        let ask = Ask { scope, ..explainer.ask };
        match explainer.is_of_scores() {
            true if explainer.network.is_some() => {}
            true => drop(explainer.value_game(watch)?),
            false => explainer.each_output(ask, |output| explainer.engine(output, ask, watch).map(drop))?,
        }
        Ok(Explainer { ask, ..explainer })
    }

    /// With players and a distribution that are already resolved.
    pub(super) fn of_parts(
        circuit: Arc<NamedCircuit>,
        players: Players,
        distribution: Distribution,
        request: &Request,
    ) -> Result<Self, Error> {
        check_output(request, &circuit)?;
        let blur = request.blur(&circuit)?;
        let network = network_game(&circuit, &players, &distribution, request)?;
        let has_labels = circuit.values.is_none() && network.is_none();
        let labels = if has_labels { circuit.labels()? } else { Vec::new() };
        let outputs = (0..circuit.classes.len().max(1)).map(|_| Output::default()).collect();
        let scope = scope_of(None, &circuit)?;
        let ask = Ask { scope, index: request.index, exact: request.exact };
        let mut request = request.clone();
        if circuit.is_of_scores() {
            request.model_output = Some(ModelOutput::Score);
        }
        let values = OnceLock::new();
        Ok(Explainer { circuit, labels, network, values, outputs, players, distribution, blur, request, ask })
    }

    /// The circuit that is explained.
    pub fn circuit(&self) -> &Arc<NamedCircuit> {
        &self.circuit
    }

    /// The circuit of one label; an error if it has none.
    pub fn label(&self, class: Option<usize>) -> Result<&Arc<Circuit>, Error> {
        self.circuit.check_compiled()?;
        Ok(self.labels.get(class.unwrap_or(0)).ok_or(CircuitError::OnlyScores)?)
    }

    /// Whether numbers are explained instead of labels.
    pub fn is_of_scores(&self) -> bool {
        self.circuit.is_of_scores()
    }

    /// The class of the network that an output is the label of.
    fn class_of(&self, output: usize) -> usize {
        if self.circuit.classes.is_empty() { 1 } else { output }
    }

    /// The players.
    pub fn players(&self) -> &Players {
        &self.players
    }

    /// What fills in absent features.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The request.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The default question.
    pub fn ask(&self) -> Ask {
        self.ask
    }

    /// Whether the explained output decides a class: labels always do.
    pub fn decides(&self) -> bool {
        self.circuit.values.as_ref().is_none_or(|values| values.rule() != Rule::Number)
    }

    /// Refuses a request for an output that is not explained: the label where it is the score, or the other way round.
    pub fn check_output(&self, request: &Request) -> Result<(), Error> {
        check_output(request, &self.circuit)
    }

    /// The scope of a choice of classes.
    pub fn scope(&self, class: Option<&ClassChoice>) -> Result<Scope, Error> {
        scope_of(class, &self.circuit)
    }

    /// The same for players in groups, as Owen values need them.
    pub fn in_groups(&self, groups: &GroupsFrom) -> Result<Self, Error> {
        let players = in_groups(self.players.clone(), groups)?;
        let request = Request { groups: Some(groups.clone()), ..self.request.clone() };
        let explainer = Self::of_parts(self.circuit.clone(), players, self.distribution.clone(), &request)?;
        Ok(Explainer { ask: self.ask, ..explainer })
    }

    /// Notes on the scores for the user: what is unknown about the circuit, and how it changed for its players.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.circuit.facts.cautions();
        notes.extend(self.reordered());
        notes
    }

    /// A note that the circuit grew in the order that its players need, as far as games are ready.
    pub(super) fn reordered(&self) -> Option<String> {
        let games = self.outputs.iter().filter_map(|output| output.game.get()?.reordered());
        let [before, after] = games.fold([0, 0], |[before, after], [old, new]| [before + old, after + new]);
        let [old, new] = [before, after].map(|nodes| thousands(nodes as u64));
        (after > before).then(|| {
            format!(
                "the circuit was reordered, so that the features of each player are side by side: {new} nodes instead of \
                 {old}"
            )
        })
    }

    /// The scores of one row.
    pub fn explain_row(&self, row: &[bool]) -> Result<Scores, Error> {
        let expected = self.circuit.features.len();
        if row.len() != expected {
            return Err(ExplainError::EntityLength { entity: 0, expected, found: row.len() }.into());
        }
        let mut rows = Bits::new(row.len());
        rows.push(row);
        self.explain(&rows, &Watch::unlimited())
    }

    /// The scores of rows, as requested.
    pub fn explain(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Scores, Error> {
        self.explain_as(rows, self.ask, watch)
    }

    /// The scores of rows for this question. With [`Scope::Each`] those of the classes are side by side.
    pub fn explain_as(&self, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Scores, Error> {
        self.explained(rows, ask, watch).map_err(|error| self.with_hint(error, rows))
    }

    fn explained(&self, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Scores, Error> {
        if let Some(blur) = &self.blur {
            return self.against_blurred(blur, rows, ask, watch);
        }
        if self.is_of_scores() {
            return self.explain_scores(rows, ask, watch);
        }
        match ask.scope {
            Scope::Difference(..) => Err(Error::setting("class", "as a difference is for scores, not for labels")),
            Scope::Label => self.one(0, rows, ask, watch),
            Scope::Class(class) => {
                let classes = self.classes_of(rows, &watch.silent())?;
                Ok(self.one(class, rows, ask, watch)?.with_predictions(&classes))
            }
            Scope::Each => {
                let tables = self.explain_each(rows, ask, watch)?;
                Ok(Scores::side_by_side(self.classes_of(rows, watch)?, &tables))
            }
            Scope::Predicted => self.predicted(rows, ask, watch),
        }
    }

    /// The scores of rows, each against its own blurred copy.
    fn against_blurred(&self, blur: &Blur, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Scores, Error> {
        let classes = if ask.scope == Scope::Each { self.outputs.len() } else { 1 };
        let width = classes * (1 + ask.index.width(self.players.len())) - 1;
        let mut all = Scores::empty(width, ask.exact);
        let pieces = Pieces::new(watch, rows.rows());
        for row in 0..rows.rows() {
            let table =
                pieces.next(|watch| self.against(blur.of(&rows.row(row)))?.explained(&rows.select(&[row]), ask, watch));
            all.append(table.map_err(|error| match error {
                Error::Explain(error) => error.with_entity(|_| row).into(),
                error => error,
            })?);
        }
        Ok(all)
    }

    /// The same against other background rows.
    fn against(&self, rows: Bits) -> Result<Self, Error> {
        let from = DistributionFrom::Background(RowsFrom::Bits(rows.clone()));
        let request = Request { distribution: from, ..self.request.clone() };
        let distribution = Distribution::Background(rows);
        Ok(Explainer {
            circuit: self.circuit.clone(),
            labels: self.labels.clone(),
            network: network_game(&self.circuit, &self.players, &distribution, &request)?,
            values: OnceLock::new(),
            outputs: self.outputs.iter().map(|_| Output::default()).collect(),
            players: self.players.clone(),
            distribution,
            blur: None,
            request,
            ask: self.ask,
        })
    }

    /// A row's own reference, if rows have one.
    pub(super) fn blurred(&self, row: &[bool]) -> Option<Bits> {
        self.blur.as_ref().map(|blur| blur.of(row))
    }

    /// Whether rows have their own base values, because each has its own reference.
    pub fn has_own_bases(&self) -> bool {
        self.blur.is_some()
    }

    /// The scores of each class of the scope, in one table per class.
    pub fn explain_each(&self, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Vec<Scores>, Error> {
        let outputs = match ask.scope {
            Scope::Class(class) => class..class + 1,
            _ => 0..self.outputs.len(),
        };
        if let Some(network) = &self.network {
            let classes: Vec<usize> = outputs.map(|output| self.class_of(output)).collect();
            return Ok(network.explain(rows, &classes, ask.index, ask.exact, watch)?);
        }
        let pieces = Pieces::new(watch, outputs.len());
        outputs.map(|output| pieces.next(|watch| self.one(output, rows, ask, watch))).collect()
    }

    fn one(&self, output: usize, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Scores, Error> {
        Ok(self.engine(output, ask, &watch.silent())?.explain(rows, ask.index, watch)?)
    }

    /// The numbers of each row's predicted class.
    fn predicted(&self, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Scores, Error> {
        let classes = self.classes_of(rows, watch)?;
        // The time for a row grows with the nodes of its class.
        let work = |class: usize| self.labels.get(class).map_or(1.0, |label| label.stored_nodes() as f64);
        let total: f64 = classes.iter().map(|&class| work(class as usize)).sum();
        let mut before = 0.0;
        let mut place_of = vec![0; rows.rows()];
        let mut scored = Scores::empty(ask.index.width(self.players.len()), ask.exact);
        for class in 0..self.outputs.len() {
            let mine: Vec<usize> = (0..rows.rows()).filter(|&row| classes[row] as usize == class).collect();
            if mine.is_empty() {
                continue;
            }
            let first = scored.len() as u32;
            mine.iter().zip(first..).for_each(|(&row, place)| place_of[row] = place);
            let engine = self.engine(class, ask, &watch.silent())?;
            let mine_of_all = mine.len() as f64 * work(class);
            let report = |progress: Progress| {
                watch.report(before + progress.share().unwrap_or(0.0) * mine_of_all, Some(total), "");
            };
            let table = engine.explain(&rows.select(&mine), ask.index, &watch.progress(&report));
            before += mine_of_all;
            let table = table.map_err(|error| error.with_entity(|entity| mine[entity]))?;
            scored.append(table.with_prediction(class as u32));
        }
        Ok(scored.select(&place_of))
    }

    /// The numbers of rows, those of several classes together, since they share their parts.
    fn explain_scores(&self, rows: &Bits, ask: Ask, watch: &Watch<'_>) -> Result<Scores, Error> {
        if let Some(network) = &self.network {
            let sums = self.network_sums(network, ask.scope);
            let (classes, asked) = (network.classes(rows), (ask.index, ask.exact));
            let own = |row: usize| classes[row] as usize..classes[row] as usize + 1;
            let all = |_: usize| 0..sums.len();
            return Ok(match ask.scope {
                Scope::Predicted => network.explain_values(rows, &sums, &own, classes.clone(), asked, watch)?,
                _ => network.explain_values(rows, &sums, &all, classes.clone(), asked, watch)?,
            });
        }
        let game = self.value_game(&watch.silent())?;
        let sums = scope_sums(game.values().sums(), ask.scope);
        let decided = match game.values().rule() {
            Rule::Number => None,
            _ => Some(Predictor::of_circuit(&self.circuit)?.classes(rows, &watch.silent())?),
        };
        let classes = decided.unwrap_or_else(|| vec![0; rows.rows()]);
        let own = |row: usize| classes[row] as usize..classes[row] as usize + 1;
        let all = |_: usize| 0..sums.len();
        let asked = (ask.index, ask.exact);
        Ok(match ask.scope {
            Scope::Predicted => game.explain(rows, &sums, &own, classes.clone(), asked, watch)?,
            _ => game.explain(rows, &sums, &all, classes.clone(), asked, watch)?,
        })
    }

    /// The weighted sums that a scope of a network is about.
    fn network_sums(&self, network: &NetworkGame, scope: Scope) -> Vec<WeightedSum> {
        let sums = network.network().values().into_iter();
        let sums: Vec<WeightedSum> = sums.map(|(constant, weights)| WeightedSum { constant, weights }).collect();
        scope_sums(&sums, scope)
    }

    fn value_game(&self, watch: &Watch<'_>) -> Result<&ValueGame, Error> {
        if self.request.engine.is_some_and(|engine| engine != EngineName::Fast) {
            return Err(Error::setting("engine", "is for labels: scores of a model have one way"));
        }
        once(&self.values, || {
            ValueGame::new(self.circuit.clone(), self.players.clone(), &self.distribution, watch)
                .map_err(|error| self.request.in_rows(error))
        })
    }

    fn classes_of(&self, rows: &Bits, watch: &Watch<'_>) -> Result<Vec<u32>, Error> {
        match &self.network {
            Some(network) => Ok(network.classes(rows)),
            None => Predictor::of_labels(&self.labels, true).classes(rows, watch),
        }
    }

    /// Calls `prepare` for each output that a scope needs.
    fn each_output(&self, ask: Ask, mut prepare: impl FnMut(usize) -> Result<(), Error>) -> Result<(), Error> {
        match ask.scope {
            Scope::Label => prepare(0),
            Scope::Class(class) => prepare(class),
            Scope::Each | Scope::Predicted => (0..self.outputs.len()).try_for_each(prepare),
            Scope::Difference(..) => Err(Error::setting("class", "as a difference is for scores, not for labels")),
        }
    }

    fn engine(&self, output: usize, ask: Ask, watch: &Watch<'_>) -> Result<&dyn Engine, Error> {
        let (request, place) = (&self.request, &self.outputs[output]);
        if let Some(network) = &self.network {
            let (class, exact) = (self.class_of(output), ask.exact);
            let place = &place.network[usize::from(exact)];
            return Ok(place.get_or_init(|| ClassOfNetwork::new(network.clone(), class, exact)));
        }
        let circuit = &self.labels[output];
        let in_rows = |error| request.in_rows(error);
        let is_reference = matches!(request.engine, Some(EngineName::Paper | EngineName::BruteForce));
        // A reference is built once, for one index and one arithmetic.
        if is_reference && (ask.index, ask.exact) != (self.ask.index, self.ask.exact) {
            return Err(Error::setting("engine", "was prepared for another index or arithmetic"));
        }
        match request.engine {
            Some(EngineName::Table) => {
                if !matches!(ask.index, Index::Shapley | Index::Banzhaf) || ask.exact {
                    return Err(Error::setting("engine", "table has Shapley and Banzhaf values in floats"));
                }
                Ok(once(&place.table, || Ok(ScoreTable::new(circuit, watch)?))?)
            }
            Some(EngineName::Paper) => Ok(once(&place.reference, || match &self.distribution {
                Distribution::Product(given) => {
                    Reference::paper(circuit, given.clone(), ask.exact, MAX_SMOOTH_NODES, watch).map_err(in_rows)
                }
                _ => Err(Error::setting("engine", "paper is for uniform and product distributions")),
            })?),
            Some(EngineName::BruteForce) => Ok(once(&place.reference, || {
                let (players, distribution) = (self.players.clone(), self.distribution.clone());
                Reference::brute_force(circuit, players, distribution, ask.index, ask.exact).map_err(in_rows)
            })?),
            _ if ask.exact => {
                let game = self.game(output, watch)?;
                Ok(once(&place.fractions, || Ok(ExactGame::new(game)?))?)
            }
            _ => Ok(self.floats(output, watch)?),
        }
    }

    fn game(&self, output: usize, watch: &Watch<'_>) -> Result<&Game, Error> {
        once(&self.outputs[output].game, || {
            let (players, distribution) = (self.players.clone(), self.distribution.clone());
            Game::new(self.labels[output].clone(), players, distribution, watch)
                .map_err(|error| self.request.in_rows(error))
        })
    }

    fn floats(&self, output: usize, watch: &Watch<'_>) -> Result<&FloatGame, Error> {
        let game = self.game(output, watch)?;
        once(&self.outputs[output].floats, || Ok(FloatGame::new(game)))
    }

    /// The expected label, or score, when nothing is known of a row, for each class of the scope.
    pub fn base_values(&self, scope: Scope, watch: &Watch<'_>) -> Result<Vec<f64>, Error> {
        if self.has_own_bases() {
            let why = "'blur' is another reference for each row, so that there is no base value of all rows";
            return Err(Error::setting("distribution", why));
        }
        if let (Some(network), true) = (&self.network, self.is_of_scores()) {
            let sums = self.network_sums(network, scope);
            return Ok(sums.iter().map(|sum| network.base_of(sum).to_f64().value()).collect());
        }
        if self.is_of_scores() {
            let game = self.value_game(watch)?;
            return Ok(scope_sums(game.values().sums(), scope).iter().map(|sum| game.base_value(sum)).collect());
        }
        let mut values = Vec::new();
        self.each_output(Ask { scope, ..self.ask }, |output| {
            values.push(match &self.network {
                Some(network) => network.base_value(self.class_of(output)).to_f64().value(),
                None if self.request.engine == Some(EngineName::Table) => {
                    once(&self.outputs[output].table, || Ok(ScoreTable::new(&self.labels[output], watch)?))?
                        .base_value()
                }
                None => self.floats(output, watch)?.base_value(),
            });
            Ok(())
        })?;
        Ok(values)
    }

    /// A bound on the error of base values and scores, for any row: 0 in fractions, at most 1e-9 in floats; for a
    /// model's scores at most 1e-9 of their size.
    pub fn error_bound(&self, ask: Ask) -> Result<f64, Error> {
        let mut worst = 0f64;
        if let (Some(network), true) = (&self.network, self.is_of_scores()) {
            let sums = self.network_sums(network, ask.scope);
            return Ok(if ask.exact { 0.0 } else { sums.iter().map(NetworkGame::value_bound).fold(0.0, f64::max) });
        }
        if self.is_of_scores() {
            let game = self.value_game(&Watch::unlimited())?;
            let bound = |sum: &WeightedSum| game.error_bound(sum, ask.index, ask.exact);
            return Ok(scope_sums(game.values().sums(), ask.scope).iter().map(bound).fold(0.0, f64::max));
        }
        self.each_output(ask, |output| {
            worst = worst.max(self.engine(output, ask, &Watch::unlimited())?.error_bound(ask.index));
            Ok(())
        })?;
        Ok(worst)
    }

    /// About how many nodes are visited for one row; nothing while a game is not ready, or if it is unknown.
    pub fn visits(&self, ask: Ask) -> Option<u128> {
        let of = |output: &Output| output.floats.get().map(|floats| floats.visits(ask.index));
        match ask.scope {
            _ if ask.exact => None,
            _ if self.is_of_scores() => self.values.get().map(|game| game.visits(ask.index)),
            Scope::Difference(..) => None,
            Scope::Label => of(&self.outputs[0]),
            Scope::Class(class) => of(&self.outputs[class]),
            Scope::Each | Scope::Predicted => self.outputs.iter().map(of).sum(),
        }
    }

    /// What the scores mean, as a line to read.
    pub fn describe(&self) -> String {
        self.request.describe(self.class_words().as_deref())
    }

    /// The class that is explained, with its name.
    fn class_words(&self) -> Option<String> {
        match self.ask.scope {
            Scope::Class(class) => {
                let name = self.circuit.classes.get(class).map_or("", |(name, _)| name.as_str());
                Some(if name == class.to_string() { class.to_string() } else { format!("{class} ({name})") })
            }
            scope => scope.name(),
        }
    }
}

/// The game of a network without a circuit; nothing if there is a circuit.
fn network_game(
    circuit: &NamedCircuit,
    players: &Players,
    distribution: &Distribution,
    request: &Request,
) -> Result<Option<Arc<NetworkGame>>, Error> {
    let Some(network) = &circuit.network else { return Ok(None) };
    let needs = |what: &str| {
        Err(Error::Limit {
            message: format!("{}, and without a circuit {what}", network.why),
            remedy: Some(Remedy::CompileFirst),
        })
    };
    match distribution {
        _ if request.engine.is_some_and(|engine| engine != EngineName::Fast) => needs("there is no other engine"),
        Distribution::Background(rows) => {
            let game = NetworkGame::new(network.network.clone(), players.clone(), rows);
            game.map(|game| Some(Arc::new(game))).map_err(|error| request.in_rows(error))
        }
        _ => needs("it is explained against background rows or a reference only"),
    }
}

/// Refuses to explain an output that a file does not hold.
fn check_output(request: &Request, circuit: &NamedCircuit) -> Result<(), Error> {
    match (request.model_output, circuit.is_of_scores()) {
        (Some(ModelOutput::Label), true) => {
            Err(Error::setting("model_output", "is 'label', but the file holds scores: the model has both"))
        }
        (Some(ModelOutput::Score), false) => Err(Error::setting(
            "model_output",
            "is 'score', but the circuit holds labels only: the model has both, and can be compiled into its scores",
        )),
        _ => Ok(()),
    }
}

/// The value of a cell, made on first use; if two are made at once, the first is kept.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
