//! `boolshap train`: a table in, a network out.

use crate::terminal::{note, output_path, output_paths, print, print_json, thousands, usage, with_progress};
use anyhow::Context;
use boolshap::data::{FitOn, Kind, Kinds, Tally, WholeFile, quote_csv};
use boolshap::model::TrainOptions;
use boolshap::workflow::{TrainRequest, Trained, train_watched};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Binarise a table, train a network on it and measure its accuracy
///
/// Columns are recognised from their values: numbers become one bit (strictly above the mean), names one bit each. Say
/// otherwise with --column or --schema. An empty cell is 0.
#[derive(Args)]
pub(crate) struct Train {
    /// The table, CSV or Parquet
    data: PathBuf,
    /// The column to predict: two classes, or more (numbers: above the mean)
    #[arg(long)]
    target: String,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// The widths of the hidden layers
    #[arg(long, value_delimiter = ',', default_value = "13", value_parser = positive)]
    hidden: Vec<usize>,
    /// The share of rows kept for testing
    #[arg(long, default_value = "0.5", value_parser = fraction)]
    test_fraction: f64,
    /// The rows that thresholds are fitted on
    #[arg(long, value_enum, default_value = "all")]
    fit: Fit,
    /// Where the split, the weights and the search are drawn from
    #[arg(long, default_value = "7")]
    seed: u64,
    /// A column's kind: NAME=numeric[:mean|:median|:bins=K|:at=A,B,..], boolean, categorical or ignored
    #[arg(long = "column", value_name = "NAME=KIND")]
    columns: Vec<String>,
    /// Kinds of columns as a JSON object, {"NAME": "KIND", ...}
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Also write the distinct rows with how often each class occurs, in training and in testing, as CSV
    #[arg(long, value_name = "FILE")]
    tally: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Fit {
    /// All rows, without looking at their labels
    All,
    /// The training rows
    Train,
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..1.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 up to but not including 1 is expected".into()),
    }
}

fn positive(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(value @ 1..=1_000_000) => Ok(value),
        _ => Err("a width is a whole number from 1 to 1000000".into()),
    }
}

impl Train {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        let inputs: Vec<&Path> = std::iter::once(&self.data).chain(&self.schema).map(PathBuf::as_path).collect();
        let (output, tally_path) = match &self.tally {
            Some(tally) => output_paths([&self.output, tally], &inputs).map(|[model, tally]| (model, Some(tally)))?,
            None => (output_path(&self.output, &inputs)?, None),
        };
        let place = |path: &Path| path.display().to_string();
        // An output that cannot be written should not cost a training first.
        let mut model_file = WholeFile::create(&output).with_context(|| place(&output))?;
        let tally_file =
            tally_path.as_ref().map(|path| WholeFile::create(path).with_context(|| place(path))).transpose()?;
        let request = TrainRequest {
            kinds: self.kinds()?,
            test_fraction: self.test_fraction,
            fit: match self.fit {
                Fit::All => FitOn::All,
                Fit::Train => FitOn::Train,
            },
            options: TrainOptions { hidden: self.hidden.clone(), seed: self.seed, ..TrainOptions::default() },
            ..TrainRequest::new(&self.target)
        };
        let trained =
            with_progress("reading and training", |watch| train_watched(&self.data, &request, &watch.silent(), watch))?;
        trained.notes.iter().for_each(|text| note(text));
        let Trained { model, training, testing, .. } = &trained;
        if let (Some(file), Some(path)) = (tally_file, &tally_path) {
            write_tally(file, &model.features, training, testing).with_context(|| place(path))?;
        }
        model_file.write_all(model.to_json().as_bytes()).with_context(|| place(&output))?;
        model_file.finish().with_context(|| place(&output))?;
        self.report(&trained, start.elapsed().as_secs_f64())
    }

    fn report(&self, trained: &Trained, seconds: f64) -> anyhow::Result<()> {
        let Trained { model, training, testing, rows: [rows, distinct], .. } = trained;
        if self.json {
            print_json(&json!({
                "rows": rows,
                "distinct_rows": distinct,
                "features": model.features,
                "classes": model.classes,
                "shape": model.network.shape(),
                "train_rows": training.total(),
                "test_rows": testing.total(),
                "train_accuracy": trained.train_accuracy,
                "test_accuracy": trained.test_accuracy,
                "seconds": seconds,
            }))?;
            return Ok(());
        }
        let (count, features) = (thousands(*rows as u64), model.features.len());
        print(&format!("{}: {count} rows, {distinct} distinct on {features} features", self.data.display()))?;
        let learned = thousands(training.total());
        print(&format!("trained {} on {learned} rows in {seconds:.1} s (seed {})", model.network.shape(), self.seed))?;
        print(&accuracy_text(trained.train_accuracy, trained.test_accuracy, training, testing))?;
        print(&format!("model: {}", self.output.display()))?;
        Ok(())
    }

    fn kinds(&self) -> anyhow::Result<Kinds> {
        let mut kinds = Kinds::new();
        if let Some(path) = &self.schema {
            let place = || path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(place)?;
            let object: std::collections::BTreeMap<String, String> = serde_json::from_str(&text)
                .with_context(|| format!("{}: an object of column names and kinds is expected", path.display()))?;
            for (name, kind) in object {
                let kind: Kind = kind
                    .parse()
                    .map_err(anyhow::Error::msg)
                    .with_context(|| format!("{}: column '{name}'", place()))?;
                kinds.insert(name, kind);
            }
        }
        for text in &self.columns {
            // The kind holds no `=` before its own options, but a name may hold one.
            let cut = text.match_indices('=').find(|(at, _)| text[at + 1..].parse::<Kind>().is_ok());
            let Some((at, _)) = cut else {
                let kind = text.split_once('=').map_or(text.as_str(), |(_, kind)| kind);
                let problem = kind.parse::<Kind>().err().unwrap_or("NAME=KIND is expected".into());
                return usage(format!("--column '{text}': {problem}"));
            };
            let (name, kind) = (&text[..at], text[at + 1..].parse().map_err(anyhow::Error::msg)?);
            if self.columns.iter().filter(|other| other.starts_with(&text[..=at])).count() > 1 {
                return usage(format!("--column: the column '{name}' is described twice"));
            }
            kinds.insert(name.to_string(), kind);
        }
        if kinds.get(&self.target) == Some(&Kind::Ignored) {
            return usage(format!("the target '{}' cannot be ignored", self.target));
        }
        Ok(kinds)
    }
}

/// How good the network is, beside what guessing and what knowing everything would give.
pub(crate) fn accuracy_text(train: Option<f64>, test: Option<f64>, training: &Tally, testing: &Tally) -> String {
    let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.4}"));
    let judged = if testing.total() > 0 { testing } else { training };
    let classes = judged.counts().first().map_or(0, Vec::len);
    let of_class = |class: usize| judged.counts().iter().map(|counts| counts[class]).sum::<u64>();
    let share = |rows: u64| rows as f64 / judged.total() as f64;
    format!(
        "accuracy: {} on training rows, {} on {} test rows\n          (the largest class alone: {:.4}; no function of these bits can exceed {:.4})",
        shown(train),
        shown(test),
        thousands(testing.total()),
        share((0..classes).map(of_class).max().unwrap_or(0)),
        share(judged.ceiling()),
    )
}

/// Distinct rows as bits, then `train:K` and `test:K`: how often class K occurs.
fn write_tally(mut file: WholeFile, features: &[String], training: &Tally, testing: &Tally) -> std::io::Result<()> {
    let classes = training.counts().first().map_or(0, Vec::len);
    let mut rows: std::collections::BTreeMap<Vec<bool>, [Vec<u64>; 2]> = Default::default();
    for (side, tally) in [training, testing].into_iter().enumerate() {
        for (index, counts) in tally.counts().iter().enumerate() {
            let slot = rows.entry(tally.rows().row(index)).or_insert_with(|| [vec![0; classes], vec![0; classes]]);
            slot[side].clone_from(counts);
        }
    }
    let quoted = features.iter().map(|name| quote_csv(name).into_owned());
    let sides = ["train", "test"].into_iter().flat_map(|side| (0..classes).map(move |class| format!("{side}:{class}")));
    writeln!(file, "{}", quoted.chain(sides).collect::<Vec<_>>().join(","))?;
    for (row, counts) in rows {
        let bits = row.iter().map(|&bit| u64::from(bit).to_string());
        let cells = bits.chain(counts.iter().flatten().map(u64::to_string)).collect::<Vec<_>>();
        writeln!(file, "{}", cells.join(","))?;
    }
    file.finish()
}
