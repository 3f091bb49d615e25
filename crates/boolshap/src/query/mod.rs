//! Questions about a finished circuit, answered by code that shares nothing with the compilers: is it the network?
//!
//! [`verify`] proves that a circuit is decomposable and deterministic and computes the same as a network, or finds an
//! entity on which the two part. Three ways to compare: all inputs (`exhaustive`), a SAT solver on "they differ"
//! (`miter`, with a proof that [`check_lrat`] reads), or a walk along both at once (`walk`).
//! [`deciding_switches`] tells which features an entity's decision hangs on one at a time.

#[cfg(feature = "sat")]
mod at_most_one;
mod certificate;
mod certificate_check;
mod certificate_clauses;
mod certificate_recount;
mod certificate_sets;
mod certificate_words;
mod certify;
mod clauses;
mod error;
mod exhaustive;
mod lrat;
#[cfg(feature = "sat")]
mod miter;
#[cfg(feature = "sat")]
mod network_solver;
#[cfg(feature = "sat")]
mod refute;
mod switches;
mod verify;
mod walk;

#[cfg(all(test, feature = "sat"))]
mod certificate_tests;
#[cfg(test)]
mod tests;

pub use certificate::{
    BiasClaim, Certificate, Claim, ClassifierBiasClaim, Evidence, Extent, Group, Moves, NearestClaim, PairEvidence,
    PlayerClaim, ProbableClaim, PropertiesClaim, SetsClaim, Sufficient, Within,
};
pub use certificate_check::{Checked, check_certificate};
pub use certify::{Witness, certify};
pub use error::QueryError;
pub use lrat::check_lrat;
#[cfg(feature = "sat")]
pub use network_solver::{NetworkSolver, Terms};
pub use switches::deciding_switches;
pub use verify::{Counterexample, Method, SolverLimits, Verdict, VerifyOptions};
pub use verify::{check_determinism, decide_gates, verify};
