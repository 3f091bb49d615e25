//! Each player's part in the reasons of a decision.
//!
//! A player is necessary if it is in every sufficient reason, relevant if in some, else irrelevant; the share of the
//! reasons that contain it is its formal attribution (Yu, Ignatiev and Stuckey, "On formal feature attribution and its
//! approximation", 2023). The Shapley and Banzhaf values are those of the game in which a set is worth 1 if it suffices.
//!
//! *Idea.* A player swings a set that suffices with it but not without it. The Banzhaf value is the share of the sets
//! that it swings; the Shapley value weights these sets by their size. Cost: n 2^n / 64 word operations for each
//! player.
//!
//! *Beyond the table.* The contrastive sets form a diagram over the players. Two sweeps count, by size, the sets that
//! lead from the root to each node and from each node to the leaf. At a node, the number of swings of its player is the
//! number of sets that lead there times the difference between the counts of its two children. Cost: n^2 additions per
//! node.

use super::classifier::Engine;
use super::complete_reason::{ContrastiveSets, Effort, Family};
use super::diagrams::Region;
use super::reason::contrastive_sets;
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// One player's part in the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// How many sufficient reasons contain it.
    pub reasons: UBig,
    /// How many sufficient reasons there are.
    pub of: UBig,
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
        self.reasons > UBig::ZERO
    }

    /// The share of the reasons that contain it.
    pub fn share(&self) -> RBig {
        RBig::from_parts(self.reasons.clone().into(), self.of.clone().max(UBig::ONE))
    }
}

/// The part of each player in the sufficient reasons of an entity's class.
pub fn attribution(
    classifier: &Classifier,
    entity: &Entity,
    watch: &Watch<'_>,
) -> Result<Vec<Attribution>, QueryError> {
    let tables = match &classifier.engine {
        Engine::Tables(tables) => tables,
        Engine::Diagrams(diagrams) => {
            return on_diagram(&diagrams.classes[entity.class][1], classifier.space().players().len(), entity, watch);
        }
    };
    let suffices = contrastive_sets(tables, entity).dual();
    let minimal = suffices.minimal_of_closed();
    let of = UBig::from(minimal.count());
    let mut all = vec![Attribution::none(of.clone()); classifier.space().players().len()];
    let runs = &tables.codes.runs;
    for (place, run) in runs.iter().enumerate() {
        watch.check()?;
        let swings: Vec<UBig> = suffices.swings(place as u32).into_iter().map(UBig::from).collect();
        let reasons = minimal.count_with(place as u32).into();
        all[run.player] = Attribution::of_swings(reasons, of.clone(), &swings[..runs.len()]);
    }
    Ok(all)
}

impl Attribution {
    fn none(of: UBig) -> Self {
        Attribution { reasons: UBig::ZERO, of, shapley: RBig::ZERO, banzhaf: RBig::ZERO }
    }

    /// From how many sets of the other players, by size, this player swings.
    fn of_swings(reasons: UBig, of: UBig, swings: &[UBig]) -> Self {
        let players = swings.len();
        let factorial = |k: usize| (1..=k).fold(UBig::ONE, |product, factor| product * UBig::from(factor));
        let weight = |size: usize| factorial(size) * factorial(players - size - 1);
        let weighed = swings.iter().enumerate().fold(UBig::ZERO, |sum, (size, count)| sum + weight(size) * count);
        let sets = swings.iter().fold(UBig::ZERO, |sum, count| sum + count);
        Attribution {
            reasons,
            of,
            shapley: RBig::from_parts(weighed.into(), factorial(players)),
            banzhaf: RBig::from_parts(sets.into(), UBig::ONE << players.saturating_sub(1)),
        }
    }
}

/// The same from the diagram of the inputs of other classes.
fn on_diagram(
    region: &Region,
    players: usize,
    entity: &Entity,
    watch: &Watch<'_>,
) -> Result<Vec<Attribution>, QueryError> {
    let sets = ContrastiveSets::new(region, &entity.bits, Effort::FULL, watch)?;
    let (of, having) = sets.minimal(Family::Sufficient, &[], Effort::FULL, watch)?.counts();
    let mut all = vec![Attribution::none(of.clone()); players];
    for ((&player, reasons), mut swings) in sets.players.iter().zip(having).zip(swings(&sets, watch)?) {
        // A free set swings exactly if its complement, the set of the other players that are kept, does: the sizes are
        // reversed.
        swings.reverse();
        all[player] = Attribution::of_swings(reasons, of.clone(), &swings);
    }
    Ok(all)
}

/// For each place of a diagram of sets and each size, how many sets are outside the family but enter it with this
/// player.
fn swings(sets: &ContrastiveSets, watch: &Watch<'_>) -> Result<Vec<Vec<UBig>>, QueryError> {
    let players = sets.players.len();
    let place = |node: u32| if node <= 1 { players } else { sets.nodes[node as usize][0] as usize };
    // How many sets of each size lead from a node to the leaf 1.
    let mut below: Vec<Vec<UBig>> = vec![Vec::new(), vec![UBig::ONE]];
    for &[at, fixed, free] in &sets.nodes[2..] {
        watch.check()?;
        let child = |child: u32| skipping(&below[child as usize], place(child) - at as usize - 1);
        below.push(sum(child(fixed), shifted(child(free))));
    }
    let mut above: Vec<Vec<UBig>> = vec![Vec::new(); sets.nodes.len()];
    above[sets.root as usize] = skipping(&[UBig::ONE], place(sets.root));
    let mut all = vec![vec![UBig::ZERO; players]; players];
    for at in (2..sets.nodes.len()).rev() {
        watch.check()?;
        let [own, fixed, free] = sets.nodes[at];
        let ways = std::mem::take(&mut above[at]);
        let child = |child: u32| skipping(&below[child as usize], place(child) - own as usize - 1);
        // More free players can change more: each set of the fixed child is also one of the free child.
        let (with, without) = (child(free), child(fixed));
        let differ = with.iter().enumerate().map(|(size, count)| count - without.get(size).unwrap_or(&UBig::ZERO));
        for (size, differ) in differ.enumerate().filter(|(_, differ)| *differ > UBig::ZERO) {
            for (before, ways) in ways.iter().enumerate() {
                all[own as usize][before + size] += ways * &differ;
            }
        }
        for (child, ways) in [(fixed, ways.clone()), (free, shifted(ways))] {
            let more = skipping(&ways, place(child) - own as usize - 1);
            above[child as usize] = sum(std::mem::take(&mut above[child as usize]), more);
        }
    }
    Ok(all)
}

/// The counts by size after adding any subset of this many further players.
fn skipping(counts: &[UBig], players: usize) -> Vec<UBig> {
    (0..players).fold(counts.to_vec(), |counts, _| sum(counts.clone(), shifted(counts)))
}

/// The counts by size after adding one player to each set.
fn shifted(mut counts: Vec<UBig>) -> Vec<UBig> {
    if !counts.is_empty() {
        counts.insert(0, UBig::ZERO);
    }
    counts
}

fn sum(one: Vec<UBig>, other: Vec<UBig>) -> Vec<UBig> {
    let (mut long, short) = if one.len() < other.len() { (other, one) } else { (one, other) };
    long.iter_mut().zip(short).for_each(|(sum, count)| *sum += count);
    long
}
