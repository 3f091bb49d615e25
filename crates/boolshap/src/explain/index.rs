//! What is asked of a game: a number for each player, or for each pair of players.

/// How the contributions of players to all coalitions become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Index {
    /// The Shapley value: the mean contribution over all orders in which players can come (Shapley, 1953).
    #[default]
    Shapley,
    /// The Banzhaf value: the mean contribution over all coalitions of the others (Banzhaf, 1965).
    Banzhaf,
    /// The pairwise Shapley interaction index (Grabisch and Roubens, "An axiomatic approach to the concept of interaction
    /// among players in cooperative games", 1999): what two players gain together beyond what each gains alone.
    Interaction,
}

impl Index {
    /// Its name: `shapley`, `banzhaf` or `interaction`.
    pub fn name(self) -> &'static str {
        match self {
            Index::Shapley => "shapley",
            Index::Banzhaf => "banzhaf",
            Index::Interaction => "interaction",
        }
    }

    /// How many numbers this many players have.
    pub fn width(self, players: usize) -> usize {
        match self {
            Index::Shapley | Index::Banzhaf => players,
            Index::Interaction => players * players.saturating_sub(1) / 2,
        }
    }

    /// What every result is checked by before it leaves: `sum` (base value and scores add up to the prediction),
    /// `interactions` (those of a player add up to what its contribution gains from first to last), or `nothing`, as the
    /// Banzhaf values of a game have no sum that is known.
    pub fn checked(self) -> &'static str {
        match self {
            Index::Shapley => "sum",
            Index::Banzhaf => "nothing",
            Index::Interaction => "interactions",
        }
    }

    /// The names of the numbers for players of these names: the players, or `A*B` for each pair, the second fastest.
    pub fn columns(self, players: &[String]) -> Vec<String> {
        match self {
            Index::Shapley | Index::Banzhaf => players.to_vec(),
            Index::Interaction => pairs(players.len()).map(|(i, j)| format!("{}*{}", players[i], players[j])).collect(),
        }
    }
}

impl std::str::FromStr for Index {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = [Index::Shapley, Index::Banzhaf, Index::Interaction];
        let found = known.into_iter().find(|index| index.name() == name);
        found.ok_or_else(|| format!("'{name}' is not one of {}", known.map(Index::name).join(", ")))
    }
}

/// All pairs of players, in order.
pub(super) fn pairs(players: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..players).flat_map(move |i| (i + 1..players).map(move |j| (i, j)))
}
