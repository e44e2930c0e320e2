//! More databases than there may be files open.

use super::Site;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use varve_testkit::http::Client;
use varve_testkit::varve::{Server, configure};

const DATABASES: usize = 300;
/// Limit of open files for the server.
const FILES: usize = 128;

/// `varve` as it is where only so many files may be open.
fn bounded(site: &Site) -> String {
    let program = site.path().join("bounded");
    let text = format!(
        "#!/bin/sh\nulimit -n {FILES}\nexec '{}' \"$@\"\n",
        crate::VARVE
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    program.to_str().unwrap().to_owned()
}

/// Makes database number `n`, with a document that says so.
fn make_database(admin: &mut Client, n: usize) {
    admin
        .put(&format!("/db{n}"), &Value::Null)
        .expect_status(201);
    admin
        .put(&format!("/db{n}/doc"), &json!({"n": n}))
        .expect_status(201);
}

/// Checks that the document of database number `n` is unchanged.
fn check_database(admin: &mut Client, n: usize) {
    let doc = admin.get(&format!("/db{n}/doc")).expect_status(200);
    assert_eq!(doc.json()["n"], n);
}

#[test]
fn databases_are_opened_in_turn_with_few_descriptors() {
    let site = Site::new();
    configure(site.path(), "");
    let server = Server::start(&bounded(&site), site.path());
    let mut admin = server.admin();
    let map = json!({"views": {"all": {"map": "function (doc) { emit(doc.n); }"}}});
    let view = |n: usize| format!("/db{n}/_design/d/_view/all");
    let mut most = 0;
    for n in 0..DATABASES {
        make_database(&mut admin, n);
        if n % 2 == 0 {
            admin
                .put(&format!("/db{n}/_design/d"), &map)
                .expect_status(201);
            admin.get(&view(n)).expect_status(200);
        }
        most = most.max(server.open_files().len());
    }
    for _ in 0..2 {
        for n in 0..DATABASES {
            check_database(&mut admin, n);
            if n % 2 == 0 {
                let rows = admin.get(&view(n)).expect_status(200).json();
                assert_eq!(rows["rows"][0]["key"], n);
            }
            most = most.max(server.open_files().len());
        }
    }
    assert!(
        (FILES / 4..=FILES).contains(&most),
        "{most} files were open"
    );
}

#[test]
fn as_many_stay_open_as_the_configuration_says() {
    let site = Site::new();
    configure(
        site.path(),
        "[couchdb]\nmax_dbs_open = 7\ndurability = interval:60s\n",
    );
    let server = site.serve();
    let mut admin = server.admin();
    let is_database =
        |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "varve");
    let open = || {
        let files = server.open_files();
        files.iter().filter(|path| is_database(path)).count()
    };
    let before = server.threads();
    for n in 0..100 {
        make_database(&mut admin, n);
    }
    // A thread that looks at one of them may close it a little later.
    while open() != 7 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The thread that waits to sync a database ends with it.
    while server.threads() > before + 50 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for n in 0..100 {
        check_database(&mut admin, n);
    }
}

#[test]
fn indexes_of_older_design_documents_are_closed() {
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/db", &Value::Null).expect_status(201);
    admin.put("/db/doc", &json!({})).expect_status(201);
    let mut design = json!({});
    for n in 0..20 {
        design["views"] = json!({"v": {"map": format!("function (doc) {{ emit({n}); }}")}});
        let made = admin.put("/db/_design/d", &design).expect_status(201);
        design["_rev"] = made.json()["rev"].clone();
        let rows = admin.get("/db/_design/d/_view/v").expect_status(200);
        assert_eq!(rows.json()["rows"][0]["key"], n);
    }
    let open = || {
        let files = server.open_files();
        let is_index = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "view");
        files.iter().filter(is_index).count()
    };
    assert!((1..5).contains(&open()), "{} are open", open());
}
