//! Scores of a gate with any whole weights and any players: the distribution of its sum along the path.
//!
//! The gate is true where the weight of its conveniently instantiated inputs is at least `need`. A player adds a whole
//! number to that weight: `inside` while it is present, and while it is absent one of a few numbers with given
//! probabilities (the two values of a bit, the values of a column, all values of a block, or its value in a background
//! row). At the point t of the path each player is present with probability t. Forwards, P_k(s) is the probability that
//! the first k players weigh s; backwards, B_k(s) is the probability that the gate is true given that the first k weigh
//! s. The gain of player k is the sum over s of P_(k-1)(s) times B_k(s + inside) less the mean of B_k(s + outside):
//! Owen's integrand, a polynomial in t of a degree below the number of players that move.
//!
//! In floats the points are the Gauss-Legendre points. In fractions they are 0, 1, 2, ..., where "probabilities" may be
//! negative, with the weights that integrate every polynomial through them. An interaction is the change in one
//! player's gain when another player becomes present.
//!
//! Cost: O(players * range * values) per point. **Errors:** all floats are sums of products of positive numbers, with a
//! relative error of at most (m + 5) roundings per player for m values; a gain is the difference of two such sums of
//! `range` terms of at most 1 each.

use super::error_bound;
use dashu_ratio::RBig;

/// Floats or fractions.
pub(super) trait Scalar: Clone + Send + Sync {
    fn zero() -> Self;
    fn one() -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn is_zero(&self) -> bool;
}

impl Scalar for f64 {
    fn zero() -> Self {
        0.0
    }

    fn one() -> Self {
        1.0
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn minus(&self, other: &Self) -> Self {
        self - other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn is_zero(&self) -> bool {
        *self == 0.0
    }
}

impl Scalar for RBig {
    fn zero() -> Self {
        RBig::ZERO
    }

    fn one() -> Self {
        RBig::ONE
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn minus(&self, other: &Self) -> Self {
        self - other
    }

    fn times(&self, other: &Self) -> Self {
        self * other
    }

    fn is_zero(&self) -> bool {
        RBig::is_zero(self)
    }
}

/// A player of a gate.
#[derive(Clone, Debug)]
pub(super) struct Mover<T> {
    /// The index of the player.
    pub(super) player: usize,
    /// Its weight while it is present.
    pub(super) inside: usize,
    /// Its possible weights while it is absent, with their probabilities.
    pub(super) outside: Vec<(usize, T)>,
}

impl<T: Scalar> Mover<T> {
    /// Its largest weight.
    fn span(&self) -> usize {
        self.outside.iter().map(|(weight, _)| *weight).fold(self.inside, usize::max)
    }

    /// Whether its presence can change the weight.
    pub(super) fn moves(&self) -> bool {
        self.outside.iter().any(|(weight, chance)| *weight != self.inside && !chance.is_zero())
    }
}

/// A gate with its players, for one entity and start.
#[derive(Clone, Debug)]
pub(super) struct GateSum<T> {
    pub(super) movers: Vec<Mover<T>>,
    /// The weight that the movers must reach.
    pub(super) need: usize,
}

/// A mover that is present or absent whatever t is.
#[derive(Clone, Copy)]
pub(super) struct Fixed {
    pub(super) mover: usize,
    pub(super) is_in: bool,
}

impl<T: Scalar> GateSum<T> {
    /// The probability that the gate is true while all players are absent.
    pub(super) fn base_value(&self) -> T {
        self.backward(&T::zero(), None).swap_remove(0).swap_remove(0)
    }

    /// The gains of all movers at the point t, optionally with one of them fixed.
    pub(super) fn gains(&self, t: &T, fixed: Option<Fixed>) -> Vec<T> {
        let backward = self.backward(t, fixed);
        let mut forward = vec![T::one()];
        let mut gains = Vec::with_capacity(self.movers.len());
        for (place, mover) in self.movers.iter().enumerate() {
            let after = &backward[place + 1];
            let with = |weight: usize| -> T {
                let terms = forward.iter().zip(&after[weight.min(after.len())..]);
                terms.fold(T::zero(), |sum, (chance, value)| sum.plus(&chance.times(value)))
            };
            let out =
                mover.outside.iter().fold(T::zero(), |sum, (weight, chance)| sum.plus(&chance.times(&with(*weight))));
            gains.push(with(mover.inside).minus(&out));
            forward = self.forward(&forward, place, t, fixed);
        }
        gains
    }

    fn chance(&self, place: usize, t: &T, fixed: Option<Fixed>) -> T {
        match fixed.filter(|fixed| fixed.mover == place) {
            Some(Fixed { is_in: true, .. }) => T::one(),
            Some(Fixed { is_in: false, .. }) => T::zero(),
            None => t.clone(),
        }
    }

    /// The distribution of the weight with one more player.
    fn forward(&self, before: &[T], place: usize, t: &T, fixed: Option<Fixed>) -> Vec<T> {
        let mover = &self.movers[place];
        let t = self.chance(place, t, fixed);
        let out = T::one().minus(&t);
        let mut after = vec![T::zero(); before.len() + mover.span()];
        let mut add = |weight: usize, chance: &T| {
            if !chance.is_zero() {
                let targets = after[weight..].iter_mut().zip(before);
                targets.for_each(|(target, value)| *target = target.plus(&chance.times(value)));
            }
        };
        add(mover.inside, &t);
        mover.outside.iter().for_each(|(weight, chance)| add(*weight, &chance.times(&out)));
        after
    }

    /// For each number of first players, the probability that the gate is true, by the weight of these players.
    fn backward(&self, t: &T, fixed: Option<Fixed>) -> Vec<Vec<T>> {
        let mut lengths = vec![1];
        self.movers.iter().for_each(|mover| lengths.push(lengths[lengths.len() - 1] + mover.span()));
        let last = lengths[self.movers.len()];
        let at_end: Vec<T> = (0..last).map(|weight| if weight >= self.need { T::one() } else { T::zero() }).collect();
        let mut backward = vec![at_end];
        for (place, mover) in self.movers.iter().enumerate().rev() {
            let t = self.chance(place, t, fixed);
            let out = T::one().minus(&t);
            let after = &backward[backward.len() - 1];
            let mut before = vec![T::zero(); lengths[place]];
            let mut add = |weight: usize, chance: &T| {
                if !chance.is_zero() {
                    let targets = before.iter_mut().zip(&after[weight..]);
                    targets.for_each(|(target, value)| *target = target.plus(&chance.times(value)));
                }
            };
            add(mover.inside, &t);
            mover.outside.iter().for_each(|(weight, chance)| add(*weight, &chance.times(&out)));
            backward.push(before);
        }
        backward.reverse();
        backward
    }
}

/// The points 0, 1, ..., and their weights in the integral from 0 to 1 of a polynomial whose degree is below the number
/// of points.
pub(super) fn whole_points(count: usize) -> Vec<(RBig, RBig)> {
    let number = |value: usize| RBig::from(value);
    (0..count)
        .map(|point| {
            // The coefficients of the polynomial that is 1 at this point and 0 at the others.
            let mut coefficients = vec![RBig::ONE];
            for other in (0..count).filter(|&other| other != point) {
                let scale = number(point) - number(other);
                let mut next = vec![RBig::ZERO; coefficients.len() + 1];
                for (power, coefficient) in coefficients.iter().enumerate() {
                    let part = coefficient / &scale;
                    next[power] -= &part * number(other);
                    next[power + 1] += part;
                }
                coefficients = next;
            }
            let integral = coefficients.iter().enumerate().map(|(power, coefficient)| coefficient / number(power + 1));
            (number(point), integral.fold(RBig::ZERO, |sum, part| sum + part))
        })
        .collect()
}

/// Bounds the error of gains and their integral in floats, given the number of players, of values of each, and the
/// range of their weights.
pub(super) fn error_bound(players: usize, values: usize, range: usize) -> f64 {
    let (players, values, range) = (players as f64, values as f64, range as f64);
    let sum = 2.0 * players * (values + 5.0) + range + 4.0;
    // Two sums, the points of the rule (each moved by a rounding, which moves a gain by at most 2 per player), its
    // weights.
    error_bound::in_all(2.0 * sum + 4.0 * players + players + 6.0)
}
