//! The routes, and where each answer is computed.
//!
//! An answer that takes well under a millisecond is computed where the request was read. Anything larger goes to a thread
//! of its own, as many at once as there are workers; a few more may wait, and the rest get a response that the server is busy.

use crate::answers::answer;
use crate::error::ApiError;
use crate::guard::{self, Access};
use crate::metrics::Metrics;
use crate::openapi;
use crate::request::{ExplainQuestion, SETTINGS};
use crate::row_search::Search;
use crate::site::{PageChoice, Site};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, MatchedPath, Query, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use boolshap::lit::{Stopped, Watch};
use boolshap::report::{PAGE_SCRIPT, PAGE_STYLE};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Node visits that are not worth a thread of their own.
const AT_ONCE: u128 = 500_000;
const ARROW: &str = "application/vnd.apache.arrow.stream";
const QUERY: [&str; 3] = ["distribution", "players", "class"];
const ROWS_QUERY: [&str; 8] = ["distribution", "players", "class", "offset", "limit", "search", "sort", "descending"];

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
type Options = Result<Query<HashMap<String, String>>, QueryRejection>;

impl App {
    pub(crate) fn new(site: Site, access: Access) -> Self {
        let workers = site.limits.workers.max(1);
        App {
            site,
            metrics: Metrics::new(),
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
    let route = request.extensions().get::<MatchedPath>().map_or("other", |path| known_route(path.as_str()));
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
    app.metrics.answered(route, response.status().as_u16(), begin.elapsed().as_secs_f64());
    response
}

/// The same text for as long as the program lives.
fn known_route(path: &str) -> &'static str {
    let known = [
        "/",
        "/page.css",
        "/page.js",
        "/api/health",
        "/api/model",
        "/api/page",
        "/api/rows",
        "/api/explain",
        "/api/openapi.json",
        "/metrics",
    ];
    known.into_iter().find(|route| *route == path).unwrap_or("other")
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
        app.metrics.computing.inc();
        let watch = Watch::unlimited().stop_flag(&stop).timeout(limit);
        let result = catch_unwind(AssertUnwindSafe(|| work(&app, &watch)));
        app.metrics.computing.dec();
        // Not before the work has ended, even without a client.
        drop((admitted, worker));
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
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn page(State(app): Shared) -> Result<Response, ApiError> {
    let html = compute(app, u128::MAX, |app, watch| Ok(app.site.html(watch)?)).await?;
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

async fn metrics(State(app): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics.text()).into_response()
}

async fn model(State(app): Shared) -> axum::Json<Value> {
    let site = &app.site;
    let (nodes, edges, _) = site.circuit().graph_size();
    let subject = &site.subjects[0];
    axum::Json(json!({
        "features": subject.features,
        "columns": subject.columns,
        "labels": subject.labels,
        "classes": site.circuit().classes.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "nodes": nodes,
        "edges": edges,
        "distributions": site.menu.distributions().iter().map(|one| &one.name).collect::<Vec<_>>(),
        "players": site.menu.players().iter().map(|one| one.kind()).collect::<Vec<_>>(),
        "rows": site.rows.total(),
        "facts": subject.facts,
        "verified": site.circuit().facts.verified.json(),
        "cautions": site.circuit().facts.cautions(),
    }))
}

/// The options of a query, none of them unknown.
fn options(given: Options, known: &[&str]) -> Result<HashMap<String, String>, ApiError> {
    let Query(given) = given.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    match given.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(ApiError::bad(key, format!("there is no such option (there are: {})", known.join(", ")))),
        None => Ok(given),
    }
}

fn page_choice(site: &Site, options: &HashMap<String, String>) -> Result<PageChoice, ApiError> {
    let option = |field: &str| options.get(field).map(String::as_str);
    let class = option("class").map(str::parse).transpose()?;
    Ok(site.choose(option("distribution"), option("players"), class.as_ref())?)
}

async fn page_data(State(app): Shared, given: Options) -> Result<axum::Json<Value>, ApiError> {
    let choice = page_choice(&app.site, &options(given, &QUERY)?)?;
    let data = compute(app, u128::MAX, move |app, watch| Ok(app.site.page(choice, watch)?));
    Ok(axum::Json(data.await?))
}

async fn rows(State(app): Shared, given: Options) -> Result<axum::Json<Value>, ApiError> {
    let options = options(given, &ROWS_QUERY)?;
    let (choice, search) = (page_choice(&app.site, &options)?, Search::new(&app.site, &options)?);
    let found = compute(app, u128::MAX, move |app, watch| search.run(&app.site, choice, watch));
    Ok(axum::Json(found.await?))
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
    let explainer = app.site.menu.explainer(question.game)?;
    let switches = if question.switches { app.site.switch_visits(explainer) } else { 0 };
    let visits = explainer.visits(question.ask).unwrap_or(u128::MAX);
    let visits = visits.saturating_add(switches).saturating_mul(rows as u128);
    let answered = compute(app.clone(), visits, move |app, watch| {
        let answer = answer(&app.site, &question, watch)?;
        Ok(match to_arrow {
            true => ([(header::CONTENT_TYPE, ARROW)], answer.arrow()?).into_response(),
            false => axum::Json(answer).into_response(),
        })
    });
    let response = answered.await?;
    app.metrics.entities.inc_by(rows as u64);
    Ok(response)
}
