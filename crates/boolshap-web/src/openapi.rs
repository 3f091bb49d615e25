//! The API described for programs (OpenAPI 3.1): `openapi.json`, filled in for the circuit that is served.

use crate::desk::{MOST_OFFSET, MOST_ROWS};
use crate::openapi_ask;
use crate::site::Site;
use boolshap::data::{Code, CodedColumn};
use serde_json::{Map, Value, json};

/// The description of a site's API.
pub(crate) fn document(site: &Site) -> Value {
    let mut document = serde_json::from_str(include_str!("openapi.json")).expect("openapi.json is JSON");
    fill(&mut document, &known(site));
    document
}

/// Replaces placeholders, which begin with `$`, by their values; a list within a list is spliced in, and a field
/// without a value is left out.
fn fill(part: &mut Value, known: &Map<String, Value>) {
    let reference = |kind: &str, name: &str| json!({"$ref": format!("#/components/{kind}/{name}")});
    let content = |schema: &str| json!({"application/json": {"schema": reference("schemas", schema)}});
    match part {
        Value::Array(parts) => {
            let filled = std::mem::take(parts).into_iter().flat_map(|mut part| {
                let is_name = part.is_string();
                fill(&mut part, known);
                match part {
                    Value::Array(elements) if is_name => elements,
                    other => vec![other],
                }
            });
            *parts = filled.collect();
        }
        Value::Object(fields) => fields.retain(|_, part| {
            fill(part, known);
            !part.is_null()
        }),
        Value::String(text) if text.starts_with('$') => {
            *part = match text[1..].split_once(' ') {
                Some(("error", words)) => json!({"description": words, "content": content("Error")}),
                Some((_, schema)) => {
                    let errors = ["400", "401", "403", "408", "413", "415", "422", "503", "504"];
                    let mut all: Map<String, Value> =
                        errors.map(|status| (status.into(), reference("responses", status))).into_iter().collect();
                    all.insert("200".into(), json!({"description": "The answer", "content": content(schema)}));
                    all.into()
                }
                None => known[&text[1..]].clone(),
            };
        }
        _ => {}
    }
}

/// What varies between sites.
fn known(site: &Site) -> Map<String, Value> {
    let menu = site.report.menu();
    let distributions: Vec<&str> = menu.distributions().iter().map(|one| one.name.as_str()).collect();
    let players: Vec<&str> = menu.players().iter().map(|one| one.kind()).collect();
    let parameter = |name: &str, words: &str, schema: Value| json!({"name": name, "in": "query", "description": words, "schema": schema});
    let mut game = vec![
        parameter("distribution", "What absent features are", json!({"type": "string", "enum": distributions})),
        parameter("players", "Who plays", json!({"type": "string", "enum": players})),
    ];
    game.extend(class(site, &[]).map(|schema| parameter("class", "Which class of a circuit of several", schema)));
    let values = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("game", game.into()),
        ("offset", MOST_OFFSET.into()),
        ("limit", MOST_ROWS.into()),
        ("sort", site.report.rows().table.orders().into()),
        ("bits", format!("^[01]{{{}}}$", site.circuit().features.len()).into()),
        ("figures", json!(boolshap::report::FigureAsked::NAMES)),
        ("entities", entity_forms(site).into()),
        ("models", if site.report.beside().is_some() { json!(["shown", "beside"]) } else { json!(["shown"]) }),
        ("distributions", distributions.into()),
        ("players", players.into()),
        ("model_outputs", json!([if site.circuit().is_of_scores() { "score" } else { "label" }])),
        ("class", class(site, &["each", "predicted"]).into()),
        ("questions", openapi_ask::questions(site)),
        ("ask_distributions", openapi_ask::distributions(site)),
        ("ask_players", openapi_ask::players(site)),
        ("ask_constraint", openapi_ask::constraint(site)),
    ];
    values.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
}

/// A class by number or name; a single label has no choice.
fn class(site: &Site, several: &[&str]) -> Option<Value> {
    let classes = &site.circuit().classes;
    let names = classes.iter().map(|(name, _)| name.as_str()).chain(several.iter().copied());
    let number = || json!({"type": "integer", "minimum": 0, "maximum": classes.len() - 1});
    (!classes.is_empty()).then(|| json!({"anyOf": [number(), {"enum": names.collect::<Vec<_>>()}]}))
}

/// Entities in each accepted form.
fn entity_forms(site: &Site) -> Vec<Value> {
    let (names, most) = (&site.circuit().features, site.limits.rows);
    let bit = json!({"enum": [0, 1, false, true]});
    let entities = |entity: Value| json!({"type": "array", "items": entity, "minItems": 1, "maxItems": most});
    let object = |fields: Map<String, Value>| {
        let required: Vec<String> = fields.keys().cloned().collect();
        entities(json!({"type": "object", "properties": fields, "required": required}))
    };
    let mut forms = vec![
        entities(json!({"type": "array", "items": bit, "minItems": names.len(), "maxItems": names.len()})),
        object(names.iter().map(|name| (name.clone(), bit.clone())).collect()),
    ];
    let or_missing = |values: Vec<Value>| json!({"enum": values.into_iter().chain([Value::Null]).collect::<Vec<_>>()});
    let raw = |column: &CodedColumn| match &column.code {
        _ if column.part.is_some() => {
            json!({"type": ["string", "null"], "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"})
        }
        Code::Above(_) | Code::Bins(_) => json!({"type": ["number", "null"]}),
        Code::Boolean => json!({"enum": [0, 1, false, true, null]}),
        Code::Categories(values) => or_missing(values.iter().map(|value| json!(value)).collect()),
        Code::Common(_) => json!({"type": ["string", "null"]}),
        Code::Values(values) => or_missing(values.iter().map(|value| json!(value)).collect()),
    };
    let schema = site.circuit().binariser.as_ref();
    let columns = |schema: &boolshap::data::Binariser| {
        schema.columns().iter().map(|column| (column.column.clone(), raw(column))).collect()
    };
    forms.extend(schema.map(|schema| object(columns(schema))));
    forms
}
