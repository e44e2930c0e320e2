//! Starting, the first start, and stopping.

use super::Site;
use crate::VARVE;
use serde_json::{Value, json};
use varve_testkit::http::Client;
use varve_testkit::peers::hg;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

#[test]
fn a_directory_that_is_not_there_becomes_a_demo() {
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("demo");
    let server = Server::try_start(VARVE, &directory).unwrap();
    let printed = server.printed_with("shown only now");
    let password = made_password(&printed).unwrap_or_else(|| panic!("no password: {printed}"));
    assert!(printed.contains("admin"), "{printed}");

    let mut admin = server.anonymous().with_basic("admin", &password);
    let session = admin.get("/_session").expect_status(200).json();
    assert_eq!(session["userCtx"]["name"], "admin");
    demo_database(&mut admin);
    demo_repository(&server, &directory);

    assert!(server.stop("INT").status.success());
    let settings = std::fs::read_to_string(directory.join("varve.ini")).unwrap();
    assert!(
        !settings.contains(&password),
        "the password was stored plainly"
    );
    // The second start prints no password, and the first one's still opens.
    let server = Server::try_start(VARVE, &directory).unwrap();
    let mut admin = server.anonymous().with_basic("admin", &password);
    admin.get("/_session").expect_status(200);
    let ended = server.stop("TERM");
    assert!(ended.status.success());
    assert!(!ended.printed.contains("password"), "printed twice");
}

/// The word after "password" in the output of the first start.
fn made_password(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once("password")?;
    let word = |c: char| c == ':' || c == '=' || c.is_whitespace();
    let word = rest.trim_start_matches(word).split_whitespace().next()?;
    Some(word.to_owned())
}

fn demo_database(admin: &mut Client) {
    let names = admin.get("/_all_dbs").expect_status(200).json();
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    // Repositories are databases, too.
    let is_own = |name: &&&str| !name.starts_with('_') && !name.starts_with("hg/");
    let demo = names.iter().find(is_own);
    let demo = demo.unwrap_or_else(|| panic!("no database: {names:?}"));
    let info = admin.get(&format!("/{demo}")).expect_status(200).json();
    assert!(info["doc_count"].as_u64().unwrap() >= 1000, "{info}");
    let range = "startkey=%22_design/%22&endkey=%22_design0%22&include_docs=true";
    let designs = admin
        .get(&format!("/{demo}/_all_docs?{range}"))
        .expect_status(200)
        .json();
    let mut views = 0;
    for row in designs["rows"].as_array().unwrap() {
        for name in row["doc"]["views"].as_object().unwrap().keys() {
            let path = format!("/{demo}/{}/_view/{name}", row["id"].as_str().unwrap());
            let answer = admin.get(&path).expect_status(200).json();
            assert!(!answer["rows"].as_array().unwrap().is_empty(), "{path}");
            views += 1;
        }
    }
    assert_eq!(views, 2);
}

fn demo_repository(server: &Server, directory: &std::path::Path) {
    let repos = std::fs::read_dir(directory.join("repos")).unwrap();
    let names = repos.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    let (hg, work) = (hg(), tempfile::tempdir().unwrap());
    assert!(!names.is_empty());
    for name in names {
        let source = directory.join("repos").join(&name);
        hg.ok(&source, &["verify"]);
        for option in ["--pull", "--stream"] {
            let clone = work.path().join(format!("{name}{option}"));
            let url = server.url(&format!("/hg/{name}"));
            hg.ok(
                work.path(),
                &["clone", option, &url, clone.to_str().unwrap()],
            );
            hg.ok(&clone, &["verify"]);
            let log = |path| hg.ok(path, &["log", "--debug", "-p"]);
            assert_eq!(log(&clone), log(&source));
        }
    }
}

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
fn writes_need_a_password() {
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    // Each of the wrong logins is to be looked at.
    let lockout = "/_node/_local/_config/chttpd_auth_lockout/mode";
    admin.put(lockout, &json!("off")).expect_status(200);
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
fn a_second_server_on_the_same_directory_is_refused() {
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
