//! The path of every variable of a game's circuit, from the values of absent players to the entity.
//!
//! The role of a variable ([`Role`]) determines where it starts, how far it moves as its player becomes present, and to
//! whose score its slope is added. A feature of a player with several does not move: its player's switch does, from 0
//! to 1, unless all features of the player already have the entity's values.

use super::blocks::Role;
use super::players::Players;
use crate::circuit::Circuit;
use dashu_ratio::RBig;
use std::sync::Arc;

/// A circuit, possibly with one-hot bits, and the roles of its variables.
#[derive(Clone)]
pub(super) struct Weighted {
    pub(super) circuit: Arc<Circuit>,
    pub(super) one_hot: Vec<bool>,
    pub(super) roles: Arc<[Role]>,
}

impl Weighted {
    /// A circuit whose variables are the features.
    pub(super) fn of_features(circuit: Arc<Circuit>, one_hot: Vec<bool>) -> Self {
        let roles = (0..circuit.variables()).map(Role::Feature).collect();
        Weighted { circuit, one_hot, roles }
    }
}

/// The paths of some variables, by index.
pub(super) struct Ways {
    roles: Vec<Role>,
    /// The player to whose score the slope of each is added; `None` for variables that never move.
    pub(super) player_of: Vec<Option<usize>>,
    /// The player of the feature that each variable is, or is a copy of.
    pub(super) owner: Vec<Option<usize>>,
    /// The features behind the switch of each player that has one.
    members: Vec<Vec<usize>>,
}

impl Ways {
    pub(super) fn new(roles: impl IntoIterator<Item = Role>, players: &Players) -> Self {
        Self::of(roles, |feature| players.of(feature), players.len())
    }

    /// Every feature is a player.
    pub(super) fn of_features(features: impl IntoIterator<Item = usize>, width: usize) -> Self {
        Self::of(features.into_iter().map(Role::Feature), |feature| feature, width)
    }

    fn of(roles: impl IntoIterator<Item = Role>, player: impl Fn(usize) -> usize, width: usize) -> Self {
        let roles: Vec<Role> = roles.into_iter().collect();
        let mut members = vec![Vec::new(); width];
        for role in &roles {
            if let Role::Outside(feature) = *role {
                members[player(feature)].push(feature);
            }
        }
        let player_of = |role: &Role| match *role {
            Role::Feature(feature) => Some(player(feature)),
            Role::Player(player) => Some(player),
            Role::Outside(_) | Role::Inside(_) | Role::Group(_) => None,
        };
        let owner = |role: &Role| match *role {
            Role::Feature(feature) | Role::Outside(feature) | Role::Inside(feature) => Some(player(feature)),
            Role::Player(_) | Role::Group(_) => None,
        };
        let (player_of, owner) = roles.iter().map(|role| (player_of(role), owner(role))).unzip();
        Ways { roles, player_of, owner, members }
    }

    /// The role of the variable at this index.
    pub(super) fn role(&self, place: usize) -> Role {
        self.roles[place]
    }

    /// The number of players that have a score.
    pub(super) fn width(&self) -> usize {
        self.members.len()
    }

    /// The features whose values in the entity matter, each once.
    pub(super) fn features(&self) -> Vec<usize> {
        let mut features: Vec<usize> = (0..self.roles.len()).flat_map(|place| self.features_of(place)).collect();
        features.sort_unstable();
        features.dedup();
        features
    }

    /// The features that determine whether the variable at this index moves.
    pub(super) fn features_of(&self, place: usize) -> Vec<usize> {
        match self.roles[place] {
            Role::Feature(feature) | Role::Outside(feature) | Role::Inside(feature) => vec![feature],
            Role::Player(player) => self.members[player].clone(),
            Role::Group(_) => Vec::new(),
        }
    }

    /// The start and the displacement of a variable, given the weight of each absent feature and the entity.
    #[inline]
    pub(super) fn floats(
        &self,
        place: usize,
        absent: impl Fn(usize) -> f64,
        entity: impl Fn(usize) -> bool,
    ) -> (f64, f64) {
        let is = |feature: usize| f64::from(u8::from(entity(feature)));
        match self.roles[place] {
            Role::Feature(feature) => (absent(feature), is(feature) - absent(feature)),
            Role::Outside(feature) => (absent(feature), 0.0),
            Role::Inside(feature) => (is(feature), 0.0),
            Role::Player(player) => {
                let moves = self.members[player].iter().any(|&feature| absent(feature) != is(feature));
                (0.0, f64::from(u8::from(moves)))
            }
            Role::Group(_) => (0.0, 0.0),
        }
    }

    /// The start and the end of a variable's path.
    pub(super) fn fractions(
        &self,
        place: usize,
        absent: impl Fn(usize) -> RBig,
        entity: impl Fn(usize) -> bool,
    ) -> [RBig; 2] {
        let is = |feature: usize| RBig::from(u8::from(entity(feature)));
        match self.roles[place] {
            Role::Feature(feature) => [absent(feature), is(feature)],
            Role::Outside(feature) => [absent(feature), absent(feature)],
            Role::Inside(feature) => [is(feature), is(feature)],
            Role::Player(player) => {
                let moves = self.members[player].iter().any(|&feature| absent(feature) != is(feature));
                [RBig::ZERO, RBig::from(u8::from(moves))]
            }
            Role::Group(_) => [RBig::ZERO, RBig::ZERO],
        }
    }
}
