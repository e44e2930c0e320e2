//! Operators of selectors over values of every kind, pages across edits, and reduces, over HTTP.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::call;
use serde_json::{Value, json};

/// A database with one document for each value of `v`, `a`, `b` and so on, and one without.
fn with_values(values: &[Value]) -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let mut docs: Vec<_> = (b'a'..)
        .zip(values)
        .map(|(id, value)| json!({"_id": char::from(id).to_string(), "v": value}))
        .collect();
    docs.push(json!({"_id": "z"}));
    let docs = json!({"docs": docs});
    call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    (server, connection)
}

fn found(connection: &mut Connection, query: &Value) -> String {
    let answer = call(connection, "POST", "/db/_find", query);
    let docs = answer["docs"].as_array().unwrap().iter();
    docs.map(|doc| doc["_id"].as_str().unwrap()).collect()
}

/// Condition on `v`, and the documents that pass: `a` null, `b` false, `c` 3, `d` 4.5, `e` "ab", `f` [1, 2], `g`
/// [[1, 2]], `h` [], `i` {"x": 1}, `j` {}.
const CONDITIONS: &[(&str, &str)] = &[
    (r#"{"$eq": 3}"#, "c"),
    (r#"{"$eq": {}}"#, "j"),
    (r#"{"$eq": [1, 2]}"#, "f"),
    (r#"{"$ne": 3}"#, "abdefghij"),
    (r#"{"$lt": 4}"#, "abc"),
    (r#"{"$lte": 4.5}"#, "abcd"),
    (r#"{"$gt": "ab"}"#, "fghij"),
    (r#"{"$gte": "ab"}"#, "efghij"),
    (r#"{"$gt": null}"#, "bcdefghij"),
    (r#"{"$exists": true}"#, "abcdefghij"),
    (r#"{"$exists": false}"#, "z"),
    (r#"{"$type": "null"}"#, "a"),
    (r#"{"$type": "boolean"}"#, "b"),
    (r#"{"$type": "number"}"#, "cd"),
    (r#"{"$type": "string"}"#, "e"),
    (r#"{"$type": "array"}"#, "fgh"),
    (r#"{"$type": "object"}"#, "ij"),
    (r#"{"$type": "nope"}"#, ""),
    (r#"{"$in": [3, "ab", null]}"#, "ace"),
    (r#"{"$in": [1]}"#, "f"),
    (r#"{"$nin": [3, 1]}"#, "abdeghij"),
    (r#"{"$size": 0}"#, "h"),
    (r#"{"$size": 2}"#, "f"),
    (r#"{"$mod": [2, 1]}"#, "c"),
    (r#"{"$regex": "^a"}"#, "e"),
    (r#"{"$all": [2, 1]}"#, "f"),
    (r#"{"$all": [[1, 2]]}"#, "fg"),
    (r#"{"$elemMatch": {"$gt": 1}}"#, "fg"),
    (r#"{"$elemMatch": {"$lt": 2}}"#, "f"),
    (r#"{"$allMatch": {"$gte": 1}}"#, "fg"),
    (r#"{"$allMatch": {"$gte": 2}}"#, "g"),
    (r#"{"$keyMapMatch": {"$eq": "x"}}"#, "i"),
    (r#"{"$beginsWith": "a"}"#, "e"),
    (r#"{"$not": {"$type": "array"}}"#, "abcdeij"),
    (r#"{"$or": [{"$eq": 3}, {"$size": 0}]}"#, "ch"),
    (r#"{"$and": [{"$gt": 1}, {"$lt": 4}]}"#, "c"),
    (r#"{"$nor": [{"$lte": 3}, {"$gte": "ab"}]}"#, "d"),
    (r#"{"x": {"$gt": 0}}"#, "i"),
    (r#"{"x": {"$exists": false}}"#, "jz"),
];

#[test]
fn operators_choose_among_values_of_every_kind_with_and_without_an_index() {
    let values = [
        json!(null),
        json!(false),
        json!(3),
        json!(4.5),
        json!("ab"),
        json!([1, 2]),
        json!([[1, 2]]),
        json!([]),
        json!({"x": 1}),
        json!({}),
    ];
    let (_server, mut connection) = with_values(&values);
    for is_indexed in [false, true] {
        for (condition, expected) in CONDITIONS {
            let condition: Value = serde_json::from_str(condition).unwrap();
            let query = json!({"selector": {"v": condition}, "r": 1, "stable": true});
            let mut ids: Vec<_> = found(&mut connection, &query).chars().collect();
            ids.sort_unstable();
            let ids: String = ids.into_iter().collect();
            assert_eq!(ids, *expected, "{condition} {is_indexed}");
        }
        let index = json!({"index": {"fields": ["v"]}, "name": "v", "ddoc": "i"});
        call(&mut connection, "POST", "/db/_index", &index);
    }
}

#[test]
fn a_bookmark_goes_on_behind_its_document_whatever_was_edited_meanwhile() {
    let values: Vec<_> = (0..8).map(|n| json!(n)).collect();
    let (_server, mut connection) = with_values(&values);
    let index = json!({"index": {"fields": ["v"]}, "name": "v", "ddoc": "i"});
    call(&mut connection, "POST", "/db/_index", &index);
    let mut query = json!({"selector": {"v": {"$gte": 0}}, "limit": 3});
    let page = call(&mut connection, "POST", "/db/_find", &query);
    query["bookmark"] = page["bookmark"].clone();
    assert_eq!(found(&mut connection, &query), "def");
    // The document of the bookmark goes, one comes in front of it, and one behind it.
    for (id, value) in [("x", 1.5), ("y", 3.5)] {
        let path = format!("/db/{id}");
        call(&mut connection, "PUT", &path, &json!({"v": value}));
    }
    let rev = page["docs"][2]["_rev"].as_str().unwrap();
    let path = format!("/db/c?rev={rev}");
    call(&mut connection, "DELETE", &path, &Value::Null);
    assert_eq!(found(&mut connection, &query), "dye");
    query["skip"] = json!(1);
    assert_eq!(found(&mut connection, &query), "yef");
}

#[test]
fn the_tag_of_an_answer_with_documents_follows_all_of_them() {
    let (_server, mut connection) = with_values(&[json!(1)]);
    let map = "function (doc) { if (doc.v) emit(doc.v, {_id: 'z'}) }";
    let design = json!({"views": {"v": {"map": map}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    call(
        &mut connection,
        "GET",
        "/db/_design/d/_view/v",
        &Value::Null,
    );
    // The index stays as it is, so that only the documents can be others.
    let path = "/db/_design/d/_view/v?include_docs=true&update=false";
    let first = connection.send("GET", path, &[ADMIN], "");
    let tag = first.header("etag").unwrap().to_owned();
    let again = connection.send("GET", path, &[ADMIN, ("if-none-match", &tag)], "");
    assert_eq!(again.status, 304);
    // It has no row, and is shown with one.
    let rev = call(&mut connection, "GET", "/db/z", &Value::Null)["_rev"].clone();
    call(
        &mut connection,
        "PUT",
        "/db/z",
        &json!({"_rev": rev, "new": true}),
    );
    let changed = connection.send("GET", path, &[ADMIN, ("if-none-match", &tag)], "");
    assert_eq!(
        (changed.status, changed.body.contains("\"new\":true")),
        (200, true)
    );
}

#[test]
fn sums_statistics_and_functions_reduce_many_rows() {
    let (_server, mut connection) = with_values(&[]);
    let docs: Vec<_> = (1..=5000).map(|n| json!({"n": n, "k": n % 2})).collect();
    let docs = json!({"docs": docs});
    call(&mut connection, "POST", "/db/_bulk_docs", &docs);
    let map = |value: &str| format!("function (doc) {{ if (doc.n) emit(doc.k, {value}) }}");
    let again = "function (k, v, again) { return again ? sum(v) : v.length }";
    let views = json!({
        "sum": {"map": map("doc.n"), "reduce": "_sum"},
        "lists": {"map": map("[doc.n, 1]"), "reduce": "_sum"},
        "objects": {"map": map("{a: {b: doc.n}, c: 1}"), "reduce": "_sum"},
        "stats": {"map": map("doc.n"), "reduce": "_stats"},
        "count": {"map": map("null"), "reduce": "_count"},
        "script": {"map": map("doc.n"), "reduce": again},
    });
    call(
        &mut connection,
        "PUT",
        "/db/_design/d",
        &json!({"views": views}),
    );
    let stats = json!({"sum": 12_502_500, "count": 5000, "min": 1, "max": 5000, "sumsqr": 41_679_167_500_u64});
    for (view, expected) in [
        ("sum", json!(12_502_500)),
        ("lists", json!([12_502_500, 5000])),
        ("objects", json!({"a": {"b": 12_502_500}, "c": 5000})),
        ("stats", stats),
        ("count", json!(5000)),
        ("script", json!(5000)),
        ("script?key=1", json!(2500)),
        ("sum?group=true&limit=1", json!(6_252_500)),
    ] {
        let path = format!("/db/_design/d/_view/{view}");
        let answer = call(&mut connection, "GET", &path, &Value::Null);
        assert_eq!(answer["rows"][0]["value"], expected, "{view}");
    }
}
