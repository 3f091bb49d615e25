//! How many players must change before the decision does: the radius of an entity, and the inputs around it.
//!
//! *Radius.* The distance of the nearest input of another class, where every player counts 1; `None` if all inputs have
//! the same class.
//!
//! *All inputs at once.* The set of inputs of other classes grows by one changed player per step: each player's run
//! takes every value, which takes a few word operations. Inputs of a class not reached after d steps have a radius
//! above d, so the sum of all radii is the sum over d of the number of inputs not reached yet. Cost: players times the
//! largest radius passes over the table. Beyond the table the same is done with diagrams, where a player is quantified
//! existentially; their size cannot be predicted.

use super::class_tables::ClassTables;
use super::classifier::Engine;
use super::counterfactual::{Costs, Moves, Near};
use super::diagram_search::Ways;
use super::set_family::shifted_word;
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// The robustness of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robustness {
    /// The number of players that must change; `None` if no change changes the class.
    pub radius: Option<usize>,
    /// The number of inputs of other classes at each distance from 0 to the requested one.
    pub others: Vec<UBig>,
}

/// The radius of an entity, and the inputs of other classes at each distance up to `within`.
pub fn robustness(
    classifier: &Classifier,
    entity: &Entity,
    within: Option<usize>,
    watch: &Watch<'_>,
) -> Result<Robustness, QueryError> {
    watch.check()?;
    let costs = Costs::new(classifier.space(), None)?;
    let moves = Moves::all(entity.bits.len());
    let tables = match &classifier.engine {
        Engine::Tables(tables) => tables,
        Engine::Diagrams(diagrams) => {
            let region = &diagrams.classes[entity.class][1];
            let ways = Ways::new(region, entity, &moves.may_change, &costs.of, watch)?;
            let radius = ways.distance().map(|distance| distance as usize);
            let most = within.map(|within| within.min(costs.of.len()));
            let others = most.map_or(Ok(Vec::new()), |most| ways.counts(most, watch))?;
            return Ok(Robustness { radius, others });
        }
    };
    let family = tables.not_of_class(entity.class, entity.code);
    let near = Near::new(classifier.space(), tables, entity, family, &moves, &costs);
    let radius = near.distance().map(|distance| distance as usize);
    let others = match within {
        Some(within) => near.counts().into_iter().take(within.saturating_add(1)).map(UBig::from).collect(),
        None => Vec::new(),
    };
    Ok(Robustness { radius, others })
}

/// The mean radius over all inputs that can occur; `None` if they all have the same class.
pub fn mean_over_inputs(classifier: &Classifier, watch: &Watch<'_>) -> Result<Option<RBig>, QueryError> {
    let tables = match &classifier.engine {
        Engine::Tables(tables) => tables,
        Engine::Diagrams(diagrams) => return diagrams.mean_radius(watch),
    };
    let mut sum = UBig::ZERO;
    for class in tables.classes.iter().filter(|class| class.iter().any(|&word| word != 0)) {
        let mut reached: Vec<u64> = tables.valid.iter().zip(class).map(|(valid, class)| valid & !class).collect();
        if reached.iter().all(|&word| word == 0) {
            return Ok(None);
        }
        loop {
            let left = class.iter().zip(&reached).map(|(class, reached)| u64::from((class & !reached).count_ones()));
            let left: u64 = left.sum();
            if left == 0 {
                break;
            }
            sum += left;
            reached = grown(tables, &reached, watch)?;
        }
    }
    Ok(Some(RBig::from_parts(sum.into(), tables.inputs().into())))
}

/// All numbers that differ from one of these in at most one run.
fn grown(tables: &ClassTables, from: &[u64], watch: &Watch<'_>) -> Result<Vec<u64>, QueryError> {
    let mut all = from.to_vec();
    for run in &tables.codes.runs {
        watch.check()?;
        let mut any = from.to_vec();
        for bit in run.start..run.start + run.width {
            any = (0..any.len()).map(|index| any[index] | shifted_word(&any, index, 1 << bit)).collect();
        }
        all.iter_mut().zip(any).for_each(|(word, any)| *word |= any);
    }
    Ok(all)
}
