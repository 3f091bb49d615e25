//! A clause as a bit set: one mask of positive and one of negated variables for each block of 64 variables.
//!
//! Variables 0 to 63 are stored inline, so that a clause of a small formula has no heap memory and every operation on
//! it takes a few word instructions. Further blocks are stored only if they contain a literal, so a clause of three
//! literals among a million variables is small too.

use std::fmt;

use crate::lit::{Lit, Var};

const BLOCK: usize = 64;

/// 64 consecutive variables: bit i of a mask is variable `64 * index + i`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Block {
    index: u32,
    positive: u64,
    negative: u64,
}

impl Block {
    fn is_within(self, other: Block) -> bool {
        self.positive & !other.positive == 0 && self.negative & !other.negative == 0
    }

    fn len(self) -> usize {
        (self.positive.count_ones() + self.negative.count_ones()) as usize
    }

    fn with(mut self, lit: Lit) -> Self {
        let bit = 1 << (lit.var().index() % BLOCK);
        if lit.is_negative() {
            self.negative |= bit;
        } else {
            self.positive |= bit;
        }
        self
    }

    fn without(mut self, lit: Lit) -> Self {
        let bit = 1 << (lit.var().index() % BLOCK);
        if lit.is_negative() {
            self.negative &= !bit;
        } else {
            self.positive &= !bit;
        }
        self
    }

    fn lits(self) -> impl Iterator<Item = Lit> {
        let mut left = self.positive | self.negative;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            let var = Var::new(self.index as usize * BLOCK + bit as usize);
            Some(var.literal(self.positive >> bit & 1 == 1))
        })
    }
}

/// A disjunction of literals in which no variable occurs twice. The empty clause is false.
///
/// ```
/// use boolshap::formula::Clause;
/// let short = Clause::from_dimacs(&[1, -2]).unwrap();
/// let long = Clause::from_dimacs(&[3, -2, 1]).unwrap();
/// assert!(short.subsumes(&long) && !long.subsumes(&short));
/// assert_eq!(Clause::from_dimacs(&[1, -1]), None, "always true, so not a clause");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clause {
    positive: u64,
    negative: u64,
    rest: Box<[Block]>,
}

impl Clause {
    /// The clause without literals, which is false.
    pub fn empty() -> Self {
        Clause { positive: 0, negative: 0, rest: Box::default() }
    }

    /// The clause of these literals, in any order and with repetitions; `None` if it is always true because a variable
    /// occurs with both signs.
    pub fn new(lits: impl IntoIterator<Item = Lit>) -> Option<Self> {
        let mut first = Block { index: 0, positive: 0, negative: 0 };
        let mut wide = Vec::new();
        for lit in lits {
            if lit.var().index() < BLOCK {
                first = first.with(lit);
            } else {
                wide.push(lit);
            }
        }
        wide.sort_unstable();
        let mut rest: Vec<Block> = Vec::new();
        for lit in wide {
            let index = (lit.var().index() / BLOCK) as u32;
            match rest.last_mut() {
                Some(last) if last.index == index => *last = last.with(lit),
                _ => rest.push(Block { index, positive: 0, negative: 0 }.with(lit)),
            }
        }
        let consistent = |block: &Block| block.positive & block.negative == 0;
        (consistent(&first) && rest.iter().all(consistent)).then(|| Clause {
            positive: first.positive,
            negative: first.negative,
            rest: rest.into(),
        })
    }

    /// The clause of these DIMACS numbers; `None` if it is always true or a number is 0.
    pub fn from_dimacs(numbers: &[i32]) -> Option<Self> {
        let lits: Option<Vec<Lit>> = numbers.iter().map(|&number| Lit::from_dimacs(number)).collect();
        Clause::new(lits?)
    }

    /// The clause of one literal.
    pub fn unit(lit: Lit) -> Self {
        Clause::new([lit]).expect("one literal does not contradict itself")
    }

    fn first(&self) -> Block {
        Block { index: 0, positive: self.positive, negative: self.negative }
    }

    /// The literals, by ascending variable.
    pub fn lits(&self) -> impl Iterator<Item = Lit> + '_ {
        self.first().lits().chain(self.rest.iter().flat_map(|block| block.lits()))
    }

    /// The number of literals.
    pub fn len(&self) -> usize {
        self.first().len() + self.rest.iter().map(|block| block.len()).sum::<usize>()
    }

    /// Whether it has no literals and is false.
    pub fn is_empty(&self) -> bool {
        self.positive | self.negative == 0 && self.rest.is_empty()
    }

    /// Whether every literal of this clause is also in the other, which this clause then implies.
    pub fn subsumes(&self, other: &Clause) -> bool {
        if !self.first().is_within(other.first()) {
            return false;
        }
        let mut theirs = other.rest.iter();
        // Both lists are ascending, so one walk over the other's blocks finds every block of ours.
        self.rest.iter().all(|ours| {
            theirs
                .find(|block| block.index >= ours.index)
                .is_some_and(|block| block.index == ours.index && ours.is_within(*block))
        })
    }

    /// The disjunction of two clauses; `None` if it is always true.
    pub fn or(&self, other: &Clause) -> Option<Clause> {
        let (positive, negative) = (self.positive | other.positive, self.negative | other.negative);
        if positive & negative != 0 {
            return None;
        }
        if self.rest.is_empty() && other.rest.is_empty() {
            return Some(Clause { positive, negative, rest: Box::default() });
        }
        Clause::new(self.lits().chain(other.lits()))
    }

    /// The clause without one literal.
    pub fn without(&self, lit: Lit) -> Clause {
        let first = self.first();
        if lit.var().index() < BLOCK {
            let Block { positive, negative, .. } = first.without(lit);
            return Clause { positive, negative, rest: self.rest.clone() };
        }
        let index = (lit.var().index() / BLOCK) as u32;
        let shrunk = self.rest.iter().map(|block| if block.index == index { block.without(lit) } else { *block });
        Clause { rest: shrunk.filter(|block| block.len() > 0).collect(), ..*self }
    }

    /// Whether an assignment, with one value per variable, makes a literal true.
    pub fn holds(&self, values: &[bool]) -> bool {
        self.lits().any(|lit| lit.holds(values[lit.var().index()]))
    }
}

impl fmt::Debug for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(")?;
        for (place, lit) in self.lits().enumerate() {
            write!(f, "{}{lit}", if place == 0 { "" } else { " " })?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn numbers() -> impl Strategy<Value = Vec<i32>> {
        // Variables on both sides of block borders, at the same positions in different blocks, and few enough for two
        // clauses to share some.
        let var = prop::sample::select(vec![1, 2, 64, 65, 66, 129, 130, 5000]);
        prop::collection::vec((var, any::<bool>()).prop_map(|(var, sign)| if sign { var } else { -var }), 0..4)
    }

    fn set(numbers: &[i32]) -> BTreeSet<i32> {
        numbers.iter().copied().collect()
    }

    fn contradicts(set: &BTreeSet<i32>) -> bool {
        set.iter().any(|number| set.contains(&-number))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]
        #[test]
        fn bit_sets_agree_with_plain_sets(a in numbers(), b in numbers()) {
            let (left, right) = (set(&a), set(&b));
            prop_assert_eq!(Clause::from_dimacs(&a).is_none(), contradicts(&left));
            let (Some(x), Some(y)) = (Clause::from_dimacs(&a), Clause::from_dimacs(&b)) else { return Ok(()) };
            let back: BTreeSet<i32> = x.lits().map(Lit::to_dimacs).collect();
            prop_assert_eq!(&back, &left);
            prop_assert_eq!(x.len(), left.len());
            prop_assert_eq!(x.is_empty(), left.is_empty());
            prop_assert!(x.lits().map(|lit| lit.var()).is_sorted());
            prop_assert_eq!(x.subsumes(&y), left.is_subset(&right));
            prop_assert_eq!(x == y, left == right);
            let both: BTreeSet<i32> = left.union(&right).copied().collect();
            let joined = x.or(&y).map(|clause| clause.lits().map(Lit::to_dimacs).collect::<BTreeSet<_>>());
            prop_assert_eq!(joined, (!contradicts(&both)).then_some(both));
            for lit in x.lits() {
                let mut fewer = left.clone();
                fewer.remove(&lit.to_dimacs());
                let fewer: Vec<i32> = fewer.into_iter().collect();
                prop_assert_eq!(Some(x.without(lit)), Clause::from_dimacs(&fewer));
            }
        }
    }
}
