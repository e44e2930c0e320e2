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

    /// Makes the times of its directories old ones.
    fn age(&self, directory: &Path) {
        let hg = directory.join(self.0.root()).join(".hg");
        let old = std::time::SystemTime::now() - Duration::from_secs(3600);
        for path in [hg.join("hgrc"), hg.join("store"), hg] {
            std::fs::File::open(path)
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
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
    // An admin may have it made anew, also when the repository has long been as it is.
    repo.age(server.directory.path());
    std::thread::sleep(PAUSE * 30);
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

/// A server with a repository `r` of one changeset, whose document is returned.
fn with_one_changeset() -> (Running, Value) {
    let server = Running::start_with(SETTINGS);
    let repo = Repo::create(server.directory.path(), "r", "");
    let node = repo.over(Node::NULL, "a").to_string();
    let document = wait_for(&server, &format!("/hg%2Fr/{node}"));
    (server, document)
}

fn send(server: &Running, (method, path): (&str, &str), body: &str) -> Reply {
    let headers = [ADMIN, ("content-type", "application/json")];
    server.send(method, path, &headers, body)
}

#[test]
fn generated_documents_cannot_be_edited() {
    let (server, document) = with_one_changeset();
    let id = document["_id"].as_str().unwrap();
    let rev = document["_rev"].as_str().unwrap();
    let edited = json!({"_rev": rev, "type": "changeset"}).to_string();
    for (method, path, body) in [
        ("PUT", id, &*edited),
        ("PUT", &format!("{id}?new_edits=false"), &edited),
        ("DELETE", &format!("{id}?rev={rev}"), ""),
        ("PUT", &format!("{id}/file.txt?rev={rev}"), "x"),
        ("PUT", "bookmark%2Fnew", "{}"),
        ("PUT", "tag%2Fnew", "{}"),
        ("PUT", "branch%2Fdefault", "{}"),
        ("PUT", "head%2Fx", "{}"),
        ("PUT", "file%2Fa", "{}"),
        ("PUT", &"0".repeat(40), "{}"),
        ("PUT", "_design/history", "{}"),
        ("PUT", "_local/varve-history", "{}"),
        ("POST", "", &json!({"_id": id}).to_string()),
        ("POST", "_purge", &json!({id: [rev]}).to_string()),
    ] {
        let reply = send(&server, (method, &format!("/hg%2Fr/{path}")), body);
        let told = format!("{method} {path}: {}", reply.body);
        assert_eq!(reply.status, 403, "{told}");
        assert!(reply.body.contains("made from the repository"), "{told}");
    }
    let headers = [ADMIN, ("destination", "tag%2Fcopy")];
    let copied = server.send("COPY", &format!("/hg%2Fr/{id}"), &headers, "");
    assert_eq!(copied.status, 403, "{}", copied.body);
    let unchanged = wait_for(&server, &format!("/hg%2Fr/{id}"));
    assert_eq!(unchanged, document);
}

#[test]
fn documents_of_people_are_written_beside_generated_ones() {
    let (server, document) = with_one_changeset();
    let id = document["_id"].as_str().unwrap();
    let docs = json!({"docs": [{"_id": id}, {"_id": "mine"}, {"_id": "head/y"}]});
    let bulk = ("POST", "/hg%2Fr/_bulk_docs");
    let bulk = value(&send(&server, bulk, &docs.to_string()));
    let outcome = |at: usize| bulk[at]["error"].as_str().unwrap_or("written").to_owned();
    assert_eq!(
        [0, 1, 2].map(outcome),
        ["forbidden", "written", "forbidden"]
    );
    for (path, body) in [
        ("_design/mine", "{\"views\":{}}"),
        ("_local/mine", "{}"),
        ("0123", "{}"),
    ] {
        let written = send(&server, ("PUT", &format!("/hg%2Fr/{path}")), body);
        assert_eq!(written.status, 201, "{path}");
    }
    // A replication into it writes documents of people alone.
    assert_eq!(send(&server, ("PUT", "/source"), "").status, 201);
    let docs = json!({"docs": [{"_id": "review/1"}, {"_id": id}, {"_id": "bookmark/x"}]});
    let stored = send(&server, ("POST", "/source/_bulk_docs"), &docs.to_string());
    assert_eq!(stored.status, 201);
    let url = |name: &str| format!("http://adm:pass@{}/{name}", server.address);
    let replication = json!({"source": url("source"), "target": url("hg%2Fr")});
    let done = value(&send(
        &server,
        ("POST", "/_replicate"),
        &replication.to_string(),
    ));
    let history = &done["history"][0];
    assert_eq!(
        (&history["docs_written"], &history["doc_write_failures"]),
        (&json!(1), &json!(2)),
        "{done}"
    );
    let unchanged = wait_for(&server, &format!("/hg%2Fr/{id}"));
    assert_eq!(unchanged, document);
}

/// Asks the ready views of the repository `r`.
struct Views(Running);

impl Views {
    fn rows(&self, query: &str) -> Vec<Value> {
        let reply = self
            .0
            .get(&format!("/hg%2Fr/_design/history/_view/{query}"));
        let answer = value(&reply);
        let rows = answer["rows"].as_array();
        rows.unwrap_or_else(|| panic!("{query}: {}", reply.body))
            .clone()
    }

    /// Keys with their values.
    fn pairs(&self, query: &str) -> Value {
        let rows = self.rows(query).into_iter();
        let pairs: Vec<Value> = rows.map(|row| json!([row["key"], row["value"]])).collect();
        pairs.into()
    }

    /// Ids of the rows that are not reduced, in order.
    fn ids(&self, query: &str) -> Vec<String> {
        let rows = self.rows(&format!("{query}&reduce=false")).into_iter();
        let mut ids: Vec<String> = rows
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    }
}

fn sorted(nodes: &[Node]) -> Vec<String> {
    let mut ids: Vec<String> = nodes.iter().map(Node::to_string).collect();
    ids.sort();
    ids
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
    let views = Views(server);
    for (query, wanted) in [
        (
            "by_author?group_level=1",
            json!([[["Ada"], 2], [["Bob"], 2]]),
        ),
        ("by_date?group_level=2", json!([[[1970, 2], 4]])),
        ("by_date?group=true", json!([[[1970, 2, 1], 4]])),
        ("by_branch?group_level=1", json!([[["default"], 4]])),
        ("by_file?group_level=1", json!([[["src"], 2], [["top"], 2]])),
        ("by_word?key=%22add%22", json!([[null, 1]])),
        (
            "churn?group=true&limit=1",
            json!([[["src/a.rs", "1970-02"], [1, 0]]]),
        ),
        (
            "heads?reduce=false",
            json!([[["default", false], d.to_string()]]),
        ),
    ] {
        assert_eq!(views.pairs(query), wanted, "{query}");
    }
    let below_src = "by_file?startkey=%5B%22src%22%5D&endkey=%5B%22src%22,%7B%7D%5D";
    for (query, wanted) in [
        (below_src, &[a, b][..]),
        ("by_file?key=%5B%22top%22%5D", &[c, d]),
        ("by_word?key=%22sediment%22", &[a, b]),
        ("merges?limit=10", &[d]),
    ] {
        assert_eq!(views.ids(query), sorted(wanted), "{query}");
    }
    let span = views.rows("first_and_last?group=true&limit=1")[0]["value"].clone();
    assert_eq!(
        (&span["count"], &span["min"]),
        (&json!(2), &json!(86_400 * 31))
    );
    let added = json!({"$elemMatch": {"$eq": "src/deep/b.rs"}});
    let query = json!({"selector": {"author.email": "bob@b", "files.added": added}});
    let headers = [("content-type", "application/json")];
    let found = views
        .0
        .send("POST", "/hg%2Fr/_find", &headers, &query.to_string());
    assert_eq!(value(&found)["docs"][0]["_id"], b.to_string());
    let file = wait_for(&views.0, "/hg%2Fr/file%2Ftop");
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

/// A repository `r` whose database is not filled, with a file that changed and another one.
struct Contents {
    server: Running,
    repo: Repo,
    nodes: [Node; 3],
}

impl Contents {
    fn new() -> Contents {
        // Looks are rare, and nothing here depends on them.
        let server = Running::start_with("[history]\npoll_secs = 86400\n");
        let repo = Repo::create(server.directory.path(), "r", "");
        let none = Node::NULL;
        let a = repo.commit([none, none], "Ada <ada@b>", ("src/a.txt", "one\ntwo\n"));
        let b = repo.commit([a, none], "Bob <bob@b>", ("src/a.txt", "one\n2\nthree\n"));
        let c = repo.commit([b, none], "Bob <bob@b>", ("src/deep/bin", "\0"));
        Contents {
            server,
            repo,
            nodes: [a, b, c],
        }
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        let path = format!("/hg%2Fr/{path}");
        self.server.send("GET", &path, headers, "")
    }

    fn value(&self, path: &str) -> Value {
        value(&self.get(path, &[]))
    }

    /// Types and names of the entries of a directory.
    fn tree(&self, path: &str) -> String {
        let tree = self.value(path);
        let entries = tree["entries"].as_array().unwrap().iter();
        let names = entries.map(|entry| format!("{} {}", entry["type"], entry["name"]));
        names.collect::<Vec<_>>().join(", ").replace('"', "")
    }
}

#[test]
fn files_are_read_at_any_changeset() {
    let contents = Contents::new();
    let get = |path: &str, headers: &[(&str, &str)]| contents.get(path, headers);
    let file = get("_file/src/a.txt", &[]);
    assert_eq!((file.status, &*file.body), (200, "one\n2\nthree\n"));
    for (name, wanted) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-security-policy", "sandbox"),
    ] {
        assert_eq!(file.header(name), Some(wanted));
    }
    let tag = [("if-none-match", file.header("etag").unwrap())];
    assert_eq!(get("_file/src/a.txt", &tag).status, 304);
    let old = get(
        &format!("_file/src%2Fa.txt?rev={}", contents.nodes[0]),
        &tag,
    );
    assert_eq!((old.status, &*old.body), (200, "one\ntwo\n"));
    let part = get("_file/src/a.txt", &[("range", "bytes=4-5")]);
    assert_eq!((part.status, &*part.body), (206, "2\n"));
    assert_eq!(part.header("content-range"), Some("bytes 4-5/12"));
    assert_eq!(
        get("_file/src/a.txt", &[("range", "bytes=12-")]).status,
        416
    );
    let head = contents
        .server
        .send("HEAD", "/hg%2Fr/_file/src/a.txt", &[], "");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("12"))
    );
    let binary = get("_file/src/deep/bin", &[]);
    assert_eq!(
        binary.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(contents.tree("_tree"), "directory src");
    assert_eq!(contents.tree("_tree/src/"), "file a.txt, directory deep");
    assert_eq!(contents.tree("_tree/src?rev=1"), "file a.txt");
    for (path, status) in [
        ("_file/none", 404),
        ("_file/src", 404),
        ("_file", 404),
        ("_tree/none", 404),
        ("_file/src/a.txt?rev=none", 404),
        ("_file/src/a.txt?rev=null", 404),
    ] {
        let reply = get(path, &[]);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
    }
    let server = &contents.server;
    assert_eq!(server.get("/hg%2Fnone/_file/a").status, 404);
    let put = server.send("PUT", "/hg%2Fr/_file/src/a.txt", &[ADMIN], "x");
    assert_eq!(put.status, 405);
    let closed = "[web]\ndeny_read = *\n";
    contents.repo.configure(server.directory.path(), closed);
    assert_eq!(get("_file/src/a.txt", &[]).status, 401);
    assert_eq!(get("_file/src/a.txt", &[ADMIN]).status, 200);
}

#[test]
fn no_name_leads_out_of_the_repository() {
    let contents = Contents::new();
    let server = &contents.server;
    let outside = server.directory.path().join("outside");
    std::fs::rename(server.directory.path().join("repos/r"), &outside).unwrap();
    let absolute = outside
        .display()
        .to_string()
        .replace('/', "%2F")
        .to_lowercase();
    for database in [
        "hg%2F$2e$2e%2Foutside",
        "hg%2F..%2Foutside",
        "hg%2F%2Foutside",
    ] {
        let reply = server.get(&format!("/{database}/_file/src/a.txt"));
        assert_ne!(reply.status, 200, "{database}: {}", reply.body);
    }
    let reply = server.get(&format!("/hg%2F{absolute}/_file/src/a.txt"));
    assert_ne!(reply.status, 200, "{absolute}: {}", reply.body);
    std::fs::rename(&outside, server.directory.path().join("repos/r")).unwrap();
    assert_eq!(contents.get("_file/src/a.txt", &[]).status, 200);
    for database in ["hg%2Fr%2F", "hg%2F%2Fr", "hg%2Fr%2Fsrc"] {
        let reply = server.get(&format!("/{database}/_file/src/a.txt"));
        assert_eq!(reply.status, 404, "{database}: {}", reply.body);
    }
    let (get, is_absent) = (|path: &str| contents.get(path, &[]), [400, 404]);
    for path in [
        "_file/../../varve.ini",
        "_file/%2e%2e%2fvarve.ini",
        "_file/.hg/hgrc",
        "_annotate/%00",
        "_file/%FF",
        "_tree/?rev=all()",
        "_log/src/a.txt?limit=-1",
    ] {
        let reply = get(path);
        assert!(
            is_absent.contains(&reply.status),
            "{path}: {}",
            reply.status
        );
    }
}

#[test]
fn lines_have_a_history() {
    let contents = Contents::new();
    let [a, b, c] = contents.nodes.map(|node| node.to_string());
    let nodes = |log: &Value| {
        let changesets = log["changesets"].as_array().unwrap().iter();
        changesets.map(|it| it["node"].clone()).collect::<Vec<_>>()
    };
    let log = contents.value("_log/src/a.txt");
    assert_eq!(nodes(&log), [json!(b), json!(a)]);
    assert_eq!(log["changesets"][0]["author"]["name"], "Bob");
    assert_eq!(log["changeset"], c);
    assert_eq!(nodes(&contents.value("_log/src/a.txt?limit=1")).len(), 1);
    let annotated = contents.value("_annotate/src/a.txt");
    let lines = annotated["lines"].as_array().unwrap().iter();
    let line = |it: &Value| json!([it["changeset"], it["line"], it["text"]]);
    let lines: Vec<Value> = lines.map(line).collect();
    let wanted = [
        json!([a, 1, "one"]),
        json!([b, 2, "2"]),
        json!([b, 3, "three"]),
    ];
    assert_eq!(lines, wanted);
    assert_eq!(nodes(&annotated), [json!(b), json!(a)]);
    let diff = contents.value(&format!("_diff/{b}?path=src"));
    let file = &diff["files"][0];
    assert_eq!(
        (&diff["parent"], &file["change"]),
        (&json!(a), &json!("modified"))
    );
    let lines = [" one", "-two", "+2", "+three"];
    let hunk = json!({"old": 1, "old_lines": 2, "new": 1, "new_lines": 3, "lines": lines});
    assert_eq!(file["hunks"], json!([hunk]));
    assert_eq!(contents.value("_diff/2")["files"][0]["binary"], true);
    assert_eq!(contents.value("_diff/2?path=sr")["files"], json!([]));
    for (path, status) in [
        ("_diff/none", 404),
        ("_log/none", 404),
        ("_log/src/a.txt?limit=many", 400),
        ("_annotate/src/deep/bin", 400),
    ] {
        let reply = contents.get(path, &[]);
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
    }
}
