//! Walks rows and background rows together down a tree of raw columns.
//!
//! A path to a leaf is a set of conditions, one for each player that it tests: all answers about the player's columns
//! lead along the path. A row breaks some of them, a background row others. What a row lacks is the set of players
//! whose conditions it breaks, with a bit for each player of the path, in the order in which they are first tested. A
//! mixture of the two rows that takes each player from one of them reaches the leaf exactly if every player comes from
//! a row that keeps its condition. So at a leaf only the lacked sets matter, and there are far fewer such sets than
//! rows: at most 2 to the number of players on the path.
//!
//! All rows and all background rows go down together, into both children of every node, with what they lack. Rows that
//! no row of the other side completes on any path from here are dropped. Cost: nodes times rows of both sides. Nadel
//! and Wettenstein, "From Decision Trees to Boolean Logic: A Fast and Unified SHAP Algorithm", 2025, group rows in the
//! same way.

use super::ExplainError;
use crate::data::RawRows;
use crate::lit::Watch;
use crate::model::{RawNode, RawTest, RawTree};
use hashbrown::HashTable;

/// The most different players on a path.
pub(super) const MAX_SLOTS: usize = 64;
/// Up to this many players, sets of them are looked up in a table of all sets.
pub(super) const TABLE_SLOTS: usize = 12;
/// Up to this many leaves, going on is cheaper than finding the rows to drop.
const FEW_LEAVES: usize = 5;
/// Marks sets without a number.
const NONE: u32 = u32::MAX;

/// Rows on their way down: their indices, and the conditions that each has broken so far.
pub(super) struct Crowd {
    pub ids: Vec<u32>,
    pub lacks: Vec<u64>,
}

/// The rows that meet at a leaf, or at a node with few leaves below.
pub(super) struct Meeting<'w> {
    pub node: usize,
    /// The player of each bit.
    pub slots: &'w [usize],
    pub rows: &'w Crowd,
    pub background: &'w Crowd,
}

/// A node where the walk continues.
struct Stop {
    node: usize,
    slots: Vec<usize>,
    rows: Crowd,
    background: Crowd,
}

/// Takes all rows down a tree, and calls `visit` where rows of both sides meet: at every leaf, or above it at the first
/// node where `ends` is true, given the leaves below the node and the players on its path. Columns with one owner are
/// one player, with one joint condition.
pub(super) fn walk(
    tree: &RawTree,
    owner: &[usize],
    [rows, background]: [&RawRows; 2],
    ends: impl Fn(usize, usize) -> bool,
    watch: &Watch<'_>,
    mut visit: impl FnMut(&Meeting<'_>),
) -> Result<(), ExplainError> {
    let leaves = leaves_below(tree);
    let mut closure = Closure::default();
    let mut sides = Vec::new();
    let mut stops =
        vec![Stop { node: 0, slots: Vec::new(), rows: Crowd::all(rows), background: Crowd::all(background) }];
    let mut done = 0usize;
    while let Some(Stop { node, mut slots, rows: ours, background: theirs }) = stops.pop() {
        done += 1;
        if done.is_multiple_of(64) {
            watch.check()?;
        }
        let split = &tree.nodes()[node];
        let (column, children) = match split {
            RawNode::Split { column, children, .. } if !ends(leaves[node], slots.len()) => (*column, *children),
            _ => {
                visit(&Meeting { node, slots: &slots, rows: &ours, background: &theirs });
                continue;
            }
        };
        let slot = slot_of(&mut slots, owner[column])?;
        take_sides(split, rows.column(column), &ours.ids, &mut sides);
        let ours = ours.part(&sides, slot);
        take_sides(split, background.column(column), &theirs.ids, &mut sides);
        let theirs = theirs.part(&sides, slot);
        for ((child, mut ours), mut theirs) in children.into_iter().zip(ours).zip(theirs) {
            if leaves[child] > FEW_LEAVES {
                closure.leave_behind(&mut ours, &mut theirs, slots.len());
            }
            if !ours.ids.is_empty() && !theirs.ids.is_empty() {
                stops.push(Stop { node: child, slots: slots.clone(), rows: ours, background: theirs });
            }
        }
    }
    Ok(())
}

/// The bit of a player on a path; assigns one if the player is new.
pub(super) fn slot_of(slots: &mut Vec<usize>, player: usize) -> Result<usize, ExplainError> {
    let slot = slots.iter().position(|&known| known == player).unwrap_or(slots.len());
    if slot == slots.len() {
        slots.push(player);
    }
    match slots.len() {
        columns if columns > MAX_SLOTS => Err(ExplainError::LongPath { columns, limit: MAX_SLOTS }),
        _ => Ok(slot),
    }
}

/// The child of a node that each row goes to, 0 or 1.
pub(super) fn take_sides(split: &RawNode, numbers: &[f64], ids: &[u32], sides: &mut Vec<u64>) {
    sides.clear();
    let numbers = ids.iter().map(|&id| numbers[id as usize]);
    match split {
        // The same as below, without a branch. Every comparison with a missing number is false.
        RawNode::Split { test: RawTest::AtMost(most), missing_first: true, zero_is_missing: false, .. } => {
            sides.extend(numbers.map(|number| u64::from(number > *most)));
        }
        RawNode::Split { test: RawTest::AtMost(most), missing_first: false, zero_is_missing: false, .. } => {
            sides.extend(numbers.map(|number| 1 - u64::from(number <= *most)));
        }
        _ => sides.extend(numbers.map(|number| split.child(number) as u64)),
    }
}

/// The number of leaves below each node.
fn leaves_below(tree: &RawTree) -> Vec<usize> {
    let mut leaves = vec![1; tree.nodes().len()];
    for (at, node) in tree.nodes().iter().enumerate().rev() {
        if let RawNode::Split { children: [first, second], .. } = node {
            leaves[at] = leaves[*first] + leaves[*second];
        }
    }
    leaves
}

impl Crowd {
    fn all(rows: &RawRows) -> Self {
        Crowd { ids: (0..rows.len() as u32).collect(), lacks: vec![0; rows.len()] }
    }

    /// The crowds at the two children of a node that sends rows to these sides.
    fn part(self, sides: &[u64], slot: usize) -> [Crowd; 2] {
        let first = self.lacks.iter().zip(sides).map(|(lacks, side)| lacks | side << slot).collect();
        let mut second = self.lacks;
        second.iter_mut().zip(sides).for_each(|(lacks, side)| *lacks |= (side ^ 1) << slot);
        [Crowd { ids: self.ids.clone(), lacks: first }, Crowd { ids: self.ids, lacks: second }]
    }

    fn keep(&mut self, lives: impl Fn(u64) -> bool) {
        let mut to = 0;
        for from in 0..self.ids.len() {
            let (id, lacks) = (self.ids[from], self.lacks[from]);
            (self.ids[to], self.lacks[to]) = (id, lacks);
            to += usize::from(lives(lacks));
        }
        self.ids.truncate(to);
        self.lacks.truncate(to);
    }
}

/// Tells whether one of some other sets is disjoint from a set. Its memory is reused.
#[derive(Default)]
struct Closure {
    /// For every set of players, a bit that says whether it contains one of the others.
    contains: Vec<u64>,
    known: Vec<u64>,
}

impl Closure {
    /// Drops the rows of each side that no row of the other side completes.
    fn leave_behind(&mut self, rows: &mut Crowd, background: &mut Crowd, slots: usize) {
        // With many rows, nearly every background row is completed by one of them.
        let both = background.ids.len() >= rows.ids.len() / 8;
        self.leave(rows, &background.lacks, slots);
        if both {
            self.leave(background, &rows.lacks, slots);
        }
    }

    fn leave(&mut self, crowd: &mut Crowd, others: &[u64], slots: usize) {
        let full = u64::MAX >> (64 - slots.max(1));
        if slots > TABLE_SLOTS {
            self.known.clear();
            self.known.extend_from_slice(others);
            self.known.sort_unstable();
            self.known.dedup();
            let known = &self.known;
            crowd.keep(|lacks| known.iter().any(|other| other & lacks == 0));
            return;
        }
        self.close(others, slots);
        let contains = &self.contains;
        crowd.keep(|lacks| {
            let set = full & !lacks;
            contains[(set >> 6) as usize] >> (set & 63) & 1 == 1
        });
    }

    fn close(&mut self, others: &[u64], slots: usize) {
        /// For each of six players, a mask of the sets without it.
        const WITHOUT: [u64; 6] = [
            0x5555_5555_5555_5555,
            0x3333_3333_3333_3333,
            0x0f0f_0f0f_0f0f_0f0f,
            0x00ff_00ff_00ff_00ff,
            0x0000_ffff_0000_ffff,
            0x0000_0000_ffff_ffff,
        ];
        self.contains.clear();
        self.contains.resize(1 << slots.saturating_sub(6), 0);
        others.iter().for_each(|&set| self.contains[(set >> 6) as usize] |= 1 << (set & 63));
        for (slot, without) in WITHOUT.iter().enumerate().take(slots) {
            self.contains.iter_mut().for_each(|word| *word |= (*word & without) << (1 << slot));
        }
        for slot in 6..slots {
            let step = 1 << (slot - 6);
            for pair in self.contains.chunks_exact_mut(2 * step) {
                let (without, with) = pair.split_at_mut(step);
                with.iter_mut().zip(without).for_each(|(with, without)| *with |= *without);
            }
        }
    }
}

/// Numbers the distinct sets of players from 0 on. Its table is reused.
#[derive(Default)]
pub(super) struct Places {
    table: Vec<u32>,
    map: HashTable<(u64, u32)>,
    count: u32,
    is_small: bool,
}

impl Places {
    /// Forgets all sets; the next ones have this many bits.
    pub(super) fn clear(&mut self, bits: usize) {
        self.is_small = bits <= TABLE_SLOTS;
        if self.is_small {
            self.table.clear();
            self.table.resize(1 << bits, NONE);
        }
        self.map.clear();
        self.count = 0;
    }

    /// The number of a set, and whether it is new.
    #[inline]
    pub(super) fn place(&mut self, set: u64) -> (usize, bool) {
        let next = self.count;
        let place = if self.is_small {
            let place = &mut self.table[set as usize];
            if *place == NONE {
                *place = next;
            }
            *place
        } else {
            let spread = |set: u64| {
                let mixed = set.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed ^ mixed >> 32
            };
            self.map.entry(spread(set), |(one, _)| *one == set, |(one, _)| spread(*one)).or_insert((set, next)).get().1
        };
        self.count += u32::from(place == next);
        (place as usize, place == next)
    }

    /// The count of each distinct set, in order of first occurrence.
    pub(super) fn counted(&mut self, sets: &[u64], bits: usize) -> Vec<(u64, u32)> {
        self.clear(bits);
        let mut counted: Vec<(u64, u32)> = Vec::new();
        for &set in sets {
            match self.place(set) {
                (_, true) => counted.push((set, 1)),
                (place, false) => counted[place].1 += 1,
            }
        }
        counted
    }
}
