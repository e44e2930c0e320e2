//! How much of one replication is under way at once.

use super::{ask, get, put_docs, replicate, url};
use crate::client::Running;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use varve_testkit::http::{Fault, Proxy};

const DOCUMENTS: usize = 60;
/// How long each watched request takes at least, so that others meet it.
const HELD: Duration = Duration::from_millis(30);

/// Replicates the documents of a source that only gets plain requests, and returns the most requests with `watched` in
/// their first line that were under way at once.
fn most_at_once(settings: &str, watched: &'static str, more: &Value) -> usize {
    let (from, here) = (Running::start(), Running::start_with(settings));
    assert_eq!(ask(&from, "PUT", "/a", &Value::Null).0, 201);
    let docs: Vec<Value> = (0..DOCUMENTS)
        .map(|n| json!({"_id": format!("d{n:02}"), "n": n}))
        .collect();
    put_docs(&from, "a", &json!(docs));
    let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let highest = Arc::clone(&most);
    let proxy = Proxy::start(from.address, "adm:pass", move |line, _| {
        if line.contains(watched) {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(HELD);
            now.fetch_sub(1, Ordering::SeqCst);
        }
        Fault::None
    });
    let mut more = more.clone();
    more["create_target"] = json!(true);
    let (status, answer) = replicate(&here, &proxy.url("a"), &url(&here, "b"), &more);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(get(&here, "/b")["doc_count"], DOCUMENTS);
    assert!(proxy.count(watched) >= 6, "{watched}");
    highest.load(Ordering::SeqCst)
}

/// By the request, and by the settings.
#[test]
fn a_side_gets_no_more_requests_at_once_than_it_has_connections() {
    let single = "GET /a/d";
    // The documents of a batch are read one after the other, and batches beside each other.
    let plain = json!({"use_bulk_get": false, "worker_batch_size": 6, "worker_processes": 10});
    let asked = |count: usize| {
        let mut asked = plain.clone();
        asked["http_connections"] = json!(count);
        asked
    };
    assert_eq!(most_at_once("", single, &asked(1)), 1);
    let three = most_at_once("", single, &asked(3));
    assert!((2..=3).contains(&three), "{three}");
    let many = most_at_once("", single, &asked(20));
    assert!((4..=10).contains(&many), "{many}");
    let settings = "[replicator]\nhttp_connections = 1\n";
    assert_eq!(most_at_once(settings, single, &plain), 1);
}

#[test]
fn as_many_batches_are_under_way_as_there_are_workers() {
    let batch = "POST /a/_bulk_get";
    let asked = |count: usize| json!({"worker_batch_size": 6, "worker_processes": count});
    assert_eq!(most_at_once("", batch, &asked(1)), 1);
    let four = most_at_once("", batch, &asked(4));
    assert!((2..=4).contains(&four), "{four}");
    let plain = json!({"worker_batch_size": 6});
    let settings = "[replicator]\nworker_processes = 1\n";
    assert_eq!(most_at_once(settings, batch, &plain), 1);
}
