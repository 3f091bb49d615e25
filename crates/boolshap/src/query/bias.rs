//! Bias: whether changing protected players alone can change a decision.
//!
//! A decision is biased if an input that differs from the entity in protected players only has another class; a
//! classifier is biased if any of its decisions is (Darwiche and Hirth, "On the reasons behind decisions", ECAI 2020).
//!
//! *Idea.* Extend the inputs outside a class to all values of the protected players; those that then fall into the
//! class are biased. Cost: a pass over the table for each protected bit and class.

use super::classifier::Engine;
use super::set_family::{SetFamily, shifted_word};
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu_int::UBig;

/// The biased decisions of a classifier.
pub struct Bias {
    protected: Vec<usize>,
    inputs: UBig,
    first: Option<Vec<bool>>,
    /// The biased inputs by their codes, if inputs are numbered.
    biased: Option<SetFamily>,
}

impl Bias {
    /// Finds the decisions that depend on these players.
    pub fn new(classifier: &Classifier, protected: &[usize], watch: &Watch<'_>) -> Result<Self, QueryError> {
        let protected = protected.to_vec();
        let tables = match &classifier.engine {
            Engine::Tables(tables) => tables,
            Engine::Diagrams(diagrams) => {
                let (inputs, first) = diagrams.hanging_on(&protected, watch)?;
                return Ok(Bias { protected, inputs, first, biased: None });
            }
        };
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
        let first = biased.sets().next().map(|code| tables.codes.input(code));
        Ok(Bias { protected, inputs: biased.count().into(), first, biased: Some(biased) })
    }

    /// How many inputs are decided with bias.
    pub fn inputs(&self) -> &UBig {
        &self.inputs
    }

    /// An input that differs from the entity in protected players only and is of another class.
    pub fn other(
        &self,
        classifier: &Classifier,
        entity: &Entity,
        watch: &Watch<'_>,
    ) -> Result<Option<Vec<bool>>, QueryError> {
        if self.biased.as_ref().is_some_and(|biased| !biased.has(entity.code)) {
            return Ok(None);
        }
        let players = classifier.space().players().len();
        let is_free: Vec<bool> = (0..players).map(|player| self.protected.contains(&player)).collect();
        classifier.counterexample(entity, &is_free, watch)
    }

    /// Two inputs of different classes that differ in protected players only, if any exist.
    pub fn witness(&self, classifier: &Classifier, watch: &Watch<'_>) -> Result<Option<[Vec<bool>; 2]>, QueryError> {
        let Some(first) = &self.first else { return Ok(None) };
        let entity = classifier.entity(first, "the witness")?;
        Ok(self.other(classifier, &entity, watch)?.map(|other| [first.clone(), other]))
    }
}
