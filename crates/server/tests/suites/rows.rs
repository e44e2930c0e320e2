//! Rows of views and of all documents.

use super::{ask, error, put_all, put_views, replicate, rows_of, text_of, with_database};
use crate::client::Running;
use serde_json::{Value, json};

/// Three rows for each of four documents, with keys from 0 to 2.
fn with_keys() -> Running {
    let server = with_database();
    let ages = [("aaa", 27), ("abc", 65), ("bbb", 21), ("ccc", 37)];
    let docs = ages.map(|(id, age)| json!({"_id": id, "age": age}));
    put_all(&server, &docs);
    let map = "function (d) { for (var i = 0; i < 3; i++) emit(i, d.age || 0) }";
    put_views(&server, &json!({"k": {"map": map}}));
    server
}

#[test]
fn map_functions_see_conflicts() {
    let server = with_database();
    let revs = ["1-a", "1-b", "1-c"];
    let docs: Vec<_> = revs
        .iter()
        .map(|rev| json!({"_id": "c", "_rev": rev}))
        .collect();
    replicate(&server, &json!(docs));
    let deleted =
        json!([{"_id": "c", "_rev": "1-d", "_deleted": true}, {"_id": "x", "_rev": "1-a"}]);
    replicate(&server, &deleted);
    // The second is no function that is compiled.
    let compiled = "function (doc) { emit(doc._conflicts, doc._deleted_conflicts) }";
    let engine = "function (doc) { try { if (/./.test(doc._id)) emit(doc._conflicts || 'none', 1) } catch (e) { throw e } }";
    put_views(
        &server,
        &json!({"compiled": {"map": compiled}, "engine": {"map": engine}}),
    );
    let rows = rows_of(
        &server,
        "_design/d/_view/compiled?key=%5B%221-b%22,%221-a%22%5D",
    );
    let expected = json!([{"id": "c", "key": ["1-b", "1-a"], "value": ["1-d"]}]);
    assert_eq!(rows, expected);
    let expected = json!([
        {"id": "x", "key": "none", "value": 1},
        {"id": "c", "key": ["1-b", "1-a"], "value": 1},
    ]);
    assert_eq!(rows_of(&server, "_design/d/_view/engine"), expected);
    let info = ask(&server, "GET", "/db/_design/d/_info", &Value::Null).1;
    assert_eq!(info["view_index"]["compiled"], json!(["compiled"]));
}

#[test]
fn keys_take_the_documents_between_which_their_rows_lie() {
    let server = with_keys();
    // As recorded, where the quotes belong to the ids.
    let path =
        "/db/_design/d/_view/k?keys=%5B0,2%5D&startkey_docid=%22abc%22&endkey_docid=%22bbb%22";
    let none = "{\"total_rows\":12,\"offset\":8,\"rows\":[\r\n\r\n]}\n".to_owned();
    assert_eq!(text_of(&server, "GET", path, &Value::Null), (200, none));
    let some = rows_of(
        &server,
        "_design/d/_view/k?keys=%5B0,2%5D&startkey_docid=abc&endkey_docid=bbb",
    );
    let expected = json!([
        {"id": "abc", "key": 0, "value": 65},
        {"id": "bbb", "key": 0, "value": 21},
        {"id": "abc", "key": 2, "value": 65},
        {"id": "bbb", "key": 2, "value": 21},
    ]);
    assert_eq!(some, expected);
}

#[test]
fn keys_are_read_backwards_too() {
    let server = with_keys();
    let path = "/db/_design/d/_view/k?keys=%5B2,0%5D&descending=true&limit=3";
    let (_, answer) = ask(&server, "GET", path, &Value::Null);
    let expected = json!({"total_rows": 12, "offset": 8, "rows": [
        {"id": "ccc", "key": 0, "value": 37},
        {"id": "bbb", "key": 0, "value": 21},
        {"id": "abc", "key": 0, "value": 65},
    ]});
    assert_eq!(answer, expected);
}

#[test]
fn keys_of_a_body_exclude_a_range() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "1"}), json!({"_id": "2"})]);
    let keys = json!({"keys": ["1", "2"]});
    let reason = "`keys` is incompatible with `key`, `start_key` and `end_key`";
    assert_eq!(
        ask(&server, "POST", "/db/_all_docs?key=%221%22", &keys),
        (400, error("query_parse_error", reason))
    );
    let path = "/db/_all_docs?key=%221%22&keys=%5B%221%22%5D";
    let (status, found) = ask(&server, "GET", path, &Value::Null);
    assert_eq!((status, &found["offset"]), (200, &Value::Null));
    let reason = "`keys` body member must be an array.";
    assert_eq!(
        ask(&server, "POST", "/db/_all_docs", &json!({"keys": "x"})),
        (400, error("bad_request", reason))
    );
}

#[test]
fn a_range_without_rows_has_an_empty_line() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "0"}), json!({"_id": "1"})]);
    let path = "/db/_all_docs?key=%221%22&endkey=%220%22";
    let expected = "{\"total_rows\":2,\"offset\":1,\"rows\":[\r\n\r\n]}\n".to_owned();
    assert_eq!(text_of(&server, "GET", path, &Value::Null), (200, expected));
}

#[test]
fn maps_of_indexes_are_objects() {
    let server = with_database();
    let design = json!({"language": "query", "views": {"v": {"map": "function (d) {}"}}});
    let reason = "`views.v.map` field must have object type";
    assert_eq!(
        ask(&server, "PUT", "/db/_design/bad", &design),
        (400, error("invalid_design_doc", reason))
    );
}

#[test]
fn the_rows_of_a_raw_view_sort_as_terms() {
    let server = with_database();
    let docs = ["aaa", "abc", "bbb", "ccc"].map(|id| json!({"_id": id}));
    put_all(&server, &docs);
    let map = "function (d) { emit(d._id == 'aaa' ? null : d._id == 'abc' ? 1 : d._id == 'bbb' ? 'B' : 'a', 1) }";
    let raw = json!({"collation": "raw"});
    put_views(
        &server,
        &json!({"raw": {"map": map, "options": raw, "reduce": "_count"}, "usual": {"map": map}}),
    );
    let ids = |path: &str| {
        let rows = rows_of(&server, &format!("_design/d/_view/{path}"));
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["id"].clone()).collect::<Value>()
    };
    assert_eq!(ids("raw?reduce=false"), json!(["abc", "aaa", "bbb", "ccc"]));
    assert_eq!(ids("usual"), json!(["aaa", "abc", "ccc", "bbb"]));
    let range = "raw?reduce=false&startkey=null&endkey=%22B%22";
    assert_eq!(ids(range), json!(["aaa", "bbb"]));
    assert_eq!(ids("raw?reduce=false&key=%22a%22"), json!(["ccc"]));
    let groups = rows_of(&server, "_design/d/_view/raw?group=true");
    let keys: Vec<_> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["key"].clone())
        .collect();
    assert_eq!(json!(keys), json!([1, null, "B", "a"]));
}
