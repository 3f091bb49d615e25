//! Questions about a network that is too large to compile: by SAT on its clauses, with a limit on conflicts. A question
//! that is not decided within the limit is an error, never a guess.
//!
//! The solver gets the network once; an entity is passed as assumptions, so clauses learned for one row help with the
//! next.
//!
//! *One sufficient reason*: players are dropped one by one as long as every input that agrees on the rest has the same
//! decision. The assumptions used by a refutation are enough for it, so players outside them are dropped without a
//! query (Ignatiev, Narodytska and Marques-Silva, AAAI 2019). *Minimum*: a smallest set that meets all differences
//! found so far either suffices, and is the answer, or leads to a new difference (implicit hitting sets). *Radius*: "at
//! most k players differ" for k = 1, 2, ...; the first satisfiable k is the radius. If the conflicts run out, the
//! refuted k are a bound.

use super::QueryError;
use super::certificate_clauses::{Apart, NetworkDecider, PairQuestion, Subject};
use super::certificate_sets::{PlayerSet, SetSearch};
use super::clauses::Clauses;
use super::refute::{Found, solve};
use crate::formula::Solver;
use crate::lit::{Lit, Watch};
use crate::model::Network;
use std::collections::HashMap;

/// The limit on clauses of a network and its questions.
const MOST_CLAUSES: usize = 20_000_000;

/// Players and the inputs that can occur.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The features of each player.
    pub players: Vec<Vec<usize>>,
    /// Groups of features of which exactly one is 1.
    pub one_hot: Vec<Vec<usize>>,
    /// Clauses over the features, counted from 1.
    pub constraint: Vec<Vec<i32>>,
}

/// A network in a solver.
pub struct NetworkSolver<'a> {
    network: &'a Network,
    class: Option<usize>,
    terms: Terms,
    clauses: Clauses<'a>,
    /// The number of clauses already passed to the solver.
    given: usize,
    solver: Solver,
    hidden: Vec<i32>,
    wins: HashMap<usize, i32>,
    conflicts: u64,
    watch: Watch<'a>,
}

fn lit(number: i32) -> Lit {
    Lit::from_dimacs(number).expect("literals are not 0")
}

impl<'a> NetworkSolver<'a> {
    /// Encodes a network; the decision is its class, or whether its class is the given one. Each question may take
    /// `conflicts` conflicts.
    pub fn new(
        network: &'a Network,
        class: Option<usize>,
        terms: Terms,
        conflicts: u64,
        watch: &Watch<'a>,
    ) -> Result<Self, QueryError> {
        let mut clauses = Clauses::new(network.inputs(), MOST_CLAUSES, watch);
        let features: Vec<i32> = (1..=network.inputs() as i32).collect();
        terms.constraint.iter().for_each(|clause| clauses.add(clause));
        for group in &terms.one_hot {
            clauses.add(&group.iter().map(|&feature| feature as i32 + 1).collect::<Vec<i32>>());
            for (place, &one) in group.iter().enumerate() {
                group[..place].iter().for_each(|&other| clauses.add(&[-(one as i32 + 1), -(other as i32 + 1)]));
            }
        }
        let hidden = clauses.last_hidden(network, &features)?;
        let (solver, wins, watch) = (Solver::new(), HashMap::new(), watch.silent());
        Ok(NetworkSolver { network, class, terms, clauses, given: 0, solver, hidden, wins, conflicts, watch })
    }

    /// The decision on an input.
    pub fn decide(&self, input: &[bool]) -> usize {
        let answer = self.network.classify(input);
        self.class.map_or(answer, |class| usize::from(answer == class))
    }

    /// A literal that is true exactly if this is the decision.
    fn decided(&mut self, label: usize) -> Result<i32, QueryError> {
        let class = self.class.unwrap_or(label);
        let wins = match self.wins.get(&class) {
            Some(&wins) => wins,
            None => {
                let wins = self.clauses.class_wins(self.network, &self.hidden, class)?;
                self.wins.insert(class, wins);
                wins
            }
        };
        Ok(if self.class.is_some() && label == 0 { -wins } else { wins })
    }

    /// Values of the features under these assumptions; `None` if unsatisfiable.
    fn values(&mut self, assumptions: &[i32]) -> Result<Option<Vec<bool>>, QueryError> {
        for clause in &self.clauses.list[self.given..] {
            self.solver.add(clause.iter().map(|&number| lit(number)));
        }
        self.given = self.clauses.list.len();
        let assumptions: Vec<Lit> = assumptions.iter().map(|&number| lit(number)).collect();
        let mut left = self.conflicts;
        match self.solver.solve_within(&assumptions, &mut left, &self.watch)? {
            Some(true) => Ok(Some(self.solver.model(self.network.inputs()))),
            Some(false) => Ok(None),
            None => Err(QueryError::TooManyConflicts { conflicts: self.conflicts }),
        }
    }

    fn literals_of(&self, entity: &[bool], players: &PlayerSet) -> Vec<i32> {
        let features = players.members().flat_map(|player| self.terms.players[player].iter());
        features.map(|&feature| (feature as i32 + 1) * if entity[feature] { 1 } else { -1 }).collect()
    }

    fn set(&self, players: impl IntoIterator<Item = usize>) -> PlayerSet {
        PlayerSet::new(self.terms.players.len(), players)
    }

    /// An input with another decision that agrees with the entity on these players.
    fn other(&mut self, entity: &[bool], players: &PlayerSet) -> Result<Option<Vec<bool>>, QueryError> {
        let own = self.decided(self.decide(entity))?;
        let mut assumptions = self.literals_of(entity, players);
        assumptions.push(-own);
        self.values(&assumptions)
    }

    /// Those of these players that the last refutation used.
    fn used(&mut self, entity: &[bool], players: &PlayerSet) -> PlayerSet {
        let used = |player: &usize| {
            let one = PlayerSet::new(self.terms.players.len(), [*player]);
            let literals = self.literals_of(entity, &one);
            literals.iter().any(|&literal| self.solver.failed(lit(literal)))
        };
        let used: Vec<usize> = players.members().collect::<Vec<_>>().into_iter().filter(used).collect();
        PlayerSet::new(self.terms.players.len(), used)
    }

    /// A minimal sufficient subset of these players, dropping the last ones first; `None` if they do not suffice.
    pub fn reason(&mut self, entity: &[bool], ranked: &[usize]) -> Result<Option<Vec<usize>>, QueryError> {
        let mut left = self.set(ranked.iter().copied());
        if self.other(entity, &left)?.is_some() {
            return Ok(None);
        }
        let mut enough = self.used(entity, &left);
        for &player in ranked.iter().rev() {
            let mut rest = left.clone();
            rest.remove(player);
            if enough.has(player) {
                if self.other(entity, &rest)?.is_some() {
                    continue;
                }
                enough = self.used(entity, &rest);
            }
            left = rest;
        }
        Ok(Some(left.members().collect()))
    }

    /// A smallest sufficient subset of these players; `None` if they do not suffice. The number of differences is
    /// limited.
    pub fn minimum(
        &mut self,
        entity: &[bool],
        among: &[usize],
        differences: usize,
    ) -> Result<Option<Vec<usize>>, QueryError> {
        let among = self.set(among.iter().copied());
        if self.other(entity, &among)?.is_some() {
            return Ok(None);
        }
        let mut meet: Vec<PlayerSet> = Vec::new();
        let mut most = 0;
        while meet.len() <= differences {
            let search = SetSearch { among: among.clone(), meet: &meet, avoid: &[], most };
            match search.find(&self.watch)? {
                None => most += 1,
                Some(set) => match self.far_other(entity, set.clone())? {
                    None => return Ok(Some(set.members().collect())),
                    Some(difference) => meet.push(difference),
                },
            }
        }
        Err(QueryError::TooManyDifferences { limit: differences })
    }

    /// The players in which some input with another decision differs; it agrees on these and on a maximal set of
    /// others.
    fn far_other(&mut self, entity: &[bool], mut agree: PlayerSet) -> Result<Option<PlayerSet>, QueryError> {
        let Some(mut found) = self.other(entity, &agree)? else { return Ok(None) };
        for player in 0..self.terms.players.len() {
            if agree.has(player) {
                continue;
            }
            agree.insert(player);
            if self.terms.players[player].iter().all(|&feature| found[feature] == entity[feature]) {
                continue;
            }
            match self.other(entity, &agree)? {
                Some(input) => found = input,
                None => agree.remove(player),
            }
        }
        let players = self.terms.players.len();
        Ok(Some(self.set((0..players).filter(|&player| !agree.has(player)))))
    }

    /// A nearest input with another decision, with the number of players in which it differs, if one exists.
    /// If the solver cannot decide, the error gives the number of players that can change without another decision.
    pub fn nearest(&mut self, entity: &[bool]) -> Result<Option<(usize, Vec<bool>)>, QueryError> {
        let none = self.set([]);
        if self.other(entity, &none)?.is_none() {
            return Ok(None);
        }
        let own = self.decided(self.decide(entity))?;
        let mut terms = Vec::new();
        for members in &self.terms.players {
            let differ: Vec<i32> = members.iter().map(|&f| (f as i32 + 1) * if entity[f] { -1 } else { 1 }).collect();
            terms.push((1, self.clauses.any(&differ)));
        }
        for radius in 1..=terms.len() {
            let more = self.clauses.reaches(&terms, radius as i128 + 1)?;
            match self.values(&[-own, -more]) {
                Ok(Some(input)) => return Ok(Some((radius, input))),
                Ok(None) => {}
                Err(QueryError::TooManyConflicts { conflicts }) => {
                    return Err(QueryError::RadiusOpen { conflicts, refuted: radius - 1 });
                }
                Err(error) => return Err(error),
            }
        }
        Err(QueryError::Undecided(vec!["there is another decision at no distance".into()]))
    }

    /// An input with another decision that differs from the entity in these players only.
    pub fn biased(&mut self, entity: &[bool], protected: &[usize]) -> Result<Option<Vec<bool>>, QueryError> {
        let others = (0..self.terms.players.len()).filter(|player| !protected.contains(player)).collect::<Vec<_>>();
        let others = self.set(others);
        self.other(entity, &others)
    }

    /// Two inputs with different decisions that differ in these players only, if they exist. A new solver gets the
    /// network twice.
    pub fn biased_pair(&self, protected: &[usize]) -> Result<Option<[Vec<bool>; 2]>, QueryError> {
        let inputs = self.network.inputs();
        let decider = NetworkDecider { network: self.network, class: self.class };
        let subject = Subject { decider: &decider, one_hot: &self.terms.one_hot, constraint: &self.terms.constraint };
        let mut differ = vec![false; inputs];
        for &feature in protected.iter().flat_map(|&player| &self.terms.players[player]) {
            differ[feature] = true;
        }
        let question = PairQuestion { subject, given: vec![None; inputs], differ, apart: Apart::Somehow };
        let clauses = question.clauses(&self.watch)?;
        match solve(&clauses, 2 * inputs, false, self.conflicts, &self.watch)? {
            Found::Contradiction(_) => Ok(None),
            Found::Values(values) => {
                let first = values[..inputs].to_vec();
                let second = (0..inputs).map(|at| if question.differ[at] { values[inputs + at] } else { first[at] });
                Ok(Some([first.clone(), second.collect()]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn answers_of_small_networks_are_those_of_the_definitions(network in network_strategy(6), seed in any::<u64>()) {
            let n = network.inputs();
            let mut chance = Seeded::new(seed, 0);
            let class = (chance.below(2) == 0).then(|| chance.below(network.classes()));
            let terms = Terms { players: (0..n).map(|f| vec![f]).collect(), ..Terms::default() };
            let mut solver = NetworkSolver::new(&network, class, terms, u64::MAX, &Watch::unlimited()).unwrap();
            let input = |number: usize| (0..n).map(|j| number >> j & 1 == 1).collect::<Vec<bool>>();
            let labels: Vec<usize> = (0..1 << n).map(|number| solver.decide(&input(number))).collect();
            let ranked: Vec<usize> = (0..n).collect();
            for _ in 0..3 {
                let entity = chance.below(1 << n);
                let others: Vec<usize> = (0..1 << n).filter(|&x| labels[x] != labels[entity]).map(|x| x ^ entity).collect();
                let suffices = |set: usize| others.iter().all(|other| other & set != 0);
                let mask = |set: &Vec<usize>| set.iter().map(|&player| 1 << player).sum::<usize>();
                let reason = solver.reason(&input(entity), &ranked).unwrap().unwrap();
                let mut left = (1 << n) - 1;
                for player in (0..n).rev() {
                    if suffices(left & !(1 << player)) {
                        left &= !(1 << player);
                    }
                }
                prop_assert_eq!(mask(&reason), left);
                let least = (0..1usize << n).filter(|&set| suffices(set)).map(usize::count_ones).min().unwrap();
                let minimum = solver.minimum(&input(entity), &ranked, usize::MAX - 1).unwrap().unwrap();
                prop_assert!(suffices(mask(&minimum)) && minimum.len() as u32 == least);
                let radius = others.iter().map(|other| other.count_ones() as usize).min();
                let nearest = solver.nearest(&input(entity)).unwrap();
                prop_assert_eq!(nearest.as_ref().map(|(radius, _)| *radius), radius);
                let protected: Vec<usize> = (0..n).filter(|_| chance.below(2) == 0).collect();
                let biased = others.iter().any(|other| other & !mask(&protected) == 0);
                prop_assert_eq!(solver.biased(&input(entity), &protected).unwrap().is_some(), biased);
                let free = mask(&protected);
                let any = (0..1 << n).any(|x| (0..1 << n).any(|y| (x ^ y) & !free == 0 && labels[x] != labels[y]));
                let pair = solver.biased_pair(&protected).unwrap();
                prop_assert_eq!(pair.is_some(), any);
                if let Some([one, other]) = pair {
                    prop_assert!(solver.decide(&one) != solver.decide(&other));
                    prop_assert!((0..n).all(|at| one[at] == other[at] || protected.contains(&at)));
                }
            }
        }
    }
}
