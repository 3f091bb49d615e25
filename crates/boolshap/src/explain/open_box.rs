//! The open-box algorithm: SHAP scores from the gates of a smooth circuit of fan-in 2, in polynomial time.
//!
//! Arenas, Barceló, Bertossi and Monet, "The Tractability of SHAP-Score-Based Explanations for Classification over
//! Deterministic and Decomposable Boolean Circuits" (AAAI 2021, doi 10.1609/aaai.v35i8.16825), and its journal version
//! (JMLR 2023), page 18.
//!
//! Fix a feature x. For a gate g and a number l, let H(g, l) be the sum, over the sets S of l variables of g, of the
//! expectation of g when the variables in S are fixed to the entity's values. The vectors H(g, .) are coefficients of a
//! polynomial: a literal y has (p_y, e_y), an or-gate (deterministic, smooth) adds its children's vectors, an and-gate
//! (decomposable) multiplies them. The paper computes the vectors twice, for x set to 1 (gamma) and to 0 (delta), and
//!
//! ```text
//! score(x) = (e_x - p_x) * sum over k of k! (n-k-1)! / n! * (gamma(root, k) - delta(root, k))
//! ```
//!
//! with n the number of variables of the root; those that it does not mention are dummies and score 0.
//!
//! Only the difference gamma - delta is needed, and it obeys the same rules. For a gate that does not mention x both
//! vectors are the same, so there H itself is kept; for one that does, the difference is kept: (1) for the literal x,
//! (-1) for its negation, the sum at an or-gate, and at an and-gate the product of the child with x, a difference, and
//! the child without x, a plain vector. So each gate needs ONE vector for each feature. Where gamma - delta is small and
//! the two are not, this also avoids their cancellation.
//!
//! Gates are done in the order of the arena, each once however often it is used. A vector lives in a slot that is handed
//! on when the last parent is done, so the memory is that of the widest cut of the circuit, not of all its nodes.
//! Cost: n sweeps of O(|C| n^2) for all scores of an entity, eight entities at once.

use super::polynomial::{Coefficient, LANES, Lanes, add, multiply};
use super::{Distribution, ExplainError, Explanation};
use crate::circuit::{Circuit, Evaluator, Node, check};
use crate::lit::{Lit, Var, Watch};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

/// SHAP scores by the paper's algorithm on a dDBCSFi(2) (engine `paper`).
///
/// ```
/// use boolshap::circuit::{paper_form, read_nnf};
/// use boolshap::explain::{Distribution, OpenBox};
/// use boolshap::lit::Watch;
/// // x1 or (not x1 and x2)
/// let circuit = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let smooth = paper_form(&circuit)?;
/// let uniform = Distribution::uniform(2);
/// let rows = OpenBox::new(&smooth)?.explain_exact(&[[true, false]], &uniform, &Watch::unlimited())?;
/// let scores: Vec<String> = rows[0].scores.iter().map(ToString::to_string).collect();
/// assert_eq!(scores, ["3/8", "-1/8"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenBox<'c> {
    circuit: &'c Circuit,
    steps: Vec<Step>,
    slots: usize,
    root: usize,
    /// The variables of the root in ascending order: the players.
    players: Vec<Var>,
}

/// One gate of two children: the slots of their vectors, and of its own.
#[derive(Clone, Copy, Debug)]
struct Step {
    gate: Gate,
    one: u32,
    other: u32,
    out: u32,
}

#[derive(Clone, Copy, Debug)]
enum Gate {
    And,
    Or,
}

impl<'c> OpenBox<'c> {
    /// The most mentioned features that [`OpenBox::explain`] takes: beyond, binomial coefficients leave the floats.
    pub const MAX_FEATURES: usize = 1000;

    /// Prepares a circuit; an error if it is not decomposable, smooth and of fan-in 2, naming the node.
    pub fn new(circuit: &'c Circuit) -> Result<Self, ExplainError> {
        for id in circuit.reachable() {
            if let Node::Decision { .. } = circuit.node(id) {
                return Err(ExplainError::DecisionNode(id));
            }
        }
        check::fan_in(circuit, 2)?;
        check::decomposability(circuit)?;
        check::smoothness(circuit)?;
        Ok(Self::plan(circuit))
    }

    /// Gives every gate the slot of its vector. Leaves have slots of their own in front: two for each variable, then
    /// false and true.
    fn plan(circuit: &'c Circuit) -> Self {
        let leaves = 2 * circuit.variables() + 2;
        let mut uses = circuit.uses();
        let mut slot_of = vec![0u32; circuit.stored_nodes()];
        let mut free: Vec<u32> = Vec::new();
        let mut slots = leaves as u32;
        let mut steps = Vec::new();
        for id in circuit.reachable() {
            let (gate, children) = match circuit.node(id) {
                Node::Literal(lit) => {
                    slot_of[id.index()] = lit.code() as u32;
                    continue;
                }
                Node::Constant(value) => {
                    slot_of[id.index()] = (leaves - 2 + usize::from(value)) as u32;
                    continue;
                }
                Node::And(children) => (Gate::And, children),
                Node::Or(children) => (Gate::Or, children),
                Node::Decision { .. } => unreachable!("refused before"),
            };
            let one = slot_of[children[0].index()];
            let (gate, other) = match children.get(1) {
                Some(child) => (gate, slot_of[child.index()]),
                // A gate of one child is that child: once it, times true.
                None => (Gate::And, (leaves - 1) as u32),
            };
            let out = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            slot_of[id.index()] = out;
            steps.push(Step { gate, one, other, out });
            for child in children {
                let left = &mut uses[child.index()];
                // A capped number of uses says nothing of the last one.
                if *left != u32::MAX {
                    *left -= 1;
                    if *left == 0 && slot_of[child.index()] as usize >= leaves {
                        free.push(slot_of[child.index()]);
                    }
                }
            }
        }
        let root = slot_of[circuit.root().index()] as usize;
        OpenBox { circuit, steps, slots: slots as usize, root, players: circuit.mentioned() }
    }

    /// How many vectors are alive at once at most, those of the leaves included.
    pub fn live_vectors(&self) -> usize {
        self.slots
    }

    /// The scores of these entities in floats.
    pub fn explain<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Distribution,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<f64>>, ExplainError> {
        self.check(entities, distribution)?;
        let players = self.players.len();
        if players > Self::MAX_FEATURES {
            let (engine, limit) = ("the open-box algorithm in floats", Self::MAX_FEATURES);
            return Err(ExplainError::TooManyFeatures { features: players, engine, limit });
        }
        // k! (n-k-1)! / n!, each from the one before.
        let weights: Vec<f64> = (0..players)
            .scan(0.0, |weight, k| {
                *weight = if k == 0 { 1.0 / players as f64 } else { *weight * k as f64 / (players - k) as f64 };
                Some(*weight)
            })
            .collect();
        let mut evaluator = Evaluator::new(self.circuit);
        let mut slots = self.empty_slots(Lanes([1.0; LANES]));
        let mut explanations = Vec::with_capacity(entities.len());
        for block in entities.chunks(LANES) {
            // Lanes past the last entity repeat it.
            let value = |lane: usize, var: Var| block[lane.min(block.len() - 1)].as_ref()[var.index()];
            let bit = |truth: bool| f64::from(u8::from(truth));
            let literal = |lit: Lit| {
                let p = distribution.floats()[lit.var().index()];
                let random = if lit.is_negative() { 1.0 - p } else { p };
                let fixed = Lanes(std::array::from_fn(|lane| bit(lit.holds(value(lane, lit.var())))));
                [Lanes([random; LANES]), fixed]
            };
            let words: Vec<u64> = (0..self.circuit.variables())
                .map(|v| (0..block.len()).fold(0, |word, lane| word | u64::from(value(lane, Var::new(v))) << lane))
                .collect();
            let labels = evaluator.words(&words)?;
            self.fill_literals(&mut slots, literal);
            self.sweep(&mut slots);
            let base = slots[self.root][0].0;
            let mut scores = vec![[0.0; LANES]; self.circuit.variables()];
            for &var in &self.players {
                watch.step(explanations.len() as u64, entities.len() as u64)?;
                slots[var.positive().code()] = vec![Lanes([1.0; LANES])];
                slots[var.negative().code()] = vec![Lanes([-1.0; LANES])];
                self.sweep(&mut slots);
                let mut sum = Lanes::zero();
                for (&weight, difference) in weights.iter().zip(&slots[self.root]) {
                    sum.add_product(&Lanes([weight; LANES]), difference);
                }
                let p = distribution.floats()[var.index()];
                scores[var.index()] = std::array::from_fn(|lane| (bit(value(lane, var)) - p) * sum.0[lane]);
                self.fill_literals_of(&mut slots, var, literal);
            }
            for (lane, &base_value) in base.iter().enumerate().take(block.len()) {
                let explanation = Explanation {
                    base_value,
                    prediction: labels >> lane & 1 == 1,
                    scores: scores.iter().map(|score| score[lane]).collect(),
                };
                explanation.check_sum(explanations.len())?;
                explanations.push(explanation);
            }
        }
        Ok(explanations)
    }

    /// The scores of these entities as fractions. The vectors of a gate are integers over the product of its
    /// variables' denominators, which is the same for all children of an or-gate.
    pub fn explain_exact<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Distribution,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<RBig>>, ExplainError> {
        self.check(entities, distribution)?;
        let players = self.players.len();
        let factorials: Vec<UBig> = (0..=players)
            .scan(UBig::ONE, |product, k| {
                *product *= UBig::from(k.max(1));
                Some(product.clone())
            })
            .collect();
        let orders: Vec<IBig> = (0..players).map(|k| (&factorials[k] * &factorials[players - k - 1]).into()).collect();
        let probability = |var: Var| &distribution.exact()[var.index()];
        let denominator = self.players.iter().fold(UBig::ONE, |product, &var| product * probability(var).denominator());
        let mut slots = self.empty_slots(IBig::ONE);
        let mut explanations = Vec::with_capacity(entities.len());
        for (index, entity) in entities.iter().map(AsRef::as_ref).enumerate() {
            let literal = |lit: Lit| {
                let p = probability(lit.var());
                let all = p.denominator().as_ibig();
                let random = if lit.is_negative() { all - p.numerator() } else { p.numerator().clone() };
                let fixed = if lit.holds(entity[lit.var().index()]) { all.clone() } else { IBig::ZERO };
                [random, fixed]
            };
            self.fill_literals(&mut slots, literal);
            self.sweep(&mut slots);
            let base_value = RBig::from_parts(slots[self.root][0].clone(), denominator.clone());
            let mut scores = vec![RBig::ZERO; self.circuit.variables()];
            for &var in &self.players {
                watch.step(index as u64, entities.len() as u64)?;
                slots[var.positive().code()] = vec![IBig::ONE];
                slots[var.negative().code()] = vec![IBig::NEG_ONE];
                self.sweep(&mut slots);
                let mut sum = IBig::ZERO;
                for (orders, difference) in orders.iter().zip(&slots[self.root]) {
                    sum.add_product(orders, difference);
                }
                let [random, fixed] = literal(var.positive());
                let score = (fixed - random) * sum;
                scores[var.index()] = RBig::from_parts(score, &factorials[players] * &denominator);
                self.fill_literals_of(&mut slots, var, literal);
            }
            let explanation = Explanation { base_value, prediction: self.circuit.evaluate(entity)?, scores };
            explanation.check_sum(index)?;
            explanations.push(explanation);
        }
        Ok(explanations)
    }

    fn check<E: AsRef<[bool]>>(&self, entities: &[E], distribution: &Distribution) -> Result<(), ExplainError> {
        let expected = self.circuit.variables();
        distribution.check(expected)?;
        match entities.iter().map(|entity| entity.as_ref().len()).enumerate().find(|&(_, found)| found != expected) {
            Some((entity, found)) => Err(ExplainError::EntityLength { entity, expected, found }),
            None => Ok(()),
        }
    }

    /// Slots with the constants in place, and nothing else.
    fn empty_slots<T: Coefficient>(&self, one: T) -> Vec<Vec<T>> {
        let mut slots = vec![Vec::new(); self.slots];
        slots[2 * self.circuit.variables()] = vec![T::zero()];
        slots[2 * self.circuit.variables() + 1] = vec![one];
        slots
    }

    fn fill_literals<T: Coefficient>(&self, slots: &mut [Vec<T>], literal: impl Fn(Lit) -> [T; 2]) {
        for &var in &self.players {
            self.fill_literals_of(slots, var, &literal);
        }
    }

    fn fill_literals_of<T: Coefficient>(&self, slots: &mut [Vec<T>], var: Var, literal: impl Fn(Lit) -> [T; 2]) {
        for lit in [var.positive(), var.negative()] {
            slots[lit.code()] = literal(lit).into();
        }
    }

    /// Fills the vectors of all gates from those of the leaves; a vector's length tells whether it is a difference.
    fn sweep<T: Coefficient>(&self, slots: &mut [Vec<T>]) {
        for &Step { gate, one, other, out } in &self.steps {
            let mut vector = std::mem::take(&mut slots[out as usize]);
            let (one, other) = (&slots[one as usize], &slots[other as usize]);
            match gate {
                Gate::And => multiply(one, other, &mut vector),
                Gate::Or => add(one, other, &mut vector),
            }
            slots[out as usize] = vector;
        }
    }
}
