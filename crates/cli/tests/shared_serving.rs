//! `varve serve --shared`: real processes whose databases are in one store.

use crate::VARVE;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use varve_shared::{Node, Placement};
use varve_testkit::http::Client;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

/// Settings without which each login would take long in a build for tests.
const QUICK: &str = "[chttpd_auth]\niterations = 2\n";
/// Time after which a server may take a database back.
const HOLD_OFF: Duration = Duration::from_secs(5);
const WRITERS: usize = 3;

pub(crate) struct Scene(tempfile::TempDir);

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn store(&self) -> String {
        format!("file://{}", self.path("store"))
    }

    /// Serves a directory of this name with the store.
    pub(crate) fn serve(&self, name: &str) -> Server {
        self.serve_with_takeover(name, "1")
    }

    /// The same with a take-over time in seconds.
    pub(crate) fn serve_with_takeover(&self, name: &str, takeover: &str) -> Server {
        let directory = self.0.path().join(name);
        if !directory.exists() {
            configure(&directory, QUICK);
        }
        let options = ["--takeover", takeover, "--shared", &self.store()];
        let started = Server::start_with(VARVE, &directory, &options);
        started.unwrap_or_else(|ended| panic!("no start: {}", ended.printed))
    }

    /// Runs `varve` and returns its exit code and output.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(VARVE).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }
}

/// Writes documents until an answer fails; returns the numbers of those that were acknowledged.
fn write_until_killed(mut client: Client, writer: usize, has_begun: &AtomicBool) -> Vec<usize> {
    let json = [("Content-Type", "application/json")];
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let path = format!("/load/{writer}-{number}");
        match client.request("PUT", &path, &json, b"{}") {
            Ok(answer) if answer.status == 201 => acknowledged.push(number),
            Ok(answer) => panic!("{} {}", answer.status, answer.text()),
            Err(_) => break,
        }
        if number == 5 {
            has_begun.store(true, Ordering::SeqCst);
        }
    }
    acknowledged
}

/// Makes databases with all that a database has; returns a cookie of a user.
fn fill(client: &mut Client) -> String {
    for name in ["a%2Fb", "gone", "again", "load"] {
        client
            .put(&format!("/{name}"), &Value::Null)
            .expect_status(201);
    }
    client.put("/again/old", &json!({})).expect_status(201);
    for name in ["gone", "again"] {
        client.delete(&format!("/{name}")).expect_status(200);
        client.get(&format!("/{name}")).expect_status(404);
    }
    client.put("/again", &Value::Null).expect_status(201);
    client.put("/again", &Value::Null).expect_status(412);
    let view = "function (doc) { emit(doc._id, 1); }";
    let design = json!({"views": {"v": {"map": view, "reduce": "_count"}}});
    client.put("/a%2Fb/_design/d", &design).expect_status(201);
    let attachment = json!({"content_type": "text/plain", "data": "c2VkaW1lbnQ="});
    let document = json!({"_attachments": {"text": attachment}});
    client.put("/a%2Fb/doc", &document).expect_status(201);
    client
        .put("/a%2Fb/_local/l", &json!({"n": 1}))
        .expect_status(201);
    let security = json!({"admins": {"names": ["ann"], "roles": []}, "members": {"names": ["ann"], "roles": []}});
    client.put("/a%2Fb/_security", &security).expect_status(200);
    client
        .post("/a%2Fb/_compact", &json!({}))
        .expect_status(202);
    let ann = json!({"name": "ann", "password": "secret", "roles": [], "type": "user"});
    client
        .put("/_users/org.couchdb.user:ann", &ann)
        .expect_status(201);
    let login = client.post("/_session", &json!({"name": "ann", "password": "secret"}));
    let cookie = login
        .expect_status(200)
        .header("set-cookie")
        .unwrap()
        .to_owned();
    cookie.split(';').next().unwrap().to_owned()
}

fn check_filled(server: &Server, cookie: &str) {
    let mut client = server.admin();
    let names = client.get("/_all_dbs").expect_status(200).json();
    assert_eq!(
        names,
        json!(["_replicator", "_users", "a/b", "again", "load"])
    );
    let counted = client
        .get("/a%2Fb/_design/d/_view/v")
        .expect_status(200)
        .json();
    assert_eq!(counted["rows"][0]["value"], 1);
    let text = client.get("/a%2Fb/doc/text").expect_status(200).text();
    assert_eq!(text, "sediment");
    assert_eq!(client.get("/a%2Fb/_local/l").json()["n"], 1);
    client.get("/again/old").expect_status(404);
    client.get("/gone").expect_status(404);
    // The user, the key of the cookie and the security object are those of the server before.
    let mut ann = server.anonymous().with_header("Cookie", cookie);
    assert_eq!(ann.get("/_session").json()["userCtx"]["name"], "ann");
    ann.get("/a%2Fb/doc").expect_status(200);
    server.anonymous().get("/a%2Fb/doc").expect_status(401);
}

#[test]
fn a_server_that_was_killed_and_lost_its_directory_has_all_that_it_acknowledged() {
    let scene = Scene::new();
    let first = scene.serve("first");
    let mut client = first.admin();
    let cookie = fill(&mut client);
    let identity = client.get("/").json()["uuid"].clone();
    client.put("/load/before", &json!({})).expect_status(201);
    let before = client.get("/load/_changes").expect_status(200).json();
    let has_begun = AtomicBool::new(false);
    let acknowledged: Vec<Vec<usize>> = thread::scope(|scope| {
        let write = |writer| {
            let (client, has_begun) = (first.admin(), &has_begun);
            scope.spawn(move || write_until_killed(client, writer, has_begun))
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        while !has_begun.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(100));
        first.kill();
        writers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    std::fs::remove_dir_all(scene.path("first")).unwrap();
    let second = scene.serve("second");
    check_filled(&second, &cookie);
    let mut client = second.admin();
    assert_eq!(client.get("/").json()["uuid"], identity);
    for (writer, numbers) in acknowledged.iter().enumerate() {
        for number in numbers {
            client
                .get(&format!("/load/{writer}-{number}"))
                .expect_status(200);
        }
    }
    // A feed goes on behind the last change that a client knows.
    let since = before["last_seq"].as_str().unwrap();
    let later = client.get(&format!("/load/_changes?since={since}")).json();
    let later = later["results"].as_array().unwrap();
    let count = acknowledged.iter().map(Vec::len).sum::<usize>();
    assert!(later.len() >= count && later.iter().all(|row| row["id"] != "before"));
    second.stop("TERM");
    let (code, said) = scene.run(&["shared", "verify", &scene.store()]);
    assert_eq!(code, Some(0), "{said}");
}

/// A longpoll feed of the database `x` from its end; its thread returns the last line.
fn wait_for_change(server: &Server) -> thread::JoinHandle<String> {
    let mut client = server.admin();
    let since = client.get("/x").json()["update_seq"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/x/_changes?feed=longpoll&timeout=60000&since={since}");
    thread::spawn(move || client.get(&path).expect_status(200).text())
}

/// `varve shared put` takes a database over, as another server would: what was lost is neither read nor acknowledged, and is
/// taken back later.
#[test]
fn a_database_that_another_process_takes_over_is_given_up_for_a_while() {
    let scene = Scene::new();
    let (store, directory) = (scene.store(), scene.path("local"));
    let local = Server::start(VARVE, Path::new(&directory));
    for name in ["x", "copied"] {
        local
            .admin()
            .put(&format!("/{name}"), &Value::Null)
            .expect_status(201);
        local
            .admin()
            .put(&format!("/{name}/copy"), &json!({}))
            .expect_status(201);
    }
    local.stop("TERM");
    let server = scene.serve("one");
    let mut client = server.admin();
    client.put("/x", &Value::Null).expect_status(201);
    client.put("/x/first", &json!({})).expect_status(201);
    let feed = wait_for_change(&server);
    let (code, said) = scene.run(&["shared", "put", &store, &directory, "x"]);
    assert_eq!(code, Some(0), "{said}");
    let lost = Instant::now();
    for answer in [client.put("/x/second", &json!({})), client.get("/x/first")] {
        let answer = answer.expect_status(503);
        assert_eq!(answer.header("retry-after"), Some("5"), "{}", answer.text());
    }
    assert!(
        feed.join().unwrap().contains("\"results\":[\n]"),
        "its feed has ended"
    );
    assert!(lost.elapsed() < HOLD_OFF, "by itself");
    check_copies(&scene, &mut client);
    let mut answer = client.get("/x/copy");
    wait_until("the database is taken back", || {
        answer = client.get("/x/copy");
        answer.status != 503
    });
    answer.expect_status(200);
    assert!(
        lost.elapsed() >= HOLD_OFF,
        "it is left to the other for a while"
    );
    client.get("/x/second").expect_status(404);
    client.put("/x/third", &json!({})).expect_status(201);
}

/// A copy that `varve shared put` makes is a database of the servers; what they do not have is refused by name.
fn check_copies(scene: &Scene, client: &mut Client) {
    let (store, directory) = (scene.store(), scene.path("local"));
    for _ in 0..2 {
        let (code, said) = scene.run(&["shared", "put", &store, &directory, "copied"]);
        assert_eq!(code, Some(0), "{said}");
    }
    client.get("/copied/copy").expect_status(200);
    client.delete("/copied").expect_status(200);
    let names = client.get("/_all_dbs").expect_status(200).json();
    assert_eq!(names, json!(["_replicator", "_users", "x"]));
    for (name, value) in [
        ("chttpd_auth/secret", "other"),
        ("couchdb/durability", "interval:100ms"),
    ] {
        let path = format!("/_node/_local/_config/{name}");
        client.put(&path, &json!(value)).expect_status(400);
    }
    let other = scene.path("other");
    for (arguments, words) in [
        (
            vec![&*directory, "--shared", &*store],
            "databases is not empty",
        ),
        (
            vec![&*directory, "--shared", "gs://bucket"],
            "gs://bucket is no store",
        ),
        (
            vec![&*other, "--shared", &*store, "-a", "any"],
            "with --advertise",
        ),
        (vec![&*other, "--takeover", "9"], "--shared"),
    ] {
        let (code, said) = scene.run(&[&["serve", "-p", "0"], &*arguments].concat());
        assert!(
            said.contains(words) && code != Some(0),
            "{arguments:?}: {said}"
        );
    }
}

fn admin_at(address: &str) -> Client {
    Client::new(address).with_basic(ADMIN, PASSWORD)
}

/// Writes through one server, connecting again when it was cut, until `is_over`; returns the ids that were acknowledged.
fn write_through(address: &str, is_over: &AtomicBool) -> Vec<String> {
    let json = [("Content-Type", "application/json")];
    let mut client = admin_at(address);
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("{address}-{number}");
        match client.request("PUT", &format!("/x/{id}"), &json, b"{}") {
            Ok(answer) if answer.status == 201 => acknowledged.push(id),
            _ => {
                client = admin_at(address);
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
    acknowledged
}

/// Follows the changes through one server, and sees that none comes twice or out of order.
fn follow_changes(address: &str, is_over: &AtomicBool) -> BTreeSet<String> {
    let (mut since, mut last, mut seen) = ("0".to_owned(), 0, BTreeSet::new());
    while !is_over.load(Ordering::SeqCst) {
        let path = format!("/x/_changes?feed=longpoll&timeout=200&since={since}");
        let answer = admin_at(address).request("GET", &path, &[], b"");
        let Some(answer) = answer.ok().filter(|answer| answer.status == 200) else {
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        // One that was cut has no whole object.
        let Ok(changes) = serde_json::from_slice::<Value>(&answer.body) else {
            continue;
        };
        for row in changes["results"].as_array().unwrap() {
            let number = row["seq"].as_str().unwrap().split('-').next().unwrap();
            let number: u64 = number.parse().unwrap();
            assert!(number > last, "the feed went back from {last} to {number}");
            last = number;
            assert!(
                seen.insert(row["id"].as_str().unwrap().to_owned()),
                "{row} came twice"
            );
        }
        changes["last_seq"].as_str().unwrap().clone_into(&mut since);
    }
    seen
}

impl Scene {
    /// Address of the newest leader.
    pub(crate) fn leader(&self) -> String {
        self.of_leader("address = ")
    }

    /// Id of the newest leader.
    pub(crate) fn leader_id(&self) -> String {
        self.of_leader("id = ")
    }

    fn of_leader(&self, member: &str) -> String {
        let leaders = std::fs::read_dir(self.path("store/cluster/leader")).unwrap();
        let newest = leaders.map(|entry| entry.unwrap().path()).max().unwrap();
        let text = std::fs::read_to_string(newest).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(member));
        value.unwrap().to_owned()
    }

    /// The server of a store that serves the directory of this name.
    pub(crate) fn node(&self, name: &str) -> Node {
        let id = std::fs::read_to_string(self.path(&format!("{name}/varve.node"))).unwrap();
        let address = name.to_owned();
        Node { id, address }
    }

    /// The name of a database that the first of these servers writes while all of them are alive, and no other.
    pub(crate) fn database_of(&self, names: &[&str]) -> String {
        let placement = Placement::new(names.iter().map(|name| self.node(name)));
        let is_its = |database: &String| {
            let owner = placement.owner_of(database).unwrap();
            owner.address == names[0]
        };
        (0..)
            .map(|number| format!("x{number}"))
            .find(is_its)
            .unwrap()
    }

    /// Waits until one of the servers leads and answers; returns its place among them.
    fn wait_for_leader(&self, servers: &[Option<Server>]) -> usize {
        let mut found = None;
        wait_until("a server leads", || {
            let leader = self.leader();
            let is_leader =
                |it: &Option<Server>| it.as_ref().is_some_and(|it| it.address() == leader);
            found = servers.iter().position(is_leader);
            found.is_some_and(|at| is_answering(servers[at].as_ref().unwrap()))
        });
        found.unwrap()
    }
}

fn is_answering(server: &Server) -> bool {
    let answer = server.admin().request("GET", "/x", &[], b"");
    answer.is_ok_and(|answer| answer.status == 200)
}

/// Kills two leaders in turns; the first server comes back, with its directory and at another address, and stands by.
fn kill_leaders(scene: &Scene, running: &mut [Option<Server>; 3]) {
    let mut leading = scene.wait_for_leader(running);
    for _ in 0..2 {
        let killed = running[leading].take().unwrap();
        drop(killed.kill());
        let since = Instant::now();
        leading = scene.wait_for_leader(running);
        let millis = since.elapsed().as_millis();
        println!("another server leads {millis} ms after a kill");
        thread::sleep(Duration::from_millis(500));
        if running[0].is_none() {
            running[0] = Some(scene.serve("one"));
        }
    }
}

/// Three servers, of which two leaders are killed in turns under load through all of them.
#[test]
fn acknowledged_writes_survive_the_loss_of_leaders() {
    let scene = Scene::new();
    let servers = ["one", "two", "three"].map(|name| scene.serve(name));
    servers[2]
        .admin()
        .put("/x", &Value::Null)
        .expect_status(201);
    assert_eq!(scene.leader(), servers[0].address(), "the first one leads");
    let addresses = servers.each_ref().map(|server| server.address().to_owned());
    let (is_over, mut running) = (AtomicBool::new(false), servers.map(Some));
    let (acknowledged, seen) = thread::scope(|scope| {
        let write = |address| {
            let is_over = &is_over;
            scope.spawn(move || write_through(address, is_over))
        };
        let writers = addresses.each_ref().map(|address| write(address));
        let follower = scope.spawn(|| follow_changes(&addresses[2], &is_over));
        thread::sleep(Duration::from_millis(500));
        kill_leaders(&scene, &mut running);
        is_over.store(true, Ordering::SeqCst);
        let acknowledged = writers.map(|writer| writer.join().unwrap());
        (acknowledged.concat(), follower.join().unwrap())
    });
    let through = running.iter().flatten().next().unwrap();
    let there = all_ids(through);
    for id in &acknowledged {
        assert!(there.contains(id), "{id} was acknowledged and is lost");
    }
    println!("{} writes were acknowledged", acknowledged.len());
    assert!(acknowledged.len() > 10 && seen.is_subset(&there) && !seen.is_empty());
    let leading = scene.wait_for_leader(&running);
    check_paused_leader(&scene, running, leading);
}

fn all_ids(server: &Server) -> BTreeSet<String> {
    let rows = server.admin().get("/x/_all_docs").expect_status(200).json();
    let rows = rows["rows"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A leader that stood still while another took over answers nothing old, acknowledges nothing that is lost, and ends.
fn check_paused_leader(scene: &Scene, mut running: [Option<Server>; 3], paused: usize) {
    let mut leader = running[paused].take().unwrap();
    leader.signal("STOP");
    let next = scene.wait_for_leader(&running);
    let next = running[next].as_ref().unwrap();
    let json = [("Content-Type", "application/json")];
    // Until it knows itself that it leads, it refuses what it would have forwarded, which may be done all the same.
    wait_until("the next leader writes", || {
        let answer = next.admin().request("PUT", "/x/after", &json, b"{}");
        let status = answer.unwrap().status;
        assert!([201, 409, 503].contains(&status), "{status}");
        status != 503
    });
    leader.signal("CONT");
    let mut client = leader.admin();
    if let Ok(answer) = client.request("GET", "/x/after", &[], b"") {
        assert_ne!(answer.status, 404, "an old state was read");
    }
    if let Ok(answer) = client.request("PUT", "/x/late", &json, b"{}")
        && answer.status == 201
    {
        next.admin().get("/x/late").expect_status(200);
    }
    wait_until("the leader before has ended", || !leader.is_running());
    let ended = leader.kill();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.printed);
    assert!(
        ended.printed.contains("another server"),
        "{}",
        ended.printed
    );
    let (code, said) = scene.run(&["shared", "verify", &scene.store()]);
    assert_eq!(code, Some(0), "{said}");
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}
