//! A hundred thousand bookmarks, which come from stock `hg serve` and go there.

use super::elsewhere::{Origin, ours};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use varve_testkit::repos;

const MANY: usize = 100_000;

/// Gives a repository the bookmarks, in order of their names.
fn bookmark(repository: &Path, node: &str) {
    let mut lines = String::new();
    for number in 0..MANY {
        writeln!(lines, "{node} b{number:06}").unwrap();
    }
    std::fs::write(repository.join(".hg/bookmarks"), lines).unwrap();
}

fn bookmarks(repository: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository.join(".hg/bookmarks")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_hundred_thousand_bookmarks_come_from_stock_hg_and_go_there() {
    let origin = Origin::nothing();
    origin.hg().ok(origin.folder(), &["init", "origin"]);
    let rc = "[web]\nallow-push = *\npush_ssl = no\n";
    repos::write(&origin.path(), ".hg/hgrc", rc.as_bytes());
    origin.commit("a");
    let node = origin.ok("log -r 0 -T {node}");
    bookmark(&origin.path(), &node);
    let server = origin.serve();
    let url = server.url();
    let folder = origin.folder();
    let done = ours(folder, &["clone", "-q", url, "clone"]);
    assert!(done.status.success(), "{done:?}");
    let clone = folder.join("clone");
    assert_eq!(bookmarks(&clone), bookmarks(&origin.path()));
    origin.commit("b");
    origin.ok("bookmark -f -r 1 b050000");
    let done = ours(&clone, &["pull", "-q"]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(bookmarks(&clone), bookmarks(&origin.path()));
    origin
        .hg()
        .ok(&clone, &["bookmark", "-f", "-r", "1", "b099999"]);
    let done = ours(&clone, &["push", "-q", "-B", "b099999"]);
    assert!(done.stderr.is_empty(), "{done:?}");
    assert_eq!(bookmarks(&clone), bookmarks(&origin.path()));
}
