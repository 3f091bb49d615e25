//! Estimates what compiling and explaining will take, before they begin.
//!
//! The number of nodes comes from [`diagram::estimate`]; times are measured on this machine for a moment, on the
//! diagram of a part of the label or on the first rows, and multiplied by the nodes that will be visited. Whether a
//! network is compiled in passing depends on the number of nodes alone: a clock never decides a result.

use super::compile::chosen_class;
use super::free::with_fixed;
use super::wait::LONG;
use super::{CompileRequest, Error, Explainer, ModelOutput, Request, Source, Via, is_network_file};
use crate::circuit::{NamedCircuit, lower_obdd};
use crate::data::{Bits, Seeded};
use crate::diagram::{self, DirectOptions, Estimate, Size};
use crate::lit::{Remedy, Stopped, Watch, duration, roughly, thousands};
use crate::model::{AnyModel, Gate, Label, Model, Network, Output};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Duration;

/// The most nodes at which networks are compiled in passing: a second or two.
const IN_PASSING: u64 = 1 << 22;
/// Networks of up to this many inputs are compiled without an outlook, whatever their gates.
const SHORT_INPUTS: usize = 24;
/// A network with more inputs, and with more than `WIDE_GATES` gates that look at over half as many, is far too large.
const WIDE_INPUTS: usize = 48;
const WIDE_GATES: usize = 16;
/// The widths of the first layer at which smaller networks are tried.
const SMALLER: [usize; 5] = [16, 8, 6, 4, 2];

/// The expected cost of a network.
#[derive(Debug, Clone)]
pub struct Outlook {
    /// The number of inputs that matter.
    pub inputs: usize,
    /// The number of neurons in each hidden layer.
    pub neurons: Vec<usize>,
    /// The route that is taken first.
    pub route: &'static str,
    /// The nodes of all classes that are compiled.
    pub size: Size,
    /// How long compiling takes, if that is known.
    pub compile_seconds: Option<f64>,
    /// How long the scores of a row take, all cores at work.
    pub row_seconds: Option<f64>,
    /// How many rows there are to explain: those given, or those of training.
    pub rows: Option<u64>,
    /// A smaller number of neurons and how long it would take, if this network takes long.
    pub smaller: Option<(usize, f64)>,
}

impl Outlook {
    /// How long the rows take to explain.
    pub fn explain_seconds(&self) -> Option<f64> {
        Some(self.row_seconds? * self.rows? as f64)
    }

    /// Whether all of it takes longer than a few seconds, as far as is known.
    pub fn is_long(&self) -> bool {
        let seconds = self.compile_seconds.unwrap_or(f64::INFINITY) + self.explain_seconds().unwrap_or(0.0);
        self.size.nodes().is_none() || seconds > LONG
    }

    /// A line to read.
    pub fn words(&self) -> String {
        let neurons = match &self.neurons[..] {
            [] => "one neuron".into(),
            layers => format!("{} neurons", layers.iter().map(usize::to_string).collect::<Vec<_>>().join("+")),
        };
        let mut text = format!("{} bits, {neurons}, by {}: {}", self.inputs, self.route, size_words(self.size));
        if let Some(seconds) = self.compile_seconds.filter(|_| self.size.nodes().is_some()) {
            text += &format!(" in {}", about(seconds));
        }
        match (self.explain_seconds(), self.rows) {
            (Some(seconds), Some(rows)) => {
                text += &format!(", {} rows in {}", thousands(rows), about(seconds));
            }
            _ => {
                if let Some(seconds) = self.row_seconds {
                    text += &format!(", {} a row", about(seconds));
                }
            }
        }
        if let Some((neurons, seconds)) = self.smaller {
            text += &format!("; {neurons} neurons would take {}", about(seconds));
        }
        text
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let kind = match self.size {
            Size::Exact(_) => "exact",
            Size::About(_) => "about",
            Size::MoreThan(_) => "unknown",
        };
        json!({
            "inputs": self.inputs, "neurons": self.neurons, "route": self.route, "nodes": self.size.nodes(),
            "nodes_are": kind, "compile_seconds": self.compile_seconds, "row_seconds": self.row_seconds,
            "rows": self.rows, "explain_seconds": self.explain_seconds(),
            "smaller": self.smaller.map(|(neurons, seconds)| json!({"neurons": neurons, "seconds": seconds})),
        })
    }

    /// What can be done if it takes long.
    pub fn remedy(&self) -> Remedy {
        Remedy::SmallerNetwork { neurons: self.smaller.map(|(neurons, _)| neurons) }
    }
}

fn about(seconds: f64) -> String {
    if seconds < 0.1 { "less than 0.1 s".into() } else { format!("about {}", duration(seconds)) }
}

fn size_words(size: Size) -> String {
    match size {
        Size::Exact(nodes) => format!("{} nodes", thousands(nodes)),
        Size::About(nodes) => format!("about {} nodes", roughly(nodes)),
        Size::MoreThan(0) => "how many nodes is not known before".into(),
        Size::MoreThan(nodes) => format!("more than {} nodes, how many is not known before", roughly(nodes)),
    }
}

/// The outlook of a source; nothing if it is not a network.
pub fn outlook<'a>(
    source: impl Into<Source<'a>>,
    request: &CompileRequest,
    watch: &Watch<'_>,
) -> Result<Option<Outlook>, Error> {
    if request.model_output == ModelOutput::Score {
        return Err(Error::setting("model_output", "'score' has no estimate: one hidden layer takes a moment"));
    }
    match source.into() {
        Source::Model(model) => outlook_of(left_of(model, request)?.as_ref(), request, watch).map(Some),
        Source::File(path) if is_network_file(path)? => {
            let AnyModel::Gates(model) = AnyModel::load(path)? else { return Ok(None) };
            outlook_of(left_of(&model, request)?.as_ref(), request, watch).map(Some)
        }
        _ => Ok(None),
    }
}

/// The most time for an outlook that was not asked for.
const LONGEST_LOOK: Duration = Duration::from_secs(20);

/// The same, only if it may be long.
pub fn outlook_if_long<'a>(
    source: impl Into<Source<'a>>,
    request: &CompileRequest,
    watch: &Watch<'_>,
) -> Result<Option<Outlook>, Error> {
    let source = source.into();
    let loaded;
    let model = match source {
        Source::Model(model) => model,
        Source::File(path) if is_network_file(path)? => {
            loaded = AnyModel::load(path)?;
            let AnyModel::Gates(model) = &loaded else { return Ok(None) };
            model
        }
        _ => return Ok(None),
    };
    let left = left_of(model, request)?;
    let model = left.as_ref();
    let is_score = request.model_output == ModelOutput::Score;
    if is_score || request.via != Via::Cnf && model.network.inputs() <= SHORT_INPUTS {
        return Ok(None);
    }
    // An outlook that was not asked for must not use up the time for the work.
    let brief = watch.timeout(watch.limit().map_or(LONGEST_LOOK, |(_, limit)| LONGEST_LOOK.min(limit / 10)));
    match outlook_of(model, request, &brief) {
        Err(Error::Diagram(error)) if matches!(error.stopped(), Some(Stopped::OutOfTime { .. })) => Ok(None),
        Err(Error::Stopped(Stopped::OutOfTime { .. })) => Ok(None),
        outlook => Ok(Some(outlook?).filter(Outlook::is_long)),
    }
}

/// The model, or the smaller one if inputs are fixed.
fn left_of<'m>(model: &'m Model, request: &CompileRequest) -> Result<Cow<'m, Model>, Error> {
    match &request.free {
        None => Ok(Cow::Borrowed(model)),
        Some(free) => Ok(Cow::Owned(with_fixed(model, &free.fixed(model)?)?)),
    }
}

fn outlook_of(model: &Model, request: &CompileRequest, watch: &Watch<'_>) -> Result<Outlook, Error> {
    let rows = model.provenance.get("rows").and_then(Value::as_u64);
    let mut outlook = Outlook { rows, ..outlook_of_network(&model.network, model, request, watch)? };
    if outlook.is_long() && request.via != Via::Cnf {
        outlook.smaller = smaller(model, &outlook, request, watch)?;
    }
    Ok(outlook)
}

/// The nodes of the requested classes, and the times that they take.
fn outlook_of_network(
    network: &Network,
    model: &Model,
    request: &CompileRequest,
    watch: &Watch<'_>,
) -> Result<Outlook, Error> {
    let classes = network.classes();
    let chosen = match &request.class {
        None if request.each_of_several && classes > 2 => None,
        class => chosen_class(class.as_ref(), classes, &model.class_names())?,
    };
    let neurons: Vec<usize> = network.hidden().iter().map(Vec::len).collect();
    let inputs = network.inputs();
    let mut outlook = Outlook {
        inputs,
        neurons,
        route: request.via.name(),
        size: Size::Exact(0),
        compile_seconds: Some(0.0),
        row_seconds: Some(0.0),
        rows: None,
        smaller: None,
    };
    if request.via == Via::Cnf {
        // No bound from a formula to an SDD says anything about a single network.
        return Ok(Outlook { size: Size::MoreThan(0), compile_seconds: None, row_seconds: None, ..outlook });
    }
    for class in chosen.map_or(0..classes, |class| class..class + 1) {
        let label = Label::of_class(network, class)?;
        let options = DirectOptions { route: request.via.route(), ..DirectOptions::default() };
        let estimate = diagram::estimate(&label, &options, watch)?;
        outlook.inputs = estimate.inputs;
        outlook.route = estimate.route.name();
        outlook.size = together(outlook.size, estimate.size);
        outlook.compile_seconds = outlook.compile_seconds.zip(estimate.seconds).map(|(all, own)| all + own);
        let row = row_seconds(&estimate, watch)?;
        outlook.row_seconds = outlook.row_seconds.zip(row).map(|(all, own)| all + own);
        // A network that is too large to be compiled in passing is not examined further.
        if request.in_passing && outlook.size.nodes().is_none_or(|nodes| nodes > IN_PASSING) {
            break;
        }
    }
    // With several classes, only the predicted one is explained.
    let explained = chosen.map_or(classes, |_| 1) as f64;
    outlook.row_seconds = outlook.row_seconds.map(|seconds| seconds / explained);
    Ok(outlook)
}

fn together(one: Size, other: Size) -> Size {
    let number = |size: Size| match size {
        Size::Exact(nodes) | Size::About(nodes) | Size::MoreThan(nodes) => nodes,
    };
    let sum = number(one).saturating_add(number(other));
    match (one, other) {
        (Size::MoreThan(_), _) | (_, Size::MoreThan(_)) => Size::MoreThan(sum),
        (Size::About(_), _) | (_, Size::About(_)) => Size::About(sum),
        (Size::Exact(_), Size::Exact(_)) => Size::Exact(sum),
    }
}

/// The time for a row: the rate measured on the sample diagram, times the nodes that will be visited.
fn row_seconds(estimate: &Estimate, watch: &Watch<'_>) -> Result<Option<f64>, Error> {
    let (Some(nodes), Some(sample)) = (estimate.size.nodes(), &estimate.sample) else { return Ok(None) };
    if sample.is_empty() {
        return Ok(Some(0.0));
    }
    let variables = sample.order().len();
    let named = NamedCircuit::unchecked(lower_obdd(sample)?, Model::default_features(variables))?;
    let explainer = Explainer::new(&named, &Request::default())?;
    let Some(visits) = explainer.visits(explainer.ask()) else { return Ok(None) };
    let mut chance = Seeded::new(0, 0xE572);
    let mut rows = Bits::new(variables);
    for _ in 0..256 {
        let row: Vec<bool> = (0..variables).map(|_| chance.below(2) == 1).collect();
        rows.push(&row);
    }
    let seconds = explainer.seconds_a_row(&rows, &watch.silent())?;
    Ok(Some(seconds / visits.max(1) as f64 * nodes as f64 * estimate.inputs as f64))
}

/// The most neurons that would not take long, tried on networks that keep only the first neurons.
fn smaller(
    model: &Model,
    long: &Outlook,
    request: &CompileRequest,
    watch: &Watch<'_>,
) -> Result<Option<(usize, f64)>, Error> {
    let ([layer], Output::Step(last)) = (model.network.hidden(), model.network.output()) else { return Ok(None) };
    for neurons in SMALLER.into_iter().filter(|&neurons| neurons < layer.len()) {
        let weights = last.weights()[..neurons].to_vec();
        let total: u128 = weights.iter().map(|weight| weight.unsigned_abs()).sum();
        // Keep the ratio of threshold and total weight.
        let need = (last.need() * total / last.total().max(1)) as i128;
        let Some(output) = Gate::new(weights, need) else { return Ok(None) };
        let network = Network::new(model.network.inputs(), vec![layer[..neurons].to_vec()], Output::Step(output))?;
        let found = Outlook { rows: long.rows, ..outlook_of_network(&network, model, request, watch)? };
        if !found.is_long() {
            let seconds = found.compile_seconds.unwrap_or(0.0) + found.explain_seconds().unwrap_or(0.0);
            return Ok(Some((neurons, seconds)));
        }
    }
    Ok(None)
}

/// How many inputs a gate looks at.
fn used(gate: &Gate) -> usize {
    gate.weights().iter().filter(|weight| **weight != 0).count()
}

/// Fails unless this network can be compiled in passing, for callers that did not ask for a compilation.
pub(super) fn check_in_passing(model: &Model, request: &CompileRequest, watch: &Watch<'_>) -> Result<(), Error> {
    let too_large = |why: &str| Error::Limit {
        message: format!("this network is too large to be compiled in passing ({why})"),
        remedy: Some(Remedy::CompileFirst),
    };
    // Refuse it at once: an estimate would take longer than explaining.
    let wide = |gates: &Vec<Gate>| gates.iter().filter(|gate| used(gate) > WIDE_INPUTS / 2).count();
    let (inputs, gates) = (model.network.inputs(), model.network.hidden().first().map_or(0, wide));
    if inputs > WIDE_INPUTS && gates > WIDE_GATES {
        return Err(too_large(&format!("{inputs} bits, {gates} neurons in the first layer that look at many of them")));
    }
    let outlook = outlook_of_network(&model.network, model, request, watch)?;
    match outlook.size.nodes() {
        Some(nodes) if nodes <= IN_PASSING => Ok(()),
        _ => Err(too_large(&outlook.words())),
    }
}
