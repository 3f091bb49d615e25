//! The assignments that falsify a formula of few variables, as a table of bits.
//!
//! The mentioned variables are numbered 0 to n-1; bit a of the table is the assignment in which variable i has the
//! value of bit i of a. The assignments that falsify a clause form a cube: its positive variables are 0, its negated
//! ones 1, the others free. A cube is visited word by word: the low six variables become one mask inside a word, and
//! the free ones of the others are enumerated. So testing a cube with k free variables costs about 2^(k-6) word
//! operations.

use super::clause::Clause;
use super::cnf::Cnf;
use crate::lit::{LOW_VARIABLES, Lit, Var};

/// The largest number of variables for which tables are built: 128 kB of bits.
pub(super) const TABLE_VARIABLES: usize = 20;

/// A clause over the variables of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct TableClause {
    pub(super) positive: u32,
    pub(super) negative: u32,
}

impl TableClause {
    pub(super) fn mask(self) -> u32 {
        self.positive | self.negative
    }

    pub(super) fn without(self, bit: u32) -> Self {
        TableClause { positive: self.positive & !bit, negative: self.negative & !bit }
    }

    /// The clause with the sign of one variable flipped.
    fn turned(self, bit: u32) -> Self {
        TableClause { positive: self.positive ^ bit, negative: self.negative ^ bit }
    }

    pub(super) fn or(self, other: Self) -> Self {
        TableClause { positive: self.positive | other.positive, negative: self.negative | other.negative }
    }
}

/// Numbers some variables 0 to n-1.
pub(super) struct Numbering {
    vars: Vec<Var>,
}

impl Numbering {
    /// A numbering of the variables that the formulas mention, if they are few enough for a table.
    pub(super) fn of<'a>(formulas: impl IntoIterator<Item = &'a Cnf>) -> Option<Self> {
        let mut vars: Vec<Var> = Vec::new();
        for cnf in formulas {
            for clause in cnf.clauses() {
                for var in clause.lits().map(Lit::var) {
                    if let Err(place) = vars.binary_search(&var) {
                        if vars.len() == TABLE_VARIABLES {
                            return None;
                        }
                        vars.insert(place, var);
                    }
                }
            }
        }
        Some(Numbering { vars })
    }

    pub(super) fn len(&self) -> usize {
        self.vars.len()
    }

    /// The value of a variable in an assignment of a table; false if it has no number.
    pub(super) fn value(&self, assignment: usize, var: Var) -> bool {
        self.vars.binary_search(&var).is_ok_and(|place| assignment >> place & 1 == 1)
    }

    pub(super) fn narrow(&self, clause: &Clause) -> TableClause {
        let mut narrow = TableClause { positive: 0, negative: 0 };
        for lit in clause.lits() {
            let place = self.vars.binary_search(&lit.var()).expect("a mentioned variable");
            if lit.is_negative() {
                narrow.negative |= 1 << place;
            } else {
                narrow.positive |= 1 << place;
            }
        }
        narrow
    }

    pub(super) fn widen(&self, clause: TableClause) -> Clause {
        let places = (0..self.len()).filter(|place| clause.mask() >> place & 1 == 1);
        let lits = places.map(|place| self.vars[place].literal(clause.positive >> place & 1 == 1));
        Clause::new(lits).expect("each variable has one sign")
    }
}

/// A set of assignments to n variables, usually those that falsify a formula.
#[derive(Clone)]
pub(super) struct Table {
    variables: usize,
    words: Vec<u64>,
}

impl Table {
    /// The empty set.
    pub(super) fn new(variables: usize) -> Self {
        assert!(variables <= TABLE_VARIABLES, "{variables} variables are too many for a table");
        Table { variables, words: vec![0; 1 << variables.saturating_sub(6)] }
    }

    /// The assignments that falsify one of the clauses.
    pub(super) fn of(variables: usize, clauses: impl IntoIterator<Item = TableClause>) -> Self {
        let mut table = Table::new(variables);
        clauses.into_iter().for_each(|clause| table.insert(clause));
        table
    }

    pub(super) fn variables(&self) -> usize {
        self.variables
    }

    pub(super) fn contains(&self, assignment: usize) -> bool {
        self.words[assignment / 64] >> (assignment % 64) & 1 == 1
    }

    /// The words of a clause's cube, and the mask of the cube, which is the same in each word.
    fn cube(&self, clause: TableClause) -> (impl Iterator<Item = usize> + use<>, u64) {
        let mut mask = if self.variables >= 6 { u64::MAX } else { (1 << (1 << self.variables)) - 1 };
        for (place, ones) in LOW_VARIABLES.iter().enumerate() {
            if clause.negative >> place & 1 == 1 {
                mask &= ones;
            } else if clause.positive >> place & 1 == 1 {
                mask &= !ones;
            }
        }
        let high = (1usize << self.variables.saturating_sub(6)) - 1;
        let base = (clause.negative >> 6) as usize;
        let free = high & !((clause.mask() >> 6) as usize);
        let mut next = Some(0usize);
        let words = std::iter::from_fn(move || {
            let subset = next?;
            let following = subset.wrapping_sub(free) & free;
            next = (following != 0).then_some(following);
            Some(base | subset)
        });
        (words, mask)
    }

    /// Adds one assignment.
    pub(super) fn add(&mut self, assignment: usize) {
        self.words[assignment / 64] |= 1 << (assignment % 64);
    }

    /// Adds the assignments that falsify the clause.
    pub(super) fn insert(&mut self, clause: TableClause) {
        let (words, mask) = self.cube(clause);
        words.for_each(|word| self.words[word] |= mask);
    }

    /// Removes the assignments that falsify the clause.
    pub(super) fn remove(&mut self, clause: TableClause) {
        let (words, mask) = self.cube(clause);
        words.for_each(|word| self.words[word] &= !mask);
    }

    /// How many assignments in the set falsify the clause.
    pub(super) fn count(&self, clause: TableClause) -> u32 {
        let (words, mask) = self.cube(clause);
        words.map(|word| (self.words[word] & mask).count_ones()).sum()
    }

    /// Whether every assignment that falsifies the clause is in the set. For the table of a formula: whether the
    /// formula implies the clause.
    pub(super) fn includes(&self, clause: TableClause) -> bool {
        let (mut words, mask) = self.cube(clause);
        words.all(|word| self.words[word] & mask == mask)
    }

    /// Shortens an implied clause to a prime implicate: tries to drop each literal, from variable `start` on and
    /// wrapping round.
    pub(super) fn shorten(&self, mut clause: TableClause, start: usize) -> TableClause {
        for step in 0..self.variables {
            let bit = 1 << ((start + step) % self.variables);
            // One half of the larger cube is the clause's own cube, which is known to be in the set.
            if clause.mask() & bit != 0 && self.includes(clause.turned(bit)) {
                clause = clause.without(bit);
            }
        }
        clause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn falsifies(assignment: usize, clause: TableClause) -> bool {
        assignment as u32 & clause.mask() == clause.negative
    }

    #[test]
    fn cubes_are_the_assignments_that_falsify() {
        // A small generator is enough: clauses of every kind over 0 to 9 variables.
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 16
        };
        for variables in 0..=9 {
            let all = (1u32 << variables) - 1;
            for _ in 0..40 {
                let mut pick = || {
                    let mask = random() & all;
                    let negative = random() & mask;
                    TableClause { positive: mask & !negative, negative }
                };
                let (first, second, probe) = (pick(), pick(), pick());
                let mut table = Table::of(variables, [first, second]);
                let expected: Vec<usize> =
                    (0..1 << variables).filter(|&a| falsifies(a, first) || falsifies(a, second)).collect();
                let set = |table: &Table| (0..1 << variables).filter(|&a| table.contains(a)).collect::<Vec<usize>>();
                assert_eq!(set(&table), expected);
                let hit = expected.iter().filter(|&&a| falsifies(a, probe)).count();
                assert_eq!(table.count(probe) as usize, hit);
                assert_eq!(table.includes(probe), hit == 1 << (variables as u32 - probe.mask().count_ones()));
                table.remove(probe);
                assert_eq!(set(&table).len(), expected.len() - hit);
            }
        }
    }
}
