//! The data that a page carries for its embedded library: the circuit, the request, and the parts of the rows that the
//! page does not show.
//!
//! The format is the length of a JSON object (4 bytes, little-endian), the object (`request`, and `rows` as several
//! lists), and the circuit in its file format. The reader adds the parts of the rows that the page shows: the `bits`
//! and `count` of each kind, the `columns` of the table and the `kind` of each of its rows.

use super::rows::{RawColumn, RowTable, Rows};
use crate::workflow::{CarriedRequest, Error, Explainer, bits_of_texts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most bytes of a circuit that a page carries, about a million nodes: every browser that opens the page loads it.
pub const MOST_CARRIED_BYTES: usize = 16 << 20;

/// A request and the rows that it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Carried {
    /// The request.
    pub request: CarriedRequest,
    /// The rows.
    pub rows: CarriedRows,
    /// The name of a second model; empty for the first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// Rows as lists.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedRows {
    /// The first row of each kind.
    first: Vec<u64>,
    /// Kind, class, and the number of rows with both.
    classes: Vec<(u32, u32, u64)>,
    /// The class of each row of the table.
    class: Vec<Option<u32>>,
    of_kinds: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bits: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    count: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    columns: Vec<RawColumn>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kind: Vec<u32>,
}

impl CarriedRows {
    /// Everything except what a page shows.
    pub fn of(rows: &Rows) -> Self {
        CarriedRows {
            first: rows.first.clone(),
            classes: rows.classes.iter().map(|(&(kind, class), &count)| (kind, class, count)).collect(),
            class: rows.table.classes.clone(),
            of_kinds: rows.table.of_kinds,
            ..CarriedRows::default()
        }
    }

    /// Restores the rows, with this many features.
    pub fn rows(self, features: usize) -> Result<Rows, Error> {
        let (kinds, shown) = (self.bits.len(), self.kind.len());
        let fits = self.count.len() == kinds
            && self.first.len() == kinds
            && (self.class.is_empty() || self.class.len() == shown)
            && self.columns.iter().all(|column| column.cells.len() == shown)
            && self.kind.iter().chain(self.classes.iter().map(|(kind, ..)| kind)).all(|&kind| (kind as usize) < kinds);
        if !fits {
            return Err(Error::input("the lists of the rows do not fit together"));
        }
        let classes: BTreeMap<(u32, u32), u64> =
            self.classes.into_iter().map(|(kind, class, count)| ((kind, class), count)).collect();
        let table = RowTable { kinds: self.kind, classes: self.class, columns: self.columns, of_kinds: self.of_kinds };
        Ok(Rows { kinds: bits_of_texts(&self.bits, features)?, counts: self.count, classes, first: self.first, table })
    }
}

/// The bytes that a page carries, or why it cannot.
pub(super) fn carried(explainer: &Explainer, rows: &Rows) -> Result<Vec<u8>, String> {
    let request = CarriedRequest::of(explainer, &rows.expanded());
    carried_bytes(explainer, &Carried { request, rows: CarriedRows::of(rows), model: String::new() })
}

/// This object followed by the explainer's circuit, as bytes.
pub(super) fn carried_bytes(explainer: &Explainer, carried: &Carried) -> Result<Vec<u8>, String> {
    carried_within(explainer, carried, MOST_CARRIED_BYTES)
}

fn carried_within(explainer: &Explainer, carried: &Carried, most: usize) -> Result<Vec<u8>, String> {
    let text = serde_json::to_vec(carried).map_err(|error| error.to_string())?;
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend(text);
    let before = bytes.len();
    explainer.circuit().write(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() - before {
        size if size > most => {
            let (size, most) = (size.div_ceil(1 << 20), most >> 20);
            Err(format!("its circuit takes {size} MiB, and a page can carry {most} MiB"))
        }
        _ => Ok(bytes),
    }
}

/// The note on a page that cannot carry a circuit.
pub(super) fn fixed_note(reason: &str) -> String {
    format!("This report shows the rows it was made from, and no other inputs: {reason}.")
}

/// Splits the bytes that a page carries into the JSON and the circuit.
pub fn split_carried(bytes: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let cut = || Error::input("what the page carries is cut off");
    let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::{CircuitBuilder, NamedCircuit};
    use crate::data::Tally;
    use crate::lit::Var;
    use crate::workflow::Request;

    fn small() -> (Explainer, Rows) {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let root = builder.literal(Var::new(0).positive()).unwrap();
        let circuit = builder.finish(root).unwrap();
        let named = NamedCircuit::new(circuit, vec!["x".into(), "y".into()]).unwrap();
        let counted = [(vec![true, false], vec![0, 3]), (vec![false, false], vec![1, 1])];
        let rows = Rows::of_tally(&Tally::from_counts(2, counted.into_iter()), "rows");
        (Explainer::new(&named, &Request::default()).unwrap(), rows)
    }

    #[test]
    fn what_is_carried_comes_back() {
        let (explainer, rows) = small();
        let bytes = carried(&explainer, &rows).unwrap();
        let (text, circuit) = split_carried(&bytes).unwrap();
        let mut found: Carried = serde_json::from_slice(text).unwrap();
        found.rows.bits = (0..2).map(|kind| rows.bits_text(kind)).collect();
        found.rows.count = rows.counts.clone();
        (found.rows.columns, found.rows.kind) = (rows.table.columns.clone(), rows.table.kinds.clone());
        let back = found.rows.clone().rows(2).unwrap();
        assert_eq!((back.kinds, back.counts, back.classes), (rows.kinds, rows.counts, rows.classes));
        assert_eq!((back.first, back.table.kinds, back.table.of_kinds), (rows.first, rows.table.kinds, true));
        assert_eq!(NamedCircuit::read(circuit).unwrap().features, explainer.circuit().features);
        found.rows.kind[0] = 7;
        assert!(found.rows.rows(2).unwrap_err().to_string().contains("do not fit together"));
    }

    #[test]
    fn a_circuit_that_is_too_large_is_left_out_with_a_reason() {
        let (explainer, rows) = small();
        let bytes = carried(&explainer, &rows).unwrap();
        let all: Carried = serde_json::from_slice(split_carried(&bytes).unwrap().0).unwrap();
        let reason = carried_within(&explainer, &all, 10).unwrap_err();
        assert_eq!(reason, "its circuit takes 1 MiB, and a page can carry 0 MiB");
        assert!(
            fixed_note(&reason).starts_with("This report shows the rows it was made from, and no other inputs: its")
        );
    }
}
