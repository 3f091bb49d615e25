//! Remedies for errors, as data: the command line words them as flags, the Python package as arguments.

/// A remedy for an error, named by the setting that has to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// The sign of a latent weight of 0.
    ZeroWeight,
    /// The epsilon of batch normalisation.
    BnEpsilon,
    /// The numbers that a network's inputs can take.
    InputValues,
    /// One class of the network, or all of them.
    Class,
    /// The number of variables.
    Variables,
    /// A higher node limit.
    Nodes,
    /// Larger players: columns, or groups of features.
    FewerPlayers,
    /// Larger players, or a background instead of an empirical distribution.
    FewerPlayersOrBackground,
    /// Probabilities, for a circuit without training marginals.
    Probabilities,
    /// What the columns hold.
    Columns(Box<ColumnRemedy>),
    /// Whether rows are raw values or bits.
    Input,
    /// An engine that computes exact fractions.
    ExactEngine,
    /// A network with fewer neurons, or on fewer columns.
    SmallerNetwork {
        /// How many neurons would be fast enough, if that was tried.
        neurons: Option<usize>,
    },
    /// Compiling first, or a smaller network.
    CompileFirst,
    /// The layout of the features.
    Grid,
    /// Fewer background rows.
    SmallerBackground,
}

/// Settings for the columns of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnRemedy {
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Columns with kinds that would fit them.
    pub kinds: Vec<(String, String)>,
    /// Texts that may mean a missing value.
    pub missing: Vec<String>,
}
