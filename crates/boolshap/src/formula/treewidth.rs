//! An upper bound on the tree-width of a formula's primal graph.
//!
//! The primal graph joins two variables that share a clause. Eliminating a variable joins its neighbours with each other
//! and takes it out; the largest number of neighbours met along an elimination order bounds the tree-width from above.
//! Min-fill always eliminates the variable that adds the fewest edges, the smallest index first among equals. The number
//! of missing edges changes only for the neighbours of the eliminated variable and for their neighbours, so only theirs
//! are counted again. Once no more variables are left than the bound already allows, nothing can raise it.
//!
//! H. L. Bodlaender, A. M. C. A. Koster, Treewidth computations I: Upper bounds, Information and Computation, 2010.

use std::collections::BTreeSet;

use super::cnf::Cnf;
use super::error::{FormulaError, Place};
use crate::lit::{Lit, Watch};

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
    let mut graph: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); variables];
    for clause in cnf.clauses() {
        watch.check().map_err(stopped(0))?;
        let places = clause.lits().map(Lit::var).map(|var| vars.binary_search(&var).expect("a mentioned variable"));
        join(&mut graph, &places.collect::<Vec<_>>());
    }
    let mut fills: Vec<usize> = Vec::with_capacity(variables);
    for vertex in 0..variables {
        watch.check().map_err(stopped(0))?;
        fills.push(missing_edges(&graph, vertex));
    }
    let mut queue: BTreeSet<(usize, usize)> = fills.iter().enumerate().map(|(vertex, &fill)| (fill, vertex)).collect();
    let mut bound = 0;
    while queue.len() > bound + 1 {
        watch.check().map_err(stopped(variables - queue.len()))?;
        let Some((_, vertex)) = queue.pop_first() else { break };
        let neighbours: Vec<usize> = std::mem::take(&mut graph[vertex]).into_iter().collect();
        bound = bound.max(neighbours.len());
        for &neighbour in &neighbours {
            graph[neighbour].remove(&vertex);
        }
        join(&mut graph, &neighbours);
        let mut changed: BTreeSet<usize> = neighbours.iter().copied().collect();
        neighbours.iter().for_each(|&neighbour| changed.extend(&graph[neighbour]));
        for vertex in changed {
            let fill = missing_edges(&graph, vertex);
            if fill != fills[vertex] {
                queue.remove(&(fills[vertex], vertex));
                queue.insert((fill, vertex));
                fills[vertex] = fill;
            }
        }
    }
    Ok(bound)
}

/// Joins all of these vertices with each other.
fn join(graph: &mut [BTreeSet<usize>], vertices: &[usize]) {
    for &vertex in vertices {
        graph[vertex].extend(vertices.iter().filter(|&&other| other != vertex));
    }
}

/// How many edges eliminating the vertex would add.
fn missing_edges(graph: &[BTreeSet<usize>], vertex: usize) -> usize {
    let neighbours = &graph[vertex];
    let unordered =
        |&first: &usize| neighbours.range(first + 1..).filter(|second| !graph[first].contains(second)).count();
    neighbours.iter().map(unordered).sum()
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

    /// The tree-width itself, by trying every elimination order (dynamic programming over sets of eliminated vertices).
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
                    // Who is reachable from v through vertices eliminated before it.
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
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn never_below_the_tree_width_and_rarely_above(cnf in formulas(8, 12, 1)) {
            let (bound, exact) = (bound(&cnf), exact(&cnf, 8));
            // Min-fill is near-optimal on graphs this small.
            prop_assert!(exact <= bound && bound <= exact + 1, "{bound} for {exact}");
        }
    }
}
