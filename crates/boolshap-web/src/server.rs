//! Listens, serves each connection within its limits, and shuts down gracefully: accepted requests are answered.

use crate::connections::{Connections, Place, WatchedBody};
use crate::guard::Access;
use crate::memory::Memory;
use crate::patience::PatientStream;
use crate::routes::{App, Served, routes};
use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// A client may take this long to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// The most bytes of a head, and of an answer on its way to the system.
const BUFFER: usize = 32 << 10;
/// The queue of connections to accept: with a shorter one, many clients at once would have to retry after a second.
const BACKLOG: i32 = 4096;
/// How long to wait for tasks to end or files to be closed.
const PAUSE: Duration = Duration::from_millis(1);
/// How long requests under way may take when the server is asked to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(4);

/// Why a server could not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines could reach it without a token.
    #[error("{address} can be reached from other machines: a token is needed (--token or --token-file)")]
    TokenNeeded {
        /// The address to listen on.
        address: SocketAddr,
    },
    /// The limit of memory is reached before the first request.
    #[error("the limit of memory leaves no room for requests: {} MiB at least are needed (--max-memory)", needed >> 20)]
    NoMemory {
        /// The least memory that is needed, in bytes.
        needed: u64,
    },
    /// The system refused.
    #[error("{address}: {source}")]
    Io {
        /// The address to listen on.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// A server that listens, but does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
}

impl Server {
    /// Begins to listen; an address that others can reach needs a token.
    pub fn bind(address: SocketAddr, access: Access) -> Result<Self, ServeError> {
        if matches!(access, Access::Loopback) && !address.ip().is_loopback() {
            return Err(ServeError::TokenNeeded { address });
        }
        let refused = |source| ServeError::Io { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        socket2::SockRef::from(&listener).listen(BACKLOG).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Server { listener, address, access })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until SIGTERM comes; returns whether all requests then under way could be answered.
    pub fn run(self, site: impl Served) -> Result<bool, ServeError> {
        let address = self.address;
        let refused = |source| ServeError::Io { address, source };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(site.limits().workers.max(1)).enable_all().build().map_err(refused)?;
        let app = Arc::new(App::new(site, self.access.clone()));
        app.memory.check().map_err(|needed| ServeError::NoMemory { needed })?;
        Memory::watch(&app);
        let all_answered = runtime
            .block_on(async {
                let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
                self.serve(app, async move { end.recv().await.unwrap_or(()) }).await
            })
            .map_err(refused)?;
        // Work without a client is abandoned.
        runtime.shutdown_background();
        Ok(all_answered)
    }

    async fn serve<S: Served>(self, app: Arc<App<S>>, end: impl Future<Output = ()>) -> io::Result<bool> {
        let connections = Connections::new(app.site.limits().connections);
        let service = TowerToHyperService::new(routes(app.clone()));
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let under_way = GracefulShutdown::new();
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut end => break,
            };
            let Ok((stream, peer)) = accepted else {
                // Too many open files, or a client that went away at once.
                connections.make_room();
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let place = loop {
                match connections.enter(peer.ip()) {
                    Some(place) => break place,
                    // Closed connections have to end first, and new ones have a grace period.
                    None => connections.freed(PAUSE).await,
                }
            };
            let (number, app) = (place.number(), app.clone());
            let connection = under_way.watch(connection(stream, place, service.clone()));
            let task = tokio::spawn(async move {
                let _open = app.metrics.connections.count();
                // A connection that breaks is the client's affair.
                let _ = connection.await;
            });
            connections.served_by(number, task.abort_handle());
        }
        drop(listener);
        Ok(tokio::time::timeout(LAST_ANSWERS, under_way.shutdown()).await.is_ok())
    }
}

/// Serves one connection.
fn connection(
    stream: TcpStream,
    place: Place,
    routes: TowerToHyperService<Router>,
) -> impl GracefulConnection<Error = hyper::Error> + Send {
    // Answers are small, and a client waits for each.
    let _ = stream.set_nodelay(true);
    let place = Arc::new(place);
    let stream = PatientStream::new(stream, place.clone());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let place = place.clone();
        place.works();
        let answer = routes.call(request.map(|body| WatchedBody::new(body, place.clone())));
        async move {
            let answer = answer.await;
            place.waits(place.now());
            answer
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(BUFFER);
    builder.serve_connection(TokioIo::new(stream), service)
}
