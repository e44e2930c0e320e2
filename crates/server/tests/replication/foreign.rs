//! Peers that answer in other forms than Varve does, break off, and send requests elsewhere.

use super::{ADMIN, ask, get, leaves, put_docs, replicate, url};
use crate::client::Running;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_testkit::http::{AnswerForm, Fault, Proxy};

/// More chunks than any answer of these tests has.
const MANY: usize = 1 << 20;

/// A server whose database `a` has plain documents, a conflict and attachments.
fn source() -> Running {
    let server = Running::start();
    assert_eq!(ask(&server, "PUT", "/a", &Value::Null).0, 201);
    let docs: Vec<Value> = (0..300)
        .map(|n| json!({"_id": format!("d{n:03}"), "text": "varve ".repeat(20)}))
        .collect();
    put_docs(&server, "a", &json!(docs));
    let conflict = json!({"new_edits": false, "docs": [
        {"_id": "x", "_rev": "1-a"}, {"_id": "x", "_rev": "1-b"},
    ]});
    assert_eq!(ask(&server, "POST", "/a/_bulk_docs", &conflict).0, 201);
    for (name, kind) in [("t", "text/plain"), ("b", "image/png")] {
        let path = format!("/a/attached-{name}/f");
        let text = format!("{name} of a lake ").repeat(3000);
        let put = server.send("PUT", &path, &[ADMIN, ("content-type", kind)], &text);
        assert_eq!(put.status, 201, "{}", put.body);
    }
    server
}

/// Ids, leaves and attachments of a database.
fn contents(server: &Running, database: &str) -> Value {
    let attachment = |name: &str| {
        let path = format!("/{database}/attached-{name}");
        let stub = get(server, &format!("{path}?att_encoding_info=true"))["_attachments"].clone();
        let body = server.send("GET", &format!("{path}/f"), &[ADMIN], "").body;
        json!([stub, body])
    };
    json!([leaves(server, database), attachment("t"), attachment("b")])
}

/// Pulls through one proxy into a database, and pushes that through another one; both end equal. Returns how many requests
/// each of the two has seen.
fn pull_and_push(
    fault: impl Fn(&str, usize) -> Fault + Clone + Send + Sync + 'static,
    more: &Value,
) -> [Proxy; 2] {
    let (from, here, to) = (source(), Running::start(), Running::start());
    let proxies =
        [&from, &to].map(|server| Proxy::start(server.address, "adm:pass", fault.clone()));
    let mut more = more.clone();
    more["create_target"] = json!(true);
    let pairs = [
        (proxies[0].url("a"), url(&here, "b")),
        (url(&here, "b"), proxies[1].url("c")),
    ];
    for (source, target) in &pairs {
        let (status, answer) = replicate(&here, source, target, &more);
        assert_eq!(status, 200, "{answer}");
        let entry = &answer["history"][0];
        assert_eq!(
            (&entry["docs_written"], &entry["doc_write_failures"]),
            (&json!(304), &json!(0)),
            "{answer}"
        );
    }
    assert_eq!(contents(&from, "a"), contents(&here, "b"));
    assert_eq!(contents(&from, "a"), contents(&to, "c"));
    // Both sides have the same checkpoint, whatever form it came through.
    for (source, target) in &pairs {
        let (status, answer) = replicate(&here, source, target, &more);
        assert_eq!(
            (status, &answer["no_changes"]),
            (200, &json!(true)),
            "{answer}"
        );
    }
    put_docs(&from, "a", &json!([{"_id": "late"}]));
    for (source, target) in &pairs {
        let (_, answer) = replicate(&here, source, target, &more);
        assert_eq!(answer["history"][0]["docs_written"], 1, "{answer}");
        assert_eq!(answer["history"][0]["docs_read"], 1, "{answer}");
    }
    proxies
}

#[test]
fn opaque_sequences_are_kept_as_they_are() {
    for form in [AnswerForm::OpaqueText, AnswerForm::OpaqueList] {
        let [source, _] = pull_and_push(move |_, _| Fault::As(form), &json!({}));
        let since = match form {
            AnswerForm::OpaqueText => "since=opaque%7E",
            _ => "since=%5B7%2C%22",
        };
        assert!(source.count(since) > 0, "{form:?}");
    }
}

#[test]
fn compressed_answers_are_read_and_streamed() {
    pull_and_push(|_, _| Fault::As(AnswerForm::Gzip), &json!({}));
}

/// Every path is cut in each way once before it is answered.
#[test]
fn chunked_answers_that_are_cut_anywhere_are_asked_for_again() {
    let cuts = [
        Fault::As(AnswerForm::CutChunk(0)),
        Fault::As(AnswerForm::CutChunk(1)),
        Fault::As(AnswerForm::MissingEnd(1)),
        Fault::As(AnswerForm::MissingEnd(MANY)),
        Fault::As(AnswerForm::CutGzip),
    ];
    let calls = Arc::<AtomicUsize>::default();
    let fault = move |_: &str, before: usize| match before {
        0 => cuts[calls.fetch_add(1, Ordering::SeqCst) % cuts.len()],
        _ => Fault::None,
    };
    pull_and_push(fault, &json!({}));
}

/// The waits between so many attempts are far longer than a test may take, if the header does not count.
#[test]
fn a_peer_that_says_when_to_come_again_is_asked_then() {
    const REFUSALS: usize = 12;
    let past = "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    for (status, header) in [(429, "retry-after: 0\r\n"), (503, past)] {
        let fault = move |line: &str, before: usize| {
            let is_refused = line.contains("_revs_diff") || line.contains("/attached-t");
            match is_refused && before < REFUSALS {
                true => Fault::Answer(status, header),
                false => Fault::None,
            }
        };
        let [source, target] = pull_and_push(fault, &json!({"retries_per_request": REFUSALS}));
        assert!(source.count("GET /a/attached-t") > REFUSALS);
        assert!(target.count("PUT /c/attached-t") > REFUSALS);
        assert!(target.count("_revs_diff") > REFUSALS);
    }
}

#[test]
fn requests_that_are_sent_elsewhere_are_sent_there_with_their_bodies() {
    for status in [301, 302, 307, 308] {
        let fault = move |line: &str, _: usize| {
            let path = line.split(' ').nth(1).unwrap_or_default();
            match path.strip_prefix("/moved-") {
                None => Fault::None,
                Some(rest) => {
                    let header = format!("location: /{rest}\r\n");
                    Fault::Answer(status, Box::leak(header.into_boxed_str()))
                }
            }
        };
        let (from, here, to) = (source(), Running::start(), Running::start());
        let [source, target] =
            [&from, &to].map(|server| Proxy::start(server.address, "adm:pass", fault));
        let more = json!({"create_target": true});
        for (source, target) in [
            (source.url("moved-a"), url(&here, "b")),
            (url(&here, "b"), target.url("moved-c")),
        ] {
            let (code, answer) = replicate(&here, &source, &target, &more);
            assert_eq!(code, 200, "{status}: {answer}");
            assert_eq!(answer["history"][0]["doc_write_failures"], 0, "{answer}");
        }
        assert_eq!(contents(&from, "a"), contents(&to, "c"), "{status}");
        assert!(target.count("PUT /moved-c/attached-b") > 0);
    }
}

/// A peer that leads in a circle ends the run instead of being followed for ever.
#[test]
fn circles_of_redirects_end_the_run() {
    let (from, here) = (source(), Running::start());
    let fault = |line: &str, _: usize| match line.contains("/attached-") && line.starts_with("PUT")
    {
        true => Fault::Answer(307, "location: /c/attached-t?new_edits=false\r\n"),
        false => Fault::None,
    };
    let target = Proxy::start(here.address, "adm:pass", fault);
    let more = json!({"create_target": true});
    let (status, answer) = replicate(&from, &url(&from, "a"), &target.url("c"), &more);
    assert_eq!(status, 500, "{answer}");
    assert!(
        answer["reason"].to_string().contains("too many redirects"),
        "{answer}"
    );
}
