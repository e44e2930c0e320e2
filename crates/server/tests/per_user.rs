//! `[couch_peruser]`: databases of users come and go with their documents.

use crate::client::{ADMIN, Running};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("content-type", "application/json");
/// `ada:secret`, and her name in hexadecimal.
const ADA: (&str, &str) = ("authorization", "Basic YWRhOnNlY3JldA==");
const DATABASE: &str = "/userdb-616461";

fn path(name: &str) -> String {
    format!("/_users/org.couchdb.user:{name}")
}

fn add(server: &Running, name: &str) {
    let doc = json!({"type": "user", "name": name, "roles": [], "password": "secret"});
    let made = server.send("PUT", &path(name), &[ADMIN, JSON], &doc.to_string());
    assert_eq!(made.status, 201, "{}", made.body);
}

fn get(server: &Running, path: &str) -> (u16, Value) {
    let reply = server.send("GET", path, &[ADMIN], "");
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn remove(server: &Running, name: &str) {
    let rev = get(server, &path(name)).1["_rev"].clone();
    let path = format!("{}?rev={}", path(name), rev.as_str().unwrap());
    assert_eq!(server.send("DELETE", &path, &[ADMIN], "").status, 200);
}

fn set(server: &Running, name: &str, value: &str) {
    let path = format!("/_node/_local/_config/couch_peruser/{name}");
    let put = server.send("PUT", &path, &[ADMIN, JSON], &json!(value).to_string());
    assert_eq!(put.status, 200, "{}", put.body);
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn has_told(server: &Running, words: &str) -> bool {
    server.told().iter().any(|line| line.contains(words))
}

/// The names that a security object lets in.
fn wait_for_names(server: &Running, database: &str, names: &Value) {
    let path = format!("{database}/_security");
    wait_for(&format!("{path}: {names}"), || {
        let security = get(server, &path).1;
        let of = |kind: &str| &security[kind]["names"] == names;
        of("admins") && of("members")
    });
}

#[test]
fn the_database_of_users_is_there_from_the_start() {
    let server = Running::start_with("[couchdb]\nsingle_node = true\n");
    add(&server, "ada");
    assert_eq!(
        get(&server, "/_all_dbs"),
        (200, json!(["_replicator", "_users"]))
    );
    assert_eq!(server.send("PUT", "/_users", &[ADMIN], "").status, 412);
    let server = server.restart(|_| ());
    assert_eq!(get(&server, &path("ada")).0, 200);
}

#[test]
fn users_get_databases_of_their_own_while_the_setting_counts() {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/_users", &[ADMIN], "").status, 201);
    add(&server, "ada");
    set(&server, "enable", "true");
    wait_for_names(&server, DATABASE, &json!(["ada"]));
    let security = json!({
        "members": {"roles": ["_admin"], "names": ["ada"]},
        "admins": {"roles": ["_admin"], "names": ["ada"]}
    });
    assert_eq!(
        get(&server, &format!("{DATABASE}/_security")),
        (200, security)
    );
    let hers = format!("{DATABASE}/doc");
    assert_eq!(server.send("PUT", &hers, &[ADA, JSON], "{}").status, 201);
    add(&server, "bob");
    wait_for_names(&server, "/userdb-626f62", &json!(["bob"]));
    assert_eq!(server.send("GET", "/userdb-626f62", &[ADA], "").status, 403);
    // Without `delete_dbs` the database stays, for admins only.
    remove(&server, "ada");
    wait_for_names(&server, DATABASE, &json!([]));
    assert_eq!(get(&server, &hers).0, 200);
    add(&server, "ada");
    wait_for_names(&server, DATABASE, &json!(["ada"]));
    set(&server, "delete_dbs", "true");
    remove(&server, "ada");
    wait_for("deletion", || get(&server, DATABASE).0 == 404);
    set(&server, "database_prefix", "of/");
    wait_for_names(&server, "/of%2F626f62", &json!(["bob"]));
    assert_eq!(get(&server, "/userdb-626f62").0, 200);
}

#[test]
fn users_of_the_time_when_the_server_was_down_get_theirs_at_the_start() {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/_users", &[ADMIN], "").status, 201);
    for number in 0..120 {
        add(&server, &format!("u{number:03}"));
    }
    let server = server.restart(|directory| {
        let file = directory.join("varve.ini");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text + "\n[couch_peruser]\nenable = true\n").unwrap();
    });
    wait_for_names(&server, "/userdb-75313139", &json!(["u119"]));
    // Sequences of another `_users` do not count.
    assert_eq!(server.send("DELETE", "/_users", &[ADMIN], "").status, 200);
    assert_eq!(server.send("PUT", "/_users", &[ADMIN], "").status, 201);
    add(&server, "ada");
    wait_for_names(&server, DATABASE, &json!(["ada"]));
}

#[test]
fn a_database_that_could_not_be_made_is_made_later() {
    let server =
        Running::start_with("[couchdb]\nsingle_node = true\n[couch_peruser]\nenable = true\n");
    let blocking = server
        .directory
        .path()
        .join("databases/userdb-616461.varve");
    std::fs::write(&blocking, "is no database").unwrap();
    add(&server, "ada");
    wait_for("failure", || {
        has_told(&server, "database of the user \"ada\"")
    });
    assert_eq!(get(&server, DATABASE).0, 500);
    std::fs::remove_file(&blocking).unwrap();
    add(&server, "bob");
    wait_for_names(&server, DATABASE, &json!(["ada"]));
}

#[test]
fn names_that_would_share_a_database_get_none() {
    let server =
        Running::start_with("[couchdb]\nsingle_node = true\n[couch_peruser]\nenable = true\n");
    let doc = json!({"type": "user", "name": "\u{6}\u{1}", "roles": [], "password": "secret"});
    let made = server.send("PUT", &path("%06%01"), &[ADMIN, JSON], &doc.to_string());
    assert_eq!(made.status, 201, "{}", made.body);
    wait_for("refusal", || has_told(&server, "control characters"));
    assert_eq!(get(&server, "/userdb-61").0, 404);
    add(&server, "a");
    wait_for_names(&server, "/userdb-61", &json!(["a"]));
}
