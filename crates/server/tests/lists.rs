//! List functions.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

fn lists() -> Value {
    json!({
        "views": {
            "basic": {"map": "function (doc) { emit(doc.integer, doc.string) }"},
            "reduced": {
                "map": "function (doc) { emit(doc.integer, doc.string) }",
                "reduce": "function (keys, values, rereduce) { return rereduce ? sum(values) : values.length }",
            },
        },
        "lists": {
            "all": "function () { send('head'); var row; while (row = getRow()) send(row.key); return 'tail' }",
            "json": "function (head, req) { start({headers: {'Content-Type': 'application/json'}}); \
                send('{\"head\":' + toJSON(head) + ',\"req\":' + toJSON(req) + ',\"rows\":['); \
                var row, sep = ''; while (row = getRow()) { send(sep + toJSON(row)); sep = ',' } return ']}' }",
            "form": "function (head, req) { send('<ul>'); var row, n = 0, last, first = null; \
                while (row = getRow()) { n += 1; if (!first) first = row.key; last = row.key; \
                send('\\n<li>Key: ' + row.key + ' Value: ' + row.value + ' LineNo: ' + n + '</li>') } \
                return '</ul><p>FirstKey: ' + first + ' LastKey: ' + last + '</p>' }",
            "accept": "function () { provides('html', function () { send('HTML '); var row; \
                while (row = getRow()) send(row.value); return '!' }) }",
            "stop": "function () { send('head'); var row, n = 0; while (row = getRow()) { if (n > 2) break; \
                send(' ' + n); n += 1 } return ' tail' }",
            "query": "function (head, req) { return toJSON(req.query) }",
            "many": "function () { send('head'); while (getRow()) {} getRow(); return 'after row: ' + toJSON(getRow()) }",
            "empty": "function () { return ' ' }",
            "nothing": "function () {}",
            "error": "function () { send('head'); var row = getRow(); send(fooBarBam); return 'tail' }",
            "early": "function () { throw ['error', 'teapot', 'spout'] }",
            "doc": "function () { send('head'); send(getRow().doc.integer); return 'tail' }",
            "late": "function () { getRow(); start({code: 400, headers: {'X-My-Header': 'MyHeader'}}); send('bad request') }",
            "split": "function () { start({headers: {'X-A': 'a\\nb'}}); send('x') }",
            "padded": "function () { var row, n = 0; while (row = getRow()) { \
                for (var i = 0; i < 200; i++) n += i; send(new Array(row.key + 100).join('x') + '\\n') } }",
            "endless": "function () { send('begun'); while (getRow()) {} while (true) getRow() }",
        },
    })
}

fn with_lists(settings: &str, count: usize) -> (Running, Connection) {
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    call(&mut connection, "PUT", "/db/_design/d", &lists());
    let other =
        json!({"views": {"v": {"map": "function (doc) { emit(-doc.integer, doc.string) }"}}});
    call(&mut connection, "PUT", "/db/_design/other", &other);
    let doc = |n: usize| json!({"_id": format!("{n:05}"), "integer": n, "string": n.to_string()});
    let docs: Vec<_> = (0..count).map(doc).collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    (server, connection)
}

fn list(connection: &mut Connection, path: &str, headers: &[(&str, &str)]) -> Reply {
    let path = format!("/db/_design/d/_list/{path}");
    connection.send("GET", &path, &[&[ADMIN], headers].concat(), "")
}

fn body(connection: &mut Connection, path: &str) -> String {
    let reply = list(connection, path, &[]);
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    reply.body
}

#[test]
fn lists_make_answers_of_rows() {
    let (_server, mut connection) = with_lists("", 10);
    for (path, expected) in [
        ("all/basic", "head0123456789tail"),
        ("all/basic?startkey=3&endkey=5", "head345tail"),
        ("all/basic?descending=true&limit=2&skip=1", "head87tail"),
        ("all/basic?keys=[2,4,5]", "head245tail"),
        ("all/other/v?startkey=-3", "head-3-2-10tail"),
        ("all/reduced?reduce=false&limit=2", "head01tail"),
        ("all/reduced?group=true&limit=3", "head012tail"),
        (
            "form/reduced",
            "<ul>\n<li>Key: null Value: 10 LineNo: 1</li></ul><p>FirstKey: null LastKey: null</p>",
        ),
        ("all/reduced?startkey=30", "headtail"),
        ("all/_all_docs?limit=2", "head0000000001tail"),
        ("many/basic", "headafter row: null"),
        ("stop/basic", "head 0 1 2 tail"),
        ("stop/reduced?group=true", "head 0 1 2 tail"),
        ("empty/basic", " "),
        ("nothing/basic", ""),
        ("doc/basic?include_docs=true", "head0tail"),
        (
            "query/basic?foo=blam&startkey=%221%22",
            "{\"foo\":\"blam\",\"startkey\":\"1\"}",
        ),
    ] {
        assert_eq!(body(&mut connection, path), expected, "{path}");
    }
    let form = body(&mut connection, "form/basic?startkey=30");
    assert_eq!(form, "<ul></ul><p>FirstKey: null LastKey: undefined</p>");
    let keys = json!({"keys": [2, 4]}).to_string();
    let path = "/db/_design/d/_list/form/basic";
    let reply = connection.send("POST", path, &[ADMIN, JSON], &keys);
    assert!(reply.body.contains("FirstKey: 2 LastKey: 4"), "{reply:?}");
    assert_eq!(reply.header("etag"), None);
    let options = connection.send("OPTIONS", "/db/_design/d/_list/all/basic", &[ADMIN], "");
    assert_eq!(options.body, "head0123456789tail");
}

#[test]
fn lists_see_head_request_and_whole_rows() {
    let (_server, mut connection) = with_lists("", 10);
    let reply = list(&mut connection, "json/basic?update_seq=true&limit=1", &[]);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let seen: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(
        (&seen["head"]["total_rows"], &seen["head"]["offset"]),
        (&json!(10), &json!(0))
    );
    assert!(seen["head"]["update_seq"].is_string(), "{seen}");
    assert_eq!(
        seen["rows"],
        json!([{"id": "00000", "key": 0, "value": "0"}])
    );
    let (request, path) = (
        &seen["req"],
        ["db", "_design", "d", "_list", "json", "basic"],
    );
    assert_eq!(request["path"], json!(path));
    assert_eq!(
        (&request["method"], &request["id"]),
        (&json!("GET"), &Value::Null)
    );
    assert_eq!(
        request["raw_path"],
        "/db/_design/d/_list/json/basic?update_seq=true&limit=1"
    );
    let grouped: Value =
        serde_json::from_str(&body(&mut connection, "json/reduced?group=true&limit=1")).unwrap();
    assert_eq!(
        (&grouped["head"], &grouped["rows"]),
        (&json!({}), &json!([{"key": 0, "value": 1}]))
    );
    let all: Value = serde_json::from_str(&body(
        &mut connection,
        "json/_all_docs?include_docs=true&limit=3",
    ))
    .unwrap();
    let plain = call(
        &mut connection,
        "GET",
        "/db/_all_docs?include_docs=true&limit=3",
        &Value::Null,
    );
    assert_eq!(all["rows"], plain["rows"]);
    assert_eq!(all["head"], json!({"total_rows": 12, "offset": 0}));
}

#[test]
fn lists_choose_status_headers_and_type() {
    let (_server, mut connection) = with_lists("", 5);
    let late = list(&mut connection, "late/basic", &[]);
    assert_eq!(
        (late.status, late.header("x-my-header"), late.body.as_str()),
        (400, Some("MyHeader"), "bad request")
    );
    let html = list(&mut connection, "accept/basic", &[("accept", "text/html")]);
    assert_eq!(
        (html.header("content-type"), html.body.as_str()),
        (Some("text/html; charset=utf-8"), "HTML 01234!")
    );
    assert_eq!(html.header("vary"), Some("Accept"));
    assert_eq!(html.header("content-security-policy"), Some("sandbox"));
    let other = list(&mut connection, "accept/basic", &[("accept", "image/png")]);
    assert_eq!(other.status, 406, "{other:?}");
    let plain = list(&mut connection, "all/basic", &[]);
    assert_eq!(plain.header("content-type"), Some("application/json"));
}

#[test]
fn a_known_list_is_not_made_again() {
    let (_server, mut connection) = with_lists("", 3);
    let tag = |reply: &Reply| reply.header("etag").unwrap().to_owned();
    for view in ["basic", "other/v", "_all_docs", "basic?include_docs=true"] {
        let path = format!("all/{view}");
        let first = tag(&list(&mut connection, &path, &[]));
        let known = list(&mut connection, &path, &[("if-none-match", &first)]);
        assert_eq!((known.status, tag(&known)), (304, first.clone()), "{path}");
        let accept = list(
            &mut connection,
            &path,
            &[("accept", "a/b"), ("if-none-match", &first)],
        );
        assert_eq!(accept.status, 200, "{path}");
        call(&mut connection, "POST", "/db", &json!({"integer": 7}));
        let changed = list(&mut connection, &path, &[("if-none-match", &first)]);
        assert_eq!(changed.status, 200, "{path}");
    }
}

#[test]
fn lists_that_fail_say_why() {
    let (server, mut connection) = with_lists("[couchdb]\nos_process_timeout = 300\n", 5);
    for (path, status, error, reason) in [
        ("", 404, "list_error", "Invalid path."),
        ("all", 404, "list_error", "Invalid path."),
        ("all/a/b/c", 404, "list_error", "Invalid path."),
        ("nope/basic", 404, "not_found", "missing json key: nope"),
        ("all/nope", 404, "not_found", "missing_named_view"),
        ("all/none/v", 404, "not_found", "missing"),
        ("all/basic?limit=x", 400, "query_parse_error", ""),
        ("early/basic", 500, "teapot", "spout"),
        (
            "split/basic",
            500,
            "render_error",
            "a response cannot have the header \"X-A\"",
        ),
        (
            "doc/basic",
            500,
            "render_error",
            "function raised error: TypeError",
        ),
    ] {
        let reply = list(&mut connection, path, &[]);
        let json = reply.body.trim_start_matches("head");
        let answer: Value = serde_json::from_str(json).unwrap_or_else(|_| panic!("{reply:?}"));
        let expected = if json.len() < reply.body.len() {
            200
        } else {
            status
        };
        assert_eq!(
            (reply.status, answer["error"].as_str().unwrap()),
            (expected, error),
            "{path}: {answer}"
        );
        assert!(
            answer["reason"].as_str().unwrap().starts_with(reason),
            "{path}: {answer}"
        );
    }
    let late = body(&mut connection, "error/basic");
    assert_eq!(
        late,
        "head\n{\"code\":500,\"error\":\"render_error\",\"reason\":\"function raised error: \
         ReferenceError: fooBarBam is not defined\"}\n"
    );
    let endless = body(&mut connection, "endless/basic");
    assert!(
        endless.starts_with("begun\n{\"code\":500,\"error\":\"os_process_error\""),
        "{endless}"
    );
    let keys = json!({"keys": [2]}).to_string();
    let path = "/db/_design/d/_list/form/reduced?group=false";
    let grouped = connection.send("POST", path, &[ADMIN, JSON], &keys);
    assert_eq!(grouped.status, 400, "{grouped:?}");
    assert!(grouped.body.contains("query_parse_error"), "{grouped:?}");
    let wrong = connection.send("PUT", "/db/_design/d/_list/all/basic", &[ADMIN], "");
    assert_eq!(
        (wrong.status, wrong.header("allow")),
        (405, Some("GET,POST,HEAD"))
    );
    assert_eq!(server.get("/db/_design/d/_list/all/basic").status, 401);
}

#[test]
fn a_long_list_comes_whole_and_its_client_holds_no_thread() {
    let settings = "[couchdb]\nos_process_timeout = 300\n";
    let (server, _) = with_lists(settings, 3000);
    // More of them than there are threads, none of which reads.
    let stalled: Vec<_> = (0..20)
        .map(|_| {
            let mut narrow = Connection::open_narrow(server.address);
            let reply = narrow.begin("GET", "/db/_design/d/_list/padded/basic", &[ADMIN], "");
            assert_eq!(reply.status, 200, "{reply:?}");
            narrow
        })
        .collect();
    let mut connection = Connection::open(server.address);
    let whole = body(&mut connection, "padded/basic");
    let expected: String = (0..3000).map(|n| "x".repeat(n + 99) + "\n").collect();
    assert!(
        whole == expected,
        "{} of {} bytes",
        whole.len(),
        expected.len()
    );
    drop(stalled);
    let head = connection.send("HEAD", "/db/_design/d/_list/padded/basic", &[ADMIN], "");
    assert_eq!(head.status, 200);
    assert!(head.header("etag").is_some());
}

#[test]
fn a_list_may_not_grow_without_end() {
    let settings = "[limits]\nlist_output = 300kb\n";
    let (_server, mut connection) = with_lists(settings, 3000);
    let path = "/db/_design/d/_list/padded/basic";
    let reply = connection.begin("GET", path, &[ADMIN], "");
    assert_eq!(reply.status, 200);
    let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| connection.body(&reply)));
    assert!(cut.is_err(), "the answer is cut");
}
