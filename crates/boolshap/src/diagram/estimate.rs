//! Estimates the size of a diagram before it is compiled.
//!
//! *Idea.* Cheap cases are compiled: a table of few inputs, partial sums with few states, and apply with few nodes give
//! the diagram itself, so its size is exact. Otherwise the inputs tested first are repeatedly fixed at random, and the
//! remaining part of the label, a table of [`PART`] inputs, is inspected. Every function of the last j inputs that
//! occurs there, and depends on the first of these, is a node of the diagram. The numbers of functions that occur in
//! exactly one part and in exactly two tell how many occur in none of the parts inspected.
//!
//! *Many inputs.* For partial sums, a sample of each level's states is followed to the next level; how often two of
//! them lead to the same state tells how many states the next level has. States are not yet nodes, and rare states are
//! sampled too seldom.
//!
//! *Cost.* [`PARTS`] tables of 2^17 labels, a few tenths of a second for any network. *Error.* The estimator is a lower
//! bound in expectation if all parts are equally likely to hold a node. On random networks, the tests find the nodes of
//! tables within a factor of 1.5, and of partial sums within a factor of 10. For apply, nothing is known in advance.
//! Chao and Lin, "Nonparametric Lower Bounds for Species Richness and Shared Species Richness under Sampling without
//! Replacement", Biometrics, 2012 (doi 10.1111/j.1541-0420.2011.01739.x).
//!
//! Random numbers come from a fixed seed, so the same network always gets the same estimate.

use super::compile_direct::{Direct, DirectOptions, Route, by_promise, compile_direct};
use super::sum_state::{Open, Outcome, SumNetwork};
use super::{DiagramError, MAX_TABLE_INPUTS, Obdd, candidate_orders, reduce_table};
use crate::data::Seeded;
use crate::lit::{Instant, Stopped, Var, Watch};
use crate::model::{AllInputs, Label};
use std::collections::HashMap;

/// Tables of up to this many inputs are compiled, so that their size is exact.
const EXACT_INPUTS: usize = 22;
/// The limits on the states and nodes of a trial compilation.
const TRIAL_STATES: usize = 1 << 17;
const TRIAL_NODES: usize = 1 << 16;
/// Fewer pairs of states than this that lead to the same state are too few for a reliable estimate.
const FEW_PAIRS: f64 = 32.0;
/// How many states of a level are followed.
const SAMPLED_STATES: usize = 1 << 12;
/// The most sums to compute: those of all gates of all sampled states of all levels. Networks with thousands of inputs
/// and hundreds of gates get a smaller sample, so that an order takes less than a second.
const SAMPLED_SUMS: usize = 1 << 25;
const FEWEST_STATES: usize = 1 << 6;
/// The most inputs that are fixed in one step because they count alike.
const MOST_ALIKE: usize = 16;
/// The number of inputs of a part, which [`AllInputs`] fills in one call.
const PART: usize = 17;
/// The number of parts inspected.
const PARTS: usize = 192;
/// The binary logarithm of the number of parts that are compiled to measure the time.
const TIMED: usize = 5;

/// How many nodes a diagram will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Exact: a trial compiled the diagram.
    Exact(u64),
    /// About this many, estimated from a sample.
    About(u64),
    /// More than this many: the limit at which the estimate was given up.
    MoreThan(u64),
}

impl Size {
    /// The exact or estimated number; `None` if only a lower bound is known.
    pub fn nodes(self) -> Option<u64> {
        match self {
            Size::Exact(nodes) | Size::About(nodes) => Some(nodes),
            Size::MoreThan(_) => None,
        }
    }
}

/// The expected cost of compiling a label.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The route that will be taken first.
    pub route: Route,
    /// How many inputs the label uses.
    pub inputs: usize,
    /// How many gates it has, layer by layer.
    pub gates: Vec<usize>,
    /// The size of the diagram.
    pub size: Size,
    /// How long compiling takes on this machine, if the trial shows it.
    pub seconds: Option<f64>,
    /// What the estimate compiled: the whole diagram, or a part of the label.
    pub sample: Option<Obdd>,
}

/// Estimates the diagram that [`compile_direct`] will find.
///
/// ```
/// use boolshap::diagram::{DirectOptions, Size, estimate};
/// use boolshap::lit::Watch;
/// use boolshap::model::{Gate, Label, Network, Output};
/// let half = Network::new(50, vec![], Output::Step(Gate::new(vec![1; 50], 25).unwrap())).unwrap();
/// let label = Label::of_class(&half, 1).unwrap();
/// let estimate = estimate(&label, &DirectOptions::default(), &Watch::unlimited())?;
/// assert_eq!(estimate.size, Size::Exact(25 * 26));
/// # Ok::<(), boolshap::diagram::DiagramError>(())
/// ```
pub fn estimate(label: &Label, options: &DirectOptions, watch: &Watch<'_>) -> Result<Estimate, DiagramError> {
    let inputs = label.used_inputs().len();
    let first = options.route.unwrap_or_else(|| by_promise(label, inputs)[0].0);
    let blank = Estimate {
        route: first,
        inputs,
        gates: label.layers().iter().map(Vec::len).collect(),
        size: Size::MoreThan(0),
        seconds: None,
        sample: None,
    };
    if first == Route::TruthTable && inputs > EXACT_INPUTS && inputs <= MAX_TABLE_INPUTS {
        return by_sample(label, blank, watch);
    }
    // The trial is silent, because its progress is not that of the actual work.
    let trial = DirectOptions { route: Some(first), max_nodes: TRIAL_NODES, max_states: TRIAL_STATES };
    let trial = if first == Route::TruthTable { DirectOptions { max_nodes: usize::MAX, ..trial } } else { trial };
    let begin = Instant::now();
    match compile_direct(label, &trial, &watch.silent()) {
        Ok(Direct { diagram, .. }) => {
            let (size, seconds) = (Size::Exact(diagram.len() as u64), Some(begin.elapsed().as_secs_f64()));
            Ok(Estimate { size, seconds, sample: Some(diagram), ..blank })
        }
        Err(error) if error.stopped().is_some() => Err(error),
        // The route cannot take this network at all: estimates the next one, unless this one was asked for.
        Err(
            error @ (DiagramError::TooManyInputs { .. } | DiagramError::TooHeavy { .. } | DiagramError::TooWide { .. }),
        ) => match options.route {
            Some(_) => Err(error),
            None => estimate(label, &DirectOptions { route: Some(Route::Apply), ..*options }, watch),
        },
        // Every route gives the same diagram, up to the variable order.
        Err(_) if (EXACT_INPUTS + 1..=MAX_TABLE_INPUTS).contains(&inputs) => {
            Ok(Estimate { seconds: None, ..by_sample(label, blank, watch)? })
        }
        Err(_) if first == Route::PartialSums => {
            Ok(Estimate { size: by_states(label, options.max_states, watch)?, ..blank })
        }
        Err(_) => Ok(Estimate { size: Size::MoreThan(TRIAL_NODES as u64), ..blank }),
    }
}

/// Estimates the size from a sample of the table's parts.
fn by_sample(label: &Label, blank: Estimate, watch: &Watch<'_>) -> Result<Estimate, DiagramError> {
    let order = &candidate_orders(label)[0];
    let used = label.used_inputs();
    let is_used = |var: &&Var| used.binary_search(&var.index()).is_ok();
    let (below, above): (Vec<Var>, Vec<Var>) = order.iter().partition(|var| is_used(var));
    let sorted: Vec<Var> = above.into_iter().chain(below).collect();
    let table = AllInputs::below(label, &sorted, used.len());
    let parts = 1usize << (used.len() - PART);
    let mut sample = Sample::new(parts);
    let mut words = vec![0; table.group_words()];
    for part in chosen(parts) {
        watch.check()?;
        table.fill(part, &mut words);
        sample.look(&words);
    }
    let begin = Instant::now();
    let mut some = vec![0; words.len() << TIMED];
    some.chunks_mut(words.len()).enumerate().for_each(|(part, words)| table.fill(part, words));
    let inputs = PART + TIMED;
    let diagram = reduce_table(inputs, some, usize::MAX, &watch.silent())?;
    let seconds = begin.elapsed().as_secs_f64() * 2f64.powi((used.len() - inputs) as i32);
    let size = Size::About(sample.nodes().round() as u64);
    Ok(Estimate { size, seconds: Some(seconds), sample: Some(diagram), ..blank })
}

/// The number of states in the order that has the fewest.
fn by_states(label: &Label, max_states: usize, watch: &Watch<'_>) -> Result<Size, DiagramError> {
    let mut least = f64::INFINITY;
    for order in candidate_orders(label) {
        least = least.min(expected_states(label, &order, watch)?);
    }
    Ok(if least > max_states as f64 { Size::MoreThan(max_states as u64) } else { Size::About(least as u64) })
}

/// Estimates stop here, because no machine can enumerate more states.
const MANY_STATES: f64 = 1e15;

/// Estimates from a sample how many states the partial sums of a label have in this order.
pub(super) fn expected_states(label: &Label, order: &[Var], watch: &Watch<'_>) -> Result<f64, DiagramError> {
    Ok(count_states(&SumNetwork::new(label, order)?, order.len(), watch)?)
}

/// Estimates the number of states over all levels.
fn count_states(network: &SumNetwork, levels: usize, watch: &Watch<'_>) -> Result<f64, Stopped> {
    let mut start = network.start();
    if !matches!(network.settle(&mut start, 0), Outcome::Open) {
        return Ok(0.0);
    }
    let mut chance = Seeded::new(0, 0xE573);
    let sampled = (SAMPLED_SUMS / (network.first_gates() * levels).max(1)).clamp(FEWEST_STATES, SAMPLED_STATES);
    // A sample of a level's states, the estimated number of its states, and the total over all levels so far.
    let (mut some, mut count, mut all) = (vec![start], 1.0, 0.0);
    let mut level = 0;
    while level < levels {
        watch.check()?;
        // Inputs that count alike are fixed in one step: only the number of ones among them matters, not which of them
        // are 1. If they were fixed one by one, the sample would contain states that differ only in this, and these
        // meet far more often than others.
        let many = network.alike(level, MOST_ALIKE);
        all += count * (many * (many + 1) / 2) as f64;
        // Stops here, because the number of states of hundreds of levels would overflow a float.
        if all > MANY_STATES {
            break;
        }
        let share = some.len() as f64 / count;
        let mut next: HashMap<Vec<u64>, Open> = HashMap::new();
        let (mut open, mut again) = (0.0, 0.0);
        for state in &some {
            for set in 0..=many {
                let mut state = state.clone();
                if let Outcome::Open = network.fix_alike(&mut state, level, many, set) {
                    let mut words = vec![0; network.words()];
                    network.pack(&state, &mut words);
                    words.truncate(network.key_words());
                    open += 1.0;
                    again += f64::from(u8::from(next.insert(words, state).is_some()));
                }
            }
        }
        if next.is_empty() {
            break;
        }
        // The probability that both of two states leading to the same state are in the sample is the square of the
        // probability for one. A few such pairs are chance and say little; usually at most two states lead to the same
        // one.
        let least = if again < FEW_PAIRS { open / share / 2.0 } else { next.len() as f64 };
        count = (open / share - again / (share * share)).clamp(least, open / share);
        let mut found: Vec<(Vec<u64>, Open)> = next.into_iter().collect();
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        if found.len() > sampled {
            chance.shuffle(&mut found);
            found.truncate(sampled);
        }
        some = found.into_iter().map(|(_, state)| state).collect();
        level += many;
    }
    Ok(all)
}

/// A random choice of parts, without repetition.
fn chosen(parts: usize) -> Vec<usize> {
    let mut chance = Seeded::new(0, 0xE571);
    let mut all: Vec<usize> = (0..parts).collect();
    chance.shuffle(&mut all);
    all.truncate(PARTS);
    all
}

/// Counts the parts in which each function was seen.
struct Sample {
    parts: usize,
    looked: u32,
    /// For functions of four and more inputs, level by level: the number of parts in which each was seen, and the last
    /// of them.
    levels: Vec<HashMap<u64, [u32; 2]>>,
}

/// The number of inputs of the lowest level inspected; all functions below it are known from this level.
const LOWEST: usize = 4;

impl Sample {
    fn new(parts: usize) -> Self {
        Sample { parts, looked: 0, levels: vec![HashMap::new(); PART + 1 - LOWEST] }
    }

    /// Records the functions in the words of a part.
    fn look(&mut self, words: &[u64]) {
        self.looked += 1;
        for (level, bits) in [(4, 16), (5, 32), (6, 64)] {
            for word in words {
                for shift in (0..64).step_by(bits) {
                    let function = word >> shift & (!0 >> (64 - bits));
                    let half = !0 >> (64 - bits / 2);
                    self.see(level, function, function & half != function >> (bits / 2));
                }
            }
        }
        let mut row = words.to_vec();
        for level in 7..=PART {
            for at in 0..row.len() / 2 {
                let [lo, hi] = [row[2 * at], row[2 * at + 1]];
                row[at] = if lo == hi { lo } else { mixed(lo, hi) };
                self.see(level, row[at], lo != hi);
            }
            row.truncate(row.len() / 2);
        }
    }

    fn see(&mut self, level: usize, function: u64, is_node: bool) {
        if is_node {
            let [parts, last] = self.levels[level - LOWEST].entry(function).or_insert([0, 0]);
            *parts += u32::from(*last != self.looked);
            *last = self.looked;
        }
    }

    /// The estimated number of nodes.
    fn nodes(&self) -> f64 {
        let levels: Vec<f64> = self.levels.iter().map(|level| self.richness(level)).collect();
        // Above the parts, a level has at most twice as many nodes as the one above it.
        let widest = levels.last().expect("there is a level").max(1.0);
        let depth = self.parts.ilog2();
        let above: f64 = (0..depth).map(|level| 2f64.powi(level as i32).min(widest * 2.0)).sum();
        let four = self.levels[0].keys().copied().collect::<Vec<_>>();
        levels.iter().sum::<f64>() + above + below_four(&four)
    }

    /// Estimates how many functions a level has, from the numbers of those seen in one part and in two.
    fn richness(&self, level: &HashMap<u64, [u32; 2]>) -> f64 {
        let seen_in = |parts: u32| level.values().filter(|[seen, _]| *seen == parts).count() as f64;
        let (once, twice) = (seen_in(1), seen_in(2));
        let (looked, share) = (f64::from(self.looked), f64::from(self.looked) / self.parts as f64);
        if once == 0.0 || share >= 1.0 {
            return level.len() as f64;
        }
        level.len() as f64 + once * once / (looked / (looked - 1.0) * 2.0 * twice + share / (1.0 - share) * once)
    }
}

/// The number of nodes below these functions of four inputs.
fn below_four(functions: &[u64]) -> f64 {
    let mut nodes = 0;
    let mut level = functions.to_vec();
    for inputs in (1..LOWEST).rev() {
        let bits = 1 << inputs;
        level = level.iter().flat_map(|function| [function & (!0 >> (64 - bits)), function >> bits]).collect();
        level.sort_unstable();
        level.dedup();
        let half = bits / 2;
        nodes += level.iter().filter(|function| **function & (!0 >> (64 - half)) != **function >> half).count();
    }
    nodes as f64
}

fn mixed(lo: u64, hi: u64) -> u64 {
    let mut hash = lo.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ hi.rotate_left(32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^= hash >> 31;
    hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^ hash >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gate, Network, Output};

    /// A dense network of one hidden layer with weights up to `heaviest` and thresholds near the middle.
    fn network(chance: &mut Seeded, inputs: usize, hidden: usize, heaviest: usize) -> Network {
        let gate = |chance: &mut Seeded, width: usize| {
            let weights: Vec<i128> = (0..width)
                .map(|_| (1 + chance.below(heaviest)) as i128 * if chance.below(2) == 1 { 1 } else { -1 })
                .collect();
            let total: i128 = weights.iter().map(|weight| weight.abs()).sum();
            let spread = (total / 4).max(1) as usize;
            Gate::new(weights, total / 2 + chance.below(spread) as i128 - spread as i128 / 2).unwrap()
        };
        let layer = (0..hidden).map(|_| gate(chance, inputs)).collect();
        let output = gate(chance, hidden);
        Network::new(inputs, vec![layer], Output::Step(output)).unwrap()
    }

    fn real(label: &Label, route: Route) -> f64 {
        let options = DirectOptions { route: Some(route), max_states: 1 << 22, ..DirectOptions::default() };
        compile_direct(label, &options, &Watch::unlimited()).unwrap().diagram.len() as f64
    }

    fn estimated(label: &Label, route: Route) -> Size {
        let options = DirectOptions { route: Some(route), ..DirectOptions::default() };
        estimate(label, &options, &Watch::unlimited()).unwrap().size
    }

    #[test]
    fn slow_tables_are_estimated_within_a_half() {
        let mut chance = Seeded::new(5, 5);
        for inputs in [23, 24] {
            for (hidden, heaviest) in [(2, 1), (4, 3), (8, 1), (13, 1), (13, 3)] {
                let label = Label::of_class(&network(&mut chance, inputs, hidden, heaviest), 1).unwrap();
                let Size::About(found) = estimated(&label, Route::TruthTable) else { panic!("a table of {inputs}") };
                let ratio = found as f64 / real(&label, Route::TruthTable).max(1.0);
                assert!((1.0 / 1.5..1.5).contains(&ratio), "{inputs}-{hidden}, up to {heaviest}: {ratio}");
            }
        }
    }

    #[test]
    fn what_a_trial_compiles_is_exact() {
        let mut chance = Seeded::new(6, 5);
        for (route, inputs, hidden) in
            [(Route::TruthTable, 15, 9), (Route::PartialSums, 40, 3), (Route::Apply, 20, 3), (Route::PartialSums, 9, 2)]
        {
            let label = Label::of_class(&network(&mut chance, inputs, hidden, 1), 1).unwrap();
            assert_eq!(estimated(&label, route), Size::Exact(real(&label, route) as u64), "{route}");
        }
        // A route that cannot take a network is not estimated.
        let label = Label::of_class(&network(&mut chance, 40, 3, 1), 1).unwrap();
        let forced = DirectOptions { route: Some(Route::TruthTable), ..DirectOptions::default() };
        let error = estimate(&label, &forced, &Watch::unlimited()).unwrap_err();
        assert!(matches!(error, DiagramError::TooManyInputs { .. }), "{error}");
        // For apply, only a lower bound is known.
        let label = Label::of_class(&network(&mut chance, 40, 16, 3), 1).unwrap();
        assert_eq!(estimated(&label, Route::Apply), Size::MoreThan(TRIAL_NODES as u64));
    }

    /// A network whose inputs are numbers, each of three bits that count alike.
    fn of_numbers(chance: &mut Seeded, numbers: usize, hidden: usize) -> Label {
        let narrow = network(chance, numbers, hidden, 2);
        let wide = |gate: &Gate| {
            let weights: Vec<i128> = gate.weights().iter().flat_map(|&weight| [weight; 3]).collect();
            Gate::new(weights, 3 * gate.need() as i128).unwrap()
        };
        let layer = narrow.hidden()[0].iter().map(wide).collect();
        let whole = Network::new(3 * numbers, vec![layer], narrow.output().clone()).unwrap();
        Label::of_class(&whole, 1).unwrap()
    }

    #[test]
    fn bits_of_one_number_hide_no_states() {
        let mut chance = Seeded::new(7, 5);
        let order = |label: &Label| candidate_orders(label)[0].clone();
        let label = of_numbers(&mut chance, 14, 3);
        let found = by_states(&label, usize::MAX, &Watch::unlimited()).unwrap().nodes().unwrap() as f64;
        let ratio = found / real(&label, Route::PartialSums);
        assert!((0.1..10.0).contains(&ratio), "{ratio}");
        let label = of_numbers(&mut chance, 200, 40);
        assert!(expected_states(&label, &order(&label), &Watch::unlimited()).unwrap() > MANY_STATES);
    }

    #[test]
    fn slow_partial_sums_beyond_a_trial_are_estimated_within_a_factor_of_ten() {
        let mut chance = Seeded::new(5, 5);
        for (inputs, hidden) in [(34, 4), (36, 5), (38, 4), (40, 3)] {
            let networks = [1, 3].map(|heaviest| network(&mut chance, inputs, hidden, heaviest));
            // Networks with weights +-1 are small enough for a trial, and those with five neurons are too large to
            // compile in a test.
            if hidden == 5 {
                continue;
            }
            let label = Label::of_class(&networks[1], 1).unwrap();
            let found = by_states(&label, usize::MAX, &Watch::unlimited()).unwrap().nodes().unwrap() as f64;
            let ratio = found / real(&label, Route::PartialSums);
            assert!((0.1..10.0).contains(&ratio), "{inputs}-{hidden}: {ratio}");
        }
    }
}
