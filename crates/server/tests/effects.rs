//! That changed settings count at once, for databases that are open and for work that goes on behind requests; and that
//! figures have the form that Prometheus reads.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{call, until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn set(connection: &mut Connection, name: &str, value: &str) {
    let path = format!("/_node/_local/_config/{name}");
    let json = ("content-type", "application/json");
    let body = format!("\"{value}\"");
    let reply = connection.send("PUT", &path, &[ADMIN, json], &body);
    assert_eq!(reply.status, 200, "{name}: {}", reply.body);
}

#[test]
fn an_open_database_is_compressed_and_limited_by_what_counts_now() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    call(&mut connection, "PUT", "/db/one", &json!({}));
    let compression = |connection: &mut Connection| {
        call(connection, "GET", "/db/_compression", &Value::Null)["compression"].clone()
    };
    assert_eq!(compression(&mut connection), "zstd_3");
    set(&mut connection, "couchdb/file_compression", "deflate_9");
    assert_eq!(compression(&mut connection), "deflate_9");
    let two = json!({"_attachments": {"a": {"data": ""}, "b": {"data": ""}}}).to_string();
    let json = ("content-type", "application/json");
    let mut put = |path: &str| connection.send("PUT", path, &[ADMIN, json], &two).status;
    assert_eq!(put("/db/two"), 201);
    set(
        &mut Connection::open(server.address),
        "couchdb/max_attachments_per_doc",
        "1",
    );
    assert_eq!(put("/db/three"), 413);
}

#[test]
fn indexes_follow_writes_once_they_are_told_to() {
    // Without channels at the start.
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let views = json!({"views": {"v": {"map": "function (doc) { emit(doc.n) }"}}});
    call(&mut connection, "PUT", "/db/_design/d", &views);
    call(&mut connection, "PUT", "/db/a", &json!({"n": 1}));
    set(&mut connection, "ken/wait_secs", "0");
    set(&mut connection, "ken/batch_channels", "1");
    until(&mut connection, "/db/_design/d/_info", |info| {
        info["view_index"]["updates_pending"]["total"] == 0
    });
}

#[test]
fn less_severe_lines_are_written_once_they_are_asked_for() {
    let mut server = Running::start();
    let mut connection = Connection::open(server.address);
    connection.send("GET", "/_up", &[], "");
    set(&mut connection, "log/level", "info");
    connection.send("GET", "/_up", &[], "");
    drop(connection);
    server.stop();
    let told = server.told();
    let answered = told.iter().filter(|line| line.starts_with("answered"));
    assert!(answered.count() >= 1, "{told:?}");
}

/// Metrics of a text: name and labels with the value. Asserts the rules of the form.
fn exposition(text: &str) -> BTreeMap<String, f64> {
    let body = text.strip_suffix("# EOF\n").unwrap();
    let mut kinds = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = BTreeMap::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').unwrap();
            assert!(
                helped.insert(name.to_owned()) && !words.is_empty(),
                "{line}"
            );
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(
                kinds.insert(name.to_owned(), kind.to_owned()).is_none(),
                "{line}"
            );
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let suffixes = ["_total", "_bucket", "_sum", "_count", ""];
            let of = |suffix: &&str| name.strip_suffix(*suffix).and_then(|of| kinds.get(of));
            let (suffix, kind) = suffixes.iter().find_map(|s| Some((*s, of(s)?))).unwrap();
            let allowed = match kind.as_str() {
                "counter" => suffix == "_total",
                "gauge" => suffix.is_empty(),
                _ => ["_bucket", "_sum", "_count"].contains(&suffix),
            };
            assert!(allowed, "{line}");
            let value: f64 = value.parse().unwrap();
            assert!(samples.insert(series.to_owned(), value).is_none(), "{line}");
        }
    }
    samples
}

#[test]
fn figures_keep_the_rules_of_the_exposition_and_histograms_have_growing_buckets() {
    let server = Running::start();
    for _ in 0..3 {
        server.get("/_up");
    }
    let accept = ("accept", "application/openmetrics-text");
    let figures = server.send("GET", "/_node/_local/_prometheus", &[ADMIN, accept], "");
    let samples = exposition(&figures.body);
    let buckets = samples.iter().filter_map(|(series, count)| {
        let labels = series.strip_prefix("varve_http_request_duration_seconds_bucket{le=\"")?;
        let (bound, labels) = labels.split_once('"')?;
        let bound = bound.parse().unwrap_or(f64::INFINITY);
        labels.contains("Couch").then_some((bound, *count))
    });
    let mut buckets: Vec<(f64, f64)> = buckets.collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(buckets.len() > 5, "{}", figures.body);
    assert!(
        buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1),
        "{buckets:?}"
    );
    let last = buckets.last().unwrap();
    let all = samples["varve_http_request_duration_seconds_count{half=\"Couch\"}"];
    assert!(
        last.0.is_infinite() && last.1 == all && all >= 3.0,
        "{buckets:?}"
    );
}
