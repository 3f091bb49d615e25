//! `boolshap compile`: a network, or another compiler's file, as a circuit.

use crate::encode::{MAX_CLAUSES, check_variables, encode_model, the_class};
use crate::terminal::{note, output_path, print, print_json, seconds, thousands, usage, with_timeout};
use crate::verify::prove;
use anyhow::{Context, anyhow, bail};
use boolshap::circuit::check::{self, Determinism};
use boolshap::circuit::{
    Circuit, Lowering, NamedCircuit, fan_in_two, lower_obdd, lower_sdd, lower_sdd_file, paper_form_within, read_d4,
    read_nnf, smooth_within,
};
use boolshap::data::{Table, WholeFile};
use boolshap::diagram::{
    CompileOptions, Compiled, Direct, DirectOptions, Route, SddFile, SddManager, Vtree, compile_clauses, compile_direct,
};
use boolshap::formula::{Cnf, read_dimacs};
use boolshap::lit::{Lit, Watch};
use boolshap::model::{Label, Model};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Compile a network (or a .cnf, .sdd, .nnf or .ddnnf file) into a deterministic decomposable circuit
///
/// With an output that ends in .sdd, the SDD of a network or formula is written instead, with its .vtree beside it.
#[derive(Args)]
pub(crate) struct Compile {
    /// A model, a DIMACS .cnf, a .sdd with its .vtree beside it, a c2d .nnf or a d4 .ddnnf
    source: PathBuf,
    /// Where to write the circuit
    #[arg(short, long, value_name = "CIRCUIT")]
    output: PathBuf,
    /// How to get from a network to a circuit
    #[arg(long, value_enum, default_value = "auto")]
    via: Via,
    /// Compile "the answer is class K", or with `all` a circuit for each class; needed with more than two classes
    #[arg(long, value_name = "K|all")]
    class: Option<Class>,
    /// Take the feature names from the header of this CSV or Parquet file (else the model's, or x1, x2, ...)
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// How many variables there are, where the file does not say (.ddnnf)
    #[arg(long, value_name = "N")]
    variables: Option<usize>,
    #[command(flatten)]
    shape: Shape,
    /// Stop when a formula on the way has more clauses than this (a million unless told)
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

/// Nodes of a smooth circuit, unless told.
pub(crate) const MAX_SMOOTH_NODES: usize = 100_000_000;

/// What to make of a circuit; both together are the paper's dDBCSFi(2).
#[derive(Args)]
pub(crate) struct Shape {
    /// Make every or-gate's children mention the same variables
    #[arg(long)]
    smooth: bool,
    /// Give every gate two children at most
    #[arg(long = "fan-in-2")]
    fan_in_2: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Via {
    /// The direct route that fits the network's shape, and the next one when it meets a limit
    Auto,
    /// The paper's path: CNF, SDD, circuit
    Cnf,
    /// All inputs, evaluated and reduced: any network of up to about 30 inputs
    TruthTable,
    /// The states of the first layer's sums: many inputs, few neurons in the first layer
    PartialSums,
    /// Diagrams of the gates, combined one by one: whatever is left
    Apply,
}

impl Via {
    /// The direct route to force, if it is one.
    fn route(self) -> Option<Route> {
        match self {
            Via::TruthTable => Some(Route::TruthTable),
            Via::PartialSums => Some(Route::PartialSums),
            Via::Apply => Some(Route::Apply),
            Via::Auto | Via::Cnf => None,
        }
    }
}

impl Shape {
    /// The paper counts elements as gates, so a circuit on its way there is not lowered into decisions first.
    fn lowering(&self) -> Lowering {
        if self.smooth && self.fan_in_2 { Lowering::Gates } else { Lowering::Decisions }
    }

    /// Tells a file's readers what they may rely on.
    fn claim(&self, named: &mut NamedCircuit) {
        if self.smooth {
            named.provenance.insert("smooth".into(), true.into());
        }
    }

    /// Smoothing ends at the limit of nodes.
    pub(crate) fn apply(
        &self,
        circuit: Circuit,
        max_nodes: Option<usize>,
        watch: &Watch<'_>,
    ) -> anyhow::Result<Circuit> {
        let max_nodes = max_nodes.unwrap_or(MAX_SMOOTH_NODES);
        Ok(match (self.smooth, self.fan_in_2) {
            (true, true) => paper_form_within(&circuit, max_nodes, watch)?,
            (true, false) => smooth_within(&circuit, max_nodes, watch)?,
            (false, true) => fan_in_two(&circuit)?,
            (false, false) => circuit.compacted()?,
        })
    }
}

/// What each stage did, for the report; with several classes, for one after the other.
#[derive(Default)]
struct Stages {
    done: Vec<(usize, &'static str, Value)>,
    class: usize,
}

impl Stages {
    fn add(&mut self, name: &'static str, start: Instant, mut facts: Value) {
        facts["seconds"] = start.elapsed().as_secs_f64().into();
        self.done.push((self.class, name, facts));
    }

    fn print(&self) -> io::Result<()> {
        let of_several = self.class > 0;
        self.done.iter().try_for_each(|(class, name, facts)| {
            let class = if of_several { format!("class {class}, ") } else { String::new() };
            print(&format!("{class}{name}: {}", facts_text(facts)))
        })
    }

    /// By name, the numbers of several classes added up.
    fn totals(&self) -> Value {
        let mut totals = Map::new();
        for (_, name, facts) in &self.done {
            match totals.get_mut(*name) {
                None => drop(totals.insert((*name).into(), facts.clone())),
                Some(total) => add_up(total, facts),
            }
        }
        totals.into()
    }

    /// By name for each class, if there are several.
    fn of_classes(&self) -> Option<Value> {
        let of = |class: usize| -> Map<String, Value> {
            let own = self.done.iter().filter(|(of, ..)| *of == class);
            own.map(|(_, name, facts)| ((*name).to_string(), facts.clone())).collect()
        };
        (self.class > 0).then(|| (0..=self.class).map(of).collect())
    }
}

/// Adds numbers to those of the same name; of anything else, what all have in common stays.
fn add_up(total: &mut Value, facts: &Value) {
    let Value::Object(total) = total else { return };
    total.retain(|name, value| value.is_number() || *value == facts[name]);
    for (name, value) in total.iter_mut() {
        *value = match (value.as_u64(), facts[name].as_u64()) {
            (Some(a), Some(b)) => (a + b).into(),
            _ => match (value.as_f64(), facts[name].as_f64()) {
                (Some(a), Some(b)) => (a + b).into(),
                _ => continue,
            },
        };
    }
}

/// Which class of a network.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Class {
    All,
    One(usize),
}

impl Class {
    fn one(self) -> Option<usize> {
        match self {
            Class::All => None,
            Class::One(class) => Some(class),
        }
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Class::All),
            _ => text.parse().map(Class::One).map_err(|_| "is neither the number of a class nor 'all'".into()),
        }
    }
}

impl Compile {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let output = output_path(&self.output);
        let place = || output.display().to_string();
        let file = WholeFile::create(&output).with_context(place)?;
        let start = Instant::now();
        let mut stages = Stages::default();
        if self.output.extension().is_some_and(|extension| extension == "sdd") {
            return self.write_sdd(file, &output);
        }
        let (route, named) = with_timeout("compiling", self.timeout, |watch| self.compile(&mut stages, watch))?;
        let seconds = start.elapsed().as_secs_f64();
        let (nodes, edges, _) = named.circuit.graph_size();
        named.write_whole(file).with_context(place)?;
        if self.json {
            let mut told =
                json!({"route": route, "nodes": nodes, "edges": edges, "seconds": seconds, "stages": stages.totals()});
            stages.of_classes().into_iter().for_each(|classes| told["classes"] = classes);
            print_json(&told)?;
        } else {
            stages.print()?;
            let (nodes, edges) = (thousands(nodes as u64), thousands(edges as u64));
            print(&format!("circuit of {nodes} nodes and {edges} edges by way of {route} in {seconds:.2} s"))?;
        }
        Ok(())
    }

    fn compile(&self, stages: &mut Stages, watch: &Watch<'_>) -> anyhow::Result<(&'static str, NamedCircuit)> {
        let extension = self.source.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        let place = || self.source.display().to_string();
        let open = || File::open(&self.source).map(BufReader::new).with_context(place);
        let (route, circuit) = match extension {
            "cnf" | "dimacs" => {
                let begin = Instant::now();
                let cnf = read_dimacs(open()?, &place())?;
                check_variables(&self.source, cnf.variables())?;
                stages.add("cnf", begin, json!({"clauses": cnf.len()}));
                ("cnf", self.of_cnf(&cnf, stages, watch)?)
            }
            "sdd" => ("sdd", self.of_sdd_file(stages, watch)?),
            "nnf" => ("nnf", self.proved(read_nnf(open()?).with_context(place)?, watch)?),
            "ddnnf" => {
                let Some(variables) = self.variables else {
                    return usage("a .ddnnf file does not say how many variables there are: pass --variables");
                };
                check_variables(&self.source, variables)?;
                ("ddnnf", self.proved(read_d4(open()?, variables).with_context(place)?, watch)?)
            }
            _ if NamedCircuit::recognises(&self.source).with_context(place)? => {
                bail!("{} is a circuit already: boolshap convert writes it as .nnf, .ddnnf or .dot", place());
            }
            _ => {
                if self.max_clauses.is_some() && self.via != Via::Cnf {
                    return usage("--max-clauses is for --via cnf: no other route has a formula");
                }
                let mut model = Model::load(&self.source)?;
                let inputs = model.network.inputs();
                if let Some(asked) = self.variables.filter(|&asked| asked != inputs) {
                    return usage(format!("--variables {asked}, but {} has {inputs} inputs", place()));
                }
                if let Some(path) = &self.features {
                    let names = names(path, inputs)?;
                    if names != model.features && model.binariser.take().is_some() {
                        note("with other names for the features, raw values cannot be read any more");
                    }
                    model.features = names;
                }
                let mut verified = None;
                let mut check = |class: usize, circuit: &Circuit, stages: &mut Stages| -> anyhow::Result<()> {
                    if self.verify {
                        let begin = Instant::now();
                        let method = prove(&model, class, circuit, self.shape.smooth, watch)?.name();
                        stages.add("verify", begin, json!({"method": method}));
                        verified = Some(method);
                    }
                    Ok(())
                };
                let (route, mut named) = match self.class {
                    Some(Class::All) => {
                        let (mut circuits, mut route) = (Vec::new(), "");
                        for class in 0..model.network.classes() {
                            stages.class = class;
                            let (by, circuit) = self.of_class(&model, Some(class), stages, watch)?;
                            check(class, &circuit, stages)?;
                            route = by;
                            circuits.push(circuit);
                        }
                        (route, NamedCircuit::of_classes(&circuits, &model)?)
                    }
                    one => {
                        let one = one.and_then(Class::one);
                        let (route, circuit) = self.of_class(&model, one, stages, watch)?;
                        check(the_class(&model, one)?, &circuit, stages)?;
                        (route, NamedCircuit::of_model(circuit, &model)?)
                    }
                };
                if let Some(method) = verified {
                    named.provenance.insert("verified".into(), method.into());
                }
                if let Some(Class::One(class)) = self.class {
                    named.provenance.insert("class".into(), class.into());
                }
                named.provenance.insert("route".into(), route.into());
                self.shape.claim(&mut named);
                return Ok((route, named));
            }
        };
        if self.max_clauses.is_some() {
            return usage(format!("--max-clauses is for networks by way of the CNF: {} is none", place()));
        }
        if self.via != Via::Auto && route != "cnf" {
            return usage(format!("--via is for networks and formulas: {} is a circuit already", place()));
        }
        if let Some(direct) = self.via.route() {
            return usage(format!("--via {direct} is for networks: {} is a formula", place()));
        }
        if self.class.is_some() {
            return usage("--class is for networks");
        }
        if self.verify {
            return usage("--verify compares with a network");
        }
        if let Some(asked) = self.variables.filter(|&asked| asked != circuit.variables()) {
            let told = circuit.variables();
            return usage(format!("--variables {asked}, but {} itself says that there are {told}", place()));
        }
        let circuit = if route == "cnf" { circuit } else { self.shaped(circuit, stages, Instant::now(), watch)? };
        let features = match &self.features {
            Some(path) => names(path, circuit.variables())?,
            None => Model::default_features(circuit.variables()),
        };
        let mut named = NamedCircuit::new(circuit, features)?;
        let source = self.source.file_name().map(|name| name.to_string_lossy().into_owned());
        for (name, value) in [("source", json!(source)), ("route", json!(route))] {
            named.provenance.insert(name.into(), value);
        }
        self.shape.claim(&mut named);
        Ok((route, named))
    }

    /// The circuit of one class of a network.
    fn of_class(
        &self,
        model: &Model,
        class: Option<usize>,
        stages: &mut Stages,
        watch: &Watch<'_>,
    ) -> anyhow::Result<(&'static str, Circuit)> {
        if self.via != Via::Cnf {
            return self.directly(model, class, stages, watch);
        }
        let begin = Instant::now();
        let cnf = encode_model(model, class, self.max_clauses.unwrap_or(MAX_CLAUSES), watch)?;
        stages.add("cnf", begin, json!({"clauses": cnf.len(), "literals": cnf.literals()}));
        Ok(("cnf", self.of_cnf(&cnf, stages, watch)?))
    }

    /// Steps (a) and (b) alone: an SDD and its vtree in libsdd's formats.
    fn write_sdd(&self, mut file: WholeFile, output: &Path) -> anyhow::Result<()> {
        if self.shape.smooth || self.shape.fan_in_2 || self.features.is_some() || self.variables.is_some() {
            return usage("an SDD file has no room for --smooth, --fan-in-2, --features or --variables");
        }
        if self.class == Some(Class::All) {
            return usage("an SDD file has room for one class: say which with --class K");
        }
        if self.verify {
            return usage("--verify compares a circuit with the network, and an SDD file is none");
        }
        if let Some(direct) = self.via.route() {
            return usage(format!("an SDD is made by way of the CNF, not by --via {direct}"));
        }
        let start = Instant::now();
        let vtree_path = output.with_extension("vtree");
        let (place, vtree_place) = (|| output.display().to_string(), || vtree_path.display().to_string());
        let mut vtree_file = WholeFile::create(&vtree_path).with_context(vtree_place)?;
        let mut stages = Stages::default();
        let (nodes, size, Compiled { manager, root }) = with_timeout("compiling", self.timeout, |watch| {
            let begin = Instant::now();
            let cnf = match self.source.extension().and_then(|extension| extension.to_str()) {
                Some("cnf" | "dimacs") if self.class.is_some() => return usage("--class is for networks"),
                Some("cnf" | "dimacs") => {
                    let name = self.source.display().to_string();
                    let cnf = read_dimacs(BufReader::new(File::open(&self.source).context(name.clone())?), &name)?;
                    check_variables(&self.source, cnf.variables())?;
                    cnf
                }
                Some("sdd" | "nnf" | "ddnnf") => {
                    return usage("an SDD is made of a network or a formula, not of a circuit");
                }
                _ => {
                    let class = self.class.and_then(Class::one);
                    encode_model(&Model::load(&self.source)?, class, self.max_clauses.unwrap_or(MAX_CLAUSES), watch)?
                }
            };
            stages.add("cnf", begin, json!({"clauses": cnf.len(), "literals": cnf.literals()}));
            let begin = Instant::now();
            let compiled = compile_cnf(&cnf, self.max_nodes, watch)?;
            let (size, nodes) = (compiled.manager.size(compiled.root), compiled.manager.decision_nodes(compiled.root));
            stages.add("sdd", begin, json!({"size": size, "decision_nodes": nodes}));
            anyhow::Ok((nodes, size, compiled))
        })?;
        vtree_file.write_all(manager.vtree().to_file_text()?.as_bytes()).with_context(vtree_place)?;
        file.write_all(manager.to_file(root).to_file_text(manager.vtree()).as_bytes()).with_context(place)?;
        // Both are written before either gets its name.
        vtree_file.flush().with_context(vtree_place)?;
        file.flush().with_context(place)?;
        vtree_file.finish().with_context(vtree_place)?;
        file.finish().with_context(place)?;
        let seconds = start.elapsed().as_secs_f64();
        if self.json {
            // Of an SDD, its decision nodes and their elements.
            let stages = stages.totals();
            print_json(&json!({"route": "cnf", "nodes": nodes, "edges": size, "seconds": seconds, "stages": stages}))?;
        } else {
            stages.print()?;
        }
        Ok(())
    }

    /// A circuit of another program, after checking what every count and score relies on.
    fn proved(&self, circuit: Circuit, watch: &Watch<'_>) -> anyhow::Result<Circuit> {
        let place = || self.source.display().to_string();
        check_variables(&self.source, circuit.variables())?;
        check::decomposability(&circuit).with_context(place)?;
        match check::determinism(&circuit, check::Effort::default(), watch)? {
            Determinism::Holds => {}
            Determinism::Fails(violation) => return Err(violation).with_context(place),
            Determinism::Undecided { node, variables } => note(&format!(
                "{}: whether or-gate {node} over {variables} variables is deterministic was not decided; if it is not, \
                 counts and scores are wrong",
                place()
            )),
        }
        Ok(circuit)
    }

    /// A network without a formula on the way.
    fn directly(
        &self,
        model: &Model,
        class: Option<usize>,
        stages: &mut Stages,
        watch: &Watch<'_>,
    ) -> anyhow::Result<(&'static str, Circuit)> {
        let begin = Instant::now();
        let label = Label::of_class(&model.network, the_class(model, class)?)?;
        let mut options = DirectOptions { route: self.via.route(), ..DirectOptions::default() };
        options.max_nodes = self.max_nodes.unwrap_or(options.max_nodes);
        let Direct { diagram, route, reason, orders, abandoned } = compile_direct(&label, &options, watch)?;
        for (route, error) in &abandoned {
            note(&format!("route {route} was given up: {error}"));
        }
        if self.via == Via::Auto {
            note(&format!("route {route}: {reason}"));
        }
        let mut facts = json!({"nodes": diagram.len(), "orders": orders});
        if self.json {
            facts["reason"] = reason.into();
            facts["abandoned"] = abandoned.iter().map(|(route, error)| format!("{route}: {error}")).collect();
        }
        stages.add("diagram", begin, facts);
        let begin = Instant::now();
        let circuit = lower_obdd(&diagram)?;
        drop(diagram);
        Ok((route.name(), self.shaped(circuit, stages, begin, watch)?))
    }

    /// Steps (b) and (c) of the paper.
    fn of_cnf(&self, cnf: &Cnf, stages: &mut Stages, watch: &Watch<'_>) -> anyhow::Result<Circuit> {
        let begin = Instant::now();
        let compiled = compile_cnf(cnf, self.max_nodes, watch)?;
        let (manager, root) = (&compiled.manager, compiled.root);
        let facts = json!({"size": manager.size(root), "decision_nodes": manager.decision_nodes(root)});
        stages.add("sdd", begin, facts);
        let begin = Instant::now();
        let circuit = lower_sdd(manager, root, self.shape.lowering())?;
        self.shaped(circuit, stages, begin, watch)
    }

    fn of_sdd_file(&self, stages: &mut Stages, watch: &Watch<'_>) -> anyhow::Result<Circuit> {
        let begin = Instant::now();
        let text = |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
        let vtree_path = self.source.with_extension("vtree");
        let vtree = Vtree::parse(&text(&vtree_path)?).with_context(|| vtree_path.display().to_string())?;
        let file = SddFile::parse(&text(&self.source)?, &vtree).with_context(|| self.source.display().to_string())?;
        // Somebody else's file: that its primes are a partition is proved by building it anew.
        let mut manager = SddManager::new(vtree.clone());
        self.max_nodes.into_iter().for_each(|limit| manager.set_max_nodes(limit));
        manager.load(&file, watch).with_context(|| self.source.display().to_string())?;
        stages.add("sdd", begin, json!({"size": file.size(), "decision_nodes": file.decision_nodes()}));
        Ok(lower_sdd_file(&file, vtree.variables(), self.shape.lowering())?)
    }

    fn shaped(
        &self,
        circuit: Circuit,
        stages: &mut Stages,
        begin: Instant,
        watch: &Watch<'_>,
    ) -> anyhow::Result<Circuit> {
        let circuit = self.shape.apply(circuit, self.max_nodes, watch)?;
        stages.add("circuit", begin, json!({"nodes": circuit.graph_size().0}));
        if let Some(limit) = self.max_nodes.filter(|&limit| circuit.stored_nodes() > limit) {
            let nodes = circuit.stored_nodes();
            return Err(anyhow!("the circuit has {nodes} nodes, more than --max-nodes {limit}: raise the limit"));
        }
        Ok(circuit)
    }
}

/// A formula as an SDD.
pub(crate) fn compile_cnf(cnf: &Cnf, max_nodes: Option<usize>, watch: &Watch<'_>) -> anyhow::Result<Compiled> {
    let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
    let mut options = CompileOptions::default();
    options.max_nodes = max_nodes.unwrap_or(options.max_nodes);
    Ok(compile_clauses(cnf.variables(), clauses.iter().map(Vec::as_slice), &options, watch)?)
}

/// The names in a table's header, which must be as many as there are variables.
fn names(path: &Path, variables: usize) -> anyhow::Result<Vec<String>> {
    let names = Table::open(path)?.columns().to_vec();
    if names.len() != variables {
        bail!("{}: the header has {} columns for {variables} variables", path.display(), names.len());
    }
    Ok(names)
}

fn facts_text(facts: &Value) -> String {
    let number = |value: &Value| match value.as_u64() {
        Some(whole) => thousands(whole),
        None => format!("{:.3}", value.as_f64().unwrap_or(f64::NAN)),
    };
    let object = facts.as_object().into_iter().flatten();
    // The time comes last, whatever the alphabet says.
    let (time, rest): (Vec<_>, Vec<_>) = object.partition(|(name, _)| *name == "seconds");
    let texts = rest.into_iter().chain(time).map(|(name, value)| match name.as_str() {
        "seconds" => format!("{} s", number(value)),
        "size" => format!("size {}", number(value)),
        "method" => value.as_str().unwrap_or_default().to_string(),
        name if value.as_u64() == Some(1) => format!("1 {}", name.trim_end_matches('s').replace('_', " ")),
        name => format!("{} {}", number(value), name.replace('_', " ")),
    });
    texts.collect::<Vec<_>>().join(", ")
}
