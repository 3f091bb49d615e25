//! Errors in circuits, and in requests to them.

use super::NodeId;
use super::builder::MAX_VARIABLES;
use super::mentioned::{MAX_SET_WORDS, words_of};
use crate::lit::Var;

/// An error of the circuit stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// A node mentions a variable that the circuit does not have.
    #[error("node {node} speaks of variable {variable}, but the circuit has {variables} variables")]
    UnknownVariable {
        /// The position of the node.
        node: usize,
        /// The variable.
        variable: Var,
        /// How many variables the circuit has.
        variables: usize,
    },
    /// A child that refers to a later node.
    #[error("node {node} has the child {child}, which does not stand before it")]
    ChildNotBefore {
        /// The position of the parent.
        node: usize,
        /// The child.
        child: NodeId,
    },
    /// A root that is not a node of the circuit.
    #[error("the root is node {root}, but the circuit has {nodes} nodes")]
    UnknownRoot {
        /// The root.
        root: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A class that the file does not have.
    #[error("there is no class {class}: the file holds classes 0 to {}", .classes.saturating_sub(1))]
    UnknownClass {
        /// The class.
        class: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// One label was asked for, but the file holds a circuit for each class.
    #[error("the circuit has {classes} classes: choose one")]
    SeveralClasses {
        /// How many classes there are.
        classes: usize,
    },
    /// A class was asked for, but there is only one label.
    #[error("the circuit has one label and no classes to choose from")]
    OneLabel,
    /// A circuit was asked for, but there is only a network, which was not compiled.
    #[error("{why}")]
    NotCompiled {
        /// Why it was not compiled.
        why: String,
    },
    /// A label was asked for, but the file holds scores, the numbers before the decision.
    #[error("the file holds scores, the numbers before the decision, and no circuit of a label")]
    OnlyScores,
    /// A name that occurs twice.
    #[error("the {what} '{name}' is there twice")]
    NameTwice {
        /// `feature`, `class` or `column`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A circuit without the properties that every count and score relies on.
    #[error("the circuit is not sound: {0}")]
    Unsound(#[from] super::check::Violation),
    /// The conjunction with a formula could not be built.
    #[error("the circuit cannot be joined with the formula: {0}")]
    Conjoin(#[from] crate::diagram::DiagramError),
    /// A forest that could not be compiled.
    #[error("the forest cannot be compiled: {0}")]
    Trees(#[source] crate::diagram::DiagramError),
    /// More variables than a circuit may have.
    #[error("{variables} variables are more than the {MAX_VARIABLES} that are taken")]
    TooManyVariables {
        /// How many were asked for.
        variables: usize,
    },
    /// More nodes or edges than 32-bit ids can number.
    #[error("the circuit has more than {limit} {what}")]
    TooLarge {
        /// `nodes` or `edges`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// Too many nodes for this many variables.
    #[error(
        "a circuit of {nodes} nodes over {variables} variables is too large: sets of variables would take {} GiB, and the \
         limit is {} GiB",
        gibibytes(.nodes.saturating_mul(words_of(*.variables))), gibibytes(MAX_SET_WORDS)
    )]
    TooWide {
        /// How many nodes there are.
        nodes: usize,
        /// How many variables.
        variables: usize,
    },
    /// A reshaped circuit outgrew the limit.
    #[error("{doing} met its limit of {limit} nodes after {done} of {total} nodes of the circuit")]
    NodeLimit {
        /// What was being done.
        doing: &'static str,
        /// How many nodes the result may have.
        limit: usize,
        /// How many nodes of the circuit were done.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// Out of time, or interrupted.
    #[error(transparent)]
    Stopped(#[from] crate::lit::Stopped),
    /// A row of values whose length is not the number of variables.
    #[error("{found} values were given, but the circuit has {expected} variables")]
    WrongLength {
        /// The number of variables.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A truth table of too many variables.
    #[error("a truth table of {variables} variables is too large: the limit is {limit} variables")]
    TableTooLarge {
        /// The number of variables.
        variables: usize,
        /// The largest number that is accepted.
        limit: usize,
    },
    /// An SDD item that refers to a later item.
    #[error("item {item} of the diagram refers to item {child}, which does not stand before it")]
    ItemNotBefore {
        /// The position of the item.
        item: usize,
        /// The position it refers to.
        child: usize,
    },
    /// An SDD without any item has no root.
    #[error("the diagram has no items, so it has no root")]
    NoItems,
    /// A file that does not follow its format.
    #[error("line {line}: {problem}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A circuit file that is damaged or inconsistent.
    #[error("{problem}")]
    Damaged {
        /// What is wrong with it.
        problem: String,
    },
    /// A file that could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A line that does not follow its format.
pub(super) fn syntax(line: usize, problem: String) -> CircuitError {
    CircuitError::Syntax { line, problem }
}

/// Eight-byte words as gibibytes, rounded up.
fn gibibytes(words: usize) -> usize {
    words.div_ceil(1 << 27)
}
