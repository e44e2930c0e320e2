//! Files of databases that are cut, damaged at their end, or gone.

use super::{get, send};
use crate::client::{Connection, Running};
use crate::compaction::call;
use serde_json::{Value, json};

/// Cuts or changes the file of the only database.
fn change_file(server: Running, change: impl FnOnce(&mut Vec<u8>)) -> Running {
    server.restart(|directory| {
        let path = directory.join("databases/db.varve");
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        std::fs::write(path, bytes).unwrap();
    })
}

#[test]
fn a_database_whose_synced_commits_are_not_whole_is_read_only_and_says_why() {
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    for n in 0..20 {
        call(connection, "PUT", &format!("/db/doc-{n}"), &json!({"n": n}));
    }
    // The bodies of all commits but the first are hit, not the heads of their records.
    let server = change_file(server, |bytes| {
        let heads = bytes
            .windows(8)
            .enumerate()
            .filter(|(_, part)| part == b"\x8bcommit\n");
        let heads: Vec<usize> = heads.map(|(at, _)| at).collect();
        for at in &heads[1..] {
            bytes[at + 64] ^= 1;
        }
    });
    let path = server.directory.path().join("databases/db.varve");
    let before = std::fs::read(&path).unwrap();
    let connection = &mut Connection::open(server.address);
    assert_eq!(get(connection, "/db").0, 200);
    let (status, error) = send(connection, "PUT", "/db/new", &json!({}));
    assert_eq!(status, 500, "{error}");
    let reason = error["reason"].as_str().unwrap();
    assert!(reason.contains("open for reading only"), "{reason}");
    assert!(reason.contains("varve verify --salvage"), "{reason}");
    let tasks = call(connection, "GET", "/_active_tasks", &Value::Null);
    assert_eq!(tasks[0]["type"], "failed_database_damage", "{tasks}");
    assert_eq!(tasks[0]["database"], "db");
    assert!(
        server
            .told()
            .iter()
            .any(|line| line.starts_with("database db: ")),
        "{:?}",
        server.told()
    );
    call(connection, "POST", "/db/_compact", &Value::Null);
    let server = server.restart(|_| ());
    assert_eq!(std::fs::read(&path).unwrap_or(before.clone()), before);
    // The admin may delete it.
    let connection = &mut Connection::open(server.address);
    call(connection, "GET", "/db", &Value::Null);
    call(connection, "DELETE", "/db", &Value::Null);
    assert_eq!(get(connection, "/db").0, 404);
}

#[test]
fn a_damaged_newest_commit_is_kept_beside_the_database() {
    let server = Running::start_with("[couchdb]\nfile_compression = none\n");
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    call(connection, "PUT", "/db/doc", &json!({"text": "needle"}));
    // As it is left by a kill: without the commit that ends a file.
    let path = server.directory.path().join("databases/db.varve");
    let killed = std::fs::read(path).unwrap();
    let server = change_file(server, |bytes| {
        *bytes = killed;
        let at = bytes.windows(6).position(|part| part == b"needle").unwrap();
        bytes[at] ^= 1;
    });
    let connection = &mut Connection::open(server.address);
    assert_eq!(get(connection, "/db/doc").0, 404);
    call(connection, "PUT", "/db/other", &json!({}));
    let kept = server.directory.path().join("databases/db.varve.cut");
    let kept = std::fs::read(kept).unwrap();
    assert!(kept.windows(6).any(|part| part == b"oeedle"));
    let tasks = call(connection, "GET", "/_active_tasks", &Value::Null);
    assert_eq!(tasks[0]["type"], "failed_database_damage", "{tasks}");
}

#[test]
fn empty_and_cut_files_are_damaged_databases_and_not_overwritten() {
    for len in [0, 100] {
        let server = Running::start();
        let connection = &mut Connection::open(server.address);
        call(connection, "PUT", "/db", &Value::Null);
        let server = change_file(server, |bytes| bytes.truncate(len));
        let connection = &mut Connection::open(server.address);
        let (status, error) = get(connection, "/db");
        assert_eq!(status, 500, "{len}: {error}");
        let (status, _) = send(connection, "PUT", "/db", &Value::Null);
        assert_eq!(status, 412, "{len}");
        let path = server.directory.path().join("databases/db.varve");
        assert_eq!(std::fs::read(path).unwrap().len(), len);
        call(connection, "DELETE", "/db", &Value::Null);
        call(connection, "PUT", "/db", &Value::Null);
    }
}

#[test]
fn a_removed_file_acknowledges_no_write() {
    let server = Running::start();
    let connection = &mut Connection::open(server.address);
    call(connection, "PUT", "/db", &Value::Null);
    call(connection, "PUT", "/db/doc", &json!({"n": 1}));
    let databases = server.directory.path().join("databases");
    std::fs::remove_file(databases.join("db.varve")).unwrap();
    for (method, path) in [("PUT", "/db/new"), ("POST", "/db")] {
        let (status, error) = send(connection, method, path, &json!({}));
        assert_eq!(status, 500, "{error}");
        assert!(
            error["reason"].as_str().unwrap().contains("was removed"),
            "{error}"
        );
    }
    // A document that was read before can still be saved.
    assert_eq!(get(connection, "/db/doc").1["n"], 1);
    std::fs::remove_dir_all(databases).unwrap();
    assert_eq!(send(connection, "PUT", "/db/new", &json!({})).0, 500);
    let (status, error) = send(connection, "PUT", "/other", &Value::Null);
    assert_eq!(status, 500, "{error}");
    call(connection, "DELETE", "/db", &Value::Null);
}
