//! The game and the class that a page about rows opens with, if the user has chosen none.
//!
//! People know columns, so columns are the players, if every row has one value of each; and people compare with the
//! rows, so the rows are the background: then the base value is the average prediction of the rows and not that of
//! combinations which no row can have. If there are too many rows, or the circuit is too large, for that to be quick,
//! the page opens with all combinations.

use super::{Ask, ClassChoice, DistributionFrom, Error, Explainer, PlayersFrom, Request, RowsFrom, Scope};
use crate::circuit::NamedCircuit;
use crate::data::Bits;
use crate::explain::{Index, Players};
use crate::lit::Watch;
use std::sync::Arc;

/// The most node visits for explaining all distinct rows.
const MOST_VISITS: u128 = 4_000_000_000;

impl Request {
    /// The request with players and distribution for a page about these rows, of which `kinds` are the distinct ones;
    /// the settings in `chosen` stay as they are.
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

/// The class that a page is about: the one chosen, else the one predicted for its first row, else the first; nothing
/// for a circuit of one label.
pub fn opening_class(
    circuit: &NamedCircuit,
    chosen: Option<&ClassChoice>,
    first_row: Option<u32>,
) -> Result<Option<usize>, Error> {
    let names: Vec<String> = circuit.classes.iter().map(|(name, _)| name.clone()).collect();
    match chosen {
        None => Ok((!names.is_empty()).then(|| first_row.map_or(0, |class| class as usize))),
        Some(_) if names.is_empty() => {
            Err(Error::setting("class", "is for circuits of several classes, and this one has a single label"))
        }
        Some(choice) => choice.number(names.len(), &names).map(Some),
    }
}

/// Whether each row has exactly one value of every one-hot column.
fn have_one_value(columns: &Players, kinds: &Bits) -> bool {
    let ones = |kind: usize, column: usize| columns.members(column).filter(|&feature| kinds.get(kind, feature)).count();
    let one_hot: Vec<usize> = (0..columns.len()).filter(|&column| columns.is_one_hot(column)).collect();
    (0..kinds.rows()).all(|kind| one_hot.iter().all(|&column| ones(kind, column) == 1))
}

/// Whether all distinct rows are explained quickly.
fn is_quick(request: &Request, circuit: &Arc<NamedCircuit>, kinds: usize, watch: &Watch<'_>) -> Result<bool, Error> {
    let players = request.players(circuit)?;
    let distribution = request.distribution(circuit, &players)?;
    let explainer = Explainer::of_parts(circuit.clone(), players, distribution, request)?;
    let scope = if circuit.classes.is_empty() { Scope::Label } else { Scope::Each };
    explainer.base_values(scope, watch)?;
    let visits = explainer.visits(Ask { scope, index: Index::Shapley, exact: false });
    Ok(visits.is_some_and(|visits| visits.saturating_mul(kinds as u128) <= MOST_VISITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::lit::Var;

    #[test]
    fn a_page_opens_with_the_class_chosen_else_with_that_of_its_first_row() {
        let mut builder = CircuitBuilder::new(1).unwrap();
        let root = builder.literal(Var::new(0).positive()).unwrap();
        let mut named = NamedCircuit::new(builder.finish(root).unwrap(), vec!["x".into()]).unwrap();
        let open = |named: &NamedCircuit, chosen: Option<&str>, first_row| {
            let chosen = chosen.map(|text| text.parse::<ClassChoice>().unwrap());
            opening_class(named, chosen.as_ref(), first_row).map_err(|error| error.to_string())
        };
        assert_eq!(open(&named, None, Some(1)), Ok(None));
        assert!(open(&named, Some("0"), None).unwrap_err().contains("single label"));
        let root = named.roots()[0];
        named.classes = vec![("cat".into(), root), ("dog".into(), root)];
        assert_eq!((open(&named, None, None), open(&named, None, Some(1))), (Ok(Some(0)), Ok(Some(1))));
        assert_eq!(open(&named, Some("cat"), Some(1)), Ok(Some(0)));
        assert!(open(&named, Some("predicted"), Some(1)).unwrap_err().contains("not one class"));
    }
}
