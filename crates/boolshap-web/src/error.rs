//! Error responses: a status, a sentence, and the field that is wrong.

#[cfg(feature = "server")]
use axum::response::{IntoResponse, Response};
use boolshap::Error;
use boolshap::data::DataError;
use boolshap::lit::{Remedy, Stopped};
use http::StatusCode;
#[cfg(feature = "server")]
use http::{HeaderValue, header};
use serde_json::{Value, json};

/// An error response.
#[derive(Debug)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// What is wrong.
    pub message: String,
    /// The wrong field, if there is one.
    pub field: Option<String>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        ApiError { status, message: message.into(), field: None }
    }

    /// A field that is wrong; the message begins with it.
    pub(crate) fn bad(field: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        let field = field.into();
        ApiError { status: StatusCode::BAD_REQUEST, message: format!("{field}: {problem}"), field: Some(field) }
    }

    /// A field that is right alone, but does not go together with another.
    pub(crate) fn contradiction(field: &str, problem: impl std::fmt::Display) -> Self {
        ApiError { status: StatusCode::UNPROCESSABLE_ENTITY, ..Self::bad(field, problem) }
    }

    /// More entities than allowed, or more than an answer has room for.
    pub(crate) fn too_large(problem: impl std::fmt::Display) -> Self {
        ApiError { status: StatusCode::PAYLOAD_TOO_LARGE, ..Self::bad("entities", problem) }
    }

    /// The error as a client reads it.
    pub fn json(&self) -> Value {
        let mut error = json!({"message": self.message});
        if let Some(field) = &self.field {
            error["field"] = field.as_str().into();
        }
        json!({"error": error})
    }
}

/// Errors in the entities of a request.
impl From<DataError> for ApiError {
    fn from(error: DataError) -> Self {
        match error {
            DataError::Field { field, problem } => Self::bad(field, problem),
            // Neither the setting nor the entity is wrong, but they do not go together.
            DataError::OtherReading { field, problem } => Self::contradiction(&field, problem),
            DataError::TooManyRows { most } => Self::too_large(format!("more than {most} in one request")),
            DataError::Stopped(stopped) => stopped.into(),
            // The message of any other error begins with `entities`.
            other => {
                let field = Some("entities".into());
                let remedy = other.remedy().map_or("", |_| ": give input, raw or bits");
                ApiError { status: StatusCode::BAD_REQUEST, message: format!("{other}{remedy}"), field }
            }
        }
    }
}

/// A wrong setting is a bad request; any other refusal of the library means that the game has no answer for an entity.
impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let remedy = match error.remedy() {
            Some(Remedy::FewerPlayers) => ": choose the players columns",
            Some(Remedy::FewerPlayersOrBackground) => ": choose the players columns, or the distribution background",
            Some(Remedy::SmallerBackground) => ": choose another distribution, or the players columns",
            Some(Remedy::SmallerNetwork { .. }) => ": a network with fewer neurons would do",
            _ => "",
        };
        match &error {
            Error::Setting { setting, message, .. } => Self::bad(*setting, message),
            Error::UnknownClass { .. } => Self::bad("class", &error),
            _ => match error.stopped() {
                Some(stopped) => stopped.into(),
                None => Self::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{error}{remedy}")),
            },
        }
    }
}

impl From<Stopped> for ApiError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::OutOfTime { .. } => Self::new(StatusCode::GATEWAY_TIMEOUT, stopped.to_string()),
            _ => Self::new(StatusCode::SERVICE_UNAVAILABLE, stopped.to_string()),
        }
    }
}

#[cfg(feature = "server")]
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.json())).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
