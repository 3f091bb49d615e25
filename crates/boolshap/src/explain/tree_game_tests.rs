//! Scores of trees over raw columns against the definition, taken literally over all sets of columns.

use super::TreeGame;
use super::index::Index;
use crate::data::{RawRows, Seeded};
use crate::lit::Watch;
use crate::model::{Decision, RawModel, RawNode, RawTest, RawTree};
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::sync::Arc;

const COLUMNS: usize = 4;

/// A tree that tests random columns, some of them repeatedly.
fn grow(random: &mut Seeded, depth: usize, width: usize, nodes: &mut Vec<RawNode>) -> usize {
    let here = nodes.len();
    nodes.push(RawNode::Leaf((0..width).map(|_| random.below(17) as f64 / 8.0 - 1.0).collect()));
    if depth > 0 && random.below(6) > 0 {
        let children = [0, 1].map(|_| grow(random, depth - 1, width, nodes));
        let test = match random.below(5) {
            0 => RawTest::OneOf(vec![0, 2]),
            _ => RawTest::AtMost(random.below(4) as f64),
        };
        let missing_first = random.below(2) == 0;
        let (column, zero_is_missing) = (random.below(COLUMNS), random.below(4) == 0);
        nodes[here] = RawNode::Split { column, test, missing_first, zero_is_missing, children };
    }
    here
}

fn model(random: &mut Seeded) -> RawModel {
    let outputs = 1 + random.below(3);
    let names = if outputs > 1 { (0..outputs).map(|output| output.to_string()).collect() } else { Vec::new() };
    let mut model = RawModel::new((0..COLUMNS).map(|column| format!("c{column}")).collect(), names);
    model.constants = (0..outputs).map(|_| random.below(9) as f64 - 4.0).collect();
    (model.factor, model.divisor) = (0.5, 1 + random.below(3) as u32);
    model.takes_missing = true;
    if random.below(3) == 0 {
        model.takes_missing = false;
        model.slopes =
            (0..outputs).map(|_| (0..COLUMNS).map(|_| random.below(9) as f64 / 4.0 - 1.0).collect()).collect();
    }
    for tree in 0..1 + random.below(3) {
        let output = (random.below(2) == 0).then_some(tree % outputs);
        let mut nodes = Vec::new();
        grow(random, 5, output.map_or(outputs, |_| 1), &mut nodes);
        model.trees.push(RawTree::new(0, &nodes, output).unwrap());
    }
    model.checked().unwrap()
}

fn rows(random: &mut Seeded, count: usize, missing: bool) -> Vec<Vec<f64>> {
    let values = [-1.0, 0.0, 0.5, 1.5, 2.0, 3.5, f64::NAN];
    let mut row = || (0..COLUMNS).map(|_| values[random.below(if missing { 7 } else { 6 })]).collect();
    (0..count).map(|_| row()).collect()
}

fn raw(rows: &[Vec<f64>]) -> RawRows {
    RawRows::of_rows(COLUMNS, &rows.concat())
}

/// The value of every set of columns, in fractions: the model's number on every mixture.
fn worths(model: &RawModel, row: &[f64], background: &[Vec<f64>], output: usize) -> Vec<RBig> {
    let exact = |number: f64| RBig::try_from(number).unwrap();
    let worth = |set: usize| {
        let mix = |other: &Vec<f64>| -> Vec<f64> {
            (0..COLUMNS).map(|column| if set >> column & 1 == 1 { row[column] } else { other[column] }).collect()
        };
        let number = |mixed: Vec<f64>| {
            let mut sum = exact(model.constants[output]);
            if let Some(slopes) = model.slopes.get(output) {
                slopes.iter().zip(&mixed).for_each(|(slope, value)| sum += exact(*slope) * exact(*value));
            }
            for tree in &model.trees {
                let leaf = tree.leaf(|column| mixed[column]);
                match tree.output() {
                    None => sum += exact(leaf[output]) * exact(model.factor),
                    Some(own) if own == output => sum += exact(leaf[0]) * exact(model.factor),
                    Some(_) => {}
                }
            }
            sum / RBig::from(model.divisor)
        };
        let total = background.iter().fold(RBig::ZERO, |total, other| total + number(mix(other)));
        total / RBig::from(background.len())
    };
    (0..1 << COLUMNS).map(worth).collect()
}

/// The index of a set of columns by its definition.
fn by_definition(worths: &[RBig], index: Index, players: &[usize]) -> RBig {
    let own: usize = players.iter().map(|player| 1 << player).sum();
    let others = COLUMNS - players.len();
    let factorial = |n: usize| (1..=n).fold(RBig::ONE, |product, k| product * RBig::from(k));
    let mut sum = RBig::ZERO;
    for set in (0..worths.len()).filter(|set| set & own == 0) {
        let size = set.count_ones() as usize;
        let weight = match index {
            Index::Banzhaf => RBig::ONE / RBig::from(1u32 << others),
            _ => factorial(size) * factorial(others - size) / factorial(others + 1),
        };
        for part in (0..worths.len()).filter(|part| part & !own == 0) {
            let is_odd = (players.len() - part.count_ones() as usize) % 2 == 1;
            let term = &weight * &worths[set | part];
            sum += if is_odd { -term } else { term };
        }
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn scores_are_the_definition(seed in any::<u64>()) {
        let mut random = Seeded::new(seed, 0);
        let model = Arc::new(model(&mut random));
        let (count, others) = (1 + random.below(4), 1 + random.below(6));
        let entities = rows(&mut random, count, model.takes_missing);
        let background = rows(&mut random, others, model.takes_missing);
        let game = TreeGame::new(model.clone(), &raw(&background)).unwrap();
        for index in [Index::Shapley, Index::Banzhaf, Index::Interaction] {
            let watch = Watch::unlimited();
            let floats = game.explain(&raw(&entities), index, &watch).unwrap();
            let exact = game.explain_exact(&raw(&entities), index, &watch).unwrap();
            let sets: Vec<Vec<usize>> = index.sets(COLUMNS).collect();
            for (row, entity) in entities.iter().enumerate() {
                for output in 0..model.width() {
                    let worths = worths(&model, entity, &background, output);
                    prop_assert_eq!(&game.exact_base_values()[output], &worths[0]);
                    prop_assert!((game.base_values()[output] - worths[0].to_f64().value()).abs() < 1e-12);
                    for (place, set) in sets.iter().enumerate() {
                        let expected = by_definition(&worths, index, set);
                        let at = (row * sets.len() + place) * model.width() + output;
                        prop_assert_eq!(&exact[at], &expected);
                        prop_assert!((floats[at] - expected.to_f64().value()).abs() < 1e-12);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    /// Two columns of one player come and go together: the game of three players by its definition.
    #[test]
    fn columns_of_one_player_are_one(seed in any::<u64>()) {
        let mut random = Seeded::new(seed, 1);
        let model = Arc::new(model(&mut random));
        let entity = rows(&mut random, 1, model.takes_missing);
        let background = rows(&mut random, 5, model.takes_missing);
        let owner = [0, 1, 0, 2];
        let game = TreeGame::of_players(model.clone(), &raw(&background), owner.to_vec()).unwrap();
        let found = game.explain_exact(&raw(&entity), Index::Shapley, &Watch::unlimited()).unwrap();
        for output in 0..model.width() {
            let all = worths(&model, &entity[0], &background, output);
            let columns = |set: usize| (0..COLUMNS).filter(|&c| set >> owner[c] & 1 == 1).map(|c| 1 << c).sum::<usize>();
            let worth = |set: usize| all[columns(set)].clone();
            for player in 0..3 {
                let others: Vec<usize> = (0..8).filter(|set| set >> player & 1 == 0).collect();
                let expected = others.iter().fold(RBig::ZERO, |sum, &set| {
                    let weight = [RBig::from_parts(1.into(), 3u32.into()), RBig::from_parts(1.into(), 6u32.into())];
                    let weight = &weight[usize::from(set.count_ones() == 1)];
                    sum + weight * (worth(set | 1 << player) - worth(set))
                });
                prop_assert_eq!(&found[player * model.width() + output], &expected);
            }
        }
    }
}

/// A path that tests more columns than a table of all sets can hold, each twice, beside trees that test some of them.
#[test]
fn long_paths_are_the_definition() {
    const MANY: usize = 14;
    let mut random = Seeded::new(8, 0);
    let mut model = RawModel::new((0..MANY).map(|column| format!("c{column}")).collect(), Vec::new());
    for shift in [0, 5] {
        let mut nodes = Vec::new();
        for step in 0..2 * MANY {
            let test = RawTest::AtMost(if step < MANY { 2.0 } else { 1.0 });
            let (column, missing_first, zero_is_missing) = ((step * 3 + shift) % MANY, false, false);
            let children = [2 * step + 2, 2 * step + 1];
            nodes.push(RawNode::Split { column, test, missing_first, zero_is_missing, children });
            nodes.push(RawNode::Leaf(vec![step as f64]));
        }
        nodes.push(RawNode::Leaf(vec![50.0]));
        model.trees.push(RawTree::new(0, &nodes, None).unwrap());
    }
    let model = Arc::new(model.checked().unwrap());
    // Few numbers break a condition, so that some rows get far.
    let mut row = |_| (0..MANY).map(|_| [0.0, 0.0, 0.0, 0.0, 1.5, 3.0][random.below(6)]).collect::<Vec<f64>>();
    let (entities, background): (Vec<_>, Vec<_>) = ((0..3).map(&mut row).collect(), (0..4).map(&mut row).collect());
    let game = TreeGame::new(model.clone(), &RawRows::of_rows(MANY, &background.concat())).unwrap();
    let found = game.explain(&RawRows::of_rows(MANY, &entities.concat()), Index::Shapley, &Watch::unlimited()).unwrap();
    let factorials: Vec<f64> = (0..=MANY).map(|n| (1..=n).map(|k| k as f64).product()).collect();
    for (entity, scores) in entities.iter().zip(found.chunks(MANY)) {
        let worth = |set: usize| -> f64 {
            let number = |other: &Vec<f64>| -> f64 {
                let mixed = |column: usize| if set >> column & 1 == 1 { entity[column] } else { other[column] };
                model.trees.iter().map(|tree| tree.leaf(mixed)[0]).sum()
            };
            background.iter().map(number).sum::<f64>() / background.len() as f64
        };
        let worths: Vec<f64> = (0..1 << MANY).map(worth).collect();
        for (column, score) in scores.iter().enumerate() {
            let without = (0..worths.len()).filter(|set| set >> column & 1 == 0);
            let expected: f64 = without
                .map(|set| {
                    let size = set.count_ones() as usize;
                    let weight = factorials[size] * factorials[MANY - 1 - size] / factorials[MANY];
                    weight * (worths[set | 1 << column] - worths[set])
                })
                .sum();
            assert!((score - expected).abs() < 1e-9, "column {column}: {score} and not {expected}");
        }
    }
}

/// Rows get the same bits in one chunk or in many, with others or alone.
#[test]
fn scores_do_not_depend_on_the_rows_beside() {
    let mut random = Seeded::new(3, 0);
    let model = Arc::new(model(&mut random));
    let background = rows(&mut random, 50, model.takes_missing);
    let entities = rows(&mut random, 9000, model.takes_missing);
    let game = TreeGame::new(model, &raw(&background)).unwrap();
    let explain = |rows: &[Vec<f64>]| game.explain(&raw(rows), Index::Shapley, &Watch::unlimited()).unwrap();
    let all = explain(&entities);
    let width = all.len() / entities.len();
    for row in (0..entities.len()).step_by(997) {
        assert_eq!(explain(&entities[row..=row]), all[row * width..(row + 1) * width]);
    }
}

#[test]
fn what_cannot_be_explained_is_an_error() {
    let mut random = Seeded::new(4, 0);
    let mut stiff = model(&mut random);
    stiff.takes_missing = false;
    stiff.decision = Decision::Number;
    let stiff = Arc::new(stiff);
    let row = |value: f64| RawRows::of_rows(COLUMNS, &[0.0, value, 0.0, 0.0]);
    assert!(TreeGame::new(stiff.clone(), &RawRows::of_rows(COLUMNS, &[])).is_err());
    let game = TreeGame::new(stiff, &row(1.0)).unwrap();
    for (value, problem) in [(f64::NAN, "is missing"), (f64::INFINITY, "is not a finite number")] {
        let found = game.explain(&row(value), Index::Shapley, &Watch::unlimited()).unwrap_err().to_string();
        assert!(found.contains("row 1, column 'c1'") && found.contains(problem), "{found}");
    }
    assert!(game.explain(&row(1.0), Index::Owen, &Watch::unlimited()).is_err());
}
