//! What can keep a question from being answered.

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
    /// The network and the circuit do not have as many features.
    #[error("the network has {network} inputs, the circuit {circuit} variables")]
    Inputs {
        /// The network's.
        network: usize,
        /// The circuit's.
        circuit: usize,
    },
    /// The circuit is not what every count and score relies on.
    #[error("the circuit is not sound: {0}")]
    Unsound(#[from] Violation),
    /// Two children of an or-gate can be true together.
    #[error("the circuit is not deterministic: or-gate {node} has two children that are true together on {entity}")]
    NotDeterministic {
        /// The position of the gate.
        node: usize,
        /// An entity that shows it, as bits.
        entity: String,
    },
    /// The comparison would take more steps than allowed.
    #[error("comparing all 2^{inputs} inputs would take about {steps:.1e} steps, more than the {limit:.1e} allowed")]
    TooManySteps {
        /// How many inputs there are.
        inputs: usize,
        /// The steps.
        steps: f64,
        /// The limit.
        limit: f64,
    },
    /// More inputs than can all be tried.
    #[error("{inputs} inputs are more than the {limit} of which all combinations are tried")]
    TooManyInputs {
        /// How many inputs there are.
        inputs: usize,
        /// The limit.
        limit: usize,
    },
    /// The walk met more pairs than allowed.
    #[error(
        "the walk has met {pairs} pairs of a node and partial sums after {depth} of {variables} variables, its limit"
    )]
    TooManyPairs {
        /// How many it met.
        pairs: usize,
        /// How far it got.
        depth: usize,
        /// How far it would have gone.
        variables: usize,
    },
    /// The walk needs an ordered diagram.
    #[error("the walk needs an ordered decision diagram: {problem}")]
    NotOrdered {
        /// Why it is not ordered.
        problem: String,
    },
    /// Weights that the walk or the solver cannot sum up.
    #[error("the weights of the network are too large for this method")]
    LargeWeights,
    /// A question of more clauses than the solver is given.
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
    /// The radius is not decided, but a bound is.
    #[error(
        "the radius is not decided within {conflicts} conflicts; no change of up to {refuted} players changes the decision"
    )]
    RadiusOpen {
        /// The limit.
        conflicts: u64,
        /// How many players can change.
        refuted: usize,
    },
    /// The smallest reason was not found.
    #[error("the smallest reason is not decided with {limit} inputs that are decided otherwise")]
    TooManyDifferences {
        /// How many were looked at.
        limit: usize,
    },
    /// This build has no SAT solver.
    #[error("this build has no SAT solver (feature `sat`)")]
    NoSolver,
    /// No method has an answer within its limits.
    #[error("nothing is proved: {}", .0.join("; "))]
    Undecided(Vec<String>),
    /// A proof that does not prove what it should.
    #[error("the proof is refused, line {line}: {problem}")]
    Proof {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate that does not show what it claims.
    #[error("the certificate is refused: {problem}")]
    Certificate {
        /// Why.
        problem: String,
    },
    /// A claim without a proof that has more inputs than are tried.
    #[error("without a proof, {inputs} are more than can be tried")]
    Untried {
        /// Which inputs.
        inputs: String,
    },
    /// An answer that no certificate can show.
    #[error("there is no certificate for this: {reason}")]
    NoCertificate {
        /// Why.
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
    /// A constraint over more variables than there are features.
    #[error("the constraint has {found} variables, but there are {features} features")]
    ConstraintVariables {
        /// Its variables.
        found: usize,
        /// The features.
        features: usize,
    },
    /// An input that cannot occur.
    #[error("{what} {flaw}")]
    Misplaced {
        /// Which input.
        what: String,
        /// What is wrong with it.
        flaw: Misplaced,
    },
    /// No input can occur.
    #[error("no input satisfies the constraint")]
    NoInputs,
    /// An input that is of no class, or of several.
    #[error("the circuit is wrong: {entity} is of {classes} classes")]
    WrongClasses {
        /// The input, as bits.
        entity: String,
        /// How many classes hold it.
        classes: usize,
    },
    /// A question that is answered by looking at all inputs, of which there are too many.
    #[error("{what} needs all inputs, and 2^{bits} are more than the limit of 2^{limit}")]
    TooManyToList {
        /// What was asked.
        what: &'static str,
        /// Two to this power is the number of inputs.
        bits: u32,
        /// The limit.
        limit: u32,
    },
    /// A search that grew beyond its limit.
    #[error("{what} would take more than {limit} {unit}")]
    SearchLimit {
        /// What was searched.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// What is counted.
        unit: &'static str,
    },
    /// Costs too large, or of too many digits, to be added up exactly.
    #[error("the costs are too large or have too many digits to be added up exactly")]
    LargeCosts,
    /// A share whose numbers are too long to be multiplied exactly.
    #[error("the share has too many digits: as a fraction, its numbers must be below 2^64")]
    LongShare,
    /// Two classifiers that cannot be compared.
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
