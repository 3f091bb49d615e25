//! A request with the content of its files, as text: a page carries it to play the same games without files.

use super::{ConstraintFrom, DistributionFrom, Error, Explainer, ModelOutput, PlayersFrom, Request, RowsFrom};
use crate::data::Bits;
use crate::explain::{Distribution, Players, Probabilities};
use crate::formula::{Cnf, read_dimacs, write_dimacs};
use dashu_ratio::RBig;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A request that needs no files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedRequest {
    /// The name of its distribution, after the file that it came from.
    pub name: String,
    distribution: CarriedDistribution,
    smoothing: u32,
    /// A formula in DIMACS.
    constraint: Option<String>,
    players: CarriedPlayers,
    model_output: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CarriedDistribution {
    Uniform,
    Marginals,
    /// Fractions.
    Product(Vec<String>),
    /// Rows of zeros and ones.
    Background(Vec<String>),
    Empirical(Vec<String>),
    /// The rows that the page is about.
    OwnBackground,
    OwnEmpirical,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CarriedPlayers {
    Features,
    Columns,
    /// The player of each feature.
    Named(Vec<String>),
}

/// The bits of a row, as a text of 0 and 1.
fn text_of_row(bits: &Bits, row: usize) -> String {
    (0..bits.features()).map(|feature| if bits.get(row, feature) { '1' } else { '0' }).collect()
}

/// Rows from such texts.
pub(crate) fn bits_of_texts(texts: &[String], features: usize) -> Result<Bits, Error> {
    let mut bits = Bits::new(features);
    for text in texts {
        let row: Vec<bool> = text.bytes().map(|byte| byte == b'1').collect();
        if row.len() != features || !text.bytes().all(|byte| matches!(byte, b'0' | b'1')) {
            return Err(Error::input(format!("a row is not {features} zeros and ones")));
        }
        bits.push(&row);
    }
    Ok(bits)
}

impl CarriedRequest {
    /// The request of an explainer, with what it read from files; the page's `own` rows are not repeated.
    pub fn of(explainer: &Explainer, own: &Bits) -> Self {
        let (request, players) = (explainer.request(), explainer.players());
        let rows = |bits: &Bits| (0..bits.rows()).map(|row| text_of_row(bits, row)).collect::<Vec<_>>();
        let fractions = |probabilities: &Probabilities| {
            CarriedDistribution::Product(probabilities.exact().iter().map(RBig::to_string).collect())
        };
        let given = match request.distribution {
            DistributionFrom::Uniform => Some(CarriedDistribution::Uniform),
            DistributionFrom::Marginals => Some(CarriedDistribution::Marginals),
            _ => None,
        };
        let read = || match explainer.distribution() {
            Distribution::Product(probabilities) | Distribution::Constrained(probabilities, _) => {
                fractions(probabilities)
            }
            Distribution::Background(bits) if bits == own => CarriedDistribution::OwnBackground,
            Distribution::Empirical(bits) if bits == own => CarriedDistribution::OwnEmpirical,
            Distribution::Background(bits) => CarriedDistribution::Background(rows(bits)),
            Distribution::Empirical(bits) => CarriedDistribution::Empirical(rows(bits)),
        };
        // Fractions from a file already include smoothing.
        let smoothing = if given.is_some() { request.smoothing } else { 0 };
        let constraint = match explainer.distribution() {
            Distribution::Constrained(_, formula) => Some(dimacs_of(formula)),
            _ => None,
        };
        CarriedRequest {
            name: request.distribution.name(),
            distribution: given.unwrap_or_else(read),
            smoothing,
            constraint,
            players: carried_players(players),
            model_output: request.model_output.map(|output| output.name().into()),
        }
    }

    /// The request, for a circuit of these features and a page of these rows.
    pub fn request(&self, features: &[String], own: Bits) -> Result<Request, Error> {
        let rows = |texts: &[String]| Ok::<_, Error>(RowsFrom::Bits(bits_of_texts(texts, features.len())?));
        let distribution = match &self.distribution {
            CarriedDistribution::Uniform => DistributionFrom::Uniform,
            CarriedDistribution::Marginals => DistributionFrom::Marginals,
            CarriedDistribution::Product(texts) => {
                let wrong = |text: &String| Error::input(format!("'{text}' is not a fraction"));
                let fraction = |text: &String| text.parse::<RBig>().map_err(|_| wrong(text));
                DistributionFrom::Probabilities(texts.iter().map(fraction).collect::<Result<_, _>>()?)
            }
            CarriedDistribution::OwnBackground => DistributionFrom::Background(RowsFrom::Bits(own)),
            CarriedDistribution::OwnEmpirical => DistributionFrom::Empirical(RowsFrom::Bits(own)),
            CarriedDistribution::Background(texts) => DistributionFrom::Background(rows(texts)?),
            CarriedDistribution::Empirical(texts) => DistributionFrom::Empirical(rows(texts)?),
        };
        let players = match &self.players {
            CarriedPlayers::Features => PlayersFrom::Features,
            CarriedPlayers::Columns => PlayersFrom::Columns,
            CarriedPlayers::Named(names) if names.len() == features.len() => {
                PlayersFrom::Named(features.iter().cloned().zip(names.iter().cloned()).collect::<HashMap<_, _>>())
            }
            CarriedPlayers::Named(_) => return Err(Error::input("the players are not one for each feature")),
        };
        let constraint =
            self.constraint.as_ref().map(|text| read_dimacs(text.as_bytes(), "the constraint")).transpose()?;
        let model_output = self.model_output.as_deref().map(str::parse::<ModelOutput>).transpose()?;
        let constraint = constraint.map(ConstraintFrom::Formula);
        Ok(Request { distribution, smoothing: self.smoothing, constraint, players, model_output, ..Request::default() })
    }
}

fn carried_players(players: &Players) -> CarriedPlayers {
    match players.kind() {
        "features" => CarriedPlayers::Features,
        "columns" => CarriedPlayers::Columns,
        _ => {
            let name = |feature: usize| players.names()[players.of(feature)].clone();
            CarriedPlayers::Named((0..players.feature_count()).map(name).collect())
        }
    }
}

fn dimacs_of(formula: &Cnf) -> String {
    let mut text = Vec::new();
    write_dimacs(formula, &mut text).expect("a text takes everything");
    String::from_utf8_lossy(&text).into_owned()
}
