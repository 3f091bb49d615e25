//! Proved error bounds of floats, for every mode.
//!
//! Every engine reports the bound of its results ([`Engine::error_bound`](super::Engine::error_bound)), as an absolute
//! error of the base value and every score alike. A result that would not be known to [`GUARANTEED`] is refused. The
//! bounds hold for every probability from 0 to 1, given as a fraction, and for every row. Like the engines, they assume
//! that the circuit is deterministic and decomposable.
//!
//! **Units.** u = 2^-53 bounds the relative error of one rounding. All errors below are numbers of units, to first
//! order; [`in_all`] adds a hundredth for the higher orders. Numbers below 2^-1022 are rounded to a multiple of 2^-1074
//! instead. No number of operations makes this visible next to u, except in a quotient, see below. A multiplication and
//! addition counts as two roundings, even where the machine fuses them.
//!
//! **Weights.** V variables have an influence. At the point t of a path, the weight of each is computed as
//! p + t (e - p): the rounding of p moves it by at most (1-t) p, those of e - p, of t and of the product by |e - p| t
//! each, that of the sum by 1, which makes 4. The weight stays in [0, 1]. The value F of a circuit is multilinear in
//! the weights and in [0, 1]; its first derivatives are in [-1, 1], its second in [-2, 2]. So at the computed weights
//! dF/dw changes by up to 8 V. At the start of the path, where the weights are the rounded probabilities, F changes by
//! up to V.
//!
//! **Sweeps.** Let `reach` of a decision node be the sum, over the paths from the root to it, of the products of
//! weights. Then the sum of `reach hi` over the nodes of one variable is the weight of the paths through their
//! hi-edges, given that the variable is 1: at most 1. The same holds for `lo`. Everything follows from this. It does
//! not depend on the order of variables. It also holds for one-hot bits, whose negations weigh 1, because "exactly one"
//! is part of the circuit.
//!
//! - The fused step `value = lo + w (hi - lo)` has three roundings, each of at most max(hi, lo) u. An error at a node
//!   is multiplied by its reach on the way to the root, so all nodes of a variable together add 3 (1 + 1) to the error
//!   of F, and all variables 6 V. In the derivative by another variable this happens in both of its branches: 12 V.
//! - A reach is a sum of products of positive numbers, so its RELATIVE error is the number of roundings on the worst
//!   path to its node, R: 2 at a node with one parent, one of them for `1 - w`; at a node with several, 3 more than the
//!   additions in a row.
//! - The derivative is the sum of `reach (hi - lo)`, by A additions in a row with partial sums of at most 2:
//!   2 R + 2 A + 4. To keep A small, each [`BLOCK`] of summands is added up separately.
//! - A circuit with products has no fused step, and no subtraction but the last. Its values are sums of products of
//!   positive numbers. Their relative error is the number of roundings in the worst of these products, T, and that of
//!   its reaches is R, counted the same way downwards: T for F, 2 R + 1 for dF/dw.
//!
//! V, R, A and T are counted on the circuit at hand; [`SweepRoundings`] holds the resulting errors.
//!
//! **Quadrature.** Points and weights are the floats next to the true ones (a test proves it in big numbers). So the
//! rule is that of the true points, each moved by a rounding, which is counted above, with positive weights that add up
//! to 1. A sum over m points of numbers in [-1, 1] has an error of m + 2, so that of an integral is
//! I = (sweep) + 8 V + m + 2.
//!
//! **Switches.** A circuit with switches (`blocks`) is a circuit over more variables: V includes its switches and
//! copies. Their weights are as above; only a switch moves, from 0 to 1.
//!
//! **Scores.** A player is one variable, a switch or the k bits of a column, whose displacements `e - p` add up to at
//! most c = 1 or 2 in absolute value. The contributions of s starts are added up in blocks: k B additions in a row,
//! with B = min(s, [`BLOCK`]) + s / [`BLOCK`].
//!
//! | mode | error in units of 2^-53 |
//! | --- | --- |
//! | uniform, product, background; features, columns or blocks: Shapley | c I + 3 c + 3 + c k B |
//! | the same: Banzhaf | the same with m = 1 |
//! | the same: interactions | twice that with B = s, and 2 c: a difference of two integrals |
//! | the same: sets of three | four times that with B = s, and 9 c |
//! | the same: Shapley-Taylor | that of the largest sets, and 3 c for each difference: the weights of points have three factors |
//! | the same: Owen | as Shapley, with m = n + 2 for both integrals and B = s m, and 3 c |
//! | the same: base value | (sweep) + V; of background rows 1, the quotient of two counts |
//! | v(S) of blocks that cannot be made adjacent | T + B + 2, from sweeps over positive numbers only |
//! | v(S) given a constraint | T + 1, with T of both circuits |
//! | v(S) of a sample | 1, the quotient of two counts |
//! | v(S) of a value of p parts, in its size, over r rows of a sample | p + 2 (r + n) + 7: sums of numbers up to 1 by their roundings |
//! | v(S) of a value given a constraint, in its size | p + 5 plus twice the sum over players of (number of values + 2) |
//! | scores of a value from v(S) | twice those of labels, since numbers are in [-1, 1] |
//! | Shapley of v(S), n players | 2 v(S) + n + 4 + 2^(n-2) / n |
//! | Banzhaf of v(S) | 2 v(S) + 2 + 2^(n-2) |
//! | Owen of v(S) | 2 v(S) + n^2 + 6 + 2^(n-2) |
//! | interactions of v(S), sets of k players | 2^k (v(S) + k - 1) + 2^(k-1) (n + 4) + 2^(n-2) / (n+1-k) |
//! | Shapley-Taylor of v(S) | the same and k 2^(n-2) |
//! | k-SII | of a set's interaction, half of those with one more player, a sixth of those with two more, and their additions |
//! | engine `paper` | 2 T + 6 n + 8, with T of products of polynomials |
//! | engine `brute-force` over the labels | 9 n + 6 + A |
//! | engine `brute-force` otherwise | 2, the rounding of a fraction |
//! | fractions | 0 |
//!
//! The powers of two come from adding up 2^(n-1) differences in a row, by the size of their sets, and dividing by their
//! number.
//!
//! **Quotients.** v(S) given a constraint is the quotient of two values that are as small as the rarest features make
//! them. Both are computed from positive numbers alone (`value_sweep`), and the probability of a 0 is rounded
//! separately, not computed as 1 minus another. So both have a RELATIVE error of T, however small they are, and so has
//! their quotient, which is at most 1. Nothing may underflow below 2^-1022: where the product of the smallest weights
//! of all variables could, `wide_float` replaces `f64`. It rounds as floats do and has no smallest number.

use super::index::count_sets;
use super::tape::Tape;
use super::{ExplainError, Index, Order};

/// The relative error of one rounding.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// The guaranteed absolute accuracy of every number from a float engine.
pub const GUARANTEED: f64 = 1e-9;

/// Products of probabilities with at least this binary logarithm are floats, with room for dividing by them.
pub(super) const SMALLEST_EXPONENT: f64 = -960.0;

/// The block size of sums: the numbers of a block are added up in a row, then the sums of the blocks.
pub(super) const BLOCK: usize = 1 << 9;

/// The errors of one pair of sweeps, in units: of the value, and of each derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SweepRoundings {
    pub(super) value: f64,
    pub(super) slope: f64,
}

impl SweepRoundings {
    /// Of a diagram over this many variables, from the roundings on the worst path and the longest chain of additions.
    pub(super) fn of_diagram(variables: usize, reach: f64, additions: usize) -> Self {
        let variables = variables as f64;
        SweepRoundings { value: 6.0 * variables, slope: 12.0 * variables + 2.0 * reach + 2.0 * additions as f64 + 4.0 }
    }

    /// Of a circuit with products, from the roundings of its value and of the worst reach of a literal.
    pub(super) fn of_gates(value: f64, reach: f64) -> Self {
        SweepRoundings { value, slope: 2.0 * reach + 1.0 }
    }
}

/// The longest chain of additions when that many numbers are added up in blocks.
pub(super) fn additions(numbers: usize) -> usize {
    numbers.min(BLOCK) + numbers / BLOCK
}

/// The sum of numbers, in blocks.
#[inline]
pub(super) fn block_sum(numbers: usize, number: impl Fn(usize) -> f64) -> f64 {
    let block = |first: usize| (first..numbers.min(first + BLOCK)).map(&number).sum::<f64>();
    (0..numbers).step_by(BLOCK).map(block).sum()
}

/// Converts units to an absolute error.
pub(super) fn in_all(units: f64) -> f64 {
    match 1.01 * units * UNIT {
        // The higher orders are within a hundredth, k u / (1 - k u) for k units.
        bound if bound < 0.009 => bound,
        _ => f64::INFINITY,
    }
}

/// The quantities that determine the error of scores along paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths {
    pub(super) sweep: SweepRoundings,
    /// How many variables have an influence.
    pub(super) variables: usize,
    /// How many players these belong to.
    pub(super) players: usize,
    /// The most moving variables of one player.
    pub(super) bits: usize,
}

impl Paths {
    /// For a tape; `player_of` gives the player of each variable that moves.
    pub(super) fn new(tape: &Tape, player_of: &[Option<usize>], players: usize) -> Self {
        let mut bits = vec![0; players];
        player_of.iter().flatten().for_each(|&player| bits[player] += 1);
        Paths {
            sweep: tape.roundings(),
            variables: player_of.len(),
            players: bits.iter().filter(|bits| **bits > 0).count(),
            bits: bits.into_iter().max().unwrap_or(0),
        }
    }

    /// Bounds the errors of base value and scores, over this many starts.
    pub(super) fn error_bound(&self, index: Index, starts: usize) -> f64 {
        let Paths { sweep, variables, players, bits } = *self;
        let points = match index {
            Index::Banzhaf => 1,
            // The points of both integrals.
            Index::Owen => players + 2,
            _ => players.div_ceil(2),
        };
        let way = if bits > 1 { 2.0 } else { 1.0 };
        let integral = sweep.slope + 8.0 * variables as f64 + points as f64 + 2.0;
        let score = |starts: usize| way * integral + 3.0 * way + 3.0 + way * (bits * starts) as f64;
        // Numbers of at most 1, added up one after the other, are rounded by at most 2 + 3 + ... units.
        let set = |size: usize| {
            let corners = corners(size);
            corners * score(starts) + way * (corners * (corners + 1.0) / 2.0 - 1.0)
        };
        let base = sweep.value + variables as f64;
        in_all(base.max(match index {
            Index::Shapley | Index::Banzhaf => score(additions(starts)),
            Index::Owen => score(starts * points) + 3.0 * way,
            Index::Interaction => set(2),
            // Three more roundings in the weight of a point.
            Index::Taylor(order) => set(order.size()) + 3.0 * way * corners(order.size()),
            Index::Ksii(order) => gathered(order, players, set),
        }))
    }
}

/// The number of first derivatives in the sum for the derivative by a set of players; also its largest value.
fn corners(size: usize) -> f64 {
    (1u32 << (size - 1)) as f64
}

/// The worst error of the k-Shapley values of `players` players, given the errors of the interactions of each size.
/// Half of the interactions of supersets with one more player and a sixth of those with two more are added up in a row,
/// which rounds N numbers of at most M by N^2 M / 2.
fn gathered(order: Order, players: usize, of_size: impl Fn(usize) -> f64) -> f64 {
    let of = |size: usize| {
        let around = |more: usize, factor: f64| match size + more <= order.size() {
            false => 0.0,
            true => {
                let sets = count_sets(players, more) as f64;
                factor * sets * (of_size(size + more) + (sets / 2.0 + 3.0) * corners(size + more))
            }
        };
        of_size(size) + around(1, 0.5) + around(2, 1.0 / 6.0)
    };
    (1..=order.size()).map(of).fold(0.0, f64::max)
}

/// Bounds the error of scores computed from v of all sets of players; each v is wrong by `value` units.
pub(super) fn of_sets(value: f64, players: usize, index: Index) -> f64 {
    let n = players.max(3) as f64;
    let sets = (n - 2.0).exp2();
    let set = |size: usize| {
        let corners = corners(size);
        2.0 * corners * (value + size as f64 - 1.0) + corners * (n + 4.0) + sets / (n + 1.0 - size as f64)
    };
    in_all(match index {
        Index::Shapley => 2.0 * value + n + 4.0 + sets / n,
        Index::Banzhaf => 2.0 * value + 2.0 + sets,
        Index::Owen => 2.0 * value + n * n + 6.0 + sets,
        Index::Interaction => set(2),
        Index::Taylor(order) => set(order.size()) + order.size() as f64 * sets,
        Index::Ksii(order) => gathered(order, players, set),
    })
}

/// Fails if floats with this bound are not good enough.
pub(super) fn check(bound: f64) -> Result<(), ExplainError> {
    match bound <= GUARANTEED {
        true => Ok(()),
        false => Err(ExplainError::Imprecise { bound }),
    }
}
