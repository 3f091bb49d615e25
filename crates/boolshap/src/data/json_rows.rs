//! Entities sent by other programs as JSON: a list of lists of 0 and 1 in the order of the features, or a list of
//! objects whose fields are features or raw columns. All entities are of the same kind. They are parsed one by one into
//! bits or columns, so parsing needs little more memory than the text itself; a tree of JSON values would take twenty
//! times as much.

use super::{Binariser, Bits, Cells, DataError, Reading, bits_of_columns, reads_raw};
use arrow_array::builder::StringBuilder;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Error, Number};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// Passes each element of a JSON list, or each field of an object, to `call` with the text of its value. Stops at the
/// first error; `wrong` converts errors in the JSON itself.
pub fn each_in_json<'t, E>(
    text: &'t str,
    wrong: impl FnOnce(Error) -> E,
    call: impl FnMut(Option<Cow<'t, str>>, &'t str) -> Result<(), E>,
) -> Result<(), E> {
    let mut each = Each { call, failed: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = reader.deserialize_any(&mut each).and_then(|()| reader.end());
    each.failed.map_or_else(|| read.map_err(wrong), Err)
}

/// Reads the entities of a JSON list, called `entities` in messages; there may be at most `most` of them.
///
/// ```
/// use boolshap::data::bits_of_json;
/// let features = ["a", "b"].map(String::from);
/// use boolshap::data::Reading;
/// let bits = bits_of_json(r#"[{"b": 1, "a": false}, {"a": 1, "b": 1.0}]"#, &features, None, Reading::Auto, 10)?;
/// assert_eq!((bits.row(0), bits.row(1)), (vec![false, true], vec![true, true]));
/// let wrong = bits_of_json("[[0, 1], [1, 2]]", &features, None, Reading::Auto, 10).unwrap_err();
/// assert_eq!(wrong.to_string(), "entities[1][1]: 2 is not 0 or 1");
/// # Ok::<(), boolshap::data::DataError>(())
/// ```
pub fn bits_of_json(
    text: &str,
    features: &[String],
    binariser: Option<&Binariser>,
    reading: Reading,
    most: usize,
) -> Result<Bits, DataError> {
    let text = text.trim_ascii();
    if !text.starts_with('[') || i32::try_from(text.len()).is_err() {
        return Err(wrong("entities", format!("{} is not a list of entities", short_text(text))));
    }
    let bits = Bits::new(features.len());
    let mut rows = JsonRows { features, binariser, reading, number: 0, bits, objects: None };
    let add = |_, entity| match rows.number < most {
        true => rows.add(entity),
        false => Err(DataError::TooManyRows { most }),
    };
    each_in_json(text, |error| wrong("entities", error), add)?;
    match rows.number {
        0 => Err(wrong("entities", "the list is empty")),
        _ => rows.finish(),
    }
}

/// The entities read so far.
struct JsonRows<'a> {
    features: &'a [String],
    binariser: Option<&'a Binariser>,
    reading: Reading,
    number: usize,
    bits: Bits,
    /// The columns, if the first entity was an object.
    objects: Option<Objects<'a>>,
}

/// Objects as columns: the features and raw columns that the first object has.
struct Objects<'a> {
    place_of: HashMap<&'a str, usize>,
    columns: Vec<(String, Option<StringBuilder>)>,
    /// Whether they are raw values: then a column itself interprets the words true and false, otherwise they mean 1
    /// and 0.
    are_raw: bool,
}

impl<'a> JsonRows<'a> {
    fn add(&mut self, entity: &str) -> Result<(), DataError> {
        let place = format!("entities[{}]", self.number);
        let is_first = self.number == 0;
        self.number += 1;
        match (entity.as_bytes().first(), &mut self.objects) {
            (Some(b'['), None) => self.add_list(&place, entity),
            (Some(b'{'), None) if is_first => self.add_first_object(&place, entity),
            (Some(b'{'), Some(objects)) => {
                let values = objects.values(&place, entity)?;
                objects.add(&place, &values)
            }
            _ if is_first => Err(wrong(place, format!("{} is neither a list nor an object", short_text(entity)))),
            (_, None) => Err(wrong(place, format!("{} is not a list, as the first entity is", short_text(entity)))),
            (_, Some(_)) => {
                Err(wrong(place, format!("{} is not an object, as the first entity is", short_text(entity))))
            }
        }
    }

    fn add_list(&mut self, place: &str, entity: &str) -> Result<(), DataError> {
        if self.reading == Reading::Raw {
            let problem = "is a list, which holds bits: raw values have names";
            return Err(DataError::OtherReading { field: place.into(), problem });
        }
        let values: Vec<Bit> = read(place, entity)?;
        let features = self.features.len();
        if values.len() != features {
            return Err(wrong(place, format!("{} values, but there are {features} features", values.len())));
        }
        if let Some(at) = values.iter().position(|bit| bit.0.is_none()) {
            let texts: Vec<&RawValue> = read(place, entity)?;
            return Err(wrong(format!("{place}[{at}]"), format!("{} is not 0 or 1", short_text(texts[at].get()))));
        }
        let row: Vec<bool> = values.iter().filter_map(|bit| bit.0).collect();
        self.bits.push(&row);
        Ok(())
    }

    fn add_first_object(&mut self, place: &str, entity: &str) -> Result<(), DataError> {
        let raw = self.binariser.map_or(&[][..], |binariser| binariser.columns());
        let mut objects = Objects { place_of: HashMap::new(), columns: Vec::new(), are_raw: false };
        for name in self.features.iter().chain(raw.iter().map(|column| &column.column)) {
            // A feature and a raw column may have the same name.
            let place = objects.columns.len();
            if *objects.place_of.entry(name).or_insert(place) == place {
                objects.columns.push((name.clone(), None));
            }
        }
        let values = objects.values(place, entity)?;
        let mut names = Vec::new();
        for ((name, cells), _) in objects.columns.iter_mut().zip(&values).filter(|(_, value)| value.is_some()) {
            *cells = Some(StringBuilder::with_capacity(1, 16));
            names.push(name.clone());
        }
        let holds = |name: &String| names.contains(name);
        let all_bits = self.features.iter().all(holds);
        let all_raw = raw.iter().all(|column| holds(&column.column)) && !raw.is_empty();
        let problem = match (self.reading, all_bits, all_raw) {
            (Reading::Raw, true, false) => Some("holds bits, and raw values are asked for"),
            (Reading::Bits, false, true) => Some("holds raw values, and bits are asked for"),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(DataError::OtherReading { field: place.into(), problem });
        }
        objects.are_raw = {
            // If the names leave this open, the values decide once all are read; until then true and false stay words.
            let look = || Ok(true);
            reads_raw("entities", &names, self.features, self.binariser, self.reading, look).unwrap_or(false)
        };
        objects.add(place, &values)?;
        self.objects = Some(objects);
        Ok(())
    }

    fn finish(self) -> Result<Bits, DataError> {
        let Some(Objects { columns, .. }) = self.objects else { return Ok(self.bits) };
        let column = |(name, cells): (String, Option<StringBuilder>)| Some((name, Cells::Text(cells?.finish())));
        let columns: Vec<(String, Cells)> = columns.into_iter().filter_map(column).collect();
        bits_of_columns("entities", self.number, &columns, self.features, self.binariser, self.reading)
            .map_err(|error| error.in_entity(0))
    }
}

impl Objects<'_> {
    /// The texts of an object's values, in the order of the columns.
    fn values<'t>(&self, place: &str, entity: &'t str) -> Result<Vec<Option<&'t str>>, DataError> {
        let mut values = vec![None; self.columns.len()];
        let take = |name: Option<Cow<'_, str>>, value| {
            let column = name.and_then(|name| self.place_of.get(name.as_ref())).copied();
            match column.filter(|&column| values[column].replace(value).is_some()) {
                Some(column) => Err(wrong(format!("{place}.{}", self.columns[column].0), "is there twice")),
                None => Ok(()),
            }
        };
        each_in_json(entity, |error| wrong(place, error), take)?;
        Ok(values)
    }

    fn add(&mut self, place: &str, values: &[Option<&str>]) -> Result<(), DataError> {
        for ((name, cells), value) in self.columns.iter_mut().zip(values) {
            let Some(cells) = cells else { continue };
            let place = || format!("{place}.{name}");
            let value = value.ok_or_else(|| wrong(place(), "is missing, but the first entity has it"))?;
            let text: Option<Cow<'_, str>> = match value.as_bytes().first() {
                Some(b'[' | b'{') => return Err(wrong(place(), "is not a single value")),
                Some(b'n') => None,
                Some(b't' | b'f') if self.are_raw => Some(value.into()),
                Some(b't') => Some("1".into()),
                Some(b'f') => Some("0".into()),
                Some(b'"') => Some(read::<String>(&place(), value)?.into()),
                _ => Some(read::<Number>(&place(), value)?.to_string().into()),
            };
            cells.append_option(text);
        }
        Ok(())
    }
}

impl DataError {
    /// Turns an error about a cell into one about a field of its entity.
    pub(super) fn in_entity(self, entities_before: usize) -> Self {
        match self {
            DataError::Cell { row, column, value, problem, .. } => {
                let entity = entities_before as u64 + row - 1;
                wrong(format!("entities[{entity}].{column}"), format!("'{value}' {problem}"))
            }
            other => other,
        }
    }
}

fn wrong(field: impl Into<String>, problem: impl fmt::Display) -> DataError {
    DataError::Field { field: field.into(), problem: problem.to_string() }
}

fn read<'t, T: Deserialize<'t>>(place: &str, text: &'t str) -> Result<T, DataError> {
    serde_json::from_str(text).map_err(|error| wrong(place, error))
}

/// The beginning of a text on one line, for a message.
pub fn short_text(text: &str) -> String {
    let mut letters = text.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    let begin: String = letters.by_ref().take(60).collect();
    if letters.next().is_some() { begin + "..." } else { begin }
}

struct Each<F, E> {
    call: F,
    failed: Option<E>,
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, E, F: FnMut(Option<Cow<'de, str>>, &'de str) -> Result<(), E>> Each<F, E> {
    fn call<S: serde::de::Error>(&mut self, name: Option<Cow<'de, str>>, value: &'de RawValue) -> Result<(), S> {
        (self.call)(name, value.get()).map_err(|error| {
            self.failed = Some(error);
            S::custom("stopped")
        })
    }
}

impl<'de, E, F: FnMut(Option<Cow<'de, str>>, &'de str) -> Result<(), E>> Visitor<'de> for &mut Each<F, E> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element::<&'de RawValue>()? {
            self.call(None, value)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some((Name(name), value)) = object.next_entry::<Name<'de>, &'de RawValue>()? {
            self.call(Some(name), value)?;
        }
        Ok(())
    }
}

/// 0, 1, false or true, also written as 1.0; `None` for any other value.
struct Bit(Option<bool>);

impl<'de> Deserialize<'de> for Bit {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(BitVisitor).map(Bit)
    }
}

struct BitVisitor;

impl<'de> Visitor<'de> for BitVisitor {
    type Value = Option<bool>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0 or 1")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(Some(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok((number <= 1).then_some(number == 1))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok((number == 0.0 || number == 1.0).then_some(number == 1.0))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Code, CodedColumn};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn lists_and_objects_are_the_same_rows() {
        let features = names(&["a", "b=x", "b=y"]);
        let expected = [[true, false, true], [false, true, false]];
        for text in [
            "[[1, 0, 1], [0, 1, 0]]",
            " [[true, 0.0, 1e0],\n[-0, true, false]] ",
            r#"[{"b=y": 1, "a": true, "b=x": 0}, {"a": 0, "b=x": "1", "b\u003dy": 0.0, "more": [1]}]"#,
        ] {
            let bits = bits_of_json(text, &features, None, Reading::Auto, 2).unwrap();
            assert_eq!(
                (bits.rows(), bits.row(0), bits.row(1)),
                (2, expected[0].to_vec(), expected[1].to_vec()),
                "{text}"
            );
        }
    }

    #[test]
    fn raw_values_mean_what_their_columns_make_of_them() {
        let column = |column: &str, code| CodedColumn::new(column, code);
        let words = Code::Categories(names(&["1.5", "true", "ä\n"]));
        let schema = Binariser::new(vec![column("n", Code::Above(2.0)), column("w", words)]).unwrap();
        let read = |text: &str| {
            bits_of_json(text, &schema.features(), Some(&schema), Reading::Auto, 9).map(|bits| bits.row(0))
        };
        assert_eq!(read(r#"[{"n": 2.5, "w": true}]"#).unwrap(), [true, false, true, false]);
        assert_eq!(read(r#"[{"w": 15e-1, "n": "1"}]"#).unwrap(), [false, true, false, false]);
        assert_eq!(read(r#"[{"w": "\u00e4\n", "n": null}]"#).unwrap(), [false, false, false, true]);
        let problem = |text: &str| read(text).unwrap_err().to_string();
        assert!(problem(r#"[{"n": true, "w": "true"}]"#).starts_with("entities[0].n: 'true'"));
        assert!(problem(r#"[{"n": 1}]"#).starts_with("entities: there is no column 'w'"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let features = names(&["a", "b"]);
        for (text, expected) in [
            ("{}", "entities: {} is not a list of entities"),
            ("[]", "entities: the list is empty"),
            ("[[0, 1], [0, 1,", "entities: EOF while parsing a value at line 1 column 15"),
            ("[[0, 1], 7]", "entities[1]: 7 is not a list, as the first entity is"),
            ("[7]", "entities[0]: 7 is neither a list nor an object"),
            ("[[0]]", "entities[0]: 1 values, but there are 2 features"),
            ("[[0, [1,\n2]]]", "entities[0][1]: [1, 2] is not 0 or 1"),
            ("[[-1, 0]]", "entities[0][0]: -1 is not 0 or 1"),
            ("[[null, {\"a\": 1}]]", "entities[0][0]: null is not 0 or 1"),
            (r#"[{"a": 1, "b": 0}, [0, 1]]"#, "entities[1]: [0, 1] is not an object, as the first entity is"),
            (r#"[{"a": 1, "b": 0}, {"b": 1}]"#, "entities[1].a: is missing, but the first entity has it"),
            (r#"[{"a": 1, "b": 0, "a": 1}]"#, "entities[0].a: is there twice"),
            (r#"[{"a": [1], "b": 0}]"#, "entities[0].a: is not a single value"),
            (r#"[{"a": 2, "b": 0}]"#, "entities[0].a: '2' is neither 0 nor 1"),
            ("[[0, 1], [0, 1], [0, 1], [0, 1]]", "more than 3 rows at once"),
        ] {
            assert_eq!(
                bits_of_json(text, &features, None, Reading::Auto, 3).unwrap_err().to_string(),
                expected,
                "{text}"
            );
        }
        let long =
            bits_of_json(&format!("[{}]", "7".repeat(300)), &features, None, Reading::Auto, 3).unwrap_err().to_string();
        assert!(long.len() < 120, "{long}");
    }
}
