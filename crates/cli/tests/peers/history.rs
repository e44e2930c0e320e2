//! Stock `hg` pushes, and the database of the repository follows.

use super::Site;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use varve_testkit::http::Client;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos;
use varve_testkit::varve::configure;

const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);
/// Without an address, stock `hg` takes the name for one.
const CARL: &str = "Carl <carl@example.org>";

/// One line of members for each public changeset.
const TEMPLATE: &str = "{node}|{rev}|{author|person}|{author|email}|{date|rfc3339date}|{branch}|{p1.node}|{p2.node}|\
    {desc|firstline}|{join(file_adds, ',')}|{join(file_mods, ',')}|{join(file_dels, ',')}|\
    {join(file_copies % '{name}<{source}', ',')}\\n";

/// The same of a document.
fn line(row: &Value) -> String {
    let document = &row["doc"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |name: &str| {
        let items = document["files"][name].as_array().unwrap().iter();
        items.map(text).collect::<Vec<_>>().join(",")
    };
    let null = "0".repeat(40);
    let parent = |at: usize| match text(&document["parents"][at]) {
        node if node.is_empty() => null.clone(),
        node => node,
    };
    let copies = document["files"]["copied"].as_array().unwrap().iter();
    let copies = copies.map(|copy| format!("{}<{}", text(&copy["path"]), text(&copy["from"])));
    [
        text(&row["id"]),
        document["rev"].to_string(),
        text(&document["author"]["name"]),
        text(&document["author"]["email"]),
        text(&document["date"]),
        text(&document["branch"]),
        parent(0),
        parent(1),
        text(&document["summary"]),
        list("added"),
        list("modified"),
        list("removed"),
        copies.collect::<Vec<_>>().join(","),
    ]
    .join("|")
}

/// Lines of the changesets and names of the documents.
fn documents(client: &mut Client) -> (Vec<String>, Vec<String>) {
    let all = client.get("/hg%2Fr/_all_docs?include_docs=true");
    if all.status != 200 {
        return Default::default();
    }
    let all = all.json();
    let (mut changesets, mut names) = (Vec::new(), Vec::new());
    for row in all["rows"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        match id.split_once('/') {
            Some(("_design" | "branch" | "head" | "item", _)) => {}
            Some(_) => names.push(format!("{id} {}", row["doc"]["node"].as_str().unwrap())),
            None => changesets.push(line(row)),
        }
    }
    changesets.sort();
    (changesets, names)
}

/// The answers of stock `hg` about the repository, in the form of [`documents`].
fn told(hg: &Hg, path: &Path) -> (Vec<String>, Vec<String>) {
    let log = hg.ok(path, &["log", "-r", "public()", "-T", TEMPLATE]);
    let mut changesets: Vec<String> = log.lines().map(str::to_owned).collect();
    changesets.sort();
    let list = |command: &str, template: &str| hg.ok(path, &[command, "-T", template]);
    let names =
        list("bookmarks", "bookmark/{bookmark} {node}\\n") + &list("tags", "tag/{tag} {node}\\n");
    let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
    names.retain(|name| !name.starts_with("tag/tip "));
    names.sort();
    (changesets, names)
}

#[track_caller]
fn in_step(hg: &Hg, path: &Path, client: &mut Client) {
    let wanted = told(hg, path);
    for _ in 0..LOOKS {
        if documents(client) == wanted {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    assert_eq!(documents(client), wanted);
}

fn commit(hg: &Hg, path: &Path, words: &str, date: &str, user: &str) {
    let line = ["commit", "-qA", "-m", words, "-d", date, "-u", user];
    hg.ok(path, &line);
}

/// A history with a copy, a merge, two branches, a tag and a bookmark.
fn make_history(hg: &Hg, client: &Path) {
    repos::write(client, "a", b"1\n2\n");
    repos::write(client, "gone", b"1\n");
    let user = "Ada Lovelace <ada@example.org>";
    commit(hg, client, "First\n\nmore", "1700000000 -19800", user);
    hg.ok(client, &["mv", "a", "b"]);
    hg.ok(client, &["rm", "gone"]);
    hg.ok(client, &["branch", "-q", "stable"]);
    commit(hg, client, "Move", "0 0", "bob@example.org");
    hg.ok(client, &["update", "-q", "0"]);
    repos::write(client, "a", b"1\n2\n3\n");
    commit(hg, client, "Change", "0 3600", CARL);
    hg.ok(client, &["merge", "-q", "-r", "1"]);
    commit(hg, client, "Merge", "1 0", CARL);
    hg.ok(client, &["tag", "v1", "-r", "1", "-d", "2 0", "-u", CARL]);
    hg.ok(client, &["bookmark", "here", "-r", "2"]);
}

/// Pushes three changesets and a bookmark; one answer of a feed has all that they changed, and an item of a data file has a
/// revision for each.
fn push_is_whole(hg: &Hg, client: &Path, url: &str, reader: &mut Client) {
    let changes = reader.get("/hg%2Fr/_changes").expect_status(200).json();
    let since = changes["last_seq"].as_str().unwrap().to_owned();
    for name in ["x", "y", "z"] {
        repos::write(client, name, name.as_bytes());
        let data = format!("{{\"kept\": 1, \"name\": \"{name}\"}}");
        repos::write(client, "data/a.json", data.as_bytes());
        commit(hg, client, name, "0 0", CARL);
    }
    hg.ok(client, &["bookmark", "-f", "here"]);
    hg.ok(client, &["push", "-q", "-B", "here", url]);
    let longpoll = format!("/hg%2Fr/_changes?feed=longpoll&since={since}");
    let changes = reader.get(&longpoll).expect_status(200).json();
    let results = changes["results"].as_array().unwrap().iter();
    let mut ids: Vec<String> = results
        .map(|change| change["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    let nodes = hg.ok(client, &["log", "-r", "-3:", "-T", "{node}\\n"]);
    let heads = hg.ok(
        client,
        &["log", "-r", "tip~3 + tip", "-T", "head/{node}\\n"],
    );
    let items = "item/data/a.json\nitem/data/a.json:kept\nitem/data/a.json:name\n";
    let wanted = nodes + &heads + items + "branch/default\nbookmark/here\n";
    let mut wanted: Vec<String> = wanted.lines().map(str::to_owned).collect();
    wanted.sort();
    assert_eq!(ids, wanted);
    let item = "/hg%2Fr/item%2Fdata%2Fa.json:name";
    let newest = reader.get(&format!("{item}?revs=true")).json();
    let [third, second] = [0, 1].map(|at| newest["_revisions"]["ids"][at].as_str().unwrap());
    assert_eq!(
        (&newest["value"], newest["_rev"].as_str().unwrap()),
        (&"z".into(), &*format!("3-{third}"))
    );
    let before = reader.get(&format!("{item}?rev=2-{second}")).json();
    let parent = hg.ok(client, &["log", "-r", "tip~1", "-T", "{node}"]);
    assert_eq!(
        (&before["value"], &before["changeset"]),
        (&"y".into(), &parent.into())
    );
}

#[test]
fn documents_say_what_stock_hg_says() {
    let (hg, site) = (hg(), Site::new());
    // Looks are rare: a push is followed without them.
    configure(site.path(), "[history]\npoll_secs = 86400\n");
    let origin = site.repository("r");
    std::fs::create_dir_all(&origin).unwrap();
    hg.ok(&origin, &["init"]);
    let open = b"[web]\npush_ssl = no\nallow-push = *\n[history]\ndata = data/*.json\n";
    repos::write(&origin, ".hg/hgrc", open);
    let server = site.serve();
    let url = server.url("/hg/r");
    let client = site.path().join("client");
    hg.ok(site.path(), &["clone", "-q", &url, "client"]);
    make_history(&hg, &client);
    let push = [
        "push",
        "-q",
        "--new-branch",
        "-r",
        "tip",
        "-B",
        "here",
        &url,
    ];
    hg.ok(&client, &push);
    let mut reader = server.anonymous();
    in_step(&hg, &origin, &mut reader);
    push_is_whole(&hg, &client, &url, &mut reader);
    in_step(&hg, &origin, &mut reader);
    // Killed between a change and its fill: a strip, a draft, and a phase that moves, by stock `hg`.
    drop(reader);
    server.kill();
    let strip = [
        "--config=extensions.strip=",
        "strip",
        "-q",
        "--no-backup",
        "tip",
    ];
    hg.ok(&origin, &strip);
    hg.ok(&origin, &["update", "-q", "tip"]);
    repos::write(&origin, "draft", b"");
    commit(&hg, &origin, "draft", "0 0", CARL);
    let server = site.serve();
    let mut reader = server.anonymous();
    in_step(&hg, &origin, &mut reader);
    hg.ok(&origin, &["phase", "--public", "tip"]);
    let look = ("/_node/_local/_config/history/poll_secs", "1");
    let changed = server.admin().put(look.0, &look.1.into());
    changed.expect_status(200);
    in_step(&hg, &origin, &mut reader);
}
