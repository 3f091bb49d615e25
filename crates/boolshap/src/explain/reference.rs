//! The slow engines behind the same trait: the paper's algorithm, and the definition over all subsets.

use super::Probabilities;
use super::engine::{Engine, in_parallel};
use super::error_bound;
use super::{BruteForce, Definition, Distribution, ExplainError, Explanation, Index, Labels, OpenBox, Players};
use crate::circuit::{Circuit, paper_form_within};
use crate::data::{Bits, Scores};
use crate::lit::Watch;

/// An engine to compare others with, in floats or in fractions.
pub struct Reference {
    way: Way,
    exact: bool,
}

enum Way {
    Paper(OpenBox, Probabilities),
    Subsets(Labels, Probabilities),
    Definition(Definition),
}

impl Reference {
    /// The open-box algorithm of Arenas et al. on the paper's form of the circuit: Shapley values of independent features.
    pub fn paper(
        circuit: &Circuit,
        probabilities: Probabilities,
        exact: bool,
        max_nodes: usize,
        watch: &Watch<'_>,
    ) -> Result<Self, ExplainError> {
        let open_box = OpenBox::new(&paper_form_within(circuit, max_nodes, watch)?)?;
        Ok(Reference { way: Way::Paper(open_box, probabilities), exact })
    }

    /// The definition over the labels of all inputs.
    pub fn brute_force(
        circuit: &Circuit,
        players: Players,
        distribution: Distribution,
        index: Index,
        exact: bool,
    ) -> Result<Self, ExplainError> {
        let labels = Labels::of_circuit(circuit)?;
        let way = match distribution {
            Distribution::Product(given) if players.kind() == "features" && index == Index::Shapley => {
                Way::Subsets(labels, given)
            }
            distribution => Way::Definition(Definition::new(labels, players, distribution)?),
        };
        Ok(Reference { way, exact })
    }
}

impl Engine for Reference {
    fn explain(&self, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        let width = rows.features();
        match (&self.way, self.exact) {
            (Way::Paper(engine, given), false) => {
                in_parallel(rows, width, watch, |part, watch| engine.explain(part, given, watch))
            }
            (Way::Paper(engine, given), true) => {
                in_parallel(rows, width, watch, |part, watch| engine.explain_exact(part, given, watch))
            }
            (Way::Subsets(labels, given), false) => {
                in_parallel(rows, width, watch, |part, watch| BruteForce::new(labels).explain(part, given, watch))
            }
            (Way::Subsets(labels, given), true) => {
                in_parallel(rows, width, watch, |part, watch| BruteForce::new(labels).explain_exact(part, given, watch))
            }
            (Way::Definition(judge), exact) => {
                let width = index.width(judge.players().len());
                let fractions = |part: &[Vec<bool>], watch: &Watch<'_>| judge.explain(part, index, watch);
                match exact {
                    true => in_parallel(rows, width, watch, fractions),
                    false => in_parallel(rows, width, watch, |part, watch| {
                        Ok(fractions(part, watch)?.iter().map(Explanation::to_floats).collect())
                    }),
                }
            }
        }
    }

    fn error_bound(&self, _: Index) -> f64 {
        match &self.way {
            _ if self.exact => 0.0,
            Way::Paper(engine, _) => engine.error_bound(),
            Way::Subsets(labels, _) => BruteForce::new(labels).error_bound(),
            // Fractions, rounded: an interaction is at most 2.
            Way::Definition(_) => error_bound::in_all(2.0),
        }
    }

    fn visits(&self, _: Index) -> u128 {
        u128::MAX
    }
}
