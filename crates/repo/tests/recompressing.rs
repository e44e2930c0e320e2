//! A store written again is the same history; a cut leaves the old or the new one.

use crate::crash::{read_everything, three_commits};
use std::path::Path;
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupt, Silent, Storage};
use varve_codec::{CodecId, EngineSetting};
use varve_repo::{LockKind, RecompressOptions, RecompressReport, RepoError, Repository, engine_of};
use varve_testkit::peers::hg;
use varve_testkit::repos;

fn recompress(
    repository: &Repository,
    engine: EngineSetting,
    redelta: bool,
    stop: &Interrupt,
) -> Result<RecompressReport, RepoError> {
    let working_copy = repository.try_lock(LockKind::WorkingCopy)?;
    let store = repository.try_lock(LockKind::Store)?;
    let write = engine.into();
    let how = RecompressOptions { write, redelta };
    repository.recompress(&working_copy, &store, &how, &Silent, stop)
}

#[test]
fn hg_reads_the_same_history_from_every_form() {
    for variant in repos::VARIANTS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        let hg = hg();
        repos::make(&hg, &path, *variant);
        repos::add_secret(&hg, &path);
        let template = "{rev} {node} {phase} {bookmarks} {files}\n";
        let before = hg.ok(&path, &["log", "-T", template]);
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory.path()));
        for (engine, redelta) in [
            (EngineSetting::ZLIB, false),
            (EngineSetting::NONE, true),
            (EngineSetting::new(CodecId::Zstd, 9).unwrap(), true),
            (EngineSetting::ZSTD, false),
        ] {
            let repository = Repository::open(storage.clone(), Path::new("r")).unwrap();
            let done = recompress(&repository, engine, redelta, &Interrupt::default()).unwrap();
            assert!(done.revisions > 50 && done.after > 0, "{done:?}");
            let said = hg.run(&path, &["verify"]);
            assert!(
                said.code == Some(0) && !said.stderr.contains("warning"),
                "{said}"
            );
            assert_eq!(hg.ok(&path, &["log", "-T", template]), before);
            let again = Repository::open(storage.clone(), Path::new("r")).unwrap();
            assert_eq!(
                engine_of(again.requirements()),
                engine.codec(),
                "{}",
                variant.name
            );
            let left: Vec<_> = std::fs::read_dir(path.join(".hg"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .filter(|name| name.to_string_lossy().contains("new"))
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }
        repos::write(&path, "later", b"by hg\n");
        repos::commit(&hg, &path, "And on");
        hg.ok(&path, &["verify"]);
    }
}

#[test]
fn a_censored_revision_stays_censored() {
    let directory = tempfile::tempdir().unwrap();
    let hg = hg().with_config(&["extensions.censor="]);
    hg.ok(directory.path(), &["init"]);
    for content in ["secret\n", "public\n"] {
        repos::write(directory.path(), "a", content.as_bytes());
        repos::commit(&hg, directory.path(), content.trim());
    }
    hg.ok(directory.path(), &["censor", "-r", "0", "a"]);
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(directory.path()));
    let repository = Repository::open(storage, Path::new("")).unwrap();
    for redelta in [false, true] {
        recompress(
            &repository,
            EngineSetting::ZLIB,
            redelta,
            &Interrupt::default(),
        )
        .unwrap();
        let said = hg.fails(directory.path(), &["verify"]);
        assert!(said.contains(" a@0: censored file data\n"), "{said}");
        assert!(said.contains("1 integrity errors"), "{said}");
        let said = hg.fails(directory.path(), &["cat", "-r", "0", "a"]);
        assert!(said.contains("censored"), "{said}");
    }
}

#[test]
fn an_interruption_changes_nothing() {
    let recorder = three_commits();
    let storage: Arc<dyn Storage> = Arc::new(recorder);
    let repository = Repository::open(storage.clone(), Path::new("")).unwrap();
    let stop = Interrupt::default();
    stop.raise();
    let stopped = recompress(&repository, EngineSetting::ZLIB, true, &stop).unwrap_err();
    assert!(matches!(stopped, RepoError::Interrupted(_)), "{stopped}");
    assert_eq!(storage.kind(Path::new(".hg/store.new")).unwrap(), None);
    assert_eq!(engine_of(repository.requirements()), CodecId::Zstd);
}

#[test]
fn every_cut_leaves_the_old_or_the_new_store() {
    let recorder = three_commits();
    let storage: Arc<dyn Storage> = Arc::new(recorder.clone());
    let repository = Repository::open(storage, Path::new("")).unwrap();
    recompress(
        &repository,
        EngineSetting::ZLIB,
        true,
        &Interrupt::default(),
    )
    .unwrap();
    recorder.acknowledge();
    let (mut old, mut new) = (0, 0);
    recorder.for_each_image(8, |image| {
        if image.acknowledged < 3 {
            return;
        }
        let count = read_everything(image.storage.clone());
        assert_eq!(count, 3, "{}", image.cut);
        let storage: Arc<dyn Storage> = Arc::new(image.storage);
        let repository = Repository::open(storage, Path::new("")).unwrap();
        assert!(!repository.has_journal().unwrap());
        match engine_of(repository.requirements()) {
            CodecId::Zlib => new += 1,
            _ => {
                assert!(image.acknowledged < 4, "{}", image.cut);
                old += 1;
            }
        }
    });
    assert!(old > 20 && new > 4, "{old} old, {new} new");
}
