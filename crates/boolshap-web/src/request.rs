//! Requests for explanations: parses JSON or Arrow into bits and settings; errors name the field.

use crate::error::ApiError;
#[cfg(feature = "server")]
use crate::quiet::quietly;
use crate::site::Site;
use boolshap::Request;
#[cfg(feature = "server")]
use boolshap::data::bits_of_stream;
use boolshap::data::{Bits, Reading, bits_of_json, each_in_json, short_text};
use boolshap::explain::Index;
use boolshap::workflow::{Ask, Choice, GroupsFrom, Scope};
use http::StatusCode;
use std::collections::HashMap;

/// A request for explanations.
#[derive(Debug)]
pub(crate) struct ExplainQuestion {
    pub(crate) entities: Bits,
    pub(crate) game: Choice,
    pub(crate) ask: Ask,
    /// The groups of the players, for Owen values.
    pub(crate) groups: Option<GroupsFrom>,
    pub(crate) flips: bool,
    /// Whether the second model is asked, instead of the one that is shown.
    pub(crate) beside: bool,
}

/// About how many bytes a fraction takes.
pub(crate) const EXACT_BYTES: usize = 256;
/// The settings of a request, besides its entities.
pub(crate) const SETTINGS: [&str; 10] =
    ["model", "distribution", "players", "model_output", "class", "index", "groups", "exact", "flips", "input"];

impl ExplainQuestion {
    /// About how much memory, in bytes, answering takes; an error if the answer would have more numbers than allowed.
    pub(crate) fn cost(&self, site: &Site) -> Result<usize, ApiError> {
        let players = site.menu(self.beside).players()[self.game.players].len();
        let classes = if self.ask.scope == Scope::Each { site.report.subjects().len() } else { 1 };
        let width = self.ask.index.width(players).saturating_mul(classes);
        let (rows, limit) = (self.entities.rows(), site.limits.numbers);
        // Entities, numbers as they are computed, and numbers in the result.
        let number = if self.ask.exact { 2 * EXACT_BYTES } else { 16 };
        let flips = if self.flips { 24 + 8 * self.entities.features() } else { 0 };
        let row = number * (width + classes) + flips + self.entities.features() / 4 + 32;
        match rows.saturating_mul(width) <= limit {
            true => Ok(rows * row),
            false => Err(ApiError::too_large(format!(
                "{rows} with {width} numbers each are more than {limit} in one answer"
            ))),
        }
    }

    /// From a JSON body.
    pub(crate) fn of_json(site: &Site, body: &[u8]) -> Result<Self, ApiError> {
        let limit = site.limits.rows;
        let (settings, entities) = settings_and_entities(body, limit)?;
        let circuit = site.circuit();
        let read = |reading| bits_of_json(entities, &circuit.features, circuit.binariser.as_ref(), reading, limit);
        Self::new(site, &settings, |reading| Ok(read(reading)?))
    }

    /// From an Arrow stream, with the settings in the query.
    #[cfg(feature = "server")]
    pub(crate) fn of_arrow(site: &Site, body: &[u8], settings: &HashMap<String, String>) -> Result<Self, ApiError> {
        let (circuit, limits) = (site.circuit(), site.limits);
        let schema = circuit.binariser.as_ref();
        let read = |reading| bits_of_stream(body, &circuit.features, schema, reading, limits.rows, limits.body_bytes);
        Self::new(site, settings, |reading| Ok(quietly(|| read(reading))?))
    }

    /// From settings given as text; entities are read after them.
    fn new(
        site: &Site,
        settings: &HashMap<String, String>,
        entities: impl FnOnce(Reading) -> Result<Bits, ApiError>,
    ) -> Result<Self, ApiError> {
        let setting = |name: &str| settings.get(name).map(String::as_str);
        let beside = match (setting("model"), site.report.beside()) {
            (None | Some("shown"), _) => false,
            (Some("beside"), Some(_)) => true,
            (Some("beside"), None) => return Err(ApiError::bad("model", "there is no second model beside this one")),
            (Some(other), _) => return Err(ApiError::bad("model", format!("'{other}' is not one of shown, beside"))),
        };
        let menu = site.menu(beside);
        let game = menu.choose(setting("distribution"), setting("players"))?;
        let mut request = Request::default();
        for name in ["model_output", "class", "index", "exact", "input"] {
            setting(name).map_or(Ok(()), |text| request.set(name, text))?;
        }
        let groups = setting("groups").map(groups_of).transpose()?;
        match (request.index, &groups) {
            // A file name would mean a file of the server.
            _ if request.groups.is_some() => return Err(ApiError::bad("index", "takes no file here: give groups")),
            (Index::Owen, None) => {
                let why = "is missing: Owen values need the group of every player";
                return Err(ApiError::contradiction("groups", why));
            }
            (Index::Owen, Some(_)) | (_, None) => {}
            (_, Some(_)) => return Err(ApiError::contradiction("groups", "goes with the index owen")),
        }
        let flips = truth("flips", setting("flips"))?;
        let explainer = menu.explainer(game)?;
        explainer.check_output(&request)?;
        let scope = explainer.scope(request.class.as_ref())?;
        let ask = Ask { scope, index: request.index, exact: request.exact };
        Ok(ExplainQuestion { entities: entities(request.input)?, game, ask, groups, flips, beside })
    }
}

/// The settings of a JSON body as text, and the text of its entities, at most this many.
pub(crate) fn settings_and_entities(body: &[u8], limit: usize) -> Result<(HashMap<String, String>, &str), ApiError> {
    // Count before parsing, so that too many entities are the error whatever else is wrong.
    if opened(body).saturating_sub(2) > limit {
        return Err(ApiError::too_large(format!("more than {limit} in one request")));
    }
    let wrong = |problem: String| ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {problem}"));
    let text = std::str::from_utf8(body).map_err(|error| wrong(error.to_string()))?;
    let (mut settings, mut entities) = (HashMap::new(), None);
    each_in_json(
        text,
        |error| wrong(error.to_string()),
        |name, value| {
            let Some(name) = name else {
                return Err(ApiError::new(
                    StatusCode::BAD_REQUEST,
                    "the body must be an object with the field 'entities'",
                ));
            };
            let is_new = match name.as_ref() {
                "entities" => entities.replace(value).is_none(),
                name => settings.insert(name.to_string(), text_of(name, value)?).is_none(),
            };
            if is_new { Ok(()) } else { Err(ApiError::bad(name, "is there twice")) }
        },
    )?;
    let entities = entities.ok_or_else(|| ApiError::bad("entities", "is missing: a list of entities is expected"))?;
    Ok((settings, entities))
}

/// The group of each player, from an object of texts.
fn groups_of(text: &str) -> Result<GroupsFrom, ApiError> {
    let wrong = |_| ApiError::bad("groups", "is not an object that gives each player the name of its group");
    serde_json::from_str::<HashMap<String, String>>(text).map(GroupsFrom::Named).map_err(wrong)
}

/// An option that is true or false; false if it is not given.
pub(crate) fn truth(name: &str, text: Option<&str>) -> Result<bool, ApiError> {
    match text {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(ApiError::bad(name, format!("'{other}' is neither true nor false"))),
    }
}

/// The text of a setting in JSON, which must be of the setting's type.
fn text_of(name: &str, value: &str) -> Result<String, ApiError> {
    let text = || serde_json::from_str::<String>(value).ok();
    // A class may be written as 1.0.
    let whole = || value.parse().ok().filter(|class: &f64| class.fract() == 0.0 && (0.0..9e15).contains(class));
    let (found, expected) = match name {
        "exact" | "flips" => (matches!(value, "true" | "false").then(|| value.to_string()), "true or false"),
        "class" => {
            (text().or_else(|| whole().map(|class| format!("index:{}", class as u64))), "the number or name of a class")
        }
        // Checked where it is used.
        "groups" => (Some(value.to_string()), "an object"),
        known if SETTINGS.contains(&known) => (text(), "a text"),
        _ => {
            let problem = format!("there is no such field (there are: entities, {})", SETTINGS.join(", "));
            return Err(ApiError::bad(short_text(name), problem));
        }
    };
    found.ok_or_else(|| ApiError::bad(name, format!("{} is not {expected}", short_text(value))))
}

/// How many lists and objects a JSON text opens.
pub(crate) fn opened(body: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}
