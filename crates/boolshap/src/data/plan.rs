//! Plans what each column of a table becomes, and finds every problem with the columns before training starts.
//!
//! Columns are judged one by one, so one pass reports all problems of a table. A column whose values are all distinct
//! is an identifier and is ignored with a note; a column of numbers only if its name suggests it too. Dates are also
//! ignored, unless a part of them is requested.

use super::fit::{self, Unfit};
use super::profile::{Profile, Reading, Seen};
use super::{
    Code, CodedColumn, Cut, DataError, DatePart, FitOn, Keep, Kind, MAX_CATEGORIES, Missing, MissingNumbers,
    Preparation, Table, split,
};
use crate::lit::{ColumnRemedy, Remedy, Watch};

/// With at least this many values, all values being distinct is significant.
const MANY: u64 = 20;
/// How many values of a column with too many to propose keeping.
const PROPOSED: usize = 20;

/// A message for the user, with settings that would change the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The message, a sentence.
    pub text: String,
    /// The settings that would change it.
    pub remedy: Option<Remedy>,
}

impl Note {
    /// A note without an alternative.
    pub fn new(text: impl Into<String>) -> Self {
        Note { text: text.into(), remedy: None }
    }

    fn with_kind(text: String, column: &str, kind: &str) -> Self {
        let kinds = vec![(column.to_string(), kind.to_string())];
        Note { text, remedy: Some(Remedy::Columns(ColumnRemedy { kinds, ..ColumnRemedy::default() }.into())) }
    }
}

/// What a column becomes.
#[derive(Debug)]
pub struct ColumnPlan {
    /// Its name.
    pub name: String,
    /// Its kind, as the user would declare it.
    pub kind: Kind,
    /// Whether the user declared the kind.
    pub is_declared: bool,
    /// Its codes: one, or one for each part of a date; empty if the column is ignored or has a problem.
    pub codes: Vec<CodedColumn>,
    /// How many of its values are missing.
    pub missing: u64,
    /// A note for the user.
    pub note: Option<Note>,
    /// What is wrong with it.
    pub problem: Option<DataError>,
    /// Kinds that would work.
    proposals: Vec<String>,
    /// Texts that could mean missing values.
    strange: Vec<String>,
}

/// The plan of a whole table.
#[derive(Debug)]
pub struct Plan {
    /// The number of rows.
    pub rows: u64,
    /// The target's plan.
    pub target: ColumnPlan,
    /// The plans of all other columns, in the order of the header.
    pub columns: Vec<ColumnPlan>,
    /// The class of each row; empty if there is a problem with the target.
    pub(super) labels: Vec<u32>,
    /// For each row, whether it is for testing.
    pub(super) test: Vec<bool>,
}

impl Plan {
    /// Reads a table two or three times: to profile its values, to label and split it, and once more if thresholds come
    /// from training rows only.
    pub fn read(table: &Table, how: &Preparation<'_>, watch: &Watch<'_>) -> Result<Self, DataError> {
        let target = table.position(how.target)?;
        for name in how.kinds.keys() {
            table.position(name)?;
        }
        let planner = Planner { table, how, wanted: wanted(table, how) };
        let read = |keep: &dyn Fn(usize) -> bool, labels: Option<&[u32]>| {
            let columns = planner.wanted.clone();
            let reading = Reading { kinds: how.kinds, markers: &how.markers, columns, keep, labels };
            Profile::read(table, &reading, watch)
        };
        let all = read(&|_| true, None)?;
        let mut target = planner.target(&all, target);
        let mut labels = Vec::new();
        if let [code] = &target.codes[..] {
            match planner.labels(code, watch) {
                Ok(found) => labels = found,
                Err(DataError::Stopped(stopped)) => return Err(stopped.into()),
                Err(error) => target.problem = Some(error),
            }
        }
        let test = split(&labels, how.test_fraction, how.seed);
        let is_supervised = |kind: &Kind| matches!(kind, Kind::Numeric(Cut::Supervised(_)));
        let in_training = |row: usize| test.get(row) == Some(&false);
        let trained = match how.fit == FitOn::Train || how.kinds.values().any(is_supervised) {
            true if !labels.is_empty() => Some(read(&in_training, Some(&labels))?),
            _ => None,
        };
        let names = table.columns().iter().enumerate().filter(|(_, name)| **name != how.target);
        let columns = names.map(|(index, _)| planner.column(&all, trained.as_ref(), index)).collect();
        Ok(Plan { rows: all.rows, target, columns, labels, test })
    }

    /// The number of bits.
    pub fn bits(&self) -> usize {
        self.columns.iter().flat_map(|column| &column.codes).map(CodedColumn::bits).sum()
    }

    /// All plans, that of the target first.
    pub fn all(&self) -> impl Iterator<Item = &ColumnPlan> {
        std::iter::once(&self.target).chain(&self.columns)
    }

    /// Notes for the user: how the target was read, then the columns.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes: Vec<Note> = self.all().filter_map(|column| column.note.clone()).collect();
        let missing = |column: &&ColumnPlan| column.missing > 0 && !column.codes.is_empty();
        let words = |column: &ColumnPlan| {
            let bit = column.codes.iter().all(CodedColumn::has_missing_bit);
            format!(
                "{} in '{}' ({})",
                column.missing,
                column.name,
                if bit { "a bit of their own" } else { "read as 0" }
            )
        };
        let counted: Vec<String> = self.columns.iter().filter(missing).map(words).collect();
        if !counted.is_empty() {
            notes.push(Note::new(format!("missing values: {}", counted.join(", "))));
        }
        notes
    }

    /// Settings with which the table could be read; `None` if there is no problem.
    pub fn remedy(&self) -> Option<Remedy> {
        let wrong: Vec<&ColumnPlan> = self.columns.iter().filter(|column| column.problem.is_some()).collect();
        if wrong.is_empty() {
            return None;
        }
        let ignore = wrong.iter().map(|column| column.name.clone()).collect();
        let kinds = wrong.iter().filter_map(|column| Some((column.name.clone(), column.proposals.first()?.clone())));
        let markers = wrong.iter().flat_map(|column| &column.strange);
        // Markers are given as a comma-separated list; a text with a comma is more likely a number with a decimal
        // comma.
        let mut missing: Vec<String> = markers.filter(|text| !text.contains(',')).cloned().collect();
        missing.sort();
        missing.dedup();
        Some(Remedy::Columns(ColumnRemedy { ignore, kinds: kinds.collect(), missing }.into()))
    }

    /// The problems of all columns in one error; `None` if there are none.
    pub(super) fn problem(&mut self, table: &Table) -> Option<DataError> {
        let remedy = self.remedy();
        let all = std::iter::once(&mut self.target).chain(&mut self.columns);
        let mut problems: Vec<DataError> = all.filter_map(|column| column.problem.take()).collect();
        match problems.len() {
            0 => None,
            1 if remedy.is_none() => problems.pop(),
            _ => Some(DataError::Table { path: table.path().into(), problems, remedy }),
        }
    }
}

/// The columns to profile, and the parts of their dates.
fn wanted(table: &Table, how: &Preparation<'_>) -> Vec<(usize, Option<DatePart>)> {
    let of_column = |(index, name): (usize, &String)| match how.kinds.get(name) {
        // Ignored columns may even be unreadable.
        Some(Kind::Ignored) => Vec::new(),
        _ if table.field(index).data_type().is_nested() => Vec::new(),
        Some(Kind::Date(parts)) => parts.iter().map(|part| (index, Some(*part))).collect(),
        _ => vec![(index, None)],
    };
    table.columns().iter().enumerate().flat_map(of_column).collect()
}

struct Planner<'a> {
    table: &'a Table,
    how: &'a Preparation<'a>,
    wanted: Vec<(usize, Option<DatePart>)>,
}

impl Planner<'_> {
    /// The statistics of a column: one, or one for each part of its dates.
    fn seen<'p>(&self, profile: &'p Profile, index: usize) -> Vec<(&'p Seen, Option<DatePart>)> {
        let own = self.wanted.iter().zip(&profile.columns).filter(|((place, _), _)| *place == index);
        own.map(|((_, part), seen)| (seen, *part)).collect()
    }

    fn error(&self, name: &str, unfit: Unfit) -> DataError {
        let (path, column) = (self.table.path().into(), name.to_string());
        match unfit {
            Unfit::Column(problem) => DataError::Column { path, column, problem },
            Unfit::Cell(row, value, problem) => DataError::Cell { path, row, column, value, problem },
        }
    }

    fn empty(&self, index: usize, kind: Kind) -> ColumnPlan {
        let name = self.table.columns()[index].clone();
        let is_declared = self.how.kinds.contains_key(&name);
        let (codes, proposals, strange) = (Vec::new(), Vec::new(), Vec::new());
        ColumnPlan { name, kind, is_declared, codes, missing: 0, note: None, problem: None, proposals, strange }
    }

    fn unreadable(&self, index: usize) -> ColumnPlan {
        let mut plan = self.empty(index, Kind::Ignored);
        let kind = self.table.field(index).data_type().to_string();
        plan.problem = Some(self.error(&plan.name, Unfit::Column(format!("cannot be read: it holds {kind}"))));
        plan
    }

    /// The plan of a column that is a feature.
    fn column(&self, all: &Profile, trained: Option<&Profile>, index: usize) -> ColumnPlan {
        let name = &self.table.columns()[index];
        let declared = self.how.kinds.get(name);
        if declared == Some(&Kind::Ignored) {
            return self.empty(index, Kind::Ignored);
        }
        let seen = self.seen(all, index);
        let Some((first, _)) = seen.first() else { return self.unreadable(index) };
        let mut plan = self.empty(index, Kind::Ignored);
        plan.missing = first.missing;
        match declared.cloned().map_or_else(|| recognised(name, first), Recognised::Kind) {
            Recognised::Kind(kind) => plan.kind = kind,
            Recognised::Ignored(note) => {
                plan.note = Some(note);
                return plan;
            }
            Recognised::TooMany => {
                let (path, column) = (self.table.path().into(), name.clone());
                plan.problem = Some(DataError::TooManyCategories { path, column, limit: MAX_CATEGORIES });
                plan.proposals = vec![Kind::Categorical(Keep::Top(PROPOSED)).to_string()];
                return plan;
            }
        }
        let trained = trained.map(|profile| self.seen(profile, index));
        match self.codes(&plan, &seen, trained.as_deref()) {
            Ok(codes) => plan.codes = codes,
            Err(unfit) => {
                if matches!(unfit, Unfit::Cell(..)) {
                    plan.strange = first.misfit_texts();
                    let kind = if first.texts.len() <= MAX_CATEGORIES { Keep::All } else { Keep::Top(PROPOSED) };
                    plan.proposals = vec![Kind::Categorical(kind).to_string()];
                }
                plan.problem = Some(self.error(name, unfit));
            }
        }
        plan
    }

    fn codes(
        &self,
        plan: &ColumnPlan,
        all: &[(&Seen, Option<DatePart>)],
        trained: Option<&[(&Seen, Option<DatePart>)]>,
    ) -> Result<Vec<CodedColumn>, Unfit> {
        let coded = |part: Option<DatePart>, code: Code| {
            let has_zero = matches!(code, Code::Above(_) | Code::Boolean);
            // A one-hot column must always have exactly one bit that is 1.
            let bit = plan.missing > 0 && (!has_zero || self.how.missing == MissingNumbers::Bit);
            let missing = Some(Missing { bit, markers: self.how.markers.to_vec() });
            CodedColumn { column: plan.name.clone(), part, code, missing }
        };
        // Supervised cuts use training rows only, whatever the other codes use.
        let supervised = matches!(plan.kind, Kind::Numeric(Cut::Supervised(_)));
        let fitted = match trained {
            Some(trained) if supervised || self.how.fit == FitOn::Train => trained,
            _ => all,
        };
        let (seen, fit) = (all[0].0, fitted[0].0);
        Ok(match &plan.kind {
            Kind::Ignored => Vec::new(),
            Kind::Boolean => vec![coded(None, Code::Boolean)],
            Kind::Categorical(keep) => vec![coded(None, fit::categorical(seen, fit, *keep)?)],
            Kind::Numeric(cut) => {
                // A bad cell in a test row is an error, whichever rows the thresholds come from.
                fit::check_cells(seen, false)?;
                // Supervised cuts need a target.
                if supervised && trained.is_none() {
                    return Ok(Vec::new());
                }
                vec![coded(None, fit::numeric(fit, cut)?)]
            }
            Kind::Date(_) => {
                fit::check_cells(seen, true)?;
                let each = fitted.iter().filter_map(|(seen, part)| Some((seen, (*part)?)));
                each.map(|(seen, part)| Ok(coded(Some(part), fit::date(seen, part)?))).collect::<Result<_, _>>()?
            }
        })
    }

    /// The plan of the target, with one code unless it has a problem.
    fn target(&self, all: &Profile, index: usize) -> ColumnPlan {
        let name = &self.table.columns()[index];
        let found = self.seen(all, index);
        let (seen, declared) = match (&found[..], self.how.kinds.get(name)) {
            ([(seen, None)], declared) if declared != Some(&Kind::Ignored) => (*seen, declared),
            ([], None) => return self.unreadable(index),
            _ => {
                let mut plan = self.empty(index, Kind::Ignored);
                let problem = "is the target and cannot be ignored, nor be taken apart as a date";
                plan.problem = Some(self.error(name, Unfit::Column(problem.into())));
                return plan;
            }
        };
        let kind = declared.cloned().unwrap_or_else(|| target_kind(seen));
        let mut plan = self.empty(index, kind);
        plan.missing = seen.missing;
        match self.target_code(seen, &plan.kind, declared.is_none()) {
            Ok(code) => {
                let missing = Some(Missing { bit: false, markers: self.how.markers.to_vec() });
                let code = CodedColumn { column: name.clone(), part: None, code, missing };
                plan.note = Some(target_note(&code, declared.is_none()));
                plan.codes = vec![code];
            }
            Err(unfit) => plan.problem = Some(self.error(name, unfit)),
        }
        plan
    }

    fn target_code(&self, seen: &Seen, kind: &Kind, is_free: bool) -> Result<Code, Unfit> {
        if seen.present == 0 {
            return Err(Unfit::Column("is the target, but has no value in any row".into()));
        }
        let code = match kind {
            Kind::Numeric(Cut::Supervised(_)) => {
                return Err(Unfit::Column("is the target, and cannot be cut by looking at itself".into()));
            }
            Kind::Numeric(cut) => {
                fit::check_cells(seen, false)?;
                fit::numeric(seen, cut)?
            }
            Kind::Boolean => Code::Boolean,
            // A small number of distinct whole numbers become classes, in ascending order.
            _ if is_free && seen.is_few_whole() => {
                Code::Values(seen.wholes.iter().map(|whole| *whole as f64).collect())
            }
            Kind::Categorical(_) if is_free && seen.texts.len() > MAX_CATEGORIES => {
                let problem = format!("is the target and holds more than {MAX_CATEGORIES} different texts");
                return Err(Unfit::Column(problem));
            }
            Kind::Categorical(keep) => fit::categorical(seen, seen, *keep)?,
            Kind::Date(_) | Kind::Ignored => return Err(Unfit::Column("is the target and cannot be ignored".into())),
        };
        match code.values() {
            1 => Err(Unfit::Column("has one value only, so there is nothing to learn".into())),
            _ => Ok(code),
        }
    }

    fn labels(&self, target: &CodedColumn, watch: &Watch<'_>) -> Result<Vec<u32>, DataError> {
        let mut labels = Vec::new();
        for chunk in self.table.chunks(&[self.table.position(&target.column)?])? {
            watch.check()?;
            labels.extend(target.labels(self.table, &chunk?, 0)?);
        }
        if !labels.iter().any(|&label| label != labels[0]) {
            let problem = match labels.len() {
                0 => "has no rows to learn from",
                _ => "has one class only, so there is nothing to learn",
            };
            return Err(self.error(&target.column, Unfit::Column(problem.into())));
        }
        Ok(labels)
    }
}

/// The kind of a column without a declared one.
enum Recognised {
    Kind(Kind),
    Ignored(Note),
    TooMany,
}

fn recognised(name: &str, seen: &Seen) -> Recognised {
    let is_number = seen.numbers * 2 > seen.present;
    let is_identifier =
        seen.is_distinct() && seen.present >= MANY && (!is_number || seen.is_whole() && names_identifier(name));
    if seen.present == 0 {
        Recognised::Ignored(Note::new(format!("column '{name}' has no value in any row and is ignored")))
    } else if seen.dates * 2 > seen.present {
        let text = format!("column '{name}' holds dates and is ignored");
        Recognised::Ignored(Note::with_kind(text, name, "date:year,month,weekday"))
    } else if seen.truths == seen.present {
        Recognised::Kind(Kind::Boolean)
    } else if is_identifier {
        let text = format!("column '{name}' holds another value in every row, like an identifier, and is ignored");
        Recognised::Ignored(Note::with_kind(text, name, if is_number { "numeric" } else { "categorical" }))
    } else if is_number {
        Recognised::Kind(Kind::Numeric(Cut::Mean))
    } else if seen.texts.len() <= MAX_CATEGORIES {
        Recognised::Kind(Kind::Categorical(Keep::All))
    } else {
        Recognised::TooMany
    }
}

/// Whether a name is typical of identifiers and row numbers.
fn names_identifier(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    let whole = ["", "id", "ids", "index", "key", "row", "rownames", "row_names", "rownum", "uuid", "unnamed: 0"];
    let ends = ["_id", "-id", " id", ".id", "_key", "_no"];
    whole.contains(&lower.as_str())
        || ends.iter().any(|end| lower.ends_with(end))
        || name.ends_with("Id")
        || name.ends_with("ID")
}

fn target_kind(seen: &Seen) -> Kind {
    let are_numbers = || seen.texts.keys().all(|text| text.trim().parse::<f64>().is_ok());
    if seen.is_few_whole() && are_numbers() {
        Kind::Categorical(Keep::All)
    } else if seen.truths == seen.present {
        Kind::Boolean
    } else if seen.numbers * 2 > seen.present {
        Kind::Numeric(Cut::Mean)
    } else {
        Kind::Categorical(Keep::All)
    }
}

/// How the target was read, and how to change that.
fn target_note(target: &CodedColumn, is_free: bool) -> Note {
    let named: Vec<String> =
        target.classes().iter().enumerate().map(|(class, name)| format!("{class} is '{name}'")).collect();
    let text = format!("target '{}': class {}", target.column, named.join(", "));
    match &target.code {
        Code::Values(_) if is_free => {
            let cut = format!("{text} (its few whole numbers are classes; as numbers they would be cut at the mean)");
            Note::with_kind(cut, &target.column, "numeric")
        }
        Code::Above(_) if is_free => {
            Note::with_kind(format!("{text} (numbers, cut at their mean)"), &target.column, "numeric:median")
        }
        _ => Note::new(text),
    }
}
