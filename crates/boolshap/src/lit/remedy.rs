//! What can be done about an error, as data: a command line says it with its flags, a Python package with its arguments.

/// A way out of an error, named by what has to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// The sign of a latent weight of 0.
    ZeroWeight,
    /// The epsilon of batch normalisation.
    BnEpsilon,
    /// Which numbers the inputs of a network can be.
    InputValues,
    /// One class of the network, or all of them.
    Class,
    /// The number of variables.
    Variables,
    /// A higher limit of nodes.
    Nodes,
    /// Larger players: columns, or players of several features.
    FewerPlayers,
    /// The same, or a background instead of an empirical distribution.
    FewerPlayersOrBackground,
    /// Probabilities, where the circuit holds no marginals of training.
    Probabilities,
    /// What columns hold.
    Columns(Box<ColumnRemedy>),
    /// Whether rows are raw values or bits.
    Input,
    /// An engine that computes in fractions.
    ExactEngine,
    /// A network with fewer neurons, or of fewer columns.
    SmallerNetwork {
        /// How many neurons would not take long, if that was tried.
        neurons: Option<usize>,
    },
    /// A compilation that is asked for, or a smaller network.
    CompileFirst,
    /// How the features are laid out.
    Grid,
    /// Fewer background rows.
    SmallerBackground,
}

/// What can be said about the columns of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnRemedy {
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Columns and kinds that they can have.
    pub kinds: Vec<(String, String)>,
    /// Texts that may mean a missing value.
    pub missing: Vec<String>,
}
