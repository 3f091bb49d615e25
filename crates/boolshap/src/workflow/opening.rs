//! The game that a page about rows opens with, where a person has chosen none.
//!
//! Columns are what people know, so they play, if every row has one value of each; and the rows are what people compare with:
//! then the base value is the average prediction of the rows and not that of combinations which no row can have. Where the
//! rows are too many, or the circuit too large, to wait for that, the page opens with all combinations.

use super::{Ask, DistributionFrom, Error, Explainer, PlayersFrom, Request, RowsFrom, Scope};
use crate::circuit::NamedCircuit;
use crate::data::Bits;
use crate::explain::{Index, Players};
use crate::lit::Watch;
use std::sync::Arc;

/// Node visits that explaining all kinds of rows may take.
const MOST_VISITS: u128 = 4_000_000_000;

impl Request {
    /// The request with players and distribution for a page about these rows, of which `kinds` are the distinct ones; what is
    /// among `chosen` stays as it is.
    pub fn opening(
        mut self,
        chosen: &[&str],
        circuit: &Arc<NamedCircuit>,
        [kinds, rows]: [&Bits; 2],
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let is_free = |setting: &&str| !chosen.contains(setting);
        if kinds.rows() == 0 || circuit.check_compiled().is_err() {
            return Ok(self);
        }
        let columns = Players::columns(&circuit.features, circuit.binariser.as_ref());
        let has_several =
            (0..columns.len()).any(|column| columns.is_one_hot(column) && columns.members(column).count() > 1);
        if is_free(&"players") && is_free(&"regions") && has_several && have_one_value(&columns, kinds) {
            self.players = PlayersFrom::Columns;
        }
        if is_free(&"distribution") && self.constraint.is_none() {
            let compared =
                Request { distribution: DistributionFrom::Background(RowsFrom::Bits(rows.clone())), ..self.clone() };
            if is_quick(&compared, circuit, kinds.rows(), watch)? {
                return Ok(compared);
            }
        }
        Ok(self)
    }
}

/// Whether each row has exactly one value of every one-hot column.
fn have_one_value(columns: &Players, kinds: &Bits) -> bool {
    let ones = |kind: usize, column: usize| columns.members(column).filter(|&feature| kinds.get(kind, feature)).count();
    let one_hot: Vec<usize> = (0..columns.len()).filter(|&column| columns.is_one_hot(column)).collect();
    (0..kinds.rows()).all(|kind| one_hot.iter().all(|&column| ones(kind, column) == 1))
}

/// Whether all kinds of rows are explained within a moment.
fn is_quick(request: &Request, circuit: &Arc<NamedCircuit>, kinds: usize, watch: &Watch<'_>) -> Result<bool, Error> {
    let players = request.players(circuit)?;
    let distribution = request.distribution(circuit, &players)?;
    let explainer = Explainer::of_parts(circuit.clone(), players, distribution, request)?;
    let scope = if circuit.classes.is_empty() { Scope::Label } else { Scope::Each };
    explainer.base_values(scope, watch)?;
    let visits = explainer.visits(Ask { scope, index: Index::Shapley, exact: false });
    Ok(visits.is_some_and(|visits| visits.saturating_mul(kinds as u128) <= MOST_VISITS))
}
