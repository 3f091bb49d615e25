//! `boolshap convert`: a circuit in other programs' formats.

use crate::compile::ShapeOptions;
use crate::terminal::{note, output_path, usage, with_progress};
use anyhow::Context;
use boolshap::circuit::{expand_decisions, write_d4, write_dot, write_nnf};
use boolshap::data::WholeFile;
use boolshap::workflow::load_circuit;
use clap::Args;
use std::path::PathBuf;

/// Write a circuit as c2d NNF, d4 d-DNNF or Graphviz
#[derive(Args)]
pub(crate) struct Convert {
    /// The circuit
    circuit: PathBuf,
    /// Where to write it: the ending .nnf, .ddnnf or .dot selects the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Which class to write, if the file holds several
    #[arg(long, value_name = "K")]
    class: Option<usize>,
    #[command(flatten)]
    shape: ShapeOptions,
}

impl Convert {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let extension = self.output.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if !["nnf", "ddnnf", "dot"].contains(&extension) {
            return usage(format!("{}: the ending of the file must be .nnf, .ddnnf or .dot", self.output.display()));
        }
        let output = output_path(&self.output, &[&self.circuit])?;
        let named = load_circuit(&self.circuit)?;
        named.facts.notes().iter().for_each(|text| note(text));
        let circuit = match (self.class, named.classes.is_empty()) {
            (Some(_), true) => return usage("--class is for files of several classes, and this holds one circuit"),
            (None, false) => return usage("the file holds several classes: choose one with --class"),
            (class, _) => named.label(class).with_context(|| self.circuit.display().to_string())?,
        };
        let place = || output.display().to_string();
        let mut file = WholeFile::create(&output).with_context(place)?;
        let shape = self.shape.shape();
        let circuit = with_progress("converting", |watch| shape.apply(&expand_decisions(&circuit)?, None, watch))?;
        match extension {
            "nnf" => write_nnf(&circuit, &mut file).with_context(place)?,
            "ddnnf" => write_d4(&circuit, &mut file).with_context(place)?,
            _ => write_dot(&circuit, &named.features, &mut file).with_context(place)?,
        }
        file.finish().with_context(place)
    }
}
