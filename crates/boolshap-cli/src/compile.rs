//! `boolshap compile`: a network, or another compiler's file, as a circuit.

use crate::terminal::{
    note, outlook_text, output_path, output_paths, print, print_json, seconds, thousands, usage, with_timeout,
};
use anyhow::Context;
use boolshap::data::WholeFile;
use boolshap::workflow::{
    CompileRequest, FixedRow, FreeInputs, ModelOutput, PlayersFrom, RowOfFile, Shape, Via, compile_sdd,
    compile_watched, names_in_header, outlook, outlook_if_long, source_files,
};
use clap::Args;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Compile a network (or a .cnf, .sdd, .nnf or .ddnnf file) into a deterministic decomposable circuit
///
/// With an output that ends in .sdd, the SDD of a network or formula is written instead, with its .vtree beside it.
#[derive(Args)]
pub(crate) struct Compile {
    /// A model, a DIMACS .cnf, a .sdd with its .vtree beside it, a c2d .nnf or a d4 .ddnnf
    source: PathBuf,
    /// Where to write the circuit
    #[arg(short, long, value_name = "CIRCUIT", required_unless_present = "estimate")]
    output: Option<PathBuf>,
    /// Only estimate the number of nodes of a network's circuit, and the time to compile and explain it
    #[arg(long, conflicts_with = "output")]
    estimate: bool,
    /// How to get from a network to a circuit: auto takes the direct route that fits its shape; cnf is the paper's path;
    /// truth-table evaluates and reduces all inputs (up to about 30); partial-sums follows the states of the first layer's
    /// sums; apply combines diagrams of the gates one by one
    #[arg(long, value_parser = Via::NAMES, default_value = "auto")]
    via: String,
    /// Which output of a network to compile: its label, or its score (the number before the last step or argmax).
    /// Scores are those of all classes unless one is chosen, and need no circuit if there is one hidden layer
    #[arg(long, value_parser = ModelOutput::NAMES, default_value = "label")]
    model_output: String,
    /// Compile "the answer is class K" (a number or a name), or with `all` each class; needed with more than two
    /// classes
    #[arg(long, value_name = "K|all")]
    class: Option<String>,
    /// Keep only these features of a network, and fix all others as in --at
    #[arg(long, value_name = "A,B,...", requires = "at")]
    free: Vec<String>,
    /// The row of a file (1 is the first) that fixes all features but those of --free
    #[arg(long, value_name = "FILE[:ROW]", requires = "free")]
    at: Option<OsString>,
    /// Choose the order of the circuit for these players, so that explaining them need not reorder it: columns, regions:HxW, or a
    /// file with the columns feature,player
    #[arg(long, value_name = "columns|FILE")]
    players: Option<OsString>,
    /// Take the feature names from the header of this CSV or Parquet file (else the model's, or x1, x2, ...)
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// The number of variables, if the file does not state it (.ddnnf)
    #[arg(long, value_name = "N")]
    variables: Option<usize>,
    #[command(flatten)]
    shape: ShapeOptions,
    /// Stop when an intermediate formula has more clauses than this (a million by default)
    #[arg(long, value_name = "N")]
    max_clauses: Option<usize>,
    /// Stop when the diagram has more nodes than this
    #[arg(long, value_name = "N")]
    max_nodes: Option<usize>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Prove that the circuit is sound and equal to the network before it is written
    #[arg(long)]
    verify: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The form of a circuit; both together are the paper's dDBCSFi(2).
#[derive(Args)]
pub(crate) struct ShapeOptions {
    /// Make every or-gate's children mention the same variables
    #[arg(long)]
    smooth: bool,
    /// Give every gate two children at most
    #[arg(long = "fan-in-2")]
    fan_in_2: bool,
}

impl ShapeOptions {
    pub(crate) fn shape(&self) -> Shape {
        Shape { smooth: self.smooth, fan_in_2: self.fan_in_2 }
    }
}

impl Compile {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let request = self.request()?;
        let Some(output) = &self.output else { return self.estimate(&request) };
        let row = self.at.as_deref().map(|at| RowOfFile::parse(at).path);
        let players = match &request.players {
            Some(PlayersFrom::File(path)) => Some(path.clone()),
            _ => None,
        };
        let own = source_files(&self.source).into_iter();
        let inputs: Vec<PathBuf> = own.chain(self.features.clone()).chain(row).chain(players).collect();
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let is_sdd = output.extension().is_some_and(|extension| extension == "sdd");
        let output = output_path(output, &inputs)?;
        let place = || output.display().to_string();
        let file = WholeFile::create(&output).with_context(place)?;
        if is_sdd {
            return self.write_sdd(&request, file, &output, &inputs);
        }
        let source = self.source.as_path();
        let outlook = with_timeout("estimating", self.timeout, |watch| outlook_if_long(source, &request, watch))?;
        outlook.iter().for_each(|outlook| note(&outlook_text(outlook)));
        let compiled = with_timeout("compiling", self.timeout, |watch| compile_watched(source, &request, watch))?;
        compiled.notes.iter().for_each(|text| note(text));
        compiled.circuit.write_whole(file).with_context(place)?;
        if self.json {
            let mut summary = compiled.json();
            summary["estimate"] = outlook.map_or(Value::Null, |outlook| outlook.json());
            print_json(&summary)?;
        } else {
            compiled.stages.lines().iter().try_for_each(|line| print(line))?;
            if let Some(values) = &compiled.circuit.values {
                let (scores, parts) = (values.sums().len(), thousands(values.parts().len() as u64));
                let scores = if scores == 1 {
                    "a score, the weighted sum".into()
                } else {
                    format!("{scores} scores, weighted sums")
                };
                print(&format!("{scores} of {parts} parts in {:.2} s", compiled.seconds))?;
                return Ok(());
            }
            let (nodes, edges, _) = compiled.circuit.graph_size();
            let (nodes, edges) = (thousands(nodes as u64), thousands(edges as u64));
            let (route, seconds) = (compiled.route, compiled.seconds);
            let what = match compiled.circuit.classes.len() {
                0 => "circuit of".to_string(),
                classes => format!("circuits of {classes} classes, together"),
            };
            print(&format!("{what} {nodes} nodes and {edges} edges by way of {route} in {seconds:.2} s"))?;
        }
        Ok(())
    }

    fn request(&self) -> anyhow::Result<CompileRequest> {
        Ok(CompileRequest {
            via: self.via.parse()?,
            model_output: self.model_output.parse()?,
            class: self.class.as_deref().map(str::parse).transpose()?,
            each_of_several: false,
            in_passing: false,
            or_network: false,
            free: self.free_inputs(),
            players: self.players.as_deref().map(PlayersFrom::parse).transpose()?,
            features: self.features.as_deref().map(names_in_header).transpose()?,
            variables: self.variables,
            shape: self.shape.shape(),
            max_clauses: self.max_clauses,
            max_nodes: self.max_nodes,
            verify: self.verify,
        })
    }

    fn free_inputs(&self) -> Option<FreeInputs> {
        let at = FixedRow::File(RowOfFile::parse(self.at.as_deref()?));
        let free = self.free.iter().flat_map(|names| names.split(',')).map(|name| name.trim().to_string()).collect();
        Some(FreeInputs { free, at })
    }

    /// Prints an estimate instead of compiling.
    fn estimate(&self, request: &CompileRequest) -> anyhow::Result<()> {
        let source = self.source.as_path();
        let outlook = with_timeout("estimating", self.timeout, |watch| outlook(source, request, watch))?;
        let Some(outlook) = outlook else {
            return usage(format!("--estimate is for networks, and {} is not one", source.display()));
        };
        if self.json {
            print_json(&outlook.json())?;
        } else {
            print(&outlook_text(&outlook))?;
        }
        Ok(())
    }

    /// An SDD and its vtree in libsdd's formats.
    fn write_sdd(
        &self,
        request: &CompileRequest,
        mut file: WholeFile,
        output: &Path,
        inputs: &[&Path],
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        let [output, vtree_path] = output_paths([output, &output.with_extension("vtree")], inputs)?;
        let (place, vtree_place) = (|| output.display().to_string(), || vtree_path.display().to_string());
        let mut vtree_file = WholeFile::create(&vtree_path).with_context(vtree_place)?;
        let made = with_timeout("compiling", self.timeout, |watch| compile_sdd(&self.source, request, watch))?;
        vtree_file.write_all(made.vtree.as_bytes()).with_context(vtree_place)?;
        file.write_all(made.sdd.as_bytes()).with_context(place)?;
        // Write both files completely before giving either its name.
        vtree_file.flush().with_context(vtree_place)?;
        file.flush().with_context(place)?;
        vtree_file.finish().with_context(vtree_place)?;
        file.finish().with_context(place)?;
        if self.json {
            // The size of an SDD: its decision nodes and their elements.
            let (nodes, edges, stages) = (made.decision_nodes, made.size, made.stages.totals());
            let seconds = start.elapsed().as_secs_f64();
            print_json(&json!({"route": "cnf", "nodes": nodes, "edges": edges, "seconds": seconds, "stages": stages}))?;
        } else {
            made.stages.lines().iter().try_for_each(|line| print(line))?;
        }
        Ok(())
    }
}
