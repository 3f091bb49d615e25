//! The routes, and where each answer is computed.
//!
//! An answer that takes well under a millisecond is computed where the request was read. A larger one goes to a
//! separate thread, at most one for each worker at a time; a few more requests may wait, and the rest get a response
//! that the server is busy.

use crate::answers::Answer;
use crate::asked::AskedQuestion;
use crate::body::{body_of_pieces, read_body, whole_body};
use crate::desk::{self, FIGURE_QUERY, FigureQuestion, ROWS_QUERY, RowsQuestion, page_choice};
use crate::error::ApiError;
use crate::guard::{self, ARROW, Access, sends_arrow};
use crate::memory::{Memory, Share};
use crate::metrics::Metrics;
use crate::openapi;
use crate::request::{ExplainQuestion, SETTINGS};
use crate::site::{ServerLimits, Site};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use boolshap::lit::{Stopped, Watch};
use boolshap::report::{PAGE_SCRIPT, PAGE_STYLE};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Answers with fewer node visits are computed without a separate thread.
const AT_ONCE: u128 = 500_000;
const ROUTES: &str = "/ /page.css /page.js /api/health /api/model /api/page /api/rows /api/figure /api/words /api/explain \
                      /api/ask /api/openapi.json /metrics";

/// What can be served: a circuit, or a model of raw columns.
pub trait Served: Send + Sync + Sized + 'static {
    /// What a request may cost.
    fn limits(&self) -> &ServerLimits;
    /// The OpenAPI description of its API.
    fn description(&self) -> Value;
    /// The routes specific to it.
    fn routes() -> Router<Arc<App<Self>>>;
    /// Frees memory that it can do without.
    fn forget(&self) {}
}

/// What all requests share.
pub struct App<S = Site> {
    pub(crate) site: S,
    pub(crate) metrics: Metrics,
    pub(crate) memory: Arc<Memory>,
    /// The OpenAPI description.
    description: Arc<str>,
    access: Access,
    workers: Arc<Semaphore>,
    /// The requests that compute, and those that wait to.
    admitted: Arc<Semaphore>,
}

type Shared = State<Arc<App>>;
pub(crate) type Options = Result<Query<Vec<(String, String)>>, QueryRejection>;

impl<S: Served> App<S> {
    pub(crate) fn new(site: S, access: Access) -> Self {
        let workers = site.limits().workers.max(1);
        App {
            memory: Arc::new(Memory::new(site.limits())),
            description: site.description().to_string().into(),
            site,
            metrics: Metrics::default(),
            access,
            workers: Arc::new(Semaphore::new(workers)),
            admitted: Arc::new(Semaphore::new(9 * workers)),
        }
    }
}

/// The routes of a site, for a test or a custom server; [`Server`](crate::Server) adds limits on connections.
pub fn app(site: impl Served, access: Access) -> Router {
    routes(Arc::new(App::new(site, access)))
}

impl Served for Site {
    fn limits(&self) -> &ServerLimits {
        &self.limits
    }

    fn description(&self) -> Value {
        openapi::document(self)
    }

    fn forget(&self) {
        self.report.forget_pages();
    }

    fn routes() -> Router<Arc<App>> {
        let style = || async { ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], PAGE_STYLE) };
        let script = || async { ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], PAGE_SCRIPT) };
        Router::new()
            .route("/", get(page))
            .route("/page.css", get(style))
            .route("/page.js", get(script))
            .route("/api/model", get(model))
            .route("/api/page", get(page_data))
            .route("/api/rows", get(rows))
            .route("/api/figure", get(figure))
            .route("/api/words", post(words))
            .route("/api/explain", post(explain))
            .route("/api/ask", post(ask))
    }
}

pub(crate) fn routes<S: Served>(app: Arc<App<S>>) -> Router {
    type Shared<S> = State<Arc<App<S>>>;
    S::routes()
        .route("/api/health", get(|| async { axum::Json(json!({"status": "ok"})) }))
        .route(
            "/api/openapi.json",
            get(|State(app): Shared<S>| async move { kept("application/json", app.description.clone()) }),
        )
        .route("/metrics", get(metrics::<S>))
        .fallback(|uri: Uri| async move {
            ApiError::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
        })
        .method_not_allowed_fallback(|method: Method, uri: Uri| async move {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
        })
        .layer(middleware::from_fn_with_state(app.clone(), at_the_door::<S>))
        .with_state(app)
}

/// Checks admission, adds the headers of every answer, and counts it.
async fn at_the_door<S: Served>(State(app): State<Arc<App<S>>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .and_then(|path| ROUTES.split(' ').find(|route| *route == path.as_str()));
    let mut response = match app.access.admit(request.method(), request.uri(), request.headers()) {
        Some(answer) => answer,
        None => next.run(request).await,
    };
    guard::protect(&mut response);
    app.metrics.answered(route.unwrap_or("other"), response.status().as_u16(), begin.elapsed().as_secs_f64());
    response
}

/// Computes small answers here, and others in a separate thread.
pub(crate) async fn compute<S: Served, T: Send + 'static>(
    app: Arc<App<S>>,
    visits: u128,
    work: impl FnOnce(&App<S>, &Watch<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let broken = || ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "this is a defect of boolshap: please report it");
    let limit = app.site.limits().time;
    if visits <= AT_ONCE {
        let watch = Watch::unlimited().timeout(limit);
        return catch_unwind(AssertUnwindSafe(|| work(&app, &watch))).unwrap_or_else(|_| Err(broken()));
    }
    let busy = || ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy: try again");
    let admitted = app.admitted.clone().try_acquire_owned().map_err(|_| busy())?;
    let waited = tokio::time::timeout(limit, app.workers.clone().acquire_owned()).await;
    let worker = waited.map_err(|_| busy())?.map_err(|_| busy())?;
    // Set when the client has disconnected, or the time is over.
    let abandoned = Abandoned(Arc::new(AtomicBool::new(false)));
    let stop = abandoned.0.clone();
    let computing = tokio::task::spawn_blocking(move || {
        let computing = app.metrics.computing.count();
        app.memory.wake();
        let watch = Watch::unlimited().stop_flag(&stop).memory_flag(&app.memory.is_full).timeout(limit);
        let result = catch_unwind(AssertUnwindSafe(|| work(&app, &watch)));
        // Released only when the work has ended, even without a client.
        drop((computing, admitted, worker));
        result.unwrap_or_else(|_| Err(broken()))
    });
    // The work checks its own time limit; this one is for the parts that cannot.
    match tokio::time::timeout(limit.saturating_add(Duration::from_secs(1)), computing).await {
        Ok(done) => done.map_err(|_| broken())?,
        Err(_) => Err(Stopped::OutOfTime { limit }.into()),
    }
}

/// Stops the work when the task that waits for it is dropped.
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

async fn page(State(app): Shared) -> Result<Response, ApiError> {
    let html = compute(app, u128::MAX, |app, watch| Ok(app.site.report.html(watch)?)).await?;
    Ok(kept("text/html; charset=utf-8", html))
}

/// An answer that the site keeps.
fn kept(kind: &'static str, text: Arc<str>) -> Response {
    ([(header::CONTENT_TYPE, kind)], Bytes::from_owner(Arc::<[u8]>::from(text))).into_response()
}

async fn metrics<S: Served>(State(app): State<Arc<App<S>>>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.metrics.text()).into_response()
}

async fn model(State(app): Shared) -> axum::Json<Value> {
    axum::Json(desk::model(&app.site))
}

/// The options of a query; each must be known and occur once.
pub(crate) fn options(given: Options, known: &[&str]) -> Result<HashMap<String, String>, ApiError> {
    let Query(given) = given.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    desk::options(given, known)
}

async fn page_data(State(app): Shared, given: Options) -> Result<Response, ApiError> {
    let choice = page_choice(&app.site, &options(given, &ROWS_QUERY[..3])?)?;
    let data = compute(app, u128::MAX, move |app, watch| Ok(app.site.report.page(choice, watch)?)).await?;
    Ok(kept("application/json", data))
}

async fn rows(State(app): Shared, given: Options) -> Result<Response, ApiError> {
    let question = RowsQuestion::new(&app.site, &options(given, &ROWS_QUERY)?)?;
    let found = compute(app.clone(), u128::MAX, move |app, watch| question.answer(&app.site, watch)).await?;
    let body = whole_body(found.into(), Share::new(&app.memory))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Draws a figure on request.
async fn figure(State(app): Shared, given: Options) -> Result<Response, ApiError> {
    let question = FigureQuestion::new(&app.site, &options(given, &FIGURE_QUERY)?)?;
    let drawn = compute(app.clone(), u128::MAX, move |app, watch| question.answer(&app.site, watch)).await?;
    let body = whole_body(drawn.into(), Share::new(&app.memory))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The descriptions of entities in words, which go with their scores; the body is that of a request for explanations.
async fn words(State(app): Shared, given: Options, request: Request) -> Result<Response, ApiError> {
    options(given, &[])?;
    sends_arrow(request.headers())?;
    let (body, mut share) = read_body(&app, request.into_body()).await?;
    let reading = if body.len() > 1 << 16 { u128::MAX } else { 0 };
    share.resize(2 * body.len())?;
    let work = move |app: &App, _: &Watch<'_>| ExplainQuestion::of_json(&app.site, &body);
    let question = compute(app.clone(), reading, work).await?;
    share.resize(question.cost(&app.site)?)?;
    let visits = app.site.menu(question.beside).explainer(question.game)?.visits(question.ask).unwrap_or(u128::MAX);
    let visits = visits.saturating_mul(question.entities.rows() as u128);
    let said = compute(app.clone(), visits, move |app, watch| desk::said(&app.site, &question, watch));
    let body = whole_body(said.await?.into(), share)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn explain(State(app): Shared, given: Options, request: Request) -> Result<Response, ApiError> {
    let from_arrow = sends_arrow(request.headers())?;
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let to_arrow = accepted.split([';', ',']).any(|part| part.trim().eq_ignore_ascii_case(ARROW));
    let options = options(given, if from_arrow { &SETTINGS } else { &[] })?;
    let (body, mut share) = read_body(&app, request.into_body()).await?;
    // A large body takes time to read as well, and about as much memory again.
    let reading = if body.len() > 1 << 16 { u128::MAX } else { 0 };
    share.resize(2 * body.len())?;
    let work = move |app: &App, _: &Watch<'_>| match from_arrow {
        true => ExplainQuestion::of_arrow(&app.site, &body, &options),
        false => ExplainQuestion::of_json(&app.site, &body),
    };
    let question = compute(app.clone(), reading, work).await?;
    share.resize(question.cost(&app.site)?)?;
    let rows = question.entities.rows();
    let menu = app.site.menu(question.beside);
    let visits = menu.explainer(question.game)?.visits(question.ask).unwrap_or(u128::MAX);
    let flips = if question.flips { menu.flip_visits() } else { 0 };
    let visits = visits.saturating_add(flips).saturating_mul(rows as u128);
    let answered = compute(app.clone(), visits, move |app, watch| {
        let answer = Answer::new(&app.site, &question, watch)?;
        let bytes = answer.bytes();
        let (kind, body) = match to_arrow {
            true => (ARROW, body_of_pieces(answer.arrow(), share, bytes)?),
            false => ("application/json", body_of_pieces(answer.json().map(Ok), share, bytes)?),
        };
        Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
    });
    let response = answered.await?;
    app.metrics.entities.fetch_add(rows as u64, Relaxed);
    Ok(response)
}

async fn ask(State(app): Shared, given: Options, request: Request) -> Result<Response, ApiError> {
    if sends_arrow(request.headers())? {
        let message = "Content-Type: application/json is expected";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    options(given, &[])?;
    let (body, mut share) = read_body(&app, request.into_body()).await?;
    let reading = if body.len() > 1 << 16 { u128::MAX } else { 0 };
    share.resize(AskedQuestion::reading_cost(body.len()))?;
    let question = compute(app.clone(), reading, move |app, _| AskedQuestion::of_json(&app.site, &body)).await?;
    share.resize(question.cost(&app.site)?)?;
    let (visits, rows) = (question.visits(&app.site), question.rows());
    let body = compute(app.clone(), visits, move |app, watch| {
        let before = share.bytes();
        let text = question.answer(&app.site, watch, |bytes| share.resize(before + bytes))?;
        whole_body(text.into_bytes(), share)
    });
    let body = body.await?;
    app.metrics.entities.fetch_add(rows as u64, Relaxed);
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}
