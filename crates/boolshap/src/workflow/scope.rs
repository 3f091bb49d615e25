//! Which classes of a circuit scores are about.

use super::{ClassChoice, Error};
use crate::circuit::{NamedCircuit, Rule, WeightedSum};
use crate::data::ExplainedClass;
use crate::explain::Index;

/// Which of the classes of a circuit are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The only label of a circuit without classes.
    Label,
    /// One class.
    Class(usize),
    /// Each class.
    Each,
    /// For each row the predicted class.
    Predicted,
    /// The score of one class minus that of another.
    Difference(usize, usize),
}

impl Scope {
    /// Its name, for a circuit of several classes.
    pub fn name(self) -> Option<String> {
        match self {
            Scope::Label => None,
            Scope::Class(class) => Some(class.to_string()),
            Scope::Each => Some("each".into()),
            Scope::Predicted => Some("predicted".into()),
            Scope::Difference(one, other) => Some(format!("{one}-{other}")),
        }
    }

    /// The class that each group of base value and scores is about; nothing for a single label.
    pub fn explained(self, classes: usize) -> Vec<ExplainedClass> {
        match self {
            Scope::Label | Scope::Difference(..) => Vec::new(),
            Scope::Class(class) => vec![ExplainedClass::Class(class as u32)],
            Scope::Each => (0..classes as u32).map(ExplainedClass::Class).collect(),
            Scope::Predicted => vec![ExplainedClass::Predicted],
        }
    }
}

/// A question to an explainer about some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Which classes.
    pub scope: Scope,
    /// Which value of the game.
    pub index: Index,
    /// Whether to compute in fractions.
    pub exact: bool,
}

/// The scope of a choice for a circuit: the class predicted for each row by default.
pub(super) fn scope_of(class: Option<&ClassChoice>, circuit: &NamedCircuit) -> Result<Scope, Error> {
    let names: Vec<String> = circuit.classes.iter().map(|(name, _)| name.clone()).collect();
    match class {
        None if names.is_empty() => Ok(Scope::Label),
        Some(_) if names.is_empty() => {
            Err(Error::setting("class", "is for circuits of several classes, and this one has a single label"))
        }
        None | Some(ClassChoice::Predicted)
            if circuit.values.as_ref().is_none_or(|values| values.rule() == Rule::Largest) =>
        {
            Ok(Scope::Predicted)
        }
        None => Ok(Scope::Each),
        Some(ClassChoice::Predicted) => Err(Error::setting("class", "'predicted' is for scores that decide")),
        Some(ClassChoice::Each) => Ok(Scope::Each),
        Some(one) => match one.difference(names.len(), &names).filter(|_| circuit.is_of_scores()) {
            Some((first, second)) => Ok(Scope::Difference(first, second)),
            None => one.number(names.len(), &names).map(Scope::Class),
        },
    }
}

/// The sums that a scope is about.
pub(super) fn scope_sums(sums: &[WeightedSum], scope: Scope) -> Vec<WeightedSum> {
    match scope {
        Scope::Label => vec![sums[0].clone()],
        Scope::Class(class) => vec![sums[class].clone()],
        Scope::Difference(one, other) => vec![sums[one].less(&sums[other])],
        Scope::Each | Scope::Predicted => sums.to_vec(),
    }
}
