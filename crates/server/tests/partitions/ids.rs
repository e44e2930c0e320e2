//! Making partitioned databases, and the ids that they take.

use super::{filled, get, partitioned, refusal};
use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

const NO_PARTITION: &str = "400 illegal_docid: Doc id must be of form partition:id";
const EMPTY_REST: &str = "400 illegal_docid: Document id must not be empty";
const EMPTY: &str = "400 illegal_partition: Partition must not be empty";
const RESERVED: &str = "400 illegal_docid: Only reserved document ids may start with underscore.";

#[test]
fn a_database_is_made_with_partitions_or_without() {
    let (_server, mut connection) = partitioned();
    let props = |connection: &mut Connection, path: &str| get(connection, path)["props"].clone();
    assert_eq!(props(&mut connection, "/db"), json!({"partitioned": true}));
    for (path, query) in [("/plain", ""), ("/said", "?partitioned=false")] {
        call(
            &mut connection,
            "PUT",
            &format!("{path}{query}"),
            &Value::Null,
        );
        assert_eq!(props(&mut connection, path), json!({}));
    }
    let mut refused = |path: &str| refusal(&mut connection, "PUT", path, &Value::Null);
    let invalid = "400 bad_request: Invalid `partitioned` parameter";
    assert_eq!(refused("/other?partitioned=tru"), invalid);
    let system = "400 bad_request: Cannot partition a system database";
    assert_eq!(refused("/_users?partitioned=true"), system);
    assert_eq!(refused("/x%2F_users?partitioned=true"), system);
    assert!(refused("/db?partitioned=true").starts_with("412 file_exists"));
}

#[test]
fn ids_have_a_partition_whatever_writes_them() {
    let (_server, mut connection) = partitioned();
    let mut refused =
        |method: &str, path: &str, body: Value| refusal(&mut connection, method, path, &body);
    for (id, words) in [
        ("nopart", NO_PARTITION),
        ("a:", EMPTY_REST),
        (":a", EMPTY),
        ("a:_b", RESERVED),
    ] {
        let docs = json!({"docs": [{"_id": "a:good"}, {"_id": id, "_rev": "1-a"}]});
        let replicated = json!({"docs": docs["docs"].clone(), "new_edits": false});
        let path = format!("/db/{id}");
        assert_eq!(refused("PUT", &path, json!({})), words);
        assert_eq!(
            refused("PUT", &format!("{path}?new_edits=false&rev=1-a"), json!({})),
            words
        );
        assert_eq!(refused("PUT", &format!("{path}/file"), json!({})), words);
        assert_eq!(refused("POST", "/db", json!({"_id": id})), words);
        assert_eq!(refused("POST", "/db/_bulk_docs", docs), words);
        let rows = refused("POST", "/db/_bulk_docs", replicated);
        assert!(rows == words || rows.starts_with("400"), "{id}: {rows}");
    }
    assert_eq!(refused("PUT", "/db/_a:b", json!({})), RESERVED);
    // The id that the server would give has no partition, either.
    assert_eq!(refused("POST", "/db", json!({})), NO_PARTITION);
    assert_eq!(
        refused("POST", "/db/_bulk_docs", json!({"docs": [{}]})),
        NO_PARTITION
    );
    assert_eq!(
        get(&mut connection, "/db")["update_seq"]
            .as_str()
            .unwrap()
            .split('-')
            .next(),
        Some("0")
    );
}

#[test]
fn copies_parts_and_update_functions_are_held_to_it_too() {
    let (_server, mut connection) = partitioned();
    let update = "function (doc, req) { return [{_id: req.query.id}, 'done']; }";
    let design = json!({"updates": {"u": update}, "validate_doc_update": "function (doc) {}"});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    call(&mut connection, "PUT", "/db/a:1", &json!({}));
    let send = |connection: &mut Connection,
                method: &str,
                path: &str,
                headers: &[(&str, &str)],
                body: &str| {
        let headers = [&[ADMIN], headers].concat();
        let reply = connection.send(method, path, &headers, body);
        (
            reply.status,
            reply.body.contains("Doc id must be of form partition:id"),
        )
    };
    let copied = send(
        &mut connection,
        "COPY",
        "/db/a:1",
        &[("destination", "b")],
        "",
    );
    assert_eq!(copied, (400, true));
    assert_eq!(
        send(
            &mut connection,
            "COPY",
            "/db/a:1",
            &[("destination", "b:2")],
            ""
        )
        .0,
        201
    );
    let parts = "--x\r\ncontent-type: application/json\r\n\r\n{}\r\n--x--";
    let related = [("content-type", "multipart/related; boundary=x")];
    assert_eq!(
        send(&mut connection, "PUT", "/db/b", &related, parts),
        (400, true)
    );
    let updated = send(
        &mut connection,
        "POST",
        "/db/_design/d/_update/u?id=c",
        &[JSON],
        "{}",
    );
    assert_eq!(updated, (400, true));
    assert_eq!(
        send(
            &mut connection,
            "POST",
            "/db/_design/d/_update/u?id=c:1",
            &[JSON],
            "{}"
        )
        .0,
        201
    );
    let docs = call(&mut connection, "GET", "/db/_all_docs", &Value::Null);
    assert_eq!(super::ids(&docs), "_design/d a:1 b:2 c:1");
}

#[test]
fn design_and_local_documents_need_no_partition() {
    let (_server, mut connection) = partitioned();
    for id in ["_design/d", "_local/l"] {
        call(&mut connection, "PUT", &format!("/db/{id}"), &json!({}));
        call(&mut connection, "GET", &format!("/db/{id}"), &Value::Null);
    }
    for id in ["a:b:c", "a::", "%C3%A9:x%2Fy"] {
        call(&mut connection, "PUT", &format!("/db/{id}"), &json!({}));
        call(&mut connection, "GET", &format!("/db/{id}"), &Value::Null);
    }
}

#[test]
fn ids_without_a_partition_cannot_be_asked_for() {
    let (_server, mut connection) = filled();
    let mut refused =
        |method: &str, path: &str, body: Value| refusal(&mut connection, method, path, &body);
    for (method, path) in [
        ("GET", "/db/nopart"),
        ("DELETE", "/db/nopart?rev=1-a"),
        ("COPY", "/db/nopart"),
        ("GET", "/db/nopart/file"),
    ] {
        assert_eq!(
            refused(method, path, Value::Null),
            NO_PARTITION,
            "{method} {path}"
        );
    }
    assert_eq!(
        refused("GET", "/db/a:none", Value::Null),
        "404 not_found: missing"
    );
    let wanted = json!({"nopart": ["1-967a00dff5e02add41819138abb3284d"]});
    for path in ["/db/_purge", "/db/_revs_diff", "/db/_missing_revs"] {
        assert_eq!(
            refused("POST", path, wanted.clone()),
            NO_PARTITION,
            "{path}"
        );
    }
    let asked = json!({"docs": [{"id": "nopart"}, {"id": "a:00"}]});
    let answer = call(&mut connection, "POST", "/db/_bulk_get", &asked);
    let error = json!({
        "error": "illegal_docid", "id": "nopart",
        "reason": "Doc id must be of form partition:id", "rev": null,
    });
    assert_eq!(answer["results"][0]["docs"][0]["error"], error);
    assert_eq!(answer["results"][1]["docs"][0]["ok"]["n"], 0);
}

#[test]
fn a_database_without_partitions_takes_any_id() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    for id in ["nopart", "a:", ":a", "a:_b"] {
        call(&mut connection, "PUT", &format!("/db/{id}"), &json!({}));
        call(&mut connection, "GET", &format!("/db/{id}"), &Value::Null);
    }
}
