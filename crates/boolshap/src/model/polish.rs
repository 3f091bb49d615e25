//! A discrete search around a trained network: flip a sign, or change a weight or threshold by one, and count how many
//! training rows are labelled correctly.
//!
//! The idea: simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983), cooled until almost no loss is accepted. Equal
//! rows are merged and evaluated 64 to a word, and only the changed gate and the layers after it are recomputed, so a
//! small network tries hundreds of thousands of moves per second. The number of moves depends on the size of the work,
//! never on a clock, so the result depends on the seed alone. The best network seen is returned; it is never worse on
//! the training rows than the initial one.

use super::evaluate::gate_word;
use super::network::{Gate, Network, Output, Score};
use super::train::right_in_block;
use super::train_options::Weights;
use super::{ModelError, NetworkEvaluator};
use crate::data::{Seeded, Tally};
use crate::lit::Watch;

/// The most moves tried.
const MAX_MOVES: u64 = 300_000;
/// The most word operations spent, roughly a nanosecond each.
const MAX_WORK: u64 = 4_000_000_000;
/// The initial temperature, as a share of all rows; it falls to a hundredth of that.
const HEAT: f64 = 0.0005;

/// Searches for a network that labels more rows correctly.
pub(crate) fn polish(
    start: &Network,
    rows: &Tally,
    weights: Weights,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Network, ModelError> {
    let mut search = Search::new(start, rows, weights)?;
    let mut best = (start.clone(), search.right);
    let mut chance = Seeded::new(seed, 4);
    let moves = MAX_MOVES.min(MAX_WORK / search.cost_of_a_move());
    let total = rows.total() as f64;
    for step in 0..moves {
        if step % 256 == 0 {
            watch.step(step, moves)?;
        }
        let heat = HEAT * total * 0.01f64.powf(step as f64 / moves as f64);
        search.try_move(&mut chance, heat)?;
        if search.right > best.1 {
            best = (search.network.clone(), search.right);
        }
    }
    Ok(best.0)
}

struct Search<'a> {
    network: Network,
    rows: &'a Tally,
    weights: Weights,
    /// The inputs of each layer, starting with the rows themselves: a vector of words for each input.
    values: Vec<Vec<Vec<u64>>>,
    right: u64,
}

impl<'a> Search<'a> {
    fn new(network: &Network, rows: &'a Tally, weights: Weights) -> Result<Self, ModelError> {
        let bits = rows.rows();
        let inputs = (0..bits.features()).map(|feature| bits.feature(feature).to_vec()).collect();
        let mut search = Search { network: network.clone(), rows, weights, values: vec![inputs], right: 0 };
        for layer in 0..network.hidden().len() {
            let outputs = layer_values(&network.hidden()[layer], &search.values[layer]);
            search.values.push(outputs);
        }
        search.right = search.count_right(network.output(), &search.values[network.hidden().len()])?;
        Ok(search)
    }

    /// The number of words read for one move, in the most expensive layer.
    fn cost_of_a_move(&self) -> u64 {
        let gates = self.network.hidden().iter().flatten().map(|gate| gate.weights().len());
        let outputs = match self.network.output() {
            Output::Step(gate) => gate.weights().len(),
            Output::Argmax(scores) => scores.iter().map(|score| score.weights().len()).sum(),
        };
        ((gates.sum::<usize>() + outputs) * self.rows.rows().blocks()).max(1) as u64
    }

    /// Proposes one change and keeps it if it is no worse, or else with a probability that falls with the loss and
    /// rises with the heat.
    fn try_move(&mut self, chance: &mut Seeded, heat: f64) -> Result<(), ModelError> {
        let layers = self.network.hidden().len();
        let layer = chance.below(layers + 1);
        let (network, values) = if layer < layers {
            let index = chance.below(self.network.hidden()[layer].len());
            let changed = change_gate(&self.network.hidden()[layer][index], self.weights, chance);
            let word = gate_values(&changed, &self.values[layer]);
            let mut hidden = self.network.hidden().to_vec();
            hidden[layer][index] = changed;
            let network = Network::new(self.network.inputs(), hidden, self.network.output().clone())?;
            if word == self.values[layer + 1][index] {
                // The change has no effect on these rows: accept it as a free drift.
                self.network = network;
                return Ok(());
            }
            let mut outputs = self.values[layer + 1].clone();
            outputs[index] = word;
            let mut values = vec![outputs];
            for gates in &network.hidden()[layer + 1..] {
                values.push(layer_values(gates, values.last().expect("one layer is there")));
            }
            (network, values)
        } else {
            let output = change_output(self.network.output(), self.weights, chance);
            (Network::new(self.network.inputs(), self.network.hidden().to_vec(), output)?, Vec::new())
        };
        let last = values.last().unwrap_or(&self.values[layers]);
        let right = self.count_right(network.output(), last)?;
        let loss = self.right as f64 - right as f64;
        if loss <= 0.0 || chance.unit() < (-loss / heat).exp() {
            self.values.splice(layers + 1 - values.len().., values);
            (self.network, self.right) = (network, right);
        }
        Ok(())
    }

    fn count_right(&self, output: &Output, inputs: &[Vec<u64>]) -> Result<u64, ModelError> {
        // The output layer alone forms a network too.
        let last = Network::new(inputs.len(), Vec::new(), output.clone())?;
        let mut evaluator = NetworkEvaluator::new(&last);
        let mut right = 0;
        for block in 0..self.rows.rows().blocks() {
            let words: Vec<u64> = inputs.iter().map(|words| words[block]).collect();
            right += right_in_block(self.rows, block, evaluator.classes(&words));
        }
        Ok(right)
    }
}

fn layer_values(gates: &[Gate], inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
    gates.iter().map(|gate| gate_values(gate, inputs)).collect()
}

fn gate_values(gate: &Gate, inputs: &[Vec<u64>]) -> Vec<u64> {
    let mut planes = Vec::new();
    let mut words = vec![0; inputs.len()];
    (0..inputs[0].len())
        .map(|block| {
            words.iter_mut().zip(inputs).for_each(|(word, input)| *word = input[block]);
            gate_word(gate, &words, &mut planes)
        })
        .collect()
}

/// A different weight: the other sign, or one up or down within the range.
fn change_weight(weight: i128, weights: Weights, chance: &mut Seeded) -> i128 {
    if weights == Weights::Binary {
        return -weight;
    }
    let largest = i128::from(weights.largest());
    (if chance.below(2) == 0 { weight - 1 } else { weight + 1 }).clamp(-largest, largest)
}

/// Changes one weight, or moves the threshold one up or down.
fn change_gate(gate: &Gate, range: Weights, chance: &mut Seeded) -> Gate {
    let mut weights = gate.weights().to_vec();
    let mut need = gate.need() as i128;
    match chance.below(weights.len() + 2) {
        0 => need += 1,
        1 => need -= 1,
        index => weights[index - 2] = change_weight(weights[index - 2], range, chance),
    }
    Gate::new(weights, need).expect("signs and small thresholds stay in range")
}

fn change_output(output: &Output, range: Weights, chance: &mut Seeded) -> Output {
    match output {
        Output::Step(gate) => Output::Step(change_gate(gate, range, chance)),
        Output::Argmax(scores) => {
            let mut scores = scores.clone();
            let index = chance.below(scores.len());
            let score = &scores[index];
            let (mut weights, mut bias) = (score.weights().to_vec(), score.bias());
            match chance.below(weights.len() + 2) {
                0 => bias += 1,
                1 => bias -= 1,
                // Scores are scaled so that their biases are whole numbers: changing a weight by one would change only
                // a fraction of the original weight.
                flip => weights[flip - 2] = -weights[flip - 2],
            }
            scores[index] = Score::new(weights, bias).expect("signs and small biases stay in range");
            Output::Argmax(scores)
        }
    }
}
