//! From a table to a model: columns become bits, rows are split, a network is trained, and the model says how.

use super::{Error, learn};
use crate::data::{
    Dataset, FitOn, GRID, Grid, Kind, Kinds, MARKERS, MissingNumbers, Note, Preparation, Table, Tally, named_kind,
    quote_csv,
};
use crate::lit::{Watch, thousands};
use crate::model::{Choice, Learned, Marginals, Model, Regression, TrainOptions, Weights, correct, regress};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// How to train on a table.
#[derive(Debug, Clone)]
pub struct TrainRequest {
    /// The column to predict.
    pub target: String,
    /// The kinds of columns whose values do not show them.
    pub kinds: Kinds,
    /// Columns to leave out: names, or lists of names with commas between them.
    pub ignore: Vec<String>,
    /// How missing numbers are coded.
    pub missing: MissingNumbers,
    /// The texts that mean a missing value, besides blank ones.
    pub missing_values: Vec<String>,
    /// The share of rows kept for testing.
    pub test_fraction: f64,
    /// The rows that thresholds are fitted on.
    pub fit: FitOn,
    /// The network and its training; its seed also determines the split.
    pub options: TrainOptions,
    /// The layout of the columns, if they are the pixels of an image.
    pub grid: Option<Grid>,
    /// How many seeds, starting from that of the options, the accuracy is measured with; the model is that of the
    /// first.
    pub seeds: u64,
}

impl TrainRequest {
    /// The defaults for this column: half of the rows for testing, and a network that is chosen.
    pub fn new(target: impl Into<String>) -> Self {
        TrainRequest {
            target: target.into(),
            kinds: Kinds::new(),
            ignore: Vec::new(),
            missing: MissingNumbers::Zero,
            missing_values: MARKERS.map(String::from).into(),
            test_fraction: 0.5,
            fit: FitOn::All,
            options: TrainOptions::default(),
            grid: None,
            seeds: 1,
        }
    }

    /// Takes the kinds of columns from a JSON file, `{"NAME": "KIND", ...}`.
    pub fn read_schema(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
        let expected = "an object of column names and kinds is expected";
        let object: BTreeMap<String, String> =
            serde_json::from_str(&text).map_err(|error| Error::input(format!("{expected}: {error}")).in_file(path))?;
        for (name, kind) in object {
            let wrong = |problem: String| Error::input(format!("column '{name}': {problem}")).in_file(path);
            self.kinds.insert(name.clone(), kind.parse().map_err(wrong)?);
        }
        Ok(())
    }

    /// Takes the kinds of columns as texts `NAME=KIND`, which override those of a schema.
    pub fn set_columns(&mut self, texts: &[String]) -> Result<(), Error> {
        let mut kinds = Kinds::new();
        for text in texts {
            let wrong = |problem: &str| Error::setting("column", format!("'{text}': {problem}"));
            let (name, kind) = named_kind(text).map_err(|problem| wrong(&problem))?;
            if kinds.insert(name, kind).is_some() {
                return Err(wrong("the column is described twice"));
            }
        }
        self.kinds.extend(kinds);
        Ok(())
    }
}

impl TrainRequest {
    /// The kinds of a table's columns, with those to leave out.
    pub(super) fn kinds_for(&self, table: &Table) -> Result<Kinds, Error> {
        let mut kinds = self.kinds.clone();
        for text in &self.ignore {
            // A name with commas may be that of a column: that comes first.
            let names = if table.has(text) { vec![text.as_str()] } else { text.split(',').collect() };
            for name in names.into_iter().map(str::trim).filter(|name| !name.is_empty()) {
                table.position(name)?;
                kinds.insert(name.into(), Kind::Ignored);
            }
        }
        if kinds.get(&self.target) == Some(&Kind::Ignored) {
            return Err(Error::setting("target", format!("'{}' cannot be ignored", self.target)));
        }
        Ok(kinds)
    }

    pub(super) fn preparation<'a>(&'a self, kinds: &'a Kinds) -> Preparation<'a> {
        Preparation {
            test_fraction: self.test_fraction,
            seed: self.options.seed,
            fit: self.fit,
            missing: self.missing,
            markers: self.missing_values.clone(),
            ..Preparation::new(&self.target, kinds)
        }
    }
}

/// A trained model, and its accuracy.
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
    /// Logistic regression on the same bits of the training rows, for comparison; nothing if the table is too large.
    pub logistic: Option<Regression>,
    /// The share of test rows that logistic regression labels right.
    pub logistic_test_accuracy: Option<f64>,
    /// The weights that the network may have.
    pub weights: Weights,
    /// What was chosen and why, if there was a choice.
    pub choice: Option<Choice>,
    /// The accuracies of several seeds, if they were asked for.
    pub spread: Option<Spread>,
    /// Notes on the table for the user.
    pub notes: Vec<Note>,
    /// How many values of each column are missing, where some are.
    pub missing: Vec<(String, u64)>,
}

/// Test accuracies of several seeds, each with its own split.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Those of the networks.
    pub networks: Vec<f64>,
    /// Those of logistic regression, where it was learned for every seed.
    pub logistic: Vec<f64>,
}

impl Spread {
    /// The mean, and the standard deviation of a single seed around it.
    pub fn mean_and_deviation(values: &[f64]) -> [f64; 2] {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        [mean, (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()]
    }
}

impl Trained {
    /// A learned model with its training and test rows. The model then holds its accuracy on them.
    pub fn new(
        mut model: Model,
        learned: (Weights, Option<Choice>),
        [training, testing]: [Tally; 2],
        mut notes: Vec<Note>,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let rate = |right: u64, rows: &Tally| (rows.total() > 0).then(|| right as f64 / rows.total() as f64);
        let of_network = |rows: &Tally| rate(correct(&model.network, rows), rows);
        let (train_accuracy, test_accuracy) = (of_network(&training), of_network(&testing));
        let logistic = regress(&training, watch)?;
        if logistic.is_none() {
            notes.push(Note::new("the table is too large for logistic regression beside the network"));
        }
        let logistic_test_accuracy = logistic.as_ref().and_then(|logistic| rate(logistic.correct(&testing), &testing));
        let judged = if testing.total() > 0 { &testing } else { &training };
        if correct(&model.network, judged) <= largest_class(judged) {
            let rows = if testing.total() > 0 { "test" } else { "training" };
            let text = format!("the network is no better on the {rows} rows than answering their largest class always");
            notes.push(Note::new(text));
        }
        let (weights, choice) = learned;
        notes.extend(choice.iter().map(|choice| Note::new(choice.words.clone())));
        model.provenance.insert("train_accuracy".into(), json!(train_accuracy));
        model.provenance.insert("test_accuracy".into(), json!(test_accuracy));
        let all = training.merged(&testing);
        let rows = [all.total() as usize, all.rows().rows()];
        Ok(Trained {
            model,
            training,
            testing,
            rows,
            train_accuracy,
            test_accuracy,
            logistic,
            logistic_test_accuracy,
            weights,
            choice,
            spread: None,
            notes,
            missing: Vec::new(),
        })
    }

    /// The accuracy of the network, beside that of guessing and that of knowing everything.
    pub fn accuracy_words(&self) -> String {
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.4}"));
        let judged = if self.testing.total() > 0 { &self.testing } else { &self.training };
        let share = |rows: u64| rows as f64 / judged.total() as f64;
        let spread = self.spread.as_ref().map_or(String::new(), |spread| {
            let [mean, deviation] = Spread::mean_and_deviation(&spread.networks);
            let logistic = match spread.logistic.len() == spread.networks.len() {
                true => format!(", logistic regression {:.4}", Spread::mean_and_deviation(&spread.logistic)[0]),
                false => String::new(),
            };
            format!(
                "\n          over {} seeds: mean {mean:.4}, deviation {deviation:.4}{logistic}",
                spread.networks.len()
            )
        });
        format!(
            "accuracy: {} on training rows, {} on {} test rows (logistic regression: {})\n          (the largest class alone: {:.4}; no function of these bits can exceed {:.4}){spread}",
            shown(self.train_accuracy),
            shown(self.test_accuracy),
            thousands(self.testing.total()),
            shown(self.logistic_test_accuracy),
            share(largest_class(judged)),
            share(judged.ceiling()),
        )
    }

    /// The same as one JSON object.
    pub fn json(&self) -> Value {
        let hidden: Vec<usize> = self.model.network.hidden().iter().map(Vec::len).collect();
        let mut summary = json!({
            "rows": self.rows[0], "distinct_rows": self.rows[1],
            "features": self.model.features, "classes": self.model.classes, "shape": self.model.network.shape(),
            "hidden": hidden, "weights": self.weights.to_string(),
            "train_rows": self.training.total(), "test_rows": self.testing.total(),
            "train_accuracy": self.train_accuracy, "test_accuracy": self.test_accuracy,
            "logistic_test_accuracy": self.logistic_test_accuracy,
            "missing": self.missing.iter().cloned().collect::<BTreeMap<_, _>>(),
            "notes": self.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
        });
        if let Some(logistic) = &self.logistic {
            let (weights, biases): (Vec<_>, Vec<_>) = logistic.parameters().into_iter().unzip();
            summary["logistic"] = json!({ "weights": weights, "biases": biases });
        }
        if let Some(choice) = &self.choice {
            summary["choice"] = choice_json(choice);
        }
        if let Some(Spread { networks, logistic }) = &self.spread {
            let [mean, deviation] = Spread::mean_and_deviation(networks);
            summary["seeds"] = json!({
                "count": networks.len(), "test_accuracies": networks, "logistic_test_accuracies": logistic,
                "mean": mean, "deviation": deviation,
            });
        }
        summary
    }

    /// The distinct rows as bits, then `train:K` and `test:K`: how often class K occurs, as CSV.
    pub fn tally_csv(&self) -> String {
        let classes = self.model.network.classes();
        let mut rows: BTreeMap<Vec<bool>, Vec<u64>> = BTreeMap::new();
        for (side, tally) in [&self.training, &self.testing].into_iter().enumerate() {
            for (row, counts) in tally.counts().iter().enumerate() {
                let cells = rows.entry(tally.rows().row(row)).or_insert_with(|| vec![0; 2 * classes]);
                cells[side * classes..][..classes].copy_from_slice(counts);
            }
        }
        let names = self.model.features.iter().map(|name| quote_csv(name).into_owned());
        let counted = |side| (0..classes).map(move |class| format!("{side}:{class}"));
        let mut lines = vec![names.chain(counted("train")).chain(counted("test")).collect::<Vec<_>>().join(",")];
        for (row, counts) in rows {
            let cells = row.into_iter().map(u64::from).chain(counts).map(|cell| cell.to_string());
            lines.push(cells.collect::<Vec<_>>().join(","));
        }
        lines.join("\n") + "\n"
    }
}

fn choice_json(choice: &Choice) -> Value {
    let Choice { strength, pairs, folds, accuracy, nodes, words } = choice;
    json!({
        "strength": strength, "pairs": pairs, "folds": folds, "validation_accuracy": accuracy.map(|[mean, _]| mean),
        "standard_error": accuracy.map(|[_, error]| error), "circuit_nodes": nodes, "why": words,
    })
}

/// How many rows the most frequent class has.
fn largest_class(rows: &Tally) -> u64 {
    let classes = rows.counts().first().map_or(0, Vec::len);
    let of_class = |class: usize| rows.counts().iter().map(|counts| counts[class]).sum::<u64>();
    (0..classes).map(of_class).max().unwrap_or(0)
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
    let mut trained = train_seed(path, request, reading, training)?;
    if request.seeds > 1 {
        let mut spread = Spread { networks: Vec::new(), logistic: Vec::new() };
        let mut add = |trained: &Trained| {
            spread.networks.extend(trained.test_accuracy);
            spread.logistic.extend(trained.logistic_test_accuracy);
        };
        add(&trained);
        for step in 1..request.seeds {
            let mut other = request.clone();
            other.options.seed = request.options.seed.wrapping_add(step);
            add(&train_seed(path, &other, reading, training)?);
        }
        trained.spread = (!spread.networks.is_empty()).then_some(spread);
    }
    Ok(trained)
}

/// The network of one seed.
fn train_seed(
    path: &Path,
    request: &TrainRequest,
    reading: &Watch<'_>,
    training: &Watch<'_>,
) -> Result<Trained, Error> {
    let TrainRequest { test_fraction, fit, options, .. } = request;
    let table = Table::open_to_reread(path)?;
    let kinds = request.kinds_for(&table)?;
    let data = Dataset::prepare(&table, &request.preparation(&kinds), reading)?;
    if let Some(grid) = request.grid {
        let fits = grid.pixels(data.binariser.features().len(), Some(&data.binariser));
        fits.map_err(|why| Error::setting("grid", format!("does not fit: {why}")))?;
    }
    let classes = data.target.code.classes();
    let tally = |test: bool| Tally::new(&data.bits, &data.labels, classes, |row| data.test[row] == test);
    let (learned, testing) = (tally(false), tally(true));
    let distinct = learned.rows().rows() + testing.rows().rows();
    let in_file = |error| Error::from(error).in_file(path);
    let Learned { network, weights, choice } = learn(&learned, distinct, options, training).map_err(in_file)?;
    let mut model = Model::new(network, data.binariser.features()).map_err(in_file)?;
    model.classes = Some(data.target.classes());
    model.marginals = Some(Marginals { rows: learned.total(), ones: learned.ones() });
    let facts = json!({
        "program": concat!("boolshap ", env!("CARGO_PKG_VERSION")),
        "command": "train",
        "source": super::request::file_name(path),
        "rows": data.bits.rows(),
        "target": data.target,
        "test_fraction": test_fraction,
        "fit": fit.name(),
        "seed": options.seed,
        "weights": weights.to_string(),
    });
    model.provenance = serde_json::from_value(facts).expect("an object of facts by name");
    model.provenance.extend(request.grid.map(|grid| (GRID.to_string(), grid.to_string().into())));
    model.binariser = Some(data.binariser);
    let trained = Trained::new(model, (weights, choice), [learned, testing], data.notes, training)?;
    Ok(Trained { missing: data.missing, ..trained })
}
