//! A disk that takes no more: the real server under a limit of file sizes.

use super::Site;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use varve_testkit::http::{Answer, Client};
use varve_testkit::repos::noise;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

/// Most edits that fit below the limit are far fewer.
const MOST: u32 = 400;

/// A program that starts the server such that it cannot write beyond a place in any file, and is
/// told so by an error.
fn limited(site: &Site) -> String {
    let script = site.path().join("limited");
    let words = format!(
        "#!/bin/sh\ntrap '' XFSZ\nulimit -f 4000\nexec '{}' \"$@\"\n",
        crate::VARVE
    );
    std::fs::write(&script, words).unwrap();
    let made = Command::new("chmod").arg("+x").arg(&script).status();
    assert!(made.unwrap().success());
    script.to_str().unwrap().to_owned()
}

fn full(answer: &Answer) {
    assert_eq!(answer.status, 507, "{}", answer.text());
    let error = answer.json();
    assert_eq!(error["error"], "insufficient_storage", "{error}");
    assert!(
        error["reason"].as_str().unwrap().contains("db.varve"),
        "{error}"
    );
}

/// Text that does not become shorter.
fn text(seed: u32) -> String {
    noise(60_000, seed)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Edits one document until the disk is full; returns its last stored edit.
fn fill(admin: &mut Client) -> Value {
    let mut last = json!({});
    for number in 1..MOST {
        let mut doc = json!({"n": number, "text": text(number)});
        if let Some(rev) = last.get("_rev") {
            doc["_rev"] = rev.clone();
        }
        let answer = admin.put("/db/fat", &doc);
        if answer.status != 201 {
            full(&answer);
            assert!(number > 5, "{number}");
            return last;
        }
        doc["_rev"] = answer.json()["rev"].clone();
        last = doc;
    }
    panic!("the limit does not count");
}

#[test]
fn writes_fail_on_a_full_disk_and_go_on_with_room() {
    let site = Site::new();
    configure(
        site.path(),
        "[smoosh]\ndb_channels = none\n[couchdb]\nfile_compression = none\n",
    );
    let server = Server::start(&limited(&site), site.path());
    let mut admin = Client::new(server.address()).with_basic(ADMIN, PASSWORD);
    admin.put("/db", &Value::Null).expect_status(201);
    for number in 0..5 {
        admin
            .put(&format!("/db/small-{number}"), &json!({"n": number}))
            .expect_status(201);
    }
    let last = fill(&mut admin);
    for _ in 0..3 {
        full(&admin.put("/db/more", &json!({"text": text(9)})));
        let data = noise(3_000_000, 5);
        let sent = admin.request("PUT", "/db/att/a", &[("Content-Type", "image/png")], &data);
        full(&sent.unwrap());
        check(&mut admin, &last);
    }
    // A compaction needs little room.
    admin.post("/db/_compact", &json!({})).expect_status(202);
    while admin.get("/db").json()["compact_running"] == true {
        std::thread::sleep(Duration::from_millis(5));
    }
    check(&mut admin, &last);
    admin
        .put("/db/more", &json!({"text": text(9)}))
        .expect_status(201);
    server.kill();
    let checked = Command::new(crate::VARVE)
        .arg("verify")
        .arg(site.database_file("db"))
        .output();
    let checked = checked.unwrap();
    assert_eq!(
        checked.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
    let server = site.serve();
    let mut admin = server.admin();
    check(&mut admin, &last);
    assert_eq!(
        admin.get("/db/more").expect_status(200).json()["text"],
        text(9)
    );
}

/// All that was acknowledged is there, and nothing else.
fn check(admin: &mut Client, last: &Value) {
    for number in 0..5 {
        let found = admin
            .get(&format!("/db/small-{number}"))
            .expect_status(200)
            .json();
        assert_eq!(found["n"], number);
    }
    let found = admin.get("/db/fat").expect_status(200).json();
    assert_eq!((&found["_rev"], &found["n"]), (&last["_rev"], &last["n"]));
    assert!(found["text"] == last["text"], "another text");
    admin.get("/db/att").expect_status(404);
}
