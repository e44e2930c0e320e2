//! Mercurial's caches: answers of Varve do not depend on them, `hg` takes those that Varve
//! wrote, and they have the bytes that `hg` would have written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, MemoryStorage, Storage};
use varve_codec::EngineSetting;
use varve_repo::{
    Branches, FileChange, FileKind, NewChangeset, Node, Phase, Repository, ViewFilter,
};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos;

/// Files by their paths below the repository.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Branches and tags, which the caches hold.
type Answers = Vec<(Branches, BTreeMap<Vec<u8>, Node>)>;

const AUDIENCES: [ViewFilter; 3] = [
    ViewFilter::Visible,
    ViewFilter::Served,
    ViewFilter::Unfiltered,
];

/// The settings with which `hg` lets changesets be hidden.
fn evolving() -> Hg {
    hg().with_config(&["experimental.evolution=all"])
}

/// A history with branches, closed heads, merged branches, tags that heads disagree about, a
/// secret and a hidden changeset; `stage` is called on the way.
fn make(path: &Path, mut stage: impl FnMut(&Hg)) {
    let hg = evolving();
    repos::make(&hg, path, repos::DEFAULT);
    stage(&hg);
    hg.ok(path, &["update", "default"]);
    hg.ok(path, &["branch", "merged"]);
    repos::write(path, "README", b"on the merged branch\n");
    repos::commit(&hg, path, "Edit on a branch");
    stage(&hg);
    hg.ok(path, &["update", "default"]);
    hg.ok(path, &["merge", "--tool", ":other", "merged"]);
    repos::commit(&hg, path, "Merge it");
    hg.ok(path, &["tag", "-r", "2", "moved"]);
    hg.ok(path, &["tag", "-f", "-r", "3", "moved"]);
    stage(&hg);
    hg.ok(path, &["update", "-r", "tip~2"]);
    hg.ok(path, &["tag", "-f", "-r", "4", "moved"]);
    hg.ok(path, &["tag", "-f", "-r", "2", "other"]);
    hg.ok(path, &["tag", "--remove", "other"]);
    hg.ok(path, &["update", "-r", "0"]);
    repos::write(path, "README", b"from the beginning\n");
    repos::commit(&hg, path, "A head without tags");
    hg.ok(path, &["commit", "--close-branch", "-m", "Close it"]);
    stage(&hg);
    hg.ok(path, &["update", "default"]);
    repos::write(path, "README", b"to be hidden\n");
    repos::commit(&hg, path, "Obsolete");
    let old = hg.ok(path, &["log", "-r", ".", "-T", "{node}"]);
    hg.ok(path, &["update", "default~1"]);
    hg.ok(path, &["debugobsolete", &old]);
    repos::add_secret(&hg, path);
    stage(&hg);
    hg.ok(path, &["update", "default"]);
    repos::write(path, "README", b"the last one\n");
    repos::commit(&hg, path, "The last one");
    stage(&hg);
}

/// Lets `hg` write the caches that its commands need.
fn fill(hg: &Hg, path: &Path) -> [String; 4] {
    ["branches -c", "tags", "heads -c", "id"].map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        hg.ok(path, &words)
    })
}

/// All files of a directory of the disk.
fn files(root: &Path, below: &str) -> Files {
    let mut found = Files::new();
    let mut directories = vec![PathBuf::from(below)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(root.join(&directory))
            .into_iter()
            .flatten()
        {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() {
                found.insert(path.clone(), std::fs::read(root.join(path)).unwrap());
            }
        }
    }
    found
}

fn caches(root: &Path) -> Files {
    files(root, ".hg/cache")
}

/// All of `.hg` but the caches.
fn history(root: &Path) -> Files {
    let mut history = files(root, ".hg");
    history.retain(|name, _| !name.starts_with(".hg/cache"));
    history
}

fn open(storage: Arc<dyn Storage>, root: &Path) -> Repository {
    Repository::open(storage, root).unwrap()
}

fn answers(repository: &Repository) -> Answers {
    let of = |audience| {
        let view = repository.view_for(audience).unwrap();
        (view.branchmap().unwrap().clone(), view.tags().unwrap())
    };
    AUDIENCES.map(of).to_vec()
}

fn on_disk(root: &Path) -> Repository {
    open(Arc::new(DiskStorage::new(Path::new(""))), root)
}

/// A repository of `history` with these caches, in memory.
fn in_memory(history: &Files, caches: &Files) -> Repository {
    let files = history.iter().chain(caches);
    let files = files.map(|(path, bytes)| (path.clone(), bytes.clone()));
    open(Arc::new(MemoryStorage::with_files(files)), Path::new(""))
}

/// Each state of a history, with the caches that `hg` had then.
fn states() -> Vec<(Files, Files)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repository");
    let mut states = Vec::new();
    make(&path, |hg| {
        fill(hg, &path);
        states.push((history(&path), caches(&path)));
    });
    states
}

#[test]
fn stale_caches_never_change_an_answer() {
    let states = states();
    for (history, _) in &states {
        let expected = answers(&in_memory(history, &Files::new()));
        for (_, of_another_time) in &states {
            let repository = in_memory(history, of_another_time);
            assert_eq!(answers(&repository), expected);
            let again = open(Arc::clone(repository.storage()), Path::new(""));
            assert_eq!(answers(&again), expected, "with what was written then");
            for (name, stale) in of_another_time {
                let mut mixed = states[states.len() - 1].1.clone();
                mixed.insert(name.clone(), stale.clone());
                assert_eq!(answers(&in_memory(history, &mixed)), expected, "{name:?}");
            }
        }
    }
}

/// Ways to damage a file.
fn damaged(bytes: &[u8]) -> Vec<Vec<u8>> {
    let len = bytes.len();
    let cuts = (0..len).filter(|cut| cut % 3 == 0 || bytes[cut.saturating_sub(1)] == b'\n');
    let mut all: Vec<Vec<u8>> = cuts.map(|cut| bytes[..cut].to_vec()).collect();
    for at in 0..len {
        let mut changed = bytes.to_vec();
        changed[at] ^= [1, 0x20, 0x80, bytes[at].max(1)][at % 4];
        all.push(changed);
    }
    for at in (0..len).step_by(12) {
        let mut zeroed = bytes.to_vec();
        zeroed[at..].fill(0);
        all.push(zeroed);
        let mut part = bytes.to_vec();
        part[at..(at + 24).min(len)].fill(0);
        all.push(part);
        all.push([&bytes[..at], &repos::noise(len - at, at as u32)].concat());
        all.push([&bytes[at..], bytes].concat());
    }
    all
}

#[test]
fn damaged_caches_never_change_an_answer() {
    let states = states();
    let (history, caches) = &states[states.len() - 1];
    let expected = answers(&in_memory(history, &Files::new()));
    let mut tried = 0;
    for (name, bytes) in caches {
        for damaged in damaged(bytes) {
            let mut with_damage = caches.clone();
            with_damage.insert(name.clone(), damaged.clone());
            let repository = in_memory(history, &with_damage);
            let told = || format!("{name:?}: {:?}", String::from_utf8_lossy(&damaged));
            assert_eq!(answers(&repository), expected, "{}", told());
            let again = open(Arc::clone(repository.storage()), Path::new(""));
            assert_eq!(answers(&again), expected, "afterwards, {}", told());
            tried += 1;
        }
    }
    assert!(tried > 2_000, "only {tried} damages");
}

#[test]
fn what_varve_writes_is_what_hg_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repository");
    let mut compared = Vec::new();
    make(&path, |hg| {
        let clear = || std::fs::remove_dir_all(path.join(".hg/cache")).unwrap();
        clear();
        std::fs::create_dir(path.join(".hg/cache")).unwrap();
        let said = fill(hg, &path);
        let of_hg = caches(&path);
        clear();
        let view = on_disk(&path).view_for(ViewFilter::Visible).unwrap();
        view.branchmap().unwrap();
        view.tags().unwrap();
        let of_owner = caches(&path);
        for (name, bytes) in &of_owner {
            let Some(theirs) = of_hg.get(name) else {
                continue;
            };
            assert!(bytes == theirs, "{name:?}\n{bytes:x?}\n{theirs:x?}");
            compared.push(name.file_name().unwrap().to_str().unwrap().to_owned());
        }
        assert_eq!(fill(hg, &path), said);
        for (name, bytes) in caches(&path) {
            let ours = of_owner.get(&name);
            assert!(ours.is_none_or(|ours| *ours == bytes), "{name:?}");
        }
        // With the caches of `hg`, nothing is left to write.
        clear();
        std::fs::create_dir(path.join(".hg/cache")).unwrap();
        hg.ok(&path, &["debugupdatecaches"]);
        fill(hg, &path);
        let full = caches(&path);
        let view = on_disk(&path).view_for(ViewFilter::Visible).unwrap();
        view.branchmap().unwrap();
        view.tags().unwrap();
        assert!(caches(&path) == full);
        let none = in_memory(&history(&path), &Files::new());
        assert_eq!(answers(&on_disk(&path)), answers(&none));
    });
    compared.sort_unstable();
    compared.dedup();
    assert_eq!(
        compared,
        [
            "branch2-served",
            "branch2-visible",
            "hgtagsfnodes1",
            "rbc-names-v2",
            "rbc-revs-v2",
            "tags2-visible"
        ]
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_no_failure() {
    let states = states();
    let (history, _) = &states[states.len() - 1];
    let expected = answers(&in_memory(history, &Files::new()));
    let instead = Files::from([(PathBuf::from(".hg/cache"), b"a file".to_vec())]);
    let repository = in_memory(history, &instead);
    assert_eq!(answers(&repository), expected);
    commit(&repository, b"default");
    let locked = in_memory(history, &Files::new());
    locked
        .storage()
        .create_symlink("elsewhere:1", Path::new(".hg/wlock"))
        .unwrap();
    assert_eq!(answers(&locked), expected);
    let kind = locked.storage().kind(Path::new(".hg/cache/rbc-revs-v2"));
    assert_eq!(kind.unwrap(), None, "another process has the lock");
}

fn commit(repository: &Repository, branch: &[u8]) {
    let view = repository.view().unwrap();
    let tip = view.changelog().node_or_null(view.tip());
    commit_on(repository, tip, branch, false);
}

fn commit_on(repository: &Repository, parent: Node, branch: &[u8], closes: bool) {
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let close = [(&b"close"[..], &b"1"[..])];
    let content = format!("{parent} {}", String::from_utf8_lossy(branch));
    let new = NewChangeset {
        parents: [parent, Node::NULL],
        user: b"caches",
        date: (0, 0),
        branch,
        extras: if closes { &close } else { &[] },
        description: b"of Varve",
        phase: Phase::Draft,
        changes: &[FileChange::Write {
            path: b"of Varve",
            content: content.as_bytes(),
            kind: FileKind::Plain,
            copied_from: None,
        }],
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap();
}

/// The caches equal those of `hg` after looking at the repository, and after making them anew.
fn check_branch_caches(hg: &Hg, path: &Path) {
    let ours = caches(path);
    let said = fill(hg, path);
    for name in ["branch2-served", "rbc-names-v2", "rbc-revs-v2"] {
        let name = Path::new(".hg/cache").join(name);
        assert!(caches(path)[&name] == ours[&name], "{name:?}");
    }
    std::fs::remove_dir_all(path.join(".hg/cache")).unwrap();
    std::fs::create_dir(path.join(".hg/cache")).unwrap();
    assert_eq!(fill(hg, path), said);
    let new = caches(path);
    let served = Path::new(".hg/cache/branch2-served");
    assert!(new[served] == ours[served]);
}

#[test]
fn a_commit_keeps_the_caches_of_branches_as_hg_would() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repository");
    make(&path, |hg| {
        fill(hg, &path);
    });
    let repository = on_disk(&path);
    for branch in [&b"default"[..], b"default", b"new", b"stable"] {
        commit(&repository, branch);
        check_branch_caches(&evolving(), &path);
    }
}

#[test]
fn a_commit_that_continues_a_branch_adds_to_its_caches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repository");
    repos::make(&hg(), &path, repos::DEFAULT);
    fill(&hg(), &path);
    let repository = on_disk(&path);
    for (parent, branch, closes) in [
        ("tip", "default", false),
        ("tip", "default", false),
        ("@", "default", false),
        ("0", "default", false),
        ("stable", "stable", false),
        ("0", "default", true),
        ("tip", "default", false),
        ("tip", "new", false),
        ("tip", "new", true),
    ] {
        let view = repository.view().unwrap();
        let parent = view.lookup(parent.as_bytes()).unwrap();
        commit_on(&repository, parent, branch.as_bytes(), closes);
        check_branch_caches(&hg(), &path);
    }
}
