//! Games against background rows on circuits with few paths, above all trees.
//!
//! *Problem.* Explain very many entities against very many background rows. *Idea.* A decision diagram is the sum of
//! the conjunctions along its paths to true, of which an input satisfies at most one, and Shapley values are linear. On
//! one path, each player is a condition: entity and row each satisfy or violate what the path requires of the player's
//! features. If neither satisfies it, the path is never taken; if both do, the player does not matter. With p players
//! that only the entity satisfies and q that only the row satisfies, the path is taken by exactly one coalition, those
//! p players. So each of them scores (p-1)! q! / (p+q)! and each of the others -p! (q-1)! / (p+q)!. All that matters of
//! a row is therefore which of the path's d conditions it satisfies, and rows are counted by this pattern once. The
//! sums over all rows are then tabulated for each of the 2^d sets of conditions that an entity can satisfy. Paths that
//! share most of their conditions are added up in one table, and an entity is explained by one lookup per table. The
//! positions to look up are found for 64 entities at a time.
//!
//! Counting by pattern on the leaves of trees: Nadel and Wettenstein, "From Decision Trees to Boolean Logic: A Fast and
//! Unified SHAP Algorithm" (WOODELF), 2025.
//!
//! *Cost.* 3^d d for the table of a path, then one step per player of each table for an entity, however many rows there
//! are. *Error.* All counts are whole numbers; those of a player on all paths and rows weigh at most 1 with either
//! sign.

use super::error_bound::in_all;
use super::fold::{Folded, Item, Term};
use super::players::Players;
use super::starts::Sample;
use crate::circuit::Circuit;
use crate::data::Bits;
use crate::lit::Lit;

/// Limits for all tables together: steps to make them, and numbers in them.
const MOST_STEPS: u64 = 1 << 27;
const MOST_NUMBERS: usize = 1 << 22;
/// The most conditions of a shared table: the first of these numbers with which all tables fit into the cache.
const SHARED: [usize; 3] = [10, 8, 6];
const CACHED_NUMBERS: usize = 1 << 16;
/// The cost of evaluating a single row, in conditions.
const CONDITIONS_OF_A_ROW: usize = 50;
/// With fewer steps than this, explaining an entity is faster than finding an equal one.
const FEW_STEPS: usize = 200;

/// The condition of a path on one player: these literals hold.
struct Condition {
    player: usize,
    literals: Vec<Lit>,
}

/// Paths with a common table: a number for each player and set of conditions.
#[derive(Default)]
struct Group {
    /// The conditions of all paths; a condition on a single feature is stored as "the feature is 1".
    conditions: Vec<Vec<Lit>>,
    players: Vec<usize>,
    /// For each path its number, and for each of its conditions the position in `conditions` and whether it is negated.
    paths: Vec<(usize, Vec<(usize, bool)>)>,
    /// The position where its table begins.
    table: usize,
}

impl Group {
    /// The group with one more path.
    fn with(&self, number: usize, path: &[Condition]) -> Group {
        let (mut conditions, mut players, mut places) = (self.conditions.clone(), self.players.clone(), Vec::new());
        for Condition { player, literals } in path {
            let is_opposite = literals.len() == 1 && literals[0].is_negative();
            let positive = if is_opposite { vec![!literals[0]] } else { literals.clone() };
            places.push((place_of(&mut conditions, positive), is_opposite));
            place_of(&mut players, *player);
        }
        let paths = self.paths.iter().cloned().chain([(number, places)]).collect();
        Group { conditions, players, paths, table: self.table }
    }

    fn numbers(&self) -> usize {
        self.players.len() << self.conditions.len()
    }

    /// The sum of the tables of its paths.
    fn tabulated(&self, paths: &[Vec<Condition>], sample: &Sample) -> Vec<f64> {
        let mut sums = vec![0.0; self.numbers()];
        let width = self.players.len();
        for (number, places) in &self.paths {
            let (path, table) = (&paths[*number], tabulated(&paths[*number], sample));
            let column = |condition: &Condition| self.players.iter().position(|&player| player == condition.player);
            let columns: Vec<usize> = path.iter().filter_map(column).collect();
            for set in 0..1usize << self.conditions.len() {
                let holds = |&(place, is_opposite): &(usize, bool)| usize::from((set >> place & 1 == 1) != is_opposite);
                let fulfilled = places.iter().enumerate().fold(0, |own, (bit, place)| own | holds(place) << bit);
                let numbers = &table[fulfilled * path.len()..][..path.len()];
                columns.iter().zip(numbers).for_each(|(column, number)| sums[set * width + column] += number);
            }
        }
        sums
    }
}

/// The position of an item, which is appended if it is new.
fn place_of<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|other| *other == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

/// The paths of a circuit and the sums over all rows.
pub(super) struct Conjunctions {
    groups: Vec<Group>,
    numbers: Vec<f64>,
    /// The number of paths, and the most conditions on one path.
    paths: usize,
    longest: usize,
}

impl Conjunctions {
    /// `None` if the circuit is not a decision diagram, or has too many paths for this to pay off.
    pub(super) fn new(circuit: &Circuit, players: &Players, sample: &Sample) -> Option<Self> {
        let limit = sample.counts.len().saturating_mul(CONDITIONS_OF_A_ROW);
        let paths: Vec<_> = paths(circuit, limit)?.iter().map(|path| conditions(path, players)).collect();
        let (mut numbers, mut steps) = (0usize, 0u64);
        for width in paths.iter().map(Vec::len) {
            steps = steps.saturating_add(3u64.saturating_pow(width as u32).saturating_mul(width as u64));
            numbers = numbers.saturating_add(width << width.min(32));
            if steps > MOST_STEPS || numbers > MOST_NUMBERS {
                return None;
            }
        }
        let groups = SHARED.iter().find_map(|&most| grouped(&paths, most, CACHED_NUMBERS));
        let groups = groups.or_else(|| grouped(&paths, 0, MOST_NUMBERS))?;
        let numbers = groups.iter().flat_map(|group| group.tabulated(&paths, sample)).collect();
        let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
        Some(Conjunctions { groups, numbers, paths: paths.len(), longest })
    }

    /// Whether an entity takes so few steps that deduplication does not pay off.
    pub(super) fn is_short(&self) -> bool {
        self.groups.iter().map(|group| group.players.len()).sum::<usize>() <= FEW_STEPS
    }

    /// Adds the Shapley values of the up to 64 entities of a block to rows of this width; the first player's is at
    /// index 1.
    pub(super) fn add_scores(&self, entities: &Bits, block: usize, width: usize, rows: &mut [f64]) {
        let mut words = Vec::new();
        for Group { conditions, players, table, .. } in &self.groups {
            words.clear();
            words.extend(conditions.iter().map(|literals| word(literals, entities, block)));
            let table = &self.numbers[*table..];
            for (row, place) in rows.chunks_exact_mut(width).zip(places(&words)) {
                let numbers = &table[place as usize * players.len()..][..players.len()];
                let scores = &mut row[1..];
                players.iter().zip(numbers).for_each(|(&player, number)| scores[player] += number);
            }
        }
    }

    /// Bounds the error of scores: a number of a path is the quotient of sums of d positive products, and one number
    /// per path is added up.
    pub(super) fn error_bound(&self) -> f64 {
        in_all(2.0 * (self.longest as f64 + 5.0) + 2.0 * self.paths as f64 + 2.0)
    }
}

/// A mask of the rows, among 64, in which all of these literals hold.
fn word(literals: &[Lit], rows: &Bits, block: usize) -> u64 {
    let word = |lit: &Lit| rows.feature(lit.var().index())[block] ^ u64::from(lit.is_negative()).wrapping_neg();
    literals.iter().fold(u64::MAX, |all, lit| all & word(lit))
}

/// For each of 64 rows, the number formed by its bits in these words; the first word has the lowest bits.
fn places(words: &[u64]) -> [u32; 64] {
    let mut places = [0; 64];
    for (byte, words) in words.chunks(8).enumerate() {
        for (rows, places) in places.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let bytes = words.iter().enumerate();
            let square = bytes.fold(0, |square, (bit, word)| square | (word >> (8 * rows) & 0xFF) << (8 * bit));
            let numbers = transposed(square).to_le_bytes();
            places.iter_mut().zip(numbers).for_each(|(place, number)| *place |= u32::from(number) << (8 * byte));
        }
    }
    places
}

/// Transposes an 8 by 8 bit matrix by swapping corners of blocks of 2, 4 and 8 across the diagonal.
fn transposed(mut square: u64) -> u64 {
    for (shift, corner) in [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)] {
        let differ = (square ^ square >> shift) & corner;
        square ^= differ ^ differ << shift;
    }
    square
}

/// Groups neighbouring paths as long as a group has at most `most` conditions; `None` if the tables then have more than
/// `room` numbers.
fn grouped(paths: &[Vec<Condition>], most: usize, room: usize) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let joined = groups.last().map(|last| last.with(number, path)).filter(|group| group.conditions.len() <= most);
        match (joined, groups.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => groups.push(Group::default().with(number, path)),
        }
    }
    let mut numbers = 0;
    for group in &mut groups {
        group.table = numbers;
        numbers += group.numbers();
    }
    (numbers <= room).then_some(groups)
}

/// The literals of every path to true; `None` if there are gates, or more than `limit` literals altogether.
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

/// Groups the literals of a path by player.
fn conditions(path: &[Lit], players: &Players) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    for &lit in path {
        let player = players.of(lit.var().index());
        match conditions.iter_mut().find(|condition| condition.player == player) {
            Some(condition) => condition.literals.push(lit),
            None => conditions.push(Condition { player, literals: vec![lit] }),
        }
    }
    conditions.iter_mut().for_each(|condition| condition.literals.sort_unstable());
    conditions
}

/// For each set of conditions that an entity can satisfy, each player's mean gain from this path over the rows.
fn tabulated(conditions: &[Condition], sample: &Sample) -> Vec<f64> {
    let d = conditions.len();
    let everything = (1usize << d) - 1;
    let mut counts = vec![0u64; 1 << d];
    for (block, rows) in sample.counts.chunks(64).enumerate() {
        let words: Vec<u64> =
            conditions.iter().map(|condition| word(&condition.literals, &sample.rows, block)).collect();
        rows.iter().zip(places(&words)).for_each(|(count, place)| counts[place as usize] += count);
    }
    let factorial = |k: usize| (2..=k).map(|factor| factor as f64).product::<f64>();
    // The gain of one of `mine` players that must be present, with `theirs` that must be absent.
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
            1 => gained(&of_each[bit * (d + 1)..][..d + 1]) / sample.total as f64,
            _ => -lost(&of_others) / sample.total as f64,
        }));
    }
    table
}
