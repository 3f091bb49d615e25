//! Means of floats, rounded only once, so that they do not depend on the order of the rows.
//!
//! A finite float is a whole number of units of 2^-1074. A sum is kept as that whole number, in pieces of 64 bits that
//! are added up without carrying: piece k counts units of 2^(64 k - 1074). A float changes two neighbouring pieces by
//! less than 2^64 each, so 128 bits per piece have room for 2^62 floats; only pieces in use are stored. The sum divided
//! by the count is rounded to the nearest float. Rounding is monotone, so a mean lies between the smallest and the
//! largest of its numbers, and equal numbers have exactly that number as their mean.
//!
//! Cost: a few integer operations per number. Neal, "Fast exact summation using small and large
//! superaccumulators", 2015.

use dashu_int::{IBig, UBig};
use dashu_ratio::Relaxed;

/// A sum of floats without any rounding.
///
/// ```
/// use boolshap::data::ExactSum;
/// let mut sum = ExactSum::default();
/// [1e300, 0.25, -1e300].iter().for_each(|number| sum.add(*number, 1));
/// assert_eq!(sum.mean(1), 0.25);
/// let mut sum = ExactSum::default();
/// sum.add(0.003, 49);
/// assert_eq!(sum.mean(49), 0.003);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ExactSum {
    /// The index of the first stored piece.
    first: usize,
    pieces: Vec<i128>,
    /// The float sum of all numbers that are not finite; 0 if there are none.
    beyond: f64,
}

/// Bits per piece.
const PIECE: usize = 64;
/// The smallest positive float is 2 to the power of minus this.
const LOWEST: usize = 1074;

impl ExactSum {
    /// Adds a number this many times.
    pub fn add(&mut self, number: f64, times: u64) {
        let bits = number.to_bits();
        let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        // A subnormal number has the exponent of the smallest normal number, but no leading 1.
        let (mantissa, shift) = match exponent {
            0x7ff => return self.beyond += number,
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, exponent as usize - 1),
        };
        let units = u128::from(mantissa) << (shift % PIECE);
        let piece = self.reach(shift / PIECE);
        for (place, part) in [units as u64, (units >> PIECE) as u64].into_iter().enumerate() {
            let change = (u128::from(part) * u128::from(times)) as i128;
            self.pieces[piece + place] += if number.is_sign_negative() { -change } else { change };
        }
    }

    /// The sum divided by a positive count, rounded to the nearest float.
    pub fn mean(&self, count: u64) -> f64 {
        if self.beyond != 0.0 {
            return self.beyond;
        }
        let total = self.pieces.iter().rev().fold(IBig::ZERO, |sum, &piece| (sum << PIECE) + piece);
        let (above, below) = (PIECE * self.first, UBig::from(count));
        let quotient = if above >= LOWEST {
            Relaxed::from_parts(total << (above - LOWEST), below)
        } else {
            Relaxed::from_parts(total, below << (LOWEST - above))
        };
        quotient.to_f64().value()
    }

    /// The index at which piece `number` is stored; makes room for it and the next one.
    fn reach(&mut self, number: usize) -> usize {
        if self.pieces.is_empty() {
            self.first = number;
        }
        if number < self.first {
            self.pieces.splice(0..0, std::iter::repeat_n(0, self.first - number));
            self.first = number;
        }
        let place = number - self.first;
        if self.pieces.len() < place + 2 {
            self.pieces.resize(place + 2, 0);
        }
        place
    }
}

/// The mean of finite numbers; `None` if there are none.
pub fn mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (ExactSum::default(), 0);
    for number in numbers {
        sum.add(number, 1);
        count += 1;
    }
    (count > 0).then(|| sum.mean(count))
}

/// The quantile `part / parts` of sorted numbers, interpolated between neighbours and rounded once; `None` if there are
/// no numbers. The median is part 1 of 2.
pub fn quantile(sorted: &[f64], part: usize, parts: usize) -> Option<f64> {
    let steps = part as u128 * sorted.len().checked_sub(1)? as u128;
    let (place, rest) = ((steps / parts as u128) as usize, (steps % parts as u128) as u64);
    if rest == 0 {
        return Some(sorted[place]);
    }
    let mut sum = ExactSum::default();
    sum.add(sorted[place], parts as u64 - rest);
    sum.add(sorted[place + 1], rest);
    Some(sum.mean(parts as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_ratio::RBig;
    use proptest::prelude::*;

    /// Finite numbers of every size, with many subnormals and small fractions.
    fn numbers() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite()),
            (-1000..1000i32).prop_map(|number| f64::from(number) / 1000.0),
            (0..5u64, any::<bool>()).prop_map(|(units, negative)| f64::from_bits(units | u64::from(negative) << 63)),
            prop::sample::select(vec![f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 0.003, 0.1 + 0.2, -0.0]),
        ]
    }

    /// The exact mean, in fractions.
    fn fraction(numbers: &[f64]) -> RBig {
        let sum = numbers.iter().fold(RBig::ZERO, |sum, &number| sum + RBig::try_from(number).unwrap());
        sum / RBig::from(numbers.len())
    }

    /// Whether no float is nearer to the fraction, with ties going to the even one.
    fn is_nearest(float: f64, exact: &RBig) -> bool {
        let distance = |float: f64| {
            let apart = RBig::try_from(float).unwrap() - exact;
            if apart < RBig::ZERO { -apart } else { apart }
        };
        [float.next_down(), float.next_up()].into_iter().filter(|other| other.is_finite()).all(|other| {
            distance(float) < distance(other) || (distance(float) == distance(other) && float.to_bits() & 1 == 0)
        })
    }

    proptest! {
        #[test]
        fn a_mean_is_the_nearest_float_whatever_the_order(mut numbers in prop::collection::vec(numbers(), 1..40)) {
            let found = mean(numbers.iter().copied()).unwrap();
            prop_assert!(is_nearest(found, &fraction(&numbers)), "{found}");
            // Some number is at most the mean, and some number is at least the mean.
            prop_assert!(numbers.iter().any(|number| *number <= found) && numbers.iter().any(|number| *number >= found));
            numbers.sort_by(f64::total_cmp);
            prop_assert_eq!(mean(numbers.iter().copied()).unwrap().to_bits(), found.to_bits());
            numbers.reverse();
            prop_assert_eq!(mean(numbers.iter().copied()).unwrap().to_bits(), found.to_bits());
        }

        #[test]
        fn equal_numbers_have_themselves_as_their_mean(number in numbers(), times in 1..u64::MAX >> 2) {
            let mut sum = ExactSum::default();
            sum.add(number, times);
            prop_assert_eq!(sum.mean(times), number);
        }

        #[test]
        fn a_quantile_is_the_nearest_float_between_its_neighbours(
            mut numbers in prop::collection::vec(numbers(), 1..40),
            parts in 2..30usize,
            part in 0..30usize,
        ) {
            let part = part % (parts + 1);
            numbers.sort_by(f64::total_cmp);
            let found = quantile(&numbers, part, parts).unwrap();
            let place = RBig::from_parts((part * (numbers.len() - 1)).into(), parts.into());
            let (below, rest) = place.clone().split_at_point();
            let below = usize::try_from(below).unwrap();
            let at = |index: usize| RBig::try_from(numbers[index.min(numbers.len() - 1)]).unwrap();
            prop_assert!(is_nearest(found, &(at(below) + (at(below + 1) - at(below)) * rest)), "{found}");
        }
    }

    #[test]
    fn what_is_not_finite_is_not_hidden() {
        let mut sum = ExactSum::default();
        sum.add(1.0, 1);
        sum.add(f64::INFINITY, 1);
        assert_eq!(sum.mean(2), f64::INFINITY);
        sum.add(f64::NEG_INFINITY, 1);
        assert!(sum.mean(3).is_nan());
        assert_eq!((mean([]), quantile(&[], 1, 2), quantile(&[1.0, 2.0], 1, 2)), (None, None, Some(1.5)));
    }
}
