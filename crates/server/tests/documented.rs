//! `docs/couchdb.md` against the routes of the server.

use crate::client::{ADMIN, Running};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Sources that take paths apart, from the crate's directory, and the functions that do, up to the end of each.
const ROUTES: [(&str, &[&str]); 4] = [
    (
        "src/couch/target.rs",
        &["    pub fn parse(", "    fn of_design("],
    ),
    (
        "src/couch/admin/mod.rs",
        &["const OWN:", "pub(crate) async fn route("],
    ),
    (
        "src/couch/admin/node/mod.rs",
        &["pub(super) async fn route("],
    ),
    ("src/couch/admin/shards.rs", &["pub(super) fn reshard("]),
];

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words in quotes that stand behind `before`.
fn quoted<'t>(text: &'t str, before: &str) -> impl Iterator<Item = &'t str> {
    let behind = text
        .match_indices(before)
        .map(|(at, found)| &text[at + found.len()..]);
    behind.filter_map(|rest| rest.split_once('"').map(|(word, _)| word))
}

/// The text of an item, which ends with the first line that closes its indentation.
fn item<'t>(source: &'t str, head: &str) -> &'t str {
    let at = source
        .find(head)
        .unwrap_or_else(|| panic!("{head} is gone"));
    let indent = head.len() - head.trim_start().len();
    let end = format!("\n{}}}\n", " ".repeat(indent));
    let list_end = "\n];\n";
    let rest = &source[at..];
    let ends = [end.as_str(), list_end].map(|end| rest.find(end));
    &rest[..ends.into_iter().flatten().min().unwrap()]
}

fn is_of_names(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'_'
}

/// Segments of paths that the server knows, such as `_all_docs`.
fn routed() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (file, items) in ROUTES {
        let source = read(file);
        for text in items.iter().map(|head| item(&source, head)) {
            let is_segment = |word: &&str| {
                let rest = word.strip_prefix('_').unwrap_or_default();
                !rest.is_empty() && rest.bytes().all(is_of_names)
            };
            let words = quoted(text, "\"").filter(is_segment);
            found.extend(words.map(str::to_owned));
        }
    }
    found
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Names of query parameters that the product's code asks for.
fn parameters() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/couch"),
        &mut files,
    );
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let source = read(file);
        let product = source.split("#[cfg(test)]").next().unwrap();
        for before in ["query(\"", "flag(\""] {
            found.extend(quoted(product, before).map(str::to_owned));
        }
    }
    let options = read("../views/src/options.rs");
    for head in [
        "    fn set_text(",
        "    fn set_flag(",
        "    fn set_json(",
        "fn takes_json(",
    ] {
        let words = quoted(item(&options, head), "\"");
        let is_name = |word: &&str| word.bytes().all(is_of_names);
        found.extend(
            words
                .filter(is_name)
                .filter(|word| !word.is_empty())
                .map(str::to_owned),
        );
    }
    // Not names of parameters.
    for other in ["parameter", "true", "false"] {
        found.remove(other);
    }
    found
}

#[test]
fn every_route_and_parameter_is_in_the_table() {
    let table = read("../../docs/couchdb.md");
    let words: BTreeSet<&str> = table
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || "_-".contains(letter)))
        .collect();
    let (routed, parameters) = (routed(), parameters());
    assert!(
        routed.len() > 50 && routed.contains("_bulk_docs"),
        "{routed:?}"
    );
    assert!(
        parameters.len() > 40 && parameters.contains("seq_interval"),
        "{parameters:?}"
    );
    let is_missing = |name: &&String| !words.contains(name.as_str());
    let missing: Vec<&String> = routed
        .iter()
        .chain(&parameters)
        .filter(is_missing)
        .collect();
    assert!(missing.is_empty(), "not in docs/couchdb.md: {missing:?}");
}

#[test]
fn what_is_said_to_be_absent_is_refused() {
    let server = Running::start();
    for path in ["/db", "/db/_design/d"] {
        assert_eq!(server.send("PUT", path, &[ADMIN], "{}").status, 201);
    }
    let table = read("../../docs/couchdb.md");
    let rows = table.lines().filter(|line| line.starts_with("| `/"));
    let mut asked = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, paths, methods, state, ..] = cells[..] else {
            panic!("{row}");
        };
        assert!(["same", "differs", "absent"].contains(&state), "{row}");
        if state != "absent" {
            continue;
        }
        let paths = paths.split('`').skip(1).step_by(2);
        for path in paths.filter(|path| path.starts_with('/')) {
            let path = path
                .replace("{db}", "db")
                .replace("{ddoc}", "d")
                .replace("{node}", "_local");
            let path = path.replace("{index}", "i");
            for method in methods.split(", ") {
                let reply = server.send(method, &path, &[ADMIN], "{}");
                assert!(reply.status >= 400, "{method} {path}: {reply:?}");
                asked += 1;
            }
        }
    }
    assert!(asked > 10, "{asked}");
}

#[test]
fn text_search_is_told_to_be_switched_off_as_by_couchdb() {
    let server = Running::start();
    for path in ["/db", "/db/_design/d"] {
        assert_eq!(server.send("PUT", path, &[ADMIN], "{}").status, 201);
    }
    assert_eq!(
        server
            .send("PUT", "/parts?partitioned=true", &[ADMIN], "")
            .status,
        201
    );
    let off = "{\"error\":\"service unavailable\",\"reason\":\"Search is not available\"}\n";
    let missing = "{\"error\":\"not_found\",\"reason\":\"missing\"}\n";
    let json = ("content-type", "application/json");
    for method in ["GET", "POST"] {
        for (path, status, body) in [
            ("/_search_analyze", 503, off),
            ("/db/_search_cleanup", 503, off),
            ("/db/_design/d/_search/i", 503, off),
            ("/db/_design/d/_search_info/i", 503, off),
            ("/db/_design/d/_search_disk_size/i", 503, off),
            ("/parts/_partition/a/_design/d/_search/i", 503, off),
            ("/db/_nouveau_cleanup", 404, missing),
            ("/db/_design/d/_nouveau/i", 404, missing),
            ("/db/_design/d/_nouveau_info/i", 404, missing),
        ] {
            let reply = server.send(method, path, &[ADMIN, json], "{\"q\":\"a\"}");
            assert_eq!(
                (reply.status, reply.body.as_str()),
                (status, body),
                "{method} {path}"
            );
        }
    }
    let analyze = |method| {
        server
            .send(method, "/_nouveau_analyze", &[ADMIN, json], "{}")
            .status
    };
    assert_eq!((analyze("GET"), analyze("POST")), (405, 404));
}
