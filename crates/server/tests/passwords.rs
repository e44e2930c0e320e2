//! How passwords of users are checked, stored, and stored anew.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
const ADA: &str = "/_users/org.couchdb.user:ada";

fn set(server: &Running, name: &str, value: &str) -> Reply {
    let path = format!("/_node/_local/_config/{name}");
    server.send("PUT", &path, &[ADMIN, JSON], &json!(value).to_string())
}

fn put(server: &Running, doc: &Value) -> (u16, Value) {
    let reply = server.send("PUT", ADA, &[ADMIN, JSON], &doc.to_string());
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

fn doc(server: &Running) -> Value {
    let reply = server.send("GET", ADA, &[ADMIN], "");
    serde_json::from_str(&reply.body).unwrap()
}

fn ada(password: &str) -> Value {
    json!({"type": "user", "name": "ada", "roles": [], "password": password})
}

fn log_in(server: &Running) -> Reply {
    let body = json!({"name": "ada", "password": "secret"}).to_string();
    server.send("POST", "/_session", &[JSON], &body)
}

fn with_users(settings: &str) -> Running {
    let server = Running::start_with(settings);
    server.send("PUT", "/_users", &[ADMIN], "");
    server
}

#[test]
fn new_passwords_match_the_rules() {
    let rules = r#"password_regexp = [{".{10,}", "Min length is 10 chars."}, "[A-Z]", "\\d+"]"#;
    let server = with_users(&format!("{rules}\n"));
    for (password, reason) in [
        (
            "short",
            "Password does not conform to requirements. Min length is 10 chars.",
        ),
        ("long enough", "Password does not conform to requirements."),
        ("Long enough", "Password does not conform to requirements."),
    ] {
        let refused = json!({"error": "bad_request", "reason": reason});
        assert_eq!(put(&server, &ada(password)), (400, refused), "{password}");
    }
    assert_eq!(put(&server, &ada("Long enough 1")).0, 201);
    let wrong = set(&server, "chttpd_auth/password_regexp", r#"["(?=a)"]"#);
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("without look-around"), "{}", wrong.body);
    assert_eq!(
        set(&server, "chttpd_auth/password_regexp", "[]").status,
        200
    );
    let mut again = ada("a");
    again["_rev"] = doc(&server)["_rev"].clone();
    assert_eq!(put(&server, &again).0, 201);
}

#[test]
fn a_login_stores_the_password_as_the_settings_ask_for_it_now() {
    let server = with_users("password_scheme = simple\n");
    assert_eq!(put(&server, &ada("secret")).0, 201);
    let simple = doc(&server);
    assert_eq!(simple["password_scheme"], "simple");
    assert_eq!(simple["password_sha"].as_str().unwrap().len(), 40);
    let session = log_in(&server);
    assert_eq!((session.status, doc(&server)), (200, simple.clone()));
    for (name, value) in [
        ("upgrade_hash_on_auth", "false"),
        ("password_scheme", "pbkdf2"),
        ("pbkdf2_prf", "sha512"),
    ] {
        assert_eq!(
            set(&server, &format!("chttpd_auth/{name}"), value).status,
            200
        );
    }
    let server = server.restart(|_| ());
    assert_eq!(
        (log_in(&server).status, doc(&server)),
        (200, simple.clone())
    );
    assert_eq!(
        set(&server, "chttpd_auth/upgrade_hash_on_auth", "true").status,
        200
    );
    let server = server.restart(|_| ());
    assert_eq!(log_in(&server).status, 200);
    let upgraded = doc(&server);
    assert_eq!(upgraded["password_scheme"], "pbkdf2");
    assert_eq!(upgraded["pbkdf2_prf"], "sha512");
    assert_eq!(upgraded["derived_key"].as_str().unwrap().len(), 128);
    assert_eq!(upgraded["salt"], simple["salt"]);
    assert!(upgraded.get("password_sha").is_none());
    assert_eq!((log_in(&server).status, doc(&server)), (200, upgraded));
    // The salt is the same, so that sessions last.
    let cookie = session.header("set-cookie").unwrap().split(';').next();
    let cookie = ("cookie", cookie.unwrap());
    let used = server.send("GET", "/_session", &[cookie], "").body;
    assert!(used.contains("\"name\":\"ada\""), "{used}");
}

#[test]
fn keys_of_too_few_or_too_many_rounds_are_refused() {
    let server = with_users("upgrade_hash_on_auth = false\n");
    assert_eq!(put(&server, &ada("secret")).0, 201);
    let refused = || {
        let reply = log_in(&server);
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        (reply.status, body["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(set(&server, "chttpd_auth/min_iterations", "3").status, 200);
    let words = "Iteration count is too low for this server";
    assert_eq!(refused(), (403, words.to_owned()));
    assert_eq!(set(&server, "chttpd_auth/min_iterations", "1").status, 200);
    assert_eq!(set(&server, "chttpd_auth/max_iterations", "1").status, 200);
    let words = "Iteration count is too high for this server";
    assert_eq!(refused(), (403, words.to_owned()));
    assert_eq!(set(&server, "chttpd_auth/max_iterations", "2").status, 200);
    assert_eq!(log_in(&server).status, 200);
}
