//! Figures for operators, in the text form of Prometheus.

use crate::runtime::ClusterCounts;
use crate::runtime::couch_counters::CouchCounters;
use crate::runtime::recent_durations::RecentDurations;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Upper ends of the buckets of durations, in seconds: from an answer out of memory to one that waits for an index.
const BUCKETS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 60.0,
];

/// Figures that are known only when they are asked for.
pub(crate) struct ServerFigures {
    pub(crate) uptime: Duration,
    pub(crate) open_databases: usize,
    pub(crate) password_checks: u64,
    /// Of a server with a shared store.
    pub(crate) cluster: Option<ClusterFigures>,
}

/// Figures of a server among those of its store.
pub(crate) struct ClusterFigures {
    /// Live servers, with this one.
    pub(crate) nodes: usize,
    /// Open databases that this server writes.
    pub(crate) written_databases: usize,
    /// Longest time since a followed copy was known to be current.
    pub(crate) lag: Duration,
    pub(crate) counts: ClusterCounts,
}

/// Figures of the servers of a store; zero without one.
#[derive(Default)]
struct ClusterMetrics {
    nodes: Gauge,
    written_databases: Gauge,
    lag: Gauge<f64, AtomicU64>,
    forwarded: Counter,
    checked_reads: Counter,
    unchecked_reads: Counter,
}

impl ClusterMetrics {
    fn register(&self, registry: &mut Registry) {
        let nodes = "Live servers of the shared store";
        registry.register("cluster_nodes", nodes, self.nodes.clone());
        let written = "Open databases of the shared store that this server writes";
        registry.register("written_databases", written, self.written_databases.clone());
        let lag = "Longest time since a followed database was known to be current, in seconds";
        registry.register("followed_lag_seconds", lag, self.lag.clone());
        let forwarded = "Requests that were forwarded to other servers of the store";
        registry.register("forwarded_requests", forwarded, self.forwarded.clone());
        let checked =
            "Reads of databases for which the store was asked whether the copy is current";
        registry.register("checked_reads", checked, self.checked_reads.clone());
        let unchecked = "Reads of databases that needed no request to the store";
        registry.register("unchecked_reads", unchecked, self.unchecked_reads.clone());
    }

    fn set(&self, figures: &ClusterFigures) {
        let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.nodes.set(gauge(figures.nodes));
        self.written_databases.set(gauge(figures.written_databases));
        self.lag.set(figures.lag.as_secs_f64());
        let counts = [
            (&self.forwarded, figures.counts.forwarded),
            (&self.checked_reads, figures.counts.checked_reads),
            (&self.unchecked_reads, figures.counts.unchecked_reads),
        ];
        for (counter, count) in counts {
            counter.inner().store(count, Ordering::Relaxed);
        }
    }
}

/// Counts of copies of indexes in a shared store; zero without one.
#[derive(Default)]
pub(crate) struct IndexCopyCounters {
    /// Indexes that were fetched and not built.
    pub(crate) fetched: Counter,
    /// Their bytes.
    pub(crate) fetched_bytes: Counter,
    /// Bytes that were sent, without those that the store had.
    pub(crate) stored_bytes: Counter,
}

impl IndexCopyCounters {
    fn register(&self, registry: &mut Registry) {
        let fetched = "View indexes that were fetched from the shared store and not built";
        registry.register("fetched_indexes", fetched, self.fetched.clone());
        let bytes = "Bytes of view indexes that were fetched from the shared store";
        registry.register("fetched_index_bytes", bytes, self.fetched_bytes.clone());
        let bytes = "Bytes of view indexes that were sent to the shared store";
        registry.register("stored_index_bytes", bytes, self.stored_bytes.clone());
    }
}

/// The metrics of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    /// By method, in the order of [`METHODS`], and all others.
    couch_methods: ([Counter; METHODS.len()], Counter),
    hg_durations: Histogram,
    couch_durations: Histogram,
    connections: Gauge,
    /// Changes that feeds have looked at, whether or not they showed them.
    pub(crate) feed_changes: Counter,
    /// Bytes that were removed from a shared store because nothing could need them.
    pub(crate) collected_bytes: Counter,
    pub(crate) index_copies: IndexCopyCounters,
    /// Seconds since the start.
    uptime: Gauge<f64, AtomicU64>,
    open_databases: Gauge,
    password_checks: Counter,
    cluster: ClusterMetrics,
    pub(crate) couch: CouchCounters,
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
        let buckets = || Histogram::new(BUCKETS);
        let durations = Family::<DurationLabels, Histogram>::new_with_constructor(buckets);
        let connections = Gauge::default();
        let methods = Family::<MethodLabels, Counter>::default();
        let count = "Answered requests by half and status";
        registry.register("http_requests", count, requests.clone());
        let by_method = "Answered requests to databases and the server itself by method";
        registry.register("couch_requests", by_method, methods.clone());
        let of_method = |method| methods.get_or_create(&MethodLabels { method }).clone();
        let of_half = |half| durations.get_or_create(&DurationLabels { half }).clone();
        let time = "Seconds from a request's head to the head of its answer";
        registry.register("http_request_duration_seconds", time, durations.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        let feed_changes = Counter::default();
        let changes = "Changes that feeds have looked at, whether or not they showed them";
        registry.register("feed_changes", changes, feed_changes.clone());
        let collected_bytes = Counter::default();
        let collected = "Bytes of the shared store that nothing could need and this server removed";
        registry.register("collected_bytes", collected, collected_bytes.clone());
        let index_copies = IndexCopyCounters::default();
        index_copies.register(&mut registry);
        let (uptime, open_databases) = (Gauge::<f64, AtomicU64>::default(), Gauge::default());
        registry.register("uptime_seconds", "Seconds since the start", uptime.clone());
        let open = "Databases whose files are open";
        registry.register("open_databases", open, open_databases.clone());
        let password_checks = Counter::default();
        let checks = "Logins whose password was checked by deriving its key";
        registry.register("password_checks", checks, password_checks.clone());
        let cluster = ClusterMetrics::default();
        cluster.register(&mut registry);
        let couch = CouchCounters::default();
        couch.register(&mut registry);
        Metrics {
            registry,
            couch,
            feed_changes,
            collected_bytes,
            index_copies,
            requests,
            couch_methods: (METHODS.map(of_method), of_method(OTHER_METHOD)),
            hg_durations: of_half(Half::Hg),
            couch_durations: of_half(Half::Couch),
            connections,
            uptime,
            open_databases,
            password_checks,
            cluster,
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
        let durations = match half {
            Half::Hg => &self.hg_durations,
            Half::Couch => {
                self.couch_method(method).inc();
                self.recent.record(duration);
                &self.couch_durations
            }
        };
        durations.observe(duration.as_secs_f64());
        self.requests
            .get_or_create(&RequestLabels { half, status })
            .inc();
    }

    fn couch_method(&self, method: &str) -> &Counter {
        let (known, other) = &self.couch_methods;
        let mut named = METHODS.iter().zip(known);
        let found = named.find(|(known, _)| **known == method);
        found.map_or(other, |(_, counter)| counter)
    }

    /// Answered requests to databases and the server itself with this method of [`METHODS`].
    pub(crate) fn couch_requests_by(&self, method: &str) -> u64 {
        self.couch_method(method).get()
    }

    /// Answered requests to databases and the server itself.
    pub(crate) fn couch_requests(&self) -> u64 {
        let (known, other) = &self.couch_methods;
        known
            .iter()
            .chain([other])
            .map(|counter| counter.get())
            .sum()
    }

    /// Those that were answered with this status.
    pub(crate) fn couch_answers_with(&self, status: u16) -> u64 {
        let half = Half::Couch;
        let counter = self.requests.get(&RequestLabels { half, status });
        counter.map_or(0, |counter| counter.get())
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn count_connection(&self) -> Occupancy {
        Occupancy::of(&self.connections)
    }

    pub(crate) fn set_figures(&self, figures: ServerFigures) {
        self.uptime.set(figures.uptime.as_secs_f64());
        let open = i64::try_from(figures.open_databases).unwrap_or(i64::MAX);
        self.open_databases.set(open);
        let checks = self.password_checks.inner();
        checks.store(figures.password_checks, Ordering::Relaxed);
        if let Some(figures) = &figures.cluster {
            self.cluster.set(figures);
        }
    }

    /// All of it as text in the form of OpenMetrics.
    pub(crate) fn encode(&self) -> String {
        let mut encoded = String::new();
        // Writing into a string cannot fail.
        let _ = text::encode(&mut encoded, &self.registry);
        encoded
    }
}

/// OpenMetrics as Prometheus' older text form: a counter has the name of its samples there, and nothing marks the end.
pub(crate) fn prometheus_text(open_metrics: &str) -> String {
    let counters: HashSet<&str> = open_metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        let described = ["# HELP ", "# TYPE "]
            .into_iter()
            .find_map(|mark| Some((mark, line.strip_prefix(mark)?.split_once(' ')?)));
        match described {
            Some((mark, (name, rest))) if counters.contains(name) => {
                text.push_str(&format!("{mark}{name}_total {rest}\n"));
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// One of those that a gauge counts.
#[derive(Debug)]
pub(crate) struct Occupancy(Gauge);

impl Occupancy {
    pub(crate) fn of(gauge: &Gauge) -> Occupancy {
        gauge.inc();
        Occupancy(gauge.clone())
    }
}

impl Drop for Occupancy {
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
            "varve_http_request_duration_seconds_bucket{le=\"0.0025\",half=\"Hg\"} 0",
            "varve_http_request_duration_seconds_bucket{le=\"0.005\",half=\"Hg\"} 1",
            "varve_http_request_duration_seconds_count{half=\"Hg\"} 2",
            "varve_http_connections 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
