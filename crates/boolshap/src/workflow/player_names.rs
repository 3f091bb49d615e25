//! Names of players, features and columns in a request, and files about them, read for one circuit.

use super::{Error, RecordsFrom};
use crate::circuit::NamedCircuit;
use crate::data::{Binariser, Code, CodedColumn};
use crate::explain::Players;
use crate::model::parse_decimal;
use crate::query::Space;
use dashu_ratio::RBig;

/// The players that a list names. An entry is a single name, which may contain commas, or several names separated by
/// commas. A column's name means all of its features, if these are players.
pub(super) fn named_players(
    setting: &'static str,
    given: &[String],
    circuit: &NamedCircuit,
    space: &Space,
) -> Result<Vec<usize>, Error> {
    let columns = Players::columns(&circuit.features, circuit.binariser.as_ref());
    let mut found = Vec::new();
    for entry in given {
        if let Some(players) = find(entry, circuit, space, &columns) {
            found.extend(players);
            continue;
        }
        for name in entry.split(',') {
            match find(name, circuit, space, &columns) {
                Some(players) => found.extend(players),
                None => return Err(unknown(setting, name, circuit, space)),
            }
        }
    }
    Ok(found)
}

fn find(name: &str, circuit: &NamedCircuit, space: &Space, columns: &Players) -> Option<Vec<usize>> {
    let players = space.players();
    if let Some(player) = players.names().iter().position(|known| known == name) {
        return Some(vec![player]);
    }
    // A feature that is a player under another name.
    let alone = |feature: usize| space.members(players.of(feature)).len() == 1;
    if let Some(feature) = circuit.features.iter().position(|known| known == name).filter(|&feature| alone(feature)) {
        return Some(vec![players.of(feature)]);
    }
    let column = columns.names().iter().position(|known| known == name)?;
    let mut all: Vec<usize> = columns.members(column).map(|feature| players.of(feature)).collect();
    all.sort_unstable();
    all.dedup();
    let inside = |&player: &usize| space.members(player).iter().all(|&feature| columns.of(feature) == column);
    all.iter().all(inside).then_some(all)
}

fn unknown(setting: &'static str, name: &str, circuit: &NamedCircuit, space: &Space) -> Error {
    let players = space.players();
    let setting = setting.replace('_', " ");
    match circuit.features.iter().position(|known| known == name) {
        Some(feature) => {
            let whole = &players.names()[players.of(feature)];
            Error::input(format!("{setting} names '{name}', which is a part of '{whole}': only that changes as one"))
        }
        None => Error::input(format!("{setting} names '{name}', which is not a feature, column or player")),
    }
}

/// For each player whose values are numbers, and so have an order, how many there are: a missing value, if there is
/// one, comes after them and has no place in the order.
pub(super) fn ordered_players(circuit: &NamedCircuit, space: &Space) -> Vec<Option<usize>> {
    let values = |player: usize| {
        let first = *space.members(player).first().filter(|_| space.players().is_one_hot(player))?;
        let (column, _) = column_of(circuit.binariser.as_ref()?, first)?;
        let is_number = matches!(column.code, Code::Above(_) | Code::Bins(_) | Code::Values(_));
        is_number.then(|| column.code.values())
    };
    (0..space.players().len()).map(values).collect()
}

/// A feature's column, and the column's first feature.
pub(super) fn column_of(binariser: &Binariser, feature: usize) -> Option<(&CodedColumn, usize)> {
    let mut first = 0;
    for column in binariser.columns() {
        let next = first + column.bits();
        if feature < next {
            return Some((column, first));
        }
        first = next;
    }
    None
}

/// The costs in a table with columns `player` and `cost`; players that it does not name cost 1.
pub(super) fn read_costs(from: &RecordsFrom, circuit: &NamedCircuit, space: &Space) -> Result<Vec<RBig>, Error> {
    let mut costs: Vec<Option<RBig>> = vec![None; space.players().len()];
    for record in from.read("costs", &["player", "cost"])? {
        let [name, cost] = &record.cells[..] else { continue };
        let wrong = |problem: &str| Error::input(format!("the cost '{cost}' of '{name}' {problem}")).at(&record.place);
        let exact = parse_decimal(cost).ok_or_else(|| wrong("is not a number"))?;
        if exact < RBig::ZERO {
            return Err(wrong("is negative"));
        }
        let players = named_players("costs", std::slice::from_ref(name), circuit, space)
            .map_err(|_| Error::input(format!("there is no player '{name}'")).at(&record.place))?;
        for player in players {
            if costs[player].replace(exact.clone()).is_some() {
                return Err(Error::input(format!("the player '{name}' is there twice")).at(&record.place));
            }
        }
    }
    Ok(costs.into_iter().map(|cost| cost.unwrap_or(RBig::ONE)).collect())
}
