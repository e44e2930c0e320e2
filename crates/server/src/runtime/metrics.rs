//! Figures for operators, in the text form of Prometheus.

use crate::runtime::recent_durations::RecentDurations;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::fmt;
use std::time::Duration;

/// Which half of the server a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Half {
    /// Repositories.
    Hg,
    /// Databases, and the server itself.
    Couch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    half: Half,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    half: Half,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    method: &'static str,
}

/// Methods that are counted by name. Others are as many as clients make up, so they are counted together.
pub(crate) const METHODS: [&str; 7] = ["COPY", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
const OTHER_METHOD: &str = "other";

/// The metrics of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    couch_methods: Family<MethodLabels, Counter>,
    durations: Family<DurationLabels, Histogram>,
    connections: Gauge,
    /// Changes that feeds have looked at, whether or not they showed them.
    pub(crate) feed_changes: Counter,
    /// Of requests to databases and the server itself.
    pub(crate) recent: RecentDurations,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("varve");
        let requests = Family::<RequestLabels, Counter>::default();
        // From 0.1 ms to 26 s, each bucket four times as wide as the one before.
        let buckets = || Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        let durations = Family::<DurationLabels, Histogram>::new_with_constructor(buckets);
        let connections = Gauge::default();
        let couch_methods = Family::<MethodLabels, Counter>::default();
        let count = "RequestLabels requests by half and status";
        registry.register("http_requests", count, requests.clone());
        let methods = "RequestLabels requests to databases and the server itself by method";
        registry.register("couch_requests", methods, couch_methods.clone());
        let time = "Seconds from a request's head to the head of its answer";
        registry.register("http_request_duration_seconds", time, durations.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        let feed_changes = Counter::default();
        let changes = "Changes that feeds have looked at, whether or not they showed them";
        registry.register("feed_changes", changes, feed_changes.clone());
        Metrics {
            registry,
            feed_changes,
            requests,
            couch_methods,
            durations,
            connections,
            recent: RecentDurations::default(),
        }
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn count_request(
        &self,
        (half, method): (Half, &str),
        status: u16,
        duration: Duration,
    ) {
        if half == Half::Couch {
            let known = METHODS.into_iter().find(|known| *known == method);
            let method = known.unwrap_or(OTHER_METHOD);
            self.couch_methods
                .get_or_create(&MethodLabels { method })
                .inc();
            self.recent.record(duration);
        }
        self.requests
            .get_or_create(&RequestLabels { half, status })
            .inc();
        let durations = self.durations.get_or_create(&DurationLabels { half });
        durations.observe(duration.as_secs_f64());
    }

    /// RequestLabels requests to databases and the server itself with this method of [`METHODS`].
    pub(crate) fn couch_requests_by(&self, method: &'static str) -> u64 {
        let counter = self.couch_methods.get(&MethodLabels { method });
        counter.map_or(0, |counter| counter.get())
    }

    /// RequestLabels requests to databases and the server itself.
    pub(crate) fn couch_requests(&self) -> u64 {
        let methods = METHODS.into_iter().chain([OTHER_METHOD]);
        methods.map(|method| self.couch_requests_by(method)).sum()
    }

    /// Those that were answered with this status.
    pub(crate) fn couch_answers_with(&self, status: u16) -> u64 {
        let half = Half::Couch;
        let counter = self.requests.get(&RequestLabels { half, status });
        counter.map_or(0, |counter| counter.get())
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn count_connection(&self) -> OpenConnection {
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }

    /// All of it as text.
    pub(crate) fn encode(&self) -> String {
        let mut encoded = String::new();
        // Writing into a string cannot fail.
        let _ = text::encode(&mut encoded, &self.registry);
        encoded
    }
}

/// One open connection.
#[derive(Debug)]
pub(crate) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_half_and_status() {
        let metrics = Metrics::default();
        metrics.count_request((Half::Hg, "GET"), 200, Duration::from_millis(3));
        metrics.count_request((Half::Hg, "GET"), 200, Duration::from_secs(100));
        metrics.count_request((Half::Couch, "PUT"), 404, Duration::ZERO);
        for made_up in ["A", "B"] {
            metrics.count_request((Half::Couch, made_up), 405, Duration::ZERO);
        }
        let _open = metrics.count_connection();
        drop(metrics.count_connection());
        assert_eq!(metrics.couch_requests(), 3);
        assert_eq!(
            METHODS.map(|method| metrics.couch_requests_by(method)),
            [0, 0, 0, 0, 0, 0, 1]
        );
        assert_eq!(
            [200, 404, 405].map(|status| metrics.couch_answers_with(status)),
            [0, 1, 2]
        );
        let text = metrics.encode();
        for line in [
            "varve_couch_requests_total{method=\"other\"} 2",
            "varve_http_requests_total{half=\"Hg\",status=\"200\"} 2",
            "varve_http_requests_total{half=\"Couch\",status=\"404\"} 1",
            "varve_http_request_duration_seconds_bucket{le=\"0.0064\",half=\"Hg\"} 1",
            "varve_http_request_duration_seconds_count{half=\"Hg\"} 2",
            "varve_http_connections 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
