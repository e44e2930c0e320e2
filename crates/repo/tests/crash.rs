//! Every state that a power cut could leave behind shows the old or the new changesets, whole.

use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, NewChangeset, Node, Phase, Repository};
use varve_testkit::{Recorder, repos};

fn commit(repository: &Repository, round: u8, content: &[u8]) {
    let view = repository.view().unwrap();
    let tip = view.changelog().node_or_null(view.tip());
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let write = |path| FileChange::Write {
        path,
        content,
        kind: FileKind::Plain,
        copied_from: None,
    };
    let name = format!("only in {round}");
    let new = NewChangeset {
        parents: [tip, Node::NULL],
        user: "crash",
        date: (0, 0),
        branch: "default",
        description: &name,
        phase: if round == 1 {
            Phase::Draft
        } else {
            Phase::Public
        },
        changes: &[write("same"), write(&name)],
    };
    batch.commit(&new).unwrap();
    batch.finish().unwrap();
}

/// Reads all that the visible changesets speak of; returns their number.
fn read_everything(storage: MemoryStorage) -> usize {
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

#[test]
fn no_cut_loses_a_changeset_or_shows_half_of_one() {
    let recorder = Recorder::default();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::create(storage, Path::new("")).unwrap();
    for (round, len) in [(1, 300), (2, 140_000), (3, 400)] {
        commit(&repository, round, &repos::noise(len, u32::from(round)));
        recorder.acknowledge();
    }
    let images = recorder.for_each_image(64, |image| {
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
