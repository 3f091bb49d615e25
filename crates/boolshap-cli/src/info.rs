//! `boolshap info`: what a model or circuit file holds.

use crate::terminal::{print, print_json, thousands, with_progress};
use anyhow::Context;
use boolshap::circuit::{NamedCircuit, check};
use boolshap::model::{Model, Output, count_classes};
use clap::Args;
use dashu::integer::UBig;
use serde_json::json;
use std::path::PathBuf;

/// Networks are counted over all inputs where that takes about a second at most.
const MAX_STEPS: u64 = 300_000_000;

/// Tell what a circuit or model file holds
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
        if NamedCircuit::recognises(&self.file).with_context(|| self.file.display().to_string())? {
            return self.circuit();
        }
        let model = Model::load(&self.file)?;
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

    fn circuit(&self) -> anyhow::Result<()> {
        let named = NamedCircuit::load(&self.file).with_context(|| self.file.display().to_string())?;
        let circuit = &named.circuit;
        let counts = circuit.counts();
        let decomposable = check::decomposability(circuit).is_ok();
        let smooth = check::smoothness(circuit).is_ok();
        let deterministic =
            with_progress("checking", |watch| check::determinism(circuit, check::Effort::default(), watch))?.verdict();
        // Counting multiplies and adds, which is only right on a sound circuit.
        let models = (decomposable && deterministic != Some(false)).then(|| circuit.model_count().to_string());
        // A tree may have more nodes than any number type of JSON readers.
        let tree_nodes = u64::try_from(&counts.tree_nodes).map_or(json!(counts.tree_nodes.to_string()), |n| json!(n));
        if self.json {
            print_json(&json!({
                "features": named.features,
                "nodes": counts.nodes,
                "edges": counts.edges,
                "tree_nodes": tree_nodes,
                "models": models,
                "deterministic": deterministic,
                "decomposable": decomposable,
                "smooth": smooth,
                "fan_in": counts.fan_in,
                "schema": named.binariser,
                "marginals": named.marginals,
                "provenance": named.provenance,
            }))?;
            return Ok(());
        }
        let (nodes, edges) = (thousands(counts.nodes as u64), thousands(counts.edges as u64));
        print(&format!("circuit of {nodes} nodes and {edges} edges, fan-in {}", counts.fan_in))?;
        print(&format!("as a tree: {} nodes", counts.tree_nodes))?;
        let yes = |value: bool| if value { "" } else { "not " };
        let determinism = match deterministic {
            Some(value) => format!("{}deterministic", yes(value)),
            None => "determinism not decided within the limit".into(),
        };
        print(&format!("{determinism}, {}decomposable, {}smooth", yes(decomposable), yes(smooth)))?;
        match models {
            Some(models) => print(&format!("true on {models} of {} inputs", UBig::ONE << circuit.variables()))?,
            None => print("not a sound circuit, so its models are not counted")?,
        }
        print(&format!("features: {}", shorten(&named.features)))?;
        Ok(())
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
