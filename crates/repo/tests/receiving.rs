//! Revisions from elsewhere: every state that a power cut could leave shows all of them or none.

use crate::crash::{read_everything, recovered};
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_codec::EngineSetting;
use varve_repo::hooks::Origin;
use varve_repo::{
    FileChange, FileKind, Locked, NewChangeset, NewRevision, Node, Phase, Repository, Revlog,
};
use varve_testkit::{Recorder, repos};

fn memory(recorder: &Recorder) -> Arc<dyn Storage> {
    Arc::new(recorder.clone())
}

/// Adds a changeset with two files, of which one grows from changeset to changeset.
fn commit(repository: &Repository, round: u8, len: usize) {
    let view = repository.view().unwrap();
    let tip = view.changelog().node_or_null(view.tip());
    let content = repos::noise(len, round.into());
    let name = format!("only in {round}");
    let write = |path| FileChange::Write {
        path,
        content: &content,
        kind: FileKind::Plain,
        copied_from: None,
    };
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let new = NewChangeset {
        parents: [tip, Node::NULL],
        user: b"crash",
        date: (0, 0),
        branch: b"default",
        extras: &[],
        description: name.as_bytes(),
        phase: Phase::Draft,
        changes: &[write(b"same"), write(name.as_bytes())],
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap();
}

/// Hands all revisions of a revlog to `give`, as full texts.
fn each(view: &varve_repo::RepoView, log: &Revlog, mut give: impl FnMut(&NewRevision<'_>)) {
    for rev in log.revs() {
        let text = log.text(rev).unwrap();
        let mut patch = vec![0; 8];
        patch.extend_from_slice(&(text.len() as u32).to_be_bytes());
        patch.extend_from_slice(&text);
        let link = view.changelog().rev_at(log.linkrev(rev)).unwrap();
        give(&NewRevision {
            node: log.node(rev),
            parents: log.parents(rev).map(|parent| log.node_or_null(parent)),
            base: Node::NULL,
            changeset: view.changelog().node(link),
            flags: 0,
            patch: &patch,
        });
    }
}

/// Receives all that `source` has; stops with an error before the end if `fails`.
fn receive(source: &Repository, target: &Repository, fails: bool) {
    let view = source.view().unwrap();
    let lock = target.lock_now(Locked::Store).unwrap();
    let mut receiver = target
        .receive(lock, EngineSetting::ZSTD, "unbundle")
        .unwrap();
    let origin = Origin {
        source: "unbundle",
        url: b"bundle:x".to_vec(),
        in_bundle2: true,
    };
    receiver.expect(&origin, Phase::Draft).unwrap();
    each(&view, view.changelog(), |new| {
        receiver.changeset(new).unwrap()
    });
    each(&view, view.manifest().unwrap(), |new| {
        receiver.manifest(new).unwrap()
    });
    for file in view.tracked_files().unwrap() {
        receiver.begin_file(&file).unwrap();
        let log = view.filelog(&file).unwrap();
        each(&view, &log, |new| receiver.file_revision(new).unwrap());
    }
    if fails {
        let odd = NewRevision {
            node: Node([1; 20]),
            parents: [Node::NULL; 2],
            base: Node::NULL,
            changeset: view.changelog().node(view.tip().unwrap()),
            flags: 0,
            patch: b"",
        };
        assert!(receiver.file_revision(&odd).is_err());
        return receiver.abandon();
    }
    receiver.conclude().unwrap();
    let (report, _) = receiver.finish().unwrap();
    assert_eq!(report.arrived[0].changes, 4);
}

/// A repository with three changesets, the first of which the recorded one has already.
fn source_and_target(fails: bool) -> Recorder {
    let (from, recorder) = (Recorder::default(), Recorder::default());
    let source = Repository::create(memory(&from), Path::new("")).unwrap();
    let target = Repository::create(memory(&recorder), Path::new("")).unwrap();
    commit(&target, 1, 300);
    recorder.acknowledge();
    for (round, len) in [(1, 300), (2, 140_000), (3, 400)] {
        commit(&source, round, len);
    }
    receive(&source, &target, fails);
    recorder
}

#[test]
fn every_cut_leaves_all_that_came_or_nothing() {
    let mut undone = 0;
    let images = source_and_target(false).for_each_image(16, |image| {
        let interrupted = image.storage.kind(Path::new(".hg/store/journal")).unwrap();
        let before = read_everything(image.storage.clone());
        let Some(repository) = recovered(&image.storage) else {
            return;
        };
        let found = read_everything(image.storage.clone());
        if image.acknowledged > 0 {
            undone += usize::from(interrupted.is_some());
            assert!([1, 3].contains(&found), "{found} after {}", image.cut);
            assert!([1, 3].contains(&before), "{before} after {}", image.cut);
            commit(&repository, 9, 500);
            assert_eq!(read_everything(image.storage.clone()), found + 1);
        }
    });
    assert!(images > 100 && undone > 40, "{undone} of {images} images");
}

#[test]
fn what_fails_is_as_it_was() {
    let recorder = source_and_target(true);
    let storage = memory(&recorder);
    let store = Path::new(".hg/store");
    assert!(storage.kind(&store.join("journal")).unwrap().is_none());
    assert!(
        storage
            .kind(&store.join("data/only in 2.i"))
            .unwrap()
            .is_none()
    );
    assert!(storage.kind(&store.join("data/same.d")).unwrap().is_none());
    let repository = Repository::open(storage, Path::new("")).unwrap();
    assert_eq!(repository.view().unwrap().changelog().len(), 1);
    commit(&repository, 2, 500);
}
