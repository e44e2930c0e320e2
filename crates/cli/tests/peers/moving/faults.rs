//! Servers that misbehave, imports that are killed, and differences that the comparison finds.

use super::{command, fill, import, leaves, proxy};
use crate::peers::Site;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_testkit::http::Fault;

#[test]
fn a_server_that_cuts_and_refuses_and_knows_no_bulk_get_is_copied_whole() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    let mut admin = old.admin();
    fill(&mut admin, "a", 120);
    admin.put("/b", &json!({})).expect_status(201);
    for id in ["x", "y"] {
        let data = "bGF5ZXJzIG9mIHNpbHQg".repeat(20_000);
        let attached = json!({"f": {"content_type": "text/plain", "data": data}});
        let doc = json!({"_attachments": attached});
        admin.put(&format!("/b/{id}"), &doc).expect_status(201);
    }
    let calls = AtomicUsize::new(0);
    let between = proxy(&old, move |line, before| {
        if line.contains("_bulk_get") {
            return Fault::Answer(404, "");
        }
        match before {
            0 => match calls.fetch_add(1, Ordering::SeqCst) % 4 {
                0 => Fault::Answer(503, "retry-after: 0\r\n"),
                1 => Fault::Cut(300),
                2 => Fault::Answer(429, "retry-after: 0\r\n"),
                _ => Fault::Cut(0),
            },
            _ => Fault::None,
        }
    });
    let (status, words) = import(&between.url(""), to.path(), &["--db", "a", "--db", "b"]);
    assert_eq!(status, Some(0), "{words}");
    // Four batches of each database may have asked before the first refusal came.
    let asked = between.count("_bulk_get");
    assert!((1..=8).contains(&asked), "{asked}");
    let server = to.serve();
    for name in ["a", "b"] {
        assert_eq!(leaves(&mut admin, name), leaves(&mut server.admin(), name));
    }
    let path = "/b/x/f";
    let (here, there) = (admin.get(path), server.admin().get(path));
    assert!(here.body == there.body && there.body.len() == 300_000);
    let digest = |mut client: varve_testkit::http::Client| {
        client.get("/b/x").json()["_attachments"]["f"]["digest"].clone()
    };
    assert_eq!(digest(old.admin()), digest(server.admin()));
}

/// A revision whose attachment does not come, or has another digest, is no revision.
#[test]
fn an_attachment_that_is_not_what_the_server_says_is_left_out_and_found_missing() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    let mut admin = old.admin();
    admin.put("/a", &json!({})).expect_status(201);
    let doc = json!({"_attachments": {"f": {"content_type": "image/png", "data": "AAAA"}}});
    admin.put("/a/x", &doc).expect_status(201);
    let between = proxy(&old, move |line, _| match line.starts_with("GET /a/x?") {
        true => Fault::Json(
            r#"{"_id":"x","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"_attachments":{"f":{"follows":true,"length":3}}}"#,
        ),
        false => Fault::None,
    });
    let options = ["--db", "a", "--retries", "1"];
    let (status, words) = import(&between.url(""), to.path(), &options);
    assert_eq!(status, Some(1), "{words}");
    assert!(
        words.contains("the attachment \"f\" does not come"),
        "{words}"
    );
    assert!(words.contains("a: \"x\" 1-"), "{words}");
    assert!(words.contains("is left out: "), "{words}");
    assert!(
        words.contains("is at the server, and not in the directory"),
        "{words}"
    );
}

/// A server that lists a document and does not give it; a directory that has more than the server.
#[test]
fn differences_are_named_and_end_with_1() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    fill(&mut old.admin(), "a", 20);
    let lying = proxy(&old, |line, _| {
        match line.contains("_bulk_get") || line.starts_with("GET /a/000007?") {
            true => Fault::Answer(404, ""),
            false => Fault::None,
        }
    });
    let (status, words) = import(&lying.url(""), to.path(), &["--db", "a"]);
    assert_eq!(status, Some(1), "{words}");
    let named: Vec<&str> = words
        .lines()
        .filter(|line| line.starts_with("a: "))
        .collect();
    assert_eq!(named.len(), 1, "{words}");
    assert!(named[0].starts_with("a: \"000007\" 1-"), "{words}");
    assert!(
        named[0].ends_with("is at the server, and not in the directory"),
        "{words}"
    );
    assert!(
        words.contains("left out: 0; differences of both sides: 1"),
        "{words}"
    );

    let server = to.serve();
    server.admin().put("/a/more", &json!({})).expect_status(201);
    server.stop("TERM");
    let honest = proxy(&old, |_, _| Fault::None);
    let again = honest.url("");
    let (status, words) = import(&again, to.path(), &["--db", "a"]);
    assert_eq!(
        status,
        Some(255),
        "another address is another server: {words}"
    );
    let (status, words) = import(&lying.url(""), to.path(), &["--db", "a"]);
    assert_eq!(status, Some(1), "{words}");
    let more = words
        .lines()
        .find(|line| line.starts_with("a: \"more\" 1-"))
        .unwrap();
    assert!(
        more.ends_with("is in the directory, and the server does not know it"),
        "{more}"
    );
}

#[test]
fn a_server_that_counts_otherwise_is_named() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    fill(&mut old.admin(), "a", 20);
    let between = proxy(&old, |line, _| match line.starts_with("GET /a/ ") {
        true => Fault::Json(r#"{"doc_count":21,"doc_del_count":0,"update_seq":"20-x"}"#),
        false => Fault::None,
    });
    let (status, words) = import(&between.url(""), to.path(), &["--db", "a"]);
    assert_eq!(status, Some(1), "{words}");
    let counts = "a: the server counts 21 documents and 0 deleted ones, the directory 20 and 0\n";
    assert!(words.contains(counts), "{words}");
}

#[test]
fn a_killed_import_goes_on_where_it_was() {
    const DOCUMENTS: usize = 6000;
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    fill(&mut old.admin(), "a", DOCUMENTS);
    let between = proxy(&old, |_, _| Fault::None);
    let options = ["--db", "a"];
    let mut child = command(&between.url(""), to.path(), &options)
        .spawn()
        .unwrap();
    while between.count("_bulk_get") < DOCUMENTS / 200 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = between.count("_bulk_get");
    let (status, words) = import(&between.url(""), to.path(), &options);
    assert_eq!(status, Some(0), "{words}");
    // The second run reads less than all, so it did not begin anew.
    let second = between.count("_bulk_get") - before;
    assert!(second < DOCUMENTS / 100, "{before} and {second}");
    let server = to.serve();
    assert_eq!(
        leaves(&mut old.admin(), "a"),
        leaves(&mut server.admin(), "a")
    );
}

/// The server goes away for good: what was copied stays, and the words say how to go on.
#[test]
fn a_server_that_goes_away_ends_the_import_with_words() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    fill(&mut old.admin(), "a", 20);
    let between = proxy(&old, |line, _| match line.contains("_bulk_get") {
        true => Fault::Cut(0),
        false => Fault::None,
    });
    let (status, words) = import(
        &between.url(""),
        to.path(),
        &["--db", "a", "--retries", "1"],
    );
    assert_eq!(status, Some(255), "{words}");
    assert!(
        words.contains("the same command goes on where this one stopped"),
        "{words}"
    );
}
