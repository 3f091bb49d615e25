//! Properties of a classifier: which players it uses, the direction of their effect, mandatory values, and influence.
//!
//! A player is used if changing it alone changes the class of some input. A feature, or a column of ordered values, is
//! monotone up if raising it alone never lowers the number of the class, down if it never raises it, constant if both.
//! A value is mandatory for a class if all inputs of the class have it. The influence of a player is the share of the
//! inputs at which some change of it alone changes the class. Only inputs that can occur count, before and after the
//! change.

use super::class_tables::ClassTables;
use super::classifier::Engine;
use super::diagrams::Diagrams;
use super::set_family::shifted_word;
use super::space::Run;
use super::{Classifier, QueryError};
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// The direction of a player's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monotone {
    /// Raising it never lowers the class.
    Up,
    /// Raising it never raises the class.
    Down,
    /// Raising it raises the class of some inputs and lowers that of others.
    Neither,
    /// It changes nothing.
    Constant,
}

impl Monotone {
    /// Its name: `up`, `down`, `none` or `constant`.
    pub fn name(self) -> &'static str {
        match self {
            Monotone::Up => "up",
            Monotone::Down => "down",
            Monotone::Neither => "none",
            Monotone::Constant => "constant",
        }
    }
}

/// The effect of one player on a classifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The share of the inputs at which a change of it changes the class.
    pub influence: RBig,
    /// The direction of its effect; `None` if its values have no order.
    pub monotone: Option<Monotone>,
    /// Classes whose inputs all have the same value of it, with the value: a feature's bit, or the number of a column's
    /// value.
    pub mandatory: Vec<(usize, u64)>,
}

impl Property {
    /// Whether the classifier uses it.
    pub fn is_used(&self) -> bool {
        !self.influence.is_zero()
    }
}

/// The properties of each player; `ordered` tells which columns have ordered values.
pub fn properties(classifier: &Classifier, ordered: &[bool], watch: &Watch<'_>) -> Result<Vec<Property>, QueryError> {
    let constant = Property { influence: RBig::ZERO, monotone: Some(Monotone::Constant), mandatory: Vec::new() };
    let mut all = vec![constant; classifier.space().players().len()];
    let tables = match &classifier.engine {
        Engine::Tables(tables) => tables,
        Engine::Diagrams(diagrams) => {
            all.iter_mut().enumerate().try_for_each(|(player, property)| {
                *property = on_diagrams(diagrams, classifier, player, watch)?;
                Ok::<(), QueryError>(())
            })?;
            return Ok(all);
        }
    };
    let inputs = tables.inputs();
    for run in &tables.codes.runs {
        watch.check()?;
        let changes = changes(tables, run);
        let monotone = match (changes == 0, run.width == 1 && is_bit(classifier, run) || ordered[run.player]) {
            (true, _) => Some(Monotone::Constant),
            (false, true) => Some(direction(tables, run)),
            (false, false) => None,
        };
        let influence = RBig::from_parts(changes.into(), inputs.into());
        all[run.player] = Property { influence, monotone, mandatory: mandatory(tables, run) };
    }
    Ok(all)
}

/// The property of a player from diagrams. The direction is computed for a feature and two classes only.
fn on_diagrams(
    diagrams: &Diagrams,
    classifier: &Classifier,
    player: usize,
    watch: &Watch<'_>,
) -> Result<Property, QueryError> {
    let (changes, _) = diagrams.hanging_on(&[player], watch)?;
    let members = classifier.space().members(player);
    let is_one_hot = classifier.space().players().is_one_hot(player);
    let monotone = match (changes == UBig::ZERO, &diagrams.classes[..], members) {
        (true, ..) => Some(Monotone::Constant),
        (false, [[none, _], [some, _]], &[feature]) if !is_one_hot => {
            let rises = Diagrams::rises([none, some], feature, watch)?;
            let falls = Diagrams::rises([some, none], feature, watch)?;
            Some(named(rises, falls))
        }
        _ => None,
    };
    let mut mandatory = Vec::new();
    for (class, [is, _]) in diagrams.classes.iter().enumerate() {
        let only: Vec<Option<bool>> = members
            .iter()
            .map(|&feature| match [false, true].map(|value| is.meets(feature, value)) {
                [true, false] => Some(false),
                [false, true] => Some(true),
                _ => None,
            })
            .collect();
        let value = match is_one_hot {
            true => only.iter().position(|&value| value == Some(true)).map(|place| place as u64),
            false if members.len() > 63 => None,
            false => {
                only.iter().enumerate().try_fold(0u64, |all, (bit, value)| Some(all | u64::from((*value)?) << bit))
            }
        };
        mandatory.extend(value.filter(|_| !(is_one_hot && members.len() == 1)).map(|value| (class, value)));
    }
    let influence = RBig::from_parts(changes.into(), diagrams.inputs());
    Ok(Property { influence, monotone, mandatory })
}

fn named(rises: bool, falls: bool) -> Monotone {
    match (rises, falls) {
        (true, true) => Monotone::Neither,
        (true, false) => Monotone::Up,
        (false, true) => Monotone::Down,
        (false, false) => Monotone::Constant,
    }
}

fn is_bit(classifier: &Classifier, run: &Run) -> bool {
    !classifier.space().players().is_one_hot(run.player)
}

/// The number of inputs whose class some change of a run changes.
fn changes(tables: &ClassTables, run: &Run) -> u64 {
    let mut changed = vec![0u64; tables.valid.len()];
    for class in &tables.classes {
        let mut others: Vec<u64> = tables.valid.iter().zip(class).map(|(valid, class)| valid & !class).collect();
        for bit in run.start..run.start + run.width {
            others = (0..others.len()).map(|at| others[at] | shifted_word(&others, at, 1 << bit)).collect();
        }
        changed.iter_mut().zip(class).zip(others).for_each(|((changed, class), other)| *changed |= class & other);
    }
    changed.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Compares the classes of every two values of a run.
fn direction(tables: &ClassTables, run: &Run) -> Monotone {
    let (mut rises, mut falls) = (false, false);
    // For each class number but 0: the inputs whose class has at least this number.
    for least in 1..tables.classes.len() {
        let mut high = vec![0u64; tables.valid.len()];
        for class in &tables.classes[least..] {
            high.iter_mut().zip(class).for_each(|(high, class)| *high |= class);
        }
        let low: Vec<u64> = tables.valid.iter().zip(&high).map(|(valid, high)| valid & !high).collect();
        for upper in 1..1u64 << run.width {
            for lower in 0..upper {
                let shift = (lower ^ upper) << run.start;
                for index in 0..high.len() {
                    let here = value_mask(tables, run, lower, index);
                    rises |= here & low[index] & shifted_word(&high, index, shift) != 0;
                    falls |= here & high[index] & shifted_word(&low, index, shift) != 0;
                }
            }
        }
    }
    named(rises, falls)
}

/// The inputs of a word in which a run has this value.
fn value_mask(tables: &ClassTables, run: &Run, value: u64, index: usize) -> u64 {
    tables.codes.value_word(run, value, index)
}

/// The classes whose inputs all have the same value of a run.
fn mandatory(tables: &ClassTables, run: &Run) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    for (class, table) in tables.classes.iter().enumerate().filter(|(_, table)| table.iter().any(|&word| word != 0)) {
        let all_have = |value: &u64| {
            let mut words = table.iter().enumerate();
            words.all(|(index, word)| word & !value_mask(tables, run, *value, index) == 0)
        };
        found.extend((0..1u64 << run.width).find(all_have).map(|value| (class, value)));
    }
    found
}
