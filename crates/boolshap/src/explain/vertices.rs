//! v of every set of players in floats, for games that have no polynomial: quotients, and players of several features.
//!
//! Every set takes a separate sweep, in positive arithmetic (`value_sweep`), so that a quotient of two rare events is
//! as exact as a common one. If a product of weights can be too small for `f64`, wide floats replace it. This choice
//! depends on the weights alone, so a row's scores do not depend on the other rows. Cost: 2^n sweeps, eight at a time.

use super::error_bound::{BLOCK, additions};
use super::game::playing;
use super::lanes::LANES;
use super::starts::{Starts, is};
use super::value_sweep::{Positive, ValueSweep};
use super::ways::Weighted;
use super::wide_float::WideFloat;
use super::{EntityProblem, ExplainError, Players};
use crate::lit::{Stopped, Var, Watch};
use dashu_ratio::RBig;
use pulp::Arch;
use std::sync::Arc;

/// The number of sets between two checks of the watch.
const LOOK_AFTER: usize = 64 * LANES;

/// Products of weights from this power of two on cannot underflow.
const SMALLEST_EXPONENT: i64 = -960;

/// One circuit, or the quotient of two, prepared for evaluation.
pub(super) struct Vertices {
    above: ValueSweep,
    below: Option<ValueSweep>,
    starts: Arc<Starts>,
    one_hot: Vec<bool>,
    /// The players that matter.
    pub(super) playing: Vec<usize>,
    /// The index in `playing` of each feature's player; `None` for features of other players.
    place_of: Vec<Option<usize>>,
    /// The weights, if they need wide floats.
    wide: Option<Vec<[WideFloat; 2]>>,
    arch: Arch,
}

impl Vertices {
    pub(super) fn new(above: &Weighted, below: Option<&Weighted>, starts: &Arc<Starts>, players: &Players) -> Self {
        let one_hot = above.one_hot.clone();
        let [above, below] = [Some(above), below].map(|weighted| weighted.map(|one| ValueSweep::new(&one.circuit)));
        let above = above.expect("there is always one above");
        let mentioned: Vec<Var> =
            [Some(&above), below.as_ref()].into_iter().flatten().flat_map(|sweep| sweep.mentioned.clone()).collect();
        let playing = playing(players, &mentioned);
        let place = |feature: usize| playing.binary_search(&players.of(feature)).ok();
        let place_of = (0..players.feature_count()).map(place).collect();
        let wide = match (&**starts, &below) {
            (Starts::One(probabilities), Some(_)) => wide_weights(probabilities.exact(), &one_hot, &mentioned),
            _ => None,
        };
        Vertices { above, below, starts: starts.clone(), one_hot, playing, place_of, wide, arch: Arch::new() }
    }

    /// The number of nodes visited for all sets.
    pub(super) fn visits(&self) -> u128 {
        let nodes = self.above.nodes() + self.below.as_ref().map_or(0, ValueSweep::nodes);
        (self.starts.len() as u128 * nodes as u128) << self.playing.len()
    }

    /// The largest error of v of a set, in units of rounding.
    pub(super) fn roundings(&self) -> f64 {
        let sums = (additions(self.starts.len()) + 2) as f64;
        self.above.roundings + self.below.as_ref().map_or(sums, |below| below.roundings + 1.0)
    }

    /// v of the empty set.
    pub(super) fn of_nobody(&self) -> Result<f64, ExplainError> {
        let nobody = vec![false; self.place_of.len()];
        Ok(self.of_first_sets(1, &nobody, &Watch::unlimited())?[0])
    }

    /// v of all sets of the players that matter.
    pub(super) fn of_all_sets(&self, entity: &[bool], watch: &Watch<'_>) -> Result<Vec<f64>, ExplainError> {
        self.of_first_sets(1 << self.playing.len(), entity, watch)
    }

    fn of_first_sets(&self, sets: usize, entity: &[bool], watch: &Watch<'_>) -> Result<Vec<f64>, ExplainError> {
        match (&self.below, &self.wide) {
            (None, _) => Ok(self.means(sets, entity, watch)?),
            (Some(below), None) => self.quotients(below, sets, |var| self.starts.both(0, var), entity, watch),
            (Some(below), Some(wide)) => self.quotients(below, sets, |var| wide[var], entity, watch),
        }
    }

    /// The mean over the starts, in blocks.
    fn means(&self, sets: usize, entity: &[bool], watch: &Watch<'_>) -> Result<Vec<f64>, Stopped> {
        let mut means = vec![0.0; sets];
        let starts: Vec<usize> = (0..self.starts.len()).collect();
        for block in starts.chunks(BLOCK) {
            let mut part = vec![0.0; sets];
            for &start in block {
                let values = self.values(&self.above, sets, |var| self.starts.both(start, var), entity, watch)?;
                part.iter_mut().zip(values).for_each(|(sum, value)| *sum += self.starts.share(start) * value);
            }
            means.iter_mut().zip(part).for_each(|(mean, part)| *mean += part);
        }
        Ok(means)
    }

    fn quotients<T: Positive>(
        &self,
        below: &ValueSweep,
        sets: usize,
        absent: impl Fn(usize) -> [T; 2],
        entity: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Vec<f64>, ExplainError> {
        let above = self.values(&self.above, sets, &absent, entity, watch)?;
        let below = self.values(below, sets, &absent, entity, watch)?;
        let quotient = |(above, below): (T, T)| match below.is_zero() {
            true => Err(ExplainError::Entity { entity: 0, problem: EntityProblem::ZeroProbability }),
            false => Ok(above.over(below)),
        };
        above.into_iter().zip(below).map(quotient).collect()
    }

    /// The value of a circuit for each of the first sets of players.
    fn values<T: Positive>(
        &self,
        sweep: &ValueSweep,
        sets: usize,
        absent: impl Fn(usize) -> [T; 2],
        entity: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Vec<T>, Stopped> {
        let mut memory = sweep.memory::<T>(entity.len());
        let mut values = Vec::with_capacity(sets.next_multiple_of(LANES));
        for first in (0..sets).step_by(LANES) {
            if first % LOOK_AFTER == 0 {
                watch.check()?;
            }
            for var in sweep.mentioned.iter().map(|var| var.index()) {
                let (present, absent) = (is(entity[var]), absent(var));
                let is_in = |set: usize| self.place_of[var].is_some_and(|place| set >> place & 1 == 1);
                for lane in 0..LANES {
                    let [x, not_x] = if is_in(first + lane) { present } else { absent };
                    memory.weights[var][0][lane] = x;
                    memory.weights[var][1][lane] = if self.one_hot[var] { T::ONE } else { not_x };
                }
            }
            values.extend(self.arch.dispatch(|| sweep.value(&mut memory)));
        }
        values.truncate(sets);
        Ok(values)
    }
}

/// The weights of all features as wide floats, if a product of them could be too small for `f64`.
fn wide_weights(probabilities: &[RBig], one_hot: &[bool], mentioned: &[Var]) -> Option<Vec<[WideFloat; 2]>> {
    let both = |p: &RBig| [p.clone(), RBig::ONE - p].map(|weight| WideFloat::from_fraction(&weight));
    let weights: Vec<[WideFloat; 2]> = probabilities.iter().map(both).collect();
    let mut variables: Vec<usize> = mentioned.iter().map(|var| var.index()).collect();
    variables.sort_unstable();
    variables.dedup();
    let smallest = |&var: &usize| {
        // The negation of a one-hot bit weighs 1.
        let count = if one_hot[var] { 1 } else { 2 };
        weights[var][..count].iter().filter(|weight| !weight.is_zero()).map(|weight| weight.exponent()).min()
    };
    let exponent: i64 = variables.iter().filter_map(smallest).sum();
    (exponent < SMALLEST_EXPONENT).then_some(weights)
}
