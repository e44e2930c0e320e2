//! Random databases and feeds: with an index each answer is what it is without.

use super::{Client, Feed};
use crate::client::ADMIN;
use crate::compaction::JSON;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Documents that no filter lets through.
const OTHERS: usize = 60;

#[derive(Clone, Debug)]
enum Step {
    /// A new revision of a document with this value.
    Put(u8, u8),
    Delete(u8),
    /// A revision beside the others.
    Conflict(u8, u8),
    /// All leaves, or the winner alone.
    Purge(u8, bool),
    Attach(u8),
    Ask(usize, String),
    /// Asks for everything, so that many changes behind the index bring it up to date.
    AskAll,
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0..10u8;
    prop_oneof![
        6 => (id(), 0..4u8).prop_map(|(id, v)| Step::Put(id, v)),
        2 => id().prop_map(Step::Delete),
        3 => (id(), 0..4u8).prop_map(|(id, v)| Step::Conflict(id, v)),
        1 => (id(), any::<bool>()).prop_map(|(id, all)| Step::Purge(id, all)),
        1 => id().prop_map(Step::Attach),
        6 => (0..FILTERS, options()).prop_map(|(filter, options)| Step::Ask(filter, options)),
        1 => Just(Step::AskAll),
    ]
}

fn options() -> impl Strategy<Value = String> {
    let number = prop_oneof![Just(0u64), 0..120u64];
    let since = proptest::option::of(number).prop_map(|since| match since {
        Some(since) => format!("since={since}&"),
        None => String::new(),
    });
    let feed = prop_oneof![
        4 => Just(""),
        1 => Just("feed=longpoll&timeout=1&"),
        1 => Just("feed=continuous&timeout=1&"),
        1 => Just("feed=eventsource&timeout=1&"),
    ];
    let limit = proptest::option::of(1..6u8).prop_map(|limit| match limit {
        Some(limit) => format!("limit={limit}&"),
        None => String::new(),
    });
    let flags = [
        "descending=true&",
        "include_docs=true&",
        "conflicts=true&",
        "style=all_docs&",
        "seq_interval=3&",
        "attachments=true&",
        "att_encoding_info=true&",
    ];
    let flags = proptest::sample::subsequence(flags.to_vec(), 0..4);
    (since, feed, limit, flags)
        .prop_map(|(since, feed, limit, flags)| format!("{since}{feed}{limit}{}", flags.concat()))
}

const FILTERS: usize = 7;

fn feed(filter: usize) -> Feed {
    match filter {
        0 => Feed::of_selector(&json!({"v": 1})),
        1 => Feed::of_selector(&json!({"v": {"$gt": 1}})),
        2 => Feed::of_selector(&json!({"_deleted": true})),
        3 => Feed::of_selector(&json!({"$or": [{"v": 0}, {"_attachments": {"$exists": true}}]})),
        4 => Feed::get("filter=_view&view=d/native"),
        5 => Feed::get("filter=_view&view=d/engine"),
        _ => Feed::get("filter=_view&view=d/endless"),
    }
}

/// A database with documents of no concern, and an index for each filter.
fn prepare(client: &mut Client, name: &str) {
    client.call("PUT", &format!("/{name}"), &Value::Null);
    let engine = "function (doc) { var [v] = [doc.v]; if (v == 2) throw 'no'; if (v) emit(1) }";
    let views = json!({
        "native": {"map": "function (doc) { if (doc.v == 1) emit(1); }"},
        "engine": {"map": engine},
        "endless": {"map": "function (doc) { while (doc.v == 3) {} if (doc.v) emit(1) }"},
    });
    client.call(
        "PUT",
        &format!("/{name}/_design/d"),
        &json!({"views": views}),
    );
    let docs: Vec<_> = (0..OTHERS)
        .map(|n| json!({"_id": format!("x{n}")}))
        .collect();
    client.call(
        "POST",
        &format!("/{name}/_bulk_docs"),
        &json!({"docs": docs}),
    );
    for filter in 0..FILTERS {
        client.ask_of(name, &feed(filter));
    }
}

/// Writes what a step says.
fn apply(client: &mut Client, name: &str, number: usize, step: &Step) {
    let path = |id: u8| format!("/{name}/d{id}");
    let known = |client: &mut Client, id: u8| -> Vec<String> {
        let query = format!("{}?open_revs=all", path(id));
        let accept = ("accept", "application/json");
        let reply = client.connection.send("GET", &query, &[ADMIN, accept], "");
        let leaves: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        let leaves = leaves.as_array().cloned().unwrap_or_default();
        let rev = |leaf: &Value| leaf["ok"]["_rev"].as_str().map(str::to_owned);
        leaves.iter().filter_map(rev).collect()
    };
    let winner = |client: &mut Client, id: u8| {
        let reply = client.connection.send("GET", &path(id), &[ADMIN], "");
        let document: Value = serde_json::from_str(&reply.body).unwrap();
        document["_rev"].as_str().map(str::to_owned)
    };
    let put = |client: &mut Client, id: u8, mut doc: Value| {
        if let Some(rev) = winner(client, id) {
            doc["_rev"] = json!(rev);
        }
        client
            .connection
            .send("PUT", &path(id), &[ADMIN, JSON], &doc.to_string());
    };
    match *step {
        Step::Put(id, v) => put(client, id, json!({"v": v, "step": number})),
        Step::Delete(id) => put(client, id, json!({"_deleted": true})),
        Step::Attach(id) => {
            let attachment = json!({"content_type": "text/plain", "data": "aGVsbG8="});
            put(
                client,
                id,
                json!({"_attachments": {"a": attachment}, "step": number}),
            );
        }
        Step::Conflict(id, v) => {
            let rev = format!("{}-{number:032x}", 1 + number % 3);
            let doc = json!({"_id": format!("d{id}"), "_rev": rev, "v": v});
            let body = json!({"new_edits": false, "docs": [doc]});
            client.call("POST", &format!("/{name}/_bulk_docs"), &body);
        }
        Step::Purge(id, all) => {
            let mut revs = known(client, id);
            if !all {
                revs = winner(client, id).into_iter().collect();
            }
            if !revs.is_empty() {
                let mut body = json!({});
                body[format!("d{id}")] = json!(revs);
                client.call("POST", &format!("/{name}/_purge"), &body);
            }
        }
        Step::Ask(..) | Step::AskAll => {}
    }
}

fn compare(client: &mut Client, name: &str, feed: &Feed) -> Result<(), TestCaseError> {
    let with = client.ask_of(name, feed);
    let without = client.ask_without(name, feed);
    prop_assert_eq!(with, without, "{:?}", feed);
    Ok(())
}

#[test]
fn an_index_changes_no_answer() {
    let settings = "skip_failed = true\n[couchdb]\nos_process_timeout = 100\n";
    let mut client = Client::start(1, settings);
    let mut number = 0;
    let mut selected = 0;
    let cases = proptest::collection::vec(step(), 1..30);
    let config = ProptestConfig {
        cases: 5,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let state = std::cell::RefCell::new((&mut client, &mut number, &mut selected));
    let outcome = runner.run(&cases, |steps| {
        let (client, number, selected) = &mut *state.borrow_mut();
        **number += 1;
        let name = format!("db{number}");
        prepare(client, &name);
        for (at, step) in steps.iter().enumerate() {
            apply(client, &name, at, step);
            match step {
                Step::Ask(filter, options) => {
                    compare(client, &name, &feed(*filter).with(options))?;
                }
                Step::AskAll => {
                    for filter in 0..FILTERS {
                        compare(client, &name, &feed(filter))?;
                    }
                }
                _ => {}
            }
        }
        for filter in 0..FILTERS {
            compare(client, &name, &feed(filter))?;
            let before = client.looked_at();
            client.ask_of(&name, &feed(filter));
            **selected += u64::from(client.looked_at() - before < OTHERS as u64);
        }
        client.call("DELETE", &format!("/{name}"), &Value::Null);
        Ok(())
    });
    outcome.unwrap();
    assert!(selected > 0, "no index was ever read");
}
