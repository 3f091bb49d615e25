//! `boolshap verify`: a proof that a circuit is a network, or an entity on which they differ.

use crate::terminal::{note, output_paths, print, print_json, seconds, with_timeout};
use anyhow::bail;
use boolshap::model::AnyModel;
use boolshap::query::Method;
use boolshap::workflow::{ClassChoice, ErrorKind, VerifyRequest, load_circuit, verify_any};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Prove that a circuit is sound and equal to a network, or show an entity on which they differ
///
/// Sound means decomposable (by structure), deterministic (by structure, by small tables or by a SAT solver), and
/// smooth if it was compiled with --smooth. Equality is shown by the first method that has an answer within its limits:
/// all inputs, 64 at a time (up to 30 inputs); a walk over pairs of a diagram's node and the network's partial sums; a
/// SAT solver that looks for a difference.
#[derive(Args)]
pub(crate) struct Verify {
    /// The model
    model: PathBuf,
    /// The circuit
    circuit: PathBuf,
    /// Use only this method
    #[arg(long, value_parser = ["exhaustive", "sat", "walk"])]
    method: Option<String>,
    /// Which class of the network the circuit represents (by default what the circuit says, else 1)
    #[arg(long, value_name = "K")]
    class: Option<ClassChoice>,
    /// Keep the solver's proof (LRAT), checked, with the clauses that it refutes in FILE.cnf; implies --method sat
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let method = self.method.as_deref().map(str::parse::<Method>).transpose().map_err(anyhow::Error::msg)?;
        let request = VerifyRequest { method, class: self.class.clone(), proof: self.proof.clone() };
        // A proof is always written to a file, never to standard output.
        if let ([proof, clauses], false) = (&request.outputs()[..], self.proof == Some("-".into())) {
            output_paths([proof, clauses], &[&self.model, &self.circuit])?;
        }
        let (model, circuit) = (AnyModel::load(&self.model)?, load_circuit(&self.circuit)?);
        let found = with_timeout("verifying", self.timeout, |watch| verify_any(&model, &circuit, &request, watch))
            .map_err(|error| if error.kind() == ErrorKind::Request { error } else { error.in_file(&self.circuit) })?;
        found.notes.iter().for_each(|text| note(text));
        if self.json {
            print_json(&found.json())?;
        }
        if let Some(difference) = &found.difference {
            bail!("{} is not the network: {}", self.circuit.display(), difference.words);
        }
        if !self.json {
            let proof =
                self.proof.as_ref().map_or(String::new(), |path| format!("; checked proof: {}", path.display()));
            let what = match (&found.classes[..], &found.class_names[..]) {
                ([class], [name]) => match *name == class.to_string() {
                    true => format!("class {class}: the circuit is"),
                    false => format!("class {class} ({name}): the circuit is"),
                },
                (classes, _) => format!("all {} classes are", classes.len()),
            };
            let (method, seconds) = (found.method.name(), found.seconds);
            print(&format!("{what} sound and equal to the network ({method}, {seconds:.2} s){proof}"))?;
            print(&format!("as in the model: {}", found.compared.join(", ")))?;
        }
        Ok(())
    }
}
