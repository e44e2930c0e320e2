//! Keys of CouchDB's `default.ini`: none is accepted and ignored, and those that count do so at once.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn put(connection: &mut Connection, name: &str, value: &str) -> Reply {
    let path = format!("/_node/_local/_config/{}", name.replace("||*", "%7C%7C*"));
    let body = format!("\"{value}\"");
    connection.send("PUT", &path, &[ADMIN, JSON], &body)
}

fn set(connection: &mut Connection, name: &str, value: &str) {
    let reply = put(connection, name, value);
    assert_eq!(reply.status, 200, "{name}: {}", reply.body);
}

/// Settings that may be any text; each of them has an effect.
const TEXTS: &[&str] = &[
    "attachments/compressible_types",
    "chttpd/WWW-Authenticate",
    "chttpd/prefer_minimal",
    "chttpd_auth/secret",
    "cors/headers",
    "cors/methods",
    "cors/origins",
    "couch_httpd_auth/secret",
    "couchdb/uuid",
    "csp/attachments_header_value",
    "csp/showlist_header_value",
    "csp/utils_header_value",
    "httpd/WWW-Authenticate",
    "jwt_auth/roles_claim_name",
    "jwt_auth/roles_claim_path",
    "log/file",
    "replicator/ssl_trusted_certificates_file",
    "smoosh/db_channels",
    "smoosh/view_channels",
    "uuids/utc_id_suffix",
];

#[test]
fn no_key_of_couchdb_is_accepted_and_ignored() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    let keys = include_str!("../../config/tests/couchdb_keys.txt");
    let mut section = "";
    let mut accepted = BTreeSet::new();
    for line in keys.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        // The one would refuse all others from then on; the settings of these tests have the other in `[chttpd_auth]`.
        if line == "config_whitelist" || (section, line) == ("couch_httpd_auth", "iterations") {
            continue;
        }
        let name = format!("{section}/{line}");
        let reply = put(&mut connection, &name, "another word");
        match reply.status {
            200 => {
                let path = format!("/_node/_local/_config/{name}");
                connection.send("DELETE", &path, &[ADMIN], "");
                accepted.insert(name);
            }
            400 => assert!(
                reply.body.contains(&format!("{section}.{line}")),
                "{name}: {}",
                reply.body
            ),
            // Programs that would be started, as in CouchDB.
            403 => assert!(reply.body.contains("blacklisted"), "{name}: {}", reply.body),
            _ => panic!("{name}: {} {}", reply.status, reply.body),
        }
    }
    let texts: BTreeSet<String> = TEXTS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(accepted, texts);
}

#[test]
fn a_plus_in_a_path_is_a_space_unless_it_is_told_otherwise() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    call(&mut connection, "PUT", "/db/a+b", &json!({"n": 1}));
    assert_eq!(
        call(&mut connection, "GET", "/db/a%20b", &Value::Null)["_id"],
        "a b"
    );
    set(&mut connection, "chttpd/decode_plus_to_space", "false");
    call(&mut connection, "PUT", "/db/a+b", &json!({"n": 2}));
    let found = call(&mut connection, "GET", "/db/a%2Bb", &Value::Null);
    assert_eq!((&found["_id"], &found["n"]), (&json!("a+b"), &json!(2)));
    let spaced = call(&mut connection, "GET", "/db/a%20b", &Value::Null);
    assert_eq!(spaced["n"], 1);
}

#[test]
fn the_version_is_hidden_and_headers_are_few_for_who_asks() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    let shown = server.get("/_up");
    assert!(shown.header("server").unwrap().starts_with("Varve/"));
    set(&mut connection, "chttpd/server_header_versions", "false");
    let hidden = server.get("/_up");
    assert_eq!(hidden.header("server"), Some("Varve"));
    assert!(hidden.header("x-couch-request-id").is_some());
    let few = server.send("GET", "/", &[("prefer", "return=minimal")], "");
    assert_eq!(few.header("x-couch-request-id"), None);
    assert!(few.header("content-type").is_some() && few.header("cache-control").is_some());
    set(
        &mut connection,
        "chttpd/prefer_minimal",
        "Content-Length, X-Couch-Request-ID",
    );
    let chosen = server.send("GET", "/", &[("prefer", "return=minimal")], "");
    assert!(chosen.header("x-couch-request-id").is_some());
    assert_eq!(chosen.header("content-type"), None);
}

/// CouchDB's redirect is for browsers that take pages only.
#[test]
fn browsers_are_led_to_the_page_for_logins() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let html = ("accept", "text/html");
    let led = server.send("GET", "/db/a%20b", &[html], "");
    assert_eq!(led.status, 302);
    let to = led.header("location").unwrap();
    assert!(
        to.ends_with(
            "/_utils/session.html?return=%2Fdb%2Fa%2520b&reason=You%20are%20not%20authorized%20to%20access%20this%20db%2E"
        ),
        "{to}"
    );
    assert!(led.body.contains("unauthorized"), "{}", led.body);
    set(
        &mut connection,
        "chttpd_auth/authentication_redirect",
        "/login",
    );
    let led = server.send("GET", "/db", &[html], "");
    assert!(
        led.header("location")
            .unwrap()
            .contains("/login?return=%2Fdb&")
    );
    for accept in ["text/html,*/*;q=0.8", "application/json, text/html", "*/*"] {
        let refused = server.send("GET", "/db", &[("accept", accept)], "");
        assert_eq!(refused.status, 401, "{accept}");
    }
    let asks = ("x-couchdb-www-authenticate", "Basic realm=\"here\"");
    let asked = server.send("GET", "/db", &[asks], "");
    assert_eq!(
        (asked.status, asked.header("www-authenticate")),
        (401, Some("Basic realm=\"here\""))
    );
    for outside in ["https://other.example/", "//other.example"] {
        let refused = put(
            &mut connection,
            "chttpd_auth/authentication_redirect",
            outside,
        );
        assert_eq!(refused.status, 400, "{outside}");
    }
}

#[test]
fn new_databases_are_for_everyone_where_the_settings_say_so() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/closed", &Value::Null);
    set(&mut connection, "couchdb/default_security", "everyone");
    call(&mut connection, "PUT", "/open", &Value::Null);
    call(&mut connection, "PUT", "/_users", &Value::Null);
    assert_eq!(server.get("/open").status, 200);
    assert_eq!(server.get("/closed").status, 401);
    assert_eq!(server.get("/_users/_all_docs").status, 401);
    let security = call(&mut connection, "GET", "/open/_security", &Value::Null);
    assert_eq!(security, json!({}));
    set(&mut connection, "couchdb/default_security", "admin_only");
    call(&mut connection, "PUT", "/later", &Value::Null);
    assert_eq!(server.get("/later").status, 401);
    assert_eq!(
        put(&mut connection, "couchdb/default_security", "some").status,
        400
    );
}

fn with_forty_documents() -> (Running, Connection) {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs: Vec<Value> = (0..40)
        .map(|n| json!({"_id": format!("d{n:02}"), "n": n}))
        .collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    (server, connection)
}

#[test]
fn bounds_of_searches_count_at_once() {
    let (_server, mut connection) = with_forty_documents();
    let find = json!({"selector": {"n": {"$gte": 0}}});
    let count = |answer: &Value| answer["docs"].as_array().unwrap().len();
    assert_eq!(
        count(&call(&mut connection, "POST", "/db/_find", &find)),
        25
    );
    set(&mut connection, "mango/default_limit", "7");
    assert_eq!(count(&call(&mut connection, "POST", "/db/_find", &find)), 7);
    let rare = json!({"selector": {"n": 30}});
    let warning = |answer: &Value| answer["warning"].as_str().unwrap_or("").to_owned();
    assert!(
        warning(&call(&mut connection, "POST", "/db/_find", &rare))
            .contains("is high in proportion")
    );
    set(&mut connection, "mango/index_scan_warning_threshold", "0");
    assert!(
        !warning(&call(&mut connection, "POST", "/db/_find", &rare))
            .contains("is high in proportion")
    );
}

#[test]
fn bounds_of_rows_and_ids_count_at_once() {
    let (_server, mut connection) = with_forty_documents();
    set(&mut connection, "query_server_config/query_limit", "5");
    let rows = call(&mut connection, "GET", "/db/_all_docs", &Value::Null);
    assert_eq!(rows["rows"].as_array().unwrap().len(), 5);
    let more = connection.send("GET", "/db/_all_docs?limit=6", &[ADMIN], "");
    assert_eq!(more.status, 400);
    assert!(
        more.body.contains("Limit is too large, must not exceed 5"),
        "{}",
        more.body
    );

    set(&mut connection, "couchdb/max_document_id_length", "3");
    let long = connection.send("PUT", "/db/long", &[ADMIN, JSON], "{}");
    assert_eq!(
        (long.status, long.body.trim()),
        (
            400,
            r#"{"error":"illegal_docid","reason":"Document id is too long"}"#
        )
    );
    call(&mut connection, "PUT", "/db/abc", &json!({}));
}

#[test]
fn bounds_of_other_requests_count_at_once() {
    let (_server, mut connection) = with_forty_documents();
    set(
        &mut connection,
        "chttpd/max_db_number_for_dbs_info_req",
        "1",
    );
    let two = connection.send(
        "POST",
        "/_dbs_info",
        &[ADMIN, JSON],
        r#"{"keys":["db","x"]}"#,
    );
    assert_eq!(two.status, 400, "{}", two.body);
    set(&mut connection, "purge/max_document_id_number", "1");
    let two = connection.send(
        "POST",
        "/db/_purge",
        &[ADMIN, JSON],
        r#"{"a":["1-a"],"b":["1-a"]}"#,
    );
    assert!(
        two.status == 400 && two.body.contains("number of documents"),
        "{}",
        two.body
    );
    set(&mut connection, "purge/max_revisions_number", "1");
    let two = connection.send(
        "POST",
        "/db/_purge",
        &[ADMIN, JSON],
        r#"{"a":["1-a","1-b"]}"#,
    );
    assert!(
        two.status == 400 && two.body.contains("number of revisions"),
        "{}",
        two.body
    );

    // Without it the feed would wait for a minute.
    set(&mut connection, "chttpd/changes_timeout", "50");
    let ended = connection.send("GET", "/db/_changes?feed=longpoll&since=now", &[ADMIN], "");
    assert!(
        ended.body.contains("\"results\":[]") || ended.body.contains("\"results\":[\n]"),
        "{}",
        ended.body
    );
}
