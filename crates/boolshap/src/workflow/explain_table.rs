//! Tables of any length through an explainer: from a file to a file, or to any other sink of scores.

use super::{Error, Explainer, Scope};
use crate::data::{Bits, Entities, Means, ScoreColumns, ScoreFile, ScoreMeans, ScoreSink, check_outputs};
use crate::explain::{Streamed, explain_stream};
use crate::lit::Watch;
use arrow_schema::FieldRef;
use std::path::Path;
use std::sync::OnceLock;

/// A table that was explained.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// How many rows it has.
    pub rows: u64,
    /// How many of them are distinct; nothing if that was more than are counted.
    pub distinct_rows: Option<u64>,
    /// The mean of the absolute numbers of all rows; nothing without rows.
    pub means: Option<Means>,
}

impl Explainer {
    /// The columns of a result, which follow these columns of the input.
    pub fn columns(&self, kept: Vec<FieldRef>) -> Result<ScoreColumns, Error> {
        let scope = self.ask.scope;
        let mut columns = ScoreColumns {
            kept,
            about: self.request.about(scope.name().as_deref()),
            ..ScoreColumns::of_scores(&self.ask.index.columns(self.players.names()), self.ask.exact)
        };
        if let Scope::Class(class) = scope
            && let Some((name, _)) = self.circuit.classes.get(class)
        {
            columns.about.insert("class_name".into(), name.clone());
        }
        if let Some(caution) = self.circuit.facts.cautions().first() {
            columns.about.insert("caution".into(), caution.clone());
        }
        if let Some(note) = self.reordered() {
            columns.about.insert("reordered".into(), note);
        }
        if scope == Scope::Each {
            let of_class = |class: usize| columns.numbers.iter().map(move |name| format!("{name}:{class}"));
            columns.numbers = (0..self.outputs.len()).flat_map(of_class).collect();
        }
        columns.explained = scope.explained(self.outputs.len());
        if self.is_of_scores() {
            columns.values = if scope == Scope::Each { self.outputs.len() } else { 1 };
            if matches!(scope, Scope::Class(_)) || !self.decides() {
                columns.explained.clear();
            }
        }
        let reserved = |name: &&String| {
            let of_classes = scope != Scope::Label && ["explained_value", "class"].contains(&name.as_str());
            ["prediction", "base_value"].contains(&name.as_str()) || of_classes
        };
        if let Some(name) = columns.numbers[1..].iter().find(reserved) {
            return Err(Error::input(format!("a player is called '{name}', like a column of the result")));
        }
        for (index, field) in columns.kept.iter().enumerate() {
            let name = field.name();
            if columns.results().contains(name) {
                return Err(Error::input(format!("the result has a column '{name}' of its own")));
            }
            if columns.kept[..index].iter().any(|other| other.name() == name) {
                return Err(Error::input(format!("the column '{name}' is there twice")));
            }
        }
        Ok(columns)
    }

    /// Opens a file of rows for this circuit.
    pub fn open(&self, path: &Path) -> Result<Entities, Error> {
        let circuit = &self.circuit;
        Ok(Entities::open(path, &circuit.features, circuit.binariser.as_ref(), self.request.input)?)
    }

    /// Reads, explains and writes a table of any length in bounded memory.
    pub fn explain_table(
        &self,
        entities: Entities,
        sink: &mut dyn ScoreSink,
        watch: &Watch<'_>,
    ) -> Result<Explained, Error> {
        let columns = self.columns(Vec::new())?;
        let mut means = ScoreMeans::new(sink, columns.numbers.len(), self.ask.exact);
        // The stream can only return errors of its stage; other errors are kept here.
        let failed = OnceLock::new();
        let score = |rows: &Bits, watch: &Watch<'_>| {
            self.explain(rows, watch).map_err(|error| match error {
                Error::Explain(error) => error,
                Error::Stopped(stopped) => stopped.into(),
                other => {
                    let _ = failed.set(other);
                    crate::lit::Stopped::Interrupted.into()
                }
            })
        };
        let streamed = explain_stream(entities, score, &mut means, watch);
        let Streamed { rows, distinct_rows } = match failed.into_inner() {
            Some(error) => return Err(error),
            None => streamed?,
        };
        Ok(Explained { rows, distinct_rows, means: means.finish() })
    }

    /// Explains a file into a file, CSV or Parquet by its ending.
    pub fn explain_file(&self, input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Explained, Error> {
        check_outputs(&[output.as_ref()], &[&[input.as_ref()], &self.request.files()[..]].concat())?;
        let entities = self.open(input.as_ref())?;
        let mut file = ScoreFile::create(output.as_ref(), &self.columns(Vec::new())?)?;
        let explained = self.explain_table(entities, &mut file, &Watch::unlimited())?;
        file.finish()?;
        Ok(explained)
    }
}
