//! A database with damage: requests for the damaged part get an error that names it, all others succeed.

mod files;

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call, until};
use serde_json::{Value, json};
use std::path::Path;

/// Flips a bit of a text that stands in the file of the database.
fn flip(directory: &Path, text: &str) {
    flip_one(directory, text, |places| places.first().copied());
}

fn flip_last(directory: &Path, text: &str) {
    flip_one(directory, text, |places| places.last().copied());
}

/// Changes one bit of the text at one of the places where it stands in the file.
fn flip_one(directory: &Path, text: &str, choose: fn(&[usize]) -> Option<usize>) {
    let path = directory.join("databases/db.varve");
    let mut bytes = std::fs::read(&path).unwrap();
    let places = bytes.windows(text.len()).enumerate();
    let places = places.filter(|(_, part)| *part == text.as_bytes());
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    bytes[choose(&places).unwrap()] ^= 1;
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
    server.restart(|directory| flip(directory, "needle 3"))
}

fn get(connection: &mut Connection, path: &str) -> (u16, Value) {
    let reply = connection.send("GET", path, &[ADMIN, JSON], "");
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn names_it(error: &Value) {
    names(error, "doc-3");
}

fn names(error: &Value, id: &str) {
    assert_eq!(error["error"], "internal_server_error", "{error}");
    let reason = error["reason"].as_str().unwrap();
    assert!(
        reason.contains(&format!("\"{id}\", revision 1-")) && reason.contains("damaged at byte"),
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

#[test]
fn a_view_names_the_document_that_it_cannot_map_and_goes_on_without_it() {
    let map = "function (doc) { emit(doc.n, doc.text); }";
    let design = json!({"views": {"all": {"map": map}}});
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    call(connection, "PUT", "/db/_design/d", &design);
    let view = "/db/_design/d/_view/all";
    for n in 0..3 {
        let doc = json!({"n": n, "text": format!("needle {n}")});
        call(connection, "PUT", &format!("/db/doc-{n}"), &doc);
    }
    let before = call(connection, "GET", view, &Value::Null);
    assert_eq!(before["total_rows"], 3);
    for n in 3..6 {
        let doc = json!({"n": n, "text": format!("needle {n}")});
        call(connection, "PUT", &format!("/db/doc-{n}"), &doc);
    }
    let server = server.restart(|directory| flip(directory, "needle 3"));
    let connection = &mut Connection::open(server.address);
    for _ in 0..2 {
        let (status, error) = get(connection, view);
        assert_eq!(status, 500);
        names_it(&error);
        // The index is as it was.
        let (status, rows) = get(connection, &format!("{view}?update=false"));
        assert_eq!((status, &rows), (200, &before));
    }
    let rows = call(
        connection,
        "GET",
        "/db/_all_docs?key=%22doc-3%22",
        &Value::Null,
    );
    let rev = &rows["rows"][0]["value"]["rev"];
    let path = format!("/db/doc-3?rev={}", rev.as_str().unwrap());
    call(connection, "DELETE", &path, &Value::Null);
    let rows = call(connection, "GET", view, &Value::Null);
    let keys: Vec<_> = rows["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["key"])
        .collect();
    assert_eq!(keys, [0, 1, 2, 4, 5]);
}

/// A database with a document and a validation function that is damaged.
fn with_damaged_design() -> Running {
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    call(connection, "PUT", "/db/doc", &json!({"n": 1}));
    let function = "function (doc) { if (doc.bad) throw({forbidden: 'needle'}); }";
    let design = json!({"validate_doc_update": function});
    call(connection, "PUT", "/db/_design/d", &design);
    server.restart(|directory| flip(directory, "needle"))
}

fn send(connection: &mut Connection, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let reply = connection.send(method, path, &[ADMIN, JSON], &body.to_string());
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

#[test]
fn a_damaged_design_document_is_named_to_writers_and_can_be_replaced() {
    for is_deleted in [true, false] {
        let server = with_damaged_design();
        let connection = &mut Connection::open(server.address);
        // The damaged function cannot check the document, so that the write is refused.
        let doc = json!({"bad": true});
        for (method, path) in [("PUT", "/db/new"), ("POST", "/db")] {
            let (status, error) = send(connection, method, path, &doc);
            assert_eq!(status, 500, "{error}");
            names(&error, "_design/d");
        }
        let (_, rows) = send(
            connection,
            "POST",
            "/db/_bulk_docs",
            &json!({"docs": [doc]}),
        );
        names(&rows[0], "_design/d");
        // Everything else can be read.
        assert_eq!(get(connection, "/db/doc").1["n"], 1);
        let listed = get(connection, "/db/_design_docs").1;
        let rev = &listed["rows"][0]["value"]["rev"];
        for path in ["", "/_view/v", "/_info"] {
            let (status, error) = get(connection, &format!("/db/_design/d{path}"));
            assert_eq!(status, 500, "{path}");
            names(&error, "_design/d");
        }
        let (status, error) = get(connection, "/db/_changes?filter=d/f");
        assert_eq!(status, 500);
        names(&error, "_design/d");
        // Local documents are asked of no replica.
        call(connection, "PUT", "/db/_local/note", &json!({}));
        // Only an admin may mend it.
        let path = format!("/db/_design/d?rev={}", rev.as_str().unwrap());
        let anonymous = connection.send("DELETE", &path, &[JSON], "");
        assert_eq!(anonymous.status, 401);
        match is_deleted {
            true => call(connection, "DELETE", &path, &Value::Null),
            false => {
                let function = "function (doc) { if (doc.bad) throw({forbidden: 'no'}); }";
                let design = json!({"validate_doc_update": function});
                call(connection, "PUT", &path, &design)
            }
        };
        let (status, _) = send(connection, "PUT", "/db/new", &doc);
        assert_eq!(status, if is_deleted { 201 } else { 403 });
        call(connection, "PUT", "/db/other", &json!({}));
    }
}

/// Flips a bit where a text stands for the last time in the file of the database.
/// A database that wants to be compacted, but a node of one of its trees is damaged.
fn with_damaged_node() -> Running {
    let none = "db_channels = none\n";
    let server = Running::start_with(&format!(
        "[couchdb]\nfile_compression = none\n[smoosh]\nwait_secs = 0\n{none}"
    ));
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    let mut revs = vec![Value::Null; 200];
    for _ in 0..3 {
        let docs = revs.iter().enumerate().map(|(n, rev)| {
            let mut doc = json!({"_id": format!("needle-{n:03}"), "text": "long".repeat(100)});
            if rev.is_string() {
                doc["_rev"] = rev.clone();
            }
            doc
        });
        let docs: Vec<_> = docs.collect();
        let rows = call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
        let rows = rows.as_array().unwrap().iter();
        revs = rows.map(|row| row["rev"].clone()).collect();
    }
    // Behind a commit that is whole, damage is no append that was cut short.
    call(connection, "PUT", "/db/_local/last", &json!({}));
    server.restart(|directory| {
        flip_last(directory, "needle-100");
        let ini = directory.join("varve.ini");
        let settings = std::fs::read_to_string(&ini).unwrap();
        let channel = "[smoosh.ratio_dbs]\nmin_size = 1000\nmin_priority = 1.1\n";
        std::fs::write(ini, settings.replace(none, "") + channel).unwrap();
    })
}

#[test]
fn damage_that_ends_compactions_is_told_with_what_to_do_and_not_again_and_again() {
    let server = with_damaged_node();
    let connection = &mut Connection::open(server.address);
    let told = || {
        let lines = server.told().into_iter();
        let lines = lines.filter(|line| line.starts_with("compaction of db: not compacted: "));
        lines.collect::<Vec<_>>()
    };
    let failed = |tasks: &Value| tasks[0]["type"] == "failed_database_compaction";
    call(connection, "GET", "/db", &Value::Null);
    let tasks = until(connection, "/_active_tasks", failed);
    let error = tasks[0]["error"].as_str().unwrap();
    for part in [
        "db.varve is damaged at byte ",
        "`varve verify FILE`",
        "`varve verify --salvage NEW FILE`",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(tasks[0]["database"], "db");
    // Whatever happens to the database, it is not tried at once again.
    for number in 0..30 {
        call(
            connection,
            "PUT",
            &format!("/db/_local/{number}"),
            &json!({}),
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(told().len(), 1, "{:?}", told());
    assert!(told()[0].ends_with(error), "{:?}", told());
    // A compaction on request reports it once more.
    call(connection, "POST", "/db/_compact", &Value::Null);
    // The operator hears of it last.
    until(connection, "/db", |_| told().len() == 2);
    until(connection, "/_active_tasks", failed);
    // The undamaged part can be read, and no file is left beside the database.
    call(connection, "GET", "/db/needle-000", &Value::Null);
    let left = std::fs::read_dir(server.directory.path().join("databases")).unwrap();
    assert_eq!(left.count(), 1);
    call(connection, "DELETE", "/db", &Value::Null);
    let tasks = call(connection, "GET", "/_active_tasks", &Value::Null);
    assert_eq!(tasks, json!([]));
}

#[test]
fn an_asked_compaction_does_not_lose_attachments_whose_list_is_damaged() {
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    let file = json!({"needle": {"content_type": "image/png", "data": "aGF5IGhheSBoYXk="}});
    call(connection, "PUT", "/db/doc", &json!({"_attachments": file}));
    call(connection, "PUT", "/db/other", &json!({}));
    let server = server.restart(|directory| flip(directory, "needle"));
    let path = server.directory.path().join("databases/db.varve");
    let before = std::fs::read(&path).unwrap();
    let connection = &mut Connection::open(server.address);
    call(connection, "POST", "/db/_compact", &Value::Null);
    let failed = |tasks: &Value| tasks[0]["type"] == "failed_database_compaction";
    let tasks = until(connection, "/_active_tasks", failed);
    let error = tasks[0]["error"].as_str().unwrap();
    assert!(error.contains("cannot copy document \"doc\""), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // The byte as it was, the attachment is there.
    let server = server.restart(|directory| flip(directory, "oeedle"));
    let reply = server.send("GET", "/db/doc/needle", &[ADMIN], "");
    assert_eq!((reply.status, &*reply.body), (200, "hay hay hay"));
}

#[test]
fn damage_before_the_first_byte_of_an_answer_is_an_error_with_a_reason() {
    let server = with_damaged_node();
    let connection = &mut Connection::open(server.address);
    let (status, error) = get(connection, "/db/_changes");
    assert_eq!(status, 500);
    let reason = error["reason"].as_str().unwrap();
    assert!(reason.contains("db.varve is damaged at byte "), "{reason}");
    // The connection is still of use, and the operator knows.
    assert_eq!(get(connection, "/db").0, 200);
    let told = server.told();
    assert!(
        told.iter()
            .any(|line| line.starts_with("GET /db/_changes: ") && line.contains("damaged at byte")),
        "{told:?}"
    );
}

#[test]
fn a_search_goes_on_without_a_damaged_document_and_says_so() {
    let server = damaged();
    let connection = &mut Connection::open(server.address);
    for path in ["/db/_find", "/db/_find?again"] {
        let found = call(
            connection,
            "POST",
            path,
            &json!({"selector": {"n": {"$gte": 0}}}),
        );
        let of: Vec<_> = found["docs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|doc| &doc["n"])
            .collect();
        assert_eq!(of, [0, 1, 2, 4, 5]);
        let warning = found["warning"].as_str().unwrap();
        assert!(warning.contains("1 documents cannot be read"), "{warning}");
        assert!(warning.contains("\"doc-3\""), "{warning}");
    }
}

#[test]
fn a_damaged_document_is_logged_wherever_it_is_met_and_repetitions_are_counted() {
    for (method, path, body) in [
        ("GET", "/db/doc-3", Value::Null),
        ("GET", "/db/_all_docs?include_docs=true", Value::Null),
        ("GET", "/db/_changes?include_docs=true", Value::Null),
        ("POST", "/db/_bulk_get", json!({"docs": [{"id": "doc-3"}]})),
        ("POST", "/db/_find", json!({"selector": {"n": 3}})),
    ] {
        let mut server = damaged();
        let connection = &mut Connection::open(server.address);
        for _ in 0..5 {
            send(connection, method, path, &body);
        }
        let about = |server: &Running| {
            let lines = server.told().into_iter();
            lines
                .filter(|line| line.contains("\"doc-3\", revision 1-"))
                .collect::<Vec<_>>()
        };
        let lines = about(&server);
        assert_eq!(lines.len(), 1, "{path}: {lines:?}");
        server.stop();
        let lines = about(&server);
        assert_eq!(lines.len(), 2, "{path}: {lines:?}");
        assert!(lines[1].contains(" times more from "), "{path}: {lines:?}");
    }
}

/// The only file in the only directory of indexes.
fn index_file(directory: &Path) -> std::path::PathBuf {
    let of_database = directory.join("indexes/db");
    let mut files = std::fs::read_dir(of_database).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn a_damaged_view_index_is_built_anew() {
    let map = "function (doc) { emit(doc.n, doc.text); }";
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    let docs: Vec<_> = (0..500)
        .map(|n| json!({"_id": format!("doc-{n:03}"), "n": n, "text": format!("needle {n:03}")}))
        .collect();
    call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
    call(
        connection,
        "PUT",
        "/db/_design/d",
        &json!({"views": {"all": {"map": map}}}),
    );
    let view = "/db/_design/d/_view/all";
    let before = call(connection, "GET", view, &Value::Null);
    // Another commit behind it, so that the damage is no write that was cut short.
    call(connection, "PUT", "/db/last", &json!({}));
    call(connection, "POST", "/db/_compact/d", &Value::Null);
    until(connection, "/db/_design/d/_info", |info| {
        info["view_index"]["compact_running"] == json!(false)
    });
    // A commit behind that of the compaction, so that damage to that is no write that was cut short.
    let docs: Vec<_> = (500..3000)
        .map(|n| json!({"_id": format!("doc-{n}"), "n": n, "text": "hay"}))
        .collect();
    call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
    call(connection, "GET", view, &Value::Null);
    let server = server.restart(|directory| {
        let path = index_file(directory);
        let mut bytes = std::fs::read(&path).unwrap();
        // The rows that the compaction has written.
        for at in (2000..20_000).step_by(200) {
            bytes[at] ^= 1;
        }
        std::fs::write(path, bytes).unwrap();
    });
    let connection = &mut Connection::open(server.address);
    let path = format!("{view}?startkey=290&endkey=310");
    let (status, answer) = get(connection, &path);
    if status != 200 {
        assert_eq!(status, 500, "{answer}");
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains("built anew"), "{reason}");
    }
    let (status, rows) = get(connection, view);
    assert_eq!(status, 200, "{rows}");
    assert_eq!(
        rows["rows"].as_array().unwrap().len(),
        before["rows"].as_array().unwrap().len() + 1 + 2500
    );
    let told = server.told();
    assert!(
        told.iter()
            .any(|line| line.contains("is damaged and built anew")),
        "{told:?}"
    );
}

#[test]
fn long_answers_about_revisions_are_sent_while_they_are_made() {
    let server = Running::start();
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    let docs: Vec<_> = (0..6000)
        .map(|n| json!({"_id": "many", "_rev": format!("1-{n:032x}"), "n": n}))
        .collect();
    call(
        connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs, "new_edits": false}),
    );
    let body = json!({"docs": [{"id": "many"}, {"id": "none"}]});
    let diff = json!({"many": [format!("2-{:032x}", 0)], "a": ["1-b"]});
    for (path, body) in [("/db/_bulk_get", body), ("/db/_revs_diff", diff)] {
        let reply = connection.send("POST", path, &[ADMIN, JSON], &body.to_string());
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("transfer-encoding"), Some("chunked"), "{path}");
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        match path {
            "/db/_bulk_get" => {
                assert_eq!(answer["results"][0]["docs"].as_array().unwrap().len(), 6000);
                assert_eq!(
                    answer["results"][1]["docs"][0]["error"]["error"],
                    "not_found"
                );
            }
            _ => {
                let ancestors = answer["many"]["possible_ancestors"].as_array().unwrap();
                assert_eq!(ancestors.len(), 6000);
                assert_eq!(answer["a"]["missing"], json!(["1-b"]));
            }
        }
    }
    let bad = json!({"many": ["2-x"], "b": ["nonsense"]});
    let reply = connection.send("POST", "/db/_revs_diff", &[ADMIN, JSON], &bad.to_string());
    assert_eq!(reply.status, 400);
}

#[test]
fn a_directory_of_databases_that_is_gone_is_an_error_and_not_an_empty_one() {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/before", &[ADMIN], "").status, 201);
    let databases = server.directory.path().join("databases");
    std::fs::remove_dir_all(&databases).unwrap();
    let made = server.send("PUT", "/after", &[ADMIN], "");
    assert_eq!(made.status, 500, "{}", made.body);
    let error: serde_json::Value = serde_json::from_str(&made.body).unwrap();
    let reason = error["reason"].as_str().unwrap();
    assert!(reason.contains("databases/after.varve"), "{reason}");
    let root = server.directory.path().to_str().unwrap();
    assert!(!reason.contains(root), "{reason}");
    assert!(!databases.exists());
    assert_eq!(
        server.send("PUT", "/before/doc", &[ADMIN], "{}").status,
        500
    );
    assert_eq!(server.send("GET", "/_all_dbs", &[ADMIN], "").status, 500);
}
