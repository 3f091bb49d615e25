//! Circuits for tests: from a given truth table, and random ones of every shape that a compiler may produce.

use super::{Circuit, CircuitBuilder, Node, NodeId};
use crate::lit::Var;
use proptest::prelude::*;

/// The assignment with this number: variable `v` is bit `v`.
pub(crate) fn assignment(variables: usize, index: usize) -> Vec<bool> {
    (0..variables).map(|v| index >> v & 1 == 1).collect()
}

/// The value of a truth table for the assignment with this number.
pub(crate) fn table_bit(table: &[u64], index: usize) -> bool {
    table[index / 64] >> (index % 64) & 1 == 1
}

/// The reduced decision diagram of a truth table, with the last variable at the top.
pub(crate) fn from_table(variables: usize, table: &[u64]) -> Circuit {
    let mut builder = CircuitBuilder::new(variables).unwrap();
    let mut level: Vec<NodeId> =
        (0..1usize << variables).map(|index| builder.constant(table_bit(table, index)).unwrap()).collect();
    for v in 0..variables {
        level =
            level
                .chunks(2)
                .map(|pair| {
                    if pair[0] == pair[1] { pair[0] } else { builder.decision(Var::new(v), pair[0], pair[1]).unwrap() }
                })
                .collect();
    }
    builder.finish(level[0]).unwrap()
}

/// The same nodes over more variables.
pub(crate) fn widened(circuit: &Circuit, variables: usize) -> Circuit {
    let mut builder = CircuitBuilder::new(variables).unwrap();
    for (_, node) in circuit.nodes() {
        builder.push(node).unwrap();
    }
    builder.finish(circuit.root()).unwrap()
}

/// An or-gate over two circuits, and its children.
pub(crate) fn together(variables: usize, parts: [&Circuit; 2]) -> (Circuit, Vec<NodeId>) {
    let mut builder = CircuitBuilder::new(variables).unwrap();
    let mut roots = Vec::new();
    for part in parts {
        let offset = builder.len();
        let moved = |id: NodeId| NodeId::new(id.index() + offset);
        for (_, node) in part.nodes() {
            let children: Vec<NodeId> = node.children().map(moved).collect();
            let moved = match node {
                Node::Decision { var, .. } => Node::Decision { var, lo: children[0], hi: children[1] },
                Node::And(_) => Node::And(&children),
                Node::Or(_) => Node::Or(&children),
                leaf => leaf,
            };
            builder.push(moved).unwrap();
        }
        roots.push(moved(part.root()));
    }
    let root = builder.or(&roots).unwrap();
    (builder.finish(root).unwrap(), roots)
}

/// A random function of at most `max_variables` variables as a random circuit, with its truth table.
pub(crate) fn random_circuit(max_variables: usize) -> impl Strategy<Value = (Circuit, Vec<u64>)> {
    (0..=max_variables, any::<u64>(), 0..4u32).prop_map(|(variables, seed, density)| random(variables, seed, density))
}

/// A random circuit; with `density` 0 the function is true on about half of the assignments, with more it is sparser.
pub(crate) fn random(variables: usize, seed: u64, density: u32) -> (Circuit, Vec<u64>) {
    let mut dice = Dice(seed);
    let values: Vec<bool> = (0..1usize << variables).map(|_| (0..=density).all(|_| dice.roll(2) == 0)).collect();
    let mut table = vec![0u64; values.len().div_ceil(64)];
    for index in (0..values.len()).filter(|&index| values[index]) {
        table[index / 64] |= 1 << (index % 64);
    }
    (shaped(variables, &values, dice.0), table)
}

/// A circuit of random shape for the function with these values.
pub(crate) fn shaped(variables: usize, values: &[bool], seed: u64) -> Circuit {
    let mut shaper = Shaper { builder: CircuitBuilder::new(variables).unwrap(), dice: Dice(seed) };
    let all: Vec<usize> = (0..variables).collect();
    let root = shaper.shape(&all, values);
    shaper.builder.finish(root).unwrap()
}

/// A small random number generator (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % sides as u64) as usize
    }
}

struct Shaper {
    builder: CircuitBuilder,
    dice: Dice,
}

impl Shaper {
    /// The function of these variables with these values: as a decision, as gates over a variable, or as the elements
    /// of a random partition of the variables.
    fn shape(&mut self, variables: &[usize], values: &[bool]) -> NodeId {
        if values.iter().all(|&value| value == values[0]) {
            return self.builder.constant(values[0]).unwrap();
        }
        if let &[v] = variables {
            let lit = Var::new(v).literal(values[1]);
            return match self.dice.roll(3) {
                0 => {
                    let [lo, hi] = [values[0], values[1]].map(|value| self.builder.constant(value).unwrap());
                    self.builder.decision(Var::new(v), lo, hi).unwrap()
                }
                1 => self.builder.push(Node::Literal(lit)).unwrap(),
                _ => self.builder.literal(lit).unwrap(),
            };
        }
        let (left, right) = self.split(variables.len());
        if self.dice.roll(2) == 0 || left.len() != 1 {
            return self.elements(variables, values, &left, &right);
        }
        let v = variables[left[0]];
        let rest: Vec<usize> = right.iter().map(|&place| variables[place]).collect();
        let mut branches = [NodeId::new(0); 2];
        for (bit, branch) in branches.iter_mut().enumerate() {
            *branch = self.shape(&rest, &restricted(values, &left, bit, &right));
        }
        self.builder.decision(Var::new(v), branches[0], branches[1]).unwrap()
    }

    fn split(&mut self, variables: usize) -> (Vec<usize>, Vec<usize>) {
        if self.dice.roll(2) == 0 {
            let one = self.dice.roll(variables);
            return (vec![one], (0..variables).filter(|&place| place != one).collect());
        }
        loop {
            let sides: Vec<bool> = (0..variables).map(|_| self.dice.roll(2) == 0).collect();
            let (left, right): (Vec<usize>, Vec<usize>) = (0..variables).partition(|&place| sides[place]);
            if !left.is_empty() && !right.is_empty() {
                return (left, right);
            }
        }
    }

    /// Or of ands: for each occurring function of the right variables, the left assignments that lead to it.
    fn elements(&mut self, variables: &[usize], values: &[bool], left: &[usize], right: &[usize]) -> NodeId {
        let mut subs: Vec<(Vec<bool>, Vec<bool>)> = Vec::new();
        let assignments = 1usize << left.len();
        for index in 0..assignments {
            let sub = restricted(values, left, index, right);
            let place = subs.iter().position(|(known, _)| *known == sub).unwrap_or_else(|| {
                subs.push((sub, vec![false; assignments]));
                subs.len() - 1
            });
            subs[place].1[index] = true;
        }
        let names = |places: &[usize]| -> Vec<usize> { places.iter().map(|&place| variables[place]).collect() };
        let mut children = Vec::new();
        for (sub, prime) in subs {
            let pair = [self.shape(&names(left), &prime), self.shape(&names(right), &sub)];
            // Sometimes with constants not simplified.
            children.push(match self.dice.roll(3) {
                0 => self.builder.and(&pair).unwrap(),
                _ => self.builder.conjoin(&pair).unwrap(),
            });
        }
        match self.dice.roll(3) {
            0 => self.builder.or(&children).unwrap(),
            _ => self.builder.disjoin(&children).unwrap(),
        }
    }
}

/// The values over the variables at `right` if those at `left` are the bits of `index`.
fn restricted(values: &[bool], left: &[usize], index: usize, right: &[usize]) -> Vec<bool> {
    let spread = |places: &[usize], bits: usize| {
        places.iter().enumerate().fold(0, |all, (bit, &place)| all | (bits >> bit & 1) << place)
    };
    (0..1usize << right.len()).map(|rest| values[spread(left, index) | spread(right, rest)]).collect()
}
