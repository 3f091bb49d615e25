//! Learning from rows of bits, within a budget for the circuit: a network that cannot be explained is not worth having.
//!
//! The budget counts work and not seconds, so that it chooses the same network on every machine: the states that
//! compiling may visit, and the node visits that explaining all rows may take.

use crate::data::Tally;
use crate::diagram::{DirectOptions, Route, compile_direct};
use crate::lit::Watch;
use crate::model::{self, Label, Learned, ModelError, Network, TrainOptions};

/// The most inputs at which a truth table is compiled.
const FEW_INPUTS: usize = 24;
/// The most states of the partial-sums route: about a second's work.
const MAX_STATES: usize = 1 << 20;
/// The most nodes of all classes together.
const MAX_NODES: u64 = 1_000_000;
/// The most visits to nodes for the scores of all rows; two cores make about a thousand million a second.
const MAX_VISITS: f64 = 3e10;

/// Trains a network on distinct rows; `explained` rows are to be explained later. If there is a choice, compiling and
/// explaining must stay within the budget.
pub fn learn(rows: &Tally, explained: usize, options: &TrainOptions, watch: &Watch<'_>) -> Result<Learned, ModelError> {
    let quiet = watch.silent();
    let afford = |network: &Network| nodes_within_budget(network, explained, &quiet);
    model::train(rows, options, &afford, watch)
}

/// The nodes of a network's circuits, one circuit for each of several classes; nothing if they exceed the budget.
fn nodes_within_budget(network: &Network, explained: usize, watch: &Watch<'_>) -> Result<Option<u64>, ModelError> {
    let classes = if network.classes() == 2 { 1..2 } else { 0..network.classes() };
    let mut nodes = 0;
    for class in classes {
        let label = Label::of_class(network, class)?;
        let used = label.used_inputs().len();
        let route = Some(if used <= FEW_INPUTS { Route::TruthTable } else { Route::PartialSums });
        let options = DirectOptions { route, max_nodes: MAX_NODES as usize, max_states: MAX_STATES };
        match compile_direct(&label, &options, watch) {
            Ok(direct) => nodes += direct.diagram.len() as u64,
            Err(_) => {
                // A request to stop must not count as too large.
                watch.check()?;
                return Ok(None);
            }
        }
        // The fast engine sweeps over all nodes at about half as many points as there are inputs.
        let visits = nodes as f64 * explained as f64 * (used as f64 / 2.0 + 1.0);
        if nodes > MAX_NODES || visits > MAX_VISITS {
            return Ok(None);
        }
    }
    Ok(Some(nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gate, Output};

    #[test]
    fn slow_the_budget_knows_small_from_large() {
        let neuron = |inputs: usize, weight: i128| {
            let weights: Vec<i128> = (0..inputs).map(|input| 1 + (input as i128 * 7919) % weight).collect();
            let half = weights.iter().sum::<i128>() / 2;
            Network::new(inputs, vec![], Output::Step(Gate::new(weights, half).unwrap())).unwrap()
        };
        let nodes = |network: &Network, rows| nodes_within_budget(network, rows, &Watch::unlimited()).unwrap();
        assert_eq!(nodes(&neuron(50, 1), 1000), Some(25 * 26));
        assert!(nodes(&neuron(110, 31), 10_000).is_some());
        assert_eq!(nodes(&neuron(110, 31), 1 << 40), None, "too many rows");
        assert_eq!(nodes(&neuron(110, 1 << 40), 1), None, "too many sums");
    }
}
