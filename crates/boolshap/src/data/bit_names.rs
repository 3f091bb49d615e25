//! The names of a column's bits: the column and the test that the bit answers.
//!
//! | code | names | with a bit for missing values |
//! | --- | --- | --- |
//! | `Above(t)` | `COLUMN>T` | `COLUMN<=T`, `COLUMN>T`, `COLUMN=(missing)` |
//! | `Boolean` | `COLUMN=1` | `COLUMN=0`, `COLUMN=1`, `COLUMN=(missing)` |
//! | `Categories`, `Values` | `COLUMN=VALUE` for each | and `COLUMN=(missing)` |
//! | `Common` | the same, and `COLUMN=(other)` | and `COLUMN=(missing)` |
//! | `Bins` | `COLUMN=..A`, `COLUMN=A..B`, ..., `COLUMN=Z..` | and `COLUMN=(missing)` |
//!
//! So a table of bits never has the column names of its raw table. A threshold is written with six significant digits,
//! or more if it has more digits before the point or if the cuts of a column would look the same; the schema has the
//! exact one. Columns of the previous version, which do not say how they read missing values, keep their names:
//! `COLUMN` alone for a single bit.

use super::{Code, CodedColumn, DatePart, MISSING};

/// The name of all values that have no bit of their own.
pub const OTHER: &str = "(other)";

/// A number with at most six significant digits, or more before the point.
pub fn short_number(value: f64) -> String {
    digits(value, 6)
}

fn digits(value: f64, count: i32) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{value:.*e}", count as usize - 1);
    }
    let before = if size == 0.0 { 1 } else { size.log10().floor() as i32 + 1 };
    let text = format!("{value:.*}", usize::try_from(count - before).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Numbers with as few digits as tell them apart.
pub(super) fn apart(values: &[f64]) -> Vec<String> {
    let with = |count: i32| values.iter().map(|value| digits(*value, count)).collect::<Vec<_>>();
    let differ = |texts: &Vec<String>| {
        let mut sorted: Vec<&String> = texts.iter().collect();
        sorted.sort();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    (6..=17).map(with).find(differ).unwrap_or_else(|| values.iter().map(f64::to_string).collect())
}

/// The names of the intervals between and beyond these edges.
pub(super) fn bin_names(edges: &[String]) -> Vec<String> {
    let end = |index: usize| edges.get(index).map_or("", String::as_str);
    (0..=edges.len()).map(|bin| format!("{}..{}", if bin == 0 { "" } else { end(bin - 1) }, end(bin))).collect()
}

impl CodedColumn {
    /// The column's name; for a part of a date, with the part, as in `day.weekday`.
    pub fn name(&self) -> String {
        match self.part {
            None | Some(DatePart::Ordinal) => self.column.clone(),
            Some(part) => format!("{}.{}", self.column, part.name()),
        }
    }

    /// The names of the column's bits.
    pub fn features(&self) -> Vec<String> {
        let name = self.name();
        let Some(missing) = &self.missing else { return self.old_features() };
        let mut tests: Vec<String> = match &self.code {
            Code::Above(threshold) => {
                let threshold = self.number_text(*threshold);
                let mut both = vec![format!("<={threshold}"), format!(">{threshold}")];
                both.drain(..usize::from(!missing.bit));
                both
            }
            Code::Boolean if missing.bit => vec!["=0".into(), "=1".into()],
            Code::Boolean => vec!["=1".into()],
            code => self.value_names(code).into_iter().map(|value| format!("={value}")).collect(),
        };
        if matches!(self.code, Code::Common(_)) {
            tests.push(format!("={OTHER}"));
        }
        if missing.bit {
            tests.push(format!("={MISSING}"));
        }
        tests.into_iter().map(|test| format!("{name}{test}")).collect()
    }

    /// The names of the values of a one-hot code, without the bits for other and missing values.
    fn value_names(&self, code: &Code) -> Vec<String> {
        match code {
            Code::Above(_) | Code::Boolean => Vec::new(),
            Code::Categories(values) | Code::Common(values) => values.clone(),
            Code::Values(values) => values.iter().map(|value| self.number_text(*value)).collect(),
            Code::Bins(edges) => bin_names(&apart(edges)),
        }
    }

    /// What it means for a row to have one of the bits, in words.
    pub fn bit_words(&self, place: usize) -> String {
        let place = if self.is_one_hot() { place } else { 1 };
        let number = |value: f64| self.number_text(value);
        let values = self.code.values();
        match &self.code {
            _ if place == values => "missing".into(),
            Code::Above(threshold) if place == 0 => format!("at most {}", number(*threshold)),
            Code::Above(threshold) => format!("above {}", number(*threshold)),
            Code::Boolean => ["false", "true"][place].into(),
            Code::Common(kept) if place == kept.len() => "another value".into(),
            Code::Bins(edges) => {
                let edges = apart(edges);
                match (place.checked_sub(1).map(|below| &edges[below]), edges.get(place)) {
                    (None, Some(high)) => format!("at most {high}"),
                    (Some(low), Some(high)) => format!("above {low}, at most {high}"),
                    (Some(low), None) => format!("above {low}"),
                    (None, None) => "any value".into(),
                }
            }
            code => self.value_names(code)[place].clone(),
        }
    }

    /// A number of this column as text; as a date if it is one.
    pub fn number_text(&self, value: f64) -> String {
        let of_date = self.part.and_then(|part| part.text(value));
        of_date.unwrap_or_else(|| match self.code {
            Code::Values(_) => value.to_string(),
            _ => short_number(value),
        })
    }

    /// The names of the previous version.
    fn old_features(&self) -> Vec<String> {
        let name = &self.column;
        let values = match &self.code {
            Code::Above(_) | Code::Boolean => return vec![name.clone()],
            Code::Bins(edges) => bin_names(&edges.iter().map(f64::to_string).collect::<Vec<_>>()),
            code => self.value_names(code),
        };
        values.iter().map(|value| format!("{name}={value}")).collect()
    }

    /// The names of a target's classes.
    pub fn classes(&self) -> Vec<String> {
        match &self.code {
            Code::Above(threshold) => vec![format!("at most {threshold}"), format!("above {threshold}")],
            Code::Boolean => vec!["false".into(), "true".into()],
            Code::Bins(edges) => bin_names(&edges.iter().map(f64::to_string).collect::<Vec<_>>()),
            Code::Common(_) => [self.value_names(&self.code), vec![OTHER.into()]].concat(),
            code => self.value_names(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Missing;

    #[test]
    fn numbers_keep_six_digits() {
        let texts = [3.870_671_002_9, -119.569_704, 206_855.816_9, 0.5, 0.0, 1_234_567.8, 1e-9, 12.0].map(short_number);
        assert_eq!(texts, ["3.87067", "-119.57", "206856", "0.5", "0", "1234568", "1.00000e-9", "12"]);
        assert_eq!([0.000_151_234, 0.012_345_67, 0.1].map(short_number), ["0.000151234", "0.0123457", "0.1"]);
    }

    #[test]
    fn cuts_of_a_column_are_told_apart() {
        assert_eq!(apart(&[1.0, 1.000_000_1, 2.5]), ["1", "1.0000001", "2.5"]);
        assert_eq!(apart(&[0.1, 0.2, 0.1 + 0.2]), ["0.1", "0.2", "0.3"]);
        let next = f64::from_bits(0.3f64.to_bits() + 1);
        assert_eq!(apart(&[0.3, next]), ["0.29999999999999999", "0.30000000000000004"]);
    }

    #[test]
    fn bits_carry_their_test() {
        let names = |code: Code, part: Option<DatePart>, bit: bool| {
            let missing = Some(Missing { bit, ..Missing::default() });
            CodedColumn { column: "x".into(), part, code, missing }.features()
        };
        assert_eq!(names(Code::Above(3.870_671_002_9), None, false), ["x>3.87067"]);
        assert_eq!(names(Code::Above(3.5), None, true), ["x<=3.5", "x>3.5", "x=(missing)"]);
        assert_eq!(names(Code::Boolean, None, false), ["x=1"]);
        assert_eq!(names(Code::Boolean, None, true), ["x=0", "x=1", "x=(missing)"]);
        assert_eq!(names(Code::Bins(vec![1.0, 2.0]), None, true), ["x=..1", "x=1..2", "x=2..", "x=(missing)"]);
        assert_eq!(names(Code::Common(vec!["a".into()]), None, true), ["x=a", "x=(other)", "x=(missing)"]);
        assert_eq!(names(Code::Values(vec![1.0, 2.5]), None, false), ["x=1", "x=2.5"]);
        assert_eq!(names(Code::Above(2015.25), Some(DatePart::Year), false), ["x.year>2015.25"]);
        assert_eq!(names(Code::Above(0.5), Some(DatePart::Ordinal), false), ["x>1970-01-01T12:00"]);
        assert_eq!(
            names(Code::Values(vec![1.0, 2.0]), Some(DatePart::Weekday), false),
            ["x.weekday=Mon", "x.weekday=Tue"]
        );
        // Files of the previous version keep their names.
        let old = |code: Code| CodedColumn { column: "x".into(), part: None, code, missing: None }.features();
        assert_eq!([old(Code::Above(3.87)), old(Code::Boolean)], [["x"], ["x"]]);
        assert_eq!(old(Code::Bins(vec![1.234_567_8])), ["x=..1.2345678", "x=1.2345678.."]);
    }
}
