//! The options that say what a score means: what fills in absent features, who plays, and which index.

use crate::explain::file_name;
use crate::terminal::usage;
use anyhow::{Context, bail};
use boolshap::circuit::NamedCircuit;
use boolshap::data::{Bits, Entities, Reading, Table};
use boolshap::explain::{Distribution, ExplainError, Index, Players, Population};
use boolshap::formula::{Cnf, read_dimacs};
use boolshap::model::parse_decimal;
use clap::{Args, ValueEnum};
use dashu::rational::RBig;
use std::collections::HashMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

#[derive(Args, Clone)]
pub(crate) struct GameOptions {
    /// What fills in absent features: uniform; product (the marginals of training); product:FILE with columns
    /// feature,probability or with rows to take relative frequencies from; background:FILE (the rows of FILE, whatever
    /// the present features are); empirical:FILE (those rows of FILE that agree with the present features)
    #[arg(long, default_value = "uniform")]
    pub(crate) distribution: String,
    /// Added to every count when probabilities are estimated from rows (Laplace's rule is 1)
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) smoothing: u32,
    /// Only entities that satisfy this formula (DIMACS) over the features can occur; with uniform or product
    #[arg(long, value_name = "FILE.cnf")]
    pub(crate) constraint: Option<PathBuf>,
    /// Who plays: features; columns (a one-hot column is one player); or a file with columns feature,player
    #[arg(long, value_name = "features|columns|FILE.csv", default_value = "features")]
    pub(crate) players: String,
    /// Which value of the game
    #[arg(long, value_enum, default_value = "shapley")]
    pub(crate) index: IndexName,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum IndexName {
    /// The SHAP score
    Shapley,
    /// The mean contribution over all coalitions
    Banzhaf,
    /// The Shapley interaction index of every pair of players
    Interaction,
}

impl IndexName {
    pub(crate) fn index(self) -> Index {
        match self {
            IndexName::Shapley => Index::Shapley,
            IndexName::Banzhaf => Index::Banzhaf,
            IndexName::Interaction => Index::Interaction,
        }
    }
}

impl GameOptions {
    /// Who plays.
    pub(crate) fn players(&self, named: &NamedCircuit) -> anyhow::Result<Players> {
        match self.players.as_str() {
            "features" => Ok(Players::features(&named.features)),
            "columns" => Ok(Players::columns(&named.features, named.binariser.as_ref())),
            "" => usage("--players names no file"),
            file => read_players(Path::new(file), &named.features),
        }
    }

    /// What fills in absent features.
    pub(crate) fn population(
        &self,
        named: &NamedCircuit,
        players: &Players,
        reading: Reading,
    ) -> anyhow::Result<Population> {
        if self.distribution.split_once(':').is_some_and(|(_, file)| file.is_empty()) {
            return usage(format!("--distribution '{}' names no file", self.distribution));
        }
        if self.smoothing > 0 && self.distribution.split(':').next() != Some("product") {
            return usage(
                "--smoothing is for probabilities that are estimated: --distribution product or product:FILE",
            );
        }
        let rows = |file: &str| read_rows(Path::new(file), named, reading);
        let population = match self.distribution.split_once(':') {
            Some(("background", file)) => Population::Background(rows(file)?),
            Some(("empirical", file)) => Population::Sample(rows(file)?),
            _ => Population::Product(self.distribution(named, players, reading)?),
        };
        match (&self.constraint, population) {
            (None, population) => Ok(population),
            (Some(path), Population::Product(distribution)) => {
                Ok(Population::Constrained(distribution, read_constraint(path)?))
            }
            _ => usage("--constraint goes with --distribution uniform or product, not with rows"),
        }
    }

    /// The distribution as it is told, a file by its name alone: where it lies is nobody else's business.
    pub(crate) fn distribution_name(&self) -> String {
        match self.distribution.split_once(':') {
            Some((kind, file)) => format!("{kind}:{}", file_name(Path::new(file))),
            None => self.distribution.clone(),
        }
    }

    /// What is wrong with the rows of a population, with their file.
    pub(crate) fn in_file(&self, error: ExplainError) -> anyhow::Error {
        match (self.distribution.split_once(':'), error) {
            (Some((_, file)), error @ ExplainError::NoRows { .. }) => {
                anyhow::Error::new(error).context(file.to_string())
            }
            (Some((_, file)), error) => error.in_file(Path::new(file), |entity| entity as u64 + 1).into(),
            (None, error) => error.into(),
        }
    }

    fn distribution(&self, named: &NamedCircuit, players: &Players, reading: Reading) -> anyhow::Result<Distribution> {
        let features = &named.features;
        let smoothing = u64::from(self.smoothing);
        let fraction =
            |ones: u64, rows: u64| RBig::from_parts((ones + smoothing).into(), (rows + 2 * smoothing).into());
        let probabilities = match self.distribution.split_once(':') {
            None if self.distribution == "uniform" => return Ok(Distribution::uniform(features.len())),
            None if self.distribution == "product" => {
                let marginals = named.marginals.as_ref().filter(|marginals| marginals.rows > 0);
                let marginals = marginals.context("the circuit holds no marginals: use product:FILE")?;
                marginals.ones.iter().map(|&ones| fraction(ones, marginals.rows)).collect()
            }
            Some(("product", file)) => {
                let path = Path::new(file);
                let table = Table::open(path)?;
                if table.position("feature").is_ok() && table.position("probability").is_ok() {
                    if self.smoothing > 0 {
                        return usage(format!("--smoothing is for rows to estimate from: {file} holds probabilities"));
                    }
                    let probabilities = read_probabilities(&table, features)?;
                    check_columns(path, players, &probabilities)?;
                    probabilities
                } else {
                    let bits = read_rows(path, named, reading)?;
                    if bits.rows() == 0 {
                        bail!("{file}: there are no rows to estimate probabilities from");
                    }
                    players.check_rows(&bits).map_err(|error| self.in_file(error))?;
                    bits.ones().into_iter().map(|ones| fraction(ones, bits.rows() as u64)).collect()
                }
            }
            _ => {
                let known = "uniform, product, product:FILE, background:FILE, empirical:FILE";
                return usage(format!("--distribution '{}' is none of {known}", self.distribution));
            }
        };
        Ok(Distribution::product(probabilities)?)
    }
}

/// All rows of a file, as bits: where the header fits both ways, as the rows to explain are read.
fn read_rows(path: &Path, named: &NamedCircuit, reading: Reading) -> anyhow::Result<Bits> {
    let reading = match (reading, &named.binariser) {
        (Reading::Bits, Some(_)) if has_all(path, named.features.iter())? => Reading::Bits,
        (Reading::Raw, Some(raw)) if has_all(path, raw.columns().iter().map(|column| &column.column))? => Reading::Raw,
        _ => Reading::Auto,
    };
    let mut all = Bits::new(named.features.len());
    for bits in Entities::open(path, &named.features, named.binariser.as_ref(), reading)? {
        all.append(&bits?);
    }
    Ok(all)
}

fn has_all<'a>(path: &Path, mut names: impl Iterator<Item = &'a String>) -> anyhow::Result<bool> {
    let table = Table::open(path)?;
    Ok(names.all(|name| table.columns().contains(name)))
}

fn read_constraint(path: &Path) -> anyhow::Result<Cnf> {
    let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    Ok(read_dimacs(BufReader::new(file), &path.display().to_string())?)
}

/// A table of features and players; every feature must be there once.
fn read_players(path: &Path, features: &[String]) -> anyhow::Result<Players> {
    let table = Table::open(path)?;
    let mut found: HashMap<String, String> = HashMap::new();
    each_row(&table, ["feature", "player"], |number, name, player| {
        if !features.contains(&name) {
            bail!("{}, row {number}: the circuit has no feature '{name}'", path.display());
        }
        if player.is_empty() {
            bail!("{}, row {number}: the player of '{name}' has no name", path.display());
        }
        match found.insert(name.clone(), player) {
            Some(_) => bail!("{}, row {number}: the feature '{name}' is there twice", path.display()),
            None => Ok(()),
        }
    })?;
    Players::named(features, &found).with_context(|| path.display().to_string())
}

/// Calls for each row with its number and its texts in two columns.
fn each_row(
    table: &Table,
    columns: [&str; 2],
    mut take: impl FnMut(u64, String, String) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for chunk in table.chunks(&[table.position(columns[0])?, table.position(columns[1])?])? {
        let chunk = chunk?;
        for row in 0..chunk.rows {
            let text = |column: usize| chunk.columns[column].text(row).unwrap_or_default().into_owned();
            take(chunk.first_row + row as u64, text(0), text(1))?;
        }
    }
    Ok(())
}

/// A table of features and probabilities, decimals read exactly; every feature must be there once.
fn read_probabilities(table: &Table, features: &[String]) -> anyhow::Result<Vec<RBig>> {
    let path = table.path().display();
    let mut found: HashMap<String, RBig> = HashMap::new();
    each_row(table, ["feature", "probability"], |number, name, text| {
        let value = parse_decimal(&text).with_context(|| format!("{path}, row {number}: '{text}' is not a number"))?;
        if !features.contains(&name) {
            bail!("{path}, row {number}: the circuit has no feature '{name}'");
        }
        if value < RBig::ZERO || value > RBig::ONE {
            bail!("{path}, row {number}: the probability {text} is not between 0 and 1");
        }
        match found.insert(name.clone(), value) {
            Some(_) => bail!("{path}, row {number}: the feature '{name}' is there twice"),
            None => Ok(()),
        }
    })?;
    features
        .iter()
        .map(|name| found.remove(name).with_context(|| format!("{path}: the feature '{name}' is missing")))
        .collect()
}

/// The probabilities of a column's values must be a distribution.
fn check_columns(path: &Path, players: &Players, probabilities: &[RBig]) -> anyhow::Result<()> {
    for player in (0..players.len()).filter(|&player| players.is_one_hot(player)) {
        let sum = players.members(player).fold(RBig::ZERO, |sum, feature| sum + &probabilities[feature]);
        if sum != RBig::ONE {
            let (path, name) = (path.display(), &players.names()[player]);
            bail!("{path}: the probabilities of the values of '{name}' add up to {sum}, not to 1");
        }
    }
    Ok(())
}
