//! Computes, from an explainer and a row, a picture of what its pixels or regions contribute.

use super::image_figure::{Picture, Tile};
use crate::data::{Bits, Scores};
use crate::lit::{Remedy, Watch};
use crate::workflow::{Ask, Error, Explainer, Scope};

/// The picture of one row: each class, or the only label, gets a tile.
pub fn picture(explainer: &Explainer, row: &[bool], title: String, watch: &Watch<'_>) -> Result<Picture, Error> {
    let circuit = explainer.circuit();
    let grid = circuit.grid().map_err(Error::input)?.ok_or_else(|| {
        Error::setting("figure", "image needs to know how the features are laid out, and the file does not say it")
            .with_remedy(Remedy::Grid)
    })?;
    let pixels = grid.pixels(circuit.features.len(), circuit.binariser.as_ref()).map_err(Error::input)?;
    let (mut ones, mut bits) = (vec![0.0; grid.cells()], vec![0.0; grid.cells()]);
    let mut player_of = vec![None; grid.cells()];
    let players = explainer.players();
    for (feature, &pixel) in pixels.iter().enumerate() {
        ones[pixel] += f64::from(u8::from(row[feature]));
        bits[pixel] += 1.0;
        let player = players.of(feature);
        if *player_of[pixel].get_or_insert(player) != player {
            let why = "needs players that hold whole pixels, such as columns or regions";
            return Err(Error::setting("players", why).with_remedy(Remedy::FewerPlayers));
        }
    }
    let mut rows = Bits::new(row.len());
    rows.push(row);
    let scope = if circuit.classes.is_empty() { Scope::Label } else { Scope::Each };
    let ask = Ask { scope, ..explainer.ask() };
    let scores = explainer.explain_as(&rows, ask, watch)?;
    Ok(Picture {
        title,
        grid,
        image: ones.iter().zip(&bits).map(|(ones, bits)| ones / bits).collect(),
        player_of: player_of.into_iter().flatten().collect(),
        players: players.names().to_vec(),
        tiles: tiles(explainer, &scores, players.len()),
    })
}

fn tiles(explainer: &Explainer, scores: &Scores, players: usize) -> Vec<Tile> {
    let circuit = explainer.circuit();
    let predicted = scores.prediction(0) as usize;
    let names: Vec<String> = match circuit.classes.is_empty() {
        true => vec![circuit.prediction_names().and_then(|names| names.get(1).cloned()).unwrap_or("label 1".into())],
        false => circuit.classes.iter().map(|(name, _)| name.clone()).collect(),
    };
    let numbers: Vec<f64> = match scores.floats(0) {
        Some(floats) => floats.to_vec(),
        None => scores.fractions(0).unwrap_or_default().iter().map(|number| number.to_f64().value()).collect(),
    };
    let tile = |(class, (name, numbers)): (usize, (String, &[f64]))| {
        let predicted = if circuit.classes.is_empty() { predicted == 1 } else { predicted == class };
        let value = match (scores.value_floats(0), scores.value_fractions(0)) {
            (Some(values), _) => values[class],
            (_, Some(values)) => values[class].to_f64().value(),
            _ => f64::from(u8::from(predicted)),
        };
        Tile { name, predicted, values: [numbers[0], value], scores: numbers[1..].to_vec() }
    };
    names.into_iter().zip(numbers.chunks_exact(players + 1)).enumerate().map(tile).collect()
}
