//! Scores of diagrams with numbers at their leaves: trees, and tables of up to 24 bits.
//!
//! **Features as players.** Uses the sweeps of labels, with numbers instead of 0 and 1: at the point t of the path a
//! node's value is lo + w (hi - lo), upwards, and downwards each node's reach gives dF/dw, the gains of all players at
//! once. If an entity and a background row differ in few players, there are fewer corners between them than nodes to
//! sweep. Then the numbers at the corners are tabulated instead, and the definition gives the scores.
//!
//! **Columns and blocks as players** have no such path. Up to [`MAX_BITS`] bits the table of all numbers is folded
//! player by player, into its values with the player present and absent, until v of every set is left: n 2^n
//! operations. Beyond that, a tree is processed path by path (`value_paths`).
//!
//! **Errors.** Numbers are in [-1, 1], so twice the bounds proved for labels (`error_bound`) hold.

use super::error_bound::{self, BLOCK, SweepRoundings};
use super::gate_chances::{Chances, Rules};
use super::gate_sums::{Fixed, Scalar};
use super::starts::Starts;
use super::subsets::{SubsetTable, Value};
use super::value_gates::{integrated, interactions_of};
use super::value_paths::Paths;
use super::{ExplainError, Index, Players};
use crate::circuit::NumberDiagram;
use crate::lit::{Remedy, Var, Watch};
use std::sync::Arc;

/// The most bits that a diagram may test where players are columns or blocks.
const MAX_BITS: usize = 20;

/// A part that is a diagram of numbers.
pub(super) struct DiagramPart {
    pub(super) part: usize,
    diagram: Arc<NumberDiagram>,
    mentioned: Vec<Var>,
    /// The index of each variable among those mentioned.
    place: Vec<usize>,
    players: Players,
    alone: bool,
    /// Used if there are too many bits to fold.
    paths: Option<Paths>,
    roundings: SweepRoundings,
}

impl DiagramPart {
    pub(super) fn new(part: usize, diagram: &Arc<NumberDiagram>, players: &Players) -> Result<Self, ExplainError> {
        Self::folding(part, diagram, players, MAX_BITS)
    }

    /// The same, folding tables of up to this many bits.
    fn folding(
        part: usize,
        diagram: &Arc<NumberDiagram>,
        players: &Players,
        most: usize,
    ) -> Result<Self, ExplainError> {
        let mentioned = diagram.mentioned();
        let mut place = vec![usize::MAX; players.feature_count()];
        mentioned.iter().enumerate().for_each(|(at, var)| place[var.index()] = at);
        let alone = players.len() == players.feature_count() && (0..players.len()).all(|p| !players.is_one_hot(p));
        // The other bits of a column matter as much as those that are tested.
        let playing = super::game::playing(players, &mentioned);
        let bits: usize = playing.iter().map(|&player| players.members(player).count()).sum();
        let bits = if alone { 0 } else { bits };
        let paths = if bits > most { Paths::of(diagram, players, &playing) } else { None };
        if bits > most && paths.is_none() {
            let why = "a table of numbers, or a tree of many paths, has a shorter way for features as players only";
            return Err(ExplainError::TooManyPlayers {
                players: bits,
                why,
                limit: MAX_BITS,
                remedy: Remedy::FewerPlayers,
            });
        }
        let roundings = roundings_of(diagram, mentioned.len());
        let (diagram, players) = (diagram.clone(), players.clone());
        Ok(DiagramPart { part, diagram, mentioned, place, players, alone, paths, roundings })
    }

    pub(super) fn error_bound(&self, index: Index, starts: usize) -> f64 {
        let players = self.mentioned.len();
        let sweeps = error_bound::Paths { sweep: self.roundings, variables: players, players, bits: 1 };
        // For corners and folded tables: a number is rounded once for each bit that is averaged.
        let sets = match &self.paths {
            // The probabilities of all paths add up to 1, so each addition rounds only a part of that.
            Some(paths) => error_bound::in_all(8.0 * players as f64 + 4.0 * paths.len() as f64 + 16.0),
            None => error_bound::of_sets(3.0 * players as f64 + 2.0, players.min(MAX_BITS), index),
        };
        2.0 * (sweeps.error_bound(index, starts).max(sets) + error_bound::in_all(starts as f64 + 2.0))
    }

    pub(super) fn steps(&self, index: Index, starts: usize) -> u128 {
        let (nodes, players) = (2 * self.diagram.nodes().len() as u128, self.mentioned.len() as u128);
        let points = match index {
            Index::Banzhaf => 1,
            Index::Shapley => players.div_ceil(2),
            _ => 2 * players * players.div_ceil(2),
        };
        let nodes = self.paths.as_ref().map_or(nodes, |paths| (paths.len() * paths.longest) as u128);
        nodes * points * starts as u128
    }

    /// The expected number when nothing is known.
    pub(super) fn base_value<T: Chances + Value>(&self, starts: &Starts) -> T {
        let any_entity = vec![false; self.place.len()];
        (0..starts.len()).fold(Scalar::zero(), |sum: T, start| {
            let value = match (self.alone, starts) {
                (_, Starts::Rows(sample)) => T::of_float(self.diagram.value(|feature| sample.rows.get(start, feature))),
                (true, _) => self.path::<T>(&any_entity, starts, start).value_at(&Scalar::zero()),
                (false, _) => match &self.paths {
                    Some(paths) => {
                        paths.chain::<T>(&self.players, &self.movers(), &any_entity, starts, start).base_value()
                    }
                    None => self.folded::<T>(&any_entity, starts, start).1.values.swap_remove(0),
                },
            };
            sum.plus(&T::share(starts, start).times(&value))
        })
    }

    /// The scores of an entity, of all players or pairs.
    pub(super) fn scores<T: Chances + Value>(
        &self,
        entity: &[bool],
        starts: &Starts,
        index: Index,
        rules: &Rules,
        watch: &Watch<'_>,
    ) -> Result<Vec<T>, ExplainError> {
        let mut scores: Vec<T> = vec![Scalar::zero(); index.width(self.players.len())];
        for start in 0..starts.len() {
            watch.check()?;
            let (movers, found) = self.of_start::<T>(entity, starts, start, index, rules, watch)?;
            let share = T::share(starts, start);
            let spread = super::game_floats::spread(index, &movers, self.players.len(), found, Scalar::zero());
            scores.iter_mut().zip(&spread).for_each(|(sum, score)| *sum = sum.plus(&share.times(score)));
        }
        Ok(scores)
    }

    /// The players that move from a start, ascending, and their scores.
    fn of_start<T: Chances + Value>(
        &self,
        entity: &[bool],
        starts: &Starts,
        start: usize,
        index: Index,
        rules: &Rules,
        watch: &Watch<'_>,
    ) -> Result<(Vec<usize>, Vec<T>), ExplainError> {
        let of_table = |table: SubsetTable<T>| {
            table.values_of(index, watch)?.map_err(|problem| ExplainError::Entity { entity: 0, problem })
        };
        if let Some(paths) = &self.paths {
            let movers = self.movers();
            let chain = paths.chain::<T>(&self.players, &movers, entity, starts, start);
            let found = match index {
                _ if movers.is_empty() => Vec::new(),
                Index::Shapley => integrated(movers.len(), paths.longest, rules, watch, |t| chain.gains(t, None))?,
                Index::Banzhaf => chain.gains(&T::half(), None),
                _ => interactions_of(movers.len(), rules, watch, |t, fixed| chain.gains(t, fixed))?,
            };
            return Ok((movers, found));
        }
        if let Starts::Rows(sample) = starts {
            let differs = |var: &&Var| sample.rows.get(start, var.index()) != entity[var.index()];
            let moving: Vec<Var> = self.mentioned.iter().filter(differs).copied().collect();
            let movers = super::game::playing(&self.players, &moving);
            let sweeps = self.diagram.nodes().len().saturating_mul(movers.len() + 1);
            if movers.len() < MAX_BITS && (!self.alone || (self.mentioned.len() << movers.len()) < sweeps) {
                let corner = |set: usize| {
                    let is_in = |feature: usize| {
                        let place = movers.binary_search(&self.players.of(feature));
                        place.is_ok_and(|place| set >> place & 1 == 1)
                    };
                    let bit = |feature: usize| {
                        if is_in(feature) { entity[feature] } else { sample.rows.get(start, feature) }
                    };
                    T::of_float(self.diagram.value(bit))
                };
                let table = SubsetTable::new(vec![0; movers.len()], (0..1usize << movers.len()).map(corner).collect());
                return Ok((movers, of_table(table)?));
            }
        }
        if !self.alone {
            let (movers, table) = self.folded::<T>(entity, starts, start);
            return Ok((movers, of_table(table)?));
        }
        let path = self.path::<T>(entity, starts, start);
        let count = path.movers.len();
        let movers = path.movers.iter().map(|&place| self.players.of(self.mentioned[place].index())).collect();
        let found = match index {
            _ if count == 0 => Vec::new(),
            Index::Shapley => integrated(count, count, rules, watch, |t| path.gains(t, None))?,
            Index::Banzhaf => path.gains(&T::half(), None),
            // Other indices have been refused before.
            _ => interactions_of(count, rules, watch, |t, fixed| path.gains(t, fixed))?,
        };
        Ok((movers, found))
    }

    /// The players that have a bit in the diagram, ascending.
    fn movers(&self) -> Vec<usize> {
        super::game::playing(&self.players, &self.mentioned)
    }

    fn path<T: Chances>(&self, entity: &[bool], starts: &Starts, start: usize) -> NumberPath<'_, T> {
        let weight = |var: &Var| T::both(starts, start, var.index())[0].clone();
        let from: Vec<T> = self.mentioned.iter().map(weight).collect();
        let to: Vec<T> =
            self.mentioned.iter().map(|var| if entity[var.index()] { T::one() } else { T::zero() }).collect();
        let moves = |place: &usize| !to[*place].minus(&from[*place]).is_zero();
        let movers = (0..from.len()).filter(moves).collect();
        NumberPath { part: self, from, to, movers }
    }

    /// v of every set of the players that have a bit in the diagram, for independent players of any kind.
    fn folded<T: Chances + Value>(
        &self,
        entity: &[bool],
        starts: &Starts,
        start: usize,
    ) -> (Vec<usize>, SubsetTable<T>) {
        let players = self.movers();
        let bits: Vec<usize> = players.iter().flat_map(|&player| self.players.members(player)).collect();
        let mut place = vec![usize::MAX; self.place.len()];
        bits.iter().enumerate().for_each(|(at, &feature)| place[feature] = at);
        let value = |input: usize| T::of_float(self.diagram.value(|feature| input >> place[feature] & 1 == 1));
        // The bits of the player to be folded are the lowest; its results, absent and present, go to the top.
        let mut table: Vec<T> = (0..1usize << bits.len()).map(value).collect();
        for &player in &players {
            let members: Vec<usize> = self.players.members(player).collect();
            let own = 1usize << members.len();
            let inside =
                members.iter().enumerate().fold(0, |at, (bit, &feature)| at | usize::from(entity[feature]) << bit);
            let chances: Vec<T> = (0..own).map(|at| self.chance(player, &members, at, starts, start)).collect();
            let out = table.chunks_exact(own).map(|chunk| {
                chunk
                    .iter()
                    .zip(&chances)
                    .fold(Scalar::zero(), |sum: T, (value, chance)| sum.plus(&chance.times(value)))
            });
            let out: Vec<T> = out.collect();
            let with: Vec<T> = table.chunks_exact(own).map(|chunk| chunk[inside].clone()).collect();
            // In the index, players folded so far are above the bits that are left, and this player is above them.
            table = out.into_iter().chain(with).collect();
        }
        let count = players.len();
        (players, SubsetTable::new(vec![0; count], table))
    }

    /// The probability that the bits of an absent player are these.
    fn chance<T: Chances>(&self, player: usize, members: &[usize], at: usize, starts: &Starts, start: usize) -> T {
        let both = |feature: usize| T::both(starts, start, feature);
        if self.players.is_one_hot(player) {
            return match at.count_ones() {
                1 => both(members[at.trailing_zeros() as usize])[0].clone(),
                _ => T::zero(),
            };
        }
        members.iter().enumerate().fold(T::one(), |chance, (bit, &feature)| {
            let [one, zero] = both(feature);
            chance.times(if at >> bit & 1 == 1 { &one } else { &zero })
        })
    }
}

/// The path of an entity from one start.
struct NumberPath<'d, T> {
    part: &'d DiagramPart,
    /// The weights of the variables that are tested, at the start and at the end.
    from: Vec<T>,
    to: Vec<T>,
    /// The variables that move.
    movers: Vec<usize>,
}

impl<T: Chances> NumberPath<'_, T> {
    /// The weights at t, optionally with one mover present or absent whatever t is.
    fn weights(&self, t: &T, fixed: Option<Fixed>) -> Vec<T> {
        let fixed = fixed.map(|fixed| (self.movers[fixed.mover], fixed.is_in));
        let weight = |place: usize| match fixed {
            Some((mover, true)) if mover == place => self.to[place].clone(),
            Some((mover, false)) if mover == place => self.from[place].clone(),
            _ => self.from[place].plus(&t.times(&self.to[place].minus(&self.from[place]))),
        };
        (0..self.from.len()).map(weight).collect()
    }

    /// The expected value of each leaf and node.
    fn values(&self, weights: &[T]) -> Vec<T> {
        let diagram = &self.part.diagram;
        let mut values: Vec<T> = diagram.leaves().iter().map(|leaf| T::of_float(*leaf)).collect();
        values.reserve(diagram.nodes().len());
        for node in diagram.nodes() {
            let (lo, hi) = (&values[node.lo as usize], &values[node.hi as usize]);
            let value = lo.plus(&weights[self.part.place[node.var.index()]].times(&hi.minus(lo)));
            values.push(value);
        }
        values
    }

    fn value_at(&self, t: &T) -> T {
        self.values(&self.weights(t, None)).swap_remove(self.part.diagram.root() as usize)
    }

    /// The gains of all movers at the point t.
    fn gains(&self, t: &T, fixed: Option<Fixed>) -> Vec<T> {
        let (diagram, place) = (&self.part.diagram, &self.part.place);
        let weights = self.weights(t, fixed);
        let values = self.values(&weights);
        let leaves = diagram.leaves().len();
        let mut reach = vec![T::zero(); values.len()];
        reach[diagram.root() as usize] = T::one();
        let (mut slopes, mut part) = (vec![T::zero(); weights.len()], vec![(T::zero(), 0usize); weights.len()]);
        for (number, node) in diagram.nodes().iter().enumerate().rev() {
            let own = reach[leaves + number].clone();
            if own.is_zero() {
                continue;
            }
            let at = place[node.var.index()];
            let (lo, hi) = (node.lo as usize, node.hi as usize);
            let (sum, count) = &mut part[at];
            *sum = sum.plus(&own.times(&values[hi].minus(&values[lo])));
            *count += 1;
            if *count == BLOCK {
                slopes[at] = slopes[at].plus(&std::mem::replace(sum, T::zero()));
                *count = 0;
            }
            let up = own.times(&weights[at]);
            reach[lo] = reach[lo].plus(&own.times(&T::one().minus(&weights[at])));
            reach[hi] = reach[hi].plus(&up);
        }
        slopes.iter_mut().zip(&part).for_each(|(slope, (sum, _))| *slope = slope.plus(sum));
        self.movers.iter().map(|&place| self.to[place].minus(&self.from[place]).times(&slopes[place])).collect()
    }
}

/// The roundings of a pair of sweeps: on the worst path, and in the longest chain of additions.
fn roundings_of(diagram: &NumberDiagram, variables: usize) -> SweepRoundings {
    let leaves = diagram.leaves().len();
    let mut parents = vec![0u32; leaves + diagram.nodes().len()];
    diagram.nodes().iter().for_each(|node| [node.lo, node.hi].iter().for_each(|&child| parents[child as usize] += 1));
    let mut roundings = vec![0f64; parents.len()];
    let mut of_variable = std::collections::HashMap::new();
    let mut worst = 0f64;
    for (number, node) in diagram.nodes().iter().enumerate().rev() {
        let own = roundings[leaves + number] + f64::from(parents[leaves + number]);
        worst = worst.max(own);
        *of_variable.entry(node.var).or_insert(0usize) += 1;
        for child in [node.lo, node.hi] {
            let below = &mut roundings[child as usize];
            *below = below.max(own + 3.0);
        }
    }
    let most = of_variable.into_values().max().unwrap_or(0);
    SweepRoundings::of_diagram(variables, worst, error_bound::additions(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::NumberNode;
    use crate::data::{Bits, Seeded};
    use crate::explain::Probabilities;
    use crate::explain::starts::Sample;
    use dashu_ratio::RBig;

    /// A random tree of numbers, in which no path tests a variable twice.
    fn random_tree(random: &mut Seeded, features: usize) -> NumberDiagram {
        let (mut leaves, mut nodes): (Vec<f64>, Vec<[usize; 3]>) = (Vec::new(), Vec::new());
        fn grow(random: &mut Seeded, left: &[usize], leaves: &mut Vec<f64>, nodes: &mut Vec<[usize; 3]>) -> usize {
            if left.is_empty() || random.below(4) == 0 {
                leaves.push((random.below(9) as f64 - 4.0) / 4.0);
                return 2 * (leaves.len() - 1);
            }
            let at = random.below(left.len());
            let rest: Vec<usize> = left.iter().copied().filter(|&feature| feature != left[at]).collect();
            let [lo, hi] = [(); 2].map(|()| grow(random, &rest, leaves, nodes));
            nodes.push([left[at], lo, hi]);
            2 * (nodes.len() - 1) + 1
        }
        let root = grow(random, &(0..features).collect::<Vec<_>>(), &mut leaves, &mut nodes);
        let count = leaves.len();
        let id = |at: usize| (if at.is_multiple_of(2) { at / 2 } else { count + at / 2 }) as u32;
        let node = |&[var, lo, hi]: &[usize; 3]| NumberNode { var: Var::new(var), lo: id(lo), hi: id(hi) };
        NumberDiagram::new(leaves.clone(), nodes.iter().map(node).collect(), id(root), features).unwrap()
    }

    /// Path by path gives the same as folded tables, in fractions.
    #[test]
    fn paths_are_folded_tables() {
        let mut random = Seeded::new(31, 0);
        let names = ["c=u", "c=v", "c=w", "d", "e", "f", "g=s", "g=t"].map(String::from);
        let columns = Players::columns(&names, None);
        let block = ["one", "two", "one", "three", "two", "three", "one", "four"].map(String::from);
        let blocks = Players::named(&names, &names.iter().cloned().zip(block).collect()).unwrap();
        for case in 0..60 {
            let diagram = Arc::new(random_tree(&mut random, 8));
            let players = if case % 2 == 0 { &columns } else { &blocks };
            let mut row = || {
                let mut row: Vec<bool> = (0..8).map(|_| random.below(2) == 1).collect();
                let (hot, other) = (random.below(3), random.below(2));
                (0..3).for_each(|bit| row[bit] = bit == hot);
                (0..2).for_each(|bit| row[6 + bit] = bit == other);
                row
            };
            let entity = row();
            let starts = match case % 3 {
                0 => {
                    let third = || RBig::from_parts(1.into(), 3u8.into());
                    let half = || RBig::from_parts(1.into(), 2u8.into());
                    let chances =
                        vec![third(), third(), third(), half(), third(), half(), third(), RBig::ONE - third()];
                    Starts::One(Probabilities::product(chances).unwrap())
                }
                _ => {
                    let mut rows = Bits::new(8);
                    (0..3).for_each(|_| rows.push(&row()));
                    Starts::Rows(Sample::new(&rows, "background").unwrap())
                }
            };
            let [folded, paths] = [MAX_BITS, 0].map(|most| DiagramPart::folding(0, &diagram, players, most).unwrap());
            if diagram.nodes().is_empty() {
                continue;
            }
            assert!(paths.paths.is_some() && folded.paths.is_none());
            let (rules, watch) = (Rules::default(), Watch::unlimited());
            assert_eq!(paths.base_value::<RBig>(&starts), folded.base_value::<RBig>(&starts), "case {case}");
            for index in [Index::Shapley, Index::Banzhaf, Index::Interaction] {
                let of = |part: &DiagramPart| part.scores::<RBig>(&entity, &starts, index, &rules, &watch).unwrap();
                assert_eq!(of(&paths), of(&folded), "case {case}, {index:?}");
            }
        }
    }
}
