//! The API described for programs (OpenAPI 3.1), with the features, distributions and players of the circuit that is served.

use crate::row_search::{MOST_OFFSET, sort_keys};
use crate::site::Site;
use boolshap::data::Code;
use boolshap::explain::Players;
use serde_json::{Map, Value, json};

/// The description of a site's API.
pub(crate) fn document(site: &Site) -> Value {
    let game = [
        parameter(
            "distribution",
            "What absent features are",
            names(site.menu.distributions().iter().map(|one| one.name.as_str())),
        ),
        parameter("players", "Who plays", names(site.menu.players().iter().map(Players::kind))),
    ];
    let of_class = class(site, &[]).map(|schema| parameter("class", "Which class of a circuit of several", schema));
    let game: Vec<Value> = game.into_iter().chain(of_class).collect();
    let sort = json!({"type": "string", "enum": sort_keys(site).collect::<Vec<_>>()});
    let mut of_rows = game.clone();
    of_rows.extend([
        parameter(
            "offset",
            "How many rows to pass over",
            json!({"type": "integer", "minimum": 0, "maximum": MOST_OFFSET}),
        ),
        parameter("limit", "How many rows at most", json!({"type": "integer", "minimum": 1, "maximum": 500})),
        parameter("search", "A text that some cell contains", json!({"type": "string"})),
        parameter("sort", "By what; column:NAME is a column of the data whatever its name", sort),
        parameter("descending", "The largest first", json!({"type": "boolean"})),
    ]);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "boolshap",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Exact SHAP scores of one Boolean circuit. Scores explain the decision, 0 or 1.",
        },
        "paths": {
            "/api/health": {"get": operation("health", "Whether the server answers", &[], object(&[("status", json!({"const": "ok"}))]))},
            "/api/model": {"get": operation("model", "What is served", &[], model())},
            "/api/page": {"get": operation("page", "What the page shows of a game", &game, json!({"type": "object"}))},
            "/api/rows": {"get": operation("rows", "Rows of the data", &of_rows, found())},
            "/api/explain": {"post": explain(site)},
        },
        "components": {
            "schemas": {"Error": error()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    json!({"type": "string", "enum": names.collect::<Vec<_>>()})
}

/// A class by number or name; a single label has no choice.
fn class(site: &Site, several: &[&str]) -> Option<Value> {
    let names = site.circuit().classes.iter().map(|(name, _)| name.as_str()).chain(several.iter().copied());
    let number = json!({"type": "integer", "minimum": 0, "maximum": site.subjects.len() - 1});
    (!site.circuit().classes.is_empty()).then(|| json!({"anyOf": [number, {"enum": names.collect::<Vec<_>>()}]}))
}

fn parameter(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "required": false, "description": description, "schema": schema})
}

/// An object with these fields, all of them there.
fn object(fields: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| (name.to_string(), schema.clone())).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn whole() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn error() -> Value {
    let inner = json!({
        "type": "object",
        "properties": {"message": text(), "field": {"type": "string", "description": "What is wrong"}},
        "required": ["message"],
    });
    object(&[("error", inner)])
}

fn responses(good: Value) -> Value {
    let wrong = json!({"schema": {"$ref": "#/components/schemas/Error"}});
    let response = |words: &str| json!({"description": words, "content": {"application/json": wrong}});
    json!({
        "200": {"description": "The answer", "content": {"application/json": {"schema": good}}},
        "400": response("A field is wrong; the message begins with its name"),
        "401": response("A token is needed"),
        "403": response("The request names another host"),
        "408": response("The request took too long to arrive"),
        "413": response("The body is too large, or it has too many entities"),
        "415": response("The content is neither JSON nor Arrow"),
        "422": response("The entity is well formed, but the game has no answer for it"),
        "503": response("The server is busy or stopping"),
        "504": response("The answer took longer than the limit"),
    })
}

fn operation(name: &str, summary: &str, parameters: &[Value], good: Value) -> Value {
    let security = json!([{}, {"token": []}]);
    json!({"operationId": name, "summary": summary, "parameters": parameters, "responses": responses(good), "security": security})
}

fn model() -> Value {
    let feature = object(&[("name", text()), ("zero", text()), ("one", text())]);
    let column = object(&[("name", text()), ("features", list(whole())), ("one_hot", json!({"type": "boolean"}))]);
    object(&[
        ("features", list(feature)),
        ("columns", list(column)),
        ("labels", list(text())),
        ("classes", list(text())),
        ("nodes", whole()),
        ("edges", whole()),
        ("distributions", list(text())),
        ("players", list(text())),
        ("rows", whole()),
        ("facts", list(list(text()))),
        ("verified", verified()),
        ("cautions", list(text())),
    ])
}

/// Whether the circuit was proved equal to its model, and who says so.
fn verified() -> Value {
    let words = json!({"type": ["string", "null"]});
    let standing = json!({"enum": ["no", "proved", "claimed", "claimed without digest", "refuted"]});
    let more = ["method", "of", "digest", "circuit"].map(|name| (name, words.clone()));
    object(&[&[("standing", standing), ("words", text())], &more[..]].concat())
}

fn found() -> Value {
    let row = object(&[
        ("row", whole()),
        ("bits", text()),
        ("cells", list(json!({"type": ["number", "string", "null"]}))),
        ("prediction", json!({"enum": [0, 1]})),
        ("label", json!({"enum": [0, 1, null]})),
    ]);
    let column = object(&[("name", text()), ("numeric", json!({"type": "boolean"}))]);
    object(&[("total", whole()), ("offset", whole()), ("rows", list(row)), ("columns", list(column))])
}

/// Entities in each of the forms that are read.
fn entity_forms(site: &Site) -> Vec<Value> {
    let (features, most) = (site.circuit().features.len(), site.limits.rows);
    let bit = json!({"enum": [0, 1, false, true]});
    let entities = |entity: Value| json!({"type": "array", "items": entity, "minItems": 1, "maxItems": most});
    let by_name: Vec<(&str, Value)> = site.circuit().features.iter().map(|name| (name.as_str(), bit.clone())).collect();
    let mut kinds = vec![
        entities(json!({"type": "array", "items": bit, "minItems": features, "maxItems": features})),
        entities(object(&by_name)),
    ];
    if let Some(schema) = &site.circuit().binariser {
        let raw: Vec<(&str, Value)> = schema
            .columns()
            .iter()
            .map(|column| {
                let values = match &column.code {
                    Code::Above(_) | Code::Bins(_) => json!({"type": ["number", "null"]}),
                    Code::Boolean => json!({"enum": [0, 1, false, true, null]}),
                    Code::Categories(values) => {
                        json!({"enum": values.iter().map(|value| json!(value)).chain([Value::Null]).collect::<Vec<_>>()})
                    }
                };
                (column.column.as_str(), values)
            })
            .collect();
        kinds.push(entities(object(&raw)));
    }
    kinds
}

/// The body of a request for explanations.
fn explain_body(site: &Site) -> Value {
    let truth = json!({"type": "boolean", "default": false});
    let mut body = json!({
        "type": "object",
        "properties": {
            "entities": {
                "description": "Lists of 0 and 1 in the order of the features, or objects with every feature, or objects \
                                with every raw column; all of one kind",
                "anyOf": entity_forms(site),
            },
            "distribution": names(site.menu.distributions().iter().map(|one| one.name.as_str())),
            "players": names(site.menu.players().iter().map(Players::kind)),
            "index": {"enum": ["shapley", "banzhaf", "interaction"], "default": "shapley"},
            "exact": truth,
            "flips": truth,
        },
        "required": ["entities"],
        "additionalProperties": false,
    });
    if let Some(class) = class(site, &["each", "predicted"]) {
        body["properties"]["class"] = class;
    }
    body
}

fn explain(site: &Site) -> Value {
    let number = json!({
        "type": ["number", "string", "array", "null"],
        "description": "A number, or the text of a fraction if exact; with each class, one for each",
    });
    let explained = json!({
        "type": "object",
        "properties": {
            "prediction": whole(),
            "base_value": number,
            "scores": list(number.clone()),
            "flips": {
                "description": "The features whose switch alone changes the prediction; in a one-hot column switching one \
                                on switches its siblings off",
                "type": "array",
                "items": whole(),
            },
        },
        "required": ["prediction", "scores"],
    });
    let good = object(&[("players", list(text())), ("base_value", number), ("explanations", list(explained))]);
    let mut operation = operation("explain", "The exact scores of entities", &[], good);
    operation["description"] =
        "Also takes an Arrow stream (Content-Type application/vnd.apache.arrow.stream) with columns by \
                                name as in a file, with the options in the query, and answers with one if Accept names \
                                it: prediction, base_value, and a column for each player."
            .into();
    operation["requestBody"] =
        json!({"required": true, "content": {"application/json": {"schema": explain_body(site)}}});
    operation
}
