//! Summarises the scores of all rows: the importance of each player, the swarm of its scores, and the interactions of
//! pairs of players.
//!
//! Rows of one kind have the same explanation, so each kind is explained once and weighted by its count. Scores take
//! one sweep per kind; interactions take about n^2 sweeps, so only the most frequent kinds are used, as many as a fixed
//! number of operations allows; [`Survey::interaction_kinds`] is their number.

use super::{Rows, Subject, SwarmDot, SwarmRow, SwarmValue, short_names};
use crate::data::ExactSum;
use crate::explain::{Index, Players};
use crate::lit::Watch;
use crate::workflow::{Ask, Error, Explainer, Scope};
use std::collections::HashMap;

/// The limit on node visits for interactions: seconds on the threads of a machine, or on the single thread of a page.
const INTERACTION_VISITS: u128 = if cfg!(target_family = "wasm") { 200_000_000 } else { 4_000_000_000 };
/// The most players for interactions: a larger heat map is unreadable.
const INTERACTION_PLAYERS: usize = 200;

/// The scores of all kinds of rows and their summaries.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The expected label when nothing is known.
    pub base_value: f64,
    /// The label of each kind.
    pub predictions: Vec<bool>,
    /// The score of each kind, if the model's scores are explained.
    pub values: Option<Vec<f64>>,
    /// The scores, kind by kind.
    pub scores: Vec<f64>,
    /// The mean absolute score of each player over all rows; empty without rows.
    pub importance: Vec<f64>,
    /// The mean absolute interaction of each pair of players over the rows of the most frequent kinds, as a full square
    /// matrix with diagonal 0; empty if none was computed.
    pub interactions: Vec<f64>,
    /// The same with their signs: the mean interaction of each pair.
    pub interaction_means: Vec<f64>,
    /// The number of kinds that the interactions cover, the most frequent ones.
    pub interaction_kinds: usize,
}

impl Survey {
    /// Explains every kind.
    pub fn new(explainer: &Explainer, scope: Scope, rows: &Rows, watch: &Watch<'_>) -> Result<Self, Error> {
        let base_value = explainer.base_values(scope, watch)?[0];
        let table = explainer.explain_as(&rows.kinds, ask(scope, Index::Shapley), &watch.stage("explaining"))?;
        let kinds = rows.kinds.rows();
        let label = if let Scope::Class(class) = scope { class as u32 } else { 1 };
        let scores: Vec<f64> = (0..kinds).flat_map(|kind| table.scores(kind)).copied().collect();
        let importance = weighted_means(&scores, table.width() - 1, &rows.counts, f64::abs);
        Ok(Survey {
            base_value,
            predictions: (0..kinds).map(|kind| table.prediction(kind) == label).collect(),
            values: (0..kinds).map(|kind| table.value_floats(kind).map(|values| values[0])).collect(),
            scores,
            importance,
            interactions: Vec::new(),
            interaction_means: Vec::new(),
            interaction_kinds: 0,
        })
    }

    /// Adds the interactions of as many kinds as the limit on node visits allows.
    pub fn with_interactions(
        self,
        explainer: &Explainer,
        scope: Scope,
        rows: &Rows,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let visits = explainer.visits(ask(scope, Index::Interaction)).unwrap_or(u128::MAX);
        let allowed = INTERACTION_VISITS / visits.max(1);
        self.with_interactions_of(usize::try_from(allowed).unwrap_or(usize::MAX), explainer, scope, rows, watch)
    }

    /// Adds the interactions of at most this many kinds.
    fn with_interactions_of(
        mut self,
        most: usize,
        explainer: &Explainer,
        scope: Scope,
        rows: &Rows,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let players = explainer.players().len();
        let kinds = most.min(rows.kinds.rows());
        if !(2..=INTERACTION_PLAYERS).contains(&players) || kinds == 0 {
            return Ok(self);
        }
        let mut order: Vec<usize> = (0..rows.kinds.rows()).collect();
        order.sort_by_key(|&kind| std::cmp::Reverse(rows.counts[kind]));
        let chosen = rows.kinds.select(&order[..kinds]);
        let table = explainer.explain_as(&chosen, ask(scope, Index::Interaction), &watch.stage("explaining pairs"))?;
        let flat: Vec<f64> = (0..kinds).flat_map(|kind| table.scores(kind)).copied().collect();
        let counts: Vec<u64> = order[..kinds].iter().map(|&kind| rows.counts[kind]).collect();
        let square = |of: fn(f64) -> f64| {
            let means = weighted_means(&flat, table.width() - 1, &counts, of);
            let pairs = (0..players).flat_map(|i| (i + 1..players).map(move |j| (i, j)));
            let mut square = vec![0.0; players * players];
            for ((i, j), mean) in pairs.zip(means) {
                square[i * players + j] = mean;
                square[j * players + i] = mean;
            }
            square
        };
        (self.interactions, self.interaction_means) = (square(f64::abs), square(|number| number));
        self.interaction_kinds = kinds;
        Ok(self)
    }

    /// The scores of a kind.
    pub fn scores_of(&self, kind: usize) -> &[f64] {
        let players = self.importance.len();
        &self.scores[kind * players..(kind + 1) * players]
    }

    /// The dots of each player: its scores and values, with the number of rows that have both.
    pub fn swarm(&self, subject: &Subject, players: &Players, rows: &Rows) -> Vec<SwarmRow> {
        let names = short_names(players.names());
        let of_player = |player: usize| {
            let mut places: HashMap<(u64, SwarmValue), usize> = HashMap::new();
            let mut dots: Vec<SwarmDot> = Vec::new();
            for kind in 0..rows.kinds.rows() {
                let score = self.scores_of(kind)[player];
                let value = value_of(subject, players, player, |feature| rows.kinds.get(kind, feature));
                let place = *places.entry((score.to_bits(), value.clone())).or_insert(dots.len());
                match dots.get_mut(place) {
                    Some(dot) => dot.count += rows.counts[kind],
                    None => dots.push(SwarmDot { score, value, count: rows.counts[kind], row: rows.first[kind] }),
                }
            }
            SwarmRow { name: names[player].clone(), importance: self.importance[player], dots }
        };
        (0..self.importance.len()).map(of_player).collect()
    }
}

/// A request for the floating-point scores of one label.
fn ask(scope: Scope, index: Index) -> Ask {
    Ask { scope, index, exact: false }
}

/// The value of a player: its only bit, the value of a one-hot column, or all of its bits.
pub(super) fn value_of(subject: &Subject, players: &Players, player: usize, bit: impl Fn(usize) -> bool) -> SwarmValue {
    let mut members = players.members(player);
    match (members.next(), members.next()) {
        (Some(feature), None) if bit(feature) => SwarmValue::One,
        (Some(_), None) => SwarmValue::Zero,
        _ if players.is_one_hot(player) => {
            let one = players.members(player).find(|&feature| bit(feature));
            SwarmValue::Other(one.map_or(String::new(), |feature| subject.features[feature].one.clone()))
        }
        _ => SwarmValue::Other(players.members(player).map(|feature| if bit(feature) { '1' } else { '0' }).collect()),
    }
}

/// The mean of `taken` over the numbers of each column, with rows weighted by their counts; empty without rows.
fn weighted_means(numbers: &[f64], width: usize, counts: &[u64], taken: fn(f64) -> f64) -> Vec<f64> {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return Vec::new();
    }
    let mut sums = vec![ExactSum::default(); width];
    for (row, &count) in numbers.chunks_exact(width.max(1)).zip(counts) {
        sums.iter_mut().zip(row).for_each(|(sum, number)| sum.add(taken(*number), count));
    }
    sums.iter().map(|sum| sum.mean(total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::NamedCircuit;
    use crate::circuit::samples::random;
    use crate::data::{Seeded, Tally};
    use crate::explain::{Definition, Distribution, Labels, Probabilities};
    use crate::workflow::Request;

    #[test]
    fn a_survey_sums_up_the_definition_of_every_row() {
        let mut chance = Seeded::new(17, 0);
        let watch = Watch::unlimited();
        for features in 2..6 {
            let (circuit, _) = random(features, features as u64, 0);
            let names: Vec<String> = (0..features).map(|feature| format!("x{feature}")).collect();
            let players = Players::features(&names);
            let population = Distribution::Product(Probabilities::uniform(features));
            let rows: Vec<Vec<bool>> = (0..40).map(|_| (0..features).map(|_| chance.below(2) == 1).collect()).collect();
            let counted = rows.iter().map(|row| (row.clone(), vec![1]));
            let mut kinds = Rows::of_tally(&Tally::from_counts(features, counted), "rows");
            let named = NamedCircuit::new(&circuit, names).unwrap();
            let game = Explainer::new(&named, &Request::default()).unwrap();
            let survey = Survey::new(&game, Scope::Label, &kinds, &watch).unwrap();
            let survey = survey.with_interactions(&game, Scope::Label, &kinds, &watch).unwrap();
            assert_eq!(survey.interaction_kinds, kinds.kinds.rows());
            let judge = Definition::new(Labels::of_circuit(&circuit).unwrap(), players.clone(), population).unwrap();
            let mean = |index: Index, place: usize| {
                let stated = judge.explain(&rows, index, &watch).unwrap();
                stated.iter().map(|one| one.to_floats().scores[place].abs()).sum::<f64>() / rows.len() as f64
            };
            let signed = |place: usize| {
                let stated = judge.explain(&rows, Index::Interaction, &watch).unwrap();
                stated.iter().map(|one| one.to_floats().scores[place]).sum::<f64>() / rows.len() as f64
            };
            for player in 0..features {
                assert!((survey.importance[player] - mean(Index::Shapley, player)).abs() < 1e-12);
            }
            let mut place = 0;
            for i in 0..features {
                for j in i + 1..features {
                    let (here, there) = (survey.interactions[i * features + j], survey.interactions[j * features + i]);
                    assert!(here == there && (here - mean(Index::Interaction, place)).abs() < 1e-12);
                    assert!((survey.interaction_means[i * features + j] - signed(place)).abs() < 1e-12);
                    place += 1;
                }
            }
            let subject = Subject::new(&named, None).unwrap();
            let swarm = survey.swarm(&subject, &players, &kinds);
            for (player, row) in swarm.iter().enumerate() {
                assert_eq!(row.dots.iter().map(|dot| dot.count).sum::<u64>(), 40);
                let ones = row.dots.iter().filter(|dot| dot.value == SwarmValue::One).map(|dot| dot.count).sum::<u64>();
                assert_eq!(ones, rows.iter().filter(|row| row[player]).count() as u64);
            }
            // If only one kind is used, it is the most frequent one, wherever it is.
            kinds.counts = (1..=kinds.counts.len() as u64).collect();
            let one = survey.with_interactions_of(1, &game, Scope::Label, &kinds, &watch).unwrap();
            let last = kinds.kinds.row(kinds.kinds.rows() - 1);
            let expected = judge.explain(&[last], Index::Interaction, &watch).unwrap()[0].to_floats().scores[0].abs();
            assert!(one.interaction_kinds == 1 && (one.interactions[1] - expected).abs() < 1e-12);
        }
    }
}
