//! Following the advice gives the predicted size, within 10 %. Never how fast.

use crate::database::record;
use crate::revlog::repository;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_bench::BenchError;
use varve_bench::advice::{Advice, Choice, Goal, Options, Subject, advise, apply};
use varve_bench::report;
use varve_codec::{CodecId, EngineSetting};
use varve_docdb::{Database, DatabaseOptions, Edit, Mode, NodeCache};
use varve_repo::{LockKind, Repository};

fn options(goal: Goal, most: usize) -> Options {
    Options {
        // Enough for `most`, whatever the machine does meanwhile.
        budget: Duration::from_secs(if most == usize::MAX { 1 } else { 3600 }),
        most,
        ..Options::new(goal)
    }
}

fn found(storage: &Arc<dyn Storage>, named: &str, options: &Options) -> (Subject, Advice) {
    let subject = Subject::find(storage.as_ref(), Path::new(named)).unwrap();
    let interrupt = Interrupt::default();
    let advice = advise(storage, &subject, options, &Silent, &interrupt).unwrap();
    (subject, advice)
}

/// Applies each choice in turn.
fn check(storage: &Arc<dyn Storage>, subject: &Subject, choices: &[Choice]) {
    assert_eq!(choices.len(), 3, "{choices:?}");
    for choice in choices {
        let interrupt = Interrupt::default();
        let size = apply(storage, subject, choice, &Silent, &interrupt).unwrap();
        let ratio = size as f64 / choice.size as f64;
        assert!(
            (0.9..1.1).contains(&ratio),
            "{size} bytes, {ratio}: {choice:?}"
        );
    }
}

fn database(texts: impl Iterator<Item = String>) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    storage.create_directory(Path::new("databases")).unwrap();
    let options = DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20));
    let path = Path::new("databases/d.varve");
    let database = Database::create(Arc::clone(&storage), path, &options).unwrap();
    let texts: Vec<String> = texts.collect();
    // Several commits leave nodes behind that a compaction drops.
    for batch in texts.chunks(300) {
        let edits = batch
            .iter()
            .map(|text| Edit::parse(None, text.as_bytes()).unwrap());
        for outcome in database.update(edits.collect(), Mode::Interactive).unwrap() {
            outcome.unwrap();
        }
    }
    database.seal().unwrap();
    storage
}

#[test]
fn a_repository_gets_as_small_as_predicted_and_is_configured() {
    let storage = repository();
    let (subject, advice) = found(&storage, "r", &options(Goal::Space, 90));
    assert_eq!(subject, Subject::Repository(PathBuf::from("r")));
    assert_eq!(advice.choices[0].goal, Goal::Space);
    let sizes: Vec<u64> = advice.choices.iter().map(|choice| choice.size).collect();
    // Less than a hundredth is not worth a longer time.
    assert!(
        sizes.iter().all(|size| *size * 101 >= sizes[0] * 100),
        "{sizes:?}"
    );
    check(&storage, &subject, &advice.choices);
    let last = advice.choices.last().unwrap();
    let hgrc = storage
        .open(Path::new("r/.hg/hgrc"), varve_base::OpenMode::Read)
        .unwrap();
    let hgrc = String::from_utf8(hgrc.read_all().unwrap()).unwrap();
    assert!(
        hgrc.ends_with(&format!("{}\n", last.configuration.join("\n"))),
        "{hgrc}"
    );
    let engine = last.setting.codec().name();
    assert!(
        last.command
            .starts_with(&format!("varve recompress --engine {engine} "))
    );
    let repository = Repository::open(Arc::clone(&storage), Path::new("r")).unwrap();
    let is_zstd = repository.requirements().has("revlog-compression-zstd");
    assert_eq!(is_zstd, last.setting.codec() == CodecId::Zstd);
    let _held = repository.try_lock(LockKind::Store).unwrap();
    let refused = apply(&storage, &subject, last, &Silent, &Interrupt::default());
    assert!(
        matches!(refused, Err(BenchError::Repository(_))),
        "{refused:?}"
    );
}

#[test]
fn a_database_of_records_gets_as_small_as_a_sample_predicts() {
    let storage = database((0..2000).map(record));
    let (subject, advice) = found(&storage, "d", &options(Goal::Space, 1000));
    assert_eq!(subject.path(), Path::new("databases/d.varve"));
    assert_eq!(advice.choices[0].setting.codec(), CodecId::Zstd);
    check(&storage, &subject, &advice.choices);
    let text = report::terminal(&advice.report);
    for words in [
        "bodies of documents",
        "file_compression = zstd",
        "/d/_compression",
    ] {
        assert!(text.contains(words), "no {words}: {text}");
    }
}

#[test]
fn a_database_of_numbers_gets_as_small_as_predicted() {
    let texts = (0..400u64).map(|number| {
        let noise: Vec<String> = (0..20)
            .map(|at| {
                (number * 20 + at)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .to_string()
            })
            .collect();
        format!(
            "{{\"_id\":\"n{number:06}\",\"values\":[{}]}}",
            noise.join(",")
        )
    });
    let storage = database(texts);
    let (subject, advice) = found(
        &storage,
        "databases/d",
        &options(Goal::Balanced, usize::MAX),
    );
    check(&storage, &subject, &advice.choices);
}

#[test]
fn nothing_to_advise_on_is_refused_by_name() {
    let storage = repository();
    let find = |named: &str| Subject::find(storage.as_ref(), Path::new(named)).unwrap_err();
    assert!(matches!(find("nowhere"), BenchError::NoSource { .. }));
    assert!(matches!(
        find("https://example.org/db"),
        BenchError::Remote { .. }
    ));
    let interrupt = Interrupt::default();
    interrupt.raise();
    let subject = Subject::Repository(PathBuf::from("r"));
    let options = options(Goal::Speed, 30);
    let ended = advise(&storage, &subject, &options, &Silent, &interrupt);
    assert!(matches!(ended, Err(BenchError::Interrupted(_))));
}
