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
