//! Counters for Prometheus.

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram};
use prometheus_client::registry::Registry;

/// What is counted.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    pub(crate) entities: Counter,
    pub(crate) computing: Gauge,
    pub(crate) connections: Gauge,
    seconds: Histogram,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    route: &'static str,
    status: u16,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let (requests, entities) = (Family::<Request, Counter>::default(), Counter::default());
        let (computing, connections) = (Gauge::default(), Gauge::default());
        let seconds = Histogram::new([1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]);
        let mut registry = Registry::with_prefix("boolshap");
        registry.register("requests", "Requests answered, by route and status", requests.clone());
        registry.register("entities", "Entities explained", entities.clone());
        registry.register("computing", "Requests that compute right now on threads of their own", computing.clone());
        registry.register("connections", "Open connections", connections.clone());
        registry.register("explain_seconds", "Time for a request to /api/explain", seconds.clone());
        Metrics { registry, requests, entities, computing, connections, seconds }
    }

    pub(crate) fn answered(&self, route: &'static str, status: u16, seconds: f64) {
        self.requests.get_or_create(&Request { route, status }).inc();
        if route == "/api/explain" {
            self.seconds.observe(seconds);
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a text takes everything");
        text
    }
}
