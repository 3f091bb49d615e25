//! Verifies that a circuit file is a model: compares everything that came from the model, then proves each class.

use super::free::with_fixed;
use super::verify_scores::verify_scores;
use super::{ClassChoice, Error};
use crate::circuit::{Circuit, NamedCircuit, Node, NodeId, Proof, ProofOf};
use crate::data::{SpareFolder, WholeFile};
use crate::lit::{Digest, Instant, Pieces, Var, Watch};
use crate::model::Model;
use crate::query::{self, Counterexample, Method, Verdict, VerifyOptions};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to verify.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// The only method to use.
    pub method: Option<Method>,
    /// The class that the circuit represents, instead of what the circuit says.
    pub class: Option<ClassChoice>,
    /// Where to keep the solver's checked proof, with the clauses that it refutes beside it in `FILE.cnf`.
    pub proof: Option<PathBuf>,
}

impl VerifyRequest {
    /// The files that are written: the proof and its clauses.
    pub fn outputs(&self) -> Vec<PathBuf> {
        self.proof.iter().flat_map(|proof| [proof.clone(), clauses_of(proof)]).collect()
    }
}

/// Where the clauses of a proof are kept.
fn clauses_of(proof: &Path) -> PathBuf {
    let mut clauses = proof.as_os_str().to_owned();
    clauses.push(".cnf");
    clauses.into()
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Verification {
    /// The classes that were checked; if one differs, it is the last of them.
    pub classes: Vec<usize>,
    /// Their names in the model.
    pub class_names: Vec<String>,
    /// The method that decided the last class.
    pub method: Method,
    /// The methods that decided all of them.
    pub methods: Vec<Method>,
    /// The parts of the file that came from the model and are as in the model.
    pub compared: Vec<&'static str>,
    /// An input on which circuit and network differ.
    pub difference: Option<Difference>,
    /// Methods that had no answer within their limits, and why.
    pub notes: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

/// An input on which circuit and network differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The values by feature name.
    pub entity: Vec<(String, bool)>,
    /// The class that the circuit decides.
    pub class: usize,
    /// Whether the network answers that class.
    pub network: bool,
    /// Whether the circuit answers that class.
    pub circuit: bool,
    /// For scores: that of the network, and that of the file.
    pub scores: Option<[f64; 2]>,
    /// The same in words.
    pub words: String,
}

impl Verification {
    /// The same as one JSON object.
    pub fn json(&self) -> Value {
        let example = self.difference.as_ref().map(|found| {
            let entity: Map<String, Value> =
                found.entity.iter().map(|(name, bit)| (name.clone(), u8::from(*bit).into())).collect();
            let labels = [found.network, found.circuit].map(|label| Value::from(u8::from(label)));
            let [network, circuit] = found.scores.map_or(labels, |scores| scores.map(Value::from));
            json!({"entity": entity, "class": found.class, "network": network, "circuit": circuit})
        });
        json!({
            "equal": self.difference.is_none(), "method": self.method.name(), "counterexample": example,
            "classes": self.classes, "class_names": self.class_names, "compared": self.compared,
            "notes": self.notes, "seconds": self.seconds,
        })
    }

    /// Records in the circuit that it was proved, if all of it was.
    pub fn record(&self, model: &Model, circuit: &mut NamedCircuit) {
        if self.difference.is_none() && (circuit.values.is_some() || self.classes.len() == circuit.roots().len()) {
            circuit.set_proved(&method_names(&self.methods), ProofOf::Model, model.digest());
        }
    }
}

/// The names of these methods, each once.
pub(super) fn method_names(methods: &[Method]) -> String {
    let mut names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    names.sort_unstable();
    names.dedup();
    names.join("+")
}

/// Proves that a circuit is sound and equal to a model, or finds an input on which they differ.
pub fn verify(model: &Model, circuit: &NamedCircuit, request: &VerifyRequest) -> Result<Verification, Error> {
    verify_watched(model, circuit, request, &Watch::unlimited())
}

/// The same with limits of time and memory, a stop request, and progress.
pub fn verify_watched(
    model: &Model,
    circuit: &NamedCircuit,
    request: &VerifyRequest,
    watch: &Watch<'_>,
) -> Result<Verification, Error> {
    let begin = Instant::now();
    let whole = model;
    let smaller = match circuit.facts.fixed.is_empty() {
        true => None,
        false => Some(with_fixed(model, &circuit.facts.fixed)?),
    };
    let model = smaller.as_ref().unwrap_or(model);
    let mut compared = check_same(circuit, model)?;
    if smaller.is_some() {
        compared.push("fixed inputs");
    }
    let classes = if circuit.values.is_some() { Vec::new() } else { classes_of(circuit, model, request)? };
    let kept = kept_proof(request, classes.len())?;
    let options = VerifyOptions {
        method: request.method,
        proof: kept.as_ref().map(|kept| kept.folder.path().join("proof")),
        smooth: circuit.facts.smooth,
        ..VerifyOptions::default()
    };
    let mut found = Verification {
        classes: Vec::new(),
        class_names: Vec::new(),
        method: Method::Exhaustive,
        methods: Vec::new(),
        compared,
        difference: None,
        notes: claim_notes(circuit, whole, &classes),
        seconds: 0.0,
    };
    if circuit.values.is_some() {
        verify_scores(model, circuit, request, &mut found, watch)?;
        found.seconds = begin.elapsed().as_secs_f64();
        return Ok(found);
    }
    verify_classes(model, &classes, &options, &mut found, watch)?;
    if let (Some(kept), None) = (kept, &found.difference) {
        kept.finish()?;
    }
    found.seconds = begin.elapsed().as_secs_f64();
    Ok(found)
}

/// Class by class, up to the first that differs.
fn verify_classes(
    model: &Model,
    classes: &[(usize, Arc<Circuit>)],
    options: &VerifyOptions,
    found: &mut Verification,
    watch: &Watch<'_>,
) -> Result<(), Error> {
    let pieces = Pieces::new(watch, classes.len());
    for (class, label) in classes {
        let verdict = pieces.next(|watch| query::verify(&model.network, *class, label, options, watch))?;
        let Verdict { method, counterexample, passed_over } = verdict;
        let of = if classes.len() > 1 { format!("class {class}: ") } else { String::new() };
        let note = |(method, why): (Method, String)| format!("{of}{} has no answer: {why}", method.name());
        found.notes.extend(passed_over.into_iter().map(note));
        found.method = method;
        found.difference = counterexample.map(|example| difference(model, *class, label, example));
        found.methods.push(method);
        found.classes.push(*class);
        found.class_names.push(model.class_names().swap_remove(*class));
        if found.difference.is_some() {
            break;
        }
    }
    Ok(())
}

/// Proves one class, for a compilation that verifies itself.
pub(super) fn prove(
    model: &Model,
    class: usize,
    circuit: &Circuit,
    smooth: bool,
    watch: &Watch<'_>,
) -> Result<Method, Error> {
    let options = VerifyOptions { smooth, ..VerifyOptions::default() };
    let verdict = query::verify(&model.network, class, circuit, &options, &watch.stage("proving"))?;
    match verdict.counterexample {
        None => Ok(verdict.method),
        Some(Counterexample { entity, .. }) => {
            let bits: String = entity.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
            Err(Error::input(format!("the circuit differs from the network on {bits}: please report this defect")))
        }
    }
}

/// Compares a circuit with the class of every input, if the source is not a network, and records in its facts that they
/// agree. Entry k is the input whose bit j is feature j.
pub fn verify_table(circuit: &mut NamedCircuit, values: &[u8]) -> Result<(), Error> {
    for (number, label) in circuit.labels()?.iter().enumerate() {
        let class = if circuit.classes.is_empty() { circuit.facts.class.unwrap_or(1) } else { number };
        let words = label.truth_table()?;
        if values.len() as u128 != 1 << label.variables() {
            return Err(Error::input(format!("{} inputs have a class, not all of them", values.len())));
        }
        let differs =
            |&input: &usize| (words[input / 64] >> (input % 64) & 1 == 1) != (usize::from(values[input]) == class);
        if let Some(input) = (0..values.len()).find(differs) {
            let bits: String =
                (0..label.variables()).map(|bit| if input >> bit & 1 == 1 { '1' } else { '0' }).collect();
            return Err(Error::input(format!(
                "the circuit differs from its source on {bits}: please report this defect"
            )));
        }
    }
    circuit.set_proved(Method::Exhaustive.name(), ProofOf::Table, Digest::of(values));
    Ok(())
}

/// Checks that the file is about the same things: scores depend on names, binarisation and marginals as much as on the
/// circuit. Returns what was compared; parts that the file does not have cannot mislead.
fn check_same(named: &NamedCircuit, model: &Model) -> Result<Vec<&'static str>, Error> {
    let (own, classes) = (named.classes.len(), model.network.classes());
    if named.features != model.features {
        return Err(Error::input("the features are not those of the model, or in another order"));
    }
    let mut compared = vec!["features"];
    if named.binariser.is_some() {
        if named.binariser != model.binariser {
            return Err(Error::input("raw values become features in another way than the model's"));
        }
        compared.push("schema");
    }
    if named.marginals.is_some() {
        if named.marginals != model.marginals {
            return Err(Error::input("the marginals are not those of the model"));
        }
        compared.push("marginals");
    }
    if own > 0 {
        if own != classes {
            return Err(Error::input(format!("there are circuits for {own} classes, but the model has {classes}")));
        }
        if !model.class_names().iter().eq(named.classes.iter().map(|(name, _)| name)) {
            return Err(Error::input("the classes are not those of the model, or in another order"));
        }
    }
    compared.push("classes");
    if !is_of_a_file(named) {
        let of_model = NamedCircuit::provenance_of(model);
        if let Some((key, value)) = named.provenance.iter().find(|(key, value)| of_model.get(*key) != Some(*value)) {
            let said = match of_model.get(key) {
                Some(other) => format!("and the model {other}"),
                None => "and the model nothing".into(),
            };
            return Err(Error::input(format!("of its origin it says '{key}' {value}, {said}")));
        }
        compared.push("provenance");
    }
    Ok(compared)
}

/// Whether it was made from another program's file: then its provenance holds only the name of that file.
fn is_of_a_file(named: &NamedCircuit) -> bool {
    let route = named.facts.route.as_deref();
    matches!(route, Some("cnf" | "sdd" | "nnf" | "ddnnf")) && named.provenance.keys().eq(["source"])
}

/// Claims of the file about itself that differ from what is proved now.
fn claim_notes(named: &NamedCircuit, model: &Model, classes: &[(usize, Arc<Circuit>)]) -> Vec<String> {
    let mut notes = named.facts.notes();
    let other = |proof: &&Proof| proof.of == ProofOf::Model && proof.source != model.digest();
    if let Some(proof) = named.facts.verified.proof().filter(other) {
        notes.push(format!("the proof that the file claims is of another model, {}", proof.source.short()));
    }
    if let Some(other) = named.facts.model.filter(|&said| said != model.digest()) {
        notes.push(format!("the file says that it was compiled from another model, {}", other.short()));
    }
    if let (Some(said), [(class, _)]) = (named.facts.class, classes)
        && said != *class
    {
        notes.push(format!("the file says that it is class {said}"));
    }
    notes
}

/// The classes to prove with their circuits.
fn classes_of(
    named: &NamedCircuit,
    model: &Model,
    request: &VerifyRequest,
) -> Result<Vec<(usize, Arc<Circuit>)>, Error> {
    let number = |choice: &ClassChoice| choice.number(model.network.classes(), &model.class_names());
    let asked = request.class.as_ref().map(number).transpose()?;
    match (named.classes.is_empty(), asked) {
        (true, class) => Ok(vec![(class.or(named.facts.class).unwrap_or(1), named.label(None)?)]),
        (false, Some(class)) => Ok(vec![(class, named.label(Some(class))?)]),
        (false, None) => Ok(named.labels()?.into_iter().enumerate().collect()),
    }
}

fn difference(model: &Model, class: usize, circuit: &Circuit, found: Counterexample) -> Difference {
    let entity: Vec<(String, bool)> = model.features.iter().cloned().zip(found.entity.iter().copied()).collect();
    let answers = match (model.network.classes(), class) {
        (2, 1) => format!("answers {}, the circuit {}", u8::from(found.network), u8::from(found.circuit)),
        _ => {
            let answer = model.network.classify(&found.entity);
            let name = model.classes.as_ref().and_then(|names| names.get(answer));
            let name = name.map_or(String::new(), |name| format!(" ({name})"));
            let is = if found.circuit { "is" } else { "is not" };
            format!("answers class {answer}{name}, and the circuit says that it {is} class {class}")
        }
    };
    let values: Vec<String> = entity.iter().map(|(name, bit)| format!("{name}={}", u8::from(*bit))).collect();
    let words = format!(
        "for {} the network {answers}{}",
        values.join(", "),
        deciding_path(circuit, &found.entity, &model.features)
    );
    Difference { entity, class, network: found.network, circuit: found.circuit, scores: None, words }
}

/// Where the circuit decides: the path from the root along the children that alone fix the value.
fn deciding_path(circuit: &Circuit, entity: &[bool], names: &[String]) -> String {
    let values = node_values(circuit, entity);
    let mut asked: Vec<String> = Vec::new();
    let mut ask = |var: Var| {
        let said = format!("{}={}", names[var.index()], u8::from(entity[var.index()]));
        if !asked.contains(&said) {
            asked.push(said);
        }
    };
    let mut id: NodeId = circuit.root();
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
            // A true or-gate has a true child, a false and-gate a false one; else all children take part.
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

fn node_values(circuit: &Circuit, entity: &[bool]) -> Vec<bool> {
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
    values
}

/// The solver writes to a temporary folder, and the checked files are copied to their place.
fn kept_proof(request: &VerifyRequest, classes: usize) -> Result<Option<KeptProof>, Error> {
    let Some(path) = &request.proof else { return Ok(None) };
    if !matches!(request.method, None | Some(Method::Sat)) {
        return Err(Error::setting("proof", "is written by the method sat"));
    }
    if path == Path::new("-") {
        return Err(Error::setting("proof", "needs the name of a file: its clauses are written beside it"));
    }
    if classes > 1 {
        return Err(Error::setting("proof", "is for one class: choose one").with_remedy(crate::lit::Remedy::Class));
    }
    KeptProof::begin(path).map(Some)
}

/// A proof and its clauses before they are kept, both or neither.
struct KeptProof {
    folder: SpareFolder,
    /// Their names in the solver's folder, and the files they become.
    files: [(&'static str, PathBuf, WholeFile); 2],
}

impl KeptProof {
    fn begin(proof: &Path) -> Result<Self, Error> {
        let file = |name: &'static str, path: PathBuf| {
            let file = WholeFile::create(&path).map_err(Error::file(&path))?;
            Ok::<_, Error>((name, path, file))
        };
        let files = [file("proof", proof.into())?, file("proof.cnf", clauses_of(proof))?];
        let folder = SpareFolder::new().map_err(Error::file(Path::new("a folder for the solver")))?;
        Ok(KeptProof { folder, files })
    }

    fn finish(self) -> Result<(), Error> {
        for (name, path, mut file) in self.files {
            let mut written = File::open(self.folder.path().join(name)).map_err(Error::file(&path))?;
            std::io::copy(&mut written, &mut file).map_err(Error::file(&path))?;
            file.finish().map_err(Error::file(&path))?;
        }
        Ok(())
    }
}
