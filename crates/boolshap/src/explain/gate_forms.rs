//! Scores of a gate with weights +1 and -1, every feature a player, in closed form.
//!
//! Let h(x) = [at least `need` of the n inputs agree with the sign of their weight]. Only the number of agreeing inputs
//! matters, so all features that agree in the entity have the same score, and all others have another one.
//!
//! - **Uniform.** With A agreeing features and D = n - A others, the score of an agreeing one is the integral over t of
//!   1/2 P[Bin(A-1, (1+t)/2) + Bin(D, (1-t)/2) = need-1]. With s = (1+t)/2 and i + j = need - 1 of the two kinds, this
//!   is the sum over i of C(A-1, i) C(D, j) times the integral of s^a (1-s)^b from 1/2 to 1, where a = i + D - j and
//!   a + b = n - 1. That integral is P[Bin(n, 1/2) <= a] / (n C(n-1, a)).
//! - **One background row.** p features turn to agreement when they become present, q turn away, and c agree in the
//!   row. In a random order, the k players before one of the p turn i of the others to agreement and j away, with a
//!   hypergeometric probability, and the player is decisive if c + i - j = need - 1. So its score is the sum over
//!   i - j = need - 1 - c of C(p-1, i) C(q, j) / ((p+q) C(p+q-1, i+j)). The same holds for one of the q, with a minus
//!   sign.
//!
//! All terms are positive, so floats lose no accuracy by cancellation. A term is a product of nine factorials or their
//! inverses (2 roundings each) and a tail, 28 roundings with its products and the division by n; a sum of at most n
//! terms adds n. Cost: O(n), once for each (n, A, need) or (p, q, need - c).

use super::error_bound;
use super::factorials::{Factorials, Wide};
use dashu_int::UBig;
use dashu_ratio::RBig;
use pulp::Arch;
use std::sync::Arc;

/// The score of a feature that agrees with its weight (or turned to agreement), and of one that does not, without its
/// sign.
pub(super) type Pair<T> = [T; 2];

/// Bounds the error of floats, for gates over up to n inputs.
pub(super) fn error_bound(inputs: usize) -> f64 {
    error_bound::in_all(inputs as f64 + 28.0)
}

/// Scores under the uniform distribution, for gates over n inputs.
pub(super) struct UniformForm {
    factorials: Arc<Factorials>,
    inputs: usize,
    /// P[Bin(n, 1/2) <= a] for each a.
    tails: Vec<Wide>,
    /// One over k! for each k, ascending and descending, so that the terms of a sum read them in order.
    over: Split,
    over_down: Split,
    /// The tail of a over C(n-1, a), first for even a, then for odd ones: a sum uses only one parity.
    shares: [Split; 2],
    arch: Arch,
}

/// Mantissas and exponents of positive numbers, in separate vectors.
#[derive(Default)]
struct Split {
    mantissas: Vec<f64>,
    exponents: Vec<i32>,
}

impl FromIterator<Wide> for Split {
    fn from_iter<I: IntoIterator<Item = Wide>>(numbers: I) -> Self {
        let (mantissas, exponents) = numbers.into_iter().map(Wide::split).unzip();
        Split { mantissas, exponents }
    }
}

impl Split {
    fn part(&self, first: usize, length: usize) -> (&[f64], &[i32]) {
        (&self.mantissas[first..][..length], &self.exponents[first..][..length])
    }
}

impl UniformForm {
    pub(super) fn new(factorials: Arc<Factorials>, inputs: usize) -> Self {
        let tails: Vec<Wide> = tails(inputs).iter().map(|tail| Wide::of(tail, inputs)).collect();
        let over = (0..=inputs).map(|k| factorials.over(k)).collect();
        let over_down = (0..=inputs).rev().map(|k| factorials.over(k)).collect();
        let share = |a: usize| factorials.over_choose(inputs - 1, a).times(tails[a]);
        let shares = [0, 1].map(|odd| (odd..inputs).step_by(2).map(share).collect());
        UniformForm { factorials, inputs, tails, over, over_down, shares, arch: Arch::new() }
    }

    /// The scores for an entity in which this number of inputs agrees.
    pub(super) fn scores(&self, agreeing: usize, need: usize) -> Pair<f64> {
        uniform_terms(self.inputs, agreeing, need).map(|terms| {
            let Some((ones, others, range)) = terms else { return 0.0 };
            self.sum(ones, others, need - 1, range) / self.inputs as f64
        })
    }

    /// The sum over i of C(ones, i) C(others, j) times the share of a, where i + j is given and a = i + others - j.
    fn sum(&self, ones: usize, others: usize, agreeing: usize, range: std::ops::RangeInclusive<usize>) -> f64 {
        let (first, length) = (*range.start(), range.end() - range.start() + 1);
        let (j, a) = (agreeing - first, first + others - (agreeing - first));
        // The common factor of all terms is taken once.
        let (ways, ways_exponent) = self.factorials.factorial(ones).times(self.factorials.factorial(others)).split();
        let (chosen, chosen_exponents) = self.over.part(first, length);
        let (left, left_exponents) = self.over_down.part(self.inputs - (ones - first), length);
        let (second, second_exponents) = self.over_down.part(self.inputs - j, length);
        let (rest, rest_exponents) = self.over.part(others - j, length);
        let (shares, share_exponents) = self.shares[a % 2].part(a / 2, length);
        let mut terms = vec![0f64; length];
        self.arch.dispatch(|| {
            for (at, term) in terms.iter_mut().enumerate() {
                let mantissa = (chosen[at] * left[at]) * (second[at] * rest[at]) * (shares[at] * ways);
                let exponent = chosen_exponents[at] + left_exponents[at] + second_exponents[at] + rest_exponents[at];
                let exponent = exponent + share_exponents[at] + ways_exponent;
                // Numbers too small for a float become 0.
                *term = mantissa * f64::from_bits(((1023 + exponent.clamp(-1023, 1023)) as u64) << 52);
            }
        });
        terms.iter().sum()
    }

    /// The probability that the gate is true.
    pub(super) fn base_value(&self, need: usize) -> f64 {
        // As many inputs have at most n - need disagreeing features as have at least need agreeing ones.
        self.inputs.checked_sub(need).map_or(0.0, |a| self.tails[a].float())
    }
}

/// The same in fractions.
pub(super) fn exact_uniform(inputs: usize, agreeing: usize, need: usize) -> Pair<RBig> {
    let tails = tails(inputs);
    let factorials = exact_factorials(inputs);
    let choose = |n: usize, k: usize| &factorials[n] / (&factorials[k] * &factorials[n - k]);
    let below = &factorials[inputs] << inputs;
    uniform_terms(inputs, agreeing, need).map(|terms| {
        let Some((ones, others, range)) = terms else { return RBig::ZERO };
        let term = |i: usize| {
            let j = need - 1 - i;
            let a = i + others - j;
            choose(ones, i) * choose(others, j) * &factorials[a] * &factorials[inputs - 1 - a] * &tails[a]
        };
        let sum = range.fold(UBig::ZERO, |sum, i| sum + term(i));
        RBig::from_parts(sum.into(), below.clone())
    })
}

/// The probability that such a gate is true, as a fraction.
pub(super) fn exact_uniform_base(inputs: usize, need: usize) -> RBig {
    let ways = inputs.checked_sub(need).map_or(UBig::ZERO, |a| tails(inputs)[a].clone());
    RBig::from_parts(ways.into(), UBig::ONE << inputs)
}

/// For an agreeing player and for another: how many other players agree and disagree, and the possible numbers of ones
/// among the former.
fn uniform_terms(
    inputs: usize,
    agreeing: usize,
    need: usize,
) -> Pair<Option<(usize, usize, std::ops::RangeInclusive<usize>)>> {
    let of = |ones: Option<usize>, others: Option<usize>| {
        let (ones, others) = (ones?, others?);
        // A gate that is always true, or never, has no scores.
        let sum = need.checked_sub(1)?;
        let (first, last) = (sum.saturating_sub(others), ones.min(sum));
        (first <= last).then_some((ones, others, first..=last))
    };
    let others = inputs - agreeing;
    [of(agreeing.checked_sub(1), Some(others)), of(Some(agreeing), others.checked_sub(1))]
}

/// The number of the 2^n inputs with at most a ones, for each a.
fn tails(inputs: usize) -> Vec<UBig> {
    let mut ways = UBig::ONE;
    let mut sum = UBig::ZERO;
    (0..=inputs)
        .map(|a| {
            if a > 0 {
                ways = &ways * UBig::from(inputs - a + 1) / UBig::from(a);
            }
            sum += &ways;
            sum.clone()
        })
        .collect()
}

/// Scores against a background row: p features turn to agreement, q away, and `missing` more must agree (need - c).
pub(super) fn background(factorials: &Factorials, p: usize, q: usize, missing: i64) -> Pair<f64> {
    let all = p + q;
    let of = |ones: usize, others: usize, difference: i64| {
        let (first, last) = background_terms(ones, others, difference)?;
        let term = |j: i64| {
            let (i, j) = ((j + difference) as usize, j as usize);
            let ways = factorials.choose(ones, i).times(factorials.choose(others, j));
            ways.times(factorials.over_choose(all - 1, i + j)).float()
        };
        Some((first..=last).map(term).sum::<f64>() / all as f64)
    };
    let plus = p.checked_sub(1).and_then(|ones| of(ones, q, missing - 1));
    let minus = q.checked_sub(1).and_then(|others| of(p, others, missing));
    [plus, minus].map(|score| score.unwrap_or(0.0))
}

/// The same in fractions.
pub(super) fn exact_background(factorials: &[UBig], p: usize, q: usize, missing: i64) -> Pair<RBig> {
    let all = p + q;
    let choose = |n: usize, k: usize| &factorials[n] / (&factorials[k] * &factorials[n - k]);
    let of = |ones: usize, others: usize, difference: i64| {
        let (first, last) = background_terms(ones, others, difference)?;
        let term = |j: i64| {
            let (i, j) = ((j + difference) as usize, j as usize);
            choose(ones, i) * choose(others, j) * &factorials[i + j] * &factorials[all - 1 - i - j]
        };
        let sum = (first..=last).fold(UBig::ZERO, |sum, j| sum + term(j));
        Some(RBig::from_parts(sum.into(), factorials[all].clone()))
    };
    let plus = p.checked_sub(1).and_then(|ones| of(ones, q, missing - 1));
    let minus = q.checked_sub(1).and_then(|others| of(p, others, missing));
    [plus, minus].map(Option::unwrap_or_default)
}

/// The first and last j with 0 <= j <= others and 0 <= j + difference <= ones.
fn background_terms(ones: usize, others: usize, difference: i64) -> Option<(i64, i64)> {
    let (first, last) = (0.max(-difference), (others as i64).min(ones as i64 - difference));
    (first <= last).then_some((first, last))
}

/// The factorials up to `most`.
pub(super) fn exact_factorials(most: usize) -> Vec<UBig> {
    let mut product = UBig::ONE;
    (0..=most)
        .map(|k| {
            product *= UBig::from(k.max(1));
            product.clone()
        })
        .collect()
}
