//! The questions of `POST /api/ask` described for programs: one schema for each, with its own settings.

use crate::site::Site;
use boolshap::workflow::{AskRequest, Question};
use serde_json::{Map, Value, json};

/// A schema for each question; with several classes, one with and one without the setting `class`.
pub(crate) fn questions(site: &Site) -> Value {
    let several = !site.circuit().classes.is_empty();
    let variants = Question::ALL.into_iter().flat_map(|question| {
        let labels: &[bool] = if several { &[false, true] } else { &[false] };
        labels.iter().map(move |&is_label| schema(site, question, is_label))
    });
    json!({"anyOf": variants.collect::<Vec<_>>()})
}

fn schema(site: &Site, question: Question, is_label: bool) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, schema: Value| drop(fields.insert(name.into(), schema));
    put("question", json!({"const": question.name(), "description": question.words()}));
    put("entities", json!({"$ref": "#/components/schemas/Entities"}));
    put("players", json!({"$ref": "#/components/schemas/AskPlayers"}));
    put("constraint", json!({"$ref": "#/components/schemas/AskConstraint"}));
    put("input", json!({"enum": ["auto", "raw", "bits"], "description": "How entities are read, where both ways fit"}));
    put(
        "sentences",
        json!({"type": "boolean", "description": "Each answer as a sentence as well, where there is one"}),
    );
    put(
        "certificate",
        json!({"type": "boolean", "description": "Each answer with what `boolshap check` proves it by, where that can be"}),
    );
    let mut required = vec!["question"];
    let classes = &site.circuit().classes;
    if is_label {
        put("class", class_of(classes.len(), classes.iter().map(|(name, _)| name.clone()).collect()));
        required.push("class");
    }
    for setting in question.settings() {
        let is_several = !is_label && !classes.is_empty();
        put(
            setting,
            setting_schema(setting, classes.iter().map(|(name, _)| name.clone()).filter(|_| is_several).collect()),
        );
    }
    if question.needs_rows() {
        required.push("entities");
    }
    required.extend(match question {
        Question::Bias => &["protected"][..],
        Question::Judge => &["claims"],
        Question::Codes if !is_label && !classes.is_empty() => &["codes", "to"],
        Question::Codes => &["codes"],
        Question::Difference => &["other"],
        _ => &[],
    });
    if question == Question::Difference {
        put("other", json!({"type": "object", "description": "The second classifier: a model, as its file has it"}));
    }
    let mut schema =
        json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false});
    match question {
        Question::Reason | Question::Contrast => {
            schema["anyOf"] =
                json!([{"properties": {"minimum": {"const": false}}}, {"properties": {"all": {"const": false}}}]);
        }
        Question::Counterfactual => {
            schema["anyOf"] = json!([{"properties": {"beyond": {"const": false}}}, {"required": ["limit"]}]);
        }
        Question::Codes => {
            schema["anyOf"] = json!([{"properties": {"approved": {"const": false}}}, {"required": ["against"]}]);
        }
        _ => {}
    }
    schema
}

/// A class by number or name; the names of a label are 0 and 1.
fn class_of(classes: usize, names: Vec<String>) -> Value {
    json!({"anyOf": [{"type": "integer", "minimum": 0, "maximum": classes - 1}, {"enum": names}]})
}

fn setting_schema(setting: &str, names: Vec<String>) -> Value {
    let whole = |least: u64| json!({"type": "integer", "minimum": least, "maximum": AskRequest::MOST});
    let shared = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    match setting {
        "minimum" | "all" | "beyond" | "mean" | "approved" => json!({"type": "boolean"}),
        "limit" | "top" => whole(1),
        "radius" => whole(0),
        "share" => json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        "to" if names.is_empty() => class_of(2, vec!["0".into(), "1".into()]),
        "to" => class_of(names.len(), names),
        "range" => shared("AskRanges"),
        "costs" => shared("AskCosts"),
        "claims" => shared("AskClaims"),
        "codes" => shared("AskCodes"),
        "against" => shared("Entities"),
        "distribution" => shared("AskDistribution"),
        "protected" => json!({"type": "array", "minItems": 1, "items": {"type": "string"}}),
        _ => shared("AskNames"),
    }
}

/// The players: features, columns, or a player for each feature.
pub(crate) fn players(site: &Site) -> Value {
    let features = &site.circuit().features;
    let fields: Map<String, Value> =
        features.iter().map(|name| (name.clone(), json!({"type": "string", "minLength": 1}))).collect();
    let each = json!({"type": "object", "properties": fields, "required": features, "additionalProperties": false});
    json!({"anyOf": [{"enum": ["features", "columns"]}, each]})
}

/// Clauses of features by number or name, or the text of a DIMACS file.
pub(crate) fn constraint(site: &Site) -> Value {
    let features = &site.circuit().features;
    let names: Vec<String> = features.iter().cloned().chain(features.iter().map(|name| format!("-{name}"))).collect();
    let literal = json!({"anyOf": [
        {"type": "integer", "minimum": 1, "maximum": features.len()},
        {"type": "integer", "minimum": -(features.len() as i64), "maximum": -1},
        {"enum": names},
    ]});
    json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "array", "items": literal}}]})
}

/// The distributions of features: all values alike, as in training if that is known, or with given probabilities.
pub(crate) fn distributions(site: &Site) -> Value {
    let circuit = site.circuit();
    let probability = json!({"type": "number", "minimum": 0, "maximum": 1});
    let fields: Map<String, Value> = circuit.features.iter().map(|name| (name.clone(), probability.clone())).collect();
    let each =
        json!({"type": "object", "properties": fields, "required": circuit.features, "additionalProperties": false});
    json!({"anyOf": [{"enum": ["uniform", "product"]}, each]})
}
