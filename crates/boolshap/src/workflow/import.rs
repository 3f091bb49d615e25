//! A network from another tool's file, as a model that says where it comes from.

use super::Error;
use crate::data::{Binariser, CodedColumn};
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

/// Imports a network; its inputs are called x1, x2, ... unless names are given. Where the network itself quantises its
/// inputs, these are the names of raw columns, and the model keeps how they become bits.
pub fn import(path: &Path, options: &ImportOptions, features: Option<Vec<String>>) -> Result<ImportedModel, Error> {
    let imported = model::import(path, options).map_err(|error| Error::from(error).in_file(path))?;
    let inputs = imported.columns.as_ref().map_or(imported.network.inputs(), Vec::len);
    let names = features.unwrap_or_else(|| Model::default_features(inputs));
    if names.len() != inputs {
        return Err(Error::setting("features", format!("gives {} names for {inputs} inputs", names.len())));
    }
    let mut model = match imported.columns {
        None => Model::new(imported.network, names)?,
        Some(codes) => {
            let columns = names.into_iter().zip(codes).map(|(name, code)| CodedColumn::new(name, code)).collect();
            let binariser = Binariser::new(columns).map_err(Error::input)?;
            let mut model = Model::new(imported.network, binariser.features())?;
            model.binariser = Some(binariser);
            model
        }
    };
    let facts = json!({
        "program": concat!("boolshap ", env!("CARGO_PKG_VERSION")),
        "command": "import",
        "kind": imported.kind,
        "source": super::request::file_name(path),
    });
    model.provenance = serde_json::from_value(facts).expect("an object of facts by name");
    Ok(ImportedModel { model, kind: imported.kind.to_string(), notes: imported.notes })
}
