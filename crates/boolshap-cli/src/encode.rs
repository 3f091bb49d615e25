//! `boolshap encode`: a network as a CNF, the paper's step (a); or a CNF as a smaller one.

use crate::terminal::{output_path, print, print_json, seconds, thousands, usage, with_timeout};
use anyhow::{Context, bail};
use boolshap::data::WholeFile;
use boolshap::formula::{Cnf, encode_network, read_dimacs, simplify, tree_width_bound, write_dimacs};
use boolshap::lit::Watch;
use boolshap::model::{Model, Output};
use clap::Args;
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the matrices of a network stop growing, unless told otherwise.
pub(crate) const MAX_CLAUSES: usize = 1_000_000;
/// How many variables a file may announce.
const MAX_VARIABLES: usize = 10_000_000;

/// Encode a network of weights +-1 as a CNF over its inputs, prime and irredundant
///
/// A DIMACS file (.cnf) instead of a model is simplified in the same way.
#[derive(Args)]
pub(crate) struct Encode {
    /// The model, or a formula to simplify
    source: PathBuf,
    /// Where to write the formula, in DIMACS
    #[arg(short, long, value_name = "FILE.cnf")]
    output: PathBuf,
    /// Encode "the answer is class K"; needed with more than two classes
    #[arg(long, value_name = "K")]
    class: Option<usize>,
    /// Stop when a formula on the way has more clauses than this
    #[arg(long, value_name = "N", default_value_t = MAX_CLAUSES)]
    max_clauses: usize,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Encode {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let source = Source::load(&self.source)?;
        if self.class.is_some() && matches!(source, Source::Formula(_)) {
            return usage("--class is for networks, not for formulas");
        }
        let output = output_path(&self.output);
        let place = || output.display().to_string();
        let mut file = WholeFile::create(&output).with_context(place)?;
        let start = Instant::now();
        let (cnf, width) = with_timeout("encoding", self.timeout, |watch| {
            let cnf = match &source {
                Source::Model(model) => encode_model(model, self.class, self.max_clauses, watch)?,
                Source::Formula(cnf) => simplify(cnf, watch)?,
            };
            let width = tree_width_bound(&cnf, watch)?;
            anyhow::Ok((cnf, width))
        })?;
        let seconds = start.elapsed().as_secs_f64();
        write_dimacs(&cnf, &mut file).with_context(place)?;
        file.finish().with_context(place)?;
        if self.json {
            print_json(&json!({
                "clauses": cnf.len(),
                "literals": cnf.literals(),
                "variables": cnf.variables(),
                "tree_width_bound": width,
                "seconds": seconds,
            }))?;
        } else {
            let (clauses, literals) = (thousands(cnf.len() as u64), thousands(cnf.literals() as u64));
            print(&format!("{clauses} clauses, {literals} literals over {} variables", cnf.variables()))?;
            print(&format!("tree-width at most {width} (min-fill), in {seconds:.2} s"))?;
        }
        Ok(())
    }
}

enum Source {
    Model(Model),
    Formula(Cnf),
}

impl Source {
    fn load(path: &Path) -> anyhow::Result<Self> {
        if !path.extension().is_some_and(|extension| extension == "cnf" || extension == "dimacs") {
            return Ok(Source::Model(Model::load(path)?));
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| name.clone())?;
        let cnf = read_dimacs(BufReader::new(file), &name)?;
        check_variables(path, cnf.variables())?;
        Ok(Source::Formula(cnf))
    }
}

/// Refuses a file that would take all memory for variables that it only announces.
pub(crate) fn check_variables(path: &Path, variables: usize) -> anyhow::Result<()> {
    if variables > MAX_VARIABLES {
        bail!("{}: {variables} variables are more than the {MAX_VARIABLES} that are taken", path.display());
    }
    Ok(())
}

/// A model's formula.
pub(crate) fn encode_model(
    model: &Model,
    class: Option<usize>,
    max_clauses: usize,
    watch: &Watch<'_>,
) -> anyhow::Result<Cnf> {
    Ok(encode_network(&model.network, the_class(model, class)?, max_clauses, watch)?)
}

/// The class to speak of: 1 for a network of two classes, else one must be named.
pub(crate) fn the_class(model: &Model, class: Option<usize>) -> anyhow::Result<usize> {
    match (class, model.network.output()) {
        (Some(class), _) => Ok(class),
        (None, _) if model.network.classes() == 2 => Ok(1),
        (None, Output::Step(_)) => Ok(1),
        (None, Output::Argmax(scores)) => {
            bail!("the network has {} classes: say which one with --class", scores.len())
        }
    }
}
