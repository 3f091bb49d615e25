//! Errors of queries.

use super::space::Misplaced;
use crate::circuit::CircuitError;
use crate::circuit::check::Violation;
use crate::diagram::DiagramError;
use crate::lit::Stopped;
use crate::model::ModelError;
use std::path::PathBuf;

/// An error of the query stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The network and the circuit have different numbers of features.
    #[error("the network has {network} inputs, the circuit {circuit} variables")]
    Inputs {
        /// The number of the network's features.
        network: usize,
        /// The number of the circuit's features.
        circuit: usize,
    },
    /// The circuit lacks a property that every count and score relies on.
    #[error("the circuit is not sound: {0}")]
    Unsound(#[from] Violation),
    /// Two children of an or-gate can be true together.
    #[error("the circuit is not deterministic: or-gate {node} has two children that are true together on {entity}")]
    NotDeterministic {
        /// The position of the gate.
        node: usize,
        /// An entity on which both are true, as bits.
        entity: String,
    },
    /// The comparison would take more steps than allowed.
    #[error("comparing all 2^{inputs} inputs would take about {steps:.1e} steps, more than the {limit:.1e} allowed")]
    TooManySteps {
        /// The number of inputs of the network.
        inputs: usize,
        /// The steps.
        steps: f64,
        /// The limit.
        limit: f64,
    },
    /// The network has too many inputs to try all combinations.
    #[error("{inputs} inputs are more than the {limit} of which all combinations are tried")]
    TooManyInputs {
        /// The number of inputs of the network.
        inputs: usize,
        /// The limit.
        limit: usize,
    },
    /// The walk met more pairs than allowed.
    #[error(
        "the walk has met {pairs} pairs of a node and partial sums after {depth} of {variables} variables, its limit"
    )]
    TooManyPairs {
        /// The number of pairs met.
        pairs: usize,
        /// The number of variables processed.
        depth: usize,
        /// The number of all variables.
        variables: usize,
    },
    /// The walk needs an ordered diagram.
    #[error("the walk needs an ordered decision diagram: {problem}")]
    NotOrdered {
        /// Why it is not ordered.
        problem: String,
    },
    /// The weights are too large for the walk or the solver to sum.
    #[error("the weights of the network are too large for this method")]
    LargeWeights,
    /// The question needs more clauses than the solver's limit.
    #[error("the question has more than {limit} clauses, the limit of what the solver is given")]
    TooManyClauses {
        /// The limit.
        limit: usize,
    },
    /// The solver had more conflicts than allowed.
    #[error("the solver has not decided within {conflicts} conflicts")]
    TooManyConflicts {
        /// The limit.
        conflicts: u64,
    },
    /// The radius is not decided, but a lower bound is known.
    #[error(
        "the radius is not decided within {conflicts} conflicts; no change of up to {refuted} players changes the decision"
    )]
    RadiusOpen {
        /// The limit.
        conflicts: u64,
        /// The number of players that can change without changing the decision.
        refuted: usize,
    },
    /// The smallest reason was not found.
    #[error("the smallest reason is not decided with {limit} inputs that are decided otherwise")]
    TooManyDifferences {
        /// The limit.
        limit: usize,
    },
    /// This build has no SAT solver.
    #[error("this build has no SAT solver (feature `sat`)")]
    NoSolver,
    /// No method has an answer within its limits.
    #[error("nothing is proved: {}", .0.join("; "))]
    Undecided(Vec<String>),
    /// A proof is invalid.
    #[error("the proof is refused, line {line}: {problem}")]
    Proof {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate does not show what it claims.
    #[error("the certificate is refused: {problem}")]
    Certificate {
        /// The reason.
        problem: String,
    },
    /// A claim comes without a proof and concerns too many inputs to try.
    #[error("without a proof, {inputs} are more than can be tried")]
    Untried {
        /// A description of the inputs.
        inputs: String,
    },
    /// No certificate can show the answer.
    #[error("there is no certificate for this: {reason}")]
    NoCertificate {
        /// The reason.
        reason: String,
    },
    /// The proof could not be written or read.
    #[error("{}: {problem}", path.display())]
    ProofFile {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// The constraint has more variables than there are features.
    #[error("the constraint has {found} variables, but there are {features} features")]
    ConstraintVariables {
        /// The number of its variables.
        found: usize,
        /// The number of features.
        features: usize,
    },
    /// An input cannot occur.
    #[error("{what} {flaw}")]
    Misplaced {
        /// A name for the input.
        what: String,
        /// What is wrong with it.
        flaw: Misplaced,
    },
    /// No input can occur.
    #[error("no input satisfies the constraint")]
    NoInputs,
    /// An input has no class, or several.
    #[error("the circuit is wrong: {entity} is of {classes} classes")]
    WrongClasses {
        /// The input, as bits.
        entity: String,
        /// The number of its classes.
        classes: usize,
    },
    /// The question requires enumerating all inputs, and there are too many.
    #[error("{what} needs all inputs, and 2^{bits} are more than the limit of 2^{limit}")]
    TooManyToList {
        /// The question.
        what: &'static str,
        /// Two to this power is the number of inputs.
        bits: u32,
        /// The limit.
        limit: u32,
    },
    /// A search grew beyond its limit.
    #[error("{what} would take more than {limit} {unit}")]
    SearchLimit {
        /// The purpose of the search.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// The unit that is counted.
        unit: &'static str,
    },
    /// The costs are too large, or have too many digits, to be added exactly.
    #[error("the costs are too large or have too many digits to be added up exactly")]
    LargeCosts,
    /// The numbers of a share are too long to be multiplied exactly.
    #[error("the share has too many digits: as a fraction, its numbers must be below 2^64")]
    LongShare,
    /// Two classifiers cannot be compared.
    #[error("{0}")]
    NotComparable(String),
    /// A diagram could not be built.
    #[error(transparent)]
    Diagram(#[from] DiagramError),
    /// The circuit could not be evaluated.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// The network has no such class.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The computation was stopped before it was done.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
