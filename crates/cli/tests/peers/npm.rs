//! PouchDB and nano from npm against the server; the scripts lie in `tests/npm/`.

use super::Site;
use std::path::Path;
use varve_testkit::peers::run_script;

fn run(script: &str) {
    let site = Site::new();
    let mut server = site.serve();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/npm")
        .join(script);
    let url = server.admin_url("");
    run_script(&path, &[("SERVER", &url)]);
    assert!(server.is_running(), "{}", server.printed());
}

#[test]
fn pouchdb_replicates_both_ways() {
    run("both_ways.js");
}

#[test]
fn pouchdb_pulls_with_few_requests() {
    run("pull_requests.js");
}

#[test]
fn pouchdb_replicates_conflicts() {
    run("conflicts.js");
}

#[test]
fn pouchdb_replicates_live() {
    run("live.js");
}

#[test]
fn pouchdb_replicates_attachments() {
    run("attachments.js");
}

#[test]
fn pouchdb_queries_views() {
    run("views.js");
}

#[test]
fn pouchdb_and_nano_find_by_selectors() {
    run("find.js");
}

#[test]
fn pouchdb_has_databases_compacted() {
    run("compaction.js");
}

#[test]
fn nano_does_its_work() {
    run("nano.js");
}

#[test]
fn nano_asks_partitions() {
    run("partitions.js");
}

#[test]
fn users_replicate_what_names_them() {
    run("access.js");
}

#[test]
fn users_log_in_and_replicate() {
    run("users.js");
}
