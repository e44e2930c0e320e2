//! `_stats`: counters of this server as a tree, in CouchDB's places, for the tools that watch a CouchDB.
//!
//! Only what this server counts is there: a zero for anything else would be taken for a measurement.

use crate::couch::admin::json;
use crate::runtime::metrics::{METHODS, Metrics};
use crate::runtime::recent_durations::Distribution;
use crate::{Answer, CouchContext, Failure};
use varve_json::{Number, Object, Value};

/// Statuses that CouchDB counts.
const STATUSES: [u16; 23] = [
    200, 201, 202, 204, 206, 301, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 416,
    417, 500, 501, 503,
];

/// Percentiles that CouchDB reports, by its names: the last is 99.9 %.
const PERCENTILES: [(u64, f64); 6] = [
    (50, 0.5),
    (75, 0.75),
    (90, 0.9),
    (95, 0.95),
    (99, 0.99),
    (999, 0.999),
];

/// The tree, or the part of it that a path leads to.
///
/// # Errors
/// 404 for a path to nothing.
pub(super) fn route(app: &CouchContext, path: &[&str]) -> Result<Answer, Failure> {
    let tree = Value::Object(tree(app));
    let mut part = &tree;
    for name in path.iter().filter(|name| !name.is_empty()) {
        let missing = || Failure::not_found("missing");
        part = part.get(name).ok_or_else(missing)?;
    }
    Ok(json(part))
}

fn tree(app: &CouchContext) -> Object {
    let metrics = &app.server().metrics;
    let mut methods = Object::new();
    for method in METHODS {
        let description = format!("{method} requests since the start");
        methods.insert(
            method,
            counter(metrics.couch_requests_by(method), &description),
        );
    }
    let mut statuses = Object::new();
    for status in STATUSES {
        let description = format!("answers with status {status} since the start");
        let count = counter(metrics.couch_answers_with(status), &description);
        statuses.insert(status.to_string(), count);
    }
    let mut couchdb = Object::new();
    couchdb.insert("httpd", httpd(metrics));
    couchdb.insert("httpd_request_methods", methods);
    couchdb.insert("httpd_status_codes", statuses);
    let distribution = metrics.recent.distribution();
    let description = "milliseconds from a request's head to its answer's, of the last 10 seconds";
    couchdb.insert("request_time", histogram(&distribution, description));
    let open = app.databases.count_open() as u64;
    couchdb.insert("open_databases", counter(open, "open databases now"));
    count_documents(app, &mut couchdb);
    if let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") {
        let open = counter(descriptors.count() as u64, "open files and connections now");
        couchdb.insert("open_os_files", open);
    }
    let mut tree = Object::new();
    tree.insert("couchdb", couchdb);
    tree.insert("couch_replicator", replications(app));
    tree
}

fn httpd(metrics: &Metrics) -> Object {
    let mut httpd = Object::new();
    let requests = counter(metrics.couch_requests(), "requests since the start");
    httpd.insert("requests", requests);
    let counted = &metrics.couch;
    for (name, value, description) in [
        (
            "bulk_requests",
            counted.bulk_requests.get(),
            "requests to _bulk_docs since the start",
        ),
        (
            "view_reads",
            counted.view_reads.get(),
            "queries of views since the start",
        ),
        (
            "purge_requests",
            counted.purges.get(),
            "requests to _purge since the start",
        ),
        (
            "clients_requesting_changes",
            counted.waiting_feeds(),
            "feeds that wait for changes now",
        ),
    ] {
        httpd.insert(name, counter(value, description));
    }
    httpd
}

fn count_documents(app: &CouchContext, couchdb: &mut Object) {
    let counted = &app.server().metrics.couch;
    let (hits, misses) = app.auth.known_logins();
    let (reads, writes) = (counted.reads.get(), counted.writes.get());
    for (name, value, description) in [
        (
            "auth_cache_hits",
            hits,
            "basic logins that were known to be right since the start",
        ),
        (
            "auth_cache_misses",
            misses,
            "basic logins that had to be checked since the start",
        ),
        (
            "database_reads",
            reads,
            "documents that were asked for by their ids since the start",
        ),
        (
            "database_writes",
            writes,
            "edits that were stored since the start",
        ),
        (
            "document_writes",
            writes,
            "edits that were stored since the start",
        ),
    ] {
        couchdb.insert(name, counter(value, description));
    }
}

fn replications(app: &CouchContext) -> Object {
    let [total, running, pending] = app.replications.counts();
    let mut jobs = Object::new();
    for (name, value, description) in [
        ("total", total, "jobs of replication now"),
        ("running", running, "jobs that run now"),
        ("pending", pending, "jobs that wait now"),
    ] {
        jobs.insert(name, counter(value, description));
    }
    let mut replicator = Object::new();
    replicator.insert("jobs", jobs);
    replicator
}

/// One leaf. CouchDB calls what goes up and down a counter too.
fn counter(value: u64, description: &str) -> Object {
    let mut leaf = Object::new();
    leaf.insert("value", value);
    leaf.insert("type", "counter");
    leaf.insert("desc", description);
    leaf
}

/// One leaf with CouchDB's numbers of a distribution.
fn histogram(distribution: &Distribution, description: &str) -> Object {
    let mut value = Object::new();
    value.insert("min", float(distribution.min));
    value.insert("max", float(distribution.max));
    value.insert("arithmetic_mean", float(distribution.mean()));
    value.insert("geometric_mean", float(distribution.geometric_mean()));
    value.insert("harmonic_mean", float(distribution.harmonic_mean()));
    value.insert("median", float(distribution.at(0.5)));
    value.insert("variance", float(distribution.variance()));
    value.insert("standard_deviation", float(distribution.variance().sqrt()));
    value.insert("skewness", float(distribution.skewness()));
    value.insert("kurtosis", float(distribution.kurtosis()));
    let pair = |name: Value, number: f64| Value::from(vec![name, float(number)]);
    let parts = PERCENTILES.map(|(name, part)| pair(Value::from(name), distribution.at(part)));
    value.insert("percentile", parts.to_vec());
    let bins = distribution.bins.iter();
    let bins = bins.map(|bin| Value::from(vec![float(bin.value), Value::from(bin.count)]));
    value.insert("histogram", bins.collect::<Vec<_>>());
    value.insert("n", distribution.count());
    let mut leaf = Object::new();
    leaf.insert("value", value);
    leaf.insert("type", "histogram");
    leaf.insert("desc", description);
    leaf
}

fn float(number: f64) -> Value {
    Value::Number(Number::Float(number))
}
