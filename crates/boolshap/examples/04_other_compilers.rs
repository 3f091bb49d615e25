//! A circuit from another compiler: checked, counted, and explained by the paper's algorithm and by the definition.
#![allow(clippy::print_stdout)]

use boolshap::circuit::{check, paper_form, read_d4, write_nnf};
use boolshap::explain::{BruteForce, Labels, OpenBox, Probabilities};
use boolshap::lit::Watch;
use std::error::Error;

/// d4's output for (x1 or x2) and (not x1 or x3); it does not contain the number of variables.
const FILE: &str = "o 1 0\nt 2 0\n1 2 1 3 0\n1 2 -1 2 0\n";

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let (circuit, watch) = (read_d4(FILE.as_bytes(), 3)?, Watch::unlimited());
    check::decomposability(&circuit)?;
    let determinism = check::determinism(&circuit, check::Effort::default(), &watch)?;
    assert_eq!(determinism.verdict(), Some(true));
    println!("{} of 8 entities are models", circuit.model_count());

    let smooth = paper_form(&circuit)?;
    check::smoothness(&smooth)?;
    let (uniform, entity) = (Probabilities::uniform(3), [true, false, true]);
    let scores = OpenBox::new(&smooth)?.explain_exact(&[entity], &uniform, &watch)?;
    let labels = Labels::of_circuit(&circuit)?;
    assert_eq!(scores, BruteForce::new(&labels).explain_exact(&[entity], &uniform, &watch)?);
    println!("{}", scores[0].scores.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));

    let mut text = Vec::new();
    write_nnf(&smooth, &mut text)?;
    println!("{}", String::from_utf8(text)?.lines().next().unwrap_or_default());
    Ok(())
}
