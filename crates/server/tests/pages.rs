//! Pages of repositories that were made to do harm, and addresses that make no sense; what pages show of the repository's
//! database.

use crate::client::{ADMIN, Running};
use crate::history::repo::Repo;
use crate::history::wait;
use serde_json::json;
use std::time::{Duration, SystemTime};
use varve_repo::Node;

/// Markup in a name, a description and a file, and characters that stand in no page.
const MARKUP: &str = "\"'><script>x</script>\u{1}\u{7f}&\\";

const STYLES: [&str; 5] = ["", "json-", "raw-", "atom-", "rss-"];
const COMMANDS: [&str; 15] = [
    "log",
    "shortlog",
    "rev",
    "file",
    "manifest",
    "annotate",
    "diff",
    "comparison",
    "filelog",
    "graph",
    "tags",
    "branches",
    "archive",
    "statistics",
    "nosuch",
];

/// A revision and a path; queries make no sense either.
const ADDRESSES: [&str; 19] = [
    "",
    "/null",
    "/0/%2e%2e/%2e%2e/etc/passwd",
    "/0/..%2f..%2fvarve.ini",
    "/0/.hg/hgrc",
    "/0/%00",
    "/%FF/%FF",
    "/0/%22%27%3E%3Cscript%3E",
    "/%3Cscript%3E/%3Cscript%3E",
    "/-1",
    "/99999999999999999999",
    "/0:99999999999",
    "?revcount=-1",
    "?revcount=99999999999999999999",
    "?rev=(((((((((((((((((((((((((((",
    "?rev=%3Cscript%3E",
    "/0/f?context=99999999999999999999&linerange=0:-1",
    "/0/f?linerange=9999999999:1&patch=%FF&descend=x",
    "?style=%3Cscript%3E&cmd=%3Cscript%3E&node=%3Cscript%3E",
];

fn served() -> Running {
    let server = Running::start();
    let web = "allow-archive = zip gz bz2\nname = <script>n\ndescription = <script>d\ncontact = \"<script>c";
    let repo = Repo::create(server.directory.path(), "r", web);
    let none = [Node::NULL; 2];
    let first = repo.commit(none, &format!("{MARKUP} <a@b>"), (MARKUP, MARKUP));
    repo.commit([first, Node::NULL], "Ada <ada@b>", ("f", "<script>f\n"));
    server
}

#[test]
fn no_address_does_harm() {
    let server = served();
    for command in COMMANDS {
        for style in STYLES {
            for address in ADDRESSES {
                let path = format!("/hg/r/{style}{command}{address}");
                let reply = server.get(&path);
                assert!(reply.status < 500, "{path}: {}", reply.status);
                let media = reply.header("content-type").unwrap_or_default();
                let is_shown = media.starts_with("text/html");
                assert!(
                    !is_shown || !reply.body.contains("<script"),
                    "{path}: {}",
                    reply.body
                );
                assert!(!reply.body.contains("root:"), "{path}: {}", reply.body);
            }
        }
    }
    assert_eq!(server.get("/hg/r/json-file/1/f").status, 200);
}

#[test]
fn long_addresses_are_answered() {
    let server = served();
    let long = "a".repeat(6_000);
    let deep = "a/".repeat(3_000);
    let nested = format!("{}0{}", "(".repeat(2_500), ")".repeat(2_500));
    let negated = "!".repeat(5_000);
    for path in [
        format!("file/0/{long}"),
        format!("file/0/{deep}"),
        format!("rev/{long}"),
        format!("log?rev={nested}"),
        format!("log?rev={negated}0"),
        format!("rev/{nested}"),
        format!("json-log?rev={long}"),
    ] {
        let reply = server.get(&format!("/hg/r/{path}"));
        assert!(reply.status < 500, "{}: {}", &path[..20], reply.status);
    }
    assert_eq!(server.get("/hg/r/json-file/1/f").status, 200);
}

/// A repository of three changesets that its database has followed, and whose pages have tags.
fn followed(server: &Running) -> [Node; 3] {
    let repo = Repo::create(server.directory.path(), "r", "name = r");
    let settings = "[web]\nname = r\n[history]\nline_counts = yes\n";
    repo.configure(server.directory.path(), settings);
    let first = repo.over(Node::NULL, "first");
    let second = repo.over(first, "second");
    let third = repo.commit([second, Node::NULL], "Bo <bo@b>", ("f", "1\n2\n"));
    let old = SystemTime::now() - Duration::from_secs(3600);
    for name in ["store/00changelog.i", "store/phaseroots"] {
        let path = server.directory.path().join("repos/r/.hg").join(name);
        if let Ok(file) = std::fs::File::open(path) {
            file.set_modified(old).unwrap();
        }
    }
    let counted = "/hg%2Fr/_design/history/_view/by_author";
    wait(server, counted, |reply| reply.body.contains("\"value\":3"));
    wait(server, "/hg/r/statistics", |reply| reply.status == 200);
    [first, second, third]
}

#[test]
fn statistics_are_drawn_from_the_views() {
    let server = Running::start_with("[history]\npoll_secs = 1\n");
    followed(&server);
    let page = server.get("/hg/r/statistics");
    assert_eq!(page.status, 200, "{}", page.body);
    for part in [
        "1970-02",
        "<td>1970</td><td>3</td>",
        "<td>Ada</td><td class=\"number\">2</td>",
        "<td>Bo</td><td class=\"number\">1</td>",
        "<rect width=\"50\"",
        "<td>f</td><td class=\"number\">+2 \u{2212}0</td>",
        "aria-current=\"page\">Statistics",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(server.get("/hg/r/").body.contains("/hg%2Fr"));
    let tag = || {
        server
            .get("/hg/r/statistics")
            .header("etag")
            .map(str::to_owned)
    };
    let before = tag();
    assert!(before.is_some() && before == tag());
    // A person's document is counted before there is a tag again.
    let put = server.send("PUT", "/hg%2Fr/note", &[ADMIN], "{}");
    assert_eq!(put.status, 201, "{}", put.body);
    wait(&server, "/hg/r/statistics", |reply| {
        let is_whole = !reply.body.contains("not counted yet");
        assert!(reply.header("etag").is_none() || is_whole, "{}", reply.body);
        let tag = reply.header("etag");
        tag.is_some_and(|tag| Some(tag) != before.as_deref())
    });
    let repo = server.directory.path().join("repos/r/.hg/hgrc");
    std::fs::write(repo, "[history]\ndatabases = no\n").unwrap();
    wait(&server, "/hg/r/statistics", |reply| reply.status == 404);
    assert!(!server.get("/hg/r/").body.contains("statistics"));
}

#[test]
fn documents_of_people_stand_beside_their_changeset() {
    let server = Running::start_with("[history]\npoll_secs = 1\n");
    let [_, second, third] = followed(&server);
    let (page, shortlog) = (format!("/hg/r/rev/{third}"), "/hg/r/shortlog");
    let tags =
        || [page.as_str(), shortlog].map(|path| server.get(path).header("etag").map(str::to_owned));
    let before = tags();
    assert!(before[0].is_some() && before[1].is_some(), "{before:?}");
    let put = |name: &str, document: serde_json::Value| {
        let path = format!("/hg%2Fr/{third}:{name}");
        let reply = server.send("PUT", &path, &[ADMIN], &document.to_string());
        assert_eq!(reply.status, 201, "{}", reply.body);
    };
    put(
        "build:linux",
        json!({
            "type": "build", "state": "failed", "text": "<script>x", "url": "https://ci.example/?a&b",
        }),
    );
    put(
        "review:1",
        json!({
            "type": "review", "state": "approved", "author": "Ada", "path": "f", "line": 2, "url": "javascript:x",
        }),
    );
    put("z", json!({"path": "../x", "text": ["no text"]}));
    let shown = server.get(&page).body;
    let short = &third.to_string()[..12];
    for part in [
        "<strong>build</strong> <span class=\"name removed\">failed</span>",
        "href=\"https://ci.example/?a&#38;b\"",
        "<strong>review</strong> <span class=\"name added\">approved</span>",
        &format!("<a href=\"/hg/r/file/{short}/f#l2\">f:2</a>"),
        "<strong>document</strong> ../x",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        !shown.contains("<script") && !shown.contains("javascript:"),
        "{shown}"
    );
    let other = server.get(&format!("/hg/r/rev/{second}")).body;
    assert!(!other.contains("Reviews"), "{other}");
    let after = tags();
    assert_ne!(after[0], before[0]);
    assert_eq!(after[1], before[1]);
    let hgrc = server.directory.path().join("repos/r/.hg/hgrc");
    std::fs::write(hgrc, "[web]\nallow_read = ada\n").unwrap();
    for path in [page.as_str(), "/hg/r/statistics"] {
        let reply = server.get(path);
        assert_eq!(reply.status, 401);
        assert!(!reply.body.contains("ci.example"), "{}", reply.body);
    }
}

#[test]
fn source_text_is_highlighted_unless_that_is_off() {
    let server = Running::start_with("[history]\ndatabases = no\n");
    let repo = Repo::create(server.directory.path(), "r", "");
    let text = "/* one\ntwo */ fn f() { \"<b>\" }\n";
    let node = repo.commit([Node::NULL; 2], "Ada", ("a.rs", text));
    repo.commit(
        [node, Node::NULL],
        "Ada",
        ("a.rs", &text.replace("two", "too")),
    );
    let lines = "<span class=\"hc\">too */</span> <span class=\"hk\">fn</span> f() { <span class=\"hs\">&#34;&#60;b&#62;&#34;</span> }";
    for page in ["file", "annotate"] {
        let body = server.get(&format!("/hg/r/{page}/tip/a.rs")).body;
        assert!(
            body.contains(lines) && body.contains("<span class=\"hc\">/* one</span>"),
            "{body}"
        );
    }
    let body = server.get("/hg/r/rev/tip").body;
    assert!(
        body.contains("-t<mark>w</mark>o */") && body.contains("+t<mark>o</mark>o */"),
        "{body}"
    );
    repo.configure(server.directory.path(), "[web]\nhighlight = no\n");
    let body = server.get("/hg/r/file/tip/a.rs").body;
    assert!(
        body.contains("<pre>/* one</pre>") && !body.contains("<span class=\"h"),
        "{body}"
    );
}

#[test]
fn tags_depend_on_settings_and_the_root_on_the_client() {
    let server = Running::start_with("[history]\ndatabases = no\n");
    let repo = Repo::create(server.directory.path(), "r", "name = r");
    repo.over(Node::NULL, "first");
    let path = server
        .directory
        .path()
        .join("repos/r/.hg/store/00changelog.i");
    let old = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::open(path)
        .unwrap()
        .set_modified(old)
        .unwrap();
    let root = server.directory.path().join("repos/r/.hg/store/phaseroots");
    let _ = std::fs::File::open(root).map(|file| file.set_modified(old).unwrap());
    let tag = |path: &str| server.get(path).header("etag").map(str::to_owned).unwrap();
    let paths = ["/hg/r/shortlog", "/hg/r/json-log"];
    let before = paths.map(tag);
    repo.configure(server.directory.path(), "[web]\nname = other\n");
    let after = paths.map(tag);
    assert!(
        before[0] != after[0] && before[1] != after[1],
        "{before:?} {after:?}"
    );
    // The second one comes from memory.
    let [made, kept] = [(); 2].map(|()| server.get(paths[0]));
    assert_eq!((made.status, &made.body), (kept.status, &kept.body));
    for name in ["etag", "content-type", "content-security-policy"] {
        assert!(
            kept.header(name).is_some() && made.header(name) == kept.header(name),
            "{name}"
        );
    }
    let known = [("if-none-match", after[0].as_str())];
    assert_eq!(server.send("GET", paths[0], &known, "").status, 304);
    for accept in ["text/html", "application/json"] {
        let reply = server.send("GET", "/", &[("accept", accept)], "");
        let varies = reply.header("vary").unwrap_or_default();
        assert!(varies.contains("Accept"), "{accept}: {varies}");
    }
}
