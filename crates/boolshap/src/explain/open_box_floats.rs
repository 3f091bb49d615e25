//! The open-box algorithm in floats, eight entities at once.

use super::open_box::literal_slot;
use super::polynomial::{Coefficient, Lanes};
use super::{Distribution, ExplainError, Explanation, OpenBox};
use crate::circuit::Evaluator;
use crate::lit::{Lit, Var, Watch};

/// How many entities are explained at once.
const LANES: usize = 8;

impl OpenBox<'_> {
    /// The most mentioned features that [`OpenBox::explain`] takes: beyond, binomial coefficients leave the floats.
    pub const MAX_FEATURES: usize = 1000;

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
        // Each from the one before, so that no factorial is ever too large.
        let weights: Vec<f64> = (0..players)
            .scan(0.0, |weight, k| {
                *weight = if k == 0 { 1.0 / players as f64 } else { *weight * k as f64 / (players - k) as f64 };
                Some(*weight)
            })
            .collect();
        let job = FloatJob { open_box: self, distribution, weights, watch, total: entities.len() };
        let mut explanations = Vec::with_capacity(entities.len());
        let mut evaluator = Evaluator::new(self.circuit);
        let (mut wide, mut narrow) = (None, None);
        for block in entities.chunks(LANES) {
            // Empty lanes cost as much as full ones.
            if block.len() > LANES / 4 {
                job.explain_block::<LANES, E>(block, &mut wide, &mut evaluator, &mut explanations)?;
            } else {
                for entity in block.chunks(1) {
                    job.explain_block::<1, E>(entity, &mut narrow, &mut evaluator, &mut explanations)?;
                }
            }
        }
        Ok(explanations)
    }
}

/// A run over entities in floats.
struct FloatJob<'j, 'c> {
    open_box: &'j OpenBox<'c>,
    distribution: &'j Distribution,
    /// k! (n-k-1)! / n! for every k below n.
    weights: Vec<f64>,
    watch: &'j Watch<'j>,
    total: usize,
}

impl FloatJob<'_, '_> {
    /// Explains up to `N` entities at once; the slots are made at the first call and used again at the next.
    fn explain_block<const N: usize, E: AsRef<[bool]>>(
        &self,
        block: &[E],
        slots: &mut Option<Vec<Vec<Lanes<N>>>>,
        evaluator: &mut Evaluator<'_>,
        explanations: &mut Vec<Explanation<f64>>,
    ) -> Result<(), ExplainError> {
        let OpenBox { circuit, root, ref players, .. } = *self.open_box;
        let slots = slots.get_or_insert_with(|| self.open_box.empty_slots(Lanes([1.0; N])));
        // Lanes past the last entity repeat it.
        let value = |lane: usize, var: Var| block[lane.min(block.len() - 1)].as_ref()[var.index()];
        let bit = |truth: bool| f64::from(u8::from(truth));
        let literal = |lit: Lit| {
            let p = self.distribution.floats()[lit.var().index()];
            let random = if lit.is_negative() { 1.0 - p } else { p };
            let fixed = Lanes(std::array::from_fn(|lane| bit(lit.holds(value(lane, lit.var())))));
            [Lanes([random; N]), fixed]
        };
        self.open_box.fill_literals(slots, literal);
        self.open_box.sweep(slots);
        let base = slots[root][0].0;
        let mut scores = vec![[0.0; N]; circuit.variables()];
        for (player, &var) in players.iter().enumerate() {
            self.watch.step(explanations.len() as u64, self.total as u64)?;
            slots[literal_slot(player, true)] = vec![Lanes([1.0; N])];
            slots[literal_slot(player, false)] = vec![Lanes([-1.0; N])];
            self.open_box.sweep(slots);
            let mut sum = Lanes::zero();
            for (&weight, difference) in self.weights.iter().zip(&slots[root]) {
                sum.add_product(&Lanes([weight; N]), difference);
            }
            let p = self.distribution.floats()[var.index()];
            scores[var.index()] = std::array::from_fn(|lane| (bit(value(lane, var)) - p) * sum.0[lane]);
            self.open_box.fill_literals_of(slots, player, literal);
        }
        let words: Vec<u64> = (0..circuit.variables())
            .map(|v| (0..block.len()).fold(0, |word, lane| word | u64::from(value(lane, Var::new(v))) << lane))
            .collect();
        let labels = evaluator.words(&words)?;
        for (lane, &base_value) in base.iter().enumerate().take(block.len()) {
            let explanation = Explanation {
                base_value,
                prediction: labels >> lane & 1 == 1,
                scores: scores.iter().map(|score| score[lane]).collect(),
            };
            explanation.check_sum(explanations.len())?;
            explanations.push(explanation);
        }
        Ok(())
    }
}
