//! The pair of sweeps over a smooth circuit in whole numbers.
//!
//! With weights that are fractions, each variable's over its own denominator, it is enough to sweep the numerators: in
//! a smooth circuit every product that an or-gate adds up has one factor for each of the same variables, so all have
//! the same denominator. In a one-hot group every product has exactly one positive literal, and the negative ones weigh
//! 1, so a group counts as one variable. Copies of features and switches of groups (`blocks`) have weights of
//! denominator 1 that add up to 1. So a product without them is also right, and the circuit need not be smooth in them.
//! The upward sweep computes a node's value from its children's, the downward sweep the derivative of the root by it.
//! Cost: linear in the edges.

use super::blocks::Role;
use super::polynomial::Integer;
use super::ways::Weighted;
use crate::circuit::{Circuit, CircuitError, Node, NodeId, smooth_over};
use crate::lit::{Var, Watch};
use dashu_int::IBig;

/// A smooth circuit, ready to be swept.
pub(super) struct IntegerSweeps {
    circuit: Circuit,
    nodes: Vec<NodeId>,
    /// The variables that the circuit mentions.
    pub(super) mentioned: Vec<Var>,
    pub(super) one_hot: Vec<bool>,
}

/// The memory of the sweeps, with their results.
pub(super) struct Sweep<T> {
    values: Vec<T>,
    reaches: Vec<T>,
    /// For each variable, the weights of its literal and of the negation.
    pub(super) weights: Vec<[T; 2]>,
    /// The derivatives of the root by them.
    pub(super) slopes: Vec<[T; 2]>,
}

/// Whether a variable's weights can have a denominator other than 1: features, and switches in the middle of a path.
pub(super) fn has_units(role: Role) -> bool {
    matches!(role, Role::Feature(_) | Role::Outside(_) | Role::Player(_))
}

impl IntegerSweeps {
    pub(super) fn new(weighted: &Weighted) -> Result<Self, CircuitError> {
        // A column's bits are on every path that has a value, in one copy or the other.
        let counts = |var: Var| has_units(weighted.roles[var.index()]) && !weighted.one_hot[var.index()];
        let circuit = smooth_over(&weighted.circuit, counts, usize::MAX, &Watch::unlimited())?;
        let (nodes, mentioned) = (circuit.reachable(), circuit.mentioned());
        Ok(IntegerSweeps { circuit, nodes, mentioned, one_hot: weighted.one_hot.clone() })
    }

    pub(super) fn memory<T: Integer>(&self) -> Sweep<T> {
        let nodes = self.circuit.stored_nodes();
        let pairs = vec![[T::zero(), T::zero()]; self.circuit.variables()];
        Sweep { values: vec![T::zero(); nodes], reaches: vec![T::zero(); nodes], weights: pairs.clone(), slopes: pairs }
    }

    /// The value of the root.
    pub(super) fn up<T: Integer>(&self, sweep: &mut Sweep<T>) -> T {
        let one = T::from_big(&IBig::ONE);
        for &id in &self.nodes {
            let at = |child: &NodeId| &sweep.values[child.index()];
            sweep.values[id.index()] = match self.circuit.node(id) {
                Node::Constant(value) => {
                    if value {
                        one.clone()
                    } else {
                        T::zero()
                    }
                }
                Node::Literal(lit) => sweep.weights[lit.var().index()][usize::from(lit.is_negative())].clone(),
                Node::Decision { var, lo, hi } => {
                    let [x, not_x] = &sweep.weights[var.index()];
                    let mut value = x.times(at(&hi));
                    value.add_product(not_x, at(&lo));
                    value
                }
                Node::And(children) => children.iter().fold(one.clone(), |product, child| product.times(at(child))),
                Node::Or(children) => children.iter().fold(T::zero(), |sum, child| sum.plus(at(child))),
            };
        }
        sweep.values[self.circuit.root().index()].clone()
    }

    /// The derivatives, after [`IntegerSweeps::up`].
    pub(super) fn down<T: Integer>(&self, sweep: &mut Sweep<T>) {
        let one = T::from_big(&IBig::ONE);
        let Sweep { values, reaches, weights, slopes } = sweep;
        reaches.fill(T::zero());
        slopes.fill([T::zero(), T::zero()]);
        reaches[self.circuit.root().index()] = one.clone();
        let mut before = Vec::new();
        for &id in self.nodes.iter().rev() {
            let reach = reaches[id.index()].clone();
            match self.circuit.node(id) {
                Node::Constant(_) => {}
                Node::Literal(lit) => {
                    slopes[lit.var().index()][usize::from(lit.is_negative())].add_product(&reach, &one);
                }
                Node::Decision { var, lo, hi } => {
                    for (side, child) in [hi, lo].into_iter().enumerate() {
                        slopes[var.index()][side].add_product(&reach, &values[child.index()]);
                        reaches[child.index()].add_product(&reach, &weights[var.index()][side]);
                    }
                }
                Node::Or(children) => {
                    children.iter().for_each(|child| reaches[child.index()].add_product(&reach, &one));
                }
                Node::And(children) => {
                    // For each child, the product of all others: of those before it, then of those after it.
                    before.clear();
                    let mut product = reach;
                    for child in children {
                        before.push(product.clone());
                        product = product.times(&values[child.index()]);
                    }
                    let mut behind = one.clone();
                    for (child, before) in children.iter().zip(&before).rev() {
                        reaches[child.index()].add_product(before, &behind);
                        behind = behind.times(&values[child.index()]);
                    }
                }
            }
        }
    }
}
