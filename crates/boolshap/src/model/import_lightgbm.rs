//! Imports LightGBM's boosted trees from the text that `Booster.save_model` and `model_to_string` write.
//!
//! A row goes left if `value <= threshold`. The bits of a decision say whether it lists categories, where missing
//! values go, and which values are missing: none (NaN counts as 0), 0 and NaN, or NaN. Negative children are leaves,
//! `-1 - leaf`. Leaf values already include the shrinkage, and the first tree of an output its mean. Format:
//! `src/io/tree.cpp` and `gbdt_model_text.cpp` of LightGBM.

use super::{Decision, ModelError, RawModel, RawNode, RawTest, RawTree};
use std::collections::HashMap;
use std::str::FromStr;

/// The `key=value` lines of a section of the file.
struct Part<'t>(HashMap<&'t str, &'t str>);

impl<'t> Part<'t> {
    fn of(lines: impl Iterator<Item = &'t str>) -> Self {
        Part(lines.map(|line| line.split_once('=').unwrap_or((line.trim(), ""))).collect())
    }

    fn text(&self, key: &str) -> Result<&'t str, ModelError> {
        self.0.get(key).copied().ok_or_else(|| wrong(format!("there is no line '{key}'")))
    }

    fn list<T: FromStr>(&self, key: &str) -> Result<Vec<T>, ModelError> {
        let number = |text: &str| text.parse().map_err(|_| wrong(format!("{key} holds '{text}', not a number")));
        self.text(key)?.split_whitespace().map(number).collect()
    }

    fn number(&self, key: &str) -> Result<usize, ModelError> {
        let text = self.text(key)?;
        text.trim().parse().map_err(|_| wrong(format!("{key} is '{text}', not a number")))
    }
}

fn wrong(message: String) -> ModelError {
    ModelError::Inconsistent(message)
}

/// Reads a model file's content.
pub fn import_lightgbm(text: &str) -> Result<RawModel, ModelError> {
    let mut lines = text.lines().peekable();
    if lines.peek().is_none_or(|line| line.trim() != "tree") {
        return Err(wrong("this is not LightGBM's text: it does not begin with 'tree'".into()));
    }
    let is_inside = |line: &&str| !line.starts_with("Tree=") && !line.starts_with("end of trees");
    let mut until_tree = || {
        let mut part = Vec::new();
        while let Some(line) = lines.next_if(is_inside) {
            part.push(line);
        }
        let next = lines.next().map(|line| line.starts_with("Tree="));
        (Part::of(part.into_iter()), next == Some(true))
    };
    let (header, mut more) = until_tree();
    let outputs = header.number("num_tree_per_iteration")?.max(1);
    let columns: Vec<String> = header.text("feature_names")?.split(' ').map(String::from).collect();
    let names = if outputs > 1 { (0..outputs).map(|output| output.to_string()).collect() } else { Vec::new() };
    let mut model = RawModel::new(columns, names);
    model.takes_missing = true;
    model.decision = decision(header.0.get("objective").copied().unwrap_or_default());
    while more {
        let (part, is_next) = until_tree();
        let number = model.trees.len();
        let made = tree(&part, number % outputs).map_err(|error| wrong(format!("tree {}: {error}", number + 1)))?;
        model.trees.push(made);
        more = is_next;
    }
    if header.0.contains_key("average_output") {
        let rounds = (model.trees.len() / outputs).max(1);
        model.divisor = u32::try_from(rounds).map_err(|_| wrong("there are too many trees".into()))?;
    }
    model.checked()
}

fn decision(objective: &str) -> Decision {
    match objective.split_whitespace().next() {
        Some("binary" | "cross_entropy") => Decision::AboveZero,
        Some("multiclass" | "multiclassova") => Decision::Largest,
        _ => Decision::Number,
    }
}

fn tree(part: &Part<'_>, output: usize) -> Result<RawTree, ModelError> {
    if part.0.get("is_linear").is_some_and(|text| text.trim() == "1") {
        return Err(wrong("its leaves are linear models, which are not read".into()));
    }
    let (leaves, values) = (part.number("num_leaves")?, part.list::<f64>("leaf_value")?);
    if leaves == 0 || values.len() != leaves {
        return Err(wrong(format!("there are {} values for {leaves} leaves", values.len())));
    }
    let splits = leaves - 1;
    let mut nodes = Vec::with_capacity(splits + leaves);
    if splits > 0 {
        let lists = Splits::read(part, splits)?;
        for at in 0..splits {
            nodes.push(lists.node(at, splits, leaves)?);
        }
    }
    nodes.extend(values.into_iter().map(|value| RawNode::Leaf(vec![value])));
    RawTree::new(0, &nodes, Some(output))
}

/// The arrays of a tree with an entry for each split.
struct Splits {
    columns: Vec<usize>,
    thresholds: Vec<f64>,
    decisions: Vec<u8>,
    children: [Vec<i64>; 2],
    /// Where the bits of each list of categories begin, and the bits.
    boundaries: Vec<usize>,
    bits: Vec<u32>,
}

impl Splits {
    fn read(part: &Part<'_>, splits: usize) -> Result<Self, ModelError> {
        let is_categorical = part.0.get("num_cat").is_some_and(|text| text.trim() != "0");
        let found = Splits {
            columns: part.list("split_feature")?,
            thresholds: part.list("threshold")?,
            decisions: part.list("decision_type")?,
            children: [part.list("left_child")?, part.list("right_child")?],
            boundaries: if is_categorical { part.list("cat_boundaries")? } else { Vec::new() },
            bits: if is_categorical { part.list("cat_threshold")? } else { Vec::new() },
        };
        let [left, right] = &found.children;
        let lengths = [found.columns.len(), found.thresholds.len(), found.decisions.len(), left.len(), right.len()];
        if lengths != [splits; 5] {
            return Err(wrong("its lists are not equally long".into()));
        }
        Ok(found)
    }

    fn node(&self, at: usize, splits: usize, leaves: usize) -> Result<RawNode, ModelError> {
        let place = |child: i64| -> Result<usize, ModelError> {
            let found =
                if child < 0 { usize::try_from(!child).map(|leaf| leaf + splits) } else { usize::try_from(child) };
            let found = found.ok().filter(|&place| place < splits + leaves);
            found.ok_or_else(|| wrong(format!("node {at} has the child {child}")))
        };
        let children = [place(self.children[0][at])?, place(self.children[1][at])?];
        let (column, threshold, decision) = (self.columns[at], self.thresholds[at], self.decisions[at]);
        let kind = decision >> 2 & 3;
        if decision & 1 == 1 {
            let listed = self.listed(threshold)?;
            // If no value counts as missing, NaN is category 0; otherwise NaN is in no list.
            let missing_first = kind != 2 && listed.contains(&0);
            let test = RawTest::OneOf(listed);
            return Ok(RawNode::Split { column, test, missing_first, zero_is_missing: false, children });
        }
        let missing_first = if kind == 0 { 0.0 <= threshold } else { decision & 2 != 0 };
        // A finite threshold has the same effect: every number is at most infinity, and every finite one at most the
        // largest float.
        let test = RawTest::AtMost(threshold.clamp(f64::MIN, f64::MAX));
        Ok(RawNode::Split { column, test, missing_first, zero_is_missing: kind == 1, children })
    }

    /// The categories in a list.
    fn listed(&self, list: f64) -> Result<Vec<u32>, ModelError> {
        let found = || -> Option<&[u32]> {
            let list = list as usize;
            self.bits.get(*self.boundaries.get(list)?..*self.boundaries.get(list + 1)?)
        };
        let words = found().ok_or_else(|| wrong(format!("there is no list {list} of categories")))?;
        let in_list = |value: &u32| words[*value as usize / 32] >> (value % 32) & 1 == 1;
        Ok((0..words.len() as u32 * 32).filter(in_list).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RawRows;

    fn text(decision: u8, threshold: &str, extra: &str) -> String {
        format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\nfeature_names=a b\n\n\
             Tree=0\nnum_leaves=2\nnum_cat={}\nsplit_feature=1\nthreshold={threshold}\ndecision_type={decision}\n\
             left_child=-1\nright_child=-2\nleaf_value=-1 2\n{extra}\n\nend of trees\n\nfeature_importances:\nb=1\n",
            decision & 1
        )
    }

    fn answers(text: &str, values: &[f64]) -> Vec<f64> {
        let rows: Vec<f64> = values.iter().flat_map(|value| [0.0, *value]).collect();
        import_lightgbm(text).unwrap().numbers(&RawRows::of_rows(2, &rows))
    }

    #[test]
    fn missing_values_go_where_the_decision_says() {
        let values = [0.5, 0.6, f64::NAN, 0.0];
        // No value is missing: NaN is 0.
        assert_eq!(answers(&text(0, "0.5", ""), &values), [-1.0, 2.0, -1.0, -1.0]);
        // 0 and NaN are missing, and go right; then left.
        assert_eq!(answers(&text(4, "0.5", ""), &values), [-1.0, 2.0, 2.0, 2.0]);
        assert_eq!(answers(&text(6, "-0.5", ""), &values), [2.0, 2.0, -1.0, -1.0]);
        // NaN is missing, and goes right; then left.
        assert_eq!(answers(&text(8, "0.5", ""), &values), [-1.0, 2.0, 2.0, -1.0]);
        assert_eq!(answers(&text(10, "-0.5", ""), &values), [2.0, 2.0, -1.0, 2.0]);
    }

    #[test]
    fn listed_categories_go_left() {
        let listed = "cat_boundaries=0 2\ncat_threshold=5 1";
        let values = [0.0, 1.0, 2.0, 32.0, 33.0, -1.0, f64::NAN];
        assert_eq!(answers(&text(1, "0", listed), &values), [-1.0, 2.0, -1.0, -1.0, 2.0, 2.0, -1.0]);
        assert_eq!(answers(&text(9, "0", listed), &values)[6], 2.0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("forest".into(), "does not begin with 'tree'"),
            (text(0, "x", ""), "tree 1: threshold holds 'x', not a number"),
            (text(0, "0.5", "is_linear=1"), "tree 1: its leaves are linear models"),
            (text(1, "3", "cat_boundaries=0 2\ncat_threshold=5 1"), "tree 1: there is no list 3 of categories"),
            (text(0, "0.5", "").replace("right_child=-2", "right_child=-9"), "tree 1: node 0 has the child -9"),
        ] {
            let found = import_lightgbm(&text).unwrap_err().to_string();
            assert!(found.contains(expected), "{found}");
        }
    }
}
