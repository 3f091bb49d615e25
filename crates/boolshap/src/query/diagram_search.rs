//! Searches in one region of a diagram relative to an entity: an input that agrees in some players, the nearest inputs,
//! the number of inputs at each distance.
//!
//! *Points.* A point is a node, a level at or above it, and whether the block of that level has changed already. At a
//! point, the level's feature takes a value: the entity's value is free; the other value, if allowed, costs the price
//! of the player unless it has been paid already.
//!
//! *Nearest.* One sweep from the leaves gives each node the cost of the cheapest path to the region's leaf, for a block
//! that has changed and for one that has not (min and plus instead of plus and times). Levels that a path skips cost
//! nothing. With these costs as an exact heuristic, a best-first search lists inputs in order of distance, and counting
//! follows only the cheapest paths.

use super::diagrams::Region;
use super::{Entity, QueryError};
use crate::lit::Watch;
use dashu_int::UBig;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A cost that cannot be paid.
const FAR: u64 = u64::MAX;
/// The most points kept in memory.
const MOST_POINTS: usize = 20_000_000;

/// A node, a level at or above it, and whether the block of that level has changed.
type Point = (u32, u32, bool);

/// Finds inputs of a region that agree with an entity in some players.
pub(super) struct AgreeSearch<'a> {
    region: &'a Region,
    /// For each node, the turn of the last visit, and the parent and feature value that the search came from.
    from: Vec<(u32, u32)>,
    turn: u32,
}

impl<'a> AgreeSearch<'a> {
    pub(super) fn new(region: &'a Region) -> Self {
        AgreeSearch { region, from: vec![(0, 0); region.diagram.nodes.len()], turn: 0 }
    }

    /// An input of the region that differs from the entity in free players only.
    pub(super) fn find(
        &mut self,
        entity: &[bool],
        is_free: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Option<Vec<bool>>, QueryError> {
        let diagram = &*self.region.diagram;
        self.turn += 1;
        let mut waiting = vec![self.region.root];
        self.from[self.region.root as usize] = (self.turn, u32::MAX);
        let mut steps = 0u32;
        while let Some(at) = waiting.pop() {
            if at == self.region.leaf {
                return Ok(Some(self.input(entity, at)));
            }
            if at <= 1 {
                continue;
            }
            steps += 1;
            if steps.is_multiple_of(65_536) {
                watch.check()?;
            }
            let [level, lo, hi] = diagram.nodes[at as usize];
            let (bit, player) = (entity[diagram.order[level as usize]], diagram.player[level as usize]);
            let [own, other] = if bit { [hi, lo] } else { [lo, hi] };
            let both = [(other, !bit), (own, bit)];
            for &(child, value) in if is_free[player] { &both[..] } else { &both[1..] } {
                if self.from[child as usize].0 != self.turn {
                    self.from[child as usize] = (self.turn, at << 1 | u32::from(value));
                    waiting.push(child);
                }
            }
        }
        Ok(None)
    }

    fn input(&self, entity: &[bool], mut at: u32) -> Vec<bool> {
        let mut input = entity.to_vec();
        while self.from[at as usize].1 != u32::MAX {
            let (parent, value) = (self.from[at as usize].1 >> 1, self.from[at as usize].1 & 1 == 1);
            input[self.region.diagram.order[self.region.diagram.nodes[parent as usize][0] as usize]] = value;
            at = parent;
        }
        input
    }
}

/// The costs of the cheapest paths from all nodes of a region to its leaf.
pub(super) struct Ways<'a> {
    region: &'a Region,
    entity: &'a [bool],
    may_change: &'a [bool],
    /// The cost of changing each player.
    costs: &'a [u64],
    /// The cost from each node if its block has not changed.
    stay: Vec<u64>,
    /// The cost from each node if its block has changed; empty if each block is one level.
    gone: Vec<u64>,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        region: &'a Region,
        entity: &'a Entity,
        may_change: &'a [bool],
        costs: &'a [u64],
        watch: &Watch<'_>,
    ) -> Result<Self, QueryError> {
        let diagram = &*region.diagram;
        let has_blocks = (1..diagram.player.len()).any(|level| !diagram.begins(level));
        let count = region.root as usize + 1;
        let mut ways =
            Ways { region, entity: &entity.bits, may_change, costs, stay: vec![FAR; count], gone: Vec::new() };
        ways.gone = if has_blocks { vec![FAR; count] } else { Vec::new() };
        for list in [&mut ways.stay, &mut ways.gone] {
            list.get_mut(region.leaf as usize).into_iter().for_each(|cost| *cost = 0);
        }
        for at in 2..count {
            if at % 65_536 == 0 {
                watch.check()?;
            }
            let [level, lo, hi] = diagram.nodes[at];
            let feature = diagram.order[level as usize];
            let [own, other] = if ways.entity[feature] { [hi, lo] } else { [lo, hi] };
            let may = may_change[feature];
            let cost = costs[diagram.player[level as usize]];
            let changed = if may { ways.after(other, level, true) } else { FAR };
            ways.stay[at] = ways.after(own, level, false).min(changed.saturating_add(cost));
            if has_blocks {
                ways.gone[at] = ways.after(own, level, true).min(changed);
            }
        }
        Ok(ways)
    }

    /// The cost from a node, after a level whose block has changed or not.
    fn after(&self, node: u32, level: u32, has_changed: bool) -> u64 {
        let has_blocks = !self.gone.is_empty();
        let together = |node: u32| self.region.diagram.together(level, self.region.diagram.nodes[node as usize][0]);
        match has_blocks && has_changed && together(node) {
            true => self.gone[node as usize],
            false => self.stay[node as usize],
        }
    }

    /// The distance of the nearest input.
    pub(super) fn distance(&self) -> Option<u64> {
        Some(self.stay[self.region.root as usize]).filter(|&cost| cost != FAR)
    }

    fn start(&self) -> Point {
        (self.region.root, 0, false)
    }

    fn levels(&self) -> u32 {
        self.region.diagram.order.len() as u32
    }

    /// The cost of the cheapest path from a point.
    fn forecast(&self, (node, level, has_changed): Point) -> u64 {
        match has_changed && !self.region.diagram.begins(level as usize) {
            true => self.after(node, level, true),
            false => self.stay[node as usize],
        }
    }

    /// The next point for each value of a point's feature, with the cost.
    fn steps(&self, (node, level, has_changed): Point) -> impl Iterator<Item = (bool, u64, Point)> {
        let diagram = &*self.region.diagram;
        let (feature, player) = (diagram.order[level as usize], diagram.player[level as usize]);
        let own = self.entity[feature];
        let next = move |value: bool| {
            let node = match diagram.nodes[node as usize] {
                [at, lo, hi] if at == level => {
                    if value {
                        hi
                    } else {
                        lo
                    }
                }
                _ => node,
            };
            let has_changed = has_changed || value != own;
            (node, level + 1, has_changed && !diagram.begins(level as usize + 1))
        };
        let cost = if has_changed { 0 } else { self.costs[player] };
        let values = [Some((own, 0)), self.may_change[feature].then_some((!own, cost))];
        values.into_iter().flatten().map(move |(value, cost)| (value, cost, next(value)))
    }

    /// How many inputs are at the smallest distance.
    pub(super) fn count_nearest(&self, watch: &Watch<'_>) -> Result<UBig, QueryError> {
        // The number of paths to each point of a level that lies on a cheapest path.
        let mut layer: HashMap<Point, UBig> = HashMap::from([(self.start(), UBig::ONE)]);
        for _ in 0..self.levels() {
            let mut next: HashMap<Point, UBig> = HashMap::new();
            for (point, ways) in layer {
                watch.check()?;
                let best = self.forecast(point);
                for (_, cost, after) in self.steps(point) {
                    if self.forecast(after).saturating_add(cost) == best && best != FAR {
                        *next.entry(after).or_default() += &ways;
                    }
                }
            }
            check_points("counting the nearest", next.len())?;
            layer = next;
        }
        let at_leaf = layer.into_iter().filter(|((node, ..), _)| *node == self.region.leaf);
        Ok(at_leaf.fold(UBig::ZERO, |sum, (_, ways)| sum + ways))
    }

    /// Inputs in order of distance, as long as `goes_on` accepts the number found and the next distance.
    pub(super) fn nearest(
        &self,
        goes_on: impl Fn(usize, u64) -> bool,
        watch: &Watch<'_>,
    ) -> Result<Vec<(u64, Vec<bool>)>, QueryError> {
        let mut found = Vec::new();
        // Among equal costs, deep points come first, which keeps the queue small.
        let mut open = vec![(self.start(), 0u64, Vec::new())];
        let mut queue = BinaryHeap::from([(Reverse(self.forecast(self.start())), 0u32, Reverse(0usize))]);
        while let Some((Reverse(total), _, Reverse(place))) = queue.pop() {
            watch.check()?;
            if total == FAR || !goes_on(found.len(), total) {
                break;
            }
            let (point, paid, values) = std::mem::replace(&mut open[place], (self.start(), 0, Vec::new()));
            if point.1 == self.levels() {
                let mut input = self.entity.to_vec();
                let order = &self.region.diagram.order;
                order.iter().zip(values).for_each(|(&feature, value)| input[feature] = value);
                found.push((total, input));
                continue;
            }
            for (value, cost, next) in self.steps(point) {
                let all = self.forecast(next).saturating_add(paid + cost);
                if all != FAR {
                    let values = values.iter().copied().chain([value]).collect();
                    queue.push((Reverse(all), next.1, Reverse(open.len())));
                    open.push((next, paid + cost, values));
                }
            }
            check_points("listing the nearest", open.len())?;
        }
        Ok(found)
    }

    /// The number of inputs at each distance up to `most`, if every player costs 1.
    pub(super) fn counts(&self, most: usize, watch: &Watch<'_>) -> Result<Vec<UBig>, QueryError> {
        let mut layer: HashMap<Point, Vec<UBig>> = HashMap::from([(self.start(), vec![UBig::ONE])]);
        for _ in 0..self.levels() {
            let mut next: HashMap<Point, Vec<UBig>> = HashMap::new();
            for (point, counts) in layer {
                watch.check()?;
                for (_, cost, after) in self.steps(point) {
                    if self.forecast(after) == FAR {
                        continue;
                    }
                    let sum = next.entry(after).or_default();
                    for (distance, count) in
                        counts.iter().enumerate().filter(|(distance, _)| distance + cost as usize <= most)
                    {
                        let place = distance + cost as usize;
                        if sum.len() <= place {
                            sum.resize(place + 1, UBig::ZERO);
                        }
                        sum[place] += count;
                    }
                }
            }
            check_points("counting inputs by their distance", next.len())?;
            layer = next;
        }
        let mut all = vec![UBig::ZERO; most + 1];
        for (_, counts) in layer.into_iter().filter(|((node, ..), _)| *node == self.region.leaf) {
            counts.into_iter().zip(&mut all).for_each(|(count, sum)| *sum += count);
        }
        Ok(all)
    }
}

fn check_points(what: &'static str, points: usize) -> Result<(), QueryError> {
    match points <= MOST_POINTS {
        true => Ok(()),
        false => Err(QueryError::SearchLimit { what, limit: MOST_POINTS, unit: "points of the diagram" }),
    }
}
