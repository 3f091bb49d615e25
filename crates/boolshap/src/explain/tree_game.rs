//! Scores of sums of trees over raw columns, against background rows: each player is one column or several.
//!
//! In the game of a row and a background row, the value of a set of columns is the model's number where these columns
//! are the row's and the others the background row's; against a background it is the mean of these games. Scores are
//! linear, so trees and leaves are added up. At a leaf (`tree_walk`) the row alone satisfies the conditions of a
//! columns, the background row alone those of b, and both satisfy those of the other columns of the path. The leaf is
//! reached exactly if the a are present and the b absent, a game whose indices have closed forms: with p of the a and q
//! of the b in a set of players, its interaction index is `(-1)^q (a-p)! (b-q)! / (a+b-p-q+1)!`, the Shapley value for
//! p + q = 1, and Banzhaf's is `(-1)^q / 2^(a+b-p-q)`.
//!
//! For rows that lack the same, b and its columns are the same for all background rows that complete them, so a
//! column's score takes one addition for each set that background rows lack; in floats several leaves are added up
//! together (`tree_blocks`). This needs no bits and no circuit, and any number of thresholds is possible. Rounding: the
//! shares of all leaves of a tree in a player's score add up to at most 2, as every coalition reaches one leaf with the
//! player and one without.
//!
//! Lundberg et al., "From local explanations to global understanding with explainable AI for trees", 2020 (the closed form for a
//! pair of rows); Grabisch and Roubens, 1999 (the interaction index).

use super::index::Index;
use super::tree_blocks::{self, Adder, Gains, bits};
use super::tree_walk::{MAX_SLOTS, Meeting, Places, walk};
use super::{ExplainError, GUARANTEED};
use crate::data::{ExactSum, RawRows};
use crate::lit::{Meter, Watch};
use crate::model::{RawModel, RawNode, RawTree};
use dashu_int::UBig;
use dashu_ratio::RBig;
use rayon::prelude::*;
use std::sync::Arc;

/// The most rows that go down a tree together; rows that are alike share the work.
const CHUNK: usize = 8192;
/// The most scores of rows processed together, unless there are few rows.
const CHUNK_CELLS: usize = 1 << 22;
/// The fewest rows processed together, as each chunk takes the whole background along.
const SMALL_CHUNK: usize = 256;

/// A model of raw columns and the background rows that it is explained against.
pub struct TreeGame {
    model: Arc<RawModel>,
    background: RawRows,
    /// The player of each column, and how many players there are.
    owner: Vec<usize>,
    players: usize,
    /// The mean of each column, if there are slopes.
    means: Vec<f64>,
}

/// The type of scores: floats or fractions.
trait Amount: Clone + Send + Sync {
    fn of(share: &RBig) -> Self;
    fn of_float(number: f64) -> Self;
    fn zero() -> Self;
    /// Adds another this many times.
    fn add_times(&mut self, other: &Self, times: u32);
    /// Adds a product.
    fn add_product(&mut self, one: &Self, other: &Self);
}

impl Amount for f64 {
    fn of(share: &RBig) -> Self {
        share.to_f64().value()
    }

    fn of_float(number: f64) -> Self {
        number
    }

    fn zero() -> Self {
        0.0
    }

    fn add_times(&mut self, other: &Self, times: u32) {
        *self += other * f64::from(times);
    }

    fn add_product(&mut self, one: &Self, other: &Self) {
        *self += one * other;
    }
}

impl Amount for RBig {
    fn of(share: &RBig) -> Self {
        share.clone()
    }

    fn of_float(number: f64) -> Self {
        RBig::try_from(number).unwrap_or_default()
    }

    fn zero() -> Self {
        RBig::ZERO
    }

    fn add_times(&mut self, other: &Self, times: u32) {
        *self += other * RBig::from(times);
    }

    fn add_product(&mut self, one: &Self, other: &Self) {
        *self += one * other;
    }
}

/// The gains from a leaf for sets of columns that only the row, or only the background row satisfies.
struct Shares<N> {
    index: Index,
    /// By how many columns of the set are the background row's, then by a and b.
    tables: Vec<Vec<N>>,
}

impl<N: Amount> Shares<N> {
    fn new(index: Index, most: usize) -> Self {
        let size = *index.sizes().end();
        let factorials: Vec<UBig> = std::iter::successors(Some((UBig::ONE, 1u32)), |(product, next)| {
            Some((product * UBig::from(*next), next + 1))
        })
        .map(|(product, _)| product)
        .take(most + 2)
        .collect();
        let share = |theirs: usize, a: usize, b: usize| {
            let ours = size - theirs;
            if a < ours || b < theirs || a + b > most {
                return N::zero();
            }
            let rest = a + b - size;
            let (over, under) = match index {
                Index::Banzhaf => (UBig::ONE, UBig::ONE << rest),
                _ => (&factorials[a - ours] * &factorials[b - theirs], factorials[rest + 1].clone()),
            };
            let share = RBig::from_parts(over.into(), under);
            N::of(&if theirs % 2 == 1 { -share } else { share })
        };
        let side = most + 1;
        let table = |theirs: usize| (0..side * side).map(|at| share(theirs, at / side, at % side)).collect();
        Shares { index, tables: (0..=size).map(table).collect() }
    }

    fn of(&self, theirs: usize, a: usize, b: usize) -> &N {
        let side = self.tables[0].len().isqrt();
        &self.tables[theirs][a * side + b]
    }

    /// The gain of each set of slots from a leaf of number 1, for a row that lacks these.
    fn of_lacks(&self, theirs: u64, others: &[(u64, u32)], slots: usize) -> Vec<N> {
        let b = theirs.count_ones() as usize;
        let mut gained = vec![N::zero(); self.index.width(slots)];
        // These gains depend only on a, so background rows are counted by it.
        let mut alike: Vec<u32> = vec![0; slots + 1];
        for &(ours, count) in others.iter().filter(|(ours, _)| ours & theirs == 0) {
            let a = ours.count_ones() as usize;
            alike[a] += count;
            self.add_ours(&mut gained, ours, theirs, (a, b), slots, count);
        }
        for (a, &count) in alike.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add_theirs(&mut gained, theirs, (a, b), slots, count);
        }
        gained
    }

    /// Adds to the sets with a column that only the row satisfies.
    fn add_ours(&self, gained: &mut [N], ours: u64, theirs: u64, (a, b): (usize, usize), slots: usize, count: u32) {
        if self.tables.len() == 2 {
            let share = self.of(0, a, b);
            bits(ours).for_each(|slot| gained[slot].add_times(share, count));
            return;
        }
        for first in bits(ours) {
            for second in bits(ours).filter(|&second| second > first) {
                gained[pair_place(slots, first, second)].add_times(self.of(0, a, b), count);
            }
            for second in bits(theirs) {
                let place = pair_place(slots, first.min(second), first.max(second));
                gained[place].add_times(self.of(1, a, b), count);
            }
        }
    }

    /// Adds to the sets of columns that only the background row satisfies.
    fn add_theirs(&self, gained: &mut [N], theirs: u64, (a, b): (usize, usize), slots: usize, count: u32) {
        if self.tables.len() == 2 {
            let share = self.of(1, a, b);
            bits(theirs).for_each(|slot| gained[slot].add_times(share, count));
            return;
        }
        for first in bits(theirs) {
            for second in bits(theirs).filter(|&second| second > first) {
                gained[pair_place(slots, first, second)].add_times(self.of(2, a, b), count);
            }
        }
    }
}

/// The index of a pair of slots, or of columns, where the second varies fastest.
fn pair_place(count: usize, first: usize, second: usize) -> usize {
    first * (2 * count - first - 1) / 2 + second - first - 1
}

impl TreeGame {
    /// The game of a model against background rows, at least one, with every column a player.
    pub fn new(model: Arc<RawModel>, background: &RawRows) -> Result<Self, ExplainError> {
        let owner = (0..model.columns.len()).collect();
        Self::of_players(model, background, owner)
    }

    /// The same with a player for each column, numbered from 0 on: the columns of one player come and go together.
    pub fn of_players(model: Arc<RawModel>, background: &RawRows, owner: Vec<usize>) -> Result<Self, ExplainError> {
        if owner.len() != model.columns.len() {
            return Err(ExplainError::PlayersLength { expected: model.columns.len(), found: owner.len() });
        }
        if background.is_empty() {
            return Err(ExplainError::NoRows { what: "background" });
        }
        let background = model.prepared("background", background)?;
        let mean = |column: usize| {
            let mut sum = ExactSum::default();
            background.column(column).iter().for_each(|number| sum.add(*number, 1));
            sum.mean(background.len() as u64)
        };
        let means = if model.slopes.is_empty() { Vec::new() } else { (0..background.width()).map(mean).collect() };
        let players = owner.iter().max().map_or(0, |last| last + 1);
        let game = TreeGame { model, background, owner, players, means };
        match game.error_bound() {
            bound if bound <= GUARANTEED * game.size().max(1.0) => Ok(game),
            bound => Err(ExplainError::Imprecise { bound }),
        }
    }

    /// The number of players.
    pub fn players(&self) -> usize {
        self.players
    }

    /// The model.
    pub fn model(&self) -> &RawModel {
        &self.model
    }

    /// The largest possible absolute value of leaves and constants together.
    fn size(&self) -> f64 {
        let constants = self.model.constants.iter().fold(0.0, |size: f64, constant| size.max(constant.abs()));
        let largest = |nodes: &[RawNode]| {
            let numbers =
                nodes.iter().filter_map(|node| if let RawNode::Leaf(numbers) = node { Some(numbers) } else { None });
            numbers.flatten().fold(0.0, |size: f64, number| size.max(number.abs()))
        };
        let leaves: f64 = self.model.trees.iter().map(|tree| largest(tree.nodes())).sum();
        (constants + leaves * self.model.factor.abs()) / f64::from(self.model.divisor)
    }

    /// Bounds the error of base values and scores in floats; with slopes, the rounding of each of their products is
    /// added to this.
    pub fn error_bound(&self) -> f64 {
        let leaves = self.model.trees.iter().map(|tree| tree.leaves()).max().unwrap_or(0);
        let additions = self.background.len() + leaves + self.model.trees.len() + 16;
        2.0 * f64::EPSILON * additions as f64 * self.size()
    }

    /// The mean of each output over the background.
    pub fn base_values(&self) -> Vec<f64> {
        let scale = self.model.factor / f64::from(self.model.divisor);
        let mut sums = vec![ExactSum::default(); self.model.width()];
        self.each_leaf(|output, number| sums[output].add(number, 1));
        let mean = |(output, sum): (usize, &ExactSum)| {
            let slopes = self.model.slopes.get(output).into_iter().flatten().zip(&self.means);
            let linear: f64 = slopes.map(|(slope, mean)| slope * mean).sum();
            (self.model.constants[output] + linear) / f64::from(self.model.divisor)
                + sum.mean(self.background.len() as u64) * scale
        };
        sums.iter().enumerate().map(mean).collect()
    }

    fn each_leaf(&self, mut take: impl FnMut(usize, f64)) {
        for row in 0..self.background.len() {
            for tree in &self.model.trees {
                let leaf = tree.leaf(|column| self.background.column(column)[row]);
                leaf.iter().enumerate().for_each(|(place, number)| take(tree.output().unwrap_or(place), *number));
            }
        }
    }

    /// The scores of rows: for each row, each set of players that has a score, and each output.
    pub fn explain(&self, rows: &RawRows, index: Index, watch: &Watch<'_>) -> Result<Vec<f64>, ExplainError> {
        check_index(index)?;
        let rows = self.model.prepared("the rows", rows)?;
        let shares = Shares::new(index, MAX_SLOTS);
        let gains = (shares.tables.len() == 2).then(|| Gains::new(&shares.tables[0], &shares.tables[1]));
        let most = CHUNK_CELLS / (index.width(self.players) * self.model.width()).max(1);
        let most = most.clamp(SMALL_CHUNK, CHUNK);
        let chunk = rows.len().div_ceil(rayon::current_num_threads().max(1)).clamp(SMALL_CHUNK, most);
        let starts: Vec<usize> = (0..rows.len()).step_by(chunk).collect();
        let meter = Meter::new(watch, (starts.len() * self.model.trees.len()) as u64);
        let parts: Vec<Vec<f64>> = starts
            .into_par_iter()
            .map(|start| {
                let part = rows.part(start, (start + chunk).min(rows.len()));
                let done = || Ok(meter.add(1)?);
                let mut scores = match &gains {
                    Some(gains) => self.by_blocks(&part, gains, &watch.silent(), done)?,
                    None => self.by_leaves(&part, &shares, &watch.silent(), done)?,
                };
                let scale = self.model.factor / f64::from(self.model.divisor) / self.background.len() as f64;
                scores.iter_mut().for_each(|score| *score *= scale);
                self.add_slopes(&mut scores, &part, index);
                Ok(scores)
            })
            .collect::<Result<_, ExplainError>>()?;
        Ok(parts.concat())
    }

    /// The same in fractions.
    pub fn explain_exact(&self, rows: &RawRows, index: Index, watch: &Watch<'_>) -> Result<Vec<RBig>, ExplainError> {
        check_index(index)?;
        let rows = self.model.prepared("the rows", rows)?;
        let shares = Shares::new(index, MAX_SLOTS);
        let mut scores: Vec<RBig> = self.by_leaves(&rows, &shares, watch, || Ok(()))?;
        let scale =
            RBig::of_float(self.model.factor) / RBig::from(self.model.divisor) / RBig::from(self.background.len());
        scores.iter_mut().for_each(|score| *score = &*score * &scale);
        if index != Index::Interaction {
            let width = self.model.width();
            for (output, slopes) in self.model.slopes.iter().enumerate() {
                for (column, &slope) in slopes.iter().enumerate() {
                    let weight = RBig::of_float(slope) / RBig::from(self.model.divisor);
                    let mean = self.exact_mean(column);
                    for (row, &number) in rows.column(column).iter().enumerate() {
                        let place = (row * self.players + self.owner[column]) * width + output;
                        scores[place] += &weight * (RBig::of_float(number) - &mean);
                    }
                }
            }
        }
        Ok(scores)
    }

    fn exact_mean(&self, column: usize) -> RBig {
        let numbers = self.background.column(column);
        let sum = numbers.iter().fold(RBig::ZERO, |sum, &number| sum + RBig::of_float(number));
        sum / RBig::from(numbers.len())
    }

    /// The base values in fractions.
    pub fn exact_base_values(&self) -> Vec<RBig> {
        let mut sums = vec![RBig::ZERO; self.model.width()];
        self.each_leaf(|output, number| sums[output] += RBig::of_float(number));
        let rows = RBig::from(self.background.len());
        let base = |(output, sum): (usize, RBig)| {
            let slopes = self.model.slopes.get(output).into_iter().flatten().enumerate();
            let linear =
                slopes.fold(RBig::ZERO, |all, (column, &slope)| all + RBig::of_float(slope) * self.exact_mean(column));
            let constant = RBig::of_float(self.model.constants[output]);
            (constant + linear + sum * RBig::of_float(self.model.factor) / &rows) / RBig::from(self.model.divisor)
        };
        sums.into_iter().enumerate().map(base).collect()
    }

    /// The sums over all trees, before any division. `give` adds one tree's contribution, with this many numbers per
    /// set.
    fn of_trees<N: Amount>(
        &self,
        rows: usize,
        sets: usize,
        mut give: impl FnMut(&mut [N], &RawTree, usize) -> Result<(), ExplainError>,
    ) -> Result<Vec<N>, ExplainError> {
        let outputs = self.model.width();
        let mut all = vec![N::zero(); rows * sets * outputs];
        for tree in &self.model.trees {
            // One tree at a time, so that the rounded sums stay short.
            let wide = if tree.output().is_some() { 1 } else { outputs };
            let mut own = vec![N::zero(); rows * sets * wide];
            give(&mut own, tree, wide)?;
            let one = N::of_float(1.0);
            match tree.output() {
                None => all.iter_mut().zip(&own).for_each(|(all, own)| all.add_product(own, &one)),
                Some(output) => {
                    let places = all.iter_mut().skip(output).step_by(outputs);
                    places.zip(&own).for_each(|(all, own)| all.add_product(own, &one));
                }
            }
        }
        Ok(all)
    }

    /// Processes leaf by leaf.
    fn by_leaves<N: Amount>(
        &self,
        rows: &RawRows,
        shares: &Shares<N>,
        watch: &Watch<'_>,
        done: impl Fn() -> Result<(), ExplainError>,
    ) -> Result<Vec<N>, ExplainError> {
        let mut places = Places::default();
        self.of_trees(rows.len(), shares.index.width(self.players), |own, tree, wide| {
            let both = [rows, &self.background];
            walk(
                tree,
                &self.owner,
                both,
                |leaves, _| leaves == 1,
                watch,
                |meeting| {
                    add_leaf(own, tree, meeting, &mut places, shares, self.players, wide);
                },
            )?;
            done()
        })
    }

    /// Processes block by block: faster, but only for floats and single players.
    fn by_blocks(
        &self,
        rows: &RawRows,
        gains: &Gains,
        watch: &Watch<'_>,
        done: impl Fn() -> Result<(), ExplainError>,
    ) -> Result<Vec<f64>, ExplainError> {
        self.of_trees(rows.len(), self.players, |own, tree, wide| {
            let both = [rows, &self.background];
            let mut adder = Adder::new(gains, self.players, wide);
            walk(tree, &self.owner, both, tree_blocks::ends, watch, |meeting| {
                adder.add(own, tree, &self.owner, meeting, both);
            })?;
            done()
        })
    }

    fn add_slopes(&self, scores: &mut [f64], rows: &RawRows, index: Index) {
        if index == Index::Interaction {
            return;
        }
        let width = self.model.width();
        for (output, slopes) in self.model.slopes.iter().enumerate() {
            for (column, slope) in slopes.iter().enumerate() {
                for (row, number) in rows.column(column).iter().enumerate() {
                    let score = slope * (number - self.means[column]) / f64::from(self.model.divisor);
                    scores[(row * self.players + self.owner[column]) * width + output] += score;
                }
            }
        }
    }
}

/// Adds the gains from a leaf to the scores of all rows that reach it.
fn add_leaf<N: Amount>(
    own: &mut [N],
    tree: &RawTree,
    meeting: &Meeting<'_>,
    known: &mut Places,
    shares: &Shares<N>,
    players: usize,
    wide: usize,
) {
    let RawNode::Leaf(numbers) = &tree.nodes()[meeting.node] else { return };
    if numbers.iter().all(|number| *number == 0.0) {
        return;
    }
    let (slots, sets) = (meeting.slots.len(), shares.index.width(players));
    let places: Vec<usize> = match shares.tables.len() {
        2 => meeting.slots.to_vec(),
        _ => super::index::pairs(slots)
            .map(|(first, second)| {
                let (one, other) = (meeting.slots[first], meeting.slots[second]);
                pair_place(players, one.min(other), one.max(other))
            })
            .collect(),
    };
    let numbers: Vec<N> = numbers.iter().map(|number| N::of_float(*number)).collect();
    let others = known.counted(&meeting.background.lacks, slots);
    // Computes the gains of each set once, whether one row lacks it or thousands.
    known.clear(slots);
    let mut gained: Vec<Vec<N>> = Vec::new();
    for (&row, &lacks) in meeting.rows.ids.iter().zip(&meeting.rows.lacks) {
        let (place, is_new) = known.place(lacks);
        if is_new {
            gained.push(shares.of_lacks(lacks, &others, slots));
        }
        let scores = &mut own[row as usize * sets * wide..(row as usize + 1) * sets * wide];
        for (&place, gain) in places.iter().zip(&gained[place]) {
            let cells = scores[place * wide..(place + 1) * wide].iter_mut();
            cells.zip(&numbers).for_each(|(score, number)| score.add_product(gain, number));
        }
    }
}

fn check_index(index: Index) -> Result<(), ExplainError> {
    match index {
        Index::Shapley | Index::Banzhaf | Index::Interaction => Ok(()),
        other => Err(ExplainError::IndexOfScores { index: other.name() }),
    }
}
