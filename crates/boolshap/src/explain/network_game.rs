//! Games on a network that is not compiled, by its answers on the corners between an entity and each background row.
//!
//! *Problem.* A network of 784 pixels has no circuit that could be stored, but users ask what 49 regions of its pixels
//! contribute against a reference. *Idea.* Against one row, only the D players on which the two differ matter. The
//! network is projected onto them ([`Network::wired`]): each first-layer sum becomes a constant plus a whole number for
//! each player. All 2^D corners are evaluated, 512 at a time ([`AllInputs`]), and the ones of each answer are counted
//! by the number of present players, with and without each player (`corner_counts`). SHAP is linear in the explained
//! function, so these counts give the scores of labels, and of numbers that are weighted sums of bits.
//!
//! *Invariant.* Everything is a whole number over one common denominator until the end, so floats are fractions rounded
//! once, and the order of work does not matter. *Cost.* 2^D / 512 runs of the network's bit-sliced program for each
//! pair of an entity and a background row; memory for one group of 131,072 corners per thread, whatever D is. D is at
//! most [`MAX_DIFFERING`]; beyond that an error reports how many players differ, and nothing is sampled.

use super::corner_counts::CornerCounts;
use super::corner_sums::{Cube, Sums};
use super::engine::Engine;
use super::error_bound;
use super::game::check_width;
use super::starts::Sample;
use super::{EntityProblem, ExplainError, Explanation, Index, Players, WantedSums};
use crate::circuit::WeightedSum;
use crate::data::{Bits, Numbers, Scores};
use crate::lit::{Meter, Watch};
use crate::model::{AllInputs, Gate, Network, NetworkEvaluator, Outputs, Wire};
use dashu_ratio::RBig;
use rayon::prelude::*;
use std::sync::Arc;

/// The most players that may differ between an entity and a background row: 32 million corners.
pub const MAX_DIFFERING: usize = 25;

/// A network against background rows.
///
/// ```
/// use boolshap::data::Bits;
/// use boolshap::explain::{Index, NetworkGame, Players};
/// use boolshap::lit::Watch;
/// use boolshap::model::{Gate, Network, Output};
/// let both = Network::new(2, vec![], Output::Step(Gate::new(vec![1, 1], 2).unwrap())).unwrap();
/// let (mut background, mut entities) = (Bits::new(2), Bits::new(2));
/// background.push(&[false, false]);
/// entities.push(&[true, true]);
/// let game = NetworkGame::new(both.into(), Players::features(&["x".into(), "y".into()]), &background)?;
/// let tables = game.explain(&entities, &[1], Index::Shapley, false, &Watch::unlimited())?;
/// assert_eq!(tables[0].scores(0), [0.5, 0.5]);
/// # Ok::<(), boolshap::explain::ExplainError>(())
/// ```
pub struct NetworkGame {
    network: Arc<Network>,
    players: Players,
    sample: Sample,
    /// The class of each background row.
    classes: Vec<u32>,
}

impl NetworkGame {
    /// Prepares a network and its background.
    pub fn new(network: Arc<Network>, players: Players, background: &Bits) -> Result<Self, ExplainError> {
        let features = network.inputs();
        if players.feature_count() != features {
            return Err(ExplainError::PlayersLength { expected: features, found: players.feature_count() });
        }
        check_width(background, features)?;
        players.check_rows(background)?;
        let sample = Sample::new(background, "background")?;
        let classes = classes_of(&network, &sample.rows);
        Ok(NetworkGame { network, players, sample, classes })
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The class of each row.
    pub fn classes(&self, rows: &Bits) -> Vec<u32> {
        classes_of(&self.network, rows)
    }

    /// The mean label of a class when nothing is known: that of the background rows.
    pub fn base_value(&self, class: usize) -> RBig {
        let of_class = self.classes.iter().zip(&self.sample.counts).filter(|(found, _)| **found as usize == class);
        RBig::from_parts(of_class.map(|(_, count)| count).sum::<u64>().into(), self.sample.total.into())
    }

    /// The scores of weighted sums of the last hidden layer's bits: for each row the wanted sums, side by side. The
    /// predictions are the classes of the rows.
    pub fn explain_values(
        &self,
        rows: &Bits,
        sums: &[WeightedSum],
        wanted: &WantedSums<'_>,
        predictions: Vec<u32>,
        (index, exact): (Index, bool),
        watch: &Watch<'_>,
    ) -> Result<Scores, ExplainError> {
        let base_values: Vec<RBig> = sums.iter().map(|sum| self.base_of(sum)).collect();
        let explain = |row: usize, entity: &[bool], parts: Vec<Vec<RBig>>| {
            let bits = last_bits(&self.network, entity);
            let (mut numbers, mut values) = (Vec::new(), Vec::new());
            for sum in wanted(row) {
                let (base, sum) = (&base_values[sum], &sums[sum]);
                let scores = combined(sum, &parts, index.width(self.players.len()));
                let value = value_of(sum, &bits);
                if index == Index::Shapley {
                    let all = scores.iter().fold(base.clone(), |all, score| all + score);
                    if all != value {
                        let (base, sum) = (base.to_string(), (all - base).to_string());
                        let problem = EntityProblem::DoesNotAddUp { base, sum, prediction: value.to_string() };
                        return Err(ExplainError::Entity { entity: row, problem });
                    }
                }
                numbers.push(base.clone());
                numbers.extend(scores);
                values.push(value);
            }
            Ok((numbers, values))
        };
        let rows = self.each_row(rows, Wanted::LastHidden, index, watch, explain)?;
        let width = rows.first().map_or(index.width(self.players.len()) + 1, |(numbers, _)| numbers.len());
        let (numbers, values): (Vec<Vec<RBig>>, Vec<Vec<RBig>>) = rows.into_iter().unzip();
        let table = |numbers: Vec<Vec<RBig>>| {
            let numbers = numbers.into_iter().flatten();
            match exact {
                true => Numbers::Exact(numbers.collect()),
                false => Numbers::Floats(numbers.map(|number| number.to_f64().value()).collect()),
            }
        };
        Ok(Scores::of_values(width, predictions, table(numbers), table(values)))
    }

    /// The mean of a weighted sum of the last hidden layer's bits over the background rows.
    pub fn base_of(&self, sum: &WeightedSum) -> RBig {
        let of_row = |row: usize| {
            let value = value_of(sum, &last_bits(&self.network, &self.sample.rows.row(row)));
            value * RBig::from(self.sample.counts[row])
        };
        let all = (0..self.sample.counts.len()).map(of_row).fold(RBig::ZERO, |all, value| all + value);
        all / RBig::from(self.sample.total)
    }

    /// Bounds the error of the numbers of such a sum: fractions, each rounded once.
    pub fn value_bound(sum: &WeightedSum) -> f64 {
        let size = |number: &RBig| number.to_f64().value().abs();
        2.0 * error_bound::in_all(1.0) * (size(&sum.constant) + 2.0 * sum.weights.iter().map(size).sum::<f64>())
    }

    /// For each class the scores of all rows, on all threads of the current pool.
    pub fn explain(
        &self,
        rows: &Bits,
        classes: &[usize],
        index: Index,
        exact: bool,
        watch: &Watch<'_>,
    ) -> Result<Vec<Scores>, ExplainError> {
        let predicted = self.classes(rows);
        let explain = |row: usize, _: &[bool], scores: Vec<Vec<RBig>>| {
            let of_class = |(&class, scores): (&usize, Vec<RBig>)| {
                let prediction = predicted[row] as usize == class;
                let explanation = Explanation { base_value: self.base_value(class), prediction, scores };
                if index == Index::Shapley {
                    explanation.check_sum(row)?;
                }
                Ok(explanation)
            };
            classes.iter().zip(scores).map(of_class).collect::<Result<Vec<_>, ExplainError>>()
        };
        let mut tables = vec![Scores::empty(index.width(self.players.len()), exact); classes.len()];
        for row in self.each_row(rows, Wanted::Classes(classes), index, watch, explain)? {
            for (table, explanation) in tables.iter_mut().zip(row) {
                match exact {
                    true => table.push_exact(explanation.prediction, explanation.base_value, explanation.scores),
                    false => {
                        let Explanation { prediction, base_value, scores } = explanation.to_floats();
                        table.push(prediction, base_value, &scores);
                    }
                }
            }
        }
        Ok(tables)
    }

    /// Calls `make` with the scores of the wanted bits of each row, several rows at once.
    fn each_row<T: Send>(
        &self,
        rows: &Bits,
        wanted: Wanted<'_>,
        index: Index,
        watch: &Watch<'_>,
        make: impl Fn(usize, &[bool], Vec<Vec<RBig>>) -> Result<T, ExplainError> + Sync,
    ) -> Result<Vec<T>, ExplainError> {
        if !matches!(index, Index::Shapley | Index::Banzhaf | Index::Interaction) {
            return Err(ExplainError::IndexNeedsCircuit { index: index.name() });
        }
        check_width(rows, self.network.inputs())?;
        self.players.check_rows(rows)?;
        let mut cubes = Vec::new();
        for row in 0..rows.rows() {
            watch.check()?;
            let entity = rows.row(row);
            let found = self.cubes(&entity).map_err(|problem| ExplainError::Entity { entity: row, problem })?;
            cubes.push((entity, found));
        }
        let corners = cubes.iter().flat_map(|(_, cubes)| cubes).map(|cube| 1u64 << cube.differing.len()).sum();
        let meter = Meter::new(watch, corners);
        let explain = |(row, (entity, cubes)): (usize, &(Vec<bool>, Vec<Cube>))| {
            let sums = self.summed(cubes, wanted, index, &meter, watch)?;
            make(row, entity, sums.into_iter().map(|sums| sums.scores(index, self.sample.total)).collect())
        };
        // Of several errors, the first row's is returned, whichever thread failed first.
        cubes.par_iter().enumerate().map(explain).collect::<Vec<_>>().into_iter().collect()
    }

    /// The cubes between the entity and each background row.
    fn cubes(&self, entity: &[bool]) -> Result<Vec<Cube>, EntityProblem> {
        let cube = |row: usize| {
            let mut place = vec![None; self.players.len()];
            let mut differing = Vec::new();
            let mut wires = Vec::with_capacity(entity.len());
            for (feature, &value) in entity.iter().enumerate() {
                if self.sample.rows.get(row, feature) == value {
                    wires.push(Wire::Fixed(value));
                    continue;
                }
                let player = self.players.of(feature);
                let place = *place[player].get_or_insert_with(|| {
                    differing.push(player);
                    differing.len() - 1
                });
                wires.push(if value { Wire::Tied(place) } else { Wire::Against(place) });
            }
            let differ = differing.len();
            match differ <= MAX_DIFFERING {
                true => Ok(Cube { row, differing, wires }),
                false => Err(EntityProblem::TooManyDiffer { differ, limit: MAX_DIFFERING, hint: String::new() }),
            }
        };
        (0..self.sample.counts.len()).map(cube).collect()
    }

    /// Adds up the contributions of an entity's cubes to each bit.
    fn summed(
        &self,
        cubes: &[Cube],
        wanted: Wanted<'_>,
        index: Index,
        meter: &Meter<'_>,
        watch: &Watch<'_>,
    ) -> Result<Vec<Sums>, ExplainError> {
        let bits = wanted.len(&self.network);
        let none = || vec![Sums::new(index, self.players.len()); bits];
        let added = |mut sums: Vec<Sums>, cube: &Cube| -> Result<Vec<Sums>, ExplainError> {
            if cube.differing.is_empty() {
                return Ok(sums);
            }
            let count = self.sample.counts[cube.row];
            for (sums, counts) in sums.iter_mut().zip(self.count(cube, wanted, index, meter, watch)?) {
                if let Some(counts) = counts {
                    sums.add(&counts, cube, count, index, self.players.len());
                }
            }
            Ok(sums)
        };
        let joined = |mut one: Vec<Sums>, other: Vec<Sums>| {
            one.iter_mut().zip(&other).for_each(|(one, other)| one.merge(other));
            Ok(one)
        };
        let sums = cubes.par_iter().try_fold(none, added).try_reduce(none, joined)?;
        sums.iter().try_for_each(|sums| sums.check(index, self.players.len()))?;
        Ok(sums)
    }

    /// The counts of each bit on the corners of a cube; `None` for a bit that does not change.
    fn count(
        &self,
        cube: &Cube,
        wanted: Wanted<'_>,
        index: Index,
        meter: &Meter<'_>,
        watch: &Watch<'_>,
    ) -> Result<Vec<Option<CornerCounts>>, ExplainError> {
        let players = cube.differing.len();
        let projected = self.network.wired(players, &cube.wires)?;
        let outputs = match wanted {
            Wanted::Classes(classes) => Outputs::classes(&projected, classes)?,
            // Without hidden layers the bits are the inputs, and those of the projection are different.
            Wanted::LastHidden if projected.hidden().is_empty() => Outputs::inputs_of(&cube.wires, players),
            Wanted::LastHidden => Outputs::last_hidden(&projected),
        };
        let varying: Vec<usize> = (0..outputs.len()).filter(|&bit| outputs.constant(bit).is_none()).collect();
        let mut counted = vec![None; outputs.len()];
        if varying.is_empty() {
            return Ok(counted);
        }
        let all = AllInputs::several(&outputs);
        let words = all.group_words();
        let corners = (1u64 << players) / all.groups() as u64;
        let none = || vec![CornerCounts::new(players, index == Index::Interaction); varying.len()];
        let part = |mut counts: Vec<CornerCounts>, group: usize| -> Result<Vec<CornerCounts>, ExplainError> {
            watch.check()?;
            let mut table = vec![0; words * varying.len()];
            all.fill(group, &mut table);
            for (counts, words) in counts.iter_mut().zip(table.chunks_exact(words)) {
                counts.add_words(group * words.len(), words);
            }
            meter.add(corners)?;
            Ok(counts)
        };
        let joined = |mut one: Vec<CornerCounts>, other: Vec<CornerCounts>| {
            one.iter_mut().zip(&other).for_each(|(one, other)| one.merge(other));
            Ok(one)
        };
        let counts = (0..all.groups()).into_par_iter().try_fold(none, part).try_reduce(none, joined)?;
        varying.into_iter().zip(counts).for_each(|(bit, counts)| counted[bit] = Some(counts));
        Ok(counted)
    }
}

/// The bits of a network to explain.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// "The answer is this class", for each of some classes.
    Classes(&'a [usize]),
    /// The bits that the last layer adds up.
    LastHidden,
}

impl Wanted<'_> {
    fn len(self, network: &Network) -> usize {
        match self {
            Wanted::Classes(classes) => classes.len(),
            Wanted::LastHidden => network.hidden().last().map_or(network.inputs(), Vec::len),
        }
    }
}

/// The bits that the last layer of a network adds up.
fn last_bits(network: &Network, entity: &[bool]) -> Vec<bool> {
    let next = |values: Vec<bool>, gates: &Vec<Gate>| gates.iter().map(|gate| gate.evaluate(&values)).collect();
    network.hidden().iter().fold(entity.to_vec(), next)
}

fn value_of(sum: &WeightedSum, bits: &[bool]) -> RBig {
    let ones = sum.weights.iter().zip(bits).filter(|(_, bit)| **bit);
    ones.fold(sum.constant.clone(), |value, (weight, _)| value + weight)
}

/// The scores of a sum from those of its bits.
fn combined(sum: &WeightedSum, parts: &[Vec<RBig>], width: usize) -> Vec<RBig> {
    let score = |player: usize| {
        let terms = sum.weights.iter().zip(parts).filter(|(_, part)| !part[player].is_zero());
        terms.fold(RBig::ZERO, |score, (weight, part)| score + weight * &part[player])
    };
    (0..width).map(score).collect()
}

/// A network's label of one class, as an engine.
pub struct ClassOfNetwork {
    game: Arc<NetworkGame>,
    class: usize,
    exact: bool,
}

impl ClassOfNetwork {
    /// "The answer is this class", in floats or in fractions.
    pub fn new(game: Arc<NetworkGame>, class: usize, exact: bool) -> Self {
        ClassOfNetwork { game, class, exact }
    }
}

impl Engine for ClassOfNetwork {
    fn explain(&self, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        let mut tables = self.game.explain(rows, &[self.class], index, self.exact, watch)?;
        Ok(tables.swap_remove(0))
    }

    /// A rounded fraction: a score is at most 1 and an interaction at most 2.
    fn error_bound(&self, _: Index) -> f64 {
        if self.exact { 0.0 } else { error_bound::in_all(2.0) }
    }

    fn visits(&self, _: Index) -> u128 {
        u128::MAX
    }
}

fn classes_of(network: &Network, rows: &Bits) -> Vec<u32> {
    let mut evaluator = NetworkEvaluator::new(network);
    let mut classes = Vec::with_capacity(rows.rows());
    for block in 0..rows.blocks() {
        let words = evaluator.classes(&rows.block(block)).to_vec();
        for lane in 0..(rows.rows() - 64 * block).min(64) {
            let class = words.iter().position(|word| word >> lane & 1 == 1);
            classes.push(class.expect("every entity has a class") as u32);
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::corner_sums::factorial;
    use crate::explain::{Definition, Distribution, Labels};
    use crate::model::random::network_strategy;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn rows(features: usize, numbers: &[usize]) -> Bits {
        let mut bits = Bits::new(features);
        numbers.iter().for_each(|number| bits.push(&(0..features).map(|j| number >> j & 1 == 1).collect::<Vec<_>>()));
        bits
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(120))]
        /// The reference enumerates all sets of players, with its own sums over a table of labels.
        #[test]
        fn all_classes_and_indices_are_those_of_the_definition(
            network in network_strategy(8),
            background in proptest::collection::vec(0usize..256, 1..6),
            entities in proptest::collection::vec(0usize..256, 1..4),
            blocks in proptest::collection::vec(0usize..5, 8),
            single in any::<bool>(),
        ) {
            let n = network.inputs();
            let names: Vec<String> = (0..n).map(|j| format!("x{j}")).collect();
            let player_of: HashMap<String, String> =
                names.iter().enumerate().map(|(j, name)| (name.clone(), format!("p{}", blocks[j]))).collect();
            let players = match single {
                true => Players::features(&names),
                false => Players::named(&names, &player_of).unwrap(),
            };
            let (background, entities) = (rows(n, &background), rows(n, &entities));
            let game = NetworkGame::new(Arc::new(network.clone()), players.clone(), &background).unwrap();
            let classes: Vec<usize> = (0..network.classes()).collect();
            let all: Vec<Vec<bool>> = (0..entities.rows()).map(|row| entities.row(row)).collect();
            for index in [Index::Shapley, Index::Banzhaf, Index::Interaction] {
                let tables = game.explain(&entities, &classes, index, true, &Watch::unlimited()).unwrap();
                let floats = game.explain(&entities, &classes, index, false, &Watch::unlimited()).unwrap();
                for &class in &classes {
                    let labels = Labels::from_fn(n, |entity| network.classify(entity) == class).unwrap();
                    let population = Distribution::Background(background.clone());
                    let judge = Definition::new(labels, players.clone(), population).unwrap();
                    for (row, expected) in judge.explain(&all, index, &Watch::unlimited()).unwrap().iter().enumerate() {
                        let found = tables[class].fractions(row).unwrap();
                        prop_assert_eq!(&found[0], &expected.base_value);
                        prop_assert_eq!(&found[1..], &expected.scores[..]);
                        prop_assert_eq!(tables[class].prediction(row) == 1, expected.prediction);
                        let rounded = expected.to_floats();
                        prop_assert_eq!(floats[class].scores(row), &rounded.scores[..]);
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(120))]
        /// By the definition: the mean contribution over all sets of the others, values from the network itself.
        #[test]
        fn scores_of_values_are_those_of_the_definition(
            network in network_strategy(7), reference in 0usize..128, entity in 0usize..128,
        ) {
            let n = network.inputs();
            let names: Vec<String> = (0..n).map(|j| format!("x{j}")).collect();
            let game = NetworkGame::new(Arc::new(network.clone()), Players::features(&names), &rows(n, &[reference])).unwrap();
            let sums: Vec<WeightedSum> =
                network.values().into_iter().map(|(constant, weights)| WeightedSum { constant, weights }).collect();
            let entities = rows(n, &[entity]);
            let all = |_: usize| 0..sums.len();
            let found = game
                .explain_values(&entities, &sums, &all, game.classes(&entities), (Index::Shapley, true), &Watch::unlimited())
                .unwrap();
            for (output, sum) in sums.iter().enumerate() {
                let value = |set: usize| {
                    let mixed: Vec<bool> =
                        (0..n).map(|j| if set >> j & 1 == 1 { entity >> j & 1 == 1 } else { reference >> j & 1 == 1 }).collect();
                    value_of(sum, &last_bits(&network, &mixed))
                };
                let numbers = &found.fractions(0).unwrap()[output * (n + 1)..(output + 1) * (n + 1)];
                prop_assert_eq!(&numbers[0], &value(0));
                prop_assert_eq!(&found.value_fractions(0).unwrap()[output], &value((1 << n) - 1));
                for player in 0..n {
                    let mut score = RBig::ZERO;
                    for set in (0..1usize << n).filter(|set| set >> player & 1 == 0) {
                        let size = set.count_ones() as usize;
                        let weight = RBig::from_parts((factorial(size) * factorial(n - size - 1)).into(), factorial(n));
                        score += weight * (value(set | 1 << player) - value(set));
                    }
                    prop_assert_eq!(&numbers[player + 1], &score);
                }
            }
        }
    }

    #[test]
    fn too_many_that_differ_are_an_error() {
        let gate = crate::model::Gate::new(vec![1; 27], 20).unwrap();
        let network = Network::new(27, vec![], crate::model::Output::Step(gate)).unwrap();
        let names: Vec<String> = (0..27).map(|j| format!("x{j}")).collect();
        let game = NetworkGame::new(Arc::new(network), Players::features(&names), &rows(27, &[0])).unwrap();
        let explain = |number| game.explain(&rows(27, &[number]), &[1], Index::Shapley, false, &Watch::unlimited());
        let error = explain((1 << 26) - 1).unwrap_err().to_string();
        assert!(error.starts_with("entity 0: 26 players differ from a background row"), "{error}");
        // All 20 players that differ must be present, so each scores 1/20.
        let scores = explain((1 << 20) - 1).unwrap();
        assert!(scores[0].scores(0)[..20].iter().all(|score| *score == 0.05));
    }
}
