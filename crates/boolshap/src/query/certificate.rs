//! The certificate of an answer: a claim about a network, with evidence from which a reader can check it independently.
//!
//! A certificate is a JSON file. It refers to the network, never to a circuit: inputs are strings of 0 and 1 in the
//! order of the model's features, sets are lists of player names. There are three kinds of evidence:
//!
//! | evidence | how a reader checks it |
//! | --- | --- |
//! | an input | evaluates the network on it |
//! | a set of players, with or without a proof | checks the proof (LRAT) against clauses derived from the network; without a proof, tries all inputs that agree with the entity on the set |
//! | an optional proof of the whole claim | the same for "none is nearer", "no pair of inputs differs" |
//!
//! Claims about sets then follow from the two lists by the duality of sufficient and contrastive sets (Ignatiev,
//! Narodytska, Asher and Marques-Silva, "From Contrastive to Abductive Explanations and Back Again", AI*IA 2020): for
//! every input with another decision, a sufficient set contains a player in which that input differs from the entity.
//!
//! The seal is the SHA-256 of everything else. It detects accidental or careless changes. A file that is changed and
//! sealed again is simply another claim, and its evidence is checked like any other.

use super::QueryError;
use super::claims::Claim;
use crate::lit::Digest;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "boolshap certificate";
const VERSION: u32 = 1;

/// A claim about a network and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: u32,
    /// The digest of the model's file.
    pub network: String,
    /// If given, the decision is whether the network answers this class; otherwise the decision is the class itself.
    pub class: Option<usize>,
    /// The players, unless each feature is its own player. Every feature belongs to one player.
    pub players: Option<Vec<Group>>,
    /// Groups of features of which exactly one is 1 in every valid input.
    pub one_hot: Vec<Vec<usize>>,
    /// Clauses over the features, counted from 1, that hold in every valid input.
    pub constraint: Vec<Vec<i32>>,
    /// The claim.
    pub claim: Claim,
    /// The evidence for it.
    pub evidence: Evidence,
    seal: String,
}

/// A player: a name for some features, which are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The player's name.
    pub name: String,
    /// Its features.
    pub features: Vec<usize>,
}

/// The evidence for a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Sets of players that suffice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sufficient: Vec<Sufficient>,
    /// Inputs with another decision than the entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Pairs of inputs with different decisions, or proofs that none exist, in the order of the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairEvidence>,
    /// The proof that no input is nearer; without one the reader tries all inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// The proof that no part of the change is enough; without one the reader tries all inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// A set of players that suffices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sufficient {
    /// The players.
    pub players: Vec<String>,
    /// The proof; without one the reader tries all inputs.
    pub proof: Option<String>,
}

/// A pair of inputs, or evidence that no such pair exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairEvidence {
    /// The two inputs.
    Pair(String, String),
    /// A proof that no such pair exists.
    Proof(String),
    /// No such pair exists: the reader tries all inputs.
    All,
}

impl Certificate {
    /// A claim about a network, not yet sealed.
    pub fn new(network: Digest, class: Option<usize>, claim: Claim) -> Self {
        Certificate {
            format: FORMAT.into(),
            version: VERSION,
            network: network.to_string(),
            class,
            players: None,
            one_hot: Vec::new(),
            constraint: Vec::new(),
            claim,
            evidence: Evidence::default(),
            seal: String::new(),
        }
    }

    /// The content of the certificate's file, sealed.
    pub fn to_json(&self) -> String {
        let sealed = Certificate { seal: self.seal().to_string(), ..self.clone() };
        let mut text = serde_json::to_string_pretty(&sealed).expect("texts and numbers are always JSON");
        text.push('\n');
        text
    }

    /// Reads the content of a file; fails if it is not a certificate or was changed after sealing.
    pub fn from_json(text: &str) -> Result<Self, QueryError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let wrong = |problem: String| QueryError::Certificate { problem };
        let head: Head = serde_json::from_str(text).map_err(|e| wrong(format!("it is no certificate: {e}")))?;
        if head.format != FORMAT {
            return Err(wrong(format!("it is no certificate: its format is '{}'", head.format)));
        }
        if head.version != VERSION {
            return Err(wrong(format!("version {} of certificates is not known (known: {VERSION})", head.version)));
        }
        let read: Self = serde_json::from_str(text).map_err(|e| wrong(format!("it is damaged: {e}")))?;
        match read.seal == read.seal().to_string() {
            true => Ok(read),
            false => Err(wrong("it was changed after it was sealed".into())),
        }
    }

    /// The digest of everything but the seal.
    fn seal(&self) -> Digest {
        let open = Certificate { seal: String::new(), ..self.clone() };
        Digest::of(serde_json::to_string(&open).expect("texts and numbers are always JSON").as_bytes())
    }
}
