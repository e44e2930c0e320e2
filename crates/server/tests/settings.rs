//! Settings that are changed while the server runs.

use crate::client::{ADMIN, Reply, Running};

const JSON: (&str, &str) = ("content-type", "application/json");

/// The text of the file.
fn file(server: &Running) -> String {
    std::fs::read_to_string(server.directory.path().join("varve.ini")).unwrap()
}

fn config(server: &Running, method: &str, name: &str, value: &str) -> Reply {
    let path = format!("/_node/_local/_config/{name}");
    server.send(method, &path, &[ADMIN, JSON], value)
}

fn set(server: &Running, name: &str, value: &str) -> Reply {
    let reply = config(server, "PUT", name, &format!("\"{value}\""));
    assert_eq!(reply.status, 200, "{name}: {}", reply.body);
    reply
}

/// Obsidian LiveSync's script, for either name of the node.
#[test]
fn the_script_of_livesync_sets_a_server_up() {
    for node in ["_local", "nonode@nohost"] {
        let server = Running::start();
        let put = |name: &str, value: &str| {
            let path = format!("/_node/{node}/_config/{name}");
            let body = format!("\"{value}\"");
            let reply = server.send("PUT", &path, &[ADMIN, JSON], &body);
            assert_eq!(
                (reply.status, reply.body.as_str()),
                (200, "\"\"\n"),
                "{name}"
            );
        };
        let cluster = "{\"action\":\"enable_single_node\",\"username\":\"adm\",\"password\":\"pass\",\
                       \"bind_address\":\"0.0.0.0\",\"port\":5984,\"singlenode\":true}";
        let made = server.send("POST", "/_cluster_setup", &[ADMIN, JSON], cluster);
        assert_eq!((made.status, made.body.as_str()), (201, "{\"ok\":true}\n"));
        assert_eq!(made.header("x-varve-restart"), Some("required"));
        put("chttpd/require_valid_user", "true");
        put("chttpd_auth/require_valid_user", "true");
        put("httpd/WWW-Authenticate", "Basic realm=\\\"couchdb\\\"");
        put("httpd/enable_cors", "true");
        put("chttpd/enable_cors", "true");
        put("chttpd/max_http_request_size", "4294967296");
        put("couchdb/max_document_size", "50000");
        put("cors/credentials", "true");
        put(
            "cors/origins",
            "app://obsidian.md,capacitor://localhost,http://localhost",
        );
        let refused = server.get("/");
        let asks = refused.header("www-authenticate").unwrap();
        assert_eq!((refused.status, asks), (401, "Basic realm=\"couchdb\""));
        let wrong = ("authorization", "Basic YWRtOndyb25n");
        let refused = server.send("GET", "/", &[wrong], "");
        assert_eq!(
            refused.header("www-authenticate"),
            Some("Basic realm=\"couchdb\"")
        );
        let origin = ("origin", "app://obsidian.md");
        let allowed = server.send("GET", "/", &[ADMIN, origin], "");
        let header = |name| allowed.header(name);
        assert_eq!(
            header("access-control-allow-origin"),
            Some("app://obsidian.md")
        );
        assert_eq!(header("access-control-allow-credentials"), Some("true"));
        assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(50_000));
        assert_eq!(
            server.send("PUT", "/db/a", &[ADMIN, JSON], &long).status,
            413
        );
        set(&server, "couchdb/max_document_size", "60000");
        assert_eq!(
            server.send("PUT", "/db/a", &[ADMIN, JSON], &long).status,
            201
        );
        let server = server.restart(|_| ());
        assert_eq!(server.get("/").status, 401);
        let shown = config(&server, "GET", "couchdb/max_document_size", "");
        assert_eq!(shown.body, "\"60000\"\n");
    }
}

#[test]
fn a_change_is_in_the_file_and_in_the_log_and_comments_stay() {
    let server = Running::start_with("; mine\n[couchdb]\nmax_document_size = 7 ; small\n");
    let old = set(&server, "couchdb/max_document_size", "100");
    assert_eq!(
        (old.body.as_str(), old.header("x-varve-restart")),
        ("\"7\"\n", None)
    );
    let text = file(&server);
    assert!(
        text.contains("; mine\n[couchdb]\nmax_document_size = 100\n"),
        "{text}"
    );
    let told = server.told();
    let line = "admin adm set couchdb.max_document_size to \"100\"";
    assert!(told.iter().any(|told| told == line), "{told:?}");
    let raw = server.send(
        "GET",
        "/_node/_local/_config/couchdb/max_document_size?raw=true",
        &[ADMIN],
        "",
    );
    assert_eq!(raw.body, "100");
    let removed = config(&server, "DELETE", "couchdb/max_document_size", "");
    assert_eq!(removed.body, "\"100\"\n");
    let again = config(&server, "DELETE", "couchdb/max_document_size", "");
    assert_eq!(
        (again.status, again.body.contains("unknown_config_value")),
        (404, true)
    );
    assert!(file(&server).contains("; mine\n[couchdb]\n") && !file(&server).contains("= 100"));
}

#[test]
fn a_value_that_a_start_would_refuse_changes_nothing() {
    let server = Running::start();
    let before = file(&server);
    for (name, value, reason) in [
        ("couchdb/max_document_size", "\"much\"", "must be a size"),
        (
            "couchdb/file_compression",
            "\"zstd_99\"",
            "must be none, snappy",
        ),
        ("couchdb/file_compresion", "\"none\"", "did you mean"),
        ("chttpd_auth/same_site", "\"x\"", "strict, lax or none"),
        ("log/level", "\"x\"", "log.level must be"),
        (
            "couch_httpd_auth/public_fields",
            "\"name\"",
            "must be empty, as no user sees the documents of others",
        ),
        (
            "zz/k",
            "\"a\\n[admins]\\neve = e\"",
            "Invalid configuration value",
        ),
        ("zz/k", "7", "must be a JSON string"),
    ] {
        let refused = config(&server, "PUT", name, value);
        assert_eq!(refused.status, 400, "{name} {}", refused.body);
        assert!(refused.body.contains(reason), "{}", refused.body);
        assert!(
            !refused
                .body
                .contains(server.directory.path().to_str().unwrap())
        );
    }
    let last = config(&server, "DELETE", "admins/adm", "");
    assert_eq!(last.status, 400);
    let closed = config(&server, "PUT", "query_servers/x", "\"/bin/sh\"");
    assert_eq!(closed.status, 403);
    assert_eq!(file(&server), before);
}

#[test]
fn another_password_ends_the_sessions_of_an_admin() {
    let server = Running::start();
    let login = "{\"name\":\"adm\",\"password\":\"pass\"}";
    let session = server.send("POST", "/_session", &[JSON], login);
    let cookie = session.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with_cookie = |path: &str| server.send("GET", path, &[("cookie", &cookie)], "").status;
    assert_eq!(with_cookie("/_all_dbs"), 200);
    let old = set(&server, "admins/adm", "secret word");
    assert!(old.body.starts_with("\"-pbkdf2:sha256-"), "{}", old.body);
    assert_eq!(with_cookie("/_all_dbs"), 401);
    assert_eq!(server.send("GET", "/_all_dbs", &[ADMIN], "").status, 401);
    let new = ("authorization", "Basic YWRtOnNlY3JldCB3b3Jk");
    assert_eq!(server.send("GET", "/_all_dbs", &[new], "").status, 200);
    let told = server.told().join("\n");
    assert!(
        told.contains("admin adm changed the setting admins.adm"),
        "{told}"
    );
    for hidden in [told, file(&server)] {
        assert!(!hidden.contains("secret word"), "{hidden}");
    }
    let all = server.send("GET", "/_node/_local/_config", &[new], "").body;
    assert!(all.contains("\"secret\":\"****\""), "{all}");
    assert!(all.contains("\"adm\":\"-pbkdf2:sha256-"), "{all}");
}

#[test]
fn what_waits_for_a_start_says_so() {
    let server = Running::start();
    let put = set(&server, "chttpd/port", "7777");
    assert_eq!(put.header("x-varve-restart"), Some("required"));
    let told = server.told();
    let line = "chttpd.port has its effect at the next start";
    assert!(told.iter().any(|told| told == line), "{told:?}");
    let path = server.directory.path().join("varve.ini");
    let text = file(&server) + "\n[couchdb]\nmaintenance_mode = true\n[admins]\nbob = plain\n";
    std::fs::write(&path, &text).unwrap();
    assert_eq!(server.get("/_up").status, 200);
    assert_eq!(config(&server, "GET", "_reload", "").status, 405);
    let reloaded = config(&server, "POST", "_reload", "");
    assert_eq!(
        (reloaded.status, reloaded.body.as_str()),
        (200, "{\"ok\":true}\n")
    );
    assert_eq!(reloaded.header("x-varve-restart"), None);
    let up = server.get("/_up");
    assert_eq!(
        (up.status, up.body.as_str()),
        (404, "{\"status\":\"maintenance_mode\"}\n")
    );
    assert!(!file(&server).contains("= plain"));
    let bob = ("authorization", "Basic Ym9iOnBsYWlu");
    assert_eq!(server.send("GET", "/_all_dbs", &[bob], "").status, 200);
    std::fs::write(
        &path,
        file(&server) + "[couchdb]\nmax_document_size = much\n",
    )
    .unwrap();
    assert_eq!(config(&server, "POST", "_reload", "").status, 400);
}

#[test]
fn only_listed_settings_may_be_changed() {
    let server = Running::start_with("[chttpd]\nconfig_whitelist = [{log, level}]\n");
    set(&server, "log/level", "error");
    let refused = config(&server, "PUT", "chttpd/port", "\"1\"");
    assert_eq!(refused.status, 400);
    assert!(
        refused.body.contains("modification_not_allowed"),
        "{}",
        refused.body
    );
}

#[test]
fn unknown_sections_are_kept_and_some_changes_are_for_this_run_only() {
    let server = Running::start();
    assert_eq!(set(&server, "zz/k", "v").body, "\"\"\n");
    let path = "/_node/_local/_config/zz/other";
    let brief = ("x-couch-persist", "false");
    assert_eq!(
        server
            .send("PUT", path, &[ADMIN, JSON, brief], "\"w\"")
            .status,
        200
    );
    assert_eq!(
        config(&server, "GET", "zz", "").body,
        "{\"k\":\"v\",\"other\":\"w\"}\n"
    );
    let server = server.restart(|_| ());
    assert_eq!(config(&server, "GET", "zz", "").body, "{\"k\":\"v\"}\n");
}

#[test]
fn ids_are_made_as_the_settings_say_at_once() {
    let server = Running::start();
    for (algorithm, length) in [
        ("random", 32),
        ("utc_random", 32),
        ("utc_id", 14),
        ("sequential", 32),
    ] {
        set(&server, "uuids/algorithm", algorithm);
        let body = server.get("/_uuids").body;
        assert_eq!(
            body.len(),
            "{\"uuids\":[\"\"]}\n".len() + length,
            "{algorithm}: {body}"
        );
    }
    set(&server, "uuids/max_count", "2");
    assert_eq!(server.get("/_uuids?count=3").status, 400);
    let posted = server.send("POST", "/_uuids", &[JSON], "{}");
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET")));
}

#[test]
fn a_single_node_is_set_up_and_has_one_shard() {
    let server = Running::start();
    let get = |path: &str| {
        let reply = server.send("GET", path, &[ADMIN], "");
        (reply.status, reply.body)
    };
    let state = |state: &str| (200, format!("{{\"state\":\"{state}\"}}\n"));
    assert_eq!(get("/_cluster_setup"), state("single_node_enabled"));
    let asked = "/_cluster_setup?ensure_dbs_exist=[%22_users%22]";
    assert_eq!(get(asked), state("single_node_disabled"));
    let post = |body: &str| {
        server
            .send("POST", "/_cluster_setup", &[ADMIN, JSON], body)
            .status
    };
    assert_eq!(post("{\"action\":\"finish_cluster\"}"), 201);
    assert_eq!(get(asked), state("single_node_enabled"));
    assert_eq!(post("{\"action\":\"finish_cluster\"}"), 201);
    assert_eq!(post("{\"action\":\"add_node\"}"), 400);
    // The admin that is named with it logs in at once.
    let set_up = |login: &str| post(&format!("{{\"action\":\"enable_single_node\",{login}}}"));
    for half in [
        "\"username\":\"ann\"",
        "\"password\":\"x\"",
        "\"username\":1,\"password\":\"x\"",
    ] {
        assert_eq!(set_up(half), 400, "{half}");
    }
    assert_eq!(set_up("\"username\":\"a\\nport\",\"password\":\"x\""), 400);
    assert_eq!(set_up("\"username\":\"ann\",\"password\":\"second\""), 201);
    let login = server.send(
        "POST",
        "/_session",
        &[JSON],
        "{\"name\":\"ann\",\"password\":\"second\"}",
    );
    assert_eq!(login.status, 200, "{}", login.body);
    assert!(login.body.contains("_admin"), "{}", login.body);
    assert!(!file(&server).contains("second"));
    assert_eq!(server.get("/_cluster_setup").status, 401);
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    let node = "[\"varve@127.0.0.1\"]";
    let shards = format!("{{\"shards\":{{\"00000000-ffffffff\":{node}}}}}\n");
    assert_eq!(get("/db/_shards"), (200, shards));
    let shard = format!("{{\"range\":\"00000000-ffffffff\",\"nodes\":{node}}}\n");
    assert_eq!(get("/db/_shards/doc"), (200, shard));
    assert_eq!(get("/db/_sync_shards").0, 405);
    let synced = server.send("POST", "/db/_sync_shards", &[ADMIN, JSON], "");
    assert_eq!(
        (synced.status, synced.body.as_str()),
        (202, "{\"ok\":true}\n")
    );
    let reshard = "{\"state\":\"running\",\"state_reason\":null,\"completed\":0,\"failed\":0,\
                   \"running\":0,\"stopped\":0,\"total\":0}\n";
    assert_eq!(get("/_reshard"), (200, reshard.to_owned()));
    assert_eq!(get("/_reshard/state").0, 200);
    let jobs = "{\"jobs\":[],\"offset\":0,\"total_rows\":0}\n";
    assert_eq!(get("/_reshard/jobs"), (200, jobs.to_owned()));
    assert_eq!(get("/_metrics").0, 200);
    assert_eq!(server.get("/_metrics").status, 401);
    assert_eq!(get("/_node/_local/_versions").0, 200);
    let restart = server.send("POST", "/_node/_local/_restart", &[ADMIN, JSON], "");
    assert_eq!(restart.status, 403);
}
