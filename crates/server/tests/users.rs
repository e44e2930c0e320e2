//! `_users`: a user with a document in it can log in, and sees no more of it than that document.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
/// `ada:secret`, `bob:word`.
const ADA: (&str, &str) = ("authorization", "Basic YWRhOnNlY3JldA==");
const BOB: (&str, &str) = ("authorization", "Basic Ym9iOndvcmQ=");
const NOBODY: (&str, &str) = ("accept", "application/json");

type Who = (&'static str, &'static str);

fn send(server: &Running, who: Who, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let text = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let reply = server.send(method, path, &[who, JSON], &text);
    let body = serde_json::from_str(&reply.body);
    (reply.status, body.unwrap_or_default())
}

fn get(server: &Running, who: Who, path: &str) -> (u16, Value) {
    send(server, who, "GET", path, &Value::Null)
}

fn path_of(name: &str) -> String {
    format!("/_users/org.couchdb.user:{name}")
}

fn user(name: &str, password: &str, roles: &[&str]) -> Value {
    json!({"type": "user", "name": name, "password": password, "roles": roles})
}

/// A server with two users.
fn with_users(settings: &str) -> Running {
    let server = Running::start_with(settings);
    assert_eq!(send(&server, ADMIN, "PUT", "/_users", &Value::Null).0, 201);
    for (name, password, roles) in [("ada", "secret", &["crew"][..]), ("bob", "word", &[])] {
        let made = send(
            &server,
            ADMIN,
            "PUT",
            &path_of(name),
            &user(name, password, roles),
        );
        assert_eq!(made.0, 201, "{}", made.1);
    }
    server
}

fn refused((status, answer): (u16, Value)) -> (u16, String) {
    (
        status,
        answer["reason"].as_str().unwrap_or_default().to_owned(),
    )
}

fn is(status: u16, reason: &str) -> (u16, String) {
    (status, reason.to_owned())
}

fn log_in(server: &Running, name: &str, password: &str) -> Reply {
    let body = json!({"name": name, "password": password}).to_string();
    server.send("POST", "/_session", &[JSON], &body)
}

fn cookie_of(reply: &Reply) -> String {
    let cookie = reply.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

fn session(server: &Running, cookie: &str) -> Value {
    let reply = server.send("GET", "/_session", &[("cookie", cookie)], "");
    serde_json::from_str::<Value>(&reply.body).unwrap()["userCtx"].clone()
}

#[test]
fn passwords_are_stored_as_keys() {
    let server = with_users("pbkdf2_prf = sha512\n");
    let (_, doc) = get(&server, ADMIN, &path_of("ada"));
    assert_eq!(doc["password_scheme"], "pbkdf2");
    assert_eq!(
        (&doc["pbkdf2_prf"], &doc["iterations"]),
        (&json!("sha512"), &json!(2))
    );
    assert_eq!(doc["derived_key"].as_str().unwrap().len(), 128);
    assert!(doc["salt"].is_string() && doc.get("password").is_none());
    // Also in bulk, in any mode, and never in the file.
    let docs = [
        json!({"_id": "org.couchdb.user:eve", "_rev": "1-a", "type": "user", "name": "eve",
               "roles": [], "password": "needle in bulk"}),
    ];
    let bulk = json!({"new_edits": false, "docs": docs});
    assert_eq!(
        send(&server, ADMIN, "POST", "/_users/_bulk_docs", &bulk),
        (201, json!([]))
    );
    assert_eq!(log_in(&server, "eve", "needle in bulk").status, 200);
    let odd = json!({"type": "user", "name": "odd", "roles": [], "password": 1});
    assert_eq!(send(&server, ADMIN, "PUT", &path_of("odd"), &odd).0, 400);
    server.restart(|directory| {
        let file = std::fs::read(directory.join("databases/_users.varve")).unwrap();
        assert!(!file.windows(6).any(|part| part == b"needle"));
    });
}

#[test]
fn users_log_in_with_a_cookie_and_by_basic() {
    let server = with_users("");
    let right = log_in(&server, "ada", "secret");
    assert_eq!(right.status, 200);
    assert_eq!(
        serde_json::from_str::<Value>(&right.body).unwrap(),
        json!({"ok": true, "name": "ada", "roles": ["crew"]})
    );
    let cookie = cookie_of(&right);
    assert_eq!(
        session(&server, &cookie),
        json!({"name": "ada", "roles": ["crew"]})
    );
    assert_eq!(
        get(&server, ADA, "/_session").1["info"]["authenticated"],
        "default"
    );
    for (name, password) in [("ada", "word"), ("eve", "secret"), ("adm", "secret")] {
        let wrong = log_in(&server, name, password);
        assert_eq!(wrong.status, 401, "{name}");
        assert!(wrong.body.contains("Name or password is incorrect."));
    }
    // A new password ends sessions and logins by the old one.
    let (_, mut doc) = get(&server, ADA, &path_of("ada"));
    doc["password"] = json!("changed");
    assert_eq!(send(&server, ADA, "PUT", &path_of("ada"), &doc).0, 201);
    assert_eq!(session(&server, &cookie)["name"], Value::Null);
    assert_eq!(get(&server, ADA, "/_session").0, 401);
    let cookie = cookie_of(&log_in(&server, "ada", "changed"));
    assert_eq!(session(&server, &cookie)["name"], "ada");
    // So does the end of the user.
    let (_, doc) = get(&server, ADMIN, &path_of("ada"));
    let path = format!("{}?rev={}", path_of("ada"), doc["_rev"].as_str().unwrap());
    assert_eq!(send(&server, ADMIN, "DELETE", &path, &Value::Null).0, 200);
    assert_eq!(session(&server, &cookie)["name"], Value::Null);
    assert_eq!(log_in(&server, "ada", "changed").status, 401);
    // Users are there after a restart.
    let server = server.restart(|_| ());
    assert_eq!(log_in(&server, "bob", "word").status, 200);
}

#[test]
fn documents_make_no_admins_and_conflicting_ones_do_not_log_in() {
    let server = with_users("");
    let admin = user("eve", "x", &["_admin"]);
    let words = "No system roles (starting with underscore) in users db.";
    let made = send(&server, ADMIN, "PUT", &path_of("eve"), &admin);
    assert_eq!(refused(made), is(403, words));
    // The admin's own name is that of the configuration, whatever a document says.
    let other = user("adm", "other", &[]);
    assert_eq!(send(&server, ADMIN, "PUT", &path_of("adm"), &other).0, 201);
    assert_eq!(log_in(&server, "adm", "other").status, 401);
    assert_eq!(log_in(&server, "adm", "pass").status, 200);
    let mut branch = user("ada", "other", &[]);
    branch["_id"] = json!("org.couchdb.user:ada");
    branch["_rev"] = json!("1-other");
    let bulk = json!({"new_edits": false, "docs": [branch]});
    assert_eq!(
        send(&server, ADMIN, "POST", "/_users/_bulk_docs", &bulk).0,
        201
    );
    for password in ["secret", "other"] {
        let answer = log_in(&server, "ada", password);
        assert_eq!(answer.status, 401);
        assert!(
            answer.body.contains("conflicts must be resolved"),
            "{}",
            answer.body
        );
    }
}

#[test]
fn users_see_and_change_the_document_of_their_own_only() {
    let server = with_users("");
    let (status, own) = get(&server, ADA, &path_of("ada"));
    assert_eq!((status, &own["name"]), (200, &json!("ada")));
    let missing = is(404, "missing");
    let admins_only = is(403, "You are not a server admin.");
    let not_yours = "You are not authorized to access this db.";
    assert_eq!(refused(get(&server, ADA, &path_of("bob"))), missing);
    assert_eq!(refused(get(&server, ADA, &path_of("none"))), missing);
    assert_eq!(refused(get(&server, ADA, "/_users/_local/x")), missing);
    assert_eq!(
        refused(get(&server, NOBODY, &path_of("ada"))),
        is(401, not_yours)
    );
    let design = "Only administrators can view design docs in the users database.";
    assert_eq!(
        refused(get(&server, ADA, "/_users/_design/x")),
        is(403, design)
    );
    for path in [
        "",
        "/_all_docs",
        "/_changes",
        "/_design_docs",
        "/_local_docs",
        "/_security",
    ] {
        let path = format!("/_users{path}");
        assert_eq!(refused(get(&server, ADA, &path)), admins_only, "{path}");
        assert_eq!(get(&server, NOBODY, &path).0, 401, "{path}");
        assert_eq!(get(&server, ADMIN, &path).0, 200, "{path}");
    }
    let asked = json!({"docs": [{"id": "org.couchdb.user:bob"}], "keys": [], "ids": []});
    for path in [
        "_bulk_get",
        "_all_docs",
        "_revs_diff",
        "_purge",
        "_compact",
        "_all_docs/queries",
    ] {
        let answer = send(&server, ADA, "POST", &format!("/_users/{path}"), &asked);
        assert_eq!(refused(answer), admins_only, "{path}");
    }
    let mut changed = own.clone();
    changed["roles"] = json!(["crew", "boss"]);
    let answer = send(&server, ADA, "PUT", &path_of("ada"), &changed);
    assert_eq!(refused(answer), is(403, "Only _admin may edit roles"));
    assert_eq!(
        refused(send(&server, ADA, "PUT", &path_of("bob"), &own)),
        missing
    );
    let theirs = user("new", "x", &[]);
    assert_eq!(
        refused(send(&server, ADA, "PUT", &path_of("new"), &theirs)),
        missing
    );
    assert_eq!(
        send(&server, NOBODY, "PUT", &path_of("new"), &theirs).0,
        401
    );
    let bulk = json!({"docs": [own, {"_id": "org.couchdb.user:bob", "type": "user"},
                               {"_id": "_local/x"}, {"_id": "_design/x"}]});
    let (_, rows) = send(&server, ADA, "POST", "/_users/_bulk_docs", &bulk);
    let errors: Vec<_> = (1..4).map(|n| rows[n]["error"].as_str().unwrap()).collect();
    assert_eq!(errors, ["not_found", "not_found", "forbidden"]);
    assert_eq!(rows[0]["ok"], true, "{rows}");
    let rev = rows[0]["rev"].as_str().unwrap();
    let path = format!("{}?rev={rev}", path_of("ada"));
    assert_eq!(send(&server, ADA, "DELETE", &path, &Value::Null).0, 200);
}

#[test]
fn the_security_object_of_users_is_changed_only_if_that_is_configured() {
    let open = json!({"members": {"names": ["bob"]}, "admins": {"roles": ["crew"]}});
    let server = with_users("");
    let answer = send(&server, ADMIN, "PUT", "/_users/_security", &open);
    let words = "You can't edit the security object of the user database.";
    assert_eq!(refused(answer), is(403, words));
    let server = with_users("[couchdb]\nusers_db_security_editable = true\n");
    assert_eq!(
        send(&server, ADMIN, "PUT", "/_users/_security", &open).0,
        200
    );
    // She is an admin of the database now.
    assert_eq!(get(&server, ADA, "/_users/_all_docs").0, 200);
    assert_eq!(get(&server, BOB, "/_users/_all_docs").0, 403);
    assert_eq!(get(&server, BOB, &path_of("bob")).0, 200);
}

#[test]
fn databases_are_open_to_those_whom_their_security_names() {
    let server = with_users("");
    let make = |path: &str, body: &Value| {
        let made = send(&server, ADMIN, "PUT", path, body);
        assert!(made.0 < 300, "{path}: {}", made.1);
    };
    make("/db", &Value::Null);
    make("/db/doc", &json!({}));
    let not_allowed = "You are not authorized to access this db.";
    assert_eq!(refused(get(&server, ADA, "/db/doc")), is(403, not_allowed));
    make(
        "/db/_security",
        &json!({"members": {"roles": ["crew"]}, "admins": {"names": ["bob"]}}),
    );
    assert_eq!(get(&server, ADA, "/db/doc").0, 200);
    assert_eq!(send(&server, ADA, "PUT", "/db/hers", &json!({})).0, 201);
    let design = json!({"validate_doc_update":
        "function (doc, old, user) { throw({forbidden: user.name + ' ' + user.roles}); }"});
    let answer = send(&server, ADA, "PUT", "/db/_design/d", &design);
    assert_eq!(
        refused(answer),
        is(403, "You are not a db or server admin.")
    );
    assert_eq!(send(&server, BOB, "PUT", "/db/_design/d", &design).0, 201);
    let answer = send(&server, ADA, "PUT", "/db/more", &json!({}));
    assert_eq!(refused(answer), is(403, "ada crew"));
    assert_eq!(get(&server, ADA, "/_all_dbs").0, 403);
    assert_eq!(send(&server, BOB, "PUT", "/other", &Value::Null).0, 403);
}

#[test]
fn a_proxy_names_users_where_that_is_configured() {
    const NAME: (&str, &str) = ("x-auth-couchdb-username", "ada");
    const ROLES: (&str, &str) = ("x-auth-couchdb-roles", "crew,cook");
    const TOKEN: (&str, &str) = (
        "x-auth-couchdb-token",
        "708a727d2475357eaacc4f88c80d7eec3218ce0cabcf2694f6fecd080545cc6f",
    );
    let asked = |server: &Running, headers: &[(&str, &str)]| {
        let reply = server.send("GET", "/_session", headers, "");
        serde_json::from_str::<Value>(&reply.body).unwrap()
    };
    let refused = json!({"error": "unauthorized", "reason": "Authentication required."});
    let usual = Running::start();
    assert!(asked(&usual, &[NAME, ROLES, TOKEN])["userCtx"]["name"].is_null());
    drop(usual);
    let server = Running::start_with(
        "secret = key\nproxy_use_secret = true\n[chttpd]\nrequire_valid_user = true\n\
         authentication_handlers = {chttpd_auth, proxy_authentication_handler}, \
         {chttpd_auth, default_authentication_handler}\n",
    );
    let session = asked(&server, &[NAME, ROLES, TOKEN]);
    assert_eq!(
        session["userCtx"],
        json!({"name": "ada", "roles": ["crew", "cook"]})
    );
    assert_eq!(
        session["info"],
        json!({"authentication_handlers": ["proxy", "default"], "authenticated": "proxy"})
    );
    assert_eq!(asked(&server, &[ADMIN])["userCtx"]["name"], "adm");
    let wrong = ("x-auth-couchdb-token", "00");
    assert_eq!(asked(&server, &[NAME, wrong]), refused);
    // The same logins count for repositories.
    assert_eq!(server.send("GET", "/hg/", &[NAME, wrong], "").status, 401);
    assert_eq!(server.send("GET", "/hg/", &[NAME, TOKEN], "").status, 200);
    // Cookies are none of the ways here.
    let cookie = cookie_of(&log_in(&server, "adm", "pass"));
    assert_eq!(asked(&server, &[("cookie", &cookie)]), refused);
}
