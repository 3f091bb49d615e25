//! `boolshap ask`: questions about decisions and classifiers.

use crate::game_options::INPUTS;
use crate::terminal::{input_path, note, output_path, print, print_json, seconds, usage, with_timeout};
use boolshap::data::WholeFile;
use boolshap::workflow::{
    AskRequest, Asker, CertificateFile, Certificates, NetworkAsker, Question, RowAnswer, Summary,
};
use boolshap::workflow::{ModelOutput, ready_circuit};
use boolshap::{Error, Model, NamedCircuit};
use clap::Args;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Ask what suffices for a decision, what would change it, and whether it is fair
///
/// QUESTION is one of: reason (sufficient or abductive explanations, AXp, PI-explanations), contrast (contrastive
/// explanations, CXp), attribution (necessary and relevant features, formal feature attribution), counterfactual (the
/// nearest inputs of another class), robustness (how many players must change), bias (does a decision depend on
/// protected features), properties (used, monotone, mandatory, influence), difference (of two classifiers), judge (are
/// others' reasons and counterfactuals right), codes (reason codes for letters). Every answer is exact.
#[derive(Args)]
pub(crate) struct Ask {
    /// What to ask
    #[arg(value_parser = question)]
    question: Question,
    /// A circuit, or a model that is compiled first
    source: PathBuf,
    /// The rows, CSV or Parquet; for difference the second circuit or model, then the rows
    more: Vec<PathBuf>,
    /// Only these rows, counted from 1
    #[arg(long, value_name = "N,...")]
    row: Vec<String>,
    /// The players, whose features change together: features; columns (a one-hot column is one player); or a file with
    /// columns feature,player
    #[arg(long, value_name = "features|columns|FILE.csv")]
    players: Option<OsString>,
    /// Only inputs that satisfy this formula (DIMACS) over the features can occur
    #[arg(long, value_name = "FILE.cnf")]
    constraint: Option<OsString>,
    /// Ask about one class of several, as a label
    #[arg(long, value_name = "K")]
    class: Option<String>,
    /// How to read the rows
    #[arg(long, value_parser = INPUTS)]
    input: Option<String>,
    /// reason, contrast: give the smallest
    #[arg(long)]
    minimum: bool,
    /// reason, contrast: give all
    #[arg(long)]
    all: bool,
    /// At most this many reasons (the smallest), or counterfactuals
    #[arg(long, value_name = "K")]
    limit: Option<String>,
    /// reason, contrast: players to prefer, the most preferred first; score for the order of the absolute SHAP scores
    #[arg(long, value_name = "A,B")]
    prefer: Vec<String>,
    /// reason, contrast: players that must not be used
    #[arg(long, value_name = "A,B")]
    exclude: Vec<String>,
    /// reason, contrast: the share of the inputs that must keep the class, such as 0.9 or 9/10
    #[arg(long, value_name = "D")]
    share: Option<String>,
    /// counterfactual: the wanted class; codes: the favourable class
    #[arg(long, value_name = "CLASS")]
    to: Option<String>,
    /// counterfactual: players that must not change
    #[arg(long, value_name = "A,B")]
    freeze: Vec<String>,
    /// counterfactual, codes: players that may only rise
    #[arg(long, value_name = "A,B")]
    only_up: Vec<String>,
    /// counterfactual, codes: players that may only fall
    #[arg(long, value_name = "A,B")]
    only_down: Vec<String>,
    /// counterfactual, codes: a column of numbers may only move into this range
    #[arg(long, value_name = "COLUMN=LOW..HIGH")]
    range: Vec<String>,
    /// counterfactual, codes: what changing a player costs, columns player,cost; others cost 1
    #[arg(long, value_name = "FILE.csv")]
    costs: Option<OsString>,
    /// counterfactual: also list inputs beyond the nearest, until --limit is reached
    #[arg(long)]
    beyond: bool,
    /// robustness: also count the inputs of other classes within this distance
    #[arg(long, value_name = "R")]
    radius: Option<String>,
    /// robustness: also the mean over all inputs, even where that takes long
    #[arg(long)]
    mean: bool,
    /// In JSON, give each answer as a sentence as well, where there is one
    #[arg(long)]
    sentences: bool,
    /// bias: the protected features or columns
    #[arg(long, value_name = "A,B")]
    protected: Vec<String>,
    /// bias: also give the probability of each class in each group of protected values, under this distribution:
    /// uniform, product, product:FILE
    #[arg(long, value_name = "D")]
    distribution: Option<OsString>,
    /// judge: the claims to check, a JSON list of {row, reason | contrast | counterfactual}
    #[arg(long, value_name = "FILE.json")]
    claims: Option<OsString>,
    /// codes: the codes and texts of players, columns player,code,text
    #[arg(long, value_name = "FILE.csv")]
    codes: Option<OsString>,
    /// codes: the rows that scores compare with, such as those of approved applicants
    #[arg(long, value_name = "FILE")]
    against: Option<OsString>,
    /// codes: use only those of the --against rows that are decided favourably
    #[arg(long)]
    approved: bool,
    /// codes: at most this many codes a row (4)
    #[arg(long, value_name = "N")]
    top: Option<String>,
    /// codes: the players that a person can act upon
    #[arg(long, value_name = "A,B")]
    actionable: Vec<String>,
    /// Write a certificate of each answer to this folder; `boolshap check` verifies it with the model alone
    #[arg(long, value_name = "DIR")]
    certificate: Option<PathBuf>,
    /// The model that SOURCE was compiled from: certificates can then hold proofs
    #[arg(long, value_name = "MODEL", requires = "certificate")]
    model: Option<PathBuf>,
    /// Where to write the answers: CSV if the name ends in .csv, else JSON
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How many rows are shown on the terminal.
const SHOWN_ROWS: u64 = 20;
/// The most bytes of a result that are buffered before they are printed.
const MOST_WAITING: usize = 64 << 20;

impl Ask {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let request = self.request()?;
        let (second, data) = match (request.question, &self.more[..]) {
            (Question::Difference, [second]) => (Some(second), None),
            (Question::Difference, [second, data]) => (Some(second), Some(data)),
            (Question::Difference, []) => return usage("difference needs a second circuit or model"),
            (_, []) => (None, None),
            (_, [data]) => (None, Some(data)),
            _ => return usage("too many files"),
        };
        if data.is_none() && request.question.needs_rows() {
            return usage(format!("{} is asked of rows: name a file of them", request.question.name()));
        }
        let inputs: Vec<&std::path::Path> =
            std::iter::once(&self.source).chain(&self.more).map(PathBuf::as_path).chain(request.files()).collect();
        let output = self.output.as_deref().map(|path| output_path(path, &inputs)).transpose()?;
        let model = self.model()?;
        if let Some(model) = model.as_ref().filter(|model| NetworkAsker::is_for(model) && self.model.is_none()) {
            return self.ask_network(model, &request, data, output);
        }
        with_timeout("asking", self.timeout, |watch| {
            let ready = |path: &Path| -> Result<NamedCircuit, Error> {
                let ready = ready_circuit(path, ModelOutput::Label, &watch.silent())?;
                ready.notes.iter().for_each(|text| note(text));
                Ok(ready.circuit)
            };
            let other =
                second.filter(|_| self.certificate.is_some()).map(|path| network_of(path)).transpose()?.flatten();
            let (circuit, second) = (Arc::new(ready(&self.source)?), second.map(|path| ready(path)).transpose()?);
            let asker = Asker::prepare(circuit, second.as_ref(), &request, &watch.silent())?;
            if let (Some(column), false) = (asker.split_column(), self.json) {
                note(&format!(
                    "the values of {column} change one by one, also to inputs that no row has; --players columns changes \
                     a column as a whole"
                ));
            }
            let folder = self.certificate.clone().map(|folder| Certificates::new(Some(folder), &asker, model));
            let mut folder = folder.transpose()?.map(|folder| folder.with_other(other));
            let mut sink = Sink::open(&asker, output, self.json)?;
            let mut row = |answer: &RowAnswer| {
                let made = folder.as_mut().map(|folder| folder.add_row(&asker, answer, watch)).transpose()?;
                sink.row(answer, &made.unwrap_or_default())
            };
            let summary = match data {
                Some(data) => asker.ask_table(asker.open(&input_path(data))?, &mut row, watch)?,
                None => Summary::default(),
            };
            let mut overall = asker.overall(&summary, watch)?;
            if let Some(folder) = &mut folder {
                folder.end(&asker, &mut overall, watch)?;
                folder.notes().iter().for_each(|text| note(text));
            }
            sink.finish(&summary, overall)
        })
    }

    /// The model that is asked, or that certificates are about.
    fn model(&self) -> anyhow::Result<Option<Model>> {
        match &self.model {
            Some(path) => Ok(Some(Model::load(path)?)),
            None => Ok(network_of(&self.source)?),
        }
    }

    /// Asks a network that is too large to be compiled.
    fn ask_network(
        &self,
        model: &Model,
        request: &AskRequest,
        data: Option<&PathBuf>,
        output: Option<PathBuf>,
    ) -> anyhow::Result<()> {
        if data.is_none() && request.question != Question::Bias {
            return usage("this network is too large to be compiled: name a file of rows");
        }
        let asker = NetworkAsker::prepare(model.clone(), request)?;
        let mut folder = self.certificate.clone().map(|folder| asker.certificates(Some(folder))).transpose()?;
        let answer = with_timeout("asking", self.timeout, |watch| match data {
            Some(data) => asker.json_of_file(&input_path(data), folder.as_mut(), watch),
            None => asker.json_of_rows(None, folder.as_mut(), watch),
        })?;
        folder.iter().flat_map(Certificates::notes).for_each(|text| note(text));
        if let Some(path) = &output {
            WholeFile::write(path, format!("{answer}\n").as_bytes()).map_err(Error::file(path))?;
        }
        if self.json {
            return Ok(print_json(&answer)?);
        }
        if output.is_none() {
            answer["rows"].as_array().into_iter().flatten().try_for_each(|row| print(&row.to_string()))?;
            let beside =
                answer.as_object().into_iter().flatten().filter(|(key, _)| *key != "rows" && *key != "question");
            beside.into_iter().try_for_each(|(key, value)| print(&format!("{key}: {value}")))?;
        }
        Ok(())
    }

    fn request(&self) -> Result<AskRequest, Error> {
        let mut request = AskRequest::new(self.question);
        let flag = |is_given: bool| is_given.then(|| OsString::from("true"));
        let text = |text: &Option<String>| text.as_ref().map(OsString::from);
        let single = [
            ("players", self.players.clone()),
            ("constraint", self.constraint.clone()),
            ("class", text(&self.class)),
            ("input", text(&self.input)),
            ("minimum", flag(self.minimum)),
            ("all", flag(self.all)),
            ("limit", text(&self.limit)),
            ("share", text(&self.share)),
            ("to", text(&self.to)),
            ("costs", self.costs.clone()),
            ("beyond", flag(self.beyond)),
            ("radius", text(&self.radius)),
            ("mean", flag(self.mean)),
            ("sentences", flag(self.sentences)),
            ("distribution", self.distribution.clone()),
            ("claims", self.claims.clone()),
            ("codes", self.codes.clone()),
            ("against", self.against.clone()),
            ("approved", flag(self.approved)),
            ("top", text(&self.top)),
        ];
        let lists = [
            ("row", &self.row),
            ("prefer", &self.prefer),
            ("exclude", &self.exclude),
            ("freeze", &self.freeze),
            ("only_up", &self.only_up),
            ("only_down", &self.only_down),
            ("range", &self.range),
            ("protected", &self.protected),
            ("actionable", &self.actionable),
        ];
        for (setting, text) in single {
            text.map_or(Ok(()), |text| request.set(setting, text))?;
        }
        for (setting, texts) in lists {
            texts.iter().try_for_each(|text| request.set(setting, text))?;
        }
        request.check()?;
        Ok(request)
    }
}

/// The model in a file, if it is one and not a circuit.
fn network_of(path: &Path) -> Result<Option<Model>, Error> {
    match NamedCircuit::recognises(path).map_err(Error::file(path))? {
        true => Ok(None),
        false => Ok(Some(Model::load(path)?)),
    }
}

fn question(name: &str) -> Result<Question, String> {
    let known = Question::ALL.map(Question::name).join(", ");
    name.parse().map_err(|_: Error| format!("it is not one of {known}"))
}

/// The destination of answers: JSON to standard output or a file, CSV to a file, the first ones in words to the
/// terminal.
struct Sink<'a> {
    asker: &'a Asker,
    file: Option<(WholeFile, PathBuf)>,
    is_csv: bool,
    /// The text to print, buffered up to a limit: if a small result fails, nothing of it is printed.
    json: Option<String>,
    rows: u64,
}

impl<'a> Sink<'a> {
    fn open(asker: &'a Asker, output: Option<PathBuf>, json: bool) -> anyhow::Result<Self> {
        let is_csv = output.as_ref().is_some_and(|path| path.extension().is_some_and(|ending| ending == "csv"));
        let file = match output {
            Some(path) => Some((WholeFile::create(&path).map_err(Error::file(&path))?, path)),
            None => None,
        };
        let json = json.then(String::new);
        let mut sink = Sink { asker, file, is_csv, json, rows: 0 };
        let begin = asker.json_begin();
        match is_csv {
            true => sink.put_in_file(&format!("{}\n", asker.csv_columns()))?,
            false => sink.put_in_file(&begin)?,
        }
        sink.put_out(&begin)?;
        Ok(sink)
    }

    fn put_in_file(&mut self, text: &str) -> Result<(), Error> {
        match &mut self.file {
            Some((file, path)) => file.write_all(text.as_bytes()).map_err(Error::file(path)),
            None => Ok(()),
        }
    }

    fn put_out(&mut self, text: &str) -> Result<(), Error> {
        let Some(waiting) = &mut self.json else { return Ok(()) };
        waiting.push_str(text);
        if waiting.len() > MOST_WAITING { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let text = self.json.as_mut().map(std::mem::take).unwrap_or_default();
        let place = std::path::Path::new("standard output");
        std::io::stdout().lock().write_all(text.as_bytes()).map_err(Error::file(place))
    }

    fn row(&mut self, answer: &RowAnswer, certificates: &[CertificateFile]) -> Result<(), Error> {
        self.rows += 1;
        if self.asker.request().question == Question::Difference {
            return Ok(());
        }
        if self.json.is_some() || self.file.is_some() && !self.is_csv {
            let text = self.asker.json_next(answer, certificates, self.rows == 1);
            self.put_out(&text)?;
            if !self.is_csv {
                self.put_in_file(&text)?;
            }
        }
        if self.is_csv {
            let lines = self.asker.csv_lines(answer, certificates);
            lines.iter().try_for_each(|line| self.put_in_file(&format!("{line}\n")))?;
        }
        if self.json.is_none() && self.file.is_none() && self.rows <= SHOWN_ROWS {
            print(&self.asker.say(answer)).map_err(Error::file(std::path::Path::new("standard output")))?;
        }
        Ok(())
    }

    fn finish(mut self, summary: &Summary, overall: Map<String, Value>) -> anyhow::Result<()> {
        if self.json.is_none() && self.file.is_none() {
            if self.rows > SHOWN_ROWS && self.asker.request().question != Question::Difference {
                print(&format!("({} more rows: use -o or --json)", self.rows - SHOWN_ROWS))?;
            }
            return Ok(self.asker.say_overall(summary, &overall).iter().try_for_each(|line| print(line))?);
        }
        let text = self.asker.json_end(overall);
        if !self.is_csv {
            self.put_in_file(&text)?;
        }
        self.put_out(&text)?;
        self.flush()?;
        if let Some((file, path)) = self.file {
            file.finish().map_err(Error::file(&path))?;
            if self.json.is_none() {
                print(&format!("{} rows: {}", self.rows, path.display()))?;
            }
        }
        Ok(())
    }
}
