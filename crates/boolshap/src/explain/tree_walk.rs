//! Rows and background rows together on their way down a tree of raw columns.
//!
//! A path to a leaf is a set of conditions, one for each column that it asks: all answers about the column lead along the path. A
//! row fulfils some of them and a background row some; which, is a mask with a bit for each column of the path, in the order in
//! which they are first asked. A mixture of the two that takes each column from one of them reaches the leaf just if every column
//! comes from one that fulfils its condition. So at a leaf nothing counts but the masks, of which there are far fewer than rows:
//! at most 2 to the number of columns on the path.
//!
//! All rows and all background rows go down together, into both children of every node, with their masks. Those that no row of the
//! other side completes on any path from here are left behind. Cost: nodes times rows of both sides, and at each leaf the product
//! of the numbers of different masks. Nadel and Wettenstein, "From Decision Trees to Boolean Logic: A Fast and Unified SHAP
//! Algorithm", 2025, group rows in the same way.

use super::ExplainError;
use crate::data::RawRows;
use crate::lit::Watch;
use crate::model::{RawNode, RawTree};
use hashbrown::HashTable;

/// The most different columns on a path.
pub(super) const MAX_SLOTS: usize = 64;
/// Up to this many columns, masks are found by a table of all of them.
const TABLE_SLOTS: usize = 12;
/// Below this many leaves it is cheaper to go on than to look who can be left behind.
const WORTH_LOOKING: usize = 6;
/// No mask.
const NONE: u32 = u32::MAX;

/// Rows on their way down: which they are, and the conditions so far that each fulfils.
struct Crowd {
    ids: Vec<u32>,
    masks: Vec<u64>,
}

/// Rows of a crowd by their masks.
pub(super) struct Groups {
    /// The masks that occur, in the order of the first rows that have them.
    pub masks: Vec<u64>,
    /// How many rows have each.
    pub counts: Vec<u32>,
    /// The mask of each row, by its place in the list.
    pub of: Vec<u32>,
}

/// What meets at a leaf.
pub(super) struct Meeting<'w> {
    /// The numbers of the leaf.
    pub numbers: &'w [f64],
    /// The player of each bit of a mask.
    pub slots: &'w [usize],
    /// The rows that are there.
    pub rows: &'w [u32],
    /// Their masks.
    pub row_groups: &'w Groups,
    /// The masks of the background rows.
    pub background: &'w Groups,
}

/// A node to go on at.
struct Stop {
    node: usize,
    slots: Vec<usize>,
    rows: Crowd,
    background: Crowd,
}

/// Takes all rows down a tree, and calls `visit` at every leaf where rows of both sides meet. Columns with one owner are one player:
/// their conditions are one.
pub(super) fn walk(
    tree: &RawTree,
    owner: &[usize],
    rows: &RawRows,
    background: &RawRows,
    watch: &Watch<'_>,
    mut visit: impl FnMut(&Meeting<'_>),
) -> Result<(), ExplainError> {
    let leaves = leaves_below(tree);
    let mut finder = Finder::default();
    let mut stops =
        vec![Stop { node: 0, slots: Vec::new(), rows: Crowd::all(rows), background: Crowd::all(background) }];
    let mut done = 0usize;
    while let Some(stop) = stops.pop() {
        done += 1;
        if done.is_multiple_of(64) {
            watch.check()?;
        }
        let split = &tree.nodes()[stop.node];
        let (column, children) = match split {
            RawNode::Leaf(numbers) => {
                let row_groups = finder.groups(&stop.rows.masks, stop.slots.len());
                let background = finder.groups(&stop.background.masks, stop.slots.len());
                visit(&Meeting {
                    numbers,
                    slots: &stop.slots,
                    rows: &stop.rows.ids,
                    row_groups: &row_groups,
                    background: &background,
                });
                continue;
            }
            RawNode::Split { column, children, .. } => (*column, *children),
        };
        let mut slots = stop.slots;
        let found = slots.iter().position(|&slot| slot == owner[column]);
        let slot = found.unwrap_or(slots.len());
        if found.is_none() {
            slots.push(owner[column]);
        }
        if slots.len() > MAX_SLOTS {
            return Err(ExplainError::LongPath { columns: slots.len(), limit: MAX_SLOTS });
        }
        let is_new = found.is_none();
        let rows = stop.rows.part(split, rows.column(column), slot, is_new);
        let background = stop.background.part(split, background.column(column), slot, is_new);
        for ((child, mut rows), mut background) in children.into_iter().zip(rows).zip(background) {
            if leaves[child] >= WORTH_LOOKING {
                leave_behind(&mut finder, &mut rows, &mut background, slots.len());
            }
            if !rows.ids.is_empty() && !background.ids.is_empty() {
                stops.push(Stop { node: child, slots: slots.clone(), rows, background });
            }
        }
    }
    Ok(())
}

/// For each node the leaves below it.
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
        Crowd { ids: (0..rows.len() as u32).collect(), masks: vec![0; rows.len()] }
    }

    /// The same at the two children of a node that asks a column with these numbers.
    fn part(self, split: &RawNode, numbers: &[f64], slot: usize, is_new: bool) -> [Crowd; 2] {
        let bit = 1u64 << slot;
        let (mut first, mut second) = (Vec::with_capacity(self.ids.len()), Vec::with_capacity(self.ids.len()));
        for (&id, &mask) in self.ids.iter().zip(&self.masks) {
            // A condition that is broken once stays so.
            let kept = if is_new { mask | bit } else { mask };
            let goes = split.child(numbers[id as usize]);
            first.push(if goes == 0 { kept } else { mask & !bit });
            second.push(if goes == 1 { kept } else { mask & !bit });
        }
        [Crowd { ids: self.ids.clone(), masks: first }, Crowd { ids: self.ids, masks: second }]
    }

    fn keep(&mut self, groups: &Groups, lives: &[bool]) {
        if lives.iter().all(|&one| one) {
            return;
        }
        let mut to = 0;
        for (from, group) in groups.of.iter().enumerate() {
            if lives[*group as usize] {
                (self.ids[to], self.masks[to]) = (self.ids[from], self.masks[from]);
                to += 1;
            }
        }
        self.ids.truncate(to);
        self.masks.truncate(to);
    }
}

/// Leaves behind the rows of each side that no row of the other completes.
fn leave_behind(finder: &mut Finder, rows: &mut Crowd, background: &mut Crowd, slots: usize) {
    let full = u64::MAX >> (64 - slots.max(1));
    let (ours, theirs) = (finder.groups(&rows.masks, slots), finder.groups(&background.masks, slots));
    let completed = |one: &u64, others: &[u64]| others.iter().any(|other| one | other == full);
    let lives: Vec<bool> = ours.masks.iter().map(|mask| completed(mask, &theirs.masks)).collect();
    rows.keep(&ours, &lives);
    let lives: Vec<bool> = theirs.masks.iter().map(|mask| completed(mask, &ours.masks)).collect();
    background.keep(&theirs, &lives);
}

/// Finds equal masks; its table is used again and again.
#[derive(Default)]
struct Finder {
    table: Vec<u32>,
    map: HashTable<(u64, u32)>,
}

impl Finder {
    fn groups(&mut self, masks: &[u64], slots: usize) -> Groups {
        let mut groups = Groups { masks: Vec::new(), counts: Vec::new(), of: Vec::with_capacity(masks.len()) };
        if slots <= TABLE_SLOTS {
            self.table.clear();
            self.table.resize(1 << slots, NONE);
        } else {
            self.map.clear();
        }
        for &mask in masks {
            let next = groups.masks.len() as u32;
            let place = if slots <= TABLE_SLOTS {
                let place = &mut self.table[mask as usize];
                if *place == NONE {
                    *place = next;
                }
                *place
            } else {
                self.map
                    .entry(spread(mask), |(one, _)| *one == mask, |(one, _)| spread(*one))
                    .or_insert((mask, next))
                    .get()
                    .1
            };
            if place == next {
                groups.masks.push(mask);
                groups.counts.push(0);
            }
            groups.counts[place as usize] += 1;
            groups.of.push(place);
        }
        groups
    }
}

/// A mask's bits spread over a word, for a hash table.
fn spread(mask: u64) -> u64 {
    let mixed = mask.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}
