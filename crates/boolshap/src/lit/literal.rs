//! Variables and literals as 32-bit numbers.

use std::fmt;
use std::ops::Not;

/// A Boolean variable, numbered from 0. Files and people number from 1: see [`Var::to_dimacs`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(u32);

impl Var {
    /// The largest index of a variable: both its literals must fit in 32 bits, and its DIMACS number in 31.
    pub const MAX_INDEX: usize = (i32::MAX - 1) as usize;

    /// The variable of this index, counted from 0.
    ///
    /// # Panics
    /// If the index is above [`Var::MAX_INDEX`]; file readers check this first.
    pub fn new(index: usize) -> Self {
        assert!(index <= Self::MAX_INDEX, "variable index {index} out of range");
        Var(index as u32)
    }

    /// The index, counted from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of this variable in DIMACS, NNF and SDD files: its index plus one.
    pub fn to_dimacs(self) -> i32 {
        self.0 as i32 + 1
    }

    /// The literal that is true when the variable is.
    pub fn positive(self) -> Lit {
        Lit(self.0 << 1)
    }

    /// The literal that is true when the variable is false.
    pub fn negative(self) -> Lit {
        Lit(self.0 << 1 | 1)
    }

    /// The literal that is true when the variable has the given value.
    pub fn literal(self, value: bool) -> Lit {
        Lit(self.0 << 1 | u32::from(!value))
    }
}

/// A variable or its negation, coded as `2 * index + negated`, so that a literal indexes an array.
///
/// ```
/// use boolshap::lit::{Lit, Var};
/// let x = Var::new(2).positive();
/// assert_eq!((x.to_dimacs(), (!x).to_dimacs()), (3, -3));
/// assert_eq!(Lit::from_dimacs(-3), Some(!x));
/// assert!(x.holds(true) && !x.holds(false));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// The literal with this DIMACS number; `None` for 0 and for numbers out of range.
    pub fn from_dimacs(number: i32) -> Option<Self> {
        let magnitude = number.checked_abs()?;
        (magnitude > 0).then(|| Var((magnitude - 1) as u32).literal(number > 0))
    }

    /// The literal's DIMACS number.
    pub fn to_dimacs(self) -> i32 {
        let number = self.var().to_dimacs();
        if self.is_negative() { -number } else { number }
    }

    /// The literal's variable.
    pub fn var(self) -> Var {
        Var(self.0 >> 1)
    }

    /// Whether it is a negated variable.
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether it is true when its variable has the given value.
    pub fn holds(self, value: bool) -> bool {
        value != self.is_negative()
    }

    /// `2 * index + negated`, for tables with one slot per literal.
    pub fn code(self) -> usize {
        self.0 as usize
    }

    /// The literal with this [`Lit::code`].
    pub fn from_code(code: usize) -> Self {
        Var::new(code >> 1).literal(code & 1 == 0)
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.to_dimacs())
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_negative() { "-" } else { "" }, self.var())
    }
}

impl fmt::Display for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimacs_numbers_round_trip() {
        for number in [1, -1, 2, -2, 77, -77, i32::MAX, -i32::MAX] {
            let lit = Lit::from_dimacs(number).unwrap();
            assert_eq!(lit.to_dimacs(), number);
            assert_eq!((!lit).to_dimacs(), -number);
            assert_eq!(Lit::from_code(lit.code()), lit);
        }
        assert_eq!(Lit::from_dimacs(0), None);
        assert_eq!(Lit::from_dimacs(i32::MIN), None);
    }
}
