//! Games in exact fractions, computed with whole numbers.
//!
//! The integrand of [`FloatGame`](super::FloatGame) is a polynomial in t of a degree below the number n of moving
//! players, so n of its values determine it. Here these are the values at t = 0, 1, ..., n-1, where all weights are
//! whole numbers over known denominators. A polynomial is also valid outside of [0, 1], where most of these points lie.
//! The integral from 0 to 1 is a sum of the values with fixed rational weights. One pair of sweeps ([`IntegerSweeps`])
//! at a point serves all players. Machine integers are used where a bound on all numbers allows it, otherwise big
//! integers.
//!
//! Cost for an entity: n pairs of sweeps for each start and all Shapley values, one for the Banzhaf values, 2 n^2 for all
//! interactions and 2 n^3 for those of three, n m for Owen values of m groups, 2^n for the values at all vertices.

use super::blocks::Role;
use super::cube::Cubes;
use super::engine::in_parallel;
use super::game::{Form, agreements, playing};
use super::game_floats::spread;
use super::index::{pairs, sets};
use super::integer_rule::Rule;
use super::integer_sweeps::has_units;
use super::numerators::{Numerators, Swept};
use super::polynomial::Integer;
use super::starts::Starts;
use super::subsets::{SubsetTable, gathered};
use super::{Engine, EntityProblem, ExplainError, Explanation, Game, Index};
use crate::data::{Bits, Scores};
use crate::lit::{Stopped, Watch};
use dashu_base::BitTest;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// A game prepared for fractions (engine `exact`).
pub struct ExactGame {
    game: Game,
    form: ExactForm,
    /// Against background rows, if the circuit has a table.
    cubes: Option<Cubes>,
    base_value: RBig,
    rules: Mutex<HashMap<usize, Arc<Rule>>>,
}

enum ExactForm {
    Paths { swept: Swept, starts: Arc<Starts> },
    Vertices { above: Swept, below: Option<Box<Swept>>, starts: Arc<Starts>, playing: Vec<usize> },
    Empirical,
}

/// Runs an expression with the smallest integer type that holds this many bits.
macro_rules! with_integer {
    ($bits:expr, $T:ident => $body:expr) => {
        match $bits {
            0..=62 => {
                type $T = i64;
                $body
            }
            63..=126 => {
                type $T = i128;
                $body
            }
            _ => {
                type $T = IBig;
                $body
            }
        }
    };
}

impl Engine for ExactGame {
    fn explain(&self, rows: &Bits, index: Index, watch: &Watch<'_>) -> Result<Scores, ExplainError> {
        let width = index.width(self.game.players.len());
        in_parallel(rows, width, watch, |part, watch| ExactGame::explain(self, part, index, watch))
    }

    fn error_bound(&self, _: Index) -> f64 {
        0.0
    }

    fn visits(&self, _: Index) -> u128 {
        u128::MAX
    }
}

impl ExactGame {
    /// Prepares a game.
    pub fn new(game: &Game) -> Result<Self, ExplainError> {
        let form = match &game.form {
            Form::Paths { circuit, starts } => {
                ExactForm::Paths { swept: Swept::new(circuit, game)?, starts: starts.clone() }
            }
            Form::Vertices { above, below, starts } => {
                let above = Swept::new(above, game)?;
                let below = below.as_ref().map(|below| Swept::new(below, game).map(Box::new)).transpose()?;
                let mut mentioned = above.sweeps.mentioned.clone();
                below.iter().for_each(|below| mentioned.extend(&below.sweeps.mentioned));
                let playing = playing(&game.players, &mentioned);
                ExactForm::Vertices { above, below, starts: starts.clone(), playing }
            }
            Form::Empirical { .. } => ExactForm::Empirical,
        };
        let (game, cubes, rules) = (game.clone(), game.cubes(), Mutex::default());
        let mut prepared = ExactGame { game, form, cubes, base_value: RBig::ZERO, rules };
        prepared.base_value = prepared.base_value();
        Ok(prepared)
    }

    /// Uses sweeps only.
    #[cfg(test)]
    pub(super) fn without_cubes(self) -> Self {
        ExactGame { cubes: None, ..self }
    }

    pub(super) fn base_value(&self) -> RBig {
        let any_entity = vec![false; self.game.labels.variables()];
        let value = |swept: &Swept, starts: &Starts| {
            self.vertices(swept, starts, &[], &any_entity, &Watch::unlimited())
                .expect("the watch has no limit")
                .remove(0)
        };
        match (&self.form, &self.game.form) {
            (ExactForm::Paths { swept, starts }, _) => value(swept, starts),
            (ExactForm::Vertices { above, below, starts, .. }, _) => {
                value(above, starts) / below.as_ref().map_or(RBig::ONE, |below| value(below, starts))
            }
            (ExactForm::Empirical, Form::Empirical { sample, labels }) => {
                let positive =
                    sample.counts.iter().zip(labels.iter()).filter(|(_, label)| **label).map(|(count, _)| count);
                RBig::from_parts(positive.sum::<u64>().into(), sample.total.into())
            }
            _ => unreachable!("prepared from the same form"),
        }
    }

    /// The values of these entities, each checked if its index allows a check.
    pub fn explain<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<RBig>>, ExplainError> {
        let features = self.game.labels.variables();
        let mut rows = Bits::new(features);
        for (entity, values) in entities.iter().map(AsRef::as_ref).enumerate() {
            if values.len() != features {
                return Err(ExplainError::EntityLength { entity, expected: features, found: values.len() });
            }
            rows.push(values);
        }
        self.game.check_entities(&rows)?;
        self.game.check_index(index)?;
        let mut explanations = Vec::with_capacity(entities.len());
        for (number, entity) in entities.iter().map(AsRef::as_ref).enumerate() {
            watch.step(number as u64, entities.len() as u64)?;
            let silent = watch.silent();
            let cubes = self.cubes.as_ref().filter(|_| matches!(index, Index::Shapley | Index::Banzhaf));
            let scores = match (cubes, &self.form) {
                (Some(cubes), _) => Ok(cubes.fractions(entity, index, self.game.players.len(), &silent)?),
                (None, ExactForm::Paths { swept, starts }) => match index {
                    Index::Shapley | Index::Banzhaf => Ok(self.along_paths(swept, starts, entity, index, &silent)?),
                    Index::Owen => Ok(self.owen(swept, starts, entity, &silent)?),
                    _ => self.of_sets(swept, starts, entity, index, &silent)?,
                },
                (None, ExactForm::Vertices { playing, .. }) => {
                    let table = self.table(entity, &silent).map_err(|error| error.with_entity(|_| number))?;
                    let scores = table.values_of(index, &silent)?;
                    scores.map(|scores| spread(index, playing, self.game.players.len(), scores, RBig::ZERO))
                }
                (None, ExactForm::Empirical) => self.table(entity, &silent)?.values_of(index, &silent)?,
            };
            let scores = scores.map_err(|problem| ExplainError::Entity { entity: number, problem })?;
            let prediction = self.game.labels.evaluate(entity)?;
            let explanation = Explanation { base_value: self.base_value.clone(), prediction, scores };
            if index.is_efficient() {
                explanation.check_sum(number)?;
            }
            explanations.push(explanation);
        }
        Ok(explanations)
    }

    /// F, summed over all starts, for each set of these players being present.
    fn vertices(
        &self,
        swept: &Swept,
        starts: &Starts,
        playing: &[usize],
        entity: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Vec<RBig>, Stopped> {
        let mut place_of = vec![None; swept.ways.width()];
        playing.iter().enumerate().for_each(|(place, &player)| place_of[player] = Some(place));
        let mut values = vec![RBig::ZERO; 1 << playing.len()];
        for start in 0..starts.len() {
            let numerators = Numerators::new(swept, starts, start, entity);
            let share = starts.exact_share(start);
            with_integer!(numerators.bits, T => {
                let mut sweep = swept.sweeps.memory::<T>();
                for (set, value) in values.iter_mut().enumerate() {
                    watch.check()?;
                    let place = |var: usize| swept.ways.player_of[var].and_then(|player| place_of[player]);
                    let is_in = |var: usize| place(var).is_some_and(|place| set >> place & 1 == 1);
                    numerators.fill(swept, &mut sweep, |var| u8::from(is_in(var)).into());
                    let root = swept.sweeps.up(&mut sweep).to_big();
                    *value += &share * RBig::from_parts(root, numerators.denominator.clone());
                }
            });
        }
        Ok(values)
    }

    fn along_paths(
        &self,
        swept: &Swept,
        starts: &Starts,
        entity: &[bool],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<RBig>, Stopped> {
        let mut scores = vec![RBig::ZERO; swept.ways.width()];
        for start in 0..starts.len() {
            let numerators = Numerators::new(swept, starts, start, entity);
            let moving = numerators.moving(swept).len();
            if moving == 0 {
                continue;
            }
            let (sums, denominator) = match index {
                Index::Banzhaf => at_half(swept, starts, start, entity),
                _ => {
                    let rule = self.rule(moving);
                    let mut sums = vec![IBig::ZERO; scores.len()];
                    with_integer!(numerators.bits, T => {
                        let mut sweep = swept.sweeps.memory::<T>();
                        for (t, weight) in rule.weights.iter().enumerate() {
                            watch.check()?;
                            let contributions = numerators.swept(swept, &mut sweep, &|_| t.into());
                            sums.iter_mut().zip(contributions).for_each(|(sum, more)| *sum += weight * more);
                        }
                    });
                    (sums, &rule.denominator * &numerators.denominator)
                }
            };
            let share = starts.exact_share(start);
            for (score, sum) in scores.iter_mut().zip(sums) {
                *score += &share * RBig::from_parts(sum, denominator.clone());
            }
        }
        Ok(scores)
    }

    /// Owen values: the other groups move to s, the players of a player's own group to t.
    fn owen(&self, swept: &Swept, starts: &Starts, entity: &[bool], watch: &Watch<'_>) -> Result<Vec<RBig>, Stopped> {
        let group_of = |player: usize| self.game.players.group_of(player).expect("groups were looked for");
        let switches: Vec<usize> = swept
            .places()
            .filter_map(|var| if let Role::Group(group) = swept.ways.role(var) { Some(group) } else { None })
            .collect();
        let mut scores = vec![RBig::ZERO; swept.ways.width()];
        for start in 0..starts.len() {
            let mut numerators = Numerators::new(swept, starts, start, entity);
            let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
            numerators.moving(swept).into_iter().for_each(|player| *groups.entry(group_of(player)).or_default() += 1);
            // The switch of a group goes from 0 to 1, as those of players do.
            let is_switch = |var: &usize| matches!(swept.ways.role(*var), Role::Group(_));
            for var in swept.places().filter(is_switch) {
                numerators.to[var] = IBig::ONE;
                numerators.bits += (2 * swept.sweeps.mentioned.len() + 1).bit_len() + 1;
            }
            let (outer, share) = (self.rule(groups.len().max(1)), starts.exact_share(start));
            for (&own, &count) in &groups {
                let inner = self.rule(count);
                let mut sums = vec![IBig::ZERO; scores.len()];
                with_integer!(numerators.bits, T => {
                    let mut sweep = swept.sweeps.memory::<T>();
                    for (s, of_s) in outer.weights.iter().enumerate() {
                        for (t, of_t) in inner.weights.iter().enumerate() {
                            watch.check()?;
                            let by = |var: usize| match (swept.ways.role(var), swept.ways.player_of[var].map(group_of)) {
                                (Role::Group(group), _) => if group == own { 0 } else { s },
                                (_, Some(group)) if group == own => t,
                                (_, Some(group)) if !switches.contains(&group) => s,
                                _ => 0,
                            };
                            let contributions = numerators.swept(swept, &mut sweep, &|var| by(var).into());
                            for (sum, more) in sums.iter_mut().zip(contributions) {
                                *sum += of_s * of_t * more;
                            }
                        }
                    }
                });
                let denominator = &outer.denominator * &inner.denominator * &numerators.denominator;
                for (player, sum) in sums.into_iter().enumerate().filter(|(player, _)| group_of(*player) == own) {
                    scores[player] += &share * RBig::from_parts(sum, denominator.clone());
                }
            }
        }
        Ok(scores)
    }

    /// The scores of an index of sets of players.
    fn of_sets(
        &self,
        swept: &Swept,
        starts: &Starts,
        entity: &[bool],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Result<Vec<RBig>, EntityProblem>, Stopped> {
        let count = swept.ways.width();
        let mut scores = vec![RBig::ZERO; index.width(count)];
        // Each player's contribution when it comes last, less that when it comes first.
        let mut gains = vec![RBig::ZERO; count];
        for start in 0..starts.len() {
            let numerators = Numerators::new(swept, starts, start, entity);
            let moving = numerators.moving(swept);
            let share = starts.exact_share(start);
            if index == Index::Interaction {
                let ends = Rule { weights: vec![-IBig::ONE, IBig::ONE], denominator: UBig::ONE };
                derivatives(swept, &numerators, &moving, 1, &ends, watch, &mut |set, gain| {
                    gains[set[0]] += &share * gain;
                })?;
            }
            for size in index.sizes() {
                let rule = match index {
                    Index::Taylor(order) if size < order.size() => {
                        Arc::new(Rule { weights: vec![IBig::ONE], denominator: UBig::ONE })
                    }
                    Index::Taylor(_) => Arc::new(self.rule(moving.len().max(1)).towards_the_start(size)),
                    _ => self.rule((moving.len() + 1).saturating_sub(size).max(1)),
                };
                derivatives(swept, &numerators, &moving, size, &rule, watch, &mut |set, gain| {
                    scores[index.place(count, set)] += &share * gain;
                })?;
            }
        }
        Ok(match index {
            Index::Interaction => check_gains(&scores, &gains).map(|()| scores),
            Index::Ksii(order) => Ok(gathered(order, count, scores)),
            _ => Ok(scores),
        })
    }

    /// v of all sets of the players that matter.
    fn table(&self, entity: &[bool], watch: &Watch<'_>) -> Result<SubsetTable<RBig>, ExplainError> {
        match (&self.form, &self.game.form) {
            (ExactForm::Vertices { above, below, starts, playing }, _) => {
                let mut values = self.vertices(above, starts, playing, entity, watch)?;
                if let Some(below) = below {
                    for (value, below) in values.iter_mut().zip(self.vertices(below, starts, playing, entity, watch)?) {
                        if below == RBig::ZERO {
                            return Err(ExplainError::Entity { entity: 0, problem: EntityProblem::ZeroProbability });
                        }
                        *value /= below;
                    }
                }
                Ok(SubsetTable::new(self.game.groups_of(playing.iter().copied()), values))
            }
            (ExactForm::Empirical, Form::Empirical { sample, labels }) => {
                let [agreeing, positive] = agreements(&self.game.players, sample, labels, entity);
                let mean = |(&all, &ones): (&u64, &u64)| match all {
                    0 => self.base_value.clone(),
                    _ => RBig::from_parts(ones.into(), all.into()),
                };
                let mut values: Vec<RBig> = agreeing.iter().zip(&positive).map(mean).collect();
                let label = u8::from(self.game.labels.evaluate(entity)?);
                *values.last_mut().expect("at least the empty set") = label.into();
                Ok(SubsetTable::new(self.game.groups_of(0..self.game.players.len()), values))
            }
            _ => unreachable!("paths have no table"),
        }
    }

    fn rule(&self, count: usize) -> Arc<Rule> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.entry(count).or_insert_with(|| Arc::new(Rule::new(count))).clone()
    }
}

/// The contributions in the middle of the path, where each weight is the mean of its ends; the denominators are
/// doubled.
fn at_half(swept: &Swept, starts: &Starts, start: usize, entity: &[bool]) -> (Vec<IBig>, UBig) {
    let mut numerators = Numerators::new(swept, starts, start, entity);
    // Doubles start and end of the path: the mean becomes whole, and each unit's denominator doubles.
    let mut doubled = UBig::ONE;
    let mut groups = vec![false; swept.ways.width()];
    for var in swept.places().filter(|&var| has_units(swept.ways.role(var))) {
        let group = swept.ways.player_of[var].filter(|_| swept.sweeps.one_hot[var]);
        if !group.is_some_and(|player| std::mem::replace(&mut groups[player], true)) {
            doubled *= UBig::from(2u8);
        }
        numerators.from[var] *= 2;
        numerators.to[var] *= 2;
        numerators.units[var] *= 2;
    }
    numerators.bits += 2 * swept.sweeps.mentioned.len();
    let half = |var: usize| (&numerators.from[var] + &numerators.to[var]) / IBig::from(2);
    let sums = with_integer!(numerators.bits, T => {
        let mut sweep = swept.sweeps.memory::<T>();
        for var in swept.places() {
            let x = half(var);
            let not_x = if swept.sweeps.one_hot[var] { IBig::ONE } else { &numerators.units[var] - &x };
            sweep.weights[var] = [T::from_big(&x), T::from_big(&not_x)];
        }
        swept.sweeps.up(&mut sweep);
        swept.sweeps.down(&mut sweep);
        numerators.contributions(swept, &sweep)
    });
    (sums, doubled * &numerators.denominator)
}

/// The sums, by a rule, of the derivatives by all sets of moving players of this size.
fn derivatives(
    swept: &Swept,
    numerators: &Numerators,
    moving: &[usize],
    size: usize,
    rule: &Rule,
    watch: &Watch<'_>,
    add: &mut dyn FnMut(&[usize], RBig),
) -> Result<(), Stopped> {
    let width = swept.ways.width();
    with_integer!(numerators.bits, T => {
        let mut sweep = swept.sweeps.memory::<T>();
        for fixed in sets(moving.len(), size - 1) {
            let mut set: Vec<usize> = fixed.into_iter().map(|place| moving[place]).collect();
            let mut sums = vec![IBig::ZERO; width];
            for (t, weight) in rule.weights.iter().enumerate() {
                for corner in 0..1usize << (size - 1) {
                    watch.check()?;
                    let place = |var: usize| swept.ways.player_of[var].and_then(|player| set.iter().position(|&one| one == player));
                    let by = |var: usize| place(var).map_or(t, |place| corner >> place & 1);
                    let contributions = numerators.swept(swept, &mut sweep, &|var| by(var).into());
                    let is_plus = (size - 1 - corner.count_ones() as usize).is_multiple_of(2);
                    for (sum, more) in sums.iter_mut().zip(contributions) {
                        *sum += weight * if is_plus { more } else { -more };
                    }
                }
            }
            for &player in moving.iter().filter(|&&player| set.iter().all(|&one| one < player)).collect::<Vec<_>>() {
                let sum = std::mem::take(&mut sums[player]);
                set.push(player);
                add(&set, RBig::from_parts(sum, &rule.denominator * &numerators.denominator));
                set.pop();
            }
        }
    });
    Ok(())
}

/// Checks that each player's interactions add up to the gain of its contribution.
fn check_gains(scores: &[RBig], gains: &[RBig]) -> Result<(), EntityProblem> {
    let mut sums = vec![RBig::ZERO; gains.len()];
    for ((i, j), score) in pairs(gains.len()).zip(scores) {
        sums[i] += score;
        sums[j] += score;
    }
    match sums.iter().zip(gains).position(|(sum, gain)| sum != gain) {
        None => Ok(()),
        Some(player) => {
            let (sum, gain) = (sums[player].to_string(), gains[player].to_string());
            Err(EntityProblem::InteractionsDoNotAddUp { player, sum, gain })
        }
    }
}
