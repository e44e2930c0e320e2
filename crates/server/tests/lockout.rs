//! `[chttpd_auth_lockout]`: failed logins lock a user out, from one address.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
/// `adm:wrong` and `eve:wrong`, whom there is not.
const WRONG: (&str, &str) = ("authorization", "Basic YWRtOndyb25n");
const NOT_THERE: (&str, &str) = ("authorization", "Basic ZXZlOndyb25n");

fn basic(server: &Running, login: (&str, &str)) -> u16 {
    server.send("GET", "/_session", &[login], "").status
}

fn log_in(server: &Running, password: &str) -> Reply {
    let body = json!({"name": "adm", "password": password}).to_string();
    server.send("POST", "/_session", &[JSON], &body)
}

fn told(server: &Running) -> usize {
    let lines = server.told();
    let failed = lines.iter().filter(|line| line.contains("have failed"));
    failed.count()
}

#[test]
fn the_right_password_is_refused_after_too_many_wrong_ones() {
    let server = Running::start_with("[chttpd_auth_lockout]\nthreshold = 3\n");
    let cookie = log_in(&server, "pass");
    let cookie = cookie.header("set-cookie").unwrap().split(';').next();
    let cookie = ("cookie", cookie.unwrap());
    assert_eq!(basic(&server, WRONG), 401);
    assert_eq!(log_in(&server, "wrong").status, 401);
    assert_eq!(basic(&server, ADMIN), 200);
    assert_eq!(told(&server), 0);
    assert_eq!(basic(&server, WRONG), 401);
    assert_eq!(told(&server), 1);
    let refused = log_in(&server, "pass");
    let words = json!({
        "error": "forbidden",
        "reason": "Account is temporarily locked due to multiple authentication failures"
    });
    let answer: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!((refused.status, answer), (403, words));
    assert_eq!(basic(&server, ADMIN), 403);
    assert_eq!(basic(&server, WRONG), 403);
    // Sessions stay good, and names that are not there are told from others by nothing.
    assert_eq!(basic(&server, cookie), 200);
    let statuses: Vec<u16> = (0..4).map(|_| basic(&server, NOT_THERE)).collect();
    assert_eq!(statuses, [401, 401, 401, 403]);
    // The setting counts at once, and failures before it as well.
    let path = "/_node/_local/_config/chttpd_auth_lockout/mode";
    let put = |value: &str| server.send("PUT", path, &[cookie, JSON, ORIGIN], value);
    assert_eq!(put("\"warn\"").status, 200);
    assert_eq!(basic(&server, ADMIN), 200);
    assert_eq!(put("\"enforce\"").status, 200);
    assert_eq!(basic(&server, ADMIN), 403);
    assert_eq!(put("\"off\"").status, 200);
    assert_eq!(basic(&server, ADMIN), 200);
    assert_eq!(put("\"sometimes\"").status, 400);
}

/// A page of the server itself.
const ORIGIN: (&str, &str) = ("origin", "http://varve.test");

#[test]
fn failures_are_forgotten_after_their_time() {
    let server = Running::start_with("[chttpd_auth_lockout]\nthreshold = 1\nmax_lifetime = 1\n");
    // A millisecond is over before the next request comes.
    for _ in 0..3 {
        assert_eq!(basic(&server, WRONG), 401);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(basic(&server, ADMIN), 200);
}
