//! Different meanings of a score: against background rows, and with the bits of a column as one player; in fractions.
#![allow(clippy::print_stdout)]

use boolshap::circuit::read_nnf;
use boolshap::data::Bits;
use boolshap::explain::{ExactGame, Game, Index, Players, Population};
use boolshap::lit::Watch;
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // "near" or "old", where near is one value of three: x1 or (not x1 and x4).
    let circuit = read_nnf("nnf 5 4 4\nL 1\nL -1\nL 4\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
    let names = ["place=near", "place=far", "place=island", "old"].map(String::from);
    let mut background = Bits::new(4);
    for row in [[false, true, false, false], [false, false, true, true], [true, false, false, false]] {
        background.push(&row);
    }
    let (entity, watch) = ([true, false, false, true], Watch::unlimited());
    for players in [Players::features(&names), Players::columns(&names, None)] {
        let population = Population::Background(background.clone());
        let game = Game::new(&circuit, players.clone(), population, &watch)?;
        for index in [Index::Shapley, Index::Interaction] {
            let explained = ExactGame::new(&game)?.explain(&[entity], index, &watch)?;
            let scores: Vec<String> = explained[0].scores.iter().map(ToString::to_string).collect();
            println!("{index:?} of {:?}: {}", index.columns(players.names()), scores.join(", "));
        }
    }
    Ok(())
}
