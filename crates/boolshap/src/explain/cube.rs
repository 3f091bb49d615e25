//! Games against background rows, counted on the cubes between the rows and the entity.
//!
//! *Problem.* Explain an entity against each of many background rows. *Idea.* Against one row, only the D players on
//! which the two differ matter. So the game is the label on the 2^D inputs between them, and a score needs only the
//! numbers of ones among these by size, with and without each player. Labels come from a table of all inputs,
//! renumbered so that the entity is number 0: the inputs between it and a row are then the subsets of the differing
//! bits. Six bits vary inside a word of the table, so up to 64 inputs are counted with a few masks; each step from word
//! to word adds or removes one of the other players (Gray code). Players may be single bits, one-hot columns or blocks
//! of bits: a player is the mask of its differing bits.
//!
//! *Invariant.* Everything is counted in whole numbers, over all rows with the same D together. Fractions and floats
//! are both computed from these counts at the end, and floats are rounded only there. *Cost.* For each row 2^(D-l)
//! words, where l of the D players are single bits inside a word, instead of D / 2 pairs of sweeps over the circuit.
//! The bits that differ most often in the background are put inside words. [`Cubes::is_cheaper`] compares the two.

use super::Index;
use super::error_bound::in_all;
use super::game::playing;
use super::players::Players;
use super::starts::Sample;
use crate::circuit::{Circuit, CircuitEvaluator};
use crate::lit::{LOW_VARIABLES, Stopped, Var, Watch};
use dashu_int::UBig;
use dashu_ratio::RBig;
use pulp::Arch;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The most features that a circuit may mention: its table then takes two megabytes.
pub(super) const MAX_BITS: usize = 24;
/// The number of bits that vary inside a word, and the number of sizes of their sets.
const LOW: usize = LOW_VARIABLES.len();
const SIZES: usize = LOW + 1;
/// Circuits other than ordered diagrams are evaluated word by word; this limits the nodes of all words together.
const MOST_STEPS: usize = 1 << 28;
/// The number of rows between two checks of the watch.
const LOOK_AFTER: usize = 1 << 10;
/// Rows beyond this could overflow the counts.
const MOST_ROWS: u64 = 1 << 38;

/// The numbers below 64 that have this many ones, as a mask.
const OF_SIZE: [u64; SIZES] = {
    let mut masks = [0; SIZES];
    let mut number = 0u64;
    while number < 64 {
        masks[number.count_ones() as usize] |= 1 << number;
        number += 1;
    }
    masks
};

/// A circuit's labels and the background rows, as numbers.
pub(super) struct Cubes {
    /// The features that matter; each is a bit of a number.
    bits: Vec<Var>,
    /// The players that have such features, and their masks.
    players: Vec<(usize, u32)>,
    /// A mask of the players that are one bit inside a word.
    low: u32,
    /// The label of every number.
    labels: Vec<u64>,
    /// The distinct rows, and how often each occurs.
    rows: Vec<(u32, u64)>,
    total: u64,
    arch: Arch,
    scratch: Mutex<Vec<Scratch>>,
}

/// Memory for one entity.
struct Scratch {
    /// The labels, indexed by the bits in which an input differs from the entity.
    labels: Vec<u64>,
    counts: Box<Counts>,
    /// By player, D and number of absent players: the ones among the sets with the player present, and with it absent.
    sums: Vec<[u64; 2]>,
}

/// The ones of one cube, by the number of absent high players and of absent low ones.
struct Counts {
    all: [[u32; 8]; MAX_BITS + 1],
    /// With a high player absent.
    high: [[[u32; 8]; MAX_BITS + 1]; MAX_BITS],
    /// With a low player absent.
    low: [[[u32; 8]; MAX_BITS + 1]; LOW],
}

impl Cubes {
    /// `None` if the circuit mentions too many features, or if making its table would take long.
    pub(super) fn new(circuit: &Circuit, players: &Players, sample: &Sample) -> Option<Self> {
        let mentioned = circuit.mentioned();
        if mentioned.len() > MAX_BITS || sample.total > MOST_ROWS {
            return None;
        }
        let bits = inside_first(&mentioned, players, sample);
        let labels = labels_of(circuit, &bits)?;
        let mask = |player: usize| {
            let mine = bits.iter().enumerate().filter(|(_, var)| players.of(var.index()) == player);
            mine.fold(0u32, |mask, (bit, _)| mask | 1 << bit)
        };
        let masks: Vec<(usize, u32)> =
            playing(players, &mentioned).into_iter().map(|player| (player, mask(player))).collect();
        let is_low = |mask: u32| mask.count_ones() == 1 && mask.trailing_zeros() < LOW as u32;
        let low = masks.iter().filter(|(_, mask)| is_low(*mask)).fold(0, |low, (_, mask)| low | mask);
        let mut counted: BTreeMap<u32, u64> = BTreeMap::new();
        for (row, count) in sample.counts.iter().enumerate() {
            *counted.entry(number(&bits, |var| sample.rows.get(row, var.index()))).or_default() += count;
        }
        let rows = counted.into_iter().collect();
        let (total, arch, scratch) = (sample.total, Arch::new(), Mutex::default());
        Some(Cubes { bits, players: masks, low, labels, rows, total, arch, scratch })
    }

    /// Whether counting is faster for an entity than sweeps over this many nodes. The costs are those of one machine;
    /// only their ratio matters. They are constants, so that a row's scores are the same everywhere.
    pub(super) fn is_cheaper(&self, entity: &[bool], nodes: usize) -> bool {
        // Nanoseconds per word, per row, and per node of two sweeps for one of the eight rows swept together.
        let (word, each_row, node) = (25.0, 150.0, 0.4);
        let entity = number(&self.bits, |var| entity[var.index()]);
        let (mut counting, mut sweeping) = (0.0, 0.0);
        for (row, _) in &self.rows {
            let differ = row ^ entity;
            let moving = self.players.iter().filter(|(_, mask)| mask & differ != 0).count();
            let high = moving - (differ & self.low).count_ones() as usize;
            counting += each_row + word * (1u64 << high) as f64;
            sweeping += node * (moving.div_ceil(2) * nodes) as f64;
        }
        counting < sweeping
    }

    /// The Shapley or Banzhaf values of an entity in floats, one for each player.
    pub(super) fn floats(
        &self,
        entity: &[bool],
        index: Index,
        width: usize,
        watch: &Watch<'_>,
    ) -> Result<Vec<f64>, Stopped> {
        let weights =
            self.weights(index).into_iter().map(|[with, without]| [with.to_f64().value(), without.to_f64().value()]);
        let weights: Vec<[f64; 2]> = weights.collect();
        self.summed(entity, width, watch, |sums| {
            // Each sum has positive terms only, first for each D, then over all D, so that errors stay small.
            let (mut gained, mut lost) = (0.0, 0.0);
            for (sums, weights) in sums.chunks_exact(self.sizes()).zip(weights.chunks_exact(self.sizes())) {
                let part = |side: usize| -> f64 {
                    sums.iter().zip(weights).map(|(sum, weight)| sum[side] as f64 * weight[side]).sum()
                };
                gained += part(0);
                lost += part(1);
            }
            (gained - lost) / self.total as f64
        })
    }

    /// The same in fractions.
    pub(super) fn fractions(
        &self,
        entity: &[bool],
        index: Index,
        width: usize,
        watch: &Watch<'_>,
    ) -> Result<Vec<RBig>, Stopped> {
        let weights = self.weights(index);
        let total = RBig::from(self.total);
        self.summed(entity, width, watch, |sums| {
            let term = |(sum, weight): (&[u64; 2], &[RBig; 2])| match sum {
                [0, 0] => RBig::ZERO,
                [with, without] => RBig::from(*with) * &weight[0] - RBig::from(*without) * &weight[1],
            };
            sums.iter().zip(&weights).map(term).fold(RBig::ZERO, |sum, term| sum + term) / &total
        })
    }

    /// Bounds the error of floats: counts, weights, products and quotient are rounded once, and so is every addition,
    /// in two sums of at most 1.
    pub(super) fn error_bound(&self) -> f64 {
        let additions = self.sizes() + self.players.len();
        in_all(2.0 * (additions as f64 + 4.0) + 2.0)
    }

    /// The number of possible counts of absent players.
    fn sizes(&self) -> usize {
        self.players.len() + 1
    }

    /// The weight of a one, by D and the number of absent players: with the player present, and with it absent.
    fn weights(&self, index: Index) -> Vec<[RBig; 2]> {
        let factorial = |k: usize| (2..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor));
        let weight = |players: usize, others_present: usize| match index {
            Index::Banzhaf => RBig::from_parts(1.into(), UBig::ONE << (players - 1)),
            _ => {
                let orders = factorial(others_present) * factorial(players - others_present - 1);
                RBig::from_parts(orders.into(), factorial(players))
            }
        };
        let pair = |players: usize, absent: usize| {
            let with = (absent < players).then(|| weight(players, players - absent - 1));
            let without = (1..=players).contains(&absent).then(|| weight(players, players - absent));
            [with, without].map(Option::unwrap_or_default)
        };
        (0..self.sizes()).flat_map(|players| (0..self.sizes()).map(move |absent| pair(players, absent))).collect()
    }

    /// Counts all rows and converts each player's counts to a number; players that do not matter have 0.
    fn summed<T: Clone + Default>(
        &self,
        entity: &[bool],
        width: usize,
        watch: &Watch<'_>,
        number_of: impl Fn(&[[u64; 2]]) -> T,
    ) -> Result<Vec<T>, Stopped> {
        let lock = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lock().pop();
        let mut scratch = free.unwrap_or_else(|| Scratch::new(self));
        self.count(number(&self.bits, |var| entity[var.index()]), &mut scratch, watch)?;
        let mut scores = vec![T::default(); width];
        for ((player, _), sums) in self.players.iter().zip(scratch.sums.chunks_exact(self.sizes() * self.sizes())) {
            scores[*player] = number_of(sums);
        }
        lock().push(scratch);
        Ok(scores)
    }

    /// Adds up the counts of all rows.
    fn count(&self, entity: u32, scratch: &mut Scratch, watch: &Watch<'_>) -> Result<(), Stopped> {
        let Scratch { labels, counts, sums } = scratch;
        renumber(&self.labels, entity, labels);
        sums.fill([0, 0]);
        let sizes = self.sizes();
        for rows in self.rows.chunks(LOOK_AFTER) {
            watch.check()?;
            self.arch.dispatch(|| {
                for &(row, times) in rows {
                    let cube = Cube::new(self, row ^ entity);
                    cube.count(labels, counts);
                    cube.add(counts, times, sums, sizes);
                }
            });
        }
        Ok(())
    }
}

impl Scratch {
    fn new(cubes: &Cubes) -> Self {
        let empty = [[0; 8]; MAX_BITS + 1];
        Scratch {
            labels: vec![0; cubes.labels.len()],
            counts: Box::new(Counts { all: empty, high: [empty; MAX_BITS], low: [empty; LOW] }),
            sums: vec![[0, 0]; cubes.players.len() * cubes.sizes() * cubes.sizes()],
        }
    }
}

/// The players that differ between a row and the entity.
struct Cube {
    /// The players inside words: a mask, and their indices.
    low: u32,
    low_places: [u8; LOW],
    /// The masks of the others, and their indices.
    high: [u32; MAX_BITS],
    high_places: [u8; MAX_BITS],
    high_count: usize,
}

impl Cube {
    #[inline(always)]
    fn new(cubes: &Cubes, differ: u32) -> Self {
        let (low, low_places, high, high_places) = (differ & cubes.low, [0; LOW], [0; MAX_BITS], [0; MAX_BITS]);
        let mut cube = Cube { low, low_places, high, high_places, high_count: 0 };
        for (place, (_, mask)) in cubes.players.iter().enumerate() {
            let mask = mask & differ;
            if mask & cubes.low != 0 {
                cube.low_places[mask.trailing_zeros() as usize] = place as u8;
            } else if mask != 0 {
                cube.high[cube.high_count] = mask;
                cube.high_places[cube.high_count] = place as u8;
                cube.high_count += 1;
            }
        }
        cube
    }

    #[inline(always)]
    fn players(&self) -> usize {
        self.high_count + self.low.count_ones() as usize
    }

    /// Counts the ones of the cube; `labels` are indexed by the bits in which an input differs from the entity.
    #[inline(always)]
    fn count(&self, labels: &[u64], counts: &mut Counts) {
        let high = self.high_count;
        counts.all[..=high].fill([0; 8]);
        counts.high[..high].iter_mut().for_each(|player| player[..=high].fill([0; 8]));
        counts.low.iter_mut().for_each(|player| player[..=high].fill([0; 8]));
        // A mask of the bit positions in a word that are subsets of the low players.
        let inside = (0..LOW).filter(|bit| self.low >> bit & 1 == 0).fold(!0, |mask, bit| mask & !LOW_VARIABLES[bit]);
        let mut input = 0u32;
        for step in 0..1u32 << high {
            if step > 0 {
                input ^= self.high[step.trailing_zeros() as usize];
            }
            let ones = labels[input as usize >> LOW] >> (input & 63) & inside;
            if ones == 0 {
                continue;
            }
            let absent = step ^ step >> 1;
            let size = absent.count_ones() as usize;
            let by_size = |ones: u64| -> [u32; 8] {
                std::array::from_fn(|size| OF_SIZE.get(size).map_or(0, |mask| (ones & mask).count_ones()))
            };
            let all = by_size(ones);
            add(&mut counts.all[size], all);
            let mut left = absent;
            while left != 0 {
                add(&mut counts.high[left.trailing_zeros() as usize][size], all);
                left &= left - 1;
            }
            let mut left = self.low;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                add(&mut counts.low[bit][size], by_size(ones & LOW_VARIABLES[bit]));
                left &= left - 1;
            }
        }
    }

    /// Adds the counts to the sums of the players that differ, by the number of absent players.
    #[inline(always)]
    fn add(&self, counts: &Counts, times: u64, sums: &mut [[u64; 2]], sizes: usize) {
        let all = self.by_absent(&counts.all);
        let mut add = |place: u8, counts: &[[u32; 8]; MAX_BITS + 1]| {
            let absent = self.by_absent(counts);
            let sums = &mut sums[(usize::from(place) * sizes + self.players()) * sizes..][..sizes];
            for ((sum, all), absent) in sums.iter_mut().zip(all).zip(absent) {
                sum[0] += times * u64::from(all - absent);
                sum[1] += times * u64::from(absent);
            }
        };
        (0..self.high_count).for_each(|player| add(self.high_places[player], &counts.high[player]));
        let low = (0..LOW).filter(|bit| self.low >> bit & 1 == 1);
        low.for_each(|bit| add(self.low_places[bit], &counts.low[bit]));
    }

    #[inline(always)]
    fn by_absent(&self, counts: &[[u32; 8]; MAX_BITS + 1]) -> [u32; MAX_BITS + 1 + 8] {
        let mut by_absent = [0; MAX_BITS + 1 + 8];
        for (high, by_low) in counts[..=self.high_count].iter().enumerate() {
            by_absent[high..][..8].iter_mut().zip(by_low).for_each(|(sum, count)| *sum += count);
        }
        by_absent
    }
}

#[inline(always)]
fn add(sums: &mut [u32; 8], more: [u32; 8]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// The number of an input.
fn number(bits: &[Var], value: impl Fn(Var) -> bool) -> u32 {
    bits.iter().enumerate().fold(0, |number, (bit, &var)| number | u32::from(value(var)) << bit)
}

/// The features: first those that are whole players, in each part first those that differ most often between two rows.
fn inside_first(mentioned: &[Var], players: &Players, sample: &Sample) -> Vec<Var> {
    let mut alone = vec![0; players.len()];
    mentioned.iter().for_each(|var| alone[players.of(var.index())] += 1);
    let pairs = |var: Var| {
        let ones = (0..sample.counts.len()).filter(|&row| sample.rows.get(row, var.index()));
        let ones = ones.map(|row| u128::from(sample.counts[row])).sum::<u128>();
        ones * (u128::from(sample.total) - ones)
    };
    let mut bits: Vec<(bool, u128, Var)> =
        mentioned.iter().map(|&var| (alone[players.of(var.index())] == 1, pairs(var), var)).collect();
    bits.sort_by(|one, other| (other.0, other.1).cmp(&(one.0, one.1)).then(one.2.cmp(&other.2)));
    bits.into_iter().map(|(_, _, var)| var).collect()
}

/// The label of every number; `None` if that would take long.
fn labels_of(circuit: &Circuit, bits: &[Var]) -> Option<Vec<u64>> {
    let words = 1usize << bits.len().saturating_sub(LOW);
    if let Some((order, table)) = circuit.ordered_table(MAX_BITS) {
        let place = |var: &Var| order.iter().position(|other| other == var).expect("the same variables");
        let masks: Vec<u32> = bits.iter().map(|var| 1 << place(var)).collect();
        let (mut labels, mut from, mut to) = (vec![0u64; words], 0u32, 0u32);
        for step in 0..1u32 << bits.len() {
            if step > 0 {
                let bit = step.trailing_zeros();
                from ^= masks[bit as usize];
                to ^= 1 << bit;
            }
            labels[to as usize / 64] |= (table[from as usize / 64] >> (from % 64) & 1) << (to % 64);
        }
        return Some(labels);
    }
    if circuit.stored_nodes().saturating_mul(words) > MOST_STEPS {
        return None;
    }
    let mut evaluator = CircuitEvaluator::new(circuit);
    let mut inputs = vec![0; circuit.variables()];
    let word = |word: usize| {
        for (bit, var) in bits.iter().enumerate() {
            inputs[var.index()] = match LOW_VARIABLES.get(bit) {
                Some(inside) => *inside,
                None => (word as u64 >> (bit - LOW) & 1).wrapping_neg(),
            };
        }
        evaluator.words(&inputs).expect("as many inputs as variables")
    };
    Some((0..words).map(word).collect())
}

/// Indexes the labels by the bits in which an input differs from an entity.
fn renumber(labels: &[u64], entity: u32, renumbered: &mut [u64]) {
    let (word, inside) = (entity as usize >> LOW, entity & 63);
    for (index, to) in renumbered.iter_mut().enumerate() {
        let mut labels = labels[index ^ word];
        for (bit, ones) in LOW_VARIABLES.iter().enumerate().filter(|(bit, _)| inside >> bit & 1 == 1) {
            labels = (labels & ones) >> (1 << bit) | (labels & !ones) << (1 << bit);
        }
        *to = labels;
    }
}
