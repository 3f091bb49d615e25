//! Models of raw columns and tables in files: recognises models, reads the rows of a table by the names of their
//! columns, and scores all rows, one part of the table at a time.

use super::{Description, Error, Explained, PlayersFrom, RawExplainer, Request};
use crate::data::{
    Cells, Chunk, DataError, MARKERS, Numbers, RawRows, ScoreColumns, ScoreMeans, ScoreSink, Scores, Table,
};
use crate::lit::{Watch, thousands};
use crate::model::{Decision, RawModel, import_lightgbm, import_xgboost};
use arrow_schema::FieldRef;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use std::io::Read;
use std::path::Path;

/// The fields that tell the kinds of JSON files apart.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    learner: Option<IgnoredAny>,
}

/// The model of raw columns in a file: boolshap's own, XGBoost's JSON or LightGBM's text; nothing if it is another file.
pub fn load_raw_model(path: &Path) -> Result<Option<RawModel>, Error> {
    let mut file = std::fs::File::open(path).map_err(Error::file(path))?;
    let mut content = vec![0; 5];
    // Do not read circuits: they can be large, and begin otherwise.
    if file.read_exact(&mut content).is_err() || !(content == *b"tree\n" || content[0] == b'{') {
        return Ok(None);
    }
    file.read_to_end(&mut content).map_err(Error::file(path))?;
    let Ok(text) = std::str::from_utf8(&content) else { return Ok(None) };
    let model = if content.starts_with(b"tree\n") {
        import_lightgbm(text)
    } else {
        match serde_json::from_str::<Head>(text) {
            Ok(Head { format: Some(format), .. }) if format.starts_with("boolshap raw model") => {
                RawModel::from_json(text)
            }
            Ok(Head { learner: Some(_), .. }) => import_xgboost(text, None),
            _ => return Ok(None),
        }
    };
    model.map(Some).map_err(|error| Error::from(error).in_file(path))
}

/// A description of a model of raw columns.
pub fn describe_raw(model: &RawModel) -> Description {
    let kind = match (model.trees.is_empty(), model.decision) {
        (false, Decision::Number) => "trees that add up to a number",
        (false, _) => "trees that decide",
        (true, Decision::Number) => "a linear model",
        (true, _) => "a linear model that decides",
    };
    let leaves: usize = model.trees.iter().map(crate::model::RawTree::leaves).sum();
    let mut text = format!("model of raw columns: {kind}\ncolumns: {}", model.columns.join(", "));
    if !model.trees.is_empty() {
        let (trees, leaves) = (thousands(model.trees.len() as u64), thousands(leaves as u64));
        text += &format!("\ntrees: {trees} with {leaves} leaves");
    }
    if !model.outputs.is_empty() {
        text += &format!("\noutputs: {}", model.outputs.join(", "));
    }
    text += match model.takes_missing {
        true => "\nmissing values: go where the trees send them",
        false => "\nmissing values: refused",
    };
    let json = json!({
        "kind": "raw model", "columns": model.columns, "outputs": model.outputs, "trees": model.trees.len(),
        "leaves": leaves, "takes_missing": model.takes_missing, "decides": model.decision != Decision::Number,
    });
    Description { text, json, notes: Vec::new() }
}

/// The rows of a table, part by part, in the columns of a model.
pub struct RawTable {
    table: Table,
    columns: Vec<String>,
    kept: Vec<usize>,
}

impl RawTable {
    /// Opens a table that has these columns, and others.
    pub fn open(path: &Path, columns: &[String]) -> Result<Self, Error> {
        let table = Table::open(path)?;
        columns.iter().try_for_each(|column| table.position(column).map(drop))?;
        Ok(RawTable { table, columns: columns.to_vec(), kept: Vec::new() })
    }

    /// Copies these columns to the result.
    pub fn keep(&mut self, columns: &[String]) -> Result<(), Error> {
        self.kept = columns.iter().map(|column| self.table.position(column)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The fields of the copied columns.
    pub fn kept(&self) -> Vec<FieldRef> {
        self.kept.iter().map(|&place| self.table.field(place)).collect()
    }

    /// The names of all columns of the table.
    pub fn names(&self) -> &[String] {
        self.table.columns()
    }

    /// Visits the rows, a part of the table at a time.
    pub fn each(
        &self,
        watch: &Watch<'_>,
        mut visit: impl FnMut(RawRows, Chunk) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let wanted = self.columns.iter().map(|column| self.table.position(column)).collect::<Result<Vec<_>, _>>()?;
        let mut rows = 0;
        for chunk in self.table.chunks_keeping(&wanted, &self.kept)? {
            let chunk = chunk?;
            watch.step(chunk.first_row - 1, chunk.expected_rows.unwrap_or(0))?;
            let column = |(name, cells): (&String, &Cells)| self.numbers(name, cells, &chunk);
            let columns = self.columns.iter().zip(&chunk.columns).map(column).collect::<Result<Vec<_>, _>>()?;
            let (first, count) = (chunk.first_row, chunk.rows);
            visit(RawRows::of_columns(count, columns), chunk).map_err(|error| self.in_table(error, first))?;
            rows += count as u64;
        }
        Ok(rows)
    }

    /// All rows.
    pub fn read(&self, watch: &Watch<'_>) -> Result<RawRows, Error> {
        let mut columns = vec![Vec::new(); self.columns.len()];
        let rows = self.each(&watch.silent(), |rows, _| {
            columns.iter_mut().enumerate().for_each(|(place, all)| all.extend_from_slice(rows.column(place)));
            Ok(())
        })?;
        Ok(RawRows::of_columns(rows as usize, columns))
    }

    fn numbers(&self, name: &str, cells: &Cells, chunk: &Chunk) -> Result<Vec<f64>, DataError> {
        let number = |row: usize| match cells.number(row) {
            Ok(number) => Ok(number.unwrap_or(f64::NAN)),
            Err(_) => {
                let value = cells.text(row).unwrap_or_default().into_owned();
                if MARKERS.contains(&value.trim()) {
                    return Ok(f64::NAN);
                }
                let (path, column) = (self.table.path().into(), name.to_string());
                let row = chunk.first_row + row as u64;
                Err(DataError::Cell { path, row, column, value, problem: "is not a finite number".into() })
            }
        };
        (0..chunk.rows).map(number).collect()
    }

    /// An error about a row of a part, with the row's number in the table.
    pub(super) fn in_table(&self, error: Error, first: u64) -> Error {
        match error {
            Error::Data(DataError::Cell { row, column, value, problem, .. })
            | Error::Explain(crate::explain::ExplainError::Data(DataError::Cell {
                row, column, value, problem, ..
            })) => {
                let path = self.table.path().into();
                DataError::Cell { path, row: row + first - 1, column, value, problem }.into()
            }
            other => other,
        }
    }
}

impl RawExplainer {
    /// The columns of a file of these scores.
    pub fn columns(&self, request: &Request, kept: Vec<FieldRef>) -> ScoreColumns {
        let names = request.index.columns(self.players());
        let mut columns = ScoreColumns { kept, values: self.width(), ..ScoreColumns::of_scores(&names, request.exact) };
        if self.width() > 1 {
            let of_output = |output: usize| columns.numbers.iter().map(move |name| format!("{name}:{output}"));
            columns.numbers = (0..self.width()).flat_map(of_output).collect();
        }
        let output = Some(self.model_output());
        columns.about = Request { players: PlayersFrom::Columns, model_output: output, ..request.clone() }.about(None);
        columns
    }

    /// Explains a table, a part at a time.
    pub fn explain_table(
        &self,
        table: &RawTable,
        request: &Request,
        sink: &mut dyn ScoreSink,
        watch: &Watch<'_>,
    ) -> Result<Explained, Error> {
        let width = self.columns(request, Vec::new()).numbers.len();
        let mut means = ScoreMeans::new(sink, width, request.exact);
        let rows = table.each(watch, |rows, chunk| {
            let scores = self.scores(&rows, request, &watch.silent())?;
            means.learn(&scores);
            means.write(&(0..chunk.rows as u32).collect::<Vec<_>>(), &chunk.kept)?;
            means.forget();
            Ok(())
        })?;
        Ok(Explained { rows, distinct_rows: None, means: means.finish() })
    }

    /// The scores of some rows: for each row and output the base value, then the scores.
    pub fn scores(&self, rows: &RawRows, request: &Request, watch: &Watch<'_>) -> Result<Scores, Error> {
        let outputs = self.width();
        let values = Numbers::Floats(self.predictions(rows, watch)?);
        if !request.exact {
            let found = self.explain(rows, request.index, watch)?;
            let numbers = grouped(&self.base_values(), &found, rows.len(), outputs);
            let width = numbers.len() / rows.len().max(1);
            return Ok(Scores::of_values(width, vec![0; rows.len()], Numbers::Floats(numbers), values));
        }
        let found = self.explain_exact(rows, request.index, watch)?;
        let numbers = grouped(&self.exact_base_values(), &found, rows.len(), outputs);
        let width = numbers.len() / rows.len().max(1);
        // The sum of base value and scores is exact too.
        let sum = |group: &[dashu_ratio::RBig]| group.iter().fold(dashu_ratio::RBig::ZERO, |all, one| all + one);
        let values = numbers.chunks((width / outputs).max(1)).map(sum).collect();
        Ok(Scores::of_values(width, vec![0; rows.len()], Numbers::Exact(numbers), Numbers::Exact(values)))
    }
}

/// From numbers by row, player and output to groups by row and output, the base value in front of each.
fn grouped<T: Clone>(bases: &[T], found: &[T], rows: usize, outputs: usize) -> Vec<T> {
    let each = found.len() / rows.max(1);
    let mut numbers = Vec::with_capacity(found.len() + rows * outputs);
    for row in 0..rows {
        for (output, base) in bases.iter().enumerate() {
            numbers.push(base.clone());
            numbers.extend(found[row * each..][..each].iter().skip(output).step_by(outputs).cloned());
        }
    }
    numbers
}
