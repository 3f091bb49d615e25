//! Estimates how long explaining the rows of a file will take: the first rows are explained for a moment, and their
//! time is multiplied by the number of rows. A long time is reported only if the rows visit many nodes, so that small
//! work is not held up.

use super::{Error, Explainer};
use crate::data::Bits;
use crate::explain::Distribution;
use crate::lit::{Instant, Remedy, Watch, duration, roughly, thousands};
use serde_json::{Value, json};
use std::path::Path;

/// A wait of more seconds than this is announced before it begins.
pub(super) const LONG: f64 = 3.0;
/// The shortest measurement, in seconds.
const MOMENT: f64 = 0.02;
/// Rows that visit fewer nodes together take a second at most on any machine.
const MANY_VISITS: u128 = 1 << 30;

/// How long the rows of a file will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    /// The approximate number of rows.
    pub rows: u64,
    /// The number of nodes that are visited for each row.
    pub visits: u128,
    /// The nodes of the circuit.
    pub nodes: u64,
    /// How long a row takes with all cores at work.
    pub row_seconds: f64,
    /// Whether there are background rows to go through.
    pub has_background: bool,
}

impl Wait {
    /// How long all rows take, if no two are equal.
    pub fn seconds(&self) -> f64 {
        self.row_seconds * self.rows as f64
    }

    /// Whether that is more than a few seconds.
    pub fn is_long(&self) -> bool {
        self.seconds() > LONG
    }

    /// A line to read.
    pub fn words(&self) -> String {
        let (rows, nodes, time) = (thousands(self.rows), roughly(self.nodes), duration(self.seconds()));
        format!("{nodes} nodes, {rows} rows in about {time} (less if rows are equal)")
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "rows": self.rows, "nodes": self.nodes, "visits": self.visits.to_string(), "row_seconds": self.row_seconds,
            "seconds": self.seconds(),
        })
    }

    /// What can be done about it.
    pub fn remedy(&self) -> Remedy {
        match self.has_background {
            true => Remedy::SmallerBackground,
            false => Remedy::SmallerNetwork { neurons: None },
        }
    }
}

impl Explainer {
    /// How long the rows of a file will take; nothing if that is unknown, or if it is neither long nor asked for.
    pub fn wait(&self, path: &Path, is_asked_for: bool, watch: &Watch<'_>) -> Result<Option<Wait>, Error> {
        let Some(visits) = self.visits(self.ask()) else { return Ok(None) };
        let Some(batch) = self.open(path)?.next_batch()? else { return Ok(None) };
        let Some(rows) = batch.expected_rows else { return Ok(None) };
        if !is_asked_for && visits.saturating_mul(rows.into()) < MANY_VISITS {
            return Ok(None);
        }
        let row_seconds = self.seconds_a_row(&batch.bits, watch)?;
        let nodes = self.circuit().graph_size().0 as u64;
        let has_background = matches!(self.distribution(), Distribution::Background(_));
        Ok(Some(Wait { rows, visits, nodes, row_seconds, has_background }))
    }

    /// How long the scores of a row take on this machine with all cores at work, measured by explaining a few of these
    /// rows.
    pub fn seconds_a_row(&self, rows: &Bits, watch: &Watch<'_>) -> Result<f64, Error> {
        if rows.rows() == 0 {
            return Ok(0.0);
        }
        let threads = rayon::current_num_threads();
        let mut some = 1;
        loop {
            let first: Vec<usize> = (0..some.min(rows.rows())).collect();
            let begin = Instant::now();
            self.explain(&rows.select(&first), &watch.silent())?;
            let seconds = begin.elapsed().as_secs_f64();
            if seconds >= MOMENT || first.len() == rows.rows() {
                // A single row uses one thread.
                let at_once = if some == 1 { threads } else { 1 };
                return Ok(seconds / (first.len() * at_once) as f64);
            }
            some = if some == 1 { 8 * threads } else { 4 * some };
        }
    }
}
