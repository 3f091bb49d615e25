//! Certificates of answers: each answer becomes a claim about the network, gets its evidence, and is written to a
//! folder or returned with the answer.
//!
//! The network is the model that was asked, or that is given beside a circuit. A circuit alone knows only the digest of
//! the model it was compiled from: its evidence has no proofs, and a reader tries all inputs that are left open. An
//! answer that no reader could check has no certificate, and a note says why. An answer that is false for the network
//! is an error.

use super::ask::labels_of;
use super::ask_answers::bit_text;
use super::certificate_claims::{claim_of_row, names_of, properties_claim, verdict_claims};
use super::{Asker, Error, Found, Question, RowAnswer};
use crate::circuit::{Circuit, NamedCircuit};
use crate::data::WholeFile;
use crate::lit::{Digest, Watch};
use crate::model::Model;
use crate::query::{self, QueryError, Space, Witness, certify};
use crate::query::{Certificate, Claim, ClassifierBiasClaim, DifferenceClaim, Group, MeanRadiusClaim};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Certificates of answers, written to a folder or returned.
pub struct Certificates {
    folder: Option<PathBuf>,
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

/// A certificate that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFile {
    /// The name of the file in its folder.
    pub name: String,
    /// The digest of its content.
    pub digest: Digest,
    /// Its content, if there is no folder.
    pub content: Option<String>,
}

impl CertificateFile {
    /// As a JSON object.
    pub fn json(&self) -> Value {
        let mut object = json!({"file": self.name, "sha256": self.digest.to_string()});
        if let Some(content) = &self.content {
            object["content"] = content.as_str().into();
        }
        object
    }
}

impl Certificates {
    /// For the answers of an asker, about the model if there is one, else about the model that the circuit says it was
    /// compiled from.
    pub fn new(folder: Option<PathBuf>, asker: &Asker, model: Option<Model>) -> Result<Self, Error> {
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

    /// For answers about a model.
    #[cfg(feature = "sat")]
    pub(super) fn of_model(
        folder: Option<PathBuf>,
        model: Model,
        class: Option<usize>,
        space: Space,
    ) -> Result<Self, Error> {
        let (network, features) = (model.digest(), model.features.clone());
        Self::open(folder, network, class, features, Some(model), Vec::new(), space)
    }

    fn open(
        folder: Option<PathBuf>,
        network: Digest,
        class: Option<usize>,
        features: Vec<String>,
        model: Option<Model>,
        circuits: Vec<Arc<Circuit>>,
        space: Space,
    ) -> Result<Self, Error> {
        if let Some(folder) = &folder {
            std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        Ok(Certificates {
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

    /// The same with the second network of the question `difference`, if it is known.
    pub fn with_other(mut self, other: Option<Model>) -> Self {
        self.other = other;
        self
    }

    /// How many certificates were made.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Which answers have no certificate, and why.
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

    /// The certificate of the answer about the classifier as a whole.
    pub fn add_overall(&mut self, asker: &Asker, watch: &Watch<'_>) -> Result<Option<CertificateFile>, Error> {
        let claim = match asker.request().question {
            Question::Bias => match &asker.parts.bias {
                Some(bias) => {
                    let protected = names_of(&self.space, &asker.parts.protected);
                    let (biased, inputs) =
                        (bias.witness(asker.classifier(), watch)?.is_some(), Some(bias.inputs().to_string()));
                    Claim::ClassifierBias(ClassifierBiasClaim { protected, biased, inputs })
                }
                None => return Ok(None),
            },
            Question::Properties => Claim::Properties(properties_claim(asker, watch)?),
            Question::Robustness => match asker.mean_radius_of_inputs(watch)? {
                Some(mean) => Claim::MeanRadius(MeanRadiusClaim { mean: mean.map(|mean| mean.to_string()) }),
                None => return Ok(None),
            },
            Question::Difference => match self.difference_claim(asker, watch)? {
                Some(claim) => claim,
                None => {
                    self.notes.push("the second network is not known as a model, and a certificate is about it".into());
                    return Ok(None);
                }
            },
            _ => return Ok(None),
        };
        self.add(asker.request().question.name(), claim, watch)
    }

    /// Adds the certificate of the answer besides the rows, and the notes on answers without one.
    pub fn end(&mut self, asker: &Asker, overall: &mut Map<String, Value>, watch: &Watch<'_>) -> Result<(), Error> {
        if let Some(made) = self.add_overall(asker, watch)? {
            overall.insert("certificates".into(), json!([made.json()]));
        }
        self.put_notes(overall);
        Ok(())
    }

    /// Adds the notes on answers without a certificate.
    pub(super) fn put_notes(&self, overall: &mut Map<String, Value>) {
        if !self.notes.is_empty() {
            overall.insert("not_certified".into(), json!(self.notes));
        }
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

    /// Makes the certificate of a claim, if there is one.
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
        let content = certificate.to_json();
        let digest = Digest::of(content.as_bytes());
        let content = match &self.folder {
            Some(folder) => {
                let path = folder.join(&name);
                WholeFile::write(&path, content.as_bytes()).map_err(Error::file(&path))?;
                None
            }
            None => Some(content),
        };
        self.written += 1;
        Ok(Some(CertificateFile { name, digest, content }))
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

/// The class whose label is decided; nothing if the decision is one of several classes.
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
