//! Errors in a request for scores.

use crate::circuit::check::Violation;
use crate::circuit::{CircuitError, NodeId};
use crate::data::DataError;
use crate::lit::{Remedy, Stopped};
use crate::model::ModelError;
use std::path::PathBuf;

/// An error of the explain stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// An entity without exactly one value per feature.
    #[error("entity {entity} has {found} values, but there are {expected} features")]
    EntityLength {
        /// The position of the entity, counted from 0.
        entity: usize,
        /// The number of features.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A distribution without exactly one probability per feature.
    #[error("the distribution has {found} probabilities, but there are {expected} features")]
    DistributionLength {
        /// The number of features.
        expected: usize,
        /// The number of probabilities.
        found: usize,
    },
    /// A probability outside of [0, 1].
    #[error("the probability of feature {feature} is {value}, which is not between 0 and 1")]
    Probability {
        /// The position of the feature, counted from 0.
        feature: usize,
        /// The given value.
        value: String,
    },
    /// A table of labels without exactly one word per 64 entities.
    #[error("the labels of {features} features take {expected} words, {found} were given")]
    LabelsLength {
        /// The number of features.
        features: usize,
        /// The number of words that hold their labels.
        expected: usize,
        /// The number of words.
        found: usize,
    },
    /// More features than an engine takes.
    #[error("{features} features are too many for {engine}: the limit is {limit}")]
    TooManyFeatures {
        /// The number of features.
        features: usize,
        /// The engine.
        engine: &'static str,
        /// The limit of the engine.
        limit: usize,
    },
    /// An index that is not in a table of the scores of all inputs.
    #[error("a table of the scores of all inputs has Shapley and Banzhaf values only")]
    IndexOfTable,
    /// A circuit that the open-box algorithm cannot take.
    #[error("the open-box algorithm needs a smooth circuit of fan-in 2: {0}")]
    NotPaperForm(#[from] Violation),
    /// A circuit that is not decomposable, so that sweeps would be wrong.
    #[error("scores need a decomposable circuit: {0}")]
    NotDecomposable(#[source] Violation),
    /// A decision node, where the open-box algorithm takes only gates.
    #[error("the open-box algorithm needs a smooth circuit of fan-in 2 made of gates: node {0} is a decision")]
    DecisionNode(NodeId),
    /// Something is wrong with one entity.
    #[error("entity {entity}: {problem}")]
    Entity {
        /// The position of the entity, counted from 0.
        entity: usize,
        /// What is wrong.
        problem: EntityProblem,
    },
    /// Something is wrong with one row of a file.
    #[error("{}, row {row}: {problem}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The first row with these bits, counted from 1.
        row: u64,
        /// What is wrong.
        problem: EntityProblem,
    },
    /// A partition that leaves a feature out.
    #[error("the feature '{feature}' has no player")]
    NoPlayer {
        /// The feature.
        feature: String,
    },
    /// Groups that leave a player out.
    #[error("the player '{player}' has no group")]
    NoGroup {
        /// The player.
        player: String,
    },
    /// An index that is not available for scores.
    #[error("the index {index} is for labels: scores have shapley, banzhaf and interaction")]
    IndexOfScores {
        /// The index.
        index: &'static str,
    },
    /// An index that needs groups of players, without groups.
    #[error("Owen values need groups of players")]
    NoGroups,
    /// Players that do not partition the features of the circuit.
    #[error("the players have {found} features, but the circuit has {expected}")]
    PlayersLength {
        /// The number of features.
        expected: usize,
        /// The number of features that the players have.
        found: usize,
    },
    /// A categorical player none of whose values can occur.
    #[error("no value of '{player}' has a probability above 0")]
    NoValue {
        /// The player.
        player: String,
    },
    /// A background or an empirical distribution without rows.
    #[error("the {what} has no rows")]
    NoRows {
        /// Which of the two.
        what: &'static str,
    },
    /// A formula over more variables than there are features.
    #[error("the constraint speaks of {found} variables, but there are {expected} features")]
    ConstraintVariables {
        /// The number of features.
        expected: usize,
        /// The number of variables.
        found: usize,
    },
    /// A constraint that nothing satisfies.
    #[error("no entity satisfies the constraint")]
    Unsatisfiable,
    /// A constraint that holds for no entity of a probability above 0.
    #[error("the constraint has probability 0 under the distribution, so nothing can be expected given it")]
    ImpossibleConstraint,
    /// Floats that could be too far from the true scores.
    #[error(
        "in floats a score of this circuit could be wrong by {bound:.1e}, and no more than {:e} is allowed: compute \
         fractions instead",
        super::GUARANTEED
    )]
    Imprecise {
        /// The most that a score could be wrong by.
        bound: f64,
    },
    /// A tree with a path that tests too many columns.
    #[error("a path of a tree asks {columns} columns, and the limit is {limit}")]
    LongPath {
        /// The number of columns.
        columns: usize,
        /// The most columns allowed.
        limit: usize,
    },
    /// A file without values.
    #[error("there are no values to explain")]
    NoValues,
    /// A constraint on values with too many inputs to tabulate.
    #[error(
        "given a constraint, the score of every input would have to be looked at, and the features of its players have more than \
         {limit} values together"
    )]
    TooManyInputs {
        /// The most inputs allowed.
        limit: usize,
    },
    /// A gate whose sum has too many values.
    #[error("a gate whose weights add up to {total} has too many different sums to be explained without a circuit")]
    GateTooWide {
        /// The sum of the weights.
        total: String,
    },
    /// More players than can be tried in all combinations.
    #[error(
        "{players} players are too many here: {why}, so all 2^{players} sets of players would have to be looked at, and \
         the limit is {limit} players"
    )]
    TooManyPlayers {
        /// The number of players.
        players: usize,
        /// Why there is no shorter way.
        why: &'static str,
        /// The most players allowed.
        limit: usize,
        /// What can be done.
        remedy: Remedy,
    },
    /// Rows could not be read, or scores could not be written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// An index that is not available without a circuit.
    #[error("the index {index} needs a circuit: without one there are shapley, banzhaf and interaction")]
    IndexNeedsCircuit {
        /// The index.
        index: &'static str,
    },
    /// The network could not be projected.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The computation was stopped before it was done.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Problems with one entity.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EntityProblem {
    /// Scores that do not add up: a defect of the engine or a circuit that is not deterministic.
    #[error("the base value {base} and the scores, {sum} in all, do not add up to the prediction {prediction}")]
    DoesNotAddUp {
        /// The base value.
        base: String,
        /// The sum of the scores.
        sum: String,
        /// The prediction.
        prediction: String,
    },
    /// The same for interactions: a player's do not add up to its contribution as the last to come, less that as the
    /// first.
    #[error(
        "the interactions of player {player}, {sum} in all, do not add up to the {gain} that it gains from first to last"
    )]
    InteractionsDoNotAddUp {
        /// The position of the player, counted from 0.
        player: usize,
        /// The sum of its interactions.
        sum: String,
        /// Its contribution as the last to come, less that as the first.
        gain: String,
    },
    /// A categorical player with no value, or several.
    #[error("the column '{player}' has {ones} values that are 1, where exactly one must be")]
    NotOneHot {
        /// The player.
        player: String,
        /// How many of its bits are 1.
        ones: usize,
    },
    /// An entity that differs from a background row in more players than can be tried in all combinations.
    #[error(
        "{differ} players differ from a background row, so that the network would have to be tried on 2^{differ} inputs, \
         and the limit is {limit} players{hint}"
    )]
    TooManyDiffer {
        /// The number of players that differ.
        differ: usize,
        /// The most players allowed to differ.
        limit: usize,
        /// Larger players that would help, if known.
        hint: String,
    },
    /// An entity outside the population.
    #[error("the constraint does not hold")]
    BreaksConstraint,
    /// An entity with values that cannot occur together.
    #[error("some of its values cannot occur together under the distribution, so nothing can be expected given them")]
    ZeroProbability,
}

impl ExplainError {
    /// The same error, with `moved` applied to the position of the entity, if it has one.
    pub fn with_entity(self, moved: impl Fn(usize) -> usize) -> Self {
        match self {
            ExplainError::Entity { entity, problem } => ExplainError::Entity { entity: moved(entity), problem },
            other => other,
        }
    }

    /// The same error with the row of a file instead of the position of the entity, if it has one.
    pub fn in_file(self, path: &std::path::Path, row_of: impl Fn(usize) -> u64) -> Self {
        match self {
            ExplainError::Entity { entity, problem } => {
                ExplainError::Row { path: path.into(), row: row_of(entity), problem }
            }
            other => other,
        }
    }
}
