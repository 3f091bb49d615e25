//! A network from another tool's file, as a model that says where it comes from.

use super::Error;
use crate::model::{self, ImportOptions, Model};
use serde_json::json;
use std::path::Path;

/// A network from another tool's file.
#[derive(Debug, Clone)]
pub struct ImportedModel {
    /// The model.
    pub model: Model,
    /// What kind of file it was.
    pub kind: String,
    /// What the importer had to decide.
    pub notes: Vec<String>,
}

/// Imports a network; its features are called x1, x2, ... unless names are given.
pub fn import(path: &Path, options: &ImportOptions, features: Option<Vec<String>>) -> Result<ImportedModel, Error> {
    let imported = model::import(path, options).map_err(|error| Error::from(error).in_file(path))?;
    let inputs = imported.network.inputs();
    let features = features.unwrap_or_else(|| Model::default_features(inputs));
    if features.len() != inputs {
        return Err(Error::setting("features", format!("gives {} names for {inputs} inputs", features.len())));
    }
    let mut model = Model::new(imported.network, features)?;
    let facts = json!({
        "program": concat!("boolshap ", env!("CARGO_PKG_VERSION")),
        "command": "import",
        "kind": imported.kind,
        "source": super::request::file_name(path),
    });
    model.provenance = serde_json::from_value(facts).expect("an object of facts by name");
    Ok(ImportedModel { model, kind: imported.kind.to_string(), notes: imported.notes })
}
