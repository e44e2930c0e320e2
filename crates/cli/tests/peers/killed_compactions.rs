//! A compaction that copies goes on where `kill -9` has ended it.

use super::Site;
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use varve_testkit::http::Client;
use varve_testkit::repos::noise;
use varve_testkit::varve::{ADMIN, PASSWORD, Server, configure};

/// Documents with one attachment each.
const FILES: u32 = 26;
/// Bytes of each.
const LEN: usize = 8 << 20;
/// After so many bytes of the copy some of it has been committed.
const SOME: u64 = 110 << 20;
const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];

fn fill(server: &Server) {
    let mut client = Client::new(server.address()).with_basic(ADMIN, PASSWORD);
    let created = client.request("PUT", "/files", &JSON, b"").unwrap();
    assert_eq!(created.status, 201);
    for number in 0..FILES {
        let path = format!("/files/{number:02}/noise");
        let kind = [("Content-Type", "application/octet-stream")];
        let answer = client.request("PUT", &path, &kind, &noise(LEN, number + 1));
        assert_eq!(answer.unwrap().status, 201, "{path}");
    }
}

fn compact(server: &Server) {
    let answer = server
        .admin()
        .request("POST", "/files/_compact", &JSON, b"");
    assert_eq!(answer.unwrap().status, 202);
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.ino())
}

fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// Looks until it is so.
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_copy_is_gone_on_with() {
    let site = Site::new();
    let settings = "[compaction]\nin_place_from = 1000gb\n[smoosh]\ndb_channels = none\n";
    configure(site.path(), settings);
    let mut server = site.serve();
    fill(&server);
    let file = site.database_file("files");
    let old = inode(&file);
    let copy = file.with_extension("varve.compact");
    let mut begun = None;
    for round in 0..3 {
        compact(&server);
        wait("the copy", || len(&copy) >= SOME + round * (LEN as u64));
        server.kill();
        assert_eq!(inode(&file), old, "killed in the middle");
        server = site.serve();
        // The database is opened.
        server.admin().get("/files").expect_status(200);
        let kept = len(&copy);
        assert!(kept > 60 << 20, "{round}: {kept}");
        // The same file, that is: no compaction has begun anew.
        assert_eq!(*begun.get_or_insert(inode(&copy)), inode(&copy));
    }
    server
        .admin()
        .put("/files/later", &json!({"n": 1}))
        .expect_status(201);
    compact(&server);
    wait("the end", || inode(&file) != old && !copy.exists());
    assert_eq!(begun, Some(inode(&file)));
    let mut client = server.admin();
    for number in 0..FILES {
        let answer = client
            .get(&format!("/files/{number:02}/noise"))
            .expect_status(200);
        assert!(answer.body == noise(LEN, number + 1), "{number}");
    }
    client.get("/files/later").expect_status(200);
}
