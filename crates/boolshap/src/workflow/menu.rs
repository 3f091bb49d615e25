//! The games that can be chosen on one circuit: what a server offers, each prepared on first use.

use super::{
    ClassChoice, DistributionFrom, Error, Explainer, PlayersFrom, ReferenceFrom, Request, RowsFrom, Scope,
    opening_class,
};
use crate::circuit::NamedCircuit;
use crate::data::{Bits, Scores};
use crate::explain::{Distribution, Players};
use crate::lit::Watch;
use crate::model::NetworkEvaluator;
use crate::query::{deciding_switches, switches_by};
use std::sync::{Arc, OnceLock};

/// Distributions and players to choose from; the first of each were requested.
pub struct Menu {
    circuit: Arc<NamedCircuit>,
    distributions: Vec<Offer>,
    players: Vec<Players>,
    explainers: Vec<OnceLock<Explainer>>,
}

/// A distribution that can be chosen by its name.
pub struct Offer {
    /// Its name in requests.
    pub name: String,
    /// What it compares with, in words for people.
    pub words: String,
    /// Its technical term.
    pub term: &'static str,
    request: Request,
    distribution: Distribution,
}

/// One of the games on a menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The position of its distribution.
    pub distribution: usize,
    /// The position of its players.
    pub players: usize,
}

impl Menu {
    /// The requested game first, then those that the circuit and these rows offer. The first one is prepared.
    pub fn new(
        circuit: Arc<NamedCircuit>,
        request: &Request,
        rows: Option<&Bits>,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let menu = Self::offered(circuit, request, None, rows)?;
        let first = menu.explainer(Choice { distribution: 0, players: 0 })?;
        if !first.has_own_bases() {
            first.base_values(first.ask().scope, watch)?;
        }
        Ok(menu)
    }

    /// The same with nothing prepared; the requested distribution may have another name than the request gives it.
    pub fn offered(
        circuit: Arc<NamedCircuit>,
        request: &Request,
        name: Option<&str>,
        rows: Option<&Bits>,
    ) -> Result<Self, Error> {
        request.check()?;
        let players = players_of(&circuit, request)?;
        let offer = |distribution: DistributionFrom| -> Result<Offer, Error> {
            // Smoothing is only for estimated probabilities.
            let is_estimated = matches!(distribution, DistributionFrom::Marginals | DistributionFrom::ProductFile(_));
            let smoothing = if is_estimated { request.smoothing } else { 0 };
            let request = Request { distribution, smoothing, ..request.clone() };
            let (words, term) = offer_words(&request.distribution);
            let distribution = request.distribution(&circuit, &players[0])?;
            Ok(Offer { name: request.distribution.name(), words, term, request, distribution })
        };
        let name = name.map_or_else(|| request.distribution.name(), str::to_string);
        let mut distributions = vec![Offer { name: name.clone(), ..offer(request.distribution.clone())? }];
        // Dropping a constraint silently would mislead, and without a circuit most other games are too large.
        if request.constraint.is_none() && circuit.network.is_none() {
            if name != "uniform" {
                distributions.push(offer(DistributionFrom::Uniform)?);
            }
            if name != "product" && circuit.marginals.as_ref().is_some_and(|marginals| marginals.rows > 0) {
                distributions.push(offer(DistributionFrom::Marginals)?);
            }
            if let Some(rows) = rows.filter(|rows| rows.rows() > 0) {
                let rows = || RowsFrom::Bits(rows.clone());
                for distribution in [DistributionFrom::Background(rows()), DistributionFrom::Empirical(rows())] {
                    if name != distribution.name() {
                        distributions.push(offer(distribution)?);
                    }
                }
            }
        }
        let explainers = (0..distributions.len() * players.len()).map(|_| OnceLock::new()).collect();
        Ok(Menu { circuit, distributions, players, explainers })
    }

    /// The circuit.
    pub fn circuit(&self) -> &Arc<NamedCircuit> {
        &self.circuit
    }

    /// The distributions, the first of them by default.
    pub fn distributions(&self) -> &[Offer] {
        &self.distributions
    }

    /// The players, the first of them by default.
    pub fn players(&self) -> &[Players] {
        &self.players
    }

    /// The game of these names; a name that is not given means the first.
    pub fn choose(&self, distribution: Option<&str>, players: Option<&str>) -> Result<Choice, Error> {
        fn find(setting: &'static str, names: Vec<&str>, wanted: Option<&str>) -> Result<usize, Error> {
            let Some(wanted) = wanted else { return Ok(0) };
            let found = names.iter().position(|name| *name == wanted);
            found.ok_or_else(|| Error::setting(setting, format!("'{wanted}' is not one of {}", names.join(", "))))
        }
        let names = self.distributions.iter().map(|offer| offer.name.as_str()).collect();
        let distribution = find("distribution", names, distribution)?;
        let players = find("players", self.players.iter().map(Players::kind).collect(), players)?;
        Ok(Choice { distribution, players })
    }

    /// The explainer of a game.
    pub fn explainer(&self, choice: Choice) -> Result<&Explainer, Error> {
        let place = &self.explainers[choice.distribution * self.players.len() + choice.players];
        if let Some(explainer) = place.get() {
            return Ok(explainer);
        }
        let offer = &self.distributions[choice.distribution];
        let (players, distribution) = (self.players[choice.players].clone(), offer.distribution.clone());
        let made = Explainer::of_parts(self.circuit.clone(), players, distribution, &offer.request)?;
        Ok(place.get_or_init(|| made))
    }

    /// For each row, the features that change the explained label when switched alone; in a one-hot column, switching
    /// one on switches its siblings off.
    pub fn flips(
        &self,
        rows: &Bits,
        scope: Scope,
        scores: &Scores,
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<usize>>, Error> {
        let explainer = self.explainer(Choice { distribution: 0, players: 0 })?;
        // If no columns are offered, the features take their place.
        let of_kind = |kind: &str| self.players.iter().find(|players| players.kind() == kind);
        let columns = of_kind("columns").or_else(|| of_kind("features")).unwrap_or(&self.players[0]);
        let of_row = |row: usize| {
            watch.check()?;
            let class = match scope {
                Scope::Difference(..) => {
                    return Err(Error::setting("flips", "are those of a label"));
                }
                Scope::Label => None,
                Scope::Class(class) => Some(class),
                Scope::Predicted => Some(scores.prediction(row) as usize),
                Scope::Each => {
                    return Err(Error::setting("flips", "are those of one class: choose one with class"));
                }
            };
            let row = rows.row(row);
            let Some(network) = &self.circuit.network else {
                return Ok(deciding_switches(explainer.label(class)?, &row, columns)?);
            };
            let mut evaluator = NetworkEvaluator::new(&network.network);
            // A single label is that of the second class.
            switches_by(|words| Ok(evaluator.classes(words)[class.unwrap_or(1)]), &row, columns)
        };
        (0..rows.rows()).map(of_row).collect()
    }

    /// About how many nodes are visited for the flips of a row.
    pub fn flip_visits(&self) -> u128 {
        let features = self.circuit.features.len();
        let nodes = match &self.circuit.network {
            Some(network) => network.network.hidden().iter().flatten().map(|gate| gate.weights().len()).sum(),
            None => self.circuit.circuit.stored_nodes(),
        };
        (features.div_ceil(64) * (nodes + features * features)) as u128
    }

    /// One class by number or name; the first by default, nothing for a circuit of one label.
    pub fn class(&self, class: Option<&ClassChoice>) -> Result<Option<usize>, Error> {
        opening_class(&self.circuit, class, None)
    }
}

/// What a distribution compares with, in words, and its technical term.
fn offer_words(distribution: &DistributionFrom) -> (String, &'static str) {
    let of_file = |words: &str, rows: &RowsFrom| match rows {
        RowsFrom::Bits(_) => words.to_string(),
        RowsFrom::File(path) => format!("{words} of {}", super::request::file_name(path)),
    };
    match distribution {
        DistributionFrom::Uniform => ("all combinations".into(), "uniform, as in the paper"),
        DistributionFrom::Marginals => ("values as often as in training".into(), "product"),
        DistributionFrom::Probabilities(_) | DistributionFrom::ProductFile(_) => {
            ("values with given probabilities".into(), "product")
        }
        DistributionFrom::Background(rows) => (of_file("all rows", rows), "background"),
        DistributionFrom::Empirical(rows) => (of_file("similar rows", rows), "empirical"),
        DistributionFrom::Reference(ReferenceFrom::Blur(_)) => ("each row's own blurred copy".into(), "reference"),
        DistributionFrom::Reference(_) => (format!("one row, {}", distribution.name()), "reference"),
    }
}

/// The requested players, then features and columns, if they differ.
fn players_of(circuit: &NamedCircuit, request: &Request) -> Result<Vec<Players>, Error> {
    let mut all = vec![request.players(circuit)?];
    if circuit.network.is_some() {
        return Ok(all);
    }
    for from in [PlayersFrom::Features, PlayersFrom::Columns] {
        let other = Request { players: from, ..Request::default() }.players(circuit)?;
        let is_new = all.iter().all(|known| known.kind() != other.kind());
        if is_new && (other.kind() == "features" || other.names() != circuit.features) {
            all.push(other);
        }
    }
    Ok(all)
}
