//! Codes by time as a second factor of users.

use crate::client::{ADMIN, Reply, Running};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha1::Sha1;
use std::time::{SystemTime, UNIX_EPOCH};

const JSON: (&str, &str) = ("content-type", "application/json");
/// `ada:secret`.
const ADA: (&str, &str) = ("authorization", "Basic YWRhOnNlY3JldA==");
const USER: &str = "/_users/org.couchdb.user:ada";
/// `12345678901234567890` in Base 32.
const KEY: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

/// The code of now, or that of some steps of 30 s later.
fn code(later: i64) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let step = (since.as_secs() as i64 / 30 + later) as u64;
    let mac = Hmac::<Sha1>::new_from_slice(b"12345678901234567890").unwrap();
    let signed = mac.chain_update(step.to_be_bytes()).finalize().into_bytes();
    let at = usize::from(signed[19] & 0xf);
    let number = u32::from_be_bytes(signed[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

fn start(settings: &str) -> Running {
    let server = Running::start_with(settings);
    assert_eq!(server.send("PUT", "/_users", &[ADMIN], "").status, 201);
    server
}

fn put_user(server: &Running, totp: &Value) -> Reply {
    let mut user = json!({"type": "user", "name": "ada", "password": "secret", "roles": []});
    if !totp.is_null() {
        user["totp"] = totp.clone();
    }
    let before = server.send("GET", USER, &[ADMIN], "").body;
    let before: Value = serde_json::from_str(&before).unwrap();
    if before["_rev"].is_string() {
        user["_rev"] = before["_rev"].clone();
    }
    server.send("PUT", USER, &[ADMIN, JSON], &user.to_string())
}

fn log_in(server: &Running, password: &str, token: Option<&str>) -> Reply {
    let mut body = json!({"name": "ada", "password": password});
    if let Some(token) = token {
        body["token"] = token.into();
    }
    server.send("POST", "/_session", &[JSON], &body.to_string())
}

#[test]
fn a_user_with_a_second_factor_logs_in_with_its_code_only() {
    let server = start("[chttpd_auth]\niterations = 10\n[chttpd_auth_lockout]\nmode = off\n");
    assert_eq!(put_user(&server, &Value::Null).status, 201);
    assert_eq!(log_in(&server, "secret", None).status, 200);
    assert_eq!(put_user(&server, &json!({"key": KEY})).status, 201);
    let refused = log_in(&server, "secret", None);
    let words = json!({"error": "unauthorized", "reason": "Name or password is incorrect."});
    let told: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!((refused.status, told), (401, words));
    for wrong in ["", "12345", &code(9)] {
        assert_eq!(
            log_in(&server, "secret", Some(wrong)).status,
            401,
            "{wrong}"
        );
    }
    assert_eq!(log_in(&server, "wrong", Some(&code(0))).status, 401);
    let reply = log_in(&server, "secret", Some(&code(0)));
    assert_eq!(reply.status, 200, "{reply:?}");
    // Forms have it, too.
    let form = format!("name=ada&password=secret&token={}", code(0));
    let as_form = ("content-type", "application/x-www-form-urlencoded");
    assert_eq!(
        server.send("POST", "/_session", &[as_form], &form).status,
        200
    );
    // The session needs none; a password with each request has none.
    let cookie = reply
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let session = server
        .send("GET", "/_session", &[("cookie", &cookie)], "")
        .body;
    let session: Value = serde_json::from_str(&session).unwrap();
    assert_eq!(session["userCtx"]["name"], "ada");
    assert_eq!(server.send("GET", "/_session", &[ADA], "").status, 401);
}

#[test]
fn codes_are_guessed_no_more_often_than_passwords() {
    let server = start("[chttpd_auth]\niterations = 10\n[chttpd_auth_lockout]\nthreshold = 3\n");
    assert_eq!(put_user(&server, &json!({"key": KEY})).status, 201);
    for status in [401, 401, 401, 403] {
        let reply = log_in(&server, "secret", Some("000"));
        assert_eq!(reply.status, status, "{reply:?}");
    }
    assert_eq!(log_in(&server, "secret", Some(&code(0))).status, 403);
}

#[test]
fn a_second_factor_that_no_code_fits_is_not_stored() {
    let server = start("");
    for totp in [
        json!({}),
        json!({"key": "!"}),
        json!({"key": KEY, "length": 4}),
    ] {
        let reply = put_user(&server, &totp);
        assert_eq!(reply.status, 403, "{reply:?}");
        assert!(reply.body.contains("totp must have a key"), "{reply:?}");
    }
}
