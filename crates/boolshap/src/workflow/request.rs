//! A request for scores: what fills in absent features, the players, the class, the index and the engine.
//!
//! One type for every front end. Each setting is parsed from its text here ([`Request::set`]), settings that contradict each
//! other are refused here ([`Request::check`]), and what the scores mean is described here, in keys and in words.

use super::{ClassChoice, Error, ModelOutput};
use crate::data::{Bits, Grid, Reading};
use crate::explain::{Index, Order};
use crate::formula::Cnf;
use crate::lit::Remedy;
use dashu_ratio::RBig;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A request for scores. The default: Shapley values, every feature a player, the uniform distribution, as in the
/// paper.
///
/// ```
/// use boolshap::Request;
/// let mut request = Request::default();
/// request.set("distribution", "background:rows.csv")?;
/// request.set("players", "columns")?;
/// assert_eq!(request.about(None)["distribution"], "background:rows.csv");
/// assert!(request.set("index", "median").is_err());
/// # Ok::<(), boolshap::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// What fills in absent features.
    pub distribution: DistributionFrom,
    /// Added to every count when probabilities are estimated from rows (Laplace's rule is 1).
    pub smoothing: u32,
    /// Only inputs that satisfy this formula occur.
    pub constraint: Option<ConstraintFrom>,
    /// The players.
    pub players: PlayersFrom,
    /// Which output of a model; by default its label, or the output that a file holds.
    pub model_output: Option<ModelOutput>,
    /// Which class of several; by default the one predicted for each row.
    pub class: Option<ClassChoice>,
    /// Which value of the game.
    pub index: Index,
    /// The groups of the players, for Owen values.
    pub groups: Option<GroupsFrom>,
    /// Which engine; by default the fast one, or with `exact` one in fractions.
    pub engine: Option<EngineName>,
    /// Whether scores are fractions instead of floats.
    pub exact: bool,
    /// How rows are read, where their columns fit both ways.
    pub input: Reading,
}

/// Where a distribution comes from.
#[derive(Debug, Clone, Default)]
pub enum DistributionFrom {
    /// All values are equally likely.
    #[default]
    Uniform,
    /// Independent features, with the marginals of training.
    Marginals,
    /// Independent features, with these probabilities of being 1.
    Probabilities(Vec<RBig>),
    /// Independent features, with the probabilities in a file, or estimated from its rows.
    ProductFile(PathBuf),
    /// As in these rows, whatever the present features are (interventional).
    Background(RowsFrom),
    /// As in those rows that agree with the present features (conditional).
    Empirical(RowsFrom),
    /// As in this one row: a background of one.
    Reference(ReferenceFrom),
}

/// Where the row of a reference comes from.
#[derive(Debug, Clone)]
pub enum ReferenceFrom {
    /// Every feature has this value.
    All(bool),
    /// A row of a file.
    Row(RowOfFile),
    /// One row of bits in memory.
    Bits(Bits),
    /// Each row's own blurred copy, of this radius.
    Blur(usize),
}

/// A row of a file, counted from 1; without a number, the file's only row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOfFile {
    /// The file.
    pub path: PathBuf,
    /// Which row.
    pub row: Option<u64>,
}

impl RowOfFile {
    /// From `FILE` or `FILE:ROW`; an existing file of the whole name takes precedence.
    pub fn parse(text: &OsStr) -> Self {
        let whole = RowOfFile { path: text.into(), row: None };
        let split = text.to_str().and_then(|text| text.rsplit_once(':'));
        match split.and_then(|(file, row)| Some((file, row.parse().ok()?))) {
            Some((file, row)) if !file.is_empty() && !whole.path.exists() => {
                RowOfFile { path: file.into(), row: Some(row) }
            }
            _ => whole,
        }
    }

    /// Its name: the file's name without its folder, which is private.
    pub fn name(&self) -> String {
        let row = self.row.map_or(String::new(), |row| format!(":{row}"));
        format!("{}{row}", file_name(&self.path))
    }
}

/// Where rows come from.
#[derive(Debug, Clone)]
pub enum RowsFrom {
    /// A file of raw rows or bits.
    File(PathBuf),
    /// Bits in memory.
    Bits(Bits),
}

/// Where players come from.
#[derive(Debug, Clone, Default)]
pub enum PlayersFrom {
    /// Every feature is a player.
    #[default]
    Features,
    /// Every column is a player, whose bits come and go together.
    Columns,
    /// A file with columns `feature` and `player`.
    File(PathBuf),
    /// The player of each feature by name.
    Named(HashMap<String, String>),
    /// Rectangles of pixels, in a grid of this many rows and columns, if the features have a layout.
    Regions(Grid),
}

/// Where the groups of players come from.
#[derive(Debug, Clone)]
pub enum GroupsFrom {
    /// A file with columns `player` and `group`.
    File(PathBuf),
    /// The group of each player by name.
    Named(HashMap<String, String>),
}

/// Where a constraint comes from.
#[derive(Debug, Clone)]
pub enum ConstraintFrom {
    /// A DIMACS file.
    File(PathBuf),
    /// A formula in memory.
    Formula(Cnf),
}

/// An engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineName {
    /// All scores of a row from a few sweeps over the circuit, in floats.
    Fast,
    /// A lookup table of the scores of all inputs, for up to 22 features.
    Table,
    /// The open-box algorithm of Arenas et al.
    Paper,
    /// The definition, over all subsets of players.
    BruteForce,
}

impl EngineName {
    /// Its name: `fast`, `table`, `paper` or `brute-force`.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Fast => "fast",
            EngineName::Table => "table",
            EngineName::Paper => "paper",
            EngineName::BruteForce => "brute-force",
        }
    }
}

impl FromStr for EngineName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = [EngineName::Fast, EngineName::Table, EngineName::Paper, EngineName::BruteForce];
        let found = known.into_iter().find(|engine| engine.name() == name);
        found.ok_or_else(|| Error::setting("engine", one_of(name, &known.map(EngineName::name))))
    }
}

/// The radius of a blur.
fn radius(text: &str) -> Result<usize, Error> {
    let wrong = || Error::setting("distribution", format!("the radius '{text}' of the blur is no number of pixels"));
    text.parse().ok().filter(|radius| *radius > 0).ok_or_else(wrong)
}

fn one_of(text: &str, known: &[&str]) -> String {
    format!("'{text}' is not one of {}", known.join(", "))
}

const DISTRIBUTIONS: [&str; 6] =
    ["uniform", "product", "product:FILE", "background:FILE", "empirical:FILE", "reference:zeros|ones|blur|FILE"];

impl FromStr for DistributionFrom {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text.as_ref())
    }
}

impl DistributionFrom {
    /// From its text; a file may have any name that the system allows.
    pub(super) fn parse(text: &OsStr) -> Result<Self, Error> {
        let (kind, file) = split_at_colon(text);
        let shown = text.to_string_lossy();
        if file.is_some_and(OsStr::is_empty) {
            return Err(Error::setting("distribution", format!("'{shown}' names no file")));
        }
        let rows = |file: &OsStr| RowsFrom::File(file.into());
        match (kind.to_str(), file) {
            (Some("uniform"), None) => Ok(DistributionFrom::Uniform),
            (Some("product"), None) => Ok(DistributionFrom::Marginals),
            (Some("product"), Some(file)) => Ok(DistributionFrom::ProductFile(file.into())),
            (Some("background"), Some(file)) => Ok(DistributionFrom::Background(rows(file))),
            (Some("empirical"), Some(file)) => Ok(DistributionFrom::Empirical(rows(file))),
            (Some("reference"), Some(file)) => Ok(DistributionFrom::Reference(match file.to_str() {
                Some("zeros") => ReferenceFrom::All(false),
                Some("ones") => ReferenceFrom::All(true),
                Some("blur") => ReferenceFrom::Blur(1),
                Some(text) if text.starts_with("blur:") => ReferenceFrom::Blur(radius(&text["blur:".len()..])?),
                _ => ReferenceFrom::Row(RowOfFile::parse(file)),
            })),
            (Some("reference"), None) => {
                Err(Error::setting("distribution", "'reference' needs a row: zeros, ones, blur or a file"))
            }
            (Some("background" | "empirical"), None) => {
                Err(Error::setting("distribution", format!("'{shown}' needs rows")))
            }
            _ => Err(Error::setting("distribution", one_of(&shown, &DISTRIBUTIONS))),
        }
    }

    /// Its name; a file's name without its folder, which is private.
    pub fn name(&self) -> String {
        let of_rows = |kind: &str, rows: &RowsFrom| match rows {
            RowsFrom::File(path) => format!("{kind}:{}", file_name(path)),
            RowsFrom::Bits(_) => kind.to_string(),
        };
        match self {
            DistributionFrom::Uniform => "uniform".into(),
            DistributionFrom::Marginals | DistributionFrom::Probabilities(_) => "product".into(),
            DistributionFrom::ProductFile(path) => format!("product:{}", file_name(path)),
            DistributionFrom::Background(rows) => of_rows("background", rows),
            DistributionFrom::Empirical(rows) => of_rows("empirical", rows),
            DistributionFrom::Reference(from) => match from {
                ReferenceFrom::All(value) => format!("reference:{}", if *value { "ones" } else { "zeros" }),
                ReferenceFrom::Row(row) => format!("reference:{}", row.name()),
                ReferenceFrom::Bits(_) => "reference".into(),
                ReferenceFrom::Blur(radius) => format!("reference:blur:{radius}"),
            },
        }
    }

    fn is_of_rows(&self) -> bool {
        use DistributionFrom::{Background, Empirical, Reference};
        matches!(self, Background(_) | Empirical(_) | Reference(_))
    }
}

impl FromStr for PlayersFrom {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text.as_ref())
    }
}

impl PlayersFrom {
    /// From its text; a file may have any name that the system allows.
    pub fn parse(text: &OsStr) -> Result<Self, Error> {
        match text.to_str() {
            Some("features") => Ok(PlayersFrom::Features),
            Some("columns") => Ok(PlayersFrom::Columns),
            Some("") => Err(Error::setting("players", "names no file")),
            Some(text) if text.starts_with("regions:") => {
                let regions = text["regions:".len()..].parse();
                Ok(PlayersFrom::Regions(regions.map_err(|why| Error::setting("players", why))?))
            }
            _ => Ok(PlayersFrom::File(text.into())),
        }
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            PlayersFrom::Features => "features".into(),
            PlayersFrom::Columns => "columns".into(),
            PlayersFrom::File(path) => file_name(path),
            PlayersFrom::Named(_) => "named".into(),
            PlayersFrom::Regions(regions) => format!("regions:{regions}"),
        }
    }
}

impl Request {
    /// The settings that have a text.
    pub const SETTINGS: [&'static str; 11] = [
        "distribution",
        "smoothing",
        "constraint",
        "players",
        "regions",
        "model_output",
        "class",
        "index",
        "engine",
        "exact",
        "input",
    ];

    /// Sets one of [`Request::SETTINGS`] from its text. Files may have any name; everything else is UTF-8.
    pub fn set(&mut self, setting: &str, text: impl AsRef<OsStr>) -> Result<(), Error> {
        let name = text.as_ref();
        match setting {
            "distribution" => self.distribution = DistributionFrom::parse(name)?,
            "constraint" => self.constraint = Some(ConstraintFrom::File(name.into())),
            "players" => self.players = PlayersFrom::parse(name)?,
            "index" if split_at_colon(name).0 == "owen" => {
                self.index = Index::Owen;
                match split_at_colon(name).1 {
                    Some(file) if file.is_empty() => return Err(Error::setting("index", "'owen:' names no file")),
                    Some(file) => self.groups = Some(GroupsFrom::File(file.into())),
                    None => {}
                }
            }
            _ => match name.to_str() {
                Some(text) => self.set_text(setting, text)?,
                None => return Err(Error::input(format!("{setting} '{}' is not UTF-8", name.to_string_lossy()))),
            },
        }
        Ok(())
    }

    fn set_text(&mut self, setting: &str, text: &str) -> Result<(), Error> {
        match setting {
            "smoothing" => {
                let wrong = |_| Error::setting("smoothing", format!("'{text}' is not a whole number from 0 on"));
                self.smoothing = text.parse().map_err(wrong)?;
            }
            "regions" => {
                if !matches!(self.players, PlayersFrom::Features | PlayersFrom::Regions(_)) {
                    return Err(Error::setting("regions", "are players: no others can be chosen beside them"));
                }
                self.players = PlayersFrom::Regions(text.parse().map_err(|why| Error::setting("regions", why))?);
            }
            "model_output" => self.model_output = Some(text.parse()?),
            "class" => self.class = Some(text.parse()?),
            "index" => self.index = text.parse().map_err(|message| Error::setting("index", message))?,
            "engine" => self.engine = Some(text.parse()?),
            "exact" => {
                self.exact = match text {
                    "true" => true,
                    "false" => false,
                    _ => return Err(Error::setting("exact", format!("'{text}' is neither true nor false"))),
                }
            }
            "input" => self.input = text.parse().map_err(|message| Error::setting("input", message))?,
            _ => return Err(Error::input(format!("there is no setting '{setting}'"))),
        }
        Ok(())
    }

    /// The files that it reads, besides the circuit and the rows.
    pub fn files(&self) -> Vec<&Path> {
        let distribution = match &self.distribution {
            DistributionFrom::ProductFile(path)
            | DistributionFrom::Background(RowsFrom::File(path))
            | DistributionFrom::Empirical(RowsFrom::File(path))
            | DistributionFrom::Reference(ReferenceFrom::Row(RowOfFile { path, .. })) => Some(path),
            _ => None,
        };
        let constraint = self.constraint.as_ref().and_then(|constraint| match constraint {
            ConstraintFrom::File(path) => Some(path),
            ConstraintFrom::Formula(_) => None,
        });
        let players = if let PlayersFrom::File(path) = &self.players { Some(path) } else { None };
        let groups = if let Some(GroupsFrom::File(path)) = &self.groups { Some(path) } else { None };
        [distribution, constraint, players, groups].into_iter().flatten().map(PathBuf::as_path).collect()
    }

    /// Refuses settings that contradict each other, before anything is read.
    pub fn check(&self) -> Result<(), Error> {
        let is_product = matches!(self.distribution, DistributionFrom::Marginals | DistributionFrom::ProductFile(_));
        if let (true, Some(engine @ (EngineName::Fast | EngineName::Table))) = (self.exact, self.engine) {
            let why = format!("needs another engine: {} works in floats", engine.name());
            return Err(Error::setting("exact", why).with_remedy(Remedy::ExactEngine));
        }
        if self.smoothing > 0 && !is_product {
            return Err(Error::setting(
                "smoothing",
                "is for probabilities that are estimated: product, or product of a file",
            ));
        }
        if self.constraint.is_some() && self.distribution.is_of_rows() {
            return Err(Error::setting("constraint", "goes with the distributions uniform and product, not with rows"));
        }
        if self.index == Index::Owen && self.groups.is_none() {
            return Err(Error::setting("index", "'owen' needs the groups of the players"));
        }
        let is_plain = matches!(self.players, PlayersFrom::Features) && self.constraint.is_none();
        let is_of_table = matches!(self.distribution, DistributionFrom::Uniform)
            && matches!(self.index, Index::Shapley | Index::Banzhaf);
        if self.engine == Some(EngineName::Table) && !(is_plain && is_of_table) {
            let why = "table is for features as players, Shapley or Banzhaf values, and the uniform distribution";
            return Err(Error::setting("engine", why));
        }
        let is_of_paper = self.index == Index::Shapley && !self.distribution.is_of_rows();
        if self.engine == Some(EngineName::Paper) && !(is_plain && is_of_paper) {
            let why = "paper is for features as players, Shapley values, and uniform or product";
            return Err(Error::setting("engine", why));
        }
        Ok(())
    }

    /// The name of the engine that answers.
    pub fn engine_name(&self) -> &'static str {
        match (self.engine, self.exact) {
            (Some(engine @ (EngineName::Table | EngineName::Paper | EngineName::BruteForce)), _) => engine.name(),
            (_, true) => "exact",
            (_, false) => "fast",
        }
    }

    /// The name of the index, with the file of its groups.
    fn index_name(&self) -> String {
        match (self.index, &self.groups) {
            (Index::Owen, Some(GroupsFrom::File(path))) => format!("owen:{}", file_name(path)),
            (index, _) => index.name().into(),
        }
    }

    /// The meaning of the scores, by key; `class` only for a circuit of several classes.
    pub fn about(&self, class: Option<&str>) -> BTreeMap<String, String> {
        let mut about: BTreeMap<String, String> = [
            ("distribution", self.distribution.name()),
            ("players", self.players.name()),
            ("index", self.index_name()),
            ("engine", self.engine_name().into()),
            ("checked", self.index.checked().into()),
        ]
        .map(|(key, value)| (key.to_string(), value))
        .into();
        let constraint = self.constraint.as_ref().map(|constraint| match constraint {
            ConstraintFrom::File(path) => file_name(path),
            ConstraintFrom::Formula(_) => "formula".into(),
        });
        let smoothing = (self.smoothing > 0).then(|| self.smoothing.to_string());
        let output =
            self.model_output.filter(|output| *output == ModelOutput::Score).map(|output| output.name().into());
        let more = [
            ("model_output", output),
            ("constraint", constraint),
            ("smoothing", smoothing),
            ("class", class.map(String::from)),
        ];
        about.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))));
        about
    }

    /// The same as a line to read.
    pub fn describe(&self, class: Option<&str>) -> String {
        let sum = match class {
            _ if self.is_of_scores() => "the score",
            Some("predicted") => "1, the label of the class predicted",
            Some(_) => "the label of the class, which is the explained value",
            None => "the prediction",
        };
        let up_to = |order: Order| match order {
            Order::One => "of single players".to_string(),
            order => format!("of up to {} players", order.size()),
        };
        let adding = |what: String| format!("{what}; base value and scores of each row were found to add up to {sum}");
        let index = match self.index {
            Index::Shapley => adding("Shapley values".into()),
            Index::Owen => adding("Owen values of players in groups".into()),
            Index::Taylor(order) => adding(format!("Shapley-Taylor interactions {}", up_to(order))),
            Index::Ksii(order) => adding(format!("k-SII interactions {}", up_to(order))),
            Index::Banzhaf => "Banzhaf values, which have no sum to check".into(),
            Index::Interaction => "Shapley interactions, of which those of each player were found to add up".into(),
        };
        let about = self.about(class);
        let [distribution, players, engine] = ["distribution", "players", "engine"].map(|key| &about[key]);
        let own = match self.distribution {
            DistributionFrom::Empirical(_) if self.is_of_scores() => {
                " (of all features together the row's own score, so that scores add up)"
            }
            DistributionFrom::Empirical(_) => " (of all features together the row's own label, so that scores add up)",
            DistributionFrom::Reference(ReferenceFrom::Blur(_)) => {
                " (each row against a copy of itself in which every pixel is the median of those around it)"
            }
            _ => "",
        };
        format!(
            "distribution {distribution}{own}{}, players {players}, engine {engine}; {index}",
            self.conditions(class)
        )
    }

    fn is_of_scores(&self) -> bool {
        self.model_output == Some(ModelOutput::Score)
    }

    /// Further conditions of the distribution and the class, to be added to a line.
    pub fn conditions(&self, class: Option<&str>) -> String {
        let about = self.about(class);
        let words = [
            ("smoothing", " with smoothing "),
            ("constraint", " given "),
            ("model_output", ", model output "),
            ("class", ", class "),
        ];
        words.iter().filter_map(|(key, words)| about.get(*key).map(|value| format!("{words}{value}"))).collect()
    }
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The text before and after the first colon.
fn split_at_colon(text: &OsStr) -> (&OsStr, Option<&OsStr>) {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let bytes = text.as_bytes();
        match bytes.iter().position(|byte| *byte == b':') {
            Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]))),
            None => (text, None),
        }
    }
    #[cfg(not(unix))]
    match text.to_str().and_then(|text| text.split_once(':')) {
        Some((kind, file)) => (kind.as_ref(), Some(file.as_ref())),
        None => (text, None),
    }
}
