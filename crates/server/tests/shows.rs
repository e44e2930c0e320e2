//! Show functions.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

fn shows() -> Value {
    json!({
        "shows": {
            "hello": "function (doc, req) { return (doc ? 'Hello' : req.id ? 'New' : 'Empty') + ' World' }",
            "name": "function (doc) { return doc ? {body: 'Just ' + doc.name} : {body: 'No such doc', code: 404} }",
            "json": "function (doc) { return {json: doc} }",
            "req": "function (doc, req) { return {json: req} }",
            "empty": "function () { return '' }",
            "id": "function (doc) { return doc._id }",
            "etag": "function () { return {headers: {Etag: 'skipped', Vary: 'x'}, body: 'something'} }",
            "list-api": "function () { start({'X-Couch-Test-Header': 'Yeah'}); send('Hey'); }",
            "bytes": "function () { return {base64: 'AP9oaQ==', headers: {'Content-Type': 'image/png'}} }",
            "provides": "function (doc) { registerType('foo', 'application/foo', 'application/x-foo'); \
                provides('html', function () { return 'Ha ha, you said \"' + doc.word + '\".' }); \
                provides('foo', function () { return 'foofoo' }) }",
            "throws": "function (doc, req) { if (req.query.as === 'error') throw new Error('e'); \
                if (req.query.as === 'pair') throw ['error', 'forbidden', 'not you']; \
                if (req.query.as === 'object') throw {error: 'teapot', reason: 'spout'}; \
                if (req.query.as === 'words') throw 'words'; return 7 }",
            "loop": "function () { while (true) {} }",
            "wide": "function () { var a = []; while (true) a.push(new Array(1000).join('x') + a.length) }",
            "slow": "function () { var n = 0; for (var i = 0; i < 3e6; i++) n += i; return 'done' }",
            "syntax": "function () { return [",
            "odd": "function () { return {colour: 1} }",
            "split": "function () { return {headers: {'X-A': 'a\\r\\nSet-Cookie: b'}} }",
            "lib": "function () { log('x'); return require('lib/one').name + toJSON([sum([1, 2]), isArray([])]) }",
            "code": "function () { return {code: 302, headers: {Location: '/there'}, stop: true} }",
        },
        "lib": {"one": "exports.name = 'one'"},
    })
}

fn with_shows(settings: &str) -> (Running, Connection) {
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    call(&mut connection, "PUT", "/db/_design/d", &shows());
    let doc = json!({"name": "Rusty", "word": "plankton"});
    call(&mut connection, "PUT", "/db/doc", &doc);
    (server, connection)
}

fn show(connection: &mut Connection, path: &str, headers: &[(&str, &str)]) -> Reply {
    let path = format!("/db/_design/d/_show/{path}");
    connection.send("GET", &path, &[&[ADMIN], headers].concat(), "")
}

#[test]
fn shows_answer_about_a_document_or_none() {
    let (_server, mut connection) = with_shows("");
    call(&mut connection, "PUT", "/db/a%2Fb", &json!({"name": "s"}));
    for (path, status, body) in [
        ("hello/doc", 200, "Hello World"),
        ("hello/none", 200, "New World"),
        ("hello", 200, "Empty World"),
        ("empty", 200, ""),
        ("name/doc", 200, "Just Rusty"),
        ("name/a/b", 200, "Just s"),
        ("name/a%2Fb", 200, "Just s"),
        ("name/none", 404, "No such doc"),
        ("lib", 200, "one[3,true]"),
        ("code", 302, ""),
        ("slow", 200, "done"),
        ("list-api/x", 200, "Hey"),
    ] {
        let reply = show(&mut connection, path, &[]);
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (status, body),
            "{path}"
        );
        assert_eq!(reply.header("vary"), Some("Accept"));
        assert_eq!(reply.header("content-security-policy"), Some("sandbox"));
        let media = match body {
            "" => "application/json",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(reply.header("content-type"), Some(media), "{path}");
    }
    let reply = show(&mut connection, "list-api/x", &[]);
    assert_eq!(reply.header("x-couch-test-header"), Some("Yeah"));
    let reply = connection.begin("GET", "/db/_design/d/_show/bytes", &[ADMIN], "");
    assert_eq!(reply.header("content-type"), Some("image/png"));
    assert_eq!(connection.body(&reply), b"\0\xffhi");
    let deleted = call(&mut connection, "GET", "/db/doc", &Value::Null);
    let path = format!("/db/doc?rev={}", deleted["_rev"].as_str().unwrap());
    connection.send("DELETE", &path, &[ADMIN], "");
    assert_eq!(show(&mut connection, "hello/doc", &[]).body, "New World");
}

#[test]
fn shows_see_the_whole_request() {
    let (_server, mut connection) = with_shows("");
    let path = "/db/_design/d/_show/req/doc?startkey=%5B1%5D&descending=true&q=a+b";
    let headers = [
        ADMIN,
        ("content-type", "application/x-www-form-urlencoded"),
        ("cookie", "a=1; b=\"two\""),
        ("x-foo", "bar"),
    ];
    let seen = |method: &str, connection: &mut Connection| -> Value {
        let reply = connection.send(method, path, &headers, "x=1&y=%C3%A9");
        assert_eq!(reply.status, 200, "{reply:?}");
        serde_json::from_str(&reply.body).unwrap()
    };
    let request = seen("POST", &mut connection);
    let segments = json!(["db", "_design", "d", "_show", "req", "doc"]);
    for (name, expected) in [
        ("method", json!("POST")),
        ("id", json!("doc")),
        ("body", json!("x=1&y=%C3%A9")),
        ("form", json!({"x": "1", "y": "\u{e9}"})),
        (
            "query",
            json!({"startkey": [1], "descending": true, "q": "a b"}),
        ),
        ("cookie", json!({"a": "1", "b": "two"})),
        ("path", segments.clone()),
        ("requested_path", segments),
        ("raw_path", json!(path)),
        ("peer", json!("127.0.0.1")),
        (
            "userCtx",
            json!({"db": "db", "name": "adm", "roles": ["_admin"]}),
        ),
    ] {
        assert_eq!(request[name], expected, "{name}");
    }
    assert_eq!(request["info"]["db_name"], "db");
    assert_eq!(request["uuid"].as_str().unwrap().len(), 32);
    assert!(request["secObj"].is_object());
    assert_eq!(request["headers"]["X-Foo"], "bar");
    assert_eq!(request["headers"]["Authorization"], Value::Null);
    let request = seen("DELETE", &mut connection);
    assert_eq!(
        (&request["method"], &request["form"]),
        (&json!("DELETE"), &json!({}))
    );
    let login = json!({"name": "adm", "password": "pass"}).to_string();
    let session = connection.send("POST", "/_session", &[JSON], &login);
    let cookie = session.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let headers = [("cookie", &*format!("{cookie}; a=1"))];
    let reply = connection.send("GET", "/db/_design/d/_show/req", &headers, "");
    let secret = cookie.split_once('=').unwrap().1;
    assert!(
        !reply.body.contains(secret) && reply.body.contains("\"cookie\":{\"a\":\"1\"}"),
        "{reply:?}"
    );
    let bad = show(&mut connection, "req?key=%5B", &[]);
    assert_eq!(bad.status, 400, "{bad:?}");
}

#[test]
fn the_type_that_the_client_takes_is_provided() {
    let (_server, mut connection) = with_shows("");
    for (path, accept, media, body) in [
        (
            "provides/doc",
            "text/html,application/atom+xml; q=0.9",
            "text/html; charset=utf-8",
            "Ha ha, you said \"plankton\".",
        ),
        (
            "provides/doc",
            "application/x-foo",
            "application/x-foo",
            "foofoo",
        ),
        (
            "provides/doc?format=foo",
            "text/html",
            "application/foo",
            "foofoo",
        ),
    ] {
        let reply = show(&mut connection, path, &[("accept", accept)]);
        assert_eq!(
            (reply.header("content-type"), reply.body.as_str()),
            (Some(media), body),
            "{path}"
        );
    }
    let reply = show(
        &mut connection,
        "provides/doc",
        &[("accept", "text/monkeys")],
    );
    let words = "Content-Type text/monkeys not supported, try one of: application/foo, \
                 application/x-foo, text/html; charset=utf-8";
    let expected = json!({"error": "not_acceptable", "reason": words});
    assert_eq!(
        (reply.status, serde_json::from_str(&reply.body).unwrap()),
        (406, expected)
    );
}

#[test]
fn a_known_answer_is_not_made_again() {
    let (server, mut connection) = with_shows("");
    let tag = |reply: &Reply| reply.header("etag").unwrap().to_owned();
    let first = tag(&show(&mut connection, "name/doc", &[]));
    let known = show(&mut connection, "name/doc", &[("if-none-match", &first)]);
    assert_eq!((known.status, tag(&known)), (304, first.clone()));
    let other = show(&mut connection, "name/doc", &[("accept", "text/html")]);
    assert_ne!(tag(&other), first);
    let anonymous = server.send("GET", "/db/_design/d/_show/name/doc", &[], "");
    assert_eq!(anonymous.status, 401);
    let own = show(&mut connection, "etag", &[]);
    assert!(
        tag(&own) != "skipped" && own.header("vary") == Some("Accept"),
        "{own:?}"
    );
    let doc = call(&mut connection, "GET", "/db/doc", &Value::Null);
    let changed = json!({"_rev": doc["_rev"], "name": "Crusty"});
    call(&mut connection, "PUT", "/db/doc", &changed);
    let second = show(&mut connection, "name/doc", &[("if-none-match", &first)]);
    assert_eq!((second.status, second.body.as_str()), (200, "Just Crusty"));
    let head = connection.send("HEAD", "/db/_design/d/_show/name/doc", &[ADMIN], "");
    assert_eq!((head.status, tag(&head)), (200, tag(&second)));
    let design = call(&mut connection, "GET", "/db/_design/d", &Value::Null);
    let mut changed = shows();
    changed["_rev"] = design["_rev"].clone();
    call(&mut connection, "PUT", "/db/_design/d", &changed);
    let third = show(
        &mut connection,
        "name/doc",
        &[("if-none-match", &tag(&second))],
    );
    assert_eq!(third.status, 200);
}

/// Path below `_show`, and the status, error and beginning of the reason of the answer.
const FAILURES: &[(&str, u16, &str, &str)] = &[
    ("", 404, "show_error", "Invalid path."),
    ("nope", 404, "not_found", "missing json key: nope"),
    ("id/none", 404, "not_found", "document not found"),
    (
        "id",
        500,
        "render_error",
        "function raised error: TypeError: cannot read property '_id' of null",
    ),
    (
        "throws/doc?as=error",
        500,
        "render_error",
        "function raised error: Error: e",
    ),
    (
        "throws/doc?as=words",
        500,
        "render_error",
        "function raised error: words",
    ),
    ("throws/doc?as=pair", 403, "forbidden", "not you"),
    ("throws/doc?as=object", 500, "teapot", "spout"),
    (
        "throws/doc",
        500,
        "render_error",
        "undefined response from show function",
    ),
    (
        "throws/none?as=pair",
        404,
        "not_found",
        "document not found",
    ),
    ("loop", 500, "os_process_error", "OS process timed out."),
    (
        "wide",
        500,
        "os_process_error",
        "a script needs more than 8388608 bytes of memory",
    ),
    ("syntax", 500, "compilation_error", "SyntaxError"),
    (
        "odd",
        500,
        "external_response_error",
        "Invalid data from external server: {\"colour\":1}",
    ),
    (
        "split",
        500,
        "render_error",
        "a response cannot have the header \"X-A\"",
    ),
];

#[test]
fn shows_that_fail_say_why() {
    let settings = "[couchdb]\nos_process_timeout = 3000\n[quickjs]\nmemory_limit_bytes = 8mb\n";
    let (_server, mut connection) = with_shows(settings);
    for (path, status, error, reason) in FAILURES {
        let reply = show(&mut connection, path, &[]);
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(
            (reply.status, answer["error"].as_str().unwrap()),
            (*status, *error),
            "{path}: {answer}"
        );
        assert!(
            answer["reason"].as_str().unwrap().starts_with(reason),
            "{path}: {answer}"
        );
        assert_eq!(reply.header("set-cookie"), None);
    }
    call(&mut connection, "PUT", "/db/_design/e", &json!({}));
    for (path, reason) in [
        ("e/_show/x", "missing json key: shows"),
        ("none/_show/x", "missing"),
    ] {
        let reply = connection.send("GET", &format!("/db/_design/{path}"), &[ADMIN], "");
        let expected = json!({"error": "not_found", "reason": reason});
        assert_eq!(
            (reply.status, serde_json::from_str(&reply.body).unwrap()),
            (404, expected)
        );
    }
}

#[test]
fn shows_are_for_readers() {
    let (server, mut connection) = with_shows("");
    let empty = json!({"names": [], "roles": []});
    let open = json!({"members": empty, "admins": empty});
    call(&mut connection, "PUT", "/db/_security", &open);
    let path = "/db/_design/d/_show/hello/doc";
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for (method, headers, body) in [
        ("GET", &[][..], ""),
        ("POST", &[JSON], "{}"),
        ("PUT", &form, "a=1"),
    ] {
        let reply = server.send(method, path, headers, body);
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (200, "Hello World"),
            "{method}"
        );
    }
    let closed = json!({"members": {"names": ["x"], "roles": []}, "admins": empty});
    call(&mut connection, "PUT", "/db/_security", &closed);
    assert_eq!(server.get(path).status, 401);
    let show = json!({"shows": {"f": "function () { return 'x' }"}});
    let mut users = Connection::open(server.address);
    users.send("PUT", "/_users", &[ADMIN], "");
    users.send(
        "PUT",
        "/_users/_design/d",
        &[ADMIN, JSON],
        &show.to_string(),
    );
    assert_eq!(server.get("/_users/_design/d/_show/f").status, 401);
}
