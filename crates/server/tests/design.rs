//! Functions of design documents over HTTP.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

/// A server with the database `db`, its design document `d`, and a connection.
fn with_design(design: &Value) -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    call(&mut connection, "PUT", "/db/_design/d", design);
    (server, connection)
}

fn get(connection: &mut Connection, path: &str) -> Value {
    call(connection, "GET", path, &Value::Null)
}

fn send(connection: &mut Connection, method: &str, path: &str, body: &Value) -> Reply {
    connection.send(method, path, &[ADMIN, JSON], &body.to_string())
}

fn keys(answer: &Value) -> Vec<Value> {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| row["key"].clone()).collect()
}

#[test]
fn map_functions_require_modules_of_the_library_and_follow_its_changes() {
    let design = |factor: u32| {
        json!({
            "views": {
                "lib": {"a": {"b": format!("exports.times = function (n) {{ return n * {factor} }}")},
                    "c": "module.exports = require('./a/b').times"},
                "v": {"map": "function (doc) { if (doc.n) emit(require('views/lib/c')(doc.n)) }"},
                "outside": {"map": "function (doc) { emit(require('secret')) }"},
            },
            "secret": "module.exports = 1",
        })
    };
    let (server, mut connection) = with_design(&design(2));
    let doc = call(&mut connection, "PUT", "/db/one", &json!({"n": 5}));
    let rows = get(&mut connection, "/db/_design/d/_view/v");
    assert_eq!(keys(&rows), [json!(10)]);
    let outside = get(&mut connection, "/db/_design/d/_view/outside");
    assert!(keys(&outside).is_empty(), "{outside}");
    assert!(
        server.told()[0].contains("there is no \\\"secret\\\""),
        "{:?}",
        server.told()
    );
    let feed = get(&mut connection, "/db/_changes?filter=_view&view=d/v");
    assert_eq!(feed["results"][0]["changes"][0]["rev"], doc["rev"]);
    let signature = |connection: &mut Connection| {
        get(connection, "/db/_design/d/_info")["view_index"]["signature"].clone()
    };
    let before = signature(&mut connection);
    let rev = get(&mut connection, "/db/_design/d")["_rev"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/db/_design/d?rev={rev}");
    call(&mut connection, "PUT", &path, &design(3));
    assert_ne!(signature(&mut connection), before);
    assert_eq!(
        keys(&get(&mut connection, "/db/_design/d/_view/v")),
        [json!(15)]
    );
}

#[test]
fn filters_and_validation_require_any_text_of_their_design_document() {
    let (_server, mut connection) = with_design(&json!({
        "kinds": {"good": "module.exports = ['a', 'b']"},
        "words": {"no": "not this kind"},
        "filters": {
            "good": "function (doc, req) { return require('kinds/good').indexOf(doc.kind) >= 0 }",
            "id": "function (doc, req) { return this._id === '_design/d' && doc._id === 'one' }",
        },
        "validate_doc_update": "function (doc) { \
            if (require('kinds/good').indexOf(doc.kind) < 0) throw {forbidden: this.words.no} }",
    }));
    call(&mut connection, "PUT", "/db/one", &json!({"kind": "a"}));
    let reply = send(&mut connection, "PUT", "/db/two", &json!({"kind": "c"}));
    let refused = json!({"error": "forbidden", "reason": "not this kind"});
    assert_eq!(
        (reply.status, serde_json::from_str(&reply.body).unwrap()),
        (403, refused)
    );
    for filter in ["d/good", "d/id"] {
        let feed = get(&mut connection, &format!("/db/_changes?filter={filter}"));
        let found = feed["results"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{filter}: {feed}");
        assert_eq!(found[0]["id"], "one");
    }
    // The module of another revision is another module.
    let mut design = get(&mut connection, "/db/_design/d");
    design["kinds"]["good"] = json!("module.exports = ['c']");
    call(&mut connection, "PUT", "/db/_design/d", &design);
    call(&mut connection, "PUT", "/db/two", &json!({"kind": "c"}));
    assert_eq!(
        send(&mut connection, "PUT", "/db/three", &json!({"kind": "a"})).status,
        403
    );
    let feed = get(&mut connection, "/db/_changes?filter=d/good");
    assert_eq!(feed["results"][0]["id"], "two");
}

/// The functions of CouchDB's own documentation and tests, in other words.
fn updates() -> Value {
    json!({
        "updates": {
            "hello": "function (doc, req) { if (doc) { doc.world = 'hello'; doc.by = req.userCtx.name; return [doc, 'changed'] } \
                if (req.id) return [{_id: req.id, at: req.id}, '<p>new</p>']; return [null, '<p>empty</p>'] }",
            "bump": "function (doc, req) { doc.n = (doc.n || 0) + 1; \
                return [doc, {headers: {'X-Foo': 'bar', 'Content-Length': '9'}, body: '<h1>' + doc.n + '</h1>'}] }",
            "set": "function (doc, req) { doc[req.query.field || req.form.field] = req.query.value || req.form.value; return [doc, 'ok'] }",
            "uuid": "function (doc, req) { return [{_id: req.uuid}, req.uuid] }",
            "see": "function (doc, req) { return [null, {json: [req, doc]}] }",
            "code": "function (doc, req) { return [doc, {code: 302, headers: {Location: '/there'}}] }",
            "json": "function (doc, req) { return [null, {code: 400, json: {error: 'missed', reason: 'no doc'}}] }",
            "bytes": "function (doc, req) { return [null, {headers: {'Content-Type': 'image/x'}, base64: 'AP//aGk='}] }",
            "lib": "function (doc, req) { return [{_id: require('names/one')}, this.names.one] }",
            "noid": "function (doc, req) { return [{a: 1}, 'x'] }",
            "none": "function (doc, req) { return [null, undefined] }",
            "nothing": "function (doc, req) {}",
            "throws": "function (doc, req) { throw new TypeError('no') }",
            "words": "function (doc, req) { throw ['error', 'teapot', 'short and stout'] }",
            "object": "function (doc, req) { throw {error: 'teapot', reason: 'spout'} }",
            "loop": "function (doc, req) { while (true) {} }",
            "odd": "function (doc, req) { return [null, {colour: 1}] }",
            "header": "function (doc, req) { return [null, {headers: {'a b': 'c'}}] }",
            "syntax": "function (doc, req) { return [",
            "delete": "function (doc, req) { return [{_id: doc._id, _rev: doc._rev, _deleted: true}, 'gone'] }",
        },
        "names": {"one": "module.exports = 'of-a-module'"},
        "validate_doc_update": "function (doc) { if (doc.bad) throw {forbidden: 'bad'} }",
    })
}

fn update(connection: &mut Connection, method: &str, path: &str, body: &str) -> Reply {
    let path = format!("/db/_design/d/_update/{path}");
    connection.send(method, &path, &[ADMIN], body)
}

#[test]
fn update_functions_make_and_change_documents() {
    let (_server, mut connection) = with_design(&updates());
    let reply = update(&mut connection, "POST", "hello", "");
    assert_eq!((reply.status, reply.body.as_str()), (200, "<p>empty</p>"));
    assert_eq!(
        reply.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(reply.header("x-couch-update-newrev"), None);
    let reply = update(&mut connection, "PUT", "hello/a%20b/c", "");
    assert_eq!((reply.status, reply.body.as_str()), (201, "<p>new</p>"));
    assert_eq!(reply.header("x-couch-id"), Some("a%20b%2Fc"));
    let doc = get(&mut connection, "/db/a%20b%2Fc");
    assert_eq!(reply.header("x-couch-update-newrev"), doc["_rev"].as_str());
    assert_eq!(doc["at"], "a b/c");
    let reply = update(&mut connection, "PUT", "hello/a%20b%2Fc", "");
    assert_eq!((reply.status, reply.body.as_str()), (201, "changed"));
    let doc = get(&mut connection, "/db/a%20b%2Fc");
    assert_eq!(
        (&doc["world"], &doc["by"], &doc["at"]),
        (&json!("hello"), &json!("adm"), &json!("a b/c"))
    );
    for n in 1..3 {
        let reply = update(&mut connection, "POST", "bump/a%20b%2Fc", "");
        assert_eq!((reply.status, reply.header("x-foo")), (201, Some("bar")));
        assert_eq!(reply.body, format!("<h1>{n}</h1>"));
    }
    update(
        &mut connection,
        "PUT",
        "set/a%20b%2Fc?field=t&value=x%26y",
        "",
    );
    let form = [ADMIN, ("content-type", "application/x-www-form-urlencoded")];
    connection.send(
        "POST",
        "/db/_design/d/_update/set/a%20b%2Fc",
        &form,
        "field=f&value=1+2%2B3",
    );
    let doc = get(&mut connection, "/db/a%20b%2Fc");
    assert_eq!(
        (&doc["t"], &doc["f"], &doc["n"]),
        (&json!("x&y"), &json!("1 2+3"), &json!(2))
    );
    let reply = update(&mut connection, "POST", "uuid", "");
    assert_eq!(reply.header("x-couch-id"), Some(reply.body.as_str()));
    get(&mut connection, &format!("/db/{}", reply.body));
    let reply = update(&mut connection, "POST", "lib", "");
    assert_eq!(reply.header("x-couch-id"), Some("of-a-module"));
    assert_eq!(reply.body, "module.exports = 'of-a-module'");
    let reply = update(&mut connection, "POST", "delete/a%20b%2Fc", "");
    assert_eq!((reply.status, reply.body.as_str()), (201, "gone"));
    assert_eq!(
        connection.send("GET", "/db/a%20b%2Fc", &[ADMIN], "").status,
        404
    );
}

#[test]
fn update_functions_see_the_request() {
    let (_server, mut connection) = with_design(&updates());
    call(&mut connection, "PUT", "/db/x", &json!({"n": 1}));
    let body = r#"{"a": 1}"#;
    let reply = send_raw(&mut connection, "/db/_design/d/_update/see/x?q=1&q=2", body);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let seen: Value = serde_json::from_str(&reply.body).unwrap();
    let (request, doc) = (&seen[0], &seen[1]);
    let path = json!(["db", "_design", "d", "_update", "see", "x"]);
    for (name, expected) in [
        ("method", json!("POST")),
        ("id", json!("x")),
        ("query", json!({"q": "2"})),
        ("body", json!(body)),
        ("form", json!({})),
        ("path", path.clone()),
        ("requested_path", path),
        ("raw_path", json!("/db/_design/d/_update/see/x?q=1&q=2")),
        (
            "userCtx",
            json!({"db": "db", "name": "adm", "roles": ["_admin"]}),
        ),
        ("peer", json!("127.0.0.1")),
    ] {
        assert_eq!(request[name], expected, "{name}");
    }
    assert_eq!(request["headers"]["Content-Type"], "application/json");
    assert_eq!(request["headers"]["Authorization"], Value::Null);
    assert_eq!(request["info"]["db_name"], "db");
    assert_eq!(request["uuid"].as_str().unwrap().len(), 32);
    assert!(request["secObj"].is_object());
    assert_eq!((&doc["_id"], &doc["n"]), (&json!("x"), &json!(1)));
    assert_eq!(doc["_revisions"]["start"], 1);
}

fn send_raw(connection: &mut Connection, path: &str, body: &str) -> Reply {
    connection.send("POST", path, &[ADMIN, JSON], body)
}

#[test]
fn update_functions_choose_the_answer() {
    let (_server, mut connection) = with_design(&updates());
    let reply = update(&mut connection, "POST", "code", "");
    assert_eq!(
        (reply.status, reply.header("location")),
        (302, Some("/there"))
    );
    let reply = update(&mut connection, "POST", "json", "");
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (400, r#"{"error":"missed","reason":"no doc"}"#)
    );
    let path = "/db/_design/d/_update/bytes";
    let reply = connection.begin("POST", path, &[ADMIN], "");
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, Some("image/x"))
    );
    assert_eq!(connection.body(&reply), b"\0\xff\xffhi");
}

/// Request, and the status, error and beginning of the reason of the answer.
const FAILURES: &[(&str, u16, &str, &str)] = &[
    ("nope", 404, "not_found", "missing json key: nope"),
    (
        "noid",
        400,
        "illegal_docid",
        "Document id must not be empty",
    ),
    (
        "none",
        500,
        "render_error",
        "undefined response from update function",
    ),
    (
        "nothing",
        500,
        "render_error",
        "function raised error: TypeError",
    ),
    (
        "throws",
        500,
        "render_error",
        "function raised error: TypeError: no",
    ),
    ("words", 500, "teapot", "short and stout"),
    ("object", 500, "teapot", "spout"),
    (
        "loop",
        500,
        "render_error",
        "function raised error: a script ran longer than 5s",
    ),
    (
        "odd",
        500,
        "external_response_error",
        "Invalid data from external server: {\"colour\":1}",
    ),
    (
        "header",
        500,
        "render_error",
        "a response cannot have the header",
    ),
    ("syntax", 500, "compilation_error", "SyntaxError"),
    ("set/x?field=bad&value=1", 403, "forbidden", "bad"),
    ("set/x?field=_id&value=_x", 400, "illegal_docid", ""),
    (
        "set/x?field=_rev&value=1-abc",
        409,
        "conflict",
        "Document update conflict.",
    ),
    ("", 404, "update_error", "Invalid path."),
];

#[test]
fn update_functions_that_fail_say_why_and_change_nothing() {
    let (_server, mut connection) = with_design(&updates());
    call(&mut connection, "PUT", "/db/x", &json!({"n": 1}));
    let before = get(&mut connection, "/db")["update_seq"].clone();
    for (path, status, error, reason) in FAILURES {
        let reply = update(&mut connection, "POST", path, "");
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(
            (reply.status, &answer["error"]),
            (*status, &json!(error)),
            "{path}: {answer}"
        );
        assert!(
            answer["reason"].as_str().unwrap().starts_with(reason),
            "{path}: {answer}"
        );
    }
    assert_eq!(get(&mut connection, "/db")["update_seq"], before);
    let reply = update(&mut connection, "GET", "hello", "");
    assert_eq!(reply.status, 405);
    assert!(
        reply.body.contains("Update functions do not allow GET"),
        "{reply:?}"
    );
    assert_eq!(
        send(
            &mut connection,
            "POST",
            "/db/_design/none/_update/x",
            &json!({})
        )
        .status,
        404
    );
    assert_eq!(
        send(
            &mut connection,
            "COPY",
            "/db/_design/d/_update/x",
            &json!({})
        )
        .status,
        405
    );
}

#[test]
fn update_functions_write_only_for_writers() {
    let (server, mut connection) = with_design(&updates());
    let everybody = json!({"names": [], "roles": []});
    let security = json!({"members": everybody, "admins": everybody});
    call(&mut connection, "PUT", "/db/_security", &security);
    let reply = server.send("POST", "/db/_design/d/_update/see", &[], "");
    assert_eq!(reply.status, 200, "{reply:?}");
    let reply = server.send("POST", "/db/_design/d/_update/uuid", &[], "");
    assert_eq!(reply.status, 401, "{reply:?}");
    let security = json!({"members": {"names": ["nobody"], "roles": []}, "admins": everybody});
    call(&mut connection, "PUT", "/db/_security", &security);
    let reply = server.send("POST", "/db/_design/d/_update/see", &[], "");
    assert_eq!(reply.status, 401, "{reply:?}");
}

#[test]
fn views_that_do_not_compile_are_refused_and_other_functions_say_so_when_they_are_used() {
    let (_server, mut connection) = with_design(&json!({}));
    let wrong = "function (doc) {\n  return [;\n}";
    let map = "function (doc) { emit(1) }";
    for (kind, view) in [
        ("map", json!({"map": wrong})),
        ("reduce", json!({"map": map, "reduce": wrong})),
    ] {
        let design = json!({"views": {"ok": {"map": map}, "v": view}});
        let reply = send(&mut connection, "PUT", "/db/_design/no", &design);
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(
            (reply.status, &answer["error"]),
            (400, &json!("compilation_error"))
        );
        let reason = answer["reason"].as_str().unwrap();
        let begin =
            format!("Compilation of the {kind} function in the 'v' view failed: SyntaxError: ");
        assert!(
            reason.starts_with(&begin) && reason.contains(" at line 2 ("),
            "{reason}"
        );
    }
    // CouchDB stores these, and a replication must be able to bring them.
    let design = json!({"filters": {"f": wrong}, "updates": {"u": wrong}});
    call(&mut connection, "PUT", "/db/_design/w", &design);
    call(&mut connection, "PUT", "/db/one", &json!({}));
    for (method, path) in [
        ("GET", "/db/_changes?filter=w/f"),
        ("POST", "/db/_design/w/_update/u"),
    ] {
        let reply = send(&mut connection, method, path, &json!({}));
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(answer["error"], "compilation_error", "{path}: {answer}");
        assert!(
            answer["reason"].as_str().unwrap().contains("at line 2"),
            "{answer}"
        );
    }
    let design = json!({"validate_doc_update": wrong});
    call(&mut connection, "PUT", "/db/_design/v", &design);
    let reply = send(&mut connection, "PUT", "/db/two", &json!({}));
    assert_eq!(reply.status, 400);
    assert!(
        reply.body.contains("validate_doc_update of _design/v"),
        "{reply:?}"
    );
}
