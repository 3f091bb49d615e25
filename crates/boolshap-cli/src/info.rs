//! `boolshap info`: what a model or circuit file holds.

use crate::terminal::{note, print, print_json};
use boolshap::workflow::{ModelOrCircuit, describe_raw, load_raw_model};
use clap::Args;
use std::path::PathBuf;

/// Show what a circuit or model file holds
#[derive(Args)]
pub(crate) struct Info {
    /// The circuit or model, or a booster of XGBoost (JSON) or LightGBM (text)
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let found = match load_raw_model(&self.file)? {
            Some(model) => describe_raw(&model),
            None => ModelOrCircuit::load(&self.file)?.describe()?,
        };
        if self.json {
            return Ok(print_json(&found.json)?);
        }
        found.notes.iter().for_each(|text| note(text));
        Ok(print(&found.text)?)
    }
}
