//! The same changesets have the same names, whether `hg` or Varve commits them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use varve_base::{DiskStorage, MemoryStorage};
use varve_codec::EngineSetting;
use varve_repo::{
    FileChange, FileKind, FileText, ManifestEntries, NewChangeset, Node, Phase, RepoView,
    Repository, Rev,
};
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos;

type Files = BTreeMap<Vec<u8>, (Node, FileKind)>;

/// One file as a changeset left it.
struct Written {
    path: Vec<u8>,
    content: Vec<u8>,
    kind: FileKind,
    copied_from: Option<Vec<u8>>,
}

fn files(view: &RepoView, rev: Option<Rev>) -> Files {
    let Some(rev) = rev else {
        return Files::new();
    };
    let node = view
        .with_changeset(rev, |changeset| changeset.manifest)
        .unwrap();
    let manifest = view.manifest().unwrap();
    let text = manifest.rev(&node).map(|rev| manifest.text(rev).unwrap());
    let text = text.unwrap_or_default();
    let entries = ManifestEntries::new(&text).map(Result::unwrap);
    entries
        .map(|entry| (entry.path.to_vec(), (entry.node, entry.kind)))
        .collect()
}

fn written(view: &RepoView, path: &[u8], node: Node, kind: FileKind) -> Written {
    let filelog = view.filelog(path).unwrap();
    let text = filelog.text(filelog.rev(&node).unwrap()).unwrap();
    let parsed = FileText::parse(&text);
    Written {
        path: path.to_vec(),
        content: parsed.content.to_vec(),
        kind,
        copied_from: parsed.copied_from.map(|(from, _)| from.to_vec()),
    }
}

/// Commits all changesets of `view` again, into an empty repository; returns how many there are.
fn commit_again(view: &RepoView) -> usize {
    let repository = Repository::create(Arc::new(MemoryStorage::default()), Path::new("")).unwrap();
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    for rev in view.changelog().revs() {
        let [p1, p2] = view.changelog().parents(rev);
        let (old, other, new) = (files(view, p1), files(view, p2), files(view, Some(rev)));
        let writes: Vec<_> = new
            .iter()
            .filter(|(path, entry)| old.get(*path) != Some(*entry))
            .map(|(path, entry)| {
                let mut file = written(view, path, entry.0, entry.1);
                // A file that equals the other side's was not copied by the merge.
                file.copied_from.take_if(|_| other.get(path) == Some(entry));
                file
            })
            .collect();
        let gone = old
            .keys()
            .chain(other.keys().filter(|path| !old.contains_key(*path)));
        let removals = gone.filter(|path| !new.contains_key(*path));
        let mut changes: Vec<_> = removals.map(|path| FileChange::Remove { path }).collect();
        changes.extend(writes.iter().map(|file| FileChange::Write {
            path: &file.path,
            content: &file.content,
            kind: file.kind,
            copied_from: file.copied_from.as_deref(),
        }));
        let text = view.changelog().text(rev).unwrap();
        let changeset = view.parse_changeset(rev, &text).unwrap();
        let extras: Vec<_> = changeset
            .extras()
            .filter(|(key, _)| **key != *b"branch")
            .collect();
        let extras: Vec<_> = extras
            .iter()
            .map(|(key, value)| (&key[..], &value[..]))
            .collect();
        let node = batch.commit(&NewChangeset {
            parents: [p1, p2].map(|parent| view.changelog().node_or_null(parent)),
            user: changeset.user,
            date: (changeset.time, changeset.zone),
            branch: &changeset.branch(),
            extras: &extras,
            description: changeset.description,
            phase: Phase::Draft,
            changes: &changes,
        });
        let before = format!("{rev}: {}", view.changelog().node(rev));
        assert_eq!(format!("{rev}: {}", node.unwrap()), before);
    }
    batch.finish().unwrap();
    view.changelog().len()
}

/// A merge with everything that one can have: merged texts, files changed, removed or made
/// executable by either side, files removed by the merge itself, renames on both sides.
fn make_merges(hg: &Hg, path: &Path) {
    let append = |name: &str, text: &str| {
        let old = std::fs::read_to_string(path.join(name)).unwrap_or_default();
        repos::write(path, name, format!("{old}{text}").as_bytes());
    };
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"] {
        repos::write(path, name, format!("{name}\n1\n2\n3\n4\n5\n").as_bytes());
    }
    repos::commit(hg, path, "base");
    let executable = |name: &str| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path.join(name), mode).unwrap();
    };
    repos::write(path, "a", b"first\n1\n2\n3\n4\n5\n");
    repos::write(path, "c", b"first\n");
    executable("d");
    append("e", "first\n");
    repos::write(path, "new1", b"");
    repos::write(path, "both", b"same on both sides");
    hg.ok(path, &["remove", "b", "g"]);
    hg.ok(path, &["rename", "j", "j1"]);
    repos::commit(hg, path, "first");
    hg.ok(path, &["update", "0"]);
    append("a", "second\n");
    repos::write(path, "new2", b"\x01\nlooks like a header\n");
    executable("new2");
    executable("f");
    append("h", "second\n");
    append("g", "second\n");
    repos::write(path, "both", b"same on both sides");
    hg.ok(path, &["remove", "c", "i"]);
    hg.ok(path, &["rename", "k", "k2"]);
    append("k2", "second\n");
    hg.ok(path, &["branch", "side"]);
    repos::commit(hg, path, "second");
    hg.ok(path, &["update", "1"]);
    // Conflicts are left for the commands below.
    hg.run(path, &["--config", "ui.merge=internal:merge", "merge", "2"]);
    hg.ok(path, &["resolve", "--mark", "c", "g"]);
    hg.ok(path, &["remove", "--force", "g", "c"]);
    std::os::unix::fs::symlink("a", path.join("link")).unwrap();
    repos::commit(hg, path, "merge");
    hg.ok(path, &["update", "2"]);
    hg.ok(path, &["commit", "--close-branch", "-m", "close"]);
    hg.ok(path, &["update", "3"]);
    hg.ok(path, &["merge", "4"]);
    hg.ok(path, &["copy", "h", "h2"]);
    hg.ok(path, &["copy", "new2", "from second"]);
    repos::commit(hg, path, "merge a closed branch");
    // A merge that changes nothing.
    repos::write(path, "x", b"x");
    repos::commit(hg, path, "add");
    hg.ok(path, &["remove", "x"]);
    repos::commit(hg, path, "remove");
    hg.ok(path, &["update", "5"]);
    repos::write(path, "y", b"y");
    repos::commit(hg, path, "another");
    hg.ok(path, &["merge", "7"]);
    repos::commit(hg, path, "merge of nothing");
}

#[test]
fn merges_and_all_else_have_the_names_that_hg_gives() {
    let directory = tempfile::tempdir().unwrap();
    let hg = hg();
    let path = directory.path().join("merges");
    std::fs::create_dir(&path).unwrap();
    hg.ok(&path, &["init"]);
    make_merges(&hg, &path);
    repos::make(&hg, &directory.path().join("r"), repos::VARIANTS[0]);
    let storage = Arc::new(DiskStorage::new(directory.path()));
    for (name, changesets) in [("merges", 10), ("r", 5)] {
        let repository = Repository::open(storage.clone(), Path::new(name)).unwrap();
        assert!(commit_again(&repository.view().unwrap()) >= changesets);
    }
}
