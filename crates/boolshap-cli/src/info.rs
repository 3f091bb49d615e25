//! `boolshap info`: what a model or circuit file holds.

use crate::terminal::{note, print, print_json, thousands};
use boolshap::circuit::{Circuit, NamedCircuit, check};
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
        let each: Vec<Facts> = named.labels()?.iter().map(|label| Facts::of(named, label)).collect();
        let all = Facts::of_all(named, &each);
        let classes: Vec<(&String, &Facts)> = named.classes.iter().map(|(name, _)| name).zip(&each).collect();
        if self.json {
            let mut summary = all.json();
            if !classes.is_empty() {
                let class = |(name, facts): &(&String, &Facts)| {
                    let mut summary = facts.json();
                    summary["name"] = json!(name);
                    summary
                };
                summary["classes"] = classes.iter().map(class).collect();
            }
            for (key, value) in [
                ("features", json!(named.features)),
                ("schema", json!(named.binariser)),
                ("marginals", json!(named.marginals)),
                ("provenance", json!(named.all_facts())),
                ("verified", named.facts.verified.json()),
                ("notes", json!(named.facts.notes())),
            ] {
                summary[key] = value;
            }
            print_json(&summary)?;
            return Ok(());
        }
        named.facts.notes().iter().for_each(|text| note(text));
        if classes.is_empty() {
            print(&all.text())?;
        } else {
            let (nodes, edges) = (thousands(all.size.0 as u64), thousands(all.size.1 as u64));
            print(&format!("circuits of {} classes, together {nodes} nodes and {edges} edges", classes.len()))?;
        }
        for (class, (name, facts)) in classes.iter().enumerate() {
            print(&format!("class {class} ({name}): {}", facts.text().replace('\n', "\n  ")))?;
        }
        print(&format!("verified: {}", named.facts.verified.words()))?;
        print(&format!("features: {}", shorten(&named.features)))?;
        Ok(())
    }
}

/// What can be said of a circuit that was read: it is decomposable.
struct Facts {
    /// Nodes, edges and fan-in.
    size: (usize, usize, usize),
    tree_nodes: UBig,
    smooth: bool,
    deterministic: Option<bool>,
    /// Not of several classes together.
    models: Option<String>,
    variables: usize,
}

impl Facts {
    fn of(named: &NamedCircuit, circuit: &Circuit) -> Self {
        let counts = circuit.counts();
        Facts {
            size: (counts.nodes, counts.edges, counts.fan_in),
            tree_nodes: counts.tree_nodes,
            smooth: check::smoothness(circuit).is_ok(),
            deterministic: named.facts.undecided.is_empty().then_some(true),
            models: Some(circuit.model_count().to_string()),
            variables: circuit.variables(),
        }
    }

    /// Of all classes together: literals and constants that they share count once, trees are added up.
    fn of_all(named: &NamedCircuit, each: &[Facts]) -> Self {
        Facts {
            size: named.graph_size(),
            tree_nodes: each.iter().map(|facts| &facts.tree_nodes).sum(),
            smooth: each.iter().all(|facts| facts.smooth),
            deterministic: named.facts.undecided.is_empty().then_some(true),
            models: each.first().filter(|_| named.classes.is_empty()).and_then(|facts| facts.models.clone()),
            variables: named.features.len(),
        }
    }

    fn json(&self) -> Value {
        // A tree may have more nodes than any number type of JSON readers.
        let tree_nodes = u64::try_from(&self.tree_nodes).map_or(json!(self.tree_nodes.to_string()), |n| json!(n));
        json!({
            "nodes": self.size.0,
            "edges": self.size.1,
            "tree_nodes": tree_nodes,
            "models": self.models,
            "deterministic": self.deterministic,
            "decomposable": true,
            "smooth": self.smooth,
            "fan_in": self.size.2,
        })
    }

    fn text(&self) -> String {
        let (nodes, edges) = (thousands(self.size.0 as u64), thousands(self.size.1 as u64));
        let determinism = match self.deterministic {
            Some(true) => "deterministic",
            _ => "determinism not decided within the limit",
        };
        let models = self.models.as_ref().map_or(String::new(), |models| {
            let if_so = if self.deterministic.is_none() { ", if it is deterministic" } else { "" };
            format!("\ntrue on {models} of {} inputs{if_so}", UBig::ONE << self.variables)
        });
        let smooth = if self.smooth { "" } else { "not " };
        format!(
            "circuit of {nodes} nodes and {edges} edges, fan-in {}\nas a tree: {} nodes\n\
             {determinism}, decomposable, {smooth}smooth{models}",
            self.size.2, self.tree_nodes
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
