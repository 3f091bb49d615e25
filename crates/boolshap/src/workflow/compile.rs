//! From a source to a circuit that can be used alone: a network, a formula, another compiler's circuit, a table or trees.
//!
//! Every decision of compiling is made here: which class or classes, which route, what is proved of other programs'
//! files, what the result states about itself. Settings that cannot work for a source are refused before work begins.

use super::free::with_fixed;
use super::outlook::check_in_passing;
use super::resolve::Layout;
use super::stages::Stages;
use super::verify::{method_names, prove};
use super::{ClassChoice, CompileRequest, Error, ErrorKind, ModelOutput, Source, Via, read_source::Loaded};
use crate::circuit::{
    Circuit, CircuitError, NamedCircuit, ProofOf, diagram_together, lower_forest, lower_obdd, lower_sdd, together,
};
use crate::data::{Binariser, Grid, Table};
use crate::diagram::reduce_table;
use crate::diagram::{
    CompileOptions, Compiled, DiagramError, Direct, DirectOptions, Obdd, compile_clauses, compile_direct,
};
use crate::explain::Players;
use crate::formula::Cnf;
use crate::lit::{Digest, Instant, Lit, Pieces, Remedy, Watch, thousands};
use crate::model::{Forest, Label, Model};
use crate::query::Method;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

/// The default limit on the clauses of a network's formula.
pub const MAX_CLAUSES: usize = 1_000_000;
/// The default limit on the nodes of smoothing.
pub const MAX_SMOOTH_NODES: usize = 100_000_000;
/// The default limit on the nodes of a forest.
const MAX_FOREST_NODES: usize = 50_000_000;

/// A circuit, and how it was made.
#[derive(Debug, Clone)]
pub struct Compilation {
    /// The circuit with its names, ready to be explained or saved.
    pub circuit: NamedCircuit,
    /// The route, or the format that was read.
    pub route: &'static str,
    /// What each stage did.
    pub stages: Stages,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Compilation {
    /// Writes the circuit file, completely or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.circuit.save(path.as_ref()).map_err(Error::file(path.as_ref()))
    }

    /// The same as one JSON object. Nodes and edges are those of all classes together: literals and constants that
    /// classes share count once.
    pub fn json(&self) -> Value {
        let (nodes, edges, _) = self.circuit.graph_size();
        let mut summary = json!({
            "route": self.route, "nodes": nodes, "edges": edges, "seconds": self.seconds,
            "stages": self.stages.totals(), "notes": self.notes, "verified": self.circuit.facts.verified.json(),
        });
        if !self.circuit.classes.is_empty() {
            let stages = self.stages.of_classes(self.circuit.classes.len());
            let sizes = self.circuit.class_sizes();
            let classes = self.circuit.classes.iter().zip(sizes).zip(stages).map(|(((name, _), size), mut class)| {
                let facts = [("name", json!(name)), ("nodes", json!(size.0)), ("edges", json!(size.1))];
                class.extend(facts.map(|(key, value)| (key.to_string(), value)));
                class
            });
            summary["classes"] = classes.collect();
        }
        summary
    }
}

/// Compiles a source.
pub fn compile<'a>(source: impl Into<Source<'a>>, request: &CompileRequest) -> Result<Compilation, Error> {
    compile_watched(source, request, &Watch::unlimited())
}

/// The same with limits of time and memory, a stop request, and progress.
pub fn compile_watched<'a>(
    source: impl Into<Source<'a>>,
    request: &CompileRequest,
    watch: &Watch<'_>,
) -> Result<Compilation, Error> {
    let begin = Instant::now();
    let (stages, notes) = (Stages::default(), Vec::new());
    let mut work =
        Work { request, watch, stages, notes, players: None, grown: [0; 2], proved: None, proved_table: None, begin };
    if request.players.is_some() && (request.shape.smooth || request.shape.fan_in_2) {
        return Err(Error::setting("players", "choose an order, which a smooth circuit or one of fan-in 2 has not"));
    }
    let (route, circuit) = match source.into() {
        Source::File(path) => work.of_file(path)?,
        Source::Model(model) => work.of_model(model)?,
        Source::Real(model) => work.of_real(model)?,
        Source::Numbers(source) => work.of_numbers(source)?,
        Source::Table { values, features, classes } => work.of_table(values, features, classes)?,
        Source::Forest { forest, features, classes } => work.of_forest(forest, features, classes)?,
    };
    Ok(work.finish(route, circuit))
}

/// A compilation under way.
pub(super) struct Work<'w> {
    pub(super) request: &'w CompileRequest,
    pub(super) watch: &'w Watch<'w>,
    pub(super) stages: Stages,
    pub(super) notes: Vec<String>,
    /// The players whose features are put side by side, if that was asked for.
    players: Option<Players>,
    /// The nodes of all circuits before and after this reordering.
    grown: [usize; 2],
    /// The methods that proved all classes to be those of a model, and the model's digest.
    pub(super) proved: Option<(String, Digest)>,
    /// The method that compared the numbers of a table, and the table's digest.
    pub(super) proved_table: Option<(&'static str, Digest)>,
    begin: Instant,
}

impl Work<'_> {
    fn finish(mut self, route: &'static str, mut circuit: NamedCircuit) -> Compilation {
        if let Some(note) = self.order_note() {
            circuit.provenance.insert("order".into(), json!(note));
            self.notes.push(note);
        }
        circuit.facts.route = Some(route.into());
        circuit.facts.smooth = self.request.shape.smooth && !circuit.roots().is_empty();
        if let Some((method, model)) = self.proved {
            circuit.set_proved(&method, ProofOf::Model, model);
        }
        if let Some((method, table)) = self.proved_table {
            circuit.set_proved(method, ProofOf::Table, table);
        }
        let seconds = self.begin.elapsed().as_secs_f64();
        Compilation { circuit, route, stages: self.stages, notes: self.notes, seconds }
    }

    fn of_file(&mut self, path: &Path) -> Result<(&'static str, NamedCircuit), Error> {
        let loaded = Loaded::read(path, self)?;
        let request = self.request;
        let features = |variables: usize| match &request.features {
            None => Ok(Model::default_features(variables)),
            Some(names) => checked_names(names, variables),
        };
        let (route, circuit) = match loaded {
            Loaded::Model(model) => return self.of_model(&model),
            Loaded::Real(model) => return self.of_real(&model),
            _ if self.request.free.is_some() => {
                return Err(Error::setting("free", "is for networks: of other sources no input can be fixed"));
            }
            _ if self.request.model_output == ModelOutput::Score => {
                return Err(Error::setting(
                    "model_output",
                    "'score' is for networks: a formula or a circuit has labels only",
                ));
            }
            Loaded::Formula(cnf) => {
                self.order_for(&features(cnf.variables())?, None, None)?;
                ("cnf", self.of_cnf(&cnf)?)
            }
            Loaded::Circuit { format, circuit } => {
                self.order_for(&features(circuit.variables())?, None, None)?;
                let begin = Instant::now();
                (format, self.shaped(&circuit, begin)?)
            }
        };
        let features = features(circuit.variables())?;
        let mut named = NamedCircuit::unchecked(circuit, features)?;
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        named.provenance.insert("source".into(), json!(file));
        Ok((route, named))
    }

    /// Compiles a network with all its inputs, or with those that stay free.
    fn of_model(&mut self, model: &Model) -> Result<(&'static str, NamedCircuit), Error> {
        let Some(free) = &self.request.free else { return self.of_whole_model(model) };
        if self.request.features.is_some() {
            return Err(Error::setting("features", "cannot be renamed where some of them are fixed"));
        }
        let fixed = free.fixed(model)?;
        let smaller = with_fixed(model, &fixed)?;
        if model.binariser.is_some() && smaller.binariser.is_none() {
            self.notes.push("some bits of a column are fixed, so that raw values cannot be read any more".into());
        }
        let (route, mut named) = self.of_whole_model(&smaller)?;
        named.facts.fixed = fixed;
        // The digest and the proof are about the model that was given.
        named.facts.model = Some(model.digest());
        self.proved = self.proved.take().map(|(methods, _)| (methods, model.digest()));
        Ok((route, named))
    }

    fn of_whole_model(&mut self, model: &Model) -> Result<(&'static str, NamedCircuit), Error> {
        let (request, classes) = (self.request, model.network.classes());
        if request.max_clauses.is_some() && request.via != Via::Cnf {
            return Err(Error::setting(
                "max_clauses",
                "is for networks by way of the CNF: no other route has a formula",
            ));
        }
        let inputs = model.network.inputs();
        if let Some(asked) = request.variables.filter(|&asked| asked != inputs) {
            return Err(Error::setting("variables", format!("is {asked}, but the network has {inputs} inputs")));
        }
        let names = request.features.as_ref().unwrap_or(&model.features);
        self.order_for(names, model.binariser.as_ref(), model.grid().map_err(Error::input)?)?;
        if request.model_output == ModelOutput::Score {
            return match self.of_scores(model) {
                Err(error) if error.kind() == ErrorKind::Limit && error.stopped().is_none() && request.or_network => {
                    Ok(("network", NamedCircuit::of_network(model, error.to_string(), true)?))
                }
                made => made,
            };
        }
        let chosen = self.chosen_class(classes, &model.class_names())?;
        if request.in_passing {
            match check_in_passing(model, request, self.watch) {
                Err(Error::Limit { message, .. }) if request.or_network && request.class.is_none() => {
                    return Ok(("network", NamedCircuit::of_network(model, message, false)?));
                }
                checked => checked?,
            }
        }
        let digest = request.verify.then(|| model.digest());
        let renamed = self.renamed(model)?;
        let model = renamed.as_ref().unwrap_or(model);
        let (mut circuits, mut route, mut methods) = (Vec::new(), "", Vec::new());
        let asked = chosen.map_or(0..classes, |class| class..class + 1);
        let pieces = Pieces::new(self.watch, asked.len());
        for class in asked {
            self.stages.class = if chosen.is_none() { class } else { 0 };
            let (by, circuit, method) = pieces.next(|watch| self.of_class(model, class, watch))?;
            route = by;
            circuits.push(circuit);
            methods.extend(method);
        }
        let mut named = match (chosen, circuits.pop()) {
            (Some(_), Some(only)) => NamedCircuit::unchecked(only, model.features.clone())?.with_model(model),
            (_, last) => {
                circuits.extend(last);
                NamedCircuit::unchecked_classes(&circuits, model)?
            }
        };
        named.facts.class = chosen.filter(|_| request.class.is_some());
        named.facts.model = renamed.is_none().then(|| model.digest());
        self.proved = digest.map(|digest| (method_names(&methods), digest));
        Ok((route, named))
    }

    fn chosen_class(&self, classes: usize, names: &[String]) -> Result<Option<usize>, Error> {
        match &self.request.class {
            None if self.request.each_of_several && classes > 2 => Ok(None),
            class => chosen_class(class.as_ref(), classes, names),
        }
    }

    /// The model under the requested names; the binarisation of raw columns is lost with the names of the bits.
    pub(super) fn renamed(&mut self, model: &Model) -> Result<Option<Model>, Error> {
        let Some(names) = self.request.features.as_ref().filter(|names| **names != model.features) else {
            return Ok(None);
        };
        let features = checked_names(names, model.network.inputs())?;
        if model.binariser.is_some() {
            self.notes.push("with other names for the features, raw values cannot be read any more".into());
        }
        Ok(Some(Model { features, binariser: None, ..model.clone() }))
    }

    /// The circuit of one class, the route to it, and the method that proved it.
    fn of_class(
        &mut self,
        model: &Model,
        class: usize,
        watch: &Watch<'_>,
    ) -> Result<(&'static str, Circuit, Option<Method>), Error> {
        let (route, circuit) = match self.request.via {
            Via::Cnf => ("cnf", self.by_formula(model, class)?),
            via => self.directly(model, class, via, watch)?,
        };
        if !self.request.verify {
            return Ok((route, circuit, None));
        }
        let begin = Instant::now();
        let method = prove(model, class, &circuit, self.request.shape.smooth, self.watch)?;
        self.stages.add("verify", begin, json!({"method": method.name()}));
        Ok((route, circuit, Some(method)))
    }

    #[cfg(feature = "sat")]
    pub(super) fn by_formula(&mut self, model: &Model, class: usize) -> Result<Circuit, Error> {
        let begin = Instant::now();
        let max_clauses = self.request.max_clauses.unwrap_or(MAX_CLAUSES);
        let cnf = crate::formula::encode_network(&model.network, class, max_clauses, self.watch)?;
        self.stages.add("cnf", begin, json!({"clauses": cnf.len(), "literals": cnf.literals()}));
        self.of_cnf(&cnf)
    }

    #[cfg(not(feature = "sat"))]
    pub(super) fn by_formula(&mut self, _: &Model, _: usize) -> Result<Circuit, Error> {
        Err(crate::query::QueryError::NoSolver.into())
    }

    /// Compiles a network without an intermediate formula.
    pub(super) fn directly(
        &mut self,
        model: &Model,
        class: usize,
        via: Via,
        watch: &Watch<'_>,
    ) -> Result<(&'static str, Circuit), Error> {
        let begin = Instant::now();
        let label = Label::of_class(&model.network, class)?;
        let mut options = DirectOptions { route: via.route(), ..DirectOptions::default() };
        options.max_nodes = self.request.max_nodes.unwrap_or(options.max_nodes);
        let Direct { diagram, route, reason, orders, abandoned } =
            compile_direct(&label, &options, watch).map_err(|error| on_route(error, via))?;
        let abandoned: Vec<String> = abandoned.iter().map(|(route, error)| format!("{route}: {error}")).collect();
        let chosen = (via == Via::Auto).then(|| format!("route {route}: {reason}"));
        for note in abandoned.iter().map(|why| format!("a route was given up: {why}")).chain(chosen) {
            // Several classes may give the same note.
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let diagram = match &self.players {
            Some(_) => diagram,
            None => self.columns_together(diagram, model, options.max_nodes, watch)?,
        };
        let facts = json!({"nodes": diagram.len(), "orders": orders, "reason": reason, "abandoned": abandoned});
        self.stages.add("diagram", begin, facts);
        let begin = Instant::now();
        let circuit = lower_obdd(&diagram)?;
        drop(diagram);
        Ok((route.name(), self.shaped(&circuit, begin)?))
    }

    /// Steps (b) and (c) of the paper.
    pub(super) fn of_cnf(&mut self, cnf: &Cnf) -> Result<Circuit, Error> {
        let begin = Instant::now();
        let compiled = compile_cnf(cnf, self.request.max_nodes, self.watch)?;
        let (manager, root) = (&compiled.manager, compiled.root);
        let facts = json!({"size": manager.size(root), "decision_nodes": manager.decision_nodes(root)});
        self.stages.add("sdd", begin, facts);
        let begin = Instant::now();
        let circuit = lower_sdd(manager, root, self.request.shape.lowering())?;
        self.shaped(&circuit, begin)
    }

    /// The circuit in the requested form, within the limit on nodes.
    fn shaped(&mut self, circuit: &Circuit, begin: Instant) -> Result<Circuit, Error> {
        let max_nodes = self.request.max_nodes;
        let ordered = self.ordered(circuit)?;
        let circuit = self.request.shape.apply(ordered.as_ref().unwrap_or(circuit), max_nodes, self.watch)?;
        self.stages.add("circuit", begin, json!({"nodes": circuit.graph_size().0}));
        match (circuit.stored_nodes(), max_nodes) {
            (nodes, Some(limit)) if nodes > limit => {
                let message = format!("the circuit has {nodes} nodes, more than the limit of {limit}");
                Err(Error::Limit { message, remedy: Some(Remedy::Nodes) })
            }
            _ => Ok(circuit),
        }
    }

    /// The circuit in an order in which the features of each player are side by side, if that was asked for.
    fn ordered(&mut self, circuit: &Circuit) -> Result<Option<Circuit>, Error> {
        let Some(players) = &self.players else { return Ok(None) };
        let limit = self.request.max_nodes.unwrap_or(MAX_ORDERED_NODES);
        let formula = Cnf::new(circuit.variables());
        let before = circuit.counts().nodes;
        let near = together(&Arc::new(circuit.clone()), &formula, &players.groupings(), limit, self.watch);
        let near = near.map_err(|error| match error {
            CircuitError::Conjoin(DiagramError::TooManyNodes { .. }) => {
                let (before, limit) = (thousands(before as u64), thousands(limit as u64));
                let message = format!(
                    "with the features of each player side by side the circuit of {before} nodes would have more than {limit}"
                );
                Error::Limit { message, remedy: Some(Remedy::Nodes) }
            }
            error => error.into(),
        })?;
        let circuit = Arc::unwrap_or_clone(near.circuit);
        self.grown = [self.grown[0] + before, self.grown[1] + circuit.counts().nodes];
        Ok(Some(circuit))
    }

    /// A note on what the order for players costs.
    fn order_note(&self) -> Option<String> {
        let [before, after] = self.grown.map(|nodes| thousands(nodes as u64));
        let players = self.request.players.as_ref()?.name();
        Some(match self.grown[1].cmp(&self.grown[0]) {
            Ordering::Greater => {
                format!("the order for the players ({players}) takes {after} nodes instead of {before}")
            }
            Ordering::Less => format!("the order for the players ({players}) takes {after} nodes, fewer than {before}"),
            Ordering::Equal => return None,
        })
    }

    /// Makes circuits from now on use these features, in an order for the requested players.
    fn order_for(&mut self, names: &[String], binariser: Option<&Binariser>, grid: Option<Grid>) -> Result<(), Error> {
        let Some(players) = &self.request.players else { return Ok(()) };
        self.players = Some(Layout { names, binariser, grid }.players(players)?);
        Ok(())
    }

    pub(super) fn of_table(
        &mut self,
        values: &[u8],
        features: &[String],
        classes: &[String],
    ) -> Result<(&'static str, NamedCircuit), Error> {
        self.refuse_scores("a table of classes")?;
        self.order_for(features, None, None)?;
        let variables = features.len();
        if variables > 32 || values.len() != 1 << variables {
            let found = values.len();
            return Err(Error::input(format!("a table of {variables} features has 2^{variables} values, not {found}")));
        }
        if let Some(value) = values.iter().find(|&&value| usize::from(value) >= classes.len()) {
            return Err(Error::input(format!("the value {value} is not one of the {} classes", classes.len())));
        }
        let of_class = |work: &mut Self, class: usize| -> Result<Circuit, Error> {
            let begin = Instant::now();
            let bit = |(bit, &value): (usize, &u8)| u64::from(usize::from(value) == class) << bit;
            let word = |chunk: &[u8]| chunk.iter().enumerate().map(bit).fold(0, |word, bit| word | bit);
            let words = values.chunks(64).map(word).collect();
            let diagram = reduce_table(variables, words, usize::MAX, work.watch)?;
            work.shaped(&lower_obdd(&diagram)?, begin)
        };
        let chosen = self.chosen_class(classes.len(), classes)?;
        let asked = chosen.map_or((0..classes.len()).collect(), |class| vec![class]);
        let circuits = asked.iter().map(|&class| of_class(self, class)).collect::<Result<Vec<_>, _>>()?;
        Ok(("truth-table", self.of_arrays(chosen, circuits, features, classes)?))
    }

    fn of_forest(
        &mut self,
        forest: &Forest,
        features: &[String],
        classes: &[String],
    ) -> Result<(&'static str, NamedCircuit), Error> {
        self.refuse_scores("a forest's decision")?;
        self.order_for(features, None, None)?;
        let chosen = self.chosen_class(classes.len(), classes)?;
        let asked = chosen.map_or((0..classes.len()).collect(), |class| vec![class]);
        let max_nodes = self.request.max_nodes.unwrap_or(MAX_FOREST_NODES);
        let mut circuits = lower_forest(forest, &asked, max_nodes, self.watch)?;
        for circuit in &mut circuits {
            if let Some(ordered) = self.ordered(circuit)? {
                *circuit = ordered;
            }
        }
        Ok(("trees", self.of_arrays(chosen, circuits, features, classes)?))
    }

    fn refuse_scores(&self, what: &str) -> Result<(), Error> {
        match self.request.model_output {
            ModelOutput::Label => Ok(()),
            ModelOutput::Score => {
                Err(Error::setting("model_output", format!("'score' is for numbers: this is {what}")))
            }
        }
    }

    /// A circuit of arrays, whose classes have names.
    fn of_arrays(
        &self,
        chosen: Option<usize>,
        circuits: Vec<Circuit>,
        features: &[String],
        classes: &[String],
    ) -> Result<NamedCircuit, Error> {
        match (chosen, &circuits[..]) {
            (Some(class), [only]) => {
                let mut named = NamedCircuit::unchecked(only, features.to_vec())?;
                named.provenance.insert("classes".into(), json!(classes));
                named.facts.class = self.request.class.is_some().then_some(class);
                Ok(named)
            }
            _ => Ok(NamedCircuit::unchecked_join(&circuits, features.to_vec(), classes.to_vec())?),
        }
    }
}

/// The requested class, or the second of two; nothing for each class.
pub(super) fn chosen_class(
    asked: Option<&ClassChoice>,
    classes: usize,
    names: &[String],
) -> Result<Option<usize>, Error> {
    match asked {
        None if classes == 2 => Ok(Some(1)),
        None => Err(Error::input(format!("the network has {classes} classes")).with_remedy(Remedy::Class)),
        Some(ClassChoice::Each) => Ok(None),
        Some(ClassChoice::Predicted) => {
            Err(Error::setting("class", "'predicted' is for explaining, not for compiling"))
        }
        Some(one) => one.number(classes, names).map(Some),
    }
}

/// The error of the only route; a limit names that route.
fn on_route(error: DiagramError, via: Via) -> Error {
    let error = Error::from(error);
    match via.route() {
        Some(route) if error.kind() == ErrorKind::Limit => error.at(format!("the {route} route")),
        _ => error,
    }
}

/// A formula as an SDD.
pub(super) fn compile_cnf(cnf: &Cnf, max_nodes: Option<usize>, watch: &Watch<'_>) -> Result<Compiled, Error> {
    let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
    let mut options = CompileOptions::default();
    options.max_nodes = max_nodes.unwrap_or(options.max_nodes);
    Ok(compile_clauses(cnf.variables(), clauses.iter().map(Vec::as_slice), &options, watch)?)
}

/// Names for this many features, all different.
pub(super) fn checked_names(names: &[String], features: usize) -> Result<Vec<String>, Error> {
    if names.len() != features {
        return Err(Error::setting("features", format!("gives {} names for {features} features", names.len())));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::setting("features", format!("gives the name '{}' twice", pair[0]))),
        None => Ok(names.to_vec()),
    }
}

/// The names in a table's header.
pub fn names_in_header(path: &Path) -> Result<Vec<String>, Error> {
    Ok(Table::open(path)?.columns().to_vec())
}

/// Diagrams up to this many nodes are reordered for columns as players.
const CHEAP_NODES: usize = 1 << 16;
/// The default limit on nodes when reordering for requested players.
const MAX_ORDERED_NODES: usize = 1 << 24;

impl Work<'_> {
    /// The diagram with the bits of each column side by side, as needed for columns as players, if that is quick and
    /// the diagram grows by no more than a tenth; else the diagram unchanged, to be reordered when columns are asked
    /// for.
    fn columns_together(
        &mut self,
        diagram: Obdd,
        model: &Model,
        max_nodes: usize,
        watch: &Watch<'_>,
    ) -> Result<Obdd, Error> {
        let players = Players::columns(&model.features, model.binariser.as_ref());
        if players.len() == model.features.len() || diagram.len() > CHEAP_NODES {
            return Ok(diagram);
        }
        match diagram_together(&diagram, &players.groupings(), 2 * diagram.len() + 64, watch) {
            Ok(Some(moved)) if 10 * moved.len() <= 11 * diagram.len() && moved.len() <= max_nodes => {
                if moved.len() > diagram.len() {
                    let [after, before] = [&moved, &diagram].map(|diagram| thousands(diagram.len() as u64));
                    let note = format!("the order for columns as players takes {after} nodes instead of {before}");
                    self.notes.push(note);
                }
                Ok(moved)
            }
            Ok(_) | Err(DiagramError::TooManyNodes { .. }) => Ok(diagram),
            Err(error) => Err(error.into()),
        }
    }
}
