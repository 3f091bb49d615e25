//! The players: each feature, each original column as one player, or any named partition.
//!
//! A column of several bits is one-hot: its bits are the values of ONE categorical variable, of which exactly one is 1;
//! while absent, it takes a value from its own distribution. Its score is not the sum of its bits' scores as separate
//! players, because there the bits come and go one by one. A named player is a block of features that come and go
//! together; while absent, they are drawn one by one from the distribution over features.
//!
//! Players can belong to groups (the a priori unions of Owen, "Values of Games with a Priori Unions", 1977): for the
//! Owen value, the players of another group are all present or all absent.

use super::{EntityProblem, ExplainError};
use crate::data::{Binariser, Bits};
use crate::lit::Var;
use std::collections::HashMap;

/// A partition of the features.
///
/// ```
/// use boolshap::explain::Players;
/// let names = ["sea=far", "age", "sea=near"].map(String::from);
/// let players = Players::columns(&names, None);
/// assert_eq!((players.names(), players.of(2)), (&["sea".to_string(), "age".to_string()][..], 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Players {
    kind: &'static str,
    names: Vec<String>,
    of: Vec<usize>,
    one_hot: Vec<bool>,
    /// The group of each player, if they have groups.
    groups: Option<Vec<usize>>,
}

impl Players {
    /// Each feature is a player.
    pub fn features(names: &[String]) -> Self {
        let count = names.len();
        Players {
            kind: "features",
            names: names.to_vec(),
            of: (0..count).collect(),
            one_hot: vec![false; count],
            groups: None,
        }
    }

    /// Each column of the schema; without a schema, all features `COLUMN=...` of the same column, if there are several.
    pub fn columns(names: &[String], schema: Option<&Binariser>) -> Self {
        let mut players = Players::without_any("columns");
        if let Some(schema) = schema {
            for column in schema.columns() {
                players.of.extend(std::iter::repeat_n(players.names.len(), column.bits()));
                players.names.push(column.name());
                players.one_hot.push(column.is_one_hot());
            }
            return players;
        }
        // `age>=30` is a comparison, not a value of a column.
        let column = |name: &String| {
            let (column, _) = name.split_once('=')?;
            (!column.ends_with(['<', '>', '!'])).then(|| column.to_string())
        };
        let mut sizes: HashMap<String, usize> = HashMap::new();
        names.iter().filter_map(column).for_each(|column| *sizes.entry(column).or_default() += 1);
        let mut groups: HashMap<String, usize> = HashMap::new();
        for name in names {
            let group = column(name).filter(|column| sizes[column] > 1);
            let known = group.as_ref().and_then(|column| groups.get(column)).copied();
            let player = known.unwrap_or(players.names.len());
            players.of.push(player);
            if known.is_none() {
                players.one_hot.push(group.is_some());
                players.names.push(group.clone().unwrap_or_else(|| name.clone()));
                group.map(|column| groups.insert(column, player));
            }
        }
        players
    }

    /// The partition that gives each feature, by its name, the name of its player. Players come in the order of their
    /// first features.
    pub fn named(features: &[String], player_of: &HashMap<String, String>) -> Result<Self, ExplainError> {
        let mut players = Players::without_any("named");
        let mut known: HashMap<&str, usize> = HashMap::new();
        for feature in features {
            let name = player_of.get(feature).ok_or_else(|| ExplainError::NoPlayer { feature: feature.clone() })?;
            let player = *known.entry(name).or_insert_with(|| {
                players.names.push(name.clone());
                players.one_hot.push(false);
                players.names.len() - 1
            });
            players.of.push(player);
        }
        Ok(players)
    }

    fn without_any(kind: &'static str) -> Self {
        Players { kind, names: Vec::new(), of: Vec::new(), one_hot: Vec::new(), groups: None }
    }

    /// The same players in groups: maps the name of each player to the name of its group.
    pub fn in_groups(self, group_of: &HashMap<String, String>) -> Result<Self, ExplainError> {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut groups = Vec::with_capacity(self.len());
        for player in &self.names {
            let name = group_of.get(player).ok_or_else(|| ExplainError::NoGroup { player: player.clone() })?;
            let next = known.len();
            groups.push(*known.entry(name).or_insert(next));
        }
        Ok(Players { groups: Some(groups), ..self })
    }

    /// Whether players belong to groups.
    pub fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The group of a player, if there are groups.
    pub fn group_of(&self, player: usize) -> Option<usize> {
        self.groups.as_ref().map(|groups| groups[player])
    }

    /// The kind of partition: `features`, `columns` or `named`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The names of the players.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of players.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no players.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of features of all players.
    pub fn feature_count(&self) -> usize {
        self.of.len()
    }

    /// The player of a feature.
    pub fn of(&self, feature: usize) -> usize {
        self.of[feature]
    }

    /// The features of a player.
    pub fn members(&self, player: usize) -> impl Iterator<Item = usize> {
        (0..self.of.len()).filter(move |&feature| self.of[feature] == player)
    }

    /// Whether a player's features are the values of one categorical variable.
    pub fn is_one_hot(&self, player: usize) -> bool {
        self.one_hot[player]
    }

    /// The features of each one-hot player that has one of these features.
    pub(super) fn one_hot_groups(&self, mentioned: &[Var]) -> Vec<Vec<Var>> {
        let mut touched = vec![false; self.len()];
        mentioned.iter().for_each(|var| touched[self.of[var.index()]] = true);
        let groups = (0..self.len()).filter(|&player| touched[player] && self.one_hot[player]);
        groups.map(|player| self.members(player).map(Var::new).collect()).collect()
    }

    /// The players with several independent features among these, and the features.
    pub(super) fn blocks(&self, mentioned: &[Var]) -> Vec<(usize, Vec<Var>)> {
        let mut blocks: Vec<Vec<Var>> = vec![Vec::new(); self.len()];
        let free = mentioned.iter().filter(|var| !self.one_hot[self.of[var.index()]]);
        free.for_each(|&var| blocks[self.of[var.index()]].push(var));
        blocks.into_iter().enumerate().filter(|(_, features)| features.len() > 1).collect()
    }

    /// The groups with several players that have some of these features, and all of these features that they have.
    pub(super) fn switched_groups(&self, mentioned: &[Var]) -> Vec<(usize, Vec<Var>)> {
        let Some(groups) = &self.groups else { return Vec::new() };
        let mut features: Vec<Vec<Var>> = vec![Vec::new(); groups.len()];
        mentioned.iter().for_each(|&var| features[groups[self.of[var.index()]]].push(var));
        let several =
            |features: &[Var]| features.iter().any(|var| self.of[var.index()] != self.of[features[0].index()]);
        features.into_iter().enumerate().filter(|(_, features)| several(features)).collect()
    }

    /// The group of each feature, if there are groups, and its player: the features to keep adjacent, in this order.
    pub(crate) fn groupings(&self) -> Vec<Vec<usize>> {
        let groups = self.groups.as_ref().map(|groups| self.of.iter().map(|&player| groups[player]).collect());
        groups.into_iter().chain([self.of.clone()]).collect()
    }

    /// Fails unless every one-hot player has exactly one 1 in every row.
    pub fn check_rows(&self, rows: &Bits) -> Result<(), ExplainError> {
        for player in (0..self.len()).filter(|&player| self.one_hot[player]) {
            let members: Vec<usize> = self.members(player).collect();
            for block in 0..rows.blocks() {
                let (mut once, mut again) = (0u64, 0u64);
                for &feature in &members {
                    let word = rows.feature(feature)[block];
                    again |= once & word;
                    once |= word;
                }
                let all = !0u64 >> (64 - (rows.rows() - 64 * block).min(64));
                let wrong = (!once | again) & all;
                if wrong != 0 {
                    let entity = 64 * block + wrong.trailing_zeros() as usize;
                    let ones = members.iter().filter(|&&feature| rows.get(entity, feature)).count();
                    let problem = EntityProblem::NotOneHot { player: self.names[player].clone(), ones };
                    return Err(ExplainError::Entity { entity, problem });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn columns_by_prefix_leave_lonely_bits_alone() {
        let players = Players::columns(&names(&["a=1", "b", "c=x", "a=2", "a=3=4"]), None);
        assert_eq!(players.names(), names(&["a", "b", "c=x"]));
        assert_eq!(players.of, [0, 1, 2, 0, 0]);
        assert_eq!(players.one_hot, [true, false, false]);
        assert!(players.blocks(&(0..5).map(Var::new).collect::<Vec<_>>()).is_empty());
        assert_eq!(players.one_hot_groups(&[Var::new(3)]), [[0, 3, 4].map(Var::new).to_vec()]);
        assert!(players.one_hot_groups(&[Var::new(1)]).is_empty());
        // Comparisons are not values of a column.
        let compared = names(&["age>=30", "age>=50", "fee<=1", "fee<=2", "x!=1", "x!=2"]);
        assert_eq!(Players::columns(&compared, None).names(), compared);
    }

    #[test]
    fn every_row_of_a_one_hot_player_is_looked_at() {
        let players = Players::columns(&names(&["a=1", "a=2", "b"]), None);
        let mut rows = Bits::new(3);
        for row in 0..70 {
            rows.push(&[row % 2 == 0, row % 2 == 1, row % 3 == 0]);
        }
        assert!(players.check_rows(&rows).is_ok());
        for (bad, ones) in [([false, false, true], 0), ([true, true, true], 2)] {
            let mut rows = rows.clone();
            rows.push(&bad);
            let error = players.check_rows(&rows).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("entity 70: the column 'a' has {ones} values that are 1, where exactly one must be")
            );
        }
    }

    #[test]
    fn a_named_partition_needs_every_feature() {
        let of: HashMap<String, String> =
            [("x", "first"), ("y", "second"), ("z", "first")].map(|(a, b)| (a.into(), b.into())).into();
        let players = Players::named(&names(&["x", "y", "z"]), &of).unwrap();
        assert_eq!((players.names(), &players.of[..]), (&names(&["first", "second"])[..], &[0, 1, 0][..]));
        assert_eq!(players.blocks(&[0, 1, 2].map(Var::new)), [(0, [0, 2].map(Var::new).to_vec())]);
        assert!(players.blocks(&[0, 1].map(Var::new)).is_empty());
        let error = Players::named(&names(&["x", "w"]), &of).unwrap_err();
        assert_eq!(error.to_string(), "the feature 'w' has no player");
    }
}
