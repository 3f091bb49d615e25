//! `boolshap demo`: the paper's experiment on what the program carries with it.

use crate::terminal::{print, thousands, with_progress};
use crate::train::accuracy_text;
use crate::waterfall::terminal_waterfall;
use anyhow::Context;
use boolshap::data::{Tally, WholeFile, quote_csv};
use boolshap::model::{NetworkEvaluator, TrainOptions, correct, train};
use boolshap::report::{Page, Rows, Subject, Survey};
use boolshap::workflow::{Explainer, Request, Scope, VerifyRequest, verify_watched};
use boolshap::{Model, NamedCircuit};
use boolshap_bench::{Experiment, embedded_model, embedded_rows};
use clap::Args;
use std::path::PathBuf;

/// Run the paper's experiment on the embedded housing data; needs no other file
#[derive(Args)]
pub(crate) struct Demo {
    /// Where to leave the results
    #[arg(long, value_name = "DIR", default_value = "boolshap-demo")]
    out: PathBuf,
    /// Train the network anew instead of taking the embedded one
    #[arg(long)]
    retrain: bool,
}

impl Demo {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.out).with_context(|| self.out.display().to_string())?;
        let mut model = embedded_model()?;
        let (training, testing) = embedded_rows(model.features.len())?;
        let seed = model.provenance.get("seed").and_then(serde_json::Value::as_u64).context("the model's seed")?;
        if self.retrain {
            let options = TrainOptions { seed, ..TrainOptions::default() };
            model.network = with_progress("training", |watch| train(&training, &options, watch))?;
        }
        let rate = |rows: &Tally| correct(&model.network, rows) as f64 / rows.total() as f64;
        let (train_accuracy, test_accuracy) = (rate(&training), rate(&testing));
        for (name, value) in [("train_accuracy", train_accuracy), ("test_accuracy", test_accuracy)] {
            model.provenance.insert(name.into(), value.into());
        }
        let path = self.out.join("model.json");
        model.save(&path)?;
        print("California housing, 1990 census: is a block's median house value above the mean?")?;
        print(&format!(
            "{} blocks of houses on {} binary features, half of them for testing",
            thousands(training.total() + testing.total()),
            model.features.len()
        ))?;
        let origin = if self.retrain { "trained now" } else { "trained before, embedded" };
        print(&format!("network {} with weights +-1, {origin} (seed {seed})", model.network.shape()))?;
        print(&accuracy_text(Some(train_accuracy), Some(test_accuracy), &training, &testing))?;
        print(&format!("\nThe most frequent kinds of blocks among the test rows:\n{}", frequent(&model, &testing, 6)))?;
        self.explain(&model, &training, &testing)
    }

    /// Compiles the network by the paper's path and repeats the paper's measurement on the most frequent entities.
    fn explain(&self, model: &Model, training: &Tally, testing: &Tally) -> anyhow::Result<()> {
        let experiment = with_progress("compiling and explaining", |watch| Experiment::run(model, testing, watch))?;
        print(&format!(
            "\nCompiled into a Boolean circuit and explained, three ways with the same scores:\n{}",
            experiment.table()
        ))?;
        let mut circuit = experiment.compiled.circuit.clone();
        let request = VerifyRequest::default();
        let proved = with_progress("verifying", |watch| verify_watched(model, &circuit, &request, watch))?;
        anyhow::ensure!(proved.difference.is_none(), "the circuit is not the network: please report this");
        print(&format!(
            "\nThe circuit is proved to be sound and equal to the network on all {} inputs ({}).",
            thousands(1 << model.features.len()),
            proved.method.name()
        ))?;
        proved.record(model, &mut circuit);
        let place = |name: &str| self.out.join(name).display().to_string();
        circuit.save(&self.out.join("circuit.bsc")).with_context(|| place("circuit.bsc"))?;
        for (name, content) in [
            ("timing.svg", experiment.figure()),
            ("entities.csv", entities_csv(model, &experiment)),
            ("scores.csv", scores_csv(model, &experiment)),
        ] {
            WholeFile::write(&self.out.join(name), content.as_bytes()).with_context(|| place(name))?;
        }
        let counted = |rows: &Tally| -> Vec<(Vec<bool>, Vec<u64>)> {
            (0..rows.counts().len()).map(|row| (rows.rows().row(row), rows.counts()[row].clone())).collect()
        };
        let blocks = Tally::from_counts(model.features.len(), counted(training).into_iter().chain(counted(testing)));
        self.report(&circuit, &blocks, &experiment)?;
        print(&format!(
            "\nmodel.json, circuit.bsc, entities.csv, scores.csv and timing.svg are in {}.\n\
             Open the report in a browser:  {}\n\
             Play with the switches:        {} serve {} {}",
            self.out.display(),
            place("report.html"),
            this_program(),
            place("circuit.bsc"),
            place("entities.csv"),
        ))?;
        Ok(())
    }

    /// The report of all blocks, and the waterfall of the most frequent kind on the terminal.
    fn report(&self, named: &NamedCircuit, blocks: &Tally, experiment: &Experiment) -> anyhow::Result<()> {
        let subject = Subject::new(named, None)?;
        let rows = Rows::of_tally(blocks, "blocks");
        let explainer = Explainer::new(named, &Request::default())?;
        let survey = with_progress("explaining", |watch| {
            let survey = Survey::new(&explainer, Scope::Label, &rows, watch)?;
            survey.with_interactions(&explainer, Scope::Label, &rows, watch)
        })?;
        let page = Page {
            subject: &subject,
            explainer: &explainer,
            rows: &rows,
            class: None,
            survey: &survey,
            facts: Vec::new(),
            timing: Some(experiment.figure()),
            choices: None,
        };
        let path = self.out.join("report.html");
        WholeFile::write(&path, page.html().as_bytes()).with_context(|| path.display().to_string())?;
        let shown = page.waterfall(0, None, String::new());
        print(&format!(
            "\nWhy the most frequent kind of block is predicted {} ({}), with exact scores:\n{}",
            u8::from(shown.prediction),
            shown.label,
            terminal_waterfall(&shown)
        ))?;
        Ok(())
    }
}

/// How this program was started, for a command that can be pasted: by its path, unless a shell finds it by its name.
fn this_program() -> String {
    let started = std::env::args_os().next().unwrap_or_else(|| "boolshap".into());
    let text = started.to_string_lossy();
    if text.contains([' ', '\'']) { format!("'{}'", text.replace('\'', "'\\''")) } else { text.into_owned() }
}

/// The entities as bits, for `boolshap explain` to read.
fn entities_csv(model: &Model, experiment: &Experiment) -> String {
    let names: Vec<String> = model.features.iter().map(|name| quote_csv(name).into_owned()).collect();
    let bits = |row: &Vec<bool>| row.iter().map(|&bit| u8::from(bit).to_string()).collect::<Vec<_>>().join(",");
    let rows = experiment.entities.iter().map(bits);
    [names.join(",")].into_iter().chain(rows).map(|line| line + "\n").collect()
}

/// The entities' scores, in the layout of `boolshap explain`.
fn scores_csv(model: &Model, experiment: &Experiment) -> String {
    let names = model.features.iter().map(|name| quote_csv(name).into_owned());
    let mut lines =
        vec![["prediction", "base_value"].map(String::from).into_iter().chain(names).collect::<Vec<_>>().join(",")];
    for explanation in &experiment.explanations {
        let start = [u8::from(explanation.prediction).to_string(), explanation.base_value.to_string()];
        let cells = start.into_iter().chain(explanation.scores.iter().map(f64::to_string));
        lines.push(cells.collect::<Vec<_>>().join(","));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A table of the most frequent rows with what the network says of them.
fn frequent(model: &Model, rows: &Tally, most: usize) -> String {
    let mut order: Vec<usize> = (0..rows.counts().len()).collect();
    let count = |row: usize| rows.counts()[row].iter().sum::<u64>();
    order.sort_by_key(|&row| std::cmp::Reverse(count(row)));
    let mut evaluator = NetworkEvaluator::new(&model.network);
    let mut lines = vec!["  blocks  above mean  prediction  features that hold".to_string()];
    for &row in order.iter().take(most) {
        let words: Vec<u64> = rows.rows().row(row).into_iter().map(u64::from).collect();
        let label = evaluator.classes(&words)[1] & 1;
        let holds = model.features.iter().zip(&words).filter(|(_, word)| **word == 1).map(|(name, _)| name.as_str());
        let share = 100.0 * rows.counts()[row][1] as f64 / count(row) as f64;
        let names = holds.collect::<Vec<_>>().join(", ");
        lines.push(format!("  {:>6}  {share:>9.0}%  {label:>10}  {names}", count(row)));
    }
    lines.join("\n")
}
