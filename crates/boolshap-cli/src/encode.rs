//! `boolshap encode`: encodes a network as a CNF (the paper's step (a)), or simplifies a CNF.

use crate::terminal::{output_path, print, print_json, seconds, thousands, with_timeout};
use anyhow::Context;
use boolshap::data::WholeFile;
use boolshap::formula::write_dimacs;
use boolshap::workflow::{ClassChoice, Encoding, encode};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    class: Option<ClassChoice>,
    /// Stop when an intermediate formula has more clauses than this (a million by default)
    #[arg(long, value_name = "N")]
    max_clauses: Option<usize>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Encode {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let output = output_path(&self.output, &[&self.source])?;
        let place = || output.display().to_string();
        let mut file = WholeFile::create(&output).with_context(place)?;
        let start = Instant::now();
        let Encoding { cnf, tree_width } = with_timeout("encoding", self.timeout, |watch| {
            encode(&self.source, self.class.as_ref(), self.max_clauses, watch)
        })?;
        let seconds = start.elapsed().as_secs_f64();
        write_dimacs(&cnf, &mut file).with_context(place)?;
        file.finish().with_context(place)?;
        if self.json {
            print_json(&json!({
                "clauses": cnf.len(),
                "literals": cnf.literals(),
                "variables": cnf.variables(),
                "tree_width_bound": tree_width,
                "seconds": seconds,
            }))?;
        } else {
            let (clauses, literals) = (thousands(cnf.len() as u64), thousands(cnf.literals() as u64));
            print(&format!("{clauses} clauses, {literals} literals over {} variables", cnf.variables()))?;
            print(&format!("tree-width at most {tree_width} (min-fill), in {seconds:.2} s"))?;
        }
        Ok(())
    }
}
