//! Kinds of columns that the user can declare before anything is fitted.
//!
//! The command line and the schema file use the same syntax: `numeric`, `numeric:median`, `numeric:bins=4`,
//! `numeric:supervised=4`, `numeric:at=1.5` or `numeric:at=1,2,3`, `boolean`, `categorical`, `categorical:top=8`,
//! `categorical:min=30`, `date:year,month,weekday`, `date:ordinal`, `ignored`. The kinds of other columns are recognised
//! from their values.

use super::DatePart;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The kind of a column.
///
/// ```
/// use boolshap::data::{Cut, Kind};
/// assert_eq!("numeric:bins=4".parse(), Ok(Kind::Numeric(Cut::Bins(4))));
/// assert_eq!(Kind::Numeric(Cut::At(vec![1.5, 2.0])).to_string(), "numeric:at=1.5,2");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Numbers, cut into bits.
    Numeric(Cut),
    /// Truth values, used directly as one bit.
    Boolean,
    /// Texts, with a bit for each that is kept.
    Categorical(Keep),
    /// Dates, with bits for these parts.
    Date(Vec<DatePart>),
    /// Not a feature.
    Ignored,
}

/// Where a numeric column is cut.
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    /// One bit: strictly above the mean.
    Mean,
    /// One bit: strictly above the median.
    Median,
    /// One threshold gives one bit, strictly above it; several give one-hot bins between them.
    At(Vec<f64>),
    /// One-hot bins with about equally many rows.
    Bins(usize),
    /// One-hot bins, at most this many, cut by a decision tree on the target of the training rows.
    Supervised(usize),
}

/// Which values get their own bit; the others share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of them.
    All,
    /// This many of the most frequent.
    Top(usize),
    /// The values that occur in at least this many rows.
    AtLeast(u64),
}

/// Kinds by column name.
pub type Kinds = BTreeMap<String, Kind>;

/// A column's name and kind, `NAME=KIND`. Names may contain `=`, and so may the options of some kinds.
pub fn named_kind(text: &str) -> Result<(String, Kind), String> {
    let mut cuts = text.match_indices('=').map(|(at, _)| Ok((text[..at].to_string(), text[at + 1..].parse()?)));
    let first = cuts.next().unwrap_or_else(|| Err("NAME=KIND is expected".to_string()));
    first.or_else(|problem| cuts.find_map(Result::ok).ok_or(problem))
}

/// The available kinds, for messages.
const KINDS: &str = "numeric[:mean|:median|:bins=K|:supervised=K|:at=A,...], boolean, categorical[:top=K|:min=N], \
                     date:year,month,weekday, date:ordinal, ignored";

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, detail) = text.split_once(':').map_or((text, None), |(kind, detail)| (kind, Some(detail)));
        Ok(match (kind, detail) {
            ("boolean", None) => Kind::Boolean,
            ("categorical", detail) => Kind::Categorical(kept(detail)?),
            ("ignored", None) => Kind::Ignored,
            ("numeric", detail) => Kind::Numeric(cut(detail)?),
            ("date", Some(parts)) => Kind::Date(date_parts(parts)?),
            ("date", None) => return Err("say which parts of the date: date:year,month,weekday or date:ordinal".into()),
            _ => return Err(format!("'{text}' is not one of {KINDS}")),
        })
    }
}

fn cut(detail: Option<&str>) -> Result<Cut, String> {
    let bins = |count: &str| match count.parse() {
        Ok(count) if (2..=1000).contains(&count) => Ok(count),
        _ => Err(format!("'{count}' is not a number of bins from 2 to 1000")),
    };
    match detail.map(|detail| detail.split_once('=').unwrap_or((detail, ""))) {
        None | Some(("mean", "")) => Ok(Cut::Mean),
        Some(("median", "")) => Ok(Cut::Median),
        Some(("bins", count)) => bins(count).map(Cut::Bins),
        Some(("supervised", count)) => bins(count).map(Cut::Supervised),
        Some(("at", list)) => thresholds(list).map(Cut::At),
        _ => Err(format!(
            "'{}' is not one of mean, median, bins=K, supervised=K, at=A,B,...",
            detail.unwrap_or_default()
        )),
    }
}

fn kept(detail: Option<&str>) -> Result<Keep, String> {
    let Some(detail) = detail else { return Ok(Keep::All) };
    let number = |text: &str| match text.parse() {
        Ok(number @ 1..=10_000u64) => Ok(number),
        _ => Err(format!("'{text}' is not a whole number from 1 to 10000")),
    };
    match detail.split_once('=') {
        Some(("top", count)) => Ok(Keep::Top(number(count)? as usize)),
        Some(("min", count)) => Ok(Keep::AtLeast(number(count)?)),
        _ => Err(format!("'{detail}' is not one of top=K, min=N")),
    }
}

fn date_parts(list: &str) -> Result<Vec<DatePart>, String> {
    let part = |name: &str| DatePart::ALL.into_iter().find(|part| part.name() == name.trim());
    let known = || DatePart::ALL.map(DatePart::name).join(", ");
    let mut parts = Vec::new();
    for name in list.split(',') {
        let part = part(name).ok_or_else(|| format!("'{name}' is not a part of a date: {}", known()))?;
        if parts.contains(&part) {
            return Err(format!("'{name}' is there twice"));
        }
        parts.push(part);
    }
    Ok(parts)
}

fn thresholds(list: &str) -> Result<Vec<f64>, String> {
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("threshold '{text}' is not a finite number")),
    };
    let values = list.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    match values.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("thresholds must be ascending, but {} is followed by {}", pair[0], pair[1])),
        None => Ok(values),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Numeric(Cut::Mean) => f.write_str("numeric"),
            Kind::Numeric(Cut::Median) => f.write_str("numeric:median"),
            Kind::Numeric(Cut::Bins(count)) => write!(f, "numeric:bins={count}"),
            Kind::Numeric(Cut::At(values)) => {
                let list: Vec<String> = values.iter().map(f64::to_string).collect();
                write!(f, "numeric:at={}", list.join(","))
            }
            Kind::Numeric(Cut::Supervised(count)) => write!(f, "numeric:supervised={count}"),
            Kind::Boolean => f.write_str("boolean"),
            Kind::Categorical(Keep::All) => f.write_str("categorical"),
            Kind::Categorical(Keep::Top(count)) => write!(f, "categorical:top={count}"),
            Kind::Categorical(Keep::AtLeast(count)) => write!(f, "categorical:min={count}"),
            Kind::Date(parts) => {
                let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
                write!(f, "date:{}", names.join(","))
            }
            Kind::Ignored => f.write_str("ignored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips_through_text() {
        for text in [
            "numeric",
            "numeric:median",
            "numeric:bins=7",
            "numeric:supervised=3",
            "numeric:at=-1,2.5",
            "boolean",
            "categorical",
            "categorical:top=8",
            "categorical:min=30",
            "date:year,month,weekday",
            "date:ordinal",
            "ignored",
        ] {
            assert_eq!(text.parse::<Kind>().unwrap().to_string(), text);
        }
        for text in ["", "number", "numeric:bins=1", "numeric:at=", "numeric:at=2,1", "numeric:at=nan", "boolean:x"] {
            assert!(text.parse::<Kind>().is_err(), "{text}");
        }
        for text in ["numeric:mean=3", "numeric:supervised=1", "categorical:top=0", "categorical:x", "date", "date:day"]
        {
            assert!(text.parse::<Kind>().is_err(), "{text}");
        }
        assert!("date:year,year".parse::<Kind>().is_err());
        assert_eq!(named_kind("a=b=numeric:at=1"), Ok(("a=b".into(), Kind::Numeric(Cut::At(vec![1.0])))));
        assert!(named_kind("a=numeric:at=x").unwrap_err().contains("threshold 'x'"));
    }
}
