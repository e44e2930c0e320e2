//! Documents of `_replicator`.

use super::{ask, get, put_docs, url, wait_for};
use crate::client::Running;
use serde_json::{Value, json};

fn start() -> Running {
    let server = Running::start_with("[replicator]\ninterval = 100\n");
    for name in ["a", "_replicator"] {
        assert_eq!(
            ask(&server, "PUT", &format!("/{name}"), &Value::Null).0,
            201
        );
    }
    put_docs(&server, "a", &json!([{"_id": "one"}]));
    server
}

fn state_of(server: &Running, path: &str) -> Value {
    get(server, &format!("/_scheduler/docs/{path}"))["state"].clone()
}

#[test]
fn a_document_begins_a_replication_and_says_how_it_ended() {
    let server = start();
    let job =
        json!({"source": url(&server, "a"), "target": url(&server, "b"), "create_target": true});
    assert_eq!(ask(&server, "PUT", "/_replicator/job", &job).0, 201);
    wait_for("completed", || {
        get(&server, "/_replicator/job")["_replication_state"] == "completed"
    });
    assert_eq!(get(&server, "/b")["doc_count"], 1);
    let doc = get(&server, "/_replicator/job");
    assert_eq!(doc["_replication_stats"]["docs_written"], 1, "{doc}");
    assert!(
        doc["_replication_state_time"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert_eq!(state_of(&server, "_replicator/job"), "completed");

    // It runs again only when its state is taken out.
    put_docs(&server, "a", &json!([{"_id": "two"}]));
    let mut again = doc.clone();
    again
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !name.starts_with("_replication_"));
    assert_eq!(ask(&server, "PUT", "/_replicator/job", &again).0, 201);
    wait_for("the second document", || {
        get(&server, "/b")["doc_count"] == 2
    });
    wait_for("completed", || {
        state_of(&server, "_replicator/job") == "completed"
    });
}

#[test]
fn jobs_of_documents_go_on_after_a_restart_and_end_with_their_document() {
    let server = start();
    assert_eq!(
        ask(&server, "PUT", "/team%2F_replicator", &Value::Null).0,
        201
    );
    // The address is another one after the restart, so the source is that of a server that stays.
    let source = Running::start();
    assert_eq!(ask(&source, "PUT", "/s", &Value::Null).0, 201);
    let target = Running::start();
    let job = json!({"source": url(&source, "s"), "target": url(&target, "t"), "create_target": true, "continuous": true});
    assert_eq!(ask(&server, "PUT", "/team%2F_replicator/live", &job).0, 201);
    wait_for("running", || {
        state_of(&server, "team%2F_replicator/live") == "running"
    });
    let server = server.restart(|_| {});
    put_docs(&source, "s", &json!([{"_id": "x"}]));
    wait_for("the document", || get(&target, "/t")["doc_count"] == 1);
    assert_eq!(state_of(&server, "team/_replicator/live"), "running");
    let doc = get(&server, "/team%2F_replicator/live");
    assert_eq!(doc.get("_replication_state"), None, "{doc}");
    let path = format!(
        "/team%2F_replicator/live?rev={}",
        doc["_rev"].as_str().unwrap()
    );
    assert_eq!(ask(&server, "DELETE", &path, &Value::Null).0, 200);
    wait_for("the end", || {
        get(&server, "/_scheduler/jobs")["total_rows"] == 0
    });
    wait_for("no task", || get(&server, "/_active_tasks") == json!([]));
}

#[test]
fn documents_that_can_be_no_replication_fail_for_good_and_others_are_tried_again() {
    let server = start();
    let (a, b) = (url(&server, "a"), url(&server, "b"));
    for (id, doc, state, words) in [
        (
            "bad",
            json!({"source": a, "target": b, "continuous": "yes"}),
            "failed",
            "`continuous` must be a boolean",
        ),
        (
            "name",
            json!({"source": "a", "target": b}),
            "failed",
            "local_endpoints_not_supported",
        ),
        (
            "missing",
            json!({"source": url(&server, "none"), "target": b}),
            "crashing",
            "db_not_found",
        ),
        (
            "filter",
            json!({"source": a, "target": b, "filter": "d/f"}),
            "error",
            "_design/d",
        ),
    ] {
        assert_eq!(
            ask(&server, "PUT", &format!("/_replicator/{id}"), &doc).0,
            201
        );
        let path = format!("_replicator/{id}");
        wait_for(id, || state_of(&server, &path) == state);
        let listed = get(&server, &format!("/_scheduler/docs/{path}"));
        assert!(
            listed["info"]["error"].as_str().unwrap().contains(words),
            "{listed}"
        );
        assert_eq!(
            listed["error_count"],
            u64::from(state != "error"),
            "{listed}"
        );
    }
    let failed = get(&server, "/_scheduler/docs?states=failed");
    assert_eq!(failed["docs"].as_array().unwrap().len(), 2, "{failed}");
    let page = get(&server, "/_scheduler/docs/_replicator?limit=1&skip=1");
    assert_eq!(
        (&page["total_rows"], &page["docs"][0]["doc_id"]),
        (&json!(4), &json!("filter"))
    );
    let changed = get(&server, "/_replicator/bad");
    assert_eq!(changed["_replication_state"], "failed");
    assert_eq!(
        get(&server, "/_replicator/missing").get("_replication_state"),
        None
    );
}

#[test]
fn the_same_replication_belongs_to_one_document() {
    let server = start();
    let job = json!({"source": url(&server, "a"), "target": url(&server, "b"), "create_target": true, "continuous": true});
    assert_eq!(ask(&server, "PUT", "/_replicator/first", &job).0, 201);
    wait_for("running", || {
        state_of(&server, "_replicator/first") == "running"
    });
    assert_eq!(ask(&server, "PUT", "/_replicator/second", &job).0, 201);
    wait_for("failed", || {
        state_of(&server, "_replicator/second") == "failed"
    });
    let reason = get(&server, "/_replicator/second")["_replication_state_reason"].to_string();
    assert!(
        reason.contains("already started, triggered by document `first` from db `_replicator`"),
        "{reason}"
    );
}

#[test]
fn more_jobs_than_may_run_take_turns() {
    let server = Running::start_with("[replicator]\nmax_jobs = 2\nmax_churn = 1\ninterval = 50\n");
    for name in ["a", "_replicator"] {
        assert_eq!(
            ask(&server, "PUT", &format!("/{name}"), &Value::Null).0,
            201
        );
    }
    let source = url(&server, "a");
    for number in 0..6 {
        let target = url(&server, &format!("t{number}"));
        let job =
            json!({"source": source, "target": target, "create_target": true, "continuous": true});
        assert_eq!(
            ask(&server, "PUT", &format!("/_replicator/j{number}"), &job).0,
            201
        );
    }
    put_docs(&server, "a", &json!([{"_id": "x"}]));
    let mut most = 0;
    wait_for("every job has had its turn", || {
        let jobs = get(&server, "/_scheduler/docs")["docs"].clone();
        let running = jobs
            .as_array()
            .unwrap()
            .iter()
            .filter(|job| job["state"] == "running");
        most = most.max(running.count());
        (0..6).all(|number| get(&server, &format!("/t{number}"))["doc_count"] == 1)
    });
    assert!(most <= 2, "{most}");
}

#[test]
fn users_see_and_change_the_replications_of_their_own_only() {
    let server = Running::start_with("[couchdb]\nsingle_node = true\n");
    for name in ["ada", "eve"] {
        let user = json!({"type": "user", "name": name, "roles": [], "password": "secret"});
        let path = format!("/_users/org.couchdb.user:{name}");
        assert_eq!(ask(&server, "PUT", &path, &user).0, 201);
    }
    let ada = ("authorization", "Basic YWRhOnNlY3JldA==");
    let eve = ("authorization", "Basic ZXZlOnNlY3JldA==");
    let of = |user, method: &str, path: &str, body: &Value| {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let reply = server.send(method, path, &[user, super::JSON], &text);
        (
            reply.status,
            serde_json::from_str::<Value>(&reply.body).unwrap(),
        )
    };
    let job =
        json!({"source": url(&server, "none"), "target": url(&server, "b"), "continuous": true});
    assert_eq!(of(ada, "PUT", "/_replicator/hers", &job).0, 403);
    let open = json!({"members": {"names": ["ada", "eve"]}});
    assert_eq!(ask(&server, "PUT", "/_replicator/_security", &open).0, 200);
    assert_eq!(of(ada, "PUT", "/_replicator/hers", &job).0, 201);
    let mine = of(ada, "GET", "/_replicator/hers", &Value::Null).1;
    assert_eq!(mine["owner"], "ada", "{mine}");
    assert_eq!(of(eve, "GET", "/_replicator/hers", &Value::Null).0, 404);
    for path in [
        "_all_docs",
        "_changes",
        "_bulk_get",
        "_find",
        "_local_docs",
        "hers/x",
    ] {
        let method = if matches!(path, "_bulk_get" | "_find") {
            "POST"
        } else {
            "GET"
        };
        let (status, told) = of(eve, method, &format!("/_replicator/{path}"), &Value::Null);
        assert_eq!(status, 403, "{path}: {told}");
    }
    let stolen =
        json!({"new_edits": false, "docs": [{"_id": "hers", "_rev": "9-a", "source": "x"}]});
    let (_, refused) = of(eve, "POST", "/_replicator/_bulk_docs", &stolen);
    assert_eq!(refused[0]["error"], "forbidden", "{refused}");
    let named =
        json!({"source": url(&server, "none"), "target": url(&server, "c"), "owner": "ada"});
    assert_eq!(of(eve, "PUT", "/_replicator/his", &named).0, 403);
    wait_for("the job", || {
        get(&server, "/_scheduler/jobs")["total_rows"] == 1
    });
    assert_eq!(get(&server, "/_scheduler/jobs")["jobs"][0]["user"], "ada");
    assert_eq!(of(ada, "GET", "/_scheduler/jobs", &Value::Null).0, 403);
}

#[test]
fn a_source_that_never_answers_holds_up_no_other_document() {
    let server = start();
    // Connections are taken by the system, and nothing reads them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("http://{}/x", silent.local_addr().unwrap());
    let stalls = json!({"source": source, "target": url(&server, "b"), "filter": "d/f"});
    for number in 0..3 {
        let path = format!("/_replicator/a{number}");
        assert_eq!(ask(&server, "PUT", &path, &stalls).0, 201);
    }
    let job =
        json!({"source": url(&server, "a"), "target": url(&server, "b"), "create_target": true});
    assert_eq!(ask(&server, "PUT", "/_replicator/job", &job).0, 201);
    wait_for("completed", || {
        state_of(&server, "_replicator/job") == "completed"
    });
    assert_eq!(state_of(&server, "_replicator/a0"), "initializing");
}

/// Continuous jobs never end by themselves, so each gets its turn only because others are stopped for it.
#[test]
fn each_of_many_jobs_gets_its_turn() {
    const JOBS: usize = 300;
    let server = Running::start_with(
        "[replicator]\nmax_jobs = 20\nmax_churn = 20\ninterval = 100\ncheckpoint_interval = 3600000\n",
    );
    for name in ["a", "_replicator"] {
        assert_eq!(
            ask(&server, "PUT", &format!("/{name}"), &Value::Null).0,
            201
        );
    }
    put_docs(&server, "a", &json!([{"_id": "one"}]));
    let jobs: Vec<Value> = (0..JOBS)
        .map(|n| {
            json!({
                "_id": format!("job{n:03}"), "source": url(&server, "a"), "target": url(&server, &format!("t{n:03}")),
                "create_target": true, "continuous": true,
            })
        })
        .collect();
    put_docs(&server, "_replicator", &json!(jobs));
    let has_run = |n: usize| ask(&server, "GET", &format!("/t{n:03}/one"), &Value::Null).0 == 200;
    let mut most = 0;
    for n in 0..JOBS {
        wait_for(&format!("job {n} runs"), || {
            let tasks = get(&server, "/_active_tasks");
            let tasks = tasks.as_array().unwrap().iter();
            // A compaction may run beside them.
            let running = tasks.filter(|task| task["type"] == "replication");
            most = most.max(running.count());
            has_run(n)
        });
    }
    assert!((1..=20).contains(&most), "{most} ran at the same time");
    let jobs = get(&server, "/_scheduler/jobs?limit=1");
    assert_eq!(jobs["total_rows"], JOBS);
}
