//! How much memory a list of many rows takes.

use crate::VARVE;
use serde_json::json;
use varve_testkit::varve::{Server, configure};

/// Rows of the view.
const ROWS: usize = 200_000;
/// Bound of a list's memory beside the server: engine, pieces on their way, and what the allocator keeps.
const BOUND: u64 = 64 << 20;

#[test]
fn a_list_of_many_rows_takes_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    // Nodes of the view's tree stay in memory as long as there is room for them, for lists as for views.
    configure(directory.path(), "[couchdb]\ncache_size = 8mb\n");
    let server = Server::start(VARVE, directory.path());
    let mut admin = server.admin();
    admin.put("/d", &serde_json::Value::Null).expect_status(201);
    let map = "function (doc) { for (var i = 0; i < 1000; i++) emit([doc._id, i], 'a value of some length') }";
    let list = "function () { var row, n = 0; while (row = getRow()) { n++; send(toJSON(row) + '\\n') } return 'rows: ' + n }";
    let design = json!({"views": {"v": {"map": map}}, "lists": {"l": list}});
    admin.put("/d/_design/d", &design).expect_status(201);
    let docs: Vec<_> = (0..ROWS / 1000)
        .map(|n| json!({"_id": format!("{n:05}")}))
        .collect();
    let body = json!({"docs": docs}).to_string();
    let json = [("Content-Type", "application/json")];
    let posted = admin.request("POST", "/d/_bulk_docs", &json, body.as_bytes());
    posted.unwrap().expect_status(201);
    admin.get("/d/_design/d/_view/v?limit=1").expect_status(200);
    // The build of the index took more: a new process has a peak of its own.
    assert!(server.stop("TERM").status.success());
    let server = Server::start(VARVE, directory.path());
    let mut admin = server.admin();
    admin
        .get("/d/_design/d/_list/l/v?limit=100")
        .expect_status(200);
    let before = server.peak_memory();
    let answer = admin.get("/d/_design/d/_list/l/v");
    let text = answer.text();
    assert!(
        text.ends_with(&format!("rows: {ROWS}")),
        "{} bytes",
        text.len()
    );
    assert_eq!(text.lines().count(), ROWS + 1);
    let growth = server.peak_memory() - before;
    assert!(growth < BOUND, "{growth} bytes");
}
