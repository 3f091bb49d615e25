//! `boolshap info`: what a model or circuit file holds.

use crate::terminal::{note, print, print_json};
use boolshap::workflow::ModelOrCircuit;
use clap::Args;
use std::path::PathBuf;

/// Show what a circuit or model file holds
#[derive(Args)]
pub(crate) struct Info {
    /// The circuit or model
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let found = ModelOrCircuit::load(&self.file)?.describe()?;
        if self.json {
            return Ok(print_json(&found.json)?);
        }
        found.notes.iter().for_each(|text| note(text));
        Ok(print(&found.text)?)
    }
}
