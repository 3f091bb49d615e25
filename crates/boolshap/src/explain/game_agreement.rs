//! Both evaluators against the definition: random circuits, every mode, every kind of players, every index.

use super::error_bound_tests::assert_within;
use super::{
    Definition, Distribution, ExactGame, ExplainError, FloatGame, Game, Index, Labels, Order, Players, Probabilities,
};
use crate::circuit::Circuit;
use crate::circuit::samples::{from_table, random_circuit};
use crate::data::{Bits, Seeded};
use crate::formula::{Clause, Cnf};
use crate::lit::{Remedy, Watch};
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::collections::HashMap;

const INDICES: [Index; 10] = [
    Index::Shapley,
    Index::Banzhaf,
    Index::Interaction,
    Index::Owen,
    Index::Taylor(Order::One),
    Index::Taylor(Order::Two),
    Index::Taylor(Order::Three),
    Index::Ksii(Order::One),
    Index::Ksii(Order::Two),
    Index::Ksii(Order::Three),
];

fn names(features: usize) -> Vec<String> {
    (0..features).map(|v| format!("x{v}")).collect()
}

/// The first three features form a column, the next two another, if there are enough.
fn columns(features: usize) -> Players {
    let name = |v: usize| match v {
        0..3 if features >= 3 => format!("a={v}"),
        3..5 if features >= 5 => format!("b={v}"),
        _ => format!("x{v}"),
    };
    Players::columns(&(0..features).map(name).collect::<Vec<_>>(), None)
}

fn blocks(features: usize) -> Players {
    let of: HashMap<String, String> =
        names(features).into_iter().enumerate().map(|(v, name)| (name, format!("p{}", v * v % 3))).collect();
    Players::named(&names(features), &of).unwrap()
}

/// Random blocks of any sizes.
fn random_blocks(features: usize, random: &mut Seeded) -> Players {
    let of = names(features).into_iter().map(|name| (name, format!("p{}", random.below(4)))).collect();
    Players::named(&names(features), &of).unwrap()
}

/// The players in random groups.
fn grouped(players: Players, random: &mut Seeded) -> Players {
    let group = |name: &String, random: &mut Seeded| (name.clone(), format!("g{}", random.below(3)));
    let of = players.names().iter().map(|name| group(name, random)).collect();
    players.in_groups(&of).unwrap()
}

/// Random rows, one-hot where the players are.
fn rows(players: &Players, count: usize, random: &mut Seeded) -> Bits {
    let mut bits = Bits::new(players.feature_count());
    for _ in 0..count {
        let mut row = vec![false; players.feature_count()];
        for player in 0..players.len() {
            let members: Vec<usize> = players.members(player).collect();
            match players.is_one_hot(player) {
                true => row[members[random.below(members.len())]] = true,
                false => members.iter().for_each(|&v| row[v] = random.below(2) == 1),
            }
        }
        bits.push(&row);
    }
    bits
}

fn product(features: usize, ends: bool) -> Probabilities {
    let inner = [(1, 3), (9, 10), (1, 2), (2, 7), (1, 10)];
    let all = [(1, 3), (0, 1), (9, 10), (1, 1), (2, 7)];
    let fraction = |v: usize| if ends { all[v % 5] } else { inner[v % 5] };
    let value = |v| RBig::from_parts(fraction(v).0.into(), (fraction(v).1 as u8).into());
    Probabilities::product((0..features).map(value).collect()).unwrap()
}

fn agree(circuit: &Circuit, players: &Players, population: Distribution, entities: &Bits) {
    let watch = &Watch::unlimited();
    let game = Game::new(circuit, players.clone(), population.clone(), watch).unwrap();
    let judge = Definition::new(Labels::of_circuit(circuit).unwrap(), players.clone(), population).unwrap();
    // Against background rows there are three methods: sweeps, counting on cubes, and tables of paths.
    let exact = [ExactGame::new(&game).unwrap(), ExactGame::new(&game).unwrap().without_cubes()];
    // Blocks of features have one more: evaluating all sets of players.
    let blocks =
        !players.blocks(&circuit.mentioned()).is_empty() && players.one_hot_groups(&circuit.mentioned()).is_empty();
    let sets = Game::at_all_vertices(game.clone());
    let mut floats =
        vec![FloatGame::new(&game), FloatGame::new(&game).without_conjunctions(), FloatGame::new(&game).by_sweeps()];
    floats.extend(blocks.then(|| FloatGame::new(&sets).by_sweeps()));
    let counted = game.cubes();
    let list: Vec<Vec<bool>> = (0..entities.rows()).map(|row| entities.row(row)).collect();
    for index in INDICES {
        let expected = judge.explain(&list, index, watch).unwrap();
        for exact in &exact {
            let found =
                exact.explain(&list, index, watch).unwrap_or_else(|error| panic!("{index:?} of {players:?}: {error}"));
            assert_eq!(found, expected, "{index:?} of {players:?}");
        }
        for floats in &floats {
            assert_within(&floats.explain(entities, index, watch).unwrap(), &expected, floats.error_bound(index));
        }
        let is_counted = matches!(index, Index::Shapley | Index::Banzhaf);
        let Some(cubes) = counted.as_ref().filter(|_| is_counted) else { continue };
        for (entity, expected) in list.iter().zip(&expected) {
            let scores = cubes.floats(entity, index, players.len(), watch).unwrap();
            let off = |(score, exact): (f64, &RBig)| (score - exact.to_f64().value()).abs();
            assert!(scores.into_iter().zip(&expected.scores).map(off).all(|off| off <= cubes.error_bound()));
        }
    }
}

fn every_mode(circuit: &Circuit, seed: u64) {
    let n = circuit.variables();
    let mut random = Seeded::new(seed, 5);
    for players in [Players::features(&names(n)), columns(n), blocks(n), random_blocks(n, &mut random)] {
        let players = grouped(players, &mut random);
        let entities = rows(&players, 3, &mut random);
        agree(circuit, &players, Distribution::Product(Probabilities::uniform(n)), &entities);
        agree(circuit, &players, Distribution::Product(product(n, false)), &entities);
        if players.kind() != "columns" {
            agree(circuit, &players, Distribution::Product(product(n, true)), &entities);
        }
        let mut background = rows(&players, 4, &mut random);
        // A duplicate row, and the first entity itself.
        background.push(&background.row(0));
        background.push(&entities.row(0));
        agree(circuit, &players, Distribution::Background(background.clone()), &entities);
        agree(circuit, &players, Distribution::Empirical(background), &entities);
        if n == 0 {
            continue;
        }
        // A clause over all features that the first entity satisfies, and one over the first two that it also
        // satisfies.
        let first = entities.row(0);
        let mut formula = Cnf::new(n);
        let number = |v: usize| (v as i32 + 1) * if first[v] { 1 } else { -1 };
        if n >= 2 {
            formula.push(Clause::from_dimacs(&[number(0), -number(1)]).unwrap());
        }
        formula.push(Clause::from_dimacs(&(0..n).map(number).collect::<Vec<_>>()).unwrap());
        let mut members = Bits::new(n);
        (0..3).map(|row| entities.row(row)).filter(|row| formula.holds(row)).for_each(|row| members.push(&row));
        for distribution in [Probabilities::uniform(n), product(n, false)] {
            agree(circuit, &players, Distribution::Constrained(distribution, formula.clone()), &members);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn slow_random_circuits_in_every_mode((circuit, _) in random_circuit(6), seed in any::<u64>()) {
        every_mode(&circuit, seed);
    }
}

#[test]
fn constants_and_single_literals_in_every_mode() {
    for table in [0u64, 0xFFFF_FFFF, 0xAAAA_AAAA, 0x0F0F_0F0F, 0x8000_0000] {
        every_mode(&from_table(5, &[table]), table);
    }
}

/// Cubes of many words: players inside and outside a word, as single features, columns and blocks.
#[test]
fn slow_cubes_of_many_words_are_counted_right() {
    let mut random = Seeded::new(12, 0);
    for n in [9, 9, 9, 11] {
        let table: Vec<u64> =
            (0..1 << (n - 6)).map(|_| (random.below(1 << 32) as u64) << 32 | random.below(1 << 32) as u64).collect();
        let circuit = from_table(n, &table);
        for players in [Players::features(&names(n)), columns(n), blocks(n)] {
            let players = grouped(players, &mut random);
            let entities = rows(&players, 2, &mut random);
            let background = rows(&players, 9, &mut random);
            agree(&circuit, &players, Distribution::Background(background), &entities);
        }
    }
}

/// Twenty features that matter, with big integers throughout.
#[test]
fn many_players_need_big_integers_and_still_agree_with_floats() {
    let n = 20;
    let circuit = super::fast_agreement::parity(n);
    let watch = &Watch::unlimited();
    let population = Distribution::Product(product(n, false));
    let players = grouped(Players::features(&names(n)), &mut Seeded::new(3, 3));
    let game = Game::new(&circuit, players, population, watch).unwrap();
    let entity: Vec<bool> = (0..n).map(|v| v % 3 == 0).collect();
    let mut entities = Bits::new(n);
    entities.push(&entity);
    for index in INDICES {
        let exact = ExactGame::new(&game).unwrap().explain(&[&entity], index, watch).unwrap();
        let table = FloatGame::new(&game).explain(&entities, index, watch).unwrap();
        for (score, exact) in table.scores(0).iter().zip(&exact[0].to_floats().scores) {
            assert!((score - exact).abs() < 1e-12);
        }
    }
}

/// A network of 60 inputs as 30 blocks of two distant inputs: floats and fractions agree, and rows are checked to add
/// up.
#[test]
fn slow_thirty_blocks_of_two_out_of_sixty_inputs() {
    use crate::model::{Gate, Label, Network, Output};
    let (n, mut random, watch) = (60, Seeded::new(60, 1), &Watch::unlimited());
    let weights = |random: &mut Seeded| (0..n).map(|_| 2 * random.below(2) as i128 - 1).collect::<Vec<i128>>();
    let hidden = (0..2).map(|_| Gate::new(weights(&mut random), 30).unwrap()).collect();
    let output = Output::Step(Gate::new(vec![1, -1], 1).unwrap());
    let network = Network::new(n, vec![hidden], output).unwrap();
    let label = Label::of_class(&network, 1).unwrap();
    let direct = crate::diagram::compile_direct(&label, &Default::default(), watch).unwrap();
    let circuit = crate::circuit::lower_obdd(&direct.diagram).unwrap();
    let of = |v: usize| (format!("x{v}"), format!("p{}", v % 30));
    let players = Players::named(&names(n), &(0..n).map(of).collect()).unwrap();
    let players = grouped(players, &mut random);
    let entities = rows(&players, 3, &mut random);
    let list: Vec<Vec<bool>> = (0..3).map(|row| entities.row(row)).collect();
    let background = Distribution::Background(rows(&players, 5, &mut random));
    for population in
        [Distribution::Product(Probabilities::uniform(n)), Distribution::Product(product(n, true)), background]
    {
        let game = Game::new(&circuit, players.clone(), population, watch).unwrap();
        assert!(game.reordered().is_some());
        for index in [Index::Shapley, Index::Banzhaf, Index::Owen] {
            let floats = FloatGame::new(&game);
            let table = floats.explain(&entities, index, watch).unwrap();
            let exact = ExactGame::new(&game).unwrap().explain(&list[..1], index, watch).unwrap();
            let mut first = crate::data::Scores::empty(players.len(), false);
            first.push(table.prediction(0) == 1, table.base_value(0), table.scores(0));
            assert_within(&first, &exact, floats.error_bound(index));
        }
    }
}

/// The score of a column is not the sum of its bits' scores: a or-b, with a and b the first two of three values.
#[test]
fn a_column_is_not_the_sum_of_its_bits() {
    let circuit = from_table(3, &[0b1110_1110]);
    let watch = &Watch::unlimited();
    let uniform = || Distribution::Product(Probabilities::uniform(3));
    let score = |players: Players| {
        let game = Game::new(&circuit, players, uniform(), watch).unwrap();
        let rows = ExactGame::new(&game).unwrap().explain(&[[true, false, false]], Index::Shapley, watch).unwrap();
        rows[0].scores.iter().fold(RBig::ZERO, |sum, score| sum + score)
    };
    // From 2/3 to 1 as a column, from 3/4 to 1 as bits.
    assert_eq!(score(columns(3)).to_string(), "1/3");
    assert_eq!(score(Players::features(&names(3))).to_string(), "1/4");
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let circuit = from_table(3, &[0b1110_1110]);
    let watch = &Watch::unlimited();
    let uniform = || Probabilities::uniform(3);
    let features = || Players::features(&names(3));
    let fails = |players: Players, population: Distribution, entity: [bool; 3]| {
        let by_floats = Game::new(&circuit, players.clone(), population.clone(), watch).and_then(|game| {
            let mut entities = Bits::new(3);
            entities.push(&entity);
            FloatGame::new(&game).explain(&entities, Index::Shapley, watch).map(|_| ())
        });
        let exact = Game::new(&circuit, players, population, watch)
            .and_then(|game| ExactGame::new(&game)?.explain(&[entity], Index::Shapley, watch).map(|_| ()));
        let text = by_floats.unwrap_err().to_string();
        assert_eq!(exact.unwrap_err().to_string(), text);
        text
    };
    let clause = |numbers: &[i32]| Cnf::from_clauses(3, Clause::from_dimacs(numbers));
    let text = fails(features(), Distribution::Constrained(uniform(), clause(&[1, 2])), [false; 3]);
    assert_eq!(text, "entity 0: the constraint does not hold");
    let mut never = clause(&[1]);
    never.push(Clause::from_dimacs(&[-1]).unwrap());
    assert_eq!(
        fails(features(), Distribution::Constrained(uniform(), never), [true; 3]),
        "no entity satisfies the constraint"
    );
    let text = fails(columns(3), Distribution::Product(uniform()), [true, true, false]);
    assert_eq!(text, "entity 0: the column 'a' has 2 values that are 1, where exactly one must be");
    let certain = Probabilities::from_floats(&[0.5, 0.0, 0.5]).unwrap();
    let text = fails(features(), Distribution::Constrained(certain, clause(&[-1, 2])), [true, true, false]);
    assert!(text.starts_with("entity 0: some of its values cannot occur together"), "{text}");
    assert_eq!(fails(features(), Distribution::Background(Bits::new(3)), [true; 3]), "the background has no rows");
    let many = Players::features(&names(21));
    let wide = super::fast_agreement::parity(21);
    let mut sample = Bits::new(21);
    sample.push(&[true; 21]);
    let Err(error) = Game::new(&wide, many, Distribution::Empirical(sample), watch) else { panic!("too many players") };
    assert!(matches!(error, ExplainError::TooManyPlayers { players: 21, limit: 20, .. }));
    assert!(error.to_string().contains("2^21"), "{error}");
    assert!(matches!(error, ExplainError::TooManyPlayers { remedy: Remedy::FewerPlayersOrBackground, .. }));
}

/// A slow entity is stopped midway: each of these takes far longer than the millisecond it is given, once the points of
/// its rule are known.
#[test]
fn slow_a_single_entity_is_stopped_in_time() {
    let features = |n: usize| Players::features(&names(n));
    let uniform = |n: usize| Distribution::Product(Probabilities::uniform(n));
    let background =
        |n: usize, count: usize| Distribution::Background(rows(&features(n), count, &mut Seeded::new(7, 0)));
    let pair_of: HashMap<String, String> = (0..400).map(|v| (format!("x{v}"), format!("p{}", v / 2))).collect();
    for (players, population, index) in [
        (features(3_000), uniform(3_000), Index::Shapley),
        (features(300), background(300, 2_000), Index::Banzhaf),
        (features(4_000), background(4_000, 1), Index::Shapley),
        (features(200), uniform(200), Index::Interaction),
        (features(30), uniform(30), Index::Ksii(Order::Three)),
        (Players::named(&names(400), &pair_of).unwrap(), uniform(400), Index::Interaction),
    ] {
        let n = players.feature_count();
        let circuit = super::fast_agreement::parity(n);
        let game = Game::new(&circuit, players, population, &Watch::unlimited()).unwrap();
        let (floats, entity) = (FloatGame::new(&game), Bits::zeros(n, 1));
        assert!(floats.explain(&entity, index, &Watch::unlimited()).is_ok());
        let watch = Watch::unlimited().timeout(std::time::Duration::from_millis(1));
        let found = floats.explain(&entity, index, &watch);
        assert!(matches!(found, Err(ExplainError::Stopped(_))), "{n} features, {index:?}");
    }
}
