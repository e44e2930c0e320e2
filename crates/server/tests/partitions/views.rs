//! Views by partition.

use super::{filled, get, ids, refusal};
use crate::client::{Connection, Running};
use crate::compaction::call;
use serde_json::{Value, json};

/// The documents of `filled`, and views over them: by partition, and global ones.
fn viewed() -> (Running, Connection) {
    let (server, mut connection) = filled();
    let views = json!({
        "n": {"map": "function (doc) { emit(doc.n, doc.kind); }"},
        "kinds": {"map": "function (doc) { emit([doc.kind, doc.n], doc.n); }", "reduce": "_sum"},
        "own": {
            "map": "function (doc) { emit([doc.kind, doc.n], 1); }",
            "reduce": "function (keys, values, rereduce) { return sum(values); }",
        },
    });
    for (name, options) in [
        ("usual", json!({})),
        ("yes", json!({"partitioned": true, "include_design": true})),
        ("global", json!({"partitioned": false})),
    ] {
        let design = json!({"views": views, "options": options});
        call(
            &mut connection,
            "PUT",
            &format!("/db/_design/{name}"),
            &design,
        );
    }
    (server, connection)
}

#[test]
fn rows_of_a_partition_come_in_the_order_of_their_keys() {
    let (_server, mut connection) = viewed();
    for (query, expected) in [
        (
            "",
            "ab:01 ab:04 ab:07 ab:10 ab:13 ab:16 ab:19 ab:22 ab:25 ab:28",
        ),
        ("?limit=2&skip=1", "ab:04 ab:07"),
        ("?descending=true&limit=2", "ab:28 ab:25"),
        ("?startkey=8&endkey=16", "ab:10 ab:13 ab:16"),
        ("?startkey=8&endkey=16&inclusive_end=false", "ab:10 ab:13"),
        ("?startkey=16&endkey=8&descending=true", "ab:16 ab:13 ab:10"),
        ("?startkey=25", "ab:25 ab:28"),
        ("?endkey=4", "ab:01 ab:04"),
        ("?key=7", "ab:07"),
        ("?key=8", ""),
        ("?keys=[10,8,4]", "ab:10 ab:04"),
        ("?startkey=%22ab%22", ""),
        ("?startkey=7&startkey_docid=ab:07&limit=1", "ab:07"),
        ("?startkey=7&startkey_docid=b&limit=1", "ab:10"),
        ("?stable=true&update=false&limit=1", "ab:01"),
    ] {
        for design in ["usual", "yes"] {
            let path = format!("/db/_partition/ab/_design/{design}/_view/n{query}");
            assert_eq!(ids(&get(&mut connection, &path)), expected, "{path}");
        }
    }
    let path = "/db/_partition/ab/_design/usual/_view/n";
    let row = &get(&mut connection, &format!("{path}?key=7&include_docs=true"))["rows"][0];
    assert_eq!(
        (&row["key"], &row["value"], &row["doc"]["n"]),
        (&json!(7), &json!("y"), &json!(7))
    );
    let queries = json!({"queries": [{"key": 7}, {"limit": 1}]});
    let answer = call(
        &mut connection,
        "POST",
        &format!("{path}/queries"),
        &queries,
    );
    assert_eq!(ids(&answer["results"][0]), "ab:07");
    assert_eq!(ids(&answer["results"][1]), "ab:01");
    let by_parameter = get(
        &mut connection,
        "/db/_design/usual/_view/n?partition=ab&key=7",
    );
    assert_eq!(ids(&by_parameter), "ab:07");
}

#[test]
fn reduces_see_the_rows_of_one_partition() {
    let (_server, mut connection) = viewed();
    // Numbers of `a` are the multiples of 3: five even ones, five odd ones.
    let path = "/db/_partition/a/_design/usual/_view";
    let value = |connection: &mut Connection, query: &str| {
        get(connection, &format!("{path}/{query}"))["rows"].clone()
    };
    assert_eq!(
        value(&mut connection, "kinds"),
        json!([{"key": null, "value": 135}])
    );
    let grouped = json!([{"key": ["x"], "value": 60}, {"key": ["y"], "value": 75}]);
    assert_eq!(value(&mut connection, "kinds?group_level=1"), grouped);
    let turned = json!([{"key": ["y"], "value": 75}, {"key": ["x"], "value": 60}]);
    assert_eq!(
        value(&mut connection, "kinds?group_level=1&descending=true"),
        turned
    );
    let counted = json!([{"key": ["x"], "value": 5}, {"key": ["y"], "value": 5}]);
    assert_eq!(value(&mut connection, "own?group_level=1"), counted);
    let some = "kinds?group=true&startkey=[%22x%22,10]&limit=2";
    let rows = json!([{"key": ["x", 12], "value": 12}, {"key": ["x", 18], "value": 18}]);
    assert_eq!(value(&mut connection, some), rows);
    let keys = "kinds?group=true&keys=[[%22y%22,3],[%22y%22,1]]";
    assert_eq!(
        value(&mut connection, keys),
        json!([{"key": ["y", 3], "value": 3}])
    );
    let none = get(
        &mut connection,
        "/db/_partition/none/_design/usual/_view/kinds",
    );
    assert_eq!(none["rows"], json!([]));
}

#[test]
fn views_by_partition_are_asked_of_one_and_the_others_of_none() {
    let (_server, mut connection) = viewed();
    let all = get(
        &mut connection,
        "/db/_design/global/_view/n?startkey=4&limit=3",
    );
    assert_eq!(ids(&all), "ab:04 b:05 a:06");
    let sum = get(&mut connection, "/db/_design/global/_view/kinds");
    assert_eq!(sum["rows"][0]["value"], 435);
    let mandatory =
        "400 query_parse_error: `partition` parameter is mandatory for queries to this view.";
    for design in ["usual", "yes"] {
        let path = format!("/db/_design/{design}/_view/n");
        assert_eq!(
            refusal(&mut connection, "GET", &path, &Value::Null),
            mandatory
        );
    }
    let refused =
        |connection: &mut Connection, path: &str| refusal(connection, "GET", path, &Value::Null);
    assert_eq!(
        refused(&mut connection, "/db/_partition/a/_design/global/_view/n"),
        "400 query_parse_error: `partition` parameter is not supported in this design doc"
    );
    assert_eq!(
        refused(&mut connection, "/db/_partition/_a/_design/usual/_view/n"),
        "400 illegal_partition: Partition must not start with an underscore"
    );
    assert!(refused(&mut connection, "/db/_partition/a/_design/none/_view/n").starts_with("404"));
    assert!(
        refused(&mut connection, "/db/_partition/a/_design/usual/_view/none").starts_with("404")
    );
    call(&mut connection, "PUT", "/plain", &Value::Null);
    let design = json!({"views": {}, "options": {"partitioned": true}});
    let reason =
        "400 invalid_design_doc: partitioned option cannot be true in a non-partitioned database.";
    assert_eq!(
        refusal(&mut connection, "PUT", "/plain/_design/d", &design),
        reason
    );
}

#[test]
fn rows_follow_their_documents() {
    let (_server, mut connection) = viewed();
    let path = "/db/_partition/b/_design/usual/_view/n?endkey=8";
    assert_eq!(ids(&get(&mut connection, path)), "b:02 b:05 b:08");
    let old = get(&mut connection, "/db/b:05");
    let changed = json!({"n": 1, "_rev": old["_rev"]});
    call(&mut connection, "PUT", "/db/b:05", &changed);
    let rev = get(&mut connection, "/db/b:08")["_rev"]
        .as_str()
        .unwrap()
        .to_owned();
    call(
        &mut connection,
        "DELETE",
        &format!("/db/b:08?rev={rev}"),
        &Value::Null,
    );
    let purged = get(&mut connection, "/db/b:02");
    call(
        &mut connection,
        "POST",
        "/db/_purge",
        &json!({"b:02": [purged["_rev"]]}),
    );
    call(&mut connection, "PUT", "/db/b:new", &json!({"n": 0}));
    assert_eq!(ids(&get(&mut connection, path)), "b:new b:05");
    assert_eq!(
        ids(&get(
            &mut connection,
            "/db/_partition/a/_design/usual/_view/n?endkey=8"
        )),
        "a:00 a:03 a:06"
    );
}
