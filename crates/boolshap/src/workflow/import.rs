//! A network from another tool's file, as a model that says where it comes from.

use super::Error;
use crate::data::{Binariser, CodedColumn};
use crate::model::{self, AnyImported, AnyModel, ImportOptions, Model, RealModel};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A network from another tool's file.
#[derive(Debug, Clone)]
pub struct ImportedModel {
    /// The model.
    pub model: AnyModel,
    /// What kind of file it was.
    pub kind: String,
    /// What the importer had to decide.
    pub notes: Vec<String>,
}

/// Imports a network; its inputs are called x1, x2, ... unless names are given. Where the network itself quantises its
/// inputs, these are the names of raw columns, and the model keeps how they become bits.
pub fn import(path: &Path, options: &ImportOptions, features: Option<Vec<String>>) -> Result<ImportedModel, Error> {
    let imported = match model::import_any(path, options).map_err(|error| Error::from(error).in_file(path))? {
        AnyImported::Gates(imported) => imported,
        AnyImported::Real { network, kind, notes } => {
            let inputs = network.inputs();
            let names = features.unwrap_or_else(|| Model::default_features(inputs));
            if names.len() != inputs {
                return Err(Error::setting("features", format!("gives {} names for {inputs} inputs", names.len())));
            }
            let mut model = RealModel::new(network, names, None)?;
            model.provenance = provenance(kind, path);
            return Ok(ImportedModel { model: AnyModel::Real(Box::new(model)), kind: kind.into(), notes });
        }
    };
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
    model.provenance = provenance(imported.kind, path);
    let model = AnyModel::Gates(Box::new(model));
    Ok(ImportedModel { model, kind: imported.kind.to_string(), notes: imported.notes })
}

/// Where an imported model comes from.
fn provenance(kind: &str, path: &Path) -> BTreeMap<String, Value> {
    let program = concat!("boolshap ", env!("CARGO_PKG_VERSION"));
    let facts =
        json!({"program": program, "command": "import", "kind": kind, "source": super::request::file_name(path)});
    serde_json::from_value(facts).expect("an object of facts by name")
}
