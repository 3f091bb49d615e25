//! The part of the checker for games: values of players in "this set suffices" and in "the decision is favourable",
//! computed by definition over all sets of players, and the mean distance of all inputs from another decision.
//!
//! *Mean distance.* A distance counts players, and each player can take every value independently of the others. So the
//! distances can be updated one player at a time: when one more player may change, an input's distance is the smaller
//! of its previous distance and 1 plus the least distance among the inputs that differ from it in that player only.

use super::QueryError;
use super::certificate_check::{Checker, refuse};
use super::certificate_recount::fraction;
use super::claims::{AttributionClaim, Extent, GroupRow, LetterClaim, MeanRadiusClaim, ScoresClaim};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::HashMap;

/// The most players for which all sets are tried with fractions.
const MOST_FRACTIONS: usize = 14;

/// A fraction that may be negative.
fn signed(text: &str) -> Result<RBig, QueryError> {
    match text.strip_prefix('-') {
        Some(rest) => fraction(rest).map(|value| -value),
        None => fraction(text),
    }
}

fn factorial(number: usize) -> UBig {
    (1..=number).fold(UBig::ONE, |product, factor| product * UBig::from(factor))
}

/// For each player and each size, the sum of what the player adds to the sets of that size without it.
fn added(players: usize, worth: impl Fn(usize) -> i64) -> Vec<Vec<i64>> {
    let mut added = vec![vec![0; players]; players];
    for set in 0..1usize << players {
        for player in (0..players).filter(|player| set >> player & 1 == 0) {
            added[player][set.count_ones() as usize] += worth(set | 1 << player) - worth(set);
        }
    }
    added
}

/// The Shapley value: a set of s other players has weight s! (n - s - 1)! among the n! orders.
fn shapley(added: &[i64]) -> RBig {
    let orders = |size: usize| IBig::from(factorial(size) * factorial(added.len() - size - 1));
    let sum = added.iter().enumerate().fold(IBig::ZERO, |sum, (size, &added)| sum + orders(size) * added);
    RBig::from_parts(sum, factorial(added.len()))
}

impl Checker<'_> {
    /// Checks each player's part in the sufficient reasons, from the complete list of reasons.
    pub(super) fn attribution(&self, claim: &AttributionClaim) -> Result<(), QueryError> {
        if claim.reasons.extent != Extent::All || claim.reasons.among.is_some() {
            return refuse("shares are of all reasons, and not all are listed");
        }
        self.sets(&claim.reasons, true)?;
        let names: Vec<String> = claim.players.iter().map(|part| part.name.clone()).collect();
        if self.set(&names)?.len() != self.members.len() {
            return refuse("there is not an entry for each player");
        }
        let sets = claim.reasons.sets.iter().map(|names| self.set(names)).collect::<Result<Vec<_>, _>>()?;
        // Players in no reason add nothing to any set.
        let relevant: Vec<usize> =
            (0..self.members.len()).filter(|&player| sets.iter().any(|set| set.has(player))).collect();
        if relevant.len() > self.most_free {
            return Err(QueryError::Untried { inputs: format!("all sets of {} players", relevant.len()) });
        }
        let mut suffices = vec![false; 1 << relevant.len()];
        for set in &sets {
            let players = relevant.iter().enumerate().filter(|(_, player)| set.has(**player));
            suffices[players.map(|(place, _)| 1usize << place).sum::<usize>()] = true;
        }
        for set in 0..suffices.len() {
            let mut parts = (0..relevant.len()).filter(|place| set >> place & 1 == 1).map(|place| set ^ 1 << place);
            suffices[set] |= parts.any(|part| suffices[part]);
        }
        let added = added(relevant.len(), |set| i64::from(suffices[set]));
        for part in &claim.players {
            let player = self.set(std::slice::from_ref(&part.name))?.members().next().expect("one player");
            let having = sets.iter().filter(|set| set.has(player)).count();
            let share = RBig::from_parts(having.into(), sets.len().max(1).into());
            let (shapley, banzhaf) = match relevant.iter().position(|&one| one == player) {
                Some(place) => {
                    let swings = added[place].iter().sum::<i64>();
                    (shapley(&added[place]), RBig::from_parts(swings.into(), UBig::ONE << (relevant.len() - 1)))
                }
                None => (RBig::ZERO, RBig::ZERO),
            };
            for (what, found, said) in [
                ("share", share, &part.share),
                ("Shapley value", shapley, &part.shapley),
                ("Banzhaf value", banzhaf, &part.banzhaf),
            ] {
                if fraction(said)? != found {
                    return refuse(format!("the {what} of '{}' is {found}, not {said}", part.name));
                }
            }
        }
        Ok(())
    }

    /// Checks the mean distance of all valid inputs from the nearest input with another decision.
    pub(super) fn mean_radius(&self, claim: &MeanRadiusClaim) -> Result<(), QueryError> {
        let values: Vec<usize> = self.members.iter().map(|members| self.values(members)).collect();
        let all = values.iter().fold(1usize, |all, &values| all.saturating_mul(values));
        if all > 1 << self.most_free {
            return Err(QueryError::Untried { inputs: "all inputs".into() });
        }
        let mut labels: Vec<Option<usize>> = vec![None; all];
        self.try_all(&vec![None; self.subject.inputs()], |input| {
            labels[self.place(input, &values)] = Some(self.subject.decide(input));
            Ok(())
        })?;
        let (mut sum, mut inputs, far) = (0u64, 0u64, u32::MAX);
        for label in 0..self.subject.decider.labels() {
            let others = labels.iter().map(|found| if found.is_some_and(|found| found != label) { 0 } else { far });
            let mut distances: Vec<u32> = others.collect();
            let mut stride = 1;
            for &values in &values {
                self.watch.check()?;
                for block in distances.chunks_exact_mut(stride * values) {
                    for first in 0..stride {
                        let line = (0..values).map(|value| first + value * stride);
                        let nearest = line.clone().map(|at| block[at]).min().unwrap_or(far).saturating_add(1);
                        line.for_each(|at| block[at] = block[at].min(nearest));
                    }
                }
                stride *= values;
            }
            for (distance, _) in distances.iter().zip(&labels).filter(|(_, found)| **found == Some(label)) {
                match *distance == far {
                    true if claim.mean.is_none() => return Ok(()),
                    true => return refuse("all inputs have one decision, so there is no distance"),
                    false => (sum, inputs) = (sum + u64::from(*distance), inputs + 1),
                }
            }
        }
        match &claim.mean {
            Some(mean) if fraction(mean)? * RBig::from(inputs) == RBig::from(sum) && inputs > 0 => Ok(()),
            _ => refuse(format!("the distances of {inputs} inputs add up to {sum}")),
        }
    }

    /// How many values a player has.
    fn values(&self, members: &Vec<usize>) -> usize {
        match self.subject.one_hot.contains(members) {
            true => members.len(),
            false => 1usize.checked_shl(members.len() as u32).unwrap_or(usize::MAX),
        }
    }

    /// The index of an input among all combinations of the players' values.
    fn place(&self, input: &[bool], values: &[usize]) -> usize {
        let mut stride = 1;
        let mut place = 0;
        for (members, &values) in self.members.iter().zip(values) {
            let value = match self.subject.one_hot.contains(members) {
                true => members.iter().position(|&feature| input[feature]).unwrap_or(0),
                false => members.iter().enumerate().map(|(bit, &feature)| usize::from(input[feature]) << bit).sum(),
            };
            place += value * stride;
            stride *= values;
        }
        place
    }

    /// Checks the reasons in a letter and the change that would help.
    pub(super) fn letter(&self, claim: &LetterClaim) -> Result<(), QueryError> {
        let change = &claim.change;
        if change.to != Some(claim.favourable) || change.label == claim.favourable {
            return refuse("a letter is about a decision that is not favourable, and a change that makes it so");
        }
        self.nearest(change)?;
        match &claim.reasons {
            Some(reasons) => self.letter_scores(claim, reasons),
            None => Ok(()),
        }
    }

    /// Checks that the listed players are those with the lowest scores.
    pub(super) fn letter_scores(&self, claim: &LetterClaim, reasons: &ScoresClaim) -> Result<(), QueryError> {
        let entity = self.entity(&claim.change.entity, claim.change.label)?;
        let scores = match &reasons.against {
            Some(rows) => self.scores_against(&entity, claim.favourable, rows)?,
            None => self.scores_among_all(&entity, claim.favourable)?,
        };
        let mut lowest: Vec<(RBig, usize)> =
            scores.into_iter().enumerate().map(|(player, score)| (score, player)).collect();
        lowest.retain(|(score, _)| *score < RBig::ZERO);
        lowest.sort();
        lowest.truncate(reasons.top);
        if lowest.len() != reasons.scores.len() {
            return refuse(format!("{} players speak against the decision, of those that are listed", lowest.len()));
        }
        for ((score, player), said) in lowest.iter().zip(&reasons.scores) {
            if self.name(*player) != said.player || signed(&said.score)? != *score {
                let name = self.name(*player);
                return refuse(format!("'{name}' with {score} comes where '{}' with {} is", said.player, said.score));
            }
        }
        Ok(())
    }

    /// Scores against rows: the mean over the rows of the games in which absent players take the row's values.
    fn scores_against(&self, entity: &[bool], favourable: usize, rows: &[GroupRow]) -> Result<Vec<RBig>, QueryError> {
        let mut tried = 0u64;
        let mut sums = vec![RBig::ZERO; self.members.len()];
        let all: u128 = rows.iter().map(|row| u128::from(row.rows)).sum();
        if all == 0 {
            return refuse("there are no rows to compare with");
        }
        for row in rows {
            self.watch.check()?;
            let other = self.bits(&row.input)?;
            let differ: Vec<usize> = self.difference(entity, &other).members().collect();
            tried = tried.saturating_add(1u64.checked_shl(differ.len() as u32).unwrap_or(u64::MAX));
            if tried > 1 << self.most_free {
                return Err(QueryError::Untried { inputs: "the inputs between the row and those of its group".into() });
            }
            let worth: Vec<i64> = (0..1usize << differ.len())
                .map(|set| {
                    let mut input = other.clone();
                    for (place, &player) in differ.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1) {
                        let _ = place;
                        self.members[player].iter().for_each(|&feature| input[feature] = entity[feature]);
                    }
                    i64::from(self.subject.decide(&input) == favourable)
                })
                .collect();
            for (added, &player) in added(differ.len(), |set| worth[set]).iter().zip(&differ) {
                sums[player] += shapley(added) * RBig::from(row.rows);
            }
        }
        Ok(sums.into_iter().map(|sum| sum / RBig::from(all)).collect())
    }

    /// Scores among all inputs: a set is worth the share of favourable decisions among the valid inputs that agree on
    /// it.
    fn scores_among_all(&self, entity: &[bool], favourable: usize) -> Result<Vec<RBig>, QueryError> {
        let players = self.members.len();
        if players > MOST_FRACTIONS.min(self.most_free) {
            return Err(QueryError::Untried { inputs: format!("all sets of {players} players") });
        }
        let shares = self.shares(entity, favourable)?;
        // Shares with the same denominator are summed as integers.
        let mut sums: Vec<HashMap<(usize, u64), i64>> = vec![HashMap::new(); players];
        for set in 0..shares.len() {
            for (player, sums) in sums.iter_mut().enumerate().filter(|(player, _)| set >> player & 1 == 0) {
                let with = shares[set | 1 << player];
                let size = set.count_ones() as usize;
                let _ = player;
                *sums.entry((size, with.1)).or_default() += with.0 as i64;
                *sums.entry((size, shares[set].1)).or_default() -= shares[set].0 as i64;
            }
        }
        let value = |sums: HashMap<(usize, u64), i64>| {
            sums.into_iter().fold(RBig::ZERO, |sum, ((size, of), kept)| {
                let orders = IBig::from(factorial(size) * factorial(players - size - 1));
                sum + RBig::from_parts(orders * kept, factorial(players) * UBig::from(of))
            })
        };
        Ok(sums.into_iter().map(value).collect())
    }
}
