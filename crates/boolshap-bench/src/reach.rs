//! `boolshap bench reach`: how far each method of explaining goes, network by network and question by question.
//!
//! A question that meets a limit reports which one. Networks come from files, or from random families of commonly
//! published shapes; the image is a ring, drawn at the size of the network, against the empty image.

use crate::stream_times::peak_memory;
use boolshap::data::{Bits, Grid, Seeded};
use boolshap::lit::{Watch, thousands};
use boolshap::model::{Gate, ImportOptions, Model, Network, Output, Score};
use boolshap::workflow::{
    Ask, ClassChoice, CompileRequest, DistributionFrom, Error, Explainer, ModelOutput, PlayersFrom, ReferenceFrom,
    Request, compile_watched, import,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The random families: inputs, hidden layers, classes.
const FAMILIES: [(usize, &[usize], usize); 4] =
    [(64, &[10], 10), (100, &[50], 10), (784, &[100], 10), (784, &[64, 64, 64], 10)];
/// The numbers of regions that each side of an image is split into.
const SIDES: [usize; 3] = [4, 5, 7];

/// One question to one network.
struct Reached {
    network: String,
    question: String,
    seconds: f64,
    mebibytes: Option<u64>,
    /// What was found, or the limit that was met.
    outcome: Result<String, String>,
}

/// The measurements.
pub(crate) struct Reach {
    limit: Duration,
    reached: Vec<Reached>,
}

impl Reach {
    /// Measures these networks, or the random families if none are given, with a time limit for each question.
    pub(crate) fn measure(networks: &[PathBuf], limit: Duration, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let mut models = Vec::new();
        for path in networks {
            let name = path.file_name().map_or("network".into(), |name| name.to_string_lossy().into_owned());
            models.push((name, read(path)?));
        }
        let families: &[_] = if networks.is_empty() { &FAMILIES } else { &[] };
        for &(inputs, hidden, classes) in families {
            let model = Model::new(random(inputs, hidden, classes), Model::default_features(inputs))?;
            models.push((format!("random {}", model.network.shape()), model));
        }
        let mut reach = Reach { limit, reached: Vec::new() };
        for (place, (name, model)) in models.into_iter().enumerate() {
            watch.step(place as u64, (networks.len() + families.len()) as u64)?;
            reach.all(&name, model, watch)?;
        }
        Ok(reach)
    }

    /// Asks one network every question.
    fn all(&mut self, name: &str, model: Model, watch: &Watch<'_>) -> anyhow::Result<()> {
        let class = ClassChoice::Number(model.network.classes().min(2) - 1);
        let side = (model.network.inputs() as f64).sqrt() as usize;
        let model = match side * side == model.network.inputs() {
            true => model.clone().with_grid(Grid { height: side, width: side }).unwrap_or(model),
            false => model,
        };
        self.ask(name, "label of a class, compiled", watch, |watch| {
            let request = CompileRequest { class: Some(class.clone()), ..CompileRequest::default() };
            let compiled = compile_watched(&model, &request, watch)?;
            Ok(format!("{} nodes", thousands(compiled.circuit.graph_size().0 as u64)))
        })?;
        let entity = ring(&model);
        self.ask(name, "scores of all classes, uniform", watch, |watch| {
            let request =
                CompileRequest { model_output: ModelOutput::Score, each_of_several: true, ..CompileRequest::default() };
            let compiled = compile_watched(&model, &request, watch)?;
            let explainer = Explainer::prepare(compiled.circuit.into(), &Request::default(), watch)?;
            explainer.explain(&entity, watch)?;
            Ok("a row".into())
        })?;
        for (regions, output) in
            SIDES.into_iter().flat_map(|side| [(side, ModelOutput::Label), (side, ModelOutput::Score)])
        {
            if side < regions || side * side != model.network.inputs() {
                continue;
            }
            let words = format!("{} of {} regions", output.name(), regions * regions);
            self.ask(name, &words, watch, |watch| self::regions(&model, &entity, regions, output, watch))?;
        }
        self.ask(name, "radius by SAT", watch, |watch| radius(&model, &entity, watch))?;
        Ok(())
    }

    fn ask(
        &mut self,
        network: &str,
        question: &str,
        watch: &Watch<'_>,
        answer: impl FnOnce(&Watch<'_>) -> Result<String, Error>,
    ) -> anyhow::Result<()> {
        forget_peak();
        let begin = Instant::now();
        let outcome = answer(&watch.silent().timeout(self.limit));
        let seconds = begin.elapsed().as_secs_f64();
        watch.check()?;
        self.reached.push(Reached {
            network: network.into(),
            question: question.into(),
            seconds,
            mebibytes: peak_memory().map(|bytes| bytes >> 20),
            outcome: outcome.map_err(|error| error.to_string()),
        });
        Ok(())
    }

    pub(crate) fn json(&self) -> Value {
        let one = |reached: &Reached| {
            json!({
                "network": reached.network, "question": reached.question, "seconds": reached.seconds,
                "mebibytes": reached.mebibytes, "found": reached.outcome.as_ref().ok(), "limit": reached.outcome.as_ref().err(),
            })
        };
        json!({"seconds": self.limit.as_secs_f64(), "reached": self.reached.iter().map(one).collect::<Vec<_>>()})
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![format!("each question for {} seconds at most", self.limit.as_secs_f64())];
        for Reached { network, question, seconds, mebibytes, outcome } in &self.reached {
            let memory = mebibytes.map_or("-".into(), |mebibytes| format!("{mebibytes} MiB"));
            let words = match outcome {
                Ok(found) => found.clone(),
                Err(limit) => format!("no: {limit}"),
            };
            lines.push(format!("  {network:<28} {question:<30} {seconds:>8.2} s {memory:>9}  {words}"));
        }
        lines.join("\n")
    }
}

/// A model file, or another tool's network.
fn read(path: &Path) -> Result<Model, Error> {
    match path.extension().is_some_and(|ending| ending == "json") {
        true => Ok(Model::load(path)?),
        false => Ok(import(path, &ImportOptions::default(), None)?.model.gates()?),
    }
}

/// A dense network with weights +-1, its thresholds in the middle.
fn random(inputs: usize, hidden: &[usize], classes: usize) -> Network {
    let mut chance = Seeded::new(21, inputs as u64);
    let mut signs = |width: usize| -> Vec<i128> { (0..width).map(|_| 2 * chance.below(2) as i128 - 1).collect() };
    let (mut layers, mut width) = (Vec::new(), inputs);
    for &gates in hidden {
        let gate = |_: usize| Gate::new(signs(width), width as i128 / 2).expect("small weights");
        layers.push((0..gates).map(gate).collect());
        width = gates;
    }
    let scores = (0..classes).map(|_| Score::new(signs(width), 0).expect("small weights"));
    Network::new(inputs, layers, Output::Argmax(scores.collect())).expect("widths fit")
}

/// A ring in the middle of an image; without a grid, every other feature.
fn ring(model: &Model) -> Bits {
    let inputs = model.network.inputs();
    let side = (inputs as f64).sqrt() as usize;
    let mut rows = Bits::new(inputs);
    let is_on = |input: usize| {
        if side * side != inputs {
            return input.is_multiple_of(2);
        }
        let middle = (side as f64 - 1.0) / 2.0;
        let (down, across) = ((input / side) as f64 - middle, (input % side) as f64 - middle);
        let radius = (down * down + across * across).sqrt() / side as f64;
        (0.2..0.32).contains(&radius)
    };
    rows.push(&(0..inputs).map(is_on).collect::<Vec<_>>());
    rows
}

/// The attributions of regions against the empty image, without a circuit if the network is too large for one.
fn regions(model: &Model, entity: &Bits, side: usize, output: ModelOutput, watch: &Watch<'_>) -> Result<String, Error> {
    let passing =
        CompileRequest { in_passing: true, or_network: true, each_of_several: true, ..CompileRequest::default() };
    let compiled = compile_watched(model, &CompileRequest { model_output: output, ..passing }, watch)?;
    let request = Request {
        distribution: DistributionFrom::Reference(ReferenceFrom::All(false)),
        players: PlayersFrom::Regions(Grid { height: side, width: side }),
        ..Request::default()
    };
    let explainer = Explainer::prepare(compiled.circuit.into(), &request, watch)?;
    let ask: Ask = explainer.ask();
    let scores = explainer.explain_as(entity, ask, watch)?;
    let moved = scores.scores(0).iter().filter(|score| **score != 0.0).count();
    Ok(format!("{moved} regions contribute, by {}", compiled.route))
}

fn radius(model: &Model, entity: &Bits, watch: &Watch<'_>) -> Result<String, Error> {
    use boolshap::query::{NetworkSolver, Terms};
    let players = (0..model.features.len()).map(|feature| vec![feature]).collect();
    let terms = Terms { players, one_hot: Vec::new(), constraint: Vec::new() };
    let mut solver = NetworkSolver::new(&model.network, None, terms, 200_000, watch)?;
    Ok(match solver.nearest(&entity.row(0))? {
        Some((distance, _)) => format!("{distance} features to change"),
        None => "constant".into(),
    })
}

/// Resets the peak memory, where the system supports it.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
