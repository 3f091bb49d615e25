//! What is served, and what a request for it may cost.

use boolshap::lit::Watch;
use boolshap::report::{Beside, Carried, LiveReport, Rows};
use boolshap::workflow::Menu;
use boolshap::{Error, Model, NamedCircuit, Request};
use std::sync::Arc;
use std::time::Duration;

/// The memory that a connection has without reserving it: its buffers, and a small request with its answer.
pub(crate) const CONNECTION: usize = 64 << 10;

/// What a request may cost.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Entities of a request.
    pub rows: usize,
    /// Numbers of an answer; larger answers are refused.
    pub numbers: usize,
    /// Time for a request.
    pub time: Duration,
    /// Requests that compute at the same time; up to eight times as many may wait.
    pub workers: usize,
    /// Open connections.
    pub connections: usize,
    /// Bytes that the process may hold, if they are limited.
    pub memory: Option<u64>,
}

impl Default for ServerLimits {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        ServerLimits {
            body_bytes: 16 << 20,
            rows: 100_000,
            numbers: 1 << 25,
            time: Duration::from_secs(30),
            workers,
            connections: 1024,
            memory: None,
        }
    }
}

impl ServerLimits {
    /// The same, with only as many connections as the memory allows: they may have a quarter of it.
    pub(crate) fn within_memory(mut self) -> Self {
        if let Some(memory) = self.memory {
            self.connections = self.connections.min(usize::try_from(memory / 4).unwrap_or(usize::MAX) / CONNECTION);
        }
        self
    }
}

/// A circuit to be served.
pub struct Site {
    pub(crate) report: LiveReport,
    pub(crate) limits: ServerLimits,
    /// The network that certificates are about, if available.
    pub(crate) model: Option<Model>,
}

impl Site {
    /// A site on which the requested game is shown first. That game is prepared here.
    pub fn new(
        circuit: Arc<NamedCircuit>,
        rows: Rows,
        request: &Request,
        limits: ServerLimits,
        watch: &Watch<'_>,
    ) -> Result<Self, Error> {
        let report = LiveReport::new(circuit, rows, request, watch)?;
        Ok(Site { report, limits: limits.within_memory(), model: None })
    }

    /// The site of a page that carries its circuit: nothing is prepared.
    pub fn of_carried(circuit: Arc<NamedCircuit>, carried: Carried) -> Result<Self, Error> {
        Ok(Site { report: LiveReport::of_carried(circuit, carried)?, limits: ServerLimits::default(), model: None })
    }

    /// The live report.
    pub fn report(&self) -> &LiveReport {
        &self.report
    }

    /// The same with the compiled network, so that certificates can hold proofs about it.
    pub fn about(mut self, model: Option<Model>) -> Result<Self, Error> {
        if model.as_ref().is_some_and(|model| model.features != self.circuit().features) {
            return Err(Error::input("the features of the model are not those of the circuit"));
        }
        self.model = model;
        Ok(self)
    }

    /// The same with a page that opens with this request's game; the defaults of the API stay as they were.
    pub fn opening_with(mut self, request: &Request) -> Result<Self, Error> {
        self.report.open_with(request)?;
        Ok(self)
    }

    /// The same with a second model to compare with.
    pub fn beside(mut self, beside: Option<Beside>) -> Self {
        beside.into_iter().for_each(|beside| self.report.put_beside(beside));
        self
    }

    /// The games of the model that is shown, or of the one beside it.
    pub(crate) fn menu(&self, is_beside: bool) -> &Menu {
        let own = self.report.menu();
        self.report.beside().filter(|_| is_beside).map_or(own, Beside::menu)
    }

    pub(crate) fn circuit(&self) -> &NamedCircuit {
        self.report.menu().circuit()
    }
}
