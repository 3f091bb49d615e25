//! What a certificate can claim of a network, one type for each kind of answer.
//!
//! Inputs are texts of 0 and 1 in the order of the model's features, players go by their names, counts and fractions are
//! texts, so that every reader keeps them exact.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Minimal sets of players that suffice for the decision.
    Reasons(SetsClaim),
    /// Minimal sets of players whose change can change the decision.
    Contrasts(SetsClaim),
    /// Sets of players with which a share of all inputs keeps the decision.
    Probable(ProbableClaim),
    /// The nearest inputs with another decision.
    Nearest(NearestClaim),
    /// Whether a change of protected players alone changes this decision.
    DecisionBias(BiasClaim),
    /// Whether it changes any decision.
    ClassifierBias(ClassifierBiasClaim),
    /// How the decision depends on players.
    Properties(PropertiesClaim),
    /// Each player's part in the sufficient reasons.
    Attribution(AttributionClaim),
    /// The mean distance of all inputs from the nearest with another decision.
    MeanRadius(MeanRadiusClaim),
    /// Where another network decides otherwise.
    Difference(DifferenceClaim),
    /// What a set of players is that was said to be a reason.
    SetVerdict(SetVerdictClaim),
    /// What an input is that was said to be nearest.
    InputVerdict(InputVerdictClaim),
    /// The reasons of a letter, and the change that helps.
    Letter(LetterClaim),
}

/// Sets of players, each minimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetsClaim {
    /// The input whose decision is explained.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// The sets.
    pub sets: Vec<Vec<String>>,
    /// The sets have no other players than these.
    pub among: Option<Vec<String>>,
    /// What is said of other sets.
    pub extent: Extent,
}

/// What a list of minimal sets leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Nothing is said of others.
    Some,
    /// No other is smaller than any of these.
    Smallest,
    /// There are no others.
    All,
}

/// Sets of players with which at least a share of the inputs that agree on them keeps the decision; or (`contrasts`) sets
/// without which less than that share of the inputs that agree on all others keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbableClaim {
    /// The input whose decision is explained.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// Whether the sets are those whose players must not all be left out.
    pub contrasts: bool,
    /// The least share, a fraction.
    pub share: String,
    /// The sets; no set within one of them has the share.
    pub sets: Vec<Vec<String>>,
    /// The exact share of each (of its complement, for contrasts), a fraction.
    pub shares: Vec<String>,
    /// The sets have no other players than these.
    pub among: Option<Vec<String>>,
    /// What is said of other sets.
    pub extent: Extent,
}

/// Inputs with another decision, and that there are none nearer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearestClaim {
    /// The input to start from.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// The wanted decision; without one, any other than the label.
    pub to: Option<usize>,
    /// What a change of a player costs, if not 1; fractions.
    pub costs: BTreeMap<String, String>,
    /// Changes that are not allowed.
    pub moves: Moves,
    /// The least cost, a fraction; none if there is no such input.
    pub distance: Option<String>,
    /// Inputs at that distance.
    pub inputs: Vec<String>,
    /// How many there are at that distance, if that is claimed.
    pub count: Option<String>,
    /// How many inputs within a distance are decided so, if that is claimed.
    pub within: Option<Within>,
}

/// Changes that are not allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moves {
    /// Features that may not change from 0 to 1.
    pub not_up: Vec<String>,
    /// Features that may not change from 1 to 0.
    pub not_down: Vec<String>,
}

/// The number of inputs with another decision within a distance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// The distance.
    pub distance: String,
    /// How many there are.
    pub others: String,
}

/// Whether a decision depends on protected players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BiasClaim {
    /// The input.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// The players.
    pub protected: Vec<String>,
    /// Whether an input that differs in them only is decided otherwise.
    pub biased: bool,
}

/// Whether any decision depends on protected players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifierBiasClaim {
    /// The players.
    pub protected: Vec<String>,
    /// Whether two inputs that differ in them only are decided differently.
    pub biased: bool,
    /// How many inputs are decided so, if that is claimed.
    pub inputs: Option<String>,
}

/// How the decision depends on players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertiesClaim {
    /// One entry for each player that something is claimed of.
    pub players: Vec<PlayerClaim>,
}

/// How the decision depends on a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerClaim {
    /// The player.
    pub name: String,
    /// Whether its change alone changes any decision.
    pub used: bool,
    /// Of a player of one feature: whether the number of some decision rises when it goes from 0 to 1.
    pub rises: Option<bool>,
    /// Whether it falls for some input then.
    pub falls: Option<bool>,
    /// The share of inputs whose decision some change of it changes, a fraction, if that is claimed.
    pub influence: Option<String>,
    /// The decisions all of whose inputs have one value of it, if that is claimed; other decisions have several, or no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandatory: Option<Vec<MandatoryClaim>>,
}

/// A value of a player that all inputs of a decision have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MandatoryClaim {
    /// The decision.
    pub label: usize,
    /// The values of the player's features, as zeros and ones in their order.
    pub value: String,
}

/// Each player's part in the sufficient reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributionClaim {
    /// All sufficient reasons; everything else follows from them.
    pub reasons: SetsClaim,
    /// One entry for each player.
    pub players: Vec<PartClaim>,
}

/// One player's part in the sufficient reasons; fractions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartClaim {
    /// The player.
    pub name: String,
    /// The share of the reasons that have it.
    pub share: String,
    /// Its Shapley value in the game "this set suffices".
    pub shapley: String,
    /// Its Banzhaf value.
    pub banzhaf: String,
}

/// The mean distance of all inputs from the nearest with another decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanRadiusClaim {
    /// The mean, a fraction; none if all inputs have one decision.
    pub mean: Option<String>,
}

/// Where another network decides otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DifferenceClaim {
    /// The other network: the content of its model file.
    pub other: serde_json::Value,
    /// Whether some input is decided otherwise.
    pub differ: bool,
    /// How many are, if that is claimed.
    pub inputs: Option<String>,
    /// Some of them.
    pub examples: Vec<String>,
}

/// What a set of players is that was said to be a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetVerdictClaim {
    /// The input whose decision is explained.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// Whether the set was said to be contrastive; else sufficient.
    pub contrastive: bool,
    /// The set.
    pub set: Vec<String>,
    /// Whether it is what it was said to be.
    pub valid: bool,
    /// The players of a valid set that can each be left out; it is minimal if there are none.
    pub superfluous: Vec<String>,
}

/// What an input is that was said to be the nearest with another decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputVerdictClaim {
    /// The input to start from.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// The wanted decision; without one, any other than the label.
    pub to: Option<usize>,
    /// What a change of a player costs, if not 1; fractions.
    pub costs: BTreeMap<String, String>,
    /// Changes that are not allowed.
    pub moves: Moves,
    /// The input.
    pub input: String,
    /// What it costs, a fraction.
    pub distance: String,
    /// Whether it can occur, makes allowed changes only and is decided as wished.
    pub valid: bool,
    /// Whether it is valid, and no valid input changes only a part of what it changes.
    pub minimal: bool,
    /// Whether it is valid, and none that is costs less.
    pub nearest: bool,
}

/// The reasons of a letter, and the change that helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LetterClaim {
    /// The decision that would be favourable.
    pub favourable: usize,
    /// What speaks against it, if that is claimed.
    pub reasons: Option<ScoresClaim>,
    /// The nearest input with the favourable decision, if one exists.
    pub change: NearestClaim,
}

/// The players with the lowest Shapley values below 0 in the game "the decision is favourable", in which players that are
/// left out are as in rows of a group, or anything that can occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoresClaim {
    /// The group; without one, all inputs count alike.
    pub against: Option<Vec<GroupRow>>,
    /// How many players are listed at most.
    pub top: usize,
    /// The players and their values, the lowest first, equal ones in the order of the players.
    pub scores: Vec<ScoreClaim>,
}

/// An input of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRow {
    /// The input.
    pub input: String,
    /// How many rows have it.
    pub rows: u64,
}

/// A player's score, a fraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreClaim {
    /// The player.
    pub player: String,
    /// Its score.
    pub score: String,
}
