//! From a network to exact scores: compile it once, then explain any entity.
#![allow(clippy::print_stdout)]

use boolshap::circuit::lower_obdd;
use boolshap::data::Bits;
use boolshap::diagram::{DirectOptions, compile_direct};
use boolshap::explain::{Distribution, FastEngine};
use boolshap::lit::Watch;
use boolshap::model::{Gate, Label, Network, Output};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // Three hidden neurons with weights +1 and -1 over four features; each needs this many inputs with the sign of
    // their weight.
    let gate = |weights: [i128; 4], need| Gate::new(weights.to_vec(), need).expect("small weights");
    let hidden = vec![gate([1, 1, -1, 1], 3), gate([-1, 1, 1, 1], 2), gate([1, -1, 1, -1], 2)];
    let output = Output::Step(Gate::new(vec![1, 1, -1], 2).expect("small weights"));
    let network = Network::new(4, vec![hidden], output)?;

    let watch = Watch::unlimited();
    let label = Label::of_class(&network, 1)?;
    let compiled = compile_direct(&label, &DirectOptions::default(), &watch)?;
    let circuit = lower_obdd(&compiled.diagram)?;
    println!("{} nodes by way of {}", circuit.graph_size().0, compiled.route);

    let mut entities = Bits::new(4);
    entities.push(&[true, true, false, true]);
    entities.push(&[false, false, true, false]);
    let table = FastEngine::new(&circuit)?.explain(&entities, &Distribution::uniform(4), &watch)?;
    for row in 0..table.rows() {
        let (scores, label) = (table.scores(row), f64::from(u8::from(table.prediction(row))));
        println!("{} + {scores:?} = {label}", table.base_value(row));
        assert!((table.base_value(row) + scores.iter().sum::<f64>() - label).abs() < 1e-12);
    }
    Ok(())
}
