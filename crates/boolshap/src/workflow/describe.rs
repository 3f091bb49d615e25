//! What a model or circuit file holds, for people and for programs.

use super::{Error, ModelOrCircuit};
use crate::circuit::{Circuit, NamedCircuit, check};
use crate::lit::{Watch, thousands};
use crate::model::{Model, Output, count_classes};
use dashu::integer::UBig;
use serde_json::{Value, json};

/// Networks are counted over all inputs where that takes about a second at most.
const MAX_STEPS: u64 = 300_000_000;

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// A few lines to read.
    pub text: String,
    /// One object.
    pub json: Value,
}

impl ModelOrCircuit {
    /// What it holds; a circuit is checked for this.
    pub fn describe(&self, watch: &Watch<'_>) -> Result<Description, Error> {
        match self {
            ModelOrCircuit::Model(model) => Ok(describe_model(model)),
            ModelOrCircuit::Circuit(named) => describe_circuit(named, watch),
        }
    }
}

/// What a model holds.
pub fn describe_model(model: &Model) -> Description {
    let counts = count_classes(&model.network, MAX_STEPS);
    let binary_weights = has_binary_weights(model);
    let output = match model.network.output() {
        Output::Step(_) => "one output, label 0 or 1".to_string(),
        Output::Argmax(scores) => format!("{} classes by the largest score", scores.len()),
    };
    let weights = if binary_weights { "weights +-1" } else { "integer weights" };
    let mut text =
        format!("network {}: {weights}, {output}\n", model.network.shape()) + &features_line(&model.features);
    if let Some(binariser) = &model.binariser {
        text += &format!("\nraw rows can be read: {} columns are binarised", binariser.columns().len());
    }
    if let Some(counts) = &counts {
        text += &format!("\nclasses over all {} inputs:", thousands(1 << model.network.inputs()));
        for (class, &count) in counts.iter().enumerate() {
            let name = model.classes.as_ref().map_or(String::new(), |names| format!(" ({})", names[class]));
            text += &format!("\n  class {class}{name}: {}", thousands(count));
        }
    }
    let json = json!({
        "features": model.features,
        "shape": model.network.shape(),
        "classes": model.classes,
        "binary_weights": binary_weights,
        "class_counts": counts,
        "schema": model.binariser,
        "marginals": model.marginals,
        "provenance": model.provenance,
    });
    Description { text, json }
}

fn has_binary_weights(model: &Model) -> bool {
    let unit = |weights: &[i128]| weights.iter().all(|w| w.unsigned_abs() == weights[0].unsigned_abs() && *w != 0);
    model.network.hidden().iter().flatten().all(|gate| gate.is_binary())
        && match model.network.output() {
            Output::Step(gate) => gate.is_binary(),
            Output::Argmax(scores) => scores.iter().all(|score| unit(score.weights())),
        }
}

fn describe_circuit(named: &NamedCircuit, watch: &Watch<'_>) -> Result<Description, Error> {
    let labels = named.labels()?.iter().map(|label| describe_label(label, watch)).collect::<Result<Vec<_>, _>>()?;
    let (mut text, mut json) = match &labels[..] {
        [label] if named.classes.is_empty() => (label.text.clone() + "\n", label.json.clone()),
        _ => (String::new(), json!({"classes": []})),
    };
    for (class, ((name, _), mut label)) in named.classes.iter().zip(labels).enumerate() {
        text += &format!("class {class} ({name}): {}\n", label.text.replace('\n', "\n  "));
        label.json["name"] = json!(name);
        json["classes"].as_array_mut().expect("a list").push(label.json);
    }
    json["features"] = json!(named.features);
    json["schema"] = json!(named.binariser);
    json["marginals"] = json!(named.marginals);
    json["provenance"] = json!(named.all_facts());
    Ok(Description { text: text + &features_line(&named.features), json })
}

fn describe_label(circuit: &Circuit, watch: &Watch<'_>) -> Result<Description, Error> {
    let counts = circuit.counts();
    let decomposable = check::decomposability(circuit).is_ok();
    let smooth = check::smoothness(circuit).is_ok();
    let deterministic = check::determinism(circuit, check::Effort::default(), watch)?.verdict();
    // Counting multiplies and adds, which is only right on a sound circuit.
    let models = (decomposable && deterministic != Some(false)).then(|| circuit.model_count().to_string());
    let not = |value: bool| if value { "" } else { "not " };
    let determinism = match deterministic {
        Some(value) => format!("{}deterministic", not(value)),
        None => "determinism not decided within the limit".into(),
    };
    let counted = match &models {
        Some(models) => format!("true on {models} of {} inputs", UBig::ONE << circuit.variables()),
        None => "not a sound circuit, so its models are not counted".into(),
    };
    let text = format!(
        "circuit of {} nodes and {} edges, fan-in {}\nas a tree: {} nodes\n{determinism}, {}decomposable, {}smooth\n{counted}",
        thousands(counts.nodes as u64),
        thousands(counts.edges as u64),
        counts.fan_in,
        counts.tree_nodes,
        not(decomposable),
        not(smooth),
    );
    // A tree may have more nodes than any number type of JSON readers.
    let tree_nodes = u64::try_from(&counts.tree_nodes).map_or(json!(counts.tree_nodes.to_string()), |n| json!(n));
    let json = json!({
        "nodes": counts.nodes, "edges": counts.edges, "tree_nodes": tree_nodes, "fan_in": counts.fan_in, "models": models,
        "deterministic": deterministic, "decomposable": decomposable, "smooth": smooth,
    });
    Ok(Description { text, json })
}

fn features_line(names: &[String]) -> String {
    match names.len() {
        0..=20 => format!("features: {}", names.join(", ")),
        count => format!("features: {}, ... ({count} in all)", names[..10].join(", ")),
    }
}
