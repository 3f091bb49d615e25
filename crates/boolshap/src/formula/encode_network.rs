//! Converts a model's network to the gates that [`encode`] takes.
//!
//! "The answer is this class" is a conjunction of gates over the last hidden layer, and the conjunction of CNFs is
//! their union. A gate that compares two scores has weight 0 for inputs on which both classes agree; such an input is
//! left out of the layer before, for this gate only.

use super::{Clause, Cnf, FormulaError, GateSpec, encode, simplify};
use crate::lit::{Lit, Var, Watch};
use crate::model::{Gate, Network};

/// The CNF of "the answer is `class`" (label 1 if there are two), prime and irredundant, over the network's inputs. All
/// weights must be +-1.
pub fn encode_network(
    network: &Network,
    class: usize,
    max_clauses: usize,
    watch: &Watch<'_>,
) -> Result<Cnf, FormulaError> {
    let mut layers = Vec::new();
    for (index, gates) in network.hidden().iter().enumerate() {
        let layer: Result<Vec<_>, _> = gates.iter().enumerate().map(|(g, gate)| spec(gate, index + 1, g + 1)).collect();
        layers.push(layer?);
    }
    let output = layers.len() + 1;
    let wrong = |problem: String| FormulaError::Shape { layer: output, gate: None, problem };
    let gates = network.class_gates(class).map_err(|e| wrong(e.to_string()))?;
    let mut parts = Vec::new();
    for gate in &gates {
        let used: Vec<usize> = (0..gate.weights().len()).filter(|&input| gate.weights()[input] != 0).collect();
        let weights = used.iter().map(|&input| gate.weights()[input]).collect();
        let gate = Gate::new(weights, gate.need() as i128).ok_or_else(|| wrong("the weights are too large".into()))?;
        let gate = spec(&gate, output, 1)?;
        parts.push(match layers.split_last() {
            Some((last, before)) => {
                let last = used.iter().map(|&input| last[input].clone()).collect();
                encode(network.inputs(), &[before, &[last, vec![gate]]].concat(), max_clauses, watch)?
            }
            None => {
                let cnf = encode(used.len(), &[vec![gate]], max_clauses, watch)?;
                let rename = |lit: Lit| Var::new(used[lit.var().index()]).literal(!lit.is_negative());
                let clauses = cnf.clauses().map(|clause| Clause::new(clause.lits().map(rename)));
                Cnf::from_clauses(
                    network.inputs(),
                    clauses.map(|clause| clause.expect("renaming keeps literals distinct")),
                )
            }
        });
    }
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let all = parts.iter().flat_map(|part| part.clauses().cloned());
    simplify(&Cnf::from_clauses(network.inputs(), all), watch)
}

fn spec(gate: &Gate, layer: usize, number: usize) -> Result<GateSpec, FormulaError> {
    if !gate.is_binary() {
        let weight = gate.weights().iter().find(|w| w.unsigned_abs() != 1).copied().unwrap_or(0);
        let problem = format!("a CNF needs weights of +-1, but this weight is {weight}");
        return Err(FormulaError::Shape { layer, gate: Some(number), problem });
    }
    let need = usize::try_from(gate.need()).unwrap_or(usize::MAX);
    Ok(GateSpec { signs: gate.weights().iter().map(|&w| w > 0).collect(), need })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Score;
    use crate::model::random::binary_network_strategy;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_formula_agrees_with_the_network_on_every_input(network in binary_network_strategy(8)) {
            let n = network.inputs();
            let watch = Watch::unlimited();
            for class in 0..network.classes() {
                let cnf = encode_network(&network, class, 10_000, &watch).unwrap();
                prop_assert_eq!(cnf.variables(), n);
                for number in 0..1usize << n {
                    let entity: Vec<bool> = (0..n).map(|j| number >> j & 1 == 1).collect();
                    prop_assert_eq!(cnf.holds(&entity), network.classify(&entity) == class, "{:?}", entity);
                }
            }
        }
    }

    #[test]
    fn other_weights_and_classes_are_refused() {
        use crate::model::Output;
        let watch = Watch::unlimited();
        let hidden = vec![vec![Gate::new(vec![1, 1], 1).unwrap(), Gate::new(vec![1, -3], 1).unwrap()]];
        let network = Network::new(2, hidden, Output::Step(Gate::new(vec![1, 1], 1).unwrap())).unwrap();
        let error = encode_network(&network, 1, 100, &watch).unwrap_err();
        assert_eq!(error.to_string(), "layer 1, gate 2: a CNF needs weights of +-1, but this weight is -3");
        let scores = vec![Score::new(vec![1], 0).unwrap(), Score::new(vec![-1], 0).unwrap()];
        let network = Network::new(1, vec![], Output::Argmax(scores)).unwrap();
        let error = encode_network(&network, 2, 100, &watch).unwrap_err();
        assert_eq!(error.to_string(), "layer 1: there is no class 2: the network has 2 classes, counted from 0");
    }
}
