//! Answers as lines of a CSV file.

use super::ask_answers::{bit_text, number};
use super::ask_claims::Verdict;
use super::{Asker, CertificateFile, Found, Letter, RowAnswer};
use crate::data::quote_csv;
use crate::query::{Counterfactual, Counterfactuals, Entity, SetClaim};
use serde_json::Value;

impl Asker {
    /// The columns of a CSV file of answers.
    pub fn csv_columns(&self) -> &'static str {
        use super::Question::*;
        match self.request.question {
            Reason | Contrast => "row,prediction,number,players,words",
            Attribution => "row,prediction,player,necessary,relevant,share,shapley,banzhaf",
            Counterfactual => "row,prediction,distance,count,number,players,input,words",
            Robustness => "row,prediction,radius,others",
            Bias => "row,prediction,biased,other",
            Difference => "row,prediction,other",
            Judge => "row,prediction,claim,valid,minimal,nearest,repaired",
            Codes => "row,prediction,rank,player,code,text,value,score,change,model,circuit,background,certificate",
            Properties => "row,prediction",
        }
    }

    /// The lines of an answer in a CSV file, without line ends; letters name their certificates.
    pub fn csv_lines(&self, answer: &RowAnswer, certificates: &[CertificateFile]) -> Vec<String> {
        let (row, class, entity) = (answer.row, answer.entity.class, &answer.entity);
        let line = |cells: &[String]| {
            let cells: Vec<_> = cells.iter().map(|cell| quote_csv(cell)).collect();
            format!("{row},{class}{}{}", if cells.is_empty() { "" } else { "," }, cells.join(","))
        };
        match &answer.found {
            Found::Reasons(found) => {
                let one = |(place, set): (usize, &Vec<usize>)| {
                    line(&[(place + 1).to_string(), self.name_list(set), self.reason_words(entity, set)])
                };
                found.sets.iter().enumerate().map(one).collect()
            }
            Found::Attribution(all) => {
                let names = self.space().players().names();
                let one = |(name, part): (&String, &crate::query::Attribution)| {
                    let numbers = [part.share(), part.shapley.clone(), part.banzhaf.clone()].map(|n| n.to_string());
                    let flags = [part.is_necessary(), part.is_relevant()].map(|flag| flag.to_string());
                    line(&[&[name.clone()][..], &flags, &numbers].concat())
                };
                names.iter().zip(all).map(one).collect()
            }
            Found::Counterfactuals(found) => {
                self.counterfactual_cells(entity, found).iter().map(|cells| line(cells)).collect()
            }
            Found::Robustness(found) => {
                let radius = found.radius.map_or(String::new(), |radius| radius.to_string());
                let others = match self.request.radius {
                    Some(_) => found.others.iter().fold(dashu_int::UBig::ZERO, |sum, count| sum + count).to_string(),
                    None => String::new(),
                };
                vec![line(&[radius, others])]
            }
            Found::Bias(other) => {
                let input = other.as_ref().map_or(String::new(), |input| bit_text(input));
                vec![line(&[other.is_some().to_string(), input])]
            }
            Found::OtherClass(other) => vec![line(&[other.to_string()])],
            Found::Verdicts(verdicts) => verdicts.iter().map(|verdict| line(&self.verdict_cells(verdict))).collect(),
            Found::Codes(letter) => {
                let digests: Vec<String> = certificates.iter().map(|file| file.digest.to_string()).collect();
                let end = [&self.letter_digests()[..], &[digests.join(";")]].concat();
                self.letter_cells(entity, letter).iter().map(|cells| line(&[&cells[..], &end].concat())).collect()
            }
            Found::Nothing => vec![line(&[])],
        }
    }

    fn counterfactual_cells(&self, entity: &Entity, found: &Counterfactuals) -> Vec<Vec<String>> {
        let distance = found.distance.as_ref().map_or(String::new(), |distance| text(&number(distance)));
        let start = [distance, found.count.to_string()];
        let cells = |more: [String; 4]| [&start[..], &more].concat();
        if found.listed.is_empty() {
            return vec![cells(Default::default())];
        }
        let one = |(place, one): (usize, &Counterfactual)| {
            let words = self.change_words(entity, one);
            cells([(place + 1).to_string(), self.name_list(&one.changed), bit_text(&one.input), words])
        };
        found.listed.iter().enumerate().map(one).collect()
    }

    fn letter_cells(&self, entity: &Entity, letter: &Letter) -> Vec<Vec<String>> {
        let json = self.letter_json(entity, letter);
        let change = text(&json["change_words"]);
        let one = |(place, reason): (usize, &Value)| {
            let cells = ["player", "code", "text", "value", "score"].map(|key| text(&reason[key]));
            [&[(place + 1).to_string()][..], &cells, std::slice::from_ref(&change)].concat()
        };
        json["codes"].as_array().into_iter().flatten().enumerate().map(one).collect()
    }

    fn verdict_cells(&self, verdict: &Verdict) -> [String; 5] {
        match verdict {
            Verdict::Set(kind, set, found) => {
                let kind = if *kind == SetClaim::Sufficient { "reason" } else { "contrast" };
                [
                    format!("{kind} {}", self.name_list(set)),
                    found.is_valid.to_string(),
                    found.is_minimal.to_string(),
                    String::new(),
                    found.repaired.as_ref().map_or(String::new(), |set| self.name_list(set)),
                ]
            }
            Verdict::Input(input, found) => [
                format!("counterfactual {}", bit_text(input)),
                found.is_valid.to_string(),
                found.is_minimal.to_string(),
                found.is_nearest.to_string(),
                found.repaired.as_ref().map_or(String::new(), |one| bit_text(&one.input)),
            ],
        }
    }

    pub(super) fn name_list(&self, players: &[usize]) -> String {
        let names = self.space().players().names();
        players.iter().map(|&player| names[player].as_str()).collect::<Vec<_>>().join(";")
    }
}

/// The text of a JSON value.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
