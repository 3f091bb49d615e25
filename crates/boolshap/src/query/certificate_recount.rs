//! The part of the checker that counts: inputs within a distance, shares of completions, inputs that a protected player decides.
//!
//! All of it by trying inputs one after another: all values of at most 20 features, or as many inputs within a distance.

use super::QueryError;
use super::certificate::{ClassifierBiasClaim, Extent, NearestClaim, PlayerClaim, ProbableClaim, PropertiesClaim};
use super::certificate_check::{Checker, refuse, text_of};
use super::certificate_clauses::{Apart, Budget, PairQuestion, Question};
use super::certificate_sets::PlayerSet;
use super::check_lrat;
use dashu::integer::UBig;
use dashu::rational::RBig;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Two inputs.
type Pair = (Vec<bool>, Vec<bool>);
/// Inputs by the features in which they are equal: how many there are, and their decisions.
type Groups = HashMap<Vec<bool>, (u64, HashSet<usize>)>;

/// A fraction that is not negative.
pub(super) fn fraction(text: &str) -> Result<RBig, QueryError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    match text.parse::<RBig>() {
        Ok(value) if digits => Ok(value),
        _ => refuse(format!("'{text}' is not a fraction")),
    }
}

/// A whole number that is not negative.
fn number(text: &str) -> Result<u64, QueryError> {
    text.parse().or_else(|_| refuse(format!("'{text}' is not a number that can be counted to")))
}

fn counted(what: &str, found: u64, claimed: &str) -> Result<(), QueryError> {
    match number(claimed)? == found {
        true => Ok(()),
        false => refuse(format!("{what}: {found} are counted, not {claimed}")),
    }
}

/// What may be changed at which cost: the part of a claim of the nearest inputs that is not about the network.
struct Journey {
    entity: Vec<bool>,
    /// Values that may not change.
    given: Vec<Option<bool>>,
    /// What a change of each player costs, in whole parts of 1.
    costs: Vec<u128>,
    parts: u128,
}

impl Journey {
    /// A cost in parts, if it is a whole number of them.
    fn parts(&self, text: &str) -> Result<u128, QueryError> {
        whole(&(fraction(text)? * RBig::from(self.parts)))
    }
}

fn whole(value: &RBig) -> Result<u128, QueryError> {
    match (value.denominator() == &UBig::ONE, u128::try_from(value.numerator().clone())) {
        (true, Ok(whole)) if whole < 1 << 100 => Ok(whole),
        _ => refuse(format!("the cost {value} is not a sum of costs, or too large")),
    }
}

impl Checker<'_> {
    /// The nearest inputs that are decided as wished.
    pub(super) fn nearest(&self, claim: &NearestClaim) -> Result<(), QueryError> {
        let journey = self.journey(claim)?;
        let (label, is) = claim.to.map_or((claim.label, false), |label| (label, true));
        let wished = |input: &[bool]| (self.subject.decide(input) == label) == is;
        let distance = claim.distance.as_ref().map(|text| journey.parts(text)).transpose()?;
        for text in &claim.inputs {
            let input = self.input(text)?;
            if !wished(&input) {
                return refuse(format!("{text} is not decided as it is said to be"));
            }
            if (0..input.len()).any(|place| journey.given[place].is_some_and(|value| value != input[place])) {
                return refuse(format!("{text} makes a change that is not allowed"));
            }
            let cost = self.difference(&journey.entity, &input).members().map(|player| journey.costs[player]).sum();
            if distance != Some(cost) {
                return refuse(format!("{text} is not at the distance that is claimed"));
            }
        }
        if claim.inputs.iter().collect::<HashSet<_>>().len() < claim.inputs.len() {
            return refuse("an input is listed twice");
        }
        if distance.is_some() == claim.inputs.is_empty() {
            return refuse("it has a distance without an input, or an input without a distance");
        }
        match &self.certificate.evidence.proof {
            Some(proof) => {
                let clauses = self.nearer_question(claim)?.clauses(&self.watch)?;
                check_lrat(&clauses, proof.as_bytes(), &self.watch)?;
            }
            None => self.nearest_by_trying(claim)?,
        }
        if let Some(count) = &claim.count {
            let most = distance.unwrap_or(0);
            let found = self.count_within(&journey, most, |input, cost| Some(cost) == distance && wished(input))?;
            counted("inputs at the distance", found, count)?;
        }
        if let Some(within) = &claim.within {
            let found = self.count_within(&journey, journey.parts(&within.distance)?, |input, _| wished(input))?;
            counted("inputs within the distance", found, &within.others)?;
        }
        Ok(())
    }

    fn journey(&self, claim: &NearestClaim) -> Result<Journey, QueryError> {
        let entity = self.entity(&claim.entity, claim.label)?;
        let mut given = vec![None; entity.len()];
        for (names, from) in [(&claim.moves.not_up, false), (&claim.moves.not_down, true)] {
            for name in names {
                match self.features.get(name.as_str()) {
                    Some(&feature) if entity[feature] == from => given[feature] = Some(from),
                    Some(_) => {}
                    None => return refuse(format!("there is no feature '{name}'")),
                }
            }
        }
        let mut costs = vec![RBig::ONE; self.members.len()];
        for (name, cost) in &claim.costs {
            let player = self.set(std::slice::from_ref(name))?.members().next().expect("one player");
            costs[player] = fraction(cost)?;
        }
        let mut parts = RBig::ONE;
        for cost in &costs {
            parts *= RBig::from((cost * &parts).denominator().clone());
        }
        let costs = costs.iter().map(|cost| whole(&(cost * &parts))).collect::<Result<_, _>>()?;
        Ok(Journey { entity, given, costs, parts: whole(&parts)? })
    }

    /// "An input is decided as wished and costs less than the distance": what the proof of a claim refutes.
    pub(super) fn nearer_question(&self, claim: &NearestClaim) -> Result<Question<'_>, QueryError> {
        let journey = self.journey(claim)?;
        let distance = claim.distance.as_ref().map(|text| journey.parts(text)).transpose()?;
        let (label, is) = claim.to.map_or((claim.label, false), |label| (label, true));
        let costs = self.members.iter().cloned().zip(journey.costs).collect();
        let budget = match distance {
            Some(0) => return refuse("there is nothing to prove at distance 0"),
            Some(distance) => Some(Budget { entity: journey.entity, costs, most: distance - 1 }),
            None => None,
        };
        Ok(Question { subject: self.subject, given: journey.given, label, is, budget })
    }

    /// The same refuted by trying all such inputs.
    pub(super) fn nearest_by_trying(&self, claim: &NearestClaim) -> Result<(), QueryError> {
        let journey = self.journey(claim)?;
        let (label, is) = claim.to.map_or((claim.label, false), |label| (label, true));
        let visit = |input: &[bool]| match (self.subject.decide(input) == label) == is {
            true => refuse(format!("{} is decided so and is nearer", text_of(input))),
            false => Ok(()),
        };
        match claim.distance.as_ref().map(|text| journey.parts(text)).transpose()? {
            None => self.try_all(&journey.given, visit),
            Some(0) => Ok(()),
            Some(distance) => self.within(&journey, distance - 1, |input, _| visit(input)),
        }
    }

    /// Whether the inputs within a distance are few enough to be counted.
    pub(super) fn can_count(&self, claim: &NearestClaim, distance: &str) -> Result<(), QueryError> {
        let journey = self.journey(claim)?;
        self.within(&journey, journey.parts(distance)?, |_, _| Ok(()))
    }

    fn count_within(
        &self,
        journey: &Journey,
        most: u128,
        counts: impl Fn(&[bool], u128) -> bool,
    ) -> Result<u64, QueryError> {
        let mut count = 0;
        self.within(journey, most, |input, cost| {
            count += u64::from(counts(input, cost));
            Ok(())
        })?;
        Ok(count)
    }

    /// Goes through all valid inputs that are reached at this cost at most.
    fn within(
        &self,
        journey: &Journey,
        most: u128,
        mut visit: impl FnMut(&[bool], u128) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        // Changes that are to be tried further: the input, the first player that may change next, what it has cost.
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

    /// The input with every other value of a player that may be taken; a column has one value.
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

    /// Sets with which a share of the inputs keeps the decision.
    pub(super) fn probable(&self, claim: &ProbableClaim) -> Result<(), QueryError> {
        let entity = self.entity(&claim.entity, claim.label)?;
        let (mut shares, least) = (self.shares(&entity, claim.label)?, fraction(&claim.share)?);
        if claim.contrasts {
            // The complement of a set has the number that is left of all ones.
            shares.reverse();
        }
        let has = |(kept, all): &(u64, u64)| RBig::from(*kept) >= &least * RBig::from(*all);
        let enough: Vec<bool> = shares.iter().map(|share| has(share) != claim.contrasts).collect();
        // Whether a set within this one has the share.
        let mut below = vec![false; enough.len()];
        for mask in 0..enough.len() {
            let without = (0..self.members.len()).filter(|player| mask >> player & 1 == 1).map(|one| mask ^ 1 << one);
            below[mask] = without.into_iter().any(|rest| enough[rest] || below[rest]);
        }
        let number = |set: &PlayerSet| set.members().map(|player| 1usize << player).sum::<usize>();
        let among = number(&self.among(&claim.among)?);
        let mut listed = HashSet::new();
        for (names, share) in claim.sets.iter().zip(&claim.shares) {
            let (mask, said) = (number(&self.set(names)?), names.join(", "));
            let (kept, all) = shares[mask];
            if fraction(share)? * RBig::from(all) != RBig::from(kept) {
                return refuse(format!("with {{{said}}}, {kept} of {all} inputs keep the decision, not {share}"));
            }
            if mask & !among != 0 || !enough[mask] || below[mask] || !listed.insert(mask) {
                return refuse(format!("{{{said}}} is not a minimal set with the share, or is listed twice"));
            }
        }
        if claim.shares.len() != claim.sets.len() {
            return refuse("there is not a share for each set");
        }
        let longest = listed.iter().map(|mask| mask.count_ones()).max();
        let left_out = |mask: &usize| {
            let smaller = claim.extent == Extent::All || Some(mask.count_ones()) < longest;
            mask & !among == 0 && enough[*mask] && !below[*mask] && smaller && !listed.contains(mask)
        };
        match claim.extent != Extent::Some && (0..enough.len()).any(|mask| left_out(&mask)) {
            true => refuse("a set with the share is left out"),
            false => Ok(()),
        }
    }

    /// The exact share of each set of a claim.
    pub(super) fn exact_shares(&self, claim: &ProbableClaim) -> Result<Vec<String>, QueryError> {
        let mut shares = self.shares(&self.entity(&claim.entity, claim.label)?, claim.label)?;
        if claim.contrasts {
            shares.reverse();
        }
        let share = |names: &Vec<String>| {
            let (kept, all) = shares[self.set(names)?.members().map(|player| 1usize << player).sum::<usize>()];
            Ok(RBig::from_parts(kept.into(), all.into()).to_string())
        };
        claim.sets.iter().map(share).collect()
    }

    /// For every set of players: of the valid inputs that agree on it, how many keep the decision, and how many there are.
    fn shares(&self, entity: &[bool], label: usize) -> Result<Vec<(u64, u64)>, QueryError> {
        if self.members.len() > self.most_free {
            return Err(QueryError::Untried { inputs: format!("all sets of {} players", self.members.len()) });
        }
        let mut shares = vec![(0, 0); 1 << self.members.len()];
        self.try_all(&vec![None; entity.len()], |input| {
            let agree = (0..self.members.len())
                .filter(|&player| self.members[player].iter().all(|&feature| input[feature] == entity[feature]));
            let entry: &mut (u64, u64) = &mut shares[agree.map(|player| 1usize << player).sum::<usize>()];
            *entry = (entry.0 + u64::from(self.subject.decide(input) == label), entry.1 + 1);
            Ok(())
        })?;
        for player in 0..self.members.len() {
            for mask in (0..shares.len()).filter(|mask| mask >> player & 1 == 0) {
                let more = shares[mask | 1 << player];
                shares[mask] = (shares[mask].0 + more.0, shares[mask].1 + more.1);
            }
        }
        Ok(shares)
    }

    /// Whether two inputs that differ in protected players only are decided differently.
    pub(super) fn classifier_bias(&self, claim: &ClassifierBiasClaim) -> Result<(), QueryError> {
        let mut differ = vec![false; self.subject.inputs()];
        for player in self.set(&claim.protected)?.members() {
            self.members[player].iter().for_each(|&feature| differ[feature] = true);
        }
        let question =
            PairQuestion { subject: self.subject, given: vec![None; differ.len()], differ, apart: Apart::Somehow };
        let [evidence] = &self.certificate.evidence.pairs[..] else { return refuse("it has no evidence, or too much") };
        self.pair(&question, evidence, claim.biased)?;
        let Some(claimed) = &claim.inputs else { return Ok(()) };
        let groups = self.groups(&question.differ)?;
        let found = groups.values().filter(|(_, labels)| labels.len() > 1).map(|(inputs, _)| inputs).sum();
        counted("biased inputs", found, claimed)
    }

    /// Two inputs as the question describes them, found by trying all.
    pub(super) fn some_pair(&self, question: &PairQuestion<'_>) -> Result<Option<Pair>, QueryError> {
        type ByLabel = BTreeMap<usize, Vec<bool>>;
        let mut groups: HashMap<Vec<bool>, (ByLabel, ByLabel)> = HashMap::new();
        self.try_all(&vec![None; question.given.len()], |input| {
            let label = self.subject.decide(input);
            let fits = |second: bool| {
                let value = |(one, other)| if second { other } else { one };
                (0..input.len()).all(|place| question.given[place].is_none_or(|given| value(given) == input[place]))
            };
            let (firsts, seconds) = groups.entry(outside(input, &question.differ)).or_default();
            if fits(false) {
                firsts.entry(label).or_insert_with(|| input.to_vec());
            }
            if fits(true) {
                seconds.entry(label).or_insert_with(|| input.to_vec());
            }
            Ok(())
        })?;
        for (firsts, seconds) in groups.values() {
            for (one, first) in firsts {
                for (other, second) in seconds {
                    if question.apart.holds(*one, *other) {
                        return Ok(Some((first.clone(), second.clone())));
                    }
                }
            }
        }
        Ok(None)
    }

    /// How the decision depends on players.
    pub(super) fn properties(&self, claim: &PropertiesClaim) -> Result<(), QueryError> {
        let mut evidence = self.certificate.evidence.pairs.iter();
        let names: Vec<String> = claim.players.iter().map(|one| one.name.clone()).collect();
        self.set(&names)?;
        for one in &claim.players {
            for (question, exists) in self.player_questions(one)? {
                let Some(evidence) = evidence.next() else { return refuse("there is not enough evidence") };
                self.pair(&question, evidence, exists)?;
            }
            if let Some(influence) = &one.influence {
                let (changed, all) = self.influence(&self.members_of(&one.name)?)?;
                if fraction(influence)? * RBig::from(all) != RBig::from(changed) {
                    return refuse(format!("a change of '{}' changes {changed} of {all}, not {influence}", one.name));
                }
            }
        }
        match evidence.next() {
            None => Ok(()),
            Some(_) => refuse("there is more evidence than claims"),
        }
    }

    fn members_of(&self, name: &String) -> Result<Vec<usize>, QueryError> {
        let player = self.set(std::slice::from_ref(name))?.members().next().expect("one player");
        Ok(self.members[player].clone())
    }

    /// What is to be shown of a player: each with whether there are such inputs.
    pub(super) fn player_questions(&self, claim: &PlayerClaim) -> Result<Vec<(PairQuestion<'_>, bool)>, QueryError> {
        let members = self.members_of(&claim.name)?;
        let question = |apart: Apart, values: Option<(bool, bool)>| {
            let (mut given, mut differ) = (vec![None; self.subject.inputs()], vec![false; self.subject.inputs()]);
            members.iter().for_each(|&feature| (given[feature], differ[feature]) = (values, true));
            PairQuestion { subject: self.subject, given, differ, apart }
        };
        let mut questions = vec![(question(Apart::Somehow, None), claim.used)];
        for (apart, claimed) in [(Apart::Rising, claim.rises), (Apart::Falling, claim.falls)] {
            match (claimed, members.len()) {
                (None, _) => {}
                (Some(claimed), 1) => questions.push((question(apart, Some((false, true))), claimed)),
                (Some(_), _) => return refuse(format!("'{}' has no order", claim.name)),
            }
        }
        Ok(questions)
    }

    /// At how many valid inputs a change of these features changes the decision, and how many there are.
    fn influence(&self, members: &[usize]) -> Result<(u64, u64), QueryError> {
        let mut differ = vec![false; self.subject.inputs()];
        members.iter().for_each(|&feature| differ[feature] = true);
        let groups = self.groups(&differ)?;
        let changed = groups.values().filter(|(_, labels)| labels.len() > 1).map(|(inputs, _)| inputs).sum();
        Ok((changed, groups.values().map(|(inputs, _)| inputs).sum()))
    }

    /// The valid inputs that are equal in all other features, counted, with their decisions.
    fn groups(&self, differ: &[bool]) -> Result<Groups, QueryError> {
        let mut groups = Groups::new();
        self.try_all(&vec![None; differ.len()], |input| {
            let group = groups.entry(outside(input, differ)).or_default();
            group.0 += 1;
            group.1.insert(self.subject.decide(input));
            Ok(())
        })?;
        Ok(groups)
    }
}

/// The values of the features in which two inputs of a pair are equal.
fn outside(input: &[bool], differ: &[bool]) -> Vec<bool> {
    input.iter().zip(differ).filter(|(_, differ)| !**differ).map(|(&value, _)| value).collect()
}
