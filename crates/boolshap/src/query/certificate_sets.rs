//! A hitting-set search over sets of players: the part of checking a certificate that does not involve the network.
//!
//! The search looks for a set that meets each set of one list and contains none of another. It takes the smallest unmet
//! set and branches on its players in turn, excluding those already tried, so that it sees each candidate once. It
//! backtracks if a forbidden set is contained, if too few players are left, or if the unmet sets include more pairwise
//! disjoint sets than players may still be added. The worst case is exponential, so the steps are limited.

use super::QueryError;
use crate::lit::Watch;

/// The most sets examined before the search gives up.
const MOST_STEPS: u64 = 20_000_000;

/// A set of players as a bit set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PlayerSet(Vec<u64>);

impl PlayerSet {
    pub(super) fn new(players: usize, members: impl IntoIterator<Item = usize>) -> Self {
        let mut words = vec![0; players.div_ceil(64)];
        members.into_iter().for_each(|player| words[player / 64] |= 1 << (player % 64));
        PlayerSet(words)
    }

    pub(super) fn has(&self, player: usize) -> bool {
        self.0[player / 64] >> (player % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, player: usize) {
        self.0[player / 64] |= 1 << (player % 64);
    }

    pub(super) fn remove(&mut self, player: usize) {
        self.0[player / 64] &= !(1 << (player % 64));
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        (0..64 * self.0.len()).filter(|&player| self.has(player))
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub(super) fn within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    fn both(&self, other: &Self) -> Self {
        PlayerSet(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }
}

/// A search for a set of these players that meets each set of one list and contains none of another.
pub(super) struct SetSearch<'a> {
    /// The players that it may contain.
    pub(super) among: PlayerSet,
    /// The sets that it must meet.
    pub(super) meet: &'a [PlayerSet],
    /// The sets that it must not contain.
    pub(super) avoid: &'a [PlayerSet],
    /// Its maximum size.
    pub(super) most: usize,
}

impl SetSearch<'_> {
    /// Such a set, if one exists.
    pub(super) fn find(&self, watch: &Watch<'_>) -> Result<Option<PlayerSet>, QueryError> {
        let mut chosen = PlayerSet(vec![0; self.among.0.len()]);
        let mut steps = 0;
        self.extend(&mut chosen, 0, &mut self.among.clone(), &mut steps, watch)
    }

    /// Extends the chosen set by open players; the recursion depth is at most the number of players.
    fn extend(
        &self,
        chosen: &mut PlayerSet,
        size: usize,
        open: &mut PlayerSet,
        steps: &mut u64,
        watch: &Watch<'_>,
    ) -> Result<Option<PlayerSet>, QueryError> {
        *steps += 1;
        if steps.is_multiple_of(1 << 10) {
            watch.check()?;
        }
        if *steps > MOST_STEPS {
            return Err(QueryError::Certificate { problem: format!("it takes more than {MOST_STEPS} sets to check") });
        }
        if self.avoid.iter().any(|set| set.within(chosen)) {
            return Ok(None);
        }
        let unmet: Vec<PlayerSet> =
            self.meet.iter().filter(|set| !set.meets(chosen)).map(|set| set.both(open)).collect();
        let Some(next) = unmet.iter().min_by_key(|set| set.len()) else { return Ok(Some(chosen.clone())) };
        if apart(&unmet) > self.most - size {
            return Ok(None);
        }
        let tried: Vec<usize> = next.members().collect();
        for &player in &tried {
            open.remove(player);
            chosen.insert(player);
            let found = self.extend(chosen, size + 1, open, steps, watch)?;
            chosen.remove(player);
            if found.is_some() {
                return Ok(found);
            }
        }
        tried.iter().for_each(|&player| open.insert(player));
        Ok(None)
    }
}

/// The number of pairwise disjoint sets, chosen greedily: a lower bound on the players needed to meet all sets.
fn apart(sets: &[PlayerSet]) -> usize {
    let mut order: Vec<&PlayerSet> = sets.iter().collect();
    order.sort_by_key(|set| set.len());
    let mut taken: Vec<&PlayerSet> = Vec::new();
    for set in order {
        if taken.iter().all(|other| !set.meets(other)) {
            taken.push(set);
        }
    }
    taken.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    #[test]
    fn a_set_is_found_exactly_if_one_of_all_subsets_fits() {
        let mut chance = Seeded::new(3, 0);
        let (mut found, mut missing) = (0, 0);
        for _ in 0..2000 {
            let players = 1 + chance.below(7);
            let mut sets = |most: usize| -> Vec<PlayerSet> {
                let count = chance.below(most + 1);
                (0..count)
                    .map(|_| PlayerSet::new(players, (0..players).filter(|_| chance.below(3) == 0).collect::<Vec<_>>()))
                    .collect()
            };
            let (meet, avoid, among) = (sets(5), sets(4), sets(1));
            let all = || PlayerSet::new(players, 0..players);
            let among = among.into_iter().next().unwrap_or_else(all);
            let most = chance.below(players + 1);
            let search = SetSearch { among: among.clone(), meet: &meet, avoid: &avoid, most };
            let fits = |set: &PlayerSet| {
                set.within(&among)
                    && set.len() <= most
                    && meet.iter().all(|other| set.meets(other))
                    && !avoid.iter().any(|other| other.within(set))
            };
            let any = (0..1u64 << players).any(|number| fits(&PlayerSet(vec![number])));
            match search.find(&Watch::unlimited()).unwrap() {
                Some(set) => assert!(fits(&set), "{set:?}"),
                None => assert!(!any),
            }
            if any { found += 1 } else { missing += 1 }
        }
        assert!(found > 300 && missing > 300, "{found} {missing}");
    }
}
