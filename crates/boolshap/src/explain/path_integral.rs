//! The integral of the derivatives along the straight path from the population to the entity, for a block of entities.
//!
//! In every lane, player i weighs `from_i + t (to_i - from_i)` at the point t of the path. The results are the sums
//! over the points of dF/dw_i, each times the point's weight (Owen, "Multilinear Extensions of Games", 1972). The
//! entities of a full block have one lane each, and all lanes are at the same point. Fewer entities have 2, 4 or all
//! lanes each, which are then at different points of the path. Sums are taken in the order of the points in either
//! case, by a product and an addition, so that an entity's scores are the same to the last bit wherever it is computed.

use super::lanes::{Buffer, Dispatch, LANES, LaneWork, Lanes};
use super::quadrature::Point;
use super::tape::Tape;
use crate::lit::{Stopped, Watch};
use pulp::{Arch, Simd, bytemuck};

/// The number of nodes swept between two checks of the watch: a millisecond or two.
const LOOK_AFTER: usize = 1 << 18;

/// Working memory, reused from one block to the next.
pub(super) struct Workspace {
    slots: Buffer,
    weights: Buffer,
    slopes: Buffer,
    /// Where each player's path starts, in each lane.
    from: Buffer,
    /// The displacement along it.
    by: Buffer,
    /// The integral of each player for each entity of the block.
    sums: Buffer,
}

impl Workspace {
    pub(super) fn new(tape: &Tape) -> Self {
        let players = tape.players.len();
        let [slopes, from, by, sums] = std::array::from_fn(|_| Buffer::new(players));
        Workspace { slots: Buffer::new(tape.slots()), weights: Buffer::new(2 * players), slopes, from, by, sums }
    }

    /// Integrates for `rows` entities, at most as many as lanes. For an entity of the block and a player, `path` gives
    /// the start of the path and the displacement along it. Returns F at the last point, see [`lane_of_last`].
    #[inline]
    pub(super) fn integrate(
        &mut self,
        arch: Arch,
        tape: &Tape,
        points: &[Point],
        rows: usize,
        path: impl Fn(usize, usize) -> (f64, f64),
        watch: &Watch<'_>,
    ) -> Result<Lanes, Stopped> {
        let spread = LANES / rows.next_power_of_two();
        for (player, (from, by)) in self.from.lanes_mut().iter_mut().zip(self.by.lanes_mut()).enumerate() {
            for row in 0..rows {
                let (start, way) = path(row, player);
                // Plain loops here and in the sweeps: a call to fill so short a slice would cost more.
                for lane in row * spread..(row + 1) * spread {
                    (from[lane], by[lane]) = (start, way);
                }
            }
            // Unused lanes get a weight that does not lead to slow numbers.
            from[rows * spread..].fill(0.5);
            by[rows * spread..].fill(0.0);
        }
        self.sums.lanes_mut().fill([0.0; LANES]);
        arch.dispatch(Dispatch(Integral { workspace: self, tape, points, rows, spread, watch }))
    }

    /// The integral of a player for an entity of the block, after [`Workspace::integrate`].
    #[inline]
    pub(super) fn integral(&self, row: usize, player: usize) -> f64 {
        self.sums.lanes()[player][row]
    }
}

/// The lane that [`Workspace::integrate`] uses at the last point for an entity of a block.
pub(super) fn lane_of_last(points: usize, rows: usize, row: usize) -> usize {
    let spread = LANES / rows.next_power_of_two();
    row * spread + (points - 1) % spread
}

struct Integral<'a> {
    workspace: &'a mut Workspace,
    tape: &'a Tape,
    points: &'a [Point],
    rows: usize,
    /// The number of lanes per entity.
    spread: usize,
    watch: &'a Watch<'a>,
}

impl LaneWork for Integral<'_> {
    type Output = Result<Lanes, Stopped>;

    #[inline(always)]
    fn run<S: Simd, const R: usize>(self, simd: S) -> Result<Lanes, Stopped> {
        let Integral { workspace, tape, points, rows, spread, watch } = self;
        let Workspace { slots, weights, slopes, from, by, sums } = workspace;
        let (mut last, mut swept) = ([0.0; LANES], 0);
        for points in points.chunks(spread) {
            let at: Lanes = std::array::from_fn(|lane| points.get(lane % spread).map_or(0.0, |point| point.at));
            let paths = from.lanes().iter().zip(by.lanes()).zip(&tape.one_hot);
            for (pair, ((from, by), &one_hot)) in weights.lanes_mut().chunks_exact_mut(2).zip(paths) {
                for lane in 0..LANES {
                    pair[0][lane] = from[lane] + at[lane] * by[lane];
                    pair[1][lane] = 1.0 - pair[0][lane];
                }
                if one_hot {
                    pair[1] = [1.0; LANES];
                }
            }
            let value = tape.sweep::<S, R>(
                simd,
                weights.registers::<S, R>(),
                slots.registers::<S, R>(),
                slopes.registers::<S, R>(),
            );
            swept += tape.nodes();
            if swept >= LOOK_AFTER {
                watch.check()?;
                swept = 0;
            }
            last.copy_from_slice(bytemuck::cast_slice::<S::f64s, f64>(&value));
            for (sums, slopes) in sums.lanes_mut().iter_mut().zip(slopes.lanes()) {
                if spread == 1 {
                    for lane in 0..LANES {
                        sums[lane] += points[0].weight * slopes[lane];
                    }
                    continue;
                }
                for (sum, slopes) in sums.iter_mut().zip(slopes.chunks_exact(spread)).take(rows) {
                    for (point, slope) in points.iter().zip(slopes) {
                        *sum += point.weight * slope;
                    }
                }
            }
        }
        Ok(last)
    }
}
