//! Listens, keeps the number of connections within its limit, and ends in good order: what was accepted is answered.

use crate::guard::Access;
use crate::routes::{App, routes};
use crate::site::Site;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// A client may take this long to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// What is under way when the server is asked to stop may take this long.
const LAST_ANSWERS: Duration = Duration::from_secs(4);

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it, and nothing keeps them out.
    #[error("{address} can be reached from other machines: a token is needed (--token or --token-file)")]
    TokenNeeded {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("{address}: {source}")]
    Io {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system said.
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
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Server { listener, address, access })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until SIGTERM comes; whether all that was under way then could be answered.
    pub fn run(self, site: Site) -> Result<bool, ServeError> {
        let address = self.address;
        let refused = |source| ServeError::Io { address, source };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(site.limits.workers.max(1)).enable_all().build().map_err(refused)?;
        let all_answered = runtime
            .block_on(async {
                let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
                self.serve(site, async move { end.recv().await.unwrap_or(()) }).await
            })
            .map_err(refused)?;
        // Work without a client is not waited for.
        runtime.shutdown_background();
        Ok(all_answered)
    }

    async fn serve(self, site: Site, end: impl Future<Output = ()>) -> io::Result<bool> {
        let room = Arc::new(Semaphore::new(site.limits.connections));
        let app = Arc::new(App::new(site, self.access));
        let service = TowerToHyperService::new(routes(app.clone()));
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
        let under_way = GracefulShutdown::new();
        let mut end = std::pin::pin!(end);
        loop {
            let place = tokio::select! {
                place = room.clone().acquire_owned() => place.map_err(io::Error::other)?,
                () = &mut end => break,
            };
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // Too many open files, or a client that went away at once: others are still there.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    }
                },
                () = &mut end => break,
            };
            // Answers are small, and a client waits for each.
            let _ = stream.set_nodelay(true);
            let connection = under_way.watch(builder.serve_connection(TokioIo::new(stream), service.clone()));
            let app = app.clone();
            tokio::spawn(async move {
                let _open = app.metrics.connections.count();
                // A connection that breaks is the client's affair.
                let _ = connection.await;
                drop(place);
            });
        }
        drop(listener);
        Ok(tokio::time::timeout(LAST_ANSWERS, under_way.shutdown()).await.is_ok())
    }
}
