//! Imports XGBoost's boosted trees from the JSON that `Booster.save_model("x.json")` and `save_raw("json")` write.
//!
//! A row goes left if `value < split`, both in single precision; that equals `value <=` the previous float. A leaf
//! stores its value in the field of the split. `base_score` is in the units of the prediction, and the link function of
//! the objective turns it into a margin. Categories go left if they are not in the node's list. Format: "Introduction
//! to Model IO" of XGBoost's documentation.

use super::{Decision, ModelError, RawModel, RawNode, RawTest, RawTree};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct File {
    learner: Learner,
}

#[derive(Deserialize)]
struct Learner {
    #[serde(default)]
    feature_names: Vec<String>,
    gradient_booster: Value,
    learner_model_param: Parameters,
    objective: Objective,
}

#[derive(Deserialize)]
struct Parameters {
    base_score: String,
    #[serde(default)]
    num_class: String,
    num_feature: String,
    #[serde(default)]
    num_target: String,
}

#[derive(Deserialize)]
struct Objective {
    name: String,
}

#[derive(Deserialize)]
struct Trees {
    trees: Vec<Tree>,
    tree_info: Vec<usize>,
}

#[derive(Deserialize)]
struct Tree {
    left_children: Vec<i64>,
    right_children: Vec<i64>,
    split_indices: Vec<usize>,
    split_conditions: Vec<f32>,
    default_left: Vec<u8>,
    #[serde(default)]
    split_type: Vec<u8>,
    #[serde(default)]
    categories: Vec<u32>,
    #[serde(default)]
    categories_nodes: Vec<usize>,
    #[serde(default)]
    categories_segments: Vec<usize>,
    #[serde(default)]
    categories_sizes: Vec<usize>,
    #[serde(default)]
    tree_param: TreeParameters,
}

#[derive(Deserialize, Default)]
struct TreeParameters {
    #[serde(default)]
    size_leaf_vector: String,
}

/// Reads a model file's content; with `rounds`, only that many first rounds.
pub fn import_xgboost(text: &str, rounds: Option<usize>) -> Result<RawModel, ModelError> {
    let file: File =
        serde_json::from_str(text).map_err(|error| wrong(format!("this is not XGBoost's JSON: {error}")))?;
    let Learner { feature_names, gradient_booster, learner_model_param: parameters, objective } = file.learner;
    let whole = |text: &str| text.parse::<usize>().unwrap_or(0);
    let columns = match feature_names.is_empty() {
        false => feature_names,
        true => (0..whole(&parameters.num_feature)).map(|column| format!("f{column}")).collect(),
    };
    let outputs = whole(&parameters.num_class).max(whole(&parameters.num_target)).max(1);
    let (Trees { trees, tree_info }, weights) = trees_of(gradient_booster)?;
    let names = if outputs > 1 { (0..outputs).map(|output| output.to_string()).collect() } else { Vec::new() };
    let mut model = RawModel::new(columns, names);
    model.constants = constants(&parameters.base_score, &objective.name, outputs)?;
    (model.is_single, model.adds_in_single, model.takes_missing) = (true, true, true);
    model.decision = decision(&objective.name);
    if tree_info.len() != trees.len() {
        return Err(wrong("not every tree says which output it belongs to".into()));
    }
    // The trees of a round are adjacent: one or several for each output.
    let a_round =
        tree_info.windows(2).position(|pair| pair[1] < pair[0]).map_or(tree_info.len().max(1), |last| last + 1);
    let a_round = if outputs == 1 { 1 } else { a_round };
    let taken = rounds.map_or(trees.len(), |rounds| rounds.saturating_mul(a_round).min(trees.len()));
    for (number, (tree, output)) in trees.iter().zip(tree_info).take(taken).enumerate() {
        let weight = weights.as_ref().map_or(1.0, |weights| weights.get(number).copied().unwrap_or(1.0));
        let made = nodes(tree, weight).and_then(|nodes| RawTree::new(0, &nodes, Some(output)));
        model.trees.push(made.map_err(|error| wrong(format!("tree {}: {error}", number + 1)))?);
    }
    model.checked()
}

fn wrong(message: String) -> ModelError {
    ModelError::Inconsistent(message)
}

/// The trees of a booster, and their weights if some trees were dropped (DART).
fn trees_of(mut booster: Value) -> Result<(Trees, Option<Vec<f64>>), ModelError> {
    let name = booster.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let weights = match name.as_str() {
        "gbtree" => None,
        "dart" => {
            let weights = booster.get("weight_drop").cloned().unwrap_or_default();
            booster = booster.get("gbtree").cloned().unwrap_or_default();
            Some(serde_json::from_value(weights).map_err(|error| wrong(format!("weight_drop: {error}")))?)
        }
        other => return Err(wrong(format!("the booster '{other}' has no trees"))),
    };
    let trees = serde_json::from_value(booster.get("model").cloned().unwrap_or_default());
    Ok((trees.map_err(|error| wrong(format!("the trees cannot be read: {error}")))?, weights))
}

/// The margins at which the sums start.
fn constants(base_score: &str, objective: &str, outputs: usize) -> Result<Vec<f64>, ModelError> {
    let texts = base_score.trim_matches(['[', ']']).split(',');
    let scores: Result<Vec<f64>, _> = texts.map(|text| text.trim().parse()).collect();
    let scores = scores.map_err(|_| wrong(format!("base_score is '{base_score}', not a number")))?;
    let link = |score: f64| match objective {
        "binary:logistic" | "reg:logistic" => (score / (1.0 - score)).ln(),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" => score.ln(),
        _ => score,
    };
    match scores[..] {
        [one] => Ok(vec![link(one); outputs]),
        _ if scores.len() == outputs => Ok(scores.into_iter().map(link).collect()),
        _ => Err(wrong(format!("base_score has {} numbers for {outputs} outputs", scores.len()))),
    }
}

fn decision(objective: &str) -> Decision {
    match objective {
        "binary:logistic" | "binary:logitraw" | "binary:hinge" => Decision::AboveZero,
        "multi:softmax" | "multi:softprob" => Decision::Largest,
        _ => Decision::Number,
    }
}

fn nodes(tree: &Tree, weight: f64) -> Result<Vec<RawNode>, ModelError> {
    if !["", "0", "1"].contains(&tree.tree_param.size_leaf_vector.as_str()) {
        return Err(wrong("its leaves hold a number for each output, which is not read".into()));
    }
    let count = tree.left_children.len();
    let lengths =
        [tree.right_children.len(), tree.split_indices.len(), tree.split_conditions.len(), tree.default_left.len()];
    if lengths != [count; 4] {
        return Err(wrong("its lists are not equally long".into()));
    }
    let node = |at: usize| -> Result<RawNode, ModelError> {
        let condition = tree.split_conditions[at];
        let [left, right] = [tree.left_children[at], tree.right_children[at]];
        let (Ok(left), Ok(right)) = (usize::try_from(left), usize::try_from(right)) else {
            return Ok(RawNode::Leaf(vec![f64::from(condition) * weight]));
        };
        let is_left = tree.default_left[at] != 0;
        let (test, missing_first, children) = match tree.split_type.get(at) {
            // Listed categories go right.
            Some(1) => (RawTest::OneOf(listed(tree, at)?), !is_left, [right, left]),
            _ => (RawTest::AtMost(f64::from(condition.next_down())), is_left, [left, right]),
        };
        Ok(RawNode::Split { column: tree.split_indices[at], test, missing_first, zero_is_missing: false, children })
    };
    (0..count).map(node).collect()
}

/// The categories of a node.
fn listed(tree: &Tree, node: usize) -> Result<Vec<u32>, ModelError> {
    let found = || -> Option<Vec<u32>> {
        let place = tree.categories_nodes.iter().position(|&one| one == node)?;
        let (from, count) = (*tree.categories_segments.get(place)?, *tree.categories_sizes.get(place)?);
        Some(tree.categories.get(from..from.checked_add(count)?)?.to_vec())
    };
    found().ok_or_else(|| wrong(format!("node {node} has no categories")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RawRows;

    fn booster(extra: &str) -> String {
        format!(
            r#"{{"learner": {{"feature_names": ["a", "b"], "learner_model_param": {{"base_score": "[5E-1]",
            "num_class": "0", "num_feature": "2"}}, "objective": {{"name": "binary:logistic"}}, "gradient_booster":
            {{"name": "gbtree", "model": {{"tree_info": [0], "trees": [{{"left_children": [1, -1, -1],
            "right_children": [2, -1, -1], "split_indices": [1, 0, 0], "split_conditions": [0.5, -1.0, 2.0],
            "default_left": [1, 0, 0] {extra}}}]}}}}}}}}"#
        )
    }

    #[test]
    fn a_value_at_the_split_goes_right() {
        let model = import_xgboost(&booster(""), None).unwrap();
        let rows = RawRows::of_rows(2, &[0.0, 0.5, 0.0, 0.49, 0.0, f64::NAN]);
        assert_eq!(model.numbers(&model.prepared("rows", &rows).unwrap()), [2.0, -1.0, -1.0]);
        assert_eq!(RawModel::from_json(&model.to_json()).unwrap(), model);
        assert_eq!(import_xgboost(&booster(""), Some(0)).unwrap().trees.len(), 0);
    }

    #[test]
    fn listed_categories_go_right() {
        let extra = r#", "split_type": [1, 0, 0], "categories": [2, 7], "categories_nodes": [0],
            "categories_segments": [0], "categories_sizes": [2]"#;
        let model = import_xgboost(&booster(extra), None).unwrap();
        let rows = RawRows::of_rows(2, &[0.0, 7.0, 0.0, 3.0, 0.0, f64::NAN]);
        assert_eq!(model.numbers(&rows), [2.0, -1.0, -1.0]);
    }

    #[test]
    fn what_is_no_booster_of_trees_is_an_error() {
        let linear = booster("").replace("gbtree", "gblinear");
        for (text, expected) in [
            ("{}", "this is not XGBoost's JSON"),
            (&linear[..], "the booster 'gblinear' has no trees"),
            (&booster("").replace("[1, -1, -1]", "[0, -1, -1]"), "tree 1: node 0 is reached twice"),
            (&booster("").replace("[1, 0, 0], \"split_c", "[2, 0, 0], \"split_c"), "asks for column 2 of 2"),
            (&booster(r#", "tree_param": {"size_leaf_vector": "3"}"#), "a number for each output"),
        ] {
            let found = import_xgboost(text, None).unwrap_err().to_string();
            assert!(found.contains(expected), "{found}");
        }
    }
}
