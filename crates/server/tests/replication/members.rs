//! Members of requests and keys of `[replicator]`: each does what it says, or is refused by name.

use super::{ask, get, put_docs, replicate, url, wait_for};
use crate::client::Running;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_testkit::http::{Fault, Proxy};

const DOCUMENTS: usize = 40;

/// A server with documents in the partitions `p0` and `p1` of its database `a`.
fn source() -> Running {
    let server = Running::start();
    assert_eq!(ask(&server, "PUT", "/a", &Value::Null).0, 201);
    let docs: Vec<Value> = (0..DOCUMENTS)
        .map(|n| json!({"_id": format!("p{}:{n:02}", n % 2)}))
        .collect();
    put_docs(&server, "a", &json!(docs));
    server
}

#[test]
fn a_target_is_made_with_its_parameters() {
    let (from, to) = (source(), Running::start());
    let more = json!({"create_target": true, "create_target_params": {"partitioned": true}});
    for on in [&to, &from] {
        let (status, answer) = replicate(&to, &url(&from, "a"), &url(on, "b"), &more);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(get(on, "/b")["props"]["partitioned"], true);
        assert_eq!(get(on, "/b/_partition/p1")["doc_count"], DOCUMENTS / 2);
    }
    // The target refuses what it does not know, and the run says so.
    let wrong = json!({"create_target": true, "create_target_params": {"partitioned": "maybe"}});
    let (status, answer) = replicate(&to, &url(&from, "a"), &url(&to, "c"), &wrong);
    assert_eq!(status, 500, "{answer}");
    assert!(answer["reason"].to_string().contains("400"), "{answer}");
}

#[test]
fn members_of_a_wrong_kind_are_refused_by_name() {
    let server = Running::start();
    for (name, wrong) in [
        ("continuous", json!(1)),
        ("create_target", json!("yes")),
        ("create_target_params", json!([])),
        ("doc_ids", json!({})),
        ("query_params", json!([])),
        ("selector", json!("all")),
        ("use_checkpoints", json!("no")),
        ("use_bulk_get", json!(0)),
        ("winning_revs_only", json!({})),
        ("checkpoint_interval", json!("soon")),
        ("worker_processes", json!(-1)),
        ("worker_batch_size", json!("many")),
        ("http_connections", json!([])),
        ("connection_timeout", json!(true)),
        ("retries_per_request", json!("often")),
        ("proxy", json!(7)),
        ("source_proxy", json!({})),
        ("target_proxy", json!([])),
    ] {
        let mut more = json!({});
        more[name] = wrong;
        let (status, answer) = replicate(&server, &url(&server, "a"), &url(&server, "b"), &more);
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert_eq!(status, 400, "{more}: {answer}");
        assert!(reason.contains(&format!("`{name}`")), "{more}: {answer}");
    }
}

#[test]
fn a_checkpoint_is_written_as_often_as_is_asked_for() {
    let (from, to) = (source(), Running::start());
    let more = json!({"create_target": true, "continuous": true, "checkpoint_interval": 100});
    let (status, answer) = replicate(&to, &url(&from, "a"), &url(&to, "b"), &more);
    assert_eq!(status, 202, "{answer}");
    let id = answer["_local_id"].as_str().unwrap().to_owned();
    let log = format!("_local/{}", id.split('+').next().unwrap());
    for round in 0..2 {
        put_docs(&from, "a", &json!([{"_id": format!("p0:late{round}")}]));
        wait_for("both sides know the newest sequence", || {
            let newest = get(&from, "/a")["update_seq"].clone();
            let knows = |on: &Running, name: &str| {
                get(on, &format!("/{name}/{log}"))["source_last_seq"] == newest
            };
            knows(&from, "a") && knows(&to, "b")
        });
    }
    let task = get(&to, "/_active_tasks")[0].clone();
    assert_eq!(task["checkpoint_interval"], 100, "{task}");
    let names: Vec<&str> = task
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for name in [
        "node",
        "pid",
        "type",
        "user",
        "replication_id",
        "database",
        "doc_id",
        "source",
        "target",
        "continuous",
        "checkpointed_source_seq",
        "source_seq",
        "through_seq",
        "changes_pending",
        "revisions_checked",
        "missing_revisions_found",
        "docs_read",
        "docs_written",
        "doc_write_failures",
        "bulk_get_docs",
        "bulk_get_attempts",
        "started_on",
        "updated_on",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
}

/// A request, and the server's settings for requests that say nothing.
#[test]
fn batches_bulk_get_and_checkpoints_are_those_of_the_request_or_the_settings() {
    let members = json!({"worker_batch_size": 10, "use_bulk_get": false, "use_checkpoints": false});
    let settings =
        "[replicator]\nworker_batch_size = 10\nuse_bulk_get = false\nuse_checkpoints = false\n";
    for (settings, members) in [("", members), (settings, json!({}))] {
        let (from, to) = (source(), Running::start_with(settings));
        let source = Proxy::start(from.address, "adm:pass", |_, _| Fault::None);
        let target = Proxy::start(to.address, "adm:pass", |_, _| Fault::None);
        let mut more = members;
        more["create_target"] = json!(true);
        let (status, answer) = replicate(&to, &source.url("a"), &target.url("b"), &more);
        assert_eq!(
            (status, &answer["use_checkpoints"]),
            (200, &json!(false)),
            "{answer}"
        );
        assert_eq!(target.count("_revs_diff"), DOCUMENTS / 10);
        assert_eq!(source.count("_bulk_get"), 0);
        assert_eq!(source.count("_local/") + target.count("_local/"), 0);
        assert_eq!(get(&to, "/b")["doc_count"], DOCUMENTS);
    }
}

#[test]
fn a_source_that_is_silent_for_the_timeout_is_asked_as_often_as_is_said() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}/a", silent.local_addr().unwrap());
    let connections = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for connection in silent.incoming() {
            kept.push(connection);
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let to = Running::start_with("[replicator]\nconnection_timeout = 100\n");
    let more = json!({"retries_per_request": 2});
    let (status, answer) = replicate(&to, &at, &url(&to, "b"), &more);
    assert_eq!(status, 500, "{answer}");
    assert!(
        answer["reason"].to_string().contains("no answer in time"),
        "{answer}"
    );
    assert_eq!(connections.load(Ordering::SeqCst), 3);
}

#[test]
fn protocols_can_be_kept_out() {
    let server = Running::start_with("[replicator]\nvalid_endpoint_protocols = https\n");
    let (status, answer) = replicate(&server, &url(&server, "a"), &url(&server, "b"), &json!({}));
    assert_eq!(status, 400, "{answer}");
    assert!(
        answer["reason"].to_string().contains("invalid url"),
        "{answer}"
    );
}

#[test]
fn lists_of_jobs_and_documents_come_in_pages() {
    let server = Running::start();
    for name in ["a", "_replicator"] {
        assert_eq!(
            ask(&server, "PUT", &format!("/{name}"), &Value::Null).0,
            201
        );
    }
    let jobs: Vec<Value> = (0..5)
        .map(|n| {
            json!({
                "_id": format!("j{n}"), "source": url(&server, "a"), "target": url(&server, &format!("t{n}")),
                "create_target": true, "continuous": n > 0,
            })
        })
        .collect();
    put_docs(&server, "_replicator", &json!(jobs));
    let docs = |query: &str| get(&server, &format!("/_scheduler/docs{query}"));
    wait_for("one is completed and four run", || {
        docs("?states=completed")["total_rows"] == 1 && docs("?states=running")["total_rows"] == 4
    });
    assert_eq!(docs("?states=completed,running")["total_rows"], 5);
    let page = docs("/_replicator?skip=3&limit=1");
    assert_eq!(
        (
            &page["total_rows"],
            &page["offset"],
            &page["docs"][0]["doc_id"]
        ),
        (&json!(5), &json!(3), &json!("j3")),
        "{page}"
    );
    let all = get(&server, "/_scheduler/jobs")["jobs"].clone();
    assert_eq!(all.as_array().unwrap().len(), 4, "a job at its end is none");
    let page = get(&server, "/_scheduler/jobs?skip=1&limit=2");
    assert_eq!(
        (&page["total_rows"], &page["offset"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(
        page["jobs"].as_array().unwrap()[..],
        all.as_array().unwrap()[1..3]
    );
    for path in ["jobs?limit=x", "docs?skip=-1"] {
        assert_eq!(
            ask(&server, "GET", &format!("/_scheduler/{path}"), &Value::Null).0,
            400
        );
    }
    for path in ["jobs/none", "docs/_replicator/none", "docs/a/j1", "others"] {
        assert_eq!(
            ask(&server, "GET", &format!("/_scheduler/{path}"), &Value::Null).0,
            404
        );
    }
}
