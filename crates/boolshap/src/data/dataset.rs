//! From a table to all inputs of training: the fitted binariser, the bits, the labels and the split.
//!
//! By default the features are fitted on all rows without looking at their labels, as in the paper; `FitOn::Train`
//! takes thresholds from the training rows only. The label's own cut and the categories of a column always come from
//! all rows, because they define the task.

use super::profile::Profile;
use super::{Binariser, Bits, Code, CodedColumn, DataError, Kind, Kinds, Table, split};
use crate::lit::Watch;

/// Which rows the thresholds are fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FitOn {
    /// All rows, as in the paper.
    #[default]
    All,
    /// The training rows only.
    Train,
}

impl FitOn {
    /// Its name: `all` or `train`.
    pub fn name(self) -> &'static str {
        match self {
            FitOn::All => "all",
            FitOn::Train => "train",
        }
    }
}

impl std::str::FromStr for FitOn {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = [FitOn::All, FitOn::Train].into_iter().find(|fit| fit.name() == name);
        found.ok_or_else(|| format!("'{name}' is not one of all, train"))
    }
}

/// How to prepare a table.
#[derive(Debug, Clone)]
pub struct Preparation<'a> {
    /// The column to predict.
    pub target: &'a str,
    /// Kinds of columns given by the user.
    pub kinds: &'a Kinds,
    /// The share of rows kept for testing, from 0 up to but not including 1.
    pub test_fraction: f64,
    /// The seed of the split.
    pub seed: u64,
    /// Which rows the thresholds are fitted on.
    pub fit: FitOn,
}

/// A table prepared for training.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// How raw rows become bits.
    pub binariser: Binariser,
    /// How the target becomes a class.
    pub target: CodedColumn,
    /// The rows as bits.
    pub bits: Bits,
    /// The class of each row.
    pub labels: Vec<u32>,
    /// For each row, whether it is for testing.
    pub test: Vec<bool>,
    /// Notes for the user, a sentence each.
    pub notes: Vec<String>,
}

impl Dataset {
    /// Reads a table three times: to profile it, to label and split it, and to convert it to bits.
    pub fn prepare(table: &Table, how: &Preparation<'_>, watch: &Watch<'_>) -> Result<Self, DataError> {
        let target = table.position(how.target)?;
        for name in how.kinds.keys() {
            table.position(name)?;
        }
        let profile = Profile::read(table, how.kinds, |_| true, watch)?;
        let target = target_code(table, &profile, target, how.kinds)?;
        let labels = read_labels(table, &target, watch)?;
        if !labels.iter().any(|&label| label != labels[0]) {
            return Err(DataError::Column {
                path: table.path().into(),
                column: target.column,
                problem: match labels.len() {
                    0 => "has no rows to learn from".into(),
                    _ => "has one class only, so there is nothing to learn".into(),
                },
            });
        }
        let test = split(&labels, how.test_fraction, how.seed);
        let cuts = match how.fit {
            FitOn::All => None,
            FitOn::Train => Some(Profile::read(table, how.kinds, |row| test.get(row) == Some(&false), watch)?),
        };
        let mut notes = Vec::new();
        let mut columns = Vec::new();
        for (index, name) in table.columns().iter().enumerate().filter(|(_, name)| **name != how.target) {
            let kind = profile.kind(table, index, how.kinds)?;
            if profile.is_blank(index) && !how.kinds.contains_key(name) {
                notes.push(format!("column '{name}' has no value in any row and is ignored"));
            }
            let fitted = match kind {
                Kind::Numeric(_) => cuts.as_ref().unwrap_or(&profile),
                _ => &profile,
            };
            // A bad cell in a test row is an error, wherever the thresholds come from.
            profile.code(table, index, &kind)?;
            if let Some(code) = fitted.code(table, index, &kind)? {
                columns.push(CodedColumn { column: name.clone(), code });
            }
        }
        if columns.is_empty() {
            let message = "no column is left to learn from".into();
            return Err(DataError::Format { path: table.path().into(), message });
        }
        let flawed = |message| DataError::Format { path: table.path().into(), message };
        let binariser = Binariser::new(columns).map_err(flawed)?;
        let bits = read_bits(table, &binariser, watch)?;
        if bits.rows() != labels.len() {
            return Err(flawed("the file changed while it was read".into()));
        }
        Ok(Dataset { binariser, target, bits, labels, test, notes })
    }
}

fn target_code(table: &Table, profile: &Profile, index: usize, kinds: &Kinds) -> Result<CodedColumn, DataError> {
    let column = table.columns()[index].clone();
    let wrong = |problem: &str| DataError::Column {
        path: table.path().into(),
        column: column.clone(),
        problem: problem.to_string(),
    };
    if profile.is_blank(index) {
        return Err(wrong("is the target, but has no value in any row"));
    }
    let kind = profile.kind(table, index, kinds)?;
    let code = profile.code(table, index, &kind)?;
    match code.ok_or_else(|| wrong("is the target and cannot be ignored"))? {
        Code::Categories(values) if values.len() < 2 => Err(wrong("has one value only, so there is nothing to learn")),
        code => Ok(CodedColumn { column, code }),
    }
}

fn read_labels(table: &Table, target: &CodedColumn, watch: &Watch<'_>) -> Result<Vec<u32>, DataError> {
    let mut labels = Vec::new();
    for chunk in table.chunks(&[table.position(&target.column)?])? {
        watch.check()?;
        labels.extend(target.labels(table, &chunk?, 0)?);
    }
    Ok(labels)
}

fn read_bits(table: &Table, binariser: &Binariser, watch: &Watch<'_>) -> Result<Bits, DataError> {
    let wanted = binariser.columns().iter().map(|c| table.position(&c.column)).collect::<Result<Vec<_>, _>>()?;
    let mut all = Bits::new(binariser.features().len());
    for chunk in table.chunks(&wanted)? {
        watch.check()?;
        all.append(&binariser.encode(table, &chunk?)?);
    }
    Ok(all)
}
