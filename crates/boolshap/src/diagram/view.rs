//! Inspecting a finished SDD: its nodes children first, its size, its value on an assignment.

use super::error::DiagramError;
use super::manager::{Element, Sdd, SddManager};
use super::vtree::VtreeId;
use crate::lit::Lit;

/// The content of an SDD node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SddNode<'a> {
    /// True or false.
    Constant(bool),
    /// A literal.
    Literal(Lit),
    /// The or, over all elements, of prime and sub.
    Decision {
        /// The vtree node that splits the variables of primes from those of subs.
        vtree: VtreeId,
        /// At least two elements, sorted by prime.
        elements: &'a [Element],
    },
}

impl SddManager {
    /// The content of a node.
    pub fn node(&self, sdd: Sdd) -> SddNode<'_> {
        if sdd.is_constant() {
            SddNode::Constant(sdd == Sdd::TRUE)
        } else if !self.is_decision(sdd) {
            SddNode::Literal(Lit::from_code(sdd.index() - 2))
        } else {
            let vtree = VtreeId(self.nodes[sdd.index()].vtree);
            SddNode::Decision { vtree, elements: self.elements(sdd) }
        }
    }

    /// Every node that these roots reach, once, children before parents, and in each decision primes before subs.
    pub fn topological_order(&self, roots: &[Sdd]) -> Vec<Sdd> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = Vec::new();
        for &root in roots {
            if !std::mem::replace(&mut seen[root.index()], true) {
                stack.push((root, 0));
            }
            while let Some((sdd, child)) = stack.pop() {
                let elements = self.elements(sdd);
                if child == 2 * elements.len() {
                    order.push(sdd);
                    continue;
                }
                stack.push((sdd, child + 1));
                let element = elements[child / 2];
                let below = if child % 2 == 0 { element.prime } else { element.sub };
                if !std::mem::replace(&mut seen[below.index()], true) {
                    stack.push((below, 0));
                }
            }
        }
        order
    }

    /// The number of elements in the decisions of this SDD, shared ones counted once: the size that libsdd reports.
    pub fn size(&self, sdd: Sdd) -> usize {
        self.topological_order(&[sdd]).into_iter().map(|node| self.elements(node).len()).sum()
    }

    /// The number of decisions in this SDD, shared ones counted once.
    pub fn decision_nodes(&self, sdd: Sdd) -> usize {
        self.topological_order(&[sdd]).into_iter().filter(|&node| self.is_decision(node)).count()
    }

    /// The value of the SDD when variable i has the value `assignment[i]`.
    pub fn evaluate(&self, sdd: Sdd, assignment: &[bool]) -> Result<bool, DiagramError> {
        if assignment.len() != self.variables() {
            let (given, variables) = (assignment.len(), self.variables());
            return Err(DiagramError::AssignmentLength { given, variables });
        }
        let mut values = vec![false; self.nodes.len()];
        for node in self.topological_order(&[sdd]) {
            let value = match self.node(node) {
                SddNode::Constant(value) => value,
                SddNode::Literal(literal) => literal.holds(assignment[literal.var().index()]),
                SddNode::Decision { elements, .. } => {
                    elements.iter().any(|e| values[e.prime.index()] && values[e.sub.index()])
                }
            };
            values[node.index()] = value;
        }
        Ok(values[sdd.index()])
    }
}
