//! `/_session`: cookies, forms, redirects; which requests need a login.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// Forms come from pages of the server.
const ORIGIN: (&str, &str) = ("origin", "http://varve.test");

fn log_in(server: &Running) -> Reply {
    let body = r#"{"name":"adm","password":"pass"}"#;
    server.send("POST", "/_session", &[JSON], body)
}

fn cookie_of(reply: &Reply) -> &str {
    reply.header("set-cookie").unwrap()
}

fn set(server: &Running, name: &str, value: &str) {
    let path = format!("/_node/_local/_config/{name}");
    let put = server.send("PUT", &path, &[ADMIN, JSON], &json!(value).to_string());
    assert_eq!(put.status, 200, "{name}: {}", put.body);
}

/// The user whom a cookie logs in.
fn user(server: &Running, cookie: &str) -> Value {
    let cookie = cookie.split(';').next().unwrap();
    let reply = server.send("GET", "/_session", &[("cookie", cookie)], "");
    serde_json::from_str::<Value>(&reply.body).unwrap()["userCtx"]["name"].clone()
}

fn reason(reply: &Reply) -> (u16, String) {
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    (
        reply.status,
        body["reason"].as_str().unwrap_or("").to_owned(),
    )
}

#[test]
fn cookies_have_the_attributes_of_the_settings() {
    let server = Running::start_with("timeout = 90\n");
    let usual = log_in(&server);
    let cookie = cookie_of(&usual);
    assert!(cookie.starts_with("AuthSession="), "{cookie}");
    assert!(cookie.contains("; Version=1; Expires="), "{cookie}");
    let end = "; Max-Age=90; Path=/; HttpOnly; SameSite=Lax";
    assert!(cookie.ends_with(end), "{cookie}");
    set(&server, "chttpd_auth/allow_persistent_cookies", "false");
    set(&server, "chttpd_auth/same_site", "strict");
    set(&server, "chttpd_auth/cookie_domain", "varve.test");
    let brief = log_in(&server);
    let cookie = cookie_of(&brief);
    let end = "; Version=1; Domain=varve.test; Path=/; HttpOnly; SameSite=Strict";
    assert!(cookie.ends_with(end), "{cookie}");
    // A cookie that is new enough is not renewed, and logging out takes it away.
    let value = cookie.split(';').next().unwrap().to_owned();
    let used = server.send("GET", "/_session", &[("cookie", &value)], "");
    assert_eq!(used.header("set-cookie"), None);
    let ended = server.send("DELETE", "/_session", &[("cookie", &value), ORIGIN], "");
    assert_eq!(
        (ended.status, ended.body.as_str()),
        (200, "{\"ok\":true}\n")
    );
    assert!(cookie_of(&ended).starts_with("AuthSession=; Version=1;"));
}

#[test]
fn any_listed_hash_function_may_have_signed_a_cookie() {
    let server = Running::start();
    let newer = log_in(&server);
    set(&server, "chttpd_auth/hash_algorithms", "sha, sha256");
    let older = log_in(&server);
    let length = |reply: &Reply| cookie_of(reply).split(';').next().unwrap().len();
    assert_eq!(length(&newer) - length(&older), 16);
    for cookie in [&newer, &older] {
        assert_eq!(user(&server, cookie_of(cookie)), "adm");
    }
    set(&server, "chttpd_auth/hash_algorithms", "sha256");
    assert_eq!(user(&server, cookie_of(&newer)), "adm");
    let value = cookie_of(&older).split(';').next().unwrap().to_owned();
    let refused = server.send("GET", "/_session", &[("cookie", &value)], "");
    let words = "Malformed AuthSession cookie. Please clear your cookies.";
    assert_eq!(reason(&refused), (400, words.to_owned()));
}

#[test]
fn logins_come_as_json_or_as_a_form_and_lead_elsewhere() {
    let server = Running::start();
    let post = |path: &str, kind, body: &str| server.send("POST", path, &[kind, ORIGIN], body);
    for (kind, body) in [
        (FORM, "name=adm&password=pass"),
        (FORM, "username=adm&password=p%61ss"),
        (JSON, r#"{"username":"adm","name":"adm","password":"pass"}"#),
    ] {
        let done = post("/_session", kind, body);
        let expected = "{\"ok\":true,\"name\":\"adm\",\"roles\":[\"_admin\"]}\n";
        assert_eq!((done.status, done.body.as_str()), (200, expected), "{body}");
        assert_eq!(user(&server, cookie_of(&done)), "adm");
    }
    let next = post(
        "/_session?next=/db/_design/a",
        FORM,
        "name=adm&password=pass",
    );
    assert_eq!(next.status, 302);
    assert_eq!(
        next.header("location"),
        Some("http://varve.test/db/_design/a")
    );
    assert_eq!(user(&server, cookie_of(&next)), "adm");
    let fail = "/_session?next=/a&fail=/b";
    let failed = post(fail, FORM, "name=adm&password=no");
    assert_eq!(failed.status, 302);
    assert_eq!(failed.header("location"), Some("http://varve.test/b"));
    assert!(cookie_of(&failed).starts_with("AuthSession=;"));
    for elsewhere in [
        "http://a.test/",
        "//a.test",
        "/\\a.test",
        "a",
        "/a%0d%0ax:y",
    ] {
        let path = format!("/_session?next={elsewhere}");
        let refused = post(&path, FORM, "name=adm&password=pass");
        assert_eq!(reason(&refused), (400, "path must begin with a /.".into()));
        assert_eq!(refused.header("set-cookie"), None);
    }
    let words = "request body must contain a username";
    assert_eq!(
        reason(&post("/_session", JSON, "{\"x\":1}")),
        (400, words.into())
    );
    let two = "name=adm&username=eve&password=pass";
    let words = "request body contains different usernames";
    assert_eq!(reason(&post("/_session", FORM, two)), (400, words.into()));
    let words = "Name or password is incorrect.";
    assert_eq!(
        reason(&post("/_session", FORM, "name=adm")),
        (401, words.into())
    );
    let text = post("/_session", ("content-type", "text/plain"), "{}");
    let words = "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'";
    assert_eq!(reason(&text), (415, words.into()));
}

#[test]
fn where_a_user_is_required_only_logins_and_the_health_check_need_none() {
    let server = Running::start();
    let statuses = || {
        let get = |path: &str| server.get(path).status;
        let login = log_in(&server).status;
        [get("/"), get("/_up"), get("/_session"), login, get("/hg/")]
    };
    assert_eq!(statuses(), [200, 200, 200, 200, 200]);
    set(&server, "chttpd/require_valid_user", "true");
    assert_eq!(statuses(), [401, 401, 401, 200, 401]);
    let refused = server.get("/_session");
    assert_eq!(reason(&refused), (401, "Authentication required.".into()));
    set(&server, "chttpd/require_valid_user_except_for_up", "true");
    assert_eq!(statuses(), [401, 200, 401, 200, 401]);
    set(&server, "chttpd/require_valid_user", "false");
    assert_eq!(statuses(), [401, 200, 401, 200, 401]);
}

#[test]
fn the_list_of_databases_is_for_admins_unless_the_settings_open_it() {
    let server = Running::start();
    let listed = || ["/_all_dbs", "/_dbs_info"].map(|path| server.get(path).status);
    assert_eq!(listed(), [401, 401]);
    set(&server, "chttpd/admin_only_all_dbs", "false");
    assert_eq!(listed(), [200, 200]);
}
