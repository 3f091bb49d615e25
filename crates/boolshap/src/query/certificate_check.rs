//! The checker of certificates: evaluates the network by its definition, tries all inputs where few features are free,
//! and checks proofs against clauses that it generates itself. It shares no code with the search for answers and uses
//! no circuit.
//!
//! It trusts nothing in a certificate: the network is identified by its digest, the players must partition its
//! features, each input must be valid, and each claim must follow from evidence that has been checked.

use super::certificate::{Certificate, PairEvidence};
use super::certificate_clauses::{Decider, NetworkDecider, PairQuestion, Question, Subject};
use super::certificate_sets::{PlayerSet, SetSearch};
use super::claims::{BiasClaim, Claim, Extent, SetsClaim};
use super::{QueryError, check_lrat};
use crate::lit::{Digest, Watch};
use crate::model::Model;
use std::collections::{HashMap, HashSet};

/// The limit on inputs tried for one claim: all values of this many features.
const MOST_FREE: usize = 20;

/// A certificate that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the certificate proves, in words.
    pub claim: String,
}

/// Checks a certificate, given as its file content, against a model. The error gives the reason for a refusal.
pub fn check_certificate(content: &str, model: &Model, watch: &Watch<'_>) -> Result<Checked, QueryError> {
    let certificate = Certificate::from_json(content)?;
    let network: Digest = certificate.network.parse().map_err(|problem| QueryError::Certificate { problem })?;
    if network != model.digest() {
        let (its, own) = (network.short(), model.digest().short());
        return refuse(format!("it is about another network, {its}, and this one is {own}"));
    }
    if let Some(class) = certificate.class.filter(|&class| class >= model.network.classes()) {
        return refuse(format!("the network has no class {class}"));
    }
    let decider = NetworkDecider { network: &model.network, class: certificate.class };
    Checker::new(&certificate, &decider, &model.features, watch)?.check_claim()?;
    Ok(Checked { claim: super::certificate_words::claim_in_words(&certificate, model) })
}

/// A certificate with its names resolved.
pub(super) struct Checker<'a> {
    pub(super) certificate: &'a Certificate,
    pub(super) subject: Subject<'a>,
    /// The features of each player.
    pub(super) members: Vec<Vec<usize>>,
    names: HashMap<&'a str, usize>,
    pub(super) features: HashMap<&'a str, usize>,
    /// The checker tries at most 2 to the power of this many inputs.
    pub(super) most_free: usize,
    pub(super) watch: Watch<'a>,
}

/// Refuses the certificate, with the reason.
pub(super) fn refuse<T>(problem: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Certificate { problem: problem.into() })
}

/// Bits as a string of 0 and 1.
pub(super) fn text_of(input: &[bool]) -> String {
    input.iter().map(|&bit| if bit { '1' } else { '0' }).collect()
}

impl<'a> Checker<'a> {
    /// Fails if the parts of the certificate do not fit the network.
    pub(super) fn new(
        certificate: &'a Certificate,
        decider: &'a dyn Decider,
        features: &'a [String],
        watch: &Watch<'a>,
    ) -> Result<Self, QueryError> {
        let inputs = decider.inputs();
        let literal = |&number: &i32| number != 0 && number.unsigned_abs() as usize <= inputs;
        if !certificate.constraint.iter().all(|clause| !clause.is_empty() && clause.iter().all(literal)) {
            return refuse("its constraint is not made of clauses over the features");
        }
        let group = |group: &Vec<usize>| {
            group.iter().all(|&f| f < inputs) && group.iter().collect::<HashSet<_>>().len() == group.len()
        };
        if !certificate.one_hot.iter().all(|one| !one.is_empty() && group(one)) {
            return refuse("its one-hot columns are not made of features");
        }
        let (members, names) = players(certificate, features)?;
        let subject = Subject { decider, one_hot: &certificate.one_hot, constraint: &certificate.constraint };
        let features = features.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let (most_free, watch) = (MOST_FREE, watch.silent());
        Ok(Checker { certificate, subject, members, names, features, most_free, watch })
    }

    pub(super) fn check_claim(&self) -> Result<(), QueryError> {
        match &self.certificate.claim {
            Claim::Reasons(claim) => self.sets(claim, true),
            Claim::Contrasts(claim) => self.sets(claim, false),
            Claim::Probable(claim) => self.probable(claim),
            Claim::Nearest(claim) => self.nearest(claim),
            Claim::DecisionBias(claim) => self.decision_bias(claim),
            Claim::ClassifierBias(claim) => self.classifier_bias(claim),
            Claim::Properties(claim) => self.properties(claim),
            Claim::Attribution(claim) => self.attribution(claim),
            Claim::MeanRadius(claim) => self.mean_radius(claim),
            Claim::Difference(claim) => self.network_difference(claim),
            Claim::SetVerdict(claim) => self.set_verdict(claim),
            Claim::InputVerdict(claim) => self.input_verdict(claim),
            Claim::Letter(claim) => self.letter(claim),
        }
    }

    /// The set of players with these names; fails if a name is unknown or repeated.
    pub(super) fn set(&self, names: &[String]) -> Result<PlayerSet, QueryError> {
        let mut set = PlayerSet::new(self.members.len(), []);
        for name in names {
            let Some(&player) = self.names.get(name.as_str()) else {
                return refuse(format!("there is no player '{name}'"));
            };
            if set.has(player) {
                return refuse(format!("the player '{name}' is named twice"));
            }
            set.insert(player);
        }
        Ok(set)
    }

    /// The players that a claim's sets may contain: these, or all.
    pub(super) fn among(&self, names: &Option<Vec<String>>) -> Result<PlayerSet, QueryError> {
        match names {
            Some(names) => self.set(names),
            None => Ok(PlayerSet::new(self.members.len(), 0..self.members.len())),
        }
    }

    /// Parses one bit for each feature.
    pub(super) fn bits(&self, text: &str) -> Result<Vec<bool>, QueryError> {
        let inputs = self.subject.inputs();
        if text.len() != inputs || !text.bytes().all(|bit| bit == b'0' || bit == b'1') {
            return refuse(format!("'{text}' is not an input of {inputs} bits"));
        }
        Ok(text.bytes().map(|bit| bit == b'1').collect())
    }

    /// Parses an input; fails if it is not valid.
    pub(super) fn input(&self, text: &str) -> Result<Vec<bool>, QueryError> {
        let input = self.bits(text)?;
        match self.subject.is_valid(&input) {
            true => Ok(input),
            false => {
                refuse(format!("the input {text} does not satisfy the constraint or has a column of several values"))
            }
        }
    }

    /// Parses the entity of a claim; fails if its decision is not the claimed one.
    pub(super) fn entity(&self, text: &str, label: usize) -> Result<Vec<bool>, QueryError> {
        let entity = self.input(text)?;
        match self.subject.decide(&entity) {
            found if found == label => Ok(entity),
            found => refuse(format!("{text} is decided {found}, not {label}")),
        }
    }

    /// The players in which two inputs differ.
    pub(super) fn difference(&self, one: &[bool], other: &[bool]) -> PlayerSet {
        let differ = |player: &usize| self.members[*player].iter().any(|&feature| one[feature] != other[feature]);
        PlayerSet::new(self.members.len(), (0..self.members.len()).filter(differ))
    }

    /// The features' values in an input for these players, and `None` for all others.
    pub(super) fn given(&self, input: &[bool], players: &PlayerSet) -> Vec<Option<bool>> {
        let mut given = vec![None; input.len()];
        for player in players.members() {
            self.members[player].iter().for_each(|&feature| given[feature] = Some(input[feature]));
        }
        given
    }

    /// Whether all valid inputs with these values are few enough to be tried.
    pub(super) fn can_try(&self, given: &[Option<bool>]) -> bool {
        self.choices(given).iter().map(Choice::ways).fold(1u64, u64::saturating_mul) <= 1 << self.most_free
    }

    /// The open choices where these values are given: whole one-hot columns, and single features.
    fn choices(&self, given: &[Option<bool>]) -> Vec<Choice<'a>> {
        let mut open: Vec<bool> = given.iter().map(Option::is_none).collect();
        let mut choices = Vec::new();
        for group in self.subject.one_hot {
            if group.iter().all(|&feature| open[feature]) {
                group.iter().for_each(|&feature| open[feature] = false);
                choices.push(Choice::OneOf(group));
            }
        }
        choices.extend((0..open.len()).filter(|&feature| open[feature]).map(Choice::Bit));
        choices
    }

    /// Visits all valid inputs with these values; fails if there are too many or the visitor fails.
    pub(super) fn try_all(
        &self,
        given: &[Option<bool>],
        mut visit: impl FnMut(&[bool]) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let choices = self.choices(given);
        if !self.can_try(given) {
            return Err(QueryError::Untried { inputs: format!("all choices of {} values", choices.len()) });
        }
        let mut input: Vec<bool> = given.iter().map(|value| value.unwrap_or(false)).collect();
        for number in 0..choices.iter().map(Choice::ways).product::<u64>() {
            if number % 1024 == 0 {
                self.watch.check()?;
            }
            let mut left = number;
            for choice in &choices {
                choice.take(left % choice.ways(), &mut input);
                left /= choice.ways();
            }
            if self.subject.is_valid(&input) {
                visit(&input)?;
            }
        }
        Ok(())
    }

    /// Checks that all valid inputs that agree with the entity on these players have its decision.
    pub(super) fn suffices(
        &self,
        entity: &[bool],
        label: usize,
        players: &PlayerSet,
        proof: Option<&str>,
    ) -> Result<(), QueryError> {
        let given = self.given(entity, players);
        match proof {
            Some(proof) => {
                let question = Question { subject: self.subject, given, label, is: false, budget: None };
                check_lrat(&question.clauses(&self.watch)?, proof.as_bytes(), &self.watch)
            }
            None => self.try_all(&given, |input| match self.subject.decide(input) {
                found if found == label => Ok(()),
                found => refuse(format!(
                    "a set of players does not suffice: {} agrees with the entity on it and is decided {found}",
                    text_of(input)
                )),
            }),
        }
    }

    /// The checked evidence about sets: sets that suffice, and the sets of players changed by inputs with another
    /// decision.
    pub(super) fn shown(&self, entity: &[bool], label: usize) -> Result<[Vec<PlayerSet>; 2], QueryError> {
        let mut sufficient = Vec::new();
        for one in &self.certificate.evidence.sufficient {
            let players = self.set(&one.players)?;
            self.suffices(entity, label, &players, one.proof.as_deref())?;
            sufficient.push(players);
        }
        let mut changes = Vec::new();
        for text in &self.certificate.evidence.inputs {
            let input = self.input(text)?;
            if self.subject.decide(&input) == label {
                return refuse(format!("{text} is decided {label} as the entity is"));
            }
            changes.push(self.difference(entity, &input));
        }
        Ok([sufficient, changes])
    }

    /// Checks minimal sets of players that suffice (`reasons`), or that can change the decision.
    pub(super) fn sets(&self, claim: &SetsClaim, reasons: bool) -> Result<(), QueryError> {
        let entity = self.entity(&claim.entity, claim.label)?;
        let [sufficient, changes] = self.shown(&entity, claim.label)?;
        // A set is of its kind if it contains one of `makes`, and every set of its kind meets each of `meets`.
        let (makes, meets) = if reasons { (&sufficient, &changes) } else { (&changes, &sufficient) };
        let among = self.among(&claim.among)?;
        let sets = claim.sets.iter().map(|names| self.set(names)).collect::<Result<Vec<_>, _>>()?;
        for (set, names) in sets.iter().zip(&claim.sets) {
            self.check_set(set, names, &among, makes, meets)?;
        }
        if sets.iter().collect::<HashSet<_>>().len() < sets.len() {
            return refuse("a set is listed twice");
        }
        self.check_extent(claim.extent, among, &sets, meets)
    }

    /// Checks that a set is of its kind and minimal.
    fn check_set(
        &self,
        set: &PlayerSet,
        names: &[String],
        among: &PlayerSet,
        makes: &[PlayerSet],
        meets: &[PlayerSet],
    ) -> Result<(), QueryError> {
        let said = names.join(", ");
        if !set.within(among) {
            return refuse(format!("{{{said}}} has players that it must not have"));
        }
        if !makes.iter().any(|one| one.within(set)) {
            return refuse(format!("nothing shows that {{{said}}} is what it is said to be"));
        }
        for (player, name) in set.members().map(|player| (player, self.name(player))) {
            let mut rest = set.clone();
            rest.remove(player);
            if meets.iter().all(|one| one.meets(&rest)) {
                return refuse(format!("nothing shows that {{{said}}} needs '{name}'"));
            }
        }
        Ok(())
    }

    /// Checks that the list misses no set that it should contain.
    pub(super) fn check_extent(
        &self,
        extent: Extent,
        among: PlayerSet,
        sets: &[PlayerSet],
        meet: &[PlayerSet],
    ) -> Result<(), QueryError> {
        let longest = sets.iter().map(PlayerSet::len).max();
        let most = match (extent, longest) {
            (Extent::Some, _) => return Ok(()),
            (Extent::Smallest, None) => return refuse("no set is the smallest of none"),
            (Extent::Smallest, Some(0)) => return Ok(()),
            (Extent::Smallest, Some(longest)) => longest - 1,
            (Extent::All, _) => self.members.len(),
        };
        let left_out = SetSearch { among, meet, avoid: sets, most }.find(&self.watch)?;
        match left_out {
            None => Ok(()),
            Some(set) => {
                let names: Vec<&str> = set.members().map(|player| self.name(player)).collect();
                refuse(format!("nothing shows that {{{}}} contains none that is left out", names.join(", ")))
            }
        }
    }

    pub(super) fn name(&self, player: usize) -> &'a str {
        self.names.iter().find(|(_, one)| **one == player).map_or("", |(name, _)| name)
    }

    fn decision_bias(&self, claim: &BiasClaim) -> Result<(), QueryError> {
        let entity = self.entity(&claim.entity, claim.label)?;
        let protected = self.set(&claim.protected)?;
        let evidence = &self.certificate.evidence;
        if !claim.biased {
            let others = PlayerSet::new(self.members.len(), (0..self.members.len()).filter(|&one| !protected.has(one)));
            return self.suffices(&entity, claim.label, &others, evidence.proof.as_deref());
        }
        let [text] = &evidence.inputs[..] else { return refuse("it has no input that shows the bias") };
        let input = self.input(text)?;
        if self.subject.decide(&input) == claim.label {
            return refuse(format!("{text} is decided {} as the entity is", claim.label));
        }
        match self.difference(&entity, &input).within(&protected) {
            true => Ok(()),
            false => refuse(format!("{text} differs from the entity in players that are not protected")),
        }
    }

    /// Checks that a pair of valid inputs answers the question (`exists`), or that none does.
    pub(super) fn pair(
        &self,
        question: &PairQuestion<'_>,
        evidence: &PairEvidence,
        exists: bool,
    ) -> Result<(), QueryError> {
        match (evidence, exists) {
            (PairEvidence::Pair(one, other), true) => {
                let (first, second) = (self.input(one)?, self.input(other)?);
                let equal = |feature: usize| first[feature] == second[feature] || question.differ[feature];
                let given = |feature: usize| {
                    question.given[feature].is_none_or(|values| values == (first[feature], second[feature]))
                };
                if !(0..first.len()).all(|feature| equal(feature) && given(feature)) {
                    return refuse(format!("{one} and {other} differ in other features than they may"));
                }
                let found = (self.subject.decide(&first), self.subject.decide(&second));
                match question.apart.holds(found.0, found.1) {
                    true => Ok(()),
                    false => refuse(format!("{one} and {other} are decided {} and {}", found.0, found.1)),
                }
            }
            (PairEvidence::Proof(proof), false) => {
                check_lrat(&question.clauses(&self.watch)?, proof.as_bytes(), &self.watch)
            }
            (PairEvidence::All, false) => match self.some_pair(question)? {
                None => Ok(()),
                Some((one, other)) => refuse(format!("{} and {} show the contrary", text_of(&one), text_of(&other))),
            },
            _ => refuse("its evidence is for the contrary"),
        }
    }
}

/// An open choice in an input.
enum Choice<'a> {
    /// A feature.
    Bit(usize),
    /// Which of these features is 1.
    OneOf(&'a [usize]),
}

impl Choice<'_> {
    fn ways(&self) -> u64 {
        match self {
            Choice::Bit(_) => 2,
            Choice::OneOf(group) => group.len() as u64,
        }
    }

    fn take(&self, way: u64, input: &mut [bool]) {
        match self {
            Choice::Bit(feature) => input[*feature] = way == 1,
            Choice::OneOf(group) => {
                group.iter().enumerate().for_each(|(place, &feature)| input[feature] = place as u64 == way);
            }
        }
    }
}

type Names<'a> = HashMap<&'a str, usize>;

/// The features of each player and the players by name; fails unless the players partition the features.
fn players<'a>(
    certificate: &'a Certificate,
    features: &'a [String],
) -> Result<(Vec<Vec<usize>>, Names<'a>), QueryError> {
    let Some(groups) = &certificate.players else {
        let names = features.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        return Ok(((0..features.len()).map(|feature| vec![feature]).collect(), names));
    };
    let mut owners = vec![0; features.len()];
    for &feature in groups.iter().flat_map(|group| &group.features) {
        match owners.get_mut(feature) {
            Some(owners) => *owners += 1,
            None => return refuse(format!("there is no feature {feature}")),
        }
    }
    if owners.iter().any(|&owners| owners != 1) || groups.iter().any(|group| group.features.is_empty()) {
        return refuse("its players do not share out the features");
    }
    let names: Names<'a> = groups.iter().enumerate().map(|(place, group)| (group.name.as_str(), place)).collect();
    match names.len() == groups.len() {
        true => Ok((groups.iter().map(|group| group.features.clone()).collect(), names)),
        false => refuse("two of its players have the same name"),
    }
}
