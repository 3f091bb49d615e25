//! `boolshap demo`: the paper's experiment on the data embedded in the program.

use crate::terminal::{print, thousands, with_progress};
use crate::waterfall::terminal_waterfall;
use anyhow::Context;
use boolshap::Model;
use boolshap::data::{Reading, Tally, WholeFile, quote_csv};
use boolshap::lit::Watch;
use boolshap::model::{TrainOptions, Weights};
use boolshap::report::{Page, Rows, Subject, Survey};
use boolshap::workflow::{Explainer, Predictor, Request, Scope, Trained, VerifyRequest, learn, verify_watched};
use boolshap_bench::{Experiment, embedded_model, embedded_rows, embedded_table};
use clap::Args;
use std::path::PathBuf;

/// Run the paper's experiment on the embedded housing data; needs no other file
#[derive(Args)]
pub(crate) struct Demo {
    /// Where to write the results
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
            let options = TrainOptions { seed, ..TrainOptions::binary(&[13]) };
            model.network = with_progress("training", |watch| learn(&training, 0, &options, watch))?.network;
        }
        let rows = [training, testing];
        let trained = Trained::new(model, (Weights::Binary, None), rows, Vec::new(), &Watch::unlimited())?;
        trained.model.save(&self.out.join("model.json"))?;
        print("California housing, 1990 census: is a block's median house value above the mean?")?;
        print(&format!(
            "{} blocks of houses on {} binary features, half of them for testing",
            thousands(trained.rows[0] as u64),
            trained.model.features.len()
        ))?;
        let origin = if self.retrain { "trained now" } else { "trained before, embedded" };
        print(&format!("network {} with weights +-1, {origin} (seed {seed})", trained.model.network.shape()))?;
        print(&trained.accuracy_words())?;
        print(&format!("\nThe most frequent kinds of blocks among the test rows:\n{}", frequent(&trained, 6)?))?;
        self.explain(&trained)
    }

    /// Compiles the network by the paper's path and repeats the paper's measurement on the most frequent entities.
    fn explain(&self, trained: &Trained) -> anyhow::Result<()> {
        let Trained { model, training, testing, .. } = trained;
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
        let blocks = training.merged(testing);
        let contents = [
            ("timing.svg", experiment.figure()),
            ("entities.csv", entities_csv(model, &experiment)),
            ("housing.csv", embedded_table(model, &blocks)?),
        ];
        for (name, content) in contents {
            WholeFile::write(&self.out.join(name), content.as_bytes()).with_context(|| place(name))?;
        }
        let explainer = Explainer::new(&circuit, &Request { input: Reading::Bits, ..Request::default() })?;
        explainer.explain_file(self.out.join("entities.csv"), self.out.join("scores.csv"))?;
        self.report(&explainer, &blocks, &experiment)?;
        print(&format!(
            "\nmodel.json, circuit.bsc, housing.csv, entities.csv, scores.csv and timing.svg are in {}.\n\
             Open the report in a browser:  {}\n\
             Play with the switches:        {program} serve {} {}\n\
             Train a network of your own:   {program} train {} --target median_house_value -o model.json",
            self.out.display(),
            place("report.html"),
            place("circuit.bsc"),
            place("entities.csv"),
            place("housing.csv"),
            program = this_program(),
        ))?;
        Ok(())
    }

    /// The report of all blocks, and the waterfall of the most frequent kind on the terminal.
    fn report(&self, explainer: &Explainer, blocks: &Tally, experiment: &Experiment) -> anyhow::Result<()> {
        let circuit = explainer.circuit();
        let subject = Subject::new(circuit, None)?;
        let rows = Rows::of_tally(blocks, "blocks");
        let (opened, survey, predicted) = with_progress("explaining", |watch| {
            let request = explainer.request().clone();
            let request = request.opening(&[], circuit, [&rows.kinds, &rows.expanded()], watch)?;
            let opened = Explainer::prepare(circuit.clone(), &request, watch)?;
            let survey = Survey::new(&opened, Scope::Label, &rows, watch)?;
            let survey = survey.with_interactions(&opened, Scope::Label, &rows, watch)?;
            let predicted = rows.predicted(circuit, watch)?;
            anyhow::Ok((opened, survey, predicted))
        })?;
        let page = Page {
            subject: &subject,
            explainer: &opened,
            rows: &rows,
            class: None,
            survey: &survey,
            predicted: predicted.as_deref(),
            facts: Vec::new(),
            timing: Some(experiment.figure()),
            choices: None,
            beside: None,
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

/// The command that started this program, ready to paste: its path, unless the shell finds it by its name.
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

/// A table of the most frequent rows with the network's predictions.
fn frequent(trained: &Trained, most: usize) -> anyhow::Result<String> {
    let Trained { model, testing: rows, .. } = trained;
    let labels = Predictor::of_model(model).classes(rows.rows(), &Watch::unlimited())?;
    let mut lines = vec!["  blocks  above mean  prediction  features that hold".to_string()];
    for row in rows.by_frequency().into_iter().take(most) {
        let (counts, label) = (&rows.counts()[row], labels[row]);
        let count: u64 = counts.iter().sum();
        let share = 100.0 * counts[1] as f64 / count as f64;
        let holds = model.features.iter().zip(rows.rows().row(row)).filter(|(_, bit)| *bit);
        let names = holds.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        lines.push(format!("  {count:>6}  {share:>9.0}%  {label:>10}  {names}"));
    }
    Ok(lines.join("\n"))
}
