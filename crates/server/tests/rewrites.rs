//! Rewrites, by rules and by functions.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

/// Everything that rewrites lead to.
fn design(rewrites: &Value) -> Value {
    json!({
        "_attachments": {"foo.txt": {"content_type": "text/plain", "data": "VGhpcyBpcyBhIGJhc2U2NCBlbmNvZGVkIHRleHQ="}},
        "rewrites": rewrites,
        "lists": {"form": "function () { var row; while (row = getRow()) send(toJSON(row.key) + ';'); return '' }"},
        "shows": {
            "welcome": "function (doc, req) { return 'Welcome ' + req.query.name }",
            "welcome2": "function (doc) { return 'Welcome ' + doc.name }",
            "path": "function (doc, req) { return toJSON([req.path, req.raw_path, req.method, req.headers['X-A']]) }",
        },
        "updates": {"hello": "function (doc, req) { if (!doc) return [{_id: req.id, name: req.id}, 'New']; \
            doc.by = req.userCtx.name; return [doc, 'hello doc'] }"},
        "views": {
            "basic": {"map": "function (doc) { if (doc.integer) emit(doc.integer, null) }"},
            "pairs": {"map": "function (doc) { if (doc.a) emit([doc.a, doc.b], null) }"},
        },
    })
}

fn with_rewrites(settings: &str, rewrites: &Value) -> (Running, Connection) {
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    for path in ["/db", "/other"] {
        call(&mut connection, "PUT", path, &Value::Null);
    }
    call(
        &mut connection,
        "PUT",
        "/db/_design/test",
        &design(rewrites),
    );
    let docs = (0..10).map(|n| json!({"_id": n.to_string(), "integer": n}));
    let docs = docs.chain([
        json!({"_id": "p", "a": "test", "b": {}}),
        json!({"_id": "q", "a": 1, "b": 2}),
    ]);
    let docs = json!({"docs": docs.collect::<Vec<_>>()});
    call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    (server, connection)
}

fn send(connection: &mut Connection, method: &str, path: &str) -> Reply {
    let path = format!("/db/_design/test/_rewrite{path}");
    connection.send(method, &path, &[ADMIN], "")
}

fn error(reply: &Reply) -> (u16, String) {
    let answer: Value = serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{reply:?}"));
    (reply.status, answer["error"].as_str().unwrap().to_owned())
}

fn rules() -> Value {
    json!([
        {"from": "foo", "to": "foo.txt"},
        {"from": "hello/:id", "to": "_update/hello/:id", "method": "PUT"},
        {"from": "/welcome", "to": "_show/welcome"},
        {"from": "/welcome/:name", "to": "_show/welcome", "query": {"name": ":name"}},
        {"from": "/welcome2", "to": "_show/welcome", "query": {"name": "user"}},
        {"from": "/welcome3/:name", "to": "_update/hello/:name", "method": "PUT"},
        {"from": "/welcome3/:name", "to": "_show/welcome2/:name", "method": "GET"},
        {"from": "basic", "to": "_view/basic"},
        {"from": "form/fixed", "to": "_list/form/basic", "query": {"startkey": 3, "endkey": 8}},
        {"from": "form/path/:start/:end", "to": "_list/form/basic",
            "query": {"startkey": ":start", "endkey": ":end"}, "formats": {"start": "int", "end": "int"}},
        {"from": "form/complex", "to": "_list/form/pairs", "query": {"key": ["test", {}]}},
        {"from": "form/basic", "to": "_list/form/basic"},
        {"from": "path/*", "to": "_show/path/*"},
        {"from": "/", "to": "_view/basic"},
        {"from": "/db/*", "to": "../../*"},
        {"from": "/loop/*", "to": "_rewrite/loop/x/*"},
        {"from": "/twice/:name", "to": "_rewrite/welcome/:name"},
        {"from": "/upload/:doc/:name", "to": "../../:doc/:name"},
    ])
}

#[test]
fn rules_lead_to_everything_in_the_database() {
    let (_server, mut connection) = with_rewrites("", &rules());
    for (path, body) in [
        ("/foo", "This is a base64 encoded text"),
        ("/welcome?name=user", "Welcome user"),
        ("/welcome/us%20er%2F", "Welcome us er/"),
        ("/welcome2", "Welcome user"),
        ("/twice/user", "Welcome user"),
        ("/form/fixed", "3;4;5;6;7;8;"),
        ("/form/fixed?startkey=4", "3;4;5;6;7;8;"),
        ("/form/path/3/5", "3;4;5;"),
        ("/form/basic?startkey=8", "8;9;"),
        ("/form/complex", "[\"test\",{}];"),
        (
            "/path/a%20b",
            "[[\"db\",\"_design\",\"test\",\"_show\",\"path\",\"a b\"],\"/db/_design/test/_show/path/a%20b\",\"GET\",null]",
        ),
    ] {
        let reply = send(&mut connection, "GET", path);
        assert_eq!((reply.status, reply.body.as_str()), (200, body), "{path}");
    }
    assert_eq!(
        send(&mut connection, "GET", "/foo").header("content-type"),
        Some("text/plain")
    );
    for path in ["/basic", "", "/"] {
        let rows: Value = serde_json::from_str(&send(&mut connection, "GET", path).body).unwrap();
        assert_eq!(rows["total_rows"], 9, "{path}");
    }
    let reply = send(&mut connection, "PUT", "/hello/p");
    assert_eq!((reply.status, reply.body.as_str()), (201, "hello doc"));
    assert_eq!(
        call(&mut connection, "GET", "/db/p", &Value::Null)["by"],
        "adm"
    );
    let reply = send(&mut connection, "PUT", "/welcome3/test");
    assert_eq!((reply.status, reply.body.as_str()), (201, "New"));
    assert_eq!(
        send(&mut connection, "GET", "/welcome3/test").body,
        "Welcome test"
    );
    let reply = send(&mut connection, "GET", "/db/_design/test?meta=true");
    assert!(reply.body.contains("_revs_info"), "{reply:?}");
    let head = connection.send("HEAD", "/db/_design/test/_rewrite/foo", &[ADMIN], "");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("29"))
    );
}

#[test]
fn bodies_go_along_whatever_the_other_request_makes_of_them() {
    let (_server, mut connection) = with_rewrites("", &rules());
    let path = "/db/_design/test/_rewrite/upload/doc/a.bin";
    let bytes = "x".repeat(300_000);
    let headers = [ADMIN, ("content-type", "application/octet-stream")];
    let reply = connection.send("PUT", path, &headers, &bytes);
    assert_eq!(reply.status, 201, "{reply:?}");
    let reply = connection.send("GET", "/db/doc/a.bin", &[ADMIN], "");
    assert_eq!(reply.body, bytes);
    let docs = json!({"docs": [{"_id": "bulk"}]}).to_string();
    let path = "/db/_design/test/_rewrite/db/_bulk_docs";
    assert_eq!(
        connection.send("POST", path, &[ADMIN, JSON], &docs).status,
        201
    );
    call(&mut connection, "GET", "/db/bulk", &Value::Null);
}

#[test]
fn what_no_rule_or_no_one_may_have_is_refused() {
    let settings = "[chttpd]\nrewrite_limit = 2\n";
    let (server, mut connection) = with_rewrites(settings, &rules());
    assert_eq!(
        error(&send(&mut connection, "GET", "/nothing")),
        (404, "not_found".into())
    );
    assert_eq!(
        error(&send(&mut connection, "DELETE", "/hello/p")),
        (404, "not_found".into())
    );
    let looping = send(&mut connection, "GET", "/loop/a");
    assert_eq!(error(&looping), (400, "bad_request".into()));
    assert!(
        looping.body.contains("Exceeded rewrite recursion limit"),
        "{looping:?}"
    );
    for _ in 0..5 {
        assert_eq!(
            send(&mut connection, "GET", "/twice/u").status,
            200,
            "counts begin anew"
        );
    }
    let outside = send(&mut connection, "GET", "/db/%2E%2E/other");
    assert_eq!(error(&outside), (500, "insecure_rewrite_rule".into()));
    assert_eq!(
        error(&send(&mut connection, "GET", "/basic?key=%5B")).0,
        400
    );
    assert_eq!(server.get("/db/_design/test/_rewrite/foo").status, 401);
}

/// Rewrites that cannot be followed, with the status and the error of the answer.
fn unusable() -> Vec<(Value, u16, &'static str)> {
    vec![
        (
            json!([{"from": "a", "to": "../../../_uuids"}]),
            500,
            "insecure_rewrite_rule",
        ),
        (json!([{"from": "a"}]), 500, "error"),
        (json!([{"from": 1, "to": "b"}]), 500, "rewrite_error"),
        (json!("function () { return [ }"), 500, "compilation_error"),
        (
            json!("function () { throw new Error('e') }"),
            500,
            "render_error",
        ),
        (
            json!("function () { throw {forbidden: 'no'} }"),
            403,
            "forbidden",
        ),
        (
            json!("function () { throw {unauthorized: 'who'} }"),
            401,
            "unauthorized",
        ),
        (json!("function () {}"), 404, "rewrite_error"),
        (
            json!("function () { return {path: 7} }"),
            500,
            "rewrite_error",
        ),
        (
            json!("function () { return {method: 'GET'} }"),
            500,
            "rewrite_error",
        ),
        (
            json!("function () { return {path: 'x', query: {a: 1}} }"),
            500,
            "rewrite_error",
        ),
        (
            json!("function () { return {code: 700} }"),
            500,
            "rewrite_error",
        ),
        (
            json!("function () { return {path: 'x', headers: {a: 'b\\r\\nc: d'}} }"),
            500,
            "render_error",
        ),
        (
            json!("function () { return {path: new Array(70000).join('x')} }"),
            500,
            "render_error",
        ),
    ]
}

#[test]
fn rewrites_that_cannot_be_followed_say_why() {
    let (_server, mut connection) = with_rewrites("", &rules());
    for (rewrites, status, word) in unusable() {
        call(
            &mut connection,
            "PUT",
            "/db/_design/bad",
            &json!({"rewrites": rewrites}),
        );
        let reply = connection.send("GET", "/db/_design/bad/_rewrite/a", &[ADMIN], "");
        assert_eq!(error(&reply), (status, word.into()), "{rewrites}");
        let rev = call(&mut connection, "GET", "/db/_design/bad", &Value::Null);
        let path = format!("/db/_design/bad?rev={}", rev["_rev"].as_str().unwrap());
        connection.send("DELETE", &path, &[ADMIN], "");
    }
    let none = connection.send("GET", "/db/_design/none/_rewrite/a", &[ADMIN], "");
    assert_eq!(error(&none), (404, "not_found".into()));
    call(&mut connection, "PUT", "/db/_design/e", &json!({}));
    let none = connection.send("GET", "/db/_design/e/_rewrite/a", &[ADMIN], "");
    assert_eq!(error(&none), (404, "rewrite_error".into()));
}

const FUNCTION: &str = "function (req) { var to = req.path[4]; \
    if (to === 'foo') return 'foo.txt'; \
    if (to === 'query') return {path: '_show/welcome', query: {name: 'a b&c'}}; \
    if (to === 'inline') return '_show/welcome?name=inline'; \
    if (to === 'put') return {path: '_update/hello/new%20one', method: 'PUT'}; \
    if (to === 'post') return {path: '_list/form/pairs', method: 'POST', query: {limit: '1'}, \
        headers: {'Content-type': 'application/json'}, body: JSON.stringify({keys: [[1, 2]]})}; \
    if (to === 'headers') return {path: '_show/path/x', headers: {'X-A': 'set', Authorization: 'Basic YTpi', Cookie: 'AuthSession=x'}}; \
    if (to === 'code') return {code: 451, body: '{}', headers: {'x-foo': 'bar', 'Content-Type': 'application/json'}}; \
    if (to === 'uuids') return '../../../_uuids'; \
    if (to === 'config') return {path: '../../../_node/_local/_config/log/level', method: 'PUT', body: '\"debug\"'}; \
    if (to === 'other') return {path: '../../../other/x', method: 'PUT', body: '{}'}; \
    if (to === 'own') return {path: '../../made', method: 'PUT', body: '{}', headers: {'Content-Type': 'application/json'}}; \
    if (to === 'up') return '../../../hg/x'; \
    if (to === 'slow') { for (var i = 0, n = 0; i < 3e6; i++) n += i; return 'foo.txt' } \
    if (to === 'seen') return {code: 200, body: JSON.stringify(Object.keys(req).sort())} }";

#[test]
fn functions_lead_anywhere_in_the_database_or_answer_themselves() {
    let (server, mut connection) = with_rewrites("", &json!(FUNCTION));
    let text = "This is a base64 encoded text";
    for (path, status, body) in [
        ("/foo", 200, text),
        ("/slow", 200, text),
        ("/query", 200, "Welcome a b&c"),
        ("/inline", 200, "Welcome inline"),
        ("/inline?x=1", 200, "Welcome inline"),
        ("/put", 201, "New"),
        ("/post", 200, "[1,2];"),
        ("/code", 451, "{}"),
        (
            "/seen",
            200,
            "[\"body\",\"cookie\",\"headers\",\"method\",\"path\",\"peer\",\"query\",\"raw_path\",\"requested_path\",\"secObj\",\"userCtx\"]",
        ),
    ] {
        let reply = send(&mut connection, "GET", path);
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (status, body),
            "{path}"
        );
    }
    let code = send(&mut connection, "GET", "/code");
    assert_eq!(
        (code.header("x-foo"), code.header("content-type")),
        (Some("bar"), Some("application/json"))
    );
    let headers = send(&mut connection, "GET", "/headers");
    assert!(headers.body.ends_with("\"GET\",\"set\"]"), "{headers:?}");
    call(&mut connection, "GET", "/db/new%20one", &Value::Null);
    let uuids = send(&mut connection, "GET", "/uuids");
    assert!(uuids.body.starts_with("{\"uuids\":["), "{uuids:?}");
    // An admin who follows a link does not change other things by that.
    for path in ["/config", "/other"] {
        assert_eq!(
            error(&send(&mut connection, "GET", path)),
            (500, "insecure_rewrite_rule".into()),
            "{path}"
        );
    }
    assert_eq!(server.send("GET", "/other/x", &[ADMIN], "").status, 404);
    assert_eq!(
        error(&send(&mut connection, "GET", "/up")).0,
        404,
        "repositories are no part of it"
    );
    assert_eq!(send(&mut connection, "GET", "/own").status, 201);
}

#[test]
fn a_rewritten_request_has_the_rights_of_its_sender() {
    let settings = "[chttpd]\nsecure_rewrites = false\n";
    let (server, mut connection) = with_rewrites(settings, &json!(FUNCTION));
    let empty = json!({"names": [], "roles": []});
    let open = json!({"members": empty, "admins": empty});
    call(&mut connection, "PUT", "/db/_security", &open);
    let path = |to: &str| format!("/db/_design/test/_rewrite/{to}");
    assert_eq!(server.get(&path("foo")).status, 200);
    for to in ["own", "put", "other", "config"] {
        assert_eq!(server.get(&path(to)).status, 401, "{to}");
    }
    assert_eq!(server.send("GET", "/db/made", &[ADMIN], "").status, 404);
    assert_eq!(
        send(&mut connection, "GET", "/other").status,
        201,
        "as the settings say"
    );
    let outside = json!({"rewrites": [{"from": "uuids", "to": "../../../_uuids"}]});
    call(&mut connection, "PUT", "/db/_design/o", &outside);
    let uuids = connection.send("GET", "/db/_design/o/_rewrite/uuids", &[ADMIN], "");
    assert!(uuids.body.starts_with("{\"uuids\":["), "{uuids:?}");
}
