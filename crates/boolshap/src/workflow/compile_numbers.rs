//! From numbers to values: a table of a function's numbers on every input, trees that are added up, or a linear model.

use super::compile::Work;
use super::{ClassChoice, Error};
use crate::circuit::{NamedCircuit, NumberDiagram, Part, Rule, ValueEvaluator, Values, WeightedSum};
use crate::data::Bits;
use crate::lit::{Digest, Instant, Var};
use crate::model::TreeNode;
use crate::query::Method;
use dashu_ratio::RBig;
use serde_json::json;
use std::sync::Arc;

/// The most features of a table of numbers.
pub const MAX_TABLE_FEATURES: usize = 24;

/// A model that gives one number or several for each input, such as the scores of classes.
#[derive(Debug, Clone, Copy)]
pub struct NumberSource<'a> {
    /// The names of the features.
    pub features: &'a [String],
    /// The names of the numbers; a single one has none.
    pub outputs: &'a [String],
    /// Where the numbers come from.
    pub form: NumberForm<'a>,
    /// How they decide.
    pub rule: Rule,
}

/// Where numbers come from. Floats are taken as the exact numbers that they hold.
#[derive(Debug, Clone, Copy)]
pub enum NumberForm<'a> {
    /// The numbers of every input, those of one input side by side: entry k is the input whose bit j is feature j.
    Table(&'a [f64]),
    /// A constant for each number, plus a factor times the sum of the leaves of trees over a divisor.
    Trees {
        /// The trees, each with numbers for all outputs at its leaves.
        trees: &'a [Vec<TreeNode>],
        /// The constants.
        constants: &'a [f64],
        /// The factor of the sum.
        factor: f64,
        /// The divisor of the sum.
        divisor: u32,
    },
    /// A constant for each number and a weight for each feature, those of one number side by side.
    Linear {
        /// The weights.
        weights: &'a [f64],
        /// The constants.
        constants: &'a [f64],
    },
}

impl Work<'_> {
    pub(super) fn of_numbers(&mut self, source: NumberSource<'_>) -> Result<(&'static str, NamedCircuit), Error> {
        let begin = Instant::now();
        let count = source.outputs.len().max(1);
        let (route, mut values) = match source.form {
            NumberForm::Table(table) => ("truth-table", self.of_number_table(table, source, count)?),
            NumberForm::Trees { trees, constants, factor, divisor } => {
                let scale = exact(factor)? / RBig::from(divisor.max(1));
                ("trees", self.of_number_trees(trees, constants, &scale, source, count)?)
            }
            NumberForm::Linear { weights, constants } => ("linear", of_linear(weights, constants, source, count)?),
        };
        let chosen = match &self.request.class {
            None | Some(ClassChoice::Each) => None,
            Some(one) => Some(one.number(count, source.outputs)?),
        };
        let mut names = source.outputs.to_vec();
        if let Some(class) = chosen {
            values = values.only(class);
            names.clear();
        }
        let mut named = NamedCircuit::of_values(values, source.features.to_vec(), names)?;
        named.facts.class = chosen;
        self.stages.add(
            "parts",
            begin,
            json!({"parts": named.values.as_ref().map_or(0, |values| values.parts().len())}),
        );
        if self.request.verify {
            self.compare_table(&mut named, source, count, chosen)?;
        }
        Ok((route, named))
    }

    fn of_number_table(&self, table: &[f64], source: NumberSource<'_>, count: usize) -> Result<Values, Error> {
        let features = source.features.len();
        if features > MAX_TABLE_FEATURES {
            let message =
                format!("a table of numbers has at most {MAX_TABLE_FEATURES} features, and there are {features}");
            return Err(Error::Limit { message, remedy: None });
        }
        if table.len() != count << features {
            let found = table.len();
            return Err(Error::input(format!(
                "a table of {features} features has 2^{features} rows, not {found} numbers for {count}"
            )));
        }
        let mut sums = Sums::new(count, vec![RBig::ZERO; count]);
        for output in 0..count {
            self.watch.check()?;
            let column: Vec<f64> = table.iter().skip(output).step_by(count).copied().collect();
            let (diagram, scale) = NumberDiagram::of_table(features, &column)?;
            sums.add(Part::Diagram(Arc::new(diagram)), output, scale);
        }
        Ok(sums.finish(source.rule)?)
    }

    fn of_number_trees(
        &self,
        trees: &[Vec<TreeNode>],
        constants: &[f64],
        factor: &RBig,
        source: NumberSource<'_>,
        count: usize,
    ) -> Result<Values, Error> {
        let constants = constants.iter().map(|&constant| exact(constant)).collect::<Result<Vec<_>, _>>()?;
        if constants.len() != count {
            return Err(Error::input(format!("there are {} constants for {count} numbers", constants.len())));
        }
        let mut sums = Sums::new(count, constants);
        for (number, tree) in trees.iter().enumerate() {
            self.watch.check()?;
            for output in 0..count {
                let node = |node: &TreeNode| match node {
                    TreeNode::Leaf(numbers) => Err(numbers.get(output).copied().unwrap_or(f64::NAN)),
                    TreeNode::Split { feature, children } => Ok((*feature, *children)),
                };
                let nodes: Vec<_> = tree.iter().map(node).collect();
                let made = NumberDiagram::of_tree(source.features.len(), &nodes);
                let (diagram, scale) = made.map_err(|e| Error::from(e).at(format!("tree {}", number + 1)))?;
                sums.add(Part::Diagram(Arc::new(diagram)), output, scale * factor);
            }
        }
        Ok(sums.finish(source.rule)?)
    }

    /// Compares the values with a table of all inputs.
    fn compare_table(
        &mut self,
        named: &mut NamedCircuit,
        source: NumberSource<'_>,
        count: usize,
        chosen: Option<usize>,
    ) -> Result<(), Error> {
        let NumberForm::Table(table) = source.form else {
            return Err(Error::setting(
                "verify",
                "compares with a table of all inputs: trees and linear models are what they are",
            ));
        };
        let features = source.features.len();
        let mut rows = Bits::new(features);
        let mut first = 0usize;
        for input in 0..1usize << features {
            rows.push(&(0..features).map(|bit| input >> bit & 1 == 1).collect::<Vec<_>>());
            if rows.rows() < 1 << 12 && input + 1 < 1 << features {
                continue;
            }
            let Some(evaluator) = ValueEvaluator::new(named) else { return Ok(()) };
            for (at, found) in evaluator.rows(&rows, self.watch)?.iter().enumerate() {
                let expected = &table[(first + at) * count..][..count];
                let expected: Vec<f64> = chosen.map_or(expected.to_vec(), |output| vec![expected[output]]);
                if !found.iter().zip(&expected).all(|(found, expected)| exact(*expected).is_ok_and(|e| e == *found)) {
                    return Err(Error::input("the values differ from their table: please report this defect"));
                }
            }
            first = input + 1;
            rows = Bits::new(features);
        }
        let bytes: Vec<u8> = table.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.proved_table = Some((Method::Exhaustive.name(), Digest::of(&bytes)));
        Ok(())
    }
}

fn of_linear(weights: &[f64], constants: &[f64], source: NumberSource<'_>, count: usize) -> Result<Values, Error> {
    let features = source.features.len();
    if weights.len() != count * features || constants.len() != count {
        return Err(Error::input(format!("{count} numbers of {features} features have other weights than were given")));
    }
    let parts = (0..features).map(|feature| Part::Feature(Var::new(feature))).collect();
    let sum = |output: usize| -> Result<WeightedSum, Error> {
        let own = weights[output * features..(output + 1) * features].iter().map(|&weight| exact(weight));
        Ok(WeightedSum { constant: exact(constants[output])?, weights: own.collect::<Result<_, _>>()? })
    };
    let values = (0..count).map(sum).collect::<Result<_, _>>()?;
    Ok(Values::new(parts, values, source.rule)?)
}

fn exact(number: f64) -> Result<RBig, Error> {
    RBig::try_from(number).map_err(|_| Error::input(format!("{number} is not a finite number")))
}

/// Parts that belong to one number each.
struct Sums {
    parts: Vec<Part>,
    constants: Vec<RBig>,
    owners: Vec<(usize, RBig)>,
}

impl Sums {
    fn new(count: usize, constants: Vec<RBig>) -> Self {
        debug_assert_eq!(count, constants.len());
        Sums { parts: Vec::new(), constants, owners: Vec::new() }
    }

    fn add(&mut self, part: Part, output: usize, weight: RBig) {
        // A leaf alone is a constant.
        if let Part::Diagram(diagram) = &part
            && diagram.nodes().is_empty()
        {
            let leaf = RBig::try_from(diagram.value(|_| false)).unwrap_or_default();
            self.constants[output] += weight * leaf;
            return;
        }
        self.parts.push(part);
        self.owners.push((output, weight));
    }

    fn finish(self, rule: Rule) -> Result<Values, crate::circuit::CircuitError> {
        let sum = |(output, constant): (usize, RBig)| {
            let own = |(owner, weight): &(usize, RBig)| if *owner == output { weight.clone() } else { RBig::ZERO };
            WeightedSum { constant, weights: self.owners.iter().map(own).collect() }
        };
        let values = self.constants.clone().into_iter().enumerate().map(sum).collect();
        Values::new(self.parts, values, rule)
    }
}
