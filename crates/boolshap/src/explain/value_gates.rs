//! The features and gates of a value: which way each gate is explained, and the scores of one row.

use super::factorials::Factorials;
use super::gate_forms::{self, Pair, UniformForm};
use super::gate_sums::{self, Fixed, GateSum, Mover, Scalar, whole_points};
use super::index::pairs;
use super::quadrature::gauss_legendre;
use super::starts::Starts;
use super::{EntityProblem, ExplainError, Index, Players, error_bound};
use crate::circuit::{PackedGate, Part};
use crate::data::{Bits, PackedRows};
use crate::lit::{Stopped, Watch};
use dashu::integer::UBig;
use dashu::rational::RBig;
use pulp::Arch;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The most that the weights of a gate may add up to, times its players: so many numbers are kept for a point.
const MAX_CELLS: u128 = 1 << 26;
/// How many pairs of scores are kept.
const MAX_KEPT: usize = 1 << 20;

/// Floats or fractions, with what a population gives them.
pub(super) trait Chances: Scalar {
    /// The chances of a feature to be 1 and 0.
    fn both(starts: &Starts, start: usize, feature: usize) -> [Self; 2];
    fn share(starts: &Starts, start: usize) -> Self;
    /// The points and weights that integrate the gains of so many players.
    fn points(players: usize, rules: &Rules) -> Points<Self>;
    fn half() -> Self;
    /// A float as exactly what it is.
    fn of_float(number: f64) -> Self;
    /// Whether two numbers are the same but for rounding.
    fn agrees(&self, other: &Self) -> bool;
    fn text(&self) -> String;
    fn uniform(gate: &PlayedGate, forms: &Forms, agreeing: usize) -> Pair<Self>;
    fn uniform_base(gate: &PlayedGate, forms: &Forms) -> Self;
    fn background(forms: &Forms, p: usize, q: usize, missing: i64) -> Pair<Self>;
    /// The scores of the gates with closed forms against background rows.
    fn add_background(gates: &Gates, words: &[u64], weights: &[Vec<Self>], scores: &mut [Vec<Self>]);
}

/// Points with their weights.
type Points<T> = Arc<Vec<(T, T)>>;

/// Rules of quadrature, each made once.
#[derive(Default)]
pub(super) struct Rules {
    floats: Mutex<HashMap<usize, Points<f64>>>,
    fractions: Mutex<HashMap<usize, Points<RBig>>>,
}

/// What closed forms are made of.
pub(super) struct Forms {
    factorials: Arc<Factorials>,
    exact_factorials: OnceLock<Vec<UBig>>,
    most: usize,
    uniform: HashMap<usize, UniformForm>,
    /// Scores against background rows by (p, q, need - c).
    kept: RwLock<HashMap<(u32, u32, i32), Pair<f64>>>,
}

/// The gates and features of a value.
pub(super) struct Gates {
    features: Vec<(usize, usize)>,
    /// With closed forms, and by sums.
    closed: Vec<PlayedGate>,
    summed: Vec<PlayedGate>,
    players: Players,
    starts: Option<Starts>,
    /// The background rows, packed, and the gates' sign of each feature, one gate beside the other.
    rows: Option<PackedRows>,
    signs: Vec<u8>,
    forms: Forms,
    pub(super) rules: Rules,
    arch: Arch,
}

/// A gate and its players.
pub(super) struct PlayedGate {
    part: usize,
    packed: PackedGate,
    inputs: usize,
    need: usize,
    range: usize,
    players: Vec<GatePlayer>,
    /// Scores by the number of agreeing inputs.
    uniform: Vec<OnceLock<Pair<f64>>>,
}

/// A player with those of its features that the gate weighs; all of them if they are the values of a column.
struct GatePlayer {
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
        for (number, part) in parts.iter().enumerate() {
            match part {
                Part::Feature(var) => gates.features.push((number, var.index())),
                Part::Gate(gate) => {
                    let played = PlayedGate::new(number, gate, players)?;
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

    /// How often a gate is true when nothing is known.
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
            // Nobody has come, so it does not matter who would.
            (None, starts) => gate.sum::<T>(&vec![false; self.players.feature_count()], starts, 0, true).base_value(),
        }
    }

    /// How far the scores of each part can be off, in the places of these.
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

    /// About how many steps a row takes.
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

    /// The scores of a row, for each of some weighings of all parts.
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

    /// A feature is worth its value less the expected one.
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

    /// Gates with closed forms under the uniform distribution: two numbers each, what they add to all sums side by side.
    fn add_uniform<T: Chances>(&self, words: &[u64], weights: &[Vec<T>], scores: &mut [Vec<T>]) {
        let (gates, count) = (self.closed.len(), weights.len());
        if gates == 0 || count == 0 {
            return;
        }
        let (mut agree, mut differ) = (Vec::with_capacity(gates * count), Vec::with_capacity(gates * count));
        for gate in &self.closed {
            let [to, away] = T::uniform(gate, &self.forms, gate.agreeing(words));
            let away = T::zero().minus(&away);
            agree.extend(weights.iter().map(|weights| weights[gate.part].times(&to)));
            differ.extend(weights.iter().map(|weights| weights[gate.part].times(&away)));
        }
        self.arch.dispatch(|| {
            let mut all = vec![T::zero(); count];
            for (feature, signs) in self.signs.chunks_exact(gates).enumerate() {
                let value = u8::from(words[feature / 64] >> (feature % 64) & 1 == 1);
                all.fill(T::zero());
                for (place, &sign) in signs.iter().enumerate().filter(|(_, sign)| **sign < 2) {
                    let side = if sign == value { &agree } else { &differ };
                    let side = &side[place * count..][..count];
                    all.iter_mut().zip(side).for_each(|(sum, score)| *sum = sum.plus(score));
                }
                let player = self.players.of(feature);
                scores.iter_mut().zip(&all).for_each(|(scores, sum)| scores[player] = scores[player].plus(sum));
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
                // Others are refused before.
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

/// What some gains of so many movers are over the whole path, along which they are of a lower degree than this.
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

/// The interactions of all pairs of movers, from their gains; those of each add up to what its gain gains from first to last.
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

    /// Whether it has a closed form, every feature a player.
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

    /// How many values a player can have at most.
    fn most_values(&self) -> usize {
        let values = |player: &GatePlayer| match player.one_hot {
            true => player.features.len(),
            false => player.features.iter().map(|(_, weight)| weight.unsigned_abs() as usize).sum::<usize>() + 1,
        };
        self.players.iter().map(values).max().unwrap_or(0)
    }

    /// How many inputs agree with the sign of their weight.
    fn agreeing(&self, row: &[u64]) -> usize {
        let PackedGate::Signs { support, positive, .. } = &self.packed else { return 0 };
        let words = support.iter().zip(positive).zip(row);
        words.map(|((s, p), x)| (!(p ^ x) & s).count_ones() as usize).sum()
    }

    /// The gate for an entity from a start; with players that do not move if `all`.
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
    /// What the values of a column weigh, with their chances.
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

    /// What independent bits weigh together, with the chances.
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

impl Forms {
    fn new(most: usize) -> Self {
        let (factorials, exact_factorials) = (Arc::new(Factorials::up_to(most)), OnceLock::new());
        Forms { factorials, exact_factorials, most, uniform: HashMap::new(), kept: RwLock::default() }
    }

    /// For gates of so many inputs under the uniform distribution.
    fn prepare(&mut self, inputs: &[usize]) {
        for &inputs in inputs {
            let form = || UniformForm::new(self.factorials.clone(), inputs);
            self.uniform.entry(inputs).or_insert_with(form);
        }
    }

    fn exact_factorials(&self) -> &[UBig] {
        self.exact_factorials.get_or_init(|| gate_forms::exact_factorials(self.most))
    }
}

impl Chances for f64 {
    fn both(starts: &Starts, start: usize, feature: usize) -> [Self; 2] {
        starts.both(start, feature)
    }

    fn share(starts: &Starts, start: usize) -> Self {
        starts.share(start)
    }

    fn points(players: usize, rules: &Rules) -> Points<Self> {
        let mut known = rules.floats.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let points = gauss_legendre(players.div_ceil(2).max(1));
            Arc::new(points.into_iter().map(|point| (point.at, point.weight)).collect())
        };
        known.entry(players).or_insert_with(make).clone()
    }

    fn half() -> Self {
        0.5
    }

    fn of_float(number: f64) -> Self {
        number
    }

    fn agrees(&self, other: &Self) -> bool {
        (self - other).abs() <= super::Explanation::TOLERANCE
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn uniform(gate: &PlayedGate, forms: &Forms, agreeing: usize) -> Pair<Self> {
        *gate.uniform[agreeing].get_or_init(|| forms.uniform[&gate.inputs].scores(agreeing, gate.need))
    }

    fn uniform_base(gate: &PlayedGate, forms: &Forms) -> Self {
        forms.uniform[&gate.inputs].base_value(gate.need)
    }

    fn background(forms: &Forms, p: usize, q: usize, missing: i64) -> Pair<Self> {
        let key = (p as u32, q as u32, missing as i32);
        if let Some(known) = forms.kept.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return *known;
        }
        let found = gate_forms::background(&forms.factorials, p, q, missing);
        let mut kept = forms.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.insert(key, found);
        }
        found
    }

    /// What a feature that differs adds depends on the row only, and on whether it agrees in the entity: for each feature the sums
    /// over the rows in which it differs of both numbers of each gate, side by side.
    fn add_background(gates: &Gates, words: &[u64], weights: &[Vec<f64>], scores: &mut [Vec<f64>]) {
        let (Some(rows), Some(starts), count) = (&gates.rows, &gates.starts, gates.closed.len()) else { return };
        if count == 0 || weights.is_empty() {
            return;
        }
        let features = gates.players.feature_count();
        let (mut sums, mut own) = (vec![0.0; features * 2 * count], vec![0.0; 2 * count]);
        // The weights of a gate in all sums side by side.
        let side: Vec<f64> =
            gates.closed.iter().flat_map(|gate| weights.iter().map(move |weights| weights[gate.part])).collect();
        gates.arch.dispatch(|| {
            for row in 0..rows.rows() {
                let (background, share) = (rows.row(row), starts.share(row));
                for (gate, place) in gates.closed.iter().zip(0..) {
                    let [p, q, missing] = gate.turned(words, background);
                    let [plus, minus] = f64::background(&gates.forms, p as usize, q as usize, missing);
                    own[place] = share * plus;
                    own[count + place] = -share * minus;
                }
                for (word, (a, b)) in words.iter().zip(background).enumerate() {
                    let mut differ = a ^ b;
                    while differ != 0 {
                        let feature = 64 * word + differ.trailing_zeros() as usize;
                        let target = &mut sums[feature * 2 * count..][..2 * count];
                        target.iter_mut().zip(&own).for_each(|(sum, score)| *sum += score);
                        differ &= differ - 1;
                    }
                }
            }
            let mut all = vec![0.0; weights.len()];
            for (feature, (signs, sums)) in
                gates.signs.chunks_exact(count).zip(sums.chunks_exact(2 * count)).enumerate()
            {
                let value = u8::from(words[feature / 64] >> (feature % 64) & 1 == 1);
                all.fill(0.0);
                for (place, (&sign, side)) in signs.iter().zip(side.chunks_exact(weights.len())).enumerate() {
                    let score = match sign {
                        2 => continue,
                        sign if sign == value => sums[place],
                        _ => sums[count + place],
                    };
                    all.iter_mut().zip(side).for_each(|(sum, weight)| *sum += weight * score);
                }
                let player = gates.players.of(feature);
                scores.iter_mut().zip(&all).for_each(|(scores, sum)| scores[player] += sum);
            }
        });
    }
}

impl PlayedGate {
    /// How many inputs turn to agreement from a row to an entity, how many turn away, and how many more than agree in the row
    /// must agree.
    #[inline(always)]
    fn turned(&self, entity: &[u64], row: &[u64]) -> [i64; 3] {
        let PackedGate::Signs { support, positive, need } = &self.packed else { return [0; 3] };
        let (mut p, mut q, mut agreeing) = (0, 0, 0);
        for (((s, positive), x), b) in support.iter().zip(positive).zip(entity).zip(row) {
            let differ = (x ^ b) & s;
            let agrees = !(positive ^ x);
            p += i64::from((differ & agrees).count_ones());
            q += i64::from((differ & !agrees).count_ones());
            agreeing += i64::from((!(positive ^ b) & s).count_ones());
        }
        [p, q, *need as i64 - agreeing]
    }
}

impl Chances for RBig {
    fn both(starts: &Starts, start: usize, feature: usize) -> [Self; 2] {
        let one = starts.exact(start, feature);
        let zero = RBig::ONE - &one;
        [one, zero]
    }

    fn share(starts: &Starts, start: usize) -> Self {
        starts.exact_share(start)
    }

    fn points(players: usize, rules: &Rules) -> Points<Self> {
        let mut known = rules.fractions.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(players).or_insert_with(|| Arc::new(whole_points(players.max(1)))).clone()
    }

    fn half() -> Self {
        RBig::from_parts(1.into(), 2u8.into())
    }

    fn of_float(number: f64) -> Self {
        RBig::try_from(number).unwrap_or_default()
    }

    fn agrees(&self, other: &Self) -> bool {
        self == other
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn uniform(gate: &PlayedGate, _: &Forms, agreeing: usize) -> Pair<Self> {
        gate_forms::exact_uniform(gate.inputs, agreeing, gate.need)
    }

    fn uniform_base(gate: &PlayedGate, _: &Forms) -> Self {
        gate_forms::exact_uniform_base(gate.inputs, gate.need)
    }

    fn background(forms: &Forms, p: usize, q: usize, missing: i64) -> Pair<Self> {
        gate_forms::exact_background(forms.exact_factorials(), p, q, missing)
    }

    fn add_background(gates: &Gates, words: &[u64], weights: &[Vec<RBig>], scores: &mut [Vec<RBig>]) {
        let (Some(rows), Some(starts)) = (&gates.rows, &gates.starts) else { return };
        for row in 0..rows.rows() {
            let (background, share) = (rows.row(row), starts.exact_share(row));
            for (place, gate) in gates.closed.iter().enumerate() {
                let [p, q, missing] = gate.turned(words, background);
                let [plus, minus] = RBig::background(&gates.forms, p as usize, q as usize, missing);
                let worth = [&share * plus, -(&share * minus)];
                for (feature, signs) in gates.signs.chunks_exact(gates.closed.len()).enumerate() {
                    let bit = |words: &[u64]| words[feature / 64] >> (feature % 64) & 1;
                    if signs[place] == 2 || bit(words) == bit(background) {
                        continue;
                    }
                    let worth = &worth[usize::from(u64::from(signs[place]) != bit(words))];
                    for (scores, weights) in scores.iter_mut().zip(weights) {
                        scores[gates.players.of(feature)] += &weights[gate.part] * worth;
                    }
                }
            }
        }
    }
}

/// A row as words.
fn packed(entity: &[bool]) -> Vec<u64> {
    let mut words = vec![0; entity.len().div_ceil(64).max(1)];
    entity.iter().enumerate().for_each(|(feature, &value)| words[feature / 64] |= u64::from(value) << (feature % 64));
    words
}
