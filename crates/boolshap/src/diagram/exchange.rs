//! Exchanging variables: a second neighbourhood for the vtree search, for one diagram.
//!
//! Walks through fragments soon find a good shape of the vtree, but then rarely change which variable is at which leaf:
//! two distant variables change places only through many moves, most of which increase the size. Apart from the names,
//! the diagram of f on the vtree with x and y exchanged equals the diagram of f with x and y exchanged on the current
//! vtree. So an exchange is judged by computing that function, and if it reduces the size, it is carried out by
//! renaming.
//!
//! Cost: four conditionings and three if-then-elses per pair, and n (n - 1) / 2 pairs per sweep.

use super::apply::Op;
use super::error::{DiagramError, Halt};
use super::manager::{Element, Sdd, SddManager};
use super::view::SddNode;
use super::vtree::Vtree;
use crate::lit::{Lit, Var, Watch};

impl SddManager {
    /// The function with two variables exchanged.
    pub fn exchange(&mut self, sdd: Sdd, x: Var, y: Var, watch: &Watch<'_>) -> Result<Sdd, DiagramError> {
        let mut parts = [Sdd::FALSE; 4];
        for (which, x_value) in [false, true].into_iter().enumerate() {
            let half = self.condition(sdd, x.literal(x_value), watch)?;
            for (other, y_value) in [false, true].into_iter().enumerate() {
                parts[2 * which + other] = self.condition(half, y.literal(y_value), watch)?;
            }
        }
        // parts[2 x + y] is the old function at (x, y); the new function's value there is the old one's at (y, x).
        let [at_00, at_01, at_10, at_11] = parts;
        let x_false = self.if_then_else(y, at_10, at_00, watch)?;
        let x_true = self.if_then_else(y, at_11, at_01, watch)?;
        Ok(self.if_then_else(x, x_true, x_false, watch)?)
    }

    fn if_then_else(&mut self, var: Var, then: Sdd, otherwise: Sdd, watch: &Watch<'_>) -> Result<Sdd, Halt> {
        if then == otherwise {
            return Ok(then);
        }
        let [yes, no] = [var.positive(), var.negative()].map(|l| Sdd(2 + l.code() as u32));
        let one = self.apply(Op::And, yes, then, watch)?;
        let other = self.apply(Op::And, no, otherwise, watch)?;
        self.apply(Op::Or, one, other, watch)
    }

    /// A manager that holds only this SDD, with x and y renamed to each other in it and in the vtree.
    fn renamed(&self, root: Sdd, x: Var, y: Var) -> Result<(SddManager, Sdd), Halt> {
        let rename = |var: Var| {
            if var == x {
                y
            } else if var == y {
                x
            } else {
                var
            }
        };
        let mut vtree = self.vtree.clone();
        vtree.exchange_leaves(x, y);
        self.copied(root, vtree, rename)
    }

    /// A manager that holds only this SDD over another vtree, with its variables renamed. Every vtree node at which the
    /// SDD has a decision must also exist in the other vtree, over the same variables, renamed.
    pub(super) fn copied(
        &self,
        root: Sdd,
        vtree: Vtree,
        rename: impl Fn(Var) -> Var,
    ) -> Result<(SddManager, Sdd), Halt> {
        let mut fresh = SddManager::new(vtree);
        fresh.max_nodes = self.max_nodes;
        let mut new = vec![Sdd::FALSE; self.nodes.len()];
        for sdd in self.topological_order(&[root]) {
            new[sdd.index()] = match self.node(sdd) {
                SddNode::Constant(_) => sdd,
                SddNode::Literal(literal) => {
                    let renamed: Lit = rename(literal.var()).literal(!literal.is_negative());
                    Sdd(2 + renamed.code() as u32)
                }
                SddNode::Decision { vtree, elements } => {
                    let rename = |e: &Element| Element { prime: new[e.prime.index()], sub: new[e.sub.index()] };
                    let mut elements: Vec<Element> = elements.iter().map(rename).collect();
                    elements.sort_unstable();
                    fresh.unique(vtree, &elements)?
                }
            };
        }
        let root = new[root.index()];
        fresh.protect(root);
        Ok((fresh, root))
    }

    /// Tries to exchange each pair of variables and keeps the exchanges that make the SDD smaller. It must be the only
    /// protected SDD. Afterwards all handles are invalid except `root`, which is updated and stays protected.
    pub(super) fn exchange_sweep(&mut self, root: &mut Sdd, watch: &Watch<'_>) -> Result<(), DiagramError> {
        let mut size = self.size(*root);
        for i in 0..self.variables() {
            for j in i + 1..self.variables() {
                watch.check()?;
                let (x, y) = (Var::new(i), Var::new(j));
                let exchanged = match self.exchange(*root, x, y, watch) {
                    Err(DiagramError::TooManyNodes { .. }) => {
                        self.collect_garbage();
                        continue;
                    }
                    outcome => outcome?,
                };
                let new_size = self.size(exchanged);
                if new_size < size {
                    (*self, *root) = self.renamed(exchanged, x, y)?;
                    size = new_size;
                } else if self.decision_count() > 8 * self.live_decision_count() + 1000 {
                    self.collect_garbage();
                }
            }
        }
        self.collect_garbage();
        Ok(())
    }
}
