//! A network in which inputs are fixed or tied together.
//!
//! *Idea.* Only the first layer sees the inputs. If some are fixed and others come and go together, each first-layer sum is
//! a constant plus one whole number for each input that is left; everything behind it stays as it is. So a network
//! of 784 pixels of which 25 regions can change is a network of 25 inputs. *Invariant.* The sum of signed weights is kept: with
//! `w . s >= t` and t = 2 need - W, the sum of the tied weights and the constant of the fixed ones equal `w . s` on every
//! input that is left. *Cost.* One addition for each weight of the first layer.

use super::network::{Gate, Network, Output, Score};
use super::{ModelError, Problem};

/// Where an input of a network comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// It always has this value.
    Fixed(bool),
    /// It has the value of an input that is left.
    Tied(usize),
    /// It has the other value than an input that is left.
    Against(usize),
}

impl Network {
    /// The network over `inputs` inputs, from which its own are made by `wires`, one for each.
    ///
    /// ```
    /// use boolshap::model::{Gate, Network, Output, Wire};
    /// let all = Gate::new(vec![1, 1, -1], 3).unwrap();
    /// let network = Network::new(3, vec![], Output::Step(all)).unwrap();
    /// // x1 is 1, x2 is y and x3 is not y: true exactly if y is.
    /// let left = network.wired(1, &[Wire::Fixed(true), Wire::Tied(0), Wire::Against(0)]).unwrap();
    /// assert_eq!((left.classify(&[false]), left.classify(&[true])), (0, 1));
    /// ```
    pub fn wired(&self, inputs: usize, wires: &[Wire]) -> Result<Network, ModelError> {
        if wires.len() != self.inputs() {
            return Err(ModelError::Width { layer: "layer 1".into(), expected: wires.len(), found: self.inputs() });
        }
        let mut hidden = self.hidden().to_vec();
        let mut output = self.output().clone();
        match (hidden.first_mut(), &mut output) {
            (Some(first), _) => first.iter_mut().for_each(|gate| *gate = wired_gate(gate, inputs, wires)),
            (None, Output::Step(gate)) => *gate = wired_gate(gate, inputs, wires),
            (None, Output::Argmax(scores)) => {
                for score in scores {
                    let (weights, constant) = wired_weights(score.weights(), inputs, wires);
                    let too_wide =
                        || ModelError::Parameter { layer: "layer 1 (output)".into(), problem: Problem::ScoresTooWide };
                    *score = Score::new(weights, score.bias() + constant).ok_or_else(too_wide)?;
                }
            }
        }
        Network::new(inputs, hidden, output)
    }

    /// The wires of a network of which all inputs but some are fixed to a row; those that are left keep their order.
    pub fn wires_at(row: &[bool], free: &[usize]) -> Vec<Wire> {
        let mut wires: Vec<Wire> = row.iter().map(|&value| Wire::Fixed(value)).collect();
        free.iter().enumerate().for_each(|(place, &input)| wires[input] = Wire::Tied(place));
        wires
    }
}

/// The weight of each input that is left, and what the fixed ones add to the sum.
fn wired_weights(weights: &[i128], inputs: usize, wires: &[Wire]) -> (Vec<i128>, i128) {
    let (mut left, mut constant) = (vec![0; inputs], 0);
    for (&weight, wire) in weights.iter().zip(wires) {
        match *wire {
            Wire::Fixed(value) => constant += if value { weight } else { -weight },
            Wire::Tied(input) => left[input] += weight,
            Wire::Against(input) => left[input] -= weight,
        }
    }
    (left, constant)
}

fn wired_gate(gate: &Gate, inputs: usize, wires: &[Wire]) -> Gate {
    let (weights, constant) = wired_weights(gate.weights(), inputs, wires);
    let total: i128 = weights.iter().map(|weight| weight.abs()).sum();
    // 2 C - total + constant >= 2 need - (the old total), and both sides have the same parity.
    let threshold = 2 * gate.need() as i128 - gate.total() as i128 - constant;
    Gate::new(weights, (threshold + total).div_euclid(2)).expect("no larger than before")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    /// The old inputs that a new one means.
    fn old_inputs(wires: &[Wire], new: &[bool]) -> Vec<bool> {
        let value = |wire: &Wire| match *wire {
            Wire::Fixed(value) => value,
            Wire::Tied(input) => new[input],
            Wire::Against(input) => !new[input],
        };
        wires.iter().map(value).collect()
    }

    proptest! {
        #[test]
        fn a_wired_network_answers_as_the_network_does(
            (network, wires) in network_strategy(7).prop_flat_map(|network| {
                let wire = prop_oneof![
                    any::<bool>().prop_map(Wire::Fixed),
                    (0usize..3).prop_map(Wire::Tied),
                    (0usize..3).prop_map(Wire::Against),
                ];
                let wires = proptest::collection::vec(wire, network.inputs());
                (Just(network), wires)
            })
        ) {
            let left = network.wired(3, &wires).unwrap();
            for number in 0..8usize {
                let new: Vec<bool> = (0..3).map(|bit| number >> bit & 1 == 1).collect();
                prop_assert_eq!(left.classify(&new), network.classify(&old_inputs(&wires, &new)));
            }
        }
    }
}
