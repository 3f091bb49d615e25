//! A network in which inputs are fixed or tied together.
//!
//! *Idea.* Only the first layer sees the inputs. If some inputs are fixed and others always change together, each
//! first-layer sum is a constant plus one whole number for each remaining input; all later layers stay as they are. So
//! a network of 784 pixels in which 25 regions can change is a network of 25 inputs. *Invariant.* The sum of signed
//! weights is kept: with `w . s >= t` and t = 2 need - W, the sum of the tied weights and the constant of the fixed
//! ones equal `w . s` for every assignment of the remaining inputs. *Cost.* One addition for each weight of the first
//! layer.

use super::network::{Gate, Network, Output, Score};
use super::{ModelError, Problem};

/// The source of a network's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// It always has this value.
    Fixed(bool),
    /// It equals a remaining input.
    Tied(usize),
    /// It is the negation of a remaining input.
    Against(usize),
}

impl Network {
    /// The network over `inputs` inputs; `wires` says how each of its own inputs is made from them.
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

    /// Wires that fix all inputs but the `free` ones to a row; the free inputs keep their order.
    pub fn wires_at(row: &[bool], free: &[usize]) -> Vec<Wire> {
        let mut wires: Vec<Wire> = row.iter().map(|&value| Wire::Fixed(value)).collect();
        free.iter().enumerate().for_each(|(place, &input)| wires[input] = Wire::Tied(place));
        wires
    }
}

/// The weight of each remaining input, and what the fixed ones add to the sum.
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

    /// The old inputs for given new ones.
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
