//! What can go wrong in this stage.

use super::Route;
use crate::lit::{Lit, Stopped};

/// Why a diagram could not be built, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiagramError {
    /// A vtree or an order was asked for over something that is not every variable exactly once.
    #[error("a vtree or order needs each of its {variables} variables once, but {variable} is missing or stands twice")]
    NotAPermutation {
        /// How many variables there are.
        variables: usize,
        /// The DIMACS number of one that is missing, repeated or out of range.
        variable: usize,
    },
    /// A `.vtree` file is malformed.
    #[error("vtree file, line {line}: {problem}")]
    VtreeFile {
        /// The line, from 1; 0 if the file as a whole is meant.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A `.sdd` file is malformed, or does not fit its vtree.
    #[error("sdd file, line {line}: {problem}")]
    SddFile {
        /// The line, from 1; 0 if the file as a whole is meant.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The vtree has no variables, and no file can say so.
    #[error("a vtree without variables cannot be written: the libsdd format has no such vtree")]
    EmptyVtree,
    /// A literal speaks of a variable the vtree does not have.
    #[error("literal {} is out of range: there are {variables} variables", .literal.to_dimacs())]
    NoSuchVariable {
        /// The literal.
        literal: Lit,
        /// How many variables there are.
        variables: usize,
    },
    /// A clause speaks of a variable the formula does not have.
    #[error("clause {clause}: literal {} is out of range: the formula has {variables} variables", .literal.to_dimacs())]
    ClauseVariable {
        /// The clause, counted from 1.
        clause: usize,
        /// The literal.
        literal: Lit,
        /// How many variables were announced.
        variables: usize,
    },
    /// An assignment has the wrong length.
    #[error("an assignment of {given} values does not fit {variables} variables")]
    AssignmentLength {
        /// How many values were given.
        given: usize,
        /// How many variables there are.
        variables: usize,
    },
    /// A route cannot take so many inputs.
    #[error("the {route} route takes up to {limit} inputs, and there are {inputs}")]
    TooManyInputs {
        /// Which route.
        route: &'static str,
        /// How many inputs there are.
        inputs: usize,
        /// How many it takes.
        limit: usize,
    },
    /// A table that has not one value for each input.
    #[error("a table of {variables} variables takes {} words, {words} were given", (1u64 << .variables).div_ceil(64))]
    TableLength {
        /// How many variables there are.
        variables: usize,
        /// How many words were given.
        words: usize,
    },
    /// Every route ended at a limit.
    #[error("no route led to a diagram; {}", attempts_text(.attempts))]
    NoRoute {
        /// The routes in the order in which they were tried, and where each ended.
        attempts: Vec<(Route, DiagramError)>,
    },
    /// A route cannot take so large weights.
    #[error("the {route} route takes gates whose weights sum to less than {limit}, and here they sum to {total}")]
    TooHeavy {
        /// Which route.
        route: &'static str,
        /// The largest sum of a gate's weights.
        total: u128,
        /// What it must stay below.
        limit: u128,
    },
    /// A route cannot take so wide a layer.
    #[error("the {route} route takes layers of up to {limit} gates, and one has {width}")]
    TooWide {
        /// Which route.
        route: &'static str,
        /// How many gates the widest layer has.
        width: usize,
        /// How many it takes.
        limit: usize,
    },
    /// Listing the states of partial sums came to no end.
    #[error("{cause} with {states} states listed, after {level} of {levels} levels")]
    Sums {
        /// Which limit it was.
        cause: Box<DiagramError>,
        /// How many levels were done.
        level: usize,
        /// How many there are.
        levels: usize,
        /// How many states were listed by then.
        states: usize,
    },
    /// Reducing levels of functions came to no end.
    #[error("{cause} after {level} of {levels} levels from the leaves up")]
    Reduce {
        /// Which limit it was.
        cause: Box<DiagramError>,
        /// How many levels were done.
        level: usize,
        /// How many there are.
        levels: usize,
    },
    /// More states than allowed.
    #[error("the limit of {limit} states is reached")]
    TooManyStates {
        /// The limit.
        limit: usize,
    },
    /// The diagram outgrew its limit.
    #[error("the limit of {limit} diagram nodes is reached")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// Adding up trees came to no end.
    #[error("{cause} after {done} of {total} trees; fewer or smaller trees would do, or a higher limit")]
    Trees {
        /// How many trees were added up.
        done: usize,
        /// How many there are.
        total: usize,
        /// What ended it.
        #[source]
        cause: Box<DiagramError>,
    },
    /// The time is up, or someone wants it stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Compiling clauses came to no end.
    #[error("{cause} after {done} of {clauses} clauses, with a diagram of size {size} so far; {advice}")]
    Compile {
        /// Which limit it was.
        cause: Box<DiagramError>,
        /// How many clauses had been conjoined.
        done: usize,
        /// How many there are.
        clauses: usize,
        /// The size of the diagram at that moment.
        size: usize,
        /// What to try instead.
        advice: &'static str,
    },
    /// Compiling a network gate by gate came to no end.
    #[error("{cause} after {done} of {gates} gates of layer {layer} of {layers}; {advice}")]
    CompileGates {
        /// Which limit it was.
        cause: Box<DiagramError>,
        /// The layer of the simplified network that was being compiled, from 1.
        layer: usize,
        /// How many layers there are.
        layers: usize,
        /// How many gates of the layer had been compiled; if all, they were being joined.
        done: usize,
        /// How many gates the layer has.
        gates: usize,
        /// What to try instead.
        advice: &'static str,
    },
    /// The system has no room for a larger diagram, though the limit allows it.
    #[error("the system has no room for {nodes} diagram nodes ({bytes} bytes); lower the limit")]
    NoRoom {
        /// How many nodes were asked for.
        nodes: usize,
        /// What they would take.
        bytes: usize,
    },
}

fn attempts_text(attempts: &[(Route, DiagramError)]) -> String {
    let texts: Vec<String> = attempts.iter().map(|(route, error)| format!("{route}: {error}")).collect();
    texts.join("; ")
}

/// The two reasons for which an operation stops half way, small enough for the inner loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    Nodes(usize),
    Stopped(Stopped),
}

impl From<Stopped> for Halt {
    fn from(stopped: Stopped) -> Self {
        Halt::Stopped(stopped)
    }
}

impl From<Halt> for DiagramError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Nodes(limit) => DiagramError::TooManyNodes { limit },
            Halt::Stopped(stopped) => DiagramError::Stopped(stopped),
        }
    }
}
