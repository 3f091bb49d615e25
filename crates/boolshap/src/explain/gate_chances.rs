//! Floats and fractions for the gates of a value: probabilities, quadrature points, cached closed forms, and their sums
//! over background rows.

use super::factorials::Factorials;
use super::gate_forms::{self, Pair, UniformForm};
use super::gate_sums::{Scalar, whole_points};
use super::quadrature::gauss_legendre;
use super::starts::Starts;
use super::value_gates::{Gates, PlayedGate};
use crate::circuit::PackedGate;
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The most cached pairs of scores.
const MAX_KEPT: usize = 1 << 20;

/// A number type, floats or fractions, and how a population and its rules are expressed in it.
pub(super) trait Chances: Scalar {
    /// The probabilities of a feature to be 1 and 0.
    fn both(starts: &Starts, start: usize, feature: usize) -> [Self; 2];
    fn share(starts: &Starts, start: usize) -> Self;
    /// The points and weights that integrate the gains of this number of players.
    fn points(players: usize, rules: &Rules) -> Points<Self>;
    fn half() -> Self;
    /// The exact value of a float.
    fn of_float(number: f64) -> Self;
    /// Whether two numbers are equal up to rounding.
    fn agrees(&self, other: &Self) -> bool;
    fn text(&self) -> String;
    fn uniform(gate: &PlayedGate, forms: &Forms, agreeing: usize) -> Pair<Self>;
    fn uniform_base(gate: &PlayedGate, forms: &Forms) -> Self;
    fn background(forms: &Forms, p: usize, q: usize, missing: i64) -> Pair<Self>;
    /// The scores of the gates with closed forms against background rows.
    fn add_background(gates: &Gates, words: &[u64], weights: &[Vec<Self>], scores: &mut [Vec<Self>]);
}

/// Points with their weights.
pub(super) type Points<T> = Arc<Vec<(T, T)>>;

/// A cache of quadrature rules.
#[derive(Default)]
pub(super) struct Rules {
    floats: Mutex<HashMap<usize, Points<f64>>>,
    fractions: Mutex<HashMap<usize, Points<RBig>>>,
}

/// The data of closed forms.
pub(super) struct Forms {
    factorials: Arc<Factorials>,
    exact_factorials: OnceLock<Vec<UBig>>,
    most: usize,
    uniform: HashMap<usize, UniformForm>,
    /// A cache of scores against background rows, by (p, q, need - c).
    kept: RwLock<HashMap<(u32, u32, i32), Pair<f64>>>,
}

impl Forms {
    pub(super) fn new(most: usize) -> Self {
        let (factorials, exact_factorials) = (Arc::new(Factorials::up_to(most)), OnceLock::new());
        Forms { factorials, exact_factorials, most, uniform: HashMap::new(), kept: RwLock::default() }
    }

    /// Prepares gates with these numbers of inputs under the uniform distribution.
    pub(super) fn prepare(&mut self, inputs: &[usize]) {
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

    /// The score of a feature that differs depends only on the row, and on whether the feature agrees in the entity. So
    /// this sums both numbers of each gate over the rows in which the feature differs; the sums of a feature are stored
    /// side by side.
    fn add_background(gates: &Gates, words: &[u64], weights: &[Vec<f64>], scores: &mut [Vec<f64>]) {
        let (Some(rows), Some(starts), count) = (&gates.rows, &gates.starts, gates.closed.len()) else { return };
        if count == 0 || weights.is_empty() {
            return;
        }
        let features = gates.players.feature_count();
        let (mut sums, mut own) = (vec![0.0; features * 2 * count], vec![0.0; 2 * count]);
        // The weights of a gate in all sums, side by side.
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
    /// From a row to an entity: how many inputs turn to agreement, how many turn away, and how many more than agree in
    /// the row must agree.
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
