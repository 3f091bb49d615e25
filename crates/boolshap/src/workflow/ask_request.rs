//! A question to a classifier, with its settings.
//!
//! One type for every front end, like the [`Request`](super::Request) for scores: each setting is parsed from its text
//! here ([`AskRequest::set`]), settings that do not belong to the question are refused here ([`AskRequest::check`]), and
//! the question is described here in words.

use super::read_source::read_formula;
use super::request::file_name;
use super::{ClaimsFrom, ClassChoice, ConstraintFrom, DistributionFrom, Error, PlayersFrom, RecordsFrom, RowsFrom};
use crate::data::Reading;
use crate::formula::Cnf;
use crate::model::parse_decimal;
use dashu_ratio::RBig;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Question {
    /// Which players suffice for the decision.
    #[default]
    Reason,
    /// Which players must change for another decision.
    Contrast,
    /// Each player's part in the reasons.
    Attribution,
    /// What to change for another decision.
    Counterfactual,
    /// How much can change before the decision does.
    Robustness,
    /// Whether decisions depend on protected players.
    Bias,
    /// What the classifier does with each player.
    Properties,
    /// Where two classifiers differ.
    Difference,
    /// Whether others' reasons and counterfactuals are right.
    Judge,
    /// Reason codes for letters.
    Codes,
}

impl Question {
    /// All questions.
    pub const ALL: [Question; 10] = [
        Question::Reason,
        Question::Contrast,
        Question::Attribution,
        Question::Counterfactual,
        Question::Robustness,
        Question::Bias,
        Question::Properties,
        Question::Difference,
        Question::Judge,
        Question::Codes,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Question::Reason => "reason",
            Question::Contrast => "contrast",
            Question::Attribution => "attribution",
            Question::Counterfactual => "counterfactual",
            Question::Robustness => "robustness",
            Question::Bias => "bias",
            Question::Properties => "properties",
            Question::Difference => "difference",
            Question::Judge => "judge",
            Question::Codes => "codes",
        }
    }

    /// What it asks, with its names in the literature.
    pub fn words(self) -> &'static str {
        match self {
            Question::Reason => {
                "minimal sets of players that suffice for the decision, whatever the others are (sufficient or abductive \
                 explanations, AXp, PI-explanations, prime implicants; with a share, probable explanations)"
            }
            Question::Contrast => {
                "minimal sets of players whose change can change the decision (contrastive explanations, CXp)"
            }
            Question::Attribution => {
                "for each player whether it is in all, some or none of the sufficient reasons, in which share of them \
                 (formal feature attribution), and its Shapley and Banzhaf value in the game \"this set suffices\""
            }
            Question::Counterfactual => {
                "the nearest inputs with another or a wished class (counterfactual explanations; features that DiCE calls \
                 actionable are those that are not frozen)"
            }
            Question::Robustness => "how many players must change before the decision does",
            Question::Bias => "whether decisions change with protected players alone",
            Question::Properties => "which features are used, monotone, mandatory, and how much each matters",
            Question::Difference => "on how many inputs and on which rows two classifiers differ",
            Question::Judge => "whether reasons and counterfactuals made elsewhere are valid, minimal and nearest",
            Question::Codes => "reason codes of unfavourable decisions, and the smallest change that helps",
        }
    }

    /// Whether it is about rows and needs some.
    pub fn needs_rows(self) -> bool {
        !matches!(self, Question::Properties | Question::Difference | Question::Bias | Question::Robustness)
    }

    /// The settings that only this question, or only some questions, have.
    pub fn settings(self) -> &'static [&'static str] {
        match self {
            Question::Reason | Question::Contrast => &["minimum", "all", "limit", "prefer", "exclude", "share"],
            Question::Counterfactual => &["to", "freeze", "only_up", "only_down", "range", "costs", "limit", "beyond"],
            Question::Robustness => &["radius", "mean"],
            Question::Bias => &["protected", "distribution"],
            Question::Judge => &["claims", "to", "freeze", "only_up", "only_down", "range", "costs"],
            Question::Codes => &[
                "codes",
                "against",
                "approved",
                "top",
                "actionable",
                "only_up",
                "only_down",
                "range",
                "costs",
                "to",
                "limit",
            ],
            Question::Attribution | Question::Properties | Question::Difference => &[],
        }
    }
}

impl FromStr for Question {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Question::ALL.map(Question::name).join(", ");
        let found = Question::ALL.into_iter().find(|question| question.name() == name);
        found.ok_or_else(|| Error::setting("question", format!("'{name}' is not one of {known}")))
    }
}

/// One question with its settings.
///
/// ```
/// use boolshap::workflow::{AskRequest, Question};
/// let mut request = AskRequest::new(Question::Reason);
/// request.set("limit", "3")?;
/// request.set("exclude", "sex,age")?;
/// request.check()?;
/// request.set("protected", "sex")?;
/// assert_eq!(request.check().unwrap_err().to_string(), "protected is not a setting of the question reason");
/// # Ok::<(), boolshap::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct AskRequest {
    /// The question.
    pub question: Question,
    /// The players, whose features change together.
    pub players: PlayersFrom,
    /// Only inputs that satisfy this formula occur.
    pub constraint: Option<ConstraintFrom>,
    /// For several classes: "the answer is this one" as a label; by default all classes.
    pub class: Option<ClassChoice>,
    /// How rows are read, where their columns fit both ways.
    pub input: Reading,
    /// Which rows, counted from 1; all if empty.
    pub rows: Vec<u64>,
    /// The smallest reason.
    pub minimum: bool,
    /// All reasons.
    pub all: bool,
    /// At most this many reasons, the smallest, or counterfactuals.
    pub limit: Option<usize>,
    /// Players that are preferred in a reason, the most preferred first; `score` for the order of the absolute scores.
    pub prefer: Vec<String>,
    /// Players that must not be in a reason.
    pub exclude: Vec<String>,
    /// The share of the inputs that must keep the class.
    pub share: Option<RBig>,
    /// The wanted class.
    pub to: Option<ClassChoice>,
    /// Players that must not change.
    pub freeze: Vec<String>,
    /// Players that may only rise.
    pub only_up: Vec<String>,
    /// Players that may only fall.
    pub only_down: Vec<String>,
    /// Ranges `COLUMN=LOW..HIGH` of raw values in which columns must stay or move.
    pub range: Vec<String>,
    /// A table with columns `player` and `cost`.
    pub costs: Option<RecordsFrom>,
    /// Whether to list counterfactuals beyond the nearest, up to the limit.
    pub beyond: bool,
    /// The distance within which inputs of other classes are counted.
    pub radius: Option<usize>,
    /// Whether the mean radius over all inputs is wanted, even where that takes long.
    pub mean: bool,
    /// Protected players.
    pub protected: Vec<String>,
    /// The distribution under which groups of protected values are compared: uniform or product.
    pub distribution: Option<DistributionFrom>,
    /// A JSON list of others' answers.
    pub claims: Option<ClaimsFrom>,
    /// A table with columns `player`, `code` and `text`.
    pub codes: Option<RecordsFrom>,
    /// The group of rows that scores compare with.
    pub against: Option<RowsFrom>,
    /// Whether only the favourably decided rows of that group count.
    pub approved: bool,
    /// The most reason codes of a row.
    pub top: Option<usize>,
    /// Players that a person can act upon.
    pub actionable: Vec<String>,
    /// Whether each answer is also given as a sentence, where there is one.
    pub sentences: bool,
    /// The settings that were given as text.
    pub(super) given: Vec<&'static str>,
}

impl AskRequest {
    /// The settings that can be set from text.
    pub const SETTINGS: [&'static str; 29] = [
        "players",
        "constraint",
        "class",
        "input",
        "row",
        "minimum",
        "all",
        "limit",
        "prefer",
        "exclude",
        "share",
        "to",
        "freeze",
        "only_up",
        "only_down",
        "range",
        "costs",
        "beyond",
        "radius",
        "mean",
        "protected",
        "distribution",
        "claims",
        "codes",
        "against",
        "approved",
        "top",
        "actionable",
        "sentences",
    ];
    /// The settings of every question.
    const SHARED: [&'static str; 6] = ["players", "constraint", "class", "input", "row", "sentences"];

    /// A question without settings.
    pub fn new(question: Question) -> Self {
        AskRequest { question, ..AskRequest::default() }
    }

    /// Sets one of [`AskRequest::SETTINGS`] from its text; lists grow. Files may have any name; everything else is UTF-8.
    pub fn set(&mut self, setting: &str, text: impl AsRef<OsStr>) -> Result<(), Error> {
        let Some(&known) = Self::SETTINGS.iter().find(|known| **known == setting) else {
            return Err(Error::input(format!("there is no setting '{setting}'")));
        };
        let name = text.as_ref();
        match known {
            "players" => self.players = PlayersFrom::parse(name)?,
            "distribution" => self.distribution = Some(DistributionFrom::parse(name)?),
            "constraint" => self.constraint = Some(ConstraintFrom::File(name.into())),
            "costs" => self.costs = Some(RecordsFrom::File(name.into())),
            "claims" => self.claims = Some(ClaimsFrom::File(name.into())),
            "codes" => self.codes = Some(RecordsFrom::File(name.into())),
            "against" => self.against = Some(RowsFrom::File(name.into())),
            _ => match name.to_str() {
                Some(text) => self.set_text(known, text)?,
                None => return Err(Error::input(format!("{setting} '{}' is not UTF-8", name.to_string_lossy()))),
            },
        }
        self.given.push(known);
        Ok(())
    }

    pub(super) fn set_text(&mut self, setting: &'static str, text: &str) -> Result<(), Error> {
        let add = |list: &mut Vec<String>| list.push(text.to_string());
        match setting {
            "class" => self.class = Some(text.parse()?),
            "input" => self.input = text.parse().map_err(|message| Error::setting("input", message))?,
            "row" => self.rows.extend(row_numbers(text)?),
            "minimum" => self.minimum = truth(setting, text)?,
            "all" => self.all = truth(setting, text)?,
            "beyond" => self.beyond = truth(setting, text)?,
            "mean" => self.mean = truth(setting, text)?,
            "approved" => self.approved = truth(setting, text)?,
            "sentences" => self.sentences = truth(setting, text)?,
            "limit" => self.limit = Some(count(setting, text)?),
            "top" => self.top = Some(count(setting, text)?),
            "radius" => self.radius = Some(whole(setting, text)?),
            "share" => self.share = Some(share(text)?),
            "to" => self.to = Some(text.parse().map_err(|_| Error::setting("to", "is empty"))?),
            "prefer" => add(&mut self.prefer),
            "exclude" => add(&mut self.exclude),
            "freeze" => add(&mut self.freeze),
            "only_up" => add(&mut self.only_up),
            "only_down" => add(&mut self.only_down),
            "range" => add(&mut self.range),
            "protected" => add(&mut self.protected),
            "actionable" => add(&mut self.actionable),
            _ => return Err(Error::input(format!("there is no setting '{setting}'"))),
        }
        Ok(())
    }

    /// Refuses settings that do not belong to the question or contradict each other, before anything is read.
    pub fn check(&self) -> Result<(), Error> {
        let question = self.question;
        let foreign =
            |setting: &&&'static str| !Self::SHARED.contains(setting) && !question.settings().contains(setting);
        if let Some(setting) = self.given.iter().find(foreign) {
            return Err(Error::setting(setting, format!("is not a setting of the question {}", question.name())));
        }
        if self.minimum && self.all {
            return Err(Error::setting("minimum", "and all exclude each other"));
        }
        let missing = match question {
            Question::Bias if self.protected.is_empty() => {
                Some(("protected", "must be given: which features are protected"))
            }
            Question::Judge if self.claims.is_none() => Some(("claims", "must be given: what others say")),
            Question::Codes if self.codes.is_none() => {
                Some(("codes", "must be given: a table of player, code and text"))
            }
            Question::Bias
                if matches!(
                    self.distribution,
                    Some(DistributionFrom::Background(_) | DistributionFrom::Empirical(_))
                ) =>
            {
                Some(("distribution", "of groups is uniform or product, not one of rows"))
            }
            Question::Codes if self.approved && self.against.is_none() => {
                Some(("approved", "is about the rows to compare with, and there are none"))
            }
            Question::Counterfactual if self.beyond && self.limit.is_none() => {
                Some(("beyond", "needs a limit: how many counterfactuals"))
            }
            _ => None,
        };
        missing.map_or(Ok(()), |(setting, message)| Err(Error::setting(setting, message)))
    }

    /// The files that it reads, besides the circuit and the rows.
    pub fn files(&self) -> Vec<&Path> {
        let constraint = self.constraint.as_ref().and_then(|constraint| match constraint {
            ConstraintFrom::File(path) => Some(path),
            ConstraintFrom::Formula(_) => None,
        });
        let players = if let PlayersFrom::File(path) = &self.players { Some(path) } else { None };
        let against = if let Some(RowsFrom::File(path)) = &self.against { Some(path) } else { None };
        let product =
            if let Some(DistributionFrom::ProductFile(path)) = &self.distribution { Some(path) } else { None };
        let tables = [&self.costs, &self.codes].into_iter().flatten().filter_map(RecordsFrom::file);
        let claims = self.claims.as_ref().and_then(ClaimsFrom::file);
        let single = [constraint, players, against, product].into_iter().flatten().map(PathBuf::as_path);
        single.chain(tables).chain(claims).collect()
    }

    /// The question, as a line to read.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {}; players {}", self.question.name(), self.question.words(), self.players.name());
        if let Some(constraint) = &self.constraint {
            let name = match constraint {
                ConstraintFrom::File(path) => file_name(path),
                ConstraintFrom::Formula(_) => "a formula".into(),
            };
            text = format!("{text}; only inputs that satisfy {name}");
        }
        text
    }

    /// The formula that inputs must satisfy, read if it is in a file.
    pub(super) fn formula(&self) -> Result<Option<Cnf>, Error> {
        match &self.constraint {
            None => Ok(None),
            Some(ConstraintFrom::File(path)) => read_formula(path).map(Some),
            Some(ConstraintFrom::Formula(formula)) => Ok(Some(formula.clone())),
        }
    }

    /// The request for scores over the same players, under the same constraint.
    pub(super) fn scores(&self, distribution: DistributionFrom) -> super::Request {
        super::Request {
            distribution,
            players: self.players.clone(),
            constraint: self.constraint.clone(),
            input: self.input,
            ..super::Request::default()
        }
    }
}

fn truth(setting: &'static str, text: &str) -> Result<bool, Error> {
    text.parse().map_err(|_| Error::setting(setting, format!("'{text}' is neither true nor false")))
}

fn whole(setting: &'static str, text: &str) -> Result<usize, Error> {
    text.parse().map_err(|_| Error::setting(setting, format!("'{text}' is not a whole number from 0 on")))
}

fn count(setting: &'static str, text: &str) -> Result<usize, Error> {
    match whole(setting, text)? {
        0 => Err(Error::setting(setting, "must be at least 1")),
        count => Ok(count),
    }
}

fn share(text: &str) -> Result<RBig, Error> {
    let fraction = match text.split_once('/') {
        Some((part, of)) => match (part.trim().parse::<u64>(), of.trim().parse::<u64>()) {
            (Ok(part), Ok(of)) if of > 0 => Some(RBig::from_parts(part.into(), of.into())),
            _ => None,
        },
        None => parse_decimal(text),
    };
    match fraction {
        Some(share) if share > RBig::ZERO && share <= RBig::ONE => Ok(share),
        _ => Err(Error::setting("share", format!("'{text}' is not above 0 and at most 1"))),
    }
}

fn row_numbers(text: &str) -> Result<Vec<u64>, Error> {
    let number = |text: &str| match text.trim().parse() {
        Ok(0) | Err(_) => Err(Error::setting("row", format!("'{text}' is not a row: they are counted from 1"))),
        Ok(number) => Ok(number),
    };
    text.split(',').map(number).collect()
}
