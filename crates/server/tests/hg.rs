//! Repositories over HTTP, as far as that can be seen without Mercurial.

use crate::client::{ADMIN, Running};

#[test]
fn there_is_nothing_outside_of_repos() {
    let server = Running::start();
    for path in [
        "/hg/none",
        "/hg/../varve.ini",
        "/hg/%2e%2e/databases",
        "/hg/a%2F..%2Fb",
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(!reply.body.contains("secret"), "{}", reply.body);
    }
    let index = server.get("/hg");
    assert_eq!(
        index.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(server.send("PUT", "/hg/none", &[ADMIN], "x").status, 405);
}

#[test]
fn an_unknown_requirement_is_refused_by_name() {
    let server = Running::start();
    let hg = server.directory.path().join("repos/team/new/.hg");
    std::fs::create_dir_all(&hg).unwrap();
    std::fs::write(hg.join("requires"), "revlogv1\nexp-from-the-future\n").unwrap();
    let reply = server.get("/hg/team/new?cmd=capabilities");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/hg-error"));
    assert!(reply.body.contains("exp-from-the-future"), "{}", reply.body);
}
