//! A database stays partitioned.

use super::{filled, get, ids, refusal};
use crate::client::Connection;
use crate::compaction::{call, until};
use serde_json::{Value, json};

fn check(connection: &mut Connection) {
    assert_eq!(
        get(connection, "/db")["props"],
        json!({"partitioned": true})
    );
    let refused = refusal(connection, "PUT", "/db/nopart", &json!({}));
    assert!(refused.starts_with("400 illegal_docid"), "{refused}");
    let rows = get(connection, "/db/_partition/b/_design/d/_view/v?limit=2");
    assert_eq!(ids(&rows), "b:02 b:05");
}

#[test]
fn after_a_compaction_and_a_restart_a_database_has_its_partitions() {
    let (server, mut connection) = filled();
    let design = json!({"views": {"v": {"map": "function (doc) { emit(doc.n); }"}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    check(&mut connection);
    call(&mut connection, "PUT", "/db/_compression", &json!("zstd_6"));
    call(&mut connection, "POST", "/db/_compact/d", &Value::Null);
    call(&mut connection, "POST", "/db/_compact", &Value::Null);
    until(&mut connection, "/_active_tasks", |tasks| {
        tasks == &json!([])
    });
    check(&mut connection);
    drop(connection);
    let server = server.restart(|_| ());
    let mut connection = Connection::open(server.address);
    check(&mut connection);
    assert_eq!(get(&mut connection, "/db/_partition/b")["doc_count"], 10);
}
