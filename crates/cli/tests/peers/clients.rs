//! Clients in other languages than npm's go through all they can ask a server: ibmcloudant and couchdb for Python
//! (`tests/python/`), kivik for Go (`tests/go/`). Each driver fails for a method of its client that it neither called
//! nor explains.

use super::Site;
use std::path::Path;
use varve_testkit::peers::{run_kivik, run_python};

fn with_server(run: impl FnOnce(&[(&str, &str)])) {
    let site = Site::new();
    let mut server = site.serve();
    run(&[("SERVER", &server.admin_url(""))]);
    assert!(server.is_running(), "{}", server.printed());
}

fn python(script: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    with_server(|settings| drop(run_python(&directory.join(script), settings)));
}

#[test]
fn ibmcloudant_does_its_work() {
    python("cloudant.py");
}

#[test]
fn couchdb_for_python_does_its_work() {
    python("couchdb_python.py");
}

#[test]
fn kivik_does_its_work() {
    with_server(|settings| drop(run_kivik(settings)));
}
