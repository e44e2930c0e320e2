//! The real `hg` verifies and reads repositories written by Varve.

use std::path::Path;
use std::sync::Arc;
use varve_base::{DiskStorage, Storage};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, NewChangeset, Node, Phase, RepoError, Repository};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::{Recorder, repos};

fn write<'a>(path: &'a str, content: &'a [u8]) -> FileChange<'a> {
    FileChange::Write {
        path: path.as_bytes(),
        content,
        kind: FileKind::Plain,
        copied_from: None,
    }
}

fn changeset<'a>(
    parents: [Node; 2],
    description: &'a str,
    changes: &'a [FileChange<'a>],
) -> NewChangeset<'a> {
    NewChangeset {
        parents,
        user: b"Varve <varve@example.org>",
        date: (1_700_000_000, -3600),
        branch: b"default",
        extras: &[],
        description: description.as_bytes(),
        phase: Phase::Public,
        changes,
    }
}

/// Everything that `hg verify` says; it must find nothing.
fn verify(hg: &Hg, directory: &Path) {
    let said = hg.run(directory, &["verify"]);
    let (out, warnings) = (said.stdout.clone(), said.stderr.clone());
    said.success();
    for word in ["warning", "damaged", "missing", "not in"] {
        assert!(
            !out.contains(word) && !warnings.contains(word),
            "{out}{warnings}"
        );
    }
}

const BIG: &str = "big file.bin";

/// Eight changesets with all that a changeset can have.
fn write_history(repository: &Repository, setting: EngineSetting) -> Node {
    let mut batch = repository.begin(setting).unwrap();
    let long = repos::long_names();
    let text: String = (0..500).map(|n| format!("line {n}\n")).collect();
    let noise = repos::noise(140_000, 3);
    let mut changes: Vec<_> = repos::ODD_NAMES
        .iter()
        .copied()
        .chain(long.iter().map(String::as_str))
        .map(|name| write(name, name.as_bytes()))
        .collect();
    changes.push(write("text", text.as_bytes()));
    changes.push(write(BIG, &noise));
    changes.push(write("empty", b""));
    changes.push(write("meta", b"\x01\nlooks like a header\n"));
    let none = Node::NULL;
    let first = batch
        .commit(&changeset([none, none], "Begin\n\nwith \u{e4}", &changes))
        .unwrap();
    let edited = text.replace("line 77\n", "changed\n");
    let copy = FileChange::Write {
        path: b"copy of text",
        content: edited.as_bytes(),
        kind: FileKind::Executable,
        copied_from: Some(b"text"),
    };
    let link = FileChange::Write {
        path: b"link",
        content: b"text",
        kind: FileKind::Symlink,
        copied_from: None,
    };
    let changes = [write("text", edited.as_bytes()), copy, link];
    let second = batch
        .commit(&changeset([first, none], "Edit, copy, link", &changes))
        .unwrap();
    let mut grown = noise.clone();
    grown.extend_from_slice(b"more");
    let shorter = text.replace("line 300\n", "");
    let changes = [
        write(BIG, &grown),
        FileChange::Remove { path: b"empty" },
        write("text", shorter.as_bytes()),
    ];
    let mut on_branch = changeset([first, none], "On a branch", &changes);
    on_branch.branch = b"side\\branch";
    let third = batch.commit(&on_branch).unwrap();
    let merged = edited.replace("line 300\n", "");
    let changes = [
        write("text", merged.as_bytes()),
        write(BIG, &grown),
        FileChange::Remove { path: b"empty" },
    ];
    let merge = batch
        .commit(&changeset([second, third], "Merge", &changes))
        .unwrap();
    let nothing = changeset([merge, none], "No files", &[]);
    let fifth = batch.commit(&nothing).unwrap();
    let changes = [write("draft", b"soon\n")];
    let mut draft = changeset([fifth, none], "A draft", &changes);
    draft.phase = Phase::Draft;
    let draft = batch.commit(&draft).unwrap();
    let mut secret = changeset([draft, none], "A secret", &[]);
    secret.phase = Phase::Secret;
    batch.commit(&secret).unwrap();
    let after = changeset([draft, none], "After the draft", &[]);
    batch.commit(&after).unwrap();
    batch.finish().unwrap()
}

#[test]
fn hg_verifies_and_reads_a_repository_of_ours() {
    for setting in [
        EngineSetting::ZSTD,
        EngineSetting::ZLIB,
        EngineSetting::NONE,
    ] {
        let directory = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory.path()));
        let repository = Repository::create(storage.clone(), Path::new("r")).unwrap();
        assert!(Repository::create(storage, Path::new("r")).is_err());
        let newest = write_history(&repository, setting);
        let (hg, path) = (hg(), directory.path().join("r"));
        verify(&hg, &path);
        let told = hg.ok(
            &path,
            &[
                "log",
                "-T",
                "{rev} {branch} {phase} {p2rev} {desc|firstline}\n",
            ],
        );
        let expected = "7 default draft -1 After the draft\n\
            6 default secret -1 A secret\n\
            5 default draft -1 A draft\n\
            4 default public -1 No files\n\
            3 default public 2 Merge\n\
            2 side\\branch public -1 On a branch\n\
            1 default public -1 Edit, copy, link\n\
            0 default public -1 Begin\n";
        assert_eq!(told, expected);
        assert_eq!(
            hg.ok(&path, &["log", "-r", "tip", "-T", "{node}"]),
            newest.to_string()
        );
        let patch = hg.ok(&path, &["log", "-p", "--git"]);
        let new_link = "new file mode 120000";
        for line in ["copy from text", "+changed", new_link, "-line 300"] {
            assert!(patch.contains(line), "{line} is not in {patch}");
        }
        hg.ok(&path, &["update", "tip"]);
        assert_eq!(hg.ok(&path, &["status"]), "");
        let big = std::fs::read(path.join(BIG)).unwrap();
        assert!(big.ends_with(b"more") && big.len() == 140_004);
        // And on: hg commits, then we do.
        repos::write(&path, "text", b"by hg\n");
        repos::commit(&hg, &path, "By hg");
        let view = repository.view().unwrap();
        let tip = view.changelog().node_or_null(view.tip());
        let mut batch = repository.begin(setting).unwrap();
        let changes = [write("text", b"by us\n"), write("new/file", b"1")];
        batch
            .commit(&changeset([tip, Node::NULL], "By us", &changes))
            .unwrap();
        batch.finish().unwrap();
        verify(&hg, &path);
        assert_eq!(hg.ok(&path, &["cat", "-r", "tip", "text"]), "by us\n");
    }
}

#[test]
fn repositories_of_all_kinds_are_continued() {
    for variant in repos::VARIANTS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        let hg = hg();
        repos::make(&hg, &path, *variant);
        let storage = Arc::new(DiskStorage::new(directory.path()));
        let repository = Repository::open(storage, Path::new("r")).unwrap();
        let view = repository.view().unwrap();
        let tip = view.changelog().node_or_null(view.tip());
        let mut batch = repository.begin(EngineSetting::ZLIB).unwrap();
        let noise = repos::noise(200_000, 9);
        // One small file of the history becomes a split one.
        let changes = [
            write("README", &noise),
            write("CAPITALS/And_Under__scores.TXT", b"x"),
        ];
        let first = changeset([tip, Node::NULL], "First", &changes);
        let first = batch.commit(&first).unwrap();
        let changes = [write("chain.txt", b"short now\n")];
        batch
            .commit(&changeset([first, Node::NULL], "Second", &changes))
            .unwrap();
        batch.finish().unwrap();
        verify(&hg, &path);
        assert_eq!(
            hg.ok(&path, &["cat", "-r", "tip", "chain.txt"]),
            "short now\n"
        );
    }
}

#[test]
fn a_lock_or_a_journal_refuses_writers() {
    let storage: Arc<dyn Storage> = Arc::new(Recorder::default());
    let repository = Repository::create(storage.clone(), Path::new("r")).unwrap();
    let batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let second = repository.begin(EngineSetting::ZSTD).unwrap_err();
    assert!(matches!(second, RepoError::LockHeld { .. }), "{second}");
    drop(batch);
    let journal = Path::new("r/.hg/store/journal");
    varve_base::storage::replace(storage.as_ref(), journal, b"00changelog.i\x000\n").unwrap();
    let left = repository.begin(EngineSetting::ZSTD).unwrap_err();
    assert!(left.hint().unwrap().contains("hg recover"), "{left}");
}

#[test]
fn senseless_commits_are_refused() {
    let storage: Arc<dyn Storage> = Arc::new(Recorder::default());
    let repository = Repository::create(storage, Path::new("r")).unwrap();
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let none = [Node::NULL; 2];
    for (changes, reason) in [
        (
            vec![FileChange::Remove { path: b"a" }],
            "\"a\" is removed and not there",
        ),
        (
            vec![write("a", b""), write("a", b"")],
            "\"a\" is changed twice",
        ),
        (vec![write("a/../b", b"")], "cannot be the path"),
        (vec![write("a/.hg/b", b"")], "cannot be the path"),
        (vec![write("/a", b"")], "cannot be the path"),
        (vec![write("a\nb", b"")], "cannot be the path"),
    ] {
        let error = batch.commit(&changeset(none, "No", &changes)).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let orphan = changeset([Node([1; 20]), Node::NULL], "No", &[]);
    let error = batch.commit(&orphan).unwrap_err();
    assert!(matches!(error, RepoError::MissingNode { .. }), "{error}");
}
