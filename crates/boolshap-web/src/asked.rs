//! Questions about decisions: takes a JSON object with the question, its settings and entities; returns what
//! `boolshap ask --json` prints. No setting names a file: the content of files comes with the request.

use crate::error::ApiError;
use crate::request::opened;
use crate::site::Site;
#[cfg(feature = "compile")]
use boolshap::CompileRequest;
use boolshap::data::{Bits, bits_of_json, each_in_json, short_text};
use boolshap::lit::Watch;
use boolshap::query::Classifier;
#[cfg(not(feature = "compile"))]
use boolshap::workflow::CertificateFile;
#[cfg(feature = "compile")]
use boolshap::workflow::Certificates;
#[cfg(feature = "compile")]
use boolshap::workflow::compile_watched;
use boolshap::workflow::{AskRequest, Asker, Found, Question, RowAnswer, Summary};
use boolshap::{Error, Model, NamedCircuit};
use http::StatusCode;
use serde_json::json;
#[cfg(not(feature = "compile"))]
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A request for answers.
#[derive(Debug)]
pub(crate) struct AskedQuestion {
    request: AskRequest,
    entities: Option<Bits>,
    /// The second classifier of `difference`: the text of a model file.
    other: Option<String>,
    /// Whether each answer comes with its certificate.
    certificate: bool,
    /// Lists are cut off at this length, though more was asked for.
    cut_at: Option<usize>,
}

/// The fields that are not settings.
const OTHER_FIELDS: [&str; 4] = ["question", "entities", "other", "certificate"];
/// The most features for which the library makes a table of all inputs.
const TABLE_FEATURES: usize = Classifier::TABLE_BITS as usize;
/// The most bytes of settings, which take more memory as a tree of values than as text.
const SETTINGS_BYTES: usize = 4 << 20;
/// How many times more memory the tree takes.
const TREE: usize = 24;
/// The most tables of all inputs that a thread works with.
const TABLES: usize = 6;

impl AskedQuestion {
    /// About how much memory, in bytes, reading a body of this length takes.
    #[cfg(feature = "server")]
    pub(crate) fn reading_cost(length: usize) -> usize {
        2 * length + TREE * length.min(SETTINGS_BYTES)
    }

    /// From a JSON body.
    pub(crate) fn of_json(site: &Site, body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = fields(body)?;
        let question = fields.remove("question").ok_or_else(|| {
            let known = Question::ALL.map(Question::name).join(", ");
            ApiError::bad("question", format!("is missing: one of {known} is expected"))
        })?;
        let name: String = serde_json::from_str(question)
            .map_err(|_| ApiError::bad("question", format!("{} is not a text", short_text(question))))?;
        let mut request = AskRequest::new(name.parse()?);
        let (entities, other) = (fields.remove("entities"), fields.remove("other"));
        let certificate = fields.remove("certificate").map_or(Ok(false), |text| {
            let expected = || format!("{} is neither true nor false", short_text(text));
            serde_json::from_str(text).map_err(|_| ApiError::bad("certificate", expected()))
        })?;
        let (circuit, limit) = (site.circuit(), site.limits.rows);
        let too_large = |field: &str, problem: String| {
            Err(ApiError { status: StatusCode::PAYLOAD_TOO_LARGE, ..ApiError::bad(field, problem) })
        };
        for (field, text) in [("entities", entities), ("against", fields.get("against").copied())] {
            // Count the rows before parsing them.
            if text.is_some_and(|text| opened(text.as_bytes()).saturating_sub(1) > limit) {
                return too_large(field, format!("more than {limit} in one request"));
            }
        }
        // Set how rows are read before reading any.
        if let Some(text) = fields.remove("input") {
            request.set_json("input", text, circuit)?;
        }
        for (name, text) in &fields {
            if text.len() > SETTINGS_BYTES && name != "against" {
                return too_large(name, format!("larger than {SETTINGS_BYTES} bytes"));
            }
            if !AskRequest::json_settings().any(|known| known == name) {
                let known: Vec<&str> = OTHER_FIELDS.into_iter().chain(AskRequest::json_settings()).collect();
                let problem = format!("there is no such field (there are: {})", known.join(", "));
                return Err(ApiError::bad(short_text(name), problem));
            }
            request.set_json(name, text, circuit)?;
        }
        request.check()?;
        match (request.question, other) {
            (Question::Difference, None) => return Err(ApiError::bad("other", "is missing: a model is expected")),
            (Question::Difference, Some(_)) | (_, None) => {}
            _ => return Err(ApiError::bad("other", format!("is not a setting of the question {name}"))),
        }
        if entities.is_none() && request.question.needs_rows() {
            return Err(ApiError::bad("entities", "is missing: a list of entities is expected"));
        }
        let reading = request.input;
        let read = |text| bits_of_json(text, &circuit.features, circuit.binariser.as_ref(), reading, limit);
        let entities = entities.map(read).transpose()?;
        let mut asked = AskedQuestion { request, entities, other: other.map(String::from), certificate, cut_at: None };
        asked.limit_lists(site)?;
        Ok(asked)
    }

    /// How many entities there are.
    pub(crate) fn rows(&self) -> usize {
        self.entities.as_ref().map_or(0, Bits::rows)
    }

    /// Limits lists to what fits into an answer; refuses a question if even the shortest lists do not fit.
    fn limit_lists(&mut self, site: &Site) -> Result<(), ApiError> {
        let (rows, most, features) = (self.rows().max(1), site.limits.numbers, site.circuit().features.len());
        let request = &mut self.request;
        let width = match request.question {
            Question::Attribution | Question::Codes => features.saturating_mul(5),
            _ => features,
        };
        let room = most / rows.saturating_mul(width).max(1);
        if room == 0 {
            let message = format!("{rows} with {width} numbers each are more than {most} in one answer");
            return Err(ApiError::too_large(message));
        }
        let wished = match request.question {
            Question::Reason | Question::Contrast if request.all => usize::MAX,
            Question::Counterfactual => request.limit.unwrap_or(usize::MAX),
            _ => request.limit.unwrap_or(0),
        };
        if wished > room {
            (request.limit, self.cut_at) = (Some(room), Some(room));
        }
        Ok(())
    }

    /// Whether a row has more to list than fits into the answer.
    fn is_cut(&self, answer: &RowAnswer) -> bool {
        // An unknown number may be larger than the list.
        let (listed, are_all) = match &answer.found {
            Found::Reasons(found) => (found.sets.len(), found.is_complete()),
            Found::Counterfactuals(found) => (found.listed.len(), found.count == found.listed.len().into()),
            _ => return false,
        };
        self.cut_at == Some(listed) && (self.request.beyond || !are_all)
    }

    /// About how much memory, in bytes, answering takes besides the answer itself: tables of all inputs for each class,
    /// and something for each row.
    pub(crate) fn cost(&self, site: &Site) -> Result<usize, ApiError> {
        let circuit = site.circuit();
        let table = (1usize << circuit.features.len().min(TABLE_FEATURES)) / 8;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let classes = circuit.classes.len().max(2) * if self.other.is_some() { 2 } else { 1 };
        let entities =
            self.rows() * (circuit.features.len() / 4 + 256) + TREE * self.other.as_ref().map_or(0, String::len);
        Ok(table.saturating_mul(classes + 2 + TABLES * threads).saturating_add(entities))
    }

    /// About how many steps answering takes.
    #[cfg(feature = "server")]
    pub(crate) fn visits(&self, site: &Site) -> u128 {
        let is_simple = match self.request.question {
            Question::Reason | Question::Contrast => self.request.prefer.is_empty() && self.request.share.is_none(),
            Question::Robustness => !self.request.mean,
            Question::Counterfactual | Question::Bias | Question::Properties => true,
            Question::Attribution | Question::Difference | Question::Judge | Question::Codes => false,
        };
        let (features, classes) = (site.circuit().features.len(), site.circuit().classes.len().max(2));
        match is_simple && features <= TABLE_FEATURES && self.request.constraint.is_none() {
            true => (1u128 << features) * (features * (self.rows() + classes)) as u128,
            false => u128::MAX,
        }
    }

    /// The answer; `room` is asked for memory as its text grows.
    pub(crate) fn answer(
        &self,
        site: &Site,
        watch: &Watch<'_>,
        mut room: impl FnMut(usize) -> Result<(), ApiError>,
    ) -> Result<String, ApiError> {
        let circuit = site.report.menu().circuit();
        let other = self.other.as_ref().map(|text| second(text, circuit, watch)).transpose()?;
        let (other, other_model) = other.unzip();
        let asker = Asker::prepare(circuit.clone(), other.as_ref(), &self.request, watch)
            .map_err(|error| self.refusal(error))?;
        let mut certificates = self.certificates(site, &asker, other_model)?;
        let (mut text, mut rows, mut refused) = (asker.json_begin(), 0u64, None);
        let mut add = |answer: &RowAnswer| {
            let made = certificates.as_mut().map(|all| all.add_row(&asker, answer, watch)).transpose()?;
            text.push_str(&asker.json_next(answer, &made.unwrap_or_default(), rows == 0));
            rows += 1;
            refused = match self.is_cut(answer) {
                true => {
                    let message =
                        format!("row {} has more to list than an answer has room for: give a limit", answer.row);
                    Some(ApiError::too_large(message))
                }
                false => room(text.capacity()).err(),
            };
            match refused.is_some() {
                true => Err(Error::Limit { message: "the answer is too large".into(), remedy: None }),
                false => Ok(()),
            }
        };
        let summary = match &self.entities {
            Some(entities) => asker.ask_rows(entities, &mut add, watch),
            None => Ok(Summary::default()),
        };
        let summary = summary.map_err(|error| refused.unwrap_or_else(|| self.refusal(error)))?;
        let mut overall = asker.overall(&summary, watch)?;
        if let Some(certificates) = &mut certificates {
            certificates.end(&asker, &mut overall, watch)?;
        }
        let cautions = circuit.facts.cautions();
        if !cautions.is_empty() {
            overall.insert("cautions".into(), json!(cautions));
        }
        text.push_str(&asker.json_end(overall));
        Ok(text)
    }

    /// A page cannot make certificates: the code would be a tenth of the module.
    #[cfg(not(feature = "compile"))]
    fn certificates(&self, _: &Site, _: &Asker, _: Option<Model>) -> Result<Option<NoCertificates>, ApiError> {
        match self.certificate {
            true => Err(ApiError::contradiction("certificate", "is not made inside a page: boolshap serve makes them")),
            false => Ok(None),
        }
    }

    /// The maker of certificates, if they are asked for: for the network that is served, else for the one whose digest
    /// the circuit holds.
    #[cfg(feature = "compile")]
    fn certificates(&self, site: &Site, asker: &Asker, other: Option<Model>) -> Result<Option<Certificates>, ApiError> {
        let made = self.certificate.then(|| Certificates::new(None, asker, site.model.clone()));
        let made = made.transpose().map_err(|error| ApiError::contradiction("certificate", error))?;
        Ok(made.map(|made| made.with_other(other)))
    }

    /// An error of the library, with the field that names a class.
    fn refusal(&self, error: Error) -> ApiError {
        let wished = self.request.to.as_ref().map(|class| class.to_string());
        match &error {
            Error::UnknownClass { class, .. } if wished.as_deref() == Some(class.trim_matches('\'')) => {
                ApiError::bad("to", &error)
            }
            _ => error.into(),
        }
    }
}

/// The maker of certificates where none can be made.
#[cfg(not(feature = "compile"))]
enum NoCertificates {}

#[cfg(not(feature = "compile"))]
impl NoCertificates {
    fn add_row(&mut self, _: &Asker, _: &RowAnswer, _: &Watch<'_>) -> Result<Vec<CertificateFile>, Error> {
        match *self {}
    }

    fn end(&mut self, _: &Asker, _: &mut Map<String, Value>, _: &Watch<'_>) -> Result<(), Error> {
        match *self {}
    }
}

/// The fields of a JSON object, with their values as JSON text.
fn fields(body: &[u8]) -> Result<BTreeMap<String, &str>, ApiError> {
    let wrong = |problem: String| ApiError::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {problem}"));
    let text = std::str::from_utf8(body).map_err(|error| wrong(error.to_string()))?;
    let mut fields = BTreeMap::new();
    each_in_json(
        text,
        |error| wrong(error.to_string()),
        |name, value| {
            let Some(name) = name else {
                let message = "the body must be an object with the field 'question'";
                return Err(ApiError::new(StatusCode::BAD_REQUEST, message));
            };
            match fields.insert(name.to_string(), value) {
                None => Ok(()),
                Some(_) => Err(ApiError::bad(name, "is there twice")),
            }
        },
    )?;
    Ok(fields)
}

/// The second classifier: a model of the same features, compiled.
#[cfg(feature = "compile")]
fn second(text: &str, circuit: &NamedCircuit, watch: &Watch<'_>) -> Result<(NamedCircuit, Model), ApiError> {
    let wrong = |problem: String| ApiError {
        field: Some("other".into()),
        ..ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("other: {problem}"))
    };
    let model = Model::from_json(text).map_err(wrong)?;
    if model.features != circuit.features {
        return Err(wrong("the two do not have the same features in the same order".into()));
    }
    let request = CompileRequest { each_of_several: true, ..CompileRequest::default() };
    let compiled = compile_watched(&model, &request, watch);
    compiled.map(|compiled| (compiled.circuit, model)).map_err(|error| match error.stopped() {
        Some(stopped) => stopped.into(),
        None => wrong(error.to_string()),
    })
}

/// There is no compiler inside a page.
#[cfg(not(feature = "compile"))]
fn second(_: &str, _: &NamedCircuit, _: &Watch<'_>) -> Result<(NamedCircuit, Model), ApiError> {
    Err(ApiError::contradiction("other", "is not compiled inside a page: boolshap serve can answer this"))
}
