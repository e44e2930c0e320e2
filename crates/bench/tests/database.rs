//! Tables of `bench db`, and the inputs that it refuses. Never how fast.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_bench::BenchError;
use varve_bench::database::{self, DocumentSource, Options, SampleSize, locate};
use varve_bench::report::{self, Report};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, Edit, Mode, NodeCache};

/// A record with values that differ and words that come again.
pub fn record(number: u32) -> String {
    let mixed = number.wrapping_mul(2_654_435_761);
    let words = ["library", "graphical", "developers", "tools", "runtime"];
    let text: Vec<_> = (0..9).map(|at| words[(mixed >> at) as usize % 5]).collect();
    format!(
        "{{\"_id\":\"package{number:05}\",\"maintainer\":\"Team {mixed:x} <team@example.org>\",\
         \"homepage\":\"https://example.org/projects/{number}\",\"description\":\"{}\",\"size\":{}}}",
        text.join(" "),
        mixed % 100_000
    )
}

fn lines(count: u32) -> Vec<u8> {
    let lines: Vec<String> = (0..count).map(record).collect();
    lines.join("\n").into_bytes()
}

fn storage(file: &str, bytes: Vec<u8>) -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::with_files([(PathBuf::from(file), bytes)]))
}

fn options(settings: &[&str]) -> Options {
    Options {
        settings: settings.iter().map(|text| text.parse().unwrap()).collect(),
        ..Options::default()
    }
}

fn measure(
    storage: &Arc<dyn Storage>,
    source: &DocumentSource,
    options: &Options,
) -> Result<Report, BenchError> {
    let interrupt = Interrupt::default();
    let source = (source, Path::new("d"));
    database::run(storage, source, options, &Silent, &interrupt)
}

fn rows(report: &Report) -> Vec<Value> {
    let value: Value = serde_json::from_str(&report::json(report)).unwrap();
    value["tables"]["compressions"]["rows"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn every_compression_is_measured_and_a_dictionary_makes_files_smaller() {
    let storage = storage("d/docs.ndjson", lines(1100));
    let source = DocumentSource::Lines(PathBuf::from("d/docs.ndjson"));
    let report = measure(&storage, &source, &options(&["none", "zstd_3"])).unwrap();
    let rows = rows(&report);
    let names: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["codec"].as_str().unwrap(),
                row["dictionary"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [("none", "-"), ("zstd_3", "-"), ("zstd_3", "dictionary")]
    );
    let [none, zstd, dictionary] =
        [0, 1, 2].map(|row: usize| rows[row]["file_size"].as_u64().unwrap());
    assert!(
        none > zstd && zstd > dictionary,
        "{none} {zstd} {dictionary}"
    );
    assert!(none > lines(1100).len() as u64 * 9 / 10);
    assert!(rows[0]["view_size"].as_u64() > rows[1]["view_size"].as_u64());
    for row in &rows {
        for quantity in [
            "load",
            "compact",
            "view_build",
            "read_p50",
            "read_p99",
            "scan",
        ] {
            assert_eq!(
                row[quantity]["runs"].as_array().unwrap().len(),
                3,
                "{quantity}: {row}"
            );
        }
    }
    let left: Vec<_> = storage.list(Path::new("d")).unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn the_winners_of_a_database_are_its_documents() {
    let storage = storage("d/other", Vec::new());
    let setting = DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(1 << 20));
    let path = Path::new("d/packages.varve");
    let database = Database::create(Arc::clone(&storage), path, &setting).unwrap();
    let edits = (0..40).map(|n| Edit::parse(None, record(n).as_bytes()).unwrap());
    for outcome in database.update(edits.collect(), Mode::Interactive).unwrap() {
        outcome.unwrap();
    }
    for named in ["d/packages", "d/packages.varve"] {
        assert_eq!(locate(storage.as_ref(), Path::new(named)).unwrap(), path);
    }
    let source = DocumentSource::Database(path.to_owned());
    let sampled = Options {
        sample: SampleSize::at_least(15),
        ..options(&["snappy"])
    };
    let report = measure(&storage, &source, &sampled).unwrap();
    let (_, documents) = &report.properties[0];
    assert!(documents.starts_with("20 of 40, "), "{documents}");
    let wrong = |named: &str| locate(storage.as_ref(), Path::new(named)).unwrap_err();
    assert!(matches!(wrong("d/other"), BenchError::NotADatabase { .. }));
    assert!(matches!(wrong("d"), BenchError::NotADatabase { .. }));
    assert!(matches!(wrong("d/nothing"), BenchError::NoSource { .. }));
    assert!(matches!(
        wrong("http://localhost:5984/x"),
        BenchError::Remote { .. }
    ));
}

#[test]
fn lines_and_functions_that_cannot_be_used_are_refused_by_name() {
    let file = "d/docs.ndjson";
    let source = DocumentSource::Lines(PathBuf::from(file));
    let broken = storage(file, b"{\"a\":1}\n\n[1]\n".to_vec());
    let refused = measure(&broken, &source, &options(&["none"])).unwrap_err();
    assert!(
        matches!(refused, BenchError::NotADocument { line: 3, .. }),
        "{refused}"
    );
    let empty = storage(file, b"\n".to_vec());
    let refused = measure(&empty, &source, &options(&["none"])).unwrap_err();
    assert!(matches!(refused, BenchError::Nothing));
    let map = Options {
        map: "function (".to_owned(),
        ..options(&["none"])
    };
    let refused = measure(&storage(file, lines(1)), &source, &map).unwrap_err();
    assert!(matches!(refused, BenchError::Map { .. }), "{refused}");
    let twice = storage(file, b"{\"_id\":\"a\"}\n{\"_id\":\"a\"}\n".to_vec());
    let refused = measure(&twice, &source, &options(&["none"])).unwrap_err();
    assert!(
        refused.to_string().starts_with("document 'a' is refused: "),
        "{refused}"
    );
}
