//! An upper bound on the tree-width of a formula's primal graph.
//!
//! The primal graph joins two variables that share a clause. Eliminating a variable joins its neighbours with each
//! other and removes it; the largest number of neighbours along an elimination order is an upper bound on the
//! tree-width. Min-fill always eliminates the variable that adds the fewest edges, the smallest index among equals.
//! That number is kept for every vertex and updated edge by edge: a new edge completes one pair for each common
//! neighbour of its ends, and opens pairs at the ends themselves, at a cost of O(smaller degree) per edge. Once the
//! number of remaining variables is no larger than the bound, nothing can raise it.
//!
//! H. L. Bodlaender, A. M. C. A. Koster, Treewidth computations I: Upper bounds, Information and Computation, 2010.

use std::collections::BTreeSet;

use super::cnf::Cnf;
use super::error::{FormulaError, Place};
use crate::lit::{Lit, Stopped, Watch};

/// An upper bound on the tree-width of the primal graph, by min-fill. A formula that mentions no variable has bound 0.
///
/// ```
/// use boolshap::formula::{Clause, Cnf, tree_width_bound};
/// use boolshap::lit::Watch;
/// let chain = (1..9).map(|x| Clause::from_dimacs(&[-x, x + 1]).unwrap());
/// assert_eq!(tree_width_bound(&Cnf::from_clauses(9, chain), &Watch::unlimited()).unwrap(), 1);
/// ```
pub fn tree_width_bound(cnf: &Cnf, watch: &Watch<'_>) -> Result<usize, FormulaError> {
    let vars = cnf.mentioned();
    let variables = vars.len();
    let stopped = |done| move |why| FormulaError::Stopped { why, place: Place::TreeWidth { done, variables } };
    let mut graph = Graph::new(variables);
    for clause in cnf.clauses() {
        let places = clause.lits().map(Lit::var).map(|var| vars.binary_search(&var).expect("a mentioned variable"));
        graph.join(&places.collect::<Vec<_>>(), watch).map_err(stopped(0))?;
    }
    let fills = |(vertex, &fill): (usize, &usize)| (fill, vertex);
    let mut queue: BTreeSet<(usize, usize)> = graph.fill.iter().enumerate().map(fills).collect();
    let mut queued = graph.fill.clone();
    let mut bound = 0;
    while queue.len() > bound + 1 {
        let Some((_, vertex)) = queue.pop_first() else { break };
        graph.changed.clear();
        let degree = graph.eliminate(vertex, watch).map_err(stopped(variables - queue.len() - 1))?;
        bound = bound.max(degree);
        graph.changed.sort_unstable();
        graph.changed.dedup();
        for &vertex in &graph.changed {
            queue.remove(&(queued[vertex], vertex));
            queued[vertex] = graph.fill[vertex];
            queue.insert((queued[vertex], vertex));
        }
    }
    Ok(bound)
}

struct Graph {
    neighbours: Vec<BTreeSet<usize>>,
    /// For each vertex, the number of pairs of its neighbours that are not joined.
    fill: Vec<usize>,
    /// Vertices whose number in `fill` has changed, possibly repeated.
    changed: Vec<usize>,
}

impl Graph {
    fn new(vertices: usize) -> Self {
        Graph { neighbours: vec![BTreeSet::new(); vertices], fill: vec![0; vertices], changed: Vec::new() }
    }

    /// Joins all of these vertices with each other.
    fn join(&mut self, vertices: &[usize], watch: &Watch<'_>) -> Result<(), Stopped> {
        for (place, &first) in vertices.iter().enumerate() {
            watch.check()?;
            for &second in &vertices[place + 1..] {
                if !self.neighbours[first].contains(&second) {
                    self.add_edge(first, second);
                }
            }
        }
        Ok(())
    }

    fn add_edge(&mut self, first: usize, second: usize) {
        let (one, two) = (&self.neighbours[first], &self.neighbours[second]);
        let (small, large) = if one.len() < two.len() { (one, two) } else { (two, one) };
        let mut common = 0;
        for &vertex in small.iter().filter(|vertex| large.contains(vertex)) {
            common += 1;
            self.fill[vertex] -= 1;
            self.changed.push(vertex);
        }
        self.fill[first] += one.len() - common;
        self.fill[second] += two.len() - common;
        self.changed.extend([first, second]);
        self.neighbours[first].insert(second);
        self.neighbours[second].insert(first);
    }

    /// Joins the neighbours, removes the vertex, and returns how many neighbours it had.
    fn eliminate(&mut self, vertex: usize, watch: &Watch<'_>) -> Result<usize, Stopped> {
        let around: Vec<usize> = self.neighbours[vertex].iter().copied().collect();
        self.join(&around, watch)?;
        for &neighbour in &around {
            // The neighbours now form a clique: vertices not adjacent to the eliminated one lie outside it.
            self.fill[neighbour] -= self.neighbours[neighbour].len() - around.len();
            self.neighbours[neighbour].remove(&vertex);
        }
        self.changed.extend(&around);
        self.changed.retain(|&changed| changed != vertex);
        Ok(around.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::clause::Clause;
    use super::super::cnf::tests::formulas;
    use super::*;
    use crate::lit::Var;
    use proptest::prelude::*;

    fn graph(edges: &[(usize, usize)]) -> Cnf {
        let clause = |&(a, b): &(usize, usize)| Clause::new([Var::new(a).positive(), Var::new(b).negative()]).unwrap();
        Cnf::from_clauses(0, edges.iter().map(clause))
    }

    fn bound(cnf: &Cnf) -> usize {
        tree_width_bound(cnf, &Watch::unlimited()).unwrap()
    }

    #[test]
    fn graphs_of_known_tree_width() {
        assert_eq!(bound(&Cnf::new(5)), 0);
        assert_eq!(bound(&Cnf::falsum(5)), 0);
        let cycle: Vec<_> = (0..10).map(|v| (v, (v + 1) % 10)).collect();
        assert_eq!(bound(&graph(&cycle)), 2);
        let star: Vec<_> = (1..50).map(|v| (0, v)).collect();
        assert_eq!(bound(&graph(&star)), 1);
        let grid: Vec<_> = (0..16)
            .flat_map(|v| [(v % 4 < 3).then_some((v, v + 1)), (v < 12).then_some((v, v + 4))].into_iter().flatten())
            .collect();
        assert_eq!(bound(&graph(&grid)), 4);
        let clique = Clause::new((0..13).map(|v| Var::new(v * 100).positive())).unwrap();
        assert_eq!(bound(&Cnf::from_clauses(0, [clique])), 12);
    }

    /// The same rule on an adjacency matrix: recounts all vertices and eliminates the best one until none is left.
    fn plain_min_fill(cnf: &Cnf, n: usize) -> usize {
        let mut adjacent = vec![vec![false; n]; n];
        let vars = |clause: &Clause| clause.lits().map(|lit| lit.var().index()).collect::<Vec<_>>();
        for vars in cnf.clauses().map(vars) {
            vars.iter().for_each(|&a| vars.iter().for_each(|&b| adjacent[a][b] = a != b));
        }
        let mut left: Vec<usize> = (0..n).collect();
        let mut bound = 0;
        while !left.is_empty() {
            let around = |v: usize| left.iter().copied().filter(|&u| adjacent[v][u]).collect::<Vec<_>>();
            let missing = |v: usize| {
                let pairs = around(v).into_iter().flat_map(|a| around(v).into_iter().map(move |b| (a, b)));
                pairs.filter(|&(a, b)| a < b && !adjacent[a][b]).count()
            };
            let next = left.iter().copied().min_by_key(|&v| (missing(v), v)).unwrap();
            let clique = around(next);
            bound = bound.max(clique.len());
            left.retain(|&v| v != next);
            clique.iter().for_each(|&a| clique.iter().for_each(|&b| adjacent[a][b] = a != b));
        }
        bound
    }

    /// The exact tree-width, by trying every elimination order (dynamic programming over sets of eliminated vertices).
    fn exact(cnf: &Cnf, n: usize) -> usize {
        let mut adjacent = vec![0u32; n];
        for clause in cnf.clauses() {
            let mask = clause.lits().fold(0, |mask, lit| mask | 1 << lit.var().index());
            clause.lits().for_each(|lit| adjacent[lit.var().index()] |= mask & !(1 << lit.var().index()));
        }
        let mut best = vec![0; 1 << n];
        for gone in 1..1usize << n {
            best[gone] = (0..n)
                .filter(|v| gone >> v & 1 == 1)
                .map(|v| {
                    // Vertices reachable from v through vertices eliminated before it.
                    let through = gone as u32 & !(1 << v);
                    let mut reached = adjacent[v];
                    for _ in 0..n {
                        let inner = (0..n).filter(|u| reached & through & (1 << u) != 0);
                        reached |= inner.fold(0, |mask, u| mask | adjacent[u]);
                    }
                    let degree = (reached & !(gone as u32)).count_ones() as usize;
                    best[gone & !(1 << v)].max(degree)
                })
                .min()
                .unwrap();
        }
        best[(1 << n) - 1]
    }

    proptest! {
        #[test]
        fn agrees_with_the_plain_rule(cnf in formulas(16, 24, 1)) {
            prop_assert_eq!(bound(&cnf), plain_min_fill(&cnf, 16));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn never_below_the_tree_width_and_rarely_above(cnf in formulas(8, 12, 1)) {
            let (bound, exact) = (bound(&cnf), exact(&cnf, 8));
            // Min-fill is near-optimal on graphs this small.
            prop_assert!(exact <= bound && bound <= exact + 1, "{bound} for {exact}");
        }
    }
}
