//! Claims of other programs about rows: reasons and counterfactuals, read for one circuit and judged.
//!
//! Claims are a list of objects. Each has a `row`, counted from 1, and one of `reason` and `contrast`, a list of
//! players, or `counterfactual`: an input as a text of bits, or an object of the features that change with their new
//! values 0 and 1.

use super::ask_answers::{bit_text, number};
use super::player_names::named_players;
use super::{Asker, ClaimsFrom, Error};
use crate::circuit::NamedCircuit;
use crate::lit::Watch;
use crate::query::{self, CounterfactualVerdict, Entity, SetClaim, SetVerdict, Space};
use serde_json::{Value, json};

/// A claim of another program about a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    row: u64,
    said: Said,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Set(SetClaim, Vec<usize>),
    Input(Vec<bool>),
    Changes(Vec<(usize, bool)>),
}

/// A claim, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// About a set of players.
    Set(SetClaim, Vec<usize>, SetVerdict),
    /// About an input.
    Input(Vec<bool>, CounterfactualVerdict),
}

pub(super) fn read_claims(from: &ClaimsFrom, circuit: &NamedCircuit, space: &Space) -> Result<Vec<Claim>, Error> {
    let (all, source) = from.read()?;
    let wrong = |place: usize, problem: &str| Error::input(format!("claim {place} {problem}")).at(&source);
    let list = all.as_array().ok_or_else(|| Error::input("a list of claims is expected").at(&source))?;
    let mut claims = Vec::with_capacity(list.len());
    for (place, claim) in list.iter().enumerate() {
        let place = place + 1;
        let row = claim["row"].as_u64().filter(|&row| row > 0);
        let row = row.ok_or_else(|| wrong(place, "has no row, counted from 1"))?;
        let said = said(claim, circuit, space).map_err(|problem| wrong(place, &problem))?;
        claims.push(Claim { row, said });
    }
    Ok(claims)
}

fn said(claim: &Value, circuit: &NamedCircuit, space: &Space) -> Result<Said, String> {
    for (key, kind) in [("reason", SetClaim::Sufficient), ("contrast", SetClaim::Contrastive)] {
        if let Some(list) = claim[key].as_array() {
            let name =
                |name: &Value| name.as_str().map(String::from).ok_or(format!("has a {key} that is no list of names"));
            let names = list.iter().map(name).collect::<Result<Vec<_>, _>>()?;
            let mut players = named_players("claims", &names, circuit, space).map_err(|error| error.to_string())?;
            players.sort_unstable();
            players.dedup();
            return Ok(Said::Set(kind, players));
        }
    }
    match &claim["counterfactual"] {
        Value::String(bits) => {
            let bit = |bit: char| bit.to_digit(2).map(|bit| bit == 1);
            let input: Option<Vec<bool>> = bits.chars().map(bit).collect();
            input
                .filter(|input| input.len() == space.features())
                .map(Said::Input)
                .ok_or_else(|| format!("has a counterfactual that is not {} digits 0 and 1", space.features()))
        }
        Value::Object(changes) => {
            let change = |(name, value): (&String, &Value)| {
                let feature = circuit.features.iter().position(|known| known == name);
                let feature = feature.ok_or(format!("changes '{name}', which is not a feature"))?;
                match value.as_u64() {
                    Some(bit @ (0 | 1)) => Ok((feature, bit == 1)),
                    _ => Err(format!("changes '{name}' to something that is neither 0 nor 1")),
                }
            };
            Ok(Said::Changes(changes.iter().map(change).collect::<Result<_, String>>()?))
        }
        _ => Err("has none of reason, contrast and counterfactual".into()),
    }
}

impl Asker {
    /// Refuses a claim about a row beyond the last one, which would otherwise be ignored.
    pub(super) fn check_claims(&self, rows: u64) -> Result<(), Error> {
        let beyond = self.parts.claims.iter().find(|claim| claim.row > rows && self.request.rows.is_empty());
        beyond.map_or(Ok(()), |claim| {
            Err(Error::row(claim.row, format!("is not there, and a claim is about it: there are {rows} rows")))
        })
    }

    /// The verdicts on all claims about a row.
    pub(super) fn judge(&self, row: u64, entity: &Entity, watch: &Watch<'_>) -> Result<Vec<Verdict>, Error> {
        let mut verdicts = Vec::new();
        for claim in self.parts.claims.iter().filter(|claim| claim.row == row) {
            let judge_input = |input: Vec<bool>| -> Result<Verdict, Error> {
                let wish = self.wish(entity);
                let verdict = query::judge_counterfactual(&self.classifier, entity, &input, &wish, watch)?;
                Ok(Verdict::Input(input, verdict))
            };
            verdicts.push(match &claim.said {
                Said::Set(kind, set) => {
                    Verdict::Set(*kind, set.clone(), query::judge_set(&self.classifier, entity, *kind, set, watch)?)
                }
                Said::Input(input) => judge_input(input.clone())?,
                Said::Changes(changes) => {
                    let mut input = entity.bits.clone();
                    changes.iter().for_each(|&(feature, value)| input[feature] = value);
                    judge_input(input)?
                }
            });
        }
        Ok(verdicts)
    }

    pub(super) fn verdict_json(&self, entity: &Entity, verdict: &Verdict) -> Value {
        match verdict {
            Verdict::Set(kind, set, found) => {
                let kind = if *kind == SetClaim::Sufficient { "reason" } else { "contrast" };
                json!({
                    kind: self.names(set), "valid": found.is_valid, "minimal": found.is_minimal,
                    "superfluous": self.names(&found.superfluous),
                    "example": found.input.as_ref().map(|input| bit_text(input)),
                    "repaired": found.repaired.as_ref().map(|set| self.names(set)),
                })
            }
            Verdict::Input(input, found) => json!({
                "counterfactual": bit_text(input), "valid": found.is_valid, "problem": found.problem,
                "distance": number(&found.distance), "minimal": found.is_minimal, "nearest": found.is_nearest,
                "repaired": found.repaired.as_ref().map(|one| self.changes(entity, one)),
                "repaired_input": found.repaired.as_ref().map(|one| bit_text(&one.input)),
            }),
        }
    }
}
