//! Repositories in a shared store: read from any server, pushed through any server, whatever becomes of those that write them.

use crate::VARVE;
use crate::shared_owners::members;
use crate::shared_serving::{Scene, wait_until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use varve_testkit::peers::hg;
use varve_testkit::repos::{commit, noise, write};
use varve_testkit::varve::Server;

/// A configuration by which all who reach the servers may push.
const OPEN: &str = "[web]\npush_ssl = no\nallow-push = *\n[phases]\npublish = yes\n";
/// Name of the repository in the store, which is the path of its URL.
const NAME: &str = "hg/Team/r-1.0";

/// A scene whose store has a repository of two changesets.
fn scene() -> Scene {
    let scene = Scene::new();
    let served = PathBuf::from(scene.path("served"));
    let repository = served.join("repos").join(NAME.strip_prefix("hg/").unwrap());
    fs::create_dir_all(&repository).unwrap();
    hg().ok(&repository, &["init"]);
    write(&repository, "a", b"1\n");
    commit(&hg(), &repository, "one");
    write(&repository, "long", &noise(3 << 20, 1));
    commit(&hg(), &repository, "two");
    hg().ok(&repository, &["phase", "-p", "."]);
    fs::write(repository.join(".hg/hgrc"), OPEN).unwrap();
    let directory = scene.path("served");
    let put = scene.run(&["shared", "put", &scene.store(), &directory, NAME]);
    assert_eq!(put.0, Some(0), "{}", put.1);
    let (_, again) = scene.run(&["shared", "put", &scene.store(), &directory, NAME]);
    assert!(
        again.starts_with(&format!("{NAME}: 0 bytes stored, ")),
        "{again}"
    );
    scene
}

fn url(server: &Server) -> String {
    server.url(&format!("/{NAME}"))
}

/// Output of `varve` as `hg`, or what it says when it fails.
fn varve_hg(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(VARVE);
    command.arg0("hg").args(arguments).current_dir(directory);
    command
        .env("HGRCPATH", "")
        .env("HGPLAIN", "1")
        .env("HGUSER", "ada");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(said),
    }
}

fn tip_of(url: &str) -> String {
    let said = hg().ok(Path::new("/"), &["id", "-i", "--debug", "-r", "tip", url]);
    let is_node = |line: &&str| line.len() == 40 && line.bytes().all(|it| it.is_ascii_hexdigit());
    said.lines().find(is_node).unwrap().to_owned()
}

/// Number of records that a log has had.
fn records(scene: &Scene) -> u64 {
    let (_, listed) = scene.run(&["shared", "list", &scene.store()]);
    let line = listed.lines().find(|line| line.starts_with(NAME)).unwrap();
    let words = line.split([' ', ',']).collect::<Vec<_>>();
    words[1].parse().unwrap()
}

#[test]
fn any_server_serves_and_takes_pushes() {
    let scene = scene();
    let (one, two) = (scene.serve("one"), scene.serve("two"));
    wait_until("both may write", || members(&one, "cluster_nodes") == 2);
    let clone = PathBuf::from(scene.path("clone"));
    hg().ok(
        Path::new("/"),
        &["clone", "-q", &url(&two), clone.to_str().unwrap()],
    );
    assert_eq!(hg().ok(&clone, &["log", "-T", "{desc} "]), "two one ");
    // The owner takes the log over with its first read.
    let _ = [&one, &two].map(|server| tip_of(&url(server)));
    let before = records(&scene);
    for (number, server) in [&one, &two, &one, &two].into_iter().enumerate() {
        write(&clone, "a", format!("{number}\n").as_bytes());
        commit(&hg(), &clone, "more");
        hg().ok(&clone, &["bookmark", "-f", "mark"]);
        let pushed = hg().ok(&clone, &["push", "-B", "mark", &url(server)]);
        assert!(pushed.contains("adding changesets"), "{pushed}");
        let tip = hg().ok(&clone, &["log", "-r", "tip", "-T", "{node}"]);
        for reader in [&one, &two] {
            assert_eq!(tip_of(&url(reader)), tip, "a read follows each push");
            let marks = hg().fails(&clone, &["in", "-B", &url(reader)]);
            assert!(marks.contains("no changed bookmarks"), "{marks}");
        }
    }
    assert_eq!(records(&scene), before + 4, "a push is one record");
    for server in [&one, &two] {
        let stream = scene.path(&format!("stream-{}", server.id()));
        hg().ok(
            Path::new("/"),
            &["clone", "-q", "--stream", &url(server), &stream],
        );
        hg().ok(Path::new(&stream), &["verify", "-q"]);
        let list = server.admin().get("/hg/").expect_status(200).text();
        assert!(list.contains("Team/r-1.0"), "{list}");
        server.admin().get("/hg/Team/r-1.0/log").expect_status(200);
        server.admin().get("/hg/Team").expect_status(404);
        let refused = hg().fails(&clone, &["id", &server.url("/hg/none")]);
        assert!(refused.contains("404"), "{refused}");
    }
    check_limit(&scene, &one, "one");
    check_care(&scene, &clone);
    let (code, removed) = scene.run(&["shared", "remove", &scene.store(), NAME]);
    assert_eq!(code, Some(0), "{removed}");
    wait_until("it is gone", || {
        let answers = [&one, &two].map(|server| server.admin().get(&format!("/{NAME}")).status);
        answers == [404, 404]
    });
}

/// Asserts that copies go that are not used, and come again.
fn check_limit(scene: &Scene, server: &Server, directory: &str) {
    let tip = tip_of(&url(server));
    server.admin().put("/x", &Value::Null).expect_status(201);
    server.admin().put("/x/d", &json!({})).expect_status(201);
    let copies = |kind: &str| {
        let path = Path::new(&scene.path(directory)).join("shared").join(kind);
        fs::read_dir(&path).map_or(0, Iterator::count)
    };
    let (databases, repositories) = (copies("databases"), copies("repos"));
    assert!(databases > 0 && repositories == 1);
    let limit = "/_node/_local/_config/shared/copies_limit";
    server.admin().put(limit, &json!("1kb")).expect_status(200);
    wait_until("copies go", || {
        copies("repos") == 0 && copies("databases") < databases
    });
    server.admin().put(limit, &json!("0")).expect_status(200);
    assert_eq!(tip_of(&url(server)), tip);
    server.admin().get("/x/d").expect_status(200);
    assert_eq!(copies("repos"), 1);
}

/// Restores the repository, now and as it was put, and looks after the store.
fn check_care(scene: &Scene, clone: &Path) {
    let tip = hg().ok(clone, &["log", "-r", "tip", "-T", "{node}"]);
    for (slot, to, changesets) in [("2", "old", 2), ("", "new", 6)] {
        let directory = scene.path(to);
        let (store, at) = (scene.store(), format!("--at-slot={slot}"));
        let mut arguments = vec!["shared", "restore", &store, NAME, &directory];
        arguments.extend((!slot.is_empty()).then_some(at.as_str()));
        let (code, said) = scene.run(&arguments);
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.starts_with(&format!("{NAME}: {changesets} changesets, ")),
            "{said}"
        );
        let restored = PathBuf::from(&directory).join("repos/Team/r-1.0");
        hg().ok(&restored, &["verify", "-q"]);
        let restored = hg().ok(&restored, &["log", "-r", "tip", "-T", "{node}"]);
        assert_eq!(restored == tip, slot.is_empty());
    }
    for action in ["verify", "gc"] {
        let (code, said) = scene.run(&["shared", action, &scene.store(), NAME]);
        assert_eq!(code, Some(0), "{said}");
    }
}

/// Commits and pushes through one server until told to stop; returns what was acknowledged.
fn push_all(
    (clone, server): (&Path, &str),
    writer: usize,
    (is_over, pushed): (&AtomicBool, &AtomicUsize),
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        write(clone, &format!("f{writer}"), format!("{number}").as_bytes());
        let message = format!("{writer}-{number}");
        varve_hg(clone, &["commit", "-qAm", &message]).unwrap();
        match varve_hg(clone, &["push", "-f", server]) {
            Ok(_) => {
                acknowledged.push(message);
                pushed.fetch_add(1, Ordering::SeqCst);
            }
            // The server is killed, or its owner: what is committed goes with the next push.
            Err(said) => assert!(
                ["503", "refused", "reset", "closed", "unreachable"]
                    .iter()
                    .any(|it| said.contains(it)),
                "{said}"
            ),
        }
    }
    acknowledged
}

/// Address of the server that writes the repository.
fn owner(scene: &Scene) -> String {
    let (_, listed) = scene.run(&["shared", "list", &scene.store()]);
    let line = listed.lines().find(|line| line.starts_with(NAME)).unwrap();
    line.split(", written by ").nth(1).unwrap().to_owned()
}

/// Kills the owner, then has its successor stand still until another server writes the repository. `go_on` returns once some
/// more pushes were acknowledged.
fn trouble(scene: &Scene, servers: &mut Vec<Server>, go_on: &dyn Fn(usize)) {
    go_on(4);
    let first = owner(scene);
    let victim = servers.iter().position(|it| it.address() == first).unwrap();
    drop(servers.remove(victim).kill());
    go_on(6);
    let second = owner(scene);
    let (paused, other) = match servers[0].address() == second {
        true => (&servers[0], &servers[1]),
        false => (&servers[1], &servers[0]),
    };
    paused.signal("STOP");
    wait_until("one server is left", || members(other, "all_nodes") == 1);
    wait_until("it serves the repository", || {
        let path = format!("/{NAME}/log");
        other.admin().get(&path).status == 200
    });
    paused.signal("CONT");
    go_on(6);
}

/// Asserts that a server has all of these changesets, and its repository no damage.
fn check_end(scene: &Scene, server: &Server, acknowledged: &[Vec<String>]) {
    let clone = PathBuf::from(scene.path(&format!("end-{}", server.id())));
    let to = clone.to_str().unwrap();
    hg().ok(Path::new("/"), &["clone", "-qU", &url(server), to]);
    hg().ok(&clone, &["verify", "-q"]);
    let there = hg().ok(&clone, &["log", "-T", "{desc}\n"]);
    for message in acknowledged.iter().flatten() {
        let is_there = there.lines().any(|line| line == message);
        assert!(is_there, "{message} is lost");
    }
}

#[test]
fn pushes_outlive_the_servers_that_take_them() {
    let scene = scene();
    let mut servers = Vec::from(["one", "two", "three"].map(|name| scene.serve(name)));
    wait_until("all may write", || {
        members(&servers[0], "cluster_nodes") == 3
    });
    let (is_over, pushed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let first = owner(&scene);
    let others = servers.iter().filter(|it| it.address() != first);
    let others = others.map(url).collect::<Vec<_>>();
    let acknowledged = thread::scope(|scope| {
        let writers = [0, 1].map(|writer| {
            let (clone, server) = (
                PathBuf::from(scene.path(&writer.to_string())),
                &others[writer],
            );
            let to = clone.to_str().unwrap();
            varve_hg(Path::new("/"), &["clone", "-q", server, to]).unwrap();
            let counters = (&is_over, &pushed);
            scope.spawn(move || push_all((&clone, server), writer, counters))
        });
        let go_on = |more| {
            let before = pushed.load(Ordering::SeqCst);
            wait_until("pushes go on", || {
                pushed.load(Ordering::SeqCst) >= before + more
            });
        };
        trouble(&scene, &mut servers, &go_on);
        is_over.store(true, Ordering::SeqCst);
        writers.map(|writer| writer.join().unwrap())
    });
    // A leader that stood still has stopped.
    servers.retain_mut(Server::is_running);
    assert!(!servers.is_empty());
    for server in &servers {
        check_end(&scene, server, &acknowledged);
    }
    let (code, said) = scene.run(&["shared", "verify", &scene.store()]);
    assert_eq!(code, Some(0), "{said}");
}
