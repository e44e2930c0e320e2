//! Repositories as databases.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use varve_base::{DiskStorage, Interrupt, Storage};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, LockKind, NewChangeset, Node, Phase, Repository};

const SETTINGS: &str = "[history]\npoll_secs = 1\n";
/// So often it is looked whether a server has followed, and the pause between two looks.
const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// A repository that another program changes.
struct Repo(Repository);

impl Repo {
    fn create(directory: &Path, name: &str, web: &str) -> Repo {
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory));
        let root = Path::new("repos").join(name);
        storage.create_directory(&root).unwrap();
        let repo = Repo(Repository::create(storage, &root).unwrap());
        repo.configure(directory, &format!("[web]\n{web}\n"));
        repo
    }

    fn configure(&self, directory: &Path, text: &str) {
        let path = directory.join(self.0.root()).join(".hg/hgrc");
        std::fs::write(path, text).unwrap();
    }

    fn commit(&self, parents: [Node; 2], user: &str, (path, words): (&str, &str)) -> Node {
        let mut batch = self.0.begin(EngineSetting::ZSTD).unwrap();
        let changes = [FileChange::Write {
            path: path.as_bytes(),
            content: words.as_bytes(),
            kind: FileKind::Plain,
            copied_from: None,
        }];
        let new = NewChangeset {
            parents,
            user: user.as_bytes(),
            date: (86_400 * 31, 0),
            branch: b"default",
            extras: &[],
            description: words.as_bytes(),
            phase: Phase::Public,
            changes: &changes,
        };
        let node = batch.commit(&new).unwrap();
        batch.finish().unwrap();
        node
    }

    fn over(&self, parent: Node, words: &str) -> Node {
        self.commit([parent, Node::NULL], "Ada <ada@b>", (words, words))
    }

    fn strip(&self, node: Node) {
        let lock = self.0.try_lock(LockKind::Store).unwrap();
        let stop = Interrupt::default();
        self.0
            .strip(lock, &[node], EngineSetting::ZSTD, &stop)
            .unwrap();
    }
}

fn value(reply: &Reply) -> Value {
    serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{}", reply.body))
}

/// Waits until the answer to a GET is as wanted.
fn wait(server: &Running, path: &str, is_wanted: impl Fn(&Reply) -> bool) -> Reply {
    for _ in 0..LOOKS {
        let reply = server.send("GET", path, &[ADMIN], "");
        if is_wanted(&reply) {
            return reply;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("{path}: {:?}", server.send("GET", path, &[ADMIN], ""));
}

fn wait_for(server: &Running, path: &str) -> Value {
    value(&wait(server, path, |reply| reply.status == 200))
}

#[test]
fn databases_follow_other_programs_and_restarts() {
    let server = Running::start_with(SETTINGS);
    let repo = Repo::create(server.directory.path(), "team/One", "");
    let first = repo.over(Node::NULL, "first");
    let second = repo.over(first, "second");
    let at = |id: &dyn ToString| format!("/hg%2Fteam%2F$4fne/{}", id.to_string());
    let document = wait_for(&server, &at(&second));
    assert_eq!(document["description"], "second");
    assert_eq!(document["parents"], json!([first.to_string()]));
    let all = server.send("GET", "/_all_dbs", &[ADMIN], "");
    assert_eq!(value(&all), json!(["hg/team/$4fne"]));
    let third = repo.over(second, "third");
    wait_for(&server, &at(&third));
    repo.strip(third);
    wait(&server, &at(&third), |reply| {
        reply.status == 404 && reply.body.contains("deleted")
    });
    // A kill between a push and its fill.
    let mut other = None;
    let server = server.restart(|_| other = Some(repo.over(second, "other")));
    let other = other.unwrap();
    wait_for(&server, &at(&other));
    let changes = value(&server.get("/hg%2Fteam%2F$4fne/_changes"));
    let changed = |id: &str| {
        let rows = changes["results"].as_array().unwrap().iter();
        rows.filter(|row| row["id"] == id).count()
    };
    for node in [first, second, third, other] {
        assert_eq!(changed(&node.to_string()), 1);
    }
    // An admin may have it made anew.
    let gone = server.send("DELETE", "/hg%2Fteam%2F$4fne", &[ADMIN], "");
    assert_eq!(gone.status, 200);
    wait_for(&server, &at(&other));
}

#[test]
fn readers_are_those_of_the_repository() {
    let server = Running::start_with(SETTINGS);
    let directory = server.directory.path();
    let open = Repo::create(directory, "open", "");
    let closed = Repo::create(directory, "closed", "allow_read = bob");
    let (seen, hidden) = (open.over(Node::NULL, "a"), closed.over(Node::NULL, "b"));
    let (seen, hidden) = (
        format!("/hg%2Fopen/{seen}"),
        format!("/hg%2Fclosed/{hidden}"),
    );
    wait_for(&server, &seen);
    wait_for(&server, &hidden);
    assert_eq!(server.get(&seen).status, 200);
    assert_eq!(server.get("/hg%2Fopen/_changes").status, 200);
    for path in [&hidden, "/hg%2Fclosed", "/hg%2Fclosed/_all_docs?limit=1"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    // People's documents need ordinary rights.
    let note = |headers: &[(&str, &str)], id: &str| {
        let path = format!("/hg%2Fopen/{id}");
        server
            .send("PUT", &path, headers, "{\"type\":\"review\"}")
            .status
    };
    assert_eq!((note(&[], "r1"), note(&[ADMIN], "r1")), (401, 201));
    let user = json!({"name": "bob", "password": "pw", "roles": [], "type": "user"});
    assert_eq!(server.send("PUT", "/_users", &[ADMIN], "").status, 201);
    let path = "/_users/org.couchdb.user:bob";
    assert_eq!(
        server.send("PUT", path, &[ADMIN], &user.to_string()).status,
        201
    );
    let bob = [("authorization", "Basic Ym9iOnB3")];
    assert_eq!(note(&bob, "r2"), 403);
    let members = "{\"members\":{\"names\":[\"bob\"]}}";
    let set = server.send("PUT", "/hg%2Fopen/_security", &[ADMIN], members);
    assert_eq!(set.status, 200);
    assert_eq!((note(&bob, "r2"), note(&[], "r3")), (201, 401));
    // Members are the writers; everybody still reads.
    assert_eq!(server.get("/hg%2Fopen/r2").status, 200);
    assert_eq!(server.send("GET", &hidden, &bob, "").status, 200);
    closed.configure(directory, "[web]\ndeny_read = bob\n");
    assert_eq!(server.send("GET", &hidden, &bob, "").status, 403);
    // Of a repository that is gone only admins read what is left.
    std::fs::remove_dir_all(directory.join("repos/open")).unwrap();
    assert_eq!(server.get(&seen).status, 401);
    assert_eq!(server.send("GET", &seen, &[ADMIN], "").status, 200);
}

#[test]
fn generated_documents_cannot_be_edited() {
    let server = Running::start_with(SETTINGS);
    let repo = Repo::create(server.directory.path(), "r", "");
    let node = repo.over(Node::NULL, "a").to_string();
    let document = wait_for(&server, &format!("/hg%2Fr/{node}"));
    let rev = document["_rev"].as_str().unwrap();
    let send = |method: &str, path: &str, body: &str| {
        let headers = [ADMIN, ("content-type", "application/json")];
        server.send(method, &format!("/hg%2Fr/{path}"), &headers, body)
    };
    let edited = json!({"_rev": rev, "type": "changeset"}).to_string();
    for (method, path, body) in [
        ("PUT", node.clone(), &*edited),
        ("PUT", format!("{node}?new_edits=false"), &edited),
        ("DELETE", format!("{node}?rev={rev}"), ""),
        ("PUT", format!("{node}/file.txt?rev={rev}"), "x"),
        ("PUT", "bookmark/new".to_owned(), "{}"),
        ("PUT", "tag%2Fnew".to_owned(), "{}"),
        ("PUT", "branch/default".to_owned(), "{}"),
        ("PUT", "head/x".to_owned(), "{}"),
        ("PUT", "file/a".to_owned(), "{}"),
        ("PUT", "0".repeat(40), "{}"),
        ("PUT", "_design/history".to_owned(), "{}"),
        ("PUT", "_local/varve-history".to_owned(), "{}"),
        ("POST", String::new(), &json!({"_id": node}).to_string()),
        (
            "POST",
            "_purge".to_owned(),
            &json!({&node: [rev]}).to_string(),
        ),
    ] {
        let path = path
            .replace("bookmark/", "bookmark%2F")
            .replace("branch/", "branch%2F");
        let path = path
            .replace("head/", "head%2F")
            .replace("file/a", "file%2Fa");
        let reply = send(method, &path, body);
        assert_eq!(reply.status, 403, "{method} {path}: {}", reply.body);
        assert!(
            reply.body.contains("made from the repository"),
            "{}",
            reply.body
        );
    }
    let copied = server.send(
        "COPY",
        &format!("/hg%2Fr/{node}"),
        &[ADMIN, ("destination", "tag%2Fcopy")],
        "",
    );
    assert_eq!(copied.status, 403, "{}", copied.body);
    let docs = json!({"docs": [{"_id": node, "_rev": rev}, {"_id": "mine"}, {"_id": "head/y"}]});
    let bulk = value(&send("POST", "_bulk_docs", &docs.to_string()));
    let outcome = |at: usize| bulk[at]["error"].as_str().unwrap_or("written").to_owned();
    assert_eq!(
        [0, 1, 2].map(outcome),
        ["forbidden", "written", "forbidden"]
    );
    let (design, plain) = (json!({"views": {}}).to_string(), "{}");
    for (path, body) in [
        ("_design/mine", &*design),
        ("_local/mine", plain),
        ("0123", plain),
    ] {
        assert_eq!(send("PUT", path, body).status, 201, "{path}");
    }
    // A replication into it writes people's documents alone.
    assert_eq!(server.send("PUT", "/source", &[ADMIN], "").status, 201);
    let docs = json!({"docs": [{"_id": "review/1"}, {"_id": node}, {"_id": "bookmark/x"}]});
    let headers = [ADMIN, ("content-type", "application/json")];
    let stored = server.send("POST", "/source/_bulk_docs", &headers, &docs.to_string());
    assert_eq!(stored.status, 201);
    let url = |name: &str| format!("http://adm:pass@{}/{name}", server.address);
    let replication = json!({"source": url("source"), "target": url("hg%2Fr")});
    let done = server.send("POST", "/_replicate", &headers, &replication.to_string());
    let done = value(&done);
    let history = &done["history"][0];
    assert_eq!(
        (&history["docs_written"], &history["doc_write_failures"]),
        (&json!(1), &json!(2)),
        "{done}"
    );
    let unchanged = wait_for(&server, &format!("/hg%2Fr/{node}"));
    assert_eq!(unchanged, document);
}

#[test]
fn ready_views_answer() {
    let server = Running::start_with("[history]\npoll_secs = 1\nline_counts = yes\nfiles = yes\n");
    let repo = Repo::create(server.directory.path(), "r", "");
    let none = Node::NULL;
    let a = repo.commit(
        [none, none],
        "Ada <ada@b>",
        ("src/a.rs", "Add Sediment, add\n"),
    );
    let b = repo.commit(
        [a, none],
        "Bob <bob@b>",
        ("src/deep/b.rs", "More sediment\n"),
    );
    let c = repo.commit([a, none], "Ada <ada@b>", ("top", "Other\n"));
    let d = repo.commit([b, c], "Bob <bob@b>", ("top", "Merge\n"));
    wait_for(&server, &format!("/hg%2Fr/head%2F{d}"));
    let rows = |query: &str| {
        let reply = server.get(&format!("/hg%2Fr/_design/history/_view/{query}"));
        let rows = value(&reply)["rows"].clone();
        assert!(rows.is_array(), "{query}: {}", reply.body);
        rows
    };
    let pairs = |query: &str| {
        let rows = rows(query);
        let rows = rows.as_array().unwrap().iter();
        let pairs: Vec<Value> = rows.map(|row| json!([row["key"], row["value"]])).collect();
        Value::from(pairs)
    };
    let ids = |query: &str| {
        let rows = rows(&format!("{query}&reduce=false"));
        let rows = rows.as_array().unwrap().iter();
        let mut ids: Vec<String> = rows
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let sorted = |nodes: &[Node]| {
        let mut ids: Vec<String> = nodes.iter().map(Node::to_string).collect();
        ids.sort();
        ids
    };
    assert_eq!(
        pairs("by_author?group_level=1"),
        json!([[["Ada"], 2], [["Bob"], 2]])
    );
    assert_eq!(pairs("by_date?group_level=2"), json!([[[1970, 2], 4]]));
    assert_eq!(pairs("by_date?group=true"), json!([[[1970, 2, 1], 4]]));
    assert_eq!(pairs("by_branch?group_level=1"), json!([[["default"], 4]]));
    let folder = "by_file?startkey=%5B%22src%22%5D&endkey=%5B%22src%22,%7B%7D%5D";
    assert_eq!(ids(folder), sorted(&[a, b]));
    assert_eq!(ids("by_file?key=%5B%22top%22%5D"), sorted(&[c, d]));
    assert_eq!(
        pairs("by_file?group_level=1"),
        json!([[["src"], 2], [["top"], 2]])
    );
    assert_eq!(ids("by_word?key=%22sediment%22"), sorted(&[a, b]));
    assert_eq!(pairs("by_word?key=%22add%22"), json!([[null, 1]]));
    assert_eq!(
        pairs("churn?group=true&limit=1"),
        json!([[["src/a.rs", "1970-02"], [1, 0]]])
    );
    assert_eq!(ids("merges?limit=10"), sorted(&[d]));
    assert_eq!(
        pairs("heads?reduce=false"),
        json!([[["default", false], d.to_string()]])
    );
    let span = rows("first_and_last?group=true&limit=1")[0]["value"].clone();
    assert_eq!(
        (&span["count"], &span["min"]),
        (&json!(2), &json!(86_400 * 31))
    );
    let query = json!({"selector": {"author.email": "bob@b", "files.added": {"$elemMatch": {"$eq": "src/deep/b.rs"}}}});
    let found = server.send(
        "POST",
        "/hg%2Fr/_find",
        &[("content-type", "application/json")],
        &query.to_string(),
    );
    assert_eq!(value(&found)["docs"][0]["_id"], b.to_string());
    let file = wait_for(&server, "/hg%2Fr/file%2Ftop");
    assert_eq!(
        (&file["size"], &file["changeset"]),
        (&json!(6), &json!(d.to_string()))
    );
}

#[test]
fn settings_decide_which_repositories_are_databases() {
    let server = Running::start_with(SETTINGS);
    let directory = server.directory.path();
    // An ordinary database has the name of one that would be made.
    assert_eq!(server.send("PUT", "/hg%2Ftaken", &[ADMIN], "").status, 201);
    assert_eq!(
        server
            .send("PUT", "/hg%2Ftaken/note", &[ADMIN], "{}")
            .status,
        201
    );
    let taken = Repo::create(directory, "taken", "");
    taken.over(Node::NULL, "a");
    let off = Repo::create(directory, "off", "");
    off.configure(directory, "[history]\ndatabases = no\n");
    off.over(Node::NULL, "a");
    let wrong = Repo::create(directory, "wrong", "");
    wrong.configure(directory, "[history]\ninclude = secret\n");
    let on = Repo::create(directory, "on", "");
    let shown = on.over(Node::NULL, "a");
    wait_for(&server, &format!("/hg%2Fon/{shown}"));
    for _ in 0..LOOKS {
        if server.told().len() >= 2 {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let told = server.told().join("\n");
    assert!(
        told.contains("repository taken: the database was not made for a repository"),
        "{told}"
    );
    assert!(told.contains("history.include"), "{told}");
    let all = value(&server.send("GET", "/_all_dbs", &[ADMIN], ""));
    assert_eq!(all, json!(["hg/on", "hg/taken"]));
    let taken = value(&server.send("GET", "/hg%2Ftaken", &[ADMIN], ""));
    assert_eq!(taken["doc_count"], 1);
    let server = Running::start_with("[history]\ndatabases = no\n");
    Repo::create(server.directory.path(), "r", "").over(Node::NULL, "a");
    std::thread::sleep(PAUSE * 4);
    let all = server.send("GET", "/_all_dbs", &[ADMIN], "");
    assert_eq!(value(&all), json!([]));
}

#[test]
fn files_are_read_at_any_changeset() {
    // Rights do not depend on a database that was filled.
    let server = Running::start_with("[history]\npoll_secs = 86400\n");
    let directory = server.directory.path();
    let repo = Repo::create(directory, "r", "");
    let none = Node::NULL;
    let a = repo.commit([none, none], "Ada <ada@b>", ("src/a.txt", "one\ntwo\n"));
    let b = repo.commit([a, none], "Bob <bob@b>", ("src/a.txt", "one\n2\nthree\n"));
    let c = repo.commit([b, none], "Bob <bob@b>", ("src/deep/bin", "\0"));
    let get = |path: &str, headers: &[(&str, &str)]| {
        server.send("GET", &format!("/hg%2Fr/{path}"), headers, "")
    };
    let file = get("_file/src/a.txt", &[]);
    assert_eq!((file.status, &*file.body), (200, "one\n2\nthree\n"));
    assert_eq!(
        file.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(file.header("content-security-policy"), Some("sandbox"));
    let tag = file.header("etag").unwrap();
    assert_eq!(
        get("_file/src/a.txt", &[("if-none-match", tag)]).status,
        304
    );
    let old = get(
        &format!("_file/src%2Fa.txt?rev={a}"),
        &[("if-none-match", tag)],
    );
    assert_eq!((old.status, &*old.body), (200, "one\ntwo\n"));
    let part = get("_file/src/a.txt", &[("range", "bytes=4-5")]);
    assert_eq!((part.status, &*part.body), (206, "2\n"));
    assert_eq!(part.header("content-range"), Some("bytes 4-5/12"));
    assert_eq!(
        get("_file/src/a.txt", &[("range", "bytes=12-")]).status,
        416
    );
    let head = server.send("HEAD", "/hg%2Fr/_file/src/a.txt", &[], "");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("12"))
    );
    let binary = get("_file/src/deep/bin", &[]);
    assert_eq!(
        binary.header("content-type"),
        Some("application/octet-stream")
    );
    let tree = |path: &str| {
        let tree = value(&get(path, &[]));
        let entries = tree["entries"].as_array().unwrap().iter();
        let names = entries.map(|entry| format!("{} {}", entry["type"], entry["name"]));
        names.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    assert_eq!(tree("_tree"), "directory src");
    assert_eq!(tree("_tree/src/"), "file a.txt, directory deep");
    assert_eq!(tree("_tree/src?rev=1"), "file a.txt");
    let log = value(&get("_log/src/a.txt", &[]));
    let nodes = |log: &Value| {
        let changesets = log["changesets"].as_array().unwrap().iter();
        changesets.map(|it| it["node"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(nodes(&log), [json!(b.to_string()), json!(a.to_string())]);
    assert_eq!(log["changesets"][0]["author"]["name"], "Bob");
    assert_eq!(log["changeset"], c.to_string());
    assert_eq!(nodes(&value(&get("_log/src/a.txt?limit=1", &[]))).len(), 1);
    let annotated = value(&get("_annotate/src/a.txt", &[]));
    let lines = annotated["lines"].as_array().unwrap().iter();
    let lines: Vec<Value> = lines
        .map(|it| json!([it["changeset"], it["line"], it["text"]]))
        .collect();
    let (a, b) = (a.to_string(), b.to_string());
    assert_eq!(
        lines,
        [
            json!([a, 1, "one"]),
            json!([b, 2, "2"]),
            json!([b, 3, "three"])
        ]
    );
    assert_eq!(nodes(&annotated), [json!(b), json!(a)]);
    let diff = value(&get(&format!("_diff/{b}?path=src"), &[]));
    let file = &diff["files"][0];
    assert_eq!(
        (&diff["parent"], &file["change"]),
        (&json!(a), &json!("modified"))
    );
    let hunk = json!({"old": 1, "old_lines": 2, "new": 1, "new_lines": 3, "lines": [" one", "-two", "+2", "+three"]});
    assert_eq!(file["hunks"], json!([hunk]));
    assert_eq!(value(&get("_diff/2", &[]))["files"][0]["binary"], true);
    assert_eq!(value(&get("_diff/2?path=sr", &[]))["files"], json!([]));
    for (path, status) in [
        ("_diff/none", 404),
        ("_file/none", 404),
        ("_file/src", 404),
        ("_file", 404),
        ("_tree/none", 404),
        ("_log/none", 404),
        ("_file/src/a.txt?rev=none", 404),
        ("_file/src/a.txt?rev=null", 404),
        ("_log/src/a.txt?limit=many", 400),
        ("_annotate/src/deep/bin", 400),
    ] {
        let reply = get(path, &[]);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
    }
    assert_eq!(server.get("/hg%2Fnone/_file/a").status, 404);
    let put = server.send("PUT", "/hg%2Fr/_file/src/a.txt", &[ADMIN], "x");
    assert_eq!(put.status, 405);
    repo.configure(directory, "[web]\ndeny_read = *\n");
    assert_eq!(get("_file/src/a.txt", &[]).status, 401);
    assert_eq!(get("_file/src/a.txt", &[ADMIN]).status, 200);
}
