//! Pages of repositories that were made to do harm, and addresses that make no sense.

use crate::client::Running;
use crate::history::repo::Repo;
use varve_repo::Node;

/// Markup in a name, a description and a file, and characters that stand in no page.
const MARKUP: &str = "\"'><script>x</script>\u{1}\u{7f}&\\";

const STYLES: [&str; 5] = ["", "json-", "raw-", "atom-", "rss-"];
const COMMANDS: [&str; 14] = [
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
