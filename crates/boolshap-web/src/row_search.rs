//! The rows of the data, searched and sorted, a page at a time.

use crate::error::ApiError;
use crate::site::{PageChoice, Site};
use boolshap::lit::Watch;
use boolshap::report::RawValue;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::HashMap;

const MOST_ROWS: usize = 500;
/// More rows than this there cannot be.
pub(crate) const MOST_OFFSET: usize = 1_000_000_000_000;

/// Which rows, in which order.
pub(crate) struct Search {
    offset: usize,
    limit: usize,
    text: String,
    sort: Sort,
    descending: bool,
}

enum Sort {
    Row,
    Prediction,
    Label,
    Column(usize),
}

/// The prefix of a column's name, needed where the name is one of our own keys.
const COLUMN: &str = "column:";
const OWN: [&str; 3] = ["row", "prediction", "label"];

impl Sort {
    fn new(site: &Site, key: &str) -> Result<Self, ApiError> {
        let name = match key {
            "row" => return Ok(Sort::Row),
            "prediction" => return Ok(Sort::Prediction),
            "label" => return Ok(Sort::Label),
            _ => key.strip_prefix(COLUMN).unwrap_or(key),
        };
        let column = site.rows.table.columns.iter().position(|column| column.name == name);
        column.map(Sort::Column).ok_or_else(|| {
            let known = sort_keys(site).filter(|key| !key.starts_with(COLUMN)).collect::<Vec<_>>().join(", ");
            ApiError::bad("sort", format!("'{key}' is none of {known}, nor column:NAME for a column"))
        })
    }
}

/// By what rows can be sorted: every column by its name after `column:`, and by the name alone where that is none of
/// ours.
pub(crate) fn sort_keys(site: &Site) -> impl Iterator<Item = String> {
    let names = || site.rows.table.columns.iter().map(|column| column.name.as_str());
    let plain = names().filter(|name| !OWN.contains(name) && !name.starts_with(COLUMN));
    let own = OWN.into_iter().chain(plain).map(String::from);
    own.chain(names().map(|name| format!("{COLUMN}{name}")))
}

impl Search {
    pub(crate) fn new(site: &Site, options: &HashMap<String, String>) -> Result<Self, ApiError> {
        let option = |field: &str| options.get(field).map(String::as_str);
        let number =
            |field: &'static str, default: usize| match option(field) {
                None => Ok(default),
                Some(text) => text.parse().ok().filter(|number| *number <= MOST_OFFSET).ok_or_else(|| {
                    ApiError::bad(field, format!("'{text}' is not a whole number from 0 to {MOST_OFFSET}"))
                }),
            };
        let limit = number("limit", 50)?;
        if !(1..=MOST_ROWS).contains(&limit) {
            return Err(ApiError::bad("limit", format!("{limit} is not between 1 and {MOST_ROWS}")));
        }
        let descending = match option("descending") {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => return Err(ApiError::bad("descending", format!("'{other}' is neither true nor false"))),
        };
        let sort = Sort::new(site, option("sort").unwrap_or("row"))?;
        // The page writes a minus sign where files have a hyphen.
        let text = option("search").unwrap_or_default().trim().replace('\u{2212}', "-").to_lowercase();
        Ok(Search { offset: number("offset", 0)?, limit, text, sort, descending })
    }

    /// The rows found.
    pub(crate) fn run(&self, site: &Site, choice: PageChoice, watch: &Watch<'_>) -> Result<Value, ApiError> {
        let table = &site.rows.table;
        let predictions = site.labels(choice.class, watch)?;
        let labels = table.labels(site.subjects[choice.class.unwrap_or(0)].class);
        let label_of = |row: usize| labels.as_ref().and_then(|labels| labels[row]);
        let prediction = |row: usize| predictions[table.kinds[row] as usize];
        let mut found: Vec<usize> = (0..table.kinds.len()).filter(|&row| self.matches(site, row)).collect();
        let turned = |order: Ordering| if self.descending { order.reverse() } else { order };
        match self.sort {
            Sort::Row => found.sort_by(|a, b| turned(a.cmp(b))),
            Sort::Prediction => found.sort_by(|&a, &b| turned(prediction(a).cmp(&prediction(b)))),
            Sort::Label => found.sort_by(|&a, &b| missing_last(&label_of(a), &label_of(b), |a, b| turned(a.cmp(b)))),
            Sort::Column(column) => {
                let cell = |row: usize| match &table.columns[column].cells[row] {
                    RawValue::Missing => None,
                    value => Some(value),
                };
                found.sort_by(|&a, &b| missing_last(&cell(a), &cell(b), |a, b| turned(compare(a, b))));
            }
        }
        watch.check()?;
        let shown = found.iter().skip(self.offset).take(self.limit).map(|&row| {
            let bits = site.rows.kinds.row(table.kinds[row] as usize);
            json!({
                "row": row + 1,
                "bits": bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect::<String>(),
                "cells": table.columns.iter().map(|column| &column.cells[row]).collect::<Vec<_>>(),
                "prediction": u8::from(prediction(row)),
                "label": label_of(row),
            })
        });
        let columns = table.columns.iter().map(|column| json!({"name": column.name, "numeric": column.numeric}));
        Ok(json!({
            "total": found.len(),
            "offset": self.offset,
            "rows": shown.collect::<Vec<_>>(),
            "columns": columns.collect::<Vec<_>>(),
        }))
    }

    fn matches(&self, site: &Site, row: usize) -> bool {
        let contains = |text: &str| text.to_lowercase().contains(&self.text);
        self.text.is_empty()
            || site.rows.table.columns.iter().any(|column| match &column.cells[row] {
                RawValue::Missing => false,
                RawValue::Number(number) => contains(&number.to_string()),
                RawValue::Text(text) => contains(text),
            })
    }
}

/// What is missing comes last in either direction; what is equal keeps its order.
fn missing_last<T>(a: &Option<T>, b: &Option<T>, compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

fn compare(a: &RawValue, b: &RawValue) -> Ordering {
    match (a, b) {
        (RawValue::Number(a), RawValue::Number(b)) => a.total_cmp(b),
        (RawValue::Text(a), RawValue::Text(b)) => a.cmp(b),
        // A column holds one or the other.
        _ => Ordering::Equal,
    }
}
