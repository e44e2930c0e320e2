//! Repositories as databases.

mod contents;
pub mod repo;

use crate::client::{ADMIN, Reply, Running};
use repo::Repo;
use serde_json::{Value, json};
use std::time::Duration;
use varve_repo::Node;

const SETTINGS: &str = "[history]\npoll_secs = 1\n";
/// So often it is looked whether a server has followed, and the pause between two looks.
const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

fn value(reply: &Reply) -> Value {
    serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{}", reply.body))
}

/// Waits until the answer to a GET is as wanted.
pub fn wait(server: &Running, path: &str, is_wanted: impl Fn(&Reply) -> bool) -> Reply {
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
        ("PUT", "item%2Fa.json:1", "{}"),
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
    let glob = Repo::create(directory, "glob", "");
    glob.configure(directory, "[history]\ndata = *.{json,csv}\n");
    let on = Repo::create(directory, "on", "");
    on.configure(directory, "[history]\ndata = b.json, *.csv\n");
    let data = on.commit([Node::NULL; 2], "Ada", ("b.json", "{\"k\": [1]}"));
    let shown = on.over(data, "a");
    wait_for(&server, &format!("/hg%2Fon/{shown}"));
    let item = wait_for(&server, "/hg%2Fon/item%2Fb.json:k");
    assert_eq!(
        (&item["value"], &item["changeset"]),
        (&json!([1]), &json!(data.to_string()))
    );
    for _ in 0..LOOKS {
        if server.told().len() >= 3 {
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
    assert!(told.contains("history.data"), "{told}");
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
