//! `boolshap explain`: the scores of every row.

use crate::predict::Input;
use crate::terminal::{output_path, print, print_json, thousands, usage, with_progress};
use anyhow::{Context, bail};
use boolshap::circuit::{NamedCircuit, paper_form};
use boolshap::data::{Bits, Entities, Reading, Table, WholeFile, quote_csv};
use boolshap::explain::{BruteForce, Distribution, ExplainError, Explanation, Labels, OpenBox};
use boolshap::lit::Watch;
use boolshap::model::parse_decimal;
use clap::{Args, ValueEnum};
use dashu::rational::RBig;
use rayon::prelude::*;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many rows a table on the terminal shows.
const SHOWN_ROWS: usize = 5;
/// How many distinct rows' scores are kept for when they come again.
const MAX_CACHED: usize = 1 << 17;

/// Give the exact SHAP score of every feature of every row
#[derive(Args)]
pub(crate) struct Explain {
    /// The circuit
    circuit: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name
    data: PathBuf,
    /// Where to write prediction, base_value and the scores as CSV; without it the first rows are shown
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// What fills in absent features: uniform, product (the marginals of training), or product:FILE with columns
    /// feature,probability or with rows to estimate from
    #[arg(long, default_value = "uniform")]
    distribution: String,
    /// Which algorithm
    #[arg(long, value_enum, default_value = "paper")]
    engine: Engine,
    /// Write exact fractions
    #[arg(long)]
    exact: bool,
    /// How to read the rows
    #[arg(long, value_enum, default_value = "auto")]
    input: Input,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Engine {
    /// The open-box algorithm of Arenas et al.
    Paper,
    /// The definition, over all subsets of features
    BruteForce,
}

/// One row of the result, as texts.
type Scores = Vec<String>;
/// Scores some rows.
type Explainer<'a> = dyn Fn(&[Vec<bool>]) -> Result<Vec<Scores>, ExplainError> + Sync + 'a;

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        let named = NamedCircuit::load(&self.circuit).with_context(|| self.circuit.display().to_string())?;
        let distribution = read_distribution(&self.distribution, &named)?;
        let entities = Entities::open(&self.data, &named.features, named.binariser.as_ref(), self.input.reading())?;
        let header: Vec<String> =
            ["prediction", "base_value"].into_iter().map(String::from).chain(named.features.iter().cloned()).collect();
        if let Some(name) = header[2..].iter().find(|name| header[..2].contains(name)) {
            bail!("{}: a feature is called '{name}', as a column of the result is", self.circuit.display());
        }
        let mut sink = Sink::open(self.output.as_deref(), &header)?;
        let (rows, distinct) = with_progress("explaining", |watch| {
            let smooth;
            let labels;
            let engine: Box<Explainer<'_>> = match self.engine {
                Engine::Paper => {
                    smooth = paper_form(&named.circuit)?;
                    let open_box = OpenBox::new(&smooth)?;
                    let distribution = &distribution;
                    Box::new(move |rows| match self.exact {
                        false => open_box.explain(rows, distribution, watch).map(texts),
                        true => open_box.explain_exact(rows, distribution, watch).map(texts),
                    })
                }
                Engine::BruteForce => {
                    labels = Labels::of_circuit(&named.circuit)?;
                    let brute_force = BruteForce::new(&labels);
                    let distribution = &distribution;
                    Box::new(move |rows| match self.exact {
                        false => brute_force.explain(rows, distribution, watch).map(texts),
                        true => brute_force.explain_exact(rows, distribution, watch).map(texts),
                    })
                }
            };
            stream(entities, &*engine, &mut sink, watch)
        })?;
        match (self.json, sink) {
            // Without a file there is only the summary to tell.
            (true, Sink::Terminal(..)) => {}
            (_, sink) => sink.finish(&header, self.exact)?,
        }
        let seconds = start.elapsed().as_secs_f64();
        if self.json {
            print_json(&json!({"rows": rows, "distinct_rows": distinct, "seconds": seconds}))?;
        } else if let Some(path) = &self.output {
            let (rows, distinct) = (thousands(rows), thousands(distinct));
            print(&format!("{rows} rows ({distinct} distinct) explained in {seconds:.2} s: {}", path.display()))?;
        }
        Ok(())
    }
}

/// Reads, explains and writes chunk by chunk; equal rows are computed once. Returns the numbers of rows and distinct rows.
fn stream(
    entities: Entities<'_>,
    engine: &Explainer<'_>,
    sink: &mut Sink,
    watch: &Watch<'_>,
) -> anyhow::Result<(u64, u64)> {
    let mut known: HashMap<Vec<bool>, Scores> = HashMap::new();
    let mut seen: HashSet<Vec<bool>> = HashSet::new();
    let mut total = 0;
    for bits in entities {
        let bits: Bits = bits?;
        watch.check()?;
        let rows: Vec<Vec<bool>> = (0..bits.rows()).map(|row| bits.row(row)).collect();
        let mut fresh: Vec<Vec<bool>> = rows.iter().filter(|row| !known.contains_key(*row)).cloned().collect();
        fresh.sort();
        fresh.dedup();
        if known.len() + fresh.len() > MAX_CACHED {
            known.clear();
            fresh = rows.clone();
            fresh.sort();
            fresh.dedup();
        }
        // Small batches keep the entities' vectors in cache and both cores busy.
        let made: Vec<Vec<Scores>> = fresh.par_chunks(16).map(engine).collect::<Result<_, _>>()?;
        seen.extend(fresh.iter().cloned());
        known.extend(fresh.into_iter().zip(made.into_iter().flatten()));
        for row in &rows {
            sink.row(&known[row])?;
        }
        total += rows.len() as u64;
    }
    Ok((total, seen.len() as u64))
}

fn texts<T: ToString>(explanations: Vec<Explanation<T>>) -> Vec<Scores> {
    let text = |e: Explanation<T>| {
        let start = [u8::from(e.prediction).to_string(), e.base_value.to_string()];
        // A score of nothing has no sign.
        let score = |score: &T| Some(score.to_string()).filter(|text| text != "-0").unwrap_or_else(|| "0".into());
        start.into_iter().chain(e.scores.iter().map(score)).collect()
    };
    explanations.into_iter().map(text).collect()
}

/// Where scores go: a file, or the first of them to the terminal.
enum Sink {
    File(WholeFile, PathBuf),
    Terminal(Vec<Scores>, u64),
}

impl Sink {
    fn open(path: Option<&Path>, header: &[String]) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Sink::Terminal(Vec::new(), 0)) };
        if path.extension().is_some_and(|extension| extension == "parquet") {
            bail!("{}: scores are written as CSV only", path.display());
        }
        let path = output_path(path);
        let place = || path.display().to_string();
        let mut file = WholeFile::create(&path).with_context(place)?;
        let names: Vec<String> = header.iter().map(|name| quote_csv(name).into_owned()).collect();
        writeln!(file, "{}", names.join(",")).with_context(place)?;
        Ok(Sink::File(file, path))
    }

    fn row(&mut self, scores: &Scores) -> anyhow::Result<()> {
        match self {
            Sink::File(file, path) => {
                writeln!(file, "{}", scores.join(",")).with_context(|| path.display().to_string())?;
            }
            Sink::Terminal(rows, total) => {
                if rows.len() < SHOWN_ROWS {
                    rows.push(scores.clone());
                }
                *total += 1;
            }
        }
        Ok(())
    }

    fn finish(self, header: &[String], exact: bool) -> anyhow::Result<()> {
        match self {
            Sink::File(file, path) => file.finish().with_context(|| path.display().to_string()),
            Sink::Terminal(rows, total) => {
                // Rows stand side by side, since there are more features than fit a line.
                let widest = header.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(40);
                let cell = |row: &Scores, index: usize| match row[index].parse::<f64>() {
                    Ok(value) if index > 0 && !exact => format!("{value:.6}"),
                    _ => row[index].clone(),
                };
                // Fractions can be long: every row is as wide as its longest cell asks for.
                let longest = |row: &Scores| (0..header.len()).map(|index| cell(row, index).len()).max().unwrap_or(0);
                let widths: Vec<usize> = rows.iter().map(|row| longest(row).max("row 1".len()) + 3).collect();
                let titles =
                    widths.iter().enumerate().map(|(row, width)| format!("{:>width$}", format!("row {}", row + 1)));
                print(&format!("{:widest$}{}", "", titles.collect::<String>()))?;
                for (index, name) in header.iter().enumerate() {
                    let cells = rows.iter().zip(&widths).map(|(row, width)| format!("{:>width$}", cell(row, index)));
                    print(&format!("{name:widest$}{}", cells.collect::<String>()))?;
                }
                if total > rows.len() as u64 {
                    print(&format!(
                        "... and {} more rows: write them all with -o",
                        thousands(total - rows.len() as u64)
                    ))?;
                }
                Ok(())
            }
        }
    }
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
                let entities = Entities::open(path, features, named.binariser.as_ref(), Reading::Auto)?;
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
