//! Counters for Prometheus, written as text in the format OpenMetrics 1.0: for each family its help, its type and its
//! values, and a last line that marks the end.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The upper bounds of the histogram's buckets in seconds, as they are written.
const BOUNDS: [&str; 8] = ["0.00001", "0.0001", "0.001", "0.01", "0.1", "1.0", "10.0", "+Inf"];

/// All counters.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    pub(crate) entities: AtomicU64,
    pub(crate) computing: Gauge,
    pub(crate) connections: Gauge,
    /// The times of requests for explanations: how many fell into each bucket, and their sum.
    seconds: Mutex<([u64; BOUNDS.len()], f64)>,
}

/// How many of something are under way now.
#[derive(Default)]
pub(crate) struct Gauge(AtomicU64);

/// One of those under way, until it is dropped.
pub(crate) struct Counted<'a>(&'a Gauge);

impl Gauge {
    pub(crate) fn count(&self) -> Counted<'_> {
        self.0.fetch_add(1, Relaxed);
        Counted(self)
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    pub(crate) fn answered(&self, route: &'static str, status: u16, seconds: f64) {
        *locked(&self.requests).entry((route, status)).or_default() += 1;
        if route == "/api/explain" {
            let (buckets, sum) = &mut *locked(&self.seconds);
            let is_below = |bound: &&&str| bound.parse().is_ok_and(|bound: f64| bound < seconds);
            buckets[BOUNDS.iter().take_while(is_below).count()] += 1;
            *sum += seconds;
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Routes are constants of this program and need no escaping.
        let request = |((route, status), count): (&(_, _), &u64)| {
            (format!("_total{{route=\"{route}\",status=\"{status}\"}}"), *count)
        };
        let requests: Vec<_> = locked(&self.requests).iter().map(request).collect();
        family(&mut text, "requests", "counter", "Requests answered, by route and status.", requests);
        let one = |name: &str, number: &AtomicU64| [(name.to_string(), number.load(Relaxed))];
        family(&mut text, "entities", "counter", "Entities explained.", one("_total", &self.entities));
        let computing = "Requests that compute right now on threads of their own.";
        family(&mut text, "computing", "gauge", computing, one("", &self.computing.0));
        family(&mut text, "connections", "gauge", "Open connections.", one("", &self.connections.0));
        let (buckets, sum) = *locked(&self.seconds);
        let mut values = vec![("_sum".to_string(), format!("{sum:?}"))];
        values.push(("_count".into(), buckets.iter().sum::<u64>().to_string()));
        for (place, bound) in BOUNDS.iter().enumerate() {
            let below: u64 = buckets[..=place].iter().sum();
            values.push((format!("_bucket{{le=\"{bound}\"}}"), below.to_string()));
        }
        family(&mut text, "explain_seconds", "histogram", "Time for a request to /api/explain.", values);
        text + "# EOF\n"
    }
}

/// Writes a family with its values; each comes with the text that follows the family's name.
fn family<V: Display>(
    text: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    values: impl IntoIterator<Item = (String, V)>,
) {
    let head = format!("# HELP boolshap_{name} {help}\n# TYPE boolshap_{name} {kind}\n");
    text.push_str(&head);
    for (rest, value) in values {
        writeln!(text, "boolshap_{name}{rest} {value}").expect("a text takes everything");
    }
}

/// Counters stay usable after a thread has panicked while counting.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_open_metrics() {
        let metrics = Metrics::default();
        for (route, status, seconds) in
            [("/api/explain", 200, 0.25), ("/api/explain", 200, 0.001), ("/api/explain", 400, 50.0), ("/", 200, 1.0)]
        {
            metrics.answered(route, status, seconds);
        }
        metrics.entities.fetch_add(7, Relaxed);
        drop(metrics.computing.count());
        let _open = metrics.connections.count();
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
