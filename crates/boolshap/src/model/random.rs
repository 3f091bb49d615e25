//! Random networks for property tests.

use super::network::{Gate, Network, Output, Score};
use proptest::collection::vec;
use proptest::prelude::*;

/// Networks of up to `max_inputs` inputs: binary or integer weights, up to two hidden layers, step or argmax output.
pub(crate) fn network_strategy(max_inputs: usize) -> impl Strategy<Value = Network> {
    any::<bool>().prop_flat_map(move |binary| weighted_network_strategy(max_inputs, binary))
}

/// The same with weights +-1.
#[cfg(feature = "sat")]
pub(crate) fn binary_network_strategy(max_inputs: usize) -> impl Strategy<Value = Network> {
    weighted_network_strategy(max_inputs, true)
}

fn weighted_network_strategy(max_inputs: usize, binary: bool) -> impl Strategy<Value = Network> {
    let widths = (1..=max_inputs, vec(1usize..6, 0..3), 1usize..5, Just(binary));
    widths.prop_flat_map(|(inputs, hidden, outputs, binary)| {
        let weight = if binary { prop_oneof![Just(1i128), Just(-1)].boxed() } else { (-9i128..10).boxed() };
        let mut width = inputs;
        let mut layers = Vec::new();
        for &gates in &hidden {
            layers.push(vec(gate_strategy(weight.clone(), width), gates));
            width = gates;
        }
        let output = if outputs == 1 {
            gate_strategy(weight, width).prop_map(Output::Step).boxed()
        } else {
            let score = (vec(weight, width), -9i128..10).prop_map(|(w, b)| Score::new(w, b).unwrap());
            vec(score, outputs).prop_map(Output::Argmax).boxed()
        };
        (layers, output).prop_map(move |(hidden, output)| Network::new(inputs, hidden, output).unwrap())
    })
}

fn gate_strategy(weight: BoxedStrategy<i128>, width: usize) -> impl Strategy<Value = Gate> {
    vec(weight, width).prop_flat_map(|weights| {
        let total: i128 = weights.iter().map(|w| w.abs()).sum();
        (0..=total + 1).prop_map(move |need| Gate::new(weights.clone(), need).unwrap())
    })
}
