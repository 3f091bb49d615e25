//! Values in the header of a circuit file: fractions as texts, gates as in a model file.

use super::{CircuitError, NodeId, NumberDiagram, Part, Rule, Values, WeightedSum};
use crate::lit::Var;
use crate::model::{GateText, parse_fraction};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValuesText {
    rule: RuleText,
    parts: Vec<PartText>,
    values: Vec<SumText>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuleText {
    Sign,
    Largest,
    Number,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartText {
    Feature(u32),
    Gate(GateText),
    Circuit(u32),
    Diagram(DiagramText),
}

/// How many leaves and nodes follow the nodes of the circuit.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiagramText {
    pub(super) leaves: u64,
    pub(super) nodes: u64,
    pub(super) root: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SumText {
    constant: String,
    weights: Vec<String>,
}

impl ValuesText {
    pub(super) fn of(values: &Values) -> Self {
        let part = |part: &Part| match part {
            Part::Feature(var) => PartText::Feature(var.index() as u32),
            Part::Gate(gate) => PartText::Gate(GateText::of_gate(gate)),
            Part::Circuit(root) => PartText::Circuit(root.index() as u32),
            Part::Diagram(diagram) => PartText::Diagram(DiagramText {
                leaves: diagram.leaves().len() as u64,
                nodes: diagram.nodes().len() as u64,
                root: diagram.root(),
            }),
        };
        let sum = |sum: &WeightedSum| SumText {
            constant: sum.constant.to_string(),
            weights: sum.weights.iter().map(ToString::to_string).collect(),
        };
        let rule = match values.rule {
            Rule::Sign => RuleText::Sign,
            Rule::Largest => RuleText::Largest,
            Rule::Number => RuleText::Number,
        };
        ValuesText {
            rule,
            parts: values.parts.iter().map(part).collect(),
            values: values.values.iter().map(sum).collect(),
        }
    }

    /// The diagrams that follow the nodes of the circuit.
    pub(super) fn diagrams(&self) -> Vec<DiagramText> {
        let diagram = |part: &PartText| if let PartText::Diagram(diagram) = part { Some(*diagram) } else { None };
        self.parts.iter().filter_map(diagram).collect()
    }

    /// The values of a file, given the numbers of features, nodes and classes; the error names what does not fit.
    pub(super) fn read(
        &self,
        features: usize,
        nodes: u64,
        classes: usize,
        diagrams: Vec<NumberDiagram>,
    ) -> Result<Values, CircuitError> {
        let mut diagrams = diagrams.into_iter();
        let damaged = |problem: String| CircuitError::Damaged { problem };
        let mut part = |(number, text): (usize, &PartText)| -> Result<Part, CircuitError> {
            let wrong = |problem: String| damaged(format!("part {}: {problem}", number + 1));
            match text {
                PartText::Feature(index) if (*index as usize) < features => {
                    Ok(Part::Feature(Var::new(*index as usize)))
                }
                PartText::Feature(index) => Err(wrong(format!("feature {index} is unknown"))),
                PartText::Gate(gate) => {
                    let gate = gate.gate().map_err(wrong)?;
                    match gate.weights().len() == features {
                        true => Ok(Part::Gate(gate)),
                        false => Err(wrong("the gate has not one weight for each feature".into())),
                    }
                }
                PartText::Diagram(_) => {
                    let diagram = diagrams.next().ok_or_else(|| wrong("it is missing".into()))?;
                    Ok(Part::Diagram(Arc::new(diagram)))
                }
                PartText::Circuit(root) if u64::from(*root) < nodes => Ok(Part::Circuit(NodeId::new(*root as usize))),
                PartText::Circuit(root) => Err(wrong(format!("its root is node {root}, which there is not"))),
            }
        };
        let sum = |text: &SumText| -> Result<WeightedSum, String> {
            let weights = text.weights.iter().map(|weight| parse_fraction(weight)).collect::<Result<_, _>>()?;
            Ok(WeightedSum { constant: parse_fraction(&text.constant)?, weights })
        };
        let parts = self.parts.iter().enumerate().map(&mut part).collect::<Result<_, _>>()?;
        let values: Vec<WeightedSum> = self.values.iter().map(sum).collect::<Result<_, _>>().map_err(damaged)?;
        if values.len() != classes.max(1) {
            return Err(damaged(format!("there are {} values for {classes} classes", values.len())));
        }
        let rule = match self.rule {
            RuleText::Sign => Rule::Sign,
            RuleText::Largest => Rule::Largest,
            RuleText::Number => Rule::Number,
        };
        Values::new(parts, values, rule)
    }
}
