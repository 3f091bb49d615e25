//! A classifier that can be asked: the circuits of its classes over a space of inputs, made ready once for any number of
//! entities.
//!
//! Up to [`Classifier::TABLE_BITS`] bits it is a table of all inputs.

use super::QueryError;
use super::class_tables::ClassTables;
use super::set_family::SetFamily;
use super::space::{Codes, Space};
use crate::circuit::Circuit;
use crate::lit::Watch;
use std::sync::Arc;

/// The classes of all inputs that can occur.
pub struct Classifier {
    space: Space,
    pub(super) tables: ClassTables,
}

/// An input to ask about, and its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its features.
    pub bits: Vec<bool>,
    /// Its class: 0 or 1 of a label, else the number of the class.
    pub class: usize,
    /// Its number.
    pub(super) code: u64,
}

impl Classifier {
    /// The most bits of an input's number where all inputs are looked at.
    pub const TABLE_BITS: u32 = SetFamily::MOST_THINGS;

    /// From a circuit for each class, or the only label's.
    pub fn new(labels: &[Arc<Circuit>], space: Space, watch: &Watch<'_>) -> Result<Self, QueryError> {
        let bits = Codes::bits_of(&space);
        if bits > Self::TABLE_BITS {
            return Err(QueryError::TooManyToList { what: "the question", bits, limit: Self::TABLE_BITS });
        }
        let tables = ClassTables::new(labels, &space, watch)?;
        if tables.inputs() == 0 {
            return Err(QueryError::NoInputs);
        }
        Ok(Classifier { space, tables })
    }

    /// The inputs and players.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// How many classes there are, two of a label.
    pub fn classes(&self) -> usize {
        self.tables.classes.len()
    }

    /// How many words a table of all inputs takes.
    pub fn table_words(&self) -> usize {
        self.tables.valid.len()
    }

    /// An input that can occur, with its class; an error calls it `what`.
    pub fn entity(&self, bits: &[bool], what: &str) -> Result<Entity, QueryError> {
        if let Some(flaw) = self.space.flaw(bits) {
            return Err(QueryError::Misplaced { what: what.into(), flaw });
        }
        let code = self.tables.codes.code(&self.space, bits);
        let mut classes = self.tables.classes_of(code);
        match (classes.next(), classes.count()) {
            (Some(class), 0) => Ok(Entity { bits: bits.to_vec(), class, code }),
            (first, more) => {
                let entity = bit_text(bits);
                Err(QueryError::WrongClasses { entity, classes: usize::from(first.is_some()) + more })
            }
        }
    }
}

/// An input as a text of 0 and 1.
pub(super) fn bit_text(bits: &[bool]) -> String {
    bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect()
}
