//! The indices of a game: scores for each player, or for each small set of players.

use std::ops::RangeInclusive;

/// How the contributions of players to all coalitions are combined into scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Index {
    /// The Shapley value: the mean contribution over all orders of the players (Shapley, 1953).
    #[default]
    Shapley,
    /// The Banzhaf value: the mean contribution over all coalitions of the others (Banzhaf, 1965).
    Banzhaf,
    /// The pairwise Shapley interaction index (Grabisch and Roubens, "An axiomatic approach to the concept of interaction
    /// among players in cooperative games", 1999): what two players gain together beyond what each gains alone.
    Interaction,
    /// The Owen value of players in groups: the mean contribution over all orders in which the players of each group
    /// are consecutive (Owen, "Values of Games with a Priori Unions", 1977).
    Owen,
    /// The Shapley-Taylor interaction index (Sundararajan, Dhamdhere and Agarwal, "The Shapley Taylor Interaction
    /// Index", 2020) of all sets up to this size: smaller sets get their gain without other players, the largest the
    /// rest.
    Taylor(Order),
    /// The k-Shapley values (k-SII; Bordt and von Luxburg, "From Shapley Values to Generalized Additive Models and
    /// back", 2023) of all sets up to this size: interaction indices, combined so that they add up to the prediction.
    Ksii(Order),
}

/// The size of the largest sets of players that get a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Single players.
    One = 1,
    /// Also pairs.
    Two,
    /// Also sets of three.
    Three,
}

impl Order {
    const ALL: [Order; 3] = [Order::One, Order::Two, Order::Three];

    /// As a number.
    pub fn size(self) -> usize {
        self as usize
    }
}

impl Index {
    /// Its name: `shapley`, `banzhaf`, `interaction`, `owen`, or with its order `taylor:2`, `ksii:3`.
    pub fn name(self) -> &'static str {
        match self {
            Index::Shapley => "shapley",
            Index::Banzhaf => "banzhaf",
            Index::Interaction => "interaction",
            Index::Owen => "owen",
            Index::Taylor(order) => ["taylor:1", "taylor:2", "taylor:3"][order.size() - 1],
            Index::Ksii(order) => ["ksii:1", "ksii:2", "ksii:3"][order.size() - 1],
        }
    }

    /// The sizes of the sets of players that get a score.
    pub fn sizes(self) -> RangeInclusive<usize> {
        match self {
            Index::Shapley | Index::Banzhaf | Index::Owen => 1..=1,
            Index::Interaction => 2..=2,
            Index::Taylor(order) | Index::Ksii(order) => 1..=order.size(),
        }
    }

    /// The number of scores for this many players.
    pub fn width(self, players: usize) -> usize {
        self.sizes().fold(0, |sum, size| sum.saturating_add(count_sets(players, size)))
    }

    /// Whether base value and scores add up to the prediction.
    pub fn is_efficient(self) -> bool {
        !matches!(self, Index::Banzhaf | Index::Interaction)
    }

    /// The check that every result must pass: `sum` (base value and scores add up to the prediction), `interactions`
    /// (those of a player add up to its contribution as the last to come, less that as the first), or `nothing`, as the
    /// Banzhaf values of a game have no known sum.
    pub fn checked(self) -> &'static str {
        match self {
            Index::Banzhaf => "nothing",
            Index::Interaction => "interactions",
            _ => "sum",
        }
    }

    /// The sets of players that get a score, in order: by size, then lexicographically.
    pub fn sets(self, players: usize) -> impl Iterator<Item = Vec<usize>> {
        self.sizes().flat_map(move |size| sets(players, size))
    }

    /// The names of the scores for players of these names: the players, `A*B` for pairs, where the second varies
    /// fastest, and `A*B*C` for sets of three.
    pub fn columns(self, players: &[String]) -> Vec<String> {
        let name = |set: Vec<usize>| set.iter().map(|&player| players[player].as_str()).collect::<Vec<_>>().join("*");
        self.sets(players.len()).map(name).collect()
    }

    /// The position of the score of a set, whose players are in ascending order.
    pub(super) fn place(self, players: usize, set: &[usize]) -> usize {
        let smaller: usize =
            self.sizes().take_while(|&size| size < set.len()).map(|size| count_sets(players, size)).sum();
        smaller + place_of_set(players, set)
    }
}

impl std::str::FromStr for Index {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let orders = Order::ALL.into_iter().flat_map(|order| [Index::Taylor(order), Index::Ksii(order)]);
        let mut known = [Index::Shapley, Index::Banzhaf, Index::Interaction, Index::Owen].into_iter().chain(orders);
        known.find(|index| index.name() == name).ok_or_else(|| {
            format!("'{name}' is not one of shapley, banzhaf, interaction, owen, taylor:K, ksii:K with K from 1 to 3")
        })
    }
}

/// All pairs of players, in order.
pub(super) fn pairs(players: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..players).flat_map(move |i| (i + 1..players).map(move |j| (i, j)))
}

/// All sets of this many players, in lexicographic order.
pub(super) fn sets(players: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
    let first = (size <= players).then(|| (0..size).collect::<Vec<usize>>());
    std::iter::successors(first, move |set| {
        let mut next = set.clone();
        let at = (0..size).rev().find(|&at| next[at] < players - size + at)?;
        next[at] += 1;
        (at + 1..size).for_each(|behind| next[behind] = next[behind - 1] + 1);
        Some(next)
    })
}

/// The number of sets of this size.
pub(super) fn count_sets(players: usize, size: usize) -> usize {
    let product = (0..size).try_fold(1u128, |product, at| {
        product.checked_mul(players.saturating_sub(at) as u128).map(|product| product / (at as u128 + 1))
    });
    product.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}

/// The index of a set among all sets of its size.
fn place_of_set(players: usize, set: &[usize]) -> usize {
    // Fast paths for inner loops.
    match *set {
        [one] => return one,
        [one, other] => return one * (2 * players - one - 1) / 2 + other - one - 1,
        _ => {}
    }
    let (mut before, mut from) = (0, 0);
    for (at, &player) in set.iter().enumerate() {
        let behind = set.len() - at;
        before += count_sets(players - from, behind) - count_sets(players - player, behind);
        from = player + 1;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_counted_and_found_in_their_order() {
        for players in 0..8 {
            for size in 0..4 {
                let all: Vec<Vec<usize>> = sets(players, size).collect();
                assert_eq!(all.len(), count_sets(players, size));
                assert!(all.is_sorted() && all.iter().all(|set| set.is_sorted_by(|a, b| a < b)));
                assert!(all.iter().enumerate().all(|(place, set)| place_of_set(players, set) == place));
            }
            for order in Order::ALL {
                let index = Index::Taylor(order);
                let sets: Vec<Vec<usize>> = index.sets(players).collect();
                assert_eq!(sets.len(), index.width(players));
                assert!(sets.iter().enumerate().all(|(place, set)| index.place(players, set) == place));
            }
        }
        assert_eq!(count_sets(10_000_000, 3), 166_666_616_666_670_000_000u128.try_into().unwrap_or(usize::MAX));
    }

    #[test]
    fn names_are_read_back() {
        let three = ["a", "b", "c"].map(String::from);
        for name in ["shapley", "banzhaf", "interaction", "owen", "taylor:1", "taylor:3", "ksii:2"] {
            assert_eq!(name.parse::<Index>().unwrap().name(), name);
        }
        assert_eq!(Index::Ksii(Order::Three).columns(&three), ["a", "b", "c", "a*b", "a*c", "b*c", "a*b*c"]);
        assert_eq!(Index::Interaction.columns(&three), ["a*b", "a*c", "b*c"]);
        for wrong in ["taylor", "taylor:0", "ksii:4", "median", "owen:"] {
            assert!(wrong.parse::<Index>().is_err());
        }
    }
}
