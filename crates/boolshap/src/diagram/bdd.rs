//! A store of reduced ordered binary decision diagrams over one variable order, with if-then-else as its operation.
//!
//! *Idea.* All diagrams share one array of nodes `(level, lo, hi)`. If-then-else splits its three operands at the
//! highest level that one of them tests, works on both halves, and joins the results in a node.
//!
//! *Invariants.* The children of a node differ and are on deeper levels, and no two nodes are equal: each function has
//! exactly one diagram, so two functions are equal exactly if their numbers are. Cached results refer only to nodes
//! that exist.
//!
//! *Tables.* The unique table finds a node by its content; its chains run through the nodes. Results of if-then-else
//! are kept in a direct-mapped cache: each triple has one slot, and a new result overwrites the old one. Both tables
//! have a slot for each node of the store's capacity, so they grow with the store: 36 bytes per node when full, 56 just
//! after growing.
//!
//! *Garbage.* When the capacity is used up, a collection marks all nodes that the caller's roots or the current
//! operation reach. It frees the others, together with the cached results that refer to them. If at least half of the
//! nodes are alive, the capacity is doubled, up to the limit; at the limit, freeing almost nothing is an error. So the
//! cost of a collection is proportional to the number of nodes made before the next one.
//!
//! *Cost.* Constant time for each triple not found in the cache: as long as no cached result is overwritten, at most
//! the product of the three sizes. *Depth.* Unfinished work waits in a vector, one entry per level, not on the call
//! stack.
//!
//! Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions on Computers, 1986 (doi
//! 10.1109/TC.1986.1676819). Brace, Rudell and Bryant, "Efficient Implementation of a BDD Package", Design Automation
//! Conference, 1990 (doi 10.1145/123186.123222), for the tables; their complement edges are left out, since a gate is
//! rarely needed both plain and negated.

use super::error::Halt;
use super::obdd::Obdd;
use crate::lit::{Var, Watch};
use std::array::from_fn;

/// A diagram in a store: the number of its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Bdd(u32);

impl Bdd {
    pub(super) const FALSE: Bdd = Bdd(0);
    pub(super) const TRUE: Bdd = Bdd(1);

    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    level: u32,
    lo: Bdd,
    hi: Bdd,
    /// The next node in the same chain of the unique table, or the next free one; 0 ends the chain.
    next: u32,
}

/// Constants are below all levels.
const BELOW: u32 = u32::MAX;
/// Marks a result that is not known yet.
const PENDING: Bdd = Bdd(u32::MAX);
/// Node numbers have 32 bits; two are reserved for the constants and one for [`PENDING`].
pub(super) const MOST_NODES: usize = u32::MAX as usize - 2;
const FEWEST_PLACES: usize = 16;
/// The number of steps between two checks of the watch.
const WATCHED: u64 = 1 << 12;

/// "If the first then the second else the third".
type Triple = [Bdd; 3];

/// A result in the cache. All zeros mark an empty slot, since false is never a test.
#[derive(Debug, Clone, Copy)]
struct Known {
    triple: Triple,
    result: Bdd,
}

const NOTHING: Known = Known { triple: [Bdd::FALSE; 3], result: Bdd::FALSE };

/// An if-then-else whose two halves are being computed, first the lower, then the upper.
#[derive(Debug, Clone, Copy)]
struct Frame {
    triple: Triple,
    level: u32,
    upper: Triple,
    lo: Bdd,
}

/// The diagrams, with the unique table and the cache.
#[derive(Debug)]
pub(super) struct BddStore {
    /// The two constants, then the nodes, including free ones.
    nodes: Vec<Node>,
    /// The first of the free nodes, 0 if all are in use.
    free: u32,
    /// The number of nodes, dead ones included, and the number at which to collect garbage or grow.
    used: usize,
    room: usize,
    limit: usize,
    /// The unique table: the first node of each chain. Its length is a power of two, like the cache's.
    chains: Vec<u32>,
    cache: Vec<Known>,
    frames: Vec<Frame>,
    steps: u64,
}

impl BddStore {
    /// A store with room for `first_room` nodes at first and for at most `limit` later.
    pub(super) fn new(first_room: usize, limit: usize) -> Self {
        let constant = Node { level: BELOW, lo: Bdd::FALSE, hi: Bdd::FALSE, next: 0 };
        let limit = limit.min(MOST_NODES);
        let mut store = BddStore {
            nodes: vec![constant; 2],
            free: 0,
            used: 0,
            room: FEWEST_PLACES.min(first_room).min(limit),
            limit,
            chains: vec![0; FEWEST_PLACES],
            cache: vec![NOTHING; FEWEST_PLACES],
            frames: Vec::new(),
            steps: 0,
        };
        store.enlarge(first_room.min(limit));
        store
    }

    /// The diagram of the variable on a level. As in every operation that makes nodes, all nodes that `roots` reach are
    /// kept.
    pub(super) fn variable(&mut self, level: u32, roots: &[&[Bdd]]) -> Result<Bdd, Halt> {
        self.frames.clear();
        self.node(level, Bdd::FALSE, Bdd::TRUE, roots)
    }

    /// "If `test` then `yes` else `no`". The operands need not be among the roots.
    pub(super) fn if_then_else(
        &mut self,
        test: Bdd,
        yes: Bdd,
        no: Bdd,
        roots: &[&[Bdd]],
        watch: &Watch<'_>,
    ) -> Result<Bdd, Halt> {
        // An operation that ended in an error leaves frames behind.
        self.frames.clear();
        let mut triple = [test, yes, no];
        loop {
            let Some(mut result) = simplify(&mut triple).or_else(|| self.remembered(triple)) else {
                self.steps += 1;
                if self.steps.is_multiple_of(WATCHED) {
                    watch.check()?;
                }
                triple = self.split(triple);
                continue;
            };
            loop {
                let Some(frame) = self.frames.last_mut() else { return Ok(result) };
                if frame.lo == PENDING {
                    frame.lo = result;
                    triple = frame.upper;
                    break;
                }
                let Frame { triple, level, lo, .. } = *frame;
                // The frame stays until the result is stored, because it keeps its operands alive.
                result = self.node(level, lo, result, roots)?;
                let place = self.cache_place(triple);
                self.cache[place] = Known { triple, result };
                self.frames.pop();
            }
        }
    }

    /// Pushes a frame for the halves of a triple and returns the lower half.
    #[inline]
    fn split(&mut self, triple: Triple) -> Triple {
        let nodes = triple.map(|bdd| self.nodes[bdd.index()]);
        let level = nodes[0].level.min(nodes[1].level).min(nodes[2].level);
        let half =
            |child: fn(&Node) -> Bdd| from_fn(|i| if nodes[i].level == level { child(&nodes[i]) } else { triple[i] });
        self.frames.push(Frame { triple, level, upper: half(|node| node.hi), lo: PENDING });
        half(|node| node.lo)
    }

    #[inline]
    fn remembered(&self, triple: Triple) -> Option<Bdd> {
        let known = self.cache[self.cache_place(triple)];
        (known.triple == triple).then_some(known.result)
    }

    #[inline]
    fn cache_place(&self, [test, yes, no]: Triple) -> usize {
        place(test, yes, no.0, self.cache.len())
    }

    /// The unique node with these children, or the child itself if both are equal.
    #[inline]
    fn node(&mut self, level: u32, lo: Bdd, hi: Bdd, roots: &[&[Bdd]]) -> Result<Bdd, Halt> {
        if lo == hi {
            return Ok(lo);
        }
        let mut chain = place(lo, hi, level, self.chains.len());
        let mut at = self.chains[chain];
        while at != 0 {
            let node = &self.nodes[at as usize];
            if (node.lo, node.hi, node.level) == (lo, hi, level) {
                return Ok(Bdd(at));
            }
            at = node.next;
        }
        if self.used >= self.room {
            self.make_room(roots, [lo, hi])?;
            chain = place(lo, hi, level, self.chains.len());
        }
        let node = Node { level, lo, hi, next: self.chains[chain] };
        let id = if self.free == 0 {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = std::mem::replace(&mut self.nodes[id as usize], node).next;
            id
        };
        self.chains[chain] = id;
        self.used += 1;
        Ok(Bdd(id))
    }

    /// Frees unreachable nodes, and doubles the table if most are still in use.
    #[cold]
    fn make_room(&mut self, roots: &[&[Bdd]], more: [Bdd; 2]) -> Result<(), Halt> {
        let reached = {
            let under_way = self.frames.iter().flat_map(|frame| frame.triple.into_iter().chain([frame.lo]));
            let roots = roots.iter().copied().flatten().copied();
            self.reached(roots.chain(under_way.filter(|&bdd| bdd != PENDING)).chain(more))
        };
        self.used = reached.count;
        let doubled = self.room.max(1).saturating_mul(2).min(self.limit);
        if self.used >= self.room / 2 && doubled > self.room && !self.enlarge(doubled) {
            // The system has no more memory: continue with the present capacity.
            self.limit = self.room;
        }
        self.sweep(&reached);
        let freed = self.room - self.used;
        if freed > self.room / 16 { Ok(()) } else { Err(Halt::Nodes(self.limit)) }
    }

    /// Grows the store to this many nodes; false if there is not enough memory. The caller must rebuild the chains.
    fn enlarge(&mut self, room: usize) -> bool {
        let Some(places) = room.max(FEWEST_PLACES).checked_next_power_of_two() else { return false };
        let more = (room.saturating_add(2)).saturating_sub(self.nodes.len());
        let (Some(chains), Some(mut cache)) = (filled(places, 0), filled(places, NOTHING)) else { return false };
        if self.nodes.try_reserve_exact(more).is_err() {
            return false;
        }
        for known in &self.cache {
            let [test, yes, no] = known.triple;
            cache[place(test, yes, no.0, places)] = *known;
        }
        (self.room, self.chains, self.cache) = (room, chains, cache);
        true
    }

    /// Frees all nodes except those reached, rebuilds the chains, and drops cached results that refer to freed nodes.
    fn sweep(&mut self, reached: &Reached) {
        self.chains.fill(0);
        self.free = 0;
        let places = self.chains.len();
        // From the end, so that free nodes are reused in ascending order: nodes made in sequence are then neighbours in
        // memory.
        for id in (2..self.nodes.len()).rev() {
            let Node { level, lo, hi, .. } = self.nodes[id];
            let chain = match reached.has(Bdd(id as u32)) {
                true => &mut self.chains[place(lo, hi, level, places)],
                false => &mut self.free,
            };
            self.nodes[id].next = std::mem::replace(chain, id as u32);
        }
        for known in &mut self.cache {
            if !known.triple.iter().chain([&known.result]).all(|&bdd| reached.has(bdd)) {
                *known = NOTHING;
            }
        }
    }

    fn reached(&self, roots: impl Iterator<Item = Bdd>) -> Reached {
        let mut reached = Reached { marks: vec![0; self.nodes.len().div_ceil(64)], count: 0 };
        let mut waiting = Vec::new();
        reached.marks[0] = 0b11;
        for root in roots {
            waiting.extend(reached.add(root));
            while let Some(bdd) = waiting.pop() {
                let node = self.nodes[bdd.index()];
                waiting.extend(reached.add(node.hi));
                waiting.extend(reached.add(node.lo));
            }
        }
        reached
    }

    /// The level and the children of a node that is not a constant.
    pub(super) fn parts(&self, bdd: Bdd) -> (u32, Bdd, Bdd) {
        let node = self.nodes[bdd.index()];
        (node.level, node.lo, node.hi)
    }

    /// How many nodes a diagram has.
    pub(super) fn size(&self, root: Bdd) -> usize {
        self.reached([root].into_iter()).count
    }

    /// Converts one diagram to levels and drops all others. Nodes of a level are numbered in the order in which a walk
    /// from the root meets them, so equal functions in the same order give identical diagrams.
    pub(super) fn into_obdd(mut self, root: Bdd, order: Vec<Var>) -> Obdd {
        (self.chains, self.cache) = (Vec::new(), Vec::new());
        let mut reached = Reached { marks: vec![0; self.nodes.len().div_ceil(64)], count: 0 };
        reached.marks[0] = 0b11;
        let mut by_level = vec![Vec::new(); order.len()];
        let mut waiting = vec![root];
        while let Some(bdd) = waiting.pop() {
            if reached.add(bdd).is_some() {
                let node = self.nodes[bdd.index()];
                by_level[order.len() - 1 - node.level as usize].push(bdd);
                waiting.extend([node.hi, node.lo]);
            }
        }
        // From here on `next` is a node's number in the result.
        self.nodes[1].next = 1;
        let mut next = 2;
        let mut levels = Vec::with_capacity(order.len());
        for bdds in by_level {
            let mut level = Vec::with_capacity(bdds.len());
            for bdd in bdds {
                let Node { lo, hi, .. } = self.nodes[bdd.index()];
                level.push([lo, hi].map(|child| self.nodes[child.index()].next));
                self.nodes[bdd.index()].next = next;
                next += 1;
            }
            levels.push(level);
        }
        Obdd::from_levels(order, levels, self.nodes[root.index()].next)
    }
}

/// The result of a trivial triple. Otherwise normalises the triple, so that equivalent ones share a cache slot: an
/// operand equal to the test becomes a constant, and "and" and "or" get their smaller operand first.
#[inline]
fn simplify([test, yes, no]: &mut Triple) -> Option<Bdd> {
    if *test <= Bdd::TRUE {
        return Some(if *test == Bdd::TRUE { *yes } else { *no });
    }
    if yes == test {
        *yes = Bdd::TRUE;
    }
    if no == test {
        *no = Bdd::FALSE;
    }
    if yes == no {
        return Some(*yes);
    }
    if *no == Bdd::FALSE {
        if *yes == Bdd::TRUE {
            return Some(*test);
        }
        if yes < test {
            std::mem::swap(test, yes);
        }
    } else if *yes == Bdd::TRUE && *no > Bdd::TRUE && no < test {
        std::mem::swap(test, no);
    }
    None
}

/// The slot of three numbers in a table of this length, which is a power of two.
#[inline]
fn place(one: Bdd, two: Bdd, three: u32, places: usize) -> usize {
    let pair = (u64::from(one.0) << 32 | u64::from(two.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let all = (pair ^ pair >> 32).wrapping_add(u64::from(three)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (all >> 32) as usize & (places - 1)
}

fn filled<T: Copy>(count: usize, value: T) -> Option<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).ok()?;
    vec.resize(count, value);
    Some(vec)
}

/// A set of nodes, one bit each; the constants always belong to it and are not counted.
struct Reached {
    marks: Vec<u64>,
    count: usize,
}

impl Reached {
    fn has(&self, bdd: Bdd) -> bool {
        self.marks[bdd.index() / 64] >> (bdd.0 % 64) & 1 == 1
    }

    /// Adds a node, and returns it if it is new.
    fn add(&mut self, bdd: Bdd) -> Option<Bdd> {
        let mark = 1 << (bdd.0 % 64);
        let word = &mut self.marks[bdd.index() / 64];
        if *word & mark != 0 {
            return None;
        }
        *word |= mark;
        self.count += 1;
        Some(bdd)
    }
}

#[cfg(test)]
#[path = "bdd_tests.rs"]
mod tests;
