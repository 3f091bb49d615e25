//! The examples run, and their own assertions hold.

use std::error::Error;

#[path = "../examples/05_figures.rs"]
mod figures;
#[path = "../examples/02_games.rs"]
mod games;
#[path = "../examples/04_other_compilers.rs"]
mod other_compilers;
#[path = "../examples/03_proof.rs"]
mod proof;
#[path = "../examples/01_scores.rs"]
mod scores;

#[test]
fn all_examples_succeed() -> Result<(), Box<dyn Error>> {
    scores::main()?;
    games::main()?;
    proof::main()?;
    other_compilers::main()?;
    figures::main()
}
