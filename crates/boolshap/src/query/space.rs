//! The inputs that can occur, and the units of change: players, one-hot columns and a constraint.
//!
//! A player is a feature, a block of features, or a one-hot column, in which exactly one bit is 1. An input can occur
//! if every one-hot column has exactly one 1 and the constraint holds. Two inputs differ in a player if they differ in
//! one of its features; distances count players.
//!
//! *Codes.* If all inputs are enumerated, each has a number: each player has a run of bits, one bit per feature for a
//! block, and the binary number of its value for a column. The exclusive or of two numbers has a run of zeros exactly
//! where the inputs agree. No run crosses from the six low bits into the others, so each part of a number can be
//! interpreted on its own; unused low bits are 0.

use super::QueryError;
use super::set_family::{used, words_for};
use crate::explain::Players;
use crate::formula::Cnf;
use crate::lit::LOW_VARIABLES;

/// The space of inputs: players, columns and a constraint.
#[derive(Debug, Clone)]
pub struct Space {
    players: Players,
    members: Vec<Vec<usize>>,
    constraint: Option<Cnf>,
}

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// A column without exactly one 1.
    #[error("has {ones} ones in the column '{player}', where exactly one must be")]
    NotOneHot {
        /// The column.
        player: String,
        /// The number of ones.
        ones: usize,
    },
    /// An input that cannot occur.
    #[error("does not satisfy the constraint: clause {clause} is violated")]
    Constraint {
        /// The clause as a DIMACS line.
        clause: String,
    },
    /// The number of values differs from the number of features.
    #[error("has {found} values where {expected} are expected")]
    Length {
        /// The number of features.
        expected: usize,
        /// The number of values given.
        found: usize,
    },
}

impl Space {
    /// The space of these players, under an optional constraint over their features.
    pub fn new(players: Players, constraint: Option<Cnf>) -> Result<Self, QueryError> {
        let features = players.feature_count();
        if let Some(found) = constraint.as_ref().map(Cnf::variables).filter(|&variables| variables > features) {
            return Err(QueryError::ConstraintVariables { found, features });
        }
        let mut members = vec![Vec::new(); players.len()];
        (0..features).for_each(|feature| members[players.of(feature)].push(feature));
        Ok(Space { players, members, constraint: constraint.filter(|formula| !formula.is_empty()) })
    }

    /// The players.
    pub fn players(&self) -> &Players {
        &self.players
    }

    /// The features of a player, ascending.
    pub fn members(&self, player: usize) -> &[usize] {
        &self.members[player]
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.players.feature_count()
    }

    /// The constraint besides one-hot columns.
    pub fn constraint(&self) -> Option<&Cnf> {
        self.constraint.as_ref()
    }

    /// Whether every input can occur and every player is a feature.
    pub(super) fn is_plain(&self) -> bool {
        self.is_free() && self.members.iter().all(|members| members.len() == 1)
    }

    /// Whether every input can occur.
    pub(super) fn is_free(&self) -> bool {
        self.constraint.is_none() && !(0..self.players.len()).any(|player| self.players.is_one_hot(player))
    }

    /// What is wrong with an input, if it cannot occur.
    pub fn flaw(&self, input: &[bool]) -> Option<Misplaced> {
        if input.len() != self.features() {
            return Some(Misplaced::Length { expected: self.features(), found: input.len() });
        }
        for player in (0..self.players.len()).filter(|&player| self.players.is_one_hot(player)) {
            let ones = self.members[player].iter().filter(|&&feature| input[feature]).count();
            if ones != 1 {
                return Some(Misplaced::NotOneHot { player: self.players.names()[player].clone(), ones });
            }
        }
        let holds = |lit: crate::lit::Lit| lit.holds(input[lit.var().index()]);
        let broken = self.constraint.iter().flat_map(Cnf::clauses).find(|clause| !clause.lits().any(holds))?;
        let numbers: Vec<String> = broken.lits().map(|lit| lit.to_dimacs().to_string()).collect();
        Some(Misplaced::Constraint { clause: numbers.join(" ") })
    }

    /// The players in which two inputs differ, ascending.
    pub fn changed(&self, one: &[bool], other: &[bool]) -> Vec<usize> {
        let differs = |player: &usize| self.members[*player].iter().any(|&feature| one[feature] != other[feature]);
        (0..self.players.len()).filter(differs).collect()
    }
}

/// The position of a player in the numbers of inputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) player: usize,
    pub(super) start: u32,
    pub(super) width: u32,
}

/// The numbering of inputs.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    /// The runs of players that can change, ascending.
    pub(super) runs: Vec<Run>,
    /// How many bits a number has.
    pub(super) bits: u32,
    /// How many of the runs are in the six low bits.
    pub(super) low_runs: usize,
    /// For each feature, the start and width of the bits that decide it and the value they must have: a single bit that
    /// is 1, or the number of a column's value.
    tests: Vec<(u32, u32, u64)>,
    /// The low bits that no run uses.
    unused: u64,
}

impl Codes {
    /// A lower bound on the bits of a number.
    pub(super) fn bits_of(space: &Space) -> u32 {
        (0..space.players.len()).map(|player| width(space, player)).fold(0, u32::saturating_add)
    }

    /// Numbers the inputs of a space; players early in `first` get the low bits if they fit.
    pub(super) fn new(space: &Space, first: &[usize]) -> Self {
        let moving: Vec<usize> = first.iter().copied().filter(|&player| width(space, player) > 0).collect();
        let low = fill_low(space, &moving);
        let mut runs = Vec::with_capacity(moving.len());
        let mut start = 0;
        let mut add = |player: usize, start: &mut u32| {
            let width = width(space, player);
            runs.push(Run { player, start: *start, width });
            *start += width;
        };
        moving.iter().filter(|player| low.contains(player)).for_each(|&player| add(player, &mut start));
        let used_low = start;
        if low.len() < moving.len() {
            start = 6;
        }
        moving.iter().filter(|player| !low.contains(player)).for_each(|&player| add(player, &mut start));
        let unused = if start > 6 { 0b11_1111 >> used_low << used_low } else { 0 };
        let mut tests = vec![(0, 0, 0); space.features()];
        for run in &runs {
            for (value, &feature) in space.members[run.player].iter().enumerate() {
                tests[feature] = match space.players.is_one_hot(run.player) {
                    true => (run.start, run.width, value as u64),
                    false => (run.start + value as u32, 1, 1),
                };
            }
        }
        Codes { low_runs: low.len(), runs, bits: start, tests, unused }
    }

    /// The number of an input that can occur.
    pub(super) fn code(&self, space: &Space, input: &[bool]) -> u64 {
        self.runs.iter().fold(0, |code, run| {
            let members = &space.members[run.player];
            let value = match space.players.is_one_hot(run.player) {
                true => members.iter().position(|&feature| input[feature]).unwrap_or(0) as u64,
                false => members.iter().enumerate().fold(0, |all, (bit, &f)| all | u64::from(input[f]) << bit),
            };
            code | value << run.start
        })
    }

    /// The input with this number.
    pub(super) fn input(&self, code: u64) -> Vec<bool> {
        // A column with a single value is always 1: its test has no bits.
        let value = |&(start, width, value): &(u32, u32, u64)| code >> start & ((1 << width) - 1) == value;
        self.tests.iter().map(value).collect()
    }

    /// The features that a difference in a run changes in an input.
    pub(super) fn changed_features<'a>(
        &self,
        space: &'a Space,
        run: &Run,
        entity: u64,
        difference: u64,
    ) -> impl Iterator<Item = usize> + 'a {
        let (is_one_hot, now) = (space.players.is_one_hot(run.player), entity >> run.start & ((1 << run.width) - 1));
        let changes = move |value: u64| match is_one_hot {
            true => value == now || value == now ^ difference,
            false => difference >> value & 1 == 1,
        };
        let members = space.members[run.player].iter().enumerate();
        members.filter(move |(value, _)| changes(*value as u64)).map(|(_, &feature)| feature)
    }

    /// The values of a feature in the 64 inputs of a word.
    pub(super) fn word(&self, feature: usize, index: usize) -> u64 {
        let (start, width, value) = self.tests[feature];
        bits_word(start, width, value, index)
    }

    /// The inputs of a word in which a run has this value.
    pub(super) fn value_word(&self, run: &Run, value: u64, index: usize) -> u64 {
        bits_word(run.start, run.width, value, index)
    }

    /// Whether a feature is the same in all inputs of a word.
    pub(super) fn is_high(&self, feature: usize) -> bool {
        self.tests[feature].0 >= 6 || self.tests[feature].1 == 0
    }

    /// Which of the 64 inputs of a word can occur.
    pub(super) fn valid_word(&self, space: &Space, features: &[u64]) -> u64 {
        let mut valid = used(self.bits);
        let unused = LOW_VARIABLES.iter().enumerate().filter(|(bit, _)| self.unused >> bit & 1 == 1);
        valid &= unused.fold(!0, |all, (_, low)| all & !low);
        for run in self.runs.iter().filter(|run| space.players.is_one_hot(run.player)) {
            let members = &space.members[run.player];
            if !members.len().is_power_of_two() {
                valid &= members.iter().fold(0, |any, &feature| any | features[feature]);
            }
        }
        let holds = |lit: crate::lit::Lit| features[lit.var().index()] ^ u64::from(lit.is_negative()).wrapping_neg();
        for clause in space.constraint.iter().flat_map(Cnf::clauses) {
            valid &= clause.lits().fold(0, |any, lit| any | holds(lit));
        }
        valid
    }

    /// How many features an input has.
    pub(super) fn features(&self) -> usize {
        self.tests.len()
    }

    /// The number of words for all numbers.
    pub(super) fn words(&self) -> usize {
        words_for(self.bits)
    }

    /// Whether each run is one bit, so that a number's bits are the players themselves.
    pub(super) fn is_direct(&self) -> bool {
        self.unused == 0 && self.runs.iter().all(|run| run.width == 1)
    }

    /// The runs of the low or high part of a number that are not zero, as one bit per run.
    pub(super) fn changed_runs(&self, difference: u64, low: bool) -> u64 {
        let runs = if low { 0..self.low_runs } else { self.low_runs..self.runs.len() };
        runs.fold(0, |set, place| {
            let run = &self.runs[place];
            set | u64::from(difference >> run.start & ((1 << run.width) - 1) != 0) << place
        })
    }
}

/// A mask of the numbers of a word in which some bits have this value.
fn bits_word(start: u32, width: u32, value: u64, index: usize) -> u64 {
    let bit = |place: u32| match place.checked_sub(6) {
        None => LOW_VARIABLES[place as usize],
        Some(high) => (index as u64 >> high & 1).wrapping_neg(),
    };
    (0..width).fold(!0, |all, place| all & (bit(start + place) ^ (value >> place & 1).wrapping_sub(1)))
}

fn width(space: &Space, player: usize) -> u32 {
    let members = space.members[player].len();
    match space.players.is_one_hot(player) {
        true => members.next_power_of_two().trailing_zeros(),
        false => u32::try_from(members).unwrap_or(u32::MAX),
    }
}

/// Chooses the players for the six low bits to fill as many as possible, early players first.
fn fill_low(space: &Space, players: &[usize]) -> Vec<usize> {
    // For each sum of widths, players that reach it.
    let mut made: [Option<Vec<usize>>; 7] = Default::default();
    made[0] = Some(Vec::new());
    for &player in players {
        let width = width(space, player) as usize;
        for sum in (width..=6).rev() {
            if made[sum].is_none() {
                made[sum] = made[sum - width].clone().map(|mut chosen| {
                    chosen.push(player);
                    chosen
                });
            }
        }
        if made[6].is_some() {
            break;
        }
    }
    made.into_iter().rev().flatten().next().unwrap_or_default()
}
