//! `varve serve --prefix`: everything lies below a path, and nothing names anything outside.

use super::Site;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::{Outcome, hg};
use varve_testkit::repos;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

fn serve(directory: &Path, options: &[&str]) -> Server {
    configure(directory, "");
    let server = Server::start_with(crate::VARVE, directory, options);
    server.unwrap_or_else(|ended| panic!("{ended:?}"))
}

#[test]
fn locations_of_databases_are_below_it() {
    let site = Site::new();
    let server = serve(site.path(), &["--prefix", "/deep/er/"]);
    let mut admin = server.admin();
    for outside in [
        "/",
        "/_up",
        "/db",
        "/deep",
        "/deep/erx/_up",
        "/hg",
        "/hg/r?cmd=heads",
    ] {
        let answer = admin.request("GET", outside, &[], b"").unwrap();
        assert_eq!(answer.status, 404, "{outside}");
    }
    let base = format!("http://{}/deep/er", server.address());
    let welcome = admin.get("/deep/er").expect_status(200).json();
    assert_eq!(welcome["couchdb"], "Welcome");
    let made = admin.put("/deep/er/a%2Fb", &Value::Null).expect_status(201);
    assert_eq!(made.header("location"), Some(&*format!("{base}/a%2Fb")));
    let written = admin.put("/deep/er/a%2Fb/doc", &json!({"x": 1}));
    let written = written.expect_status(201);
    assert_eq!(
        written.header("location"),
        Some(&*format!("{base}/a%2Fb/doc"))
    );
    let revision = written.json()["rev"].as_str().unwrap().to_owned();
    let path = format!("/deep/er/a%2Fb/doc/file?rev={revision}");
    let text = [("content-type", "text/plain")];
    let attached = admin.request("PUT", &path, &text, b"x").unwrap();
    let attached = attached.expect_status(201);
    assert_eq!(
        attached.header("location"),
        Some(&*format!("{base}/a%2Fb/doc/file"))
    );
    let login = format!("name={ADMIN}&password={PASSWORD}");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let mut nobody = server.anonymous();
    let next = "/deep/er/_session?next=/a%252Fb";
    let moved = nobody
        .request("POST", next, &form, login.as_bytes())
        .unwrap();
    assert_eq!(moved.header("location"), Some(&*format!("{base}/a%2Fb")));
}

#[test]
fn repositories_and_their_bundles_are_below_it() {
    let site = Site::new();
    let (hg, source) = (hg(), site.repository("team/r"));
    repos::make(&hg, &source, repos::DEFAULT);
    std::fs::write(
        source.join(".hg/hgrc"),
        "[web]\nallow-push = *\npush_ssl = no\n",
    )
    .unwrap();
    let mut make = Command::new(crate::VARVE);
    make.arg("clonebundle").arg(&source).env("HGRCPATH", "");
    Outcome::of(&mut make, Path::new(crate::VARVE)).success();
    let server = serve(site.path(), &["--prefix", "x y", "--name", "Ours & theirs"]);
    let work = tempfile::tempdir().unwrap();
    let url = server.url("/x%20y/hg/team/r");
    let said = hg.ok(work.path(), &["clone", &url, "clone"]);
    let bundle = format!("applying clone bundle from {url}/bundle-cache/varve-");
    assert!(said.contains(&bundle), "{said}");
    let clone = work.path().join("clone");
    repos::write(&clone, "pushed", b"x\n");
    hg.ok(&clone, &["commit", "-A", "-m", "pushed"]);
    hg.ok(&clone, &["push", "-f", "-q"]);
    assert_eq!(
        hg.ok(&source, &["log", "-r", "tip", "-T", "{desc}"]),
        "pushed"
    );
    let index = server
        .anonymous()
        .get("/x%20y/hg")
        .expect_status(200)
        .text();
    assert!(
        index.contains("<title>Ours &#38; theirs</title>"),
        "{index}"
    );
    assert!(
        index.contains("<a href=\"/x%20y/hg/team/r\">team/r</a>"),
        "{index}"
    );
    let page = server.anonymous().get("/x%20y/hg/team/r").text();
    assert!(page.contains(&format!("hg clone {url}<")), "{page}");
    assert!(
        page.contains("<a href=\"/x%20y/hg\">Repositories"),
        "{page}"
    );
}
