//! Replication between databases of one server, which speaks no HTTP: the same as between two servers in all that shows.

use super::{
    ADMIN, JSON, ask, get, leaves, parts, put_docs, put_numbered, replicate, url, wait_for,
};
use crate::client::Running;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::Cell;

/// Requests that the server has answered so far, without this one.
fn requests(server: &Running) -> u64 {
    let stats = get(server, "/_node/_local/_stats/couchdb/httpd/requests");
    stats["value"].as_u64().unwrap()
}

/// Everything of a database that a client can see of its documents: all leaves with histories and attachments.
fn documents(server: &Running, database: &str) -> Value {
    let rows = get(server, &format!("/{database}/_changes?style=all_docs"));
    let rows = rows["results"].as_array().unwrap().clone();
    let mut all: Vec<Value> = rows
        .iter()
        .map(|row| document(server, database, row))
        .collect();
    all.sort_by_key(|document| document["id"].to_string());
    json!(all)
}

fn document(server: &Running, database: &str, row: &Value) -> Value {
    let id = row["id"].as_str().unwrap();
    let query = "open_revs=all&revs=true&attachments=true&att_encoding_info=true";
    let path = format!("/{database}/{}?{query}", id.replace('/', "%2F"));
    let reply = server.send("GET", &path, &[ADMIN, ("accept", "application/json")], "");
    let mut found: Vec<Value> = serde_json::from_str(&reply.body).unwrap();
    found.sort_by_key(|leaf| leaf["ok"]["_rev"].to_string());
    json!({"id": id, "changes": row["changes"].as_array().unwrap().len(), "deleted": row["deleted"], "leaves": found})
}

/// The counts of the newest entry of a history.
fn counts(answer: &Value) -> Value {
    let mut entry = answer["history"][0].clone();
    for changing in [
        "session_id",
        "start_time",
        "end_time",
        "start_last_seq",
        "end_last_seq",
        "recorded_seq",
    ] {
        entry.as_object_mut().unwrap().remove(changing);
    }
    entry
}

#[derive(Clone, Debug)]
struct Step {
    document: u8,
    kind: u8,
    seed: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..6u8, 0..9u8, 0..5u8);
    let step = step.prop_map(|(document, kind, seed)| Step {
        document,
        kind,
        seed,
    });
    prop::collection::vec(step, 1..25)
}

fn apply(server: &Running, database: &str, step: &Step) {
    let id = format!("doc{}", step.document);
    let path = format!("/{database}/{id}");
    let current = get(server, &path);
    let rev = current["_rev"].as_str().map(str::to_owned);
    let digest = format!("{:x}", u32::from(step.seed) + 0xa0);
    match (step.kind, rev) {
        (0, Some(rev)) => {
            ask(server, "DELETE", &format!("{path}?rev={rev}"), &Value::Null);
        }
        (1, Some(rev)) => {
            let purged = json!({(id): [rev]});
            assert_eq!(
                ask(server, "POST", &format!("/{database}/_purge"), &purged).0,
                201
            );
        }
        (2 | 3, rev) => {
            let (name, kind) =
                [("t.txt", "text/plain"), ("b.bin", "a/b")][usize::from(step.kind) - 2];
            let path = format!(
                "{path}/{name}{}",
                rev.map(|rev| format!("?rev={rev}")).unwrap_or_default()
            );
            let data = format!("{} ", step.seed).repeat(2000);
            server.send("PUT", &path, &[ADMIN, ("content-type", kind)], &data);
        }
        (4..=6, _) => {
            let deleted = step.kind == 6;
            let branch = json!({"new_edits": false, "docs": [{
                "_id": id, "_rev": format!("3-{digest}"), "n": step.kind, "_deleted": deleted,
                "_revisions": {"start": 3, "ids": [digest, "b", "a"]},
            }]});
            assert_eq!(
                ask(server, "POST", &format!("/{database}/_bulk_docs"), &branch).0,
                201
            );
        }
        (_, rev) => {
            let mut document = current;
            if rev.is_none() {
                document = json!({"_id": id});
            }
            document["n"] = json!(step.seed);
            ask(server, "PUT", &path, &document);
        }
    }
}

/// A database here is copied within the server, to another server, and anew: all are equal, and so are the histories.
#[test]
fn a_local_copy_equals_one_over_http() {
    let (here, there) = (Running::start(), Running::start());
    let cases = Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(12));
    let case = (steps(), steps(), any::<bool>());
    let outcome = runner.run(&case, |(before, after, winners)| {
        cases.set(cases.get() + 1);
        let name = |part: &str| format!("{part}{}", cases.get());
        let [source, local, remote, fresh] = ["s", "l", "r", "f"].map(name);
        assert_eq!(
            ask(&here, "PUT", &format!("/{source}"), &Value::Null).0,
            201
        );
        let more = json!({"create_target": true, "winning_revs_only": winners});
        for steps in [&before, &after] {
            steps.iter().for_each(|step| apply(&here, &source, step));
            let (from, to) = (url(&here, &source), url(&here, &local));
            let before = requests(&here);
            let (status, within) = replicate(&here, &from, &to, &more);
            prop_assert_eq!(status, 200, "{}", within);
            prop_assert_eq!(
                requests(&here) - before,
                2,
                "the request and that for the number"
            );
            let (status, over) = replicate(&here, &from, &url(&there, &remote), &more);
            prop_assert_eq!(status, 200, "{}", over);
            prop_assert_eq!(documents(&here, &local), documents(&there, &remote));
            prop_assert_eq!(&within["no_changes"], &over["no_changes"]);
            prop_assert_eq!(&within["source_last_seq"], &over["source_last_seq"]);
            prop_assert_eq!(counts(&within), counts(&over));
        }
        let (status, anew) = replicate(&here, &url(&here, &source), &url(&here, &fresh), &more);
        prop_assert_eq!(status, 200, "{}", anew);
        if !winners {
            prop_assert_eq!(documents(&here, &fresh), documents(&here, &source));
        }
        Ok(())
    });
    outcome.unwrap();
}

fn start() -> Running {
    let server = Running::start();
    assert_eq!(ask(&server, "PUT", "/a", &Value::Null).0, 201);
    server
}

#[test]
fn parts_are_chosen_and_checkpoints_are_those_of_http() {
    let here = start();
    put_numbered(&here);
    let small = json!({"worker_batch_size": 1, "worker_processes": 2});
    for (name, more, count) in parts().into_iter().chain([("small", small, 21)]) {
        let mut more = more;
        more["create_target"] = json!(true);
        let before = requests(&here);
        let (status, answer) = replicate(&here, &url(&here, "a"), &url(&here, name), &more);
        assert_eq!(status, 200, "{name}: {answer}");
        assert_eq!(requests(&here) - before, 2, "{name}");
        assert_eq!(
            get(&here, &format!("/{name}"))["doc_count"],
            count,
            "{name}: {answer}"
        );
        let (_, again) = replicate(&here, &url(&here, "a"), &url(&here, name), &more);
        assert_eq!(again["no_changes"], true, "{name}: {again}");
        let logs = get(&here, &format!("/{name}/_local_docs?include_docs=true"));
        let log = &logs["rows"][0]["doc"];
        assert_eq!(log["session_id"], answer["session_id"], "{logs}");
        let id = log["_id"].as_str().unwrap();
        assert_eq!(
            get(&here, &format!("/a/{id}"))["session_id"],
            answer["session_id"]
        );
    }
    let since = get(&here, "/a")["update_seq"].clone();
    put_docs(&here, "a", &json!([{"_id": "late"}]));
    let more = json!({"create_target": true, "since_seq": since, "use_checkpoints": false});
    let (_, answer) = replicate(&here, &url(&here, "a"), &url(&here, "since"), &more);
    assert_eq!(answer["use_checkpoints"], false, "{answer}");
    assert_eq!(get(&here, "/since")["doc_count"], 1);
}

#[test]
fn the_target_looks_at_documents_as_over_http() {
    let here = Running::start_with("[couchdb]\nmax_document_size = 3000\nsingle_node = false\n");
    let there = Running::start();
    for (server, name) in [(&here, "a"), (&here, "b"), (&there, "a")] {
        assert_eq!(ask(server, "PUT", &format!("/{name}"), &Value::Null).0, 201);
    }
    let rule = json!({"validate_doc_update": "function (doc, old, user) { if (doc.bad) throw({forbidden: user.name}); }"});
    assert_eq!(ask(&here, "PUT", "/b/_design/rule", &rule).0, 201);
    put_docs(
        &here,
        "a",
        &json!([{"_id": "1", "bad": true}, {"_id": "2"}, {"_id": "3", "bad": true}]),
    );
    let attached = here.send(
        "PUT",
        "/a/4/f.bin",
        &[ADMIN, ("content-type", "a/b")],
        "data",
    );
    assert_eq!(attached.status, 201);
    let (status, answer) = replicate(&here, &url(&here, "a"), &url(&here, "b"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    let entry = &answer["history"][0];
    let found = (
        &entry["docs_written"],
        &entry["doc_write_failures"],
        &entry["docs_read"],
    );
    assert_eq!(found, (&json!(2), &json!(2), &json!(4)), "{answer}");
    let refused = |id: &str| {
        let begin = format!("document {id:?} is not replicated");
        here.told()
            .iter()
            .any(|line| line.contains(&begin) && line.contains("forbidden: adm"))
    };
    assert!(refused("1") && refused("3"));
    assert_eq!(here.send("GET", "/b/4/f.bin", &[ADMIN], "").body, "data");

    // Without a rule texts are not read, and lengths count all the same.
    put_docs(
        &there,
        "a",
        &json!([{"_id": "long", "text": "x".repeat(4000)}, {"_id": "short"}]),
    );
    let (_, answer) = replicate(
        &there,
        &url(&there, "a"),
        &url(&there, "c"),
        &json!({"create_target": true}),
    );
    assert_eq!(answer["history"][0]["docs_written"], 2, "{answer}");
    let limit = "/_node/_local/_config/couchdb/max_document_size";
    assert_eq!(ask(&there, "PUT", limit, &json!("3000")).0, 200);
    let (_, answer) = replicate(
        &there,
        &url(&there, "a"),
        &url(&there, "d"),
        &json!({"create_target": true}),
    );
    let entry = &answer["history"][0];
    assert_eq!(
        (&entry["docs_written"], &entry["doc_write_failures"]),
        (&json!(1), &json!(1)),
        "{answer}"
    );
}

/// The URL of a database with another user's login.
fn url_of(server: &Running, user: &str, database: &str) -> String {
    url(server, database).replace("adm:pass@", &format!("{user}:secret@"))
}

/// Databases whose members are users.
fn with_users() -> Running {
    let here = Running::start_with("[chttpd]\nrequire_valid_user = false\n");
    for database in ["_users", "a", "open", "closed"] {
        assert_eq!(
            ask(&here, "PUT", &format!("/{database}"), &Value::Null).0,
            201
        );
    }
    assert_eq!(
        ask(&here, "PUT", "/shared?access=true", &Value::Null).0,
        201
    );
    for user in ["ann", "bob"] {
        let path = format!("/_users/org.couchdb.user:{user}");
        let doc = json!({"name": user, "password": "secret", "roles": [], "type": "user"});
        assert_eq!(ask(&here, "PUT", &path, &doc).0, 201);
    }
    let only = |name: &str| json!({"admins": {"names": [], "roles": []}, "members": {"names": [name], "roles": []}});
    assert_eq!(ask(&here, "PUT", "/open/_security", &only("ann")).0, 200);
    assert_eq!(
        ask(
            &here,
            "PUT",
            "/shared/_security",
            &json!({"members": {"roles": [], "names": ["ann", "bob"]}})
        )
        .0,
        200
    );
    assert_eq!(ask(&here, "PUT", "/closed/_security", &only("bob")).0, 200);
    assert_eq!(ask(&here, "PUT", "/a/_security", &only("ann")).0, 200);
    here
}

#[test]
fn rights_are_those_of_the_logins_in_the_urls() {
    let here = with_users();
    put_docs(
        &here,
        "a",
        &json!([{"_id": "plain"}, {"_id": "_design/d", "views": {}}]),
    );
    let run = |source: &str, target: &str| replicate(&here, source, target, &json!({}));

    // Design documents are for admins.
    let (status, answer) = run(&url_of(&here, "ann", "a"), &url_of(&here, "ann", "open"));
    let entry = &answer["history"][0];
    assert_eq!(
        (status, &entry["docs_written"], &entry["doc_write_failures"]),
        (200, &json!(1), &json!(1)),
        "{answer}"
    );
    for (source, target) in [("a", "closed"), ("closed", "open")] {
        let (status, answer) = run(&url_of(&here, "ann", source), &url_of(&here, "ann", target));
        assert_eq!(
            (status, &answer["error"]),
            (401, &json!("unauthorized")),
            "{answer}"
        );
    }
    let anonymous = url(&here, "a").replace("adm:pass@", "");
    let (status, answer) = run(&anonymous, &url_of(&here, "ann", "open"));
    assert_eq!(
        (status, &answer["error"]),
        (401, &json!("unauthorized")),
        "{answer}"
    );
    let wrong = url_of(&here, "ann", "a").replace("secret", "wrong");
    let (status, answer) = run(&wrong, &url_of(&here, "ann", "open"));
    assert_eq!(
        (status, &answer["error"]),
        (401, &json!("unauthorized")),
        "{answer}"
    );
}

#[test]
fn each_user_takes_the_own_documents_of_a_database_with_access() {
    let here = with_users();
    let run = |source: &str, target: &str| replicate(&here, source, target, &json!({}));
    put_docs(
        &here,
        "shared",
        &json!([{"_id": "ann1", "_access": ["ann"]}, {"_id": "bob1", "_access": ["bob"]}, {"_id": "both", "_access": ["ann", "bob"]}]),
    );
    let (status, answer) = run(
        &url_of(&here, "ann", "shared"),
        &url_of(&here, "ann", "open"),
    );
    assert_eq!(
        (status, &answer["history"][0]["docs_written"]),
        (200, &json!(2)),
        "{answer}"
    );
    let found = |id: &str| ask(&here, "GET", &format!("/open/{id}"), &Value::Null).0;
    assert_eq!(
        (found("ann1"), found("both"), found("bob1")),
        (200, 200, 404)
    );
}

#[test]
fn a_continuous_job_follows_and_is_told_of_as_over_http() {
    let here = start();
    let more = json!({"create_target": true, "continuous": true, "checkpoint_interval": 200});
    let (source, target) = (url(&here, "a"), url(&here, "b"));
    let (status, answer) = replicate(&here, &source, &target, &more);
    assert_eq!(status, 202, "{answer}");
    let id = answer["_local_id"].as_str().unwrap().to_owned();
    let has = |name: &str| ask(&here, "GET", &format!("/b/{name}"), &Value::Null).0 == 200;
    for name in ["one", "two"] {
        put_docs(&here, "a", &json!([{"_id": name}]));
        wait_for(name, || has(name));
    }
    wait_for("a checkpoint comes while it runs", || {
        get(&here, "/b/_local_docs")["rows"]
            .as_array()
            .unwrap()
            .len()
            == 1
    });
    let tasks = get(&here, "/_active_tasks");
    let task = &tasks[0];
    assert_eq!(
        (
            &task["type"],
            &task["replication_id"],
            &task["docs_written"]
        ),
        (&json!("replication"), &json!(id), &json!(2)),
        "{tasks}"
    );
    // A source that goes takes the job with it, and it says so.
    let cancel = json!({"cancel": true, "replication_id": id});
    assert_eq!(ask(&here, "POST", "/_replicate", &cancel).0, 200);
    wait_for("the job ends", || get(&here, "/_active_tasks") == json!([]));
    let (_, again) = replicate(&here, &source, &target, &json!({}));
    assert_eq!(again["no_changes"], true, "{again}");
    let (status, answer) = replicate(&here, &source, &target, &json!({"continuous": true}));
    assert_eq!(status, 202, "{answer}");
    let id = answer["_local_id"].as_str().unwrap().to_owned();
    wait_for("it runs", || get(&here, "/_active_tasks") != json!([]));
    assert_eq!(ask(&here, "DELETE", "/a", &Value::Null).0, 200);
    wait_for("it has crashed", || {
        get(&here, &format!("/_scheduler/jobs/{id}"))["history"][0]["type"] == "crashed"
    });
}

#[test]
fn long_attachments_are_copied_piece_by_piece_and_shared_after_that() {
    let here = start();
    let data: Vec<u8> = (0..20u32 << 20)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut connection = crate::client::Connection::open(here.address);
    let reply = connection.begin("PUT", "/a/d/f", &[ADMIN, ("content-type", "a/b")], &data);
    assert_eq!(reply.status, 201);
    connection.body(&reply);
    let (source, target) = (url(&here, "a"), url(&here, "b"));
    let (status, answer) = replicate(&here, &source, &target, &json!({"create_target": true}));
    assert_eq!(status, 200, "{answer}");
    let reply = connection.begin("GET", "/b/d/f", &[ADMIN], "");
    assert!(connection.body(&reply) == data);
    let file = |name: &str| {
        get(&here, &format!("/{name}"))["sizes"]["file"]
            .as_u64()
            .unwrap()
    };
    let once = file("b");
    let mut document = get(&here, "/a/d");
    document["changed"] = json!(true);
    assert_eq!(ask(&here, "PUT", "/a/d", &document).0, 201);
    let (_, answer) = replicate(&here, &source, &target, &json!({}));
    assert_eq!(answer["history"][0]["docs_written"], 1, "{answer}");
    assert!(file("b") < once + 1_000_000, "{} {once}", file("b"));
    assert_eq!(leaves(&here, "a"), leaves(&here, "b"));
}

#[test]
fn partitions_and_users_keep_their_rules() {
    let here = start();
    put_docs(&here, "a", &json!([{"_id": "no-partition"}]));
    assert_eq!(
        ask(&here, "PUT", "/p?partitioned=true", &Value::Null).0,
        201
    );
    let (status, answer) = replicate(&here, &url(&here, "a"), &url(&here, "p"), &json!({}));
    assert_eq!(
        (status, &answer["error"]),
        (500, &json!("replication_error")),
        "{answer}"
    );
    assert!(
        answer["reason"].to_string().contains("illegal_docid"),
        "{answer}"
    );

    assert_eq!(ask(&here, "PUT", "/_users", &Value::Null).0, 201);
    let user = json!({"_id": "org.couchdb.user:eve", "name": "eve", "password": "clear", "roles": [], "type": "user"});
    assert_eq!(ask(&here, "PUT", "/u", &Value::Null).0, 201);
    put_docs(&here, "u", &json!([user, {"_id": "wrong"}]));
    let (status, answer) = replicate(&here, &url(&here, "u"), &url(&here, "_users"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["history"][0]["doc_write_failures"], 1, "{answer}");
    let stored = get(&here, "/_users/org.couchdb.user:eve");
    assert!(
        stored.get("password").is_none() && stored.get("derived_key").is_some(),
        "{stored}"
    );
}

#[test]
fn another_server_on_this_machine_is_no_database_of_this_one() {
    let (here, there) = (start(), Running::start());
    put_docs(&here, "a", &json!([{"_id": "x"}]));
    let before = requests(&there);
    let more = json!({"create_target": true});
    let (status, answer) = replicate(&here, &url(&here, "a"), &url(&there, "b"), &more);
    assert_eq!(status, 200, "{answer}");
    assert!(requests(&there) - before > 5);
    assert_eq!(ask(&here, "GET", "/b", &Value::Null).0, 404);
    // Every name of this machine is this server's.
    let named = url(&here, "named").replace(&here.address.ip().to_string(), "localhost");
    let before = requests(&here);
    let (status, answer) = replicate(&here, &url(&here, "a"), &named, &more);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(requests(&here) - before, 2);
    assert_eq!(ask(&here, "GET", "/named/x", &Value::Null).0, 200);
    let nothing = here.send("POST", "/_replicate", &[ADMIN, JSON], "{}");
    assert_eq!(nothing.status, 400);
}

#[test]
fn a_server_that_stops_leaves_a_checkpoint_and_no_failure() {
    let here = start();
    put_docs(&here, "a", &json!([{"_id": "x"}]));
    let more = json!({"create_target": true, "continuous": true, "checkpoint_interval": 3600000});
    let (status, answer) = replicate(&here, &url(&here, "a"), &url(&here, "b"), &more);
    assert_eq!(status, 202, "{answer}");
    // The document is there a moment before it is counted.
    wait_for("the document and its count", || {
        let tasks = get(&here, "/_active_tasks");
        let mut tasks = tasks.as_array().unwrap().iter();
        tasks.any(|task| task["docs_written"] == 1)
            && ask(&here, "GET", "/b/x", &Value::Null).0 == 200
    });
    let mut here = here;
    here.stop();
    let told = here.told();
    assert!(!told.iter().any(|line| line.contains("failed")), "{told:?}");
    let here = here.restart(|_| {});
    let logs = get(&here, "/b/_local_docs?include_docs=true");
    assert_eq!(
        logs["rows"][0]["doc"]["history"][0]["docs_written"], 1,
        "{logs}"
    );
}
