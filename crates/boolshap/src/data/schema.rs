//! Kinds of columns that the user can declare before anything is fitted.
//!
//! The command line and the schema file use the same syntax: `numeric`, `numeric:median`, `numeric:bins=4`,
//! `numeric:at=1.5` or `numeric:at=1,2,3`, `boolean`, `categorical`, `ignored`. The kinds of other columns are
//! recognised from their values.

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
    /// Names, with a bit for each.
    Categorical,
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
}

/// Kinds by column name.
pub type Kinds = BTreeMap<String, Kind>;

/// A column's name and its kind, `NAME=KIND`. Names may hold a `=`, and so do the options of some kinds.
pub fn named_kind(text: &str) -> Result<(String, Kind), String> {
    let mut cuts = text.match_indices('=').map(|(at, _)| Ok((text[..at].to_string(), text[at + 1..].parse()?)));
    let first = cuts.next().unwrap_or_else(|| Err("NAME=KIND is expected".to_string()));
    first.or_else(|problem| cuts.find_map(Result::ok).ok_or(problem))
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, cut) = text.split_once(':').map_or((text, None), |(kind, cut)| (kind, Some(cut)));
        let cut = match (kind, cut) {
            ("boolean", None) => return Ok(Kind::Boolean),
            ("categorical", None) => return Ok(Kind::Categorical),
            ("ignored", None) => return Ok(Kind::Ignored),
            ("numeric", None | Some("mean")) => Cut::Mean,
            ("numeric", Some("median")) => Cut::Median,
            ("numeric", Some(cut)) => match cut.split_once('=') {
                Some(("bins", count)) => match count.parse() {
                    Ok(count) if (2..=1000).contains(&count) => Cut::Bins(count),
                    _ => return Err(format!("'{count}' is not a number of bins from 2 to 1000")),
                },
                Some(("at", list)) => Cut::At(thresholds(list)?),
                _ => return Err(format!("'{cut}' is none of mean, median, bins=K, at=A,B,...")),
            },
            _ => {
                return Err(format!(
                    "'{text}' is none of numeric[:mean|:median|:bins=K|:at=A,...], boolean, categorical, ignored"
                ));
            }
        };
        Ok(Kind::Numeric(cut))
    }
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
            Kind::Boolean => f.write_str("boolean"),
            Kind::Categorical => f.write_str("categorical"),
            Kind::Ignored => f.write_str("ignored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips_through_text() {
        for text in
            ["numeric", "numeric:median", "numeric:bins=7", "numeric:at=-1,2.5", "boolean", "categorical", "ignored"]
        {
            assert_eq!(text.parse::<Kind>().unwrap().to_string(), text);
        }
        for text in ["", "number", "numeric:bins=1", "numeric:at=", "numeric:at=2,1", "numeric:at=nan", "boolean:x"] {
            assert!(text.parse::<Kind>().is_err(), "{text}");
        }
        assert_eq!(named_kind("a=b=numeric:at=1"), Ok(("a=b".into(), Kind::Numeric(Cut::At(vec![1.0])))));
        assert!(named_kind("a=numeric:at=x").unwrap_err().contains("threshold 'x'"));
    }
}
