//! `boolshap info`: what a file holds.

use crate::terminal::{print, print_json, thousands};
use boolshap::model::{Model, Output, count_classes};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Networks of up to this many inputs are counted over all inputs, which takes about a second at most.
const MAX_COUNTED_INPUTS: usize = 20;

/// Tell what a model file holds
#[derive(Args)]
pub(crate) struct Info {
    /// The model
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let model = Model::load(&self.file)?;
        if self.json {
            print_json(&json!({
                "features": model.features,
                "shape": model.network.shape(),
                "classes": model.classes,
                "binary_weights": has_binary_weights(&model),
                "class_counts": count_classes(&model.network, MAX_COUNTED_INPUTS),
                "schema": model.binariser,
                "marginals": model.marginals,
                "provenance": model.provenance,
            }))?;
        } else {
            print(&describe(&model))?;
        }
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
    if let Some(counts) = count_classes(&model.network, MAX_COUNTED_INPUTS) {
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
