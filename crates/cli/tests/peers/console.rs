//! Fauxton in headless Chromium against the server, and PouchDB in a page of another site; the scripts lie in
//! `tests/npm/console/`. Pictures of pages that fail go into the directory for temporary files of the build; with
//! `VARVE_SCREENSHOTS=1` those of all steps do.

use super::Site;
use std::path::Path;
use std::sync::Mutex;
use varve_testkit::peers::{chromium, run_script};

/// One browser at a time: several on two cores are so slow that Fauxton's own notifications lie over its buttons.
static BROWSER: Mutex<()> = Mutex::new(());

fn run(script: &str) {
    in_browser(&Site::new(), &format!("console/{script}"), &[]);
}

/// Runs a script of `tests/npm`, which drives a browser against the server of a site, with more settings.
pub(super) fn in_browser(site: &Site, script: &str, more: &[(&str, &str)]) {
    let _alone = BROWSER.lock();
    let mut server = site.serve();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
    let (url, chromium) = (server.admin_url(""), chromium());
    let settings = [
        ("SERVER", url.as_str()),
        ("CHROMIUM", &*chromium.to_string_lossy()),
        ("PICTURES", &*pictures.to_string_lossy()),
    ];
    run_script(&scripts.join(script), &[&settings[..], more].concat());
    assert!(server.is_running(), "{}", server.printed());
}

#[test]
fn admins_log_in_and_out() {
    run("login.js");
}

#[test]
fn databases_are_made_and_deleted() {
    run("databases.js");
}

#[test]
fn documents_are_edited() {
    run("documents.js");
}

#[test]
fn views_are_edited() {
    run("views.js");
}

#[test]
fn selectors_find_documents() {
    run("find.js");
}

#[test]
fn the_server_is_administered() {
    run("server.js");
}

#[test]
fn uploads_cannot_act_in_an_admins_name() {
    run("attack.js");
}

#[test]
fn pouchdb_replicates_from_another_site() {
    run("pouchdb.js");
}
