//! The part of the checker for claims about external material: a set of players said to be a reason, and another
//! network.

use super::certificate::PairEvidence;
use super::certificate_check::{Checker, refuse, text_of};
use super::certificate_clauses::{Decider, DifferQuestion, NetworkDecider};
use super::certificate_recount::counted;
use super::certificate_sets::PlayerSet;
use super::claims::{DifferenceClaim, SetVerdictClaim};
use super::{QueryError, check_lrat};
use crate::model::Model;
use std::collections::HashSet;

impl Checker<'_> {
    /// Checks the verdict on a set that was said to be a reason, and which of its players can be left out.
    pub(super) fn set_verdict(&self, claim: &SetVerdictClaim) -> Result<(), QueryError> {
        let entity = self.entity(&claim.entity, claim.label)?;
        let [sufficient, changes] = self.shown(&entity, claim.label)?;
        let (makes, meets) = if claim.contrastive { (changes, sufficient) } else { (sufficient, changes) };
        let said = claim.set.join(", ");
        // A set is of its kind if it contains a set that is; it is not if it misses a set that all sets of the kind
        // meet.
        let shows = |set: &PlayerSet, is: bool| match is {
            true if makes.iter().any(|one| one.within(set)) => Ok(()),
            false if meets.iter().any(|one| !one.meets(set)) => Ok(()),
            _ => refuse(format!("nothing shows what is said of {{{said}}} or a part of it")),
        };
        let (set, superfluous) = (self.set(&claim.set)?, self.set(&claim.superfluous)?);
        shows(&set, claim.valid)?;
        if !claim.valid {
            return if claim.superfluous.is_empty() { Ok(()) } else { refuse("a set that is not valid has no parts") };
        }
        if !superfluous.within(&set) {
            return refuse(format!("a player is superfluous that is not in {{{said}}}"));
        }
        for player in set.members() {
            let mut rest = set.clone();
            rest.remove(player);
            shows(&rest, superfluous.has(player))?;
        }
        Ok(())
    }

    /// The other network of a claim: it must have the same features and decisions.
    pub(super) fn other_network(&self, claim: &DifferenceClaim) -> Result<Model, QueryError> {
        let problem = |problem| QueryError::Certificate { problem: format!("the other network: {problem}") };
        let other = Model::from_json(&claim.other.to_string()).map_err(problem)?;
        let same = |(place, name): (usize, &String)| self.features.get(name.as_str()) == Some(&place);
        if other.features.len() != self.subject.inputs() || !other.features.iter().enumerate().all(same) {
            return refuse("the other network has other features");
        }
        let decider = self.decider_of(&other);
        let has_class = self.certificate.class.is_none_or(|class| class < other.network.classes());
        match has_class && decider.labels() == self.subject.decider.labels() {
            true => Ok(other),
            false => refuse("the other network has other classes"),
        }
    }

    /// The other network as a decision function, with the certificate's kind of decision.
    pub(super) fn decider_of<'m>(&self, other: &'m Model) -> NetworkDecider<'m> {
        NetworkDecider { network: &other.network, class: self.certificate.class }
    }

    /// Checks on which inputs another network decides differently.
    pub(super) fn network_difference(&self, claim: &DifferenceClaim) -> Result<(), QueryError> {
        let other = self.other_network(claim)?;
        let other = self.decider_of(&other);
        for text in &claim.examples {
            let input = self.input(text)?;
            if self.subject.decide(&input) == other.decide(&input) {
                return refuse(format!("both decide {text} alike"));
            }
        }
        if claim.examples.iter().collect::<HashSet<_>>().len() < claim.examples.len() {
            return refuse("an example is listed twice");
        }
        if claim.differ == claim.examples.is_empty() {
            return refuse("it says that the networks differ without an example, or has one though they do not");
        }
        match (claim.differ, &self.certificate.evidence.pairs[..]) {
            (true, []) => {}
            (false, [PairEvidence::Proof(proof)]) => {
                let question = DifferQuestion { subject: self.subject, other: &other };
                check_lrat(&question.clauses(&self.watch)?, proof.as_bytes(), &self.watch)?;
            }
            (false, [PairEvidence::All]) => {
                if let Some(input) = self.some_difference(&other)?.1 {
                    return refuse(format!("{} is decided differently", text_of(&input)));
                }
            }
            _ => return refuse("its evidence is not that of its claim"),
        }
        match &claim.inputs {
            Some(inputs) => counted("inputs on which they differ", self.some_difference(&other)?.0, inputs),
            None => Ok(()),
        }
    }

    /// The number of valid inputs on which another network decides differently, and one of them, found by trying all.
    pub(super) fn some_difference(&self, other: &dyn Decider) -> Result<(u64, Option<Vec<bool>>), QueryError> {
        let (mut count, mut first) = (0, None);
        self.try_all(&vec![None; self.subject.inputs()], |input| {
            if self.subject.decide(input) != other.decide(input) {
                count += 1;
                first.get_or_insert_with(|| input.to_vec());
            }
            Ok(())
        })?;
        Ok((count, first))
    }
}
