//! The nearest inputs of another class or of a given class.
//!
//! The distance between two inputs is the sum of the costs of the players in which they differ, 1 each by default.
//! Features can be kept from rising, from falling, or both (frozen). A column's values are its features: a value that
//! must not rise cannot be chosen, and one that must not fall cannot be given up.
//!
//! *Idea.* The search examines the differences of inputs from the entity, 64 to a word. The cost of a difference is
//! that of its six low bits plus that of its high bits. So a word matters only if its high part is not too expensive
//! already, and its low parts are then tried in order of cost. Costs are scaled to integers by a common denominator, so
//! sums are exact.

use super::class_tables::ClassTables;
use super::classifier::Engine;
use super::diagram_search::Ways;
use super::diagrams::Diagrams;
use super::set_family::{SetFamily, ones};
use super::space::Space;
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu_base::UnsignedAbs;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// The most inputs that are listed.
const MOST_LISTED: usize = 1_000_000;
/// On a diagram, up to this many inputs at the same distance are sorted before the first are listed.
const SORTED: usize = 10_000;
/// A cost that cannot be paid.
pub(super) const FORBIDDEN: u64 = u64::MAX;

/// The requested class and the allowed changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// The class; without it, any class but the entity's.
    pub class: Option<usize>,
    /// Features that must not become 1.
    pub not_up: Vec<usize>,
    /// Features that must not become 0.
    pub not_down: Vec<usize>,
    /// The cost of changing each player; without it, 1 each.
    pub costs: Option<Vec<RBig>>,
    /// The most inputs to list, capped at a million.
    pub limit: Option<usize>,
    /// Whether to continue beyond the nearest until the limit is reached.
    pub beyond: bool,
}

/// An input of the requested class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterfactual {
    /// The input.
    pub input: Vec<bool>,
    /// The players in which it differs from the entity.
    pub changed: Vec<usize>,
    /// The cost of these changes.
    pub distance: RBig,
}

/// The nearest inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterfactuals {
    /// The distance of the nearest; `None` if no reachable input has the class.
    pub distance: Option<RBig>,
    /// The number of inputs at that distance.
    pub count: UBig,
    /// The listed inputs, by distance, then by the players that change, then by the input.
    pub listed: Vec<Counterfactual>,
}

/// The nearest inputs of another class, or of the requested one.
pub fn counterfactuals(
    classifier: &Classifier,
    entity: &Entity,
    wish: &Wish,
    watch: &Watch<'_>,
) -> Result<Counterfactuals, QueryError> {
    let costs = Costs::new(classifier.space(), wish.costs.as_deref())?;
    let limit = wish.limit.unwrap_or(MOST_LISTED).min(MOST_LISTED);
    let moves = Moves::of(entity, wish);
    // An entity that already has the requested class is its own counterfactual.
    let tables = match &classifier.engine {
        Engine::Tables(tables) => tables,
        Engine::Diagrams(diagrams) => return on_diagram(diagrams, classifier, entity, wish, &moves, &costs, watch),
    };
    let family = match wish.class {
        Some(class) => tables.of_class(class, entity.code),
        None => tables.not_of_class(entity.class, entity.code),
    };
    let near = Near::new(classifier.space(), tables, entity, family, &moves, &costs);
    let Some(distance) = near.distance() else {
        return Ok(Counterfactuals { distance: None, count: UBig::ZERO, listed: Vec::new() });
    };
    watch.check()?;
    let count = near.count_at(distance);
    let mut found = match wish.beyond && count < limit as u64 {
        true => near.nearest(limit, watch)?,
        false => near.at(distance, MOST_LISTED),
    };
    let listed = found.drain(..).map(|(cost, difference)| (cost, tables.codes.input(entity.code ^ difference)));
    let listed = in_order(classifier.space(), entity, &costs, listed.collect(), limit);
    Ok(Counterfactuals { distance: Some(costs.exact(distance)), count: count.into(), listed })
}

/// Inputs by distance, then by the players that change, then by their bits.
fn in_order(
    space: &Space,
    entity: &Entity,
    costs: &Costs,
    found: Vec<(u64, Vec<bool>)>,
    limit: usize,
) -> Vec<Counterfactual> {
    let mut listed: Vec<(u64, Vec<usize>, Vec<bool>)> =
        found.into_iter().map(|(cost, input)| (cost, space.changed(&entity.bits, &input), input)).collect();
    listed.sort();
    listed.truncate(limit);
    let made = |(cost, changed, input)| Counterfactual { input, changed, distance: costs.exact(cost) };
    listed.into_iter().map(made).collect()
}

/// The nearest inputs from the diagram of the requested class, or of all inputs of other classes.
fn on_diagram(
    diagrams: &Diagrams,
    classifier: &Classifier,
    entity: &Entity,
    wish: &Wish,
    moves: &Moves,
    costs: &Costs,
    watch: &Watch<'_>,
) -> Result<Counterfactuals, QueryError> {
    let region = match wish.class {
        Some(class) => &diagrams.classes[class][0],
        None => &diagrams.classes[entity.class][1],
    };
    let ways = Ways::new(region, entity, &moves.may_change, &costs.of, watch)?;
    let Some(distance) = ways.distance() else {
        return Ok(Counterfactuals { distance: None, count: UBig::ZERO, listed: Vec::new() });
    };
    let count = ways.count_nearest(watch)?;
    let limit = wish.limit.unwrap_or(MOST_LISTED).min(MOST_LISTED);
    let is_near = |next: u64| next == distance;
    let found = match wish.beyond {
        // Sorting needs all inputs at a distance, unless there are too many.
        true => {
            let last = std::cell::Cell::new(0);
            ways.nearest(
                |found, next| {
                    let goes_on = found < limit || next == last.get() && found < MOST_LISTED;
                    last.set(next);
                    goes_on
                },
                watch,
            )?
        }
        false => ways.nearest(|found, next| is_near(next) && found < MOST_LISTED.min(limit.max(SORTED)), watch)?,
    };
    let listed = in_order(classifier.space(), entity, costs, found, limit);
    Ok(Counterfactuals { distance: Some(costs.exact(distance)), count, listed })
}

/// Costs as integers over a common denominator.
pub(super) struct Costs {
    pub(super) of: Vec<u64>,
    denominator: UBig,
}

impl Costs {
    pub(super) fn new(space: &Space, given: Option<&[RBig]>) -> Result<Self, QueryError> {
        let Some(given) = given else {
            return Ok(Costs { of: vec![1; space.players().len()], denominator: UBig::ONE });
        };
        use dashu_base::Gcd;
        let denominator = given.iter().fold(UBig::ONE, |all, cost| {
            let own = cost.denominator();
            &all / (&all).gcd(own) * own
        });
        let whole = |cost: &RBig| {
            let scaled = cost.numerator().unsigned_abs() * (&denominator / cost.denominator());
            u64::try_from(scaled).map_err(|_| QueryError::LargeCosts)
        };
        let of = given.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        let sum = of.iter().try_fold(0u64, |sum, &cost| sum.checked_add(cost)).ok_or(QueryError::LargeCosts)?;
        if sum == FORBIDDEN {
            return Err(QueryError::LargeCosts);
        }
        Ok(Costs { of, denominator })
    }

    pub(super) fn exact(&self, cost: u64) -> RBig {
        RBig::from_parts(cost.into(), self.denominator.clone())
    }
}

/// Which features may change, seen from an entity.
pub(super) struct Moves {
    /// For each feature whether it may differ from the entity.
    pub(super) may_change: Vec<bool>,
}

impl Moves {
    fn of(entity: &Entity, wish: &Wish) -> Self {
        let mut may_change = vec![true; entity.bits.len()];
        wish.not_up.iter().filter(|&&feature| !entity.bits[feature]).for_each(|&feature| may_change[feature] = false);
        wish.not_down.iter().filter(|&&feature| entity.bits[feature]).for_each(|&feature| may_change[feature] = false);
        Moves { may_change }
    }

    pub(super) fn all(features: usize) -> Self {
        Moves { may_change: vec![true; features] }
    }
}

/// Differences from an entity with their costs.
pub(super) struct Near<'a> {
    family: SetFamily,
    /// For each cost of the six low bits, ascending, a mask of the numbers below 64 with that cost.
    low: Vec<(u64, u64)>,
    /// The runs of the high bits.
    high: Vec<RunCost>,
    /// The cost of each high run, if each is one bit that may change and all cost the same.
    each: Option<u64>,
    tables: &'a ClassTables,
}

/// The cost of changing a run, and the changes that are not allowed.
struct RunCost {
    shift: u32,
    mask: u64,
    cost: u64,
    /// Bits that must not change.
    kept_bits: u64,
    /// Differences that are not allowed.
    kept_values: Vec<u64>,
}

impl RunCost {
    fn is_out(&self, difference: u64) -> bool {
        difference & self.kept_bits != 0 || self.kept_values.contains(&difference)
    }
}

impl<'a> Near<'a> {
    /// The differences of a family that the moves allow.
    pub(super) fn new(
        space: &Space,
        tables: &'a ClassTables,
        entity: &Entity,
        family: SetFamily,
        moves: &Moves,
        costs: &Costs,
    ) -> Self {
        let codes = &tables.codes;
        let runs: Vec<RunCost> = codes
            .runs
            .iter()
            .map(|run| {
                let mask = (1u64 << run.width) - 1;
                let keeps = |difference: u64| {
                    let mut changed = codes.changed_features(space, run, entity.code, difference);
                    changed.any(|feature| !moves.may_change[feature])
                };
                // A block's bits change one by one, a column's value as a whole.
                let is_one_hot = space.players().is_one_hot(run.player);
                let (mut kept_bits, mut kept_values) = (0, Vec::new());
                match is_one_hot {
                    true => kept_values = (1..=mask).filter(|&difference| keeps(difference)).collect(),
                    false => kept_bits = (0..run.width).map(|bit| 1 << bit).filter(|&bit| keeps(bit)).sum(),
                }
                RunCost { shift: run.start, mask, cost: costs.of[run.player], kept_bits, kept_values }
            })
            .collect();
        let price = |runs: &[RunCost], difference: u64| {
            runs.iter().try_fold(0u64, |sum, run| {
                let value = difference >> run.shift & run.mask;
                match value {
                    0 => Some(sum),
                    _ if run.is_out(value) => None,
                    _ => Some(sum + run.cost),
                }
            })
        };
        let (low_runs, _) = runs.split_at(codes.low_runs);
        let mut low: Vec<(u64, u64)> = Vec::new();
        for number in 0..1u64 << codes.bits.min(6) {
            let Some(cost) = price(low_runs, number) else { continue };
            match low.iter_mut().find(|(known, _)| *known == cost) {
                Some((_, mask)) => *mask |= 1 << number,
                None => low.push((cost, 1 << number)),
            }
        }
        low.sort_unstable();
        let mut runs = runs;
        let high = runs.split_off(codes.low_runs);
        let first = high.first().map_or(0, |run| run.cost);
        let is_simple = |run: &RunCost| run.mask == 1 && run.kept_bits == 0 && run.kept_values.is_empty();
        let each = high.iter().all(|run| is_simple(run) && run.cost == first).then_some(first);
        Near { family, low, high, each, tables }
    }

    /// The cost of the high bits of a word's differences; `None` if they are not allowed.
    fn high_cost(&self, index: usize) -> Option<u64> {
        if let Some(each) = self.each {
            return Some(each * u64::from(index.count_ones()));
        }
        let mut sum = 0;
        for run in &self.high {
            let value = (index as u64) << 6 >> run.shift & run.mask;
            if value != 0 {
                if run.is_out(value) {
                    return None;
                }
                sum += run.cost;
            }
        }
        Some(sum)
    }

    fn words(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.family.words.iter().copied().enumerate().filter(|(_, word)| *word != 0)
    }

    /// The smallest cost.
    pub(super) fn distance(&self) -> Option<u64> {
        let mut best = FORBIDDEN;
        for (index, word) in self.words() {
            if self.low.iter().all(|(_, mask)| word & mask == 0) {
                continue;
            }
            let Some(high) = self.high_cost(index).filter(|high| *high < best) else { continue };
            if let Some((low, _)) = self.low.iter().find(|(_, mask)| word & mask != 0) {
                best = best.min(high + low);
            }
        }
        (best != FORBIDDEN).then_some(best)
    }

    /// The number of differences of this cost.
    pub(super) fn count_at(&self, distance: u64) -> u64 {
        self.masks_at(distance).map(|(_, word)| u64::from(word.count_ones())).sum()
    }

    /// The differences of this cost, as word indices and masks.
    fn masks_at(&self, distance: u64) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.words().filter_map(move |(index, word)| {
            let low = distance.checked_sub(self.high_cost(index)?)?;
            let (_, mask) = self.low.iter().find(|(cost, _)| *cost == low)?;
            (word & mask != 0).then_some((index, word & mask))
        })
    }

    /// At most `most` differences of this cost.
    fn at(&self, distance: u64, most: usize) -> Vec<(u64, u64)> {
        let each =
            self.masks_at(distance).flat_map(|(index, word)| ones(word).map(move |bit| (index as u64) << 6 | bit));
        each.take(most).map(|difference| (distance, difference)).collect()
    }

    /// The cheapest `most` differences, and all others with the last one's cost.
    fn nearest(&self, most: usize, watch: &Watch<'_>) -> Result<Vec<(u64, u64)>, QueryError> {
        let mut costs: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
        for (index, word) in self.words() {
            watch.check()?;
            let Some(high) = self.high_cost(index) else { continue };
            for (low, mask) in self.low.iter().filter(|(_, mask)| word & mask != 0) {
                *costs.entry(high + low).or_default() += u64::from((word & mask).count_ones());
            }
        }
        let mut found = Vec::new();
        for cost in costs.into_keys() {
            if found.len() >= most {
                break;
            }
            found.extend(self.at(cost, MOST_LISTED));
        }
        Ok(found)
    }

    /// The number of differences of cost 0, 1, 2, ..., if every player costs 1.
    pub(super) fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.tables.codes.runs.len() + 1];
        for (index, word) in self.words() {
            let Some(high) = self.high_cost(index) else { continue };
            for (low, mask) in &self.low {
                counts[(high + low) as usize] += u64::from((word & mask).count_ones());
            }
        }
        counts
    }
}
