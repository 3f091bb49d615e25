//! `boolshap explain`: the scores of every row.

use crate::first_rows::FirstRows;
use crate::game_options::GameOptions;
use crate::predict::Input;
use crate::scoring::{Asked, Engine, Prepared, each_class, predicted_class};
use crate::terminal::{input_path, note, output_path, print, print_json, thousands, usage, with_row_progress};
use anyhow::{Context, bail};
use boolshap::circuit::{Circuit, NamedCircuit};
use boolshap::data::{Entities, Means, ScoreColumns, ScoreFile, ScoreMeans, ScoreSink};
use boolshap::explain::{Index, Scorer, Streamed, explain_stream};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

/// Give the exact SHAP scores of every row
///
/// Rows are read, explained and written a few thousand at a time, so tables of any length fit into memory. Rows with the
/// same bits are computed once as long as they are remembered (64 MiB of them), and counted as distinct_rows up to about
/// 4 million (128 MiB of them); beyond, that number is not told (null).
#[derive(Args)]
pub(crate) struct Explain {
    /// The circuit
    circuit: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name; - is standard input (CSV)
    data: PathBuf,
    /// Where to write prediction, base_value and the scores, as Parquet if the name ends in .parquet, else as CSV;
    /// without it the first rows are shown
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    game: GameOptions,
    /// Which algorithm: fast, unless fractions are asked for; paper is for features as players of uniform or product
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Write exact fractions
    #[arg(long)]
    exact: bool,
    /// Of a file of several classes: each, predicted (the class of the row, the default), or the number of one
    #[arg(long, value_name = "each|predicted|K")]
    class: Option<Classes>,
    /// How to read the rows, and those of --distribution where both ways fit
    #[arg(long, value_enum, default_value = "auto")]
    input: Input,
    /// Copy these columns of the input to the output, in front
    #[arg(long, value_name = "COLUMN,...")]
    keep: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Which classes of a file that holds several.
#[derive(Clone, Copy, PartialEq)]
enum Classes {
    Each,
    Predicted,
    One(usize),
}

impl FromStr for Classes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "each" => Ok(Classes::Each),
            "predicted" => Ok(Classes::Predicted),
            _ => text
                .parse()
                .map(Classes::One)
                .map_err(|_| "is none of each, predicted, or the number of a class".into()),
        }
    }
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        if self.engine == Some(Engine::Fast) && self.exact {
            return usage("--engine fast works in floats: --exact needs another engine");
        }
        let place = || self.circuit.display().to_string();
        let named = NamedCircuit::load(&self.circuit).with_context(place)?;
        let classes = match (self.class, named.classes.is_empty()) {
            (Some(_), true) => return usage("--class is for files of several classes (compile --class all)"),
            (None, true) => None,
            (given, false) => Some(given.unwrap_or(Classes::Predicted)),
        };
        let circuits: Vec<Circuit> = match classes {
            None => vec![named.circuit.clone()],
            Some(Classes::One(class)) => vec![named.class(class).with_context(place)?],
            Some(_) => (0..named.classes.len()).map(|class| named.class(class)).collect::<Result<_, _>>()?,
        };
        let players = self.game.players(&named)?;
        let population = self.game.population(&named, &players, self.input.reading())?;
        let asked = Asked { engine: self.engine, index: self.game.index.index(), exact: self.exact };
        let data = input_path(&self.data);
        let mut entities = Entities::open(&data, &named.features, named.binariser.as_ref(), self.input.reading())?;
        entities.keep(&kept_columns(&self.keep, entities.table().columns()))?;
        let about = self.about(asked, classes);
        let mut columns = ScoreColumns {
            kept: entities.kept(),
            about: about.clone(),
            ..ScoreColumns::of_scores(&asked.index.columns(players.names()), self.exact)
        };
        if classes == Some(Classes::Each) {
            let of_class = |class: usize| columns.numbers.iter().map(move |name| format!("{name}:{class}"));
            columns.numbers = (0..circuits.len()).flat_map(of_class).collect();
        }
        self.check_names(&columns)?;
        let mut sink = Sink::open(self.output.as_deref(), &columns)?;
        let mut means = ScoreMeans::new(sink.as_dyn(), columns.numbers.len(), self.exact);
        let streamed = with_row_progress("explaining", |watch| {
            let silent = watch.silent();
            let prepare = |circuit| {
                Prepared::new(circuit, &players, &population, asked, |error| self.game.in_file(error), &silent)
            };
            let prepared = circuits.iter().map(prepare).collect::<anyhow::Result<Vec<_>>>()?;
            let mut scorers = prepared.iter().map(|one| one.scorer(asked)).collect::<Result<Vec<_>, _>>()?;
            let scorer: Box<Scorer<'_>> = match classes {
                Some(Classes::Each) => Box::new(|rows, watch| each_class(&circuits, &scorers, rows, watch)),
                Some(Classes::Predicted) => Box::new(|rows, watch| predicted_class(&circuits, &scorers, rows, watch)),
                None | Some(Classes::One(_)) => scorers.remove(0),
            };
            anyhow::Ok(explain_stream(entities, &*scorer, &mut means, watch)?)
        })?;
        let means = means.finish();
        match sink {
            Sink::File(file) => file.finish()?,
            // With --json there is only the summary to tell.
            Sink::Terminal(_) if self.json => {}
            Sink::Terminal(first) => first.print(self.exact, means.as_ref())?,
        }
        let Streamed { rows, distinct_rows } = streamed;
        if distinct_rows.is_none() {
            note("there are too many distinct rows to count them");
        }
        let seconds = start.elapsed().as_secs_f64();
        if self.json {
            let is_score = |(name, _): &(String, Value)| name.split(':').next() != Some("base_value");
            let means: serde_json::Map<String, Value> =
                columns.numbers.iter().cloned().zip(mean_values(means)).filter(is_score).collect();
            let mut summary = json!({
                "rows": rows, "distinct_rows": distinct_rows, "seconds": seconds, "mean_absolute": means,
            });
            about.into_iter().for_each(|(key, text)| summary[key] = text.into());
            print_json(&summary)?;
        } else if let Some(path) = &self.output {
            let distinct = distinct_rows.map_or(String::new(), |rows| format!(" ({} distinct)", thousands(rows)));
            let [distribution, players, index] = ["distribution", "players", "index"].map(|key| &about[key]);
            let more = more_words(&about);
            print(&format!(
                "{} rows{distinct} explained in {seconds:.2} s ({index}, {distribution}{more}, players {players}): {}",
                thousands(rows),
                path.display()
            ))?;
        } else {
            print(&format!("({})", self.meaning(&about)))?;
        }
        Ok(())
    }

    /// What the scores are.
    fn about(&self, asked: Asked, classes: Option<Classes>) -> BTreeMap<String, String> {
        let distribution = self.game.distribution_name();
        let mut about: BTreeMap<String, String> = [
            ("distribution", distribution.as_str()),
            ("players", &file_name(Path::new(&self.game.players))),
            ("index", asked.index.name()),
            ("engine", asked.engine_name()),
            ("checked", asked.index.checked()),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .into();
        if let Some(constraint) = &self.game.constraint {
            about.insert("constraint".into(), file_name(constraint));
        }
        if self.game.smoothing > 0 {
            about.insert("smoothing".into(), self.game.smoothing.to_string());
        }
        let class = classes.map(|classes| match classes {
            Classes::Each => "each".to_string(),
            Classes::Predicted => "predicted".into(),
            Classes::One(class) => class.to_string(),
        });
        class.into_iter().for_each(|class| drop(about.insert("class".into(), class)));
        about
    }

    /// The same as a line to read.
    fn meaning(&self, about: &BTreeMap<String, String>) -> String {
        let index = match self.game.index.index() {
            Index::Shapley => {
                let sum = match about.get("class").map(String::as_str) {
                    Some("predicted") => "1, the label of the class predicted",
                    Some(_) => "the label of the class",
                    None => "the prediction",
                };
                format!("Shapley values; base value and scores of each row were found to add up to {sum}")
            }
            Index::Banzhaf => "Banzhaf values, which have no sum to check".into(),
            Index::Interaction => "Shapley interactions, of which those of each player were found to add up".into(),
        };
        let constraint = more_words(about);
        let [distribution, players, engine] = ["distribution", "players", "engine"].map(|key| &about[key]);
        format!("distribution {distribution}{constraint}, players {players}, engine {engine}; {index}")
    }

    /// Every column of the result has a name of its own.
    fn check_names(&self, columns: &ScoreColumns) -> anyhow::Result<()> {
        if let Some(name) =
            columns.numbers[1..].iter().find(|name| ["prediction", "base_value"].contains(&name.as_str()))
        {
            let (file, what) = match self.game.players.as_str() {
                "features" | "columns" => (self.circuit.as_path(), "a feature"),
                file => (Path::new(file), "a player"),
            };
            bail!("{}: {what} is called '{name}', as a column of the result is", file.display());
        }
        for (index, field) in columns.kept.iter().enumerate() {
            let name = field.name();
            if columns.results().any(|result| result == name) {
                bail!("--keep: the result has a column '{name}' of its own");
            }
            if columns.kept[..index].iter().any(|other| other.name() == name) {
                bail!("--keep: the column '{name}' is there twice");
            }
        }
        Ok(())
    }
}

/// Where scores go: a file, or the first of them to the terminal.
enum Sink {
    File(ScoreFile),
    Terminal(FirstRows),
}

impl Sink {
    fn open(path: Option<&Path>, columns: &ScoreColumns) -> anyhow::Result<Self> {
        Ok(match path {
            Some(path) => Sink::File(ScoreFile::create(&output_path(path), columns)?),
            None => Sink::Terminal(FirstRows::new(columns)?),
        })
    }

    fn as_dyn(&mut self) -> &mut dyn ScoreSink {
        match self {
            Sink::File(file) => file,
            Sink::Terminal(first) => first,
        }
    }
}

/// Splits what `--keep` was given at commas, unless it is a column as it stands: that is how to name one with commas.
fn kept_columns(given: &[String], columns: &[String]) -> Vec<String> {
    let split = |text: &String| match columns.contains(text) {
        true => vec![text.clone()],
        false => text.split(',').map(String::from).collect(),
    };
    given.iter().flat_map(split).collect()
}

/// What else is to be said of a distribution.
fn more_words(about: &BTreeMap<String, String>) -> String {
    let words = [("smoothing", " with smoothing "), ("constraint", " given "), ("class", ", class ")];
    words.iter().filter_map(|(key, words)| about.get(*key).map(|value| format!("{words}{value}"))).collect()
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Means as JSON numbers, or as texts of fractions.
fn mean_values(means: Option<Means>) -> Vec<Value> {
    match means {
        None => Vec::new(),
        Some(Means::Floats(means)) => means.into_iter().map(Value::from).collect(),
        Some(Means::Exact(means)) => means.into_iter().map(|mean| mean.to_string().into()).collect(),
    }
}
