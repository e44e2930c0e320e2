//! Options of view queries, and options that design documents set for their indexes.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call, until};
use serde_json::{Value, json};

const MAP: &str = "function (doc) { if (doc.k !== undefined) emit(doc.k, doc.v) }";

/// Documents `a` to `f` with keys 1, 2, 2, 3, "x" and [1, 2]; `c` has an attachment and `d` a
/// conflict.
fn fruit() -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let design = json!({"views": {
        "v": {"map": MAP},
        "r": {"map": MAP, "reduce": "_count"},
        "linked": {"map": "function (doc) { if (doc.k) emit(doc.k, {_id: 'a'}) }"},
    }});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    let docs = json!([
        {"_id": "a", "k": 1, "v": 10}, {"_id": "b", "k": 2, "v": 20},
        {"_id": "c", "k": 2, "v": 30, "_attachments": {"t": {"content_type": "text/x", "data": "aGk="}}},
        {"_id": "d", "k": 3, "v": 40}, {"_id": "e", "k": "x"}, {"_id": "f", "k": [1, 2]},
    ]);
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let conflict = json!({"docs": [{"_id": "d", "_rev": "1-0", "k": 0}], "new_edits": false});
    call(&mut connection, "POST", "/db/_bulk_docs", &conflict);
    (server, connection)
}

fn get(connection: &mut Connection, path: &str) -> Value {
    call(connection, "GET", path, &Value::Null)
}

fn ask(connection: &mut Connection, query: &str) -> Value {
    get(connection, &format!("/db/_design/d/_view/{query}"))
}

fn ids(answer: &Value) -> String {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap_or("-")).collect()
}

/// Query, the ids of its rows, and its offset.
const RANGES: &[(&str, &str, u64)] = &[
    ("", "abcdef", 0),
    ("?key=2", "bc", 1),
    ("?keys=[3,2,7,2]", "dbcbc", 3),
    ("?startkey=2", "bcdef", 1),
    ("?start_key=2&end_key=3", "bcd", 1),
    ("?startkey=2&endkey=3&inclusive_end=false", "bc", 1),
    ("?startkey=2&startkey_docid=c", "cdef", 2),
    ("?startkey=2&start_key_doc_id=c&endkey=3", "cd", 2),
    ("?endkey=2&endkey_docid=b", "ab", 0),
    ("?endkey=2&end_key_doc_id=b&inclusive_end=false", "a", 0),
    ("?descending=true", "fedcba", 0),
    ("?descending=true&startkey=3&endkey=2", "dcb", 2),
    ("?descending=true&startkey=2&startkey_docid=b", "ba", 4),
    ("?limit=2", "ab", 0),
    ("?limit=0", "", 0),
    ("?skip=4", "ef", 4),
    ("?skip=2&limit=1", "c", 2),
    ("?skip=9", "", 6),
    ("?reduce=false&limit=1", "a", 0),
    ("?stable=true&limit=1", "a", 0),
    ("?stable=false&limit=1", "a", 0),
    ("?sorted=true&limit=1", "a", 0),
    ("?sorted=false&limit=1", "a", 0),
    ("?startkey=%22a%22", "ef", 4),
    ("?startkey=[]", "f", 5),
];

#[test]
fn rows_are_those_that_the_options_choose() {
    let (_server, mut connection) = fruit();
    for (query, expected, offset) in RANGES {
        let answer = ask(&mut connection, &format!("v{query}"));
        assert_eq!(ids(&answer), *expected, "{query}");
        assert_eq!(
            (&answer["total_rows"], &answer["offset"]),
            (&json!(6), &json!(offset)),
            "{query}"
        );
    }
    // The same in a body, where the query counts more, and several at once.
    let path = "/db/_design/d/_view/v";
    for (query, body, expected) in [
        ("", json!({"keys": [3, 1], "limit": 1}), "d"),
        ("?limit=1", json!({"keys": [3, 1], "limit": 5}), "d"),
        ("?keys=[1]", json!({"keys": [3, 1]}), "a"),
        ("?descending=true", json!({"startkey": 3, "limit": 2}), "dc"),
        ("?keys=[2]&skip=1", json!({}), "c"),
        ("", json!({"keys": []}), ""),
        ("?startkey=2", json!({"keys": []}), ""),
    ] {
        let found = call(&mut connection, "POST", &format!("{path}{query}"), &body);
        assert_eq!(ids(&found), expected, "{query} {body}");
    }
    let body = json!({"queries": [{"key": 2}, {"descending": true, "limit": 1}, {}]});
    let answers = call(&mut connection, "POST", &format!("{path}/queries"), &body);
    let answers: Vec<_> = answers["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(ids)
        .collect();
    assert_eq!(answers, ["bc", "f", "abcdef"]);
}

#[test]
fn rows_come_with_documents_their_conflicts_and_their_attachments() {
    let (_server, mut connection) = fruit();
    let doc = |answer: &Value| answer["rows"][0]["doc"].clone();
    let found = doc(&ask(&mut connection, "v?key=3&include_docs=true"));
    assert_eq!(
        (&found["v"], &found["_conflicts"]),
        (&json!(40), &Value::Null)
    );
    let found = doc(&ask(
        &mut connection,
        "v?key=3&include_docs=true&conflicts=true",
    ));
    assert_eq!(found["_conflicts"], json!(["1-0"]));
    let found = doc(&ask(&mut connection, "v?keys=[2]&skip=1&include_docs=true"));
    assert_eq!(found["_attachments"]["t"]["stub"], true);
    let found = doc(&ask(
        &mut connection,
        "v?keys=[2]&skip=1&include_docs=true&attachments=true",
    ));
    assert_eq!(found["_attachments"]["t"]["data"], "aGk=");
    let found = doc(&ask(
        &mut connection,
        "v?keys=[2]&skip=1&include_docs=true&att_encoding_info=true",
    ));
    assert_eq!(found["_attachments"]["t"]["length"], 2);
    let answer = ask(&mut connection, "linked?key=3&include_docs=true");
    assert_eq!(
        (&answer["rows"][0]["id"], &doc(&answer)["_id"]),
        (&json!("d"), &json!("a"))
    );
}

#[test]
fn reduced_rows_are_those_that_the_options_choose() {
    let (_server, mut connection) = fruit();
    for (query, expected) in [
        ("", json!([[null, 6]])),
        ("?group=true&limit=2", json!([[1, 1], [2, 2]])),
        ("?group_level=1&skip=4", json!([[[1], 1]])),
        ("?group_level=0", json!([[null, 6]])),
        ("?group=false", json!([[null, 6]])),
        ("?key=2", json!([[null, 2]])),
        ("?keys=[3,2]&group=true", json!([[3, 1], [2, 2]])),
        ("?descending=true&group=true&limit=1", json!([[[1, 2], 1]])),
        ("?startkey=2&endkey=3&reduce=true", json!([[null, 3]])),
        ("?limit=0", json!([])),
        ("?group=true&limit=0", json!([])),
        ("?skip=1", json!([])),
        ("?key=7", json!([])),
        ("?group_level=1&group=true&skip=4", json!([[[1], 1]])),
        ("?group=true&group_level=0", json!([[null, 6]])),
        ("?keys=[2,7,2]&group=true", json!([[2, 2], [2, 2]])),
        ("?keys=[]&group=true", json!([])),
    ] {
        let answer = ask(&mut connection, &format!("r{query}"));
        let rows = answer["rows"].as_array().unwrap().iter();
        let rows: Value = rows.map(|row| json!([row["key"], row["value"]])).collect();
        assert_eq!(rows, expected, "{query}");
        assert_eq!(answer["total_rows"], Value::Null);
    }
    assert_eq!(ids(&ask(&mut connection, "r?reduce=false")), "abcdef");
}

fn refuses(connection: &mut Connection, query: &str, reason: &str) {
    let path = format!("/db/_design/d/_view/{query}");
    let reply = connection.send("GET", &path, &[ADMIN], "");
    let answer: Value = serde_json::from_str(&reply.body).unwrap();
    let expected = json!({"error": "query_parse_error", "reason": reason});
    assert_eq!((reply.status, answer), (400, expected), "{query}");
}

#[test]
fn values_that_cannot_be_used_are_refused() {
    let (_server, mut connection) = fruit();
    let keys = "`keys` is incompatible with `key`, `start_key` and `end_key`";
    let grouping = "Invalid use of grouping on a map view.";
    let range = "No rows can match your key range, reverse your start_key and end_key or set \
                 descending=";
    let (up, down) = (format!("{range}true"), format!("{range}false"));
    for (query, reason) in [
        ("keys=[1]&startkey=1", keys),
        ("keys=[1]&end_key=1", keys),
        ("startkey=2&endkey=1", &up),
        ("startkey=1&endkey=2&descending=true", &down),
        ("reduce=true", "Reduce is invalid for map-only views."),
        ("group=true", grouping),
        ("group_level=1", grouping),
        (
            "group=false&group_level=1",
            "Can't specify group=false and group_level>0 at the same time",
        ),
        ("skip=-1", "Invalid value for positive integer: \"-1\""),
        ("limit=-1", "Invalid value for positive integer: \"-1\""),
        ("limit=x", "Invalid value for integer: \"x\""),
        (
            "group_level=-1",
            "Invalid value for positive integer: \"-1\"",
        ),
        ("stable=maybe", "Invalid value for `stable`."),
        ("stale=maybe", "Invalid value for `stale`."),
        ("update=maybe", "Invalid value for `update`."),
        ("sorted=1", "Invalid boolean parameter: \"1\""),
        ("conflicts=1", "Invalid boolean parameter: \"1\""),
        ("attachments=1", "Invalid boolean parameter: \"1\""),
        ("update_seq=1", "Invalid boolean parameter: \"1\""),
        ("keys=[1]&key=1", keys),
    ] {
        refuses(&mut connection, &format!("v?{query}"), reason);
    }
    for (query, reason) in [
        (
            "keys=[1]",
            "Multi-key fetches for reduce views must use `group=true`",
        ),
        (
            "keys=[1]&group_level=1",
            "Multi-key fetches for reduce views must use `group=true`",
        ),
        ("keys=[1]&key=1&group=true", keys),
        ("reduce=false&group=true", grouping),
        ("reduce=false&group_level=2", grouping),
        ("include_docs=true", "`include_docs` is invalid for reduce"),
        (
            "group=true&include_docs=true",
            "`include_docs` is invalid for reduce",
        ),
        ("conflicts=true", "`conflicts` is invalid for reduce views."),
        ("startkey=2&endkey=1&group=true", &up),
    ] {
        refuses(&mut connection, &format!("r?{query}"), reason);
    }
    assert_eq!(
        ids(&ask(
            &mut connection,
            "r?reduce=false&include_docs=true&conflicts=true&limit=1"
        )),
        "a"
    );
}

#[test]
fn an_index_is_brought_up_to_date_when_the_query_says() {
    let (_server, mut connection) = fruit();
    for old in ["update=false", "stale=ok"] {
        assert_eq!(ids(&ask(&mut connection, &format!("v?{old}"))), "");
    }
    let answer = ask(&mut connection, "v?update=false&update_seq=true");
    assert!(
        answer["update_seq"].as_str().unwrap().starts_with("0-"),
        "{answer}"
    );
    let count = |answer: &Value| answer["rows"].as_array().unwrap().len() == 6;
    // It is built behind the answers.
    until(&mut connection, "/db/_design/d/_view/v?update=lazy", count);
    call(&mut connection, "PUT", "/db/g", &json!({"k": 9}));
    assert_eq!(ids(&ask(&mut connection, "v?stale=ok")), "abcdef");
    let count = |answer: &Value| answer["rows"].as_array().unwrap().len() == 7;
    until(
        &mut connection,
        "/db/_design/d/_view/v?stale=update_after",
        count,
    );
    let answer = ask(&mut connection, "v?update=true&update_seq=true&limit=0");
    let info = get(&mut connection, "/db");
    assert_eq!(answer["update_seq"], info["update_seq"]);
}

#[test]
fn an_answer_that_the_client_has_is_not_sent_again() {
    let (_server, mut connection) = fruit();
    let path = "/db/_design/d/_view/v?key=2";
    let mut ask = |path: &str, known: &str| -> Reply {
        connection.send("GET", path, &[ADMIN, ("if-none-match", known)], "")
    };
    let first = ask(path, "");
    let tag = first.header("etag").unwrap().to_owned();
    let again = ask(path, &tag);
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    assert_eq!(ask(path, "\"other\"").status, 200);
    assert_eq!(ask("/db/_design/d/_view/v?key=3", &tag).status, 200);
    assert_eq!(ask("/db/_design/d/_view/r?key=2", &tag).status, 200);
    call(&mut connection, "PUT", "/db/g", &json!({"k": 2}));
    let mut ask =
        |known: &str| connection.send("GET", path, &[ADMIN, ("if-none-match", known)], "");
    let changed = ask(&tag);
    assert_eq!(
        (changed.status, changed.body.contains("\"g\"")),
        (200, true)
    );
    assert_eq!(ask(changed.header("etag").unwrap()).status, 304);
}

#[test]
fn options_of_design_documents_say_what_map_functions_see() {
    let (server, mut connection) = fruit();
    let map = "function (doc) { emit([doc._id, doc._local_seq]) }";
    let keys = |connection: &mut Connection, options: &Value| -> Vec<Value> {
        let design = json!({"views": {"v": {"map": map}}, "options": options});
        let rev = connection.send("HEAD", "/db/_design/o", &[ADMIN], "");
        let rev = rev
            .header("etag")
            .map(|tag| tag.trim_matches('"').to_owned());
        let path = rev.map_or("/db/_design/o".to_owned(), |rev| {
            format!("/db/_design/o?rev={rev}")
        });
        call(connection, "PUT", &path, &design);
        let answer = get(connection, "/db/_design/o/_view/v");
        let rows = answer["rows"].as_array().unwrap().iter();
        rows.map(|row| row["key"].clone()).collect()
    };
    let plain = keys(&mut connection, &json!({}));
    assert_eq!((plain.len(), &plain[0]), (6, &json!(["a", null])));
    let with_design = keys(&mut connection, &json!({"include_design": true}));
    assert_eq!(
        (with_design.len(), &with_design[1][0]),
        (8, &json!("_design/o"))
    );
    let with_seq = keys(
        &mut connection,
        &json!({"local_seq": true, "collation": "raw"}),
    );
    let seqs: Vec<_> = with_seq.iter().map(|key| key[1].as_u64()).collect();
    assert_eq!(seqs, [2, 3, 4, 8, 6, 7].map(Some), "{with_seq:?}");
    let design = json!({"views": {"v": {"map": map}}, "options": {"partitioned": true}});
    let reply = server.send("PUT", "/db/_design/p", &[ADMIN, JSON], &design.to_string());
    let reason = "partitioned option cannot be true in a non-partitioned database.";
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains(reason), "{reply:?}");
}

#[test]
fn design_documents_that_agree_share_one_index_until_the_last_goes() {
    let (server, mut connection) = fruit();
    let files = |server: &Running| -> Vec<String> {
        let list = std::fs::read_dir(server.directory.path().join("indexes/db")).unwrap();
        list.map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let signature = |connection: &mut Connection, design: &str| {
        let info = get(connection, &format!("/db/_design/{design}/_info"));
        let index = &info["view_index"];
        assert_eq!(index["collator_versions"].as_array().unwrap().len(), 1);
        (
            index["signature"].as_str().unwrap().to_owned(),
            index["updates_pending"]["total"].clone(),
        )
    };
    let design = get(&mut connection, "/db/_design/d");
    let same = json!({"views": design["views"], "filters": {"f": "function () {}"}});
    call(&mut connection, "PUT", "/db/_design/same", &same);
    assert_eq!(ids(&ask(&mut connection, "v")), "abcdef");
    let (first, _) = signature(&mut connection, "d");
    let (second, pending) = signature(&mut connection, "same");
    assert_eq!((&first, pending), (&second, json!(0)));
    assert_eq!(files(&server), [format!("{first}.view")]);
    let delete = |connection: &mut Connection, id: &str| {
        let rev = get(connection, &format!("/db/{id}"))["_rev"]
            .as_str()
            .unwrap()
            .to_owned();
        call(
            connection,
            "DELETE",
            &format!("/db/{id}?rev={rev}"),
            &Value::Null,
        );
        let cleaned = connection.send("POST", "/db/_view_cleanup", &[ADMIN, JSON], "");
        assert_eq!(
            (cleaned.status, cleaned.body.as_str()),
            (202, "{\"ok\":true}\n")
        );
    };
    delete(&mut connection, "_design/d");
    assert_eq!(files(&server).len(), 1);
    let answer = get(&mut connection, "/db/_design/same/_view/v");
    assert_eq!(ids(&answer), "abcdef");
    delete(&mut connection, "_design/same");
    assert!(files(&server).is_empty(), "{:?}", files(&server));
}
