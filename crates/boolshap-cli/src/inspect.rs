//! `boolshap inspect`: what each column of a table would become.

use crate::column_options::ColumnOptions;
use crate::terminal::{note_with_flags, print, print_json, remedy_text, with_progress};
use boolshap::data::FitOn;
use boolshap::workflow::{Inspection, TrainRequest};
use clap::Args;
use std::path::PathBuf;

/// Show what each column of a table would become, and what is wrong with it, without training
#[derive(Args)]
pub(crate) struct Inspect {
    /// The table, CSV or Parquet; - is standard input (CSV), and 'part-*.parquet' several files with the same columns
    data: PathBuf,
    /// The column to predict
    #[arg(long)]
    target: String,
    #[command(flatten)]
    columns: ColumnOptions,
    /// The rows that thresholds are fitted on: all, without looking at their labels, or the training rows
    #[arg(long, value_name = "all|train", default_value = "all")]
    fit: FitOn,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut request = TrainRequest { fit: self.fit, ..TrainRequest::new(&self.target) };
        self.columns.fill(&mut request)?;
        let found = with_progress("reading", |watch| Inspection::read(&self.data, &request, &watch.silent()))?;
        if self.json {
            return Ok(print_json(&found.json())?);
        }
        found.notes().iter().for_each(note_with_flags);
        print(&found.text())?;
        if let Some(remedy) = found.remedy() {
            print(&format!("to read it: {}", remedy_text(&remedy)))?;
        }
        Ok(())
    }
}
