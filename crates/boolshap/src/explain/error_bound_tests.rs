//! Floats against fractions, in every mode and with probabilities from 1e-400 to 1 - 1e-400: they never differ by more
//! than the bound that the engine states.

use super::error_bound::{self, Paths, SweepRoundings};
use super::tape::Tape;
use super::{
    BruteForce, Definition, Distribution, Engine, ExactGame, ExplainError, Explanation, FastEngine, FloatGame, Game,
    Index, Labels, OpenBox, Order, Players, Probabilities, Reference,
};
use crate::circuit::samples::random_circuit;
use crate::circuit::{Circuit, CircuitBuilder, NodeId};
use crate::data::{Bits, Scores, Seeded};
use crate::formula::{Clause, Cnf};
use crate::lit::{Var, Watch};
use dashu_base::Abs;
use dashu_int::UBig;
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::collections::HashMap;

const INDICES: [Index; 6] = [
    Index::Shapley,
    Index::Banzhaf,
    Index::Interaction,
    Index::Owen,
    Index::Taylor(Order::Three),
    Index::Ksii(Order::Three),
];

/// Fails if a float is further from the fraction than the bound, which must be a small one.
pub(super) fn assert_within(table: &Scores, exact: &[Explanation<RBig>], bound: f64) {
    assert!(bound < 1e-11, "{bound:e}");
    let bound = RBig::try_from(bound).unwrap();
    assert_eq!(table.len(), exact.len());
    for (row, exact) in exact.iter().enumerate() {
        assert_eq!(table.prediction(row), u32::from(exact.prediction));
        let floats = std::iter::once(table.base_value(row)).chain(table.scores(row).iter().copied());
        let exact: Vec<&RBig> = std::iter::once(&exact.base_value).chain(&exact.scores).collect();
        let floats: Vec<f64> = floats.collect();
        assert_eq!(floats.len(), exact.len());
        for (float, exact) in floats.into_iter().zip(exact) {
            let apart = (RBig::try_from(float).unwrap() - exact).abs();
            assert!(apart <= bound, "{float:e} is not {:e}: {:e}", exact.to_f64().value(), apart.to_f64().value());
        }
    }
}

/// Rare, certain, impossible and ordinary probabilities.
fn probabilities(features: usize, random: &mut Seeded) -> Probabilities {
    let power = |exponent: usize| RBig::from_parts(1.into(), UBig::from(10u8).pow(exponent));
    let one = |random: &mut Seeded| {
        let rare = match random.below(12) {
            0 => RBig::ZERO,
            1..4 => power([300, 301, 323, 400][random.below(4)]),
            4..6 => power([5, 12, 16, 17, 40][random.below(5)]),
            6 => RBig::from_parts(2.into(), UBig::from(10u8).pow(16)),
            7 => RBig::from_parts(1.into(), 2u8.into()),
            _ => RBig::from_parts(random.below(1000).into(), 997u16.into()).min(RBig::ONE),
        };
        if random.below(2) == 0 { rare } else { RBig::ONE - rare }
    };
    Probabilities::product((0..features).map(|_| one(random)).collect()).unwrap()
}

fn names(features: usize) -> Vec<String> {
    (0..features).map(|v| format!("x{v}")).collect()
}

fn all_players(features: usize) -> Vec<Players> {
    let column = |v: usize| if v < 3 { format!("a={v}") } else { format!("x{v}") };
    let of: HashMap<String, String> =
        names(features).into_iter().enumerate().map(|(v, x)| (x, format!("p{}", v % 3))).collect();
    let all = [
        Players::features(&names(features)),
        Players::columns(&(0..features).map(column).collect::<Vec<_>>(), None),
        Players::named(&names(features), &of).unwrap(),
    ];
    // Alternates between two groups.
    let groups = |players: &Players| -> HashMap<String, String> {
        players.names().iter().enumerate().map(|(place, name)| (name.clone(), format!("g{}", place % 2))).collect()
    };
    all.into_iter()
        .map(|players| {
            let groups = groups(&players);
            players.in_groups(&groups).unwrap()
        })
        .collect()
}

/// A random row, one-hot where the players are.
fn row(players: &Players, random: &mut Seeded) -> Vec<bool> {
    let mut row = vec![false; players.feature_count()];
    for player in 0..players.len() {
        let members: Vec<usize> = players.members(player).collect();
        match players.is_one_hot(player) {
            true => row[members[random.below(members.len())]] = true,
            false => members.iter().for_each(|&v| row[v] = random.below(2) == 1),
        }
    }
    row
}

/// Floats and fractions give the numbers of the definition, or all three fail with the same error message.
fn judged(circuit: &Circuit, players: &Players, distribution: &Distribution, rows: &Bits) {
    let watch = &Watch::unlimited();
    let list: Vec<Vec<bool>> = (0..rows.rows()).map(|row| rows.row(row)).collect();
    let game = || Game::new(circuit, players.clone(), distribution.clone(), watch);
    for index in INDICES {
        let judge = Definition::new(Labels::of_circuit(circuit).unwrap(), players.clone(), distribution.clone());
        let expected = judge.and_then(|judge| judge.explain(&list, index, watch));
        let exact = game().and_then(|game| ExactGame::new(&game)?.explain(&list, index, watch));
        let floats = game().and_then(|game| {
            let floats = FloatGame::new(&game);
            Ok((floats.explain(rows, index, watch)?, floats.error_bound(index)))
        });
        match expected {
            Ok(expected) => {
                assert_eq!(exact.unwrap(), expected);
                let (table, bound) = floats.unwrap();
                assert_within(&table, &expected, bound);
            }
            Err(error) => {
                assert_eq!(exact.unwrap_err().to_string(), error.to_string());
                assert_eq!(floats.unwrap_err().to_string(), error.to_string());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn slow_every_mode_with_rare_values((circuit, _) in random_circuit(6), seed in any::<u64>()) {
        let n = circuit.variables();
        let mut random = Seeded::new(seed, 1);
        for players in all_players(n) {
            let mut rows = Bits::new(n);
            (0..3).for_each(|_| rows.push(&row(&players, &mut random)));
            let given = probabilities(n, &mut random);
            judged(&circuit, &players, &Distribution::Background(rows.clone()), &rows);
            judged(&circuit, &players, &Distribution::Empirical(rows.clone()), &rows);
            judged(&circuit, &players, &Distribution::Product(given.clone()), &rows);
            let mut formula = Cnf::new(n);
            for _ in 0..random.below(4).min(n) {
                let lits: Vec<i32> = (1..=n as i32).filter(|_| random.below(2) == 0).collect();
                let lits: Vec<i32> = lits.iter().map(|&lit| if random.below(2) == 0 { lit } else { -lit }).collect();
                if !lits.is_empty() {
                    formula.push(Clause::from_dimacs(&lits).unwrap());
                }
            }
            let mut members = Bits::new(n);
            (0..3).map(|at| rows.row(at)).filter(|row| formula.holds(row)).for_each(|row| members.push(&row));
            judged(&circuit, &players, &Distribution::Constrained(given, formula), &members);
        }
    }

    #[test]
    fn the_other_engines_with_rare_values((circuit, _) in random_circuit(7), seed in any::<u64>()) {
        let n = circuit.variables();
        let mut random = Seeded::new(seed, 2);
        let given = probabilities(n, &mut random);
        let (players, watch) = (Players::features(&names(n)), &Watch::unlimited());
        let mut rows = Bits::new(n);
        (0..3).for_each(|_| rows.push(&row(&players, &mut random)));
        let list: Vec<Vec<bool>> = (0..3).map(|at| rows.row(at)).collect();
        let labels = Labels::of_circuit(&circuit).unwrap();
        let exact = BruteForce::new(&labels).explain_exact(&list, &given, watch).unwrap();
        let distribution = Distribution::Product(given.clone());
        for engine in [
            Reference::paper(&circuit, given.clone(), false, usize::MAX, watch).unwrap(),
            Reference::brute_force(&circuit, players, distribution, Index::Shapley, false).unwrap(),
        ] {
            let table = Engine::explain(&engine, &rows, Index::Shapley, watch).unwrap();
            assert_within(&table, &exact, engine.error_bound(Index::Shapley));
        }
        for tape in Tape::every_form(&circuit, |_| false) {
            let engine = FastEngine::with_tape(&circuit, tape);
            assert_within(&engine.explain(&rows, &given, watch).unwrap(), &exact, engine.error_bound());
            let engine = engine.on(pulp::Arch::Scalar);
            assert_within(&engine.explain(&rows, &given, watch).unwrap(), &exact, engine.error_bound());
        }
    }
}

/// The case from the issue: x, given that x, y or z holds, all of them rare.
#[test]
fn a_rare_constraint_by_hand() {
    let mut builder = CircuitBuilder::new(3).unwrap();
    let root = builder.literal(Var::new(0).positive()).unwrap();
    let circuit = builder.finish(root).unwrap();
    let formula = Cnf::from_clauses(3, Clause::from_dimacs(&[1, 2, 3]));
    let mut rows = Bits::new(3);
    rows.push(&[true, false, false]);
    for exponent in [1, 5, 12, 16, 100, 300, 1000] {
        let rare = RBig::from_parts(2.into(), UBig::from(10u8).pow(exponent));
        // v: nothing 1 / (1 + q + q^2), y or z 1 / (1 + q), else 1.
        let q = RBig::ONE - &rare;
        let nothing = (RBig::ONE / (RBig::ONE + &q + &q * &q)).to_f64().value();
        let given = Probabilities::product(vec![rare; 3]).unwrap();
        let distribution = Distribution::Constrained(given, formula.clone());
        let game = Game::new(&circuit, Players::features(&names(3)), distribution, &Watch::unlimited()).unwrap();
        let floats = FloatGame::new(&game);
        let table = floats.explain(&rows, Index::Shapley, &Watch::unlimited()).unwrap();
        assert!((table.base_value(0) - nothing).abs() < 1e-15, "{exponent}: {}", table.base_value(0));
        assert!(floats.error_bound(Index::Shapley) < 1e-14);
    }
}

/// Whether the number of ones is in a set: one node for each pair of a variable and a number.
fn counting(n: usize, holds: impl Fn(usize) -> bool) -> Circuit {
    let mut builder = CircuitBuilder::new(n).unwrap();
    let mut level: Vec<NodeId> = (0..=n).map(|ones| builder.constant(holds(ones)).unwrap()).collect();
    for v in (0..n).rev() {
        level = (0..=v).map(|ones| builder.decision(Var::new(v), level[ones], level[ones + 1]).unwrap()).collect();
    }
    builder.finish(level[0]).unwrap()
}

/// All features are alike, so each has the same share of the difference between the label and the base value.
#[test]
fn slow_a_thousand_features_and_half_a_million_nodes() {
    let n = 1000;
    // Random labels, so that nodes cannot be shared.
    let mut dice = Seeded::new(7, 1);
    let labels: Vec<bool> = (0..=n).map(|ones| dice.below(2) == 1 || ones == n).collect();
    let holds = |ones: usize| labels[ones];
    let circuit = counting(n, holds);
    let engine = FastEngine::new(&circuit).unwrap();
    assert!(engine.nodes() > 490_000);
    let p = RBig::from_parts(3.into(), 8u8.into());
    // By the powers of p and q, times 8 each.
    let mut chances = vec![UBig::ONE];
    for _ in 0..n {
        let mut next = vec![UBig::ZERO; chances.len() + 1];
        for (ones, chance) in chances.iter().enumerate() {
            next[ones] += chance * UBig::from(5u8);
            next[ones + 1] += chance * UBig::from(3u8);
        }
        chances = next;
    }
    let models = (0..=n).filter(|&ones| holds(ones)).fold(UBig::ZERO, |sum, ones| sum + &chances[ones]);
    let base = RBig::from_parts(models.into(), UBig::from(8u8).pow(n));
    let score = (RBig::ONE - &base) / RBig::from(n);
    let mut rows = Bits::new(n);
    rows.push(&vec![true; n]);
    let given = Probabilities::product(vec![p; n]).unwrap();
    let table = engine.explain(&rows, &given, &Watch::unlimited()).unwrap();
    let exact = Explanation { base_value: base, prediction: true, scores: vec![score; n] };
    assert_within(&table, &[exact], engine.error_bound());
}

/// What large circuits would have: a stated bound, and no scores beyond 1e-9.
#[test]
fn the_bound_grows_with_the_circuit_until_floats_are_refused() {
    let bound = |nodes_of_a_variable: usize, variables: usize| {
        let sweep =
            SweepRoundings::of_diagram(variables, 3.0 * variables as f64, error_bound::additions(nodes_of_a_variable));
        Paths { sweep, variables, players: variables, bits: 1 }.error_bound(Index::Shapley, 1)
    };
    assert!(bound(1 << 10, 10) < bound(1 << 14, 10) && bound(1 << 14, 10) < bound(1 << 14, 1000));
    assert!(bound(1 << 24, 10_000) < error_bound::GUARANTEED);

    let engine = FastEngine::new(&counting(4, |ones| ones == 2)).unwrap();
    let engine = engine.with_roundings(SweepRoundings { value: 0.0, slope: 1e7 });
    let found = engine.explain(&Bits::zeros(4, 1), &Probabilities::uniform(4), &Watch::unlimited());
    let error = found.err().unwrap();
    assert!(matches!(error, ExplainError::Imprecise { bound } if bound > 1e-9 && bound < 1e-8), "{error}");
    assert!(error.to_string().ends_with("and no more than 1e-9 is allowed: compute fractions instead"), "{error}");
}

/// A thousand features by way of polynomials, whose coefficients leave the floats soon after.
#[test]
fn the_papers_algorithm_states_its_bound() {
    let n = 60;
    let circuit = crate::circuit::paper_form(&counting(n, |ones| ones % 3 == 0)).unwrap();
    let engine = OpenBox::new(&circuit).unwrap();
    let entity: Vec<bool> = (0..n).map(|v| v % 4 == 1).collect();
    let given =
        Probabilities::product((0..n).map(|v| RBig::from_parts((1 + v).into(), 64u8.into())).collect()).unwrap();
    let watch = &Watch::unlimited();
    let exact = engine.explain_exact(&[&entity], &given, watch).unwrap();
    let found = engine.explain(&[&entity], &given, watch).unwrap().remove(0);
    let mut table = Scores::empty(n, false);
    table.push(found.prediction, found.base_value, &found.scores);
    assert_within(&table, &exact, engine.error_bound());
}
