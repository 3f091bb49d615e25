//! `boolshap info`: what a model or circuit file holds.

use crate::terminal::{print, print_json, thousands, with_progress};
use boolshap::circuit::{Circuit, Counts, NamedCircuit, check};
use boolshap::model::{Model, Output, count_classes};
use boolshap::workflow::ModelOrCircuit;
use clap::Args;
use dashu::integer::UBig;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Networks are counted over all inputs where that takes about a second at most.
const MAX_STEPS: u64 = 300_000_000;

/// Show what a circuit or model file holds
#[derive(Args)]
pub(crate) struct Info {
    /// The circuit or model
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let model = match ModelOrCircuit::load(&self.file)? {
            ModelOrCircuit::Model(model) => model,
            ModelOrCircuit::Circuit(named) => return self.circuit(&named),
        };
        if self.json {
            print_json(&json!({
                "features": model.features,
                "shape": model.network.shape(),
                "classes": model.classes,
                "binary_weights": has_binary_weights(&model),
                "class_counts": count_classes(&model.network, MAX_STEPS),
                "schema": model.binariser,
                "marginals": model.marginals,
                "provenance": model.provenance,
            }))?;
        } else {
            print(&describe(&model))?;
        }
        Ok(())
    }

    fn circuit(&self, named: &NamedCircuit) -> anyhow::Result<()> {
        let origin = [
            ("schema", json!(named.binariser)),
            ("marginals", json!(named.marginals)),
            ("provenance", json!(named.all_facts())),
        ];
        if named.classes.is_empty() {
            let facts = Facts::of(&named.circuit)?;
            if self.json {
                let mut summary = facts.json();
                summary["features"] = json!(named.features);
                origin.into_iter().for_each(|(key, value)| summary[key] = value);
                print_json(&summary)?;
                return Ok(());
            }
            print(&facts.text())?;
        } else {
            let mut classes = Vec::new();
            for (class, (name, _)) in named.classes.iter().enumerate() {
                let facts = Facts::of(&*named.label(Some(class))?)?;
                if self.json {
                    let mut summary = facts.json();
                    summary["name"] = json!(name);
                    classes.push(summary);
                } else {
                    print(&format!("class {class} ({name}): {}", facts.text().replace('\n', "\n  ")))?;
                }
            }
            if self.json {
                let mut summary = json!({"features": named.features, "classes": classes});
                origin.into_iter().for_each(|(key, value)| summary[key] = value);
                print_json(&summary)?;
                return Ok(());
            }
        }
        print(&format!("features: {}", shorten(&named.features)))?;
        Ok(())
    }
}

/// What can be said of a circuit.
struct Facts {
    counts: Counts,
    decomposable: bool,
    smooth: bool,
    deterministic: Option<bool>,
    models: Option<String>,
    variables: usize,
}

impl Facts {
    fn of(circuit: &Circuit) -> anyhow::Result<Self> {
        let decomposable = check::decomposability(circuit).is_ok();
        let deterministic =
            with_progress("checking", |watch| check::determinism(circuit, check::Effort::default(), watch))?.verdict();
        Ok(Facts {
            counts: circuit.counts(),
            decomposable,
            smooth: check::smoothness(circuit).is_ok(),
            deterministic,
            // Counting multiplies and adds, which is only right on a sound circuit.
            models: (decomposable && deterministic != Some(false)).then(|| circuit.model_count().to_string()),
            variables: circuit.variables(),
        })
    }

    fn json(&self) -> Value {
        let counts = &self.counts;
        // A tree may have more nodes than any number type of JSON readers.
        let tree_nodes = u64::try_from(&counts.tree_nodes).map_or(json!(counts.tree_nodes.to_string()), |n| json!(n));
        json!({
            "nodes": counts.nodes,
            "edges": counts.edges,
            "tree_nodes": tree_nodes,
            "models": self.models,
            "deterministic": self.deterministic,
            "decomposable": self.decomposable,
            "smooth": self.smooth,
            "fan_in": counts.fan_in,
        })
    }

    fn text(&self) -> String {
        let counts = &self.counts;
        let (nodes, edges) = (thousands(counts.nodes as u64), thousands(counts.edges as u64));
        let yes = |value: bool| if value { "" } else { "not " };
        let determinism = match self.deterministic {
            Some(value) => format!("{}deterministic", yes(value)),
            None => "determinism not decided within the limit".into(),
        };
        let models = match &self.models {
            Some(models) => format!("true on {models} of {} inputs", UBig::ONE << self.variables),
            None => "not a sound circuit, so its models are not counted".into(),
        };
        let (decomposable, smooth) = (yes(self.decomposable), yes(self.smooth));
        format!(
            "circuit of {nodes} nodes and {edges} edges, fan-in {}\nas a tree: {} nodes\n\
             {determinism}, {decomposable}decomposable, {smooth}smooth\n{models}",
            counts.fan_in, counts.tree_nodes
        )
    }
}

fn has_binary_weights(model: &Model) -> bool {
    let unit = |weights: &[i128]| weights.iter().all(|w| w.unsigned_abs() == weights[0].unsigned_abs() && *w != 0);
    model.network.hidden().iter().flatten().all(|gate| gate.is_binary())
        && match model.network.output() {
            Output::Step(gate) => gate.is_binary(),
            Output::Argmax(scores) => scores.iter().all(|score| unit(score.weights())),
        }
}

/// A few lines about a model.
pub(crate) fn describe(model: &Model) -> String {
    let weights = if has_binary_weights(model) { "weights +-1" } else { "integer weights" };
    let output = match model.network.output() {
        Output::Step(_) => "one output, label 0 or 1".to_string(),
        Output::Argmax(scores) => format!("{} classes by the largest score", scores.len()),
    };
    let mut lines = vec![format!("network {}: {weights}, {output}", model.network.shape())];
    lines.push(format!("features: {}", shorten(&model.features)));
    if let Some(binariser) = &model.binariser {
        lines.push(format!("raw rows can be read: {} columns are binarised", binariser.columns().len()));
    }
    if let Some(counts) = count_classes(&model.network, MAX_STEPS) {
        let all = thousands(1 << model.network.inputs());
        let shares = counts.iter().enumerate().map(|(class, &count)| {
            let name = model.classes.as_ref().map_or(String::new(), |names| format!(" ({})", names[class]));
            format!("\n  class {class}{name}: {}", thousands(count))
        });
        lines.push(format!("classes over all {all} inputs:{}", shares.collect::<String>()));
    }
    lines.join("\n")
}

fn shorten(names: &[String]) -> String {
    match names.len() {
        0..=20 => names.join(", "),
        count => format!("{}, ... ({count} in all)", names[..10].join(", ")),
    }
}
