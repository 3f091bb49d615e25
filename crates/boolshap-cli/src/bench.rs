//! `boolshap bench`: the measurements of the README, by name.

use crate::bench_stream::StreamTimes;
use crate::demo::{embedded_model, embedded_rows};
use crate::experiment::Experiment;
use crate::terminal::{output_path, print, print_json, usage, with_progress};
use anyhow::Context;
use boolshap::data::WholeFile;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Measure: paper (the paper's experiment on the embedded network), stream (a long table, CSV to CSV)
#[derive(Args)]
pub(crate) struct Bench {
    /// What to measure
    name: Name,
    /// Also write the figure, as SVG
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    /// How many rows to explain (a million by default)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Black-box network, black-box circuit and open-box circuit on 20 to 100 entities
    Paper,
    /// Explaining a table of raw rows against reading it and writing the scores
    Stream,
}

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match self.name {
            Name::Paper if self.rows.is_some() => usage("--rows belongs to bench stream"),
            Name::Stream if self.figure.is_some() => usage("--figure belongs to bench paper"),
            Name::Paper => self.paper(),
            Name::Stream => {
                let times = StreamTimes::measure(self.rows.unwrap_or(1_000_000))?;
                if self.json { print_json(&times.json()) } else { print(&times.table()) }.map_err(Into::into)
            }
        }
    }

    fn paper(&self) -> anyhow::Result<()> {
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
