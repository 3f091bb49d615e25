//! Conjunction and disjunction.
//!
//! Two decisions at the same vtree node are combined by taking all pairs of elements: primes are conjoined, the subs of
//! the pairs with a satisfiable prime are combined, and elements with equal subs are merged (compression) by disjoining
//! their primes. An SDD of a lower vtree node is first written as a decision at the higher node: {(true, a)} if it is
//! on the right, {(a, true), (not a, false)} if it is on the left. Without compression the cost is the product of the
//! two sizes; compression can make it exponential in theory, but keeps it small in practice (Van den Broeck & Darwiche,
//! "On the Role of Canonicity in Knowledge Compilation", AAAI 2015).
//!
//! Vtrees can be thousands of levels deep, so there is no recursion: a frame holds an unfinished combination, frames
//! wait on one stack, and their elements are on a second one. The cache is lossy: a new entry overwrites the old one
//! with the same hash.

use super::error::{DiagramError, Halt};
use super::manager::{Element, NONE, Sdd, SddManager};
use super::vtree::VtreeId;
use crate::lit::Watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    And,
    Or,
}

impl Op {
    /// The constant that decides the result alone: `a op absorbing = absorbing`.
    fn absorbing(self) -> Sdd {
        if self == Op::And { Sdd::FALSE } else { Sdd::TRUE }
    }

    /// The constant that leaves the other operand unchanged: `a op neutral = a`.
    fn neutral(self) -> Sdd {
        if self == Op::And { Sdd::TRUE } else { Sdd::FALSE }
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The smaller handle, shifted left, and the operation in the lowest bit.
    key: u32,
    other: u32,
    result: u32,
}

const EMPTY: Entry = Entry { key: NONE, other: NONE, result: NONE };

/// Results of earlier operations.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    entries: Vec<Entry>,
    used: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Cache { entries: vec![EMPTY; Cache::SMALLEST], used: 0 }
    }
}

impl Cache {
    const SMALLEST: usize = 1 << 12;
    const LARGEST: usize = 1 << 24;

    fn key(op: Op, a: Sdd) -> u32 {
        a.0 << 1 | u32::from(op == Op::Or)
    }

    fn place(&self, key: u32, other: u32) -> usize {
        let hash = (u64::from(key) << 32 | u64::from(other)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.entries.len() - 1)
    }

    fn get(&self, op: Op, a: Sdd, b: Sdd) -> Option<Sdd> {
        let key = Self::key(op, a);
        let entry = &self.entries[self.place(key, b.0)];
        (entry.key == key && entry.other == b.0).then_some(Sdd(entry.result))
    }

    fn put(&mut self, op: Op, a: Sdd, b: Sdd, result: Sdd) {
        if self.used > self.entries.len() && self.entries.len() < Self::LARGEST {
            let old = std::mem::take(&mut self.entries);
            self.entries = vec![EMPTY; 4 * old.len()];
            for entry in old.into_iter().filter(|entry| entry.key != NONE) {
                let place = self.place(entry.key, entry.other);
                self.entries[place] = entry;
            }
        }
        let key = Self::key(op, a);
        let place = self.place(key, b.0);
        self.entries[place] = Entry { key, other: b.0, result: result.0 };
        self.used += 1;
    }

    pub(super) fn clear(&mut self) {
        if self.entries.len() > Self::SMALLEST && self.used < self.entries.len() / 8 {
            self.entries.truncate(self.entries.len() / 4);
        }
        if self.used > 0 {
            self.entries.fill(EMPTY);
            self.used = 0;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Next: conjoin the primes of elements i and j.
    Prime,
    /// Next: combine the subs of elements i and j.
    Sub,
    /// Next: merge element i into the previous one if their subs are equal.
    Merge,
}

/// An unfinished combination. On the element stack, the elements of `a` start at `a_at`, those of `b` at `b_at`, and
/// the results at `out_at`, which extend to the top.
#[derive(Debug, Clone, Copy)]
struct Frame {
    op: Op,
    stage: Stage,
    a: Sdd,
    b: Sdd,
    vtree: VtreeId,
    a_at: usize,
    b_at: usize,
    out_at: usize,
    i: usize,
    j: usize,
    /// In the stages `Sub` and `Merge`, the prime so far.
    prime: Sdd,
    /// In the stage `Merge`, where to write the next finished element.
    merged: usize,
}

/// The two stacks, kept between operations to reuse their memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    frames: Vec<Frame>,
    elements: Vec<Element>,
    opened: usize,
}

enum Step {
    Call(Op, Sdd, Sdd),
    Return(Sdd),
}

impl SddManager {
    /// The conjunction.
    pub fn and(&mut self, a: Sdd, b: Sdd, watch: &Watch<'_>) -> Result<Sdd, DiagramError> {
        Ok(self.apply(Op::And, a, b, watch)?)
    }

    /// The disjunction.
    pub fn or(&mut self, a: Sdd, b: Sdd, watch: &Watch<'_>) -> Result<Sdd, DiagramError> {
        Ok(self.apply(Op::Or, a, b, watch)?)
    }

    pub(super) fn apply(&mut self, op: Op, a: Sdd, b: Sdd, watch: &Watch<'_>) -> Result<Sdd, Halt> {
        if let Some(result) = self.shortcut(op, a, b)? {
            return Ok(result);
        }
        let mut work = std::mem::take(&mut self.work);
        let result = self.run(&mut work, op, a, b, watch);
        work.frames.clear();
        work.elements.clear();
        self.work = work;
        result
    }

    fn run(&mut self, work: &mut Work, op: Op, a: Sdd, b: Sdd, watch: &Watch<'_>) -> Result<Sdd, Halt> {
        let mut frame = self.open(work, op, a, b, watch)?;
        let mut returned = None;
        loop {
            match self.advance(&mut frame, &mut work.elements, returned)? {
                Step::Call(op, a, b) => {
                    work.frames.push(frame);
                    frame = self.open(work, op, a, b, watch)?;
                    returned = None;
                }
                Step::Return(result) => {
                    work.elements.truncate(frame.a_at);
                    self.cache.put(frame.op, frame.a, frame.b, result);
                    match work.frames.pop() {
                        None => return Ok(result),
                        Some(waiting) => frame = waiting,
                    }
                    returned = Some(result);
                }
            }
        }
    }

    /// The result, if no pairs of elements have to be compared.
    fn shortcut(&mut self, op: Op, a: Sdd, b: Sdd) -> Result<Option<Sdd>, Halt> {
        let (a, b) = (a.min(b), a.max(b));
        if a == b || b == op.absorbing() || a == op.neutral() {
            return Ok(Some(b));
        }
        if a == op.absorbing() || b == op.neutral() {
            return Ok(Some(a));
        }
        if self.nodes[a.index()].negation == b.0 {
            return Ok(Some(op.absorbing()));
        }
        if let Some(result) = self.cache.get(op, a, b)
            && (result.is_constant() || self.nodes[result.index()].vtree != NONE)
        {
            return Ok(Some(result));
        }
        let (u, v) = (VtreeId(self.nodes[a.index()].vtree), VtreeId(self.nodes[b.index()].vtree));
        if self.vtree.is_below(u, v) || self.vtree.is_below(v, u) {
            return Ok(None);
        }
        let top = self.vtree.lowest_common_ancestor(u, v);
        let (left, right) = if self.vtree.position(u) < self.vtree.position(v) { (a, b) } else { (b, a) };
        let not_left = self.complement(left)?;
        let mut elements = match op {
            Op::And => [Element { prime: left, sub: right }, Element { prime: not_left, sub: Sdd::FALSE }],
            Op::Or => [Element { prime: left, sub: Sdd::TRUE }, Element { prime: not_left, sub: right }],
        };
        elements.sort_unstable();
        Ok(Some(self.unique(top, &elements)?))
    }

    /// Writes both operands as decisions at the higher of their two vtree nodes.
    fn open(&mut self, work: &mut Work, op: Op, a: Sdd, b: Sdd, watch: &Watch<'_>) -> Result<Frame, Halt> {
        work.opened += 1;
        if work.opened.is_multiple_of(4096) {
            watch.check()?;
        }
        let (a, b) = (a.min(b), a.max(b));
        let (u, v) = (VtreeId(self.nodes[a.index()].vtree), VtreeId(self.nodes[b.index()].vtree));
        let (low, high, vtree) = if self.vtree.is_below(u, v) { (a, b, v) } else { (b, a, u) };
        let a_at = work.elements.len();
        // Where a left operand absorbs, the other operand's elements do not matter: this element of the result is
        // known.
        let mut known = None;
        if u == v {
            work.elements.extend_from_slice(self.elements(low));
        } else if self.vtree.position(VtreeId(self.nodes[low.index()].vtree)) > self.vtree.position(vtree) {
            work.elements.push(Element { prime: Sdd::TRUE, sub: low });
        } else {
            let not_low = self.complement(low)?;
            let (open, closed) = if op == Op::And { (low, not_low) } else { (not_low, low) };
            work.elements.push(Element { prime: open, sub: op.neutral() });
            known = Some(Element { prime: closed, sub: op.absorbing() });
        }
        let b_at = work.elements.len();
        work.elements.extend_from_slice(self.elements(high));
        let out_at = work.elements.len();
        work.elements.extend(known);
        let (i, j) = (a_at, b_at);
        let prime = Sdd::FALSE;
        Ok(Frame { op, stage: Stage::Prime, a, b, vtree, a_at, b_at, out_at, i, j, prime, merged: out_at })
    }

    /// Continues a frame until it needs another combination or is done. `returned` is the result of its last call.
    fn advance(
        &mut self,
        frame: &mut Frame,
        elements: &mut Vec<Element>,
        mut returned: Option<Sdd>,
    ) -> Result<Step, Halt> {
        loop {
            match frame.stage {
                Stage::Prime => {
                    if frame.i == frame.b_at {
                        elements[frame.out_at..].sort_unstable_by_key(|e| (e.sub, e.prime));
                        frame.stage = Stage::Merge;
                        frame.i = frame.out_at + 1;
                        frame.prime = elements[frame.out_at].prime;
                        continue;
                    }
                    let (p, q) = (elements[frame.i].prime, elements[frame.j].prime);
                    let prime = match returned.take() {
                        Some(prime) => prime,
                        None => match self.shortcut(Op::And, p, q)? {
                            Some(prime) => prime,
                            None => return Ok(Step::Call(Op::And, p, q)),
                        },
                    };
                    if prime == Sdd::FALSE {
                        frame.next_pair(false);
                    } else {
                        frame.prime = prime;
                        frame.stage = Stage::Sub;
                    }
                }
                Stage::Sub => {
                    let (s, t) = (elements[frame.i].sub, elements[frame.j].sub);
                    let sub = match returned.take() {
                        Some(sub) => sub,
                        None => match self.shortcut(frame.op, s, t)? {
                            Some(sub) => sub,
                            None => return Ok(Step::Call(frame.op, s, t)),
                        },
                    };
                    elements.push(Element { prime: frame.prime, sub });
                    frame.stage = Stage::Prime;
                    // This prime lies inside prime j, so it is disjoint from all later primes of b.
                    frame.next_pair(frame.prime == elements[frame.i].prime);
                }
                Stage::Merge => return self.merge(frame, elements, returned),
            }
        }
    }

    /// The last stage of a frame: elements with equal subs become one. Elements before `merged` are finished; `prime`
    /// belongs to the sub of i - 1; i comes next.
    fn merge(
        &mut self,
        frame: &mut Frame,
        elements: &mut Vec<Element>,
        mut returned: Option<Sdd>,
    ) -> Result<Step, Halt> {
        loop {
            let sub = elements[frame.i - 1].sub;
            if let Some(prime) = returned.take() {
                frame.prime = prime;
                frame.i += 1;
            } else if frame.i < elements.len() && elements[frame.i].sub == sub {
                let other = elements[frame.i].prime;
                match self.shortcut(Op::Or, frame.prime, other)? {
                    Some(prime) => returned = Some(prime),
                    None => return Ok(Step::Call(Op::Or, frame.prime, other)),
                }
            } else {
                elements[frame.merged] = Element { prime: frame.prime, sub };
                frame.merged += 1;
                if frame.i == elements.len() {
                    elements.truncate(frame.merged);
                    return Ok(Step::Return(self.trimmed(frame.vtree, &mut elements[frame.out_at..])?));
                }
                frame.prime = elements[frame.i].prime;
                frame.i += 1;
            }
        }
    }

    /// The SDD with these compressed elements: trims them if possible, else looks up the node in the unique table.
    pub(super) fn trimmed(&mut self, vtree: VtreeId, elements: &mut [Element]) -> Result<Sdd, Halt> {
        match elements {
            [Element { sub, .. }] => return Ok(*sub),
            [Element { prime, sub: Sdd::TRUE }, Element { sub: Sdd::FALSE, .. }]
            | [Element { sub: Sdd::FALSE, .. }, Element { prime, sub: Sdd::TRUE }] => return Ok(*prime),
            _ => {}
        }
        elements.sort_unstable();
        self.unique(vtree, elements)
    }

    /// Merges elements with equal subs; leaves the elements sorted by sub.
    pub(super) fn compress(&mut self, elements: &mut Vec<Element>, watch: &Watch<'_>) -> Result<(), Halt> {
        elements.sort_unstable_by_key(|e| (e.sub, e.prime));
        let mut kept = 0;
        for i in 1..elements.len() {
            if elements[i].sub == elements[kept].sub {
                elements[kept].prime = self.apply(Op::Or, elements[kept].prime, elements[i].prime, watch)?;
            } else {
                kept += 1;
                elements[kept] = elements[i];
            }
        }
        elements.truncate(kept + 1);
        Ok(())
    }

    /// The SDD of a partition whose subs may be equal.
    pub(super) fn decision(
        &mut self,
        vtree: VtreeId,
        elements: &mut Vec<Element>,
        watch: &Watch<'_>,
    ) -> Result<Sdd, Halt> {
        self.compress(elements, watch)?;
        self.trimmed(vtree, elements)
    }
}

impl Frame {
    fn next_pair(&mut self, row_is_done: bool) {
        self.j += 1;
        if row_is_done || self.j == self.out_at {
            self.j = self.b_at;
            self.i += 1;
        }
    }
}
