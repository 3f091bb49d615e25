//! One threshold gate as a diagram over its own inputs, which may be variables or other gates.
//!
//! *Idea.* Go through the inputs in a given order and track the weight still needed. At each level, the needs with the
//! same residual function form an interval, which is known once both branches are; every need in a known interval is
//! answered by its node. *Invariant.* Intervals of one level do not overlap and belong to different functions, so the
//! diagram is reduced. *Cost.* Two look-ups for each node of the reduced diagram and each need requested at its
//! parents, however large the weights are. The diagram itself can be exponential in the number of inputs if the weights
//! are, hence the limit.
//!
//! Abío, Nieuwenhuis, Oliveras, Rodríguez-Carbonell and Mayer-Eichberger, "A New Look at BDDs for Pseudo-Boolean
//! Constraints", Journal of Artificial Intelligence Research, 2012.

use super::error::Halt;
use crate::lit::Watch;
use std::collections::BTreeMap;

/// A node: its input, and its children if that input does not contribute its weight and if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThresholdNode {
    pub(super) level: usize,
    pub(super) without: u32,
    pub(super) with: u32,
}

/// The reduced diagram of "the contributing inputs weigh at least `need`".
#[derive(Debug)]
pub(super) struct Threshold {
    /// Children before parents, deepest level first; 0 and 1 are the constants, `k + 2` is node `k`.
    pub(super) nodes: Vec<ThresholdNode>,
    pub(super) root: u32,
}

/// The first and last need of an interval, and the node for all needs in it.
type Interval = (i128, i128, u32);

/// Larger than every need; sums of weights stay below 2^120.
const FAR: i128 = 1 << 124;

impl Threshold {
    /// The diagram over inputs with these nonzero weights, in this order.
    pub(super) fn new(weights: &[u128], need: u128, limit: usize, watch: &Watch<'_>) -> Result<Self, Halt> {
        let weights: Vec<i128> = weights.iter().map(|&weight| weight as i128).collect();
        let mut build = Build::new(&weights);
        let root = build.run(need as i128, limit, watch)?;
        Ok(build.finish(root))
    }
}

struct Build<'a> {
    weights: &'a [i128],
    /// For each level, the total weight of the inputs from there on.
    rest: Vec<i128>,
    /// For each level, the known intervals by their first need.
    known: Vec<BTreeMap<i128, (i128, u32)>>,
    nodes: Vec<ThresholdNode>,
}

impl<'a> Build<'a> {
    fn new(weights: &'a [i128]) -> Self {
        let mut rest = vec![0; weights.len() + 1];
        for (level, weight) in weights.iter().enumerate().rev() {
            rest[level] = rest[level + 1] + weight;
        }
        Build { weights, rest, known: vec![BTreeMap::new(); weights.len()], nodes: Vec::new() }
    }

    fn find(&self, level: usize, need: i128) -> Option<Interval> {
        if need <= 0 {
            return Some((-FAR, 0, 1));
        }
        if need > self.rest[level] {
            return Some((self.rest[level] + 1, FAR, 0));
        }
        let (&first, &(last, node)) = self.known.get(level)?.range(..=need).next_back()?;
        (need <= last).then_some((first, last, node))
    }

    fn run(&mut self, need: i128, limit: usize, watch: &Watch<'_>) -> Result<u32, Halt> {
        let mut waiting = vec![(0, need)];
        let mut steps = 0usize;
        while let Some(&(level, need)) = waiting.last() {
            steps += 1;
            if steps.is_multiple_of(4096) {
                watch.check()?;
            }
            if self.find(level, need).is_some() {
                waiting.pop();
                continue;
            }
            let weight = self.weights[level];
            match (self.find(level + 1, need), self.find(level + 1, need - weight)) {
                (None, _) => waiting.push((level + 1, need)),
                (_, None) => waiting.push((level + 1, need - weight)),
                (Some(without), Some(with)) => {
                    let first = without.0.max(with.0 + weight);
                    let last = without.1.min(with.1 + weight);
                    let node = if without.2 == with.2 {
                        with.2
                    } else {
                        if self.nodes.len() == limit {
                            return Err(Halt::Nodes(limit));
                        }
                        self.nodes.push(ThresholdNode { level, without: without.2, with: with.2 });
                        self.nodes.len() as u32 + 1
                    };
                    self.known[level].insert(first, (last, node));
                    waiting.pop();
                }
            }
        }
        Ok(self.find(0, need).expect("the last to be done").2)
    }

    /// Puts the deepest level first, so that processing the nodes needs only two levels at a time.
    fn finish(self, root: u32) -> Threshold {
        let mut by_level: Vec<u32> = (0..self.nodes.len() as u32).collect();
        by_level.sort_by_key(|&index| std::cmp::Reverse(self.nodes[index as usize].level));
        let mut place = vec![0, 1];
        place.resize(self.nodes.len() + 2, 0);
        for (new, &old) in by_level.iter().enumerate() {
            place[old as usize + 2] = new as u32 + 2;
        }
        let moved = |node: ThresholdNode| ThresholdNode {
            level: node.level,
            without: place[node.without as usize],
            with: place[node.with as usize],
        };
        let nodes = by_level.iter().map(|&old| moved(self.nodes[old as usize])).collect();
        Threshold { nodes, root: place[root as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn evaluate(diagram: &Threshold, convenient: impl Fn(usize) -> bool) -> bool {
        let mut at = diagram.root;
        while at >= 2 {
            let node = diagram.nodes[at as usize - 2];
            at = if convenient(node.level) { node.with } else { node.without };
        }
        at == 1
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn the_diagram_agrees_with_the_sum_and_is_reduced(weights in vec(1u128..12, 0..9), part in 0u128..=100) {
            let total: u128 = weights.iter().sum();
            let need = (total + 2) * part / 100;
            let diagram = Threshold::new(&weights, need, usize::MAX, &Watch::unlimited()).unwrap();
            for number in 0..1usize << weights.len() {
                let sum: u128 = weights.iter().enumerate().filter(|(i, _)| number >> i & 1 == 1).map(|(_, w)| w).sum();
                prop_assert_eq!(evaluate(&diagram, |level| number >> level & 1 == 1), sum >= need);
            }
            let mut seen = HashSet::new();
            for (index, node) in diagram.nodes.iter().enumerate() {
                prop_assert!(node.without != node.with && seen.insert((node.level, node.without, node.with)));
                for child in [node.without, node.with] {
                    prop_assert!(child < index as u32 + 2);
                    prop_assert!(child < 2 || diagram.nodes[child as usize - 2].level > node.level);
                }
            }
        }
    }

    #[test]
    fn equivalent_needs_share_a_node() {
        // Nine inputs of weight 10 and need 41: any need from 41 to 50 means "at least five", so there are 5 * 5 nodes.
        let diagram = Threshold::new(&[10; 9], 41, 100, &Watch::unlimited()).unwrap();
        assert_eq!(diagram.nodes.len(), 25);
        let near: Vec<u128> = (0..9).map(|i| 1_000_000 + i).collect();
        assert_eq!(Threshold::new(&near, 4_500_000, 100, &Watch::unlimited()).unwrap().nodes.len(), 25);
    }

    #[test]
    fn weights_may_be_huge_and_the_limit_holds() {
        // Powers of two: the inputs form a number, whose bits are compared down to the lowest bit set in the need.
        let weights: Vec<u128> = (0..110).rev().map(|i| 1 << i).collect();
        for zeros in [0, 7] {
            let need = (((1u128 << 110) / 3) >> zeros | 1) << zeros;
            let diagram = Threshold::new(&weights, need, 110, &Watch::unlimited()).unwrap();
            assert_eq!(diagram.nodes.len(), 110 - zeros);
        }
        let need = (1u128 << 110) / 3;
        assert_eq!(Threshold::new(&weights, need, 50, &Watch::unlimited()).unwrap_err(), Halt::Nodes(50));
    }
}
