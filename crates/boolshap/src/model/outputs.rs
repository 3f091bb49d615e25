//! Several functions of the same inputs as layers of gates: the classes of a network, or its last hidden layer.
//!
//! All functions share the hidden layers, so evaluating all classes costs little more than evaluating one. Class a of
//! an argmax is the conjunction of "a beats b" for all other b. One comparison serves both classes, once as it is and
//! once negated: K (K-1) / 2 gates for K classes. Constant gates are folded away, and constant functions are recorded
//! as such.

use super::label::{constant, fold_layer};
use super::{Gate, ModelError, Network, Output, Wire};

/// Boolean functions of the inputs: each a conjunction of gates of the last layer or their negations.
///
/// ```
/// use boolshap::model::{Gate, Network, Output, Outputs};
/// let both = Network::new(2, vec![], Output::Step(Gate::new(vec![1, 1], 2).unwrap())).unwrap();
/// let classes = Outputs::classes(&both, &[0, 1]).unwrap();
/// assert_eq!((classes.len(), classes.constant(1), classes.layers()[0].len()), (2, None, 1));
/// ```
#[derive(Debug, Clone)]
pub struct Outputs {
    inputs: usize,
    layers: Vec<Vec<Gate>>,
    outputs: Vec<Function>,
}

#[derive(Debug, Clone)]
enum Function {
    Constant(bool),
    /// These gates of the last layer have these values.
    All(Vec<(usize, bool)>),
}

impl Outputs {
    /// "The answer is this class", for some classes of a network.
    pub fn classes(network: &Network, classes: &[usize]) -> Result<Self, ModelError> {
        let count = network.classes();
        if let Some(&class) = classes.iter().find(|&&class| class >= count) {
            return Err(ModelError::UnknownClass { class, classes: count });
        }
        let (mut last, mut outputs) = (Vec::new(), Vec::new());
        match network.output() {
            Output::Step(gate) => {
                last.push(gate.clone());
                outputs.extend(classes.iter().map(|&class| Function::All(vec![(0, class == 1)])));
            }
            Output::Argmax(_) => {
                let mut place = vec![None; count * count];
                for &class in classes {
                    let beats = network.class_gates(class)?;
                    let rivals = (0..count).filter(|&other| other != class);
                    let gates = rivals.zip(beats).map(|(other, gate)| match place[other * count + class] {
                        // The rival's gate is "it beats this class", and exactly one of the two wins.
                        Some(known) => (known, false),
                        None => {
                            last.push(gate);
                            place[class * count + other] = Some(last.len() - 1);
                            (last.len() - 1, true)
                        }
                    });
                    outputs.push(Function::All(gates.collect()));
                }
            }
        }
        let layers = network.hidden().iter().cloned().chain([last]).collect();
        Ok(Outputs { inputs: network.inputs(), layers, outputs }.folded())
    }

    /// The values that a network's output layer adds up: the gates of the last hidden layer, or the inputs.
    pub fn last_hidden(network: &Network) -> Self {
        let inputs = network.inputs();
        let mut layers = network.hidden().to_vec();
        if layers.is_empty() {
            let itself = |input: usize| {
                let weights = (0..inputs).map(|other| i128::from(other == input)).collect();
                Gate::new(weights, 1).expect("a single weight")
            };
            layers.push((0..inputs).map(itself).collect());
        }
        let gates = layers.last().map_or(0, Vec::len);
        let outputs = (0..gates).map(|gate| Function::All(vec![(gate, true)])).collect();
        Outputs { inputs, layers, outputs }.folded()
    }

    /// The inputs of a projected network, as functions of the remaining inputs.
    pub fn inputs_of(wires: &[Wire], inputs: usize) -> Self {
        let gate = |wire: &Wire| {
            let (weights, need): (Vec<i128>, _) = match *wire {
                Wire::Fixed(value) => (vec![0; inputs], i128::from(!value)),
                Wire::Tied(input) => ((0..inputs).map(|other| i128::from(other == input)).collect(), 1),
                Wire::Against(input) => ((0..inputs).map(|other| -i128::from(other == input)).collect(), 1),
            };
            Gate::new(weights, need).expect("a single weight")
        };
        let outputs = (0..wires.len()).map(|gate| Function::All(vec![(gate, true)])).collect();
        Outputs { inputs, layers: vec![wires.iter().map(gate).collect()], outputs }.folded()
    }

    fn folded(mut self) -> Self {
        for layer in 1..self.layers.len() {
            let (before, after) = self.layers.split_at_mut(layer);
            fold_layer(&mut before[layer - 1], &mut after[0]);
        }
        let last = self.layers.last_mut().expect("there is a layer");
        let known: Vec<Option<bool>> = last.iter().map(constant).collect();
        last.retain(|gate| constant(gate).is_none());
        let mut kept = 0;
        let place: Vec<usize> = known
            .iter()
            .map(|value| {
                kept += usize::from(value.is_none());
                kept.saturating_sub(1)
            })
            .collect();
        for output in &mut self.outputs {
            let Function::All(gates) = output else { continue };
            let never = gates.iter().any(|&(gate, wanted)| known[gate] == Some(!wanted));
            gates.retain(|&(gate, _)| known[gate].is_none());
            gates.iter_mut().for_each(|(gate, _)| *gate = place[*gate]);
            if never || gates.is_empty() {
                *output = Function::Constant(!never);
            }
        }
        self
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.outputs.len()
    }

    /// Whether there are no functions.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The layers, at least one, without constant gates.
    pub fn layers(&self) -> &[Vec<Gate>] {
        &self.layers
    }

    /// The value of a function that is known to be constant.
    pub fn constant(&self, output: usize) -> Option<bool> {
        match self.outputs[output] {
            Function::Constant(value) => Some(value),
            Function::All(_) => None,
        }
    }

    /// The gates of the functions that are not constant, in order.
    pub(super) fn varying(&self) -> Vec<Vec<(usize, bool)>> {
        let gates = |output: &Function| match output {
            Function::Constant(_) => None,
            Function::All(gates) => Some(gates.clone()),
        };
        self.outputs.iter().filter_map(gates).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AllInputs;
    use crate::model::random::network_strategy;
    use proptest::prelude::*;

    /// The truth table of each function, including constants.
    fn tables(outputs: &Outputs) -> Vec<Vec<bool>> {
        let entries = 1usize << outputs.inputs();
        let mut words = Vec::new();
        let varying = outputs.varying().len();
        if varying > 0 {
            let all = AllInputs::several(outputs);
            words = vec![0; varying * all.group_words()];
            assert_eq!(all.groups(), 1);
            all.fill(0, &mut words);
        }
        let mut tables = words.chunks_exact((words.len() / varying.max(1)).max(1));
        let table = |output: usize| match outputs.constant(output) {
            Some(value) => vec![value; entries],
            None => {
                let words = tables.next().unwrap();
                (0..entries).map(|entry| words[entry / 64] >> (entry % 64) & 1 == 1).collect()
            }
        };
        (0..outputs.len()).map(table).collect()
    }

    proptest! {
        #[test]
        fn classes_and_hidden_gates_are_those_of_the_network(network in network_strategy(9), first in 0usize..4) {
            let n = network.inputs();
            let classes: Vec<usize> = (0..network.classes()).map(|k| (k + first) % network.classes()).collect();
            let found = tables(&Outputs::classes(&network, &classes).unwrap());
            let hidden = tables(&Outputs::last_hidden(&network));
            for entry in 0..1usize << n {
                let entity: Vec<bool> = (0..n).map(|j| entry >> j & 1 == 1).collect();
                let answer = network.classify(&entity);
                for (&class, table) in classes.iter().zip(&found) {
                    prop_assert_eq!(table[entry], class == answer);
                }
                let last = network.hidden().iter().fold(entity, |values, gates| {
                    gates.iter().map(|gate| gate.evaluate(&values)).collect()
                });
                prop_assert_eq!(last, hidden.iter().map(|table| table[entry]).collect::<Vec<_>>());
            }
        }
    }
}
