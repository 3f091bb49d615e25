//! The tape of a circuit with products of two inner nodes, and the pair of sweeps over it.
//!
//! Where values are multiplied, the reach of a node depends on its neighbours' values, so the upward sweep comes first.
//! Every node is a sum of products of two slots, a decision being `x hi + x' lo` with slots for both literals:
//!
//! ```text
//! up:    value(node) = sum over its pairs (a, b) of value(a) value(b)
//! down:  reach(slot) = sum over the pairs that use it of reach(node of the pair) * value(the pair's other slot)
//! ```
//!
//! Both are gathered, so that every number is stored once. The reach of a literal's slot is the derivative of the root by
//! its weight; as the two weights of a variable add up to 1, dF/dw is the reach of x minus that of its negation; for a
//! one-hot bit, whose negation always weighs 1, it is the reach of x.
//! Invariant: a pair's slots come before its node. Cost: 2 multiply-adds for each pair on the way down, 1 on the way up.

use super::error_bound::SweepRoundings;
use super::fold::{Folded, Item, Term};
use super::lanes::SlotId;
use crate::lit::Var;
use pulp::Simd;

/// Consecutive slots that each add up this many products.
#[derive(Clone, Copy, Debug)]
struct Run {
    slots: u32,
    products: u32,
}

/// A tape of sums of products. Slot 0 is false, 1 is true, then come the literals in the order of the weights, then the
/// nodes, the root last.
pub(super) struct GateTape<I> {
    /// Which of the players are one-hot bits.
    one_hot: Vec<bool>,
    used: usize,
    nodes: usize,
    up: Vec<Run>,
    up_pairs: Vec<[I; 2]>,
    /// From the last node to the first literal, without the root.
    down: Vec<Run>,
    /// A node, and the slot that its reach is multiplied by.
    down_pairs: Vec<[I; 2]>,
}

impl<I: SlotId> GateTape<I> {
    /// The number of slots for values; the reaches use the same number again.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// The rounding errors of a sweep's results: products and sums of positive numbers, counted slot by slot.
    pub(super) fn roundings(&self) -> SweepRoundings {
        let mut values = vec![0.0f64; self.used - self.nodes];
        // The weight of every other literal is 1 minus a weight.
        (2..values.len()).filter(|slot| slot % 2 == 1).for_each(|slot| values[slot] = 1.0);
        let mut pairs = &self.up_pairs[..];
        for run in &self.up {
            for _ in 0..run.slots {
                let (own, rest) = pairs.split_at(run.products as usize);
                pairs = rest;
                let worst = own.iter().map(|[a, b]| values[a.index()] + values[b.index()]).fold(0.0, f64::max);
                values.push(worst + own.len() as f64);
            }
        }
        let mut reaches = vec![0.0f64; self.used];
        let (mut own, mut pairs) = (self.used - 1, &self.down_pairs[..]);
        for run in &self.down {
            for _ in 0..run.slots {
                let (users, rest) = pairs.split_at(run.products as usize);
                pairs = rest;
                let worst = users.iter().map(|[node, other]| reaches[node.index()] + values[other.index()]);
                own -= 1;
                reaches[own] = worst.fold(0.0, f64::max) + users.len() as f64;
            }
        }
        let literals = &reaches[2..self.used - self.nodes];
        SweepRoundings::of_gates(values[self.used - 1], literals.iter().copied().fold(0.0, f64::max))
    }

    /// As for a diagram; `slots` holds the values, then the reaches.
    #[inline(always)]
    pub(super) fn sweep<S: Simd, const R: usize>(
        &self,
        simd: S,
        weights: &[[S::f64s; R]],
        slots: &mut [[S::f64s; R]],
        slopes: &mut [[S::f64s; R]],
    ) -> [S::f64s; R] {
        let (values, reaches) = slots.split_at_mut(I::room(self.used));
        let [zero, one] = [0.0, 1.0].map(|value| [simd.splat_f64s(value); R]);
        values[..2].copy_from_slice(&[zero, one]);
        values[2..][..weights.len()].copy_from_slice(weights);
        let (values, reaches) = (I::slots(values), I::slots(reaches));

        let mut own = 2 + weights.len();
        let mut pairs = &self.up_pairs[..];
        for run in &self.up {
            let (these, rest) = pairs.split_at(run.slots as usize * run.products as usize);
            pairs = rest;
            for of_one in these.chunks_exact(run.products as usize) {
                let mut value = zero;
                for [a, b] in of_one {
                    let (a, b) = (a.get(values), b.get(values));
                    for r in 0..R {
                        value[r] = simd.mul_add_e_f64s(a[r], b[r], value[r]);
                    }
                }
                I::new(own).set(values, value);
                own += 1;
            }
        }

        I::new(self.used - 1).set(reaches, one);
        let mut own = self.used - 1;
        let mut pairs = &self.down_pairs[..];
        for run in &self.down {
            let (these, rest) = pairs.split_at(run.slots as usize * run.products as usize);
            pairs = rest;
            for of_one in these.chunks_exact(run.products as usize) {
                let mut reach = zero;
                for [node, other] in of_one {
                    let (node, other) = (node.get(reaches), other.get(values));
                    for r in 0..R {
                        reach[r] = simd.mul_add_e_f64s(node[r], other[r], reach[r]);
                    }
                }
                own -= 1;
                I::new(own).set(reaches, reach);
            }
        }

        for (player, (slope, &one_hot)) in slopes.iter_mut().zip(&self.one_hot).enumerate() {
            let (x, not_x) = (I::new(2 + 2 * player).get(reaches), I::new(3 + 2 * player).get(reaches));
            for r in 0..R {
                slope[r] = if one_hot { x[r] } else { simd.sub_f64s(x[r], not_x[r]) };
            }
        }
        I::new(self.used - 1).get(values)
    }

    /// Lays out a folded circuit whose root is its last item; `players` are its variables in ascending order.
    pub(super) fn new(folded: &Folded, players: &[Var], one_hot: &[bool]) -> Self {
        let first = 2 + 2 * players.len();
        let used = first + folded.items.len();
        let mut tape = GateTape {
            one_hot: one_hot.to_vec(),
            used,
            nodes: folded.items.len(),
            up: Vec::new(),
            up_pairs: Vec::new(),
            down: Vec::new(),
            down_pairs: Vec::new(),
        };
        let slot = |term: Term| if term <= Term::TRUE { term.index() } else { term.index() - 2 + first };
        for item in &folded.items {
            let start = tape.up_pairs.len();
            // A product with false is left out.
            let mut add = |pair: [usize; 2]| (!pair.contains(&0)).then(|| tape.up_pairs.push(pair.map(I::new)));
            match *item {
                Item::Decision { var, lo, hi } => {
                    let literal = 2 + 2 * players.partition_point(|&player| player < var);
                    add([literal, slot(hi)]);
                    add([literal + 1, slot(lo)]);
                }
                Item::Sum { start, end } => folded.pairs[start..end].iter().for_each(|pair| {
                    add(pair.map(slot));
                }),
            }
            extend(&mut tape.up, tape.up_pairs.len() - start);
        }
        tape.lay_down(first);
        tape
    }

    /// Derives the pairs of the downward sweep from those of the upward sweep, whose nodes begin at slot `first`.
    fn lay_down(&mut self, first: usize) {
        // For each slot, the position where its users begin, with slots ordered from last to first.
        let mut starts = vec![0u32; self.used + 1];
        for slot in self.up_pairs.as_flattened() {
            starts[self.used - 1 - slot.index()] += 1;
        }
        // A literal that occurs nowhere, while its negation does, has one product too: zero.
        starts[1..].iter_mut().for_each(|count| *count = (*count).max(1));
        let total = starts.iter_mut().fold(0, |sum, count| sum + std::mem::replace(count, sum));
        let mut next = starts.clone();
        let nothing = [I::new(1), I::new(0)];
        let mut pairs = vec![nothing; total as usize];
        let mut node = first;
        let mut rest = &self.up_pairs[..];
        for run in &self.up {
            for _ in 0..run.slots {
                let (own, more) = rest.split_at(run.products as usize);
                rest = more;
                for &[a, b] in own {
                    for (slot, other) in [(a, b), (b, a)] {
                        let place = &mut next[self.used - 1 - slot.index()];
                        pairs[*place as usize] = [I::new(node), other];
                        *place += 1;
                    }
                }
                node += 1;
            }
        }
        // Leaves out the root, which comes first and has no users, and the constants, which come last.
        let (begin, end) = (starts[1], starts[self.used - 2]);
        starts[1..self.used - 1].windows(2).for_each(|pair| extend(&mut self.down, (pair[1] - pair[0]) as usize));
        self.down_pairs = pairs[begin as usize..end as usize].to_vec();
    }
}

fn extend(runs: &mut Vec<Run>, products: usize) {
    let products = products as u32;
    match runs.last_mut() {
        Some(run) if run.products == products => run.slots += 1,
        _ => runs.push(Run { slots: 1, products }),
    }
}
