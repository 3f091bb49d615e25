//! `boolshap bench`: the measurements of the README, by name.

use crate::terminal::{output_path, print, print_json, seconds, usage, with_progress};
use anyhow::Context;
use boolshap::data::WholeFile;
use boolshap_bench::{Bench as Measurement, Experiment, embedded_model, embedded_rows};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Measure: paper, compile, shap, modes, background, values, questions, reach or stream
#[derive(Args)]
pub(crate) struct Bench {
    /// What to measure
    name: Name,
    /// Also write the figure, as SVG (paper)
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    /// How many rows to explain (stream; a million by default)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// The most inputs of a network (compile; 28 by default, at most 30)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(8..=30))]
    inputs: Option<u64>,
    /// Measure on this circuit instead of the embedded network's (shap), or on this file of scores (values)
    #[arg(long, value_name = "CIRCUIT")]
    circuit: Option<PathBuf>,
    /// Networks to measure instead of random families: models, or other tools' files and folders (reach)
    #[arg(long, value_name = "PATH", num_args = 1..)]
    networks: Vec<PathBuf>,
    /// How long each question may take (reach; 60 seconds by default)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    limit: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Name {
    /// Black-box network, black-box circuit and open-box circuit on 20 to 100 entities
    Paper,
    /// From networks to circuits: growth with the inputs and the hidden layer, beside evaluating all inputs
    Compile,
    /// The time for an entity's scores, by engine, and compared with the machine's multiply-add rate
    Shap,
    /// The cost of each kind of score: columns as players, background rows, interactions, fractions
    Modes,
    /// Every row of a data set explained with the whole set as background, by counting and by sweeps
    Background,
    /// The cost of explaining a model's scores: every feature and every class of a 784-100-10 network
    Values,
    /// The cost of answers to questions: reasons, counterfactuals, radii
    Questions,
    /// Which networks each way of explaining can handle: label, score, regions, radius
    Reach,
    /// Explaining a table of raw rows, compared with reading it and writing the scores
    Stream,
}

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        for (option, given, name) in [
            ("--figure", self.figure.is_some(), Name::Paper),
            ("--rows", self.rows.is_some(), Name::Stream),
            ("--networks", !self.networks.is_empty(), Name::Reach),
            ("--limit", self.limit.is_some(), Name::Reach),
            ("--inputs", self.inputs.is_some(), Name::Compile),
            ("--circuit", self.circuit.is_some() && self.name != Name::Values, Name::Shap),
        ] {
            if given && name != self.name {
                let name = name.to_possible_value().map_or(String::new(), |value| value.get_name().into());
                return usage(format!("{option} belongs to bench {name}"));
            }
        }
        let measurement = match self.name {
            Name::Paper => return self.paper(),
            Name::Compile => Measurement::Compile { inputs: self.inputs.unwrap_or(28) as usize },
            Name::Shap => Measurement::Shap { circuit: self.circuit.clone() },
            Name::Modes => Measurement::Modes,
            Name::Background => Measurement::Background,
            Name::Values => Measurement::Values { circuit: self.circuit.clone() },
            Name::Questions => Measurement::Questions,
            Name::Reach => {
                let limit = self.limit.unwrap_or(Duration::from_secs(60));
                Measurement::Reach { networks: self.networks.clone(), limit }
            }
            Name::Stream => Measurement::Stream { rows: self.rows.unwrap_or(1_000_000) },
        };
        let (value, table) = with_progress("measuring", |watch| measurement.run(watch))?;
        if self.json { print_json(&value) } else { print(&table) }.map_err(Into::into)
    }

    fn paper(&self) -> anyhow::Result<()> {
        let model = embedded_model()?;
        let (_, testing) = embedded_rows(model.features.len())?;
        let experiment = with_progress("measuring", |watch| Experiment::run(&model, &testing, watch))?;
        if let Some(path) = &self.figure {
            let path = output_path(path, &[])?;
            let place = || path.display().to_string();
            WholeFile::write(&path, experiment.figure().as_bytes()).with_context(place)?;
        }
        if self.json { print_json(&experiment.json()) } else { print(&experiment.table()) }.map_err(Into::into)
    }
}
