//! The three moves on a vtree, applied to the diagrams on it.
//!
//! A rotation turns x = (a, w = (b, c)) into w = (x = (a, b), c) or back, a swap turns v = (a, b) into v = (b, a). Only
//! decisions at the nodes that move have to change, and each keeps its handle: it is the same function as before, so
//! decisions above it, roots and cached results stay valid. A move is first planned: all new elements are computed,
//! which only needs operations below the moved nodes and may fail for lack of time or room. Carrying out the plan
//! cannot fail, so a move happens completely or not at all.
//!
//! New elements. Right rotation: {(p, s)} where each prime p over (a, b) is {(q, r)}: choose one pair from every prime
//! such that the conjunction of all the q is satisfiable; this conjunction is a new prime, and {(r, s)} over the chosen
//! r is its sub. Left rotation: {(p, s)} where each sub s over (b, c) is {(q, t)}: for every distinct t, {(p, q)} is
//! its new prime. Swap: split true by every sub s and its negation; the sub of a part is the or of the p whose s was
//! taken unnegated.
//!
//! Choi & Darwiche, "Dynamic Minimization of Sentential Decision Diagrams", AAAI 2013.

use super::apply::Op;
use super::error::Halt;
use super::manager::{Element, Sdd, SddManager};
use super::vtree::VtreeId;
use crate::lit::Watch;

/// A move at a vtree node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    RotateLeft(VtreeId),
    RotateRight(VtreeId),
    Swap(VtreeId),
}

/// The new elements of one node, already in the pool.
struct Change {
    sdd: Sdd,
    vtree: VtreeId,
    start: u32,
    length: u32,
}

/// The most elements that the changed nodes may have together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElementLimit(pub(super) usize);

impl SddManager {
    /// Makes a move, if it is possible at that node. On an error nothing has changed except for dead nodes. There must
    /// be no dead nodes above the node of the move.
    pub(super) fn make(&mut self, step: Move, limit: ElementLimit, watch: &Watch<'_>) -> Result<(), Halt> {
        match step {
            Move::RotateLeft(x) => {
                let Some((_, w)) = self.vtree.children(x) else { return Ok(()) };
                let Some((b, c)) = self.vtree.children(w) else { return Ok(()) };
                self.remove_dead_at(x);
                self.remove_dead_at(w);
                let plan = self.plan(x, limit, |sdds, sdd, out| sdds.rotated_left(sdd, x, w, b, c, out, watch))?;
                self.vtree.rotate_left(x);
                self.carry_out(x, plan);
            }
            Move::RotateRight(w) => {
                let Some((x, _)) = self.vtree.children(w) else { return Ok(()) };
                let Some((a, b)) = self.vtree.children(x) else { return Ok(()) };
                self.remove_dead_at(w);
                self.remove_dead_at(x);
                let plan = self.plan(w, limit, |sdds, sdd, out| sdds.rotated_right(sdd, x, w, a, b, out, watch))?;
                self.vtree.rotate_right(w);
                self.carry_out(w, plan);
            }
            Move::Swap(v) => {
                if self.vtree.children(v).is_none() {
                    return Ok(());
                }
                self.remove_dead_at(v);
                let plan = self.plan(v, limit, |sdds, sdd, out| sdds.swapped(sdd, v, out, watch))?;
                self.vtree.swap(v);
                self.carry_out(v, plan);
            }
        }
        Ok(())
    }

    /// Calls `change` for the new vtree node and elements of every decision at `level`; `None` leaves a decision
    /// unchanged.
    fn plan(
        &mut self,
        level: VtreeId,
        limit: ElementLimit,
        mut change: impl FnMut(&mut Self, Sdd, &mut Vec<Element>) -> Result<Option<VtreeId>, Halt>,
    ) -> Result<Vec<Change>, Halt> {
        let mut plan = Vec::new();
        let mut elements = Vec::new();
        let mut total = 0;
        // Planning may add decisions to the level, but only ones that the move leaves unchanged.
        for index in 0..self.levels[level.index()].len() {
            let sdd = self.levels[level.index()][index];
            elements.clear();
            let Some(vtree) = change(self, sdd, &mut elements)? else { continue };
            elements.sort_unstable();
            total += elements.len();
            let start = self.pool.len();
            if total > limit.0 || start + elements.len() > u32::MAX as usize {
                return Err(Halt::Nodes(limit.0));
            }
            self.pool.extend_from_slice(&elements);
            plan.push(Change { sdd, vtree, start: start as u32, length: elements.len() as u32 });
        }
        Ok(plan)
    }

    fn carry_out(&mut self, level: VtreeId, plan: Vec<Change>) {
        // New children are referenced before old ones are released, so that shared nodes do not die in between.
        for change in &plan {
            for at in change.start..change.start + change.length {
                let Element { prime, sub } = self.pool[at as usize];
                self.reference(prime);
                self.reference(sub);
            }
        }
        for change in &plan {
            self.unlink(change.sdd);
            let (start, length) = (self.nodes[change.sdd.index()].start, self.nodes[change.sdd.index()].length);
            self.replace_elements(change.sdd, change.vtree, change.start, change.length);
            self.link(change.sdd);
            for at in start..start + length {
                let Element { prime, sub } = self.pool[at as usize];
                self.dereference(prime);
                self.dereference(sub);
            }
        }
        if plan.first().is_some_and(|change| change.vtree != level) {
            let mut moved = plan.iter().map(|change| change.sdd).peekable();
            // The plan follows the order of the level.
            self.levels[level.index()].retain(|&sdd| moved.next_if_eq(&sdd).is_none());
            self.levels[plan[0].vtree.index()].extend(plan.iter().map(|change| change.sdd));
        }
    }

    /// Whether the SDD is a constant or at or below the vtree node.
    fn lives_in(&self, sdd: Sdd, part: VtreeId) -> bool {
        self.vtree_of(sdd).is_none_or(|vtree| self.vtree.is_below(vtree, part))
    }

    fn complement_element(&mut self, prime: Sdd) -> Result<[Element; 2], Halt> {
        let not_prime = self.complement(prime)?;
        Ok([Element { prime, sub: Sdd::TRUE }, Element { prime: not_prime, sub: Sdd::FALSE }])
    }

    /// A decision at x = (a, w = (b, c)), rewritten for w = (x = (a, b), c).
    #[allow(clippy::too_many_arguments)]
    fn rotated_left(
        &mut self,
        sdd: Sdd,
        x: VtreeId,
        w: VtreeId,
        b: VtreeId,
        c: VtreeId,
        out: &mut Vec<Element>,
        watch: &Watch<'_>,
    ) -> Result<Option<VtreeId>, Halt> {
        let old = self.elements(sdd);
        if old.iter().all(|e| self.lives_in(e.sub, b)) {
            return Ok(None);
        }
        if old.iter().all(|e| self.lives_in(e.sub, c)) {
            out.extend_from_slice(old);
            return Ok(Some(w));
        }
        let old = old.to_vec();
        // (t, p, q): under prime p, sub t belongs to q.
        let mut triples: Vec<(Sdd, Sdd, Sdd)> = Vec::new();
        for &Element { prime, sub } in &old {
            if self.vtree_of(sub) == Some(w) {
                triples.extend(self.elements(sub).iter().map(|e| (e.sub, prime, e.prime)));
            } else if self.lives_in(sub, c) {
                triples.push((sub, prime, Sdd::TRUE));
            } else {
                let pair = self.complement_element(sub)?;
                triples.extend(pair.map(|e| (e.sub, prime, e.prime)));
            }
        }
        triples.sort_unstable();
        let mut elements = Vec::new();
        for group in triples.chunk_by(|one, other| one.0 == other.0) {
            elements.clear();
            // Both lists are sorted by prime, and a compressed sub contains t once.
            let mut present = group.iter().peekable();
            elements.extend(old.iter().map(|e| match present.next_if(|&&(_, prime, _)| prime == e.prime) {
                Some(&(_, prime, q)) => Element { prime, sub: q },
                None => Element { prime: e.prime, sub: Sdd::FALSE },
            }));
            let prime = self.decision(x, &mut elements, watch)?;
            out.push(Element { prime, sub: group[0].0 });
        }
        Ok(Some(w))
    }

    /// A decision at w = (x = (a, b), c), rewritten for x = (a, w = (b, c)).
    #[allow(clippy::too_many_arguments)]
    fn rotated_right(
        &mut self,
        sdd: Sdd,
        x: VtreeId,
        w: VtreeId,
        a: VtreeId,
        b: VtreeId,
        out: &mut Vec<Element>,
        watch: &Watch<'_>,
    ) -> Result<Option<VtreeId>, Halt> {
        let old = self.elements(sdd);
        if old.iter().all(|e| self.lives_in(e.prime, b)) {
            return Ok(None);
        }
        if old.iter().all(|e| self.lives_in(e.prime, a)) {
            out.extend_from_slice(old);
            return Ok(Some(x));
        }
        let old = old.to_vec();
        let (primes, parts) = self.split_primes(&old, x, b, watch)?;
        let mut elements = Vec::new();
        for (row, &prime) in primes.iter().enumerate() {
            let chosen = &parts[row * old.len()..][..old.len()];
            elements.clear();
            let possible = old.iter().zip(chosen).filter(|&(_, &part)| part != Sdd::FALSE);
            elements.extend(possible.map(|(e, &part)| Element { prime: part, sub: e.sub }));
            // The old subs were distinct, so this is compressed.
            let sub = self.trimmed(w, &mut elements)?;
            out.push(Element { prime, sub });
        }
        self.compress(out, watch)?;
        Ok(Some(x))
    }

    /// New primes over a, and for each of them the part over b of every old prime over x = (a, b), one after the other.
    fn split_primes(
        &mut self,
        old: &[Element],
        x: VtreeId,
        b: VtreeId,
        watch: &Watch<'_>,
    ) -> Result<(Vec<Sdd>, Vec<Sdd>), Halt> {
        let (mut primes, mut parts) = (vec![Sdd::TRUE], Vec::new());
        let (mut next_primes, mut next_parts) = (Vec::new(), Vec::new());
        let mut pairs: Vec<Element> = Vec::new();
        for (done, &Element { prime, .. }) in old.iter().enumerate() {
            pairs.clear();
            if self.vtree_of(prime) == Some(x) {
                pairs.extend_from_slice(self.elements(prime));
            } else if self.lives_in(prime, b) {
                pairs.push(Element { prime: Sdd::TRUE, sub: prime });
            } else {
                pairs.extend(self.complement_element(prime)?);
            }
            next_primes.clear();
            next_parts.clear();
            for (row, &so_far) in primes.iter().enumerate() {
                for pair in &pairs {
                    let both = self.apply(Op::And, so_far, pair.prime, watch)?;
                    if both != Sdd::FALSE {
                        next_primes.push(both);
                        next_parts.extend_from_slice(&parts[row * done..][..done]);
                        next_parts.push(pair.sub);
                    }
                    if both == so_far {
                        break;
                    }
                }
            }
            std::mem::swap(&mut primes, &mut next_primes);
            std::mem::swap(&mut parts, &mut next_parts);
        }
        Ok((primes, parts))
    }

    /// A decision at v = (a, b), rewritten for v = (b, a).
    fn swapped(
        &mut self,
        sdd: Sdd,
        v: VtreeId,
        out: &mut Vec<Element>,
        watch: &Watch<'_>,
    ) -> Result<Option<VtreeId>, Halt> {
        let old = self.elements(sdd).to_vec();
        out.push(Element { prime: Sdd::TRUE, sub: Sdd::FALSE });
        let mut next = Vec::new();
        for &Element { prime, sub } in &old {
            if sub == Sdd::FALSE {
                continue;
            }
            let not_sub = self.complement(sub)?;
            next.clear();
            for row in out.iter() {
                let inside = self.apply(Op::And, row.prime, sub, watch)?;
                if inside != Sdd::FALSE {
                    let sub = self.apply(Op::Or, row.sub, prime, watch)?;
                    next.push(Element { prime: inside, sub });
                }
                if inside != row.prime {
                    let outside = self.apply(Op::And, row.prime, not_sub, watch)?;
                    next.push(Element { prime: outside, sub: row.sub });
                }
            }
            std::mem::swap(out, &mut next);
        }
        self.compress(out, watch)?;
        Ok(Some(v))
    }
}
