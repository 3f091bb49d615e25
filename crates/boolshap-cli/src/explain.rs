//! `boolshap explain`: the scores of every row.

use crate::first_rows::FirstRows;
use crate::game_options::GameOptions;
use crate::predict::Input;
use crate::terminal::{input_path, note, output_path, print, print_json, thousands, usage, with_row_progress};
use anyhow::{Context, bail};
use boolshap::circuit::{NamedCircuit, paper_form};
use boolshap::data::{Entities, Means, ScoreColumns, ScoreFile, ScoreMeans, ScoreSink};
use boolshap::explain::{BruteForce, Definition, ExactGame, Explanation, FloatGame, Game, Index, Labels, OpenBox};
use boolshap::explain::{Population, Scorer, Streamed, explain_stream, score_in_parallel};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
    /// How to read the rows
    #[arg(long, value_enum, default_value = "auto")]
    input: Input,
    /// Copy these columns of the input to the output, in front
    #[arg(long, value_name = "COLUMN,...")]
    keep: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Engine {
    /// All scores of a row from a few sweeps over the circuit, in floats
    Fast,
    /// The open-box algorithm of Arenas et al.
    Paper,
    /// The definition, over all subsets of features
    BruteForce,
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        if self.engine == Some(Engine::Fast) && self.exact {
            return usage("--engine fast works in floats: --exact needs another engine");
        }
        let named = NamedCircuit::load(&self.circuit).with_context(|| self.circuit.display().to_string())?;
        let players = self.game.players(&named)?;
        let population = self.game.population(&named, &players)?;
        let index = self.game.index.index();
        let simple = players.kind() == "features" && index == Index::Shapley;
        let product = match &population {
            Population::Product(distribution) if simple => Some(distribution.clone()),
            _ => None,
        };
        if self.engine == Some(Engine::Paper) && product.is_none() {
            return usage("--engine paper is for features as players, Shapley values, and uniform or product");
        }
        let data = input_path(&self.data);
        let mut entities = Entities::open(&data, &named.features, named.binariser.as_ref(), self.input.reading())?;
        entities.keep(&kept_columns(&self.keep, entities.table().columns()))?;
        let about = self.about(index);
        let columns = ScoreColumns {
            kept: entities.kept(),
            about: about.clone(),
            ..ScoreColumns::of_scores(&index.columns(players.names()), self.exact)
        };
        self.check_names(&columns)?;
        let mut sink = Sink::open(self.output.as_deref(), &columns)?;
        let mut means = ScoreMeans::new(sink.as_dyn(), columns.numbers.len(), self.exact);
        let streamed = with_row_progress("explaining", |watch| {
            let (game, smooth, labels);
            let scorer: Box<Scorer<'_>> = match (self.engine, &product) {
                (Some(Engine::Paper), Some(given)) => {
                    smooth = paper_form(&named.circuit)?;
                    let engine = OpenBox::new(&smooth)?;
                    Box::new(move |rows, watch| match self.exact {
                        false => score_in_parallel(rows, watch, |part, watch| engine.explain(part, given, watch)),
                        true => score_in_parallel(rows, watch, |part, watch| engine.explain_exact(part, given, watch)),
                    })
                }
                (Some(Engine::BruteForce), Some(given)) => {
                    labels = Labels::of_circuit(&named.circuit)?;
                    let engine = BruteForce::new(&labels);
                    Box::new(move |rows, watch| match self.exact {
                        false => score_in_parallel(rows, watch, |part, watch| engine.explain(part, given, watch)),
                        true => score_in_parallel(rows, watch, |part, watch| engine.explain_exact(part, given, watch)),
                    })
                }
                (Some(Engine::BruteForce), None) => {
                    let labels = Labels::of_circuit(&named.circuit)?;
                    let judge = Definition::new(labels, players, population).map_err(|e| self.game.in_file(e))?;
                    Box::new(move |rows, watch| match self.exact {
                        false => score_in_parallel(rows, watch, |part, watch| {
                            let exact = judge.explain(part, index, watch)?;
                            Ok(exact.iter().map(Explanation::to_floats).collect())
                        }),
                        true => score_in_parallel(rows, watch, |part, watch| judge.explain(part, index, watch)),
                    })
                }
                _ => {
                    let built = Game::new(&named.circuit, players, population, &watch.silent());
                    game = built.map_err(|error| self.game.in_file(error))?;
                    if self.exact {
                        let exact = ExactGame::new(&game)?;
                        Box::new(move |rows, watch| {
                            score_in_parallel(rows, watch, |part, watch| exact.explain(part, index, watch))
                        })
                    } else {
                        let floats = FloatGame::new(&game);
                        Box::new(move |rows, watch| Ok(floats.explain(rows, index, watch)?.into()))
                    }
                }
            };
            anyhow::Ok(explain_stream(entities, &*scorer, &mut means, watch)?)
        })?;
        let means = means.finish();
        match sink {
            Sink::File(file) => file.finish()?,
            // With --json there is only the summary to tell.
            Sink::Terminal(_) if self.json => {}
            Sink::Terminal(first) => first.print(self.exact)?,
        }
        let Streamed { rows, distinct_rows } = streamed;
        if distinct_rows.is_none() {
            note("there are too many distinct rows to count them");
        }
        let seconds = start.elapsed().as_secs_f64();
        if self.json {
            let means: serde_json::Map<String, Value> =
                columns.numbers.iter().cloned().zip(mean_values(means)).skip(1).collect();
            let mut summary = json!({
                "rows": rows, "distinct_rows": distinct_rows, "seconds": seconds, "mean_absolute": means,
            });
            about.into_iter().for_each(|(key, text)| summary[key] = text.into());
            print_json(&summary)?;
        } else {
            print(&format!("({})", self.meaning(&about)))?;
            if let Some(path) = &self.output {
                let distinct = distinct_rows.map_or(String::new(), |rows| format!(" ({} distinct)", thousands(rows)));
                print(&format!("{} rows{distinct} explained in {seconds:.2} s: {}", thousands(rows), path.display()))?;
            }
        }
        Ok(())
    }

    /// What the scores are.
    fn about(&self, index: Index) -> BTreeMap<String, String> {
        let engine = match (self.engine, self.exact) {
            (Some(Engine::Paper), _) => "paper",
            (Some(Engine::BruteForce), _) => "brute-force",
            (_, true) => "exact",
            (_, false) => "fast",
        };
        let mut about: BTreeMap<String, String> = [
            ("distribution", self.game.distribution.as_str()),
            ("players", &self.game.players),
            ("index", index.name()),
            ("engine", engine),
            ("checked", index.checked()),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .into();
        if let Some(constraint) = &self.game.constraint {
            about.insert("constraint".into(), constraint.display().to_string());
        }
        about
    }

    /// The same as a line to read.
    fn meaning(&self, about: &BTreeMap<String, String>) -> String {
        let index = match self.game.index.index() {
            Index::Shapley => {
                "Shapley values; base value and scores of each row were found to add up to the prediction"
            }
            Index::Banzhaf => "Banzhaf values, which have no sum to check",
            Index::Interaction => "Shapley interactions, of which those of each player were found to add up",
        };
        let constraint = about.get("constraint").map_or(String::new(), |file| format!(" given {file}"));
        let [distribution, players, engine] = ["distribution", "players", "engine"].map(|key| &about[key]);
        format!("distribution {distribution}{constraint}, players {players}, engine {engine}; {index}")
    }

    /// Every column of the result has a name of its own.
    fn check_names(&self, columns: &ScoreColumns) -> anyhow::Result<()> {
        if let Some(name) =
            columns.numbers[1..].iter().find(|name| ["prediction", "base_value"].contains(&name.as_str()))
        {
            bail!("{}: a feature is called '{name}', as a column of the result is", self.circuit.display());
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

/// Means as JSON numbers, or as texts of fractions.
fn mean_values(means: Option<Means>) -> Vec<Value> {
    match means {
        None => Vec::new(),
        Some(Means::Floats(means)) => means.into_iter().map(Value::from).collect(),
        Some(Means::Exact(means)) => means.into_iter().map(|mean| mean.to_string().into()).collect(),
    }
}
