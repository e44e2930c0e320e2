//! Queries by selector within a partition, and their indexes.

use super::{filled, get, refusal};
use crate::client::Connection;
use crate::compaction::call;
use serde_json::{Value, json};

fn found(connection: &mut Connection, path: &str, query: &Value) -> (String, Value) {
    let answer = call(connection, "POST", path, query);
    let docs = answer["docs"].as_array().unwrap().iter();
    let ids: Vec<&str> = docs.map(|doc| doc["_id"].as_str().unwrap()).collect();
    (ids.join(" "), answer)
}

#[test]
fn a_search_reads_the_rows_of_its_partition_only() {
    let (_server, mut connection) = filled();
    let find = "/db/_partition/a/_find";
    let query = json!({"selector": {"n": {"$gt": 5, "$lt": 20}}, "execution_stats": true});
    let (ids, answer) = found(&mut connection, find, &query);
    assert_eq!(ids, "a:06 a:09 a:12 a:15 a:18");
    assert_eq!(answer["execution_stats"]["total_keys_examined"], 10);
    call(
        &mut connection,
        "POST",
        "/db/_index",
        &json!({"index": {"fields": ["n"]}, "name": "n"}),
    );
    let (ids, answer) = found(&mut connection, find, &query);
    assert_eq!(ids, "a:06 a:09 a:12 a:15 a:18");
    assert_eq!(answer["execution_stats"]["total_keys_examined"], 5);
    let query = json!({"selector": {"_id": {"$gt": "a:2"}}, "execution_stats": true});
    let (ids, answer) = found(&mut connection, find, &query);
    assert_eq!(
        (
            ids.as_str(),
            &answer["execution_stats"]["total_keys_examined"]
        ),
        ("a:21 a:24 a:27", &json!(3))
    );
    let (ids, _) = found(
        &mut connection,
        find,
        &json!({"selector": {"_id": {"$gt": "b"}}}),
    );
    assert_eq!(ids, "");
    let by_body = json!({"selector": {"n": {"$lt": 5}}, "partition": "ab"});
    assert_eq!(
        found(&mut connection, "/db/_find", &by_body).0,
        "ab:01 ab:04"
    );
}

#[test]
fn pages_and_orders_stay_within_the_partition() {
    let (_server, mut connection) = filled();
    let index = json!({"index": {"fields": ["n"]}});
    call(&mut connection, "POST", "/db/_index", &index);
    for selector in [json!({"n": {"$gte": 0}}), json!({"kind": {"$gt": null}})] {
        let mut pages = Vec::new();
        let mut bookmark = Value::Null;
        loop {
            let query = json!({"selector": selector, "limit": 4, "bookmark": bookmark});
            let (ids, answer) = found(&mut connection, "/db/_partition/ab/_find", &query);
            bookmark = answer["bookmark"].clone();
            if ids.is_empty() {
                break;
            }
            pages.push(ids);
        }
        let pages = pages.join("|");
        assert_eq!(
            pages,
            "ab:01 ab:04 ab:07 ab:10|ab:13 ab:16 ab:19 ab:22|ab:25 ab:28"
        );
    }
    let sorted = json!({"selector": {"n": {"$gt": 3}}, "sort": [{"n": "desc"}], "limit": 2});
    assert_eq!(
        found(&mut connection, "/db/_partition/b/_find", &sorted).0,
        "b:29 b:26"
    );
    let unsorted = json!({"selector": {"kind": "x"}, "sort": ["kind"]});
    let words = "index exists for this sort, try indexing by the sort fields.";
    assert_eq!(
        refusal(&mut connection, "POST", "/db/_partition/b/_find", &unsorted),
        format!("400 no_usable_index: No partitioned {words}")
    );
    assert_eq!(
        refusal(&mut connection, "POST", "/db/_find", &sorted),
        format!("400 no_usable_index: No global {words}")
    );
}

#[test]
fn indexes_serve_the_scope_that_they_were_made_for() {
    let (_server, mut connection) = filled();
    let make =
        |connection: &mut Connection, body: Value| call(connection, "POST", "/db/_index", &body);
    make(
        &mut connection,
        json!({"index": {"fields": ["n"]}, "name": "local", "ddoc": "local"}),
    );
    let global = json!({"index": {"fields": ["n"]}, "name": "global", "ddoc": "global", "partitioned": false});
    assert_eq!(make(&mut connection, global.clone())["result"], "created");
    assert_eq!(make(&mut connection, global)["result"], "exists");
    let listed = get(&mut connection, "/db/_index");
    let listed = listed["indexes"].as_array().unwrap().iter();
    let listed: Vec<_> = listed
        .map(|index| (index["name"].clone(), index["partitioned"].clone()))
        .collect();
    let expected = [
        (json!("_all_docs"), Value::Null),
        (json!("global"), json!(false)),
        (json!("local"), json!(true)),
    ];
    assert_eq!(listed, expected);

    let query = json!({"selector": {"n": 6}});
    let mut explain = |path: &str| {
        let told = call(&mut connection, "POST", path, &query);
        let other = &told["index_candidates"].as_array().unwrap().iter();
        let mismatch = other
            .clone()
            .find(|other| other["analysis"]["reasons"] == json!([{"name": "scope_mismatch"}]));
        let mismatch = mismatch.unwrap()["index"]["name"].clone();
        (told, mismatch)
    };
    let (told, mismatch) = explain("/db/_partition/a/_explain");
    assert_eq!(
        (&told["index"]["name"], mismatch),
        (&json!("local"), json!("global"))
    );
    assert_eq!(
        (
            &told["partitioned"],
            &told["mrargs"]["partition"],
            &told["opts"]["partition"]
        ),
        (&json!(true), &json!("a"), &json!("a"))
    );
    assert_eq!(told["mrargs"]["start_key"], json!([6]));
    let (told, mismatch) = explain("/db/_explain");
    assert_eq!(
        (&told["index"]["name"], mismatch),
        (&json!("global"), json!("local"))
    );
    assert_eq!(
        (
            &told["partitioned"],
            &told["mrargs"]["partition"],
            &told["opts"]["partition"]
        ),
        (&json!(false), &Value::Null, &json!(""))
    );
    for (path, ids) in [
        ("/db/_partition/a/_find", "a:06"),
        ("/db/_partition/b/_find", ""),
        ("/db/_find", "a:06"),
    ] {
        assert_eq!(found(&mut connection, path, &query).0, ids, "{path}");
    }
}

#[test]
fn an_index_fits_its_design_document_and_its_database() {
    let (_server, mut connection) = filled();
    let local = json!({"index": {"fields": ["n"]}, "ddoc": "local"});
    call(&mut connection, "POST", "/db/_index", &local);
    let global = json!({"index": {"fields": ["n"]}, "ddoc": "global", "partitioned": false});
    call(&mut connection, "POST", "/db/_index", &global);
    let stored = get(&mut connection, "/db/_design/global");
    assert_eq!(stored["options"], json!({"partitioned": false}));
    assert_eq!(
        get(&mut connection, "/db/_design/local")["options"],
        Value::Null
    );
    let other = json!({"index": {"fields": ["kind"]}, "ddoc": "local", "partitioned": false});
    let words = "Requested partitioned option does not match existing value on design document _design/local";
    assert_eq!(
        refusal(&mut connection, "POST", "/db/_index", &other),
        format!("400 invalid_partitioned_option: {words}")
    );
    call(&mut connection, "PUT", "/plain", &Value::Null);
    let by_partition = json!({"index": {"fields": ["n"]}, "partitioned": true});
    assert!(
        refusal(&mut connection, "POST", "/plain/_index", &by_partition)
            .starts_with("400 invalid_design_doc")
    );
}
