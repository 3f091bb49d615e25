//! What each player has to do with the reasons of a decision.
//!
//! A player is necessary if it is in every sufficient reason, relevant if in some, else irrelevant; the share of the
//! reasons with it is its formal attribution (Yu, Ignatiev and Stuckey, "On formal feature attribution and its
//! approximation", 2023). The Shapley and Banzhaf values are those of the game in which a set is worth 1 if it suffices.
//!
//! *Idea.* A player swings a set that suffices with it and not without. The Banzhaf value is the share of the sets that it
//! swings, the Shapley value the same with sets weighed by their size. Cost: n 2^n / 64 word operations for each player.

use super::reason::contrastive_sets;
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu::integer::UBig;
use dashu::rational::RBig;

/// One player's part in the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// In how many of the sufficient reasons it is.
    pub reasons: u64,
    /// How many sufficient reasons there are.
    pub of: u64,
    /// The Shapley value of the game "this set suffices".
    pub shapley: RBig,
    /// Its Banzhaf value.
    pub banzhaf: RBig,
}

impl Attribution {
    /// Whether it is in every reason.
    pub fn is_necessary(&self) -> bool {
        self.reasons == self.of
    }

    /// Whether it is in some reason.
    pub fn is_relevant(&self) -> bool {
        self.reasons > 0
    }

    /// The share of the reasons that it is in.
    pub fn share(&self) -> RBig {
        RBig::from_parts(self.reasons.into(), self.of.max(1).into())
    }
}

/// The part of each player in the sufficient reasons of an entity's class.
pub fn attribution(
    classifier: &Classifier,
    entity: &Entity,
    watch: &Watch<'_>,
) -> Result<Vec<Attribution>, QueryError> {
    let tables = classifier.tables("attribution")?;
    let suffices = contrastive_sets(tables, entity).dual();
    let minimal = suffices.minimal_of_closed();
    let of = minimal.count();
    let none = Attribution { reasons: 0, of, shapley: RBig::ZERO, banzhaf: RBig::ZERO };
    let mut all = vec![none; classifier.space().players().len()];
    let runs = &tables.codes.runs;
    let factorial = |k: usize| (1..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor));
    let weights: Vec<UBig> = (0..runs.len()).map(|size| factorial(size) * factorial(runs.len() - size - 1)).collect();
    let (orders, sets) = (factorial(runs.len()), UBig::ONE << runs.len().saturating_sub(1));
    for (place, run) in runs.iter().enumerate() {
        watch.check()?;
        let swings = suffices.swings(place as u32);
        let weighed = swings.iter().zip(&weights).fold(UBig::ZERO, |sum, (&count, weight)| sum + weight * count);
        all[run.player] = Attribution {
            reasons: minimal.count_with(place as u32),
            of,
            shapley: RBig::from_parts(weighed.into(), orders.clone()),
            banzhaf: RBig::from_parts(swings.iter().sum::<u64>().into(), sets.clone()),
        };
    }
    Ok(all)
}
