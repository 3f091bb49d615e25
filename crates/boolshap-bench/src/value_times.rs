//! `boolshap bench values`: explains a model's scores, for every feature and every class at once, on a network with one
//! hidden layer, compared with evaluating it on the inputs that a sampler would need.

use crate::stream_times::median;
use boolshap::circuit::NamedCircuit;
use boolshap::data::{Bits, Seeded};
use boolshap::explain::{Distribution, Index, Players, Probabilities, ValueGame};
use boolshap::lit::{Watch, thousands};
use boolshap::model::{Gate, Network, NetworkEvaluator, Output, Score};
use boolshap::workflow::{ModelOutput, load_circuit};
use boolshap::{CompileRequest, Model};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const SHAPE: [usize; 3] = [784, 100, 10];
const IMAGES: usize = 20;
/// The number of batches of `IMAGES` images that are each explained in one call.
const BATCHES: usize = 5;
const BACKGROUND: usize = 100;
/// Ones per hundred pixels, as in images of digits.
const INK: usize = 19;

/// Seconds per image by mode.
pub(crate) struct ValueTimes {
    features: usize,
    parts: usize,
    values: usize,
    modes: Vec<(String, f64)>,
    /// Seconds to evaluate the network on one input.
    evaluation: Option<f64>,
    error_bound: f64,
}

impl ValueTimes {
    pub(crate) fn measure(file: Option<&Path>, watch: &Watch<'_>) -> anyhow::Result<Self> {
        let (named, network) = match file {
            Some(path) => (load_circuit(path)?, None),
            None => {
                let model = random_model()?;
                let request = CompileRequest { model_output: ModelOutput::Score, ..CompileRequest::default() };
                (boolshap::compile(&model, &request)?.circuit, Some(model.network))
            }
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        pool.install(|| measured(Arc::new(named), network.as_ref(), watch))
    }

    pub(crate) fn json(&self) -> Value {
        let mode = |(name, seconds): &(String, f64)| json!({"mode": name, "seconds": seconds});
        json!({
            "features": self.features, "parts": self.parts, "values": self.values,
            "modes": self.modes.iter().map(mode).collect::<Vec<_>>(), "evaluation_seconds": self.evaluation,
            "error_bound": self.error_bound,
        })
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![format!(
            "{} features, {} parts, {} scores; one thread: all scores of all features of a row",
            self.features, self.parts, self.values
        )];
        for (name, seconds) in &self.modes {
            lines.push(format!("  {name:<40}{:>10.3} ms", 1e3 * seconds));
        }
        if let Some(evaluation) = self.evaluation {
            let rate = thousands((1.0 / evaluation) as u64);
            lines.push(format!("  the network itself, 64 inputs at a time: {rate} inputs a second"));
            let inputs = self.modes.last().map_or(0.0, |(_, seconds)| seconds / evaluation);
            lines.push(format!("  the last mode takes as long as evaluating {} inputs", thousands(inputs as u64)));
        }
        lines.push(format!("  error bound {:.1e}", self.error_bound));
        lines.join("\n")
    }
}

fn measured(named: Arc<NamedCircuit>, network: Option<&Network>, watch: &Watch<'_>) -> anyhow::Result<ValueTimes> {
    let features = named.features.len();
    let mut random = Seeded::new(3, 0);
    let mut rows = |count: usize| {
        let mut rows = Bits::new(features);
        (0..count).for_each(|_| rows.push(&(0..features).map(|_| random.below(100) < INK).collect::<Vec<_>>()));
        rows
    };
    let (images, background) = (rows(IMAGES * (1 + BATCHES)), rows(BACKGROUND));
    let players = Players::features(&named.features);
    let quiet = &watch.silent();
    let values = named.values.clone().ok_or_else(|| anyhow::anyhow!("the file holds no scores"))?;
    let sums = values.sums().to_vec();
    let (mut modes, mut error_bound) = (Vec::new(), 0f64);
    let uniform = Distribution::Product(Probabilities::uniform(features));
    let background_of = format!("background of {BACKGROUND}");
    for (name, distribution) in [("uniform", uniform), (background_of.as_str(), Distribution::Background(background))] {
        let game = ValueGame::new(named.clone(), players.clone(), &distribution, quiet)?;
        let bounds = sums.iter().map(|sum| game.error_bound(sum, Index::Shapley, false));
        error_bound = bounds.fold(error_bound, f64::max);
        let explain = |chosen: std::ops::Range<usize>| -> anyhow::Result<f64> {
            let start = Instant::now();
            let (count, chosen) = (chosen.len(), images.select(&chosen.collect::<Vec<_>>()));
            game.explain(&chosen, &sums, &|_| 0..sums.len(), vec![0; count], (Index::Shapley, false), quiet)?;
            Ok(start.elapsed().as_secs_f64() / count as f64)
        };
        let first = explain(0..1)?;
        let alone = (1..IMAGES).map(|image| explain(image..image + 1)).collect::<anyhow::Result<Vec<f64>>>()?;
        let together = (1..=BATCHES).map(|batch| explain(batch * IMAGES..(batch + 1) * IMAGES));
        let together = together.collect::<anyhow::Result<Vec<f64>>>()?;
        modes.push((format!("{name}, the first row"), first));
        modes.push((format!("{name}, a row alone"), median(alone)));
        modes.push((format!("{name}, a row of {IMAGES} at once"), median(together)));
    }
    let evaluation = network.map(|network| {
        let mut evaluator = NetworkEvaluator::new(network);
        let block = images.block(0);
        let start = Instant::now();
        let rounds = 200;
        (0..rounds).for_each(|_| drop(std::hint::black_box(evaluator.classes(&block).to_vec())));
        start.elapsed().as_secs_f64() / f64::from(64 * rounds)
    });
    Ok(ValueTimes { features, parts: values.parts().len(), values: sums.len(), modes, evaluation, error_bound })
}

/// A random network with weights +-1.
fn random_model() -> anyhow::Result<Model> {
    let [inputs, hidden, classes] = SHAPE;
    let mut random = Seeded::new(1, 0);
    let mut signs = |count: usize| (0..count).map(|_| 2 * random.below(2) as i128 - 1).collect::<Vec<_>>();
    let gates: Option<Vec<Gate>> = (0..hidden).map(|_| Gate::new(signs(inputs), inputs as i128 / 2)).collect();
    let scores: Option<Vec<Score>> = (0..classes).map(|_| Score::new(signs(hidden), 0)).collect();
    let (gates, scores) = gates.zip(scores).ok_or_else(|| anyhow::anyhow!("weights of 1 are small"))?;
    let network = Network::new(inputs, vec![gates], Output::Argmax(scores))?;
    Ok(Model::new(network, Model::default_features(inputs))?)
}
