//! Views, `_find` and functions of design documents, over the documents of a user.

use super::{ANN, BOB, EVE, Login, get, ids, ok, put, refusal, send, with_access};
use crate::client::{ADMIN, Connection, Running};
use serde_json::{Value, json};

const BY_N: &str = "function (doc) { emit(doc.n, doc.n); }";

fn with_view() -> Running {
    let server = with_access();
    let design = json!({"views": {"n": {"map": BY_N, "reduce": "_sum"}}});
    put(&server, ADMIN, "_design/d", &design);
    server
}

fn rows(server: &Running, by: Login) -> String {
    ids(&get(server, by, "/db/_design/d/_view/n?reduce=false"))
}

#[test]
fn a_view_follows_the_readers_of_documents() {
    let server = with_view();
    let rev = put(&server, ANN, "a", &json!({"_access": ["ann"], "n": 1}));
    put(&server, BOB, "b", &json!({"_access": ["team"], "n": 2}));
    assert_eq!(
        (rows(&server, ANN), rows(&server, BOB)),
        ("a b".into(), "b".into())
    );
    assert_eq!(rows(&server, EVE), "");
    // Shared, with all that the user may do.
    let shared = json!({"_access": ["ann", "eve"], "_rev": rev, "n": 3});
    let rev = put(&server, ANN, "a", &shared);
    assert_eq!(
        (rows(&server, ANN), rows(&server, EVE)),
        ("b a".into(), "a".into())
    );
    let sum = get(&server, EVE, "/db/_design/d/_view/n");
    assert_eq!(sum["rows"], json!([{"key": null, "value": 3}]));
    // An admin takes it away; its rows go, also where nobody asks in between.
    let narrowed = json!({"_access": ["ann"], "_rev": rev, "n": 3});
    let rev = put(&server, ADMIN, "a", &narrowed);
    assert_eq!(
        (rows(&server, ANN), rows(&server, EVE)),
        ("b a".into(), "".into())
    );
    let path = format!("/db/a?rev={rev}");
    ok(&server, ANN, "DELETE", &path, &Value::Null);
    assert_eq!(
        (rows(&server, ANN), rows(&server, ADMIN)),
        ("b".into(), "b".into())
    );
    // A role that a user loses shows nothing any more.
    super::set_roles(&server, "ann", &json!([]));
    assert_eq!(rows(&server, ANN), "");
}

#[test]
fn sequences_and_tags_of_views_tell_nothing_of_others() {
    let server = with_view();
    put(&server, EVE, "e", &json!({"_access": ["eve"], "n": 1}));
    let told = || {
        let paths = [
            "/db/_design/d/_view/n?reduce=false&update_seq=true",
            "/db/_design/d/_view/n?update_seq=true",
            "/db/_design/d/_view/n?group=true&update_seq=true&update=false",
            "/db/_design/d/_view/n?reduce=false&include_docs=true",
        ];
        paths.map(|path| {
            let reply = send(&server, EVE, "GET", path, &Value::Null);
            assert_eq!((reply.status, reply.header("etag")), (200, None), "{path}");
            reply.body
        })
    };
    let before = told();
    put(&server, ANN, "a", &json!({"_access": ["ann"], "n": 1}));
    rows(&server, ADMIN);
    put(&server, ANN, "b", &json!({"_access": ["ann"], "n": 1}));
    assert_eq!(told(), before);
    let last = get(&server, EVE, "/db/_changes")["last_seq"].clone();
    let seq = get(
        &server,
        EVE,
        "/db/_design/d/_view/n?reduce=false&update_seq=true",
    );
    assert_eq!(seq["update_seq"], last);
    let admins = send(&server, ADMIN, "GET", "/db/_design/d/_view/n", &Value::Null);
    assert!(admins.header("etag").is_some());
}

#[test]
fn clients_with_other_rights_share_a_build_and_not_its_rows() {
    let server = with_access();
    for n in 0..200 {
        let name = if n % 2 == 0 { "ann" } else { "eve" };
        put(
            &server,
            ADMIN,
            &format!("{name}{n}"),
            &json!({"_access": [name], "n": n}),
        );
    }
    for round in 0..5 {
        // Another map function each time, so that no index is there.
        let map = format!(
            "function (doc) {{ var s = 0; for (var i = 0; i < 1000; i++) s += i; emit(doc.n, {round}); }}"
        );
        put(
            &server,
            ADMIN,
            &format!("_design/r{round}"),
            &json!({"views": {"n": {"map": map}}}),
        );
        let asking: Vec<_> = [ANN, EVE, ADMIN, BOB, EVE, ANN]
            .into_iter()
            .map(|by| {
                let mut client = Connection::open(server.address);
                let path = format!("/db/_design/r{round}/_view/n");
                std::thread::spawn(move || (by, client.send("GET", &path, &[by], "")))
            })
            .collect();
        for asking in asking {
            let (by, reply) = asking.join().unwrap();
            let found = |name: &str| reply.body.matches(&format!("\"id\":\"{name}")).count();
            let expected = match by {
                ADMIN => (100, 100),
                ANN => (100, 0),
                EVE => (0, 100),
                _ => (0, 0),
            };
            assert_eq!((found("ann"), found("eve")), expected, "{}", reply.body);
        }
    }
}

#[test]
fn design_documents_of_users_are_data() {
    let server = with_view();
    put(&server, BOB, "b", &json!({"_access": ["bob"], "n": 2}));
    let design = json!({
        "_access": ["ann"],
        "language": "javascript",
        "views": {"n": {"map": BY_N}},
        "shows": {"s": "function (doc) { return toJSON(doc); }"},
        "filters": {"f": "function () { return true; }"},
    });
    put(&server, ANN, "_design/own", &design);
    let index = json!({"_access": ["ann"], "language": "query", "views": {
        "i": {"map": {"fields": {"n": "asc"}}, "reduce": "_count", "options": {"def": {"fields": ["n"]}}}}});
    put(&server, ANN, "_design/index", &index);
    for by in [ANN, ADMIN] {
        for path in ["_view/n", "_view/n?update=false", "_show/s/b"] {
            let path = format!("/db/_design/own/{path}");
            let (status, error) = refusal(&server, by, "GET", &path, &Value::Null);
            assert_eq!((status, error.as_str()), (404, "not_found"), "{path}");
        }
        let filtered = refusal(
            &server,
            by,
            "GET",
            "/db/_changes?filter=own/f",
            &Value::Null,
        );
        assert_eq!(filtered.0, 404);
        let indexes = get(&server, by, "/db/_index");
        assert_eq!(indexes["total_rows"], 1, "{indexes}");
        let found = ok(
            &server,
            by,
            "POST",
            "/db/_explain",
            &json!({"selector": {"n": 1}}),
        );
        assert_eq!(found["index"]["name"], "_all_docs");
    }
    // Nor can a user write or change one that counts.
    let plain = json!({"views": {"n": {"map": BY_N}}});
    for id in ["_design/d", "_design/mine"] {
        let (status, _) = refusal(&server, ANN, "PUT", &format!("/db/{id}"), &plain);
        assert_eq!(status, 403);
    }
    let new = json!({"index": {"fields": ["n"]}});
    let made = refusal(&server, ANN, "POST", "/db/_index", &new);
    assert_eq!(made, (403, "forbidden".to_owned()));
}

#[test]
fn finding_reads_the_index_of_the_users_names() {
    let server = with_access();
    let new = json!({"index": {"fields": ["n"]}, "ddoc": "byn", "name": "n"});
    ok(&server, ADMIN, "POST", "/db/_index", &new);
    for n in 0..300 {
        let access = if n % 100 == 7 {
            json!(["eve", "_users"])
        } else {
            json!(["ann"])
        };
        put(
            &server,
            ADMIN,
            &format!("d{n}"),
            &json!({"_access": access, "n": n}),
        );
    }
    let query =
        json!({"selector": {"n": {"$gte": 0}}, "sort": [{"n": "desc"}], "execution_stats": true});
    let found = ok(&server, EVE, "POST", "/db/_find", &query);
    let seen: Vec<_> = found["docs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|doc| doc["_id"].clone())
        .collect();
    assert_eq!(seen, ["d207", "d107", "d7"]);
    let stats = &found["execution_stats"];
    assert_eq!(
        (&stats["total_keys_examined"], &stats["total_docs_examined"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(found.get("warning"), None);
    let explained = ok(&server, EVE, "POST", "/db/_explain", &query);
    assert_eq!(explained["index"]["ddoc"], "_design/byn");
    // Pages go on where the last one ended, among the user's own.
    let mut page = query.clone();
    page["limit"] = json!(2);
    let first = ok(&server, EVE, "POST", "/db/_find", &page);
    page["bookmark"] = first["bookmark"].clone();
    let second = ok(&server, EVE, "POST", "/db/_find", &page);
    assert_eq!(second["docs"].as_array().unwrap().len(), 1);
    assert_eq!(second["docs"][0]["_id"], "d7");
}

#[test]
fn functions_see_and_write_what_their_user_may() {
    let server = with_access();
    put(
        &server,
        ADMIN,
        "_design/d",
        &json!({
            "shows": {"s": "function (doc, req) { return doc ? doc.text : 'nothing'; }"},
            "updates": {"u": "function (doc, req) {
                var is_new = !doc;
                doc = doc || {_id: req.id, _access: [req.userCtx.name]};
                doc.count = (doc.count || 0) + 1;
                return [doc, is_new ? 'made' : 'changed'];
            }"},
        }),
    );
    put(
        &server,
        BOB,
        "b",
        &json!({"_access": ["bob"], "text": "secret"}),
    );
    let show = |by| send(&server, by, "GET", "/db/_design/d/_show/s/b", &Value::Null).body;
    assert_eq!((show(BOB), show(ANN)), ("secret".into(), "nothing".into()));
    let update = |by, id: &str| {
        let path = format!("/db/_design/d/_update/u/{id}");
        let reply = send(&server, by, "POST", &path, &Value::Null);
        (reply.status, reply.body)
    };
    assert_eq!(update(ANN, "a"), (201, "made".into()));
    assert_eq!(update(ANN, "a"), (201, "changed".into()));
    assert_eq!(update(BOB, "b"), (201, "changed".into()));
    assert_eq!(update(ANN, "b").0, 403);
    assert_eq!(get(&server, BOB, "/db/b")["count"], 1);
    assert_eq!(get(&server, ANN, "/db/a")["count"], 2);
}
