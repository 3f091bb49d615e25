//! What each column of a table would become, and what is wrong with it, without training.

use super::{Error, TrainRequest};
use crate::data::{ColumnPlan, Kind, Note, Plan, Table};
use crate::lit::{Remedy, Watch, thousands};
use serde_json::{Value, json};
use std::path::Path;

/// How many names of a column's bits are shown.
const SHOWN: usize = 4;

/// A table and its plan.
#[derive(Debug)]
pub struct Inspection {
    table: Table,
    /// What its columns become.
    pub plan: Plan,
}

impl Inspection {
    /// Looks at a table as training would.
    pub fn read(path: &Path, request: &TrainRequest, watch: &Watch<'_>) -> Result<Self, Error> {
        let table = Table::open_to_reread(path)?;
        let kinds = request.kinds_for(&table)?;
        let plan = Plan::read(&table, &request.preparation(&kinds), watch)?;
        Ok(Inspection { table, plan })
    }

    /// Notes for the user.
    pub fn notes(&self) -> Vec<Note> {
        self.plan.notes().into_iter().chain(self.table.notes().into_iter().map(Note::new)).collect()
    }

    /// The settings with which the table can be read; nothing if no column has a problem.
    pub fn remedy(&self) -> Option<Remedy> {
        self.plan.remedy()
    }

    /// A line for each column.
    pub fn text(&self) -> String {
        let Plan { rows, columns, .. } = &self.plan;
        let wrong = self.plan.all().filter(|column| column.problem.is_some()).count();
        let used = columns.iter().filter(|column| !column.codes.is_empty()).count();
        let mut text = format!(
            "{}: {} rows; {used} of {} columns become {} bits{}",
            self.table.path().display(),
            thousands(*rows),
            columns.len(),
            self.plan.bits(),
            if wrong == 0 { String::new() } else { format!(", {wrong} cannot be read as they are") },
        );
        let width = self.plan.all().map(|column| column.name.chars().count()).max().unwrap_or(0).min(30);
        for column in self.plan.all() {
            let missing = match column.missing {
                0 => String::new(),
                count => format!("; {} missing", thousands(count)),
            };
            let target = if std::ptr::eq(column, &self.plan.target) { "target, " } else { "" };
            text += &format!("\n  {:width$}  {target}{}{missing}", column.name, becomes(column, !target.is_empty()));
        }
        text
    }

    /// The same as one JSON object.
    pub fn json(&self) -> Value {
        let mut target = column_json(&self.plan.target);
        target["classes"] = self.plan.target.codes.first().map_or(Value::Null, |code| json!(code.classes()));
        let remedy = match self.remedy() {
            Some(Remedy::Columns(said)) => {
                let kinds: Vec<String> = said.kinds.iter().map(|(name, kind)| format!("{name}={kind}")).collect();
                json!({"ignore": said.ignore, "column": kinds, "missing_values": said.missing})
            }
            _ => Value::Null,
        };
        json!({
            "rows": self.plan.rows,
            "bits": self.plan.bits(),
            "target": target,
            "columns": self.plan.columns.iter().map(column_json).collect::<Vec<_>>(),
            "problems": self.plan.all().filter(|column| column.problem.is_some()).count(),
            "notes": self.notes().iter().map(|note| &note.text).collect::<Vec<_>>(),
            "remedy": remedy,
        })
    }
}

/// The names of a column's bits, or of its classes.
fn names(column: &ColumnPlan, is_target: bool) -> Vec<String> {
    match is_target {
        true => column.codes.iter().flat_map(|code| code.classes()).collect(),
        false => column.codes.iter().flat_map(|code| code.features()).collect(),
    }
}

fn becomes(column: &ColumnPlan, is_target: bool) -> String {
    if let Some(problem) = &column.problem {
        return format!("cannot be read as it is: {problem}");
    }
    if column.kind == Kind::Ignored {
        return column.note.as_ref().map_or("ignored".into(), |note| format!("ignored: {}", note.text));
    }
    let names = names(column, is_target);
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { format!(", ... ({} in all)", names.len()) } else { String::new() };
    format!("{}: {}{more}", column.kind, shown.join(", "))
}

fn column_json(column: &ColumnPlan) -> Value {
    json!({
        "column": column.name,
        "kind": column.kind.to_string(),
        "declared": column.is_declared,
        "features": names(column, false),
        "missing": column.missing,
        "problem": column.problem.as_ref().map(ToString::to_string),
        "note": column.note.as_ref().map(|note| &note.text),
    })
}
