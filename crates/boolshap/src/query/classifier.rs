//! A classifier ready for queries: the circuits of its classes over a space of inputs, prepared once for any number of
//! entities.
//!
//! Up to [`Classifier::TABLE_BITS`] bits it is a table of all inputs; beyond that it is a few ordered diagrams.

use super::QueryError;
use super::class_tables::ClassTables;
use super::diagram_search::AgreeSearch;
use super::diagrams::Diagrams;
use super::set_family::SetFamily;
use super::space::{Codes, Space};
use crate::circuit::Circuit;
use crate::lit::Watch;
use std::sync::Arc;

/// The classes of all inputs that can occur.
pub struct Classifier {
    space: Space,
    pub(super) labels: Vec<Arc<Circuit>>,
    pub(super) engine: Engine,
}

/// The representation of the classes.
pub(super) enum Engine {
    Tables(ClassTables),
    Diagrams(Diagrams),
}

/// An input to ask about, and its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its features.
    pub bits: Vec<bool>,
    /// Its class: 0 or 1 for a single label, otherwise the number of the class.
    pub class: usize,
    /// Its number, if inputs are numbered.
    pub(super) code: u64,
}

impl Classifier {
    /// The most bits of an input's number for which a table of all inputs is used.
    pub const TABLE_BITS: u32 = SetFamily::MOST_THINGS;

    /// Builds a classifier from a circuit for each class, or from the only label's circuit.
    pub fn new(labels: &[Arc<Circuit>], space: Space, watch: &Watch<'_>) -> Result<Self, QueryError> {
        if Codes::bits_of(&space) > Self::TABLE_BITS {
            return Self::of_diagrams(labels, space, watch);
        }
        let codes = ClassTables::codes(labels, &space);
        // The numbering may add unused low bits.
        if codes.bits > Self::TABLE_BITS {
            return Self::of_diagrams(labels, space, watch);
        }
        let tables = ClassTables::with_codes(labels, codes, &space, watch)?;
        if tables.inputs() == 0 {
            return Err(QueryError::NoInputs);
        }
        Ok(Classifier { space, labels: labels.to_vec(), engine: Engine::Tables(tables) })
    }

    /// Like `new`, but always with diagrams, regardless of the number of inputs.
    pub(super) fn of_diagrams(labels: &[Arc<Circuit>], space: Space, watch: &Watch<'_>) -> Result<Self, QueryError> {
        let diagrams = Diagrams::new(labels, &space, watch)?;
        if diagrams.inputs() == 0u8.into() {
            return Err(QueryError::NoInputs);
        }
        Ok(Classifier { space, labels: labels.to_vec(), engine: Engine::Diagrams(diagrams) })
    }

    /// The inputs and players.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The number of classes; two for a single label.
    pub fn classes(&self) -> usize {
        self.labels.len().max(2)
    }

    /// The size of the table of all inputs, if there is one.
    pub fn table_inputs(&self) -> Option<usize> {
        match &self.engine {
            Engine::Tables(tables) => Some(tables.valid.len() * 64),
            Engine::Diagrams(_) => None,
        }
    }

    /// An input that can occur, with its class; error messages call it `what`.
    pub fn entity(&self, bits: &[bool], what: &str) -> Result<Entity, QueryError> {
        if let Some(flaw) = self.space.flaw(bits) {
            return Err(QueryError::Misplaced { what: what.into(), flaw });
        }
        let (code, classes) = match &self.engine {
            Engine::Tables(tables) => {
                let code = tables.codes.code(&self.space, bits);
                (code, tables.classes_of(code).collect())
            }
            Engine::Diagrams(diagrams) => (0, diagrams.classes_of(bits)),
        };
        match classes[..] {
            [class] => Ok(Entity { bits: bits.to_vec(), class, code }),
            _ => Err(QueryError::WrongClasses { entity: bit_text(bits), classes: classes.len() }),
        }
    }

    /// An input of another class that differs from the entity in free players only.
    pub fn counterexample(
        &self,
        entity: &Entity,
        is_free: &[bool],
        watch: &Watch<'_>,
    ) -> Result<Option<Vec<bool>>, QueryError> {
        match &self.engine {
            Engine::Tables(tables) => {
                let free = (0..tables.codes.runs.len()).filter(|&run| is_free[tables.codes.runs[run].player]);
                let free = free.fold(0u64, |set, run| set | 1 << run);
                let inside = |difference: &u64| {
                    let [low, high] = [true, false].map(|low| tables.codes.changed_runs(*difference, low));
                    (low | high) & !free == 0
                };
                let found = tables.not_of_class(entity.class, entity.code).sets().find(inside);
                Ok(found.map(|difference| tables.codes.input(entity.code ^ difference)))
            }
            Engine::Diagrams(diagrams) => {
                AgreeSearch::new(&diagrams.classes[entity.class][1]).find(&entity.bits, is_free, watch)
            }
        }
    }
}

/// An input as a string of 0 and 1.
pub(super) fn bit_text(bits: &[bool]) -> String {
    bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect()
}
