//! Which measurements are made, and that written chunks read back. Never how fast.

use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_bench::BenchError;
use varve_bench::report;
use varve_bench::revlog::{self, Measurements, Options};
use varve_codec::EngineSetting;
use varve_repo::{FileChange, FileKind, NewChangeset, Node, Phase, Repository};

pub fn repository() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let repository = Repository::create(Arc::clone(&storage), Path::new("r")).unwrap();
    let mut batch = repository.begin(EngineSetting::ZSTD).unwrap();
    let mut parent = Node::NULL;
    for n in 0..60 {
        let (path, content) = (format!("file{}", n % 20), format!("content {n}\n"));
        let change = FileChange::Write {
            path: path.as_bytes(),
            content: content.as_bytes(),
            kind: FileKind::Plain,
            copied_from: None,
        };
        parent = batch
            .commit(&NewChangeset {
                parents: [parent, Node::NULL],
                user: b"somebody",
                date: (n, 0),
                branch: b"default",
                extras: &[],
                description: b"one more",
                phase: Phase::Draft,
                changes: &[change],
            })
            .unwrap();
    }
    batch.finish().unwrap();
    storage
}

fn measure(options: &Options) -> Result<Measurements, BenchError> {
    let interrupt = Interrupt::default();
    revlog::measure(&repository(), Path::new("r"), options, &Silent, &interrupt)
}

#[test]
fn every_kind_of_work_is_done_with_as_many_revisions_as_asked_for() {
    let options = Options {
        last: 40,
        writes: 30,
        ..Options::default()
    };
    let report = measure(&options).unwrap();
    let rows = |row: &revlog::Row| (row.work, row.threads, row.revisions);
    let found: Vec<_> = report.rows.iter().map(rows).collect();
    assert_eq!(
        found,
        [
            ("manifests in order", 1, 40),
            ("manifests in order", 2, 40),
            ("manifests in reverse", 1, 40),
            ("manifests in reverse", 2, 40),
            ("every 50th manifest", 1, 2),
            ("every 50th manifest", 2, 2),
            ("changesets", 1, 60),
            ("changesets", 2, 60),
            ("all chunks", 1, 180),
            ("all chunks, codec alone", 1, 180),
            ("write manifests", 1, 30),
        ]
    );
    assert!(report.rows.iter().all(|row| row.seconds.runs().len() == 3));
    let (ours, before) = report.written;
    assert_eq!(ours, before, "the same program wrote both");
}

#[test]
fn the_report_has_a_row_for_every_kind_of_work() {
    let (storage, stop) = (repository(), Interrupt::default());
    let options = Options::default();
    let report = revlog::run(&storage, Path::new("r"), &options, &Silent, &stop).unwrap();
    let json: serde_json::Value = serde_json::from_str(&report::json(&report)).unwrap();
    let rows = json["tables"]["work"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 11);
    assert_eq!(
        (&rows[1]["threads"], &rows[1]["revisions"]),
        (&"2".into(), &60.into())
    );
    let page = report::html(&report).unwrap();
    assert!(page.contains("all chunks, codec alone"));
}

#[test]
fn two_runs_have_no_median() {
    let options = Options {
        runs: 2,
        ..Options::default()
    };
    assert!(matches!(
        measure(&options),
        Err(BenchError::TooFewRuns { runs: 2 })
    ));
}
