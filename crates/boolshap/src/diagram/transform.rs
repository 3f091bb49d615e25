//! Negation, conditioning on a literal, and existential quantification.
//!
//! Negating a decision negates its subs, which keeps it compressed and trimmed; every node stores its negation, so that
//! it is computed at most once. Conditioning replaces a literal by true and its negation by false in the branch of the
//! vtree that holds the variable. Both list the affected nodes children first, then rebuild bottom up: the cost is the
//! number of their elements, plus, for conditioning, merging elements whose subs have become equal.

use super::apply::Op;
use super::error::{DiagramError, Halt};
use super::manager::{Element, NONE, Sdd, SddManager};
use super::vtree::VtreeId;
use crate::lit::{Lit, Var, Watch};
use std::collections::HashMap;

impl SddManager {
    /// The negation.
    pub fn negate(&mut self, sdd: Sdd) -> Result<Sdd, DiagramError> {
        Ok(self.complement(sdd)?)
    }

    pub(super) fn complement(&mut self, sdd: Sdd) -> Result<Sdd, Halt> {
        let known = self.nodes[sdd.index()].negation;
        if known != NONE {
            return Ok(Sdd(known));
        }
        let mut stack = vec![sdd];
        let mut elements = Vec::new();
        while let Some(&top) = stack.last() {
            if self.nodes[top.index()].negation != NONE {
                stack.pop();
                continue;
            }
            let waiting = stack.len();
            elements.clear();
            for &Element { prime, sub } in self.elements(top) {
                let negation = self.nodes[sub.index()].negation;
                if negation == NONE {
                    stack.push(sub);
                }
                elements.push(Element { prime, sub: Sdd(negation) });
            }
            if stack.len() == waiting {
                let negation = self.unique(VtreeId(self.nodes[top.index()].vtree), &elements)?;
                self.nodes[top.index()].negation = negation.0;
                self.nodes[negation.index()].negation = top.0;
                stack.pop();
            }
        }
        Ok(Sdd(self.nodes[sdd.index()].negation))
    }

    /// The SDD with the literal set to true: it no longer depends on the literal's variable.
    pub fn condition(&mut self, sdd: Sdd, literal: Lit, watch: &Watch<'_>) -> Result<Sdd, DiagramError> {
        self.check_literal(literal)?;
        let leaf = self.vtree.leaf(literal.var());
        let mut done: HashMap<Sdd, Sdd> = HashMap::new();
        let [yes, no] = [literal, !literal].map(|l| Sdd(2 + l.code() as u32));
        done.extend([(yes, Sdd::TRUE), (no, Sdd::FALSE)]);
        let mut stack = vec![sdd];
        while let Some(&top) = stack.last() {
            if done.contains_key(&top) {
                stack.pop();
                continue;
            }
            let vtree = VtreeId(self.nodes[top.index()].vtree);
            if !self.is_decision(top) || !self.vtree.is_below(leaf, vtree) {
                done.insert(top, top);
                stack.pop();
                continue;
            }
            let in_primes = self.vtree.position(leaf) < self.vtree.position(vtree);
            let waiting = stack.len();
            let mut elements = Vec::with_capacity(self.elements(top).len());
            for &Element { prime, sub } in self.elements(top) {
                let child = if in_primes { prime } else { sub };
                match done.get(&child) {
                    None => stack.push(child),
                    Some(&new) if in_primes && new == Sdd::FALSE => {}
                    Some(&new) if in_primes => elements.push(Element { prime: new, sub }),
                    Some(&new) => elements.push(Element { prime, sub: new }),
                }
            }
            if stack.len() == waiting {
                watch.check()?;
                let result = self.decision(vtree, &mut elements, watch)?;
                done.insert(top, result);
                stack.pop();
            }
        }
        Ok(done[&sdd])
    }

    /// True where some value of the variable makes this SDD true.
    pub fn exists(&mut self, sdd: Sdd, var: Var, watch: &Watch<'_>) -> Result<Sdd, DiagramError> {
        let with = self.condition(sdd, var.positive(), watch)?;
        let without = self.condition(sdd, var.negative(), watch)?;
        Ok(self.apply(Op::Or, with, without, watch)?)
    }
}
