//! From a request to a game's parts: files of players, probabilities, rows and constraints, read for one circuit.

use super::Error;
use super::read_source::read_formula;
use super::request::{
    ConstraintFrom, DistributionFrom, GroupsFrom, PlayersFrom, ReferenceFrom, Request, RowOfFile, RowsFrom,
};
use crate::circuit::NamedCircuit;
use crate::data::{
    Binariser, Bits, Blur, Cells, Code, CodedColumn, DataError, Entities, Grid, Reading, Table, read_segments,
};
use crate::explain::{Distribution, ExplainError, Players, Probabilities};
use crate::lit::Remedy;
use crate::model::parse_decimal;
use dashu_ratio::RBig;
use std::collections::{HashMap, HashSet};
use std::path::Path;

impl Request {
    /// The players of a circuit, in groups if groups are given.
    pub fn players(&self, circuit: &NamedCircuit) -> Result<Players, Error> {
        let players = self.players_alone(circuit)?;
        match &self.groups {
            None => Ok(players),
            Some(groups) => in_groups(players, groups),
        }
    }

    fn players_alone(&self, circuit: &NamedCircuit) -> Result<Players, Error> {
        let features = Layout {
            names: &circuit.features,
            binariser: circuit.binariser.as_ref(),
            grid: circuit.grid().map_err(Error::input)?,
        };
        features.players(&self.players)
    }

    /// The distribution for a circuit and its players.
    pub fn distribution(&self, circuit: &NamedCircuit, players: &Players) -> Result<Distribution, Error> {
        self.check()?;
        let rows = |rows: &RowsFrom| match rows {
            RowsFrom::File(path) => read_rows(path, circuit, self.input),
            RowsFrom::Bits(bits) => Ok(bits.clone()),
        };
        let distribution = match &self.distribution {
            DistributionFrom::Background(from) => Distribution::Background(rows(from)?),
            DistributionFrom::Empirical(from) => Distribution::Empirical(rows(from)?),
            DistributionFrom::Reference(from) => Distribution::Background(self.reference(from, circuit)?),
            _ => Distribution::Product(self.probabilities(circuit, players)?),
        };
        Ok(match (&self.constraint, distribution) {
            (Some(ConstraintFrom::File(path)), Distribution::Product(probabilities)) => {
                Distribution::Constrained(probabilities, read_formula(path)?)
            }
            (Some(ConstraintFrom::Formula(formula)), Distribution::Product(probabilities)) => {
                Distribution::Constrained(probabilities, formula.clone())
            }
            (_, distribution) => distribution,
        })
    }

    /// The one row of a reference.
    fn reference(&self, from: &ReferenceFrom, circuit: &NamedCircuit) -> Result<Bits, Error> {
        let mut one = Bits::new(circuit.features.len());
        match from {
            ReferenceFrom::All(value) => return all_equal(*value, circuit),
            ReferenceFrom::Row(row) => one.push(&read_row(row, circuit, self.input)?),
            ReferenceFrom::Bits(bits) if bits.rows() == 1 => return Ok(bits.clone()),
            // A placeholder: each row has its own reference.
            ReferenceFrom::Blur(_) => one = Bits::zeros(circuit.features.len(), 1),
            ReferenceFrom::Bits(bits) => {
                return Err(Error::setting("reference", format!("is one row, and {} were given", bits.rows())));
            }
        }
        Ok(one)
    }

    /// How each row is blurred into its own reference; nothing for other distributions.
    pub(super) fn blur(&self, circuit: &NamedCircuit) -> Result<Option<Blur>, Error> {
        let DistributionFrom::Reference(ReferenceFrom::Blur(radius)) = &self.distribution else { return Ok(None) };
        let binariser = circuit.binariser.as_ref();
        let grid = circuit.grid().map_err(Error::input)?;
        let grid = Layout { names: &circuit.features, binariser, grid }.grid("distribution")?;
        let blur = Blur::new(*radius, grid, circuit.features.len(), binariser);
        blur.map(Some).map_err(|why| Error::setting("distribution", why))
    }

    /// An error about a row of the distribution, with the file it is in.
    pub(super) fn in_rows(&self, error: ExplainError) -> Error {
        let path = match &self.distribution {
            DistributionFrom::ProductFile(path)
            | DistributionFrom::Background(RowsFrom::File(path))
            | DistributionFrom::Empirical(RowsFrom::File(path))
            | DistributionFrom::Reference(ReferenceFrom::Row(RowOfFile { path, .. })) => path,
            DistributionFrom::Background(RowsFrom::Bits(_))
            | DistributionFrom::Empirical(RowsFrom::Bits(_))
            | DistributionFrom::Reference(ReferenceFrom::All(_) | ReferenceFrom::Bits(_) | ReferenceFrom::Blur(_)) => {
                return match error {
                    ExplainError::Entity { entity, problem } => {
                        Error::input(format!("row {} of the {}: {problem}", entity + 1, self.distribution.name()))
                    }
                    error => error.into(),
                };
            }
            _ => return error.into(),
        };
        match error {
            error @ ExplainError::NoRows { .. } => Error::from(error).in_file(path),
            error => error.in_file(path, |entity| entity as u64 + 1).into(),
        }
    }

    fn probabilities(&self, circuit: &NamedCircuit, players: &Players) -> Result<Probabilities, Error> {
        // A file may claim any 64-bit number of rows.
        let smoothing = u128::from(self.smoothing);
        let fraction = |ones: u64, rows: u64| {
            RBig::from_parts((u128::from(ones) + smoothing).into(), (u128::from(rows) + 2 * smoothing).into())
        };
        let given = match &self.distribution {
            DistributionFrom::Marginals => {
                let marginals = circuit.marginals.as_ref().filter(|marginals| marginals.rows > 0).ok_or_else(|| {
                    Error::input("the circuit holds no marginals of training").with_remedy(Remedy::Probabilities)
                })?;
                marginals.ones.iter().map(|&ones| fraction(ones, marginals.rows)).collect()
            }
            DistributionFrom::Probabilities(given) => {
                // Floats add up to 1 only up to their rounding.
                check_columns(players, given, &RBig::from_parts(1.into(), 1_000_000_000_000u64.into()))?;
                given.clone()
            }
            DistributionFrom::ProductFile(path) => {
                let table = Table::open(path)?;
                if table.has("feature") && table.has("probability") {
                    if self.smoothing > 0 {
                        let holds = format!("is for rows to estimate from: {} holds probabilities", path.display());
                        return Err(Error::setting("smoothing", holds));
                    }
                    let given = read_probabilities(&table, &circuit.features)?;
                    check_columns(players, &given, &RBig::ZERO).map_err(|error| error.in_file(path))?;
                    given
                } else {
                    let bits = read_rows(path, circuit, self.input)?;
                    if bits.rows() == 0 {
                        return Err(Error::input("there are no rows to estimate probabilities from").in_file(path));
                    }
                    players.check_rows(&bits).map_err(|error| self.in_rows(error))?;
                    bits.ones().into_iter().map(|ones| fraction(ones, bits.rows() as u64)).collect()
                }
            }
            _ => return Ok(Probabilities::uniform(circuit.features.len())),
        };
        Ok(Probabilities::product(given)?)
    }
}

/// All rows of a file, as bits. Whether they are raw is found from the file; if both fit, the request decides.
pub(super) fn read_rows(path: &Path, circuit: &NamedCircuit, reading: Reading) -> Result<Bits, Error> {
    let table = Table::open(path)?;
    let open =
        |reading: Reading| Entities::of_table(table.clone(), &circuit.features, circuit.binariser.as_ref(), reading);
    let entities = match open(Reading::Auto) {
        Err(DataError::RawOrBits { .. }) if reading != Reading::Auto => open(reading),
        found => found,
    }?;
    // Refuse a file of `Trained::tally_csv`: without its counts every distinct row would count once.
    if let (false, Some(counts)) = (entities.is_raw(), ["train:0", "test:0"].into_iter().find(|name| table.has(name))) {
        return Err(DataError::Tally { path: path.into(), column: counts.into() }.into());
    }
    let mut all = Bits::new(circuit.features.len());
    for bits in entities {
        all.append(&bits?);
    }
    Ok(all)
}

/// Players in groups; the groups must name every player exactly once.
pub(super) fn in_groups(players: Players, groups: &GroupsFrom) -> Result<Players, Error> {
    match groups {
        GroupsFrom::Named(group_of) => {
            let known: HashSet<&String> = players.names().iter().collect();
            if let Some(unknown) = group_of.keys().find(|name| !known.contains(name)) {
                return Err(Error::setting("groups", format!("names '{unknown}', which is not a player")));
            }
            Ok(players.in_groups(group_of)?)
        }
        GroupsFrom::File(path) => {
            let table = Table::open(path)?;
            let found = read_pairs(&table, ["player", "group"], players.names(), named("group"))?;
            players.in_groups(&found).map_err(|error| Error::from(error).in_file(path))
        }
    }
}

/// One row of a file, as bits.
pub(super) fn read_row(of: &RowOfFile, circuit: &NamedCircuit, reading: Reading) -> Result<Vec<bool>, Error> {
    let rows = read_rows(&of.path, circuit, reading)?;
    let count = rows.rows() as u64;
    match of.row {
        None if count == 1 => Ok(rows.row(0)),
        Some(row) if (1..=count).contains(&row) => Ok(rows.row(row as usize - 1)),
        None => Err(Error::input(format!("it has {count} rows: say which one, as FILE:ROW")).in_file(&of.path)),
        Some(row) => {
            Err(Error::input(format!("there is no row {row}: it has {count}, the first is 1")).in_file(&of.path))
        }
    }
}

/// Reads the name of a player or group.
fn named(what: &'static str) -> impl Fn(String) -> Result<String, String> {
    move |name| match name.is_empty() {
        true => Err(format!("is not the name of a {what}")),
        false => Ok(name),
    }
}

fn is_png(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"))
}

/// The features of a model or a circuit, and how they belong together.
pub(super) struct Layout<'a> {
    pub(super) names: &'a [String],
    pub(super) binariser: Option<&'a Binariser>,
    pub(super) grid: Option<Grid>,
}

impl Layout<'_> {
    /// The players of these features.
    pub(super) fn players(&self, from: &PlayersFrom) -> Result<Players, Error> {
        match from {
            PlayersFrom::Features => Ok(Players::features(self.names)),
            PlayersFrom::Columns => Ok(Players::columns(self.names, self.binariser)),
            PlayersFrom::File(path) if is_png(path) => self.segments(path),
            PlayersFrom::File(path) => read_players(path, self.names),
            PlayersFrom::Regions(regions) => {
                let wrong = |why| Error::setting("regions", why);
                let grid = self.grid("regions")?;
                grid.check_regions(*regions).map_err(wrong)?;
                let name = |pixel: usize| {
                    let (row, column) = grid.region(pixel, *regions);
                    format!("r{row}c{column}")
                };
                self.players_of_pixels(grid, name).map_err(wrong)
            }
            PlayersFrom::Named(player_of) => {
                let known: HashSet<&String> = self.names.iter().collect();
                if let Some(unknown) = player_of.keys().find(|name| !known.contains(name)) {
                    return Err(Error::setting("players", format!("names '{unknown}', which is not a feature")));
                }
                Ok(Players::named(self.names, player_of)?)
            }
        }
    }

    /// The grid of the features; an error names what needs it.
    pub(super) fn grid(&self, what: &'static str) -> Result<Grid, Error> {
        self.grid.ok_or_else(|| {
            let need = if what == "distribution" { "'blur' needs" } else { "need" };
            let missing = format!("{need} to know how the features are laid out, and the file does not say it");
            Error::setting(what, missing).with_remedy(Remedy::Grid)
        })
    }

    /// The player of each feature by its pixel.
    fn players_of_pixels(&self, grid: Grid, name: impl Fn(usize) -> String) -> Result<Players, String> {
        let pixels = grid.pixels(self.names.len(), self.binariser)?;
        let player_of = self.names.iter().cloned().zip(pixels.into_iter().map(name)).collect();
        Players::named(self.names, &player_of).map_err(|error| error.to_string())
    }

    /// A player for each colour of an image.
    fn segments(&self, path: &Path) -> Result<Players, Error> {
        let grid = self.grid("players")?;
        let (found, colours) = read_segments(path)?;
        if found != grid {
            let other = format!("the image has {found} pixels, but the features are laid out as {grid}");
            return Err(Error::input(other).in_file(path));
        }
        self.players_of_pixels(grid, |pixel| colours[pixel].clone()).map_err(|why| Error::input(why).in_file(path))
    }
}

/// Reads a table of features and players; every feature must occur exactly once.
pub(super) fn read_players(path: &Path, features: &[String]) -> Result<Players, Error> {
    let table = Table::open(path)?;
    let found = read_pairs(&table, ["feature", "player"], features, named("player"))?;
    Players::named(features, &found).map_err(|error| Error::from(error).in_file(path))
}

/// Reads a table of features and probabilities, decimals exactly; every feature must occur exactly once.
fn read_probabilities(table: &Table, features: &[String]) -> Result<Vec<RBig>, Error> {
    let mut found = read_pairs(table, ["feature", "probability"], features, |text| match parse_decimal(&text) {
        // Decimals have the range of floats, so that a few characters cannot expand to gigabytes of digits.
        None if text.trim().parse() == Ok(0.0f64) => {
            Err("is smaller than the smallest that can be read, 5e-324".into())
        }
        None => Err("is not a number".into()),
        Some(value) if value < RBig::ZERO || value > RBig::ONE => Err("is not between 0 and 1".into()),
        Some(value) => Ok(value),
    })?;
    let missing = |name: &String| Error::input(format!("the feature '{name}' is missing")).in_file(table.path());
    features.iter().map(|name| found.remove(name).ok_or_else(|| missing(name))).collect()
}

/// The column `what` by the column `key`, whose values must be known names, each exactly once.
fn read_pairs<T>(
    table: &Table,
    [key, what]: [&str; 2],
    names: &[String],
    parse: impl Fn(String) -> Result<T, String>,
) -> Result<HashMap<String, T>, Error> {
    let known: HashSet<&String> = names.iter().collect();
    let mut found = HashMap::new();
    for chunk in table.chunks(&[table.position(key)?, table.position(what)?])? {
        let chunk = chunk?;
        for row in 0..chunk.rows {
            let place = format!("{}, row {}", table.path().display(), chunk.first_row + row as u64);
            let text = |column: usize| chunk.columns[column].text(row).unwrap_or_default().into_owned();
            let (name, given) = (text(0), text(1));
            if !known.contains(&name) {
                return Err(Error::input(format!("the circuit has no {key} '{name}'")).at(place));
            }
            let value = parse(given.clone())
                .map_err(|problem| Error::input(format!("the {what} '{given}' of '{name}' {problem}")).at(&place))?;
            if found.insert(name.clone(), value).is_some() {
                return Err(Error::input(format!("the {key} '{name}' is there twice")).at(place));
            }
        }
    }
    Ok(found)
}

/// Checks that the probabilities of each one-hot column add up to 1, up to this rounding.
fn check_columns(players: &Players, probabilities: &[RBig], rounding: &RBig) -> Result<(), Error> {
    for player in (0..players.len()).filter(|&player| players.is_one_hot(player)) {
        let values = players.members(player).filter_map(|feature| probabilities.get(feature));
        let sum = values.fold(RBig::ZERO, |sum, value| sum + value);
        let apart = if sum > RBig::ONE { &sum - RBig::ONE } else { RBig::ONE - &sum };
        if apart > *rounding {
            let name = &players.names()[player];
            return Err(Error::input(format!("the probabilities of the values of '{name}' add up to {sum}, not to 1")));
        }
    }
    Ok(())
}

/// A row of zeros or ones. If all raw columns are numbers, every number has this value, as in a black image; otherwise
/// every bit has.
fn all_equal(value: bool, circuit: &NamedCircuit) -> Result<Bits, Error> {
    let is_number = |column: &CodedColumn| {
        let code = matches!(column.code, Code::Above(_) | Code::Boolean | Code::Values(_) | Code::Bins(_));
        code && column.part.is_none()
    };
    match circuit.binariser.as_ref().filter(|binariser| binariser.columns().iter().all(is_number)) {
        Some(binariser) => {
            let cells = Cells::of_numbers(vec![f64::from(u8::from(value))]);
            let columns = vec![&cells; binariser.columns().len()];
            Ok(binariser.encode_cells("the reference", 1, &columns)?)
        }
        None => {
            let mut one = Bits::new(circuit.features.len());
            one.push(&vec![value; circuit.features.len()]);
            Ok(one)
        }
    }
}
