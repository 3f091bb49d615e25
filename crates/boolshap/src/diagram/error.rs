//! Errors of this stage.

use super::Route;
use crate::lit::{Lit, Stopped, roughly, thousands};

/// Why a diagram could not be built, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiagramError {
    /// A vtree or an order does not contain every variable exactly once.
    #[error("a vtree or order needs each of its {variables} variables once, but {variable} is missing or repeated")]
    NotAPermutation {
        /// How many variables there are.
        variables: usize,
        /// The DIMACS number of one that is missing, repeated or out of range.
        variable: usize,
    },
    /// A `.vtree` file is malformed.
    #[error("vtree file, line {line}: {problem}")]
    VtreeFile {
        /// The line, from 1; 0 for the whole file.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A `.sdd` file is malformed, or does not fit its vtree.
    #[error("sdd file, line {line}: {problem}")]
    SddFile {
        /// The line, from 1; 0 for the whole file.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The vtree has no variables, which the file format cannot express.
    #[error("a vtree without variables cannot be written: the libsdd format has no such vtree")]
    EmptyVtree,
    /// A literal of a variable that the vtree does not have.
    #[error("literal {} is out of range: there are {variables} variables", .literal.to_dimacs())]
    NoSuchVariable {
        /// The literal.
        literal: Lit,
        /// How many variables there are.
        variables: usize,
    },
    /// A clause mentions a variable that the formula does not have.
    #[error("clause {clause}: literal {} is out of range: the formula has {variables} variables", .literal.to_dimacs())]
    ClauseVariable {
        /// The clause, counted from 1.
        clause: usize,
        /// The literal.
        literal: Lit,
        /// How many variables the formula has.
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
    /// The route does not support this many inputs.
    #[error("the {route} route takes up to {limit} inputs, and there are {inputs}")]
    TooManyInputs {
        /// Which route.
        route: &'static str,
        /// How many inputs there are.
        inputs: usize,
        /// How many it supports.
        limit: usize,
    },
    /// The length of the table does not match the number of variables.
    #[error("a table of {variables} variables takes {} words, not {words}", (1u64 << .variables).div_ceil(64))]
    TableLength {
        /// How many variables there are.
        variables: usize,
        /// How many words were given.
        words: usize,
    },
    /// Every route hit a limit.
    #[error("no route led to a diagram; {}", attempts_text(.attempts))]
    NoRoute {
        /// The routes in the order they were tried, each with its error.
        attempts: Vec<(Route, DiagramError)>,
    },
    /// The weights are too large for the route.
    #[error("the {route} route takes gates whose weights sum to less than {limit}, but they sum to {total}")]
    TooHeavy {
        /// Which route.
        route: &'static str,
        /// The largest sum of a gate's weights.
        total: u128,
        /// Their sum must stay below this.
        limit: u128,
    },
    /// A layer is too wide for the route.
    #[error("the {route} route takes layers of up to {limit} gates, and one has {width}")]
    TooWide {
        /// Which route.
        route: &'static str,
        /// How many gates the widest layer has.
        width: usize,
        /// How many it supports.
        limit: usize,
    },
    /// The enumeration of partial sums hit a limit.
    #[error("{cause} with {states} states listed, after {level} of {levels} levels")]
    Sums {
        /// The limit.
        cause: Box<DiagramError>,
        /// How many levels were finished.
        level: usize,
        /// How many there are.
        levels: usize,
        /// How many states had been enumerated.
        states: usize,
    },
    /// The reduction hit a limit.
    #[error("{cause} after {level} of {levels} levels from the leaves up")]
    Reduce {
        /// The limit.
        cause: Box<DiagramError>,
        /// How many levels were finished.
        level: usize,
        /// How many there are.
        levels: usize,
    },
    /// There are more states than allowed.
    #[error("the limit of {limit} states is reached")]
    TooManyStates {
        /// The limit.
        limit: usize,
    },
    /// A sample of the states, or the growth of those listed, shows that there will be more than allowed.
    #[error("{} states are expected, more than the limit of {}", expected_words(*.about), thousands(*.limit as u64))]
    TooManyExpected {
        /// About how many, in the best order.
        about: u64,
        /// The limit.
        limit: usize,
    },
    /// The diagram has more nodes than allowed.
    #[error("the limit of {limit} diagram nodes is reached")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// Adding up trees hit a limit.
    #[error("{cause} after {done} of {total} trees; try fewer or smaller trees, or a higher limit")]
    Trees {
        /// How many trees were added up.
        done: usize,
        /// How many there are.
        total: usize,
        /// The limit.
        #[source]
        cause: Box<DiagramError>,
    },
    /// The time is up, or a stop was requested.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Compiling clauses hit a limit.
    #[error("{cause} after {done} of {clauses} clauses, with a diagram of size {size} so far; {advice}")]
    Compile {
        /// The limit.
        cause: Box<DiagramError>,
        /// How many clauses had been conjoined.
        done: usize,
        /// How many there are.
        clauses: usize,
        /// The size of the diagram at that point.
        size: usize,
        /// What to try instead.
        advice: &'static str,
    },
    /// Compiling a network gate by gate hit a limit.
    #[error("{cause} after {done} of {gates} gates of layer {layer} of {layers}; {advice}")]
    CompileGates {
        /// The limit.
        cause: Box<DiagramError>,
        /// The layer of the simplified network that was being compiled, from 1.
        layer: usize,
        /// How many layers there are.
        layers: usize,
        /// How many gates of the layer had been compiled; if all, they were being conjoined.
        done: usize,
        /// How many gates the layer has.
        gates: usize,
        /// What to try instead.
        advice: &'static str,
    },
    /// There is not enough memory for a diagram of the limit's size.
    #[error("there is not enough memory for {nodes} diagram nodes ({bytes} bytes); lower the limit")]
    NoRoom {
        /// How many nodes were requested.
        nodes: usize,
        /// How much memory they take.
        bytes: usize,
    },
}

impl DiagramError {
    /// Why the work was stopped, if it was.
    pub fn stopped(&self) -> Option<Stopped> {
        match self {
            DiagramError::Stopped(stopped) => Some(*stopped),
            DiagramError::Sums { cause, .. }
            | DiagramError::Reduce { cause, .. }
            | DiagramError::CompileGates { cause, .. }
            | DiagramError::Trees { cause, .. }
            | DiagramError::Compile { cause, .. } => cause.stopped(),
            _ => None,
        }
    }
}

fn attempts_text(attempts: &[(Route, DiagramError)]) -> String {
    let texts: Vec<String> = attempts.iter().map(|(route, error)| format!("{route}: {error}")).collect();
    texts.join("; ")
}

/// The two reasons why an operation stops early, small enough for inner loops.
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

/// A count in words, from a sample that cannot tell the largest numbers apart.
fn expected_words(about: u64) -> String {
    if about >= 1_000_000_000_000_000 { "more than 10^15".into() } else { format!("about {}", roughly(about)) }
}
