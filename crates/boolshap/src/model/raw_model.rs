//! Models on raw columns: a constant, a slope for each column, and trees with tests of the form "is it at most t?".
//!
//! Regressions, forests and gradient boosting compute such numbers before their last step. For each output, the number
//! is `(constant + slopes * row + factor * sum of leaves) / divisor`; floats are taken exactly. A missing value goes
//! where its node says; for libraries that compare in single precision, rows are rounded first.

use super::ModelError;
use crate::data::{DataError, RawRows};
use serde::{Deserialize, Serialize};

/// The format name in the file.
const FORMAT: &str = "boolshap raw model 1";
/// LightGBM treats numbers smaller than this as 0.
const NEARLY_ZERO: f64 = 1e-35f32 as f64;

/// A model on raw columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawModel {
    format: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The names of the outputs, or of the two classes of a single output; empty for a number without a name.
    pub outputs: Vec<String>,
    /// The constant of each output.
    pub constants: Vec<f64>,
    /// For each output, a slope for each column; empty if there are none.
    pub slopes: Vec<Vec<f64>>,
    /// The trees whose leaves are added up.
    pub trees: Vec<RawTree>,
    /// What every leaf is multiplied by.
    pub factor: f64,
    /// What the sum is divided by at the end.
    pub divisor: u32,
    /// Whether numbers are rounded to single precision before comparisons.
    pub is_single: bool,
    /// Whether leaves are added up in single precision, so that the order of nearly equal sums is uncertain.
    pub adds_in_single: bool,
    /// Whether missing values are allowed.
    pub takes_missing: bool,
    /// How the outputs decide.
    pub decision: Decision,
}

/// How outputs decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// They do not: each is just a number.
    Number,
    /// The class of the largest output, the first one in a tie.
    Largest,
    /// Class 1 if the only output is at least 0.
    AtLeastZero,
    /// Class 1 if the only output is above 0.
    AboveZero,
}

/// A tree; its root is its first node, and children come after their parents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTree {
    nodes: Vec<RawNode>,
    /// The output that it belongs to; if `None`, its leaves have a number for each output.
    output: Option<usize>,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RawNode {
    /// The number of the tree's output, or one for each output.
    Leaf(Vec<f64>),
    /// Continues at one of two nodes: the first if the test holds.
    Split {
        /// The column that is tested.
        column: usize,
        /// The test.
        test: RawTest,
        /// Whether a missing value continues at the first node.
        missing_first: bool,
        /// Whether 0 counts as missing.
        zero_is_missing: bool,
        /// The nodes to continue at.
        children: [usize; 2],
    },
}

/// A test of a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawTest {
    /// Whether it is at most this.
    AtMost(f64),
    /// Whether it is one of these after its fraction is cut off.
    OneOf(Vec<u32>),
}

impl RawNode {
    /// Which child a number goes to: 0 or 1. Leaves have none.
    pub fn child(&self, number: f64) -> usize {
        let RawNode::Split { test, missing_first, zero_is_missing, .. } = self else { return 0 };
        if number.is_nan() || (*zero_is_missing && number.abs() <= NEARLY_ZERO) {
            return usize::from(!missing_first);
        }
        usize::from(!match test {
            RawTest::AtMost(threshold) => number <= *threshold,
            RawTest::OneOf(values) => {
                let whole = number.trunc();
                whole >= 0.0 && whole <= f64::from(u32::MAX) && values.contains(&(whole as u32))
            }
        })
    }
}

impl RawTree {
    /// A tree of nodes in any order, with this root. Every node below the root must be used exactly once.
    pub fn new(root: usize, given: &[RawNode], output: Option<usize>) -> Result<Self, ModelError> {
        let wrong = |problem: String| ModelError::Inconsistent(problem);
        let (mut nodes, mut places): (Vec<RawNode>, _) = (Vec::new(), vec![None; given.len()]);
        let mut waiting: Vec<(usize, Option<(usize, usize)>)> = vec![(root, None)];
        while let Some((at, parent)) = waiting.pop() {
            let node = given.get(at).ok_or_else(|| wrong(format!("there is no node {at}")))?;
            if places[at].replace(nodes.len()).is_some() {
                return Err(wrong(format!("node {at} is reached twice")));
            }
            let here = nodes.len();
            if let Some((parent, side)) = parent
                && let RawNode::Split { children, .. } = &mut nodes[parent]
            {
                children[side] = here;
            }
            nodes.push(node.clone());
            if let RawNode::Split { children, .. } = node {
                waiting.extend([(children[1], Some((here, 1))), (children[0], Some((here, 0)))]);
            }
        }
        Ok(RawTree { nodes, output })
    }

    /// The nodes, parents before children.
    pub fn nodes(&self) -> &[RawNode] {
        &self.nodes
    }

    /// The output that its leaves belong to, if there is only one.
    pub fn output(&self) -> Option<usize> {
        self.output
    }

    /// The numbers of the leaf that a row reaches.
    pub fn leaf(&self, number: impl Fn(usize) -> f64) -> &[f64] {
        let mut node = 0;
        loop {
            match &self.nodes[node] {
                RawNode::Leaf(numbers) => return numbers,
                split @ RawNode::Split { column, children, .. } => node = children[split.child(number(*column))],
            }
        }
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node, RawNode::Leaf(_))).count()
    }

    fn flaw(&self, columns: usize, outputs: usize) -> Option<String> {
        if self.output.is_some_and(|output| output >= outputs) {
            return Some(format!("it belongs to output {:?} of {outputs}", self.output));
        }
        let wanted = if self.output.is_some() { 1 } else { outputs };
        self.nodes.iter().enumerate().find_map(|(at, node)| match node {
            RawNode::Leaf(numbers) if numbers.len() != wanted => {
                Some(format!("leaf {at} has {} numbers, not {wanted}", numbers.len()))
            }
            RawNode::Leaf(numbers) => {
                let bad = numbers.iter().find(|number| !number.is_finite());
                bad.map(|bad| format!("leaf {at} has the number {bad}"))
            }
            RawNode::Split { column, .. } if *column >= columns => {
                Some(format!("node {at} asks for column {column} of {columns}"))
            }
            RawNode::Split { test: RawTest::AtMost(threshold), .. } if !threshold.is_finite() => {
                Some(format!("node {at} compares with {threshold}"))
            }
            RawNode::Split { children, .. } => {
                let is_wrong = children.iter().any(|&child| child <= at || child >= self.nodes.len());
                is_wrong.then(|| format!("node {at} has children that do not come after it"))
            }
        })
    }
}

impl RawModel {
    /// A model of these columns and outputs that is 0 everywhere.
    pub fn new(columns: Vec<String>, outputs: Vec<String>) -> Self {
        let constants = vec![0.0; outputs.len().max(1)];
        RawModel {
            format: FORMAT.into(),
            columns,
            outputs,
            constants,
            slopes: Vec::new(),
            trees: Vec::new(),
            factor: 1.0,
            divisor: 1,
            is_single: false,
            adds_in_single: false,
            takes_missing: false,
            decision: Decision::Number,
        }
    }

    /// The number of outputs per row.
    pub fn width(&self) -> usize {
        self.constants.len()
    }

    /// The model, after checking that all its parts fit together.
    pub fn checked(self) -> Result<Self, ModelError> {
        let wrong = |problem: &str| Err(ModelError::Inconsistent(problem.into()));
        let (columns, outputs) = (self.columns.len(), self.width());
        let two_classes =
            matches!(self.decision, Decision::AtLeastZero | Decision::AboveZero) && self.outputs.len() == 2;
        if outputs == 0
            || (self.outputs.len() != outputs && !(outputs == 1 && (self.outputs.is_empty() || two_classes)))
        {
            return wrong("there is not one name and one constant for each output");
        }
        let slopes_fit = self.slopes.len() == outputs && self.slopes.iter().all(|slopes| slopes.len() == columns);
        if !self.slopes.is_empty() && !slopes_fit {
            return wrong("there is not one slope for each output and column");
        }
        let numbers = self.constants.iter().chain(self.slopes.iter().flatten()).chain([&self.factor]);
        if self.divisor == 0 || numbers.into_iter().any(|number| !number.is_finite()) {
            return wrong("some constant, slope, factor or divisor is no finite number");
        }
        if matches!(self.decision, Decision::AtLeastZero | Decision::AboveZero) && outputs != 1 {
            return wrong("several outputs cannot decide by their sign");
        }
        for (number, tree) in self.trees.iter().enumerate() {
            if let Some(flaw) = tree.flaw(columns, outputs) {
                return Err(ModelError::Inconsistent(format!("tree {}: {flaw}", number + 1)));
            }
        }
        Ok(self)
    }

    /// The content of a model file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("finite numbers and texts are always JSON")
    }

    /// Reads the content of a model file.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        let model: RawModel = serde_json::from_str(text)
            .map_err(|error| ModelError::Inconsistent(format!("this is no model: {error}")))?;
        if model.format != FORMAT {
            return Err(ModelError::Inconsistent(format!("the format '{}' is not known", model.format)));
        }
        model.checked()
    }

    /// A model of one output alone, which does not decide.
    pub fn only(&self, output: usize) -> Result<Self, ModelError> {
        let leaf = |node: &RawNode| match node {
            RawNode::Leaf(numbers) => RawNode::Leaf(vec![numbers[output.min(numbers.len() - 1)]]),
            split => split.clone(),
        };
        let own = |tree: &&RawTree| tree.output.is_none_or(|one| one == output);
        let alone = |tree: &RawTree| RawTree { nodes: tree.nodes.iter().map(leaf).collect(), output: Some(0) };
        let trees = self.trees.iter().filter(own).map(alone).collect();
        RawModel {
            outputs: Vec::new(),
            constants: vec![self.constants[output]],
            slopes: self.slopes.get(output).cloned().into_iter().collect(),
            trees,
            decision: Decision::Number,
            ..self.clone()
        }
        .checked()
    }

    /// Rows in the precision in which the model compares.
    pub fn prepared(&self, source: &str, rows: &RawRows) -> Result<RawRows, DataError> {
        rows.prepared(source, &self.columns, self.is_single, self.takes_missing)
    }

    /// The outputs of prepared rows, with those of a row side by side.
    pub fn numbers(&self, rows: &RawRows) -> Vec<f64> {
        let mut found = Vec::with_capacity(rows.len() * self.width());
        for row in 0..rows.len() {
            let number = |column: usize| rows.column(column)[row];
            let mut sums = self.constants.clone();
            for (sum, slopes) in sums.iter_mut().zip(&self.slopes) {
                *sum += slopes.iter().enumerate().map(|(column, slope)| slope * number(column)).sum::<f64>();
            }
            for tree in &self.trees {
                self.add(&mut sums, tree, tree.leaf(number));
            }
            found.extend(sums.iter().map(|sum| sum / f64::from(self.divisor)));
        }
        found
    }

    /// Adds the numbers of a leaf to the sums so far, as the libraries do.
    pub(crate) fn add(&self, sums: &mut [f64], tree: &RawTree, leaf: &[f64]) {
        match tree.output {
            Some(output) => sums[output] += self.factor * leaf[0],
            None => sums.iter_mut().zip(leaf).for_each(|(sum, number)| *sum += self.factor * number),
        }
    }

    /// The class that the outputs decide for, if they decide.
    pub fn decide(&self, numbers: &[f64]) -> Option<usize> {
        match self.decision {
            Decision::Number => None,
            Decision::AtLeastZero => Some(usize::from(numbers[0] >= 0.0)),
            Decision::AboveZero => Some(usize::from(numbers[0] > 0.0)),
            Decision::Largest => {
                let better = |best: usize, class: usize| if numbers[class] > numbers[best] { class } else { best };
                Some((1..numbers.len()).fold(0, better))
            }
        }
    }
}
