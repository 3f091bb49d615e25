//! Sufficient and contrastive reasons of a decision.
//!
//! A set of players suffices if every input that can occur and agrees with the entity in them has the entity's class.
//! The minimal ones are the sufficient reasons (abductive explanations AXp, PI-explanations, prime implicants). A set
//! is contrastive if changing only its players can change the class, that is, if its complement does not suffice. The
//! minimal ones are the contrastive reasons (CXp); they are the minimal hitting sets of the sufficient reasons, and
//! vice versa.
//!
//! *Idea.* Map each input of another class to the set of players in which it differs; the upward closure of these sets
//! is the family C of contrastive sets. The sets whose complement is not in C suffice. Both families are monotone, so a
//! set is minimal if none of its subsets with one player fewer is in the family.
//!
//! *Shares.* With a share d below 1, a set suffices if at least d of the inputs that agree with the entity in it have its
//! class. This is not monotone: minimal then means that no proper subset suffices, and contrastive that the complement
//! does not. Cost: n 2^n additions.
//!
//! *Beyond the table.* One reason takes a search of the diagram for each player; `complete_reason` finds all reasons,
//! and `probable` those with a share.
//!
//! Darwiche and Hirth, "On the reasons behind decisions", ECAI 2020; Ignatiev, Narodytska, Asher and Marques-Silva, "From
//! contrastive to abductive explanations and back again", AI*IA 2020.

use super::class_tables::ClassTables;
use super::classifier::Engine;
use super::complete_reason::{Effort, Family, MinimalSets};
use super::diagram_search::AgreeSearch;
use super::diagrams::{Diagrams, Region};
use super::probable::{Probable, Wanted, probable};
use super::set_family::{SetFamily, ones};
use super::{Classifier, Entity, QueryError};
use crate::lit::Watch;
use dashu_base::UnsignedAbs;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// The most sets that are listed.
const MOST_LISTED: usize = 1_000_000;
/// The most bits of an input's number for which the table counts shares.
const SHARE_BITS: u32 = 26;

/// Which reasons to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// One: players are dropped, the least preferred first, as long as the rest still is a reason.
    #[default]
    One,
    /// This many of the smallest, by size and then by preference.
    Smallest(usize),
    /// All, in the same order, up to a million.
    All,
}

/// The requested reasons.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReasonsWanted {
    /// Which to list.
    pub which: Which,
    /// Players that must not be in a reason.
    pub exclude: Vec<usize>,
    /// Preferred players, the most preferred first; the others follow in their order.
    pub prefer: Vec<usize>,
    /// The share of the inputs that must keep the class, above 0 and at most 1; without it, all inputs.
    pub share: Option<RBig>,
}

/// Reasons of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reasons {
    /// The listed reasons, each as ascending players.
    pub sets: Vec<Vec<usize>>,
    /// The number of all reasons; `None` if it was not found within the limits.
    pub count: Option<UBig>,
}

impl Reasons {
    /// Whether all are listed.
    pub fn is_complete(&self) -> bool {
        self.count == Some(UBig::from(self.sets.len()))
    }
}

impl ReasonsWanted {
    /// The rank of each player: the most preferred has 0.
    fn ranks(&self, players: usize) -> Vec<usize> {
        let mut ranks = vec![usize::MAX; players];
        let all = self.prefer.iter().copied().chain(0..players);
        let mut next = 0;
        for player in all {
            if ranks[player] == usize::MAX {
                ranks[player] = next;
                next += 1;
            }
        }
        ranks
    }
}

/// The sufficient reasons of an entity's class.
pub fn sufficient(
    classifier: &Classifier,
    entity: &Entity,
    wanted: &ReasonsWanted,
    watch: &Watch<'_>,
) -> Result<Reasons, QueryError> {
    reasons(classifier, entity, Family::Sufficient, wanted, watch)
}

/// The contrastive reasons of an entity's class.
pub fn contrastive(
    classifier: &Classifier,
    entity: &Entity,
    wanted: &ReasonsWanted,
    watch: &Watch<'_>,
) -> Result<Reasons, QueryError> {
    reasons(classifier, entity, Family::Contrastive, wanted, watch)
}

fn reasons(
    classifier: &Classifier,
    entity: &Entity,
    family: Family,
    wanted: &ReasonsWanted,
    watch: &Watch<'_>,
) -> Result<Reasons, QueryError> {
    let tables = match (&classifier.engine, &wanted.share) {
        (Engine::Tables(tables), Some(share)) if tables.codes.bits > SHARE_BITS => {
            let diagrams = Diagrams::new(&classifier.labels, classifier.space(), watch)?;
            return shares_on_diagram(&diagrams, classifier, entity, family, share, wanted, watch);
        }
        (Engine::Tables(tables), _) => tables,
        (Engine::Diagrams(diagrams), Some(share)) => {
            return shares_on_diagram(diagrams, classifier, entity, family, share, wanted, watch);
        }
        (Engine::Diagrams(diagrams), None) => {
            return on_diagram(&diagrams.classes[entity.class][1], classifier, entity, family, wanted, watch);
        }
    };
    let sets = match (&wanted.share, family) {
        (None, Family::Sufficient) => contrastive_sets(tables, entity).dual(),
        (None, Family::Contrastive) => contrastive_sets(tables, entity),
        (Some(share), Family::Sufficient) => enough(tables, entity, share, watch)?,
        (Some(share), Family::Contrastive) => enough(tables, entity, share, watch)?.dual(),
    };
    Ok(minimal_sets(tables, classifier.space().players().len(), sets, wanted))
}

/// Reasons from the diagram of the inputs of other classes.
fn on_diagram(
    region: &Region,
    classifier: &Classifier,
    entity: &Entity,
    family: Family,
    wanted: &ReasonsWanted,
    watch: &Watch<'_>,
) -> Result<Reasons, QueryError> {
    let players = classifier.space().players().len();
    let ranks = wanted.ranks(players);
    let most = match wanted.which {
        Which::One => 0,
        Which::Smallest(most) => most.min(MOST_LISTED),
        Which::All => MOST_LISTED,
    };
    let effort = if most == 0 { Effort::LITTLE } else { Effort::FULL };
    let all = MinimalSets::new(region, &entity.bits, family, &wanted.exclude, effort, watch);
    if most > 0 {
        let (count, sets) = all?.smallest(most, MOST_LISTED, &ranks);
        return Ok(Reasons { sets, count: Some(count) });
    }
    let count = match all {
        Ok(all) => Some(all.smallest(0, 0, &ranks).0),
        Err(QueryError::SearchLimit { .. }) => None,
        Err(error) => return Err(error),
    };
    let sets = dropping(region, entity, family, &wanted.exclude, &ranks, watch)?;
    Ok(Reasons { count: if sets.is_none() { Some(UBig::ZERO) } else { count }, sets: sets.into_iter().collect() })
}

/// Reasons with a share from the diagrams of the entity's class and of all others. Their number is known only if the
/// search is complete.
fn shares_on_diagram(
    diagrams: &Diagrams,
    classifier: &Classifier,
    entity: &Entity,
    family: Family,
    share: &RBig,
    wanted: &ReasonsWanted,
    watch: &Watch<'_>,
) -> Result<Reasons, QueryError> {
    let space = classifier.space();
    let players = space.players().len();
    let number = |big: UBig| u64::try_from(big).map_err(|_| QueryError::LongShare);
    let share = (number(share.numerator().unsigned_abs())?, number(share.denominator().clone())?);
    let is_excluded: Vec<bool> = (0..players).map(|player| wanted.exclude.contains(&player)).collect();
    let most = match wanted.which {
        Which::One => 1,
        Which::Smallest(most) => most.min(MOST_LISTED),
        Which::All => usize::MAX,
    };
    let values = |player: usize| match (space.players().is_one_hot(player), space.members(player).len()) {
        (true, values) => values as u64,
        (false, bits) => 1u64.checked_shl(bits as u32).unwrap_or(u64::MAX),
    };
    let values: Vec<u64> = (0..players).map(values).collect();
    let [same, others] = &diagrams.classes[entity.class];
    let sought = Wanted { family, share, is_excluded: &is_excluded, most };
    let Probable { mut sets, is_complete } = probable([same, others], entity, &sought, &values, watch)?;
    let ranks = wanted.ranks(players);
    sets.sort_by_cached_key(|set| {
        let mut key: Vec<usize> = set.iter().map(|&player| ranks[player]).collect();
        key.sort_unstable();
        (set.len(), key)
    });
    let count = is_complete.then(|| sets.len().into());
    sets.truncate(most.min(MOST_LISTED));
    Ok(Reasons { sets, count })
}

/// Drops players, the least preferred first, as long as a search shows that the rest is in the family.
fn dropping(
    region: &Region,
    entity: &Entity,
    family: Family,
    exclude: &[usize],
    ranks: &[usize],
    watch: &Watch<'_>,
) -> Result<Option<Vec<usize>>, QueryError> {
    let mut search = AgreeSearch::new(region);
    let mut is_in = vec![true; ranks.len()];
    exclude.iter().for_each(|&player| is_in[player] = false);
    let mut holds = |is_in: &[bool]| -> Result<bool, QueryError> {
        let is_sufficient = family == Family::Sufficient;
        let free: Vec<bool> = is_in.iter().map(|&inside| inside != is_sufficient).collect();
        Ok(search.find(&entity.bits, &free, watch)?.is_some() != is_sufficient)
    };
    if !holds(&is_in)? {
        return Ok(None);
    }
    let mut order: Vec<usize> = (0..ranks.len()).filter(|&player| is_in[player]).collect();
    order.sort_by_key(|&player| ranks[player]);
    for player in order.into_iter().rev() {
        is_in[player] = false;
        is_in[player] = !holds(&is_in)?;
    }
    Ok(Some((0..ranks.len()).filter(|&player| is_in[player]).collect()))
}

/// All contrastive sets as sets of runs: a monotone family.
pub(super) fn contrastive_sets(tables: &ClassTables, entity: &Entity) -> SetFamily {
    let mut sets = tables.changed_sets(tables.not_of_class(entity.class, entity.code));
    sets.close_upwards();
    sets
}

/// The sets such that at least a share of the inputs that agree with the entity in them has its class.
fn enough(tables: &ClassTables, entity: &Entity, share: &RBig, watch: &Watch<'_>) -> Result<SetFamily, QueryError> {
    let same = sums_below(tables.changed_counts(&tables.of_class(entity.class, entity.code)), watch)?;
    let other = sums_below(tables.changed_counts(&tables.not_of_class(entity.class, entity.code)), watch)?;
    let number = |big: UBig| u64::try_from(big).map(u128::from).map_err(|_| QueryError::LongShare);
    let (part, whole) = (number(share.numerator().unsigned_abs())?, number(share.denominator().clone())?);
    let things = tables.codes.runs.len() as u32;
    let mut sets = SetFamily::empty(things);
    let all = (1u64 << things) - 1;
    for free in 0..=all {
        let (same, other) = (u128::from(same[free as usize]), u128::from(other[free as usize]));
        // Counts have at most 26 bits and the numbers of a share 64, so the products fit.
        if same * whole >= part * (same + other) {
            sets.insert(all & !free);
        }
    }
    Ok(sets)
}

/// For each set, the sum of the counts of all its subsets.
fn sums_below(mut counts: Vec<u32>, watch: &Watch<'_>) -> Result<Vec<u32>, QueryError> {
    let mut stride = 1;
    while stride < counts.len() {
        watch.check()?;
        for pair in counts.chunks_exact_mut(2 * stride) {
            let (without, with) = pair.split_at_mut(stride);
            with.iter_mut().zip(without).for_each(|(with, without)| *with += *without);
        }
        stride *= 2;
    }
    Ok(counts)
}

/// The requested minimal sets of a family.
fn minimal_sets(tables: &ClassTables, players: usize, mut family: SetFamily, wanted: &ReasonsWanted) -> Reasons {
    let runs = &tables.codes.runs;
    let ranks = wanted.ranks(players);
    let rank_of: Vec<usize> = runs.iter().map(|run| ranks[run.player]).collect();
    let excluded = (0..runs.len()).filter(|&run| wanted.exclude.contains(&runs[run].player));
    let excluded = excluded.fold(0, |set, run| set | 1u64 << run);
    let is_monotone = wanted.share.is_none();
    if !is_monotone {
        family.close_upwards();
    }
    let mut minimal = family.minimal_of_closed();
    minimal.keep_without(excluded);
    let count = minimal.count();
    let listed = match wanted.which {
        _ if count == 0 => Vec::new(),
        Which::One if is_monotone => vec![one_by_dropping(&family, excluded, &rank_of)],
        Which::One => smallest(&minimal, 1, &rank_of),
        Which::Smallest(most) => smallest(&minimal, most, &rank_of),
        Which::All => smallest(&minimal, MOST_LISTED, &rank_of),
    };
    let players = |set: u64| {
        let mut players: Vec<usize> = ones(set).map(|run| runs[run as usize].player).collect();
        players.sort_unstable();
        players
    };
    Reasons { sets: listed.into_iter().map(players).collect(), count: Some(count.into()) }
}

/// Drops runs, the least preferred first, as long as the rest is in the monotone family.
fn one_by_dropping(family: &SetFamily, excluded: u64, rank_of: &[usize]) -> u64 {
    let mut order: Vec<usize> = (0..rank_of.len()).collect();
    order.sort_by_key(|&run| rank_of[run]);
    let mut set = ((1u64 << family.things()) - 1) & !excluded;
    for run in order.into_iter().rev() {
        if family.has(set & !(1 << run)) {
            set &= !(1 << run);
        }
    }
    set
}

/// The smallest sets, by size and then by the ranks of their runs.
fn smallest(family: &SetFamily, most: usize, rank_of: &[usize]) -> Vec<u64> {
    // Among sets of the same size, the one with the most preferred of the runs in which they differ comes first.
    let mut places: Vec<usize> = (0..rank_of.len()).collect();
    places.sort_by_key(|&run| rank_of[run]);
    let key = |set: &u64| !places.iter().enumerate().fold(0, |key, (rank, run)| key | (set >> run & 1) << (63 - rank));
    let mut found = Vec::new();
    for (size, count) in family.sizes().into_iter().enumerate() {
        if count == 0 || found.len() >= most {
            continue;
        }
        let mut sets = family.of_size(size);
        sets.sort_by_cached_key(key);
        sets.truncate(most - found.len());
        found.append(&mut sets);
    }
    found
}
