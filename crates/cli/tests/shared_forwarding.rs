//! Servers of one store that do not write a database: they read for themselves, and forward what writes.

use crate::shared_owners::members;
use crate::shared_serving::{Scene, wait_until};
use serde_json::{Value, json};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use varve_shared::{Node, Placement};
use varve_testkit::http::Client;
use varve_testkit::varve::Server;

/// Id of a server that never was.
const GHOST: &str = "00000000000000000000000000000000";

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

/// A leader and another server, and the name of a database that the leader writes even when the other one has joined.
fn two_that_have_joined(scene: &Scene) -> (Server, Server, String) {
    let (leader, other) = two_servers(scene);
    wait_until("both can write", || members(&other, "cluster_nodes") == 2);
    let names = match scene.leader_id() == scene.node("one").id {
        true => ["one", "two"],
        false => ["two", "one"],
    };
    let database = scene.database_of(&names);
    (leader, other, database)
}

#[test]
fn reads_go_on_without_the_owner_and_writes_are_refused_until_there_is_another() {
    let scene = Scene::new();
    let (leader, standby, database) = two_that_have_joined(&scene);
    let mut client = standby.admin();
    let path = |below: &str| format!("/{database}{below}");
    client.put(&path(""), &Value::Null).expect_status(201);
    client.put(&path("/a"), &json!({})).expect_status(201);
    let feed = path("/_changes?feed=continuous&since=now&timeout=60000");
    let mut feed = standby.admin().send("GET", &feed, &[], b"").unwrap();
    leader.kill();
    let refused = client.put(&path("/b"), &json!({})).expect_status(503);
    assert_eq!(
        refused.header("retry-after"),
        Some("1"),
        "{}",
        refused.text()
    );
    for path in [
        &*path("/a"),
        &*path("/a?stale=ok"),
        &*path("/_all_docs"),
        "/_all_dbs",
        "/_session",
    ] {
        client.get(path).expect_status(200);
    }
    wait_until("the other server writes", || {
        client.put(&path("/b"), &json!({})).status == 201
    });
    let line = feed.line().unwrap().unwrap();
    assert!(line.contains("\"id\":\"b\""), "the feed goes on: {line}");
}

/// A server whose machine is gone closes no connection.
#[test]
fn a_write_to_an_owner_that_stands_still_ends_once_it_counts_as_dead() {
    let scene = Scene::new();
    let (leader, standby, database) = two_that_have_joined(&scene);
    let mut client = standby.admin();
    let path = |below: &str| format!("/{database}{below}");
    client.put(&path(""), &Value::Null).expect_status(201);
    leader.signal("STOP");
    let refused = client.put(&path("/a"), &json!({})).expect_status(503);
    assert!(refused.text().contains("is gone"), "{}", refused.text());
    client.put(&path("/b"), &json!({})).expect_status(201);
    wait_until("the other server leads", || {
        scene.leader() == standby.address()
    });
}

/// Heartbeats of a server that never was, at the address of another one, until the other side of the channel is dropped.
fn haunt(scene: &Scene, address: &str, is_over: &mpsc::Receiver<()>) {
    let beats = scene.path(&format!("store/cluster/node/{GHOST}-1"));
    std::fs::create_dir_all(&beats).unwrap();
    let text = format!("id = {GHOST}\naddress = {address}\nnonce = 00\n");
    let made_up = scene.path("made-up");
    // The third one may own databases.
    for number in 3.. {
        std::fs::write(&made_up, &text).unwrap();
        std::fs::rename(&made_up, format!("{beats}/{number:020}")).unwrap();
        let waited = is_over.recv_timeout(Duration::from_millis(100));
        if waited != Err(mpsc::RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// One of the servers sees itself where all others see a server that never was.
#[test]
fn a_request_that_servers_send_to_each_other_is_refused_in_the_end() {
    let scene = Scene::new();
    let names = ["one", "two", "three"];
    let servers = names.map(|name| scene.serve(name));
    let (end, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (scene, address) = (&scene, servers[1].address());
        scope.spawn(move || haunt(scene, address, &is_over));
        // Dropped also if a check fails.
        let _end = end;
        check_that_servers_disagree(scene, names, &servers[0]);
    });
}

fn check_that_servers_disagree(scene: &Scene, names: [&str; 3], through: &Server) {
    let ghost = Node {
        id: GHOST.to_owned(),
        address: "ghost".to_owned(),
    };
    let of = |ghost: Option<&Node>, database: &str| {
        let nodes = names.map(|name| scene.node(name));
        let placement = Placement::new(nodes.into_iter().chain(ghost.cloned()));
        placement.owner_of(database).unwrap().address.clone()
    };
    let is_passed_on =
        |database: &String| of(Some(&ghost), database) == "ghost" && of(None, database) != "two";
    let database = (0..)
        .map(|number| format!("x{number}"))
        .find(is_passed_on)
        .unwrap();
    let mut client = through.admin();
    let mut answer = client.put(&format!("/{database}"), &Value::Null);
    wait_until("it is sent around", || {
        answer = client.put(&format!("/{database}"), &Value::Null);
        answer.text().contains("do not agree")
    });
    assert_eq!(answer.status, 503);
}
