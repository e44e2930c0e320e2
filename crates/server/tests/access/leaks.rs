//! Ways in which a user could learn of documents that they may not see.

use super::{ANN, BOB, EVE, get, ids, ok, put, refusal, send, with_access};
use crate::client::{ADMIN, Connection};
use serde_json::{Value, json};

#[test]
fn what_is_about_all_documents_is_for_admins() {
    let server = with_access();
    put(
        &server,
        ADMIN,
        "_design/d",
        &json!({
            "views": {"v": {"map": "function (doc) { emit(doc._id); }"}},
        }),
    );
    put(&server, ANN, "a", &json!({"_access": ["ann"]}));
    let none = Value::Null;
    let find = json!({"selector": {}});
    for (method, path, body) in [
        ("GET", "/db/_design/d/_info", &none),
        ("POST", "/db/_index", &json!({"index": {"fields": ["a"]}})),
        ("DELETE", "/db/_index/d/json/v", &none),
        ("POST", "/db/_index/_bulk_delete", &json!({"docids": ["d"]})),
        ("POST", "/db/_purge", &json!({"a": ["1-aa"]})),
        ("GET", "/db/_purged_infos", &none),
        ("GET", "/db/_purged_infos_limit", &none),
        ("GET", "/db/_shards", &none),
        ("GET", "/db/_shards/a", &none),
        ("POST", "/db/_sync_shards", &none),
        ("POST", "/db/_compact", &none),
        ("GET", "/db/_compression", &none),
        ("POST", "/db/_view_cleanup", &none),
        ("PUT", "/db/_security", &json!({})),
        ("PUT", "/db/_revs_limit", &json!(1)),
    ] {
        let refused = refusal(&server, ANN, method, path, body);
        assert_eq!(refused, (403, "forbidden".to_owned()), "{method} {path}");
    }
    assert_eq!(refusal(&server, ANN, "GET", "/_db_updates", &none).0, 403);
    let rows = get(&server, ADMIN, "/db/_design/d/_view/v");
    assert_eq!(ids(&rows), "a");
    assert_eq!(
        ok(&server, ADMIN, "POST", "/db/_find", &find)["docs"][0]["_id"],
        "a"
    );
}

/// All that a user is told of a database.
fn told(server: &crate::client::Running, by: super::Login) -> Vec<String> {
    let paths = [
        "/db",
        "/db/_all_docs?update_seq=true",
        "/db/_design_docs",
        "/db/_local_docs",
        "/db/_changes?style=all_docs",
        "/db/_changes?since=now",
        "/db/_changes?descending=true",
        "/db/_changes?limit=1",
        "/db/b",
        "/db/_local/x",
        "/db/_all_docs?startkey=%22z%22",
    ];
    let mut told = Vec::new();
    for path in paths {
        let reply = send(server, by, "GET", path, &Value::Null);
        let mut headers = reply.headers;
        let of_the_moment = ["date", "x-couch-request-id", "x-couchdb-body-time"];
        headers.retain(|(name, _)| !of_the_moment.contains(&name.as_str()));
        told.push(format!(
            "{path} {} {headers:?} {}",
            reply.status, reply.body
        ));
    }
    told
}

#[test]
fn whatever_others_do_a_user_is_told_the_same() {
    let server = with_access();
    put(&server, EVE, "e", &json!({"_access": ["eve"]}));
    put(
        &server,
        EVE,
        "f",
        &json!({"_access": ["eve"], "_attachments": {"f": {"data": "eA=="}}}),
    );
    let before = told(&server, EVE);
    let rev = put(&server, ANN, "b", &json!({"_access": ["ann"]}));
    put(&server, ANN, "_local/x", &json!({}));
    put(
        &server,
        ADMIN,
        "_design/d",
        &json!({"views": {"v": {"map": "function () {}"}}}),
    );
    // A conflict that is not eve's, on a document that is.
    put(
        &server,
        ADMIN,
        "e?new_edits=false",
        &json!({"_access": ["bob"], "_rev": "9-ff"}),
    );
    send(
        &server,
        ANN,
        "DELETE",
        &format!("/db/b?rev={rev}"),
        &Value::Null,
    );
    ok(
        &server,
        ADMIN,
        "POST",
        "/db/_purge",
        &json!({"e": ["9-ff"]}),
    );
    for (now, before) in told(&server, EVE).iter().zip(&before) {
        assert_eq!(now, before);
    }
    // While those who may see it are told.
    assert_eq!(ids(&get(&server, ANN, "/db/_changes")), "b");
    // Nor does an answer that a client keeps tell whether there was something new.
    let list = send(&server, EVE, "GET", "/db/_changes", &Value::Null);
    assert_eq!(list.header("etag"), None);
    let list = send(&server, EVE, "GET", "/db/_all_docs", &Value::Null);
    assert_eq!(list.header("etag"), None);
}

#[test]
fn feeds_that_wait_show_what_their_user_may_see() {
    let server = with_access();
    let since = get(&server, EVE, "/db/_changes")["last_seq"].clone();
    let path = format!(
        "/db/_changes?feed=longpoll&timeout=60000&since={}",
        since.as_str().unwrap()
    );
    let mut feed = Connection::open(server.address);
    let waiting = std::thread::spawn(move || feed.send("GET", &path, &[EVE], ""));
    put(&server, ANN, "a", &json!({"_access": ["ann"]}));
    put(&server, BOB, "b", &json!({"_access": ["bob"]}));
    put(&server, ADMIN, "c", &json!({}));
    put(&server, EVE, "e", &json!({"_access": ["eve"]}));
    let answer: Value = serde_json::from_str(&waiting.join().unwrap().body).unwrap();
    assert_eq!(ids(&answer), "e", "{answer}");
    for kind in ["continuous", "eventsource"] {
        let path = format!("/db/_changes?feed={kind}&limit=1&timeout=60000&include_docs=true");
        let text = send(&server, EVE, "GET", &path, &Value::Null).body;
        assert!(
            text.contains("\"id\":\"e\"") && !text.contains("\"id\":\"a\""),
            "{text}"
        );
    }
}

#[test]
fn a_client_without_a_login_sees_and_writes_nothing() {
    let server = with_access();
    put(&server, ANN, "a", &json!({"_access": ["_users"]}));
    put(&server, ADMIN, "b", &json!({}));
    let anonymous = ("x-nothing", "1");
    assert_eq!(ids(&get(&server, anonymous, "/db/_all_docs")), "");
    assert_eq!(ids(&get(&server, anonymous, "/db/_changes")), "");
    assert_eq!(get(&server, anonymous, "/db")["doc_count"], 0);
    assert_eq!(
        send(&server, anonymous, "GET", "/db/a", &Value::Null).status,
        404
    );
    let find = refusal(
        &server,
        anonymous,
        "POST",
        "/db/_find",
        &json!({"selector": {}}),
    );
    assert_eq!(find, (401, "unauthorized".to_owned()));
    let put = refusal(
        &server,
        anonymous,
        "PUT",
        "/db/x",
        &json!({"_access": ["_users"]}),
    );
    assert_eq!(put, (401, "unauthorized".to_owned()));
}
