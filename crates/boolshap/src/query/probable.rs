//! Probable reasons on a diagram: the smallest sets of players with which at least a share of the inputs keeps the class (or,
//! contrastive, without which less than that share keeps it), where there are too many sets to enumerate.
//!
//! *Worth.* With a share p/q, an input of the entity's class is worth q - p and any other input -p: a set has the share
//! exactly if the inputs that agree with the entity on it have a total worth of at least 0. A kept player multiplies
//! the worth by its number of values, which preserves the sign and makes sets comparable.
//!
//! *Bound.* For each node of the diagram and each number k, one sweep from the leaves gives the maximal worth over all
//! choices of k players below it. Every node may choose for itself, so this is an upper bound on any common choice.
//!
//! *Search.* Players are decided in the diagram's order, from the root. A partial choice leads to a list of nodes, and
//! the sum of their bounds tells whether any choice of the players below can still be enough. Sizes are tried from 0
//! upwards, and supersets of earlier results are pruned, so all results are minimal.
//!
//! *Cost.* The bounds take nodes times the size of the sets; the search is exponential at worst, and limited.

use super::complete_reason::Family;
use super::diagrams::{Diagram, Region};
use super::{Entity, QueryError};
use crate::lit::Watch;
use std::collections::BTreeMap;

/// The limit on steps of the search: the total number of nodes on its lists.
const MOST_STEPS: u64 = 200_000_000;
/// The limit on numbers stored for all nodes together.
const MOST_NUMBERS: usize = 1 << 27;
/// Worths have at most this many bits.
const MOST_BITS: u32 = 120;
/// The most sets that are listed.
const MOST_FOUND: usize = 1_000_000;

/// The sets to find.
pub(super) struct Wanted<'a> {
    pub(super) family: Family,
    /// The share, as numerator and denominator.
    pub(super) share: (u64, u64),
    /// For each player whether it must not be in a set.
    pub(super) is_excluded: &'a [bool],
    /// The number of sets after which the search stops; it completes the last size.
    pub(super) most: usize,
}

/// Sets of players ordered by size, and whether these are all.
pub(super) struct Probable {
    pub(super) sets: Vec<Vec<usize>>,
    pub(super) is_complete: bool,
}

/// A diagram with a worth for each leaf.
struct Part<'a> {
    diagram: &'a Diagram,
    root: u32,
    leaves: [i128; 2],
    /// For each number of chosen players, the bound of each node.
    bounds: Vec<Vec<i128>>,
    /// For the last of these numbers, the worth of each node if the rest of its block takes all values.
    spread: Vec<i128>,
}

struct Search<'a> {
    entity: &'a [bool],
    wanted: &'a Wanted<'a>,
    /// The first level of each block, and the end.
    blocks: Vec<u32>,
    /// The block of each level; the leaves come after the last block.
    block_of: Vec<usize>,
    players: Vec<usize>,
    /// The number of values of each block.
    values: Vec<i128>,
    /// The product of the values from each block on.
    scale: Vec<i128>,
    parts: Vec<Part<'a>>,
    found: Vec<u128>,
    steps: u64,
    watch: &'a Watch<'a>,
}

/// The nodes that a partial choice leads to: for each part, the nodes with their multiplicities.
type Front = Vec<Vec<(u32, i128)>>;

/// The smallest sets. `same` holds the inputs of the entity's class, `others` all others; `values` gives the number of
/// each player's values.
pub(super) fn probable(
    [same, others]: [&Region; 2],
    entity: &Entity,
    wanted: &Wanted<'_>,
    values: &[u64],
    watch: &Watch<'_>,
) -> Result<Probable, QueryError> {
    let diagram = &*same.diagram;
    let bits = diagram.order.len() as u32 + 64 - wanted.share.1.leading_zeros();
    if bits > MOST_BITS {
        return Err(QueryError::TooManyToList { what: "a share", bits, limit: MOST_BITS });
    }
    let levels = diagram.order.len();
    let blocks: Vec<u32> = (0..=levels).filter(|&level| diagram.begins(level)).map(|level| level as u32).collect();
    let players: Vec<usize> = blocks[..blocks.len() - 1].iter().map(|&at| diagram.player[at as usize]).collect();
    let block_of = (0..=levels).map(|level| blocks.partition_point(|&first| first as usize <= level) - 1).collect();
    let values: Vec<i128> = players.iter().map(|&player| values[player].into()).collect();
    let mut scale = vec![1; values.len() + 1];
    (0..values.len()).rev().for_each(|block| scale[block] = scale[block + 1] * values[block]);
    let (part, whole) = (i128::from(wanted.share.0), i128::from(wanted.share.1));
    // Contrastive sets have a low worth: flip the sign, so that the search always looks for a high worth.
    let sign = if wanted.family == Family::Sufficient { 1 } else { -1 };
    let [own, other] = [sign * (whole - part), -sign * part];
    let parts = match std::sync::Arc::ptr_eq(&same.diagram, &others.diagram) && same.root == others.root {
        true => {
            let mut leaves = [other; 2];
            leaves[same.leaf as usize] = own;
            vec![Part::new(same, leaves)]
        }
        false => vec![Part::new(same, at_leaf(same, own)), Part::new(others, at_leaf(others, other))],
    };
    let entity = &entity.bits;
    let (found, steps) = (Vec::new(), 0);
    let mut search = Search { entity, wanted, blocks, block_of, players, values, scale, parts, found, steps, watch };
    search.by_size()
}

fn at_leaf(region: &Region, worth: i128) -> [i128; 2] {
    let mut leaves = [0; 2];
    leaves[region.leaf as usize] = worth;
    leaves
}

impl<'a> Part<'a> {
    fn new(region: &'a Region, leaves: [i128; 2]) -> Self {
        Part { diagram: &region.diagram, root: region.root, leaves, bounds: Vec::new(), spread: Vec::new() }
    }

    fn level(&self, node: u32) -> u32 {
        self.diagram.nodes[node as usize][0]
    }
}

impl Search<'_> {
    /// Searches by size from 0 upwards until there are enough sets.
    fn by_size(&mut self) -> Result<Probable, QueryError> {
        for size in 0..=self.players.len() {
            self.add_bounds()?;
            let start: Front = self.parts.iter().map(|part| vec![(part.root, 1)]).collect();
            self.extend(0, start, size, 0)?;
            if self.found.len() >= self.wanted.most {
                let is_complete = size == self.players.len();
                return Ok(Probable { sets: self.sets(), is_complete });
            }
        }
        Ok(Probable { sets: self.sets(), is_complete: true })
    }

    fn sets(&self) -> Vec<Vec<usize>> {
        let players = |set: &u128| {
            let blocks = (0..self.players.len()).filter(|block| set >> block & 1 == 1);
            let mut players: Vec<usize> = blocks.map(|block| self.players[block]).collect();
            players.sort_unstable();
            players
        };
        self.found.iter().map(players).collect()
    }

    /// Adds the bounds for one more chosen player.
    fn add_bounds(&mut self) -> Result<(), QueryError> {
        let made = self.parts.first().map_or(0, |part| part.bounds.len());
        let nodes: usize = self.parts.iter().map(|part| part.root as usize + 2).sum();
        if nodes.saturating_mul(made + 2) > MOST_NUMBERS {
            let what = "finding probable reasons";
            return Err(QueryError::SearchLimit { what, limit: MOST_NUMBERS, unit: "numbers at nodes" });
        }
        for part in 0..self.parts.len() {
            let (bounds, spread) = self.bounds_of(&self.parts[part])?;
            self.parts[part].bounds.push(bounds);
            self.parts[part].spread = spread;
        }
        Ok(())
    }

    fn bounds_of(&self, part: &Part<'_>) -> Result<(Vec<i128>, Vec<i128>), QueryError> {
        let count = (part.root as usize + 1).max(2);
        let (mut bounds, mut spread) = (vec![0; count], vec![0; count]);
        bounds[..2].copy_from_slice(&part.leaves);
        for at in 2..count {
            if at % 65_536 == 0 {
                self.watch.check()?;
            }
            let [level, lo, hi] = part.diagram.nodes[at];
            let block = self.block_of[level as usize];
            let (start, end) = (self.blocks[block], self.blocks[block + 1]);
            let below = |child: u32| match part.level(child) {
                next if next < end => spread[child as usize] << (next - level - 1),
                next => self.lifted(bounds[child as usize], next, block + 1) << (end - level - 1),
            };
            let all = below(lo) + below(hi);
            let after = self.follow(part, at as u32, end);
            let kept = |bounds: &[i128]| {
                self.values[block] * self.lifted(bounds[after as usize], part.level(after), block + 1)
            };
            let is_sufficient = self.wanted.family == Family::Sufficient;
            let without = if is_sufficient { all << (level - start) } else { kept(&bounds) };
            // If the player is in the set, one choice fewer remains below.
            let with = part
                .bounds
                .last()
                .filter(|_| !self.wanted.is_excluded[self.players[block]])
                .map(|before| if is_sufficient { kept(before) } else { part.spread[at] << (level - start) });
            bounds[at] = with.map_or(without, |with| with.max(without));
            spread[at] = all;
        }
        Ok((bounds, spread))
    }

    /// The worth of a node at a level, scaled to a block at or above it.
    fn lifted(&self, worth: i128, level: u32, block: usize) -> i128 {
        match self.block_of[level as usize] {
            own if own == block => worth,
            own => worth * (self.scale[block] / self.scale[own]),
        }
    }

    /// The node that the entity's values lead to, at or below a level.
    fn follow(&self, part: &Part<'_>, mut at: u32, end: u32) -> u32 {
        while part.level(at) < end {
            let [level, lo, hi] = part.diagram.nodes[at as usize];
            at = if self.entity[part.diagram.order[level as usize]] { hi } else { lo };
        }
        at
    }

    /// Decides the players from a block on, with `left` players still to choose.
    fn extend(&mut self, block: usize, front: Front, left: usize, chosen: u128) -> Result<(), QueryError> {
        self.steps += front.iter().map(|nodes| nodes.len() as u64 + 1).sum::<u64>();
        if self.steps > MOST_STEPS {
            let (what, limit) = ("finding probable reasons", MOST_STEPS as usize);
            return Err(QueryError::SearchLimit { what, limit, unit: "steps" });
        }
        self.watch.check()?;
        let worth = |(part, nodes): (&Part<'_>, &Vec<(u32, i128)>)| {
            let one = |&(node, times): &(u32, i128)| {
                times * self.lifted(part.bounds[left][node as usize], part.level(node), block)
            };
            nodes.iter().map(one).sum::<i128>()
        };
        let most: i128 = self.parts.iter().zip(&front).map(worth).sum();
        // Sufficient sets need a worth of at least 0, contrastive ones more than 0 after the flip.
        let least = if self.wanted.family == Family::Sufficient { 0 } else { 1 };
        if most < least || self.found.iter().any(|set| set & !chosen == 0) {
            return Ok(());
        }
        let levels =
            self.parts.iter().zip(&front).flat_map(|(part, nodes)| nodes.iter().map(|(node, _)| part.level(*node)));
        // Players that no node tests make no difference, so no minimal set contains them.
        let next = levels.map(|level| self.block_of[level as usize]).min().unwrap_or(self.players.len());
        if next == self.players.len() {
            if left == 0 {
                self.found.push(chosen);
            }
            return match self.found.len() > MOST_FOUND {
                true => {
                    Err(QueryError::SearchLimit { what: "finding probable reasons", limit: MOST_FOUND, unit: "sets" })
                }
                false => Ok(()),
            };
        }
        let skipped = self.scale[block] / self.scale[next];
        let [kept, free] = [true, false].map(|is_kept| self.through(next, &front, skipped, is_kept));
        let (with, without) = if self.wanted.family == Family::Sufficient { (kept, free) } else { (free, kept) };
        if left > 0 && !self.wanted.is_excluded[self.players[next]] {
            self.extend(next + 1, with, left - 1, chosen | 1 << next)?;
        }
        self.extend(next + 1, without, left, chosen)
    }

    /// The nodes reached after a block whose player is kept, or takes all values.
    fn through(&self, block: usize, front: &Front, skipped: i128, is_kept: bool) -> Front {
        let (start, end) = (self.blocks[block], self.blocks[block + 1]);
        let one = |(part, nodes): (&Part<'_>, &Vec<(u32, i128)>)| {
            let mut behind: BTreeMap<u32, i128> = BTreeMap::new();
            // Parents have greater numbers than their children.
            let mut inside: BTreeMap<u32, i128> = BTreeMap::new();
            for &(node, times) in nodes {
                let times = times * skipped;
                match part.level(node) < end {
                    true if is_kept => {
                        *behind.entry(self.follow(part, node, end)).or_default() += times * self.values[block];
                    }
                    true => *inside.entry(node).or_default() += times << (part.level(node) - start),
                    false => *behind.entry(node).or_default() += times * self.values[block],
                }
            }
            while let Some((node, times)) = inside.pop_last() {
                let [level, lo, hi] = part.diagram.nodes[node as usize];
                for child in [lo, hi] {
                    match part.level(child) {
                        next if next < end => *inside.entry(child).or_default() += times << (next - level - 1),
                        _ => *behind.entry(child).or_default() += times << (end - level - 1),
                    }
                }
            }
            behind.into_iter().collect()
        };
        self.parts.iter().zip(front).map(one).collect()
    }
}
