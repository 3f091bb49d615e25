//! `boolshap verify`: a proof that a circuit is a network, or an entity on which they part.

use crate::terminal::{note, output_path, print, print_json, seconds, usage, with_timeout};
use anyhow::{Context, bail};
use boolshap::circuit::{Circuit, NamedCircuit, Node, NodeId};
use boolshap::data::{SpareFolder, WholeFile};
use boolshap::lit::{Var, Watch};
use boolshap::model::Model;
use boolshap::query::{Counterexample, Method, Verdict, VerifyOptions, verify};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Prove that a circuit is sound and equal to a network, or show an entity on which they part
///
/// Sound is: decomposable by its structure, deterministic by its structure, by small tables or by a SAT solver, and smooth
/// if it was compiled with --smooth. Equal is
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
        check_same(&named, &model).with_context(place)?;
        let told = named.provenance.get("class").and_then(Value::as_u64).map(|class| class as usize);
        let smooth = named.provenance.get("smooth").and_then(Value::as_bool).unwrap_or(false);
        let classes: Vec<(usize, Circuit)> = match (named.classes.is_empty(), self.class) {
            (true, class) => vec![(class.or(told).unwrap_or(1), named.circuit)],
            (false, Some(class)) => vec![(class, named.class(class).with_context(place)?)],
            (false, None) => {
                (0..named.classes.len()).map(|class| Ok((class, named.class(class)?))).collect::<anyhow::Result<_>>()?
            }
        };
        if self.proof.as_deref().is_some_and(|path| path == Path::new("-")) {
            return usage("--proof needs the name of a file: its clauses are written beside it");
        }
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
            smooth,
            ..VerifyOptions::default()
        };
        let verdicts = with_timeout("verifying", self.timeout, |watch| {
            let mut verdicts = Vec::new();
            for (class, circuit) in &classes {
                let found = verify(&model.network, *class, circuit, &options, watch)?;
                let differs = found.counterexample.is_some();
                verdicts.push((*class, circuit, found));
                if differs {
                    break;
                }
            }
            anyhow::Ok(verdicts)
        });
        let mut verdicts = verdicts.with_context(place)?;
        for (class, _, Verdict { passed_over, .. }) in &verdicts {
            let of = if classes.len() > 1 { format!("class {class}: ") } else { String::new() };
            passed_over.iter().for_each(|(method, why)| note(&format!("{of}{} has no answer: {why}", method.name())));
        }
        let (class, circuit, Verdict { method, counterexample, .. }) = verdicts.pop().context("there is no class")?;
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
                let answers = match (model.network.classes(), class) {
                    (2, 1) => {
                        format!("answers {}, the circuit {}", u8::from(found.network), u8::from(found.circuit))
                    }
                    _ => {
                        let answer = model.network.classify(&found.entity);
                        let name = model.classes.as_ref().and_then(|names| names.get(answer));
                        let name = name.map_or(String::new(), |name| format!(" ({name})"));
                        let is = if found.circuit { "is" } else { "is not" };
                        format!("answers class {answer}{name}, and the circuit says that it {is} class {class}")
                    }
                };
                bail!(
                    "{} is not the network: for {} the network {answers}{}",
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

/// That the file speaks of the same things: scores of raw values rest on the binarisation as much as on the circuit.
fn check_same(named: &NamedCircuit, model: &Model) -> anyhow::Result<()> {
    if named.features != model.features {
        bail!("the features are not those of the model, or stand in another order");
    }
    if named.binariser.is_some() && named.binariser != model.binariser {
        bail!("raw values become features in another way than the model's");
    }
    let (own, classes) = (named.classes.len(), model.network.classes());
    if own > 0 && own != classes {
        bail!("there are circuits for {own} classes, but the model has {classes}");
    }
    if let Some(names) = model.classes.as_ref().filter(|_| own > 0)
        && !names.iter().eq(named.classes.iter().map(|(name, _)| name))
    {
        bail!("the classes are not those of the model, or stand in another order");
    }
    Ok(())
}

/// Where the circuit makes up its mind: the way from the root along whatever decides, as far as one thing alone does.
fn decided(circuit: &Circuit, entity: &[bool], names: &[String]) -> String {
    let mut values: Vec<bool> = Vec::with_capacity(circuit.stored_nodes());
    for (_, node) in circuit.nodes() {
        values.push(match node {
            Node::Constant(value) => value,
            Node::Literal(lit) => lit.holds(entity[lit.var().index()]),
            Node::Decision { var, lo, hi } => values[if entity[var.index()] { hi } else { lo }.index()],
            Node::And(children) => children.iter().all(|child| values[child.index()]),
            Node::Or(children) => children.iter().any(|child| values[child.index()]),
        });
    }
    let mut id: NodeId = circuit.root();
    let mut asked: Vec<String> = Vec::new();
    let mut ask = |var: Var| {
        let said = format!("{}={}", names[var.index()], u8::from(entity[var.index()]));
        if !asked.contains(&said) {
            asked.push(said);
        }
    };
    let at_gate = loop {
        id = match circuit.node(id) {
            Node::Constant(_) => break false,
            Node::Literal(lit) => {
                ask(lit.var());
                break false;
            }
            Node::Decision { var, lo, hi } => {
                ask(var);
                if entity[var.index()] { hi } else { lo }
            }
            // A true or-gate has a true child, a false and-gate a false one; else all children have a part in it.
            Node::Or(children) | Node::And(children) => {
                let alone = matches!(circuit.node(id), Node::Or(_));
                match children.iter().find(|child| values[child.index()] == alone) {
                    Some(child) if values[id.index()] == alone => *child,
                    _ => break true,
                }
            }
        };
    };
    let after = if asked.is_empty() { String::new() } else { format!(" after {}", asked.join(", ")) };
    match (at_gate, asked.is_empty()) {
        (true, _) => format!("; the circuit decides at gate {id}{after}"),
        (false, true) => "; the circuit is constant".into(),
        (false, false) => format!("; the circuit has decided{after}"),
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
pub(crate) fn prove(
    model: &Model,
    class: usize,
    circuit: &Circuit,
    smooth: bool,
    watch: &Watch<'_>,
) -> anyhow::Result<Method> {
    let options = VerifyOptions { smooth, ..VerifyOptions::default() };
    let verdict = verify(&model.network, class, circuit, &options, watch)?;
    match verdict.counterexample {
        None => Ok(verdict.method),
        Some(Counterexample { entity, .. }) => {
            let bits: String = entity.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
            bail!("the circuit is not the network: they part on {bits}; please report this")
        }
    }
}
