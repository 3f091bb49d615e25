//! Evidence for claims about distances and external material: that no input is nearer, verdicts on a set said to be a
//! reason or an input said to be nearest, and that another network makes the same decisions.

use super::QueryError;
use super::certificate::{Evidence, PairEvidence};
use super::certificate_check::text_of;
use super::certificate_clauses::{DifferQuestion, Question};
use super::certificate_nearest::Journey;
use super::certify::{Prover, Shown, untrue};
use super::claims::{DifferenceClaim, InputVerdictClaim, NearestClaim, SetVerdictClaim};

/// The result of a search for an input that should not exist.
enum Missing {
    /// The input exists.
    Here(Vec<bool>),
    /// No such input exists, with a proof if a reader cannot try all inputs.
    Nowhere(Option<String>),
}

impl Prover<'_> {
    /// The proof that no input is nearer, if there are too many to try.
    pub(super) fn nearest(&self, claim: &NearestClaim) -> Result<Option<String>, QueryError> {
        let journey = self.checker.journey(claim.into())?;
        let distance = claim.distance.as_ref().map(|text| journey.parts(text)).transpose()?;
        match self.nearer(&journey, distance)? {
            Missing::Here(input) => Err(untrue(format!("{} is nearer", text_of(&input)))),
            Missing::Nowhere(proof) => Ok(proof),
        }
    }

    /// An input that costs less than a distance, or a proof that no such input exists.
    fn nearer(&self, journey: &Journey, distance: Option<u128>) -> Result<Missing, QueryError> {
        let checker = &self.checker;
        self.missing(checker.some_nearer(journey, distance), &journey.entity, || {
            checker.nearer_question(journey, distance)
        })
    }

    /// The result of trying all inputs, or of the solver where there were too many, with a proof if no input was found.
    fn missing<'q>(
        &self,
        tried: Result<Option<Vec<bool>>, QueryError>,
        entity: &[bool],
        question: impl FnOnce() -> Result<Question<'q>, QueryError>,
    ) -> Result<Missing, QueryError> {
        let inputs = match tried {
            Err(QueryError::Untried { inputs }) => inputs,
            other => return Ok(other?.map_or(Missing::Nowhere(None), Missing::Here)),
        };
        let question = question()?;
        let clauses = question.clauses(&self.checker.watch)?;
        if let Some(values) = self.model(&clauses, entity.len())? {
            let given = values.iter().zip(&question.given);
            return Ok(Missing::Here(given.map(|(&value, given)| given.unwrap_or(value)).collect()));
        }
        match self.proves {
            true => Ok(Missing::Nowhere(Some(self.proof(&clauses)?))),
            false => Err(self.needs_network(&inputs)),
        }
    }

    /// Evidence for the verdict on an input that was said to be nearest.
    pub(super) fn input_verdict(&self, claim: &InputVerdictClaim) -> Result<Evidence, QueryError> {
        let (checker, mut evidence) = (&self.checker, Evidence::default());
        let journey = checker.journey(claim.into())?;
        let input = checker.bits(&claim.input)?;
        if !checker.is_wished(&journey, &input) {
            return Ok(evidence);
        }
        let changed = checker.difference(&journey.entity, &input);
        match self.nearer(&journey, Some(journey.cost(&changed)))? {
            Missing::Here(input) => evidence.inputs.push(text_of(&input)),
            Missing::Nowhere(proof) => evidence.proof = proof,
        }
        let inside = checker.some_inside(&journey, &changed);
        match self.missing(inside, &journey.entity, || checker.inside_question(&journey, &changed))? {
            Missing::Here(input) => evidence.inputs.push(text_of(&input)),
            Missing::Nowhere(proof) => evidence.part = proof,
        }
        Ok(evidence)
    }

    /// Evidence for the verdict on a set that was said to be a reason: for the set, and for the set without each
    /// player.
    pub(super) fn set_verdict(&self, claim: &SetVerdictClaim) -> Result<Shown, QueryError> {
        let entity = self.checker.entity(&claim.entity, claim.label)?;
        let set = self.checker.set(&claim.set)?;
        let mut parts = vec![set.clone()];
        if claim.valid {
            parts.extend(set.members().map(|player| {
                let mut rest = set.clone();
                rest.remove(player);
                rest
            }));
        }
        let (mut sufficient, mut inputs) = (Vec::new(), Vec::new());
        for part in parts {
            let kept = if claim.contrastive { self.complement(&part) } else { part };
            match self.other(&entity, claim.label, &kept)? {
                Some(input) => inputs.push(text_of(&input)),
                None => sufficient.push(self.sufficient(&entity, claim.label, &kept)?),
            }
        }
        Ok((sufficient, inputs))
    }

    /// Evidence that another network makes the same decision on all inputs, if that is claimed.
    pub(super) fn difference(&self, claim: &DifferenceClaim) -> Result<Vec<PairEvidence>, QueryError> {
        if claim.differ {
            return Ok(Vec::new());
        }
        let other = self.checker.other_network(claim)?;
        let other = self.checker.decider_of(&other);
        match self.checker.some_difference(&other) {
            Ok((_, None)) => Ok(vec![PairEvidence::All]),
            Ok((_, Some(input))) => Err(untrue(format!("{} is decided differently", text_of(&input)))),
            Err(QueryError::Untried { .. }) if self.proves => {
                let question = DifferQuestion { subject: self.checker.subject, other: &other };
                Ok(vec![PairEvidence::Proof(self.proof(&question.clauses(&self.checker.watch)?)?)])
            }
            Err(QueryError::Untried { inputs }) => Err(self.needs_network(&inputs)),
            Err(error) => Err(error),
        }
    }
}
