//! The fast engine against exact fractions, and against itself on other lanes, threads and rows.

use super::fast::check_sums;
use super::tape::Tape;
use super::{BruteForce, ExplainError, Explanation, FastEngine, Labels, OpenBox, Probabilities};
use crate::circuit::samples::{assignment, from_table, random_circuit, shaped, widened};
use crate::circuit::{Circuit, CircuitBuilder, Node, NodeId, expand_decisions, fan_in_two, paper_form, smooth};
use crate::data::{Bits, Scores};
use crate::lit::{Progress, Var, Watch};
#[cfg(feature = "hdf5")]
use crate::shared_data::shared_data;
use dashu_int::UBig;
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::sync::Mutex;

fn fraction(numerator: u64, denominator: u64) -> RBig {
    RBig::from_parts(numerator.into(), denominator.into())
}

fn table_of<E: AsRef<[bool]>>(features: usize, entities: &[E]) -> Bits {
    let mut bits = Bits::new(features);
    entities.iter().for_each(|entity| bits.push(entity.as_ref()));
    bits
}

fn explain<E: AsRef<[bool]>>(circuit: &Circuit, entities: &[E], distribution: &Probabilities) -> Scores {
    let bits = table_of(circuit.variables(), entities);
    FastEngine::new(circuit).unwrap().explain(&bits, distribution, &Watch::unlimited()).unwrap()
}

fn assert_close(table: &Scores, exact: &[Explanation<RBig>], tolerance: f64) {
    assert_eq!(table.len(), exact.len());
    for (row, exact) in exact.iter().enumerate() {
        let expected = exact.to_floats();
        assert_eq!(table.prediction(row), u32::from(expected.prediction));
        assert!((table.base_value(row) - expected.base_value).abs() < tolerance);
        assert_eq!(table.scores(row).len(), expected.scores.len());
        for (score, expected) in table.scores(row).iter().zip(&expected.scores) {
            assert!((score - expected).abs() < tolerance, "row {row}: {score} is not {expected}");
        }
    }
}

fn assert_same_bits(a: &Scores, b: &Scores) {
    assert_eq!(a.len(), b.len());
    for row in 0..a.len() {
        assert_eq!(a.base_value(row).to_bits(), b.base_value(row).to_bits());
        assert_eq!(a.prediction(row), b.prediction(row));
        let bits = |table: &Scores| -> Vec<u64> { table.scores(row).iter().map(|score| score.to_bits()).collect() };
        assert_eq!(bits(a), bits(b), "row {row}");
    }
}

/// Uniform; with probabilities 0, 1 and fractions; and with only 0 and 1.
fn distributions(features: usize) -> [Probabilities; 3] {
    let odd = [fraction(1, 3), fraction(0, 1), fraction(9, 10), fraction(1, 1), fraction(2, 7)];
    let product = (0..features).map(|v| odd[v % odd.len()].clone()).collect();
    let certain = (0..features).map(|v| fraction(v as u64 % 2, 1)).collect();
    [
        Probabilities::uniform(features),
        Probabilities::product(product).unwrap(),
        Probabilities::product(certain).unwrap(),
    ]
}

/// All entities, on the circuit and all its other forms, each on every tape that can hold it.
fn every_form(circuit: &Circuit) {
    let n = circuit.variables();
    let entities: Vec<Vec<bool>> = (0..1usize << n).map(|index| assignment(n, index)).collect();
    let labels = Labels::of_circuit(circuit).unwrap();
    let forms = [
        circuit.clone(),
        paper_form(circuit).unwrap(),
        fan_in_two(circuit).unwrap(),
        smooth(circuit).unwrap(),
        expand_decisions(circuit).unwrap(),
    ];
    for distribution in &distributions(n) {
        let exact = BruteForce::new(&labels).explain_exact(&entities, distribution, &Watch::unlimited()).unwrap();
        for form in &forms {
            for tape in Tape::every_form(form, |_| false) {
                let engine = FastEngine::with_tape(form, tape);
                let table = engine.explain(&table_of(n, &entities), distribution, &Watch::unlimited()).unwrap();
                assert_close(&table, &exact, 1e-14);
            }
        }
    }
}

#[test]
fn all_functions_of_three_variables() {
    for table in 0..256u64 {
        every_form(&from_table(3, &[table]));
        let values: Vec<bool> = (0..8).map(|index| table >> index & 1 == 1).collect();
        every_form(&shaped(3, &values, table));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn some_functions_of_up_to_seven_variables((circuit, _) in random_circuit(7)) {
        every_form(&circuit);
    }

    #[test]
    fn any_probabilities(
        (circuit, _) in random_circuit(10),
        floats in proptest::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0f64], 10),
        rows in proptest::collection::vec(any::<u16>(), 0..20),
    ) {
        let n = circuit.variables();
        let distribution = Probabilities::from_floats(&floats[..n]).unwrap();
        let entities: Vec<Vec<bool>> = rows.iter().map(|&row| assignment(n, usize::from(row))).collect();
        let labels = Labels::of_circuit(&circuit).unwrap();
        let exact = BruteForce::new(&labels).explain_exact(&entities, &distribution, &Watch::unlimited()).unwrap();
        assert_close(&explain(&circuit, &entities, &distribution), &exact, 1e-14);
    }

    /// A row alone, among few and among many; with every row computed, or equal rows only once; on one, two and five
    /// threads.
    #[test]
    fn a_row_has_the_same_scores_in_any_company(
        (circuit, _) in random_circuit(9),
        rows in proptest::collection::vec(0..64u16, 1..40),
        floats in proptest::collection::vec(0.0..=1.0f64, 9),
    ) {
        let n = circuit.variables();
        let distribution = Probabilities::from_floats(&floats[..n]).unwrap();
        let entities: Vec<Vec<bool>> = rows.iter().map(|&row| assignment(n, 5 * usize::from(row))).collect();
        let (bits, watch) = (table_of(n, &entities), &Watch::unlimited());
        let all = explain(&circuit, &entities, &distribution);
        let engine = FastEngine::new(&circuit).unwrap().merge_rows(false);
        let each = engine.explain(&bits, &distribution, watch).unwrap();
        assert_eq!(each.distinct_rows(), rows.len());
        assert_same_bits(&all, &each);
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_same_bits(&all, &pool.install(|| engine.explain(&bits, &distribution, watch).unwrap()));
        }
        for few in [1, 2, 3, 5] {
            for (start, entities) in entities.chunks(few).enumerate().map(|(index, chunk)| (index * few, chunk)) {
                let table = explain(&circuit, entities, &distribution);
                for row in 0..entities.len() {
                    for (one, other) in table.scores(row).iter().zip(all.scores(start + row)) {
                        assert!((one - other).abs() <= 1e-15);
                        // Features with probabilities other than 0 and 1 need the same points whatever the rows are.
                        assert!(one.to_bits() == other.to_bits() || floats.iter().any(|p| [0.0, 1.0].contains(p)));
                    }
                }
            }
        }
    }
}

/// A machine without vector registers rounds differently, since it has no fused multiply-add, but otherwise agrees.
#[test]
fn one_float_at_a_time_agrees_with_vectors() {
    for (circuit, seed) in [(walk(30, 6), 3), (threshold(20, 7), 5)] {
        let n = circuit.variables();
        let entities: Vec<Vec<bool>> = (0..13).map(|row| assignment(n, row * 0x2_3457 + seed)).collect();
        let (bits, uniform, watch) = (table_of(n, &entities), Probabilities::uniform(n), &Watch::unlimited());
        for tape in Tape::every_form(&circuit, |_| false) {
            let engine = FastEngine::with_tape(&circuit, tape);
            let vectors = engine.explain(&bits, &uniform, watch).unwrap();
            let scalars = engine.on(pulp::Arch::Scalar).explain(&bits, &uniform, watch).unwrap();
            for row in 0..bits.rows() {
                for (one, other) in vectors.scores(row).iter().zip(scalars.scores(row)) {
                    assert!((one - other).abs() < 1e-15, "{one} is not {other}");
                }
            }
        }
    }
}

/// Parity, whose derivatives are of the highest degree.
pub(super) fn parity(n: usize) -> Circuit {
    let mut builder = CircuitBuilder::new(n).unwrap();
    let [mut even, mut odd] = [false, true].map(|value| builder.constant(value).unwrap());
    for v in (0..n).rev() {
        let next = [(even, odd), (odd, even)].map(|(lo, hi)| builder.decision(Var::new(v), lo, hi).unwrap());
        [even, odd] = next;
    }
    builder.finish(even).unwrap()
}

#[test]
fn half_as_many_points_as_features_are_needed_and_enough() {
    for n in [3, 4, 12, 13] {
        let entities = table_of(n, &[vec![true; n]]);
        let (uniform, watch) = (Probabilities::uniform(n), &Watch::unlimited());
        for tape in Tape::every_form(&parity(n), |_| false) {
            let engine = FastEngine::with_tape(&parity(n), tape);
            assert_eq!(engine.points(), n.div_ceil(2));
            let right = engine.explain(&entities, &uniform, watch).unwrap();
            let score = right.scores(0)[0];
            assert!((score - (f64::from(n as u32 % 2) - 0.5) / n as f64).abs() < 1e-15);
            let error = {
                let few = engine.rule(n.div_ceil(2) - 1);
                check_sums(&engine.explain_at(&few, uniform.floats(), &entities, watch).unwrap()).unwrap_err()
            };
            assert!(matches!(error, ExplainError::Entity { entity: 0, .. }), "{error}");
        }
    }
}

/// Whether at least `k` of `n` are 1.
fn threshold(n: usize, k: usize) -> Circuit {
    let mut builder = CircuitBuilder::new(n).unwrap();
    // Indexed by the number of ones still needed.
    let mut wanted: Vec<NodeId> = (0..=k).map(|wanted| builder.constant(wanted == 0).unwrap()).collect();
    for v in (0..n).rev() {
        for ones in (1..=k).rev() {
            if wanted[ones] != wanted[ones - 1] {
                wanted[ones] = builder.decision(Var::new(v), wanted[ones], wanted[ones - 1]).unwrap();
            }
        }
    }
    builder.finish(wanted[k]).unwrap()
}

fn binomials(n: usize) -> Vec<Vec<UBig>> {
    let mut rows = vec![vec![UBig::ONE]];
    for size in 1..=n {
        let above = &rows[size - 1];
        let inner = (1..size).map(|k| &above[k - 1] + &above[k]);
        rows.push(std::iter::once(UBig::ONE).chain(inner).chain([UBig::ONE]).collect());
    }
    rows
}

/// The scores of a threshold's zeros and ones under the uniform distribution: a known part of an entity matters only by
/// its numbers of zeros and ones, so the sum over all sets becomes a sum over two numbers.
fn threshold_scores(n: usize, k: usize, ones: usize) -> [RBig; 2] {
    let choose = binomials(n);
    let value = |known_ones: usize, known_zeros: usize| {
        let rest = n - known_ones - known_zeros;
        let hits = (k.saturating_sub(known_ones)..=rest).fold(UBig::ZERO, |sum, more| sum + &choose[rest][more]);
        RBig::from_parts(hits.into(), UBig::ONE << rest)
    };
    let values: Vec<Vec<RBig>> =
        (0..=ones).map(|known| (0..=n - ones).map(|zeros| value(known, zeros)).collect()).collect();
    [false, true].map(|bit| {
        let others = if bit { [ones - 1, n - ones] } else { [ones, n - ones - 1] };
        let mut score = RBig::ZERO;
        for (known, row) in values.iter().enumerate().take(others[0] + 1) {
            for zeros in 0..=others[1] {
                let sets = &choose[others[0]][known] * &choose[others[1]][zeros];
                // |S|! (n-|S|-1)! / n! is one over n times the number of sets of that size among the others.
                let orders = &choose[n - 1][known + zeros] * UBig::from(n);
                let after = if bit { &values[known + 1][zeros] } else { &row[zeros + 1] };
                score += RBig::from_parts(sets.into(), orders) * (after - &row[zeros]);
            }
        }
        score
    })
}

#[test]
fn hundreds_of_features() {
    for (n, k, ones) in [(100, 40, 37), (101, 51, 60), (300, 150, 149)] {
        let expected = threshold_scores(n, k, ones).map(|score| score.to_f64().value());
        let entity: Vec<bool> = (0..n).map(|v| v * ones / n != (v + 1) * ones / n).collect();
        assert_eq!(entity.iter().filter(|&&bit| bit).count(), ones);
        let mut rows = vec![entity; 9];
        rows[..8].fill(vec![true; n]);
        let table = explain(&threshold(n, k), &rows, &Probabilities::uniform(n));
        for (score, &bit) in table.scores(8).iter().zip(&rows[8]) {
            let expected = expected[usize::from(bit)];
            assert!((score - expected).abs() < 1e-14, "{score} is not {expected}");
        }
        let base = (k..=n).fold(UBig::ZERO, |sum, hits| sum + &binomials(n)[n][hits]);
        let base = RBig::from_parts(base.into(), UBig::ONE << n).to_f64().value();
        assert!((table.base_value(8) - base).abs() < 1e-14);
    }
}

/// A random ordered diagram in which each level leads to the next.
fn layered(n: usize, width: usize, seed: u64) -> Circuit {
    let mut builder = CircuitBuilder::new(n).unwrap();
    let mut state = seed;
    let mut roll = |sides: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % sides
    };
    let mut level = [false, true].map(|value| builder.constant(value).unwrap()).to_vec();
    for v in (0..n).rev() {
        let nodes = if v == 0 { 1 } else { width };
        level = (0..nodes)
            .map(|_| {
                let lo = roll(level.len());
                let hi = (lo + 1 + roll(level.len() - 1)) % level.len();
                builder.push(Node::Decision { var: Var::new(v), lo: level[lo], hi: level[hi] }).unwrap()
            })
            .collect();
    }
    builder.finish(level[0]).unwrap()
}

/// Whether a walk of n steps between two walls ends in the upper half: each 1 moves up or down, depending on the
/// variable.
fn walk(n: usize, places: usize) -> Circuit {
    let mut builder = CircuitBuilder::new(n).unwrap();
    let mut ends: Vec<NodeId> = (0..places).map(|place| builder.constant(2 * place >= places).unwrap()).collect();
    for v in (0..n).rev() {
        let up = v * v % 7 < 3;
        let step = |place: usize| if up { (place + 1).min(places - 1) } else { place.saturating_sub(1) };
        let decide = |place: usize| match (ends[place], ends[step(place)]) {
            (lo, hi) if lo == hi => lo,
            (lo, hi) => builder.decision(Var::new(v), lo, hi).unwrap(),
        };
        ends = (0..places).map(decide).collect();
    }
    builder.finish(ends[places / 2]).unwrap()
}

#[test]
fn a_hundred_features_with_odd_probabilities_against_fractions() {
    let n = 100;
    let circuit = walk(n, 6);
    let probabilities = (0..n).map(|v| fraction(1 + v as u64 % 7, 8)).collect();
    let distribution = Probabilities::product(probabilities).unwrap();
    let entity: Vec<bool> = (0..n).map(|v| v % 3 == 0).collect();
    let paper = paper_form(&circuit).unwrap();
    let exact = OpenBox::new(&paper).unwrap().explain_exact(&[&entity], &distribution, &Watch::unlimited()).unwrap();
    assert!(exact[0].scores.iter().filter(|score| score.to_f64().value().abs() > 1e-6).count() > 20);
    assert_close(&explain(&circuit, &[&entity], &distribution), &exact, 1e-14);
    assert_close(&explain(&paper, &[&entity], &distribution), &exact, 1e-14);
}

/// Gates that are equivalent to a diagram cost no more than the diagram.
#[test]
fn decisions_are_seen_through_gates_and_smoothing() {
    let table: Vec<u64> = (1..=8u64).map(|word| word.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7)).collect();
    for circuit in [from_table(9, &table), threshold(20, 7), parity(9), walk(30, 6)] {
        let nodes = FastEngine::new(&circuit).unwrap().nodes();
        for form in [expand_decisions(&circuit).unwrap(), smooth(&circuit).unwrap(), paper_form(&circuit).unwrap()] {
            assert_eq!(FastEngine::new(&form).unwrap().nodes(), nodes);
        }
    }
}

#[test]
fn slow_more_nodes_than_sixteen_bits_name() {
    let n = 20;
    let circuit = layered(n, 40_000, 3);
    let entities: Vec<Vec<bool>> = (0..11).map(|row| assignment(n, 0x5_3579 * (row + 1))).collect();
    let engine = FastEngine::new(&circuit).unwrap();
    assert!(engine.nodes() > 1 << 16);
    let labels = Labels::of_circuit(&circuit).unwrap();
    for distribution in [Probabilities::uniform(n), Probabilities::from_floats(&[0.3; 20]).unwrap()] {
        let expected = BruteForce::new(&labels).explain(&entities[..2], &distribution, &Watch::unlimited()).unwrap();
        for tape in Tape::every_form(&circuit, |_| false) {
            let engine = FastEngine::with_tape(&circuit, tape);
            let table = engine.explain(&table_of(n, &entities), &distribution, &Watch::unlimited()).unwrap();
            for (row, expected) in expected.iter().enumerate() {
                for (score, expected) in table.scores(row).iter().zip(&expected.scores) {
                    assert!((score - expected).abs() < 1e-12, "{score} is not {expected}");
                }
            }
        }
    }
}

#[cfg(feature = "hdf5")]
#[test]
fn a_network_of_13_features_within_1e_14() {
    let Some(path) = shared_data("paper/larq_bnn_13_13_1.h5") else { return };
    let network = crate::model::import(&path, &crate::model::ImportOptions::default()).unwrap().network;
    let mut table = vec![0u64; (1 << 13) / 64];
    for index in (0..1usize << 13).filter(|&index| network.classify(&assignment(13, index)) == 1) {
        table[index / 64] |= 1 << (index % 64);
    }
    let circuit = from_table(13, &table);
    let entities: Vec<Vec<bool>> = (0..20).map(|row| assignment(13, row * 409 + 7)).collect();
    let labels = Labels::of_circuit(&circuit).unwrap();
    for distribution in &distributions(13) {
        let exact = BruteForce::new(&labels).explain_exact(&entities, distribution, &Watch::unlimited()).unwrap();
        assert_close(&explain(&circuit, &entities, distribution), &exact, 1e-14);
        assert_close(&explain(&paper_form(&circuit).unwrap(), &entities, distribution), &exact, 1e-14);
    }
}

#[test]
fn a_feature_without_influence_scores_nothing() {
    // Both branches of x2 are the same, x5 is not mentioned; x1 is certain.
    let mut builder = CircuitBuilder::new(5).unwrap();
    let [x, y, z] = [0, 2, 3].map(|v| builder.literal(Var::new(v).positive()).unwrap());
    let both = builder.and(&[x, y, z]).unwrap();
    let root = builder.push(Node::Decision { var: Var::new(1), lo: both, hi: both }).unwrap();
    let circuit = builder.finish(root).unwrap();
    let distribution = Probabilities::from_floats(&[1.0, 0.3, 0.5, 0.5, 0.7]).unwrap();
    let table = explain(&circuit, &[[true, true, false, true, true], [true; 5]], &distribution);
    for row in 0..2 {
        for feature in [0, 1, 4] {
            assert_eq!(table.scores(row)[feature].to_bits(), 0);
        }
    }
    assert!((table.scores(1)[2] - 0.375).abs() < 1e-15);
}

#[test]
fn constants_no_features_and_no_rows() {
    for value in [false, true] {
        for features in [0, 3] {
            let mut builder = CircuitBuilder::new(features).unwrap();
            let root = builder.constant(value).unwrap();
            let circuit = builder.finish(root).unwrap();
            for rows in [0, 1, 20] {
                let table = explain(&circuit, &vec![vec![true; features]; rows], &Probabilities::uniform(features));
                assert_eq!((table.len(), table.width()), (rows, features + 1));
                for row in 0..rows {
                    assert_eq!(table.base_value(row), f64::from(u8::from(value)));
                    assert_eq!(
                        (table.prediction(row), table.scores(row)),
                        (u32::from(value), &vec![0.0; features][..])
                    );
                }
            }
        }
    }
    let none: [[bool; 3]; 0] = [];
    assert_eq!(explain(&parity(3), &none, &Probabilities::uniform(3)).len(), 0);
    assert_eq!(explain(&widened(&parity(3), 4), &[[true; 4]], &Probabilities::uniform(4)).scores(0)[3], 0.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let watch = &Watch::unlimited();
    let engine = FastEngine::new(&parity(3)).unwrap();
    let error = engine.explain(&Bits::zeros(2, 1), &Probabilities::uniform(3), watch).err().unwrap();
    assert_eq!(error.to_string(), "entity 0 has 2 values, but there are 3 features");
    let error = engine.explain(&Bits::zeros(3, 1), &Probabilities::uniform(4), watch).err().unwrap();
    assert_eq!(error.to_string(), "the distribution has 4 probabilities, but there are 3 features");

    let mut builder = CircuitBuilder::new(2).unwrap();
    let [x, y] = [0, 1].map(|v| builder.literal(Var::new(v).positive()).unwrap());
    let or = builder.or(&[x, y]).unwrap();
    let shared = builder.and(&[or, x]).unwrap();
    let error = FastEngine::new(&builder.clone().finish(shared).unwrap()).err().unwrap();
    let expected = "scores need a decomposable circuit: node 3 is not decomposable: variable x1 occurs in more than one of its parts";
    assert_eq!(error.to_string(), expected);

    // Both children of the or-gate are true at (1, 1), and only there do the scores not add up.
    let engine = FastEngine::new(&builder.finish(or).unwrap()).unwrap();
    let rows = [[false, false], [false, true], [true, true], [true, true]];
    assert!(engine.explain(&table_of(2, &rows[..2]), &Probabilities::uniform(2), watch).is_ok());
    let error = engine.explain(&table_of(2, &rows), &Probabilities::uniform(2), watch).err().unwrap();
    assert!(matches!(error, ExplainError::Entity { entity: 2, .. }), "{error}");
}

#[test]
fn it_can_be_watched_and_stopped() {
    let engine = FastEngine::new(&parity(9)).unwrap();
    let bits = table_of(9, &(0..100).map(|index| assignment(9, index)).collect::<Vec<_>>());
    let uniform = Probabilities::uniform(9);
    let late = &Watch::unlimited().timeout(std::time::Duration::ZERO);
    assert!(matches!(engine.explain(&bits, &uniform, late), Err(ExplainError::Stopped(_))));

    let seen = Mutex::new(Vec::new());
    let report = |progress: Progress| seen.lock().unwrap().push((progress.done as u64, progress.total));
    engine.explain(&bits, &uniform, &Watch::unlimited().progress(&report)).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted_by_key(|(done, _)| *done) && seen.last() == Some(&(100, Some(100.0))), "{seen:?}");
    assert!(seen.len() >= 100usize.div_ceil(8));

    // Stopped midway, on any thread.
    let flag = std::sync::atomic::AtomicBool::new(false);
    let stop = |progress: Progress| {
        if progress.done >= 40.0 {
            flag.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let watch = Watch::unlimited().stop_flag(&flag).progress(&stop);
    assert!(matches!(engine.explain(&bits, &uniform, &watch), Err(ExplainError::Stopped(_))));
}
