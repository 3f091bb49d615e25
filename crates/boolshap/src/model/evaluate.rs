//! Evaluation of a network on 64 entities at a time.
//!
//! The idea: bit `k` of a machine word belongs to entity `k`. A gate adds up the weights of its conveniently
//! instantiated inputs in bit-sliced counters (plane `p` holds bit `p` of all 64 sums) with ripple-carry adders, and
//! compares the sums with its `need` from the highest plane down. The cost is about (weights x planes) word operations
//! per gate for 64 entities. The scores of an argmax are computed in the same way, with a constant added so that no sum
//! is negative.

use super::network::{Gate, Network, Output, Score};
use crate::lit::LOW_VARIABLES;

/// The number of entities in a word.
pub const LANES: usize = 64;

/// A network prepared for evaluation, with its working memory.
///
/// ```
/// use boolshap::model::{NetworkEvaluator, Gate, Network, Output};
/// let both = Gate::new(vec![1, 1], 2).unwrap();
/// let network = Network::new(2, vec![], Output::Step(both)).unwrap();
/// let mut evaluator = NetworkEvaluator::new(&network);
/// // Entities 00, 10, 01, 11 in bits 0 to 3; one word a class.
/// assert_eq!(evaluator.classes(&[0b1010, 0b1100])[1] & 0b1111, 0b1000);
/// ```
pub struct NetworkEvaluator<'a> {
    network: &'a Network,
    values: Vec<u64>,
    next: Vec<u64>,
    classes: Vec<u64>,
    planes: Vec<u64>,
    best: Vec<u64>,
    /// A constant added to every score so that none is negative.
    lift: i128,
}

impl<'a> NetworkEvaluator<'a> {
    /// Prepares a network.
    pub fn new(network: &'a Network) -> Self {
        let lift = match network.output() {
            Output::Step(_) => 0,
            Output::Argmax(scores) => scores.iter().map(|s| s.total() as i128 - s.bias()).max().unwrap_or(0),
        };
        NetworkEvaluator {
            network,
            values: Vec::new(),
            next: Vec::new(),
            classes: vec![0; network.classes()],
            planes: Vec::new(),
            best: Vec::new(),
            lift,
        }
    }

    /// One word per class: bit `k` of word `c` is 1 if entity `k` has class `c`. Word `j` of the input holds feature
    /// `j` of the 64 entities.
    pub fn classes(&mut self, inputs: &[u64]) -> &[u64] {
        assert_eq!(inputs.len(), self.network.inputs(), "one word per feature");
        self.values.clear();
        self.values.extend_from_slice(inputs);
        for gates in self.network.hidden() {
            self.next.clear();
            for gate in gates {
                self.next.push(gate_word(gate, &self.values, &mut self.planes));
            }
            std::mem::swap(&mut self.values, &mut self.next);
        }
        match self.network.output() {
            Output::Step(gate) => {
                let label = gate_word(gate, &self.values, &mut self.planes);
                self.classes.copy_from_slice(&[!label, label]);
            }
            Output::Argmax(scores) => self.argmax(scores),
        }
        &self.classes
    }

    /// Calls `visit` with the first assignment and the class words of every block of 64 assignments, in counting order:
    /// bit `j` of the assignment's number is feature `j`. With fewer than 6 inputs the assignments repeat within the
    /// single block.
    pub fn enumerate(&mut self, mut visit: impl FnMut(u64, &[u64])) {
        let inputs = self.network.inputs();
        let mut words = vec![0; inputs];
        let low = inputs.min(LOW_VARIABLES.len());
        words[..low].copy_from_slice(&LOW_VARIABLES[..low]);
        for block in 0..1u64 << (inputs - low) {
            for (j, word) in words[low..].iter_mut().enumerate() {
                *word = (block >> j & 1).wrapping_neg();
            }
            visit(block << low, self.classes(&words));
        }
    }

    fn argmax(&mut self, scores: &[Score]) {
        let most = scores.iter().map(|s| (self.lift + s.bias()) as u128 + s.total()).max().unwrap_or(0);
        let width = bits(most);
        self.best.clear();
        self.best.resize(width, 0);
        self.classes.fill(0);
        for (class, score) in scores.iter().enumerate() {
            // 2 C - W + bias + lift, built from the constant part up.
            let base = (self.lift + score.bias() - score.total() as i128) as u128;
            self.planes.clear();
            self.planes.extend((0..width).map(|p| ((base >> p & 1) as u64).wrapping_neg()));
            add_convenient(&mut self.planes, score.weights(), &self.values, 1);
            let wins = if class == 0 { !0 } else { greater(&self.planes, &self.best) };
            for (best, &plane) in self.best.iter_mut().zip(&self.planes) {
                *best = *best & !wins | plane & wins;
            }
            self.classes[..class].iter_mut().for_each(|earlier| *earlier &= !wins);
            self.classes[class] = wins;
        }
    }
}

/// The number of assignments in each class, by enumerating all `2^inputs`; `None` if that would take more than
/// `max_steps` steps. A step is a weight times a block of 64 assignments, and takes one or two nanoseconds.
pub fn count_classes(network: &Network, max_steps: u64) -> Option<Vec<u64>> {
    let blocks = 1u64.checked_shl(network.inputs().saturating_sub(6).try_into().ok()?)?;
    let outputs = match network.output() {
        Output::Step(gate) => gate.weights().len(),
        Output::Argmax(scores) => scores.iter().map(|score| score.weights().len()).sum(),
    };
    let weights = network.hidden().iter().flatten().map(|gate| gate.weights().len()).sum::<usize>() + outputs;
    if blocks.checked_mul(weights as u64).is_none_or(|steps| steps > max_steps) {
        return None;
    }
    let lanes = if network.inputs() < 6 { (1u64 << (1 << network.inputs())) - 1 } else { !0 };
    let mut counts = vec![0u64; network.classes()];
    NetworkEvaluator::new(network).enumerate(|_, classes| {
        for (count, word) in counts.iter_mut().zip(classes) {
            *count += u64::from((word & lanes).count_ones());
        }
    });
    Some(counts)
}

/// The gate's value for 64 entities, given one word per input.
pub(crate) fn gate_word(gate: &Gate, inputs: &[u64], planes: &mut Vec<u64>) -> u64 {
    planes.clear();
    planes.resize(bits(gate.total()), 0);
    add_convenient(planes, gate.weights(), inputs, 0);
    if gate.need() > gate.total() { 0 } else { at_least(planes, gate.need()) }
}

/// For every weight, adds `|w| << shift` to the counters of the entities in which the input has the sign of `w`.
fn add_convenient(planes: &mut [u64], weights: &[i128], inputs: &[u64], shift: usize) {
    for (&weight, &input) in weights.iter().zip(inputs) {
        let convenient = if weight > 0 { input } else { !input };
        let magnitude = weight.unsigned_abs();
        if magnitude == 1 {
            let mut carry = convenient;
            for plane in &mut planes[shift..] {
                (*plane, carry) = (*plane ^ carry, *plane & carry);
                if carry == 0 {
                    break;
                }
            }
        } else if magnitude > 0 {
            let mut carry = 0;
            for (p, plane) in planes[shift..].iter_mut().enumerate() {
                let addend = if magnitude >> p & 1 == 1 { convenient } else { 0 };
                let either = *plane ^ addend;
                (*plane, carry) = (either ^ carry, *plane & addend | carry & either);
            }
        }
    }
}

/// The entities whose counter is at least `bound`, which must fit into the planes.
fn at_least(planes: &[u64], bound: u128) -> u64 {
    let (mut above, mut equal) = (0, !0);
    for (p, &plane) in planes.iter().enumerate().rev() {
        if bound >> p & 1 == 1 {
            equal &= plane;
        } else {
            above |= equal & plane;
            equal &= !plane;
        }
    }
    above | equal
}

/// The entities whose counter in `a` is greater than that in `b`.
fn greater(a: &[u64], b: &[u64]) -> u64 {
    let (mut above, mut equal) = (0, !0);
    for (&a, &b) in a.iter().zip(b).rev() {
        above |= equal & a & !b;
        equal &= !(a ^ b);
    }
    above
}

fn bits(value: u128) -> usize {
    (u128::BITS - value.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_agree_with_the_definition_on_every_input(network in network_strategy(9)) {
            let n = network.inputs();
            let mut counts = vec![0u64; network.classes()];
            let mut checked = 0;
            NetworkEvaluator::new(&network).enumerate(|first, classes| {
                for lane in 0..LANES.min(1 << n) as u64 {
                    let entity: Vec<bool> = (0..n).map(|j| (first + lane) >> j & 1 == 1).collect();
                    let class = network.classify(&entity);
                    let ones: Vec<usize> = (0..classes.len()).filter(|&c| classes[c] >> lane & 1 == 1).collect();
                    assert_eq!(ones, [class], "entity {entity:?}");
                    counts[class] += 1;
                    checked += 1;
                }
            });
            prop_assert_eq!(checked, 1u64 << n);
            prop_assert_eq!(count_classes(&network, u64::MAX), Some(counts));
            prop_assert_eq!(count_classes(&network, 0), None);
        }
    }
}
