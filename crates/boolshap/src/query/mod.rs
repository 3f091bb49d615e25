//! Questions about a finished circuit, answered by code that shares nothing with the compilers: does it equal the
//! network?
//!
//! [`verify`] proves that a circuit is decomposable and deterministic and computes the same as a network, or finds an
//! entity on which the two differ. It compares by all inputs (`exhaustive`), by a SAT solver on "they differ" (`miter`,
//! with a proof that [`check_lrat`] reads), or by a simultaneous walk through both (`walk`). [`deciding_switches`]
//! finds the features whose change alone changes an entity's decision.

mod acceptance;
#[cfg(feature = "sat")]
mod at_most_one;
mod attribution;
mod bias;
mod certificate;
mod certificate_check;
mod certificate_clauses;
mod certificate_games;
mod certificate_nearest;
mod certificate_recount;
mod certificate_sets;
mod certificate_verdicts;
mod certificate_words;
mod certify;
mod certify_verdicts;
mod claims;
mod class_tables;
mod classifier;
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
#[cfg(feature = "sat")]
mod network_solver;
mod probable;
mod properties;
mod reason;
#[cfg(feature = "sat")]
mod refute;
mod robustness;
mod set_family;
mod space;
mod switches;
mod verify;
mod walk;

#[cfg(all(test, feature = "sat"))]
mod certificate_tests;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod tests;

pub use acceptance::{GroupAcceptance, acceptance};
pub use attribution::{Attribution, attribution};
pub use bias::Bias;
pub use certificate::{Certificate, Evidence, Group, PairEvidence, Sufficient};
pub use certificate_check::{Checked, check_certificate};
pub use certify::{Witness, certify};
pub use claims::{
    AttributionClaim, BiasClaim, Claim, ClassifierBiasClaim, DifferenceClaim, Extent, GroupRow, InputVerdictClaim,
    LetterClaim, MandatoryClaim, MeanRadiusClaim, Moves, NearestClaim, PartClaim, PlayerClaim, ProbableClaim,
    PropertiesClaim, ScoreClaim, ScoresClaim, SetVerdictClaim, SetsClaim, Within,
};
pub use classifier::{Classifier, Entity};
pub use counterfactual::{Counterfactual, Counterfactuals, Wish, counterfactuals};
pub use difference::{Differences, differences};
pub use error::QueryError;
pub use judge::{CounterfactualVerdict, SetClaim, SetVerdict, judge_counterfactual, judge_set};
pub use lrat::check_lrat;
#[cfg(feature = "sat")]
pub use network_solver::{NetworkSolver, Terms};
pub use properties::{Monotone, Property, properties};
pub use reason::{Reasons, ReasonsWanted, Which, contrastive, sufficient};
pub use robustness::{Robustness, mean_over_inputs, robustness};
pub use space::{Misplaced, Space};
pub use switches::deciding_switches;
pub(crate) use switches::switches_by;
pub use verify::{Counterexample, Method, SolverLimits, Verdict, VerifyOptions};
pub use verify::{check_determinism, decide_gates, verify};
