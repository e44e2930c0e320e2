//! Servers of one store that do not lead: they read for themselves, and forward what writes.

use crate::shared_serving::{Scene, wait_until};
use serde_json::{Value, json};
use std::thread;
use varve_testkit::http::Client;
use varve_testkit::varve::Server;

/// Refuses documents that do not name their author.
const VALIDATE: &str = "function (doc, old, user) { if (doc.by !== user.name) throw({forbidden: 'not ' + user.name}); }";

/// A leader, and a server that stands by.
fn two_servers(scene: &Scene) -> (Server, Server) {
    let servers = ["one", "two"].map(|name| scene.serve(name));
    wait_until("one of them leads", || {
        std::fs::exists(scene.path("store/cluster/leader")).unwrap()
    });
    let [one, two] = servers;
    match scene.leader() == one.address() {
        true => (one, two),
        false => (two, one),
    }
}

/// A client of a user of `_users` who has logged in at the server.
fn log_in_as_ann(server: &Server) -> Client {
    let ann = json!({"name": "ann", "password": "secret", "roles": [], "type": "user"});
    let mut admin = server.admin();
    admin
        .put("/_users/org.couchdb.user:ann", &ann)
        .expect_status(201);
    let login = json!({"name": "ann", "password": "secret"});
    let login = server.anonymous().post("/_session", &login);
    let cookie = login
        .expect_status(200)
        .header("set-cookie")
        .unwrap()
        .to_owned();
    let cookie = cookie.split(';').next().unwrap();
    server.anonymous().with_header("Cookie", cookie)
}

#[test]
fn a_server_that_stands_by_answers_like_the_leader() {
    let scene = Scene::new();
    let (leader, standby) = two_servers(&scene);
    let (mut at_leader, mut admin) = (leader.admin(), standby.admin());
    let made = admin.put("/x", &Value::Null).expect_status(201);
    let location = format!("http://{}/x", standby.address());
    assert_eq!(made.header("location"), Some(&*location));
    let mut ann = log_in_as_ann(&standby);
    let security = json!({"members": {"names": ["ann"], "roles": []}});
    admin.put("/x/_security", &security).expect_status(200);
    let design = json!({"by": "admin", "validate_doc_update": VALIDATE, "views": {"v": {"map": "function (doc) { emit(doc.by); }"}}});
    admin.put("/x/_design/d", &design).expect_status(201);
    // The leader knows the user, and only that one.
    ann.put("/x/a", &json!({"by": "ann"})).expect_status(201);
    let refused = ann.put("/x/b", &json!({"by": "bob"})).expect_status(403);
    assert!(refused.text().contains("not ann"), "{}", refused.text());
    standby
        .anonymous()
        .put("/x/c", &json!({}))
        .expect_status(401);
    for client in [&mut ann, &mut at_leader] {
        client.get("/x/a").expect_status(200);
    }
    let rows = ann.get("/x/_design/d/_view/v").expect_status(200).json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 1);
    at_leader
        .put("/x/l", &json!({"by": "admin"}))
        .expect_status(201);
    ann.get("/x/l").expect_status(200);
    check_attachment(&mut ann);
    check_feed(&mut at_leader, &standby);
    for forged in ["x.y", "eyJhdCI6MX0.AAAA"] {
        for client in [&mut at_leader, &mut admin] {
            let header = [("X-Varve-Forwarded", forged)];
            let answer = client.request("GET", "/x/a", &header, b"").unwrap();
            answer.expect_status(403);
        }
    }
    // Databases that are named without a URL are read and written with the login of the request.
    let copy = json!({"source": "x", "target": "copy", "create_target": true});
    admin.post("/_replicate", &copy).expect_status(200);
    at_leader.get("/copy/l").expect_status(200);
    admin.delete("/x").expect_status(200);
    at_leader.get("/x").expect_status(404);
    ann.get("/x").expect_status(404);
}

/// A body that is longer than what is on its way between the servers at a time.
fn check_attachment(ann: &mut Client) {
    let bytes: Vec<u8> = (0..3_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let rev = ann.get("/x/a").json()["_rev"].as_str().unwrap().to_owned();
    let path = format!("/x/a/data?rev={rev}");
    let kind = [("Content-Type", "application/octet-stream")];
    let stored = ann.request("PUT", &path, &kind, &bytes).unwrap();
    stored.expect_status(201);
    let read = ann.get("/x/a/data").expect_status(200);
    assert!(read.body == bytes);
}

/// A feed of the server that stands by sees what is written through the other one, and goes on.
fn check_feed(at_leader: &mut Client, standby: &Server) {
    let path = "/x/_changes?feed=continuous&since=now&timeout=60000";
    let mut feed = standby.admin().send("GET", path, &[], b"").unwrap();
    for id in ["f1", "f2"] {
        let writing = thread::spawn({
            let mut client = standby.admin();
            move || client.put(&format!("/x/{id}"), &json!({"by": "admin"}))
        });
        writing.join().unwrap().expect_status(201);
        let line = feed.line().unwrap().unwrap();
        assert!(line.contains(&format!("\"id\":\"{id}\"")), "{line}");
        at_leader.get(&format!("/x/{id}")).expect_status(200);
    }
}

#[test]
fn reads_go_on_without_a_leader_and_writes_are_refused_until_there_is_one() {
    let scene = Scene::new();
    let (leader, standby) = two_servers(&scene);
    let mut client = standby.admin();
    client.put("/x", &Value::Null).expect_status(201);
    client.put("/x/a", &json!({})).expect_status(201);
    let feed = "/x/_changes?feed=continuous&since=now&timeout=60000";
    let mut feed = standby.admin().send("GET", feed, &[], b"").unwrap();
    leader.kill();
    let refused = client.put("/x/b", &json!({})).expect_status(503);
    assert_eq!(
        refused.header("retry-after"),
        Some("1"),
        "{}",
        refused.text()
    );
    for path in [
        "/x/a",
        "/x/a?stale=ok",
        "/x/_all_docs",
        "/_all_dbs",
        "/_session",
    ] {
        client.get(path).expect_status(200);
    }
    wait_until("the other server leads", || {
        client.put("/x/b", &json!({})).status == 201
    });
    let line = feed.line().unwrap().unwrap();
    assert!(line.contains("\"id\":\"b\""), "the feed goes on: {line}");
}

/// A leader whose machine is gone closes no connection.
#[test]
fn a_write_to_a_leader_that_stands_still_ends_once_another_leads() {
    let scene = Scene::new();
    let (leader, standby) = two_servers(&scene);
    let mut client = standby.admin();
    client.put("/x", &Value::Null).expect_status(201);
    leader.signal("STOP");
    let refused = client.put("/x/a", &json!({})).expect_status(503);
    assert!(
        refused.text().contains("begun to lead"),
        "{}",
        refused.text()
    );
    assert_eq!(scene.leader(), standby.address());
    client.put("/x/b", &json!({})).expect_status(201);
}

#[test]
fn a_server_that_is_taken_for_the_leader_forwards_nothing_again() {
    let scene = Scene::new();
    // Time enough before one of them leads in place of the leader that is none.
    let servers = ["one", "two", "three"].map(|name| scene.serve_with_takeover(name, "5"));
    servers[0]
        .admin()
        .put("/x", &Value::Null)
        .expect_status(201);
    let leader = scene.leader();
    let mut standing_by = servers.iter().filter(|server| server.address() != leader);
    let (first, second) = (standing_by.next().unwrap(), standing_by.next().unwrap());
    let term = std::fs::read_dir(scene.path("store/cluster/leader"))
        .unwrap()
        .count()
        + 1;
    let (id, address) = ("0".repeat(32), second.address());
    let text = format!("id = {id}\naddress = {address}\nnonce = 00\n");
    std::fs::write(scene.path("record"), text).unwrap();
    let record = scene.path(&format!("store/cluster/leader/{term:020}"));
    std::fs::rename(scene.path("record"), record).unwrap();
    let mut client = first.admin();
    let mut answer = client.put("/x/a", &json!({}));
    wait_until("it is forwarded to the wrong server", || {
        answer = client.put("/x/a", &json!({}));
        answer.text().contains("only once")
    });
    assert_eq!(answer.status, 503);
}
