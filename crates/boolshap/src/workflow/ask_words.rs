//! Answers for people to read: a few lines for each row, and a summary of all rows.

use super::ask_answers::number;
use super::ask_claims::Verdict;
use super::{Asker, Found, Letter, Question, RowAnswer, Summary};
use crate::lit::thousands;
use crate::query::{Attribution, Entity, Reasons, SetClaim};
use serde_json::{Map, Value};

fn indented(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("\n  {line}")).collect()
}

/// A count and its noun, in the singular or with an s.
fn counted(count: &str, noun: &str) -> String {
    let shown = count.parse().map_or(count.to_string(), thousands);
    format!("{shown} {noun}{}", if count == "1" { "" } else { "s" })
}

impl Asker {
    /// A class in words: its number, and its name where it has one.
    fn class_words(&self, class: usize) -> String {
        let names = if self.request.class.is_none() { self.circuit.prediction_names() } else { None };
        match names.and_then(|names| names.get(class).cloned()).filter(|name| *name != class.to_string()) {
            Some(name) => format!("{class} ({name})"),
            None => class.to_string(),
        }
    }

    /// An answer in words.
    pub fn say(&self, answer: &RowAnswer) -> String {
        let entity = &answer.entity;
        let start = format!("row {} is decided {}", answer.row, self.class_words(entity.class));
        match &answer.found {
            Found::Reasons(found) => format!("{start}{}", self.say_reasons(entity, found)),
            Found::Attribution(all) => format!("{start}{}", self.say_attribution(all)),
            Found::Counterfactuals(found) => match &found.distance {
                None => format!("{start}, and no change that is allowed leads to another decision"),
                Some(distance) => {
                    let nearest = counted(&found.count.to_string(), "change");
                    let lines = found.listed.iter().map(|one| self.change_words(entity, one));
                    format!(
                        "{start}; the nearest other decision is at distance {}, by {nearest}:{}",
                        number(distance),
                        indented(lines)
                    )
                }
            },
            Found::Robustness(found) => match found.radius {
                None => format!("{start}, whatever changes"),
                Some(radius) => {
                    let players = counted(&radius.to_string(), "player");
                    let others = found.others.iter().fold(dashu_int::UBig::ZERO, |sum, count| sum + count);
                    let others = match self.request.radius {
                        Some(within) => {
                            format!("; within {within}, {} otherwise", counted(&others.to_string(), "input"))
                        }
                        None => String::new(),
                    };
                    format!("{start}; {players} must change for another decision{others}")
                }
            },
            Found::Bias(None) => format!("{start}, whatever the protected values are: not biased"),
            Found::Bias(Some(other)) => {
                let changed = self.space().changed(&entity.bits, other);
                let words: Vec<String> =
                    changed.iter().map(|&player| self.words.say_change(player, &entity.bits, other)).collect();
                format!("{start}: biased, it is decided otherwise with {}", words.join("; "))
            }
            Found::OtherClass(other) => format!("{start}, and {} by the other", self.class_words(*other)),
            Found::Verdicts(verdicts) => {
                let lines = verdicts.iter().map(|verdict| self.say_verdict(entity, verdict));
                format!("{start}; of it was said:{}", indented(lines))
            }
            Found::Codes(letter) => format!("{start}{}", self.say_letter(entity, letter)),
            Found::Nothing => start,
        }
    }

    fn say_reasons(&self, entity: &Entity, found: &Reasons) -> String {
        let kind = match self.request.question {
            Question::Contrast => "sets whose change can change that",
            _ => "sufficient reasons",
        };
        let listed = found.sets.len();
        let of = match &found.count {
            Some(count) if *count == listed.into() => format!("{listed} {kind}"),
            Some(count) => format!("{listed} of {} {kind}", thousands_of(&count.to_string())),
            None => format!("{listed} of its {kind}, which were not counted"),
        };
        match &found.sets[..] {
            [] => format!("; there are no {kind} of that form"),
            [only] if only.is_empty() => ", and always is: nothing is needed for it".into(),
            [only] => {
                let lines = only.iter().map(|&player| self.words.say(player, &entity.bits));
                format!("; {of}:{}", indented(lines))
            }
            several => {
                let line =
                    |(place, set): (usize, &Vec<usize>)| format!("{}. {}", place + 1, self.reason_words(entity, set));
                format!("; {of}:{}", indented(several.iter().enumerate().map(line)))
            }
        }
    }

    fn say_attribution(&self, all: &[Attribution]) -> String {
        let names = self.space().players().names();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|&a, &b| all[b].shapley.cmp(&all[a].shapley).then(a.cmp(&b)));
        let line = |player: usize| {
            let part = &all[player];
            let share = match (part.is_necessary(), part.is_relevant()) {
                (true, _) => "all".to_string(),
                (_, false) => "none".to_string(),
                _ => part.share().to_string(),
            };
            let [shapley, banzhaf] = [&part.shapley, &part.banzhaf].map(|value| value.to_f64().value());
            format!("{:<width$}  {share:>8}  {shapley:>8.5}  {banzhaf:>8.5}", names[player])
        };
        let reasons = all.first().map_or(String::new(), |part| counted(&part.of.to_string(), "sufficient reason"));
        let head = format!("{:<width$}  {:>8}  {:>8}  {:>8}", "", "share of", "Shapley", "Banzhaf");
        format!(
            "; of its {reasons}, players are in:{}",
            indented(std::iter::once(head).chain(order.into_iter().map(line)))
        )
    }

    fn say_verdict(&self, entity: &Entity, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Set(kind, set, found) => {
                let does = if *kind == SetClaim::Sufficient { "suffices" } else { "can change it" };
                let said = format!("{{{}}} {does}", self.name_list(set).replace(';', ", "));
                match (found.is_valid, found.is_minimal) {
                    (true, true) => format!("{said}: right, and no part of it does"),
                    (true, false) => {
                        let more = self.name_list(&found.superfluous).replace(';', ", ");
                        format!("{said}: right, but not minimal, each of {{{more}}} can be left out")
                    }
                    (false, _) => {
                        let instead = found.repaired.as_ref().map_or(String::new(), |set| {
                            format!("; {{{}}} would", self.name_list(set).replace(';', ", "))
                        });
                        format!("{said}: wrong{instead}")
                    }
                }
            }
            Verdict::Input(input, found) => {
                let changed = self.space().changed(&entity.bits, input);
                let words: Vec<String> =
                    changed.iter().map(|&player| self.words.say_change(player, &entity.bits, input)).collect();
                let said = match words.is_empty() {
                    true => "no change is needed".to_string(),
                    false => format!("another decision with {}", words.join("; ")),
                };
                let better = found.repaired.as_ref().map_or(String::new(), |one| {
                    format!("; at distance {}: {}", number(&one.distance), self.change_words(entity, one))
                });
                match (&found.problem, found.is_nearest) {
                    (Some(problem), _) => format!("{said}: wrong, {problem}{better}"),
                    (None, true) => format!("{said}: right, and none is nearer"),
                    (None, false) => format!("{said}: right, but not the nearest{better}"),
                }
            }
        }
    }

    fn say_letter(&self, entity: &Entity, letter: &Letter) -> String {
        if self.favourable() == Some(entity.class) {
            return ", which is favourable".into();
        }
        let json = self.letter_json(entity, letter);
        let line = |reason: &Value| {
            let part = |key: &str| reason[key].as_str().unwrap_or_default().to_string();
            let score =
                letter.reasons.iter().find(|(player, _)| self.space().players().names()[*player] == part("player"));
            let score = score.map_or(0.0, |(_, score)| score.to_f64().value());
            format!("{:<6} {} ({} is {}; score {score:.4})", part("code"), part("text"), part("player"), part("value"))
        };
        let reasons = json["codes"].as_array().into_iter().flatten().map(line);
        let change = match &letter.change {
            Some(change) => format!("would be favourable with {}", self.change_words(entity, change)),
            None => "no change of what can be acted upon makes it favourable".into(),
        };
        format!("; the main reasons:{}", indented(reasons.chain([change])))
    }

    /// The summary besides the rows, in lines.
    pub fn say_overall(&self, summary: &Summary, overall: &Map<String, Value>) -> Vec<String> {
        let get = |key: &str| overall.get(key).unwrap_or(&Value::Null);
        match self.request.question {
            Question::Robustness => {
                let bars = summary
                    .radii
                    .iter()
                    .map(|(radius, rows)| format!("{radius}: {}", counted(&rows.to_string(), "row")));
                let mut lines = Vec::new();
                if summary.rows > 0 {
                    lines.push(format!(
                        "mean over the rows {}; {}",
                        plain(get("mean_radius")),
                        bars.collect::<Vec<_>>().join(", ")
                    ));
                }
                if let Some(mean) = overall.get("mean_radius_of_inputs") {
                    lines.push(format!("mean over all inputs {}", plain(mean)));
                }
                lines
            }
            Question::Bias => self.say_bias(summary, overall),
            Question::Properties => say_properties(get("features")),
            Question::Difference => {
                let count = counted(&plain(get("inputs")), "input");
                let mut lines = vec![format!("the two differ on {count}, a share of {}", plain(get("share")))];
                if let Some(example) = get("example").as_str() {
                    lines.push(format!("for example on {example}"));
                }
                if summary.rows > 0 {
                    let rows: Vec<String> = summary.differing.iter().take(20).map(ToString::to_string).collect();
                    let more = if summary.differing.len() > 20 { ", ..." } else { "" };
                    let which = if rows.is_empty() { String::new() } else { format!(": {}{more}", rows.join(", ")) };
                    lines.push(format!(
                        "on {} of {}{which}",
                        summary.differing.len(),
                        counted(&summary.rows.to_string(), "row")
                    ));
                }
                lines
            }
            Question::Codes => {
                let digests = get("digests").as_object();
                let line = |(key, digest): (&String, &Value)| format!("digest of {key:<10} {}", plain(digest));
                digests.into_iter().flatten().map(line).collect()
            }
            _ => Vec::new(),
        }
    }

    fn say_bias(&self, summary: &Summary, overall: &Map<String, Value>) -> Vec<String> {
        let get = |key: &str| overall.get(key).unwrap_or(&Value::Null);
        let mut lines = Vec::new();
        match get("witness").as_array().map(|pair| pair.iter().map(plain).collect::<Vec<_>>()).as_deref() {
            Some([one, other]) => {
                let inputs = counted(&plain(get("inputs")), "input");
                lines.push(format!(
                    "the classifier is biased: {inputs} can be decided otherwise with other protected values"
                ));
                lines.push(format!("for example {one} and {other} are decided differently"));
            }
            _ => lines.push("the classifier is not biased: no decision hangs on the protected values".into()),
        }
        if summary.rows > 0 {
            lines.push(format!("biased are {} of {}", summary.biased, counted(&summary.rows.to_string(), "row")));
        }
        for (key, title) in [("groups", "rows"), ("acceptance", "probability")] {
            for group in get(key).as_array().into_iter().flatten() {
                let values = group["group"].as_object().into_iter().flatten();
                let values: Vec<String> = values.map(|(name, value)| format!("{name} {}", plain(value))).collect();
                let shares = group["shares"].as_object().into_iter().flatten();
                let shares: Vec<String> =
                    shares.map(|(class, share)| format!("class {class}: {}", plain(share))).collect();
                lines.push(format!("{} ({title} {}): {}", values.join(", "), plain(&group[title]), shares.join(", ")));
            }
        }
        lines
    }

    /// A caution about how the question was put: a column whose features change one by one.
    pub fn split_column(&self) -> Option<String> {
        let columns = crate::explain::Players::columns(&self.circuit.features, self.circuit.binariser.as_ref());
        let players = self.space().players();
        let is_split = |column: &usize| {
            let members: Vec<usize> = columns.members(*column).collect();
            columns.is_one_hot(*column)
                && members.len() > 1
                && members.iter().any(|&at| players.of(at) != players.of(members[0]))
        };
        let is_free = self.space().constraint().is_none();
        (0..columns.len()).find(|column| is_free && is_split(column)).map(|column| columns.names()[column].clone())
    }
}

/// Digits in groups of three.
fn thousands_of(count: &str) -> String {
    count.parse().map_or(count.to_string(), thousands)
}

/// A value for people to read: a fraction comes with an approximate decimal.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => match text.split_once('/') {
            Some((part, whole)) => match (part.parse::<f64>(), whole.parse::<f64>()) {
                (Ok(part), Ok(whole)) if whole > 0.0 => format!("{text} ({:.4})", part / whole),
                _ => text.clone(),
            },
            None => text.clone(),
        },
        other => other.to_string(),
    }
}

fn say_properties(features: &Value) -> Vec<String> {
    let all: Vec<&Value> = features.as_array().into_iter().flatten().collect();
    let width = all.iter().map(|one| plain(&one["name"]).chars().count()).max().unwrap_or(0);
    let line = |one: &&Value| {
        let way = match one["monotone"].as_str() {
            Some("up") => "only raises",
            Some("down") => "only lowers",
            Some("none") => "raises and lowers",
            Some("constant") => "not used",
            _ => "used",
        };
        let mandatory: Vec<String> = one["mandatory"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|must| format!("class {} needs {}", plain(&must["class"]), plain(&must["value"])))
            .collect();
        let mandatory = if mandatory.is_empty() { String::new() } else { format!("; {}", mandatory.join(", ")) };
        format!("{:<width$}  {way:<17}  influence {}{mandatory}", plain(&one["name"]), plain(&one["influence"]))
    };
    all.iter().map(line).collect()
}
