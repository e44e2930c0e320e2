//! `shelve` and `unshelve`, killed at any moment: the changes are in the working copy, in a shelf, or in a state that
//! can be given up.

use super::DATES;
use crate::hgcli::our_hg;
use crate::killing::{kill, start};
use std::path::Path;
use std::thread;
use std::time::Duration;
use varve_testkit::peers::hg;
use varve_testkit::repos::{commit, write};

/// Moments at which each command is killed.
const MOMENTS: u64 = 12;
const FILES: usize = 40;

fn fill(path: &Path, text: &str) {
    for file in 0..FILES {
        write(path, &format!("f{file}"), text.repeat(200).as_bytes());
    }
}

/// Ends what is unfinished with the real program; then all files have the change, or it is shelved.
fn recovered(path: &Path, text: &str) {
    let _ = std::fs::remove_file(path.join(".hg/wlock"));
    let _ = std::fs::remove_file(path.join(".hg/store/lock"));
    hg().run(path, &["recover"]);
    if path.join(".hg/shelvedstate").exists() {
        // Mercurial refuses where the working copy had not got both parents yet.
        let mut given_up = start(&our_hg(), path, &["unshelve", "--abort"]);
        assert!(given_up.wait().unwrap().success());
    }
    assert_eq!(hg().run(path, &["verify", "-q"]).code, Some(0));
    let shelves = hg().ok(path, &["shelve", "-l"]);
    let is_changed = (0..FILES).all(|file| {
        let content = std::fs::read_to_string(path.join(format!("f{file}"))).unwrap_or_default();
        content == text.repeat(200)
    });
    assert!(is_changed || !shelves.is_empty(), "the change is lost");
    if !is_changed {
        hg().ok(path, &["update", "-q", "-C", "."]);
        let name = shelves.split(' ').next().unwrap().to_owned();
        hg().run(path, &["unshelve", "-q", "-k", "-t", ":other", &name]);
        let content = std::fs::read_to_string(path.join("f0")).unwrap();
        assert_eq!(content, text.repeat(200));
    }
}

#[test]
fn nothing_is_lost_when_either_is_killed() {
    let mut killed = 0;
    for moment in 0..MOMENTS {
        for command in ["shelve", "unshelve"] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            hg().ok(path, &["init"]);
            write(path, ".hg/hgrc", DATES.as_bytes());
            fill(path, "one\n");
            commit(&hg(), path, "one");
            fill(path, "two\n");
            if command == "unshelve" {
                hg().ok(path, &["shelve", "-q"]);
                fill(path, "three\n");
                commit(&hg(), path, "three");
            }
            let worker = start(&our_hg(), path, &[command]);
            thread::sleep(Duration::from_millis(moment * 12));
            killed += u32::from(kill(worker));
            recovered(path, "two\n");
        }
    }
    assert!(killed > 0, "nothing was killed");
}
