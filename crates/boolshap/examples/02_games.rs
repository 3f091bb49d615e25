//! Different meanings of a score: against background rows, and with the bits of a column as one player; in fractions.
#![allow(clippy::print_stdout)]

use boolshap::circuit::{NamedCircuit, read_nnf};
use boolshap::data::Bits;
use boolshap::explain::Index;
use boolshap::workflow::{DistributionFrom, Explainer, PlayersFrom, Request, RowsFrom};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // "near" or "old", where near is one value of three: x1 or (not x1 and x4).
    let circuit = read_nnf("nnf 5 4 4\nL 1\nL -1\nL 4\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
    let names = ["place=near", "place=far", "place=island", "old"].map(String::from);
    let mut background = Bits::new(4);
    for row in [[false, true, false, false], [false, false, true, true], [true, false, false, false]] {
        background.push(&row);
    }
    let circuit = NamedCircuit::new(circuit, names.to_vec())?;
    for players in [PlayersFrom::Features, PlayersFrom::Columns] {
        for index in [Index::Shapley, Index::Interaction] {
            let distribution = DistributionFrom::Background(RowsFrom::Bits(background.clone()));
            let players = players.clone();
            let request = Request { distribution, players, index, exact: true, ..Request::default() };
            let explainer = Explainer::new(&circuit, &request)?;
            let scores = explainer.explain_row(&[true, false, false, true])?;
            println!("{:?}: {}", index.columns(explainer.players().names()), scores.texts(0).join(", "));
        }
    }
    Ok(())
}
