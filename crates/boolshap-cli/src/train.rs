//! `boolshap train`: a table in, a network out.

use crate::column_options::ColumnOptions;
use crate::terminal::{note_with_flags, output_path, output_paths, print, print_json, thousands, with_progress};
use anyhow::Context;
use boolshap::data::{FitOn, Grid, WholeFile};
use boolshap::model::{ClassWeights, Hidden, TrainOptions, Weights};
use boolshap::workflow::{TrainRequest, Trained, train_watched};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Binarise a table, train a network on it and measure its accuracy
///
/// Columns are recognised from their values: numbers become one bit (strictly above the mean), names one bit each.
/// Override this with --column or --schema; `boolshap inspect` shows what each column would become. Missing numbers
/// become 0, missing names a separate value.
#[derive(Args)]
pub(crate) struct Train {
    /// The table, CSV or Parquet; - is standard input (CSV), and 'part-*.parquet' several files with the same columns
    data: PathBuf,
    /// The column to predict: two classes or more (numbers become two classes, above the mean or not, unless they are
    /// few whole numbers)
    #[arg(long)]
    target: String,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// The widths of the hidden layers, such as 13 or 8,4; 0 for a single neuron; auto chooses by validation
    #[arg(long, value_name = "auto|WIDTHS", default_value = "auto")]
    hidden: Hidden,
    /// The kind of weights; binary if widths are given, else chosen together with the widths
    #[arg(long, value_name = "binary|ternary|integer:K")]
    weights: Option<Weights>,
    /// Whether rows count equally or, for classes of very different sizes, classes do
    #[arg(long, value_name = "equal|balanced", default_value = "equal")]
    class_weights: ClassWeights,
    /// The share of rows kept for testing
    #[arg(long, default_value = "0.5", value_parser = fraction)]
    test_fraction: f64,
    /// The rows that thresholds are fitted on: all, without looking at their labels, or the training rows
    #[arg(long, value_name = "all|train", default_value = "all")]
    fit: FitOn,
    /// The columns are the pixels of an image, row by row: kept in the model and its circuits, for --regions and pictures
    #[arg(long, value_name = "HEIGHTxWIDTH")]
    grid: Option<Grid>,
    /// The random seed of the split, the weights and the search
    #[arg(long, default_value = "7")]
    seed: u64,
    /// Measure the test accuracy with this many seeds, starting from --seed, whose model is written
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    #[command(flatten)]
    columns: ColumnOptions,
    /// Also write the distinct rows with how often each class occurs, in training and in testing, as CSV
    #[arg(long, value_name = "FILE")]
    tally: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..1.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 up to but not including 1 is expected".into()),
    }
}

impl Train {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        let inputs: Vec<&Path> =
            std::iter::once(&self.data).chain(&self.columns.schema).map(PathBuf::as_path).collect();
        let (output, tally_path) = match &self.tally {
            Some(tally) => output_paths([&self.output, tally], &inputs).map(|[model, tally]| (model, Some(tally)))?,
            None => (output_path(&self.output, &inputs)?, None),
        };
        let place = |path: &Path| path.display().to_string();
        // Create the outputs first: training is in vain if they cannot be written.
        let model_file = WholeFile::create(&output).with_context(|| place(&output))?;
        let tally_file =
            tally_path.as_ref().map(|path| WholeFile::create(path).with_context(|| place(path))).transpose()?;
        let mut request = TrainRequest {
            test_fraction: self.test_fraction,
            fit: self.fit,
            options: TrainOptions {
                hidden: self.hidden.clone(),
                weights: self.weights,
                class_weights: self.class_weights.clone(),
                seed: self.seed,
                ..TrainOptions::default()
            },
            seeds: self.seeds,
            grid: self.grid,
            ..TrainRequest::new(&self.target)
        };
        self.columns.fill(&mut request)?;
        let trained =
            with_progress("reading and training", |watch| train_watched(&self.data, &request, &watch.silent(), watch))?;
        trained.notes.iter().for_each(note_with_flags);
        let write = |mut file: WholeFile, path: &Path, content: String| {
            file.write_all(content.as_bytes()).and_then(|()| file.finish()).with_context(|| path.display().to_string())
        };
        if let (Some(file), Some(path)) = (tally_file, &self.tally) {
            write(file, path, trained.tally_csv())?;
        }
        write(model_file, &self.output, trained.model.to_json())?;
        self.report(&trained, start.elapsed().as_secs_f64())
    }

    fn report(&self, trained: &Trained, seconds: f64) -> anyhow::Result<()> {
        if self.json {
            let mut summary = trained.json();
            summary["seconds"] = seconds.into();
            return Ok(print_json(&summary)?);
        }
        let Trained { model, training, rows: [rows, distinct], .. } = trained;
        let (count, features) = (thousands(*rows as u64), model.features.len());
        print(&format!("{}: {count} rows, {distinct} distinct on {features} features", self.data.display()))?;
        let learned = thousands(training.total());
        print(&format!("trained {} on {learned} rows in {seconds:.1} s (seed {})", model.network.shape(), self.seed))?;
        print(&trained.accuracy_words())?;
        print(&format!("model: {}", self.output.display()))?;
        Ok(())
    }
}
