//! What a model or circuit file holds, for people and for programs.

use super::compile_scores::rule_words;
use super::{Error, ModelOrCircuit};
use crate::circuit::{Circuit, NamedCircuit, Part, Values, check};
use crate::lit::thousands;
use crate::model::{AnyModel, Ending, Model, Output, RealModel, count_classes};
use dashu_int::UBig;
use serde_json::{Value, json};

/// The most steps for counting a network's classes over all inputs: about a second.
const MAX_STEPS: u64 = 300_000_000;

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// A few lines to read.
    pub text: String,
    /// One object.
    pub json: Value,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl ModelOrCircuit {
    /// What it holds.
    pub fn describe(&self) -> Result<Description, Error> {
        match self {
            ModelOrCircuit::Model(model) => Ok(describe_model(model)),
            ModelOrCircuit::Real(model) => Ok(describe_real(model)),
            ModelOrCircuit::Circuit(named) => describe_circuit(named),
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
    if let Some(names) = &model.classes {
        text += &format!("\npredictions: {}", numbered(names));
    }
    if let Some(binariser) = &model.binariser {
        text += &format!("\nraw rows can be read: {} columns are binarised", binariser.raw_columns().len());
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
        "digest": model.digest().to_string(),
    });
    text += &format!("\ndigest: {}", model.digest());
    Description { text, json, notes: Vec::new() }
}

/// What a model of either kind holds.
pub fn describe_any(model: &AnyModel) -> Description {
    match model {
        AnyModel::Gates(model) => describe_model(model),
        AnyModel::Real(model) => describe_real(model),
    }
}

fn describe_real(model: &RealModel) -> Description {
    let output = match (model.network.ending(), model.network.outputs()) {
        (Ending::Largest, classes) => format!("{classes} classes by the largest score"),
        (Ending::Number, 1) => "a number, which decides nothing".to_string(),
        (Ending::Number, many) => format!("{many} numbers, which decide nothing"),
        _ => "one output, label 0 or 1".to_string(),
    };
    let mut text =
        format!("network {}: real weights, {output}\n", model.network.shape()) + &features_line(&model.features);
    if let Some(names) = &model.classes {
        text += &format!("\npredictions: {}", numbered(names));
    }
    let json = json!({
        "features": model.features, "shape": model.network.shape(), "classes": model.classes, "real_weights": true,
        "binary_weights": false, "ending": model.network.ending().name(), "provenance": model.provenance,
        "digest": model.digest().to_string(),
    });
    text += &format!("\ndigest: {}", model.digest());
    Description { text, json, notes: Vec::new() }
}

/// The meaning of numbers in words: `0 is 'no', 1 is 'yes'`.
pub fn numbered(names: &[String]) -> String {
    let words: Vec<String> = names.iter().enumerate().map(|(number, name)| format!("{number} is '{name}'")).collect();
    words.join(", ")
}

fn has_binary_weights(model: &Model) -> bool {
    let unit = |weights: &[i128]| weights.iter().all(|w| w.unsigned_abs() == weights[0].unsigned_abs() && *w != 0);
    model.network.hidden().iter().flatten().all(|gate| gate.is_binary())
        && match model.network.output() {
            Output::Step(gate) => gate.is_binary(),
            Output::Argmax(scores) => scores.iter().all(|score| unit(score.weights())),
        }
}

/// What a file of scores holds.
fn describe_scores(named: &NamedCircuit, values: &Values) -> Description {
    let [features, gates, circuits, diagrams] = values.kinds();
    let (nodes, edges, fan_in) = named.graph_size();
    let count = |number: usize, what: &str| match number {
        0 => None,
        1 => Some(format!("1 {what}")),
        many => Some(format!("{} {what}s", thousands(many as u64))),
    };
    let number_nodes: usize =
        values.parts().iter().map(|part| if let Part::Diagram(d) = part { d.nodes().len() } else { 0 }).sum();
    let diagram = format!("diagram{} with numbers at the leaves", if diagrams == 1 { "" } else { "s" });
    let diagram = (diagrams > 0)
        .then(|| format!("{} {diagram} ({} nodes)", thousands(diagrams as u64), thousands(number_nodes as u64)));
    let parts = [count(features, "feature"), count(gates, "gate"), count(circuits, "circuit"), diagram];
    let mut parts = parts.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    if circuits > 0 {
        parts += &format!(" ({} nodes)", thousands(nodes as u64));
    }
    let what = match named.classes.len() {
        0 => "the score before the decision".to_string(),
        classes => format!("the scores of {classes} classes before the decision"),
    };
    let rule = rule_words(values.rule());
    let mut text = format!("{what}: weighted sums of {parts}\n{rule}");
    let names: Vec<String> = named.classes.iter().map(|(name, _)| name.clone()).collect();
    if !names.is_empty() {
        text += &format!("\nclasses: {}", numbered(&names));
    }
    text += &format!("\nverified: {}\n{}", named.facts.verified.words(), features_line(&named.features));
    let notes = named.facts.notes();
    let classes: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let json = json!({
        "model_output": "score", "scores": values.sums().len(), "rule": values.rule().name(),
        "parts": {"features": features, "gates": gates, "circuits": circuits, "diagrams": diagrams, "diagram_nodes": number_nodes},
        "nodes": nodes, "edges": edges, "fan_in": fan_in, "models": null, "tree_nodes": null, "decomposable": true,
        "deterministic": named.facts.undecided.is_empty().then_some(true), "smooth": named.facts.smooth,
        "classes": classes, "features": named.features, "predictions": named.prediction_names(), "schema": named.binariser,
        "marginals": named.marginals, "provenance": named.all_facts(), "verified": named.facts.verified.json(),
        "notes": notes,
    });
    Description { text, json, notes }
}

fn describe_circuit(named: &NamedCircuit) -> Result<Description, Error> {
    if let Some(values) = &named.values {
        return Ok(describe_scores(named, values));
    }
    let each: Vec<LabelFacts> = named.labels()?.iter().map(|label| LabelFacts::of(named, label)).collect();
    let all = LabelFacts::of_all(named, &each);
    let mut json = all.json();
    let mut text = all.text();
    if !named.classes.is_empty() {
        let [nodes, edges] = [all.nodes, all.edges].map(|count| thousands(count as u64));
        text = format!("circuits of {} classes, together {nodes} nodes and {edges} edges", each.len());
        let mut classes = Vec::new();
        for (class, ((name, _), facts)) in named.classes.iter().zip(&each).enumerate() {
            text += &format!("\nclass {class} ({name}): {}", facts.text().replace('\n', "\n  "));
            let mut of_class = facts.json();
            of_class["name"] = json!(name);
            classes.push(of_class);
        }
        json["classes"] = classes.into();
    }
    let names = named.prediction_names();
    if let Some(names) = names.as_ref().filter(|_| named.classes.is_empty()) {
        text += &format!("\npredictions: {}", numbered(names));
    }
    text += &format!("\nverified: {}\n{}", named.facts.verified.words(), features_line(&named.features));
    let notes = named.facts.notes();
    for (key, value) in [
        ("features", json!(named.features)),
        ("predictions", json!(names)),
        ("schema", json!(named.binariser)),
        ("marginals", json!(named.marginals)),
        ("provenance", json!(named.all_facts())),
        ("verified", named.facts.verified.json()),
        ("notes", json!(notes)),
    ] {
        json[key] = value;
    }
    Ok(Description { text, json, notes })
}

/// The facts about a circuit that was read; it is decomposable.
struct LabelFacts {
    nodes: usize,
    edges: usize,
    fan_in: usize,
    tree_nodes: UBig,
    smooth: bool,
    deterministic: Option<bool>,
    /// Not given for several classes together.
    models: Option<String>,
    variables: usize,
}

impl LabelFacts {
    fn of(named: &NamedCircuit, circuit: &Circuit) -> Self {
        let counts = circuit.counts();
        LabelFacts {
            nodes: counts.nodes,
            edges: counts.edges,
            fan_in: counts.fan_in,
            tree_nodes: counts.tree_nodes,
            smooth: check::smoothness(circuit).is_ok(),
            deterministic: named.facts.undecided.is_empty().then_some(true),
            models: Some(circuit.model_count().to_string()),
            variables: circuit.variables(),
        }
    }

    /// For all classes together: literals and constants that they share count once, tree sizes are added up.
    fn of_all(named: &NamedCircuit, each: &[LabelFacts]) -> Self {
        let (nodes, edges, fan_in) = named.graph_size();
        LabelFacts {
            nodes,
            edges,
            fan_in,
            tree_nodes: each.iter().map(|facts| &facts.tree_nodes).sum(),
            smooth: each.iter().all(|facts| facts.smooth),
            deterministic: named.facts.undecided.is_empty().then_some(true),
            models: each.first().filter(|_| named.classes.is_empty()).and_then(|facts| facts.models.clone()),
            variables: named.features.len(),
        }
    }

    fn json(&self) -> Value {
        // A tree may have more nodes than the numbers of JSON readers can hold.
        let tree_nodes = u64::try_from(&self.tree_nodes).map_or(json!(self.tree_nodes.to_string()), |n| json!(n));
        json!({
            "nodes": self.nodes, "edges": self.edges, "tree_nodes": tree_nodes, "fan_in": self.fan_in, "models": self.models,
            "deterministic": self.deterministic, "decomposable": true, "smooth": self.smooth,
        })
    }

    fn text(&self) -> String {
        let [nodes, edges] = [self.nodes, self.edges].map(|count| thousands(count as u64));
        let determinism = match self.deterministic {
            Some(true) => "deterministic",
            _ => "determinism not decided within the limit",
        };
        let models = self.models.as_ref().map_or(String::new(), |models| {
            let if_so = if self.deterministic.is_none() { ", if it is deterministic" } else { "" };
            format!("\ntrue on {models} of {} inputs{if_so}", UBig::ONE << self.variables)
        });
        format!(
            "circuit of {nodes} nodes and {edges} edges, fan-in {}\nas a tree: {} nodes\n\
             {determinism}, decomposable, {}smooth{models}",
            self.fan_in,
            self.tree_nodes,
            if self.smooth { "" } else { "not " },
        )
    }
}

fn features_line(names: &[String]) -> String {
    match names.len() {
        0..=20 => format!("features: {}", names.join(", ")),
        count => format!("features: {}, ... ({count} in all)", names[..10].join(", ")),
    }
}
