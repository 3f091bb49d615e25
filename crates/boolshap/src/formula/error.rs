//! Errors of this stage.

use std::fmt;

use crate::lit::Stopped;

/// An error of the formula stage.
#[derive(Debug, thiserror::Error)]
pub enum FormulaError {
    /// A DIMACS file is malformed.
    #[error("{name}, line {line}: {problem}")]
    Dimacs {
        /// The name of the source.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, with the offending token.
        problem: String,
    },
    /// A file could not be read.
    #[error("{name}: {source}")]
    Read {
        /// The name of the source.
        name: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The layers of a network do not fit together.
    #[error("layer {layer}{}: {problem}", gate_suffix(*.gate))]
    Shape {
        /// The layer, counted from 1.
        layer: usize,
        /// The gate in it, counted from 1, if the problem is in one gate.
        gate: Option<usize>,
        /// What does not fit.
        problem: String,
    },
    /// A CNF exceeds the limit.
    #[error(
        "more than {limit} clauses (max-clauses) {place}: raise the limit, or compile by a direct route, which needs no formula"
    )]
    TooManyClauses {
        /// The limit that was set.
        limit: usize,
        /// How far the work had got.
        place: Place,
    },
    /// Out of time, or interrupted.
    #[error("{why} {place}{}", advice(.why))]
    Stopped {
        /// The reason.
        why: Stopped,
        /// How far the work had got.
        place: Place,
    },
}

/// How far the work had got when it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// While the matrices of the neurons were built.
    Matrix {
        /// The layer, counted from 1.
        layer: usize,
        /// The neuron in its layer, counted from 1.
        neuron: usize,
        /// The row of the neuron's matrix, counted from 1.
        row: usize,
        /// The number of rows of the matrix.
        rows: usize,
        /// The number of clauses of the largest cell so far in this matrix.
        clauses: usize,
    },
    /// While a formula was simplified.
    Simplify {
        /// The number of clauses at the start.
        clauses: usize,
        /// The current phase.
        phase: Phase,
        /// The number of clauses done in this phase.
        done: usize,
    },
    /// While the tree-width was bounded.
    TreeWidth {
        /// The number of variables already eliminated.
        done: usize,
        /// The total number of variables.
        variables: usize,
    },
}

/// The phases of simplification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Removing subsumed clauses.
    Subsumption,
    /// Choosing a small set of prime implicates from the truth table.
    Cover,
    /// Shortening clauses to prime implicates by SAT.
    Shortening,
    /// Removing clauses that the others imply, by SAT.
    Removal,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Matrix { layer, neuron, row, rows, clauses } => write!(
                f,
                "while encoding layer {layer}, neuron {neuron}, at row {row} of {rows} of its matrix, \
                 its largest cell so far having {clauses} clauses"
            ),
            Place::Simplify { clauses, phase, done } => {
                let step = match phase {
                    Phase::Subsumption => "removing subsumed clauses",
                    Phase::Cover => "covering the truth table by prime implicates",
                    Phase::Shortening => "shortening clauses to prime implicates",
                    Phase::Removal => "removing implied clauses",
                };
                write!(f, "while simplifying a formula of {clauses} clauses: {step}, {done} done")
            }
            Place::TreeWidth { done, variables } => {
                write!(f, "while bounding the tree-width, {done} of {variables} variables eliminated")
            }
        }
    }
}

fn gate_suffix(gate: Option<usize>) -> String {
    gate.map_or_else(String::new, |gate| format!(", gate {gate}"))
}

fn advice(why: &Stopped) -> &'static str {
    match why {
        Stopped::OutOfTime { .. } => ": allow more time, or compile by a direct route, which needs no formula",
        Stopped::OutOfMemory => ": compile by a direct route, which needs no formula",
        Stopped::Interrupted => "",
    }
}
