//! Figures for a paper: the importance of each feature over all entities, and the circuit itself, as SVG.
#![allow(clippy::print_stdout)]

use boolshap::circuit::{NamedCircuit, read_nnf};
use boolshap::data::Tally;
use boolshap::lit::Watch;
use boolshap::report::{Rows, Survey, circuit_figure, importance_figure};
use boolshap::workflow::{Explainer, Request, Scope};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let circuit = read_nnf("nnf 5 4 3\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
    let named = NamedCircuit::new(circuit, ["income", "rooms", "age"].map(String::from).to_vec())?;
    // Kinds of entities, each with its number of occurrences.
    let kinds =
        [(vec![true, false, true], vec![2]), (vec![false, false, true], vec![5]), (vec![false, true, true], vec![3])];
    let rows = Rows::of_tally(&Tally::from_counts(3, kinds.into_iter()), "count");
    let explainer = Explainer::new(&named, &Request::default())?;
    let survey = Survey::new(&explainer, Scope::Label, &rows, &Watch::unlimited())?;
    let importance: Vec<(String, f64)> =
        named.features.iter().cloned().zip(survey.importance.iter().copied()).collect();
    println!("{importance:?}");

    let folder = tempfile::tempdir()?;
    let drawn = circuit_figure(&named.circuit, &named.features).ok_or("too large to be drawn")?;
    for (name, figure) in [("importance.svg", importance_figure(&importance)), ("circuit.svg", drawn)] {
        std::fs::write(folder.path().join(name), &figure)?;
        println!("{name}: {} bytes", figure.len());
    }
    Ok(())
}
