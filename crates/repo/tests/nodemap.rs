//! Repositories with a persistent nodemap: Varve leaves its files alone, which then tell of fewer
//! changesets than there are, and `hg` takes it from there.

use std::path::Path;
use std::sync::Arc;
use varve_base::DiskStorage;
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, LockKind, NewChangeset, Node, Phase, Repository};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos;

/// `hg` without its Rust parts refuses such repositories unless it may be slow.
fn mapping() -> Hg {
    hg().with_config(&[
        "format.use-persistent-nodemap=yes",
        "storage.revlog.persistent-nodemap.slow-path=allow",
    ])
}

fn open(path: &Path) -> Repository {
    Repository::open(Arc::new(DiskStorage::new(Path::new(""))), path).unwrap()
}

fn commit(path: &Path, content: &[u8]) -> Node {
    let repository = open(path);
    let view = repository.view().unwrap();
    let tip = view.changelog().node_or_null(view.tip());
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let new = NewChangeset {
        parents: [tip, Node::NULL],
        user: b"nodemap",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: content,
        phase: Phase::Draft,
        changes: &[FileChange::Write {
            path: b"of Varve",
            content,
            kind: FileKind::Plain,
            copied_from: None,
        }],
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap()
}

/// A repository of some changesets with a nodemap.
fn make(hg: &Hg, path: &Path) {
    repos::make(hg, path, repos::DEFAULT);
    let requires = std::fs::read_to_string(path.join(".hg/store/requires")).unwrap();
    assert!(requires.contains("persistent-nodemap"));
    assert!(path.join(".hg/store/00changelog.n").exists());
}

#[track_caller]
fn check(hg: &Hg, path: &Path) {
    hg.ok(path, &["verify"]);
    for log in ["--changelog", "--manifest"] {
        hg.ok(path, &["debugnodemap", "--check", log]);
    }
}

/// The changesets that `hg` finds by their nodes are those that Varve has.
#[track_caller]
fn finds_all(hg: &Hg, path: &Path) {
    let view = open(path).view().unwrap();
    for rev in view.changelog().revs() {
        let node = view.changelog().node(rev).to_string();
        let found = hg.ok(path, &["log", "-r", &node, "-T", "{rev}"]);
        assert_eq!(found, rev.to_string());
        assert_eq!(
            view.lookup(&node.as_bytes()[..12]).unwrap().to_string(),
            node
        );
    }
}

#[test]
fn a_nodemap_that_tells_less_is_continued_by_hg() {
    let directory = tempfile::tempdir().unwrap();
    let (hg, path) = (mapping(), directory.path().join("repository"));
    make(&hg, &path);
    let docket = || std::fs::read(path.join(".hg/store/00changelog.n")).unwrap();
    let before = docket();
    let node = commit(&path, b"one");
    commit(&path, b"two");
    assert_eq!(docket(), before, "Varve does not touch it");
    let found = hg.ok(&path, &["log", "-r", &node.to_string(), "-T", "{desc}"]);
    assert_eq!(found, "one");
    hg.ok(&path, &["update"]);
    repos::write(&path, "README", b"of hg\n");
    repos::commit(&hg, &path, "By hg again");
    assert_ne!(docket(), before);
    check(&hg, &path);
    finds_all(&hg, &path);
}

#[test]
fn a_nodemap_is_right_after_varve_has_undone_a_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let (hg, path) = (mapping(), directory.path().join("repository"));
    make(&hg, &path);
    commit(&path, b"one");
    hg.ok(&path, &["update"]);
    repos::write(&path, "README", b"never committed\n");
    let killed = hg.with_config(&["hooks.pretxnclose.kill=kill -9 $PPID"]);
    assert_ne!(killed.run(&path, &["commit", "-m", "killed"]).code, Some(0));
    let repository = open(&path);
    let lock = repository.try_lock(LockKind::Store).unwrap();
    assert!(repository.recover(&lock).unwrap(), "there is a journal");
    drop(lock);
    commit(&path, b"two");
    finds_all(&hg, &path);
    hg.ok(&path, &["update", "--clean"]);
    repos::write(&path, "README", b"of hg\n");
    repos::commit(&hg, &path, "By hg again");
    check(&hg, &path);
    finds_all(&hg, &path);
}
