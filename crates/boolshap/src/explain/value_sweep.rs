//! Computes a circuit's value upwards from the weights of its literals, eight sets of weights at a time.
//!
//! Nothing is ever subtracted, and the weight of a negated literal is given, not computed as 1 minus the other. So
//! every value has a small RELATIVE error, however small it is, and so has a quotient of two values. The fused step of
//! the sweeps for derivatives, `lo + w (hi - lo)`, would not do: with w near 1 and a small `hi`, the rounding error of
//! `lo` remains. Cost: 3 floating-point operations for each node and set.

use super::fold::{Folded, Item};
use super::lanes::LANES;
use crate::circuit::Circuit;
use crate::lit::Var;

/// Numbers that are not negative.
pub(super) trait Positive: Copy + Send {
    const ZERO: Self;
    const ONE: Self;
    fn times(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
    /// The quotient, for a divisor that is not zero.
    fn over(self, other: Self) -> f64;
}

impl Positive for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn is_zero(self) -> bool {
        self == 0.0
    }

    fn over(self, other: Self) -> f64 {
        self / other
    }
}

/// A circuit prepared for evaluation.
pub(super) struct ValueSweep {
    folded: Folded,
    /// The variables with an influence, in ascending order.
    pub(super) mentioned: Vec<Var>,
    /// The largest relative error of a value, in units of rounding; includes one for the weight of each literal.
    pub(super) roundings: f64,
}

/// Memory of a sweep: the weights of each variable's literal and of its negation in each lane, and the values.
pub(super) struct SweepMemory<T> {
    pub(super) weights: Vec<[[T; LANES]; 2]>,
    values: Vec<[T; LANES]>,
}

impl ValueSweep {
    /// Prepares a decomposable circuit.
    pub(super) fn new(circuit: &Circuit) -> Self {
        let folded = Folded::new(circuit);
        let decision = |item: &Item| match item {
            Item::Decision { var, .. } => Some(*var),
            Item::Sum { .. } => None,
        };
        let mut mentioned: Vec<Var> = folded.items.iter().filter_map(decision).collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        let roundings = roundings(&folded);
        ValueSweep { folded, mentioned, roundings }
    }

    /// The number of nodes swept.
    pub(super) fn nodes(&self) -> usize {
        self.folded.items.len()
    }

    /// Memory for a circuit of this many variables.
    pub(super) fn memory<T: Positive>(&self, variables: usize) -> SweepMemory<T> {
        let values = Vec::with_capacity(self.folded.items.len() + 2);
        SweepMemory { weights: vec![[[T::ZERO; LANES]; 2]; variables], values }
    }

    /// The value of the root in each lane.
    #[inline(always)]
    pub(super) fn value<T: Positive>(&self, memory: &mut SweepMemory<T>) -> [T; LANES] {
        let SweepMemory { weights, values } = memory;
        values.clear();
        values.extend([[T::ZERO; LANES], [T::ONE; LANES]]);
        for item in &self.folded.items {
            let mut value = [T::ZERO; LANES];
            let mut add = |a: &[T; LANES], b: &[T; LANES]| {
                for lane in 0..LANES {
                    value[lane] = value[lane].plus(a[lane].times(b[lane]));
                }
            };
            match *item {
                Item::Decision { var, lo, hi } => {
                    let [x, not_x] = &weights[var.index()];
                    add(x, &values[hi.index()]);
                    add(not_x, &values[lo.index()]);
                }
                Item::Sum { start, end } => {
                    for [a, b] in &self.folded.pairs[start..end] {
                        add(&values[a.index()], &values[b.index()]);
                    }
                }
            }
            values.push(value);
        }
        values[self.folded.root.index()]
    }
}

/// Counts roundings: a product has those of both factors and its own, a sum of positive numbers at most those of its
/// worst summand and one for each addition.
fn roundings(folded: &Folded) -> f64 {
    let mut roundings = vec![0.0f64; 2];
    for item in &folded.items {
        let at = |index: usize| roundings[index];
        let own = match *item {
            Item::Decision { lo, hi, .. } => at(lo.index()).max(at(hi.index())) + 3.0,
            Item::Sum { start, end } => {
                let pairs = &folded.pairs[start..end];
                let worst = pairs.iter().map(|[a, b]| at(a.index()) + at(b.index())).fold(0.0, f64::max);
                worst + pairs.len() as f64
            }
        };
        roundings.push(own);
    }
    roundings[folded.root.index()]
}
