//! Tables of `bench repo`: its sizes are those of a recompression. Never how fast.

use crate::revlog::repository;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, Progress, Silent, Storage, Unit};
use varve_bench::BenchError;
use varve_bench::report::{self, Report};
use varve_bench::repository::{self as bench, Options};
use varve_repo::{LockKind, RecompressOptions, Repository, StorageSettings};

fn options(settings: &[&str]) -> Options {
    Options {
        settings: settings.iter().map(|text| text.parse().unwrap()).collect(),
        ..Options::default()
    }
}

fn measure(storage: &Arc<dyn Storage>, options: &Options) -> Result<Report, BenchError> {
    let interrupt = Interrupt::default();
    bench::run(storage, Path::new("r"), options, &Silent, &interrupt)
}

fn rows(report: &Report, table: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(&report::json(report)).unwrap();
    value["tables"][table]["rows"].as_array().unwrap().clone()
}

fn recompressed(setting: &str) -> u64 {
    let storage = repository();
    let repository = Repository::open(Arc::clone(&storage), Path::new("r")).unwrap();
    let write = StorageSettings::default().write_options(repository.requirements());
    let how = RecompressOptions {
        write: varve_repo::WriteOptions {
            engine: setting.parse().unwrap(),
            ..write
        },
        redelta: false,
    };
    let [working_copy, store] =
        [LockKind::WorkingCopy, LockKind::Store].map(|kind| repository.try_lock(kind).unwrap());
    let interrupt = Interrupt::default();
    let done = repository.recompress(&working_copy, &store, &how, &Silent, &interrupt);
    done.unwrap().after
}

#[test]
fn sizes_are_those_of_a_recompression_and_nothing_stays_behind() {
    let storage = repository();
    let names = |storage: &Arc<dyn Storage>| {
        let entries = storage.list(Path::new("r/.hg")).unwrap();
        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    };
    let before = names(&storage);
    let settings = ["none", "deflate_6", "zstd_3", "zstd_19"];
    let report = measure(&storage, &options(&settings)).unwrap();
    let rows = rows(&report, "engines");
    for (row, setting) in rows.iter().zip(settings) {
        assert_eq!(row["store_size"], recompressed(setting), "{setting}");
        for quantity in ["read", "write"] {
            assert_eq!(row[quantity]["runs"].as_array().unwrap().len(), 3, "{row}");
        }
    }
    assert_eq!(
        (rows[1]["engine"].as_str(), rows[1]["level"].as_str()),
        (Some("zlib"), Some("6"))
    );
    assert_eq!(names(&storage), before);
}

#[test]
fn the_report_has_a_summary_stages_and_types_of_chunks() {
    let report = measure(&repository(), &options(&["deflate_6", "zstd_3"])).unwrap();
    let summary = rows(&report, "summary");
    let sizes = rows(&report, "engines");
    let [zlib, zstd] = [0, 1].map(|row: usize| sizes[row]["store_size"].as_f64().unwrap());
    assert_eq!(summary[0]["defaults"], zstd / zlib);
    assert_eq!(summary.len(), 4);
    let stages = rows(&report, "stages");
    assert!(
        stages.iter().all(|row| row["hash"].as_f64().unwrap() > 0.0),
        "{stages:?}"
    );
    let counts = |table: &str, column: &str| -> u64 {
        let rows = rows(&report, table);
        rows.iter().map(|row| row[column].as_u64().unwrap()).sum()
    };
    // 60 changesets, as many manifests and files' revisions.
    assert_eq!(counts("chunk_types", "chunks"), 180);
    assert_eq!(counts("contents", "count"), 180 + 180);
    let page = report::html(&report).unwrap();
    assert_eq!(
        page.matches("<svg").count(),
        4,
        "two scatters, stages, sizes"
    );
}

#[test]
fn a_sample_predicts_the_size() {
    let whole = measure(&repository(), &options(&["zstd_3"])).unwrap();
    let sampled = Options {
        sample: Some(60),
        manifests: 10,
        ..options(&["zstd_3"])
    };
    let sampled = measure(&repository(), &sampled).unwrap();
    let size = |report: &Report| rows(report, "engines")[0]["store_size"].as_f64().unwrap();
    let types = rows(&sampled, "chunk_types");
    let chunks: u64 = types
        .iter()
        .map(|row| row["chunks"].as_u64().unwrap())
        .sum();
    assert_eq!(chunks, 60);
    let ratio = size(&sampled) / size(&whole);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

/// Raises an interrupt in the middle of the step that is measured.
struct StopsLate<'i>(&'i Interrupt, parking_lot::Mutex<(bool, u32)>);

impl Progress for StopsLate<'_> {
    fn begin(&self, step: &str, _unit: Unit, _total: Option<u64>) {
        self.1.lock().0 = step == "reading and writing";
    }

    fn advance(&self, _amount: u64) {
        let mut state = self.1.lock();
        state.1 += u32::from(state.0);
        // Two settings with two tasks each: in the third round, which is the second that counts.
        if state.1 == 9 {
            self.0.raise();
        }
    }
}

#[test]
fn an_interrupt_leaves_what_was_measured() {
    let interrupt = Interrupt::default();
    let progress = StopsLate(&interrupt, parking_lot::Mutex::default());
    let (storage, options) = (repository(), options(&["none", "zstd_3"]));
    let report = bench::run(&storage, Path::new("r"), &options, &progress, &interrupt).unwrap();
    assert!(report.is_cut_short);
    let runs = |row: &Value| row["read"]["runs"].as_array().unwrap().len();
    let runs: Vec<usize> = rows(&report, "engines").iter().map(runs).collect();
    assert!(runs.iter().all(|runs| [1, 2].contains(runs)), "{runs:?}");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("Interrupted: "))
    );
    let early = Interrupt::default();
    early.raise();
    let nothing = bench::run(&storage, Path::new("r"), &options, &Silent, &early);
    assert!(matches!(nothing, Err(BenchError::Interrupted(_))));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = measure(&repository(), &options(&["snappy"])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "revlogs know none, deflate and zstd, and not snappy"
    );
    let few = Options {
        runs: 2,
        ..options(&["none"])
    };
    let refused = measure(&repository(), &few).unwrap_err();
    assert!(matches!(refused, BenchError::TooFewRuns { runs: 2 }));
}
