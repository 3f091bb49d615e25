//! From levels of functions to a reduced ordered diagram, deepest level first.
//!
//! The rules are Bryant's: a node whose children are equal is that child, and two nodes of a level with equal pairs of
//! children are one. Done level by level on whole arrays: the pairs of a level are keys of 64 bits, and
//! [`Distinct`] does the rest. Cost: linear in the number of pairs.

use super::distinct::Distinct;
use super::{DiagramError, Obdd};
use crate::lit::Var;

/// The levels reduced so far.
pub(super) struct Reducer {
    levels: Vec<Vec<[u32; 2]>>,
    /// The number that the next node gets; 0 and 1 are the constants.
    next: u32,
    max_nodes: usize,
    /// How many levels there will be.
    height: usize,
    distinct: Distinct,
    /// Memory for the pairs of a level.
    pairs: Vec<u64>,
}

impl Reducer {
    pub(super) fn new(height: usize, max_nodes: usize) -> Self {
        // Numbers of nodes stay below 2^31.
        let max_nodes = max_nodes.min((1 << 31) - 16);
        Reducer { levels: Vec::new(), next: 2, max_nodes, height, distinct: Distinct::default(), pairs: Vec::new() }
    }

    /// The nodes so far.
    pub(super) fn nodes(&self) -> usize {
        self.next as usize - 2
    }

    /// The next level up, where function `i` has the children `2 i` and `2 i + 1`: replaces children by their parents.
    pub(super) fn halve(&mut self, nodes: &mut Vec<u32>) -> Result<(), DiagramError> {
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        pairs.extend(nodes.chunks_exact(2).map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1])));
        self.level(&pairs, nodes)?;
        self.pairs = pairs;
        Ok(())
    }

    /// The next level up, as pairs of children `lo << 32 | hi`: gives the node of each pair.
    pub(super) fn level(&mut self, pairs: &[u64], nodes: &mut Vec<u32>) -> Result<(), DiagramError> {
        let equal = |pair: u64| ((pair >> 32) as u32 == pair as u32).then_some(pair as u32);
        let found = self.distinct.find(pairs, self.next, equal, nodes);
        let mut level = Vec::with_capacity(found.len());
        level.extend(found.iter().map(|pair| [(pair >> 32) as u32, pair as u32]));
        self.push(level)
    }

    fn push(&mut self, level: Vec<[u32; 2]>) -> Result<(), DiagramError> {
        if level.len() > self.max_nodes - self.nodes() {
            let cause = Box::new(DiagramError::TooManyNodes { limit: self.max_nodes });
            return Err(DiagramError::Reduce { cause, level: self.levels.len(), levels: self.height });
        }
        self.next += level.len() as u32;
        self.levels.push(level);
        Ok(())
    }

    /// The levels of functions of up to six variables, given as the bits of a word each: replaces words by nodes.
    pub(super) fn words(&mut self, words: &[u64], variables: usize, nodes: &mut Vec<u32>) -> Result<(), DiagramError> {
        // Downwards: the distinct functions of ever fewer variables that the words consist of.
        let mut functions: Vec<u64> = self.distinct.find(words, 0, |_| None, nodes).iter().collect();
        let mut children = Vec::with_capacity(variables);
        for left in (0..variables).rev() {
            let (half, mask) = (1 << left, (1u64 << (1 << left)) - 1);
            let halves = functions.iter().flat_map(|word| [word & mask, word >> half & mask]);
            let mut ids = Vec::new();
            functions = if left <= DIRECT_VARIABLES && functions.len() > 1 << 10 {
                distinct_direct(halves, 1 << left, &mut ids)
            } else {
                self.pairs.clear();
                self.pairs.extend(halves);
                self.distinct.find(&self.pairs, 0, |_| None, &mut ids).iter().collect()
            };
            children.push(ids);
        }
        // Upwards: distinct functions are distinct nodes.
        let mut known: Vec<u32> = functions.iter().map(|&value| value as u32).collect();
        for ids in children.into_iter().rev() {
            let mut level = Vec::new();
            let mut next = Vec::with_capacity(ids.len() / 2);
            for pair in ids.chunks_exact(2) {
                let [lo, hi] = [known[pair[0] as usize], known[pair[1] as usize]];
                if lo == hi {
                    next.push(lo);
                } else {
                    next.push(self.next + level.len() as u32);
                    level.push([lo, hi]);
                }
            }
            self.push(level)?;
            known = next;
        }
        nodes.iter_mut().for_each(|node| *node = known[*node as usize]);
        Ok(())
    }

    /// The diagram with this root; there is a level for each variable that `has_level`, the others have no node.
    pub(super) fn finish(self, order: &[Var], has_level: impl Fn(Var) -> bool, root: u32) -> Obdd {
        let mut made = self.levels.into_iter();
        let mut level = |&var: &Var| if has_level(var) { made.next().unwrap_or_default() } else { Vec::new() };
        Obdd::from_levels(order.to_vec(), order.iter().rev().map(&mut level).collect(), root)
    }
}

/// The functions of four variables are few enough for an array.
const DIRECT_VARIABLES: usize = 4;

/// What [`Distinct::find`] does, for keys of so few bits that each has a place of its own.
fn distinct_direct(keys: impl Iterator<Item = u64>, bits: usize, numbers: &mut Vec<u32>) -> Vec<u64> {
    let mut places = vec![u32::MAX; 1 << bits];
    let mut found = Vec::new();
    numbers.extend(keys.map(|key| {
        let place = &mut places[key as usize];
        if *place == u32::MAX {
            *place = found.len() as u32;
            found.push(key);
        }
        *place
    }));
    found
}
