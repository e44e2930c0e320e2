//! Pages of a repository: JSON, text and feeds byte for byte as stock's, and pages for browsers without a broken link.

use super::*;
use std::collections::BTreeSet;
use varve_testkit::varve;

/// Settings of both servers.
const OPTIONS: &[&str] = &[
    "-p",
    "0",
    "-a",
    "127.0.0.1",
    "-A",
    "/dev/null",
    "-n",
    "Lake & <shore>",
    "--config",
    "web.maxchanges=5",
    "--config",
    "web.allow-archive=zip gz bz2",
    "--config",
    "graph.closed.width=3",
    "--config",
    "graph.default.color=aabbcc",
];

/// A repository with branches, a merge, a copy, names, a secret changeset, and files of many kinds.
pub(crate) fn lake(directory: &Path) -> Hg {
    let hg = hg();
    std::fs::create_dir_all(directory).unwrap();
    hg.ok(directory, &["init"]);
    let commit = |message: &str, user: &str, date: &str| {
        hg.ok(
            directory,
            &["commit", "-qA", "-m", message, "-u", user, "-d", date],
        );
    };
    let long: String = (1..=30).map(|line| format!("l{line}\n")).collect();
    for (name, bytes) in [
        ("long.c", long.as_bytes()),
        ("s/t/f", b"1\n"),
        ("s/g", b"1\n"),
        ("only/one/way/f", b"f\n"),
        ("nonl", b"no newline"),
        ("p.png", b"\x89PNG\0"),
        ("la tin", b"caf\xe9 <b> & \"\n"),
    ] {
        repos::write(directory, name, bytes);
    }
    std::os::unix::fs::symlink("nonl", directory.join("link")).unwrap();
    commit("zero", "A B <a.x@b.c>", "0 0");
    let changed = long.replace("l3\n", "L3\n").replace("l20\n", "L20\nnew\n");
    repos::write(directory, "long.c", changed.as_bytes());
    repos::write(directory, "nonl", b"no newline\nmore");
    commit(
        "one: <edit> & \"so\"\nsecond 'line'\n\nthird",
        "J\u{f6}e \"x\" <j@x>",
        "1 -3600",
    );
    hg.ok(directory, &["update", "-q", "0"]);
    repos::write(directory, "long.c", format!("{long}side\n").as_bytes());
    repos::write(directory, "s/g", b"1\n\ttab <b>&\"\n");
    commit("side", "bo", "2 7200");
    hg.ok(directory, &["merge", "-q", "1", "--tool", ":union"]);
    commit("merge both", "bo", "3 0");
    hg.ok(directory, &["remove", "s/t/f"]);
    hg.ok(directory, &["copy", "long.c", "copy.c"]);
    repos::write(directory, "ctl", b"a\r\nb\x7f\x01\n");
    commit("removed and copied", "bo", "4 0");
    end_of_lake(&hg, directory);
    hg
}

/// A closed branch, names, a secret changeset, and another head.
fn end_of_lake(hg: &Hg, directory: &Path) {
    let commit = |message: &str, date: &str, options: &[&str]| {
        let line = ["commit", "-qA", "-m", message, "-u", "bo", "-d", date];
        hg.ok(directory, &[&line[..], options].concat());
    };
    hg.ok(directory, &["branch", "-q", "closed"]);
    repos::write(directory, "c", b"c\n");
    commit("on closed", "5 0", &[]);
    commit("close it", "6 0", &["--close-branch"]);
    hg.ok(directory, &["update", "-q", "4"]);
    hg.ok(directory, &["tag", "-l", "loc"]);
    hg.ok(
        directory,
        &["tag", "-r", "1", "rel 1.0", "-d", "7 0", "-u", "bo"],
    );
    hg.ok(directory, &["bookmark", "-r", "1", "mark"]);
    hg.ok(directory, &["bookmark", "-r", "2", "a/b"]);
    hg.ok(directory, &["phase", "-p", "2"]);
    repos::write(directory, "hidden", b"secret\n");
    commit("secret", "9 0", &["--secret"]);
    hg.ok(directory, &["update", "-q", "3"]);
    repos::write(directory, "o", b"o\n");
    commit("other head", "10 0", &[]);
}

/// Status, type, name and body of an answer, without the server's port; pages for browsers are each program's own.
fn told(server: &Serving, client: &mut Client, path: &str) -> (u16, String, String, Vec<u8>) {
    let answer = client.request("GET", path, &[], b"").unwrap();
    let header = |name| answer.header(name).unwrap_or_default().to_owned();
    let (media, name) = (header("content-type"), header("content-disposition"));
    // A zip archive of ours has lengths before the files, as in a file; stock sends them behind.
    let body = match media.starts_with("text/html") || media == "application/zip" {
        true => Vec::new(),
        false => {
            let port = server.port().to_string();
            match String::from_utf8(answer.body.clone()) {
                // Stock names itself in some addresses where the client said `127.0.0.1`.
                Ok(text) => text
                    .replace(&port, "PORT")
                    .replace("localhost:", "127.0.0.1:")
                    .into_bytes(),
                Err(_) => answer.body,
            }
        }
    };
    (answer.status, media, name, body)
}

const PLAIN: &[&str] = &[
    "tags",
    "bookmarks",
    "branches",
    "summary",
    "nosuch",
    "annotate",
    "filelog",
    "log",
];

const REVS: &[&str] = &[
    "0",
    "1",
    "3",
    "4",
    "6",
    "tip",
    "closed",
    "rel%201.0",
    "a%252Fb",
    "nope",
    "null",
    "8",
    "1:2",
];

const QUERIES: &[&str] = &[
    "json-log?rev=side",
    "json-log?rev=head()",
    "json-log?rev=1:2",
    "json-log?rev=bo%20merge",
    "json-log?rev=(",
    "json-log?rev=all()&revcount=2",
    "json-log?rev=grep(x)",
    "json-log?rev=hidden",
    "json-log?rev=user(bo)",
    "json-log?revcount=2",
    "json-shortlog?revcount=0",
    "json-graph/3?revcount=2",
    "json-filelog/4/long.c?revcount=1",
    "json-comparison/1/long.c?context=1",
    "json-comparison/1/long.c?context=full",
    "file/0/nonl?style=raw",
    "?style=json",
    "?style=raw",
    "?cmd=changelog&style=json",
    "?cmd=changeset&node=1&style=json",
    "?cmd=file&filenode=1&file=nonl&style=json",
    "?cmd=rawfile&node=1&file=nonl",
    "atom-log/1/nonl",
    "rss-log/1/nonl",
    "rev/nope",
    "archive/1.zip",
    "archive/1.tar.gz",
    "archive/tip.tar.bz2",
    "archive/1.zip/s",
    "archive/1.xyz",
    "archive/nope.zip",
    "archive/1.zip/nope",
];

/// All addresses that are compared.
fn addresses() -> Vec<String> {
    let mut all = Vec::new();
    let of_changesets = ["log", "shortlog", "rev", "graph", "manifest"];
    let of_files = ["file", "annotate", "diff", "comparison", "filelog"];
    for style in ["json", "raw", "atom", "rss"] {
        all.extend(PLAIN.iter().map(|command| format!("/{style}-{command}")));
        for command in of_changesets {
            all.extend(REVS.iter().map(|rev| format!("/{style}-{command}/{rev}")));
        }
        if matches!(style, "json" | "raw") {
            let files = [
                "long.c", "s/t/f", "s/g", "nonl", "p.png", "la%20tin", "link", "copy.c", "ctl",
                "s", "only", "hidden",
            ];
            for command in of_files {
                for rev in ["0", "1", "3", "4"] {
                    all.extend(
                        files
                            .iter()
                            .map(|file| format!("/{style}-{command}/{rev}/{file}")),
                    );
                }
            }
        }
    }
    all.extend(QUERIES.iter().map(|query| format!("/{query}")));
    all
}

#[test]
fn programs_get_the_bytes_of_stock() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("lake");
    lake(&source);
    let [theirs, ours] = programs().map(|(_, program)| Serving::start(&program, &source, OPTIONS));
    let mut clients = [theirs.client(), ours.client()];
    for address in addresses() {
        let [their, our] = &mut clients;
        let (expected, found) = (told(&theirs, their, &address), told(&ours, our, &address));
        let shown = |answer: &(u16, String, String, Vec<u8>)| {
            let body = String::from_utf8_lossy(&answer.3).into_owned();
            (answer.0, answer.1.clone(), answer.2.clone(), body)
        };
        assert_eq!(shown(&found), shown(&expected), "{address}");
    }
    let [_, our] = &mut clients;
    let list = String::from_utf8(told(&ours, our, "/json-help").3).unwrap();
    for topic in ["commit", "serve", "backout", "phases"] {
        assert!(list.contains(&format!("\"topic\": \"{topic}\"")), "{list}");
    }
    let phases = String::from_utf8(told(&ours, our, "/json-help/phases").3).unwrap();
    assert!(
        phases.contains("\"topic\": \"phases\"") && phases.contains("secret"),
        "{phases}"
    );
}

/// Addresses of a page's links within the server, without their fragments.
fn links(page: &str) -> Vec<String> {
    let parts = page.split("href=\"").skip(1);
    let found = parts.filter_map(|part| part.split('"').next());
    let found = found.map(|link| link.replace("&#38;", "&"));
    let within = found.filter(|link| link.starts_with('/'));
    within
        .map(|link| link.split('#').next().unwrap_or_default().to_owned())
        .collect()
}

/// Follows all links from one address, and checks what every page has; returns how many there were.
fn crawl(mut client: Client, start: &str, within: &str) -> usize {
    let mut waiting = vec![start.to_owned()];
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    while let Some(address) = waiting.pop() {
        let answer = client.request("GET", &address, &[("Accept", "text/html")], b"");
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{address}: {}", answer.text());
        let media = answer.header("content-type").unwrap_or_default();
        if !media.starts_with("text/html") {
            continue;
        }
        let page = answer.text();
        let has = |part: &str| page.matches(part).count();
        let counts = [
            has("<html lang=\"en\">"),
            has("<h1>"),
            has("<title>"),
            has("<main"),
        ];
        assert_eq!(counts, [1; 4], "{address}: {page}");
        assert!(
            !page.contains("<title></title>") && has("<script") == 0,
            "{address}"
        );
        let ids: Vec<&str> = page
            .split(" id=\"")
            .skip(1)
            .filter_map(|part| part.split('"').next())
            .collect();
        let different: BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), different.len(), "{address} has an id twice");
        for link in links(&page) {
            if link.starts_with(within) && known.insert(link.clone()) {
                waiting.push(link);
            }
        }
    }
    known.len()
}

#[test]
fn every_link_leads_to_a_page() {
    let directory = tempfile::tempdir().unwrap();
    varve::configure(directory.path(), "");
    let source = directory.path().join("repos/deep/a lake");
    lake(&source);
    let settings = "[web]\nname = <lake>\ndescription = a & b\nallow-archive = gz\n";
    std::fs::write(source.join(".hg/hgrc"), settings).unwrap();
    let server = varve::Server::start(env!("CARGO_BIN_EXE_varve"), directory.path());
    let count = crawl(server.anonymous(), "/", "/hg");
    assert!(count > 150, "{count}");
    let text = |accept: &str| {
        let mut client = server.anonymous().with_header("Accept", accept);
        client.request("GET", "/", &[], b"").unwrap().text()
    };
    assert!(text("application/json").contains("couchdb"));
    assert!(text("*/*").contains("couchdb"));
    let mut client = server.anonymous();
    let place = "/hg/deep/a%20lake";
    for (path, status) in [
        ("/rev/8", 404),
        ("/file/tip/../../../varve.ini", 404),
        ("/file/tip/.hg/hgrc", 404),
        ("/raw-file/tip/%2e%2e/%2e%2e/varve.ini", 404),
        ("/static/..%2Fstyle.css", 404),
        ("/nosuch", 400),
    ] {
        let answer = client.request("GET", &format!("{place}{path}"), &[], b"");
        assert_eq!(answer.unwrap().status, status, "{path}");
    }
    let all = client.get(&format!("{place}/json-log?revcount=100")).text();
    assert!(!all.contains("secret") && all.contains("zero"), "{all}");
    std::fs::write(source.join(".hg/hgrc"), "[web]\nallow_read = ada\n").unwrap();
    for path in [
        "/",
        "/json-log",
        "/raw-file/0/nonl",
        "/archive/0.tar.gz",
        "/?cmd=changelog",
    ] {
        let answer = client.request("GET", &format!("{place}{path}"), &[], b"");
        assert_eq!(answer.unwrap().status, 401, "{path}");
    }
}
