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
//! Gates are processed in the order of the arena, each once however often it is used. A vector's slot is reused when
//! the last parent is done, so the memory is that of the widest cut of the circuit, not of all its nodes.
//! Cost: n sweeps of O(|C| n^2) for all scores of an entity.

use super::polynomial::{Coefficient, add, multiply};
use super::{ExplainError, Probabilities};
use crate::circuit::{Circuit, Node, check};
use crate::lit::{Lit, Var};
use std::sync::Arc;

/// SHAP scores by the paper's algorithm on a dDBCSFi(2) (engine `paper`).
///
/// ```
/// use boolshap::circuit::{paper_form, read_nnf};
/// use boolshap::explain::{Probabilities, OpenBox};
/// use boolshap::lit::Watch;
/// // x1 or (not x1 and x2)
/// let circuit = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let smooth = paper_form(&circuit)?;
/// let uniform = Probabilities::uniform(2);
/// let rows = OpenBox::new(&smooth)?.explain_exact(&[[true, false]], &uniform, &Watch::unlimited())?;
/// let scores: Vec<String> = rows[0].scores.iter().map(ToString::to_string).collect();
/// assert_eq!(scores, ["3/8", "-1/8"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenBox {
    pub(super) circuit: Arc<Circuit>,
    steps: Vec<Step>,
    slots: usize,
    /// The slot of the root's vector.
    pub(super) root: usize,
    /// The variables of the root in ascending order: the players.
    pub(super) players: Vec<Var>,
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

impl OpenBox {
    /// Prepares a circuit. Fails, naming the node, if it is not decomposable, smooth and of fan-in 2.
    pub fn new(circuit: &Circuit) -> Result<Self, ExplainError> {
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

    /// Assigns every gate the slot of its vector. Leaves have their own slots in front: two for each player, then false
    /// and true.
    fn plan(circuit: &Circuit) -> Self {
        let players = circuit.mentioned();
        let leaves = 2 * players.len() + 2;
        let mut uses = circuit.uses();
        let mut slot_of = vec![0u32; circuit.stored_nodes()];
        let mut free: Vec<u32> = Vec::new();
        let mut slots = leaves as u32;
        let mut steps = Vec::new();
        for id in circuit.reachable() {
            let (gate, children) = match circuit.node(id) {
                Node::Literal(lit) => {
                    let player = players.partition_point(|&player| player < lit.var());
                    slot_of[id.index()] = literal_slot(player, !lit.is_negative()) as u32;
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
                // A gate with one child equals that child, times true.
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
                // A capped count of uses cannot show the last one.
                if *left != u32::MAX {
                    *left -= 1;
                    if *left == 0 && slot_of[child.index()] as usize >= leaves {
                        free.push(slot_of[child.index()]);
                    }
                }
            }
        }
        let root = slot_of[circuit.root().index()] as usize;
        OpenBox { circuit: circuit.into(), steps, slots: slots as usize, root, players }
    }

    /// The most vectors alive at once, including those of the leaves.
    pub fn live_vectors(&self) -> usize {
        self.slots
    }

    /// The most roundings in a coefficient of the root: a literal has one, a sum one more than its parts, a product
    /// those of both factors and one for each term added up.
    pub(super) fn roundings(&self) -> f64 {
        let leaves = 2 * self.players.len();
        let mut slots = vec![(1.0, 2); self.slots];
        slots[leaves..leaves + 2].fill((0.0, 1));
        for &Step { gate, one, other, out } in &self.steps {
            let ((one, length), (other, width)): ((f64, usize), (f64, usize)) =
                (slots[one as usize], slots[other as usize]);
            slots[out as usize] = match gate {
                Gate::And => (one + other + length.min(width) as f64, length + width - 1),
                Gate::Or => (one.max(other) + 1.0, length.min(width)),
            };
        }
        slots[self.root].0
    }

    pub(super) fn check<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Probabilities,
    ) -> Result<(), ExplainError> {
        let expected = self.circuit.variables();
        distribution.check(expected)?;
        match entities.iter().map(|entity| entity.as_ref().len()).enumerate().find(|&(_, found)| found != expected) {
            Some((entity, found)) => Err(ExplainError::EntityLength { entity, expected, found }),
            None => Ok(()),
        }
    }

    /// Empty slots, except for those of the constants.
    pub(super) fn empty_slots<T: Coefficient>(&self, one: T) -> Vec<Vec<T>> {
        let mut slots = vec![Vec::new(); self.slots];
        slots[2 * self.players.len()] = vec![T::zero()];
        slots[2 * self.players.len() + 1] = vec![one];
        slots
    }

    /// Puts the plain vectors of all literals in place.
    pub(super) fn fill_literals<T: Coefficient>(&self, slots: &mut [Vec<T>], literal: impl Fn(Lit) -> [T; 2]) {
        for player in 0..self.players.len() {
            self.fill_literals_of(slots, player, &literal);
        }
    }

    /// Puts the plain vectors of one player's literals in place.
    pub(super) fn fill_literals_of<T: Coefficient>(
        &self,
        slots: &mut [Vec<T>],
        player: usize,
        literal: impl Fn(Lit) -> [T; 2],
    ) {
        for value in [true, false] {
            slots[literal_slot(player, value)] = literal(self.players[player].literal(value)).into();
        }
    }

    /// Fills the vectors of all gates from those of the leaves.
    pub(super) fn sweep<T: Coefficient>(&self, slots: &mut [Vec<T>]) {
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

/// The slot of the literal that holds when this player has this value.
pub(super) fn literal_slot(player: usize, value: bool) -> usize {
    2 * player + usize::from(!value)
}
