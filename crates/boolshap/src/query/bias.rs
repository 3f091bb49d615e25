//! Bias: whether a decision hangs on protected players alone.
//!
//! A decision is biased if an input that differs from the entity in protected players only is of another class; a
//! classifier if any of its decisions is (Darwiche and Hirth, "On the reasons behind decisions", ECAI 2020).
//!
//! *Idea.* The inputs that are not of a class are spread over all values of the protected players; what they then meet of
//! the class is biased. Cost: a pass over the table for each protected bit and class.

use super::set_family::{SetFamily, shifted_word};
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu::integer::UBig;

/// The biased decisions of a classifier.
pub struct Bias {
    /// The bits of inputs' numbers that are protected.
    mask: u64,
    biased: SetFamily,
}

impl Bias {
    /// The decisions that hang on these players.
    pub fn new(classifier: &Classifier, protected: &[usize], watch: &Watch<'_>) -> Result<Self, QueryError> {
        let tables = &classifier.tables;
        let runs = tables.codes.runs.iter().filter(|run| protected.contains(&run.player));
        let mask = runs.fold(0, |mask, run| mask | ((1u64 << run.width) - 1) << run.start);
        let mut biased = SetFamily::empty(tables.codes.bits);
        for class in &tables.classes {
            let mut others: Vec<u64> = tables.valid.iter().zip(class).map(|(valid, class)| valid & !class).collect();
            for bit in (0..tables.codes.bits).filter(|bit| mask >> bit & 1 == 1) {
                watch.check()?;
                others = (0..others.len()).map(|at| others[at] | shifted_word(&others, at, 1 << bit)).collect();
            }
            biased.words.iter_mut().zip(class).zip(others).for_each(|((word, class), other)| *word |= class & other);
        }
        Ok(Bias { mask, biased })
    }

    /// How many inputs are decided with bias.
    pub fn inputs(&self) -> UBig {
        self.biased.count().into()
    }

    /// An input that differs from the entity in protected players only and is of another class.
    pub fn other(&self, classifier: &Classifier, entity: &Entity) -> Option<Vec<bool>> {
        if !self.biased.has(entity.code) {
            return None;
        }
        let tables = &classifier.tables;
        // All subsets of the mask, one after another.
        let mut change = 0u64;
        loop {
            change = change.wrapping_sub(self.mask) & self.mask;
            if change == 0 {
                return None;
            }
            let mut classes = tables.classes_of(entity.code ^ change);
            if classes.next().is_some_and(|class| class != entity.class) {
                return Some(tables.codes.input(entity.code ^ change));
            }
        }
    }

    /// Two inputs that differ in protected players only and are of different classes, if there are such.
    pub fn witness(&self, classifier: &Classifier) -> Result<Option<[Vec<bool>; 2]>, QueryError> {
        let Some(first) = self.biased.sets().next() else { return Ok(None) };
        let input = classifier.tables.codes.input(first);
        let entity = classifier.entity(&input, "the witness")?;
        Ok(self.other(classifier, &entity).map(|other| [input, other]))
    }
}
