//! Questions and answers as JSON, for programs: settings carry the content that a person would have in files, and all
//! answers are one JSON object. The server and the Python package set everything through this module.

use super::{
    AskRequest, Asker, CertificateFile, Certificates, ClaimsFrom, ConstraintFrom, DistributionFrom, Error, PlayersFrom,
    Question, RecordsFrom, RowAnswer, RowsFrom, Summary,
};
use crate::circuit::NamedCircuit;
use crate::data::{DataError, Reading, bits_of_json, short_text};
use crate::formula::read_dimacs;
use crate::lit::Watch;
use crate::model::parse_decimal;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write;

impl AskRequest {
    /// The largest number that a setting takes in JSON.
    pub const MOST: u64 = 1_000_000_000_000_000;

    /// The settings that have a form in JSON. Rows are passed directly, so the setting `row` is left out.
    pub fn json_settings() -> impl Iterator<Item = &'static str> {
        Self::SETTINGS.into_iter().filter(|setting| *setting != "row")
    }

    /// Sets one of [`AskRequest::json_settings`] from the text of a JSON value. No file is read: players are an object from
    /// features to players, a constraint is the text of a DIMACS file or a list of clauses, costs are an object from players
    /// to numbers, codes a list of objects with `player`, `code` and `text`, claims and rows to compare with are lists, and a
    /// range is an object from columns to pairs of numbers.
    ///
    /// ```
    /// use boolshap::workflow::{AskRequest, Question};
    /// # let model = boolshap::Model::from_json(r#"{"format": "boolshap model", "version": 1, "features": ["rain", "wind"],
    /// #     "classes": null, "schema": null, "marginals": null, "hidden": [],
    /// #     "output": {"step": {"weights": "++", "need": "2"}}, "provenance": {}}"#)?;
    /// # let circuit = boolshap::compile(&model, &boolshap::CompileRequest::default())?.circuit;
    /// let mut request = AskRequest::new(Question::Counterfactual);
    /// request.set_json("costs", r#"{"rain": 2, "wind": 0.5}"#, &circuit)?;
    /// request.set_json("constraint", r#"[["rain", "-wind"]]"#, &circuit)?;
    /// let wrong = request.set_json("limit", "true", &circuit).unwrap_err();
    /// assert_eq!(wrong.to_string(), "limit true is not a whole number");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_json(&mut self, setting: &str, text: &str, circuit: &NamedCircuit) -> Result<(), Error> {
        let Some(known) = Self::json_settings().find(|known| *known == setting) else {
            return Err(Error::input(format!("there is no setting '{setting}'")));
        };
        let wrong = |expected: &str| Error::setting(known, format!("{} is not {expected}", short_text(text)));
        let value: Value = match known {
            "against" => Value::Null,
            _ => serde_json::from_str(text).map_err(|error| Error::setting(known, error))?,
        };
        match known {
            "players" => self.players = players(&value).ok_or_else(|| wrong("features, columns, or an object"))?,
            "constraint" => self.constraint = Some(constraint(&value, &circuit.features)?),
            "distribution" => self.distribution = Some(distribution(&value, &circuit.features)?),
            "costs" => self.costs = Some(costs(&value).ok_or_else(|| wrong("an object of numbers"))?),
            "codes" => self.codes = Some(codes(&value).ok_or_else(|| wrong("a list of player, code and text"))?),
            "claims" => match value.is_array() {
                true => self.claims = Some(ClaimsFrom::Given(value)),
                false => return Err(wrong("a list of claims")),
            },
            "against" => self.against = Some(against(text, circuit, self.input)?),
            "input" => {
                let name = value.as_str().ok_or_else(|| wrong("auto, raw or bits"))?;
                self.set_text(known, name)?;
            }
            "minimum" | "all" | "beyond" | "mean" | "approved" | "sentences" => match value.is_boolean() {
                true => self.set_text(known, text.trim())?,
                false => return Err(wrong("true or false")),
            },
            "limit" | "top" | "radius" => {
                self.set_text(known, &whole(&value).ok_or_else(|| wrong("a whole number"))?)?;
            }
            "class" | "to" => {
                let class = value.as_str().map(String::from).or_else(|| whole(&value));
                self.set_text(known, &class.ok_or_else(|| wrong("the number or name of a class"))?)?;
            }
            "share" => {
                let share = value.as_str().map(String::from).or_else(|| value.is_number().then(|| text.trim().into()));
                self.set_text(known, &share.ok_or_else(|| wrong("a number"))?)?;
            }
            _ => {
                let texts = texts(known, &value).ok_or_else(|| wrong("a list of names"))?;
                texts.iter().try_for_each(|text| self.set_text(known, text))?;
            }
        }
        self.given.push(known);
        Ok(())
    }
}

/// A whole number that is not negative, which may be written as 1.0.
fn whole(value: &Value) -> Option<String> {
    integer(value).filter(|number| *number >= 0).map(|number| number.to_string())
}

/// A whole number that floats hold exactly.
fn integer(value: &Value) -> Option<i64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= AskRequest::MOST as f64)?;
    Some(number as i64)
}

fn players(value: &Value) -> Option<PlayersFrom> {
    match value {
        Value::String(name) if name == "features" => Some(PlayersFrom::Features),
        Value::String(name) if name == "columns" => Some(PlayersFrom::Columns),
        Value::Object(fields) => {
            let pair = |(feature, player): (&String, &Value)| {
                let player = player.as_str().filter(|player| !player.is_empty())?;
                Some((feature.clone(), player.to_string()))
            };
            fields.iter().map(pair).collect::<Option<HashMap<_, _>>>().map(PlayersFrom::Named)
        }
        _ => None,
    }
}

/// Names, or the ranges of columns.
fn texts(setting: &str, value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) => list.iter().map(|text| text.as_str().map(String::from)).collect(),
        Value::Object(ranges) if setting == "range" => {
            let end = |end: &Value| match end {
                Value::Null => Some(String::new()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            let range = |(column, ends): (&String, &Value)| match ends.as_array()?.as_slice() {
                [low, high] => Some(format!("{column}={}..{}", end(low)?, end(high)?)),
                _ => None,
            };
            ranges.iter().map(range).collect()
        }
        _ => None,
    }
}

/// Independent features: all values alike, as in training, or with these probabilities.
fn distribution(value: &Value, features: &[String]) -> Result<DistributionFrom, Error> {
    let wrong = |problem: String| Error::setting("distribution", problem);
    let fields = match value {
        Value::String(name) if name == "uniform" => return Ok(DistributionFrom::Uniform),
        Value::String(name) if name == "product" => return Ok(DistributionFrom::Marginals),
        Value::Object(fields) => fields,
        other => {
            let text = short_text(&other.to_string()).to_string();
            return Err(wrong(format!("{text} is not uniform, product, or an object of probabilities")));
        }
    };
    if let Some(unknown) = fields.keys().find(|name| !features.contains(name)) {
        return Err(wrong(format!("names '{unknown}', which is not a feature")));
    }
    let probability = |name: &String| {
        let text = fields.get(name).filter(|value| value.is_number()).map(Value::to_string);
        let exact = text.as_deref().and_then(parse_decimal);
        exact.ok_or_else(|| wrong(format!("has no probability of '{name}'")))
    };
    let probabilities = features.iter().map(probability).collect::<Result<_, _>>()?;
    Ok(DistributionFrom::Probabilities(probabilities))
}

fn costs(value: &Value) -> Option<RecordsFrom> {
    let cost = |(player, cost): (&String, &Value)| cost.is_number().then(|| vec![player.clone(), cost.to_string()]);
    value.as_object()?.iter().map(cost).collect::<Option<_>>().map(RecordsFrom::Given)
}

fn codes(value: &Value) -> Option<RecordsFrom> {
    let entry = |entry: &Value| {
        let fields = entry.as_object().filter(|fields| fields.len() == 3)?;
        ["player", "code", "text"].into_iter().map(|key| fields.get(key)?.as_str().map(String::from)).collect()
    };
    value.as_array()?.iter().map(entry).collect::<Option<_>>().map(RecordsFrom::Given)
}

/// Rows to compare with. The way to read them is found independently of other rows; if both ways fit, that of all rows
/// applies.
fn against(text: &str, circuit: &NamedCircuit, reading: Reading) -> Result<RowsFrom, Error> {
    let read = |reading| bits_of_json(text, &circuit.features, circuit.binariser.as_ref(), reading, usize::MAX);
    let rows = match read(Reading::Auto) {
        Err(_) if reading != Reading::Auto => read(reading),
        found => found,
    };
    rows.map(RowsFrom::Bits).map_err(|error| match error {
        DataError::Field { field, problem } => match field.strip_prefix("entities").unwrap_or(&field) {
            "" => Error::setting("against", problem),
            place => Error::setting("against", format!("{place}: {problem}")),
        },
        other => Error::setting("against", other),
    })
}

/// A formula: the text of a file, or clauses of numbers or names. A minus in front of a name means that the feature is 0.
fn constraint(value: &Value, features: &[String]) -> Result<ConstraintFrom, Error> {
    let wrong = |problem: String| Error::setting("constraint", problem);
    let number = |literal: &Value| match literal {
        Value::String(name) => {
            let place = |name: &str| features.iter().position(|feature| feature == name).map(|at| at as i64 + 1);
            place(name).or_else(|| place(name.strip_prefix('-')?).map(|number| -number))
        }
        other => integer(other).filter(|number| (1..=features.len() as u64).contains(&number.unsigned_abs())),
    };
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(clauses) => {
            let mut text = format!("p cnf {} {}\n", features.len(), clauses.len());
            for (place, clause) in clauses.iter().enumerate() {
                let literals = clause.as_array();
                let literals = literals.ok_or_else(|| wrong(format!("has a clause {} that is no list", place + 1)))?;
                for literal in literals {
                    let number = number(literal).ok_or_else(|| {
                        wrong(format!(
                            "has {} in clause {}, which is not a literal",
                            short_text(&literal.to_string()),
                            place + 1
                        ))
                    })?;
                    // Writing to a text does not fail.
                    let _ = write!(text, "{number} ");
                }
                text.push_str("0\n");
            }
            text
        }
        _ => return Err(wrong("is neither the text of a formula nor a list of clauses".into())),
    };
    Ok(ConstraintFrom::Formula(read_dimacs(text.as_bytes(), "the constraint")?))
}

impl Asker {
    /// The beginning of the JSON object of all answers: up to the first row.
    pub fn json_begin(&self) -> String {
        format!("{{\"question\":{},\"rows\":[", json!(self.request.question.name()))
    }

    /// The next row of that object, with its certificates. The question `difference` only lists row numbers, at the
    /// end.
    pub fn json_next(&self, answer: &RowAnswer, certificates: &[CertificateFile], is_first: bool) -> String {
        if self.request.question == Question::Difference {
            return String::new();
        }
        let mut object = self.json(answer);
        if !certificates.is_empty() {
            object["certificates"] = certificates.iter().map(CertificateFile::json).collect();
        }
        format!("{}{object}", if is_first { "" } else { "," })
    }

    /// The end of that object: the fields about all rows together.
    pub fn json_end(&self, mut overall: Map<String, Value>) -> String {
        let numbers = overall.remove("rows").map(|rows| rows.to_string());
        let mut text = numbers.map_or("]".into(), |numbers| numbers.trim_start_matches('[').to_string());
        let more: String = overall.iter().map(|(key, value)| format!(",{}:{value}", json!(key))).collect();
        text.push_str(&more);
        text + "}\n"
    }

    /// The whole object at once, for rows in memory if there are any.
    pub fn json_of_rows(
        &self,
        rows: Option<&crate::data::Bits>,
        mut certificates: Option<&mut Certificates>,
        watch: &Watch<'_>,
    ) -> Result<String, Error> {
        let mut text = self.json_begin();
        let mut is_first = true;
        let mut add = |answer: &RowAnswer| {
            let made = certificates.as_deref_mut().map(|all| all.add_row(self, answer, watch)).transpose()?;
            text.push_str(&self.json_next(answer, &made.unwrap_or_default(), std::mem::take(&mut is_first)));
            Ok(())
        };
        let summary = rows.map_or(Ok(Summary::default()), |rows| self.ask_rows(rows, &mut add, watch))?;
        let mut overall = self.overall(&summary, watch)?;
        if let Some(certificates) = certificates {
            certificates.end(self, &mut overall, watch)?;
        }
        Ok(text + &self.json_end(overall))
    }
}
