//! The machine's peak performance: the rate of independent multiply-adds in registers, to compare the sweeps with.

use super::lanes::{Dispatch, LaneWork};
use crate::lit::Instant;
use pulp::{Arch, Simd};
use std::hint::black_box;

/// The floating-point operations of a sweep counted as useful for each node, lane and point: 4 on the way down
/// (each of a node's two edges, one product and one addition) and 5 on the way up (one difference, two multiply-adds).
/// Sweeps over gates are counted the same, though they do more.
pub const USEFUL_OPERATIONS: u64 = 9;

/// Floating-point operations per second on one thread, with a multiply-add as two: the best of several runs of a few
/// milliseconds each.
pub fn multiply_add_rate() -> f64 {
    const ROUNDS: u64 = 200_000;
    let mut best = 0f64;
    for _ in 0..9 {
        let start = Instant::now();
        let operations = Arch::new().dispatch(Dispatch(Chains { rounds: black_box(ROUNDS) }));
        best = best.max(operations as f64 / start.elapsed().as_secs_f64());
    }
    best
}

/// Enough chains to hide a multiply-add's latency, with registers to spare.
const CHAINS: usize = 12;

struct Chains {
    rounds: u64,
}

impl LaneWork for Chains {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd, const R: usize>(self, simd: S) -> u64 {
        let (factor, summand) = (simd.splat_f64s(black_box(0.75)), simd.splat_f64s(black_box(0.125)));
        let mut chains = [simd.splat_f64s(black_box(1.0)); CHAINS];
        for _ in 0..self.rounds {
            for chain in &mut chains {
                *chain = simd.mul_add_e_f64s(*chain, factor, summand);
            }
        }
        black_box(chains);
        self.rounds * 2 * (CHAINS * size_of::<S::f64s>() / size_of::<f64>()) as u64
    }
}
