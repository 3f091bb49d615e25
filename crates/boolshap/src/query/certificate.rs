//! The certificate of an answer: what is claimed, of which network, and witnesses by which a reader can check it alone.
//!
//! A certificate is a JSON file. It speaks of the network and never of a circuit: inputs as texts of 0 and 1 in the order of
//! the model's features, sets by the names of the players. Its evidence is of three kinds:
//!
//! | evidence | what a reader does with it |
//! | --- | --- |
//! | an input | evaluates the network on it |
//! | a set of players, with or without a proof | a proof (LRAT) is checked against clauses that the reader makes of the network; without one the reader tries all inputs that agree with the entity on the set |
//! | a proof for the whole claim, or none | the same for "none is nearer", "no pair of inputs differs" |
//!
//! What is claimed of sets then follows from the two lists by the duality of sufficient and contrastive sets (Ignatiev,
//! Narodytska, Asher and Marques-Silva, "From Contrastive to Abductive Explanations and Back Again", AI*IA 2020): a
//! sufficient set meets the difference of the entity and every input that is decided otherwise.
//!
//! The seal is the SHA-256 of everything else. It finds files that were changed by accident or without care; who changes a
//! file and seals it again has made another claim, and its evidence is checked as that of any other.

use super::QueryError;
use super::claims::Claim;
use crate::lit::Digest;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "boolshap certificate";
const VERSION: u32 = 1;

/// What is claimed of a network, and the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: u32,
    /// The digest of the model's file.
    pub network: String,
    /// The decision is whether the answer is this class; without one, it is the class itself.
    pub class: Option<usize>,
    /// Who plays, if not each feature for itself. Every feature has one player.
    pub players: Option<Vec<Group>>,
    /// Features of which exactly one is 1 in every input that is looked at.
    pub one_hot: Vec<Vec<usize>>,
    /// Clauses over the features, counted from 1, that hold in every input that is looked at.
    pub constraint: Vec<Vec<i32>>,
    /// What is claimed.
    pub claim: Claim,
    /// What shows it.
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

/// What shows a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Sets of players that suffice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sufficient: Vec<Sufficient>,
    /// Inputs that are decided otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Pairs of inputs that are decided differently, or proofs that there are none, in the order of the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairEvidence>,
    /// The proof that none is nearer; without one the reader tries all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// The proof that no part of a change is enough; without one the reader tries all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// A set of players that suffices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sufficient {
    /// The players.
    pub players: Vec<String>,
    /// The proof; without one the reader tries all.
    pub proof: Option<String>,
}

/// Two inputs, or that there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairEvidence {
    /// Two inputs that show it.
    Pair(String, String),
    /// A proof that there are none.
    Proof(String),
    /// There are none: the reader tries all inputs.
    All,
}

impl Certificate {
    /// A claim of a network, not sealed yet.
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

    /// The content of its file, sealed.
    pub fn to_json(&self) -> String {
        let sealed = Certificate { seal: self.seal().to_string(), ..self.clone() };
        let mut text = serde_json::to_string_pretty(&sealed).expect("texts and numbers are always JSON");
        text.push('\n');
        text
    }

    /// Reads the content of a file; refuses what is no certificate, or was changed.
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
