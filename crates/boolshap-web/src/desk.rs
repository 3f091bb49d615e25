//! Answers requests, however they arrive: takes a path and a JSON body, returns JSON or an error. The server's routes
//! use it, and so does a page that has the library inside, where there is no server at all ([`answer`]).

use crate::answers::Answer;
use crate::asked::AskedQuestion;
use crate::error::ApiError;
use crate::request::{ExplainQuestion, truth};
use crate::site::Site;
use boolshap::lit::Watch;
use boolshap::report::{FigureAsked, PageChoice, RowSearch};
use boolshap::workflow::Scope;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The options of a page, and those of a search in its rows.
pub(crate) const ROWS_QUERY: [&str; 9] =
    ["distribution", "players", "class", "offset", "limit", "search", "wrong", "sort", "descending"];
/// The options of a figure.
pub(crate) const FIGURE_QUERY: [&str; 7] = ["distribution", "players", "class", "name", "player", "bits", "narrow"];
/// The most rows that are shown at once.
pub(crate) const MOST_ROWS: usize = 500;
/// The largest offset: no table has more rows.
pub(crate) const MOST_OFFSET: u64 = 1_000_000_000_000;

/// Answers as the HTTP API does: a path with its query, such as `api/rows?limit=5`, and the body of a request that has
/// one.
pub fn answer(site: &Site, path: &str, body: Option<&str>, watch: &Watch<'_>) -> Result<String, ApiError> {
    let (name, query) = path.split_once('?').unwrap_or((path, ""));
    let given = || form_urlencoded::parse(query.as_bytes()).into_owned();
    let name = name.trim_start_matches('/');
    match (name, body) {
        ("api/model", None) => Ok(model(site).to_string()),
        ("api/page", None) => {
            let choice = page_choice(site, &options(given(), &ROWS_QUERY[..3])?)?;
            Ok(site.report.page(choice, watch)?.to_string())
        }
        ("api/rows", None) => RowsQuestion::new(site, &options(given(), &ROWS_QUERY)?)?.answer(site, watch),
        ("api/figure", None) => FigureQuestion::new(site, &options(given(), &FIGURE_QUERY)?)?.answer(site, watch),
        ("api/words", Some(body)) => {
            options(given(), &[])?;
            let question = ExplainQuestion::of_json(site, body.as_bytes())?;
            question.cost(site)?;
            said(site, &question, watch)
        }
        ("api/explain", Some(body)) => {
            options(given(), &[])?;
            let question = ExplainQuestion::of_json(site, body.as_bytes())?;
            question.cost(site)?;
            let text: Vec<u8> = Answer::new(site, &question, watch)?.json().flatten().collect();
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
        ("api/ask", Some(body)) => {
            options(given(), &[])?;
            let question = AskedQuestion::of_json(site, body.as_bytes())?;
            question.cost(site)?;
            question.answer(site, watch, |_| Ok(()))
        }
        ("api/model" | "api/page" | "api/rows" | "api/figure" | "api/words" | "api/explain" | "api/ask", _) => {
            let method = if body.is_some() { "POST" } else { "GET" };
            Err(ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("/{name} does not take {method}")))
        }
        _ => Err(ApiError::new(StatusCode::NOT_FOUND, format!("there is nothing at /{name}"))),
    }
}

/// The facts about the circuit.
pub(crate) fn model(site: &Site) -> Value {
    let (report, circuit) = (&site.report, site.circuit());
    // A network that is not compiled has no nodes.
    let (nodes, edges, _) = if circuit.network.is_some() { Default::default() } else { circuit.graph_size() };
    let subject = &report.subjects()[0];
    json!({
        "features": subject.features,
        "columns": subject.columns,
        "labels": subject.labels,
        "classes": circuit.classes.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "nodes": nodes,
        "edges": edges,
        "distributions": report.menu().distributions().iter().map(|one| &one.name).collect::<Vec<_>>(),
        "players": report.menu().players().iter().map(|one| one.kind()).collect::<Vec<_>>(),
        "rows": report.rows().total(),
        "facts": subject.facts,
        "verified": circuit.facts.verified.json(),
        "cautions": circuit.facts.cautions(),
    })
}

/// The options of a query; each must be known and occur once.
pub(crate) fn options(
    given: impl IntoIterator<Item = (String, String)>,
    known: &[&str],
) -> Result<HashMap<String, String>, ApiError> {
    let mut options = HashMap::new();
    for (key, value) in given {
        if !known.contains(&key.as_str()) {
            return Err(ApiError::bad(key, format!("there is no such option (there are: {})", known.join(", "))));
        }
        if options.insert(key.clone(), value).is_some() {
            return Err(ApiError::bad(key, "is there twice"));
        }
    }
    Ok(options)
}

/// The page that these options choose.
pub(crate) fn page_choice(site: &Site, options: &HashMap<String, String>) -> Result<PageChoice, ApiError> {
    let option = |field: &str| options.get(field).map(String::as_str);
    let class = option("class").map(str::parse).transpose()?;
    Ok(site.report.choose(option("distribution"), option("players"), class.as_ref())?)
}

/// Which rows are to be listed.
pub(crate) struct RowsQuestion {
    search: RowSearch,
    class: Option<usize>,
    offset: usize,
    limit: usize,
}

impl RowsQuestion {
    /// From the options of a query.
    pub(crate) fn new(site: &Site, options: &HashMap<String, String>) -> Result<Self, ApiError> {
        let option = |field: &str| options.get(field).map(String::as_str);
        let number = |field: &str, least: u64, most: u64, default: usize| {
            let Some(text) = option(field) else { return Ok(default) };
            // A number beyond `usize` is beyond the rows of any table.
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            let number = number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
            number.ok_or_else(|| ApiError::bad(field, format!("'{text}' is not a whole number from {least} to {most}")))
        };
        let (offset, limit) = (number("offset", 0, MOST_OFFSET, 0)?, number("limit", 1, MOST_ROWS as u64, 50)?);
        let (table, name) = (&site.report.rows().table, option("sort").unwrap_or("row"));
        let order = table.order(name).ok_or_else(|| {
            let orders = table.orders();
            let known: Vec<&str> =
                orders.iter().map(String::as_str).filter(|key| !key.starts_with("column:")).collect();
            ApiError::bad("sort", format!("'{name}' is not one of {}, nor column:NAME for a column", known.join(", ")))
        })?;
        let descending = truth("descending", option("descending"))?;
        let wrong = truth("wrong", option("wrong"))?;
        let search = RowSearch { text: option("search").unwrap_or_default().into(), wrong, order, descending };
        Ok(RowsQuestion { search, class: page_choice(site, options)?.class, offset, limit })
    }

    /// The rows that are found.
    pub(crate) fn answer(&self, site: &Site, watch: &Watch<'_>) -> Result<String, ApiError> {
        Ok(site.report.find(&self.search, self.class, self.offset, self.limit, watch)?.to_string())
    }
}

/// Which figure is to be drawn.
pub(crate) struct FigureQuestion {
    asked: FigureAsked,
    choice: PageChoice,
}

impl FigureQuestion {
    /// From the options of a query.
    pub(crate) fn new(site: &Site, options: &HashMap<String, String>) -> Result<Self, ApiError> {
        let option = |field: &str| options.get(field).map(String::as_str);
        let features = site.circuit().features.len();
        let bits = |text: &str| match text.len() == features && text.bytes().all(|bit| matches!(bit, b'0' | b'1')) {
            true => Ok(text.bytes().map(|bit| bit == b'1').collect()),
            false => Err(ApiError::bad("bits", format!("should be {features} zeros and ones"))),
        };
        let asked = FigureAsked {
            name: option("name").unwrap_or_default().into(),
            player: option("player").map(String::from),
            input: option("bits").map(bits).transpose()?,
            narrow: truth("narrow", option("narrow"))?,
        };
        Ok(FigureQuestion { asked, choice: page_choice(site, options)? })
    }

    /// The figure, as SVG in a JSON object.
    pub(crate) fn answer(&self, site: &Site, watch: &Watch<'_>) -> Result<String, ApiError> {
        // Each option is valid alone: if their combination cannot be drawn, no single field is wrong.
        let refused = |error: ApiError| match error.status {
            StatusCode::BAD_REQUEST => ApiError { status: StatusCode::UNPROCESSABLE_ENTITY, ..error },
            _ => error,
        };
        let svg = site.report.figure(self.choice, &self.asked, watch).map_err(|error| refused(error.into()))?;
        Ok(json!({"svg": svg}).to_string())
    }
}

/// The descriptions of entities in words, which go with their scores.
pub(crate) fn said(site: &Site, question: &ExplainQuestion, watch: &Watch<'_>) -> Result<String, ApiError> {
    let (game, scope) = (question.game, question.ask.scope);
    if question.beside {
        return Err(ApiError::contradiction("model", "is beside: words are about the model that is shown"));
    }
    if matches!(scope, Scope::Each | Scope::Difference(..)) {
        return Err(ApiError::contradiction("class", "is several: words are about one"));
    }
    let said = |row: usize| Ok(site.report.words(game, scope, &question.entities.row(row), watch)?);
    let said = (0..question.entities.rows()).map(said).collect::<Result<Vec<Value>, ApiError>>()?;
    Ok(json!({"words": said}).to_string())
}
