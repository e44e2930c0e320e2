//! Documents, revisions and attachments.

use super::{JSON, ask, error, replicate, with_database};
use crate::client::ADMIN;
use serde_json::{Value, json};

#[test]
fn a_history_counts_more_than_the_revision_beside_it() {
    let server = with_database();
    replicate(
        &server,
        &json!([
            {"_id": "doc", "name": "zab", "_rev": "2-y", "_revisions": {"start": 1, "ids": ["y"]}},
            {"_id": "doc", "name": "zoot", "_rev": "2-x", "_revisions": {"start": 2, "ids": ["x", "y"]}},
        ]),
    );
    let expected = json!({"_id": "doc", "_rev": "2-x", "name": "zoot"});
    let found = ask(&server, "GET", "/db/doc?conflicts=true", &Value::Null);
    assert_eq!(found, (200, expected));
}

#[test]
fn a_revision_may_have_no_digest() {
    let server = with_database();
    replicate(&server, &json!([{"_id": "b", "_rev": "1-"}]));
    replicate(&server, &json!([{"_id": "b", "_rev": "1-x"}]));
    let found = ask(&server, "GET", "/db/b?conflicts=true", &Value::Null);
    let expected = json!({"_id": "b", "_rev": "1-x", "_conflicts": ["1-"]});
    assert_eq!(found, (200, expected));
    let found = ask(&server, "GET", "/db/b?rev=1-", &Value::Null);
    assert_eq!(found, (200, json!({"_id": "b", "_rev": "1-"})));
}

#[test]
fn the_history_of_a_local_document_is_its_revision() {
    let server = with_database();
    let body = json!({"_revisions": {"start": 0, "ids": ["1"]}, "a": 1});
    let written = ask(&server, "PUT", "/db/_local/x", &body);
    let expected = json!({"ok": true, "id": "_local/x", "rev": "0-2"});
    assert_eq!(written, (201, expected));
}

#[test]
fn more_copies_than_there_are_make_an_answer_202() {
    let server = with_database();
    let write = |path: &str| ask(&server, "PUT", path, &json!({})).0;
    assert_eq!(write("/db/a?w=4"), 202);
    assert_eq!(write("/db/b?w=1"), 201);
    assert_eq!(ask(&server, "POST", "/db?w=2", &json!({})).0, 202);
    let rev = ask(&server, "GET", "/db/a", &Value::Null).1["_rev"].clone();
    let path = format!("/db/a?w=2&rev={}", rev.as_str().unwrap());
    assert_eq!(ask(&server, "DELETE", &path, &Value::Null).0, 202);
}

#[test]
fn a_stub_says_rightly_since_when_its_attachment_is_there() {
    let server = with_database();
    let data = json!({"content_type": "text/plain", "data": "aGk="});
    let body = json!({"_attachments": {"f": data}});
    let rev = ask(&server, "PUT", "/db/att", &body).1["rev"].clone();
    let stub = |revpos: u64| {
        let stub = json!({"stub": true, "revpos": revpos});
        ask(
            &server,
            "PUT",
            "/db/att",
            &json!({"_rev": rev, "_attachments": {"f": stub}}),
        )
    };
    let reason = "Invalid attachment stub in att for f";
    assert_eq!(stub(10), (412, error("missing_stub", reason)));
    assert_eq!(stub(1).0, 201);
}

#[test]
fn attachments_of_unknown_revisions_are_refused() {
    let server = with_database();
    let data = json!({"content_type": "text/plain", "data": "aGk="});
    let body = json!({"_attachments": {"f": data}});
    let first = ask(&server, "PUT", "/db/att", &body).1["rev"].clone();
    let first = first.as_str().unwrap();
    let delete = |rev: &str| {
        let path = format!("/db/att/f?rev={rev}");
        ask(&server, "DELETE", &path, &Value::Null)
    };
    let unknown = (409, error("not_found", "missing_rev"));
    assert_eq!(delete("4-garbage"), unknown);
    assert_eq!(delete(first).0, 200);
    let old = (409, error("conflict", "Document update conflict."));
    assert_eq!(delete(first), old);
}

#[test]
fn a_lower_limit_of_revisions_counts_at_once() {
    let server = with_database();
    let mut rev = String::new();
    for n in 0..6 {
        let written = ask(&server, "PUT", &format!("/db/st{rev}"), &json!({"n": n})).1;
        rev = format!("?rev={}", written["rev"].as_str().unwrap());
    }
    let limit = server.send("PUT", "/db/_revs_limit", &[ADMIN, JSON], "5");
    assert_eq!(limit.status, 200);
    let found = ask(&server, "GET", "/db/st?revs=true", &Value::Null).1;
    let revisions = &found["_revisions"];
    assert_eq!(revisions["start"], 6);
    assert_eq!(revisions["ids"].as_array().unwrap().len(), 5);
}

#[test]
fn an_entry_without_an_id_leaves_the_others_to_be_answered() {
    let server = with_database();
    let written = ask(&server, "PUT", "/db/a", &json!({})).1;
    let body = json!({"docs": [{"rev": "1-x"}, {"id": "a"}, {"id": 1}]});
    let (status, found) = ask(&server, "POST", "/db/_bulk_get", &body);
    let missing =
        json!({"id": null, "rev": null, "error": "bad_request", "reason": "document id missed"});
    let wrong = json!({"id": 1, "rev": null, "error": "illegal_docid", "reason": "Document id must be a string"});
    let expected = json!({"results": [
        {"id": null, "docs": [{"error": missing}]},
        {"id": "a", "docs": [{"ok": {"_id": "a", "_rev": written["rev"]}}]},
        {"id": 1, "docs": [{"error": wrong}]},
    ]});
    assert_eq!((status, found), (200, expected));
}

#[test]
fn a_leaf_above_several_revisions_comes_once() {
    let server = with_database();
    let history = json!({"start": 3, "ids": ["c", "b", "a"]});
    replicate(
        &server,
        &json!([{"_id": "l", "_rev": "3-c", "_revisions": history}]),
    );
    let path = "/db/l?open_revs=%5B%221-a%22,%222-b%22%5D&latest=true";
    let headers = [ADMIN, ("accept", "application/json")];
    let found = server.send("GET", path, &headers, "");
    let found: Value = serde_json::from_str(&found.body).unwrap();
    assert_eq!(found, json!([{"ok": {"_id": "l", "_rev": "3-c"}}]));
}

#[test]
fn documents_come_in_parts_unless_other_types_are_accepted() {
    let server = with_database();
    let document =
        json!({"_attachments": {"t": {"content_type": "image/png", "data": "aGVsbG8="}}});
    let put = server.send("PUT", "/db/a", &[ADMIN], &document.to_string());
    assert_eq!(put.status, 201, "{}", put.body);
    for (accept, related, mixed) in [
        (None, "multipart/related", "multipart/mixed"),
        (Some("*/*"), "multipart/related", "multipart/mixed"),
        (Some("multipart/*"), "multipart/related", "multipart/mixed"),
        (
            Some("multipart/mixed"),
            "application/json",
            "multipart/mixed",
        ),
        (
            Some("multipart/related"),
            "multipart/related",
            "application/json",
        ),
        (
            Some("application/json"),
            "application/json",
            "application/json",
        ),
    ] {
        let mut headers = vec![ADMIN];
        headers.extend(accept.map(|accept| ("accept", accept)));
        for (path, kind) in [
            ("/db/a?attachments=true", related),
            ("/db/a?open_revs=all", mixed),
            // Without data there is nothing to send in parts.
            ("/db/a", "application/json"),
        ] {
            let found = server.send("GET", path, &headers, "");
            let found = found.header("content-type").unwrap_or("").to_owned();
            assert!(found.starts_with(kind), "{path} for {accept:?}: {found}");
        }
    }
}

#[test]
fn an_attachment_that_is_not_there_is_not_deleted() {
    let server = with_database();
    let document =
        json!({"_attachments": {"t": {"content_type": "text/plain", "data": "aGVsbG8="}}});
    let put = server.send("PUT", "/db/a", &[ADMIN], &document.to_string());
    let put: Value = serde_json::from_str(&put.body).unwrap();
    let rev = put["rev"].as_str().unwrap();
    let delete = |name: &str, rev: &str| {
        let reply = server.send("DELETE", &format!("/db/a/{name}?rev={rev}"), &[ADMIN], "");
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        (
            reply.status,
            body["reason"].as_str().unwrap_or("").to_owned(),
        )
    };
    let missing = (404, "Document is missing attachment".to_owned());
    assert_eq!(delete("none", rev), missing);
    // The revision comes first.
    assert_eq!(delete("none", "4-garbage").0, 409);
    assert_eq!(delete("t", rev).0, 200);
    assert_eq!(delete("t", rev).0, 409);
}
