//! The routes, and where each answer is computed.
//!
//! An answer that takes well under a millisecond is computed where the request was read. Anything larger goes to a thread
//! of its own, as many at once as there are workers; a few more may wait, and the rest get a response that the server is busy.

use crate::answers::Answer;
use crate::error::ApiError;
use crate::guard::{self, Access};
use crate::metrics::Metrics;
use crate::openapi;
use crate::request::{ExplainQuestion, SETTINGS, truth};
use crate::site::Site;
use arrow_schema::ArrowError;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, MatchedPath, Query, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use boolshap::lit::{Stopped, Watch};
use boolshap::report::{PAGE_SCRIPT, PAGE_STYLE, PageChoice, RowSearch};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Node visits that are not worth a thread of their own.
const AT_ONCE: u128 = 500_000;
const ARROW: &str = "application/vnd.apache.arrow.stream";
/// The options of a page, and those of a search in its rows.
const ROWS_QUERY: [&str; 8] = ["distribution", "players", "class", "offset", "limit", "search", "sort", "descending"];
const ROUTES: &str =
    "/ /page.css /page.js /api/health /api/model /api/page /api/rows /api/explain /api/openapi.json /metrics";
/// The most rows that are shown at once.
pub(crate) const MOST_ROWS: usize = 500;
/// More rows than this there cannot be.
pub(crate) const MOST_OFFSET: usize = 1_000_000_000_000;

/// What all requests share.
pub(crate) struct App {
    pub(crate) site: Site,
    pub(crate) metrics: Metrics,
    access: Access,
    workers: Arc<Semaphore>,
    /// Those who compute and those who wait for it.
    admitted: Arc<Semaphore>,
}

type Shared = State<Arc<App>>;
type Options = Result<Query<Vec<(String, String)>>, QueryRejection>;

impl App {
    pub(crate) fn new(site: Site, access: Access) -> Self {
        let workers = site.limits.workers.max(1);
        App {
            site,
            metrics: Metrics::default(),
            access,
            workers: Arc::new(Semaphore::new(workers)),
            admitted: Arc::new(Semaphore::new(9 * workers)),
        }
    }
}

/// The routes of a site, for a test or a server of one's own; [`Server`](crate::Server) adds limits on connections.
pub fn app(site: Site, access: Access) -> Router {
    routes(Arc::new(App::new(site, access)))
}

pub(crate) fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/page.css", get(|| async { ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], PAGE_STYLE) }))
        .route("/page.js", get(|| async { ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], PAGE_SCRIPT) }))
        .route("/api/health", get(|| async { axum::Json(json!({"status": "ok"})) }))
        .route("/api/model", get(model))
        .route("/api/page", get(page_data))
        .route("/api/rows", get(rows))
        .route("/api/explain", post(explain))
        .route("/api/openapi.json", get(|State(app): Shared| async move { axum::Json(openapi::document(&app.site)) }))
        .route("/metrics", get(metrics))
        .fallback(|uri: Uri| async move {
            ApiError::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
        })
        .method_not_allowed_fallback(|method: Method, uri: Uri| async move {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
        })
        .layer(DefaultBodyLimit::max(app.site.limits.body_bytes))
        .layer(middleware::from_fn_with_state(app.clone(), at_the_door))
        .with_state(app)
}

/// Admission, the time limit, the headers of every answer, and the count of it.
async fn at_the_door(State(app): Shared, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .and_then(|path| ROUTES.split(' ').find(|route| *route == path.as_str()));
    let longest = app.site.limits.time.saturating_mul(3).saturating_add(Duration::from_secs(5));
    let mut response = match app.access.admit(request.uri(), request.headers()) {
        Some(answer) => answer,
        // Waiting and computing watch their own time; this is for bodies that do not come.
        None => match tokio::time::timeout(longest, next.run(request)).await {
            Ok(response) => response,
            Err(_) => ApiError::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive").into_response(),
        },
    };
    guard::protect(&mut response);
    app.metrics.answered(route.unwrap_or("other"), response.status().as_u16(), begin.elapsed().as_secs_f64());
    response
}

/// Computes here what is small, and elsewhere what is not.
async fn compute<T: Send + 'static>(
    app: Arc<App>,
    visits: u128,
    work: impl FnOnce(&App, &Watch<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let broken = || ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "this is a defect of boolshap: please report it");
    let limit = app.site.limits.time;
    if visits <= AT_ONCE {
        let watch = Watch::unlimited().timeout(limit);
        return catch_unwind(AssertUnwindSafe(|| work(&app, &watch))).unwrap_or_else(|_| Err(broken()));
    }
    let busy = || ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy: try again");
    let admitted = app.admitted.clone().try_acquire_owned().map_err(|_| busy())?;
    let waited = tokio::time::timeout(limit, app.workers.clone().acquire_owned()).await;
    let worker = waited.map_err(|_| busy())?.map_err(|_| busy())?;
    // Set when the client has gone away, or the time is over.
    let abandoned = Abandoned(Arc::new(AtomicBool::new(false)));
    let stop = abandoned.0.clone();
    let computing = tokio::task::spawn_blocking(move || {
        let computing = app.metrics.computing.count();
        let watch = Watch::unlimited().stop_flag(&stop).timeout(limit);
        let result = catch_unwind(AssertUnwindSafe(|| work(&app, &watch)));
        // Not before the work has ended, even without a client.
        drop((computing, admitted, worker));
        result.unwrap_or_else(|_| Err(broken()))
    });
    // The work looks at its own time; this is for the parts that cannot.
    match tokio::time::timeout(limit.saturating_add(Duration::from_secs(1)), computing).await {
        Ok(done) => done.map_err(|_| broken())?,
        Err(_) => Err(Stopped::OutOfTime { limit }.into()),
    }
}

/// Tells the work when whoever waits for it is dropped.
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

async fn page(State(app): Shared) -> Result<Response, ApiError> {
    let html = compute(app, u128::MAX, |app, watch| Ok(app.site.report.html(watch)?)).await?;
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

async fn metrics(State(app): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics.text()).into_response()
}

async fn model(State(app): Shared) -> axum::Json<Value> {
    let (report, circuit) = (&app.site.report, app.site.circuit());
    let (nodes, edges, _) = circuit.circuit.graph_size();
    let subject = &report.subjects()[0];
    axum::Json(json!({
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
    }))
}

/// The options of a query, each known and there once.
fn options(given: Options, known: &[&str]) -> Result<HashMap<String, String>, ApiError> {
    let Query(given) = given.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.body_text()))?;
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

fn page_choice(site: &Site, options: &HashMap<String, String>) -> Result<PageChoice, ApiError> {
    let option = |field: &str| options.get(field).map(String::as_str);
    let class = option("class").map(str::parse).transpose()?;
    Ok(site.report.choose(option("distribution"), option("players"), class.as_ref())?)
}

async fn page_data(State(app): Shared, given: Options) -> Result<Response, ApiError> {
    let choice = page_choice(&app.site, &options(given, &ROWS_QUERY[..3])?)?;
    let data = compute(app, u128::MAX, move |app, watch| Ok(app.site.report.page(choice, watch)?)).await?;
    let data = Bytes::from_owner(Arc::<[u8]>::from(data));
    Ok(([(header::CONTENT_TYPE, "application/json")], data).into_response())
}

async fn rows(State(app): Shared, given: Options) -> Result<axum::Json<Value>, ApiError> {
    let options = options(given, &ROWS_QUERY)?;
    let option = |field: &str| options.get(field).map(String::as_str);
    let number = |field: &str, least: usize, most: usize, default: usize| {
        let Some(text) = option(field) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| ApiError::bad(field, format!("'{text}' is not a whole number from {least} to {most}")))
    };
    let (offset, limit) = (number("offset", 0, MOST_OFFSET, 0)?, number("limit", 1, MOST_ROWS, 50)?);
    let (table, name) = (&app.site.report.rows().table, option("sort").unwrap_or("row"));
    let order = table.order(name).ok_or_else(|| {
        let orders = table.orders();
        let known: Vec<&str> = orders.iter().map(String::as_str).filter(|key| !key.starts_with("column:")).collect();
        ApiError::bad("sort", format!("'{name}' is none of {}, nor column:NAME for a column", known.join(", ")))
    })?;
    let descending = truth("descending", option("descending"))?;
    let search = RowSearch { text: option("search").unwrap_or_default().into(), order, descending };
    let class = page_choice(&app.site, &options)?.class;
    let found = move |app: &App, watch: &Watch<'_>| Ok(app.site.report.find(&search, class, offset, limit, watch)?);
    Ok(axum::Json(compute(app.clone(), u128::MAX, found).await?))
}

async fn explain(
    State(app): Shared,
    headers: HeaderMap,
    given: Options,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is = |text: &str, kind: &str| text.split([';', ',']).any(|part| part.trim().eq_ignore_ascii_case(kind));
    let from_arrow = is(header(header::CONTENT_TYPE), ARROW);
    if !from_arrow && !is(header(header::CONTENT_TYPE), "application/json") {
        let message = format!("Content-Type: application/json or {ARROW} is expected");
        return Err(ApiError {
            field: Some("Content-Type".into()),
            ..ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
        });
    }
    let to_arrow = is(header(header::ACCEPT), ARROW);
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let limit = app.site.limits.body_bytes;
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes"))
        }
        _ => ApiError::new(StatusCode::BAD_REQUEST, error.body_text()),
    })?;
    let options = options(given, if from_arrow { &SETTINGS } else { &[] })?;
    // A large body takes time to read as well.
    let reading = if body.len() > 1 << 16 { u128::MAX } else { 0 };
    let work = move |app: &App, _: &Watch<'_>| match from_arrow {
        true => ExplainQuestion::of_arrow(&app.site, &body, &options),
        false => ExplainQuestion::of_json(&app.site, &body),
    };
    let question = compute(app.clone(), reading, work).await?;
    question.check_size(&app.site)?;
    let rows = question.entities.rows();
    let menu = app.site.report.menu();
    let visits = menu.explainer(question.game)?.visits(question.ask).unwrap_or(u128::MAX);
    let flips = if question.flips { menu.flip_visits() } else { 0 };
    let visits = visits.saturating_add(flips).saturating_mul(rows as u128);
    let answered = compute(app.clone(), visits, move |app, watch| {
        let answer = Answer::new(&app.site, &question, watch)?;
        let wrong = |error: ArrowError| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
        let (kind, pieces) = match to_arrow {
            true => (ARROW, answer.arrow().collect::<Result<Vec<_>, _>>()),
            false => ("application/json", answer.json().collect()),
        };
        Ok(([(header::CONTENT_TYPE, kind)], pieces.map_err(wrong)?.concat()).into_response())
    });
    let response = answered.await?;
    app.metrics.entities.fetch_add(rows as u64, Relaxed);
    Ok(response)
}
