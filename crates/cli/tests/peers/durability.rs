//! Writes answered with success are there after `kill -9`, whatever was going on.

use super::Site;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use varve_testkit::http::Client;
use varve_testkit::repos::noise;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

/// Kills in a row on one directory: each start recovers from the one before.
const ROUNDS: u32 = 12;
/// Clients that write at the same time.
const WRITERS: u32 = 4;

/// Ids with the revision that the server said it had stored.
type Acknowledged = BTreeMap<String, String>;

/// Writes until the server is gone; returns everything that was answered with success.
fn write_until_killed(address: &str, writer: u32, round: u32, killed: &AtomicBool) -> Acknowledged {
    let mut client = Client::new(address).with_basic(ADMIN, PASSWORD);
    let mut acknowledged = Acknowledged::new();
    for step in 0.. {
        let name = format!("r{round:02}-w{writer}-s{step:04}");
        let result = match (writer + step) % 3 {
            0 => put_twice(&mut client, &name, &mut acknowledged),
            1 => bulk(&mut client, &name, &mut acknowledged),
            _ => put_attachment(&mut client, &name, &mut acknowledged),
        };
        match result {
            Ok(()) => {}
            Err(_) if killed.load(Ordering::SeqCst) => break,
            Err(e) => panic!("{name}: the server broke off: {e}"),
        }
    }
    acknowledged
}

fn send(client: &mut Client, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
    let json = [("Content-Type", "application/json")];
    let answer = client.request(method, path, &json, body.to_string().as_bytes())?;
    assert_eq!(answer.status, 201, "{method} {path}: {}", answer.text());
    Ok(answer.json())
}

fn revision(answer: &Value) -> String {
    answer["rev"]
        .as_str()
        .expect("a success has a revision")
        .to_owned()
}

/// A document and its update: the second revision counts once it was answered.
fn put_twice(client: &mut Client, name: &str, done: &mut Acknowledged) -> std::io::Result<()> {
    let path = format!("/ledger/{name}");
    let first = revision(&send(client, "PUT", &path, &json!({"step": 1}))?);
    done.insert(name.to_owned(), first.clone());
    let second = send(client, "PUT", &path, &json!({"step": 2, "_rev": first}))?;
    done.insert(name.to_owned(), revision(&second));
    Ok(())
}

fn bulk(client: &mut Client, name: &str, done: &mut Acknowledged) -> std::io::Result<()> {
    let text = "some text that fills a page ".repeat(30);
    let docs = (0..100).map(|n| json!({"_id": format!("{name}-{n}"), "n": n, "text": text}));
    let docs: Vec<Value> = docs.collect();
    let answer = send(client, "POST", "/ledger/_bulk_docs", &json!({"docs": docs}))?;
    for item in answer.as_array().expect("an array of results") {
        let id = item["id"]
            .as_str()
            .expect("each result has an id")
            .to_owned();
        done.insert(id, revision(item));
    }
    Ok(())
}

fn put_attachment(client: &mut Client, name: &str, done: &mut Acknowledged) -> std::io::Result<()> {
    let path = format!("/ledger/{name}/noise");
    let kind = [("Content-Type", "application/octet-stream")];
    let answer = client.request("PUT", &path, &kind, &noise(20_000, 3))?;
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
    done.insert(name.to_owned(), revision(&answer.json()));
    Ok(())
}

/// Has the database compacted again and again until the server is gone.
fn compact_until_killed(address: &str, killed: &AtomicBool) {
    let mut client = Client::new(address).with_basic(ADMIN, PASSWORD);
    let json = [("Content-Type", "application/json")];
    while !killed.load(Ordering::SeqCst) {
        if let Ok(answer) = client.request("POST", "/ledger/_compact", &json, b"") {
            assert_eq!(answer.status, 202, "{}", answer.text());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn one_round(server: Server, round: u32, compacts: bool) -> Acknowledged {
    let killed = AtomicBool::new(false);
    let address = server.address().to_owned();
    std::thread::scope(|scope| {
        if compacts {
            scope.spawn(|| compact_until_killed(&address, &killed));
        }
        let start = |writer| {
            let (address, killed) = (&address, &killed);
            scope.spawn(move || write_until_killed(address, writer, round, killed))
        };
        let writers: Vec<_> = (0..WRITERS).map(start).collect();
        // Moments spread over several commits, different in each round.
        let moment = 60 + u64::from(round) * 37 % 200;
        std::thread::sleep(Duration::from_millis(moment));
        killed.store(true, Ordering::SeqCst);
        server.kill();
        let found = writers.into_iter().map(|writer| writer.join().unwrap());
        found.flatten().collect()
    })
}

/// Every acknowledged document is there, at that revision or a later one, and can be read whole.
fn check(server: &Server, acknowledged: &Acknowledged) {
    let mut client = server.admin();
    let all = client.get("/ledger/_all_docs?include_docs=true&attachments=true");
    let all = all.expect_status(200).json();
    let rows = all["rows"].as_array().unwrap();
    let stored: BTreeMap<&str, &Value> = rows
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row))
        .collect();
    for (id, rev) in acknowledged {
        let row = stored.get(id.as_str());
        let row = row.unwrap_or_else(|| panic!("{id} was acknowledged and is lost"));
        let current = row["value"]["rev"].as_str().unwrap();
        // The update that was under way at the kill may have been stored.
        assert!(
            current >= rev.as_str(),
            "{id}: {current}, acknowledged {rev}"
        );
        assert_eq!(row["doc"]["_rev"], *current, "{row}");
    }
    let changes = client.get("/ledger/_changes").expect_status(200).json();
    assert_eq!(changes["results"].as_array().unwrap().len(), rows.len());
    let info = client.get("/ledger").expect_status(200).json();
    assert_eq!(info["doc_count"], rows.len());
}

/// Kills a server with these settings again and again.
fn kill_while_writing(settings: &str) {
    let site = Site::new();
    configure(site.path(), settings);
    let mut server = site.serve();
    server
        .admin()
        .put("/ledger", &Value::Null)
        .expect_status(201);
    let mut acknowledged = Acknowledged::new();
    for round in 0..ROUNDS {
        acknowledged.extend(one_round(server, round, false));
        server = site.serve();
        check(&server, &acknowledged);
    }
    assert!(
        acknowledged.len() > 500,
        "only {} writes",
        acknowledged.len()
    );
}

#[test]
fn nothing_acknowledged_is_lost_by_kills() {
    kill_while_writing("");
}

/// The system has the bytes, whether they were synced or not.
#[test]
fn nothing_acknowledged_is_lost_by_kills_before_the_sync() {
    kill_while_writing("[couchdb]\ndurability = interval:60s\n");
}

/// Names of the files that the databases have, but for that of the users.
fn files(site: &Site) -> Vec<String> {
    let entries = std::fs::read_dir(site.path().join("databases")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('_')).collect()
}

#[test]
fn nothing_is_lost_by_kills_in_the_middle_of_compactions() {
    let site = Site::new();
    let mut server = site.serve();
    server
        .admin()
        .put("/ledger", &Value::Null)
        .expect_status(201);
    let (mut acknowledged, mut cut) = (Acknowledged::new(), 0);
    for round in 0..ROUNDS {
        acknowledged.extend(one_round(server, round, true));
        cut += usize::from(files(&site).len() > 1);
        server = site.serve();
        check(&server, &acknowledged);
        assert_eq!(files(&site), ["ledger.varve"], "round {round}");
    }
    assert!(cut >= 3, "only {cut} kills hit a compaction");
    let many = acknowledged.len();
    assert!(many > 500, "only {many} writes");
}

#[test]
fn a_view_is_right_after_a_kill_while_it_was_built() {
    let site = Site::new();
    let mut server = site.serve();
    let mut admin = server.admin();
    admin.put("/ledger", &Value::Null).expect_status(201);
    let map = "function (doc) { if (doc.n) emit(doc.n % 7, 1); }";
    let design = json!({"views": {"sevens": {"map": map, "reduce": "_sum"}}});
    admin.put("/ledger/_design/d", &design).expect_status(201);
    let mut count = 0;
    for round in 0..5_u64 {
        let docs: Vec<Value> = (0..2000).map(|n| json!({"n": n + 1})).collect();
        let mut admin = server.admin();
        admin
            .post("/ledger/_bulk_docs", &json!({"docs": docs}))
            .expect_status(201);
        count += 2000;
        let address = server.address().to_owned();
        let asker = std::thread::spawn(move || {
            let mut client = Client::new(&address).with_basic(ADMIN, PASSWORD);
            // Cut off by the kill, or answered before it.
            drop(client.request("GET", "/ledger/_design/d/_view/sevens", &[], b""));
        });
        std::thread::sleep(Duration::from_millis(5 + 15 * round));
        server.kill();
        asker.join().unwrap();
        server = site.serve();
    }
    let answer = server
        .admin()
        .get("/ledger/_design/d/_view/sevens")
        .expect_status(200);
    assert_eq!(answer.json()["rows"][0]["value"], count);
}
