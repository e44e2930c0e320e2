//! Repositories that a group shares: what is made below `.hg` is as open as the store is.

use super::Twin;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

/// Bits for the owner and for the group, which new directories have too.
const SHARED: u32 = 0o2770;

fn begin(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["store", "cache", "wcache"] {
        let shared = std::fs::Permissions::from_mode(SHARED);
        std::fs::set_permissions(path.join(".hg").join(name), shared).unwrap();
    }
    write(path, "file", b"file\n");
    write(path, "directory/below", b"below\n");
}

/// Made by both programs at a commit.
const MADE: [&str; 11] = [
    "dirstate",
    "cache/branch2-served",
    "cache/rbc-names-v2",
    "store/00changelog.i",
    "store/00manifest.i",
    "store/fncache",
    "store/phaseroots",
    "store/undo",
    "store/data/directory/below.i",
    "store/data/directory",
    "store/data",
];

fn modes(path: &Path) -> Vec<String> {
    let mode = |name: &&str| {
        std::fs::metadata(path.join(".hg").join(name))
            .unwrap()
            .mode()
    };
    MADE.iter()
        .map(|name| format!("{name} {:o}", mode(name) & 0o7777))
        .collect()
}

#[test]
fn what_a_commit_makes_is_as_open_as_the_store() {
    let twin = Twin::writing(begin);
    twin.same(&["commit", "-q", "-A", "-m", "first", "-d", "0 0"]);
    assert_eq!(modes(twin.theirs()), modes(twin.ours()));
    assert!(modes(twin.ours()).contains(&"store/data 2770".to_owned()));
    assert!(modes(twin.ours()).contains(&"dirstate 660".to_owned()));
}

#[test]
fn what_a_push_makes_is_as_open_as_the_store() {
    let twin = Twin::writing(begin);
    twin.each(|path| {
        let other = path.join("../pushed");
        std::fs::create_dir(&other).unwrap();
        hg().ok(&other, &["init"]);
        let shared = std::fs::Permissions::from_mode(SHARED);
        std::fs::set_permissions(other.join(".hg/store"), shared).unwrap();
    });
    twin.all_same(&["commit -q -A -m first", "push -q ../pushed"]);
    let pushed = |path: &Path| {
        let mode = |name| {
            let found = std::fs::metadata(path.join("../pushed/.hg").join(name));
            found.unwrap().mode() & 0o7777
        };
        [
            "store/00changelog.i",
            "store/data",
            "store/data/file.i",
            "store/fncache",
        ]
        .map(mode)
    };
    assert_eq!(pushed(twin.theirs()), [0o660, 0o2770, 0o660, 0o660]);
    assert_eq!(pushed(twin.ours()), pushed(twin.theirs()));
}
