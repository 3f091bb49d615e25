//! The tape of a decision diagram, and the pair of sweeps over it.
//!
//! A diagram is linear: its value is the sum, over the paths from the root to true, of the product of the weights on
//! the path. The reach of a node is the weight of all paths from the root to it. It does not depend on any value below,
//! so the DOWNWARD sweep can come first. With the weights w and w' of a variable and of its negation,
//!
//! ```text
//! reach(node) = sum over hi-parents of w reach(parent) + sum over lo-parents of w' reach(parent)
//! ```
//!
//! gathered from the parents, so that every reach is stored once and never read back to be added to. The upward sweep
//! then needs one slot per node, in which the value replaces the reach that it has just used:
//!
//! ```text
//! d = value(hi) - value(lo);  dF/dw(var) += reach(node) * d;  value(node) = value(lo) + w * d
//! ```
//!
//! This takes w' to be 1 - w. A one-hot bit has w' = 1 instead: its d is value(hi) alone, all else is the same. Nodes
//! are stored level by level from the root down, those of one variable together, so that their weight and dF/dw stay in
//! registers; within a level, nodes with equally many parents are adjacent, so that loops repeat. Invariant: a node's
//! parents come before it, its children after it. Cost: per node and lane 9 floating-point operations (down, 2 products
//! and 2 sums over the two edges that a node has on average; up 5), 6 numbers read and 2 written.

use super::error_bound::{BLOCK, SweepRoundings, additions};
use super::fold::{Folded, Item, Term};
use super::lanes::SlotId;
use crate::lit::Var;
use pulp::Simd;
use std::collections::HashSet;

/// Consecutive nodes of one variable at one level.
#[derive(Clone, Copy, Debug)]
struct Group {
    player: u32,
    nodes: u32,
    one_hot: bool,
}

/// Consecutive nodes with parents of the same kind.
#[derive(Clone, Copy, Debug)]
struct Run {
    nodes: u32,
    from: From,
}

/// Where the paths to a node come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    /// From nodes of one variable: the number of lo-edges, then of hi-edges.
    One { player: u32, lo: u32, hi: u32 },
    /// From nodes of several variables: the number of edges, each with its literal.
    Several { edges: u32 },
}

impl From {
    /// The roundings of a reach on the way from its parents, including that of `1 - w`.
    fn roundings(self) -> usize {
        match self {
            From::One { lo, hi, .. } if lo + hi == 1 => 2,
            From::One { lo, hi, .. } => additions(lo.max(hi) as usize) + 3,
            From::Several { edges } => edges as usize + 2,
        }
    }
}

/// A tape of decisions only. Slot 0 is false, 1 is true, 2 the root.
pub(super) struct DiagramTape<I> {
    groups: Vec<Group>,
    /// lo and hi of every node.
    children: Vec<[I; 2]>,
    /// The runs of all nodes but the root.
    runs: Vec<Run>,
    /// The parents, node by node, in the order that the run gives.
    parents: Vec<I>,
    /// For each edge from [several](From::Several) variables, the literal on it.
    literals: Vec<u32>,
    /// The most roundings on the way to a node's reach.
    worst_reach: f64,
}

impl<I: SlotId> DiagramTape<I> {
    /// How many slots a sweep uses.
    pub(super) fn used(&self) -> usize {
        self.children.len() + 2
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.children.len()
    }

    /// The rounding errors of a sweep's results.
    pub(super) fn roundings(&self) -> SweepRoundings {
        let players = self.groups.iter().map(|group| group.player as usize + 1).max().unwrap_or(0);
        let (mut blocks, mut longest) = (vec![0; players], 0);
        for group in &self.groups {
            blocks[group.player as usize] += (group.nodes as usize).div_ceil(BLOCK);
            longest = longest.max(BLOCK.min(group.nodes as usize));
        }
        let blocks = blocks.into_iter().max().unwrap_or(0);
        SweepRoundings::of_diagram(players, self.worst_reach, longest + blocks)
    }

    /// One pair of sweeps. Takes the weight of every literal (of player `i` at `2 i`, of its negation at `2 i + 1`),
    /// returns the value of the root and stores its derivative by every player's weight in `slopes`.
    #[inline(always)]
    pub(super) fn sweep<S: Simd, const R: usize>(
        &self,
        simd: S,
        weights: &[[S::f64s; R]],
        slots: &mut [[S::f64s; R]],
        slopes: &mut [[S::f64s; R]],
    ) -> [S::f64s; R] {
        let slots = I::slots(slots);
        let (zero, one) = ([simd.splat_f64s(0.0); R], [simd.splat_f64s(1.0); R]);
        I::new(0).set(slots, zero);
        I::new(1).set(slots, one);
        I::new(2).set(slots, one);
        self.down(simd, weights, slots);
        for slope in slopes.iter_mut() {
            *slope = zero;
        }
        self.up(simd, weights, slots, slopes);
        I::new(2).get(slots)
    }

    #[inline(always)]
    fn down<S: Simd, const R: usize>(&self, simd: S, weights: &[[S::f64s; R]], slots: &mut I::Slots<[S::f64s; R]>) {
        let zero = [simd.splat_f64s(0.0); R];
        let mut own = 3;
        let (mut parents, mut literals) = (&self.parents[..], &self.literals[..]);
        for run in &self.runs {
            let nodes = run.nodes as usize;
            match run.from {
                From::One { player, lo, hi } => {
                    let (by_hi, by_lo) = (weights[2 * player as usize], weights[2 * player as usize + 1]);
                    let each = (lo + hi) as usize;
                    let (these, rest) = parents.split_at(nodes * each);
                    parents = rest;
                    // Near the root most nodes have one parent.
                    if each == 1 {
                        let weight = if lo == 1 { by_lo } else { by_hi };
                        for parent in these {
                            let mut reach = parent.get(slots);
                            for r in 0..R {
                                reach[r] = simd.mul_f64s(weight[r], reach[r]);
                            }
                            I::new(own).set(slots, reach);
                            own += 1;
                        }
                        continue;
                    }
                    for of_one in these.chunks_exact(each) {
                        let (lo, hi) = of_one.split_at(lo as usize);
                        let [sum_lo, sum_hi] = match each > BLOCK {
                            false => [sum(simd, lo, slots), sum(simd, hi, slots)],
                            true => [block_sum(simd, lo, slots), block_sum(simd, hi, slots)],
                        };
                        let mut reach = zero;
                        for r in 0..R {
                            let from_lo = simd.mul_f64s(by_lo[r], sum_lo[r]);
                            reach[r] = simd.mul_add_e_f64s(by_hi[r], sum_hi[r], from_lo);
                        }
                        I::new(own).set(slots, reach);
                        own += 1;
                    }
                }
                From::Several { edges } => {
                    let each = edges as usize;
                    let (these, rest) = parents.split_at(nodes * each);
                    let (with, other) = literals.split_at(nodes * each);
                    (parents, literals) = (rest, other);
                    for (of_one, with) in these.chunks_exact(each).zip(with.chunks_exact(each)) {
                        let mut reach = zero;
                        for (parent, &literal) in of_one.iter().zip(with) {
                            let (from, weight) = (parent.get(slots), weights[literal as usize]);
                            for r in 0..R {
                                reach[r] = simd.mul_add_e_f64s(weight[r], from[r], reach[r]);
                            }
                        }
                        I::new(own).set(slots, reach);
                        own += 1;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn up<S: Simd, const R: usize>(
        &self,
        simd: S,
        weights: &[[S::f64s; R]],
        slots: &mut I::Slots<[S::f64s; R]>,
        slopes: &mut [[S::f64s; R]],
    ) {
        let mut children = &self.children[..];
        for group in self.groups.iter().rev() {
            let (above, these) = children.split_at(children.len() - group.nodes as usize);
            children = above;
            let weight = weights[2 * group.player as usize];
            let slope = &mut slopes[group.player as usize];
            let mut first = above.len() + 2;
            for block in these.chunks(BLOCK) {
                match group.one_hot {
                    false => up_group::<S, I, R, false>(simd, first, block, weight, slots, slope),
                    true => up_group::<S, I, R, true>(simd, first, block, weight, slots, slope),
                }
                first += block.len();
            }
        }
    }

    /// Lays out a folded circuit that has no sums and whose root is a node; `players` are its variables in ascending
    /// order, `one_hot` says which of them are one-hot bits.
    pub(super) fn new(folded: &Folded, players: &[Var], one_hot: &[bool]) -> Self {
        let nodes: Vec<Decision> = folded.items.iter().map(|item| Decision::of(item, players)).collect();
        let levels = levels(&nodes, players.len());
        let parents = Parents::of(&nodes);
        let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
        order.sort_by_key(|&node| (levels[node as usize], nodes[node as usize].player));
        let mut tape = DiagramTape {
            groups: Vec::new(),
            children: Vec::with_capacity(nodes.len()),
            runs: Vec::new(),
            parents: Vec::with_capacity(parents.edges.len()),
            literals: Vec::new(),
            worst_reach: 0.0,
        };
        let mut slot_of = vec![0u32; nodes.len()];
        let mut roundings = vec![0.0f64; nodes.len()];
        let same = |a: &u32, b: &u32| {
            let key = |node: &u32| (levels[*node as usize], nodes[*node as usize].player);
            key(a) == key(b)
        };
        let mut next = 2;
        for group in order.chunk_by_mut(same) {
            let player = nodes[group[0] as usize].player;
            tape.groups.push(Group { player, nodes: group.len() as u32, one_hot: one_hot[player as usize] });
            // Puts nodes with the same kind of parents together; neighbours of the level above stay neighbours.
            group.sort_by_cached_key(|&node| {
                let first = parents.of_node(node).iter().map(|edge| slot_of[edge.parent as usize]).min();
                (parents.from(node, &nodes), first)
            });
            for &node in group.iter() {
                slot_of[node as usize] = next;
                next += 1;
                let from = parents.from(node, &nodes);
                tape.gather(parents.of_node(node), from, &slot_of, &nodes);
                let worst = parents.of_node(node).iter().map(|edge| roundings[edge.parent as usize]);
                roundings[node as usize] = worst.fold(0.0, f64::max) + from.map_or(0, From::roundings) as f64;
                tape.worst_reach = tape.worst_reach.max(roundings[node as usize]);
            }
        }
        let slot = |term: Term| match term.index() {
            constant @ 0..2 => I::new(constant),
            node => I::new(slot_of[node - 2] as usize),
        };
        tape.children.extend(order.iter().map(|&node| [nodes[node as usize].lo, nodes[node as usize].hi].map(slot)));
        tape
    }

    /// Adds the edges that lead to one node.
    fn gather(&mut self, edges: &[Edge], from: Option<From>, slot_of: &[u32], nodes: &[Decision]) {
        // Only the root has no parents.
        let Some(from) = from else { return };
        match self.runs.last_mut() {
            Some(run) if run.from == from => run.nodes += 1,
            _ => self.runs.push(Run { nodes: 1, from }),
        }
        let mut edges: Vec<Edge> = edges.to_vec();
        edges.sort_by_key(|edge| (edge.hi, slot_of[edge.parent as usize]));
        self.parents.extend(edges.iter().map(|edge| I::new(slot_of[edge.parent as usize] as usize)));
        if let From::Several { .. } = from {
            self.literals.extend(edges.iter().map(|edge| 2 * nodes[edge.parent as usize].player + u32::from(!edge.hi)));
        }
    }
}

#[inline(always)]
fn sum<S: Simd, I: SlotId, const R: usize>(simd: S, of: &[I], slots: &I::Slots<[S::f64s; R]>) -> [S::f64s; R] {
    let mut sum = [simd.splat_f64s(0.0); R];
    for slot in of {
        let reach = slot.get(slots);
        for r in 0..R {
            sum[r] = simd.add_f64s(sum[r], reach[r]);
        }
    }
    sum
}

/// The same in blocks, whose errors do not grow with the number of summands.
#[inline(always)]
fn block_sum<S: Simd, I: SlotId, const R: usize>(simd: S, of: &[I], slots: &I::Slots<[S::f64s; R]>) -> [S::f64s; R] {
    let mut all = [simd.splat_f64s(0.0); R];
    for block in of.chunks(BLOCK) {
        let part = sum(simd, block, slots);
        for r in 0..R {
            all[r] = simd.add_f64s(all[r], part[r]);
        }
    }
    all
}

/// Replaces the reaches of the nodes from slot `first` on by their values.
#[inline(always)]
fn up_group<S: Simd, I: SlotId, const R: usize, const ONE_HOT: bool>(
    simd: S,
    first: usize,
    nodes: &[[I; 2]],
    weight: [S::f64s; R],
    slots: &mut I::Slots<[S::f64s; R]>,
    slope: &mut [S::f64s; R],
) {
    let mut sum = [simd.splat_f64s(0.0); R];
    for (own, [lo, hi]) in (first..).zip(nodes) {
        let (lo, hi, own) = (lo.get(slots), hi.get(slots), I::new(own));
        let reach = own.get(slots);
        let mut value = lo;
        for r in 0..R {
            let difference = if ONE_HOT { hi[r] } else { simd.sub_f64s(hi[r], lo[r]) };
            sum[r] = simd.mul_add_e_f64s(reach[r], difference, sum[r]);
            value[r] = simd.mul_add_e_f64s(weight[r], difference, lo[r]);
        }
        own.set(slots, value);
    }
    for r in 0..R {
        slope[r] = simd.add_f64s(slope[r], sum[r]);
    }
}

#[derive(Clone, Copy)]
struct Decision {
    player: u32,
    lo: Term,
    hi: Term,
}

impl Decision {
    fn of(item: &Item, players: &[Var]) -> Self {
        match *item {
            Item::Decision { var, lo, hi } => {
                Decision { player: players.partition_point(|&player| player < var) as u32, lo, hi }
            }
            Item::Sum { .. } => unreachable!("sums have a tape of their own"),
        }
    }

    /// The children that are nodes, and whether the edge to each is the hi-edge.
    fn inner(self) -> impl Iterator<Item = (usize, bool)> {
        [(self.lo, false), (self.hi, true)]
            .into_iter()
            .filter_map(|(term, hi)| Some((term.index().checked_sub(2)?, hi)))
    }
}

/// An edge seen from below.
#[derive(Clone, Copy)]
struct Edge {
    parent: u32,
    hi: bool,
}

/// The edges that lead to each node.
struct Parents {
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl Parents {
    fn of(nodes: &[Decision]) -> Self {
        let mut starts = vec![0u32; nodes.len() + 1];
        for (child, _) in nodes.iter().flat_map(|node| node.inner()) {
            starts[child + 1] += 1;
        }
        for node in 0..nodes.len() {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut edges = vec![Edge { parent: 0, hi: false }; starts[nodes.len()] as usize];
        for (parent, node) in nodes.iter().enumerate() {
            for (child, hi) in node.inner() {
                edges[next[child] as usize] = Edge { parent: parent as u32, hi };
                next[child] += 1;
            }
        }
        Parents { starts, edges }
    }

    fn of_node(&self, node: u32) -> &[Edge] {
        &self.edges[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    fn from(&self, node: u32, nodes: &[Decision]) -> Option<From> {
        let edges = self.of_node(node);
        let player = nodes[edges.first()?.parent as usize].player;
        let hi = edges.iter().filter(|edge| edge.hi).count() as u32;
        Some(match edges.iter().all(|edge| nodes[edge.parent as usize].player == player) {
            true => From::One { player, lo: edges.len() as u32 - hi, hi },
            false => From::Several { edges: edges.len() as u32 },
        })
    }
}

/// A number for each node that grows along every edge: the position of its variable in an order that all paths follow
/// or, if paths test the variables in different orders, the length of the longest path to the node.
fn levels(nodes: &[Decision], players: usize) -> Vec<u32> {
    let mut before: HashSet<(u32, u32)> = HashSet::new();
    let mut last = None;
    for node in nodes {
        for (child, _) in node.inner() {
            let pair = (node.player, nodes[child].player);
            if last != Some(pair) {
                before.insert(pair);
                last = Some(pair);
            }
        }
    }
    // Sorted, so that the same circuit always gives the same tape and the same rounding.
    let mut before: Vec<(u32, u32)> = before.into_iter().collect();
    before.sort_unstable();
    match order_of(&before, players) {
        Some(places) => nodes.iter().map(|node| places[node.player as usize]).collect(),
        None => {
            let mut depths = vec![0u32; nodes.len()];
            for (index, node) in nodes.iter().enumerate().rev() {
                for (child, _) in node.inner() {
                    depths[child] = depths[child].max(depths[index] + 1);
                }
            }
            depths
        }
    }
}

/// The position of each player in a topological order of these pairs, if there is one.
fn order_of(before: &[(u32, u32)], players: usize) -> Option<Vec<u32>> {
    let mut waiting = vec![0u32; players];
    for &(_, second) in before {
        waiting[second as usize] += 1;
    }
    let mut free: Vec<u32> = (0..players as u32).filter(|&player| waiting[player as usize] == 0).collect();
    let mut places = vec![0; players];
    let mut placed = 0;
    while let Some(player) = free.pop() {
        places[player as usize] = placed;
        placed += 1;
        let start = before.partition_point(|&(first, _)| first < player);
        for &(_, next) in before[start..].iter().take_while(|(first, _)| *first == player) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                free.push(next);
            }
        }
    }
    (placed as usize == players).then_some(places)
}
