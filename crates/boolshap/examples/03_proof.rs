//! Verification: a circuit equals its network on every input, or a counterexample shows where they differ.
#![allow(clippy::print_stdout)]

use boolshap::circuit::{Circuit, CircuitBuilder, lower_obdd};
use boolshap::diagram::compile_table;
use boolshap::lit::{Var, Watch};
use boolshap::model::{Gate, Label, Network, Output};
use boolshap::query::{Method, VerifyOptions, verify};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let watch = Watch::unlimited();
    let majority = Network::new(5, vec![], Output::Step(Gate::new(vec![1; 5], 3).expect("small weights")))?;
    let order: Vec<Var> = (0..5).map(Var::new).collect();
    let circuit = lower_obdd(&compile_table(&Label::of_class(&majority, 1)?, &order, usize::MAX, &watch)?)?;
    for method in [Method::Exhaustive, Method::Walk] {
        let options = VerifyOptions { method: Some(method), ..VerifyOptions::default() };
        let verdict = verify(&majority, 1, &circuit, &options, &watch)?;
        assert_eq!(verdict.counterexample, None);
        println!("equal on all inputs, by {}", method.name());
    }
    let wrong = first_feature()?;
    let found = verify(&majority, 1, &wrong, &VerifyOptions::default(), &watch)?.counterexample;
    let found = found.ok_or("one feature is not the majority")?;
    println!("for {:?} the network says {}, the circuit {}", found.entity, found.network, found.circuit);
    Ok(())
}

/// A different circuit: only the first feature.
fn first_feature() -> Result<Circuit, Box<dyn Error>> {
    let mut builder = CircuitBuilder::new(5)?;
    let literal = builder.literal(Var::new(0).positive())?;
    Ok(builder.finish(literal)?)
}
