//! Compiles networks to ordered diagrams gate by gate.
//!
//! *Idea.* A gate of any layer is a threshold over its inputs, whose diagrams are already built: in the first layer
//! they are the variables, later the gates of the layer before. The gate's own small diagram over its inputs
//! ([`Threshold`]) is processed bottom-up with one if-then-else per node. If the inputs are variables in their order,
//! each node takes constant time; if they are gates, this is Bryant's apply. The gates of the last layer are conjoined,
//! smallest first.
//!
//! *When to use it.* The cost depends on the size of the gates' diagrams, not on the number of inputs. It suits sparse
//! and convolutional networks, many layers, and single wide gates. A gate's inputs are taken in the variable order, so
//! that a partial result spans only the levels from its current input down.
//!
//! *Memory.* A diagram is dropped after the last gate that uses it: each operation passes the diagrams still needed to
//! [`BddStore`], and those no longer needed are replaced by false. The store starts small and grows; if it is full at
//! its limit, the error is [`DiagramError::TooManyNodes`].

use super::bdd::{Bdd, BddStore, MOST_NODES};
use super::error::{DiagramError, Halt};
use super::obdd::Obdd;
use super::order::check_order;
use super::threshold::Threshold;
use crate::lit::{Var, Watch};
use crate::model::{Gate, Label};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Options of [`compile_apply`].
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// The most nodes to hold, dead ones included; compilation fails if it needs more. A node takes 36 to 56 bytes.
    pub max_nodes: usize,
}

impl Default for ApplyOptions {
    /// Sixteen million nodes, 0.6 GiB.
    fn default() -> Self {
        ApplyOptions { max_nodes: 1 << 24 }
    }
}

/// The initial capacity in nodes.
const FIRST_ROOM: usize = 1 << 12;

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
    compile_from(FIRST_ROOM, label, order, options, watch)
}

fn compile_from(
    first_room: usize,
    label: &Label,
    order: &[Var],
    options: &ApplyOptions,
    watch: &Watch<'_>,
) -> Result<Obdd, DiagramError> {
    check_order(order, label.inputs())?;
    if let Some(value) = label.constant() {
        return Ok(Obdd::from_levels(order.to_vec(), vec![vec![]; order.len()], u32::from(value)));
    }
    let limit = options.max_nodes.min(MOST_NODES);
    let store = BddStore::new(first_room, limit);
    let mut work = Work { layers: label.layers(), store, limit, layer: 0, done: 0, steps: 0, watch };
    match work.run(order) {
        Ok(root) => Ok(work.store.into_obdd(root, order.to_vec())),
        Err(halt) => Err(work.error(halt)),
    }
}

/// The compilation of one label, and its progress.
struct Work<'a> {
    layers: &'a [Vec<Gate>],
    store: BddStore,
    limit: usize,
    /// The current layer, and how many of its gates are done.
    layer: usize,
    done: usize,
    /// How many nodes of gates' threshold diagrams have been processed; the total is not known in advance.
    steps: u64,
    watch: &'a Watch<'a>,
}

/// The outputs of a layer: their diagrams, and the mean position of each in the variable order.
struct Layer {
    /// False before a diagram is built and once it is no longer needed.
    diagrams: Vec<Bdd>,
    centres: Vec<f64>,
    /// For each output, how many gates have yet to use it.
    uses: Vec<usize>,
}

impl Layer {
    fn new(width: usize, next: &[Gate]) -> Self {
        let mut uses = vec![0; width];
        for gate in next {
            looked_at(gate).for_each(|index| uses[index] += 1);
        }
        Layer { diagrams: vec![Bdd::FALSE; width], centres: vec![0.0; width], uses }
    }
}

fn looked_at(gate: &Gate) -> impl Iterator<Item = usize> + '_ {
    gate.weights().iter().enumerate().filter(|(_, weight)| **weight != 0).map(|(index, _)| index)
}

impl Work<'_> {
    fn run(&mut self, order: &[Var]) -> Result<Bdd, Halt> {
        let layers = self.layers;
        let mut below = self.variables(order)?;
        for (layer, gates) in layers.iter().enumerate() {
            (self.layer, self.done) = (layer, 0);
            let mut built = Layer::new(gates.len(), layers.get(layer + 1).map_or(&[], Vec::as_slice));
            for (index, gate) in gates.iter().enumerate() {
                built.diagrams[index] = self.gate(gate, &below, &built.diagrams)?;
                let looks_at = looked_at(gate).count().max(1) as f64;
                built.centres[index] = looked_at(gate).map(|input| below.centres[input]).sum::<f64>() / looks_at;
                for input in looked_at(gate) {
                    below.uses[input] -= 1;
                    if below.uses[input] == 0 {
                        below.diagrams[input] = Bdd::FALSE;
                    }
                }
                self.done += 1;
            }
            below = built;
        }
        self.conjoin(below.diagrams)
    }

    /// The diagrams of the variables that some gate uses.
    fn variables(&mut self, order: &[Var]) -> Result<Layer, Halt> {
        let mut layer = Layer::new(order.len(), &self.layers[0]);
        for (level, var) in order.iter().enumerate() {
            layer.centres[var.index()] = level as f64;
            if layer.uses[var.index()] > 0 {
                layer.diagrams[var.index()] = self.store.variable(level as u32, &[&layer.diagrams])?;
            }
        }
        Ok(layer)
    }

    fn gate(&mut self, gate: &Gate, below: &Layer, beside: &[Bdd]) -> Result<Bdd, Halt> {
        let mut inputs: Vec<usize> = looked_at(gate).collect();
        let weight = |input: usize| gate.weights()[input];
        // Inputs near the top of the variable order come first; among equals, heavier ones, which decide more.
        inputs.sort_by(|&a, &b| {
            let first = below.centres[a].total_cmp(&below.centres[b]);
            first.then_with(|| weight(b).unsigned_abs().cmp(&weight(a).unsigned_abs()))
        });
        let weights: Vec<u128> = inputs.iter().map(|&input| weight(input).unsigned_abs()).collect();
        let threshold = Threshold::new(&weights, gate.need(), self.limit, self.watch)?;
        let mut uses = vec![0u32; threshold.nodes.len() + 2];
        for node in &threshold.nodes {
            uses[node.without as usize] += 1;
            uses[node.with as usize] += 1;
        }
        let mut built = vec![Bdd::FALSE, Bdd::TRUE];
        for node in &threshold.nodes {
            let input = inputs[node.level];
            let (yes, no) = if weight(input) > 0 { (node.with, node.without) } else { (node.without, node.with) };
            let (test, yes, no) = (below.diagrams[input], built[yes as usize], built[no as usize]);
            let needed = [&below.diagrams, beside, &built];
            self.watch.count(self.steps, "steps")?;
            self.steps += 1;
            let diagram = self.store.if_then_else(test, yes, no, &needed, self.watch)?;
            built.push(diagram);
            for id in [node.with, node.without] {
                uses[id as usize] -= 1;
                if id >= 2 && uses[id as usize] == 0 {
                    built[id as usize] = Bdd::FALSE;
                }
            }
        }
        Ok(built[threshold.root as usize])
    }

    /// The conjunction of all diagrams, the two smallest first; stops as soon as one is false.
    fn conjoin(&mut self, mut diagrams: Vec<Bdd>) -> Result<Bdd, Halt> {
        let sizes = diagrams.iter().map(|&diagram| self.store.size(diagram));
        let mut queue: BinaryHeap<_> = sizes.enumerate().map(|(index, size)| Reverse((size, index))).collect();
        loop {
            let Reverse((_, one)) = queue.pop().expect("a label that is not constant has a gate");
            let Some(Reverse((_, other))) = queue.pop() else { return Ok(diagrams[one]) };
            if diagrams[one] == Bdd::FALSE {
                return Ok(Bdd::FALSE);
            }
            let [one, other] = [one, other].map(|index| std::mem::replace(&mut diagrams[index], Bdd::FALSE));
            let both = self.store.if_then_else(one, other, Bdd::FALSE, &[&diagrams], self.watch)?;
            queue.push(Reverse((self.store.size(both), diagrams.len())));
            diagrams.push(both);
        }
    }

    fn error(&self, halt: Halt) -> DiagramError {
        let (cause, advice) = match halt {
            // The store lowers its limit when the system refuses it more memory.
            Halt::Nodes(nodes) if nodes < self.limit => {
                let nodes = nodes.saturating_mul(2);
                (DiagramError::NoRoom { nodes, bytes: nodes.saturating_mul(36) }, "try another order, or fewer inputs")
            }
            Halt::Nodes(limit) => {
                (DiagramError::TooManyNodes { limit }, "try a higher node limit, another order, or fewer inputs")
            }
            Halt::Stopped(stopped) => (stopped.into(), "try more time, another order, or fewer inputs"),
        };
        DiagramError::CompileGates {
            cause: Box::new(cause),
            layer: self.layer + 1,
            layers: self.layers.len(),
            done: self.done,
            gates: self.layers[self.layer].len(),
            advice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::candidate_orders;
    use crate::lit::Progress;
    use crate::model::random::network_strategy;
    use crate::model::{Network, Output};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn bits(number: usize, width: usize) -> Vec<bool> {
        (0..width).map(|j| number >> j & 1 == 1).collect()
    }

    /// Counts the nodes of a level by definition: the distinct functions that remain after fixing the first `level`
    /// variables of the order in every way and depend on the next variable.
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
        fn it_is_the_reduced_diagram_of_the_label(network in network_strategy(6), first_room in 1usize..200) {
            let n = network.inputs();
            for class in 0..network.classes() {
                let label = Label::of_class(&network, class).unwrap();
                for order in candidate_orders(&label) {
                    let options = ApplyOptions::default();
                    let diagram = compile_from(first_room, &label, &order, &options, &Watch::unlimited()).unwrap();
                    prop_assert_eq!(diagram.order(), &order);
                    for number in 0..1usize << n {
                        let entity = bits(number, n);
                        prop_assert_eq!(diagram.evaluate(&entity), label.evaluate(&entity));
                    }
                    for (depth, (_, nodes)) in diagram.levels().enumerate() {
                        prop_assert_eq!(nodes.len(), nodes_by_definition(&label, &order, n - 1 - depth));
                    }
                    // A larger initial capacity gives the same diagram.
                    prop_assert_eq!(compile_apply(&label, &order, &options, &Watch::unlimited()).unwrap(), diagram);
                }
            }
        }
    }

    /// Gates over all inputs with weights +-1 in a fixed pattern with a long period.
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
    fn limits_tell_how_far_it_got() {
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
    fn progress_counts_steps_and_promises_no_end() {
        let label = dense(&[12, 9]);
        let seen = std::sync::Mutex::new(Vec::new());
        let report = |progress: Progress| seen.lock().unwrap().push((progress.done as usize, progress.total));
        let watch = Watch::unlimited().progress(&report);
        compile_from(100, &label, &candidate_orders(&label)[0], &ApplyOptions::default(), &watch).unwrap();
        let seen = seen.into_inner().unwrap();
        let gates: usize = label.layers().iter().map(Vec::len).sum();
        assert!(seen.len() > gates && seen.iter().copied().eq((0..seen.len()).map(|done| (done, None))), "{seen:?}");
    }
}
