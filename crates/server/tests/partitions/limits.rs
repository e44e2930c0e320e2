//! How much a partition takes, and how much is asked of it.

use super::{get, ids, refusal};
use crate::client::{Connection, Running};
use crate::compaction::call;
use serde_json::{Value, json};

fn limited(settings: &str) -> (Running, Connection) {
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db?partitioned=true", &Value::Null);
    (server, connection)
}

fn overflow(id: &str) -> String {
    format!("403 partition_overflow: '{id}' exceeds partition limit")
}

#[test]
fn a_full_partition_takes_no_more_and_others_do() {
    let (_server, mut connection) = limited("[couchdb]\nmax_partition_size = 1000\n");
    let docs = (0..6).map(|n| json!({"_id": format!("a:{n}"), "text": "-".repeat(200)}));
    let docs: Vec<_> = docs.collect();
    // Its size when a request comes counts.
    let rows = call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    assert!(
        rows.as_array().unwrap().iter().all(|row| row["ok"] == true),
        "{rows}"
    );

    let put =
        |connection: &mut Connection, path: &str| refusal(connection, "PUT", path, &json!({}));
    assert_eq!(put(&mut connection, "/db/a:new"), overflow("a:new"));
    let post = refusal(&mut connection, "POST", "/db", &json!({"_id": "a:new"}));
    assert_eq!(post, overflow("a:new"));
    let both = json!({"docs": [{"_id": "a:new"}, {"_id": "b:new"}, {"_id": "_design/d"}]});
    let rows = call(&mut connection, "POST", "/db/_bulk_docs", &both);
    assert_eq!(
        (&rows[0]["error"], &rows[1]["ok"]),
        (&json!("partition_overflow"), &json!(true))
    );
    assert_eq!(rows[2]["ok"], true);
    call(
        &mut connection,
        "PUT",
        "/db/a:copy?new_edits=false",
        &json!({"_rev": "1-a"}),
    );

    let old = get(&mut connection, "/db/a:0");
    let longer = json!({"_rev": old["_rev"], "text": "-".repeat(300)});
    assert_eq!(
        refusal(&mut connection, "PUT", "/db/a:0", &longer),
        overflow("a:0")
    );
    for id in ["a:0", "a:1"] {
        let old = get(&mut connection, &format!("/db/{id}"));
        let shorter = json!({"_rev": old["_rev"], "text": ""});
        call(&mut connection, "PUT", &format!("/db/{id}"), &shorter);
    }
    let rev = get(&mut connection, "/db/a:2")["_rev"]
        .as_str()
        .unwrap()
        .to_owned();
    call(
        &mut connection,
        "DELETE",
        &format!("/db/a:2?rev={rev}"),
        &Value::Null,
    );
    call(&mut connection, "PUT", "/db/a:new", &json!({}));
}

#[test]
fn the_limit_is_changed_while_the_server_runs() {
    let (_server, mut connection) = limited("[couchdb]\nmax_partition_size = 10\n");
    call(
        &mut connection,
        "PUT",
        "/db/a:1",
        &json!({"text": "longer than that"}),
    );
    assert_eq!(
        refusal(&mut connection, "PUT", "/db/a:2", &json!({})),
        overflow("a:2")
    );
    let setting = "/_node/_local/_config/couchdb/max_partition_size";
    for size in ["0", "1000"] {
        call(&mut connection, "PUT", setting, &json!(size));
        call(&mut connection, "PUT", &format!("/db/a:{size}"), &json!({}));
    }
    call(&mut connection, "PUT", setting, &json!("10"));
    assert_eq!(
        refusal(&mut connection, "PUT", "/db/a:2", &json!({})),
        overflow("a:2")
    );
}

#[test]
fn a_query_asks_for_no_more_rows_than_it_may() {
    let (_server, mut connection) = limited("[query_server_config]\npartition_query_limit = 3\n");
    let docs: Vec<_> = (0..5).map(|n| json!({"_id": format!("a:{n}")})).collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let design = json!({"views": {"v": {"map": "function (doc) { emit(1); }"}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    let words = "400 query_parse_error: Limit is too large, must not exceed 3";
    for path in [
        "/db/_partition/a/_all_docs",
        "/db/_partition/a/_design/d/_view/v",
    ] {
        assert_eq!(ids(&get(&mut connection, path)), "a:0 a:1 a:2");
        assert_eq!(
            ids(&get(&mut connection, &format!("{path}?limit=3&skip=3"))),
            "a:3 a:4"
        );
        let above = format!("{path}?limit=4");
        assert_eq!(refusal(&mut connection, "GET", &above, &Value::Null), words);
    }
    assert_eq!(
        ids(&get(&mut connection, "/db/_all_docs?limit=6"))
            .split(' ')
            .count(),
        6
    );
}
