//! Raw rows in JSON: objects with a number for each column by name, or lists of numbers in the order of the columns. A
//! missing number is null.

use super::{DataError, RawRows, each_in_json, short_text};
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads the entities of a JSON list, called `entities` in messages; there may be at most `most` of them. Fields that
/// are not columns are skipped.
///
/// ```
/// use boolshap::data::numbers_of_json;
/// let columns = ["age", "debt"].map(String::from);
/// let rows = numbers_of_json(r#"[{"debt": 1e3, "age": 40}, [20.5, null]]"#, &columns, 10)?;
/// assert_eq!(rows.column(0), [40.0, 20.5]);
/// assert!(rows.column(1)[1].is_nan());
/// let wrong = numbers_of_json(r#"[{"age": "old", "debt": 0}]"#, &columns, 10).unwrap_err();
/// assert_eq!(wrong.to_string(), "entities[0].age: \"old\" is not a number");
/// # Ok::<(), boolshap::data::DataError>(())
/// ```
pub fn numbers_of_json(text: &str, columns: &[String], most: usize) -> Result<RawRows, DataError> {
    let text = text.trim_ascii();
    if !text.starts_with('[') {
        return Err(wrong("entities", format!("{} is not a list of entities", short_text(text))));
    }
    let place_of: HashMap<&str, usize> = columns.iter().map(String::as_str).zip(0..).collect();
    let (mut rows, mut numbers) = (0, vec![Vec::new(); columns.len()]);
    let add = |_, entity: &str| {
        if rows == most {
            return Err(DataError::TooManyRows { most });
        }
        let row = row_of(&format!("entities[{rows}]"), entity, columns, &place_of)?;
        numbers.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
        rows += 1;
        Ok(())
    };
    each_in_json(text, |error| wrong("entities", error), add)?;
    match rows {
        0 => Err(wrong("entities", "the list is empty")),
        _ => Ok(RawRows::of_columns(rows, numbers)),
    }
}

fn row_of(
    place: &str,
    entity: &str,
    columns: &[String],
    place_of: &HashMap<&str, usize>,
) -> Result<Vec<f64>, DataError> {
    if !entity.starts_with(['[', '{']) {
        return Err(wrong(place, format!("{} is neither a list nor an object", short_text(entity))));
    }
    let mut row = vec![None; columns.len()];
    let mut count = 0;
    let take = |name: Option<Cow<'_, str>>, value: &str| {
        let at = match &name {
            Some(name) => place_of.get(name.as_ref()).copied(),
            None => Some(count).filter(|at| *at < columns.len()),
        };
        count += 1;
        let Some(at) = at else { return Ok(()) };
        let here = || name.as_ref().map_or_else(|| format!("{place}[{at}]"), |name| format!("{place}.{name}"));
        let number = match value {
            "null" => Some(f64::NAN),
            _ if value.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => value.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| wrong(here(), format!("{} is not a number", short_text(value))))?;
        match row[at].replace(number) {
            None => Ok(()),
            Some(_) => Err(wrong(here(), "is there twice")),
        }
    };
    each_in_json(entity, |error| wrong(place, error), take)?;
    if entity.starts_with('[') && count != columns.len() {
        return Err(wrong(place, format!("{count} values, but there are {} columns", columns.len())));
    }
    let missing =
        |at: usize| wrong(format!("{place}.{}", columns[at]), "is missing: null says that a number is not known");
    row.into_iter().enumerate().map(|(at, number)| number.ok_or_else(|| missing(at))).collect()
}

fn wrong(field: impl Into<String>, problem: impl std::fmt::Display) -> DataError {
    DataError::Field { field: field.into(), problem: problem.to_string() }
}
