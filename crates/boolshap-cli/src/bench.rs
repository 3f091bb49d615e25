//! `boolshap bench`: the measurements of the README, by name.

use crate::demo::{embedded_model, embedded_rows};
use crate::experiment::Experiment;
use crate::terminal::{output_path, print, print_json, with_progress};
use anyhow::Context;
use boolshap::data::WholeFile;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Measure: paper (the paper's experiment on the embedded network)
#[derive(Args)]
pub(crate) struct Bench {
    /// What to measure
    name: Name,
    /// Also write the figure, as SVG
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Black-box network, black-box circuit and open-box circuit on 20 to 100 entities
    Paper,
}

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let Name::Paper = self.name;
        let model = embedded_model()?;
        let (_, testing) = embedded_rows(&model.features)?;
        let experiment = with_progress("measuring", |watch| Experiment::run(&model, &testing, watch))?;
        if let Some(path) = &self.figure {
            let path = output_path(path);
            let place = || path.display().to_string();
            WholeFile::write(&path, experiment.figure().as_bytes()).with_context(place)?;
        }
        if self.json { print_json(&experiment.json()) } else { print(&experiment.table()) }.map_err(Into::into)
    }
}
