//! Requests for explanations: JSON or Arrow into bits and settings, or an error that names the field.

use crate::error::ApiError;
use crate::quiet::quietly;
use crate::site::Site;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use axum::http::StatusCode;
use boolshap::Request;
use boolshap::data::{Bits, Cells, bits_of_columns};
use boolshap::workflow::{Ask, Choice, Scope};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A request for explanations.
#[derive(Debug)]
pub(crate) struct ExplainQuestion {
    pub(crate) entities: Bits,
    pub(crate) game: Choice,
    pub(crate) ask: Ask,
    pub(crate) switches: bool,
}

/// The settings of a request, besides its entities.
pub(crate) const SETTINGS: [&str; 6] = ["distribution", "players", "class", "index", "exact", "flips"];

impl ExplainQuestion {
    /// Fails if the answer would be larger than allowed.
    pub(crate) fn check_size(&self, site: &Site) -> Result<(), ApiError> {
        let players = site.menu.players()[self.game.players].len();
        let classes = if self.ask.scope == Scope::Each { site.subjects.len() } else { 1 };
        let width = self.ask.index.width(players).saturating_mul(classes);
        let (rows, limit) = (self.entities.rows(), site.limits.numbers);
        if rows.saturating_mul(width) > limit {
            let message = format!("entities: {rows} with {width} numbers each are more than {limit} in one answer");
            return Err(ApiError { status: StatusCode::PAYLOAD_TOO_LARGE, message, field: Some("entities".into()) });
        }
        Ok(())
    }

    /// With settings given by their texts, and entities read after them.
    fn new<'t>(
        site: &Site,
        setting: impl Fn(&str) -> Option<&'t str>,
        entities: impl FnOnce() -> Result<Bits, ApiError>,
    ) -> Result<Self, ApiError> {
        let game = site.menu.choose(setting("distribution"), setting("players"))?;
        let mut request = Request::default();
        for name in ["class", "index", "exact"] {
            setting(name).map_or(Ok(()), |text| request.set(name, text))?;
        }
        let switches = match setting("flips") {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => return Err(ApiError::bad("flips", format!("'{other}' is neither true nor false"))),
        };
        let scope = site.menu.explainer(game)?.scope(request.class.as_ref())?;
        let ask = Ask { scope, index: request.index, exact: request.exact };
        Ok(ExplainQuestion { entities: entities()?, game, ask, switches })
    }

    /// From a JSON body.
    pub(crate) fn of_json(site: &Site, body: &[u8]) -> Result<Self, ApiError> {
        // Counted before they take memory as values, each of them many times its bytes.
        check_rows(site, opened(body).saturating_sub(2))?;
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}")))?;
        let Value::Object(fields) = value else {
            let message = "the body must be an object with the field 'entities'";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, message));
        };
        let mut settings = HashMap::new();
        for (name, value) in fields.iter().filter(|(name, _)| *name != "entities") {
            settings.insert(name.as_str(), text_of(name, value)?);
        }
        let entities = || match fields.get("entities") {
            Some(Value::Array(entities)) => entities_of_json(site, entities),
            Some(other) => Err(ApiError::bad("entities", format!("{} is not a list of entities", short(other)))),
            None => Err(ApiError::bad("entities", "is missing: a list of entities is expected")),
        };
        Self::new(site, |name| settings.get(name).map(String::as_str), entities)
    }

    /// From an Arrow stream, with the settings in the query.
    pub(crate) fn of_arrow(site: &Site, body: &[u8], settings: &HashMap<String, String>) -> Result<Self, ApiError> {
        Self::new(site, |name| settings.get(name).map(String::as_str), || entities_of_arrow(site, body))
    }
}

/// The text of a setting in JSON, which must be of the setting's type.
fn text_of(name: &str, value: &Value) -> Result<String, ApiError> {
    let wrong = |what: &str| ApiError::bad(name, format!("{} is not {what}", short(value)));
    match (name, value) {
        ("exact" | "flips", Value::Bool(truth)) => Ok(truth.to_string()),
        ("exact" | "flips", _) => Err(wrong("true or false")),
        ("class", Value::String(text)) => Ok(text.clone()),
        ("class", _) => {
            whole(value).map(|class| class.to_string()).ok_or_else(|| wrong("the number or name of a class"))
        }
        (known, Value::String(text)) if SETTINGS.contains(&known) => Ok(text.clone()),
        (known, _) if SETTINGS.contains(&known) => Err(wrong("a text")),
        _ => Err(ApiError::bad(name, format!("there is no such field (there are: entities, {})", SETTINGS.join(", ")))),
    }
}

/// Entities as the rows of an Arrow stream.
fn entities_of_arrow(site: &Site, body: &[u8]) -> Result<Bits, ApiError> {
    let wrong =
        |problem: String| ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not an Arrow stream: {problem}"));
    check_messages(body).map_err(&wrong)?;
    let schema = site.circuit().binariser.as_ref();
    let read = || {
        let reader = StreamReader::try_new(body, None).map_err(|e| wrong(e.to_string()))?;
        let mut entities = Bits::new(site.circuit().features.len());
        for batch in reader {
            let batch = batch.map_err(|e| wrong(e.to_string()))?;
            check_rows(site, entities.rows().saturating_add(batch.num_rows()))?;
            let named = batch.schema();
            let mut columns = Vec::new();
            for (field, array) in named.fields().iter().zip(batch.columns()) {
                let name = field.name();
                if site.circuit().features.contains(name) || site.columns.names().contains(name) {
                    check_unpacked(array, site.limits.body_bytes).map_err(|problem| ApiError::bad(name, problem))?;
                    columns.push((name.clone(), Cells::of_array(array).map_err(|e| ApiError::bad(name, e))?));
                }
            }
            let before = entities.rows();
            let bits = bits_of_columns("entities", batch.num_rows(), &columns, &site.circuit().features, schema);
            entities.append(&bits.map_err(|error| ApiError::of_data(error, before))?);
        }
        match entities.rows() {
            0 => Err(ApiError::bad("entities", "the list is empty")),
            _ => Ok(entities),
        }
    };
    // The package panics on some streams that are not what they say.
    quietly(read).unwrap_or_else(|| Err(wrong("it is damaged".into())))
}

/// Bounds a column's size once its dictionary is expanded.
fn check_unpacked(array: &ArrayRef, most: usize) -> Result<(), String> {
    let bytes = match array.data_type() {
        DataType::Dictionary(..) => {
            let values = array.as_any_dictionary().values();
            let cells = Cells::of_array(values).map_err(|e| e.to_string())?;
            let longest = (0..values.len()).map(|value| cells.text(value).map_or(0, |text| text.len())).max();
            array.len().saturating_mul(longest.unwrap_or(0))
        }
        DataType::Utf8View => array.as_string_view().iter().flatten().map(str::len).sum(),
        DataType::BinaryView | DataType::RunEndEncoded(..) => return Err(format!("{} is not read", array.data_type())),
        _ => 0,
    };
    match bytes <= most {
        true => Ok(()),
        false => Err(format!("its values take {bytes} bytes, more than {most}")),
    }
}

/// Each message must lie within the body, whatever size it announces.
fn check_messages(body: &[u8]) -> Result<(), String> {
    let cut = || "it is cut off".to_string();
    let mut rest = body;
    while !rest.is_empty() {
        let word = |place: usize| {
            rest.get(place..place + 4).map(|bytes| i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        // Old streams begin with the length itself.
        let (begin, length) = match word(0).ok_or_else(cut)? {
            -1 => (8, word(4).ok_or_else(cut)?),
            length => (4, length),
        };
        if length == 0 {
            return Ok(());
        }
        let end = begin + usize::try_from(length).map_err(|_| cut())?;
        let message = arrow_ipc::root_as_message(rest.get(begin..end).ok_or_else(cut)?).map_err(|e| e.to_string())?;
        let end = usize::try_from(message.bodyLength()).ok().and_then(|length| length.checked_add(end));
        rest = rest.get(end.ok_or_else(cut)?..).ok_or_else(cut)?;
    }
    Ok(())
}

fn check_rows(site: &Site, rows: usize) -> Result<(), ApiError> {
    let limit = site.limits.rows;
    if rows > limit {
        let message = format!("entities: more than {limit} in one request");
        return Err(ApiError { status: StatusCode::PAYLOAD_TOO_LARGE, message, field: Some("entities".into()) });
    }
    Ok(())
}

fn entities_of_json(site: &Site, entities: &[Value]) -> Result<Bits, ApiError> {
    check_rows(site, entities.len())?;
    match entities.first() {
        None => Err(ApiError::bad("entities", "the list is empty")),
        Some(Value::Object(_)) => objects(site, entities),
        Some(_) => lists(site, entities),
    }
}

/// Entities as lists of 0 and 1 in the order of the features.
fn lists(site: &Site, entities: &[Value]) -> Result<Bits, ApiError> {
    let features = site.circuit().features.len();
    let mut bits = Bits::new(features);
    let mut row = Vec::with_capacity(features);
    for (number, entity) in entities.iter().enumerate() {
        let Value::Array(values) = entity else {
            let problem = format!("{} is not a list, as the first entity is", short(entity));
            return Err(ApiError::bad(format!("entities[{number}]"), problem));
        };
        if values.len() != features {
            let problem = format!("{} values, but there are {features} features", values.len());
            return Err(ApiError::bad(format!("entities[{number}]"), problem));
        }
        row.clear();
        for (place, value) in values.iter().enumerate() {
            row.push(bit(value).ok_or_else(|| {
                ApiError::bad(format!("entities[{number}][{place}]"), format!("{} is not 0 or 1", short(value)))
            })?);
        }
        bits.push(&row);
    }
    Ok(bits)
}

/// Entities as objects, all of them with the fields of the first: features, or raw columns.
fn objects(site: &Site, entities: &[Value]) -> Result<Bits, ApiError> {
    let mut rows: Vec<&Map<String, Value>> = Vec::with_capacity(entities.len());
    for (number, entity) in entities.iter().enumerate() {
        let Value::Object(fields) = entity else {
            let problem = format!("{} is not an object, as the first entity is", short(entity));
            return Err(ApiError::bad(format!("entities[{number}]"), problem));
        };
        rows.push(fields);
    }
    let schema = site.circuit().binariser.as_ref();
    let is_raw =
        schema.is_some_and(|schema| schema.columns().iter().all(|column| rows[0].contains_key(&column.column)));
    let known = site.circuit().features.iter().chain(site.columns.names());
    let mut columns: Vec<(String, Cells)> = Vec::new();
    for name in known {
        // A feature that is a raw column of its own name is looked at once.
        if !rows[0].contains_key(name) || columns.iter().any(|(column, _)| column == name) {
            continue;
        }
        let column = |(number, row): (usize, &&Map<String, Value>)| {
            let place = || format!("entities[{number}].{name}");
            match row.get(name) {
                None => Err(ApiError::bad(place(), "is missing, but the first entity has it")),
                Some(Value::Array(_) | Value::Object(_)) => Err(ApiError::bad(place(), "is not a single value")),
                Some(Value::Null) => Ok(None),
                // A bit may be true; of a raw value that means what its column makes of the word.
                Some(Value::Bool(truth)) if is_raw => Ok(Some(truth.to_string())),
                Some(Value::Bool(truth)) => Ok(Some(u8::from(*truth).to_string())),
                Some(Value::Number(number)) => Ok(Some(number.to_string())),
                Some(Value::String(text)) => Ok(Some(text.clone())),
            }
        };
        let texts = rows.iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
        columns.push((name.clone(), Cells::of_texts(&texts)));
    }
    bits_of_columns("entities", rows.len(), &columns, &site.circuit().features, schema)
        .map_err(|error| ApiError::of_data(error, 0))
}

/// How many lists and objects a text of JSON opens.
fn opened(body: &[u8]) -> usize {
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

/// 0, 1, false or true; 1.0 is 1 as well.
fn bit(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        _ => whole(value).filter(|number| *number <= 1).map(|number| number == 1),
    }
}

/// A number that is whole and not negative, however it is written.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
    })
}

/// A value for a message, not longer than a line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
