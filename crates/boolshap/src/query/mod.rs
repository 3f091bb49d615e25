//! Questions about a finished circuit, answered by code that shares nothing with the compilers: is it the network?
//!
//! [`verify`] proves that a circuit is decomposable and deterministic and computes the same as a network, or finds an
//! entity on which the two part. Three ways to compare: all inputs (`exhaustive`), a SAT solver on "they differ"
//! (`miter`, with a proof that [`check_lrat`] reads), or a walk along both at once (`walk`).
//! [`deciding_switches`] tells which features an entity's decision hangs on one at a time.

mod acceptance;
#[cfg(feature = "sat")]
mod at_most_one;
mod attribution;
mod bias;
mod class_tables;
mod classifier;
#[cfg(feature = "sat")]
mod clauses;
mod complete_reason;
mod counterfactual;
mod diagram_search;
mod diagrams;
mod difference;
mod error;
mod exhaustive;
mod judge;
mod lrat;
#[cfg(feature = "sat")]
mod miter;
mod properties;
mod reason;
mod robustness;
mod set_family;
mod space;
mod switches;
mod verify;
mod walk;

#[cfg(test)]
mod definitions;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod tests;

pub use acceptance::{GroupAcceptance, acceptance};
pub use attribution::{Attribution, attribution};
pub use bias::Bias;
pub use classifier::{Classifier, Entity};
pub use counterfactual::{Counterfactual, Counterfactuals, Wish, counterfactuals};
pub use difference::{Differences, differences};
pub use error::QueryError;
pub use judge::{CounterfactualVerdict, SetClaim, SetVerdict, judge_counterfactual, judge_set};
pub use lrat::check_lrat;
pub use properties::{Monotone, Property, properties};
pub use reason::{Reasons, ReasonsWanted, Which, contrastive, sufficient};
pub use robustness::{Robustness, mean_over_inputs, robustness};
pub use space::{Misplaced, Space};
pub use switches::deciding_switches;
pub use verify::{Counterexample, Method, SolverLimits, Verdict, VerifyOptions};
pub use verify::{check_determinism, decide_gates, verify};
