//! `boolshap info`: what a model or circuit file holds.

use crate::terminal::{print, print_json, with_progress};
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
        let loaded = ModelOrCircuit::load(&self.file)?;
        let found = with_progress("checking", |watch| loaded.describe(watch))?;
        if self.json { print_json(&found.json) } else { print(&found.text) }.map_err(Into::into)
    }
}
