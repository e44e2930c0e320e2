//! Counts of a partition, and its documents by id.

use super::{filled, get, ids, partitioned, refusal};
use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};

#[test]
fn counts_and_sizes_are_those_of_one_partition() {
    let (_server, mut connection) = filled();
    let of = |connection: &mut Connection, name: &str| {
        get(connection, &format!("/db/_partition/{name}"))
    };
    let whole = get(&mut connection, "/db");
    let before = of(&mut connection, "ab");
    assert_eq!(before["db_name"], "db");
    assert_eq!(before["partition"], "ab");
    assert_eq!(
        (&before["doc_count"], &before["doc_del_count"]),
        (&json!(10), &json!(0))
    );
    let names = ["a", "ab", "b"];
    let sum: u64 = names
        .iter()
        .map(|name| {
            of(&mut connection, name)["sizes"]["external"]
                .as_u64()
                .unwrap()
        })
        .sum();
    assert_eq!(whole["sizes"]["external"], sum);

    let rev = get(&mut connection, "/db/a:00")["_rev"]
        .as_str()
        .unwrap()
        .to_owned();
    call(
        &mut connection,
        "DELETE",
        &format!("/db/a:00?rev={rev}"),
        &Value::Null,
    );
    call(
        &mut connection,
        "PUT",
        "/db/_design/d",
        &json!({"long": "text"}),
    );
    let changed = of(&mut connection, "a");
    assert_eq!(
        (&changed["doc_count"], &changed["doc_del_count"]),
        (&json!(9), &json!(1))
    );
    assert_eq!(of(&mut connection, "ab"), before);
    let nothing = json!({
        "db_name": "db", "sizes": {"active": 0, "external": 0}, "partition": "é",
        "doc_count": 0, "doc_del_count": 0,
    });
    assert_eq!(of(&mut connection, "%C3%A9"), nothing);
}

#[test]
fn documents_of_a_partition_come_by_id() {
    let (_server, mut connection) = filled();
    for (query, expected) in [
        ("", "a:00 a:03 a:06 a:09 a:12 a:15 a:18 a:21 a:24 a:27"),
        ("?limit=2", "a:00 a:03"),
        ("?limit=2&skip=3", "a:09 a:12"),
        ("?descending=true&limit=2", "a:27 a:24"),
        ("?startkey=%22a:1%22&endkey=%22a:2%22", "a:12 a:15 a:18"),
        ("?startkey=%22a:24%22", "a:24 a:27"),
        ("?startkey=%22_%22&endkey=%22z%22&limit=1", "a:00"),
        ("?startkey=%22a:03%22&descending=true", "a:03 a:00"),
        ("?key=%22a:09%22", "a:09"),
        ("?key=%22b:02%22", ""),
        ("?startkey=%22b%22", ""),
        ("?endkey=%22A%22", ""),
    ] {
        let answer = get(
            &mut connection,
            &format!("/db/_partition/a/_all_docs{query}"),
        );
        assert_eq!(ids(&answer), expected, "{query}");
        let queried = query.replacen('?', "&", 1);
        let other = get(
            &mut connection,
            &format!("/db/_all_docs?partition=a{queried}"),
        );
        assert_eq!(answer, other, "{query}");
    }
    let answer = get(
        &mut connection,
        "/db/_partition/ab/_all_docs?include_docs=true&limit=1",
    );
    assert_eq!(answer["rows"][0]["doc"]["n"], 1);
    let keys = json!({"keys": ["a:03", "a:none", "a:00"]});
    let answer = call(&mut connection, "POST", "/db/_partition/a/_all_docs", &keys);
    assert_eq!(ids(&answer), "a:03 - a:00");
    let queries = json!({"queries": [{"limit": 1}, {"descending": true, "limit": 1}]});
    let answer = call(
        &mut connection,
        "POST",
        "/db/_partition/b/_all_docs/queries",
        &queries,
    );
    assert_eq!(ids(&answer["results"][0]), "b:02");
    assert_eq!(ids(&answer["results"][1]), "b:29");
}

const UNDERSCORE: &str = "400 illegal_partition: Partition must not start with an underscore";
const COLON: &str = "400 illegal_partition: Partition must not contain a colon";
const UNPARTITIONED: &str = "400 bad_request: database is not partitioned";
const UNNAMED: &str = "400 bad_request: invalid_partition_req";
const CONFLICT: &str = "400 bad_request: Conflicting value for `partition` in query string";
const UNSUPPORTED: &str =
    "400 query_parse_error: `partition` parameter is not supported on this db";
const MISSING: &str = "404 not_found: missing";
const ONLY_GET: &str = "405 method_not_allowed: Only GET allowed";
const ROWS_ONLY: &str = "405 method_not_allowed: Only GET,HEAD,POST allowed";

/// Requests below a partitioned database and one that is not, and what they are answered.
const REFUSED: &[(&str, &str)] = &[
    ("GET /db/_partition", UNNAMED),
    ("POST /db/_partition", UNNAMED),
    ("GET /db/_partition/_a", UNDERSCORE),
    ("GET /db/_partition/_a/_all_docs", UNDERSCORE),
    ("POST /db/_partition/_find", UNDERSCORE),
    ("GET /db/_partition/_find", UNDERSCORE),
    ("GET /db/_partition//_all_docs", UNDERSCORE),
    ("GET /db/_partition/a%3Ab", COLON),
    ("POST /db/_partition/a", ONLY_GET),
    ("PUT /db/_partition/a", ONLY_GET),
    ("DELETE /db/_partition/a/_all_docs", ROWS_ONLY),
    ("GET /db/_partition/a/_changes", MISSING),
    ("GET /db/_partition/a/a:1", MISSING),
    ("GET /db/_partition/a/_partition/a/_all_docs", MISSING),
    ("GET /db/_partition/a/_all_docs?partition=b", CONFLICT),
    ("GET /plain/_partition/a", UNPARTITIONED),
    ("GET /plain/_partition/a/_all_docs", UNPARTITIONED),
    ("POST /plain/_partition/a/_find", UNPARTITIONED),
    ("GET /plain/_all_docs?partition=a", UNSUPPORTED),
    (
        "GET /none/_partition/a",
        "404 not_found: Database does not exist.",
    ),
];

#[test]
fn paths_that_name_no_partition_are_refused() {
    let (_server, mut connection) = partitioned();
    call(&mut connection, "PUT", "/plain", &Value::Null);
    for (request, words) in REFUSED {
        let (method, path) = request.split_once(' ').unwrap();
        let body = match method {
            "POST" => json!({"selector": {}}),
            _ => Value::Null,
        };
        let said = refusal(&mut connection, method, path, &body);
        assert_eq!(said, *words, "{request}");
    }
    let reply = connection.send("HEAD", "/db/_partition/a", &[ADMIN], "");
    assert_eq!(reply.status, 200);
}

#[test]
fn a_partition_is_read_by_readers_of_its_database() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db?partitioned=true", &Value::Null);
    for path in ["/db/_partition/a", "/db/_partition/a/_all_docs"] {
        let reply = connection.send("GET", path, &[JSON], "");
        assert_eq!(reply.status, 401, "{path}");
    }
}
