//! Compares the store with truth tables: on every function of three variables, and on random operations in stores that
//! are too small.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

/// The variables as truth tables: in row `row`, the variable on level `k` has the value of bit `k` of `row`.
const VARIABLES: [u64; 6] = [
    0xAAAA_AAAA_AAAA_AAAA,
    0xCCCC_CCCC_CCCC_CCCC,
    0xF0F0_F0F0_F0F0_F0F0,
    0xFF00_FF00_FF00_FF00,
    0xFFFF_0000_FFFF_0000,
    0xFFFF_FFFF_0000_0000,
];

fn evaluate(store: &BddStore, mut bdd: Bdd, row: usize) -> bool {
    while bdd > Bdd::TRUE {
        let node = store.nodes[bdd.index()];
        bdd = if row >> node.level & 1 == 1 { node.hi } else { node.lo };
    }
    bdd == Bdd::TRUE
}

fn table(store: &BddStore, bdd: Bdd, levels: usize) -> u64 {
    (0..1 << levels).map(|row| u64::from(evaluate(store, bdd, row)) << row).sum()
}

fn ite(store: &mut BddStore, triple: Triple, roots: &[Bdd]) -> Bdd {
    store.if_then_else(triple[0], triple[1], triple[2], &[roots], &Watch::unlimited()).unwrap()
}

/// The diagram of a truth table over three levels, built by splitting the table level by level.
fn build(store: &mut BddStore, table: u8, level: u32, roots: &[Bdd]) -> Bdd {
    if level == 3 {
        return if table & 1 == 1 { Bdd::TRUE } else { Bdd::FALSE };
    }
    let half = |from: usize| {
        let rows = (from..8).step_by(2).enumerate().map(|(to, row)| (table >> row & 1) << to);
        rows.sum::<u8>()
    };
    let [lo, hi] = [half(0), half(1)].map(|half| build(store, half, level + 1, roots));
    let variable = store.variable(level, &[roots, &[lo, hi]]).unwrap();
    ite(store, [variable, hi, lo], roots)
}

fn all_functions(store: &mut BddStore) -> Vec<Bdd> {
    let mut all = Vec::new();
    for table in 0..=255 {
        let bdd = build(store, table, 0, &all);
        all.push(bdd);
    }
    all
}

#[test]
fn if_then_else_is_right_on_every_function_of_three_variables() {
    // There are 2 + 12 + 240 nodes, so this limit is just enough.
    let mut store = BddStore::new(1, 254);
    let all = all_functions(&mut store);
    assert_eq!((store.used, store.room), (254, 254));
    for (number, &bdd) in all.iter().enumerate() {
        assert_eq!(table(&store, bdd, 3), number as u64);
    }
    for test in 0..256usize {
        for yes in 0..256usize {
            // The constants, the operands, their negations, and a selection that differs from pair to pair.
            let some = (0..256).skip((test * 7 + yes * 3) % 23).step_by(23);
            for no in [0, 255, test, yes, 255 - test, 255 - yes].into_iter().chain(some) {
                let expected = all[test & yes | (255 - test) & no];
                assert_eq!(ite(&mut store, [all[test], all[yes], all[no]], &all), expected, "{test} {yes} {no}");
            }
        }
    }
    assert_eq!(store.used, 254);
}

#[test]
fn every_function_of_three_variables_is_written_down() {
    let order = [2, 0, 1].map(Var::new);
    for number in 0..=255u8 {
        let mut store = BddStore::new(16, 1000);
        let root = build(&mut store, number, 0, &[]);
        let size = store.size(root);
        let diagram = store.into_obdd(root, order.to_vec());
        assert_eq!((diagram.len(), diagram.order()), (size, &order[..]));
        for row in 0..8 {
            let mut entity = [false; 3];
            order.iter().enumerate().for_each(|(level, var)| entity[var.index()] = row >> level & 1 == 1);
            assert_eq!(diagram.evaluate(&entity), number >> row & 1 == 1, "{number} at {row}");
        }
    }
}

/// Counts the nodes of some functions by definition: the distinct functions that remain after fixing the first levels
/// and depend on the next one.
fn nodes_by_definition(tables: &[u64]) -> usize {
    let mut functions: HashSet<u64> = tables.iter().copied().collect();
    let mut nodes = 0;
    for (level, ones) in VARIABLES.iter().enumerate() {
        let halves = |table: &u64| {
            let (lo, hi) = (table & !ones, table & ones);
            [lo | lo << (1 << level), hi | hi >> (1 << level)]
        };
        nodes += functions.iter().map(halves).filter(|[lo, hi]| lo != hi).count();
        functions = functions.iter().flat_map(halves).collect();
    }
    nodes
}

/// Checks that children differ and are deeper, no two nodes are equal, the unique table finds every node, and cached
/// results are right.
fn check(store: &BddStore, roots: &[Bdd]) {
    let reached = store.reached(roots.iter().copied());
    let mut seen = HashSet::new();
    for id in 2..store.nodes.len() as u32 {
        let Node { level, lo, hi, .. } = store.nodes[id as usize];
        if reached.has(Bdd(id)) {
            assert!(lo != hi && [lo, hi].iter().all(|child| store.nodes[child.index()].level > level));
            assert!(seen.insert((level, lo.0, hi.0)), "two alike");
            let chain = store.chains[place(lo, hi, level, store.chains.len())];
            let mut chain = std::iter::successors(Some(chain), |&at| Some(store.nodes[at as usize].next));
            assert!(chain.by_ref().take_while(|&at| at != 0).any(|at| at == id), "lost");
        }
    }
    for known in store.cache.iter().filter(|known| known.triple[0] != Bdd::FALSE) {
        let [test, yes, no] = known.triple.map(|bdd| table(store, bdd, 6));
        assert_eq!(table(store, known.result, 6), test & yes | !test & no);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn collections_keep_exactly_what_is_reachable(
        steps in vec([0usize..12, 0..12, 0..12, 0..12], 1..120),
        first_room in 0usize..40,
    ) {
        let mut store = BddStore::new(first_room, 2000);
        let mut tables = VARIABLES.repeat(2);
        let mut held: Vec<Bdd> = Vec::new();
        for level in 0..12 {
            let variable = store.variable(level % 6, &[&held]).unwrap();
            held.push(variable);
        }
        for [to, test, yes, no] in steps {
            held[to] = ite(&mut store, [held[test], held[yes], held[no]], &held);
            tables[to] = tables[test] & tables[yes] | !tables[test] & tables[no];
            for (&bdd, &expected) in held.iter().zip(&tables) {
                prop_assert_eq!(table(&store, bdd, 6), expected);
            }
            for (i, j) in (0..12).flat_map(|i| (0..i).map(move |j| (i, j))) {
                prop_assert_eq!(tables[i] == tables[j], held[i] == held[j]);
            }
            check(&store, &held);
        }
        let places = store.nodes.len() - 2;
        store.frames.clear();
        store.make_room(&[&held], [Bdd::FALSE; 2]).unwrap();
        check(&store, &held);
        prop_assert_eq!(store.used, nodes_by_definition(&tables));
        let free = std::iter::successors(Some(store.free), |&at| Some(store.nodes[at as usize].next));
        prop_assert_eq!(free.take_while(|&at| at != 0).count(), places - store.used);
    }
}

/// "Some pair is true", with the first variables of all pairs above the second ones: 2^(pairs + 1) - 2 nodes.
fn some_pair(store: &mut BddStore, pairs: u32, watch: &Watch<'_>) -> Result<Bdd, Halt> {
    let mut some = Bdd::FALSE;
    for pair in 0..pairs {
        let one = store.variable(pair, &[&[some]])?;
        let other = store.variable(pair + pairs, &[&[some, one]])?;
        let both = store.if_then_else(one, other, Bdd::FALSE, &[&[some]], watch)?;
        some = store.if_then_else(both, Bdd::TRUE, some, &[], watch)?;
    }
    Ok(some)
}

#[test]
fn limits_and_stop_requests_are_errors_and_leave_a_store_that_works() {
    let mut store = BddStore::new(16, 3000);
    let watch = Watch::unlimited();
    assert_eq!(some_pair(&mut store, 12, &watch), Err(Halt::Nodes(3000)));
    let some = some_pair(&mut store, 10, &watch).unwrap();
    assert_eq!((store.size(some), store.limit), ((1 << 11) - 2, 3000));

    let stop = AtomicBool::new(true);
    let mut store = BddStore::new(16, MOST_NODES);
    let stopping = Watch::unlimited().stop_flag(&stop);
    assert!(matches!(some_pair(&mut store, 14, &stopping), Err(Halt::Stopped(_))));
    assert!(store.steps.is_multiple_of(WATCHED) && store.steps > 0);
    let some = some_pair(&mut store, 14, &watch).unwrap();
    assert_eq!(store.size(some), (1 << 15) - 2);
    for limit in [0, 1] {
        let mut store = BddStore::new(16, limit);
        assert_eq!(some_pair(&mut store, 1, &watch), Err(Halt::Nodes(limit)));
    }
}

#[test]
fn no_memory_leaves_the_store_as_it_was() {
    let mut store = BddStore::new(100, 1000);
    let all = all_functions(&mut store);
    let before = (store.room, store.chains.clone());
    assert!(!store.enlarge(usize::MAX / 60) && !store.enlarge(usize::MAX));
    assert_eq!((store.room, &store.chains), (before.0, &before.1));
    check(&store, &all);
}

#[test]
fn a_hundred_thousand_levels_take_little_of_the_call_stack() {
    let work = || {
        let mut store = BddStore::new(16, MOST_NODES);
        let levels = 100_000;
        let mut parities = [Bdd::FALSE, Bdd::TRUE];
        let mut ones = Bdd::TRUE;
        let watch = Watch::unlimited();
        for level in (0..levels).rev() {
            let variable = store.variable(level, &[&parities, &[ones]]).unwrap();
            let mut join = |yes, no, more: &[Bdd]| {
                store.if_then_else(variable, yes, no, &[&parities, &[ones, variable], more], &watch).unwrap()
            };
            let odd = join(parities[1], parities[0], &[]);
            let even = join(parities[0], parities[1], &[odd]);
            ones = join(ones, Bdd::FALSE, &[odd, even]);
            parities = [odd, even];
        }
        // All variables are 1: an even number of ones.
        let both = parities.map(|parity| {
            let needed: [&[Bdd]; 2] = [&parities, &[ones]];
            store.if_then_else(parity, ones, Bdd::FALSE, &needed, &watch).unwrap()
        });
        assert_eq!(both, [Bdd::FALSE, ones]);
        assert_eq!((store.size(parities[0]), store.size(ones)), (2 * 100_000 - 1, 100_000));
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap();
    thread.join().unwrap();
}
