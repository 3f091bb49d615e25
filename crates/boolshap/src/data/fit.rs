//! Fits the code of a column to its statistics: thresholds, quantiles, tree cuts, categories.

use super::exact_mean::quantile;
use super::profile::{MAX_DECLARED_CATEGORIES, Seen};
use super::supervised::tree_cuts;
use super::{Code, Cut, DatePart, Keep};
use std::cmp::Reverse;

/// A problem with a column, or with one of its cells: the row, its text and the problem.
pub(super) enum Unfit {
    Column(String),
    Cell(u64, String, String),
}

fn column(problem: impl Into<String>) -> Unfit {
    Unfit::Column(problem.into())
}

/// The code of a numeric column.
pub(super) fn numeric(seen: &Seen, cut: &Cut) -> Result<Code, Unfit> {
    if let Cut::At(edges) = cut {
        return Ok(if let [only] = edges[..] { Code::Above(only) } else { Code::Bins(edges.clone()) });
    }
    if seen.numbers == 0 {
        return Err(column("has no number to cut at"));
    }
    Ok(match cut {
        Cut::Mean | Cut::At(_) => Code::Above(seen.mean()),
        Cut::Median => Code::Above(quantile(&seen.sorted(), 1, 2).unwrap_or(0.0)),
        Cut::Bins(count) => {
            let values = seen.sorted();
            let edges = quantile_cuts(&values, *count);
            if edges.is_empty() {
                return Err(column(format!("has the value {} too often to be cut into bins", values[0])));
            }
            Code::Bins(edges)
        }
        Cut::Supervised(leaves) => {
            let values = seen.values.iter().flatten().copied();
            let cuts = tree_cuts(values.zip(seen.labels.iter().copied()).collect(), *leaves);
            match cuts[..] {
                [] => return Err(column("says nothing about the target by itself: no cut tells its classes apart")),
                [only] => Code::Above(only),
                _ => Code::Bins(cuts),
            }
        }
    })
}

/// Ascending edges that separate this many bins of about equally many values; fewer if some values are frequent.
pub fn quantile_cuts(sorted: &[f64], bins: usize) -> Vec<f64> {
    let mut edges: Vec<f64> = (1..bins).filter_map(|part| quantile(sorted, part, bins)).collect();
    edges.dedup();
    // An edge at the maximum would leave the last bin empty.
    edges.retain(|edge| Some(edge) < sorted.last());
    edges
}

/// Fails if a cell of a numeric column is not a number, or one of a date column not a date.
pub(super) fn check_cells(seen: &Seen, is_date: bool) -> Result<(), Unfit> {
    let Some((row, value)) = &seen.first_misfit else { return Ok(()) };
    let what = if is_date { "is not a date such as 2024-12-31" } else { "is not a finite number" };
    let count = match seen.misfits {
        1 => String::new(),
        count => format!(" ({count} cells of the column are not)"),
    };
    Err(Unfit::Cell(*row, value.clone(), format!("{what}{count}")))
}

/// The code of a part of dates.
pub(super) fn date(seen: &Seen, part: DatePart) -> Result<Code, Unfit> {
    match part.values() {
        Some(values) => Ok(Code::Values(values)),
        None => numeric(seen, &Cut::Mean),
    }
}

/// The code of a categorical column. `all` has the statistics of all rows, `fitted` those of the rows that frequencies
/// are taken from.
pub(super) fn categorical(all: &Seen, fitted: &Seen, keep: Keep) -> Result<Code, Unfit> {
    let values = |texts: Vec<&String>| texts.into_iter().cloned().collect::<Vec<_>>();
    if all.texts.is_empty() {
        return Err(column("has no value"));
    }
    if !all.has_all_texts() {
        return Err(column("holds more different texts than can be counted"));
    }
    let kept = match keep {
        Keep::All => values(all.texts.keys().collect()),
        Keep::AtLeast(least) => {
            values(fitted.texts.iter().filter(|(_, count)| **count >= least).map(|(text, _)| text).collect())
        }
        Keep::Top(most) => {
            let mut order: Vec<(&String, u64)> = fitted.texts.iter().map(|(text, count)| (text, *count)).collect();
            // Ties are resolved alphabetically: the sort is stable.
            order.sort_by_key(|(_, count)| Reverse(*count));
            let mut top: Vec<&String> = order.into_iter().take(most).map(|(text, _)| text).collect();
            top.sort();
            values(top)
        }
    };
    match kept.len() {
        0 => Err(column("has no value that is frequent enough to keep")),
        count if count > MAX_DECLARED_CATEGORIES => {
            Err(column(format!("has more than {MAX_DECLARED_CATEGORIES} categories")))
        }
        count if count == all.texts.len() => Ok(Code::Categories(kept)),
        _ => Ok(Code::Common(kept)),
    }
}
