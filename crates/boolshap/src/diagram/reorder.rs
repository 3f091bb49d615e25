//! Changes the variable order of an ordered diagram by exchanging neighbours.
//!
//! *Idea.* Exchanging two neighbouring levels touches no other (Rudell, "Dynamic variable ordering for ordered binary
//! decision diagrams", ICCAD 1993, doi 10.1109/ICCAD.1993.580029): a node of x that has a child of y becomes, in its
//! own place, a node of y with children of x, so the nodes above keep pointing to it; all other nodes of x and y stay
//! as they are. An order is reached by moving its variables up one by one, with one exchange for each pair that is out
//! of order.
//!
//! *Invariant.* No two nodes are equal, no node has equal children, and every node is used: uses are counted, and a
//! node without uses is freed at once. *Cost.* For each exchange, the number of nodes of the two levels. The diagram
//! may grow during the exchanges and in the end, up to the limit. Nodes are visited in the order of their numbers, so
//! that the same diagram gives the same result in every run.

use super::order::check_order;
use super::{DiagramError, Obdd};
use crate::lit::{Var, Watch};
use hashbrown::HashTable;

/// The number of nodes between two checks of the watch.
const WATCHED: usize = 1 << 12;

/// The diagram in this order, which must contain every variable once, the root's first. Fails if more than `limit`
/// nodes are needed at any time.
///
/// ```
/// use boolshap::diagram::{Obdd, reorder};
/// use boolshap::lit::{Var, Watch};
/// // x1 and x2, tested in this order.
/// let diagram = Obdd::from_levels(vec![Var::new(0), Var::new(1)], vec![vec![[0, 1]], vec![[0, 2]]], 3);
/// let other = reorder(&diagram, &[Var::new(1), Var::new(0)], usize::MAX, &Watch::unlimited())?;
/// assert_eq!((other.len(), other.order()[0]), (2, Var::new(1)));
/// # Ok::<(), boolshap::diagram::DiagramError>(())
/// ```
pub fn reorder(diagram: &Obdd, order: &[Var], limit: usize, watch: &Watch<'_>) -> Result<Obdd, DiagramError> {
    check_order(order, diagram.order().len())?;
    let mut levels = Levels::of(diagram, limit);
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, var)| place[var.index()] = to);
    let out_of_order = |order: &[Var]| -> u64 {
        let behind =
            |(at, var): (usize, &Var)| order[..at].iter().filter(|o| place[o.index()] > place[var.index()]).count();
        order.iter().enumerate().map(|one| behind(one) as u64).sum()
    };
    let (mut done, total) = (0, out_of_order(diagram.order()));
    for (to, var) in order.iter().enumerate() {
        let from = levels.order.iter().position(|other| other == var).expect("both name every variable");
        for upper in (to..from).rev() {
            levels.exchange(upper, watch)?;
            done += 1;
            watch.stage("reordering").step(done, total)?;
        }
    }
    Ok(levels.finish())
}

/// Marks a free node or a constant, which tests nothing.
const NOTHING: u32 = u32::MAX;

/// A diagram whose levels can be exchanged.
struct Levels {
    order: Vec<Var>,
    /// For each variable, a hash table that finds its nodes by their children.
    tables: Vec<HashTable<u32>>,
    children: Vec<[u32; 2]>,
    tests: Vec<u32>,
    uses: Vec<u32>,
    free: Vec<u32>,
    root: u32,
    limit: usize,
    /// The number of nodes until the next check of the watch.
    until_look: usize,
}

impl Levels {
    fn of(diagram: &Obdd, limit: usize) -> Self {
        let count = diagram.len() + 2;
        let mut levels = Levels {
            order: diagram.order().to_vec(),
            tables: vec![HashTable::new(); diagram.order().len()],
            children: vec![[0, 1]; 2],
            tests: vec![NOTHING; 2],
            uses: vec![0; count],
            free: Vec::new(),
            root: diagram.root(),
            limit,
            until_look: WATCHED,
        };
        for (var, nodes) in diagram.levels() {
            for &pair in nodes {
                let id = levels.children.len() as u32;
                levels.children.push(pair);
                levels.tests.push(var.index() as u32);
                pair.iter().for_each(|&child| levels.uses[child as usize] += 1);
                levels.insert(var, id);
            }
        }
        levels.uses[levels.root as usize] += 1;
        levels
    }

    fn insert(&mut self, var: Var, id: u32) {
        let children = &self.children;
        let hash = |id: &u32| hash(children[*id as usize]);
        self.tables[var.index()].insert_unique(hash(&id), id, hash);
    }

    /// Exchanges the level at this place with the one below.
    fn exchange(&mut self, upper: usize, watch: &Watch<'_>) -> Result<(), DiagramError> {
        let (x, y) = (self.order[upper], self.order[upper + 1]);
        let mut nodes: Vec<u32> = self.tables[x.index()].drain().collect();
        nodes.sort_unstable();
        let tests_y = |levels: &Self, id: u32| levels.tests[id as usize] == y.index() as u32;
        let (turned, same): (Vec<u32>, Vec<u32>) =
            nodes.into_iter().partition(|&id| self.children[id as usize].iter().any(|&child| tests_y(self, child)));
        same.into_iter().for_each(|id| self.insert(x, id));
        for id in turned {
            self.until_look -= 1;
            if self.until_look == 0 {
                self.until_look = WATCHED;
                watch.check()?;
            }
            let old = self.children[id as usize];
            let halves = old.map(|child| if tests_y(self, child) { self.children[child as usize] } else { [child; 2] });
            let mut new = [0; 2];
            for (side, half) in new.iter_mut().enumerate() {
                *half = self.node(x, [halves[0][side], halves[1][side]])?;
                self.uses[*half as usize] += 1;
            }
            self.children[id as usize] = new;
            self.tests[id as usize] = y.index() as u32;
            self.insert(y, id);
            old.into_iter().for_each(|child| self.release(child));
        }
        self.order.swap(upper, upper + 1);
        Ok(())
    }

    /// The unique node with these children, or the child itself if both are equal.
    fn node(&mut self, var: Var, pair: [u32; 2]) -> Result<u32, DiagramError> {
        if pair[0] == pair[1] {
            return Ok(pair[0]);
        }
        let children = &self.children;
        if let Some(&id) = self.tables[var.index()].find(hash(pair), |&id| children[id as usize] == pair) {
            return Ok(id);
        }
        let id = match self.free.pop() {
            Some(id) => id,
            None if self.children.len() - 2 >= self.limit || self.children.len() >= NOTHING as usize => {
                return Err(DiagramError::TooManyNodes { limit: self.limit });
            }
            None => {
                self.children.push(pair);
                self.tests.push(NOTHING);
                self.uses.push(0);
                self.children.len() as u32 - 1
            }
        };
        self.children[id as usize] = pair;
        self.tests[id as usize] = var.index() as u32;
        pair.iter().for_each(|&child| self.uses[child as usize] += 1);
        self.insert(var, id);
        Ok(id)
    }

    /// Removes one use; a node without uses is freed, and its children are released in turn.
    fn release(&mut self, id: u32) {
        let mut released = vec![id];
        while let Some(id) = released.pop() {
            self.uses[id as usize] -= 1;
            if self.uses[id as usize] > 0 || id < 2 {
                continue;
            }
            let pair = self.children[id as usize];
            let table = &mut self.tables[self.tests[id as usize] as usize];
            if let Ok(entry) = table.find_entry(hash(pair), |&other| other == id) {
                entry.remove();
            }
            self.tests[id as usize] = NOTHING;
            self.free.push(id);
            released.extend(pair);
        }
    }

    fn finish(self) -> Obdd {
        let mut number = vec![0u32; self.children.len()];
        number[1] = 1;
        let mut next = 2;
        let mut levels = Vec::with_capacity(self.order.len());
        for var in self.order.iter().rev() {
            let mut nodes: Vec<u32> = self.tables[var.index()].iter().copied().collect();
            nodes.sort_unstable();
            let pairs = nodes.iter().map(|&id| self.children[id as usize].map(|child| number[child as usize]));
            levels.push(pairs.collect());
            for id in nodes {
                number[id as usize] = next;
                next += 1;
            }
        }
        Obdd::from_levels(self.order, levels, number[self.root as usize])
    }
}

/// A fixed hash, so that every run is the same.
fn hash([lo, hi]: [u32; 2]) -> u64 {
    let mixed = (u64::from(lo) << 32 | u64::from(hi)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;
    use crate::diagram::reduce_table;

    /// Reordering keeps random functions the same and gives as many nodes as compiling in the new order.
    #[test]
    fn equals_the_reduced_diagram_of_the_order() {
        let mut chance = Seeded::new(3, 0);
        let watch = &Watch::unlimited();
        for round in 0..200 {
            let n = 1 + round % 8;
            // Every third function is sparse, so that levels are skipped.
            let word = |chance: &mut Seeded| (0..4).fold(0u64, |word, _| word << 16 | chance.below(1 << 16) as u64);
            let mut table: Vec<u64> = (0..(1usize << n).div_ceil(64)).map(|_| word(&mut chance)).collect();
            if round % 3 == 0 {
                let mask = word(&mut chance);
                table.iter_mut().for_each(|part| *part &= mask & word(&mut chance));
            }
            let shuffled = |chance: &mut Seeded| {
                let mut order: Vec<Var> = (0..n).map(Var::new).collect();
                (1..n).for_each(|at| order.swap(at, chance.below(at + 1)));
                order
            };
            let [first, second] = [shuffled(&mut chance), shuffled(&mut chance)];
            let in_order = |order: &[Var]| {
                let value = |number: usize| {
                    // In a table of an order, the last variable is the lowest bit.
                    let bit = |(place, var): (usize, &Var)| (number >> (n - 1 - place) & 1) << var.index();
                    let entity: usize = order.iter().enumerate().map(bit).sum();
                    table[entity / 64] >> (entity % 64) & 1
                };
                let mut words = vec![0u64; (1usize << n).div_ceil(64)];
                (0..1 << n).for_each(|number| words[number / 64] |= value(number) << (number % 64));
                let reduced = reduce_table(n, words, usize::MAX, watch).unwrap();
                let levels = reduced.levels().map(|(_, nodes)| nodes.to_vec()).collect();
                Obdd::from_levels(order.to_vec(), levels, reduced.root())
            };
            let found = reorder(&in_order(&first), &second, usize::MAX, watch).unwrap();
            let expected = in_order(&second);
            assert_eq!((found.len(), found.order()), (expected.len(), expected.order()));
            for number in 0..1usize << n {
                let entity: Vec<bool> = (0..n).map(|v| number >> v & 1 == 1).collect();
                assert_eq!(found.evaluate(&entity), expected.evaluate(&entity));
            }
            assert_eq!(reorder(&found, &first, usize::MAX, watch).unwrap().len(), in_order(&first).len());
        }
    }

    /// x1 y1 or x2 y2 or ...: with the pairs apart, the diagram has exponentially many nodes.
    #[test]
    fn a_limit_is_kept_and_a_stop_request_heard() {
        let n = 20;
        let mut levels: Vec<Vec<[u32; 2]>> = Vec::new();
        let mut rest = 0;
        for pair in 0..n / 2 {
            let y = 2 + 2 * pair;
            levels.extend([vec![[rest, 1]], vec![[rest, y]]]);
            rest = y + 1;
        }
        let near: Vec<Var> = (0..n as usize).map(Var::new).collect();
        let diagram = Obdd::from_levels(near.clone(), levels, rest);
        let far: Vec<Var> = (0..n as usize).step_by(2).chain((1..n as usize).step_by(2)).map(Var::new).collect();
        let watch = &Watch::unlimited();
        let apart = reorder(&diagram, &far, usize::MAX, watch).unwrap();
        assert_eq!(apart.len(), (1 << (n / 2 + 1)) - 2);
        assert_eq!(reorder(&apart, &near, usize::MAX, watch).unwrap(), diagram);
        assert_eq!(reorder(&diagram, &far, 1000, watch), Err(DiagramError::TooManyNodes { limit: 1000 }));
        let late = watch.timeout(std::time::Duration::ZERO);
        assert!(matches!(reorder(&diagram, &far, usize::MAX, &late), Err(DiagramError::Stopped(_))));
        assert!(reorder(&diagram, &far[1..], usize::MAX, watch).is_err());
    }
}
