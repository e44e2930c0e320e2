//! `_replicate`: whole databases and parts of them, once and for ever.

use super::{ADMIN, ask, get, leaves, parts, put_docs, put_numbered, replicate, url, wait_for};
use crate::client::Running;
use serde_json::{Value, json};

fn pair() -> (Running, Running) {
    let (here, there) = (Running::start(), Running::start());
    assert_eq!(ask(&here, "PUT", "/a", &Value::Null).0, 201);
    (here, there)
}

#[test]
fn all_revisions_come_over_and_a_second_run_begins_where_the_first_ended() {
    let (here, there) = pair();
    let docs: Vec<Value> = (0..2300)
        .map(|n| json!({"_id": format!("d{n:04}"), "n": n}))
        .collect();
    put_docs(&here, "a", &json!(docs));
    let conflict = json!({"new_edits": false, "docs": [
        {"_id": "d0001", "_rev": "2-b", "_revisions": {"start": 2, "ids": ["b", "a"]}, "x": 1},
        {"_id": "gone", "_rev": "2-d", "_deleted": true, "_revisions": {"start": 2, "ids": ["d", "c"]}},
        {"_id": "_design/d", "_rev": "1-a", "views": {}},
        {"_id": "ä/b +c", "_rev": "1-a"},
    ]});
    assert_eq!(ask(&here, "POST", "/a/_bulk_docs", &conflict).0, 201);
    let (source, target) = (url(&here, "a"), url(&there, "b"));

    let (status, first) = replicate(&there, &source, &target, &json!({"create_target": true}));
    assert_eq!(status, 200, "{first}");
    assert_eq!(leaves(&here, "a"), leaves(&there, "b"));
    let entry = &first["history"][0];
    assert_eq!(entry["docs_written"], 2304);
    assert_eq!(
        (&entry["doc_write_failures"], &entry["start_last_seq"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(first["replication_id_version"], 4);
    assert_eq!(entry["end_last_seq"], first["source_last_seq"]);

    put_docs(&here, "a", &json!([{"_id": "late"}]));
    let (_, second) = replicate(&there, &source, &target, &json!({"create_target": true}));
    assert_eq!(second["history"][0]["docs_written"], 1, "{second}");
    assert_eq!(
        second["history"][0]["start_last_seq"],
        first["source_last_seq"]
    );
    assert_eq!(second["history"].as_array().unwrap().len(), 2);
    let (_, third) = replicate(&there, &source, &target, &json!({"create_target": true}));
    assert_eq!(third["no_changes"], true, "{third}");
    assert_eq!(third["session_id"], second["session_id"]);
}

#[test]
fn attachments_come_over_in_their_stored_form_and_unchanged_ones_only_once() {
    let (here, there) = pair();
    let text = "varve ".repeat(5000);
    for (name, kind) in [
        ("t.txt", "text/plain"),
        ("b.bin", "application/octet-stream"),
    ] {
        let rev = get(&here, "/a/doc")["_rev"]
            .as_str()
            .map(|rev| format!("?rev={rev}"));
        let path = format!("/a/doc/{name}{}", rev.unwrap_or_default());
        let put = here.send("PUT", &path, &[ADMIN, ("content-type", kind)], &text);
        assert_eq!(put.status, 201, "{}", put.body);
    }
    let (source, target) = (url(&here, "a"), url(&there, "b"));
    let (status, answer) = replicate(&here, &source, &target, &json!({"create_target": true}));
    assert_eq!(
        (status, &answer["history"][0]["docs_written"]),
        (200, &json!(1)),
        "{answer}"
    );
    let stubs = |server: &Running, db: &str| {
        get(server, &format!("/{db}/doc?att_encoding_info=true"))["_attachments"].clone()
    };
    assert_eq!(stubs(&there, "b"), stubs(&here, "a"));
    assert_eq!(stubs(&there, "b")["t.txt"]["encoding"], "gzip");
    let got = there.send("GET", "/b/doc/b.bin", &[ADMIN], "");
    assert_eq!(got.body, text);

    let mut doc = get(&here, "/a/doc");
    doc["changed"] = json!(true);
    assert_eq!(ask(&here, "PUT", "/a/doc", &doc).0, 201);
    let (_, answer) = replicate(&here, &source, &target, &json!({"create_target": true}));
    assert_eq!(answer["history"][0]["docs_written"], 1, "{answer}");
    assert_eq!(leaves(&here, "a"), leaves(&there, "b"));
    assert_eq!(stubs(&there, "b"), stubs(&here, "a"));
}

#[test]
fn parts_of_a_database_are_chosen_by_ids_selectors_filters_and_views() {
    let (here, there) = pair();
    put_numbered(&here);
    for (name, more, count) in parts() {
        let mut more = more;
        more["create_target"] = json!(true);
        let (source, target) = (url(&here, "a"), url(&there, name));
        let (status, answer) = replicate(&there, &source, &target, &more);
        assert_eq!(status, 200, "{name}: {answer}");
        assert_eq!(
            get(&there, &format!("/{name}"))["doc_count"],
            count,
            "{name}: {answer}"
        );
    }
}

#[test]
fn winners_alone_can_come_over_and_a_run_can_begin_anywhere() {
    let (here, there) = pair();
    put_docs(&here, "a", &json!([{"_id": "old"}]));
    let since = get(&here, "/a")["update_seq"].clone();
    let conflict = json!({"new_edits": false, "docs": [
        {"_id": "x", "_rev": "1-a"}, {"_id": "x", "_rev": "1-b"},
    ]});
    assert_eq!(ask(&here, "POST", "/a/_bulk_docs", &conflict).0, 201);
    let more = json!({"create_target": true, "winning_revs_only": true, "since_seq": since, "use_checkpoints": false});
    let (status, answer) = replicate(&here, &url(&here, "a"), &url(&there, "b"), &more);
    assert_eq!(
        (status, &answer["use_checkpoints"]),
        (200, &json!(false)),
        "{answer}"
    );
    assert_eq!(leaves(&there, "b"), json!([["\"x\"", ["\"1-b\""]]]));
    assert_eq!(get(&there, "/b/_local_docs")["rows"], json!([]));
}

#[test]
fn documents_that_the_target_refuses_are_counted_and_stop_nothing() {
    let (here, there) = pair();
    assert_eq!(ask(&there, "PUT", "/b", &Value::Null).0, 201);
    let rule = json!({"validate_doc_update": "function (doc) { if (doc.bad) throw({forbidden: 'bad'}); }"});
    assert_eq!(ask(&there, "PUT", "/b/_design/rule", &rule).0, 201);
    put_docs(
        &here,
        "a",
        &json!([{"_id": "1", "bad": true}, {"_id": "2"}, {"_id": "3", "bad": true}]),
    );
    let path = "/a/4/f.bin";
    let bad = here.send("PUT", path, &[ADMIN, ("content-type", "a/b")], "x");
    assert_eq!(bad.status, 201);
    // The admin of the target is asked by its validation as everybody else.
    let (status, answer) = replicate(&here, &url(&here, "a"), &url(&there, "b"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    let entry = &answer["history"][0];
    assert_eq!(
        (&entry["docs_written"], &entry["doc_write_failures"]),
        (&json!(2), &json!(2))
    );
    assert!(
        here.told()
            .iter()
            .any(|line| line.contains("\"1\" is not replicated"))
    );
}

/// Waits until the checkpoint on each side remembers two runs.
fn wait_for_both_runs(sides: &[(&Running, &str)], id: &str) {
    let base = id.split('+').next().unwrap();
    for (server, database) in sides {
        wait_for("both runs are remembered", || {
            let log = get(server, &format!("/{database}/_local/{base}"));
            log["history"].as_array().map(Vec::len) == Some(2)
        });
    }
}

#[test]
fn a_continuous_replication_follows_until_it_is_cancelled() {
    let (here, there) = pair();
    let (source, target) = (url(&here, "a"), url(&there, "b"));
    let more = json!({"create_target": true, "continuous": true});
    let (status, answer) = replicate(&there, &source, &target, &more);
    assert_eq!(status, 202, "{answer}");
    let id = answer["_local_id"].as_str().unwrap().to_owned();
    assert!(id.ends_with("+continuous+create_target"), "{id}");
    let has = |name: &str| ask(&there, "GET", &format!("/b/{name}"), &Value::Null).0 == 200;
    for name in ["one", "two"] {
        put_docs(&here, "a", &json!([{"_id": name}]));
        wait_for(name, || has(name));
    }
    let jobs = get(&there, "/_scheduler/jobs");
    assert_eq!(
        (&jobs["total_rows"], &jobs["jobs"][0]["id"]),
        (&json!(1), &json!(id)),
        "{jobs}"
    );
    assert_eq!(jobs["jobs"][0]["history"][0]["type"], "started");
    assert!(!jobs.to_string().contains("pass"), "{jobs}");
    assert_eq!(
        get(&there, &format!("/_scheduler/jobs/{id}"))["user"],
        "adm"
    );
    let tasks = get(&there, "/_active_tasks");
    let task = &tasks[0];
    assert_eq!(
        (&task["type"], &task["replication_id"]),
        (&json!("replication"), &json!(id)),
        "{tasks}"
    );
    assert_eq!(
        (&task["docs_written"], &task["continuous"]),
        (&json!(2), &json!(true)),
        "{tasks}"
    );

    // A run of the same ends that ends is another job.
    let (status, once) = replicate(&there, &source, &target, &json!({}));
    assert_eq!((status, &once["ok"]), (200, &json!(true)), "{once}");
    assert_eq!(get(&there, "/_scheduler/jobs")["total_rows"], 1);

    let (status, answer) = replicate(
        &there,
        &source,
        &target,
        &json!({
            "create_target": true, "continuous": true, "cancel": true,
        }),
    );
    assert_eq!(
        (status, &answer["_local_id"]),
        (200, &json!(id)),
        "{answer}"
    );
    let (status, answer) = ask(
        &there,
        "POST",
        "/_replicate",
        &json!({"cancel": true, "id": id}),
    );
    assert_eq!((status, &answer["error"]), (404, &json!("not_found")));
    wait_for("the task ends", || {
        get(&there, "/_active_tasks") == json!([])
    });
    assert_eq!(get(&there, "/_scheduler/jobs")["total_rows"], 0);
    // Although the one that has just ended began without a checkpoint.
    wait_for_both_runs(&[(&here, "a"), (&there, "b")], &id);
    // The last checkpoint is written, so that the next run has nothing to do.
    let (_, again) = replicate(&there, &source, &target, &json!({}));
    assert_eq!(again["no_changes"], true, "{again}");
}

#[test]
fn wrong_requests_and_failures_are_told_in_the_peers_words() {
    let (here, there) = pair();
    let (source, target) = (url(&here, "a"), url(&there, "b"));
    let shown = |server: &Running, name: &str| format!("http://{}/{name}/", server.address);
    for (source, target, status, error, reason) in [
        (
            &*source,
            &*target,
            500,
            "db_not_found",
            format!("could not open {}", shown(&there, "b")),
        ),
        (
            &*url(&here, "none"),
            &*source,
            500,
            "db_not_found",
            format!("could not open {}", shown(&here, "none")),
        ),
        (
            "none",
            "b",
            500,
            "db_not_found",
            format!("could not open {}", shown(&here, "none")),
        ),
    ] {
        let (got, answer) = replicate(&here, source, target, &json!({}));
        assert_eq!(
            (got, &answer["error"], &answer["reason"]),
            (status, &json!(error), &json!(reason))
        );
    }
    let wrong = source.replace("pass", "wrong");
    let (status, answer) = replicate(&here, &wrong, &target, &json!({}));
    assert_eq!(
        (status, &answer["error"]),
        (401, &json!("unauthorized")),
        "{answer}"
    );
    let anonymous = here.send("POST", "/_replicate", &[super::JSON], "{}");
    assert_eq!(anonymous.status, 401);
    assert_eq!(get(&here, "/_scheduler/jobs")["total_rows"], 0);
}

#[test]
fn hosts_can_be_kept_out_of_reach() {
    let here = Running::start_with("[replicator]\nallow_list = *.example.com\n");
    let (status, answer) = replicate(
        &here,
        &url(&here, "a"),
        "http://db.example.com/b",
        &json!({}),
    );
    assert_eq!(
        (status, &answer["error"]),
        (403, &json!("forbidden")),
        "{answer}"
    );
}
