//! What the bits of a player mean: as values for programs, and in words for people.
//!
//! A feature's value is 0 or 1, a column's the name of its value, a block's its bits. In words, a bit whose meaning the
//! circuit knows is described by that meaning: above or at most a threshold, a category, an interval.

use crate::circuit::NamedCircuit;
use crate::data::{Code, short_number};
use crate::query::Space;
use serde_json::Value;

/// The most bits of a block that sentences spell out.
const READ_BITS: usize = 8;

/// The meaning of a circuit's features, for its players.
pub(super) struct ValueWords {
    /// For each player, its wording.
    players: Vec<Wording>,
}

/// How a player's values are worded.
struct Wording {
    name: String,
    members: Vec<usize>,
    kind: Kind,
}

enum Kind {
    /// A bit whose meaning is unknown.
    Bit,
    /// A bit that is 1 above a threshold.
    Above { column: String, threshold: f64 },
    /// A bit that is 1 if its column is true.
    Truth { column: String },
    /// A bit that is 1 for one value of a column.
    IsValue { column: String, value: String },
    /// A column with the names of its values, and the same in words.
    Values(Vec<String>, Vec<String>),
    /// Several bits.
    Block,
}

impl ValueWords {
    pub(super) fn new(circuit: &NamedCircuit, space: &Space) -> Self {
        let players = space.players();
        let meanings = meanings(circuit);
        let columns = circuit.binariser.iter().flat_map(|binariser| binariser.columns());
        let said: Vec<String> =
            columns.flat_map(|column| (0..column.bits()).map(|place| column.bit_words(place))).collect();
        let wording = |player: usize| {
            let members = space.members(player).to_vec();
            let kind = match (players.is_one_hot(player), &members[..]) {
                (true, _) => {
                    let names = members.iter().map(|&feature| value_name(circuit, feature, &meanings));
                    let names: Vec<String> = names.collect();
                    let words = members.iter().zip(&names);
                    let words = words.map(|(&feature, name)| said.get(feature).unwrap_or(name).clone()).collect();
                    Kind::Values(names, words)
                }
                (false, &[feature]) => match &meanings[feature] {
                    Some((column, Meaning::Above(threshold))) => {
                        Kind::Above { column: column.clone(), threshold: *threshold }
                    }
                    Some((column, Meaning::Value(value))) => {
                        Kind::IsValue { column: column.clone(), value: value.clone() }
                    }
                    Some((column, Meaning::Truth)) => Kind::Truth { column: column.clone() },
                    None => Kind::Bit,
                },
                (false, _) => Kind::Block,
            };
            Wording { name: players.names()[player].clone(), members, kind }
        };
        ValueWords { players: (0..players.len()).map(wording).collect() }
    }

    /// A player's value in an input.
    pub(super) fn value(&self, player: usize, input: &[bool]) -> Value {
        let wording = &self.players[player];
        match &wording.kind {
            Kind::Values(names, _) => match wording.members.iter().position(|&feature| input[feature]) {
                Some(place) => names[place].as_str().into(),
                None => Value::Null,
            },
            Kind::Block => bits(wording, input).into(),
            _ => u8::from(input[wording.members[0]]).into(),
        }
    }

    /// The text of a value.
    pub(super) fn text(&self, player: usize, input: &[bool]) -> String {
        match self.value(player, input) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// A player's value without its name: its meaning if the circuit knows it, else the value for programs.
    pub(super) fn short(&self, player: usize, input: &[bool]) -> String {
        let wording = &self.players[player];
        match &wording.kind {
            Kind::Above { threshold, .. } => {
                format!("{} {threshold}", if input[wording.members[0]] { "above" } else { "at most" })
            }
            Kind::IsValue { value, .. } => format!("{}{value}", if input[wording.members[0]] { "" } else { "not " }),
            _ => self.text(player, input),
        }
    }

    /// A player's value in an input as part of a sentence, numbers with few digits.
    pub(super) fn say_short(&self, player: usize, input: &[bool]) -> String {
        let wording = &self.players[player];
        match &wording.kind {
            Kind::Above { column, threshold } => {
                let side = if input[wording.members[0]] { "above" } else { "at most" };
                format!("{column} is {side} {}", short_number(*threshold))
            }
            Kind::Truth { column } => format!("{column} is {}", input[wording.members[0]]),
            Kind::Values(_, words) => match wording.members.iter().position(|&feature| input[feature]) {
                Some(place) => format!("{} is {}", wording.name, words[place]),
                None => format!("{} has no value", wording.name),
            },
            // More bits than a reader takes in at a glance, such as those of a region.
            Kind::Block if wording.members.len() > READ_BITS => {
                let ones = wording.members.iter().filter(|&&feature| input[feature]).count();
                format!("{} has {ones} of {} features on", wording.name, wording.members.len())
            }
            _ => self.say(player, input),
        }
    }

    /// A change of a player as part of a sentence, numbers with few digits.
    pub(super) fn say_change_short(&self, player: usize, from: &[bool], to: &[bool]) -> String {
        let wording = &self.players[player];
        match &wording.kind {
            Kind::Above { column, threshold } => {
                let [now, then] = [from, to].map(|input| if input[wording.members[0]] { "above" } else { "at most" });
                format!("{column} {then} {} instead of {now}", short_number(*threshold))
            }
            Kind::Values(_, words) => {
                let place = |input: &[bool]| wording.members.iter().position(|&feature| input[feature]);
                let [now, then] =
                    [from, to].map(|input| place(input).map_or("no value", |place| words[place].as_str()));
                format!("{} {then} instead of {now}", wording.name)
            }
            Kind::Truth { column } => {
                let [now, then] = [from, to].map(|input| input[wording.members[0]]);
                format!("{column} {then} instead of {now}")
            }
            _ => self.say_change(player, from, to),
        }
    }

    /// A player's value in an input, as words.
    pub(super) fn say(&self, player: usize, input: &[bool]) -> String {
        let wording = &self.players[player];
        match &wording.kind {
            Kind::Above { column, threshold } => {
                format!("{column} {} {threshold}", if input[wording.members[0]] { "above" } else { "at most" })
            }
            Kind::IsValue { column, value } => {
                format!("{column} is {}{value}", if input[wording.members[0]] { "" } else { "not " })
            }
            _ => format!("{} is {}", wording.name, self.text(player, input)),
        }
    }

    /// A change of a player, as words.
    pub(super) fn say_change(&self, player: usize, from: &[bool], to: &[bool]) -> String {
        let wording = &self.players[player];
        let side = |input: &[bool]| if input[wording.members[0]] { "above" } else { "at most" };
        match &wording.kind {
            Kind::Above { column, threshold } => format!("{column} {} {threshold} instead of {}", side(to), side(from)),
            Kind::IsValue { .. } => self.say(player, to),
            _ => format!("{} {} instead of {}", wording.name, self.text(player, to), self.text(player, from)),
        }
    }
}

fn bits(wording: &Wording, input: &[bool]) -> String {
    wording.members.iter().map(|&feature| if input[feature] { '1' } else { '0' }).collect()
}

enum Meaning {
    Above(f64),
    Truth,
    Value(String),
}

/// For each feature its column and what its 1 means, if the circuit knows it.
fn meanings(circuit: &NamedCircuit) -> Vec<Option<(String, Meaning)>> {
    let Some(binariser) = &circuit.binariser else {
        return circuit.features.iter().map(|_| None).collect();
    };
    let mut all = Vec::with_capacity(circuit.features.len());
    for column in binariser.columns() {
        let name = column.name();
        match &column.code {
            Code::Above(threshold) if !column.is_one_hot() => all.push(Some((name, Meaning::Above(*threshold)))),
            Code::Boolean if !column.is_one_hot() => all.push(Some((name, Meaning::Truth))),
            _ => {
                let value = |feature: &String| {
                    let test = feature.strip_prefix(&name).unwrap_or(feature);
                    test.strip_prefix('=').unwrap_or(test).to_string()
                };
                let values = column.features().iter().map(value).collect::<Vec<_>>();
                all.extend(values.into_iter().map(|value| Some((name.clone(), Meaning::Value(value)))));
            }
        }
    }
    all
}

/// The name of a column's value: the one that the circuit knows, else what follows the column's name.
fn value_name(circuit: &NamedCircuit, feature: usize, meanings: &[Option<(String, Meaning)>]) -> String {
    match &meanings[feature] {
        Some((_, Meaning::Value(value))) => value.clone(),
        _ => {
            let name = &circuit.features[feature];
            name.split_once('=').map_or(name.clone(), |(_, value)| value.to_string())
        }
    }
}
