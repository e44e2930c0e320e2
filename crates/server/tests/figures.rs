//! Figures for Prometheus, checked by the rules that its own `promtool check metrics` has.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::{ADMIN, Running};

/// A family of metrics in the text form.
#[derive(Debug, Default)]
struct Family {
    help: String,
    kind: String,
    /// Name of the sample, its labels, its value.
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
}

/// Labels such as `a="x",b="y"`.
fn labels(text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for pair in text.split_terminator(',') {
        let (name, value) = pair.split_once('=').unwrap();
        let value = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let is_of_names = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(name.bytes().all(is_of_names), "{pair}");
        let twice = labels.insert(name.to_owned(), value.unwrap().to_owned());
        assert!(twice.is_none(), "{text}");
    }
    labels
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        text => text.parse().unwrap(),
    }
}

/// Reads the text form, whose rules about order and repetition it checks.
fn parse(text: &str) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    let mut seen = BTreeSet::new();
    assert!(text.ends_with('\n') && !text.contains("\n\n"));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            let family = Family {
                help: help.to_owned(),
                ..Family::default()
            };
            let twice = families.insert(name.to_owned(), family);
            assert!(twice.is_none(), "{name} comes twice");
            current = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, current, "TYPE stands behind its HELP");
            let family = families.get_mut(name).unwrap();
            assert!(family.samples.is_empty() && family.kind.is_empty());
            family.kind = kind.to_owned();
        } else {
            assert!(!line.starts_with('#'), "{line}");
            assert!(seen.insert(line.rsplit_once(' ').unwrap().0), "{line}");
            let (named, value) = line.rsplit_once(' ').unwrap();
            let (name, inner) = named.split_once('{').unwrap_or((named, "}"));
            let labels = labels(inner.strip_suffix('}').unwrap());
            let family = families.get_mut(&current).unwrap();
            let suffixes: &[&str] = match family.kind.as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            let is_own = suffixes.iter().any(|end| name == format!("{current}{end}"));
            assert!(is_own, "{name} among the samples of {current}");
            family
                .samples
                .push((name.to_owned(), labels, number(value)));
        }
    }
    families
}

/// The rules of names and units.
fn lint(name: &str, family: &Family) {
    assert!(!family.help.is_empty(), "{name} has no help");
    let is_of_names = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    assert!(name.bytes().all(is_of_names), "{name}");
    assert!(["counter", "gauge", "histogram"].contains(&family.kind.as_str()));
    assert_eq!(family.kind == "counter", name.ends_with("_total"), "{name}");
    for part in name.split('_') {
        let wrong = [
            "milliseconds",
            "ms",
            "kilobytes",
            "minutes",
            "hours",
            "percent",
        ];
        assert!(!wrong.contains(&part), "{name}: base units only");
        let kinds = [
            "counter",
            "gauge",
            "histogram",
            "summary",
            "bucket",
            "count",
            "sum",
        ];
        assert!(!kinds.contains(&part), "{name} names a kind");
    }
    for (sample, labels, value) in &family.samples {
        assert!(*value >= 0.0, "{sample}");
        let is_bucket = sample.ends_with("_bucket");
        assert_eq!(labels.contains_key("le"), is_bucket, "{sample}");
        assert!(!labels.contains_key("quantile"), "{sample}");
    }
}

/// Buckets are cumulative and end with all of the histogram's observations.
fn check_histogram(name: &str, family: &Family) {
    let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
    for (_, labels, value) in &family.samples {
        let mut others = labels.clone();
        if let Some(end) = others.remove("le") {
            series
                .entry(others)
                .or_default()
                .push((number(&end), *value));
        }
    }
    assert!(!series.is_empty(), "{name}");
    for (labels, buckets) in series {
        assert!(
            buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
            "{name}"
        );
        let &(end, all) = buckets.last().unwrap();
        assert!(end.is_infinite() && buckets.len() > 10, "{name}");
        let of = |suffix: &str| {
            let named = format!("{name}{suffix}");
            let mut found = family.samples.iter();
            let found = found.find(|(sample, own, _)| *sample == named && *own == labels);
            found.unwrap_or_else(|| panic!("no {named}")).2
        };
        assert_eq!(of("_count"), all, "{name}");
        assert!(all == 0.0 || of("_sum") > 0.0, "{name}");
    }
}

#[test]
fn prometheus_finds_nothing_to_object_to() {
    let server = Running::start();
    server.send("PUT", "/db", &[ADMIN], "");
    server.get("/hg/");
    assert_eq!(server.get("/nothing").status, 404);
    for path in ["/_node/_local/_prometheus", "/_metrics"] {
        assert_eq!(server.get(path).status, 401);
        let reply = server.send("GET", path, &[ADMIN], "");
        let kind = reply.header("content-type");
        assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
        let families = parse(&reply.body);
        for (name, family) in &families {
            lint(name, family);
            if family.kind == "histogram" {
                check_histogram(name, family);
            }
        }
        let requests = &families["varve_http_requests_total"].samples;
        let is_made = |(_, labels, value): &(String, BTreeMap<String, String>, f64)| {
            labels["status"] == "201" && labels["half"] == "Couch" && *value == 1.0
        };
        assert!(requests.iter().any(is_made), "{requests:?}");
        let durations = &families["varve_http_request_duration_seconds"];
        assert_eq!(durations.kind, "histogram");
        assert_eq!(families["varve_open_databases"].samples[0].2, 1.0);
        assert!(families["varve_uptime_seconds"].samples[0].2 > 0.0);
    }
}

#[test]
fn clients_that_know_open_metrics_get_it() {
    let server = Running::start();
    server.get("/_up");
    let accept = (
        "accept",
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3",
    );
    let reply = server.send("GET", "/_node/_local/_prometheus", &[ADMIN, accept], "");
    let kind = reply.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"));
    assert!(reply.body.ends_with("# EOF\n"));
    assert!(reply.body.contains("# TYPE varve_http_requests counter\n"));
}

fn password_checks(server: &Running) -> f64 {
    let reply = server.send("GET", "/_metrics", &[ADMIN], "");
    let families = parse(&reply.body);
    families["varve_password_checks_total"].samples[0].2
}

#[test]
fn a_login_that_was_checked_before_costs_no_derivation() {
    let server = Running::start();
    assert_eq!(password_checks(&server), 1.0, "that of this request");
    for _ in 0..20 {
        assert_eq!(server.send("GET", "/_all_dbs", &[ADMIN], "").status, 200);
    }
    let login = "{\"name\":\"adm\",\"password\":\"pass\"}";
    let json = ("content-type", "application/json");
    assert_eq!(server.send("POST", "/_session", &[json], login).status, 200);
    assert_eq!(password_checks(&server), 1.0);
    let wrong = ("authorization", "Basic YWRtOndyb25n");
    for checked in [2.0, 3.0] {
        assert_eq!(server.send("GET", "/", &[wrong], "").status, 401);
        assert_eq!(
            password_checks(&server),
            checked,
            "a wrong one is not remembered"
        );
    }
}
