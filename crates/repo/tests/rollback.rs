//! The last transaction is undone whole or not at all, whatever interrupts that.

use crate::crash::{self, read_everything, three_commits};
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_repo::{LockKind, RepoError, Repository, ViewFilter};
use varve_testkit::peers::hg;

fn roll_back(repository: &Repository) -> Result<bool, RepoError> {
    let lock = repository.try_lock(LockKind::Store)?;
    repository.roll_back_last(&lock, true)
}

#[test]
fn every_cut_of_a_rollback_is_completed_or_nothing() {
    let recorder = three_commits();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::open(storage, Path::new("")).unwrap();
    let last = repository.last_transaction().unwrap().unwrap();
    assert_eq!(
        (last.name.as_deref(), last.changesets),
        (Some(&b"commit"[..]), 2)
    );
    assert!(roll_back(&repository).unwrap());
    recorder.acknowledge();
    assert!(!roll_back(&repository).unwrap());
    let (mut images, mut completed, mut whole) = (0, 0, 0);
    recorder.for_each_image(16, |image| {
        if image.acknowledged < 3 {
            return;
        }
        images += 1;
        let journal = image.storage.kind(Path::new(".hg/store/journal")).unwrap();
        completed += usize::from(journal.is_some());
        let repository = crash::recovered(&image.storage).unwrap();
        let found = read_everything(image.storage.clone());
        assert!(
            found == 2 || found == 3 && image.acknowledged == 3,
            "{found}: {}",
            image.cut
        );
        whole += usize::from(found == 2);
        if found == 3 {
            assert!(roll_back(&repository).unwrap(), "{}", image.cut);
        }
        let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
        assert_eq!(view.changelog().len(), 2);
    });
    assert!(
        images > 20 && completed > 5 && whole > 5,
        "{completed} {whole} of {images}"
    );
}

#[test]
fn hg_recovers_an_interrupted_rollback() {
    let recorder = three_commits();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::open(storage, Path::new("")).unwrap();
    roll_back(&repository).unwrap();
    let (hg, mut recovered) = (hg(), 0);
    recorder.for_each_image(8, |image| {
        let journal = image.storage.kind(Path::new(".hg/store/journal")).unwrap();
        if image.acknowledged < 3 || journal.is_none() || recovered == 8 {
            return;
        }
        recovered += 1;
        let directory = tempfile::tempdir().unwrap();
        crash::write_out(&image.storage, directory.path());
        hg.ok(directory.path(), &["recover"]);
        let said = hg.run(directory.path(), &["verify"]);
        assert!(said.code == Some(0), "{}: {said}", image.cut);
        assert_eq!(hg.ok(directory.path(), &["log", "-T", "x"]).len(), 2);
    });
    assert!(recovered > 2, "only {recovered} images had a journal");
}
