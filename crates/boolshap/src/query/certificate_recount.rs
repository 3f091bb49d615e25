//! The part of the checker that counts: shares of completions, biased inputs, influence of players.
//!
//! All counts come from trying inputs one by one: all values of at most 20 features.

use super::QueryError;
use super::certificate_check::{Checker, refuse, text_of};
use super::certificate_clauses::{Apart, PairQuestion};
use super::certificate_sets::PlayerSet;
use super::claims::{ClassifierBiasClaim, Extent, MandatoryClaim, PlayerClaim, ProbableClaim, PropertiesClaim};
use dashu_ratio::RBig;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Two inputs.
type Pair = (Vec<bool>, Vec<bool>);
/// Inputs grouped by the values of the features in which they are equal: their number and their decisions.
type Groups = HashMap<Vec<bool>, (u64, HashSet<usize>)>;

/// Parses a non-negative fraction.
pub(super) fn fraction(text: &str) -> Result<RBig, QueryError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    // The parser accepts "1/0" as a fraction.
    let divides = text.split_once('/').is_none_or(|(_, below)| below.bytes().any(|byte| byte != b'0'));
    match Some(text).filter(|_| digits && divides).map(str::parse::<RBig>) {
        Some(Ok(value)) => Ok(value),
        _ => refuse(format!("'{text}' is not a fraction")),
    }
}

/// Parses a non-negative integer.
fn number(text: &str) -> Result<u64, QueryError> {
    text.parse().or_else(|_| refuse(format!("'{text}' is not a number that can be counted to")))
}

pub(super) fn counted(what: &str, found: u64, claimed: &str) -> Result<(), QueryError> {
    match number(claimed)? == found {
        true => Ok(()),
        false => refuse(format!("{what}: {found} are counted, not {claimed}")),
    }
}

impl Checker<'_> {
    /// Checks sets with which a share of the inputs keeps the decision.
    pub(super) fn probable(&self, claim: &ProbableClaim) -> Result<(), QueryError> {
        let entity = self.entity(&claim.entity, claim.label)?;
        let (mut shares, least) = (self.shares(&entity, claim.label)?, fraction(&claim.share)?);
        if claim.contrasts {
            // Complementing a set reverses the index order.
            shares.reverse();
        }
        let has = |(kept, all): &(u64, u64)| RBig::from(*kept) >= &least * RBig::from(*all);
        let enough: Vec<bool> = shares.iter().map(|share| has(share) != claim.contrasts).collect();
        // Whether a proper subset of this set has the share.
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

    /// For every set of players, among the valid inputs that agree on it: how many keep the decision, and how many
    /// there are.
    pub(super) fn shares(&self, entity: &[bool], label: usize) -> Result<Vec<(u64, u64)>, QueryError> {
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

    /// Checks whether two inputs that differ in protected players only have different decisions.
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
        // An ordered map, so that the same pair is found every time.
        let mut groups: BTreeMap<Vec<bool>, (ByLabel, ByLabel)> = BTreeMap::new();
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

    /// Checks how the decision depends on players.
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
            if let Some(claimed) = &one.mandatory {
                let found = self.mandatory(&self.members_of(&one.name)?)?;
                if *claimed != found {
                    let said = |all: &[MandatoryClaim]| {
                        let each = all.iter().map(|one| format!("{} for {}", one.value, one.label));
                        if all.is_empty() { "nothing".into() } else { each.collect::<Vec<_>>().join(", ") }
                    };
                    let (found, claimed) = (said(&found), said(claimed));
                    return refuse(format!("of '{}' {found} is mandatory, not {claimed}", one.name));
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

    /// The questions about a player, each with whether the claim says that such a pair exists.
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

    /// The decisions whose valid inputs all have the same value of these features.
    fn mandatory(&self, members: &[usize]) -> Result<Vec<MandatoryClaim>, QueryError> {
        let mut seen: BTreeMap<usize, BTreeSet<Vec<bool>>> = BTreeMap::new();
        self.try_all(&vec![None; self.subject.inputs()], |input| {
            let value = members.iter().map(|&feature| input[feature]).collect();
            seen.entry(self.subject.decide(input)).or_default().insert(value);
            Ok(())
        })?;
        let only = |(&label, values): (&usize, &BTreeSet<Vec<bool>>)| {
            let value = values.first().filter(|_| values.len() == 1)?;
            Some(MandatoryClaim { label, value: text_of(value) })
        };
        Ok(seen.iter().filter_map(only).collect())
    }

    /// The number of valid inputs at which changing these features can change the decision, and the number of valid
    /// inputs.
    fn influence(&self, members: &[usize]) -> Result<(u64, u64), QueryError> {
        let mut differ = vec![false; self.subject.inputs()];
        members.iter().for_each(|&feature| differ[feature] = true);
        let groups = self.groups(&differ)?;
        let changed = groups.values().filter(|(_, labels)| labels.len() > 1).map(|(inputs, _)| inputs).sum();
        Ok((changed, groups.values().map(|(inputs, _)| inputs).sum()))
    }

    /// Groups the valid inputs that are equal in all other features, with their number and decisions.
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

/// The values of the features in which a pair of inputs must be equal.
fn outside(input: &[bool], differ: &[bool]) -> Vec<bool> {
    input.iter().zip(differ).filter(|(_, differ)| !**differ).map(|(&value, _)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_divides_by_zero_is_not_a_fraction() {
        assert_eq!(fraction("3/6").unwrap(), RBig::from_parts(1.into(), 2u8.into()));
        assert_eq!(fraction("0/7").unwrap(), RBig::ZERO);
        for text in ["1/0", "0/0", "5/00", "", "/", "1/", "/2", "1/2/3", "-1", "+1", "1/-2", "0.5", "1e3", " 1"] {
            assert!(fraction(text).is_err(), "{text}");
        }
    }
}
