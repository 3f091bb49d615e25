//! The class of every input that can occur: a bit for each class and input, indexed by the input's number.
//!
//! *Idea.* The exclusive or with an entity's number maps the entity to 0 and every other input to its difference from
//! the entity. A question about one entity becomes one about sets of changed players. *Cost.* Filling takes one path
//! for 64 inputs if the circuit is a diagram. A question about an entity takes one pass over the table, plus one step
//! for each input of another class if players have more than one bit.

use super::QueryError;
use super::exhaustive::{Above, LowTable};
use super::set_family::SetFamily;
use super::space::{Codes, Space};
use super::verify::in_order;
use crate::circuit::Circuit;
use crate::lit::{Var, Watch};
use rayon::prelude::*;
use std::sync::Arc;

/// The number of words in a thread's task.
const TASK: usize = 1 << 12;

/// The inputs of each class.
pub(super) struct ClassTables {
    pub(super) codes: Codes,
    /// The inputs of each class that can occur.
    pub(super) classes: Vec<Vec<u64>>,
    /// The inputs that can occur.
    pub(super) valid: Vec<u64>,
}

impl ClassTables {
    /// Numbers the inputs of a space. Features that the circuit tests last get the low bits, so that one path of a
    /// diagram covers 64 inputs.
    pub(super) fn codes(labels: &[Arc<Circuit>], space: &Space) -> Codes {
        let mut seen = vec![false; space.players().len()];
        let asked = labels.first().map(|circuit| in_order(circuit)).unwrap_or_default();
        let late = asked.iter().rev().map(|var| space.players().of(var.index()));
        let first: Vec<usize> = late.filter(|&player| !std::mem::replace(&mut seen[player], true)).collect();
        Codes::new(space, &first)
    }

    /// Evaluates on all inputs one circuit for each class, or the only label's circuit.
    pub(super) fn with_codes(
        labels: &[Arc<Circuit>],
        codes: Codes,
        space: &Space,
        watch: &Watch<'_>,
    ) -> Result<Self, QueryError> {
        let mut tables: Vec<Vec<u64>> = Vec::with_capacity(labels.len() + 1);
        for circuit in labels {
            tables.push(evaluate(circuit, &codes, space, watch)?);
        }
        let valid = each_word(&codes, watch, || |features: &[u64]| codes.valid_word(space, features))?;
        if let [label] = &mut tables[..] {
            let others = valid.iter().zip(&*label).map(|(valid, label)| valid & !label).collect();
            tables.insert(0, others);
        }
        for table in &mut tables {
            table.iter_mut().zip(&valid).for_each(|(word, valid)| *word &= valid);
        }
        Ok(ClassTables { codes, classes: tables, valid })
    }

    /// How many inputs can occur.
    pub(super) fn inputs(&self) -> u64 {
        self.valid.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The classes of an input: exactly one if the circuits are correct.
    pub(super) fn classes_of(&self, code: u64) -> impl Iterator<Item = usize> {
        let has = move |table: &Vec<u64>| table[(code / 64) as usize] >> (code % 64) & 1 == 1;
        (0..self.classes.len()).filter(move |&class| has(&self.classes[class]))
    }

    /// The differences from the entity with this number of all inputs outside a class.
    pub(super) fn not_of_class(&self, class: usize, entity: u64) -> SetFamily {
        let (table, valid) = (&self.classes[class], &self.valid);
        SetFamily::shifted(|index| valid[index] & !table[index], self.codes.bits, entity)
    }

    /// The differences from the entity with this number of all inputs of a class.
    pub(super) fn of_class(&self, class: usize, entity: u64) -> SetFamily {
        SetFamily::shifted(|index| self.classes[class][index], self.codes.bits, entity)
    }

    /// The sets of runs that these differences change.
    pub(super) fn changed_sets(&self, differences: SetFamily) -> SetFamily {
        if self.codes.is_direct() {
            return differences;
        }
        let (low, count) = self.low_masks();
        let mut changed = SetFamily::empty(self.codes.runs.len() as u32);
        for (index, &word) in differences.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            let high = self.codes.changed_runs((index as u64) << 6, false);
            for (set, mask) in low.iter().enumerate().take(count) {
                if word & mask != 0 {
                    changed.insert(high | set as u64);
                }
            }
        }
        changed
    }

    /// The number of differences for each set of changed runs.
    pub(super) fn changed_counts(&self, differences: &SetFamily) -> Vec<u32> {
        let (low, count) = self.low_masks();
        let mut counts = vec![0u32; 1 << self.codes.runs.len()];
        for (index, &word) in differences.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            let high = self.codes.changed_runs((index as u64) << 6, false);
            for (set, mask) in low.iter().enumerate().take(count) {
                counts[(high | set as u64) as usize] += (word & mask).count_ones();
            }
        }
        counts
    }

    /// For each set of runs in the low bits, a mask of the numbers below 64 in which exactly these runs are non-zero.
    fn low_masks(&self) -> ([u64; 64], usize) {
        let mut masks = [0u64; 64];
        (0..64).for_each(|number| masks[self.codes.changed_runs(number, true) as usize] |= 1 << number);
        (masks, 1 << self.codes.low_runs)
    }
}

fn evaluate(circuit: &Circuit, codes: &Codes, space: &Space, watch: &Watch<'_>) -> Result<Vec<u64>, QueryError> {
    let low = (0..space.features()).filter(|&feature| !codes.is_high(feature));
    let low: Vec<(Var, u64)> = low.map(|feature| (Var::new(feature), codes.word(feature, 0))).collect();
    let table = LowTable::new(circuit, &low);
    each_word(codes, watch, || {
        let mut above = Above::new(circuit, &table);
        move |features: &[u64]| above.word(circuit.root(), features)
    })
}

/// Computes a word for each word of 64 inputs from the values of all features in them.
fn each_word<F: FnMut(&[u64]) -> u64>(
    codes: &Codes,
    watch: &Watch<'_>,
    make: impl Fn() -> F + Sync,
) -> Result<Vec<u64>, QueryError> {
    let mut words = vec![0; codes.words()];
    let features = codes.features();
    words.par_chunks_mut(TASK).enumerate().try_for_each(|(task, words)| {
        let mut word_of = make();
        let mut values: Vec<u64> = (0..features).map(|feature| codes.word(feature, 0)).collect();
        let high: Vec<usize> = (0..features).filter(|&feature| codes.is_high(feature)).collect();
        for (place, word) in words.iter_mut().enumerate() {
            if place % 256 == 0 {
                watch.check()?;
            }
            high.iter().for_each(|&feature| values[feature] = codes.word(feature, task * TASK + place));
            *word = word_of(&values);
        }
        Ok::<(), QueryError>(())
    })?;
    Ok(words)
}
