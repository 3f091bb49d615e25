//! Files that a user drops on the playground: read, and compiled if they are models.

use crate::engine::Engine;
use boolshap::circuit::NamedCircuit;
use boolshap::data::{Entities, Reading, Table};
use boolshap::lit::Watch;
use boolshap::report::{Rows, Subject, split_carried};
use boolshap::workflow::{ModelOutput, ready_content};
use boolshap::{Error, Request};
use boolshap_web::{ServerLimits, Site};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// How many rows can be chosen on a page, the default of `boolshap report`.
const SHOWN_ROWS: usize = 25_000;

impl Engine {
    /// Opens a circuit or a model, and rows if there are any. The bytes hold a JSON object with the names of both files
    /// (`source` and `rows`, or null), then the first file, each preceded by its length, and then the second file.
    pub fn open_files(&mut self, bytes: &[u8]) -> Result<String, Error> {
        let (text, files) = split_carried(bytes)?;
        let (source, table) = split_carried(files)?;
        let wrong = |error: serde_json::Error| Error::input(format!("the names of the files: {error}"));
        let names: Value = serde_json::from_slice(text).map_err(wrong)?;
        let name = |field: &str| names[field].as_str().map(Path::new);
        let source_name = name("source").unwrap_or(Path::new("source"));
        let watch = Watch::unlimited();
        let ready = ready_content(source_name, source, ModelOutput::default(), &watch)?;
        let rows = match name("rows") {
            Some(name) => rows_of(&ready.circuit, name, table.to_vec(), &watch)?,
            None => Rows::none(ready.circuit.features.len()),
        };
        let (circuit, request) = (Arc::new(ready.circuit), Request::default());
        let opening = request.clone().opening(&[], &circuit, [&rows.kinds, &rows.expanded()], &watch)?;
        let site = Site::new(circuit, rows, &request, ServerLimits::default(), &watch)?.opening_with(&opening)?;
        Ok(self.opened(site))
    }
}

fn rows_of(circuit: &NamedCircuit, name: &Path, content: Vec<u8>, watch: &Watch<'_>) -> Result<Rows, Error> {
    let subject = Subject::new(circuit, (!circuit.classes.is_empty()).then_some(0))?;
    let table = Table::of_content(name, content)?;
    let entities = Entities::of_table(table, &circuit.features, circuit.binariser.as_ref(), Reading::Auto)?;
    Ok(Rows::read(entities, &subject, &[], SHOWN_ROWS, watch)?)
}
