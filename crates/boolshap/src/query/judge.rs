//! Judges external reasons and counterfactuals: whether they are right, with evidence and a repair.
//!
//! A set is judged by the definition of `reason`: an input that agrees with the entity in it but has another class
//! refutes that it suffices; a player that can be dropped refutes that it is minimal. The repair drops other players
//! first, to keep as much of the set as possible. An input is judged by the definition of `counterfactual`.

use super::counterfactual::counterfactuals;
use super::reason::{Which, contrastive, sufficient};
use super::{Classifier, Counterfactual, Entity, QueryError, ReasonsWanted, Wish};
use crate::lit::Watch;
use dashu_ratio::RBig;

/// The claim about a set of players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetClaim {
    /// A sufficient reason.
    Sufficient,
    /// A contrastive reason.
    Contrastive,
}

/// The verdict on a set of players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetVerdict {
    /// Whether it is sufficient, or contrastive, as claimed.
    pub is_valid: bool,
    /// Whether it is valid and no proper subset is.
    pub is_minimal: bool,
    /// For a set that does not suffice, an input of another class that agrees with the entity in it; for a contrastive
    /// set, an input of another class that differs in it only.
    pub input: Option<Vec<bool>>,
    /// Players of a valid set that can each be dropped.
    pub superfluous: Vec<usize>,
    /// A minimal set found by dropping the players outside the set first; `None` if no set is valid.
    pub repaired: Option<Vec<usize>>,
}

/// Judges a set of players.
pub fn judge_set(
    classifier: &Classifier,
    entity: &Entity,
    claim: SetClaim,
    set: &[usize],
    watch: &Watch<'_>,
) -> Result<SetVerdict, QueryError> {
    let players = classifier.space().players().len();
    let is_sufficient = claim == SetClaim::Sufficient;
    // An input of another class that differs in free players only: those of the set, or all others.
    let input_of = |set: &[usize]| {
        let free: Vec<bool> = (0..players).map(|player| set.contains(&player) != is_sufficient).collect();
        classifier.counterexample(entity, &free, watch)
    };
    let input = input_of(set)?;
    let is_valid = input.is_some() != is_sufficient;
    let mut superfluous = Vec::new();
    for &player in if is_valid { set } else { &[] } {
        let rest: Vec<usize> = set.iter().copied().filter(|&other| other != player).collect();
        if input_of(&rest)?.is_some() != is_sufficient {
            superfluous.push(player);
        }
    }
    let wanted = ReasonsWanted { which: Which::One, prefer: set.to_vec(), ..ReasonsWanted::default() };
    let reasons = match claim {
        SetClaim::Sufficient => sufficient(classifier, entity, &wanted, watch)?,
        SetClaim::Contrastive => contrastive(classifier, entity, &wanted, watch)?,
    };
    let (is_minimal, repaired) = (is_valid && superfluous.is_empty(), reasons.sets.into_iter().next());
    Ok(SetVerdict { is_valid, is_minimal, input, superfluous, repaired })
}

/// The verdict on an input that is said to be a counterfactual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterfactualVerdict {
    /// Whether it can occur, makes allowed changes only, and has the requested class (or any class but the entity's).
    pub is_valid: bool,
    /// What is wrong with it.
    pub problem: Option<String>,
    /// Its distance.
    pub distance: RBig,
    /// Whether it is valid and no valid input changes only a proper subset of its changed players.
    pub is_minimal: bool,
    /// Whether it is valid and no valid input is nearer.
    pub is_nearest: bool,
    /// One of the nearest inputs, if any exists.
    pub repaired: Option<Counterfactual>,
}

/// Judges an input.
pub fn judge_counterfactual(
    classifier: &Classifier,
    entity: &Entity,
    input: &[bool],
    wish: &Wish,
    watch: &Watch<'_>,
) -> Result<CounterfactualVerdict, QueryError> {
    let space = classifier.space();
    let nearest = counterfactuals(classifier, entity, &Wish { limit: Some(1), beyond: false, ..wish.clone() }, watch)?;
    if input.len() != space.features() {
        let problem = format!("it has {} values where {} are expected", input.len(), space.features());
        return Err(QueryError::NotComparable(problem));
    }
    let changed = space.changed(&entity.bits, input);
    let cost = |player: &usize| wish.costs.as_ref().map_or(RBig::ONE, |costs| costs[*player].clone());
    let distance = changed.iter().map(cost).fold(RBig::ZERO, |sum, cost| sum + cost);
    let rises = wish.not_up.iter().find(|&&feature| input[feature] && !entity.bits[feature]);
    let falls = wish.not_down.iter().find(|&&feature| !input[feature] && entity.bits[feature]);
    let problem = match (space.flaw(input), rises.or(falls)) {
        (Some(flaw), _) => Some(format!("it cannot occur: {flaw}")),
        (None, Some(feature)) => Some(format!("it changes feature {}, which must not change so", feature + 1)),
        (None, None) => {
            let class = classifier.entity(input, "the counterfactual")?.class;
            let is_wished = wish.class.map_or(class != entity.class, |wished| class == wished);
            (!is_wished).then(|| format!("it is of class {class}"))
        }
    };
    let is_valid = problem.is_none();
    // The same question with all other features frozen: does an input exist that changes less?
    let frozen = (0..space.features()).filter(|&feature| !changed.contains(&space.players().of(feature)));
    let mut inside = Wish { limit: Some(1), beyond: false, costs: None, ..wish.clone() };
    for feature in frozen {
        inside.not_up.push(feature);
        inside.not_down.push(feature);
    }
    let is_minimal =
        is_valid && { counterfactuals(classifier, entity, &inside, watch)?.distance == Some(changed.len().into()) };
    let is_nearest = is_valid && nearest.distance.as_ref() == Some(&distance);
    let repaired = nearest.listed.into_iter().next();
    Ok(CounterfactualVerdict { is_valid, problem, distance, is_minimal, is_nearest, repaired })
}
