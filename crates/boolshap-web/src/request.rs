//! Requests for explanations: JSON or Arrow into bits and options, or a sentence that names the field.

use crate::error::ApiError;
use crate::quiet::quietly;
use crate::site::{Choice, Site};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use axum::http::StatusCode;
use boolshap::data::{Bits, Cells, bits_of_columns};
use boolshap::explain::Index;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) entities: Bits,
    pub(crate) choice: Choice,
    pub(crate) index: Index,
    pub(crate) exact: bool,
    pub(crate) switches: bool,
}

const FIELDS: [&str; 7] = ["entities", "distribution", "players", "class", "index", "exact", "flips"];

impl Asked {
    /// Whether the answer is within its limit.
    pub(crate) fn check_size(&self, site: &Site) -> Result<(), ApiError> {
        let players = site.players[self.choice.players].len();
        let width = match self.index {
            Index::Interaction => players * players.saturating_sub(1) / 2,
            Index::Shapley | Index::Banzhaf => players,
        };
        let (rows, limit) = (self.entities.rows(), site.limits.numbers);
        if rows.saturating_mul(width) > limit {
            let message = format!("entities: {rows} with {width} numbers each are more than {limit} in one answer");
            return Err(ApiError { status: StatusCode::PAYLOAD_TOO_LARGE, message, field: Some("entities".into()) });
        }
        Ok(())
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
        if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(ApiError::bad(unknown, format!("there is no such field (there are: {})", FIELDS.join(", "))));
        }
        let text = |field: &'static str| match fields.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(ApiError::bad(field, format!("{} is not a text", short(other)))),
        };
        let truth = |field: &'static str| match fields.get(field) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(other) => Err(ApiError::bad(field, format!("{} is neither true nor false", short(other)))),
        };
        let class = match fields.get("class") {
            None => None,
            Some(value) => Some(
                whole(value)
                    .ok_or_else(|| ApiError::bad("class", format!("{} is not the number of a class", short(value))))?,
            ),
        };
        let choice = site.choose(text("distribution")?, text("players")?, class)?;
        let (index, exact, switches) = (index(text("index")?)?, truth("exact")?, truth("flips")?);
        let entities = match fields.get("entities") {
            Some(Value::Array(entities)) => entities_of_json(site, entities)?,
            Some(other) => {
                return Err(ApiError::bad("entities", format!("{} is not a list of entities", short(other))));
            }
            None => return Err(ApiError::bad("entities", "is missing: a list of entities is expected")),
        };
        Ok(Asked { entities, choice, index, exact, switches })
    }

    /// From an Arrow stream, the options standing in the query.
    pub(crate) fn of_arrow(site: &Site, body: &[u8], options: &HashMap<String, String>) -> Result<Self, ApiError> {
        if let Some(unknown) = options.keys().find(|key| !FIELDS[1..].contains(&key.as_str())) {
            return Err(ApiError::bad(
                unknown,
                format!("there is no such option (there are: {})", FIELDS[1..].join(", ")),
            ));
        }
        let option = |field: &str| options.get(field).map(String::as_str);
        let truth = |field: &'static str| match option(field) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(ApiError::bad(field, format!("'{other}' is neither true nor false"))),
        };
        let class = class_of_query(option("class"))?;
        let choice = site.choose(option("distribution"), option("players"), class)?;
        let (index, exact, switches) = (index(option("index"))?, truth("exact")?, truth("flips")?);
        let entities = entities_of_arrow(site, body)?;
        Ok(Asked { entities, choice, index, exact, switches })
    }
}

/// Entities as the rows of an Arrow stream.
fn entities_of_arrow(site: &Site, body: &[u8]) -> Result<Bits, ApiError> {
    let wrong =
        |problem: String| ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not an Arrow stream: {problem}"));
    check_messages(body).map_err(&wrong)?;
    let schema = site.named.binariser.as_ref();
    let read = || {
        let reader = StreamReader::try_new(body, None).map_err(|e| wrong(e.to_string()))?;
        let mut entities = Bits::new(site.named.features.len());
        for batch in reader {
            let batch = batch.map_err(|e| wrong(e.to_string()))?;
            check_rows(site, entities.rows().saturating_add(batch.num_rows()))?;
            let named = batch.schema();
            let mut columns = Vec::new();
            for (field, array) in named.fields().iter().zip(batch.columns()) {
                let name = field.name();
                if site.named.features.contains(name) || site.columns.names().contains(name) {
                    check_unpacked(array, site.limits.body_bytes).map_err(|problem| ApiError::bad(name, problem))?;
                    columns.push((name.clone(), Cells::of_array(array).map_err(|e| ApiError::bad(name, e))?));
                }
            }
            let before = entities.rows();
            let bits = bits_of_columns("entities", batch.num_rows(), &columns, &site.named.features, schema);
            entities.append(&bits.map_err(|error| ApiError::of_data(error, before))?);
        }
        match entities.rows() {
            0 => Err(ApiError::bad("entities", "there is none")),
            _ => Ok(entities),
        }
    };
    // The package panics on some streams that are not what they say.
    quietly(read).unwrap_or_else(|| Err(wrong("it is damaged".into())))
}

/// Texts that a few bytes stand for many times over must not become more than so many.
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

/// The sizes that messages announce are not believed: each must lie within the body.
fn check_messages(body: &[u8]) -> Result<(), String> {
    let cut = || "it is cut off".to_string();
    let mut rest = body;
    while !rest.is_empty() {
        let word = |place: usize| {
            rest.get(place..place + 4).map(|bytes| i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        // Streams of old begin with the length itself.
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

/// The number of a class in a query.
pub(crate) fn class_of_query(text: Option<&str>) -> Result<Option<u64>, ApiError> {
    text.map(|text| text.parse().map_err(|_| ApiError::bad("class", format!("'{text}' is not the number of a class"))))
        .transpose()
}

fn index(name: Option<&str>) -> Result<Index, ApiError> {
    match name {
        None | Some("shapley") => Ok(Index::Shapley),
        Some("banzhaf") => Ok(Index::Banzhaf),
        Some("interaction") => Ok(Index::Interaction),
        Some(other) => Err(ApiError::bad("index", format!("'{other}' is none of shapley, banzhaf, interaction"))),
    }
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
        None => Err(ApiError::bad("entities", "there is none")),
        Some(Value::Object(_)) => objects(site, entities),
        Some(_) => lists(site, entities),
    }
}

/// Entities as lists of 0 and 1 in the order of the features.
fn lists(site: &Site, entities: &[Value]) -> Result<Bits, ApiError> {
    let features = site.named.features.len();
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
    let schema = site.named.binariser.as_ref();
    let is_raw =
        schema.is_some_and(|schema| schema.columns().iter().all(|column| rows[0].contains_key(&column.column)));
    let known = site.named.features.iter().chain(site.columns.names());
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
    of_columns(site, rows.len(), &columns)
}

fn of_columns(site: &Site, rows: usize, columns: &[(String, Cells)]) -> Result<Bits, ApiError> {
    bits_of_columns("entities", rows, columns, &site.named.features, site.named.binariser.as_ref())
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
