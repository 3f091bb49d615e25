//! A first pass over a table: what each column holds, and the statistics needed to encode it.
//!
//! A column without a declared kind is boolean if every value is 0, 1, true or false; numeric if more than half of its
//! values are numbers (any other cell is then an error, not a category); otherwise categorical, with at most
//! [`MAX_CATEGORIES`] distinct texts. Columns without any value are ignored; so are identifiers and dates, with a note
//! (`plan`).
//!
//! Means and quantiles are rounded once ([`ExactSum`]), so they do not depend on the order of the rows, and rows never
//! all lie above their column's mean.

use super::dates::parse_date;
use super::missing::Markers;
use super::{Cells, Cut, DataError, DatePart, ExactSum, Kind, Kinds, Misfit, Table};
use crate::lit::Watch;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The most categories of a column that is recognised as categorical.
pub const MAX_CATEGORIES: usize = 100;
/// The most categories of a column that is declared categorical.
pub(super) const MAX_DECLARED_CATEGORIES: usize = 10_000;
/// The most distinct texts that are counted to find the frequent ones.
const MAX_COUNTED: usize = 1_000_000;
/// The most distinct whole numbers of a target that are taken as classes; with more, the numbers are cut.
pub(super) const MAX_CLASSES: usize = 10;

/// Statistics of each column, in the order of the header.
pub(crate) struct Profile {
    pub(super) columns: Vec<Seen>,
    pub(super) rows: u64,
    hasher: RandomState,
}

/// Statistics of one column.
#[derive(Default)]
pub(super) struct Seen {
    /// How many values are present.
    pub(super) present: u64,
    /// How many values are missing.
    pub(super) missing: u64,
    pub(super) numbers: u64,
    pub(super) truths: u64,
    pub(super) dates: u64,
    pub(super) sum: ExactSum,
    /// How many values are whole numbers, and which, up to a limit.
    whole: u64,
    pub(super) wholes: BTreeSet<i64>,
    /// All numbers, if quantiles are needed; and the classes of their rows, if a tree is to choose the cuts.
    pub(super) values: Option<Vec<f64>>,
    pub(super) labels: Vec<u32>,
    /// All texts with their frequencies, up to a limit.
    pub(super) texts: BTreeMap<String, u64>,
    most_texts: usize,
    /// Hashes of all values, as long as they are all distinct.
    distinct: Option<HashSet<u64>>,
    pub(super) misfits: u64,
    pub(super) first_misfit: Option<(u64, String)>,
    part: Option<DatePart>,
}

impl Seen {
    fn add(&mut self, cells: &Cells, row: usize, number: u64, label: Option<u32>, hasher: &RandomState) {
        let Some(text) = cells.text(row) else {
            self.missing += 1;
            return;
        };
        let value = match self.part {
            None => cells.number(row),
            Some(part) => parse_date(&text).map(|days| Some(part.of(days))).ok_or(Misfit),
        };
        match value {
            // Among numbers, the text NaN means missing, whatever the markers are.
            Ok(None) => {
                self.missing += 1;
                return;
            }
            Ok(Some(value)) => self.add_number(value, label),
            Err(Misfit) => {
                self.misfits += 1;
                self.first_misfit.get_or_insert_with(|| (number, text.to_string()));
                self.dates += u64::from(parse_date(&text).is_some());
            }
        }
        self.present += 1;
        self.truths += u64::from(matches!(cells.truth(row), Ok(Some(_))));
        if self.texts.len() <= self.most_texts {
            match self.texts.get_mut(text.as_ref()) {
                Some(count) => *count += 1,
                None => drop(self.texts.insert(text.to_string(), 1)),
            }
        }
        if self.distinct.as_mut().is_some_and(|known| !known.insert(hasher.hash_one(text.as_ref()))) {
            self.distinct = None;
        }
    }

    fn add_number(&mut self, value: f64, label: Option<u32>) {
        self.numbers += 1;
        self.sum.add(value, 1);
        if let Some(values) = &mut self.values {
            values.push(value);
            self.labels.extend(label);
        }
        if value.fract() == 0.0 && value.abs() < 9e15 {
            self.whole += 1;
            if self.wholes.len() <= MAX_CLASSES {
                self.wholes.insert(value as i64);
            }
        }
    }

    /// Whether all values are whole numbers, with few distinct ones.
    pub(super) fn is_few_whole(&self) -> bool {
        let few = (2..=MAX_CLASSES).contains(&self.wholes.len()) && self.present >= 2 * self.wholes.len() as u64;
        self.present > 0 && self.whole == self.present && few
    }

    /// Whether all values are distinct.
    pub(super) fn is_distinct(&self) -> bool {
        self.present > 1 && self.distinct.is_some()
    }

    /// The texts that are not numbers, if there are few.
    pub(super) fn misfit_texts(&self) -> Vec<String> {
        let no_number = |text: &&String| !text.trim().parse().is_ok_and(|value: f64| value.is_finite());
        let misfits: Vec<String> = self.texts.keys().filter(no_number).take(4).cloned().collect();
        if self.texts.len() > self.most_texts || misfits.len() > 3 { Vec::new() } else { misfits }
    }

    /// Whether all distinct texts are known.
    pub(super) fn has_all_texts(&self) -> bool {
        self.texts.len() <= self.most_texts
    }

    /// Whether all numbers are whole.
    pub(super) fn is_whole(&self) -> bool {
        self.whole == self.present
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum.mean(self.numbers)
    }

    pub(super) fn sorted(&self) -> Vec<f64> {
        let mut values = self.values.clone().unwrap_or_default();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// What to read of a table.
pub(super) struct Reading<'a, F: Fn(usize) -> bool> {
    pub(super) kinds: &'a Kinds,
    pub(super) markers: &'a [String],
    /// The columns to read, by index; for a column of dates, the part to read instead of the date.
    pub(super) columns: Vec<(usize, Option<DatePart>)>,
    /// Which rows count.
    pub(super) keep: F,
    /// The class of each row, if it is known.
    pub(super) labels: Option<&'a [u32]>,
}

impl Profile {
    /// Reads the requested columns; the statistics are in the order of the request.
    pub(super) fn read<F: Fn(usize) -> bool>(
        table: &Table,
        how: &Reading<'_, F>,
        watch: &Watch<'_>,
    ) -> Result<Self, DataError> {
        let mut profile = Profile { columns: Vec::new(), rows: 0, hasher: RandomState::new() };
        profile.columns = how.columns.iter().map(|&(index, part)| new_seen(how, table, index, part)).collect();
        let places: Vec<usize> = how.columns.iter().map(|(index, _)| *index).collect();
        let markers = Markers::new(how.markers);
        for chunk in table.chunks(&places)? {
            let chunk = chunk?;
            watch.check()?;
            profile.rows += chunk.rows as u64;
            for (seen, cells) in profile.columns.iter_mut().zip(&chunk.columns) {
                let changed = markers.removed(cells);
                let cells = changed.as_ref().unwrap_or(cells);
                for row in 0..chunk.rows {
                    let number = chunk.first_row + row as u64;
                    let place = number as usize - 1;
                    if (how.keep)(place) {
                        let label = how.labels.and_then(|labels| labels.get(place).copied());
                        seen.add(cells, row, number, label, &profile.hasher);
                    }
                }
            }
        }
        Ok(profile)
    }
}

fn new_seen<F: Fn(usize) -> bool>(how: &Reading<'_, F>, table: &Table, index: usize, part: Option<DatePart>) -> Seen {
    let kind = how.kinds.get(&table.columns()[index]);
    let needs_values = match kind {
        Some(Kind::Numeric(Cut::Median | Cut::Bins(_))) => true,
        Some(Kind::Numeric(Cut::Supervised(_))) => how.labels.is_some(),
        _ => false,
    };
    let most_texts = match kind {
        Some(Kind::Categorical(_)) => MAX_COUNTED,
        _ => MAX_DECLARED_CATEGORIES,
    };
    Seen {
        values: needs_values.then(Vec::new),
        distinct: kind.is_none().then(HashSet::new),
        most_texts,
        part,
        ..Seen::default()
    }
}
