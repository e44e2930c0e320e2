//! The log: which lines are written, where to, and how they describe a request.

use super::client::{ADMIN, Running};
use std::path::Path;

fn log_of(directory: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(directory.join("server.log")).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn each_answered_request_has_a_line_that_names_user_object_and_status() {
    let mut server = Running::start_with("[log]\nlevel = info\nformat = json\nfile = server.log\n");
    server.send("PUT", "/things", &[ADMIN], "");
    server.get("/things/absent?x=1");
    server.get("/hg/nothing?cmd=heads");
    server.get("/_up");
    server.stop();
    let lines = log_of(server.directory.path());
    let answered = lines
        .iter()
        .filter(|line| line["fields"]["message"] == "answered");
    let found: Vec<String> = answered
        .map(|line| {
            let span = &line["spans"][0];
            let text = |name: &str| span[name].as_str().unwrap_or("-").to_owned();
            let status = &line["fields"]["status"];
            assert!(line["fields"]["milliseconds"].is_f64(), "{line}");
            assert_eq!(span["id"].as_str().unwrap().len(), 10, "{line}");
            let of = [
                text("method"),
                text("path"),
                text("user"),
                text("database"),
                text("repository"),
            ];
            format!("{} {status}", of.join(" "))
        })
        .collect();
    let expected = [
        "PUT /things adm things - 201",
        "GET /things/absent - things - 401",
        "GET /hg/nothing - - nothing 404",
        "GET /_up - - - 200",
    ];
    assert_eq!(found, expected);
    assert_eq!(
        server.told(),
        [] as [String; 0],
        "the file takes the place of the other output"
    );
}

#[test]
fn a_part_may_have_a_level_of_its_own_and_faults_alone_are_the_default() {
    let quiet = Running::start();
    quiet.get("/_up");
    assert_eq!(quiet.told(), [] as [String; 0]);
    let http = Running::start_with("[log]\nlevel.http = info\n");
    http.get("/_up");
    let told = http.told();
    assert!(
        matches!(&told[..], [line] if line.contains("answered") && line.contains("status=200")),
        "{told:?}"
    );
    let off = Running::start_with("[log]\nlevel = info\nlevel.http = off\n");
    off.get("/_up");
    assert_eq!(off.told(), [] as [String; 0]);
}

#[test]
fn figures_are_for_admins() {
    let server = Running::start();
    server.get("/_up");
    assert_eq!(server.get("/_node/_local/_prometheus").status, 401);
    let text = server
        .send("GET", "/_node/_local/_prometheus", &[ADMIN], "")
        .body;
    let line = "varve_http_requests_total{half=\"Couch\",status=\"200\"} 1";
    assert!(text.contains(line), "{text}");
}

/// With every line that there is.
#[test]
fn no_secret_is_ever_in_the_log() {
    let mut server = Running::start_with("[log]\nlevel = trace\n");
    let json = ("content-type", "application/json");
    let put = |path: &str, body: &str| {
        let reply = server.send("PUT", path, &[ADMIN, json], body);
        assert!(reply.status < 300, "{path}: {}", reply.body);
    };
    put(
        "/_node/_local/_config/chttpd_auth/secret",
        "\"secret-of-cookies\"",
    );
    put(
        "/_node/_local/_config/jwt_keys/hmac:_default",
        "\"c2VjcmV0IG9mIGF0IGxlYXN0IDMyIGJ5dGVzIQ==\"",
    );
    put(
        "/_node/_local/_config/admins/second",
        "\"password-of-second\"",
    );
    for name in ["_users", "_replicator", "db"] {
        put(&format!("/{name}"), "");
    }
    put(
        "/_users/org.couchdb.user:ada",
        r#"{"name":"ada","type":"user","roles":[],"password":"password-of-ada"}"#,
    );
    let login = |name: &str, password: &str| {
        let body = format!(r#"{{"name":"{name}","password":"{password}"}}"#);
        server.send("POST", "/_session", &[json], &body)
    };
    assert_eq!(login("ada", "password-of-ada").status, 200);
    assert_eq!(login("ada", "wrong-password").status, 401);
    let session = login("second", "password-of-second");
    let cookie = session.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    server.send("GET", "/_all_dbs", &[("cookie", cookie)], "");
    let bearer = ("authorization", "Bearer token.that-is.none");
    server.send("GET", "/_all_dbs", &[bearer], "");
    let url = format!("http://adm:password-in-url@{}/db", server.address);
    let job = format!(r#"{{"source":"{url}","target":"http://127.0.0.1:1/x"}}"#);
    server.send("POST", "/_replicate", &[ADMIN, json], &job);
    put("/_replicator/job", &job);
    let value = cookie.split_once('=').unwrap().1.to_owned();
    server.stop();
    let told = server.told().join("\n");
    assert!(told.contains("answered"), "{told}");
    for secret in [
        "secret-of-cookies",
        "c2VjcmV0IG9mIGF0",
        "password-of-second",
        "password-of-ada",
        "wrong-password",
        "password-in-url",
        "token.that-is.none",
        "YWRtOnBhc3M=",
        &value,
    ] {
        assert!(!told.contains(secret), "{secret} is in the log");
    }
}
