//! Documents that users see, in every form of reading.

use super::{ANN, BOB, EVE, get, ids, ok, put, send, set_roles, with_access};
use crate::client::{ADMIN, Running};
use serde_json::{Value, json};

/// One document of each user, one of the team, one for every user and one for admins.
fn filled() -> Running {
    let server = with_access();
    put(&server, ANN, "ann", &json!({"_access": ["ann"], "n": 1}));
    put(&server, BOB, "bob", &json!({"_access": ["bob"], "n": 2}));
    put(
        &server,
        BOB,
        "team",
        &json!({"_access": ["team", "bob"], "n": 3}),
    );
    put(
        &server,
        EVE,
        "users",
        &json!({"_access": ["_users"], "n": 4}),
    );
    put(&server, ADMIN, "admins", &json!({"n": 5}));
    server
}

#[test]
fn lists_and_feeds_have_the_documents_of_their_user() {
    let server = filled();
    let of = [
        (ANN, "ann team users"),
        (BOB, "bob team users"),
        (EVE, "users"),
    ];
    for (by, seen) in of {
        let count = seen.split(' ').count();
        let all = get(&server, by, "/db/_all_docs?update_seq=true");
        assert_eq!(
            (ids(&all).as_str(), &all["total_rows"]),
            (seen, &json!(count))
        );
        let sorted = ids(&get(&server, by, "/db/_changes"));
        assert_eq!(sorted, seen);
        let backward: Vec<&str> = seen.rsplit(' ').collect();
        let descending = get(&server, by, "/db/_changes?descending=true");
        assert_eq!(ids(&descending), backward.join(" "));
        assert_eq!(
            ids(&get(&server, by, "/db/_all_docs?descending=true")),
            backward.join(" ")
        );
        let info = get(&server, by, "/db");
        assert_eq!(
            (&info["doc_count"], &info["doc_del_count"]),
            (&json!(count), &json!(0))
        );
        let last = get(&server, by, "/db/_changes?limit=1");
        assert_eq!(last["pending"], count - 1);
        let keys = json!({"keys": ["ann", "bob", "team", "users", "admins", "none"]});
        let rows = ok(
            &server,
            by,
            "POST",
            "/db/_all_docs?include_docs=true",
            &keys,
        );
        for row in rows["rows"].as_array().unwrap() {
            let is_seen = seen.split(' ').any(|id| row["key"] == id);
            let expected = json!({"key": row["key"], "error": "not_found"});
            assert_eq!(*row != expected, is_seen, "{row}");
        }
        let skipped = get(&server, by, "/db/_all_docs?skip=1&limit=1");
        assert_eq!(skipped["offset"], json!(1.min(count)));
        let ranged = get(
            &server,
            by,
            "/db/_all_docs?startkey=%22b%22&endkey=%22tz%22",
        );
        assert!(seen.contains(&ids(&ranged)), "{ranged}");
        check_filters(&server, by, seen);
    }
    assert_eq!(
        ids(&get(&server, ADMIN, "/db/_all_docs")),
        "admins ann bob team users"
    );
}

fn check_filters(server: &Running, by: super::Login, seen: &str) {
    let count = seen.split(' ').count();
    let queries = json!({"queries": [{"limit": 1}, {"startkey": "t"}]});
    let rows = ok(server, by, "POST", "/db/_all_docs/queries", &queries);
    assert_eq!(rows["results"][0]["total_rows"], count);
    let filters = json!({"doc_ids": ["ann", "bob", "admins"]});
    let named = ok(server, by, "POST", "/db/_changes?filter=_doc_ids", &filters);
    assert!(seen.starts_with(&ids(&named)), "{named}");
    let selector = json!({"selector": {"n": {"$gt": 0}}});
    let matching = ok(
        server,
        by,
        "POST",
        "/db/_changes?filter=_selector",
        &selector,
    );
    assert_eq!(ids(&matching), seen);
}

#[test]
fn single_documents_are_there_or_missing_in_every_form() {
    let server = filled();
    let rev = |id: &str| get(&server, ADMIN, &format!("/db/{id}"))["_rev"].clone();
    let (own, other) = (rev("ann"), rev("bob"));
    let (own, other) = (own.as_str().unwrap(), other.as_str().unwrap());
    let same = |method: &str, foreign: &str, absent: &str, body: &Value| {
        let told = |path: &str| {
            let reply = send(&server, ANN, method, path, body);
            let hidden = ["date", "x-couch-request-id"];
            let mut headers = reply.headers;
            headers.retain(|(name, _)| !hidden.contains(&name.as_str()));
            (reply.status, headers, reply.body)
        };
        assert_eq!(told(foreign), told(absent), "{method} {foreign}");
    };
    let none = Value::Null;
    let quoted = format!("%5B%22{other}%22%5D");
    for tail in [
        "",
        "?revs=true",
        "?meta=true",
        &format!("?rev={other}"),
        "?conflicts=true",
        "?attachments=true",
        &format!("?rev={other}&latest=true"),
        "?open_revs=all",
        &format!("?open_revs={quoted}"),
        "/f",
        "?revs_info=true",
    ] {
        for method in ["GET", "HEAD"] {
            same(
                method,
                &format!("/db/bob{tail}"),
                &format!("/db/non{tail}"),
                &none,
            );
        }
    }
    let ask = |id: &str, rev: &str| json!({"docs": [{"id": id, "rev": rev}]});
    for by in [ANN, EVE] {
        let answer = ok(
            &server,
            by,
            "POST",
            "/db/_bulk_get?revs=true",
            &ask("bob", other),
        );
        assert!(answer["results"][0]["docs"][0]["ok"].is_null(), "{answer}");
    }
    let answer = ok(&server, ANN, "POST", "/db/_bulk_get", &ask("ann", own));
    assert_eq!(answer["results"][0]["docs"][0]["ok"]["n"], 1);
    // A revision of another user is missing here, as any other.
    let asked = json!({"bob": [other, "1-aa"], "ann": [own, "1-bb"]});
    let missing = ok(&server, ANN, "POST", "/db/_revs_diff", &asked);
    let expected = json!({"bob": {"missing": [other, "1-aa"]}, "ann": {"missing": ["1-bb"]}});
    assert_eq!(missing, expected);
    let missing = ok(
        &server,
        ANN,
        "POST",
        "/db/_missing_revs",
        &json!({"bob": [other]}),
    );
    assert_eq!(missing, json!({"missing_revs": {"bob": [other]}}));
    let copied = server.send("COPY", "/db/bob", &[ANN, ("destination", "mine")], "");
    assert_eq!(copied.status, 404);
}

#[test]
fn old_revisions_and_leaves_of_others_stay_hidden() {
    let server = with_access();
    let first = put(
        &server,
        ADMIN,
        "a",
        &json!({"_access": ["bob"], "secret": 1}),
    );
    let shared = json!({"_access": ["bob", "ann"], "_rev": first});
    let second = put(&server, BOB, "a", &shared);
    let path = format!("/db/a?rev={first}");
    assert_eq!(send(&server, ADMIN, "GET", &path, &Value::Null).status, 200);
    assert_eq!(send(&server, ANN, "GET", &path, &Value::Null).status, 404);
    let branch = json!({"_access": ["eve"], "_rev": "7-ee"});
    put(&server, ADMIN, "a?new_edits=false", &branch);
    assert_eq!(
        get(&server, ADMIN, "/db/a?conflicts=true")["_conflicts"],
        json!([second])
    );
    let of_ann = get(&server, ANN, "/db/a?conflicts=true&deleted_conflicts=true");
    assert_eq!(
        (&of_ann["_rev"], of_ann.get("_conflicts")),
        (&json!(second), None)
    );
    assert_eq!(get(&server, EVE, "/db/a")["_rev"], "7-ee");
    let leaves = get(&server, ANN, "/db/_changes?style=all_docs");
    assert_eq!(leaves["results"][0]["changes"], json!([{"rev": second}]));
    let leaves = get(&server, ANN, "/db/a?open_revs=all");
    assert_eq!(leaves.as_array().map(Vec::len).unwrap_or(1), 1, "{leaves}");
}

#[test]
fn tombstones_reach_readers_of_the_document() {
    let server = filled();
    let rev = get(&server, ANN, "/db/team")["_rev"].clone();
    let path = format!("/db/team?rev={}", rev.as_str().unwrap());
    assert_eq!(
        send(&server, ANN, "DELETE", &path, &Value::Null).status,
        200
    );
    for (by, seen) in [(ANN, true), (BOB, true), (EVE, false)] {
        let changes = get(&server, by, "/db/_changes");
        let mut rows = changes["results"].as_array().unwrap().iter();
        assert_eq!(
            rows.any(|row| row["id"] == "team" && row["deleted"] == true),
            seen
        );
        let reason = send(&server, by, "GET", "/db/team", &Value::Null).body;
        assert_eq!(reason.contains("deleted"), seen, "{reason}");
    }
}

#[test]
fn other_roles_count_from_the_next_request_on() {
    let server = filled();
    assert_eq!(ids(&get(&server, EVE, "/db/_all_docs")), "users");
    set_roles(&server, "eve", &json!(["team"]));
    assert_eq!(ids(&get(&server, EVE, "/db/_all_docs")), "team users");
    assert_eq!(ids(&get(&server, EVE, "/db/_changes")), "team users");
    set_roles(&server, "eve", &json!([]));
    assert_eq!(ids(&get(&server, EVE, "/db/_all_docs")), "users");
    assert_eq!(
        send(&server, EVE, "GET", "/db/team", &Value::Null).status,
        404
    );
    // An admin of the database sees all.
    let security = json!({"admins": {"names": ["eve"], "roles": []}});
    ok(&server, ADMIN, "PUT", "/db/_security", &security);
    assert_eq!(
        ids(&get(&server, EVE, "/db/_all_docs")),
        "admins ann bob team users"
    );
}

#[test]
fn local_documents_are_their_users_own() {
    let server = filled();
    for (by, value) in [(ANN, 1), (BOB, 2), (ADMIN, 3)] {
        let made = ok(&server, by, "PUT", "/db/_local/x", &json!({"v": value}));
        assert_eq!(made["id"], "_local/x");
    }
    for (by, value) in [(ANN, 1), (BOB, 2), (ADMIN, 3)] {
        assert_eq!(get(&server, by, "/db/_local/x")["v"], value);
    }
    assert_eq!(
        send(&server, EVE, "GET", "/db/_local/x", &Value::Null).status,
        404
    );
    assert_eq!(ids(&get(&server, ANN, "/db/_local_docs")), "_local/x");
    assert_eq!(ids(&get(&server, EVE, "/db/_local_docs")), "");
    let keys = json!({"keys": ["_local/x"]});
    let rows = ok(
        &server,
        BOB,
        "POST",
        "/db/_local_docs?include_docs=true",
        &keys,
    );
    assert_eq!(rows["rows"][0]["doc"]["v"], 2);
}
