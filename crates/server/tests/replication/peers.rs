//! Peers that misbehave.

use super::{ask, get, put_docs, replicate, url};
use crate::client::Running;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_testkit::http::{Fault, Proxy};

/// A proxy in front of a server.
fn between(
    server: &Running,
    fault: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
) -> Proxy {
    Proxy::start(server.address, "adm:pass", fault)
}

fn source(count: usize) -> Running {
    let server = Running::start();
    assert_eq!(ask(&server, "PUT", "/a", &Value::Null).0, 201);
    let docs: Vec<Value> = (0..count)
        .map(|n| json!({"_id": n.to_string(), "text": "x".repeat(200)}))
        .collect();
    put_docs(&server, "a", &json!(docs));
    server
}

fn pull(from: &Proxy, into: &Running) -> (u16, Value) {
    let answer = replicate(
        into,
        &from.url("a"),
        &url(into, "b"),
        &json!({"create_target": true}),
    );
    assert_eq!(answer.0, 200, "{}", answer.1);
    answer
}

#[test]
fn a_source_without_bulk_get_is_read_document_by_document() {
    let (server, into) = (source(30), Running::start());
    let proxy = between(&server, |line, _| match line.contains("_bulk_get") {
        true => Fault::Answer(404, ""),
        false => Fault::None,
    });
    let (_, answer) = pull(&proxy, &into);
    assert_eq!(answer["history"][0]["docs_written"], 30, "{answer}");
    assert_eq!(proxy.count("_bulk_get"), 1);
    assert_eq!(super::leaves(&server, "a"), super::leaves(&into, "b"));
}

#[test]
fn answers_that_are_cut_and_refusals_that_may_pass_are_asked_for_again() {
    let (server, into) = (source(300), Running::start());
    let calls = AtomicUsize::new(0);
    let proxy = between(&server, move |_, before| match before {
        0 => match calls.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => Fault::Answer(503, "retry-after: 0\r\n"),
            1 => Fault::Cut(300),
            2 => Fault::Answer(429, "retry-after: 0\r\n"),
            _ => Fault::Cut(0),
        },
        _ => Fault::None,
    });
    let (_, answer) = pull(&proxy, &into);
    assert_eq!(answer["history"][0]["docs_written"], 300, "{answer}");
    assert_eq!(super::leaves(&server, "a"), super::leaves(&into, "b"));
}

#[test]
fn redirects_are_followed_and_another_host_gets_no_password() {
    let (server, into) = (source(5), Running::start());
    let target = format!("location: http://{}/a/\r\n", server.address);
    let header: &'static str = Box::leak(target.into_boxed_str());
    let proxy = between(&server, move |line, _| {
        match line.starts_with("GET /moved/ ") {
            true => Fault::Answer(302, header),
            false => Fault::None,
        }
    });
    let moved = proxy.url("moved");
    let (status, answer) = replicate(
        &into,
        &moved,
        &url(&into, "b"),
        &json!({"create_target": true}),
    );
    assert_eq!(
        (status, &answer["error"]),
        (401, &json!("unauthorized")),
        "{answer}"
    );
    assert_eq!(get(&into, "/b")["error"], "not_found");
}

#[test]
fn a_peer_that_never_answers_as_couchdb_ends_the_run() {
    let (server, into) = (source(1), Running::start());
    let proxy = between(&server, |line, _| match line.contains("_changes") {
        true => Fault::Answer(200, ""),
        false => Fault::None,
    });
    let (status, answer) = replicate(
        &into,
        &proxy.url("a"),
        &url(&into, "b"),
        &json!({"create_target": true}),
    );
    assert_eq!(
        (status, &answer["error"]),
        (500, &json!("replication_error")),
        "{answer}"
    );
    assert!(
        answer["reason"]
            .as_str()
            .unwrap()
            .contains("without results"),
        "{answer}"
    );
}

#[test]
fn ids_of_a_source_lead_to_nothing_but_documents() {
    let (server, into) = (source(1), Running::start());
    let open =
        json!({"admins": {"names": ["eve"], "roles": []}, "members": {"names": [], "roles": []}});
    assert_eq!(ask(&server, "PUT", "/a/_security", &open).0, 200);
    let proxy = between(&server, |line, _| {
        if line.contains("_bulk_get") {
            Fault::Answer(404, "")
        } else if line.contains("_changes") {
            Fault::Json(
                r#"{"results":[
                    {"seq":1,"id":"_security","changes":[{"rev":"1-a"}]},
                    {"seq":2,"id":"..","changes":[{"rev":"1-a"}]},
                    {"seq":3,"id":"_design/..","changes":[{"rev":"1-a"}]},
                    {"seq":4,"id":"x","changes":[{"rev":"1-a"}]}],"last_seq":4,"pending":0}"#,
            )
        } else if line.contains("/a/x?") {
            Fault::Json(r#"{"_id":"x","_rev":"1-a","_revisions":{"start":1,"ids":["a"]}}"#)
        } else {
            Fault::None
        }
    });
    assert_eq!(ask(&into, "PUT", "/b", &Value::Null).0, 201);
    let before = get(&into, "/b/_security");
    let (status, answer) = replicate(&into, &proxy.url("a"), &url(&into, "b"), &json!({}));
    assert_eq!(get(&into, "/b/_security"), before, "{answer}");
    assert_eq!(status, 200, "{answer}");
    let entry = &answer["history"][0];
    assert_eq!(
        (&entry["docs_written"], &entry["doc_write_failures"]),
        (&json!(1), &json!(3)),
        "{answer}"
    );
    assert_eq!(get(&into, "/b/x")["_rev"], "1-a");
    assert_eq!(proxy.count("/a/_security"), 0);
}

#[test]
fn a_source_whose_sequence_stands_still_ends_the_run() {
    let (server, into) = (source(1), Running::start());
    let proxy = between(&server, |line, _| match line.contains("_changes") {
        true => Fault::Json(
            r#"{"results":[{"seq":0,"id":"x","changes":[{"rev":"1-a"}]}],"last_seq":0}"#,
        ),
        false => Fault::None,
    });
    let more = json!({"create_target": true});
    let (status, answer) = replicate(&into, &proxy.url("a"), &url(&into, "b"), &more);
    assert_eq!(status, 500, "{answer}");
    assert!(
        answer["reason"].to_string().contains("stands still"),
        "{answer}"
    );
    assert_eq!(proxy.count("_changes"), 1);
}

/// A peer that takes cookies in the place of passwords, and whose sessions end after some requests each.
#[test]
fn a_session_that_expires_is_begun_anew() {
    let (server, into) = (source(1200), Running::start());
    for n in 0..12 {
        let path = format!(
            "/a/{n}/f?rev={}",
            get(&server, &format!("/a/{n}"))["_rev"].as_str().unwrap()
        );
        assert_eq!(
            server
                .send(
                    "PUT",
                    &path,
                    &[super::ADMIN, ("content-type", "a/b")],
                    "data"
                )
                .status,
            201
        );
    }
    // How often each cookie was used.
    let sessions = Mutex::new(Vec::<usize>::new());
    let proxy = Proxy::start_seeing(server.address, "adm:pass", move |head, _| {
        let mut sessions = sessions.lock().unwrap();
        if head.contains("/_session ") {
            let cookie = format!("set-cookie: AuthSession=s{}; HttpOnly\r\n", sessions.len());
            sessions.push(0);
            return Fault::Answer(200, Box::leak(cookie.into_boxed_str()));
        }
        let number = head.split("AuthSession=s").nth(1).and_then(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().ok()
        });
        match number.and_then(|number| sessions.get_mut(number)) {
            Some(used) if *used < 8 => {
                *used += 1;
                Fault::LogIn("authorization: Basic YWRtOnBhc3M=")
            }
            _ => Fault::Answer(401, ""),
        }
    });
    let more = json!({"create_target": true, "worker_batch_size": 100});
    let (status, answer) = replicate(&into, &proxy.url("a"), &url(&into, "b"), &more);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["history"][0]["docs_written"], 1200, "{answer}");
    assert_eq!(super::leaves(&server, "a"), super::leaves(&into, "b"));
    assert!(
        proxy.count("POST /_session") > 3,
        "{}",
        proxy.count("POST /_session")
    );
    // The other way round, documents with attachments are streams that cannot be sent twice.
    let (status, answer) = replicate(&into, &url(&into, "b"), &proxy.url("c"), &more);
    assert_eq!(status, 200, "{answer}");
    let entry = &answer["history"][0];
    assert_eq!(
        (&entry["docs_written"], &entry["doc_write_failures"]),
        (&json!(1200), &json!(0)),
        "{answer}"
    );
    assert_eq!(super::leaves(&server, "a"), super::leaves(&server, "c"));
}

fn has_password(head: &str) -> bool {
    head.to_ascii_lowercase()
        .contains("\r\nauthorization: basic ")
}

#[test]
fn a_peer_without_sessions_gets_the_password() {
    for (status, header) in [(404, ""), (405, ""), (500, ""), (200, "")] {
        let (server, into) = (source(20), Running::start());
        let proxy = Proxy::start_seeing(server.address, "adm:pass", move |head, _| {
            if head.contains("/_session") {
                return Fault::Answer(status, header);
            }
            match has_password(head) {
                true => Fault::None,
                false => Fault::Answer(401, ""),
            }
        });
        let (_, answer) = pull(&proxy, &into);
        assert_eq!(answer["history"][0]["docs_written"], 20, "{answer}");
        assert_eq!(proxy.count("POST /_session"), 1, "asked once: {status}");
    }
    // Cookies that do not count are not asked for again and again.
    let (server, into) = (source(20), Running::start());
    let proxy = Proxy::start_seeing(server.address, "adm:pass", |head, _| {
        let is_session = head.contains("/_session");
        match is_session || has_password(head) {
            true => Fault::None,
            false => Fault::Answer(401, ""),
        }
    });
    let (_, answer) = pull(&proxy, &into);
    assert_eq!(answer["history"][0]["docs_written"], 20, "{answer}");
    assert_eq!(proxy.count("POST /_session"), 1);
    // Without the plugin, nothing asks for a session.
    let plain = Running::start_with("[replicator]\nauth_plugins = couch_replicator_auth_noop\n");
    pull(&proxy, &plain);
    assert_eq!(proxy.count("POST /_session"), 1);
}
