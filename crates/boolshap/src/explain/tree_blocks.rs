//! Gains of rows from the lowest leaves of a tree, several leaves at a time, in floats.
//!
//! At a leaf a row's gain depends only on the set of conditions that it breaks (`tree_walk`). A block is a node with
//! few leaves below. The conditions that a row breaks at each of these leaves follow from what it lacks at the node and
//! from its answers to the few tests below: bits that fit into one short key. Thousands of rows have a few hundred
//! keys. So the gains from all leaves of the block are added up once per key, and a row takes one table lookup and one
//! addition per player.
//!
//! The blocks depend on the tree alone, and the sums of a key on the key and the background alone: a row's scores do
//! not depend on the other rows.

use super::tree_walk::{Crowd, MAX_SLOTS, Meeting, Places, TABLE_SLOTS, take_sides};
use crate::data::RawRows;
use crate::model::{RawNode, RawTree};

/// The most leaves of a block.
const BLOCK_LEAVES: usize = 4;
/// Marks sets without gains.
const NOTHING: u32 = u32::MAX;

/// Whether the walk ends at a node with this many leaves below and players above.
pub(super) fn ends(leaves: usize, slots: usize) -> bool {
    leaves <= BLOCK_LEAVES && slots + leaves - 1 <= TABLE_SLOTS
}

/// A player's gain from a leaf of number 1, if only the background row (`ours`) or only the row (`theirs`) lacks the
/// player; by how many players the background row lacks and how many the row lacks.
pub(super) struct Gains {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// The bits of every byte, as numbers.
    ones: Vec<[f64; 8]>,
}

impl Gains {
    pub(super) fn new(ours: &[f64], theirs: &[f64]) -> Self {
        let ones = (0..256).map(|byte| std::array::from_fn(|bit| f64::from(byte >> bit & 1))).collect();
        Gains { ours: ours.to_vec(), theirs: theirs.to_vec(), ones }
    }
}

/// The leaves of a block.
struct Block<'t> {
    /// The players on the paths, those above the block first.
    slots: Vec<usize>,
    splits: Vec<&'t RawNode>,
    leaves: Vec<BlockLeaf<'t>>,
}

/// A split on the way to a leaf, the side that leads there, and the slot of its player.
type Step = (usize, u64, usize);

struct BlockLeaf<'t> {
    numbers: &'t [f64],
    /// The conditions broken by each pattern of answers.
    broken: Vec<u64>,
}

impl<'t> Block<'t> {
    fn new(tree: &'t RawTree, owner: &[usize], meeting: &Meeting<'_>) -> Self {
        let mut block = Block { slots: meeting.slots.to_vec(), splits: Vec::new(), leaves: Vec::new() };
        let mut paths = Vec::new();
        block.collect(tree, owner, meeting.node, &mut Vec::new(), &mut paths);
        let patterns = 0..1u64 << block.splits.len();
        for (numbers, path) in paths {
            let broken = |answers: u64| {
                let wrong = path.iter().filter(|(split, side, _)| answers >> split & 1 != *side);
                wrong.fold(0, |broken, (_, _, slot)| broken | 1 << slot)
            };
            block.leaves.push(BlockLeaf { numbers, broken: patterns.clone().map(broken).collect() });
        }
        block
    }

    /// The leaves below a node, each with the steps that lead to it.
    fn collect(
        &mut self,
        tree: &'t RawTree,
        owner: &[usize],
        node: usize,
        above: &mut Vec<Step>,
        paths: &mut Vec<(&'t [f64], Vec<Step>)>,
    ) {
        match &tree.nodes()[node] {
            RawNode::Leaf(numbers) if numbers.iter().all(|number| *number == 0.0) => {}
            RawNode::Leaf(numbers) => paths.push((numbers, above.clone())),
            split @ RawNode::Split { column, children, .. } => {
                let number = self.splits.len();
                self.splits.push(split);
                let slot = self.slots.iter().position(|&player| player == owner[*column]).unwrap_or(self.slots.len());
                if slot == self.slots.len() {
                    self.slots.push(owner[*column]);
                }
                for (side, &child) in children.iter().enumerate() {
                    above.push((number, side as u64, slot));
                    self.collect(tree, owner, child, above, paths);
                    above.pop();
                }
            }
        }
    }

    /// The keys of rows: in the low bits what each row lacks, above them its answers.
    fn keys(&self, crowd: &Crowd, rows: &RawRows, above: usize, keys: &mut Vec<u64>, sides: &mut Vec<u64>) {
        keys.clear();
        keys.extend_from_slice(&crowd.lacks);
        for (number, split) in self.splits.iter().enumerate() {
            let RawNode::Split { column, .. } = split else { continue };
            take_sides(split, rows.column(*column), &crowd.ids, sides);
            keys.iter_mut().zip(&*sides).for_each(|(key, side)| *key |= side << (above + number));
        }
    }
}

/// The background rows at a leaf of a block, and the gains computed so far.
#[derive(Default)]
struct LeafGains {
    others: Vec<Others>,
    /// For each player, a bit mask of the others that lack it, in as many words as needed.
    lacking: Vec<u64>,
    /// A bit mask of the others that complete a row.
    completing: Vec<u64>,
    /// The sets that rows lack; for each, the position of its gains, or [`NOTHING`]; and the gains of all players.
    places: Places,
    starts: Vec<u32>,
    gained: Vec<f64>,
}

/// Background rows that lack the same set at a leaf.
struct Others {
    lacks: u64,
    /// The position where the gains for the number of players in `lacks` begin.
    row: usize,
    count: f64,
}

/// Adds blocks to scores; its memory is reused.
pub(super) struct Adder<'g> {
    gains: &'g Gains,
    players: usize,
    /// How many numbers a leaf has.
    wide: usize,
    keys: Vec<u64>,
    sides: Vec<u64>,
    places: Places,
    leaves: Vec<LeafGains>,
    /// By key, the position of its sums, or [`NOTHING`].
    starts: Vec<u32>,
    sums: Vec<f64>,
    /// The sums being computed.
    whole: Vec<f64>,
}

impl<'g> Adder<'g> {
    pub(super) fn new(gains: &'g Gains, players: usize, wide: usize) -> Self {
        let (keys, sides, leaves, starts, sums, whole) = Default::default();
        Adder { gains, players, wide, keys, sides, places: Places::default(), leaves, starts, sums, whole }
    }

    /// Adds the gains from a block to the scores of all rows that reach it.
    pub(super) fn add(
        &mut self,
        scores: &mut [f64],
        tree: &RawTree,
        owner: &[usize],
        meeting: &Meeting<'_>,
        [rows, background]: [&RawRows; 2],
    ) {
        let block = Block::new(tree, owner, meeting);
        let above = meeting.slots.len();
        let bits = above + block.splits.len();
        block.keys(meeting.background, background, above, &mut self.keys, &mut self.sides);
        self.count(&block, above, bits);
        block.keys(meeting.rows, rows, above, &mut self.keys, &mut self.sides);
        self.places.clear(bits);
        self.starts.clear();
        self.sums.clear();
        // Stored for all players if that is at most twice as long, since this avoids index lookups.
        let is_dense = self.players <= 2 * block.slots.len();
        let stride = self.wide * if is_dense { self.players } else { block.slots.len() };
        let cells = self.wide * self.players;
        for (at, &id) in meeting.rows.ids.iter().enumerate() {
            let key = self.keys[at];
            let (place, is_new) = self.places.place(key);
            if is_new {
                self.sum(&block, key, above, is_dense, stride);
            }
            let start = self.starts[place];
            if start == NOTHING {
                continue;
            }
            let own = &mut scores[id as usize * cells..][..cells];
            let sums = &self.sums[start as usize..][..stride];
            if is_dense {
                own.iter_mut().zip(sums).for_each(|(score, sum)| *score += sum);
            } else {
                for (&player, sums) in block.slots.iter().zip(sums.chunks_exact(self.wide)) {
                    let own = &mut own[player * self.wide..][..self.wide];
                    own.iter_mut().zip(sums).for_each(|(score, sum)| *score += sum);
                }
            }
        }
    }

    /// Counts background rows by what they lack at each leaf, from their keys.
    fn count(&mut self, block: &Block<'_>, above: usize, bits: usize) {
        let groups = self.places.counted(&self.keys, bits);
        self.leaves.resize_with(block.leaves.len().max(self.leaves.len()), LeafGains::default);
        for (leaf, known) in block.leaves.iter().zip(&mut self.leaves) {
            known.count(leaf, &groups, above, block.slots.len());
        }
    }

    /// The sums of a key over all leaves of a block.
    fn sum(&mut self, block: &Block<'_>, key: u64, above: usize, is_dense: bool, stride: usize) {
        let (lacks, answers) = parts(key, above);
        let slots = block.slots.len();
        let start = self.sums.len();
        self.whole.clear();
        for (leaf, known) in block.leaves.iter().zip(&mut self.leaves) {
            let Some(gained) = known.of(lacks | leaf.broken[answers], slots, leaf.numbers, self.gains) else {
                continue;
            };
            match self.whole.is_empty() {
                true => self.whole.extend_from_slice(gained),
                false => self.whole.iter_mut().zip(gained).for_each(|(sum, gain)| *sum += gain),
            }
        }
        if self.whole.is_empty() {
            self.starts.push(NOTHING);
            return;
        }
        self.starts.push(start as u32);
        self.sums.resize(start + stride, 0.0);
        for (slot, &player) in block.slots.iter().enumerate() {
            let place = if is_dense { player } else { slot };
            for output in 0..self.wide {
                self.sums[start + place * self.wide + output] = self.whole[output * lanes(slots) + slot];
            }
        }
    }
}

impl LeafGains {
    fn count(&mut self, leaf: &BlockLeaf<'_>, groups: &[(u64, u32)], above: usize, slots: usize) {
        self.others.clear();
        self.places.clear(slots);
        for &(key, count) in groups {
            let (lacks, answers) = parts(key, above);
            let (lacks, count) = (lacks | leaf.broken[answers], f64::from(count));
            match self.places.place(lacks) {
                (_, true) => {
                    self.others.push(Others { lacks, row: lacks.count_ones() as usize * (MAX_SLOTS + 1), count });
                }
                (place, false) => self.others[place].count += count,
            }
        }
        let words = self.others.len().div_ceil(64);
        self.lacking.clear();
        self.lacking.resize(slots * words, 0);
        for (at, others) in self.others.iter().enumerate() {
            bits(others.lacks).for_each(|slot| self.lacking[slot * words + at / 64] |= 1 << (at % 64));
        }
        self.places.clear(slots);
        self.starts.clear();
        self.gained.clear();
    }

    /// The gains of all players, for a row that lacks these: a full set of lanes for each number of the leaf. `None` if
    /// no background row completes the row.
    fn of(&mut self, lacks: u64, slots: usize, numbers: &[f64], gains: &Gains) -> Option<&[f64]> {
        let lanes = lanes(slots);
        let (place, is_new) = self.places.place(lacks);
        if is_new {
            let start = if self.complete(lacks) { self.gained.len() as u32 } else { NOTHING };
            self.starts.push(start);
        }
        let start = self.starts[place];
        if start == NOTHING {
            return None;
        }
        if is_new {
            self.add(lacks, lanes, numbers, gains);
        }
        Some(&self.gained[start as usize..][..lanes * numbers.len()])
    }

    /// Adds up the gains from the background rows that complete a row.
    fn add(&mut self, lacks: u64, lanes: usize, numbers: &[f64], gains: &Gains) {
        let start = self.gained.len();
        self.gained.resize(start + lanes * numbers.len(), 0.0);
        let (first, rest) = self.gained[start..].split_at_mut(lanes);
        let (b, mut theirs) = (lacks.count_ones() as usize, 0.0);
        for (word, completing) in self.completing.iter().enumerate() {
            for at in bits(*completing) {
                let others = &self.others[64 * word + at];
                theirs += gains.theirs[others.row + b] * others.count;
                let ours = gains.ours[others.row + b] * others.count;
                for (gained, byte) in first.as_chunks_mut::<8>().0.iter_mut().zip(others.lacks.to_le_bytes()) {
                    let ones = &gains.ones[usize::from(byte)];
                    gained.iter_mut().zip(ones).for_each(|(gain, one)| *gain += ours * one);
                }
            }
        }
        bits(lacks).for_each(|slot| first[slot] = theirs);
        for (rest, number) in rest.chunks_exact_mut(lanes).zip(&numbers[1..]) {
            rest.iter_mut().zip(&*first).for_each(|(rest, gain)| *rest = gain * number);
        }
        first.iter_mut().for_each(|gain| *gain *= numbers[0]);
    }

    /// Finds the others that lack nothing that a row lacks; returns whether there are any.
    fn complete(&mut self, lacks: u64) -> bool {
        let words = self.others.len().div_ceil(64);
        self.completing.clear();
        self.completing.resize(words, u64::MAX);
        let spare = 64 * words - self.others.len();
        self.completing.iter_mut().last().into_iter().for_each(|last| *last >>= spare);
        for slot in bits(lacks) {
            let lacking = &self.lacking[slot * words..][..words];
            self.completing.iter_mut().zip(lacking).for_each(|(word, lacking)| *word &= !lacking);
        }
        self.completing.iter().any(|word| *word != 0)
    }
}

/// The number of players, rounded up to whole registers.
fn lanes(slots: usize) -> usize {
    slots.max(1).next_multiple_of(8)
}

/// Splits a key into what a row lacks above a block, and its answers below.
fn parts(key: u64, above: usize) -> (u64, usize) {
    match above {
        64 => (key, 0),
        _ => (key & ((1 << above) - 1), (key >> above) as usize),
    }
}

/// The positions of the bits of a set.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            place
        })
    })
}
