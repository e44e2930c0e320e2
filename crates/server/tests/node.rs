//! Server-wide endpoints and logins, as a client sees them.

use crate::client::{ADMIN, Connection, Running};
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn the_welcome_says_which_couchdb_this_is() {
    let server = Running::start();
    let reply = server.get("/");
    assert_eq!(reply.status, 200);
    assert!(
        reply
            .body
            .starts_with("{\"couchdb\":\"Welcome\",\"version\":\"3.5.0\"")
    );
    let wrong = server.send("OPTIONS", "/", &[], "");
    assert_eq!(
        (wrong.status, wrong.header("allow")),
        (405, Some("GET,HEAD"))
    );
    assert_eq!(server.get("/favicon.ico").body, "Not found.");
}

#[test]
fn a_session_begins_with_a_password_and_ends_when_told() {
    let server = Running::start();
    let anonymous = "{\"ok\":true,\"userCtx\":{\"name\":null,\"roles\":[]},\
                     \"info\":{\"authentication_handlers\":[\"cookie\",\"default\"]}}\n";
    assert_eq!(server.get("/_session").body, anonymous);
    let login = "{\"name\":\"adm\",\"password\":\"pass\"}";
    let reply = server.send("POST", "/_session", &[JSON], login);
    assert_eq!(
        reply.body,
        "{\"ok\":true,\"name\":\"adm\",\"roles\":[\"_admin\"]}\n"
    );
    let cookie = reply.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let who = server.send("GET", "/_session", &[("cookie", &cookie)], "");
    assert!(
        who.body.contains("\"authenticated\":\"cookie\""),
        "{}",
        who.body
    );
    assert_eq!(
        server
            .send("GET", "/_all_dbs", &[("cookie", &cookie)], "")
            .body,
        "[]\n"
    );
    let form = ("content-type", "application/x-www-form-urlencoded");
    let wrong = server.send("POST", "/_session", &[form], "name=adm&password=wrong");
    assert_eq!(wrong.status, 401);
    assert!(
        wrong
            .header("set-cookie")
            .unwrap()
            .starts_with("AuthSession=;")
    );
    assert_eq!(
        server
            .send("POST", "/_session", &[JSON], "{\"x\":1}")
            .status,
        400
    );
    let out = server.send("DELETE", "/_session", &[("cookie", &cookie)], "");
    assert!(
        out.header("set-cookie")
            .unwrap()
            .starts_with("AuthSession=;")
    );
    let away = server.send("POST", "/_session?next=//evil.test", &[JSON], login);
    assert_eq!(away.status, 400);
}

#[test]
fn admin_only_places_refuse_strangers_and_wrong_passwords() {
    let server = Running::start();
    for path in [
        "/_all_dbs",
        "/_active_tasks",
        "/_membership",
        "/_node/_local/_config",
    ] {
        assert_eq!(server.get(path).status, 401, "{path}");
        assert_eq!(server.send("GET", path, &[ADMIN], "").status, 200, "{path}");
        let wrong = ("authorization", "Basic YWRtOndyb25n");
        assert_eq!(server.send("GET", path, &[wrong], "").status, 401, "{path}");
    }
}

#[test]
fn uuids_and_configuration() {
    let server = Running::start();
    assert_eq!(server.get("/_uuids?count=2").body.len(), 82);
    assert_eq!(server.get("/_uuids?count=x").status, 400);
    assert_eq!(server.get("/_uuids?count=1001").status, 400);
    let key = "/_node/_local/_config/zz/k";
    assert_eq!(
        server.send("PUT", key, &[ADMIN, JSON], "\"v\"").body,
        "\"\"\n"
    );
    let section = server.send("GET", "/_node/_local/_config/zz", &[ADMIN], "");
    assert_eq!(section.body, "{\"k\":\"v\"}\n");
    assert_eq!(server.send("DELETE", key, &[ADMIN], "").body, "\"v\"\n");
    assert_eq!(server.send("GET", key, &[ADMIN], "").status, 404);
}

#[test]
fn durability_is_shown_and_a_sync_is_waited_for_on_request() {
    let server = Running::start_with("[couchdb]\ndurability = interval:60s\n");
    let key = "/_node/_local/_config/couchdb/durability";
    let shown = server.send("GET", key, &[ADMIN], "");
    assert_eq!(
        (shown.status, shown.body.as_str()),
        (200, "\"interval:60s\"\n")
    );
    let changed = server.send("PUT", key, &[ADMIN], "\"interval:50s\"");
    let told = changed.header("x-varve-restart");
    assert_eq!((changed.status, told), (200, Some("required")));
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    assert_eq!(server.send("PUT", "/db/doc", &[ADMIN], "{}").status, 201);
    let synced = server.send("POST", "/db/_ensure_full_commit", &[ADMIN, JSON], "");
    assert_eq!(synced.status, 201);
    let server = server.restart(|_| ());
    assert_eq!(server.send("GET", "/db/doc", &[ADMIN], "").status, 200);
}

#[test]
fn tools_that_watch_a_couchdb_find_its_counters() {
    let server = Running::start();
    let get = |path: &str| {
        let reply = server.send("GET", path, &[ADMIN], "");
        let body = serde_json::from_str::<serde_json::Value>(&reply.body).unwrap();
        (reply.status, body)
    };
    for path in ["/_node/_local/_stats", "/_node/_local/_system"] {
        assert_eq!(server.get(path).status, 401);
        assert_eq!(server.send("PUT", path, &[ADMIN], "").status, 405);
    }
    server.send("PUT", "/db", &[ADMIN], "");
    assert_eq!(get("/db/nothing").0, 404);
    let (status, all) = get("/_node/nonode@nohost/_stats");
    let couchdb = &all["couchdb"];
    let value = |path: &str| couchdb.pointer(path).unwrap()["value"].as_u64();
    assert_eq!((status, value("/httpd/requests")), (200, Some(6)));
    assert_eq!(value("/httpd_request_methods/PUT"), Some(3));
    assert_eq!(value("/httpd_request_methods/GET"), Some(3));
    assert_eq!(value("/httpd_status_codes/405"), Some(2));
    assert_eq!(value("/httpd_status_codes/503"), Some(0));
    assert!(value("/open_databases") >= Some(1));
    let part = get("/_node/_local/_stats/couchdb/httpd_status_codes/404").1;
    assert_eq!(
        (&part["value"], &part["type"]),
        (&1.into(), &"counter".into())
    );
    let times = get("/_node/_local/_stats/couchdb/request_time").1;
    assert_eq!(times["type"], "histogram");
    let figures = &times["value"];
    let bins = figures["histogram"].as_array().unwrap().iter();
    let sum: u64 = bins.map(|bin| bin[1].as_u64().unwrap()).sum();
    assert_eq!(figures["n"].as_u64(), Some(sum), "{times}");
    let named = figures["percentile"].as_array().unwrap().iter();
    let names: Vec<&serde_json::Value> = named.map(|pair| &pair[0]).collect();
    assert_eq!(names, [50, 75, 90, 95, 99, 999]);
    let missing = serde_json::json!({"error": "not_found", "reason": "missing"});
    for path in ["nothing", "couchdb/httpd/requests/value/more"] {
        assert_eq!(
            get(&format!("/_node/_local/_stats/{path}")),
            (404, missing.clone())
        );
    }
    let (status, system) = get("/_node/_local/_system");
    assert_eq!((status, system["uptime"].is_u64()), (200, true));
    assert!(
        system["memory"]["other"].as_u64() > Some(1 << 20),
        "{system}"
    );
    assert!(system["process_count"].as_u64() > Some(1), "{system}");
}

/// Counters that exporters for Prometheus and telegraf read besides.
#[test]
fn counters_follow_documents_views_feeds_and_logins() {
    let server = Running::start();
    let send = |method: &str, path: &str, body: &str| {
        let json = ("content-type", "application/json");
        let reply = server.send(method, path, &[ADMIN, json], body);
        assert!(reply.status < 300, "{method} {path}: {}", reply.body);
        reply.body
    };
    let value = |path: &str| {
        let all: serde_json::Value =
            serde_json::from_str(&send("GET", "/_node/_local/_stats", "")).unwrap();
        let found = all.pointer(path).unwrap_or_else(|| panic!("no {path}"));
        found["value"].as_u64().unwrap()
    };
    send("PUT", "/db", "");
    send("PUT", "/db/one", "{}");
    send(
        "POST",
        "/db/_bulk_docs",
        r#"{"docs":[{"_id":"a"},{"_id":"b"}]}"#,
    );
    let map = r#"{"views":{"v":{"map":"function (doc) { emit(doc._id) }"}}}"#;
    send("PUT", "/db/_design/d", map);
    send("GET", "/db/one", "");
    send(
        "POST",
        "/db/_bulk_get",
        r#"{"docs":[{"id":"a"},{"id":"b"}]}"#,
    );
    send("GET", "/db/_design/d/_view/v", "");
    send(
        "POST",
        "/db/_design/d/_view/v/queries",
        r#"{"queries":[{},{}]}"#,
    );
    send(
        "POST",
        "/db/_purge",
        r#"{"a":["1-967a00dff5e02add41819138abb3284d"]}"#,
    );
    for (path, expected) in [
        ("/couchdb/database_writes", 4),
        ("/couchdb/document_writes", 4),
        ("/couchdb/database_reads", 3),
        ("/couchdb/httpd/bulk_requests", 1),
        ("/couchdb/httpd/view_reads", 3),
        ("/couchdb/httpd/purge_requests", 1),
        ("/couchdb/httpd/clients_requesting_changes", 0),
        ("/couchdb/auth_cache_misses", 1),
        ("/couch_replicator/jobs/total", 0),
    ] {
        assert_eq!(value(path), expected, "{path}");
    }
    assert!(value("/couchdb/auth_cache_hits") >= 9 && value("/couchdb/open_os_files") > 3);
    let mut feed = Connection::open(server.address);
    feed.begin(
        "GET",
        "/db/_changes?feed=continuous&heartbeat=20",
        &[ADMIN],
        "",
    );
    let waiting = || value("/couchdb/httpd/clients_requesting_changes");
    let deadline = Instant::now() + Duration::from_secs(20);
    while waiting() != 1 {
        assert!(Instant::now() < deadline, "the feed is not counted");
    }
    drop(feed);
    while waiting() != 0 {
        assert!(Instant::now() < deadline, "the feed is counted still");
    }
}

#[test]
fn the_external_size_of_a_view_is_that_of_its_rows() {
    let server = Running::start();
    let send = |method: &str, path: &str, body: &str| {
        let reply = server.send(method, path, &[ADMIN, JSON], body);
        assert!(reply.status < 300, "{method} {path}: {}", reply.body);
        reply.body
    };
    send("PUT", "/db", "");
    send("PUT", "/db/one", "{}");
    let map = r#"{"views":{"v":{"map":"function (doc) { emit(doc._id) }"}}}"#;
    send("PUT", "/db/_design/d", map);
    send("GET", "/db/_design/d/_view/v", "");
    let info = send("GET", "/db/_design/d/_info", "");
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let size = |name: &str| info["view_index"]["sizes"][name].as_u64().unwrap();
    // `active` has the tree that leads from documents to rows, too.
    assert!(
        size("file") >= size("active") && size("active") > size("external"),
        "{info}"
    );
    assert!(size("external") > 0, "{info}");
}

#[test]
fn head_is_answered_wherever_get_is() {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    let design = "{\"views\":{\"v\":{\"map\":\"function (doc) { emit(1); }\"}}}";
    assert_eq!(
        server.send("PUT", "/db/_design/d", &[ADMIN], design).status,
        201
    );
    for path in [
        "/",
        "/_all_dbs",
        "/_up",
        "/_uuids",
        "/_session",
        "/_active_tasks",
        "/_membership",
        "/_cluster_setup",
        "/_reshard",
        "/_scheduler/jobs",
        "/_utils/",
        "/hg/",
        "/db",
        "/db/_design/d",
        "/db/_security",
        "/db/_revs_limit",
        "/db/_compression",
        "/db/_purged_infos",
        "/db/_purged_infos_limit",
        "/db/_index",
        "/db/_shards",
        "/db/_design/d/_info",
        "/_node/_local",
        "/_node/_local/_config",
        "/_node/_local/_stats",
        "/_node/_local/_system",
        "/_node/_local/_versions",
        "/_node/_local/_prometheus",
        "/_node/_local/_smoosh/status",
    ] {
        let (get, head) = (
            server.send("GET", path, &[ADMIN], ""),
            server.send("HEAD", path, &[ADMIN], ""),
        );
        assert_eq!((get.status, head.status), (200, 200), "{path}");
        assert!(head.header("content-length").is_some(), "{path}");
        assert_eq!(
            get.header("content-type"),
            head.header("content-type"),
            "{path}"
        );
    }
    // Their bodies are made while they are sent.
    for path in ["/db/_all_docs", "/db/_changes", "/db/_design/d/_view/v"] {
        assert_eq!(
            server.send("HEAD", path, &[ADMIN], "").status,
            200,
            "{path}"
        );
    }
}

#[test]
fn other_methods_are_told_the_right_ones() {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    for path in [
        "/",
        "/_all_dbs",
        "/_up",
        "/db",
        "/db/_security",
        "/db/_all_docs",
        "/db/_changes",
        "/db/_find",
    ] {
        let options = server.send("OPTIONS", path, &[ADMIN], "");
        assert_eq!(options.status, 405, "{path}");
        assert!(options.header("allow").is_some(), "{path}");
    }
    let path = "/db/doc";
    let overriding = ("x-http-method-override", "PUT");
    let made = server.send("POST", path, &[ADMIN, JSON, overriding], "{}");
    assert_eq!(made.status, 201);
    let overriding = ("x-http-method-override", "DELETE");
    let rev = made.body.split('"').nth(9).unwrap().to_owned();
    let gone = server.send(
        "POST",
        &format!("{path}?rev={rev}"),
        &[ADMIN, JSON, overriding],
        "",
    );
    assert_eq!(gone.status, 200, "{gone:?}");
    assert_eq!(
        server.send("GET", path, &[ADMIN, overriding], "").status,
        404
    );
}
