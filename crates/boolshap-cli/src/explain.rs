//! `boolshap explain`: the scores of every row.

use crate::first_rows::FirstRows;
use crate::game_options::GameOptions;
use crate::terminal::{
    input_path, note, output_path, print, print_json, ready_explained, thousands, usage, wait_text, with_progress,
};
use boolshap::Explainer;
use boolshap::data::{Means, ScoreColumns, ScoreFile, ScoreSink};
use boolshap::workflow::{Explained, Wait, load_raw_model, numbered};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Give the exact SHAP scores of every row
///
/// Rows are read, explained and written a few thousand at a time, so tables of any length fit into memory. Rows with
/// the same bits are computed once while they are in the cache (64 MiB). Different rows are counted as distinct_rows up
/// to about 4 million (128 MiB of them); beyond that the number is unknown (null).
#[derive(Args)]
pub(crate) struct Explain {
    /// The circuit, or a model. A model is compiled first if that is quick; otherwise it is explained without a
    /// circuit, against background rows or a reference. A booster of XGBoost (JSON) or LightGBM (text) is explained
    /// against background rows of raw columns: its score, unless --model-output says label
    #[arg(value_name = "SOURCE")]
    circuit: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name; - is standard input (CSV), and 'part-*.parquet'
    /// several files with the same columns
    pub(crate) data: PathBuf,
    /// Where to write prediction, base_value and the scores, as Parquet if the name ends in .parquet, else as CSV;
    /// without it the first rows are shown
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    game: GameOptions,
    /// Which algorithm: fast by default, or one in fractions; table computes the scores of all inputs of up to 22 features
    /// at once, for many different rows and the uniform distribution; paper is for features as players of uniform or product
    #[arg(long, value_parser = ["fast", "table", "paper", "brute-force"])]
    engine: Option<String>,
    /// Write exact fractions
    #[arg(long)]
    pub(crate) exact: bool,
    /// Which class to explain, if there are several: each, predicted (the class of the row, the default), or one by
    /// number or name; index:K or name:K where digits could be both; for scores also A-B, the score of class A minus
    /// that of class B
    #[arg(long, value_name = "each|predicted|K|NAME|A-B")]
    class: Option<String>,
    /// Copy these columns of the input to the front of the output
    #[arg(long, value_name = "COLUMN,...")]
    pub(crate) keep: Vec<String>,
    /// Only estimate how long the rows will take
    #[arg(long, conflicts_with = "output")]
    pub(crate) estimate: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        let exact = self.exact.then_some("true");
        let more = [("engine", self.engine.as_deref()), ("exact", exact), ("class", self.class.as_deref())];
        let request = self.game.request(&more)?;
        let inputs = [&[self.circuit.as_path(), &self.data], &request.files()[..]].concat();
        let output = self.output.as_deref().map(|path| output_path(path, &inputs)).transpose()?;
        if let Some(model) = load_raw_model(&self.circuit)? {
            return self.run_raw(model, &request, output.as_deref());
        }
        let circuit = ready_explained(&self.circuit, request.model_output.unwrap_or_default())?;
        let explainer = with_progress("preparing", |watch| Explainer::prepare(circuit, &request, watch))?;
        let mut entities = explainer.open(&input_path(&self.data))?;
        entities.keep(&kept_columns(&self.keep, entities.table().columns()))?;
        explainer.columns(Vec::new()).map_err(|error| error.in_file(&self.circuit))?;
        let columns = explainer.columns(entities.kept()).map_err(|error| error.at("--keep"))?;
        columns.about.get("reordered").into_iter().for_each(|reordered| note(reordered));
        let wait = self.wait(&explainer)?;
        if self.estimate {
            return self.print_wait(wait);
        }
        wait.iter().filter(|wait| wait.is_long()).for_each(|wait| note(&wait_text(wait)));
        let mut sink = Sink::open(output.as_deref(), &columns)?;
        let explained = with_progress("explaining", |watch| explainer.explain_table(entities, sink.as_dyn(), watch))?;
        match sink {
            Sink::File(file) => file.finish()?,
            // With --json only the summary is shown.
            Sink::Terminal(_) if self.json => {}
            Sink::Terminal(first) => {
                first.print(self.exact, explained.means.as_ref())?;
                self.print_words(&explainer)?;
            }
        }
        if explained.distinct_rows.is_none() {
            note("there are too many distinct rows to count them");
        }
        self.summary(&explainer, &columns, explained, wait.as_ref(), start.elapsed().as_secs_f64())
    }

    /// How long the rows will take; nothing if the estimate itself would take long, or the rows come from a pipe.
    fn wait(&self, explainer: &Explainer) -> anyhow::Result<Option<Wait>> {
        if self.data.as_os_str() == "-" || !self.data.is_file() {
            return Ok(None);
        }
        Ok(with_progress("estimating", |watch| explainer.wait(&self.data, self.estimate, watch))?)
    }

    /// Prints the first row in words, if its file can be read again.
    fn print_words(&self, explainer: &Explainer) -> anyhow::Result<()> {
        if !self.data.is_file() {
            return Ok(());
        }
        let Some(first) = explainer.open(&self.data)?.next_batch()?.filter(|batch| batch.bits.rows() > 0) else {
            return Ok(());
        };
        let words = with_progress("asking", |watch| explainer.in_words(&first.bits.row(0), watch))?;
        words.map_or(Ok(()), |words| print(&format!("row 1: {words}")))?;
        Ok(())
    }

    fn print_wait(&self, wait: Option<Wait>) -> anyhow::Result<()> {
        let Some(wait) = wait else { return usage("--estimate is for files of rows, in floats") };
        match self.json {
            true => print_json(&wait.json())?,
            false => print(&wait_text(&wait))?,
        }
        Ok(())
    }

    fn summary(
        &self,
        explainer: &Explainer,
        columns: &ScoreColumns,
        explained: Explained,
        wait: Option<&Wait>,
        seconds: f64,
    ) -> anyhow::Result<()> {
        let Explained { rows, distinct_rows, means } = explained;
        let about = &columns.about;
        if self.json {
            let is_score = |(name, _): &(String, Value)| name.split(':').next() != Some("base_value");
            let means: serde_json::Map<String, Value> =
                columns.numbers.iter().cloned().zip(mean_values(means)).filter(is_score).collect();
            let mut summary = json!({
                "rows": rows, "distinct_rows": distinct_rows, "seconds": seconds, "mean_absolute": means,
                "error_bound": explainer.error_bound(explainer.ask())?, "estimate": wait.map(Wait::json),
            });
            about.iter().for_each(|(key, text)| summary[key] = text.as_str().into());
            summary["predictions"] = json!(explainer.circuit().prediction_names());
            print_json(&summary)?;
        } else if let Some(path) = &self.output {
            let distinct = distinct_rows.map_or(String::new(), |rows| format!(" ({} distinct)", thousands(rows)));
            let [distribution, players, index] = ["distribution", "players", "index"].map(|key| &about[key]);
            let more = explainer.request().conditions(about.get("class").map(String::as_str));
            print(&format!(
                "{} rows{distinct} explained in {seconds:.2} s ({index}, {distribution}{more}, players {players}): {}",
                thousands(rows),
                path.display()
            ))?;
        } else {
            print(&format!("({})", explainer.describe()))?;
            if let Some(names) = explainer.circuit().prediction_names() {
                print(&format!("(predictions: {})", numbered(&names)))?;
            }
        }
        Ok(())
    }
}

/// Where scores go: a file, or the first of them to the terminal.
pub(crate) enum Sink {
    File(ScoreFile),
    Terminal(FirstRows),
}

impl Sink {
    pub(crate) fn open(path: Option<&Path>, columns: &ScoreColumns) -> anyhow::Result<Self> {
        Ok(match path {
            Some(path) => Sink::File(ScoreFile::create(path, columns)?),
            None => Sink::Terminal(FirstRows::new(columns)?),
        })
    }

    pub(crate) fn as_dyn(&mut self) -> &mut dyn ScoreSink {
        match self {
            Sink::File(file) => file,
            Sink::Terminal(first) => first,
        }
    }
}

/// Splits the values of `--keep` at commas, unless the whole value is a column: its name may contain commas.
pub(crate) fn kept_columns(given: &[String], columns: &[String]) -> Vec<String> {
    let split = |text: &String| match columns.contains(text) {
        true => vec![text.clone()],
        false => text.split(',').map(String::from).collect(),
    };
    given.iter().flat_map(split).collect()
}

/// Means as JSON numbers, or as texts of fractions.
pub(crate) fn mean_values(means: Option<Means>) -> Vec<Value> {
    match means {
        None => Vec::new(),
        Some(Means::Floats(means)) => means.into_iter().map(Value::from).collect(),
        Some(Means::Exact(means)) => means.into_iter().map(|mean| mean.to_string().into()).collect(),
    }
}
