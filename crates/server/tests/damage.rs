//! A database with damage: what is hit answers an error that names it, and all else goes on.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};
use std::path::Path;

/// Flips a bit of a text that stands in the file of the database.
fn flip(folder: &Path, text: &str) {
    let path = folder.join("databases/db.varve");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut places = bytes.windows(text.len());
    let at = places.position(|part| part == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// Documents that stand in the file as they are, of which one is damaged.
fn damaged() -> Running {
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    let docs =
        (0..6).map(|n| json!({"_id": format!("doc-{n}"), "n": n, "text": format!("needle {n}")}));
    let docs: Vec<_> = docs.collect();
    call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
    server.restart(|folder| flip(folder, "needle 3"))
}

fn get(connection: &mut Connection, path: &str) -> (u16, Value) {
    let reply = connection.send("GET", path, &[ADMIN, JSON], "");
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn names_it(error: &Value) {
    assert_eq!(error["error"], "internal_server_error", "{error}");
    let reason = error["reason"].as_str().unwrap();
    assert!(
        reason.contains("\"doc-3\"") && reason.contains("damaged at byte"),
        "{reason}"
    );
}

#[test]
fn a_damaged_document_answers_an_error_and_its_neighbours_go_on() {
    let server = damaged();
    let connection = &mut Connection::open(server.address);
    let (status, error) = get(connection, "/db/doc-3");
    assert_eq!(status, 500);
    names_it(&error);
    for n in [2, 4] {
        let (status, doc) = get(connection, &format!("/db/doc-{n}"));
        assert_eq!((status, &doc["n"]), (200, &json!(n)));
    }
    // It can be replaced, and then it is whole.
    let rows = call(
        connection,
        "GET",
        "/db/_all_docs?key=%22doc-3%22",
        &Value::Null,
    );
    let rev = rows["rows"][0]["value"]["rev"].clone();
    call(
        connection,
        "PUT",
        "/db/doc-3",
        &json!({"_rev": rev, "n": 33}),
    );
    assert_eq!(get(connection, "/db/doc-3").1["n"], 33);
}

#[test]
fn rows_say_of_which_document_nothing_can_be_shown() {
    let server = damaged();
    let connection = &mut Connection::open(server.address);
    let keys = json!({"keys": ["doc-4", "doc-3", "doc-2"]});
    let listed = [
        call(
            connection,
            "GET",
            "/db/_all_docs?include_docs=true",
            &Value::Null,
        ),
        call(connection, "POST", "/db/_all_docs?include_docs=true", &keys),
    ];
    for rows in listed {
        for row in rows["rows"].as_array().unwrap() {
            match row["id"].as_str().unwrap() {
                "doc-3" => {
                    names_it(row);
                    assert!(row.get("doc").is_none(), "{row}");
                    assert!(row["value"]["rev"].is_string(), "{row}");
                }
                id => assert_eq!(row["doc"]["_id"], id),
            }
        }
    }
    let query = json!({"selector": {"n": {"$gt": 3}}});
    for (feed, query, expected) in [
        ("include_docs=true", &Value::Null, 6),
        ("filter=_selector", &query, 3),
    ] {
        let path = format!("/db/_changes?{feed}");
        let method = if query.is_null() { "GET" } else { "POST" };
        let changes = call(connection, method, &path, query);
        let changes = changes["results"].as_array().unwrap();
        assert_eq!(changes.len(), expected, "{changes:?}");
        let hit = changes
            .iter()
            .find(|change| change["id"] == "doc-3")
            .unwrap();
        names_it(hit);
        assert!(hit.get("doc").is_none() && hit["changes"][0]["rev"].is_string());
    }
    let asked = json!({"docs": [{"id": "doc-2"}, {"id": "doc-3"}, {"id": "doc-4"}]});
    let results = call(connection, "POST", "/db/_bulk_get", &asked);
    let of = |n: usize| &results["results"][n]["docs"][0];
    names_it(&of(1)["error"]);
    assert_eq!(
        (&of(0)["ok"]["n"], &of(2)["ok"]["n"]),
        (&json!(2), &json!(4))
    );
}
