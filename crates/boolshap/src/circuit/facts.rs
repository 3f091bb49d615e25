//! Facts about a circuit, and the evidence for them.
//!
//! A circuit file states how it was made and whether it was proved equal to its model. Anyone who can write a file can
//! also write these statements and recompute every checksum and digest, so they are only claims, and are called that. A
//! claim identifies what was proved by two digests: that of the model and that of the file's content. If the second
//! does not match, the claim is about other content and is dropped. Anyone who has the model can repeat the proof.

use super::NodeId;
use crate::lit::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The names of the methods by which a circuit is proved.
const METHODS: [&str; 4] = ["exhaustive", "walk", "sat", "gates"];
/// The names of the compiler's facts, which a file stores among the free ones.
const NAMES: [&str; 6] = ["route", "class", "smooth", "model", "fixed", "verified"];

/// The compiler's facts about a circuit; a model cannot state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// How it was made: the route from the network, or the format it was read from.
    pub route: Option<String>,
    /// The class whose label it is, unless that is the second of two.
    pub class: Option<usize>,
    /// Whether it was made smooth.
    pub smooth: bool,
    /// The digest of the model that it was compiled from.
    pub model: Option<Digest>,
    /// Whether it was proved equal to its source.
    pub verified: Verified,
    /// The inputs of the model that are fixed in the circuit, by name; empty if none is fixed.
    pub fixed: BTreeMap<String, bool>,
    /// The or-gates that are not known to be deterministic, because they were too large to decide when the circuit was
    /// read. Counts and scores are right only if they are deterministic. Files do not store this; every reader
    /// determines it.
    pub undecided: Vec<NodeId>,
}

/// Whether a circuit was proved equal to its source, and who says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verified {
    /// Not stated.
    #[default]
    No,
    /// It was proved by this program, in this run.
    Proved(Proof),
    /// Its file claims so, and the claim matches the file's content.
    Claimed(Proof),
    /// Its file names a method, but not what was proved.
    Unbacked(String),
    /// Its file claims so, but for different content.
    Refuted(String),
}

/// What was proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The method; for several classes, all their methods joined by `+`.
    pub method: String,
    /// What the circuit is equal to.
    pub of: ProofOf,
    /// The digest of the model's file, or of the table.
    pub source: Digest,
    /// The digest of the circuit file up to this digest: names, binarisation, marginals, facts, nodes and roots.
    pub circuit: Digest,
}

/// What a circuit was proved to be equal to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofOf {
    /// A model, whose digest is that of its file.
    Model,
    /// The class of every input, one byte each.
    Table,
}

/// A proof as stored in the header of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProofText {
    method: String,
    of: ProofOf,
    digest: String,
}

impl ProofText {
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let proof = facts.verified.proof()?;
        Some(ProofText { method: proof.method.clone(), of: proof.of, digest: proof.source.to_string() })
    }

    /// What the file claims, given the digest of its content and the one that it states.
    pub(super) fn read(self, found: Digest, stated: Digest) -> Result<Verified, String> {
        let (method, source) = (known_method(&self.method)?, self.digest.parse()?);
        Ok(match found == stated {
            true => Verified::Claimed(Proof { method, of: self.of, source, circuit: stated }),
            false => Verified::Refuted(method),
        })
    }
}

/// Checks a method's name. If classes were proved by several methods, it contains all of them, joined by `+`.
fn known_method(method: &str) -> Result<String, String> {
    match method.split('+').all(|one| METHODS.contains(&one)) {
        true => Ok(method.into()),
        false => Err(format!("it is said to be verified by '{method}', which is not one of {}", METHODS.join(", "))),
    }
}

impl Verified {
    /// The proof, made in this run or claimed by the file.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Verified::Proved(proof) | Verified::Claimed(proof) => Some(proof),
            Verified::No | Verified::Unbacked(_) | Verified::Refuted(_) => None,
        }
    }

    /// The status in a few words: `no`, `proved`, `claimed`, `claimed without digest` or `refuted`.
    pub fn standing(&self) -> &'static str {
        match self {
            Verified::No => "no",
            Verified::Proved(_) => "proved",
            Verified::Claimed(_) => "claimed",
            Verified::Unbacked(_) => "claimed without digest",
            Verified::Refuted(_) => "refuted",
        }
    }

    /// The status in a sentence. It begins with "yes" only if this run has proved it.
    pub fn words(&self) -> String {
        let equal = |proof: &Proof| match proof.of {
            ProofOf::Model => format!("proved equal to the model {} on all inputs", proof.source.short()),
            ProofOf::Table => "compared with its source on all inputs".to_string(),
        };
        match self {
            Verified::No => "no: it has not been proved equal to its network".into(),
            Verified::Proved(proof) => format!("yes: {} just now ({})", equal(proof), proof.method),
            Verified::Claimed(proof) => {
                let again = match proof.of {
                    ProofOf::Model => "; to be sure, verify it with that model",
                    ProofOf::Table => "",
                };
                format!("claimed by its file: {} ({}){again}", equal(proof), proof.method)
            }
            Verified::Unbacked(method) => {
                format!("claimed by its file, without saying of what ({method}); to be sure, verify it with its model")
            }
            Verified::Refuted(method) => {
                format!("no: its file claims a proof ({method}) of another content than it has")
            }
        }
    }

    /// The status as one JSON object.
    pub fn json(&self) -> Value {
        let (method, proof) = match self {
            Verified::No => (None, None),
            Verified::Proved(proof) | Verified::Claimed(proof) => (Some(&proof.method), Some(proof)),
            Verified::Unbacked(method) | Verified::Refuted(method) => (Some(method), None),
        };
        json!({
            "standing": self.standing(), "method": method, "of": proof.map(|proof| proof.of),
            "digest": proof.map(|proof| proof.source.to_string()),
            "circuit": proof.map(|proof| proof.circuit.to_string()), "words": self.words(),
        })
    }
}

impl Facts {
    /// Moves the compiler's facts out of the free ones of a file; the error names a fact that is invalid.
    pub(super) fn take(provenance: &mut BTreeMap<String, Value>) -> Result<Self, String> {
        let mut facts = Facts::default();
        for name in NAMES {
            let Some(value) = provenance.remove(name) else { continue };
            let wrong = || format!("its fact '{name}' cannot be {value}");
            match name {
                "route" => facts.route = Some(value.as_str().ok_or_else(wrong)?.into()),
                "class" => {
                    facts.class = Some(value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(wrong)? as usize)
                }
                "smooth" => facts.smooth = value.as_bool().ok_or_else(wrong)?,
                "model" => facts.model = Some(value.as_str().ok_or_else(wrong)?.parse().map_err(|_| wrong())?),
                "fixed" => {
                    let bits: BTreeMap<String, u8> = serde_json::from_value(value.clone()).map_err(|_| wrong())?;
                    if bits.values().any(|bit| *bit > 1) {
                        return Err(wrong());
                    }
                    facts.fixed = bits.into_iter().map(|(name, bit)| (name, bit == 1)).collect();
                }
                _ => facts.verified = Verified::Unbacked(known_method(value.as_str().ok_or_else(wrong)?)?),
            }
        }
        Ok(facts)
    }

    /// Removes the facts that only a compiler can state from the free facts of a model.
    pub(super) fn disown(provenance: &mut BTreeMap<String, Value>) {
        NAMES.iter().for_each(|name| drop(provenance.remove(*name)));
    }

    /// Adds these facts to the free ones of a file; a proof is stored elsewhere.
    pub(super) fn put(&self, provenance: &mut BTreeMap<String, Value>) {
        let verified = match &self.verified {
            Verified::Unbacked(method) => Some(Value::from(method.as_str())),
            _ => None,
        };
        let facts = [
            ("route", self.route.as_deref().map(Value::from)),
            ("class", self.class.map(Value::from)),
            ("smooth", self.smooth.then_some(Value::Bool(true))),
            ("model", self.model.map(|digest| digest.to_string().into())),
            (
                "fixed",
                (!self.fixed.is_empty()).then(|| {
                    self.fixed
                        .iter()
                        .map(|(name, &bit)| (name.clone(), Value::from(u8::from(bit))))
                        .collect::<Map<_, _>>()
                        .into()
                }),
            ),
            ("verified", verified),
        ];
        provenance.extend(facts.into_iter().filter_map(|(name, fact)| Some((name.to_string(), fact?))));
    }

    /// The digest of the model that the circuit was compiled from, or else proved equal to.
    pub fn network(&self) -> Option<Digest> {
        let proved = self.verified.proof().filter(|proof| proof.of == ProofOf::Model).map(|proof| proof.source);
        self.model.or(proved)
    }

    /// Warnings for everyone who uses the numbers.
    pub fn cautions(&self) -> Vec<String> {
        let (gates, are, they) = match self.undecided.len() {
            0 => return Vec::new(),
            1 => ("1 or-gate is".to_string(), "it is", "it"),
            many => (format!("{many} or-gates are"), "they are", "they"),
        };
        vec![format!(
            "it is not known whether {gates} deterministic, which is too hard to decide while reading: counts and scores are \
             right only if {are}, and wrong if two children of {they} are ever true together"
        )]
    }

    /// Everything a user should know: the cautions, a claim that was dropped, and inputs that are fixed.
    pub fn notes(&self) -> Vec<String> {
        let dropped =
            matches!(self.verified, Verified::Refuted(_)).then(|| format!("verified: {}", self.verified.words()));
        let fixed = (!self.fixed.is_empty()).then(|| {
            format!(
                "{} inputs of its network are fixed: it is the network for these values of them only",
                self.fixed.len()
            )
        });
        self.cautions().into_iter().chain(dropped).chain(fixed).collect()
    }
}
