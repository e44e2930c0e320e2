//! Power cuts while the working copy's parent is replaced: what is obsolete is never what is checked out.

use super::model::{Files, commit_files, file};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, OpenMode, Storage};
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, Node, Repository, StorageSettings, ViewFilter};
use varve_testkit::Recorder;
use varve_workdir::{AmendMarker, Dirstate, ParentReplacement, ReplaceContext, replace_parent};

/// The working copy at the second of two changesets, whose changes then become local; with the first and the second.
fn uncommitted() -> (Recorder, [Node; 2]) {
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::create(storage, Path::new("")).unwrap();
    let before = Files::from([("kept".to_owned(), file("kept"))]);
    let mut after = before.clone();
    after.insert("new".to_owned(), file("new"));
    let first = commit_files(&repository, [Node::NULL; 2], &Files::new(), &before);
    let second = commit_files(&repository, [first, Node::NULL], &before, &after);
    let mut dirstate = Dirstate::read(&repository).unwrap();
    dirstate.set_parents([second, Node::NULL]);
    for path in [&b"kept"[..], b"new"] {
        dirstate.add(path);
        dirstate.set_possibly_dirty(path);
    }
    dirstate.write(&repository).unwrap();
    // By itself a dirstate is not synced, as in Mercurial.
    let path = Path::new(".hg/dirstate");
    let written = recorder.open(path, OpenMode::Append).unwrap();
    written.sync().unwrap();
    recorder.sync_directory(Path::new(".hg")).unwrap();
    recorder.acknowledge();
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let options = StorageSettings::default().write_options(repository.requirements());
    let place = ReplaceContext {
        repository: &repository,
        batch: repository.begin_named(lock, options, "uncommit").unwrap(),
        stop: &Interrupt::default(),
    };
    let marker = AmendMarker {
        date: (0, 0),
        user: b"Ada",
        note: None,
    };
    let what = ParentReplacement {
        view: &view,
        old: view.changelog().rev(&second).unwrap(),
        new: None,
        operation: "uncommit",
        marker: Some(&marker),
        files: &Matcher::everything(),
    };
    let (parent, _) = replace_parent(place, &mut dirstate, &what).unwrap();
    assert_eq!(parent, first);
    recorder.acknowledge();
    (recorder, [first, second])
}

/// The parent of the working copy after a recovery, and how many changesets are obsolete.
fn recovered(storage: &MemoryStorage) -> (Node, usize) {
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    let repository = Repository::open(storage, Path::new("")).unwrap();
    let lock = repository.try_lock(LockKind::Store).unwrap();
    repository.recover(&lock).unwrap();
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    let dirstate = Dirstate::read(&repository).unwrap();
    (dirstate.parents()[0], view.obsolete().unwrap().len())
}

#[test]
fn no_cut_leaves_the_working_copy_at_an_obsolete_changeset() {
    let (recorder, [first, second]) = uncommitted();
    let (mut before, mut after) = (0, 0);
    let images = recorder.for_each_image(64, |image| {
        if image.acknowledged == 0 {
            return;
        }
        match recovered(&image.storage) {
            (parent, 0) if parent == second && image.acknowledged == 1 => before += 1,
            (parent, 1) if parent == first => after += 1,
            other => panic!("{other:?}: {}", image.cut),
        }
    });
    assert!(
        images > 40 && before > 15 && after > 2,
        "{before} before and {after} after of {images} images"
    );
}
