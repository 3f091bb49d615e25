//! The scores of values compared with their definition: the number of every input, v of every set, every index, in
//! fractions.

use super::{CompileRequest, ModelOutput, NumberForm, NumberSource, Source, compile};
use crate::circuit::{NamedCircuit, Rule};
use crate::data::{Bits, Seeded};
use crate::explain::{Definition, Distribution, Index, Labels, Order, Players, Probabilities, ValueGame};
use crate::formula::{Clause, Cnf};
use crate::lit::Watch;
use crate::model::random::network_strategy;
use crate::model::{Gate, Model, Network, Output, Score, TreeNode};
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::collections::HashMap;

fn scores_of(network: Network) -> (Model, NamedCircuit) {
    let names = ["a=1", "a=2", "b", "c", "d=1", "d=2", "d=3"].iter().map(|name| name.to_string());
    let features: Vec<String> = names.take(network.inputs()).collect();
    let model = Model::new(network, features).unwrap();
    let request = CompileRequest { model_output: ModelOutput::Score, verify: true, ..CompileRequest::default() };
    let compiled = compile(&model, &request).unwrap();
    (model, compiled.circuit)
}

/// The scores of all inputs, by the definition of the network.
fn tables(model: &Model) -> Vec<Vec<RBig>> {
    let inputs = model.network.inputs();
    let mut all = vec![Vec::new(); model.network.values().len()];
    for number in 0..1usize << inputs {
        let mut signs: Vec<bool> = (0..inputs).map(|bit| number >> bit & 1 == 1).collect();
        for gates in model.network.hidden() {
            signs = gates.iter().map(|gate| gate.evaluate(&signs)).collect();
        }
        let dot =
            |weights: &[i128]| -> i128 { weights.iter().zip(&signs).map(|(w, s)| if *s { *w } else { -*w }).sum() };
        match model.network.output() {
            Output::Step(gate) => {
                let threshold = 2 * gate.need() as i128 - gate.total() as i128;
                all[0].push(RBig::from(dot(gate.weights()) - threshold));
            }
            Output::Argmax(scores) => {
                let rows = all.iter_mut().zip(scores);
                rows.for_each(|(row, score): (_, &Score)| row.push(RBig::from(dot(score.weights()) + score.bias())));
            }
        }
    }
    all
}

/// v(S) for every set, literally.
fn game(table: &[RBig], players: &Players, distribution: &Distribution, entity: usize) -> Vec<RBig> {
    let features = players.feature_count();
    let chance = |input: usize, set: usize| -> RBig {
        let present = |feature: usize| set >> players.of(feature) & 1 == 1;
        if (0..features).any(|f| present(f) && (input ^ entity) >> f & 1 == 1) {
            return RBig::ZERO;
        }
        match distribution {
            Distribution::Product(given) => {
                let mut chance = RBig::ONE;
                for player in (0..players.len()).filter(|player| set >> player & 1 == 0) {
                    let members: Vec<usize> = players.members(player).collect();
                    let ones: Vec<usize> = members.iter().copied().filter(|f| input >> f & 1 == 1).collect();
                    if players.is_one_hot(player) {
                        let sum = members.iter().fold(RBig::ZERO, |sum, &f| sum + &given.exact()[f]);
                        chance *= if ones.len() == 1 { &given.exact()[ones[0]] / sum } else { RBig::ZERO };
                    } else {
                        for f in members {
                            let p = &given.exact()[f];
                            chance *= if input >> f & 1 == 1 { p.clone() } else { RBig::ONE - p };
                        }
                    }
                }
                chance
            }
            Distribution::Background(rows) => {
                let fits = |row: usize| (0..features).all(|f| present(f) || rows.get(row, f) == (input >> f & 1 == 1));
                let fitting = (0..rows.rows()).filter(|&row| fits(row)).count();
                RBig::from_parts(fitting.into(), rows.rows().into())
            }
            _ => panic!("not of values"),
        }
    };
    let value =
        |set: usize| table.iter().enumerate().fold(RBig::ZERO, |sum, (input, value)| sum + chance(input, set) * value);
    (0..1usize << players.len()).map(value).collect()
}

fn order_weight(size: usize, players: usize) -> RBig {
    let factorial = |k: usize| (2..=k).fold(RBig::ONE, |product, factor| product * RBig::from(factor));
    factorial(size) * factorial(players - size - 1) / factorial(players)
}

fn index_of(v: &[RBig], players: usize, index: Index) -> Vec<RBig> {
    let sets = |without: usize| (0..1usize << players).filter(move |set| set & without == 0);
    let size = |set: usize| set.count_ones() as usize;
    let gain = |set: usize, i: usize| &v[set | 1 << i] - &v[set];
    let half = |times: usize| RBig::from(1u64 << times);
    match index {
        Index::Shapley => (0..players)
            .map(|i| sets(1 << i).fold(RBig::ZERO, |sum, s| sum + order_weight(size(s), players) * gain(s, i)))
            .collect(),
        Index::Banzhaf => {
            (0..players).map(|i| sets(1 << i).fold(RBig::ZERO, |sum, s| sum + gain(s, i)) / half(players - 1)).collect()
        }
        _ => (0..players)
            .flat_map(|i| (i + 1..players).map(move |j| (i, j)))
            .map(|(i, j)| {
                sets(1 << i | 1 << j).fold(RBig::ZERO, |sum, s| {
                    sum + order_weight(size(s), players - 1) * (gain(s | 1 << i, j) - gain(s, j))
                })
            })
            .collect(),
    }
}

fn every_kind_of_players(features: &[String]) -> Vec<Players> {
    let names: HashMap<String, String> =
        features.iter().enumerate().map(|(at, name)| (name.clone(), format!("p{}", at / 2))).collect();
    vec![Players::features(features), Players::columns(features, None), Players::named(features, &names).unwrap()]
}

/// Rows that have one value in every column.
fn valid_rows(players: &Players, features: usize, random: &mut Seeded, count: usize) -> Bits {
    let mut rows = Bits::new(features);
    while rows.rows() < count {
        let mut one = Bits::new(features);
        one.push(&(0..features).map(|_| random.below(2) == 1).collect::<Vec<_>>());
        if players.check_rows(&one).is_ok() {
            rows.append(&one);
        }
    }
    rows
}

/// Found by `every_mode_is_its_definition`: a constant score has no parts, and no method was named as having verified
/// it.
#[test]
fn a_constant_score_is_written_and_read() {
    let never = Gate::new(vec![0], 0).unwrap();
    agrees(Network::new(1, vec![], Output::Step(never)).unwrap(), 0, false);
}

fn agrees(network: Network, seed: u64, uniform: bool) {
    let (model, named) = scores_of(network);
    compare(named, &tables(&model), seed, uniform);
}

/// Base value and index of a row, given what is known. Shifted and scaled, a value is a sum of bits times powers of
/// two, and each bit is a label that has a definition; indices are linear.
fn by_bits(table: &[RBig], players: &Players, distribution: &Distribution, entity: &[bool], index: Index) -> Vec<RBig> {
    let features = players.feature_count();
    let scale = table.iter().fold(RBig::ONE, |scale, value| scale * RBig::from(value.denominator().clone()));
    let least = table.iter().min().unwrap();
    let whole = |value: &RBig| ((value - least) * &scale).numerator().clone();
    let largest = table.iter().map(whole).max().unwrap();
    let mut sums = vec![RBig::ZERO; 1 + index.width(players.len())];
    sums[0] = least.clone();
    for bit in 0..dashu_base::BitTest::bit_len(&largest) {
        let is_set = |input: &[bool]| {
            let number = input.iter().enumerate().map(|(feature, value)| usize::from(*value) << feature).sum::<usize>();
            dashu_base::BitTest::bit(&whole(&table[number]), bit)
        };
        let labels = Labels::from_fn(features, is_set).unwrap();
        let judge = Definition::new(labels, players.clone(), distribution.clone()).unwrap();
        let stated = judge.explain(&[entity], index, &Watch::unlimited()).unwrap();
        let weight = RBig::from(dashu_int::UBig::ONE << bit) / &scale;
        let numbers = std::iter::once(&stated[0].base_value).chain(&stated[0].scores);
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number * &weight);
    }
    sums
}

/// Compares every index of the values of a file, given a sample and given a formula.
fn compare_conditionally(named: &std::sync::Arc<NamedCircuit>, tables: &[Vec<RBig>], random: &mut Seeded) {
    let features = named.features.len();
    let orders = [Order::One, Order::Two, Order::Three];
    let others = orders.into_iter().flat_map(|order| [Index::Taylor(order), Index::Ksii(order)]);
    let all: Vec<Index> =
        [Index::Shapley, Index::Banzhaf, Index::Interaction, Index::Owen].into_iter().chain(others).collect();
    // Numbers that are not whole have many bits, each of which is a game.
    let are_whole = tables.iter().flatten().all(|value| value.denominator().is_one());
    let indices = if are_whole { all } else { vec![Index::Shapley, Index::Ksii(Order::Two)] };
    for players in every_kind_of_players(&named.features) {
        let group =
            |player: &String| (player.clone(), format!("g{}", player.len() % 2 + usize::from(player.as_str() < "c")));
        let groups: HashMap<String, String> = players.names().iter().map(group).collect();
        let players = players.in_groups(&groups).unwrap();
        let given = (0..features).map(|_| RBig::from_parts((1 + random.below(8)).into(), 9u8.into())).collect();
        let product = Probabilities::product(given).unwrap();
        let sample = valid_rows(&players, features, random, 5);
        let rows = valid_rows(&players, features, random, 2);
        // Each clause has a literal from either row, so that both satisfy it.
        let literal = |random: &mut Seeded, row: usize| {
            let feature = random.below(features);
            (feature as i32 + 1) * if rows.get(row, feature) { 1 } else { -1 }
        };
        let clauses = (0..2).filter_map(|_| Clause::from_dimacs(&[literal(random, 0), literal(random, 1)]));
        let formula = Cnf::from_clauses(features, clauses.collect::<Vec<_>>());
        for distribution in [Distribution::Empirical(sample.clone()), Distribution::Constrained(product, formula)] {
            let game_of = ValueGame::new(named.clone(), players.clone(), &distribution, &Watch::unlimited()).unwrap();
            let sums = named.values.as_ref().unwrap().sums().to_vec();
            for &index in &indices {
                let explain = |exact: bool| {
                    let all = |_: usize| 0..sums.len();
                    game_of.explain(&rows, &sums, &all, vec![0; 2], (index, exact), &Watch::unlimited()).unwrap()
                };
                let (exact, floats) = (explain(true), explain(false));
                for row in 0..rows.rows() {
                    let of = |table: &Vec<RBig>| by_bits(table, &players, &distribution, &rows.row(row), index);
                    let expected: Vec<RBig> = tables.iter().flat_map(of).collect();
                    let stated = exact.fractions(row).unwrap();
                    assert_eq!(stated, expected, "{index:?} {distribution:?} {}", players.kind());
                    let width = expected.len() / sums.len();
                    for (at, (float, expected)) in floats.floats(row).unwrap().iter().zip(&expected).enumerate() {
                        let apart = (float - expected.to_f64().value()).abs();
                        let bound = game_of.error_bound(&sums[at / width], index, false);
                        assert!(apart <= bound, "{float} is not {expected}: {apart}");
                    }
                    for (sum, of_sum) in sums.iter().zip(expected.chunks(width)) {
                        let bound = game_of.error_bound(sum, index, false);
                        assert!((game_of.base_value(sum) - of_sum[0].to_f64().value()).abs() <= bound);
                    }
                }
            }
        }
    }
}

/// Compares every mode and index of the values of a file with the numbers of all inputs.
fn compare(named: NamedCircuit, tables: &[Vec<RBig>], seed: u64, uniform: bool) {
    let named = std::sync::Arc::new(named);
    // Written to a file and read back.
    let mut content = Vec::new();
    named.write(&mut content).unwrap();
    let back = NamedCircuit::read(content.as_slice()).unwrap();
    assert_eq!(back.values, named.values);
    let features = named.features.len();
    let mut random = Seeded::new(seed, 0);
    compare_conditionally(&named, tables, &mut random);
    for players in every_kind_of_players(&named.features) {
        let given = (0..features).map(|_| RBig::from_parts((1 + random.below(8)).into(), 9u8.into())).collect();
        let product = if uniform { Probabilities::uniform(features) } else { Probabilities::product(given).unwrap() };
        let background = valid_rows(&players, features, &mut random, 3);
        for distribution in [Distribution::Product(product), Distribution::Background(background)] {
            let game_of = ValueGame::new(named.clone(), players.clone(), &distribution, &Watch::unlimited()).unwrap();
            let rows = valid_rows(&players, features, &mut random, 2);
            let sums = named.values.as_ref().unwrap().sums().to_vec();
            for index in [Index::Shapley, Index::Banzhaf, Index::Interaction] {
                let explain = |exact: bool| {
                    let all = |_: usize| 0..sums.len();
                    game_of.explain(&rows, &sums, &all, vec![0; 2], (index, exact), &Watch::unlimited()).unwrap()
                };
                let (exact, floats) = (explain(true), explain(false));
                for row in 0..rows.rows() {
                    let entity = (0..features).fold(0, |number, f| number | usize::from(rows.get(row, f)) << f);
                    let mut expected = Vec::new();
                    for table in tables {
                        let v = game(table, &players, &distribution, entity);
                        expected.push(v[0].clone());
                        expected.extend(index_of(&v, players.len(), index));
                    }
                    assert_eq!(
                        exact.fractions(row).unwrap(),
                        expected,
                        "{index:?} {distribution:?} {}",
                        players.kind()
                    );
                    let bounds: Vec<f64> = sums.iter().map(|sum| game_of.error_bound(sum, index, false)).collect();
                    let width = expected.len() / sums.len();
                    for (at, (float, expected)) in floats.floats(row).unwrap().iter().zip(&expected).enumerate() {
                        let apart = (float - expected.to_f64().value()).abs();
                        assert!(apart <= bounds[at / width], "{float} is not {expected}: {apart}");
                    }
                    let values: Vec<RBig> = tables.iter().map(|table| table[entity].clone()).collect();
                    assert_eq!(exact.value_fractions(row).unwrap(), values);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Any network of up to 5 inputs: no hidden layer, one, several.
    #[test]
    fn slow_every_mode_is_its_definition(network in network_strategy(5), seed in any::<u64>(), uniform in any::<bool>()) {
        agrees(network, seed, uniform);
    }
}

/// One hidden layer with weights +-1, for which there are closed forms; also with inputs of weight 0.
#[test]
fn slow_closed_forms_are_the_definition() {
    let mut random = Seeded::new(11, 0);
    for case in 0..12 {
        let inputs = 3 + case % 4;
        let mut sign = |zero: bool| match random.below(if zero { 3 } else { 2 }) {
            0 => 1,
            1 => -1,
            _ => 0,
        };
        let gates: Vec<Gate> = (0..3)
            .map(|gate| {
                Gate::new(
                    (0..inputs).map(|_| sign(case % 2 == 0)).collect(),
                    (gate + case as i128) % (inputs as i128 + 2),
                )
            })
            .collect::<Option<_>>()
            .unwrap();
        let output = Output::Argmax((0..2).map(|k| Score::new(vec![1 + k, -2, 3], k).unwrap()).collect());
        agrees(Network::new(inputs, vec![gates], output).unwrap(), case as u64, true);
    }
}

/// 200 inputs, where factorials are beyond floats: closed forms in floats against fractions, and against sums.
#[test]
fn many_inputs_lose_nothing() {
    let inputs = 200;
    let mut random = Seeded::new(5, 0);
    let mut signs = || (0..inputs).map(|_| if random.below(2) == 0 { 1 } else { -1 }).collect::<Vec<i128>>();
    let gates = vec![Gate::new(signs(), 100).unwrap(), Gate::new(signs(), 93).unwrap()];
    let network = Network::new(inputs, vec![gates], Output::Step(Gate::new(vec![1, 1], 1).unwrap())).unwrap();
    let model = Model::new(network, Model::default_features(inputs)).unwrap();
    let request = CompileRequest { model_output: ModelOutput::Score, ..CompileRequest::default() };
    let named = std::sync::Arc::new(compile(&model, &request).unwrap().circuit);
    let mut rows = Bits::new(inputs);
    (0..3).for_each(|_| rows.push(&signs().iter().map(|sign| *sign > 0).collect::<Vec<_>>()));
    let players = Players::features(&model.features);
    let sums = named.values.as_ref().unwrap().sums().to_vec();
    let near =
        RBig::from_parts(1.into(), 2u8.into()) + RBig::from_parts(1.into(), 1_000_000_000_000_000_000_000u128.into());
    let uniform = Distribution::Product(Probabilities::uniform(inputs));
    // Not quite uniform: no closed form, and nearly the same scores.
    let nearly = Distribution::Product(Probabilities::product(vec![near; inputs]).unwrap());
    let explain = |distribution: &Distribution, exact: bool| {
        let game = ValueGame::new(named.clone(), players.clone(), distribution, &Watch::unlimited()).unwrap();
        let one = rows.select(&[0]);
        game.explain(&one, &sums, &|_| 0..1, vec![0], (Index::Shapley, exact), &Watch::unlimited()).unwrap()
    };
    let background = Distribution::Background(rows.select(&[1, 2]));
    for distribution in [&uniform, &background] {
        let (floats, exact) = (explain(distribution, false), explain(distribution, true));
        for (float, exact) in floats.floats(0).unwrap().iter().zip(exact.fractions(0).unwrap()) {
            assert!((float - exact.to_f64().value()).abs() < 1e-14);
        }
    }
    let (closed, summed) = (explain(&uniform, false), explain(&nearly, false));
    for (one, other) in closed.floats(0).unwrap().iter().zip(summed.floats(0).unwrap()) {
        assert!((one - other).abs() < 1e-13, "{one} {other}");
    }
}

fn exact(numbers: &[f64]) -> Vec<RBig> {
    numbers.iter().map(|&number| RBig::try_from(number).unwrap()).collect()
}

fn names(count: usize) -> Vec<String> {
    ["a=1", "a=2", "b", "c", "d=1", "d=2", "d=3"].iter().take(count).map(|name| name.to_string()).collect()
}

/// Tables of numbers, with few different values so that diagrams share nodes, and with many.
#[test]
fn slow_tables_of_numbers_are_the_definition() {
    let mut random = Seeded::new(9, 0);
    for case in 0..8 {
        let features = 2 + case % 4;
        let kinds = if case % 2 == 0 { 3 } else { 1000 };
        let table: Vec<f64> = (0..2usize << features).map(|_| random.below(kinds) as f64 * 0.37 - 5.0).collect();
        let outputs = ["low".to_string(), "high".to_string()];
        let features = names(features);
        let form = NumberForm::Table(&table);
        let source = NumberSource { features: &features, outputs: &outputs, form, rule: Rule::Largest };
        let request = CompileRequest { verify: true, ..CompileRequest::default() };
        let compiled = compile(Source::Numbers(source), &request).unwrap();
        let columns: Vec<Vec<RBig>> =
            (0..2).map(|output| exact(&table.iter().skip(output).step_by(2).copied().collect::<Vec<_>>())).collect();
        compare(compiled.circuit, &columns, case as u64, case % 3 == 0);
    }
}

/// Trees that are added up, and linear models.
#[test]
fn trees_and_linear_models_are_the_definition() {
    let leaf = |number: f64| TreeNode::Leaf(vec![number]);
    let split = |feature, lo, hi| TreeNode::Split { feature, children: [lo, hi] };
    let trees = vec![
        vec![split(0, 1, 2), leaf(0.25), split(3, 3, 4), leaf(-3.5), leaf(0.1)],
        vec![split(2, 1, 2), split(1, 3, 4), leaf(2.0), leaf(1.0), leaf(-1.0)],
        vec![leaf(0.5)],
    ];
    let features = names(4);
    let form = NumberForm::Trees { trees: &trees, constants: &[0.125], factor: 0.1, divisor: 3 };
    let source = NumberSource { features: &features, outputs: &[], form, rule: Rule::Number };
    let named = compile(Source::Numbers(source), &CompileRequest::default()).unwrap().circuit;
    let says = |tree: &[TreeNode], input: usize| {
        let mut at = 0;
        loop {
            match &tree[at] {
                TreeNode::Leaf(numbers) => return RBig::try_from(numbers[0]).unwrap(),
                TreeNode::Split { feature, children } => at = children[input >> feature & 1],
            }
        }
    };
    let factor = RBig::try_from(0.1).unwrap() / RBig::from(3u8);
    let value = |input: usize| {
        let sum = trees.iter().fold(RBig::ZERO, |sum, tree| sum + says(tree, input));
        RBig::try_from(0.125).unwrap() + sum * &factor
    };
    compare(named, &[(0..16).map(value).collect()], 1, false);
    let weights = [0.5, -0.3, 2.0, 0.0];
    let form = NumberForm::Linear { weights: &weights, constants: &[-1.0] };
    let source = NumberSource { features: &features, outputs: &[], form, rule: Rule::Number };
    let named = compile(Source::Numbers(source), &CompileRequest::default()).unwrap().circuit;
    let value = |input: usize| {
        let on = exact(&weights).into_iter().enumerate().filter(|(feature, _)| input >> feature & 1 == 1);
        on.fold(RBig::from(-1), |sum, (_, weight)| sum + weight)
    };
    compare(named, &[(0..16).map(value).collect()], 2, false);
}

/// A file of scores that is truncated or changed anywhere is refused.
#[test]
fn every_changed_byte_of_a_file_of_scores_is_refused() {
    let table: Vec<f64> = (0..8).map(f64::from).collect();
    let features = names(3);
    let source =
        NumberSource { features: &features, outputs: &[], form: NumberForm::Table(&table), rule: Rule::Number };
    let named = compile(Source::Numbers(source), &CompileRequest::default()).unwrap().circuit;
    let mut good = Vec::new();
    named.write(&mut good).unwrap();
    for length in 0..good.len() {
        assert!(NamedCircuit::read(&good[..length]).is_err(), "cut to {length} bytes");
    }
    for index in 0..good.len() {
        let mut bad = good.clone();
        bad[index] ^= 1;
        assert!(NamedCircuit::read(bad.as_slice()).is_err(), "byte {index} changed");
    }
}
