//! A label, or several functions, on all inputs: computes the truth table, 512 assignments at a time.
//!
//! The last nine variables of an order vary inside a block; the others are fixed in it. A first-layer gate then depends
//! on one number, the weight it still needs after the fixed variables, and its slice is found in a lookup table of
//! masks: at most eleven for weights +-1, at most 513 for any weights. Eight more variables form a group of 256 blocks,
//! whose partial sums are tabulated, so finding a gate's mask takes one subtraction per block, done for all blocks of a
//! group at once. Later layers are a [`SliceProgram`]. Cost: about six word operations per weight of the second layer
//! and 64 assignments; the first layer costs two per gate, however many inputs it has.
//!
//! The loops are plain code, compiled several times; [`pulp`] picks the widest vectors the machine supports.

use super::slice_program::{Slice, SliceProgram, WORDS};
use super::{Gate, Label, Outputs};
use crate::lit::{LOW_VARIABLES, Meter, Stopped, Var, Watch};
use rayon::prelude::*;

/// The number of variables that vary inside a block.
const BLOCK_VARIABLES: usize = LOW_VARIABLES.len() + WORDS.ilog2() as usize;
/// The most additional variables that vary inside a group of blocks.
const GROUP_VARIABLES: usize = 8;
/// Needs up to this have their rank in a lookup table; larger ones use binary search.
const MAX_RANKED: u128 = 1 << 16;

/// A label prepared for evaluation on all inputs in a given order of the variables.
///
/// ```
/// use boolshap::lit::{Var, Watch};
/// use boolshap::model::{AllInputs, Gate, Label, Network, Output};
/// let both = Network::new(2, vec![], Output::Step(Gate::new(vec![1, -1], 2).unwrap())).unwrap();
/// let label = Label::of_class(&both, 1).unwrap();
/// // Entry 2 a + b of the table is the label of x1 = a, x2 = b.
/// let table = AllInputs::new(&label, &[Var::new(0), Var::new(1)]).table(&Watch::unlimited())?;
/// assert_eq!(table, [0b0100]);
/// # Ok::<(), boolshap::lit::Stopped>(())
/// ```
#[derive(Clone, Debug)]
pub struct AllInputs {
    /// The number of variables: in total, in a block, and in a group in addition to a block.
    variables: [usize; 3],
    gates: Vec<FirstGate>,
    program: Option<SliceProgram>,
    constant: bool,
}

/// A gate of the first layer, its weights in the order of the variables.
#[derive(Clone, Debug)]
struct FirstGate {
    need: i128,
    /// What each variable above the groups contributes when 0 and when 1, root variable last.
    high: Vec<[i128; 2]>,
    /// What the variables of a group contribute, for each block of the group.
    group: Vec<i128>,
    /// The same as 32-bit numbers, if they fit.
    small_group: Option<Vec<i32>>,
    ranks: Ranks,
    /// The slices by rank of the need: from all ones to all zeros.
    masks: Vec<Slice>,
}

/// Maps the weight a gate still needs to the index of its mask.
#[derive(Clone, Debug)]
enum Ranks {
    /// The rank equals the need, up to a maximum.
    Itself(i32),
    Table(Vec<u16>),
    /// The sums that a block's variables can reach, ascending, for binary search.
    Search(Vec<i128>),
}

impl AllInputs {
    /// Prepares a label for an order of its inputs, root variable first: the last is the lowest bit of an index.
    pub fn new(label: &Label, order: &[Var]) -> Self {
        Self::below(label, order, order.len())
    }

    /// Prepares several functions that are not constant; the first input is the lowest bit of an index.
    pub fn several(outputs: &Outputs) -> Self {
        let variables = outputs.inputs();
        let block = variables.min(BLOCK_VARIABLES);
        let sizes = [variables, block, (variables - block).min(GROUP_VARIABLES)];
        let place: Vec<usize> = (0..variables).collect();
        let (first, deeper) = outputs.layers().split_first().expect("there is a layer");
        let gates = first.iter().map(|gate| FirstGate::new(gate, &place, sizes)).collect();
        let program = Some(SliceProgram::several(first.len(), deeper, &outputs.varying()));
        AllInputs { variables: sizes, gates, program, constant: false }
    }

    /// Prepares a label of which only the last `variables` of the order vary; [`AllInputs::block`] gets what is still
    /// needed.
    pub fn below(label: &Label, order: &[Var], variables: usize) -> Self {
        assert_eq!(order.len(), label.inputs(), "an order of all inputs");
        let block = variables.min(BLOCK_VARIABLES);
        let group = (variables - block).min(GROUP_VARIABLES);
        let sizes = [variables, block, group];
        let place: Vec<usize> = order.iter().rev().take(variables).map(|var| var.index()).collect();
        let constant = label.constant();
        let (gates, program) = match constant {
            Some(_) => (Vec::new(), None),
            None => {
                let (first, deeper) = label.layers().split_first().expect("there is a layer");
                let gates = first.iter().map(|gate| FirstGate::new(gate, &place, sizes)).collect();
                (gates, Some(SliceProgram::new(first.len(), deeper)))
            }
        };
        AllInputs { variables: sizes, gates, program, constant: constant.unwrap_or(false) }
    }

    /// The number of words in the whole table.
    pub fn words(&self) -> usize {
        1 << self.variables[0].saturating_sub(LOW_VARIABLES.len())
    }

    /// The number of words in a group of blocks, the unit of [`AllInputs::fill`].
    pub fn group_words(&self) -> usize {
        self.words().min(WORDS << self.variables[2])
    }

    /// The whole table: bit `i` of the words is the label of assignment `i`. Threads share the groups. With fewer than
    /// 6 variables the bits above the table are 0.
    pub fn table(&self, watch: &Watch<'_>) -> Result<Vec<u64>, Stopped> {
        let mut words = vec![0; self.words()];
        let group_words = self.group_words();
        let meter = Meter::new(watch, self.groups() as u64);
        words.par_chunks_mut(group_words).enumerate().try_for_each(|(group, words)| {
            watch.check()?;
            self.fill(group, words);
            meter.add(1)
        })?;
        if self.variables[0] < LOW_VARIABLES.len() {
            words[0] &= (1u64 << (1 << self.variables[0])) - 1;
        }
        Ok(words)
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.words() / self.group_words()
    }

    /// Fills the words of one group; with several functions, one after the other.
    pub fn fill(&self, group: usize, words: &mut [u64]) {
        let Some(program) = &self.program else {
            words.fill(if self.constant { !0 } else { 0 });
            return;
        };
        let blocks = 1 << self.variables[2];
        pulp::Arch::new().dispatch(Group { gates: &self.gates, program, group, blocks, words });
    }

    /// Fills the words of the single block in which the first-layer gates still need these weights, for tables of up to
    /// 9 variables from [`AllInputs::below`].
    pub fn block(&self, needs: &[i64], scratch: &mut BlockScratch, words: &mut [u64]) {
        let Some(program) = &self.program else {
            words.fill(if self.constant { !0 } else { 0 });
            return;
        };
        scratch.ranks.resize(self.gates.len(), 0);
        for ((gate, rank), &need) in self.gates.iter().zip(&mut scratch.ranks).zip(needs) {
            *rank = gate.rank(need.into());
        }
        scratch.slots.resize(program.slots(), [0; WORDS]);
        let (ranks, slots) = (&scratch.ranks, &mut scratch.slots);
        pulp::Arch::new().dispatch(Block { gates: &self.gates, program, ranks, slots, words });
    }
}

/// Working memory of [`AllInputs::block`].
#[derive(Clone, Debug, Default)]
pub struct BlockScratch {
    ranks: Vec<u16>,
    slots: Vec<Slice>,
}

/// The loop over the blocks of a group, compiled for several vector widths.
struct Group<'a> {
    gates: &'a [FirstGate],
    program: &'a SliceProgram,
    group: usize,
    blocks: usize,
    words: &'a mut [u64],
}

impl pulp::NullaryFnOnce for Group<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // For each gate, the rank of its need in each block.
        let mut ranks = vec![0u16; self.gates.len() * self.blocks];
        for (gate, ranks) in self.gates.iter().zip(ranks.chunks_exact_mut(self.blocks)) {
            let given: i128 = gate.high.iter().enumerate().map(|(bit, given)| given[self.group >> bit & 1]).sum();
            gate.rank_all(gate.need - given, ranks);
        }
        let mut slots = vec![[0; WORDS]; self.program.slots()];
        for block in 0..self.blocks {
            for (index, (gate, slot)) in self.gates.iter().zip(&mut slots).enumerate() {
                *slot = gate.masks[ranks[index * self.blocks + block] as usize];
            }
            self.program.run(&mut slots);
            let start = block * WORDS;
            let each = self.words.len() / self.program.results().len();
            let end = each.min(start + WORDS);
            for (words, &result) in self.words.chunks_exact_mut(each).zip(self.program.results()) {
                words[start..end].copy_from_slice(&slots[result as usize][..end - start]);
            }
        }
    }
}

struct Block<'a> {
    gates: &'a [FirstGate],
    program: &'a SliceProgram,
    ranks: &'a [u16],
    slots: &'a mut [Slice],
    words: &'a mut [u64],
}

impl pulp::NullaryFnOnce for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for ((gate, slot), &rank) in self.gates.iter().zip(&mut *self.slots).zip(self.ranks) {
            *slot = gate.masks[rank as usize];
        }
        self.program.run(self.slots);
        let label = &self.slots[self.program.results()[0] as usize];
        self.words.copy_from_slice(&label[..self.words.len()]);
    }
}

impl FirstGate {
    /// `place` lists the inputs from the lowest bit of an index up.
    fn new(gate: &Gate, place: &[usize], [_, block, group]: [usize; 3]) -> Self {
        let given = |bit: usize| {
            let weight = gate.weights()[place[bit]];
            if weight < 0 { [-weight, 0] } else { [0, weight] }
        };
        let sums = |bits: std::ops::Range<usize>| {
            let mut sums = vec![0i128];
            for bit in bits {
                let given = given(bit);
                let with: Vec<i128> = given.iter().flat_map(|more| sums.iter().map(move |sum| sum + more)).collect();
                sums = with;
            }
            sums
        };
        let inside = sums(0..block);
        let group_sums = sums(block..block + group);
        let mut reached = inside.clone();
        reached.sort_unstable();
        reached.dedup();
        let largest = *reached.last().expect("the empty sum");
        // A need of rank r is met by the sums reached[r..].
        let ranks = if reached.iter().enumerate().all(|(rank, &sum)| rank as i128 == sum) {
            Ranks::Itself(reached.len() as i32)
        } else if largest as u128 + 1 < MAX_RANKED {
            let rank = |need| reached.partition_point(|&sum| sum < need) as u16;
            Ranks::Table((0..=largest + 1).map(rank).collect())
        } else {
            Ranks::Search(reached.clone())
        };
        // First the masks for reaching a sum exactly, then for reaching at least it. With fewer variables than a block,
        // entries repeat.
        let mut masks = vec![[0u64; WORDS]; reached.len() + 1];
        for (entry, &sum) in inside.iter().cycle().take(64 * WORDS).enumerate() {
            let rank = match &ranks {
                Ranks::Itself(_) => sum as usize,
                Ranks::Table(table) => table[sum as usize] as usize,
                Ranks::Search(reached) => reached.partition_point(|&other| other < sum),
            };
            masks[rank][entry / 64] |= 1 << (entry % 64);
        }
        for rank in (0..reached.len()).rev() {
            let above = masks[rank + 1];
            masks[rank].iter_mut().zip(above).for_each(|(word, more)| *word |= more);
        }
        let small = gate.total() < 1 << 30;
        FirstGate {
            need: gate.need() as i128,
            high: (block + group..place.len()).map(given).collect(),
            small_group: small.then(|| group_sums.iter().map(|&sum| sum as i32).collect()),
            group: group_sums,
            ranks,
            masks,
        }
    }

    fn rank(&self, need: i128) -> u16 {
        match &self.ranks {
            Ranks::Itself(last) => need.clamp(0, i128::from(*last)) as u16,
            Ranks::Table(table) => table[need.clamp(0, table.len() as i128 - 1) as usize],
            Ranks::Search(reached) => reached.partition_point(|&sum| sum < need) as u16,
        }
    }

    /// The ranks in all blocks of a group, given the need at its start.
    #[inline(always)]
    fn rank_all(&self, need: i128, ranks: &mut [u16]) {
        match (&self.ranks, &self.small_group) {
            (Ranks::Itself(last), Some(group)) => {
                let need = need as i32;
                for (rank, given) in ranks.iter_mut().zip(group) {
                    *rank = (need - given).clamp(0, *last) as u16;
                }
            }
            (Ranks::Table(table), Some(group)) => {
                let (need, last) = (need as i32, table.len() as i32 - 1);
                for (rank, given) in ranks.iter_mut().zip(group) {
                    *rank = table[(need - given).clamp(0, last) as usize];
                }
            }
            _ => {
                for (rank, given) in ranks.iter_mut().zip(&self.group) {
                    *rank = self.rank(need - given);
                }
            }
        }
    }
}
