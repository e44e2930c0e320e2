//! The server is killed while clients clone: nothing half done is left, and the next clone works.

use super::Site;
use crate::hgcli::our_hg;
use crate::killing::{bytes_below, is_caught, start};
use std::path::Path;
use varve_testkit::peers::{hg, hg_program};
use varve_testkit::repos;

/// Together far more than the buffers of a connection, in which it may lie already when the server
/// ends.
const FILES: u32 = 20;
const LEN: usize = 1 << 20;

/// Rounds of one way to clone.
const ROUNDS: u64 = 5;

fn noisy() -> Site {
    let site = Site::new();
    let (hg, root) = (hg(), site.repository("r"));
    repos::make(&hg, &root, repos::DEFAULT);
    for file in 0..FILES {
        repos::write(&root, &format!("f{file}"), &repos::noise(LEN, file));
    }
    repos::commit(&hg, &root, "noise");
    site
}

#[test]
fn clones_from_a_server_that_is_killed_leave_nothing_behind() {
    let site = noisy();
    let work = tempfile::tempdir().unwrap();
    let log = |root: &Path| {
        hg().ok(root, &["verify", "-q"]);
        hg().ok(root, &["log", "-T", "{node}\n"])
    };
    let source = log(&site.repository("r"));
    let clone = work.path().join("clone");
    for (program, how) in [
        (hg_program(), "--pull"),
        (hg_program(), "--stream"),
        (our_hg(), "--pull"),
        (our_hg(), "--stream"),
    ] {
        let mut cut = 0;
        for round in 0..ROUNDS {
            let server = site.serve();
            let begin = |url: &str| {
                let line = ["clone", "-U", how, url, clone.to_str().unwrap()];
                start(&program, work.path(), &line)
            };
            let mut client = begin(&server.url("/hg/r"));
            // Up to a third of it has been stored.
            let least = 1 + u64::from(FILES) * LEN as u64 * round / (3 * ROUNDS);
            let has_some = || bytes_below(&clone.join(".hg")) > least;
            let is_there = is_caught(&mut client, has_some, 0);
            server.kill();
            let is_whole = client.wait().unwrap().success();
            cut += u64::from(is_there && !is_whole);
            assert_eq!(clone.exists(), is_whole, "{program:?} {how}");
            if !is_whole {
                let server = site.serve();
                assert!(begin(&server.url("/hg/r")).wait().unwrap().success());
            }
            assert_eq!(log(&clone), source, "{program:?} {how}");
            std::fs::remove_dir_all(&clone).unwrap();
        }
        assert!(cut >= ROUNDS / 2, "{program:?} {how}: {cut} of {ROUNDS}");
    }
}
