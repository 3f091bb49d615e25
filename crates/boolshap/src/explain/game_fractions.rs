//! Games in exact fractions, by way of whole numbers.
//!
//! What [`FloatGame`](super::FloatGame) integrates numerically is a polynomial in t of a degree below the number n of
//! moving players, and n of its values tell it: here those at t = 0, 1, ..., n-1, where all weights are whole numbers over
//! known denominators. That most of these points lie outside of [0, 1] matters to no polynomial. The integral from 0
//! to 1 is a sum of the values with fixed rational weights. One pair of sweeps ([`IntegerSweeps`]) at a point serves all
//! players. Machine integers are used where a bound on all numbers allows, big ones elsewhere.
//!
//! Cost for an entity: n pairs of sweeps for each start and all Shapley values, one for the Banzhaf values, 2 n^2 for all
//! interactions, 2^n for the values at all vertices.

use super::cube::Cubes;
use super::engine::in_parallel;
use super::game::{Form, agreements, playing};
use super::game_floats::{pair_place, spread};
use super::index::pairs;
use super::integer_sweeps::{IntegerSweeps, Sweep};
use super::polynomial::Integer;
use super::starts::Starts;
use super::subsets::SubsetTable;
use super::{Engine, EntityProblem, ExplainError, Explanation, Game, Index, Players};
use crate::data::{Bits, Scores};
use crate::lit::{Stopped, Var, Watch};
use dashu::base::BitTest;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A game made ready for fractions (engine `exact`).
pub struct ExactGame {
    game: Game,
    form: ExactForm,
    /// Against background rows, where the circuit has a table.
    cubes: Option<Cubes>,
    base_value: RBig,
    rules: Mutex<HashMap<usize, Arc<Rule>>>,
}

enum ExactForm {
    Paths { sweeps: IntegerSweeps, starts: Arc<Starts> },
    Vertices { above: IntegerSweeps, below: Option<IntegerSweeps>, starts: Arc<Starts>, playing: Vec<usize> },
    Empirical,
}

/// What the values at 0, 1, ... count for in the integral from 0 to 1, over a common denominator.
struct Rule {
    weights: Vec<IBig>,
    denominator: UBig,
}

/// The numerators of a start's weights, and where they lead: for each variable a over b, and b or 0.
struct Numerators {
    from: Vec<IBig>,
    to: Vec<IBig>,
    units: Vec<IBig>,
    /// The product of the denominators of all variables and groups that the circuit mentions.
    denominator: UBig,
    /// The number of bits of the largest number on the way, at t up to the number of players.
    bits: usize,
}

impl Numerators {
    fn new(sweeps: &IntegerSweeps, players: &Players, starts: &Starts, start: usize, entity: &[bool]) -> Self {
        let features = entity.len();
        let mut exact = vec![RBig::ZERO; features];
        sweeps.mentioned.iter().for_each(|var| exact[var.index()] = starts.exact(start, var.index()));
        let mut units = vec![IBig::ONE; features];
        let (mut denominator, mut bits) = (UBig::ONE, 2);
        let growth = (2 * sweeps.mentioned.len() + 1).bit_len();
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for var in sweeps.mentioned.iter().map(|var| var.index()) {
            // A feature for itself is a group of its own.
            let group = if sweeps.one_hot[var] { players.of(var) } else { players.len() + var };
            groups.entry(group).or_default().push(var);
        }
        for members in groups.values() {
            let common = members.iter().fold(UBig::ONE, |lcm, &var| least_common(&lcm, exact[var].denominator()));
            members.iter().for_each(|&var| units[var] = common.clone().into());
            bits += common.bit_len() + growth;
            denominator *= common;
        }
        let numerator = |var: usize| (&exact[var] * RBig::from(units[var].clone())).numerator().clone();
        let from: Vec<IBig> = (0..features).map(numerator).collect();
        let to = (0..features).map(|var| if entity[var] { units[var].clone() } else { IBig::ZERO }).collect();
        Numerators { from, to, units, denominator, bits }
    }

    /// Fills in the weights when each player has come in by so much.
    fn fill<T: Integer>(&self, sweeps: &IntegerSweeps, sweep: &mut Sweep<T>, by: impl Fn(usize) -> IBig) {
        for var in sweeps.mentioned.iter().map(|var| var.index()) {
            let x = &self.from[var] + by(var) * (&self.to[var] - &self.from[var]);
            let not_x = if sweeps.one_hot[var] { IBig::ONE } else { &self.units[var] - &x };
            sweep.weights[var] = [T::from_big(&x), T::from_big(&not_x)];
        }
    }

    /// How much F, times the denominator, changes as each player comes in, after both sweeps.
    fn contributions<T: Integer>(&self, sweeps: &IntegerSweeps, players: &Players, sweep: &Sweep<T>) -> Vec<IBig> {
        let mut contributions = vec![IBig::ZERO; players.len()];
        for var in sweeps.mentioned.iter().map(|var| var.index()) {
            let [x, not_x] = &sweep.slopes[var];
            let slope = if sweeps.one_hot[var] { x.to_big() } else { x.to_big() - not_x.to_big() };
            contributions[players.of(var)] += slope * (&self.to[var] - &self.from[var]);
        }
        contributions
    }

    /// The players that move.
    fn moving(&self, sweeps: &IntegerSweeps, players: &Players) -> Vec<usize> {
        let moved = sweeps.mentioned.iter().filter(|var| self.from[var.index()] != self.to[var.index()]);
        playing(players, &moved.copied().collect::<Vec<Var>>())
    }
}

fn least_common(one: &UBig, other: &UBig) -> UBig {
    use dashu::base::Gcd;
    one / one.gcd(other) * other
}

/// Runs an expression with the smallest kind of integer that holds this many bits.
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
                ExactForm::Paths { sweeps: IntegerSweeps::new(circuit)?, starts: starts.clone() }
            }
            Form::Vertices { above, below, starts } => {
                let above = IntegerSweeps::new(above)?;
                let below = below.as_ref().map(IntegerSweeps::new).transpose()?;
                let mut mentioned = above.mentioned.clone();
                below.iter().for_each(|below| mentioned.extend(&below.mentioned));
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

    /// By sweeps only.
    #[cfg(test)]
    pub(super) fn without_cubes(self) -> Self {
        ExactGame { cubes: None, ..self }
    }

    pub(super) fn base_value(&self) -> RBig {
        let nobody = vec![false; self.game.labels.variables()];
        let value = |sweeps: &IntegerSweeps, starts: &Starts| {
            self.vertices(sweeps, starts, &[], &nobody, &Watch::unlimited()).expect("nobody stops it").remove(0)
        };
        match (&self.form, &self.game.form) {
            (ExactForm::Paths { sweeps, starts }, _) => value(sweeps, starts),
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

    /// The values of these entities, each checked by what its index can be checked by.
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
        let mut explanations = Vec::with_capacity(entities.len());
        for (number, entity) in entities.iter().map(AsRef::as_ref).enumerate() {
            watch.step(number as u64, entities.len() as u64)?;
            let silent = watch.silent();
            let cubes = self.cubes.as_ref().filter(|_| index != Index::Interaction);
            let scores = match (cubes, &self.form) {
                (Some(cubes), _) => Ok(cubes.fractions(entity, index, self.game.players.len(), &silent)?),
                (None, ExactForm::Paths { sweeps, starts }) => match index {
                    Index::Shapley | Index::Banzhaf => Ok(self.along_paths(sweeps, starts, entity, index, &silent)?),
                    Index::Interaction => self.interactions(sweeps, starts, entity, &silent)?,
                },
                (None, ExactForm::Vertices { playing, .. }) => {
                    let table = self.table(entity, &silent).map_err(|error| error.with_entity(|_| number))?;
                    let scores = table.values_of(index);
                    scores.map(|scores| spread(index, playing, self.game.players.len(), scores, RBig::ZERO))
                }
                (None, ExactForm::Empirical) => self.table(entity, &silent)?.values_of(index),
            };
            let scores = scores.map_err(|problem| ExplainError::Entity { entity: number, problem })?;
            let prediction = self.game.labels.evaluate(entity)?;
            let explanation = Explanation { base_value: self.base_value.clone(), prediction, scores };
            if index == Index::Shapley {
                explanation.check_sum(number)?;
            }
            explanations.push(explanation);
        }
        Ok(explanations)
    }

    /// F, over all starts, with each set of these players in.
    fn vertices(
        &self,
        sweeps: &IntegerSweeps,
        starts: &Starts,
        playing: &[usize],
        entity: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Vec<RBig>, Stopped> {
        let players = &self.game.players;
        let mut place_of = vec![None; players.len()];
        playing.iter().enumerate().for_each(|(place, &player)| place_of[player] = Some(place));
        let mut values = vec![RBig::ZERO; 1 << playing.len()];
        for start in 0..starts.len() {
            let numerators = Numerators::new(sweeps, players, starts, start, entity);
            let share = starts.exact_share(start);
            with_integer!(numerators.bits, T => {
                let mut sweep = sweeps.memory::<T>();
                for (set, value) in values.iter_mut().enumerate() {
                    watch.check()?;
                    let is_in = |var: usize| place_of[players.of(var)].is_some_and(|place| set >> place & 1 == 1);
                    numerators.fill(sweeps, &mut sweep, |var| u8::from(is_in(var)).into());
                    let root = sweeps.up(&mut sweep).to_big();
                    *value += &share * RBig::from_parts(root, numerators.denominator.clone());
                }
            });
        }
        Ok(values)
    }

    fn along_paths(
        &self,
        sweeps: &IntegerSweeps,
        starts: &Starts,
        entity: &[bool],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<RBig>, Stopped> {
        let players = &self.game.players;
        let mut scores = vec![RBig::ZERO; players.len()];
        for start in 0..starts.len() {
            let numerators = Numerators::new(sweeps, players, starts, start, entity);
            let moving = numerators.moving(sweeps, players).len();
            if moving == 0 {
                continue;
            }
            let (sums, denominator) = match index {
                Index::Banzhaf => self.at_half(sweeps, starts, start, entity),
                _ => {
                    let rule = self.rule(moving);
                    let mut sums = vec![IBig::ZERO; players.len()];
                    with_integer!(numerators.bits, T => {
                        let mut sweep = sweeps.memory::<T>();
                        for (t, weight) in rule.weights.iter().enumerate() {
                            watch.check()?;
                            numerators.fill(sweeps, &mut sweep, |_| t.into());
                            sweeps.up(&mut sweep);
                            sweeps.down(&mut sweep);
                            let contributions = numerators.contributions(sweeps, players, &sweep);
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

    /// The contributions in the middle of the path, where each weight is the mean of its ends: over twice the units.
    fn at_half(&self, sweeps: &IntegerSweeps, starts: &Starts, start: usize, entity: &[bool]) -> (Vec<IBig>, UBig) {
        let players = &self.game.players;
        let mut numerators = Numerators::new(sweeps, players, starts, start, entity);
        // Twice the way from twice the start: half of it is whole, and each unit's denominator doubles.
        let mut doubled = UBig::ONE;
        let mut groups = vec![false; players.len()];
        for var in sweeps.mentioned.iter().map(|var| var.index()) {
            let first = !sweeps.one_hot[var] || !std::mem::replace(&mut groups[players.of(var)], true);
            if first {
                doubled *= UBig::from(2u8);
            }
            numerators.from[var] *= 2;
            numerators.to[var] *= 2;
            numerators.units[var] *= 2;
        }
        numerators.bits += 2 * sweeps.mentioned.len();
        let sums = with_integer!(numerators.bits, T => {
            let mut sweep = sweeps.memory::<T>();
            for var in sweeps.mentioned.iter().map(|var| var.index()) {
                let x = (&numerators.from[var] + &numerators.to[var]) / IBig::from(2);
                let not_x = if sweeps.one_hot[var] { IBig::ONE } else { &numerators.units[var] - &x };
                sweep.weights[var] = [T::from_big(&x), T::from_big(&not_x)];
            }
            sweeps.up(&mut sweep);
            sweeps.down(&mut sweep);
            numerators.contributions(sweeps, players, &sweep)
        });
        (sums, doubled * &numerators.denominator)
    }

    fn interactions(
        &self,
        sweeps: &IntegerSweeps,
        starts: &Starts,
        entity: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Result<Vec<RBig>, EntityProblem>, Stopped> {
        let players = &self.game.players;
        let count = players.len();
        let mut scores = vec![RBig::ZERO; count * count.saturating_sub(1) / 2];
        // What each player's contribution gains between coming first and coming last.
        let mut gains = vec![RBig::ZERO; count];
        for start in 0..starts.len() {
            let numerators = Numerators::new(sweeps, players, starts, start, entity);
            let moving = numerators.moving(sweeps, players);
            let share = starts.exact_share(start);
            let rule = self.rule(moving.len().saturating_sub(1).max(1));
            with_integer!(numerators.bits, T => {
                let mut sweep = sweeps.memory::<T>();
                let mut contributions = |by: &dyn Fn(usize) -> IBig| {
                    numerators.fill(sweeps, &mut sweep, by);
                    sweeps.up(&mut sweep);
                    sweeps.down(&mut sweep);
                    numerators.contributions(sweeps, players, &sweep)
                };
                let [first, last] = [IBig::ZERO, IBig::ONE].map(|t| contributions(&|_| t.clone()));
                for (gain, (last, first)) in gains.iter_mut().zip(last.into_iter().zip(first)) {
                    *gain += &share * RBig::from_parts(last - first, numerators.denominator.clone());
                }
                for &one in &moving {
                    let mut sums = vec![IBig::ZERO; count];
                    for (t, weight) in rule.weights.iter().enumerate() {
                        watch.check()?;
                        let with = |side: u8, var: usize| if players.of(var) == one { side.into() } else { t.into() };
                        let [out, inside] = [0, 1].map(|side| contributions(&|var| with(side, var)));
                        for (sum, (inside, out)) in sums.iter_mut().zip(inside.into_iter().zip(out)) {
                            *sum += weight * (inside - out);
                        }
                    }
                    for other in one + 1..count {
                        let sum = std::mem::take(&mut sums[other]);
                        let gain = RBig::from_parts(sum, &rule.denominator * &numerators.denominator);
                        scores[pair_place(count, one, other)] += &share * gain;
                    }
                }
            });
        }
        let mut sums = vec![RBig::ZERO; count];
        for ((i, j), score) in pairs(count).zip(&scores) {
            sums[i] += score;
            sums[j] += score;
        }
        Ok(match sums.iter().zip(&gains).position(|(sum, gain)| sum != gain) {
            None => Ok(scores),
            Some(player) => {
                let (sum, gain) = (sums[player].to_string(), gains[player].to_string());
                Err(EntityProblem::InteractionsDoNotAddUp { player, sum, gain })
            }
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
                Ok(SubsetTable::new(playing.len(), values))
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
                Ok(SubsetTable::new(self.game.players.len(), values))
            }
            _ => unreachable!("paths have no table"),
        }
    }

    fn rule(&self, count: usize) -> Arc<Rule> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.entry(count).or_insert_with(|| Arc::new(Rule::new(count))).clone()
    }
}

impl Rule {
    /// For the values at 0, ..., count - 1: the integrals from 0 to 1 of Lagrange's polynomials.
    fn new(count: usize) -> Self {
        // The coefficients of t (t-1) ... (t-count+1), that of t^0 first.
        let mut product = vec![IBig::ONE];
        for root in 0..count {
            let mut next = vec![IBig::ZERO; product.len() + 1];
            for (power, coefficient) in product.iter().enumerate() {
                next[power + 1] += coefficient;
                next[power] -= coefficient * IBig::from(root);
            }
            product = next;
        }
        let weights: Vec<RBig> = (0..count)
            .map(|point| {
                // Without the factor (t - point), by synthetic division from the top.
                let (mut integral, mut quotient) = (RBig::ZERO, IBig::ZERO);
                for power in (1..=count).rev() {
                    quotient = &product[power] + quotient * IBig::from(point);
                    integral += RBig::from_parts(quotient.clone(), power.into());
                }
                let others = (0..count).filter(|&other| other != point);
                let scale = others.fold(IBig::ONE, |scale, other| scale * (IBig::from(point) - IBig::from(other)));
                integral / RBig::from(scale)
            })
            .collect();
        let denominator = weights.iter().fold(UBig::ONE, |common, weight| least_common(&common, weight.denominator()));
        let whole = |weight: &RBig| (weight * RBig::from(denominator.clone())).numerator().clone();
        Rule { weights: weights.iter().map(whole).collect(), denominator }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_integrate_all_powers_that_they_should() {
        for count in 1..=30usize {
            let rule = Rule::new(count);
            for power in 0..count {
                let terms =
                    rule.weights.iter().enumerate().map(|(point, weight)| weight * IBig::from(point).pow(power));
                let sum = terms.fold(IBig::ZERO, |sum, term| sum + term);
                assert_eq!(
                    RBig::from_parts(sum, rule.denominator.clone()),
                    RBig::from_parts(1.into(), (power + 1).into())
                );
            }
        }
    }
}
