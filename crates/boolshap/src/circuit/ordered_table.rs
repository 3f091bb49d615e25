//! The truth table of an ordered diagram over the variables that it mentions.
//!
//! *Idea.* The root is expanded level by level: when a variable is fixed, a node that tests it becomes one of its
//! children, and every other node stays. After all but six levels there is a node for each word of the table, and the
//! words of nodes over the last six variables are computed once each. *Cost.* 2^(n-6) steps plus the nodes of the last
//! six levels, whereas evaluating the whole circuit takes 2^(n-6) times all of its nodes.

use super::{Circuit, Node, NodeId};
use crate::lit::{LOW_VARIABLES, Var};

/// The bits of a number that vary inside a word.
const LOW: usize = LOW_VARIABLES.len();

/// What is left of a diagram when some variables are fixed.
#[derive(Clone, Copy)]
enum Rest {
    Node(NodeId),
    Constant(bool),
}

impl Circuit {
    /// The variables that it mentions, last tested first, and its values on all their assignments. The first variable
    /// of the list is the lowest bit of an assignment's number; with fewer than six variables, the table repeats
    /// itself. `None` if the circuit is not an ordered diagram, or mentions more than `most` variables.
    pub(crate) fn ordered_table(&self, most: usize) -> Option<(Vec<Var>, Vec<u64>)> {
        let mentioned = self.mentioned();
        if mentioned.len() > most.min(Self::TABLE_VARIABLES) {
            return None;
        }
        let order = self.last_asked_first(&mentioned)?;
        let mut place = vec![0; self.variables()];
        order.iter().enumerate().for_each(|(number, var)| place[var.index()] = number);
        let mut level = vec![Rest::Node(self.root())];
        for &fixed in order.iter().skip(LOW).rev() {
            // Variables that are tested later become lower bits, so the two branches of a node stay adjacent.
            level = level.iter().flat_map(|&rest| self.branches(rest, fixed)).collect();
        }
        let mut words: Vec<Option<u64>> = vec![None; self.stored_nodes()];
        let word = |rest: Rest| match rest {
            Rest::Constant(value) => u64::from(value).wrapping_neg(),
            Rest::Node(id) => self.low_word(id, &place, &mut words),
        };
        let table = level.into_iter().map(word).collect();
        Some((order, table))
    }

    /// An order in which every child's variable comes before its parent's, if one exists.
    fn last_asked_first(&self, mentioned: &[Var]) -> Option<Vec<Var>> {
        let place = |var: Var| mentioned.binary_search(&var).expect("a variable that is mentioned");
        let mut below = vec![0u32; mentioned.len()];
        for id in self.reachable() {
            let Node::Decision { var, lo, hi } = self.node(id) else {
                if matches!(self.node(id), Node::And(_) | Node::Or(_)) {
                    return None;
                }
                continue;
            };
            for child in [lo, hi] {
                match self.node(child) {
                    Node::Decision { var: next, .. } => below[place(var)] |= 1 << place(next),
                    Node::Literal(lit) => below[place(var)] |= 1 << place(lit.var()),
                    _ => {}
                }
            }
        }
        let (mut order, mut done) = (Vec::with_capacity(mentioned.len()), 0u32);
        while order.len() < mentioned.len() {
            let is_next = |&at: &usize| done >> at & 1 == 0 && below[at] & !done == 0;
            let next = (0..mentioned.len()).find(is_next)?;
            done |= 1 << next;
            order.push(mentioned[next]);
        }
        Some(order)
    }

    /// What is left when one more variable is 0, and when it is 1.
    fn branches(&self, rest: Rest, fixed: Var) -> [Rest; 2] {
        let Rest::Node(id) = rest else { return [rest, rest] };
        match self.node(id) {
            Node::Decision { var, lo, hi } if var == fixed => [Rest::Node(lo), Rest::Node(hi)],
            Node::Literal(lit) if lit.var() == fixed => [false, true].map(|value| Rest::Constant(lit.holds(value))),
            _ => [rest, rest],
        }
    }

    /// The word of a node over the low variables; at most six calls deep.
    fn low_word(&self, id: NodeId, place: &[usize], words: &mut [Option<u64>]) -> u64 {
        if let Some(word) = words[id.index()] {
            return word;
        }
        let of = |var: Var| LOW_VARIABLES[place[var.index()]];
        let word = match self.node(id) {
            Node::Constant(value) => u64::from(value).wrapping_neg(),
            Node::Literal(lit) => of(lit.var()) ^ u64::from(lit.is_negative()).wrapping_neg(),
            Node::Decision { var, lo, hi } => {
                let [lo, hi] = [lo, hi].map(|child| self.low_word(child, place, words));
                lo ^ (of(var) & (lo ^ hi))
            }
            Node::And(_) | Node::Or(_) => unreachable!("gates are refused before"),
        };
        words[id.index()] = Some(word);
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::{from_table, table_bit, widened};
    use crate::data::Seeded;

    #[test]
    fn equals_evaluating_every_assignment() {
        let mut chance = Seeded::new(31, 0);
        for variables in 0..=9 {
            for _ in 0..20 {
                let table: Vec<u64> =
                    (0..8).map(|_| (chance.below(1 << 30) as u64) << 33 ^ chance.below(1 << 31) as u64).collect();
                // Variables that the diagram does not mention are not in the table.
                let circuit = widened(&from_table(variables, &table), variables + 2);
                let (order, words) = circuit.ordered_table(20).unwrap();
                assert_eq!(words.len(), 1 << order.len().saturating_sub(6));
                for number in 0..64 * words.len() {
                    let mut entity = vec![false; variables + 2];
                    order.iter().enumerate().for_each(|(bit, var)| entity[var.index()] = number >> bit & 1 == 1);
                    assert_eq!(table_bit(&words, number), circuit.evaluate(&entity).unwrap());
                }
            }
        }
        assert!(from_table(9, &[0x5a17_9c3e_0f1d_2b44; 8]).ordered_table(2).is_none());
    }

    #[test]
    fn other_circuits_have_none() {
        let gates = crate::circuit::read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes()).unwrap();
        assert!(gates.ordered_table(20).is_none());
        // x, then y, on one side; y, then x, on the other.
        let mut builder = crate::circuit::CircuitBuilder::new(3).unwrap();
        let [x, y, z] = [0, 1, 2].map(Var::new);
        let [x_is, y_is] = [x, y].map(|var| builder.literal(var.positive()).unwrap());
        let no = builder.constant(false).unwrap();
        let one = builder.decision(x, no, y_is).unwrap();
        let other = builder.decision(y, x_is, no).unwrap();
        let root = builder.decision(z, one, other).unwrap();
        assert!(builder.finish(root).unwrap().ordered_table(20).is_none());
    }
}
