//! Starting, the first start, and stopping.

use super::Site;
use crate::VARVE;
use serde_json::{Value, json};
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

#[test]
fn plain_admin_passwords_are_hashed_at_the_start() {
    let site = Site::new();
    let settings = configure(site.path(), "second = other-words\n");
    let server = site.serve();
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(
        !text.contains(PASSWORD) && !text.contains("other-words"),
        "{text}"
    );
    assert!(text.contains("-pbkdf2"), "{text}");
    assert!(!server.printed().contains(PASSWORD));
    for (name, password, status) in [
        (ADMIN, PASSWORD, 200),
        ("second", "other-words", 200),
        ("second", PASSWORD, 401),
        ("nobody", "", 401),
    ] {
        let mut client = server.anonymous().with_basic(name, password);
        client.get("/_session").expect_status(status);
    }
    assert!(server.stop("TERM").status.success());
    // The hashes are read back by the next start, and stay as they are.
    let hashed = std::fs::read_to_string(&settings).unwrap();
    let server = site.serve();
    server.admin().get("/_session").expect_status(200);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), hashed);
}

#[test]
fn nobody_writes_without_a_password() {
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/db", &Value::Null).expect_status(201);
    admin
        .put("/db/doc", &json!({"kept": true}))
        .expect_status(201);
    let requests = [
        ("PUT", "/new", ""),
        ("DELETE", "/db", ""),
        ("PUT", "/db/other", "{}"),
        ("POST", "/db", "{}"),
        ("POST", "/db/_bulk_docs", "{\"docs\":[{}]}"),
        ("PUT", "/db/_local/note", "{}"),
        ("PUT", "/db/_security", "{}"),
        ("PUT", "/db/_design/d", "{\"views\":{}}"),
    ];
    let mut wrong = server.anonymous().with_basic(ADMIN, "guess");
    for (method, path, body) in requests {
        for client in [&mut server.anonymous(), &mut wrong] {
            let json = [("Content-Type", "application/json")];
            let answer = client
                .request(method, path, &json, body.as_bytes())
                .unwrap();
            let refused = matches!(answer.status, 401 | 403);
            assert!(
                refused,
                "{method} {path}: {} {}",
                answer.status,
                answer.text()
            );
        }
    }
    let info = admin.get("/db").expect_status(200).json();
    assert_eq!(info["doc_count"], 1);
    admin.get("/new").expect_status(404);
}

#[test]
fn a_second_server_on_the_same_folder_is_refused() {
    let site = Site::new();
    let mut first = site.serve();
    let refused = Server::try_start(VARVE, site.path()).unwrap_err();
    assert!(!refused.status.success());
    assert!(!refused.printed.contains("panicked"), "{}", refused.printed);
    assert!(first.is_running());
    // A killed server leaves nothing behind that keeps the next one out.
    first.kill();
    site.serve();
}

#[test]
fn it_stops_cleanly_while_feeds_are_open() {
    for signal in ["INT", "TERM"] {
        let site = Site::new();
        let server = site.serve();
        server.admin().put("/db", &Value::Null).expect_status(201);
        let path = "/db/_changes?feed=continuous&heartbeat=1000";
        let mut client = server.admin();
        let feed = client.send("GET", path, &[], b"").unwrap();
        assert_eq!(feed.status, 200);
        let ended = server.stop(signal);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.printed);
        assert!(!ended.printed.contains("panicked"), "{}", ended.printed);
    }
}
