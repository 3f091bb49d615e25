//! The states of the partial-sums route: what remains of a network after some of its inputs are fixed.
//!
//! A gate is *settled* when the inputs fixed so far decide it, or when it no longer matters because every gate that
//! uses it is settled. An open gate is described by one number: how much weight it still needs. Settled gates update
//! the needs of the next layer and are forgotten, so two assignments that settled different gates but left the same
//! needs are in the same state. A state thus has one number per gate, 0 for settled ones. Equal states have equal
//! residual functions; the converse need not hold, and reduction merges the rest.
//!
//! Needs are normalised: all needs between two consecutive sums that the remaining inputs can reach have the same
//! meaning, so each is raised to the larger of these sums.

use super::DiagramError;
use crate::lit::Var;
use crate::model::{Gate, Label};

/// The largest total weight of a gate, so that needs fit in 32 bits.
const MAX_TOTAL: u128 = 1 << 31;
/// The most gates in a layer: a set of gates is a 128-bit number.
const MAX_WIDTH: usize = 128;
/// Reachable sums are listed up to this many; beyond that, needs are not normalised.
const MAX_LISTED: usize = 1 << 12;

/// A network prepared for one order of its inputs.
pub(super) struct SumNetwork {
    first: Vec<FirstGate>,
    /// The gates of the later layers.
    deeper: Vec<Vec<DeepGate>>,
    /// Where each layer's numbers begin in a state.
    starts: Vec<usize>,
    numbers: usize,
    /// The number of bytes per number in a packed state.
    width: usize,
}

/// A gate over the inputs.
struct FirstGate {
    need: i32,
    /// What the input of each level contributes when 0 and when 1.
    gives: Vec<[i32; 2]>,
    /// For each level, the total weight of the remaining inputs.
    left: Vec<i32>,
    /// For each level, the sums that the remaining inputs can reach, if not all.
    reached: Vec<Option<Vec<i32>>>,
}

/// A gate over gates.
struct DeepGate {
    need: i32,
    /// What each gate of the layer before contributes when false and when true.
    gives: Vec<[i32; 2]>,
    /// The set of its inputs.
    looks_at: u128,
    /// Whether all of them have weight 1.
    unit: bool,
}

/// An unpacked state.
#[derive(Clone)]
pub(super) struct Open {
    /// What each gate still needs; 0 for settled ones.
    needs: Vec<i32>,
    /// For each layer, the gates that are not settled.
    open: Vec<u128>,
    /// The first-layer gates that are settled true.
    settled_true: u128,
}

/// The result of settling a state.
pub(super) enum Outcome {
    Constant(bool),
    Open,
}

impl SumNetwork {
    pub(super) fn new(label: &Label, order: &[Var]) -> Result<Self, DiagramError> {
        let largest = label.layers().iter().flatten().map(Gate::total).max().unwrap_or(0);
        if largest >= MAX_TOTAL {
            return Err(DiagramError::TooHeavy { route: "partial-sums", total: largest, limit: MAX_TOTAL });
        }
        let widest = label.layers().iter().map(Vec::len).max().unwrap_or(0);
        if widest > MAX_WIDTH {
            return Err(DiagramError::TooWide { route: "partial-sums", width: widest, limit: MAX_WIDTH });
        }
        let (first, deeper) = label.layers().split_first().expect("there is a layer");
        let mut starts = vec![0];
        let mut numbers = first.len();
        for gates in deeper {
            starts.push(numbers);
            numbers += gates.len();
        }
        Ok(SumNetwork {
            first: first.iter().map(|gate| FirstGate::new(gate, order)).collect(),
            deeper: deeper.iter().map(|gates| gates.iter().map(DeepGate::new).collect()).collect(),
            starts,
            numbers,
            width: if largest < 1 << 8 {
                1
            } else if largest < 1 << 16 {
                2
            } else {
                4
            },
        })
    }

    /// The number of words in a packed state: its numbers, then the first-layer gates that are settled true.
    pub(super) fn words(&self) -> usize {
        self.key_words() + self.first.len().div_ceil(64)
    }

    /// The number of words that identify a packed state.
    pub(super) fn key_words(&self) -> usize {
        (self.numbers * self.width).div_ceil(8)
    }

    /// The state before any input is fixed.
    pub(super) fn start(&self) -> Open {
        let first = self.first.iter().map(|gate| gate.need);
        let needs = first.chain(self.deeper.iter().flatten().map(|gate| gate.need)).collect();
        let widths = std::iter::once(self.first.len()).chain(self.deeper.iter().map(Vec::len));
        Open { needs, open: widths.map(|width| !0 >> (MAX_WIDTH - width)).collect(), settled_true: 0 }
    }

    /// Fixes the input of this level, settles what can be settled, and normalises needs.
    pub(super) fn fix(&self, state: &mut Open, level: usize, value: bool) -> Outcome {
        for index in ones(state.open[0]) {
            state.needs[index] -= self.first[index].gives[level][usize::from(value)];
        }
        self.settle(state, level + 1)
    }

    /// The number of inputs from this level on, at most `most`, that count alike: they have equal weights in every
    /// gate, as the bits of one number do. An input whose weights all have the opposite sign also counts alike.
    pub(super) fn alike(&self, level: usize, most: usize) -> usize {
        let levels = self.first.first().map_or(0, |gate| gate.gives.len());
        let as_first = |other: usize| {
            let all = |turned: bool| {
                self.first.iter().all(|gate| {
                    let [when_0, when_1] = gate.gives[other];
                    gate.gives[level] == if turned { [when_1, when_0] } else { [when_0, when_1] }
                })
            };
            all(false) || all(true)
        };
        (level..levels.min(level + most)).take_while(|&other| as_first(other)).count().max(1)
    }

    /// Fixes `many` inputs that count alike: `set` of them contribute what the first one does when 1, the others what
    /// it does when 0.
    pub(super) fn fix_alike(&self, state: &mut Open, level: usize, many: usize, set: usize) -> Outcome {
        for index in ones(state.open[0]) {
            let [when_0, when_1] = self.first[index].gives[level];
            state.needs[index] -= when_0 * (many - set) as i32 + when_1 * set as i32;
        }
        self.settle(state, level + many)
    }

    /// Settles what can be settled when the inputs before this level are fixed.
    pub(super) fn settle(&self, state: &mut Open, level: usize) -> Outcome {
        for index in ones(state.open[0]) {
            let gate = &self.first[index];
            let need = state.needs[index];
            if need <= 0 || need > gate.left[level] {
                state.settled_true |= u128::from(need <= 0) << index;
                self.decide(state, 0, index, need <= 0);
            } else if let Some(sums) = &gate.reached[level] {
                state.needs[index] = sums[sums.partition_point(|&sum| sum < need)];
            }
        }
        let mut all_true = self.deeper.is_empty() && state.open[0] == 0;
        if self.deeper.is_empty() && state.settled_true | state.open[0] != !0 >> (MAX_WIDTH - self.first.len()) {
            return Outcome::Constant(false);
        }
        for (before, gates) in self.deeper.iter().enumerate() {
            let last = before + 1 == self.deeper.len();
            for index in ones(state.open[before + 1]) {
                let gate = &gates[index];
                let need = state.needs[self.starts[before + 1] + index];
                let open = gate.looks_at & state.open[before];
                let left = match gate.unit {
                    true => open.count_ones() as i32,
                    false => ones(open).map(|input| gate.gives[input][0].max(gate.gives[input][1])).sum(),
                };
                if need <= 0 {
                    self.decide(state, before + 1, index, true);
                } else if need > left {
                    if last {
                        return Outcome::Constant(false);
                    }
                    self.decide(state, before + 1, index, false);
                }
            }
            all_true = last && state.open[before + 1] == 0;
        }
        if all_true {
            return Outcome::Constant(true);
        }
        // Backwards: gates used only by settled gates do not matter, so they may be settled with any value.
        for (before, gates) in self.deeper.iter().enumerate().rev() {
            let wanted = ones(state.open[before + 1]).fold(0, |wanted, index| wanted | gates[index].looks_at);
            for index in ones(state.open[before] & !wanted) {
                state.needs[self.starts[before] + index] = 0;
            }
            state.open[before] &= wanted;
        }
        Outcome::Open
    }

    /// Settles a gate: reduces the needs of the next layer's open gates that count this value.
    fn decide(&self, state: &mut Open, layer: usize, index: usize, value: bool) {
        state.open[layer] &= !(1 << index);
        state.needs[self.starts[layer] + index] = 0;
        if let Some(next) = self.deeper.get(layer) {
            for other in ones(state.open[layer + 1]) {
                state.needs[self.starts[layer + 1] + other] -= next[other].gives[index][usize::from(value)];
            }
        }
    }

    /// Writes the state into words, for the table of states.
    pub(super) fn pack(&self, state: &Open, words: &mut [u64]) {
        let (numbers, settled) = words.split_at_mut(self.key_words());
        let bits = 8 * self.width;
        for (word, needs) in numbers.iter_mut().zip(state.needs.chunks(8 / self.width)) {
            *word = needs.iter().rev().fold(0, |word, &need| word << (bits % 64) | need as u64);
        }
        for (index, word) in settled.iter_mut().enumerate() {
            *word = (state.settled_true >> (64 * index)) as u64;
        }
    }

    /// The reverse of [`SumNetwork::pack`].
    pub(super) fn unpack(&self, words: &[u64], state: &mut Open) {
        let (numbers, settled) = words.split_at(self.key_words());
        let bits = 8 * self.width;
        let mask = !0u64 >> (64 - bits);
        for (&word, needs) in numbers.iter().zip(state.needs.chunks_mut(8 / self.width)) {
            for (place, need) in needs.iter_mut().enumerate() {
                *need = (word >> (bits * place) & mask) as i32;
            }
        }
        state.settled_true = settled.iter().rev().fold(0, |bits, &word| bits << 64 | u128::from(word));
        let ends = self.starts[1..].iter().copied().chain([self.numbers]);
        for ((open, &start), end) in state.open.iter_mut().zip(&self.starts).zip(ends) {
            let needs = state.needs[start..end].iter().rev();
            *open = needs.fold(0, |open, &need| open << 1 | u128::from(need != 0));
        }
    }

    /// What the first-layer gates still need in a state, in the form required by the blocks of a table.
    pub(super) fn first_needs(&self, state: &Open, needs: &mut [i64]) {
        for (index, out) in needs.iter_mut().enumerate() {
            *out = match (state.needs[index], state.settled_true >> index & 1) {
                (0, 1) => 0,
                (0, _) => i64::MAX,
                (need, _) => need.into(),
            };
        }
    }

    pub(super) fn first_gates(&self) -> usize {
        self.first.len()
    }
}

/// The positions of the ones, ascending.
fn ones(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}

/// What an input of this weight contributes when false and when true.
fn gives(weight: i128) -> [i32; 2] {
    if weight < 0 { [-weight as i32, 0] } else { [0, weight as i32] }
}

impl FirstGate {
    fn new(gate: &Gate, order: &[Var]) -> Self {
        let gives: Vec<[i32; 2]> = order.iter().map(|var| gives(gate.weights()[var.index()])).collect();
        let mut sums = Reached::All(0);
        let (mut left, mut reached) = (vec![0], vec![None]);
        for &[when_0, when_1] in gives.iter().rev() {
            let weight = when_0.max(when_1);
            left.push(left.last().expect("a number a level") + weight);
            sums = sums.with_weight(weight);
            reached.push(if let Reached::Some(sums) = &sums { Some(sums.clone()) } else { None });
        }
        left.reverse();
        reached.reverse();
        FirstGate { need: gate.need() as i32, gives, left, reached }
    }
}

impl DeepGate {
    fn new(gate: &Gate) -> Self {
        let used = gate.weights().iter().enumerate().filter(|(_, weight)| **weight != 0);
        DeepGate {
            need: gate.need() as i32,
            gives: gate.weights().iter().map(|&weight| gives(weight)).collect(),
            looks_at: used.fold(0, |set, (index, _)| set | 1 << index),
            unit: gate.weights().iter().all(|weight| weight.abs() <= 1),
        }
    }
}

/// The sums that some inputs can reach.
enum Reached {
    /// All numbers up to this one.
    All(i32),
    /// These, ascending.
    Some(Vec<i32>),
    /// Too many to be listed.
    Many,
}

impl Reached {
    /// With one more input of this weight.
    fn with_weight(self, weight: i32) -> Self {
        let sums = match self {
            Reached::All(total) if i64::from(weight) <= i64::from(total) + 1 => return Reached::All(total + weight),
            Reached::All(total) if total as usize >= MAX_LISTED => return Reached::Many,
            Reached::All(total) => (0..=total).collect(),
            Reached::Some(sums) => sums,
            Reached::Many => return Reached::Many,
        };
        let mut both = Vec::with_capacity(2 * sums.len());
        let mut without = sums.iter().copied().peekable();
        for with in sums.iter().map(|sum| sum + weight) {
            while let Some(sum) = without.next_if(|sum| *sum < with) {
                both.push(sum);
            }
            without.next_if_eq(&with);
            both.push(with);
        }
        // The largest sum includes the new weight, so `without` has no sums left.
        match (both.len(), both.last()) {
            (count, Some(&total)) if count as i64 == i64::from(total) + 1 => Reached::All(total),
            (count, _) if count > MAX_LISTED => Reached::Many,
            _ => Reached::Some(both),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Network, Output};
    use std::collections::BTreeSet;

    /// Three inputs that count alike, one of them with opposite signs, then two that do not.
    #[test]
    fn inputs_that_count_alike_are_fixed_at_once() {
        let gate = |weights: &[i128], need| Gate::new(weights.to_vec(), need).unwrap();
        let layer = vec![gate(&[2, -2, 2, 1, -3], 3), gate(&[-1, 1, -1, 2, 2], 2)];
        let network = Network::new(5, vec![layer], Output::Step(gate(&[1, -1], 1))).unwrap();
        let label = Label::of_class(&network, 1).unwrap();
        let order: Vec<Var> = (0..5).map(Var::new).collect();
        let sums = SumNetwork::new(&label, &order).unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(|level| sums.alike(level, 8)), [3, 2, 1, 1, 1]);
        assert_eq!(sums.alike(0, 2), 2);
        for bits in 0..8u32 {
            let value = |level: u32| bits >> level & 1 == 1;
            let (mut at_once, mut one_by_one) = (sums.start(), sums.start());
            // The second input has opposite signs.
            let set = [value(0), !value(1), value(2)].into_iter().filter(|&counts| counts).count();
            sums.fix_alike(&mut at_once, 0, 3, set);
            for (level, value) in [value(0), value(1), value(2)].into_iter().enumerate() {
                sums.fix(&mut one_by_one, level, value);
            }
            assert_eq!(at_once.needs, one_by_one.needs, "{bits:03b}");
        }
    }

    #[test]
    fn reached_sums_are_those_of_all_subsets() {
        for weights in [vec![1, 1, 2, 5, 3], vec![0, 2, 2, 6, 1, 1], vec![3, 5, 7, 11], vec![1, 3, 1, 9, 2, 0], vec![4]]
        {
            let mut all = BTreeSet::from([0]);
            let mut found = Reached::All(0);
            for &weight in &weights {
                all.extend(all.clone().into_iter().map(|sum| sum + weight));
                found = found.with_weight(weight);
                let listed = match &found {
                    Reached::All(total) => (0..=*total).collect(),
                    Reached::Some(sums) => sums.clone(),
                    Reached::Many => panic!("they are few"),
                };
                assert_eq!(listed, all.iter().copied().collect::<Vec<i32>>(), "{weights:?}");
            }
        }
        let many = (0..13).fold(Reached::All(0), |sums, power| sums.with_weight(3 << power));
        assert!(matches!(many, Reached::Many));
    }
}
