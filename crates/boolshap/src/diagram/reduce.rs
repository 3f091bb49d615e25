//! From levels of functions to a reduced ordered diagram, deepest level first.
//!
//! The rules are Bryant's: a node with equal children is replaced by that child, and nodes of a level with equal pairs
//! of children are merged. This is done level by level on whole arrays, using [`Distinct`] to find equal pairs. Few
//! pairs need comparing: a child used once makes its pair unique. In the table of a dense network this holds for nearly
//! all functions of seven variables. Functions of up to four variables are indexed by an array of all of them, so the
//! only level at which every key is looked up is that of five variables, whose functions are 32-bit words. Cost: linear
//! in the number of pairs.

use super::distinct::{Distinct, Halves, Keys, LowHalves, SHARED, make_room};
use super::{DiagramError, Obdd};
use crate::lit::Var;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Marks a parent that is not known yet.
const OPEN: u32 = u32::MAX;
/// The number of pairs in a task of a thread.
const TASK: usize = 1 << 15;
/// There are few enough functions of four variables for an array.
const DIRECT_VARIABLES: usize = 4;

/// The levels reduced so far.
pub(super) struct Reducer {
    levels: Vec<Vec<[u32; 2]>>,
    /// The number of the next node; 0 and 1 are the constants.
    next: u32,
    max_nodes: usize,
    /// The total number of levels.
    height: usize,
    distinct: Distinct<u64>,
    /// Working memory for the pairs of a level that have to be compared, and for their nodes.
    pairs: Vec<u64>,
    numbers: Vec<u32>,
    above: Vec<u32>,
}

/// The nodes of a sequence of functions, with [`SHARED`] where the same function may occur again.
#[derive(Default)]
pub(super) struct Row(Vec<u32>);

impl Row {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The nodes alone.
    pub(super) fn into_nodes(mut self) -> Vec<u32> {
        self.0.iter_mut().for_each(|node| *node &= !SHARED);
        self.0
    }
}

impl Reducer {
    pub(super) fn new(height: usize, max_nodes: usize) -> Self {
        Reducer {
            levels: Vec::new(),
            next: 2,
            // Node numbers stay below 2^31.
            max_nodes: max_nodes.min((1 << 31) - 16),
            height,
            distinct: Distinct::default(),
            pairs: Vec::new(),
            numbers: Vec::new(),
            above: Vec::new(),
        }
    }

    /// The number of nodes so far.
    pub(super) fn nodes(&self) -> usize {
        self.next as usize - 2
    }

    /// Adds the next level up, where function `i` has the children `2 i` and `2 i + 1`: replaces children by their
    /// parents.
    pub(super) fn halve(&mut self, row: &mut Row) -> Result<(), DiagramError> {
        // First count the pairs of each kind in each task, then write everything to its place.
        let counts: Vec<[usize; 2]> = row.0.par_chunks(2 * TASK).map(count).collect();
        let [once, open] = counts.iter().fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
        self.check_room(once)?;
        // Memory that stays unused is never touched.
        let mut level = vec![[0, 0]; once + open];
        make_room(&mut self.pairs, open);
        make_room(&mut self.above, row.0.len() / 2);
        let mut tasks = Vec::with_capacity(counts.len());
        let (mut made_left, mut open_left) = (&mut level[..once], self.pairs.as_mut_slice());
        let mut first = self.next;
        let parts = row.0.chunks(2 * TASK).zip(self.above.chunks_mut(TASK));
        for ((below, above), &[once, open]) in parts.zip(&counts) {
            let (made, pairs);
            (made, made_left) = made_left.split_at_mut(once);
            (pairs, open_left) = open_left.split_at_mut(open);
            tasks.push(Task { below, above, made, pairs, first });
            first += once as u32;
        }
        tasks.into_par_iter().for_each(Task::run);

        let found = self.distinct.find(self.pairs.as_slice(), |_| None);
        self.distinct.hand_back(self.pairs.as_slice(), first, |known| known, &mut self.numbers);
        let mut numbers_left = self.numbers.as_slice();
        let mut tasks = Vec::with_capacity(counts.len());
        for (above, &[_, open]) in self.above.chunks_mut(TASK).zip(&counts).filter(|(_, count)| count[1] > 0) {
            let numbers;
            (numbers, numbers_left) = numbers_left.split_at(open);
            tasks.push((above, numbers));
        }
        tasks.into_par_iter().for_each(|(above, numbers)| {
            let mut next = 0;
            for node in above {
                let open = *node == OPEN;
                *node = if open { numbers[next] } else { *node };
                next = (next + usize::from(open)).min(numbers.len() - 1);
            }
        });
        std::mem::swap(&mut row.0, &mut self.above);
        level.truncate(once + found.len());
        found.write(&mut level[once..], children);
        self.push(level)
    }

    /// Adds the next level up, given as pairs of children `lo << 32 | hi`; returns the node of each pair.
    pub(super) fn level(&mut self, pairs: &[u64]) -> Result<Vec<u32>, DiagramError> {
        let equal = |pair: u64| ((pair >> 32) as u32 == pair as u32).then_some(pair as u32);
        self.pairs.clear();
        self.pairs.extend(pairs.iter().filter(|pair| equal(**pair).is_none()));
        let found = self.distinct.find(self.pairs.as_slice(), |_| None);
        self.distinct.hand_back(self.pairs.as_slice(), self.next, |known| known, &mut self.numbers);
        let mut numbers = self.numbers.iter();
        let mut number = || numbers.next().map_or(OPEN, |number| number & !SHARED);
        let nodes = pairs.iter().map(|&pair| equal(pair).unwrap_or_else(&mut number)).collect();
        self.push(found.iter().map(children).collect())?;
        Ok(nodes)
    }

    /// Adds the levels of functions of up to six variables, each given as the bits of a word.
    pub(super) fn words(&mut self, words: &[u64], variables: usize) -> Result<Row, DiagramError> {
        if variables <= DIRECT_VARIABLES {
            let mask = (1u64 << (1 << variables)) - 1;
            let used = Used::new(words.len());
            words.iter().for_each(|word| used.add((word & mask) as usize));
            let nodes = self.small_functions(used, variables)?;
            return Ok(Row(words.iter().map(|word| nodes.node((word & mask) as usize) | SHARED).collect()));
        }
        if variables == DIRECT_VARIABLES + 1 {
            return self.five_variables(&LowHalves(words));
        }
        let mut row = self.five_variables(&Halves(words))?;
        self.halve(&mut row)?;
        Ok(row)
    }

    /// Adds the levels of functions of five variables.
    fn five_variables(&mut self, functions: &impl Keys<Key = u32>) -> Result<Row, DiagramError> {
        let halves = |function: u32| [(function & 0xFFFF) as usize, (function >> 16) as usize];
        let mut distinct = Distinct::default();
        let used = Used::new(functions.len());
        // A function that only depends on four variables is identified by its bits; its node is resolved later.
        let found = distinct.find(functions, |function| match halves(function) {
            [lo, hi] if lo == hi => {
                used.add(lo);
                Some(lo as u32)
            }
            _ => None,
        });
        found.each(|function| halves(function).into_iter().for_each(|four| used.add(four)));
        let nodes = self.small_functions(used, DIRECT_VARIABLES)?;
        let mut row = Row::default();
        distinct.hand_back(functions, self.next, |four| nodes.node(four as usize), &mut row.0);
        let mut level = vec![[0, 0]; found.len()];
        found.write(&mut level, |function| halves(function).map(|half| nodes.node(half)));
        self.push(level)?;
        Ok(row)
    }

    /// Adds the levels of functions of up to four variables, given as numbers; returns the nodes of those that are
    /// used.
    fn small_functions(&mut self, used: Used, variables: usize) -> Result<Nodes, DiagramError> {
        let mut all = vec![used.list()];
        for left in (0..variables).rev() {
            let (half, mask) = (1 << left, (1 << (1 << left)) - 1);
            let above = all.last().expect("there is a level");
            let mut below: Vec<usize> = above.iter().flat_map(|function| [function & mask, function >> half]).collect();
            below.sort_unstable();
            below.dedup();
            all.push(below);
        }
        let mut nodes = Nodes::new(vec![0, 1], vec![0, 1]);
        for (left, functions) in all.into_iter().rev().skip(1).enumerate() {
            let (half, mask) = (1 << left, (1 << (1 << left)) - 1);
            let mut level = Vec::new();
            let mut made = Vec::with_capacity(functions.len());
            for &function in &functions {
                let [lo, hi] = [nodes.node(function & mask), nodes.node(function >> half)];
                made.push(if lo == hi { lo } else { self.next + level.len() as u32 });
                if lo != hi {
                    level.push([lo, hi]);
                }
            }
            self.push(level)?;
            // Both functions of no variables are present, used or not.
            nodes = Nodes::new(functions, made);
        }
        Ok(nodes)
    }

    fn check_room(&self, more: usize) -> Result<(), DiagramError> {
        if more <= self.max_nodes - self.nodes() {
            return Ok(());
        }
        let cause = Box::new(DiagramError::TooManyNodes { limit: self.max_nodes });
        Err(DiagramError::Reduce { cause, level: self.levels.len(), levels: self.height })
    }

    fn push(&mut self, level: Vec<[u32; 2]>) -> Result<(), DiagramError> {
        self.check_room(level.len())?;
        self.next += level.len() as u32;
        self.levels.push(level);
        Ok(())
    }

    /// The diagram with this root. Variables for which `has_level` is false get an empty level.
    pub(super) fn finish(self, order: &[Var], has_level: impl Fn(Var) -> bool, root: u32) -> Obdd {
        let mut made = self.levels.into_iter();
        let mut level = |&var: &Var| if has_level(var) { made.next().unwrap_or_default() } else { Vec::new() };
        Obdd::from_levels(order.to_vec(), order.iter().rev().map(&mut level).collect(), root)
    }
}

/// Up to this many functions, a list is faster than an array of all.
const FEW: usize = 1 << 12;

/// The functions of four variables that occur, as several threads find them.
enum Used {
    Few(Mutex<Vec<usize>>),
    Marked(Vec<AtomicBool>),
}

impl Used {
    /// For the halves of this many functions of five variables.
    fn new(functions: usize) -> Self {
        match functions <= FEW {
            true => Used::Few(Mutex::default()),
            false => Used::Marked((0..1 << 16).map(|_| AtomicBool::new(false)).collect()),
        }
    }

    #[inline]
    fn add(&self, function: usize) {
        match self {
            Used::Few(list) => list.lock().unwrap_or_else(PoisonError::into_inner).push(function),
            Used::Marked(marks) => marks[function].store(true, Ordering::Relaxed),
        }
    }

    /// The functions in ascending order.
    fn list(self) -> Vec<usize> {
        match self {
            Used::Few(list) => {
                let mut list = list.into_inner().unwrap_or_else(PoisonError::into_inner);
                list.sort_unstable();
                list.dedup();
                list
            }
            Used::Marked(marks) => {
                let used = marks.into_iter().map(AtomicBool::into_inner).enumerate();
                used.filter(|(_, used)| *used).map(|(index, _)| index).collect()
            }
        }
    }
}

/// The nodes of some functions.
enum Nodes {
    Few { functions: Vec<usize>, nodes: Vec<u32> },
    Direct(Vec<u32>),
}

impl Nodes {
    /// For functions in ascending order.
    fn new(functions: Vec<usize>, nodes: Vec<u32>) -> Self {
        let bound = functions.last().map_or(0, |last| last + 1);
        if functions.len() <= FEW && bound > FEW {
            return Nodes::Few { functions, nodes };
        }
        let mut direct = vec![0; bound];
        functions.iter().zip(nodes).for_each(|(&function, node)| direct[function] = node);
        Nodes::Direct(direct)
    }

    #[inline]
    fn node(&self, function: usize) -> u32 {
        match self {
            Nodes::Few { functions, nodes } => nodes[functions.partition_point(|&other| other < function)],
            Nodes::Direct(nodes) => nodes[function],
        }
    }
}

fn children(pair: u64) -> [u32; 2] {
    [(pair >> 32) as u32, pair as u32]
}

/// Whether the two children are equal, and whether the pair is known to be unique; if neither, it has to be compared.
#[inline]
fn kind(pair: &[u32]) -> (bool, bool) {
    let equal = pair[0] == pair[1];
    (equal, !equal & (pair[0] & pair[1] & SHARED == 0))
}

/// The number of unique pairs, and of pairs to compare.
fn count(below: &[u32]) -> [usize; 2] {
    let (mut equals, mut onces) = (0, 0);
    for (equal, once) in below.chunks_exact(2).map(kind) {
        equals += u32::from(equal);
        onces += u32::from(once);
    }
    [onces as usize, below.len() / 2 - equals as usize - onces as usize]
}

/// A part of a row, and space for its results.
struct Task<'a> {
    below: &'a [u32],
    above: &'a mut [u32],
    made: &'a mut [[u32; 2]],
    pairs: &'a mut [u64],
    /// The number of the first new node.
    first: u32,
}

/// The number of pairs classified at a time.
const BATCH: usize = 256;

impl Task<'_> {
    /// Without branches, as the kind of a pair is unpredictable: every pair is written to the end of both lists, and
    /// only the end of the right one advances.
    fn run(self) {
        let (mut made_left, mut open_left) = (self.made, self.pairs);
        let (mut made_batch, mut open_batch) = ([[0u32; 2]; BATCH], [0u64; BATCH]);
        let mut number = self.first;
        for (above, below) in self.above.chunks_mut(BATCH).zip(self.below.chunks(2 * BATCH)) {
            let (mut made, mut open) = (0, 0);
            for (above, pair) in above.iter_mut().zip(below.chunks_exact(2)) {
                let (equal, once) = kind(pair);
                let [lo, hi] = [pair[0] & !SHARED, pair[1] & !SHARED];
                made_batch[made % BATCH] = [lo, hi];
                open_batch[open % BATCH] = u64::from(lo) << 32 | u64::from(hi);
                let node = if once { number + made as u32 } else { OPEN };
                *above = if equal { pair[0] } else { node };
                made += usize::from(once);
                open += usize::from(!equal & !once);
            }
            let (batch, rest) = made_left.split_at_mut(made);
            batch.copy_from_slice(&made_batch[..made]);
            made_left = rest;
            let (batch, rest) = open_left.split_at_mut(open);
            batch.copy_from_slice(&open_batch[..open]);
            open_left = rest;
            number += made as u32;
        }
    }
}
