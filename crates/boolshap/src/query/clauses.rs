//! Encodes a network or a circuit as clauses over the features and auxiliary variables. Each auxiliary variable is
//! defined by a full equivalence, so every entity extends to exactly one assignment.
//!
//! A gate asks whether a weighted sum of literals reaches a threshold. The encoding processes it input by input: "the
//! rest reaches r" is "if the next literal holds, the remaining ones reach r - w, else r", and becomes a constant as
//! soon as the rest can no longer change it. An answer is valid for a whole interval of sums that no rest can
//! distinguish, and is encoded once for the interval. This is the decision diagram of a pseudo-Boolean constraint (Eén
//! and Sörensson, "Translating Pseudo-Boolean Constraints into SAT", 2006; Abío et al., "A New Look at BDDs for
//! Pseudo-Boolean Constraints", 2012); for weights +-1 it is a sequential counter. Unstructured weights can make it
//! exponential, so the number of clauses is limited, and sums of more than 256 terms are added in binary instead. An
//! argmax asks whether the difference of two scores reaches 0, or 1 if the other class wins ties. The module uses
//! neither the compilers' gates nor their translation of classes into gates.

use super::QueryError;
use crate::circuit::{Circuit, Node, NodeId};
use crate::lit::Watch;
use crate::model::{Network, Output};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The number of questions between two checks of the watch.
const LOOK_AFTER: usize = 1 << 12;
/// The most terms of a sum for the diagram encoding; longer sums are added in binary, which takes fewer clauses.
const MOST_COUNTED: usize = 256;

/// Clauses of DIMACS literals. Variables 1 to `features` are the features.
pub(super) struct Clauses<'a> {
    pub(super) list: Vec<Vec<i32>>,
    variables: i32,
    truth: i32,
    limit: usize,
    watch: Watch<'a>,
    asked: usize,
}

impl<'a> Clauses<'a> {
    /// Starts without clauses, with a limit on their number.
    pub(super) fn new(features: usize, limit: usize, watch: &Watch<'a>) -> Self {
        let truth = features as i32 + 1;
        Clauses { list: vec![vec![truth]], variables: truth, truth, limit, watch: watch.silent(), asked: 0 }
    }

    /// Fails if there are too many clauses or the time is up.
    fn check(&mut self) -> Result<(), QueryError> {
        self.asked += 1;
        if self.asked.is_multiple_of(LOOK_AFTER) {
            self.watch.check()?;
        }
        match self.list.len() > self.limit || self.variables > i32::MAX / 2 {
            true => Err(QueryError::TooManyClauses { limit: self.limit }),
            false => Ok(()),
        }
    }

    fn fresh(&mut self) -> i32 {
        self.variables += 1;
        self.variables
    }

    /// The literal that is always this value.
    pub(super) fn constant(&self, value: bool) -> i32 {
        if value { self.truth } else { -self.truth }
    }

    pub(super) fn add(&mut self, clause: &[i32]) {
        self.list.push(clause.to_vec());
    }

    /// A literal that is true exactly if all of these are.
    fn all(&mut self, literals: &[i32]) -> i32 {
        if let [one] = literals {
            return *one;
        }
        let all = self.fresh();
        literals.iter().for_each(|&literal| self.add(&[-all, literal]));
        let mut clause: Vec<i32> = literals.iter().map(|literal| -literal).collect();
        clause.push(all);
        self.list.push(clause);
        all
    }

    /// A literal that is true exactly if any of these is.
    pub(super) fn any(&mut self, literals: &[i32]) -> i32 {
        let negated: Vec<i32> = literals.iter().map(|literal| -literal).collect();
        -self.all(&negated)
    }

    /// `any` of two literals.
    pub(super) fn either(&mut self, one: i32, other: i32) -> i32 {
        self.any(&[one, other])
    }

    /// A literal that equals `hi` if `x` is true, otherwise `lo`.
    fn choice(&mut self, x: i32, hi: i32, lo: i32) -> i32 {
        if hi == lo {
            return hi;
        }
        let choice = self.fresh();
        self.add(&[-x, -hi, choice]);
        self.add(&[-x, hi, -choice]);
        self.add(&[x, -lo, choice]);
        self.add(&[x, lo, -choice]);
        // These clauses are implied, but save the solver a decision.
        self.add(&[-hi, -lo, choice]);
        self.add(&[hi, lo, -choice]);
        choice
    }

    /// A literal that is true exactly if the weights of the true literals reach this sum.
    pub(super) fn reaches(&mut self, terms: &[(u128, i32)], sum: i128) -> Result<i32, QueryError> {
        // For each place, the most that the remaining terms can contribute.
        let mut rest: Vec<i128> = vec![0; terms.len() + 1];
        for place in (0..terms.len()).rev() {
            rest[place] = rest[place + 1] + terms[place].0 as i128;
        }
        // Answers by place: the least sum of an interval maps to its greatest sum and the literal.
        let mut known: Vec<BTreeMap<i128, (i128, i32)>> = vec![BTreeMap::new(); terms.len() + 1];
        let (yes, no) = (self.constant(true), self.constant(false));
        let answer = |known: &[BTreeMap<i128, (i128, i32)>], (place, sum): (usize, i128)| match sum {
            ..=0 => Some((i128::MIN, 0, yes)),
            _ if sum > rest[place] => Some((rest[place] + 1, i128::MAX, no)),
            _ => {
                let before = known[place].range(..=sum).next_back();
                before.filter(|(_, (to, _))| sum <= *to).map(|(&from, &(to, literal))| (from, to, literal))
            }
        };
        // Questions stay on the stack until the answers that they depend on are known.
        let mut stack = vec![(0, sum)];
        while let Some(&question) = stack.last() {
            self.check()?;
            if answer(&known, question).is_some() {
                stack.pop();
                continue;
            }
            let (place, sum) = question;
            let (weight, literal) = (terms[place].0 as i128, terms[place].1);
            let (with, without) = ((place + 1, sum - weight), (place + 1, sum));
            match (answer(&known, with), answer(&known, without)) {
                (Some(hi), Some(lo)) => {
                    let choice = self.choice(literal, hi.2, lo.2);
                    let from = hi.0.saturating_add(weight).max(lo.0);
                    let to = hi.1.saturating_add(weight).min(lo.1);
                    known[place].insert(from, (to, choice));
                }
                (hi, lo) => {
                    stack.extend(hi.is_none().then_some(with));
                    stack.extend(lo.is_none().then_some(without));
                }
            }
        }
        Ok(answer(&known, (0, sum)).expect("the first question is answered last").2)
    }

    /// A literal that is true exactly if the weighted sum of these literals as +1 and -1, plus a constant, is at least
    /// 0.
    fn signs_reach(&mut self, weights: &[i128], literals: &[i32], constant: i128) -> Result<i32, QueryError> {
        const MOST: u128 = 1 << 100;
        let total: u128 = weights.iter().map(|weight| weight.unsigned_abs()).sum();
        if total >= MOST || constant.unsigned_abs() >= MOST {
            return Err(QueryError::LargeWeights);
        }
        // From the minimum, minus the total, each true term adds twice its weight; fixed literals are counted
        // immediately.
        let mut sum = total as i128 - constant;
        let mut terms: Vec<(u128, i32)> = Vec::with_capacity(weights.len());
        for (&weight, &literal) in weights.iter().zip(literals).filter(|(weight, _)| **weight != 0) {
            let (twice, literal) = (2 * weight.unsigned_abs(), if weight > 0 { literal } else { -literal });
            match literal.abs() == self.truth {
                true if literal > 0 => sum -= twice as i128,
                true => {}
                false => terms.push((twice, literal)),
            }
        }
        // Large weights come first because they decide most.
        terms.sort_by_key(|&(weight, _)| std::cmp::Reverse(weight));
        match terms.len() > MOST_COUNTED {
            true => self.adds_up(&terms, sum),
            false => self.reaches(&terms, sum),
        }
    }

    /// Like `reaches`, but with binary adders: in each column of bits, a full adder turns three bits into a sum bit and
    /// a carry (Eén and Sörensson, section 5.2). This takes few clauses, but the solver learns less from them.
    fn adds_up(&mut self, terms: &[(u128, i32)], sum: i128) -> Result<i32, QueryError> {
        let total: u128 = terms.iter().map(|(weight, _)| weight).sum();
        if sum <= 0 || sum > total as i128 {
            return Ok(self.constant(sum <= 0));
        }
        let mut columns: Vec<VecDeque<i32>> = vec![VecDeque::new(); 128];
        for &(weight, literal) in terms {
            (0..128).filter(|bit| weight >> bit & 1 == 1).for_each(|bit| columns[bit].push_back(literal));
        }
        let mut reached = self.constant(true);
        for bit in 0..127 {
            while columns[bit].len() > 1 {
                self.check()?;
                let none = self.constant(false);
                let [a, b, c] = [(); 3].map(|()| columns[bit].pop_front().unwrap_or(none));
                let (odd, carry) = self.add_three(a, b, c);
                columns[bit].push_back(odd);
                columns[bit + 1].push_back(carry);
            }
            let digit = columns[bit].pop_front().unwrap_or(self.constant(false));
            reached = match sum >> bit & 1 == 1 {
                true => self.all(&[digit, reached]),
                false => self.any(&[digit, reached]),
            };
        }
        Ok(reached)
    }

    /// A full adder: whether an odd number of these literals is true, and whether at least two are.
    fn add_three(&mut self, a: i32, b: i32, c: i32) -> (i32, i32) {
        let pair = self.choice(a, -b, b);
        let odd = self.choice(pair, -c, c);
        let carry = self.choice(pair, c, a);
        (odd, carry)
    }

    /// A literal that is true exactly if the network's answer is this class.
    #[cfg(feature = "sat")]
    pub(super) fn network(&mut self, network: &Network, class: usize) -> Result<i32, QueryError> {
        let features: Vec<i32> = (1..=network.inputs() as i32).collect();
        let values = self.last_hidden(network, &features)?;
        self.class_wins(network, &values, class)
    }

    /// The literals of the last hidden layer, or of the inputs if there is none, given the literals of the features.
    pub(super) fn last_hidden(&mut self, network: &Network, features: &[i32]) -> Result<Vec<i32>, QueryError> {
        let mut values = features.to_vec();
        for layer in network.hidden() {
            let mut next = Vec::with_capacity(layer.len());
            for gate in layer {
                // The sum of the inputs as +1 and -1 must reach 2 need - total.
                let constant = gate.total() as i128 - 2 * gate.need() as i128;
                next.push(self.signs_reach(gate.weights(), &values, constant)?);
            }
            values = next;
        }
        Ok(values)
    }

    /// A literal that is true exactly if these values of the last hidden layer lead to this class.
    pub(super) fn class_wins(&mut self, network: &Network, values: &[i32], class: usize) -> Result<i32, QueryError> {
        match network.output() {
            Output::Step(gate) => {
                let constant = gate.total() as i128 - 2 * gate.need() as i128;
                let label = self.signs_reach(gate.weights(), values, constant)?;
                Ok(if class == 1 { label } else { -label })
            }
            Output::Argmax(scores) => {
                let mut wins = Vec::new();
                for (other, score) in scores.iter().enumerate().filter(|(other, _)| *other != class) {
                    let mine = &scores[class];
                    let weights: Vec<i128> = mine.weights().iter().zip(score.weights()).map(|(a, b)| a - b).collect();
                    let draw = i128::from(other < class);
                    wins.push(self.signs_reach(&weights, values, mine.bias() - score.bias() - draw)?);
                }
                Ok(self.all(&wins))
            }
        }
    }

    /// A literal for each node that the root reaches, true exactly if the node is.
    #[cfg(feature = "sat")]
    pub(super) fn circuit(&mut self, circuit: &Circuit) -> Result<HashMap<NodeId, i32>, QueryError> {
        self.nodes(circuit, &circuit.reachable())
    }

    /// A literal that is true exactly if the circuit is, given the literals of the features.
    pub(super) fn root(&mut self, circuit: &Circuit, features: &[i32]) -> Result<i32, QueryError> {
        Ok(self.nodes_over(circuit, &circuit.reachable(), features)?[&circuit.root()])
    }

    /// A literal for each of these nodes; `ids` must contain all children, before their parents.
    #[cfg(feature = "sat")]
    pub(super) fn nodes(&mut self, circuit: &Circuit, ids: &[NodeId]) -> Result<HashMap<NodeId, i32>, QueryError> {
        let features: Vec<i32> = (1..=circuit.variables() as i32).collect();
        self.nodes_over(circuit, ids, &features)
    }

    /// Like `nodes`, given the literals of the features.
    fn nodes_over(
        &mut self,
        circuit: &Circuit,
        ids: &[NodeId],
        features: &[i32],
    ) -> Result<HashMap<NodeId, i32>, QueryError> {
        let mut literals: HashMap<NodeId, i32> = HashMap::new();
        for &id in ids {
            self.check()?;
            let literal = match circuit.node(id) {
                Node::Constant(value) => self.constant(value),
                Node::Literal(lit) => features[lit.var().index()] * lit.to_dimacs().signum(),
                Node::Decision { var, lo, hi } => self.choice(features[var.index()], literals[&hi], literals[&lo]),
                Node::And(children) => {
                    let children: Vec<i32> = children.iter().map(|child| literals[child]).collect();
                    if children.is_empty() { self.constant(true) } else { self.all(&children) }
                }
                Node::Or(children) => {
                    let children: Vec<i32> = children.iter().map(|child| literals[child]).collect();
                    if children.is_empty() { self.constant(false) } else { self.any(&children) }
                }
            };
            literals.insert(id, literal);
        }
        Ok(literals)
    }
}

#[cfg(all(test, feature = "sat"))]
mod tests {
    use super::*;
    use crate::data::Seeded;
    use crate::formula::Solver;
    use crate::lit::Lit;

    #[test]
    fn adding_and_counting_agree_with_the_sum() {
        let mut chance = Seeded::new(5, 0);
        for _ in 0..60 {
            let n = 1 + chance.below(7);
            let terms: Vec<(u128, i32)> = (1..=n as i32)
                .map(|var| (1 + chance.below(9) as u128, if chance.below(2) == 0 { var } else { -var }))
                .collect();
            let sum = chance.below(40) as i128 - 2;
            let mut clauses = Clauses::new(n, usize::MAX, &Watch::unlimited());
            let literals = [clauses.adds_up(&terms, sum).unwrap(), clauses.reaches(&terms, sum).unwrap()];
            let mut solver = Solver::new();
            let lit = |number: i32| Lit::from_dimacs(number).unwrap();
            clauses.list.iter().for_each(|clause| solver.add(clause.iter().map(|&number| lit(number))));
            for number in 0..1i32 << n {
                let value = |var: i32| number >> (var - 1) & 1 == 1;
                let assumed: Vec<Lit> = (1..=n as i32).map(|var| lit(if value(var) { var } else { -var })).collect();
                let found: u128 = terms.iter().filter(|(_, l)| value(l.abs()) == (*l > 0)).map(|(w, _)| w).sum();
                assert_eq!(solver.solve(&assumed, &Watch::unlimited()), Ok(true));
                for literal in literals {
                    assert_eq!(solver.holds(lit(literal)), found as i128 >= sum, "{terms:?} {sum} {number:b}");
                }
            }
        }
    }
}
