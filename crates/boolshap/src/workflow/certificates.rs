//! Certificates of answers: each answer becomes a claim about the network, gets its evidence, and is a file in a folder.
//!
//! The network is the model that was asked or that is given beside a circuit. A circuit alone knows the digest of the model it
//! was compiled from; evidence then has to do without proofs, so that a reader tries all inputs that are left open. What no
//! reader could check has no certificate, and a note says why. An answer that is not true of the network is an error.

use super::ask::labels_of;
use super::ask_answers::bit_text;
use super::ask_claims::Verdict;
use super::{Asker, Error, Found, Letter, Question, RowAnswer};
use crate::circuit::{Circuit, NamedCircuit};
use crate::data::WholeFile;
use crate::lit::{Digest, Watch};
use crate::model::Model;
use crate::query::{self, QueryError, ReasonsWanted, Space, Which, Wish, Witness, certify};
use crate::query::{
    AttributionClaim, BiasClaim, Certificate, Claim, ClassifierBiasClaim, DifferenceClaim, Extent, Group,
    InputVerdictClaim, LetterClaim, MeanRadiusClaim, Moves, NearestClaim, PartClaim, PlayerClaim, ProbableClaim,
    PropertiesClaim, ScoreClaim, ScoresClaim, SetVerdictClaim, SetsClaim, Within,
};
use dashu::rational::RBig;
use std::path::PathBuf;
use std::sync::Arc;

/// The most reasons that the certificate of an attribution lists.
const MOST_REASONS: usize = 10_000;

/// A folder that certificates are written to.
pub struct CertificateFolder {
    folder: PathBuf,
    network: Digest,
    class: Option<usize>,
    features: Vec<String>,
    model: Option<Model>,
    /// The second network of the question `difference`.
    other: Option<Model>,
    circuits: Vec<Arc<Circuit>>,
    space: Space,
    written: u64,
    notes: Vec<String>,
    /// Inputs of rows on which two networks differ.
    differing: Vec<String>,
}

/// A certificate that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFile {
    /// The name of the file in its folder.
    pub name: String,
    /// The digest of its content.
    pub digest: Digest,
}

impl CertificateFolder {
    /// A folder for the answers of an asker, about the model if there is one, else about that of which the circuit says that
    /// it was compiled from.
    pub fn new(folder: PathBuf, asker: &Asker, model: Option<Model>) -> Result<Self, Error> {
        let (circuit, request) = (asker.circuit(), asker.request());
        let network = match &model {
            Some(model) if model.features != circuit.features => {
                return Err(Error::input("the features of the model are not those of the circuit"));
            }
            Some(model) => model.digest(),
            None => circuit.facts.network().ok_or_else(|| {
                Error::input(
                    "the circuit does not say which model it was compiled from, and a certificate is about a model: give it too",
                )
            })?,
        };
        let circuits = labels_of(circuit, request.class.as_ref())?;
        let class = decided_class(circuit, asker)?;
        Self::open(folder, network, class, circuit.features.clone(), model, circuits, asker.space().clone())
    }

    /// A folder for what is said of a model.
    #[cfg(feature = "sat")]
    pub(super) fn of_model(folder: PathBuf, model: Model, class: Option<usize>, space: Space) -> Result<Self, Error> {
        let (network, features) = (model.digest(), model.features.clone());
        Self::open(folder, network, class, features, Some(model), Vec::new(), space)
    }

    fn open(
        folder: PathBuf,
        network: Digest,
        class: Option<usize>,
        features: Vec<String>,
        model: Option<Model>,
        circuits: Vec<Arc<Circuit>>,
        space: Space,
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        Ok(CertificateFolder {
            folder,
            network,
            class,
            features,
            model,
            other: None,
            circuits,
            space,
            written: 0,
            notes: Vec::new(),
            differing: Vec::new(),
        })
    }

    /// The same with the second network of the question `difference`, where it is known.
    pub fn with_other(mut self, other: Option<Model>) -> Self {
        self.other = other;
        self
    }

    /// How many certificates were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What has no certificate, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The certificates of a row's answer.
    pub fn add_row(
        &mut self,
        asker: &Asker,
        answer: &RowAnswer,
        watch: &Watch<'_>,
    ) -> Result<Vec<CertificateFile>, Error> {
        let name = format!("{}-{}", asker.request().question.name(), answer.row);
        let mut files = Vec::new();
        match &answer.found {
            Found::OtherClass(other) if *other != answer.entity.class => {
                self.differing.push(bit_text(&answer.entity.bits));
            }
            Found::Verdicts(verdicts) => {
                for (place, verdict) in verdicts.iter().enumerate() {
                    let name = format!("{name}-{}", place + 1);
                    let (claim, repaired) = verdict_claims(asker, answer, verdict);
                    files.extend(self.add(&name, claim, watch)?);
                    if let Some(repaired) = repaired {
                        files.extend(self.add(&format!("{name}-repaired"), repaired, watch)?);
                    }
                }
            }
            _ => match claim_of_row(asker, answer, watch) {
                Ok(Some(claim)) => files.extend(self.add(&name, claim, watch)?),
                Ok(None) => {}
                Err(Error::Query(error @ QueryError::NoCertificate { .. })) => {
                    self.notes.push(format!("{name}: {error}"))
                }
                Err(error) => return Err(error),
            },
        }
        Ok(files)
    }

    /// The certificate of what is said of the classifier as a whole.
    pub fn add_overall(&mut self, asker: &Asker, watch: &Watch<'_>) -> Result<(), Error> {
        let claim = match asker.request().question {
            Question::Bias => match &asker.parts.bias {
                Some(bias) => {
                    let protected = names_of(&self.space, &asker.parts.protected);
                    let (biased, inputs) =
                        (bias.witness(asker.classifier(), watch)?.is_some(), Some(bias.inputs().to_string()));
                    Claim::ClassifierBias(ClassifierBiasClaim { protected, biased, inputs })
                }
                None => return Ok(()),
            },
            Question::Properties => Claim::Properties(properties_claim(asker, watch)?),
            Question::Robustness => match asker.mean_radius_of_inputs(watch)? {
                Some(mean) => Claim::MeanRadius(MeanRadiusClaim { mean: mean.map(|mean| mean.to_string()) }),
                None => return Ok(()),
            },
            Question::Difference => match self.difference_claim(asker, watch)? {
                Some(claim) => claim,
                None => {
                    self.notes.push("the second network is not known as a model, and a certificate is about it".into());
                    return Ok(());
                }
            },
            _ => return Ok(()),
        };
        self.add(asker.request().question.name(), claim, watch).map(drop)
    }

    fn difference_claim(&mut self, asker: &Asker, watch: &Watch<'_>) -> Result<Option<Claim>, Error> {
        let Some(other) = &self.other else { return Ok(None) };
        let content = serde_json::from_str(&other.to_json()).map_err(Error::input)?;
        let circuits = asker.parts.other.as_deref().unwrap_or_default();
        let found = query::differences(asker.classifier(), circuits, watch)?;
        let mut examples: Vec<String> = found.example.iter().map(|input| bit_text(input)).collect();
        examples.extend(std::mem::take(&mut self.differing));
        examples.sort();
        examples.dedup();
        let (differ, inputs) = (found.example.is_some(), Some(found.inputs.to_string()));
        Ok(Some(Claim::Difference(DifferenceClaim { other: content, differ, inputs, examples })))
    }

    /// Writes the certificate of a claim, if there is one.
    pub(super) fn add(
        &mut self,
        name: &str,
        claim: Claim,
        watch: &Watch<'_>,
    ) -> Result<Option<CertificateFile>, Error> {
        let mut certificate = Certificate::new(self.network, self.class, claim);
        self.describe_space(&mut certificate);
        let witness = match &self.model {
            Some(model) => Witness::Model(model),
            None => Witness::Circuits(&self.circuits, &self.features),
        };
        match certify(&mut certificate, &witness, &watch.silent()) {
            Ok(notes) => self.notes.extend(notes.iter().map(|note| format!("{name}: {note}"))),
            Err(QueryError::Stopped(stopped)) => return Err(stopped.into()),
            Err(QueryError::Certificate { problem }) => {
                return Err(Error::input(format!("{name}: the answer is not what the network does: {problem}")));
            }
            Err(error) => {
                self.notes.push(format!("{name}: {error}"));
                return Ok(None);
            }
        }
        let name = format!("{name}.json");
        let (path, content) = (self.folder.join(&name), certificate.to_json());
        WholeFile::write(&path, content.as_bytes()).map_err(Error::file(&path))?;
        self.written += 1;
        Ok(Some(CertificateFile { name, digest: Digest::of(content.as_bytes()) }))
    }

    fn describe_space(&self, certificate: &mut Certificate) {
        let players = self.space.players();
        let group = |player: usize| Group {
            name: players.names()[player].clone(),
            features: self.space.members(player).to_vec(),
        };
        if players.kind() != "features" {
            certificate.players = Some((0..players.len()).map(group).collect());
        }
        let one_hot = (0..players.len()).filter(|&player| players.is_one_hot(player));
        certificate.one_hot = one_hot.map(|player| self.space.members(player).to_vec()).collect();
        certificate.constraint = constraint_of(&self.space);
    }
}

/// The clauses of a space's constraint as numbers.
pub(super) fn constraint_of(space: &Space) -> Vec<Vec<i32>> {
    let clauses = space.constraint().into_iter().flat_map(|formula| formula.clauses());
    clauses.map(|clause| clause.lits().map(|lit| lit.to_dimacs()).collect()).collect()
}

/// Whether the decision is "this class", or which class it is.
fn decided_class(circuit: &NamedCircuit, asker: &Asker) -> Result<Option<usize>, Error> {
    match (&asker.request().class, circuit.classes.is_empty()) {
        (_, true) => Ok(Some(circuit.facts.class.unwrap_or(1))),
        (None, false) => Ok(None),
        (Some(choice), false) => {
            let names: Vec<String> = circuit.classes.iter().map(|(name, _)| name.clone()).collect();
            Ok(Some(choice.number(names.len(), &names)?))
        }
    }
}

fn names_of(space: &Space, players: &[usize]) -> Vec<String> {
    let mut players = players.to_vec();
    players.sort_unstable();
    players.dedup();
    players.iter().map(|&player| space.players().names()[player].clone()).collect()
}

/// What the answer for a row claims; nothing if it cannot be certified.
fn claim_of_row(asker: &Asker, answer: &RowAnswer, watch: &Watch<'_>) -> Result<Option<Claim>, Error> {
    let (entity, label) = (bit_text(&answer.entity.bits), answer.entity.class);
    let is_contrast = asker.request().question == Question::Contrast;
    Ok(Some(match &answer.found {
        Found::Reasons(found) => {
            let wanted = &asker.parts.reasons;
            let sets = found.sets.iter().map(|set| names_of(asker.space(), set)).collect();
            let others = (0..asker.space().players().len()).filter(|player| !wanted.exclude.contains(player));
            let among = (!wanted.exclude.is_empty()).then(|| names_of(asker.space(), &others.collect::<Vec<_>>()));
            let extent = match (found.is_complete(), wanted.which) {
                _ if found.sets.is_empty() => Extent::All,
                (true, Which::Smallest(_) | Which::All) => Extent::All,
                (_, Which::One) => Extent::Some,
                (false, _) => Extent::Smallest,
            };
            match (&wanted.share, is_contrast) {
                (Some(share), contrasts) => {
                    let (share, shares) = (share.to_string(), Vec::new());
                    Claim::Probable(ProbableClaim { entity, label, contrasts, share, sets, shares, among, extent })
                }
                (None, true) => Claim::Contrasts(SetsClaim { entity, label, sets, among, extent }),
                (None, false) => Claim::Reasons(SetsClaim { entity, label, sets, among, extent }),
            }
        }
        Found::Counterfactuals(found) => {
            let nearest = found.listed.iter().filter(|one| Some(&one.distance) == found.distance.as_ref());
            let mut claim = nearest_claim(asker, answer, &asker.wish(&answer.entity));
            claim.distance = found.distance.as_ref().map(|distance| distance.to_string());
            claim.inputs = nearest.map(|one| bit_text(&one.input)).collect();
            claim.count = Some(found.count.to_string());
            Claim::Nearest(claim)
        }
        Found::Robustness(found) => {
            let wish = Wish { limit: Some(1), ..Wish::default() };
            let nearest = query::counterfactuals(asker.classifier(), &answer.entity, &wish, watch)?;
            let mut claim = nearest_claim(asker, answer, &wish);
            claim.distance = found.radius.map(|radius| radius.to_string());
            claim.inputs = nearest.listed.iter().map(|one| bit_text(&one.input)).collect();
            claim.within = asker.request().radius.map(|radius| {
                let others = found.others.iter().fold(dashu::integer::UBig::ZERO, |sum, count| sum + count);
                Within { distance: radius.to_string(), others: others.to_string() }
            });
            Claim::Nearest(claim)
        }
        Found::Bias(other) => {
            let protected = names_of(asker.space(), &asker.parts.protected);
            Claim::DecisionBias(BiasClaim { entity, label, protected, biased: other.is_some() })
        }
        Found::Codes(letter) => match asker.favourable().filter(|&favourable| favourable != label) {
            Some(favourable) => Claim::Letter(letter_claim(asker, answer, letter, favourable)),
            None => return Ok(None),
        },
        Found::Attribution(parts) => {
            let wanted = ReasonsWanted { which: Which::Smallest(MOST_REASONS), ..ReasonsWanted::default() };
            let found = query::sufficient(asker.classifier(), &answer.entity, &wanted, watch)?;
            if !found.is_complete() {
                let reason = format!("there are more than {MOST_REASONS} reasons to list");
                return Err(QueryError::NoCertificate { reason }.into());
            }
            let sets = found.sets.iter().map(|set| names_of(asker.space(), set)).collect();
            let reasons = SetsClaim { entity, label, sets, among: None, extent: Extent::All };
            let names = asker.space().players().names();
            let part = |(name, part): (&String, &query::Attribution)| {
                let [share, shapley, banzhaf] = [&part.share(), &part.shapley, &part.banzhaf].map(|n| n.to_string());
                PartClaim { name: name.clone(), share, shapley, banzhaf }
            };
            Claim::Attribution(AttributionClaim { reasons, players: names.iter().zip(parts).map(part).collect() })
        }
        Found::OtherClass(_) | Found::Verdicts(_) | Found::Nothing => return Ok(None),
    }))
}

/// What a letter claims: what speaks against the favourable class, and the change that helps.
fn letter_claim(asker: &Asker, answer: &RowAnswer, letter: &Letter, favourable: usize) -> LetterClaim {
    let mut change = nearest_claim(asker, answer, &asker.wish(&answer.entity));
    change.distance = letter.change.as_ref().map(|change| change.distance.to_string());
    change.inputs = letter.change.iter().map(|change| bit_text(&change.input)).collect();
    let names = asker.space().players().names();
    let score =
        |(player, score): &(usize, RBig)| ScoreClaim { player: names[*player].clone(), score: score.to_string() };
    let scores = letter.reasons.iter().map(score).collect();
    let reasons = ScoresClaim { against: asker.letter_group(), top: asker.letter_top(), scores };
    LetterClaim { favourable, reasons: Some(reasons), change }
}

/// What is claimed of another's answer, and of what it was repaired to.
fn verdict_claims(asker: &Asker, answer: &RowAnswer, verdict: &Verdict) -> (Claim, Option<Claim>) {
    let (entity, label) = (bit_text(&answer.entity.bits), answer.entity.class);
    match verdict {
        Verdict::Set(kind, set, found) => {
            let contrastive = *kind == query::SetClaim::Contrastive;
            let [set, superfluous] = [set, &found.superfluous].map(|players| names_of(asker.space(), players));
            let repaired = found.repaired.as_ref().map(|set| {
                let sets = vec![names_of(asker.space(), set)];
                let claim = SetsClaim { entity: entity.clone(), label, sets, among: None, extent: Extent::Some };
                if contrastive { Claim::Contrasts(claim) } else { Claim::Reasons(claim) }
            });
            let valid = found.is_valid;
            (Claim::SetVerdict(SetVerdictClaim { entity, label, contrastive, set, valid, superfluous }), repaired)
        }
        Verdict::Input(input, found) => {
            let mut nearest = nearest_claim(asker, answer, &asker.wish(&answer.entity));
            let NearestClaim { to, costs, moves, .. } = nearest.clone();
            let (input, distance) = (bit_text(input), found.distance.to_string());
            let (valid, minimal) = (found.is_valid, found.is_minimal);
            let nearest_is = found.is_nearest;
            let claim = InputVerdictClaim {
                entity,
                label,
                to,
                costs,
                moves,
                input,
                distance,
                valid,
                minimal,
                nearest: nearest_is,
            };
            nearest.distance = found.repaired.as_ref().map(|one| one.distance.to_string());
            nearest.inputs = found.repaired.iter().map(|one| bit_text(&one.input)).collect();
            (Claim::InputVerdict(claim), Some(Claim::Nearest(nearest)))
        }
    }
}

/// A claim of the nearest inputs without its answer.
fn nearest_claim(asker: &Asker, answer: &RowAnswer, wish: &Wish) -> NearestClaim {
    let names = |features: &[usize]| {
        let mut features = features.to_vec();
        features.sort_unstable();
        features.dedup();
        features.iter().map(|&feature| asker.circuit().features[feature].clone()).collect()
    };
    let players = asker.space().players().names();
    let costs = wish.costs.iter().flatten().enumerate();
    NearestClaim {
        entity: bit_text(&answer.entity.bits),
        label: answer.entity.class,
        to: wish.class,
        costs: costs.map(|(player, cost)| (players[player].clone(), cost.to_string())).collect(),
        moves: Moves { not_up: names(&wish.not_up), not_down: names(&wish.not_down) },
        distance: None,
        inputs: Vec::new(),
        count: None,
        within: None,
    }
}

fn properties_claim(asker: &Asker, watch: &Watch<'_>) -> Result<PropertiesClaim, Error> {
    let found = query::properties(asker.classifier(), &asker.parts.all_ordered(asker.space()), watch)?;
    let claim = |(player, property): (usize, &query::Property)| {
        let single = asker.space().members(player).len() == 1;
        let way = property.monotone.filter(|_| single);
        let is = |one: query::Monotone| way.map(|way| way == one || way == query::Monotone::Neither);
        PlayerClaim {
            name: asker.space().players().names()[player].clone(),
            used: property.is_used(),
            rises: is(query::Monotone::Up),
            falls: is(query::Monotone::Down),
            influence: Some(property.influence.to_string()),
        }
    };
    Ok(PropertiesClaim { players: found.iter().enumerate().map(claim).collect() })
}
