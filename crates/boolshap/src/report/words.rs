//! Readable descriptions of bits, columns, games and circuits.

use super::figure_text::counted;
use crate::circuit::{Circuit, CircuitError, NamedCircuit};
use crate::data::{Code, CodedColumn, short_number};
use crate::explain::{Distribution, Players};
use crate::lit::thousands;
use dashu_int::UBig;
use serde::Serialize;
use serde_json::Value;

/// The meanings of a feature's two values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeatureWords {
    /// The feature.
    pub name: String,
    /// The meaning of 0.
    pub zero: String,
    /// The meaning of 1.
    pub one: String,
}

/// The features that come from one column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnWords {
    /// The column.
    pub name: String,
    /// The positions of its features.
    pub features: Vec<usize>,
    /// Whether at most one of them is 1.
    pub one_hot: bool,
}

/// The subject of a page or figure: one label of one circuit.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// A headline.
    pub title: String,
    /// The features, in order.
    pub features: Vec<FeatureWords>,
    /// The columns, a partition of the features.
    pub columns: Vec<ColumnWords>,
    /// The meanings of the labels 0 and 1.
    pub labels: [String; 2],
    /// The possible predictions: the classes of a circuit with several, otherwise the two labels.
    pub classes: Vec<String>,
    /// The class of a row whose label is 1.
    pub class: u32,
    /// The column of known classes and its code, if training recorded them.
    pub target: Option<CodedColumn>,
    /// Further facts, each with its name.
    pub facts: Vec<(String, String)>,
}

impl Subject {
    /// Describes the label "the answer is this class" of a circuit with several classes, or the only label of a
    /// circuit.
    pub fn new(named: &NamedCircuit, class: Option<usize>) -> Result<Self, CircuitError> {
        let has_circuit = named.values.is_none() && named.network.is_none();
        let circuit = has_circuit.then(|| named.label(class)).transpose()?;
        let target: Option<CodedColumn> =
            named.provenance.get("target").and_then(|target| serde_json::from_value(target.clone()).ok());
        let number = class.or(named.facts.class);
        let name = match (class, number, &target) {
            (Some(class), ..) => named.classes.get(class).map(|(name, _)| name.clone()),
            (None, Some(number), Some(target)) => target.classes().get(number).cloned(),
            (None, Some(number), None) => Some(number.to_string()),
            (None, None, _) => None,
        };
        let labels = match (&name, &target) {
            (Some(name), _) => [format!("not {name}"), name.clone()],
            (None, Some(CodedColumn { code: Code::Above(threshold), .. })) => {
                let threshold = grouped(*threshold);
                [format!("at most {threshold}"), format!("above {threshold}")]
            }
            (None, Some(target)) => target.classes().try_into().unwrap_or_else(|_| ["0".into(), "1".into()]),
            (None, None) => ["0".into(), "1".into()],
        };
        let title = match &target {
            Some(target) => format!("Is {} {}?", target.column, labels[1]),
            None if name.is_some() => format!("Is it class {}?", labels[1]),
            None => {
                let what = if named.network.is_some() { "network" } else { "circuit" };
                format!("What a {what} of {} decides", counted(named.features.len() as u64, "feature", "features"))
            }
        };
        let class = number.unwrap_or(1) as u32;
        let facts = facts_of(named, circuit.as_deref());
        let classes = match named.classes.is_empty() {
            true => labels.to_vec(),
            false => named.classes.iter().map(|(name, _)| name.clone()).collect(),
        };
        Ok(Subject { title, features: features(named), columns: columns(named), labels, classes, class, target, facts })
    }

    /// The index of a known class among [`Subject::classes`].
    pub fn known(&self, class: u32) -> usize {
        match self.classes == self.labels {
            true => usize::from(class == self.class),
            false => class as usize,
        }
    }

    /// The meaning of a feature's value.
    pub fn meaning(&self, feature: usize, value: bool) -> &str {
        if value { &self.features[feature].one } else { &self.features[feature].zero }
    }
}

fn text_of<'a>(named: &'a NamedCircuit, key: &str) -> Option<&'a str> {
    named.provenance.get(key).and_then(Value::as_str)
}

/// What else is known of a circuit, each fact with a word in front.
fn facts_of(named: &NamedCircuit, circuit: Option<&Circuit>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_string(), text));
    if let Some(words) = origin(named) {
        // Only a proof made with the model available has checked this as well.
        let says = if named.facts.verified.standing() == "proved" { "" } else { "as the file says: " };
        fact("Model", format!("{says}{words}"));
    }
    if let Some(circuit) = circuit {
        let (nodes, edges, _) = circuit.graph_size();
        let route = named.facts.route.as_ref().map_or(String::new(), |route| format!(", compiled by way of {route}"));
        let (nodes, edges) = (counted(nodes as u64, "node", "nodes"), counted(edges as u64, "edge", "edges"));
        fact("Circuit", format!("{nodes} and {edges}{route}"));
    }
    if let Some(network) = &named.network {
        fact("Circuit", format!("none, the network itself is explained: {}", network.why));
    }
    if let Some(values) = &named.values {
        fact("Explained", format!("a score, the weighted sum of {} parts", thousands(values.parts().len() as u64)));
    }
    let bits = counted(named.features.len() as u64, "binary feature", "binary features");
    fact("Inputs", format!("{bits} from {}", counted(columns(named).len() as u64, "column", "columns")));
    if let Some(circuit) = circuit {
        let inputs = UBig::ONE << named.features.len();
        fact("True on", format!("{} of {} inputs", many(&circuit.model_count()), many(&inputs)));
    }
    if named.network.is_none() {
        fact("Verified", named.facts.verified.words());
    }
    named.facts.cautions().into_iter().for_each(|caution| fact("Caution", caution));
    facts
}

/// The origin of the model, as a phrase.
fn origin(named: &NamedCircuit) -> Option<String> {
    let number = |key: &str| named.provenance.get(key);
    let mut words = Vec::new();
    if let Some(source) = text_of(named, "source") {
        words.push(format!("from {source}"));
    }
    if let Some(rows) = number("rows").and_then(Value::as_u64) {
        words.push(format!("{} rows", thousands(rows)));
    }
    if let Some(accuracy) = number("test_accuracy").and_then(Value::as_f64) {
        words.push(format!("{:.1} % right on the rows kept for testing", 100.0 * accuracy));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// A number with few digits; large integers in groups of three.
fn grouped(number: f64) -> String {
    let text = short_number(number);
    text.parse().ok().filter(|whole| *whole >= 10_000).map_or(text, thousands)
}

/// A count, in scientific notation if it has too many digits to read.
fn many(count: &UBig) -> String {
    match u64::try_from(count) {
        Ok(count) => thousands(count),
        Err(_) => {
            let digits = count.to_string();
            format!("{}.{} \u{d7} 10^{}", &digits[..1], &digits[1..3], digits.len() - 1)
        }
    }
}

fn features(named: &NamedCircuit) -> Vec<FeatureWords> {
    let words = |name: &String, zero: String, one: String| FeatureWords { name: name.clone(), zero, one };
    let Some(schema) = &named.binariser else {
        let columns = columns(named);
        let of_column =
            |feature: usize| columns.iter().find(|column| column.one_hot && column.features.contains(&feature));
        let stated = |(feature, name): (usize, &String)| match of_column(feature).and_then(|_| name.split_once('=')) {
            Some((_, value)) => words(name, format!("not {value}"), value.into()),
            None => words(name, "0".into(), "1".into()),
        };
        return named.features.iter().enumerate().map(stated).collect();
    };
    let mut all = Vec::with_capacity(named.features.len());
    for column in schema.columns() {
        let texts: Vec<String> = (0..column.bits()).map(|place| column.bit_words(place)).collect();
        for (place, name) in column.features().iter().enumerate() {
            let zero = match &column.code {
                _ if column.is_one_hot() => format!("not {}", texts[place]),
                Code::Above(threshold) => format!("at most {}", column.number_text(*threshold)),
                _ => "false".into(),
            };
            all.push(words(name, zero, texts[place].clone()));
        }
    }
    all
}

fn columns(named: &NamedCircuit) -> Vec<ColumnWords> {
    let players = Players::columns(&named.features, named.binariser.as_ref());
    let column = |player: usize| ColumnWords {
        name: players.names()[player].clone(),
        features: players.members(player).collect(),
        one_hot: players.is_one_hot(player),
    };
    (0..players.len()).map(column).collect()
}

/// Explains the scores of a game in a few sentences.
pub fn game_words(players: &Players, distribution: &Distribution) -> Vec<String> {
    let count = players.len();
    let absent = match distribution {
        Distribution::Product(given) if is_uniform(given.floats()) => {
            "Absent features take every value equally often: the uniform distribution, as in the paper.".to_string()
        }
        Distribution::Product(_) => {
            "Absent features are drawn independently, each as often 1 as in the probabilities given (product distribution).".into()
        }
        Distribution::Background(rows) if rows.rows() == 1 => {
            "Absent features are taken from one background row, whatever the present ones are (interventional).".into()
        }
        Distribution::Background(rows) => format!(
            "Absent features are taken from each of {} background rows in turn, whatever the present ones are (interventional).",
            thousands(rows.rows() as u64)
        ),
        Distribution::Empirical(rows) => format!(
            "Absent features are as in those of {} rows that agree with the present ones (conditional); if none is absent, it \
             is the row's own label.",
            thousands(rows.rows() as u64)
        ),
        Distribution::Constrained(given, _) if is_uniform(given.floats()) => {
            "Absent features take every value that the constraint allows, equally often.".into()
        }
        Distribution::Constrained(..) => {
            "Absent features are drawn independently, among the entities that the constraint allows.".into()
        }
    };
    let plays = match players.kind() {
        "features" if count == 1 => "The one feature is the only player.".to_string(),
        "features" => format!("Each of the {count} features is a player of its own."),
        "columns" => {
            format!("Each of the {count} columns is a player; the bits of a one-hot column come and go together.")
        }
        _ => format!("The features form {count} named players that come and go together."),
    };
    let score = "A score is the player's exact Shapley value for the decision, 0 or 1 (not for a probability); \
                 base value and scores add up to the decision.";
    vec![absent, plays, score.into()]
}

/// Explains the average behind the base value to readers who do not know the term.
pub fn base_words(players: &Players, distribution: &Distribution, is_score: bool) -> String {
    let what = if is_score { "score" } else { "prediction" };
    match distribution {
        Distribution::Product(given) if is_uniform(given.floats()) => {
            let impossible = (0..players.len()).all(|player| !players.is_one_hot(player));
            let count = many(&(UBig::ONE << players.feature_count()));
            match players.kind() {
                "columns" => format!("the average {what} over all combinations of values"),
                _ if impossible => {
                    format!("the average {what} over all {count} combinations of bits, possible or not")
                }
                _ => format!("the average {what} over all combinations of values"),
            }
        }
        Distribution::Product(_) => {
            format!("the average {what} if every feature varied on its own, as often as in training")
        }
        Distribution::Background(rows) if rows.rows() == 1 => format!("the {what} of the background row"),
        Distribution::Background(rows) | Distribution::Empirical(rows) => {
            format!("the average {what} of {} rows", thousands(rows.rows() as u64))
        }
        Distribution::Constrained(..) => format!("the average {what} over what the constraint allows"),
    }
}

fn is_uniform(probabilities: &[f64]) -> bool {
    probabilities.iter().all(|probability| *probability == 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::data::Binariser;
    use crate::lit::Var;

    fn housing() -> NamedCircuit {
        let column = |column: &str, code| CodedColumn::new(column, code);
        let schema = Binariser::new(vec![
            column("income", Code::Above(3.870_671)),
            column("sea", Code::Categories(vec!["FAR".into(), "NEAR".into()])),
            column("age", Code::Bins(vec![10.0, 20.5])),
        ])
        .unwrap();
        let mut builder = CircuitBuilder::new(6).unwrap();
        let root = builder.literal(Var::new(0).positive()).unwrap();
        let mut named = NamedCircuit::new(builder.finish(root).unwrap(), schema.features()).unwrap();
        named.binariser = Some(schema);
        named
    }

    fn root_of(named: &NamedCircuit) -> crate::circuit::NodeId {
        named.circuit.root()
    }

    #[test]
    fn bits_are_told_in_words() {
        let mut named = housing();
        named
            .provenance
            .insert("target".into(), serde_json::json!({"column": "value", "code": {"above": 206_855.816_9}}));
        let subject = Subject::new(&named, None).unwrap();
        let said: Vec<&str> = (0..6).map(|feature| subject.meaning(feature, true)).collect();
        let bins = ["at most 10", "above 10, at most 20.5", "above 20.5"];
        assert_eq!(said, [["above 3.87067", "FAR", "NEAR"], bins].concat());
        assert_eq!((subject.meaning(0, false), subject.meaning(2, false)), ("at most 3.87067", "not NEAR"));
        assert_eq!(subject.title, "Is value above 206,856?");
        assert_eq!((subject.classes.len(), subject.known(1), subject.known(0)), (2, 1, 0));
        assert_eq!(subject.columns[1].features, [1, 2]);
        assert!(subject.facts.contains(&("True on".into(), "32 of 64 inputs".into())));
        assert!(subject.facts.iter().any(|(name, text)| name == "Verified" && text.starts_with("no")));
        // Only a fresh proof is called proved; a file's statement is a claim.
        let said = |named: &NamedCircuit| {
            let facts = Subject::new(named, None).unwrap().facts;
            facts.into_iter().find(|(name, _)| name == "Verified").unwrap().1
        };
        named.set_proved("sat", crate::circuit::ProofOf::Model, crate::lit::Digest::of(b"m"));
        assert!(said(&named).starts_with("yes: proved equal to the model 62c66a7a5dd7 on all inputs just now (sat)"));
        let mut file = Vec::new();
        named.write(&mut file).unwrap();
        let read = NamedCircuit::read(&file[..]).unwrap();
        assert!(said(&read).starts_with("claimed by its file: proved equal to the model 62c66a7a5dd7"));
        named.facts.undecided = vec![root_of(&named)];
        assert!(Subject::new(&named, None).unwrap().facts.iter().any(|(name, _)| name == "Caution"));
    }

    #[test]
    fn a_circuit_without_names_has_bits() {
        let mut named = housing();
        named.binariser = None;
        let subject = Subject::new(&named, None).unwrap();
        assert_eq!((subject.meaning(0, false), subject.labels.clone()), ("0", ["0".to_string(), "1".to_string()]));
        // A name COLUMN=VALUE among others of its column tells the value.
        assert_eq!((subject.meaning(1, true), subject.meaning(2, false)), ("FAR", "not NEAR"));
        named.facts.class = Some(3);
        let subject = Subject::new(&named, None).unwrap();
        assert_eq!((subject.labels[0].as_str(), subject.class), ("not 3", 3));
    }
}
