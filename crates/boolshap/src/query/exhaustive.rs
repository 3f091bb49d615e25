//! Compares the circuit with the network on all inputs, 64 at a time.
//!
//! The six variables that the circuit tests last vary inside a word; the others are fixed in it. Nodes that depend only
//! on these six have their words precomputed. Above them, a decision on a fixed variable is a step to one child, and a
//! gate is computed from as many children as needed. For an ordered diagram this is one path for each word. The network
//! is evaluated by [`NetworkEvaluator`], which no compiler uses. Cost: 2^(n-6) times the number of weights of the
//! network and of edges in the circuit's upper part, shared among threads.

use super::QueryError;
use super::verify::{Comparison, Counterexample, in_order};
use crate::circuit::{Circuit, Node, NodeId, VariableSets};
use crate::lit::{LOW_VARIABLES, Meter, Var};
use crate::model::{NetworkEvaluator, Output};
use rayon::prelude::*;

/// The most inputs.
const MAX_INPUTS: usize = 30;
/// The number of words in a thread's task.
const TASK: usize = 1 << 10;
/// The number of steps between two checks of the watch.
const LOOK_AFTER: usize = 1 << 22;

/// An entity on which circuit and network differ, if any exists.
pub(super) fn compare(question: &Comparison<'_>) -> Result<Option<Counterexample>, QueryError> {
    let &Comparison { network, class, circuit, options, watch } = question;
    let inputs = network.inputs();
    if inputs > MAX_INPUTS {
        return Err(QueryError::TooManyInputs { inputs, limit: MAX_INPUTS });
    }
    let order = in_order(circuit);
    let (high, low) = order.split_at(inputs - inputs.min(LOW_VARIABLES.len()));
    let low_words: Vec<(Var, u64)> = low.iter().copied().zip(LOW_VARIABLES).collect();
    let table = LowTable::new(circuit, &low_words);
    let weights = network.hidden().iter().flatten().map(|gate| gate.weights().len()).sum::<usize>();
    let last = match network.output() {
        Output::Step(gate) => gate.weights().len(),
        Output::Argmax(scores) => scores.iter().map(|score| score.weights().len()).sum(),
    };
    let words = 1usize << high.len();
    let each = weights + last + table.above(circuit, low);
    let steps = words as f64 * each as f64;
    if steps > options.max_steps {
        return Err(QueryError::TooManySteps { inputs, steps, limit: options.max_steps });
    }
    let look_after = (LOOK_AFTER / each.max(1)).max(1);
    let tasks = words.div_ceil(TASK);
    let meter = Meter::new(watch, tasks as u64);
    let found = (0..tasks).into_par_iter().map(|task| -> Result<Option<Counterexample>, QueryError> {
        watch.check()?;
        let mut evaluator = NetworkEvaluator::new(network);
        let mut above = Above::new(circuit, &table);
        let mut values = vec![0u64; inputs];
        low.iter().zip(LOW_VARIABLES).for_each(|(var, word)| values[var.index()] = word);
        for word in task * TASK..words.min((task + 1) * TASK) {
            if word % look_after == 0 {
                watch.check()?;
            }
            for (bit, var) in high.iter().enumerate() {
                values[var.index()] = if word >> bit & 1 == 1 { !0 } else { 0 };
            }
            let expected = evaluator.classes(&values)[class];
            let differ = (expected ^ above.word(circuit.root(), &values)) & all_rows(low.len());
            if differ != 0 {
                let lane = differ.trailing_zeros();
                let entity: Vec<bool> = values.iter().map(|word| word >> lane & 1 == 1).collect();
                let network = expected >> lane & 1 == 1;
                return Ok(Some(Counterexample { entity, network, circuit: !network }));
            }
        }
        meter.add(1)?;
        Ok(None)
    });
    // The first in order, regardless of which thread finishes first.
    match found.find_first(|found| !matches!(found, Ok(None))) {
        None => Ok(None),
        Some(found) => found,
    }
}

/// A mask of the rows of a word that this many variables distinguish.
fn all_rows(variables: usize) -> u64 {
    if variables >= LOW_VARIABLES.len() { !0 } else { (1 << (1 << variables)) - 1 }
}

/// The words of the nodes that depend on the low variables only.
pub(super) struct LowTable {
    words: Vec<Option<u64>>,
}

impl LowTable {
    /// Computes the table; `low` gives each low variable with its values in a word.
    pub(super) fn new(circuit: &Circuit, low: &[(Var, u64)]) -> Self {
        let sets = VariableSets::of(circuit);
        let mut mask = vec![0u64; circuit.variables().div_ceil(64).max(1)];
        low.iter().for_each(|(var, _)| mask[var.index() / 64] |= 1 << (var.index() % 64));
        let is_low = |id: NodeId| sets.words(id).iter().zip(&mask).all(|(set, mask)| set & !mask == 0);
        let word_of = |var: Var| low.iter().find(|(other, _)| *other == var).expect("a low variable").1;
        let mut words: Vec<Option<u64>> = vec![None; circuit.stored_nodes()];
        for (id, node) in circuit.nodes().filter(|(id, _)| is_low(*id)) {
            let at = |child: &NodeId| words[child.index()].expect("children come before and mention no more");
            words[id.index()] = Some(match node {
                Node::Constant(value) => {
                    if value {
                        !0
                    } else {
                        0
                    }
                }
                Node::Literal(lit) => word_of(lit.var()) ^ if lit.is_negative() { !0 } else { 0 },
                Node::Decision { var, lo, hi } => word_of(var) & at(&hi) | !word_of(var) & at(&lo),
                Node::And(children) => children.iter().map(at).fold(!0, |all, word| all & word),
                Node::Or(children) => children.iter().map(at).fold(0, |any, word| any | word),
            });
        }
        LowTable { words }
    }

    /// The maximum number of steps that a word takes above the table.
    fn above(&self, circuit: &Circuit, low: &[Var]) -> usize {
        let upper = || circuit.reachable().into_iter().filter(|id| self.words[id.index()].is_none());
        let is_step = |id: NodeId| match circuit.node(id) {
            Node::Decision { var, .. } => !low.contains(&var),
            Node::Literal(_) => true,
            _ => false,
        };
        match upper().all(is_step) {
            true => circuit.variables(),
            false => upper().map(|id| 1 + circuit.node(id).children().count()).sum(),
        }
    }
}

/// Evaluates the nodes above the table, one word at a time.
pub(super) struct Above<'a> {
    circuit: &'a Circuit,
    table: &'a LowTable,
    /// For each node, the turn in which it was computed last, and its word.
    done: Vec<(u32, u64)>,
    turn: u32,
    waiting: Vec<Waiting>,
}

/// A gate in progress: the number of children visited, and their conjunction and disjunction so far.
struct Waiting {
    id: NodeId,
    looked_at: usize,
    all: u64,
    any: u64,
}

impl<'a> Above<'a> {
    pub(super) fn new(circuit: &'a Circuit, table: &'a LowTable) -> Self {
        Above { circuit, table, done: vec![(0, 0); circuit.stored_nodes()], turn: 0, waiting: Vec::new() }
    }

    /// The node that decisions on fixed variables lead to.
    fn settle(&self, mut id: NodeId, values: &[u64]) -> NodeId {
        while let (None, Node::Decision { var, lo, hi }) = (self.table.words[id.index()], self.circuit.node(id)) {
            id = match values[var.index()] {
                0 => lo,
                u64::MAX => hi,
                // A low variable above high ones is computed like a gate.
                _ => return id,
            };
        }
        id
    }

    fn known(&self, id: NodeId, values: &[u64]) -> Option<u64> {
        if let Some(word) = self.table.words[id.index()] {
            return Some(word);
        }
        match self.circuit.node(id) {
            Node::Literal(lit) => Some(values[lit.var().index()] ^ if lit.is_negative() { !0 } else { 0 }),
            _ => Some(self.done[id.index()]).filter(|(turn, _)| *turn == self.turn).map(|(_, word)| word),
        }
    }

    /// The value of a node on 64 inputs, from the values of each variable.
    pub(super) fn word(&mut self, root: NodeId, values: &[u64]) -> u64 {
        self.turn += 1;
        let root = self.settle(root, values);
        if self.known(root, values).is_none() {
            self.waiting.push(Waiting { id: root, looked_at: 0, all: !0, any: 0 });
        }
        while let Some(Waiting { id, mut looked_at, mut all, mut any }) = self.waiting.pop() {
            let (node, branches);
            node = self.circuit.node(id);
            let children: &[NodeId] = match node {
                Node::And(children) | Node::Or(children) => children,
                Node::Decision { lo, hi, .. } => {
                    branches = [lo, hi];
                    &branches
                }
                Node::Constant(_) | Node::Literal(_) => unreachable!("known at once"),
            };
            let mut missing = None;
            while let Some(&child) = children.get(looked_at) {
                let child = self.settle(child, values);
                let Some(word) = self.known(child, values) else {
                    missing = Some(child);
                    break;
                };
                (all, any, looked_at) = (all & word, any | word, looked_at + 1);
                if matches!(node, Node::And(_)) && all == 0 || matches!(node, Node::Or(_)) && any == !0 {
                    break;
                }
            }
            if let Some(child) = missing {
                self.waiting.push(Waiting { id, looked_at, all, any });
                self.waiting.push(Waiting { id: child, looked_at: 0, all: !0, any: 0 });
                continue;
            }
            let at = |child: NodeId| self.known(self.settle(child, values), values).expect("no child is missing");
            let word = match node {
                Node::And(_) => all,
                Node::Or(_) => any,
                Node::Decision { var, lo, hi } => {
                    let x = values[var.index()];
                    x & at(hi) | !x & at(lo)
                }
                Node::Constant(_) | Node::Literal(_) => unreachable!("known at once"),
            };
            self.done[id.index()] = (self.turn, word);
        }
        self.known(root, values).expect("the root is done last")
    }
}
