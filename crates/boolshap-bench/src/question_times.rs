//! `boolshap bench questions`: the cost of answers to questions about decisions, on the embedded housing network, and
//! on a network of 20 inputs.

use crate::compile_times::compile;
use crate::stream_times::median;
use crate::{embedded_model, embedded_rows};
use anyhow::Context;
use boolshap::data::Seeded;
use boolshap::diagram::DirectOptions;
use boolshap::explain::Players;
use boolshap::lit::{Watch, thousands};
use boolshap::model::{Gate, Network, Output};
use boolshap::query::{self, Classifier, Entity, ReasonsWanted, Space, Which, Wish};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Each time is the median of this many interleaved rounds.
const ROUNDS: usize = 9;
/// The number of entities for each network.
const ENTITIES: usize = 64;
/// The inputs and hidden neurons of the larger network.
const LARGE: (usize, usize) = (20, 15);

/// Seconds per entity by network and question, and the average number of answers per entity.
pub(crate) struct QuestionTimes {
    times: Vec<(String, &'static str, f64, f64)>,
}

impl QuestionTimes {
    pub(crate) fn measure(watch: &Watch<'_>) -> anyhow::Result<Self> {
        let model = embedded_model()?;
        let (_, rows) = embedded_rows(model.features.len())?;
        let rows = rows.rows();
        let small: Vec<Vec<bool>> = (0..ENTITIES.min(rows.rows())).map(|row| rows.row(row)).collect();
        let mut chance = Seeded::new(20, 0);
        let large: Vec<Vec<bool>> =
            (0..ENTITIES).map(|_| (0..LARGE.0).map(|_| chance.below(2) == 1).collect()).collect();
        let networks = [
            (format!("housing, {} features", model.features.len()), model.network.clone(), small),
            (format!("random, {} features", LARGE.0), random_network(&mut chance)?, large),
        ];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        pool.install(|| {
            let mut times = Vec::new();
            for (name, network, inputs) in &networks {
                let (_, circuit) = compile(network, &DirectOptions::default(), &watch.silent())?;
                let circuit = Arc::new(circuit);
                let features: Vec<String> = (0..network.inputs()).map(|feature| format!("x{feature}")).collect();
                let space = Space::new(Players::features(&features), None)?;
                let classifier = Classifier::new(&[circuit], space, &watch.silent())?;
                let entities = inputs.iter().map(|bits| classifier.entity(bits, "an entity"));
                let entities = entities.collect::<Result<Vec<_>, _>>()?;
                for (question, ask) in QUESTIONS {
                    let (seconds, answers) = time(&classifier, &entities, ask, watch)?;
                    times.push((name.clone(), question, seconds, answers));
                }
            }
            Ok(QuestionTimes { times })
        })
    }

    pub(crate) fn json(&self) -> Value {
        let one = |(network, question, seconds, answers): &(String, &str, f64, f64)| json!({"network": network, "question": question, "seconds": seconds, "answers": answers});
        json!({"entities": ENTITIES, "times": self.times.iter().map(one).collect::<Vec<_>>()})
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![format!("one thread, medians of {ROUNDS} over {ENTITIES} entities: an entity's answers")];
        for (network, question, seconds, answers) in &self.times {
            let answers = thousands(answers.round() as u64);
            lines.push(format!("  {network:<22} {question:<26} {:>12.1} us {answers:>10} answers", 1e6 * seconds));
        }
        lines.join("\n")
    }
}

/// Answers a question and returns the number of answers.
type Asked = fn(&Classifier, &Entity, &Watch<'_>) -> anyhow::Result<usize>;

const QUESTIONS: [(&str, Asked); 6] = [
    ("one sufficient reason", |classifier, entity, watch| {
        Ok(query::sufficient(classifier, entity, &ReasonsWanted::default(), watch)?.sets.len())
    }),
    ("minimum sufficient reason", |classifier, entity, watch| {
        let wanted = ReasonsWanted { which: Which::Smallest(1), ..ReasonsWanted::default() };
        Ok(query::sufficient(classifier, entity, &wanted, watch)?.sets.len())
    }),
    ("all sufficient reasons", |classifier, entity, watch| {
        let wanted = ReasonsWanted { which: Which::All, ..ReasonsWanted::default() };
        Ok(query::sufficient(classifier, entity, &wanted, watch)?.sets.len())
    }),
    ("all contrastive reasons", |classifier, entity, watch| {
        let wanted = ReasonsWanted { which: Which::All, ..ReasonsWanted::default() };
        Ok(query::contrastive(classifier, entity, &wanted, watch)?.sets.len())
    }),
    ("nearest counterfactuals", |classifier, entity, watch| {
        Ok(query::counterfactuals(classifier, entity, &Wish::default(), watch)?.listed.len())
    }),
    ("radius", |classifier, entity, watch| {
        Ok(usize::from(query::robustness(classifier, entity, None, watch)?.radius.is_some()))
    }),
];

fn time(classifier: &Classifier, entities: &[Entity], ask: Asked, watch: &Watch<'_>) -> anyhow::Result<(f64, f64)> {
    let (mut times, mut answers) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        watch.step(round as u64, ROUNDS as u64)?;
        let start = Instant::now();
        answers = 0;
        for entity in entities {
            answers += ask(classifier, entity, &watch.silent())?;
        }
        times.push(start.elapsed().as_secs_f64() / entities.len() as f64);
    }
    Ok((median(times), answers as f64 / entities.len() as f64))
}

fn random_network(chance: &mut Seeded) -> anyhow::Result<Network> {
    let mut gate = |inputs: usize| {
        let weights: Vec<i128> = (0..inputs).map(|_| if chance.below(2) == 0 { 1 } else { -1 }).collect();
        Gate::new(weights, inputs as i128 / 2).context("a gate of a few weights")
    };
    let hidden = (0..LARGE.1).map(|_| gate(LARGE.0)).collect::<Result<Vec<_>, _>>()?;
    let output = gate(LARGE.1)?;
    Ok(Network::new(LARGE.0, vec![hidden], Output::Step(output))?)
}
