//! Edits that users may make, and which databases have access.

use super::{ANN, BOB, EVE, get, ids, ok, put, refusal, send, with_access};
use crate::client::ADMIN;
use serde_json::{Value, json};

fn forbidden() -> (u16, String) {
    (403, "forbidden".to_owned())
}

#[test]
fn access_is_chosen_when_a_database_is_made_and_stays() {
    let server = with_access();
    let props = |path: &str| get(&server, ADMIN, path)["props"].clone();
    assert_eq!(props("/db"), json!({"access": true}));
    ok(&server, ADMIN, "PUT", "/plain?access=false", &Value::Null);
    assert_eq!(props("/plain"), json!({}));
    let wrong = [
        "/x?access=maybe",
        "/_users?access=true",
        "/x?access=true&partitioned=true",
    ];
    for path in wrong {
        let refused = refusal(&server, ADMIN, "PUT", path, &Value::Null);
        assert_eq!(refused, (400, "bad_request".to_owned()), "{path}");
    }
    put(&server, ANN, "a", &json!({"_access": ["ann"]}));
    let server = server.restart(|_| ());
    assert_eq!(get(&server, ADMIN, "/db")["props"], json!({"access": true}));
    assert_eq!(get(&server, ANN, "/db/a")["_access"], json!(["ann"]));
    assert_eq!(send(&server, EVE, "GET", "/db/a", &Value::Null).status, 404);
}

#[test]
fn documents_need_a_name_of_their_author() {
    let server = with_access();
    for doc in [
        json!({}),
        json!({"_access": []}),
        json!({"_access": ["bob"]}),
    ] {
        assert_eq!(
            refusal(&server, ANN, "PUT", "/db/a", &doc),
            forbidden(),
            "{doc}"
        );
        assert_eq!(
            refusal(&server, ANN, "POST", "/db", &doc),
            forbidden(),
            "{doc}"
        );
    }
    let malformed = json!({"_access": "ann"});
    assert_eq!(refusal(&server, ANN, "PUT", "/db/a", &malformed).0, 400);
    let docs = json!({"docs": [{"_id": "a"}, {"_id": "b", "_access": ["team"]}]});
    let done = ok(&server, ANN, "POST", "/db/_bulk_docs", &docs);
    assert_eq!(done[0]["error"], "forbidden");
    assert_eq!(done[1]["ok"], true);
    assert_eq!(
        refusal(&server, ANN, "PUT", "/db/c/f", &json!("data")),
        forbidden()
    );
    put(&server, ADMIN, "d", &json!({}));
    assert_eq!(ids(&get(&server, BOB, "/db/_all_docs")), "b");
    assert_eq!(ids(&get(&server, EVE, "/db/_all_docs")), "");
    assert_eq!(ids(&get(&server, ADMIN, "/db/_all_docs")), "b d");
}

#[test]
fn nothing_foreign_is_changed_whatever_the_request() {
    let server = with_access();
    let rev = put(&server, ANN, "a", &json!({"_access": ["ann"], "v": 1}));
    let stolen = json!({"_access": ["eve"], "_rev": rev});
    for (method, path, body) in [
        ("PUT", "/db/a", &json!({"_access": ["eve"]})),
        ("PUT", "/db/a", &stolen),
        (
            "PUT",
            "/db/a?new_edits=false",
            &json!({"_access": ["eve"], "_rev": "9-ff"}),
        ),
    ] {
        assert_eq!(
            refusal(&server, EVE, method, path, body),
            forbidden(),
            "{method} {path}"
        );
    }
    // Where an answer does not have to say that the id is taken, it is as if there were no such document.
    let tail = format!("?rev={rev}");
    for (method, tail) in [
        ("DELETE", tail.clone()),
        ("DELETE", format!("/f{tail}")),
        ("PUT", format!("/f{tail}")),
    ] {
        let told = |id: &str| {
            refusal(
                &server,
                EVE,
                method,
                &format!("/db/{id}{tail}"),
                &json!("x"),
            )
        };
        assert!(told("a").0 >= 400, "{method} {tail}");
        assert_eq!(told("a"), told("none"), "{method} {tail}");
    }
    put(&server, EVE, "e", &json!({"_access": ["eve"]}));
    let copy = |destination: &str| {
        let headers = [EVE, ("destination", destination)];
        server.send("COPY", "/db/e", &headers, "").status
    };
    assert_eq!(copy("a"), 403);
    assert_eq!(copy(&format!("a?rev={rev}")), 403);
    assert_eq!(copy("f"), 201);
    assert_eq!(get(&server, EVE, "/db/f")["_access"], json!(["eve"]));
    let digest = &rev[2..];
    let docs = json!({"new_edits": false, "docs": [
        {"_id": "a", "_access": ["eve"], "_revisions": {"start": 2, "ids": ["ee", digest]}},
        {"_id": "a", "_deleted": true, "_revisions": {"start": 2, "ids": ["ee", digest]}},
    ]});
    let done = ok(&server, EVE, "POST", "/db/_bulk_docs", &docs);
    assert_eq!(done.as_array().unwrap().len(), 2, "{done}");
    assert!(
        done.as_array()
            .unwrap()
            .iter()
            .all(|each| each["error"] == "forbidden"),
        "{done}"
    );
    let kept = get(&server, ANN, "/db/a");
    assert_eq!((&kept["v"], &kept["_rev"]), (&json!(1), &json!(rev)));
}

#[test]
fn attachments_and_their_documents_keep_their_names() {
    let server = with_access();
    let rev = put(&server, ANN, "a", &json!({"_access": ["team"], "v": 1}));
    let path = format!("/db/a/f?rev={rev}");
    assert_eq!(send(&server, BOB, "PUT", &path, &json!("data")).status, 201);
    let doc = get(&server, ANN, "/db/a");
    assert_eq!((&doc["_access"], &doc["v"]), (&json!(["team"]), &json!(1)));
    assert_eq!(
        send(&server, ANN, "GET", "/db/a/f", &Value::Null).body,
        "\"data\""
    );
    assert_eq!(
        send(&server, EVE, "GET", "/db/a/f", &Value::Null).status,
        404
    );
    let path = format!("/db/a/f?rev={}", doc["_rev"].as_str().unwrap());
    assert!(send(&server, EVE, "DELETE", &path, &Value::Null).status >= 400);
    assert_eq!(
        send(&server, ANN, "DELETE", &path, &Value::Null).status,
        200
    );
}

#[test]
fn design_documents_of_users_are_data() {
    let server = with_access();
    let refuses = "function () { throw {forbidden: 'by a user'}; }";
    let design = json!({"_access": ["eve"], "validate_doc_update": refuses,
        "filters": {"none": "function () { return false; }"},
        "views": {"v": {"map": "not even a function"}}});
    put(&server, EVE, "_design/e", &design);
    // It refuses no document, filters no feed and has no view, also for admins.
    put(&server, ANN, "a", &json!({"_access": ["ann"]}));
    for by in [EVE, ADMIN] {
        let filtered = refusal(
            &server,
            by,
            "GET",
            "/db/_changes?filter=e/none",
            &Value::Null,
        );
        assert_eq!(filtered.0, 404);
    }
    assert_eq!(
        refusal(&server, ADMIN, "GET", "/db/_design/e/_view/v", &Value::Null).0,
        404
    );
    assert_eq!(ids(&get(&server, EVE, "/db/_design_docs")), "_design/e");
    assert_eq!(ids(&get(&server, ANN, "/db/_design_docs")), "");
    // That of an admin counts for all.
    let design = json!({"validate_doc_update":
        "function (doc) { if (doc._access[0] == 'team') throw {forbidden: doc._access}; }",
        "filters": {"all": "function () { return true; }"}});
    put(&server, ADMIN, "_design/d", &design);
    let team = json!({"_access": ["team"]});
    assert_eq!(refusal(&server, BOB, "PUT", "/db/b", &team), forbidden());
    put(&server, BOB, "b", &json!({"_access": ["bob"]}));
    assert_eq!(ids(&get(&server, BOB, "/db/_changes?filter=d/all")), "b");
    // No user takes the place of it.
    let own = json!({"_access": ["eve"]});
    assert_eq!(
        refusal(&server, EVE, "PUT", "/db/_design/d", &own),
        forbidden()
    );
    assert_eq!(
        refusal(&server, EVE, "PUT", "/db/_design/x", &json!({})),
        forbidden()
    );
}
