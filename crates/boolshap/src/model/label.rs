//! "The answer is this class" as layers of gates: the input of the direct compilers.
//!
//! The label is true if every gate of the last layer is: one gate for a step output, one for each other class of an
//! argmax. Four kinds of gates are removed without changing the function: constant gates, gates that no later gate
//! uses, gates equal to another gate of their layer or to its negation, and gates of the last layer that always hold.
//! The result is often much smaller than the network, and a constant label has no gates at all.

use super::{Gate, ModelError, Network};
use std::collections::HashMap;

/// A Boolean function of the inputs as layers of gates, simplified.
///
/// ```
/// use boolshap::model::{Gate, Label, Network, Output};
/// let gate = |weights: &[i128], need| Gate::new(weights.to_vec(), need).unwrap();
/// // The second hidden gate is the negation of the first, so the output sees one gate twice.
/// let hidden = vec![gate(&[1, 1], 1), gate(&[-1, -1], 2)];
/// let network = Network::new(2, vec![hidden], Output::Step(gate(&[1, -1], 2))).unwrap();
/// let label = Label::of_class(&network, 1).unwrap();
/// assert_eq!(label.layers()[0].len(), 1);
/// assert!(label.evaluate(&[true, false]) && !label.evaluate(&[false, false]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    inputs: usize,
    layers: Vec<Vec<Gate>>,
}

impl Label {
    /// "The network answers this class"; for a step output, class 1 is the gate itself.
    pub fn of_class(network: &Network, class: usize) -> Result<Self, ModelError> {
        let mut layers = network.hidden().to_vec();
        layers.push(network.class_gates(class)?);
        let mut label = Label { inputs: network.inputs(), layers };
        while label.fold_constants() | label.merge_equal() | label.drop_unused() {}
        Ok(label)
    }

    /// The number of inputs, used or not.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The layers, at least one; the last is empty exactly if the label is always true.
    pub fn layers(&self) -> &[Vec<Gate>] {
        &self.layers
    }

    /// The inputs that some gate uses, ascending; the label depends on no others.
    pub fn used_inputs(&self) -> Vec<usize> {
        let first = &self.layers[0];
        (0..self.inputs).filter(|&input| first.iter().any(|gate| gate.weights()[input] != 0)).collect()
    }

    /// The label's value, if it is known to be constant.
    pub fn constant(&self) -> Option<bool> {
        match self.layers.last().expect("there is a layer").as_slice() {
            [] => Some(true),
            [gate] => constant(gate),
            _ => None,
        }
    }

    /// The label of one entity, by the definition.
    pub fn evaluate(&self, entity: &[bool]) -> bool {
        let mut values = entity.to_vec();
        for gates in &self.layers {
            values = gates.iter().map(|gate| gate.evaluate(&values)).collect();
        }
        values.into_iter().all(|value| value)
    }

    fn become_constant(&mut self, value: bool) {
        let never = Gate::new(vec![0; self.inputs], 1).expect("no weight");
        self.layers = vec![if value { vec![] } else { vec![never] }];
    }

    /// Folds constant hidden gates into the needs of the next layer, and drops gates of the last layer that always
    /// hold.
    fn fold_constants(&mut self) -> bool {
        let mut changed = false;
        for layer in 1..self.layers.len() {
            let (before, after) = self.layers.split_at_mut(layer);
            changed |= fold_layer(&mut before[layer - 1], &mut after[0]);
        }
        let last = self.layers.last_mut().expect("there is a layer");
        let before = last.len();
        last.retain(|gate| constant(gate) != Some(true));
        changed |= last.len() != before;
        let value = match last.as_slice() {
            [] => Some(true),
            gates => gates.iter().any(|gate| constant(gate) == Some(false)).then_some(false),
        };
        if let Some(value) = value.filter(|_| before > 1 || self.layers.len() > 1) {
            self.become_constant(value);
            return true;
        }
        changed
    }

    /// Merges equal gates of a hidden layer, and a gate with its negation, by adding up their weights in the next
    /// layer.
    fn merge_equal(&mut self) -> bool {
        let mut changed = false;
        for layer in 1..self.layers.len() {
            let mut kept: Vec<Gate> = Vec::new();
            let mut place: HashMap<Vec<i128>, Vec<usize>> = HashMap::new();
            // For each old gate, its new index, and whether it was negated.
            let mut became = Vec::with_capacity(self.layers[layer - 1].len());
            for gate in &self.layers[layer - 1] {
                let negated = gate.negated();
                let turned = gate.weights().iter().find(|&&w| w != 0).is_some_and(|&w| w < 0);
                let upright = if turned { &negated } else { gate };
                let alike = place.entry(upright.weights().to_vec()).or_default();
                let found = alike.iter().copied().find(|&index| {
                    let other: &Gate = &kept[index];
                    other == gate || *other == negated
                });
                let index = found.unwrap_or_else(|| {
                    kept.push(gate.clone());
                    alike.push(kept.len() - 1);
                    kept.len() - 1
                });
                became.push((index, kept[index] != *gate));
            }
            if kept.len() == self.layers[layer - 1].len() {
                continue;
            }
            changed = true;
            for gate in &mut self.layers[layer] {
                // 2 C - W >= 2 need - W: the sum of signed weights is preserved.
                let mut weights = vec![0i128; kept.len()];
                for (&w, &(index, turned)) in gate.weights().iter().zip(&became) {
                    weights[index] += if turned { -w } else { w };
                }
                let total: i128 = weights.iter().map(|w| w.abs()).sum();
                let threshold = 2 * gate.need() as i128 - gate.total() as i128;
                // Both totals have the same parity as the sum of signed weights.
                *gate = Gate::new(weights, (threshold + total) / 2).expect("no larger than before");
            }
            self.layers[layer - 1] = kept;
        }
        changed
    }

    /// Drops hidden gates that no gate of the next layer uses.
    fn drop_unused(&mut self) -> bool {
        let mut changed = false;
        for layer in (1..self.layers.len()).rev() {
            let width = self.layers[layer - 1].len();
            let used: Vec<bool> =
                (0..width).map(|index| self.layers[layer].iter().any(|gate| gate.weights()[index] != 0)).collect();
            if used.iter().all(|&used| used) {
                continue;
            }
            changed = true;
            let mut keep = used.iter();
            self.layers[layer - 1].retain(|_| *keep.next().expect("one per gate"));
            for gate in &mut self.layers[layer] {
                let rest = gate.weights().iter().zip(&used).filter(|(_, used)| **used).map(|(&w, _)| w).collect();
                *gate = Gate::new(rest, gate.need() as i128).expect("no larger than before");
            }
        }
        changed
    }
}

/// Drops the constant gates of a layer and folds them into the needs of the next layer; returns whether there were any.
pub(super) fn fold_layer(before: &mut Vec<Gate>, after: &mut [Gate]) -> bool {
    let known: Vec<Option<bool>> = before.iter().map(constant).collect();
    if known.iter().all(Option::is_none) {
        return false;
    }
    before.retain(|gate| constant(gate).is_none());
    for gate in after {
        let given = |w: i128, value: bool| if (w > 0) == value { w.abs() } else { 0 };
        let fixed: i128 = gate.weights().iter().zip(&known).filter_map(|(&w, k)| Some(given(w, (*k)?))).sum();
        let rest = gate.weights().iter().zip(&known).filter(|(_, k)| k.is_none()).map(|(&w, _)| w).collect();
        *gate = Gate::new(rest, gate.need() as i128 - fixed).expect("smaller than before");
    }
    true
}

/// The value of a gate that is constant.
pub(super) fn constant(gate: &Gate) -> Option<bool> {
    match gate.need() {
        0 => Some(true),
        need if need > gate.total() => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn simplifying_keeps_every_label(network in network_strategy(6)) {
            let n = network.inputs();
            for class in 0..network.classes() {
                let label = Label::of_class(&network, class).unwrap();
                let mut seen = [false; 2];
                for number in 0..1usize << n {
                    let entity: Vec<bool> = (0..n).map(|j| number >> j & 1 == 1).collect();
                    let expected = network.classify(&entity) == class;
                    seen[usize::from(expected)] = true;
                    prop_assert_eq!(label.evaluate(&entity), expected);
                }
                if let Some(value) = label.constant() {
                    prop_assert!(!seen[usize::from(!value)]);
                }
                // Nothing is left to simplify: every hidden gate is used and none is constant.
                for layer in 1..label.layers().len() {
                    let width = label.layers()[layer - 1].len();
                    prop_assert!(label.layers()[layer].iter().all(|gate| gate.weights().len() == width));
                    prop_assert!(label.layers()[layer - 1].iter().all(|gate| constant(gate).is_none()));
                }
            }
        }
    }

    #[test]
    fn constant_labels_have_a_single_layer() {
        let gate = |weights: &[i128], need| Gate::new(weights.to_vec(), need).unwrap();
        let hidden = vec![gate(&[1, 1], 0), gate(&[1, -1], 3)];
        for (need, value) in [(1, true), (2, true), (3, false)] {
            let network = Network::new(2, vec![hidden.clone()], super::super::Output::Step(gate(&[1, -1], need)));
            let label = Label::of_class(&network.unwrap(), 1).unwrap();
            assert_eq!((label.constant(), label.layers().len()), (Some(value), 1), "need {need}");
        }
    }
}
