//! Counters for Prometheus, written as text in the format OpenMetrics 1.0: for each family its help, its type and its
//! values, and a last line that says that nothing is missing.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Up to how many seconds each bucket of the histogram counts, and how that is written.
const BOUNDS: [(f64, &str); 8] = [
    (1e-5, "0.00001"),
    (1e-4, "0.0001"),
    (1e-3, "0.001"),
    (1e-2, "0.01"),
    (0.1, "0.1"),
    (1.0, "1.0"),
    (10.0, "10.0"),
    (f64::INFINITY, "+Inf"),
];

/// What is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    pub(crate) entities: Counter,
    pub(crate) computing: Gauge,
    pub(crate) connections: Gauge,
    seconds: Mutex<Seconds>,
}

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn inc_by(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }
}

/// A number that goes up and down.
#[derive(Default)]
pub(crate) struct Gauge(AtomicI64);

impl Gauge {
    pub(crate) fn inc(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(crate) fn dec(&self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A histogram of times: how many fell into each bucket, and their sum.
#[derive(Default)]
struct Seconds {
    buckets: [u64; BOUNDS.len()],
    sum: f64,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn answered(&self, route: &'static str, status: u16, seconds: f64) {
        *locked(&self.requests).entry((route, status)).or_default() += 1;
        if route == "/api/explain" {
            let mut histogram = locked(&self.seconds);
            histogram.buckets[BOUNDS.partition_point(|(bound, _)| *bound < seconds)] += 1;
            histogram.sum += seconds;
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = Text::default();
        text.family("requests", "counter", "Requests answered, by route and status.");
        for ((route, status), count) in &*locked(&self.requests) {
            // Routes are constants of this program and need no escaping.
            text.value(&format!("requests_total{{route=\"{route}\",status=\"{status}\"}}"), count);
        }
        text.family("entities", "counter", "Entities explained.");
        text.value("entities_total", self.entities.0.load(Relaxed));
        text.family("computing", "gauge", "Requests that compute right now on threads of their own.");
        text.value("computing", self.computing.0.load(Relaxed));
        text.family("connections", "gauge", "Open connections.");
        text.value("connections", self.connections.0.load(Relaxed));
        text.family("explain_seconds", "histogram", "Time for a request to /api/explain.");
        locked(&self.seconds).write(&mut text);
        text.0 + "# EOF\n"
    }
}

impl Seconds {
    fn write(&self, text: &mut Text) {
        text.value("explain_seconds_sum", format_args!("{:?}", self.sum));
        text.value("explain_seconds_count", self.buckets.iter().sum::<u64>());
        let mut below = 0;
        for ((_, bound), count) in BOUNDS.iter().zip(self.buckets) {
            below += count;
            text.value(&format!("explain_seconds_bucket{{le=\"{bound}\"}}"), below);
        }
    }
}

/// The text under way.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# HELP boolshap_{name} {help}\n# TYPE boolshap_{name} {kind}")
            .expect("a text takes everything");
    }

    fn value(&mut self, name: &str, value: impl Display) {
        writeln!(self.0, "boolshap_{name} {value}").expect("a text takes everything");
    }
}

/// Counters stay usable where a thread has panicked while it counted.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_open_metrics() {
        let metrics = Metrics::new();
        for (route, status, seconds) in
            [("/api/explain", 200, 0.25), ("/api/explain", 200, 0.001), ("/api/explain", 400, 50.0), ("/", 200, 1.0)]
        {
            metrics.answered(route, status, seconds);
        }
        metrics.entities.inc_by(7);
        metrics.computing.inc();
        metrics.connections.inc();
        metrics.computing.dec();
        let expected = "\
# HELP boolshap_requests Requests answered, by route and status.
# TYPE boolshap_requests counter
boolshap_requests_total{route=\"/\",status=\"200\"} 1
boolshap_requests_total{route=\"/api/explain\",status=\"200\"} 2
boolshap_requests_total{route=\"/api/explain\",status=\"400\"} 1
# HELP boolshap_entities Entities explained.
# TYPE boolshap_entities counter
boolshap_entities_total 7
# HELP boolshap_computing Requests that compute right now on threads of their own.
# TYPE boolshap_computing gauge
boolshap_computing 0
# HELP boolshap_connections Open connections.
# TYPE boolshap_connections gauge
boolshap_connections 1
# HELP boolshap_explain_seconds Time for a request to /api/explain.
# TYPE boolshap_explain_seconds histogram
boolshap_explain_seconds_sum 50.251
boolshap_explain_seconds_count 3
boolshap_explain_seconds_bucket{le=\"0.00001\"} 0
boolshap_explain_seconds_bucket{le=\"0.0001\"} 0
boolshap_explain_seconds_bucket{le=\"0.001\"} 1
boolshap_explain_seconds_bucket{le=\"0.01\"} 1
boolshap_explain_seconds_bucket{le=\"0.1\"} 1
boolshap_explain_seconds_bucket{le=\"1.0\"} 2
boolshap_explain_seconds_bucket{le=\"10.0\"} 2
boolshap_explain_seconds_bucket{le=\"+Inf\"} 3
# EOF
";
        assert_eq!(metrics.text(), expected);
    }
}
