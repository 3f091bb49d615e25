//! Games along paths in floats, for one entity at a time: defines the lanes of [`Workspace::integrate`].
//!
//! For Shapley and Banzhaf values the lanes are starts. From each, only the players that differ move, so few points
//! suffice. For sets of players they are the corners of the set: the derivative by the weights of i, j and k is the
//! signed sum, with i and j each present or absent, of the first derivatives by the weight of k. For Owen values they
//! are points of the outer integral: groups other than a player's own become present as a whole with probability s, the
//! players of its own group one by one with probability t, and
//!
//! ```text
//! Owen(i) = integral over s and t of dF/dw_i
//! ```
//!
//! is a polynomial in each, of a degree below the number of groups, and of players in the group.
//!
//! Integrals for sets, with F the expected label: the interaction index (k-SII) integrates the derivative. The
//! Shapley-Taylor index of order k integrates k (1-t)^(k-1) times the derivative for sets of size k, and takes its
//! value at t = 0 for smaller sets (Fujimoto, Kojadinovic and Marichal, "Axiomatic characterizations of probabilistic
//! and cardinal-probabilistic interaction indices", 2006, for integrals of this kind).

use super::blocks::Role;
use super::error_bound::BLOCK;
use super::index::{pairs, sets};
use super::lanes::LANES;
use super::path_integral::lane_of_last;
use super::quadrature::Point;
use super::starts::Starts;
use super::subsets::gathered;
use super::{EntityProblem, Explanation, FastEngine, Index, Players};
use crate::lit::{Stopped, Watch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The middle of the path, where every player is present in half of the coalitions.
pub(super) const HALF: Point = Point { at: 0.5, weight: 1.0 };
/// The start of the path, where no other player is present.
const START: Point = Point { at: 0.0, weight: 1.0 };

/// A callback for progress; its argument is the number of starts done since the last call.
pub(super) type Tell<'t> = dyn FnMut(usize) -> Result<(), Stopped> + 't;

/// A game along paths, and one entity.
#[derive(Clone, Copy)]
pub(super) struct FloatPaths<'g> {
    pub(super) engine: &'g FastEngine,
    pub(super) starts: &'g Starts,
    pub(super) entity: &'g [bool],
}

/// For each variable of the tape, the start of its path and the displacement to the entity; and which players move.
struct StartPath {
    share: f64,
    path: Vec<(f64, f64)>,
    moving: Vec<usize>,
}

/// F at the weights of a start.
pub(super) fn value_at_start(engine: &FastEngine, starts: &Starts, start: usize) -> f64 {
    if let Some(value) = engine.tape.constant() {
        return f64::from(u8::from(value));
    }
    let still = [Point { at: 0.0, weight: 0.0 }];
    let path = |_: usize, place: usize| engine.ways.floats(place, |feature| starts.float(start, feature), |_| false);
    let (tape, watch) = (&engine.tape, Watch::unlimited());
    let values = engine.with_workspace(|workspace| workspace.integrate(engine.arch, tape, &still, 1, path, &watch));
    values.expect("nothing stops this")[lane_of_last(1, 1, 0)]
}

impl FloatPaths<'_> {
    fn path_from(&self, start: usize) -> StartPath {
        let FloatPaths { engine, starts, entity } = *self;
        let way = |place| engine.ways.floats(place, |feature| starts.float(start, feature), |feature| entity[feature]);
        let path: Vec<(f64, f64)> = (0..engine.tape.players.len()).map(way).collect();
        let moved = path.iter().zip(&engine.ways.player_of).filter(|((_, by), _)| *by != 0.0);
        let mut moving: Vec<usize> = moved.filter_map(|(_, &player)| player).collect();
        moving.sort_unstable();
        moving.dedup();
        StartPath { share: starts.share(start), path, moving }
    }

    /// The paths from all starts from which something moves, ordered by the number of moving players.
    fn paths(&self) -> Vec<StartPath> {
        let paths = (0..self.starts.len()).map(|start| self.path_from(start));
        let mut paths: Vec<StartPath> = paths.filter(|path| !path.moving.is_empty()).collect();
        paths.sort_by_key(|path| path.moving.len());
        paths
    }

    /// Shapley values, or Banzhaf values at the middle of the path: the lanes are starts.
    pub(super) fn of_players(
        &self,
        at_half: bool,
        watch: &Watch<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<Vec<f64>, Stopped> {
        let engine = self.engine;
        let mut scores = vec![0.0; engine.width];
        if engine.tape.constant().is_some() {
            return Ok(scores);
        }
        let mut part = vec![0.0; engine.width];
        for (number, block) in self.paths().chunks(LANES).enumerate() {
            watch.check()?;
            if number % (BLOCK / LANES) == 0 {
                scores.iter_mut().zip(&mut part).for_each(|(score, part)| *score += std::mem::take(part));
            }
            let points: Arc<[Point]> = match at_half {
                true => [HALF].into(),
                false => engine.rule(block[block.len() - 1].moving.len().div_ceil(2)),
            };
            engine.with_workspace(|workspace| {
                let path = |row: usize, place: usize| block[row].path[place];
                workspace.integrate(engine.arch, &engine.tape, &points, block.len(), path, watch)?;
                for (row, StartPath { share, path, .. }) in block.iter().enumerate() {
                    for (place, player) in engine.ways.player_of.iter().enumerate() {
                        let Some(player) = player else { continue };
                        part[*player] += share * path[place].1 * workspace.integral(row, place);
                    }
                }
                Ok::<(), Stopped>(())
            })?;
            tell(block.len())?;
        }
        scores.iter_mut().zip(part).for_each(|(score, part)| *score += part);
        Ok(scores)
    }

    /// The scores of an index of sets of players.
    pub(super) fn of_sets(
        &self,
        index: Index,
        watch: &Watch<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<Result<Vec<f64>, EntityProblem>, Stopped> {
        let (engine, players) = (self.engine, self.engine.width);
        let mut scores = vec![0.0; index.width(players)];
        if engine.tape.constant().is_some() {
            return Ok(Ok(scores));
        }
        // Each player's contribution when it comes last, less that when it comes first.
        let mut gains = vec![0.0; players];
        for path in self.paths() {
            if index == Index::Interaction {
                for (at, sign) in [(0.0, -1.0), (1.0, 1.0)] {
                    let end = [Point { at, weight: 1.0 }];
                    self.derivatives(&path, 1, &end, watch, &mut |set, gain| gains[set[0]] += sign * gain)?;
                }
            }
            for size in index.sizes() {
                let points = points_of(engine, index, size, path.moving.len());
                self.derivatives(&path, size, &points, watch, &mut |set, gain| {
                    scores[index.place(players, set)] += gain;
                })?;
            }
            tell(1)?;
        }
        Ok(match index {
            Index::Interaction => check_gains(&scores, &gains).map(|()| scores),
            Index::Ksii(order) => Ok(gathered(order, players, scores)),
            _ => Ok(scores),
        })
    }

    /// The sums over some points of the derivatives by all sets of moving players of this size, along one path.
    fn derivatives(
        &self,
        path: &StartPath,
        size: usize,
        points: &[Point],
        watch: &Watch<'_>,
        add: &mut dyn FnMut(&[usize], f64),
    ) -> Result<(), Stopped> {
        let (engine, ways) = (self.engine, &self.engine.ways);
        let corners = 1 << (size - 1);
        let fixed: Vec<Vec<usize>> = sets(path.moving.len(), size - 1)
            .map(|set| set.into_iter().map(|place| path.moving[place]).collect())
            .collect();
        for block in fixed.chunks(LANES / corners) {
            watch.check()?;
            engine.with_workspace(|workspace| {
                let path_of = |row: usize, place: usize| {
                    let (from, by) = path.path[place];
                    let (set, corner) = (&block[row / corners], row % corners);
                    match ways.player_of[place].and_then(|player| set.iter().position(|&one| one == player)) {
                        Some(at) => (from + by * (corner >> at & 1) as f64, 0.0),
                        None => (from, by),
                    }
                };
                workspace.integrate(engine.arch, &engine.tape, points, corners * block.len(), path_of, watch)?;
                for (number, set) in block.iter().enumerate() {
                    let mut all = set.clone();
                    for (place, player) in ways.player_of.iter().enumerate() {
                        let by = path.path[place].1;
                        let Some(player) = player.filter(|player| by != 0.0 && set.iter().all(|one| one < player))
                        else {
                            continue;
                        };
                        let corner = |corner: usize| {
                            let value = workspace.integral(number * corners + corner, place);
                            if (size - 1 - corner.count_ones() as usize).is_multiple_of(2) { value } else { -value }
                        };
                        all.push(player);
                        add(&all, path.share * by * (0..corners).map(corner).sum::<f64>());
                        all.pop();
                    }
                }
                Ok::<(), Stopped>(())
            })?;
        }
        Ok(())
    }

    /// Owen values: the lanes are points of the outer integral.
    pub(super) fn owen(&self, players: &Players, watch: &Watch<'_>, tell: &mut Tell<'_>) -> Result<Vec<f64>, Stopped> {
        let (engine, ways) = (self.engine, &self.engine.ways);
        let mut scores = vec![0.0; engine.width];
        if engine.tape.constant().is_some() {
            return Ok(scores);
        }
        let places = 0..engine.tape.players.len();
        let has_switch = |group: usize| places.clone().any(|place| ways.role(place) == Role::Group(group));
        let group_of = |player: usize| players.group_of(player).expect("groups were looked for");
        for path in self.paths() {
            // The groups with moving players, how many move, and whether the group has a switch.
            let mut groups: BTreeMap<usize, (usize, bool)> = BTreeMap::new();
            for &player in &path.moving {
                let group = group_of(player);
                groups.entry(group).or_insert_with(|| (0, has_switch(group))).0 += 1;
            }
            let outer = engine.rule(groups.len().div_ceil(2));
            for (&own, &(count, _)) in &groups {
                let inner = engine.rule(count.div_ceil(2));
                for block in outer.chunks(LANES) {
                    watch.check()?;
                    let path_of = |row: usize, place: usize| {
                        let (from, by) = path.path[place];
                        match (ways.role(place), ways.player_of[place].map(group_of)) {
                            (Role::Group(group), _) => (if group == own { 0.0 } else { block[row].at }, 0.0),
                            (_, Some(group)) if group != own => match groups.get(&group) {
                                Some((_, false)) => (from + block[row].at * by, 0.0),
                                _ => (from, 0.0),
                            },
                            _ => (from, by),
                        }
                    };
                    engine.with_workspace(|workspace| {
                        workspace.integrate(engine.arch, &engine.tape, &inner, block.len(), path_of, watch)?;
                        for (place, player) in ways.player_of.iter().enumerate() {
                            let Some(player) = player.filter(|&player| group_of(player) == own) else { continue };
                            for (row, point) in block.iter().enumerate() {
                                let part = path.share * path.path[place].1 * point.weight;
                                scores[player] += part * workspace.integral(row, place);
                            }
                        }
                        Ok::<(), Stopped>(())
                    })?;
                }
            }
            tell(1)?;
        }
        Ok(scores)
    }
}

/// The weighted points at which the derivative by sets of a size is evaluated.
fn points_of(engine: &FastEngine, index: Index, size: usize, moving: usize) -> Arc<[Point]> {
    match index {
        Index::Taylor(order) if size < order.size() => [START].into(),
        Index::Taylor(_) => {
            let weighted = |point: &Point| {
                let rest = (1.0 - point.at).powi(size as i32 - 1);
                Point { at: point.at, weight: point.weight * size as f64 * rest }
            };
            engine.rule(moving.div_ceil(2).max(1)).iter().map(weighted).collect()
        }
        _ => engine.rule((moving + 1).saturating_sub(size).div_ceil(2).max(1)),
    }
}

/// Checks that each player's interactions add up to the gain of its contribution.
fn check_gains(scores: &[f64], gains: &[f64]) -> Result<(), EntityProblem> {
    let mut sums = vec![0.0; gains.len()];
    for ((i, j), score) in pairs(gains.len()).zip(scores) {
        sums[i] += score;
        sums[j] += score;
    }
    for (player, (sum, gain)) in sums.iter().zip(gains).enumerate() {
        let difference: f64 = sum - gain;
        // So that a NaN fails as well.
        if difference.abs() > Explanation::TOLERANCE || difference.is_nan() {
            let (sum, gain) = (sum.to_string(), gain.to_string());
            return Err(EntityProblem::InteractionsDoNotAddUp { player, sum, gain });
        }
    }
    Ok(())
}
