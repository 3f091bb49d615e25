//! From a table to a model: columns become bits, rows are split, a network is trained, and the model says how.

use super::Error;
use crate::data::{Dataset, FitOn, Kinds, Preparation, Table, Tally};
use crate::lit::Watch;
use crate::model::{self, Marginals, Model, TrainOptions, correct};
use serde_json::json;
use std::path::Path;

/// How to train on a table.
#[derive(Debug, Clone)]
pub struct TrainRequest {
    /// The column to predict.
    pub target: String,
    /// What each column is, where its values do not say it.
    pub kinds: Kinds,
    /// The share of rows kept for testing.
    pub test_fraction: f64,
    /// The rows that thresholds are fitted on.
    pub fit: FitOn,
    /// The network and its training; its seed also draws the split.
    pub options: TrainOptions,
}

impl TrainRequest {
    /// The defaults for this column: half of the rows for testing, and the paper's network.
    pub fn new(target: impl Into<String>) -> Self {
        let (kinds, options) = (Kinds::new(), TrainOptions::default());
        TrainRequest { target: target.into(), kinds, test_fraction: 0.5, fit: FitOn::All, options }
    }
}

/// A trained model, and how good it is.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// The distinct training rows with their counts by class.
    pub training: Tally,
    /// The distinct test rows with their counts by class.
    pub testing: Tally,
    /// How many rows the table has, and how many are distinct as bits.
    pub rows: [usize; 2],
    /// The share of training rows that it labels right; nothing without rows.
    pub train_accuracy: Option<f64>,
    /// The share of test rows that it labels right; nothing without rows.
    pub test_accuracy: Option<f64>,
    /// What a person should know about the table.
    pub notes: Vec<String>,
}

/// Trains a network on a CSV or Parquet table.
pub fn train(path: impl AsRef<Path>, request: &TrainRequest) -> Result<Trained, Error> {
    let watch = Watch::unlimited();
    train_watched(path.as_ref(), request, &watch, &watch)
}

/// The same, with a watch for reading the table and one for training.
pub fn train_watched(
    path: &Path,
    request: &TrainRequest,
    reading: &Watch<'_>,
    training: &Watch<'_>,
) -> Result<Trained, Error> {
    let table = Table::open(path)?;
    let TrainRequest { target, kinds, test_fraction, fit, options } = request;
    let how = Preparation { target, kinds, test_fraction: *test_fraction, seed: options.seed, fit: *fit };
    let data = Dataset::prepare(&table, &how, reading)?;
    let classes = data.target.code.classes();
    let tally = |keep: &dyn Fn(usize) -> bool| Tally::new(&data.bits, &data.labels, classes, keep);
    let (learned, testing) = (tally(&|row| !data.test[row]), tally(&|row| data.test[row]));
    let network = model::train(&learned, options, training).map_err(|error| Error::from(error).in_file(path))?;
    let rate = |rows: &Tally| (rows.total() > 0).then(|| correct(&network, rows) as f64 / rows.total() as f64);
    let (train_accuracy, test_accuracy) = (rate(&learned), rate(&testing));
    let rows = [data.bits.rows(), tally(&|_| true).rows().rows()];
    let mut model = Model::new(network, data.binariser.features()).map_err(|error| Error::from(error).in_file(path))?;
    model.classes = Some(data.target.classes());
    model.marginals = Some(Marginals { rows: learned.total(), ones: learned.ones() });
    let facts = json!({
        "program": concat!("boolshap ", env!("CARGO_PKG_VERSION")),
        "command": "train",
        "source": super::request::file_name(path),
        "rows": rows[0],
        "target": data.target,
        "test_fraction": test_fraction,
        "fit": match fit { FitOn::All => "all", FitOn::Train => "train" },
        "seed": options.seed,
        "train_accuracy": train_accuracy,
        "test_accuracy": test_accuracy,
    });
    model.provenance = serde_json::from_value(facts).expect("an object of facts by name");
    model.binariser = Some(data.binariser);
    Ok(Trained { model, training: learned, testing, rows, train_accuracy, test_accuracy, notes: data.notes })
}
