//! How likely each class is in each group of protected values, under a distribution of independent players.
//!
//! The probability of a region with some features fixed takes one sweep over its diagram with fractions. A level that a
//! path skips contributes the weights of both values. In a one-hot column, a feature's probability is that of its
//! value: a 0 has weight 1 because exactly one feature of the column is 1.

use super::diagrams::{Diagrams, Region};
use super::{Classifier, QueryError};
use crate::lit::Watch;
use dashu_ratio::RBig;

/// The most groups.
const MOST_GROUPS: usize = 4096;

/// One group of protected values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupAcceptance {
    /// The values of protected features; all others are false.
    pub values: Vec<bool>,
    /// The probability of the group.
    pub probability: RBig,
    /// The probability of each class in it.
    pub classes: Vec<RBig>,
}

/// The probability of each class in each group of values of these players that can occur.
pub fn acceptance(
    classifier: &Classifier,
    protected: &[usize],
    probabilities: &[RBig],
    watch: &Watch<'_>,
) -> Result<Vec<GroupAcceptance>, QueryError> {
    let space = classifier.space();
    let diagrams = Diagrams::new(&classifier.labels, space, watch)?;
    let is_one_hot = |feature: usize| space.players().is_one_hot(space.players().of(feature));
    let weights: Vec<[RBig; 2]> = probabilities
        .iter()
        .enumerate()
        .map(|(feature, one)| [if is_one_hot(feature) { RBig::ONE } else { RBig::ONE - one }, one.clone()])
        .collect();
    let mut found = Vec::new();
    for values in groups(classifier, protected)? {
        watch.check()?;
        let mut fixed = weights.clone();
        for &feature in protected.iter().flat_map(|&player| space.members(player)) {
            fixed[feature][usize::from(!values[feature])] = RBig::ZERO;
        }
        let [own, others] = diagrams.classes[0].each_ref().map(|region| weight(region, &fixed));
        let all = own + others;
        if all.is_zero() {
            continue;
        }
        let classes = diagrams.classes.iter().map(|[is, _]| weight(is, &fixed) / &all).collect();
        found.push((values, all, classes));
    }
    let sum = found.iter().fold(RBig::ZERO, |sum, (_, all, _): &(_, RBig, _)| sum + all);
    let group = |(values, all, classes)| GroupAcceptance { values, probability: all / &sum, classes };
    Ok(found.into_iter().map(group).collect())
}

/// All values of the protected features with exactly one 1 in each one-hot column.
fn groups(classifier: &Classifier, protected: &[usize]) -> Result<Vec<Vec<bool>>, QueryError> {
    let space = classifier.space();
    let mut groups = vec![vec![false; space.features()]];
    for &player in protected {
        let members = space.members(player);
        let choices: Vec<Vec<usize>> = match space.players().is_one_hot(player) {
            true => members.iter().map(|&feature| vec![feature]).collect(),
            false if members.len() > 12 => return Err(too_many()),
            false => {
                let chosen = |set: usize| members.iter().enumerate().filter(move |(bit, _)| set >> bit & 1 == 1);
                (0..1usize << members.len()).map(|set| chosen(set).map(|(_, &feature)| feature).collect()).collect()
            }
        };
        let with = |group: &Vec<bool>, ones: &Vec<usize>| {
            let mut group = group.clone();
            ones.iter().for_each(|&feature| group[feature] = true);
            group
        };
        groups = groups.iter().flat_map(|group| choices.iter().map(move |ones| with(group, ones))).collect();
        if groups.len() > MOST_GROUPS {
            return Err(too_many());
        }
    }
    Ok(groups)
}

fn too_many() -> QueryError {
    QueryError::SearchLimit { what: "comparing groups", limit: MOST_GROUPS, unit: "groups" }
}

/// The weight of a region: the sum over its inputs of the product of the weights of their values.
fn weight(region: &Region, weights: &[[RBig; 2]]) -> RBig {
    let diagram = &*region.diagram;
    let both = |level: u32| {
        let [zero, one] = &weights[diagram.order[level as usize]];
        zero + one
    };
    let skipped = |from: u32, to: u32| (from..to).map(both).fold(RBig::ONE, |product, sum| product * sum);
    let mut values = vec![RBig::ZERO; region.root as usize + 2];
    values[region.leaf as usize] = RBig::ONE;
    for at in 2..=region.root as usize {
        let [level, lo, hi] = diagram.nodes[at];
        let [zero, one] = &weights[diagram.order[level as usize]];
        let below = |child: u32| skipped(level + 1, diagram.nodes[child as usize][0]) * &values[child as usize];
        values[at] = zero * below(lo) + one * below(hi);
    }
    skipped(0, diagram.nodes[region.root as usize][0]) * &values[region.root as usize]
}
