//! Every state that a power cut could leave behind shows the old or the new changesets, whole.

use std::path::Path;
use std::sync::Arc;
use varve_base::storage::{EntryKind, read_if_there};
use varve_base::{MemoryStorage, Storage};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, LockKind, NewChangeset, Node, Phase, Repository};
use varve_testkit::peers::hg;
use varve_testkit::{Recorder, repos};

fn commit(repository: &Repository, round: u8, content: &[u8]) {
    let view = repository.view().unwrap();
    let tip = view.changelog().node_or_null(view.tip());
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let name = format!("only in {round}");
    let write = |path| FileChange::Write {
        path,
        content,
        kind: FileKind::Plain,
        copied_from: None,
    };
    let new = NewChangeset {
        parents: [tip, Node::NULL],
        user: b"crash",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: name.as_bytes(),
        phase: if round == 1 {
            Phase::Draft
        } else {
            Phase::Public
        },
        changes: &[write(b"same"), write(name.as_bytes())],
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap();
}

/// Reads all that the visible changesets speak of; returns their number.
pub fn read_everything(storage: MemoryStorage) -> usize {
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let Ok(repository) = Repository::open(storage, Path::new("")) else {
        return 0;
    };
    let view = repository.view().unwrap();
    for rev in view.changelog().revs() {
        let manifest = view.with_changeset(rev, |changeset| changeset.manifest);
        let revlog = view.manifest().unwrap();
        let text = revlog
            .text(revlog.rev(&manifest.unwrap()).unwrap())
            .unwrap();
        for entry in varve_repo::ManifestEntries::new(&text) {
            let entry = entry.unwrap();
            let filelog = view.filelog(entry.path).unwrap();
            filelog.text(filelog.rev(&entry.node).unwrap()).unwrap();
        }
    }
    view.changelog().len()
}

/// Three commits, of which the second splits a revlog; each acknowledged.
pub fn three_commits() -> Recorder {
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::create(storage, Path::new("")).unwrap();
    for (round, len) in [(1, 300), (2, 140_000), (3, 400)] {
        commit(&repository, round, &repos::noise(len, u32::from(round)));
        recorder.acknowledge();
    }
    recorder
}

#[test]
fn no_cut_loses_a_changeset_or_shows_half_of_one() {
    let images = three_commits().for_each_image(64, |image| {
        let found = read_everything(image.storage.clone());
        let least = image.acknowledged;
        assert!(
            (least..=least + 1).contains(&found),
            "{found} of {least}: {}",
            image.cut
        );
    });
    assert!(images > 100, "only {images} images");
}

/// Undoes the interrupted transaction; `None` if there is no repository yet.
pub fn recovered(storage: &MemoryStorage) -> Option<Repository> {
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    let repository = Repository::open(storage, Path::new("")).ok()?;
    let had_journal = repository.has_journal().unwrap();
    let lock = repository.try_lock(LockKind::Store).unwrap();
    assert_eq!(repository.recover(&lock).unwrap(), had_journal);
    assert!(!repository.has_journal().unwrap());
    Some(repository)
}

#[test]
fn every_cut_is_recovered_and_written_to_again() {
    let mut undone = 0;
    let images = three_commits().for_each_image(16, |image| {
        let interrupted = image.storage.kind(Path::new(".hg/store/journal")).unwrap();
        undone += usize::from(interrupted.is_some());
        let Some(repository) = recovered(&image.storage) else {
            return;
        };
        let found = read_everything(image.storage.clone());
        let least = image.acknowledged;
        assert!(
            (least..=least + 1).contains(&found),
            "{found} of {least}: {}",
            image.cut
        );
        commit(&repository, 9, b"after the recovery");
        assert_eq!(
            read_everything(image.storage.clone()),
            found + 1,
            "{}",
            image.cut
        );
    });
    assert!(images > 300 && undone > 150, "{undone} of {images} images");
}

/// Writes an image to a directory of the real disk.
pub fn write_out(image: &MemoryStorage, directory: &Path) {
    let mut directories = vec![std::path::PathBuf::new()];
    while let Some(at) = directories.pop() {
        std::fs::create_dir_all(directory.join(&at)).unwrap();
        for entry in image.list(&at).unwrap() {
            let path = at.join(&entry.name);
            if entry.kind == EntryKind::Directory {
                directories.push(path);
            } else {
                let bytes = read_if_there(image, &path).unwrap().unwrap();
                std::fs::write(directory.join(&path), bytes).unwrap();
            }
        }
    }
}

#[test]
fn hg_recovers_and_verifies_what_a_cut_of_ours_left() {
    let (hg, mut at, mut undone) = (hg(), 0, 0);
    three_commits().for_each_image(8, |image| {
        at += 1;
        let there = |name: &str| image.storage.kind(Path::new(name)).unwrap().is_some();
        if at % 61 != 0 || !there(".hg/requires") {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        write_out(&image.storage, directory.path());
        if there(".hg/store/journal") {
            undone += 1;
            hg.ok(directory.path(), &["recover"]);
        }
        let said = hg.run(directory.path(), &["verify"]);
        assert!(said.code == Some(0), "{}: {said}", image.cut);
        let count = hg.ok(directory.path(), &["log", "-T", "x"]).len();
        let least = image.acknowledged;
        assert!(
            (least..=least + 1).contains(&count),
            "{count}: {}",
            image.cut
        );
    });
    assert!(undone > 2, "only {undone} images had a journal");
}
