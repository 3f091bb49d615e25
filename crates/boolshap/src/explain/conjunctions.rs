//! Games against background rows on circuits of few paths: trees above all.
//!
//! *Problem.* Explain very many entities against very many background rows. *Idea.* A decision diagram is the sum of the
//! conjunctions along its paths to true, of which an input fulfils at most one, and Shapley values are linear. On one
//! path, a player is a condition: entity and row fulfil what the path asks of the player's features, or not. If neither
//! does, the path is never taken; if both do, the player does not matter; with p players that only the entity fulfils and
//! q that only the row does, the path is taken by exactly the coalition of those p, so that each of them scores
//! (p-1)! q! / (p+q)! and each of the others -p! (q-1)! / (p+q)!. So all that matters of a row is which of the path's d
//! conditions it fulfils, and rows are counted by that once. The sums over all rows are then tabulated for each of
//! the 2^d sets of conditions that an entity can fulfil, and an entity is explained by a look into the table of each path.
//!
//! Nadel and Wettenstein, "From Decision Trees to Boolean Logic: A Fast and Unified SHAP Algorithm" (WOODELF), 2025, for
//! counting by pattern on the leaves of trees.
//!
//! *Cost.* 3^d d for the table of a path, then d steps a path for an entity, however many rows there are. *Error.* All
//! counts are whole numbers; those of a player on all paths and rows weigh at most 1 with either sign.

use super::error_bound::in_all;
use super::fold::{Folded, Item, Term};
use super::players::Players;
use super::starts::Sample;
use crate::circuit::Circuit;
use crate::lit::Lit;

/// The most steps for all tables, and the most numbers in them.
const MOST_STEPS: u64 = 1 << 27;
const MOST_NUMBERS: usize = 1 << 22;
/// Inputs are words, a bit for each feature that matters.
const MOST_FEATURES: usize = 64;
/// What looking at a single row costs, in conditions.
const CONDITIONS_OF_A_ROW: usize = 50;

/// What a path asks of one player: these bits of an input must be so.
#[derive(Clone, Copy)]
struct Condition {
    player: usize,
    mask: u64,
    value: u64,
}

impl Condition {
    fn holds(&self, input: u64) -> bool {
        (input ^ self.value) & self.mask == 0
    }
}

/// A path to true, and where its table begins: for each set of conditions a number for each of them.
struct Path {
    conditions: Vec<Condition>,
    table: usize,
}

/// The paths of a circuit and the sums over all rows.
pub(super) struct Conjunctions {
    /// The features that are the bits of an input.
    features: Vec<usize>,
    paths: Vec<Path>,
    numbers: Vec<f64>,
}

impl Conjunctions {
    /// Nothing if the circuit is no decision diagram, or has too many paths for this to pay.
    pub(super) fn new(circuit: &Circuit, players: &Players, sample: &Sample) -> Option<Self> {
        let mentioned = circuit.mentioned();
        if mentioned.len() > MOST_FEATURES {
            return None;
        }
        let features: Vec<usize> = mentioned.iter().map(|var| var.index()).collect();
        let limit = sample.counts.len().saturating_mul(CONDITIONS_OF_A_ROW);
        let literals = paths(circuit, limit)?;
        let rows: Vec<(u64, u64)> = (0..sample.counts.len())
            .map(|row| (input(&features, |feature| sample.rows.get(row, feature)), sample.counts[row]))
            .collect();
        let (mut found, mut numbers, mut steps) = (Vec::with_capacity(literals.len()), 0usize, 0u64);
        for path in &literals {
            let conditions = conditions(path, &features, players);
            let width = conditions.len() as u32;
            steps = steps.saturating_add(3u64.saturating_pow(width).saturating_mul(u64::from(width)));
            found.push(Path { table: numbers, conditions });
            numbers = numbers.saturating_add((width as usize) << width.min(32));
            if steps > MOST_STEPS || numbers > MOST_NUMBERS {
                return None;
            }
        }
        let mut made = Conjunctions { features, paths: found, numbers: Vec::with_capacity(numbers) };
        for path in 0..made.paths.len() {
            let table = tabulated(&made.paths[path].conditions, &rows, sample.total);
            made.numbers.extend(table);
        }
        Some(made)
    }

    /// The Shapley values of an entity, one for each player.
    pub(super) fn scores(&self, entity: &[bool], width: usize) -> Vec<f64> {
        let entity = input(&self.features, |feature| entity[feature]);
        let mut scores = vec![0.0; width];
        for Path { conditions, table } in &self.paths {
            let fulfilled = set_of(conditions, entity);
            let numbers = &self.numbers[table + fulfilled * conditions.len()..][..conditions.len()];
            for (condition, number) in conditions.iter().zip(numbers) {
                scores[condition.player] += number;
            }
        }
        scores
    }

    /// How far scores can be from the true ones: a number of a table is the quotient of sums of d positive products, and
    /// one of each path is added up.
    pub(super) fn error_bound(&self) -> f64 {
        let most = self.paths.iter().map(|path| path.conditions.len()).max().unwrap_or(0) as f64;
        in_all(2.0 * (most + 5.0) + 2.0 * self.paths.len() as f64 + 2.0)
    }
}

/// An input as a word.
fn input(features: &[usize], value: impl Fn(usize) -> bool) -> u64 {
    features.iter().enumerate().fold(0, |word, (bit, &feature)| word | u64::from(value(feature)) << bit)
}

/// The conditions that an input fulfils, as bits.
fn set_of(conditions: &[Condition], input: u64) -> usize {
    conditions.iter().enumerate().fold(0, |set, (bit, condition)| set | usize::from(condition.holds(input)) << bit)
}

/// The literals of every path to true; nothing if there are gates, or more than this many literals in all.
fn paths(circuit: &Circuit, limit: usize) -> Option<Vec<Vec<Lit>>> {
    let folded = Folded::new(circuit);
    let (mut paths, mut literals, mut visited) = (Vec::new(), 0, 0);
    let mut waiting: Vec<(Term, Vec<Lit>)> = vec![(folded.root, Vec::new())];
    while let Some((term, path)) = waiting.pop() {
        visited += 1 + path.len();
        if visited > 4 * limit || literals > limit {
            return None;
        }
        match term.index() {
            0 => {}
            1 => {
                literals += path.len();
                paths.push(path);
            }
            node => match folded.items[node - 2] {
                Item::Decision { var, lo, hi } => {
                    let with = |lit: Lit| path.iter().copied().chain([lit]).collect::<Vec<Lit>>();
                    waiting.extend([(hi, with(var.positive())), (lo, with(var.negative()))]);
                }
                Item::Sum { .. } => return None,
            },
        }
    }
    Some(paths)
}

/// The literals of a path by player.
fn conditions(path: &[Lit], features: &[usize], players: &Players) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    for lit in path {
        let feature = lit.var().index();
        let bit = features.partition_point(|&other| other < feature);
        let player = players.of(feature);
        let known = conditions.iter().position(|condition| condition.player == player);
        let place = known.unwrap_or_else(|| {
            conditions.push(Condition { player, mask: 0, value: 0 });
            conditions.len() - 1
        });
        conditions[place].mask |= 1 << bit;
        conditions[place].value |= u64::from(!lit.is_negative()) << bit;
    }
    conditions
}

/// For each set of conditions that an entity can fulfil, the mean over the rows of what each player gains by this path.
fn tabulated(conditions: &[Condition], rows: &[(u64, u64)], total: u64) -> Vec<f64> {
    let d = conditions.len();
    let everything = (1usize << d) - 1;
    let mut counts = vec![0u64; 1 << d];
    rows.iter().for_each(|&(row, count)| counts[set_of(conditions, row)] += count);
    let factorial = |k: usize| (2..=k).map(|factor| factor as f64).product::<f64>();
    // What a player of `mine` gains beside `theirs` that must be out.
    let share = |mine: usize, theirs: usize| factorial(mine - 1) * factorial(theirs) / factorial(mine + theirs);
    let mut table = Vec::with_capacity(d << d);
    // By p: the rows that count for each condition of the entity, and for all others together.
    let mut of_each = vec![0u64; d * (d + 1)];
    let mut of_others = vec![0u64; d + 1];
    for fulfilled in 0..=everything {
        of_each.fill(0);
        of_others.fill(0);
        let mut only_entity = fulfilled;
        loop {
            let count = counts[everything ^ only_entity];
            if count > 0 {
                let p = only_entity.count_ones() as usize;
                of_others[p] += count;
                (0..d).filter(|bit| only_entity >> bit & 1 == 1).for_each(|bit| of_each[bit * (d + 1) + p] += count);
            }
            if only_entity == 0 {
                break;
            }
            only_entity = (only_entity - 1) & fulfilled;
        }
        let q = d - fulfilled.count_ones() as usize;
        let gained = |counts: &[u64]| (1..=d - q).map(|p| counts[p] as f64 * share(p, q)).sum::<f64>();
        let lost = |counts: &[u64]| (0..=d - q).map(|p| counts[p] as f64 * share(q, p)).sum::<f64>();
        table.extend((0..d).map(|bit| match fulfilled >> bit & 1 {
            1 => gained(&of_each[bit * (d + 1)..][..d + 1]) / total as f64,
            _ => -lost(&of_others) / total as f64,
        }));
    }
    table
}
