//! Compaction as a client sees it.

use crate::client::{ADMIN, Connection, Running};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const JSON: (&str, &str) = ("content-type", "application/json");
/// Far more than any of this takes.
const LIMIT: Duration = Duration::from_secs(120);

pub fn call(connection: &mut Connection, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let reply = connection.send(method, path, &[ADMIN, JSON], &body);
    assert!(
        reply.status < 300,
        "{method} {path}: {} {}",
        reply.status,
        reply.body
    );
    serde_json::from_str(&reply.body).unwrap()
}

/// A database whose documents were updated `updates` times, with a view.
fn fill(connection: &mut Connection, documents: usize, updates: usize) {
    call(connection, "PUT", "/db", &Value::Null);
    let map = "function (doc) { emit(doc.n, doc.round); }";
    let design = json!({"views": {"v": {"map": map, "reduce": "_sum"}}});
    call(connection, "PUT", "/db/_design/d", &design);
    let mut revs = vec![None; documents];
    for round in 0..=updates {
        let docs = revs.iter().enumerate().map(|(number, rev)| {
            let text = format!("{number} in round {round} ").repeat(20);
            let mut doc =
                json!({"_id": format!("{number:06}"), "n": number, "round": round, "text": text});
            if let Some(rev) = rev {
                doc["_rev"] = json!(rev);
            }
            doc
        });
        let docs: Vec<_> = docs.collect();
        let answer = call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
        for (rev, item) in revs.iter_mut().zip(answer.as_array().unwrap()) {
            *rev = Some(item["rev"].as_str().unwrap().to_owned());
        }
    }
}

fn info(connection: &mut Connection) -> Value {
    call(connection, "GET", "/db", &Value::Null)
}

/// Asks until the answer is as wished.
pub fn until(connection: &mut Connection, path: &str, wish: impl Fn(&Value) -> bool) -> Value {
    let begin = Instant::now();
    loop {
        let answer = call(connection, "GET", path, &Value::Null);
        if wish(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < LIMIT, "{path}: {answer}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn all(connection: &mut Connection) -> [Value; 4] {
    [
        "/db/_all_docs?include_docs=true&conflicts=true",
        "/db/_changes?style=all_docs&include_docs=true",
        "/db/_local_docs?include_docs=true",
        "/db/_design/d/_view/v?reduce=false",
    ]
    .map(|path| call(connection, "GET", path, &Value::Null))
}

fn names(server: &Running) -> Vec<String> {
    let entries = std::fs::read_dir(server.directory.path().join("databases")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_database_is_smaller_afterwards_and_says_the_same() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 200, 10);
    call(
        &mut connection,
        "PUT",
        "/db/_local/l",
        &json!({"here": true}),
    );
    let before = (all(&mut connection), info(&mut connection));
    let index = call(&mut connection, "GET", "/db/_design/d/_info", &Value::Null);
    let asked = connection.send("POST", "/db/_compact", &[ADMIN, JSON], "");
    assert_eq!(
        (asked.status, asked.body.as_str()),
        (202, "{\"ok\":true}\n")
    );
    until(&mut connection, "/db", |info| {
        info["compact_running"] == false
    });
    let after = (all(&mut connection), info(&mut connection));
    assert_eq!(after.0, before.0);
    let index_after = call(&mut connection, "GET", "/db/_design/d/_info", &Value::Null);
    assert_eq!(index_after, index, "the index needs nothing done");
    let sizes = |info: &Value, name: &str| info["sizes"][name].as_u64().unwrap();
    let (old, new) = (sizes(&before.1, "file"), sizes(&after.1, "file"));
    assert!(new * 3 < old, "{old} bytes, then {new}");
    assert!(sizes(&after.1, "active") <= new && sizes(&after.1, "active") * 2 > new);
    for name in [
        "update_seq",
        "purge_seq",
        "doc_count",
        "instance_start_time",
    ] {
        assert_eq!(after.1[name], before.1[name], "{name}");
    }
    assert_eq!(sizes(&after.1, "external"), sizes(&before.1, "external"));
    assert_eq!(names(&server), ["db.varve"]);
    let old = call(
        &mut connection,
        "GET",
        "/db/000007?revs_info=true",
        &Value::Null,
    );
    let revisions = old["_revs_info"].as_array().unwrap();
    assert_eq!(revisions[0]["status"], "available");
    assert_eq!(
        (revisions.len(), &revisions[1]["status"]),
        (11, &json!("missing"))
    );
}

/// Documents of about 1 KB that hardly become shorter.
fn cold(connection: &mut Connection, count: usize) {
    let docs = (0..count).map(|number| {
        let noise = varve_testkit::repos::noise(500, number as u32 + 1);
        let text: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({"_id": format!("cold-{number:05}"), "text": text})
    });
    let docs: Vec<_> = docs.collect();
    call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
}

/// Bytes that the disk keeps for the database, and its length.
fn on_disk(server: &Running) -> (u64, u64) {
    let path = server.directory.path().join("databases/db.varve");
    let found = std::fs::metadata(path).unwrap();
    (found.blocks() * 512, found.len())
}

#[test]
fn a_large_database_gives_room_back_where_it_is() {
    let server = Running::start_with("[compaction]\nin_place_from = 1mb\nshare = 90\n");
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 100, 0);
    cold(&mut connection, 6000);
    let mut rev = Value::Null;
    for round in 0..25 {
        let noise = varve_testkit::repos::noise(60_000, round + 1);
        let text: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut hot = json!({"text": text});
        if !rev.is_null() {
            hot["_rev"] = rev;
        }
        rev = call(&mut connection, "PUT", "/db/hot", &hot)["rev"].clone();
    }
    let sizes = |connection: &mut Connection| {
        let sizes = info(connection)["sizes"].clone();
        ["file", "active"].map(|name| sizes[name].as_u64().unwrap())
    };
    let inode = |server: &Running| {
        let path = server.directory.path().join("databases/db.varve");
        std::fs::metadata(path).unwrap().ino()
    };
    let before = (all(&mut connection), sizes(&mut connection), inode(&server));
    assert!(before.1[0] > before.1[1] + 1_000_000, "{:?}", before.1);
    call(&mut connection, "POST", "/db/_compact", &Value::Null);
    until(&mut connection, "/db", |info| {
        info["compact_running"] == false
    });
    let [file, active] = sizes(&mut connection);
    assert!(file < active + 900_000, "{file} bytes for {active}");
    assert_eq!(all(&mut connection), before.0);
    let (taken, len) = on_disk(&server);
    if inode(&server) == before.2 {
        assert!(len > before.1[0], "it only grew");
        // The system keeps whole blocks, and perhaps some more behind the end.
        assert!(taken < file + 300_000, "{taken} on the disk, {file} said");
    } else {
        // No holes on this file system.
        assert_eq!(len, file);
    }
    let server = server.restart(|_| {});
    let mut connection = Connection::open(server.address);
    assert_eq!(all(&mut connection), before.0);
    assert_eq!(sizes(&mut connection)[0], file);
}

#[test]
fn an_index_is_compacted_on_its_own() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 100, 0);
    let rows = "/db/_design/d/_view/v?reduce=false";
    follow(&mut connection, 20);
    let before = call(&mut connection, "GET", rows, &Value::Null);
    let info = |connection: &mut Connection| {
        let path = "/db/_design/d/_info";
        let found = until(connection, path, |it| {
            it["view_index"]["compact_running"] == false
        });
        found["view_index"]["sizes"]["file"].as_u64().unwrap()
    };
    let old = info(&mut connection);
    let asked = call(&mut connection, "POST", "/db/_compact/d", &Value::Null);
    assert_eq!(asked, json!({"ok": true}));
    let new = info(&mut connection);
    assert!(new * 3 < old, "{old} bytes, then {new}");
    assert_eq!(call(&mut connection, "GET", rows, &Value::Null), before);
    let none = connection.send("POST", "/db/_compact/none", &[ADMIN, JSON], "");
    assert_eq!(none.status, 404);
}

#[test]
fn only_admins_may_ask_and_only_in_json() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let security = json!({"members": {"roles": []}, "admins": {"roles": ["_admin"]}});
    call(&mut connection, "PUT", "/db/_security", &security);
    let status =
        |headers: &[(&str, &str)], path: &str| server.send("POST", path, headers, "").status;
    assert_eq!(status(&[JSON], "/db/_compact"), 401);
    assert_eq!(status(&[JSON], "/db/_compact/d"), 401);
    assert_eq!(status(&[ADMIN], "/db/_compact"), 415);
    assert_eq!(
        status(&[ADMIN, ("content-type", "text/plain")], "/db/_compact"),
        415
    );
    assert_eq!(status(&[ADMIN, JSON], "/none/_compact"), 404);
    assert_eq!(status(&[ADMIN, JSON], "/db/_compact"), 202);
    let wrong = server.send("GET", "/db/_compact", &[ADMIN], "");
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
}

#[test]
fn a_running_compaction_is_a_task() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 8000, 1);
    // It is quick, so it may have to be caught several times.
    for _ in 0..50 {
        call(&mut connection, "POST", "/db/_compact", &Value::Null);
        assert_eq!(info(&mut connection)["db_name"], "db");
        let mut tasks = Vec::new();
        while info(&mut connection)["compact_running"] == true {
            let listed = call(&mut connection, "GET", "/_active_tasks", &Value::Null);
            tasks.extend(listed.as_array().unwrap().clone());
        }
        let Some(task) = tasks.last() else { continue };
        assert_eq!(task["type"], "database_compaction");
        assert_eq!(task["database"], "db");
        let phases = ["document_copy", "docid_sort", "docid_copy"];
        assert!(phases.iter().any(|phase| task["phase"] == *phase), "{task}");
        for name in [
            "changes_done",
            "total_changes",
            "progress",
            "started_on",
            "updated_on",
        ] {
            assert!(task[name].is_u64(), "{name}: {task}");
        }
        return;
    }
    panic!("no task was ever seen");
}

#[test]
fn a_server_that_stops_leaves_no_half_copy() {
    let mut server = Running::start();
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 8000, 1);
    call(&mut connection, "POST", "/db/_compact", &Value::Null);
    drop(connection);
    server.stop();
    assert_eq!(names(&server), ["db.varve"]);
}

#[test]
fn databases_are_compacted_by_themselves() {
    let settings = "[smoosh]\nwait_secs = 0\n[smoosh.ratio_dbs]\nmin_size = 20000\n";
    let server = Running::start_with(settings);
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 100, 30);
    let small = |info: &Value| {
        let size = |name: &str| info["sizes"][name].as_u64().unwrap();
        size("file") < 2 * size("active") && info["compact_running"] == false
    };
    until(&mut connection, "/db", small);
    let rows = call(&mut connection, "GET", "/db/_all_docs", &Value::Null);
    assert_eq!(rows["total_rows"], 101);
    assert_eq!(names(&server), ["db.varve"]);

    let off = format!("[smoosh]\nwait_secs = 0\ndb_channels = none\n{SMALL_VIEWS}");
    let server = Running::start_with(&off);
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 100, 30);
    follow(&mut connection, 30);
    wait_for_compaction_of_index(&mut connection);
    assert!(!small(&info(&mut connection)), "it was switched off");
}

/// Has small indexes compacted by themselves.
const SMALL_VIEWS: &str = "[smoosh.ratio_views]\nmin_size = 20000\n";

fn is_compacted(info: &Value) -> bool {
    let index = &info["view_index"];
    let size = index["sizes"]["file"].as_u64().unwrap();
    size < 20_000 && index["compact_running"] == false
}

/// Makes a database with old revisions, and waits until it was compacted by itself.
fn have_compacted(connection: &mut Connection, name: &str) {
    call(connection, "PUT", &format!("/{name}"), &Value::Null);
    let mut document = json!({});
    for round in 0..40 {
        let noise = varve_testkit::repos::noise(1000, round + 1);
        let text: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
        document["text"] = json!(text);
        let answer = call(connection, "PUT", &format!("/{name}/d"), &document);
        document["_rev"] = answer["rev"].clone();
    }
    // 40 bodies of 1000 random bytes are more than that.
    until(connection, &format!("/{name}"), |info| {
        info["sizes"]["file"].as_u64().unwrap() < 20_000 && info["compact_running"] == false
    });
}

/// Waits until an index was compacted by itself. Its database was looked at before, and would have been compacted
/// before.
fn wait_for_compaction_of_index(connection: &mut Connection) {
    until(connection, "/db/_design/d/_info", is_compacted);
}

/// Two hours for compactions, UTC, around now or some time from now.
fn hours(are_now: bool) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = now.as_secs() / 60;
    let from = if are_now { now - 60 } else { now + 120 };
    let at = |minute: u64| format!("{:02}:{:02}", minute / 60 % 24, minute % 60);
    format!("from = {}\nto = {}\n", at(from), at(from + 120))
}

#[test]
fn compactions_begin_by_themselves_in_their_hours() {
    for are_now in [true, false] {
        let settings = format!(
            "[smoosh]\nwait_secs = 0\n{SMALL_VIEWS}[smoosh.ratio_dbs]\nmin_size = 20000\n{}",
            hours(are_now)
        );
        let server = Running::start_with(&settings);
        let mut connection = Connection::open(server.address);
        fill(&mut connection, 100, 30);
        let small = |info: &Value| {
            let size = |name: &str| info["sizes"][name].as_u64().unwrap();
            size("file") < 2 * size("active") && info["compact_running"] == false
        };
        if are_now {
            until(&mut connection, "/db", small);
        } else {
            follow(&mut connection, 30);
            wait_for_compaction_of_index(&mut connection);
            assert!(!small(&info(&mut connection)), "{settings}");
            // A compaction that a client asks for has no hours.
            call(&mut connection, "POST", "/db/_compact", &Value::Null);
            until(&mut connection, "/db", small);
        }
    }
}

/// Edits a hundred documents in each round, and has a view follow; its index then has much garbage.
fn follow(connection: &mut Connection, rounds: u64) {
    for round in 1..rounds {
        let docs = call(
            connection,
            "GET",
            "/db/_all_docs?include_docs=true&limit=100",
            &Value::Null,
        );
        let docs = docs["rows"].as_array().unwrap().iter().map(|row| {
            let mut doc = row["doc"].clone();
            doc["n"] = json!(round * 1000);
            doc
        });
        let docs: Vec<_> = docs.collect();
        call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
        // A view that is reduced keeps few changes in memory.
        call(connection, "GET", "/db/_design/d/_view/v", &Value::Null);
    }
}

#[test]
fn indexes_are_compacted_by_themselves() {
    let settings = format!("[smoosh]\nwait_secs = 0\ndb_channels = none\n{SMALL_VIEWS}");
    let server = Running::start_with(&settings);
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 300, 0);
    follow(&mut connection, 30);
    wait_for_compaction_of_index(&mut connection);
    let rows = "/db/_design/d/_view/v?reduce=false";
    let rows = call(&mut connection, "GET", rows, &Value::Null);
    assert_eq!(rows["total_rows"], 300);

    let off =
        "[smoosh]\nwait_secs = 0\nview_channels = none\n[smoosh.ratio_dbs]\nmin_size = 20000\n";
    let server = Running::start_with(off);
    let mut connection = Connection::open(server.address);
    fill(&mut connection, 300, 0);
    follow(&mut connection, 30);
    // The index would be compacted in the round of the first of these databases at the latest, which is over when
    // the second one is compacted.
    for name in ["first", "second"] {
        have_compacted(&mut connection, name);
    }
    let info = call(&mut connection, "GET", "/db/_design/d/_info", &Value::Null);
    assert!(!is_compacted(&info), "it was switched off: {info}");
}
