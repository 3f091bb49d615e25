//! Reduces a circuit to as few nodes as the sweeps need: decisions, and sums of products for the rest.
//!
//! A literal is a decision between constants; a conjunction with a literal is a decision with a false branch; an
//! or-gate over `x and A` and `not x and B` is the decision between B and A, wherever the literals occur in the two
//! conjunctions. What remains are sums of products of two factors: an or-gate whose and-gates are used only there
//! becomes one such sum, as the elements of an SDD do. Constants disappear, and with them the gates that smoothing
//! adds, since these are true. A variable that disappears with them has no influence. Cost: linear in the circuit, in
//! an explicit order without recursion, so any depth is fine.

use crate::circuit::{Circuit, Node, NodeId};
use crate::lit::{Lit, Var};
use std::collections::HashMap;

/// A constant or a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term(u32);

impl Term {
    pub(super) const FALSE: Term = Term(0);
    pub(super) const TRUE: Term = Term(1);

    pub(super) fn constant(value: bool) -> Self {
        Term(u32::from(value))
    }

    /// 0 for false, 1 for true, 2 and more for nodes.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node, computed from earlier terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// If the variable is true `hi`, else `lo`.
    Decision { var: Var, lo: Term, hi: Term },
    /// The sum of the products of these pairs, a range of [`Folded::pairs`].
    Sum { start: usize, end: usize },
}

/// The folded circuit. Term `2 + i` is item `i`; terms come before those that use them; every item is used.
pub(super) struct Folded {
    pub(super) items: Vec<Item>,
    pub(super) pairs: Vec<[Term; 2]>,
    pub(super) root: Term,
}

impl Folded {
    /// Folds the nodes that the root reaches; decomposability has been checked.
    pub(super) fn new(circuit: &Circuit) -> Self {
        let terms = vec![Term::FALSE; circuit.stored_nodes()];
        let mut folder = Folder { uses: circuit.uses(), terms, ..Folder::default() };
        for id in circuit.reachable() {
            folder.terms[id.index()] = match circuit.node(id) {
                Node::Constant(value) => Term::constant(value),
                Node::Literal(lit) => folder.literal(lit),
                Node::Decision { var, lo, hi } => folder.decision(var, folder.term(lo), folder.term(hi)),
                Node::And(children) => {
                    let factors: Vec<Term> = children.iter().map(|&child| folder.term(child)).collect();
                    folder.product(&factors)
                }
                Node::Or(children) => folder.sum(children),
            };
        }
        let root = folder.term(circuit.root());
        used_only(Folded { items: folder.items, pairs: folder.pairs, root })
    }
}

#[derive(Default)]
struct Folder {
    uses: Vec<u32>,
    /// The term of each circuit node that has been folded.
    terms: Vec<Term>,
    items: Vec<Item>,
    pairs: Vec<[Term; 2]>,
    /// Items created by folding are deduplicated; a circuit's own decisions seldom repeat.
    decisions: HashMap<(Var, Term, Term), Term>,
    products: HashMap<[Term; 2], Term>,
}

impl Folder {
    fn term(&self, id: NodeId) -> Term {
        self.terms[id.index()]
    }

    fn push(&mut self, item: Item) -> Term {
        self.items.push(item);
        Term(u32::try_from(self.items.len() + 1).expect("not more items than a circuit has nodes and edges"))
    }

    fn literal(&mut self, lit: Lit) -> Term {
        self.shared_decision(lit.var(), Term::constant(lit.is_negative()), Term::constant(!lit.is_negative()))
    }

    /// The literal that a term represents, if any.
    fn as_literal(&self, term: Term) -> Option<Lit> {
        match self.items.get(term.index().checked_sub(2)?)? {
            Item::Decision { var, lo: Term::FALSE, hi: Term::TRUE } => Some(var.positive()),
            Item::Decision { var, lo: Term::TRUE, hi: Term::FALSE } => Some(var.negative()),
            _ => None,
        }
    }

    fn decision(&mut self, var: Var, lo: Term, hi: Term) -> Term {
        match lo <= Term::TRUE && hi <= Term::TRUE {
            true => self.shared_decision(var, lo, hi),
            false if lo == hi => lo,
            false => self.push(Item::Decision { var, lo, hi }),
        }
    }

    fn shared_decision(&mut self, var: Var, lo: Term, hi: Term) -> Term {
        if lo == hi {
            return lo;
        }
        if let Some(&term) = self.decisions.get(&(var, lo, hi)) {
            return term;
        }
        let term = self.push(Item::Decision { var, lo, hi });
        self.decisions.insert((var, lo, hi), term);
        term
    }

    /// The conjunction: multiplies the factors that are not literals in pairs, with the literals as decisions on top.
    fn product(&mut self, factors: &[Term]) -> Term {
        if factors.contains(&Term::FALSE) {
            return Term::FALSE;
        }
        let mut product = Term::TRUE;
        for &factor in factors.iter().filter(|&&factor| factor != Term::TRUE) {
            if self.as_literal(factor).is_none() {
                product = match product {
                    Term::TRUE => factor,
                    _ => self.product_of_two([product, factor]),
                };
            }
        }
        // The first comes on top: a decision's literal is often written first.
        for &factor in factors.iter().rev() {
            if let Some(lit) = self.as_literal(factor) {
                product = self.guarded(lit, product);
            }
        }
        product
    }

    fn product_of_two(&mut self, pair: [Term; 2]) -> Term {
        if let Some(&term) = self.products.get(&pair) {
            return term;
        }
        let term = self.push_sum(&[pair]);
        self.products.insert(pair, term);
        term
    }

    fn push_sum(&mut self, pairs: &[[Term; 2]]) -> Term {
        let start = self.pairs.len();
        self.pairs.extend_from_slice(pairs);
        self.push(Item::Sum { start, end: self.pairs.len() })
    }

    fn sum(&mut self, children: &[NodeId]) -> Term {
        let children: Vec<NodeId> = children.iter().copied().filter(|&child| self.term(child) != Term::FALSE).collect();
        match children[..] {
            [] => return Term::FALSE,
            [one] => return self.term(one),
            [one, other] => {
                if let Some(decision) = self.as_decision(self.term(one), self.term(other)) {
                    return decision;
                }
            }
            _ => {}
        }
        let mut pairs = Vec::with_capacity(children.len());
        for child in children {
            let term = self.term(child);
            // A product used only here becomes part of the sum.
            match self.items.get(term.index().wrapping_sub(2)) {
                Some(&Item::Sum { start, end }) if end == start + 1 && self.uses[child.index()] == 1 => {
                    pairs.push(self.pairs[start]);
                }
                _ => pairs.push([term, Term::TRUE]),
            }
        }
        self.push_sum(&pairs)
    }

    /// The or of two terms as a decision, if one is guarded by a literal and the other by its negation.
    fn as_decision(&mut self, one: Term, other: Term) -> Option<Term> {
        let (one, other) = (self.guards(one), self.guards(other));
        let places: HashMap<Lit, usize> = one.iter().enumerate().map(|(place, &(lit, _))| (lit, place)).collect();
        let (place, lit, opposite) =
            other.iter().enumerate().find_map(|(place, &(lit, _))| Some((place, lit, *places.get(&!lit)?)))?;
        let (with, without) = (self.without_guard(&other, place), self.without_guard(&one, opposite));
        let (hi, lo) = if lit.is_negative() { (without, with) } else { (with, without) };
        Some(self.shared_decision(lit.var(), lo, hi))
    }

    /// The literals with which a term is a conjunction, each with the term that remains after it. The limit is high
    /// enough to recognise the decisions of any sensible compiler, and keeps long chains from being walked repeatedly.
    fn guards(&self, mut term: Term) -> Vec<(Lit, Term)> {
        const ENOUGH: usize = 64;
        let mut guards = Vec::new();
        while guards.len() < ENOUGH {
            let Some(item) = term.index().checked_sub(2).and_then(|index| self.items.get(index)) else { break };
            let (lit, rest) = match *item {
                Item::Decision { var, lo: Term::FALSE, hi } => (var.positive(), hi),
                Item::Decision { var, lo, hi: Term::FALSE } => (var.negative(), lo),
                _ => break,
            };
            guards.push((lit, rest));
            term = rest;
        }
        guards
    }

    /// A guarded term without its guard at this place.
    fn without_guard(&mut self, guards: &[(Lit, Term)], place: usize) -> Term {
        guards[..place].iter().rev().fold(guards[place].1, |rest, &(lit, _)| self.guarded(lit, rest))
    }

    fn guarded(&mut self, lit: Lit, rest: Term) -> Term {
        match lit.is_negative() {
            true => self.shared_decision(lit.var(), rest, Term::FALSE),
            false => self.shared_decision(lit.var(), Term::FALSE, rest),
        }
    }
}

/// Drops the items that the root does not use.
fn used_only(folded: Folded) -> Folded {
    let Folded { items, pairs, root } = folded;
    let mut used = vec![false; items.len() + 2];
    used[root.index()] = true;
    for (index, item) in items.iter().enumerate().rev().filter(|(index, _)| *index + 2 <= root.index()) {
        if used[index + 2] {
            match *item {
                Item::Decision { lo, hi, .. } => [lo, hi].iter().for_each(|term| used[term.index()] = true),
                Item::Sum { start, end } => {
                    pairs[start..end].as_flattened().iter().for_each(|term| used[term.index()] = true)
                }
            }
        }
    }
    let mut moved: Vec<Term> = (0..2).map(Term).collect();
    moved.resize(items.len() + 2, Term::FALSE);
    let mut kept = Folded { items: Vec::new(), pairs: Vec::new(), root };
    for (index, item) in items.into_iter().enumerate().filter(|(index, _)| used[*index + 2]) {
        moved[index + 2] = Term(kept.items.len() as u32 + 2);
        let at = |term: Term| moved[term.index()];
        kept.items.push(match item {
            Item::Decision { var, lo, hi } => Item::Decision { var, lo: at(lo), hi: at(hi) },
            Item::Sum { start, end } => {
                let first = kept.pairs.len();
                kept.pairs.extend(pairs[start..end].iter().map(|pair| pair.map(at)));
                Item::Sum { start: first, end: kept.pairs.len() }
            }
        });
    }
    kept.root = moved[root.index()];
    kept
}
