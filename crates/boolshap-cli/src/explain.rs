//! `boolshap explain`: the scores of every row.

use crate::first_rows::FirstRows;
use crate::predict::Input;
use crate::terminal::{input_path, note, output_path, print, print_json, thousands, usage, with_row_progress};
use anyhow::{Context, bail};
use boolshap::circuit::{NamedCircuit, paper_form};
use boolshap::data::{Entities, Reading, ScoreColumns, ScoreFile, ScoreSink, Table};
use boolshap::explain::{BruteForce, Distribution, FastEngine, Labels, OpenBox, Scorer, Streamed};
use boolshap::explain::{explain_stream, score_in_parallel};
use boolshap::model::parse_decimal;
use clap::{Args, ValueEnum};
use dashu::rational::RBig;
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Give the exact SHAP score of every feature of every row
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
    /// What fills in absent features: uniform, product (the marginals of training), or product:FILE with columns
    /// feature,probability or with rows to estimate from
    #[arg(long, default_value = "uniform")]
    distribution: String,
    /// Which algorithm: fast unless fractions are asked for, then paper
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
        let engine = match (self.engine, self.exact) {
            (Some(Engine::Fast), true) => return usage("--engine fast works in floats: --exact needs another engine"),
            (Some(engine), _) => engine,
            (None, true) => Engine::Paper,
            (None, false) => Engine::Fast,
        };
        let named = NamedCircuit::load(&self.circuit).with_context(|| self.circuit.display().to_string())?;
        let distribution = read_distribution(&self.distribution, &named)?;
        let data = input_path(&self.data);
        let mut entities = Entities::open(&data, &named.features, named.binariser.as_ref(), self.input.reading())?;
        entities.keep(&kept_columns(&self.keep, entities.table().columns()))?;
        let columns = ScoreColumns { kept: entities.kept(), players: named.features.clone(), exact: self.exact };
        self.check_names(&columns)?;
        let mut sink = Sink::open(self.output.as_deref(), &columns)?;
        let streamed = with_row_progress("explaining", |watch| {
            let smooth;
            let labels;
            let scorer: Box<Scorer<'_>> = match engine {
                Engine::Fast => {
                    let engine = FastEngine::new(&named.circuit)?;
                    let given = &distribution;
                    Box::new(move |rows, watch| Ok(engine.explain(rows, given, watch)?.into()))
                }
                Engine::Paper => {
                    smooth = paper_form(&named.circuit)?;
                    let engine = OpenBox::new(&smooth)?;
                    let given = &distribution;
                    Box::new(move |rows, watch| match self.exact {
                        false => score_in_parallel(rows, watch, |part, watch| engine.explain(part, given, watch)),
                        true => score_in_parallel(rows, watch, |part, watch| engine.explain_exact(part, given, watch)),
                    })
                }
                Engine::BruteForce => {
                    labels = Labels::of_circuit(&named.circuit)?;
                    let engine = BruteForce::new(&labels);
                    let given = &distribution;
                    Box::new(move |rows, watch| match self.exact {
                        false => score_in_parallel(rows, watch, |part, watch| engine.explain(part, given, watch)),
                        true => score_in_parallel(rows, watch, |part, watch| engine.explain_exact(part, given, watch)),
                    })
                }
            };
            anyhow::Ok(explain_stream(entities, &*scorer, sink.as_dyn(), watch)?)
        })?;
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
            print_json(&json!({"rows": rows, "distinct_rows": distinct_rows, "seconds": seconds}))?;
        } else if let Some(path) = &self.output {
            let distinct = distinct_rows.map_or(String::new(), |rows| format!(" ({} distinct)", thousands(rows)));
            print(&format!("{} rows{distinct} explained in {seconds:.2} s: {}", thousands(rows), path.display()))?;
        }
        Ok(())
    }

    /// Every column of the result has a name of its own.
    fn check_names(&self, columns: &ScoreColumns) -> anyhow::Result<()> {
        if let Some(name) = columns.players.iter().find(|name| ["prediction", "base_value"].contains(&name.as_str())) {
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

/// The distribution that a command line names.
fn read_distribution(text: &str, named: &NamedCircuit) -> anyhow::Result<Distribution> {
    let features = &named.features;
    let fraction = |ones: u64, rows: u64| RBig::from_parts(ones.into(), rows.into());
    let probabilities = match text.split_once(':') {
        None if text == "uniform" => return Ok(Distribution::uniform(features.len())),
        None if text == "product" => {
            let marginals = named.marginals.as_ref().filter(|marginals| marginals.rows > 0);
            let marginals = marginals.context("the circuit holds no marginals: use product:FILE")?;
            marginals.ones.iter().map(|&ones| fraction(ones, marginals.rows)).collect()
        }
        Some(("product", file)) => {
            let path = Path::new(file);
            let table = Table::open(path)?;
            if table.position("feature").is_ok() && table.position("probability").is_ok() {
                read_probabilities(&table, features)?
            } else {
                let entities = Entities::of_table(table, features, named.binariser.as_ref(), Reading::Auto)?;
                let (mut rows, mut ones) = (0u64, vec![0u64; features.len()]);
                for bits in entities {
                    let bits = bits?;
                    rows += bits.rows() as u64;
                    ones.iter_mut().zip(bits.ones()).for_each(|(sum, more)| *sum += more);
                }
                if rows == 0 {
                    bail!("{file}: there are no rows to estimate probabilities from");
                }
                ones.into_iter().map(|ones| fraction(ones, rows)).collect()
            }
        }
        _ => return usage(format!("--distribution '{text}' is none of uniform, product, product:FILE")),
    };
    Ok(Distribution::product(probabilities)?)
}

/// A table of features and probabilities, decimals read exactly; every feature must be there once.
fn read_probabilities(table: &Table, features: &[String]) -> anyhow::Result<Vec<RBig>> {
    let path = table.path().display();
    let mut found: HashMap<String, RBig> = HashMap::new();
    for chunk in table.chunks(&[table.position("feature")?, table.position("probability")?])? {
        let chunk = chunk?;
        for row in 0..chunk.rows {
            let number = chunk.first_row + row as u64;
            let name = chunk.columns[0].text(row).unwrap_or_default().into_owned();
            let text = chunk.columns[1].text(row).unwrap_or_default();
            let value =
                parse_decimal(&text).with_context(|| format!("{path}, row {number}: '{text}' is not a number"))?;
            if !features.contains(&name) {
                bail!("{path}, row {number}: the circuit has no feature '{name}'");
            }
            if value < RBig::ZERO || value > RBig::ONE {
                bail!("{path}, row {number}: the probability {text} is not between 0 and 1");
            }
            if found.insert(name.clone(), value).is_some() {
                bail!("{path}, row {number}: the feature '{name}' is there twice");
            }
        }
    }
    features
        .iter()
        .map(|name| found.remove(name).with_context(|| format!("{path}: the feature '{name}' is missing")))
        .collect()
}
