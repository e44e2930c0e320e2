//! Filters, validation functions and linked documents, where they go wrong.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

/// A server with a design document and documents `a`, `b`, `c`, and `gone`, which is deleted.
fn with_design(settings: &str, design: &Value) -> (Running, Connection) {
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    call(&mut connection, "PUT", "/db/_design/d", design);
    let docs = json!([
        {"_id": "a", "k": 1}, {"_id": "b", "k": [1], "t": "\u{e9}"}, {"_id": "c", "k": null},
        {"_id": "gone", "_deleted": true, "k": 2},
    ]);
    let docs = json!({"docs": docs});
    call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    (server, connection)
}

fn send(connection: &mut Connection, method: &str, path: &str, body: &Value) -> Reply {
    connection.send(method, path, &[ADMIN, JSON], &body.to_string())
}

fn parsed(reply: &Reply) -> Value {
    serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{reply:?}"))
}

/// Ids of a feed.
fn ids(feed: &Value) -> Vec<String> {
    let results = feed["results"].as_array().unwrap().iter();
    let ids = results.map(|change| change["id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[test]
fn a_filter_that_fails_says_why_before_the_feed_begins() {
    let design = json!({
        "filters": {
            "type": "function (doc) { return doc.k.length > 0 }",
            "word": "function (doc) { throw 'not this one' }",
        },
        "language": "javascript",
    });
    let (_server, mut connection) = with_design("", &design);
    for feed in ["normal", "longpoll", "continuous", "eventsource"] {
        for (filter, reason) in [
            (
                "type",
                "TypeError: cannot read property 'length' of undefined",
            ),
            ("word", "not this one"),
        ] {
            let path = format!("/db/_changes?feed={feed}&timeout=1&filter=d/{filter}");
            let reply = connection.send("GET", &path, &[ADMIN], "");
            let expected = json!({"error": "script_error", "reason": reason});
            assert_eq!((reply.status, parsed(&reply)), (400, expected), "{path}");
        }
    }
    let erlang = json!({"language": "erlang", "views": {"v": {"map": "fun() -> ok end."}}});
    call(&mut connection, "PUT", "/db/_design/e", &erlang);
    let path = "/db/_changes?filter=_view&view=e/v";
    let reply = connection.send("GET", path, &[ADMIN], "");
    assert_eq!(parsed(&reply)["error"], "compilation_error");
}

#[test]
fn feeds_with_filters_are_whole_in_every_form() {
    let design = json!({"filters": {"f": "function (doc, req) { return doc._id < req.query.to }"}});
    let (_server, mut connection) = with_design("", &design);
    for (query, expected) in [
        ("to=c", vec!["a", "b"]),
        ("to=c&limit=1", vec!["a"]),
        ("to=c&descending=true", vec!["b", "a"]),
        ("to=A", vec![]),
        ("to=z&since=now", vec![]),
    ] {
        for feed in ["normal", "longpoll"] {
            let path = format!("/db/_changes?feed={feed}&timeout=1&filter=d/f&{query}");
            // "_design/d" stands before small letters.
            let feed = call(&mut connection, "GET", &path, &Value::Null);
            let mut found = ids(&feed);
            found.retain(|id| id != "_design/d");
            if !query.contains("limit") {
                assert_eq!(found, expected, "{path}: {feed}");
            }
            assert!(feed["last_seq"].is_string(), "{feed}");
        }
    }
    let path = "/db/_changes?feed=continuous&timeout=1&filter=d/f&to=c&limit=2";
    let reply = connection.send("GET", path, &[ADMIN], "");
    let lines: Vec<_> = reply.body.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].contains("\"_design/d\"") && lines[1].contains("\"a\""),
        "{lines:?}"
    );
    assert!(lines[2].starts_with("{\"last_seq\":"), "{lines:?}");
}

#[test]
fn filters_by_view_choose_the_same_with_and_without_an_engine() {
    let maps = [
        "function (doc) { emit(doc._id) }",
        "function (doc) { if (doc.k) emit(doc.k) }",
        "function (doc) { if (doc.k.length) emit(1) }",
        "function (doc) { if (doc.t.toUpperCase() === '\u{c9}') emit(1) }",
        "function (doc) { if (!doc._deleted && doc._rev) emit(doc._rev) }",
        "function (doc) { if (doc._deleted) emit(null, null) }",
        "function (doc) { emit(1); throw 'no' }",
        "function (doc) { if (require('views/lib/m').good(doc)) emit(1) }",
        "doc => { for (const k of doc.k) emit(k) }",
    ];
    let mut views: serde_json::Map<_, _> = (0..)
        .zip(maps)
        .map(|(n, map): (u32, _)| (format!("v{n}"), json!({"map": map})))
        .collect();
    let module = "exports.good = function (doc) { return doc.k === null }";
    views.insert("lib".into(), json!({"m": module}));
    let design = json!({"views": views});
    let feeds = ["true", "false"].map(|compile| {
        let settings = format!("[views]\ncompile = {compile}\n");
        let (_server, mut connection) = with_design(&settings, &design);
        let feed = |n: usize| {
            let path = format!("/db/_changes?filter=_view&view=d/v{n}&style=all_docs");
            ids(&call(&mut connection, "GET", &path, &Value::Null))
        };
        (0..maps.len()).map(feed).collect::<Vec<_>>()
    });
    assert_eq!(feeds[0], feeds[1]);
    let design = "_design/d";
    let expected = [
        vec![design, "a", "b", "c", "gone"],
        vec!["a", "b", "gone"],
        vec!["b"],
        vec!["b"],
        vec![design, "a", "b", "c"],
        vec!["gone"],
        vec![],
        vec!["c"],
        vec!["b"],
    ];
    assert_eq!(feeds[0], expected);
}

#[test]
fn rows_come_with_the_documents_that_their_values_name() {
    let map = "function (doc) { if (doc._id !== 'a') return; emit(0, {_id: 'none'}); \
        emit(1, {_id: 'b'}); emit(2, {_id: 'b', _rev: '1-00'}); emit(3, {_id: 'gone'}); \
        emit(4, {_id: ''}); emit(5, 'b'); emit(6, {id: 'b'}); emit(7, {_id: doc._id, _rev: doc._rev}); \
        emit(8, ['b']); emit(9, null); emit(10, {_id: 'c', other: 1}) }";
    let (_server, mut connection) = with_design("", &json!({"views": {"v": {"map": map}}}));
    let path = "/db/_design/d/_view/v?include_docs=true";
    let answer = call(&mut connection, "GET", path, &Value::Null);
    let rows = answer["rows"].as_array().unwrap().iter();
    let docs: Vec<_> = rows
        .map(|row| row["doc"]["_id"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(
        docs,
        ["-", "b", "-", "-", "-", "a", "a", "a", "a", "a", "c"]
    );
    // A linked document is looked up by the query, not by the map function.
    call(&mut connection, "PUT", "/db/none", &json!({"late": true}));
    let answer = call(
        &mut connection,
        "GET",
        &format!("{path}&key=0"),
        &Value::Null,
    );
    assert_eq!(answer["rows"][0]["doc"]["late"], true);
}

/// A validation function that obeys the document.
fn validation() -> Value {
    let validate = "function (now, old, user, security) { \
        if (now.do === 'text') throw 'text'; \
        if (now.do === 'object') throw {forbidden: {a: 1}}; \
        if (now.do === 'login') throw {unauthorized: 'who?'}; \
        if (now.do === 'both') throw {forbidden: 'f', unauthorized: 'u'}; \
        if (now.do === 'error') throw new Error('e'); \
        if (now.do === 'type') now.a.b; \
        if (now.do === 'false') return false; \
        if (now.do === 'see') throw {forbidden: JSON.stringify([old, user, security, now._deleted])}; \
        if (now._deleted && old.do === 'kept') throw {forbidden: 'kept'} }";
    json!({"validate_doc_update": validate})
}

#[test]
fn validation_functions_refuse_in_their_own_words() {
    let (_server, mut connection) = with_design("", &validation());
    for (what, status, error, reason) in [
        (
            "text",
            400,
            "script_error",
            "validate_doc_update of _design/d: text",
        ),
        ("object", 403, "forbidden", "{\"a\":1}"),
        ("login", 401, "unauthorized", "who?"),
        ("both", 403, "forbidden", "f"),
        (
            "error",
            400,
            "script_error",
            "validate_doc_update of _design/d: Error: e",
        ),
        (
            "type",
            400,
            "script_error",
            "validate_doc_update of _design/d: TypeError: cannot read property 'b' of undefined",
        ),
    ] {
        let expected = json!({"error": error, "reason": reason});
        let reply = send(&mut connection, "PUT", "/db/new", &json!({"do": what}));
        assert_eq!((reply.status, parsed(&reply)), (status, expected), "{what}");
    }
}

#[test]
fn validation_functions_see_the_user_and_the_edit() {
    let (_server, mut connection) = with_design("", &validation());
    let security = json!({"admins": {"names": ["x"], "roles": []}});
    call(&mut connection, "PUT", "/db/_security", &security);
    // The return value has no effect, and other documents of the same request are written.
    let docs = json!({"docs": [{"_id": "o", "do": "false"}, {"do": "object"}, {"_id": "k", "do": "kept"}]});
    let outcomes = call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    assert_eq!(
        (
            &outcomes[0]["ok"],
            &outcomes[1]["error"],
            &outcomes[2]["ok"]
        ),
        (&json!(true), &json!("forbidden"), &json!(true))
    );
    let rev = outcomes[2]["rev"].as_str().unwrap();
    let path = format!("/db/k?rev={rev}");
    let reply = connection.send("DELETE", &path, &[ADMIN], "");
    assert_eq!(
        (reply.status, &parsed(&reply)["reason"]),
        (403, &json!("kept"))
    );
    let reply = send(&mut connection, "PUT", &path, &json!({"do": "see"}));
    let seen: Value = serde_json::from_str(parsed(&reply)["reason"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&seen[0]["do"], &seen[0]["_rev"]),
        (&json!("kept"), &json!(rev))
    );
    let user = json!({"db": "db", "name": "adm", "roles": ["_admin"]});
    assert_eq!(seen[1], user);
    assert_eq!(seen[2]["admins"]["names"], json!(["x"]));
    assert_eq!(seen[3], Value::Null);
    // Those of all design documents count.
    let other =
        json!({"validate_doc_update": "function (now) { if (now.n) throw {forbidden: 'second'} }"});
    call(&mut connection, "PUT", "/db/_design/other", &other);
    let reply = send(&mut connection, "PUT", "/db/new", &json!({"n": 1}));
    assert_eq!(
        (reply.status, &parsed(&reply)["reason"]),
        (403, &json!("second"))
    );
    let reply = send(
        &mut connection,
        "PUT",
        "/db/new",
        &json!({"n": 1, "do": "login"}),
    );
    assert_eq!(reply.status, 401);
}

#[test]
fn looping_validations_do_not_hold_writers_of_other_documents() {
    let loops = "function (now) { if (now.loops) while (true) {} }";
    let design = json!({"validate_doc_update": loops});
    let settings = "[couchdb]\nos_process_timeout = 20000\n";
    let (server, mut connection) = with_design(settings, &design);
    // More than there are threads that write; none of them ever ends.
    let held: Vec<_> = (0..60)
        .map(|n| {
            let mut socket = std::net::TcpStream::connect(server.address).unwrap();
            let body = "{\"loops\":true}";
            let request = format!(
                "PUT /db/loop-{n} HTTP/1.1\r\nhost: varve.test\r\nauthorization: {}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                ADMIN.1,
                body.len()
            );
            std::io::Write::write_all(&mut socket, request.as_bytes()).unwrap();
            socket
        })
        .collect();
    for n in 0..5 {
        call(
            &mut connection,
            "PUT",
            &format!("/db/good-{n}"),
            &json!({"n": n}),
        );
    }
    let bulk = json!({"docs": [{"_id": "x"}, {"_id": "y"}]});
    call(&mut connection, "POST", "/db/_bulk_docs", &bulk);
    drop(held);
}
