//! All sufficient or contrastive reasons of a decision on a diagram, without enumerating inputs.
//!
//! *Sets of nodes.* Let a set of players be free and fix all others to the entity's values. After each player, the
//! nodes reachable in the diagram of the inputs of other classes form a set: a fixed player leads each node to one
//! other, a free player to all nodes that its features can reach. The free set is contrastive if the leaf is reached in
//! the end. Equal sets of nodes at the same player have the same future, so results are cached by node set: the
//! contrastive sets become a diagram over the players themselves.
//!
//! *Minimal sets.* The diagram represents a monotone family. Its minimal sets are those of the branch without the first
//! player, and those of the branch with it that contain none of the former (Rauzy, "New algorithms for fault trees
//! analysis", 1993), kept as a zero-suppressed diagram, in which absent players have no node (Minato, 1993). One sweep
//! counts them by size.
//!
//! *Sufficient sets* are the complements of the sets that are not contrastive: the same diagram with branches and leaves
//! exchanged. *Cost.* The number of distinct sets of nodes, which can be exponential and is limited.

use super::QueryError;
use super::diagrams::Region;
use crate::lit::Watch;
use dashu_int::UBig;
use std::collections::HashMap;

/// The limits of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The total size of the cached sets of nodes.
    nodes: usize,
    /// The number of nodes of the diagram of sets.
    sets: usize,
}

impl Effort {
    /// For an optional count of reasons.
    pub(super) const LITTLE: Effort = Effort { nodes: 500_000, sets: 200_000 };
    /// For explicit requests.
    pub(super) const FULL: Effort = Effort { nodes: 30_000_000, sets: 5_000_000 };
}

/// The most players, because each takes one level of recursion.
const MOST_PLAYERS: usize = 2_000;

/// The kind of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Sufficient,
    Contrastive,
}

/// The minimal sets of a family, as a diagram.
pub(super) struct MinimalSets {
    /// The players in the order of the diagram.
    players: Vec<usize>,
    /// Place of the player, sets without it, sets with it; node 0 is the empty family, node 1 contains only the empty
    /// set.
    nodes: Vec<[u32; 3]>,
    root: u32,
}

/// The construction of the contrastive sets.
struct Walk<'a> {
    region: &'a Region,
    entity: &'a [bool],
    /// The first level of each block, and the end.
    blocks: Vec<u32>,
    known: HashMap<(u32, Vec<u32>), u32>,
    /// Place of the player, the child if it keeps the entity's value, the child if it is free.
    nodes: Vec<[u32; 3]>,
    unique: HashMap<[u32; 3], u32>,
    remembered: usize,
    effort: Effort,
    watch: &'a Watch<'a>,
}

/// The contrastive sets of an entity, as a diagram over the players.
pub(super) struct ContrastiveSets {
    /// The players in the order of the diagram.
    pub(super) players: Vec<usize>,
    /// Place of the player, the child if it keeps the entity's value, the child if it is free; 0 and 1 are the leaves,
    /// and children come first.
    pub(super) nodes: Vec<[u32; 3]>,
    pub(super) root: u32,
}

impl ContrastiveSets {
    /// The sets of an entity; `region` holds the inputs of other classes.
    pub(super) fn new(region: &Region, entity: &[bool], effort: Effort, watch: &Watch<'_>) -> Result<Self, QueryError> {
        let diagram = &*region.diagram;
        let levels = diagram.order.len();
        let blocks: Vec<u32> = (0..=levels).filter(|&level| diagram.begins(level)).map(|level| level as u32).collect();
        let players: Vec<usize> =
            blocks[..blocks.len() - 1].iter().map(|&level| diagram.player[level as usize]).collect();
        if players.len() > MOST_PLAYERS {
            let what = "finding all reasons";
            return Err(QueryError::SearchLimit { what, limit: MOST_PLAYERS, unit: "players" });
        }
        let leaves = vec![[u32::MAX, 0, 0], [u32::MAX, 1, 1]];
        let (known, unique) = (HashMap::new(), HashMap::new());
        let mut walk = Walk { region, entity, blocks, known, nodes: leaves, unique, remembered: 0, effort, watch };
        let root = walk.from(0, vec![region.root])?;
        Ok(ContrastiveSets { players, nodes: walk.nodes, root })
    }

    /// The minimal sets of a family. Excluded players are in no set.
    pub(super) fn minimal(
        &self,
        family: Family,
        exclude: &[usize],
        effort: Effort,
        watch: &Watch<'_>,
    ) -> Result<MinimalSets, QueryError> {
        let mut sets =
            Sets { nodes: vec![[u32::MAX; 3]; 2], unique: HashMap::new(), known: HashMap::new(), effort, watch };
        let mut made = HashMap::new();
        let excluded: Vec<bool> = self.players.iter().map(|player| exclude.contains(player)).collect();
        let root = sets.minimal(&self.nodes, self.root, family, &excluded, &mut made)?;
        Ok(MinimalSets { players: self.players.clone(), nodes: sets.nodes, root })
    }
}

impl MinimalSets {
    /// The minimal sets of an entity; `region` holds the inputs of other classes. Excluded players are in no set.
    pub(super) fn new(
        region: &Region,
        entity: &[bool],
        family: Family,
        exclude: &[usize],
        effort: Effort,
        watch: &Watch<'_>,
    ) -> Result<Self, QueryError> {
        ContrastiveSets::new(region, entity, effort, watch)?.minimal(family, exclude, effort, watch)
    }

    /// The number of sets, and for each place the number of sets with its player.
    pub(super) fn counts(&self) -> (UBig, Vec<UBig>) {
        let mut below = vec![UBig::ZERO, UBig::ONE];
        for &[_, without, with] in &self.nodes[2..] {
            below.push(&below[without as usize] + &below[with as usize]);
        }
        let mut above = vec![UBig::ZERO; self.nodes.len()];
        above[self.root as usize] = UBig::ONE;
        let mut having = vec![UBig::ZERO; self.players.len()];
        for at in (2..self.nodes.len()).rev() {
            let [place, without, with] = self.nodes[at];
            let ways = std::mem::take(&mut above[at]);
            having[place as usize] += &ways * &below[with as usize];
            above[without as usize] += &ways;
            above[with as usize] += ways;
        }
        (std::mem::take(&mut below[self.root as usize]), having)
    }

    /// For each node, the number of sets of each size.
    fn sizes(&self) -> Vec<Vec<UBig>> {
        let mut sizes: Vec<Vec<UBig>> = vec![Vec::new(), vec![UBig::ONE]];
        for &[_, without, with] in &self.nodes[2..] {
            let (without, with) = (&sizes[without as usize], &sizes[with as usize]);
            let mut sum = without.clone();
            sum.resize(sum.len().max(with.len() + 1), UBig::ZERO);
            with.iter().enumerate().for_each(|(size, count)| sum[size + 1] += count);
            sizes.push(sum);
        }
        sizes
    }

    /// The number of sets and the smallest ones, ordered by size and then by `ranks`; among more than `sorted` sets of
    /// one size the selection is arbitrary.
    pub(super) fn smallest(&self, most: usize, sorted: usize, ranks: &[usize]) -> (UBig, Vec<Vec<usize>>) {
        let sizes = self.sizes();
        let own = &sizes[self.root as usize];
        let count = own.iter().fold(UBig::ZERO, |sum, count| sum + count);
        let mut found: Vec<Vec<usize>> = Vec::new();
        for (size, count) in own.iter().enumerate() {
            if *count == UBig::ZERO || found.len() >= most {
                continue;
            }
            let wanted = if *count <= UBig::from(sorted) { sorted } else { most - found.len() };
            let mut of_size = Vec::new();
            self.list(self.root, size, &sizes, &mut Vec::new(), wanted, &mut of_size);
            let key = |set: &Vec<usize>| {
                let mut key: Vec<usize> = set.iter().map(|&player| ranks[player]).collect();
                key.sort_unstable();
                key
            };
            of_size.sort_by_cached_key(key);
            of_size.truncate(most - found.len());
            found.append(&mut of_size);
        }
        found.iter_mut().for_each(|set| set.sort_unstable());
        (count, found)
    }

    fn list(
        &self,
        node: u32,
        size: usize,
        sizes: &[Vec<UBig>],
        chosen: &mut Vec<usize>,
        most: usize,
        found: &mut Vec<Vec<usize>>,
    ) {
        let is_there = sizes[node as usize].get(size).is_some_and(|count| *count > UBig::ZERO);
        if !is_there || found.len() >= most {
            return;
        }
        if node == 1 {
            found.push(chosen.clone());
            return;
        }
        let [place, without, with] = self.nodes[node as usize];
        if size > 0 {
            chosen.push(self.players[place as usize]);
            self.list(with, size - 1, sizes, chosen, most, found);
            chosen.pop();
        }
        self.list(without, size, sizes, chosen, most, found);
    }
}

impl Walk<'_> {
    /// The contrastive sets of the players from a place on, for an ascending set of nodes.
    fn from(&mut self, place: usize, nodes: Vec<u32>) -> Result<u32, QueryError> {
        if nodes.contains(&self.region.leaf) {
            return Ok(1);
        }
        let nodes: Vec<u32> = nodes.into_iter().filter(|&node| node > 1).collect();
        let Some(first) = nodes.iter().map(|&node| self.region.diagram.nodes[node as usize][0]).min() else {
            return Ok(0);
        };
        // Skips players that no node tests.
        let place = place.max(self.blocks.partition_point(|&level| level <= first) - 1);
        let key = (place as u32, nodes);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        self.watch.check()?;
        self.remembered += key.1.len() + 4;
        if self.remembered > self.effort.nodes {
            let what = "finding all reasons";
            return Err(QueryError::SearchLimit { what, limit: self.effort.nodes, unit: "remembered nodes" });
        }
        let end = self.blocks[place + 1];
        let [fixed, free] = [false, true].map(|is_free| self.through(&key.1, end, is_free));
        let fixed = self.from(place + 1, fixed)?;
        let free = self.from(place + 1, free)?;
        let made = match fixed == free {
            true => fixed,
            false => {
                let node = [place as u32, fixed, free];
                let next = self.nodes.len() as u32;
                let number = *self.unique.entry(node).or_insert(next);
                if number == next {
                    self.nodes.push(node);
                }
                number
            }
        };
        self.known.insert(key, made);
        Ok(made)
    }

    /// The nodes that these nodes reach through the levels before `end`.
    fn through(&self, nodes: &[u32], end: u32, is_free: bool) -> Vec<u32> {
        let diagram = &*self.region.diagram;
        let (mut waiting, mut out) = (nodes.to_vec(), Vec::with_capacity(nodes.len()));
        let mut seen = std::collections::HashSet::new();
        while let Some(at) = waiting.pop() {
            let [level, lo, hi] = diagram.nodes[at as usize];
            if at <= 1 || level >= end {
                out.push(at);
            } else if !is_free {
                waiting.push(if self.entity[diagram.order[level as usize]] { hi } else { lo });
            } else if seen.insert(at) {
                waiting.extend([lo, hi]);
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Sets of players as diagrams.
struct Sets<'a> {
    nodes: Vec<[u32; 3]>,
    unique: HashMap<[u32; 3], u32>,
    known: HashMap<(u32, u32), u32>,
    effort: Effort,
    watch: &'a Watch<'a>,
}

impl Sets<'_> {
    fn node(&mut self, place: u32, without: u32, with: u32) -> Result<u32, QueryError> {
        if with == 0 {
            return Ok(without);
        }
        let next = self.nodes.len();
        if next > self.effort.sets {
            return Err(QueryError::SearchLimit { what: "finding all reasons", limit: self.effort.sets, unit: "sets" });
        }
        let number = *self.unique.entry([place, without, with]).or_insert(next as u32);
        if number == next as u32 {
            self.nodes.push([place, without, with]);
        }
        Ok(number)
    }

    /// The minimal sets of a family below a node of the diagram of contrastive sets.
    fn minimal(
        &mut self,
        walked: &[[u32; 3]],
        at: u32,
        family: Family,
        excluded: &[bool],
        made: &mut HashMap<u32, u32>,
    ) -> Result<u32, QueryError> {
        if at <= 1 {
            return Ok(if family == Family::Contrastive { at } else { 1 - at });
        }
        if let Some(&known) = made.get(&at) {
            return Ok(known);
        }
        self.watch.check()?;
        let [place, fixed, free] = walked[at as usize];
        let (without, with) = match family {
            Family::Contrastive => (fixed, free),
            Family::Sufficient => (free, fixed),
        };
        let without = self.minimal(walked, without, family, excluded, made)?;
        let sets = match excluded[place as usize] {
            true => without,
            false => {
                let with = self.minimal(walked, with, family, excluded, made)?;
                let with = self.without_supersets(with, without)?;
                self.node(place, without, with)?
            }
        };
        made.insert(at, sets);
        Ok(sets)
    }

    /// The sets of the first family that contain no set of the second.
    fn without_supersets(&mut self, of: u32, none: u32) -> Result<u32, QueryError> {
        if of == 0 || none == 0 {
            return Ok(of);
        }
        if none == 1 || of == none || of == 1 && self.has_empty(none) {
            return Ok(0);
        }
        if of == 1 {
            return Ok(1);
        }
        if let Some(&known) = self.known.get(&(of, none)) {
            return Ok(known);
        }
        self.watch.check()?;
        let ([place, without, with], [other, none_without, none_with]) =
            (self.nodes[of as usize], self.nodes[none as usize]);
        let found = if other < place {
            self.without_supersets(of, none_without)?
        } else {
            let (below, beside) = if other == place { (none_without, Some(none_with)) } else { (none, None) };
            let without = self.without_supersets(without, below)?;
            let mut with = self.without_supersets(with, below)?;
            if let Some(beside) = beside {
                with = self.without_supersets(with, beside)?;
            }
            self.node(place, without, with)?
        };
        self.known.insert((of, none), found);
        Ok(found)
    }

    fn has_empty(&self, mut at: u32) -> bool {
        while at > 1 {
            at = self.nodes[at as usize][1];
        }
        at == 1
    }
}
