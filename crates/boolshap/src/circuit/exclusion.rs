//! Proves by structure alone that nodes are never true together.
//!
//! The idea is to walk the product of two diagrams. An or-gate excludes a node if all its children do, a decision if
//! both its branches do, an and-gate if one of its children does. Only the last step is incomplete: the other node may
//! contradict the children together but none of them alone. So an and-gate is split first if a single child shares
//! variables with the other node, which loses nothing, and last if several do. Two nodes of one sentential decision
//! diagram are always decided, because its vtree leaves only and-gates of the first kind; so are nodes of two ordered
//! diagrams with the same order.
//!
//! Two nodes that are both true on one of a few hundred sampled inputs are not examined further, which avoids most
//! fruitless searches. Answers that may be needed again are cached. Cost: the number of pairs met, at most the product
//! of the two sizes, up to a limit. Pairs wait in a vector instead of on the call stack, so that deep circuits cannot
//! overflow it.

use super::check::Below;
use super::{Circuit, Node, NodeId};
use crate::data::Seeded;
use crate::lit::{Lit, Stopped, Watch};
use std::collections::HashMap;

/// Circuits with more nodes than this are sampled on one word of inputs, others on four.
const MAX_SAMPLED: usize = 1 << 22;

/// Decides whether pairs of nodes are never true together.
pub(super) struct Exclusion<'a> {
    circuit: &'a Circuit,
    below: &'a Below,
    /// The values of all nodes on some inputs; every node has the same number of words.
    samples: Vec<u64>,
    words: usize,
    /// The number of edges to each node, capped at 255.
    parents: Vec<u8>,
    known: HashMap<u64, bool>,
    /// How many more words may be inspected.
    looks_left: u64,
}

/// What the answer for a pair depends on.
enum Depends {
    /// On nothing else: this is the answer.
    Known(bool),
    /// In all of these pairs, the nodes must exclude each other.
    All(Vec<(NodeId, NodeId)>),
    /// In at least one of these pairs, the nodes must exclude each other.
    Any(Vec<(NodeId, NodeId)>),
}

/// A pair whose answer depends on other pairs that are still open.
struct Waiting {
    pair: (NodeId, NodeId),
    all: bool,
    left: Vec<(NodeId, NodeId)>,
}

impl<'a> Exclusion<'a> {
    pub(super) fn new(circuit: &'a Circuit, below: &'a Below, looks: u64) -> Self {
        let words = if circuit.stored_nodes() > MAX_SAMPLED { 1 } else { 4 };
        let mut parents = vec![0u8; circuit.stored_nodes()];
        for id in below.reached() {
            for child in circuit.node(id).children() {
                parents[child.index()] = parents[child.index()].saturating_add(1);
            }
        }
        let samples = sampled(circuit, words);
        Exclusion { circuit, below, samples, words, parents, known: HashMap::new(), looks_left: looks }
    }

    /// Whether every two of these nodes exclude each other; false means "not shown".
    pub(super) fn all_exclude(&mut self, nodes: &[NodeId], watch: &Watch<'_>) -> Result<bool, Stopped> {
        for (index, &one) in nodes.iter().enumerate() {
            watch.check()?;
            for &other in &nodes[..index] {
                if !self.exclude(one, other) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn exclude(&mut self, one: NodeId, other: NodeId) -> bool {
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut next = (one, other);
        loop {
            let mut answer = self.answer(next);
            if answer.is_none() {
                match self.looks_left.checked_sub(self.cost(next)) {
                    Some(left) => self.looks_left = left,
                    None => return false,
                }
                match self.depends(next.0, next.1) {
                    Depends::Known(known) => answer = Some(known),
                    Depends::All(left) => waiting.push(Waiting { pair: next, all: true, left }),
                    Depends::Any(left) => waiting.push(Waiting { pair: next, all: false, left }),
                }
            }
            // The first false answer decides `All` and the first true one `Any`; if no pair is left, the result is the
            // opposite.
            next = loop {
                let Some(top) = waiting.last_mut() else { return answer.unwrap_or(false) };
                let decided = answer.take().filter(|&answer| answer != top.all);
                if decided.is_none()
                    && let Some(pair) = top.left.pop()
                {
                    break pair;
                }
                let (pair, decided) = (top.pair, decided.unwrap_or(top.all));
                waiting.pop();
                self.keep(pair, decided);
                answer = Some(decided);
            };
        }
    }

    /// Caches an answer that may be needed again.
    fn keep(&mut self, pair: (NodeId, NodeId), answer: bool) {
        if [pair.0, pair.1].iter().any(|id| self.parents[id.index()] > 1) {
            self.known.insert(key(pair), answer);
        }
    }

    /// The answer for a pair, if it is cached or a sampled input makes both true.
    fn answer(&self, pair: (NodeId, NodeId)) -> Option<bool> {
        let of = |id: NodeId| &self.samples[id.index() * self.words..][..self.words];
        match of(pair.0).iter().zip(of(pair.1)).any(|(one, other)| one & other != 0) {
            true => Some(false),
            false => self.known.get(&key(pair)).copied(),
        }
    }

    /// About how many words a pair inspects: a set of variables for each child.
    fn cost(&self, (one, other): (NodeId, NodeId)) -> u64 {
        let children = |id: NodeId| self.circuit.node(id).children().count();
        ((1 + children(one) + children(other)) * (4 + self.below.set(one).len())) as u64
    }

    fn depends(&self, one: NodeId, other: NodeId) -> Depends {
        let node = |id: NodeId| self.circuit.node(id);
        if [one, other].iter().any(|&id| node(id) == Node::Constant(false)) {
            return Depends::Known(true);
        }
        if one == other || !self.share(one, other) {
            return Depends::Known(false);
        }
        if let (Node::Literal(a), Node::Literal(b)) = (node(one), node(other)) {
            return Depends::Known(a == !b);
        }
        // This loses nothing, since no other child of the gate affects the answer.
        for (gate, other) in [(one, other), (other, one)] {
            if let [only] = self.sharing(gate, other)[..] {
                return Depends::All(vec![(only, other)]);
            }
        }
        let (larger, smaller) =
            if self.below.count(one) < self.below.count(other) { (other, one) } else { (one, other) };
        for (gate, other) in [(larger, smaller), (smaller, larger)] {
            match node(gate) {
                Node::Or(children) => return Depends::All(children.iter().map(|&child| (child, other)).collect()),
                Node::Decision { var, lo, hi } => {
                    if let Node::Decision { var: same, lo: other_lo, hi: other_hi } = node(other)
                        && same == var
                    {
                        return Depends::All(vec![(lo, other_lo), (hi, other_hi)]);
                    }
                    let branches = [(lo, var.positive()), (hi, var.negative())].into_iter();
                    let open = branches.filter(|&(_, lit)| !self.requires(other, lit));
                    return Depends::All(open.map(|(branch, _)| (branch, other)).collect());
                }
                _ => {}
            }
        }
        let parts =
            |gate: NodeId, other: NodeId| self.sharing(gate, other).into_iter().map(move |child| (child, other));
        Depends::Any(parts(one, other).chain(parts(other, one)).collect())
    }

    /// The children of an and-gate that share variables with the other node, or are false.
    fn sharing(&self, gate: NodeId, other: NodeId) -> Vec<NodeId> {
        let Node::And(children) = self.circuit.node(gate) else { return Vec::new() };
        let is_false = |id: NodeId| self.circuit.node(id) == Node::Constant(false);
        children.iter().copied().filter(|&child| self.share(child, other) || is_false(child)).collect()
    }

    /// Whether both mention a common variable.
    fn share(&self, one: NodeId, other: NodeId) -> bool {
        self.below.set(one).iter().zip(self.below.set(other)).any(|(a, b)| a & b != 0)
    }

    /// Whether the node obviously implies the literal: it is the literal, or an and-gate with that child.
    fn requires(&self, node: NodeId, lit: Lit) -> bool {
        match self.circuit.node(node) {
            Node::Literal(own) => own == lit,
            Node::And(children) => children.iter().any(|&child| self.circuit.node(child) == Node::Literal(lit)),
            _ => false,
        }
    }
}

/// The values of all nodes on random inputs, 64 to a word: in the first two words half of the input values are 1, in
/// the third a quarter, in the fourth three quarters.
fn sampled(circuit: &Circuit, words: usize) -> Vec<u64> {
    let mut chance = Seeded::new(0, 0);
    let mut input = || {
        let [a, b, c, d] = [(); 4].map(|()| chance.word());
        [a, b, c & d, c | d]
    };
    let inputs: Vec<[u64; 4]> = (0..circuit.variables()).map(|_| input()).collect();
    let mut values: Vec<u64> = Vec::with_capacity(circuit.stored_nodes() * words);
    for (_, node) in circuit.nodes() {
        for word in 0..words {
            let value = |id: &NodeId| values[id.index() * words + word];
            let here = match node {
                Node::Constant(truth) => u64::from(truth).wrapping_neg(),
                Node::Literal(lit) => inputs[lit.var().index()][word] ^ u64::from(lit.is_negative()).wrapping_neg(),
                Node::Decision { var, lo, hi } => {
                    let chosen = inputs[var.index()][word];
                    chosen & value(&hi) | !chosen & value(&lo)
                }
                Node::And(children) => children.iter().map(value).fold(!0, |all, value| all & value),
                Node::Or(children) => children.iter().map(value).fold(0, |any, value| any | value),
            };
            values.push(here);
        }
    }
    values
}

/// One number for a pair, whatever its order.
fn key((one, other): (NodeId, NodeId)) -> u64 {
    (one.min(other).index() as u64) << 32 | one.max(other).index() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::check::{Determinism, Effort, determinism};
    use crate::circuit::samples::{random_circuit, table_bit, together};
    use crate::circuit::{Lowering, fan_in_two, lower_sdd, paper_form, smooth};
    use crate::diagram::{CompileOptions, compile_clauses};
    use crate::lit::Var;
    use proptest::prelude::*;

    /// The structure shows every or-gate of an SDD to be deterministic, in all four forms of the circuit.
    #[test]
    fn structure_decides_sentential_diagrams() {
        let mut dice = Seeded::new(7, 1);
        let mut gates = 0;
        for _ in 0..40 {
            let clause = |dice: &mut Seeded| -> Vec<Lit> {
                (0..3).map(|_| Var::new(dice.below(12)).literal(dice.below(2) == 1)).collect()
            };
            let clauses: Vec<Vec<Lit>> = (0..24).map(|_| clause(&mut dice)).collect();
            let options = CompileOptions::default();
            let slices = clauses.iter().map(Vec::as_slice);
            let compiled = compile_clauses(12, slices, &options, &Watch::unlimited()).unwrap();
            for lowering in [Lowering::Gates, Lowering::Decisions] {
                let plain = lower_sdd(&compiled.manager, compiled.root, lowering).unwrap();
                for circuit in [fan_in_two(&plain), smooth(&plain), paper_form(&plain), Ok(plain)] {
                    let none = Effort { max_variables: 0, max_steps: 0 };
                    let circuit = circuit.unwrap();
                    assert_eq!(determinism(&circuit, none, &Watch::unlimited()), Ok(Determinism::Holds));
                    gates += circuit.nodes().filter(|(_, node)| matches!(node, Node::Or(_))).count();
                }
            }
        }
        assert!(gates > 1000, "{gates}");
    }

    proptest! {
        /// Whatever the structure shows is true; whatever it cannot show is left open.
        #[test]
        fn structure_never_errs(
            (one, one_table) in random_circuit(6), (other, other_table) in random_circuit(6)
        ) {
            let variables = one.variables().max(other.variables());
            let (circuit, roots) = together(variables, [&one, &other]);
            let below = Below::of(&circuit, &roots);
            let mut pairs = Exclusion::new(&circuit, &below, u64::MAX);
            let sampled = pairs.all_exclude(&roots, &Watch::unlimited()).unwrap();
            // With this few variables, samples find every overlap; without samples, the structure decides alone.
            pairs = Exclusion::new(&circuit, &below, u64::MAX);
            pairs.samples.fill(0);
            let shown = pairs.all_exclude(&roots, &Watch::unlimited()).unwrap();
            prop_assert_eq!(sampled, shown);
            let label = |table: &[u64], part: &Circuit, index: usize| {
                table_bit(table, index & ((1 << part.variables()) - 1))
            };
            let overlap = (0..1usize << variables)
                .any(|index| label(&one_table, &one, index) && label(&other_table, &other, index));
            prop_assert!(!(shown && overlap));
        }
    }
}
