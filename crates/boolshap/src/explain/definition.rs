//! The definitions of all games and indices, taken literally: the reference for the evaluators, and the engine
//! `brute-force`.
//!
//! Shares nothing with the evaluators but the description of players and population. v(S) is computed by enumerating
//! all entities that agree with e on S, or all rows; an index by enumerating all sets. All numbers are fractions. Cost:
//! 3^N for an entity of N features.

use super::{Distribution, EntityProblem, ExplainError, Explanation, Index, Labels, Players};
use crate::data::Bits;
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// Scores by the definition (engine `brute-force`).
///
/// ```
/// use boolshap::explain::{Definition, Probabilities, Index, Labels, Players, Distribution};
/// use boolshap::lit::Watch;
/// let both = Labels::from_fn(2, |entity| entity[0] && entity[1])?;
/// let players = Players::features(&["x".into(), "y".into()]);
/// let population = Distribution::Product(Probabilities::uniform(2));
/// let judge = Definition::new(both, players, population)?;
/// let rows = judge.explain(&[[true, true]], Index::Banzhaf, &Watch::unlimited())?;
/// assert_eq!(rows[0].scores[0].to_string(), "3/8");
/// # Ok::<(), boolshap::explain::ExplainError>(())
/// ```
pub struct Definition {
    labels: Labels,
    players: Players,
    population: Distribution,
    /// The probabilities that a feature is 0 and 1, as whole numbers with a common scale for all values of its player.
    chances: Vec<[UBig; 2]>,
}

impl Definition {
    /// The most features: five million entities to enumerate.
    pub const MAX_FEATURES: usize = 14;

    /// The game of these labels.
    pub fn new(labels: Labels, players: Players, population: Distribution) -> Result<Self, ExplainError> {
        let features = labels.features();
        if features > Self::MAX_FEATURES {
            return Err(ExplainError::TooManyFeatures { features, engine: "brute force", limit: Self::MAX_FEATURES });
        }
        match &population {
            Distribution::Product(distribution) | Distribution::Constrained(distribution, _) => {
                distribution.check(features)?
            }
            Distribution::Background(rows) if rows.rows() == 0 => {
                return Err(ExplainError::NoRows { what: "background" });
            }
            Distribution::Empirical(rows) if rows.rows() == 0 => return Err(ExplainError::NoRows { what: "sample" }),
            Distribution::Background(rows) | Distribution::Empirical(rows) => players.check_rows(rows)?,
        }
        let chances = match &population {
            Distribution::Product(distribution) | Distribution::Constrained(distribution, _) => {
                let exact = distribution.exact();
                let chance = |v: usize| {
                    let members = players.members(players.of(v)).map(|member| exact[member].denominator().clone());
                    let scale = RBig::from(members.fold(UBig::ONE, |product, denominator| product * denominator));
                    let whole = |p: RBig| p.numerator().clone().try_into().expect("a probability is not negative");
                    [whole((RBig::ONE - &exact[v]) * &scale), whole(&exact[v] * &scale)]
                };
                (0..features).map(chance).collect()
            }
            Distribution::Background(_) | Distribution::Empirical(_) => Vec::new(),
        };
        let definition = Definition { labels, players, population, chances };
        definition.check_columns()?;
        definition.check_constraint()?;
        Ok(definition)
    }

    /// Fails if no value of a column can occur.
    fn check_columns(&self) -> Result<(), ExplainError> {
        let can_be = |v: usize| self.chances.get(v).is_none_or(|chances| chances[1] != UBig::ZERO);
        let is_empty = |&player: &usize| self.players.is_one_hot(player) && !self.players.members(player).any(can_be);
        match (0..self.players.len()).find(is_empty) {
            Some(player) => Err(ExplainError::NoValue { player: self.players.names()[player].clone() }),
            None => Ok(()),
        }
    }

    /// Fails if no entity satisfies the constraint, or only entities of probability 0 do.
    fn check_constraint(&self) -> Result<(), ExplainError> {
        let Distribution::Constrained(_, formula) = &self.population else { return Ok(()) };
        let features = self.labels.features();
        let is_row = |row: &Vec<bool>| {
            (0..self.players.len())
                .filter(|&player| self.players.is_one_hot(player))
                .all(|player| self.players.members(player).filter(|&v| row[v]).count() == 1)
        };
        let mut rows = (0..1usize << features).map(|index| (0..features).map(|v| index >> v & 1 == 1).collect());
        if !rows.any(|row: Vec<bool>| is_row(&row) && formula.holds(&row)) {
            return Err(ExplainError::Unsatisfiable);
        }
        match self.value(&vec![false; features], |_| false, false) {
            None => Err(ExplainError::ImpossibleConstraint),
            Some(_) => Ok(()),
        }
    }

    /// The players.
    pub fn players(&self) -> &Players {
        &self.players
    }

    /// The values of these entities.
    pub fn explain<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        index: Index,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<RBig>>, ExplainError> {
        let mut explanations = Vec::with_capacity(entities.len());
        for (number, entity) in entities.iter().map(AsRef::as_ref).enumerate() {
            let wrong = |problem| ExplainError::Entity { entity: number, problem };
            let expected = self.labels.features();
            if entity.len() != expected {
                return Err(ExplainError::EntityLength { entity: number, expected, found: entity.len() });
            }
            let mut alone = Bits::new(expected);
            alone.push(entity);
            self.players.check_rows(&alone).map_err(|error| error.with_entity(|_| number))?;
            if let Distribution::Constrained(_, formula) = &self.population
                && !formula.holds(entity)
            {
                return Err(wrong(EntityProblem::BreaksConstraint));
            }
            let count = self.players.len();
            let mut values = Vec::with_capacity(1 << count);
            for set in 0..1usize << count {
                watch.step(number as u64, entities.len() as u64)?;
                let value = self.value(entity, |player| set >> player & 1 == 1, set + 1 == 1 << count);
                values.push(value.ok_or_else(|| wrong(EntityProblem::ZeroProbability))?);
            }
            let scores = match index {
                Index::Shapley => (0..count).map(|i| shapley(&values, count, i)).collect(),
                Index::Banzhaf => (0..count).map(|i| banzhaf(&values, count, i)).collect(),
                Index::Interaction => of_size(count, 2).map(|set| interaction(&values, count, set)).collect(),
                Index::Owen => (0..count).map(|i| self.owen(&values, i)).collect::<Result<_, _>>()?,
                Index::Taylor(order) => {
                    let all = (1..=order.size()).flat_map(|size| of_size(count, size));
                    all.map(|set| taylor(&values, count, set, order.size())).collect()
                }
                Index::Ksii(order) => {
                    let all = (1..=order.size()).flat_map(|size| of_size(count, size));
                    all.map(|set| k_shapley(&values, count, set, order.size())).collect()
                }
            };
            let prediction = self.label(entity);
            let explanation = Explanation { base_value: values[0].clone(), prediction, scores };
            if index.is_efficient() {
                explanation.check_sum(number)?;
            }
            explanations.push(explanation);
        }
        Ok(explanations)
    }

    /// A player's mean contribution, over all orders of the groups and of its own group, to the groups before its own
    /// and the fellows before it; an order matters only by the sets that come before.
    fn owen(&self, v: &[RBig], player: usize) -> Result<RBig, ExplainError> {
        let n = self.players.len();
        let groups = (0..n).map(|i| self.players.group_of(i).ok_or(ExplainError::NoGroups));
        let groups = groups.collect::<Result<Vec<usize>, _>>()?;
        let own = groups[player];
        let mut sum = RBig::ZERO;
        let names: std::collections::BTreeSet<usize> = groups.iter().copied().collect();
        let fellows = groups.iter().filter(|group| **group == own).count();
        for set in sets(n, 1 << player) {
            let is_in = |i: usize| set >> i & 1 == 1;
            // Other groups are in as a whole or not at all.
            let outside: Vec<usize> = names.iter().copied().filter(|group| *group != own).collect();
            let whole = |group: usize| (0..n).filter(|&i| groups[i] == group).all(is_in);
            let is_split = |group: &usize| !whole(*group) && (0..n).any(|i| groups[i] == *group && is_in(i));
            if outside.iter().any(is_split) {
                continue;
            }
            let before = outside.iter().filter(|group| whole(**group)).count();
            let mine = (0..n).filter(|&i| groups[i] == own && is_in(i)).count();
            let weight = order_weight(before, names.len()) * order_weight(mine, fellows);
            sum += weight * (&v[set | 1 << player] - &v[set]);
        }
        Ok(sum)
    }

    fn label(&self, entity: &[bool]) -> bool {
        self.labels.label(entity.iter().enumerate().map(|(v, &value)| usize::from(value) << v).sum())
    }

    /// v(S), or `None` if the condition cannot occur.
    fn value(&self, entity: &[bool], is_in: impl Fn(usize) -> bool, is_all: bool) -> Option<RBig> {
        let features = entity.len();
        let present: Vec<bool> = (0..features).map(|feature| is_in(self.players.of(feature))).collect();
        let mixed = |other: &dyn Fn(usize) -> bool| -> Vec<bool> {
            (0..features).map(|v| if present[v] { entity[v] } else { other(v) }).collect()
        };
        match &self.population {
            Distribution::Background(rows) => {
                let ones = (0..rows.rows()).filter(|&row| self.label(&mixed(&|v| rows.get(row, v)))).count();
                Some(RBig::from_parts(ones.into(), rows.rows().into()))
            }
            Distribution::Empirical(_) if is_all => Some(u8::from(self.label(entity)).into()),
            Distribution::Empirical(rows) => {
                let mean = |agreeing: &mut dyn Iterator<Item = usize>| {
                    let (mut ones, mut all) = (0usize, 0usize);
                    for row in agreeing {
                        ones += usize::from(self.label(&rows.row(row)));
                        all += 1;
                    }
                    (all > 0).then(|| RBig::from_parts(ones.into(), all.into()))
                };
                let agrees = |row: &usize| (0..features).all(|v| !present[v] || rows.get(*row, v) == entity[v]);
                mean(&mut (0..rows.rows()).filter(agrees)).or_else(|| mean(&mut (0..rows.rows())))
            }
            Distribution::Product(_) | Distribution::Constrained(..) => {
                let absent: Vec<usize> = (0..features).filter(|&v| !present[v]).collect();
                let (mut ones, mut all) = (UBig::ZERO, UBig::ZERO);
                for choice in 0..1usize << absent.len() {
                    let mut other = entity.to_vec();
                    absent.iter().enumerate().for_each(|(place, &v)| other[v] = choice >> place & 1 == 1);
                    let weight = self.weight(&other, &is_in);
                    if self.label(&other) {
                        ones += &weight;
                    }
                    all += weight;
                }
                (all != UBig::ZERO).then(|| RBig::from_parts(ones.into(), all))
            }
        }
    }

    /// The probability of an entity's absent players, up to a factor.
    fn weight(&self, entity: &[bool], is_in: impl Fn(usize) -> bool) -> UBig {
        if let Distribution::Constrained(_, formula) = &self.population
            && !formula.holds(entity)
        {
            return UBig::ZERO;
        }
        let mut weight = UBig::ONE;
        for player in (0..self.players.len()).filter(|&player| !is_in(player)) {
            if self.players.is_one_hot(player) {
                let mut ones = self.players.members(player).filter(|&v| entity[v]);
                match (ones.next(), ones.next()) {
                    (Some(value), None) => weight *= &self.chances[value][1],
                    _ => return UBig::ZERO,
                }
                continue;
            }
            for v in self.players.members(player) {
                weight *= &self.chances[v][usize::from(entity[v])];
            }
        }
        weight
    }
}

fn sets(count: usize, without: usize) -> impl Iterator<Item = usize> {
    (0..1usize << count).filter(move |set| set & without == 0)
}

/// |S|! (n-|S|-1)! / n!
fn order_weight(size: usize, n: usize) -> RBig {
    let factorial = |k: usize| (2..=k).map(UBig::from).fold(UBig::ONE, |product, factor| product * factor);
    RBig::from_parts((factorial(size) * factorial(n - size - 1)).into(), factorial(n))
}

fn shapley(v: &[RBig], n: usize, i: usize) -> RBig {
    let terms = sets(n, 1 << i).map(|s| order_weight(s.count_ones() as usize, n) * (&v[s | 1 << i] - &v[s]));
    terms.fold(RBig::ZERO, |sum, term| sum + term)
}

fn banzhaf(v: &[RBig], n: usize, i: usize) -> RBig {
    let sum = sets(n, 1 << i).fold(RBig::ZERO, |sum, s| sum + &v[s | 1 << i] - &v[s]);
    sum / RBig::from(UBig::ONE << (n - 1))
}

/// The joint gain of a set of players added to a coalition: the alternating sum over its subsets.
fn gain(v: &[RBig], set: usize, with: usize) -> RBig {
    let parts = (0..=set).filter(|part| part & !set == 0);
    parts.fold(RBig::ZERO, |sum, part| match (set & !part).count_ones() % 2 {
        0 => sum + &v[with | part],
        _ => sum - &v[with | part],
    })
}

/// The sets of this many players, as masks, in lexicographic order.
fn of_size(n: usize, size: usize) -> impl Iterator<Item = usize> {
    let mut all: Vec<usize> = (0..1usize << n).filter(|set| set.count_ones() as usize == size).collect();
    // The set with the smaller first player is the larger number with its bits reversed.
    all.sort_by_key(|set| std::cmp::Reverse(set.reverse_bits()));
    all.into_iter()
}

/// The Shapley interaction index of a set.
fn interaction(v: &[RBig], n: usize, set: usize) -> RBig {
    let size = set.count_ones() as usize;
    let terms = sets(n, set).map(|s| order_weight(s.count_ones() as usize, n - size + 1) * gain(v, set, s));
    terms.fold(RBig::ZERO, |sum, term| sum + term)
}

/// Theorem 1 of Sundararajan, Dhamdhere and Agarwal: k / n times the sum of the gains over C(n-1, size).
fn taylor(v: &[RBig], n: usize, set: usize, k: usize) -> RBig {
    if (set.count_ones() as usize) < k {
        return gain(v, set, 0);
    }
    let terms = sets(n, set).map(|s| gain(v, set, s) / RBig::from(choose(n - 1, s.count_ones() as usize)));
    terms.fold(RBig::ZERO, |sum, term| sum + term) * RBig::from_parts(k.into(), n.into())
}

/// The recursion of Bordt and von Luxburg: each further order adds, to the interaction index of a set, the Bernoulli
/// number of the distance times the sum of the interactions of all supersets of that order.
fn k_shapley(v: &[RBig], n: usize, set: usize, k: usize) -> RBig {
    let size = set.count_ones() as usize;
    let bernoulli = [(1, 1u8), (-1, 2), (1, 6)].map(|(above, below)| RBig::from_parts(above.into(), below.into()));
    let of_order = |order: usize| {
        let around = of_size(n, order).filter(|other| other & set == set);
        around.fold(RBig::ZERO, |sum, other| sum + interaction(v, n, other)) * &bernoulli[order - size]
    };
    (size..=k).fold(RBig::ZERO, |sum, order| sum + of_order(order))
}

fn choose(n: usize, k: usize) -> UBig {
    (0..k).fold(UBig::ONE, |product, at| product * UBig::from(n - at) / UBig::from(at + 1))
}
