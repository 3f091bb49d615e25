//! The part of the checker for distances: the nearest inputs with another decision, their number, and verdicts on an
//! input that was said to be nearest.
//!
//! That no input is nearer is shown by a proof, or by trying all inputs within the distance, at most 2^20.

use super::certificate_check::{Checker, refuse, text_of};
use super::certificate_clauses::{Budget, Question};
use super::certificate_recount::{counted, fraction};
use super::certificate_sets::PlayerSet;
use super::claims::{InputVerdictClaim, Moves, NearestClaim};
use super::{QueryError, check_lrat};
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::{BTreeMap, HashSet};

/// The entity of a claim, the requested decision and the allowed changes.
pub(super) struct Start<'a> {
    entity: &'a str,
    label: usize,
    to: Option<usize>,
    costs: &'a BTreeMap<String, String>,
    moves: &'a Moves,
}

impl<'a> From<&'a NearestClaim> for Start<'a> {
    fn from(NearestClaim { entity, label, to, costs, moves, .. }: &'a NearestClaim) -> Self {
        Start { entity, label: *label, to: *to, costs, moves }
    }
}

impl<'a> From<&'a InputVerdictClaim> for Start<'a> {
    fn from(InputVerdictClaim { entity, label, to, costs, moves, .. }: &'a InputVerdictClaim) -> Self {
        Start { entity, label: *label, to: *to, costs, moves }
    }
}

/// The same with names and fractions resolved.
pub(super) struct Journey {
    pub(super) entity: Vec<bool>,
    /// The values that must not change.
    given: Vec<Option<bool>>,
    /// The decision that is required (`is`) or excluded.
    label: usize,
    is: bool,
    /// The cost of changing each player, in units of 1 / `parts`.
    costs: Vec<u128>,
    parts: u128,
}

impl Journey {
    /// Parses a cost as a whole number of parts.
    pub(super) fn parts(&self, text: &str) -> Result<u128, QueryError> {
        whole(&(fraction(text)? * RBig::from(self.parts)))
    }

    /// The cost of changing these players.
    pub(super) fn cost(&self, players: &PlayerSet) -> u128 {
        players.members().map(|player| self.costs[player]).sum()
    }

    fn allows(&self, input: &[bool]) -> bool {
        self.given.iter().zip(input).all(|(given, value)| given.is_none_or(|given| given == *value))
    }
}

fn whole(value: &RBig) -> Result<u128, QueryError> {
    match (value.denominator() == &UBig::ONE, u128::try_from(value.numerator().clone())) {
        (true, Ok(whole)) if whole < 1 << 100 => Ok(whole),
        _ => refuse(format!("the cost {value} is not a sum of costs, or too large")),
    }
}

impl Checker<'_> {
    /// Checks the nearest inputs with the requested decision.
    pub(super) fn nearest(&self, claim: &NearestClaim) -> Result<(), QueryError> {
        let journey = self.journey(claim.into())?;
        let distance = claim.distance.as_ref().map(|text| journey.parts(text)).transpose()?;
        for text in &claim.inputs {
            let input = self.input(text)?;
            if !journey.allows(&input) {
                return refuse(format!("{text} makes a change that is not allowed"));
            }
            if !self.is_wished(&journey, &input) {
                return refuse(format!("{text} is not decided as it is said to be"));
            }
            if distance != Some(journey.cost(&self.difference(&journey.entity, &input))) {
                return refuse(format!("{text} is not at the distance that is claimed"));
            }
        }
        if claim.inputs.iter().collect::<HashSet<_>>().len() < claim.inputs.len() {
            return refuse("an input is listed twice");
        }
        if distance.is_some() == claim.inputs.is_empty() {
            return refuse("it has a distance without an input, or an input without a distance");
        }
        self.none_nearer(&journey, distance, self.certificate.evidence.proof.as_deref())?;
        if let Some(count) = &claim.count {
            let most = distance.unwrap_or(0);
            let found = self.count_within(&journey, most, |cost| Some(cost) == distance)?;
            counted("inputs at the distance", found, count)?;
        }
        if let Some(within) = &claim.within {
            let found = self.count_within(&journey, journey.parts(&within.distance)?, |_| true)?;
            counted("inputs within the distance", found, &within.others)?;
        }
        Ok(())
    }

    /// Resolves the names and fractions of a claim.
    pub(super) fn journey(&self, start: Start<'_>) -> Result<Journey, QueryError> {
        let entity = self.entity(start.entity, start.label)?;
        let mut given = vec![None; entity.len()];
        for (names, from) in [(&start.moves.not_up, false), (&start.moves.not_down, true)] {
            for name in names {
                match self.features.get(name.as_str()) {
                    Some(&feature) if entity[feature] == from => given[feature] = Some(from),
                    Some(_) => {}
                    None => return refuse(format!("there is no feature '{name}'")),
                }
            }
        }
        let mut costs = vec![RBig::ONE; self.members.len()];
        for (name, cost) in start.costs {
            let player = self.set(std::slice::from_ref(name))?.members().next().expect("one player");
            costs[player] = fraction(cost)?;
        }
        let mut parts = RBig::ONE;
        for cost in &costs {
            parts *= RBig::from((cost * &parts).denominator().clone());
        }
        let costs = costs.iter().map(|cost| whole(&(cost * &parts))).collect::<Result<_, _>>()?;
        let (label, is) = start.to.map_or((start.label, false), |label| (label, true));
        Ok(Journey { entity, given, label, is, costs, parts: whole(&parts)? })
    }

    /// Whether an input is valid, makes allowed changes only and has the requested decision.
    pub(super) fn is_wished(&self, journey: &Journey, input: &[bool]) -> bool {
        journey.allows(input)
            && self.subject.is_valid(input)
            && (self.subject.decide(input) == journey.label) == journey.is
    }

    /// Checks that no input as requested costs less than the distance, or, without a distance, that none exists.
    fn none_nearer(&self, journey: &Journey, distance: Option<u128>, proof: Option<&str>) -> Result<(), QueryError> {
        match proof {
            Some(proof) => {
                let clauses = self.nearer_question(journey, distance)?.clauses(&self.watch)?;
                check_lrat(&clauses, proof.as_bytes(), &self.watch)
            }
            None => match self.some_nearer(journey, distance)? {
                None => Ok(()),
                Some(input) => refuse(format!("{} is decided so and is nearer", text_of(&input))),
            },
        }
    }

    /// "An input has the requested decision and costs less than the distance": what the proof of a claim refutes.
    pub(super) fn nearer_question(
        &self,
        journey: &Journey,
        distance: Option<u128>,
    ) -> Result<Question<'_>, QueryError> {
        let budget = match distance {
            Some(0) => return refuse("there is nothing to prove at distance 0"),
            Some(distance) => {
                let costs = self.members.iter().cloned().zip(journey.costs.iter().copied()).collect();
                Some(Budget { entity: journey.entity.clone(), costs, most: distance - 1 })
            }
            None => None,
        };
        let (subject, given) = (self.subject, journey.given.clone());
        Ok(Question { subject, given, label: journey.label, is: journey.is, budget })
    }

    /// An input nearer than the distance, found by trying all.
    pub(super) fn some_nearer(
        &self,
        journey: &Journey,
        distance: Option<u128>,
    ) -> Result<Option<Vec<bool>>, QueryError> {
        let mut found = None;
        let visit = |input: &[bool]| {
            if found.is_none() && self.is_wished(journey, input) {
                found = Some(input.to_vec());
            }
            Ok(())
        };
        match distance {
            None => self.try_all(&journey.given, visit)?,
            Some(0) => {}
            Some(distance) => {
                let mut visit = visit;
                self.within(journey, distance - 1, |input, _| visit(input))?;
            }
        }
        Ok(found)
    }

    /// Checks the verdict on an input that was said to be nearest.
    pub(super) fn input_verdict(&self, claim: &InputVerdictClaim) -> Result<(), QueryError> {
        let journey = self.journey(claim.into())?;
        let input = self.bits(&claim.input)?;
        let changed = self.difference(&journey.entity, &input);
        let cost = journey.cost(&changed);
        if journey.parts(&claim.distance)? != cost {
            return refuse(format!("{} is not at the distance {}", claim.input, claim.distance));
        }
        if self.is_wished(&journey, &input) != claim.valid {
            return refuse(format!("{} is {}valid", claim.input, if claim.valid { "not " } else { "" }));
        }
        let evidence = &self.certificate.evidence;
        let mut shown = evidence.inputs.iter();
        let mut next = || match shown.next() {
            Some(text) => self.input(text).map(|input| (text, input)),
            None => refuse("an input is missing that shows what is better"),
        };
        match (claim.valid, claim.nearest) {
            (false, true) => return refuse("an input that is not valid cannot be nearest"),
            (false, false) => {}
            (true, true) => self.none_nearer(&journey, Some(cost), evidence.proof.as_deref())?,
            (true, false) => {
                let (text, other) = next()?;
                let other_cost = journey.cost(&self.difference(&journey.entity, &other));
                if !self.is_wished(&journey, &other) || other_cost >= cost {
                    return refuse(format!("{text} is not decided as wished, or not nearer"));
                }
            }
        }
        match (claim.valid, claim.minimal) {
            (false, true) => return refuse("an input that is not valid cannot be minimal"),
            (false, false) => {}
            (true, true) => self.none_inside(&journey, &changed, evidence.part.as_deref())?,
            (true, false) => {
                let (text, other) = next()?;
                let part = self.difference(&journey.entity, &other);
                if !self.is_wished(&journey, &other) || !part.within(&changed) || part == changed {
                    return refuse(format!("{text} is not decided as wished, or does not change less"));
                }
            }
        }
        if shown.next().is_some() { refuse("there is more evidence than claims") } else { Ok(()) }
    }

    /// Checks that no input as requested changes only a proper subset of these players.
    fn none_inside(&self, journey: &Journey, changed: &PlayerSet, proof: Option<&str>) -> Result<(), QueryError> {
        match proof {
            Some(proof) => {
                let clauses = self.inside_question(journey, changed)?.clauses(&self.watch)?;
                check_lrat(&clauses, proof.as_bytes(), &self.watch)
            }
            None => match self.some_inside(journey, changed)? {
                None => Ok(()),
                Some(input) => refuse(format!("{} is decided so and changes less", text_of(&input))),
            },
        }
    }

    /// The values that must not change if only these players may change.
    fn given_outside(&self, journey: &Journey, changed: &PlayerSet) -> Vec<Option<bool>> {
        let mut given = journey.given.clone();
        for player in (0..self.members.len()).filter(|&player| !changed.has(player)) {
            self.members[player].iter().for_each(|&feature| given[feature] = Some(journey.entity[feature]));
        }
        given
    }

    /// "An input has the requested decision and changes only a proper subset of these players."
    pub(super) fn inside_question(&self, journey: &Journey, changed: &PlayerSet) -> Result<Question<'_>, QueryError> {
        if changed.len() == 0 {
            return refuse("there is nothing to prove of an input that changes nothing");
        }
        let costs = self.members.iter().cloned().map(|members| (members, 1)).collect();
        let budget = Some(Budget { entity: journey.entity.clone(), costs, most: changed.len() as u128 - 1 });
        let (subject, given) = (self.subject, self.given_outside(journey, changed));
        Ok(Question { subject, given, label: journey.label, is: journey.is, budget })
    }

    /// An input that changes only a proper subset of these players, found by trying all.
    pub(super) fn some_inside(&self, journey: &Journey, changed: &PlayerSet) -> Result<Option<Vec<bool>>, QueryError> {
        let mut found = None;
        self.try_all(&self.given_outside(journey, changed), |input| {
            let is_part = self.difference(&journey.entity, input) != *changed;
            if found.is_none() && is_part && self.is_wished(journey, input) {
                found = Some(input.to_vec());
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether the inputs within a distance are few enough to be counted.
    pub(super) fn can_count(&self, claim: &NearestClaim, distance: &str) -> Result<(), QueryError> {
        let journey = self.journey(claim.into())?;
        self.within(&journey, journey.parts(distance)?, |_, _| Ok(()))
    }

    /// Counts the inputs as requested within a cost, restricted to costs accepted by `counts`.
    fn count_within(&self, journey: &Journey, most: u128, counts: impl Fn(u128) -> bool) -> Result<u64, QueryError> {
        let mut count = 0;
        self.within(journey, most, |input, cost| {
            count += u64::from(counts(cost) && self.is_wished(journey, input));
            Ok(())
        })?;
        Ok(count)
    }

    /// Visits all valid inputs that can be reached at no more than this cost.
    fn within(
        &self,
        journey: &Journey,
        most: u128,
        mut visit: impl FnMut(&[bool], u128) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        // Inputs to extend further: the input, the first player that may change next, the cost so far.
        let mut open = vec![(journey.entity.clone(), 0, 0)];
        let mut visited = 0u32;
        while let Some((input, from, cost)) = open.pop() {
            visited += 1;
            if visited.is_multiple_of(1024) {
                self.watch.check()?;
            }
            if self.subject.is_valid(&input) {
                visit(&input, cost)?;
            }
            for player in (from..self.members.len()).filter(|&player| cost + journey.costs[player] <= most) {
                if visited as usize + open.len() > 1 << self.most_free {
                    return Err(QueryError::Untried { inputs: "the inputs within the distance".into() });
                }
                for changed in self.changes(journey, &input, player)? {
                    open.push((changed, player + 1, cost + journey.costs[player]));
                }
            }
        }
        Ok(())
    }

    /// The input with each other allowed value of a player; a one-hot column has exactly one 1.
    fn changes(&self, journey: &Journey, input: &[bool], player: usize) -> Result<Vec<Vec<bool>>, QueryError> {
        let members = &self.members[player];
        let allowed = |changed: &Vec<bool>| {
            members.iter().all(|&feature| journey.given[feature].is_none_or(|value| value == changed[feature]))
        };
        let with = |values: &dyn Fn(usize) -> bool| {
            let mut changed = input.to_vec();
            members.iter().enumerate().for_each(|(place, &feature)| changed[feature] = values(place));
            changed
        };
        let all: Vec<Vec<bool>> = match self.subject.one_hot.contains(members) {
            true => (0..members.len()).map(|one| with(&|place| place == one)).collect(),
            false if members.len() > self.most_free => {
                return Err(QueryError::Untried { inputs: format!("the values of {} features", members.len()) });
            }
            false => (0..1u32 << members.len()).map(|number| with(&|place| number >> place & 1 == 1)).collect(),
        };
        Ok(all.into_iter().filter(|changed| changed[..] != *input && allowed(changed)).collect())
    }
}
