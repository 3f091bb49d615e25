//! The claim of a certificate in words: one sentence that can be read without the file.

use super::certificate::Certificate;
use super::claims::{
    AttributionClaim, Claim, DifferenceClaim, Extent, InputVerdictClaim, LetterClaim, MandatoryClaim, NearestClaim,
    PlayerClaim, SetVerdictClaim, SetsClaim,
};
use crate::model::Model;

/// The claim of a certificate as a sentence.
pub(super) fn claim_in_words(certificate: &Certificate, model: &Model) -> String {
    let said = match &certificate.claim {
        Claim::Reasons(claim) => {
            let what = [" suffices for", "reason", "sufficient"];
            sets_in_words(claim, what)
        }
        Claim::Contrasts(claim) => sets_in_words(claim, [" can change", "contrast", "contrastive"]),
        Claim::Probable(claim) => {
            let sets: Vec<String> =
                claim.sets.iter().zip(&claim.shares).map(|(set, share)| format!("{} ({share})", braces(set))).collect();
            let others = others_in_words(claim.extent, "set");
            format!(
                "{}: minimal sets with{} the decision {} of {}{others}",
                list(&sets),
                match claim.contrasts {
                    false => format!(" which at least {} of the inputs keep", claim.share),
                    true => format!("out which less than {} of the inputs keep", claim.share),
                },
                claim.label,
                claim.entity
            )
        }
        Claim::Nearest(claim) => nearest_in_words(claim),
        Claim::DecisionBias(claim) => {
            let (does, of) = (if claim.biased { "changes" } else { "does not change" }, braces(&claim.protected));
            format!("a change of {of} alone {does} the decision {} of {}", claim.label, claim.entity)
        }
        Claim::ClassifierBias(claim) => {
            let does = if claim.biased { "changes a" } else { "changes no" };
            let count = claim.inputs.as_ref().map_or(String::new(), |count| format!(" ({count} inputs are biased)"));
            format!("a change of {} alone {does} decision{count}", braces(&claim.protected))
        }
        Claim::Properties(claim) => claim.players.iter().map(player_in_words).collect::<Vec<_>>().join("; "),
        Claim::Attribution(claim) => attribution_in_words(claim),
        Claim::MeanRadius(claim) => match &claim.mean {
            Some(mean) => format!("on the mean over all inputs, {mean} players must change for another decision"),
            None => "all inputs have one decision".into(),
        },
        Claim::Difference(claim) => difference_in_words(claim),
        Claim::SetVerdict(claim) => set_verdict_in_words(claim),
        Claim::InputVerdict(claim) => input_verdict_in_words(claim),
        Claim::Letter(claim) => letter_in_words(claim),
    };
    let decision = match certificate.class {
        Some(class) if (class, model.network.classes()) != (1, 2) => {
            format!(", where the decision is \"class {class}\"")
        }
        _ => String::new(),
    };
    format!("{said}{decision}{}", domain_in_words(certificate))
}

fn braces(names: &[String]) -> String {
    format!("{{{}}}", names.join(", "))
}

fn list(texts: &[String]) -> String {
    if texts.is_empty() { "none".into() } else { texts.join(", ") }
}

fn others_in_words(extent: Extent, what: &str) -> String {
    match extent {
        Extent::Some => String::new(),
        Extent::Smallest => format!("; no other {what} is smaller"),
        Extent::All => format!("; there is no other {what}"),
    }
}

fn sets_in_words(claim: &SetsClaim, [does, noun, kind]: [&str; 3]) -> String {
    let among = claim.among.as_ref().map_or(String::new(), |names| format!(" among {}", braces(names)));
    let of = format!("the decision {} of {}", claim.label, claim.entity);
    let others = others_in_words(claim.extent, &format!("minimal {kind} set{among}"));
    match &claim.sets[..] {
        [] => format!("{of} has no {kind} set{among}"),
        [only] => format!("{}{does} {of}, and no part of it{others}", braces(only)),
        several => {
            let sets: Vec<String> = several.iter().map(|set| braces(set)).collect();
            format!("{of} has the {} minimal {noun}s {}{others}", several.len(), sets.join(", "))
        }
    }
}

fn nearest_in_words(claim: &NearestClaim) -> String {
    let wish = claim.to.map_or("another decision".to_string(), |label| format!("the decision {label}"));
    let mut limits: Vec<String> = Vec::new();
    if !claim.costs.is_empty() {
        let costs: Vec<String> = claim.costs.iter().map(|(name, cost)| format!("{name} {cost}")).collect();
        limits.push(format!("costs {}", costs.join(", ")));
    }
    for (features, way) in [(&claim.moves.not_up, "from 0 to 1"), (&claim.moves.not_down, "from 1 to 0")] {
        if !features.is_empty() {
            limits.push(format!("{} not {way}", braces(features)));
        }
    }
    let limits = if limits.is_empty() { String::new() } else { format!(" ({})", limits.join("; ")) };
    let from = format!("{}, decided {},", claim.entity, claim.label);
    let mut said = match &claim.distance {
        None => format!("{from} no change leads to {wish}{limits}"),
        Some(distance) => {
            let inputs = list(&claim.inputs);
            format!("from {from} the nearest inputs with {wish} are at distance {distance}{limits}: {inputs}")
        }
    };
    if let Some(count) = &claim.count {
        said.push_str(&format!(", {count} in all"));
    }
    if let Some(within) = &claim.within {
        said.push_str(&format!("; {} within distance {}", within.others, within.distance));
    }
    said
}

fn attribution_in_words(claim: &AttributionClaim) -> String {
    let parts = claim.players.iter().filter(|part| part.share != "0");
    let parts: Vec<String> = parts
        .map(|part| format!("'{}' in {} (Shapley {}, Banzhaf {})", part.name, part.share, part.shapley, part.banzhaf))
        .collect();
    let (count, of) = (claim.reasons.sets.len(), format!("{} of {}", claim.reasons.label, claim.reasons.entity));
    format!("of the {count} sufficient reasons of the decision {of}, players are in these shares: {}", list(&parts))
}

fn difference_in_words(claim: &DifferenceClaim) -> String {
    let digest = crate::model::Model::from_json(&claim.other.to_string()).map(|other| other.digest().to_string());
    let other = format!("the network {}", digest.unwrap_or_default());
    let count = claim.inputs.as_ref().map_or("some".to_string(), |count| count.clone());
    match claim.differ {
        false => format!("{other} decides every input alike"),
        true => format!("{other} decides {count} inputs otherwise, such as {}", list(&claim.examples)),
    }
}

fn set_verdict_in_words(claim: &SetVerdictClaim) -> String {
    let does = if claim.contrastive { "can change" } else { "suffices for" };
    let (set, of) = (braces(&claim.set), format!("the decision {} of {}", claim.label, claim.entity));
    match (claim.valid, claim.superfluous.is_empty()) {
        (false, _) => format!("it is not true that {set} {does} {of}"),
        (true, true) => format!("{set} {does} {of}, and no part of it"),
        (true, false) => format!("{set} {does} {of}, but each of {} can be left out", braces(&claim.superfluous)),
    }
}

fn input_verdict_in_words(claim: &InputVerdictClaim) -> String {
    let wish = claim.to.map_or("another decision".to_string(), |label| format!("the decision {label}"));
    let what = match (claim.valid, claim.nearest, claim.minimal) {
        (false, ..) => "is not an allowed change to",
        (true, true, true) => "is a nearest and minimal change to",
        (true, true, false) => "is a nearest change to",
        (true, false, true) => "is a minimal change, but not a nearest, to",
        (true, false, false) => "is a change, but neither nearest nor minimal, to",
    };
    let (distance, from) = (&claim.distance, format!("{}, decided {}", claim.entity, claim.label));
    format!("{} at distance {distance} {what} {wish} from {from}", claim.input)
}

fn letter_in_words(claim: &LetterClaim) -> String {
    let change = nearest_in_words(&claim.change);
    let Some(reasons) = &claim.reasons else { return change };
    let scores: Vec<String> = reasons.scores.iter().map(|one| format!("'{}' {}", one.player, one.score)).collect();
    let group = match &reasons.against {
        Some(rows) => format!("a group of {} rows", rows.iter().map(|row| u128::from(row.rows)).sum::<u128>()),
        None => "all inputs".into(),
    };
    let what = format!("what speaks most against the decision {}", claim.favourable);
    format!("compared with {group}, {what} is {}; {change}", list(&scores))
}

fn player_in_words(claim: &PlayerClaim) -> String {
    let how = match (claim.used, claim.rises, claim.falls) {
        (false, ..) => "is not used",
        (true, Some(true), Some(false)) => "is used and only raises the decision",
        (true, Some(false), Some(true)) => "is used and only lowers the decision",
        (true, Some(true), Some(true)) => "is used, and raises and lowers the decision",
        (true, ..) => "is used",
    };
    let influence = claim.influence.as_ref().map_or(String::new(), |share| format!(" (influence {share})"));
    let only = |one: &MandatoryClaim| format!(", and is {} wherever the decision is {}", one.value, one.label);
    let mandatory: String = claim.mandatory.iter().flatten().map(only).collect();
    format!("'{}' {how}{influence}{mandatory}", claim.name)
}

fn domain_in_words(certificate: &Certificate) -> String {
    let mut limits = Vec::new();
    if !certificate.one_hot.is_empty() {
        limits.push(format!("with one value in each of {} columns", certificate.one_hot.len()));
    }
    if !certificate.constraint.is_empty() {
        limits.push(format!("that satisfy the constraint of {} clauses", certificate.constraint.len()));
    }
    if limits.is_empty() { String::new() } else { format!(", among inputs {}", limits.join(" and ")) }
}
