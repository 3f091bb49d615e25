//! Trees of numbers with columns and blocks as players, of any number of bits: processed path by path.
//!
//! A tree is the sum over its leaves of the leaf's number times "the path to it is taken", and a path has a separate
//! condition on each player. A present player satisfies its condition or not; an absent one satisfies it with a
//! probability. At the point t from absent to present, a path is taken with the probability that is the product over
//! its players of `out + t (in - out)`, and a player's gain is the product without it, times `in - out`. Cost: paths
//! times players of a path, for each point. Diagrams that share nodes may have far more paths than nodes; more than
//! [`MAX_PATHS`] are refused.

use super::Players;
use super::gate_chances::Chances;
use super::gate_sums::Fixed;
use super::starts::Starts;
use crate::circuit::NumberDiagram;

/// The most paths of a diagram.
const MAX_PATHS: usize = 1 << 16;

/// All paths of a diagram to leaves that are not 0.
pub(super) struct Paths {
    paths: Vec<(f64, Vec<Test>)>,
    /// The most players that a path tests.
    pub(super) longest: usize,
}

/// The condition of a path on a player.
struct Test {
    /// Its index among the players that the diagram tests.
    mover: usize,
    bits: Vec<(usize, bool)>,
}

/// A player on a path: its index, whether it satisfies its condition when present, and the probability that it does
/// when absent.
type Link<T> = (usize, bool, T);

/// The paths for an entity and a start: each with a number and its players.
pub(super) struct Chain<T> {
    paths: Vec<(T, Vec<Link<T>>)>,
    movers: usize,
}

impl Paths {
    /// `None` if there are too many paths; `movers` are the players that the diagram tests, ascending.
    pub(super) fn of(diagram: &NumberDiagram, players: &Players, movers: &[usize]) -> Option<Self> {
        let leaves = diagram.leaves().len();
        let (mut paths, mut longest) = (Vec::new(), 0);
        let mut open: Vec<(u32, Vec<(usize, bool)>)> = vec![(diagram.root(), Vec::new())];
        while let Some((at, asked)) = open.pop() {
            let at = at as usize;
            if at >= leaves {
                let node = diagram.nodes()[at - leaves];
                for (child, value) in [(node.lo, false), (node.hi, true)] {
                    let mut asked = asked.clone();
                    asked.push((node.var.index(), value));
                    open.push((child, asked));
                }
            } else if diagram.leaves()[at] != 0.0 {
                let mut tests: Vec<Test> = Vec::new();
                for (feature, value) in asked {
                    let mover = movers.binary_search(&players.of(feature)).ok()?;
                    match tests.iter_mut().find(|test| test.mover == mover) {
                        Some(test) => test.bits.push((feature, value)),
                        None => tests.push(Test { mover, bits: vec![(feature, value)] }),
                    }
                }
                longest = longest.max(tests.len());
                paths.push((diagram.leaves()[at], tests));
            }
            if paths.len() + open.len() > MAX_PATHS {
                return None;
            }
        }
        Some(Paths { paths, longest })
    }

    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// The paths that can be taken at all from a start to an entity.
    pub(super) fn chain<T: Chances>(
        &self,
        players: &Players,
        movers: &[usize],
        entity: &[bool],
        starts: &Starts,
        start: usize,
    ) -> Chain<T> {
        let mut paths = Vec::new();
        for (leaf, tests) in &self.paths {
            let part = |test: &Test| {
                let is_in = test.bits.iter().all(|&(feature, value)| entity[feature] == value);
                (test.mover, is_in, chance_out(test, players, movers[test.mover], starts, start))
            };
            let parts: Vec<(usize, bool, T)> = tests.iter().map(part).collect();
            if parts.iter().all(|(_, is_in, out)| *is_in || !out.is_zero()) {
                paths.push((T::of_float(*leaf), parts));
            }
        }
        Chain { paths, movers: movers.len() }
    }
}

/// The probability that an absent player satisfies its condition on a path.
fn chance_out<T: Chances>(test: &Test, players: &Players, player: usize, starts: &Starts, start: usize) -> T {
    if !players.is_one_hot(player) {
        let chance = |&(feature, value): &(usize, bool)| {
            let [one, zero] = T::both(starts, start, feature);
            if value { one } else { zero }
        };
        return test.bits.iter().fold(T::one(), |all, bit| all.times(&chance(bit)));
    }
    let fits = |&hot: &usize| test.bits.iter().all(|&(feature, value)| (feature == hot) == value);
    let hot = players.members(player).filter(fits);
    hot.fold(T::zero(), |sum, hot| sum.plus(&T::both(starts, start, hot)[0]))
}

impl<T: Chances> Chain<T> {
    /// The expected number with all players absent.
    pub(super) fn base_value(&self) -> T {
        self.paths.iter().fold(T::zero(), |sum, (leaf, parts)| {
            sum.plus(&parts.iter().fold(leaf.clone(), |product, (_, _, out)| product.times(out)))
        })
    }

    /// The gains of all players at the point t, optionally with one of them present or absent whatever t is.
    pub(super) fn gains(&self, t: &T, fixed: Option<Fixed>) -> Vec<T> {
        let mut gains = vec![T::zero(); self.movers];
        let number = |is_in: bool| if is_in { T::one() } else { T::zero() };
        for (leaf, parts) in &self.paths {
            let factor = |(mover, is_in, out): &(usize, bool, T)| match &fixed {
                Some(fixed) if fixed.mover == *mover => {
                    if fixed.is_in {
                        number(*is_in)
                    } else {
                        out.clone()
                    }
                }
                _ => out.plus(&t.times(&number(*is_in).minus(out))),
            };
            let factors: Vec<T> = parts.iter().map(factor).collect();
            // The product of all factors after each player.
            let mut after = vec![T::one(); factors.len() + 1];
            for place in (0..factors.len()).rev() {
                after[place] = after[place + 1].times(&factors[place]);
            }
            let mut before = leaf.clone();
            for (place, (mover, is_in, out)) in parts.iter().enumerate() {
                let others = before.times(&after[place + 1]);
                gains[*mover] = gains[*mover].plus(&others.times(&number(*is_in).minus(out)));
                before = before.times(&factors[place]);
            }
        }
        gains
    }
}
