//! Tests the apply route on networks too large for a truth table, against an independent count and the network itself.

use boolshap::circuit::lower_obdd;
use boolshap::diagram::{ApplyOptions, Obdd, candidate_orders, compile_apply};
use boolshap::lit::{Var, Watch};
use boolshap::model::{Gate, Label, Network, Output};
use std::collections::HashMap;

fn gate(weights: Vec<i128>, need: i128) -> Gate {
    Gate::new(weights, need).unwrap()
}

fn compile(label: &Label, order: &[Var]) -> Obdd {
    compile_apply(label, order, &ApplyOptions::default(), &Watch::unlimited()).unwrap()
}

/// A gate over a few neighbours, from `first` on, of a layer of this width.
fn window(width: usize, first: usize, weights: &[i128], need: i128, place: impl Fn(usize) -> usize) -> Gate {
    let mut all = vec![0; width];
    weights.iter().enumerate().for_each(|(offset, &weight)| all[place(first + offset)] = weight);
    gate(all, need)
}

const NEAR: ([i128; 5], i128) = ([1, -1, 2, 1, -1], 3);
const FAR: ([i128; 3], i128) = ([1, 1, -1], 2);

/// Windows of five inputs, windows of three of those, and a vote of these with a negative weight for every third.
/// `place` gives the position of each input.
fn convolution(inputs: usize, place: impl Fn(usize) -> usize) -> Network {
    let near: Vec<Gate> = (0..inputs - 4).map(|first| window(inputs, first, &NEAR.0, NEAR.1, &place)).collect();
    let far: Vec<Gate> = (0..inputs - 6).map(|first| window(inputs - 4, first, &FAR.0, FAR.1, |j| j)).collect();
    let vote = (0..inputs - 6).map(|j| if j % 3 == 0 { -1 } else { 1 }).collect();
    Network::new(inputs, vec![near, far], Output::Step(gate(vote, (inputs as i128 - 6) / 2))).unwrap()
}

/// The number of inputs for which the vote is true, counted from left to right: the state is the last six bits and the
/// votes so far.
fn count_from_left_to_right(inputs: usize) -> u128 {
    let mut states = HashMap::from([((0usize, 0usize), 1u128)]);
    for position in 0..inputs {
        let mut next = HashMap::new();
        for ((last, votes), count) in states {
            for bit in 0..2 {
                // Bit 6 - j of `seen` is input `position - 6 + j`.
                let seen = last << 1 | bit;
                let inner = |first: usize| {
                    let five: Vec<bool> = (first..first + 5).map(|j| seen >> (6 - j) & 1 == 1).collect();
                    gate(NEAR.0.to_vec(), NEAR.1).evaluate(&five)
                };
                let mut votes = votes;
                if position >= 6 {
                    let far = gate(FAR.0.to_vec(), FAR.1).evaluate(&[inner(0), inner(1), inner(2)]);
                    votes += usize::from(far == ((position - 6) % 3 != 0));
                }
                *next.entry((seen & 63, votes)).or_insert(0) += count;
            }
        }
        states = next;
    }
    states.into_iter().filter(|((_, votes), _)| *votes >= (inputs - 6) / 2).map(|(_, count)| count).sum()
}

fn pseudorandom(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ *state >> 29
}

#[test]
fn a_convolution_of_48_inputs_is_counted_exactly() {
    let network = convolution(48, |j| j);
    let label = Label::of_class(&network, 1).unwrap();
    let diagram = compile(&label, &candidate_orders(&label)[0]);
    let count = count_from_left_to_right(48);
    assert_eq!(lower_obdd(&diagram).unwrap().model_count().to_string(), count.to_string());
    let mut state = 1;
    let mut ones = 0;
    for _ in 0..10_000 {
        let number = pseudorandom(&mut state) >> 8;
        let entity: Vec<bool> = (0..48).map(|j| number >> j & 1 == 1).collect();
        let class = network.classify(&entity);
        assert_eq!(usize::from(diagram.evaluate(&entity)), class);
        ones += class;
    }
    assert!((1_000..9_000).contains(&ones), "{ones} of 10000: both classes are common");
}

#[test]
fn a_shuffled_convolution_has_an_order_as_good_as_the_first() {
    let sizes = |network: &Network| -> Vec<usize> {
        let label = Label::of_class(network, 1).unwrap();
        let orders = candidate_orders(&label);
        let diagrams = orders.iter().map(|order| compile(&label, order));
        diagrams.map(|diagram| diagram.len()).collect()
    };
    let straight = sizes(&convolution(18, |j| j))[0];
    let shuffled = sizes(&convolution(18, |j| 7 * j % 18));
    let best = shuffled.iter().min().unwrap();
    assert!(*best <= straight * 11 / 10 && shuffled[0] > straight * 2, "{straight} nodes became {shuffled:?}");
}

#[test]
fn slow_fifty_thousand_inputs_do_not_overflow_the_stack() {
    // True if two to five inputs are 1.
    let inputs = 50_000;
    let hidden = vec![gate(vec![1; inputs], 2), gate(vec![-1; inputs], inputs as i128 - 5)];
    let network = Network::new(inputs, vec![hidden], Output::Step(gate(vec![1, 1], 2))).unwrap();
    let label = Label::of_class(&network, 1).unwrap();
    let order: Vec<Var> = (0..inputs).map(Var::new).collect();
    let diagram = compile(&label, &order);
    for ones in 0..8 {
        let entity: Vec<bool> = (0..inputs).map(|j| j % 6_000 == 17 && j / 6_000 < ones).collect();
        assert_eq!(diagram.evaluate(&entity), (2..=5).contains(&ones), "{ones}");
    }
    // After some tests, each number of ones so far has a node if the result still depends on the remaining inputs.
    let open = |left: usize, ones: usize| {
        let value = |more: usize| (2..=5).contains(&(ones + more));
        (0..left).any(|more| value(more) != value(more + 1))
    };
    let nodes = |level: usize| (0..=level.min(6)).filter(|&ones| open(inputs - level, ones)).count();
    assert_eq!(diagram.len(), (0..inputs).map(nodes).sum::<usize>());
}
