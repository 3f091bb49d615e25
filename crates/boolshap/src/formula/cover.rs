//! A small set of prime implicates equivalent to a formula of few variables, chosen from its truth table.
//!
//! Two-level minimisation after Quine and McCluskey: first the prime implicates, then a subset whose cubes cover every
//! falsifying assignment. Up to [`ALL_PRIMES`] variables, all primes are found. One byte for each of the 3^n cubes says
//! whether the cube is inside the table. The bytes are filled variable by variable: a cube with a free variable is
//! inside if both its halves are. A cube is maximal if freeing any other variable takes it outside. This costs O(n 3^n)
//! byte operations in long runs. With more variables, the candidates are the formula's own clauses, shortened in
//! several orders, which cover the table too.
//!
//! The cover is greedy: each step takes the prime with the most assignments not covered yet. Gains can only decrease,
//! so a heap of possibly stale gains suffices: the top is counted again, and taken if its gain has not changed.
//!
//! Invariant: every clause returned is a prime implicate, and together they are equivalent to the table. Redundant
//! clauses are removed later, by SAT.
//!
//! W. V. Quine, The Problem of Simplifying Truth Functions, 1952; E. J. McCluskey, Minimization of Boolean Functions,
//! 1956; V. Chvatal, A Greedy Heuristic for the Set-Covering Problem, 1979.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::table::{Table, TableClause};
use crate::lit::{Stopped, Watch};

/// Up to this many variables every prime implicate is a candidate: 3^14 is 4.8 million bytes.
const ALL_PRIMES: usize = 14;
/// With more variables, the number of orders in which clauses are shortened.
const ORDERS: usize = 6;
/// The watch is checked each time this many clauses are done.
const STRIDE: usize = 256;

/// Prime implicates equivalent to the table; `clauses` must be equivalent to it, too.
pub(super) fn cover(table: &Table, clauses: &[TableClause], watch: &Watch<'_>) -> Result<Vec<TableClause>, Stopped> {
    let primes = if table.variables() <= ALL_PRIMES {
        watch.check()?;
        all_primes(table)
    } else {
        some_primes(table, clauses, watch)?
    };
    greedy(table, &primes, watch)
}

fn all_primes(table: &Table) -> Vec<TableClause> {
    let n = table.variables();
    // Digit i of a cube's number in base 3 is variable i: 0, 1, or 2 for free.
    let mut inside: Vec<u8> = (0..1 << n).map(|assignment| u8::from(table.contains(assignment))).collect();
    let mut run = 1;
    for _ in 0..n {
        let mut wider = Vec::with_capacity(inside.len() / 2 * 3);
        for pair in inside.chunks_exact(2 * run) {
            let (zero, one) = pair.split_at(run);
            wider.extend_from_slice(pair);
            wider.extend(zero.iter().zip(one).map(|(a, b)| a & b));
        }
        inside = wider;
        run *= 3;
    }
    let mut prime = inside.clone();
    run = 1;
    for _ in 0..n {
        for (three, known) in prime.chunks_exact_mut(3 * run).zip(inside.chunks_exact(3 * run)) {
            let free = &known[2 * run..];
            for half in three[..2 * run].chunks_exact_mut(run) {
                half.iter_mut().zip(free).for_each(|(mine, freed)| *mine &= !freed);
            }
        }
        run *= 3;
    }
    let numbers = prime.iter().enumerate().filter(|(_, is)| **is == 1).map(|(number, _)| number);
    numbers.map(|number| clause_of_cube(number, n)).collect()
}

fn clause_of_cube(mut number: usize, variables: usize) -> TableClause {
    let mut clause = TableClause { positive: 0, negative: 0 };
    for place in 0..variables {
        match number % 3 {
            0 => clause.positive |= 1 << place,
            1 => clause.negative |= 1 << place,
            _ => {}
        }
        number /= 3;
    }
    clause
}

fn some_primes(table: &Table, clauses: &[TableClause], watch: &Watch<'_>) -> Result<Vec<TableClause>, Stopped> {
    let mut primes = BTreeSet::new();
    for (done, &clause) in clauses.iter().enumerate() {
        if done % STRIDE == 0 {
            watch.check()?;
        }
        for order in 0..ORDERS {
            primes.insert(table.shorten(clause, order * table.variables() / ORDERS));
        }
    }
    Ok(primes.into_iter().collect())
}

fn greedy(table: &Table, primes: &[TableClause], watch: &Watch<'_>) -> Result<Vec<TableClause>, Stopped> {
    let mut left = table.clone();
    let gains = primes.iter().enumerate().map(|(place, &prime)| (left.count(prime), Reverse(place)));
    let mut heap: BinaryHeap<(u32, Reverse<usize>)> = gains.collect();
    let mut chosen = Vec::new();
    let mut steps = 0;
    while let Some((stale, Reverse(place))) = heap.pop() {
        steps += 1;
        if steps % STRIDE == 0 {
            watch.check()?;
        }
        let gain = left.count(primes[place]);
        if gain == stale && gain > 0 {
            left.remove(primes[place]);
            chosen.push(primes[place]);
        } else if gain > 0 {
            heap.push((gain, Reverse(place)));
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every clause over three variables, including the empty one.
    fn all_clauses() -> impl Iterator<Item = TableClause> {
        (0..27).map(|number| clause_of_cube(number, 3))
    }

    fn implied(function: u32, clause: TableClause) -> bool {
        (0..8u32).all(|row| function >> row & 1 == 0 || row & clause.mask() != clause.negative)
    }

    #[test]
    fn all_primes_are_the_minimal_implied_clauses() {
        for function in 0..256u32 {
            let mut table = Table::new(3);
            (0..8).filter(|row| function >> row & 1 == 0).for_each(|row| table.add(row));
            let shorter = |clause: TableClause| [1, 2, 4].map(|bit| clause.without(bit)).into_iter();
            let mut expected: Vec<TableClause> = all_clauses()
                .filter(|&clause| implied(function, clause))
                .filter(|&clause| !shorter(clause).any(|part| part != clause && implied(function, part)))
                .collect();
            let mut found = all_primes(&table);
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "function {function:08b}");
        }
    }
}
