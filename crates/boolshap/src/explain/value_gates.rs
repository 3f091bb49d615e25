//! The features and gates of a value: selects the method for each gate, and computes the scores of one row.

use super::gate_chances::{Chances, Forms, Rules};
use super::gate_forms::{self, Pair};
use super::gate_sums::{self, Fixed, GateSum, Mover, Scalar};
use super::index::pairs;
use super::starts::Starts;
use super::{EntityProblem, ExplainError, Index, Players, error_bound};
use crate::circuit::{PackedGate, Part};
use crate::data::{Bits, PackedRows};
use crate::lit::{Stopped, Watch};
use dashu_ratio::RBig;
use pulp::Arch;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The limit on the sum of a gate's weights times its players: the count of numbers stored for a point.
const MAX_CELLS: u128 = 1 << 26;

/// How many numbers are added at once.
const LANES: usize = 8;

/// The gates and features of a value.
pub(super) struct Gates {
    pub(super) features: Vec<(usize, usize)>,
    /// Gates with closed forms, and gates explained by sums.
    pub(super) closed: Vec<PlayedGate>,
    pub(super) summed: Vec<PlayedGate>,
    pub(super) players: Players,
    pub(super) starts: Option<Starts>,
    /// The background rows, packed, and the gates' signs of each feature, side by side.
    pub(super) rows: Option<PackedRows>,
    pub(super) signs: Vec<u8>,
    pub(super) forms: Forms,
    pub(super) rules: Rules,
    pub(super) arch: Arch,
}

/// The two scores of a gate for each number of agreeing inputs, computed on first use.
type UniformScores = Arc<[OnceLock<Pair<f64>>]>;

/// A gate and its players.
pub(super) struct PlayedGate {
    pub(super) part: usize,
    pub(super) packed: PackedGate,
    pub(super) inputs: usize,
    pub(super) need: usize,
    pub(super) range: usize,
    pub(super) players: Vec<GatePlayer>,
    /// Scores by the number of agreeing inputs, shared by all gates that differ only in their signs.
    pub(super) uniform: UniformScores,
}

/// A player with those of its features that the gate weighs, or with all of them if they are the values of a column.
pub(super) struct GatePlayer {
    player: usize,
    one_hot: bool,
    features: Vec<(usize, i64)>,
}

impl Gates {
    pub(super) fn new(parts: &[Part], players: &Players, starts: Option<&Starts>) -> Result<Self, ExplainError> {
        let alone = players.len() == players.feature_count() && (0..players.len()).all(|p| !players.is_one_hot(p));
        let mut gates = Gates {
            features: Vec::new(),
            closed: Vec::new(),
            summed: Vec::new(),
            players: players.clone(),
            starts: starts.cloned(),
            rows: None,
            signs: Vec::new(),
            forms: Forms::new(players.feature_count()),
            rules: Rules::default(),
            arch: Arch::new(),
        };
        let mut known: HashMap<(usize, usize), UniformScores> = HashMap::new();
        for (number, part) in parts.iter().enumerate() {
            match part {
                Part::Feature(var) => gates.features.push((number, var.index())),
                Part::Gate(gate) => {
                    let mut played = PlayedGate::new(number, gate, players)?;
                    let own = played.uniform.clone();
                    played.uniform = known.entry((played.inputs, played.need)).or_insert(own).clone();
                    match alone && starts.is_some_and(|starts| played.has_form(starts)) {
                        true => gates.closed.push(played),
                        false => gates.summed.push(played),
                    }
                }
                Part::Circuit(_) | Part::Diagram(_) => {}
            }
        }
        if let Some(Starts::Rows(sample)) = starts {
            gates.rows = Some(PackedRows::from_bits(&sample.rows));
        } else {
            let inputs: Vec<usize> = gates.closed.iter().map(|gate| gate.inputs).collect();
            gates.forms.prepare(&inputs);
        }
        gates.signs = gates.signs_by_feature();
        Ok(gates)
    }

    /// For each feature and each gate with a closed form: 1 or 0 for the sign of its weight, 2 for no weight.
    fn signs_by_feature(&self) -> Vec<u8> {
        let bit = |words: &[u64], feature: usize| words[feature / 64] >> (feature % 64) & 1 == 1;
        let sign = |feature: usize, gate: &PlayedGate| match &gate.packed {
            PackedGate::Signs { support, positive, .. } if bit(support, feature) => u8::from(bit(positive, feature)),
            _ => 2,
        };
        let features = 0..self.players.feature_count();
        features.flat_map(|feature| self.closed.iter().map(move |gate| sign(feature, gate))).collect()
    }

    /// The probability that a gate is true when nothing is known.
    pub(super) fn base_value<T: Chances>(&self, part: usize, starts: &Starts) -> T {
        let Some(gate) = self.closed.iter().chain(&self.summed).find(|gate| gate.part == part) else {
            return T::zero();
        };
        match (&self.rows, starts) {
            (Some(rows), starts) => {
                let ones = (0..rows.rows()).filter(|&row| gate.packed.holds(rows.row(row)));
                ones.fold(T::zero(), |sum, row| sum.plus(&T::share(starts, row)))
            }
            (None, _) if self.closed.iter().any(|closed| closed.part == part) => T::uniform_base(gate, &self.forms),
            // All players are absent, so it does not matter which of them move.
            (None, starts) => gate.sum::<T>(&vec![false; self.players.feature_count()], starts, 0, true).base_value(),
        }
    }

    /// Stores the error bound of each part's scores at the part's index.
    pub(super) fn error_bounds(&self, index: Index, bounds: &mut [f64]) {
        let parts = self.closed.iter().chain(&self.summed).map(|gate| gate.part);
        let parts = parts.chain(self.features.iter().map(|(part, _)| *part));
        parts.for_each(|part| bounds[part] = self.error_bound(part, index));
    }

    fn error_bound(&self, part: usize, index: Index) -> f64 {
        let starts = self.starts.as_ref().map_or(1, Starts::len);
        let adding = error_bound::in_all(2.0 + error_bound::additions(starts).max(starts) as f64);
        if let Some(gate) = self.closed.iter().find(|gate| gate.part == part && index == Index::Shapley) {
            return gate_forms::error_bound(gate.inputs) + adding;
        }
        let of = |gate: &PlayedGate| {
            let once = gate_sums::error_bound(gate.players.len(), gate.most_values(), gate.range);
            if index == Index::Interaction { 2.0 * once } else { once }
        };
        let gate = self.closed.iter().chain(&self.summed).find(|gate| gate.part == part);
        // A feature is rounded, and so is its difference from the value.
        gate.map_or(error_bound::in_all(4.0), of) + adding
    }

    /// The approximate number of steps per row.
    pub(super) fn steps(&self, index: Index) -> u128 {
        let starts = self.starts.as_ref().map_or(1, Starts::len) as u128;
        let of = |gate: &PlayedGate| {
            let players = gate.players.len() as u128;
            let once = players * gate.range as u128;
            match index {
                Index::Banzhaf => once,
                Index::Shapley => once * players.div_ceil(2),
                _ => once * players.div_ceil(2) * players,
            }
        };
        let forms: u128 = match index {
            Index::Shapley => self.closed.iter().map(|gate| gate.inputs as u128 / 8).sum(),
            _ => self.closed.iter().map(of).sum(),
        };
        starts * (forms + self.summed.iter().map(of).sum::<u128>())
    }

    /// The scores of a row, for each of several weightings of all parts.
    pub(super) fn scores<T: Chances>(
        &self,
        rows: &Bits,
        row: usize,
        index: Index,
        weights: &[Vec<T>],
        watch: &Watch<'_>,
    ) -> Result<Vec<Vec<T>>, ExplainError> {
        let mut scores = vec![vec![T::zero(); index.width(self.players.len())]; weights.len()];
        let Some(starts) = &self.starts else { return Ok(scores) };
        let entity = rows.row(row);
        if index != Index::Interaction {
            self.add_features(&entity, starts, weights, &mut scores);
        }
        let mut summed: Vec<&PlayedGate> = self.summed.iter().collect();
        match (index, &self.rows) {
            (Index::Shapley, Some(_)) => T::add_background(self, &packed(&entity), weights, &mut scores),
            (Index::Shapley, None) => self.add_uniform(&packed(&entity), weights, &mut scores),
            _ => summed.extend(&self.closed),
        }
        for gate in summed {
            let own = self.by_sums::<T>(gate, &entity, starts, index, watch)?;
            for (scores, weights) in scores.iter_mut().zip(weights).filter(|(_, w)| !w[gate.part].is_zero()) {
                let weight = &weights[gate.part];
                scores.iter_mut().zip(&own).for_each(|(sum, score)| *sum = sum.plus(&weight.times(score)));
            }
        }
        Ok(scores)
    }

    /// The score of a feature is its value less the expected one.
    fn add_features<T: Chances>(&self, entity: &[bool], starts: &Starts, weights: &[Vec<T>], scores: &mut [Vec<T>]) {
        for &(part, feature) in &self.features {
            let mean = (0..starts.len()).fold(T::zero(), |sum, start| {
                sum.plus(&T::share(starts, start).times(&T::both(starts, start, feature)[0]))
            });
            let worth = if entity[feature] { T::one() } else { T::zero() }.minus(&mean);
            for (scores, weights) in scores.iter_mut().zip(weights) {
                let score = &mut scores[self.players.of(feature)];
                *score = score.plus(&weights[part].times(&worth));
            }
        }
    }

    /// Adds gates with closed forms under the uniform distribution: two numbers each, with the contributions to all
    /// sums side by side.
    fn add_uniform<T: Chances>(&self, words: &[u64], weights: &[Vec<T>], scores: &mut [Vec<T>]) {
        let (gates, count) = (self.closed.len(), weights.len());
        if gates == 0 || count == 0 {
            return;
        }
        // Rounded up to whole vector registers.
        let width = count.next_multiple_of(LANES);
        // For each gate, its contributions to features that disagree, then to those that agree.
        let mut sides = vec![T::zero(); 2 * gates * width];
        for (gate, sides) in self.closed.iter().zip(sides.chunks_exact_mut(2 * width)) {
            let [to, away] = T::uniform(gate, &self.forms, gate.agreeing(words));
            let away = T::zero().minus(&away);
            for (at, weights) in weights.iter().enumerate() {
                sides[at] = weights[gate.part].times(&away);
                sides[width + at] = weights[gate.part].times(&to);
            }
        }
        self.arch.dispatch(|| {
            for (feature, signs) in self.signs.chunks_exact(gates).enumerate() {
                let value = u8::from(words[feature / 64] >> (feature % 64) & 1 == 1);
                let player = self.players.of(feature);
                for (first, scores) in scores.chunks_mut(LANES).enumerate() {
                    let mut sums: [T; LANES] = std::array::from_fn(|_| T::zero());
                    for (place, &sign) in signs.iter().enumerate().filter(|(_, sign)| **sign < 2) {
                        // No branch, since it would be unpredictable.
                        let side = (2 * place + usize::from(sign == value)) * width + first * LANES;
                        let side = &sides[side..][..LANES];
                        (0..LANES).for_each(|lane| sums[lane] = sums[lane].plus(&side[lane]));
                    }
                    scores.iter_mut().zip(&sums).for_each(|(scores, sum)| scores[player] = scores[player].plus(sum));
                }
            }
        });
    }

    /// Any gate, by the distribution of its sum.
    fn by_sums<T: Chances>(
        &self,
        gate: &PlayedGate,
        entity: &[bool],
        starts: &Starts,
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<T>, ExplainError> {
        let players = self.players.len();
        let mut scores = vec![T::zero(); index.width(players)];
        for start in 0..starts.len() {
            let sum = gate.sum::<T>(entity, starts, start, false);
            if sum.movers.is_empty() {
                continue;
            }
            let share = T::share(starts, start);
            let mut add = |place: usize, gain: &T| {
                scores[place] = scores[place].plus(&share.times(gain));
            };
            match index {
                Index::Shapley => {
                    let count = sum.movers.len();
                    let gains = integrated(count, count, &self.rules, watch, |t| sum.gains(t, None))?;
                    sum.movers.iter().zip(&gains).for_each(|(mover, gain)| add(mover.player, gain));
                }
                Index::Banzhaf => {
                    watch.check()?;
                    let gains = sum.gains(&T::half(), None);
                    sum.movers.iter().zip(&gains).for_each(|(mover, gain)| add(mover.player, gain));
                }
                // Other indices have been refused before.
                _ => {
                    let found = interactions_of(sum.movers.len(), &self.rules, watch, |t, fixed| sum.gains(t, fixed))?;
                    for ((i, j), gain) in pairs(sum.movers.len()).zip(&found) {
                        let (one, other) = (sum.movers[i].player, sum.movers[j].player);
                        add(Index::Interaction.place(players, &[one.min(other), one.max(other)]), gain);
                    }
                }
            }
        }
        Ok(scores)
    }
}

/// Integrates the gains of `movers` moving players over the path, along which their degree is below `degree`.
pub(super) fn integrated<T: Chances>(
    movers: usize,
    degree: usize,
    rules: &Rules,
    watch: &Watch<'_>,
    gains: impl Fn(&T) -> Vec<T>,
) -> Result<Vec<T>, Stopped> {
    let mut all = vec![T::zero(); movers];
    for (at, weight) in T::points(degree, rules).iter() {
        watch.check()?;
        let gains = gains(at);
        all.iter_mut().zip(&gains).for_each(|(all, gain)| *all = all.plus(&weight.times(gain)));
    }
    Ok(all)
}

/// The interactions of all pairs of movers, from their gains. Checks that those of each player add up to its gain as
/// the last to come, less that as the first.
pub(super) fn interactions_of<T: Chances>(
    movers: usize,
    rules: &Rules,
    watch: &Watch<'_>,
    gains: impl Fn(&T, Option<Fixed>) -> Vec<T>,
) -> Result<Vec<T>, ExplainError> {
    let mut found = Vec::new();
    let mut totals = vec![T::zero(); movers];
    for mover in 0..movers {
        let gained = |t: &T| -> Vec<T> {
            let [with, without] = [true, false].map(|is_in| gains(t, Some(Fixed { mover, is_in })));
            with.iter().zip(&without).map(|(with, without)| with.minus(without)).collect()
        };
        let gained = integrated(movers, movers - 1, rules, watch, gained)?;
        for (other, gain) in gained.into_iter().enumerate().skip(mover + 1) {
            totals[mover] = totals[mover].plus(&gain);
            totals[other] = totals[other].plus(&gain);
            found.push(gain);
        }
    }
    let (first, last) = (gains(&T::zero(), None), gains(&T::one(), None));
    for (player, total) in totals.iter().enumerate() {
        let gain = last[player].minus(&first[player]);
        if !total.agrees(&gain) {
            let problem = EntityProblem::InteractionsDoNotAddUp { player, sum: total.text(), gain: gain.text() };
            return Err(ExplainError::Entity { entity: 0, problem });
        }
    }
    Ok(found)
}

impl PlayedGate {
    fn new(part: usize, gate: &crate::model::Gate, players: &Players) -> Result<Self, ExplainError> {
        let mut of: Vec<GatePlayer> = Vec::new();
        let mut place: Vec<Option<usize>> = vec![None; players.len()];
        let touched: Vec<bool> = {
            let mut touched = vec![false; players.len()];
            let weighed = gate.weights().iter().enumerate().filter(|(_, weight)| **weight != 0);
            weighed.for_each(|(feature, _)| touched[players.of(feature)] = true);
            touched
        };
        let too_wide = ExplainError::GateTooWide { total: gate.total().to_string() };
        let count = touched.iter().filter(|touched| **touched).count() as u128;
        if gate.total().saturating_mul(count.max(1)) > MAX_CELLS {
            return Err(too_wide);
        }
        for (feature, &weight) in gate.weights().iter().enumerate() {
            let player = players.of(feature);
            let one_hot = players.is_one_hot(player);
            if touched[player] && (one_hot || weight != 0) {
                let place = *place[player].get_or_insert_with(|| {
                    of.push(GatePlayer { player, one_hot, features: Vec::new() });
                    of.len() - 1
                });
                of[place].features.push((feature, weight as i64));
            }
        }
        let inputs = gate.weights().iter().filter(|weight| **weight != 0).count();
        let (need, range) = (gate.need() as usize, gate.total() as usize + 1);
        let uniform = (0..=inputs).map(|_| OnceLock::new()).collect();
        Ok(PlayedGate { part, packed: PackedGate::new(gate), inputs, need, range, players: of, uniform })
    }

    /// Whether it has a closed form, with every feature a player.
    fn has_form(&self, starts: &Starts) -> bool {
        let PackedGate::Signs { .. } = self.packed else { return false };
        match starts {
            Starts::Rows(_) => true,
            Starts::One(given) => {
                let half = RBig::from_parts(1.into(), 2u8.into());
                let mut features = self.players.iter().flat_map(|player| &player.features);
                features.all(|(feature, _)| given.exact()[*feature] == half)
            }
        }
    }

    /// The most values that a player can have.
    fn most_values(&self) -> usize {
        let values = |player: &GatePlayer| match player.one_hot {
            true => player.features.len(),
            false => player.features.iter().map(|(_, weight)| weight.unsigned_abs() as usize).sum::<usize>() + 1,
        };
        self.players.iter().map(values).max().unwrap_or(0)
    }

    /// The number of inputs that agree with the sign of their weight.
    fn agreeing(&self, row: &[u64]) -> usize {
        let PackedGate::Signs { support, positive, .. } = &self.packed else { return 0 };
        let words = support.iter().zip(positive).zip(row);
        words.map(|((s, p), x)| (!(p ^ x) & s).count_ones() as usize).sum()
    }

    /// The sum of the gate for an entity from a start; includes players that do not move if `all`.
    fn sum<T: Chances>(&self, entity: &[bool], starts: &Starts, start: usize, all: bool) -> GateSum<T> {
        let mut sum = GateSum { movers: Vec::new(), need: self.need };
        for player in &self.players {
            let weighs = |feature: usize, weight: i64, value: bool| match (weight > 0) == value {
                true => (feature, weight.unsigned_abs() as usize).1,
                false => 0,
            };
            let inside =
                player.features.iter().map(|&(feature, weight)| weighs(feature, weight, entity[feature])).sum();
            let outside = match player.one_hot {
                true => player.of_column(starts, start),
                false => player.of_bits(starts, start),
            };
            let mover = Mover { player: player.player, inside, outside };
            match all || mover.moves() {
                true => sum.movers.push(mover),
                false => sum.need = sum.need.saturating_sub(inside),
            }
        }
        sum
    }
}

impl GatePlayer {
    /// The weights of a column's values, with their probabilities.
    fn of_column<T: Chances>(&self, starts: &Starts, start: usize) -> Vec<(usize, T)> {
        let absent: usize = self
            .features
            .iter()
            .filter(|(_, weight)| *weight < 0)
            .map(|(_, weight)| weight.unsigned_abs() as usize)
            .sum();
        let mut outside: Vec<(usize, T)> = Vec::new();
        for &(feature, weight) in &self.features {
            let weighs = (absent as i64 + weight) as usize;
            add_chance(&mut outside, weighs, T::both(starts, start, feature)[0].clone());
        }
        outside
    }

    /// The joint weights of independent bits, with their probabilities.
    fn of_bits<T: Chances>(&self, starts: &Starts, start: usize) -> Vec<(usize, T)> {
        let mut outside = vec![(0, T::one())];
        for &(feature, weight) in &self.features {
            let [one, zero] = T::both(starts, start, feature);
            let (counts, not) = if weight > 0 { (one, zero) } else { (zero, one) };
            let mut next: Vec<(usize, T)> = Vec::new();
            for (weighs, chance) in &outside {
                add_chance(&mut next, weighs + weight.unsigned_abs() as usize, chance.times(&counts));
                add_chance(&mut next, *weighs, chance.times(&not));
            }
            outside = next;
        }
        outside
    }
}

fn add_chance<T: Scalar>(all: &mut Vec<(usize, T)>, weight: usize, chance: T) {
    if chance.is_zero() {
        return;
    }
    match all.iter_mut().find(|(other, _)| *other == weight) {
        Some((_, sum)) => *sum = sum.plus(&chance),
        None => all.push((weight, chance)),
    }
}

/// A row as words.
fn packed(entity: &[bool]) -> Vec<u64> {
    let mut words = vec![0; entity.len().div_ceil(64).max(1)];
    entity.iter().enumerate().for_each(|(feature, &value)| words[feature / 64] |= u64::from(value) << (feature % 64));
    words
}
