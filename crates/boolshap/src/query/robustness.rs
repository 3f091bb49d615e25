//! How many players must change before the decision does: the radius of an entity, and the inputs around it.
//!
//! *Radius.* The distance of the nearest input of another class, every player counting 1; nothing if the class is the same everywhere.
//!
//! *All inputs at once.* The inputs of other classes grow by one player at a time: a player's run takes every value, which
//! is a few word operations. What a class has not met after d steps has a radius above d, so the sum of all radii is the
//! sum over d of what is not met yet. Cost: players times the largest radius passes over the table. Beyond the table the
//! same is done with diagrams, where a player is quantified away; how large these grow is not known before.

use super::class_tables::ClassTables;
use super::classifier::Engine;
use super::counterfactual::{Costs, Moves, Near};
use super::diagram_search::Ways;
use super::set_family::shifted_word;
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// How safe one decision is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robustness {
    /// How many players must change; nothing if no change changes the class.
    pub radius: Option<usize>,
    /// How many inputs of other classes there are at each distance from 0 to what was asked for.
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

/// The mean radius over all inputs that can occur; nothing if the class is the same everywhere.
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

/// All numbers that differ in one run at most from one of these.
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
