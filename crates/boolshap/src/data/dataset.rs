//! Turns a table into the inputs of training: the fitted binariser, the bits, the labels and the split.
//!
//! By default the features are fitted on all rows without their labels, as in the paper. `FitOn::Train` takes
//! thresholds and frequencies from the training rows only; supervised cuts always come from these. The cut of the label
//! and the categories of a column always come from all rows, because they define the task.

use super::{Binariser, Bits, CodedColumn, DataError, Kinds, MARKERS, MissingNumbers, Note, Plan, Table};
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
    /// The kinds of columns declared by the user.
    pub kinds: &'a Kinds,
    /// The share of rows kept for testing, from 0 up to but not including 1.
    pub test_fraction: f64,
    /// The seed of the split.
    pub seed: u64,
    /// Which rows the thresholds are fitted on.
    pub fit: FitOn,
    /// How missing numbers are encoded.
    pub missing: MissingNumbers,
    /// The texts that mean a missing value, besides blank ones.
    pub markers: Vec<String>,
}

impl<'a> Preparation<'a> {
    /// The defaults: half of the rows for testing, thresholds from all rows, missing numbers as 0.
    pub fn new(target: &'a str, kinds: &'a Kinds) -> Self {
        let markers = MARKERS.map(String::from).into();
        let (fit, missing) = (FitOn::All, MissingNumbers::Zero);
        Preparation { target, kinds, test_fraction: 0.5, seed: 7, fit, missing, markers }
    }
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
    /// Notes for the user.
    pub notes: Vec<Note>,
    /// The number of missing values in each column that has any.
    pub missing: Vec<(String, u64)>,
}

impl Dataset {
    /// Reads a table once to plan its bits and once to convert it; problems with several columns become one error.
    pub fn prepare(table: &Table, how: &Preparation<'_>, watch: &Watch<'_>) -> Result<Self, DataError> {
        let mut plan = Plan::read(table, how, watch)?;
        if let Some(problem) = plan.problem(table) {
            return Err(problem);
        }
        let mut notes = plan.notes();
        notes.extend(table.notes().into_iter().map(Note::new));
        let missing = plan.all().filter(|column| column.missing > 0 && !column.codes.is_empty());
        let missing = missing.map(|column| (column.name.clone(), column.missing)).collect();
        let Plan { target, columns, labels, test, .. } = plan;
        let flawed = |message| DataError::Format { path: table.path().into(), message };
        let columns: Vec<CodedColumn> = columns.into_iter().flat_map(|column| column.codes).collect();
        if columns.is_empty() {
            return Err(flawed("no column is left to learn from".into()));
        }
        let target = target.codes.into_iter().next().ok_or_else(|| flawed("there is no target".into()))?;
        let binariser = Binariser::new(columns).map_err(flawed)?;
        check_bits(&binariser).map_err(flawed)?;
        let bits = read_bits(table, &binariser, watch)?;
        if bits.rows() != labels.len() {
            return Err(flawed("the file changed while it was read".into()));
        }
        Ok(Dataset { binariser, target, bits, labels, test, notes, missing })
    }
}

/// Fails if two bits would have the same name, for example column `a` with value `b=c` and column `a=b` with value `c`.
fn check_bits(binariser: &Binariser) -> Result<(), String> {
    let mut names: Vec<(String, &String)> = Vec::new();
    for column in binariser.columns() {
        names.extend(column.features().into_iter().map(|name| (name, &column.column)));
    }
    names.sort();
    match names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some([(name, one), (_, other)]) => {
            Err(format!("the columns '{one}' and '{other}' would both have a bit called '{name}': rename one of them"))
        }
        _ => Ok(()),
    }
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
