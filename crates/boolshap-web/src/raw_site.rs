//! Serves a model of raw columns: the facts about it, and the scores of rows against its background. Without a circuit
//! it has neither a page nor questions.

use crate::answers::Answer;
use crate::body::{body_of_pieces, read_body};
use crate::error::ApiError;
use crate::guard::sends_arrow;
use crate::request::{EXACT_BYTES, settings_and_entities};
use crate::routes::{App, Options, Served, compute, options};
use crate::site::ServerLimits;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use boolshap::data::{DataError, RawRows, numbers_of_json};
use boolshap::explain::ExplainError;
use boolshap::workflow::{RawExplainer, RawGame, describe_raw};
use boolshap::{Error, lit::Watch};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A model of raw columns and its background, to be served.
pub struct RawSite {
    game: RawGame,
    limits: ServerLimits,
}

impl RawSite {
    /// A site of this game.
    pub fn new(game: RawGame, limits: ServerLimits) -> Self {
        RawSite { game, limits: limits.within_memory() }
    }

    fn model(&self) -> Value {
        let mut model = describe_raw(self.game.model()).json;
        let opening = self.game.opening();
        model["players"] = json!(opening.players());
        model["model_output"] = json!(opening.model_output().name());
        model["background_rows"] = json!(self.game.background_rows());
        model
    }
}

type Shared = State<Arc<App<RawSite>>>;

impl Served for RawSite {
    fn limits(&self) -> &ServerLimits {
        &self.limits
    }

    fn routes() -> Router<Arc<App<Self>>> {
        let nothing = "a model of raw columns has no page: POST its rows to /api/explain";
        Router::new()
            .route("/", get(move || async move { ApiError::new(StatusCode::NOT_FOUND, nothing) }))
            .route("/api/model", get(|State(app): Shared| async move { axum::Json(app.site.model()) }))
            .route("/api/explain", post(explain))
    }

    fn description(&self) -> Value {
        let columns = &self.game.model().columns;
        let number = json!({"type": ["number", "null"]});
        let fields: Value =
            columns.iter().map(|column| (column.clone(), number.clone())).collect::<serde_json::Map<_, _>>().into();
        let list = json!({"type": "array", "items": number, "minItems": columns.len(), "maxItems": columns.len()});
        let object = json!({"type": "object", "properties": fields, "required": columns});
        let entities =
            json!({"type": "array", "items": {"anyOf": [object, list]}, "minItems": 1, "maxItems": self.limits.rows});
        let outputs = json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]});
        let body = json!({"type": "object", "required": ["entities"], "additionalProperties": false, "properties": {
            "entities": entities, "class": outputs, "index": {"enum": ["shapley", "banzhaf", "interaction"]},
            "exact": {"type": "boolean"}, "distribution": {"const": "background"}, "players": {"enum": ["columns", "features"]},
            "model_output": {"const": self.game.opening().model_output().name()}, "input": {"enum": ["auto", "raw"]},
        }});
        let answer = |words: &str| json!({"200": {"description": words}, "default": {"description": "An error: what is wrong, and the field"}});
        let of = |words: &str| json!({"get": {"summary": words, "responses": answer(words)}});
        let explained = json!({"summary": "The scores of rows", "responses": answer("Base value and scores of every row"),
            "requestBody": {"required": true, "content": {"application/json": {"schema": body}}}});
        json!({
            "openapi": "3.1.0",
            "info": {"title": "boolshap: a model of raw columns", "version": env!("CARGO_PKG_VERSION")},
            "paths": {
                "/api/explain": {"post": explained}, "/api/model": of("What is known of the model"),
                "/api/health": of("Whether the server answers"), "/metrics": of("Counters for Prometheus"),
            },
        })
    }
}

/// A request for explanations.
struct RawQuestion {
    rows: RawRows,
    request: boolshap::Request,
}

impl RawQuestion {
    fn of_json(site: &RawSite, body: &[u8]) -> Result<Self, ApiError> {
        let limit = site.limits.rows;
        let (settings, entities) = settings_and_entities(body, limit)?;
        let mut request = boolshap::Request::default();
        for (name, text) in &settings {
            match (name.as_str(), text.as_str()) {
                ("model_output" | "class" | "index" | "exact", text) => request.set(name, text)?,
                ("distribution", "background") | ("players", "columns" | "features") | ("input", "auto" | "raw") => {}
                ("distribution", _) => return Err(ApiError::bad(name, "of a model of raw columns is background")),
                ("players", _) => return Err(ApiError::bad(name, "of a model of raw columns are columns")),
                ("input", _) => return Err(ApiError::bad(name, "of a model of raw columns is raw")),
                _ => return Err(ApiError::bad(name, "is for circuits, and this is a model of raw columns")),
            }
        }
        Ok(RawQuestion { rows: numbers_of_json(entities, &site.game.model().columns, limit)?, request })
    }

    /// About how much memory, in bytes, answering takes; an error if the answer would have more numbers than allowed.
    fn cost(&self, site: &RawSite) -> Result<usize, ApiError> {
        let (rows, limit) = (self.rows.len(), site.limits.numbers);
        let width = self.request.index.width(site.game.opening().players().len()) * site.game.model().width();
        match rows.saturating_mul(width) <= limit {
            // Numbers exist three times: for one tree, for all trees, and in the result.
            true => {
                Ok(rows * (width * if self.request.exact { 3 * EXACT_BYTES } else { 24 } + 16 * self.rows.width() + 32))
            }
            false => Err(ApiError::too_large(format!(
                "{rows} with {width} numbers each are more than {limit} in one answer"
            ))),
        }
    }

    fn answer(&self, site: &RawSite, watch: &Watch<'_>) -> Result<Answer, ApiError> {
        let of_rows = |explainer: &RawExplainer| Answer::of_raw(explainer, &self.rows, &self.request, watch);
        site.game.explaining(&self.request, watch, of_rows).map_err(|error| match error {
            Error::Data(DataError::Cell { row, column, value, problem, .. })
            | Error::Explain(ExplainError::Data(DataError::Cell { row, column, value, problem, .. })) => {
                ApiError::bad(format!("entities[{}].{column}", row.saturating_sub(1)), format!("{value} {problem}"))
            }
            other => other.into(),
        })
    }
}

async fn explain(State(app): Shared, given: Options, request: Request) -> Result<Response, ApiError> {
    if sends_arrow(request.headers())? {
        let message = "Content-Type: application/json is expected";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    options(given, &[])?;
    let (body, mut share) = read_body(&app, request.into_body()).await?;
    let reading = if body.len() > 1 << 16 { u128::MAX } else { 0 };
    share.resize(2 * body.len())?;
    let question = compute(app.clone(), reading, move |app, _| RawQuestion::of_json(&app.site, &body)).await?;
    share.resize(question.cost(&app.site)?)?;
    let rows = question.rows.len();
    let answered = compute(app.clone(), u128::MAX, move |app, watch| {
        let answer = question.answer(&app.site, watch)?;
        let bytes = answer.bytes();
        body_of_pieces(answer.json().map(Ok), share, bytes)
    });
    let body = answered.await?;
    app.metrics.entities.fetch_add(rows as u64, Relaxed);
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}
