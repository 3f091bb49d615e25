//! `boolshap verify`: a proof that a circuit is a network, or an entity on which they part.

use crate::terminal::{note, output_path, print, print_json, seconds, usage, with_timeout};
use anyhow::{Context, bail};
use boolshap::circuit::{Circuit, NamedCircuit, Node, NodeId};
use boolshap::data::{SpareFolder, WholeFile};
use boolshap::lit::Watch;
use boolshap::model::Model;
use boolshap::query::{Counterexample, Method, Verdict, VerifyOptions, verify};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Prove that a circuit is sound and equal to a network, or show an entity on which they part
///
/// Sound is: decomposable by its structure, deterministic by its structure, by small tables or by a SAT solver. Equal is
/// shown by the first method that has an answer within its limits: all inputs, 64 at a time (up to 30 inputs); a walk over
/// pairs of a diagram's node and the network's partial sums; a SAT solver that looks for a difference.
#[derive(Args)]
pub(crate) struct Verify {
    /// The model
    model: PathBuf,
    /// The circuit
    circuit: PathBuf,
    /// By this method only
    #[arg(long, value_enum)]
    method: Option<MethodName>,
    /// Which class of the network the circuit stands for (as told by the circuit, else 1)
    #[arg(long, value_name = "K")]
    class: Option<usize>,
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

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum MethodName {
    /// All inputs, 64 at a time
    Exhaustive,
    /// A SAT solver looks for a difference
    Sat,
    /// A walk along both, for ordered diagrams
    Walk,
}

impl Verify {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        if self.proof.is_some() && !matches!(self.method, None | Some(MethodName::Sat)) {
            return usage("--proof is written by --method sat");
        }
        let model = Model::load(&self.model)?;
        let place = || self.circuit.display().to_string();
        let named = NamedCircuit::load(&self.circuit).with_context(place)?;
        if named.features != model.features {
            bail!("{}: the features are not those of the model, or stand in another order", place());
        }
        let told = named.provenance.get("class").and_then(Value::as_u64).map(|class| class as usize);
        let classes: Vec<(usize, Circuit)> = match (named.classes.is_empty(), self.class) {
            (true, class) => vec![(class.or(told).unwrap_or(1), named.circuit)],
            (false, Some(class)) => vec![(class, named.class(class).with_context(place)?)],
            (false, None) => {
                (0..named.classes.len()).map(|class| Ok((class, named.class(class)?))).collect::<anyhow::Result<_>>()?
            }
        };
        if self.proof.is_some() && classes.len() > 1 {
            return usage("a proof is of one class: say which with --class");
        }
        // The solver writes elsewhere, and what is checked is copied to its place.
        let kept = self.proof.as_deref().map(KeptProof::begin).transpose()?;
        let options = VerifyOptions {
            method: self.method.map(|method| match method {
                MethodName::Exhaustive => Method::Exhaustive,
                MethodName::Sat => Method::Sat,
                MethodName::Walk => Method::Walk,
            }),
            proof: kept.as_ref().map(|kept| kept.folder.path().join("proof")),
            ..VerifyOptions::default()
        };
        let mut verdict = None;
        for (class, circuit) in &classes {
            let found = with_timeout("verifying", self.timeout, |watch| {
                verify(&model.network, *class, circuit, &options, watch).map_err(anyhow::Error::from)
            })
            .with_context(place)?;
            let differs = found.counterexample.is_some();
            verdict = Some((*class, circuit, found));
            if differs {
                break;
            }
        }
        let (class, circuit, Verdict { method, counterexample, passed_over }) = verdict.context("there is no class")?;
        for (method, reason) in &passed_over {
            note(&format!("{} has no answer: {reason}", method.name()));
        }
        let seconds = start.elapsed().as_secs_f64();
        if let (Some(kept), None) = (kept, &counterexample) {
            kept.finish()?;
        }
        let values = |found: &Counterexample| -> serde_json::Map<String, Value> {
            model.features.iter().cloned().zip(found.entity.iter().map(|&bit| u8::from(bit).into())).collect()
        };
        if self.json {
            let example = counterexample.as_ref().map(|found| {
                let (network, label) = (u8::from(found.network), u8::from(found.circuit));
                json!({"entity": values(found), "class": class, "network": network, "circuit": label})
            });
            print_json(&json!({
                "equal": counterexample.is_none(), "method": method.name(), "counterexample": example, "seconds": seconds,
            }))?;
        }
        match counterexample {
            Some(found) => {
                let entity: Vec<String> = model
                    .features
                    .iter()
                    .zip(&found.entity)
                    .map(|(name, &bit)| format!("{name}={}", u8::from(bit)))
                    .collect();
                let (network, label) = (u8::from(found.network), u8::from(found.circuit));
                bail!(
                    "{} is not the network: for {} the network answers {network}, the circuit {label}{}",
                    place(),
                    entity.join(", "),
                    decided(circuit, &found.entity, &model.features)
                )
            }
            None if self.json => Ok(()),
            None => {
                let proof =
                    self.proof.as_ref().map_or(String::new(), |path| format!("; checked proof: {}", path.display()));
                let what = if classes.len() > 1 {
                    format!("all {} classes are", classes.len())
                } else {
                    "the circuit is".into()
                };
                print(&format!("{what} sound and equal to the network ({}, {seconds:.2} s){proof}", method.name()))?;
                Ok(())
            }
        }
    }
}

/// Where the circuit makes up its mind: the decisions on the way from the root.
fn decided(circuit: &Circuit, entity: &[bool], names: &[String]) -> String {
    let mut id: NodeId = circuit.root();
    let mut asked = Vec::new();
    while let Node::Decision { var, lo, hi } = circuit.node(id) {
        let value = entity[var.index()];
        asked.push(format!("{}={}", names[var.index()], u8::from(value)));
        id = if value { hi } else { lo };
    }
    match (circuit.node(id), asked.is_empty()) {
        (_, true) => String::new(),
        (Node::Constant(_) | Node::Literal(_), false) => {
            format!("; the circuit has decided after {}", asked.join(", "))
        }
        (_, false) => format!("; the circuit goes on at gate {id} after {}", asked.join(", ")),
    }
}

/// A proof and its clauses on their way to where they are kept, both or neither.
struct KeptProof {
    folder: SpareFolder,
    /// What the solver calls them, and the files they become.
    files: [(&'static str, PathBuf, WholeFile); 2],
}

impl KeptProof {
    fn begin(target: &Path) -> anyhow::Result<Self> {
        let proof = output_path(target);
        let mut formula = proof.as_os_str().to_owned();
        formula.push(".cnf");
        let file = |name: &'static str, path: PathBuf| {
            let file = WholeFile::create(&path).with_context(|| path.display().to_string())?;
            anyhow::Ok((name, path, file))
        };
        let files = [file("proof", proof)?, file("proof.cnf", formula.into())?];
        Ok(KeptProof { folder: SpareFolder::new().context("a folder for the solver")?, files })
    }

    fn finish(self) -> anyhow::Result<()> {
        for (name, path, mut file) in self.files {
            let place = || path.display().to_string();
            let mut written = File::open(self.folder.path().join(name)).with_context(place)?;
            std::io::copy(&mut written, &mut file).with_context(place)?;
            file.finish().with_context(place)?;
        }
        Ok(())
    }
}

/// What `compile --verify` and the demo ask for.
pub(crate) fn prove(model: &Model, class: usize, circuit: &Circuit, watch: &Watch<'_>) -> anyhow::Result<Method> {
    let verdict = verify(&model.network, class, circuit, &VerifyOptions::default(), watch)?;
    match verdict.counterexample {
        None => Ok(verdict.method),
        Some(Counterexample { entity, .. }) => {
            let bits: String = entity.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
            bail!("the circuit is not the network: they part on {bits}; please report this")
        }
    }
}
