//! The store of sentential decision diagrams: nodes, unique table, reference counts, garbage collection.
//!
//! An SDD node is a constant, a literal, or a decision {(p1, s1), ..., (pk, sk)} at a vtree node v, which means (p1 and
//! s1) or ... or (pk and sk). The primes pi are functions of the variables left of v; none is false, no two can be true
//! together, and their or is true. The subs si are functions of the variables right of v.
//!
//! Invariants. Decisions are compressed (subs differ pairwise) and trimmed (never {(true, s)} nor {(p, true), (not p,
//! false)}), their elements are sorted by prime, and the unique table holds one node for each (v, elements): so, for a
//! given vtree, two handles are equal if and only if their functions are. A node is live if a protected root reaches
//! it; only live nodes count as references to their children, so that the total size of live nodes is known at every
//! moment. Elements are stored in one pool; a node that changes gets a new range of it.
//!
//! Darwiche, "SDD: A New Canonical Representation of Propositional Knowledge Bases", IJCAI 2011.

use super::error::{DiagramError, Halt};
use super::vtree::{Vtree, VtreeId};
use crate::lit::{Lit, Var};
use std::collections::HashMap;

/// A handle of an SDD in its manager. It stays valid until a garbage collection finds it unprotected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sdd(pub(super) u32);

impl Sdd {
    /// The constant false, the same in every manager.
    pub const FALSE: Sdd = Sdd(0);
    /// The constant true, the same in every manager.
    pub const TRUE: Sdd = Sdd(1);

    /// Whether it is one of the two constants.
    pub fn is_constant(self) -> bool {
        self.0 < 2
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A prime and its sub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element {
    /// A function of the variables left of the decision's vtree node.
    pub prime: Sdd,
    /// A function of the variables right of it.
    pub sub: Sdd,
}

pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// `NONE` for constants and removed nodes.
    pub(super) vtree: u32,
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) negation: u32,
    pub(super) references: u32,
    next: u32,
}

/// All SDDs over one vtree, and the operations on them.
///
/// ```
/// use boolshap::diagram::{Sdd, SddManager, Vtree};
/// use boolshap::lit::{Var, Watch};
/// let mut sdds = SddManager::new(Vtree::balanced(3));
/// let watch = Watch::unlimited();
/// let [x, y] = [0, 1].map(|i| sdds.literal(Var::new(i).positive()).unwrap());
/// let both = sdds.and(x, y, &watch)?;
/// let either = sdds.or(x, y, &watch)?;
/// assert_eq!(sdds.and(both, either, &watch)?, both);
/// assert_eq!(sdds.model_count(either).to_string(), "6");
/// # Ok::<(), boolshap::diagram::DiagramError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SddManager {
    pub(super) vtree: Vtree,
    pub(super) nodes: Vec<Node>,
    pub(super) pool: Vec<Element>,
    pool_in_use: usize,
    buckets: Vec<u32>,
    /// The decisions at each vtree node, in order of creation.
    pub(super) levels: Vec<Vec<Sdd>>,
    /// Slots of removed nodes that may be reused: no cache entry mentions them.
    free: Vec<u32>,
    /// Slots of removed nodes that stale cache entries may still mention.
    pub(super) removed: Vec<u32>,
    pub(super) cache: super::apply::Cache,
    pub(super) work: super::apply::Work,
    roots: HashMap<Sdd, usize>,
    decisions: usize,
    live_decisions: usize,
    live_size: usize,
    pub(super) max_nodes: usize,
}

impl SddManager {
    /// A manager with the constants and literals of the vtree's variables, and no limit on nodes.
    pub fn new(vtree: Vtree) -> Self {
        let terminal = |vtree, negation| Node { vtree, start: 0, length: 0, negation, references: 1, next: NONE };
        let mut nodes = vec![terminal(NONE, 1), terminal(NONE, 0)];
        for index in 0..vtree.variables() {
            let (leaf, place) = (vtree.leaf(Var::new(index)).0, nodes.len() as u32);
            nodes.extend([terminal(leaf, place + 1), terminal(leaf, place)]);
        }
        SddManager {
            levels: vec![Vec::new(); vtree.node_count()],
            vtree,
            nodes,
            pool: Vec::new(),
            pool_in_use: 0,
            buckets: vec![NONE; 1 << 10],
            free: Vec::new(),
            removed: Vec::new(),
            cache: Default::default(),
            work: Default::default(),
            roots: HashMap::new(),
            decisions: 0,
            live_decisions: 0,
            live_size: 0,
            max_nodes: Self::MOST_NODES,
        }
    }

    /// The most nodes of any manager: in the cache, a handle and its operation share 32 bits.
    pub const MOST_NODES: usize = (1 << 31) - 1;

    /// Limits the number of decision nodes, live and dead; operations that would exceed it fail.
    pub fn set_max_nodes(&mut self, limit: usize) {
        self.max_nodes = limit.min(Self::MOST_NODES);
    }

    /// The current vtree; [`minimise`](SddManager::minimise) changes it.
    pub fn vtree(&self) -> &Vtree {
        &self.vtree
    }

    /// The number of variables.
    pub fn variables(&self) -> usize {
        self.vtree.variables()
    }

    /// The SDD of a constant.
    pub fn constant(&self, value: bool) -> Sdd {
        if value { Sdd::TRUE } else { Sdd::FALSE }
    }

    /// The SDD of a literal.
    pub fn literal(&self, literal: Lit) -> Result<Sdd, DiagramError> {
        self.check_literal(literal)?;
        Ok(Sdd(2 + literal.code() as u32))
    }

    pub(super) fn check_literal(&self, literal: Lit) -> Result<(), DiagramError> {
        let variables = self.variables();
        if literal.var().index() < variables {
            Ok(())
        } else {
            Err(DiagramError::NoSuchVariable { literal, variables })
        }
    }

    /// The number of slots at the front of the arena that hold constants and literals.
    pub(super) fn terminals(&self) -> usize {
        2 + 2 * self.variables()
    }

    pub(super) fn is_decision(&self, sdd: Sdd) -> bool {
        sdd.index() >= self.terminals()
    }

    /// The vtree node that an SDD is normalised for; `None` for constants.
    pub fn vtree_of(&self, sdd: Sdd) -> Option<VtreeId> {
        (!sdd.is_constant()).then(|| VtreeId(self.nodes[sdd.index()].vtree))
    }

    /// The elements of a decision, sorted by prime; none for constants and literals.
    pub fn elements(&self, sdd: Sdd) -> &[Element] {
        let node = &self.nodes[sdd.index()];
        &self.pool[node.start as usize..][..node.length as usize]
    }

    /// The number of decision nodes, dead ones included.
    pub fn decision_count(&self) -> usize {
        self.decisions
    }

    /// The number of decision nodes that protected roots reach.
    pub fn live_decision_count(&self) -> usize {
        self.live_decisions
    }

    /// The number of elements in the decisions that protected roots reach: the total live size.
    pub fn live_size(&self) -> usize {
        self.live_size
    }

    /// Keeps an SDD and all nodes below it through garbage collections. Calls are counted.
    pub fn protect(&mut self, sdd: Sdd) {
        *self.roots.entry(sdd).or_insert(0) += 1;
        self.reference(sdd);
    }

    /// Undoes one [`protect`](SddManager::protect); returns false if there was none.
    pub fn release(&mut self, sdd: Sdd) -> bool {
        let Some(times) = self.roots.get_mut(&sdd) else { return false };
        *times -= 1;
        if *times == 0 {
            self.roots.remove(&sdd);
        }
        self.dereference(sdd);
        true
    }

    pub(super) fn reference(&mut self, sdd: Sdd) {
        let terminals = self.terminals();
        let mut stack = vec![sdd];
        while let Some(sdd) = stack.pop() {
            if sdd.index() < terminals {
                continue;
            }
            let node = &mut self.nodes[sdd.index()];
            node.references += 1;
            if node.references == 1 {
                self.live_decisions += 1;
                self.live_size += node.length as usize;
                let elements = &self.pool[node.start as usize..][..node.length as usize];
                stack.extend(elements.iter().flat_map(|e| [e.prime, e.sub]));
            }
        }
    }

    pub(super) fn dereference(&mut self, sdd: Sdd) {
        let terminals = self.terminals();
        let mut stack = vec![sdd];
        while let Some(sdd) = stack.pop() {
            if sdd.index() < terminals {
                continue;
            }
            let node = &mut self.nodes[sdd.index()];
            node.references -= 1;
            if node.references == 0 {
                self.live_decisions -= 1;
                self.live_size -= node.length as usize;
                let elements = &self.pool[node.start as usize..][..node.length as usize];
                stack.extend(elements.iter().flat_map(|e| [e.prime, e.sub]));
            }
        }
    }

    pub(super) fn is_live(&self, sdd: Sdd) -> bool {
        self.nodes[sdd.index()].references > 0
    }

    fn bucket_of(&self, vtree: u32, elements: &[Element]) -> usize {
        let mut hash = u64::from(vtree).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for element in elements {
            let word = u64::from(element.prime.0) << 32 | u64::from(element.sub.0);
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        (hash >> 32) as usize & (self.buckets.len() - 1)
    }

    /// The node with these elements, which must be compressed, sorted by prime and not trimmable.
    pub(super) fn unique(&mut self, vtree: VtreeId, elements: &[Element]) -> Result<Sdd, Halt> {
        let bucket = self.bucket_of(vtree.0, elements);
        let mut place = self.buckets[bucket];
        while place != NONE {
            let node = &self.nodes[place as usize];
            if node.vtree == vtree.0 && self.elements(Sdd(place)) == elements {
                return Ok(Sdd(place));
            }
            place = node.next;
        }
        let start = self.pool.len();
        if self.decisions >= self.max_nodes || start + elements.len() > NONE as usize {
            return Err(Halt::Nodes(self.decisions.min(self.max_nodes)));
        }
        self.pool.extend_from_slice(elements);
        self.pool_in_use += elements.len();
        let (start, length) = (start as u32, elements.len() as u32);
        let node = Node { vtree: vtree.0, start, length, negation: NONE, references: 0, next: self.buckets[bucket] };
        let sdd = match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                Sdd(place)
            }
            None if self.nodes.len() >= Self::MOST_NODES => return Err(Halt::Nodes(Self::MOST_NODES)),
            None => {
                self.nodes.push(node);
                Sdd(self.nodes.len() as u32 - 1)
            }
        };
        self.buckets[bucket] = sdd.0;
        self.levels[vtree.index()].push(sdd);
        self.decisions += 1;
        if self.decisions > self.buckets.len() {
            self.rehash(2 * self.buckets.len());
        }
        Ok(sdd)
    }

    fn rehash(&mut self, buckets: usize) {
        self.buckets = vec![NONE; buckets];
        for place in self.terminals()..self.nodes.len() {
            if self.nodes[place].vtree != NONE {
                self.link(Sdd(place as u32));
            }
        }
    }

    /// Inserts a node into the unique table.
    pub(super) fn link(&mut self, sdd: Sdd) {
        let bucket = self.bucket_of(self.nodes[sdd.index()].vtree, self.elements(sdd));
        self.nodes[sdd.index()].next = self.buckets[bucket];
        self.buckets[bucket] = sdd.0;
    }

    /// Removes a node from the unique table.
    pub(super) fn unlink(&mut self, sdd: Sdd) {
        let bucket = self.bucket_of(self.nodes[sdd.index()].vtree, self.elements(sdd));
        let after = self.nodes[sdd.index()].next;
        if self.buckets[bucket] == sdd.0 {
            self.buckets[bucket] = after;
            return;
        }
        let mut place = self.buckets[bucket];
        while place != NONE {
            let next = self.nodes[place as usize].next;
            if next == sdd.0 {
                self.nodes[place as usize].next = after;
                return;
            }
            place = next;
        }
    }

    /// Sets the vtree node and pool range of a node that is not in the unique table.
    pub(super) fn replace_elements(&mut self, sdd: Sdd, vtree: VtreeId, start: u32, length: u32) {
        let node = &mut self.nodes[sdd.index()];
        self.pool_in_use = self.pool_in_use + length as usize - node.length as usize;
        if node.references > 0 {
            self.live_size = self.live_size + length as usize - node.length as usize;
        }
        (node.vtree, node.start, node.length) = (vtree.0, start, length);
    }

    /// Removes a dead node. Its slot is not reused before the next collection, so that stale cache entries are
    /// recognised.
    fn remove(&mut self, sdd: Sdd) {
        self.unlink(sdd);
        let node = &mut self.nodes[sdd.index()];
        let negation = std::mem::replace(&mut node.negation, NONE);
        node.vtree = NONE;
        self.pool_in_use -= node.length as usize;
        node.length = 0;
        if negation != NONE {
            self.nodes[negation as usize].negation = NONE;
        }
        self.decisions -= 1;
        self.removed.push(sdd.0);
    }

    /// Removes the dead decisions of one vtree node. There must be no dead nodes above it.
    pub(super) fn remove_dead_at(&mut self, vtree: VtreeId) {
        let mut level = std::mem::take(&mut self.levels[vtree.index()]);
        level.retain(|&sdd| {
            let live = self.is_live(sdd);
            if !live {
                self.remove(sdd);
            }
            live
        });
        self.levels[vtree.index()] = level;
    }

    /// Removes every node that no protected root reaches, and frees its slot and memory.
    pub fn collect_garbage(&mut self) {
        if self.decisions > self.live_decisions {
            for index in 0..self.levels.len() {
                self.remove_dead_at(VtreeId(index as u32));
            }
        }
        if !self.removed.is_empty() {
            self.cache.clear();
            self.free.append(&mut self.removed);
        }
        if self.pool.len() > 2 * self.pool_in_use + 1024 {
            self.compact_pool();
        }
    }

    fn compact_pool(&mut self) {
        let mut pool = Vec::with_capacity(2 * self.pool_in_use);
        for level in &self.levels {
            for sdd in level {
                let node = &mut self.nodes[sdd.index()];
                let start = pool.len() as u32;
                pool.extend_from_slice(&self.pool[node.start as usize..][..node.length as usize]);
                node.start = start;
            }
        }
        self.pool = pool;
    }
}
