//! Determinism: no two children of an or-gate are ever true together.
//!
//! The problem is coNP-complete in general (two circuits may overlap in one hidden assignment). The check has four
//! steps: a decision node is deterministic by construction; children of an or-gate that imply contradicting literals
//! exclude each other, and so do those whose [structure](super::exclusion) shows it; the remaining gates are evaluated on
//! all assignments to their own variables, 64 at a time, if these are few. Everything else is reported as undecided, never
//! guessed. Like all of [`check`](super::check), this shares no code with the builders.

use super::check::{Below, Violation};
use super::exclusion::Exclusion;
use super::{Circuit, Node, NodeId};
use crate::lit::{Stopped, Var, Watch};
use std::collections::{HashMap, HashSet};

/// The most nodes and literals to inspect, a few seconds' work: without a limit, chains of gates and gates with many
/// children would take quadratic time.
const MAX_LOOKS: u64 = 1 << 26;
/// The most words to inspect for pairs of nodes: at most a second's work and 100 MB.
const MAX_PAIR_LOOKS: u64 = 1 << 27;

/// Limits of a [determinism](determinism) check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// The most variables of an or-gate that is evaluated on all assignments.
    pub max_variables: usize,
    /// The total number of node evaluations, each for 64 assignments.
    pub max_steps: u64,
}

impl Default for Effort {
    /// 20 variables, and about ten seconds.
    fn default() -> Self {
        Effort { max_variables: 20, max_steps: 1 << 32 }
    }
}

impl Effort {
    /// The effort for every file that is read: a fraction of a second.
    pub const READING: Effort = Effort { max_variables: 20, max_steps: 1 << 27 };
}

/// The outcome of a [determinism] check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Determinism {
    /// Every or-gate is deterministic.
    Holds,
    /// This or-gate is not deterministic.
    Fails(Violation),
    /// No violation was found, but these or-gates exceed the allowed effort; there is at least one.
    Undecided(Vec<NodeId>),
}

impl Determinism {
    /// True, false, or `None` if undecided.
    pub fn verdict(&self) -> Option<bool> {
        match self {
            Determinism::Holds => Some(true),
            Determinism::Fails(_) => Some(false),
            Determinism::Undecided(_) => None,
        }
    }
}

/// Checks that no two children of an or-gate are ever true together; undecided if that would exceed `effort`.
pub fn determinism(circuit: &Circuit, effort: Effort, watch: &Watch<'_>) -> Result<Determinism, Stopped> {
    deterministic(circuit, &Below::of(circuit, &[circuit.root()]), effort, watch)
}

pub(super) fn deterministic(
    circuit: &Circuit,
    below: &Below,
    effort: Effort,
    watch: &Watch<'_>,
) -> Result<Determinism, Stopped> {
    let mut steps_left = effort.max_steps;
    let mut undecided: Vec<NodeId> = Vec::new();
    // Gates over the same variables are evaluated together.
    let mut groups: HashMap<&[u64], Vec<NodeId>> = HashMap::new();
    for node in open_gates(circuit, below, watch)? {
        match below.count(node) <= effort.max_variables {
            true => groups.entry(below.set(node)).or_default().push(node),
            false => undecided.push(node),
        }
    }
    let mut groups: Vec<(&[u64], Vec<NodeId>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, gates)| gates[0]);
    for (set, gates) in groups {
        if steps_left == 0 {
            undecided.extend(gates);
            continue;
        }
        let variables = members(set);
        let order = nodes_below(circuit, &gates);
        let words = 1u64 << variables.len().saturating_sub(6);
        let steps = order.iter().map(|&id| 1 + circuit.node(id).children().count() as u64).sum::<u64>();
        match steps_left.checked_sub(words.saturating_mul(steps)) {
            Some(left) => steps_left = left,
            None => {
                // Listing the nodes below these gates takes time as well.
                steps_left = steps_left.saturating_sub(order.len() as u64);
                undecided.extend(gates);
                continue;
            }
        }
        if let Some(violation) = find_overlap(circuit, &variables, &gates, &order, words, watch)? {
            return Ok(Determinism::Fails(violation));
        }
    }
    undecided.sort_unstable();
    Ok(if undecided.is_empty() { Determinism::Holds } else { Determinism::Undecided(undecided) })
}

/// The or-gates that neither literals nor structure show to be deterministic.
fn open_gates(circuit: &Circuit, below: &Below, watch: &Watch<'_>) -> Result<Vec<NodeId>, Stopped> {
    let mut looks_left = MAX_LOOKS;
    let mut pairs = Exclusion::new(circuit, below, MAX_PAIR_LOOKS);
    let mut open = Vec::new();
    for node in below.reached() {
        let Node::Or(children) = circuit.node(node) else { continue };
        if children.len() < 2 {
            continue;
        }
        watch.check()?;
        if !exclude_each_other(circuit, children, &mut looks_left, watch)? && !pairs.all_exclude(children, watch)? {
            open.push(node);
        }
    }
    Ok(open)
}

/// Whether any two of these nodes imply contradicting literals; false if `looks_left` runs out.
fn exclude_each_other(
    circuit: &Circuit,
    nodes: &[NodeId],
    looks_left: &mut u64,
    watch: &Watch<'_>,
) -> Result<bool, Stopped> {
    let implied: Vec<HashSet<usize>> = nodes.iter().map(|&node| implied_literals(circuit, node, looks_left)).collect();
    for (one, own) in implied.iter().enumerate() {
        watch.check()?;
        let mut looks = 0;
        let mut excludes = |other: &HashSet<usize>| {
            let (few, many) = if other.len() < own.len() { (other, own) } else { (own, other) };
            few.iter().any(|code| {
                looks += 1;
                many.contains(&(code ^ 1))
            })
        };
        let all = implied[..one].iter().all(&mut excludes);
        *looks_left = looks_left.saturating_sub(looks);
        if !all || *looks_left == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Codes of literals that hold whenever the node does: those reached through and-gates.
fn implied_literals(circuit: &Circuit, node: NodeId, looks_left: &mut u64) -> HashSet<usize> {
    let (mut stack, mut seen, mut literals) = (vec![node], HashSet::new(), HashSet::new());
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        // Nodes that are not inspected imply nothing.
        match looks_left.checked_sub(1) {
            Some(left) => *looks_left = left,
            None => break,
        }
        match circuit.node(id) {
            Node::Literal(lit) => {
                literals.insert(lit.code());
            }
            Node::And(children) => stack.extend(children),
            Node::Or(&[only]) => stack.push(only),
            Node::Decision { var, lo, hi } => {
                for (dead, alive, value) in [(lo, hi, true), (hi, lo, false)] {
                    if circuit.node(dead) == Node::Constant(false) {
                        literals.insert(var.literal(value).code());
                        stack.push(alive);
                    }
                }
            }
            _ => {}
        }
    }
    literals
}

/// The nodes below and including the gates, children before parents.
pub fn nodes_below(circuit: &Circuit, gates: &[NodeId]) -> Vec<NodeId> {
    let (mut stack, mut seen) = (gates.to_vec(), HashSet::new());
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            match circuit.node(id) {
                Node::And(children) | Node::Or(children) => stack.extend(children),
                Node::Decision { lo, hi, .. } => stack.extend([lo, hi]),
                _ => {}
            }
        }
    }
    let mut order: Vec<NodeId> = seen.into_iter().collect();
    order.sort_unstable();
    order
}

/// Evaluates the gates on all assignments to `variables`, which must be all that they mention.
fn find_overlap(
    circuit: &Circuit,
    variables: &[Var],
    gates: &[NodeId],
    order: &[NodeId],
    words: u64,
    watch: &Watch<'_>,
) -> Result<Option<Violation>, Stopped> {
    let mut value = vec![0u64; order.last().map_or(0, |id| id.index() + 1)];
    let mut input = vec![0u64; circuit.variables()];
    let used = if variables.len() < 6 { (1u64 << (1 << variables.len())) - 1 } else { !0 };
    for word in 0..words {
        watch.check()?;
        for (place, var) in variables.iter().enumerate() {
            // Bit k of the word is assignment 64 * word + k: the first six variables are the bits of k.
            input[var.index()] = match place {
                0..6 => (0..64u64).fold(0, |bits, k| bits | (k >> place & 1) << k),
                _ => (word >> (place - 6) & 1).wrapping_neg(),
            };
        }
        for &id in order {
            value[id.index()] = match circuit.node(id) {
                Node::Constant(truth) => u64::from(truth).wrapping_neg(),
                Node::Literal(lit) if lit.is_negative() => !input[lit.var().index()],
                Node::Literal(lit) => input[lit.var().index()],
                Node::Decision { var, lo, hi } => {
                    input[var.index()] & value[hi.index()] | !input[var.index()] & value[lo.index()]
                }
                Node::And(children) => children.iter().fold(!0, |all, child| all & value[child.index()]),
                Node::Or(children) => children.iter().fold(0, |any, child| any | value[child.index()]),
            };
        }
        for &node in gates {
            let Node::Or(children) = circuit.node(node) else { continue };
            let mut before = 0;
            for (index, one) in children.iter().enumerate() {
                let both = before & value[one.index()] & used;
                before |= value[one.index()];
                if both == 0 {
                    continue;
                }
                let lane = both.trailing_zeros();
                let other = children[..index].iter().find(|other| value[other.index()] >> lane & 1 == 1);
                let other = *other.expect("an earlier child is true there");
                let number = word * 64 + u64::from(lane);
                let mut witness = vec![false; circuit.variables()];
                for (place, var) in variables.iter().enumerate() {
                    witness[var.index()] = number >> place & 1 == 1;
                }
                return Ok(Some(Violation::Overlap { node, children: (other, *one), witness }));
            }
        }
    }
    Ok(None)
}

fn members(set: &[u64]) -> Vec<Var> {
    (0..set.len() * 64).filter(|&v| set[v / 64] >> (v % 64) & 1 == 1).map(Var::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::circuit::samples::{random_circuit, together};
    use proptest::prelude::*;

    fn decide(circuit: &Circuit, effort: Effort) -> Determinism {
        determinism(circuit, effort, &Watch::unlimited()).unwrap()
    }

    proptest! {
        #[test]
        fn sound_circuits_pass((circuit, _) in random_circuit(8)) {
            prop_assert_eq!(decide(&circuit, Effort::default()), Determinism::Holds);
        }

        /// An or-gate over two independent circuits overlaps exactly when both can be true.
        #[test]
        fn overlaps_are_found_with_a_witness(
            (one, one_table) in random_circuit(8), (other, other_table) in random_circuit(8)
        ) {
            let variables = one.variables().max(other.variables());
            let (circuit, roots) = together(variables, [&one, &other]);
            let root = circuit.root();
            let label = |table: &[u64], part: &Circuit, index: usize| {
                crate::circuit::samples::table_bit(table, index & ((1 << part.variables()) - 1))
            };
            let overlap = (0..1usize << variables)
                .any(|index| label(&one_table, &one, index) && label(&other_table, &other, index));
            match decide(&circuit, Effort::default()) {
                Determinism::Holds => prop_assert!(!overlap),
                Determinism::Fails(Violation::Overlap { node, children, witness }) => {
                    prop_assert_eq!((node, children), (root, (roots[0], roots[1])));
                    prop_assert!(one.evaluate(&witness[..one.variables()]).unwrap());
                    prop_assert!(other.evaluate(&witness[..other.variables()]).unwrap());
                }
                outcome => prop_assert!(false, "{:?}", outcome),
            }
        }
    }

    #[test]
    fn too_large_gates_are_undecided() {
        let mut builder = CircuitBuilder::new(4).unwrap();
        let [x, y, z, w] = [0, 1, 2, 3].map(|v| builder.literal(Var::new(v).positive()).unwrap());
        let [not_y, not_z, not_w] = [1, 2, 3].map(|v| builder.literal(Var::new(v).negative()).unwrap());
        // (x and y) or (x and not y): literals decide it. (x xor y) or (x and y): the structure does.
        let [both, one] = [[x, y], [x, not_y]].map(|pair| builder.and(&pair).unwrap());
        let easy = builder.or(&[both, one]).unwrap();
        let differ = builder.decision(Var::new(0), y, not_y).unwrap();
        let structured = builder.or(&[differ, both]).unwrap();
        // (x differs from y and z from w) or (x differs from z, and y equals w): a contradiction that no single part
        // shows.
        let rest = builder.decision(Var::new(2), w, not_w).unwrap();
        let [across, same] =
            [(0, z, not_z), (1, not_w, w)].map(|(v, lo, hi)| builder.decision(Var::new(v), lo, hi).unwrap());
        let [first, second] = [[differ, rest], [across, same]].map(|pair| builder.and(&pair).unwrap());
        let hard = builder.or(&[first, second]).unwrap();
        let none = Effort { max_variables: 0, max_steps: u64::MAX };
        let no_steps = Effort { max_variables: 20, max_steps: 0 };
        let with = |root| builder.clone().finish(root).unwrap();
        for effort in [none, no_steps] {
            assert_eq!(decide(&with(easy), effort), Determinism::Holds);
            assert_eq!(decide(&with(structured), effort), Determinism::Holds);
            assert_eq!(decide(&with(hard), effort), Determinism::Undecided(vec![hard]));
            assert_eq!(decide(&with(hard), effort).verdict(), None);
        }
        assert_eq!(decide(&with(hard), Effort::default()), Determinism::Holds);
    }

    #[test]
    fn a_shared_literal_is_not_a_contradiction() {
        // (x and y) or (x and z) overlaps where all three hold; (x and y) or (not x and y) nowhere.
        let mut builder = CircuitBuilder::new(3).unwrap();
        let [x, y, z] = [0, 1, 2].map(|v| builder.literal(Var::new(v).positive()).unwrap());
        let not_x = builder.literal(Var::new(0).negative()).unwrap();
        let [xy, xz, not_xy] = [[x, y], [x, z], [not_x, y]].map(|pair| builder.and(&pair).unwrap());
        let overlapping = builder.or(&[xy, xz]).unwrap();
        let exclusive = builder.or(&[xy, not_xy]).unwrap();
        let with = |root| builder.clone().finish(root).unwrap();
        let witness = vec![true; 3];
        let violation = Violation::Overlap { node: overlapping, children: (xy, xz), witness };
        assert_eq!(decide(&with(overlapping), Effort::default()), Determinism::Fails(violation));
        let literals_only = Effort { max_variables: 0, max_steps: 0 };
        assert_eq!(decide(&with(exclusive), literals_only), Determinism::Holds);
    }

    #[test]
    fn children_that_are_not_neighbours_are_compared() {
        let mut builder = CircuitBuilder::new(3).unwrap();
        let [x, y, z] = [0, 1, 2].map(|v| builder.literal(Var::new(v).positive()).unwrap());
        let not_x = builder.literal(Var::new(0).negative()).unwrap();
        let [first, last] = [[x, y], [x, z]].map(|pair| builder.and(&pair).unwrap());
        let root = builder.or(&[first, not_x, last]).unwrap();
        let circuit = builder.finish(root).unwrap();
        let violation = Violation::Overlap { node: root, children: (first, last), witness: vec![true; 3] };
        assert_eq!(decide(&circuit, Effort::default()), Determinism::Fails(violation));
        let none = Effort { max_variables: 0, max_steps: 0 };
        assert_eq!(decide(&circuit, none), Determinism::Undecided(vec![root]));
        // Takes two nodes and one literal, and one look must be left; uninspected nodes prove nothing.
        for (mut looks, proved) in [(2, false), (3, false), (4, true)] {
            assert_eq!(exclude_each_other(&circuit, &[x, not_x], &mut looks, &Watch::unlimited()), Ok(proved));
        }
    }

    #[test]
    fn an_overlap_names_the_gate_and_the_children() {
        let mut builder = CircuitBuilder::new(70).unwrap();
        let x = builder.literal(Var::new(68).positive()).unwrap();
        let y = builder.literal(Var::new(3).positive()).unwrap();
        let root = builder.or(&[x, y]).unwrap();
        let circuit = builder.finish(root).unwrap();
        let Determinism::Fails(violation) = decide(&circuit, Effort::default()) else { panic!("not found") };
        let expected = "or-gate 2 is not deterministic: its children 0 and 1 are true together";
        assert_eq!(violation.to_string(), expected);
        let Violation::Overlap { witness, .. } = violation else { panic!("something else: {violation}") };
        assert!((0..70).all(|v| witness[v] == (v == 3 || v == 68)));
    }
}
