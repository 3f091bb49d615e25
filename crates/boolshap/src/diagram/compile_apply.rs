//! Networks to ordered diagrams, gate by gate, with the decision-diagram package OxiDD.
//!
//! *Idea.* Every gate of every layer is a threshold over its inputs, whose diagrams are already built: variables in the
//! first layer, gates of the layer below in later ones. The gate's own small diagram over its inputs ([`Threshold`]) is
//! processed bottom up, one if-then-else per node: over variables in order each costs constant time; over gates it is
//! Bryant's apply. The gates of the last layer are conjoined, smallest first.
//!
//! *When to use.* The cost depends on the size of the gates' diagrams, not on the number of inputs. The route suits
//! sparse and convolutional networks, many layers, and single wide gates. A gate's inputs are taken in the variable
//! order, so that a partial result only involves variables from there down.
//!
//! *Memory.* A diagram is dropped after its last use, and OxiDD frees unreferenced nodes. Its tables have a fixed
//! capacity, and the cache is allocated at once, so work begins with small tables and, if they are too small, restarts
//! with much larger ones: small networks cost little, and large ones a tenth to a half more for the earlier attempts.
//! If the tables of the largest allowed size are full, the error is [`DiagramError::TooManyNodes`]. Complement edges
//! are not used: a gate rarely occurs both plain and negated, and plain diagrams were faster by a few per cent.
//!
//! *Depth.* OxiDD recurses over the levels, on its own worker thread with a gigabyte of stack.
//!
//! Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions on Computers, 1986 (doi
//! 10.1109/TC.1986.1676819). Husung, Dubslaff, Hermanns and Köhl, "OxiDD: A Safe, Concurrent, Modular, and Performant
//! Decision Diagram Framework in Rust", TACAS 2024.

use super::error::{DiagramError, Halt};
use super::obdd::Obdd;
use super::order::check_order;
use super::threshold::Threshold;
use crate::lit::{Var, Watch};
use crate::model::{Gate, Label};
use oxidd::bdd::{BDDFunction as Diagram, BDDManagerRef as Store, new_manager};
use oxidd::util::{AllocResult, FxHasher};
use oxidd::{BooleanFunction, Function, HasLevel, HasWorkers, Manager, ManagerRef, Node, WorkerPool};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

/// Limits of the apply route.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// The most nodes to hold, dead ones included. Full tables take 56 bytes per node.
    pub max_nodes: usize,
}

impl Default for ApplyOptions {
    /// Sixteen million nodes, 0.9 GiB.
    fn default() -> Self {
        ApplyOptions { max_nodes: 1 << 24 }
    }
}

/// The first capacity, and the factor by which each later attempt grows.
const FIRST_CAPACITY: usize = 1 << 16;
const GROWTH: usize = 16;
/// OxiDD and [`Obdd`] number nodes with 32 bits; two numbers are for the constants.
const MOST_NODES: usize = u32::MAX as usize - 2;

/// Compiles the label over all its inputs, tested in the given order, root first.
///
/// ```
/// use boolshap::diagram::{ApplyOptions, candidate_orders, compile_apply};
/// use boolshap::lit::Watch;
/// use boolshap::model::{Gate, Label, Network, Output};
/// let gate = |weights: &[i128], need| Gate::new(weights.to_vec(), need).unwrap();
/// let hidden = vec![gate(&[1, 1, 0], 2), gate(&[0, 1, -1], 2)];
/// let network = Network::new(3, vec![hidden], Output::Step(gate(&[1, 1], 1)))?;
/// let label = Label::of_class(&network, 1)?;
/// let order = &candidate_orders(&label)[0];
/// let diagram = compile_apply(&label, order, &ApplyOptions::default(), &Watch::unlimited())?;
/// assert!(diagram.evaluate(&[false, true, false]) && !diagram.evaluate(&[false, true, true]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile_apply(
    label: &Label,
    order: &[Var],
    options: &ApplyOptions,
    watch: &Watch<'_>,
) -> Result<Obdd, DiagramError> {
    compile_from(FIRST_CAPACITY, label, order, options, watch)
}

fn compile_from(
    first_capacity: usize,
    label: &Label,
    order: &[Var],
    options: &ApplyOptions,
    watch: &Watch<'_>,
) -> Result<Obdd, DiagramError> {
    check_order(order, label.inputs())?;
    if let Some(value) = label.constant() {
        return Ok(Obdd::from_levels(order.to_vec(), vec![vec![]; order.len()], u32::from(value)));
    }
    let most = options.max_nodes.min(MOST_NODES);
    let mut capacity = first_capacity.min(most);
    let mut reported = 0;
    loop {
        check_room(capacity)?;
        let store = new_manager(capacity, capacity, 1);
        let mut attempt = Attempt {
            label,
            store: &store,
            capacity,
            may_grow: capacity < most,
            alive: 0,
            layer: 0,
            done: 0,
            steps: 0,
            reported,
            watch,
        };
        let halt = match store.workers().install(|| attempt.run(order)) {
            Ok(diagram) => return Ok(diagram),
            Err(halt) => halt,
        };
        let (layer, done) = (attempt.layer, attempt.done);
        let (cause, advice) = match halt {
            Halt::Nodes(_) if attempt.may_grow => {
                reported = attempt.reported;
                capacity = capacity.saturating_mul(GROWTH).min(most);
                continue;
            }
            Halt::Nodes(_) => (
                DiagramError::TooManyNodes { limit: options.max_nodes },
                "try a higher node limit, another order, or fewer inputs",
            ),
            Halt::Stopped(stopped) => (stopped.into(), "try more time, another order, or fewer inputs"),
        };
        let layers = label.layers();
        return Err(DiagramError::CompileGates {
            cause: Box::new(cause),
            layer: layer + 1,
            layers: layers.len(),
            done,
            gates: layers[layer].len(),
            advice,
        });
    }
}

/// Checks that memory for the nodes, their hash tables, the cache and the worker's stack can be reserved: OxiDD does
/// not check. Of this memory only the cache is used at once.
fn check_room(capacity: usize) -> Result<(), DiagramError> {
    let bytes = capacity.saturating_mul(56).saturating_add(1 << 30);
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| DiagramError::NoRoom { nodes: capacity, bytes })
}

/// One attempt, with tables of one capacity.
struct Attempt<'a> {
    label: &'a Label,
    store: &'a Store,
    capacity: usize,
    /// Whether a larger capacity is allowed; if so, the attempt gives up early.
    may_grow: bool,
    /// How many nodes were alive after the last collection.
    alive: usize,
    /// Progress: the current layer, its finished gates, and all finished gates.
    layer: usize,
    done: usize,
    steps: u64,
    /// The largest progress reported so far, earlier attempts included.
    reported: u64,
    watch: &'a Watch<'a>,
}

/// The diagrams of a layer, and the average position of each in the variable order.
struct Layer {
    diagrams: Vec<Option<Diagram>>,
    centres: Vec<f64>,
    /// How many gates have yet to use each diagram.
    uses: Vec<usize>,
}

impl Layer {
    fn new(width: usize, next: &[Gate]) -> Self {
        let mut uses = vec![0; width];
        for gate in next {
            looked_at(gate).for_each(|index| uses[index] += 1);
        }
        Layer { diagrams: vec![None; width], centres: vec![0.0; width], uses }
    }
}

fn looked_at(gate: &Gate) -> impl Iterator<Item = usize> + '_ {
    gate.weights().iter().enumerate().filter(|(_, weight)| **weight != 0).map(|(index, _)| index)
}

impl Attempt<'_> {
    fn run(&mut self, order: &[Var]) -> Result<Obdd, Halt> {
        let layers = self.label.layers();
        let mut below = self.variables(order, &layers[0])?;
        for (layer, gates) in layers.iter().enumerate() {
            (self.layer, self.done) = (layer, 0);
            let mut built = Layer::new(gates.len(), layers.get(layer + 1).map_or(&[], Vec::as_slice));
            for (index, gate) in gates.iter().enumerate() {
                let diagram = self.gate(gate, &below)?;
                let looks_at = looked_at(gate).count().max(1) as f64;
                built.centres[index] = looked_at(gate).map(|input| below.centres[input]).sum::<f64>() / looks_at;
                built.diagrams[index] = Some(diagram);
                for input in looked_at(gate) {
                    below.uses[input] -= 1;
                    if below.uses[input] == 0 {
                        below.diagrams[input] = None;
                    }
                }
                self.done += 1;
                self.step()?;
            }
            below = built;
        }
        let root = self.conjoin(below.diagrams.into_iter().flatten().collect())?;
        Ok(self.store.with_manager_shared(|manager| export(manager, &root, order)))
    }

    /// The variables that gates use; OxiDD's variable `k` is the one on level `k`.
    fn variables(&mut self, order: &[Var], next: &[Gate]) -> Result<Layer, Halt> {
        self.store.with_manager_exclusive(|manager| manager.add_vars(order.len() as u32));
        let mut layer = Layer::new(order.len(), next);
        for (level, var) in order.iter().enumerate() {
            layer.centres[var.index()] = level as f64;
            if layer.uses[var.index()] > 0 {
                let variable = || self.store.with_manager_shared(|manager| Diagram::var(manager, level as u32));
                layer.diagrams[var.index()] = Some(self.or_collect(variable)?);
            }
        }
        Ok(layer)
    }

    fn gate(&mut self, gate: &Gate, below: &Layer) -> Result<Diagram, Halt> {
        let mut inputs: Vec<usize> = looked_at(gate).collect();
        let weight = |input: usize| gate.weights()[input];
        // Inputs near the top of the diagram first; among equals heavy ones first, since they settle more.
        inputs.sort_by(|&a, &b| {
            let first = below.centres[a].total_cmp(&below.centres[b]);
            first.then_with(|| weight(b).unsigned_abs().cmp(&weight(a).unsigned_abs()))
        });
        let weights: Vec<u128> = inputs.iter().map(|&input| weight(input).unsigned_abs()).collect();
        let threshold = Threshold::new(&weights, gate.need(), self.capacity, self.watch)?;
        let mut uses = vec![0u32; threshold.nodes.len() + 2];
        for node in &threshold.nodes {
            uses[node.without as usize] += 1;
            uses[node.with as usize] += 1;
        }
        let constants = self.store.with_manager_shared(|manager| [Diagram::f(manager), Diagram::t(manager)]);
        let mut built: Vec<Option<Diagram>> = constants.into_iter().map(Some).collect();
        for node in &threshold.nodes {
            let input = inputs[node.level];
            let test = below.diagrams[input].as_ref().expect("kept while a gate uses it");
            let (yes, no) = if weight(input) > 0 { (node.with, node.without) } else { (node.without, node.with) };
            let child = |id: u32| built[id as usize].as_ref().expect("kept while a node has it as a child");
            let diagram = self.if_then_else(test, child(yes), child(no))?;
            built.push(Some(diagram));
            for id in [node.with, node.without] {
                uses[id as usize] -= 1;
                if id >= 2 && uses[id as usize] == 0 {
                    built[id as usize] = None;
                }
            }
        }
        Ok(built[threshold.root as usize].take().expect("the root has no parents"))
    }

    /// The conjunction of all gates, the two smallest first; stops at false.
    fn conjoin(&mut self, gates: Vec<Diagram>) -> Result<Diagram, Halt> {
        let falsehood = self.store.with_manager_shared(|manager| Diagram::f(manager));
        let mut diagrams: Vec<Option<Diagram>> = gates.into_iter().map(Some).collect();
        let size = |diagram: &Option<Diagram>| diagram.as_ref().map_or(0, Diagram::node_count);
        let mut queue: BinaryHeap<_> =
            diagrams.iter().enumerate().map(|(index, diagram)| Reverse((size(diagram), index))).collect();
        loop {
            let Reverse((_, one)) = queue.pop().expect("a label that is not constant has a gate");
            let one = diagrams[one].take().expect("queued once");
            let Some(Reverse((_, other))) = queue.pop() else { return Ok(one) };
            if one == falsehood {
                return Ok(one);
            }
            let other = diagrams[other].take().expect("queued once");
            let both = self.if_then_else(&one, &other, &falsehood)?;
            drop((one, other));
            self.collect_if_full()?;
            queue.push(Reverse((both.node_count(), diagrams.len())));
            diagrams.push(Some(both));
        }
    }

    fn if_then_else(&mut self, test: &Diagram, yes: &Diagram, no: &Diagram) -> Result<Diagram, Halt> {
        self.watch.check()?;
        self.or_collect(|| test.ite(yes, no))
    }

    /// Runs the operation; if the tables are full, frees dead nodes and tries once more.
    fn or_collect(&mut self, operation: impl Fn() -> AllocResult<Diagram>) -> Result<Diagram, Halt> {
        if let Ok(diagram) = operation() {
            return Ok(diagram);
        }
        self.collect()?;
        operation().map_err(|_| Halt::Nodes(self.capacity))
    }

    /// Collects dead nodes between gates if half the capacity is in use and the node count has doubled since last time.
    fn collect_if_full(&mut self) -> Result<(), Halt> {
        let nodes = self.store.with_manager_shared(|manager| manager.num_inner_nodes());
        if nodes > self.capacity / 2 && nodes > self.alive.saturating_mul(2) { self.collect() } else { Ok(()) }
    }

    /// Frees dead nodes; fails if little room is left and a larger capacity is allowed.
    fn collect(&mut self) -> Result<(), Halt> {
        self.alive = self.store.with_manager_shared(|manager| {
            // OxiDD may already be collecting in the background and then ignores the request. Once the counter has
            // risen by two, a collection that began after this point has finished.
            let enough = manager.gc_count() + 2;
            while manager.gc_count() < enough {
                if manager.gc() == 0 {
                    std::thread::yield_now();
                }
            }
            manager.num_inner_nodes()
        });
        if self.may_grow && self.alive > self.capacity / 4 { Err(Halt::Nodes(self.capacity)) } else { Ok(()) }
    }

    fn step(&mut self) -> Result<(), Halt> {
        self.collect_if_full()?;
        self.steps += 1;
        if self.steps <= self.reported {
            return Ok(self.watch.check()?);
        }
        self.reported = self.steps;
        Ok(self.watch.step(self.steps, self.label.layers().iter().map(|gates| gates.len() as u64).sum())?)
    }
}

/// Converts OxiDD's diagram level by level. Nodes of a level are numbered in the order of a walk from the root, so
/// equal functions with equal orders give equal diagrams.
fn export<'id>(manager: &<Diagram as Function>::Manager<'id>, root: &Diagram, order: &[Var]) -> Obdd {
    let falsehood = Diagram::f(manager);
    let falsehood = falsehood.as_edge(manager);
    let truth = Diagram::t(manager);
    let truth = truth.as_edge(manager);
    let root = root.as_edge(manager);
    let mut ids: HashMap<_, u32, BuildHasherDefault<FxHasher>> = HashMap::default();
    ids.insert(falsehood, 0);
    ids.insert(truth, 1);
    let mut by_level = vec![Vec::new(); order.len()];
    let mut waiting = vec![root];
    while let Some(edge) = waiting.pop() {
        if ids.contains_key(&edge) {
            continue;
        }
        if let (Node::Inner(node), Some((hi, lo))) = (manager.get_node(edge), Diagram::cofactors_edge(manager, edge)) {
            ids.insert(edge, u32::MAX);
            by_level[order.len() - 1 - node.level() as usize].push((edge, lo, hi));
            waiting.extend([hi, lo]);
        }
    }
    let mut next = 2;
    let mut levels = Vec::with_capacity(order.len());
    for nodes in by_level {
        let mut level = Vec::with_capacity(nodes.len());
        for (edge, lo, hi) in nodes {
            level.push([ids[&lo], ids[&hi]]);
            ids.insert(edge, next);
            next += 1;
        }
        levels.push(level);
    }
    Obdd::from_levels(order.to_vec(), levels, ids[&root])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::candidate_orders;
    use crate::model::random::network_strategy;
    use crate::model::{Network, Output};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn bits(number: usize, width: usize) -> Vec<bool> {
        (0..width).map(|j| number >> j & 1 == 1).collect()
    }

    /// The number of distinct functions that depend on variable `level` of the order, over all values of the variables
    /// before it: the number of nodes of that level, by definition.
    fn nodes_by_definition(label: &Label, order: &[Var], level: usize) -> usize {
        let left = order.len() - level;
        let value = |seen: usize, unseen: usize| {
            let mut entity = vec![false; order.len()];
            for (depth, var) in order.iter().enumerate() {
                entity[var.index()] = bits(seen | unseen << level, order.len())[depth];
            }
            label.evaluate(&entity)
        };
        let functions: HashSet<Vec<bool>> =
            (0..1 << level).map(|seen| (0..1 << left).map(|unseen| value(seen, unseen)).collect()).collect();
        let depends = |function: &&Vec<bool>| function.chunks(2).any(|pair| pair[0] != pair[1]);
        functions.iter().filter(depends).count()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn is_the_reduced_diagram_of_the_label(network in network_strategy(6), first_capacity in 1usize..200) {
            let n = network.inputs();
            for class in 0..network.classes() {
                let label = Label::of_class(&network, class).unwrap();
                for order in candidate_orders(&label) {
                    let options = ApplyOptions::default();
                    let diagram = compile_from(first_capacity, &label, &order, &options, &Watch::unlimited()).unwrap();
                    prop_assert_eq!(diagram.order(), &order);
                    for number in 0..1usize << n {
                        let entity = bits(number, n);
                        prop_assert_eq!(diagram.evaluate(&entity), label.evaluate(&entity));
                    }
                    for (depth, (_, nodes)) in diagram.levels().enumerate() {
                        prop_assert_eq!(nodes.len(), nodes_by_definition(&label, &order, n - 1 - depth));
                    }
                    // Tables that are large from the start give the same diagram.
                    prop_assert_eq!(compile_apply(&label, &order, &options, &Watch::unlimited()).unwrap(), diagram);
                }
            }
        }
    }

    /// Dense gates with weights +-1 in a fixed pattern with a long period.
    fn dense(widths: &[usize]) -> Label {
        let weights = |salt: usize, width: usize| -> Vec<i128> {
            let sign = |j: usize| (salt * 7919 + j * j * 31 + salt * j * 17) / 5 % 2;
            (0..width).map(|j| 2 * sign(j) as i128 - 1).collect()
        };
        let layers = widths.windows(2).map(|pair| {
            (0..pair[1]).map(|gate| Gate::new(weights(gate + 1, pair[0]), pair[0] as i128 / 2).unwrap()).collect()
        });
        let last = *widths.last().unwrap();
        let output = Output::Step(Gate::new(weights(99, last), last as i128 / 2).unwrap());
        Label::of_class(&Network::new(widths[0], layers.collect(), output).unwrap(), 1).unwrap()
    }

    #[test]
    fn limit_errors_report_the_progress() {
        let label = dense(&[12, 9]);
        let order = &candidate_orders(&label)[0];
        let compile = |max_nodes, watch: &Watch<'_>| compile_apply(&label, order, &ApplyOptions { max_nodes }, watch);
        let Err(DiagramError::CompileGates { cause, layer: 2, layers: 2, done: 0, gates: 1, .. }) =
            compile(400, &Watch::unlimited())
        else {
            panic!("400 nodes hold the first layer, but not the second");
        };
        assert_eq!(*cause, DiagramError::TooManyNodes { limit: 400 });
        for max_nodes in [0, 1, 11, 50] {
            let error = compile(max_nodes, &Watch::unlimited()).unwrap_err();
            assert!(matches!(error, DiagramError::CompileGates { layer: 1, .. }), "{max_nodes}: {error}");
        }
        let error = compile(50, &Watch::unlimited()).unwrap_err().to_string();
        assert!(
            error.starts_with("the limit of 50 diagram nodes is reached after 0 of 9 gates of layer 1 of 2"),
            "{error}"
        );

        let stop = AtomicBool::new(true);
        for watch in [Watch::unlimited().timeout(Duration::ZERO), Watch::unlimited().stop_flag(&stop)] {
            let error = compile(1 << 20, &watch).unwrap_err();
            let DiagramError::CompileGates { cause, layer: 1, .. } = error else { panic!("{error}") };
            assert!(matches!(*cause, DiagramError::Stopped(_)));
        }
        assert!(matches!(
            compile_apply(&label, &order[1..], &ApplyOptions::default(), &Watch::unlimited()),
            Err(DiagramError::NotAPermutation { variables: 12, variable: 1 })
        ));
    }

    #[test]
    fn dead_nodes_make_room_for_new_ones() {
        // About 2,500 nodes are made in all and 1,450 are needed at a time.
        let label = dense(&[12, 9]);
        let order = &candidate_orders(&label)[0];
        let compile = |max_nodes| compile_from(64, &label, order, &ApplyOptions { max_nodes }, &Watch::unlimited());
        let full = compile(1 << 20).unwrap();
        let enough = (200..4000).step_by(100).map(|max_nodes| match compile(max_nodes) {
            Ok(diagram) => diagram == full,
            Err(error) => {
                assert!(matches!(error, DiagramError::CompileGates { .. }), "{error}");
                false
            }
        });
        let enough: Vec<bool> = enough.collect();
        let first = enough.iter().position(|&enough| enough).unwrap();
        assert!((5..18).contains(&first) && enough[first..].iter().all(|&enough| enough), "{enough:?}");
    }

    #[test]
    fn no_room_is_an_error() {
        let error = check_room(usize::MAX / 60).unwrap_err();
        assert!(matches!(error, DiagramError::NoRoom { nodes, .. } if nodes == usize::MAX / 60), "{error}");
        assert_eq!(check_room(FIRST_CAPACITY), Ok(()));
    }

    #[test]
    fn progress_is_reported_gate_by_gate_and_never_decreases() {
        let label = dense(&[12, 9]);
        let told = std::sync::Mutex::new(Vec::new());
        let report = |done, total| told.lock().unwrap().push((done, total));
        let watch = Watch::unlimited().progress(&report);
        compile_from(100, &label, &candidate_orders(&label)[0], &ApplyOptions::default(), &watch).unwrap();
        let gates: u64 = label.layers().iter().map(|gates| gates.len() as u64).sum();
        assert_eq!(*told.lock().unwrap(), (1..=gates).map(|done| (done, gates)).collect::<Vec<_>>());
    }
}
