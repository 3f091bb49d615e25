//! What a question needs besides the classifier: names resolved to players, costs, claims and codes read, and what may
//! change.

use super::ask_claims::{Claim, read_claims};
use super::ask_codes::CodeBook;
use super::player_names::{named_players, read_costs};
use super::{AskRequest, DistributionFrom, Error, Explainer};
use crate::circuit::{Circuit, NamedCircuit};
use crate::data::Code;
use crate::lit::Watch;
use crate::query::{Bias, ReasonsWanted, Space, Which, Wish};
use dashu_ratio::RBig;
use std::sync::Arc;

/// What a question needs besides the classifier.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) reasons: ReasonsWanted,
    /// Computes the scores that order the players of reasons, if that order is wanted.
    pub(super) scores: Option<Explainer>,
    pub(super) wish: Wish,
    /// Columns of ordered values that may only rise, or only fall.
    pub(super) rising: Vec<usize>,
    pub(super) falling: Vec<usize>,
    /// For each player, how many of its values have an order, if any.
    pub(super) ordered: Vec<Option<usize>>,
    pub(super) bias: Option<Bias>,
    pub(super) protected: Vec<usize>,
    pub(super) other: Option<Vec<Arc<Circuit>>>,
    pub(super) claims: Vec<Claim>,
    pub(super) codes: Option<CodeBook>,
}

impl Parts {
    /// For each player, whether all of its values have an order, including the missing one.
    pub(super) fn all_ordered(&self, space: &Space) -> Vec<bool> {
        let is_all = |(player, values): (usize, &Option<usize>)| *values == Some(space.members(player).len());
        self.ordered.iter().enumerate().map(is_all).collect()
    }

    /// Resolves a request for a circuit: names become players, files are read.
    pub(super) fn resolve(
        &mut self,
        circuit: &Arc<NamedCircuit>,
        space: &Space,
        request: &AskRequest,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let players = |setting, given: &[String]| named_players(setting, given, circuit, space);
        self.reasons = ReasonsWanted {
            which: match (request.all, request.limit, request.minimum) {
                (true, None, _) => Which::All,
                (_, Some(most), _) => Which::Smallest(most),
                (false, None, true) => Which::Smallest(1),
                (false, None, false) => Which::One,
            },
            exclude: players("exclude", &request.exclude)?,
            prefer: Vec::new(),
            share: request.share.clone().filter(|share| *share < RBig::ONE),
        };
        let names = space.players().names();
        match &request.prefer[..] {
            [only] if only == "score" && !names.contains(only) => {
                let request = request.scores(DistributionFrom::Uniform);
                self.scores = Some(Explainer::prepare(circuit.clone(), &request, watch)?);
            }
            given => self.reasons.prefer = players("prefer", given)?,
        }
        self.protected = players("protected", &request.protected)?;
        self.resolve_moves(circuit, space, request)?;
        self.wish.limit = request.limit;
        self.wish.beyond = request.beyond;
        self.wish.costs = match &request.costs {
            Some(costs) => Some(read_costs(costs, circuit, space)?),
            None => None,
        };
        if let Some(claims) = &request.claims {
            self.claims = read_claims(claims, circuit, space)?;
        }
        Ok(())
    }

    /// Resolves which players may change, and in which direction.
    fn resolve_moves(&mut self, circuit: &NamedCircuit, space: &Space, request: &AskRequest) -> Result<(), Error> {
        let players = |setting, given: &[String]| named_players(setting, given, circuit, space);
        for player in players("freeze", &request.freeze)? {
            self.wish.not_up.extend(space.members(player));
            self.wish.not_down.extend(space.members(player));
        }
        if !request.actionable.is_empty() {
            let free = players("actionable", &request.actionable)?;
            for player in (0..space.players().len()).filter(|player| !free.contains(player)) {
                self.wish.not_up.extend(space.members(player));
                self.wish.not_down.extend(space.members(player));
            }
        }
        for (setting, given, is_up) in [("only_up", &request.only_up, true), ("only_down", &request.only_down, false)] {
            for player in players(setting, given)? {
                match (space.players().is_one_hot(player), self.ordered[player].is_some()) {
                    (true, false) => {
                        let name = &space.players().names()[player];
                        let setting = setting.replace('_', " ");
                        return Err(Error::input(format!("{setting} names '{name}', whose values have no order")));
                    }
                    (true, true) if is_up => self.rising.push(player),
                    (true, true) => self.falling.push(player),
                    (false, _) if is_up => self.wish.not_down.extend(space.members(player)),
                    (false, _) => self.wish.not_up.extend(space.members(player)),
                }
            }
        }
        request.range.iter().try_for_each(|text| self.add_range(text, circuit))
    }

    /// Excludes the values of a column that lie outside a range of raw values.
    fn add_range(&mut self, text: &str, circuit: &NamedCircuit) -> Result<(), Error> {
        let wrong = |problem: &str| Error::input(format!("the range '{text}' {problem}"));
        let form = "is not COLUMN=LOW..HIGH, of which LOW or HIGH may be missing";
        let (column, range) = text.rsplit_once('=').ok_or_else(|| wrong(form))?;
        let (low, high) = range.split_once("..").ok_or_else(|| wrong(form))?;
        let number = |text: &str, missing: f64| match text.trim() {
            "" => Ok(missing),
            text => text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| wrong(form)),
        };
        let (low, high) = (number(low, f64::NEG_INFINITY)?, number(high, f64::INFINITY)?);
        let binariser = circuit.binariser.as_ref();
        let binariser = binariser.ok_or_else(|| wrong("is for raw values, which this circuit does not know"))?;
        let mut first = 0;
        for known in binariser.columns() {
            if known.name() == column {
                let outside = outside(&known.code, low, high).ok_or_else(|| wrong("is for a column of numbers"))?;
                match known.is_one_hot() {
                    // A missing value lies in no range.
                    true => {
                        let missing = outside.len()..known.bits();
                        let out = (0..outside.len()).filter(|&place| outside[place]).chain(missing);
                        self.wish.not_up.extend(out.map(|place| first + place));
                    }
                    false => {
                        self.wish.not_down.extend(outside[0].then_some(first));
                        self.wish.not_up.extend(outside[1].then_some(first));
                    }
                }
                return Ok(());
            }
            first += known.bits();
        }
        Err(wrong("names a column that is not there"))
    }
}

/// Which of the values of a column of numbers lie outside of a range; nothing for other columns.
fn outside(code: &Code, low: f64, high: f64) -> Option<Vec<bool>> {
    let between = |edges: &[f64]| {
        let begin = |place: usize| place.checked_sub(1).map_or(f64::NEG_INFINITY, |edge| edges[edge]);
        let end = |place: usize| edges.get(place).copied().unwrap_or(f64::INFINITY);
        (0..=edges.len()).map(|place| end(place) < low || begin(place) >= high).collect()
    };
    match code {
        Code::Above(threshold) => Some(between(&[*threshold])),
        Code::Bins(edges) => Some(between(edges)),
        Code::Values(values) => Some(values.iter().map(|value| *value < low || *value > high).collect()),
        Code::Boolean | Code::Categories(_) | Code::Common(_) => None,
    }
}
