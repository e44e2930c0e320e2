//! Server-wide endpoints and logins, as a client sees them.

use crate::client::{ADMIN, Running};

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
