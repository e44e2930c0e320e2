//! Files of repositories, their lines and differences, through a database's paths.

use super::{Repo, value};
use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};
use varve_repo::Node;

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
