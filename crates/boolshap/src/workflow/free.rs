//! A network with all inputs but some fixed to a row: a smaller network, compiled like any other.
//!
//! The fixed values are kept among the facts of the circuit, so that anyone with the model can derive the same smaller
//! network and prove the circuit equal to it.

use super::Error;
use super::request::RowOfFile;
use super::resolve::read_row;
use crate::circuit::NamedCircuit;
use crate::data::{Binariser, GRID, Reading};
use crate::model::{Marginals, Model, Network};
use std::collections::{BTreeMap, HashSet};

/// Which inputs stay free, and what the others are.
#[derive(Debug, Clone)]
pub struct FreeInputs {
    /// The names of the features that stay free; they keep their order in the model.
    pub free: Vec<String>,
    /// The row that the others are fixed to.
    pub at: FixedRow,
}

/// Where the row comes from.
#[derive(Debug, Clone)]
pub enum FixedRow {
    /// A row of a file.
    File(RowOfFile),
    /// A value for each feature.
    Bits(Vec<bool>),
}

impl FreeInputs {
    /// The value of each feature that is not free.
    pub(super) fn fixed(&self, model: &Model) -> Result<BTreeMap<String, bool>, Error> {
        let row = match &self.at {
            FixedRow::File(row) => {
                read_row(row, &NamedCircuit::of_network(model, String::new(), false)?, Reading::Auto)?
            }
            FixedRow::Bits(row) => row.clone(),
        };
        let (found, expected) = (row.len(), model.features.len());
        if found != expected {
            return Err(Error::setting("at", format!("has {found} values, but there are {expected} features")));
        }
        let mut fixed: BTreeMap<String, bool> = model.features.iter().cloned().zip(row).collect();
        let known: HashSet<&String> = model.features.iter().collect();
        for name in &self.free {
            if fixed.remove(name).is_none() {
                let why = if known.contains(name) { "is there twice" } else { "is not a feature" };
                return Err(Error::setting("free", format!("'{name}' {why}")));
            }
        }
        match self.free.is_empty() {
            true => Err(Error::setting("free", "must name a feature")),
            false => Ok(fixed),
        }
    }
}

/// The model with these features fixed. Raw columns can still be read if none of their bits is fixed.
pub(super) fn with_fixed(model: &Model, fixed: &BTreeMap<String, bool>) -> Result<Model, Error> {
    let known: HashSet<&String> = model.features.iter().collect();
    if let Some(name) = fixed.keys().find(|name| !known.contains(name)) {
        return Err(Error::input(format!("the feature '{name}' is fixed, and the model has none of this name")));
    }
    let is_free = |feature: &usize| !fixed.contains_key(&model.features[*feature]);
    let free: Vec<usize> = (0..model.features.len()).filter(is_free).collect();
    if free.is_empty() {
        return Err(Error::input("all features are fixed"));
    }
    let row: Vec<bool> = model.features.iter().map(|name| fixed.get(name).copied().unwrap_or(false)).collect();
    let network = model.network.wired(free.len(), &Network::wires_at(&row, &free))?;
    let features = free.iter().map(|&feature| model.features[feature].clone()).collect();
    let mut smaller = Model::new(network, features)?;
    smaller.classes = model.classes.clone();
    smaller.provenance = model.provenance.clone();
    smaller.provenance.remove(GRID);
    smaller.binariser = model.binariser.as_ref().and_then(|schema| schema_of(schema, &smaller.features));
    smaller.marginals = model.marginals.as_ref().map(|marginals| Marginals {
        rows: marginals.rows,
        ones: free.iter().map(|&feature| marginals.ones[feature]).collect(),
    });
    Ok(smaller)
}

/// The columns whose bits are these features, if there are such columns.
fn schema_of(schema: &Binariser, features: &[String]) -> Option<Binariser> {
    let left: HashSet<&String> = features.iter().collect();
    let columns = schema.columns().iter().filter(|column| {
        let own = Binariser::new(vec![(*column).clone()]).map(|own| own.features()).unwrap_or_default();
        own.iter().any(|name| left.contains(name))
    });
    Binariser::new(columns.cloned().collect()).ok().filter(|schema| schema.features() == features)
}
