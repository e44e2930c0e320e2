//! Reduces over HTTP: built-in ones, functions, and the errors of both.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

fn groups(connection: &mut Connection, query: &str) -> Value {
    let answer = call(
        connection,
        "GET",
        &format!("/db/_design/d/_view/{query}"),
        &Value::Null,
    );
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| json!([row["key"], row["value"]])).collect()
}

/// A server with 3,000 documents of two devices, and a view with each of some reduces.
fn devices() -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let mut views = serde_json::Map::new();
    for reduce in [
        "_first",
        "_last",
        "_top_3",
        "_bottom_2",
        "_approx_count_distinct",
    ] {
        let map = "function (doc) { emit([doc.device, doc.n % 1000], doc.n * 7 % 3001) }";
        views.insert(
            reduce[1..].to_owned(),
            json!({"map": map, "reduce": reduce}),
        );
    }
    call(
        &mut connection,
        "PUT",
        "/db/_design/d",
        &json!({"views": views}),
    );
    let docs: Vec<_> = (0..3000)
        .map(|n| {
            let device = if n < 2000 { "a" } else { "b" };
            json!({"_id": format!("{n:04}"), "n": n, "device": device})
        })
        .collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    (server, connection)
}

#[test]
fn built_in_reduces_answer_as_couchdb_documents_them() {
    let (_server, mut connection) = devices();
    let level = |name: &str| format!("{name}?group_level=1");
    for (query, expected) in [
        (level("first"), json!([[["a"], 0], [["b"], 14000 % 3001]])),
        (
            level("last"),
            json!([[["a"], 13993 % 3001], [["b"], 20993 % 3001]]),
        ),
        // In whichever direction groups are read, the first is the first.
        (
            level("first") + "&descending=true",
            json!([[["b"], 14000 % 3001], [["a"], 0]]),
        ),
        (
            "first?startkey=[\"a\",5]&endkey=[\"a\",7]".into(),
            json!([[null, 35]]),
        ),
        (
            "last?startkey=[\"a\",5]&endkey=[\"a\",7]&limit=1".into(),
            json!([[null, 7049 % 3001]]),
        ),
        (
            "last?keys=[[\"a\",3],[\"b\",3]]&group=true".into(),
            json!([[["a", 3], 7021 % 3001], [["b", 3], 14021 % 3001]]),
        ),
        ("top_3".into(), json!([[null, [3000, 2999, 2998]]])),
        ("bottom_2".into(), json!([[null, [0, 1]]])),
        (
            "top_3?startkey=[\"a\",1]&endkey=[\"a\",1]".into(),
            json!([[null, [7007 % 3001, 7]]]),
        ),
        ("top_3?startkey=[\"c\"]".into(), json!([])),
        (
            "approx_count_distinct?group=true&limit=1".into(),
            json!([[["a", 0], 1]]),
        ),
    ] {
        assert_eq!(groups(&mut connection, &query), expected, "{query}");
    }
}

#[test]
fn built_in_reduces_count_what_is_there_and_forget_what_goes() {
    let (_server, mut connection) = devices();
    let about = |answer: &Value, count: i64| {
        let found = answer[0][1].as_i64().unwrap();
        assert!((found - count).abs() < count / 12, "{answer}: {count}");
    };
    about(&groups(&mut connection, "approx_count_distinct"), 2000);
    about(
        &groups(&mut connection, "approx_count_distinct?group_level=1"),
        1000,
    );
    // Deleted documents are not counted any more.
    let path = "/db/_all_docs?startkey=\"2900\"&endkey=\"2999\"";
    let rows = call(&mut connection, "GET", path, &Value::Null);
    for row in rows["rows"].as_array().unwrap() {
        let rev = row["value"]["rev"].as_str().unwrap();
        let path = format!("/db/{}?rev={rev}", row["id"].as_str().unwrap());
        call(&mut connection, "DELETE", &path, &Value::Null);
    }
    let last = groups(&mut connection, "last?group_level=1&startkey=[\"b\"]");
    assert_eq!(last, json!([[["b"], 2899 * 7 % 3001]]));
    about(&groups(&mut connection, "approx_count_distinct"), 1900);
}

#[test]
fn reduces_that_do_not_reduce_say_so_in_their_rows() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs: Vec<_> = (0..1000)
        .map(|n| json!({"n": n, "text": "x".repeat(1000)}))
        .collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let map = "function (doc) { emit(doc.n, doc.text) }";
    let views = json!({
        "all": {"map": map, "reduce": "function (k, v, r) { return r ? [].concat.apply([], v) : v }"},
        "top": {"map": "function (doc) { emit(doc.n, doc.text.repeat(10) + doc.n) }", "reduce": "_top_100"},
    });
    call(
        &mut connection,
        "PUT",
        "/db/_design/d",
        &json!({"views": views}),
    );
    for view in ["all", "all?startkey=1&endkey=9", "top"] {
        let answer = groups(&mut connection, view);
        let reason = answer[0][1]["reduce_overflow_error"].as_str();
        assert!((20..=1024).contains(&reason.unwrap().len()), "{answer}");
    }
}

#[test]
fn reduces_that_are_none_are_refused() {
    let server = Running::start();
    let mut connection = with_values(&server, "_count", &[]);
    for name in [
        "_nope", "_top_0", "_top_101", "_top_x", "_first_2", "_bottom_",
    ] {
        let design = json!({"views": {"v": {"map": "function (doc) {}", "reduce": name}}});
        let headers = [ADMIN, JSON];
        let reply = connection.send("PUT", "/db/_design/no", &headers, &design.to_string());
        let expected = json!({"error": "invalid_design_doc",
            "reason": format!("`{name}` is not a supported reduce function.")});
        assert_eq!(
            (reply.status, serde_json::from_str(&reply.body).unwrap()),
            (400, expected)
        );
    }
}

#[test]
fn reduces_may_grow_where_the_settings_say_so() {
    for (value, grows) in [("true", false), ("false", true), ("log", true)] {
        let settings = format!("[query_server_config]\nreduce_limit = {value}\n");
        let server = Running::start_with(&settings);
        let mut connection = Connection::open(server.address);
        call(&mut connection, "PUT", "/db", &Value::Null);
        let docs: Vec<_> = (0..9).map(|n| json!({"n": n})).collect();
        call(
            &mut connection,
            "POST",
            "/db/_bulk_docs",
            &json!({"docs": docs}),
        );
        let map = "function (doc) { emit(doc.n, 'x'.repeat(1000)) }";
        let reduce = "function (k, v, r) { return r ? [].concat.apply([], v) : v }";
        let design = json!({"views": {"all": {"map": map, "reduce": reduce}}});
        call(&mut connection, "PUT", "/db/_design/d", &design);
        let answer = groups(&mut connection, "all");
        assert_eq!(answer[0][1].is_array(), grows, "{value}: {answer}");
    }
}

#[test]
fn an_index_of_other_settings_for_reduces_is_built_anew() {
    let mut server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs: Vec<_> = (0..2000).map(|n| json!({"n": n})).collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let map = "function (doc) { emit(doc.n, 'xxxxxxx') }";
    let grows = "function (k, v, r) { return r ? [].concat.apply([], v) : v }";
    let views = json!({"all": {"map": map, "reduce": grows}});
    call(
        &mut connection,
        "PUT",
        "/db/_design/d",
        &json!({"views": views}),
    );
    for reduce_limit in ["true", "false", "true"] {
        drop(connection);
        server = server.restart(|directory| {
            let file = directory.join("varve.ini");
            let mut settings = std::fs::read_to_string(&file).unwrap();
            let limit = format!("\n[query_server_config]\nreduce_limit = {reduce_limit}\n");
            settings.push_str(&limit);
            std::fs::write(&file, settings).unwrap();
        });
        connection = Connection::open(server.address);
        let found = groups(&mut connection, "all")[0][1].clone();
        match reduce_limit {
            "true" => assert!(found["reduce_overflow_error"].is_string(), "{found}"),
            // Nodes of the tree that were refused before would be among them.
            _ => assert_eq!(found, json!(vec!["xxxxxxx"; 2000])),
        }
    }
}

/// A database with one document for each value, whose view `v` emits it and reduces by `reduce`.
fn with_values(server: &Running, reduce: &str, values: &[Value]) -> Connection {
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs = values.iter().enumerate();
    let docs: Vec<_> = docs
        .map(|(n, v)| json!({"_id": n.to_string(), "v": v}))
        .collect();
    let docs = json!({"docs": docs});
    call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    let map = "function (doc) { emit(doc._id, doc.v) }";
    let design = json!({"views": {"v": {"map": map, "reduce": reduce}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    connection
}

#[test]
fn values_that_do_not_add_are_named_as_by_couchdb() {
    let server = Running::start();
    let values = json!([1, "a", 2, "b", {"x": 1}, 7]);
    let mut connection = with_values(&server, "_sum", values.as_array().unwrap());
    let failed = |cause: Value| {
        json!({
            "error": "builtin_reduce_error",
            "reason": "The _sum function requires that map values be numbers, arrays of numbers, or objects. \
                       Objects cannot be mixed with other data structures. Objects can be arbitrarily nested, \
                       provided that the values for all fields are themselves numbers, arrays of numbers, or \
                       objects.",
            "caused_by": cause,
        })
    };
    for (query, expected) in [
        ("v?endkey=\"3\"", json!([[null, failed(json!("b"))]])),
        ("v?endkey=\"2\"", json!([[null, failed(json!("a"))]])),
        ("v?endkey=\"0\"", json!([[null, 1]])),
        ("v?startkey=\"4\"", json!([[null, failed(json!({"x": 1}))]])),
        (
            "v?startkey=\"1\"&endkey=\"2\"&group=true",
            json!([["1", failed(json!("a"))], ["2", 2]]),
        ),
    ] {
        assert_eq!(groups(&mut connection, query), expected, "{query}");
    }
}

#[test]
fn values_without_statistics_are_named() {
    let server = Running::start();
    let values = json!([1, 3, "a"]);
    let mut connection = with_values(&server, "_stats", values.as_array().unwrap());
    let answer = groups(&mut connection, "v?endkey=\"1\"");
    let expected = json!({"sum": 4, "count": 2, "min": 1, "max": 3, "sumsqr": 10});
    assert_eq!(answer, json!([[null, expected]]));
    let answer = groups(&mut connection, "v");
    let expected = json!({
        "error": "builtin_reduce_error",
        "reason": "The _stats function requires that map values be numbers or arrays of numbers, not '\"a\"'",
    });
    assert_eq!(answer, json!([[null, expected]]));
}

#[test]
fn sums_shrink_or_are_told_with_their_sizes() {
    for (limit, grows) in [("true", false), ("false", true), ("log", true)] {
        let settings = format!("[query_server_config]\nreduce_limit = {limit}\n");
        let server = Running::start_with(&settings);
        let names = (0..500).map(|n| json!({format!("name {n:05}"): n}));
        let values: Vec<Value> = names.collect();
        let mut connection = with_values(&server, "_sum", &values);
        let answer = groups(&mut connection, "v");
        let value = &answer[0][1];
        if grows {
            assert_eq!(value.as_object().unwrap().len(), 500, "{limit}: {answer}");
            continue;
        }
        assert_eq!(value["error"], "builtin_reduce_error", "{answer}");
        let reason = value["reason"].as_str().unwrap();
        let words = "Reduce output must shrink more rapidly: input size: ";
        assert!(reason.starts_with(words), "{reason}");
        // A short sum is one.
        let answer = groups(&mut connection, "v?startkey=\"11\"&endkey=\"12\"");
        assert!(answer[0][1]["name 00011"].is_number(), "{answer}");
    }
}

#[test]
fn the_value_of_each_group_is_reduced_once_more() {
    let server = Running::start();
    let values = json!(["x", "x", "y"]);
    let reduce = "function (keys, values, again) { return values }";
    let mut connection = with_values(&server, reduce, values.as_array().unwrap());
    // CouchDB's answers, with one shard.
    for (query, expected) in [
        ("v", json!([[null, [["x", "x", "y"]]]])),
        ("v?group=true&limit=1", json!([["0", [["x"]]]])),
        ("v?startkey=\"1\"", json!([[null, [["x", "y"]]]])),
    ] {
        // The second time from the memo of reduced values.
        for _ in 0..2 {
            assert_eq!(groups(&mut connection, query), expected, "{query}");
        }
    }
}

/// Values as deep as functions may emit them, with and without the engine. Its stack, which is small, is what bounds them.
#[test]
fn values_of_any_depth_are_added_and_counted() {
    for compile in [true, false] {
        let server = Running::start_with(&format!(
            "[views]\ncompile = {compile}\n[query_server_config]\nreduce_limit = false\n"
        ));
        let mut connection = Connection::open(server.address);
        call(&mut connection, "PUT", "/db", &Value::Null);
        let views = json!({
            "sum": {"map": "function (doc) { emit(doc.n, doc.members); }", "reduce": "_sum"},
            "stats": {"map": "function (doc) { emit(doc.n, doc.items); }", "reduce": "_stats"},
            "top": {"map": "function (doc) { emit(doc.n, doc.items); }", "reduce": "_top_1"},
        });
        call(
            &mut connection,
            "PUT",
            "/db/_design/d",
            &json!({"views": views}),
        );
        let levels = 400;
        let nested = |open: &str, leaf: &str, close: &str| {
            format!("{}{leaf}{}", open.repeat(levels), close.repeat(levels))
        };
        for n in 1..=3 {
            let leaf = n.to_string();
            let (members, items) = (nested(r#"{"a":"#, &leaf, "}"), nested("[", &leaf, "]"));
            let body = format!(r#"{{"n":{n},"members":{members},"items":{items}}}"#);
            let reply = connection.send("PUT", &format!("/db/{n}"), &[ADMIN], &body);
            assert_eq!(reply.status, 201, "{}", reply.body);
        }
        let stats = r#"{"sum":6,"count":3,"min":1,"max":3,"sumsqr":14}"#;
        for (view, value) in [
            ("sum", nested(r#"{"a":"#, "6", "}")),
            ("stats", nested("[", stats, "]")),
            ("top", format!("[{}]", nested("[", "3", "]"))),
        ] {
            let path = format!("/db/_design/d/_view/{view}");
            let reply = connection.send("GET", &path, &[ADMIN], "");
            let expected = format!(r#"{{"key":null,"value":{value}}}"#);
            assert!(
                reply.status == 200 && reply.body.contains(&expected),
                "{view}, compiled: {compile}: {} {:.300}",
                reply.status,
                reply.body
            );
        }
    }
}
