//! The formula stage checked from outside: every result is compared with a truth table, by code in this file only.

#![cfg(feature = "sat")]

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::shared_data::shared_data;
use boolshap::formula::{Clause, Cnf, FormulaError, GateSpec, Place, encode, read_dimacs, simplify};
use boolshap::lit::{Progress, Stopped, Var, Watch};
use proptest::prelude::*;

const NO_LIMIT: usize = usize::MAX;

/// Positive and negated variables of each clause as masks: bit i is variable i.
fn masks(cnf: &Cnf) -> Vec<(u32, u32)> {
    let clause = |clause: &Clause| {
        clause.lits().fold((0, 0), |(positive, negative), lit| {
            let bit = 1u32 << lit.var().index();
            if lit.is_negative() { (positive, negative | bit) } else { (positive | bit, negative) }
        })
    };
    cnf.clauses().map(clause).collect()
}

/// Checks that the formula is true exactly where `function` is, prime, and irredundant.
fn judge(cnf: &Cnf, variables: usize, function: impl Fn(u32) -> bool) {
    let clauses = masks(cnf);
    let mut needed_literals = vec![0u32; clauses.len()];
    let mut needed = vec![false; clauses.len()];
    for assignment in 0..1u32 << variables {
        let true_literals = |&(positive, negative): &(u32, u32)| assignment & positive | !assignment & negative;
        let falsified: Vec<usize> = (0..clauses.len()).filter(|&c| true_literals(&clauses[c]) == 0).take(2).collect();
        assert_eq!(falsified.is_empty(), function(assignment), "value at {assignment:b} of {cnf:?}");
        match falsified[..] {
            // A model that makes only one literal of a clause true is not a model of the clause without that literal.
            [] => {
                for (clause, needed) in clauses.iter().zip(&mut needed_literals) {
                    let literals = true_literals(clause);
                    *needed |= if literals.is_power_of_two() { literals } else { 0 };
                }
            }
            // Without this clause the assignment would be a model.
            [only] => needed[only] = true,
            _ => {}
        }
    }
    for (place, &(positive, negative)) in clauses.iter().enumerate() {
        assert_eq!(needed_literals[place], positive | negative, "clause {place} of {cnf:?} is not prime");
        assert!(needed[place], "clause {place} of {cnf:?} is redundant");
    }
}

fn clauses(lists: &[&[i32]]) -> Vec<Clause> {
    lists.iter().map(|list| Clause::from_dimacs(list).unwrap()).collect()
}

fn sorted(cnf: &Cnf) -> Vec<Clause> {
    let mut list: Vec<Clause> = cnf.clauses().cloned().collect();
    list.sort();
    list
}

#[test]
fn all_functions_of_three_variables_simplify() {
    for function in 0..256u32 {
        let rows = (0..8u32).filter(|row| function >> row & 1 == 0);
        let maxterm = |row: u32| Clause::new((0..3).map(|v| Var::new(v).literal(row >> v & 1 == 0))).unwrap();
        let cnf = Cnf::from_clauses(3, rows.map(maxterm));
        let simple = simplify(&cnf, &Watch::unlimited()).unwrap();
        assert_eq!(simple.variables(), 3);
        judge(&simple, 3, |row| function >> row & 1 == 1);
    }
}

#[test]
fn the_running_example_of_the_paper() {
    let gate = |signs: [i32; 3], bias| GateSpec::from_bias(signs.map(|sign| sign > 0).to_vec(), bias).unwrap();
    let hidden = vec![gate([-1, -1, 1], 0.16), gate([-1, -1, -1], 0.0), gate([1, 1, 1], 0.0)];
    let output = vec![gate([1, 1, -1], -0.01)];
    assert!(hidden.iter().chain(&output).all(|gate| gate.need == 2));

    // Equation (5): (x3 and (-x2 or -x1)) or (-x2 and -x1).
    let h1 = encode(3, &[vec![hidden[0].clone()]], NO_LIMIT, &Watch::unlimited()).unwrap();
    judge(&h1, 3, |row| {
        let [x1, x2, x3] = [0, 1, 2].map(|bit| row >> bit & 1 == 1);
        (x3 && (!x2 || !x1)) || (!x2 && !x1)
    });
    let mut expected = clauses(&[&[-1, -2], &[-1, 3], &[-2, 3]]);
    expected.sort();
    assert_eq!(sorted(&h1), expected);

    let whole = encode(3, &[hidden, output], NO_LIMIT, &Watch::unlimited()).unwrap();
    let mut expected = clauses(&[&[-1, -2], &[-1, -3], &[-2, -3]]);
    expected.sort();
    assert_eq!(sorted(&whole), expected);
}

#[test]
fn the_need_of_a_gate_is_the_smallest_count_that_fires() {
    let biases = [0.0, -0.0, 1e-300, -1e-300, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 7.0, -7.0, 1e300, -1e300];
    for bias in biases.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY]) {
        for inputs in 0..5 {
            let need = GateSpec::from_bias(vec![true; inputs], bias).unwrap().need;
            // Compare the sum with -bias instead of adding the bias, since adding would round it away.
            let fires = |convenient: usize| 2.0 * convenient as f64 - inputs as f64 >= -bias;
            let expected = (0..=inputs).find(|&convenient| fires(convenient)).unwrap_or(inputs + 1);
            assert_eq!(need, expected, "{inputs} inputs, bias {bias}");
        }
    }
    assert_eq!(GateSpec::from_bias(vec![true], f64::NAN), None);
}

type Layers = Vec<Vec<GateSpec>>;

/// Evaluates the network directly, by counting at every gate.
fn fires(layers: &[Vec<GateSpec>], inputs: usize, row: u32) -> bool {
    let mut values: Vec<bool> = (0..inputs).map(|bit| row >> bit & 1 == 1).collect();
    for layer in layers {
        let agree = |gate: &GateSpec| gate.signs.iter().zip(&values).filter(|(sign, value)| sign == value).count();
        values = layer.iter().map(|gate| agree(gate) >= gate.need).collect();
    }
    values[0]
}

fn gates(inputs: usize, count: usize) -> impl Strategy<Value = Vec<GateSpec>> {
    let gate = (prop::collection::vec(any::<bool>(), inputs), 0..=inputs + 1);
    prop::collection::vec(gate.prop_map(|(signs, need)| GateSpec { signs, need }), count)
}

fn networks() -> impl Strategy<Value = (usize, Layers)> {
    let shape = (2..=10usize, prop::collection::vec(1..=6usize, 1..=3));
    shape.prop_flat_map(|(inputs, hidden)| {
        let widths: Vec<usize> = std::iter::once(inputs).chain(hidden).chain([1]).collect();
        let layers: Vec<_> = widths.windows(2).map(|pair| gates(pair[0], pair[1]).boxed()).collect();
        (Just(inputs), layers)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn encoded_networks_equal_the_network((inputs, layers) in networks()) {
        let cnf = encode(inputs, &layers, NO_LIMIT, &Watch::unlimited()).unwrap();
        prop_assert_eq!(cnf.variables(), inputs);
        judge(&cnf, inputs, |row| fires(&layers, inputs, row));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Thresholds near the middle, so that the cells are large enough for every way of computing them.
    #[test]
    fn dense_networks_equal_the_network(
        signs in prop::collection::vec(prop::collection::vec(any::<bool>(), 9), 7),
        last in prop::collection::vec(any::<bool>(), 7),
        deep in any::<bool>(),
    ) {
        let hidden: Vec<GateSpec> = signs.into_iter().map(|signs| GateSpec { signs, need: 5 }).collect();
        let middle = last.iter().map(|&sign| {
            let signs = last.iter().map(|other| *other == sign).collect();
            GateSpec { signs, need: 3 + usize::from(sign) }
        });
        let mut layers = vec![hidden];
        if deep {
            layers.push(middle.collect());
        }
        layers.push(vec![GateSpec { signs: last, need: 4 }]);
        let cnf = encode(9, &layers, NO_LIMIT, &Watch::unlimited()).unwrap();
        judge(&cnf, 9, |row| fires(&layers, 9, row));
    }

    /// With 22 inputs no truth table is built: products and the SAT solver do everything.
    #[test]
    fn slow_wide_networks_equal_the_network(
        signs in prop::collection::vec(prop::collection::vec(any::<bool>(), 22), 3),
        needs in prop::collection::vec(prop::sample::select(vec![1usize, 2, 21, 22]), 3),
        last in prop::collection::vec(any::<bool>(), 3),
        need in 1..=3usize,
    ) {
        let hidden = signs.into_iter().zip(needs).map(|(signs, need)| GateSpec { signs, need }).collect();
        let layers = vec![hidden, vec![GateSpec { signs: last, need }]];
        match encode(22, &layers, 3_000, &Watch::unlimited()) {
            Ok(cnf) => judge(&cnf, 22, |row| {
                let hidden = layers[0].iter().map(|gate| {
                    let plus = gate.signs.iter().enumerate().fold(0u32, |mask, (bit, &sign)| mask | u32::from(sign) << bit);
                    (!(row ^ plus) & 0x3F_FFFF).count_ones() as usize >= gate.need
                });
                hidden.zip(&layers[1][0].signs).filter(|(value, sign)| value == *sign).count() >= need
            }),
            Err(error) => prop_assert!(matches!(error, FormulaError::TooManyClauses { .. }), "{}", error),
        }
    }
}

fn random_cnf(variables: usize, max_clauses: usize, lengths: std::ops::Range<usize>) -> impl Strategy<Value = Cnf> {
    let lit = (0..variables, any::<bool>()).prop_map(|(var, sign)| Var::new(var).literal(sign));
    prop::collection::vec(prop::collection::vec(lit, lengths), 0..max_clauses)
        .prop_map(move |lists| Cnf::from_clauses(variables, lists.into_iter().filter_map(Clause::new)))
}

fn judge_simplified(cnf: &Cnf, variables: usize) {
    let simple = simplify(cnf, &Watch::unlimited()).unwrap();
    assert_eq!(simple.variables(), variables);
    let before = masks(cnf);
    judge(&simple, variables, |row| before.iter().all(|(positive, negative)| row & positive | !row & negative != 0));
}

proptest! {
    #[test]
    fn small_formulas_simplify(cnf in random_cnf(7, 30, 1..6)) {
        judge_simplified(&cnf, 7);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// Too many variables for all primes, few enough for the table.
    #[test]
    fn formulas_of_sixteen_variables_simplify(cnf in random_cnf(16, 120, 3..8)) {
        judge_simplified(&cnf, 16);
    }

    /// Too many variables for the table.
    #[test]
    fn slow_formulas_of_twenty_two_variables_simplify(cnf in random_cnf(22, 60, 2..7)) {
        judge_simplified(&cnf, 22);
    }
}

#[test]
fn sparse_variable_numbers_cost_nothing() {
    let cnf = Cnf::from_clauses(0, clauses(&[&[i32::MAX, 1], &[i32::MAX, -1], &[1_000_000, -5]]));
    let simple = simplify(&cnf, &Watch::unlimited()).unwrap();
    assert_eq!(simple.variables(), i32::MAX as usize);
    let mut expected = clauses(&[&[i32::MAX], &[1_000_000, -5]]);
    expected.sort();
    assert_eq!(sorted(&simple), expected);
}

fn majority(inputs: usize) -> Layers {
    let gate = GateSpec { signs: vec![true; inputs], need: inputs.div_ceil(2) };
    vec![vec![gate; 2], vec![GateSpec { signs: vec![true, false], need: 1 }]]
}

#[test]
fn the_clause_limit_error_says_where() {
    let error = encode(12, &majority(12), 100, &Watch::unlimited()).unwrap_err();
    let FormulaError::TooManyClauses { limit: 100, place: Place::Matrix { layer: 1, row, rows: 12, clauses, .. } } =
        error
    else {
        panic!("{error}");
    };
    // Row k, column t has C(k, k-t+1) clauses: the first cell above 100 is C(9, 5) = 126, in row 9, after C(8, 4) = 70.
    assert_eq!((row, clauses), (9, 70));
    let text = error.to_string();
    assert!(text.contains("100 clauses") && text.contains("row 9 of 12") && text.contains("raise the limit"), "{text}");
    assert!(encode(12, &majority(12), 924, &Watch::unlimited()).is_ok(), "924 = C(12, 6) is the largest cell");
}

#[test]
fn only_the_necessary_cells_are_computed() {
    // "All of 12" needs only the diagonal of its matrix, at most 12 clauses per cell; the cells beside it have up to
    // C(12, 2).
    let all = [vec![GateSpec { signs: vec![true; 12], need: 12 }]];
    assert_eq!(encode(12, &all, 12, &Watch::unlimited()).unwrap().len(), 12);
}

#[test]
fn time_limits_and_interrupts_stop_and_progress_is_reported() {
    let late = Watch::unlimited().timeout(Duration::ZERO);
    let error = encode(5, &majority(5), NO_LIMIT, &late).unwrap_err();
    assert!(matches!(error, FormulaError::Stopped { why: Stopped::OutOfTime { .. }, place: Place::Matrix { .. } }));
    assert!(error.to_string().contains("time limit of 0 seconds"), "{error}");
    let flag = AtomicBool::new(true);
    let cnf = Cnf::from_clauses(2, clauses(&[&[1, 2]]));
    let error = simplify(&cnf, &Watch::unlimited().stop_flag(&flag)).unwrap_err();
    assert!(matches!(error, FormulaError::Stopped { why: Stopped::Interrupted, place: Place::Simplify { .. } }));

    let seen = Mutex::new(Vec::new());
    let report = |progress: Progress| seen.lock().unwrap().push((progress.done as u64, progress.total));
    encode(4, &majority(4), NO_LIMIT, &Watch::unlimited().progress(&report)).unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_by_key(|(done, _)| *done);
    // One hidden gate plain, one negated, 4 rows each; the output has 2.
    assert_eq!(seen, (1..=10).map(|done| (done, None)).collect::<Vec<_>>());
}

#[test]
fn misshapen_networks_are_refused_naming_the_layer() {
    let gate = |inputs| GateSpec { signs: vec![true; inputs], need: 1 };
    let cases: [(Layers, &str); 4] = [
        (vec![], "layer 1: the network has no layers"),
        (vec![vec![gate(3), gate(3)]], "layer 1: the last layer has 2 gates, but must have one"),
        (vec![vec![gate(3), gate(2)], vec![gate(2)]], "layer 1, gate 2: 2 weights for 3 inputs"),
        (vec![vec![gate(3), gate(3)], vec![gate(3)]], "layer 2, gate 1: 3 weights for 2 inputs"),
    ];
    for (layers, message) in cases {
        assert_eq!(encode(3, &layers, NO_LIMIT, &Watch::unlimited()).unwrap_err().to_string(), message);
    }
}

#[test]
fn gates_without_inputs_are_constant() {
    for (need, value) in [(0, true), (1, false)] {
        let layers = [vec![GateSpec { signs: vec![], need }]];
        let cnf = encode(0, &layers, NO_LIMIT, &Watch::unlimited()).unwrap();
        judge(&cnf, 0, |_| value);
    }
}

#[test]
fn the_papers_formula_simplifies() {
    let Some(path) = shared_data("paper/paper_bnn_9047.cnf") else { return };
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let cnf = read_dimacs(file, "paper_bnn_9047.cnf").unwrap();
    assert_eq!((cnf.variables(), cnf.len()), (13, 9047));
    let simple = simplify(&cnf, &Watch::unlimited()).unwrap();
    assert!(simple.len() <= 1200, "{} clauses", simple.len());
    let before = masks(&cnf);
    judge(&simple, 13, |row| before.iter().all(|(positive, negative)| row & positive | !row & negative != 0));
}
