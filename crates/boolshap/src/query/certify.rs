//! The evidence of a certificate: given a claim, finds the inputs and proofs that show it.
//!
//! The checker trusts nothing from here, and nothing comes from the search for the answer: this module searches the
//! decider itself for inputs, by trying all where few features are free and otherwise by SAT. One input (or one
//! sufficient set) per player shows that a set is minimal. A loop shows that no set is missing: each set of players
//! that the evidence so far does not exclude leads to a new input or a new sufficient set, made as small as possible,
//! which excludes it and many others (implicit hitting sets: Ignatiev, Narodytska and Marques-Silva, "Abduction-Based
//! Explanations for Machine Learning Models", AAAI 2019; Liffiton et al., "Fast, flexible MUS enumeration", 2016). The
//! loop also detects a false claim.

use super::QueryError;
use super::certificate::{Certificate, Evidence, PairEvidence, Sufficient};
use super::certificate_check::{Checker, text_of};
use super::certificate_clauses::{Apart, Decider, NetworkDecider, PairQuestion, Question};
use super::certificate_sets::{PlayerSet, SetSearch};
use super::claims::{Claim, Extent, SetsClaim};
#[cfg(feature = "sat")]
use super::refute::{Found, solve};
use crate::circuit::Circuit;
use crate::lit::Watch;
use crate::model::Model;
use std::sync::Arc;

/// With at most this many free features, both certifier and checker try all inputs.
const TRY_FREE: usize = 14;
/// The solver's conflict limit for one piece of evidence.
#[cfg(feature = "sat")]
const MOST_CONFLICTS: u64 = 2_000_000;

/// The source of evidence.
pub enum Witness<'a> {
    /// The network itself: proofs are possible.
    Model(&'a Model),
    /// A circuit claimed to equal the network, or one for each class, with the names of its features. Without the
    /// network no proofs are possible, so the reader has to try all inputs.
    Circuits(&'a [Arc<Circuit>], &'a [String]),
}

/// Adds the evidence for the claim, and the exact shares to a claim of probable sets. Removes counts that a reader
/// cannot repeat from the claim, and returns a note on each.
pub fn certify(
    certificate: &mut Certificate,
    witness: &Witness<'_>,
    watch: &Watch<'_>,
) -> Result<Vec<String>, QueryError> {
    match witness {
        Witness::Model(model) => {
            let decider = NetworkDecider { network: &model.network, class: certificate.class };
            fill(certificate, &decider, &model.features, Some(TRY_FREE), watch)
        }
        Witness::Circuits(circuits, features) => fill(certificate, &CircuitDecider(circuits), features, None, watch),
    }
}

/// One circuit whose value is the decision, or a circuit for each decision.
struct CircuitDecider<'a>(&'a [Arc<Circuit>]);

impl Decider for CircuitDecider<'_> {
    fn inputs(&self) -> usize {
        self.0[0].variables()
    }

    fn labels(&self) -> usize {
        self.0.len().max(2)
    }

    fn decide(&self, input: &[bool]) -> usize {
        let holds = |circuit: &Arc<Circuit>| circuit.evaluate(input).unwrap_or(false);
        match self.0 {
            [only] => usize::from(holds(only)),
            several => several.iter().position(holds).unwrap_or(several.len()),
        }
    }

    fn literals(
        &self,
        clauses: &mut super::clauses::Clauses<'_>,
        features: &[i32],
        labels: &[usize],
    ) -> Result<Vec<i32>, QueryError> {
        let mut literal = |label: usize| match self.0 {
            [only] => Ok(clauses.root(only, features)? * if label == 0 { -1 } else { 1 }),
            several => clauses.root(&several[label], features),
        };
        labels.iter().map(|&label| literal(label)).collect()
    }
}

/// Fills in the evidence: with at most `prove_beyond` free features it tries all inputs, beyond that it makes a proof;
/// without a limit it makes no proofs.
fn fill(
    certificate: &mut Certificate,
    decider: &dyn Decider,
    features: &[String],
    prove_beyond: Option<usize>,
    watch: &Watch<'_>,
) -> Result<Vec<String>, QueryError> {
    let notes = drop_counts(certificate, decider, features, watch)?;
    if let Claim::Probable(claim) = &certificate.claim {
        let shares = Checker::new(certificate, decider, features, watch)?.exact_shares(claim)?;
        let Claim::Probable(claim) = &mut certificate.claim else { return Ok(notes) };
        claim.shares = shares;
    }
    certificate.evidence = Evidence::default();
    let draft = certificate.clone();
    let mut checker = Checker::new(&draft, decider, features, watch)?;
    checker.most_free = prove_beyond.unwrap_or(checker.most_free);
    certificate.evidence = Prover { checker, proves: prove_beyond.is_some() }.evidence(&draft.claim)?;
    // Every certificate passes the checker before it is returned; this also rejects a false claim.
    let checker = Checker::new(certificate, decider, features, watch)?;
    checker.check_claim()?;
    Ok(notes)
}

pub(super) fn untrue(problem: impl Into<String>) -> QueryError {
    QueryError::Certificate { problem: problem.into() }
}

/// Removes counts that no reader could repeat from a claim.
fn drop_counts(
    certificate: &mut Certificate,
    decider: &dyn Decider,
    features: &[String],
    watch: &Watch<'_>,
) -> Result<Vec<String>, QueryError> {
    let mut notes = Vec::new();
    let draft = certificate.clone();
    let checker = Checker::new(&draft, decider, features, watch)?;
    let large = !checker.can_try(&vec![None; decider.inputs()]);
    match &mut certificate.claim {
        Claim::Nearest(claim) => {
            let mut keep = |distance: Option<String>| match &distance {
                Some(distance) => match checker.can_count(claim, distance) {
                    Err(QueryError::Untried { inputs }) => {
                        notes.push(format!("a count is not certified: {inputs} are more than can be tried"));
                        Ok(false)
                    }
                    other => other.map(|()| true),
                },
                None => Ok(true),
            };
            let count = claim.count.is_none() || keep(claim.distance.clone())?;
            let within = keep(claim.within.as_ref().map(|within| within.distance.clone()))?;
            claim.count = claim.count.take().filter(|_| count);
            claim.within = claim.within.take().filter(|_| within);
        }
        Claim::Letter(letter) => {
            let claimed = letter.reasons.clone();
            if let Some(Err(QueryError::Untried { inputs })) =
                claimed.map(|reasons| checker.letter_scores(letter, &reasons))
            {
                letter.reasons = None;
                notes.push(format!("scores are not certified: {inputs} are more than can be tried"));
            }
        }
        Claim::Difference(claim) if large && claim.inputs.is_some() => {
            claim.inputs = None;
            notes.push("on how many inputs they differ is not certified: there are too many to be tried".into());
        }
        Claim::ClassifierBias(claim) if large && claim.inputs.is_some() => {
            claim.inputs = None;
            notes.push("how many inputs are biased is not certified: there are too many to be tried".into());
        }
        Claim::Properties(claim) if large => {
            claim.players.iter_mut().for_each(|player| (player.influence, player.mandatory) = (None, None));
            let all = "influences and mandatory values are not certified";
            notes.push(format!("{all}: there are too many inputs to be tried"));
        }
        _ => {}
    }
    Ok(notes)
}

/// Finds evidence, and proofs where that is possible.
pub(super) struct Prover<'a> {
    pub(super) checker: Checker<'a>,
    pub(super) proves: bool,
}

/// Sets that suffice, and inputs with another decision.
pub(super) type Shown = (Vec<Sufficient>, Vec<String>);

impl Prover<'_> {
    /// Finds the evidence for a claim.
    fn evidence(&self, claim: &Claim) -> Result<Evidence, QueryError> {
        let shown = |(sufficient, inputs): Shown| Evidence { sufficient, inputs, ..Evidence::default() };
        let pairs = |pairs: Vec<PairEvidence>| Evidence { pairs, ..Evidence::default() };
        let proof = |proof: Option<String>| Evidence { proof, ..Evidence::default() };
        match claim {
            Claim::Reasons(claim) => self.reasons(claim).map(shown),
            Claim::Contrasts(claim) => self.contrasts(claim).map(shown),
            Claim::Attribution(claim) => self.reasons(&claim.reasons).map(shown),
            Claim::SetVerdict(claim) => self.set_verdict(claim).map(shown),
            Claim::InputVerdict(claim) => self.input_verdict(claim),
            Claim::Nearest(claim) => self.nearest(claim).map(proof),
            Claim::Letter(claim) => self.nearest(&claim.change).map(proof),
            Claim::Difference(claim) => self.difference(claim).map(pairs),
            Claim::DecisionBias(claim) => {
                let entity = self.checker.entity(&claim.entity, claim.label)?;
                let others = self.complement(&self.checker.set(&claim.protected)?);
                match self.other(&entity, claim.label, &others)? {
                    Some(input) => Ok(shown((Vec::new(), vec![text_of(&input)]))),
                    None => self.sufficient(&entity, claim.label, &others).map(|found| proof(found.proof)),
                }
            }
            Claim::ClassifierBias(claim) => {
                let mut differ = vec![false; self.checker.subject.inputs()];
                for player in self.checker.set(&claim.protected)?.members() {
                    self.checker.members[player].iter().for_each(|&feature| differ[feature] = true);
                }
                let (subject, given) = (self.checker.subject, vec![None; differ.len()]);
                Ok(pairs(vec![self.pair(&PairQuestion { subject, given, differ, apart: Apart::Somehow })?]))
            }
            Claim::Properties(claim) => {
                let mut found = Vec::new();
                for one in &claim.players {
                    for (question, _) in self.checker.player_questions(one)? {
                        found.push(self.pair(&question)?);
                    }
                }
                Ok(pairs(found))
            }
            // The reader counts again, so no evidence is needed.
            Claim::Probable(_) | Claim::MeanRadius(_) => Ok(Evidence::default()),
        }
    }

    pub(super) fn complement(&self, set: &PlayerSet) -> PlayerSet {
        let players = self.checker.members.len();
        PlayerSet::new(players, (0..players).filter(|&player| !set.has(player)))
    }

    fn names(&self, set: &PlayerSet) -> Vec<String> {
        set.members().map(|player| self.checker.name(player).to_string()).collect()
    }

    /// An input with another decision that agrees with the entity on these players.
    pub(super) fn other(
        &self,
        entity: &[bool],
        label: usize,
        players: &PlayerSet,
    ) -> Result<Option<Vec<bool>>, QueryError> {
        let given = self.checker.given(entity, players);
        if self.checker.can_try(&given) {
            let mut found = None;
            self.checker.try_all(&given, |input| {
                if found.is_none() && self.checker.subject.decide(input) != label {
                    found = Some(input.to_vec());
                }
                Ok(())
            })?;
            return Ok(found);
        }
        let question = Question { subject: self.checker.subject, given: given.clone(), label, is: false, budget: None };
        let values = self.model(&question.clauses(&self.checker.watch)?, entity.len())?;
        let input =
            |values: Vec<bool>| values.iter().zip(given).map(|(&value, given)| given.unwrap_or(value)).collect();
        Ok(values.map(input))
    }

    /// The values of the first variables in a model of these clauses.
    #[cfg(feature = "sat")]
    pub(super) fn model(&self, clauses: &[Vec<i32>], variables: usize) -> Result<Option<Vec<bool>>, QueryError> {
        match solve(clauses, variables, false, MOST_CONFLICTS, &self.checker.watch)? {
            Found::Values(values) => Ok(Some(values)),
            Found::Contradiction(_) => Ok(None),
        }
    }

    #[cfg(not(feature = "sat"))]
    pub(super) fn model(&self, _: &[Vec<i32>], _: usize) -> Result<Option<Vec<bool>>, QueryError> {
        Err(QueryError::NoSolver)
    }

    /// A proof that these clauses have no model.
    #[cfg(feature = "sat")]
    pub(super) fn proof(&self, clauses: &[Vec<i32>]) -> Result<String, QueryError> {
        match solve(clauses, 0, true, MOST_CONFLICTS, &self.checker.watch)? {
            Found::Contradiction(Some(proof)) => Ok(proof),
            _ => Err(untrue("the claim is not true")),
        }
    }

    #[cfg(not(feature = "sat"))]
    pub(super) fn proof(&self, _: &[Vec<i32>]) -> Result<String, QueryError> {
        Err(QueryError::NoSolver)
    }

    /// The evidence that a set suffices, with a proof where there are too many inputs to try.
    pub(super) fn sufficient(
        &self,
        entity: &[bool],
        label: usize,
        players: &PlayerSet,
    ) -> Result<Sufficient, QueryError> {
        let given = self.checker.given(entity, players);
        let proof = match (self.checker.can_try(&given), self.proves) {
            (true, _) => None,
            (false, true) => {
                let question = Question { subject: self.checker.subject, given, label, is: false, budget: None };
                Some(self.proof(&question.clauses(&self.checker.watch)?)?)
            }
            (false, false) => return Err(self.needs_network("all values of the other players")),
        };
        Ok(Sufficient { players: self.names(players), proof })
    }

    pub(super) fn needs_network(&self, inputs: &str) -> QueryError {
        let reason = format!(
            "{inputs} are more than can be tried, and a proof can be made of the network only, not of a circuit"
        );
        QueryError::NoCertificate { reason }
    }

    /// Evidence for minimal sufficient sets.
    fn reasons(&self, claim: &SetsClaim) -> Result<Shown, QueryError> {
        let (checker, label) = (&self.checker, claim.label);
        let entity = checker.entity(&claim.entity, label)?;
        let sets = claim.sets.iter().map(|names| checker.set(names)).collect::<Result<Vec<_>, _>>()?;
        let sufficient = sets.iter().map(|set| self.sufficient(&entity, label, set)).collect::<Result<Vec<_>, _>>()?;
        let (mut inputs, mut known) = (Vec::new(), Vec::<PlayerSet>::new());
        let mut add = |input: Vec<bool>, known: &mut Vec<PlayerSet>| {
            known.push(checker.difference(&entity, &input));
            inputs.push(text_of(&input));
        };
        for set in &sets {
            for player in set.members() {
                let mut rest = set.clone();
                rest.remove(player);
                if known.iter().all(|change| change.meets(&rest)) {
                    let not_minimal = || untrue(format!("it is not minimal: '{}' is not needed", checker.name(player)));
                    add(self.far_other(&entity, label, rest)?.ok_or_else(not_minimal)?, &mut known);
                }
            }
        }
        while let Some(found) = self.left_out(claim, &sets, &known)? {
            let suffices = || untrue(format!("{{{}}} suffices as well", self.names(&found).join(", ")));
            add(self.far_other(&entity, label, found.clone())?.ok_or_else(suffices)?, &mut known);
        }
        Ok((sufficient, inputs))
    }

    /// An input with another decision that agrees on these players and on a maximal set of others.
    fn far_other(&self, entity: &[bool], label: usize, mut agree: PlayerSet) -> Result<Option<Vec<bool>>, QueryError> {
        let Some(mut found) = self.other(entity, label, &agree)? else { return Ok(None) };
        for player in 0..self.checker.members.len() {
            let change = self.checker.difference(entity, &found);
            if !change.has(player) {
                agree.insert(player);
            }
        }
        for player in self.complement(&agree).members().collect::<Vec<_>>() {
            if agree.has(player) {
                continue;
            }
            agree.insert(player);
            match self.other(entity, label, &agree)? {
                Some(input) => {
                    found = input;
                    let change = self.checker.difference(entity, &found);
                    self.complement(&change).members().for_each(|same| agree.insert(same));
                }
                None => agree.remove(player),
            }
        }
        Ok(Some(found))
    }

    /// A set of players that the evidence so far does not exclude.
    fn left_out(
        &self,
        claim: &SetsClaim,
        sets: &[PlayerSet],
        meet: &[PlayerSet],
    ) -> Result<Option<PlayerSet>, QueryError> {
        let among = self.checker.among(&claim.among)?;
        let longest = sets.iter().map(PlayerSet::len).max().unwrap_or(0);
        let most = match claim.extent {
            Extent::Some => return Ok(None),
            Extent::Smallest if longest == 0 => return Ok(None),
            Extent::Smallest => longest - 1,
            Extent::All => self.checker.members.len(),
        };
        SetSearch { among, meet, avoid: sets, most }.find(&self.checker.watch)
    }

    /// Evidence for minimal contrastive sets.
    fn contrasts(&self, claim: &SetsClaim) -> Result<Shown, QueryError> {
        let (checker, label) = (&self.checker, claim.label);
        let entity = checker.entity(&claim.entity, label)?;
        let sets = claim.sets.iter().map(|names| checker.set(names)).collect::<Result<Vec<_>, _>>()?;
        let (mut sufficient, mut known) = (Vec::new(), Vec::<PlayerSet>::new());
        let mut inputs = Vec::new();
        for set in &sets {
            let none = || untrue(format!("no change of {{{}}} changes the decision", self.names(set).join(", ")));
            inputs.push(text_of(&self.other(&entity, label, &self.complement(set))?.ok_or_else(none)?));
            for player in set.members() {
                let mut rest = set.clone();
                rest.remove(player);
                if known.iter().all(|one| one.meets(&rest)) {
                    let keep = self.complement(&rest);
                    sufficient.push(self.sufficient(&entity, label, &keep)?);
                    known.push(keep);
                }
            }
        }
        while let Some(found) = self.left_out(claim, &sets, &known)? {
            let keep = self.complement(&found);
            if self.other(&entity, label, &keep)?.is_some() {
                return Err(untrue(format!("{{{}}} can change the decision as well", self.names(&found).join(", "))));
            }
            let keep = self.smaller(&entity, label, keep)?;
            sufficient.push(self.sufficient(&entity, label, &keep)?);
            known.push(keep);
        }
        Ok((sufficient, inputs))
    }

    /// A minimal subset of this sufficient set that still suffices.
    fn smaller(&self, entity: &[bool], label: usize, mut set: PlayerSet) -> Result<PlayerSet, QueryError> {
        for player in set.members().collect::<Vec<_>>() {
            set.remove(player);
            if self.other(entity, label, &set)?.is_some() {
                set.insert(player);
            }
        }
        Ok(set)
    }

    /// A pair of inputs that answers the question, or evidence that none exists.
    fn pair(&self, question: &PairQuestion<'_>) -> Result<PairEvidence, QueryError> {
        let inputs = question.differ.len();
        match self.checker.some_pair(question) {
            Ok(Some((one, other))) => return Ok(PairEvidence::Pair(text_of(&one), text_of(&other))),
            Ok(None) => return Ok(PairEvidence::All),
            Err(QueryError::Untried { .. }) => {}
            Err(other) => return Err(other),
        }
        let clauses = question.clauses(&self.checker.watch)?;
        match self.model(&clauses, 2 * inputs)? {
            Some(values) => {
                let (mut first, mut second) = (values[..inputs].to_vec(), values[inputs..].to_vec());
                for feature in 0..inputs {
                    if let Some(given) = question.given[feature] {
                        (first[feature], second[feature]) = given;
                    } else if !question.differ[feature] {
                        second[feature] = first[feature];
                    }
                }
                Ok(PairEvidence::Pair(text_of(&first), text_of(&second)))
            }
            None if self.proves => Ok(PairEvidence::Proof(self.proof(&clauses)?)),
            None => Err(self.needs_network(&format!("all values of {inputs} features"))),
        }
    }
}

/// Like `certify`, with proofs for everything.
#[cfg(all(test, feature = "sat"))]
pub(super) fn certify_by_proofs(certificate: &mut Certificate, model: &Model) -> Result<Vec<String>, QueryError> {
    let decider = NetworkDecider { network: &model.network, class: certificate.class };
    fill(certificate, &decider, &model.features, Some(0), &Watch::unlimited())
}
