//! The claims that a certificate can make about a network, one type for each kind of answer.
//!
//! Inputs are strings of 0 and 1 in the order of the model's features, and players are given by name. Counts and
//! fractions are strings, so that every reader keeps them exact.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A claim about a network.
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
    /// The inputs on which another network decides differently.
    Difference(DifferenceClaim),
    /// The verdict on a set of players that was said to be a reason.
    SetVerdict(SetVerdictClaim),
    /// The verdict on an input that was said to be nearest.
    InputVerdict(InputVerdictClaim),
    /// The reasons in a letter, and the change that would help.
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
    /// The sets contain no players other than these.
    pub among: Option<Vec<String>>,
    /// The claim about other sets.
    pub extent: Extent,
}

/// How complete a list of minimal sets is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// It makes no claim about other sets.
    Some,
    /// No other set is smaller than any of these.
    Smallest,
    /// No other sets exist.
    All,
}

/// Sets of players such that at least a share of the inputs that agree on them keeps the decision; or (`contrasts`)
/// sets such that less than that share of the inputs that agree on all other players keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbableClaim {
    /// The input whose decision is explained.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// Whether the sets are contrastive.
    pub contrasts: bool,
    /// The least share, a fraction.
    pub share: String,
    /// The sets; no proper subset of one of them has the share.
    pub sets: Vec<Vec<String>>,
    /// The exact share of each (of its complement, for contrasts), a fraction.
    pub shares: Vec<String>,
    /// The sets contain no players other than these.
    pub among: Option<Vec<String>>,
    /// The claim about other sets.
    pub extent: Extent,
}

/// Inputs with another decision, and the claim that no input is nearer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearestClaim {
    /// The input to start from.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// The wanted decision; without one, any other than the label.
    pub to: Option<usize>,
    /// The cost of changing each player, if not 1; fractions.
    pub costs: BTreeMap<String, String>,
    /// Changes that are not allowed.
    pub moves: Moves,
    /// The least cost, a fraction; `None` if no such input exists.
    pub distance: Option<String>,
    /// Inputs at that distance.
    pub inputs: Vec<String>,
    /// The number of inputs at that distance, if claimed.
    pub count: Option<String>,
    /// The number of inputs with such a decision within a distance, if claimed.
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
    /// The number of these inputs.
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
    /// Whether an input that differs in these players only has another decision.
    pub biased: bool,
}

/// Whether any decision depends on protected players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifierBiasClaim {
    /// The players.
    pub protected: Vec<String>,
    /// Whether two inputs that differ in these players only have different decisions.
    pub biased: bool,
    /// The number of biased inputs, if claimed.
    pub inputs: Option<String>,
}

/// How the decision depends on players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertiesClaim {
    /// One entry for each player that the claim is about.
    pub players: Vec<PlayerClaim>,
}

/// How the decision depends on a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerClaim {
    /// The player.
    pub name: String,
    /// Whether changing this player alone changes any decision.
    pub used: bool,
    /// For a player with one feature: whether some decision's number rises when the feature goes from 0 to 1.
    pub rises: Option<bool>,
    /// The same for a number that falls.
    pub falls: Option<bool>,
    /// The share of inputs whose decision some change of this player changes, a fraction, if claimed.
    pub influence: Option<String>,
    /// The decisions whose inputs all have the same value of this player, if claimed; other decisions have several
    /// values or no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandatory: Option<Vec<MandatoryClaim>>,
}

/// A value of a player that all inputs of a decision share.
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
    /// The share of the reasons that contain it.
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
    /// The mean, a fraction; `None` if all inputs have the same decision.
    pub mean: Option<String>,
}

/// The inputs on which another network decides differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DifferenceClaim {
    /// The other network: the content of its model file.
    pub other: serde_json::Value,
    /// Whether the networks differ on some input.
    pub differ: bool,
    /// The number of inputs on which they differ, if claimed.
    pub inputs: Option<String>,
    /// Some of these inputs.
    pub examples: Vec<String>,
}

/// The verdict on a set of players that was said to be a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetVerdictClaim {
    /// The input whose decision is explained.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// Whether the set was said to be contrastive; otherwise it was said to be sufficient.
    pub contrastive: bool,
    /// The set.
    pub set: Vec<String>,
    /// Whether the set is what it was said to be.
    pub valid: bool,
    /// The players of a valid set that can each be left out; the set is minimal if there are none.
    pub superfluous: Vec<String>,
}

/// The verdict on an input that was said to be the nearest with another decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputVerdictClaim {
    /// The input to start from.
    pub entity: String,
    /// Its decision.
    pub label: usize,
    /// The wanted decision; without one, any other than the label.
    pub to: Option<usize>,
    /// The cost of changing each player, if not 1; fractions.
    pub costs: BTreeMap<String, String>,
    /// Changes that are not allowed.
    pub moves: Moves,
    /// The input.
    pub input: String,
    /// Its cost, a fraction.
    pub distance: String,
    /// Whether it can occur, makes allowed changes only and has the wanted decision.
    pub valid: bool,
    /// Whether it is valid and no valid input changes only a proper subset of its changed players.
    pub minimal: bool,
    /// Whether it is valid and no valid input costs less.
    pub nearest: bool,
}

/// The reasons in a letter, and the change that would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LetterClaim {
    /// The decision that would be favourable.
    pub favourable: usize,
    /// The players that speak against it, if claimed.
    pub reasons: Option<ScoresClaim>,
    /// The nearest input with the favourable decision, if one exists.
    pub change: NearestClaim,
}

/// The players with the lowest Shapley values below 0 in the game "the decision is favourable", in which absent players
/// take their values from rows of a group, or any values that can occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoresClaim {
    /// The group; without one, all inputs have equal weight.
    pub against: Option<Vec<GroupRow>>,
    /// The maximum number of players listed.
    pub top: usize,
    /// The players and their values, lowest first; ties in the order of the players.
    pub scores: Vec<ScoreClaim>,
}

/// An input of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupRow {
    /// The input.
    pub input: String,
    /// The number of rows equal to it.
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
