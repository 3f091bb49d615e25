//! Model counts and weighted model counts.
//!
//! The primes of a decision exclude each other and share no variable with the subs, so the count of a decision is the
//! sum over elements of prime count times sub count, each taken over all variables of its side of the vtree node. If
//! the prime or sub is at a lower vtree node, its count is multiplied by the weights of the other variables of that
//! side. Those are to the left and right of its own interval of leaves, and products over intervals are looked up in a
//! table (a disjoint sparse table: n log n products once, one multiplication per lookup, no division).
//!
//! Cost: one pass over the elements. Variables that the diagram never mentions are counted too.

use super::manager::{Sdd, SddManager};
use super::view::SddNode;
use super::vtree::VtreeId;
use crate::lit::Lit;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// Weights of literals: a commutative semiring.
pub trait Weight: Clone {
    /// The weight of false, neutral for [`Weight::plus`].
    fn zero() -> Self;
    /// The weight of true, neutral for [`Weight::times`].
    fn one() -> Self;
    /// The weight of a disjunction of exclusive parts.
    fn plus(&self, other: &Self) -> Self;
    /// The weight of a conjunction of independent parts.
    fn times(&self, other: &Self) -> Self;
}

impl Weight for f64 {
    fn zero() -> Self {
        0.0
    }
    fn one() -> Self {
        1.0
    }
    fn plus(&self, other: &Self) -> Self {
        self + other
    }
    fn times(&self, other: &Self) -> Self {
        self * other
    }
}

macro_rules! exact_weight {
    ($kind:ty) => {
        impl Weight for $kind {
            fn zero() -> Self {
                <$kind>::ZERO
            }
            fn one() -> Self {
                <$kind>::ONE
            }
            fn plus(&self, other: &Self) -> Self {
                self + other
            }
            fn times(&self, other: &Self) -> Self {
                self * other
            }
        }
    };
}

exact_weight!(UBig);
exact_weight!(RBig);

/// Products over intervals. Row k serves intervals whose ends first differ in bit k: for each block of 2^(k+1) entries
/// it holds the products from every entry to the middle of the block.
struct IntervalProducts<W> {
    rows: Vec<Vec<W>>,
    factors: Vec<W>,
}

impl<W: Weight> IntervalProducts<W> {
    fn new(factors: Vec<W>) -> Self {
        let mut rows = Vec::new();
        let mut half = 1;
        while half < factors.len() {
            let mut row = factors.clone();
            for middle in (half..factors.len()).step_by(2 * half) {
                for i in (middle - half..middle - 1).rev() {
                    row[i] = row[i].times(&row[i + 1]);
                }
                for i in middle + 1..factors.len().min(middle + half) {
                    row[i] = row[i - 1].times(&row[i]);
                }
            }
            rows.push(row);
            half *= 2;
        }
        IntervalProducts { rows, factors }
    }

    /// The product of the factors from..to.
    fn product(&self, from: usize, to: usize) -> W {
        match to - from {
            0 => W::one(),
            1 => self.factors[from].clone(),
            _ => {
                let row = &self.rows[(from ^ (to - 1)).ilog2() as usize];
                row[from].times(&row[to - 1])
            }
        }
    }
}

impl SddManager {
    /// The number of assignments to all the manager's variables that make the SDD true.
    pub fn model_count(&self, sdd: Sdd) -> UBig {
        self.fold(sdd, |_| UBig::ONE, |count, from, to| count << (to - from))
    }

    /// The sum, over the assignments to all the manager's variables that make the SDD true, of the product of the
    /// weights of their literals.
    pub fn weighted_count<W: Weight>(&self, sdd: Sdd, weight: impl Fn(Lit) -> W) -> W {
        let order = self.vtree.variable_order();
        let both = order.iter().map(|var| weight(var.positive()).plus(&weight(var.negative()))).collect();
        let table = IntervalProducts::new(both);
        self.fold(sdd, weight, |count, from, to| if from == to { count } else { count.times(&table.product(from, to)) })
    }

    /// `widen(w, from, to)` multiplies w by the weights of the unmentioned variables at positions from..to of the
    /// vtree's variable order.
    fn fold<W: Weight>(&self, root: Sdd, weight: impl Fn(Lit) -> W, widen: impl Fn(W, usize, usize) -> W) -> W {
        let Some(top) = self.vtree.root() else {
            return if root == Sdd::TRUE { W::one() } else { W::zero() };
        };
        let mut place = vec![usize::MAX; self.nodes.len()];
        let mut values: Vec<W> = Vec::new();
        // The weight of a node over all variables below a vtree node.
        let over = |values: &[W], place: &[usize], sdd: Sdd, whole: VtreeId| -> W {
            let (first, last) = self.vtree.span(whole);
            let (first, end) = (first / 2, last / 2 + 1);
            if sdd == Sdd::FALSE {
                return W::zero();
            }
            let value = values[place[sdd.index()]].clone();
            match self.vtree_of(sdd) {
                None => widen(value, first, end),
                Some(own) => {
                    let (own_first, own_last) = self.vtree.span(own);
                    widen(widen(value, first, own_first / 2), own_last / 2 + 1, end)
                }
            }
        };
        for sdd in self.topological_order(&[root]) {
            let value = match self.node(sdd) {
                SddNode::Constant(true) => W::one(),
                SddNode::Constant(false) => W::zero(),
                SddNode::Literal(literal) => weight(literal),
                SddNode::Decision { vtree, elements } => match self.vtree.children(vtree) {
                    None => W::zero(),
                    Some((left, right)) => elements.iter().fold(W::zero(), |sum, e| {
                        let prime = over(&values, &place, e.prime, left);
                        sum.plus(&prime.times(&over(&values, &place, e.sub, right)))
                    }),
                },
            };
            place[sdd.index()] = values.len();
            values.push(value);
        }
        over(&values, &place, root, top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_products_agree_with_multiplying() {
        for length in 0..20_usize {
            let factors: Vec<UBig> = (0..length).map(|i| UBig::from(i + 2)).collect();
            let table = IntervalProducts::new(factors.clone());
            for from in 0..=length {
                for to in from..=length {
                    let slowly = factors[from..to].iter().fold(UBig::ONE, |product, f| product * f);
                    assert_eq!(table.product(from, to), slowly, "{from}..{to} of {length}");
                }
            }
        }
    }
}
