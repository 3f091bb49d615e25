//! The claims that answers make about the network, in the form of certificates.

use super::ask_answers::bit_text;
use super::ask_claims::Verdict;
use super::{Asker, Error, Found, Letter, Question, RowAnswer};
use crate::lit::Watch;
use crate::query::{self, QueryError, Reasons, ReasonsWanted, Space, Which, Wish};
use crate::query::{
    AttributionClaim, BiasClaim, Claim, Extent, InputVerdictClaim, LetterClaim, MandatoryClaim, Moves, NearestClaim,
    PartClaim, PlayerClaim, ProbableClaim, PropertiesClaim, ScoreClaim, ScoresClaim, SetVerdictClaim, SetsClaim,
    Within,
};
use dashu_ratio::RBig;

/// The most reasons that the certificate of an attribution lists.
const MOST_REASONS: usize = 10_000;

pub(super) fn names_of(space: &Space, players: &[usize]) -> Vec<String> {
    let mut players = players.to_vec();
    players.sort_unstable();
    players.dedup();
    players.iter().map(|&player| space.players().names()[player].clone()).collect()
}

/// The claim of a row's answer; nothing if it cannot be certified.
pub(super) fn claim_of_row(asker: &Asker, answer: &RowAnswer, watch: &Watch<'_>) -> Result<Option<Claim>, Error> {
    let (entity, label) = (bit_text(&answer.entity.bits), answer.entity.class);
    Ok(Some(match &answer.found {
        Found::Reasons(found) => sets_claim(asker, answer, found),
        Found::Counterfactuals(found) => {
            let nearest = found.listed.iter().filter(|one| Some(&one.distance) == found.distance.as_ref());
            let mut claim = nearest_claim(asker, answer, &asker.wish(&answer.entity));
            claim.distance = found.distance.as_ref().map(|distance| distance.to_string());
            claim.inputs = nearest.map(|one| bit_text(&one.input)).collect();
            claim.count = Some(found.count.to_string());
            Claim::Nearest(claim)
        }
        Found::Robustness(found) => {
            let wish = Wish { limit: Some(1), ..Wish::default() };
            let nearest = query::counterfactuals(asker.classifier(), &answer.entity, &wish, watch)?;
            let mut claim = nearest_claim(asker, answer, &wish);
            claim.distance = found.radius.map(|radius| radius.to_string());
            claim.inputs = nearest.listed.iter().map(|one| bit_text(&one.input)).collect();
            claim.within = asker.request().radius.map(|radius| {
                let others = found.others.iter().fold(dashu_int::UBig::ZERO, |sum, count| sum + count);
                Within { distance: radius.to_string(), others: others.to_string() }
            });
            Claim::Nearest(claim)
        }
        Found::Bias(other) => {
            let protected = names_of(asker.space(), &asker.parts.protected);
            Claim::DecisionBias(BiasClaim { entity, label, protected, biased: other.is_some() })
        }
        Found::Codes(letter) => match asker.favourable().filter(|&favourable| favourable != label) {
            Some(favourable) => Claim::Letter(letter_claim(asker, answer, letter, favourable)),
            None => return Ok(None),
        },
        Found::Attribution(parts) => Claim::Attribution(attribution_claim(asker, answer, parts, watch)?),
        Found::OtherClass(_) | Found::Verdicts(_) | Found::Nothing => return Ok(None),
    }))
}

/// Claims which sets are the reasons: some, the smallest, or all of those among some players.
fn sets_claim(asker: &Asker, answer: &RowAnswer, found: &Reasons) -> Claim {
    let (entity, label) = (bit_text(&answer.entity.bits), answer.entity.class);
    let (space, wanted) = (asker.space(), &asker.parts.reasons);
    let sets = found.sets.iter().map(|set| names_of(space, set)).collect();
    let others = (0..space.players().len()).filter(|player| !wanted.exclude.contains(player));
    let among = (!wanted.exclude.is_empty()).then(|| names_of(space, &others.collect::<Vec<_>>()));
    let extent = match (found.is_complete(), wanted.which) {
        _ if found.sets.is_empty() => Extent::All,
        (true, Which::Smallest(_) | Which::All) => Extent::All,
        (_, Which::One) => Extent::Some,
        (false, _) => Extent::Smallest,
    };
    match (&wanted.share, asker.request().question == Question::Contrast) {
        (Some(share), contrasts) => {
            let (share, shares) = (share.to_string(), Vec::new());
            Claim::Probable(ProbableClaim { entity, label, contrasts, share, sets, shares, among, extent })
        }
        (None, true) => Claim::Contrasts(SetsClaim { entity, label, sets, among, extent }),
        (None, false) => Claim::Reasons(SetsClaim { entity, label, sets, among, extent }),
    }
}

/// Claims all reasons, and each player's part in them.
fn attribution_claim(
    asker: &Asker,
    answer: &RowAnswer,
    parts: &[query::Attribution],
    watch: &Watch<'_>,
) -> Result<AttributionClaim, Error> {
    let wanted = ReasonsWanted { which: Which::Smallest(MOST_REASONS), ..ReasonsWanted::default() };
    let found = query::sufficient(asker.classifier(), &answer.entity, &wanted, watch)?;
    if !found.is_complete() {
        let reason = format!("there are more than {MOST_REASONS} reasons to list");
        return Err(QueryError::NoCertificate { reason }.into());
    }
    let (entity, label) = (bit_text(&answer.entity.bits), answer.entity.class);
    let sets = found.sets.iter().map(|set| names_of(asker.space(), set)).collect();
    let reasons = SetsClaim { entity, label, sets, among: None, extent: Extent::All };
    let part = |(name, part): (&String, &query::Attribution)| {
        let [share, shapley, banzhaf] = [&part.share(), &part.shapley, &part.banzhaf].map(|number| number.to_string());
        PartClaim { name: name.clone(), share, shapley, banzhaf }
    };
    let names = asker.space().players().names();
    Ok(AttributionClaim { reasons, players: names.iter().zip(parts).map(part).collect() })
}

/// The claim of a letter: what speaks against the favourable class, and the change that helps.
fn letter_claim(asker: &Asker, answer: &RowAnswer, letter: &Letter, favourable: usize) -> LetterClaim {
    let mut change = nearest_claim(asker, answer, &asker.wish(&answer.entity));
    change.distance = letter.change.as_ref().map(|change| change.distance.to_string());
    change.inputs = letter.change.iter().map(|change| bit_text(&change.input)).collect();
    let names = asker.space().players().names();
    let score =
        |(player, score): &(usize, RBig)| ScoreClaim { player: names[*player].clone(), score: score.to_string() };
    let scores = letter.reasons.iter().map(score).collect();
    let reasons = ScoresClaim { against: asker.letter_group(), top: asker.letter_top(), scores };
    LetterClaim { favourable, reasons: Some(reasons), change }
}

/// The claim about another program's answer, and the claim about its repaired version.
pub(super) fn verdict_claims(asker: &Asker, answer: &RowAnswer, verdict: &Verdict) -> (Claim, Option<Claim>) {
    let (entity, label) = (bit_text(&answer.entity.bits), answer.entity.class);
    match verdict {
        Verdict::Set(kind, set, found) => {
            let contrastive = *kind == query::SetClaim::Contrastive;
            let [set, superfluous] = [set, &found.superfluous].map(|players| names_of(asker.space(), players));
            let repaired = found.repaired.as_ref().map(|set| {
                let sets = vec![names_of(asker.space(), set)];
                let claim = SetsClaim { entity: entity.clone(), label, sets, among: None, extent: Extent::Some };
                if contrastive { Claim::Contrasts(claim) } else { Claim::Reasons(claim) }
            });
            let valid = found.is_valid;
            (Claim::SetVerdict(SetVerdictClaim { entity, label, contrastive, set, valid, superfluous }), repaired)
        }
        Verdict::Input(input, found) => {
            let mut nearest = nearest_claim(asker, answer, &asker.wish(&answer.entity));
            let NearestClaim { to, costs, moves, .. } = nearest.clone();
            let (input, distance) = (bit_text(input), found.distance.to_string());
            let (valid, minimal) = (found.is_valid, found.is_minimal);
            let nearest_is = found.is_nearest;
            let claim = InputVerdictClaim {
                entity,
                label,
                to,
                costs,
                moves,
                input,
                distance,
                valid,
                minimal,
                nearest: nearest_is,
            };
            nearest.distance = found.repaired.as_ref().map(|one| one.distance.to_string());
            nearest.inputs = found.repaired.iter().map(|one| bit_text(&one.input)).collect();
            (Claim::InputVerdict(claim), Some(Claim::Nearest(nearest)))
        }
    }
}

/// A claim about the nearest inputs, still without the answer.
fn nearest_claim(asker: &Asker, answer: &RowAnswer, wish: &Wish) -> NearestClaim {
    let names = |features: &[usize]| {
        let mut features = features.to_vec();
        features.sort_unstable();
        features.dedup();
        features.iter().map(|&feature| asker.circuit().features[feature].clone()).collect()
    };
    let players = asker.space().players().names();
    let costs = wish.costs.iter().flatten().enumerate();
    NearestClaim {
        entity: bit_text(&answer.entity.bits),
        label: answer.entity.class,
        to: wish.class,
        costs: costs.map(|(player, cost)| (players[player].clone(), cost.to_string())).collect(),
        moves: Moves { not_up: names(&wish.not_up), not_down: names(&wish.not_down) },
        distance: None,
        inputs: Vec::new(),
        count: None,
        within: None,
    }
}

pub(super) fn properties_claim(asker: &Asker, watch: &Watch<'_>) -> Result<PropertiesClaim, Error> {
    let found = query::properties(asker.classifier(), &asker.parts.all_ordered(asker.space()), watch)?;
    let mandatory = |player: usize, label: usize, value: u64| {
        let is_one_hot = asker.space().players().is_one_hot(player);
        let is_on = |place: u64| if is_one_hot { place == value } else { value >> place & 1 == 1 };
        let bits: Vec<bool> = (0..asker.space().members(player).len() as u64).map(is_on).collect();
        MandatoryClaim { label, value: bit_text(&bits) }
    };
    let claim = |(player, property): (usize, &query::Property)| {
        let single = asker.space().members(player).len() == 1;
        let all = property.mandatory.iter();
        let mandatory = all.map(|&(label, value)| mandatory(player, label, value)).collect();
        let way = property.monotone.filter(|_| single);
        let is = |one: query::Monotone| way.map(|way| way == one || way == query::Monotone::Neither);
        PlayerClaim {
            name: asker.space().players().names()[player].clone(),
            used: property.is_used(),
            rises: is(query::Monotone::Up),
            falls: is(query::Monotone::Down),
            influence: Some(property.influence.to_string()),
            // If a column has a single value, that value says nothing.
            mandatory: (!single || !asker.space().players().is_one_hot(player)).then_some(mandatory),
        }
    };
    Ok(PropertiesClaim { players: found.iter().enumerate().map(claim).collect() })
}
