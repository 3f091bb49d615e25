//! The partial-sums route: wide inputs, few neurons in the first layer, integer weights.
//!
//! All states that the network can be in ([`SumNetwork`]) are enumerated level by level over the variables; equal
//! states are merged, and a state in which the label is decided has no successors. When at most nine variables are
//! left, the residual function of each state is evaluated as a block of a truth table; from there the diagram is
//! reduced upwards. This is the dynamic programming over partial sums that compiles a single neuron, applied to all
//! neurons of a layer at once; compare Shi, Shih, Darwiche and Choi, "On Tractable Representations of Binary Neural
//! Networks", KR 2020 (doi 10.24963/kr.2020/91), who compile neurons one by one and conjoin them.
//!
//! Cost: proportional to the number of states, which at level k is at most 2^k and at most the product of the first
//! layer's ranges; each takes a few dozen bytes while its level is processed and eight afterwards. From half a million
//! states on, the enumeration ends if the growth of the levels predicts many times more states than allowed, instead of
//! filling memory.

use super::order::check_order;
use super::reduce::Reducer;
use super::sum_state::{Open, Outcome, SumNetwork};
use super::{DiagramError, Obdd};
use crate::lit::{Stopped, Var, Watch};
use crate::model::{AllInputs, BlockScratch, Label};
use hashbrown::HashTable;
use rayon::prelude::*;

/// Limits of the partial-sums route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsLimits {
    /// The most nodes in the diagram.
    pub max_nodes: usize,
    /// The most states over all levels.
    pub max_states: usize,
    /// If the growth of the levels predicts many times this number of states, the enumeration ends early.
    pub max_expected: usize,
}

impl Default for SumsLimits {
    fn default() -> Self {
        SumsLimits { max_nodes: usize::MAX, max_states: 1 << 28, max_expected: 1 << 28 }
    }
}

/// From this many states on, their total number is predicted from the growth of the levels so far.
const GROWN: usize = 1 << 19;
/// How many levels the growth is averaged over.
const LATELY: usize = 4;
/// An order is given up only if the prediction exceeds the limit by this factor, because growth may end earlier than
/// usual.
const DOUBT: f64 = 4.0;
/// The enumeration may end when at most this many variables are left.
const MAX_BLOCK: usize = 9;
/// While the blocks would take more words than this, the enumeration continues.
const MAX_WORDS: usize = 1 << 27;
/// States are distributed over this many tables by their hash, so that threads can work in parallel.
const SHARD_BITS: u32 = 4;
const SHARDS: usize = 1 << SHARD_BITS;
/// How many states are expanded before their successors are inserted into the tables.
const BATCH: usize = 1 << 16;
/// Codes from here on are constants; other codes are a shard and a position in it.
const CONSTANT: u32 = u32::MAX - 1;

/// The states of one level, packed, in shards.
struct Level {
    shards: Vec<Shard>,
}

#[derive(Default)]
struct Shard {
    words: Vec<u64>,
    table: HashTable<u32>,
    count: u32,
}

/// Compiles a label to a reduced diagram, with its inputs tested in the given order, root first.
///
/// ```
/// use boolshap::diagram::{SumsLimits, compile_sums};
/// use boolshap::lit::{Var, Watch};
/// use boolshap::model::{Gate, Label, Network, Output};
/// // At least 30 of 60.
/// let network = Network::new(60, vec![], Output::Step(Gate::new(vec![1; 60], 30).unwrap())).unwrap();
/// let label = Label::of_class(&network, 1).unwrap();
/// let order: Vec<Var> = (0..60).map(Var::new).collect();
/// let diagram = compile_sums(&label, &order, SumsLimits::default(), &Watch::unlimited()).unwrap();
/// assert_eq!(diagram.len(), 30 * 31);
/// ```
pub fn compile_sums(label: &Label, order: &[Var], limits: SumsLimits, watch: &Watch<'_>) -> Result<Obdd, DiagramError> {
    check_order(order, label.inputs())?;
    let variables = order.len();
    if let Some(value) = label.constant() {
        return Ok(Obdd::from_levels(order.to_vec(), vec![Vec::new(); variables], value.into()));
    }
    let network = SumNetwork::new(label, order)?;
    let (mut level, root) = Level::start(&network);
    // For each level, the successors of its states, shard by shard.
    let mut successors: Vec<Vec<[u32; 2]>> = Vec::new();
    let mut offsets: Vec<Vec<u32>> = vec![level.offsets()];
    let mut states = level.len();
    let mut sizes = vec![states];
    let mut depth = 0;
    loop {
        let left = variables - depth;
        if left <= 6 || left <= MAX_BLOCK && level.len() << (left - 6) <= MAX_WORDS {
            break;
        }
        let stopped = |stopped: Stopped| limits.at(stopped.into(), depth, variables, states);
        watch.count(states as u64, "states").map_err(stopped)?;
        let (next, links) = level
            .successors(&network, depth, &limits, states, watch)
            .map_err(|cause| limits.at(cause, depth, variables, states))?;
        states += next.len();
        sizes.push(next.len());
        let about = expected_in_all(&sizes, variables);
        if states >= GROWN && about > DOUBT * limits.max_expected as f64 {
            return Err(DiagramError::TooManyExpected { about: about as u64, limit: limits.max_expected });
        }
        successors.push(links);
        offsets.push(next.offsets());
        level = next;
        depth += 1;
    }
    let mut reducer = Reducer::new(variables, limits.max_nodes);
    let mut nodes = level.blocks(&network, label, order, depth, &mut reducer, watch)?;
    drop(level);
    let mut pairs = Vec::new();
    while let Some(links) = successors.pop() {
        watch.check()?;
        let below = &offsets[successors.len() + 1];
        let find = |code: u32| match code.checked_sub(CONSTANT) {
            Some(value) => value,
            None => nodes[(below[(code >> (32 - SHARD_BITS)) as usize] + (code & (!0 >> SHARD_BITS))) as usize],
        };
        pairs.clear();
        pairs.extend(links.iter().map(|&[lo, hi]| u64::from(find(lo)) << 32 | u64::from(find(hi))));
        drop(links);
        nodes = reducer.level(&pairs)?;
    }
    let root = match root.checked_sub(CONSTANT) {
        Some(value) => value,
        None => nodes[0],
    };
    Ok(reducer.finish(order, |_| true, root).reached())
}

/// Predicts the total number of states from the sizes of the first levels. Levels grow while sums spread, and shrink as
/// gates are settled: the growth rate is assumed to fall evenly until the last level is as small as the present one.
/// Levels inside a block of the truth table are not enumerated.
fn expected_in_all(sizes: &[usize], levels: usize) -> f64 {
    let now = sizes.len() - 1;
    let (Some(&last), Some(&before)) = (sizes.last(), sizes.get(now.wrapping_sub(LATELY))) else { return 0.0 };
    let growth = (last as f64 / before.max(1) as f64).ln() / LATELY as f64;
    let listed: f64 = sizes.iter().map(|&size| size as f64).sum();
    let left = (levels - now) as f64;
    let to_come = levels.saturating_sub(MAX_BLOCK).saturating_sub(now);
    let size = |ahead: usize| last as f64 * (growth.max(0.0) * ahead as f64 * (1.0 - ahead as f64 / left)).exp();
    listed + (1..=to_come).map(size).sum::<f64>()
}

impl SumsLimits {
    fn at(&self, cause: DiagramError, depth: usize, levels: usize, states: usize) -> DiagramError {
        DiagramError::Sums { cause: Box::new(cause), level: depth, levels, states }
    }
}

fn hash(key: &[u64]) -> u64 {
    let mut hash = 0x9E37_79B9_7F4A_7C15u64;
    for &word in key {
        hash = (hash ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        hash ^= hash >> 32;
    }
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Level {
    /// The level above all variables, with at most one state, and the code of the root.
    fn start(network: &SumNetwork) -> (Self, u32) {
        let mut level = Level { shards: (0..SHARDS).map(|_| Shard::default()).collect() };
        let mut state = network.start();
        if let Outcome::Constant(value) = network.settle(&mut state, 0) {
            return (level, CONSTANT + u32::from(value));
        }
        let mut words = vec![0; network.words()];
        network.pack(&state, &mut words);
        // As the only state, it may go into shard 0 whatever its hash.
        level.shards[0].words = words;
        level.shards[0].count = 1;
        (level, 0)
    }

    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.count as usize).sum()
    }

    /// How many states come before each shard.
    fn offsets(&self) -> Vec<u32> {
        let mut total = 0;
        let before = |shard: &Shard| {
            total += shard.count;
            total - shard.count
        };
        self.shards.iter().map(before).collect()
    }

    /// All states of the next level, and the two successors of each state of this one.
    fn successors(
        self,
        network: &SumNetwork,
        depth: usize,
        limits: &SumsLimits,
        states: usize,
        watch: &Watch<'_>,
    ) -> Result<(Level, Vec<[u32; 2]>), DiagramError> {
        let (words, key) = (network.words(), network.key_words());
        // Large levels seldom grow by more than half, and growing a large table is expensive.
        let expected = self.len() * 3 / 2 / SHARDS;
        let mut next: Vec<Shard> = (0..SHARDS).map(|_| Shard::with_capacity(expected, words)).collect();
        let mut links: Vec<[u32; 2]> = Vec::with_capacity(self.len());
        for shard in self.shards {
            for batch in shard.words.chunks(BATCH * words) {
                let found: usize = next.iter().map(|shard| shard.count as usize).sum();
                watch.count((states + found) as u64, "states")?;
                let made = expand(network, depth, batch, words);
                // Each shard inserts its own states, in the order of the batch, so positions do not depend on threads.
                let mine = made.by_shard();
                let codes: Vec<Vec<(u32, u32)>> = next
                    .par_iter_mut()
                    .zip(mine)
                    .enumerate()
                    .map(|(index, (shard, mine))| shard.take(index, &mine, &made, words, key))
                    .collect();
                let start = links.len();
                links.resize(start + batch.len() / words, [0; 2]);
                for (child, &constant) in made.constants.iter().enumerate() {
                    links[start + child / 2][child % 2] = constant;
                }
                for (child, code) in codes.into_iter().flatten() {
                    links[start + child as usize / 2][child as usize % 2] = code;
                }
                let count: usize = next.iter().map(|shard| shard.count as usize).sum();
                if states + count > limits.max_states {
                    return Err(DiagramError::TooManyStates { limit: limits.max_states });
                }
            }
        }
        Ok((Level { shards: next }, links))
    }

    /// The nodes of the states of the last enumerated level, from their blocks of a truth table.
    fn blocks(
        &self,
        network: &SumNetwork,
        label: &Label,
        order: &[Var],
        depth: usize,
        reducer: &mut Reducer,
        watch: &Watch<'_>,
    ) -> Result<Vec<u32>, DiagramError> {
        let left = order.len() - depth;
        let inputs = AllInputs::below(label, order, left);
        let (words, each) = (network.words(), inputs.words());
        let mut table = vec![0u64; self.len() * each];
        let mut rest = table.as_mut_slice();
        for shard in &self.shards {
            let (mine, others) = rest.split_at_mut(shard.count as usize * each);
            rest = others;
            mine.par_chunks_mut(each * 256).zip(shard.words.par_chunks(words * 256)).try_for_each(
                |(out, states)| {
                    watch.check()?;
                    let mut state = network.start();
                    let mut needs = vec![0i64; network.first_gates()];
                    let mut scratch = BlockScratch::default();
                    for (out, packed) in out.chunks_exact_mut(each).zip(states.chunks_exact(words)) {
                        network.unpack(packed, &mut state);
                        network.first_needs(&state, &mut needs);
                        inputs.block(&needs, &mut scratch, out);
                    }
                    Ok::<_, Stopped>(())
                },
            )?;
        }
        let mut row = reducer.words(&table, left.min(6))?;
        drop(table);
        for _ in 6..left {
            watch.check()?;
            reducer.halve(&mut row)?;
        }
        Ok(row.into_nodes())
    }
}

/// The successors of a batch of states.
struct Expanded {
    /// Two packed states for each state of the batch, even where the label is decided.
    states: Vec<u64>,
    hashes: Vec<u64>,
    /// The code of a constant, or 0 where the label is still open.
    constants: Vec<u32>,
}

fn expand(network: &SumNetwork, depth: usize, batch: &[u64], words: usize) -> Expanded {
    let count = 2 * batch.len() / words;
    let mut made = Expanded { states: vec![0; count * words], hashes: vec![0; count], constants: vec![0; count] };
    let grain = 1 << 10;
    let outputs = made.states.par_chunks_mut(2 * grain * words);
    let outputs = outputs.zip(made.hashes.par_chunks_mut(2 * grain)).zip(made.constants.par_chunks_mut(2 * grain));
    batch.par_chunks(grain * words).zip(outputs).for_each(|(batch, ((states, hashes), constants))| {
        let mut from = network.start();
        let mut to: Open = from.clone();
        for (index, packed) in batch.chunks_exact(words).enumerate() {
            network.unpack(packed, &mut from);
            for value in [false, true] {
                to.clone_from(&from);
                let child = 2 * index + usize::from(value);
                match network.fix(&mut to, depth, value) {
                    Outcome::Constant(value) => constants[child] = CONSTANT + u32::from(value),
                    Outcome::Open => {
                        let out = &mut states[child * words..][..words];
                        network.pack(&to, out);
                        hashes[child] = hash(&out[..network.key_words()]);
                    }
                }
            }
        }
    });
    made
}

impl Expanded {
    /// The open successors of each shard.
    fn by_shard(&self) -> Vec<Vec<u32>> {
        let mut shards = vec![Vec::new(); SHARDS];
        for (child, (&hash, &constant)) in self.hashes.iter().zip(&self.constants).enumerate() {
            if constant == 0 {
                shards[(hash >> (64 - SHARD_BITS)) as usize].push(child as u32);
            }
        }
        shards
    }
}

impl Shard {
    fn with_capacity(states: usize, words: usize) -> Self {
        Shard { words: Vec::with_capacity(states * words), table: HashTable::with_capacity(states), count: 0 }
    }

    /// Inserts these successors and returns the code of each.
    fn take(&mut self, index: usize, mine: &[u32], made: &Expanded, words: usize, key: usize) -> Vec<(u32, u32)> {
        let mut codes = Vec::with_capacity(mine.len());
        for &child in mine {
            let state = &made.states[child as usize * words..][..words];
            // The table uses the top and bottom bits of the hash; the shard has used up the top ones.
            let hash = made.hashes[child as usize].rotate_left(SHARD_BITS);
            let kept = &mut self.words;
            let same = |&place: &u32| kept[place as usize * words..][..key] == state[..key];
            let place = match self.table.find(hash, same) {
                Some(&place) => place,
                None => {
                    let place = self.count;
                    kept.extend_from_slice(state);
                    self.count += 1;
                    let again =
                        |&place: &u32| self::hash(&kept[place as usize * words..][..key]).rotate_left(SHARD_BITS);
                    self.table.insert_unique(hash, place, again);
                    place
                }
            };
            codes.push((child, (index as u32) << (32 - SHARD_BITS) | place));
        }
        codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level sizes like those of two digit networks of BNNQuanalyst: 36-15-10-10, which compiles, and 64-10-10, which
    /// had 100 million states after 30 levels.
    #[test]
    fn growth_tells_what_will_not_fit() {
        let grown = |levels: usize, growth: f64| -> Vec<usize> {
            (0..levels)
                .map(|level| 2f64.powi(level.min(17) as i32) * growth.powi(level.saturating_sub(17) as i32))
                .map(|size| size as usize)
                .collect()
        };
        let allowed = SumsLimits::default().max_expected as f64;
        assert!(expected_in_all(&grown(22, 1.7), 64) > DOUBT * allowed);
        assert!((20..=27).all(|level| expected_in_all(&grown(level, 1.7), 36) < allowed));
        // An order whose levels no longer grow, or that has just begun, is not given up.
        assert!(expected_in_all(&[1 << 20; 30], 100) < allowed);
        assert_eq!(expected_in_all(&[1, 2, 4], 100), 0.0);
    }
}
