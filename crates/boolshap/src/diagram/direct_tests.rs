//! Compares the direct compilers with the label's definition on every input, and with each other.

use super::{DiagramError, DirectOptions, Obdd, Route, SumsLimits, compile_direct, compile_sums, compile_table};
use crate::lit::{Var, Watch};
use crate::model::random::network_strategy;
use crate::model::{Gate, Label, Network, Output};
use proptest::prelude::*;
use std::collections::HashSet;

fn order(n: usize, seed: u64) -> Vec<Var> {
    let mut order: Vec<Var> = (0..n).map(Var::new).collect();
    order.sort_by_key(|var| (var.index() as u64 + 1).wrapping_mul(seed.wrapping_mul(2) + 1) % 1009);
    order
}

/// Checks that a diagram is right on every input and reduced: no node with equal children, no duplicates, no
/// unreachable node.
fn check(diagram: &Obdd, label: &Label) {
    let n = label.inputs();
    for number in 0..1usize << n {
        let entity: Vec<bool> = (0..n).map(|j| number >> j & 1 == 1).collect();
        assert_eq!(diagram.evaluate(&entity), label.evaluate(&entity), "entity {entity:?}");
    }
    let mut used = HashSet::from([diagram.root()]);
    let mut next = 2;
    for (_, nodes) in diagram.levels() {
        assert_eq!(nodes.iter().collect::<HashSet<_>>().len(), nodes.len(), "duplicate node");
        for &[lo, hi] in nodes {
            assert_ne!(lo, hi, "node with equal children");
            used.extend([lo, hi]);
            next += 1;
        }
    }
    assert!((2..next).all(|node| used.contains(&node)), "unreachable node");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn both_routes_give_the_reduced_diagram(network in network_strategy(12), seed in any::<u64>()) {
        let order = order(network.inputs(), seed);
        for class in 0..network.classes() {
            let label = Label::of_class(&network, class).unwrap();
            let watch = Watch::unlimited();
            let table = compile_table(&label, &order, usize::MAX, &watch).unwrap();
            check(&table, &label);
            let sums = compile_sums(&label, &order, SumsLimits::default(), &watch).unwrap();
            check(&sums, &label);
            let sizes = |diagram: &Obdd| diagram.levels().map(|(_, nodes)| nodes.len()).collect::<Vec<_>>();
            prop_assert_eq!(sizes(&table), sizes(&sums));
        }
    }
}

/// A dense network with weights +-1 from a small generator.
fn dense(widths: &[usize], mut seed: u64) -> Network {
    let mut bit = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 40 & 1 == 1
    };
    let mut gate = |n: usize| {
        let weights = (0..n).map(|_| if bit() { 1 } else { -1 }).collect();
        Gate::new(weights, (n / 2) as i128 + i128::from(bit())).unwrap()
    };
    let mut hidden: Vec<Vec<Gate>> =
        widths.windows(2).map(|pair| (0..pair[1]).map(|_| gate(pair[0])).collect()).collect();
    let output = hidden.pop().unwrap().pop().unwrap();
    Network::new(widths[0], hidden, Output::Step(output)).unwrap()
}

#[test]
fn tables_of_several_groups_and_many_piles_agree_with_the_evaluator() {
    for widths in [&[19, 7, 1][..], &[20, 9, 5, 1], &[20, 20, 1]] {
        let network = dense(widths, 7);
        let label = Label::of_class(&network, 1).unwrap();
        let reversed: Vec<Var> = (0..widths[0]).rev().map(Var::new).collect();
        // The evaluator numbers inputs in reverse: its bit j is feature j.
        let table = crate::model::AllInputs::new(&label, &reversed).table(&Watch::unlimited()).unwrap();
        crate::model::NetworkEvaluator::new(&network).enumerate(|first, classes| {
            assert_eq!(table[first as usize / 64], classes[1], "block {first}");
        });
        let diagram = compile_table(&label, &reversed, usize::MAX, &Watch::unlimited()).unwrap();
        let sums = compile_sums(&label, &reversed, SumsLimits::default(), &Watch::unlimited()).unwrap();
        assert_eq!(diagram.len(), sums.len());
        for step in 0..2000u64 {
            let number = step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            let entity: Vec<bool> = (0..widths[0]).map(|j| number >> j & 1 == 1).collect();
            let expected = network.classify(&entity) == 1;
            assert_eq!((diagram.evaluate(&entity), sums.evaluate(&entity)), (expected, expected));
        }
    }
}

#[test]
fn weights_of_every_size_are_compiled_correctly() {
    for scale in [1i128, 1_000, 1 << 40, 1 << 100] {
        let weights: Vec<i128> = (0..11).map(|i| (i * i % 7 - 3) * scale + i).collect();
        let total: i128 = weights.iter().map(|w| w.abs()).sum();
        let network = Network::new(11, vec![], Output::Step(Gate::new(weights, total / 2).unwrap())).unwrap();
        let label = Label::of_class(&network, 1).unwrap();
        let order = order(11, 5);
        check(&compile_table(&label, &order, usize::MAX, &Watch::unlimited()).unwrap(), &label);
        match compile_sums(&label, &order, SumsLimits::default(), &Watch::unlimited()) {
            Ok(diagram) => check(&diagram, &label),
            Err(error) => assert!(scale > 1 << 20 && matches!(error, DiagramError::TooHeavy { .. }), "{error}"),
        }
    }
}

#[test]
fn each_route_reports_its_limit() {
    let network = dense(&[40, 12, 1], 3);
    let label = Label::of_class(&network, 1).unwrap();
    let order: Vec<Var> = (0..40).map(Var::new).collect();
    let watch = Watch::unlimited();
    let error = compile_table(&label, &order, usize::MAX, &watch).unwrap_err();
    assert_eq!(error.to_string(), "the truth-table route takes up to 32 inputs, and there are 40");
    let error =
        compile_sums(&label, &order, SumsLimits { max_states: 1000, ..Default::default() }, &watch).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the limit of 1000 states is reached with ") && text.ends_with("of 40 levels"), "{text}");
    let network = dense(&[16, 16, 1], 3);
    let label = Label::of_class(&network, 1).unwrap();
    let error = compile_table(&label, &order[..16], 100, &watch).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the limit of 100 diagram nodes is reached after ") && text.contains("of 16 levels"),
        "{text}"
    );
    let late = Watch::unlimited().timeout(std::time::Duration::ZERO);
    assert!(matches!(compile_table(&label, &order[..16], 100, &late), Err(DiagramError::Stopped(_))));
    assert!(compile_sums(&label, &order[..16], SumsLimits::default(), &late).is_err());
}

#[test]
fn a_limit_tries_the_next_route_and_an_interrupt_does_not() {
    let network = dense(&[40, 3, 1], 5);
    let label = Label::of_class(&network, 1).unwrap();
    let flag = std::sync::atomic::AtomicBool::new(true);
    let watch = Watch::unlimited().stop_flag(&flag);
    let error = compile_direct(&label, &DirectOptions::default(), &watch).unwrap_err();
    assert!(!matches!(error, DiagramError::NoRoute { .. }) && error.to_string().contains("interrupted"), "{error}");
    // Too few states for partial sums: the next route is tried, and the abandoned one is listed.
    let options = DirectOptions { max_states: 10, ..DirectOptions::default() };
    let direct = compile_direct(&label, &options, &Watch::unlimited()).unwrap();
    assert_eq!((direct.route, direct.abandoned[0].0), (Route::Apply, Route::PartialSums));
}
