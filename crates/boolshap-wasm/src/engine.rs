//! One circuit with its rows, and answers about it.

use boolshap::circuit::NamedCircuit;
use boolshap::data::{Entities, Table};
use boolshap::lit::Watch;
use boolshap::report::{Carried, Rows, Subject, split_carried};
use boolshap::workflow::{ModelOutput, read_circuit, ready_content};
use boolshap::{Error, Request};
use boolshap_web::{ApiError, ServerLimits, Site, answer};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// How many rows can be chosen on a page, as `boolshap report` has it.
const SHOWN_ROWS: usize = 25_000;

/// A page's own server, without a network.
#[derive(Default)]
pub struct Engine {
    site: Option<Site>,
}

/// An answer, or an error, as the HTTP API gives them.
#[derive(Debug, PartialEq)]
pub struct Reply {
    /// 200, or what kind of error it is.
    pub status: u16,
    /// JSON.
    pub text: String,
}

impl Engine {
    /// Takes a question: `open/carried` and `open/files` open what their body holds, all else is a path of the HTTP API.
    pub fn ask(&mut self, path: &str, body: &[u8]) -> Reply {
        let text = || std::str::from_utf8(body).map_err(|_| Error::input("the body is not UTF-8"));
        let replied = match path {
            "open/carried" => self.open_carried(body).map_err(ApiError::from),
            "open/files" => self.open_files(body).map_err(ApiError::from),
            path => text().map_err(ApiError::from).and_then(|text| self.answer(path, text)),
        };
        match replied {
            Ok(text) => Reply { status: 200, text },
            Err(error) => Reply { status: error.status.as_u16(), text: error.json().to_string() },
        }
    }

    fn answer(&self, path: &str, body: &str) -> Result<String, ApiError> {
        let closed = || Error::input("nothing is open yet");
        let body = (!body.is_empty()).then_some(body);
        answer(self.site.as_ref().ok_or_else(closed)?, path, body, &Watch::unlimited())
    }

    /// Opens what a page carries, with the rows that it shows; says what can be chosen.
    pub fn open_carried(&mut self, bytes: &[u8]) -> Result<String, Error> {
        let (text, circuit) = split_carried(bytes)?;
        let wrong = |error: serde_json::Error| Error::input(format!("what the page carries: {error}"));
        let carried: Carried = serde_json::from_slice(text).map_err(wrong)?;
        let site = Site::of_carried(Arc::new(read_circuit(circuit)?), carried)?;
        Ok(self.opened(site))
    }

    /// Opens a circuit or a model, and rows if there are any. The bytes are a JSON object with the names of both files
    /// (`source` and `rows`, or null) behind its length, the first file behind its length, and the second.
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
        let site = Site::new(Arc::new(ready.circuit), rows, &Request::default(), ServerLimits::default(), &watch)?;
        Ok(self.opened(site))
    }

    fn opened(&mut self, site: Site) -> String {
        let said = json!({"choices": site.report().choices(), "rows": site.report().rows().total()});
        self.site = Some(site);
        said.to_string()
    }
}

fn rows_of(circuit: &NamedCircuit, name: &Path, content: Vec<u8>, watch: &Watch<'_>) -> Result<Rows, Error> {
    let subject = Subject::new(circuit, (!circuit.classes.is_empty()).then_some(0))?;
    let table = Table::of_content(name, content)?;
    let entities =
        Entities::of_table(table, &circuit.features, circuit.binariser.as_ref(), boolshap::data::Reading::Auto)?;
    Ok(Rows::read(entities, &subject, &[], SHOWN_ROWS, watch)?)
}
