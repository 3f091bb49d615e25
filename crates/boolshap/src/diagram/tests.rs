//! Compares the SDD package with truth tables: a function of n variables is a word of 2^n bits, where bit r is its
//! value when variable i has the value of bit i of r.

use super::rotate::{ElementLimit, Move};
use super::vtree::SplitMix;
use super::*;
use crate::lit::{Lit, Var, Watch};
use crate::shared_data::shared_data;
use dashu_int::UBig;
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::collections::HashMap;

fn rows(variables: usize) -> u64 {
    if variables == 6 { u64::MAX } else { (1 << (1 << variables)) - 1 }
}

/// The truth table of a variable.
fn column(variables: usize, var: usize) -> u64 {
    (0..1_u64 << variables).filter(|row| row >> var & 1 == 1).map(|row| 1 << row).sum()
}

/// Every vtree over these variables.
fn all_vtrees(variables: usize) -> Vec<Vtree> {
    fn all(set: u32) -> Vec<Vec<VtreeNode>> {
        if set.count_ones() == 1 {
            return vec![vec![VtreeNode::Leaf(Var::new(set.trailing_zeros() as usize))]];
        }
        let mut found = Vec::new();
        for left in (1..set).filter(|left| left & set == *left) {
            for l in all(left) {
                for r in all(set & !left) {
                    let shift = l.len() as u32;
                    let mut nodes = l.clone();
                    nodes.extend(r.iter().map(|&node| match node {
                        VtreeNode::Inner(a, b) => VtreeNode::Inner(VtreeId(a.0 + shift), VtreeId(b.0 + shift)),
                        leaf => leaf,
                    }));
                    let tops = (VtreeId(shift - 1), VtreeId(nodes.len() as u32 - 1));
                    nodes.push(VtreeNode::Inner(tops.0, tops.1));
                    found.push(nodes);
                }
            }
        }
        found
    }
    let whole = |nodes: Vec<VtreeNode>| {
        let root = VtreeId(nodes.len() as u32 - 1);
        Vtree::from_nodes(nodes, Some(root))
    };
    all((1 << variables) - 1).into_iter().map(whole).collect()
}

/// The SDD of a truth table, as the or of its rows.
fn build(sdds: &mut SddManager, table: u64) -> Sdd {
    let mut result = Sdd::FALSE;
    for row in (0..1 << sdds.variables()).filter(|row| table >> row & 1 == 1) {
        let mut cube = Sdd::TRUE;
        for i in 0..sdds.variables() {
            let literal = sdds.literal(Var::new(i).literal(row >> i & 1 == 1)).unwrap();
            cube = sdds.and(cube, literal, &Watch::unlimited()).unwrap();
        }
        result = sdds.or(result, cube, &Watch::unlimited()).unwrap();
    }
    result
}

/// The truth table of an SDD, by evaluating it.
fn table(sdds: &SddManager, sdd: Sdd) -> u64 {
    let n = sdds.variables();
    let value = |row: u64| sdds.evaluate(sdd, &(0..n).map(|i| row >> i & 1 == 1).collect::<Vec<_>>()).unwrap();
    (0..1 << n).filter(|&row| value(row)).map(|row| 1 << row).sum()
}

/// Checks every invariant of the manager by independent means.
fn validate(sdds: &mut SddManager) {
    let alive: Vec<Sdd> = sdds.levels.iter().flatten().copied().collect();
    assert_eq!(alive.len(), sdds.decision_count());
    let mut by_elements = HashMap::new();
    for &sdd in &alive {
        let SddNode::Decision { vtree, elements } = sdds.node(sdd) else { panic!("{sdd:?} is not a decision") };
        let elements = elements.to_vec();
        assert!(elements.len() >= 2 && elements.windows(2).all(|pair| pair[0].prime < pair[1].prime));
        let (left, right) = sdds.vtree.children(vtree).unwrap();
        let mut subs: Vec<Sdd> = elements.iter().map(|e| e.sub).collect();
        subs.sort_unstable();
        assert!(subs.windows(2).all(|pair| pair[0] != pair[1]), "not compressed");
        assert!(subs != [Sdd::FALSE, Sdd::TRUE], "not trimmed");
        for e in &elements {
            assert!(sdds.vtree.is_below(sdds.vtree_of(e.prime).unwrap(), left));
            assert!(sdds.vtree_of(e.sub).is_none_or(|sub| sdds.vtree.is_below(sub, right)));
        }
        assert_eq!(by_elements.insert((vtree, elements), sdd), None, "twice in the unique table");
    }
    if sdds.variables() <= 6 {
        let mut by_table = HashMap::new();
        for &sdd in &alive {
            let tables: Vec<u64> = sdds.elements(sdd).iter().map(|e| table(sdds, e.prime)).collect();
            assert_eq!(tables.iter().fold(0, |all, one| all | one), rows(sdds.variables()));
            assert_eq!(tables.iter().map(|one| one.count_ones()).sum::<u32>(), 1 << sdds.variables());
            assert_eq!(by_table.insert(table(sdds, sdd), sdd), None, "one function, two nodes");
        }
    }
    // Reference counts must match a fresh walk from the live nodes without live parents.
    let live: Vec<Sdd> = alive.iter().copied().filter(|&sdd| sdds.is_live(sdd)).collect();
    assert_eq!(live.len(), sdds.live_decision_count());
    assert_eq!(live.iter().map(|&sdd| sdds.elements(sdd).len()).sum::<usize>(), sdds.live_size());
    for &sdd in &live {
        assert!(sdds.elements(sdd).iter().flat_map(|e| [e.prime, e.sub]).all(|child| sdds.is_live(child)));
    }
}

#[test]
fn every_function_of_three_variables_on_every_vtree() {
    let variables = 3;
    let vtrees = all_vtrees(variables);
    assert_eq!(vtrees.len(), 12);
    for vtree in vtrees {
        let mut sdds = SddManager::new(vtree);
        let all: Vec<Sdd> = (0..256).map(|f| build(&mut sdds, f)).collect();
        for (f, &sdd) in all.iter().enumerate() {
            let f = f as u64;
            assert_eq!(table(&sdds, sdd), f);
            assert_eq!(sdds.negate(sdd).unwrap(), all[(!f & 255) as usize]);
            assert_eq!(sdds.model_count(sdd), UBig::from(f.count_ones()));
            for i in 0..variables {
                let (ones, shift) = (column(variables, i), 1 << i);
                let with = f & ones | (f & ones) >> shift;
                let without = f & !ones | (f & !ones) << shift;
                let var = Var::new(i);
                assert_eq!(sdds.condition(sdd, var.positive(), &Watch::unlimited()).unwrap(), all[with as usize]);
                assert_eq!(sdds.condition(sdd, var.negative(), &Watch::unlimited()).unwrap(), all[without as usize]);
                assert_eq!(sdds.exists(sdd, var, &Watch::unlimited()).unwrap(), all[(with | without) as usize]);
            }
            for (g, &other) in all.iter().enumerate() {
                assert_eq!(sdds.and(sdd, other, &Watch::unlimited()).unwrap(), all[f as usize & g]);
                assert_eq!(sdds.or(sdd, other, &Watch::unlimited()).unwrap(), all[f as usize | g]);
            }
        }
        validate(&mut sdds);
    }
}

#[test]
fn slow_a_sample_of_functions_of_four_variables_on_every_vtree() {
    let vtrees = all_vtrees(4);
    assert_eq!(vtrees.len(), 120);
    let mut random = SplitMix(11);
    for vtree in vtrees {
        let mut sdds = SddManager::new(vtree);
        let mut known: HashMap<u64, Sdd> = HashMap::new();
        let tables: Vec<u64> = (0..24).map(|_| random.below(1 << 16) as u64).collect();
        let sample: Vec<Sdd> = tables.iter().map(|&f| build(&mut sdds, f)).collect();
        for (&f, &a) in tables.iter().zip(&sample) {
            for (&g, &b) in tables.iter().zip(&sample) {
                let (and, or) =
                    (sdds.and(a, b, &Watch::unlimited()).unwrap(), sdds.or(a, b, &Watch::unlimited()).unwrap());
                assert_eq!(*known.entry(f & g).or_insert(and), and);
                assert_eq!(*known.entry(f | g).or_insert(or), or);
            }
            let not = sdds.negate(a).unwrap();
            assert_eq!(*known.entry(!f & 0xffff).or_insert(not), not);
            let i = random.below(4);
            let (ones, shift) = (column(4, i), 1 << i);
            let with = f & ones | (f & ones) >> shift;
            let without = f & !ones | (f & !ones) << shift;
            let given = sdds.condition(a, Var::new(i).positive(), &Watch::unlimited()).unwrap();
            assert_eq!(*known.entry(with).or_insert(given), given);
            let some = sdds.exists(a, Var::new(i), &Watch::unlimited()).unwrap();
            assert_eq!(*known.entry(with | without).or_insert(some), some);
        }
        for (f, sdd) in known {
            assert_eq!(table(&sdds, sdd), f);
            assert_eq!(sdds.model_count(sdd), UBig::from(f.count_ones()));
        }
        validate(&mut sdds);
    }
}

#[test]
fn weighted_counts_agree_with_summing_rows() {
    let mut random = SplitMix(5);
    for seed in 0..60 {
        let variables = 1 + random.below(5);
        let mut sdds = SddManager::new(Vtree::random(variables, seed));
        let f = random.below(1 << 31) as u64 & rows(variables);
        let sdd = build(&mut sdds, f);
        // Weights that do not add up to one, including zeros and negative ones.
        let weights: Vec<i64> = (0..2 * variables).map(|_| random.below(9) as i64 - 3).collect();
        let exact = |literal: Lit| RBig::from_parts(weights[literal.code()].into(), UBig::from(7_u8));
        let float = |literal: Lit| weights[literal.code()] as f64 / 7.0;
        let mut sum = RBig::ZERO;
        for row in (0..1_usize << variables).filter(|row| f >> row & 1 == 1) {
            let literals = (0..variables).map(|i| Var::new(i).literal(row >> i & 1 == 1));
            sum += literals.map(exact).fold(RBig::ONE, |product, weight| product * weight);
        }
        assert_eq!(sdds.weighted_count(sdd, exact), sum);
        let difference = sdds.weighted_count(sdd, float) - sum.to_f64().value();
        assert!(difference.abs() < 1e-12, "off by {difference}");
    }
}

#[test]
fn slow_any_sequence_of_moves_keeps_functions_handles_and_invariants() {
    let mut random = SplitMix(21);
    for seed in 0..10 {
        let variables = 3 + random.below(4);
        let mut sdds = SddManager::new(Vtree::random(variables, seed));
        let mut tables = Vec::new();
        for _ in 0..3 {
            let high = random.below(1 << 32) as u64;
            let f = (high << 32 | random.below(1 << 32) as u64) & rows(variables);
            let sdd = build(&mut sdds, f);
            sdds.protect(sdd);
            tables.push((sdd, f));
        }
        for round in 0..40 {
            sdds.collect_garbage();
            let id = VtreeId(random.below(sdds.vtree.node_count()) as u32);
            let step = match random.below(3) {
                0 => Move::RotateLeft(id),
                1 => Move::RotateRight(id),
                _ => Move::Swap(id),
            };
            // Some moves are rejected half way; they must leave no trace.
            let limit = if round % 4 == 0 { random.below(30) } else { usize::MAX };
            let _ = sdds.make(step, ElementLimit(limit), &Watch::unlimited());
            for &(sdd, f) in &tables {
                assert_eq!(table(&sdds, sdd), f);
                assert_eq!(build(&mut sdds, f), sdd, "not canonical after {step:?}");
            }
            validate(&mut sdds);
        }
        let size = sdds.live_size();
        let report = sdds.minimise(&MinimiseOptions::default(), &Watch::unlimited()).unwrap();
        assert!(report.size_after <= size && report.size_after == sdds.live_size());
        for &(sdd, f) in &tables {
            assert_eq!(table(&sdds, sdd), f);
        }
        validate(&mut sdds);
    }
}

#[test]
fn garbage_collection_keeps_what_is_protected_and_nothing_else() {
    let mut random = SplitMix(8);
    let mut sdds = SddManager::new(Vtree::random(5, 2));
    let mut kept: Vec<(Sdd, u64)> = Vec::new();
    for round in 0..200 {
        let f = random.below(1 << 32) as u64;
        let sdd = build(&mut sdds, f);
        sdds.protect(sdd);
        kept.push((sdd, f));
        if kept.len() > 6 {
            let (sdd, _) = kept.swap_remove(random.below(kept.len()));
            assert!(sdds.release(sdd));
        }
        if round % 10 == 0 {
            sdds.collect_garbage();
            assert_eq!(sdds.decision_count(), sdds.live_decision_count());
            let roots: Vec<Sdd> = kept.iter().map(|&(sdd, _)| sdd).collect();
            let reached = sdds.topological_order(&roots).into_iter().filter(|&sdd| sdds.is_decision(sdd)).count();
            assert_eq!(sdds.decision_count(), reached);
            validate(&mut sdds);
        }
        for &(sdd, f) in &kept {
            assert_eq!(table(&sdds, sdd), f);
        }
    }
    for (sdd, _) in kept {
        assert!(sdds.release(sdd));
    }
    sdds.collect_garbage();
    assert_eq!((sdds.decision_count(), sdds.live_size()), (0, 0));
    assert!(!sdds.release(Sdd(70)), "nothing was protected");
}

#[test]
fn vtrees_thousands_of_levels_deep_do_not_overflow_the_stack() {
    let variables = 4000;
    let shapes = [(Vtree::right_linear(variables), true), (Vtree::left_linear(variables), false)];
    for (vtree, from_the_right) in shapes {
        let mut sdds = SddManager::new(vtree);
        // All variables are equal: two models. Built from the deepest variable up.
        let (mut ones, mut zeros) = (Sdd::TRUE, Sdd::TRUE);
        let mut order = sdds.vtree().variable_order();
        if from_the_right {
            order.reverse();
        }
        for &var in &order {
            let [yes, no] = [var.positive(), var.negative()].map(|l| sdds.literal(l).unwrap());
            ones = sdds.and(ones, yes, &Watch::unlimited()).unwrap();
            zeros = sdds.and(zeros, no, &Watch::unlimited()).unwrap();
        }
        let equal = sdds.or(ones, zeros, &Watch::unlimited()).unwrap();
        assert_eq!(sdds.model_count(equal), UBig::from(2_u8));
        let not = sdds.negate(equal).unwrap();
        assert_eq!(sdds.model_count(not), (UBig::ONE << variables) - UBig::from(2_u8));
        let given = sdds.condition(equal, order[variables / 2].positive(), &Watch::unlimited()).unwrap();
        assert_eq!(sdds.model_count(given), UBig::from(2_u8), "the variable is free again");
        assert!(sdds.evaluate(equal, &vec![true; variables]).unwrap());
    }
}

#[test]
fn no_variables_and_one_variable() {
    let mut none = SddManager::new(Vtree::balanced(0));
    assert_eq!(none.and(Sdd::TRUE, Sdd::FALSE, &Watch::unlimited()), Ok(Sdd::FALSE));
    assert_eq!((none.model_count(Sdd::TRUE), none.model_count(Sdd::FALSE)), (UBig::ONE, UBig::ZERO));
    assert_eq!(none.evaluate(Sdd::TRUE, &[]), Ok(true));
    let x = Var::new(0).positive();
    assert!(matches!(none.literal(x), Err(DiagramError::NoSuchVariable { variables: 0, .. })));
    assert!(none.minimise(&MinimiseOptions::default(), &Watch::unlimited()).is_ok());
    let mut one = SddManager::new(Vtree::balanced(1));
    let (yes, no) = (one.literal(x).unwrap(), one.literal(!x).unwrap());
    assert_eq!(
        (one.or(yes, no, &Watch::unlimited()), one.and(yes, no, &Watch::unlimited())),
        (Ok(Sdd::TRUE), Ok(Sdd::FALSE))
    );
    assert_eq!((one.negate(yes), one.model_count(yes)), (Ok(no), UBig::ONE));
    assert_eq!(one.condition(yes, !x, &Watch::unlimited()), Ok(Sdd::FALSE));
    assert!(matches!(one.evaluate(yes, &[]), Err(DiagramError::AssignmentLength { given: 0, variables: 1 })));
}

#[test]
fn a_node_limit_is_an_error_and_the_manager_stays_usable() {
    let mut sdds = SddManager::new(Vtree::balanced(6));
    sdds.set_max_nodes(5);
    let parity = |sdds: &mut SddManager| {
        (0..6).try_fold(Sdd::FALSE, |parity, i| {
            let x = sdds.literal(Var::new(i).positive())?;
            let (not_x, not_parity) = (sdds.negate(x)?, sdds.negate(parity)?);
            let (a, b) = (sdds.and(x, not_parity, &Watch::unlimited())?, sdds.and(not_x, parity, &Watch::unlimited())?);
            sdds.or(a, b, &Watch::unlimited())
        })
    };
    assert_eq!(parity(&mut sdds), Err(DiagramError::TooManyNodes { limit: 5 }));
    sdds.set_max_nodes(1000);
    let odd = parity(&mut sdds).unwrap();
    assert_eq!(sdds.model_count(odd), UBig::from(32_u8));
}

#[test]
fn exchanging_variables_agrees_with_permuting_rows() {
    let mut random = SplitMix(4);
    for seed in 0..40 {
        let n = 2 + random.below(4);
        let mut sdds = SddManager::new(Vtree::random(n, seed));
        let f = random.below(1 << 32) as u64 & rows(n);
        let mut root = build(&mut sdds, f);
        let (i, j) = (random.below(n), random.below(n));
        let source = |row: u64| row & !(1 << i | 1 << j) | (row >> i & 1) << j | (row >> j & 1) << i;
        let permuted: u64 = (0..1 << n).filter(|&row| f >> source(row) & 1 == 1).map(|row| 1_u64 << row).sum();
        let exchanged = sdds.exchange(root, Var::new(i), Var::new(j), &Watch::unlimited()).unwrap();
        assert_eq!(table(&sdds, exchanged), permuted);
        let size = sdds.size(root);
        sdds.protect(root);
        sdds.exchange_sweep(&mut root, &Watch::unlimited()).unwrap();
        assert_eq!(table(&sdds, root), f);
        assert!(sdds.size(root) <= size && sdds.size(root) == sdds.live_size());
        validate(&mut sdds);
    }
}

fn lits(numbers: &[i32]) -> Vec<Lit> {
    numbers.iter().map(|&number| Lit::from_dimacs(number).unwrap()).collect()
}

fn compile(variables: usize, clauses: &[&[i32]], options: &CompileOptions) -> Result<Compiled, DiagramError> {
    let clauses: Vec<Vec<Lit>> = clauses.iter().map(|clause| lits(clause)).collect();
    compile_clauses(variables, clauses.iter().map(Vec::as_slice), options, &Watch::unlimited())
}

#[test]
fn empty_unit_and_tautological_clauses() {
    let options = CompileOptions::default();
    let cases: [(usize, &[&[i32]], u32); 10] = [
        (0, &[], 1),
        (0, &[&[]], 0),
        (3, &[], 8),
        (3, &[&[], &[1]], 0),
        (3, &[&[2]], 4),
        (3, &[&[2, 2, 2]], 4),
        (3, &[&[2, -2], &[1, 3, -1]], 8),
        (3, &[&[2], &[-2]], 0),
        (5, &[&[1, 4]], 24),
        (1, &[&[-1], &[-1]], 1),
    ];
    for (variables, clauses, models) in cases {
        let Compiled { manager, root } = compile(variables, clauses, &options).unwrap();
        assert_eq!(manager.model_count(root), UBig::from(models), "{variables} {clauses:?}");
    }
    let error = compile(3, &[&[1], &[2, -4]], &options).unwrap_err();
    let literal = Lit::from_dimacs(-4).unwrap();
    assert_eq!(error, DiagramError::ClauseVariable { clause: 2, literal, variables: 3 });
    let other = CompileOptions { vtree: StartVtree::Given(Vtree::balanced(2)), ..options };
    assert!(matches!(compile(3, &[], &other), Err(DiagramError::NotAPermutation { .. })));
}

#[test]
fn limit_errors_name_the_limit_and_the_progress() {
    // Pairs (i, i + 8) that differ, separated by the order: exponential for a right-linear vtree that may not change.
    let clauses: Vec<Vec<Lit>> = (1..=8).flat_map(|i| [lits(&[i, i + 8]), lits(&[-i, -i - 8])]).collect();
    let options = CompileOptions { minimise: false, max_nodes: 100, ..CompileOptions::default() };
    let slices = || clauses.iter().map(Vec::as_slice);
    match compile_clauses(16, slices(), &options, &Watch::unlimited()) {
        Err(error @ DiagramError::Compile { done: 1..16, clauses: 16, size: 1.., .. }) => {
            assert!(error.to_string().starts_with("the limit of 100 diagram nodes is reached after "), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let late = Watch::unlimited().timeout(std::time::Duration::ZERO);
    match compile_clauses(16, slices(), &CompileOptions::default(), &late) {
        Err(DiagramError::Compile { cause, done: 0, clauses: 16, size: 0, .. }) => {
            assert!(matches!(*cause, DiagramError::Stopped(_)));
        }
        other => panic!("{other:?}"),
    }
    let Compiled { manager, root } =
        compile_clauses(16, slices(), &CompileOptions::default(), &Watch::unlimited()).unwrap();
    assert_eq!(manager.model_count(root), UBig::from(256_u16));
    assert!(manager.size(root) < 60, "the search finds that the pairs belong together: {}", manager.size(root));
}

#[test]
fn the_network_of_the_paper_compiles_small() {
    let Some(path) = shared_data("paper/paper_bnn_2391.cnf") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<i32>>();
    let clauses: Vec<Vec<Lit>> = text
        .lines()
        .filter(|line| !line.starts_with('p'))
        .map(|line| lits(numbers(line).split_last().unwrap().1))
        .collect();
    assert_eq!(clauses.len(), 2391);
    let slices = clauses.iter().map(Vec::as_slice);
    let compiled = compile_clauses(13, slices, &CompileOptions::default(), &Watch::unlimited()).unwrap();
    let (manager, root) = (compiled.manager, compiled.root);
    assert_eq!(manager.model_count(root), UBig::from(4096_u16));
    assert!(manager.size(root) <= 1150, "size {}", manager.size(root));
    for row in 0..1_u32 << 13 {
        let assignment: Vec<bool> = (0..13).map(|i| row >> i & 1 == 1).collect();
        let holds = clauses.iter().all(|c| c.iter().any(|l| l.holds(assignment[l.var().index()])));
        assert_eq!(manager.evaluate(root, &assignment).unwrap(), holds);
    }
}

fn random_cnf() -> impl Strategy<Value = (usize, Vec<Vec<Lit>>)> {
    (1..=6_usize).prop_flat_map(|variables| {
        let literal = (0..variables, any::<bool>()).prop_map(|(var, value)| Var::new(var).literal(value));
        (Just(variables), prop::collection::vec(prop::collection::vec(literal, 0..6), 0..14))
    })
}

proptest! {
    #[test]
    fn compiled_clauses_agree_with_brute_force((variables, clauses) in random_cnf(), seed in 0..6_u64, minimise: bool) {
        let vtree = match seed {
            0 => StartVtree::Balanced,
            1 => StartVtree::LeftLinear,
            2 => StartVtree::RightLinear,
            3 => StartVtree::Given(Vtree::random(variables, 77)),
            _ => StartVtree::Random(seed),
        };
        let options = CompileOptions { vtree, minimise, ..CompileOptions::default() };
        let slices = clauses.iter().map(Vec::as_slice);
        let Compiled { mut manager, root } = compile_clauses(variables, slices, &options, &Watch::unlimited()).unwrap();
        let holds = |row: u64| clauses.iter().all(|c| c.iter().any(|l| l.holds(row >> l.var().index() & 1 == 1)));
        let expected: u64 = (0..1 << variables).filter(|&row| holds(row)).map(|row| 1_u64 << row).sum();
        prop_assert_eq!(table(&manager, root), expected);
        prop_assert_eq!(manager.model_count(root), UBig::from(expected.count_ones()));
        prop_assert_eq!(manager.live_size(), manager.size(root));
        validate(&mut manager);
        // Written, read back, and loaded into a fresh manager, it is the same function of the same size.
        let vtree = Vtree::parse(&manager.vtree().to_file_text().unwrap()).unwrap();
        let file = SddFile::parse(&manager.to_file(root).to_file_text(manager.vtree()), &vtree).unwrap();
        let mut fresh = SddManager::new(vtree);
        let again = fresh.load(&file, &Watch::unlimited()).unwrap();
        prop_assert_eq!(table(&fresh, again), expected);
        prop_assert_eq!((fresh.size(again), file.size()), (manager.size(root), manager.size(root)));
    }
}
