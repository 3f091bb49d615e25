//! A second model next to the one that a page shows: its scores of the same inputs, in the same games.
//!
//! Both have the same features and classes, so that an input of one is an input of the other, and the same bars can be
//! compared. They may differ in everything else, including how they were compiled.

use super::Rows;
use super::carried::Carried;
#[cfg(feature = "report")]
use super::carried::{CarriedRows, carried_bytes};
use crate::circuit::NamedCircuit;
use crate::lit::{Watch, thousands};
#[cfg(feature = "report")]
use crate::workflow::{CarriedRequest, Choice};
use crate::workflow::{Error, Menu, Request};
use serde_json::{Value, json};
use std::sync::Arc;

/// The second model and its games.
pub struct Beside {
    name: String,
    menu: Menu,
    /// The number of rows on which both decide alike, if both give decisions.
    alike: Option<u64>,
}

impl Beside {
    /// Prepares the second model for the request and the rows of a page about `own`.
    pub fn new(
        name: &str,
        own: &NamedCircuit,
        mut circuit: NamedCircuit,
        rows: &Rows,
        request: &Request,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        check(own, &circuit)?;
        // Both are compared with the same values: those of one training, not of two.
        circuit.marginals.clone_from(&own.marginals);
        let background = (rows.total() > 0).then(|| rows.expanded());
        Self::of_menu(name, own, Menu::new(Arc::new(circuit), request, background.as_ref(), watch)?, rows, watch)
    }

    /// Restores the second model from the data that a page carries; the rows are those of the page's own model.
    pub fn of_carried(
        own: &NamedCircuit,
        circuit: Arc<NamedCircuit>,
        carried: Carried,
        rows: &Rows,
    ) -> Result<Self, Error> {
        check(own, &circuit)?;
        let background = (rows.total() > 0).then(|| rows.expanded());
        let (name, request) = (&carried.request.name, carried.request.request(&circuit.features, rows.expanded())?);
        let menu = Menu::offered(circuit, &request, Some(name), background.as_ref())?;
        Self::of_menu(&carried.model, own, menu, rows, &Watch::unlimited())
    }

    fn of_menu(name: &str, own: &NamedCircuit, menu: Menu, rows: &Rows, watch: &Watch<'_>) -> Result<Self, Error> {
        let both = (rows.predicted(own, watch)?, rows.predicted(menu.circuit(), watch)?);
        let alike = match both {
            (Some(own), Some(other)) if rows.total() > 0 => {
                let kinds = own.iter().zip(&other).zip(&rows.counts);
                Some(kinds.filter(|((own, other), _)| own == other).map(|(_, count)| count).sum())
            }
            _ => None,
        };
        Ok(Beside { name: name.into(), menu, alike })
    }

    /// Its games.
    pub fn menu(&self) -> &Menu {
        &self.menu
    }

    /// The data about it for the page.
    pub(super) fn json(&self, rows: &Rows) -> Value {
        let of = |alike: u64| format!("Both decide alike in {} of {} rows.", thousands(alike), thousands(rows.total()));
        json!({"name": self.name, "words": self.alike.map(of)})
    }

    /// The bytes of it that a page carries, or why it cannot; the rows are carried with the page's own model.
    #[cfg(feature = "report")]
    pub(super) fn carried(&self, rows: &Rows) -> Result<Vec<u8>, String> {
        let first = Choice { distribution: 0, players: 0 };
        let explainer = self.menu.explainer(first).map_err(|error| error.to_string())?;
        let request = CarriedRequest::of(explainer, &rows.expanded());
        carried_bytes(explainer, &Carried { request, rows: CarriedRows::default(), model: self.name.clone() })
    }
}

/// Checks that an input of one is an input of the other, and that their answers mean the same.
fn check(own: &NamedCircuit, other: &NamedCircuit) -> Result<(), Error> {
    let differs = |what: &str| Err(Error::input(format!("{what} are not those of the model that it is put beside")));
    let classes = |circuit: &NamedCircuit| circuit.classes.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if own.features != other.features {
        let missing = own.features.iter().find(|name| !other.features.contains(name));
        let place = match missing {
            Some(name) => format!("its features (without '{name}')"),
            None => "the number or the order of its features".into(),
        };
        return differs(&place);
    }
    if own.binariser != other.binariser {
        return differs("its columns and their cuts");
    }
    if classes(own) != classes(other) {
        return differs("its classes");
    }
    if own.is_of_scores() != other.is_of_scores() {
        return Err(Error::input("one of both models gives labels and the other scores"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::data::Tally;
    use crate::lit::Var;

    fn literal(feature: usize, names: [&str; 2]) -> NamedCircuit {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let root = builder.literal(Var::new(feature).positive()).unwrap();
        NamedCircuit::new(builder.finish(root).unwrap(), names.map(String::from).to_vec()).unwrap()
    }

    #[test]
    fn models_that_fit_say_how_often_they_agree() {
        let counted = [(vec![true, false], vec![0, 3]), (vec![false, false], vec![1, 1])];
        let rows = Rows::of_tally(&Tally::from_counts(2, counted.into_iter()), "rows");
        let own = literal(0, ["x", "y"]);
        let beside =
            |other: NamedCircuit| Beside::new("other", &own, other, &rows, &Request::default(), &Watch::unlimited());
        let found = beside(literal(1, ["x", "y"])).unwrap().json(&rows);
        assert_eq!(found, json!({"name": "other", "words": "Both decide alike in 2 of 5 rows."}));
        let problem = beside(literal(1, ["x", "z"])).err().unwrap().to_string();
        assert_eq!(problem, "its features (without 'y') are not those of the model that it is put beside");
    }
}
