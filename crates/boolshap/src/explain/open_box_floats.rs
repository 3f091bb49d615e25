//! The open-box algorithm in floats, eight sweeps at once.
//!
//! A sweep belongs to one entity and one feature x, or to no feature for the base value. The lanes of a vector hold
//! eight sweeps, of any entities and features: a difference has one coefficient fewer than a plain vector, so it gets a
//! zero on top, which products and sums keep on top. A single entity thus fills the lanes with its features.

use super::error_bound;
use super::open_box::literal_slot;
use super::polynomial::{Coefficient, LANES, Lanes};
use super::{ExplainError, Explanation, OpenBox, Probabilities};
use crate::circuit::CircuitEvaluator;
use crate::lit::{Var, Watch};

impl OpenBox {
    /// The most mentioned features that [`OpenBox::explain`] takes: beyond, binomial coefficients exceed the range of
    /// floats.
    pub const MAX_FEATURES: usize = 1000;

    /// Bounds the error of base value and scores in floats for any row. With the literals of x positive, the
    /// coefficients of the root would be at most 2 (n-1 over k), which their weights divide by; the signs of x change
    /// no rounding. So the roundings of the worst coefficient count twice; the rest is for weights and the last sum.
    pub fn error_bound(&self) -> f64 {
        error_bound::in_all(2.0 * self.roundings() + 6.0 * self.players.len() as f64 + 8.0)
    }

    /// The scores of these entities in floats.
    pub fn explain<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Probabilities,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<f64>>, ExplainError> {
        self.check(entities, distribution)?;
        let players = self.players.len();
        if players > Self::MAX_FEATURES {
            let (engine, limit) = ("the open-box algorithm in floats", Self::MAX_FEATURES);
            return Err(ExplainError::TooManyFeatures { features: players, engine, limit });
        }
        let weights = order_weights(players);
        error_bound::check(self.error_bound())?;
        let chance = |var: &Var| [distribution.floats()[var.index()], distribution.complements()[var.index()]];
        let chances: Vec<[f64; 2]> = self.players.iter().map(chance).collect();
        let mut explanations = self.predictions(entities)?;
        let mut slots = self.empty_slots(Lanes([1.0; LANES]));
        // Sweep number s is for entity s / (players + 1): its features one by one, then none.
        let sweeps = entities.len() * (players + 1);
        for first in (0..sweeps).step_by(LANES) {
            watch.step((first / (players + 1)) as u64, entities.len() as u64)?;
            // Lanes past the last sweep repeat it.
            let lanes: [Sweep<'_>; LANES] = std::array::from_fn(|lane| {
                let sweep = (first + lane).min(sweeps - 1);
                Sweep { entity: entities[sweep / (players + 1)].as_ref(), feature: sweep % (players + 1) }
            });
            for player in 0..players {
                for value in [true, false] {
                    slots[literal_slot(player, value)] = self.literal(player, value, chances[player], &lanes);
                }
            }
            self.sweep(&mut slots);
            let root = &slots[self.root];
            let mut sums = Lanes::zero();
            for (&weight, difference) in weights.iter().zip(root) {
                sums.add_product(&Lanes([weight; LANES]), difference);
            }
            for (lane, sweep) in (first..sweeps.min(first + LANES)).enumerate() {
                let explanation = &mut explanations[sweep / (players + 1)];
                match self.players.get(lanes[lane].feature) {
                    Some(var) => {
                        let [one, zero] = chances[lanes[lane].feature];
                        let way = if lanes[lane].entity[var.index()] { zero } else { -one };
                        explanation.scores[var.index()] = way * sums.0[lane];
                    }
                    None => {
                        explanation.base_value = root[0].0[lane];
                        explanation.check_sum(sweep / (players + 1))?;
                    }
                }
            }
        }
        Ok(explanations)
    }

    /// The vector of a literal in each lane's sweep.
    fn literal(&self, player: usize, value: bool, chance: [f64; 2], lanes: &[Sweep<'_>; LANES]) -> Vec<Lanes> {
        let random = chance[usize::from(!value)];
        let var = self.players[player].index();
        let both = lanes.each_ref().map(|sweep| match sweep.feature == player {
            true => (if value { 1.0 } else { -1.0 }, 0.0),
            false => (random, f64::from(u8::from(sweep.entity[var] == value))),
        });
        vec![Lanes(both.map(|(constant, _)| constant)), Lanes(both.map(|(_, linear)| linear))]
    }

    /// Explanations with only the predictions filled in, by plain evaluation of the circuit.
    fn predictions<E: AsRef<[bool]>>(&self, entities: &[E]) -> Result<Vec<Explanation<f64>>, ExplainError> {
        let features = self.circuit.variables();
        let mut evaluator = CircuitEvaluator::new(&self.circuit);
        let mut explanations = Vec::with_capacity(entities.len());
        for block in entities.chunks(64) {
            let bit = |row: usize, var: Var| u64::from(block[row].as_ref()[var.index()]) << row;
            let words: Vec<u64> =
                (0..features).map(|v| (0..block.len()).fold(0, |word, row| word | bit(row, Var::new(v)))).collect();
            let labels = evaluator.words(&words)?;
            explanations.extend((0..block.len()).map(|row| Explanation {
                base_value: 0.0,
                prediction: labels >> row & 1 == 1,
                scores: vec![0.0; features],
            }));
        }
        Ok(explanations)
    }
}

/// The sweep of a lane; `feature` is the feature's index among the players, or their number for none.
struct Sweep<'e> {
    entity: &'e [bool],
    feature: usize,
}

/// k! (n-k-1)! / n! for every k below n, each computed from the previous one, so that no factorial overflows.
fn order_weights(players: usize) -> Vec<f64> {
    (0..players)
        .scan(0.0, |weight, k| {
            *weight = if k == 0 { 1.0 / players as f64 } else { *weight * k as f64 / (players - k) as f64 };
            Some(*weight)
        })
        .collect()
}
